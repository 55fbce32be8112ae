//! The engine against a simulated service.

mod backfill;
mod following;
mod fresh;
mod leaving;
mod odd_services;
mod order;
mod sim;
mod truth;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use proptest::prelude::*;
use sim::{Dates, EPOCH, FakeService, ServiceFault, clock};

use super::*;
use crate::archive::tests::memory;
use crate::archive::{Coverage, EmailRow, WindowAnchor};
use crate::mail::Status;

/// A service, an empty archive, and the engine between them.
struct SyncEnv {
    sim: FakeService,
    engine: Engine<FakeService>,
    runtime: tokio::runtime::Runtime,
    /// The emails that were removed from the archive by hand.
    removed: RefCell<HashSet<String>>,
    /// Mail before this was removed.
    cutoff: Cell<Option<jiff::Timestamp>>,
    seconds: Arc<AtomicI64>,
}

/// The number of a simulated email; the larger, the newer.
fn number(id: &str) -> Option<i64> {
    id.strip_prefix("mail-")?.parse().ok()
}

impl SyncEnv {
    fn new(dates: Dates, mails: usize) -> Self {
        Self::with_clock(dates, mails, EPOCH + 100_000_000, 1)
    }

    /// With emails seven seconds apart, the newest of them a few seconds old, and a
    /// clock that the test sets.
    fn at_rest(mails: usize) -> Self {
        let newest = EPOCH + 7 * i64::try_from(mails).unwrap();
        Self::with_clock(Dates::Distinct, mails, newest, 0)
    }

    /// With a clock that goes on by `step` whenever it is read.
    fn with_clock(dates: Dates, mails: usize, start: i64, step: i64) -> Self {
        let sim = FakeService::new(dates, mails);
        let seconds = Arc::new(AtomicI64::new(start));
        let engine = Engine::new(sim.clone(), memory(), clock(&seconds, step));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        Self {
            sim,
            engine,
            runtime,
            removed: RefCell::default(),
            cutoff: Cell::default(),
            seconds,
        }
    }

    fn archive(&self) -> &Archive {
        self.engine.archive()
    }

    fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    fn refresh(&self) -> SyncReport {
        self.run(self.engine.refresh()).unwrap()
    }

    fn load_older(&self) -> SyncReport {
        self.run(self.engine.load_older()).unwrap()
    }

    fn full_sync(&self) -> SyncReport {
        self.run(self.engine.full_sync(SyncDepth::All, |_| ()))
            .unwrap()
    }

    /// Syncs until a listing without the known emails is believed, if there is one.
    fn settle(&self) -> SyncReport {
        let settled = std::iter::repeat_with(|| self.full_sync())
            .take(20)
            .find(|report| report.stop_reason != StopReason::OtherListing);
        settled.expect("it is believed in the end")
    }

    /// The requests made while `run` ran.
    fn count_requests<T>(&self, run: impl FnOnce(&Self) -> T) -> (usize, T) {
        let before = self.sim.state().requests.len();
        let outcome = run(self);
        (self.sim.state().requests.len() - before, outcome)
    }

    /// The archive's rows, newest first.
    fn rows(&self) -> Vec<EmailRow> {
        let window = self.archive().window(&WindowAnchor::Top, usize::MAX);
        window.unwrap().rows
    }

    fn ids_where(&self, condition: impl FnMut(&EmailRow) -> bool) -> Vec<String> {
        let rows = self.rows().into_iter().filter(condition);
        rows.map(|row| row.summary.id.as_str().to_owned()).collect()
    }

    fn ids(&self) -> Vec<String> {
        self.ids_where(|_| true)
    }

    /// The ids of the emails that the service no longer lists.
    fn gone(&self) -> Vec<String> {
        self.ids_where(|row| row.missing_since.is_some())
    }

    /// The id of the email at this index at the service.
    fn id_at(&self, index: usize) -> EmailId {
        EmailId::new(&self.sim.state().mails[index].id)
    }

