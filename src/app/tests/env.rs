//! The environment of the model's tests: a fake service that answers effects.

use std::sync::Arc;

pub(super) use super::fixtures::choices;
pub use super::fixtures::{body, confirm_report, email, row, row_of, seen, sync_report};
pub use super::harness::AppHarness;
pub(crate) use super::harness::effect;
use crate::api::wire;
use crate::app::list::marks::MAX_MARKS;
use crate::app::session::OpenOutcome;
use crate::app::{
    BODIES_PER_STEP, BodyFetchStep, ChangeCounts, CollectedIds, Effect, ListCounts, Message,
    OpenedEmail, RecipientSummary, SessionInfo, SessionTarget, StorageMode, find_matches,
};
use crate::archive::{
    Coverage, EmailRow, LeftOut, RowWindow, SortKey, StatisticsBuilder, Unmatched, WindowAnchor,
};
use crate::config::{ClipboardRoute, ViewWrite, built_in_views};
use crate::export::{ExportPlan, ExportProgress, ExportScope};
use crate::mail::{Attachment, Email, EmailId, Metrics, Suppression};
use crate::query::{EmailDocument, Node, Query, SortOrder, Term, complete, matches};
use crate::render;
use crate::sync::{BackfillStep, SyncReport};

/// The time of the tests: a Friday.
pub const NOW: &str = "2026-11-20T09:42:00Z";

/// [`NOW`] in the zone of the tests.
pub fn now() -> jiff::Zoned {
    NOW.parse::<jiff::Timestamp>()
        .unwrap()
        .to_zoned(jiff::tz::TimeZone::UTC)
}

/// An open profile with a service.
pub fn session() -> SessionInfo {
    SessionInfo {
        profile: "acme".to_owned(),
        target: SessionTarget::Profile("acme".to_owned()),
        command_flags: "-p acme ".to_owned(),
        storage: StorageMode::InFile("~/.local/share/sentbox/acme/archive.sqlite".to_owned()),
        refresh: std::time::Duration::from_secs(30),
        saved_views: built_in_views(),
        base_url: "https://api.example.com".to_owned(),
        clipboard: ClipboardRoute::Terminal { multiplexer: None },
        ..SessionInfo::default()
    }
}

/// Emails, newest first, and the pages that the service has above and below them.
#[derive(Debug, Clone)]
pub struct FakeService {
    pub rows: Vec<EmailRow>,
    /// Emails that arrive with the next refresh.
    pub arriving: u64,
    /// The service is a mirror that confirms nothing.
    pub confirms_nothing: bool,
    /// Each response finds emails that went missing or came back.
    pub deletions_changed: bool,
    /// How many of the newest emails a refresh confirms.
    pub confirmed_by_refresh: usize,
    /// Pages that the service still has below.
    pub older_pages: u64,
    /// The number of the next email.
    pub next: i64,
    /// The time at which the service answers.
    pub clock: jiff::Timestamp,
    pub left_out: LeftOut,
    /// Why nothing matches.
    pub unmatched: Unmatched,
    /// Whether the id of the filter was purged.
    pub is_purged: bool,
    /// Emails of an export without a stored body.
    pub without_body: u64,
    /// The html part of every email; without it a body is some numbered lines.
    pub html: Option<Arc<str>>,
    /// The attachments of every email.
    pub attachments: Vec<Attachment>,
    /// Why the service sends to no address.
    pub suppression: Option<Suppression>,
    /// The counts of every email.
    pub metrics: Metrics,
}

impl FakeService {
    /// `count` emails, one an hour.
    pub fn with_emails(count: i64) -> Self {
        let rows = (0..count).rev().map(row).collect();
        Self {
            rows,
            arriving: 0,
            confirms_nothing: false,
            deletions_changed: false,
            confirmed_by_refresh: 0,
            older_pages: 0,
            left_out: LeftOut::default(),
            unmatched: Unmatched::default(),
            is_purged: false,
            next: count,
            clock: NOW.parse().unwrap(),
            without_body: 0,
            html: None,
            attachments: Vec::new(),
            suppression: None,
            metrics: Metrics::default(),
        }
    }

    /// An email to the same recipient with each of these statuses, newest first.
    pub fn with_statuses(events: &[&str]) -> Self {
        let mut service = Self::with_emails(0);
        for (n, event) in (0..).zip(events) {
            let summary = wire::Summary {
                id: format!("email-{n}"),
                to: Some(vec!["ana@example.com".to_owned()]),
                created_at: Some("2026-11-20T09:00:00Z".to_owned()),
                last_event: Some((*event).to_owned()),
                ..wire::Summary::default()
            };
            service.rows.push(row_of(1_000 - n, &summary));
        }
        service
    }

    /// With so many older pages below.
    pub fn older(mut self, pages: u64) -> Self {
        self.older_pages = pages;
        self
    }

