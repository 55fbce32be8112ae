//! What is asked of the service beside the keys, and what of it is withdrawn again.

use std::time::Duration;

use crate::api::{Budget, Urgency};
use crate::app::{Effect, Errand, Msg, Opening, Rest, Ticket};
use crate::archive::Reach;
use crate::config::Backfill;
use crate::failure::{Failure, Kind};
use jiff::SignedDuration;

use crate::app::tests::env::{Mailbox, World, opening};

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
    count(world, |effect| matches!(effect, Effect::Fill { .. }))
}

/// The ticket of what is under way, the latest first.
fn under_way(world: &World, of: impl Fn(&Effect) -> Option<Ticket>) -> Ticket {
    world
        .pending
        .iter()
        .rev()
        .find_map(of)
        .expect("it is under way")
}

fn extending(world: &World) -> Ticket {
    under_way(world, |effect| {
        if let Effect::Extend { ticket } = effect {
            Some(*ticket)
        } else {
            None
        }
    })
}

fn filling(world: &World) -> Ticket {
    under_way(world, |effect| {
        if let Effect::Fill { ticket } = effect {
            Some(*ticket)
        } else {
            None
        }
    })
}

fn reading(world: &World) -> Ticket {
    under_way(world, |effect| {
        if let Effect::Read { ticket, .. } = effect {
            Some(*ticket)
        } else {
            None
        }
    })
}

fn with_backfill(backfill: Backfill, mailbox: Mailbox) -> World {
    World::start(
        Opening {
            backfill,
            ..opening(120, 40)
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
    let ticket = extending(&world);
    assert!(world.model.wants(Errand::Extend, ticket));
    world.press("Ctrl-x");
    assert!(!world.model.wants(Errand::Extend, ticket));
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::Extend { .. }));
    world.happen(Msg::Dropped {
        errand: Errand::Extend,
        ticket,
    });
    assert!(!world.model.service.is_extending() && world.model.service.trouble().is_none());
    world.press("b");
    assert!(
        world.model.wants(Errand::Extend, extending(&world)),
        "and can be wanted again"
    );
}

#[test]
fn older_mail_for_a_place_that_was_left_is_withdrawn() {
    let mut world = World::at_rest(120, 40, deep(3));
    world.press("G").answer_archive();
    let ticket = extending(&world);
    assert!(world.model.wants(Errand::Extend, ticket));
    world
        .press("/")
        .write("receipt")
        .press("Enter")
        .answer_archive();
    assert!(
        !world.model.wants(Errand::Extend, ticket),
        "the filter changed"
    );
    world.press("Esc").answer_archive();
    assert!(world.model.wants(Errand::Extend, ticket), "back again");
    world.press("g g").answer_archive();
    assert!(
        !world.model.wants(Errand::Extend, ticket),
        "the selection moved away"
    );
}

#[test]
fn an_email_that_was_passed_is_not_fetched() {
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    world.press("j Enter");
    let ticket = reading(&world);
    assert!(world.model.wants(Errand::Read, ticket));
    world.press("J");
    assert!(!world.model.wants(Errand::Read, ticket));
}

#[test]
fn what_is_shown_first_is_less_urgent_until_somebody_asks_for_it() {
    let mut world = World::start(opening(120, 40), Mailbox::of(20));
    world.answer_archive();
    let rest = world
        .pending
        .iter()
        .position(|effect| {
            matches!(
                effect,
                Effect::Rest {
                    what: Rest::Selection,
                    ..
                }
            )
        })
        .unwrap();
    world.answer(rest);
    let urgency = |world: &World| {
        world.asked.iter().rev().find_map(|effect| {
            if let Effect::Read { urgency, .. } = effect {
                Some(*urgency)
            } else {
                None
            }
        })
    };
    assert_eq!(urgency(&world), Some(Urgency::Extend));
    let first = reading(&world);
    world.press("Enter");
    assert_eq!(urgency(&world), Some(Urgency::Person));
    assert!(
        !world.model.wants(Errand::Read, first) && world.model.wants(Errand::Read, reading(&world))
    );
}

#[test]
fn who_opens_an_email_that_could_not_be_had_asks_again() {
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    world.press("j Enter");
    let ticket = reading(&world);
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::Read { .. }));
    world.happen(Msg::Read {
        ticket,
        outcome: Err(Failure::new(Kind::Unreachable, "no route")),
    });
    world.press("q Enter");
    assert_ne!(reading(&world), ticket);
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
                Effect::Rest {
                    what: Rest::Refresh,
                    ..
                }
            )
        })
        .unwrap();
    world.answer(rest);
    let asked = |world: &World| {
        let refreshes = world.pending.iter().filter_map(|effect| match effect {
            Effect::Refresh { ticket, urgency } => Some((*ticket, *urgency)),
            _ => None,
        });
        refreshes.collect::<Vec<_>>()
    };
    let [(by_the_clock, Urgency::Head)] = asked(&world)[..] else {
        panic!("{:?}", asked(&world))
    };
    world.press("r");
    let [_, (by_hand, Urgency::Person)] = asked(&world)[..] else {
        panic!("{:?}", asked(&world))
    };
    assert!(
        !world.model.wants(Errand::Refresh, by_the_clock)
            && world.model.wants(Errand::Refresh, by_hand)
    );
    world.press("r");
    assert_eq!(asked(&world).len(), 2, "once is enough");
}

