//! Background requests (no key press) and the cancellation of obsolete ones.

use std::time::Duration;

use crate::api::{Priority, RateBudget};
use crate::app::{Effect, Message, RequestId, RequestKind, SessionInfo, TimerKind};
use crate::archive::Coverage;
use crate::config::HistorySpan;
use crate::error::{Error, ErrorKind};
use crate::sync::BackfillStep;
use jiff::SignedDuration;

use crate::app::tests::BUDGET;
use crate::app::tests::env::{AppHarness, FakeService, effect, session};

/// A service that has more pages.
fn deep(pages: u64) -> FakeService {
    FakeService {
        older_pages: pages,
        ..FakeService::with_emails(1_000)
    }
}

fn backfills(app: &AppHarness) -> usize {
    app.count(effect!(Effect::Backfill(_)))
}

fn running_older(app: &AppHarness) -> RequestId {
    app.find(effect!(Effect::LoadOlder(request, _) => *request))
}

fn running_backfill(app: &AppHarness) -> RequestId {
    app.find(effect!(Effect::Backfill(request) => *request))
}

fn running_email(app: &AppHarness) -> RequestId {
    app.find(effect!(Effect::LoadEmail { request, .. } => *request))
}

fn with_backfill(backfill: HistorySpan, service: FakeService) -> AppHarness {
    let session = SessionInfo {
        backfill,
        ..session()
    };
    AppHarness::start((120, 40), session, service)
}

fn is_older_wanted(app: &AppHarness, request: RequestId) -> bool {
    app.model.is_wanted(RequestKind::LoadOlder, request)
}

#[test]
fn stopped_search_cancels_queued_page() {
    let mut app = AppHarness::at_rest(120, 40, deep(3));
    app.search("nowhere").press("b");
    let request = app.take(effect!(Effect::LoadOlder(request, _) => *request));
    assert!(is_older_wanted(&app, request));
    app.press("Ctrl-x");
    assert!(!is_older_wanted(&app, request));
    app.happen(Message::RequestCancelled(request, RequestKind::LoadOlder));
    assert!(!app.model.service.is_loading_older() && app.model.service.error.as_ref().is_none());
    app.press("b");
    assert!(is_older_wanted(&app, running_older(&app)), "and again");
}

#[test]
fn leaving_the_end_cancels_older_page() {
    let mut app = AppHarness::at_rest(120, 40, deep(3));
    app.press("G").answer_archive();
    let request = running_older(&app);
    assert!(is_older_wanted(&app, request));
    app.press("/").write("receipt").press("Enter");
    app.answer_archive();
    assert!(!is_older_wanted(&app, request), "the filter changed");
    app.press("Esc").answer_archive();
    assert!(is_older_wanted(&app, request), "back again");
    app.press("g g").answer_archive();
    assert!(!is_older_wanted(&app, request), "the selection moved away");
}

#[test]
fn passed_email_is_cancelled() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(20));
    app.press("j Enter");
    let request = running_email(&app);
    assert!(app.model.is_wanted(RequestKind::LoadEmail, request));
    app.press("J");
    assert!(!app.model.is_wanted(RequestKind::LoadEmail, request));
}

#[test]
fn first_email_is_urgent_only_when_opened() {
    let mut app = AppHarness::start((120, 40), session(), FakeService::with_emails(20));
    app.answer_archive();
    app.fire(TimerKind::Selection);
    let priority = |app: &AppHarness| {
        app.requested(effect!(Effect::LoadEmail { priority, .. } => *priority))
            .pop()
    };
    assert_eq!(priority(&app), Some(Priority::Backfill));
    let first = running_email(&app);
    app.press("Enter");
    assert_eq!(priority(&app), Some(Priority::Interactive));
    assert!(!app.model.is_wanted(RequestKind::LoadEmail, first));
    let second = running_email(&app);
    assert!(app.model.is_wanted(RequestKind::LoadEmail, second));
}

#[test]
fn opening_failed_email_retries() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(20));
    app.press("j Enter");
    let request = app.take(effect!(Effect::LoadEmail { request, .. } => *request));
    let error = Error::new(ErrorKind::Unreachable, "no route");
    app.happen(Message::EmailLoaded(request, Err(error)));
    app.press("q Enter");
    assert_ne!(running_email(&app), request);
}

