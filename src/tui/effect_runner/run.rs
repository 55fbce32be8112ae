//! The work of each effect, and the message with its result.

use std::sync::Arc;
use std::time::Duration;

use super::search_slot::SearchSlot;
use super::{EffectRunner, Opened, Timer};
use crate::api::{Priority, RequestHandle};
use crate::app::{
    Effect, Message, RequestId, RequestKind, SessionTarget, TimerKind, WindowQuery, find_matches,
};
use crate::archive::{CancellationToken, OnMismatch};
use crate::config::FaultPoint;
use crate::error::{Error, Result};
use crate::export::{self, ExportJob, ExportProgress};
use crate::mail::{Email, EmailId, Mailbox};
use crate::query::{Query, complete};
use crate::render::{BodyView, LayoutOptions};
use crate::tasks;
use crate::tui::desktop;
use crate::tui::state_files::not_saved_error;
use crate::tui::work::{
    CancellableSource, cancelled_error, check_listing, collect_ids, count_changes,
    count_missing_bodies, export_batch, fetch_bodies, find_unstored, load_counts, load_email,
    load_email_and_history, load_recipient_summary, load_statistics, load_stored_email, refresh,
    save_attachment,
};

impl EffectRunner {
    /// Returns the message of an effect that takes less time than a thread needs to
    /// start: to load rows without a search.
    pub fn run_at_once(&self, effect: &Effect) -> Option<Message> {
        match effect {
            Effect::LoadWindow(request, it)
                if it.query.is_default() && it.kept.is_none() && !it.with_tags =>
            {
                let window = self.session.archive.window(&it.anchor, it.rows);
                Some(Message::WindowLoaded(*request, window))
            }
            _ => None,
        }
    }

