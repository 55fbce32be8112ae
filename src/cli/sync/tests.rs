//! Staying, in a time that passes by itself:
//! a service that is played to the command.

use std::sync::{Arc, Mutex, MutexGuard};

use tokio::time::Instant;

use super::*;
use crate::api::{Cursor, EmailPage, ListedEmail, RetrievedEmail};
use crate::archive::{ArchiveLocation, Coverage};
use crate::error::{ErrorKind, RequestDetails};
use crate::mail::{EmailId, Status};
use crate::query::{ParseContext, Query, parse};
use crate::text::checks::TextChecks as _;
use crate::text::secrets::Secrets;

#[test]
fn refusal_keeps_the_failed_request() {
    let details = RequestDetails {
        attempts: 1,
        ..RequestDetails::default()
    };
    let error = Error::new(ErrorKind::NotTheApi, "stopped").with_details(details);
    let expected = Error {
        message: "stopped (no such id)".to_owned(),
        ..error.clone()
    };
    assert_eq!(with_refusal(error, Some("no such id".to_owned())), expected);
}

/// The last email's time, in seconds since 1970.
const NOW: i64 = 1_790_000_000;

/// A service with this many emails, an hour between them, that fails on command.
#[derive(Clone, Default)]
struct FakeService(Arc<Mutex<FakeServiceState>>);

#[derive(Default)]
struct FakeServiceState {
    emails: i64,
    bounced: Option<i64>,
    deleted: Option<i64>,
    failure: Option<Error>,
    delay: Duration,
    requests: u32,
}

impl FakeService {
    fn with_emails(emails: i64) -> Self {
        let service = Self::default();
        service.state().emails = emails;
        service
    }

    fn state(&self) -> MutexGuard<'_, FakeServiceState> {
        self.0.lock().unwrap()
    }
}

impl EmailApi for FakeService {
    async fn list(&self, limit: u8, cursor: &Cursor) -> Result<EmailPage> {
        let delay = {
            let mut state = self.state();
            state.requests += 1;
            state.delay
        };
        if !delay.is_zero() {
            sleep(delay).await;
        }
        let state = self.state();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let below = match cursor {
            Cursor::After(id) => id.as_str().parse().unwrap(),
            Cursor::Start | Cursor::Before(_) => state.emails,
        };
        let from = (below - i64::from(limit)).max(0);
        Ok(EmailPage {
            items: (from..below)
                .rev()
                .filter(|n| state.deleted != Some(*n))
                .map(|n| item(n, state.bounced == Some(n)))
                .collect(),
            has_more: Some(from > 0),
            ..EmailPage::default()
        })
    }

    async fn retrieve(&self, id: &EmailId) -> Result<RetrievedEmail> {
        Ok(RetrievedEmail::parse(json(id.as_str().parse().unwrap(), false)).unwrap())
    }
}

fn item(n: i64, is_bounced: bool) -> ListedEmail {
    ListedEmail::parse(&json(n, is_bounced)).unwrap()
}

