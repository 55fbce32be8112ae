//! The priority and cancellation of a request, whether it is sent again after a
//! failure, and whether others follow.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::error::{ErrorKind, Result};

/// The priority of a request, the highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A user waits for the response.
    Interactive,
    /// New mail.
    Refresh,
    /// The current status of known mail.
    Recheck,
    /// Older mail, and other work that completes the archive.
    Backfill,
    /// Emails that the user may open next; sent only while the limit is unused.
    Prefetch,
}

impl Priority {
    /// Whether the request must leave a part of the rate limit to the team's sending.
    pub(crate) const fn is_background(self) -> bool {
        !matches!(self, Self::Interactive)
    }
}

/// The priority of one or more requests, and their cancellation. Clones share both.
#[derive(Debug, Clone)]
pub struct RequestHandle {
    priority: Priority,
    ignores_pause: bool,
    cancellation: CancellationToken,
}

impl From<Priority> for RequestHandle {
    fn from(priority: Priority) -> Self {
        Self::new(priority)
    }
}

impl RequestHandle {
    /// Creates a handle that is not cancelled.
    #[must_use]
    pub fn new(priority: Priority) -> Self {
        Self {
            priority,
            ignores_pause: false,
            cancellation: CancellationToken::new(),
        }
    }

    /// Sends the request once in spite of a pause, which a success ends.
    pub(crate) const fn ignoring_pause(mut self) -> Self {
        self.ignores_pause = true;
        self
    }

    pub(crate) const fn ignores_pause(&self) -> bool {
        self.ignores_pause
    }

    pub(crate) const fn priority(&self) -> Priority {
        self.priority
    }

    /// Cancels all requests that were not sent yet.
    /// A page that was requested is still received, since it has cost its request already; so is an
    /// email, unless it takes long.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    pub(crate) async fn cancelled(&self) {
        self.cancellation.cancelled().await;
    }
}

/// The pause when the service names none.
pub(super) const DEFAULT_PAUSE: Duration = Duration::from_secs(1);

/// How long one request is retried before it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts, the first one included.
    pub max_attempts: u32,
    /// Time for attempts and backoff; waits for the own rate limit do not count.
    pub total_timeout: Duration,
    /// Additional time for pauses that the service requests.
    pub max_server_pauses: Duration,
    /// The wait after the first failed attempt; each further one is twice as long.
    pub initial_backoff: Duration,
    /// How long a cancelled request for an email still waits for its response.
    /// The request is spent, so its response is worth a moment; but a service that hangs must not
    /// hold many of them.
    pub cancel_grace: Duration,
}

impl RetryPolicy {
    /// For a command that runs once.
    pub const ONE_SHOT: Self = Self {
        max_attempts: 4,
        total_timeout: Duration::from_secs(25),
        max_server_pauses: Duration::ZERO,
        initial_backoff: DEFAULT_PAUSE,
        cancel_grace: DEFAULT_PAUSE,
    };
    /// For the terminal UI, which shows errors at once and repeats requests by itself.
    pub(crate) const TUI: Self = Self {
        max_attempts: 2,
        ..Self::ONE_SHOT
    };
    /// For commands that keep running and can wait as long as the service requests.
    pub(crate) const LONG_RUNNING: Self = Self {
        max_attempts: 8,
        total_timeout: Duration::from_secs(27),
        max_server_pauses: Duration::from_mins(5),
        ..Self::ONE_SHOT
    };

    /// Returns the policy with four times the attempts, and longer pauses.
    pub(super) const fn for_long_work(self) -> Self {
        Self {
            max_attempts: self.max_attempts * 4,
            max_server_pauses: Self::LONG_RUNNING.max_server_pauses,
            ..self
        }
    }

    /// Returns how much of the total time is left.
    pub(super) fn remaining(&self, elapsed: Elapsed) -> Duration {
        let excess = elapsed.paused.saturating_sub(self.max_server_pauses);
        self.total_timeout
            .saturating_sub(elapsed.active.saturating_add(excess))
    }

    /// Whether time is left after a `wait` for `action`.
    pub(super) fn may_wait(&self, elapsed: Elapsed, action: RetryAction, wait: Duration) -> bool {
        !self.remaining(elapsed.plus_wait(action, wait)).is_zero()
    }

    /// Returns the wait before the next attempt, or `None` to give up.
    ///
    /// `jitter`, a number from 0 to 1, keeps programs that failed together from retrying together.
    pub(super) fn backoff(
        &self,
        attempts: u32,
        elapsed: Elapsed,
        action: RetryAction,
        jitter: f64,
    ) -> Option<Duration> {
        let wait = match action {
            RetryAction::Never => return None,
            RetryAction::Backoff => {
                let factor = 1_u32 << attempts.saturating_sub(1).min(6);
                self.initial_backoff
                    .mul_f64(f64::from(factor) * (0.75 + jitter / 2.0))
            }
            RetryAction::After(wait) => wait,
        };
        (attempts < self.max_attempts && self.may_wait(elapsed, action, wait)).then_some(wait)
    }
}