    /// The invariants at any time:
    /// a range covers nothing that is absent, and ranges do not overlap.
    fn check_ranges(&self) -> Result<(), TestCaseError> {
        let listing = self.sim.state().ids();
        let at: HashMap<&str, usize> = listing.iter().map(String::as_str).zip(0..).collect();
        let rows = self.rows();
        let present: HashSet<&str> = rows.iter().map(|row| row.summary.id.as_str()).collect();
        let coverage = self.engine.archive().coverage_state().unwrap();
        for pair in coverage.ranges.windows(2) {
            prop_assert!(pair[0].bottom > pair[1].top, "{:?}", coverage);
        }
        for range in &coverage.ranges {
            prop_assert!(range.bottom <= range.top);
            let id_at = |key| {
                let row = rows.iter().find(|row| row.sort_key == key);
                row.expect("a range ends at rows").summary.id.as_str()
            };
            let (top, bottom) = (id_at(range.top), id_at(range.bottom));
            let Some(first) = at.get(top).copied() else {
                continue;
            };
            // A bottom that the service has deleted since still shows where the range ends.
            let is_below = |id: &String| number(id) < number(bottom);
            let below = || listing.iter().position(is_below).unwrap_or(listing.len());
            let last = if range.reaches_end {
                listing.len()
            } else {
                at.get(bottom).map_or_else(below, |last| last + 1)
            };
            prop_assert!(
                first < last,
                "{top} to {bottom} is upside down: {coverage:?}"
            );
            let lost: Vec<&String> = listing[first..last]
                .iter()
                .filter(|id| !present.contains(id.as_str()) && !self.is_purged(id))
                .collect();
            prop_assert!(
                lost.is_empty(),
                "{top} to {bottom} claims {lost:?}: {coverage:?}"
            );
        }
        Ok(())
    }

    /// Whether an email was removed, or is older than one that was removed for its age.
    fn is_purged(&self, id: &str) -> bool {
        let state = self.sim.state();
        let mail = state.mails.iter().find(|mail| mail.id == id);
        let created = mail.and_then(|mail| mail.created.as_ref());
        let created = created.map(|created| created.parse::<jiff::Timestamp>().unwrap());
        let is_old = |(created, cutoff)| created < cutoff;
        self.removed.borrow().contains(id) || created.zip(self.cutoff.get()).is_some_and(is_old)
    }

    /// The invariants when everything was fetched:
    /// all of it is there, in the service's order.
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
    let env = SyncEnv::new(Dates::Distinct, 250);
    let (requests, report) = env.count_requests(SyncEnv::refresh);
    assert_eq!(requests, 1);
    assert_eq!(report.new, 100);
    assert_eq!(report.stop_reason, StopReason::Done);
    assert!(matches!(report.coverage, Coverage::Since(_)));
    let (requests, report) = env.count_requests(SyncEnv::refresh);
    assert_eq!((requests, report.new, report.changes), (1, 0, 0));
}

#[test]
fn small_mailbox_becomes_complete() {
    let counts = [0, 1, 2, 7, 8, 30, 50, 100, 101, 130, 200, 230, 450];
    let listings = [
        (100, Dates::Distinct, false),
        (7, Dates::Ties, false),
        (100, Dates::Distinct, true),
        (20, Dates::Distinct, true),
    ];
    for (count, (cap, dates, lacks_has_more)) in counts
        .into_iter()
        .flat_map(|count| listings.map(|listing| (count, listing)))
    {
        let env = SyncEnv::new(dates, count);
        (env.sim.state().cap, env.sim.state().silent) = (cap, lacks_has_more);
        let (requests, report) = env.count_requests(SyncEnv::full_sync);
        assert_eq!(
            (report.coverage, report.stop_reason, report.new),
            (Coverage::Complete, StopReason::End, count as u64),
            "{count}"
        );
        assert!(
            requests <= count / cap + 3 + usize::from(lacks_has_more),
            "{requests} requests for {count}"
        );
        assert_eq!(env.count_requests(SyncEnv::refresh).0, 1);
        assert!(
            count == 0 || env.count_requests(SyncEnv::load_older).0 == 0,
            "there is nothing to extend to"
        );
        env.check_whole().unwrap();
    }
}

