//! Refresh, errors of the service and older mail by messages.

use super::load_more_row::load_more_row;
use crate::api::Priority;
use crate::app::tests::env::{Mailbox, World, now, session, sync_report};
use crate::app::{Effect, Message, RequestId, TimerKind};
use crate::archive::{Coverage, WindowAnchor};
use crate::error::{Error, ErrorKind};
use crate::mail::ApiTime;
use crate::sync::SyncReport;
use jiff::ToSpan as _;

fn count_older_requests(world: &World) -> usize {
    let effects = world.asked.iter();
    effects
        .filter(|effect| matches!(effect, Effect::LoadOlder(..)))
        .count()
}

#[test]
fn older_pages_load_before_end_one_by_one() {
    let mut mailbox = Mailbox::of(90);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    assert_eq!(
        count_older_requests(&world),
        0,
        "far from the end nothing is fetched"
    );
    for _ in 0..60 {
        world.press("j");
    }
    assert_eq!(
        count_older_requests(&world),
        1,
        "holding a key is no storm of requests"
    );
    world.settle();
    assert_eq!(world.mailbox.rows.len(), 190);
    world.press("G").settle();
    world.press("G").settle();
    assert_eq!(world.mailbox.rows.len(), 390);
    world.press("G").settle();
    assert_eq!(
        count_older_requests(&world),
        3,
        "everything is there, so nothing more is asked"
    );
}

#[test]
fn failed_older_page_is_retried_after_pause() {
    let mut mailbox = Mailbox::of(20);
    mailbox.older_pages = 1;
    let mut world = World::start((120, 40), session(), mailbox);
    let failure = Error::new(ErrorKind::Unreachable, "no route");
    for _ in 0..40 {
        let Some(n) = world
            .pending
            .iter()
            .position(|effect| !matches!(effect, Effect::Timer { .. }))
        else {
            break;
        };
        if let Effect::LoadOlder(request, _) = world.pending[n] {
            world.pending.remove(n);
            world.happen(Message::OlderLoaded(request, Err(failure.clone())));
        } else {
            world.answer(n);
        }
    }
    world.press("j k j k");
    let extends = world
        .asked
        .iter()
        .filter(|effect| matches!(effect, Effect::LoadOlder(..)))
        .count();
    assert_eq!(extends, 1);
    assert!(world.pending.iter().any(|effect| matches!(
        effect,
        Effect::Timer {
            kind: TimerKind::LoadOlder,
            ..
        }
    )));
    assert_eq!(world.model.service.error.as_ref(), Some(&failure));
}

#[test]
fn missing_key_sends_nothing_and_shows_archive() {
    let failure = Error::new(ErrorKind::KeyMissing, "there is no key");
    let mut start = session();
    start.service_error = Some(failure.clone());
    let mut world = World::start((120, 40), start, Mailbox::of(5));
    world.settle();
    assert!(
        !world
            .asked
            .iter()
            .any(|effect| matches!(effect, Effect::Refresh(..) | Effect::LoadOlder(..)))
    );
    assert_eq!(world.selected(), 4);
    assert_eq!(world.model.service.unavailable.as_ref(), Some(&failure));
}

#[test]
fn rejected_key_stops_requests() {
    let mut world = World::start((80, 24), session(), Mailbox::of(0));
    let Effect::Refresh(request, _) = world.pending[1] else {
        panic!("the second effect is the refresh")
    };
    world.happen(Message::Refreshed(
        request,
        Err(Error::new(ErrorKind::KeyRejected, "the key is not valid")),
    ));
    let is_refresh = |effect: &&Effect| {
        matches!(
            effect,
            Effect::Refresh(..)
                | Effect::Timer {
                    kind: TimerKind::Refresh,
                    ..
                }
        )
    };
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::Refresh(..)));
    assert_eq!(world.pending.iter().find(is_refresh), None);
    world.press("r");
    assert!(
        world
            .pending
            .iter()
            .any(|effect| matches!(effect, Effect::Refresh(..))),
        "but a user may request it"
    );
    world.settle();
    assert_eq!(world.model.service.unavailable.as_ref(), None);
    assert!(
        world.pending.iter().any(|effect| matches!(
            effect,
            Effect::Timer {
                kind: TimerKind::Refresh,
                ..
            }
        )),
        "and it goes on"
    );
}

