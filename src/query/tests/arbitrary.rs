//! Random queries and emails, for the property tests of this module and of the
//! index search.

use jiff::Timestamp;
use jiff::civil::{Date, Time, Weekday};
use jiff::tz::{Offset, TimeZone};
use proptest::prelude::*;

use crate::mail::{Address, ApiTime, EmailId, SafeText, Status, Summary, Tag};

use crate::query::date::{NamedDay, RelativeUnit};
use crate::query::*;

/// Returns text of syntax and odd characters, to use every rule of the language.
pub(crate) fn arbitrary_text() -> impl Strategy<Value = String> {
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

/// Returns the context of Friday, 20 November 2026, 09:41 in Berlin.
pub(crate) fn context() -> ParseContext {
    let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    ParseContext::new("2026-11-20T08:41:00Z".parse().unwrap(), berlin)
}

fn address(text: &str) -> Address {
    Address::parse(text)
}

pub(super) fn summary() -> Summary {
    Summary {
        id: EmailId::new("49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"),
        to: vec![
            address("Ana López <ana.lopez@example.com>"),
            address("佐藤 <sato@mail.example.test>"),
        ],
        cc: vec![address("team@example.org")],
        bcc: Vec::new(),
        reply_to: vec![address("help@acme.example")],
        from: address("Acme <billing@acme.example>"),
        subject: SafeText::new("Your receipt #4821: ご注文の確認"),
        message_id: SafeText::new("<111-222@mail.example>"),
        created: ApiTime::parse("2026-11-19T23:30:00Z"),
        scheduled: None,
        status: Status::Bounced,
        extra: Vec::new(),
    }
}

fn search_text() -> impl Strategy<Value = SearchText> {
    let text = prop_oneof![
        3 => prop::sample::select(vec!["ana", "LÓPEZ", "receipt", "your receipt", "ご注文", "文", "example.com", "or", "-x", "to:a", "\"", "(a"]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    text.prop_filter_map("no text to search for", |text| SearchText::new(&text))
}

/// Returns a date of whole days.
pub(crate) fn days() -> impl Strategy<Value = DateExpr> {
    prop_oneof![
        prop::sample::select(date::DATE_KEYWORDS.map(|(_, expr, _)| expr).to_vec()),
        (1970_i16..2100).prop_map(DateExpr::Year),
        (2020_i16..2030, 1_i8..=12).prop_map(|(year, month)| DateExpr::Month(year, month)),
        (1_i8..=12).prop_map(DateExpr::NamedMonth),
        (1_i8..=12, 1_i8..=30)
            .prop_filter("February is short", |(month, day)| *month != 2 || *day < 30)
            .prop_map(|(month, day)| DateExpr::Named(NamedDay::MonthDay(month, day))),
        (2020_i16..2030, 1_i8..=12, 1_i8..=28)
            .prop_map(|(y, m, d)| DateExpr::Day(Date::constant(y, m, d))),
    ]
}

fn offset() -> impl Strategy<Value = Option<Offset>> {
    let offset = |minutes: i32| Offset::from_seconds(minutes * 60).expect("it is in range");
    prop::option::of((-720_i32..=840).prop_map(offset))
}

fn named_day() -> impl Strategy<Value = NamedDay> {
    prop_oneof![
        prop::sample::select(vec![
            NamedDay::Today,
            NamedDay::Yesterday,
            NamedDay::Weekday(Weekday::Tuesday)
        ]),
        (1_i8..=12, 1_i8..=28).prop_map(|(month, day)| NamedDay::MonthDay(month, day)),
    ]
}

pub(crate) fn date_expr() -> impl Strategy<Value = DateExpr> {
    prop_oneof![
        4 => days(),
        1 => (1_i8..=28, 0_i8..24, 0_i8..60, offset()).prop_map(|(d, h, m, offset)| DateExpr::Minute(Date::constant(2026, 10, d).at(h, m, 0, 0), offset)),
        1 => (1_i8..=28, 0_i8..24, 0_i8..60, offset()).prop_map(|(d, h, s, offset)| DateExpr::Second(Date::constant(2026, 10, d).at(h, 7, s, 0), offset)),
        1 => (named_day(), 0_i8..24, 0_i8..60).prop_map(|(day, h, m)| DateExpr::MinuteOf(day, Time::constant(h, m, 0, 0))),
        1 => (0_u32..2000, prop::sample::select(vec![RelativeUnit::Minutes, RelativeUnit::Hours, RelativeUnit::Days, RelativeUnit::Weeks, RelativeUnit::Months])).prop_map(|(n, unit)| DateExpr::Relative(n, unit)),
    ]
}

/// Returns a term with an operator: not a word, which is never unknown.
pub(crate) fn operator() -> impl Strategy<Value = Term> {
    let fields = vec![
        Field::To,
        Field::From,
        Field::Cc,
        Field::Bcc,
        Field::ReplyTo,
        Field::Any,
        Field::Subject,
        Field::Body,
        Field::Reason,
        Field::Id,
        Field::MessageId,
    ];
    let mut statuses = Status::KNOWN.to_vec();
    statuses.extend([
        Status::Unknown,
        Status::Other(SafeText::new("teleported")),
        Status::Other(SafeText::new("odd (\"one\")")),
    ]);
    let instants = [
        TimeOperator::After,
        TimeOperator::Before,
        TimeOperator::SeenChange,
    ];
    let instants = prop::sample::select(instants.to_vec());
    let resolve = |expr: DateExpr| {
        expr.resolve(&context().now)
            .expect("the generated times are near")
    };
    prop_oneof![
        4 => (prop::sample::select(fields), search_text())
            .prop_filter("the parser trims the brackets of an id", |(field, text)| *field != Field::Id || !text.normalized().starts_with('<') && !text.normalized().ends_with('>'))
            .prop_map(|(field, text)| Term::Text(field, text)),
        1 => prop::sample::select(vec!["Example.com", "a.bc", "ab.cd", "b.cd"]).prop_map(|domain| Term::Domain(SearchText::new(domain).unwrap())),
        1 => prop::sample::select(vec!["Ana@Example.com", "sato@a.bc", "broken <", "ana"]).prop_map(|address| Term::Recipient(SearchText::new(address).unwrap())),
        2 => prop::sample::subsequence(statuses, 1..3).prop_map(Term::Status),
        1 => prop::sample::select(EmailClass::ALL.to_vec()).prop_map(Term::Is),
        2 => prop::sample::select(EmailPart::ALL.to_vec()).prop_map(Term::Has),
        2 => ("[a-z]{1,2}[a-z \"]?", prop::option::of(search_text())).prop_map(|(name, value)| Term::Tag { name: SearchText::new(&name).unwrap(), value }),
        3 => (instants, date_expr()).prop_map(move |(operator, expr)| Term::Time(operator, resolve(expr))),
        1 => date_expr().prop_map(|expr| Term::Time(TimeOperator::On, expr.resolve_range(&context().now).unwrap())),
    ]
}

pub(crate) fn term() -> impl Strategy<Value = Term> {
    prop_oneof![1 => search_text().prop_map(Term::Word), 3 => operator()]
}

/// Returns a tree in the shape that the parser gives.
pub(crate) fn node(term: impl Strategy<Value = Term> + 'static) -> impl Strategy<Value = Node> {
    term.prop_map(Node::Term).prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Node::all),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Node::any),
            inner.prop_map(Node::negated),
        ]
    })
}

