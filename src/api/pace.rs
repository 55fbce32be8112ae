//! When a request may go out, and whether it is made again: decided here, without doing anything.
//!
//! The service's limit is the team's, shared with the mail it is sending, so sentbox keeps to a
//! rate of its own, shrinks with what the service says is left, and falls silent when told to.
//! Times are durations since the client began, so that a decision is a function of numbers.

use std::time::Duration;

use crate::config::Rate;

/// Who waits for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// A person; such requests go first.
    Person,
    /// Nobody; such requests leave a token for the person and yield to the team's sending.
    Background,
}

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
}

impl Patience {
    /// For a command that is not meant to run on.
    pub const ONE_SHOT: Self = Self { tries: 4, total: Duration::from_secs(25), pauses: Duration::ZERO, pause: PAUSE };
    /// For the terminal program, which says at once what is wrong and asks again by itself.
    pub const SCREEN: Self = Self { tries: 2, ..Self::ONE_SHOT };
    /// For what runs on and waits as it is told.
    pub const STEADY: Self = Self { tries: 8, total: Duration::from_secs(35), pauses: Duration::from_mins(5), pause: PAUSE };

    /// How much of the total time is left after `spent`.
    pub(super) fn left(&self, spent: Spent) -> Duration {
        self.total.saturating_sub(spent.working.saturating_add(spent.paused.saturating_sub(self.pauses)))
    }
}

/// What a request has taken so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// Trying, and pauses of our own between tries.
    pub(super) working: Duration,
    /// Pauses that the service asked for.
    pub(super) paused: Duration,
}

/// The rate budget as a status line shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Requests a second that sentbox allows itself at the moment.
    pub rate: f64,
    /// Requests that the service allows the team in its window, as it last said.
    pub limit: Option<u32>,
    /// How many of them were left, as it last said; `None` once that window is over.
    pub remaining: Option<u32>,
    /// How long all requests still pause because the service said so; zero if they do not.
    pub paused_for: Duration,
}

/// What the headers of an answer say about the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// `ratelimit-limit`.
    pub(super) limit: Option<u32>,
    /// The window of `ratelimit-policy`.
    pub(super) window: Option<Duration>,
    /// `ratelimit-remaining`.
    pub(super) remaining: Option<u32>,
    /// `ratelimit-reset`.
    pub(super) reset: Option<Duration>,
}

/// The answer to "may I send now?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Yes; the token is taken.
    Go,
    /// Ask again after this time: the rate of our own allows no more.
    Later(Duration),
    /// Ask again after this time: the service told us to be silent.
    Paused(Duration),
}

/// What a failed try calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// The same would happen again.
    Never,
    /// It may pass.
    Soon,
    /// The service named the time.
    After(Duration),
}

/// So many requests may follow each other at once: the start, and opening an email, are immediate.
const BURST: f64 = 4.0;
/// Background requests leave this much for a person.
const RESERVE: f64 = 1.0;
/// How long background work stays silent after the service has refused a request for its rate.
const SILENCE: Duration = Duration::from_secs(5);
/// A pause when the service names none.
const PAUSE: Duration = Duration::from_secs(1);

/// The budget of requests that all tasks of the process share.
#[derive(Debug)]
pub(super) struct Pace {
    rate: Rate,
    tokens: f64,
    counted_at: Duration,
    limits: Limits,
    limits_until: Duration,
    paused_until: Duration,
    silent_until: Duration,
}

impl Pace {
    pub(super) const fn new(rate: Rate) -> Self {
        let zero = Duration::ZERO;
        let limits = Limits { limit: None, window: None, remaining: None, reset: None };
        Self { rate, tokens: BURST, counted_at: zero, limits, limits_until: zero, paused_until: zero, silent_until: zero }
    }

    /// Takes a token if there is one for that urgency.
    pub(super) fn ask(&mut self, now: Duration, urgency: Urgency) -> Turn {
        let paused = self.paused_until.saturating_sub(now);
        if !paused.is_zero() {
            return Turn::Paused(paused);
        }
        let needed = match urgency {
            Urgency::Person => 1.0,
            Urgency::Background => {
                let until = if self.is_scarce(now) { self.limits_until.max(self.silent_until) } else { self.silent_until };
                let silent = until.saturating_sub(now);
                if !silent.is_zero() {
                    return Turn::Later(silent);
                }
                (1.0 + RESERVE).min(self.burst())
            }
        };
        self.refill(now);
        if self.tokens >= needed {
            self.tokens -= 1.0;
            return Turn::Go;
        }
        let missing = Duration::from_secs_f64((needed - self.tokens) / self.speed());
        Turn::Later(missing.max(Duration::from_millis(1)))
    }

