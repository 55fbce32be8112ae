//! `search`: what matches a query in the archive, row by row as it is found.

use jiff::Timestamp;
use serde::Serialize;

use super::ProfileContext;
use super::args::{Column, SearchArgs};
use super::escape::{add_checked_at, escape_line, list_end, list_item};
use super::format::{format_api_time, format_time};
use super::freshness::ConfirmOutcome;
use super::freshness::OldestConfirmation;
use super::output::{CommandExit, Output, OutputFormat};
use super::table::{RowLayout, tab_separated};
use super::{block_on, freshness, open_archive, sync, table};
use crate::archive::{Archive, CancellationToken, Coverage, EmailRow, MatchCount};
use crate::config::Settings;
use crate::error::{Error, ErrorKind};
use crate::mail::Finality;
use crate::query::{ParseContext, Query, parse};

/// The columns of `--csv` if none are named.
const DEFAULT_CSV_COLUMNS: [Column; 5] = [
    Column::Created,
    Column::Status,
    Column::To,
    Column::Subject,
    Column::Id,
];

/// The number as JSON.
#[derive(Serialize)]
struct CountJson {
    /// Emails that match.
    count: u64,
}

/// Prints what matches, and then on stderr how much was searched.
pub(super) fn run(search: &SearchArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    if ctx.out.format != OutputFormat::Human && (search.csv || !search.columns.is_empty()) {
        let failure = Error::new(
            ErrorKind::Usage,
            "JSON has all members of an email, so it goes neither with --csv nor with --columns",
        );
        return Err(failure.with_hint("leave one of them out").into());
    }
    let started = (ctx.clock)();
    let archive = open_archive::open_on_disk(ctx)?;
    let text = search.words.join(" ");
    let parsed = parse(
        &text,
        &ParseContext::new((ctx.clock)(), ctx.settings.zone.clone()),
    );
    for note in &parsed.diagnostics {
        ctx.out.note(&format!(
            "{}: {}",
            text.get(note.range.clone()).unwrap_or_default(),
            note.message
        ));
    }
    let mut query = parsed.query;
    if let Some(order) = search.sort {
        query.sort = order.into();
    }
    if let Some(back) = search.back {
        open_archive::check_writable(&archive)?;
        block_on(sync::load_older(back, &archive, ctx))?;
    }
    let checked = if search.fresh {
        Some(block_on(freshness::confirm_statuses(
            search, &query, &archive, ctx,
        ))?)
    } else {
        None
    };
    let printed = if search.count {
        print_count(&archive, &query, ctx.out)?;
        OldestConfirmation::default()
    } else {
        print_matches(search, &archive, &query, ctx)?
    };
    // To count all emails takes longer than to find some.
    if !ctx.out.is_quiet() {
        let oldest = if query.depends_on_status() {
            OldestConfirmation::from_candidates(&archive, &query, (ctx.clock)())?
        } else {
            printed
        };
        let hint = match checked {
            None => "--fresh checks with the service",
            Some(ConfirmOutcome::Complete) => "the service did not list all of these emails again",
            // That was reported.
            Some(ConfirmOutcome::Partial) => "",
        };
        if let Some(words) = oldest
            .describe((ctx.clock)(), &ctx.settings.zone)
            .filter(|_| !hint.is_empty())
        {
            ctx.out.note(&format!("{words}; {hint}"));
        }
        ctx.out.note(&describe_scope(
            &archive,
            &query,
            ctx.settings,
            started,
            (ctx.clock)(),
        )?);
    }
    Ok(())
}

fn print_count(archive: &Archive, query: &Query, out: &mut Output) -> Result<(), CommandExit> {
    let counted = archive.count_matches(query, u64::MAX, &CancellationToken::default())?;
    let (MatchCount::Exactly(count) | MatchCount::MoreThan(count)) =
        counted.expect("it is never cancelled");
    let text = match out.format {
        OutputFormat::Human => count.to_string(),
        OutputFormat::Json | OutputFormat::JsonLines => {
            serde_json::to_string(&CountJson { count }).expect("a number is JSON")
        }
    };
    out.write_data(&(text + "\n"))?;
    out.flush()
}

/// Prints what matches. The oldest confirmation is that of the unsettled statuses which a person sees.
fn print_matches(
    search: &SearchArgs,
    archive: &Archive,
    query: &Query,
    ctx: &mut ProfileContext<'_>,
) -> Result<OldestConfirmation, CommandExit> {
    let columns = RowLayout {
        width: ctx.out.columns.unwrap_or(80),
        colour: ctx.out.colour,
        zone: ctx.settings.zone.clone(),
        now: (ctx.clock)(),
    };
    let mut printer = SearchPrinter {
        search,
        archive,
        columns,
        out: &mut *ctx.out,
        printed: 0,
        oldest: OldestConfirmation::default(),
    };
    printer.write_header()?;
    let mut stop = None;
    let mut has_more = false;
    let walked = archive.for_each_match(query, &CancellationToken::default(), |row| {
        has_more = search.limit.is_some_and(|limit| printer.printed == limit);
        if has_more {
            return false;
        }
        stop = printer.print_row(&row).err();
        // Only the JSON document says whether there is more; other formats need no further match.
        stop.is_none()
            && (printer.out.format == OutputFormat::Json
                || search.limit.is_none_or(|limit| printer.printed < limit))
    });
    if let Some(stop) = stop {
        return Err(stop);
    }
    printer.end(has_more)?;
    walked?;
    Ok(printer.oldest)
}

