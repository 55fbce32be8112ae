//! A copy in front of a mirror follows its changes.

use super::*;
use crate::api::{ChangeStream, EmailApi as _, ListedEmail};
use crate::archive::tests::merge_at;
use crate::archive::{PagePosition, PurgeTarget, WindowAnchor};
use crate::mail::{EmailId, Status};
use crate::sync::SyncDepth;

pub(super) struct Copy {
    pub(super) engine: Engine<Client>,
    stream: Option<ChangeStream>,
}

impl Copy {
    pub(super) async fn start(mirror: &TestMirror, hand: &Hand) -> Self {
        Self::start_in(memory(), mirror, hand).await
    }

    async fn start_in(archive: Archive, mirror: &TestMirror, hand: &Hand) -> Self {
        let client = client(&mirror.running, Mailbox::Sent, hand);
        let engine = Engine::new(client, archive, hand.clock());
        engine.full_sync(SyncDepth::All, |_| ()).await.unwrap();
        assert!(engine.service().is_mirror());
        Self {
            engine,
            stream: None,
        }
    }

    pub(super) async fn follow(&mut self) {
        self.stream = self.engine.clone().follow(self.stream.take()).await;
        assert!(self.stream.is_some());
    }

    fn statuses(&self) -> Vec<(EmailId, Status)> {
        statuses(self.engine.archive())
    }
}

fn statuses(archive: &Archive) -> Vec<(EmailId, Status)> {
    let window = archive.window(&WindowAnchor::Top, 1_000).unwrap();
    let rows = window.rows.into_iter();
    rows.map(|row| (row.summary.id, row.summary.status))
        .collect()
}

/// Purges the mail to the recipient of the email at this index; returns the ids.
fn purge(archive: &Archive, index: usize) -> Vec<EmailId> {
    let window = archive.window(&WindowAnchor::Top, 1_000).unwrap();
    let address = window.rows[index].summary.to[0].email.to_string();
    let before = statuses(archive);
    archive.purge(&PurgeTarget::To(address)).unwrap();
    let after = statuses(archive);
    let gone = before.into_iter().filter(|row| !after.contains(row));
    gone.map(|(id, _)| id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purge_at_a_mirror_reaches_its_copies() {
    let (hand, _service, mirror) = TestMirror::of_sample(250).await;
    let mut copy = Copy::start(&mirror, &hand).await;
    assert!(copy.statuses() == statuses(&mirror.archive));
    // The copy is not there when this happens.
    assert!(!purge(&mirror.archive, 5).is_empty());
    copy.engine.apply_purges().await.unwrap();
    assert!(copy.statuses() == statuses(&mirror.archive));
    let text = copy.engine.take_purges().text().unwrap();
    assert!(text.ends_with("that the mirror has purged: removed here too"));
    copy.follow().await;
    let before = mirror.snapshot();
    assert!(!purge(&mirror.archive, 180).is_empty());
    mirror.send_changes(&before, Hand::start());
    while copy.statuses() != statuses(&mirror.archive) {
        copy.follow().await;
    }
    let report = copy.engine.full_sync(SyncDepth::All, |_| ()).await;
    assert_eq!(report.unwrap().new, 0, "it does not come back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_change_anywhere_reaches_the_copies() {
    let (hand, _service, mirror) = TestMirror::of_sample(250).await;
    let mut copy = Copy::start(&mirror, &hand).await;
    copy.follow().await;
    let before = mirror.snapshot();
    // The 200th email is beyond the newest page.
    let (id, _) = copy.statuses()[200].clone();
    let path = format!("/emails/{}", id.as_str());
    assert_eq!(mirror.get(&path).await.status, 200, "its body is stored");
    let json = mirror.archive.summary_json(&id).unwrap().unwrap();
    let mut email: Value = serde_json::from_str(&json).unwrap();
    email["last_event"] = "complained".into();
    hand.advance(3);
    let items = vec![ListedEmail::parse(&email.to_string()).unwrap()];
    let requested = mirror.archive.stamp_request((hand.clock())()).unwrap();
    merge_at(&mirror.archive, items, PagePosition::Unknown, requested);
    mirror.send_changes(&before, (hand.clock())());
    copy.follow().await;
    assert_eq!(copy.statuses()[200], (id, Status::Complained));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unconfirmed_deletion_is_not_gone_in_copies() {
    let (hand, _service, mirror) = TestMirror::of_sample(250).await;
    let copy = Copy::start(&mirror, &hand).await;
    let before = mirror.snapshot();
    for index in [3, 180] {
        let (id, _) = copy.statuses()[index].clone();
        let request = mirror.archive.stamp_request(Hand::start()).unwrap();
        mirror.archive.mark_missing(&id, request).unwrap();
    }
    let after = mirror
        .archive
        .snapshot_changes(Hand::start(), Some(before.last_purge))
        .unwrap();
    assert_eq!(after.changes_since(&before), []);
    let (since, before) = (i64::MIN, i64::MAX);
    let scope = crate::sync::RecheckScope::All { since, before };
    copy.engine.recheck(scope).await.unwrap();
    copy.engine.full_sync(SyncDepth::All, |_| ()).await.unwrap();
    let archive = copy.engine.archive();
    let rows = archive.window(&WindowAnchor::Top, 1_000).unwrap().rows;
    assert!(rows.iter().all(|row| row.missing_since.is_none()));
}

#[tokio::test]
async fn failed_purge_is_repeated_by_next_stream() {
    let (hand, _service, mirror) = TestMirror::of_sample(60).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.sqlite");
    let mut copy = Copy::start_in(open_file(&path), &mirror, &hand).await;
    copy.follow().await;
    let before = mirror.snapshot();
    assert!(!purge(&mirror.archive, 5).is_empty());
    mirror.send_changes(&before, Hand::start());
    let moved = folder.path().join("moved");
    std::fs::rename(&path, &moved).unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(copy.engine.clone().follow(copy.stream.take()));
    // The pause after the failure.
    let stream = loop {
        if let Some(stream) = tasks.try_join_next() {
            break stream.unwrap();
        }
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_millis(10)).await;
        tokio::time::resume();
        tokio::task::yield_now().await;
    };
    assert!(stream.is_none());
    std::fs::rename(&moved, &path).unwrap();
    copy.follow().await;
    assert!(copy.statuses() == statuses(&mirror.archive));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_one_key_are_limited() {
    let (hand, _service, mirror) = TestMirror::of_sample(30).await;
    let url = format!("{}/sentbox/events", mirror.running.base);
    let mut streams = Vec::new();
    let refused = loop {
        let request = mirror.running.http.get(&url).bearer_auth(KEY);
        let response = request.send().await.unwrap();
        if response.status() != 200 {
            break response;
        }
        streams.push(response);
    };
    assert_eq!((streams.len(), refused.status().as_u16()), (32, 503));
    assert!(refused.text().await.unwrap().contains("with this key"));
    assert_eq!(mirror.get("/emails").await.status, 200);
    let copy = Copy::start(&mirror, &hand).await;
    let service = copy.engine.service();
    let error = service.follow(None).await.err().unwrap();
    assert_eq!(error.kind, ErrorKind::Server, "{error}");
    drop(streams);
    while service.follow(None).await.is_err() {
        tokio::task::yield_now().await;
    }
}
