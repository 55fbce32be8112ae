//! `Patience`: how long one request is pursued, and whether it is made again.

use std::time::Duration;

/// A pause when the service names none.
pub(super) const DEFAULT_PAUSE: Duration = Duration::from_secs(1);

/// How long one request is pursued before it is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often it is sent at most.
    pub max_attempts: u32,
    /// How long it may take, waiting for its own rate not counted.
    pub total_timeout: Duration,
    /// How much longer it may take for pauses that the service asks for.
    pub max_server_pauses: Duration,
    /// How long the first pause after a failure is; each further one is twice as long.
    pub initial_backoff: Duration,
    /// How long an email that was asked for is still awaited when nobody wants it any more. The request is
    /// spent, so that its answer is worth a moment; but a service that hangs is not to hold many of them.
    pub cancel_grace: Duration,
}

impl RetryPolicy {
    /// For a command that is not meant to run on.
    pub const ONE_SHOT: Self = Self {
        max_attempts: 4,
        total_timeout: Duration::from_secs(25),
        max_server_pauses: Duration::ZERO,
        initial_backoff: DEFAULT_PAUSE,
        cancel_grace: DEFAULT_PAUSE,
    };
    /// For the terminal program, which says at once what is wrong and asks again by itself.
    pub(crate) const TUI: Self = Self {
        max_attempts: 2,
        ..Self::ONE_SHOT
    };
    /// For what runs on and waits as it is told.
    pub(crate) const LONG_RUNNING: Self = Self {
        max_attempts: 8,
        total_timeout: Duration::from_secs(27),
        max_server_pauses: Duration::from_mins(5),
        ..Self::ONE_SHOT
    };

    /// How much of the total time is left after `spent`.
    pub(in crate::api) fn remaining(&self, spent: Elapsed) -> Duration {
        self.total_timeout.saturating_sub(
            spent
                .active
                .saturating_add(spent.paused.saturating_sub(self.max_server_pauses)),
        )
    }
}

/// What a request has taken so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::api) struct Elapsed {
    /// Trying, and pauses of our own between tries.
    pub(in crate::api) active: Duration,
    /// Pauses that the service asked for.
    pub(in crate::api) paused: Duration,
}

/// What a failed try calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::api) enum RetryAction {
    /// The same would happen again.
    Never,
    /// It may pass.
    Backoff,
    /// The service named the time.
    After(Duration),
}

/// How long to wait before the next try, or `None` to give up. `jitter` is a number from 0 to 1 that
/// keeps programs that failed together from trying again together.
pub(in crate::api) fn backoff(
    patience: &RetryPolicy,
    tries: u32,
    spent: Elapsed,
    retry: RetryAction,
    jitter: f64,
) -> Option<Duration> {
    let (wait, then) = match retry {
        RetryAction::Never => return None,
        RetryAction::Backoff => {
            let wait = patience.initial_backoff.mul_f64(
                f64::from(1_u32 << tries.saturating_sub(1).min(6)) * (0.75 + jitter / 2.0),
            );
            (
                wait,
                Elapsed {
                    active: spent.active.saturating_add(wait),
                    ..spent
                },
            )
        }
        RetryAction::After(wait) => (
            wait,
            Elapsed {
                paused: spent.paused.saturating_add(wait),
                ..spent
            },
        ),
    };
    (tries < patience.max_attempts && !patience.remaining(then).is_zero()).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(f64) -> Duration = Duration::from_secs_f64;

    #[test]
    fn silent_service_is_given_up_within_thirty_seconds() {
        for patience in [
            RetryPolicy::ONE_SHOT,
            RetryPolicy::TUI,
            RetryPolicy::LONG_RUNNING,
        ] {
            let (mut spent, mut tries) = (Elapsed::default(), 0);
            loop {
                tries += 1;
                spent.active += S(10.0).min(patience.remaining(spent));
                let Some(wait) = backoff(&patience, tries, spent, RetryAction::Backoff, 1.0) else {
                    break;
                };
                spent.active += wait;
            }
            assert!(spent.active < S(30.0), "{patience:?}: {spent:?}");
        }
    }

    #[test]
    fn tries_and_time_are_bounded_and_a_named_wait_is_kept() {
        let spent = |working: f64, paused: f64| Elapsed {
            active: S(working),
            paused: S(paused),
        };
        let soon = |tries, working| {
            backoff(
                &RetryPolicy::ONE_SHOT,
                tries,
                spent(working, 0.0),
                RetryAction::Backoff,
                0.5,
            )
        };
        assert_eq!(
            [soon(1, 0.0), soon(2, 0.0), soon(3, 0.0), soon(4, 0.0)],
            [Some(S(1.0)), Some(S(2.0)), Some(S(4.0)), None]
        );
        assert_eq!(soon(1, 24.5), None);
        let after = |patience: &RetryPolicy, paused, wait| {
            backoff(
                patience,
                1,
                spent(10.0, paused),
                RetryAction::After(S(wait)),
                0.5,
            )
        };
        assert_eq!(after(&RetryPolicy::ONE_SHOT, 0.0, 7.0), Some(S(7.0)));
        assert_eq!(after(&RetryPolicy::ONE_SHOT, 10.0, 7.0), None);
        assert_eq!(
            after(&RetryPolicy::LONG_RUNNING, 200.0, 100.0),
            Some(S(100.0))
        );
        assert_eq!(after(&RetryPolicy::LONG_RUNNING, 0.0, 86400.0), None);
        assert_eq!(
            backoff(
                &RetryPolicy::LONG_RUNNING,
                1,
                Elapsed::default(),
                RetryAction::Never,
                0.5
            ),
            None
        );
    }
}
