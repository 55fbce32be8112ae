//! Status checks of a filter by messages.

use super::env::{AppHarness, confirm_report, effect, sync_report};
use super::freshness::sent;
use crate::app::{CheckState, Effect, Message, RequestKind, TimerKind};
use crate::archive::SortKey;
use crate::sync::ConfirmReport;
use jiff::{SignedDuration, Timestamp};

/// Answers the next step of a status check after so many requests.
fn answer_check(app: &mut AppHarness, requests: u32, is_done: bool) -> (bool, u32) {
    let down_to = app.service.rows.get(9).map(|row| row.sort_key);
    let checked = ConfirmReport {
        requests,
        confirmed_rows: requests,
        confirmed_down_to: down_to,
        is_done,
        ..confirm_report(sync_report(0))
    };
    finish_step(app, checked)
}

/// Answers the next step of a status check with this report;
/// returns whether it began below a row, and how many requests it had.
fn finish_step(app: &mut AppHarness, checked: ConfirmReport) -> (bool, u32) {
    let (request, below, most) = app.take(effect!(
        Effect::CheckStatuses { request, below, max_requests, .. } =>
            (*request, *below, *max_requests)
    ));
    app.happen(Message::StatusesChecked(request, Ok(checked)));
    app.answer_archive();
    (below.is_some(), most)
}

/// Begins a status check of fifty sent emails that match.
fn begin_check(columns: u16, query: &str) -> AppHarness {
    let mut app = AppHarness::at_rest(columns, 40, sent(50, 300));
    app.press("/").write(query).press("Enter");
    app.answer_archive();
    app
}

fn state(app: &AppHarness) -> &CheckState {
    &app.model.status_check.current.as_ref().unwrap().state
}

#[test]
fn status_check_waits_until_export_ends() {
    let mut service = sent(50, 300);
    service.without_body = 3;
    let mut app = AppHarness::at_rest(160, 40, service);
    app.press("/").write("status:sent").press("Enter");
    app.answer_archive().press("E Enter Enter");
    app.answer_first(effect!(Effect::PlanExport(..)));
    app.press("Enter");
    let is_batch = effect!(Effect::ExportBatch(_, _, _));
    assert!(app.is_pending(is_batch));
    answer_check(&mut app, 4, false);
    let is_check = effect!(Effect::CheckStatuses { .. });
    assert!(!app.is_pending(is_check));
    while app.is_pending(is_batch) {
        app.answer_first(is_batch);
    }
    assert!(app.is_pending(is_check));
}

#[test]
fn status_check_is_repeated_after_clock_was_set_back() {
    let mut app = AppHarness::at_rest(160, 40, sent(50, 300));
    app.search("status:sent");
    app.shows(&["statuses checked 09:42"]);
    app.pass(-3600);
    app.press("t").settle();
    app.shows(&["statuses checked 08:42"]);
    app.search("status:opened").search("status:sent");
    app.shows(&["statuses checked 08:42"]);
}

#[test]
fn older_mail_is_searched_after_the_status_check() {
    let mut service = sent(50, 300);
    service.older_pages = 9;
    let mut app = AppHarness::at_rest(160, 40, service);
    app.press("/").write("status:bounced").press("Enter");
    app.answer_archive();
    let is_search = effect!(Effect::LoadOlder(..));
    app.fire(TimerKind::AutomaticSearch);
    assert!(!app.is_pending(is_search), "the check may fill the screen");
    app.settle().fire(TimerKind::AutomaticSearch);
    assert!(app.is_pending(is_search));
}

#[test]
fn filter_by_status_is_checked_over_its_candidates() {
    let mut app = AppHarness::at_rest(160, 40, sent(50, 300));
    app.press("/").write("status:bounced");
    let checks = app.count(effect!(Effect::CheckStatuses { .. }));
    assert_eq!(checks, 0, "not while it is typed");
    app.press("Enter").answer_archive();
    let query = app.find(effect!(Effect::CheckStatuses { query, .. } => query.clone()));
    assert!(query.is_match_all(), "each may have bounced: {query}");
    app.shows(&["Checking statuses"]);
    assert_eq!(answer_check(&mut app, 4, false), (false, 4));
    assert_eq!(answer_check(&mut app, 4, false), (true, 4));
    app.shows(&["statuses checked back to"]);
    answer_check(&mut app, 4, true);
    assert_eq!(*state(&app), CheckState::Done);
    app.shows(&["Statuses checked 09:42."]);
}

#[test]
fn card_checks_like_a_filter_and_names_key() {
    let mut app = AppHarness::at_rest(160, 45, super::recipient::service());
    app.press_times("j", 9);
    app.settle().pass(60);
    app.press("c").answer_archive();
    app.answer_first(effect!(Effect::Refresh(..)));
    for _ in 0..24 {
        answer_check(&mut app, 4, false);
    }
    assert_eq!(*state(&app), CheckState::Running);
    answer_check(&mut app, 4, false);
    assert_eq!(*state(&app), CheckState::Paused);
    app.shows(&[" checked; Enter on the last row goes on"]);
}

#[test]
fn status_check_says_which_mail_it_left_out() {
    let mut app = begin_check(160, "status:bounced");
    let checked = ConfirmReport {
        leaves_out_old: true,
        ..confirm_report(sync_report(0))
    };
    finish_step(&mut app, checked);
    let expected = "Statuses checked 09:42, not of mail before 21 Oct.";
    app.shows(&[expected]);
    app.press("S").settle();
    app.shows(&["statuses checked 09:42, not of mail before 21 Oct"]);
}