#[test]
fn a_profile_that_wants_everything_gets_it_page_by_page() {
    let mut world = with_backfill(Backfill::All, deep(5));
    world.settle();
    assert_eq!(
        (fills(&world), world.model.service.reach()),
        (5, Some(&Reach::Everything))
    );
    assert!(!world.model.service.is_filling());
    let mut world = with_backfill(Backfill::Off, deep(5));
    world.settle();
    assert_eq!(fills(&world), 0);
}

#[test]
fn a_profile_that_wants_some_days_gets_no_more() {
    // An email an hour, the oldest 400 hours ago, and a hundred with each page.
    let mut world = with_backfill(Backfill::Span(SignedDuration::from_hours(650)), deep(9));
    world.settle();
    assert_eq!(
        (fills(&world), world.model.service.is_filling()),
        (3, false)
    );
}

#[test]
fn filling_yields_to_the_person_and_ends_with_a_key() {
    let mut world = with_backfill(Backfill::All, deep(9));
    while fills(&world) == 0 {
        world.answer(0);
    }
    let ticket = filling(&world);
    assert!(world.model.wants(Errand::Fill, ticket) && world.model.service.is_filling());
    world.press("G").answer_archive();
    assert!(
        !world.model.wants(Errand::Fill, ticket),
        "the same page is asked for by a person"
    );
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::Fill { .. }));
    world.happen(Msg::Dropped {
        errand: Errand::Fill,
        ticket,
    });
    assert_eq!(fills(&world), 1);
    let n = world
        .pending
        .iter()
        .position(|effect| matches!(effect, Effect::Extend { .. }))
        .unwrap();
    world.answer(n);
    world.press("g g").answer_archive();
    assert_eq!(fills(&world), 2, "and goes on after it");
    let ticket = filling(&world);
    world.press("Ctrl-x");
    assert!(!world.model.wants(Errand::Fill, ticket) && !world.model.service.is_filling());
    world.settle();
    assert_eq!(fills(&world), 2);
}

#[test]
fn filling_rests_while_another_process_does_it_or_the_service_fails() {
    let mut world = with_backfill(Backfill::All, deep(9));
    while fills(&world) == 0 {
        world.answer(0);
    }
    let ticket = filling(&world);
    world
        .pending
        .retain(|effect| !matches!(effect, Effect::Fill { .. }));
    world.happen(Msg::Filled {
        ticket,
        outcome: Ok(None),
    });
    world.settle();
    assert_eq!(
        (fills(&world), world.model.service.is_filling()),
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
            if let Effect::Warm { id, .. } = effect {
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
    let ticket = under_way(&world, |effect| {
        if let Effect::Warm { ticket, .. } = effect {
            Some(*ticket)
        } else {
            None
        }
    });
    assert!(world.model.wants(Errand::Warm, ticket));
    world.press("J");
    assert!(!world.model.wants(Errand::Warm, ticket));
}

#[test]
fn who_reads_an_email_notices_that_the_service_is_back() {
    let mut world = World::start(opening(120, 40), Mailbox::of(20));
    world.answer_archive();
    let n = world
        .pending
        .iter()
        .position(|effect| matches!(effect, Effect::Refresh { .. }))
        .unwrap();
    let Effect::Refresh { ticket, .. } = world.pending.remove(n) else {
        unreachable!()
    };
    world.happen(Msg::Refreshed {
        ticket,
        outcome: Err(Failure::new(Kind::Unreachable, "no route")),
    });
    let refreshes = |world: &World| count(world, |effect| matches!(effect, Effect::Refresh { .. }));
    assert_eq!(
        (refreshes(&world), world.model.service.since()),
        (1, Some(world.model.now().timestamp()))
    );
    world.press("j Enter").settle();
    assert_eq!(
        (
            refreshes(&world),
            world.model.service.trouble(),
            world.model.service.since()
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
                Effect::Rest {
                    what: Rest::Second,
                    ..
                }
            )
        })
    };
    let budget = |paused_for| {
        Some(Budget {
            rate: 2.0,
            background: 0.5,
            limit: Some(10),
            remaining: None,
            paused_for,
        })
    };
    let mut world = World::at_rest(120, 40, Mailbox::of(20));
    world.model.allowed(budget(Duration::ZERO));
    let tick = |world: &mut World, left| {
        world.model.allowed(budget(left));
        let n = world
            .pending
            .iter()
            .position(|effect| {
                matches!(
                    effect,
                    Effect::Rest {
                        what: Rest::Second,
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
    world.model.allowed(budget(Duration::from_secs(12)));
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
        pause(Rest::Refresh, Duration::from_secs(20)).await;
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
