//! `list`: the service's list operation, page after page if more is requested than
//! fits in one.

use std::collections::HashSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::time::{Instant, timeout_at};

use super::args::{Column, ListArgs};
use super::freshness::describe_age;
use super::output::format::{format_time, is_fresh};
use super::output::table::RowPrinter;
use super::output::{CommandExit, Output};
use super::{ProfileContext, block_on};
use crate::api::{Client, Cursor, EmailApi as _, EmailPage, ListedEmail, MAX_LIMIT, RetryPolicy};
use crate::archive::StatusAge;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{EmailId, Finality, Summary};
use crate::text::format::shell_word;
use crate::text::json::escape_line;
use crate::text::sanitize;

/// Runs `list`.
///
/// If the service fails in between, a JSON document still ends, with `has_more` true; with `--all`, also if
/// emails cannot be read.
pub(super) fn run(list: &ListArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    if !list.words.is_empty() {
        let message = "list shows what the service has, which cannot search";
        let words: Vec<String> = list.words.iter().map(|word| shell_word(word)).collect();
        let words = words.join(" ");
        return Err(Error::new(ErrorKind::Usage, message)
            .with_hint(format!("sentbox search {words} looks in the archive"))
            .into());
    }
    if list.before.is_some() && list.limit > u32::from(MAX_LIMIT) {
        let message = format!("--before gives one page, so --limit is at most {MAX_LIMIT} with it");
        return Err(Error::new(ErrorKind::Usage, message)
            .with_hint("for more than one page, use --after")
            .into());
    }
    let columns = list.table.columns(ctx.out.is_json(), ctx.mailbox)?;
    if let Some(column) = columns.iter().find(|column| column.is_archived()) {
        let message = format!("the service does not list the column {}", column.name());
        return Err(Error::new(ErrorKind::Usage, message)
            .with_hint("sentbox search has it, for what the archive knows")
            .into());
    }
    let client = ctx.client_with_notes(RetryPolicy::ONE_SHOT);
    let mut age = ListAge::default();
    let pages = print_pages(&client, list, columns, RowPrinter::new(ctx), &mut age);
    let result = block_on(pages)?;
    if let Some(text) = age.describe(ctx.now(), &ctx.settings.zone) {
        ctx.out.note(&text);
    }
    result
}

/// How old the printed pages are: a mirror may have had them for long.
#[derive(Default)]
struct ListAge {
    /// Time of the newest page, if that is printed.
    listed_at: Option<Timestamp>,
    statuses: StatusAge,
}

impl ListAge {
    fn add_page(&mut self, page: &EmailPage, cursor: &Cursor, is_mirror: bool, now: Timestamp) {
        if !matches!(cursor, Cursor::After(_)) {
            self.listed_at = page.listed_at;
        }
        let may_change = page.items.iter().any(|item| {
            let age = now.duration_since(item.created.unwrap_or(now));
            Summary::from(&item.parsed().summary).status.finality(age) != Finality::Final
        });
        if may_change {
            let from_service = Some(now).filter(|_| !is_mirror);
            self.statuses.recent.add(page.checked_at.or(from_service));
        }
    }

    /// Describes the age; `None` if all is fresh.
    fn describe(&self, now: Timestamp, zone: &TimeZone) -> Option<String> {
        let listed_at = self.listed_at.filter(|at| !is_fresh(*at, now));
        let listed = listed_at.map(|at| {
            let at = format_time(at, now, zone);
            format!("the newest page is as of {at}: later mail is not in it")
        });
        let parts = [listed, describe_age(&self.statuses, now, zone)];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        (!text.is_empty()).then_some(text)
    }
}

