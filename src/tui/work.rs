//! The work of effects off the event loop, with the archive and the service:
//! load, count, collect, save, export, refresh.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, Zoned};
use tokio::time::timeout;

use super::email_thread::EmailThread;
use super::session::OpenedSession;
use crate::api::{Client, Cursor, EmailApi as _, Priority, RequestHandle};
use crate::app::{
    BODIES_PER_STEP, BodyFetch, BodyFetchStep, ChangeCounts, CollectedIds, LastLook, ListCounts,
    MAX_MARKS, Message, OpenedEmail, RecipientSummary,
};
use crate::archive::{
    Archive, CancellationToken, Direction, MatchCount, SortKey, Statistics, StatisticsBuilder,
};
use crate::error::{Error, ErrorKind, Result};
use crate::export::{self, ExportJob, ExportProgress, attachment_path};
use crate::mail::{Attachment, Email, EmailId};
use crate::query::{
    Node, Query, SearchText, SortOrder, Suggestion, SuggestionField, SuggestionSource, Term,
};
use crate::sync::{Engine, StopReason, SyncReport};
use crate::tasks;

/// Suggestions of the archive until the user types on;
/// they must not delay the search.
pub(super) struct CancellableSource<'a> {
    pub(super) archive: Archive,
    pub(super) cancel: &'a CancellationToken,
}

impl SuggestionSource for CancellableSource<'_> {
    fn suggest(&self, source: SuggestionField<'_>, part: &str, limit: usize) -> Vec<Suggestion> {
        self.archive.suggest_until(source, part, limit, self.cancel)
    }
}

/// The error of a cancelled search, which nothing shows:
/// a newer search has replaced it.
pub(super) fn cancelled_error() -> Error {
    Error::new(ErrorKind::Internal, "the search was cancelled")
}

/// Returns a session unless it has never listed its emails,
/// and the service does not list any.
pub(super) async fn check_listing(opened: OpenedSession) -> Result<OpenedSession> {
    /// How long the user waits for an answer; then the session shows what it has.
    const TIMEOUT: Duration = Duration::from_secs(5);
    if let OpenedSession::Opened(session) = &opened
        && session.info.as_of.is_none()
        && let Ok(engine) = &session.engine
    {
        let listed = timeout(TIMEOUT, engine.service().list(1, &Cursor::Start)).await;
        if let Ok(Err(error)) = listed
            && error.kind == ErrorKind::Unsupported
        {
            return Err(error);
        }
    }
    Ok(opened)
}

/// Counts at most `most` emails of the query, and of those before `position`.
pub(super) fn load_counts(
    archive: &Archive,
    query: &Query,
    position: Option<SortKey>,
    most: u64,
    cancel: &CancellationToken,
) -> Result<ListCounts> {
    let mut counts = ListCounts {
        archive_span: (archive.earliest_created()?).zip(archive.latest_created()?),
        left_out: archive.left_out()?,
        coverage: archive.coverage()?,
        ..ListCounts::default()
    };
    if query.is_default() {
        let rank = position
            .map(|position| archive.rank(position))
            .transpose()?;
        counts.rows_before = position.zip(rank);
        counts.total = archive.query_count()?;
        counts.archive_total = counts.total;
        return Ok(counts);
    }
    let matches = archive.count_matches(query, most, cancel)?;
    (counts.total, counts.is_capped) = match matches.ok_or_else(cancelled_error)? {
        MatchCount::Exactly(total) => (total, false),
        MatchCount::MoreThan(total) => (total, true),
    };
    if let Some(position) = position {
        let newer = archive.count_matches_past(query, Direction::Newer, position, most, cancel)?;
        counts.rows_before = match (newer.ok_or_else(cancelled_error)?, query.sort) {
            (MatchCount::Exactly(newer), SortOrder::Newest) => Some((position, newer)),
            (MatchCount::Exactly(newer), SortOrder::Oldest) if !counts.is_capped => {
                Some((position, counts.total.saturating_sub(newer + 1)))
            }
            (MatchCount::Exactly(_) | MatchCount::MoreThan(_), _) => None,
        };
    }
    if counts.total == 0 {
        counts.unmatched = archive.find_unmatched(query, cancel)?;
        counts.is_purged = archive.finds_purged(query)?;
    }
    let scope = archive.row_counts()?;
    (counts.archive_total, counts.bodies_known) = (scope.emails, Some(scope.bodies));
    Ok(counts)
}

