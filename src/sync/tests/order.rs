//! A listing in no order of time, and a newest page that cannot be read:
//! neither claims anything.

use super::SyncEnv;
use super::sim::{Dates, ServiceFault};
use crate::archive::Coverage;
use crate::sync::{StopReason, SyncDepth};

#[test]
fn unordered_listing_marks_no_email_as_missing() {
    for count in [703, 105, 101] {
        let env = SyncEnv::new(Dates::Distinct, count);
        assert_eq!(env.full_sync().coverage, Coverage::Complete);
        env.sim.state().shuffled = true;
        let report = env.full_sync();
        assert_eq!(report.stop_reason, StopReason::End);
        assert_eq!(report.coverage, Coverage::Unknown);
        env.recheck(env.everything());
        env.full_sync();
        env.recheck(env.everything());
        assert_eq!((env.gone().len(), env.ids().len()), (0, count));
        env.sim.state().shuffled = false;
        assert_eq!(env.full_sync().coverage, Coverage::Complete);
    }
}

#[test]
fn unordered_first_page_gives_no_reach() {
    let env = SyncEnv::new(Dates::Distinct, 2000);
    env.sim.state().shuffled = true;
    assert_eq!(env.refresh().coverage, Coverage::Unknown);
    let since = jiff::Timestamp::from_second(super::sim::EPOCH).unwrap();
    let depth = SyncDepth::Until(since);
    let report = env.run(env.engine.full_sync(depth, |_| ()));
    assert_eq!(report.unwrap().coverage, Coverage::Unknown);
    let report = env.full_sync();
    assert_eq!(report.stop_reason, StopReason::End);
    assert_eq!(env.ids().len(), 2000);
    env.sim.state().arrive(3);
    env.full_sync();
    assert_eq!(env.ids().len(), 2003, "each page is read again");
}

#[test]
fn unreadable_new_email_ends_the_claim_until_read() {
    let env = SyncEnv::new(Dates::Distinct, 150);
    assert_eq!(env.full_sync().coverage, Coverage::Complete);
    env.sim.state().unreadable_id = Some("mail-150");
    env.sim.state().arrive(2);
    let report = env.refresh();
    assert_eq!((report.new, report.coverage), (1, Coverage::Unknown));
    assert_eq!(env.load_older().coverage, Coverage::Unknown);
    let report = env.full_sync();
    assert_eq!(report.stop_reason, StopReason::Unreadable);
    assert_eq!(report.coverage, Coverage::Unknown);
    env.recheck(env.everything());
    let report = env.run(env.engine.poll_changes()).unwrap();
    assert_eq!(report.coverage, Coverage::Unknown);
    env.sim.state().unreadable_id = None;
    assert_eq!(env.refresh().coverage, Coverage::Complete);
}

#[test]
fn unreadable_email_seen_by_follower_ends_the_claim() {
    let env = SyncEnv::new(Dates::Distinct, 150);
    env.full_sync();
    let poll = || env.run(env.engine.poll_changes()).unwrap();
    poll();
    env.sim.state().unreadable_id = Some("mail-150");
    env.sim.state().arrive(2);
    let follower = env.engine.follower();
    env.run(follower.refresh_now()).unwrap();
    let report = poll();
    assert_eq!((report.new, report.coverage), (1, Coverage::Unknown));
    assert!(report.is_top_unknown);
}

#[test]
fn empty_listing_is_known_after_a_contradictory_page() {
    let env = SyncEnv::new(Dates::Distinct, 0);
    env.sim.state().faults = [Some(ServiceFault::EmptyMore)].into();
    assert_eq!(env.refresh().coverage, Coverage::Unknown);
    assert_eq!(env.full_sync().coverage, Coverage::Complete);
}
