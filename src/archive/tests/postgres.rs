//! The archive on a PostgreSQL server:
//! all tests of the archive once more, and what only a server has.
//!
//! The server is that of this machine, in a folder of its own. Without one these tests say that
//! they are skipped.

use std::process::Command;

use rustix::process::Signal;

use self::postgres_server::{TestServer, documented_grants, note_skipped};
use super::*;
use crate::archive::storage::db::postgres::tests::{SERVER, schema_for_test, variable};
use crate::config::ServerUrl;
use crate::error::ErrorKind;

#[expect(dead_code, reason = "the tests of the program use the rest")]
#[path = "../../../tests/suite/harness/postgres_server.rs"]
mod postgres_server;

/// Tests that look into the file of `SQLite`, or into its memory.
const SKIPPED: [&str; 7] = [
    "failed_page_changes_nothing",
    "import_merges_segments_of_index",
    "archive_in_memory_has_no_notices",
    "damage::",
    "vocabulary::",
    "recipients_near_misspelled_one_are_found",
    "all_tests_pass_on_a_server",
];

#[test]
fn all_tests_pass_on_a_server() {
    let Some(server) = TestServer::start() else {
        return note_skipped("tests of the archive on PostgreSQL");
    };
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests
        .env(SERVER, server.url())
        .args(["archive::", "--test-threads=2"]);
    for skipped in SKIPPED {
        tests.args(["--skip", skipped]);
    }
    let output = tests.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let failures = text.find("\nfailures:").map_or("", |at| &text[at..]);
    assert!(output.status.success(), "{failures}");
}

/// Returns an archive of this test on the server, with its address;
/// `None` without a server.
fn on_server() -> Option<(Archive, ServerUrl)> {
    // Two handles may use it, so no other test gets it.
    let url = schema_for_test()?.with_suffix("shared");
    let archive = Archive::open(&ArchiveLocation::Server(url.clone())).unwrap();
    Some((archive, url))
}

#[tokio::test]
async fn changes_are_reported_to_others_only() {
    let Some((archive, url)) = on_server() else {
        return;
    };
    let other = Archive::open(&ArchiveLocation::Server(url)).unwrap();
    let mut notices = other.watch_peers().unwrap();
    let mut own = archive.watch_peers().unwrap();
    // What may have happened before it listened.
    assert_eq!(notices.next().await, [PeerNotice::Changed]);
    assert_eq!(own.next().await, [PeerNotice::Changed]);
    merge_numbers(&archive, (0..3).rev(), Top);
    assert_eq!(notices.next().await, [PeerNotice::Changed]);
    archive.notify_service_state();
    assert_eq!(notices.next().await, [PeerNotice::ServiceState]);
    other.notify_service_state();
    let expected = [PeerNotice::ServiceState];
    assert_eq!(own.next().await, expected, "nothing of its own");
}

#[test]
fn cancelled_search_ends_without_cancelling_the_next() {
    let Some((archive, _)) = on_server() else {
        return;
    };
    merge_numbers(&archive, (0..400).rev(), Top);
    let query = query("hi");
    let slow = "SELECT count(*) FROM generate_series(1, ?1::bigint)";
    for _ in 0..20 {
        let cancel = CancellationToken::new();
        let mut visited = 0;
        archive
            .for_each_match(&query, &cancel, |_| {
                visited += 1;
                cancel.cancel();
                true
            })
            .unwrap();
        assert!((1..400).contains(&visited), "{visited}");
        // Cancelled while the server works.
        let cancel = CancellationToken::new();
        std::thread::scope(|scope| {
            scope.spawn(|| cancel.cancel());
            let endless = |conn: &Connection| conn.value::<i64>(slow, [i64::MAX]);
            let cancelled = archive.connections.read_cancellable(&cancel, endless);
            assert_eq!(cancelled.unwrap(), None);
        });
        let rows: i64 = archive.read(|conn| conn.value(slow, [100_000])).unwrap();
        assert_eq!(rows, 100_000);
    }
}