/// Counts the matches without a known body that the service still has.
pub(super) fn count_missing_bodies(
    archive: &Archive,
    query: &Query,
    cancel: &CancellationToken,
) -> Result<u64> {
    let mut count = 0;
    let is_complete = archive.for_each_match(query, cancel, |row| {
        count += u64::from(row.lacks_body());
        true
    })?;
    is_complete.then_some(count).ok_or_else(cancelled_error)
}

/// Returns which of these emails are not in the archive.
pub(super) fn find_unstored(archive: &Archive, ids: Vec<EmailId>) -> Result<Vec<EmailId>> {
    let unstored = ids.into_iter().filter_map(|id| match archive.row(&id) {
        Ok(Some(_)) => None,
        Ok(None) => Some(Ok(id)),
        Err(error) => Some(Err(error)),
    });
    unstored.collect()
}

pub(super) fn load_recipient_summary(
    archive: &Archive,
    address: &SearchText,
    fresh_since: Timestamp,
    now: Timestamp,
    cancel: &CancellationToken,
) -> Result<RecipientSummary> {
    let query = Query {
        filter: Node::Term(Term::Recipient(address.clone())),
        sort: SortOrder::Newest,
    };
    let mut summary = RecipientSummary::default();
    let is_whole = archive.for_each_match(&query, cancel, |row| {
        summary.add(&row, address, fresh_since, now)
    })?;
    if !is_whole && cancel.is_cancelled() {
        return Err(cancelled_error());
    }
    // The reason is not in the listing, but in the email, if that was fetched.
    if let Some(problem) = summary
        .newest_problem
        .as_mut()
        .filter(|problem| problem.bounce.is_none())
    {
        let email = archive.email(&problem.id)?;
        problem.bounce = email.and_then(|email| email.summary.bounce());
    }
    Ok(summary)
}

/// Counts what is new or has changed since the last look.
pub(super) fn count_changes(
    archive: &Archive,
    query: &Query,
    last_look: LastLook,
    cancel: &CancellationToken,
) -> Result<ChangeCounts> {
    let mut counts = ChangeCounts::default();
    let is_whole = archive.for_each_match(query, cancel, |row| counts.add(&row, last_look))?;
    if !is_whole && cancel.is_cancelled() {
        return Err(cancelled_error());
    }
    Ok(counts)
}

pub(super) fn load_statistics(
    archive: &Archive,
    query: &Query,
    now: &Zoned,
    cancel: &CancellationToken,
) -> Result<Statistics> {
    /// Domains and subjects.
    const MOST: usize = 8;
    let builder = StatisticsBuilder::new(now.time_zone().clone(), now.timestamp());
    let statistics = archive.statistics(query, builder, MOST, cancel)?;
    statistics.ok_or_else(cancelled_error)
}

/// Loads what other processes have stored.
pub(super) async fn load_changes(archive: Archive, engine: Option<Engine<Client>>) -> Message {
    let result = if let Some(engine) = engine {
        engine.poll_changes().await
    } else {
        tasks::run_blocking(move || {
            SyncReport::default().finish(&archive, StopReason::OtherProcess)
        })
        .await
    };
    Message::ArchiveChanged(result)
}

/// Loads the email from the archive, or else from the service,
/// and its observed statuses.
pub(super) async fn load_email_and_history(
    emails: EmailThread,
    archive: Archive,
    engine: Result<Engine<Client>>,
    id: EmailId,
) -> Result<OpenedEmail> {
    {
        let (archive, id) = (archive.clone(), id.clone());
        tasks::run_blocking(move || archive.record_opened(&id, None)).await?;
    }
    let email = Arc::new(load_email(&emails, &archive, engine, &id).await?);
    let history = tasks::run_blocking(move || archive.history(&id)).await?;
    Ok(OpenedEmail { email, history })
}

/// Loads the email and its observed statuses from the archive,
/// if its body is there, and records that it was opened.
pub(super) fn load_stored_email(archive: &Archive, id: &EmailId) -> Result<Option<OpenedEmail>> {
    let Some(email) = archive.email(id)? else {
        return Ok(None);
    };
    archive.record_opened(id, None)?;
    let history = archive.history(id)?;
    let email = Arc::new(email);
    Ok(Some(OpenedEmail { email, history }))
}

