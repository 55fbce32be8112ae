//! Eight users share one service, which counts the limit in three ways.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a simulation counts to a few hundred"
)]

use std::collections::VecDeque;

use super::*;
use crate::api::RetryPolicy;

/// How the service counts.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LimitWindow {
    /// In fixed windows of a second.
    Fixed,
    /// By the requests of the last second.
    Sliding,
    /// In a bucket that refills steadily.
    Bucket,
}

/// Requests a second that the service allows.
const LIMIT: u32 = 10;
/// From a request to the service, and back.
const LATENCY: f64 = 0.02;
const STEP: f64 = 0.005;

struct SimulatedService {
    counts: LimitWindow,
    arrived: Vec<f64>,
    refused: Vec<f64>,
    bucket: f64,
    filled_at: f64,
}

impl SimulatedService {
    fn new(counts: LimitWindow) -> Self {
        Self {
            counts,
            arrived: Vec::new(),
            refused: Vec::new(),
            bucket: f64::from(LIMIT),
            filled_at: 0.0,
        }
    }

    /// Returns what is left of the limit, or refuses the request.
    fn respond(&mut self, now: f64) -> Result<u32, ()> {
        let since = if self.counts == LimitWindow::Fixed {
            now.floor()
        } else {
            now - 1.0
        };
        self.bucket =
            (self.bucket + (now - self.filled_at) * f64::from(LIMIT)).min(f64::from(LIMIT));
        self.filled_at = now;
        let left = match self.counts {
            LimitWindow::Fixed | LimitWindow::Sliding => {
                f64::from(LIMIT) - self.arrived.iter().filter(|time| **time >= since).count() as f64
            }
            LimitWindow::Bucket => self.bucket,
        };
        self.arrived.push(now);
        if left < 1.0 {
            self.refused.push(now);
            return Err(());
        }
        self.bucket -= 1.0;
        Ok((left - 1.0) as u32)
    }

    /// Counts the requests from one time until another.
    fn count(&self, from: f64, to: f64) -> usize {
        let times = self.arrived.iter();
        times.filter(|time| (from..to).contains(*time)).count()
    }

    /// Returns the most requests of any second.
    fn peak(&self) -> usize {
        let seconds = self
            .arrived
            .iter()
            .map(|start| self.count(*start, start + 1.0));
        seconds.max().unwrap_or(0)
    }

    /// Whether no request was refused and no second had more than the limit.
    /// A bucket may hold the requests of a whole second beside those that it gains meanwhile.
    fn is_within_limit(&self) -> bool {
        self.refused.is_empty()
            && (self.counts == LimitWindow::Bucket || self.peak() <= LIMIT as usize)
    }

    fn mean(&self, from: f64, to: f64) -> f64 {
        self.count(from, to) as f64 / (to - from)
    }

    fn report(&self, name: &str) -> String {
        format!(
            "{name}: peak {}, mean {:.2}",
            self.peak(),
            self.mean(0.0, 120.0)
        )
    }
}

/// A generator of numbers from 0 to 1.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> f64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Activity {
    /// Mirroring the whole mailbox, one page after the other.
    Mirroring,
    /// Reading: an email every few seconds, and new mail every half a minute.
    Reading,
    /// Paging and opening emails about once a second, and new mail every half a minute.
    Busy,
    /// Only new mail every half a minute.
    Idling,
}

struct SimulatedUser {
    activity: Activity,
    limiter: LimiterState,
    /// Waiting requests, and how often each was refused before.
    waiting: Vec<(QueuePosition, u32)>,
    /// Requests by the time of their arrival.
    sent: VecDeque<(f64, u32)>,
    /// Responses by the time of their arrival.
    responses: VecDeque<(f64, Result<u32, ()>, u32)>,
    refresh_at: f64,
    open_at: f64,
    got: u32,
    /// Requests that were refused in all attempts.
    failed: u32,
}

