//! `EffectRunner`: turns each effect into exactly one later message.
//!
//! `run.rs` says what each effect does; here are the tasks, their cancellation, and the messages.

mod run;
mod search_slot;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::tz::TimeZone;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::DropGuard;

use super::email_thread::EmailThread;
use super::session::{OpenedSession, Session};
use super::sessions::SessionFactory;
use super::work::load_changes;
use crate::api::{ChangeStream, Client, EmailApi as _, RequestHandle};
use crate::app::session::OpenOutcome;
use crate::app::{Message, RequestId, RequestKind, StateRecord, TimerKind};
use crate::archive::{PeerNotice, PeerNoticeReceiver, ProcessLock};
use crate::config::FaultPoint;
use crate::error::Result;
use crate::query::Query;
use crate::sync::Engine;
use crate::tasks::{self, result_of_joined};
use search_slot::SearchSlot;

/// The shortest time between two reads of what other processes store,
/// so that the screen does not follow a sync page by page.
const WATCH_PAUSE: Duration = Duration::from_millis(500);

/// The interfaces to the outside that every session uses.
pub struct Environment {
    pub sessions: SessionFactory,
    pub timer: TimerFn,
    /// Where a debug build panics, for tests.
    pub panic_at: Option<FaultPoint>,
}

/// Waits until a timer fires. Tests pass one that they fire themselves.
pub type TimerFn =
    Arc<dyn Fn(TimerKind, Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Waits on the real clock. Timers that end in a request take up to a quarter
/// longer, so that the requests of several users are not sent at the same moment.
pub fn system_timer() -> TimerFn {
    Arc::new(|kind, pause| {
        let pause = match kind {
            TimerKind::Refresh | TimerKind::LoadOlder => pause.mul_f64(1.0 + fastrand::f64() / 4.0),
            TimerKind::Selection
            | TimerKind::PreviousEmail
            | TimerKind::Resize
            | TimerKind::AutomaticSearch
            | TimerKind::Count
            | TimerKind::Countdown
            | TimerKind::Freshness => pause,
        };
        Box::pin(tokio::time::sleep(pause))
    })
}

struct Timer {
    request: RequestId,
    kind: TimerKind,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Waits for the end of one of the timers, and removes it. Safe to cancel.
async fn next_timer(timers: &mut Vec<Timer>) -> Message {
    let ended = poll_fn(|cx| {
        let mut all = timers.iter_mut();
        let ended = all.position(|timer| timer.end.as_mut().poll(cx).is_ready());
        ended.map_or(Poll::Pending, Poll::Ready)
    })
    .await;
    let Timer { request, kind, .. } = timers.swap_remove(ended);
    Message::TimerFired(request, kind)
}

/// The result of opening a session, and how it becomes a message.
struct Opened {
    request: RequestId,
    result: Result<OpenedSession>,
    message: fn(RequestId, Result<OpenOutcome>) -> Message,
}

/// Runs effects. There is no channel:
/// a task *returns* its message, so an empty set of tasks means that nothing is running, and a task
/// that panics is noticed.
pub struct EffectRunner {
    env: Arc<Environment>,
    session: Session,
    emails: EmailThread,
    /// Cancels the layout that was requested last, if it has not begun.
    layout: Option<DropGuard>,
    searches: Searches,
    current_query: Arc<Query>,
    /// Work that the user waits for.
    interactive: JoinSet<Message>,
    /// Other requests.
    background: JoinSet<Message>,
    /// At most one of each kind: a newer one replaces it.
    timers: Vec<Timer>,
    /// Waits for other processes that change the archive.
    watch: JoinSet<(PeerNoticeReceiver, Vec<PeerNotice>)>,
    /// Waits for changes of a mirror, and stores them.
    follow: JoinSet<Option<ChangeStream>>,
    opening: JoinSet<Opened>,
    /// The session that was opened last, until the model switches to it.
    opened: Option<(RequestId, Box<Session>)>,
    /// Requests to the service that can still be cancelled.
    requests: Vec<RunningRequest>,
}

/// A request to the service, and what cancels it.
struct RunningRequest {
    kind: RequestKind,
    id: RequestId,
    handle: RequestHandle,
}

/// A request to the service that is not sent yet.
struct ServiceRequest<'a> {
    kind: RequestKind,
    id: RequestId,
    handle: RequestHandle,
    engine: Result<Engine<Client>>,
    tasks: &'a mut JoinSet<Message>,
}

impl ServiceRequest<'_> {
    /// Sends it; its result becomes a message.
    /// It ends in a message of its own if it is cancelled first.
    fn send<T: Send + 'static, F>(
        self,
        send: impl FnOnce(Result<Engine<Client>>) -> F + Send + 'static,
        message: fn(RequestId, Result<T>) -> Message,
    ) where
        F: Future<Output = Result<T>> + Send,
    {
        let (kind, id, handle, engine) = (self.kind, self.id, self.handle, self.engine);
        tasks::spawn_in(self.tasks, async move {
            let result = send(engine).await;
            if result.is_err() && handle.is_cancelled() {
                Message::RequestCancelled(id, kind)
            } else {
                message(id, result)
            }
        });
    }
}

