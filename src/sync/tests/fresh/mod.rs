//! Statuses are confirmed again:
//! what was due, what a user looks at, what a query may find.

mod confirm;
mod mirror_statuses;

use std::sync::atomic::Ordering;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::SyncEnv;
use super::sim::{EPOCH, ServiceFault, address};
use crate::api::InvalidResponses;
use crate::archive::{ConfirmedRun, PurgeTarget, SortKey};
use crate::error::ErrorKind;
use crate::mail::{Finality, Status};
use crate::query::{ParseContext, Query, parse};
use crate::sync::RecheckScope;
use crate::sync::recheck::{find_due_runs, lateness};

const MINUTE: i64 = 60;
const DAY: i64 = 86_400;

impl SyncEnv {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.seconds.load(Ordering::Relaxed)).unwrap()
    }

    fn advance(&self, seconds: i64) {
        self.seconds.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Reads due pages until none is left; says how many requests that took.
    pub(super) fn recheck(&self, recheck: RecheckScope) -> usize {
        let before = self.sim.state().requests.len();
        for _ in 0..500 {
            if self.run(self.engine.recheck(recheck)).unwrap().is_none() {
                return self.sim.state().requests.len() - before;
            }
        }
        panic!("it does not end");
    }

    pub(super) fn everything(&self) -> RecheckScope {
        RecheckScope::All {
            since: i64::MIN,
            before: self.archive().latest_request().unwrap(),
        }
    }

    /// Emails whose status in the archive is not that of the service,
    /// and those that are wrongly here or gone.
    fn wrong(&self) -> Vec<String> {
        let state = self.sim.state();
        self.ids_where(|row| {
            let id = row.summary.id.as_str();
            match state.mails.iter().find(|mail| mail.id == id) {
                Some(mail) => {
                    row.missing_since.is_some() || Status::parse(mail.event) != row.summary.status
                }
                None => row.missing_since.is_none(),
            }
        })
    }

    fn change(&self, event: &'static str, places: impl IntoIterator<Item = usize>) {
        let mut state = self.sim.state();
        for at in places {
            state.mails[at].event = event;
        }
    }
}

fn query(text: &str) -> Query {
    let now = Timestamp::from_second(EPOCH).unwrap();
    parse(text, &ParseContext::new(now, jiff::tz::TimeZone::UTC)).query
}

#[test]
fn due_pages_bring_older_changes_and_deletions() {
    let env = SyncEnv::at_rest(350);
    env.full_sync();
    env.change("bounced", 100..350);
    env.sim.state().mails.remove(200);
    assert_eq!(
        env.recheck(RecheckScope::background(env.now())),
        0,
        "nothing is due yet"
    );
    env.advance(14 * MINUTE);
    let requests = env.recheck(RecheckScope::background(env.now()));
    assert!((3..=5).contains(&requests), "{requests}");
    assert_eq!(env.wrong(), Vec::<String>::new());
    env.advance(5 * DAY);
    assert!(
        env.recheck(RecheckScope::background(env.now())) <= 2,
        "what bounced is final"
    );
}

#[test]
fn recheck_right_after_a_sync_reads_every_page() {
    let env = SyncEnv::at_rest(350);
    env.full_sync();
    env.change("bounced", 100..350);
    env.advance(5);
    let requests = env.recheck(env.everything());
    assert!((4..=5).contains(&requests), "{requests}");
    assert_eq!(env.wrong(), Vec::<String>::new());
}

#[test]
fn full_recheck_finds_missing_final_emails() {
    let env = SyncEnv::at_rest(350);
    env.change("bounced", 0..350);
    env.full_sync();
    for at in [300, 200, 120, 3] {
        env.sim.state().mails.remove(at);
    }
    env.advance(MINUTE);
    let requests = env.recheck(env.everything());
    assert!(requests <= 6, "{requests}");
    assert_eq!(env.wrong(), Vec::<String>::new());
}

#[test]
fn recheck_goes_around_cursors_that_are_gone() {
    for lenient in [false, true] {
        let env = SyncEnv::at_rest(450);
        env.sim.state().lenient = lenient;
        env.full_sync();
        env.advance(MINUTE);
        env.sim.state().mails.drain(90..260);
        env.change("bounced", 150..200);
        env.recheck(env.everything());
        env.advance(11 * MINUTE);
        env.recheck(env.everything());
        assert_eq!(env.wrong(), Vec::<String>::new(), "lenient: {lenient}");
    }
}

#[test]
fn expired_end_of_the_listing_is_noticed() {
    let env = SyncEnv::at_rest(350);
    env.full_sync();
    env.advance(20 * MINUTE);
    env.sim.state().expire(60);
    env.recheck(RecheckScope::background(env.now()));
    assert_eq!(env.wrong(), Vec::<String>::new());
    assert_eq!(env.gone().len(), 60);
}

