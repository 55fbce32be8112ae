//! Mail that leaves: the service stops listing it, or somebody removes it from the archive.

use proptest::prelude::*;

use super::SyncEnv;
use super::sim::{Dates, address};
use crate::archive::{Coverage, EmailRow, PurgeTarget, WindowAnchor};
use crate::error::ErrorKind;
use crate::mail::EmailId;
use crate::sync::SyncDepth;

impl SyncEnv {
    fn rows(&self) -> Vec<EmailRow> {
        self.engine
            .archive()
            .window(&WindowAnchor::Newest, usize::MAX)
            .unwrap()
            .rows
    }

    fn gone(&self) -> Vec<String> {
        self.rows()
            .iter()
            .filter(|row| row.missing.is_some())
            .map(|row| row.summary.id.as_str().to_owned())
            .collect()
    }

    /// Removes mail from the archive, and remembers what is not to come back.
    fn remove(&self, removal: &PurgeTarget) -> u64 {
        let before = self.ids();
        let (count, _) = self.engine.archive().purge(removal).unwrap();
        let after = self.ids();
        self.removed
            .borrow_mut()
            .extend(before.iter().filter(|id| !after.contains(id)).cloned());
        count
    }
}

#[test]
fn mail_that_aged_out_stays_and_is_marked() {
    let world = SyncEnv::new(Dates::Distinct, 450);
    world.full_sync();
    assert_eq!(world.gone(), Vec::<String>::new());
    world.sim.state().expire(170);
    world.full_sync();
    let expected: Vec<String> = (0..170)
        .rev()
        .map(|number| format!("mail-{number}"))
        .collect();
    assert_eq!(world.gone(), expected);
    assert_eq!(world.ids().len(), 450);
    world.check_spans().unwrap();
}

#[test]
fn email_absent_from_its_page_is_missing() {
    let world = SyncEnv::new(Dates::Ties, 150);
    world.full_sync();
    let taken = world.sim.state().mails.remove(40).unwrap();
    world.refresh();
    assert_eq!(world.gone(), std::slice::from_ref(&taken.id));
    world.sim.state().mails.insert(40, taken);
    world.refresh();
    assert_eq!(world.gone(), Vec::<String>::new());
    // The newest, and the one right below a page.
    world.sim.state().mails.pop_front();
    world.sim.state().mails.remove(100);
    world.full_sync();
    assert_eq!(
        world.gone(),
        ["mail-149"],
        "a page that ends above it says nothing about it"
    );
    world.check_spans().unwrap();
}

#[test]
fn missing_email_is_confirmed_by_its_page() {
    let world = SyncEnv::new(Dates::Distinct, 20);
    world.full_sync();
    world.sim.state().mails.remove(7);
    let failure = world
        .runtime
        .block_on(world.engine.fetch_email(&EmailId::new("mail-12")))
        .unwrap_err();
    assert_eq!(
        (failure.kind, world.gone()),
        (ErrorKind::NotFound, Vec::new()),
        "one answer against another is a doubt"
    );
    world.full_sync();
    assert_eq!(world.gone(), ["mail-12"]);
}

#[test]
fn temporarily_missing_email_returns() {
    let world = SyncEnv::new(Dates::Distinct, 450);
    world.full_sync();
    world.sim.state().forgetful = true;
    let denied: Vec<String> = (0..430)
        .rev()
        .step_by(2)
        .map(|number| format!("mail-{number}"))
        .collect();
    for id in &denied {
        world
            .runtime
            .block_on(world.engine.fetch_email(&EmailId::new(id)))
            .unwrap_err();
    }
    assert_eq!(world.gone(), Vec::<String>::new());
    assert!(
        world
            .engine
            .archive()
            .first_unconfirmed_deletion()
            .unwrap()
            .is_some()
    );
    world.check_spans().unwrap();
    world.sim.state().forgetful = false;
    let really: Vec<usize> = vec![300, 320];
    for at in &really {
        world.sim.state().mails.remove(*at);
    }
    let (requests, _) = world.count_requests(SyncEnv::full_sync);
    assert!(requests <= 2 + 4, "{requests} requests");
    assert_eq!(world.gone(), ["mail-149", "mail-128"]);
    let (requests, synced) = world.count_requests(SyncEnv::full_sync);
    assert_eq!(
        (requests, synced.coverage == Coverage::Complete),
        (2, true),
        "what is settled is not asked again"
    );
    world.check_spans().unwrap();
}

