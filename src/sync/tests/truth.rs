//! Whatever a service and its users do to each other,
//! the archive is the truth when it is over.

use proptest::prelude::*;

use super::SyncEnv;
use super::sim::{self, Dates, ServiceFault, address, item};
use crate::archive::tests::import_lines;
use crate::archive::{Coverage, PurgeTarget};
use crate::mail::EmailId;
use crate::sync::{StopReason, SyncDepth};

/// An action of a service or a user.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    Refresh,
    LoadOlder,
    FullSync,
    Arrive(usize),
    Expire(usize),
    Delete(usize),
    /// The fault of the next request that has no fault of its own.
    Fault(Option<ServiceFault>),
    Import(usize),
    Fetch(usize),
    Purge(i64),
    PurgeOlder(usize),
}

impl SyncEnv {
    pub(super) fn act(&self, action: Action) {
        let engine = &self.engine;
        match action {
            Action::Refresh => drop(self.run(engine.refresh())),
            Action::LoadOlder => drop(self.run(engine.load_older())),
            Action::FullSync => drop(self.run(engine.full_sync(SyncDepth::All, |_| ()))),
            Action::Arrive(count) => self.sim.state().arrive(count),
            Action::Expire(count) => self.sim.state().expire(count),
            Action::Delete(at) => drop(self.sim.state().mails.remove(at)),
            Action::Fault(fault) => self.sim.state().faults.push_back(fault),
            Action::Import(from) => {
                let state = self.sim.state();
                let mails = state.mails.iter().skip(from).step_by(3).take(40);
                let now = jiff::Timestamp::from_second(sim::EPOCH).unwrap();
                import_lines(engine.archive(), mails.map(|mail| item(mail).json), now);
            }
            Action::Fetch(at) => {
                let mail = self.sim.state().mails.get(at).cloned();
                if let Some(mail) = mail {
                    self.run(engine.fetch_email(&EmailId::new(mail.id)))
                        .unwrap();
                }
            }
            Action::Purge(customer) => _ = self.remove(&PurgeTarget::To(address(customer))),
            Action::PurgeOlder(row) => {
                let row = self.rows().into_iter().nth(row);
                if let Some(time) = row.and_then(|row| row.summary.created.parsed) {
                    self.remove(&PurgeTarget::Before(time));
                    self.cutoff.set(self.cutoff.get().max(Some(time)));
                }
            }
        }
    }
}

fn action() -> impl Strategy<Value = Action> {
    let fault = prop::sample::select(vec![
        ServiceFault::Unreachable,
        ServiceFault::Gone,
        ServiceFault::Repeat,
        ServiceFault::FirstPage,
        ServiceFault::EmptyMore,
        ServiceFault::Empty,
        ServiceFault::Twice,
        ServiceFault::Blot,
        ServiceFault::Overlap,
    ]);
    prop_oneof![
        3 => Just(Action::Refresh),
        3 => Just(Action::LoadOlder),
        1 => Just(Action::FullSync),
        3 => prop_oneof![0..9_usize, 90..130_usize].prop_map(Action::Arrive),
        1 => (0..60_usize).prop_map(Action::Expire),
        3 => fault.prop_map(|fault| Action::Fault(Some(fault))),
        2 => Just(Action::Fault(None)),
        1 => (0..200_usize).prop_map(Action::Import),
        1 => (0..200_usize).prop_map(Action::Fetch),
    ]
}

fn dates() -> impl Strategy<Value = Dates> {
    prop::sample::select(vec![
        Dates::Distinct,
        Dates::Ties,
        Dates::Missing,
        Dates::Odd,
        Dates::Random,
    ])
}

#[test]
fn full_sync_after_the_oldest_expired_is_complete() {
    let env = SyncEnv::new(Dates::Distinct, 0);
    (
        env.sim.state().cap,
        env.sim.state().lenient,
        env.sim.state().silent,
    ) = (7, true, true);
    env.sim.state().arrive(90);
    env.full_sync();
    env.sim.state().expire(10);
    env.sim.state().expire(6);
    assert_eq!(env.full_sync().coverage, Coverage::Complete);
    env.check_whole().unwrap();
}

#[test]
fn refused_cursor_and_empty_page_are_no_end() {
    let env = SyncEnv::new(Dates::Distinct, 101);
    let faults = [None, Some(ServiceFault::Gone), Some(ServiceFault::Empty)];
    env.sim.state().faults.extend(faults);
    env.load_older();
    env.check_ranges().unwrap();
    assert_eq!(env.full_sync().coverage, Coverage::Complete);
    env.check_whole().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn archive_equals_service_after_any_actions(
        dates in dates(),
        mails in prop_oneof![0..5_usize, 50..320_usize],
        cap in prop::sample::select(vec![100, 100, 7, 20]),
        lenient in any::<bool>(),
        silent in any::<bool>(),
        deeds in prop::collection::vec(action(), 0..25),
    ) {
        let env = SyncEnv::new(dates, mails);
        (env.sim.state().cap, env.sim.state().lenient, env.sim.state().silent) = (cap, lenient, silent);
        for deed in deeds {
            match deed {
                // Where new mail alone is given for older mail, nothing but the times of many can tell.
                Action::Fault(Some(ServiceFault::FirstPage | ServiceFault::Repeat)) if dates != Dates::Distinct || mails < 50 || cap < 20 => {}
                deed => env.act(deed),
            }
            env.check_ranges()?;
        }
        env.sim.state().faults.clear();
        let pages = env.sim.state().mails.len() / cap;
        let (requests, report) = env.count_requests(SyncEnv::settle);
        prop_assert!(requests <= pages + 30, "{} requests for {} pages", requests, pages);
        prop_assert_eq!(&report.coverage, &Coverage::Complete);
        prop_assert_eq!(&report.stop_reason, &StopReason::End);
        env.check_ranges()?;
        // A few emails whose times contradict their order look just like a service that lists the oldest first.
        let few = env.sim.state().mails.len() < 4 && matches!(dates, Dates::Odd | Dates::Random);
        if !few {
            env.check_whole()?;
        }
    }

    #[test]
    fn oldest_first_service_is_synced_completely(
        mails in 2..250_usize,
        silent in any::<bool>(),
        deeds in prop::collection::vec(action(), 0..15),
        cap in prop::sample::select(vec![100, 20]),
    ) {
        let env = SyncEnv::new(Dates::Distinct, mails);
        (env.sim.state().rising, env.sim.state().cap, env.sim.state().silent) = (true, cap, silent);
        for deed in deeds {
            match deed {
                Action::FullSync => env.act(Action::Refresh),
                Action::Expire(_) | Action::Import(_) | Action::Fetch(_) => {}
                deed => env.act(deed),
            }
        }
        env.sim.state().faults.clear();
        prop_assert_eq!(env.settle().coverage, Coverage::Complete);
        env.check_whole()?;
    }
}
