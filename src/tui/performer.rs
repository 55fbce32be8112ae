//! The performer: turns each effect into exactly one later message.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};

use super::bodies::Bodies;
use super::history::History;
use super::questions::{Timely, counts, halted, renewed, tally};
use super::session::{Doors, Entry, Session};
use crate::api::{Budget, Service, Urgency, Wish, jitter};
use crate::app::{Checked, Confirmation, Effect, Errand, Msg, News, Opened, Rest, Ticket, marks};
use crate::archive::{Archive, Halt, Lease, Notice, Notices};
use crate::config::{PanicAt, ViewFile};
use crate::failure::{Failure, Kind};
use crate::mail::{Email, EmailId};
use crate::query::{Query, complete};
use crate::sync::{Confirmed, Engine, Stopped, Synced};

/// How a pause is spent. Tests hand in one that they end by hand.
pub type Pause =
    Arc<dyn Fn(Rest, Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Spends a pause by letting time pass. Those before the service is asked again are up to a quarter
/// longer: colleagues run sentbox as well, and are not to come back all at once.
#[must_use]
pub fn sleep() -> Pause {
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
const FOLLOW_PAUSE: Duration = Duration::from_millis(500);

/// Performs effects. There is no channel: a task *returns* its message, so an empty set of tasks
/// means that nothing is going on, and a task that panics is noticed.
pub struct Performer<S: Service> {
    archive: Archive,
    engine: Option<Engine<S>>,
    history: History,
    views: ViewFile,
    bodies: Arc<Mutex<Bodies>>,
    pause: Pause,
    panic_at: Option<PanicAt>,
    looking: Halt,
    counting: Halt,
    tallying: Halt,
    seeking: Halt,
    offering: Halt,
    /// What was looked for last.
    query: Arc<Query>,
    work: JoinSet<Msg>,
    /// Requests that nobody waits for.
    quiet: JoinSet<Msg>,
    /// What the service is asked for on behalf of whom.
    errands: Vec<(Errand, Ticket, Wish)>,
    /// Selections that come to rest.
    settling: JoinSet<Msg>,
    /// The clock.
    rests: JoinSet<Msg>,
    /// Waits for what other processes do with the archive.
    watching: JoinSet<(Notices, Vec<Notice>)>,
    doors: Arc<dyn Doors<S>>,
    /// What is behind the door that was opened last.
    entered: Arc<Mutex<Option<Session<S>>>>,
    /// What ends with the session.
    _beside: JoinSet<()>,
}

impl<S: Service> Performer<S> {
    /// Reads from the session's archive, and carries into it what its engine brings, if there is one;
    /// `doors` lead to other sessions.
    #[must_use]
    pub(super) fn new(
        archive: Archive,
        engine: Option<Engine<S>>,
        beside: JoinSet<()>,
        (history, views): (History, ViewFile),
        doors: Arc<dyn Doors<S>>,
        pause: Pause,
        panic_at: Option<PanicAt>,
    ) -> Self {
        let bodies = Arc::new(Mutex::new(Bodies::default()));
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
                    outcome: follow(archive, engine).await,
                }
            });
        }
        Self {
            archive,
            engine,
            history,
            views,
            bodies,
            pause,
            panic_at,
            looking: Halt::default(),
            counting: Halt::default(),
            tallying: Halt::default(),
            seeking: Halt::default(),
            offering: Halt::default(),
            query: Arc::new(Query::everything()),
            work: JoinSet::new(),
            quiet,
            errands: Vec::new(),
            settling: JoinSet::new(),
            rests: JoinSet::new(),
            watching,
            doors,
            entered: Arc::default(),
            _beside: beside,
        }
    }

    /// Starts what is asked for.
    pub fn perform(&mut self, effect: Effect) {
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
                if query != self.query {
                    self.counting.halt();
                    self.query = query.clone();
                }
                let halt = renewed(&mut self.looking);
                self.blocking(move || {
                    PanicAt::strike(panic_at, PanicAt::Store);
                    let found = archive.search(&query, &anchor, rows, &halt);
                    Msg::Window {
                        ticket,
                        outcome: found.and_then(|found| found.ok_or_else(halted)),
                    }
                });
            }
            Effect::Count {
                ticket,
                query,
                place,
            } => {
                let halt = renewed(&mut self.counting);
                self.blocking(move || Msg::Counted {
                    ticket,
                    outcome: counts(&archive, &query, place, &halt),
                });
            }
            Effect::Tally {
                ticket,
                address,
                fresh_since,
                now,
            } => {
                let halt = renewed(&mut self.tallying);
                self.blocking(move || Msg::Tallied {
                    ticket,
                    outcome: tally(&archive, &address, (fresh_since, now), &halt).map(Arc::new),
                });
            }
            Effect::KeepView {
                ticket,
                number,
                view,
            } => {
                let views = self.views.clone();
                self.blocking(move || Msg::ViewKept {
                    ticket,
                    outcome: views.keep(number, view.as_ref()),
                });
            }
            Effect::Remember { ticket, text } => {
                let history = self.history.clone();
                self.blocking(move || {
                    let unkept = |error| {
                        Failure::new(
                            Kind::Io,
                            format!("the filter cannot be kept for the next time: {error}"),
                        )
                    };
                    Msg::Remembered {
                        ticket,
                        outcome: history.keep(&text).map_err(unkept),
                    }
                });
            }
            Effect::Complete {
                ticket,
                text,
                cursor,
            } => {
                let halt = renewed(&mut self.offering);
                self.blocking(move || Msg::Completed {
                    ticket,
                    offers: complete(&text, cursor, &Timely { archive, halt }),
                });
            }
            Effect::Read {
                ticket,
                id,
                urgency,
            } => {
                let wish = self.wish(Errand::Read, ticket, urgency);
                self.work.spawn(async move {
                    PanicAt::strike(panic_at, PanicAt::Fetch);
                    let outcome =
                        read(archive, engine.map(|engine| engine.wanted(&wish)), id).await;
                    unless_dropped(&wish, Errand::Read, ticket, outcome, |outcome| Msg::Read {
                        ticket,
                        outcome,
                    })
                });
            }
            Effect::Warm { ticket, id } => {
                let wish = self.wish(Errand::Warm, ticket, Urgency::Warm);
                self.quiet.spawn(async move {
                    // The list may not know yet that it is here. Whoever opens it is told what is wrong with it.
                    let _ = email(&archive, engine.map(|engine| engine.wanted(&wish)), &id).await;
                    Msg::Warmed { ticket }
                });
            }
            Effect::Confirm {
                ticket,
                ids,
                most,
                urgency,
            } => {
                let wish = self.wish(Errand::Confirm, ticket, urgency);
                self.quiet.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => engine.wanted(&wish).confirm(ids, most).await,
                        None => Err(no_service()),
                    };
                    let outcome = outcome.map(
                        |Confirmed {
                             synced, requests, ..
                         }| Confirmation {
                            news: news(synced),
                            requests,
                        },
                    );
                    unless_dropped(&wish, Errand::Confirm, ticket, outcome, |outcome| {
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
                let wish = self.wish(Errand::CheckStatuses, ticket, Urgency::Person);
                self.quiet.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => {
                            let query = Query::clone(&query);
                            engine
                                .wanted(&wish)
                                .confirm_candidates(query, below, fresh_since, most, most_rows)
                                .await
                        }
                        None => Err(no_service()),
                    };
                    let outcome = outcome.map(
                        |Confirmed {
                             synced,
                             requests,
                             rows,
                             down_to,
                             is_done,
                         }| Checked {
                            news: news(synced),
                            requests,
                            rows,
                            down_to,
                            is_done,
                        },
                    );
                    unless_dropped(&wish, Errand::CheckStatuses, ticket, outcome, |outcome| {
                        Msg::StatusesChecked { ticket, outcome }
                    })
                });
            }
            Effect::Recheck { ticket } => {
                let wish = self.wish(Errand::Recheck, ticket, Urgency::Status);
                self.quiet.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => engine.wanted(&wish).recheck_background().await,
                        None => Err(no_service()),
                    };
                    let outcome = outcome.map(|(synced, due)| (synced.map(news), due));
                    unless_dropped(&wish, Errand::Recheck, ticket, outcome, |outcome| {
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
                let bodies = self.bodies.clone();
                self.blocking(move || {
                    PanicAt::strike(panic_at, PanicAt::Render);
                    Msg::Laid {
                        ticket,
                        outcome: Ok(Bodies::at(&bodies, &email, view, width)),
                    }
                });
            }
            Effect::Seek {
                ticket,
                body,
                sought,
            } => {
                let halt = renewed(&mut self.seeking);
                self.blocking(move || Msg::Sought {
                    ticket,
                    marks: marks(&body, &sought, || !halt.is_halted()),
                });
            }
            Effect::Extend { ticket } => {
                let wish = self.wish(Errand::Extend, ticket, Urgency::Person);
                self.work.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => engine.wanted(&wish).extend().await.map(news),
                        None => Err(no_service()),
                    };
                    unless_dropped(&wish, Errand::Extend, ticket, outcome, |outcome| {
                        Msg::Extended { ticket, outcome }
                    })
                });
            }
            Effect::Fill { ticket } => {
                let wish = self.wish(Errand::Fill, ticket, Urgency::Extend);
                self.quiet.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => engine
                            .wanted(&wish)
                            .fill()
                            .await
                            .map(|synced| synced.map(news)),
                        None => Err(no_service()),
                    };
                    unless_dropped(&wish, Errand::Fill, ticket, outcome, |outcome| {
                        Msg::Filled { ticket, outcome }
                    })
                });
            }
            Effect::Refresh { ticket, urgency } => {
                let wish = self.wish(Errand::Refresh, ticket, urgency);
                let tasks = if urgency.is_background() {
                    &mut self.quiet
                } else {
                    &mut self.work
                };
                tasks.spawn(async move {
                    let outcome = match engine {
                        Some(engine) if urgency.is_background() => {
                            engine.wanted(&wish).head().await.map(news)
                        }
                        Some(engine) => engine.wanted(&wish).head_now().await.map(news),
                        None => Err(no_service()),
                    };
                    unless_dropped(&wish, Errand::Refresh, ticket, outcome, |outcome| {
                        Msg::Refreshed { ticket, outcome }
                    })
                });
            }
            Effect::Doors { ticket } => {
                let doors = self.doors.clone();
                self.blocking(move || Msg::Doors {
                    ticket,
                    outcome: doors.choices(),
                });
            }
            Effect::Check {
                ticket,
                base_url,
                key,
            } => {
                let check = self.doors.check(base_url, key);
                self.work.spawn(async move {
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
                let (doors, entered) = (self.doors.clone(), self.entered.clone());
                self.blocking(move || {
                    let entry = doors.open(&door, answer).map(Entry::parts);
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
                let rest = (self.pause)(what, pause);
                let tasks = if what == Rest::Selection {
                    &mut self.settling
                } else {
                    &mut self.rests
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
                Some(joined) = self.work.join_next(), if !self.work.is_empty() => joined,
                Some(joined) = self.quiet.join_next(), if !self.quiet.is_empty() => joined,
                Some(joined) = self.settling.join_next(), if !self.settling.is_empty() => joined,
                Some(joined) = self.rests.join_next(), if !self.rests.is_empty() => joined,
                Some(arrived) = self.watching.join_next(), if !self.watching.is_empty() => {
                    if let Ok((notices, arrived)) = arrived {
                        self.follow(notices, &arrived);
                    }
                    continue;
                }
                else => std::future::pending().await,
            };
            return message(joined);
        }
    }

    /// Turns notices into messages, and waits for the next ones.
    fn follow(&mut self, mut notices: Notices, arrived: &[Notice]) {
        for notice in arrived {
            let (archive, engine) = (self.archive.clone(), self.engine.clone());
            match notice {
                Notice::Changed => {
                    self.quiet.spawn(async move {
                        Msg::ArchiveChanged {
                            outcome: follow(archive, engine).await,
                        }
                    });
                }
                Notice::Service => {
                    self.quiet.spawn(async { Msg::ServiceChanged });
                }
                Notice::Removed => {
                    if let Err(failure) = archive.check_file() {
                        self.quiet.spawn(async { Msg::ArchiveLost(failure) });
                        return;
                    }
                }
            }
        }
        self.watching.spawn(async move {
            tokio::time::sleep(FOLLOW_PAUSE).await;
            let arrived = notices.next().await;
            (notices, arrived)
        });
    }

    /// A message that is there already.
    pub fn try_next(&mut self) -> Option<Msg> {
        let ready = self
            .work
            .try_join_next()
            .or_else(|| self.quiet.try_join_next())
            .or_else(|| self.settling.try_join_next());
        ready.or_else(|| self.rests.try_join_next()).map(message)
    }

    /// What is behind the door that was opened last; whoever does not go there lets it go.
    pub(super) fn entered(&mut self) -> Option<Session<S>> {
        self.entered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// The doors and the pauses, for who performs next.
    pub(super) fn ways(&self) -> (Arc<dyn Doors<S>>, Pause) {
        (self.doors.clone(), self.pause.clone())
    }

    /// The lease of the archive.
    pub(super) const fn lease(&self) -> &Lease {
        self.archive.lease()
    }

    /// Whether nothing is going on but the clock: a selection that comes to rest is something.
    #[must_use]
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.has_answered() && self.quiet.is_empty() && self.settling.is_empty()
    }

    /// What may be asked of the service at present.
    #[must_use]
    pub fn budget(&self) -> Option<Budget> {
        self.engine.as_ref().and_then(Engine::budget)
    }

    /// Withdraws what nobody wants any more: what has not been sent to the service yet will not be.
    pub fn withdraw(&mut self, wanted: impl Fn(Errand, Ticket) -> bool) {
        self.errands.retain(|(errand, ticket, wish)| {
            let wanted = wanted(*errand, *ticket);
            if !wanted {
                wish.withdraw();
            }
            wanted
        });
    }

    fn wish(&mut self, errand: Errand, ticket: Ticket, urgency: Urgency) -> Wish {
        let wish = Wish::of(urgency);
        self.errands.push((errand, ticket, wish.clone()));
        wish
    }

    /// Whether everything that a person waits for is answered by archive, service and renderer.
    #[must_use]
    pub fn has_answered(&self) -> bool {
        self.work.is_empty()
    }

    fn blocking(&mut self, work: impl FnOnce() -> Msg + Send + 'static) {
        self.work.spawn_blocking(work);
    }
}

impl<S: Service> Drop for Performer<S> {
    /// Tasks end with their sets. A search on a thread of its own has to be told; whoever waits for
    /// the archive's lease waits no longer.
    fn drop(&mut self) {
        for halt in [
            &self.looking,
            &self.counting,
            &self.tallying,
            &self.offering,
        ] {
            halt.halt();
        }
        self.archive.lease().release();
    }
}

/// The message of an errand, unless it failed because it was withdrawn before it was sent.
fn unless_dropped<T>(
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

fn message(joined: Result<Msg, JoinError>) -> Msg {
    joined.unwrap_or_else(|error| {
        Msg::Broken(Failure::new(
            Kind::Internal,
            format!("a task of sentbox failed: {error}"),
        ))
    })
}

/// What other processes have brought.
async fn follow<S: Service>(archive: Archive, engine: Option<Engine<S>>) -> Result<News, Failure> {
    if let Some(engine) = engine {
        return engine.follow().await.map(news);
    }
    let read = move || Ok::<_, Failure>((archive.reach()?, archive.head_at()?));
    let (reach, head_at) = tokio::task::spawn_blocking(read)
        .await
        .map_err(|error| broken(&error))??;
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
async fn read<S: Service>(
    archive: Archive,
    engine: Option<Engine<S>>,
    id: EmailId,
) -> Result<Opened, Failure> {
    let email = email(&archive, engine, &id).await?;
    let history = tokio::task::spawn_blocking(move || archive.history(&id))
        .await
        .map_err(|error| broken(&error))??;
    Ok(Opened {
        email: Arc::new(email),
        history,
    })
}

/// The email from the archive, or else from the service.
async fn email<S: Service>(
    archive: &Archive,
    engine: Option<Engine<S>>,
    id: &EmailId,
) -> Result<Email, Failure> {
    let kept = {
        let (archive, id) = (archive.clone(), id.clone());
        tokio::task::spawn_blocking(move || archive.email(&id))
            .await
            .map_err(|error| broken(&error))?
    };
    match (kept, engine) {
        (Ok(Some(email)), _) => Ok(email),
        // A damaged body is fetched again, and replaced.
        (Ok(None) | Err(_), Some(engine)) => engine.read(id).await,
        (Ok(None), None) => Err(no_service()),
        (Err(failure), None) => Err(failure),
    }
}

fn news(synced: Synced) -> News {
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

fn no_service() -> Failure {
    Failure::new(Kind::KeyMissing, "there is no key to ask the service with")
        .hint("set SENTBOX_API_KEY, or try sentbox demo")
}

fn broken(error: &JoinError) -> Failure {
    Failure::new(Kind::Internal, format!("a task of sentbox failed: {error}"))
}
