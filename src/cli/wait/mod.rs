//! `wait`: waits for an email or its status, for end-to-end tests.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rustix::process::Signal;
use serde::Serialize;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::args::WaitArgs;
use super::args::typed_query::TypedQuery;
use super::output::escape::row_json;
use super::output::format::{add_left_out, describe_coverage_as_of};
use super::output::table::RowLayout;
use super::output::{CommandExit, Output, OutputFormat, wait_for_closed_stdout};
use super::{ProfileContext, block_on_until_signal, open_archive};
use crate::api::{EmailApi, LimitOwner, RetryPolicy};
use crate::archive::{Archive, CancellationToken, Coverage, EmailRow, WindowAnchor};
use crate::config::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{Email, FINAL_AFTER, Finality, Status};
use crate::query::{Query, SortOrder, may_match_status};
use crate::render::{BodyView, LayoutOptions, LinkKind, lay_out};
use crate::signals::signal_number;
use crate::sync::{Engine, StopReason};
use crate::text::codes::find_codes;
use crate::text::format::{format_pause, shell_word};

/// Time between two polls at first, and after [`SHORT_POLLS`].
const INTERVALS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
const SHORT_POLLS: u32 = 10;
/// The first request may take this long with `--timeout 0s`.
const FIRST_POLL: Duration = Duration::from_secs(10);
/// Bodies to fetch in a poll for a query that reads them.
const MAX_BODIES: usize = 10;
/// Bodies are fetched of mail that is at most so much older than the command.
const BODY_AGE: SignedDuration = SignedDuration::from_mins(10);
/// The width at which a body is laid out before its lines are joined again.
const TEXT_WIDTH: u16 = 100;

/// The facts found in the email, as JSON.
#[derive(Serialize)]
struct WaitJson<'a> {
    /// Its id.
    id: &'a str,
    /// The first link of its body; only with `--link`.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    /// Its one-time code without spaces; only with `--code`.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
}

pub(super) fn run(args: &WaitArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    ctx.settings.credentials.key.clone()?;
    let typed = TypedQuery::parse(&args.words, ctx.now(), ctx)?;
    // Before an archive is made, if nothing in the query needs it.
    if let (Some(until), Some(query)) = (&args.until, typed.clear_query()) {
        check_reachable(query, until)?;
    }
    let archive = open_archive::open_for_writing(ctx)?;
    let query = typed.check(&archive, ctx.out)?;
    if let Some(until) = &args.until {
        check_reachable(&query, until)?;
    }
    // A failed poll is repeated, and its error is known in time.
    let client = ctx.client(RetryPolicy::TUI);
    let mut wait = Wait {
        engine: Engine::new(client, archive.clone(), ctx.clock.clone()),
        query,
        until: args.until.clone(),
        clock: ctx.clock.clone(),
        started: ctx.now(),
        zone: ctx.settings.zone.clone(),
        last_error: None,
        out: &mut *ctx.out,
    };
    let (row, email) = block_on_until_signal(async {
        let began = Instant::now();
        let row = tokio::select! {
            row = wait.run(args.timeout) => row?,
            // It is no success, as for a command that has printed something.
            () = wait_for_closed_stdout() => {
                return Err(CommandExit::Signal(signal_number(Signal::PIPE)));
            }
        };
        let email = if args.link || args.code {
            Some(wait.load_email(&row, began, args.timeout).await?)
        } else {
            None
        };
        Ok((row, email))
    })?;
    ctx.out.show_progress("");
    let Some(email) = email else {
        let line = match ctx.out.format {
            OutputFormat::Human => {
                RowLayout::new(ctx).format(&row.summary, row.missing_since.is_some())
            }
            OutputFormat::Json | OutputFormat::JsonLines => found_json(&archive, &row)?,
        };
        ctx.out.write_styled(&(line + "\n"))?;
        return ctx.out.flush();
    };
    let found = if args.link {
        first_link(&email)
    } else {
        first_code(&email)
    };
    let found = found.ok_or_else(|| {
        let what = if args.link { "link" } else { "one-time code" };
        Error::new(ErrorKind::NoSuchPart, format!("the email has no {what}"))
            .with_hint(show_hint(&row))
    })?;
    let json = WaitJson {
        id: row.summary.id.as_str(),
        link: args.link.then(|| found.clone()),
        code: args.code.then(|| found.clone()),
    };
    ctx.out.report(&json, found)
}

