//! Whatever a service and its users do to each other, the archive is the truth when it is over.

use proptest::prelude::*;

use super::World;
use super::sim::{self, Dates, Fault, item};
use crate::archive::Reach;
use crate::mail::EmailId;
use crate::sync::{Back, Stopped};

#[derive(Debug, Clone, Copy)]
enum Deed {
    Head,
    Extend,
    All,
    Arrive(usize),
    Expire(usize),
    Fault(Fault),
    Fine,
    Import(usize),
    Read(usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    let fault = prop::sample::select(vec![
        Fault::Unreachable,
        Fault::Gone,
        Fault::Repeat,
        Fault::FirstPage,
        Fault::EmptyMore,
        Fault::Twice,
        Fault::Blot,
        Fault::Overlap,
    ]);
    prop_oneof![
        3 => Just(Deed::Head),
        3 => Just(Deed::Extend),
        1 => Just(Deed::All),
        3 => prop_oneof![0..9_usize, 90..130_usize].prop_map(Deed::Arrive),
        1 => (0..60_usize).prop_map(Deed::Expire),
        3 => fault.prop_map(Deed::Fault),
        2 => Just(Deed::Fine),
        1 => (0..200_usize).prop_map(Deed::Import),
        1 => (0..200_usize).prop_map(Deed::Read),
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happened_the_archive_is_the_truth_when_it_is_over(
        dates in dates(),
        mails in prop_oneof![0..5_usize, 50..320_usize],
        cap in prop::sample::select(vec![100, 100, 7, 20]),
        lenient in any::<bool>(),
        silent in any::<bool>(),
        deeds in prop::collection::vec(deed(), 0..25),
    ) {
        let world = World::new(dates, mails);
        (world.sim.state().cap, world.sim.state().lenient, world.sim.state().silent) = (cap, lenient, silent);
        for deed in deeds {
            let engine = &world.engine;
            match deed {
                Deed::Head => drop(world.runtime.block_on(engine.head())),
                Deed::Extend => drop(world.runtime.block_on(engine.extend())),
                Deed::All => drop(world.runtime.block_on(engine.all(Back::All, |_| ()))),
                Deed::Arrive(count) => world.sim.state().arrive(count),
                Deed::Expire(count) => world.sim.state().expire(count),
                // Where new mail alone is given for older mail, nothing but the times of many can tell.
                Deed::Fault(Fault::FirstPage) if dates != Dates::Distinct || mails < 50 || cap < 20 => {}
                Deed::Fault(fault) => world.sim.state().faults.push_back(Some(fault)),
                Deed::Fine => world.sim.state().faults.push_back(None),
                Deed::Import(from) => {
                    let lines: Vec<String> = world.sim.state().mails.iter().skip(from).step_by(3).take(40).map(|mail| item(mail).json.to_string()).collect();
                    engine.archive().import(lines.join("\n").as_bytes(), jiff::Timestamp::from_second(sim::EPOCH).unwrap(), |_| ()).unwrap();
                }
                Deed::Read(at) => {
                    let id = world.sim.state().mails.get(at).map(|mail| EmailId::new(&mail.id));
                    if let Some(id) = id {
                        world.runtime.block_on(engine.read(&id)).unwrap();
                    }
                }
            }
            world.check_spans()?;
        }
        world.sim.state().faults.clear();
        let pages = world.sim.state().mails.len() / cap;
        let (requests, synced) = world.requests(World::all);
        prop_assert!(requests <= pages + 30, "{} requests for {} pages", requests, pages);
        prop_assert_eq!(&synced.reach, &Reach::Everything);
        prop_assert_eq!(&synced.stopped, &Stopped::End);
        world.check_spans()?;
        // A few emails whose times contradict their order look just like a service that lists the oldest first.
        let few = world.sim.state().mails.len() < 4 && matches!(dates, Dates::Odd | Dates::Random);
        if !few {
            world.check_whole()?;
        }
    }

    #[test]
    fn a_rising_service_is_followed_as_well(
        mails in 2..250_usize,
        silent in any::<bool>(),
        deeds in prop::collection::vec(deed(), 0..15),
        cap in prop::sample::select(vec![100, 20]),
    ) {
        let world = World::new(Dates::Distinct, mails);
        (world.sim.state().rising, world.sim.state().cap, world.sim.state().silent) = (true, cap, silent);
        for deed in deeds {
            match deed {
                Deed::Head | Deed::All => drop(world.runtime.block_on(world.engine.head())),
                Deed::Extend => drop(world.runtime.block_on(world.engine.extend())),
                Deed::Arrive(count) => world.sim.state().arrive(count),
                Deed::Fault(fault) => world.sim.state().faults.push_back(Some(fault)),
                Deed::Fine | Deed::Expire(_) | Deed::Import(_) | Deed::Read(_) => {}
            }
        }
        world.sim.state().faults.clear();
        prop_assert_eq!(world.all().reach, Reach::Everything);
        world.check_whole()?;
    }
}