/// The running searches: a newer one of a kind, or the end of the session,
/// cancels them.
#[derive(Default)]
struct Searches {
    window: SearchSlot,
    count: SearchSlot,
    recipient: SearchSlot,
    change: SearchSlot,
    statistics: Option<(RequestId, SearchSlot)>,
    matches: SearchSlot,
    suggestion: SearchSlot,
    missing_bodies: SearchSlot,
    mark: SearchSlot,
    export: SearchSlot,
}

impl EffectRunner {
    pub(super) fn new(session: Session, env: Arc<Environment>) -> Self {
        let mut runner = Self {
            env,
            session,
            emails: EmailThread::start(),
            layout: None,
            searches: Searches::default(),
            current_query: Arc::new(Query::match_all()),
            interactive: JoinSet::new(),
            background: JoinSet::new(),
            timers: Vec::new(),
            watch: JoinSet::new(),
            follow: JoinSet::new(),
            opening: JoinSet::new(),
            opened: None,
            requests: Vec::new(),
        };
        let archive = &runner.session.archive;
        let is_read_only = archive.read_only_reason().is_some();
        if let Some(notices) = archive.watch_peers() {
            runner.wait_for_notices(notices, Duration::ZERO);
        }
        if runner.session.engine.is_err() || is_read_only {
            // Without a refresh, nothing else loads the coverage.
            runner.load_changes();
        }
        runner
    }

