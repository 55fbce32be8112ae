//! The state of the service in title, bar and empty screens:
//! `live` only while it is true.

use std::time::Duration;

use jiff::{SignedDuration, ToSpan as _};
use ratatui::layout::Size;

use crate::api::RateBudget;
use crate::app::tests::BUDGET;
use crate::app::tests::env::{AppHarness, FakeService, effect, now, session, sync_report};
use crate::app::{Effect, Message, ServiceState, TimerKind};
use crate::archive::Coverage;
use crate::error::{Error, ErrorKind};
use crate::mail::Status;
use crate::sync::{StopReason, SyncReport};

/// A screen whose last refresh fails so.
fn failing(kind: ErrorKind) -> AppHarness {
    let mut app = AppHarness::at_rest(100, 12, FakeService::with_emails(50));
    app.press("r");
    app.fail_refresh(Error::new(kind, "it failed").with_hint("try again in 24 h"));
    app.settle();
    app
}

/// The result of a refresh that ends for this reason.
fn refreshed(app: &mut AppHarness, report: SyncReport) {
    let request = app.model.service.refresh_request.start();
    app.happen(Message::Refreshed(request, Ok(report)));
    app.settle();
}

#[test]
fn notice_of_a_cured_failure_leaves() {
    let mut app = failing(ErrorKind::Unreachable);
    app.shows(&["it failed"]);
    refreshed(&mut app, sync_report(0));
    app.hides(&["it failed"]);
}

#[test]
fn listing_of_unreadable_emails_is_not_empty() {
    let mut app = AppHarness::at_rest(100, 12, FakeService::with_emails(0));
    app.shows(&["its list is empty"]);
    let unreadable = SyncReport {
        unreadable: 100,
        is_top_unknown: true,
        coverage: Coverage::Unknown,
        ..sync_report(0)
    };
    refreshed(&mut app, unreadable);
    app.shows(&["No email could be read", " r tries again"]);
    app.hides(&["its list is empty"]);
}

#[test]
fn unreadable_newest_page_is_not_live() {
    let mut app = AppHarness::at_rest(100, 12, FakeService::with_emails(50));
    let unreadable = SyncReport {
        unreadable: 1,
        is_top_unknown: true,
        coverage: Coverage::Unknown,
        ..sync_report(1)
    };
    refreshed(&mut app, unreadable);
    let shown = app.title();
    assert!(!shown.contains("live"), "{shown}");
    assert!(!shown.contains("complete"), "{shown}");
    refreshed(&mut app, sync_report(0));
    app.title_ends("live");
}

#[test]
fn wrong_clock_is_reported_once_and_on_request() {
    let mut app = AppHarness::at_rest(100, 12, FakeService::with_emails(50));
    let skewed = |seconds| SyncReport {
        clock_skew: Some(SignedDuration::from_secs(seconds)),
        ..sync_report(0)
    };
    let warning = "this machine's clock is 26 h behind the service's, so ages and dates look wrong";
    refreshed(&mut app, skewed(94_000));
    app.shows_notice(warning);
    app.press("j");
    refreshed(&mut app, skewed(94_000));
    assert_ne!(app.notice(), warning);
    app.press("!");
    app.shows_notice(warning);
    refreshed(&mut app, skewed(2));
    app.press("j !");
    app.shows_notice("no error");
}

#[test]
fn listing_without_the_known_emails_is_an_error() {
    let mut app = AppHarness::at_rest(100, 12, FakeService::with_emails(50));
    let other = SyncReport {
        stop_reason: StopReason::OtherListing,
        ..sync_report(0)
    };
    refreshed(&mut app, other);
    let shown = app.title();
    assert!(!shown.contains("live"), "{shown}");
    app.shows(&["the service lists none of the emails"]);
    refreshed(&mut app, sync_report(0));
    app.title_ends("live");
}

