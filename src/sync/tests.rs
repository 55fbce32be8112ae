//! The engine against a service that is played to it.

mod following;
mod fresh;
mod leaving;
mod sim;
mod truth;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use sim::{Dates, Fault, Sim, ticking};

use super::*;
use crate::archive::{Anchor, Location, Reach};
use crate::mail::Status;

/// A service, an empty archive, and the engine between them.
struct World {
    sim: Sim,
    engine: Engine<Sim>,
    runtime: tokio::runtime::Runtime,
    /// What was removed from the archive by hand.
    removed: RefCell<HashSet<String>>,
    /// Mail before this was removed.
    horizon: Cell<Option<jiff::Timestamp>>,
}

/// The number of a simulated email; the larger, the newer.
fn number(id: &str) -> Option<i64> {
    id.strip_prefix("mail-")?.parse().ok()
}

impl World {
    fn new(dates: Dates, mails: usize) -> Self {
        let sim = Sim::new(dates, mails);
        let archive = Archive::open(&Location::Memory).unwrap();
        let engine = Engine::new(Arc::new(sim.clone()), archive, ticking());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        Self {
            sim,
            engine,
            runtime,
            removed: RefCell::default(),
            horizon: Cell::default(),
        }
    }

    fn head(&self) -> Synced {
        self.runtime.block_on(self.engine.head()).unwrap()
    }

    fn extend(&self) -> Synced {
        self.runtime.block_on(self.engine.extend()).unwrap()
    }

    fn all(&self) -> Synced {
        self.runtime
            .block_on(self.engine.all(Back::All, |_| ()))
            .unwrap()
    }

    /// The requests made while `run` ran.
    fn requests<T>(&self, run: impl FnOnce(&Self) -> T) -> (usize, T) {
        let before = self.sim.state().requests.len();
        let outcome = run(self);
        (self.sim.state().requests.len() - before, outcome)
    }

    /// The archive's ids, newest first.
    fn ids(&self) -> Vec<String> {
        let window = self
            .engine
            .archive()
            .window(&Anchor::Newest, usize::MAX)
            .unwrap();
        window
            .rows
            .iter()
            .map(|row| row.summary.id.as_str().to_owned())
            .collect()
    }

    /// What must hold at any time: a span covers nothing that is absent, and spans do not overlap.
    fn check_spans(&self) -> Result<(), TestCaseError> {
        let listing = self.sim.state().ids();
        let at: HashMap<&str, usize> = listing
            .iter()
            .enumerate()
            .map(|(at, id)| (id.as_str(), at))
            .collect();
        let window = self
            .engine
            .archive()
            .window(&Anchor::Newest, usize::MAX)
            .unwrap();
        let present: HashSet<&str> = window
            .rows
            .iter()
            .map(|row| row.summary.id.as_str())
            .collect();
        let ground = self.engine.archive().ground().unwrap();
        for pair in ground.spans.windows(2) {
            prop_assert!(pair[0].bottom > pair[1].top, "{:?}", ground);
        }
        for span in &ground.spans {
            prop_assert!(span.bottom <= span.top);
            let id_at = |place| {
                window
                    .rows
                    .iter()
                    .find(|row| row.place == place)
                    .map(|row| row.summary.id.as_str())
            };
            let top = id_at(span.top).expect("a span begins at a row");
            let bottom = id_at(span.bottom).expect("a span ends at a row");
            let Some(first) = at.get(top).copied() else {
                continue;
            };
            // A bottom that the service has deleted since still tells where the span ends.
            let below = || {
                listing
                    .iter()
                    .position(|id| number(id) < number(bottom))
                    .unwrap_or(listing.len())
            };
            let last = if span.reaches_end {
                listing.len()
            } else {
                at.get(bottom).map_or_else(below, |last| last + 1)
            };
            prop_assert!(first < last, "{top} to {bottom} is upside down: {ground:?}");
            let lost: Vec<&String> = listing[first..last]
                .iter()
                .filter(|id| !present.contains(id.as_str()) && !self.stays_out(id))
                .collect();
            prop_assert!(
                lost.is_empty(),
                "{top} to {bottom} claims {lost:?}: {ground:?}"
            );
        }
        Ok(())
    }