#[test]
fn next_refresh_waits_for_a_quota_and_looks_whether_a_pause_has_ended() {
    let quota = Error::new(ErrorKind::Quota, "the team's quota is used up");
    let mut pause = Error::new(ErrorKind::RateLimited, "the service requests a pause");
    pause.retry_after = Some(std::time::Duration::from_hours(24));
    for (error, minutes) in [(quota, 60), (pause, 2)] {
        let mut world = World::start((80, 24), session(), Mailbox::of(5));
        let Effect::Refresh(request, _) = world.pending[1] else {
            panic!("the second effect is the refresh")
        };
        world.happen(Message::Refreshed(request, Err(error)));
        let pause = world.pending.iter().find_map(|effect| match effect {
            Effect::Timer {
                kind: TimerKind::Refresh,
                pause,
                ..
            } => Some(*pause),
            _ => None,
        });
        assert_eq!(pause, Some(std::time::Duration::from_mins(minutes)));
    }
}

#[test]
fn manual_refresh_reports_result() {
    let mut world = World::at_rest(120, 40, Mailbox::of(500));
    world.press("r");
    assert_eq!(world.model.notice.as_deref(), Some("refreshing"));
    world.settle();
    assert_eq!(world.model.notice.as_deref(), Some("nothing new"));
    world.mailbox.arriving = 3;
    world.press("r").settle();
    assert_eq!(world.model.notice.as_deref(), Some("3 new"));
}

#[test]
fn end_of_loaded_mail_is_reported() {
    let mut mailbox = Mailbox::of(300);
    mailbox.older_pages = 1;
    let mut world = World::at_rest(120, 40, mailbox);
    world.press("G");
    assert!(
        world
            .model
            .notice
            .as_deref()
            .is_some_and(|notice| notice.contains("loaded so far"))
    );
    world.settle().press("G").settle().press("G");
    assert_eq!(world.model.notice, None);
}

#[test]
fn older_search_ends_when_full_exhausted_or_stopped() {
    let mut mailbox = Mailbox::of(1_000);
    mailbox.older_pages = 30;
    let mut world = World::at_rest(120, 40, mailbox);
    world.press("/").write("#-1").press("Enter").settle();
    assert_eq!(
        (world.model.list.total, count_older_requests(&world)),
        (Some(0), 0),
        "a filter alone sends no request"
    );
    world.press("b").settle();
    assert_eq!(
        (world.model.list.total, count_older_requests(&world)),
        (Some(111), 2),
        "the second page has enough for a screen"
    );
    assert_eq!(
        (world.model.load_older, world.model.list.archive_total),
        (None, Some(1_200))
    );

    world
        .press("/ Ctrl-u")
        .write("nowhere")
        .press("Enter")
        .settle()
        .press("b");
    for _ in 0..12 {
        world.answer(world.pending.len() - 1);
    }
    let before = count_older_requests(&world);
    assert!(
        before > 2
            && world
                .model
                .load_older
                .is_some_and(|look_back| look_back.loaded >= 100),
        "{before}"
    );
    world.press("Ctrl-x").settle();
    assert_eq!(
        (world.model.load_older, count_older_requests(&world)),
        (None, before),
        "the running request ends, and no other starts"
    );
    world.press("b").settle();
    assert_eq!(
        (world.model.list.archive_total, count_older_requests(&world)),
        (Some(4_000), 30),
        "until there is nothing more"
    );
    world.press("b");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("all mail as of 09:42 is loaded"),
        "with its time, because it stays when the service fails"
    );
}

/// Searches older mail for a filter without matches; returns the request, which has no answer yet.
fn request_older(world: &mut World) -> RequestId {
    world
        .press("/")
        .write("nowhere")
        .press("Enter")
        .settle()
        .press("b");
    let Some(Effect::LoadOlder(request, _)) = world.pending.pop() else {
        panic!("a page is requested")
    };
    request
}

#[test]
fn archive_with_an_age_limit_offers_no_older_mail() {
    let mut mailbox = Mailbox::of(50);
    (mailbox.older_pages, mailbox.left_out.old) = (3, true);
    let mut world = World::at_rest(120, 40, mailbox);
    let request = request_older(&mut world);
    // All of the page is older than the limit.
    let report = SyncReport {
        coverage: world
            .model
            .service
            .coverage
            .clone()
            .expect("the coverage is known"),
        ..SyncReport::default()
    };
    world.happen(Message::OlderLoaded(request, Ok(report)));
    world.answer_archive();
    assert!(!world.model.can_load_older());
    world.press("b");
    let limited = "the archive keeps no older mail (keep, or archive purge --older)";
    assert_eq!(world.model.notice.as_deref(), Some(limited));
    world.press("r");
    let is_refresh = |effect: &Effect| matches!(effect, Effect::Refresh(..));
    let refresh = world.pending.iter().position(is_refresh);
    world.answer(refresh.expect("a refresh is requested"));
    assert!(
        !world.model.can_load_older(),
        "a refresh does not end the limit"
    );
}

