//! `Gate`: the queue in which requests wait for their turn; it does what [`Pace`] decides.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tracing::{info, trace};

use super::patience::PAUSE;
use super::{Budget, Limits, Pace, Place, SharedBucket, Taken, Turn};
use crate::api::wish::{Urgency, Wish};
use crate::config::Rate;
use crate::config::clock::Clock;

/// Why somebody was not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::api) enum Turned {
    /// Nobody wants it any more, or not so much.
    Away,
    /// The service has asked for a pause, longer than it can be waited.
    Back(Duration),
}

/// The one way to the service, which all tasks of the process share.
pub(in crate::api) struct Gate {
    pace: Mutex<Pace>,
    /// The queue or the budget has changed.
    changed: Notify,
    born: Instant,
    /// The bucket of all processes of this profile on this machine, if they have a folder in common.
    shared: Option<(SharedBucket, Clock)>,
    /// When that bucket last made a request wait, by its clock.
    waited: Mutex<Option<Timestamp>>,
}

impl Gate {
    /// A gate whose rate is this, together with all others that have the same file, if there is one; they
    /// measure time by `clock`.
    pub(in crate::api) fn new(rate: Rate, file: Option<PathBuf>, clock: Clock) -> Self {
        let shared = file.map(|file| (SharedBucket::new(file), clock));
        Self {
            pace: Mutex::new(Pace::new(rate)),
            changed: Notify::new(),
            born: Instant::now(),
            shared,
            waited: Mutex::default(),
        }
    }

    /// Waits in the queue for a token. Whoever stops waiting has left the queue and sent nothing.
    /// `paused` counts what was waited because the service asked for it; `bearable` says whether a
    /// further pause can be waited; `waits` hears how long each wait will be.
    pub(in crate::api) async fn pass(
        &self,
        wish: &Wish,
        paused: &mut Duration,
        bearable: impl Fn(Duration, Duration) -> bool,
        waits: impl Fn(Duration),
    ) -> Result<(), Turned> {
        let queued = self.join(wish.urgency());
        let mut told = false;
        loop {
            // What changes from here on is noticed, also before it is waited for.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if wish.is_withdrawn() {
                return Err(Turned::Away);
            }
            let (wait, is_pause) = match self.turn(queued.place).await {
                Turn::Go => return Ok(()),
                Turn::Scarce => return Err(Turned::Away),
                Turn::Behind => (Duration::MAX, false),
                Turn::Later(wait) => (wait, false),
                Turn::Paused(wait) if !bearable(*paused, wait) => return Err(Turned::Back(wait)),
                Turn::Paused(wait) => (wait, true),
            };
            if is_pause && !std::mem::replace(&mut told, true) {
                info!(?wait, "pauses, as the service asked");
            }
            trace!(?wait, urgency = ?wish.urgency(), "waits for its turn");
            if wait < Duration::MAX {
                waits(wait);
            }
            let began = Instant::now();
            tokio::select! {
                () = wish.until_withdrawn() => {}
                () = changed => {}
                () = sleep(wait) => {}
            }
            if is_pause {
                *paused += began.elapsed();
            }
        }
    }

    /// Sends the request at this place if both buckets have a token for it.
    async fn turn(&self, place: Place) -> Turn {
        let turn = self.with(|pace, now| {
            let turn = pace.check(now, place);
            if turn == Turn::Go && self.shared.is_none() {
                pace.send(now, place, jitter());
            }
            turn
        });
        let Some((bucket, clock)) = self.shared.as_ref().filter(|_| turn == Turn::Go) else {
            return turn;
        };
        let (bucket, at, demand) = (
            bucket.clone(),
            clock(),
            self.with(|pace, _| pace.demand(place.urgency)),
        );
        // A disk may take its time. Without the file this process has its own bucket.
        let taken = tokio::task::spawn_blocking(move || bucket.take(at, demand))
            .await
            .ok()
            .flatten();
        match taken.filter(|taken| *taken == Taken::Token || self.clock_runs(at)) {
            None | Some(Taken::Token) => {
                self.with(|pace, now| pace.send(now, place, jitter()));
                Turn::Go
            }
            Some(Taken::Later(wait)) => Turn::Later(wait),
            Some(Taken::Paused(wait)) => {
                self.with(|pace, now| pace.pause(now, wait));
                Turn::Paused(wait)
            }
        }
    }

    /// Whether the clock of the shared bucket has gone on since that last made a request wait. In a bucket
    /// whose clock stands still nothing flows in.
    fn clock_runs(&self, at: Timestamp) -> bool {
        let before = self
            .waited
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(at);
        before.is_none_or(|before| at > before)
    }

    /// Learns what an answer said about the limit.
    pub(in crate::api) fn learn(&self, limits: Limits) {
        self.with(|pace, now| pace.learn(now, limits, jitter()));
        self.changed.notify_waiters();
    }

    /// Learns that a request was refused for the rate, and how long it was asked to wait.
    pub(in crate::api) async fn refuse(&self, wait: Option<Duration>) {
        self.with(|pace, now| pace.refuse(now, wait, jitter()));
        self.changed.notify_waiters();
        if let Some((bucket, clock)) = self.shared.clone() {
            // What cannot be written holds for this process all the same.
            let _ =
                tokio::task::spawn_blocking(move || bucket.pause(clock(), wait.unwrap_or(PAUSE)))
                    .await;
        }
    }

    pub(in crate::api) fn budget(&self) -> Budget {
        self.with(|pace, now| pace.budget(now))
    }

    fn join(&self, urgency: Urgency) -> Queued<'_> {
        Queued {
            place: self.with(|pace, _| pace.join(urgency)),
            gate: self,
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Pace, Duration) -> T) -> T {
        // A panic elsewhere leaves the numbers usable: each is written whole.
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut pace, self.born.elapsed())
    }
}

