//! Searches for older mail and loading to a date, by messages.

use jiff::ToSpan as _;

use super::env::{AppHarness, FakeService, effect, now, sync_report};
use super::load_more_row::load_more_row;
use super::service::count_older_requests;
use crate::api::Priority;
use crate::app::{Effect, Message, RequestId, RequestKind, TimerKind};
use crate::archive::{Coverage, WindowAnchor};
use crate::error::{Error, ErrorKind};
use crate::mail::{ApiTime, EmailId};
use crate::sync::SyncReport;
use crate::view::tests::screen;

#[test]
fn older_search_ends_when_full_exhausted_or_stopped() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(1_000).older(30));
    app.search("#-1");
    assert_eq!(app.model.list.total, Some(0));
    assert_eq!(count_older_requests(&app), 0, "a filter alone sends none");
    app.press("b").settle();
    assert_eq!(app.model.list.total, Some(111), "enough for a screen");
    assert_eq!(count_older_requests(&app), 2);
    assert_eq!(app.model.load_older.running, None);
    assert_eq!(app.model.list.archive_total, Some(1_200));

    app.press("/ Ctrl-u")
        .write("nowhere")
        .press("Enter")
        .settle()
        .press("b");
    for _ in 0..12 {
        app.answer(app.pending.len() - 1);
    }
    let before = count_older_requests(&app);
    assert!(before > 2, "{before}");
    assert!(app.model.load_older.running.unwrap().loaded >= 100);
    app.press("Ctrl-x").settle();
    assert_eq!(app.model.load_older.running, None);
    assert_eq!(count_older_requests(&app), before, "no other starts");
    app.press("b").settle();
    assert_eq!(app.model.list.archive_total, Some(4_000));
    assert_eq!(count_older_requests(&app), 30);
    app.press("b");
    app.shows_notice("all mail as of 09:42 is loaded");
}

#[test]
fn stopped_fetch_at_list_end_waits_for_key() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(100).older(9));
    app.press("G");
    app.answer_archive();
    let request = app.find(effect!(Effect::LoadOlder(request, _) => *request));
    app.press("k");
    app.shows(&["fetching older emails…; Ctrl-x stops"]);
    app.press("Ctrl-x");
    app.shows_notice("stopped fetching older emails; b continues");
    assert!(!app.model.is_wanted(RequestKind::LoadOlder, request));
    let before = count_older_requests(&app);
    app.press("j k").settle();
    app.wait_for_refresh();
    assert_eq!(count_older_requests(&app), before);
    app.press("Ctrl-x");
    app.shows_notice("nothing to stop");
    app.press("b");
    assert!(count_older_requests(&app) > before);
}

/// Searches older mail for a filter without matches;
/// returns the request, which has no answer yet.
fn request_older(app: &mut AppHarness) -> RequestId {
    app.search("nowhere").press("b");
    app.take(effect!(Effect::LoadOlder(request, _) => *request))
}

#[test]
fn age_limited_archive_offers_no_older_mail() {
    let mut service = FakeService::with_emails(50);
    (service.older_pages, service.left_out.has_age_limit) = (3, true);
    let mut app = AppHarness::at_rest(120, 40, service);
    let request = request_older(&mut app);
    // All of the page is older than the limit.
    let report = SyncReport {
        coverage: app.model.service.coverage.clone().unwrap(),
        ..SyncReport::default()
    };
    app.happen(Message::OlderLoaded(request, Ok(report)));
    app.answer_archive();
    assert!(!app.model.can_load_older());
    app.press("b");
    let limited = "the archive keeps no older mail (keep, or archive purge --older)";
    assert_eq!(app.notice(), limited);
    app.press("r");
    app.answer_first(effect!(Effect::Refresh(..)));
    assert!(!app.model.can_load_older(), "after a refresh, too");
}

