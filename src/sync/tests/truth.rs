//! Whatever a service and its users do to each other,
//! the archive is the truth when it is over.

use proptest::prelude::*;

use super::SyncEnv;
use super::sim::{self, Dates, ServiceFault, item};
use crate::archive::Coverage;
use crate::mail::EmailId;
use crate::sync::{StopReason, SyncDepth};

#[derive(Debug, Clone, Copy)]
enum Action {
    Head,
    Extend,
    All,
    Arrive(usize),
    Expire(usize),
    Fault(ServiceFault),
    Fine,
    Import(usize),
    Read(usize),
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
        3 => Just(Action::Head),
        3 => Just(Action::Extend),
        1 => Just(Action::All),
        3 => prop_oneof![0..9_usize, 90..130_usize].prop_map(Action::Arrive),
        1 => (0..60_usize).prop_map(Action::Expire),
        3 => fault.prop_map(Action::Fault),
        2 => Just(Action::Fine),
        1 => (0..200_usize).prop_map(Action::Import),
        1 => (0..200_usize).prop_map(Action::Read),
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
            let engine = &env.engine;
            match deed {
                Action::Head => drop(env.run(engine.refresh())),
                Action::Extend => drop(env.run(engine.load_older())),
                Action::All => drop(env.run(engine.full_sync(SyncDepth::All, |_| ()))),
                Action::Arrive(count) => env.sim.state().arrive(count),
                Action::Expire(count) => env.sim.state().expire(count),
                // Where new mail alone is given for older mail, nothing but the times of many can tell.
                Action::Fault(ServiceFault::FirstPage | ServiceFault::Repeat) if dates != Dates::Distinct || mails < 50 || cap < 20 => {}
                Action::Fault(fault) => env.sim.state().faults.push_back(Some(fault)),
                Action::Fine => env.sim.state().faults.push_back(None),
                Action::Import(from) => {
                    let lines: Vec<String> = env.sim.state().mails.iter().skip(from).step_by(3).take(40).map(|mail| item(mail).json.to_string()).collect();
                    engine.archive().import(lines.join("\n").as_bytes(), jiff::Timestamp::from_second(sim::EPOCH).unwrap(), |_| ()).unwrap();
                }
                Action::Read(at) => {
                    let id = env.sim.state().mails.get(at).map(|mail| EmailId::new(&mail.id));
                    if let Some(id) = id {
                        env.run(engine.fetch_email(&id)).unwrap();
                    }
                }
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
                Action::Head | Action::All => drop(env.run(env.engine.refresh())),
                Action::Extend => drop(env.run(env.engine.load_older())),
                Action::Arrive(count) => env.sim.state().arrive(count),
                Action::Fault(fault) => env.sim.state().faults.push_back(Some(fault)),
                Action::Fine | Action::Expire(_) | Action::Import(_) | Action::Read(_) => {}
            }
        }
        env.sim.state().faults.clear();
        prop_assert_eq!(env.settle().coverage, Coverage::Complete);
        env.check_whole()?;
    }
}