/// A place in the queue, given up when it is dropped: a request that nobody waits for any more holds up
/// nobody.
struct Queued<'a> {
    place: Place,
    gate: &'a Gate,
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.gate.with(|pace, _| pace.leave(self.place));
        self.gate.changed.notify_waiters();
    }
}

/// A number from 0 to 1 that differs from call to call: each `RandomState` has other keys.
#[must_use]
pub fn jitter() -> f64 {
    f64::from(u32::try_from(RandomState::new().hash_one(()) >> 32).expect("the upper half fits"))
        / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::task::{JoinSet, yield_now};

    use super::*;

    async fn pass(gate: &Gate, wish: &Wish) -> Result<(), Turned> {
        let mut paused = Duration::ZERO;
        gate.pass(
            wish,
            &mut paused,
            |paused, wait| paused + wait < Duration::from_mins(1),
            |_| (),
        )
        .await
    }

    /// A gate whose tokens are used up.
    async fn busy() -> Arc<Gate> {
        let gate = Gate::new(Rate::default(), None, crate::config::clock::system());
        for _ in 0..4 {
            pass(&gate, &Wish::of(Urgency::Person)).await.unwrap();
        }
        Arc::new(gate)
    }

    fn queue(gate: &Arc<Gate>, tasks: &mut JoinSet<&'static str>, name: &'static str, wish: &Wish) {
        let (gate, wish) = (Arc::clone(gate), wish.clone());
        tasks.spawn(async move {
            if pass(&gate, &wish).await.is_ok() {
                name
            } else {
                "turned away"
            }
        });
    }

    #[tokio::test(start_paused = true)]
    async fn the_more_urgent_goes_first_however_late_it_comes() {
        let (gate, mut tasks) = (busy().await, JoinSet::new());
        queue(&gate, &mut tasks, "older mail", &Wish::of(Urgency::Extend));
        yield_now().await;
        queue(&gate, &mut tasks, "new mail", &Wish::of(Urgency::Head));
        yield_now().await;
        queue(&gate, &mut tasks, "an email", &Wish::of(Urgency::Person));
        let order: Vec<_> = [
            tasks.join_next().await,
            tasks.join_next().await,
            tasks.join_next().await,
        ]
        .map(|name| name.unwrap().unwrap())
        .into();
        assert_eq!(order, ["an email", "new mail", "older mail"]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_wants_any_more_costs_nothing() {
        let (gate, mut tasks) = (busy().await, JoinSet::new());
        let began = Instant::now();
        let withdrawn = Wish::of(Urgency::Person);
        queue(&gate, &mut tasks, "withdrawn", &withdrawn);
        let dropped = Wish::of(Urgency::Person);
        let dropped = tokio::time::timeout(Duration::from_millis(10), pass(&gate, &dropped)).await;
        assert!(dropped.is_err(), "it waits its turn");
        withdrawn.withdraw();
        assert_eq!(tasks.join_next().await.unwrap().unwrap(), "turned away");
        pass(&gate, &Wish::of(Urgency::Person)).await.unwrap();
        assert!(
            began.elapsed() < Duration::from_millis(510),
            "the next token is for who is left: {:?}",
            began.elapsed()
        );
        assert_eq!(
            pass(&gate, &withdrawn).await,
            Err(Turned::Away),
            "and it stays so"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn two_gates_with_one_file_share_the_rate() {
        let folder = tempfile::tempdir().unwrap();
        let began = Instant::now();
        let clock: Clock = Arc::new(move || {
            jiff::Timestamp::from_second(1_790_000_000).unwrap() + began.elapsed()
        });
        let gate = || {
            Gate::new(
                Rate::default(),
                Some(folder.path().join("rate")),
                clock.clone(),
            )
        };
        let (one, other) = (gate(), gate());
        for _ in 0..10 {
            pass(&one, &Wish::of(Urgency::Person)).await.unwrap();
            pass(&other, &Wish::of(Urgency::Person)).await.unwrap();
        }
        let took = began.elapsed();
        assert!(
            took >= Duration::from_millis(7900) && took < Duration::from_millis(8500),
            "20 requests, 4 of them at once: {took:?}"
        );
        one.refuse(Some(Duration::from_secs(3))).await;
        pass(&other, &Wish::of(Urgency::Person)).await.unwrap();
        assert!(
            began.elapsed() >= took + Duration::from_secs(3),
            "{:?}",
            began.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn clock_that_stands_still_stops_no_request() {
        let folder = tempfile::tempdir().unwrap();
        let gate = Gate::new(
            Rate::default(),
            Some(folder.path().join("rate")),
            Arc::new(|| Timestamp::UNIX_EPOCH),
        );
        let began = Instant::now();
        for _ in 0..8 {
            pass(&gate, &Wish::of(Urgency::Person)).await.unwrap();
        }
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_waited_if_it_can_be_and_counted() {
        let gate = Gate::new(Rate::default(), None, crate::config::clock::system());
        gate.refuse(Some(Duration::from_secs(90))).await;
        let person = Wish::of(Urgency::Person);
        let Err(Turned::Back(wait)) = pass(&gate, &person).await else {
            panic!("that is too long")
        };
        assert!(wait >= Duration::from_secs(90));
        let mut paused = Duration::ZERO;
        gate.pass(&person, &mut paused, |_, _| true, |_| ())
            .await
            .unwrap();
        assert!(paused >= Duration::from_secs(90) && gate.budget().paused_for.is_zero());
    }
}
