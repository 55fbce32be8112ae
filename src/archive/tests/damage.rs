//! Damaged archives: found by the check, repaired as far as they can be read,
//! never claimed complete.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{at, merge, open_file, put_email, query, temp_path};
use crate::api::ListedEmail;
use crate::archive::storage::files;
use crate::archive::{
    Archive, ArchiveLocation, CancellationToken, Coverage, CoveredRange, EmailRow, PagePosition,
    RepairOutcome, WindowAnchor,
};
use crate::mail::EmailId;

const EMAILS: usize = 120;

fn json(n: usize) -> String {
    let status = ["delivered", "sent", "bounced", "opened"][n % 4];
    let created = at(-i64::try_from(n).unwrap() * 600);
    format!(
        r#"{{"id":"{n:08x}-0000-4000-8000-00000000{n:04x}","to":["person{n}@example.com"],"from":"Shop <shop@example.org>","created_at":"{created}","subject":"Order {n} of {}","last_event":"{status}","message_id":"<m{n}@example.org>","bcc":null,"cc":null,"reply_to":null,"scheduled_at":null}}"#,
        n * 7919 % 1000
    )
}

fn item(n: usize) -> ListedEmail {
    ListedEmail::parse(&json(n)).unwrap()
}

/// A complete archive: all of the listing, some statuses that changed,
/// and some bodies.
fn filled(path: &Path) {
    let archive = open_file(path);
    let mut bottom = None;
    let mut above: Option<EmailId> = None;
    for first in (0..EMAILS).step_by(40) {
        let items: Vec<ListedEmail> = (first..first + 40).map(item).collect();
        let joins = above.map_or(PagePosition::Top, |cursor| PagePosition::Below {
            cursor,
            is_end: false,
        });
        above = items.last().map(|item| EmailId::new(&item.id));
        let carried = merge(&archive, items, joins, 0);
        bottom = carried.range.map(|range| range.bottom);
    }
    let bottom = bottom.unwrap();
    archive.record_end(bottom, None, at(0).into()).unwrap();
    for n in (0..EMAILS).step_by(5) {
        let short = json(n).replace(r#""sent""#, r#""delivered""#);
        let whole = short.replace(
            r#"{"id""#,
            r#"{"object":"email","text":"Dear customer, your parcel is on its way.","html":"<p>Dear customer</p>","id""#,
        );
        put_email(&archive, &whole, at(60));
    }
    assert_eq!(archive.coverage().unwrap(), Coverage::Complete);
    archive.compact().unwrap();
}

/// Such an archive in a folder of its own.
fn filled_folder() -> (TempDir, PathBuf) {
    let (folder, path) = temp_path("archive.sqlite");
    filled(&path);
    (folder, path)
}

type Found = Result<Vec<String>, crate::error::Error>;

/// The results of the list and of searches, by the searched text.
fn found(archive: &Archive) -> BTreeMap<&'static str, Found> {
    let texts = [
        "",
        "status:bounced",
        "person1",
        "order",
        "parcel",
        "status:delivered is:changed",
        "-status:sent",
    ];
    let find = |text: &'static str| {
        let mut ids = Vec::new();
        let result = archive.for_each_match(
            &query(text),
            &CancellationToken::default(),
            |row: EmailRow| {
                ids.push(row.summary.id.as_str().to_owned());
                true
            },
        );
        result.map(|_| ids)
    };
    texts.into_iter().map(|text| (text, find(text))).collect()
}

/// Damages the bytes: a bit, a few bytes, a zeroed or repeated page, or a lost end.
fn damage(bytes: &mut Vec<u8>, rng: &mut fastrand::Rng) -> &'static str {
    const PAGE: usize = 4096;
    let len = bytes.len();
    let at = rng.usize(..len);
    let page = at / PAGE * PAGE;
    match rng.u8(..8) {
        0..4 => {
            bytes[at] ^= 1 << rng.u8(..8);
            "bit"
        }
        4 => {
            let end = (at + 16).min(len);
            rng.fill(&mut bytes[at..end]);
            "bytes"
        }
        5 => {
            bytes[page..page + PAGE].fill(0);
            "page"
        }
        6 => {
            let other = rng.usize(..len / PAGE) * PAGE;
            bytes.copy_within(other..other + PAGE, page);
            "copy"
        }
        _ => {
            bytes.truncate(page.max(PAGE));
            "end"
        }
    }
}

fn rows(archive: &Archive) -> usize {
    archive
        .window(&WindowAnchor::Top, EMAILS * 2)
        .unwrap()
        .rows
        .len()
}

