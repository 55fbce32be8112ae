//! What is asked of the service beside the keys, and what of it is withdrawn again.

use std::time::Duration;

use crate::api::{Priority, RateBudget};
use crate::app::{Effect, Message, RequestId, RequestKind, SessionInfo, TimerKind};
use crate::archive::Coverage;
use crate::config::HistorySpan;
use crate::error::{Error, ErrorKind};
use crate::sync::BackfillStep;
use crate::view::tests::screen;
use jiff::SignedDuration;

use crate::app::tests::BUDGET;
use crate::app::tests::env::{Mailbox, World, session};

/// A mailbox that the service has more of.
fn deep(pages: u64) -> Mailbox {
    Mailbox {
        older_pages: pages,
        ..Mailbox::of(1_000)
    }
}

fn backfills(world: &World) -> usize {
    world.count(|effect| matches!(effect, Effect::Backfill(_)))
}

/// The id of the latest running request of this kind.
fn running(world: &World, of: impl Fn(&Effect) -> Option<RequestId>) -> RequestId {
    world
        .pending
        .iter()
        .rev()
        .find_map(of)
        .expect("no such request is running")
}

fn running_older(world: &World) -> RequestId {
    running(world, |effect| {
        if let Effect::LoadOlder(request, _) = effect {
            Some(*request)
        } else {
            None
        }
    })
}

fn running_backfill(world: &World) -> RequestId {
    running(world, |effect| {
        if let Effect::Backfill(request) = effect {
            Some(*request)
        } else {
            None
        }
    })
}

fn running_email(world: &World) -> RequestId {
    running(world, |effect| {
        if let Effect::LoadEmail { request, .. } = effect {
            Some(*request)
        } else {
            None
        }
    })
}

fn with_backfill(backfill: HistorySpan, mailbox: Mailbox) -> World {
    World::start(
        (120, 40),
        SessionInfo {
            backfill,
            ..session()
        },
        mailbox,
    )
}

#[test]
fn stopped_search_cancels_queued_page() {
    let mut world = World::at_rest(120, 40, deep(3));
    world
        .press("/")
        .write("nowhere")
        .press("Enter")
        .settle()
        .press("b");
    let request = running_older(&world);
    assert!(world.model.is_wanted(RequestKind::LoadOlder, request));
    world.press("Ctrl-x");
    assert!(!world.model.is_wanted(RequestKind::LoadOlder, request));
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::LoadOlder(..)));
    world.happen(Message::RequestCancelled(request, RequestKind::LoadOlder));
    assert!(
        !world.model.service.is_loading_older() && world.model.service.error.as_ref().is_none()
    );
    world.press("b");
    assert!(
        world
            .model
            .is_wanted(RequestKind::LoadOlder, running_older(&world)),
        "and can be wanted again"
    );
}

#[test]
fn leaving_the_end_cancels_older_page() {
    let mut world = World::at_rest(120, 40, deep(3));
    world.press("G").answer_archive();
    let request = running_older(&world);
    assert!(world.model.is_wanted(RequestKind::LoadOlder, request));
    world
        .press("/")
        .write("receipt")
        .press("Enter")
        .answer_archive();
    assert!(
        !world.model.is_wanted(RequestKind::LoadOlder, request),
        "the filter changed"
    );
    world.press("Esc").answer_archive();
    assert!(
        world.model.is_wanted(RequestKind::LoadOlder, request),
        "back again"
    );
    world.press("g g").answer_archive();
    assert!(
        !world.model.is_wanted(RequestKind::LoadOlder, request),
        "the selection moved away"
    );
}

#[test]
fn passed_email_is_cancelled() {
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    world.press("j Enter");
    let request = running_email(&world);
    assert!(world.model.is_wanted(RequestKind::LoadEmail, request));
    world.press("J");
    assert!(!world.model.is_wanted(RequestKind::LoadEmail, request));
}

#[test]
fn first_email_is_urgent_only_when_opened() {
    let mut world = World::start((120, 40), session(), Mailbox::of(20));
    world.answer_archive();
    let rest = world
        .pending
        .iter()
        .position(|effect| {
            matches!(
                effect,
                Effect::Timer {
                    kind: TimerKind::Selection,
                    ..
                }
            )
        })
        .unwrap();
    world.answer(rest);
    let priority = |world: &World| {
        world.asked.iter().rev().find_map(|effect| {
            if let Effect::LoadEmail { priority, .. } = effect {
                Some(*priority)
            } else {
                None
            }
        })
    };
    assert_eq!(priority(&world), Some(Priority::Backfill));
    let first = running_email(&world);
    world.press("Enter");
    assert_eq!(priority(&world), Some(Priority::Interactive));
    assert!(
        !world.model.is_wanted(RequestKind::LoadEmail, first)
            && world
                .model
                .is_wanted(RequestKind::LoadEmail, running_email(&world))
    );
}