#[test]
fn lock_passes_to_the_next_process() {
    let Some((one, url)) = on_server() else {
        return;
    };
    let other = Archive::open(&ArchiveLocation::Server(url)).unwrap();
    let now = at(0);
    assert!(one.poll_lock().try_acquire(now) && one.poll_lock().is_held());
    assert!(!other.poll_lock().try_acquire(now) && !other.poll_lock().is_free());
    assert!(other.backfill_lock().try_acquire(now), "another work");
    assert!(!one.poll_lock().record_response(now), "there was no outage");
    assert_eq!(other.poll_lock().last_response_at(), Some(now));
    one.poll_lock().release();
    assert!(other.poll_lock().try_acquire(now) && !one.poll_lock().try_acquire(now));
}

#[test]
fn text_that_the_server_refuses_comes_back() {
    let Some((archive, _)) = on_server() else {
        return;
    };
    let json = "{\"id\":\"a\\u0000b\",\"to\":[\"x@example.com\"],\"subject\":\"nul \\u0000 and \u{10FFFE} and \u{10FFFE}0\",\"created_at\":\"2026-11-20T09:00:00Z\",\"tail\":\"\\u0000\"}";
    import_lines(&archive, [json], at(0));
    let id = EmailId::new("a\0b");
    assert_eq!(archive.summary_json(&id).unwrap().as_deref(), Some(json));
    // Later senders are stored with their emails.
    import_lines(&archive, (0..4_096).map(line_of_sender), at(9_000));
    let json = "{\"id\":\"late\",\"to\":[\"x@example.com\"],\"from\":\"N\\u0000ul \u{10FFFE}0 <n@example.com>\",\"created_at\":\"2026-11-20T09:00:00Z\"}";
    import_lines(&archive, [json], at(9_000));
    let stored = archive.summary_json(&EmailId::new("late")).unwrap();
    assert_eq!(stored.as_deref(), Some(json));
    let purged = PurgeTarget::With("n@example.com".to_owned());
    assert_eq!(archive.purge(&purged).unwrap().0, 1);
}

fn line(id: &str, second: i64, subject: &str, text: &str) -> String {
    format!(
        r#"{{"id":"{id}","to":["x@example.com"],"from":"a@example.com","created_at":"{}","subject":"{subject}","text":"{text}"}}"#,
        at(second)
    )
}

#[test]
fn email_exceeding_index_is_found_and_counted() {
    let Some((archive, _)) = on_server() else {
        return;
    };
    let many: Vec<String> = (0..60_000).map(|number| format!("{number:020x}")).collect();
    let many = many.join(" ");
    let mut lines: Vec<String> = (0..3)
        .map(|n| line(&format!("small-{n}"), n * 10, "Log", "other zebra"))
        .collect();
    lines.push(line("large", 15, "Log", &format!("first {many} zebra")));
    import_lines(&archive, lines, at(100));
    let flagged = "SELECT count(*) FROM search WHERE tokens @@ 'xincomplete'::tsquery";
    let flagged: i64 = archive.read(|conn| conn.value(flagged, [])).unwrap();
    assert_eq!(flagged, 1);
    for (text, found) in [
        ("zebra", "small-2 large small-1 small-0"),
        (
            "body:\"zebra\" sort:oldest",
            "small-0 small-1 large small-2",
        ),
        ("-zebra", ""),
        ("first", "large"),
        ("-first", "small-2 small-1 small-0"),
        ("zebra -first", "small-2 small-1 small-0"),
        ("zebra or first", "small-2 large small-1 small-0"),
        ("subject:log", "small-2 large small-1 small-0"),
    ] {
        let query = query(text);
        let cancel = CancellationToken::new();
        let matches = search(&archive, &query, 9);
        assert_eq!(matches.join(" "), found, "{text}");
        let count = archive.count_matches(&query, 9, &cancel).unwrap();
        let expected = MatchCount::Exactly(matches.len() as u64);
        assert_eq!(count, Some(expected), "{text}");
    }
    archive.check_integrity(|_| ()).unwrap();
}