const DAMAGE_INDEX: &str = "INSERT INTO search (rowid, tokens) VALUES (1, 'xany')";

fn execute(path: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[test]
fn other_processes_cannot_write_during_repair() {
    let (_folder, path) = filled_folder();
    execute(&path, DAMAGE_INDEX);
    let mut codes = Vec::new();
    let repaired = Archive::repair(&path, |_| {
        let other = rusqlite::Connection::open(&path).unwrap();
        other.busy_timeout(std::time::Duration::ZERO).unwrap();
        let written = other.execute_batch("DELETE FROM body");
        codes.push(written.unwrap_err().sqlite_error_code());
    });
    assert!(repaired.unwrap().backup.is_some());
    let busy = Some(rusqlite::ErrorCode::DatabaseBusy);
    assert!(
        !codes.is_empty() && codes.iter().all(|code| *code == busy),
        "{codes:?}"
    );
    execute(&path, "DELETE FROM body");
}

#[test]
fn whole_archive_passes_check_and_repair_keeps_everything() {
    let (_folder, path) = filled_folder();
    let before = open_file(&path);
    before.check_integrity(|_| ()).unwrap();
    let expected = found(&before);
    let changed = EmailId::new("00000005-0000-4000-8000-000000000005");
    let history = |archive: &Archive| archive.history(&changed).unwrap();
    let observed = history(&before);
    let info = before.info().unwrap();
    let window = before.window(&WindowAnchor::Top, EMAILS).unwrap();
    drop(before);
    let bytes = fs::read(&path).unwrap();
    let unchanged = Archive::repair(&path, |_| ()).unwrap();
    assert_eq!((unchanged.emails, unchanged.bodies), (120, 24));
    assert_eq!((unchanged.lost_emails, unchanged.backup), (Some(0), None));
    assert!(fs::read(&path).unwrap() == bytes && files::find_backups(&path).is_empty());
    execute(&path, DAMAGE_INDEX);
    let repaired = Archive::repair(&path, |_| ()).unwrap();
    assert_eq!(repaired.emails, 120);
    assert_eq!(repaired.lost_emails, Some(0));
    assert_eq!(repaired.lost_bodies, Some(0));
    assert!(!repaired.is_coverage_reset);
    assert_eq!(files::find_backups(&path), [repaired.backup.unwrap()]);
    let after = open_file(&path);
    after.check_integrity(|_| ()).unwrap();
    assert_eq!((found(&after), history(&after)), (expected, observed));
    assert_eq!(after.info().unwrap(), info);
    assert_eq!(after.window(&WindowAnchor::Top, EMAILS).unwrap(), window);
}

#[test]
fn check_finds_damage_inside_valid_pages() {
    let (_folder, path) = temp_path("archive.sqlite");
    let cases = [
        (
            "UPDATE row_counts SET emails = emails + 1",
            "its row counts are wrong",
        ),
        (
            "DELETE FROM search WHERE rowid = (SELECT max(fts_rowid) FROM mail)",
            "its search index does not match its emails",
        ),
        (
            "INSERT INTO search (rowid, tokens) VALUES (1, 'xany')",
            "its search index does not match its emails",
        ),
        (
            "UPDATE mail SET subject = 'Other' WHERE sort_key = (SELECT min(sort_key) FROM mail); DELETE FROM dirty",
            "its search index does not match its emails",
        ),
        (
            "UPDATE body SET json = x'00' WHERE sort_key = (SELECT min(sort_key) FROM body); DELETE FROM dirty",
            "1 body cannot be read",
        ),
        (
            "UPDATE mail SET extra_json = '{' WHERE sort_key = (SELECT min(sort_key) FROM mail); DELETE FROM dirty",
            "1 email cannot be read",
        ),
        (
            "PRAGMA foreign_keys = OFF; UPDATE covered_range SET bottom = bottom - 1",
            "its row counts are wrong",
        ),
    ];
    for (change, expected) in cases {
        let _ = fs::remove_file(&path);
        filled(&path);
        execute(&path, change);
        let error = open_file(&path).check_integrity(|_| ()).unwrap_err();
        assert_eq!(
            error.message,
            format!("the archive is damaged: {expected}"),
            "{change}"
        );
        assert!(error.hint.contains("sentbox archive repair"), "{error:?}");
        let repaired = Archive::repair(&path, |_| ()).unwrap();
        let archive = open_file(&path);
        archive.check_integrity(|_| ()).unwrap();
        assert_eq!(u64::try_from(rows(&archive)).unwrap(), repaired.emails);
        assert_eq!(
            archive.coverage().unwrap() == Coverage::Complete,
            repaired.lost_emails == Some(0) && !repaired.is_coverage_reset,
            "{change}"
        );
    }
}

#[test]
fn lost_email_splits_its_range() {
    let (_folder, path) = filled_folder();
    let change = "UPDATE mail SET extra_json = '{' WHERE sort_key = (SELECT sort_key FROM mail ORDER BY sort_key LIMIT 1 OFFSET 50); DELETE FROM dirty";
    execute(&path, change);
    let repaired = Archive::repair(&path, |_| ()).unwrap();
    assert_eq!(repaired.emails, 119);
    assert_eq!(repaired.lost_emails, Some(1));
    assert!(!repaired.is_coverage_reset);
    let archive = open_file(&path);
    let ranges = archive.coverage_state().unwrap().ranges;
    let all = archive.window(&WindowAnchor::Top, EMAILS).unwrap().rows;
    let range = |top: usize, bottom: usize| CoveredRange {
        top: all[top].sort_key,
        bottom: all[bottom].sort_key,
        reaches_top: top == 0,
        reaches_end: bottom == 118,
    };
    assert_eq!(ranges, [range(0, 49), range(50, 118)]);
    assert!(matches!(archive.coverage().unwrap(), Coverage::Since(_)));
}

#[test]
fn emails_of_a_lost_page_are_counted() {
    const PAGE: usize = 4096;
    let (_folder, path) = filled_folder();
    let bytes = fs::read(&path).unwrap();
    let mut lost = 0;
    for page in 1..bytes.len() / PAGE {
        let mut damaged = bytes.clone();
        damaged[page * PAGE..(page + 1) * PAGE].fill(0xff);
        fs::write(&path, damaged).unwrap();
        let Ok(repaired) = Archive::repair(&path, |_| ()) else {
            continue;
        };
        let missing = EMAILS as u64 - repaired.emails;
        lost += missing;
        assert!(
            repaired.lost_emails.is_none_or(|lost| lost == missing),
            "page {page}: {missing} are missing, {:?} are counted",
            repaired.lost_emails
        );
        assert!(
            missing == 0 || repaired.lost_emails == Some(missing),
            "page {page}: the counts are intact"
        );
    }
    assert!(lost > 0);
}

fn repair_changed(is_compact: bool, change: impl FnOnce(&mut Vec<u8>)) -> (Archive, RepairOutcome) {
    let (folder, path) = filled_folder();
    if !is_compact {
        // A compact file ends with definitions of tables.
        execute(
            &path,
            "WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n LIMIT 1000)
            INSERT INTO purged (id_hash) SELECT randomblob(16) FROM n",
        );
    }
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(&path, &bytes).unwrap();
    let repaired = Archive::repair(&path, |_| ()).unwrap();
    let backup = repaired.backup.as_ref().unwrap();
    assert!(
        fs::read(backup).unwrap() == bytes,
        "the damaged file is kept"
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "no copy is left"
    );
    let archive = open_file(&path);
    archive.check_integrity(|_| ()).unwrap();
    (archive, repaired)
}

#[test]
fn archive_without_its_last_page_is_repaired() {
    for is_compact in [false, true] {
        let (archive, repaired) =
            repair_changed(is_compact, |bytes| bytes.truncate(bytes.len() - 4096));
        assert_eq!(
            (repaired.emails, repaired.bodies),
            (120, 24),
            "{is_compact}"
        );
        assert_ne!(archive.coverage().unwrap(), Coverage::Complete);
    }
}

#[test]
fn wrong_page_count_loses_nothing() {
    for wrong in [5_u32, 1 << 20] {
        let (archive, repaired) = repair_changed(false, |bytes| {
            bytes[28..32].copy_from_slice(&wrong.to_be_bytes());
        });
        assert_eq!((repaired.emails, repaired.lost_emails), (120, Some(0)));
        assert_eq!(archive.coverage().unwrap(), Coverage::Complete);
    }
}

#[test]
fn hint_of_failed_repair_is_not_repair() {
    let (_folder, path) = filled_folder();
    let bytes = fs::read(&path).unwrap();
    for end in [512, 4096, 8192] {
        fs::write(&path, &bytes[..end]).unwrap();
        let error = Archive::repair(&path, |_| ()).unwrap_err();
        assert!(
            !error.hint.contains("repair"),
            "{end}: {error} {}",
            error.hint
        );
    }
}

#[test]
fn emails_without_unreadable_parts_are_kept() {
    for (table, lost) in [
        ("interned", r#""from":"Shop <shop@example.org>","#),
        ("key_order", r#""bcc":null,"cc":null,"#),
    ] {
        let (_folder, path) = filled_folder();
        let query = format!("SELECT rootpage FROM sqlite_schema WHERE name = '{table}'");
        let page: u32 = rusqlite::Connection::open(&path)
            .and_then(|connection| connection.query_one(&query, [], |row| row.get(0)))
            .unwrap();
        let page = page as usize;
        let mut bytes = fs::read(&path).unwrap();
        bytes[(page - 1) * 4096..page * 4096].fill(0xff);
        fs::write(&path, bytes).unwrap();
        let repaired = Archive::repair(&path, |_| ()).unwrap();
        assert_eq!((repaired.emails, repaired.lost_emails), (120, Some(0)));
        assert_eq!(repaired.incomplete_emails, 120, "{table}");
        assert!(repaired.is_coverage_reset);
        let archive = open_file(&path);
        archive.check_integrity(|_| ()).unwrap();
        let id = EmailId::new(&item(1).id);
        let first = || archive.summary_json(&id).unwrap().unwrap();
        assert!(!first().contains(lost), "{}", first());
        assert!(first().contains(r#""to":["person1@example.com"]"#));
        merge(&archive, vec![item(1)], PagePosition::Top, 0);
        assert_eq!(first(), json(1));
    }
}

#[test]
fn missing_sender_splits_its_range() {
    let (_folder, path) = filled_folder();
    let change = "UPDATE mail SET sender = 99 WHERE sort_key = (SELECT sort_key FROM mail ORDER BY sort_key LIMIT 1 OFFSET 50); DELETE FROM dirty";
    execute(&path, change);
    let repaired = Archive::repair(&path, |_| ()).unwrap();
    assert_eq!((repaired.emails, repaired.lost_emails), (120, Some(0)));
    assert_eq!(repaired.incomplete_emails, 1);
    assert!(!repaired.is_coverage_reset);
    let archive = open_file(&path);
    assert_eq!(archive.coverage_state().unwrap().ranges.len(), 2);
}

#[test]
fn archive_in_use_is_not_repaired() {
    let (_folder, path) = temp_path("archive.sqlite");
    let archive = open_file(&path);
    assert!(archive.poll_lock().try_acquire(at(0)));
    let refused = Archive::repair(&path, |_| ()).unwrap_err();
    assert_eq!(refused.message, "another sentbox is using the archive");
    assert!(archive.check_file().is_ok());
}

#[test]
fn random_damage_is_never_silent() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.sqlite");
    filled(&whole);
    let (bytes, expected) = (fs::read(&whole).unwrap(), found(&open_file(&whole)));
    let mut rng = fastrand::Rng::with_seed(20_261_122);
    let (mut passed, mut repaired) = (0, 0);
    for trial in 0..VARIANTS {
        let path: PathBuf = folder.path().join(format!("{trial}.sqlite"));
        let mut damaged = bytes.clone();
        let kind = damage(&mut damaged, &mut rng);
        fs::write(&path, &damaged).unwrap();
        let opened = Archive::open(&ArchiveLocation::Disk(path.clone()));
        let is_passed = opened
            .as_ref()
            .is_ok_and(|archive| archive.check_integrity(|_| ()).is_ok());
        if let (Ok(archive), true) = (&opened, is_passed) {
            passed += 1;
            assert_eq!(
                found(archive),
                expected,
                "trial {trial}, {kind}: the check has passed"
            );
        }
        drop(opened);
        let Ok(done) = Archive::repair(&path, |_| ()) else {
            continue;
        };
        repaired += 1;
        let archive = open_file(&path);
        archive
            .check_integrity(|_| ())
            .unwrap_or_else(|error| panic!("trial {trial}, {kind}: {error}"));
        let count = rows(&archive);
        assert_eq!(
            u64::try_from(count).unwrap(),
            done.emails,
            "trial {trial}, {kind}"
        );
        let is_complete = archive.coverage().unwrap() == Coverage::Complete;
        assert!(
            !is_complete || count == EMAILS,
            "trial {trial}, {kind}: {count} emails are claimed to be everything"
        );
        fs::remove_file(&path).unwrap();
    }
    assert!(
        passed < VARIANTS * 2 / 3 && repaired > VARIANTS / 2,
        "{passed} passed, {repaired} were repaired"
    );
}

const VARIANTS: usize = 60;
