//! Watched emails by messages.

use super::freshness::{confirms, sent, wait};
use crate::app::session::SavedState;
use crate::app::tests::env::{AppHarness, FakeService, NOW, effect, session};
use crate::app::{Effect, Focus, LoopEffect, SessionInfo, StateRecord, WatchRecord};
use crate::config::{NotifyRoute, NotifySequence};
use crate::mail::Status;

const ROUTE: NotifyRoute = NotifyRoute::Desktop {
    sequence: NotifySequence::Osc9,
    tmux: false,
};

/// An app with a terminal that notifies, and these emails watched before.
fn app(service: FakeService, watched: Vec<WatchRecord>) -> AppHarness {
    let info = SessionInfo {
        notify: ROUTE,
        saved: SavedState {
            watched,
            ..SavedState::default()
        },
        ..session()
    };
    AppHarness::settled((120, 40), info, service)
}

fn record(service: &FakeService, index: usize, status: &str) -> WatchRecord {
    WatchRecord {
        id: service.rows[index].summary.id.clone(),
        since: NOW.parse().unwrap(),
        status: status.to_owned(),
    }
}

fn notifications(app: &AppHarness) -> Vec<&str> {
    app.requested(|effect| match effect {
        Effect::Loop(LoopEffect::Notify(route, text)) if *route == ROUTE => Some(text.as_str()),
        _ => None,
    })
}

fn saved(app: &AppHarness) -> Vec<StateRecord> {
    app.requested(effect!(Effect::SaveState(_, records) => records.clone()))
        .concat()
}

fn set_status(app: &mut AppHarness, index: usize, status: Status) {
    app.service.rows[index].summary.status = status;
}

#[test]
fn watched_email_is_reported_until_it_settles() {
    let mut app = app(sent(5, 0), Vec::new());
    app.press("j .").settle();
    let id = app.model.list.selected().unwrap().summary.id.clone();
    app.shows_notice("watching customer3@example.com until its status settles; . stops");
    assert!(app.model.is_watched(&id));
    set_status(&mut app, 1, Status::DeliveryDelayed);
    app.wait_for_refresh();
    assert!(app.model.is_watched(&id), "a delay does not settle it");
    set_status(&mut app, 1, Status::Bounced);
    app.wait_for_refresh();
    let expected = [
        "a watched email: delayed, their server asks to try later; still being tried",
        "a watched email: bounced, their server rejected it",
    ];
    assert_eq!(notifications(&app), expected);
    let last = "customer3@example.com: bounced, their server rejected it";
    assert_eq!(app.notice(), last);
    assert!(!app.model.is_watched(&id));
    let kept = saved(&app);
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
    let mut app = app(sent(5, 0), Vec::new());
    app.press(".").settle().press(".").settle();
    app.shows_notice("not watched any more");
    set_status(&mut app, 0, Status::Bounced);
    app.wait_for_refresh();
    assert_eq!(notifications(&app), [""; 0]);
    app.press("g w");
    app.shows_notice("no email is watched; . watches one");
}

#[test]
fn settled_email_is_not_watched() {
    let mut app = app(FakeService::with_emails(5), Vec::new());
    app.press(".");
    app.shows_notice("nothing to wait for: its status is already delivered");
    assert_eq!(saved(&app), []);
}

#[test]
fn watched_email_outside_view_is_confirmed_with_backoff() {
    let mut service = sent(300, 0);
    for row in &mut service.rows[..200] {
        row.summary.status = Status::Bounced;
    }
    let mut app = app(service, Vec::new());
    app.press("G").settle().press(".").settle();
    app.press("g g").settle();
    wait(&mut app, 29);
    assert_eq!(confirms(&app), [0; 0]);
    wait(&mut app, 2);
    assert_eq!(confirms(&app), [1]);
    for _ in 0..240 {
        wait(&mut app, 30);
    }
    let early = confirms(&app).len();
    assert!((10..40).contains(&early), "{early} in two hours");
    for _ in 0..240 {
        wait(&mut app, 30);
    }
    let late = confirms(&app).len() - early;
    assert!((6..12).contains(&late), "{late} in the next two hours");
}

