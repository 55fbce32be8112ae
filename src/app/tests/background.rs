//! What is asked of the service beside the keys, and what of it is withdrawn again.

use std::time::Duration;

use crate::api::{Priority, RateBudget};
use crate::app::{Effect, Message, RequestId, RequestKind, SessionInfo, TimerKind};
use crate::archive::Coverage;
use crate::config::HistorySpan;
use crate::error::{Error, ErrorKind};
use jiff::SignedDuration;

use crate::app::tests::env::{Mailbox, World, session};

/// A mailbox that the service has more of.
fn deep(pages: u64) -> Mailbox {
    Mailbox {
        older_pages: pages,
        ..Mailbox::of(1_000)
    }
}

fn count(world: &World, of: impl Fn(&Effect) -> bool) -> usize {
    world.asked.iter().filter(|effect| of(effect)).count()
}

fn fills(world: &World) -> usize {
    count(world, |effect| matches!(effect, Effect::Backfill(_)))
}

/// The ticket of what is under way, the latest first.
fn under_way(world: &World, of: impl Fn(&Effect) -> Option<RequestId>) -> RequestId {
    world
        .pending
        .iter()
        .rev()
        .find_map(of)
        .expect("it is under way")
}

fn extending(world: &World) -> RequestId {
    under_way(world, |effect| {
        if let Effect::LoadOlder(request) = effect {
            Some(*request)
        } else {
            None
        }
    })
}

fn filling(world: &World) -> RequestId {
    under_way(world, |effect| {
        if let Effect::Backfill(request) = effect {
            Some(*request)
        } else {
            None
        }
    })
}

fn reading(world: &World) -> RequestId {
    under_way(world, |effect| {
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
fn a_page_that_was_not_asked_for_yet_is_withdrawn_with_the_look_back() {
    let mut world = World::at_rest(120, 40, deep(3));
    world
        .press("/")
        .write("nowhere")
        .press("Enter")
        .settle()
        .press("b");
    let request = extending(&world);
    assert!(world.model.is_wanted(RequestKind::LoadOlder, request));
    world.press("Ctrl-x");
    assert!(!world.model.is_wanted(RequestKind::LoadOlder, request));
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::LoadOlder(_)));
    world.happen(Message::RequestCancelled(request, RequestKind::LoadOlder));
    assert!(
        !world.model.service.is_loading_older() && world.model.service.error.as_ref().is_none()
    );
    world.press("b");
    assert!(
        world
            .model
            .is_wanted(RequestKind::LoadOlder, extending(&world)),
        "and can be wanted again"
    );
}

#[test]
fn older_mail_for_a_place_that_was_left_is_withdrawn() {
    let mut world = World::at_rest(120, 40, deep(3));
    world.press("G").answer_archive();
    let request = extending(&world);
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
fn an_email_that_was_passed_is_not_fetched() {
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    world.press("j Enter");
    let request = reading(&world);
    assert!(world.model.is_wanted(RequestKind::LoadEmail, request));
    world.press("J");
    assert!(!world.model.is_wanted(RequestKind::LoadEmail, request));
}

#[test]
fn what_is_shown_first_is_less_urgent_until_somebody_asks_for_it() {
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
    let first = reading(&world);
    world.press("Enter");
    assert_eq!(priority(&world), Some(Priority::Interactive));
    assert!(
        !world.model.is_wanted(RequestKind::LoadEmail, first)
            && world
                .model
                .is_wanted(RequestKind::LoadEmail, reading(&world))
    );
}

#[test]
fn who_opens_an_email_that_could_not_be_had_asks_again() {
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    world.press("j Enter");
    let request = reading(&world);
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::LoadEmail { .. }));
    world.happen(Message::EmailLoaded(
        request,
        Err(Error::new(ErrorKind::Unreachable, "no route")),
    ));
    world.press("q Enter");
    assert_ne!(reading(&world), request);
}

#[test]
fn who_asks_for_what_is_new_does_not_wait_behind_the_clock() {
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
fn a_profile_that_wants_everything_gets_it_page_by_page() {
    let mut world = with_backfill(HistorySpan::All, deep(5));
    world.settle();
    assert_eq!(
        (fills(&world), world.model.service.reach.as_ref()),
        (5, Some(&Coverage::Complete))
    );
    assert!(!world.model.service.is_backfilling());
    let mut world = with_backfill(HistorySpan::Off, deep(5));
    world.settle();
    assert_eq!(fills(&world), 0);
}

#[test]
fn a_profile_that_wants_some_days_gets_no_more() {
    // An email an hour, the oldest 400 hours ago, and a hundred with each page.
    let mut world = with_backfill(HistorySpan::Last(SignedDuration::from_hours(650)), deep(9));
    world.settle();
    assert_eq!(
        (fills(&world), world.model.service.is_backfilling()),
        (3, false)
    );
}

#[test]
fn filling_yields_to_the_person_and_ends_with_a_key() {
    let mut world = with_backfill(HistorySpan::All, deep(9));
    while fills(&world) == 0 {
        world.answer(0);
    }
    let request = filling(&world);
    assert!(
        world.model.is_wanted(RequestKind::Backfill, request)
            && world.model.service.is_backfilling()
    );
    world.press("G").answer_archive();
    assert!(
        !world.model.is_wanted(RequestKind::Backfill, request),
        "the same page is asked for by a person"
    );
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::Backfill(_)));
    world.happen(Message::RequestCancelled(request, RequestKind::Backfill));
    assert_eq!(fills(&world), 1);
    let n = world
        .pending
        .iter()
        .position(|effect| matches!(effect, Effect::LoadOlder(_)))
        .unwrap();
    world.answer(n);
    world.press("g g").answer_archive();
    assert_eq!(fills(&world), 2, "and goes on after it");
    let request = filling(&world);
    world.press("Ctrl-x");
    assert!(
        !world.model.is_wanted(RequestKind::Backfill, request)
            && !world.model.service.is_backfilling()
    );
    world.settle();
    assert_eq!(fills(&world), 2);
}

#[test]
fn filling_rests_while_another_process_does_it_or_the_service_fails() {
    let mut world = with_backfill(HistorySpan::All, deep(9));
    while fills(&world) == 0 {
        world.answer(0);
    }
    let request = filling(&world);
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::Backfill(_)));
    world.happen(Message::Backfilled(request, Ok(None)));
    world.settle();
    assert_eq!(
        (fills(&world), world.model.service.is_backfilling()),
        (1, false)
    );
    world.wait_for_refresh();
    assert!(fills(&world) > 1, "it looks again after each refresh");
}

#[test]
fn the_neighbours_of_what_is_read_are_warmed_one_after_the_other() {
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
    let request = under_way(&world, |effect| {
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
fn who_reads_an_email_notices_that_the_service_is_back() {
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
        Err(Error::new(ErrorKind::Unreachable, "no route")),
    ));
    let refreshes = |world: &World| count(world, |effect| matches!(effect, Effect::Refresh(..)));
    assert_eq!(
        (refreshes(&world), world.model.service.failing_since),
        (1, Some(world.model.now.timestamp()))
    );
    world.press("j Enter").settle();
    assert_eq!(
        (
            refreshes(&world),
            world.model.service.error.as_ref(),
            world.model.service.failing_since
        ),
        (2, None, None)
    );
}

#[test]
fn a_pause_is_counted_down_and_nothing_ticks_without_one() {
    let seconds = |world: &World| {
        count(world, |effect| {
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

#[tokio::test(start_paused = true)]
async fn who_failed_together_does_not_come_back_together() {
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