/// Loads the email from the archive, or else from the service.
pub(super) async fn load_email(
    emails: &EmailThread,
    archive: &Archive,
    engine: Result<Engine<Client>>,
    id: &EmailId,
) -> Result<Email> {
    let stored = {
        let (archive, id) = (archive.clone(), id.clone());
        emails.run(move |_| archive.email(&id)).await
    };
    match (stored, engine) {
        (Ok(Some(email)), _) => Ok(email),
        // A damaged body is fetched again, and replaced.
        (Ok(None) | Err(_), Ok(engine)) => engine.fetch_email(id).await,
        (Ok(None), Err(error)) | (Err(error), Err(_)) => Err(error),
    }
}

/// Collects the ids of the query, or of those past the first key of `range` up to
/// the second.
pub(super) fn collect_ids(
    archive: &Archive,
    query: &Query,
    range: Option<(SortKey, SortKey)>,
    cancel: &CancellationToken,
) -> Result<CollectedIds> {
    let mut collected = CollectedIds::default();
    let is_in_range = |key: SortKey| match (range, query.sort) {
        (None, _) => true,
        (Some((_, end)), SortOrder::Newest) => key >= end,
        (Some((_, end)), SortOrder::Oldest) => key <= end,
    };
    let start = range.map(|(start, _)| start);
    archive.for_each_match_past(start, query, cancel, |row| {
        let is_wanted = is_in_range(row.sort_key);
        // Some of them may be marked already.
        collected.is_capped = is_wanted && collected.ids.len() == MAX_MARKS;
        if is_wanted && !collected.is_capped {
            collected.ids.push(row.summary.id);
        }
        is_wanted && !collected.is_capped
    })?;
    Ok(collected)
}

/// Saves an attachment to a file, or in a folder, until it is cancelled;
/// returns the file and its length.
pub(super) async fn save_attachment(
    engine: Result<Engine<Client>>,
    handle: RequestHandle,
    email: EmailId,
    attachment: Attachment,
    path: PathBuf,
) -> Result<(PathBuf, u64)> {
    let service = engine?.service().clone();
    let path = attachment_path(&path, &attachment);
    let save = export::save_attachment(&service, &email, &attachment, &path);
    let bytes = tokio::select! {
        saved = save => saved?,
        () = handle.cancelled() => return Err(cancelled_error()),
    };
    Ok((std::path::absolute(&path).unwrap_or(path), bytes))
}

/// Exports the next emails that are stored, or requests the body of the next one.
pub(super) async fn export_batch(
    archive: Archive,
    engine: Result<Engine<Client>>,
    handle: &RequestHandle,
    job: Arc<ExportJob>,
    mut progress: ExportProgress,
) -> ExportProgress {
    // The search ends with this task.
    let cancel = CancellationToken::new();
    let _guard = cancel.clone().drop_guard();
    let (batch, store, done) = (job.clone(), archive.clone(), progress.done);
    let next;
    (progress, next) = tasks::run_blocking(move || {
        let next = batch.write_batch(None, &store, &mut progress, &cancel);
        (progress, next)
    })
    .await;
    // What was written is shown before a request, which may take long.
    let Some(row) = next.filter(|_| progress.done == done) else {
        return progress;
    };
    let retrieved = match &engine {
        Ok(engine) => engine.fetch_email(&row.summary.id).await,
        Err(error) => Err(error.clone()),
    };
    if retrieved.is_err() && handle.is_cancelled() {
        return progress;
    }
    tasks::run_blocking(move || {
        job.write_retrieved(None, &archive, &mut progress, &row, retrieved);
        progress
    })
    .await
}

/// Fetches new mail: at once for a user, else only if no other process does.
pub(super) async fn refresh(
    engine: Result<Engine<Client>>,
    priority: Priority,
) -> Result<SyncReport> {
    let engine = engine?;
    if priority.is_background() {
        engine.refresh().await
    } else {
        engine.refresh_now().await
    }
}

pub(super) async fn fetch_bodies(
    engine: Result<Engine<Client>>,
    fetch: BodyFetch,
) -> Result<BodyFetchStep> {
    let (query, mut invalid) = (Query::clone(&fetch.candidates), fetch.invalid);
    let found = engine?
        .fetch_bodies_of(
            query,
            fetch.requested_down_to,
            BODIES_PER_STEP,
            &mut invalid,
        )
        .await?;
    Ok(BodyFetchStep {
        requests: u32::try_from(found.rows.len()).unwrap_or(u32::MAX),
        down_to: found.last_examined,
        is_done: found.is_exhausted,
        invalid,
    })
}
