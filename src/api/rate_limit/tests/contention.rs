//! Eight people with homes of their own on one service, which counts in one way or another.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a simulation counts to a few hundred"
)]

use std::collections::VecDeque;

use super::*;

/// How the service counts.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LimitWindow {
    /// In windows that begin anew every second.
    Windows,
    /// What came in the last second.
    Sliding,
    /// In a bucket that fills up steadily.
    Bucket,
}

/// Requests a second that the service allows.
const LIMIT: u32 = 10;
/// From a request to the service, and back.
const LATENCY: f64 = 0.02;
/// The step of the simulation.
const STEP: f64 = 0.005;

struct SimulatedService {
    counts: LimitWindow,
    /// When the requests came.
    came: Vec<f64>,
    /// When it refused one.
    refused: Vec<f64>,
    bucket: f64,
    filled_at: f64,
}

impl SimulatedService {
    fn new(counts: LimitWindow) -> Self {
        Self {
            counts,
            came: Vec::new(),
            refused: Vec::new(),
            bucket: f64::from(LIMIT),
            filled_at: 0.0,
        }
    }

    /// Answers with what is left, or refuses.
    fn answer(&mut self, now: f64) -> Result<u32, ()> {
        let since = if self.counts == LimitWindow::Windows {
            now.floor()
        } else {
            now - 1.0
        };
        self.bucket =
            (self.bucket + (now - self.filled_at) * f64::from(LIMIT)).min(f64::from(LIMIT));
        self.filled_at = now;
        let left = match self.counts {
            LimitWindow::Windows | LimitWindow::Sliding => {
                f64::from(LIMIT) - self.came.iter().filter(|came| **came >= since).count() as f64
            }
            LimitWindow::Bucket => self.bucket,
        };
        self.came.push(now);
        if left < 1.0 {
            self.refused.push(now);
            return Err(());
        }
        self.bucket -= 1.0;
        Ok((left - 1.0) as u32)
    }

    /// The most that came in any second.
    fn peak(&self) -> usize {
        self.came
            .iter()
            .map(|begin| {
                self.came
                    .iter()
                    .filter(|came| **came >= *begin && **came < begin + 1.0)
                    .count()
            })
            .max()
            .unwrap_or(0)
    }

    /// Whether nothing was refused and in no second came more than the limit. A bucket may hold a whole second's requests beside those that flow in meanwhile.
    fn keeps_within(&self) -> bool {
        self.refused.is_empty()
            && (self.counts == LimitWindow::Bucket || self.peak() <= LIMIT as usize)
    }

    fn mean(&self, from: f64, to: f64) -> f64 {
        self.came
            .iter()
            .filter(|came| **came >= from && **came < to)
            .count() as f64
            / (to - from)
    }
}

/// Numbers from 0 to 1 that look random.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }
}

/// What somebody is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Activity {
    /// Mirroring everything, one page after the other.
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
    /// What waits, and how often it was refused before.
    waiting: Vec<(QueuePosition, u32)>,
    /// Requests on their way, by when they arrive.
    sent: VecDeque<(f64, u32)>,
    /// Answers on their way.
    answers: VecDeque<(f64, Result<u32, ()>, u32)>,
    looks_at: f64,
    reads_at: f64,
    got: u32,
    /// Requests that were refused as often as the screen tries them.
    failed: u32,
}

impl SimulatedUser {
    fn new(doing: Activity, begins: f64) -> Self {
        let never = f64::INFINITY;
        let (looks_at, reads_at) = match doing {
            Activity::Mirroring => (never, never),
            Activity::Reading | Activity::Busy => (begins, begins + 0.1),
            Activity::Idling => (begins, never),
        };
        let mut pace = LimiterState::new(Rate::default());
        let waiting = if doing == Activity::Mirroring {
            vec![(pace.enqueue(Priority::Backfill), 0)]
        } else {
            Vec::new()
        };
        Self {
            activity: doing,
            limiter: pace,
            waiting,
            sent: VecDeque::new(),
            answers: VecDeque::new(),
            looks_at,
            reads_at,
            got: 0,
            failed: 0,
        }
    }

