//! Confirmation of visible statuses by messages.

use crate::app::{ClickTarget, Command, Effect, Liveness, Message, MouseInput, TimerKind};
use crate::error::{Error, ErrorKind};
use crate::mail::Status;
use crate::sync::SyncReport;
use jiff::{SignedDuration, Timestamp};
use ratatui::layout::Position;

use crate::app::tests::env::{AppHarness, FakeService, confirm_report, effect, now, sync_report};
use crate::view::tests::screen;

/// A service with emails that are `sent`, confirmed so many seconds ago.
pub fn sent(count: i64, confirmed: i64) -> FakeService {
    let mut service = FakeService::with_emails(count);
    for row in &mut service.rows {
        row.summary.status = Status::Sent;
        row.confirmed_at = Some(ago(confirmed));
        row.has_body = true;
    }
    service
}

fn ago(seconds: i64) -> Timestamp {
    now().timestamp() - SignedDuration::from_secs(seconds)
}

/// The emails of each `Confirm` so far.
pub fn confirms(app: &AppHarness) -> Vec<usize> {
    app.requested(effect!(Effect::ConfirmStatuses { ids, .. } => ids.len()))
}

/// Lets time pass: the timer of what is looked at ends, and a refresh answers.
pub fn wait(app: &mut AppHarness, seconds: i64) {
    app.pass(seconds);
    app.fire(TimerKind::Freshness);
    app.settle();
}

#[test]
fn visible_unsettled_rows_are_confirmed_after_a_rest() {
    let mut app = AppHarness::at_rest(160, 40, sent(300, 31));
    assert_eq!(confirms(&app), [0; 0], "not before a rest");
    wait(&mut app, 1);
    assert_eq!(confirms(&app), [app.visible().len()]);
    wait(&mut app, 1);
    assert_eq!(confirms(&app).len(), 1, "it is not due again");
}

#[test]
fn visible_rows_are_confirmed_ever_less_often() {
    let mut app = AppHarness::at_rest(160, 40, sent(300, 31));
    let mut at = Vec::new();
    for second in (10..=1000).step_by(10) {
        let before = confirms(&app).len();
        // A user is there, and moves nothing.
        app.press("t");
        wait(&mut app, 10);
        at.extend((confirms(&app).len() > before).then_some(second));
    }
    assert_eq!(at, [10, 70, 190, 430, 910], "after 1, 2, 4, 8 minutes");
}

#[test]
fn clock_set_back_neither_repeats_nor_ends_confirmations() {
    for keys in ["r", "t"] {
        let mut app = AppHarness::at_rest(160, 40, sent(300, 31));
        app.press(keys).settle();
        wait(&mut app, 1);
        app.pass(-3600);
        let before = confirms(&app).len();
        for _ in 0..30 {
            app.press("t");
            wait(&mut app, 10);
        }
        let count = confirms(&app).len() - before;
        assert!((2..=4).contains(&count), "{keys}: {count} in 5 minutes");
    }
}

#[test]
fn unconfirmed_mirror_rows_are_requested_with_backoff() {
    for confirmed_at in [Some(ago(31)), None] {
        let mut app = AppHarness::at_rest(160, 40, sent(300, 31));
        app.service.confirms_nothing = true;
        for row in &mut app.service.rows {
            row.confirmed_at = confirmed_at;
        }
        let mut at = Vec::new();
        for second in (10..=1000).step_by(10) {
            let before = confirms(&app).len();
            app.press("t");
            wait(&mut app, 10);
            at.extend((before..confirms(&app).len()).map(|_| second));
        }
        assert_eq!(at, [10, 70, 190, 430, 910], "after 1, 2, 4, 8 minutes");
        // A user's refresh is not put off.
        let before = confirms(&app).len();
        app.press("r").settle();
        wait(&mut app, 1);
        assert_eq!(confirms(&app).len(), before + 1);
    }
}

#[test]
fn refresh_confirms_the_rows_of_the_newest_page() {
    let mut app = AppHarness::at_rest(160, 40, sent(300, 10));
    app.service.confirmed_by_refresh = 100;
    for _ in 0..10 {
        app.press("t");
        wait(&mut app, 35);
        app.wait_for_refresh();
        assert_eq!(app.model.liveness(), Liveness::Live);
    }
    assert_eq!(confirms(&app).len(), 1, "within 30 seconds");
    let loads = app.window_loads();
    // Below the newest page a refresh confirms nothing that is on the screen.
    app.press("G").settle();
    wait(&mut app, 10);
    assert!(confirms(&app).len() > 1);
    assert!(app.window_loads() > loads);
}