#[test]
fn purged_customer_does_not_return() {
    // The newest two pages, then one in the middle, then the end, went to one address.
    let world = SyncEnv::new(Dates::Distinct, 0);
    for (customer, mails) in [(1, 130), (2, 90), (1, 250), (2, 90), (1, 230)] {
        world.sim.state().customer = Some(customer);
        world.sim.state().arrive(mails);
    }
    world.full_sync();
    assert_eq!(
        world.remove(&PurgeTarget::To(address(1).to_uppercase())),
        610
    );
    assert_eq!(world.ids().len(), 180);
    let synced = world.full_sync();
    assert_eq!((synced.new, world.ids().len()), (0, 180));
    assert!(synced.coverage == Coverage::Complete, "{synced:?}");
    world.check_spans().unwrap();
    world.sim.state().arrive(3);
    assert_eq!(
        world.refresh().new,
        3,
        "new mail to the same address is new mail"
    );
}

#[test]
fn emails_older_than_retention_are_skipped() {
    let mut world = SyncEnv::new(Dates::Distinct, 900);
    world.full_sync();
    let at = |row: usize| world.rows()[row].summary.created.parsed.unwrap();
    // The clock of this test stands far behind all mail.
    let now = crate::sync::tests::sim::ticking()();
    let keep = now.duration_since(at(299));
    let edge = at(299);
    let archive = world
        .engine
        .archive()
        .clone()
        .with_retention(Some(keep), now)
        .unwrap();
    assert_eq!(world.ids().len(), 300);
    world.engine =
        crate::sync::Engine::new(world.sim.clone(), archive, std::sync::Arc::new(move || now));
    let (requests, synced) = world.count_requests(|world| {
        world
            .runtime
            .block_on(world.engine.full_sync(SyncDepth::All, |_| ()))
            .unwrap()
    });
    assert_eq!((synced.new, world.ids().len()), (0, 300));
    assert!(
        requests < 5,
        "{requests} requests to see that the rest is too old"
    );
    assert!(
        matches!(synced.coverage, crate::archive::Coverage::Since(stamp) if stamp.parsed == Some(edge))
    );
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Head,
    Extend,
    All,
    Arrive(usize),
    Expire(usize),
    Delete(usize),
    Remove(i64),
    RemoveOlder(usize),
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn missing_and_purged_emails_stay_out(
        dates in prop::sample::select(vec![Dates::Distinct, Dates::Ties, Dates::Missing]),
        mails in prop_oneof![0..5_usize, 50..320_usize],
        cap in prop::sample::select(vec![100, 20, 7]),
        deeds in prop::collection::vec(prop_oneof![
            3 => Just(Action::Head), 2 => Just(Action::Extend), 1 => Just(Action::All),
            2 => (0..130_usize).prop_map(Action::Arrive), 1 => (0..60_usize).prop_map(Action::Expire),
            2 => (0..200_usize).prop_map(Action::Delete), 1 => (0..5_i64).prop_map(Action::Remove),
            1 => (0..200_usize).prop_map(Action::RemoveOlder),
        ], 0..20),
    ) {
        let world = SyncEnv::new(dates, mails);
        world.sim.state().cap = cap;
        for deed in deeds {
            match deed {
                Action::Head => drop(world.runtime.block_on(world.engine.refresh())),
                Action::Extend => drop(world.runtime.block_on(world.engine.load_older())),
                Action::All => drop(world.runtime.block_on(world.engine.full_sync(SyncDepth::All, |_| ()))),
                Action::Arrive(count) => world.sim.state().arrive(count),
                Action::Expire(count) => world.sim.state().expire(count),
                Action::Delete(at) => drop(world.sim.state().mails.remove(at)),
                Action::Remove(customer) => drop(world.remove(&PurgeTarget::To(address(customer)))),
                Action::RemoveOlder(row) => {
                    let time = world.rows().get(row).and_then(|row| row.summary.created.parsed);
                    if let Some(time) = time {
                        world.remove(&PurgeTarget::Before(time));
                        world.horizon.set(world.horizon.get().max(Some(time)));
                    }
                }
            }
            world.check_spans()?;
            let listed = world.sim.state().ids();
            let wrong: Vec<String> = world.gone().into_iter().filter(|id| listed.contains(id)).collect();
            prop_assert!(wrong.is_empty(), "{wrong:?} are listed, but marked as gone");
            let back: Vec<String> = world.ids().into_iter().filter(|id| world.removed.borrow().contains(id)).collect();
            prop_assert!(back.is_empty(), "{back:?} came back");
        }
        world.full_sync();
        world.check_spans()?;
        world.check_whole()?;
    }
}
