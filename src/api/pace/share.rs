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

use super::bucket::Bucket;

/// Requests of others for each of our own, as they are noticed, that are no company yet.
const COMPANY: f64 = 0.3;
/// How much the latest answer counts beside those before it.
const LATEST: f64 = 1.0 / 8.0;
/// The modest rate, as a part of the limit.
const MODEST: f64 = 1.0 / 20.0;
/// The decent rate, as a part of the limit.
const DECENT: f64 = 1.0 / 12.0;
/// So long nobody else must have been noticed for this process to be alone again.
const ALONE: Duration = Duration::from_secs(30);
/// What it begins with, the step up in a second, and the least: parts of what this process may use.
const START: f64 = 1.0 / 4.0;
const STEP: f64 = 1.0 / 32.0;
const LEAST: f64 = 1.0 / 64.0;
/// The least for requests that a user waits for.
const INTERACTIVE_LEAST: f64 = 1.0 / 4.0;
/// For so many windows requests may follow each other so closely that a bucket hides others behind them.
const BLIND: u32 = 30;
/// As many may follow each other at once, after a rest.
const MOST: f64 = 2.0;

/// What the service has said, in numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    /// Requests that it allows in a window.
    pub(super) limit: f64,
    /// How many of them are left.
    pub(super) remaining: f64,
    /// How many are to be left for others.
    pub(super) spared: f64,
    /// The length of a window.
    pub(super) window: Duration,
}

/// The rate of requests that nobody waits for.
#[derive(Debug)]
pub(super) struct Share {
    /// It, as a part of what this process may use at all.
    part: f64,
    bucket: Bucket,
    /// When somebody else was noticed last.
    noticed_at: Option<Duration>,
    /// How many requests of others were noticed for each of our own, lately.
    company: f64,
    halved_at: Option<Duration>,
    learnt_at: Duration,
    /// When this process has made its latest requests.
    sent: VecDeque<Duration>,
    /// When there was last a request that no other of this process came shortly before.
    heard_at: Duration,
    /// Whether the service has ever said what is left.
    is_told: bool,
}

impl Share {
    pub(super) const fn new() -> Self {
        Self {
            part: START,
            bucket: Bucket::of(1.0),
            noticed_at: None,
            company: 0.0,
            halved_at: None,
            learnt_at: Duration::ZERO,
            sent: VecDeque::new(),
            heard_at: Duration::ZERO,
            is_told: false,
        }
    }

    /// Requests a second, of the `speed` that this process may use.
    pub(super) fn per_second(&self, speed: f64) -> f64 {
        self.part * speed
    }

    /// Requests a second, interactive ones included: the whole `speed` until others are noticed, and then
    /// the same part as for background requests, but not less than a user can work with.
    pub(super) fn interactive(&self, speed: f64) -> f64 {
        if self.noticed_at.is_some() {
            self.part.max(INTERACTIVE_LEAST) * speed
        } else {
            speed
        }
    }

    /// How long until the next request; zero if it may go now.
    pub(super) fn wait(&mut self, now: Duration, speed: f64, window: Duration) -> Duration {
        let per_second = self.per_second(speed);
        self.bucket.refill(now, per_second, MOST);
        let is_blind = self.is_told && now >= self.heard_at + window * BLIND;
        let lonely = self
            .sent
            .back()
            .filter(|_| is_blind)
            .map(|sent| *sent + counted(window));
        self.bucket
            .wait(1.0, per_second)
            .max(lonely.unwrap_or_default().saturating_sub(now))
    }

    /// A request goes out that nobody waits for. `jitter`, a number from 0 to 1, makes the next distance
    /// a little longer or shorter, so that those who began together drift apart.
    pub(super) fn take(&mut self, jitter: f64) {
        self.bucket.take(0.75 + jitter / 2.0);
    }

    /// A request goes out, whoever wants it.
    pub(super) fn send(&mut self, now: Duration, window: Duration) {
        let since = now.saturating_sub(counted(window));
        while self.sent.front().is_some_and(|sent| *sent <= since) {
            self.sent.pop_front();
        }
        if self.sent.is_empty() {
            self.heard_at = now;
        }
        self.sent.push_back(now);
    }

    /// Whether somebody else was noticed lately.
    pub(super) fn is_in_company(&self, now: Duration) -> bool {
        self.noticed_at.is_some_and(|noticed| now < noticed + ALONE)
    }

    /// An answer that said nothing about the limit.
    pub(super) const fn learn_nothing(&mut self) {
        if self.noticed_at.is_none() {
            self.part = 1.0;
        }
    }

    /// Learns from an answer.
    pub(super) fn learn(&mut self, now: Duration, speed: f64, told: Told) {
        let Told {
            limit,
            remaining,
            spared,
            window,
        } = told;
        self.is_told = true;
        let own = f64::from(u32::try_from(self.sent.len()).unwrap_or(u32::MAX));
        self.bucket.refill(now, self.per_second(speed), MOST);
        // By the time that has passed, not by answers: who is slow would stay slow.
        let step = STEP * now.saturating_sub(self.learnt_at).as_secs_f64();
        self.learnt_at = now;
        let of_limit = |part: f64| (part * limit / window.as_secs_f64() / speed).min(1.0);
        let others = (limit - remaining - own).max(0.0);
        self.company += (others - self.company) * LATEST;
        if others > 0.0 {
            if self.noticed_at.replace(now).is_none() {
                (self.part, self.company) = (of_limit(MODEST), 1.0);
                self.bucket.cap(0.0);
            }
            self.part = self.part.min(of_limit(DECENT));
        }
        if remaining < spared {
            if self.halved_at.is_none_or(|halved| now >= halved + window) {
                self.halve(now);
                self.halved_at = Some(now);
            }
        } else if self.noticed_at.is_some() {
            let most = if self.company > COMPANY {
                of_limit(MODEST)
            } else if self.is_in_company(now) {
                of_limit(DECENT)
            } else {
                1.0
            };
            self.part = if self.part > most {
                most.max(self.part / 2.0)
            } else {
                most.min(self.part + step)
            };
        } else {
            self.part = (self.part * 2.0).min(1.0);
        }
    }

    /// Too much was used, or the service has refused a request for its rate.
    pub(super) fn halve(&mut self, now: Duration) {
        self.noticed_at = Some(now);
        self.part = (self.part / 2.0).max(LEAST);
        self.bucket.cap(0.0);
    }
}

/// How long the service counts a request, seen from here. A little more than a window, because that began
/// when a request arrived there, not when it left here.
fn counted(window: Duration) -> Duration {
    window + window / 16
}