/// The time that a request has taken so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Elapsed {
    /// Attempts, and backoff between them.
    pub(super) active: Duration,
    /// Pauses that the service requested.
    pub(super) paused: Duration,
}

impl Elapsed {
    /// Adds a wait before the next attempt.
    pub(super) const fn plus_wait(mut self, action: RetryAction, wait: Duration) -> Self {
        match action {
            RetryAction::After(_) => self.paused = self.paused.saturating_add(wait),
            RetryAction::Backoff | RetryAction::Never => {
                self.active = self.active.saturating_add(wait);
            }
        }
        self
    }
}

/// The retry that a failed attempt allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryAction {
    /// Another attempt would fail as well.
    Never,
    /// Another attempt may succeed.
    Backoff,
    /// Another attempt may succeed after the time that the service named.
    After(Duration),
}

/// Most invalid responses in a row; more are the fault of the service.
const MAX_INVALID_IN_A_ROW: u32 = 4;

/// The invalid responses to requests for one email each.
///
/// Distinguishes single emails that the service cannot send from a service that sends none, such as
/// a log-in page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InvalidResponses {
    /// The number of emails that were skipped for them.
    pub(crate) count: u64,
    in_a_row: u32,
}

impl InvalidResponses {
    /// Records a response; one that failed after several attempts counts as so many.
    /// Returns whether to go on with the next email: an error may concern this one only.
    pub(crate) fn record<T>(&mut self, response: &Result<T>) -> bool {
        match response.as_ref().map_err(|error| error.kind) {
            Ok(_) => self.in_a_row = 0,
            Err(ErrorKind::NotFound | ErrorKind::NoSuchPart) => {}
            Err(ErrorKind::NotTheApi | ErrorKind::InvalidRequest)
                if self.in_a_row < MAX_INVALID_IN_A_ROW =>
            {
                self.count += 1;
                let details = response
                    .as_ref()
                    .err()
                    .and_then(|error| error.details.as_ref());
                self.in_a_row += details.map_or(1, |details| details.attempts.max(1));
            }
            Err(_) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    const S: fn(f64) -> Duration = Duration::from_secs_f64;

    #[test]
    fn silent_service_fails_within_thirty_seconds() {
        for policy in [
            RetryPolicy::ONE_SHOT,
            RetryPolicy::TUI,
            RetryPolicy::LONG_RUNNING,
        ] {
            let (mut elapsed, mut attempts) = (Elapsed::default(), 0);
            loop {
                attempts += 1;
                elapsed.active += S(10.0).min(policy.remaining(elapsed));
                let Some(wait) = policy.backoff(attempts, elapsed, RetryAction::Backoff, 1.0)
                else {
                    break;
                };
                elapsed.active += wait;
            }
            assert!(elapsed.active < S(30.0), "{policy:?}: {elapsed:?}");
        }
    }

    #[test]
    fn repeated_attempts_end_a_series_of_emails_soon() {
        let error = |attempts| {
            let details = crate::error::RequestDetails {
                attempts,
                ..Default::default()
            };
            Err::<(), _>(Error::new(ErrorKind::NotTheApi, "broken").with_details(details))
        };
        let mut invalid = InvalidResponses::default();
        assert!(invalid.record(&error(4)) && !invalid.record(&error(4)));
        let mut invalid = InvalidResponses::default();
        assert!((0..4).all(|_| invalid.record(&error(1))) && !invalid.record(&error(1)));
    }

    #[test]
    fn backoff_is_bounded_and_respects_retry_after() {
        let backoff = |policy: &RetryPolicy, attempts, [active, paused]: [f64; 2], action| {
            let elapsed = Elapsed {
                active: S(active),
                paused: S(paused),
            };
            policy.backoff(attempts, elapsed, action, 0.5)
        };
        let soon = |attempts, active| {
            let once = &RetryPolicy::ONE_SHOT;
            backoff(once, attempts, [active, 0.0], RetryAction::Backoff)
        };
        assert_eq!(
            [soon(1, 0.0), soon(2, 0.0), soon(3, 0.0), soon(4, 0.0)],
            [Some(S(1.0)), Some(S(2.0)), Some(S(4.0)), None]
        );
        assert_eq!(soon(1, 24.5), None);
        let after = |policy: &RetryPolicy, paused, wait| {
            backoff(policy, 1, [10.0, paused], RetryAction::After(S(wait)))
        };
        let (once, long) = (RetryPolicy::ONE_SHOT, RetryPolicy::LONG_RUNNING);
        assert_eq!(after(&once, 0.0, 7.0), Some(S(7.0)));
        assert_eq!(after(&once, 10.0, 7.0), None);
        assert_eq!(after(&long, 200.0, 100.0), Some(S(100.0)));
        assert_eq!(after(&long, 0.0, 86400.0), None);
        assert_eq!(backoff(&long, 1, [0.0, 0.0], RetryAction::Never), None);
    }
}