#[test]
fn empty_page_with_more_reports_more_emails() {
    let mut app = AppHarness::start((100, 14), session(), FakeService::with_emails(0));
    app.answer_archive();
    let empty = SyncReport {
        stop_reason: StopReason::NoProgress,
        coverage: Coverage::Unknown,
        ..sync_report(0)
    };
    refreshed(&mut app, empty);
    app.hides(&["Nothing was sent"]);
    app.shows(&["reports more emails"]);
}

#[test]
fn purged_list_is_not_one_of_nothing_sent() {
    let mut service = FakeService::with_emails(0);
    service.left_out.purged = true;
    let mut app = AppHarness::start((100, 14), session(), service);
    app.answer_archive();
    refreshed(&mut app, sync_report(0));
    app.settle();
    app.hides(&["Nothing was sent", "its list is empty"]);
    app.shows(&["The mail was purged"]);
}

#[test]
fn rejected_key_replaces_an_earlier_error() {
    let mut app = failing(ErrorKind::Server);
    app.shows(&["it failed"]);
    app.press("r");
    let request = app.model.service.refresh_request.start();
    let rejected = Error::new(ErrorKind::KeyRejected, "the key is not valid");
    app.happen(Message::Refreshed(request, Err(rejected)));
    app.settle();
    app.hides(&["it failed"]);
    app.shows(&["key rejected; r tries again"]);
}

#[test]
fn state_before_first_answer_is_checking() {
    let mut app = AppHarness::start((100, 12), session(), FakeService::with_emails(50));
    assert_eq!(app.model.service_state(), ServiceState::Checking);
    app.answer_archive();
    app.title_ends("checking…");
    app.settle();
    app.title_ends("live");
}

#[test]
fn request_without_answer_is_not_live() {
    let mut app = AppHarness::at_rest(100, 12, FakeService::with_emails(50));
    let mut shown_after = |seconds| {
        app.set_rate_budget(Some(RateBudget {
            unanswered_for: Duration::from_secs(seconds),
            ..BUDGET
        }));
        app.title()
    };
    assert!(shown_after(4).ends_with("live"));
    let shown = shown_after(7);
    let end = "no answer for 7 s · as of 09:42";
    assert!(shown.ends_with(end), "{shown}");
    assert!(shown_after(0).ends_with("live"));
}

#[test]
fn running_refresh_is_watched_each_second() {
    let mut app = AppHarness::at_rest(100, 12, FakeService::with_emails(50));
    app.set_rate_budget(Some(BUDGET));
    app.press("r");
    let kind = TimerKind::Countdown;
    let ticks = app.count(|effect| matches!(effect, Effect::Timer(_, found, _) if *found == kind));
    assert_eq!(ticks, 1);
}

#[test]
fn error_names_its_state() {
    for (kind, state) in [
        (ErrorKind::Unreachable, "offline since 09:42 · as of 09:42"),
        (ErrorKind::Server, "service error since 09:42 · as of 09:42"),
        (
            ErrorKind::NotTheApi,
            "wrong response since 09:42 · as of 09:42",
        ),
        (ErrorKind::Quota, "quota used up since 09:42 · as of 09:42"),
        (
            ErrorKind::KeyRejected,
            "key rejected since 09:42 · as of 09:42",
        ),
        (
            ErrorKind::KeySendOnly,
            "key may not read since 09:42 · as of 09:42",
        ),
    ] {
        failing(kind).title_ends(state);
    }
}

#[test]
fn archive_without_purged_mail_is_not_complete() {
    let mut service = FakeService::with_emails(50);
    service.left_out.purged = true;
    let mut app = AppHarness::at_rest(100, 20, service);
    app.title_ends("50 emails, without purged mail · live");
    app.press("b").settle();
    app.shows_notice("all mail as of 09:42 is loaded; purged mail is left out");
    app.search("zzz");
    let expected = "Searched 50 emails, without purged mail, as of 09:42.";
    app.shows(&[expected]);
    app.press("Esc").press("S").settle();
    app.shows(&["Statistics of all mail", "50 emails, without purged mail;"]);
}

