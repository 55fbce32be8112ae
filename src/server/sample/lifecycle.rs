//! The events of an email with their times, all drawn when it is accepted.

use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::rng::{Rng, mix64};
use super::template::EmailTemplate;

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
    /// Draws the events of an email. `draw` is its [`delivery_draw`].
    pub(super) fn generate(
        accepted_at: Timestamp,
        draw: u64,
        template: &EmailTemplate,
        rng: &mut Rng,
    ) -> Self {
        let mut lifecycle = Self {
            events: Vec::with_capacity(6),
            scheduled_at: None,
        };
        if template.is_schedulable && rng.is_in_permille(220) {
            let due = draw_scheduled_at(accepted_at, rng);
            lifecycle.scheduled_at = Some(due);
            lifecycle.events.push((accepted_at, "scheduled"));
            if rng.is_in_permille(180) {
                let wait = due.duration_since(accepted_at) * rng.between(100, 900) as i32 / 1000;
                lifecycle.events.push((accepted_at + wait, "canceled"));
                return lifecycle;
            }
        }
        let queued_at = lifecycle.scheduled_at.unwrap_or(accepted_at);
        lifecycle.events.push((queued_at, "queued"));
        lifecycle.add_delivery(draw, template, rng);
        lifecycle
    }

    /// Returns the latest event at `now`, or the first one if `now` is before it.
    pub(super) fn event_at(&self, now: Timestamp) -> &'static str {
        let past = self.events.iter().rfind(|(at, _)| *at <= now);
        past.or(self.events.first())
            .expect("every email has at least been accepted")
            .1
    }

    /// Returns the time of sending of a scheduled email.
    pub(super) const fn scheduled_at(&self) -> Option<Timestamp> {
        self.scheduled_at
    }

    /// Adds the events after `queued`.
    fn add_delivery(&mut self, draw: u64, template: &EmailTemplate, rng: &mut Rng) {
        match draw {
            // A batch that waits for its release.
            0..4 => return,
            4..16 => return self.add_event("suppressed", 1..=3, rng),
            16..24 => return self.add_event("failed", 2..=20, rng),
            _ => self.add_event("sent", 2..=40, rng),
        }
        match draw {
            // The recipient's server never answers.
            0..30 => return,
            30..60 => return self.add_event("bounced", 2..=30, rng),
            60..110 => self.add_event("delivery_delayed", 5..=60, rng),
            _ => self.add_event("delivered", 2..=90, rng),
        }
        match draw {
            0..70 => return self.add_event("bounced", DAY..=3 * DAY, rng),
            70..110 => self.add_event("delivered", 40 * MINUTE..=3 * DAY, rng),
            110..114 => return self.add_event("complained", 10 * MINUTE..=DAY, rng),
            _ => {}
        }
        if rng.is_in_permille(template.opened_permille) {
            self.add_event("opened", 15..=2 * DAY, rng);
            if rng.is_in_permille(template.clicked_permille) {
                self.add_event("clicked", 5..=HOUR, rng);
            }
        }
    }

    /// Adds an event some seconds after the last one.
    fn add_event(&mut self, event: &'static str, seconds: RangeInclusive<u64>, rng: &mut Rng) {
        let (last, _) = self
            .events
            .last()
            .expect("an email is queued before anything else happens to it");
        let wait = rng.log_uniform(*seconds.start(), *seconds.end()) * 1000 + rng.below(1000);
        self.events.push((
            *last + SignedDuration::from_millis(wait.cast_signed()),
            event,
        ));
    }
}

/// Returns a number below a thousand that decides the result of delivery.
///
/// Steps by the golden ratio spread the numbers evenly, so that failures are also among the few
/// emails of the last minutes, for any seed.
pub(super) const fn delivery_draw(seed: u64, number: u64) -> u64 {
    (number % 1000 * 619 + mix64(seed) % 1000) % 1000
}

