//! The state of the service in title, bar and empty screens: `live` only while it is true.

use std::time::Duration;

use jiff::ToSpan as _;
use ratatui::layout::Size;

use crate::api::RateBudget;
use crate::app::tests::BUDGET;
use crate::app::tests::env::{Mailbox, World, now, session, sync_report};
use crate::app::{Effect, Message, ServiceState, TimerKind};
use crate::archive::Coverage;
use crate::error::{Error, ErrorKind};
use crate::mail::Status;
use crate::sync::{StopReason, SyncReport};
use crate::view::tests::screen;

fn title(world: &World) -> String {
    screen(world).lines().next().unwrap().trim().to_owned()
}

/// A screen whose last refresh fails so.
fn failing(kind: ErrorKind) -> World {
    let mut world = World::at_rest(100, 12, Mailbox::of(50));
    world.press("r");
    let is_refresh = |effect: &Effect| matches!(effect, Effect::Refresh(..));
    let n = world.pending.iter().position(is_refresh).unwrap();
    let Effect::Refresh(request, _) = world.pending.remove(n) else {
        unreachable!("it is one")
    };
    let error = Error::new(kind, "it failed");
    world.happen(Message::Refreshed(request, Err(error)));
    world.settle();
    world
}

/// The result of a refresh that ends for this reason.
fn refreshed(world: &mut World, report: SyncReport) {
    let request = world.model.service.refresh_request.start();
    world.happen(Message::Refreshed(request, Ok(report)));
    world.settle();
}

#[test]
fn notice_of_a_cured_failure_leaves() {
    let mut world = failing(ErrorKind::Unreachable);
    assert!(screen(&world).contains("it failed"), "{}", screen(&world));
    refreshed(&mut world, sync_report(0));
    assert!(!screen(&world).contains("it failed"), "{}", screen(&world));
}

#[test]
fn listing_of_unreadable_emails_is_not_empty() {
    let mut world = World::at_rest(100, 12, Mailbox::of(0));
    assert!(
        screen(&world).contains("its list is empty"),
        "{}",
        screen(&world)
    );
    let unreadable = SyncReport {
        unreadable: 100,
        is_top_unknown: true,
        coverage: Coverage::Unknown,
        ..sync_report(0)
    };
    refreshed(&mut world, unreadable);
    let shown = screen(&world);
    assert!(shown.contains("No email could be read"), "{shown}");
    assert!(!shown.contains("its list is empty"), "{shown}");
    assert!(shown.contains(" r tries again"), "{shown}");
}

#[test]
fn unreadable_newest_page_is_not_live() {
    let mut world = World::at_rest(100, 12, Mailbox::of(50));
    let unreadable = SyncReport {
        unreadable: 1,
        is_top_unknown: true,
        coverage: Coverage::Unknown,
        ..sync_report(1)
    };
    refreshed(&mut world, unreadable);
    let shown = title(&world);
    assert!(
        !shown.contains("live") && !shown.contains("complete"),
        "{shown}"
    );
    refreshed(&mut world, sync_report(0));
    assert!(title(&world).ends_with("live"), "{}", title(&world));
}

#[test]
fn listing_without_the_known_emails_is_an_error() {
    let mut world = World::at_rest(100, 12, Mailbox::of(50));
    refreshed(
        &mut world,
        SyncReport {
            stop_reason: StopReason::EmptyListing,
            ..sync_report(0)
        },
    );
    assert!(!title(&world).contains("live"), "{}", title(&world));
    let shown = screen(&world);
    assert!(
        shown.contains("the service lists no email, but the"),
        "{shown}"
    );
    refreshed(&mut world, sync_report(0));
    assert!(title(&world).ends_with("live"), "{}", title(&world));
}

#[test]
fn service_with_more_than_an_empty_page_has_sent_something() {
    let mut world = World::start((100, 14), session(), Mailbox::of(0));
    world.answer_archive();
    refreshed(
        &mut world,
        SyncReport {
            stop_reason: StopReason::NoProgress,
            coverage: Coverage::Unknown,
            ..sync_report(0)
        },
    );
    let shown = screen(&world);
    assert!(!shown.contains("Nothing was sent"), "{shown}");
    assert!(shown.contains("reports more emails"), "{shown}");
}

#[test]
fn rejected_key_replaces_an_earlier_error() {
    let mut world = failing(ErrorKind::Server);
    assert!(screen(&world).contains("it failed"));
    world.press("r");
    let request = world.model.service.refresh_request.start();
    let rejected = Error::new(ErrorKind::KeyRejected, "the key is not valid");
    world.happen(Message::Refreshed(request, Err(rejected)));
    world.settle();
    let shown = screen(&world);
    assert!(
        !shown.contains("it failed") && shown.contains("the key is not valid"),
        "{shown}"
    );
}

#[test]
fn state_before_first_answer_is_checking() {
    let mut world = World::start((100, 12), session(), Mailbox::of(50));
    assert_eq!(world.model.service_state(), ServiceState::Checking);
    world.answer_archive();
    assert!(title(&world).ends_with("checking…"), "{}", title(&world));
    world.settle();
    assert!(title(&world).ends_with("live"), "{}", title(&world));
}