#[test]
fn listed_email_that_is_missing_blames_no_id() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(20));
    app.press("j Enter");
    let request = running_email(&app);
    let gone = Error::new(ErrorKind::NotFound, "the service has no such email");
    let gone = gone.with_hint("check the id; the service deletes old mail");
    app.happen(Message::EmailLoaded(request, Err(gone)));
    app.shows(&["what it listed is kept here"]);
    app.hides(&["heck the id"]);
}

#[test]
fn manual_refresh_replaces_background_refresh() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(20));
    app.fire(TimerKind::Refresh);
    let requested = |app: &AppHarness| {
        let refreshes = app
            .pending
            .iter()
            .filter_map(effect!(Effect::Refresh(request, priority) => (*request, *priority)));
        refreshes.collect::<Vec<_>>()
    };
    let [(by_the_clock, Priority::Refresh)] = requested(&app)[..] else {
        panic!("{:?}", requested(&app))
    };
    app.press("r");
    let [_, (by_hand, Priority::Interactive)] = requested(&app)[..] else {
        panic!("{:?}", requested(&app))
    };
    assert!(!app.model.is_wanted(RequestKind::Refresh, by_the_clock));
    assert!(app.model.is_wanted(RequestKind::Refresh, by_hand));
    app.press("r");
    assert_eq!(requested(&app).len(), 2, "once is enough");
}

#[test]
fn full_backfill_loads_page_by_page() {
    let mut app = with_backfill(HistorySpan::All, deep(5));
    app.settle();
    assert_eq!(backfills(&app), 5);
    assert_eq!(app.model.service.coverage, Some(Coverage::Complete));
    assert!(!app.model.service.is_backfilling());
    let mut app = with_backfill(HistorySpan::Off, deep(5));
    app.settle();
    assert_eq!(backfills(&app), 0);
}

#[test]
fn backfill_of_days_stops_there() {
    // An email an hour, the oldest 400 hours ago, and a hundred with each page.
    let mut app = with_backfill(HistorySpan::Last(SignedDuration::from_hours(650)), deep(9));
    app.settle();
    assert_eq!(backfills(&app), 3);
    assert!(!app.model.service.is_backfilling());
}

#[test]
fn backfill_yields_to_user_and_stops() {
    let mut app = with_backfill(HistorySpan::All, deep(9));
    while backfills(&app) == 0 {
        app.answer(0);
    }
    let request = app.take(effect!(Effect::Backfill(request) => *request));
    assert!(app.model.is_wanted(RequestKind::Backfill, request));
    assert!(app.model.service.is_backfilling());
    app.press("G").answer_archive();
    // A user requests the same page.
    assert!(!app.model.is_wanted(RequestKind::Backfill, request));
    app.happen(Message::RequestCancelled(request, RequestKind::Backfill));
    assert_eq!(backfills(&app), 1);
    app.answer_first(effect!(Effect::LoadOlder(..)));
    app.press("g g").answer_archive();
    assert_eq!(backfills(&app), 2, "and goes on after it");
    let request = running_backfill(&app);
    app.press("Ctrl-x");
    assert!(!app.model.is_wanted(RequestKind::Backfill, request));
    assert!(!app.model.service.is_backfilling());
    app.settle();
    assert_eq!(backfills(&app), 2);
}

/// A backfill whose first step ends so.
fn paused(step: BackfillStep) -> AppHarness {
    let mut app = with_backfill(HistorySpan::All, deep(9));
    while backfills(&app) == 0 {
        app.answer(0);
    }
    let request = app.take(effect!(Effect::Backfill(request) => *request));
    app.happen(Message::Backfilled(request, Ok(step)));
    app.settle();
    assert_eq!(backfills(&app), 1);
    assert!(!app.model.service.is_backfilling());
    app
}

#[test]
fn backfill_pauses_for_other_process_or_error() {
    let mut app = paused(BackfillStep::OtherProcess);
    app.wait_for_refresh();
    assert!(backfills(&app) > 1, "it looks again after each refresh");
}

#[test]
fn used_up_day_pauses_backfill_until_next_refresh() {
    let mut app = paused(BackfillStep::DayLimit);
    assert!(app.model.service.is_backfill_used_up());
    app.wait_for_refresh();
    let service = &app.model.service;
    assert!(!service.is_backfilling(), "all is loaded");
    assert!(!service.is_backfill_used_up(), "another day");
    assert!(backfills(&app) > 1);
}

