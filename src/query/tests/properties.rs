//! Properties of every text, tree, email and instant.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use proptest::prelude::*;

use super::arbitrary::{arbitrary_text, context, date_expr, days, mail, node, operator, term};
use crate::query::date::{NamedDay, RelativeUnit};
use crate::query::*;

fn query(filter: Node) -> Query {
    Query {
        filter,
        sort: SortOrder::default(),
    }
}

/// Zones with a clock change at two, three, midnight, by half an hour, and none.
const ZONES: [&str; 6] = [
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "<-03>3<-02>,M10.3.0/0,M2.3.0/0",
    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
    "<+0530>-5:30",
    "UTC0",
];

/// Whether `expr` includes the local day, by walking the calendar.
fn includes(expr: DateExpr, day: Date, today: Date) -> bool {
    let walk_back = |from: Date, is_end: &dyn Fn(Date) -> bool| {
        let mut day = from;
        while !is_end(day) {
            day = day.yesterday().unwrap();
        }
        day
    };
    let monday = |day: Date| walk_back(day, &|day| day.weekday() == Weekday::Monday);
    let month = |day: Date| (day.year(), day.month());
    match expr {
        DateExpr::Named(NamedDay::Today) => day == today,
        DateExpr::Named(NamedDay::Yesterday) => day.tomorrow().unwrap() == today,
        DateExpr::Named(NamedDay::Weekday(weekday)) => {
            day == walk_back(today, &|day| day.weekday() == weekday)
        }
        DateExpr::ThisWeek => monday(day) == monday(today),
        DateExpr::LastWeek => monday(day) == monday(monday(today).yesterday().unwrap()),
        DateExpr::ThisMonth => month(day) == month(today),
        DateExpr::LastMonth => {
            month(day) == month(walk_back(today, &|day| month(day) != month(today)))
        }
        DateExpr::Year(year) => day.year() == year,
        DateExpr::Month(year, of) => month(day) == (year, of),
        DateExpr::NamedMonth(of) => month(day) == month(walk_back(today, &|day| day.month() == of)),
        DateExpr::Day(date) => day == date,
        DateExpr::Named(NamedDay::MonthDay(number, of_month)) => {
            let is_day = |day: Date| (day.month(), day.day()) == (number, of_month);
            day == walk_back(today, &is_day)
        }
        DateExpr::Minute(..)
        | DateExpr::Second(..)
        | DateExpr::MinuteOf(..)
        | DateExpr::Relative(..) => {
            panic!("not a range of days")
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn canonical_text_of_any_text_is_equal_query(text in prop_oneof![arbitrary_text(), any::<String>()]) {
        let once = parse(&text, &context()).query;
        let printed = once.to_string();
        let twice = parse(&printed, &context()).query;
        prop_assert_eq!(&twice, &once, "{:?}", printed);
        prop_assert_eq!(twice.to_string(), printed);
    }

    #[test]
    fn any_tree_is_parsed_from_its_text(filter in node(term()), oldest: bool) {
        let sort = if oldest { SortOrder::Oldest } else { SortOrder::Newest };
        let query = Query { filter, sort };
        let printed = query.to_string();
        prop_assert_eq!(parse(&printed, &context()).query, query, "{}", printed);
    }

    #[test]
    fn spans_are_ordered_and_skip_only_spaces(text in prop_oneof![arbitrary_text(), any::<String>()]) {
        let parsed = parse(&text, &context());
        let mut at = 0;
        for span in &parsed.spans {
            prop_assert!(span.range.start < span.range.end);
            prop_assert_eq!(text[at..span.range.start].trim(), "");
            at = span.range.end;
        }
        prop_assert_eq!(text[at..].trim(), "");
        for note in &parsed.diagnostics {
            prop_assert!(!text[note.range.clone()].is_empty());
            prop_assert!(!note.message.contains(char::is_control));
        }
    }

    #[test]
    fn completion_of_any_text_is_applicable(text in arbitrary_text(), cursor in 0_usize..80) {
        for completion in complete(&text, cursor, &()) {
            let mut text = text.clone();
            text.replace_range(completion.range, &completion.text);
        }
    }

    #[test]
    fn negation_follows_de_morgan(
        mail in mail(), a in node(term()), b in node(term()), bodies: bool, tags: bool,
    ) {
        let document = mail.document(bodies, tags);
        let found = |node: Node| matches(&query(node), &document);
        prop_assert_eq!(found(Node::Not(Box::new(a.clone()))), found(a.clone()).map(|found| !found));
        prop_assert_eq!(found(a.clone().negated().negated()), found(a.clone()));
        let (not_a, not_b) = (a.clone().negated(), b.clone().negated());
        prop_assert_eq!(found(Node::all([a.clone(), b.clone()]).negated()), found(Node::any([not_a.clone(), not_b.clone()])));
        prop_assert_eq!(found(Node::any([a, b]).negated()), found(Node::all([not_a, not_b])));
    }

    #[test]
    fn fetching_changes_only_unknown_results(mail in mail(), node in node(operator()), bodies: bool, tags: bool) {
        let query = query(node);
        let after = matches(&query, &mail.full_document());
        prop_assert!(after.is_some() || mail.summary.created.parsed.is_none());
        let before = matches(&query, &mail.document(bodies, tags));
        prop_assert!(before.is_none() || before == after);
    }

    #[test]
    fn days_are_local_days_in_any_zone(zone in prop::sample::select(ZONES.to_vec()), now in 1_760_000_000_i64..1_900_000_000, apart in -4_000_000_i64..1_000_000, expr in days()) {
        let now = zoned(now, zone);
        let instant = now.checked_add(apart.seconds()).unwrap();
        let range = expr.resolve(&now).unwrap();
        let within = range.start <= instant.timestamp() && instant.timestamp() < range.end;
        prop_assert_eq!(within, includes(expr, instant.date(), now.date()), "{} {}", expr, instant);
        let first = range.start.to_zoned(now.time_zone().clone());
        let before = first.checked_sub(1.second()).unwrap();
        prop_assert!(includes(expr, first.date(), now.date()) && !includes(expr, before.date(), now.date()));
    }

    #[test]
    fn ages_in_days_keep_the_time_of_day(zone in prop::sample::select(ZONES.to_vec()), now in 1_760_000_000_i64..1_900_000_000, count in 0_u32..3000) {
        let now = zoned(now, zone);
        let hours = DateExpr::Relative(count, RelativeUnit::Hours).resolve(&now).unwrap();
        prop_assert_eq!(now.timestamp().as_second() - hours.start.as_second(), i64::from(count) * 3600);
        let days = DateExpr::Relative(count, RelativeUnit::Days).resolve(&now).unwrap().start.to_zoned(now.time_zone().clone());
        let civil = now.datetime().checked_sub(i64::from(count).days()).unwrap();
        prop_assert_eq!(days.datetime(), civil.to_zoned(now.time_zone().clone()).unwrap().datetime());
        let day = DateExpr::Relative(count, RelativeUnit::Days).resolve_range(&now).unwrap();
        prop_assert_eq!((day.start, day.end), DateExpr::Day(civil.date()).resolve(&now).map(|day| (day.start, day.end)).unwrap());
    }

    #[test]
    fn date_is_parsed_from_its_text(expr in date_expr()) {
        prop_assert_eq!(DateExpr::parse(&expr.to_string()), Some(expr));
    }
}

fn zoned(second: i64, zone: &str) -> Zoned {
    Timestamp::from_second(second)
        .unwrap()
        .to_zoned(TimeZone::posix(zone).unwrap())
}

/// No text exhausts the stack.
#[test]
fn ten_thousand_repetitions_are_parsed() {
    for piece in [
        "(",
        ")",
        "-",
        "\"",
        "not ",
        "-(a ",
        "a or ",
        "(a or (b ",
        "to:",
        "a",
        "💌",
        "\\",
        "\u{301}",
        "-not ",
    ] {
        let text = piece.repeat(10_000);
        let once = parse(&text, &context()).query;
        assert_eq!(parse(&once.to_string(), &context()).query, once, "{piece}");
    }
}
