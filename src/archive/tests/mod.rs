//! The archive as its users see it, against plain lists and against files cut off
//! anywhere.

mod confirmations;
mod copy;
mod damage;
mod email_events;
mod identity;
mod import;
mod order;
#[cfg(feature = "postgres")]
mod postgres;
mod purge;
pub(crate) mod query_plans;
mod statistics;
mod two_forms;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use PagePosition::Top;

use super::storage::files::sidecar_path;
use super::*;
use crate::api::{ListedEmail, RetrievedEmail};
use crate::error::ErrorKind;
use crate::mail::{EmailId, Status};
use crate::query::{ParseContext, Query, parse};
use crate::text::checks::TextChecks as _;

pub(crate) const NOON: i64 = 1_790_000_000;

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(NOON + second).unwrap()
}

pub(crate) fn item_with(id: &str, second: Option<i64>, event: &str) -> ListedEmail {
    let created = second.map_or("null".to_owned(), |second| format!("\"{}\"", at(second)));
    let json = format!(
        r#"{{"id":"{id}","to":["a@example.com"],"created_at":{created},"subject":"Hi","last_event":"{event}"}}"#
    );
    ListedEmail::parse(&json).unwrap()
}

fn item(number: i64) -> ListedEmail {
    item_with(&format!("mail-{number}"), Some(number), "sent")
}

/// Returns an email of a sender of its own, as a line to import.
fn line_of_sender(number: i64) -> String {
    format!(
        r#"{{"id":"m{number}","to":["x@example.com"],"from":"s{number}@example.org","created_at":"{}"}}"#,
        at(number)
    )
}

/// Builds these emails; their numbers are their seconds.
fn items(numbers: impl IntoIterator<Item = i64>, event: &str) -> Vec<ListedEmail> {
    let email = |number: i64| item_with(&format!("mail-{number}"), Some(number), event);
    numbers.into_iter().map(email).collect()
}

fn merge_numbers(
    archive: &Archive,
    numbers: impl IntoIterator<Item = i64>,
    position: PagePosition,
) -> MergeResult {
    merge_at(archive, items(numbers, "sent"), position, at(1_000_000))
}

fn page(numbers: impl IntoIterator<Item = i64>, position: PagePosition) -> ListingPage {
    listing_page(items(numbers, "sent"), position, at(1_000_000))
}

fn listing_page(
    items: Vec<ListedEmail>,
    position: PagePosition,
    requested: impl Into<RequestStamp>,
) -> ListingPage {
    ListingPage {
        items,
        position,
        oldest_first: false,
        requested: requested.into(),
    }
}

/// Merges a page, newest first, that was requested at this time.
pub(crate) fn merge_at(
    archive: &Archive,
    items: Vec<ListedEmail>,
    position: PagePosition,
    requested: impl Into<RequestStamp>,
) -> MergeResult {
    archive
        .merge_page(&listing_page(items, position, requested))
        .unwrap()
}

fn merge(
    archive: &Archive,
    items: Vec<ListedEmail>,
    position: PagePosition,
    second: i64,
) -> MergeResult {
    merge_at(archive, items, position, at(second))
}

/// Merges the newest page, which is email `a`.
fn merge_status(archive: &Archive, event: &str, requested: impl Into<RequestStamp>) -> MergeResult {
    let items = vec![item_with("a", Some(1), event)];
    merge_at(archive, items, Top, requested)
}

fn below(number: i64) -> PagePosition {
    PagePosition::Below {
        cursor: EmailId::new(format!("mail-{number}")),
        is_end: false,
    }
}

/// The number of random cases:
/// fewer on a server, where each takes a hundred times as long.
pub(crate) fn cases(number: u32) -> u32 {
    use storage::db::postgres::tests::{SERVER, variable};
    let is_on_server = variable(SERVER).is_some();
    if is_on_server {
        number / 16 + 1
    } else {
        number
    }
}

pub(crate) fn import_lines(
    archive: &Archive,
    lines: impl IntoIterator<Item = impl AsRef<str>>,
    seen_at: Timestamp,
) -> super::import::ImportReport {
    let add = |text: String, line: &str| text + line + "\n";
    let text = (lines.into_iter()).fold(String::new(), |text, line| add(text, line.as_ref()));
    archive.import(text.as_bytes(), seen_at, |_| ()).unwrap()
}

fn mark_missing(archive: &Archive, id: &str, requested: Timestamp) {
    archive
        .mark_missing(&EmailId::new(id), requested.into())
        .unwrap();
}

fn row(archive: &Archive, id: &str) -> EmailRow {
    archive.row(&EmailId::new(id)).unwrap().unwrap()
}

pub(crate) fn open_file(path: &Path) -> Archive {
    Archive::open(&ArchiveLocation::Disk(path.to_owned())).unwrap()
}

