//! The time at which each email is accepted, and the number of emails at a time.

use jiff::{SignedDuration, Timestamp, civil::Weekday, tz::TimeZone};

use super::rng::{Rng, Stream};

/// Age of the oldest email, in hours.
const HISTORY_HOURS: i64 = 90 * 24;

/// Mean time between two arrivals while the mailbox is served.
///
/// Each is up to a third shorter or longer.
const ARRIVAL_MICROS: i64 = 30_000_000;
const JITTER_MICROS: u64 = 10_000_000;

/// The most emails before the start that already arrive at that rate.
///
/// So the newest ones still change their status.
const MAX_STEADY_AT_START: u64 = 48;

const HOUR_MICROS: u128 = 3_600_000_000;

/// Relative amount of mail per hour (UTC): business hours, a peak in the evening.
const BY_HOUR: [u16; 24] = [
    6, 4, 3, 3, 4, 8, 20, 45, 80, 95, 100, 92, 70, 84, 96, 90, 78, 60, 48, 44, 40, 28, 16, 9,
];

/// Percentage of that amount per day of the week, Monday first.
const BY_DAY: [u16; 7] = [110, 105, 100, 100, 90, 42, 34];

/// Converts the number of an email to its time, and back, without iterating.
///
/// Numbers grow with time. Older emails are spread over 90 days like working hours; the last few
/// before the start, and all after it, arrive at a steady rate.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    seed: u64,
    emails: u64,
    start: Timestamp,
    /// The first number that arrives at the steady rate.
    first_steady: u64,
    /// Sum of the weights before each hour of the 90 days, and of all hours.
    cumulative_weights: Vec<u128>,
}

impl Schedule {
    pub(super) fn new(seed: u64, emails: u32, start: Timestamp) -> Self {
        let emails = u64::from(emails);
        let mut schedule = Self {
            seed,
            emails,
            start,
            first_steady: emails - MAX_STEADY_AT_START.min(emails / 8),
            cumulative_weights: Vec::new(),
        };
        let begin = schedule.history_start();
        let weights =
            (0..HISTORY_HOURS).map(|hour| hourly_weight(begin + SignedDuration::from_hours(hour)));
        schedule.cumulative_weights = std::iter::once(0)
            .chain(weights.scan(0, |sum, weight| {
                *sum += u128::from(weight) * HOUR_MICROS;
                Some(*sum)
            }))
            .collect();
        schedule
    }

    /// Returns the number of emails at `now`, or at the start if `now` is before it.
    pub(super) fn count_at(&self, now: Timestamp) -> u64 {
        let elapsed = now.duration_since(self.start).max(SignedDuration::ZERO);
        let arrivals = u64::try_from(elapsed.as_micros() / i128::from(ARRIVAL_MICROS))
            .expect("a time after the start is not negative");
        let next = self.emails + arrivals;
        next + u64::from(self.accepted_at(next) <= self.start + elapsed)
    }

    /// Returns the time of an email, past or future.
    ///
    /// It is strictly later for a higher number.
    pub(super) fn accepted_at(&self, number: u64) -> Timestamp {
        let mut rng = Rng::new(self.seed, number, Stream::AcceptedAt);
        if number >= self.first_steady {
            let steps = number.cast_signed() + 1 - self.emails.cast_signed();
            let early = SignedDuration::from_micros(rng.below(JITTER_MICROS).cast_signed());
            return self.start + SignedDuration::from_micros(ARRIVAL_MICROS * steps) - early;
        }
        // Each email has an equal share of the total weight and lies within it, never near its
        // edge.
        let all = self.cumulative_weights[HISTORY_HOURS as usize];
        let share = u128::from(number) * 1024 + u128::from(rng.between(100, 924));
        let position = all * share / (u128::from(self.first_steady) * 1024);
        let hour = self
            .cumulative_weights
            .partition_point(|sum| *sum <= position)
            - 1;
        let rate =
            (self.cumulative_weights[hour + 1] - self.cumulative_weights[hour]) / HOUR_MICROS;
        let micros = hour as u128 * HOUR_MICROS + (position - self.cumulative_weights[hour]) / rate;
        self.history_start() + SignedDuration::from_micros(micros as i64)
    }

    /// Returns the start of the oldest hour.
    fn history_start(&self) -> Timestamp {
        let steady = (self.emails - self.first_steady).cast_signed();
        self.start
            - SignedDuration::from_micros(ARRIVAL_MICROS * steady)
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
    fn mail_covers_90_days_and_follows_working_hours() {
        let schedule = Schedule::new(1, 20_000, start());
        let oldest = schedule.accepted_at(0);
        assert!(start().duration_since(oldest) > SignedDuration::from_hours(24 * 89));
        assert!(start().duration_since(oldest) < SignedDuration::from_hours(24 * 91));
        let at = |n| schedule.accepted_at(n).to_zoned(TimeZone::UTC);
        let weekend = (0..20_000)
            .filter(|n| at(*n).weekday().to_monday_zero_offset() > 4)
            .count();
        let night = (0..20_000).filter(|n| at(*n).hour() < 5).count();
        assert!((1000..3500).contains(&weekend), "{weekend}");
        assert!((100..1000).contains(&night), "{night}");
    }

    #[test]
    fn email_arrives_every_20_to_40_seconds() {
        let schedule = Schedule::new(1, 2000, start());
        assert_eq!(schedule.count_at(start()), 2000);
        assert_eq!(
            schedule.count_at(start() - SignedDuration::from_hours(1)),
            2000
        );
        for number in 1960..2200 {
            let gap = schedule
                .accepted_at(number + 1)
                .duration_since(schedule.accepted_at(number));
            assert!((20..=40).contains(&gap.as_secs()), "{gap:?}");
        }
    }

    proptest! {
        #[test]
        fn higher_number_is_strictly_later(seed: u64, emails in prop_oneof![0..300_u32, any::<u32>()], number: u32) {
            let schedule = Schedule::new(seed, emails, start());
            let number = u64::from(number) % (u64::from(emails) + 100);
            prop_assert!(schedule.accepted_at(number) < schedule.accepted_at(number + 1));
        }

        #[test]
        fn count_equals_number_of_accepted_emails(seed: u64, emails in 0..3000_u32, seconds in 0..100_000_i64) {
            let schedule = Schedule::new(seed, emails, start());
            let now = start() + SignedDuration::from_millis(seconds * 977);
            let count = schedule.count_at(now);
            prop_assert!(count == 0 || schedule.accepted_at(count - 1) <= now);
            prop_assert!(schedule.accepted_at(count) > now);
        }
    }
}
