//! Tests of a sync that is killed at any instant: the archive stays sound, its coverage is true, and the
//! next run completes it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use sentbox::api::Cursor;
use sentbox::archive::{Archive, ArchiveLocation, Coverage, WindowAnchor};
use sentbox::config::clock;
use sentbox::mail::EmailId;
use sentbox::server::sample::SampleMailbox;
use sentbox::server::{EmailSource, SourceError, SourcePage};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::harness::process::Sentbox;
use crate::harness::service::Service;

const EMAILS: u32 = 520;

/// A mailbox that reports a request for a chosen page.
struct Watched {
    mailbox: SampleMailbox,
    watch: Watch,
}

type Watch = Arc<Mutex<Option<Due>>>;

/// Which page it reports.
struct Due {
    /// Pages before it.
    left: u64,
    /// Receives the report.
    sender: Sender<()>,
    /// The next page waits for this.
    hold: Option<Receiver<()>>,
}

impl EmailSource for Watched {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        let mut watch = self.watch.lock().unwrap();
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
        drop(watch);
        self.mailbox.page(cursor, limit)
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        self.mailbox.email(id)
    }
}

/// A deterministic random number generator (splitmix64).
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

pub fn archive_below(folder: &Path) -> Option<PathBuf> {
    std::fs::read_dir(folder).ok()?.find_map(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            archive_below(&path)
        } else {
            path.ends_with("archive.sqlite").then_some(path)
        }
    })
}

/// Returns the service's list, newest first.
fn truth(mailbox: &SampleMailbox) -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = Vec::new();
    loop {
        let cursor = all
            .last()
            .map_or(Cursor::Start, |(id, _)| Cursor::After(EmailId::new(id)));
        let Ok(page) = mailbox.page(&cursor, 100) else {
            panic!("the sample mailbox answers")
        };
        let emails = page
            .data
            .iter()
            .map(|json| serde_json::from_str::<Value>(json.get()).unwrap());
        all.extend(emails.map(|email| (email["id"].as_str().unwrap().to_owned(), email)));
        if !page.has_more {
            return all;
        }
    }
}

/// Checks integrity and coverage; returns the number of emails.
fn check(path: &Path, truth: &[(String, Value)]) -> usize {
    let connection = rusqlite::Connection::open(path).unwrap();
    let verdict: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
    assert!(
        !connection
            .prepare("PRAGMA foreign_key_check")
            .unwrap()
            .exists([])
            .unwrap()
    );
    drop(connection);
    let archive = Archive::open(&ArchiveLocation::Disk(path.to_owned())).unwrap();
    let rows = archive
        .window(&WindowAnchor::Newest, usize::MAX)
        .unwrap()
        .rows;
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
            assert!(
                rows.iter().any(|row| row.summary.id.as_str() == id),
                "{id} is claimed and absent"
            );
        }
    }
    rows.len()
}

fn rounds(seeds: u64) {
    let now = clock::now();
    let mailbox = || SampleMailbox::new(11, EMAILS, now, Arc::new(move || now));
    let truth = truth(&mailbox());
    let watch = Watch::default();
    let service = Service::new(Watched {
        mailbox: mailbox(),
        watch: Arc::clone(&watch),
    });
    for seed in 0..seeds {
        let mut chance = Chance(seed);
        let sentbox = Sentbox::at(&service);
        let mut held = 0;
        // The first run has six pages to fetch; each later one reads at least the first and the last again.
        for pages in [1 + chance.below(6), 1 + chance.below(2)] {
            let (sender, receiver) = channel();
            *watch.lock().unwrap() = Some(Due {
                left: pages,
                sender,
                hold: None,
            });
            let mut child = sentbox
                .command("sync --back all --rate 1000 --quiet")
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            receiver.recv().unwrap();
            // From here on the page is made, sent, read, written: any instant of it may be the last.
            for _ in 0..chance.below(400_000) {
                std::hint::spin_loop();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            if let Some(path) = archive_below(sentbox.home()) {
                let holds = check(&path, &truth);
                assert!(
                    holds >= held,
                    "seed {seed}: of {held} emails {holds} are left"
                );
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
    let rows = archive
        .window(&WindowAnchor::Newest, usize::MAX)
        .unwrap()
        .rows;
    for (row, (id, email)) in rows.iter().zip(truth) {
        assert_eq!(row.summary.id.as_str(), id, "seed {seed}");
        let kept: Value =
            serde_json::from_str(&archive.summary_json(&row.summary.id).unwrap().unwrap()).unwrap();
        assert_eq!(&kept, email, "seed {seed}");
    }
}

/// Sends a signal to a child.
fn signal(child: &Child, name: &str) {
    assert!(
        Command::new("kill")
            .args([name, &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
}

/// Waits until the child is stopped.
fn until_stopped(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    let status =
        rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::UNTRACED).unwrap();
    assert!(status.is_some_and(|(_, status)| status.stopped()));
}

#[test]
fn suspended_sync_blocks_no_other_and_resumes() {
    let now = clock::now();
    let mailbox = || SampleMailbox::new(11, EMAILS, now, Arc::new(move || now));
    let truth = truth(&mailbox());
    let watch = Watch::default();
    let service = Service::new(Watched {
        mailbox: mailbox(),
        watch: Arc::clone(&watch),
    });
    for seed in 0..5 {
        let mut chance = Chance(seed);
        let sentbox = Sentbox::at(&service);
        let (sender, receiver) = channel();
        let (go_on, hold) = channel();
        *watch.lock().unwrap() = Some(Due {
            left: 2 + chance.below(3),
            sender,
            hold: Some(hold),
        });
        let mut child = sentbox
            .command("sync --back all --rate 1000 --quiet")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        receiver.recv().unwrap();
        for _ in 0..chance.below(400_000) {
            std::hint::spin_loop();
        }
        signal(&child, "-STOP");
        until_stopped(&child);
        let path = archive_below(sentbox.home()).unwrap();
        // Who reads does not wait for who was stopped, even in the middle of a change.
        let before = check(&path, &truth);
        assert!(
            sentbox
                .run("search status:delivered --limit 3")
                .status
                .success(),
            "seed {seed}"
        );
        go_on.send(()).unwrap();
        signal(&child, "-CONT");
        assert!(child.wait().unwrap().success(), "seed {seed}");
        assert!(
            check(&path, &truth) >= before && before < truth.len(),
            "seed {seed}: {before}"
        );
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
