//! Dates in words, in the forms of the screen and of ISO 8601.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::arbitrary::summary;
use crate::mail::{ApiTime, Summary};
use crate::query::date::*;
use crate::query::{EmailDocument, ParseContext, matches, parse};

/// Clocks go back on 25 October 2026 at three, forward on 28 March 2027 at two.
fn berlin(civil: &str) -> Zoned {
    civil
        .parse::<DateTime>()
        .unwrap()
        .to_zoned(TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap())
        .unwrap()
}

fn local_range(text: &str, now: &Zoned) -> (String, String) {
    let range = DateExpr::parse(text)
        .and_then(|expr| expr.resolve_range(now))
        .unwrap_or_else(|| panic!("no date: {text}"));
    let local = |instant: Timestamp| {
        instant
            .to_zoned(now.time_zone().clone())
            .strftime("%Y-%m-%dT%H:%M %z")
            .to_string()
    };
    (local(range.start), local(range.end))
}

#[test]
fn printed_days_are_the_most_recent_ones() {
    let friday = berlin("2026-11-20T09:41:07");
    let start = |text: &str| local_range(text, &friday).0[..10].to_owned();
    assert_eq!(start("3 Nov"), "2026-11-03");
    assert_eq!(start("nov 20"), "2026-11-20");
    assert_eq!(start("21-november"), "2025-11-21");
    assert_eq!(start("29 feb"), "2024-02-29");
    assert_eq!(start("Fri 20 Nov 2020"), "2020-11-20");
    assert_eq!(start("17.04.2026"), "2026-04-17");
    assert_eq!(start("Fri 3.11.2023"), "2023-11-03");
    assert_eq!(start("30.4."), "2026-04-30");
    assert_eq!(start("1.12"), "2025-12-01");
    assert_eq!(start("3.11.26"), "2026-11-03");
    assert_eq!(start("17/04/2026"), "2026-04-17");
    assert_eq!(start("4/17/2026"), "2026-04-17");
    assert_eq!(start("4/4/2026"), "2026-04-04");
    assert_eq!(start("2026/04/17"), "2026-04-17");
    assert_eq!(start("17/04"), "2026-04-17");
    assert_eq!(start("Nov 2nd"), "2026-11-02");
    assert_eq!(start("3rd Sept 2025"), "2025-09-03");
    for text in [
        "31 nov",
        "0 nov",
        "32 dec",
        "3 no",
        "3 nov 26",
        "3 nov 4711",
        "march 4711",
        "4711",
        "april 12.50",
        "mon 24/7",
        "nov 2th9",
        "no",
        "3",
        "31.4.",
        "3.13.",
        "3.11.026",
        "17-04-2026",
        "17 04 2026",
        "07/04/2026",
        "7/4",
        "13/13/2026",
        "17/04/26",
        "3 11",
        "2026.11.03",
        "1.2.3",
    ] {
        assert_eq!(DateExpr::parse(text), None, "{text}");
    }
    assert_eq!(DateExpr::parse("3 Nov").unwrap().to_string(), "3-nov");
}

#[test]
fn time_of_a_named_day_is_one_minute() {
    let friday = berlin("2026-11-20T09:41:07");
    for (text, start) in [
        ("tue 18:00", "2026-11-17T18:00 +0100"),
        ("13:18", "2026-11-20T13:18 +0100"),
        ("yesterday 07:05", "2026-11-19T07:05 +0100"),
        ("24 Nov 18:00", "2025-11-24T18:00 +0100"),
        ("2.11.2026 18:00", "2026-11-02T18:00 +0100"),
        ("Wed 4 Nov 18:00", "2026-11-04T18:00 +0100"),
    ] {
        assert_eq!(local_range(text, &friday).0, start, "{text}");
    }
    let expr = DateExpr::parse("4 nov 18:00").unwrap();
    assert_eq!(expr.to_string(), "4-nov 18:00");
    assert_eq!(DateExpr::parse("4-nov 18:00"), Some(expr));
    assert_eq!(
        DateExpr::parse_local("4 nov 18:00 CET", &friday),
        Some(expr)
    );
    assert_eq!(DateExpr::parse("last-week 18:00"), None);
}

