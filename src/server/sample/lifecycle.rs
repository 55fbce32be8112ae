//! The events of an email with their times, all drawn when it is accepted.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::rng::{Rng, mix64};
use super::template::EmailTemplate;

/// The events of one email with their times, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lifecycle {
    events: Vec<(Timestamp, &'static str)>,
    /// The time of sending of a scheduled email.
    pub(super) scheduled_at: Option<Timestamp>,
}

/// The counts of the API's metrics.
const METRICS: &str = "bounced bounced_permanent bounced_transient bounced_undetermined clicked \
    complained delivered delivery_delayed failed opened sent suppressed unique_clicked \
    unique_opened";

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
            events: Vec::with_capacity(12),
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

    /// Counts the events in a range of time, by the names of the API's metrics.
    /// `draw` is its [`delivery_draw`].
    pub(super) fn count(
        &self,
        range: &RangeInclusive<Timestamp>,
        draw: u64,
    ) -> BTreeMap<String, u64> {
        let names = METRICS.split(' ');
        let mut counts: BTreeMap<_, _> = names.map(|name| (name.to_owned(), 0)).collect();
        for (_, event) in self.events.iter().filter(|(at, _)| range.contains(at)) {
            if let Some(count) = counts.get_mut(*event) {
                *count += 1;
            }
        }
        for (event, part) in [
            ("bounced", BounceReason::from_draw(draw).metric()),
            ("opened", "unique_opened"),
            ("clicked", "unique_clicked"),
        ] {
            counts.insert(part.to_owned(), counts[event].min(1));
        }
        counts
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
            // Repeated opens, or repeated clicks.
            let event = self.events.last().map_or("opened", |(_, event)| event);
            for _ in 1..rng.log_uniform(1, 6) {
                self.add_event(event, 5 * MINUTE..=DAY, rng);
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

    /// Returns the name of the API's metric for this kind of bounce.
    fn metric(&self) -> &'static str {
        match self.kind {
            "Permanent" => "bounced_permanent",
            "Transient" => "bounced_transient",
            _ => "bounced_undetermined",
        }
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
            Opened => matches!(after, Opened | Clicked),
            Clicked => matches!(after, Clicked),
            Canceled | Failed | Suppressed | Bounced | Complained | Received | Unknown
            | Other(_) => false,
        }
    }

    #[test]
    fn events_follow_service_order_and_all_occur() {
        let accepted_at: Timestamp = "2026-11-20T09:41:07.25Z".parse().unwrap();
        let (mut seen, mut scheduled) = (BTreeSet::new(), 0);
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
            if let Some(due) = lifecycle.scheduled_at {
                scheduled += 1;
                assert!(due > accepted_at && due.as_second() % 60 == 0);
                assert_eq!(lifecycle.event_at(accepted_at), "scheduled");
                let event = lifecycle.event_at(due);
                assert!(matches!(event, "canceled" | "queued"), "{lifecycle:?}");
            }
            for pair in lifecycle.events.windows(2) {
                let [(earlier, before), (later, after)] = pair else {
                    panic!("windows of two")
                };
                assert!(
                    earlier < later && may_follow(&Status::parse(before), &Status::parse(after)),
                    "{lifecycle:?}"
                );
                assert_eq!(lifecycle.event_at(*later), *after);
                let counts = lifecycle.count(&(accepted_at..=*later), delivery_draw(3, number));
                assert_ne!(counts.get(*after), Some(&0), "{counts:?} at {after}");
            }
            seen.extend(lifecycle.events.iter().map(|(_, event)| *event));
        }
        assert_eq!(seen.len(), Status::KNOWN.len(), "{seen:?}");
        assert!((100..400).contains(&scheduled), "{scheduled}");
    }

    #[test]
    fn counts_are_of_events_in_range() {
        let at = |hour: i8| {
            let day = jiff::civil::date(2026, 11, 20).at(hour, 0, 0, 0);
            day.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp()
        };
        let lifecycle = |events: &[(i8, &'static str)]| Lifecycle {
            events: events
                .iter()
                .map(|(hour, event)| (at(*hour), *event))
                .collect(),
            scheduled_at: None,
        };
        let counts = |lifecycle: &Lifecycle, range: &RangeInclusive<Timestamp>| {
            let counts = lifecycle.count(range, 65);
            assert_eq!(counts.len(), 14);
            let counts = counts.into_iter().filter(|(_, count)| *count > 0);
            counts
                .map(|(name, count)| format!("{name} {count}"))
                .collect::<Vec<_>>()
        };
        let opened = lifecycle(&[
            (1, "queued"),
            (2, "sent"),
            (3, "opened"),
            (4, "opened"),
            (5, "clicked"),
        ]);
        let expected = ["opened 2", "sent 1", "unique_opened 1"];
        assert_eq!(counts(&opened, &(at(1)..=at(4))), expected);
        let expected = ["clicked 1", "unique_clicked 1"];
        assert_eq!(counts(&opened, &(at(5)..=at(6))), expected);
        let bounced = lifecycle(&[(1, "sent"), (2, "bounced")]);
        let expected = ["bounced 1", "bounced_transient 1", "sent 1"];
        assert_eq!(counts(&bounced, &(at(0)..=at(9))), expected);
        assert_eq!(counts(&Lifecycle::default(), &(at(0)..=at(9))), [""; 0]);
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
}
