//! The performer: turns each effect into exactly one later message.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};

use super::bodies::Bodies;
use super::history::History;
use super::session::{Doors, Entry, Session};
use crate::api::Service;
use crate::app::{Counts, Effect, Msg, News, Opened, Rest, Tally, marks};
use crate::archive::{Archive, Counted, Halt, Lease, Place};
use crate::config::{PanicAt, ViewFile};
use crate::failure::{Failure, Kind};
use crate::mail::EmailId;
use crate::query::{Known, KnownValue, Needle, Node, Query, Sort, Source, Term, complete};
use crate::sync::{Engine, Stopped, Synced};

/// How a pause is spent. Tests hand in one that they end by hand.
pub type Pause = Arc<dyn Fn(Rest, Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Spends a pause by letting time pass.
#[must_use]
pub fn sleep() -> Pause {
    Arc::new(|_, pause| Box::pin(tokio::time::sleep(pause)))
}

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
    offering: Halt,
    /// What was looked for last.
    query: Arc<Query>,
    work: JoinSet<Msg>,
    /// Selections that come to rest.
    settling: JoinSet<Msg>,
    /// The clock.
    rests: JoinSet<Msg>,
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
            offering: Halt::default(),
            query: Arc::new(Query::everything()),
            work: JoinSet::new(),
            settling: JoinSet::new(),
            rests: JoinSet::new(),
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
            Effect::Look { ticket, query, anchor, rows } => {
                if query != self.query {
                    self.counting.halt();
                    self.query = query.clone();
                }
                let halt = renewed(&mut self.looking);
                self.blocking(move || {
                    PanicAt::strike(panic_at, PanicAt::Store);
                    let found = archive.search(&query, &anchor, rows, &halt);
                    Msg::Window { ticket, outcome: found.and_then(|found| found.ok_or_else(halted)) }
                });
            }
            Effect::Count { ticket, query, place } => {
                let halt = renewed(&mut self.counting);
                self.blocking(move || Msg::Counted { ticket, outcome: counts(&archive, &query, place, &halt) });
            }
            Effect::Tally { ticket, address } => {
                let halt = renewed(&mut self.tallying);
                self.blocking(move || Msg::Tallied { ticket, outcome: tally(&archive, &address, &halt).map(Arc::new) });
            }
            Effect::KeepView { ticket, number, view } => {
                let views = self.views.clone();
                self.blocking(move || Msg::ViewKept { ticket, outcome: views.keep(number, view.as_ref()) });
            }
            Effect::Remember { ticket, text } => {
                let history = self.history.clone();
                self.blocking(move || {
                    let unkept = |error| Failure::new(Kind::Io, format!("the filter cannot be kept for the next time: {error}"));
                    Msg::Remembered { ticket, outcome: history.keep(&text).map_err(unkept) }
                });
            }
            Effect::Complete { ticket, text, cursor } => {
                let halt = renewed(&mut self.offering);
                self.blocking(move || Msg::Completed { ticket, offers: complete(&text, cursor, &Timely { archive, halt }) });
            }
            Effect::Read { ticket, id } => {
                self.work.spawn(async move {
                    PanicAt::strike(panic_at, PanicAt::Fetch);
                    Msg::Read { ticket, outcome: read(archive, engine, id).await }
                });
            }
            Effect::LayOut { ticket, email, view, width } => {
                let bodies = self.bodies.clone();
                self.blocking(move || {
                    PanicAt::strike(panic_at, PanicAt::Render);
                    Msg::Laid { ticket, outcome: Ok(Bodies::at(&bodies, &email, view, width)) }
                });
            }
            Effect::Seek { ticket, body, sought } => self.blocking(move || Msg::Sought { ticket, marks: marks(&body, &sought) }),
            Effect::Extend { ticket } => {
                self.work.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => engine.extend().await.map(news),
                        None => Err(no_service()),
                    };
                    Msg::Extended { ticket, outcome }
                });
            }
            Effect::Refresh { ticket } => {
                self.work.spawn(async move {
                    let outcome = match engine {
                        Some(engine) => engine.head().await.map(news),
                        None => Err(no_service()),
                    };
                    Msg::Refreshed { ticket, outcome }
                });
            }
            Effect::Doors { ticket } => {
                let doors = self.doors.clone();
                self.blocking(move || Msg::Doors { ticket, outcome: doors.choices() });
            }
            Effect::Check { ticket, base_url, key } => {
                let check = self.doors.check(base_url, key);
                self.work.spawn(async move { Msg::Checked { ticket, outcome: check.await } });
            }
            Effect::Enter { ticket, door, answer } => {
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
            Effect::Rest { ticket, what, pause } => {
                let rest = (self.pause)(what, pause);
                let tasks = if what == Rest::Selection { &mut self.settling } else { &mut self.rests };
                tasks.spawn(async move {
                    rest.await;
                    Msg::Rested { ticket, what }
                });
            }
        }
    }

    /// The next message; waits for ever if nothing is going on. Safe to cancel.
    pub async fn next(&mut self) -> Msg {
        let joined = tokio::select! {
            Some(joined) = self.work.join_next(), if !self.work.is_empty() => joined,
            Some(joined) = self.settling.join_next(), if !self.settling.is_empty() => joined,
            Some(joined) = self.rests.join_next(), if !self.rests.is_empty() => joined,
            else => std::future::pending().await,
        };
        message(joined)
    }

    /// A message that is there already.
    pub fn try_next(&mut self) -> Option<Msg> {
        let ready = self.work.try_join_next().or_else(|| self.settling.try_join_next());
        ready.or_else(|| self.rests.try_join_next()).map(message)
    }

    /// What is behind the door that was opened last; whoever does not go there lets it go.
    pub(super) fn entered(&mut self) -> Option<Session<S>> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner).take()
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
    pub fn is_idle(&self) -> bool {
        self.has_answered() && self.settling.is_empty()
    }

    /// Whether everything that was asked of archive, service and renderer is answered.
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
        for halt in [&self.looking, &self.counting, &self.offering] {
            halt.halt();
        }
        self.archive.lease().release();
    }
}

