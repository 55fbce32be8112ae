//! `EffectRunner`: turns each effect into exactly one later message.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::DropGuard;

use super::desktop;
use super::queries::{
    CancellableSource, RenderCache, cancelled_error, collect_ids, confirm_statuses, count_changes,
    count_missing_bodies, export_batch, fetch_bodies, load_changes, load_counts, load_email,
    load_email_and_history, load_recipient_summary, load_statistics, message_of_joined,
    no_key_error, refresh, renew, to_backfill_update, to_status_check_step, to_sync_update,
};
use super::session::{Environment, OpenedSession, Session};
use super::state_files::not_kept_error;
use crate::api::{EmailApi, Priority, RateBudget, RequestHandle};
use crate::app::session::OpenOutcome;
use crate::app::{Effect, Message, RequestId, RequestKind, StateRecord, TimerKind, find_matches};
use crate::archive::{PeerNotice, PeerNoticeReceiver, ProcessLock};
use crate::config::FaultPoint;
use crate::error::Error;
use crate::export;
use crate::query::{Query, complete};
use crate::sync::Engine;

/// The shortest time between two reads of what other processes store, so that the screen does not
/// follow a sync page by page.
const WATCH_PAUSE: Duration = Duration::from_millis(500);

/// Runs effects. There is no channel: a task *returns* its message, so an empty set of tasks means
/// that nothing is running, and a task that panics is noticed.
pub struct EffectRunner<S: EmailApi> {
    env: Arc<Environment<S>>,
    session: Session<S>,
    render_cache: Arc<Mutex<RenderCache>>,
    // Guards of the running searches: a newer search, or the end of the session, cancels them.
    window_guard: Option<DropGuard>,
    count_guard: Option<DropGuard>,
    recipient_guard: Option<DropGuard>,
    change_guard: Option<DropGuard>,
    statistics_guard: Option<(RequestId, DropGuard)>,
    match_guard: Option<DropGuard>,
    suggestion_guard: Option<DropGuard>,
    mark_guard: Option<DropGuard>,
    export_guard: Option<DropGuard>,
    current_query: Arc<Query>,
    /// Work that the user waits for.
    interactive: JoinSet<Message>,
    /// Other requests.
    background: JoinSet<Message>,
    debounce: JoinSet<Message>,
    timers: JoinSet<Message>,
    /// Waits for other processes that change the archive.
    watch: JoinSet<(PeerNoticeReceiver, Vec<PeerNotice>)>,
    opening: JoinSet<(RequestId, Result<OpenedSession<S>, Error>)>,
    /// The session that was opened last, until the model switches to it.
    opened: Option<(RequestId, Box<Session<S>>)>,
    /// Requests to the service that can still be cancelled.
    requests: Vec<(RequestKind, RequestId, RequestHandle)>,
}

impl<S: EmailApi> EffectRunner<S> {
    pub(super) fn new(session: Session<S>, env: Arc<Environment<S>>) -> Self {
        let mut watch = JoinSet::new();
        if let Some(mut notices) = session.archive.watch_peers() {
            watch.spawn(async move {
                let arrived = notices.next().await;
                (notices, arrived)
            });
        }
        let mut background = JoinSet::new();
        if session.archive.read_only_reason().is_some() {
            // Without a refresh, nothing else loads the coverage.
            background.spawn(load_changes(
                session.archive.clone(),
                session.engine.clone(),
            ));
        }
        Self {
            env,
            session,
            render_cache: Arc::default(),
            window_guard: None,
            count_guard: None,
            recipient_guard: None,
            change_guard: None,
            statistics_guard: None,
            match_guard: None,
            suggestion_guard: None,
            mark_guard: None,
            export_guard: None,
            current_query: Arc::new(Query::match_all()),
            interactive: JoinSet::new(),
            background,
            debounce: JoinSet::new(),
            timers: JoinSet::new(),
            watch,
            opening: JoinSet::new(),
            opened: None,
            requests: Vec::new(),
        }
    }