/// Returns a path in a new folder, which is removed with the first value.
pub(crate) fn temp_path(name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

pub(crate) fn memory() -> Archive {
    Archive::open(&ArchiveLocation::Memory).unwrap()
}

fn ids(window: &RowWindow) -> Vec<String> {
    let rows = window.rows.iter();
    rows.map(|row| row.summary.id.as_str().to_owned()).collect()
}

fn query(text: &str) -> Query {
    parse(text, &ParseContext::new(at(0), TimeZone::UTC)).query
}

/// Returns the ids of the first matches.
fn search(archive: &Archive, query: &Query, rows: usize) -> Vec<String> {
    let window = archive.search(query, &WindowAnchor::Top, rows, &CancellationToken::new());
    ids(&window.unwrap().unwrap())
}

fn all(archive: &Archive) -> Vec<String> {
    ids(&archive.window(&WindowAnchor::Top, usize::MAX).unwrap())
}

/// Returns the time after which the archive has all mail; there may be older mail.
fn covered_after(archive: &Archive) -> Timestamp {
    match archive.coverage().unwrap() {
        Coverage::Since(since) => since.parsed.unwrap() - Duration::from_micros(1),
        other => panic!("{other:?}"),
    }
}

#[test]
fn consecutive_pages_form_one_range() {
    let archive = memory();
    assert_eq!(archive.coverage().unwrap(), Coverage::Unknown);
    let first = merge_numbers(&archive, (90..100).rev(), Top);
    assert_eq!(first.new.len(), 10);
    assert!(first.extended);
    assert!(first.is_lowest);
    merge_numbers(&archive, (80..90).rev(), below(90));
    let again = merge_numbers(&archive, (90..100).rev(), Top);
    assert_eq!(again.new.len(), 0);
    assert!(!again.extended);
    assert!(!again.is_lowest);
    let coverage = archive.coverage_state().unwrap();
    assert_eq!((coverage.ranges.len(), coverage.max_page_len), (1, 10));
    assert_eq!(covered_after(&archive), at(80));
    let bottom = coverage.ranges[0].bottom;
    archive.record_end(bottom, None, at(0).into()).unwrap();
    assert_eq!(archive.coverage().unwrap(), Coverage::Complete);
}

/// Older mail may have the time of the oldest email of the page.
#[test]
fn coverage_begins_after_time_of_oldest_email() {
    let archive = memory();
    let mail = |number: i64| item_with(&format!("mail-{number}"), Some(7), "sent");
    merge(&archive, (0..10).map(mail).collect(), Top, 8);
    assert_eq!(covered_after(&archive), at(7));
}

#[test]
fn oldest_listed_has_no_time_without_its_own() {
    for second in [None, Some(7)] {
        let archive = memory();
        let oldest = item_with("oldest", second, "sent");
        let carried = merge(&archive, vec![item(9), oldest], Top, 10);
        let bottom = carried.range.unwrap().bottom;
        archive.record_end(bottom, None, at(10).into()).unwrap();
        assert_eq!(archive.oldest_listed().unwrap(), second.map(at));
    }
}

#[test]
fn page_contradicting_its_cursor_covers_nothing() {
    let archive = memory();
    merge_numbers(&archive, (90..100).rev(), Top);
    merge_numbers(&archive, (80..90).rev(), below(90));
    // Some of what is above the cursor, and then others: what lies between was left out.
    let carried = merge_numbers(&archive, [98, 91, 77], below(80));
    assert_eq!((carried.range, carried.new.len()), (None, 1));
    assert_eq!(all(&archive).last().unwrap(), "mail-77");
    assert_eq!(covered_after(&archive), at(80));
    // A few emails once more, in order and up to the cursor, are not a contradiction.
    let carried = merge_numbers(&archive, (70..83).rev(), below(80));
    assert!(carried.extended && carried.is_lowest);
}

pub(crate) fn put_email(archive: &Archive, json: &str, requested: Timestamp) {
    let retrieved = RetrievedEmail::parse(json).unwrap();
    archive.put_body(&retrieved, requested.into()).unwrap();
}

/// A key may be answered with the mail of another account.
#[test]
fn page_without_any_known_email_is_doubted() {
    let archive = memory();
    let mine = (0..10).rev().map(|n| n * 2);
    merge(&archive, items(mine, "sent"), Top, 100);
    let other = |n: i64| item_with(&format!("x-{n}"), Some(n * 2 + 1), "sent");
    let others = || (0..10).rev().map(other).collect();
    assert!(merge(&archive, others(), Top, 101).is_doubted);
    assert_eq!(all(&archive).len(), 10);
    // More new mail than a page has is newer.
    let newer = items((20..30).rev(), "sent");
    assert!(!merge(&archive, newer, Top, 102).is_doubted);
    assert!(merge(&archive, others(), Top, 103).is_doubted);
    assert!(!merge(&archive, others(), Top, 120).is_doubted, "it lasts");
}

#[test]
fn retrieved_email_that_contradicts_its_row_is_refused() {
    let archive = memory();
    merge(&archive, vec![item_with("a", Some(1), "sent")], Top, 9);
    let retrieve = |to: &str| {
        let json = format!(
            r#"{{"id":"a","to":["{to}"],"created_at":"2026-01-02T00:00:00Z","subject":"No","last_event":"bounced"}}"#
        );
        archive.put_body(&RetrievedEmail::parse(json).unwrap(), at(60).into())
    };
    let refused = retrieve("b@example.com").unwrap_err();
    assert_eq!(refused.kind, ErrorKind::NotTheApi);
    let row = row(&archive, "a");
    assert_eq!((row.summary.status, row.has_body), (Status::Sent, false));
    assert!(retrieve("a@example.com").unwrap(), "the same recipient");
}

#[test]
fn late_response_does_not_overwrite_newer_status() {
    let archive = memory();
    let reported =
        |event: &str, second: i64| merge_status(&archive, event, at(second)).changed.len();
    for (event, second, changes) in [
        ("sent", 10, 0),
        ("opened", 30, 1),
        ("delivered", 20, 0),
        ("opened", 40, 0),
    ] {
        assert_eq!(reported(event, second), changes, "{event}");
    }
    let history = archive.history(&EmailId::new("a")).unwrap();
    let observed = [(Status::Sent, at(10)), (Status::Opened, at(30))];
    assert_eq!(
        history,
        observed.map(|(status, seen)| ObservedStatus { status, seen })
    );
}

#[test]
fn same_status_in_other_spelling_is_unchanged() {
    let archive = memory();
    let merge_status = |event, second| {
        let items = vec![item_with("a", None, event)];
        merge(&archive, items, Top, second)
    };
    merge_status("delivered", 1);
    assert!(merge_status("email.delivered", 2).changed.is_empty());
    assert_eq!(row(&archive, "a").last_change, None);
}

#[test]
fn listed_bodies_are_stored() {
    let archive = memory();
    let json: Arc<str> =
        r#"{"object":"email","id":"a","html":"<p>","text":"x","last_event":"email.sent"}"#.into();
    let item = ListedEmail::parse(&json).unwrap();
    merge(&archive, vec![item], Top, 1);
    let id = EmailId::new("a");
    assert_eq!(archive.email(&id).unwrap().unwrap().json, json);
    let listed = archive.summary_json(&id).unwrap().unwrap();
    assert_eq!(listed, r#"{"id":"a","last_event":"email.sent"}"#);
    assert!(
        archive.row(&id).unwrap().unwrap().summary.extra.is_empty(),
        "bodies are not unknown members"
    );
}

#[test]
fn failed_page_changes_nothing() {
    let archive = memory();
    merge_numbers(&archive, (90..100).rev(), Top);
    let before = (all(&archive), archive.coverage_state().unwrap());
    let trap = "CREATE TRIGGER trap BEFORE INSERT ON mail WHEN new.id = 'mail-83' BEGIN SELECT raise(ABORT, 'trap'); END";
    archive.write(|change| change.execute_batch(trap)).unwrap();
    let error = archive
        .merge_page(&page((80..90).rev(), below(90)))
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Archive);
    assert_eq!((all(&archive), archive.coverage_state().unwrap()), before);
    archive
        .write(|change| change.execute_batch("DROP TRIGGER trap"))
        .unwrap();
    let merged = merge_numbers(&archive, (80..90).rev(), below(90));
    assert_eq!(merged.new.len(), 10);
}

#[test]
fn truncated_file_is_archive_after_some_page() {
    let (folder, path) = temp_path("mail.db");
    let archive = open_file(&path);
    for start in [190, 180, 170, 160] {
        let joins = if start == 190 { Top } else { below(start + 10) };
        merge_numbers(&archive, (start..start + 10).rev(), joins);
    }
    let file = std::fs::read(&path).unwrap();
    let log = std::fs::read(sidecar_path(&path, "-wal")).unwrap();
    assert!(!log.is_empty(), "nothing was checkpointed yet");
    let mut states = std::collections::BTreeSet::new();
    for length in (0..=log.len()).step_by(3000).chain([log.len()]) {
        let crashed = folder.path().join(format!("crashed-{length}.db"));
        std::fs::write(&crashed, &file).unwrap();
        std::fs::write(sidecar_path(&crashed, "-wal"), &log[..length]).unwrap();
        let archive = open_file(&crashed);
        let (rows, coverage) = (all(&archive).len(), archive.coverage_state().unwrap());
        assert_eq!(rows % 10, 0);
        assert_eq!(coverage.ranges.len(), usize::from(rows > 0));
        let covered = coverage
            .ranges
            .iter()
            .map(|range| archive.rank(range.bottom).unwrap() + 1)
            .sum::<u64>();
        assert_eq!(covered, rows as u64);
        states.insert(rows);
    }
    assert_eq!(states.into_iter().collect::<Vec<_>>(), [0, 10, 20, 30, 40]);
}

#[test]
fn files_are_private_and_any_name_works() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made here").join("a%20b?c#d ü.db");
    let archive = open_file(&path);
    merge_numbers(&archive, 0..1, Top);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for file in [
        path.clone(),
        sidecar_path(&path, "-wal"),
        sidecar_path(&path, "-shm"),
    ] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert_eq!(all(&open_file(&path)), ["mail-0"]);
}