#[test]
fn misspelled_recipients_are_corrected_by_recent_mail() {
    let Some((archive, _)) = on_server() else {
        return;
    };
    let line = |id: &str, to: &str| format!(r#"{{"id":"{id}","to":["{to}"],"subject":"Hi"}}"#);
    let emails = [
        line("1", "Chloe <chloe.macdonald2@example.com>"),
        line("2", "ben@example.com"),
    ];
    import_lines(&archive, emails, at(0));
    for (text, nearest) in [
        ("chlo", "chloe"),
        (
            "chloe.mcdonald2@example.com",
            "chloe.macdonald2@example.com",
        ),
        ("zebra", ""),
    ] {
        let found = archive.find_unmatched(&query(text), &CancellationToken::new());
        assert_eq!(found.unwrap().nearest.join(" "), nearest, "{text}");
    }
}

#[test]
fn old_months_are_dropped_with_their_mail() {
    let Some((archive, _)) = on_server() else {
        return;
    };
    let day = 86_400;
    let line = |n: i64| line(&format!("mail-{n}"), n * 20 * day, "Report", "zebra");
    // The last is of 2005, which has no months of its own.
    import_lines(&archive, (0..10).chain([-400]).map(line), at(400 * day));
    let partitions = || -> Vec<String> {
        let query = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent IN ('body'::regclass, 'search'::regclass) \
                     AND inhrelid::regclass::text ~ '20' ORDER BY 1";
        archive.read(|conn| conn.values(query, [])).unwrap()
    };
    let before = partitions();
    assert!(before.contains(&"body_20260827".to_owned()), "{before:?}");
    assert_eq!(before.len(), 14, "{before:?}");
    // That is within a month, which stays.
    let purged = archive.purge(&PurgeTarget::Before(at(100 * day))).unwrap();
    assert_eq!((purged.0, partitions().len()), (6, 6));
    assert_eq!(archive.info().unwrap().bodies, 5);
    // A reader keeps those that it reads from being dropped.
    let read = "SELECT (SELECT count(*) FROM body) + (SELECT count(*) FROM search)";
    archive
        .read(|conn| {
            assert_eq!(conn.value::<i64>(read, [])?, 10);
            archive.purge(&PurgeTarget::Before(at(130 * day)))
        })
        .unwrap();
    assert_eq!((archive.info().unwrap().bodies, partitions().len()), (3, 6));
    assert_eq!(archive.read(|conn| conn.value::<i64>(read, [])).unwrap(), 6);
    let left = ["mail-9", "mail-8", "mail-7"];
    assert_eq!(search(&archive, &query("zebra"), 20), left);
    archive.check_integrity(|_| ()).unwrap();
}

#[test]
fn rare_words_are_found_in_each_month() {
    let Some((archive, _)) = on_server() else {
        return;
    };
    // The newest 2,050 and the oldest 2,050 are compared, so the others are looked up in the index.
    let day = 86_400;
    let line = |number: i64| {
        let (second, word) = match number {
            0..2_050 => (900 * day + number, "other"),
            2_050..2_090 => ((number - 2_050) * 20 * day + day, "zebra"),
            _ => (number - 2_090, "other"),
        };
        line(&format!("m{number}"), second, word, "")
    };
    import_lines(&archive, (0..4_140).map(line), at(901 * day));
    let cancel = CancellationToken::new();
    let mut expected: Vec<String> = (2_050..2_090).rev().map(|n| format!("m{n}")).collect();
    for text in ["zebra", "zebra sort:oldest"] {
        let query = query(text);
        assert_eq!(search(&archive, &query, 50), expected, "{text}");
        let count = archive.count_matches(&query, 100, &cancel).unwrap();
        assert_eq!(count, Some(MatchCount::Exactly(40)));
        assert_eq!(search(&archive, &query, 7), expected[..7]);
        expected.reverse();
    }
}

/// Starts a server for one test;
/// `None` without one, and where the tests run on one already.
fn own_server(test: &str) -> Option<TestServer> {
    if variable(SERVER).is_some() {
        return None;
    }
    let server = TestServer::start();
    if server.is_none() {
        note_skipped(test);
    }
    server
}

/// Returns the mail and the coverage, once the archive has a connection again.
fn state(archive: &Archive) -> (Vec<String>, CoverageState) {
    let coverage = (0..3).find_map(|_| archive.coverage_state().ok()).unwrap();
    (all(archive), coverage)
}

fn open_at(url: &str) -> Archive {
    let url = ServerUrl::parse(url).unwrap();
    Archive::open(&ArchiveLocation::Server(url)).unwrap()
}

#[test]
fn server_crash_loses_no_stored_mail() {
    let Some(mut server) = own_server("crash of a PostgreSQL server") else {
        return;
    };
    let archive = open_at(&server.url());
    merge_numbers(&archive, (10..20).rev(), Top);
    assert!(archive.poll_lock().try_acquire(at(0)));
    let before = state(&archive);
    server.restart(Signal::KILL);
    assert!(
        !archive.poll_lock().is_held(),
        "the lock is gone with the connection"
    );
    assert_eq!(state(&archive), before);
    assert_eq!(server.rows("SELECT count(*) FROM sentbox.mail"), "10\n");
    merge_numbers(&archive, (0..10).rev(), below(10));
    assert_eq!(archive.query_count().unwrap(), 20);
    assert!(archive.poll_lock().try_acquire(at(0)));
    let end = "SELECT pg_terminate_backend(pg_backend_pid())";
    let ended = archive.read(|conn| conn.value::<bool>(end, []));
    let error = ended.unwrap_err();
    assert!(error.hint.contains("that it runs"), "{error}");
    server.stop(Signal::INT);
    // The first finds the connection closed, the next gets no new one.
    for _ in 0..2 {
        let error = archive.coverage_state().unwrap_err();
        assert_eq!(error.kind, ErrorKind::ArchiveUnreachable, "{error}");
    }
}

#[tokio::test]
async fn standby_is_read_only_and_looked_at_again() {
    let Some(server) = own_server("a standby of a PostgreSQL server") else {
        return;
    };
    let open = |server: &TestServer| open_at(&server.url());
    let primary = open(&server);
    merge_numbers(&primary, (0..3).rev(), Top);
    let standby = server.start_standby();
    let archive = open(&standby);
    assert!(archive.read_only_reason().is_some() && !archive.poll_lock().try_acquire(at(0)));
    assert_eq!(all(&archive), all(&primary));
    // It gives no notices.
    let mut notices = archive.watch_peers().unwrap();
    for _ in 0..2 {
        assert_eq!(notices.next().await, [PeerNotice::Changed]);
    }
    standby.promote();
    let promoted = open(&standby);
    merge_numbers(&promoted, (0..4).rev(), Top);
    assert_eq!(all(&archive), all(&promoted), "a reader goes on");
}

#[test]
fn archive_at_two_hosts_follows_the_primary() {
    let Some(server) = own_server("a PostgreSQL server that is replaced by its standby") else {
        return;
    };
    merge_numbers(&open_at(&server.url()), (0..3).rev(), Top);
    let standby = server.start_standby();
    let hosts = format!("{},{}", standby.host(), server.host());
    let archive = open_at(&format!(
        "postgres:///postgres?host={hosts}&user=sentbox&target_session_attrs=read-write"
    ));
    assert!(archive.poll_lock().try_acquire(at(0)));
    let before = state(&archive);
    drop(server);
    assert!(
        !archive.poll_lock().is_held(),
        "the lock is gone with the connection"
    );
    assert!(archive.coverage_state().is_err(), "a standby takes no mail");
    standby.promote();
    assert_eq!(state(&archive), before);
    assert!(archive.poll_lock().try_acquire(at(0)));
    merge_numbers(&archive, (0..4).rev(), Top);
    assert_eq!(archive.query_count().unwrap(), 4);
}

#[test]
fn reader_searches_and_leaves_the_work_to_others() {
    let Some((archive, url)) = on_server() else {
        return;
    };
    merge_numbers(&archive, (0..3).rev(), Top);
    let schema = url.schema();
    let roles = "CREATE ROLE support LOGIN; CREATE ROLE syncer LOGIN; ";
    let grants = roles.to_owned() + &documented_grants(schema);
    archive.write(|tx| tx.execute_batch(&grants)).unwrap();
    let server = variable(SERVER).unwrap().into_string().unwrap();
    let location_with = |user: &str| {
        let server = server.replace("user=sentbox", &format!("user={user}"));
        let url = ServerUrl::parse(&format!("{server}&schema={schema}")).unwrap();
        ArchiveLocation::Server(url)
    };
    let open_as = |user: &str| Archive::open(&location_with(user)).unwrap();
    let reader = open_as("support");
    assert!(!reader.is_audited());
    assert_eq!(all(&reader), all(&archive));
    assert!(reader.read_only_reason().is_some() && !reader.poll_lock().try_acquire(at(0)));
    assert!(reader.import(&b"{}"[..], at(0), |_| ()).is_err());
    let writer = open_as("syncer");
    assert!(writer.poll_lock().try_acquire(at(0)));
    let mut newer = page((1..5).rev(), Top);
    newer.items[2] = item_with("mail-2", Some(2), "bounced");
    writer.merge_page(&newer).unwrap();
    writer
        .purge(&PurgeTarget::To("a@example.com".to_owned()))
        .unwrap();
    assert_eq!((all(&reader).len(), writer.query_count().unwrap()), (0, 0));
    writer.purge(&PurgeTarget::Before(at(9))).unwrap();
    // Tables of a reader do not stand for those of the archive.
    let attack =
        "CREATE TEMP TABLE mail (sort_key bigint, fts_rowid bigint); SELECT delete_older(-1)";
    let refused = reader
        .connections
        .with_reader(|conn| conn.execute_batch(attack));
    assert!(refused.unwrap_err().message.contains("delete_older"));
    // Where the server demands it, also of the role that may only read.
    archive
        .write(|tx| tx.execute_batch("ALTER ROLE support SET sentbox.audit = 'on'"))
        .unwrap();
    let audited = open_as("support&options=-c%20Sentbox.audit%3Doff");
    audited
        .record_opened(&EmailId::new("mail-1"), None)
        .unwrap();
    audited
        .record_opened(&EmailId::new("mail-2"), Some("key ana"))
        .unwrap();
    reader.record_opened(&EmailId::new("mail-3"), None).unwrap();
    let query = "SELECT role || ':' || person || ':' || email_id FROM audit ORDER BY opened_at";
    let rows: Vec<String> = archive.read(|conn| conn.values(query, [])).unwrap();
    assert_eq!(rows, ["support::mail-1", "support:key ana:mail-2"]);
    let folder = tempfile::tempdir().unwrap();
    let to = ArchiveLocation::Disk(folder.path().join("copy"));
    let copied = Archive::copy(&location_with("support"), &to, |_, _| Ok(()));
    assert!(copied.unwrap_err().message.contains("owner"));
    let refused = audited.read(|conn| conn.values::<String>(query, []));
    assert!(refused.is_err(), "those who are recorded cannot look");
    archive
        .write(|tx| tx.execute_batch("REVOKE ALL ON audit FROM support"))
        .unwrap();
    let error = audited
        .record_opened(&EmailId::new("mail-4"), None)
        .unwrap_err();
    assert!(error.message.contains("not shown"), "{error}");
}
