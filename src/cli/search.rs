//! `search`: what matches a query in the archive, row by row as it is found.

use std::slice;

use jiff::Timestamp;
use serde::Serialize;

use super::args::typed_query::TypedQuery;
use super::args::{Column, SearchArgs};
use super::freshness::{ConfirmResult, confirm_statuses, describe_age, find_oldest_confirmation};
use super::output::escape::row_json;
use super::output::format::{add_left_out, format_since, format_time};
use super::output::table::RowPrinter;
use super::output::{CommandExit, OutputFormat};
use super::{ProfileContext, open_archive, sync};
use crate::archive::{Archive, CancellationToken, Coverage, GoneStatuses, PURGED, StatusAge};
use crate::error::Result;
use crate::query::Query;
use crate::text::format::{group_digits, plural};

/// The count as JSON.
#[derive(Serialize)]
struct CountJson {
    /// Emails that match.
    count: u64,
}

/// Prints the matches, and then on stderr how much was searched.
pub(super) fn run(search: &SearchArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    let columns = search.table.columns(ctx.out.is_json(), ctx.mailbox)?;
    let started = ctx.now();
    let typed = TypedQuery::parse(&search.words, started, ctx)?;
    let archive = if search.back.is_some() || search.fresh {
        open_archive::open_on_disk(ctx)?
    } else {
        open_archive::open_to_read(ctx)?
    };
    let has_other_meaning = typed.has_other_meaning();
    let mut query = typed.check(&archive, ctx.out)?;
    if let Some(order) = search.sort {
        query.sort = order;
    }
    if let Some(back) = search.back {
        open_archive::check_writable(&archive)?;
        sync::load_older(back, &archive, ctx)?;
    }
    let confirmed = if search.fresh {
        Some(confirm_statuses(search, &query, &archive, ctx)?)
    } else {
        None
    };
    let mut age = StatusAge::default();
    let found;
    if search.count {
        found = open_archive::count_matches(&archive, &query)?;
        ctx.out
            .report(&CountJson { count: found }, found.to_string())?;
    } else {
        (age, found) = print_matches(search, columns, &archive, &query, ctx)?;
    }
    // To count all emails takes longer than to find some.
    if !ctx.out.is_quiet() {
        let mut oldest = None;
        if found == 0 {
            ctx.out.note("nothing matches");
            let mut unmatched = archive.find_unmatched(&query, &CancellationToken::default())?;
            if has_other_meaning {
                unmatched.nearest.clear();
            }
            unmatched.lines().for_each(|line| ctx.out.note(&line));
            if archive.finds_purged(&query)? {
                ctx.out.note(PURGED);
            }
            oldest = unmatched.oldest_listed;
        }
        note_gone(age.gone, ctx);
        note_scope(&archive, &query, age, started, confirmed, ctx)?;
        if let Some(at) = oldest {
            let at = format_time(at, ctx.now(), &ctx.settings.zone);
            let note = format!("the service's list goes back to {at}");
            ctx.out.note(&note);
        }
    }
    if search.exit_status && found == 0 {
        return Err(CommandExit::NothingFound);
    }
    Ok(())
}

/// Notes how old the statuses are of found emails that the service no longer has.
pub(super) fn note_gone(gone: GoneStatuses, ctx: &mut ProfileContext<'_>) {
    if gone.count > 0 {
        let checked = gone.describe(|at| format_time(at, ctx.now(), &ctx.settings.zone));
        let count = group_digits(gone.count, ' ');
        ctx.out.note(&format!(
            "the service no longer has {count} of these emails; {checked}"
        ));
    }
}

/// Notes how old the statuses are and how much was searched.
fn note_scope(
    archive: &Archive,
    query: &Query,
    mut age: StatusAge,
    started: Timestamp,
    confirmed: Option<ConfirmResult>,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    if query.depends_on_status() {
        age = find_oldest_confirmation(archive, query, ctx.now())?;
    }
    let age = describe_age(&age, ctx.now(), &ctx.settings.zone);
    let age = match confirmed {
        None => age.map(|age| ctx.with_next_step(&age, "--fresh checks with the service")),
        Some(ConfirmResult::Complete) => {
            age.map(|age| age + "; the service did not list all of these emails again")
        }
        Some(ConfirmResult::WithoutOld) => age,
        // That was reported.
        Some(ConfirmResult::Partial) => None,
    };
    if let Some(age) = age {
        ctx.out.note(&age);
    }
    let next_step = "--back 30d fetches the last 30 days first";
    let scope = describe_scope(archive, query, started, next_step, ctx)?;
    ctx.out.note(&scope);
    Ok(())
}