#[test]
fn older_mail_of_a_confirmation_is_not_new() {
    let mut app = AppHarness::at_rest(160, 40, sent(50, 300));
    for (older, unseen) in [(59, 0), (57, 2)] {
        let request = app.model.freshness.confirm_request.start();
        let report = SyncReport {
            older,
            ..sync_report(59)
        };
        let result = Ok(confirm_report(report));
        app.press("G")
            .happen(Message::StatusesConfirmed(request, result));
        assert_eq!(app.model.list.unseen_above, unseen);
        assert!(app.is_pending(effect!(Effect::CountEmails { .. })));
        app.settle();
    }
}

#[test]
fn confirmation_with_newest_page_postpones_refresh() {
    let mut app = AppHarness::at_rest(160, 40, sent(10, 10));
    let timers = |app: &AppHarness| app.count(effect!(Effect::Timer(_, TimerKind::Refresh, _)));
    let before = timers(&app);
    for (seconds, expected) in [(-5, before), (5, before + 1)] {
        let request = app.model.freshness.confirm_request.start();
        let mut report = sync_report(0);
        report.refreshed_at = Some(ago(-seconds));
        let result = Ok(confirm_report(report));
        app.happen(Message::StatusesConfirmed(request, result));
        assert_eq!(timers(&app), expected);
    }
}

#[test]
fn refresh_by_old_list_names_its_time() {
    let mut app = AppHarness::at_rest(160, 40, sent(10, 10));
    app.press("r");
    let request = app.model.service.refresh_request.start();
    let mut report = sync_report(0);
    report.refreshed_at = Some(ago(61));
    app.happen(Message::Refreshed(request, Ok(report)));
    app.shows_notice("nothing new as of 09:40; a mirror or a cache answered, not the service");
}

#[test]
fn refresh_does_not_reload_final_rows() {
    let mut service = sent(100, 3600);
    for row in &mut service.rows {
        row.summary.status = Status::Bounced;
    }
    let mut app = AppHarness::at_rest(160, 40, service);
    let loads = app.window_loads();
    app.wait_for_refresh();
    assert_eq!(app.window_loads(), loads);
}

#[test]
fn statuses_are_rechecked_while_some_are_due() {
    let mut app = AppHarness::at_rest(160, 40, sent(10, 10));
    let rechecks = |app: &AppHarness| app.count(effect!(Effect::RecheckStatuses(_)));
    let refresh = |app: &mut AppHarness, needs_recheck| {
        let request = app.model.service.refresh_request.start();
        let report = SyncReport {
            needs_recheck,
            ..sync_report(0)
        };
        app.happen(Message::Refreshed(request, Ok(report)));
    };
    refresh(&mut app, false);
    assert_eq!(rechecks(&app), 0);
    refresh(&mut app, true);
    assert_eq!(rechecks(&app), 1);
    for (needs_recheck, expected) in [(true, 2), (false, 2)] {
        let request = app.answer_until(effect!(Effect::RecheckStatuses(request) => *request));
        let report = SyncReport {
            needs_recheck,
            ..sync_report(0)
        };
        app.happen(Message::StatusesRechecked(request, Ok(Some(report))));
        assert_eq!(rechecks(&app), expected);
    }
}

#[test]
fn final_and_settled_rows_cost_no_request() {
    let mut service = sent(100, 3600);
    for (n, row) in service.rows.iter_mut().enumerate() {
        row.summary.status = [
            Status::Bounced,
            Status::Delivered,
            Status::Complained,
            Status::Canceled,
        ][n % 4]
            .clone();
        row.confirmed_at = Some(ago(300));
    }
    let mut app = AppHarness::at_rest(160, 40, service);
    wait(&mut app, 5);
    assert_eq!(confirms(&app), Vec::<usize>::new());
}

#[test]
fn nothing_is_confirmed_without_a_key_press() {
    let mut app = AppHarness::at_rest(160, 40, sent(300, 31));
    wait(&mut app, 16 * 60);
    assert_eq!(confirms(&app), Vec::<usize>::new());
    app.press("j").settle();
    assert!(!confirms(&app).is_empty());
}