    /// Learns what an answer says about the limit.
    pub(super) fn learn(&mut self, now: Duration, limits: Limits) {
        self.refill(now);
        if limits.limit.is_some() || limits.remaining.is_some() {
            self.limits = limits;
            self.limits_until = now + limits.reset.or(limits.window).unwrap_or(PAUSE);
            self.tokens = self.tokens.min(self.burst());
        }
        if limits.remaining == Some(0) {
            self.paused_until = self.paused_until.max(self.limits_until);
        }
    }

    /// A request was refused for the rate; the service may have named a time to wait.
    pub(super) fn refuse(&mut self, now: Duration, wait: Option<Duration>) {
        self.refill(now);
        self.tokens = 0.0;
        self.paused_until = self.paused_until.max(now + wait.unwrap_or(PAUSE));
        self.silent_until = self.paused_until + SILENCE;
    }

    pub(super) fn budget(&self, now: Duration) -> Budget {
        Budget {
            rate: self.speed(),
            limit: self.limits.limit,
            remaining: self.limits.remaining.filter(|_| self.limits_until > now),
            paused_for: self.paused_until.saturating_sub(now),
        }
    }

    /// Requests a second: what was asked for, but never more than its share of the service's limit.
    fn speed(&self) -> f64 {
        let window = self.limits.window.filter(|window| !window.is_zero()).unwrap_or(PAUSE);
        self.share().map_or(self.rate.per_second, |share| self.rate.per_second.min(share / window.as_secs_f64()))
    }

    /// Requests that may follow each other at once: no more than our share of one window.
    fn burst(&self) -> f64 {
        self.share().map_or(BURST, |share| share.clamp(1.0, BURST))
    }

    /// The part of the service's limit that is ours, if it has stated one.
    fn share(&self) -> Option<f64> {
        self.limits.limit.filter(|limit| *limit > 0).map(|limit| f64::from(limit) * self.rate.share)
    }

    /// Whether the team's sending has used up more than half of the limit in the present window.
    fn is_scarce(&self, now: Duration) -> bool {
        match (self.limits.remaining, self.limits.limit) {
            (Some(remaining), Some(limit)) => self.limits_until > now && remaining < limit.div_ceil(2),
            _ => false,
        }
    }

    fn refill(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.counted_at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.speed()).min(self.burst());
        self.counted_at = self.counted_at.max(now);
    }
}

