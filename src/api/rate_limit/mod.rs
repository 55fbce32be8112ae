//! Decides when a request may be sent, and which waiting request is next.
//! No I/O, no clock.
//!
//! The service's limit is the team's, shared with the mail it sends, so sentbox keeps to a rate of
//! its own, slows down when little of the limit is left, and pauses when the service says so. Times
//! are durations since the client started, so that each decision is a function of numbers.
//!
//! All requests share one token bucket, whose rate falls to the [`background_quota`] of this
//! process when others use the limit. Background requests must also pass a second bucket at that
//! rate.

mod background_quota;
mod bucket;
mod limiter;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use background_quota::{BackgroundQuota, LimitUsage};
pub(crate) use bucket::RecordedPause;
use bucket::{SharedBucket, TokenBucket, TokenDemand};

pub(super) use limiter::{Denied, RateLimiter};

use super::request::{DEFAULT_PAUSE, Priority};
use crate::config::Rate;

/// The rate budget as a status line shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateBudget {
    /// Requests a second that sentbox allows itself now.
    pub rate: f64,
    /// The part of `rate` that background requests may use.
    pub background: f64,
    /// Requests that the service allows the team in its window, by the last response.
    pub limit: Option<u32>,
    /// How many requests of `limit` were left; `None` once that window is over.
    pub remaining: Option<u32>,
    /// How long all requests still pause at the request of the service.
    pub paused_for: Duration,
    /// How long the oldest request that was sent has no response.
    pub unanswered_for: Duration,
    /// Whose limit the next request waits for; `None` if no request waits.
    pub waits_for: Option<LimitOwner>,
}

/// Who has set the limit that a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitOwner {
    /// The user, or the default rate: the requests of this profile have used it up.
    User,
    /// The service: by its limit, its use by others, or a pause that it has requested.
    Service,
}

/// The rate-limit headers of a response.
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

/// A position in the queue: by priority, then by arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueuePosition {
    priority: Priority,
    number: u64,
}

/// Whether a request may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Allowed,
    /// Another request is first: try again when the queue has changed.
    NotFirst,
    /// Try again after this time: the own rate allows no more.
    Wait(Duration),
    /// Try again after this time: the service has refused a request for its rate.
    Paused(Duration),
    /// Do not send: others use the limit, and a prefetch is not worth the wait.
    Contended,
}

/// Requests that may be sent at once, so that a start is immediate.
const BURST: f64 = 4.0;
/// Tokens that background requests leave for interactive ones.
const INTERACTIVE_RESERVE: f64 = 1.0;
/// How long background requests pause after a refused request.
const BACKGROUND_PAUSE: Duration = Duration::from_secs(5);

/// The rate budget of the process, and the queue of waiting requests.
#[derive(Debug)]
pub(super) struct LimiterState {
    rate: Rate,
    tokens: TokenBucket,
    background: BackgroundQuota,
    limit_headers: LimitHeaders,
    limits_expire_at: Duration,
    paused_until: Duration,
    /// Until then only interactive requests are sent.
    background_paused_until: Duration,
    queue: BTreeSet<QueuePosition>,
    last_number: u64,
}