    /// Starts an effect.
    pub fn run(&mut self, effect: Effect) {
        let archive = self.session.archive.clone();
        let panic_at = self.env.panic_at;
        match effect {
            Effect::Loop(_) => unreachable!("the event loop runs these itself"),
            Effect::SwitchSession(request) => self.switch_session(request),
            Effect::LoadWindow {
                request,
                query,
                anchor,
                rows,
            } => {
                if query != self.current_query {
                    self.count_guard = None;
                    self.current_query = query.clone();
                }
                let cancel = renew(&mut self.window_guard);
                self.spawn_blocking(move || {
                    FaultPoint::panic_if_requested(panic_at, FaultPoint::Store);
                    let found = archive.search(&query, &anchor, rows, &cancel);
                    let window = found.and_then(|found| found.ok_or_else(cancelled_error));
                    Message::WindowLoaded(request, window)
                });
            }
            Effect::CountEmails {
                request,
                query,
                position,
            } => {
                let cancel = renew(&mut self.count_guard);
                self.spawn_blocking(move || {
                    Message::Counted(request, load_counts(&archive, &query, position, &cancel))
                });
            }
            Effect::SummarizeRecipient {
                request,
                address,
                fresh_since,
                now,
            } => {
                let cancel = renew(&mut self.recipient_guard);
                self.spawn_blocking(move || {
                    let times = (fresh_since, now);
                    let summary = load_recipient_summary(&archive, &address, times, &cancel);
                    Message::RecipientSummarized(request, summary.map(Arc::new))
                });
            }
            Effect::LoadStatistics {
                request,
                query,
                now,
            } => {
                let mut guard = None;
                let cancel = renew(&mut guard);
                self.statistics_guard = guard.map(|guard| (request, guard));
                self.spawn_blocking(move || {
                    let statistics = load_statistics(&archive, &query, &now, &cancel);
                    Message::StatisticsLoaded(request, statistics.map(Arc::new))
                });
            }
            Effect::SaveView {
                request,
                number,
                view,
            } => {
                let views = self.session.view_store.clone();
                self.spawn_blocking(move || {
                    Message::ViewSaved(request, views.save(number, view.as_ref()))
                });
            }
            Effect::CountChanges {
                request,
                query,
                since,
            } => {
                let cancel = renew(&mut self.change_guard);
                self.background.spawn_blocking(move || {
                    let counts = count_changes(&archive, &query, since, &cancel);
                    Message::ChangesCounted(request, counts)
                });
            }
            Effect::SaveState(request, records) => {
                let files = self.session.state_files.clone();
                self.spawn_blocking(move || {
                    let result = records.iter().try_for_each(|record| files.append(record));
                    Message::StateSaved(request, result.map_err(|error| not_kept_error(&error)))
                });
            }
            Effect::LoadRows { request, ids } => self.spawn_blocking(move || {
                let rows = ids.iter().filter_map(|id| archive.row(id).transpose());
                Message::RowsLoaded(request, rows.collect())
            }),
            Effect::LoadSuggestions {
                request,
                text,
                cursor,
            } => {
                let cancel = renew(&mut self.suggestion_guard);
                self.spawn_blocking(move || {
                    let source = CancellableSource { archive, cancel };
                    Message::SuggestionsLoaded(request, complete(&text, cursor, &source))
                });
            }
            Effect::LoadEmail {
                request,
                id,
                priority,
            } => self.request_service(
                RequestKind::LoadEmail,
                request,
                priority,
                move |engine| async move {
                    FaultPoint::panic_if_requested(panic_at, FaultPoint::Fetch);
                    load_email_and_history(archive, engine, id).await
                },
                Message::EmailLoaded,
            ),
            Effect::PrefetchEmail(request, id) => self.request_service(
                RequestKind::Prefetch,
                request,
                Priority::Prefetch,
                // An error is shown when the email is opened.
                move |engine| async move {
                    let _ = load_email(&archive, engine, &id).await;
                    Ok(())
                },
                |request, _: Result<(), Error>| Message::EmailPrefetched(request),
            ),
            Effect::ConfirmStatuses {
                request,
                ids,
                max_requests,
                priority,
            } => self.request_service(
                RequestKind::ConfirmStatuses,
                request,
                priority,
                move |engine| confirm_statuses(engine, ids, max_requests),
                Message::StatusesConfirmed,
            ),
            Effect::CheckStatuses {
                request,
                query,
                below,
                fresh_since,
                max_requests,
                max_rows,
            } => self.request_service(
                RequestKind::CheckStatuses,
                request,
                Priority::Interactive,
                async move |engine| {
                    let query = Query::clone(&query);
                    let report = engine?
                        .confirm_candidates(query, below, fresh_since, max_requests, max_rows)
                        .await?;
                    Ok(to_status_check_step(report))
                },
                Message::StatusesChecked,
            ),
            Effect::CountMissingBodies { request, query } => self.spawn_blocking(move || {
                Message::MissingBodiesCounted(request, count_missing_bodies(&archive, &query))
            }),
            Effect::FetchBodies {
                request,
                query,
                below,
                max_requests,
            } => self.request_service(
                RequestKind::FetchBodies,
                request,
                Priority::Backfill,
                move |engine| fetch_bodies(engine, query, below, max_requests),
                Message::BodiesFetched,
            ),
            Effect::RecheckStatuses(request) => self.request_service(
                RequestKind::RecheckStatuses,
                request,
                Priority::Recheck,
                async |engine| {
                    let (report, due) = engine?.recheck_background().await?;
                    Ok((report.map(to_sync_update), due))
                },
                Message::StatusesRechecked,
            ),
            Effect::LoadOlder(request, priority) => self.request_service(
                RequestKind::LoadOlder,
                request,
                priority,
                async |engine| engine?.load_older().await.map(to_sync_update),
                Message::OlderLoaded,
            ),
            Effect::Backfill(request) => self.request_service(
                RequestKind::Backfill,
                request,
                Priority::Backfill,
                async |engine| Ok(to_backfill_update(engine?.backfill().await?)),
                Message::Backfilled,
            ),
            Effect::Refresh(request, priority) => self.request_service(
                RequestKind::Refresh,
                request,
                priority,
                move |engine| refresh(engine, priority),
                Message::Refreshed,
            ),
            Effect::RefreshNow(request) => self.request_service(
                RequestKind::Refresh,
                request,
                RequestHandle::new(Priority::Interactive).ignoring_pause(),
                |engine| refresh(engine, Priority::Interactive),
                Message::Refreshed,
            ),
            Effect::RenderBody {
                request,
                email,
                view,
                width,
                masked,
            } => {
                let cache = self.render_cache.clone();
                self.spawn_blocking(move || {
                    FaultPoint::panic_if_requested(panic_at, FaultPoint::Render);
                    let body = RenderCache::get_or_render(&cache, &email, view, width, masked);
                    Message::BodyRendered(request, Ok(body))
                });
            }
            Effect::FindMatches {
                request,
                body,
                pattern,
            } => {
                let cancel = renew(&mut self.match_guard);
                self.spawn_blocking(move || {
                    let matches = find_matches(&body, &pattern, || !cancel.is_cancelled());
                    Message::MatchesFound(request, matches)
                });
            }
            Effect::LoadProfiles(request) => {
                let env = self.env.clone();
                self.spawn_blocking(move || {
                    Message::ProfilesLoaded(request, env.opener.list_profiles())
                });
            }
            Effect::VerifyKey {
                request,
                base_url,
                key,
            } => {
                let check = self.env.opener.verify_key(base_url, key);
                self.interactive
                    .spawn(async move { Message::KeyVerified(request, check.await) });
            }
            Effect::OpenSession {
                request,
                target,
                answer,
            } => {
                let env = self.env.clone();
                self.opening
                    .spawn_blocking(move || (request, env.opener.open(&target, answer)));
            }
            Effect::SetClipboard {
                request,
                program,
                copied,
            } => {
                self.interactive.spawn(async move {
                    let result = desktop::set_clipboard(program, &copied.text).await;
                    Message::ClipboardSet {
                        request,
                        program,
                        copied,
                        result,
                    }
                });
            }
            Effect::OpenUrl {
                request,
                program,
                url,
            } => {
                self.interactive.spawn(async move {
                    Message::UrlOpened(request, desktop::open_url(&program, &url).await)
                });
            }
            Effect::SaveEmail {
                request,
                path,
                format,
                email,
                zone,
            } => self.spawn_blocking(move || {
                let saved = export::save_email(&path, format, &email, &zone);
                Message::EmailSaved(request, saved.map(|()| path))
            }),
            Effect::CollectIds {
                request,
                query,
                range,
                limit,
            } => {
                let cancel = renew(&mut self.mark_guard);
                self.spawn_blocking(move || {
                    let collected = collect_ids(&archive, &query, range, limit, &cancel);
                    Message::IdsCollected(request, collected)
                });
            }
            Effect::PlanExport(request, job) => {
                let cancel = renew(&mut self.export_guard);
                self.spawn_blocking(move || {
                    let plan = job.plan(&archive, &cancel).map(|plan| (job, plan));
                    Message::ExportPlanned(request, plan)
                });
            }
            Effect::ExportBatch {
                request,
                job,
                progress,
            } => {
                let kind = RequestKind::Export;
                let handle = RequestHandle::new(Priority::Backfill);
                let engine = self.start_request(kind, request, &handle);
                self.background.spawn(async move {
                    let progress = export_batch(archive, engine, &handle, job, *progress).await;
                    Message::ExportAdvanced(request, progress)
                });
            }
            Effect::Timer {
                request,
                kind,
                pause,
            } => {
                let timer = (self.env.timer)(kind, pause);
                let tasks = if kind == TimerKind::Selection {
                    &mut self.debounce
                } else {
                    &mut self.timers
                };
                tasks.spawn(async move {
                    timer.await;
                    Message::TimerFired(request, kind)
                });
            }
        }
    }

