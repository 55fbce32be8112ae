//! How fast a screen of each class of query is found, emails are taken in,
//! and the list is moved over, among 10 000 and 100 000 emails; with `SENTBOX_BENCH_MILLION=1`
//! among a million.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main,
};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use sentbox::archive::{Archive, ArchiveLocation, CancellationToken, WindowAnchor};
use sentbox::query::{ParseContext, Query, parse};

#[path = "sample/mail.rs"]
mod mail;

use mail::{SUBJECTS, now, scattered, start, uuid};

const SCREEN: usize = 50;

/// Milliseconds between two emails.
const STEP: i64 = 7_776;

/// One query of each class; every tenth email has a body.
const CLASSES: [(&str, &str); 20] = [
    ("recipient", "to:customer77@example.com"),
    ("part of an address", "stomer77@"),
    ("common word", "receipt"),
    ("rare word", "zephyrine"),
    ("number", "5000"),
    ("two characters, common", "re"),
    ("two characters, rare", "zq"),
    ("kanji", "注文"),
    ("word in bodies", "body:thankful"),
    ("rare word in bodies", "body:quokka"),
    ("status", "status:bounced"),
    ("common word, rare status", "receipt status:complained"),
    (
        "everything at once",
        "receipt status:bounced domain:example.com tag:plan=pro",
    ),
    ("negations", "-receipt -status:delivered"),
    ("old", "before:2026-05-30 receipt"),
    ("oldest first", "sort:oldest receipt status:bounced"),
    (
        "either",
        "zephyrine or (subject:password status:complained)",
    ),
    ("negated phrase", "-\"is on its way\" -\"order 5000\""),
    ("part of a number in bodies", "body:\"order 5\""),
    ("nothing", "nobody-has-this-word"),
];

/// Classes of queries of many alternatives, as of a pasted list of customers:
/// their number, how one of them is written, and the step between the numbers in them.
const ALTERNATIVES: [(&str, u64, &str, u64); 4] = [
    (
        "either of 400 recipients",
        400,
        "recipient:customer#@example.com",
        79,
    ),
    ("either of 400 addresses", 400, "customer#@example.com", 79),
    ("either of 40 unknown words", 40, "w#xyz", 1),
    ("either of 400 unknown words", 400, "w#xyz", 1),
];

fn email(number: u64) -> String {
    let drawn = scattered(number);
    let status = match drawn >> 8 & 1023 {
        0 => "complained",
        1..40 => "bounced",
        _ => "delivered",
    };
    let created =
        start() + SignedDuration::from_millis(i64::try_from(number).expect("few emails") * STEP);
    let rare = if drawn.is_multiple_of(1009) {
        " zephyrine zq"
    } else {
        ""
    };
    let mut json = format!(
        r#"{{"id":"{}","to":["customer{}@example.com"],"from":"Acme Billing <billing@mail.example.org>","created_at":"{}+00","subject":"{} #{number}{rare}","message_id":"<{}@mail.example.org>","bcc":null,"cc":null,"reply_to":null,"last_event":"{status}","scheduled_at":null"#,
        uuid(number),
        drawn >> 32 & 0x7fff,
        created.to_string().trim_end_matches('Z').replace('T', " "),
        SUBJECTS[(drawn >> 20 & 3) as usize],
        uuid(number + 7_000_000),
    );
    if drawn.is_multiple_of(10) {
        let animal = if drawn.is_multiple_of(10_000) {
            "quokka"
        } else {
            "cat"
        };
        let plan = if drawn.is_multiple_of(20) {
            "pro"
        } else {
            "free"
        };
        let _ = write!(
            json,
            r#","html":"<p>We are <b>thankful</b> for order {number}.</p><p>The {animal} sends its best.</p>","text":null,"tags":[{{"name":"plan","value":"{plan}"}}]"#
        );
    }
    json + "}"
}

fn filled(emails: u64) -> Archive {
    let archive = Archive::open(&ArchiveLocation::Memory).expect("an archive in memory");
    for from in (0..emails).step_by(50_000) {
        let lines = (from..emails.min(from + 50_000)).fold(String::new(), |lines, number| {
            lines + &email(emails - 1 - number) + "\n"
        });
        archive
            .import(lines.as_bytes(), now(), |_| ())
            .expect("they are emails");
    }
    archive
}