    fn request(
        &mut self,
        kind: RequestKind,
        id: RequestId,
        handle: impl Into<RequestHandle>,
    ) -> ServiceRequest<'_> {
        let handle = handle.into();
        self.requests.push(RunningRequest {
            kind,
            id,
            handle: handle.clone(),
        });
        let engine = self.session.engine.as_ref();
        let engine = engine.map_err(Clone::clone);
        let tasks = match kind {
            RequestKind::LoadEmail | RequestKind::LoadOlder | RequestKind::SaveAttachment => {
                &mut self.interactive
            }
            RequestKind::Refresh
            | RequestKind::LoadAttachments
            | RequestKind::LoadSuppression
            | RequestKind::LoadMetrics
                if !handle.priority().is_background() =>
            {
                &mut self.interactive
            }
            _ => &mut self.background,
        };
        ServiceRequest {
            kind,
            id,
            engine: engine.map(|engine| engine.with_priority(handle.clone())),
            handle,
            tasks,
        }
    }

    fn spawn(&mut self, work: impl Future<Output = Message> + Send + 'static) {
        tasks::spawn_in(&mut self.interactive, work);
    }

    fn spawn_blocking(&mut self, work: impl FnOnce() -> Message + Send + 'static) {
        let work: Box<dyn FnOnce() -> Message + Send> = Box::new(work);
        self.interactive.spawn_blocking(work);
    }

    /// The next message; never ends while nothing runs. Safe to cancel.
    pub async fn next(&mut self) -> Message {
        loop {
            if self.follow.is_empty() {
                self.follow_mirror(None);
            }
            let joined = tokio::select! {
                Some(joined) = self.interactive.join_next() => joined,
                Some(opened) = self.opening.join_next() => self.keep_opened(opened),
                Some(joined) = self.background.join_next() => joined,
                message = next_timer(&mut self.timers) => return message,
                Some(arrived) = self.watch.join_next() => {
                    let (notices, arrived) = result_of_joined(arrived);
                    self.handle_notices(notices, &arrived);
                    continue;
                }
                Some(followed) = self.follow.join_next() => {
                    self.follow_mirror(result_of_joined(followed));
                    continue;
                }
            };
            return result_of_joined(joined);
        }
    }

    /// The next message, if there is one already.
    pub fn try_next(&mut self) -> Option<Message> {
        let opened = self.opening.try_join_next();
        let ready = opened
            .map(|opened| self.keep_opened(opened))
            .or_else(|| self.interactive.try_join_next())
            .or_else(|| self.background.try_join_next())
            .map(result_of_joined);
        ready.or_else(|| next_timer(&mut self.timers).now_or_never())
    }

    /// Keeps an opened session until the model has decided about it,
    /// which gets its data.
    fn keep_opened(&mut self, opened: Result<Opened, JoinError>) -> Result<Message, JoinError> {
        let opened = opened?;
        let result = opened.result.map(|session| match session {
            OpenedSession::Opened(mut session) => {
                let info = std::mem::take(&mut session.info);
                self.opened = Some((opened.request, session));
                OpenOutcome::Opened(Box::new(info))
            }
            OpenedSession::NeedsConfirm(question) => OpenOutcome::NeedsConfirm(question),
        });
        Ok((opened.message)(opened.request, result))
    }

    /// Waits for the next changes, if the service is a mirror;
    /// shows what the last ones have stored.
    fn follow_mirror(&mut self, stream: Option<ChangeStream>) {
        if stream.is_some() {
            self.load_changes();
        }
        if let Ok(engine) = &self.session.engine
            && engine.service().is_mirror()
        {
            self.follow.spawn(engine.follower().follow(stream));
        }
    }

    /// Replaces the session. Work for the one before ends, and its archive is closed.
    fn switch_session(&mut self, request: RequestId) {
        if let Some((_, session)) = self.opened.take_if(|(opened, _)| *opened == request) {
            *self = Self::new(*session, self.env.clone());
        }
    }

    /// Turns notices into messages, and waits for the next ones.
    fn handle_notices(&mut self, notices: PeerNoticeReceiver, arrived: &[PeerNotice]) {
        for notice in arrived {
            match notice {
                PeerNotice::Changed => self.load_changes(),
                PeerNotice::ServiceState => {
                    tasks::spawn_in(&mut self.background, async { Message::ServiceChanged });
                }
                PeerNotice::Removed => {
                    if let Err(error) = self.session.archive.check_file() {
                        tasks::spawn_in(&mut self.background, async {
                            Message::ArchiveLost(error)
                        });
                        return;
                    }
                }
            }
        }
        self.wait_for_notices(notices, WATCH_PAUSE);
    }

    /// Waits for the next notices, `pause` from now on.
    fn wait_for_notices(&mut self, mut notices: PeerNoticeReceiver, pause: Duration) {
        self.watch.spawn(async move {
            tokio::time::sleep(pause).await;
            let arrived = notices.next().await;
            (notices, arrived)
        });
    }

    /// Loads what other processes or the mirror have stored.
    fn load_changes(&mut self) {
        let (archive, engine) = (&self.session.archive, &self.session.engine);
        let changes = load_changes(archive.clone(), engine.clone().ok());
        tasks::spawn_in(&mut self.background, changes);
    }

    /// The lock of the process that polls the service for this archive.
    pub(super) fn process_lock(&self) -> &ProcessLock {
        self.session.archive.poll_lock()
    }

    /// Whether only timers run; the debounce of the selection does not count as one.
    pub fn is_idle(&self) -> bool {
        let rests = |timer: &Timer| timer.kind != TimerKind::Selection;
        self.is_interactive_idle() && self.background.is_empty() && self.timers.iter().all(rests)
    }

    /// Whether nothing runs that the user waits for.
    pub fn is_interactive_idle(&self) -> bool {
        self.interactive.is_empty() && self.opening.is_empty()
    }

    /// The time, and the rate budget of the service at present.
    pub fn clock_message(&self, zone: &TimeZone) -> Message {
        let engine = self.session.engine.as_ref().ok();
        Message::Clock {
            now: (self.env.sessions.clock)().to_zoned(zone.clone()),
            budget: engine.map(|engine| engine.service().rate_budget()),
        }
    }

    /// Cancels obsolete statistics, the countdown if nothing is waited for,
    /// and obsolete requests that are not sent yet, and closes a session that is not used.
    pub fn cancel_unwanted(&mut self, is_wanted: impl Fn(RequestKind, RequestId) -> bool) {
        self.opened = None;
        let is_obsolete = |(request, _): &mut (RequestId, SearchSlot)| {
            !is_wanted(RequestKind::Statistics, *request)
        };
        drop(self.searches.statistics.take_if(is_obsolete));
        self.timers.retain(|timer| {
            timer.kind != TimerKind::Countdown || is_wanted(RequestKind::Countdown, timer.request)
        });
        self.requests.retain(|request| {
            let wanted = is_wanted(request.kind, request.id);
            if !wanted {
                request.handle.cancel();
            }
            wanted
        });
    }
}

impl Drop for EffectRunner {
    /// Stores when the user last saw the list, and lets another process poll.
    ///
    /// Tasks end with their sets, searches with their slots.
    fn drop(&mut self) {
        let now = (self.env.sessions.clock)();
        // Without it, the next session shows more changes than there are.
        let _ = self
            .session
            .state_files
            .append(&StateRecord::Seen { at: now });
        self.process_lock().release();
    }
}