#[test]
fn request_without_answer_is_not_live() {
    let mut world = World::at_rest(100, 12, Mailbox::of(50));
    let mut shown_after = |seconds| {
        world.set_rate_budget(Some(RateBudget {
            unanswered_for: Duration::from_secs(seconds),
            ..BUDGET
        }));
        title(&world)
    };
    assert!(shown_after(4).ends_with("live"));
    let shown = shown_after(7);
    assert!(
        shown.ends_with("no answer for 7 s · as of 09:42"),
        "{shown}"
    );
    assert!(shown_after(0).ends_with("live"));
}

#[test]
fn running_refresh_is_watched_each_second() {
    let mut world = World::at_rest(100, 12, Mailbox::of(50));
    world.set_rate_budget(Some(BUDGET));
    world.press("r");
    let kind = TimerKind::Countdown;
    let ticks =
        world.count(|effect| matches!(effect, Effect::Timer { kind: found, .. } if *found == kind));
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
        let shown = title(&failing(kind));
        assert!(shown.ends_with(state), "{shown}");
    }
}

#[test]
fn archive_without_purged_mail_is_not_complete() {
    let mut mailbox = Mailbox::of(50);
    mailbox.left_out.purged = true;
    let mut world = World::at_rest(100, 20, mailbox);
    let shown = title(&world);
    assert!(
        shown.ends_with("50 emails, without purged mail · live"),
        "{shown}"
    );
    world.press("b").settle();
    let notice = world.model.notice.as_deref();
    assert_eq!(
        notice,
        Some("all mail as of 09:42 is loaded; purged mail is left out")
    );
    world.press("/").write("zzz").press("Enter").settle();
    let shown = screen(&world);
    let expected = "Searched 50 emails, without purged mail, as of 09:42.";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn card_of_final_mail_is_as_old_as_the_list() {
    let mut world = failing(ErrorKind::Server);
    world.mailbox.rows[0].summary.status = Status::Canceled;
    let later = world.model.now.checked_add(90.days()).unwrap();
    world.set_time(later);
    world.happen(Message::Resized(Size::new(160, 40)));
    world.press("c").answer_archive();
    let shown = screen(&world);
    let expected = "nothing bounced, no complaints as of 09:42 (1 of 1 checked)";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn failed_refresh_by_key_reports_why() {
    let world = failing(ErrorKind::Server);
    assert_eq!(world.model.notice.as_deref(), Some("it failed"));
}

/// A service that has asked to wait for a day.
fn paused_for_a_day() -> World {
    let mut world = failing(ErrorKind::RateLimited);
    world.set_rate_budget(Some(RateBudget {
        paused_for: Duration::from_hours(24),
        ..BUDGET
    }));
    world
}

#[test]
fn pause_of_a_day_shows_until_when() {
    let mut world = paused_for_a_day();
    world.press("j").settle();
    let shown = screen(&world);
    let title = title(&world);
    assert!(
        title.ends_with("rate limited until Sat 09:42 UTC · as of 09:42"),
        "{title}"
    );
    assert!(
        shown.contains("rate limited until Sat 09:42 UTC; r tries now"),
        "{shown}"
    );
}

#[test]
fn refresh_within_long_pause_is_a_question() {
    let mut world = paused_for_a_day();
    let sent = |world: &World| {
        world.count(|effect| matches!(effect, Effect::Refresh(..) | Effect::RefreshNow(_)))
    };
    let before = sent(&world);
    world.press("r");
    assert!(
        screen(&world).contains("The service asked to wait until Sat 09:42 UTC. Try now?"),
        "{}",
        screen(&world)
    );
    world.press("j Enter").settle();
    assert_eq!(sent(&world), before, "the second answer waits");
    world.press("r Enter");
    assert_eq!(sent(&world), before + 1);
    assert!(matches!(world.asked.last(), Some(Effect::RefreshNow(_))));
    world.set_rate_budget(Some(BUDGET));
    world.settle();
    assert_eq!(world.model.notice.as_deref(), Some("nothing new"));
    assert!(title(&world).ends_with("live"), "{}", title(&world));
}

#[test]
fn key_while_offline_retries_after_a_while() {
    let mut world = World::start((80, 24), session(), Mailbox::of(5));
    let Effect::Refresh(request, _) = world.pending.remove(1) else {
        panic!("the second effect is the refresh")
    };
    let error = Error::new(ErrorKind::Unreachable, "no route");
    world.happen(Message::Refreshed(request, Err(error)));
    let refreshes = |world: &World| world.count(|effect| matches!(effect, Effect::Refresh(..)));
    let failed = refreshes(&world);
    world.set_time(&now() + 19.seconds());
    world.press("j");
    assert_eq!(refreshes(&world), failed);
    world.set_time(&now() + 20.seconds());
    world.press("j k");
    assert_eq!(refreshes(&world), failed + 1, "once");
}

#[test]
fn list_of_an_unreadable_archive_is_not_live() {
    let mut world = World::at_rest(100, 12, Mailbox::of(50));
    assert!(title(&world).ends_with("live"), "{}", title(&world));
    world.press("/ x");
    let is_load = |effect: &Effect| matches!(effect, Effect::LoadWindow { .. });
    let n = world.pending.iter().position(is_load).unwrap();
    let Effect::LoadWindow { request, .. } = world.pending.remove(n) else {
        unreachable!("it is one")
    };
    let error = Error::new(ErrorKind::Archive, "the server does not answer");
    world.happen(Message::WindowLoaded(request, Err(error)));
    assert!(
        title(&world).ends_with("archive error"),
        "{}",
        title(&world)
    );
}