/// An owned [`EmailDocument`].
#[derive(Debug, Clone)]
pub(crate) struct ArbitraryEmail {
    pub(crate) summary: Summary,
    pub(crate) text: Option<String>,
    pub(crate) html: Option<String>,
    pub(crate) tags: Vec<Tag>,
    /// Why it bounced; empty if the service does not say it.
    pub(crate) reason: String,
    /// Whether the list has the reason, too.
    pub(crate) lists_reason: bool,
    pub(crate) seen_change: Option<Timestamp>,
    pub(crate) gone: bool,
}

impl ArbitraryEmail {
    /// Returns the document with all parts fetched.
    pub(crate) fn full_document(&self) -> EmailDocument<'_> {
        let bodies = BodyTexts {
            text: self.text.as_deref(),
            html: self.html.as_deref(),
            extract_text: str::to_owned,
        };
        EmailDocument {
            summary: &self.summary,
            bodies: Some(bodies),
            tags: Some(&self.tags),
            reason: Some(&self.reason),
            seen_change: self.seen_change,
            is_missing_upstream: self.gone,
        }
    }

    /// Returns the document with the bodies and the tags fetched or not.
    pub(crate) fn document(&self, bodies: bool, tags: bool) -> EmailDocument<'_> {
        let fetched = self.full_document();
        EmailDocument {
            reason: fetched.reason.filter(|_| bodies || self.lists_reason),
            bodies: fetched.bodies.filter(|_| bodies),
            tags: fetched.tags.filter(|_| tags),
            ..fetched
        }
    }
}