#[test]
fn archive_with_age_limit_is_complete_since_then() {
    let mut service = FakeService::with_emails(50);
    service.left_out.limit = "2026-10-01T09:14:00Z".parse().ok();
    let app = AppHarness::at_rest(100, 20, service.clone());
    app.title_ends("50 emails, complete · live");
    service.left_out.has_omitted_old = true;
    let mut app = AppHarness::at_rest(100, 20, service.clone());
    app.title_ends("50 emails since 1 Oct 09:14 · live");
    app.search("zzz");
    app.shows(&["Searched 50 emails since 1 Oct 09:14, as of 09:42."]);
    service.left_out.purged = true;
    let app = AppHarness::at_rest(100, 20, service);
    app.title_ends("50 emails since 1 Oct 09:14, without purged mail · live");
}

#[test]
fn count_behind_a_gap_is_of_all_times() {
    let mut service = FakeService::with_emails(50);
    service.older_pages = 1;
    let mut app = AppHarness::at_rest(100, 20, service);
    app.title_ends("50 emails since 3 Nov 17:42 · live");
    let (_, newest) = app.model.list.archive_span.unwrap();
    app.model.list.archive_span = Some(("2026-01-02T09:00:00Z".parse().unwrap(), newest));
    app.title_ends("50 emails, complete since 3 Nov 17:42 · live");
    app.model.list.left_out.purged = true;
    app.title_ends("50 emails, complete since 3 Nov 17:42, without purged mail · live");
}

#[test]
fn absence_says_how_far_the_list_goes_back() {
    let mut service = FakeService::with_emails(50);
    service.unmatched.oldest_listed = "2026-11-06T09:14:00Z".parse().ok();
    let mut app = AppHarness::at_rest(100, 20, service);
    app.search("zzz");
    app.shows(&[
        "Searched all 50 emails, as of 09:42.",
        "The service's list goes back to 6 Nov 09:14.",
    ]);
}

#[test]
fn summary_of_final_mail_shows_list_time() {
    let mut app = failing(ErrorKind::Server);
    app.service.rows[0].summary.status = Status::Canceled;
    let later = app.model.now.checked_add(90.days()).unwrap();
    app.set_time(later);
    app.happen(Message::Resized(Size::new(160, 40)));
    app.press("c").answer_archive();
    let expected = "nothing bounced, no complaints as of 09:42 (1 of 1 checked)";
    app.shows(&[expected]);
}

#[test]
fn failed_refresh_by_key_reports_why() {
    let app = failing(ErrorKind::Server);
    app.shows_notice("it failed");
}

#[test]
fn rejected_key_names_the_key_that_retries() {
    let mut app = failing(ErrorKind::KeyRejected);
    app.shows_notice("key rejected; r tries again; a new key is read at the next start");
    app.press("j").settle();
    app.shows(&["key rejected · r retries now"]);
}

#[test]
fn pause_during_refresh_is_counted_down_with_details() {
    let mut app = AppHarness::at_rest(120, 12, FakeService::with_emails(50));
    app.set_rate_budget(Some(BUDGET));
    app.press("r").shows_notice("refreshing");
    app.set_rate_budget(Some(RateBudget {
        paused_for: Duration::from_millis(19_300),
        ..BUDGET
    }));
    app.fire(TimerKind::Countdown);
    app.shows(&["rate limited: retrying in 20 s"]);
    app.press("r").shows(&["rate limited: retrying in 20 s"]);
    app.press("!");
    app.shows(&[
        "the service has asked to wait",
        "try again in 20 s",
        "  20 s",
    ]);
    app.press("Esc").set_rate_budget(Some(BUDGET));
    app.settle();
    app.shows_notice("nothing new");
}

