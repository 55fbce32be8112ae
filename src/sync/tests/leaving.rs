//! Mail that leaves: the service stops listing it, or a user purges it from the
//! archive.

use proptest::prelude::*;

use super::SyncEnv;
use super::sim::{Dates, ServiceFault, address};
use super::truth::Action;
use crate::archive::{Coverage, PurgeTarget};
use crate::error::ErrorKind;
use crate::mail::EmailId;
use crate::sync::{StopReason, SyncDepth, SyncReport};

impl SyncEnv {
    /// Removes mail from the archive, and remembers what is not to come back.
    pub(super) fn remove(&self, removal: &PurgeTarget) -> u64 {
        let before = self.ids();
        let (count, _) = self.engine.archive().purge(removal).unwrap();
        let after = self.ids();
        let removed = before.into_iter().filter(|id| !after.contains(id));
        self.removed.borrow_mut().extend(removed);
        count
    }
}

/// Syncs emails, and purges those at these places.
fn with_purged(mails: usize, pages: usize, purged: std::ops::Range<usize>) -> SyncEnv {
    let env = SyncEnv::at_rest(mails);
    for mail in env.sim.state().mails.range_mut(purged.clone()) {
        mail.customer = 99;
    }
    env.refresh();
    (1..pages).for_each(|_| drop(env.load_older()));
    let removed = env.remove(&PurgeTarget::To(address(99)));
    assert_eq!(removed, purged.len() as u64);
    env
}

#[test]
fn older_mail_is_loaded_below_purged_pages() {
    let env = with_purged(1500, 9, 200..900);
    let faults = [None, None, Some(ServiceFault::Unreachable)];
    env.sim.state().faults = faults.into();
    let error = env.run(env.engine.load_older());
    assert_eq!(error.unwrap_err().kind, ErrorKind::Unreachable);
    assert_eq!(env.load_older().new, 100);
}

#[test]
fn purged_newest_pages_leave_no_gap() {
    let env = with_purged(1500, 16, 0..700);
    let report = env.refresh();
    assert_eq!(report.stop_reason, StopReason::Done);
    assert_eq!(report.coverage, Coverage::Complete);
    env.sim.state().arrive(5);
    let report = env.refresh();
    assert_eq!((report.new, report.stop_reason), (5, StopReason::Done));
    env.load_older();
    assert_eq!(env.refresh().coverage, Coverage::Complete);
}

#[test]
fn single_empty_page_marks_nothing() {
    let env = SyncEnv::new(Dates::Distinct, 450);
    let before = env.full_sync();
    for run in [SyncEnv::refresh, SyncEnv::full_sync] {
        env.sim.state().faults = [Some(ServiceFault::Empty)].into();
        let report = run(&env);
        assert_eq!(report.stop_reason, StopReason::OtherListing);
        assert_eq!(
            (report.coverage, report.refreshed_at),
            (Coverage::Complete, before.refreshed_at),
            "the claim stays that of the earlier request"
        );
        assert_eq!(env.gone(), Vec::<String>::new());
    }
    let (requests, report) = env.count_requests(SyncEnv::refresh);
    assert_eq!(requests, 1);
    assert_eq!(report.stop_reason, StopReason::Done);
    assert_eq!(report.coverage, Coverage::Complete);
    // The good page between them makes each of them the first one.
    for _ in 0..20 {
        env.sim.state().faults = [Some(ServiceFault::Empty), None].into();
        env.refresh();
        env.refresh();
    }
    assert_eq!(env.gone(), Vec::<String>::new());
    assert_eq!(env.archive().first_unconfirmed_deletion().unwrap(), None);
}

#[test]
fn emptied_mailbox_is_believed_at_later_request() {
    for rising in [false, true] {
        let env = SyncEnv::new(Dates::Distinct, 150);
        env.sim.state().rising = rising;
        env.full_sync();
        env.sim.state().expire(150);
        let report = env.settle();
        assert_eq!(report.coverage, Coverage::Complete);
        assert_eq!(report.stop_reason, StopReason::End);
        assert_eq!(env.gone().len(), 150);
        let (requests, report) = env.count_requests(SyncEnv::refresh);
        assert_eq!((requests, report.stop_reason), (1, StopReason::End));
        env.sim.state().arrive(2);
        assert_eq!(env.refresh().new, 2);
        assert_eq!(env.gone().len(), 150);
    }
}

#[test]
fn email_absent_from_its_page_is_missing() {
    let env = SyncEnv::new(Dates::Ties, 150);
    env.full_sync();
    let taken = env.sim.state().mails.remove(40).unwrap();
    env.refresh();
    assert_eq!(env.gone(), std::slice::from_ref(&taken.id));
    env.sim.state().mails.insert(40, taken);
    env.refresh();
    assert_eq!(env.gone(), Vec::<String>::new());
    // The newest, and the one right below a page.
    env.sim.state().mails.pop_front();
    env.sim.state().mails.remove(100);
    env.full_sync();
    assert_eq!(
        env.gone(),
        ["mail-149"],
        "a page that ends above it says nothing about it"
    );
    env.check_ranges().unwrap();
}

