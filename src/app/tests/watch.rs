//! Watched emails by messages.

use super::freshness::{confirms, sent, wait};
use crate::app::session::SavedState;
use crate::app::tests::env::{Mailbox, NOW, World, session};
use crate::app::{Effect, Focus, LoopEffect, SessionInfo, StateRecord, WatchRecord};
use crate::config::{NotifyRoute, NotifySequence};
use crate::mail::Status;
use crate::view::tests::screen;

const ROUTE: NotifyRoute = NotifyRoute::Desktop {
    sequence: NotifySequence::Osc9,
    tmux: false,
};

/// A world with a terminal that notifies, and these emails watched before.
fn world(mailbox: Mailbox, watched: Vec<WatchRecord>) -> World {
    let info = SessionInfo {
        notify: ROUTE,
        saved: SavedState {
            watched,
            ..SavedState::default()
        },
        ..session()
    };
    let mut world = World::start((120, 40), info, mailbox);
    world.settle();
    world
}

fn record(mailbox: &Mailbox, index: usize, status: &str) -> WatchRecord {
    WatchRecord {
        id: mailbox.rows[index].summary.id.clone(),
        since: NOW.parse().unwrap(),
        status: status.to_owned(),
    }
}

fn notifications(world: &World) -> Vec<&str> {
    let texts = world.asked.iter().filter_map(|effect| match effect {
        Effect::Loop(LoopEffect::Notify(route, text)) if *route == ROUTE => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn saved(world: &World) -> Vec<StateRecord> {
    let records = world.asked.iter().filter_map(|effect| match effect {
        Effect::SaveState(_, records) => Some(records.clone()),
        _ => None,
    });
    records.flatten().collect()
}

fn set_status(world: &mut World, index: usize, status: Status) {
    world.mailbox.rows[index].summary.status = status;
}

#[test]
fn watched_email_is_reported_until_it_settles() {
    let mut world = world(sent(5, 0), Vec::new());
    world.press("j .").settle();
    let id = world.model.list.selected().unwrap().summary.id.clone();
    assert_eq!(
        world.model.notice.as_deref(),
        Some("watching customer3@example.com until its status settles; . stops")
    );
    assert!(world.model.is_watched(&id));
    set_status(&mut world, 1, Status::DeliveryDelayed);
    world.wait_for_refresh();
    assert!(world.model.is_watched(&id), "a delay does not settle it");
    set_status(&mut world, 1, Status::Bounced);
    world.wait_for_refresh();
    let last = "customer3@example.com: bounced, their server rejected it";
    assert_eq!(
        notifications(&world),
        [
            "customer3@example.com: delayed, their server asks to try later; still being tried",
            last
        ]
    );
    assert_eq!(world.model.notice.as_deref(), Some(last));
    assert!(!world.model.is_watched(&id));
    let kept = saved(&world);
    let statuses: Vec<&str> = kept
        .iter()
        .filter_map(|record| match record {
            StateRecord::Watched(record) => Some(record.status.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(statuses, ["sent", "delayed"]);
    assert_eq!(kept.last(), Some(&StateRecord::Unwatched { id }));
}

#[test]
fn second_key_stops_watching() {
    let mut world = world(sent(5, 0), Vec::new());
    world.press(".").settle().press(".").settle();
    assert_eq!(world.model.notice.as_deref(), Some("not watched any more"));
    set_status(&mut world, 0, Status::Bounced);
    world.wait_for_refresh();
    assert_eq!(notifications(&world), [""; 0]);
    world.press("g w");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("no email is watched; . watches one")
    );
}

#[test]
fn settled_email_is_not_watched() {
    let mut world = world(Mailbox::of(5), Vec::new());
    world.press(".");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("nothing to wait for: the email is delivered already")
    );
    assert_eq!(saved(&world), []);
}

#[test]
fn watched_email_out_of_view_is_confirmed_ever_more_rarely() {
    let mut mailbox = sent(300, 0);
    for row in &mut mailbox.rows[..200] {
        row.summary.status = Status::Bounced;
    }
    let mut world = world(mailbox, Vec::new());
    world.press("G").settle().press(".").settle();
    world.press("g g").settle();
    wait(&mut world, 29);
    assert_eq!(confirms(&world), [0; 0]);
    wait(&mut world, 2);
    assert_eq!(confirms(&world), [1]);
    for _ in 0..240 {
        wait(&mut world, 30);
    }
    let early = confirms(&world).len();
    assert!((10..40).contains(&early), "{early} in two hours");
    for _ in 0..240 {
        wait(&mut world, 30);
    }
    let late = confirms(&world).len() - early;
    assert!((6..12).contains(&late), "{late} in the next two hours");
}

#[test]
fn change_during_absence_is_reported_at_start() {
    let mut mailbox = sent(5, 0);
    let watched = vec![record(&mailbox, 2, "queued"), record(&mailbox, 3, "sent")];
    mailbox.rows[2].summary.status = Status::Delivered;
    let world = world(mailbox, watched);
    assert_eq!(notifications(&world).len(), 1);
    assert!(notifications(&world)[0].starts_with("customer2@example.com: delivered, "));
    let watched = |index: usize| {
        let id = &world.mailbox.rows[index].summary.id;
        world.model.is_watched(id)
    };
    assert_eq!((watched(2), watched(3)), (false, true));
}

#[test]
fn deleted_email_is_dropped_with_a_notice() {
    let mut mailbox = sent(5, 0);
    let watched = vec![record(&mailbox, 2, "sent"), record(&mailbox, 3, "sent")];
    mailbox.rows[2].missing_since = Some(NOW.parse().unwrap());
    mailbox.rows.remove(3);
    let world = world(mailbox, watched);
    assert_eq!(
        notifications(&world),
        [
            "customer2@example.com: the service no longer has it, so not watched any more; and 1 more"
        ]
    );
    assert_eq!(saved(&world).len(), 2);
}

#[test]
fn list_of_watched_emails_opens_and_stops_one() {
    let mut world = world(sent(300, 0), Vec::new());
    world.press("j . G").settle().press(". g g").settle();
    world.press("g w");
    let shown = screen(&world);
    assert!(
        shown.contains("Watched emails")
            && shown.contains("1  customer298@example.com  sent  Your receipt #298")
            && shown.contains("2  customer0@example.com"),
        "{shown}"
    );
    world.press("j Enter").settle();
    assert_eq!((world.selected(), world.model.focus()), (0, Focus::Reader));
    world.press("g [").settle();
    assert_eq!(world.selected(), 299, "the history leads back");
    world.press("g w . .").settle();
    assert_eq!(world.model.focus(), Focus::List, "an empty list closes");
}

#[test]
fn more_than_a_hundred_are_refused() {
    let mailbox = sent(200, 0);
    let watched = (50..150).map(|n| record(&mailbox, n, "sent")).collect();
    let mut world = world(mailbox, watched);
    world.press(".");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("100 emails are watched, and more are not possible; gw lists them")
    );
}

#[test]
fn email_watched_while_rows_load_stays_watched() {
    let mailbox = sent(5, 0);
    let watched = vec![record(&mailbox, 3, "sent")];
    let mut world = world(mailbox, watched);
    let is_load = |effect: &Effect| matches!(effect, Effect::LoadRows { .. });
    world.press("r");
    while !world.pending.iter().any(is_load) {
        world.answer(0);
    }
    world.press(".").settle();
    let id = &world.mailbox.rows[0].summary.id;
    assert!(world.model.is_watched(id));
}

/// Watches three emails, of which the first one settles at the next refresh.
fn three_watched() -> World {
    let mut world = world(sent(5, 0), Vec::new());
    world.press(". j . j .").settle();
    set_status(&mut world, 0, Status::Delivered);
    world
}

#[test]
fn settled_email_leaves_other_lists_open() {
    let mut world = three_watched();
    world.press("S");
    let is_statistics = |effect: &Effect| matches!(effect, Effect::LoadStatistics { .. });
    let n = world.pending.iter().position(is_statistics).unwrap();
    let statistics = world.pending.remove(n);
    world.wait_for_refresh();
    world.pending.push(statistics);
    world.settle();
    assert_eq!(world.model.focus(), Focus::Choice);
}

#[test]
fn list_of_watched_emails_keeps_its_selection() {
    let mut world = three_watched();
    world.press("g w j");
    let chosen = |world: &World| {
        let chooser = world.model.chooser.unwrap();
        let items = world.model.chooser_items(chooser);
        items[chooser.selected].label.clone()
    };
    assert_eq!(chosen(&world), "customer3@example.com");
    world.wait_for_refresh();
    assert_eq!(chosen(&world), "customer3@example.com");
}
