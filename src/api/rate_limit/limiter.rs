//! The queue in which requests wait until [`LimiterState`] allows them.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tracing::{info, trace};

use super::{
    Decision, LimitHeaders, LimiterState, QueuePosition, RateBudget, RecordedPause, SharedBucket,
    TokenDemand,
};
use crate::api::request::{
    DEFAULT_PAUSE, Elapsed, Priority, RequestHandle, RetryAction, RetryPolicy,
};
use crate::config::Rate;
use crate::config::clock::Clock;
use crate::tasks::{self, lock};

/// A longer pause is looked up in the shared file again before each request:
/// another process may have ended it.
const LONG_PAUSE: Duration = Duration::from_mins(1);

/// Why a request was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// It was cancelled, or is a prefetch while others use the limit.
    Abandoned,
    /// The service requested a longer pause than the retry policy allows.
    PausedTooLong(Duration),
}

/// The rate limiter that all tasks of the process share.
pub(crate) struct RateLimiter {
    state: Mutex<LimiterState>,
    /// Notifies waiting requests when the queue or the budget has changed.
    changed: Notify,
    started_at: Instant,
    /// The bucket of all processes of this profile, if the archive is on disk.
    shared: Option<(SharedBucket, Clock)>,
    /// When the shared bucket last made a request wait, by its clock.
    last_shared_wait: Mutex<Option<Timestamp>>,
}

impl RateLimiter {
    /// Creates a limiter that shares `rate` with all that have the same `file`.
    pub(crate) fn new(rate: Rate, file: Option<PathBuf>, clock: Clock) -> Self {
        Self {
            state: Mutex::new(LimiterState::new(rate)),
            changed: Notify::new(),
            started_at: Instant::now(),
            shared: file.map(|file| (SharedBucket::new(file), clock)),
            last_shared_wait: Mutex::default(),
        }
    }

