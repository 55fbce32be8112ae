//! Whatever the service does:
//! no crash, the right error, no more requests than promised, and nothing lost once it is over, for
//! the client, sync and the terminal program.

use std::sync::Arc;

use jiff::Timestamp;
use ratatui::layout::Size;

use super::faults::{CIRCLES, End, Row, UNREADABLE, for_each, table};
use super::faulty_server::{Answer, Faulty, START, truth};
use super::harness::{TuiHarness, client};
use crate::api::{Cursor, EmailApi as _};
use crate::app::ReaderState;
use crate::archive::{Archive, ArchiveLocation, Coverage, WindowAnchor};
use crate::config::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::EmailId;
use crate::sync::{Engine, StopReason, SyncDepth, SyncReport};
use serde_json::Value;

fn clock() -> Clock {
    let now: Timestamp = START.parse().unwrap();
    Arc::new(move || now)
}

fn check(name: &str, verb: &str, end: End, result: &Result<()>) {
    match (end, result) {
        (End::Well, Ok(())) => {}
        (End::Fails(kind, words), Err(failure)) => {
            assert_eq!(failure.kind, kind, "{name}: {verb}: {failure}");
            assert!(failure.message.contains(words), "{name}: {verb}: {failure}");
            let has_control = failure.message.chars().any(char::is_control);
            assert!(!has_control, "{name}: {verb}: {failure:?}");
        }
        (_, result) => panic!("{name}: {verb}: {result:?} instead of {end:?}"),
    }
}

/// How a sync ended, as its command tells it.
fn ended(synced: Result<SyncReport>) -> Result<()> {
    match synced?.stop_reason {
        StopReason::Done | StopReason::End => Ok(()),
        StopReason::NoProgress => Err(Error::new(ErrorKind::NotTheApi, CIRCLES)),
        StopReason::NoLiveCursor => Err(Error::new(
            ErrorKind::NotTheApi,
            "the service no longer knows where to go on from",
        )),
        StopReason::Failed(failure) => Err(failure),
        StopReason::Unreadable => Err(Error::new(ErrorKind::NotTheApi, UNREADABLE)),
        StopReason::Unordered => Err(Error::new(
            ErrorKind::NotTheApi,
            "the service lists its emails in no order of time",
        )),
        stopped @ (StopReason::PageLimit | StopReason::OtherProcess | StopReason::OtherListing) => {
            panic!("{stopped:?}")
        }
    }
}

/// The archive has what the service has, in its order, and claims all of it.
fn compare(name: &str, archive: &Archive, garbled: bool) {
    let truth = truth();
    let rows = archive.window(&WindowAnchor::Top, usize::MAX).unwrap().rows;
    let ids: Vec<&str> = rows.iter().map(|row| row.summary.id.as_str()).collect();
    let wanted: Vec<&str> = truth.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, wanted, "{name}");
    let gone = rows.iter().find(|row| row.missing_since.is_some());
    assert!(gone.is_none(), "{name}: {gone:?}");
    assert_eq!(archive.coverage().unwrap(), Coverage::Complete, "{name}");
    for (id, email) in truth.iter().filter(|_| !garbled) {
        let kept: Value =
            serde_json::from_str(&archive.summary_json(&EmailId::new(id)).unwrap().unwrap())
                .unwrap();
        assert_eq!(&kept, email, "{name}");
    }
}

async fn list_and_show(row: &Row) {
    let service = Faulty::start().await;
    let id = EmailId::new(&truth()[5].0);
    let client = || client(service.base(), row.patience(4), clock());
    service.does(row.does);
    let listed = client().list(100, &Cursor::Start).await;
    check(row.name, "list", row.list, &listed.map(drop));
    check_requests(row, "list", row.list, service.request_count());
    service.does(row.does);
    let shown = client().retrieve(&id).await;
    check(row.name, "show", row.show, &shown.map(drop));
    check_requests(row, "show", row.show, service.request_count());
}

/// Checks the requests of four attempts;
/// their number is exact after an error, unless time ended them.
fn check_requests(row: &Row, verb: &str, end: End, count: usize) {
    let most = row.at_most(end, 4);
    let is_exact = matches!(end, End::Fails(..)) && !row.is_silent;
    let is_right = count == most || count < most && !is_exact;
    assert!(is_right, "{}: {verb} sent {count}, not {most}", row.name);
}

