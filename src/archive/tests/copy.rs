//! A copy has every row of its source, also after it was interrupted,
//! and is found by the same searches.

use std::path::Path;

use rusqlite::types::Value;

use super::*;
use crate::archive::copy::TABLES;
use crate::archive::storage::INCOMPLETE_COPY;
use crate::archive::storage::db::postgres::tests::schema_for_test;
use crate::mail::Mailbox;

fn disk(folder: &Path, name: &str) -> ArchiveLocation {
    ArchiveLocation::Disk(folder.join(name))
}

/// Adds mail with bodies, listed pages, a changed status and a purge.
fn fill(archive: &Archive, from: i64) {
    let line = |number: i64| {
        format!(
            r#"{{"id":"body-{number}","to":["p{number}@example.com"],"from":"Shop <shop@example.org>","created_at":"{}","subject":"Order {number}","last_event":"delivered","html":"<p>word{number} \u0000 hello</p>","tags":[{{"name":"kind","value":"order"}}]}}"#,
            at(number)
        )
    };
    import_lines(archive, (from..from + 120).map(line), at(600));
    let newest = from + 1_100;
    merge_numbers(archive, (from + 1_000..newest).rev(), Top);
    let mut changed = page((from + 1_050..newest).rev(), Top);
    changed.items[3] = item_with(&format!("mail-{}", newest - 4), Some(newest - 4), "bounced");
    changed.requested = at(1_000_100).into();
    archive.merge_page(&changed).unwrap();
    let purged = PurgeTarget::To(format!("p{}@example.com", from + 7));
    archive.purge(&purged).unwrap();
}

fn all_rows(archive: &Archive) -> Vec<(&'static str, Vec<Vec<Value>>)> {
    let read = |conn: &Connection| {
        let tables = TABLES
            .iter()
            .map(|table| Ok((table.name, table.read_past(conn, None)?)));
        tables.collect::<Result<_>>()
    };
    archive.read(read).unwrap()
}

/// Compares every table, what is found, and whether the index is the one that the
/// emails should have.
fn assert_equal(copy: &ArchiveLocation, source: &Archive) {
    let copy = Archive::open(copy).unwrap();
    assert_eq!(all_rows(&copy), all_rows(source));
    assert_eq!(copy.info().unwrap(), source.info().unwrap());
    for text in [
        "word33",
        "to:p1",
        "hel",
        "is:bounced",
        "-order",
        "tag:kind=order",
        "id:mail",
    ] {
        let query = query(text);
        assert_eq!(search(&copy, &query, 500), search(source, &query, 500));
    }
    copy.check_integrity(|_| ()).unwrap();
}

#[test]
fn interrupted_copy_goes_on_and_equals_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (disk(folder.path(), "from"), disk(folder.path(), "to"));
    let source = Archive::open(&from).unwrap();
    fill(&source, 0);
    let interrupted = Archive::copy(&from, &to, |_, step| match step {
        CopyStep::Index(_) => Err(Error::new(ErrorKind::Io, "interrupted")),
        CopyStep::Compare(_) | CopyStep::Copy(_) => Ok(()),
    });
    assert_eq!(interrupted.unwrap_err().message, "interrupted");
    let error = Archive::open(&to).expect_err("it is not complete");
    assert!(error.message.contains("not complete"), "{error}");
    assert!(
        !error.hint.contains("sentbox "),
        "flags would be put after it: {error}"
    );
    // The source has changed meanwhile.
    fill(&source, 40);
    let copied = Archive::copy(&from, &to, |_, _| Ok(())).unwrap();
    assert_eq!(copied.emails, source.query_count().unwrap());
    assert_equal(&to, &source);
    assert_eq!(
        Archive::copy(&from, &to, |_, _| Ok(())),
        Ok(copied),
        "again"
    );
    assert_equal(&to, &source);
    fill(&source, 41);
    let again = Archive::copy(&from, &to, |_, _| Ok(())).unwrap_err();
    assert!(again.message.contains("already"), "{again}");
    let received = to.for_mailbox(Mailbox::Received);
    drop(Archive::open(&received).unwrap());
    let other = Archive::copy(&from, &to, |_, _| Ok(())).unwrap_err();
    assert!(other.message.contains(&received.to_string()), "{other}");
    let old = disk(folder.path(), "old");
    let tables = rusqlite::Connection::open(folder.path().join("old")).unwrap();
    tables
        .execute_batch("CREATE TABLE mail (id); CREATE TABLE listing (id); PRAGMA user_version = 1")
        .unwrap();
    let outdated = Archive::copy(&old, &disk(folder.path(), "new"), |_, _| Ok(())).unwrap_err();
    assert!(outdated.message.contains("older version"), "{outdated}");
    let nothing = disk(folder.path(), "nothing");
    let missing = Archive::copy(&nothing, &disk(folder.path(), "new"), |_, _| Ok(())).unwrap_err();
    assert!(missing.message.contains("no archive"), "{missing}");
    assert!(!folder.path().join("nothing").exists());
}

