//! Reported events come in any order, more than once,
//! and between responses of the service.

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;
use crate::api::MailboxChange;

const REASON: &str = r#"{"message":"mailbox full","type":"Transient"}"#;

type TimedEvent = (EmailEvent, RequestStamp);

fn event(id: &str, status: &str, second: i64) -> TimedEvent {
    let event = EmailEvent {
        id: EmailId::new(id),
        status: Status::parse(status),
        bounce: (status == "bounced").then(|| RawValue::from_string(REASON.to_owned()).unwrap()),
    };
    (event, at(second).into())
}

fn put(archive: &Archive, event: &TimedEvent) -> EventOutcome {
    archive.put_events(std::slice::from_ref(event)).unwrap()[0]
}

fn reason(archive: &Archive) -> String {
    let bounce = row(archive, "a").summary.bounce();
    bounce.map_or_else(String::new, |bounce| bounce.reason().to_string())
}

#[test]
fn event_stores_status_time_and_bounce_reason() {
    let archive = memory();
    merge_status(&archive, "sent", at(100));
    let bounced = event("a", "bounced", 200);
    let before = archive.snapshot_changes(at(200), None).unwrap();
    assert_eq!(put(&archive, &bounced), EventOutcome::Stored);
    assert_eq!(put(&archive, &bounced), EventOutcome::Known);
    let after = archive
        .snapshot_changes(at(200), Some(before.last_purge))
        .unwrap();
    let change = MailboxChange::Changed {
        id: EmailId::new("a"),
        last_event: Some("bounced".to_owned()),
        seen_at: Some(at(200)),
        bounce: Some(REASON.to_owned()),
    };
    assert_eq!(after.changes_since(&before), [change]);
    let found = row(&archive, "a");
    assert_eq!(found.summary.status, Status::Bounced);
    assert_eq!(found.confirmed_at, Some(at(200)));
    assert_eq!(reason(&archive), "mailbox full");
    let query = query("reason:\"mailbox full\"");
    let matching = archive.count_purge(&PurgeTarget::Matching(query)).unwrap();
    assert_eq!(matching, 1);
}

#[test]
fn listing_and_retrieved_email_keep_the_reason() {
    let archive = memory();
    merge_status(&archive, "sent", at(100));
    put(&archive, &event("a", "bounced", 200));
    merge_status(&archive, "bounced", at(300));
    assert_eq!(reason(&archive), "mailbox full");
    let json = r#"{"object":"email","id":"a","last_event":"bounced","html":"<p>Hi"}"#;
    put_email(&archive, json, at(400));
    assert_eq!(reason(&archive), "mailbox full");
    let email = archive.email(&EmailId::new("a")).unwrap().unwrap();
    let bounce = email.summary.bounce().unwrap();
    assert_eq!(bounce.reason().to_string(), "mailbox full");
    let stored = archive.stored_email(&EmailId::new("a"), at(400)).unwrap();
    let expected = format!(
        r#"{{"object":"email","id":"a","last_event":"bounced","html":"<p>Hi","bounce":{REASON}}}"#
    );
    assert_eq!(*stored.unwrap().json.unwrap(), *expected);
}

#[test]
fn unknown_and_purged_emails_get_no_row() {
    let archive = memory();
    merge_status(&archive, "sent", at(100));
    let of_unknown = put(&archive, &event("b", "sent", 200));
    assert_eq!(of_unknown, EventOutcome::Missing);
    archive
        .purge(&PurgeTarget::To("a@example.com".to_owned()))
        .unwrap();
    let of_purged = put(&archive, &event("a", "opened", 200));
    assert_eq!(of_purged, EventOutcome::Purged);
    assert_eq!(archive.query_count().unwrap(), 0);
}

#[test]
fn event_does_not_restore_a_deleted_email() {
    let archive = memory();
    merge_status(&archive, "sent", at(100));
    mark_missing(&archive, "a", at(150));
    put(&archive, &event("a", "opened", 200));
    assert_eq!(row(&archive, "a").summary.status, Status::Opened);
    assert!(archive.first_unconfirmed_deletion().unwrap().is_some());
}

/// An event at the service, or a request to it.
#[derive(Debug, Clone)]
enum Step {
    Event(TimedEvent),
    /// A request at this second, with the status that the service had then.
    Poll(&'static str, i64),
}

fn apply<'a>(steps: impl IntoIterator<Item = &'a Step>) -> (Status, String) {
    let archive = memory();
    merge_status(&archive, "queued", at(1));
    for step in steps {
        match step {
            Step::Event(event) => _ = put(&archive, event),
            Step::Poll(status, second) => _ = merge_status(&archive, status, at(*second)),
        }
    }
    (row(&archive, "a").summary.status, reason(&archive))
}

/// The status of those that comes last in the natural order.
fn latest(pair: &[(&'static str, bool)]) -> &'static str {
    let statuses = pair.iter().map(|(status, _)| *status);
    statuses
        .max_by_key(|status| Status::parse(status).progress())
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(64)) })]

    #[test]
    fn any_order_and_repetition_gives_the_same_archive(
        statuses in prop::collection::vec((prop::sample::select(vec!["sent", "delivery_delayed", "bounced", "delivered", "opened", "clicked", "complained"]), any::<bool>()), 1..7),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut steps = Vec::new();
        // Two events at a time.
        for (number, pair) in (1_i64..).zip(statuses.chunks(2)) {
            let events = pair.iter().map(|(status, _)| Step::Event(event("a", status, 10 * number)));
            steps.extend(events);
            if pair[0].1 {
                steps.push(Step::Poll(latest(pair), 10 * number + 5));
            }
        }
        let shuffled: Vec<&Step> = order.iter().map(|index| index.get(&steps)).chain(steps.iter().rev()).collect();
        let expected = apply(&steps);
        prop_assert_eq!(apply(shuffled), expected.clone());
        prop_assert_eq!(expected.0, Status::parse(latest(statuses.chunks(2).last().unwrap())));
    }
}
