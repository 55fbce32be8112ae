//! What holds for every text, every tree, every email and every instant.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use proptest::prelude::*;

use super::language::context;
use super::samples::{arbitrary_text, days, mail, node, operator, term, when};
use super::*;

fn query(filter: Node) -> Query {
    Query {
        filter,
        sort: SortOrder::default(),
    }
}

/// Zones with a change of clocks at two, at three, at midnight, by half an hour, and without one.
const ZONES: [&str; 6] = [
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "<-03>3<-02>,M10.3.0/0,M2.3.0/0",
    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
    "<+0530>-5:30",
    "UTC0",
];

/// Whether the local day belongs to what `when` names, found by walking the calendar.
fn names(when: DateExpr, day: Date, today: Date) -> bool {
    let back = |from: Date, is: &dyn Fn(Date) -> bool| {
        let mut day = from;
        while !is(day) {
            day = day.yesterday().unwrap();
        }
        day
    };
    let monday = |day: Date| back(day, &|day| day.weekday() == Weekday::Monday);
    let month = |day: Date| (day.year(), day.month());
    match when {
        DateExpr::Today => day == today,
        DateExpr::Yesterday => day.tomorrow().unwrap() == today,
        DateExpr::Weekday(weekday) => day == back(today, &|day| day.weekday() == weekday),
        DateExpr::ThisWeek => monday(day) == monday(today),
        DateExpr::LastWeek => monday(day) == monday(monday(today).yesterday().unwrap()),
        DateExpr::ThisMonth => month(day) == month(today),
        DateExpr::LastMonth => month(day) == month(back(today, &|day| month(day) != month(today))),
        DateExpr::Year(year) => day.year() == year,
        DateExpr::Month(year, of) => month(day) == (year, of),
        DateExpr::Day(date) => day == date,
        DateExpr::Minute(_) | DateExpr::Relative(..) => panic!("not a stretch of days"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_a_query_and_its_canonical_text_says_the_same(text in prop_oneof![arbitrary_text(), any::<String>()]) {
        let once = parse(&text, &context()).query;
        let printed = once.to_string();
        let twice = parse(&printed, &context()).query;
        prop_assert_eq!(&twice, &once, "{:?}", printed);
        prop_assert_eq!(twice.to_string(), printed);
    }

    #[test]
    fn any_tree_is_what_its_text_says(filter in node(term()), oldest: bool) {
        let sort = if oldest { SortOrder::Oldest } else { SortOrder::Newest };
        let query = Query { filter, sort };
        let printed = query.to_string();
        prop_assert_eq!(parse(&printed, &context()).query, query, "{}", printed);
    }

    #[test]
    fn spans_are_in_order_and_leave_out_only_blanks(text in prop_oneof![arbitrary_text(), any::<String>()]) {
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
    fn completing_never_fails_and_replaces_what_is_there(text in arbitrary_text(), cursor in 0_usize..80) {
        for completion in complete(&text, cursor, &()) {
            let mut text = text.clone();
            text.replace_range(completion.range, &completion.text);
        }
    }

    #[test]
    fn negation_turns_what_is_known_and_groups_follow_de_morgan(
        mail in mail(), a in node(term()), b in node(term()), bodies: bool, tags: bool,
    ) {
        let facts = mail.document(bodies, tags);
        let found = |node: Node| matches(&query(node), &facts);
        prop_assert_eq!(found(Node::Not(Box::new(a.clone()))), found(a.clone()).map(|found| !found));
        prop_assert_eq!(found(a.clone().negated().negated()), found(a.clone()));
        let (not_a, not_b) = (a.clone().negated(), b.clone().negated());
        prop_assert_eq!(found(Node::all([a.clone(), b.clone()]).negated()), found(Node::any([not_a.clone(), not_b.clone()])));
        prop_assert_eq!(found(Node::any([a, b]).negated()), found(Node::all([not_a, not_b])));
    }

    #[test]
    fn fetching_decides_what_was_open_and_changes_nothing_else(mail in mail(), node in node(operator()), bodies: bool, tags: bool) {
        let wanted = query(node);
        let after = matches(&wanted, &mail.full_document());
        prop_assert!(after.is_some() || mail.summary.created.parsed.is_none());
        let before = matches(&wanted, &mail.document(bodies, tags));
        prop_assert!(before.is_none() || before == after);
    }

    #[test]
    fn days_are_days_in_the_zone(zone in prop::sample::select(ZONES.to_vec()), now in 1_760_000_000_i64..1_900_000_000, apart in -4_000_000_i64..1_000_000, when in days()) {
        let now = zoned(now, zone);
        let instant = now.checked_add(apart.seconds()).unwrap();
        let moment = when.resolve(&now).unwrap();
        let within = moment.start <= instant.timestamp() && instant.timestamp() < moment.end;
        prop_assert_eq!(within, names(when, instant.date(), now.date()), "{} {}", when, instant);
        let first = moment.start.to_zoned(now.time_zone().clone());
        let before = first.checked_sub(1.second()).unwrap();
        prop_assert!(names(when, first.date(), now.date()) && !names(when, before.date(), now.date()));
    }

    #[test]
    fn hours_are_hours_and_days_keep_the_time_of_day(zone in prop::sample::select(ZONES.to_vec()), now in 1_760_000_000_i64..1_900_000_000, count in 0_u32..3000) {
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
    fn a_time_is_read_as_it_is_written(when in when()) {
        prop_assert_eq!(DateExpr::parse(&when.to_string()), Some(when));
    }
}

fn zoned(second: i64, zone: &str) -> Zoned {
    Timestamp::from_second(second)
        .unwrap()
        .to_zoned(TimeZone::posix(zone).unwrap())
}

/// The stack holds whatever is typed.
#[test]
fn ten_thousand_of_anything_is_only_text() {
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