#[test]
fn emptied_mailbox_leaves_nothing_listed_or_due() {
    let env = SyncEnv::at_rest(120);
    env.full_sync();
    env.advance(11 * MINUTE);
    env.sim.state().mails.clear();
    env.recheck(env.everything());
    assert_eq!(env.gone().len(), 0, "one response is doubted");
    env.advance(11 * MINUTE);
    env.recheck(env.everything());
    assert_eq!(env.wrong(), Vec::<String>::new());
    env.sim.state().arrive(3);
    env.full_sync();
    let listed = env.ids_where(|row| row.missing_since.is_none());
    assert_eq!((listed.len(), env.wrong().len()), (3, 0));
}

#[test]
fn recheck_ends_with_unreadable_newest_page() {
    let env = SyncEnv::at_rest(120);
    env.full_sync();
    env.advance(11 * MINUTE);
    env.sim.state().unreadable_id = Some("mail-118");
    let requests = env.recheck(env.everything());
    assert!(requests <= 6, "{requests}");
}

#[test]
fn unconfirmed_deletion_is_decided_by_its_page() {
    let env = SyncEnv::at_rest(250);
    env.full_sync();
    env.sim.state().forgetful = true;
    let id = env.id_at(180);
    env.run(env.engine.fetch_email(&id)).unwrap_err();
    env.sim.state().forgetful = false;
    env.advance(1);
    assert_eq!(env.recheck(RecheckScope::background(env.now())), 1);
    assert_eq!(env.wrong().len(), 0);
    assert_eq!(env.archive().first_unconfirmed_deletion().unwrap(), None);
}

#[test]
fn log_in_page_ends_fetch_of_bodies() {
    let env = SyncEnv::at_rest(40);
    env.full_sync();
    env.sim.state().is_log_in_page = true;
    let mut invalid = InvalidResponses::default();
    let mut step = |below| env.run((env.engine).fetch_bodies_of(query(""), below, 3, &mut invalid));
    let first = step(None).unwrap();
    assert_eq!(first.rows.len(), 3);
    let error = step(first.last_examined).unwrap_err();
    assert_eq!((error.kind, invalid.count), (ErrorKind::NotTheApi, 4));
}

fn changing_run(row: SortKey, at: Timestamp) -> ConfirmedRun {
    ConfirmedRun {
        top: row,
        bottom: row,
        at,
        may_change: true,
        response_seq: 0,
    }
}

/// Requests a day over a mailbox at rest of so many emails a day,
/// all of which may still move.
fn requests_a_day(emails: i64) -> usize {
    const TICK: i64 = 120;
    let start = 40 * DAY;
    let key_at = |second: i64| SortKey::from_micros(second * 1_000_000).unwrap();
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    let spacing = DAY / emails;
    // Newest first: when each was created, and when it was confirmed; in the phase that its age brings.
    let mut mails: Vec<(i64, i64)> = (0..30 * emails)
        .map(|n| n * spacing)
        .map(|age| (start - age, start - (age / 4) * ((age / 60) % 100) / 100))
        .collect();
    let mut requests = 0;
    let warm_up = DAY;
    for now in (start..start + warm_up + DAY).step_by(usize::try_from(TICK).unwrap()) {
        let newest = mails[0].0;
        let arrived: Vec<(i64, i64)> = (1..=(now - newest) / spacing)
            .map(|n| (newest + n * spacing, now))
            .collect();
        mails.splice(0..0, arrived.into_iter().rev());
        mails.retain(|mail| now - mail.0 <= 30 * DAY);
        for mail in &mut mails[..100] {
            mail.1 = now;
        }
        loop {
            let mut runs: Vec<ConfirmedRun> = Vec::new();
            for (created, confirmed) in &mails {
                match runs.last_mut() {
                    Some(run) if run.at == at(*confirmed) => run.bottom = key_at(*created),
                    _ => runs.push(changing_run(key_at(*created), at(*confirmed))),
                }
            }
            let due = find_due_runs(&runs, RecheckScope::background(at(now)), at(now));
            let Some(due) = due.first() else { break };
            let mut keys = mails.iter().map(|mail| key_at(mail.0));
            let ceiling = keys.clone().position(|key| key <= due.ceiling).unwrap();
            let row = keys.position(|key| key == due.run.top).unwrap();
            let first = ceiling.max(row.saturating_sub(99));
            let last = (first + 100).min(mails.len());
            for mail in &mut mails[first..last] {
                mail.1 = now;
            }
            requests += usize::from(now >= start + warm_up);
        }
    }
    requests
}