/// A mirror serves older pages as it has them.
#[test]
fn check_answered_by_a_mirror_has_its_time() {
    let checked_down_to = |oldest: &str, end: Option<SortKey>| {
        let mut app = begin_check(160, "status:bounced");
        let checked = ConfirmReport {
            oldest_confirmation: Some(oldest.parse().unwrap()),
            confirmed_down_to: end,
            is_done: end.is_none(),
            ..confirm_report(sync_report(0))
        };
        finish_step(&mut app, checked);
        app
    };
    let shown = |oldest: &str| checked_down_to(oldest, None);
    let now = shown("2026-11-20T09:42:00Z").model.now.timestamp();
    let ago = |minutes| (now - SignedDuration::from_mins(minutes)).to_string();
    shown(&ago(0)).shows(&["Statuses checked 09:42."]);
    shown(&ago(10)).shows(&["Statuses checked 09:32.", "statuses checked 09:32 · live"]);
    shown(&Timestamp::MIN.to_string()).shows(&["Statuses not checked."]);
    let end: Timestamp = "2026-11-18T08:14:00Z".parse().unwrap();
    let end = SortKey::oldest_at(end.as_microsecond());
    checked_down_to(&ago(10), Some(end)).shows(&["checked back to 18 Nov 08:14, as of 09:32"]);
    checked_down_to(&ago(0), Some(end)).hides(&["08:14, as of"]);
    let mut list_as_old = checked_down_to(&ago(10), Some(end));
    list_as_old.model.service.as_of = Some(ago(10).parse().unwrap());
    list_as_old.hides(&["08:14, as of"]);
}

#[test]
fn check_in_narrow_title_keeps_time_and_reach() {
    let title = |columns| {
        let mut app = begin_check(columns, "is:trouble");
        app.model.session.profile = "SENTBOX_API_KEY".to_owned();
        let checked = ConfirmReport {
            leaves_out_old: true,
            is_done: true,
            ..confirm_report(sync_report(0))
        };
        finish_step(&mut app, checked);
        app.settle();
        app
    };
    title(160).title_ends("checked 09:42, not of mail before 21 Oct · live");
    title(80).title_ends("0 of 50 · checked 09:42 to 21 Oct · live");
    title(40).title_ends("checked to 21 Oct");
    title(40).press("W").title_ends("checked to 21 Oct");
    let mut typing = title(80);
    typing.press("/").write(" to:ana");
    typing.answer_archive().shows(&["statuses not checked"]);
}

#[test]
fn check_is_repeated_by_its_number_of_requests() {
    let repeats = |requests, seconds| {
        let mut app = begin_check(160, "status:bounced");
        answer_check(&mut app, requests, true);
        app.settle().pass(seconds);
        let before = app.count(effect!(Effect::CheckStatuses { .. }));
        app.press("j").settle();
        app.count(effect!(Effect::CheckStatuses { .. })) > before
    };
    assert!(!repeats(4, 119));
    assert!(repeats(4, 120));
    assert!(!repeats(10, 299));
    assert!(repeats(10, 300));
}

#[test]
fn filter_opened_again_soon_is_not_checked_again() {
    let checks_again = |seconds, key| {
        let mut app = begin_check(160, "status:bounced");
        answer_check(&mut app, 98, true);
        app.press("Esc").settle().pass(seconds);
        let before = app.count(effect!(Effect::CheckStatuses { .. }));
        app.press(key)
            .press("/")
            .write("status:bounced")
            .press("Enter");
        app.settle().shows(&["Statuses checked 09:4"]);
        app.count(effect!(Effect::CheckStatuses { .. })) > before
    };
    assert!(!checks_again(60, "j"));
    assert!(checks_again(120, "j"));
    assert!(checks_again(60, "F5"), "the user refreshed");
}

#[test]
fn status_check_pauses_after_a_hundred_requests() {
    let mut app = begin_check(160, "status:bounced");
    for _ in 0..25 {
        answer_check(&mut app, 4, false);
    }
    assert_eq!(*state(&app), CheckState::Paused);
    assert!(!app.is_pending(effect!(Effect::CheckStatuses { .. })));
    app.shows(&["Enter checks further"]);
    app.press("Enter");
    answer_check(&mut app, 4, false);
    app.press("Ctrl-x");
    assert_eq!(*state(&app), CheckState::Paused);
    let request = app.find(effect!(Effect::CheckStatuses { request, .. } => *request));
    assert!(!app.model.is_wanted(RequestKind::CheckStatuses, request));
}

#[test]
fn step_of_check_for_earlier_filter_is_ignored() {
    let mut app = begin_check(160, "status:bounced");
    app.press("/ Ctrl-u").write("status:opened").press("Enter");
    app.answer_archive();
    let steps = app.pending.iter();
    let steps = steps.filter(|effect| matches!(effect, Effect::CheckStatuses { .. }));
    assert_eq!(steps.count(), 2);
    answer_check(&mut app, 4, true);
    let state = |app: &AppHarness| app.model.status_check.current.as_ref().unwrap().state;
    assert_eq!(state(&app), CheckState::Running);
    answer_check(&mut app, 4, true);
    assert_eq!(state(&app), CheckState::Done);
}

#[test]
fn running_refresh_does_not_hide_the_status_check() {
    let mut app = AppHarness::at_rest(160, 40, sent(50, 0));
    app.press("/").write("status:bounced").press("Enter");
    app.settle();
    app.shows(&["Statuses checked 09:42."]);
    app.fire(TimerKind::Refresh);
    assert!(app.model.service.is_refreshing());
    app.shows(&["Statuses checked 09:42."]);
}
