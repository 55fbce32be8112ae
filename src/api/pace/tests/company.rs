//! Eight people with homes of their own on one service, which counts in one way or another.

#![expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "a simulation counts to a few hundred")]

use std::collections::VecDeque;

use super::*;

/// How the service counts.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Counts {
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
const WAY: f64 = 0.02;
/// The step of the simulation.
const STEP: f64 = 0.005;

struct Service {
    counts: Counts,
    /// When the requests came.
    came: Vec<f64>,
    refused: usize,
    bucket: f64,
    filled_at: f64,
}

impl Service {
    fn new(counts: Counts) -> Self {
        Self { counts, came: Vec::new(), refused: 0, bucket: f64::from(LIMIT), filled_at: 0.0 }
    }

    /// Answers with what is left, or refuses.
    fn answer(&mut self, now: f64) -> Result<u32, ()> {
        let since = if self.counts == Counts::Windows { now.floor() } else { now - 1.0 };
        self.bucket = (self.bucket + (now - self.filled_at) * f64::from(LIMIT)).min(f64::from(LIMIT));
        self.filled_at = now;
        let left = match self.counts {
            Counts::Windows | Counts::Sliding => f64::from(LIMIT) - self.came.iter().filter(|came| **came >= since).count() as f64,
            Counts::Bucket => self.bucket,
        };
        self.came.push(now);
        if left < 1.0 {
            self.refused += 1;
            return Err(());
        }
        self.bucket -= 1.0;
        Ok((left - 1.0) as u32)
    }

    /// The most that came in any second.
    fn peak(&self) -> usize {
        self.came.iter().map(|begin| self.came.iter().filter(|came| **came >= *begin && **came < begin + 1.0).count()).max().unwrap_or(0)
    }

    /// Whether nothing was refused and in no second came more than the limit. A bucket may hold a whole second's requests beside those that flow in meanwhile.
    fn keeps_within(&self) -> bool {
        self.refused == 0 && (self.counts == Counts::Bucket || self.peak() <= LIMIT as usize)
    }

    fn mean(&self, from: f64, to: f64) -> f64 {
        self.came.iter().filter(|came| **came >= from && **came < to).count() as f64 / (to - from)
    }
}

/// Numbers from 0 to 1 that look random.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }
}

/// What somebody is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Doing {
    /// Mirroring everything, one page after the other.
    Mirroring,
    /// Reading: an email every few seconds, and new mail every half a minute.
    Reading,
    /// Only new mail every half a minute.
    Idling,
}

struct Person {
    doing: Doing,
    pace: Pace,
    waiting: Vec<Place>,
    /// Requests on their way, by when they arrive.
    sent: VecDeque<f64>,
    /// Answers on their way.
    answers: VecDeque<(f64, Result<u32, ()>)>,
    looks_at: f64,
    reads_at: f64,
    got: u32,
}

impl Person {
    fn new(doing: Doing, begins: f64) -> Self {
        let never = f64::INFINITY;
        let (looks_at, reads_at) = match doing {
            Doing::Mirroring => (never, never),
            Doing::Reading => (begins, begins + 0.1),
            Doing::Idling => (begins, never),
        };
        let mut pace = Pace::new(Rate::default());
        let waiting = if doing == Doing::Mirroring { vec![pace.join(Urgency::Extend)] } else { Vec::new() };
        Self { doing, pace, waiting, sent: VecDeque::new(), answers: VecDeque::new(), looks_at, reads_at, got: 0 }
    }

    fn step(&mut self, now: f64, service: &mut Service, chance: &mut Chance) {
        if now >= self.looks_at {
            let urgency = if self.looks_at < 1.0 { Urgency::Person } else { Urgency::Head };
            self.waiting.push(self.pace.join(urgency));
            self.looks_at += 30.0 * (1.0 + chance.next() / 4.0);
        }
        if now >= self.reads_at {
            // The email that is shown first is nothing that anybody has asked for.
            let urgency = if self.reads_at < 1.0 { Urgency::Extend } else { Urgency::Person };
            self.waiting.push(self.pace.join(urgency));
            self.reads_at += 3.0 + 4.0 * chance.next();
        }
        while self.answers.front().is_some_and(|(at, _)| *at <= now) {
            let answer = self.answers.pop_front().unwrap().1;
            self.pace.learn(S(now), limits(LIMIT, answer.unwrap_or(0), 1.0), chance.next());
            match answer {
                Ok(_) => self.got += 1,
                Err(()) => self.pace.refuse(S(now), Some(S(1.0)), chance.next()),
            }
            if self.doing == Doing::Mirroring {
                self.waiting.push(self.pace.join(Urgency::Extend));
            }
        }
        let mut n = 0;
        while n < self.waiting.len() {
            if self.pace.ask(S(now), self.waiting[n], chance.next()) == Turn::Go {
                self.waiting.remove(n);
                self.sent.push_back(now + WAY);
                n = 0;
            } else {
                n += 1;
            }
        }
        while self.sent.front().is_some_and(|at| *at <= now) {
            let at = self.sent.pop_front().unwrap();
            self.answers.push_back((at + WAY, service.answer(at)));
        }
    }
}

