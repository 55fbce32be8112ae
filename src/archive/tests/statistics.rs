//! Statistics of a few emails of known statuses, days and subjects.

use super::{CancellationToken, at, import_lines, memory};
use crate::archive::{Outcomes, Share, Statistics, StatisticsBuilder};
use crate::mail::Status;
use crate::query::Query;
use jiff::Timestamp;
use jiff::tz::TimeZone;

fn compute(cancel: &CancellationToken) -> Option<Statistics> {
    let archive = memory();
    let emails = [
        (
            "delivered",
            "Your receipt #4821",
            "2026-11-20T08:00:00Z",
            "a.test",
        ),
        (
            "bounced",
            "Your receipt #17",
            "2026-11-19T22:30:00Z",
            "B.test",
        ),
        ("bounced", "Sale", "2026-11-19T08:00:00Z", "b.test"),
        ("complained", "Sale", "2026-11-19T07:00:00Z", "a.test"),
        (
            "canceled",
            "Your code is 493021, valid 10 minutes",
            "whenever",
            "a.test",
        ),
        ("canceled", "", "2026-11-19T07:00:00Z", "a.test"),
    ];
    let lines = emails.iter().enumerate().map(|(id, (event, subject, created, domain))| {
        format!(
            r#"{{"id":"{id}","to":["ana@{domain}"],"created_at":"{created}","subject":"{subject}","last_event":"{event}"}}"#
        )
    });
    assert_eq!(import_lines(&archive, lines, at(0)).new, 6);
    let now: Timestamp = "2026-11-20T09:42:00Z".parse().unwrap();
    let builder = StatisticsBuilder::new(TimeZone::fixed(jiff::tz::offset(2)), now);
    archive
        .statistics(&Query::match_all(), builder, 2, cancel)
        .unwrap()
}

fn statistics() -> Statistics {
    compute(&CancellationToken::new()).unwrap()
}

#[test]
fn emails_are_counted_by_day_of_the_zone() {
    let statistics = statistics();
    let days: Vec<(String, u64)> = statistics
        .days
        .iter()
        .map(|(day, counts)| (day.to_string(), counts.total()))
        .collect();
    let expected = [("2026-11-19", 3), ("2026-11-20", 2)];
    assert_eq!(days, expected.map(|(day, count)| (day.to_owned(), count)));
    assert_eq!((statistics.total, statistics.undated), (6, 1));
}

#[test]
fn rates_leave_out_what_may_not_have_left() {
    let statistics = statistics();
    assert_eq!(statistics.bounces(), Share { part: 2, whole: 4 });
    assert_eq!(statistics.complaints(), Share { part: 1, whole: 2 });
    let few = Share {
        part: 40,
        whole: 1_000_000,
    };
    assert_eq!(few.ratio(), Some(0.000_04));
    let unknown = Statistics {
        statuses: vec![(Status::Unknown, 3), (Status::parse("wobbled"), 2)],
        ..Statistics::default()
    };
    assert_eq!(unknown.bounces(), Share { part: 0, whole: 0 });
}

#[test]
fn worst_domains_and_top_subjects_come_first() {
    let statistics = statistics();
    let names = |list: &[(String, Outcomes)]| -> Vec<String> {
        list.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&statistics.worst_domains), ["b.test"]);
    assert_eq!(
        names(&statistics.top_subjects),
        ["Sale", "Your receipt #…"],
        "numbers are left out, and emails without a subject"
    );
}

#[test]
fn unconfirmed_statuses_are_counted() {
    let statistics = statistics();
    assert_eq!(statistics.age.recent.at, None);
    assert_eq!(statistics.age.unconfirmed(), 1);
}

#[test]
fn cancelled_statistics_are_none() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(compute(&cancel), None);
}