#[test]
fn copy_interrupted_at_received_mail_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (disk(folder.path(), "from"), disk(folder.path(), "to"));
    let received = from.for_mailbox(Mailbox::Received);
    fill(&Archive::open(&from).unwrap(), 0);
    fill(&Archive::open(&received).unwrap(), 500);
    let interrupted = std::panic::catch_unwind(|| {
        Archive::copy(&from, &to, |mailbox, _| {
            assert_eq!(mailbox, Mailbox::Sent, "it is interrupted");
            Ok(())
        })
    });
    interrupted.unwrap_err();
    Archive::copy(&from, &to, |_, _| Ok(())).unwrap();
    assert_equal(&to, &Archive::open(&from).unwrap());
    let copy = to.for_mailbox(Mailbox::Received);
    assert_equal(&copy, &Archive::open(&received).unwrap());
    // Killed between the two last steps.
    let sent = Connections::open_copy(&to).unwrap();
    sent.with_writer(|writer| storage::set_version(writer, INCOMPLETE_COPY))
        .unwrap();
    drop(sent);
    Archive::copy(&from, &to, |_, _| Ok(())).unwrap();
    assert_equal(&to, &Archive::open(&from).unwrap());
}

#[test]
fn copy_finds_each_of_many_senders() {
    let folder = tempfile::tempdir().unwrap();
    let from = disk(folder.path(), "from");
    let source = Archive::open(&from).unwrap();
    // Only the first have a number of their own, and some of those are gone.
    import_lines(&source, (0..100).map(line_of_sender), at(600));
    source.purge(&PurgeTarget::Before(at(20))).unwrap();
    let mut targets = vec![disk(folder.path(), "to")];
    let on_server = schema_for_test().map(|url| url.with_suffix("senders"));
    targets.extend(on_server.map(ArchiveLocation::Server));
    for to in targets {
        Archive::copy(&from, &to, |_, _| Ok(())).unwrap();
        assert_equal(&to, &source);
        let copy = Archive::open(&to).unwrap();
        for number in 20..100 {
            let query = query(&format!("from:s{number}@"));
            let count = copy.count_matches(&query, 9, &CancellationToken::new());
            assert_eq!(count, Ok(Some(MatchCount::Exactly(1))), "{number}");
        }
        // New mail gets new numbers.
        for line in [
            line_of_sender(300).replace("s300", "s30"),
            line_of_sender(301),
        ] {
            import_lines(&copy, [line], at(600));
        }
        copy.check_integrity(|_| ()).unwrap();
    }
}

#[test]
fn existing_received_archive_always_blocks_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (disk(folder.path(), "from"), disk(folder.path(), "to"));
    for source in Mailbox::ALL.map(|mailbox| from.for_mailbox(mailbox)) {
        fill(&Archive::open(&source).unwrap(), 0);
    }
    drop(Archive::open(&to.for_mailbox(Mailbox::Received)).unwrap());
    for _ in 0..2 {
        let refused = Archive::copy(&from, &to, |_, _| Ok(())).unwrap_err();
        assert!(refused.message.contains("already"), "{refused}");
        assert!(!folder.path().join("to").exists());
    }
}

#[test]
fn copy_to_server_and_back_equals_source() {
    let Some(url) = schema_for_test() else {
        return;
    };
    let on_server = ArchiveLocation::Server(url.with_suffix("copy"));
    let folder = tempfile::tempdir().unwrap();
    let (from, back) = (disk(folder.path(), "from"), disk(folder.path(), "back"));
    let source = Archive::open(&from).unwrap();
    fill(&source, 0);
    Archive::copy(&from, &on_server, |_, _| Ok(())).unwrap();
    assert_equal(&on_server, &source);
    Archive::copy(&on_server, &back, |_, _| Ok(())).unwrap();
    assert_equal(&back, &source);
    // New rows have new numbers.
    fill(&source, 3_000);
    let copy = Archive::open(&on_server).unwrap();
    fill(&copy, 3_000);
    assert_eq!(all(&copy), all(&source));
}
