//! `Share`: the part of its rate that this process uses, learnt from what others leave of the service's limit.
//!
//! The service counts one limit for a whole team: its mail that goes out, and colleagues who run
//! sentbox on machines of their own, who cannot be asked what they are doing. All there is to go by is
//! `ratelimit-remaining`. It tells little, since services count in different ways: in windows that begin
//! anew each second, where everything used since then is missing from it, or in a bucket that fills up
//! steadily, where it stays near the limit until the limit is all but exceeded. What both ways tell
//! alike is whether *anybody else* has just been there: then more is missing than what this process has
//! used itself.
//!
//! So the rate follows each answer:
//!
//! - Nobody else, from the first answers on: within two of them all that this process may use.
//! - The first sign of somebody else: it falls to a *modest* rate, a twentieth of the limit. Ten people at
//!   that rate use half of the limit together, which is what a team of support staff may use.
//! - Somebody else time and again: it is halved, or rises by steps, towards the modest rate.
//! - Somebody else now and then, a colleague perhaps who only looks at the list: it rises by steps to a
//!   *decent* rate, which is still slow enough to notice others in a bucket that fills up ten times as fast.
//! - Nobody else for a while: it rises by steps to all that this process may use.
//! - Less than half of the limit left: it is halved further, and there is silence until the window is
//!   over. This is for everything that a modest rate is too much for: many people, or a team that is
//!   sending much.
//!
//! In a bucket that fills up ten times as fast as we take from it nothing is missing but what was used in
//! the last moments, so that a process that asks all the time sees only itself. Now and then it therefore
//! holds its breath for a window, which costs the thirtieth part of its time at most; whatever is missing
//! then was taken by others. Where nothing is told there is nothing to listen for.
//!
//! Requests that a user waits for follow the same rate from the first sign of others on, but never fall below
//! a quarter of what this process may use; eight busy screens then use less than half of the limit.
//!
//! Rising by steps and falling by halves is what lets strangers share a line fairly: whoever has more
//! loses more. That everybody falls back to modesty at the *first* sign of somebody else, and not when half
//! is gone, keeps eight who begin in the same second, none of whom can know of the others, within the
//! limit: each has made one request when it learns that it is not alone.

use std::collections::VecDeque;
use std::time::Duration;

use super::bucket::TokenBucket;

/// Requests of others for each of our own, as they are noticed, that are no company yet.
const CONTENTION_THRESHOLD: f64 = 0.3;
/// How much the latest answer counts beside those before it.
const EWMA_WEIGHT: f64 = 1.0 / 8.0;
/// The modest rate, as a part of the limit.
const LOW_SHARE: f64 = 1.0 / 20.0;
/// The decent rate, as a part of the limit.
const MEDIUM_SHARE: f64 = 1.0 / 12.0;
/// So long nobody else must have been noticed for this process to be alone again.
const CONTENTION_TIMEOUT: Duration = Duration::from_secs(30);
/// What it begins with, the step up in a second, and the least: parts of what this process may use.
const INITIAL_SHARE: f64 = 1.0 / 4.0;
const INCREASE_PER_SECOND: f64 = 1.0 / 32.0;
const MIN_SHARE: f64 = 1.0 / 64.0;
/// The least for requests that a user waits for.
const MIN_INTERACTIVE_SHARE: f64 = 1.0 / 4.0;
/// For so many windows requests may follow each other so closely that a bucket hides others behind them.
const PROBE_INTERVAL_WINDOWS: u32 = 30;
/// As many may follow each other at once, after a rest.
const BACKGROUND_BURST: f64 = 2.0;

/// What the service has said, in numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct LimitUsage {
    /// Requests that it allows in a window.
    pub(super) limit: f64,
    /// How many of them are left.
    pub(super) remaining: f64,
    /// How many are to be left for others.
    pub(super) reserved: f64,
    /// The length of a window.
    pub(super) window: Duration,
}

/// The rate of requests that nobody waits for.
#[derive(Debug)]
pub(super) struct BackgroundQuota {
    /// It, as a part of what this process may use at all.
    share: f64,
    bucket: TokenBucket,
    /// When somebody else was noticed last.
    contention_seen_at: Option<Duration>,
    /// How many requests of others were noticed for each of our own, lately.
    contention: f64,
    halved_at: Option<Duration>,
    updated_at: Duration,
    /// When this process has made its latest requests.
    recent_sends: VecDeque<Duration>,
    /// When there was last a request that no other of this process came shortly before.
    probed_at: Duration,
    /// Whether the service has ever said what is left.
    has_limit_headers: bool,
}

impl BackgroundQuota {
    pub(super) const fn new() -> Self {
        Self {
            share: INITIAL_SHARE,
            bucket: TokenBucket::new(1.0),
            contention_seen_at: None,
            contention: 0.0,
            halved_at: None,
            updated_at: Duration::ZERO,
            recent_sends: VecDeque::new(),
            probed_at: Duration::ZERO,
            has_limit_headers: false,
        }
    }