#[test]
fn use_of_the_mouse_counts_as_activity() {
    let wheel = MouseInput::Scrolled {
        at: Position::new(3, 4),
        down: true,
    };
    for used in [
        Message::Mouse(wheel),
        Message::Clicked(ClickTarget::Command(Command::FullTimes), None),
    ] {
        let mut app = AppHarness::at_rest(160, 40, sent(300, 31));
        wait(&mut app, 16 * 60);
        assert_eq!(confirms(&app), Vec::<usize>::new());
        app.happen(used);
        wait(&mut app, 1);
        assert!(!confirms(&app).is_empty());
    }
}

#[test]
fn confirmations_are_limited_to_twenty_a_minute() {
    let mut app = AppHarness::at_rest(160, 40, sent(3000, 31));
    let mut requests = 0;
    for _ in 0..58 {
        app.press("PgDn").settle();
        wait(&mut app, 1);
        let is_pending = app.is_pending(effect!(Effect::ConfirmStatuses { .. }));
        assert!(!is_pending, "each is answered");
        requests = confirms(&app).len();
    }
    assert!((10..=20).contains(&requests), "{requests} a minute");
}

#[test]
fn opening_an_email_confirms_it_at_once() {
    let mut app = AppHarness::at_rest(160, 40, sent(50, 20));
    app.press("Enter");
    assert_eq!(confirms(&app), [1]);
    let of_service = |effect: &&Effect| matches!(effect, Effect::ConfirmStatuses { max_requests: 1, priority, .. } if !priority.is_background());
    assert_eq!(app.effects.iter().filter(of_service).count(), 1);
}

#[test]
fn selected_email_is_confirmed_after_two_seconds() {
    let mut service = sent(50, 31);
    for row in &mut service.rows {
        row.summary.status = Status::Delivered;
    }
    let mut app = AppHarness::at_rest(160, 40, service);
    wait(&mut app, 1);
    assert_eq!(confirms(&app), Vec::<usize>::new());
    wait(&mut app, 2);
    assert_eq!(confirms(&app), [1]);
}

#[test]
fn unconfirmed_rows_show_as_of_time() {
    for (width, expected) in [
        (160, "as of 09:37"),
        (80, "as of 09:37"),
        (40, "as of 09:37"),
    ] {
        let mut service = sent(50, 300);
        service.rows[1].confirmed_at = None;
        service.rows[2].summary.status = Status::Bounced;
        let app = AppHarness::at_rest(width, 24, service);
        let text = screen(&app);
        app.shows(&[expected, "unconfirmed"]);
        let bounced = text.lines().find(|line| line.contains("bounced")).unwrap();
        assert!(!bounced.contains("as of"), "it is final: {bounced}");
    }
}

#[test]
fn title_is_live_only_while_it_is_true() {
    let mut app = AppHarness::at_rest(160, 40, sent(50, 10));
    assert_eq!(app.model.liveness(), Liveness::Live);
    app.title_ends(" live");
    let mut old = AppHarness::at_rest(160, 40, sent(50, 300));
    let liveness = old.model.liveness();
    let is_old = matches!(liveness, Liveness::RowsAsOf(30.., Some(at)) if at == ago(300));
    assert!(is_old, "{liveness:?}");
    old.shows(&["statuses as of 09:37"]);
    wait(&mut old, 1);
    let expected = Liveness::Live;
    assert_eq!(old.model.liveness(), expected, "once they are confirmed");
    // The newest page is not answered any more.
    app.pass(61);
    assert_eq!(app.model.liveness(), Liveness::ListAsOf(now().timestamp()));
}

#[test]
fn timer_wakes_the_screen_when_live_ends() {
    let app = AppHarness::at_rest(160, 40, sent(50, 10));
    let pause = app.find(effect!(Effect::Timer(_, TimerKind::Freshness, pause) => *pause));
    assert!(pause.as_secs() <= 60, "{pause:?}");
}

#[test]
fn card_denies_only_what_it_has_checked() {
    let mut service = sent(50, 300);
    for row in &mut service.rows[..6] {
        row.summary.to = row_to("ana@example.com");
    }
    let mut app = AppHarness::at_rest(160, 40, service);
    app.press("c").answer_archive();
    app.shows(&["no problem known; none of 6 checked"]);
    app.settle();
    app.shows(&["nothing bounced, no complaints as of 09:42 (6 of 6 checked)"]);
}