/// Fails if no email matches the query any more once it has reached the status.
fn check_reachable(query: &Query, until: &Status) -> Result<()> {
    let mut reached = Status::KNOWN.iter().chain([until]);
    if reached.any(|status| has_reached(status, until) && may_match_status(query, status)) {
        return Ok(());
    }
    let label = until.label();
    let message = format!("the query excludes the emails that --until {label} waits for");
    Err(Error::new(ErrorKind::Usage, message).with_hint("take the status out of the query"))
}

struct Wait<'a, S> {
    engine: Engine<S>,
    query: Query,
    /// The status to wait for; `None` waits for a match.
    until: Option<Status>,
    clock: Clock,
    started: Timestamp,
    /// The zone of times in errors.
    zone: TimeZone,
    last_error: Option<Error>,
    out: &'a mut Output,
}

/// The result of a poll.
enum Progress {
    Reached(Box<EmailRow>),
    /// The status cannot be reached any more.
    Impossible(Box<EmailRow>),
    /// The newest match has another status.
    Pending(Box<EmailRow>),
    NoMatch,
}

impl<S: EmailApi> Wait<'_, S> {
    async fn run(&mut self, timeout: Duration) -> Result<EmailRow> {
        let began = Instant::now();
        let deadline = began + timeout;
        let mut last = Progress::NoMatch;
        let (mut polls, mut was_missing) = (0, false);
        loop {
            let limit = if polls == 0 {
                began + first_limit(timeout)
            } else {
                deadline
            };
            let poll_started = Instant::now();
            match self.finish_by(limit, self.poll()).await {
                Ok(Ok(Progress::Reached(row))) => return Ok(*row),
                Ok(Ok(Progress::Impossible(row))) => {
                    // One answer without the email may be a fault of the service.
                    let is_missing = row.missing_since.is_some();
                    if !is_missing || std::mem::replace(&mut was_missing, true) {
                        return Err(self.impossible_error(&row));
                    }
                    (last, self.last_error) = (Progress::Pending(row), None);
                }
                Ok(Ok(progress)) => {
                    (last, self.last_error) = (progress, None);
                }
                Ok(Err(error)) if error.kind.is_service_error() => {
                    self.note_error(error, deadline);
                }
                Ok(Err(error)) => return Err(error),
                Err(error) => {
                    if polls == 0 || poll_started.elapsed() > INTERVALS[1] {
                        self.last_error = Some(error);
                    }
                    return Err(self.timeout_error(timeout, &last));
                }
            }
            if self.next_request() >= deadline {
                return Err(self.timeout_error(timeout, &last));
            }
            polls += 1;
            self.show_progress(&last);
            let interval = INTERVALS[usize::from(polls >= SHORT_POLLS)];
            let next = self.next_request().max(Instant::now() + interval);
            sleep_until(next.min(deadline)).await;
        }
    }

    /// Requests new mail once, and returns the state of the newest match.
    async fn poll(&self) -> Result<Progress> {
        let requested_at = (self.clock)();
        let stop_reason = match self.engine.refresh_now().await?.stop_reason {
            StopReason::Failed(error) => return Err(error),
            StopReason::PageLimit => StopReason::Done,
            reason => reason,
        };
        if self.query.needs_bodies() && self.newest(&self.query)?.is_none() {
            self.fetch_bodies().await?;
        }
        // An email may have left the newest page, or match with another status only.
        if let Some(row) = self.newest(&self.query.without_status())?
            && (self.until.is_some() || self.query.depends_on_status())
            && row.finality(requested_at) != Finality::Final
            && row.confirmed_at.is_none_or(|at| at < requested_at)
        {
            self.engine.confirm_emails(vec![row.summary.id], 1).await?;
        }
        let Some(row) = self.newest(&self.query)?.map(Box::new) else {
            // The email may be among what could not be read.
            return stop_reason.into_error().map_or(Ok(Progress::NoMatch), Err);
        };
        let Some(until) = &self.until else {
            return Ok(Progress::Reached(row));
        };
        let history = self.engine.archive().history(&row.summary.id)?;
        let mut seen = history.iter().map(|observed| &observed.status);
        let was_reached = seen.any(|status| has_reached(status, until));
        Ok(if was_reached && !is_refuted(until, &row.summary.status) {
            Progress::Reached(row)
        } else if row.finality(requested_at) == Finality::Final {
            Progress::Impossible(row)
        } else {
            Progress::Pending(row)
        })
    }

    fn newest(&self, query: &Query) -> Result<Option<EmailRow>> {
        let cancel = CancellationToken::default();
        let archive = self.engine.archive();
        let mut newest = query.clone();
        newest.sort = SortOrder::Newest;
        let found = archive.search(&newest, &WindowAnchor::Top, 1, &cancel)?;
        Ok(found.and_then(|window| window.rows.into_iter().next()))
    }

    /// Fetches bodies of new mail that may match by them.
    async fn fetch_bodies(&self) -> Result<()> {
        let since = self.started - BODY_AGE;
        let is_wanted = |row: &EmailRow| {
            let created = row.summary.created.parsed;
            row.lacks_body() && created.is_none_or(|at| at >= since)
        };
        let query = self.query.without_bodies();
        let archive = self.engine.archive();
        let found = archive.find_candidates(&query, None, MAX_BODIES, is_wanted)?;
        for row in found.rows {
            match self.engine.fetch_email(&row.summary.id).await {
                Err(error) if error.kind != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Loads the email, and retries:
    /// right after it was listed, the service may not have it everywhere.
    async fn load_email(
        &mut self,
        row: &EmailRow,
        began: Instant,
        timeout: Duration,
    ) -> Result<Email> {
        let archive = self.engine.archive();
        archive.record_opened(&row.summary.id, None)?;
        if let Some(email) = archive.email(&row.summary.id)? {
            return Ok(email);
        }
        self.last_error = None;
        let (deadline, limit) = (began + timeout, began + first_limit(timeout));
        loop {
            let fetch = self.engine.fetch_email(&row.summary.id);
            match self.finish_by(limit, fetch).await {
                Ok(Err(error)) if error.kind == ErrorKind::NotFound => {
                    self.last_error = Some(error);
                }
                Ok(Err(error)) if error.kind.is_service_error() => {
                    self.note_error(error, deadline);
                }
                Ok(result) => return result,
                Err(error) => {
                    self.last_error.get_or_insert(error);
                }
            }
            let next = self.next_request();
            if next >= deadline {
                return Err(self.timeout_error(timeout, &Progress::NoMatch));
            }
            sleep_until(next.max(Instant::now() + INTERVALS[0]).min(deadline)).await;
        }
    }

    /// Returns the result of `requests`, or the error of having none at `limit`.
    async fn finish_by<T>(&self, limit: Instant, requests: impl Future<Output = T>) -> Result<T> {
        let mut requests = pin!(requests);
        // A request leaves the queue of the rate limiter when it is dropped.
        timeout_at(limit, requests.as_mut()).await.map_err(|_| {
            let budget = self.engine.service().rate_budget();
            match budget.and_then(|budget| Some((budget.waits_for?, budget.rate))) {
                Some((LimitOwner::User, rate)) => {
                    let message =
                        format!("the rate of {rate} requests a second allowed no further request");
                    Error::new(ErrorKind::RateLimited, message).with_hint("--rate allows more")
                }
                Some((LimitOwner::Service, _)) => {
                    let message = "the service's rate limit allowed no further request";
                    Error::new(ErrorKind::RateLimited, message)
                }
                None => Error::new(ErrorKind::Unreachable, "the service has not answered"),
            }
        })
    }

    /// Returns when the service takes the next request.
    fn next_request(&self) -> Instant {
        let cooldown = self.last_error.as_ref().map(Error::cooldown);
        Instant::now() + cooldown.unwrap_or_default()
    }

    /// Reports the first of several errors in a row, if a request follows.
    fn note_error(&mut self, error: Error, deadline: Instant) {
        if self.last_error.is_none() && Instant::now() + error.cooldown() < deadline {
            let message = format!("{}; retrying", error.message);
            self.out.note(&message);
        }
        self.last_error = Some(error);
    }

    fn show_progress(&mut self, progress: &Progress) {
        let text = match progress {
            Progress::Pending(row) => {
                format!(
                    "waiting: the newest match is {}",
                    row.summary.status.label()
                )
            }
            _ => "waiting: no email matches yet".to_owned(),
        };
        self.out.show_progress(&text);
    }

    fn impossible_error(&self, row: &EmailRow) -> Error {
        let status = match row.missing_since {
            Some(_) => "the email is no longer at the service".to_owned(),
            None => format!("the email's status is {}", row.summary.status.label()),
        };
        let until = self.until.as_ref().map_or("", Status::label);
        let is_final = row.missing_since.is_some()
            || row.summary.status.finality(SignedDuration::ZERO) == Finality::Final;
        let message = if is_final {
            format!("{status}, so it cannot become {until} any more")
        } else {
            let days = FINAL_AFTER.as_hours() / 24;
            format!("{status}, which counts as final: the email is older than {days} days")
        };
        Error::new(ErrorKind::StatusFinal, message).with_hint(show_hint(row))
    }

    fn timeout_error(&self, timeout: Duration, last: &Progress) -> Error {
        let mut hint = "--timeout allows more".to_owned();
        let state = match (&self.last_error, last) {
            (Some(error), _) => {
                if !error.hint.is_empty() {
                    hint.clone_from(&error.hint);
                }
                error.message.clone()
            }
            (None, Progress::Pending(row)) => {
                format!("the newest match is {}", row.summary.status.label())
            }
            (None, _) => {
                let coverage = self
                    .engine
                    .archive()
                    .coverage()
                    .unwrap_or(Coverage::Unknown);
                if coverage != Coverage::Complete {
                    hint += "; sentbox sync --back all fetches older mail";
                }
                let refreshed = self.engine.archive().head_at().ok().flatten();
                let now = (self.clock)();
                let reach = describe_coverage_as_of(&coverage, refreshed, now, &self.zone);
                let left_out = self.engine.archive().left_out().unwrap_or_default();
                let reach = add_left_out(&reach, &coverage, left_out);
                format!("no email matches; {reach}")
            }
        };
        let within = if timeout.is_zero() {
            "0 s".to_owned()
        } else {
            format_pause(timeout)
        };
        let message = format!("not within {within}: {state}");
        Error::new(ErrorKind::TimedOut, message).with_hint(hint)
    }
}

fn found_json(archive: &Archive, row: &EmailRow) -> Result<String> {
    row_json(archive, row)?.ok_or_else(|| {
        let message = "the email was found, but it has been purged from the archive since";
        Error::new(ErrorKind::NotFound, message)
    })
}

/// Returns how long the first request may take.
const fn first_limit(timeout: Duration) -> Duration {
    if timeout.is_zero() {
        FIRST_POLL
    } else {
        timeout
    }
}

fn show_hint(row: &EmailRow) -> String {
    let id = row.summary.id.to_safe_text();
    format!("sentbox show {} prints it", shell_word(&id))
}

/// Whether an email with `status` has reached the status `until`:
/// what was opened was delivered.
fn has_reached(status: &Status, until: &Status) -> bool {
    let step = |status: &Status| match status {
        Status::Sent | Status::DeliveryDelayed | Status::Bounced => Some(1),
        Status::Delivered | Status::Complained => Some(2),
        Status::Opened => Some(3),
        Status::Clicked => Some(4),
        _ => None,
    };
    let is_step = matches!(until, Status::Sent | Status::Delivered | Status::Opened);
    status == until || (is_step && step(status) >= step(until))
}

/// Whether this status shows that an email never reached the other one,
/// even if it had it before: what bounced was not delivered.
const fn is_refuted(until: &Status, status: &Status) -> bool {
    matches!(until, Status::Delivered | Status::Opened | Status::Clicked)
        && matches!(
            status,
            Status::Bounced | Status::Failed | Status::Suppressed | Status::Canceled
        )
}

/// Returns the first link of the body that opens a page.
fn first_link(email: &Email) -> Option<String> {
    let body = lay_out(email, BodyView::Rendered, LayoutOptions::from(TEXT_WIDTH));
    let mut links = body.links.iter();
    let link = links.find(|link| link.kind == LinkKind::Web)?;
    Some(link.target.to_string())
}

/// Returns the first one-time code of the body, or of the subject, without spaces.
fn first_code(email: &Email) -> Option<String> {
    let options = LayoutOptions::from(TEXT_WIDTH).stacked();
    let body = lay_out(email, BodyView::Rendered, options).unwrapped_text();
    [body.as_str(), &email.summary.subject]
        .into_iter()
        .find_map(|text| {
            let code = find_codes(text).into_iter().next()?;
            Some(text[code].split_whitespace().collect())
        })
}

#[cfg(test)]
mod tests;
