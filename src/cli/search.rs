//! `search`: what matches a query in the archive, row by row as it is found.

use jiff::Timestamp;
use serde::Serialize;

use super::args::{Column, Search};
use super::fresh::Checked;
use super::freshness::Oldest;
use super::json::{guarded, list_end, listed, with_checked_at};
use super::output::{Output, Shape, Stop};
use super::rows::{Columns, fields};
use super::words::{moment, stamp};
use super::{archive, csv, fresh, sync, wait_for};
use crate::archive::{Archive, Counted, Halt, Reach, Row, looks_inside};
use crate::config::Settings;
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::mail::Finality;
use crate::query::{Context, Query, parse};

/// The columns of `--csv` if none are named.
const CSV: [Column; 5] = [
    Column::Created,
    Column::Status,
    Column::To,
    Column::Subject,
    Column::Id,
];

/// The number as JSON.
#[derive(Serialize)]
struct Count {
    count: u64,
}

/// Prints what matches, and then on stderr how much was searched.
///
/// # Errors
///
/// If the archive cannot be read, or with `--back` or `--fresh` the service fails.
pub(super) fn run(
    search: &Search,
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Result<(), Stop> {
    if out.shape != Shape::Human && (search.csv || !search.columns.is_empty()) {
        let failure = Failure::new(
            Kind::Usage,
            "JSON has all members of an email, so it goes neither with --csv nor with --columns",
        );
        return Err(failure.hint("leave one of them out").into());
    }
    let started = clock();
    let archive = archive::open(settings, clock, out)?;
    let text = search.words.join(" ");
    let parsed = parse(&text, &Context::new(clock(), settings.zone.clone()));
    for note in &parsed.notes {
        out.note(&format!(
            "{}: {}",
            text.get(note.range.clone()).unwrap_or_default(),
            note.words
        ));
    }
    let mut query = parsed.query;
    if let Some(order) = search.sort {
        query.sort = order.into();
    }
    if let Some(back) = search.back {
        archive::check_writable(&archive)?;
        wait_for(sync::extend(back, &archive, settings, clock, out))?;
    }
    let checked = if search.fresh {
        Some(wait_for(fresh::confirm(
            search, &query, &archive, settings, clock, out,
        ))?)
    } else {
        None
    };
    let printed = if search.count {
        count(&archive, &query, out)?;
        Oldest::default()
    } else {
        print(search, &archive, &query, settings, clock, out)?
    };
    // To count all emails takes longer than to find some.
    if !out.is_quiet() {
        let oldest = if query.depends_on_status() {
            Oldest::of_candidates(&archive, &query, clock())?
        } else {
            printed
        };
        let hint = match checked {
            None => "--fresh asks the service",
            Some(Checked::Wholly) => "the service did not list all of these emails again",
            // That was reported.
            Some(Checked::Partly) => "",
        };
        if let Some(words) = oldest
            .words(clock(), &settings.zone)
            .filter(|_| !hint.is_empty())
        {
            out.note(&format!("{words}; {hint}"));
        }
        out.note(&searched(&archive, &query, settings, started, clock())?);
    }
    Ok(())
}

fn count(archive: &Archive, query: &Query, out: &mut Output) -> Result<(), Stop> {
    let counted = archive.count_matching(query, u64::MAX, &Halt::default())?;
    let (Counted::Exactly(count) | Counted::MoreThan(count)) = counted.expect("nobody halts it");
    let text = match out.shape {
        Shape::Human => count.to_string(),
        Shape::Json | Shape::JsonLines => {
            serde_json::to_string(&Count { count }).expect("a number is JSON")
        }
    };
    out.data(&(text + "\n"))?;
    out.flush()
}

/// Prints what matches. The oldest confirmation is that of the unsettled statuses which a person sees.
fn print(
    search: &Search,
    archive: &Archive,
    query: &Query,
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Result<Oldest, Stop> {
    let columns = Columns {
        width: out.columns.unwrap_or(80),
        colour: out.colour,
        zone: settings.zone.clone(),
        now: clock(),
    };
    let mut printer = Printer {
        search,
        archive,
        columns,
        out,
        printed: 0,
        oldest: Oldest::default(),
    };
    printer.begin()?;
    let mut stop = None;
    let mut has_more = false;
    let walked = archive.each(query, &Halt::default(), |row| {
        has_more = search.limit.is_some_and(|limit| printer.printed == limit);
        if has_more {
            return false;
        }
        stop = printer.row(&row).err();
        // Only the document says whether there is more; else nobody waits for one more match.
        stop.is_none()
            && (printer.out.shape == Shape::Json
                || search.limit.is_none_or(|limit| printer.printed < limit))
    });
    if let Some(stop) = stop {
        return Err(stop);
    }
    printer.end(has_more)?;
    walked?;
    Ok(printer.oldest)
}

struct Printer<'a> {
    search: &'a Search,
    archive: &'a Archive,
    columns: Columns,
    out: &'a mut Output,
    printed: u64,
    oldest: Oldest,
}

impl Printer<'_> {
    fn begin(&mut self) -> Result<(), Stop> {
        if self.search.csv {
            self.out.data(&csv::line(
                self.chosen(&CSV).iter().map(|column| column.name()),
            ))?;
        }
        Ok(())
    }

    fn row(&mut self, row: &Row) -> Result<(), Stop> {
        let mail = &row.summary;
        let text = match self.out.shape {
            Shape::Human if self.search.csv => {
                csv::line(self.chosen(&CSV).iter().map(|column| column.of(row)))
            }
            Shape::Human if !self.search.columns.is_empty() => {
                let cells: Vec<String> = self
                    .search
                    .columns
                    .iter()
                    .map(|column| column.of(row))
                    .collect();
                cells.join("\t") + "\n"
            }
            Shape::Human if self.out.columns.is_some() => {
                self.columns.row(mail, row.gone.is_some()) + "\n"
            }
            Shape::Human => fields(mail) + "\n",
            Shape::JsonLines => self.json(row)? + "\n",
            Shape::Json => listed(&self.json(row)?, self.printed == 0),
        };
        self.printed += 1;
        if self.out.columns.is_some() && row.finality(self.columns.now) == Finality::Unsettled {
            self.oldest.add(row.confirmed);
        }
        self.out.styled(&text)
    }

    fn json(&self, row: &Row) -> Result<String, Failure> {
        let json = self
            .archive
            .summary_json(&row.summary.id)?
            .unwrap_or_default();
        Ok(with_checked_at(&guarded(&json), row.confirmed))
    }

    fn chosen<'c>(&'c self, default: &'c [Column]) -> &'c [Column] {
        if self.search.columns.is_empty() {
            default
        } else {
            &self.search.columns
        }
    }

    fn end(&mut self, has_more: bool) -> Result<(), Stop> {
        if self.out.shape == Shape::Json {
            self.out.data(&list_end(self.printed == 0, has_more))?;
        }
        self.out.flush()
    }
}

