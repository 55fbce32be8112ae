//! Statuses of named emails and of the candidates of a query are confirmed.

use jiff::Timestamp;

use super::super::sim::address;
use super::{MINUTE, SyncEnv, query};
use crate::archive::{EmailRow, SortKey};
use crate::mail::{EmailId, FINAL_AFTER, Status};
use crate::sync::ConfirmScope;
use crate::sync::confirm::ConfirmReport;

impl SyncEnv {
    /// With 900 emails that have bounced since the last sync.
    fn all_bounced() -> Self {
        let env = Self::at_rest(900);
        env.full_sync();
        env.advance(MINUTE);
        env.change("bounced", 0..900);
        env
    }

    fn check(
        &self,
        text: &str,
        below: Option<SortKey>,
        since: Timestamp,
        most: u32,
    ) -> ConfirmReport {
        let scope = ConfirmScope {
            fresh_since: since,
            any_age: false,
        };
        let candidates = query(text);
        self.run((self.engine).confirm_candidates(candidates, below, scope, most))
            .unwrap()
    }
}

#[test]
fn confirming_takes_pages_or_ids_whichever_is_fewer() {
    let env = SyncEnv::all_bounced();
    let confirm = |places: &[usize], most| {
        let ids = places.iter().map(|at| env.id_at(*at)).collect();
        env.run(env.engine.confirm_emails(ids, most)).unwrap()
    };
    let visible: Vec<usize> = (300..345).collect();
    assert_eq!(confirm(&visible, 9).requests, 1, "one page holds them all");
    assert_eq!(
        confirm(&[10, 20, 500, 520, 800], 9).requests,
        3,
        "two pages and an email"
    );
    let scattered = confirm(&[5, 205, 405, 605, 805], 2);
    assert_eq!(scattered.requests, 2);
    assert_eq!(scattered.confirmed_rows, 2);
    assert!(!scattered.is_done);
    let rows = env.rows();
    let bounced = |at: usize| rows[at].summary.status == Status::Bounced;
    assert!(visible.iter().all(|at| bounced(*at)) && bounced(800) && bounced(5) && !bounced(850));
}

/// The service has deleted the emails above a page, by which the page is requested.
#[test]
fn emails_below_deleted_ones_are_still_confirmed() {
    for deleted in [3, 20] {
        let env = SyncEnv::all_bounced();
        let ids: Vec<EmailId> = (300..345).map(|at| env.id_at(at)).collect();
        env.sim.state().mails.drain(300 - deleted..300);
        let report = env.engine.confirm_emails(ids.clone(), 100);
        let report = env.run(report).unwrap();
        assert!(report.is_done && report.confirmed_rows == 45);
        let is_bounced = |row: &EmailRow| row.summary.status == Status::Bounced;
        let found = env.ids_where(|row| ids.contains(&row.summary.id) && is_bounced(row));
        assert_eq!(found.len(), 45);
        assert_eq!(report.requests, if deleted == 3 { 5 } else { 53 });
    }
}

/// The page that confirms them also lists emails that the archive does not have yet.
#[test]
fn older_emails_on_a_confirming_page_are_counted_apart() {
    let env = SyncEnv::at_rest(300);
    env.refresh();
    env.advance(MINUTE);
    let ids = (60..100).map(|at| env.id_at(at)).collect();
    let report = env.run(env.engine.confirm_emails(ids, 9)).unwrap();
    let counted = report.sync_report;
    assert!(counted.new > 0);
    assert_eq!(counted.older, counted.new);
}

#[test]
fn an_email_named_twice_is_confirmed_once() {
    let env = SyncEnv::at_rest(300);
    env.full_sync();
    env.advance(MINUTE);
    let id = env.id_at(150);
    let pages = env.sim.state().requests.len();
    let twice = env.engine.confirm_emails(vec![id.clone(), id], 9);
    let report = env.run(twice).unwrap();
    assert_eq!((report.requests, report.confirmed_rows), (1, 1));
    assert_eq!(env.sim.state().requests.len(), pages);
}

#[test]
fn status_query_candidates_are_confirmed_newest_first() {
    let env = SyncEnv::at_rest(900);
    env.full_sync();
    env.advance(MINUTE);
    env.change("bounced", (0..900).step_by(2));
    let since = env.now();
    let first = env.check("", None, since, 3);
    assert_eq!(first.requests, 2);
    assert_eq!(first.confirmed_rows, 200);
    assert!(!first.is_done);
    let (mut below, mut requests) = (first.confirmed_down_to, first.requests);
    loop {
        let next = env.check("", below, since, 50);
        requests += next.requests;
        if next.is_done {
            break;
        }
        below = next.confirmed_down_to;
    }
    assert!(requests <= 12, "{requests}");
    assert_eq!(env.wrong(), Vec::<String>::new());
    let again = env.check("", None, since, 50);
    assert_eq!(
        (again.requests, again.confirmed_rows),
        (0, 0),
        "what was confirmed since then needs no request"
    );
}

#[test]
fn old_delivered_emails_are_named_or_confirmed() {
    let env = SyncEnv::at_rest(3);
    env.change("delivered", 0..3);
    env.full_sync();
    env.advance(FINAL_AFTER.as_secs() + MINUTE);
    env.change("bounced", [1]);
    let check = |any_age| {
        let scope = ConfirmScope {
            fresh_since: env.now(),
            any_age,
        };
        let check = env.engine.confirm_candidates(query(""), None, scope, 9);
        let report = env.run(check).unwrap();
        (report.requests, report.is_done, report.leaves_out_old)
    };
    assert_eq!(check(false), (0, true, true));
    assert_eq!(check(true), (1, true, false));
    assert_eq!(env.wrong(), Vec::<String>::new());
}

#[test]
fn old_emails_on_a_confirmed_page_are_not_named() {
    let env = SyncEnv::at_rest(5);
    env.change("delivered", 1..4);
    env.change("sent", [0, 4]);
    env.full_sync();
    env.advance(FINAL_AFTER.as_secs() + MINUTE);
    env.change("bounced", [1]);
    let report = env.check("", None, env.now(), 9);
    assert_eq!((report.requests, report.is_done), (1, true));
    assert!(!report.leaves_out_old);
    assert_eq!(env.wrong(), Vec::<String>::new());
}

#[test]
fn only_candidates_of_the_other_terms_are_confirmed() {
    let env = SyncEnv::all_bounced();
    let to_one = format!("to:{}", address(3));
    let checked = env.check(&to_one, None, env.now(), 100);
    assert!(
        checked.is_done && checked.confirmed_rows == 180 && checked.requests <= 10,
        "{checked:?}"
    );
    let rows = env.rows();
    assert!(
        rows.iter()
            .filter(|row| row.summary.to[0].email.contains("customer3"))
            .all(|row| row.summary.status == Status::Bounced)
    );
}