#[test]
fn older_search_ends_when_service_fails() {
    let mut mailbox = Mailbox::of(50);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    let request = request_older(&mut world);
    world.happen(Message::OlderLoaded(
        request,
        Err(Error::new(ErrorKind::Unreachable, "no route")),
    ));
    assert_eq!(world.model.load_older, None);
    assert!(world.model.notice.is_some());
    world.settle();
}

#[test]
fn enter_below_last_row_searches_older_mail() {
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    world.press("/").write("#5").press("Enter G").settle();
    assert_eq!(world.selected(), 5);
    assert!(load_more_row(&world) == Some(false), "there may be more");
    world.press("Enter q").settle();
    assert_eq!(
        (world.selected(), world.model.load_older),
        (5, None),
        "the last email is read like any other"
    );
    world.press("j j j").settle();
    assert!(world.model.list.is_on_load_more_row());
    assert_eq!(world.selected(), 5, "an email stays selected");
    world.press("k").settle();
    assert!(!world.model.list.is_on_load_more_row());
    assert_eq!(world.selected(), 5);
    world.press("j Enter").settle();
    assert_eq!(
        (world.model.list.archive_total, world.model.load_older),
        (Some(500), None),
        "until everything is read: nothing older has a 5"
    );
    assert!(load_more_row(&world).is_none(), "everything was looked at");

    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    world
        .press("/")
        .write("#-")
        .press("Enter")
        .settle()
        .press("Enter")
        .settle();
    assert!(
        world.model.list.total > Some(0),
        "where nothing is found, too"
    );
    world.press("G j").settle();
    let last = world.selected();
    world.press("Enter").settle();
    assert!(world.selected() < last, "what comes is gone on to");
}

#[test]
fn older_search_stops_at_filter_date() {
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    world.press("/").write("after:2d").press("Enter").settle();
    world.press("G j").settle();
    assert!(load_more_row(&world).is_none());
    world.press("b").settle();
    assert_eq!(
        world.model.notice.as_deref(),
        Some("nothing older can match: the filter begins at 18 Nov")
    );
    assert_eq!(world.model.list.archive_total, Some(200));
}

#[test]
fn running_older_search_stops_at_filter_date() {
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 9;
    let mut world = World::at_rest(120, 40, mailbox);
    world
        .press("/")
        .write("nowhere after:2026-10-30")
        .press("Enter")
        .settle();
    assert_eq!(
        world.model.check_load_older(),
        Ok(()),
        "the oldest loaded email is of 3 Nov"
    );
    world.press("b").settle();
    assert_eq!(
        (count_older_requests(&world), world.model.load_older),
        (2, None)
    );
    assert_eq!(
        world.model.notice.as_deref(),
        Some("nothing older can match: the filter begins at 30 Oct")
    );
    world.press("j").settle();
    assert!(!world.model.may_find_older());
    assert!(
        crate::view::tests::screen(&world)
            .contains("Nothing older can match: the filter begins at 30 Oct.")
    );
}

/// Lets the user rest for a second.
fn rest(world: &mut World) {
    let timer = |effect: &Effect| {
        let kind = TimerKind::AutomaticSearch;
        matches!(effect, Effect::Timer { kind: found, .. } if *found == kind)
    };
    if let Some(n) = world.pending.iter().rposition(timer) {
        world.answer(n);
    }
}

/// A filter without matches in a mailbox with so many older pages.
fn without_matches(older_pages: u64) -> World {
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = older_pages;
    let mut world = World::at_rest(120, 40, mailbox);
    world.press("/").write("nowhere");
    world.settle();
    world
}

#[test]
fn filter_with_few_matches_searches_older_mail_itself() {
    let mut world = without_matches(102);
    rest(&mut world);
    world.settle();
    assert_eq!(count_older_requests(&world), 0, "not while it is typed");
    world.press("Enter").settle();
    assert_eq!(count_older_requests(&world), 0, "not at once");
    rest(&mut world);
    let priorities: Vec<Priority> = world
        .asked
        .iter()
        .filter_map(|effect| match effect {
            Effect::LoadOlder(_, priority) => Some(*priority),
            _ => None,
        })
        .collect();
    assert_eq!(
        priorities,
        [Priority::Backfill],
        "no key was pressed for it"
    );
    let shown = crate::view::tests::screen(&world);
    assert!(
        shown.contains("searching older mail: 0 of 100 requests, since 3 Nov; Ctrl-x stops"),
        "{shown}"
    );
    for page in 1..=100 {
        answer_with_short_page(&mut world, page);
    }
    assert_eq!(
        (count_older_requests(&world), world.model.load_older),
        (100, None)
    );
    assert_eq!(
        world.model.notice.as_deref(),
        Some("searched older mail with 100 requests; b continues")
    );
    rest(&mut world);
    assert_eq!(count_older_requests(&world), 100, "once");
    world.press("Enter");
    assert_eq!(count_older_requests(&world), 101, "the user continues it");
}

