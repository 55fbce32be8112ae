//! `Fate`: what becomes of an email, and when: all of it is settled as soon as it is accepted.

use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};

use super::rng::{Rng, mix64};

/// How readers take a letter, in permille.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Engagement {
    /// Of those that were delivered.
    pub(super) opened_permille: u64,
    /// Of those that were opened.
    pub(super) clicked_permille: u64,
}

/// The events of one email with their times, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lifecycle {
    events: Vec<(Timestamp, &'static str)>,
    scheduled_at: Option<Timestamp>,
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl Lifecycle {
    /// Draws the fate of an email. The [`lot`] says how delivery goes; `may_wait`, that letters of its
    /// kind are scheduled at times.
    pub(super) fn generate(
        accepted: Timestamp,
        lot: u64,
        appeal: Engagement,
        may_wait: bool,
        chance: &mut Rng,
    ) -> Self {
        let mut fate = Self {
            events: Vec::with_capacity(6),
            scheduled_at: None,
        };
        if may_wait && chance.is_in_permille(220) {
            let due = draw_scheduled_at(accepted, chance);
            fate.scheduled_at = Some(due);
            fate.events.push((accepted, "scheduled"));
            if chance.is_in_permille(180) {
                let waited = due.duration_since(accepted) * chance.between(100, 900) as i32 / 1000;
                fate.events.push((accepted + waited, "canceled"));
                return fate;
            }
        }
        fate.events
            .push((fate.scheduled_at.unwrap_or(accepted), "queued"));
        fate.add_delivery(lot, appeal, chance);
        fate
    }

    /// The latest event at `now`. The first one stands from the beginning.
    pub(super) fn event_at(&self, now: Timestamp) -> &'static str {
        let past = self.events.iter().rfind(|(at, _)| *at <= now);
        past.or(self.events.first())
            .expect("every email has at least been accepted")
            .1
    }

    /// When it is, or was, to be sent, if not at once.
    pub(super) const fn scheduled_at(&self) -> Option<Timestamp> {
        self.scheduled_at
    }

    /// From the queue to wherever it ends.
    fn add_delivery(&mut self, lot: u64, appeal: Engagement, chance: &mut Rng) {
        match lot {
            // A batch that nobody has released yet.
            0..4 => return,
            4..16 => return self.add_event("suppressed", 1..=3, chance),
            16..24 => return self.add_event("failed", 2..=20, chance),
            _ => self.add_event("sent", 2..=40, chance),
        }
        match lot {
            // Their server has never answered.
            0..30 => return,
            30..60 => return self.add_event("bounced", 2..=30, chance),
            60..110 => self.add_event("delivery_delayed", 5..=60, chance),
            _ => self.add_event("delivered", 2..=90, chance),
        }
        match lot {
            0..70 => return self.add_event("bounced", DAY..=3 * DAY, chance),
            70..110 => self.add_event("delivered", 40 * MINUTE..=3 * DAY, chance),
            110..114 => return self.add_event("complained", 10 * MINUTE..=DAY, chance),
            _ => {}
        }
        if chance.is_in_permille(appeal.opened_permille) {
            self.add_event("opened", 15..=2 * DAY, chance);
            if chance.is_in_permille(appeal.clicked_permille) {
                self.add_event("clicked", 5..=HOUR, chance);
            }
        }
    }

    /// Adds an event some seconds after the last one.
    fn add_event(&mut self, event: &'static str, seconds: RangeInclusive<u64>, chance: &mut Rng) {
        let (last, _) = self
            .events
            .last()
            .expect("an email is queued before anything else happens to it");
        let wait = chance.log_uniform(*seconds.start(), *seconds.end()) * 1000 + chance.below(1000);
        self.events.push((
            *last + SignedDuration::from_millis(wait.cast_signed()),
            event,
        ));
    }
}

/// A number below a thousand that decides how delivery goes.
///
/// Stepping by the golden ratio spreads the lots evenly, so that trouble shows among the few emails
/// of the last minutes too, whatever the seed.
pub(super) const fn delivery_draw(seed: u64, number: u64) -> u64 {
    (number % 1000 * 619 + mix64(seed) % 1000) % 1000
}

/// When a scheduled email is to be sent. People schedule for whole minutes.
fn draw_scheduled_at(accepted: Timestamp, chance: &mut Rng) -> Timestamp {
    let wait = chance.log_uniform(10 * MINUTE, 5 * DAY) / MINUTE + 1;
    let minute = accepted.as_second().div_euclid(60) + wait.cast_signed();
    Timestamp::from_second(minute * 60).expect("a few days from now are in range")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::rng::Stream;
    use super::*;
    use crate::mail::Status;

    const APPEAL: Engagement = Engagement {
        opened_permille: 500,
        clicked_permille: 400,
    };

    /// What may follow what; an end is followed by nothing.
    fn may_follow(before: &Status, after: &Status) -> bool {
        use Status::*;
        match before {
            Scheduled => matches!(after, Canceled | Queued),
            Queued => matches!(after, Sent | Failed | Suppressed),
            Sent => matches!(after, DeliveryDelayed | Delivered | Bounced),
            DeliveryDelayed => matches!(after, Delivered | Bounced),
            Delivered => matches!(after, Opened | Complained),
            Opened => matches!(after, Clicked),
            Canceled | Failed | Suppressed | Bounced | Clicked | Complained | Unknown
            | Other(_) => false,
        }
    }

    #[test]
    fn events_happen_in_their_natural_order_and_all_of_them_happen() {
        let accepted: Timestamp = "2026-11-20T09:41:07.25Z".parse().unwrap();
        let mut seen = BTreeSet::new();
        for number in 0..5000 {
            let fate = Lifecycle::generate(
                accepted,
                delivery_draw(3, number),
                APPEAL,
                number % 4 == 0,
                &mut Rng::new(3, number, Stream::Lifecycle),
            );
            assert_eq!(
                fate.event_at(accepted - SignedDuration::from_secs(1)),
                fate.events[0].1
            );
            for pair in fate.events.windows(2) {
                let [(earlier, before), (later, after)] = pair else {
                    panic!("windows of two")
                };
                assert!(
                    earlier < later && may_follow(&Status::parse(before), &Status::parse(after)),
                    "{fate:?}"
                );
                assert_eq!(fate.event_at(*later), *after);
            }
            seen.extend(fate.events.iter().map(|(_, event)| *event));
        }
        assert_eq!(seen.len(), Status::KNOWN.len(), "{seen:?}");
    }

    #[test]
    fn a_few_emails_in_a_row_meet_a_delay() {
        for first in 0..1000 {
            let lots: BTreeSet<u64> = (first..first + 48)
                .map(|number| delivery_draw(0, number))
                .collect();
            assert!(lots.range(60..110).next().is_some(), "from {first}");
        }
    }

    #[test]
    fn a_scheduled_email_leaves_at_its_time_or_never() {
        let accepted: Timestamp = "2026-11-20T09:41:07.25Z".parse().unwrap();
        let mut waited = 0;
        for number in 0..1000 {
            let fate = Lifecycle::generate(
                accepted,
                delivery_draw(3, number),
                APPEAL,
                true,
                &mut Rng::new(3, number, Stream::Lifecycle),
            );
            let Some(due) = fate.scheduled_at() else {
                continue;
            };
            waited += 1;
            assert!(due > accepted && due.as_second() % 60 == 0);
            assert_eq!(fate.event_at(accepted), "scheduled");
            assert!(
                matches!(fate.event_at(due), "canceled" | "queued"),
                "{fate:?}"
            );
        }
        assert!((100..400).contains(&waited), "{waited}");
    }
}