/// A switch for the next search; the one before is broken off.
fn renewed(halt: &mut Halt) -> Halt {
    halt.halt();
    *halt = Halt::default();
    halt.clone()
}

/// What the archive knows, for as long as nobody has typed on: offers must not hold up the search.
struct Timely {
    archive: Archive,
    halt: Halt,
}

impl Known for Timely {
    fn values(&self, source: Source<'_>, part: &str, limit: usize) -> Vec<KnownValue> {
        if self.halt.is_halted() { Vec::new() } else { self.archive.values(source, part, limit) }
    }
}

/// Nobody is told: who broke the search off has asked another question since.
fn halted() -> Failure {
    Failure::new(Kind::Internal, "the search was broken off")
}

/// How many emails the query finds, and how many of them stand before `place`.
fn counts(archive: &Archive, query: &Query, place: Option<Place>, halt: &Halt) -> Result<Counts, Failure> {
    /// Nobody reads the end of such a list.
    const MOST: u64 = 10_000;
    if query.is_everything() && query.sort == Sort::Newest {
        let before = place.map(|place| Ok::<_, Failure>((place, archive.rank(place)?))).transpose()?;
        let all = archive.count()?;
        return Ok(Counts { total: all, capped: false, all, fetched: None, before });
    }
    let (total, capped) = match archive.count_matching(query, MOST, halt)?.ok_or_else(halted)? {
        Counted::Exactly(total) => (total, false),
        Counted::MoreThan(total) => (total, true),
    };
    let before = match place {
        None => None,
        Some(place) => match archive.rank_matching(query, place, MOST, halt)?.ok_or_else(halted)? {
            Counted::MoreThan(_) => None,
            Counted::Exactly(newer) if query.sort == Sort::Newest => Some((place, newer)),
            Counted::Exactly(newer) if !capped => Some((place, total.saturating_sub(newer + 1))),
            Counted::Exactly(_) => None,
        },
    };
    let scope = archive.scope()?;
    Ok(Counts { total, capped, all: scope.emails, fetched: Some(scope.fetched), before })
}

/// What became of all emails to an address.
fn tally(archive: &Archive, address: &Needle, halt: &Halt) -> Result<Tally, Failure> {
    let query = Query { filter: Node::Term(Term::Recipient(address.clone())), sort: Sort::Newest };
    let mut tally = Tally::default();
    let is_whole = archive.each(&query, halt, |row| tally.take(&row, address))?;
    if !is_whole && halt.is_halted() {
        return Err(halted());
    }
    // The list does not say why; the email may, if it was read.
    if let Some(trouble) = tally.trouble.as_mut().filter(|trouble| trouble.reason.is_none()) {
        trouble.reason = archive.email(&trouble.id)?.and_then(|email| email.summary.reason());
    }
    Ok(tally)
}

fn message(joined: Result<Msg, JoinError>) -> Msg {
    joined.unwrap_or_else(|error| Msg::Broken(Failure::new(Kind::Internal, format!("a task of sentbox failed: {error}"))))
}

/// The email from the archive, or else from the service, and what was seen to become of it.
async fn read<S: Service>(archive: Archive, engine: Option<Engine<S>>, id: EmailId) -> Result<Opened, Failure> {
    let kept = {
        let (archive, id) = (archive.clone(), id.clone());
        tokio::task::spawn_blocking(move || archive.email(&id)).await.map_err(|error| broken(&error))??
    };
    let email = match (kept, engine) {
        (Some(email), _) => email,
        (None, Some(engine)) => engine.read(&id).await?,
        (None, None) => return Err(no_service()),
    };
    let history = tokio::task::spawn_blocking(move || archive.history(&id)).await.map_err(|error| broken(&error))??;
    Ok(Opened { email: Arc::new(email), history })
}

fn news(synced: Synced) -> News {
    let unfinished = synced.stopped == Stopped::Budget;
    News { new: synced.new, changed: synced.changed, reach: synced.reach, unfinished }
}

fn no_service() -> Failure {
    Failure::new(Kind::KeyMissing, "there is no key to ask the service with").hint("set SENTBOX_API_KEY, or try sentbox demo")
}

fn broken(error: &JoinError) -> Failure {
    Failure::new(Kind::Internal, format!("a task of sentbox failed: {error}"))
}