#[test]
fn background_reads_each_page_about_26_times() {
    // 26 readings of ten pages a day, and some for rows that leave the newest hundred one by one.
    let requests = requests_a_day(1000);
    assert!(
        (200..=400).contains(&requests),
        "{requests} requests a day at a thousand emails a day"
    );
}

#[test]
fn recheck_ends_beside_many_purged_emails() {
    let env = SyncEnv::at_rest(900);
    for mail in env.sim.state().mails.range_mut(300..700) {
        mail.customer = 99;
    }
    env.full_sync();
    env.remove(&PurgeTarget::To(address(99)));
    env.change("bounced", [299, 700, 701, 899]);
    assert!(env.recheck(env.everything()) < 9);
    // Only the page after the purged emails has the row right below them.
    assert_eq!(env.wrong(), ["mail-199"]);
    let ids = vec![env.id_at(700), env.id_at(710)];
    env.run(env.engine.confirm_emails(ids, 9)).unwrap();
    assert_eq!(env.wrong(), Vec::<String>::new());
}

#[test]
fn recheck_ends_although_the_clock_is_set_back() {
    let env = SyncEnv::at_rest(300);
    env.full_sync();
    env.advance(MINUTE);
    let scope = env.everything();
    env.run(env.engine.recheck(scope)).unwrap();
    env.advance(-60 * MINUTE);
    assert_eq!(env.recheck(scope), 2);
}

#[test]
fn due_run_leaves_out_what_is_too_old() {
    let [top, since, bottom] = [30, 20, 10].map(|at| SortKey::from_micros(at).unwrap());
    let run = ConfirmedRun {
        bottom,
        ..changing_run(top, Timestamp::UNIX_EPOCH)
    };
    let scope = RecheckScope::All {
        since: 20,
        before: run.response_seq,
    };
    let due = find_due_runs(&[run], scope, Timestamp::UNIX_EPOCH);
    assert_eq!((due[0].run.top, due[0].run.bottom), (top, since));
}

#[test]
fn lateness_counts_a_future_confirmation_as_none() {
    let now = Timestamp::from_second(1_000_000).unwrap();
    let key_at = |age: i64| SortKey::from_micros((1_000_000 - age) * 1_000_000).unwrap();
    let run = |age: i64, confirmed: i64| {
        let at = now - SignedDuration::from_secs(confirmed);
        lateness(&changing_run(key_at(age), at), key_at(age), now)
    };
    for (age, confirmed, expected) in [(0, 60, 0.5), (4 * DAY, DAY, 1.0), (4 * DAY, 2 * DAY, 2.0)] {
        assert!((run(age, confirmed) - expected).abs() < 0.01);
    }
    assert_eq!(run(4 * DAY, -60).to_bits(), f64::INFINITY.to_bits());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Statuses move on, mail comes, expires and vanishes, requests fail,
    /// the clock jumps: when it is over and the service is well again, reading everything again makes the
    /// archive equal to it.
    #[test]
    fn rechecking_makes_the_archive_equal_to_the_service(
        mails in 120..320_usize,
        deeds in prop::collection::vec((0..9_u8, 0..400_usize), 0..30),
        lenient: bool,
    ) {
        let env = SyncEnv::at_rest(mails);
        env.sim.state().lenient = lenient;
        env.full_sync();
        for (deed, n) in deeds {
            env.advance(i64::try_from(n).unwrap());
            let count = env.sim.state().mails.len();
            // The mailbox may be empty by now.
            let place = n % count.max(1);
            match deed {
                0 | 1 => env.change(["delivered", "bounced", "opened"][n % 3], (place..count).step_by(7)),
                2 => env.sim.state().arrive(n % 130),
                3 => env.sim.state().expire(n % 40),
                4 => drop(env.sim.state().mails.remove(place)),
                5 => env.sim.state().faults.push_back(Some([ServiceFault::Unreachable, ServiceFault::Gone, ServiceFault::Blot][n % 3])),
                6 => env.advance(if n % 2 == 0 { -40 * DAY } else { 10 * DAY }),
                7 => drop(env.run(env.engine.refresh())),
                _ => drop(env.run(env.engine.recheck(RecheckScope::background(env.now())))),
            }
        }
        env.sim.state().faults.clear();
        env.advance(11 * MINUTE);
        env.full_sync();
        // An empty listing is believed at the second request only.
        env.advance(MINUTE);
        env.full_sync();
        env.recheck(env.everything());
        let wrong = env.wrong();
        prop_assert!(wrong.is_empty(), "{wrong:?}");
        // No row claims to be confirmed that is wrong, and all that is not final is confirmed.
        for row in env.rows().iter().filter(|row| row.missing_since.is_none()) {
            prop_assert!(row.confirmed_at.is_some() || row.summary.status.finality(SignedDuration::ZERO) == Finality::Final);
        }
    }
}