    pub fn run(&mut self, effect: Effect) {
        let archive = self.session.archive.clone();
        let (searches, interactive) = (&mut self.searches, &mut self.interactive);
        match effect {
            Effect::Loop(_) => unreachable!("the event loop runs these itself"),
            Effect::SwitchSession(request) => self.switch_session(request),
            Effect::LoadWindow(request, query) => self.load_window(request, query),
            Effect::CountEmails {
                request,
                query,
                position,
                most,
            } => searches.count.replace(interactive, move |cancel| {
                let counts = load_counts(&archive, &query, position, most, cancel);
                Message::Counted(request, counts)
            }),
            Effect::SummarizeRecipient {
                request,
                address,
                fresh_since,
                now,
            } => searches.recipient.replace(interactive, move |cancel| {
                let summary = load_recipient_summary(&archive, &address, fresh_since, now, cancel);
                Message::RecipientSummarized(request, summary.map(Arc::new))
            }),
            Effect::LoadStatistics(request, query, now) => {
                let mut slot = SearchSlot::default();
                slot.replace(interactive, move |cancel| {
                    let statistics = load_statistics(&archive, &query, &now, cancel);
                    Message::StatisticsLoaded(request, statistics.map(Arc::new))
                });
                searches.statistics = Some((request, slot));
            }
            Effect::SaveView {
                request,
                number,
                known,
                view,
            } => {
                let views = self.session.view_store.clone();
                self.spawn_blocking(move || {
                    Message::ViewSaved(request, views.save(number, known.as_ref(), view.as_ref()))
                });
            }
            Effect::LoadViews(request) => {
                let views = self.session.view_store.clone();
                self.spawn_blocking(move || Message::ViewsLoaded(request, views.load()));
            }
            Effect::CountChanges(request, query, last_look) => {
                searches
                    .change
                    .replace(&mut self.background, move |cancel| {
                        let counts = count_changes(&archive, &query, last_look, cancel);
                        Message::ChangesCounted(request, counts)
                    });
            }
            Effect::SaveState(request, records) => {
                let files = self.session.state_files.clone();
                self.spawn_blocking(move || {
                    // The last one saves those before it, too.
                    let save = |_, record| files.append(record);
                    let result = records.iter().fold(Ok(()), save);
                    let result = result.map_err(|error| not_saved_error(&records, &error));
                    Message::StateSaved(request, result)
                });
            }
            Effect::LoadRows(request, ids) => self.spawn_blocking(move || {
                let rows = ids.iter().filter_map(|id| archive.row(id).transpose());
                Message::RowsLoaded(request, rows.collect())
            }),
            Effect::FindUnstored(request, ids) => self.spawn_blocking(move || {
                Message::UnstoredFound(request, find_unstored(&archive, ids))
            }),
            Effect::LoadSuggestions {
                request,
                text,
                cursor,
            } => searches.suggestion.replace(interactive, move |cancel| {
                let source = CancellableSource { archive, cancel };
                Message::SuggestionsLoaded(request, complete(&text, cursor, &source))
            }),
            Effect::LoadEmail {
                request,
                id,
                priority,
                refusal,
            } => self.load_email(request, id, priority, refusal),
            Effect::LoadStoredEmail(request, id) => {
                let loaded = self.emails.run(move |_| {
                    Message::StoredEmailLoaded(request, load_stored_email(&archive, &id))
                });
                self.spawn(loaded);
            }
            Effect::PrefetchEmail(request, id) => self.prefetch_email(request, id),
            Effect::RetrieveById(request, id) => self
                .request(RequestKind::RetrieveById, request, Priority::Interactive)
                .send(
                    async move |engine| engine?.store_unless_left_out(&id).await,
                    Message::RetrievedById,
                ),
            Effect::ConfirmStatuses {
                request,
                ids,
                max_requests,
                priority,
            } => self
                .request(RequestKind::ConfirmStatuses, request, priority)
                .send(
                    async move |engine| engine?.confirm_emails(ids, max_requests).await,
                    Message::StatusesConfirmed,
                ),
            Effect::CheckStatuses {
                request,
                query,
                below,
                scope,
                max_requests,
            } => self
                .request(RequestKind::CheckStatuses, request, Priority::Interactive)
                .send(
                    async move |engine| {
                        let query = Query::clone(&query);
                        let engine = engine?;
                        let step = engine.confirm_candidates(query, below, scope, max_requests);
                        step.await
                    },
                    Message::StatusesChecked,
                ),
            Effect::CountMissingBodies(request, query) => {
                searches.missing_bodies.replace(interactive, move |cancel| {
                    let count = count_missing_bodies(&archive, &query, cancel);
                    Message::MissingBodiesCounted(request, count)
                });
            }
            Effect::FetchBodies(request, fetch) => self
                .request(RequestKind::FetchBodies, request, Priority::Backfill)
                .send(
                    move |engine| fetch_bodies(engine, fetch),
                    Message::BodiesFetched,
                ),
            Effect::RecheckStatuses(request) => self
                .request(RequestKind::RecheckStatuses, request, Priority::Recheck)
                .send(
                    async |engine| engine?.recheck_background().await,
                    Message::StatusesRechecked,
                ),
            Effect::LoadOlder(request, priority) => self
                .request(RequestKind::LoadOlder, request, priority)
                .send(
                    async |engine| engine?.load_older().await,
                    Message::OlderLoaded,
                ),
            Effect::Backfill(request) => self
                .request(RequestKind::Backfill, request, Priority::Backfill)
                .send(async |engine| engine?.backfill().await, Message::Backfilled),
            Effect::Refresh(request, priority) => self
                .request(RequestKind::Refresh, request, priority)
                .send(move |engine| refresh(engine, priority), Message::Refreshed),
            Effect::RefreshNow(request) => {
                let priority = Priority::Interactive;
                let handle = RequestHandle::new(priority).ignoring_pause();
                self.request(RequestKind::Refresh, request, handle)
                    .send(move |engine| refresh(engine, priority), Message::Refreshed);
            }
            Effect::RenderBody(request, email, view, options) => {
                self.render_body(request, email, view, options);
            }
            Effect::FindMatches(request, body, pattern) => {
                searches.matches.replace(interactive, move |cancel| {
                    let matches = find_matches(&body, &pattern, || !cancel.is_cancelled());
                    Message::MatchesFound(request, matches)
                });
            }
            Effect::LoadProfiles(request) => {
                let env = self.env.clone();
                self.spawn_blocking(move || {
                    Message::ProfilesLoaded(request, env.sessions.list_profiles())
                });
            }
            Effect::VerifyKey {
                request,
                base_url,
                key,
            } => {
                let env = self.env.clone();
                self.spawn(async move {
                    let verified = env.sessions.verify_key(&base_url, &key).await;
                    Message::KeyVerified(request, verified)
                });
            }
            Effect::OpenSession(request, target, on_mismatch) => {
                self.open_session(request, target, on_mismatch);
            }
            Effect::OpenMailbox(request, target, mailbox) => {
                self.open_mailbox(request, target, mailbox);
            }
            Effect::SetClipboard(request, program, copied) => {
                self.spawn(async move {
                    let (name, args) = (program[0], &program[1..]);
                    let result = desktop::run_program(name, args, &copied.text).await;
                    Message::ClipboardSet(request, copied, result)
                });
            }
            Effect::OpenUrl {
                request,
                program,
                url,
            } => {
                self.spawn(async move {
                    let opened = desktop::open_url(&program, &url).await;
                    Message::UrlOpened(request, opened)
                });
            }
            Effect::SaveEmail {
                request,
                path,
                format,
                email,
                confirmed_at,
                zone,
            } => self.spawn_blocking(move || {
                let email = Email::clone(&email).into();
                let saved = export::save_email(&path, format, &email, confirmed_at, &zone);
                let path = std::path::absolute(&path).unwrap_or(path);
                Message::EmailSaved(request, saved.map(|()| path))
            }),
            Effect::LoadAttachments(request, id, priority) => self
                .request(RequestKind::LoadAttachments, request, priority)
                .send(
                    async move |engine| Ok(engine?.service().attachments(&id).await?.into()),
                    Message::AttachmentsLoaded,
                ),
            Effect::LoadSuppression {
                request,
                address,
                priority,
            } => self
                .request(RequestKind::LoadSuppression, request, priority)
                .send(
                    async move |engine| engine?.service().suppression(&address).await,
                    Message::SuppressionLoaded,
                ),
            Effect::LoadMetrics {
                request,
                id,
                created,
                priority,
            } => self
                .request(RequestKind::LoadMetrics, request, priority)
                .send(
                    async move |engine| engine?.service().metrics(&id, created).await,
                    Message::MetricsLoaded,
                ),
            Effect::SaveAttachment {
                request,
                email,
                attachment,
                path,
            } => {
                let handle = RequestHandle::new(Priority::Interactive);
                self.request(RequestKind::SaveAttachment, request, handle.clone())
                    .send(
                        move |engine| save_attachment(engine, handle, email, attachment, path),
                        Message::AttachmentSaved,
                    );
            }
            Effect::CollectIds(request, query, range) => {
                searches.mark.replace(interactive, move |cancel| {
                    let collected = collect_ids(&archive, &query, range, cancel);
                    Message::IdsCollected(request, collected)
                });
            }
            Effect::PlanExport(request, job) => {
                searches.export.replace(interactive, move |cancel| {
                    let plan = job.plan(&archive, cancel).map(|plan| (job, plan));
                    Message::ExportPlanned(request, plan)
                });
            }
            Effect::ExportBatch(request, job, progress) => {
                self.export_batch(request, job, *progress);
            }
            Effect::Timer(request, kind, pause) => self.start_timer(request, kind, pause),
        }
    }