#[test]
fn opening_failed_email_retries() {
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    world.press("j Enter");
    let request = running_email(&world);
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::LoadEmail { .. }));
    world.happen(Message::EmailLoaded(
        request,
        Err(Error::new(ErrorKind::Unreachable, "no route")),
    ));
    world.press("q Enter");
    assert_ne!(running_email(&world), request);
}

#[test]
fn listed_email_that_is_gone_blames_no_id() {
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    world.press("j Enter");
    let request = running_email(&world);
    let gone = Error::new(ErrorKind::NotFound, "the service has no such email");
    let gone = gone.with_hint("check the id; the service deletes old mail");
    world.happen(Message::EmailLoaded(request, Err(gone)));
    let shown = screen(&world);
    assert!(shown.contains("what it listed is kept here"), "{shown}");
    assert!(!shown.contains("heck the id"), "{shown}");
}

#[test]
fn manual_refresh_replaces_background_refresh() {
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    let rest = world
        .pending
        .iter()
        .position(|effect| {
            matches!(
                effect,
                Effect::Timer {
                    kind: TimerKind::Refresh,
                    ..
                }
            )
        })
        .unwrap();
    world.answer(rest);
    let asked = |world: &World| {
        let refreshes = world.pending.iter().filter_map(|effect| match effect {
            Effect::Refresh(request, priority) => Some((*request, *priority)),
            _ => None,
        });
        refreshes.collect::<Vec<_>>()
    };
    let [(by_the_clock, Priority::Refresh)] = asked(&world)[..] else {
        panic!("{:?}", asked(&world))
    };
    world.press("r");
    let [_, (by_hand, Priority::Interactive)] = asked(&world)[..] else {
        panic!("{:?}", asked(&world))
    };
    assert!(
        !world.model.is_wanted(RequestKind::Refresh, by_the_clock)
            && world.model.is_wanted(RequestKind::Refresh, by_hand)
    );
    world.press("r");
    assert_eq!(asked(&world).len(), 2, "once is enough");
}

#[test]
fn full_backfill_loads_page_by_page() {
    let mut world = with_backfill(HistorySpan::All, deep(5));
    world.settle();
    assert_eq!(
        (backfills(&world), world.model.service.coverage.as_ref()),
        (5, Some(&Coverage::Complete))
    );
    assert!(!world.model.service.is_backfilling());
    let mut world = with_backfill(HistorySpan::Off, deep(5));
    world.settle();
    assert_eq!(backfills(&world), 0);
}

#[test]
fn backfill_of_days_stops_there() {
    // An email an hour, the oldest 400 hours ago, and a hundred with each page.
    let mut world = with_backfill(HistorySpan::Last(SignedDuration::from_hours(650)), deep(9));
    world.settle();
    assert_eq!(
        (backfills(&world), world.model.service.is_backfilling()),
        (3, false)
    );
}

#[test]
fn backfill_yields_to_user_and_stops() {
    let mut world = with_backfill(HistorySpan::All, deep(9));
    while backfills(&world) == 0 {
        world.answer(0);
    }
    let request = running_backfill(&world);
    assert!(
        world.model.is_wanted(RequestKind::Backfill, request)
            && world.model.service.is_backfilling()
    );
    world.press("G").answer_archive();
    assert!(
        !world.model.is_wanted(RequestKind::Backfill, request),
        "a user requests the same page"
    );
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::Backfill(_)));
    world.happen(Message::RequestCancelled(request, RequestKind::Backfill));
    assert_eq!(backfills(&world), 1);
    let n = world
        .pending
        .iter()
        .position(|effect| matches!(effect, Effect::LoadOlder(..)))
        .unwrap();
    world.answer(n);
    world.press("g g").answer_archive();
    assert_eq!(backfills(&world), 2, "and goes on after it");
    let request = running_backfill(&world);
    world.press("Ctrl-x");
    assert!(
        !world.model.is_wanted(RequestKind::Backfill, request)
            && !world.model.service.is_backfilling()
    );
    world.settle();
    assert_eq!(backfills(&world), 2);
}

#[test]
fn backfill_pauses_for_other_process_or_error() {
    let mut world = with_backfill(HistorySpan::All, deep(9));
    while backfills(&world) == 0 {
        world.answer(0);
    }
    let request = running_backfill(&world);
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::Backfill(_)));
    world.happen(Message::Backfilled(request, Ok(BackfillStep::OtherProcess)));
    world.settle();
    assert_eq!(
        (backfills(&world), world.model.service.is_backfilling()),
        (1, false)
    );
    world.wait_for_refresh();
    assert!(backfills(&world) > 1, "it looks again after each refresh");
}

#[test]
fn used_up_day_pauses_backfill_until_next_refresh() {
    let mut world = with_backfill(HistorySpan::All, deep(9));
    while backfills(&world) == 0 {
        world.answer(0);
    }
    let request = running_backfill(&world);
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::Backfill(_)));
    world.happen(Message::Backfilled(request, Ok(BackfillStep::DayLimit)));
    world.settle();
    let state = |world: &World| {
        let service = &world.model.service;
        (service.is_backfilling(), service.is_backfill_used_up())
    };
    assert_eq!((backfills(&world), state(&world)), (1, (false, true)));
    world.wait_for_refresh();
    assert_eq!(state(&world), (false, false), "another day: all is loaded");
    assert!(backfills(&world) > 1);
}