impl LimiterState {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            tokens: TokenBucket::new(BURST),
            background: BackgroundQuota::new(),
            limit_headers: LimitHeaders::default(),
            limits_expire_at: Duration::ZERO,
            paused_until: Duration::ZERO,
            background_paused_until: Duration::ZERO,
            queue: BTreeSet::new(),
            last_number: 0,
        }
    }

    pub(super) fn enqueue(&mut self, priority: Priority) -> QueuePosition {
        self.last_number += 1;
        let position = QueuePosition {
            priority,
            number: self.last_number,
        };
        self.queue.insert(position);
        position
    }

    pub(super) fn dequeue(&mut self, position: QueuePosition) {
        self.queue.remove(&position);
    }

    /// Whether the request may be sent; [`Self::record_send`] takes its token.
    pub(super) fn check(&mut self, now: Duration, position: QueuePosition) -> Decision {
        if self.queue.first() != Some(&position) {
            return Decision::NotFirst;
        }
        let paused = self.paused_until.saturating_sub(now);
        if !paused.is_zero() {
            return Decision::Paused(paused);
        }
        self.check_unpaused(now, position)
    }

    /// Whether the first request of the queue may be sent, pauses of the service aside.
    fn check_unpaused(&mut self, now: Duration, position: QueuePosition) -> Decision {
        if position.priority == Priority::Prefetch && !self.is_uncontended(now) {
            return Decision::Contended;
        }
        let wait = self.time_until_allowed(now, position.priority);
        if !wait.is_zero() {
            return Decision::Wait(wait);
        }
        Decision::Allowed
    }

    /// Takes a token for the request, with `jitter` from 0 to 1, and dequeues it.
    pub(super) fn record_send(&mut self, now: Duration, position: QueuePosition, jitter: f64) {
        self.tokens.consume(1.0);
        self.background.record_send(now, self.window());
        if position.priority.is_background() {
            self.background.consume(jitter);
        } else if self.background.is_contended(now) {
            // The users of other processes may be active just now as well.
            self.pause_background(now + self.window().mul_f64(0.5 + jitter));
        }
        self.dequeue(position);
    }

    /// Returns what a request of this priority needs of the shared bucket.
    fn token_demand(&self, priority: Priority) -> TokenDemand {
        let burst = self.burst_size();
        let reserve = match priority {
            Priority::Interactive => 0.0,
            Priority::Refresh | Priority::Recheck | Priority::Backfill => INTERACTIVE_RESERVE,
            Priority::Prefetch => burst,
        };
        TokenDemand {
            rate: self.max_rate(),
            burst,
            needed: (1.0 + reserve).min(burst),
            ignores_pause: false,
        }
    }

    /// Returns the wait for a request of this priority, without pauses.
    fn time_until_allowed(&mut self, now: Duration, priority: Priority) -> Duration {
        self.refill(now);
        let TokenDemand { rate, needed, .. } = self.token_demand(priority);
        let token = self.tokens.time_until(needed, self.interactive_rate(now));
        if priority == Priority::Interactive {
            return token;
        }
        let pause = self.background_paused_until.saturating_sub(now);
        let quota = self.background.time_until_allowed(now, rate, self.window());
        pause.max(token).max(quota)
    }

    /// Uses the rate for a mirror, unless the user chose one.
    fn rate_to_mirror(&mut self) {
        if self.rate == Rate::default() {
            self.rate = Rate::TO_MIRROR;
        }
    }

    /// Applies the limits of a response.
    /// `jitter`, a number from 0 to 1, keeps processes that pause until the same moment from ending
    /// the pause together.
    pub(super) fn update_limits(&mut self, now: Duration, limits: LimitHeaders, jitter: f64) {
        self.refill(now);
        if limits.limit.is_some() || limits.remaining.is_some() {
            self.limit_headers = limits;
            self.limits_expire_at = now + limits.reset.unwrap_or_else(|| self.window());
            self.tokens.cap(self.burst_size());
        }
        let limit = limits.limit.filter(|limit| *limit > 0);
        if let (Some(limit), Some(remaining)) = (limit, limits.remaining) {
            let limit = f64::from(limit);
            let usage = LimitUsage {
                limit,
                remaining: f64::from(remaining),
                reserved: self.reserved_for_others(limit),
                window: self.window(),
            };
            self.background.update(now, self.max_rate(), usage);
            // Others use the rest as well, so that one process takes only a part of it at once.
            self.tokens.cap(usage.remaining * self.rate.max_share);
            if usage.remaining < usage.reserved {
                self.pause_background(self.limits_expire_at + self.window().mul_f64(jitter));
            }
        } else {
            self.background.update_without_limits();
        }
        if limits.remaining == Some(0) {
            self.paused_until = self.paused_until.max(self.limits_expire_at);
        }
    }

    /// Pauses after a 429 for `wait`, if the service named it.
    /// `jitter`, a number from 0 to 1, keeps processes that were refused together from retrying
    /// together.
    pub(super) fn on_rate_limited(&mut self, now: Duration, wait: Option<Duration>, jitter: f64) {
        self.refill(now);
        self.tokens.cap(0.0);
        self.background.halve_after_refusal(now);
        let jitter_pause = self.window().mul_f64(jitter / 2.0);
        self.pause(now, wait.unwrap_or(DEFAULT_PAUSE) + jitter_pause);
        self.pause_background(self.paused_until + BACKGROUND_PAUSE.mul_f64(1.0 + jitter));
    }

    /// Pauses all requests for at least `wait`.
    pub(super) fn pause(&mut self, now: Duration, wait: Duration) {
        self.paused_until = self.paused_until.max(now + wait);
    }

    /// Ends the pauses: the service has answered a request within them.
    fn lift_pause(&mut self, now: Duration) {
        let is_used_up = self.limit_headers.remaining == Some(0);
        self.paused_until = if is_used_up {
            self.limits_expire_at
        } else {
            now
        };
        self.background_paused_until = now;
    }

    fn pause_background(&mut self, until: Duration) {
        self.background_paused_until = self.background_paused_until.max(until);
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
            unanswered_for: Duration::ZERO,
            waits_for: self.queue.first().map(|first| {
                if self.is_slowed_by_service(now, first.priority) {
                    LimitOwner::Service
                } else {
                    LimitOwner::User
                }
            }),
        }
    }

    fn refill(&mut self, now: Duration) {
        self.tokens
            .refill(now, self.interactive_rate(now), self.burst_size());
    }

    /// Returns the requests a second of all priorities; fewer beside others.
    fn interactive_rate(&self, now: Duration) -> f64 {
        self.background.interactive_rate(now, self.max_rate())
    }

    fn window(&self) -> Duration {
        self.limit_headers
            .window
            .filter(|window| !window.is_zero())
            .unwrap_or(DEFAULT_PAUSE)
    }

    /// Returns the configured requests a second, or the own share if that is less.
    fn max_rate(&self) -> f64 {
        self.own_quota().map_or(self.rate.per_second, |quota| {
            self.rate
                .per_second
                .min(quota / self.window().as_secs_f64())
        })
    }

    /// Whether the service's limit allows fewer requests than the configured rate.
    fn is_below_configured_rate(&self) -> bool {
        self.max_rate() < self.rate.per_second
    }

    /// Whether the service's limit, its use by others or a pause delays a request.
    fn is_slowed_by_service(&self, now: Duration, priority: Priority) -> bool {
        self.is_below_configured_rate()
            || self.background.is_contended(now)
            || self.paused_until > now
            || (priority.is_background() && self.background_paused_until > now)
    }

    /// Returns the requests that may be sent at once: the share of a window.
    fn burst_size(&self) -> f64 {
        self.own_quota()
            .map_or(BURST, |quota| quota.clamp(1.0, BURST))
    }

    /// Returns the own share of a stated limit, in requests a window.
    fn own_quota(&self) -> Option<f64> {
        self.limit_headers
            .limit
            .filter(|limit| *limit > 0)
            .map(|limit| f64::from(limit) * self.rate.max_share)
    }

    /// Returns how much of the limit background requests leave to others:
    /// half of it, or less if the configured rate is more than the other half.
    fn reserved_for_others(&self, limit: f64) -> f64 {
        (limit / 2.0)
            .ceil()
            .min(limit - (self.max_rate() * self.window().as_secs_f64()).floor())
    }

    /// Whether others use little of the limit, as far as is known.
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