fn query(text: &str) -> Query {
    parse(text, &ParseContext::new(start(), TimeZone::UTC)).query
}

#[expect(clippy::disallowed_methods, reason = "a bench has no settings")]
fn search(c: &mut Criterion) {
    let million = std::env::var_os("SENTBOX_BENCH_MILLION").map(|_| 1_000_000);
    for emails in [10_000, 100_000].into_iter().chain(million) {
        let archive = filled(emails);
        let mut group = c.benchmark_group("search");
        group.sample_size(20);
        let alternatives = ALTERNATIVES.map(|(class, count, term, step)| {
            let terms = (0..count).map(|number| term.replace('#', &(number * step).to_string()));
            let terms: Vec<String> = terms.collect();
            (class, terms.join(" or "))
        });
        let classes = CLASSES.map(|(class, text)| (class, text.to_owned()));
        for (class, text) in classes.iter().chain(&alternatives) {
            let query = query(text);
            group.bench_function(BenchmarkId::new(*class, emails), |b| {
                b.iter(|| {
                    black_box(archive.search(
                        &query,
                        &WindowAnchor::Top,
                        SCREEN,
                        &CancellationToken::default(),
                    ))
                });
            });
        }
        let counts = alternatives
            .iter()
            .map(|(class, text)| (format!("count {class}"), &**text, u64::MAX));
        for (name, text, limit) in counts.chain(
            [
                ("count all: a word of bodies", "body:thankful", u64::MAX),
                ("count all: all but a word of bodies", "-thankful", u64::MAX),
                ("count to 10 000: by looking", "receipt", 10_000),
                ("count to 10 000: by the index", "status:delivered", 10_000),
            ]
            .map(|(name, text, limit)| (name.to_owned(), text, limit)),
        ) {
            let query = query(text);
            group.bench_function(BenchmarkId::new(name, emails), |b| {
                b.iter(|| {
                    black_box(archive.count_matches(&query, limit, &CancellationToken::default()))
                });
            });
        }
        moves(&mut group, &archive, emails);
        taking_in(&mut group, &archive, emails);
        group.finish();
    }
}

/// The list of what a query finds: the next screen, its end, a date.
fn moves(group: &mut BenchmarkGroup<'_, WallTime>, archive: &Archive, emails: u64) {
    let query = query("receipt");
    let window = |anchor: &WindowAnchor| {
        archive
            .search(&query, anchor, SCREEN, &CancellationToken::default())
            .expect("it is read")
            .expect("the search is not cancelled")
    };
    let last = window(&WindowAnchor::Top)
        .rows
        .last()
        .expect("a receipt")
        .sort_key;
    let middle = start()
        + SignedDuration::from_millis(i64::try_from(emails).expect("few emails") * STEP / 2);
    for (name, anchor) in [
        (
            "move: the next screen",
            WindowAnchor::Around {
                sort_key: last,
                above: 0,
            },
        ),
        ("move: to the end", WindowAnchor::Bottom),
        (
            "move: to a date",
            WindowAnchor::AtTime(middle.as_microsecond()),
        ),
    ] {
        group.bench_function(BenchmarkId::new(name, emails), |b| {
            b.iter(|| black_box(window(&anchor)));
        });
    }
}

/// A page of a hundred emails that the archive does not have.
fn taking_in(group: &mut BenchmarkGroup<'_, WallTime>, archive: &Archive, emails: u64) {
    let mut next = emails;
    group.bench_function(BenchmarkId::new("take in 100 emails", emails), |b| {
        b.iter_batched(
            || {
                next += 100;
                (next - 100..next)
                    .fold(String::new(), |lines, number| lines + &email(number) + "\n")
            },
            |lines| {
                archive
                    .import(lines.as_bytes(), now(), |_| ())
                    .expect("they are emails")
            },
            BatchSize::PerIteration,
        );
    });
}

criterion_group!(benches, search);
criterion_main!(benches);