#[test]
fn neighbours_of_open_email_are_prefetched() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(20));
    app.press("j j Enter");
    let warmed =
        |app: &AppHarness| app.requested(effect!(Effect::PrefetchEmail(_, id) => id.clone()));
    assert!(warmed(&app).is_empty());
    app.settle();
    let id = |n: usize| app.service.rows[n].summary.id.clone();
    assert_eq!(warmed(&app), [id(3), id(1)], "the older one first");
    app.press("J");
    while warmed(&app).len() == 2 {
        app.answer(0);
    }
    let request = app.find(effect!(Effect::PrefetchEmail(request, _) => *request));
    assert!(app.model.is_wanted(RequestKind::Prefetch, request));
    app.press("J");
    assert!(!app.model.is_wanted(RequestKind::Prefetch, request));
}

#[test]
fn fetched_email_ends_outage() {
    for kind in [ErrorKind::Unreachable, ErrorKind::KeyRejected] {
        fetch_email_during(kind);
    }
}

fn fetch_email_during(kind: ErrorKind) {
    let mut app = AppHarness::start((120, 40), session(), FakeService::with_emails(20));
    app.answer_archive();
    app.fail_refresh(Error::new(kind, "it failed"));
    let refreshes = |app: &AppHarness| app.count(effect!(Effect::Refresh(..)));
    assert_eq!(refreshes(&app), 1);
    let now = app.model.now.timestamp();
    assert_eq!(app.model.service.failing_since(), Some(now));
    app.press("j Enter").settle();
    assert_eq!(refreshes(&app), 2);
    assert_eq!(app.model.service.last_error(), None);
    assert_eq!(app.model.service.failing_since(), None);
}

#[test]
fn countdown_ticks_only_during_pause() {
    let seconds = |app: &AppHarness| app.count(effect!(Effect::Timer(_, TimerKind::Countdown, _)));
    let budget = |paused_for| {
        Some(RateBudget {
            paused_for,
            ..BUDGET
        })
    };
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(20));
    app.set_rate_budget(budget(Duration::ZERO));
    let tick = |app: &mut AppHarness, left| {
        app.set_rate_budget(budget(left));
        app.fire(TimerKind::Countdown);
    };
    app.press("j").settle();
    let before = seconds(&app);
    assert_eq!(before, 1, "while an answer is waited for a pause may begin");
    tick(&mut app, Duration::ZERO);
    app.press("M").settle();
    assert_eq!(seconds(&app), before, "nothing ticks");
    app.set_rate_budget(budget(Duration::from_secs(12)));
    app.press("j");
    assert_eq!(seconds(&app), before + 1);
    tick(&mut app, Duration::from_secs(11));
    assert_eq!(seconds(&app), before + 2);
    app.settle();
    tick(&mut app, Duration::ZERO);
    assert_eq!(seconds(&app), before + 2, "it is over");
}

#[test]
fn countdown_is_obsolete_after_the_answer() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(20));
    app.set_rate_budget(Some(BUDGET));
    app.press("r");
    let request = app.find(effect!(Effect::Timer(request, TimerKind::Countdown, _) => *request));
    let is_wanted =
        |app: &AppHarness| (app.model).is_wanted(crate::app::RequestKind::Countdown, request);
    assert!(is_wanted(&app));
    app.settle();
    assert!(!is_wanted(&app));
}

#[tokio::test(start_paused = true)]
async fn retries_of_several_clients_are_spread() {
    let pause = crate::tui::system_timer();
    let mut taken = Vec::new();
    for _ in 0..8 {
        let began = tokio::time::Instant::now();
        pause(TimerKind::Refresh, Duration::from_secs(20)).await;
        taken.push(began.elapsed());
    }
    let is_in_range = |taken: &Duration| (20.0..=25.1).contains(&taken.as_secs_f64());
    assert!(taken.iter().all(is_in_range), "{taken:?}");
    let (longest, shortest) = (taken.iter().max().unwrap(), taken.iter().min().unwrap());
    assert!(
        longest.abs_diff(*shortest) > Duration::from_millis(100),
        "{taken:?}"
    );
}
