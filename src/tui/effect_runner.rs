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
use crate::api::{Budget, Service, Urgency, Wish, jitter};
use crate::app::{Checked, Confirmation, Effect, Errand, Msg, News, Opened, Rest, Ticket, marks};
use crate::archive::{Archive, Halt, Lease, Notice, Notices};
use crate::config::{PanicAt, ViewFile};
use crate::failure::{Failure, Kind};
use crate::mail::{Email, EmailId};
use crate::query::{Query, complete};
use crate::sync::{Confirmed, Engine, Stopped, Synced};

/// How a pause is spent. Tests hand in one that they end by hand.
pub type TimerFn =
    Arc<dyn Fn(Rest, Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Spends a pause by letting time pass. Those before the service is asked again are up to a quarter
/// longer: colleagues run sentbox as well, and are not to come back all at once.
#[must_use]
pub fn system_timer() -> TimerFn {
    Arc::new(|what, pause| {
        let longer = match what {
            Rest::Refresh | Rest::Extend => pause.mul_f64(1.0 + jitter() / 4.0),
            Rest::Selection | Rest::Second | Rest::Freshness => pause,
        };
        Box::pin(tokio::time::sleep(longer))
    })
}

/// The shortest time between two looks at what other processes do: one that fetches page by page is not
/// followed page by page.
const WATCH_PAUSE: Duration = Duration::from_millis(500);

/// Performs effects. There is no channel: a task *returns* its message, so an empty set of tasks
/// means that nothing is going on, and a task that panics is noticed.
pub struct EffectRunner<S: Service> {
    archive: Archive,
    engine: Option<Engine<S>>,
    history: FilterHistory,
    view_file: ViewFile,
    render_cache: Arc<Mutex<RenderCache>>,
    timer: TimerFn,
    panic_at: Option<PanicAt>,
    window_cancel: Halt,
    count_cancel: Halt,
    recipient_cancel: Halt,
    match_cancel: Halt,
    suggest_cancel: Halt,
    /// What was looked for last.
    current_query: Arc<Query>,
    interactive: JoinSet<Msg>,
    /// Requests that nobody waits for.
    background: JoinSet<Msg>,
    /// What the service is asked for on behalf of whom.
    requests: Vec<(Errand, Ticket, Wish)>,
    /// Selections that come to rest.
    debounce: JoinSet<Msg>,
    /// The clock.
    timers: JoinSet<Msg>,
    /// Waits for what other processes do with the archive.
    watch: JoinSet<(Notices, Vec<Notice>)>,
    opener: Arc<dyn SessionOpener<S>>,
    /// What is behind the door that was opened last.
    opened_session: Arc<Mutex<Option<Session<S>>>>,
    /// What ends with the session.
    _session_tasks: JoinSet<()>,
}

impl<S: Service> EffectRunner<S> {
    /// Reads from the session's archive, and carries into it what its engine brings, if there is one;
    /// `doors` lead to other sessions.
    #[must_use]
    pub(super) fn new(
        archive: Archive,
        engine: Option<Engine<S>>,
        beside: JoinSet<()>,
        (history, views): (FilterHistory, ViewFile),
        doors: Arc<dyn SessionOpener<S>>,
        pause: TimerFn,
        panic_at: Option<PanicAt>,
    ) -> Self {
        let bodies = Arc::new(Mutex::new(RenderCache::default()));
        let mut watching = JoinSet::new();
        if let Some(mut notices) = archive.notices() {
            watching.spawn(async move {
                let arrived = notices.next().await;
                (notices, arrived)
            });
        }
        let mut quiet = JoinSet::new();
        if archive.read_only().is_some() {
            // No refresh tells how far back it is complete.
            let (archive, engine) = (archive.clone(), engine.clone());
            quiet.spawn(async move {
                Msg::ArchiveChanged {
                    outcome: load_changes(archive, engine).await,
                }
            });
        }
        Self {
            archive,
            engine,
            history,
            view_file: views,
            render_cache: bodies,
            timer: pause,
            panic_at,
            window_cancel: Halt::default(),
            count_cancel: Halt::default(),
            recipient_cancel: Halt::default(),
            match_cancel: Halt::default(),
            suggest_cancel: Halt::default(),
            current_query: Arc::new(Query::everything()),
            interactive: JoinSet::new(),
            background: quiet,
            requests: Vec::new(),
            debounce: JoinSet::new(),
            timers: JoinSet::new(),
            watch: watching,
            opener: doors,
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
            Effect::Look {
                ticket,
                query,
                anchor,
                rows,
            } => {
                if query != self.current_query {
                    self.count_cancel.halt();
                    self.current_query = query.clone();
                }
                let halt = cancel_and_renew(&mut self.window_cancel);
                self.spawn_blocking(move || {
                    PanicAt::strike(panic_at, PanicAt::Store);
                    let found = archive.search(&query, &anchor, rows, &halt);
                    Msg::Window {
                        ticket,
                        outcome: found.and_then(|found| found.ok_or_else(cancelled_error)),
                    }
                });
            }
            Effect::Count {
                ticket,
                query,
                place,
            } => {
                let halt = cancel_and_renew(&mut self.count_cancel);
                self.spawn_blocking(move || Msg::Counted {
                    ticket,
                    outcome: load_counts(&archive, &query, place, &halt),
                });
            }
            Effect::Tally {
                ticket,
                address,
                fresh_since,
                now,
            } => {
                let halt = cancel_and_renew(&mut self.recipient_cancel);
                self.spawn_blocking(move || Msg::Tallied {
                    ticket,
                    outcome: load_recipient_summary(&archive, &address, (fresh_since, now), &halt)
                        .map(Arc::new),
                });
            }
            Effect::KeepView {
                ticket,
                number,
                view,
            } => {
                let views = self.view_file.clone();
                self.spawn_blocking(move || Msg::ViewKept {
                    ticket,
                    outcome: views.keep(number, view.as_ref()),
                });
            }
            Effect::Remember { ticket, text } => {
                let history = self.history.clone();
                self.spawn_blocking(move || {
                    let unkept = |error| {
                        Failure::new(
                            Kind::Io,
                            format!("the filter cannot be kept for the next time: {error}"),
                        )
                    };
                    Msg::Remembered {
                        ticket,
                        outcome: history.append(&text).map_err(unkept),
                    }
                });
            }
            Effect::Complete {
                ticket,
                text,
                cursor,
            } => {
                let halt = cancel_and_renew(&mut self.suggest_cancel);
                self.spawn_blocking(move || Msg::Completed {
                    ticket,
                    offers: complete(&text, cursor, &CancellableSource { archive, halt }),
                });
            }
            Effect::Read {
                ticket,
                id,
                urgency,
            } => {
                let wish = self.register_request(Errand::Read, ticket, urgency);
                self.interactive.spawn(async move {
                    PanicAt::strike(panic_at, PanicAt::Fetch);
                    let outcome = load_email_and_history(
                        archive,
                        engine.map(|engine| engine.wanted(&wish)),
                        id,
                    )
                    .await;
                    message_unless_cancelled(&wish, Errand::Read, ticket, outcome, |outcome| {
                        Msg::Read { ticket, outcome }
                    })
                });
            }
            Effect::Warm { ticket, id } => {
                let wish = self.register_request(Errand::Warm, ticket, Urgency::Warm);
                self.background.spawn(async move {
                    // The list may not know yet that it is here. Whoever opens it is told what is wrong with it.
                    let _ =
                        load_email(&archive, engine.map(|engine| engine.wanted(&wish)), &id).await;
                    Msg::Warmed { ticket }
                });
            }
            Effect::Confirm {
                ticket,
                ids,
                most,
                urgency,
            } => {
                let wish = self.register_request(Errand::Confirm, ticket, urgency);
                self.background.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => engine.wanted(&wish).confirm(ids, most).await,
                        None => Err(no_key_error()),
                    };
                    let outcome = outcome.map(
                        |Confirmed {
                             synced, requests, ..
                         }| Confirmation {
                            news: to_sync_update(synced),
                            requests,
                        },
                    );
                    message_unless_cancelled(&wish, Errand::Confirm, ticket, outcome, |outcome| {
                        Msg::Confirmed { ticket, outcome }
                    })
                });
            }
            Effect::CheckStatuses {
                ticket,
                query,
                below,
                fresh_since,
                most,
                most_rows,
            } => {
                let wish = self.register_request(Errand::CheckStatuses, ticket, Urgency::Person);
                self.background.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => {
                            let query = Query::clone(&query);
                            engine
                                .wanted(&wish)
                                .confirm_candidates(query, below, fresh_since, most, most_rows)
                                .await
                        }
                        None => Err(no_key_error()),
                    };
                    let outcome = outcome.map(
                        |Confirmed {
                             synced,
                             requests,
                             rows,
                             down_to,
                             is_done,
                         }| Checked {
                            news: to_sync_update(synced),
                            requests,
                            rows,
                            down_to,
                            is_done,
                        },
                    );
                    message_unless_cancelled(
                        &wish,
                        Errand::CheckStatuses,
                        ticket,
                        outcome,
                        |outcome| Msg::StatusesChecked { ticket, outcome },
                    )
                });
            }
            Effect::Recheck { ticket } => {
                let wish = self.register_request(Errand::Recheck, ticket, Urgency::Status);
                self.background.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => engine.wanted(&wish).recheck_background().await,
                        None => Err(no_key_error()),
                    };
                    let outcome = outcome.map(|(synced, due)| (synced.map(to_sync_update), due));
                    message_unless_cancelled(&wish, Errand::Recheck, ticket, outcome, |outcome| {
                        Msg::Rechecked { ticket, outcome }
                    })
                });
            }
            Effect::LayOut {
                ticket,
                email,
                view,
                width,
            } => {
                let bodies = self.render_cache.clone();
                self.spawn_blocking(move || {
                    PanicAt::strike(panic_at, PanicAt::Render);
                    Msg::Laid {
                        ticket,
                        outcome: Ok(RenderCache::get_or_render(&bodies, &email, view, width)),
                    }
                });
            }
            Effect::Seek {
                ticket,
                body,
                sought,
            } => {
                let halt = cancel_and_renew(&mut self.match_cancel);
                self.spawn_blocking(move || Msg::Sought {
                    ticket,
                    marks: marks(&body, &sought, || !halt.is_halted()),
                });
            }
            Effect::Extend { ticket } => {
                let wish = self.register_request(Errand::Extend, ticket, Urgency::Person);
                self.interactive.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => engine.wanted(&wish).extend().await.map(to_sync_update),
                        None => Err(no_key_error()),
                    };
                    message_unless_cancelled(&wish, Errand::Extend, ticket, outcome, |outcome| {
                        Msg::Extended { ticket, outcome }
                    })
                });
            }
            Effect::Fill { ticket } => {
                let wish = self.register_request(Errand::Fill, ticket, Urgency::Extend);
                self.background.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => engine
                            .wanted(&wish)
                            .fill()
                            .await
                            .map(|synced| synced.map(to_sync_update)),
                        None => Err(no_key_error()),
                    };
                    message_unless_cancelled(&wish, Errand::Fill, ticket, outcome, |outcome| {
                        Msg::Filled { ticket, outcome }
                    })
                });
            }
            Effect::Refresh { ticket, urgency } => {
                let wish = self.register_request(Errand::Refresh, ticket, urgency);
                let tasks = if urgency.is_background() {
                    &mut self.background
                } else {
                    &mut self.interactive
                };
                tasks.spawn(async move {
                    let outcome = match engine {
                        Some(engine) if urgency.is_background() => {
                            engine.wanted(&wish).head().await.map(to_sync_update)
                        }
                        Some(engine) => engine.wanted(&wish).head_now().await.map(to_sync_update),
                        None => Err(no_key_error()),
                    };
                    message_unless_cancelled(&wish, Errand::Refresh, ticket, outcome, |outcome| {
                        Msg::Refreshed { ticket, outcome }
                    })
                });
            }
            Effect::Doors { ticket } => {
                let doors = self.opener.clone();
                self.spawn_blocking(move || Msg::Doors {
                    ticket,
                    outcome: doors.list_profiles(),
                });
            }
            Effect::Check {
                ticket,
                base_url,
                key,
            } => {
                let check = self.opener.verify_key(base_url, key);
                self.interactive.spawn(async move {
                    Msg::Checked {
                        ticket,
                        outcome: check.await,
                    }
                });
            }
            Effect::Enter {
                ticket,
                door,
                answer,
            } => {
                let (doors, entered) = (self.opener.clone(), self.opened_session.clone());
                self.spawn_blocking(move || {
                    let entry = doors.open(&door, answer).map(OpenedSession::into_parts);
                    let outcome = entry.map(|(session, arrival)| {
                        *entered.lock().unwrap_or_else(PoisonError::into_inner) = session;
                        arrival
                    });
                    Msg::Entered { ticket, outcome }
                });
            }
            Effect::Rest {
                ticket,
                what,
                pause,
            } => {
                let rest = (self.timer)(what, pause);
                let tasks = if what == Rest::Selection {
                    &mut self.debounce
                } else {
                    &mut self.timers
                };
                tasks.spawn(async move {
                    rest.await;
                    Msg::Rested { ticket, what }
                });
            }
        }
    }

    /// The next message; waits for ever if nothing is going on. Safe to cancel.
    pub async fn next(&mut self) -> Msg {
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
    fn handle_notices(&mut self, mut notices: Notices, arrived: &[Notice]) {
        for notice in arrived {
            let (archive, engine) = (self.archive.clone(), self.engine.clone());
            match notice {
                Notice::Changed => {
                    self.background.spawn(async move {
                        Msg::ArchiveChanged {
                            outcome: load_changes(archive, engine).await,
                        }
                    });
                }
                Notice::Service => {
                    self.background.spawn(async { Msg::ServiceChanged });
                }
                Notice::Removed => {
                    if let Err(failure) = archive.check_file() {
                        self.background.spawn(async { Msg::ArchiveLost(failure) });
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
    pub fn try_next(&mut self) -> Option<Msg> {
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
    pub(super) const fn process_lock(&self) -> &Lease {
        self.archive.lease()
    }

    /// Whether nothing is going on but the clock: a selection that comes to rest is something.
    #[must_use]
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.is_interactive_idle() && self.background.is_empty() && self.debounce.is_empty()
    }

    /// What may be asked of the service at present.
    #[must_use]
    pub fn budget(&self) -> Option<Budget> {
        self.engine.as_ref().and_then(Engine::budget)
    }

    /// Withdraws what nobody wants any more: what has not been sent to the service yet will not be.
    pub fn cancel_unwanted(&mut self, wanted: impl Fn(Errand, Ticket) -> bool) {
        self.requests.retain(|(errand, ticket, wish)| {
            let wanted = wanted(*errand, *ticket);
            if !wanted {
                wish.withdraw();
            }
            wanted
        });
    }

    fn register_request(&mut self, errand: Errand, ticket: Ticket, urgency: Urgency) -> Wish {
        let wish = Wish::of(urgency);
        self.requests.push((errand, ticket, wish.clone()));
        wish
    }

    /// Whether everything that a person waits for is answered by archive, service and renderer.
    #[must_use]
    pub fn is_interactive_idle(&self) -> bool {
        self.interactive.is_empty()
    }

    fn spawn_blocking(&mut self, work: impl FnOnce() -> Msg + Send + 'static) {
        self.interactive.spawn_blocking(work);
    }
}

impl<S: Service> Drop for EffectRunner<S> {
    /// Tasks end with their sets. A search on a thread of its own has to be told; whoever waits for
    /// the archive's lease waits no longer.
    fn drop(&mut self) {
        for halt in [
            &self.window_cancel,
            &self.count_cancel,
            &self.recipient_cancel,
            &self.suggest_cancel,
        ] {
            halt.halt();
        }
        self.archive.lease().release();
    }
}

/// The message of an errand, unless it failed because it was withdrawn before it was sent.
fn message_unless_cancelled<T>(
    wish: &Wish,
    errand: Errand,
    ticket: Ticket,
    outcome: Result<T, Failure>,
    message: impl FnOnce(Result<T, Failure>) -> Msg,
) -> Msg {
    if outcome.is_err() && wish.is_withdrawn() {
        Msg::Dropped { errand, ticket }
    } else {
        message(outcome)
    }
}

fn message_of_joined(joined: Result<Msg, JoinError>) -> Msg {
    joined.unwrap_or_else(|error| {
        Msg::Broken(Failure::new(
            Kind::Internal,
            format!("a task of sentbox failed: {error}"),
        ))
    })
}

/// What other processes have brought.
async fn load_changes<S: Service>(
    archive: Archive,
    engine: Option<Engine<S>>,
) -> Result<News, Failure> {
    if let Some(engine) = engine {
        return engine.follow().await.map(to_sync_update);
    }
    let read = move || Ok::<_, Failure>((archive.reach()?, archive.head_at()?));
    let (reach, head_at) = tokio::task::spawn_blocking(read)
        .await
        .map_err(|error| task_error(&error))??;
    Ok(News {
        new: 0,
        changed: Vec::new(),
        reach,
        unfinished: false,
        unreadable: 0,
        head_at,
    })
}

/// The email from the archive, or else from the service, and what was seen to become of it.
async fn load_email_and_history<S: Service>(
    archive: Archive,
    engine: Option<Engine<S>>,
    id: EmailId,
) -> Result<Opened, Failure> {
    let email = load_email(&archive, engine, &id).await?;
    let history = tokio::task::spawn_blocking(move || archive.history(&id))
        .await
        .map_err(|error| task_error(&error))??;
    Ok(Opened {
        email: Arc::new(email),
        history,
    })
}

/// The email from the archive, or else from the service.
async fn load_email<S: Service>(
    archive: &Archive,
    engine: Option<Engine<S>>,
    id: &EmailId,
) -> Result<Email, Failure> {
    let kept = {
        let (archive, id) = (archive.clone(), id.clone());
        tokio::task::spawn_blocking(move || archive.email(&id))
            .await
            .map_err(|error| task_error(&error))?
    };
    match (kept, engine) {
        (Ok(Some(email)), _) => Ok(email),
        // A damaged body is fetched again, and replaced.
        (Ok(None) | Err(_), Some(engine)) => engine.read(id).await,
        (Ok(None), None) => Err(no_key_error()),
        (Err(failure), None) => Err(failure),
    }
}

fn to_sync_update(synced: Synced) -> News {
    let unfinished = synced.stopped == Stopped::Budget;
    let Synced {
        new,
        changed,
        reach,
        head_at,
        unreadable,
        ..
    } = synced;
    News {
        new,
        changed,
        reach,
        unfinished,
        unreadable,
        head_at,
    }
}

fn no_key_error() -> Failure {
    Failure::new(Kind::KeyMissing, "there is no key to ask the service with")
        .hint("set SENTBOX_API_KEY, or try sentbox demo")
}

fn task_error(error: &JoinError) -> Failure {
    Failure::new(Kind::Internal, format!("a task of sentbox failed: {error}"))
}