#[test]
fn older_search_ends_when_service_fails() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(50).older(3));
    let request = request_older(&mut app);
    let error = Error::new(ErrorKind::Unreachable, "no route");
    app.happen(Message::OlderLoaded(request, Err(error)));
    assert_eq!(app.model.load_older.running, None);
    assert!(app.model.notice_text().is_some());
    app.settle();
}

#[test]
fn enter_below_last_row_searches_older_mail() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(3));
    app.press("/").write("#5").press("Enter G").settle();
    assert_eq!(app.selected(), 5);
    assert!(load_more_row(&app) == Some(false), "there may be more");
    app.press("Enter q").settle();
    assert_eq!(app.selected(), 5);
    assert_eq!(app.model.load_older.running, None, "the email is read");
    app.press("j j j").settle();
    assert!(app.model.list.is_on_load_more_row());
    assert_eq!(app.selected(), 5, "an email stays selected");
    app.press("k").settle();
    assert!(!app.model.list.is_on_load_more_row());
    assert_eq!(app.selected(), 5);
    app.press("j Enter").settle();
    assert_eq!(app.model.list.archive_total, Some(500), "none has a 5");
    assert_eq!(app.model.load_older.running, None);
    assert!(load_more_row(&app).is_none(), "everything was looked at");

    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(3));
    app.search("#-").press("Enter").settle();
    assert!(app.model.list.total > Some(0));
    app.press("G j").settle();
    let last = app.selected();
    app.press("Enter").settle();
    assert!(app.selected() < last, "what comes is gone on to");
}

#[test]
fn older_search_stops_at_filter_date() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(3));
    app.search("after:2d");
    app.press("G j").settle();
    assert!(load_more_row(&app).is_none());
    app.press("b").settle();
    app.shows_notice("nothing older can match: the filter begins at 18 Nov");
    assert_eq!(app.model.list.archive_total, Some(200));
}

#[test]
fn running_older_search_stops_at_filter_date() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(9));
    app.search("nowhere after:2026-10-30");
    assert_eq!(app.model.check_load_older(), Ok(()), "back to 3 Nov");
    app.press("b").settle();
    assert_eq!(count_older_requests(&app), 2);
    assert_eq!(app.model.load_older.running, None);
    app.shows_notice("nothing older can match: the filter begins at 30 Oct");
    app.press("j").settle();
    assert!(!app.model.may_find_older());
    app.shows(&["Nothing older can match: the filter begins at 30 Oct."]);
}

/// A filter without matches at a service with so many older pages.
fn without_matches(older_pages: u64) -> AppHarness {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(older_pages));
    app.press("/").write("nowhere");
    app.settle();
    app
}

#[test]
fn filter_with_few_matches_searches_older_mail_itself() {
    let mut app = without_matches(102);
    app.fire(TimerKind::AutomaticSearch);
    app.settle();
    assert_eq!(count_older_requests(&app), 0, "not while it is typed");
    app.press("Enter").settle();
    assert_eq!(count_older_requests(&app), 0, "not at once");
    app.fire(TimerKind::AutomaticSearch);
    let priorities: Vec<Priority> =
        app.requested(effect!(Effect::LoadOlder(_, priority) => *priority));
    let expected = [Priority::Backfill];
    assert_eq!(priorities, expected, "no key was pressed for it");
    app.shows(&["searching older mail: 0 of 100 requests, since 3 Nov 17:42; Ctrl-x stops"]);
    for page in 1..=100 {
        answer_with_short_page(&mut app, page);
    }
    assert_eq!(count_older_requests(&app), 100);
    assert_eq!(app.model.load_older.running, None);
    app.shows_notice("searched older mail with 100 requests; b continues");
    app.fire(TimerKind::AutomaticSearch);
    assert_eq!(count_older_requests(&app), 100, "once");
    app.press("Enter");
    assert_eq!(count_older_requests(&app), 101, "the user continues it");
}