#[test]
fn neighbours_of_open_email_are_prefetched() {
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    world.press("j j Enter");
    let warmed = |world: &World| {
        let ids = world.asked.iter().filter_map(|effect| {
            if let Effect::PrefetchEmail(_, id) = effect {
                Some(id.clone())
            } else {
                None
            }
        });
        ids.collect::<Vec<_>>()
    };
    assert!(warmed(&world).is_empty());
    world.settle();
    let id = |n: usize| world.mailbox.rows[n].summary.id.clone();
    assert_eq!(warmed(&world), [id(3), id(1)], "the older one first");
    world.press("J");
    while warmed(&world).len() == 2 {
        world.answer(0);
    }
    let request = running(&world, |effect| {
        if let Effect::PrefetchEmail(request, _) = effect {
            Some(*request)
        } else {
            None
        }
    });
    assert!(world.model.is_wanted(RequestKind::Prefetch, request));
    world.press("J");
    assert!(!world.model.is_wanted(RequestKind::Prefetch, request));
}

#[test]
fn fetched_email_ends_outage() {
    for kind in [ErrorKind::Unreachable, ErrorKind::KeyRejected] {
        fetch_email_during(kind);
    }
}

fn fetch_email_during(kind: ErrorKind) {
    let mut world = World::start((120, 40), session(), Mailbox::of(20));
    world.answer_archive();
    let n = world
        .pending
        .iter()
        .position(|effect| matches!(effect, Effect::Refresh(..)))
        .unwrap();
    let Effect::Refresh(request, _) = world.pending.remove(n) else {
        unreachable!()
    };
    world.happen(Message::Refreshed(
        request,
        Err(Error::new(kind, "it failed")),
    ));
    let refreshes = |world: &World| world.count(|effect| matches!(effect, Effect::Refresh(..)));
    assert_eq!(
        (refreshes(&world), world.model.service.failing_since),
        (1, Some(world.model.now.timestamp()))
    );
    world.press("j Enter").settle();
    assert_eq!(
        (
            refreshes(&world),
            world.model.service.last_error(),
            world.model.service.failing_since
        ),
        (2, None, None)
    );
}

#[test]
fn countdown_ticks_only_during_pause() {
    let seconds = |world: &World| {
        world.count(|effect| {
            matches!(
                effect,
                Effect::Timer {
                    kind: TimerKind::Countdown,
                    ..
                }
            )
        })
    };
    let budget = |paused_for| {
        Some(RateBudget {
            rate: 2.0,
            background: 0.5,
            limit: Some(10),
            remaining: None,
            paused_for,
            unanswered_for: Duration::ZERO,
        })
    };
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    world.set_rate_budget(budget(Duration::ZERO));
    let tick = |world: &mut World, left| {
        world.set_rate_budget(budget(left));
        let n = world
            .pending
            .iter()
            .position(|effect| {
                matches!(
                    effect,
                    Effect::Timer {
                        kind: TimerKind::Countdown,
                        ..
                    }
                )
            })
            .unwrap();
        world.answer(n);
    };
    world.press("j").settle();
    let before = seconds(&world);
    assert_eq!(before, 1, "while an answer is waited for a pause may begin");
    tick(&mut world, Duration::ZERO);
    world.press("M").settle();
    assert_eq!(
        seconds(&world),
        before,
        "nothing is waited for, so nothing ticks"
    );
    world.set_rate_budget(budget(Duration::from_secs(12)));
    world.press("j");
    assert_eq!(seconds(&world), before + 1);
    tick(&mut world, Duration::from_secs(11));
    assert_eq!(seconds(&world), before + 2);
    world.settle();
    tick(&mut world, Duration::ZERO);
    assert_eq!(seconds(&world), before + 2, "it is over");
}

#[test]
fn countdown_is_obsolete_after_the_answer() {
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    world.set_rate_budget(Some(BUDGET));
    world.press("r");
    let request = world.pending.iter().find_map(|effect| match effect {
        Effect::Timer {
            request,
            kind: TimerKind::Countdown,
            ..
        } => Some(*request),
        _ => None,
    });
    let request = request.expect("a pause may begin during the refresh");
    let is_wanted =
        |world: &World| (world.model).is_wanted(crate::app::RequestKind::Countdown, request);
    assert!(is_wanted(&world));
    world.settle();
    assert!(!is_wanted(&world));
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
    assert!(
        taken
            .iter()
            .all(|taken| (20.0..=25.1).contains(&taken.as_secs_f64())),
        "{taken:?}"
    );
    assert!(
        taken
            .iter()
            .max()
            .unwrap()
            .abs_diff(*taken.iter().min().unwrap())
            > Duration::from_millis(100),
        "{taken:?}"
    );
}
