//! Adapts the rate of background requests to the load that others put on the
//! service's limit.
//!
//! The service counts one limit for a whole team: its outgoing mail, and sentbox on other machines.
//! The only signal is `ratelimit-remaining`: if more is missing than this process has used, others
//! sent requests.
//!
//! The rate follows the responses as TCP does (AIMD with slow start): it doubles until the first
//! contention, then it increases by [`INCREASE_PER_SECOND`] and is halved when others are noticed,
//! when less than half of the limit is left, and after a 429. [`MIN_CONTENDED_SHARE`] and
//! [`MAX_CONTENDED_SHARE`] bound it as long as others are noticed; without them eight parallel
//! syncs use too little of a limit that is counted in windows, and too much of one that refills
//! steadily.
//!
//! In a bucket that refills faster than this process sends, a process that sends all the time sees
//! only itself. Every [`PROBE_INTERVAL_WINDOWS`] it therefore pauses for one window (a probe): what
//! is missing then was used by others. Without limit headers there is nothing to probe.

use std::collections::VecDeque;
use std::time::Duration;

use super::bucket::TokenBucket;

/// The initial, the added and the least rate, as parts of the full rate.
const INITIAL_SHARE: f64 = 1.0 / 4.0;
const INCREASE_PER_SECOND: f64 = 1.0 / 25.0;
const MIN_SHARE: f64 = 1.0 / 64.0;
/// The least and the highest share of the limit while others use it.
const MIN_CONTENDED_SHARE: f64 = 1.0 / 24.0;
const MAX_CONTENDED_SHARE: f64 = 1.0 / 12.0;
/// How long after the last sign of others contention is over.
const CONTENTION_TIMEOUT: Duration = Duration::from_secs(30);
/// The least rate of interactive requests after the first contention,
/// as a part of the full rate. Eight busy users then use less than half of the limit.
const MIN_INTERACTIVE_SHARE: f64 = 1.0 / 4.0;
/// Windows between two probes.
const PROBE_INTERVAL_WINDOWS: u32 = 30;
/// Background requests that may be sent at once.
const BACKGROUND_BURST: f64 = 2.0;

/// The usage of the limit, by one response.
#[derive(Debug, Clone, Copy)]
pub(super) struct LimitUsage {
    /// Requests that the service allows in a window.
    pub(super) limit: f64,
    /// How many requests of the window are left.
    pub(super) remaining: f64,
    /// How many requests of the window to leave to others.
    pub(super) reserved: f64,
    pub(super) window: Duration,
}

/// The adaptive rate of background requests.
#[derive(Debug)]
pub(super) struct BackgroundQuota {
    /// The rate, as a part of the full rate.
    share: f64,
    bucket: TokenBucket,
    /// When the rate was last halved.
    halved_at: Option<Duration>,
    /// When requests of other processes were last noticed.
    /// Requests of this process do not count.
    noticed_at: Option<Duration>,
    updated_at: Duration,
    /// When this process sent its requests of the current window.
    recent_sends: VecDeque<Duration>,
    /// When a request was last sent after a window without one.
    probed_at: Duration,
    /// Whether the service has ever sent limit headers.
    has_limit_headers: bool,
}

impl BackgroundQuota {
    pub(super) const fn new() -> Self {
        Self {
            share: INITIAL_SHARE,
            bucket: TokenBucket::new(1.0),
            halved_at: None,
            noticed_at: None,
            updated_at: Duration::ZERO,
            recent_sends: VecDeque::new(),
            probed_at: Duration::ZERO,
            has_limit_headers: false,
        }
    }

    /// Returns the requests a second out of the full rate.
    pub(super) fn background_rate(&self, full_rate: f64) -> f64 {
        self.share * full_rate
    }

    /// Returns the requests a second of all priorities; fewer beside others.
    pub(super) fn interactive_rate(&self, now: Duration, full_rate: f64) -> f64 {
        if (self.noticed_at).is_some_and(|at| now < at + CONTENTION_TIMEOUT) {
            self.share.max(MIN_INTERACTIVE_SHARE) * full_rate
        } else {
            full_rate
        }
    }

    /// Returns the wait before the next request; zero if it may be sent now.
    pub(super) fn time_until_allowed(
        &mut self,
        now: Duration,
        full_rate: f64,
        window: Duration,
    ) -> Duration {
        let rate = self.background_rate(full_rate);
        self.bucket.refill(now, rate, BACKGROUND_BURST);
        let is_probe_due =
            self.has_limit_headers && now >= self.probed_at + window * PROBE_INTERVAL_WINDOWS;
        let probe = self
            .recent_sends
            .back()
            .filter(|_| is_probe_due)
            .map(|sent| *sent + counting_period(window));
        self.bucket
            .time_until(1.0, rate)
            .max(probe.unwrap_or_default().saturating_sub(now))
    }

    /// Takes a token for a background request.
    /// `jitter`, a number from 0 to 1, makes the next wait a little longer or shorter, so that
    /// processes that started together drift apart.
    pub(super) fn consume(&mut self, jitter: f64) {
        self.bucket.consume(0.75 + jitter / 2.0);
    }

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

    /// Whether requests of others were noticed lately.
    pub(super) fn is_contended(&self, now: Duration) -> bool {
        self.halved_at
            .is_some_and(|at| now < at + CONTENTION_TIMEOUT)
    }

    /// Applies a response without limit headers.
    pub(super) const fn update_without_limits(&mut self) {
        if self.halved_at.is_none() {
            self.share = 1.0;
        }
    }

    /// Applies the limit headers of a response.
    pub(super) fn update(&mut self, now: Duration, full_rate: f64, usage: LimitUsage) {
        self.has_limit_headers = true;
        self.bucket
            .refill(now, self.background_rate(full_rate), BACKGROUND_BURST);
        // By time, not by response: a slow process would stay slow.
        let step = INCREASE_PER_SECOND * now.saturating_sub(self.updated_at).as_secs_f64();
        self.updated_at = now;
        let own = f64::from(u32::try_from(self.recent_sends.len()).unwrap_or(u32::MAX));
        let limit = usage.limit / usage.window.as_secs_f64() / full_rate;
        let is_shared = usage.limit - usage.remaining > own;
        if is_shared {
            self.noticed_at = Some(now);
        }
        if is_shared || usage.remaining < usage.reserved {
            if self.halved_at.is_none_or(|at| now >= at + usage.window) {
                self.halve(now);
                self.share = self.share.max((MIN_CONTENDED_SHARE * limit).min(1.0));
            }
        } else if self.halved_at.is_none() {
            self.share *= 2.0;
        } else {
            self.share += step;
        }
        let max_share = if self.is_contended(now) {
            MAX_CONTENDED_SHARE * limit
        } else {
            1.0
        };
        self.share = self.share.min(max_share).min(1.0);
    }

    /// Halves the rate after a refused request.
    pub(super) fn halve_after_refusal(&mut self, now: Duration) {
        self.noticed_at = Some(now);
        self.halve(now);
    }

    /// Halves the rate: others use the limit, or too little of it is left.
    fn halve(&mut self, now: Duration) {
        self.halved_at = Some(now);
        self.share = (self.share / 2.0).max(MIN_SHARE);
        self.bucket.cap(0.0);
    }
}

/// Returns how long the service may count a request after it was sent:
/// a little more than a window, because the window starts when the request arrives.
fn counting_period(window: Duration) -> Duration {
    window + window / 16
}