#[test]
fn gap_is_known_and_closed() {
    let env = SyncEnv::new(Dates::Distinct, 150);
    env.full_sync();
    env.sim.state().arrive(1500);
    let report = env.refresh();
    assert_eq!(report.stop_reason, StopReason::PageLimit);
    assert_eq!(report.new, 300);
    assert!(
        matches!(report.coverage, Coverage::Since(_)),
        "a gap is open"
    );
    env.check_ranges().unwrap();
    let closed = std::iter::repeat_with(|| env.refresh())
        .take(10)
        .find(|report| report.stop_reason != StopReason::PageLimit);
    assert_eq!(closed.unwrap().coverage, Coverage::Complete);
    env.check_whole().unwrap();
    assert_eq!(env.count_requests(SyncEnv::refresh).0, 1);
}

#[test]
fn load_older_reads_one_page_until_end() {
    let env = SyncEnv::new(Dates::Ties, 350);
    env.refresh();
    for expected in [(1, 100), (1, 100), (1, 50), (0, 0)] {
        let (requests, report) = env.count_requests(SyncEnv::load_older);
        assert_eq!((requests, report.new), expected);
    }
    assert_eq!(env.archive().coverage().unwrap(), Coverage::Complete);
}

/// The last email of the first page is dated 1970, and the one after it is as new
/// as the others.
#[test]
fn wrong_time_neither_ends_sync_nor_extends_coverage() {
    let env = SyncEnv::new(Dates::Distinct, 250);
    env.sim.state().mails[99].created = Some("1970-01-01T00:00:00Z".to_owned());
    env.refresh();
    let Coverage::Since(oldest) = env.archive().coverage().unwrap() else {
        panic!("the service has older mail")
    };
    let before = env.sim.state().mails[98].created.clone().unwrap();
    let before: jiff::Timestamp = before.parse().unwrap();
    assert_eq!(oldest.parsed, Some(before + Duration::from_micros(1)));
    let since = jiff::Timestamp::from_second(sim::EPOCH).unwrap();
    let depth = SyncDepth::Until(since);
    let report = env.run(env.engine.full_sync(depth, |_| ()));
    assert_eq!(report.unwrap().coverage, Coverage::Complete);
    assert_eq!(env.ids().len(), 250);
}

#[test]
fn failed_sync_keeps_stored_pages() {
    let env = SyncEnv::new(Dates::Distinct, 350);
    env.sim.state().faults = [None, None, Some(ServiceFault::Unreachable)].into();
    let report = env.full_sync();
    assert!(matches!(&report.stop_reason, StopReason::Failed(failure) if failure.is_offline()));
    assert_eq!(report.new, 200);
    env.sim.state().faults = [Some(ServiceFault::Unreachable)].into();
    assert!(env.run(env.engine.refresh()).is_err());
    assert_eq!(env.full_sync().new, 150);
    env.check_whole().unwrap();
}

#[test]
fn expired_mail_stays_and_its_cursors_are_skipped() {
    for lenient in [false, true] {
        let env = SyncEnv::new(Dates::Distinct, 450);
        env.sim.state().lenient = lenient;
        env.refresh();
        env.load_older();
        env.load_older();
        env.sim.state().expire(200);
        let (requests, report) = env.count_requests(SyncEnv::load_older);
        assert!(requests <= 6, "{requests}");
        assert_eq!(report.new, 0);
        env.check_ranges().unwrap();
        let report = env.full_sync();
        assert_eq!(report.coverage, Coverage::Complete);
        assert_eq!(report.stop_reason, StopReason::End);
        assert_eq!(
            env.ids().len(),
            300,
            "what the service no longer has is still here"
        );
        let expired: Vec<String> = (150..200).rev().map(|n| format!("mail-{n}")).collect();
        assert_eq!(env.gone(), expired);
        env.check_whole().unwrap();
    }
}

#[test]
fn cursor_search_accepts_used_cursor() {
    let env = SyncEnv::new(Dates::Distinct, 207);
    env.sim.state().cap = 7;
    env.full_sync();
    env.sim.state().expire(65);
    env.sim.state().arrive(118);
    assert_eq!(env.full_sync().stop_reason, StopReason::End);
    env.check_whole().unwrap();
}

#[test]
fn unknown_cursors_cost_few_requests() {
    let env = SyncEnv::new(Dates::Distinct, 450);
    env.refresh();
    env.sim.state().faults = vec![Some(ServiceFault::Gone); 50].into();
    let (requests, report) = env.count_requests(SyncEnv::load_older);
    assert_eq!(report.stop_reason, StopReason::NoLiveCursor);
    assert!(requests <= 12, "{requests}");
    assert!(
        matches!(report.coverage, Coverage::Since(_)),
        "what is known stays known"
    );
}