#[test]
fn sync_reports_missing_and_restored_emails() {
    let env = SyncEnv::new(Dates::Distinct, 50);
    assert!(!env.full_sync().deletions_changed);
    // The last one ends the listing.
    for (index, run) in [
        (20, SyncEnv::refresh as fn(&SyncEnv) -> SyncReport),
        (49, SyncEnv::full_sync),
    ] {
        let taken = env.sim.state().mails.remove(index).unwrap();
        assert!(run(&env).deletions_changed, "missing");
        assert!(!run(&env).deletions_changed);
        env.sim.state().mails.insert(index, taken);
        assert!(run(&env).deletions_changed, "restored");
        assert!(!run(&env).deletions_changed);
    }
}

#[test]
fn temporarily_missing_email_returns() {
    let env = SyncEnv::new(Dates::Distinct, 450);
    env.full_sync();
    env.sim.state().forgetful = true;
    for id in (0..430).rev().step_by(2).map(|n| format!("mail-{n}")) {
        env.run(env.engine.fetch_email(&EmailId::new(id)))
            .unwrap_err();
    }
    assert_eq!(env.gone(), Vec::<String>::new());
    let unconfirmed = env.archive().first_unconfirmed_deletion().unwrap();
    assert!(unconfirmed.is_some());
    env.check_ranges().unwrap();
    env.sim.state().forgetful = false;
    for at in [300, 320] {
        env.sim.state().mails.remove(at);
    }
    let (requests, _) = env.count_requests(SyncEnv::full_sync);
    assert!(requests <= 2 + 4, "{requests} requests");
    assert_eq!(env.gone(), ["mail-149", "mail-128"]);
    let (requests, report) = env.count_requests(SyncEnv::full_sync);
    assert_eq!(
        (requests, report.coverage == Coverage::Complete),
        (2, true),
        "what is settled is not asked again"
    );
    env.check_ranges().unwrap();
}

#[test]
fn purged_customer_does_not_return() {
    // The newest two pages, then one in the middle, then the end, went to one address.
    let env = SyncEnv::new(Dates::Distinct, 0);
    for (customer, mails) in [(1, 130), (2, 90), (1, 250), (2, 90), (1, 230)] {
        env.sim.state().customer = Some(customer);
        env.sim.state().arrive(mails);
    }
    env.full_sync();
    let purged = EmailId::new(env.ids()[0].as_str());
    assert_eq!(env.remove(&PurgeTarget::To(address(1).to_uppercase())), 610);
    assert_eq!(env.ids().len(), 180);
    let report = env.full_sync();
    assert_eq!((report.new, env.ids().len()), (0, 180));
    assert!(report.coverage == Coverage::Complete, "{report:?}");
    env.check_ranges().unwrap();
    let store = |id: &EmailId| env.run(env.engine.store_unless_left_out(id)).unwrap();
    assert!(!store(&purged), "it was purged");
    assert!(store(&EmailId::new(env.ids()[0].as_str())));
    env.sim.state().arrive(3);
    assert_eq!(
        env.refresh().new,
        3,
        "new mail to the same address is new mail"
    );
}

#[test]
fn emails_older_than_retention_are_skipped() {
    let mut env = SyncEnv::new(Dates::Distinct, 900);
    env.full_sync();
    let at = |row: usize| env.rows()[row].summary.created.parsed.unwrap();
    // The clock of this test is far behind all mail.
    let now = crate::sync::tests::sim::ticking()();
    let keep = now.duration_since(at(299));
    let edge = at(299);
    let archive = env.archive().clone().with_retention(Some(keep)).unwrap();
    assert_eq!(archive.purge_expired(now).unwrap(), 600);
    assert_eq!(env.ids().len(), 300);
    env.engine =
        crate::sync::Engine::new(env.sim.clone(), archive, std::sync::Arc::new(move || now));
    let (requests, report) = env.count_requests(|env| {
        env.run(env.engine.full_sync(SyncDepth::All, |_| ()))
            .unwrap()
    });
    assert_eq!((report.new, env.ids().len()), (0, 300));
    assert!(
        requests < 5,
        "{requests} requests to see that the rest is too old"
    );
    assert!(
        matches!(report.coverage, crate::archive::Coverage::Since(stamp) if stamp.parsed == Some(edge + std::time::Duration::from_micros(1)))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn missing_and_purged_emails_stay_out(
        dates in prop::sample::select(vec![Dates::Distinct, Dates::Ties, Dates::Missing]),
        mails in prop_oneof![0..5_usize, 50..320_usize],
        cap in prop::sample::select(vec![100, 20, 7]),
        deeds in prop::collection::vec(prop_oneof![
            3 => Just(Action::Refresh), 2 => Just(Action::LoadOlder), 1 => Just(Action::FullSync),
            2 => (0..130_usize).prop_map(Action::Arrive), 1 => (0..60_usize).prop_map(Action::Expire),
            2 => (0..200_usize).prop_map(Action::Delete), 1 => (0..5_i64).prop_map(Action::Purge),
            1 => (0..200_usize).prop_map(Action::PurgeOlder),
        ], 0..20),
    ) {
        let env = SyncEnv::new(dates, mails);
        env.sim.state().cap = cap;
        for deed in deeds {
            env.act(deed);
            env.check_ranges()?;
            let listed = env.sim.state().ids();
            let wrong: Vec<String> = env.gone().into_iter().filter(|id| listed.contains(id)).collect();
            prop_assert!(wrong.is_empty(), "{wrong:?} are listed, but marked as gone");
            let back: Vec<String> = env.ids().into_iter().filter(|id| env.removed.borrow().contains(id)).collect();
            prop_assert!(back.is_empty(), "{back:?} came back");
        }
        env.settle();
        env.check_ranges()?;
        env.check_whole()?;
    }
}
