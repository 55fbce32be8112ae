//! Changes since the last look, by messages.

use super::env::{AppHarness, FakeService, seen, session, sync_report};
use crate::app::session::SavedState;
use crate::app::{Effect, Message, SessionInfo, StateRecord};
use crate::mail::Status;
use crate::view::tests::screen;

/// Three emails since the last look, of which one bounced,
/// and an older one that was delivered since.
fn service() -> FakeService {
    let mut service = FakeService::with_emails(400);
    service.rows[1].summary.status = Status::Bounced;
    service.rows[20].last_change = Some(seen(&Status::Sent));
    service
}

fn app(seen_until: Option<&str>) -> AppHarness {
    app_with(service(), seen_until)
}

fn app_with(service: FakeService, seen_until: Option<&str>) -> AppHarness {
    AppHarness::settled((120, 40), session_after(seen_until), service)
}

/// A session after a last look.
fn session_after(seen_until: Option<&str>) -> SessionInfo {
    SessionInfo {
        saved: SavedState {
            seen_until: seen_until.map(|at| at.parse().unwrap()),
            ..SavedState::default()
        },
        ..session()
    }
}

/// The indices of the marked rows on the screen.
fn marked(app: &AppHarness) -> Vec<usize> {
    let viewport = app.model.list_viewport();
    let rows = app.model.list.visible_rows(&viewport).enumerate();
    rows.filter(|(_, row)| app.model.has_changed(row))
        .map(|(index, _)| index)
        .collect()
}

#[test]
fn start_reports_changes_and_marks_their_rows() {
    let mut app = app(Some("2026-11-20T05:42:30Z"));
    app.shows_notice("since 05:42: 3 new, 1 changed, 1 bounced; gn shows them");
    assert_eq!(marked(&app), [1, 2, 20], "the first is shown in the reader");
    app.press("g n").settle();
    let expected = "(after:2026-11-20T05:42:30Z or seen-change:2026-11-20T05:42:30Z)";
    assert_eq!(app.filter(), expected);
    let shown = screen(&app);
    assert!(shown.contains("▸ new or changed since 05:42 "), "{shown}");
}

#[test]
fn list_of_changes_is_the_same_in_utc() {
    let mut app = app(Some("2026-11-20T05:42:30Z"));
    let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(1));
    app.set_time(app.model.now.with_time_zone(zone));
    app.press("g n").settle();
    app.shows(&["▸ new or changed since ", "4 of 400"]);
    app.press("T").settle();
    app.shows(&["▸ new or changed since ", "4 of 400"]);
}

#[test]
fn last_look_is_not_after_now() {
    let mut app = AppHarness::settled((120, 40), session(), service());
    app.pass(-3600);
    app.press("t").settle();
    app.pass(600);
    app.press("g n").settle();
    app.shows(&["new or changed since 08:42"]);
}

#[test]
fn refresh_after_now_is_no_last_look() {
    let info = SessionInfo {
        as_of: Some("2027-11-20T05:42:30Z".parse().unwrap()),
        ..session()
    };
    let mut app = AppHarness::settled((120, 40), info, service());
    app.press("g n").settle();
    app.shows(&["new or changed since 09:42"]);
}

#[test]
fn words_narrow_the_list_of_changes() {
    let mut app = app(Some("2026-11-20T05:42:30Z"));
    app.press("g n / i s : b o u n c e d Enter").settle();
    app.shows(&["▸ new or changed since 05:42, is:bounced ", "1 of 400"]);
    app.press("u").settle();
    app.shows(&["▸ new or changed since 05:42 ", "4 of 400"]);
    app.press("@ v").settle();
    app.shows(&["▸ new or changed since 05:42, status:"]);
}

#[test]
fn empty_list_of_changes_names_their_time() {
    let mut app = app_with(FakeService::with_emails(9), Some("2026-11-20T09:40:30Z"));
    app.press("g n").settle();
    let shown = screen(&app);
    app.shows(&["Nothing new or changed since 09:40"]);
    assert!(!shown.contains("Nothing matches"), "{shown}");
}

#[test]
fn viewed_email_loses_its_mark() {
    let mut app = app(Some("2026-11-20T05:42:30Z"));
    app.press("j").settle();
    assert_eq!(marked(&app), [2, 20]);
}

