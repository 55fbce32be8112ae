//! What holds for every text, every tree, every email and every instant.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use proptest::prelude::*;

use crate::mail::{Shown, Stamp, Status, Summary, Tag};

use super::language::{address, context, summary};
use super::*;

/// Text made of what the language is made of, so that every corner of it is met.
fn typed() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            " ", "\"", "(", ")", "-", ":", ",", "=", "\\", "@", "<", ">", "or", "and", "not", "a", "ß", "注", "\u{301}", "\u{200B}", "\u{AD}",
            "to:", "tag:", "status:", "is:", "has:", "after:", "on:", "sort:", "domain:", "trouble", "bounced", "email.", "7d", "2026-11-02",
            "T09:30", "oldest", "last-week", "foo:", "\n", "\u{2028}",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[a-z0-9]{1,4}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn needle() -> impl Strategy<Value = Needle> {
    let text = prop_oneof![
        3 => prop::sample::select(vec!["ana", "LÓPEZ", "receipt", "your receipt", "ご注文", "文", "example.com", "or", "-x", "to:a", "\"", "(a"]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    text.prop_filter_map("nothing to look for", |text| Needle::new(&text))
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        prop::sample::select(date::WORDS.map(|(_, when, _)| when).to_vec()),
        (1_i16..9000).prop_map(When::Year),
        (2020_i16..2030, 1_i8..=12).prop_map(|(year, month)| When::Month(year, month)),
        (2020_i16..2030, 1_i8..=12, 1_i8..=28).prop_map(|(y, m, d)| When::Day(Date::constant(y, m, d))),
        (1_i8..=28, 0_i8..24, 0_i8..60).prop_map(|(d, h, m)| When::Minute(Date::constant(2026, 10, d).at(h, m, 0, 0))),
        (0_u32..2000, prop::sample::select(vec![Unit::Hours, Unit::Days, Unit::Weeks])).prop_map(|(n, unit)| When::Ago(n, unit)),
    ]
}

fn term() -> impl Strategy<Value = Term> {
    let fields = vec![
        Field::To,
        Field::From,
        Field::Cc,
        Field::Bcc,
        Field::ReplyTo,
        Field::Any,
        Field::Subject,
        Field::Body,
        Field::Id,
        Field::MessageId,
    ];
    let mut statuses = Status::KNOWN.to_vec();
    statuses.extend([Status::Unknown, Status::Other(Shown::new("teleported")), Status::Other(Shown::new("Odd (\"one\")"))]);
    let at = |when: When| when.at(&context().now).expect("the generated times are near");
    prop_oneof![
        4 => needle().prop_map(Term::Word),
        4 => (prop::sample::select(fields), needle()).prop_map(|(field, needle)| Term::Text(field, needle)),
        1 => "[a-z]{1,3}\\.[a-z]{2}".prop_map(|domain| Term::Domain(Needle::new(&domain).unwrap())),
        2 => prop::sample::subsequence(statuses, 1..3).prop_map(Term::Status),
        1 => prop::sample::select(Is::ALL.to_vec()).prop_map(Term::Is),
        2 => prop::sample::select(Has::ALL.to_vec()).prop_map(Term::Has),
        2 => ("[a-z]{1,2}[a-z \"]?", prop::option::of(needle())).prop_map(|(name, value)| Term::Tag { name: Needle::new(&name).unwrap(), value }),
        1 => when().prop_map(move |when| Term::After(at(when))),
        1 => when().prop_map(move |when| Term::Before(at(when))),
        1 => when().prop_map(|when| Term::On(when.stretch_at(&context().now).unwrap())),
        1 => when().prop_map(move |when| Term::SeenChange(at(when))),
    ]
}

fn node() -> impl Strategy<Value = Node> {
    term().prop_map(Node::Term).prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Node::all),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Node::any),
            inner.prop_map(Node::negated),
        ]
    })
}

/// What may be known about an email, owned.
#[derive(Debug, Clone)]
struct Mailbox {
    summary: Summary,
    text: Option<String>,
    html: Option<String>,
    tags: Vec<Tag>,
    seen_change: Option<Timestamp>,
}

