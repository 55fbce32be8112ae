//! Refresh, errors of the service and pages of older mail by messages.

use crate::app::session::OpenOutcome;
use crate::app::tests::env::{AppHarness, FakeService, effect, session};
use crate::app::{Effect, Message, SessionInfo, StorageMode, TimerKind};
use crate::error::{Error, ErrorKind};

pub(super) fn count_older_requests(app: &AppHarness) -> usize {
    app.count(effect!(Effect::LoadOlder(..)))
}

#[test]
fn older_pages_load_before_end_one_by_one() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(90).older(3));
    assert_eq!(count_older_requests(&app), 0, "far from the end");
    app.press_times("j", 60);
    assert_eq!(count_older_requests(&app), 1, "one at a time");
    app.settle();
    assert_eq!(app.service.rows.len(), 190);
    app.press("G").settle();
    app.press("G").settle();
    assert_eq!(app.service.rows.len(), 390);
    app.press("G").settle();
    assert_eq!(count_older_requests(&app), 3, "everything is there");
}

#[test]
fn failed_older_page_is_retried_after_pause() {
    let mut service = FakeService::with_emails(20);
    service.older_pages = 1;
    let mut app = AppHarness::start((120, 40), session(), service);
    let failure = Error::new(ErrorKind::Unreachable, "no route");
    for _ in 0..40 {
        let Some(n) = app
            .pending
            .iter()
            .position(|effect| !matches!(effect, Effect::Timer(_, _, _)))
        else {
            break;
        };
        if let Effect::LoadOlder(request, _) = app.pending[n] {
            app.pending.remove(n);
            app.happen(Message::OlderLoaded(request, Err(failure.clone())));
        } else {
            app.answer(n);
        }
    }
    app.press("j k j k");
    assert_eq!(count_older_requests(&app), 1);
    assert!(app.has_timer(TimerKind::LoadOlder));
    assert_eq!(app.model.service.error.as_ref(), Some(&failure));
}

#[test]
fn answer_to_older_refresh_ends_no_newer_one() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(5));
    app.fire(TimerKind::Refresh);
    app.press("r");
    let is_refresh = effect!(Effect::Refresh(..));
    app.answer_first(is_refresh);
    app.shows_notice("refreshing");
    app.answer_first(is_refresh);
    app.shows_notice("nothing new");
}

#[test]
fn archive_reopened_while_typing_keeps_the_prompt() {
    let mut start = session();
    start.storage = StorageMode::ReadOnly(Error::new(ErrorKind::Io, "the disk is full"));
    for (meanwhile, is_reopened) in [("", true), ("/ a", false)] {
        let mut app = AppHarness::settled((80, 24), start.clone(), FakeService::with_emails(5));
        app.press("r");
        let request = app.take(effect!(Effect::OpenMailbox(request, ..) => *request));
        app.press(meanwhile);
        let opened = SessionInfo {
            storage: StorageMode::InFile("archive.sqlite".to_owned()),
            ..session()
        };
        let outcome = OpenOutcome::Opened(Box::new(opened));
        app.happen(Message::MailboxOpened(request, Ok(outcome)));
        assert_eq!(app.model.prompt.is_some(), !is_reopened);
        assert_eq!(app.switched, is_reopened);
    }
}

#[test]
fn missing_key_sends_nothing_and_shows_archive() {
    let failure = Error::new(ErrorKind::KeyMissing, "there is no key");
    let mut start = session();
    start.service_error = Some(failure.clone());
    let app = AppHarness::settled((120, 40), start, FakeService::with_emails(5));
    let requests = app.count(effect!(Effect::Refresh(..) | Effect::LoadOlder(..)));
    assert_eq!(requests, 0);
    assert_eq!(app.selected(), 4);
    assert_eq!(app.model.service.last_error(), Some(&failure));
}

#[test]
fn rejected_key_stops_requests() {
    let mut app = AppHarness::start((80, 24), session(), FakeService::with_emails(0));
    app.fail_refresh(Error::new(ErrorKind::KeyRejected, "the key is not valid"));
    let is_refresh = effect!(Effect::Refresh(..));
    assert!(!app.is_pending(is_refresh) && !app.has_timer(TimerKind::Refresh));
    app.press("r");
    assert!(app.is_pending(is_refresh), "but a user may request it");
    app.settle();
    assert_eq!(app.model.service.unavailable, None);
    assert!(app.has_timer(TimerKind::Refresh), "and it goes on");
}

#[test]
fn rejected_key_is_sent_again_by_the_user_only() {
    let mut app = AppHarness::at_rest(160, 40, FakeService::with_emails(50));
    let rejected = || Error::new(ErrorKind::KeyRejected, "the key is not valid");
    let is_request = effect!(Effect::LoadEmail { refusal: None, .. });
    let is_refresh = effect!(Effect::Refresh(..));
    let is_stored = effect!(Effect::LoadStoredEmail(_, _));
    app.press("j").fire(TimerKind::Selection);
    app.answer_first(is_stored);
    let request = app.take(effect!(Effect::LoadEmail { request, .. } => *request));
    app.happen(Message::EmailLoaded(request, Err(rejected())));
    let request = app.take(effect!(Effect::Refresh(request, _) => *request));
    app.happen(Message::Refreshed(request, Err(rejected())));
    for _ in 0..3 {
        app.press("j").fire(TimerKind::Selection);
        app.answer_first(is_stored);
        assert!(!app.is_pending(is_request) && !app.is_pending(is_refresh));
        app.settle().shows(&["The key is not valid"]);
    }
    app.press("Enter");
    assert!(app.is_pending(is_request));
    app.settle();
    assert_eq!(app.model.service.unavailable, None);
}

#[test]
fn next_refresh_waits_for_quota_but_rechecks_pause() {
    let quota = Error::new(ErrorKind::Quota, "the team's quota is used up");
    let mut pause = Error::new(ErrorKind::RateLimited, "the service requests a pause");
    pause.retry_after = Some(std::time::Duration::from_hours(24));
    for (error, minutes) in [(quota, 60), (pause, 2)] {
        let mut app = AppHarness::start((80, 24), session(), FakeService::with_emails(5));
        app.fail_refresh(error);
        let pause = app.find(effect!(Effect::Timer(_, TimerKind::Refresh, pause) => *pause));
        assert_eq!(pause, std::time::Duration::from_mins(minutes));
    }
}

#[test]
fn manual_refresh_reports_result() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(500));
    app.press("r");
    app.shows_notice("refreshing");
    app.settle();
    app.shows_notice("nothing new");
    app.service.arriving = 3;
    app.press("r").settle();
    app.shows_notice("3 new");
}

#[test]
fn equal_result_of_next_refresh_is_reported() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(500));
    for _ in 0..2 {
        app.service.arriving = 3;
        app.press("r").settle();
        app.shows_notice("3 new");
    }
}

#[test]
fn result_of_refresh_goes_when_mail_arrives() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(500));
    app.press("r").settle();
    app.shows_notice("nothing new");
    app.service.arriving = 3;
    app.fire(TimerKind::Refresh);
    app.settle();
    assert_eq!(app.model.notice_text(), None);
}

#[test]
fn end_of_loaded_mail_is_reported() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300).older(1));
    app.press("G");
    assert!(app.notice().contains("loaded so far"));
    app.settle();
    assert_eq!(app.model.notice_text(), None, "older ones are loaded");
    app.press("G").settle().press("G");
    assert_eq!(app.model.notice_text(), None);
}
