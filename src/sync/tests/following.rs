//! Two processes on one archive: one refreshes, the other follows and takes over.

use std::sync::Arc;

use super::SyncEnv;
use super::sim::{Dates, FakeService, address, ticking};
use crate::archive::tests::memory;
use crate::archive::{Archive, ArchiveLocation, PurgeTarget, WindowAnchor};
use crate::query::Query;
use crate::sync::{Engine, StopReason, SyncDepth};

#[test]
fn second_process_follows_until_first_ends() {
    let folder = tempfile::tempdir().unwrap();
    let location = ArchiveLocation::Disk(folder.path().join("mail.db"));
    let sim = FakeService::new(Dates::Distinct, 30);
    // One clock for both, as two processes have it.
    let clock = ticking();
    let process = || {
        Engine::new(
            sim.clone(),
            Archive::open(&location).unwrap(),
            Arc::clone(&clock),
        )
    };
    let (first, second) = (process(), process());
    let env = SyncEnv::new(Dates::Distinct, 0);
    let head = |engine: &Engine<FakeService>| env.run(engine.refresh()).unwrap();
    assert_eq!(head(&first).new, 30);
    let requests = sim.state().requests.len();
    let seen = head(&second);
    assert_eq!(seen.stop_reason, StopReason::OtherProcess);
    assert_eq!(seen.new, 0);
    assert_eq!(seen.pages, 0);
    sim.state().arrive(4);
    sim.state().mails[10].event = "bounced";
    assert_eq!(head(&first).new, 4);
    let seen = head(&second);
    assert_eq!(seen.new, 4);
    assert_eq!(seen.changes, 1);
    assert_eq!(seen.changed_ids[0].as_str(), "mail-23");
    assert_eq!(seen.new_ids.len(), 4);
    assert_eq!(
        (head(&second).new, head(&second).changes),
        (0, 0),
        "each change is reported once"
    );
    assert_eq!(
        sim.state().requests.len(),
        requests + 1,
        "the second has asked nothing"
    );
    drop(first);
    sim.state().arrive(2);
    let seen = head(&second);
    assert_eq!((seen.stop_reason, seen.new), (StopReason::Done, 2));
}

#[test]
fn page_stored_by_another_process_is_no_failure() {
    let env = SyncEnv::new(Dates::Distinct, 950);
    let other = Engine::new(env.sim.clone(), env.archive().clone(), ticking());
    let load_older = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(other.load_older()).unwrap()
    };
    let mut pages = 0;
    let sync = env.engine.full_sync(SyncDepth::All, |_| {
        pages += 1;
        if pages == 2 {
            let report = std::thread::scope(|scope| scope.spawn(load_older).join().unwrap());
            assert_eq!(report.new, 100);
        }
    });
    let report = env.run(sync).unwrap();
    assert_eq!(report.stop_reason, StopReason::End, "{report:?}");
    assert_eq!((report.new, env.ids().len()), (850, 950));
}

#[test]
fn purge_meanwhile_does_not_end_a_sync() {
    let env = SyncEnv::new(Dates::Distinct, 0);
    for number in 0..950 {
        env.sim.state().customer = Some(number % 3);
        env.sim.state().arrive(1);
    }
    let one = || PurgeTarget::To(address(1));
    let all = || PurgeTarget::Matching(Query::match_all());
    for (purged_after, target) in (1..9).flat_map(|after| [(after, one()), (after, all())]) {
        let engine = Engine::new(env.sim.clone(), memory(), ticking());
        let archive = engine.archive().clone();
        let mut pages = 0;
        let sync = engine.full_sync(SyncDepth::All, |_| {
            pages += 1;
            if pages == purged_after {
                archive.purge(&target).unwrap();
            }
        });
        let report = env.run(sync).unwrap();
        assert_eq!(report.stop_reason, StopReason::End, "{purged_after}");
        let kept = archive.window(&WindowAnchor::Top, usize::MAX).unwrap();
        let pages_left = 10 - purged_after;
        assert!(
            kept.rows.len() >= 50 * pages_left,
            "{purged_after} {target:?}"
        );
    }
}
