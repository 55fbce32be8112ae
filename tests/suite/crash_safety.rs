//! Tests of a sync that is killed at any instant: the archive stays sound, its
//! coverage is true, and the next run completes it.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use sentbox::archive::{Archive, ArchiveLocation, Coverage, WindowAnchor};
use serde_json::Value;

use crate::harness::faulty_server::list_all;
use crate::harness::fixed::{Hooked, sample_mailbox};
use crate::harness::process::{Sentbox, files_below};
use crate::harness::service::Service;
use crate::harness::serving::signal;

const EMAILS: u32 = 520;

type Watch = Arc<Mutex<Option<Due>>>;

/// Which page it reports.
struct Due {
    /// Pages before it.
    left: u64,
    sender: Sender<()>,
    /// The next page waits for this.
    hold: Option<Receiver<()>>,
}

/// Starts a service that reports a request for a chosen page, and returns its list,
/// newest first.
fn watched(watch: &Watch) -> (Service, Vec<(String, Value)>) {
    let mailbox = sample_mailbox(EMAILS);
    let truth = list_all(&mailbox);
    let watch = Arc::clone(watch);
    let service = Service::new(Hooked::before_page(mailbox, move || {
        let mut watch = watch.lock().unwrap();
        if let Some(Due { left, sender, hold }) = watch.as_mut() {
            if *left == 0 {
                hold.take().map(|hold| hold.recv());
                *watch = None;
            } else {
                *left -= 1;
                if *left == 0 {
                    let _ = sender.send(());
                }
            }
        }
    }));
    (service, truth)
}

pub fn archive_below(folder: &Path) -> Option<PathBuf> {
    let mut files = files_below(folder).into_iter();
    files.find(|path| path.ends_with("archive.sqlite"))
}

/// Checks integrity and coverage; returns the number of emails.
fn check(path: &Path, truth: &[(String, Value)]) -> usize {
    let connection = rusqlite::Connection::open(path).unwrap();
    let verdict: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
    let mut check = connection.prepare("PRAGMA foreign_key_check").unwrap();
    assert!(!check.exists([]).unwrap());
    drop(check);
    drop(connection);
    let archive = Archive::open(&ArchiveLocation::Disk(path.to_owned())).unwrap();
    let rows = archive.window(&WindowAnchor::Top, usize::MAX).unwrap().rows;
    for span in archive.coverage_state().unwrap().ranges {
        let index = |key| {
            let row = rows
                .iter()
                .find(|row| row.sort_key == key)
                .expect("a span ends at a row");
            truth
                .iter()
                .position(|(id, _)| id == row.summary.id.as_str())
                .unwrap()
        };
        let claimed = &truth[index(span.top)..=index(span.bottom)];
        assert!(!span.reaches_end || index(span.bottom) == truth.len() - 1);
        for (id, _) in claimed {
            let is_stored = rows.iter().any(|row| row.summary.id.as_str() == id);
            assert!(is_stored, "{id} is claimed and absent");
        }
    }
    rows.len()
}

/// Starts a sync; returns at some instant after its request for the page after so many.
fn start_sync(
    sentbox: &Sentbox,
    watch: &Watch,
    left: u64,
    hold: Option<Receiver<()>>,
    chance: &mut fastrand::Rng,
) -> Child {
    let (sender, receiver) = channel();
    *watch.lock().unwrap() = Some(Due { left, sender, hold });
    let child = sentbox.spawn("sync --back all --rate 1000 --quiet");
    receiver.recv().unwrap();
    // From here on the page is made, sent, read, written: any instant of it may be the last.
    for _ in 0..chance.u64(..400_000) {
        std::hint::spin_loop();
    }
    child
}

fn rounds(seeds: u64) {
    let watch = Watch::default();
    let (service, truth) = watched(&watch);
    for seed in 0..seeds {
        let mut chance = fastrand::Rng::with_seed(seed);
        let sentbox = Sentbox::at(&service);
        let mut held = 0;
        // The first run has six pages to fetch; each later one reads at least the first and the
        // last again.
        for pages in [1 + chance.u64(..6), 1 + chance.u64(..2)] {
            let mut child = start_sync(&sentbox, &watch, pages, None, &mut chance);
            child.kill().unwrap();
            child.wait().unwrap();
            if let Some(path) = archive_below(sentbox.home()) {
                let holds = check(&path, &truth);
                assert!(holds >= held, "seed {seed}: {holds} of {held} emails");
                held = holds;
            }
        }
        sentbox.stdout("sync --back all --rate 1000");
        let path = archive_below(sentbox.home()).unwrap();
        same(&path, &truth, seed);
    }
}

/// Checks that the archive equals the service's list, member by member.
fn same(path: &Path, truth: &[(String, Value)], seed: u64) {
    assert_eq!(check(path, truth), truth.len(), "seed {seed}");
    let archive = Archive::open(&ArchiveLocation::Disk(path.to_owned())).unwrap();
    assert_eq!(archive.coverage().unwrap(), Coverage::Complete);
    let rows = archive.window(&WindowAnchor::Top, usize::MAX).unwrap().rows;
    for (row, (id, email)) in rows.iter().zip(truth) {
        assert_eq!(row.summary.id.as_str(), id, "seed {seed}");
        let kept: Value =
            serde_json::from_str(&archive.summary_json(&row.summary.id).unwrap().unwrap()).unwrap();
        assert_eq!(&kept, email, "seed {seed}");
    }
}

fn until_stopped(child: &Child) {
    let status = waitpid(Some(Pid::from_child(child)), WaitOptions::UNTRACED).unwrap();
    assert!(status.is_some_and(|(_, status)| status.stopped()));
}

#[test]
fn suspended_sync_blocks_no_other_and_resumes() {
    let watch = Watch::default();
    let (service, truth) = watched(&watch);
    for seed in 0..5 {
        let mut chance = fastrand::Rng::with_seed(seed);
        let sentbox = Sentbox::at(&service);
        let (go_on, hold) = channel();
        let pages = 2 + chance.u64(..3);
        let mut child = start_sync(&sentbox, &watch, pages, Some(hold), &mut chance);
        signal(&child, Signal::STOP);
        until_stopped(&child);
        let path = archive_below(sentbox.home()).unwrap();
        // Who reads does not wait for who was stopped, even in the middle of a change.
        let before = check(&path, &truth);
        let code = sentbox.code("search status:delivered --limit 3");
        assert_eq!(code, Some(0), "seed {seed}");
        go_on.send(()).unwrap();
        signal(&child, Signal::CONT);
        assert!(child.wait().unwrap().success(), "seed {seed}");
        assert!(check(&path, &truth) >= before, "seed {seed}: {before}");
        assert!(before < truth.len(), "seed {seed}: {before}");
        same(&path, &truth, seed);
    }
}

#[test]
fn sync_killed_twenty_times_loses_nothing() {
    rounds(10);
}

#[test]
#[ignore = "takes a minute"]
fn sync_killed_200_times_loses_nothing() {
    rounds(100);
}
