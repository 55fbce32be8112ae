//! `Calendar`: when each email of the mailbox was accepted, and how many there are by now.

use jiff::{SignedDuration, Timestamp, civil::Weekday, tz::TimeZone};

use super::rng::{Rng, Stream};

/// How far back the mailbox reaches, in hours.
const HISTORY_HOURS: i64 = 90 * 24;

/// The time between two arrivals while the mailbox is served, on average; the truth is up to a
/// third of it shorter or longer.
const ARRIVAL_MICROS: i64 = 30_000_000;
const JITTER_MICROS: u64 = 10_000_000;

/// How many of the emails present at the start came at that pace already, at most, so that the top
/// of a fresh mailbox shows mail in motion.
const MAX_STEADY_AT_START: u64 = 48;

const HOUR_MICROS: u128 = 3_600_000_000;

/// How much mail goes out in each hour of a day (UTC): business hours and a bump in the evening.
const BY_HOUR: [u16; 24] = [
    6, 4, 3, 3, 4, 8, 20, 45, 80, 95, 100, 92, 70, 84, 96, 90, 78, 60, 48, 44, 40, 28, 16, 9,
];

/// How much of that goes out on a day of the week, in percent, Monday first.
const BY_DAY: [u16; 7] = [110, 105, 100, 100, 90, 42, 34];

/// Email number to time and time to number, both without a walk.
///
/// Numbers grow with time. The older emails follow the rhythm of a working week over 90 days; the
/// last few, and all that are still to come, follow a steady pace.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    seed: u64,
    emails: u64,
    start: Timestamp,
    /// The first number that follows the pace.
    first_steady: u64,
    /// The mail of all hours before each hour of the 90 days, and at the end of all.
    cumulative_weights: Vec<u128>,
}

impl Schedule {
    pub(super) fn new(seed: u64, emails: u32, start: Timestamp) -> Self {
        let emails = u64::from(emails);
        let mut calendar = Self {
            seed,
            emails,
            start,
            first_steady: emails - MAX_STEADY_AT_START.min(emails / 8),
            cumulative_weights: Vec::new(),
        };
        let begin = calendar.history_start();
        let weights =
            (0..HISTORY_HOURS).map(|hour| hourly_weight(begin + SignedDuration::from_hours(hour)));
        calendar.cumulative_weights = std::iter::once(0)
            .chain(weights.scan(0, |sum, weight| {
                *sum += u128::from(weight) * HOUR_MICROS;
                Some(*sum)
            }))
            .collect();
        calendar
    }

    /// How many emails there are at `now`. A clock set back below the start loses none of the first.
    pub(super) fn count_at(&self, now: Timestamp) -> u64 {
        let served = now.duration_since(self.start).max(SignedDuration::ZERO);
        let whole = u64::try_from(served.as_micros() / i128::from(ARRIVAL_MICROS))
            .expect("a time after the start is not negative");
        let next = self.emails + whole;
        next + u64::from(self.accepted_at(next) <= self.start + served)
    }

    /// When an email was, or will be, accepted. Strictly later for a higher number.
    pub(super) fn accepted_at(&self, number: u64) -> Timestamp {
        let mut chance = Rng::new(self.seed, number, Stream::AcceptedAt);
        if number >= self.first_steady {
            let steps = number.cast_signed() + 1 - self.emails.cast_signed();
            let early = SignedDuration::from_micros(chance.below(JITTER_MICROS).cast_signed());
            return self.start + SignedDuration::from_micros(ARRIVAL_MICROS * steps) - early;
        }
        // The email stands somewhere in its own share of all mail, never near the edge of the share.
        let all = self.cumulative_weights[HISTORY_HOURS as usize];
        let share = u128::from(number) * 1024 + u128::from(chance.between(100, 924));
        let place = all * share / (u128::from(self.first_steady) * 1024);
        let hour = self.cumulative_weights.partition_point(|sum| *sum <= place) - 1;
        let rate =
            (self.cumulative_weights[hour + 1] - self.cumulative_weights[hour]) / HOUR_MICROS;
        let micros = hour as u128 * HOUR_MICROS + (place - self.cumulative_weights[hour]) / rate;
        self.history_start() + SignedDuration::from_micros(micros as i64)
    }

    /// When the oldest hour begins.
    fn history_start(&self) -> Timestamp {
        let paced = (self.emails - self.first_steady).cast_signed();
        self.start
            - SignedDuration::from_micros(ARRIVAL_MICROS * paced)
            - SignedDuration::from_hours(HISTORY_HOURS)
    }
}

fn hourly_weight(at: Timestamp) -> u16 {
    let civil = at.to_zoned(TimeZone::UTC).datetime();
    let day: Weekday = civil.weekday();
    let (day, hour) = (day.to_monday_zero_offset(), civil.hour());
    BY_HOUR[usize::from(hour.unsigned_abs())] * BY_DAY[usize::from(day.unsigned_abs())] / 100 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn start() -> Timestamp {
        "2026-11-20T09:41:07Z".parse().unwrap()
    }

    #[test]
    fn ninety_days_are_filled_and_follow_the_week() {
        let calendar = Schedule::new(1, 20_000, start());
        let oldest = calendar.accepted_at(0);
        assert!(start().duration_since(oldest) > SignedDuration::from_hours(24 * 89));
        assert!(start().duration_since(oldest) < SignedDuration::from_hours(24 * 91));
        let at = |n| calendar.accepted_at(n).to_zoned(TimeZone::UTC);
        let weekend = (0..20_000)
            .filter(|n| at(*n).weekday().to_monday_zero_offset() > 4)
            .count();
        let night = (0..20_000).filter(|n| at(*n).hour() < 5).count();
        assert!((1000..3500).contains(&weekend), "{weekend}");
        assert!((100..1000).contains(&night), "{night}");
    }

    #[test]
    fn mail_arrives_every_twenty_to_forty_seconds() {
        let calendar = Schedule::new(1, 2000, start());
        assert_eq!(calendar.count_at(start()), 2000);
        assert_eq!(
            calendar.count_at(start() - SignedDuration::from_hours(1)),
            2000
        );
        for number in 1960..2200 {
            let gap = calendar
                .accepted_at(number + 1)
                .duration_since(calendar.accepted_at(number));
            assert!((20..=40).contains(&gap.as_secs()), "{gap:?}");
        }
    }

    proptest! {
        #[test]
        fn a_higher_number_is_strictly_later(seed: u64, emails in prop_oneof![0..300_u32, any::<u32>()], number: u32) {
            let calendar = Schedule::new(seed, emails, start());
            let number = u64::from(number) % (u64::from(emails) + 100);
            prop_assert!(calendar.accepted_at(number) < calendar.accepted_at(number + 1));
        }

        #[test]
        fn the_count_is_the_number_of_emails_accepted(seed: u64, emails in 0..3000_u32, seconds in 0..100_000_i64) {
            let calendar = Schedule::new(seed, emails, start());
            let now = start() + SignedDuration::from_millis(seconds * 977);
            let count = calendar.count_at(now);
            prop_assert!(count == 0 || calendar.accepted_at(count - 1) <= now);
            prop_assert!(calendar.accepted_at(count) > now);
        }
    }
}
