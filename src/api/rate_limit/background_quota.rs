//! Adapts the rate of background requests to the load that others put on the service's limit.
//!
//! The service counts one limit for a whole team: its outgoing mail, and sentbox on other machines. The only
//! signal is `ratelimit-remaining`, which services count differently: in fixed windows, where it is reset each
//! second, or in a bucket, where it stays near the limit until the limit is all but exceeded. In both, more is
//! missing than this process has used itself when others have just sent requests.
//!
//! The rate follows each response, by additive increase and multiplicative decrease (AIMD):
//!
//! - No contention from the start: the full rate after two responses.
//! - First contention: [`LOW_SHARE`] of the limit at once, not when half of the limit is gone. Eight processes
//!   that start in the same second then stay within the limit: each has sent one request before it notices.
//! - Frequent contention: halved or increased towards [`LOW_SHARE`]; ten users at that rate use half of the limit.
//! - Rare contention: increased to [`MEDIUM_SHARE`], which still notices others in a bucket that refills faster.
//! - No contention for [`CONTENTION_TIMEOUT`]: increased to the full rate.
//! - Less than half of the limit left: halved, and paused until the window is over.
//!
//! In a bucket that refills much faster than this process sends, a process that sends all the time sees only
//! itself. Every [`PROBE_INTERVAL_WINDOWS`] it therefore pauses for one window (a probe): what is missing then was
//! used by others. Without limit headers there is nothing to probe.
//!
//! After the first contention, interactive requests use the same rate, but at least [`MIN_INTERACTIVE_SHARE`] of
//! the full rate; eight busy users then use less than half of the limit.

use std::collections::VecDeque;
use std::time::Duration;

use super::bucket::TokenBucket;

/// Requests of others for each own request up to which contention is rare.
const CONTENTION_THRESHOLD: f64 = 0.3;
/// The weight of the latest response in the moving average.
const EWMA_WEIGHT: f64 = 1.0 / 8.0;
/// The rate under frequent contention, as a part of the limit.
const LOW_SHARE: f64 = 1.0 / 20.0;
/// The rate under rare contention, as a part of the limit.
const MEDIUM_SHARE: f64 = 1.0 / 12.0;
/// How long after the last sign of others contention is over.
const CONTENTION_TIMEOUT: Duration = Duration::from_secs(30);
/// The initial, the added and the least rate, as parts of the full rate.
const INITIAL_SHARE: f64 = 1.0 / 4.0;
const INCREASE_PER_SECOND: f64 = 1.0 / 32.0;
const MIN_SHARE: f64 = 1.0 / 64.0;
/// The least rate of interactive requests, as a part of the full rate.
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
    /// How many of them are left.
    pub(super) remaining: f64,
    /// How many of them to leave to others.
    pub(super) reserved: f64,
    pub(super) window: Duration,
}

/// The adaptive rate of background requests.
#[derive(Debug)]
pub(super) struct BackgroundQuota {
    /// The rate, as a part of the full rate.
    share: f64,
    bucket: TokenBucket,
    /// When requests of others were noticed last.
    contention_seen_at: Option<Duration>,
    /// Moving average of the requests of others for each own request.
    contention: f64,
    halved_at: Option<Duration>,
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
            contention_seen_at: None,
            contention: 0.0,
            halved_at: None,
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

    /// Returns the requests a second of all priorities together: the full rate until others are noticed.
    pub(super) fn interactive_rate(&self, full_rate: f64) -> f64 {
        if self.contention_seen_at.is_some() {
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

    /// Takes a token for a background request. `jitter`, a number from 0 to 1, makes the next wait a little
    /// longer or shorter, so that processes that started together drift apart.
    pub(super) fn consume(&mut self, jitter: f64) {
        self.bucket.consume(0.75 + jitter / 2.0);
    }

    /// Records a request of any priority.
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
        self.contention_seen_at
            .is_some_and(|seen| now < seen + CONTENTION_TIMEOUT)
    }

    /// Applies a response without limit headers.
    pub(super) const fn update_without_limits(&mut self) {
        if self.contention_seen_at.is_none() {
            self.share = 1.0;
        }
    }

    /// Applies the limit headers of a response.
    pub(super) fn update(&mut self, now: Duration, full_rate: f64, usage: LimitUsage) {
        let LimitUsage {
            limit,
            remaining,
            reserved,
            window,
        } = usage;
        self.has_limit_headers = true;
        let own = f64::from(u32::try_from(self.recent_sends.len()).unwrap_or(u32::MAX));
        self.bucket
            .refill(now, self.background_rate(full_rate), BACKGROUND_BURST);
        // By time, not by response: a slow process would stay slow.
        let step = INCREASE_PER_SECOND * now.saturating_sub(self.updated_at).as_secs_f64();
        self.updated_at = now;
        let share_of_limit =
            |share: f64| (share * limit / window.as_secs_f64() / full_rate).min(1.0);
        let others = (limit - remaining - own).max(0.0);
        self.contention += (others - self.contention) * EWMA_WEIGHT;
        if others > 0.0 {
            if self.contention_seen_at.replace(now).is_none() {
                (self.share, self.contention) = (share_of_limit(LOW_SHARE), 1.0);
                self.bucket.cap(0.0);
            }
            self.share = self.share.min(share_of_limit(MEDIUM_SHARE));
        }
        if remaining < reserved {
            if self.halved_at.is_none_or(|halved| now >= halved + window) {
                self.halve(now);
                self.halved_at = Some(now);
            }
        } else if self.contention_seen_at.is_some() {
            let target = if self.contention > CONTENTION_THRESHOLD {
                share_of_limit(LOW_SHARE)
            } else if self.is_contended(now) {
                share_of_limit(MEDIUM_SHARE)
            } else {
                1.0
            };
            self.share = if self.share > target {
                target.max(self.share / 2.0)
            } else {
                target.min(self.share + step)
            };
        } else {
            self.share = (self.share * 2.0).min(1.0);
        }
    }

    /// Halves the rate: too much was used, or the service refused a request.
    pub(super) fn halve(&mut self, now: Duration) {
        self.contention_seen_at = Some(now);
        self.share = (self.share / 2.0).max(MIN_SHARE);
        self.bucket.cap(0.0);
    }
}

/// Returns how long the service may count a request after it was sent: a little more than a window, because
/// the window starts when the request arrives.
fn counting_period(window: Duration) -> Duration {
    window + window / 16
}
