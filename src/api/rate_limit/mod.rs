//! When a request may go out, and which of those that wait: decided here, without doing anything.
//!
//! The service's limit is the team's, shared with the mail it is sending, so sentbox keeps to a
//! rate of its own, shrinks with what the service says is left, and falls silent when told to.
//! Times are durations since the client began, so that a decision is a function of numbers.
//!
//! All requests share one token bucket, whose rate falls to the [`share`] of this process when others use
//! the limit as well. Background requests must also pass a second bucket at that rate.

mod background_quota;
mod bucket;
mod limiter;
mod retry;
mod shared;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use background_quota::{BackgroundQuota, LimitUsage};
use bucket::TokenBucket;
use retry::DEFAULT_PAUSE;
use shared::{SharedBucket, SharedDecision, TokenDemand};

pub(crate) use limiter::jitter;
pub(super) use limiter::{Denied, RateLimiter};
pub use retry::RetryPolicy;
pub(super) use retry::{Elapsed, RetryAction, backoff};

use super::request::Priority;
use crate::config::Rate;

/// The rate budget as a status line shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateBudget {
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
pub(super) struct LimitHeaders {
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
pub(super) struct QueuePosition {
    priority: Priority,
    number: u64,
}

/// The answer to "may I send now?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// Yes.
    Allowed,
    /// No, somebody else goes first: ask again when the queue has moved.
    NotFirst,
    /// Ask again after this time: the rate of our own allows no more.
    Wait(Duration),
    /// Ask again after this time: the service has refused a request for its rate.
    Paused(Duration),
    /// No: others use the limit, and what nobody has asked for yet is not worth waiting for them.
    Contended,
}

/// So many requests may follow each other at once: the start, and opening an email, are immediate.
const BURST: f64 = 4.0;
/// What nobody waits for leaves this much for a person.
const INTERACTIVE_RESERVE: f64 = 1.0;
/// How long background work stays silent after the service has refused a request for its rate.
const BACKGROUND_PAUSE: Duration = Duration::from_secs(5);

/// The budget of requests that all tasks of the process share, and the queue of those who want one.
#[derive(Debug)]
pub(super) struct LimiterState {
    rate: Rate,
    tokens: TokenBucket,
    background: BackgroundQuota,
    limit_headers: LimitHeaders,
    limits_expire_at: Duration,
    paused_until: Duration,
    /// Until then goes only what a person waits for.
    background_paused_until: Duration,
    queue: BTreeSet<QueuePosition>,
    last_number: u64,
}

impl LimiterState {
    pub(super) const fn new(rate: Rate) -> Self {
        let zero = Duration::ZERO;
        let limits = LimitHeaders {
            limit: None,
            window: None,
            remaining: None,
            reset: None,
        };
        Self {
            rate,
            tokens: TokenBucket::new(BURST),
            background: BackgroundQuota::new(),
            limit_headers: limits,
            limits_expire_at: zero,
            paused_until: zero,
            background_paused_until: zero,
            queue: BTreeSet::new(),
            last_number: 0,
        }
    }

    /// Joins the queue.
    pub(super) fn enqueue(&mut self, urgency: Priority) -> QueuePosition {
        self.last_number += 1;
        let place = QueuePosition {
            priority: urgency,
            number: self.last_number,
        };
        self.queue.insert(place);
        place
    }

    /// Leaves the queue, wanting nothing any more.
    pub(super) fn dequeue(&mut self, place: QueuePosition) {
        self.queue.remove(&place);
    }

    /// Lets the first of the queue go if there is a token for it. `jitter` is a number from 0 to 1.
    #[cfg(test)]
    fn try_acquire(&mut self, now: Duration, place: QueuePosition, jitter: f64) -> Decision {
        let turn = self.check(now, place);
        if turn == Decision::Allowed {
            self.record_send(now, place, jitter);
        }
        turn
    }

    /// Whether the request at this place may go; it has its token only once it is sent.
    pub(super) fn check(&mut self, now: Duration, place: QueuePosition) -> Decision {
        if self.queue.first() != Some(&place) {
            return Decision::NotFirst;
        }
        let paused = self.paused_until.saturating_sub(now);
        if !paused.is_zero() {
            return Decision::Paused(paused);
        }
        if place.priority == Priority::Prefetch && !self.is_uncontended(now) {
            return Decision::Contended;
        }
        let wait = self.time_until_allowed(now, place.priority);
        if !wait.is_zero() {
            return Decision::Wait(wait);
        }
        Decision::Allowed
    }

    /// Takes the token of the request at this place, which leaves the queue. `jitter` is a number from 0 to 1.
    pub(super) fn record_send(&mut self, now: Duration, place: QueuePosition, jitter: f64) {
        self.tokens.consume(1.0);
        self.background.record_send(now, self.window());
        if place.priority.is_background() {
            self.background.consume(jitter);
        } else if self.background.is_contended(now) {
            // Others may have been asked for something just now as well: that is enough for a moment.
            self.background_paused_until = self
                .background_paused_until
                .max(now + self.window().mul_f64(0.5 + jitter));
        }
        self.dequeue(place);
    }

    /// What a request of this urgency needs of the bucket that the processes of this machine share.
    fn token_demand(&self, urgency: Priority) -> TokenDemand {
        let burst = self.burst_size();
        TokenDemand {
            rate: self.max_rate(),
            burst,
            needed: (1.0 + reserved_tokens(urgency, burst)).min(burst),
        }
    }