#[test]
fn other_kind_of_failure_has_its_own_time() {
    let mut app = AppHarness::at_rest(100, 12, FakeService::with_emails(50));
    for (kind, title) in [
        (ErrorKind::Server, "service error since 09:42 · as of 09:42"),
        (ErrorKind::Unreachable, "offline since 09:47 · as of 09:42"),
        (ErrorKind::Unreachable, "offline since 09:47 · as of 09:42"),
        (
            ErrorKind::KeyRejected,
            "key rejected since 09:57 · as of 09:42",
        ),
        (
            ErrorKind::KeyRejected,
            "key rejected since 09:57 · as of 09:42",
        ),
    ] {
        app.press("r").fail_refresh(Error::new(kind, "no answer"));
        app.title_ends(title);
        app.pass(300);
    }
}

#[test]
fn archive_on_full_disk_is_called_not_writable() {
    let mut app = AppHarness::at_rest(100, 12, FakeService::with_emails(50));
    let full = Error {
        is_write_failure: true,
        ..Error::new(ErrorKind::Archive, "the disk is full").with_hint("free some space")
    };
    app.press("r").fail_refresh(full);
    app.settle();
    app.title_ends("archive not writable since 09:42 · as of 09:42");
    app.press("!").settle();
    app.shows(&["free some space; the file is ~/.local/share/sentbox/acme/archive.sqlite"]);
}

/// A service that has asked to wait for a day.
fn paused_for_a_day() -> AppHarness {
    let mut app = failing(ErrorKind::RateLimited);
    app.set_rate_budget(Some(RateBudget {
        paused_for: Duration::from_hours(24),
        ..BUDGET
    }));
    app
}

#[test]
fn pause_of_a_day_shows_until_when() {
    let mut app = paused_for_a_day();
    app.title_ends("rate limited until Sat 09:42 UTC · as of 09:42");
    app.shows(&["rate limited until Sat 09:42 UTC; r tries now"]);
    app.press("!").settle();
    app.shows(&["What failed", "try again in 24 h; r tries now"]);
}

#[test]
fn refresh_within_long_pause_is_a_question() {
    let mut app = paused_for_a_day();
    let sent = |app: &AppHarness| {
        app.count(|effect| matches!(effect, Effect::Refresh(..) | Effect::RefreshNow(_)))
    };
    let before = sent(&app);
    app.press("r");
    app.shows(&["The service asked to wait until Sat 09:42 UTC. Try now?"]);
    app.hides(&["tries now"]);
    app.press("j Enter").settle();
    assert_eq!(sent(&app), before, "the second answer waits");
    app.press("r Enter");
    assert_eq!(sent(&app), before + 1);
    assert!(matches!(app.effects.last(), Some(Effect::RefreshNow(_))));
    app.set_rate_budget(Some(BUDGET));
    app.settle();
    app.shows_notice("nothing new");
    app.title_ends("live");
}

#[test]
fn key_while_offline_retries_after_a_while() {
    let mut app = AppHarness::start((80, 24), session(), FakeService::with_emails(5));
    app.fail_refresh(Error::new(ErrorKind::Unreachable, "no route"));
    let refreshes = |app: &AppHarness| app.count(effect!(Effect::Refresh(..)));
    let failed = refreshes(&app);
    app.set_time(&now() + 19.seconds());
    app.press("j");
    assert_eq!(refreshes(&app), failed);
    app.set_time(&now() + 20.seconds());
    app.press("j k");
    assert_eq!(refreshes(&app), failed + 1, "once");
}

#[test]
fn list_of_an_unreadable_archive_is_not_live() {
    let mut app = AppHarness::at_rest(100, 12, FakeService::with_emails(50));
    app.title_ends("live");
    app.press("/ x");
    let request = app.take(effect!(Effect::LoadWindow(request, _) => *request));
    let error = Error::new(ErrorKind::Archive, "the server does not answer");
    app.happen(Message::WindowLoaded(request, Err(error)));
    app.title_ends("archive error");
}