    /// One more email at the top.
    pub fn arrive(&mut self) {
        self.rows.insert(0, row(self.next));
        self.next += 1;
    }

    /// Answers an effect.
    pub fn answer(&mut self, effect: &Effect) -> Message {
        match effect {
            Effect::Loop(_) | Effect::SwitchSession(_) => unreachable!("has no answer"),
            Effect::LoadWindow(request, it) => {
                let mut window = self.window(&it.query, &it.anchor, it.rows);
                let mut rows = self.rows.iter();
                if let Some(id) = &it.kept
                    && !window.rows.iter().any(|row| row.summary.id == *id)
                    && let Some(row) = rows.find(|row| row.summary.id == *id)
                {
                    window.insert_unmatched(row.clone(), it.query.sort);
                }
                Message::WindowLoaded(*request, Ok(window))
            }
            Effect::CountEmails {
                request,
                query,
                position,
                most,
            } => {
                let found = self.found(query);
                let is_before = |row: &&EmailRow, position| {
                    if query.sort == SortOrder::Newest {
                        row.sort_key > position
                    } else {
                        row.sort_key < position
                    }
                };
                let rows_before = position.map(|position| {
                    let before = found.iter().filter(|row| is_before(row, position));
                    (position, before.count() as u64)
                });
                let total = found.len() as u64;
                let counts = ListCounts {
                    total: total.min(*most),
                    is_capped: total > *most,
                    archive_total: self.rows.len() as u64,
                    archive_span: self.span(),
                    bodies_known: Some(0),
                    left_out: self.left_out,
                    coverage: self.coverage(),
                    unmatched: self.unmatched.clone(),
                    is_purged: self.is_purged,
                    rows_before,
                };
                Message::Counted(*request, Ok(counts))
            }
            Effect::SummarizeRecipient {
                request,
                address,
                fresh_since,
                now,
            } => {
                let query = Query {
                    filter: Node::Term(Term::Recipient(address.clone())),
                    sort: SortOrder::Newest,
                };
                let mut summary = RecipientSummary::default();
                self.found(&query)
                    .iter()
                    .for_each(|row| assert!(summary.add(row, address, *fresh_since, *now)));
                Message::RecipientSummarized(*request, Ok(Arc::new(summary)))
            }
            Effect::LoadStatistics(request, query, now) => {
                let zone = now.time_zone().clone();
                let mut builder = StatisticsBuilder::new(zone, now.timestamp());
                self.found(query)
                    .iter()
                    .for_each(|row| builder.add(row, None));
                Message::StatisticsLoaded(*request, Ok(Arc::new(builder.finish(8))))
            }
            Effect::SaveView { request, .. } => {
                Message::ViewSaved(*request, Ok(ViewWrite::Stored("config.toml".to_owned())))
            }
            Effect::LoadViews(request) => Message::ViewsLoaded(*request, Ok(None)),
            Effect::CountChanges(request, query, last_look) => {
                let mut counts = ChangeCounts::default();
                let found = self.found(query);
                for row in &found {
                    assert!(counts.add(row, *last_look));
                }
                Message::ChangesCounted(*request, Ok(counts))
            }
            Effect::SaveState(request, _) => Message::StateSaved(*request, Ok(())),
            Effect::LoadRows(request, ids) => {
                let rows = self.rows.iter().filter(|row| ids.contains(&row.summary.id));
                Message::RowsLoaded(*request, Ok(rows.cloned().collect()))
            }
            Effect::FindUnstored(request, ids) => {
                let is_stored = |id: &EmailId| self.rows.iter().any(|row| row.summary.id == *id);
                let ids = ids.iter().filter(|id| !is_stored(id)).cloned().collect();
                Message::UnstoredFound(*request, Ok(ids))
            }
            Effect::LoadSuggestions {
                request,
                text,
                cursor,
            } => Message::SuggestionsLoaded(*request, complete(text, *cursor, &())),
            Effect::LoadStoredEmail(request, id) => {
                let is_stored = self
                    .rows
                    .iter()
                    .any(|row| row.summary.id == *id && row.has_body);
                let opened = is_stored.then(|| self.opened(id));
                Message::StoredEmailLoaded(*request, Ok(opened))
            }
            Effect::PrefetchEmail(request, _) => Message::EmailPrefetched(*request),
            Effect::RetrieveById(request, _) => Message::RetrievedById(*request, Ok(true)),
            Effect::LoadEmail {
                request,
                id,
                refusal,
                ..
            } => {
                let row = self.rows.iter().find(|row| row.summary.id == *id);
                let is_stored = row.is_some_and(|row| row.has_body);
                let refusal = refusal.clone().filter(|_| !is_stored);
                let opened = refusal.map_or_else(|| Ok(self.opened(id)), Err);
                Message::EmailLoaded(*request, opened)
            }
            Effect::RenderBody(request, email, view, options) => {
                let body = match &email.html {
                    Some(_) => render::lay_out(email, *view, *options),
                    None => body(email),
                };
                Message::BodyRendered(*request, Ok(Arc::new(body)))
            }
            Effect::SetClipboard(request, _, copied) => {
                Message::ClipboardSet(*request, copied.clone(), Ok(()))
            }
            Effect::OpenUrl { request, .. } => Message::UrlOpened(*request, Ok(())),
            Effect::SaveEmail { request, path, .. } => {
                Message::EmailSaved(*request, Ok(path.clone()))
            }
            Effect::LoadAttachments(request, _, _) => {
                let attachments = self.attachments.iter().cloned();
                Message::AttachmentsLoaded(*request, Ok(attachments.collect()))
            }
            Effect::LoadSuppression { request, .. } => {
                Message::SuppressionLoaded(*request, Ok(self.suppression.clone()))
            }
            Effect::LoadMetrics { request, .. } => {
                Message::MetricsLoaded(*request, Ok(self.metrics.clone()))
            }
            Effect::SaveAttachment { request, path, .. } => {
                Message::AttachmentSaved(*request, Ok((path.clone(), 48_000)))
            }
            Effect::FindMatches(request, body, pattern) => {
                Message::MatchesFound(*request, find_matches(body, pattern, || true))
            }
            Effect::Refresh(request, _) | Effect::RefreshNow(request) => {
                let new = std::mem::take(&mut self.arriving);
                (0..new).for_each(|_| self.arrive());
                let newest: Vec<_> = (self.rows.iter().take(self.confirmed_by_refresh))
                    .map(|row| row.sort_key)
                    .collect();
                self.confirm(|row| newest.contains(&row.sort_key));
                Message::Refreshed(*request, Ok(self.report(new)))
            }
            Effect::ConfirmStatuses { request, ids, .. } => {
                let confirms = !self.confirms_nothing;
                self.confirm(|row| confirms && ids.contains(&row.summary.id));
                Message::StatusesConfirmed(*request, Ok(confirm_report(self.report(0))))
            }
            Effect::CheckStatuses { request, query, .. } => {
                let found: Vec<EmailId> = self
                    .found(query)
                    .iter()
                    .map(|row| row.summary.id.clone())
                    .collect();
                self.confirm(|row| found.contains(&row.summary.id));
                Message::StatusesChecked(*request, Ok(confirm_report(self.report(0))))
            }
            Effect::CountMissingBodies(request, query) => {
                let found = self.found(query);
                let missing = found.iter().filter(|row| !row.has_body).count();
                Message::MissingBodiesCounted(*request, Ok(missing as u64))
            }
            Effect::FetchBodies(request, fetch) => {
                let below = fetch.requested_down_to;
                let most = BODIES_PER_STEP as usize;
                let mut found = self.found(&fetch.candidates);
                found.retain(|row| !row.has_body && below.is_none_or(|key| row.sort_key < key));
                let is_done = found.len() <= most;
                found.truncate(most);
                for row in &mut self.rows {
                    row.has_body |= found.iter().any(|fetched| fetched.sort_key == row.sort_key);
                }
                let step = BodyFetchStep {
                    requests: u32::try_from(found.len()).unwrap(),
                    down_to: found.last().map(|row| row.sort_key),
                    is_done,
                    invalid: fetch.invalid,
                };
                Message::BodiesFetched(*request, Ok(step))
            }
            Effect::RecheckStatuses(request) => Message::StatusesRechecked(*request, Ok(None)),
            Effect::LoadOlder(request, _) => {
                Message::OlderLoaded(*request, Ok(self.load_page_below()))
            }
            Effect::Backfill(request) => {
                let step = BackfillStep::Loaded(Box::new(self.load_page_below()));
                Message::Backfilled(*request, Ok(step))
            }
            Effect::LoadProfiles(request) => Message::ProfilesLoaded(*request, Ok(choices())),
            Effect::VerifyKey { request, .. } => Message::KeyVerified(*request, Ok(())),
            Effect::OpenMailbox(request, _, mailbox) => {
                let info = SessionInfo {
                    mailbox: *mailbox,
                    ..session()
                };
                let opened = Ok(OpenOutcome::Opened(Box::new(info)));
                Message::MailboxOpened(*request, opened)
            }
            Effect::OpenSession(request, _, _) => {
                let opened = OpenOutcome::Opened(Box::new(session()));
                Message::SessionOpened(*request, Ok(opened))
            }
            Effect::CollectIds(request, query, range) => {
                let found = self.found(query).into_iter();
                let is_in = |row: &EmailRow| {
                    range.is_none_or(|(first, last)| row.sort_key < first && row.sort_key >= last)
                };
                let mut ids: Vec<EmailId> = found.filter(is_in).map(|row| row.summary.id).collect();
                let is_capped = ids.len() > MAX_MARKS;
                ids.truncate(MAX_MARKS);
                Message::IdsCollected(*request, Ok(CollectedIds { ids, is_capped }))
            }
            Effect::PlanExport(request, job) => {
                let emails = match &job.scope {
                    ExportScope::Emails(ids) => ids.len() as u64,
                    ExportScope::Query(query) => self.found(query).len() as u64,
                };
                let plan = ExportPlan {
                    scope: job.scope.clone(),
                    emails,
                    is_capped: false,
                    without_body: self.without_body,
                    retrievable: self.without_body,
                };
                Message::ExportPlanned(*request, Ok((job.clone(), plan)))
            }
            Effect::ExportBatch(request, _, progress) => {
                let mut progress = ExportProgress::clone(progress);
                progress.has_started = true;
                progress.is_done = progress.done > 0;
                progress.done += 2;
                progress.written += 2;
                Message::ExportAdvanced(*request, progress)
            }
            Effect::Timer(request, kind, _) => Message::TimerFired(*request, *kind),
        }
    }