/// Answers the request for older mail with a page that extends the coverage by a
/// day.
fn answer_with_short_page(app: &mut AppHarness, page: i64) {
    let request = app.take(effect!(Effect::LoadOlder(request, _) => *request));
    let since = now().checked_sub((20 + page).days()).unwrap();
    let report = SyncReport {
        coverage: Coverage::Since(ApiTime::parse(&since.timestamp().to_string())),
        ..sync_report(1)
    };
    app.happen(Message::OlderLoaded(request, Ok(report)));
    app.answer_archive();
}

#[test]
fn moving_or_stopping_ends_automatic_search() {
    for key in ["j", "Ctrl-x"] {
        let mut app = without_matches(5);
        app.press("Enter").settle();
        app.fire(TimerKind::AutomaticSearch);
        assert!(app.model.load_older.running.is_some());
        app.press(key).settle();
        assert_eq!(app.model.load_older.running, None, "{key}");
        app.shows_notice("stopped searching older mail; b continues");
        app.fire(TimerKind::AutomaticSearch);
        app.settle();
        assert_eq!(count_older_requests(&app), 1, "{key}");
    }
}

#[test]
fn search_that_begins_anyway_is_not_offered() {
    let mut app = without_matches(5);
    app.press("Enter").settle();
    app.shows(&["older mail is searched next"]);
    app.hides(&["Enter searches older mail"]);
    app.fire(TimerKind::AutomaticSearch);
    app.shows(&["searching older mail"]);
    app.press("Ctrl-x").settle();
    app.shows(&["Enter searches older mail"]);
}

#[test]
fn key_turns_automatic_search_into_interactive_one() {
    let mut app = without_matches(5);
    app.press("Enter").settle();
    app.fire(TimerKind::AutomaticSearch);
    app.press("b");
    let priority = app.find(effect!(Effect::LoadOlder(_, priority) => *priority));
    assert_eq!(priority, Priority::Interactive, "requested again");
    app.settle();
    assert_eq!(app.model.service.coverage, Some(Coverage::Complete));
}

#[test]
fn full_or_complete_screen_needs_no_automatic_search() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(9));
    for filter in ["receipt", "nowhere after:2d"] {
        app.press("/ Ctrl-u").write(filter).press("Enter");
        app.settle();
        app.fire(TimerKind::AutomaticSearch);
        app.settle();
        assert_eq!(count_older_requests(&app), 0, "{filter}");
    }
}

#[test]
fn date_beyond_reach_is_loaded_after_a_question() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(30));
    let go = |app: &mut AppHarness| {
        app.press("g d").write("2026-10-22").press("Enter");
        app.settle();
    };
    go(&mut app);
    assert_eq!(count_older_requests(&app), 0, "a question comes first");
    app.shows(&["Load mail back to 22 Oct?", "about 4 requests"]);
    app.press("Esc").settle();
    assert_eq!((app.selected(), count_older_requests(&app)), (199, 0));

    go(&mut app);
    app.press("Enter");
    app.shows(&[
        "loading mail back to 22 Oct: 0 requests, since 3 Nov 17:42, about 4 to go; Ctrl-x stops",
    ]);
    app.settle();
    let jumps = app.count(|effect| {
        let at_time = |anchor: &WindowAnchor| matches!(anchor, WindowAnchor::AtTime(_));
        matches!(effect, Effect::LoadWindow(_, it) if at_time(&it.anchor))
    });
    assert_eq!(count_older_requests(&app), 4);
    assert_eq!(app.model.load_older.running, None);
    assert_eq!(jumps, 1);
}

#[test]
fn loading_all_names_the_true_oldest_day() {
    let go = |date: &str| {
        let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(1));
        app.press("g d").write(date).press("Enter Enter").settle();
        assert_eq!(count_older_requests(&app), 1);
        assert_eq!(app.model.service.coverage, Some(Coverage::Complete));
        app.model.take_notice()
    };
    assert_eq!(go("2026-11-01"), None);
    let notice = Some("the oldest email is of 30 Oct".to_owned());
    assert_eq!(go("2026-10-20"), notice);
}