async fn print_pages(
    client: &Client,
    list: &ListArgs,
    columns: &[Column],
    mut printer: RowPrinter<'_>,
    age: &mut ListAge,
) -> Result<(), CommandExit> {
    if let Some(header) = list.table.header(columns) {
        printer.out.write_data(&header)?;
    }
    // A service may return less than a page, or leave out `has_more`.
    let is_paged = list.before.is_none();
    let mut seen = HashSet::new();
    let mut left = if list.all { u32::MAX } else { list.limit };
    let mut cursor = list.cursor();
    let mut deadline = PageDeadline::default();
    let mut has_unreadable = false;
    loop {
        let limit = u8::try_from(left).unwrap_or(MAX_LIMIT).min(MAX_LIMIT);
        let page = match deadline.load_page(client, limit, &cursor).await {
            Ok(page) => page,
            Err(error) if printer.printed == 0 => return Err(describe_cursor(error, list).into()),
            Err(error) => {
                printer.end(true)?;
                return Err(error.into());
            }
        };
        age.add_page(&page, &cursor, client.is_mirror(), printer.layout.now);
        let EmailPage {
            checked_at: _,
            listed_at: _,
            mut items,
            unreadable,
            has_more,
        } = page;
        if printer.printed == 0 && ignores_cursor(&items, list) {
            return Err(ignored_cursor_error().into());
        }
        has_unreadable |= unreadable > 0;
        if unreadable > 0 {
            printer.out.note(&format!(
                "{unreadable} of the service's items could not be read and are left out"
            ));
        }
        if is_paged {
            // Pages may overlap while mail arrives.
            items.retain(|item| seen.insert(EmailId::new(&item.id)));
        }
        // Some services say so of a full page, although more follow.
        let is_full = items.len() >= usize::from(limit);
        deadline.record_page(items.len(), limit, Instant::now());
        let is_cut = is_paged && items.len() > left as usize;
        if is_cut {
            // A service may ignore the limit.
            items.truncate(left as usize);
        }
        print_items(&items, list, columns, &mut printer)?;
        if !list.all {
            left = left.saturating_sub(u32::try_from(items.len()).unwrap_or(u32::MAX));
        }
        let continues = is_paged && (has_more != Some(false) || is_full) && left > 0;
        let Some(last) = items.last().filter(|_| continues) else {
            // Without `has_more`, only a page with nothing new shows that there is no more.
            let has_more = is_cut || has_more.unwrap_or(!items.is_empty());
            printer.end(has_more || list.all && has_unreadable)?;
            if has_more {
                note_next_page(list, &items, printer.out);
            }
            if continues && has_more {
                return Err(no_new_emails_error().into());
            }
            return Ok(());
        };
        cursor = Cursor::After(EmailId::new(&last.id));
    }
}

fn print_items(
    items: &[ListedEmail],
    list: &ListArgs,
    columns: &[Column],
    printer: &mut RowPrinter<'_>,
) -> Result<(), CommandExit> {
    for item in items {
        printer.print(
            |layout| {
                let summary = Summary::from(&item.parsed().summary);
                let value = |column: &Column| {
                    let value = column.listed_value(&summary, layout.secrets);
                    value.unwrap_or_default()
                };
                match columns {
                    [] => layout.format(&summary, false),
                    _ => list.table.join(columns.iter().map(value)),
                }
            },
            || Ok(Some(escape_line(&item.json).into_owned())),
        )?;
    }
    printer.out.flush()
}

/// The deadline of a request for pages that are shorter than requested.
///
/// Each request has a deadline of its own, but a service may need any number of them.
#[derive(Default)]
struct PageDeadline {
    /// `None` after a page as long as requested.
    at: Option<Instant>,
    /// Emails since it was set.
    emails: usize,
}

impl PageDeadline {
    async fn load_page(&self, client: &Client, limit: u8, cursor: &Cursor) -> Result<EmailPage> {
        let request = client.list(limit, cursor);
        match self.at {
            Some(at) => {
                (timeout_at(at, request).await).unwrap_or_else(|_| Err(short_pages_error()))
            }
            None => request.await,
        }
    }

    fn record_page(&mut self, emails: usize, limit: u8, now: Instant) {
        self.emails += emails;
        if emails >= usize::from(limit) || self.emails >= usize::from(MAX_LIMIT) {
            *self = Self::default();
        } else if self.at.is_none() {
            self.at = Some(now + RetryPolicy::ONE_SHOT.total_timeout);
        }
    }
}

fn no_new_emails_error() -> Error {
    let message = "the service reports more emails but sends no new ones";
    Error::new(ErrorKind::NotTheApi, message).with_hint("what is printed may not be everything")
}

/// Whether the first page has the email after which it should begin:
/// some services ignore the cursor, and some repeat its email as the first one.
fn ignores_cursor(items: &[ListedEmail], list: &ListArgs) -> bool {
    let mut others = items.iter().skip(1);
    let after = list.after.as_ref();
    after.is_some_and(|id| others.any(|item| item.id == *id))
}

