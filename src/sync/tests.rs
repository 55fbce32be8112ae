//! The engine against a service that is played to it.

mod following;
mod fresh;
mod leaving;
mod sim;
mod truth;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use sim::{Dates, FakeService, ServiceFault, ticking};

use super::*;
use crate::archive::{ArchiveLocation, Coverage, WindowAnchor};
use crate::mail::Status;

/// A service, an empty archive, and the engine between them.
struct SyncEnv {
    sim: FakeService,
    engine: Engine<FakeService>,
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

impl SyncEnv {
    fn new(dates: Dates, mails: usize) -> Self {
        let sim = FakeService::new(dates, mails);
        let archive = Archive::open(&ArchiveLocation::Memory).unwrap();
        let engine = Engine::new(sim.clone(), archive, ticking());
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

    fn refresh(&self) -> SyncReport {
        self.runtime.block_on(self.engine.refresh()).unwrap()
    }

    fn load_older(&self) -> SyncReport {
        self.runtime.block_on(self.engine.load_older()).unwrap()
    }

    fn full_sync(&self) -> SyncReport {
        self.runtime
            .block_on(self.engine.full_sync(SyncDepth::All, |_| ()))
            .unwrap()
    }

    /// The requests made while `run` ran.
    fn count_requests<T>(&self, run: impl FnOnce(&Self) -> T) -> (usize, T) {
        let before = self.sim.state().requests.len();
        let outcome = run(self);
        (self.sim.state().requests.len() - before, outcome)
    }

    /// The archive's ids, newest first.
    fn ids(&self) -> Vec<String> {
        let window = self
            .engine
            .archive()
            .window(&WindowAnchor::Newest, usize::MAX)
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
            .window(&WindowAnchor::Newest, usize::MAX)
            .unwrap();
        let present: HashSet<&str> = window
            .rows
            .iter()
            .map(|row| row.summary.id.as_str())
            .collect();
        let ground = self.engine.archive().coverage_state().unwrap();
        for pair in ground.ranges.windows(2) {
            prop_assert!(pair[0].bottom > pair[1].top, "{:?}", ground);
        }
        for span in &ground.ranges {
            prop_assert!(span.bottom <= span.top);
            let id_at = |place| {
                window
                    .rows
                    .iter()
                    .find(|row| row.sort_key == place)
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
                .filter(|id| !present.contains(id.as_str()) && !self.is_purged(id))
                .collect();
            prop_assert!(
                lost.is_empty(),
                "{top} to {bottom} claims {lost:?}: {ground:?}"
            );
        }
        Ok(())
    }

    /// Whether an email was removed, or is older than one that was removed for its age.
    fn is_purged(&self, id: &str) -> bool {
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
        listing.retain(|id| !self.is_purged(id));
        let listed: HashSet<&String> = listing.iter().collect();
        let mut shown = self.ids();
        shown.retain(|id| listed.contains(id));
        prop_assert_eq!(shown, listing);
        Ok(())
    }
}

#[test]
fn first_refresh_reads_one_page() {
    let world = SyncEnv::new(Dates::Distinct, 250);
    let (requests, synced) = world.count_requests(SyncEnv::refresh);
    assert_eq!(
        (requests, synced.new, synced.stop_reason),
        (1, 100, StopReason::Done)
    );
    assert!(matches!(synced.coverage, Coverage::Since(_)));
    let (requests, synced) = world.count_requests(SyncEnv::refresh);
    assert_eq!((requests, synced.new, synced.changes), (1, 0, 0));
}

#[test]
fn small_mailbox_becomes_complete() {
    for (count, cap) in [0, 1, 2, 7, 8, 30, 100, 101, 200, 230]
        .into_iter()
        .flat_map(|count| [(count, 100), (count, 7)])
    {
        let world = SyncEnv::new(
            if cap == 7 {
                Dates::Ties
            } else {
                Dates::Distinct
            },
            count,
        );
        world.sim.state().cap = cap;
        let (requests, synced) = world.count_requests(SyncEnv::full_sync);
        assert_eq!(
            (synced.coverage, synced.stop_reason, synced.new),
            (Coverage::Complete, StopReason::End, count as u64),
            "{count}"
        );
        assert!(
            requests <= count / cap + 3,
            "{requests} requests for {count}"
        );
        assert_eq!(world.count_requests(SyncEnv::refresh).0, 1);
        assert!(
            count == 0 || world.count_requests(SyncEnv::load_older).0 == 0,
            "there is nothing to extend to"
        );
        world.check_whole().unwrap();
    }
}

#[test]
fn a_gap_is_known_and_closed() {
    let world = SyncEnv::new(Dates::Distinct, 150);
    world.full_sync();
    world.sim.state().arrive(1500);
    let synced = world.refresh();
    assert_eq!(
        (synced.stop_reason, synced.new),
        (StopReason::PageLimit, 300)
    );
    assert!(
        matches!(synced.coverage, Coverage::Since(_)),
        "a gap is open"
    );
    world.check_spans().unwrap();
    let closed = std::iter::repeat_with(|| world.refresh())
        .take(10)
        .find(|synced| synced.stop_reason != StopReason::PageLimit);
    assert_eq!(closed.unwrap().coverage, Coverage::Complete);
    world.check_whole().unwrap();
    assert_eq!(world.count_requests(SyncEnv::refresh).0, 1);
}

#[test]
fn load_older_reads_one_page_until_end() {
    let world = SyncEnv::new(Dates::Ties, 350);
    world.refresh();
    let pages: Vec<_> = std::iter::repeat_with(|| world.count_requests(SyncEnv::load_older))
        .take(4)
        .map(|(requests, synced)| (requests, synced.new))
        .collect();
    assert_eq!(pages, [(1, 100), (1, 100), (1, 50), (0, 0)]);
    assert_eq!(
        world.engine.archive().coverage().unwrap(),
        Coverage::Complete
    );
}

#[test]
fn failed_sync_keeps_stored_pages() {
    let world = SyncEnv::new(Dates::Distinct, 350);
    world.sim.state().faults = [None, None, Some(ServiceFault::Unreachable)].into();
    let synced = world.full_sync();
    assert!(matches!(&synced.stop_reason, StopReason::Failed(failure) if failure.is_offline()));
    assert_eq!(synced.new, 200);
    world.sim.state().faults = [Some(ServiceFault::Unreachable)].into();
    assert!(world.runtime.block_on(world.engine.refresh()).is_err());
    assert_eq!(world.full_sync().new, 150);
    world.check_whole().unwrap();
}

#[test]
fn expired_mail_stays_and_its_cursors_are_skipped() {
    for lenient in [false, true] {
        let world = SyncEnv::new(Dates::Distinct, 450);
        world.sim.state().lenient = lenient;
        world.refresh();
        world.load_older();
        world.load_older();
        world.sim.state().expire(200);
        let (requests, synced) = world.count_requests(SyncEnv::load_older);
        assert!(requests <= 6, "{requests}");
        assert_eq!(synced.new, 0);
        world.check_spans().unwrap();
        let synced = world.full_sync();
        assert_eq!(
            (synced.coverage, synced.stop_reason),
            (Coverage::Complete, StopReason::End)
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
fn cursor_search_accepts_used_cursor() {
    let world = SyncEnv::new(Dates::Distinct, 207);
    world.sim.state().cap = 7;
    world.full_sync();
    world.sim.state().expire(65);
    world.sim.state().arrive(118);
    assert_eq!(world.full_sync().stop_reason, StopReason::End);
    world.check_whole().unwrap();
}

#[test]
fn unknown_cursors_cost_few_requests() {
    let world = SyncEnv::new(Dates::Distinct, 450);
    world.refresh();
    world.sim.state().faults = vec![Some(ServiceFault::Gone); 50].into();
    let (requests, synced) = world.count_requests(SyncEnv::load_older);
    assert_eq!(synced.stop_reason, StopReason::NoLiveCursor);
    assert!(requests <= 12, "{requests}");
    assert!(
        matches!(synced.coverage, Coverage::Since(_)),
        "what is known stays known"
    );
}

#[test]
fn a_service_in_a_circle_is_left_alone() {
    for fault in [
        ServiceFault::Repeat,
        ServiceFault::FirstPage,
        ServiceFault::EmptyMore,
    ] {
        let world = SyncEnv::new(Dates::Distinct, 450);
        world.refresh();
        world.sim.state().faults = vec![Some(fault); 50].into();
        let (requests, synced) = world.count_requests(SyncEnv::full_sync);
        assert_eq!(synced.stop_reason, StopReason::NoProgress, "{fault:?}");
        assert!(requests <= 3, "{fault:?}: {requests}");
        assert!(matches!(synced.coverage, Coverage::Since(_)));
    }
}

#[test]
fn short_pages_and_wrong_has_more_hide_no_mail() {
    let world = SyncEnv::new(Dates::Distinct, 130);
    world.sim.state().cap = 20;
    assert_eq!(world.full_sync().new, 130);
    world.check_whole().unwrap();
}

#[test]
fn listing_without_has_more_is_read_to_end() {
    for (count, cap) in [0, 1, 50, 100, 130, 450]
        .into_iter()
        .flat_map(|count| [(count, 100), (count, 20)])
    {
        let world = SyncEnv::new(Dates::Distinct, count);
        (world.sim.state().cap, world.sim.state().silent) = (cap, true);
        let (requests, synced) = world.count_requests(SyncEnv::full_sync);
        assert_eq!(
            (synced.new, synced.stop_reason, synced.coverage),
            (count as u64, StopReason::End, Coverage::Complete),
            "{count}"
        );
        assert!(
            requests <= count / cap + 4,
            "{requests} requests for {count}"
        );
        assert_eq!(world.count_requests(SyncEnv::refresh).0, 1, "{count}");
        world.check_whole().unwrap();
    }
}

#[test]
fn the_oldest_first_is_shown_newest_first() {
    let world = SyncEnv::new(Dates::Distinct, 350);
    world.sim.state().rising = true;
    assert_eq!(world.full_sync().coverage, Coverage::Complete);
    world.check_whole().unwrap();
    world.sim.state().arrive(7);
    world.sim.state().mails[50].event = "bounced";
    let (requests, synced) = world.count_requests(SyncEnv::refresh);
    assert_eq!((requests, synced.new, synced.changes), (2, 7, 1));
    world.check_whole().unwrap();
    assert_eq!(world.count_requests(SyncEnv::refresh).0, 1);
}

#[test]
fn service_that_ignores_limits_is_read_completely() {
    for count in [1, 2, 30, 100, 350] {
        let world = SyncEnv::new(Dates::Distinct, count);
        (world.sim.state().rising, world.sim.state().emulate) = (true, true);
        world.full_sync();
        world.sim.state().arrive(3);
        world.refresh();
        world.check_whole().unwrap();
        world.check_spans().unwrap();
        let (requests, synced) = world.count_requests(SyncEnv::refresh);
        assert_eq!((requests, synced.new), (1, 0), "{count}");
    }
}

#[test]
fn contradicting_pages_are_read_while_they_have_new_mail() {
    let world = SyncEnv::new(Dates::Distinct, 900);
    world.sim.state().muddled = true;
    let (requests, synced) = world.count_requests(SyncEnv::full_sync);
    assert!(requests < 40, "{requests}");
    assert!(synced.new > 200, "{}", synced.new);
    assert!(
        matches!(synced.coverage, Coverage::Since(_)),
        "what it left out is not claimed"
    );
    world.check_spans().unwrap();
}

#[test]
fn the_work_can_be_done_by_any_thread() {
    fn sent(_: impl Send) {}
    let world = SyncEnv::new(Dates::Distinct, 0);
    sent(world.engine.refresh());
    sent(world.engine.full_sync(SyncDepth::All, |_| ()));
    sent(world.engine.fetch_email(&EmailId::new("a")));
    sent(world.engine.reread_page(&EmailId::new("a")));
}

#[test]
fn unreadable_item_is_in_no_covered_range() {
    for blotted in ["mail-420", "mail-200", "mail-0"] {
        let world = SyncEnv::new(Dates::Distinct, 450);
        world.sim.state().blotted = Some(blotted);
        for _ in 0..2 {
            let (requests, synced) = world.count_requests(SyncEnv::full_sync);
            assert!(requests <= 7, "{blotted}: {requests} requests");
            assert_eq!(synced.stop_reason, StopReason::Unreadable, "{blotted}");
            assert!(
                synced.coverage != Coverage::Complete && world.ids().len() == 449,
                "{blotted}: {}",
                world.ids().len()
            );
            world.check_spans().unwrap();
        }
        let (requests, _) = world.count_requests(SyncEnv::refresh);
        assert!(
            requests <= 1,
            "{blotted}: looking for new mail takes {requests} requests"
        );
        world.sim.state().blotted = None;
        assert_eq!(world.full_sync().stop_reason, StopReason::End, "{blotted}");
        world.check_whole().unwrap();
        world.check_spans().unwrap();
    }
}

#[test]
fn changed_id_case_does_not_end_run() {
    for pattern in 0..16_u32 {
        for run in [SyncEnv::refresh, SyncEnv::full_sync] {
            let world = SyncEnv::new(Dates::Distinct, 350);
            let faults =
                (0..4).map(|bit| (pattern >> bit & 1 == 1).then_some(ServiceFault::UpperCase));
            world.sim.state().faults = faults.collect();
            run(&world);
            run(&world);
            world.sim.state().faults.clear();
            let synced = world.full_sync();
            assert_eq!(
                (synced.stop_reason, synced.coverage),
                (StopReason::End, Coverage::Complete),
                "{pattern:b}"
            );
        }
    }
}

#[test]
fn status_changes_are_stored_with_their_time() {
    let world = SyncEnv::new(Dates::Distinct, 30);
    world.refresh();
    world.sim.state().mails[3].event = "delivered";
    let synced = world.refresh();
    let id = EmailId::new(&world.sim.state().mails[3].id);
    assert_eq!(
        (synced.changes, synced.changed_ids.as_slice()),
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
    assert_eq!(row.last_change.as_ref(), history.last());
}

#[test]
fn fetched_email_updates_body_and_status() {
    let world = SyncEnv::new(Dates::Distinct, 30);
    let id = EmailId::new(&world.sim.state().mails[3].id);
    let email = world
        .runtime
        .block_on(world.engine.fetch_email(&id))
        .unwrap();
    assert_eq!(email.html.as_deref(), Some("<p>Hi</p>"));
    assert_eq!(
        world.engine.archive().coverage().unwrap(),
        Coverage::Unknown,
        "one email is no stretch"
    );
    world.sim.state().mails[3].event = "opened";
    world.refresh();
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
fn page_far_below_top_can_be_reread() {
    let world = SyncEnv::new(Dates::Distinct, 350);
    world.full_sync();
    world.sim.state().mails[250].event = "bounced";
    assert_eq!(world.refresh().changes, 0);
    let above = EmailId::new(&world.sim.state().mails[240].id);
    let (requests, synced) = world.count_requests(|world| {
        world
            .runtime
            .block_on(world.engine.reread_page(&above))
            .unwrap()
    });
    assert_eq!(
        (requests, synced.changes, synced.coverage),
        (1, 1, Coverage::Complete)
    );
}