    /// The times of the oldest and the newest email.
    fn span(&self) -> Option<(jiff::Timestamp, jiff::Timestamp)> {
        let time = |row: &EmailRow| row.summary.created.parsed;
        time(self.rows.last()?).zip(time(self.rows.first()?))
    }

    /// The service confirms these rows.
    fn confirm(&mut self, which: impl Fn(&EmailRow) -> bool) {
        let is_listed = |row: &&mut EmailRow| row.missing_since.is_none() && which(row);
        for row in self.rows.iter_mut().filter(is_listed) {
            row.confirmed_at = Some(self.clock);
        }
    }

    /// The next page below.
    fn load_page_below(&mut self) -> SyncReport {
        let new = if self.older_pages > 0 { 100 } else { 0 };
        self.older_pages = self.older_pages.saturating_sub(1);
        let oldest = self.rows.last().map_or(0, |row| row.sort_key.micros());
        self.rows.extend((1..=new).map(|n| row(oldest - n)));
        self.report(new.cast_unsigned())
    }

    fn coverage(&self) -> Coverage {
        match self.rows.last() {
            Some(oldest) if self.older_pages > 0 => Coverage::Since(oldest.summary.created.clone()),
            _ => Coverage::Complete,
        }
    }

    fn report(&self, new: u64) -> SyncReport {
        SyncReport {
            coverage: self.coverage(),
            deletions_changed: self.deletions_changed,
            ..sync_report(new)
        }
    }