    /// Requests a second, of the `speed` that this process may use.
    pub(super) fn background_rate(&self, speed: f64) -> f64 {
        self.share * speed
    }

    /// Requests a second, interactive ones included: the whole `speed` until others are noticed, and then
    /// the same part as for background requests, but not less than a user can work with.
    pub(super) fn interactive_rate(&self, speed: f64) -> f64 {
        if self.contention_seen_at.is_some() {
            self.share.max(MIN_INTERACTIVE_SHARE) * speed
        } else {
            speed
        }
    }

    /// How long until the next request; zero if it may go now.
    pub(super) fn time_until_allowed(
        &mut self,
        now: Duration,
        speed: f64,
        window: Duration,
    ) -> Duration {
        let per_second = self.background_rate(speed);
        self.bucket.refill(now, per_second, BACKGROUND_BURST);
        let is_blind =
            self.has_limit_headers && now >= self.probed_at + window * PROBE_INTERVAL_WINDOWS;
        let lonely = self
            .recent_sends
            .back()
            .filter(|_| is_blind)
            .map(|sent| *sent + counting_period(window));
        self.bucket
            .time_until(1.0, per_second)
            .max(lonely.unwrap_or_default().saturating_sub(now))
    }

    /// A request goes out that nobody waits for. `jitter`, a number from 0 to 1, makes the next distance
    /// a little longer or shorter, so that those who began together drift apart.
    pub(super) fn consume(&mut self, jitter: f64) {
        self.bucket.consume(0.75 + jitter / 2.0);
    }

    /// A request goes out, whoever wants it.
    pub(super) fn record_send(&mut self, now: Duration, window: Duration) {
        let since = now.saturating_sub(counting_period(window));
        while self.recent_sends.front().is_some_and(|sent| *sent <= since) {
            self.recent_sends.pop_front();
        }
        if self.recent_sends.is_empty() {
            self.probed_at = now;
        }
        self.recent_sends.push_back(now);
    }

    /// Whether somebody else was noticed lately.
    pub(super) fn is_contended(&self, now: Duration) -> bool {
        self.contention_seen_at
            .is_some_and(|noticed| now < noticed + CONTENTION_TIMEOUT)
    }

    /// An answer that said nothing about the limit.
    pub(super) const fn update_without_limits(&mut self) {
        if self.contention_seen_at.is_none() {
            self.share = 1.0;
        }
    }

    /// Learns from an answer.
    pub(super) fn update(&mut self, now: Duration, speed: f64, told: LimitUsage) {
        let LimitUsage {
            limit,
            remaining,
            reserved: spared,
            window,
        } = told;
        self.has_limit_headers = true;
        let own = f64::from(u32::try_from(self.recent_sends.len()).unwrap_or(u32::MAX));
        self.bucket
            .refill(now, self.background_rate(speed), BACKGROUND_BURST);
        // By the time that has passed, not by answers: who is slow would stay slow.
        let step = INCREASE_PER_SECOND * now.saturating_sub(self.updated_at).as_secs_f64();
        self.updated_at = now;
        let of_limit = |part: f64| (part * limit / window.as_secs_f64() / speed).min(1.0);
        let others = (limit - remaining - own).max(0.0);
        self.contention += (others - self.contention) * EWMA_WEIGHT;
        if others > 0.0 {
            if self.contention_seen_at.replace(now).is_none() {
                (self.share, self.contention) = (of_limit(LOW_SHARE), 1.0);
                self.bucket.cap(0.0);
            }
            self.share = self.share.min(of_limit(MEDIUM_SHARE));
        }
        if remaining < spared {
            if self.halved_at.is_none_or(|halved| now >= halved + window) {
                self.halve(now);
                self.halved_at = Some(now);
            }
        } else if self.contention_seen_at.is_some() {
            let most = if self.contention > CONTENTION_THRESHOLD {
                of_limit(LOW_SHARE)
            } else if self.is_contended(now) {
                of_limit(MEDIUM_SHARE)
            } else {
                1.0
            };
            self.share = if self.share > most {
                most.max(self.share / 2.0)
            } else {
                most.min(self.share + step)
            };
        } else {
            self.share = (self.share * 2.0).min(1.0);
        }
    }

    /// Too much was used, or the service has refused a request for its rate.
    pub(super) fn halve(&mut self, now: Duration) {
        self.contention_seen_at = Some(now);
        self.share = (self.share / 2.0).max(MIN_SHARE);
        self.bucket.cap(0.0);
    }
}

/// How long the service counts a request, seen from here. A little more than a window, because that began
/// when a request arrived there, not when it left here.
fn counting_period(window: Duration) -> Duration {
    window + window / 16
}
