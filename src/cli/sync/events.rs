//! The lines of `watch` and `sync --watch`: a page, a new email, a status change.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::archive::{Archive, Coverage, EmailRow, LeftOut, SortKey, WindowAnchor};
use crate::cli::output::escape::row_json;
use crate::cli::output::format::{
    add_left_out, coverage_time, covered_since, describe_coverage_as_of, is_fresh, strftime,
};
use crate::cli::output::{CommandExit, Output};
use crate::error::Result;
use crate::mail::{EmailId, Status, Summary};
use crate::query::Query;
use crate::sync::SyncReport;
use crate::text::format::{format_timestamp, group_digits, plural};
use crate::text::secrets::Secrets;

/// Width of the statuses before and after a change.
const CHANGE_WIDTH: usize = 24;

/// Prints what arrives and changes, from its start on.
pub(super) struct EventLog {
    /// Only emails that match; `None` for all, and a line for each page.
    query: Option<Query>,
    zone: TimeZone,
    secrets: Secrets,
    /// The newest email at the start: what is stored later and is newer has arrived since, also
    /// below other such mail, because a service may list an email after newer ones.
    newest: Option<SortKey>,
}

/// A page as JSON.
#[derive(Serialize)]
struct PageJson<'a> {
    /// `page`.
    event: &'a str,
    /// When it was stored.
    at: String,
    /// Emails on it that the archive did not have.
    new: u64,
    /// Emails on it whose status has changed.
    changes: u64,
    /// Whether the archive has everything that the service lists,
    /// except what `archive info` has in `omitted`.
    complete: bool,
    /// Time from which on the archive is complete, if not `complete`.
    since: Option<String>,
    /// Time of `complete` and `since`, if it is more than five seconds ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

impl EventLog {
    pub(super) const fn new(query: Option<Query>, zone: TimeZone, secrets: Secrets) -> Self {
        Self {
            query,
            zone,
            secrets,
            newest: None,
        }
    }

    /// Whether a line is printed for each page, too.
    pub(super) const fn shows_pages(&self) -> bool {
        self.query.is_none()
    }

    /// Takes as known all emails of the archive and, unless it was just refreshed,
    /// all sent before `now`.
    pub(in crate::cli) fn start(&mut self, now: Timestamp, archive: &Archive) -> Result<()> {
        self.mark_known(archive)?;
        if !archive.head_at_by(now)?.is_some_and(|at| is_fresh(at, now)) {
            let started = SortKey::from_micros(now.as_microsecond());
            self.newest = self.newest.max(started);
        }
        Ok(())
    }

    /// Takes all emails of the archive as known.
    pub(super) fn mark_known(&mut self, archive: &Archive) -> Result<()> {
        let window = archive.window(&WindowAnchor::Top, 1)?;
        self.newest = window.rows.first().map(|row| row.sort_key);
        Ok(())
    }

    /// Whether the newest covered range does not reach down to the known emails.
    pub(super) fn has_gap(&self, archive: &Archive) -> Result<bool> {
        let coverage = archive.coverage_state()?;
        let top = coverage.ranges.iter().find(|range| range.reaches_top);
        Ok(match (top, self.newest) {
            (Some(range), Some(newest)) => range.bottom > newest,
            _ => false,
        })
    }

    /// Prints a page with so many new emails and changes.
    pub(super) fn print_page(
        &self,
        (new, changes): (u64, u64),
        report: &SyncReport,
        left_out: LeftOut,
        now: Timestamp,
        out: &mut Output,
    ) -> Result<(), CommandExit> {
        if !self.shows_pages() {
            return Ok(());
        }
        out.show_progress("");
        let (coverage, refreshed) = (&report.coverage, report.refreshed_at);
        if out.is_json() {
            let page = PageJson {
                event: "page",
                at: format_timestamp(now),
                new,
                changes,
                complete: *coverage == Coverage::Complete,
                since: covered_since(coverage),
                as_of: coverage_time(refreshed, now),
            };
            return out.report(&page, "");
        }
        let reach = describe_coverage_as_of(coverage, refreshed, now, &self.zone);
        let text = format!(
            "{} new, {} changed; {}",
            plural(new, "email"),
            group_digits(changes, ' '),
            add_left_out(&reach, coverage, left_out)
        );
        let line = if out.columns.is_some() {
            format!("{}  page     {text}\n", self.clock_time(now))
        } else {
            format!("{}\tpage\t{text}\n", format_timestamp(now))
        };
        out.write_data(&line)?;
        out.flush()
    }