pub(crate) fn mail() -> impl Strategy<Value = ArbitraryEmail> {
    let body = || {
        prop::option::of(
            prop::sample::select(vec![
                "",
                "Your receipt, Ana López",
                "ご注文の確認 or -x",
                "(ana.lopez@example.com) 注文-4821, your-receipt",
            ])
            .prop_map(str::to_owned),
        )
    };
    let people = || {
        prop::sample::subsequence(
            vec![
                "Ana López <ana@example.com>",
                "佐藤 <sato@a.bc>",
                "or@ab.cd",
                "broken <",
                "ana.lopez@example.com",
                "boss@ab.cd <ana.lopez@example.org>",
                "x@lopez@example.com",
            ],
            0..3,
        )
    };
    let subject = prop::sample::select(vec![
        "",
        "Your  RECEIPT #4821",
        "Ihr Lópezplatz (a)",
        "ご注文の確認",
    ]);
    let status = prop_oneof![9 => prop::sample::select(Status::KNOWN.to_vec()), 1 => Just(Status::Unknown), 1 => Just(Status::parse("teleported"))];
    let tags = prop::sample::subsequence(vec![("a", "ana"), ("b", "receipt"), ("ab", "")], 0..3);
    let seconds = || 1_760_000_000_i64..1_800_000_000;
    let headers = (
        people(),
        people(),
        people(),
        subject,
        status,
        "[0-9a-f]{8}",
        prop::option::weighted(0.9, seconds()),
    );
    let rest = (
        body(),
        body(),
        tags,
        prop::sample::select(vec!["", "", "Mailbox full; 552 5.2.2", "ご注文 <x>"]),
        any::<bool>(),
        prop::option::of(seconds()),
        prop::bool::weighted(0.2),
    );
    (headers, rest).prop_map(
        |(
            (to, cc, reply_to, subject, status, id, created),
            (text, html, tags, reason, lists_reason, seen, gone),
        )| {
            let addresses = |texts: Vec<&str>| texts.into_iter().map(address).collect();
            let second =
                |second| Timestamp::from_second(second).expect("the generated times are near");
            ArbitraryEmail {
                summary: Summary {
                    id: EmailId::new(id),
                    to: addresses(to),
                    cc: addresses(cc),
                    reply_to: addresses(reply_to),
                    subject: SafeText::new(subject),
                    created: ApiTime::parse(
                        &created.map_or_else(
                            || "soon".to_owned(),
                            |created| second(created).to_string(),
                        ),
                    ),
                    status,
                    ..summary()
                },
                text,
                html,
                tags: tags
                    .into_iter()
                    .map(|(name, value)| Tag {
                        name: SafeText::new(name),
                        value: SafeText::new(value),
                    })
                    .collect(),
                reason: reason.to_owned(),
                lists_reason: lists_reason && !reason.is_empty(),
                seen_change: seen.map(second),
                gone,
            }
        },
    )
}