#[test]
fn folder_as_archive_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let error = Archive::open(&ArchiveLocation::Disk(folder.path().to_owned())).unwrap_err();
    assert!(!error.hint.is_empty(), "{error}");
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let mode = || std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&socket).unwrap());
    let before = mode();
    let error = Archive::open(&ArchiveLocation::Disk(socket.clone())).unwrap_err();
    error.message.assert_contains("device, a pipe or a socket");
    assert_eq!(mode(), before, "a device may be everybody's");
}

#[test]
fn readers_and_writer_do_not_conflict() {
    let folder = tempfile::tempdir().unwrap();
    for location in [
        ArchiveLocation::Memory,
        ArchiveLocation::Disk(folder.path().join("mail.db")),
    ] {
        let archive = Archive::open(&location).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while all(&archive).len() < 600 {
                        archive.query_count().unwrap();
                    }
                });
            }
            for start in (0..600).step_by(20) {
                merge_numbers(&archive, (start..start + 20).rev(), Top);
            }
        });
    }
}

#[test]
fn archives_in_memory_are_separate() {
    let (one, other) = (memory(), memory());
    merge_numbers(&one, 0..3, Top);
    assert_eq!(one.query_count().unwrap(), 3);
    assert_eq!(other.query_count().unwrap(), 0);
}