#[test]
fn quiet_time_does_not_lower_estimated_requests() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(30));
    let later = app.model.now.checked_add(200.days()).unwrap();
    app.set_time(later);
    app.press("g d").write("2026-10-22").press("Enter");
    app.shows(&["about 4 requests"]);

    let oldest = app.model.list.archive_span.unwrap().0;
    app.model.list.archive_span = Some((oldest, oldest));
    app.shows(&["not known how many requests"]);
}

#[test]
fn stopping_load_to_date_keeps_the_selection() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(30));
    app.press("g d").write("2026-10-22").press("Enter Enter");
    app.press("Ctrl-x").settle();
    assert_eq!(app.selected(), 199);
    app.shows_notice("stopped loading older mail");
    assert_eq!(count_older_requests(&app), 1);
}

#[test]
fn whole_id_is_retrieved_instead_of_searched() {
    let id = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(5));
    app.search(&format!("id:{id}"));
    app.fire(TimerKind::AutomaticSearch);
    let request = app.take(effect!(Effect::RetrieveById(request, _) => *request));
    let requested = app.requested(effect!(Effect::RetrieveById(_, id) => id.clone()));
    assert_eq!(requested, [EmailId::new(id)]);
    assert!(app.model.is_wanted(RequestKind::RetrieveById, request));
    app.shows(&["asking the service for this id…; Ctrl-x stops"]);
    let gone = Error::new(ErrorKind::NotFound, "there is no email with this id");
    app.happen(Message::RetrievedById(request, Err(gone)));
    app.shows_notice("the service has no email with this id");
    app.settle();
    assert_eq!(count_older_requests(&app), 0);
    app.press("/ Ctrl-u").write(id).press("Enter").settle();
    app.fire(TimerKind::AutomaticSearch);
    let request = app.take(effect!(Effect::RetrieveById(request, _) => *request));
    let gone = Error::new(ErrorKind::NotFound, "there is no email with this id");
    app.happen(Message::RetrievedById(request, Err(gone)));
    assert_eq!(count_older_requests(&app), 1, "a subject may have it");
    app.press("Ctrl-x / Ctrl-u")
        .write(&format!("id:{id}"))
        .press("Enter")
        .settle();
    app.fire(TimerKind::AutomaticSearch);
    let request = app.find(effect!(Effect::RetrieveById(request, _) => *request));
    app.press("Ctrl-x");
    app.shows_notice("stopped asking for this id; b searches");
    assert!(!app.model.is_wanted(RequestKind::RetrieveById, request));
}

/// A filter by the id of an older email, and the request for that.
fn searched_by_id() -> (AppHarness, RequestId) {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(5));
    app.search("id:49a3999c-0ce1-4ea6-ab68-afcd6dc2e794");
    app.fire(TimerKind::AutomaticSearch);
    let request = app.take(effect!(Effect::RetrieveById(request, _) => *request));
    (app, request)
}

#[test]
fn another_filter_drops_the_request_for_an_id() {
    let (mut app, request) = searched_by_id();
    app.press("/ Ctrl-u")
        .write("nowhere")
        .press("Enter")
        .settle();
    assert!(!app.model.is_wanted(RequestKind::RetrieveById, request));
    assert!(!app.model.load_older.is_retrieving_by_id());
}

#[test]
fn purged_id_is_not_called_absent() {
    let (mut app, request) = searched_by_id();
    app.happen(Message::RetrievedById(request, Ok(false)));
    app.shows_notice(
        "the service has this email, but the archive leaves it out: it was purged, or is too old",
    );
}

#[test]
fn purged_id_is_named_without_a_request() {
    let mut service = FakeService::with_emails(200);
    service.is_purged = true;
    let mut app = AppHarness::at_rest(120, 40, service);
    for _ in 0..2 {
        app.search("id:49a3999c-0ce1-4ea6-ab68-afcd6dc2e794");
        let shown = screen(&app).contains("This email was purged: the archive leaves it out.");
        assert_eq!(shown, app.service.is_purged);
        app.press("Esc").settle();
        app.service.is_purged = false;
    }
}