#[test]
fn card_says_when_missing_mail_was_last_checked() {
    let mut service = sent(50, 300);
    for row in &mut service.rows[..5] {
        row.summary.to = row_to("ana@example.com");
    }
    let gone = Some(now().timestamp());
    for row in &mut service.rows[3..5] {
        row.missing_since = gone;
    }
    let card = |service: &FakeService, columns| {
        let mut app = AppHarness::at_rest(columns, 40, service.clone());
        app.press("c").settle();
        app
    };
    card(&service, 119).shows(&[
        "nothing bounced, no complaints as of 09:42 (3 of 5 checked); 2 no longer at the service, their statuses as of 09:37",
    ]);
    card(&service, 80)
        .shows(&["no problem as of 09:42 (3 of 5 checked); 2 gone, their statuses as of 09:37"]);
    card(&service, 40).shows(&["2 gone, their statuses as of 09:37"]);
    service.rows[4].confirmed_at = None;
    card(&service, 119).shows(&["2 no longer at the service, 1 of them never checked"]);
    for row in &mut service.rows[..3] {
        row.missing_since = gone;
    }
    service.rows[4].confirmed_at = service.rows[3].confirmed_at;
    card(&service, 119)
        .shows(&["no problem known in 5; 5 no longer at the service, their statuses as of 09:37"]);
}

fn row_to(address: &str) -> Vec<crate::mail::Address> {
    vec![crate::mail::Address::parse(address)]
}

#[test]
fn failed_confirmation_ends_live_and_is_tried_again() {
    let mut app = AppHarness::at_rest(160, 40, sent(50, 31));
    app.pass(1);
    app.fire(TimerKind::Freshness);
    let request = app.take(effect!(Effect::ConfirmStatuses { request, .. } => *request));
    let error = Error::new(ErrorKind::Unreachable, "no route");
    app.happen(Message::StatusesConfirmed(request, Err(error)));
    app.shows(&["offline"]);
    app.wait_for_refresh();
    wait(&mut app, 1);
    assert_eq!(confirms(&app).len(), 2);
}

#[test]
fn change_shows_in_row_and_header_together() {
    let mut app = AppHarness::at_rest(160, 40, sent(50, 31));
    app.press("Enter").settle();
    let id = app.model.list.selected().unwrap().summary.id.clone();
    app.service.rows[0].summary.status = Status::Bounced;
    let report = SyncReport {
        changed_ids: vec![id],
        ..sync_report(0)
    };
    app.pass(40);
    app.press("q Enter");
    let request = app.take(effect!(Effect::ConfirmStatuses { request, .. } => *request));
    let result = Ok(confirm_report(report));
    app.happen(Message::StatusesConfirmed(request, result));
    app.answer_first(effect!(Effect::LoadWindow { .. }));
    // The rows have come, the email has not been read again yet: both show the same all the same.
    let text = screen(&app);
    let (list, reader): (Vec<&str>, Vec<&str>) =
        text.lines().filter_map(|line| line.split_once('│')).unzip();
    for pane in [list, reader] {
        assert!(pane.concat().contains("✕ bounced"), "{text}");
    }
}

#[test]
fn emails_that_go_missing_are_shown_and_counted() {
    for (status, filter, before, after) in [
        (Status::Bounced, "", 10, 10),
        (Status::Bounced, "is:gone", 0, 1),
        (Status::Sent, "-is:gone", 10, 9),
    ] {
        let mut service = sent(10, 3600);
        for row in &mut service.rows {
            row.summary.status = status.clone();
        }
        let mut app = AppHarness::at_rest(160, 40, service);
        app.search(filter);
        assert_eq!(app.model.list.total, Some(before));
        app.service.rows[3].missing_since = Some(now().timestamp());
        app.service.deletions_changed = true;
        app.press("r").settle();
        app.shows_notice("nothing new; mail was deleted at the service, or restored");
        assert_eq!(app.model.list.total, Some(after));
        let mut rows = app.model.list.rows().iter();
        let is_shown = rows.any(|row| row.missing_since.is_some());
        assert_eq!(is_shown, filter != "-is:gone");
    }
}