    /// Whether an email was removed, or is older than one that was removed for its age.
    fn stays_out(&self, id: &str) -> bool {
        let state = self.sim.state();
        let created = state
            .mails
            .iter()
            .find(|mail| mail.id == id)
            .and_then(|mail| mail.created.clone());
        let created: Option<jiff::Timestamp> = created.map(|created| created.parse().unwrap());
        self.removed.borrow().contains(id)
            || created
                .zip(self.horizon.get())
                .is_some_and(|(created, horizon)| created < horizon)
    }

    /// What must hold when everything was fetched: all of it is there, in the service's order.
    fn check_whole(&self) -> Result<(), TestCaseError> {
        let mut listing = self.sim.state().ids();
        listing.retain(|id| !self.stays_out(id));
        let listed: HashSet<&String> = listing.iter().collect();
        let mut shown = self.ids();
        shown.retain(|id| listed.contains(id));
        prop_assert_eq!(shown, listing);
        Ok(())
    }
}

#[test]
fn the_first_time_one_page_is_enough_and_with_nothing_new_one_request() {
    let world = World::new(Dates::Distinct, 250);
    let (requests, synced) = world.requests(World::head);
    assert_eq!(
        (requests, synced.new, synced.stopped),
        (1, 100, Stopped::Done)
    );
    assert!(matches!(synced.reach, Reach::Since(_)));
    let (requests, synced) = world.requests(World::head);
    assert_eq!((requests, synced.new, synced.changes), (1, 0, 0));
}

#[test]
fn a_small_mailbox_is_known_whole_at_last() {
    for (count, cap) in [0, 1, 2, 7, 8, 30, 100, 101, 200, 230]
        .into_iter()
        .flat_map(|count| [(count, 100), (count, 7)])
    {
        let world = World::new(
            if cap == 7 {
                Dates::Ties
            } else {
                Dates::Distinct
            },
            count,
        );
        world.sim.state().cap = cap;
        let (requests, synced) = world.requests(World::all);
        assert_eq!(
            (synced.reach, synced.stopped, synced.new),
            (Reach::Everything, Stopped::End, count as u64),
            "{count}"
        );
        assert!(
            requests <= count / cap + 3,
            "{requests} requests for {count}"
        );
        assert_eq!(world.requests(World::head).0, 1);
        assert!(
            count == 0 || world.requests(World::extend).0 == 0,
            "there is nothing to extend to"
        );
        world.check_whole().unwrap();
    }
}

#[test]
fn a_gap_is_known_and_closed() {
    let world = World::new(Dates::Distinct, 150);
    world.all();
    world.sim.state().arrive(1500);
    let synced = world.head();
    assert_eq!((synced.stopped, synced.new), (Stopped::Budget, 300));
    assert!(matches!(synced.reach, Reach::Since(_)), "a gap is open");
    world.check_spans().unwrap();
    let closed = std::iter::repeat_with(|| world.head())
        .take(10)
        .find(|synced| synced.stopped != Stopped::Budget);
    assert_eq!(closed.unwrap().reach, Reach::Everything);
    world.check_whole().unwrap();
    assert_eq!(world.requests(World::head).0, 1);
}

#[test]
fn extending_goes_one_page_at_a_time_to_the_end() {
    let world = World::new(Dates::Ties, 350);
    world.head();
    let pages: Vec<_> = std::iter::repeat_with(|| world.requests(World::extend))
        .take(4)
        .map(|(requests, synced)| (requests, synced.new))
        .collect();
    assert_eq!(pages, [(1, 100), (1, 100), (1, 50), (0, 0)]);
    assert_eq!(world.engine.archive().reach().unwrap(), Reach::Everything);
}

#[test]
fn a_failure_keeps_what_was_fetched_before_it() {
    let world = World::new(Dates::Distinct, 350);
    world.sim.state().faults = [None, None, Some(Fault::Unreachable)].into();
    let synced = world.all();
    assert!(matches!(&synced.stopped, Stopped::Failed(failure) if failure.is_offline()));
    assert_eq!(synced.new, 200);
    world.sim.state().faults = [Some(Fault::Unreachable)].into();
    assert!(world.runtime.block_on(world.engine.head()).is_err());
    assert_eq!(world.all().new, 150);
    world.check_whole().unwrap();
}

#[test]
fn expired_mail_stays_and_the_walk_goes_around_its_cursors() {
    for lenient in [false, true] {
        let world = World::new(Dates::Distinct, 450);
        world.sim.state().lenient = lenient;
        world.head();
        world.extend();
        world.extend();
        world.sim.state().expire(200);
        let (requests, synced) = world.requests(World::extend);
        assert!(requests <= 6, "{requests}");
        assert_eq!(synced.new, 0);
        world.check_spans().unwrap();
        let synced = world.all();
        assert_eq!(
            (synced.reach, synced.stopped),
            (Reach::Everything, Stopped::End)
        );
        assert_eq!(
            world.ids().len(),
            300,
            "what the service no longer has is still here"
        );
        world.check_whole().unwrap();
    }
}