fn json(n: i64, is_bounced: bool) -> String {
    let at = Timestamp::from_second(NOW - (1_000 - n) * 3600).unwrap();
    let event = if is_bounced { "bounced" } else { "sent" };
    format!(r#"{{"id":"{n}","to":["ana@example.com"],"created_at":"{at}","last_event":"{event}"}}"#)
}

/// A run of `sync --watch` over `played`, which `script` watches;
/// returns its notes.
async fn output_of_watch(
    played: &FakeService,
    backfill: HistorySpan,
    script: impl AsyncFnOnce(&Archive),
) -> String {
    streams_of_watch(played, backfill, None, script).await.1
}

/// Runs as [`output_of_watch`], with lines about events; returns stdout and stderr.
async fn streams_of_watch(
    played: &FakeService,
    backfill: HistorySpan,
    events: Option<EventLog>,
    script: impl AsyncFnOnce(&Archive),
) -> (String, String) {
    let archive = Archive::open(&ArchiveLocation::Memory).unwrap();
    let sync = SyncArgs {
        back: Some(HistorySpan::Last(SignedDuration::ZERO)),
        ..SyncArgs::default()
    };
    let what = (backfill, events, sync);
    Box::pin(watch_until(
        played,
        &archive,
        clock(),
        what,
        script(&archive),
    ))
    .await
}

/// Runs `sync --watch` until `script` ends; returns stdout and stderr.
async fn watch_until(
    played: &FakeService,
    archive: &Archive,
    clock: Clock,
    (backfill, events, sync): (HistorySpan, Option<EventLog>, SyncArgs),
    script: impl Future<Output = ()>,
) -> (String, String) {
    let (mut out, stdout, stderr) = Output::captured();
    let mut watching = SyncCommand {
        backfill,
        events,
        ..command(played, archive, clock, &mut out)
    };
    let sync = SyncArgs {
        watch: true,
        ..sync
    };
    tokio::select! {
        ended = watching.run(&sync) => panic!("it stays: {ended:?}"),
        () = script => {}
    }
    let text = |bytes: &Mutex<Vec<u8>>| String::from_utf8(bytes.lock().unwrap().clone()).unwrap();
    (text(&stdout), text(&stderr))
}

/// Returns the events that it prints without a backfill, without their times.
async fn events_of_watch(played: &FakeService, script: impl AsyncFnOnce(&Archive)) -> Vec<String> {
    let events = EventLog::new(Some(Query::match_all()), TimeZone::UTC, Secrets::Masked);
    let (stdout, _) = streams_of_watch(played, HistorySpan::Off, Some(events), script).await;
    let lines = stdout.lines().map(|line| line.split_once('\t').unwrap().1);
    lines.map(str::to_owned).collect()
}

/// A clock that goes with the time of the runtime.
fn clock() -> Clock {
    let started = Instant::now();
    Arc::new(move || Timestamp::from_second(NOW).unwrap() + started.elapsed())
}

fn command<'a>(
    service: &FakeService,
    archive: &Archive,
    clock: Clock,
    out: &'a mut Output,
) -> SyncCommand<'a, FakeService> {
    SyncCommand {
        engine: Engine::new(service.clone(), archive.clone(), clock.clone()),
        back: SyncDepth::Until(clock()),
        bodies_back: Some(SyncDepth::All),
        backfill: HistorySpan::Off,
        totals: SyncTotals::new(clock(), Coverage::Unknown),
        clock,
        zone: TimeZone::UTC,
        events: None,
        following: JoinSet::new(),
        peers: None,
        closed: None,
        out,
    }
}

#[tokio::test(start_paused = true)]
async fn recheck_counts_what_the_run_found_gone() {
    let service = FakeService::with_emails(300);
    let archive = Archive::open(&ArchiveLocation::Memory).unwrap();
    let clock = clock();
    let args = SyncArgs {
        back: Some(HistorySpan::All),
        recheck: Some(HistorySpan::All),
        ..SyncArgs::default()
    };
    for (deleted, gone) in [(None, 0), (Some(298), 1), (Some(150), 1), (Some(150), 0)] {
        service.state().deleted = deleted;
        let (mut out, ..) = Output::captured();
        let mut command = command(&service, &archive, clock.clone(), &mut out);
        command.back = SyncDepth::All;
        command.run(&args).await.unwrap();
        assert_eq!(command.totals.recheck.unwrap().gone, gone, "{deleted:?}");
        sleep(Duration::from_mins(5)).await;
    }
}

/// Lets time pass until it is so; no more than ten minutes of it.
async fn until(is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        sleep(Duration::from_secs(1)).await;
    }
    panic!("that never came about");
}

#[tokio::test]
async fn watch_prints_changes_of_others_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let location = ArchiveLocation::Disk(folder.path().join("archive.sqlite"));
    let [archive, other] = [(); 2].map(|()| Archive::open(&location).unwrap());
    let played = FakeService::with_emails(3);
    let (mut out, stdout, _) = Output::captured();
    let log = EventLog::new(Some(Query::match_all()), TimeZone::UTC, Secrets::Masked);
    let mut watching = SyncCommand {
        events: Some(log),
        ..command(&played, &archive, clock(), &mut out)
    };
    watching.run(&SyncArgs::default()).await.unwrap();
    if archive.watch_peers().is_none() {
        return; // The system does not report changes of a folder, or has no watch left.
    }
    assert!(
        watching.peers.is_some(),
        "without it, the test would not end"
    );
    let printed = async {
        played.state().emails = 4;
        let other = Engine::new(played.clone(), other, clock());
        other.refresh_now().await.unwrap();
        while stdout.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ended = watching.follow_until(Instant::now() + Duration::from_hours(1)) => panic!("{ended:?}"),
        () = printed => {}
    }
    let stdout = String::from_utf8(stdout.lock().unwrap().clone()).unwrap();
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    assert!(stdout.ends_with("\t3\n"), "{stdout}");
}

