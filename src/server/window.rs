//! `Window`: how many requests of the current second are left, which every answer tells the caller.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use jiff::{SignedDuration, Timestamp};

/// The length of a window, in seconds; also what a caller without budget is told to wait.
const WINDOW_SECONDS: i64 = 1;

/// The budget of one second. A window opens with the first request after the last one closed.
#[derive(Debug)]
pub(super) struct RateWindow {
    rate: u32,
    opened_at: Timestamp,
    used: u32,
}

impl RateWindow {
    pub(super) const fn new(rate: u32) -> Self {
        Self {
            rate,
            opened_at: Timestamp::MIN,
            used: 0,
        }
    }

    /// Takes one request out of the budget; false if nothing is left.
    pub(super) fn try_acquire(&mut self, now: Timestamp) -> bool {
        self.reset_if_over(now);
        let granted = self.used < self.rate;
        self.used += u32::from(granted);
        granted
    }

    /// The headers that every answer carries.
    pub(super) fn headers(&mut self, now: Timestamp) -> HeaderMap {
        self.reset_if_over(now);
        let number = |n: i64| HeaderValue::from(n);
        let policy = HeaderValue::try_from(format!("{};w={WINDOW_SECONDS}", self.rate))
            .expect("digits and punctuation make a header");
        [
            ("ratelimit-limit", number(self.rate.into())),
            ("ratelimit-policy", policy),
            (
                "ratelimit-remaining",
                number((self.rate - self.used).into()),
            ),
            ("ratelimit-reset", number(WINDOW_SECONDS)),
        ]
        .into_iter()
        .map(|(name, value)| (HeaderName::from_static(name), value))
        .collect()
    }

    /// A clock that was set back closes the window too, or the caller would wait for a time long gone.
    fn reset_if_over(&mut self, now: Timestamp) {
        let age = now.duration_since(self.opened_at);
        if age >= SignedDuration::from_secs(WINDOW_SECONDS) || age.is_negative() {
            self.opened_at = now;
            self.used = 0;
        }
    }
}

/// What a refused caller is told to wait, in seconds.
pub(super) fn retry_after() -> HeaderValue {
    HeaderValue::from(WINDOW_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(1_795_000_000_000 + millis).unwrap()
    }

    #[test]
    fn the_budget_is_per_second_and_told() {
        let mut window = RateWindow::new(2);
        let remaining =
            |window: &mut RateWindow, now| window.headers(now)["ratelimit-remaining"].clone();
        assert!(window.try_acquire(at(0)));
        assert_eq!(remaining(&mut window, at(10)), "1");
        assert!(window.try_acquire(at(998)));
        assert!(!window.try_acquire(at(999)));
        assert_eq!(remaining(&mut window, at(999)), "0");
        assert!(window.try_acquire(at(1000)));
        assert_eq!(window.headers(at(1000))["ratelimit-policy"], "2;w=1");
    }

    #[test]
    fn a_clock_set_back_does_not_lock_anybody_out() {
        let mut window = RateWindow::new(1);
        assert!(window.try_acquire(at(60_000)));
        assert!(window.try_acquire(at(0)));
    }
}
