//! When a request may go out, and which of those that wait: decided here, without doing anything.
//!
//! The service's limit is the team's, shared with the mail it is sending, so sentbox keeps to a
//! rate of its own, shrinks with what the service says is left, and falls silent when told to.
//! Times are durations since the client began, so that a decision is a function of numbers.
//!
//! All requests share one token bucket, whose rate falls to the [`share`] of this process when others use
//! the limit as well. Background requests must also pass a second bucket at that rate.

mod bucket;
mod gate;
mod patience;
mod share;
mod shared;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use bucket::Bucket;
use patience::PAUSE;
use share::{Share, Told};
use shared::{Demand, SharedBucket, Taken};

pub use gate::jitter;
pub(super) use gate::{Gate, Turned};
pub use patience::Patience;
pub(super) use patience::{Retry, Spent, again};

use super::wish::Urgency;
use crate::config::Rate;

/// The rate budget as a status line shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Requests a second that sentbox allows itself at the moment.
    pub rate: f64,
    /// As many of them may be for what nobody waits for.
    pub background: f64,
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

/// A place in the queue: the more urgent first, and of those who want it equally, who came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    urgency: Urgency,
    number: u64,
}

/// The answer to "may I send now?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Yes.
    Go,
    /// No, somebody else goes first: ask again when the queue has moved.
    Behind,
    /// Ask again after this time: the rate of our own allows no more.
    Later(Duration),
    /// Ask again after this time: the service has refused a request for its rate.
    Paused(Duration),
    /// No: others use the limit, and what nobody has asked for yet is not worth waiting for them.
    Scarce,
}

/// So many requests may follow each other at once: the start, and opening an email, are immediate.
const BURST: f64 = 4.0;
/// What nobody waits for leaves this much for a person.
const RESERVE: f64 = 1.0;
/// How long background work stays silent after the service has refused a request for its rate.
const SILENCE: Duration = Duration::from_secs(5);

/// The budget of requests that all tasks of the process share, and the queue of those who want one.
#[derive(Debug)]
pub(super) struct Pace {
    rate: Rate,
    tokens: Bucket,
    share: Share,
    limits: Limits,
    limits_until: Duration,
    paused_until: Duration,
    /// Until then goes only what a person waits for.
    silent_until: Duration,
    queue: BTreeSet<Place>,
    places: u64,
}

impl Pace {
    pub(super) const fn new(rate: Rate) -> Self {
        let zero = Duration::ZERO;
        let limits = Limits {
            limit: None,
            window: None,
            remaining: None,
            reset: None,
        };
        Self {
            rate,
            tokens: Bucket::of(BURST),
            share: Share::new(),
            limits,
            limits_until: zero,
            paused_until: zero,
            silent_until: zero,
            queue: BTreeSet::new(),
            places: 0,
        }
    }

    /// Joins the queue.
    pub(super) fn join(&mut self, urgency: Urgency) -> Place {
        self.places += 1;
        let place = Place {
            urgency,
            number: self.places,
        };
        self.queue.insert(place);
        place
    }

    /// Leaves the queue, wanting nothing any more.
    pub(super) fn leave(&mut self, place: Place) {
        self.queue.remove(&place);
    }

    /// Lets the first of the queue go if there is a token for it. `jitter` is a number from 0 to 1.
    #[cfg(test)]
    fn ask(&mut self, now: Duration, place: Place, jitter: f64) -> Turn {
        let turn = self.check(now, place);
        if turn == Turn::Go {
            self.send(now, place, jitter);
        }
        turn
    }

    /// Whether the request at this place may go; it has its token only once it is sent.
    pub(super) fn check(&mut self, now: Duration, place: Place) -> Turn {
        if self.queue.first() != Some(&place) {
            return Turn::Behind;
        }
        let paused = self.paused_until.saturating_sub(now);
        if !paused.is_zero() {
            return Turn::Paused(paused);
        }
        if place.urgency == Urgency::Warm && !self.is_plenty(now) {
            return Turn::Scarce;
        }
        let wait = self.wait(now, place.urgency);
        if !wait.is_zero() {
            return Turn::Later(wait);
        }
        Turn::Go
    }

    /// Takes the token of the request at this place, which leaves the queue. `jitter` is a number from 0 to 1.
    pub(super) fn send(&mut self, now: Duration, place: Place, jitter: f64) {
        self.tokens.take(1.0);
        self.share.send(now, self.window());
        if place.urgency.is_background() {
            self.share.take(jitter);
        } else if self.share.is_in_company(now) {
            // Others may have been asked for something just now as well: that is enough for a moment.
            self.silent_until = self
                .silent_until
                .max(now + self.window().mul_f64(0.5 + jitter));
        }
        self.leave(place);
    }

    /// What a request of this urgency needs of the bucket that the processes of this machine share.
    fn demand(&self, urgency: Urgency) -> Demand {
        let burst = self.burst();
        Demand {
            rate: self.speed(),
            burst,
            needed: (1.0 + reserve(urgency, burst)).min(burst),
        }
    }