/// Prints the matches.
///
/// Returns when the printed statuses were confirmed, and the number of printed emails.
fn print_matches(
    search: &SearchArgs,
    columns: &[Column],
    archive: &Archive,
    query: &Query,
    ctx: &mut ProfileContext<'_>,
) -> Result<(StatusAge, u64), CommandExit> {
    let mut printer = RowPrinter::new(ctx);
    if let Some(header) = search.table.header(columns) {
        printer.out.write_data(&header)?;
    }
    let mut age = StatusAge::default();
    let mut exit = None;
    let mut has_more = false;
    // A line of JSON does not state whether there are more, and the next match may be far.
    let states_more = match printer.out.format {
        OutputFormat::Json => true,
        OutputFormat::JsonLines => false,
        OutputFormat::Human => !printer.out.is_quiet(),
    };
    let prints_status = printer.out.format == OutputFormat::Human
        && (columns.is_empty() || columns.contains(&Column::Status));
    let secrets = printer.layout.secrets;
    let result = archive.for_each_match(query, &CancellationToken::default(), |mut row| {
        row.confirmed_at.take_if(|at| *at > printer.layout.now);
        has_more = search.limit.is_some_and(|limit| printer.printed == limit);
        if has_more {
            return false;
        }
        if prints_status {
            age.add(&row, printer.layout.now);
        }
        if columns.contains(&Column::Tags) || columns.contains(&Column::Reason) {
            archive.load_details(slice::from_mut(&mut row));
        }
        let cells = columns.iter().map(|column| column.value(&row, secrets));
        let printed = printer.print(
            |layout| match columns {
                [] => layout.format(&row.summary, row.missing_since.is_some()),
                _ => search.table.join(cells),
            },
            || row_json(archive, &row),
        );
        exit = printed.err();
        exit.is_none() && (states_more || search.limit.is_none_or(|limit| printer.printed < limit))
    });
    if let Some(exit) = exit {
        return Err(exit);
    }
    let printed = printer.printed;
    printer.end(has_more || result.is_err())?;
    if has_more && !printer.out.is_json() {
        printer.out.note("more emails match; --limit allows more");
    }
    result?;
    Ok((age, printed))
}

/// Describes what was searched.
///
/// As in `searched 48 310 emails, complete since 3 May 2026 09:14; bodies and tags of 1 204 are known`. It
/// names what the service has, and not what it had, only after a refresh since `started`; `next_step`
/// fetches what is missing.
pub(super) fn describe_scope(
    archive: &Archive,
    query: &Query,
    started: Timestamp,
    next_step: &str,
    ctx: &ProfileContext<'_>,
) -> Result<String> {
    let emails = archive.query_count()?;
    let coverage = archive.coverage()?;
    let zone = &ctx.settings.zone;
    if emails == 0 && coverage == Coverage::Unknown {
        return Ok(ctx.with_next_step("the archive is empty", next_step));
    }
    let left_out = archive.left_out()?;
    let refreshed = archive.head_at_by(ctx.now())?;
    let is_current = refreshed.is_some_and(|at| at >= started);
    let refreshed = refreshed.map(|at| format_time(at, ctx.now(), zone));
    let reach = match (&coverage, refreshed) {
        (Coverage::Complete, _) if is_current => "which is everything the service has".to_owned(),
        (Coverage::Complete, Some(at)) => format!("which is everything the service had at {at}"),
        (Coverage::Complete, None) => {
            "which is everything the service had at the last request".to_owned()
        }
        (Coverage::Since(oldest), _) if is_current && oldest.parsed.is_some() => {
            format!("complete since {}", format_since(oldest, zone))
        }
        (Coverage::Since(oldest), at) if oldest.parsed.is_some() => {
            let at = at.map_or("at the last request".to_owned(), |at| format!("as of {at}"));
            format!("complete since {}, {at}", format_since(oldest, zone))
        }
        (Coverage::Since(_) | Coverage::Unknown, _) => {
            ctx.with_next_step("not confirmed to be complete", next_step)
        }
    };
    let reach = add_left_out(&reach, &coverage, left_out);
    let mut scope = format!("searched {}, {reach}", plural(emails, "email"));
    if query.needs_bodies() {
        let bodies = group_digits(archive.row_counts()?.bodies, ' ');
        let what = if query.has_reason() {
            "bodies, tags and reasons"
        } else {
            "bodies and tags"
        };
        scope = format!("{scope}; {what} of {bodies} are known");
    }
    Ok(scope)
}