/// Returns an anchor of one of four kinds, and the part of a list that a window
/// has there, of which `before` rows are before the anchor.
pub(crate) fn anchor_and_part(
    kind: usize,
    sort_key: SortKey,
    (before, above): (usize, usize),
    rows: usize,
    len: usize,
) -> (WindowAnchor, Range<usize>) {
    let part = |from: usize| {
        let from = from.min(len.saturating_sub(rows));
        from..(from + rows).min(len)
    };
    match kind {
        0 => (WindowAnchor::Top, part(0)),
        1 => (WindowAnchor::Bottom, part(len)),
        2 => {
            let from = before.saturating_sub(above.min(rows - 1));
            (WindowAnchor::Around { sort_key, above }, part(from))
        }
        _ => (WindowAnchor::AtTime(sort_key.micros()), part(before)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(64), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_equal_a_plain_list(
        seconds in prop::collection::btree_set(0..500_i64, 0..40),
        anchors in prop::collection::vec((0..4_usize, 0..500_i64, 0..12_usize, 1..15_usize), 1..8),
    ) {
        let archive = memory();
        merge_numbers(&archive, seconds.iter().rev().copied(), Top);
        let list: Vec<i64> = seconds.into_iter().rev().collect();
        let key_at = |second: i64| SortKey::from_micros((NOON + second) * 1_000_000).unwrap();
        for (kind, second, lead, rows) in anchors {
            let older = list.iter().position(|other| *other <= second).unwrap_or(list.len());
            let (anchor, part) = anchor_and_part(kind, key_at(second), (older, lead), rows, list.len());
            let window = archive.window(&anchor, rows).unwrap();
            let expected: Vec<String> = list[part.clone()].iter().map(|second| format!("mail-{second}")).collect();
            prop_assert_eq!(ids(&window), expected, "{:?} of {:?}", anchor, list);
            if !part.is_empty() {
                prop_assert_eq!((window.more_above, window.more_below), (part.start > 0, part.end < list.len()));
                prop_assert_eq!(archive.rank(window.rows[0].sort_key).unwrap(), part.start as u64);
            }
        }
        prop_assert_eq!(archive.query_count().unwrap(), list.len() as u64);
    }
}

#[test]
fn archive_that_others_are_making_is_not_empty() {
    for _ in 0..20 {
        let (_folder, path) = temp_path("new/archive.sqlite");
        std::thread::scope(|scope| {
            let open = || Archive::open(&ArchiveLocation::Disk(path.clone())).unwrap();
            let opened: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
            for archive in opened {
                assert!(archive.join().unwrap().replaced().is_empty());
            }
        });
    }
}
