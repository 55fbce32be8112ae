//! Statuses that a mirror serves, of known and unknown age.

use jiff::SignedDuration;

use super::{MINUTE, SyncEnv};
use crate::mail::EmailId;
use crate::sync::RecheckScope;

#[test]
fn statuses_from_mirror_have_its_confirmation_time() {
    let env = SyncEnv::at_rest(30);
    let mirrored_at = env.now() - SignedDuration::from_mins(7);
    env.sim.state().mirrored_at = Some(mirrored_at);
    env.full_sync();
    let confirmed_at = || env.rows()[0].confirmed_at;
    assert_eq!(confirmed_at(), Some(mirrored_at));
    let id = EmailId::new("mail-29");
    let read = || env.run(env.engine.fetch_email(&id)).unwrap();
    let later = mirrored_at + SignedDuration::from_mins(2);
    env.sim.state().mirrored_at = Some(later);
    read();
    assert_eq!(confirmed_at(), Some(later));
    // The clock of the mirror may be ahead of ours.
    env.sim.state().mirrored_at = Some(env.now() + SignedDuration::from_mins(1));
    read();
    assert_eq!(confirmed_at(), Some(env.now()));
}

#[test]
fn mirror_listing_time_is_separate_from_status_time() {
    let env = SyncEnv::at_rest(30);
    let head_at = || env.archive().head_at().unwrap();
    let mirrored_at = env.now() - SignedDuration::from_mins(7);
    env.sim.state().mirrored_at = Some(mirrored_at);
    env.full_sync();
    assert_eq!(head_at(), Some(mirrored_at), "an older mirror");
    let listed_at = mirrored_at + SignedDuration::from_mins(6);
    env.sim.state().mirror_listed_at = Some(listed_at);
    env.full_sync();
    assert_eq!(head_at(), Some(listed_at));
    assert_eq!(env.rows()[0].confirmed_at, Some(mirrored_at));
}

#[test]
fn status_of_unknown_age_is_not_confirmed() {
    let env = SyncEnv::at_rest(30);
    env.sim.state().is_mirror = true;
    env.full_sync();
    let id = EmailId::new("mail-29");
    env.run(env.engine.fetch_email(&id)).unwrap();
    assert!(env.rows().iter().all(|row| row.confirmed_at.is_none()));
    assert_eq!(env.archive().head_at().unwrap(), Some(env.now()));
    env.sim.state().mirrored_at = Some(env.now());
    env.full_sync();
    assert!(env.rows().iter().all(|row| row.confirmed_at.is_some()));
}

#[test]
fn confirmation_by_a_mirror_reports_its_time() {
    let env = SyncEnv::at_rest(30);
    env.full_sync();
    env.advance(10 * MINUTE);
    let confirm = || {
        let ids = env.rows().into_iter().map(|row| row.summary.id).collect();
        env.run(env.engine.confirm_emails(ids, 9)).unwrap()
    };
    let mirrored_at = env.now() - SignedDuration::from_mins(7);
    env.sim.state().mirrored_at = Some(mirrored_at);
    assert_eq!(confirm().oldest_confirmation, Some(mirrored_at));
    env.sim.state().mirrored_at = Some(env.now());
    assert_eq!(confirm().oldest_confirmation, Some(env.now()));
}

#[test]
fn due_page_that_a_mirror_cannot_confirm_waits() {
    let env = SyncEnv::at_rest(300);
    env.full_sync();
    for mirrored_at in [None, Some(env.now())] {
        env.sim.state().is_mirror = true;
        env.sim.state().mirrored_at = mirrored_at;
        env.advance(30 * MINUTE);
        for scope in [RecheckScope::background(env.now()), env.everything()] {
            assert!(env.recheck(scope) < 10);
        }
    }
    env.advance(11 * MINUTE);
    env.sim.state().mirrored_at = Some(env.now());
    assert!(env.recheck(env.everything()) > 0, "it is tried again");
}