impl Mailbox {
    fn fetched(&self) -> Facts<'_> {
        let bodies = Bodies { text: self.text.as_deref(), html: self.html.as_deref() };
        Facts { summary: &self.summary, bodies: Some(bodies), tags: Some(&self.tags), seen_change: self.seen_change }
    }

    fn facts(&self, bodies: bool, tags: bool) -> Facts<'_> {
        let fetched = self.fetched();
        Facts { bodies: fetched.bodies.filter(|_| bodies), tags: fetched.tags.filter(|_| tags), ..fetched }
    }
}

fn mail() -> impl Strategy<Value = Mailbox> {
    let body = || prop::option::of(prop::sample::select(vec!["", "Your receipt, Ana López", "ご注文の確認 or -x"]).prop_map(str::to_owned));
    let recipients = prop::sample::subsequence(vec!["Ana López <ana@example.com>", "佐藤 <sato@a.bc>", "or@ab.cd"], 0..3);
    let status = prop::sample::select(Status::KNOWN.to_vec());
    let tags = prop::sample::subsequence(vec![("a", "ana"), ("b", "receipt"), ("ab", "")], 0..3);
    let seconds = 1_760_000_000_i64..1_800_000_000;
    (recipients, body(), body(), status, tags, seconds.clone(), prop::option::of(seconds)).prop_map(
        |(recipients, text, html, status, tags, created, seen)| Mailbox {
            summary: Summary {
                to: recipients.iter().map(|text| address(text)).collect(),
                created: Stamp::parse(&Timestamp::from_second(created).unwrap().to_string()),
                status,
                ..summary()
            },
            text,
            html,
            tags: tags.into_iter().map(|(name, value)| Tag { name: Shown::new(name), value: Shown::new(value) }).collect(),
            seen_change: seen.map(|second| Timestamp::from_second(second).unwrap()),
        },
    )
}

fn query(filter: Node) -> Query {
    Query { filter, sort: Sort::default() }
}