    fn load_window(&mut self, request: RequestId, window: WindowQuery) {
        let WindowQuery {
            query,
            anchor,
            rows,
            kept,
            with_tags,
        } = window;
        let (archive, panic_at) = (self.session.archive.clone(), self.env.panic_at);
        if query != self.current_query {
            self.searches.count.cancel();
            self.searches.missing_bodies.cancel();
            self.current_query = query.clone();
        }
        let tasks = &mut self.interactive;
        self.searches.window.replace(tasks, move |cancel| {
            FaultPoint::panic_if_requested(panic_at, FaultPoint::Store);
            let found = archive.search(&query, &anchor, rows, cancel);
            let mut window = found.and_then(|found| found.ok_or_else(cancelled_error));
            if let (Ok(window), Some(id)) = (&mut window, kept)
                && !(window.rows.iter()).any(|row| row.summary.id == id)
                && let Ok(Some(row)) = archive.row(&id)
            {
                window.insert_unmatched(row, query.sort);
            }
            if let (Ok(window), true) = (&mut window, with_tags) {
                archive.load_details(&mut window.rows);
            }
            Message::WindowLoaded(request, window)
        });
    }

    fn load_email(
        &mut self,
        request: RequestId,
        id: EmailId,
        priority: Priority,
        refusal: Option<Error>,
    ) {
        let (archive, emails) = (self.session.archive.clone(), self.emails.clone());
        let panic_at = self.env.panic_at;
        self.request(RequestKind::LoadEmail, request, priority)
            .send(
                move |engine| async move {
                    FaultPoint::panic_if_requested(panic_at, FaultPoint::Fetch);
                    let engine = refusal.map_or(engine, Err);
                    load_email_and_history(emails, archive, engine, id).await
                },
                Message::EmailLoaded,
            );
    }