    /// Starts a request to the service. It ends in a message of its own if it is cancelled first.
    fn request_service<T: Send + 'static, F>(
        &mut self,
        kind: RequestKind,
        request: RequestId,
        handle: impl Into<RequestHandle>,
        send: impl FnOnce(Result<Engine<S>, Error>) -> F + Send + 'static,
        message: fn(RequestId, Result<T, Error>) -> Message,
    ) where
        F: Future<Output = Result<T, Error>> + Send,
    {
        let handle = handle.into();
        let engine = self.start_request(kind, request, &handle);
        let tasks = match kind {
            RequestKind::LoadEmail | RequestKind::LoadOlder => &mut self.interactive,
            RequestKind::Refresh if !handle.priority().is_background() => &mut self.interactive,
            _ => &mut self.background,
        };
        tasks.spawn(async move {
            let result = send(engine).await;
            if result.is_err() && handle.is_cancelled() {
                Message::RequestCancelled(request, kind)
            } else {
                message(request, result)
            }
        });
    }

    /// Returns an engine for a request that can be cancelled by its kind and id.
    fn start_request(
        &mut self,
        kind: RequestKind,
        request: RequestId,
        handle: &RequestHandle,
    ) -> Result<Engine<S>, Error> {
        self.requests.push((kind, request, handle.clone()));
        match &self.session.engine {
            Some(engine) => Ok(engine.with_priority(handle)),
            None => Err(no_key_error()),
        }
    }

    fn spawn_blocking(&mut self, work: impl FnOnce() -> Message + Send + 'static) {
        self.interactive.spawn_blocking(work);
    }

    /// The next message; never ends while nothing runs. Safe to cancel.
    pub async fn next(&mut self) -> Message {
        loop {
            let joined = tokio::select! {
                Some(joined) = self.interactive.join_next(), if !self.interactive.is_empty() => joined,
                Some(opened) = self.opening.join_next(), if !self.opening.is_empty() => self.keep_opened(opened),
                Some(joined) = self.background.join_next(), if !self.background.is_empty() => joined,
                Some(joined) = self.debounce.join_next(), if !self.debounce.is_empty() => joined,
                Some(joined) = self.timers.join_next(), if !self.timers.is_empty() => joined,
                Some(arrived) = self.watch.join_next(), if !self.watch.is_empty() => {
                    if let Ok((notices, arrived)) = arrived {
                        self.handle_notices(notices, &arrived);
                    }
                    continue;
                }
                else => std::future::pending().await,
            };
            return message_of_joined(joined);
        }
    }

    /// The next message, if there is one already.
    pub fn try_next(&mut self) -> Option<Message> {
        let opened = self.opening.try_join_next();
        let ready = opened
            .map(|opened| self.keep_opened(opened))
            .or_else(|| self.interactive.try_join_next())
            .or_else(|| self.background.try_join_next())
            .or_else(|| self.debounce.try_join_next())
            .or_else(|| self.timers.try_join_next());
        ready.map(message_of_joined)
    }

    /// Keeps an opened session until the model has decided about it, which gets its data.
    fn keep_opened(
        &mut self,
        opened: Result<(RequestId, Result<OpenedSession<S>, Error>), JoinError>,
    ) -> Result<Message, JoinError> {
        let (request, result) = opened?;
        let result = result.map(|opened| match opened {
            OpenedSession::Ready(mut session) => {
                let info = std::mem::take(&mut session.info);
                self.opened = Some((request, session));
                OpenOutcome::Opened(Box::new(info))
            }
            OpenedSession::NeedsConfirm(question) => OpenOutcome::NeedsConfirm(question),
        });
        Ok(Message::SessionOpened(request, result))
    }

    /// Replaces the session. Work for the one before ends, and its archive is closed.
    fn switch_session(&mut self, request: RequestId) {
        if let Some((_, session)) = self.opened.take_if(|(opened, _)| *opened == request) {
            *self = Self::new(*session, self.env.clone());
        }
    }

    /// Turns notices into messages, and waits for the next ones.
    fn handle_notices(&mut self, mut notices: PeerNoticeReceiver, arrived: &[PeerNotice]) {
        for notice in arrived {
            let Session {
                archive, engine, ..
            } = &self.session;
            match notice {
                PeerNotice::Changed => {
                    self.background
                        .spawn(load_changes(archive.clone(), engine.clone()));
                }
                PeerNotice::ServiceState => {
                    self.background.spawn(async { Message::ServiceChanged });
                }
                PeerNotice::Removed => {
                    if let Err(error) = archive.check_file() {
                        self.background.spawn(async { Message::ArchiveLost(error) });
                        return;
                    }
                }
            }
        }
        self.watch.spawn(async move {
            tokio::time::sleep(WATCH_PAUSE).await;
            let arrived = notices.next().await;
            (notices, arrived)
        });
    }

    /// The lock of the process that polls the service for this archive.
    pub(super) const fn process_lock(&self) -> &ProcessLock {
        self.session.archive.poll_lock()
    }

    /// Whether only timers run; the debounce of the selection does not count as one.
    pub fn is_idle(&self) -> bool {
        self.is_interactive_idle() && self.background.is_empty() && self.debounce.is_empty()
    }

    /// Whether nothing runs that the user waits for.
    pub fn is_interactive_idle(&self) -> bool {
        self.interactive.is_empty() && self.opening.is_empty()
    }

    /// The rate budget of the service at present.
    pub fn budget(&self) -> Option<RateBudget> {
        self.session.engine.as_ref().and_then(Engine::budget)
    }

    /// Cancels obsolete statistics, and requests that are not sent yet and obsolete, and closes a session that is not used.
    pub fn cancel_unwanted(&mut self, is_wanted: impl Fn(RequestKind, RequestId) -> bool) {
        self.opened = None;
        let is_obsolete = |(request, _): &mut (RequestId, DropGuard)| {
            !is_wanted(RequestKind::Statistics, *request)
        };
        drop(self.statistics_guard.take_if(is_obsolete));
        self.requests.retain(|(kind, request, handle)| {
            let wanted = is_wanted(*kind, *request);
            if !wanted {
                handle.cancel();
            }
            wanted
        });
    }
}

impl<S: EmailApi> Drop for EffectRunner<S> {
    /// Keeps the time of this last look, and lets another process poll the service. Tasks end with
    /// their sets, searches with their guards.
    fn drop(&mut self) {
        let now = (self.env.clock)();
        // Without it, the next session shows more changes than there are.
        let _ = self.session.state_files.append(&StateRecord::Seen(now));
        self.process_lock().release();
    }
}