#[test]
fn viewed_email_with_another_status_is_marked_again() {
    let mut app = app(Some("2026-11-20T05:42:30Z"));
    app.press("j").settle().press("k").settle();
    assert_eq!(marked(&app), [2, 20]);
    let row = &mut app.service.rows[1];
    row.summary.status = Status::Complained;
    row.last_change = Some(seen(&Status::Complained));
    // A session without a key hears of no ids.
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.settle();
    assert_eq!(marked(&app), [1, 2, 20]);
    app.press("j").settle();
    assert_eq!(marked(&app), [2, 20]);
}

#[test]
fn acknowledged_changes_lose_their_marks_for_good() {
    let mut app = app(Some("2026-11-18T08:42:30Z"));
    assert!(app.notice().starts_with("since 18 Nov 08:42: "));
    let before = marked(&app);
    app.press("A").settle();
    app.shows(&["Mark all that is new or has changed as seen?"]);
    assert_eq!(marked(&app), before);
    app.press("Enter").settle();
    assert_eq!(marked(&app), [0; 0]);
    let now = app.model.now.timestamp();
    let kept = app.effects.iter().any(|effect| {
        matches!(effect, Effect::SaveState(_, records) if records == &[StateRecord::Seen { at: now }])
    });
    assert!(kept);
}

#[test]
fn first_session_filters_what_its_first_list_lacks() {
    let mut app = app(None);
    assert!(marked(&app).is_empty());
    assert_eq!(app.model.notice_text(), None);
    let start = app.model.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    app.press("g n").settle();
    let expected = format!("(after:2026-11-20T08:42:01Z or seen-change:{start})");
    assert_eq!(app.filter(), expected);
}

#[test]
fn first_session_counts_from_the_refresh_before_it() {
    let info = SessionInfo {
        as_of: Some("2026-11-20T05:42:30Z".parse().unwrap()),
        ..session()
    };
    let app = AppHarness::settled((120, 40), info, service());
    assert_eq!(marked(&app), [1, 2, 20]);
}

#[test]
fn mail_dated_before_the_last_look_is_new() {
    let info = SessionInfo {
        newest: Some("2026-11-20T05:42:00Z".parse().unwrap()),
        ..session_after(Some("2026-11-20T09:00:00Z"))
    };
    let mut service = service();
    service.rows[20].last_change = None;
    let mut app = AppHarness::settled((120, 40), info, service);
    app.shows_notice("since 09:00: 3 new, 1 bounced; gn shows them");
    assert_eq!(marked(&app), [1, 2], "the first is shown in the reader");
    app.press("g n").settle();
    app.shows(&["new or changed since 09:00", "3 of 400"]);
}

#[test]
fn older_mail_is_not_searched_for_changes() {
    let mut app = app_with(service().older(3), Some("2026-11-20T05:42:30Z"));
    app.press("g n").settle();
    app.shows(&["4 of 400"]);
    assert!(!app.model.may_find_older());
}

#[test]
fn received_mail_and_back_keep_the_last_look() {
    let mut app = app(None);
    let start = app.model.now.clone();
    app.press("g r").settle();
    app.pass(60);
    app.press("g s").settle();
    app.press("g n").settle();
    let shown = app.model.shown_changes();
    assert_eq!(shown, Some((start.timestamp(), "")));
}

#[test]
fn received_mail_and_back_keep_filter_and_history() {
    let mut app = app(None);
    app.search("example");
    app.press("j j").settle();
    let selected = app.model.list.selected_id().cloned();
    app.press("g r").settle();
    assert_eq!(app.filter(), "");
    app.press("g s").settle();
    assert_eq!(app.filter(), "example");
    assert_eq!(app.model.list.selected_id().cloned(), selected);
    app.press("u").settle();
    assert_eq!(app.filter(), "");
}

#[test]
fn changes_of_received_mail_are_without_status() {
    let mut app = app(None);
    app.press("g r").settle().press("g n").settle();
    app.shows(&["▸ Received ▸ new or changed since 09:42 "]);
    app.shows_notice("");
    app.hides(&["status"]);
}

#[test]
fn user_who_has_gone_on_is_not_interrupted() {
    let info = session_after(Some("2026-11-20T05:42:30Z"));
    let mut app = AppHarness::start((120, 40), info, service());
    app.press("j").settle();
    assert_eq!(app.model.notice_text(), None);
}

#[test]
fn first_session_shows_tip_until_first_key() {
    let info = SessionInfo {
        is_first: true,
        ..session()
    };
    let mut app = AppHarness::settled((120, 40), info, service());
    let tip = "? lists every command; / searches";
    assert_eq!(app.notice(), tip);
    app.press("j");
    assert_eq!(app.model.notice_text(), None);
}