/// How long to wait before the next try, or `None` to give up. `jitter` is a number from 0 to 1 that
/// keeps programs that failed together from trying again together.
pub(super) fn again(patience: &Patience, tries: u32, spent: Spent, retry: Retry, jitter: f64) -> Option<Duration> {
    let (wait, then) = match retry {
        Retry::Never => return None,
        Retry::Soon => {
            let wait = patience.pause.mul_f64(f64::from(1_u32 << tries.saturating_sub(1).min(6)) * (0.75 + jitter / 2.0));
            (wait, Spent { working: spent.working.saturating_add(wait), ..spent })
        }
        Retry::After(wait) => (wait, Spent { paused: spent.paused.saturating_add(wait), ..spent }),
    };
    (tries < patience.tries && !patience.left(then).is_zero()).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: fn(f64) -> Duration = Duration::from_secs_f64;

    fn limits(limit: u32, remaining: u32, reset: f64) -> Limits {
        Limits { limit: Some(limit), window: Some(S(1.0)), remaining: Some(remaining), reset: Some(S(reset)) }
    }

    #[test]
    fn a_burst_goes_at_once_and_then_the_rate_holds() {
        let mut pace = Pace::new(Rate::default());
        for _ in 0..4 {
            assert_eq!(pace.ask(S(0.0), Urgency::Person), Turn::Go);
        }
        assert_eq!(pace.ask(S(0.0), Urgency::Person), Turn::Later(S(0.5)));
        assert_eq!(pace.ask(S(0.5), Urgency::Person), Turn::Go);
    }

    #[test]
    fn background_leaves_a_token_for_the_person() {
        let mut pace = Pace::new(Rate::default());
        while pace.ask(S(0.0), Urgency::Background) == Turn::Go {}
        assert_eq!(pace.ask(S(0.0), Urgency::Person), Turn::Go);
    }

    #[test]
    fn the_rate_is_a_share_of_the_stated_limit() {
        let mut pace = Pace::new(Rate::default());
        pace.learn(S(0.0), limits(4, 4, 1.0));
        assert!((pace.budget(S(0.0)).rate - 1.0).abs() < 1e-9);
        let mut by_hand = Pace::new(Rate::by_hand(50.0).unwrap());
        by_hand.learn(S(0.0), limits(10, 10, 1.0));
        assert!((by_hand.budget(S(0.0)).rate - 9.0).abs() < 1e-9);
    }

    #[test]
    fn a_small_limit_makes_a_small_burst_and_background_still_gets_its_turn() {
        let mut pace = Pace::new(Rate::default());
        pace.learn(S(0.0), limits(2, 2, 1.0));
        assert_eq!(pace.ask(S(0.0), Urgency::Background), Turn::Go);
        assert_eq!(pace.ask(S(0.0), Urgency::Person), Turn::Later(S(2.0)));
    }

    #[test]
    fn background_yields_when_less_than_half_is_left_and_everybody_when_nothing_is() {
        let mut pace = Pace::new(Rate::default());
        pace.learn(S(0.0), limits(10, 4, 1.0));
        assert_eq!(pace.ask(S(0.2), Urgency::Background), Turn::Later(S(0.8)));
        assert_eq!(pace.ask(S(0.2), Urgency::Person), Turn::Go);
        assert_eq!(pace.ask(S(1.0), Urgency::Background), Turn::Go);
        pace.learn(S(1.0), limits(10, 0, 0.5));
        assert_eq!(pace.ask(S(1.25), Urgency::Person), Turn::Paused(S(0.25)));
    }

    #[test]
    fn a_refusal_silences_everybody_and_background_for_longer() {
        let mut pace = Pace::new(Rate::default());
        pace.refuse(S(0.0), Some(S(3.0)));
        assert_eq!(pace.ask(S(1.0), Urgency::Person), Turn::Paused(S(2.0)));
        assert_eq!(pace.budget(S(1.0)).paused_for, S(2.0));
        assert_eq!(pace.ask(S(3.0), Urgency::Person), Turn::Go);
        assert_eq!(pace.ask(S(3.0), Urgency::Background), Turn::Later(S(5.0)));
    }

    #[test]
    fn tries_and_time_are_bounded_and_a_named_wait_is_kept() {
        let spent = |working: f64, paused: f64| Spent { working: S(working), paused: S(paused) };
        let soon = |tries, working| again(&Patience::ONE_SHOT, tries, spent(working, 0.0), Retry::Soon, 0.5);
        assert_eq!([soon(1, 0.0), soon(2, 0.0), soon(3, 0.0), soon(4, 0.0)], [Some(S(1.0)), Some(S(2.0)), Some(S(4.0)), None]);
        assert_eq!(soon(1, 24.5), None);
        let after = |patience: &Patience, paused, wait| again(patience, 1, spent(10.0, paused), Retry::After(S(wait)), 0.5);
        assert_eq!(after(&Patience::ONE_SHOT, 0.0, 7.0), Some(S(7.0)));
        assert_eq!(after(&Patience::ONE_SHOT, 10.0, 7.0), None);
        assert_eq!(after(&Patience::STEADY, 200.0, 100.0), Some(S(100.0)));
        assert_eq!(after(&Patience::STEADY, 0.0, 86400.0), None);
        assert_eq!(again(&Patience::STEADY, 1, Spent::default(), Retry::Never, 0.5), None);
    }

    proptest! {
        /// Whatever is asked and learnt, no more goes out than the burst and the rate allow.
        #[test]
        fn never_more_than_the_rate(steps in prop::collection::vec((0_u64..2000, any::<bool>(), 0_u32..12), 1..200)) {
            let mut pace = Pace::new(Rate::default());
            let (mut now, mut sent) = (Duration::ZERO, 0_u32);
            for (millis, person, remaining) in steps {
                now += Duration::from_millis(millis);
                let urgency = if person { Urgency::Person } else { Urgency::Background };
                if pace.ask(now, urgency) == Turn::Go {
                    sent += 1;
                    pace.learn(now, limits(10, remaining, 1.0));
                }
                prop_assert!(f64::from(sent) <= BURST + 2.0 * now.as_secs_f64() + 1e-6);
            }
        }
    }
}