struct SearchPrinter<'a> {
    search: &'a SearchArgs,
    archive: &'a Archive,
    columns: RowLayout,
    out: &'a mut Output,
    printed: u64,
    oldest: OldestConfirmation,
}

impl SearchPrinter<'_> {
    fn write_header(&mut self) -> Result<(), CommandExit> {
        if self.search.csv {
            self.out.write_data(&table::format_record(
                self.columns_or(&DEFAULT_CSV_COLUMNS)
                    .iter()
                    .map(|column| column.name()),
            ))?;
        }
        Ok(())
    }

    fn print_row(&mut self, row: &EmailRow) -> Result<(), CommandExit> {
        let mail = &row.summary;
        let text = match self.out.format {
            OutputFormat::Human if self.search.csv => table::format_record(
                self.columns_or(&DEFAULT_CSV_COLUMNS)
                    .iter()
                    .map(|column| column.value(row)),
            ),
            OutputFormat::Human if !self.search.columns.is_empty() => {
                let cells: Vec<String> = self
                    .search
                    .columns
                    .iter()
                    .map(|column| column.value(row))
                    .collect();
                cells.join("\t") + "\n"
            }
            OutputFormat::Human if self.out.columns.is_some() => {
                self.columns.format_row(mail, row.missing.is_some()) + "\n"
            }
            OutputFormat::Human => tab_separated(mail) + "\n",
            OutputFormat::JsonLines => self.row_json(row)? + "\n",
            OutputFormat::Json => list_item(&self.row_json(row)?, self.printed == 0),
        };
        self.printed += 1;
        if self.out.columns.is_some() && row.finality(self.columns.now) == Finality::InProgress {
            self.oldest.add(row.confirmed_at);
        }
        self.out.write_styled(&text)
    }

    fn row_json(&self, row: &EmailRow) -> Result<String, Error> {
        let json = self
            .archive
            .summary_json(&row.summary.id)?
            .unwrap_or_default();
        Ok(add_checked_at(&escape_line(&json), row.confirmed_at))
    }

    fn columns_or<'c>(&'c self, default: &'c [Column]) -> &'c [Column] {
        if self.search.columns.is_empty() {
            default
        } else {
            &self.search.columns
        }
    }

    fn end(&mut self, has_more: bool) -> Result<(), CommandExit> {
        if self.out.format == OutputFormat::Json {
            self.out
                .write_data(&list_end(self.printed == 0, has_more))?;
        }
        self.out.flush()
    }
}

/// `searched 48310 emails, complete since 3 May 2026 09:14; bodies and tags of 1204 are known`. What the
/// service has, and not what it had, is spoken of only if it was asked since `started`.
fn describe_scope(
    archive: &Archive,
    query: &Query,
    settings: &Settings,
    started: Timestamp,
    now: Timestamp,
) -> Result<String, Error> {
    let (emails, reach, zone) = (archive.query_count()?, archive.coverage()?, &settings.zone);
    if emails == 0 && reach == Coverage::Unknown {
        return Ok("the archive is empty; --back 30d fetches the last 30 days first".to_owned());
    }
    let asked = archive.head_at()?;
    let is_asked = asked.is_some_and(|at| at >= started);
    let asked = asked.map(|at| format_time(at, now, zone));
    let noun = if emails == 1 { "email" } else { "emails" };
    let reach = match (reach, asked) {
        (Coverage::Complete, _) if is_asked => ", which is everything the service has".to_owned(),
        (Coverage::Complete, Some(asked)) => {
            format!(", which is everything the service had at {asked}")
        }
        (Coverage::Complete, None) => {
            ", which is everything the service had when it was asked last".to_owned()
        }
        (Coverage::Since(oldest), Some(asked)) if !is_asked => {
            format!(
                ", complete from {} to {asked}",
                format_api_time(&oldest, zone)
            )
        }
        (Coverage::Since(oldest), _) => {
            format!(", complete since {}", format_api_time(&oldest, zone))
        }
        (Coverage::Unknown, _) => {
            ", with gaps; --back 30d fetches the last 30 days first".to_owned()
        }
    };
    let inside = if query.needs_bodies() {
        format!(
            "; bodies and tags of {} are known",
            archive.body_availability()?.fetched
        )
    } else {
        String::new()
    };
    Ok(format!("searched {emails} {noun}{reach}{inside}"))
}