#[test]
fn a_search_may_meet_a_cursor_that_the_walk_has_used() {
    let world = World::new(Dates::Distinct, 207);
    world.sim.state().cap = 7;
    world.all();
    world.sim.state().expire(65);
    world.sim.state().arrive(118);
    assert_eq!(world.all().stopped, Stopped::End);
    world.check_whole().unwrap();
}

#[test]
fn a_service_that_knows_no_cursor_is_asked_a_few_times_only() {
    let world = World::new(Dates::Distinct, 450);
    world.head();
    world.sim.state().faults = vec![Some(Fault::Gone); 50].into();
    let (requests, synced) = world.requests(World::extend);
    assert_eq!(synced.stopped, Stopped::CursorGone);
    assert!(requests <= 12, "{requests}");
    assert!(
        matches!(synced.reach, Reach::Since(_)),
        "what is known stays known"
    );
}

#[test]
fn a_service_in_a_circle_is_left_alone() {
    for fault in [Fault::Repeat, Fault::FirstPage, Fault::EmptyMore] {
        let world = World::new(Dates::Distinct, 450);
        world.head();
        world.sim.state().faults = vec![Some(fault); 50].into();
        let (requests, synced) = world.requests(World::all);
        assert_eq!(synced.stopped, Stopped::NoProgress, "{fault:?}");
        assert!(requests <= 3, "{fault:?}: {requests}");
        assert!(matches!(synced.reach, Reach::Since(_)));
    }
}

#[test]
fn short_pages_and_a_has_more_that_lies_do_not_hide_mail() {
    let world = World::new(Dates::Distinct, 130);
    world.sim.state().cap = 20;
    assert_eq!(world.all().new, 130);
    world.check_whole().unwrap();
}

#[test]
fn a_listing_without_has_more_is_walked_to_its_end() {
    for (count, cap) in [0, 1, 50, 100, 130, 450]
        .into_iter()
        .flat_map(|count| [(count, 100), (count, 20)])
    {
        let world = World::new(Dates::Distinct, count);
        (world.sim.state().cap, world.sim.state().silent) = (cap, true);
        let (requests, synced) = world.requests(World::all);
        assert_eq!(
            (synced.new, synced.stopped, synced.reach),
            (count as u64, Stopped::End, Reach::Everything),
            "{count}"
        );
        assert!(
            requests <= count / cap + 4,
            "{requests} requests for {count}"
        );
        assert_eq!(world.requests(World::head).0, 1, "{count}");
        world.check_whole().unwrap();
    }
}

#[test]
fn the_oldest_first_is_shown_newest_first() {
    let world = World::new(Dates::Distinct, 350);
    world.sim.state().rising = true;
    assert_eq!(world.all().reach, Reach::Everything);
    world.check_whole().unwrap();
    world.sim.state().arrive(7);
    world.sim.state().mails[50].event = "bounced";
    let (requests, synced) = world.requests(World::head);
    assert_eq!((requests, synced.new, synced.changes), (2, 7, 1));
    world.check_whole().unwrap();
    assert_eq!(world.requests(World::head).0, 1);
}

#[test]
fn an_imitation_that_gives_everything_at_once_is_understood() {
    for count in [1, 2, 30, 100, 350] {
        let world = World::new(Dates::Distinct, count);
        (world.sim.state().rising, world.sim.state().emulate) = (true, true);
        world.all();
        world.sim.state().arrive(3);
        world.head();
        world.check_whole().unwrap();
        world.check_spans().unwrap();
        let (requests, synced) = world.requests(World::head);
        assert_eq!((requests, synced.new), (1, 0), "{count}");
    }
}

#[test]
fn a_service_that_muddles_its_cursors_is_asked_as_long_as_it_gives_new_mail() {
    let world = World::new(Dates::Distinct, 900);
    world.sim.state().muddled = true;
    let (requests, synced) = world.requests(World::all);
    assert!(requests < 40, "{requests}");
    assert!(synced.new > 200, "{}", synced.new);
    assert!(
        matches!(synced.reach, Reach::Since(_)),
        "what it left out is not claimed"
    );
    world.check_spans().unwrap();
}