/// Whether a plain word, which is not an operator, has a say.
fn has_word(node: &Node) -> bool {
    match node {
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().any(has_word),
        Node::Not(node) => has_word(node),
        Node::Term(term) => matches!(term, Term::Word(_)),
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
fn names(when: When, day: Date, today: Date) -> bool {
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
        When::Today => day == today,
        When::Yesterday => day.tomorrow().unwrap() == today,
        When::Weekday(weekday) => day == back(today, &|day| day.weekday() == weekday),
        When::ThisWeek => monday(day) == monday(today),
        When::LastWeek => monday(day) == monday(monday(today).yesterday().unwrap()),
        When::ThisMonth => month(day) == month(today),
        When::LastMonth => month(day) == month(back(today, &|day| month(day) != month(today))),
        When::Year(year) => day.year() == year,
        When::Month(year, of) => month(day) == (year, of),
        When::Day(date) => day == date,
        When::Minute(_) | When::Ago(..) => panic!("not a stretch of days"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_a_query_and_its_canonical_text_says_the_same(text in prop_oneof![typed(), any::<String>()]) {
        let once = parse(&text, &context()).query;
        let printed = once.to_string();
        let twice = parse(&printed, &context()).query;
        prop_assert_eq!(&twice, &once, "{:?}", printed);
        prop_assert_eq!(twice.to_string(), printed);
    }

    #[test]
    fn any_tree_is_what_its_text_says(filter in node(), oldest: bool) {
        let sort = if oldest { Sort::Oldest } else { Sort::Newest };
        let query = Query { filter, sort };
        let printed = query.to_string();
        prop_assert_eq!(parse(&printed, &context()).query, query, "{}", printed);
    }

    #[test]
    fn spans_are_in_order_and_leave_out_only_blanks(text in prop_oneof![typed(), any::<String>()]) {
        let parsed = parse(&text, &context());
        let mut at = 0;
        for span in &parsed.spans {
            prop_assert!(span.range.start < span.range.end);
            prop_assert_eq!(text[at..span.range.start].trim(), "");
            at = span.range.end;
        }
        prop_assert_eq!(text[at..].trim(), "");
        for note in &parsed.notes {
            prop_assert!(!text[note.range.clone()].is_empty());
            prop_assert!(!note.words.contains(char::is_control));
        }
    }

    #[test]
    fn completing_never_fails_and_replaces_what_is_there(text in typed(), cursor in 0_usize..80) {
        for completion in complete(&text, cursor, &()) {
            let mut text = text.clone();
            text.replace_range(completion.range, &completion.text);
        }
    }

    #[test]
    fn negation_turns_what_is_known_and_groups_follow_de_morgan(
        mail in mail(), a in node(), b in node(), bodies: bool, tags: bool,
    ) {
        let facts = mail.facts(bodies, tags);
        let found = |node: Node| matches(&query(node), &facts);
        prop_assert_eq!(found(Node::Not(Box::new(a.clone()))), found(a.clone()).map(|found| !found));
        prop_assert_eq!(found(a.clone().negated().negated()), found(a.clone()));
        let (not_a, not_b) = (a.clone().negated(), b.clone().negated());
        prop_assert_eq!(found(Node::all([a.clone(), b.clone()]).negated()), found(Node::any([not_a.clone(), not_b.clone()])));
        prop_assert_eq!(found(Node::any([a, b]).negated()), found(Node::all([not_a, not_b])));
    }

    #[test]
    fn fetching_decides_what_was_open_and_changes_nothing_else(mail in mail(), node in node(), bodies: bool, tags: bool) {
        prop_assume!(!has_word(&node));
        let wanted = query(node);
        let after = matches(&wanted, &mail.fetched());
        prop_assert!(after.is_some());
        let before = matches(&wanted, &mail.facts(bodies, tags));
        prop_assert!(before.is_none() || before == after);
    }

    #[test]
    fn days_are_days_in_the_zone(zone in prop::sample::select(ZONES.to_vec()), now in 1_760_000_000_i64..1_900_000_000, apart in -4_000_000_i64..1_000_000, when in when()) {
        prop_assume!(!matches!(when, When::Minute(_) | When::Ago(..)));
        let now = zoned(now, zone);
        let instant = now.checked_add(apart.seconds()).unwrap();
        let moment = when.at(&now).unwrap();
        let within = moment.start <= instant.timestamp() && instant.timestamp() < moment.end;
        prop_assert_eq!(within, names(when, instant.date(), now.date()), "{} {}", when, instant);
        let first = moment.start.to_zoned(now.time_zone().clone());
        let before = first.checked_sub(1.second()).unwrap();
        prop_assert!(names(when, first.date(), now.date()) && !names(when, before.date(), now.date()));
    }

    #[test]
    fn hours_are_hours_and_days_keep_the_time_of_day(zone in prop::sample::select(ZONES.to_vec()), now in 1_760_000_000_i64..1_900_000_000, count in 0_u32..3000) {
        let now = zoned(now, zone);
        let hours = When::Ago(count, Unit::Hours).at(&now).unwrap();
        prop_assert_eq!(now.timestamp().as_second() - hours.start.as_second(), i64::from(count) * 3600);
        let days = When::Ago(count, Unit::Days).at(&now).unwrap().start.to_zoned(now.time_zone().clone());
        let civil = now.datetime().checked_sub(i64::from(count).days()).unwrap();
        prop_assert_eq!(days.datetime(), civil.to_zoned(now.time_zone().clone()).unwrap().datetime());
        let day = When::Ago(count, Unit::Days).stretch_at(&now).unwrap();
        prop_assert_eq!((day.start, day.end), When::Day(civil.date()).at(&now).map(|day| (day.start, day.end)).unwrap());
    }

    #[test]
    fn a_time_is_read_as_it_is_written(when in when()) {
        prop_assert_eq!(When::parse(&when.to_string()), Some(when));
    }
}

fn zoned(second: i64, zone: &str) -> Zoned {
    Timestamp::from_second(second).unwrap().to_zoned(TimeZone::posix(zone).unwrap())
}

/// The stack holds whatever is typed.
#[test]
fn ten_thousand_of_anything_is_only_text() {
    for piece in ["(", ")", "-", "\"", "not ", "-(a ", "a or ", "(a or (b ", "to:", "a", "💌", "\\", "\u{301}", "-not "] {
        let text = piece.repeat(10_000);
        let once = parse(&text, &context()).query;
        assert_eq!(parse(&once.to_string(), &context()).query, once, "{piece}");
    }
}