impl SimulatedUser {
    fn new(activity: Activity, starts_at: f64) -> Self {
        let never = f64::INFINITY;
        let (refresh_at, open_at) = match activity {
            Activity::Mirroring => (never, never),
            Activity::Reading | Activity::Busy => (starts_at, starts_at + 0.1),
            Activity::Idling => (starts_at, never),
        };
        let mut limiter = LimiterState::new(Rate::default());
        let waiting = if activity == Activity::Mirroring {
            vec![(limiter.enqueue(Backfill), 0)]
        } else {
            Vec::new()
        };
        Self {
            activity,
            limiter,
            waiting,
            sent: VecDeque::new(),
            responses: VecDeque::new(),
            refresh_at,
            open_at,
            got: 0,
            failed: 0,
        }
    }

    fn enqueue(&mut self, priority: Priority, refusals: u32) {
        let position = self.limiter.enqueue(priority);
        self.waiting.push((position, refusals));
    }

    fn step(&mut self, now: f64, service: &mut SimulatedService, rng: &mut Lcg) {
        if now >= self.refresh_at {
            let is_first = self.refresh_at < 1.0;
            let priority = if is_first { Interactive } else { Refresh };
            self.enqueue(priority, 0);
            self.refresh_at += 30.0 * (1.0 + rng.next() / 4.0);
        }
        if now >= self.open_at {
            // The email that is shown first was not requested by the user.
            let is_first = self.open_at < 1.0;
            let priority = if is_first { Backfill } else { Interactive };
            self.enqueue(priority, 0);
            self.open_at += if self.activity == Activity::Busy {
                0.2 + 1.6 * rng.next()
            } else {
                3.0 + 4.0 * rng.next()
            };
            if self.waiting.len() > 2 && self.activity == Activity::Busy {
                // The email opened before this one is no longer needed.
                let (position, _) = self.waiting.remove(0);
                self.limiter.dequeue(position);
            }
        }
        while self.responses.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, response, refusals) = self.responses.pop_front().unwrap();
            let headers = limits(LIMIT, response.unwrap_or(0), 1.0);
            self.limiter.update_limits(S(now), headers, rng.next());
            match response {
                Ok(_) => self.got += 1,
                Err(()) => (self.limiter).on_rate_limited(S(now), Some(S(1.0)), rng.next()),
            }
            if response.is_err() && self.activity == Activity::Busy {
                if refusals + 1 < RetryPolicy::TUI.max_attempts {
                    self.enqueue(Interactive, refusals + 1);
                } else {
                    self.failed += 1;
                }
            }
            if self.activity == Activity::Mirroring {
                self.enqueue(Backfill, 0);
            }
        }
        let mut n = 0;
        while n < self.waiting.len() {
            let (position, refusals) = self.waiting[n];
            if self.limiter.try_acquire(S(now), position, rng.next()) == Allowed {
                self.waiting.remove(n);
                self.sent.push_back((now + LATENCY, refusals));
                n = 0;
            } else {
                n += 1;
            }
        }
        while self.sent.front().is_some_and(|(at, _)| *at <= now) {
            let (at, refusals) = self.sent.pop_front().unwrap();
            self.responses
                .push_back((at + LATENCY, service.respond(at), refusals));
        }
    }
}

/// Runs users who start within `spread` seconds, for `seconds`.
fn simulate(
    counts: LimitWindow,
    activities: &[Activity],
    spread: f64,
    seconds: u32,
    seed: u64,
) -> (SimulatedService, Vec<SimulatedUser>) {
    let mut rng = Lcg(seed);
    (0..8).for_each(|_| _ = rng.next());
    let mut service = SimulatedService::new(counts);
    let starts: Vec<f64> = activities.iter().map(|_| rng.next() * spread).collect();
    let users = activities.iter().zip(&starts);
    let mut users: Vec<SimulatedUser> = users
        .map(|(activity, start)| SimulatedUser::new(*activity, *start))
        .collect();
    for step in 0..seconds * 200 {
        let now = f64::from(step) * STEP;
        let started = users
            .iter_mut()
            .zip(&starts)
            .filter(|(_, start)| **start <= now);
        for (user, _) in started {
            user.step(now, &mut service, &mut rng);
        }
    }
    (service, users)
}

const ALL_WINDOWS: [LimitWindow; 3] = [
    LimitWindow::Fixed,
    LimitWindow::Sliding,
    LimitWindow::Bucket,
];