#[test]
fn the_work_can_be_done_by_any_thread() {
    fn sent(_: impl Send) {}
    let world = World::new(Dates::Distinct, 0);
    sent(world.engine.head());
    sent(world.engine.all(Back::All, |_| ()));
    sent(world.engine.read(&EmailId::new("a")));
    sent(world.engine.refresh(&EmailId::new("a")));
}

#[test]
fn what_cannot_be_read_is_claimed_by_no_span_and_costs_no_other_email() {
    for blotted in ["mail-420", "mail-200", "mail-0"] {
        let world = World::new(Dates::Distinct, 450);
        world.sim.state().blotted = Some(blotted);
        for _ in 0..2 {
            let (requests, synced) = world.requests(World::all);
            assert!(requests <= 7, "{blotted}: {requests} requests");
            assert_eq!(synced.stopped, Stopped::Unreadable, "{blotted}");
            assert!(
                !synced.reached_end() && world.ids().len() == 449,
                "{blotted}: {}",
                world.ids().len()
            );
            world.check_spans().unwrap();
        }
        let (requests, _) = world.requests(World::head);
        assert!(
            requests <= 1,
            "{blotted}: looking for new mail takes {requests} requests"
        );
        world.sim.state().blotted = None;
        assert_eq!(world.all().stopped, Stopped::End, "{blotted}");
        world.check_whole().unwrap();
        world.check_spans().unwrap();
    }
}

#[test]
fn ids_whose_case_changed_do_not_end_a_walk() {
    for pattern in 0..16_u32 {
        for run in [World::head, World::all] {
            let world = World::new(Dates::Distinct, 350);
            let faults = (0..4).map(|bit| (pattern >> bit & 1 == 1).then_some(Fault::UpperCase));
            world.sim.state().faults = faults.collect();
            run(&world);
            run(&world);
            world.sim.state().faults.clear();
            let synced = world.all();
            assert_eq!(
                (synced.stopped, synced.reach),
                (Stopped::End, Reach::Everything),
                "{pattern:b}"
            );
        }
    }
}

#[test]
fn changes_are_observed_with_the_time_they_were_seen() {
    let world = World::new(Dates::Distinct, 30);
    world.head();
    world.sim.state().mails[3].event = "delivered";
    let synced = world.head();
    let id = EmailId::new(&world.sim.state().mails[3].id);
    assert_eq!(
        (synced.changes, synced.changed.as_slice()),
        (1, [id.clone()].as_slice())
    );
    let history = world.engine.archive().history(&id).unwrap();
    assert_eq!(
        history
            .iter()
            .map(|seen| seen.status.clone())
            .collect::<Vec<_>>(),
        [Status::Sent, Status::Delivered]
    );
    assert!(history[0].seen < history[1].seen);
    let row = world.engine.archive().row(&id).unwrap().unwrap();
    assert_eq!(row.changed.as_ref(), history.last());
}

#[test]
fn a_body_is_kept_and_its_status_is_the_latest_known() {
    let world = World::new(Dates::Distinct, 30);
    let id = EmailId::new(&world.sim.state().mails[3].id);
    let email = world.runtime.block_on(world.engine.read(&id)).unwrap();
    assert_eq!(email.html.as_deref(), Some("<p>Hi</p>"));
    assert_eq!(
        world.engine.archive().reach().unwrap(),
        Reach::Nothing,
        "one email is no stretch"
    );
    world.sim.state().mails[3].event = "opened";
    world.head();
    let kept = world.engine.archive().email(&id).unwrap().unwrap();
    assert_eq!(
        (&*kept.json, kept.summary.status),
        (
            &*email.json.replace("\"sent\"", "\"opened\""),
            Status::Opened
        )
    );
    assert!(world.engine.archive().row(&id).unwrap().unwrap().has_body);
    world.check_whole().unwrap();
}

#[test]
fn what_a_screen_shows_far_down_can_be_read_again() {
    let world = World::new(Dates::Distinct, 350);
    world.all();
    world.sim.state().mails[250].event = "bounced";
    assert_eq!(world.head().changes, 0);
    let above = EmailId::new(&world.sim.state().mails[240].id);
    let (requests, synced) = world.requests(|world| {
        world
            .runtime
            .block_on(world.engine.refresh(&above))
            .unwrap()
    });
    assert_eq!(
        (requests, synced.changes, synced.reach),
        (1, 1, Reach::Everything)
    );
}