    /// Waits in the queue for a token.
    /// Dropping the future leaves the queue and sends nothing.
    ///
    /// `elapsed` counts pauses that the service requested, as far as `policy` allows them;
    /// `on_wait` receives the length of each wait.
    pub(crate) async fn acquire(
        &self,
        request: &RequestHandle,
        policy: &RetryPolicy,
        elapsed: &mut Elapsed,
        on_wait: impl Fn(Duration),
    ) -> Result<(), Denied> {
        let queued = self.enqueue(request.priority());
        let mut is_logged = false;
        loop {
            // Enabled before the check, so that no change between check and wait is missed.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if request.is_cancelled() {
                return Err(Denied::Abandoned);
            }
            let (wait, is_pause) = match self.try_acquire(queued.position, request).await {
                Decision::Allowed => return Ok(()),
                Decision::Contended => return Err(Denied::Abandoned),
                Decision::NotFirst => (Duration::MAX, false),
                Decision::Wait(wait)
                    if policy.max_server_pauses.is_zero()
                        && wait > policy.total_timeout
                        && self.with_state(|state, _| state.is_below_configured_rate()) =>
                {
                    return Err(Denied::PausedTooLong(wait));
                }
                Decision::Wait(wait) => (wait, false),
                Decision::Paused(wait)
                    if policy.may_wait(*elapsed, RetryAction::After(wait), wait) =>
                {
                    (wait, true)
                }
                Decision::Paused(wait) => return Err(Denied::PausedTooLong(wait)),
            };
            if is_pause && !std::mem::replace(&mut is_logged, true) {
                info!(?wait, "paused by the service");
            }
            trace!(?wait, priority = ?request.priority(), "waiting for the rate limit");
            if wait < Duration::MAX {
                on_wait(wait);
            }
            let started = Instant::now();
            tokio::select! {
                () = request.cancelled() => {}
                () = changed => {}
                () = sleep(wait) => {}
            }
            if is_pause {
                elapsed.paused += started.elapsed();
            }
        }
    }

    /// Takes a token for the request from both buckets if both have one.
    async fn try_acquire(&self, position: QueuePosition, request: &RequestHandle) -> Decision {
        let decision = self.with_state(|state, now| state.check(now, position));
        // Another process may have ended a long pause for all.
        if matches!(decision, Decision::Paused(wait) if wait > LONG_PAUSE)
            && self.with_shared(SharedBucket::is_paused).await == Some(false)
        {
            self.with_state(LimiterState::lift_pause);
        }
        let decision = self.with_state(|state, now| {
            let decision = match state.check(now, position) {
                Decision::Paused(_) if request.ignores_pause() => {
                    state.check_unpaused(now, position)
                }
                decision => decision,
            };
            if decision == Decision::Allowed && self.shared.is_none() {
                state.record_send(now, position, fastrand::f64());
            }
            decision
        });
        if decision != Decision::Allowed || self.shared.is_none() {
            return decision;
        }
        let demand = TokenDemand {
            ignores_pause: request.ignores_pause(),
            ..self.with_state(|state, _| state.token_demand(position.priority))
        };
        let take = move |bucket: &SharedBucket, at| Some((bucket.try_take(at, demand)?, at));
        // Without the file this process has only its own bucket.
        let decision = match self.with_shared(take).await {
            Some((Decision::Allowed, _)) | None => Decision::Allowed,
            Some((_, at)) if !self.clock_advanced(at) => Decision::Allowed,
            Some((refused, _)) => refused,
        };
        self.with_state(|state, now| match decision {
            Decision::Allowed => state.record_send(now, position, fastrand::f64()),
            Decision::Paused(wait) => state.pause(now, wait),
            Decision::Wait(_) | Decision::NotFirst | Decision::Contended => {}
        });
        decision
    }

    /// Whether the clock has advanced since the shared bucket last made a request wait.
    /// A clock that does not advance adds no tokens.
    fn clock_advanced(&self, at: Timestamp) -> bool {
        let before = lock(&self.last_shared_wait).replace(at);
        before.is_none_or(|before| at > before)
    }

    /// Goes on faster after a response of a mirror, unless the user chose a rate.
    pub(crate) fn on_mirror_response(&self) {
        self.with_state(|state, _| state.rate_to_mirror());
        self.changed.notify_waiters();
    }

    pub(crate) fn update_limits(&self, limits: LimitHeaders) {
        self.with_state(|state, now| state.update_limits(now, limits, fastrand::f64()));
        self.changed.notify_waiters();
    }

    /// Pauses all requests after a 429 for `wait`, if the service named it.
    pub(crate) async fn on_rate_limited(&self, wait: Option<Duration>) {
        // The file first: a process whose pause is not in the file takes it for ended.
        // If the file cannot be written, this process still pauses.
        let pause = wait.unwrap_or(DEFAULT_PAUSE);
        let _ = self
            .with_shared(move |bucket, now| bucket.pause(now, pause))
            .await;
        self.with_state(|state, now| state.on_rate_limited(now, wait, fastrand::f64()));
        self.changed.notify_waiters();
    }

    /// Ends all pauses: the service has answered a request within them.
    pub(crate) async fn lift_pause(&self) {
        self.with_state(LimiterState::lift_pause);
        self.changed.notify_waiters();
        // If the file cannot be written, the other processes still pause.
        let _ = self.with_shared(SharedBucket::lift_pause).await;
    }

    /// Returns the pause that the processes of this profile have recorded.
    pub(crate) async fn recorded_pause(&self) -> Option<RecordedPause> {
        self.with_shared(SharedBucket::recorded_pause).await
    }

    /// Uses the shared bucket at the present time; `None` without a usable file.
    ///
    /// On a blocking thread: a disk may be slow.
    async fn with_shared<T: Send + 'static>(
        &self,
        apply: impl FnOnce(&SharedBucket, Timestamp) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let (bucket, clock) = self.shared.clone()?;
        tasks::run_blocking(move || apply(&bucket, clock())).await
    }

    pub(crate) fn budget(&self) -> RateBudget {
        self.with_state(|state, now| state.budget(now))
    }

    fn enqueue(&self, priority: Priority) -> QueueGuard<'_> {
        QueueGuard {
            position: self.with_state(|state, _| state.enqueue(priority)),
            limiter: self,
        }
    }

    fn with_state<T>(&self, apply: impl FnOnce(&mut LimiterState, Duration) -> T) -> T {
        apply(&mut lock(&self.state), self.started_at.elapsed())
    }
}