    /// Prints the emails of a report that are newer than the known ones,
    /// and those that have changed.
    pub(super) fn print_report(
        &self,
        report: &SyncReport,
        archive: &Archive,
        now: Timestamp,
        out: &mut Output,
    ) -> Result<(), CommandExit> {
        let mut arrived = self.load(&report.new_ids, archive)?;
        arrived.retain(|row| self.newest.is_none_or(|newest| row.sort_key > newest));
        for row in arrived {
            self.print(&row, None, archive, now, out)?;
        }
        for row in self.load(&report.changed_ids, archive)? {
            let history = archive.history(&row.summary.id)?;
            let before = history.iter().rev().nth(1);
            let before = before.map_or(Status::Unknown, |observed| observed.status.clone());
            self.print(&row, Some(&before), archive, now, out)?;
        }
        out.flush()
    }

    /// Loads the rows that match, oldest first.
    fn load(&self, ids: &[EmailId], archive: &Archive) -> Result<Vec<EmailRow>> {
        let mut rows = Vec::new();
        for id in ids {
            let Some(row) = archive.row(id)? else {
                continue;
            };
            let is_match = match &self.query {
                Some(query) => archive.is_match(query, row.sort_key)?,
                None => true,
            };
            if is_match {
                rows.push(row);
            }
        }
        rows.sort_unstable_by_key(|row| row.sort_key);
        rows.dedup_by_key(|row| row.sort_key);
        Ok(rows)
    }

    /// Prints an email; `before` is its status before the change.
    fn print(
        &self,
        row: &EmailRow,
        before: Option<&Status>,
        archive: &Archive,
        now: Timestamp,
        out: &mut Output,
    ) -> Result<(), CommandExit> {
        out.show_progress("");
        let summary = &row.summary;
        let event = if before.is_some() { "changed" } else { "new" };
        let at = format_timestamp(now);
        if out.is_json() {
            let Some(email) = row_json(archive, row)? else {
                return Ok(());
            };
            let word = |text: &str| serde_json::Value::from(text).to_string();
            let from = before.map_or_else(String::new, |status| {
                let (from, to) = (word(status.api_name()), word(summary.status.api_name()));
                format!(",\"from\":{from},\"to\":{to}")
            });
            let line =
                format!("{{\"event\":\"{event}\",\"at\":\"{at}\"{from},\"email\":{email}}}\n");
            return out.write_data(&line);
        }
        let subject = summary.shown_subject(self.secrets);
        let id = summary.id.to_safe_text();
        if out.columns.is_none() {
            let from = before.map_or("", Status::api_name);
            let status = summary.status.api_name();
            let to: Vec<&str> = summary.to.iter().map(|address| &*address.email).collect();
            let fields = [&*at, event, from, status, &to.join(","), &subject, &id];
            return out.write_data(&(fields.join("\t") + "\n"));
        }
        let status = match before {
            Some(before) => format!("{} → {}", before.label(), summary.status.label()),
            None => summary.status.label().to_owned(),
        };
        out.write_data(&format!(
            "{}  {event:<7}  {status:<CHANGE_WIDTH$}  {}  {subject}  {id}\n",
            self.clock_time(now),
            first_recipient(summary)
        ))
    }

    fn clock_time(&self, now: Timestamp) -> String {
        strftime(now, &self.zone, "%H:%M:%S")
    }
}

/// Formats the first recipient and the number of the others.
fn first_recipient(summary: &Summary) -> String {
    let first = summary.to.first().map_or("", |address| &address.email);
    match summary.count_recipients() {
        0 | 1 => first.to_owned(),
        count => format!("{first} +{}", count - 1),
    }
}