    fn step(&mut self, now: f64, service: &mut SimulatedService, chance: &mut Lcg) {
        if now >= self.looks_at {
            let urgency = if self.looks_at < 1.0 {
                Priority::Interactive
            } else {
                Priority::Refresh
            };
            self.waiting.push((self.limiter.enqueue(urgency), 0));
            self.looks_at += 30.0 * (1.0 + chance.next() / 4.0);
        }
        if now >= self.reads_at {
            // The email that is shown first is nothing that anybody has asked for.
            let urgency = if self.reads_at < 1.0 {
                Priority::Backfill
            } else {
                Priority::Interactive
            };
            self.waiting.push((self.limiter.enqueue(urgency), 0));
            self.reads_at += if self.activity == Activity::Busy {
                0.2 + 1.6 * chance.next()
            } else {
                3.0 + 4.0 * chance.next()
            };
            if self.waiting.len() > 2 && self.activity == Activity::Busy {
                // The email that was to be opened before is no longer wanted.
                let (place, _) = self.waiting.remove(0);
                self.limiter.dequeue(place);
            }
        }
        while self.answers.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, answer, refusals) = self.answers.pop_front().unwrap();
            self.limiter.update_limits(
                S(now),
                limits(LIMIT, answer.unwrap_or(0), 1.0),
                chance.next(),
            );
            match answer {
                Ok(_) => self.got += 1,
                Err(()) => self
                    .limiter
                    .on_rate_limited(S(now), Some(S(1.0)), chance.next()),
            }
            if answer.is_err() && self.activity == Activity::Busy {
                if refusals + 1 < RetryPolicy::TUI.max_attempts {
                    self.waiting
                        .push((self.limiter.enqueue(Priority::Interactive), refusals + 1));
                } else {
                    self.failed += 1;
                }
            }
            if self.activity == Activity::Mirroring {
                self.waiting
                    .push((self.limiter.enqueue(Priority::Backfill), 0));
            }
        }
        let mut n = 0;
        while n < self.waiting.len() {
            let (place, refusals) = self.waiting[n];
            if self.limiter.try_acquire(S(now), place, chance.next()) == Decision::Allowed {
                self.waiting.remove(n);
                self.sent.push_back((now + LATENCY, refusals));
                n = 0;
            } else {
                n += 1;
            }
        }
        while self.sent.front().is_some_and(|(at, _)| *at <= now) {
            let (at, refusals) = self.sent.pop_front().unwrap();
            self.answers
                .push_back((at + LATENCY, service.answer(at), refusals));
        }
    }
}

/// Lets them all begin within `spread` seconds, and go on for `seconds`.
fn together(
    counts: LimitWindow,
    doing: &[Activity],
    spread: f64,
    seconds: u32,
    seed: u64,
) -> (SimulatedService, Vec<SimulatedUser>) {
    let mut chance = Lcg(seed);
    (0..8).for_each(|_| _ = chance.next());
    let mut service = SimulatedService::new(counts);
    let begins: Vec<f64> = doing.iter().map(|_| chance.next() * spread).collect();
    let mut people: Vec<SimulatedUser> = doing
        .iter()
        .zip(&begins)
        .map(|(doing, begins)| SimulatedUser::new(*doing, *begins))
        .collect();
    for step in 0..seconds * 200 {
        let now = f64::from(step) * STEP;
        for (person, _) in people
            .iter_mut()
            .zip(&begins)
            .filter(|(_, begins)| **begins <= now)
        {
            person.step(now, &mut service, &mut chance);
        }
    }
    (service, people)
}

const WAYS: [LimitWindow; 3] = [
    LimitWindow::Windows,
    LimitWindow::Sliding,
    LimitWindow::Bucket,
];

