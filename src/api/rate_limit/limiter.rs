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

use super::retry::DEFAULT_PAUSE;
use super::{
    Decision, LimitHeaders, LimiterState, QueuePosition, RateBudget, SharedBucket, SharedDecision,
};
use crate::api::request::{Priority, RequestHandle};
use crate::config::Rate;
use crate::config::clock::Clock;

/// Why somebody was not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::api) enum Denied {
    /// Nobody wants it any more, or not so much.
    Abandoned,
    /// The service has asked for a pause, longer than it can be waited.
    PausedTooLong(Duration),
}

/// The one way to the service, which all tasks of the process share.
pub(in crate::api) struct RateLimiter {
    state: Mutex<LimiterState>,
    /// The queue or the budget has changed.
    changed: Notify,
    started_at: Instant,
    /// The bucket of all processes of this profile on this machine, if they have a folder in common.
    shared: Option<(SharedBucket, Clock)>,
    /// When that bucket last made a request wait, by its clock.
    last_shared_wait: Mutex<Option<Timestamp>>,
}

impl RateLimiter {
    /// A gate whose rate is this, together with all others that have the same file, if there is one; they
    /// measure time by `clock`.
    pub(in crate::api) fn new(rate: Rate, file: Option<PathBuf>, clock: Clock) -> Self {
        let shared = file.map(|file| (SharedBucket::new(file), clock));
        Self {
            state: Mutex::new(LimiterState::new(rate)),
            changed: Notify::new(),
            started_at: Instant::now(),
            shared,
            last_shared_wait: Mutex::default(),
        }
    }

