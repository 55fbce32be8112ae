//! Two processes on one archive: one asks, the other follows and takes over.

use std::sync::Arc;

use super::World;
use super::sim::{Dates, Sim, ticking};
use crate::archive::{Archive, Location};
use crate::sync::{Engine, Stopped};

#[test]
fn one_asks_and_the_other_follows_until_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Disk(folder.path().join("mail.db"));
    let sim = Sim::new(Dates::Distinct, 30);
    // One clock for both, as two processes have it.
    let clock = ticking();
    let process = || {
        Engine::new(
            Arc::new(sim.clone()),
            Archive::open(&location).unwrap(),
            Arc::clone(&clock),
        )
    };
    let (first, second) = (process(), process());
    let world = World::new(Dates::Distinct, 0);
    let head = |engine: &Engine<Sim>| world.runtime.block_on(engine.head()).unwrap();
    assert_eq!(head(&first).new, 30);
    let requests = sim.state().requests.len();
    let seen = head(&second);
    assert_eq!(
        (seen.stopped, seen.new, seen.pages),
        (Stopped::Elsewhere, 0, 0)
    );
    sim.state().arrive(4);
    sim.state().mails[10].event = "bounced";
    assert_eq!(head(&first).new, 4);
    let seen = head(&second);
    assert_eq!(
        (seen.new, seen.changes, seen.changed[0].as_str()),
        (4, 1, "mail-23")
    );
    assert_eq!(
        (head(&second).new, head(&second).changes),
        (0, 0),
        "each thing is news once"
    );
    assert_eq!(
        sim.state().requests.len(),
        requests + 1,
        "the second has asked nothing"
    );
    drop(first);
    sim.state().arrive(2);
    let seen = head(&second);
    assert_eq!((seen.stopped, seen.new), (Stopped::Done, 2));
}