#[test]
fn eight_who_mirror_at_once_stay_within_the_limit_and_leave_half_of_it_free() {
    for counts in WAYS {
        for (seed, spread) in [(1, 0.2), (2, 0.2), (3, 1.0), (4, 5.0), (5, 30.0)] {
            let (service, people) = together(counts, &[Activity::Mirroring; 8], spread, 120, seed);
            let told = format!(
                "{counts:?} {seed}: peak {}, mean {:.2}",
                service.peak(),
                service.mean(0.0, 120.0)
            );
            assert!(service.keeps_within(), "{told}");
            assert!(service.mean(spread, 120.0) <= 5.0, "{told}");
            assert!(
                service.mean(spread, 120.0) >= 2.0,
                "the limit is there to be used: {told}"
            );
            let fewest = people.iter().map(|person| person.got).min().unwrap();
            let most = people.iter().map(|person| person.got).max().unwrap();
            assert!(fewest * 4 >= most, "{told}: from {fewest} to {most} each");
        }
    }
}

#[test]
fn eight_who_read_and_two_of_whom_mirror_do_so_too() {
    let mut doing = [Activity::Reading; 8];
    doing[..2].fill(Activity::Mirroring);
    for counts in WAYS {
        for (seed, spread) in [(1, 0.2), (2, 1.0), (3, 10.0)] {
            let (service, _) = together(counts, &doing, spread, 120, seed);
            let told = format!(
                "{counts:?} {seed}: peak {}, mean {:.2}",
                service.peak(),
                service.mean(0.0, 120.0)
            );
            assert!(service.keeps_within(), "{told}");
            assert!(service.mean(spread, 120.0) <= 5.0, "{told}");
        }
    }
}

#[test]
fn eight_busy_screens_are_seldom_refused() {
    for counts in WAYS {
        for (seed, spread) in [(1, 0.2), (2, 1.0), (3, 10.0), (4, 5.0), (5, 0.0), (6, 30.0)] {
            let (service, people) = together(counts, &[Activity::Busy; 8], spread, 310, seed);
            let late = service.refused.iter().filter(|at| **at >= 10.0).count();
            let failed: u32 = people.iter().map(|person| person.failed).sum();
            let mean = service.mean(10.0, 310.0);
            let fewest = people.iter().map(|person| person.got).min().unwrap();
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
fn one_busy_screen_gets_what_it_requests() {
    for counts in WAYS {
        let (service, people) = together(counts, &[Activity::Busy], 0.0, 310, 3);
        assert!(
            service.refused.is_empty() && people[0].got >= 290,
            "{counts:?}: {}",
            people[0].got
        );
    }
}

#[test]
fn who_mirrors_beside_idle_colleagues_goes_on_decently() {
    let mut doing = [Activity::Idling; 8];
    doing[0] = Activity::Mirroring;
    for counts in WAYS {
        let (_, people) = together(counts, &doing, 20.0, 240, 3);
        assert!(people[0].got >= 150, "{counts:?}: {}", people[0].got);
    }
}

#[test]
fn one_alone_has_the_whole_rate_at_once_and_again_after_company() {
    for counts in WAYS {
        let (service, _) = together(counts, &[Activity::Mirroring], 0.0, 180, 7);
        assert!(
            service.mean(0.0, 180.0) >= 2.0 / 1.03,
            "{counts:?}: {:.3}",
            service.mean(0.0, 180.0)
        );
        let mut chance = Lcg(7);
        let (_, mut people) = together(counts, &[Activity::Mirroring; 8], 0.2, 60, 7);
        let mut service = SimulatedService::new(counts);
        for step in 60 * 200..180 * 200 {
            people[0].step(f64::from(step) * STEP, &mut service, &mut chance);
        }
        assert!(
            service.mean(140.0, 180.0) >= 1.9,
            "{counts:?}: {:.2}",
            service.mean(140.0, 180.0)
        );
    }
}