    fn prefetch_email(&mut self, request: RequestId, id: EmailId) {
        let (archive, emails) = (self.session.archive.clone(), self.emails.clone());
        self.request(RequestKind::Prefetch, request, Priority::Prefetch)
            .send(
                // An error is shown when the email is opened.
                move |engine| async move {
                    let _ = load_email(&emails, &archive, engine, &id).await;
                    Ok(())
                },
                |request, _: Result<()>| Message::EmailPrefetched(request),
            );
    }

    fn export_batch(&mut self, id: RequestId, job: Arc<ExportJob>, progress: ExportProgress) {
        let archive = self.session.archive.clone();
        let request = self.request(RequestKind::Export, id, Priority::Backfill);
        let engine = request.engine;
        let engine = engine.map(|engine| engine.with_service(engine.service().for_long_work()));
        let handle = request.handle;
        tasks::spawn_in(request.tasks, async move {
            let progress = export_batch(archive, engine, &handle, job, progress).await;
            Message::ExportAdvanced(id, progress)
        });
    }

    fn render_body(
        &mut self,
        request: RequestId,
        email: Arc<Email>,
        view: BodyView,
        options: LayoutOptions,
    ) {
        let panic_at = self.env.panic_at;
        let cancel = CancellationToken::new();
        self.layout = Some(cancel.clone().drop_guard());
        let laid_out = self.emails.run(move |cache| {
            if cancel.is_cancelled() {
                return Err(cancelled_error());
            }
            FaultPoint::panic_if_requested(panic_at, FaultPoint::Render);
            Ok(cache.get_or_render(&email, view, options))
        });
        self.spawn(async move { Message::BodyRendered(request, laid_out.await) });
    }

    fn open_session(&mut self, request: RequestId, target: SessionTarget, on_mismatch: OnMismatch) {
        let env = self.env.clone();
        tasks::spawn_in(&mut self.opening, async move {
            let open = move || env.sessions.open(&target, Mailbox::Sent, on_mismatch);
            Opened {
                request,
                result: tasks::run_blocking(open).await,
                message: Message::SessionOpened,
            }
        });
    }

    fn open_mailbox(&mut self, request: RequestId, target: SessionTarget, mailbox: Mailbox) {
        let env = self.env.clone();
        tasks::spawn_in(&mut self.opening, async move {
            let open = move || env.sessions.open(&target, mailbox, OnMismatch::Ask);
            let result = match tasks::run_blocking(open).await {
                Ok(opened) => check_listing(opened).await,
                Err(error) => Err(error),
            };
            Opened {
                request,
                result,
                message: Message::MailboxOpened,
            }
        });
    }

    /// Starts a timer. The model has no use for an earlier one of the same kind.
    fn start_timer(&mut self, request: RequestId, kind: TimerKind, pause: Duration) {
        self.timers.retain(|timer| timer.kind != kind);
        self.timers.push(Timer {
            request,
            kind,
            end: (self.env.timer)(kind, pause),
        });
    }
}