    /// The emails that the query finds, in its order.
    pub fn found(&self, query: &Query) -> Vec<EmailRow> {
        let is_match = |row: &EmailRow| {
            let document = EmailDocument {
                summary: &row.summary,
                bodies: None,
                tags: None,
                reason: None,
                seen_change: row.last_change.as_ref().map(|change| change.seen),
                is_missing_upstream: row.missing_since.is_some(),
            };
            matches(query, &document) == Some(true)
        };
        let mut found: Vec<EmailRow> = self
            .rows
            .iter()
            .filter(|row| is_match(row))
            .cloned()
            .collect();
        if query.sort == SortOrder::Oldest {
            found.reverse();
        }
        found
    }

    fn window(&self, query: &Query, anchor: &WindowAnchor, count: usize) -> RowWindow {
        let found = self.found(query);
        let len = found.len();
        let down = |row: &EmailRow, position: SortKey| {
            if query.sort == SortOrder::Newest {
                row.sort_key <= position
            } else {
                row.sort_key >= position
            }
        };
        let at = |position: SortKey| {
            found
                .iter()
                .position(|row| down(row, position))
                .unwrap_or(len)
        };
        let start = match anchor {
            WindowAnchor::Top => 0,
            WindowAnchor::Bottom => len.saturating_sub(count),
            WindowAnchor::Around {
                sort_key: position,
                above,
            } => at(*position).saturating_sub(*above),
            WindowAnchor::AtTime(micros) => at(SortKey::from_micros(*micros).unwrap()),
        };
        let end = (start + count).min(len);
        RowWindow {
            rows: (found[start..end].iter().cloned())
                .map(EmailRow::shorten)
                .collect(),
            more_above: start > 0,
            more_below: end < len,
            unmatched: None,
        }
    }

    fn opened(&self, id: &EmailId) -> OpenedEmail {
        let row = self
            .rows
            .iter()
            .find(|row| row.summary.id == *id)
            .expect("only listed emails are opened");
        OpenedEmail {
            email: Arc::new(Email {
                html: self.html.clone(),
                ..email(&row.summary)
            }),
            history: vec![seen(&row.summary.status)],
        }
    }
}