    /// How long a request of this urgency still has to wait, if the service has not asked for a pause.
    fn time_until_allowed(&mut self, now: Duration, urgency: Priority) -> Duration {
        let (speed, burst, window) = (self.max_rate(), self.burst_size(), self.window());
        self.refill(now);
        let token = self.tokens.time_until(
            (1.0 + reserved_tokens(urgency, burst)).min(burst),
            self.interactive_rate(),
        );
        if urgency == Priority::Interactive {
            return token;
        }
        let silent = self.background_paused_until.saturating_sub(now);
        silent
            .max(token)
            .max(self.background.time_until_allowed(now, speed, window))
    }

    /// Learns what an answer says about the limit. `jitter`, a number from 0 to 1, keeps those who are
    /// silent until the same moment from ending it together.
    pub(super) fn update_limits(&mut self, now: Duration, limits: LimitHeaders, jitter: f64) {
        self.refill(now);
        if limits.limit.is_some() || limits.remaining.is_some() {
            self.limit_headers = limits;
            self.limits_expire_at = now + limits.reset.unwrap_or_else(|| self.window());
            self.tokens.cap(self.burst_size());
        }
        if let (Some(limit), Some(remaining)) =
            (limits.limit.filter(|limit| *limit > 0), limits.remaining)
        {
            let (limit, remaining) = (f64::from(limit), f64::from(remaining));
            let spared = self.reserved_for_others(limit);
            self.background.update(
                now,
                self.max_rate(),
                LimitUsage {
                    limit,
                    remaining,
                    reserved: spared,
                    window: self.window(),
                },
            );
            // Others take from what is left as well, so that nobody takes more than a part of it at once.
            self.tokens.cap(remaining * self.rate.max_share);
            if remaining < spared {
                self.background_paused_until = self
                    .background_paused_until
                    .max(self.limits_expire_at + self.window().mul_f64(jitter));
            }
        } else {
            self.background.update_without_limits();
        }
        if limits.remaining == Some(0) {
            self.paused_until = self.paused_until.max(self.limits_expire_at);
        }
    }

    /// A request was refused for the rate; the service may have named a time to wait. `jitter`, a number
    /// from 0 to 1, keeps those who were refused together from coming back together.
    pub(super) fn on_rate_limited(&mut self, now: Duration, wait: Option<Duration>, jitter: f64) {
        self.refill(now);
        self.tokens.cap(0.0);
        self.background.halve(now);
        self.paused_until = self
            .paused_until
            .max(now + wait.unwrap_or(DEFAULT_PAUSE) + self.window().mul_f64(jitter / 2.0));
        self.background_paused_until = self
            .background_paused_until
            .max(self.paused_until + BACKGROUND_PAUSE.mul_f64(1.0 + jitter));
    }

    /// Pauses all requests, at least for so long.
    pub(super) fn pause(&mut self, now: Duration, wait: Duration) {
        self.paused_until = self.paused_until.max(now + wait);
    }

    pub(super) fn budget(&self, now: Duration) -> RateBudget {
        RateBudget {
            rate: self.max_rate(),
            background: self.background.background_rate(self.max_rate()),
            limit: self.limit_headers.limit,
            remaining: self
                .limit_headers
                .remaining
                .filter(|_| self.limits_expire_at > now),
            paused_for: self.paused_until.saturating_sub(now),
        }
    }

    /// Lets the tokens flow in that have come since the last time.
    fn refill(&mut self, now: Duration) {
        self.tokens
            .refill(now, self.interactive_rate(), self.burst_size());
    }

    /// Requests a second that all may use together: fewer while others use the limit as well.
    fn interactive_rate(&self) -> f64 {
        self.background.interactive_rate(self.max_rate())
    }

    fn window(&self) -> Duration {
        self.limit_headers
            .window
            .filter(|window| !window.is_zero())
            .unwrap_or(DEFAULT_PAUSE)
    }

    /// Requests a second: what was asked for, but never more than its share of the service's limit.
    fn max_rate(&self) -> f64 {
        self.own_quota().map_or(self.rate.per_second, |part| {
            self.rate.per_second.min(part / self.window().as_secs_f64())
        })
    }

    /// Requests that may follow each other at once: no more than our part of one window.
    fn burst_size(&self) -> f64 {
        self.own_quota()
            .map_or(BURST, |part| part.clamp(1.0, BURST))
    }

    /// The part of the service's limit that is ours, if it has stated one.
    fn own_quota(&self) -> Option<f64> {
        self.limit_headers
            .limit
            .filter(|limit| *limit > 0)
            .map(|limit| f64::from(limit) * self.rate.max_share)
    }

    /// What has to be left of the limit for background work to go on: half of it, unless a person has
    /// set a rate that is more than the other half.
    fn reserved_for_others(&self, limit: f64) -> f64 {
        (limit / 2.0)
            .ceil()
            .min(limit - (self.max_rate() * self.window().as_secs_f64()).floor())
    }

    /// Whether next to nobody else uses the limit, as far as is known.
    fn is_uncontended(&self, now: Duration) -> bool {
        let is_used = match (self.limit_headers.remaining, self.limit_headers.limit) {
            (Some(remaining), Some(limit)) => {
                self.limits_expire_at > now && f64::from(remaining) < f64::from(limit) * 0.75
            }
            _ => false,
        };
        !is_used && !self.background.is_contended(now)
    }
}

/// Tokens that a request of this urgency leaves in a bucket of that size.
const fn reserved_tokens(urgency: Priority, burst: f64) -> f64 {
    match urgency {
        Priority::Interactive => 0.0,
        Priority::Refresh | Priority::Recheck | Priority::Backfill => INTERACTIVE_RESERVE,
        Priority::Prefetch => burst,
    }
}