#[test]
fn watched_email_is_confirmed_after_clock_was_set_back() {
    let mut service = sent(300, 0);
    for row in &mut service.rows[..200] {
        row.summary.status = Status::Bounced;
    }
    service.confirms_nothing = true;
    let mut app = app(service, Vec::new());
    app.press("G").settle().press(". g g").settle();
    wait(&mut app, 31);
    let before = confirms(&app).len();
    app.pass(-3600);
    (0..4).for_each(|_| wait(&mut app, 30));
    assert!(confirms(&app).len() > before);
}

#[test]
fn change_during_absence_is_reported_at_start() {
    let mut service = sent(5, 0);
    let watched = vec![record(&service, 2, "queued"), record(&service, 3, "sent")];
    service.rows[2].summary.status = Status::Delivered;
    let app = app(service, watched);
    assert_eq!(notifications(&app).len(), 1);
    let start = "customer2@example.com: delivered, ";
    assert!(app.notice().starts_with(start));
    let watched = |index: usize| {
        let id = &app.service.rows[index].summary.id;
        app.model.is_watched(id)
    };
    assert_eq!((watched(2), watched(3)), (false, true));
}

#[test]
fn missing_email_is_dropped_with_a_notice() {
    let mut service = sent(5, 0);
    let watched = vec![record(&service, 2, "sent"), record(&service, 3, "sent")];
    service.rows[2].missing_since = Some(NOW.parse().unwrap());
    service.rows.remove(3);
    let app = app(service, watched);
    let reason = "the service no longer has it";
    let report = format!("a watched email: {reason}; and 1 more");
    assert_eq!(notifications(&app), [report]);
    app.shows_notice(&format!(
        "customer2@example.com: {reason}, so not watched any more; and 1 more"
    ));
    assert_eq!(saved(&app).len(), 2);
}

#[test]
fn list_of_watched_emails_opens_and_stops_one() {
    let mut app = app(sent(300, 0), Vec::new());
    app.press("j . G").settle().press(". g g").settle();
    app.press("g w");
    app.shows(&[
        "Watched emails",
        "1  customer298@example.com  sent  Your receipt #298",
        "2  customer0@example.com",
    ]);
    app.press("j Enter").settle();
    assert_eq!((app.selected(), app.model.focus()), (0, Focus::Reader));
    app.press("g [").settle();
    assert_eq!(app.selected(), 299, "the history leads back");
    app.press("g w . .").settle();
    assert_eq!(app.model.focus(), Focus::List, "an empty list closes");
}

#[test]
fn more_than_a_hundred_are_refused() {
    let service = sent(200, 0);
    let watched = (50..150).map(|n| record(&service, n, "sent")).collect();
    let mut app = app(service, watched);
    app.press(".");
    app.shows_notice("100 emails are watched, and more are not possible; gw lists them");
}

#[test]
fn email_watched_while_rows_load_stays_watched() {
    let service = sent(5, 0);
    let watched = vec![record(&service, 3, "sent")];
    let mut app = app(service, watched);
    app.press("r");
    app.answer_until(effect!(Effect::LoadRows(_, _) => ()));
    app.press(".").settle();
    let id = &app.service.rows[0].summary.id;
    assert!(app.model.is_watched(id));
}

/// Watches three emails, of which the first one settles at the next refresh.
fn three_watched() -> AppHarness {
    let mut app = app(sent(5, 0), Vec::new());
    app.press(". j . j .").settle();
    set_status(&mut app, 0, Status::Delivered);
    app
}

#[test]
fn settled_email_leaves_other_lists_open() {
    let mut app = three_watched();
    app.press("S");
    let statistics = app
        .take(|effect| matches!(effect, Effect::LoadStatistics(_, _, _)).then(|| effect.clone()));
    app.wait_for_refresh();
    app.pending.push(statistics);
    app.settle();
    assert_eq!(app.model.focus(), Focus::Choice);
}

#[test]
fn list_of_watched_emails_keeps_its_selection() {
    let mut app = three_watched();
    app.press("g w j");
    let chosen = |app: &AppHarness| {
        let items = app.model.chooser_items();
        items[app.selected_item()].label.clone()
    };
    assert_eq!(chosen(&app), "customer3@example.com");
    app.wait_for_refresh();
    assert_eq!(chosen(&app), "customer3@example.com");
}