#[test]
fn words_and_ages_resolve_on_a_friday_morning() {
    let friday = berlin("2026-11-20T09:41:07");
    for (text, start, end) in [
        ("today", "2026-11-20", "2026-11-21"),
        ("yesterday", "2026-11-19", "2026-11-20"),
        ("fri", "2026-11-20", "2026-11-21"),
        ("Thursday", "2026-11-19", "2026-11-20"),
        ("sat", "2026-11-14", "2026-11-15"),
        ("mon", "2026-11-16", "2026-11-17"),
        ("this-week", "2026-11-16", "2026-11-23"),
        ("last-week", "2026-11-09", "2026-11-16"),
        ("this-month", "2026-11-01", "2026-12-01"),
        ("last-month", "2026-10-01", "2026-11-01"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("November", "2026-11-01", "2026-12-01"),
        ("dec", "2025-12-01", "2026-01-01"),
        ("april 2024", "2024-04-01", "2024-05-01"),
        ("2mo", "2026-09-20", "2026-09-21"),
        ("7 days ago", "2026-11-13", "2026-11-14"),
        ("1 month", "2026-10-20", "2026-10-21"),
        ("2026", "2026-01-01", "2027-01-01"),
        ("2024-02", "2024-02-01", "2024-03-01"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
        ("5min", "2026-11-20", "2026-11-21"),
        ("2h", "2026-11-20", "2026-11-21"),
        ("10h", "2026-11-19", "2026-11-20"),
        ("7d", "2026-11-13", "2026-11-14"),
        ("3w", "2026-10-30", "2026-10-31"),
    ] {
        let midnight = |date: &str| berlin(date).strftime("%Y-%m-%dT%H:%M %z").to_string();
        let expected = (midnight(start), midnight(end));
        assert_eq!(local_range(text, &friday), expected, "{text}");
    }
}

#[test]
fn clock_changes_shorten_and_lengthen_days() {
    let now = berlin("2027-04-01T12:00");
    for (text, start, end) in [
        (
            "2026-10-25",
            "2026-10-25T00:00 +0200",
            "2026-10-26T00:00 +0100",
        ),
        (
            "2027-03-28",
            "2027-03-28T00:00 +0100",
            "2027-03-29T00:00 +0200",
        ),
        (
            "2026-10-25T02:30",
            "2026-10-25T02:30 +0200",
            "2026-10-25T02:31 +0100",
        ),
        (
            "2027-03-28T02:30",
            "2027-03-28T03:30 +0200",
            "2027-03-28T03:31 +0200",
        ),
    ] {
        assert_eq!(local_range(text, &now), (start.to_owned(), end.to_owned()));
    }
    for (text, now, start) in [
        ("1d", "2026-10-26T01:00", "2026-10-24T23:00:00Z"),
        ("24h", "2026-10-26T01:00", "2026-10-25T00:00:00Z"),
        ("1w", "2027-03-29T09:00:00.75", "2027-03-22T08:00:00Z"),
    ] {
        let range = DateExpr::parse(text).unwrap().resolve(&berlin(now));
        assert_eq!(range.unwrap().start.to_string(), start);
    }
}

#[test]
fn times_with_seconds_and_offset_are_instants() {
    let now = berlin("2026-11-20T09:41");
    for (text, start, seconds, printed) in [
        ("2026-11-02 10:00", "09:00:00", 60, "10:00"),
        ("2026-11-02T10:00:07", "09:00:07", 1, "10:00:07"),
        ("2026-11-02 10:00:07 UTC", "10:00:07", 1, "10:00:07Z"),
        ("2026-11-02T10:00Z", "10:00:00", 60, "10:00Z"),
        (
            "2026-11-02 10:00:07 +02:00",
            "08:00:07",
            1,
            "10:00:07+02:00",
        ),
        ("2026-11-02T10:00:07-0330", "13:30:07", 1, "10:00:07-03:30"),
        ("Mon  2 Nov 2026 10:00:07 UTC", "10:00:07", 1, "10:00:07Z"),
        ("2 Nov 2026 10:00", "09:00:00", 60, "10:00"),
        ("2026-11-02 10:00:07 CET", "09:00:07", 1, "10:00:07"),
        ("2026-11-02 10:00:07.123456+00", "10:00:07", 1, "10:00:07Z"),
    ] {
        let expr = DateExpr::parse_local(text, &now).unwrap_or_else(|| panic!("no date: {text}"));
        let range = expr.resolve(&now).unwrap();
        let start = format!("2026-11-02T{start}Z");
        assert_eq!(range.start.to_string(), start, "{text}");
        let length = range.end.duration_since(range.start).as_secs();
        assert_eq!(length, seconds, "{text}");
        let printed = format!("2026-11-02T{printed}");
        assert_eq!(expr.to_string(), printed);
        assert_eq!(DateExpr::parse(&printed), Some(expr));
        let other_zone = DateExpr::parse_local("2026-11-02 10:00:07 CEST", &now);
        assert_eq!(other_zone, None);
    }
}

#[test]
fn other_text_is_no_date() {
    for text in [
        "",
        "2026-11-2",
        "2026-13",
        "2026-02-30",
        "2026-11-02T24:00",
        "2026-11-02T09:60",
        "2026-11-02T9:30",
        "2026-11-02T09:30:60",
        "2026-11-02T09:30.5",
        "2026-11-02T09:30:07.",
        "2026-11-02 09:30 CET",
        "2026-11-02T09:30+2",
        "+2026",
        "٢٠٢٦",
        "monda",
        "d",
        "7",
        "1.5d",
    ] {
        assert_eq!(DateExpr::parse(text), None, "{text}");
    }
}

#[test]
fn dates_outside_the_calendar_resolve_to_none() {
    let now = berlin("2026-11-20T09:41");
    for text in [
        "9999-12-31",
        "9999-12",
        "9999-12-31T23:59",
        "4294967295w",
        "4294967295h",
        "0000-01",
    ] {
        let range = DateExpr::parse(text).and_then(|expr| expr.resolve_range(&now));
        assert_eq!(range.is_some(), text == "0000-01", "{text}");
    }
}

#[test]
fn repeated_local_time_is_two_ranges() {
    let now = berlin("2026-10-26T12:00");
    let context = ParseContext::new(now.timestamp(), now.time_zone().clone());
    for typed in [
        "on:2026-10-25T02:30",
        "on:\"sun 02:30\"",
        "on:2026-10-25T02:30:00",
    ] {
        let query = parse(typed, &context).query;
        let printed = query.to_string();
        assert_eq!(parse(&printed, &context).query, query, "{printed}");
        for (created, is_match) in [
            ("2026-10-25T00:29:59Z", false),
            ("2026-10-25T00:30:00Z", true),
            ("2026-10-25T00:45:00Z", false),
            ("2026-10-25T01:30:00Z", true),
            ("2026-10-25T01:31:00Z", false),
        ] {
            let summary = Summary {
                created: ApiTime::parse(created),
                ..summary()
            };
            let document = EmailDocument {
                summary: &summary,
                bodies: None,
                tags: None,
                reason: None,
                seen_change: None,
                is_missing_upstream: false,
            };
            assert_eq!(
                matches(&query, &document),
                Some(is_match),
                "{typed} {created}"
            );
        }
    }
    let printed = parse("on:2026-10-25T02:30", &context).query.to_string();
    let expected = "on:2026-10-25T02:30+02:00 or on:2026-10-25T02:30+01:00";
    assert_eq!(printed, expected);
}