/// Lets them all begin within `spread` seconds, and go on for `seconds`.
fn together(counts: Counts, doing: &[Doing], spread: f64, seconds: u32, seed: u64) -> (Service, Vec<Person>) {
    let mut chance = Chance(seed);
    (0..8).for_each(|_| _ = chance.next());
    let mut service = Service::new(counts);
    let begins: Vec<f64> = doing.iter().map(|_| chance.next() * spread).collect();
    let mut people: Vec<Person> = doing.iter().zip(&begins).map(|(doing, begins)| Person::new(*doing, *begins)).collect();
    for step in 0..seconds * 200 {
        let now = f64::from(step) * STEP;
        for (person, _) in people.iter_mut().zip(&begins).filter(|(_, begins)| **begins <= now) {
            person.step(now, &mut service, &mut chance);
        }
    }
    (service, people)
}

const WAYS: [Counts; 3] = [Counts::Windows, Counts::Sliding, Counts::Bucket];

#[test]
fn eight_who_mirror_at_once_stay_within_the_limit_and_leave_half_of_it_free() {
    for counts in WAYS {
        for (seed, spread) in [(1, 0.2), (2, 0.2), (3, 1.0), (4, 5.0), (5, 30.0)] {
            let (service, people) = together(counts, &[Doing::Mirroring; 8], spread, 120, seed);
            let told = format!("{counts:?} {seed}: peak {}, mean {:.2}", service.peak(), service.mean(0.0, 120.0));
            assert!(service.keeps_within(), "{told}");
            assert!(service.mean(spread, 120.0) <= 5.0, "{told}");
            assert!(service.mean(spread, 120.0) >= 2.0, "the limit is there to be used: {told}");
            let fewest = people.iter().map(|person| person.got).min().unwrap();
            let most = people.iter().map(|person| person.got).max().unwrap();
            assert!(fewest * 4 >= most, "{told}: from {fewest} to {most} each");
        }
    }
}

#[test]
fn eight_who_read_and_two_of_whom_mirror_do_so_too() {
    let mut doing = [Doing::Reading; 8];
    doing[..2].fill(Doing::Mirroring);
    for counts in WAYS {
        for (seed, spread) in [(1, 0.2), (2, 1.0), (3, 10.0)] {
            let (service, _) = together(counts, &doing, spread, 120, seed);
            let told = format!("{counts:?} {seed}: peak {}, mean {:.2}", service.peak(), service.mean(0.0, 120.0));
            assert!(service.keeps_within(), "{told}");
            assert!(service.mean(spread, 120.0) <= 5.0, "{told}");
        }
    }
}

#[test]
fn who_mirrors_beside_idle_colleagues_goes_on_decently() {
    let mut doing = [Doing::Idling; 8];
    doing[0] = Doing::Mirroring;
    for counts in WAYS {
        let (_, people) = together(counts, &doing, 20.0, 240, 3);
        assert!(people[0].got >= 150, "{counts:?}: {}", people[0].got);
    }
}

#[test]
fn one_alone_has_the_whole_rate_at_once_and_again_after_company() {
    for counts in WAYS {
        let (service, _) = together(counts, &[Doing::Mirroring], 0.0, 180, 7);
        assert!(service.mean(0.0, 180.0) >= 2.0 / 1.03, "{counts:?}: {:.3}", service.mean(0.0, 180.0));
        let mut chance = Chance(7);
        let (_, mut people) = together(counts, &[Doing::Mirroring; 8], 0.2, 60, 7);
        let mut service = Service::new(counts);
        for step in 60 * 200..180 * 200 {
            people[0].step(f64::from(step) * STEP, &mut service, &mut chance);
        }
        assert!(service.mean(140.0, 180.0) >= 1.9, "{counts:?}: {:.2}", service.mean(140.0, 180.0));
    }
}