#[test]
fn unreadable_item_is_in_no_covered_range() {
    for unreadable_id in ["mail-420", "mail-200", "mail-0"] {
        let env = SyncEnv::new(Dates::Distinct, 450);
        env.sim.state().unreadable_id = Some(unreadable_id);
        for _ in 0..2 {
            let (requests, report) = env.count_requests(SyncEnv::full_sync);
            assert!(requests <= 7, "{unreadable_id}: {requests} requests");
            assert_eq!(report.stop_reason, StopReason::Unreadable);
            assert_ne!(report.coverage, Coverage::Complete, "{unreadable_id}");
            assert_eq!(env.ids().len(), 449, "{unreadable_id}");
            env.check_ranges().unwrap();
        }
        let (requests, _) = env.count_requests(SyncEnv::refresh);
        assert!(
            requests <= 1,
            "{unreadable_id}: looking for new mail takes {requests} requests"
        );
        env.sim.state().unreadable_id = None;
        assert_eq!(env.full_sync().stop_reason, StopReason::End);
        env.check_whole().unwrap();
        env.check_ranges().unwrap();
    }
}

#[test]
fn changed_id_case_does_not_end_run() {
    for pattern in 0..16_u32 {
        for run in [SyncEnv::refresh, SyncEnv::full_sync] {
            let env = SyncEnv::new(Dates::Distinct, 350);
            let faults =
                (0..4).map(|bit| (pattern >> bit & 1 == 1).then_some(ServiceFault::UpperCase));
            env.sim.state().faults = faults.collect();
            run(&env);
            run(&env);
            env.sim.state().faults.clear();
            let report = env.full_sync();
            assert_eq!(
                (report.stop_reason, report.coverage),
                (StopReason::End, Coverage::Complete),
                "{pattern:b}"
            );
        }
    }
}

#[test]
fn status_changes_are_stored_with_their_time() {
    let env = SyncEnv::new(Dates::Distinct, 30);
    env.refresh();
    env.sim.state().mails[3].event = "delivered";
    let report = env.refresh();
    let id = env.id_at(3);
    assert_eq!(report.changes, 1);
    assert_eq!(report.changed_ids.as_slice(), [id.clone()].as_slice());
    let history = env.archive().history(&id).unwrap();
    let [sent, delivered] = history.as_slice() else {
        panic!("{history:?}")
    };
    assert_eq!(sent.status, Status::Sent);
    assert_eq!(delivered.status, Status::Delivered);
    assert!(sent.seen < delivered.seen);
    let row = env.archive().row(&id).unwrap().unwrap();
    assert_eq!(row.last_change.as_ref(), history.last());
}

#[test]
fn fetched_email_updates_body_and_status() {
    let env = SyncEnv::new(Dates::Distinct, 30);
    let id = env.id_at(3);
    let email = env.run(env.engine.fetch_email(&id)).unwrap();
    assert_eq!(email.html.as_deref(), Some("<p>Hi</p>"));
    assert_eq!(
        env.archive().coverage().unwrap(),
        Coverage::Unknown,
        "one email is not a range"
    );
    env.sim.state().mails[3].event = "opened";
    env.refresh();
    let kept = env.archive().email(&id).unwrap().unwrap();
    assert_eq!(&*kept.json, &*email.json.replace("\"sent\"", "\"opened\""));
    assert_eq!(kept.summary.status, Status::Opened);
    assert!(env.archive().row(&id).unwrap().unwrap().has_body);
    env.check_whole().unwrap();
}

#[test]
fn page_far_below_top_can_be_reread() {
    let env = SyncEnv::new(Dates::Distinct, 350);
    env.full_sync();
    env.sim.state().mails[250].event = "bounced";
    assert_eq!(env.refresh().changes, 0);
    let above = env.id_at(240);
    let reread = |env: &SyncEnv| env.run(env.engine.reread_page(&above)).unwrap();
    let (requests, report) = env.count_requests(reread);
    assert_eq!(requests, 1);
    assert_eq!(report.changes, 1);
    assert_eq!(report.coverage, Coverage::Complete);
}