fn ignored_cursor_error() -> Error {
    let message = "the service does not go on after an email: its answer has that email again";
    Error::new(ErrorKind::NotTheApi, message)
        .with_hint("list without --after, with a larger --limit or --all")
}

fn short_pages_error() -> Error {
    let seconds = RetryPolicy::ONE_SHOT.total_timeout.as_secs();
    let message = format!(
        "the service lists so few emails a page that {MAX_LIMIT} of them take more than {seconds} s"
    );
    Error::new(ErrorKind::NotTheApi, message).with_hint("what is printed is not everything")
}

/// Names the id that was typed, if the service refused the request because of it.
fn describe_cursor(error: Error, list: &ListArgs) -> Error {
    let is_refused = error.kind == ErrorKind::InvalidRequest;
    match list.after.as_ref().or(list.before.as_ref()) {
        Some(id) if is_refused => {
            let id = sanitize::sanitize_line(id);
            Error {
                kind: ErrorKind::NotFound,
                message: format!("there is no email {id} to go on from"),
                hint: format!("check the id; {}", error.message),
                ..error
            }
        }
        _ => error,
    }
}

/// Prints the command that lists the emails after, or with `--before` before,
/// the last of this direction.
fn note_next_page(list: &ListArgs, items: &[ListedEmail], out: &mut Output) {
    let (direction, end) = match list.before {
        None => ("--after", items.last()),
        Some(_) => ("--before", items.first()),
    };
    let Some(end) = end else { return };
    let limit = if list.limit == ListArgs::DEFAULT_LIMIT {
        String::new()
    } else {
        format!(" --limit {}", list.limit)
    };
    let columns: Vec<String> = list
        .table
        .columns
        .iter()
        .map(|column| column.name())
        .collect();
    let columns = match columns.as_slice() {
        [] => String::new(),
        names => format!(" --columns {}", names.join(",")),
    };
    let format = if list.table.csv {
        " --csv".to_owned()
    } else {
        out.format_flags()
    };
    let id = EmailId::new(&end.id).to_safe_text();
    let id = shell_word(&id);
    out.note(&format!(
        "there is more: sentbox list {direction} {id}{limit}{columns}{format}"
    ));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn old_page_of_a_mirror_has_its_time() {
        let now: Timestamp = "2026-11-20T12:54:00Z".parse().unwrap();
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let note = |status: &str, listed_at, checked_at, is_mirror| {
            let item = format!(
                r#"{{"object":"list","data":[{{"id":"7","created_at":"2026-11-20T12:00:00Z","last_event":"{status}"}}]}}"#
            );
            let page = EmailPage {
                checked_at,
                listed_at,
                ..crate::api::parse_page(item.as_bytes()).unwrap()
            };
            let mut age = ListAge::default();
            age.add_page(&page, &Cursor::Start, is_mirror, now);
            age.describe(now, &TimeZone::UTC)
        };
        let old = at("2026-11-20T12:49:30Z");
        let expected = Some(
            "the newest page is as of 12:49: later mail is not in it; statuses as of 12:49 or later",
        );
        assert_eq!(note("sent", old, old, true).as_deref(), expected);
        let text = note("bounced", old, old, true).unwrap();
        assert!(text.ends_with("later mail is not in it"), "final: {text}");
        assert_eq!(
            note("sent", at("2026-11-20T12:53:00Z"), Some(now), true),
            None
        );
        assert_eq!(note("sent", None, None, false), None, "the service itself");
        let text = note("sent", Some(now), None, true).unwrap();
        assert!(text.contains("never confirmed"), "{text}");
    }

    #[test]
    fn short_pages_have_one_deadline() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut deadline = PageDeadline::default();
        deadline.record_page(100, 100, after(0));
        assert_eq!(deadline.at, None);
        for second in 0..50 {
            deadline.record_page(1, 100, after(second));
            assert_eq!(deadline.at, Some(after(25)));
        }
        deadline.record_page(50, 100, after(50));
        assert_eq!(deadline.at, None, "a hundred more");
        deadline.record_page(1, 100, after(60));
        assert_eq!(deadline.at, Some(after(85)));
        deadline.record_page(5, 5, after(61));
        assert_eq!(deadline.at, None, "a page as long as requested");
    }
}
