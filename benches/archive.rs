//! How fast the archive is with a million emails: start, windows, pages, import.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use jiff::SignedDuration;
use sentbox::api::ListedEmail;
use sentbox::archive::{Archive, ArchiveLocation, ListingPage, PagePosition, WindowAnchor};

#[path = "sample/mail.rs"]
mod mail;

use mail::{SUBJECTS, now, scattered, start, uuid};

const EMAILS: u64 = 1_000_000;
const SCREEN: usize = 50;

fn summary(number: u64) -> String {
    const EVENTS: [&str; 5] = ["delivered", "delivered", "opened", "clicked", "bounced"];
    let drawn = scattered(number);
    let pick = |from: usize, shift: u32| (drawn >> shift) as usize % from;
    let created =
        start() + SignedDuration::from_millis(i64::try_from(number).expect("few emails") * 7_776);
    format!(
        r#"{{"id":"{}","to":["customer{}@example.com"],"from":"Acme Billing <billing@mail.example.org>","created_at":"{}+00","subject":"{} #{number}","message_id":"<{}@mail.example.org>","bcc":null,"cc":null,"reply_to":null,"last_event":"{}","scheduled_at":null}}"#,
        uuid(number),
        pick(40_000, 8),
        created.to_string().trim_end_matches('Z').replace('T', " "),
        SUBJECTS[pick(SUBJECTS.len(), 32)],
        uuid(number + EMAILS * 7),
        EVENTS[pick(EVENTS.len(), 40)],
    )
}

/// The same email with a body of about three kilobytes.
fn whole(number: u64) -> String {
    let mut html = String::from("<html><body>");
    for row in 0..24 {
        let _ = write!(
            html,
            "<tr><td style='padding:4px'>Item {}</td><td align='right'>{}.00 EUR</td></tr>",
            scattered(number + row),
            row * 7
        );
    }
    let summary = summary(number);
    format!(
        r#"{},"html":"{html}","text":"Thank you for order {number}.","tags":[]}}"#,
        summary.trim_end_matches('}')
    )
}

fn lines(numbers: std::ops::Range<u64>, line: fn(u64) -> String) -> String {
    numbers.fold(String::new(), |mut lines, number| {
        lines.push_str(&line(number));
        lines.push('\n');
        lines
    })
}

fn page(newest: u64, joins: PagePosition) -> ListingPage {
    let item = |number| {
        let json = summary(number);
        ListedEmail::parse(&json).expect("a summary")
    };
    ListingPage {
        items: (newest - 99..=newest).rev().map(item).collect(),
        position: joins,
        oldest_first: false,
        requested: now().into(),
    }
}

fn archive(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder for the archive");
    let location = ArchiveLocation::Disk(folder.path().join("mail.db"));
    let archive = Archive::open(&location).expect("an archive");
    for first in (0..EMAILS).step_by(100_000) {
        archive
            .import(
                lines(first..first + 100_000, summary).as_bytes(),
                now(),
                |_| (),
            )
            .expect("an import");
    }
    let window = |anchor: &WindowAnchor| archive.window(anchor, SCREEN).expect("a window");
    let middle = window(&WindowAnchor::AtTime(
        start().as_microsecond() + 3_888_000_000_000,
    ))
    .rows[0]
        .clone();

    c.bench_function("open and show the newest", |b| {
        b.iter(|| {
            Archive::open(&location)
                .expect("an archive")
                .window(&WindowAnchor::Top, SCREEN)
                .expect("a window")
        });
    });
    for (name, anchor) in [
        ("window: newest", WindowAnchor::Top),
        ("window: oldest", WindowAnchor::Bottom),
        (
            "window: around the middle",
            WindowAnchor::Around {
                sort_key: middle.sort_key,
                above: SCREEN / 2,
            },
        ),
        (
            "window: at a date",
            WindowAnchor::AtTime(start().as_microsecond() + 1_000_000_000_000),
        ),
    ] {
        c.bench_function(name, |b| b.iter(|| window(black_box(&anchor))));
    }
    c.bench_function("row by id", |b| {
        b.iter(|| archive.row(black_box(&middle.summary.id)).expect("a row"));
    });
    c.bench_function("count all", |b| {
        b.iter(|| archive.query_count().expect("a count"));
    });
    c.bench_function("rank of the middle", |b| {
        b.iter(|| archive.rank(middle.sort_key).expect("a rank"));
    });

    let mut newest = EMAILS + 99;
    archive
        .merge_page(&page(newest, PagePosition::Top))
        .expect("a page");
    c.bench_function("page of 100 known emails", |b| {
        b.iter(|| {
            archive
                .merge_page(&page(newest, PagePosition::Top))
                .expect("a page")
        });
    });
    c.bench_function("page of 100 new emails", |b| {
        b.iter_batched(
            || {
                newest += 100;
                page(newest, PagePosition::Top)
            },
            |page| archive.merge_page(&page).expect("a page"),
            BatchSize::PerIteration,
        );
    });
}

fn import(c: &mut Criterion) {
    let mut group = c.benchmark_group("import");
    group.sample_size(10);
    for (name, count, line) in [
        ("summaries", 50_000, summary as fn(u64) -> String),
        ("with bodies", 10_000, whole),
    ] {
        let lines = lines(0..count, line);
        group.throughput(Throughput::Elements(count));
        group.bench_function(name, |b| {
            let folder = tempfile::tempdir().expect("a folder for the archive");
            let mut number = 0;
            b.iter_batched(
                || {
                    number += 1;
                    Archive::open(&ArchiveLocation::Disk(
                        folder.path().join(format!("{number}.db")),
                    ))
                    .expect("an archive")
                },
                |archive| {
                    archive
                        .import(lines.as_bytes(), now(), |_| ())
                        .expect("an import")
                },
                BatchSize::PerIteration,
            );
        });
    }
}

criterion_group!(benches, archive, import);
criterion_main!(benches);