/// Why an email bounced.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BounceReason {
    message: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    sub_type: &'static str,
    diagnostic_code: [&'static str; 1],
}

impl BounceReason {
    /// Returns the reason for an email with this [`delivery_draw`].
    #[rustfmt::skip] // one reason a line
    pub(super) const fn from_draw(draw: u64) -> Self {
        let (message, kind, sub_type, diagnostic) = match draw {
            0..40 => ("No such mailbox", "Permanent", "NoEmail", "smtp; 550 5.1.1 user unknown"),
            40..60 => ("Refused by the recipient's server", "Permanent", "General", "smtp; 554 5.7.1 refused by policy"),
            _ => ("The mailbox is full", "Transient", "MailboxFull", "smtp; 552 5.2.2 mailbox full"),
        };
        Self { message, kind, sub_type, diagnostic_code: [diagnostic] }
    }
}

/// Draws the time of a scheduled email, in whole minutes, as people choose it.
fn draw_scheduled_at(accepted_at: Timestamp, rng: &mut Rng) -> Timestamp {
    let wait = rng.log_uniform(10 * MINUTE, 5 * DAY) / MINUTE + 1;
    let minute = accepted_at.as_second().div_euclid(60) + wait.cast_signed();
    Timestamp::from_second(minute * 60).expect("a few days from now are in range")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::rng::Stream;
    use super::*;
    use crate::mail::Status;

    fn template(is_schedulable: bool) -> &'static EmailTemplate {
        let mut all = EmailTemplate::all().iter();
        all.find(|template| template.is_schedulable == is_schedulable)
            .unwrap()
    }

    /// Whether the service sends these two events in a row.
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
    fn events_follow_service_order_and_all_occur() {
        let accepted_at: Timestamp = "2026-11-20T09:41:07.25Z".parse().unwrap();
        let mut seen = BTreeSet::new();
        for number in 0..5000 {
            let lifecycle = Lifecycle::generate(
                accepted_at,
                delivery_draw(3, number),
                template(number % 4 == 0),
                &mut Rng::new(3, number, Stream::Lifecycle),
            );
            assert_eq!(
                lifecycle.event_at(accepted_at - SignedDuration::from_secs(1)),
                lifecycle.events[0].1
            );
            for pair in lifecycle.events.windows(2) {
                let [(earlier, before), (later, after)] = pair else {
                    panic!("windows of two")
                };
                assert!(
                    earlier < later && may_follow(&Status::parse(before), &Status::parse(after)),
                    "{lifecycle:?}"
                );
                assert_eq!(lifecycle.event_at(*later), *after);
            }
            seen.extend(lifecycle.events.iter().map(|(_, event)| *event));
        }
        assert_eq!(seen.len(), Status::KNOWN.len(), "{seen:?}");
    }

    #[test]
    fn any_48_emails_include_a_delayed_one() {
        for first in 0..1000 {
            let draws: BTreeSet<u64> = (first..first + 48)
                .map(|number| delivery_draw(0, number))
                .collect();
            assert!(draws.range(60..110).next().is_some(), "from {first}");
        }
    }

    #[test]
    fn scheduled_email_is_queued_on_time_or_canceled() {
        let accepted_at: Timestamp = "2026-11-20T09:41:07.25Z".parse().unwrap();
        let mut waited = 0;
        for number in 0..1000 {
            let lifecycle = Lifecycle::generate(
                accepted_at,
                delivery_draw(3, number),
                template(true),
                &mut Rng::new(3, number, Stream::Lifecycle),
            );
            let Some(due) = lifecycle.scheduled_at() else {
                continue;
            };
            waited += 1;
            assert!(due > accepted_at && due.as_second() % 60 == 0);
            assert_eq!(lifecycle.event_at(accepted_at), "scheduled");
            assert!(
                matches!(lifecycle.event_at(due), "canceled" | "queued"),
                "{lifecycle:?}"
            );
        }
        assert!((100..400).contains(&waited), "{waited}");
    }
}