#[tokio::test(start_paused = true)]
async fn watch_fetches_new_mail_and_reports_errors_once() {
    watch_while_fails(ErrorKind::Unreachable, "service").await;
}

#[tokio::test(start_paused = true)]
async fn watch_outlives_an_archive_server_that_is_away() {
    watch_while_fails(ErrorKind::ArchiveUnreachable, "archive").await;
}

async fn watch_while_fails(kind: ErrorKind, side: &str) {
    let played = FakeService::with_emails(3);
    let output = output_of_watch(&played, HistorySpan::Off, async |archive| {
        let has = |emails: u64| archive.query_count().unwrap() == emails;
        until(|| has(3)).await;
        played.state().emails = 5;
        until(|| has(5)).await;
        played.state().failure = Some(Error::new(kind, "no route"));
        let before = played.state().requests;
        until(|| played.state().requests >= before + 3).await;
        played.state().failure = None;
        played.state().emails = 6;
        until(|| has(6)).await;
        sleep(Duration::from_secs(1)).await;
    });
    let expected = format!("sentbox: no route; retrying\nsentbox: the {side} answers again\n");
    assert_eq!(output.await, expected);
    assert!(played.state().requests < 30, "it is asked on a clock");
}

#[tokio::test(start_paused = true)]
async fn watch_backfills_between_refreshes() {
    for (backfill, emails) in [
        (HistorySpan::Off, 100),
        (HistorySpan::All, 1_000),
        (HistorySpan::Last(SignedDuration::from_hours(450)), 500),
    ] {
        let played = FakeService::with_emails(1_000);
        output_of_watch(&played, backfill, async |archive| {
            until(|| archive.query_count().unwrap() >= emails).await;
            sleep(Duration::from_mins(5)).await;
            assert_eq!(archive.query_count().unwrap(), emails, "{backfill:?}");
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn watch_prints_pages_arrivals_and_changes_once() {
    let played = FakeService::with_emails(3);
    let log = |query: &str| {
        let context = ParseContext::new(Timestamp::from_second(NOW).unwrap(), TimeZone::UTC);
        let query = Some(parse(query, &context).query).filter(|_| !query.is_empty());
        Some(EventLog::new(query, TimeZone::UTC, Secrets::Masked))
    };
    let script = async |archive: &Archive| {
        let has = |emails: u64| archive.query_count().unwrap() == emails;
        let bounced = |archive: &Archive| {
            let row = archive.row(&EmailId::new("4")).unwrap();
            row.is_some_and(|row| row.summary.status == Status::Bounced)
        };
        until(|| has(3)).await;
        sleep(Duration::from_secs(1)).await;
        played.state().emails = 5;
        until(|| has(5)).await;
        played.state().bounced = Some(4);
        until(|| bounced(archive)).await;
        // More than one refresh may read.
        played.state().emails = 905;
        until(|| has(905)).await;
        sleep(Duration::from_mins(5)).await;
    };
    let (stdout, stderr) = streams_of_watch(&played, HistorySpan::Off, log(""), script).await;
    assert_eq!(stderr, "");
    // Without the time.
    let lines: Vec<&str> = stdout
        .lines()
        .map(|line| line.split_once('\t').unwrap().1)
        .collect();
    let expected = [
        "page\t3 emails new, 0 changed; all mail since 10 Aug 2026 22:14 is here",
        "new\t\tsent\tana@example.com\t\t3",
        "new\t\tsent\tana@example.com\t\t4",
        "changed\tsent\tbounced\tana@example.com\t\t4",
    ];
    assert_eq!(lines[..4], expected);
    let mut ids: Vec<i64> = lines[4..]
        .iter()
        .map(|line| {
            line.strip_prefix("new\t\tsent\tana@example.com\t\t")
                .unwrap()
        })
        .map(|id| id.parse().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (5..905).collect::<Vec<_>>());
    // With a query, what matches after the change.
    *played.state() = FakeServiceState {
        emails: 3,
        ..FakeServiceState::default()
    };
    let events = log("is:bounced");
    let (stdout, _) = streams_of_watch(&played, HistorySpan::Off, events, script).await;
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 1, "{stdout}");
    assert!(lines[0].ends_with("changed\tsent\tbounced\tana@example.com\t\t4"));
}

#[tokio::test(start_paused = true)]
async fn watch_fetches_bodies_that_another_process_left() {
    let folder = tempfile::tempdir().unwrap();
    let location = ArchiveLocation::Disk(folder.path().join("mail.db"));
    let [archive, other] = [(); 2].map(|()| Archive::open(&location).unwrap());
    let clock = clock();
    // It polls the service, too.
    assert!(other.poll_lock().try_acquire(clock()) && other.bodies_lock().try_acquire(clock()));
    let missing = || archive.count_without_body(i64::MIN).unwrap();
    let script = async {
        sleep(Duration::from_mins(2)).await;
        assert_eq!(missing(), 100, "the other process fetches them");
        other.bodies_lock().release();
        until(|| other.poll_lock().try_acquire(clock()) && missing() == 0).await;
    };
    let sync = SyncArgs {
        bodies: true,
        ..SyncArgs::default()
    };
    let what = (HistorySpan::Off, None, sync);
    let played = FakeService::with_emails(1_000);
    let (_, notes) = watch_until(&played, &archive, clock.clone(), what, script).await;
    let expected = "another sentbox is fetching bodies; what it leaves is fetched later";
    assert_eq!(notes, format!("sentbox: {expected}\n"));
}

#[tokio::test(start_paused = true)]
async fn watch_prints_changes_while_another_process_syncs() {
    let folder = tempfile::tempdir().unwrap();
    let location = ArchiveLocation::Disk(folder.path().join("mail.db"));
    let [archive, other] = [(); 2].map(|()| Archive::open(&location).unwrap());
    let clock = clock();
    assert!(other.backfill_lock().try_acquire(clock()));
    let played = FakeService::with_emails(1_000);
    let script = async {
        sleep(Duration::from_secs(5)).await;
        played.state().emails = 1_002;
        let other = Engine::new(played.clone(), other.clone(), clock.clone());
        other.refresh_now().await.unwrap();
        sleep(Duration::from_secs(5)).await;
    };
    let events = EventLog::new(Some(Query::match_all()), TimeZone::UTC, Secrets::Masked);
    let what = (HistorySpan::Off, Some(events), SyncArgs::default());
    let watching = watch_until(&played, &archive, clock.clone(), what, script);
    let (stdout, notes) = Box::pin(watching).await;
    let expected = "another sentbox sends the requests; changes come from the archive";
    assert_eq!(notes, format!("sentbox: {expected}\n"));
    stdout.assert_ends("new\t\tsent\tana@example.com\t\t1001\n");
    assert_eq!(played.state().requests, 1, "that of the other process");
}

#[tokio::test(start_paused = true)]
async fn mail_during_outage_at_start_is_printed() {
    for (age, first) in [(None, 1_001), (Some(3), 1_001), (Some(0), 950)] {
        let played = FakeService::with_emails(950);
        let archive = Archive::open(&ArchiveLocation::Memory).unwrap();
        let clock = clock();
        if let Some(minutes) = age {
            let other = Engine::new(played.clone(), archive.clone(), clock.clone());
            other.refresh_now().await.unwrap();
            sleep(Duration::from_mins(minutes)).await;
        }
        played.state().failure = Some(Error::new(ErrorKind::Server, "down"));
        let events = EventLog::new(Some(Query::match_all()), TimeZone::UTC, Secrets::Masked);
        let script = async {
            sleep(Duration::from_hours(3)).await;
            played.state().emails = 1_003;
            played.state().failure = None;
            sleep(Duration::from_mins(5)).await;
        };
        let what = (HistorySpan::Off, Some(events), SyncArgs::default());
        let (text, _) = watch_until(&played, &archive, clock, what, script).await;
        let ids = text.lines().map(|line| line.rsplit('\t').next().unwrap());
        let ids: Vec<i64> = ids.map(|id| id.parse().unwrap()).collect();
        assert_eq!(ids, (first..1_003).collect::<Vec<_>>(), "{age:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn mail_before_late_first_answer_is_printed() {
    let played = FakeService::with_emails(1_000);
    played.state().delay = Duration::from_hours(2);
    let script = async |archive: &Archive| {
        sleep(Duration::from_hours(1)).await;
        played.state().emails = 1_002;
        sleep(Duration::from_hours(9)).await;
        assert!(archive.query_count().unwrap() > 0);
    };
    let expected = ["new\t\tsent\tana@example.com\t\t1001"];
    assert_eq!(events_of_watch(&played, script).await, expected);
}

#[tokio::test(start_paused = true)]
async fn mail_listed_after_newer_mail_is_printed() {
    let played = FakeService::with_emails(3);
    let script = async |archive: &Archive| {
        until(|| archive.query_count().unwrap() == 3).await;
        sleep(Duration::from_secs(1)).await;
        (played.state().emails, played.state().deleted) = (5, Some(3));
        until(|| archive.query_count().unwrap() == 4).await;
        sleep(Duration::from_secs(1)).await;
        played.state().deleted = None;
        sleep(Duration::from_mins(5)).await;
    };
    let expected = [4, 3].map(|id| format!("new\t\tsent\tana@example.com\t\t{id}"));
    assert_eq!(events_of_watch(&played, script).await, expected);
}

#[tokio::test(start_paused = true)]
async fn watch_prints_changes_stored_during_its_request() {
    let played = FakeService::with_emails(3);
    let script = async |archive: &Archive| {
        until(|| archive.query_count().unwrap() == 3).await;
        sleep(Duration::from_secs(1)).await;
        played.state().delay = Duration::from_secs(10);
        let before = played.state().requests;
        until(|| played.state().requests > before).await;
        let faster = FakeService::default();
        for state in [&faster, &played] {
            (state.state().emails, state.state().bounced) = (4, Some(1));
        }
        let other = Engine::new(faster, archive.clone(), clock());
        let stored = other.refresh_now().await.unwrap();
        assert_eq!((stored.new, stored.changes), (1, 1));
        sleep(Duration::from_mins(3)).await;
    };
    let expected = [
        "new\t\tsent\tana@example.com\t\t3",
        "changed\tsent\tbounced\tana@example.com\t\t1",
    ];
    assert_eq!(events_of_watch(&played, script).await, expected);
}

#[tokio::test(start_paused = true)]
async fn watch_prints_what_another_process_stored_once() {
    let played = FakeService::with_emails(3);
    let script = async |archive: &Archive| {
        until(|| archive.query_count().unwrap() == 3).await;
        sleep(Duration::from_secs(1)).await;
        let other = Engine::new(played.clone(), archive.clone(), clock());
        played.state().emails = 4;
        assert_eq!(other.refresh_now().await.unwrap().new, 1);
        sleep(Duration::from_mins(2)).await;
        played.state().bounced = Some(3);
        assert_eq!(other.refresh_now().await.unwrap().changes, 1);
        sleep(Duration::from_mins(2)).await;
    };
    let expected = [
        "new\t\tsent\tana@example.com\t\t3",
        "changed\tsent\tbounced\tana@example.com\t\t3",
    ];
    assert_eq!(events_of_watch(&played, script).await, expected);
}

#[tokio::test(start_paused = true)]
async fn backfill_prints_its_changes_once() {
    let played = FakeService::with_emails(100);
    let archive = Archive::open(&ArchiveLocation::Memory).unwrap();
    let other = Engine::new(played.clone(), archive.clone(), clock());
    other.refresh_now().await.unwrap();
    // More than one refresh reads: a gap stays, and below it an old status.
    played.state().emails = 600;
    other.refresh_now().await.unwrap();
    played.state().bounced = Some(50);
    let events = EventLog::new(None, TimeZone::UTC, Secrets::Masked);
    let sync = SyncArgs {
        back: Some(HistorySpan::Last(SignedDuration::ZERO)),
        recheck: Some(HistorySpan::Off),
        ..SyncArgs::default()
    };
    let what = (HistorySpan::All, Some(events), sync);
    let script = sleep(Duration::from_mins(5));
    let (text, _) = watch_until(&played, &archive, clock(), what, script).await;
    let changed = text.matches("\tchanged\t").count();
    assert_eq!(changed, 1, "{text}");
}
