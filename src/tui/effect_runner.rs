//! The performer: turns each effect into exactly one later message.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};

use super::filter_history::FilterHistory;
use super::queries::{
    CancellableSource, cancel_and_renew, cancelled_error, load_counts, load_recipient_summary,
};
use super::render_cache::RenderCache;
use super::session::{OpenedSession, Session, SessionOpener};
use crate::api::{EmailApi, Priority, RateBudget, RequestHandle};
use crate::app::{
    ConfirmResult, Effect, Message, OpenedEmail, RequestId, RequestKind, StatusCheckStep,
    SyncUpdate, TimerKind, find_matches,
};
use crate::archive::{Archive, CancellationToken, PeerNotice, PeerNoticeReceiver, ProcessLock};
use crate::config::{FaultPoint, ViewStore};
use crate::error::{Error, ErrorKind};
use crate::mail::{Email, EmailId};
use crate::query::{Query, complete};
use crate::sync::{ConfirmReport, Engine, StopReason, SyncReport};

/// How a pause is spent. Tests hand in one that they end by hand.
pub type TimerFn =
    Arc<dyn Fn(TimerKind, Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Spends a pause by letting time pass. Those before the service is asked again are up to a quarter
/// longer: colleagues run sentbox as well, and are not to come back all at once.
pub fn system_timer() -> TimerFn {
    Arc::new(|what, pause| {
        let longer = match what {
            TimerKind::Refresh | TimerKind::LoadOlder => pause.mul_f64(1.0 + fastrand::f64() / 4.0),
            TimerKind::Selection | TimerKind::Countdown | TimerKind::Freshness => pause,
        };
        Box::pin(tokio::time::sleep(longer))
    })
}

/// The shortest time between two looks at what other processes do: one that fetches page by page is not
/// followed page by page.
const WATCH_PAUSE: Duration = Duration::from_millis(500);

/// Performs effects. There is no channel: a task *returns* its message, so an empty set of tasks
/// means that nothing is going on, and a task that panics is noticed.
pub struct EffectRunner<S: EmailApi> {
    archive: Archive,
    engine: Option<Engine<S>>,
    history: FilterHistory,
    view_file: ViewStore,
    render_cache: Arc<Mutex<RenderCache>>,
    timer: TimerFn,
    panic_at: Option<FaultPoint>,
    window_cancel: CancellationToken,
    count_cancel: CancellationToken,
    recipient_cancel: CancellationToken,
    match_cancel: CancellationToken,
    suggest_cancel: CancellationToken,
    /// What was looked for last.
    current_query: Arc<Query>,
    interactive: JoinSet<Message>,
    /// Requests that nobody waits for.
    background: JoinSet<Message>,
    /// What the service is asked for on behalf of whom.
    requests: Vec<(RequestKind, RequestId, RequestHandle)>,
    /// Selections that come to rest.
    debounce: JoinSet<Message>,
    /// The clock.
    timers: JoinSet<Message>,
    /// Waits for what other processes do with the archive.
    watch: JoinSet<(PeerNoticeReceiver, Vec<PeerNotice>)>,
    opener: Arc<dyn SessionOpener<S>>,
    /// What is behind the door that was opened last.
    opened_session: Arc<Mutex<Option<Session<S>>>>,
    /// What ends with the session.
    _session_tasks: JoinSet<()>,
}

impl<S: EmailApi> EffectRunner<S> {
    /// Reads from the session's archive, and carries into it what its engine brings, if there is one;
    /// `doors` lead to other sessions.
    pub(super) fn new(
        archive: Archive,
        engine: Option<Engine<S>>,
        beside: JoinSet<()>,
        (history, views): (FilterHistory, ViewStore),
        opener: Arc<dyn SessionOpener<S>>,
        pause: TimerFn,
        panic_at: Option<FaultPoint>,
    ) -> Self {
        let bodies = Arc::new(Mutex::new(RenderCache::default()));
        let mut watching = JoinSet::new();
        if let Some(mut notices) = archive.watch_peers() {
            watching.spawn(async move {
                let arrived = notices.next().await;
                (notices, arrived)
            });
        }
        let mut quiet = JoinSet::new();
        if archive.read_only_reason().is_some() {
            // No refresh tells how far back it is complete.
            let (archive, engine) = (archive.clone(), engine.clone());
            quiet
                .spawn(async move { Message::ArchiveChanged(load_changes(archive, engine).await) });
        }
        Self {
            archive,
            engine,
            history,
            view_file: views,
            render_cache: bodies,
            timer: pause,
            panic_at,
            window_cancel: CancellationToken::default(),
            count_cancel: CancellationToken::default(),
            recipient_cancel: CancellationToken::default(),
            match_cancel: CancellationToken::default(),
            suggest_cancel: CancellationToken::default(),
            current_query: Arc::new(Query::match_all()),
            interactive: JoinSet::new(),
            background: quiet,
            requests: Vec::new(),
            debounce: JoinSet::new(),
            timers: JoinSet::new(),
            watch: watching,
            opener,
            opened_session: Arc::default(),
            _session_tasks: beside,
        }
    }

    /// Starts what is asked for.
    pub fn run(&mut self, effect: Effect) {
        let archive = self.archive.clone();
        let engine = self.engine.clone();
        let panic_at = self.panic_at;
        match effect {
            Effect::Loop(_) => unreachable!("the event loop runs these itself"),
            Effect::LoadWindow {
                request,
                query,
                anchor,
                rows,
            } => {
                if query != self.current_query {
                    self.count_cancel.cancel();
                    self.current_query = query.clone();
                }
                let halt = cancel_and_renew(&mut self.window_cancel);
                self.spawn_blocking(move || {
                    FaultPoint::panic_if_requested(panic_at, FaultPoint::Store);
                    let found = archive.search(&query, &anchor, rows, &halt);
                    Message::WindowLoaded(
                        request,
                        found.and_then(|found| found.ok_or_else(cancelled_error)),
                    )
                });
            }
            Effect::CountEmails {
                request,
                query,
                place,
            } => {
                let halt = cancel_and_renew(&mut self.count_cancel);
                self.spawn_blocking(move || {
                    Message::Counted(request, load_counts(&archive, &query, place, &halt))
                });
            }
            Effect::SummarizeRecipient {
                request,
                address,
                fresh_since,
                now,
            } => {
                let halt = cancel_and_renew(&mut self.recipient_cancel);
                self.spawn_blocking(move || {
                    Message::RecipientSummarized(
                        request,
                        load_recipient_summary(&archive, &address, (fresh_since, now), &halt)
                            .map(Arc::new),
                    )
                });
            }
            Effect::SaveView {
                request,
                number,
                view,
            } => {
                let views = self.view_file.clone();
                self.spawn_blocking(move || {
                    Message::ViewSaved(request, views.save(number, view.as_ref()))
                });
            }
            Effect::SaveHistory(request, text) => {
                let history = self.history.clone();
                self.spawn_blocking(move || {
                    let unkept = |error| {
                        Error::new(
                            ErrorKind::Io,
                            format!("the filter cannot be kept for the next time: {error}"),
                        )
                    };
                    Message::HistorySaved(request, history.append(&text).map_err(unkept))
                });
            }
            Effect::LoadSuggestions {
                request,
                text,
                cursor,
            } => {
                let halt = cancel_and_renew(&mut self.suggest_cancel);
                self.spawn_blocking(move || {
                    Message::SuggestionsLoaded(
                        request,
                        complete(&text, cursor, &CancellableSource { archive, halt }),
                    )
                });
            }
            Effect::LoadEmail {
                request,
                id,
                priority,
            } => {
                let wish = self.register_request(RequestKind::LoadEmail, request, priority);
                self.interactive.spawn(async move {
                    FaultPoint::panic_if_requested(panic_at, FaultPoint::Fetch);
                    let result = load_email_and_history(
                        archive,
                        engine.map(|engine| engine.with_priority(&wish)),
                        id,
                    )
                    .await;
                    message_unless_cancelled(
                        &wish,
                        RequestKind::LoadEmail,
                        request,
                        result,
                        |result| Message::EmailLoaded(request, result),
                    )
                });
            }
            Effect::PrefetchEmail(request, id) => {
                let wish =
                    self.register_request(RequestKind::Prefetch, request, Priority::Prefetch);
                self.background.spawn(async move {
                    // The list may not know yet that it is here. Whoever opens it is told what is wrong with it.
                    let _ = load_email(
                        &archive,
                        engine.map(|engine| engine.with_priority(&wish)),
                        &id,
                    )
                    .await;
                    Message::EmailPrefetched(request)
                });
            }
            Effect::ConfirmStatuses {
                request,
                ids,
                max_requests,
                priority,
            } => {
                let wish = self.register_request(RequestKind::ConfirmStatuses, request, priority);
                self.background.spawn(async move {
                    let result = match engine {
                        Some(engine) => {
                            engine
                                .with_priority(&wish)
                                .confirm_emails(ids, max_requests)
                                .await
                        }
                        None => Err(no_key_error()),
                    };
                    let result = result.map(
                        |ConfirmReport {
                             sync_report: synced,
                             requests,
                             ..
                         }| ConfirmResult {
                            update: to_sync_update(synced),
                            requests,
                        },
                    );
                    message_unless_cancelled(
                        &wish,
                        RequestKind::ConfirmStatuses,
                        request,
                        result,
                        |result| Message::StatusesConfirmed(request, result),
                    )
                });
            }
            Effect::CheckStatuses {
                request,
                query,
                below,
                fresh_since,
                max_requests,
                max_rows,
            } => {
                let wish = self.register_request(
                    RequestKind::CheckStatuses,
                    request,
                    Priority::Interactive,
                );
                self.background.spawn(async move {
                    let result = match engine {
                        Some(engine) => {
                            let query = Query::clone(&query);
                            engine
                                .with_priority(&wish)
                                .confirm_candidates(
                                    query,
                                    below,
                                    fresh_since,
                                    max_requests,
                                    max_rows,
                                )
                                .await
                        }
                        None => Err(no_key_error()),
                    };
                    let result = result.map(
                        |ConfirmReport {
                             sync_report: synced,
                             requests,
                             confirmed_rows: rows,
                             confirmed_down_to: down_to,
                             is_done,
                         }| StatusCheckStep {
                            update: to_sync_update(synced),
                            requests,
                            rows,
                            down_to,
                            is_done,
                        },
                    );
                    message_unless_cancelled(
                        &wish,
                        RequestKind::CheckStatuses,
                        request,
                        result,
                        |result| Message::StatusesChecked(request, result),
                    )
                });
            }
            Effect::RecheckStatuses(request) => {
                let wish =
                    self.register_request(RequestKind::RecheckStatuses, request, Priority::Recheck);
                self.background.spawn(async move {
                    let result = match engine {
                        Some(engine) => engine.with_priority(&wish).recheck_background().await,
                        None => Err(no_key_error()),
                    };
                    let result = result.map(|(synced, due)| (synced.map(to_sync_update), due));
                    message_unless_cancelled(
                        &wish,
                        RequestKind::RecheckStatuses,
                        request,
                        result,
                        |result| Message::StatusesRechecked(request, result),
                    )
                });
            }
            Effect::RenderBody {
                request,
                email,
                view,
                width,
            } => {
                let bodies = self.render_cache.clone();
                self.spawn_blocking(move || {
                    FaultPoint::panic_if_requested(panic_at, FaultPoint::Render);
                    Message::BodyRendered(
                        request,
                        Ok(RenderCache::get_or_render(&bodies, &email, view, width)),
                    )
                });
            }
            Effect::FindMatches {
                request,
                body,
                pattern,
            } => {
                let halt = cancel_and_renew(&mut self.match_cancel);
                self.spawn_blocking(move || {
                    Message::MatchesFound(
                        request,
                        find_matches(&body, &pattern, || !halt.is_cancelled()),
                    )
                });
            }
            Effect::LoadOlder(request) => {
                let wish =
                    self.register_request(RequestKind::LoadOlder, request, Priority::Interactive);
                self.interactive.spawn(async move {
                    let result = match engine {
                        Some(engine) => engine
                            .with_priority(&wish)
                            .load_older()
                            .await
                            .map(to_sync_update),
                        None => Err(no_key_error()),
                    };
                    message_unless_cancelled(
                        &wish,
                        RequestKind::LoadOlder,
                        request,
                        result,
                        |result| Message::OlderLoaded(request, result),
                    )
                });
            }
            Effect::Backfill(request) => {
                let wish =
                    self.register_request(RequestKind::Backfill, request, Priority::Backfill);
                self.background.spawn(async move {
                    let result = match engine {
                        Some(engine) => engine
                            .with_priority(&wish)
                            .backfill()
                            .await
                            .map(|synced| synced.map(to_sync_update)),
                        None => Err(no_key_error()),
                    };
                    message_unless_cancelled(
                        &wish,
                        RequestKind::Backfill,
                        request,
                        result,
                        |result| Message::Backfilled(request, result),
                    )
                });
            }
            Effect::Refresh(request, priority) => {
                let wish = self.register_request(RequestKind::Refresh, request, priority);
                let tasks = if priority.is_background() {
                    &mut self.background
                } else {
                    &mut self.interactive
                };
                tasks.spawn(async move {
                    let result = match engine {
                        Some(engine) if priority.is_background() => engine
                            .with_priority(&wish)
                            .refresh()
                            .await
                            .map(to_sync_update),
                        Some(engine) => engine
                            .with_priority(&wish)
                            .refresh_now()
                            .await
                            .map(to_sync_update),
                        None => Err(no_key_error()),
                    };
                    message_unless_cancelled(
                        &wish,
                        RequestKind::Refresh,
                        request,
                        result,
                        |result| Message::Refreshed(request, result),
                    )
                });
            }
            Effect::LoadProfiles(request) => {
                let opener = self.opener.clone();
                self.spawn_blocking(move || {
                    Message::ProfilesLoaded(request, opener.list_profiles())
                });
            }
            Effect::VerifyKey {
                request,
                base_url,
                key,
            } => {
                let check = self.opener.verify_key(base_url, key);
                self.interactive
                    .spawn(async move { Message::KeyVerified(request, check.await) });
            }
            Effect::OpenSession {
                request,
                target,
                answer,
            } => {
                let (opener, entered) = (self.opener.clone(), self.opened_session.clone());
                self.spawn_blocking(move || {
                    let entry = opener.open(&target, answer).map(OpenedSession::into_parts);
                    let result = entry.map(|(session, arrival)| {
                        *entered.lock().unwrap_or_else(PoisonError::into_inner) = session;
                        arrival
                    });
                    Message::SessionOpened(request, result)
                });
            }
            Effect::Timer {
                request,
                kind,
                pause,
            } => {
                let rest = (self.timer)(kind, pause);
                let tasks = if kind == TimerKind::Selection {
                    &mut self.debounce
                } else {
                    &mut self.timers
                };
                tasks.spawn(async move {
                    rest.await;
                    Message::TimerFired(request, kind)
                });
            }
        }
    }

    /// The next message; waits for ever if nothing is going on. Safe to cancel.
    pub async fn next(&mut self) -> Message {
        loop {
            let joined = tokio::select! {
                Some(joined) = self.interactive.join_next(), if !self.interactive.is_empty() => joined,
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

    /// Turns notices into messages, and waits for the next ones.
    fn handle_notices(&mut self, mut notices: PeerNoticeReceiver, arrived: &[PeerNotice]) {
        for notice in arrived {
            let (archive, engine) = (self.archive.clone(), self.engine.clone());
            match notice {
                PeerNotice::Changed => {
                    self.background.spawn(async move {
                        Message::ArchiveChanged(load_changes(archive, engine).await)
                    });
                }
                PeerNotice::ServiceState => {
                    self.background.spawn(async { Message::ServiceChanged });
                }
                PeerNotice::Removed => {
                    if let Err(failure) = archive.check_file() {
                        self.background
                            .spawn(async { Message::ArchiveLost(failure) });
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

    /// A message that is there already.
    pub fn try_next(&mut self) -> Option<Message> {
        let ready = self
            .interactive
            .try_join_next()
            .or_else(|| self.background.try_join_next())
            .or_else(|| self.debounce.try_join_next());
        ready
            .or_else(|| self.timers.try_join_next())
            .map(message_of_joined)
    }

    /// What is behind the door that was opened last; whoever does not go there lets it go.
    pub(super) fn take_opened_session(&mut self) -> Option<Session<S>> {
        self.opened_session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// The doors and the pauses, for who performs next.
    pub(super) fn opener_and_timer(&self) -> (Arc<dyn SessionOpener<S>>, TimerFn) {
        (self.opener.clone(), self.timer.clone())
    }

    /// The lease of the archive.
    pub(super) const fn process_lock(&self) -> &ProcessLock {
        self.archive.poll_lock()
    }

    /// Whether nothing is going on but the clock: a selection that comes to rest is something.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.is_interactive_idle() && self.background.is_empty() && self.debounce.is_empty()
    }

    /// What may be asked of the service at present.
    pub fn budget(&self) -> Option<RateBudget> {
        self.engine.as_ref().and_then(Engine::budget)
    }

    /// Withdraws what nobody wants any more: what has not been sent to the service yet will not be.
    pub fn cancel_unwanted(&mut self, wanted: impl Fn(RequestKind, RequestId) -> bool) {
        self.requests.retain(|(kind, request, wish)| {
            let wanted = wanted(*kind, *request);
            if !wanted {
                wish.cancel();
            }
            wanted
        });
    }

    fn register_request(
        &mut self,
        kind: RequestKind,
        request: RequestId,
        priority: Priority,
    ) -> RequestHandle {
        let wish = RequestHandle::new(priority);
        self.requests.push((kind, request, wish.clone()));
        wish
    }

    /// Whether everything that a person waits for is answered by archive, service and renderer.
    pub fn is_interactive_idle(&self) -> bool {
        self.interactive.is_empty()
    }

    fn spawn_blocking(&mut self, work: impl FnOnce() -> Message + Send + 'static) {
        self.interactive.spawn_blocking(work);
    }
}

impl<S: EmailApi> Drop for EffectRunner<S> {
    /// Tasks end with their sets. A search on a thread of its own has to be told; whoever waits for
    /// the archive's lease waits no longer.
    fn drop(&mut self) {
        for halt in [
            &self.window_cancel,
            &self.count_cancel,
            &self.recipient_cancel,
            &self.suggest_cancel,
        ] {
            halt.cancel();
        }
        self.archive.poll_lock().release();
    }
}

/// The message of an errand, unless it failed because it was withdrawn before it was sent.
fn message_unless_cancelled<T>(
    wish: &RequestHandle,
    kind: RequestKind,
    request: RequestId,
    result: Result<T, Error>,
    message: impl FnOnce(Result<T, Error>) -> Message,
) -> Message {
    if result.is_err() && wish.is_cancelled() {
        Message::RequestCancelled(request, kind)
    } else {
        message(result)
    }
}

fn message_of_joined(joined: Result<Message, JoinError>) -> Message {
    joined.unwrap_or_else(|error| {
        Message::Fatal(Error::new(
            ErrorKind::Internal,
            format!("a task of sentbox failed: {error}"),
        ))
    })
}

/// What other processes have brought.
async fn load_changes<S: EmailApi>(
    archive: Archive,
    engine: Option<Engine<S>>,
) -> Result<SyncUpdate, Error> {
    if let Some(engine) = engine {
        return engine.poll_changes().await.map(to_sync_update);
    }
    let read = move || Ok::<_, Error>((archive.coverage()?, archive.head_at()?));
    let (reach, head_at) = tokio::task::spawn_blocking(read)
        .await
        .map_err(|error| task_error(&error))??;
    Ok(SyncUpdate {
        new: 0,
        changed: Vec::new(),
        reach,
        unfinished: false,
        unreadable: 0,
        head_at,
    })
}

/// The email from the archive, or else from the service, and what was seen to become of it.
async fn load_email_and_history<S: EmailApi>(
    archive: Archive,
    engine: Option<Engine<S>>,
    id: EmailId,
) -> Result<OpenedEmail, Error> {
    let email = load_email(&archive, engine, &id).await?;
    let history = tokio::task::spawn_blocking(move || archive.history(&id))
        .await
        .map_err(|error| task_error(&error))??;
    Ok(OpenedEmail {
        email: Arc::new(email),
        history,
    })
}

/// The email from the archive, or else from the service.
async fn load_email<S: EmailApi>(
    archive: &Archive,
    engine: Option<Engine<S>>,
    id: &EmailId,
) -> Result<Email, Error> {
    let kept = {
        let (archive, id) = (archive.clone(), id.clone());
        tokio::task::spawn_blocking(move || archive.email(&id))
            .await
            .map_err(|error| task_error(&error))?
    };
    match (kept, engine) {
        (Ok(Some(email)), _) => Ok(email),
        // A damaged body is fetched again, and replaced.
        (Ok(None) | Err(_), Some(engine)) => engine.fetch_email(id).await,
        (Ok(None), None) => Err(no_key_error()),
        (Err(failure), None) => Err(failure),
    }
}

fn to_sync_update(synced: SyncReport) -> SyncUpdate {
    let unfinished = synced.stop_reason == StopReason::PageLimit;
    let SyncReport {
        new,
        changed_ids: changed,
        coverage: reach,
        refreshed_at: head_at,
        unreadable,
        ..
    } = synced;
    SyncUpdate {
        new,
        changed,
        reach,
        unfinished,
        unreadable,
        head_at,
    }
}

fn no_key_error() -> Error {
    Error::new(
        ErrorKind::KeyMissing,
        "there is no key to ask the service with",
    )
    .with_hint("set SENTBOX_API_KEY, or try sentbox demo")
}

fn task_error(error: &JoinError) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("a task of sentbox failed: {error}"),
    )
}