    /// Waits in the queue for a token. Whoever stops waiting has left the queue and sent nothing.
    /// `paused` counts what was waited because the service asked for it; `bearable` says whether a
    /// further pause can be waited; `waits` hears how long each wait will be.
    pub(in crate::api) async fn acquire(
        &self,
        wish: &RequestHandle,
        paused: &mut Duration,
        bearable: impl Fn(Duration, Duration) -> bool,
        waits: impl Fn(Duration),
    ) -> Result<(), Denied> {
        let queued = self.enqueue(wish.priority());
        let mut told = false;
        loop {
            // What changes from here on is noticed, also before it is waited for.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if wish.is_cancelled() {
                return Err(Denied::Abandoned);
            }
            let (wait, is_pause) = match self.try_acquire(queued.position).await {
                Decision::Allowed => return Ok(()),
                Decision::Contended => return Err(Denied::Abandoned),
                Decision::NotFirst => (Duration::MAX, false),
                Decision::Wait(wait) => (wait, false),
                Decision::Paused(wait) if !bearable(*paused, wait) => {
                    return Err(Denied::PausedTooLong(wait));
                }
                Decision::Paused(wait) => (wait, true),
            };
            if is_pause && !std::mem::replace(&mut told, true) {
                info!(?wait, "pauses, as the service asked");
            }
            trace!(?wait, urgency = ?wish.priority(), "waits for its turn");
            if wait < Duration::MAX {
                waits(wait);
            }
            let began = Instant::now();
            tokio::select! {
                () = wish.cancelled() => {}
                () = changed => {}
                () = sleep(wait) => {}
            }
            if is_pause {
                *paused += began.elapsed();
            }
        }
    }

    /// Sends the request at this place if both buckets have a token for it.
    async fn try_acquire(&self, place: QueuePosition) -> Decision {
        let turn = self.with_state(|pace, now| {
            let turn = pace.check(now, place);
            if turn == Decision::Allowed && self.shared.is_none() {
                pace.record_send(now, place, jitter());
            }
            turn
        });
        let Some((bucket, clock)) = self.shared.as_ref().filter(|_| turn == Decision::Allowed)
        else {
            return turn;
        };
        let (bucket, at, demand) = (
            bucket.clone(),
            clock(),
            self.with_state(|pace, _| pace.token_demand(place.priority)),
        );
        // A disk may take its time. Without the file this process has its own bucket.
        let taken = tokio::task::spawn_blocking(move || bucket.try_take(at, demand))
            .await
            .ok()
            .flatten();
        match taken.filter(|taken| *taken == SharedDecision::Allowed || self.clock_advanced(at)) {
            None | Some(SharedDecision::Allowed) => {
                self.with_state(|pace, now| pace.record_send(now, place, jitter()));
                Decision::Allowed
            }
            Some(SharedDecision::Wait(wait)) => Decision::Wait(wait),
            Some(SharedDecision::Paused(wait)) => {
                self.with_state(|pace, now| pace.pause(now, wait));
                Decision::Paused(wait)
            }
        }
    }

    /// Whether the clock of the shared bucket has gone on since that last made a request wait. In a bucket
    /// whose clock stands still nothing flows in.
    fn clock_advanced(&self, at: Timestamp) -> bool {
        let before = self
            .last_shared_wait
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(at);
        before.is_none_or(|before| at > before)
    }

    /// Learns what an answer said about the limit.
    pub(in crate::api) fn update_limits(&self, limits: LimitHeaders) {
        self.with_state(|pace, now| pace.update_limits(now, limits, jitter()));
        self.changed.notify_waiters();
    }

    /// Learns that a request was refused for the rate, and how long it was asked to wait.
    pub(in crate::api) async fn on_rate_limited(&self, wait: Option<Duration>) {
        self.with_state(|pace, now| pace.on_rate_limited(now, wait, jitter()));
        self.changed.notify_waiters();
        if let Some((bucket, clock)) = self.shared.clone() {
            // What cannot be written holds for this process all the same.
            let _ = tokio::task::spawn_blocking(move || {
                bucket.pause(clock(), wait.unwrap_or(DEFAULT_PAUSE))
            })
            .await;
        }
    }

    pub(in crate::api) fn budget(&self) -> RateBudget {
        self.with_state(|pace, now| pace.budget(now))
    }

    fn enqueue(&self, urgency: Priority) -> QueueGuard<'_> {
        QueueGuard {
            position: self.with_state(|pace, _| pace.enqueue(urgency)),
            limiter: self,
        }
    }

    fn with_state<T>(&self, act: impl FnOnce(&mut LimiterState, Duration) -> T) -> T {
        // A panic elsewhere leaves the numbers usable: each is written whole.
        let mut pace = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut pace, self.started_at.elapsed())
    }
}

/// A place in the queue, given up when it is dropped: a request that nobody waits for any more holds up
/// nobody.
struct QueueGuard<'a> {
    position: QueuePosition,
    limiter: &'a RateLimiter,
}

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        self.limiter
            .with_state(|pace, _| pace.dequeue(self.position));
        self.limiter.changed.notify_waiters();
    }
}

