//! `Patience`: how long one request is pursued, and whether it is made again.

use std::time::Duration;

/// A pause when the service names none.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// How long one request is pursued before it is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How often it is sent at most.
    pub tries: u32,
    /// How long it may take, waiting for its own rate not counted.
    pub total: Duration,
    /// How much longer it may take for pauses that the service asks for.
    pub pauses: Duration,
    /// How long the first pause after a failure is; each further one is twice as long.
    pub pause: Duration,
    /// How long an email that was asked for is still awaited when nobody wants it any more. The request is
    /// spent, so that its answer is worth a moment; but a service that hangs is not to hold many of them.
    pub unwanted: Duration,
}

impl Patience {
    /// For a command that is not meant to run on.
    pub const ONE_SHOT: Self = Self {
        tries: 4,
        total: Duration::from_secs(25),
        pauses: Duration::ZERO,
        pause: PAUSE,
        unwanted: PAUSE,
    };
    /// For the terminal program, which says at once what is wrong and asks again by itself.
    pub const SCREEN: Self = Self {
        tries: 2,
        ..Self::ONE_SHOT
    };
    /// For what runs on and waits as it is told.
    pub const STEADY: Self = Self {
        tries: 8,
        total: Duration::from_secs(27),
        pauses: Duration::from_mins(5),
        ..Self::ONE_SHOT
    };

    /// How much of the total time is left after `spent`.
    pub(in crate::api) fn left(&self, spent: Spent) -> Duration {
        self.total.saturating_sub(
            spent
                .working
                .saturating_add(spent.paused.saturating_sub(self.pauses)),
        )
    }
}

/// What a request has taken so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::api) struct Spent {
    /// Trying, and pauses of our own between tries.
    pub(in crate::api) working: Duration,
    /// Pauses that the service asked for.
    pub(in crate::api) paused: Duration,
}

/// What a failed try calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::api) enum Retry {
    /// The same would happen again.
    Never,
    /// It may pass.
    Soon,
    /// The service named the time.
    After(Duration),
}

/// How long to wait before the next try, or `None` to give up. `jitter` is a number from 0 to 1 that
/// keeps programs that failed together from trying again together.
pub(in crate::api) fn again(
    patience: &Patience,
    tries: u32,
    spent: Spent,
    retry: Retry,
    jitter: f64,
) -> Option<Duration> {
    let (wait, then) = match retry {
        Retry::Never => return None,
        Retry::Soon => {
            let wait = patience.pause.mul_f64(
                f64::from(1_u32 << tries.saturating_sub(1).min(6)) * (0.75 + jitter / 2.0),
            );
            (
                wait,
                Spent {
                    working: spent.working.saturating_add(wait),
                    ..spent
                },
            )
        }
        Retry::After(wait) => (
            wait,
            Spent {
                paused: spent.paused.saturating_add(wait),
                ..spent
            },
        ),
    };
    (tries < patience.tries && !patience.left(then).is_zero()).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(f64) -> Duration = Duration::from_secs_f64;

    #[test]
    fn silent_service_is_given_up_within_thirty_seconds() {
        for patience in [Patience::ONE_SHOT, Patience::SCREEN, Patience::STEADY] {
            let (mut spent, mut tries) = (Spent::default(), 0);
            loop {
                tries += 1;
                spent.working += S(10.0).min(patience.left(spent));
                let Some(wait) = again(&patience, tries, spent, Retry::Soon, 1.0) else {
                    break;
                };
                spent.working += wait;
            }
            assert!(spent.working < S(30.0), "{patience:?}: {spent:?}");
        }
    }

    #[test]
    fn tries_and_time_are_bounded_and_a_named_wait_is_kept() {
        let spent = |working: f64, paused: f64| Spent {
            working: S(working),
            paused: S(paused),
        };
        let soon = |tries, working| {
            again(
                &Patience::ONE_SHOT,
                tries,
                spent(working, 0.0),
                Retry::Soon,
                0.5,
            )
        };
        assert_eq!(
            [soon(1, 0.0), soon(2, 0.0), soon(3, 0.0), soon(4, 0.0)],
            [Some(S(1.0)), Some(S(2.0)), Some(S(4.0)), None]
        );
        assert_eq!(soon(1, 24.5), None);
        let after = |patience: &Patience, paused, wait| {
            again(patience, 1, spent(10.0, paused), Retry::After(S(wait)), 0.5)
        };
        assert_eq!(after(&Patience::ONE_SHOT, 0.0, 7.0), Some(S(7.0)));
        assert_eq!(after(&Patience::ONE_SHOT, 10.0, 7.0), None);
        assert_eq!(after(&Patience::STEADY, 200.0, 100.0), Some(S(100.0)));
        assert_eq!(after(&Patience::STEADY, 0.0, 86400.0), None);
        assert_eq!(
            again(&Patience::STEADY, 1, Spent::default(), Retry::Never, 0.5),
            None
        );
    }
}