/// Answers the request for older mail with a page that extends the coverage by a day.
fn answer_with_short_page(world: &mut World, page: i64) {
    let is_older = |effect: &Effect| matches!(effect, Effect::LoadOlder(..));
    let n = world.pending.iter().position(is_older).unwrap();
    let Effect::LoadOlder(request, _) = world.pending.remove(n) else {
        unreachable!("it is one")
    };
    let since = now().checked_sub((20 + page).days()).unwrap();
    let report = SyncReport {
        coverage: Coverage::Since(ApiTime::parse(&since.timestamp().to_string())),
        ..sync_report(1)
    };
    world.happen(Message::OlderLoaded(request, Ok(report)));
    world.answer_archive();
}

#[test]
fn moving_or_stopping_ends_automatic_search() {
    for key in ["j", "Ctrl-x"] {
        let mut world = without_matches(5);
        world.press("Enter").settle();
        rest(&mut world);
        assert!(world.model.load_older.is_some());
        world.press(key).settle();
        assert_eq!(world.model.load_older, None, "{key}");
        assert_eq!(
            world.model.notice.as_deref(),
            Some("stopped searching older mail; b continues")
        );
        rest(&mut world);
        world.settle();
        assert_eq!(count_older_requests(&world), 1, "{key}");
    }
}

#[test]
fn key_turns_automatic_search_into_interactive_one() {
    let mut world = without_matches(5);
    world.press("Enter").settle();
    rest(&mut world);
    world.press("b");
    let Some(Effect::LoadOlder(_, priority)) = world.pending.last() else {
        panic!("the page is requested again")
    };
    assert_eq!(*priority, Priority::Interactive);
    world.settle();
    assert_eq!(world.model.service.coverage, Some(Coverage::Complete));
}

#[test]
fn full_or_complete_screen_needs_no_automatic_search() {
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 9;
    let mut world = World::at_rest(120, 40, mailbox);
    for filter in ["receipt", "nowhere after:2d"] {
        world.press("/ Ctrl-u").write(filter).press("Enter");
        world.settle();
        rest(&mut world);
        world.settle();
        assert_eq!(count_older_requests(&world), 0, "{filter}");
    }
}

#[test]
fn date_beyond_reach_is_loaded_after_a_question() {
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 30;
    let mut world = World::at_rest(120, 40, mailbox);
    let go = |world: &mut World| {
        world.press("g d").write("2026-10-22").press("Enter");
        world.settle();
    };
    go(&mut world);
    assert_eq!(count_older_requests(&world), 0, "a question comes first");
    let shown = crate::view::tests::screen(&world);
    assert!(shown.contains("Load mail back to 22 Oct?"), "{shown}");
    assert!(shown.contains("about 4 requests"), "{shown}");
    world.press("Esc").settle();
    assert_eq!((world.selected(), count_older_requests(&world)), (199, 0));

    go(&mut world);
    world.press("Enter");
    let shown = crate::view::tests::screen(&world);
    assert!(
        shown.contains(
            "loading mail back to 22 Oct: 0 requests, since 3 Nov, about 4 to go; Ctrl-x stops"
        ),
        "{shown}"
    );
    world.settle();
    let jumps = world.count(|effect| {
        let at_time = |anchor: &WindowAnchor| matches!(anchor, WindowAnchor::AtTime(_));
        matches!(effect, Effect::LoadWindow { anchor, .. } if at_time(anchor))
    });
    assert_eq!(
        (count_older_requests(&world), world.model.load_older, jumps),
        (4, None, 1)
    );
}

#[test]
fn quiet_time_does_not_lower_estimated_requests() {
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 30;
    let mut world = World::at_rest(120, 40, mailbox);
    let later = world.model.now.checked_add(200.days()).unwrap();
    world.set_time(later);
    world.press("g d").write("2026-10-22").press("Enter");
    let shown = crate::view::tests::screen(&world);
    assert!(shown.contains("about 4 requests"), "{shown}");

    let oldest = world.model.list.archive_span.unwrap().0;
    world.model.list.archive_span = Some((oldest, oldest));
    let shown = crate::view::tests::screen(&world);
    assert!(shown.contains("not known how many requests"), "{shown}");
}

#[test]
fn stopped_loading_to_a_date_stays_where_it_is() {
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 30;
    let mut world = World::at_rest(120, 40, mailbox);
    world.press("g d").write("2026-10-22").press("Enter Enter");
    world.press("Ctrl-x").settle();
    assert_eq!(
        (
            world.selected(),
            world.model.notice.as_deref(),
            count_older_requests(&world)
        ),
        (199, Some("stopped loading older mail"), 1)
    );
}