/// A number from 0 to 1 that differs from call to call: each `RandomState` has other keys.
#[must_use]
pub(crate) fn jitter() -> f64 {
    f64::from(u32::try_from(RandomState::new().hash_one(()) >> 32).expect("the upper half fits"))
        / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::task::{JoinSet, yield_now};

    use super::*;

    async fn acquire(gate: &RateLimiter, wish: &RequestHandle) -> Result<(), Denied> {
        let mut paused = Duration::ZERO;
        gate.acquire(
            wish,
            &mut paused,
            |paused, wait| paused + wait < Duration::from_mins(1),
            |_| (),
        )
        .await
    }

    /// A gate whose tokens are used up.
    async fn exhausted_limiter() -> Arc<RateLimiter> {
        let gate = RateLimiter::new(Rate::default(), None, crate::config::clock::system_clock());
        for _ in 0..4 {
            acquire(&gate, &RequestHandle::new(Priority::Interactive))
                .await
                .unwrap();
        }
        Arc::new(gate)
    }

    fn spawn_acquire(
        gate: &Arc<RateLimiter>,
        tasks: &mut JoinSet<&'static str>,
        name: &'static str,
        wish: &RequestHandle,
    ) {
        let (gate, wish) = (Arc::clone(gate), wish.clone());
        tasks.spawn(async move {
            if acquire(&gate, &wish).await.is_ok() {
                name
            } else {
                "turned away"
            }
        });
    }

    #[tokio::test(start_paused = true)]
    async fn the_more_urgent_goes_first_however_late_it_comes() {
        let (gate, mut tasks) = (exhausted_limiter().await, JoinSet::new());
        spawn_acquire(
            &gate,
            &mut tasks,
            "older mail",
            &RequestHandle::new(Priority::Backfill),
        );
        yield_now().await;
        spawn_acquire(
            &gate,
            &mut tasks,
            "new mail",
            &RequestHandle::new(Priority::Refresh),
        );
        yield_now().await;
        spawn_acquire(
            &gate,
            &mut tasks,
            "an email",
            &RequestHandle::new(Priority::Interactive),
        );
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
        let (gate, mut tasks) = (exhausted_limiter().await, JoinSet::new());
        let began = Instant::now();
        let withdrawn = RequestHandle::new(Priority::Interactive);
        spawn_acquire(&gate, &mut tasks, "withdrawn", &withdrawn);
        let dropped = RequestHandle::new(Priority::Interactive);
        let dropped =
            tokio::time::timeout(Duration::from_millis(10), acquire(&gate, &dropped)).await;
        assert!(dropped.is_err(), "it waits its turn");
        withdrawn.cancel();
        assert_eq!(tasks.join_next().await.unwrap().unwrap(), "turned away");
        acquire(&gate, &RequestHandle::new(Priority::Interactive))
            .await
            .unwrap();
        assert!(
            began.elapsed() < Duration::from_millis(510),
            "the next token is for who is left: {:?}",
            began.elapsed()
        );
        assert_eq!(
            acquire(&gate, &withdrawn).await,
            Err(Denied::Abandoned),
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
            RateLimiter::new(
                Rate::default(),
                Some(folder.path().join("rate")),
                clock.clone(),
            )
        };
        let (one, other) = (gate(), gate());
        for _ in 0..10 {
            acquire(&one, &RequestHandle::new(Priority::Interactive))
                .await
                .unwrap();
            acquire(&other, &RequestHandle::new(Priority::Interactive))
                .await
                .unwrap();
        }
        let took = began.elapsed();
        assert!(
            took >= Duration::from_millis(7900) && took < Duration::from_millis(8500),
            "20 requests, 4 of them at once: {took:?}"
        );
        one.on_rate_limited(Some(Duration::from_secs(3))).await;
        acquire(&other, &RequestHandle::new(Priority::Interactive))
            .await
            .unwrap();
        assert!(
            began.elapsed() >= took + Duration::from_secs(3),
            "{:?}",
            began.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn clock_that_stands_still_stops_no_request() {
        let folder = tempfile::tempdir().unwrap();
        let gate = RateLimiter::new(
            Rate::default(),
            Some(folder.path().join("rate")),
            Arc::new(|| Timestamp::UNIX_EPOCH),
        );
        let began = Instant::now();
        for _ in 0..8 {
            acquire(&gate, &RequestHandle::new(Priority::Interactive))
                .await
                .unwrap();
        }
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_waited_if_it_can_be_and_counted() {
        let gate = RateLimiter::new(Rate::default(), None, crate::config::clock::system_clock());
        gate.on_rate_limited(Some(Duration::from_secs(90))).await;
        let person = RequestHandle::new(Priority::Interactive);
        let Err(Denied::PausedTooLong(wait)) = acquire(&gate, &person).await else {
            panic!("that is too long")
        };
        assert!(wait >= Duration::from_secs(90));
        let mut paused = Duration::ZERO;
        gate.acquire(&person, &mut paused, |_, _| true, |_| ())
            .await
            .unwrap();
        assert!(paused >= Duration::from_secs(90) && gate.budget().paused_for.is_zero());
    }
}