/// A position in the queue, which ends with an abandoned request.
struct QueueGuard<'a> {
    position: QueuePosition,
    limiter: &'a RateLimiter,
}

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        self.limiter
            .with_state(|state, _| state.dequeue(self.position));
        self.limiter.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::task::{JoinSet, yield_now};

    use super::*;

    async fn acquire(limiter: &RateLimiter, request: &RequestHandle) -> Result<(), Denied> {
        let policy = RetryPolicy {
            max_server_pauses: Duration::from_secs(35),
            ..RetryPolicy::ONE_SHOT
        };
        limiter
            .acquire(request, &policy, &mut Elapsed::default(), |_| ())
            .await
    }

    async fn acquire_interactive(limiter: &RateLimiter) {
        acquire(limiter, &request(Priority::Interactive))
            .await
            .unwrap();
    }

    /// Creates a limiter of this process alone.
    fn limiter() -> RateLimiter {
        RateLimiter::new(Rate::default(), None, crate::config::clock::system_clock())
    }

    fn request(priority: Priority) -> RequestHandle {
        RequestHandle::new(priority)
    }

    /// Creates a limiter whose tokens are used up.
    async fn exhausted_limiter() -> Arc<RateLimiter> {
        let limiter = limiter();
        for _ in 0..4 {
            acquire_interactive(&limiter).await;
        }
        Arc::new(limiter)
    }

    fn spawn_acquire(
        limiter: &Arc<RateLimiter>,
        tasks: &mut JoinSet<&'static str>,
        name: &'static str,
        request: &RequestHandle,
    ) {
        let (limiter, request) = (Arc::clone(limiter), request.clone());
        tasks.spawn(async move {
            if acquire(&limiter, &request).await.is_ok() {
                name
            } else {
                "denied"
            }
        });
    }

    #[tokio::test(start_paused = true)]
    async fn higher_priority_goes_first() {
        let (limiter, mut tasks) = (exhausted_limiter().await, JoinSet::new());
        for (name, priority) in [
            ("older mail", Priority::Backfill),
            ("new mail", Priority::Refresh),
            ("an email", Priority::Interactive),
        ] {
            spawn_acquire(&limiter, &mut tasks, name, &request(priority));
            yield_now().await;
        }
        for name in ["an email", "new mail", "older mail"] {
            assert_eq!(tasks.join_next().await.unwrap().unwrap(), name);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn command_is_denied_when_limit_lasts_hours() {
        let limiter = limiter();
        limiter.update_limits(LimitHeaders {
            limit: Some(1),
            window: Some(Duration::from_hours(1)),
            remaining: Some(1),
            reset: Some(Duration::from_hours(1)),
        });
        let mut results = Vec::new();
        for _ in 0..2 {
            let request = request(Priority::Interactive);
            let elapsed = &mut Elapsed::default();
            let policy = RetryPolicy::ONE_SHOT;
            results.push(limiter.acquire(&request, &policy, elapsed, |_| ()).await);
        }
        assert!(
            matches!(results[1], Err(Denied::PausedTooLong(_))),
            "{results:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn cancelled_request_takes_no_token() {
        let (limiter, mut tasks) = (exhausted_limiter().await, JoinSet::new());
        let started = Instant::now();
        let cancelled = request(Priority::Interactive);
        spawn_acquire(&limiter, &mut tasks, "cancelled", &cancelled);
        let dropped = request(Priority::Interactive);
        let dropped =
            tokio::time::timeout(Duration::from_millis(10), acquire(&limiter, &dropped)).await;
        assert!(dropped.is_err(), "it waits for a token");
        cancelled.cancel();
        assert_eq!(tasks.join_next().await.unwrap().unwrap(), "denied");
        acquire_interactive(&limiter).await;
        assert!(
            started.elapsed() < Duration::from_millis(510),
            "the next token is for the remaining request: {:?}",
            started.elapsed()
        );
        assert_eq!(
            acquire(&limiter, &cancelled).await,
            Err(Denied::Abandoned),
            "it stays cancelled"
        );
    }

    fn start() -> Timestamp {
        Timestamp::from_second(1_790_000_000).unwrap()
    }

    /// Creates two limiters with one file and a clock that starts at `start`.
    fn shared_limiters() -> (tempfile::TempDir, RateLimiter, RateLimiter) {
        let folder = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let clock: Clock = Arc::new(move || start() + started.elapsed());
        let limiter = || {
            let file = folder.path().join("rate");
            RateLimiter::new(Rate::default(), Some(file), clock.clone())
        };
        let (one, other) = (limiter(), limiter());
        (folder, one, other)
    }

    #[tokio::test(start_paused = true)]
    async fn two_limiters_with_one_file_share_the_rate() {
        let (_folder, one, other) = shared_limiters();
        let started = Instant::now();
        for _ in 0..10 {
            acquire_interactive(&one).await;
            acquire_interactive(&other).await;
        }
        let took = started.elapsed();
        assert!(
            took >= Duration::from_millis(7900) && took < Duration::from_millis(8500),
            "20 requests, 4 of them at once: {took:?}"
        );
        one.on_rate_limited(Some(Duration::from_secs(3))).await;
        // A shorter pause does not replace it.
        one.on_rate_limited(Some(Duration::from_secs(1))).await;
        acquire_interactive(&other).await;
        assert!(
            started.elapsed() >= took + Duration::from_secs(3),
            "{:?}",
            started.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn lifted_pause_ends_for_all_limiters() {
        let (_folder, one, other) = shared_limiters();
        one.on_rate_limited(Some(Duration::from_hours(24))).await;
        tokio::time::advance(Duration::from_secs(10)).await;
        let normal = request(Priority::Interactive);
        for limiter in [&one, &other] {
            assert!(acquire(limiter, &normal).await.is_err(), "it pauses");
            let pause = limiter.recorded_pause().await.unwrap();
            assert_eq!(pause.from, start());
            assert_eq!(pause.until.duration_since(start()).as_hours(), 24);
        }
        let once = request(Priority::Interactive).ignoring_pause();
        assert_eq!(acquire(&one, &once).await, Ok(()));
        assert!(acquire(&one, &normal).await.is_err(), "the pause goes on");
        one.lift_pause().await;
        for limiter in [&one, &other] {
            assert_eq!(acquire(limiter, &normal).await, Ok(()));
            assert!(limiter.budget().paused_for.is_zero());
            assert_eq!(limiter.recorded_pause().await, None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn stopped_clock_blocks_no_request() {
        let folder = tempfile::tempdir().unwrap();
        let limiter = RateLimiter::new(
            Rate::default(),
            Some(folder.path().join("rate")),
            Arc::new(|| Timestamp::UNIX_EPOCH),
        );
        let started = Instant::now();
        for _ in 0..8 {
            acquire_interactive(&limiter).await;
        }
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "{:?}",
            started.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn pause_is_waited_if_allowed_and_counted() {
        let limiter = limiter();
        limiter.on_rate_limited(Some(Duration::from_secs(90))).await;
        let interactive = request(Priority::Interactive);
        let Err(Denied::PausedTooLong(wait)) = acquire(&limiter, &interactive).await else {
            panic!("the pause is too long")
        };
        assert!(wait >= Duration::from_secs(90));
        let patient = RetryPolicy {
            max_server_pauses: Duration::from_hours(1),
            ..RetryPolicy::ONE_SHOT
        };
        let mut elapsed = Elapsed::default();
        limiter
            .acquire(&interactive, &patient, &mut elapsed, |_| ())
            .await
            .unwrap();
        assert!(elapsed.paused >= Duration::from_secs(90) && limiter.budget().paused_for.is_zero());
    }
}
