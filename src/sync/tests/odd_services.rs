//! Services that do not list as specified: repeated or short pages, another order.

use super::*;

#[test]
fn repeating_service_ends_the_run() {
    for fault in [
        ServiceFault::Repeat,
        ServiceFault::FirstPage,
        ServiceFault::EmptyMore,
    ] {
        let env = SyncEnv::new(Dates::Distinct, 450);
        env.refresh();
        env.sim.state().faults = vec![Some(fault); 50].into();
        let (requests, report) = env.count_requests(SyncEnv::full_sync);
        assert_eq!(report.stop_reason, StopReason::NoProgress, "{fault:?}");
        assert!(requests <= 3, "{fault:?}: {requests}");
        // A first page without items, and more of them, hides what is newest.
        let is_known = matches!(report.coverage, Coverage::Since(_));
        assert_eq!(is_known, fault != ServiceFault::EmptyMore);
    }
}

#[test]
fn full_page_is_no_end_after_a_longer_one() {
    let env = SyncEnv::new(Dates::Distinct, 450);
    env.refresh();
    env.sim.state().cap = 1_000;
    let faults = [ServiceFault::Overlap, ServiceFault::SaysEnd].map(Some);
    env.sim.state().faults = faults.into();
    env.load_older();
    assert!(matches!(env.load_older().coverage, Coverage::Since(_)));
    assert_eq!(env.full_sync().coverage, Coverage::Complete);
    env.check_whole().unwrap();
}

#[test]
fn oldest_first_listing_is_shown_newest_first() {
    let env = SyncEnv::new(Dates::Distinct, 350);
    env.sim.state().rising = true;
    assert_eq!(env.full_sync().coverage, Coverage::Complete);
    env.check_whole().unwrap();
    env.sim.state().arrive(7);
    env.sim.state().mails[50].event = "bounced";
    let (requests, report) = env.count_requests(SyncEnv::refresh);
    assert_eq!((requests, report.new, report.changes), (2, 7, 1));
    env.check_whole().unwrap();
    assert_eq!(env.count_requests(SyncEnv::refresh).0, 1);
}

#[test]
fn service_that_ignores_limits_is_read_completely() {
    for count in [1, 2, 30, 100, 350] {
        let env = SyncEnv::new(Dates::Distinct, count);
        (env.sim.state().rising, env.sim.state().emulate) = (true, true);
        env.full_sync();
        env.sim.state().arrive(3);
        env.refresh();
        env.check_whole().unwrap();
        env.check_ranges().unwrap();
        let (requests, report) = env.count_requests(SyncEnv::refresh);
        assert_eq!((requests, report.new), (1, 0), "{count}");
    }
}

#[test]
fn full_listing_that_ignores_cursors_is_complete() {
    for count in [1, 50, 99] {
        let env = SyncEnv::new(Dates::Distinct, count);
        env.sim.state().emulate = true;
        let report = env.full_sync();
        let expected = (StopReason::End, Coverage::Complete);
        assert_eq!((report.stop_reason, report.coverage), expected, "{count}");
    }
}

#[test]
fn contradictory_pages_are_read_while_new_mail_arrives() {
    let env = SyncEnv::new(Dates::Distinct, 900);
    env.sim.state().muddled = true;
    let (requests, report) = env.count_requests(SyncEnv::full_sync);
    assert!(requests < 40, "{requests}");
    assert!(report.new > 200, "{}", report.new);
    assert!(
        matches!(report.coverage, Coverage::Since(_)),
        "what it left out is not claimed"
    );
    env.check_ranges().unwrap();
}