    /// How long a request of this urgency still has to wait, if the service has not asked for a pause.
    fn wait(&mut self, now: Duration, urgency: Urgency) -> Duration {
        let (speed, burst, window) = (self.speed(), self.burst(), self.window());
        self.refill(now);
        let token = self.tokens.wait(
            (1.0 + reserve(urgency, burst)).min(burst),
            self.interactive(),
        );
        if urgency == Urgency::Person {
            return token;
        }
        let silent = self.silent_until.saturating_sub(now);
        silent.max(token).max(self.share.wait(now, speed, window))
    }

    /// Learns what an answer says about the limit. `jitter`, a number from 0 to 1, keeps those who are
    /// silent until the same moment from ending it together.
    pub(super) fn learn(&mut self, now: Duration, limits: Limits, jitter: f64) {
        self.refill(now);
        if limits.limit.is_some() || limits.remaining.is_some() {
            self.limits = limits;
            self.limits_until = now + limits.reset.unwrap_or_else(|| self.window());
            self.tokens.cap(self.burst());
        }
        if let (Some(limit), Some(remaining)) =
            (limits.limit.filter(|limit| *limit > 0), limits.remaining)
        {
            let (limit, remaining) = (f64::from(limit), f64::from(remaining));
            let spared = self.spared(limit);
            self.share.learn(
                now,
                self.speed(),
                Told {
                    limit,
                    remaining,
                    spared,
                    window: self.window(),
                },
            );
            // Others take from what is left as well, so that nobody takes more than a part of it at once.
            self.tokens.cap(remaining * self.rate.share);
            if remaining < spared {
                self.silent_until = self
                    .silent_until
                    .max(self.limits_until + self.window().mul_f64(jitter));
            }
        } else {
            self.share.learn_nothing();
        }
        if limits.remaining == Some(0) {
            self.paused_until = self.paused_until.max(self.limits_until);
        }
    }

    /// A request was refused for the rate; the service may have named a time to wait. `jitter`, a number
    /// from 0 to 1, keeps those who were refused together from coming back together.
    pub(super) fn refuse(&mut self, now: Duration, wait: Option<Duration>, jitter: f64) {
        self.refill(now);
        self.tokens.cap(0.0);
        self.share.halve(now);
        self.paused_until = self
            .paused_until
            .max(now + wait.unwrap_or(PAUSE) + self.window().mul_f64(jitter / 2.0));
        self.silent_until = self
            .silent_until
            .max(self.paused_until + SILENCE.mul_f64(1.0 + jitter));
    }

    /// Pauses all requests, at least for so long.
    pub(super) fn pause(&mut self, now: Duration, wait: Duration) {
        self.paused_until = self.paused_until.max(now + wait);
    }

    pub(super) fn budget(&self, now: Duration) -> Budget {
        Budget {
            rate: self.speed(),
            background: self.share.per_second(self.speed()),
            limit: self.limits.limit,
            remaining: self.limits.remaining.filter(|_| self.limits_until > now),
            paused_for: self.paused_until.saturating_sub(now),
        }
    }

    /// Lets the tokens flow in that have come since the last time.
    fn refill(&mut self, now: Duration) {
        self.tokens.refill(now, self.interactive(), self.burst());
    }

    /// Requests a second that all may use together: fewer while others use the limit as well.
    fn interactive(&self) -> f64 {
        self.share.interactive(self.speed())
    }

    fn window(&self) -> Duration {
        self.limits
            .window
            .filter(|window| !window.is_zero())
            .unwrap_or(PAUSE)
    }

    /// Requests a second: what was asked for, but never more than its share of the service's limit.
    fn speed(&self) -> f64 {
        self.part().map_or(self.rate.per_second, |part| {
            self.rate.per_second.min(part / self.window().as_secs_f64())
        })
    }

    /// Requests that may follow each other at once: no more than our part of one window.
    fn burst(&self) -> f64 {
        self.part().map_or(BURST, |part| part.clamp(1.0, BURST))
    }

    /// The part of the service's limit that is ours, if it has stated one.
    fn part(&self) -> Option<f64> {
        self.limits
            .limit
            .filter(|limit| *limit > 0)
            .map(|limit| f64::from(limit) * self.rate.share)
    }

    /// What has to be left of the limit for background work to go on: half of it, unless a person has
    /// set a rate that is more than the other half.
    fn spared(&self, limit: f64) -> f64 {
        (limit / 2.0)
            .ceil()
            .min(limit - (self.speed() * self.window().as_secs_f64()).floor())
    }

    /// Whether next to nobody else uses the limit, as far as is known.
    fn is_plenty(&self, now: Duration) -> bool {
        let is_used = match (self.limits.remaining, self.limits.limit) {
            (Some(remaining), Some(limit)) => {
                self.limits_until > now && f64::from(remaining) < f64::from(limit) * 0.75
            }
            _ => false,
        };
        !is_used && !self.share.is_in_company(now)
    }
}

/// Tokens that a request of this urgency leaves in a bucket of that size.
const fn reserve(urgency: Urgency, burst: f64) -> f64 {
    match urgency {
        Urgency::Person => 0.0,
        Urgency::Head | Urgency::Status | Urgency::Extend => RESERVE,
        Urgency::Warm => burst,
    }
}