async fn sync(row: &Row) {
    let service = Faulty::start().await;
    let archive = Archive::open(&ArchiveLocation::Memory).unwrap();
    let engine = |retry| {
        Engine::new(
            client(service.base(), retry, clock()),
            archive.clone(),
            clock(),
        )
    };
    service.does(row.does);
    let synced = engine(row.patience(8))
        .full_sync(SyncDepth::All, |_| ())
        .await;
    check(row.name, "sync", row.sync, &ended(synced));
    // A sync may fetch some pages before it fails.
    let (count, name) = (service.request_count(), row.name);
    let most = row.most.max(row.at_most(row.sync, 8));
    assert!(count <= most, "{name}: sync asked {count} times");
    if matches!(row.sync, End::Well) && !row.garbles {
        compare(row.name, &archive, false);
    }
    service.does(|_, _| Answer::Honest);
    let good = Row {
        is_silent: false,
        ..*row
    };
    ended(
        engine(good.patience(1))
            .full_sync(SyncDepth::All, |_| ())
            .await,
    )
    .unwrap();
    compare(row.name, &archive, row.garbles);
}

async fn screen(row: &Row) {
    let service = Faulty::start().await;
    let (size, name) = (Size::new(100, 16), row.name);
    let mut it = TuiHarness::with_server_at(service.base(), size, row.patience(2)).await;
    assert!(it.screen().contains("live"), "{name}: {}", it.screen());
    // The first key also fetches the email beside the one that is shown: that is over before the
    // fault.
    it.press("r").await;
    service.does(row.does);
    it.press_until_reader_settles("r").await;
    let model = it.model();
    let problem = model.service.last_error().cloned();
    let screen = it.screen();
    // Where the newest page hides what is newest, the screen says so, and the list is not live.
    let hides_top = row.name == "empty pages that have more";
    check(
        row.name,
        "screen",
        if hides_top { row.sync } else { row.list },
        &problem.clone().map_or(Ok(()), Err),
    );
    let word = problem.map_or("live", |error| error.kind.service_state());
    assert!(screen.contains(word), "{}: {word}: {screen}", row.name);
    // What was there is there, and can be moved about in.
    it.press_until_reader_settles("j").await;
    it.press_until_reader_settles("j").await;
    let is_third = it.loop_exit.is_none() && it.position().0 == Some(3);
    assert!(is_third, "{name}: {}", it.screen());
    match (it.model().reader_state(), row.show) {
        (ReaderState::Ready(..), End::Well) | (ReaderState::Failed(_), End::Fails(..)) => {}
        // Later requests fail, and which of them comes first is left to chance.
        (ReaderState::Failed(_), End::Well) if matches!(row.sync, End::Fails(..)) => {}
        (stage, end) => panic!("{}: the reader is {stage:?} instead of {end:?}", row.name),
    }
    // The list, the email with those beside it, and what is older than the list.
    let most = row.at_most(row.list, 2) + 3 * row.at_most(row.show, 2) + row.most;
    let count = service.request_count();
    assert!(count <= most, "{name}: the screen asked {count} times");

    service.does(|_, _| Answer::Honest);
    it.press_until_reader_settles("r").await;
    if row.lasts {
        assert_eq!(service.request_count(), 0, "{name}");
        it.shows(&["The service asked to wait until Sat 09:42 UTC. Try now?"]);
        it.press("Enter").await;
        // One, and after its success the email that failed.
        assert_eq!(service.request_count(), 2, "{name}");
    }
    assert!(it.screen().contains("live"), "{name}: {}", it.screen());
    let is_ready = matches!(it.model().reader_state(), ReaderState::Ready(..));
    assert!(is_ready, "{name}: {}", it.screen());
    assert_eq!(it.open_email(), Some(it.selected()), "{}", row.name);
}

#[tokio::test]
async fn list_and_show_end_with_expected_error() {
    for_each(&table(), list_and_show).await;
}

#[tokio::test]
async fn sync_ends_with_expected_error_and_recovers() {
    for_each(&table(), sync).await;
}

#[tokio::test]
async fn screen_shows_fault_and_recovers() {
    for_each(&table(), screen).await;
}