#[test]
fn eight_parallel_syncs_stay_below_half_the_limit() {
    for counts in ALL_WINDOWS {
        for (seed, spread) in [(1, 0.2), (2, 0.2), (3, 1.0), (4, 5.0), (5, 30.0)] {
            let (service, users) = simulate(counts, &[Activity::Mirroring; 8], spread, 120, seed);
            let report = service.report(&format!("{counts:?} {seed}"));
            assert!(service.is_within_limit(), "{report}");
            assert!(service.mean(spread, 120.0) <= 5.0, "{report}");
            assert!(
                service.mean(spread, 120.0) >= 2.0,
                "too much of the limit is unused: {report}"
            );
            let fewest = users.iter().map(|user| user.got).min().unwrap();
            let most = users.iter().map(|user| user.got).max().unwrap();
            assert!(fewest * 4 >= most, "{report}: from {fewest} to {most} each");
        }
    }
}

#[test]
fn syncs_and_readers_use_half_the_limit() {
    let mut activities = [Activity::Reading; 8];
    activities[..2].fill(Activity::Mirroring);
    for counts in ALL_WINDOWS {
        for (seed, spread) in [(1, 0.2), (2, 1.0), (3, 10.0)] {
            let (service, _) = simulate(counts, &activities, spread, 120, seed);
            let report = service.report(&format!("{counts:?} {seed}"));
            assert!(service.is_within_limit(), "{report}");
            assert!(service.mean(spread, 120.0) <= 5.0, "{report}");
        }
    }
}

#[test]
fn eight_busy_users_are_seldom_refused() {
    for counts in ALL_WINDOWS {
        for (seed, spread) in [(1, 0.2), (2, 1.0), (3, 10.0), (4, 5.0), (5, 0.0), (6, 30.0)] {
            let (service, users) = simulate(counts, &[Activity::Busy; 8], spread, 310, seed);
            let late = service.refused.iter().filter(|at| **at >= 10.0).count();
            let failed: u32 = users.iter().map(|user| user.failed).sum();
            let mean = service.mean(10.0, 310.0);
            let fewest = users.iter().map(|user| user.got).min().unwrap();
            let report = format!(
                "{counts:?} {seed}: {} refused, {late} late, {failed} failed, mean {mean:.2}, fewest {fewest}",
                service.refused.len()
            );
            assert!(
                late <= 5 && service.refused.len() - late <= 2 && failed == 0,
                "{report}"
            );
            assert!(mean <= 5.0 && fewest >= 60, "{report}");
        }
    }
}

#[test]
fn one_busy_user_is_never_refused() {
    for counts in ALL_WINDOWS {
        let (service, users) = simulate(counts, &[Activity::Busy], 0.0, 310, 3);
        let got = users[0].got;
        assert!(
            service.refused.is_empty() && got >= 290,
            "{counts:?}: {got}"
        );
    }
}

#[test]
fn sync_beside_idle_users_keeps_a_medium_rate() {
    let mut activities = [Activity::Idling; 8];
    activities[0] = Activity::Mirroring;
    for counts in ALL_WINDOWS {
        let (_, users) = simulate(counts, &activities, 20.0, 240, 3);
        assert!(users[0].got >= 150, "{counts:?}: {}", users[0].got);
    }
}

#[test]
fn single_sync_has_full_rate_also_after_contention() {
    for counts in ALL_WINDOWS {
        let (service, _) = simulate(counts, &[Activity::Mirroring], 0.0, 180, 7);
        let mean = service.mean(0.0, 180.0);
        assert!(mean >= 2.0 / 1.03, "{counts:?}: {mean:.3}");
        let mut rng = Lcg(7);
        let (_, mut users) = simulate(counts, &[Activity::Mirroring; 8], 0.2, 60, 7);
        let mut service = SimulatedService::new(counts);
        for step in 60 * 200..180 * 200 {
            users[0].step(f64::from(step) * STEP, &mut service, &mut rng);
        }
        let mean = service.mean(140.0, 180.0);
        assert!(mean >= 1.9, "{counts:?}: {mean:.2}");
    }
}