/// `searched 48310 emails, complete since 3 May 2026 09:14; bodies and tags of 1204 are known`. What the
/// service has, and not what it had, is spoken of only if it was asked since `started`.
fn searched(
    archive: &Archive,
    query: &Query,
    settings: &Settings,
    started: Timestamp,
    now: Timestamp,
) -> Result<String, Failure> {
    let (emails, reach, zone) = (archive.count()?, archive.reach()?, &settings.zone);
    if emails == 0 && reach == Reach::Nothing {
        return Ok("the archive is empty; --back 30d fetches the last 30 days first".to_owned());
    }
    let asked = archive.head_at()?;
    let is_asked = asked.is_some_and(|at| at >= started);
    let asked = asked.map(|at| moment(at, now, zone));
    let noun = if emails == 1 { "email" } else { "emails" };
    let reach = match (reach, asked) {
        (Reach::Everything, _) if is_asked => ", which is everything the service has".to_owned(),
        (Reach::Everything, Some(asked)) => {
            format!(", which is everything the service had at {asked}")
        }
        (Reach::Everything, None) => {
            ", which is everything the service had when it was asked last".to_owned()
        }
        (Reach::Since(oldest), Some(asked)) if !is_asked => {
            format!(", complete from {} to {asked}", stamp(&oldest, zone))
        }
        (Reach::Since(oldest), _) => format!(", complete since {}", stamp(&oldest, zone)),
        (Reach::Nothing, _) => ", with gaps; --back 30d fetches the last 30 days first".to_owned(),
    };
    let inside = if looks_inside(query) {
        format!(
            "; bodies and tags of {} are known",
            archive.scope()?.fetched
        )
    } else {
        String::new()
    };
    Ok(format!("searched {emails} {noun}{reach}{inside}"))
}
