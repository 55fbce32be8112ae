//! Ring 1: the pure machine. A message in, state and effects out; and for any order of events, the
//! reader never shows another email than the selected one.

use std::sync::Arc;

use crate::app::tests::env::{Mailbox, World, session};
use crate::app::{
    Command, Effect, ExitReason, Focus, Keymap, Message, MouseInput, ReaderState, SessionInfo,
    TimerKind,
};
use crate::archive::WindowAnchor;
use crate::config::{KeyBinding, SecretInput};
use crate::error::{Error, ErrorKind};
use proptest::prelude::*;
use ratatui::layout::{Position, Size};

fn requests(world: &World) -> usize {
    world
        .asked
        .iter()
        .filter(|effect| matches!(effect, Effect::LoadEmail { .. }))
        .count()
}

#[test]
fn it_starts_with_the_newest_email_and_asks_the_archive_before_the_service() {
    let world = World::start((120, 40), session(), Mailbox::of(50));
    assert!(matches!(world.asked[0], Effect::LoadWindow { .. }));
    assert!(matches!(world.asked[1], Effect::Refresh(..)));
    let world = World::at_rest(120, 40, Mailbox::of(50));
    assert_eq!(world.selected(), 49);
    assert_eq!(
        (world.model.list.position(), world.model.list.total),
        (Some(1), Some(50))
    );
}

#[test]
fn holding_a_key_asks_for_one_email() {
    let mut world = World::at_rest(120, 40, Mailbox::of(5_000));
    let before = requests(&world);
    for _ in 0..200 {
        world.press("j");
    }
    world.settle();
    assert_eq!(world.selected(), 4_999 - 200);
    assert_eq!(requests(&world) - before, 1);
}

#[test]
fn keys_that_outrun_the_archive_are_owed_and_paid() {
    let mut world = World::at_rest(120, 40, Mailbox::of(5_000));
    for _ in 0..1_000 {
        world.press("j");
    }
    world.settle();
    assert_eq!(world.selected(), 4_999 - 1_000);
    world.press("G k k").settle();
    assert_eq!(
        world.selected(),
        2,
        "steps after a jump count from where it lands"
    );
}

#[test]
fn the_ends_are_one_query_away() {
    let mut world = World::at_rest(120, 40, Mailbox::of(20_000));
    let looks = |world: &World| {
        world
            .asked
            .iter()
            .filter(|effect| matches!(effect, Effect::LoadWindow { .. }))
            .count()
    };
    let before = looks(&world);
    world.press("G").settle();
    assert_eq!(
        (world.selected(), world.model.list.position()),
        (0, Some(20_000))
    );
    world.press("g g").settle();
    assert_eq!(
        (world.selected(), world.model.list.position()),
        (19_999, Some(1))
    );
    assert!(looks(&world) - before <= 4);
}

#[test]
fn new_emails_do_not_move_the_cursor_and_are_counted() {
    let mut world = World::at_rest(120, 40, Mailbox::of(500));
    world.press("j j j").settle();
    let (selected, visible) = (world.selected(), world.visible());
    world.mailbox.arriving = 3;
    world.wait_for_refresh();
    assert_eq!(world.selected(), selected);
    assert_eq!(world.visible(), visible);
    assert_eq!(world.model.list.unseen_above, 3);
    assert_eq!(world.model.list.position(), Some(7));
    world.press("Home").settle();
    assert_eq!((world.selected(), world.model.list.unseen_above), (502, 0));
}

#[test]
fn older_pages_come_before_the_cursor_reaches_the_end_one_at_a_time() {
    let mut mailbox = Mailbox::of(90);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    let extends = |world: &World| {
        world
            .asked
            .iter()
            .filter(|effect| matches!(effect, Effect::LoadOlder(_)))
            .count()
    };
    assert_eq!(extends(&world), 0, "nothing is fetched that nobody nears");
    for _ in 0..60 {
        world.press("j");
    }
    assert_eq!(extends(&world), 1, "holding a key is no storm of requests");
    world.settle();
    assert_eq!(world.mailbox.rows.len(), 190);
    world.press("G").settle();
    world.press("G").settle();
    assert_eq!(world.mailbox.rows.len(), 390);
    world.press("G").settle();
    assert_eq!(
        extends(&world),
        3,
        "everything is there, so nothing more is asked"
    );
}

#[test]
fn a_failing_extension_rests_before_it_tries_again() {
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
        if let Effect::LoadOlder(request) = world.pending[n] {
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
        .filter(|effect| matches!(effect, Effect::LoadOlder(_)))
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
fn without_a_key_nothing_is_asked_and_the_archive_is_still_there() {
    let failure = Error::new(ErrorKind::KeyMissing, "there is no key");
    let mut start = session();
    start.service_error = Some(failure.clone());
    let mut world = World::start((120, 40), start, Mailbox::of(5));
    world.settle();
    assert!(
        !world
            .asked
            .iter()
            .any(|effect| matches!(effect, Effect::Refresh(..) | Effect::LoadOlder(_)))
    );
    assert_eq!(world.selected(), 4);
    assert_eq!(world.model.service.unavailable.as_ref(), Some(&failure));
}

#[test]
fn a_rejected_key_ends_the_asking() {
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
        "but a person may ask"
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
fn a_quota_that_is_used_up_is_not_asked_for_every_minute() {
    let mut world = World::start((80, 24), session(), Mailbox::of(5));
    let Effect::Refresh(request, _) = world.pending[1] else {
        panic!("the second effect is the refresh")
    };
    world.happen(Message::Refreshed(
        request,
        Err(Error::new(ErrorKind::Quota, "the team's quota is used up")),
    ));
    let pause = world.pending.iter().find_map(|effect| match effect {
        Effect::Timer {
            kind: TimerKind::Refresh,
            pause,
            ..
        } => Some(*pause),
        _ => None,
    });
    assert_eq!(pause, Some(std::time::Duration::from_hours(1)));
}

#[test]
fn opening_does_not_wait_and_back_peels_one_layer() {
    let mut world = World::at_rest(40, 12, Mailbox::of(50));
    assert_eq!(
        requests(&world),
        0,
        "on a narrow screen nothing is read that is not shown"
    );
    world.press("Enter");
    assert!(
        world
            .pending
            .iter()
            .any(|effect| matches!(effect, Effect::LoadEmail { .. }))
    );
    assert_eq!(world.model.focus(), Focus::Reader);
    world.press("?");
    assert_eq!(world.model.focus(), Focus::Help);
    world.press("q");
    assert_eq!(world.model.focus(), Focus::Reader);
    world.press("Esc");
    assert_eq!((world.model.focus(), &world.exit), (Focus::List, &None));
    world.press("Esc");
    assert_eq!(world.exit, None, "Esc never leaves the program");
    world.press("q");
    assert_eq!(world.exit, Some(ExitReason::Quit));
}

#[test]
fn next_and_previous_while_reading() {
    let mut world = World::at_rest(40, 12, Mailbox::of(50));
    world.press("Enter").settle().press("J").settle();
    assert_eq!(world.selected(), 48);
    assert!(matches!(world.model.reader_state(), ReaderState::Ready(..)));
    world.press("K").settle().press("K").settle();
    assert_eq!(world.selected(), 49);
    assert_eq!(
        world.model.notice.as_deref(),
        Some("this is the newest email")
    );
}

#[test]
fn a_key_that_means_nothing_says_so_and_a_prefix_waits_without_a_timer() {
    let mut world = World::at_rest(120, 40, Mailbox::of(50));
    world.press("x");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("x does nothing here; ? shows the keys")
    );
    world.press("j g");
    assert_eq!(
        (
            world.model.notice.as_deref(),
            world.model.pending_keys.len()
        ),
        (None, 1)
    );
    world.press("g");
    assert_eq!((world.selected(), world.model.pending_keys.len()), (49, 0));
}

#[test]
fn the_mouse_selects_opens_and_scrolls() {
    let mut world = World::at_rest(120, 40, Mailbox::of(500));
    let layout = world.model.layout();
    world.happen(Message::Mouse(MouseInput::Pressed(Position::new(
        3,
        layout.list.y + 4,
    ))));
    assert_eq!(world.selected(), 499 - 4);
    world.settle();
    let over = Position::new(layout.reader.x + 2, layout.reader.y + 2);
    world.happen(Message::Mouse(MouseInput::Scrolled {
        at: over,
        down: true,
    }));
    assert_eq!(world.model.reader.scroll, 3);
    world.happen(Message::Mouse(MouseInput::Pressed(over)));
    assert_eq!(world.model.focus(), Focus::Reader);
    let before = world.model.layout().list.width;
    let divider = world.model.layout().divider;
    world.happen(Message::Mouse(MouseInput::Pressed(Position::new(
        divider.x,
        divider.y + 1,
    ))));
    world.happen(Message::Mouse(MouseInput::Dragged(Position::new(
        divider.x + 5,
        divider.y + 1,
    ))));
    assert_eq!(world.model.layout().list.width, before + 5);
}

#[test]
fn the_divider_is_remembered_until_the_screen_changes_its_class() {
    let mut world = World::at_rest(160, 45, Mailbox::of(50));
    let default = world.model.layout();
    world.press("> > >");
    let wider = world.model.layout();
    assert_eq!(wider.list.width, default.list.width + 6);
    world.happen(Message::Resized(Size::new(150, 45)));
    assert!(world.model.layout().list.width > 6);
    world.happen(Message::Resized(Size::new(80, 24)));
    world.happen(Message::Resized(Size::new(160, 45)));
    assert_eq!(world.model.layout(), default);
}

#[test]
fn who_has_done_nothing_yet_begins_at_the_newest_email() {
    let mut mailbox = Mailbox::of(50);
    mailbox.arriving = 2;
    let world = World::at_rest(120, 40, mailbox);
    assert_eq!((world.selected(), world.model.list.unseen_above), (51, 0));
}

#[test]
fn a_refresh_by_hand_tells_what_it_brought() {
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
fn the_end_of_what_is_known_is_not_taken_for_the_end() {
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

fn looks(world: &World) -> usize {
    world
        .asked
        .iter()
        .filter(|effect| matches!(effect, Effect::LoadWindow { .. }))
        .count()
}

#[test]
fn the_list_follows_what_is_typed_and_esc_goes_back() {
    let mut world = World::at_rest(120, 40, Mailbox::of(500));
    world.press("j j j /").settle();
    assert_eq!(world.model.focus(), Focus::Prompt);
    world.write("#12").settle();
    let found: Vec<i64> = (120..=129).rev().chain([12]).collect();
    assert_eq!(world.visible(), found);
    assert_eq!(
        (
            world.model.list.total,
            world.model.list.archive_total,
            world.selected()
        ),
        (Some(11), Some(500), 129)
    );
    world.write("5").settle();
    assert_eq!((world.visible(), world.selected()), (vec![125], 125));
    world.press("Backspace").settle();
    assert_eq!(world.visible(), found);
    world.press("Esc").settle();
    assert_eq!(
        (
            world.model.focus(),
            world.selected(),
            world.model.list.total
        ),
        (Focus::List, 496, Some(500))
    );
    assert!(world.model.list.filter.is_empty());
}

#[test]
fn the_selection_survives_a_filter_that_lets_it_through_and_comes_back_after_one_that_does_not() {
    let mut world = World::at_rest(120, 40, Mailbox::of(2_000));
    for _ in 0..700 {
        world.press("j");
    }
    world.settle();
    assert_eq!(world.selected(), 1_299);
    world.press("f").write("#1 99").settle();
    assert_eq!(world.selected(), 1_299, "it is one of those that are found");
    world.write("9 nothing").settle();
    assert_eq!((world.selected(), world.model.list.total), (-1, Some(0)));
    world.press("Enter Esc").settle();
    assert_eq!(
        (world.selected(), world.model.list.position()),
        (1_299, Some(701))
    );
    world.press("/").write("#150").settle();
    assert_eq!(
        world.selected(),
        1_509,
        "what is not found is left for the newest that is"
    );
    world.press("Enter j Esc").settle();
    assert_eq!(
        world.selected(),
        1_508,
        "somebody who moved means the email they moved to"
    );
}

#[test]
fn a_storm_in_the_prompt_is_text_and_one_answer_counts() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    world.press("/");
    let before = looks(&world);
    world.write("qq rGzM?#29");
    world.happen(Message::Pasted(SecretInput::new("q\n\u{1b}[A\u{7}9")));
    assert_eq!(world.exit, None);
    assert_eq!(
        world
            .model
            .prompt
            .as_ref()
            .map(|prompt| prompt.text().to_owned())
            .as_deref(),
        Some("qq rGzM?#29q [A9")
    );
    assert!(
        looks(&world) - before <= 12,
        "at most a query for each change"
    );
    world.press("Ctrl-u").write("#29").settle();
    assert_eq!(
        world.model.list.total,
        Some(11),
        "an older answer never stands for a newer question"
    );
    world.press("Enter").settle();
    world.happen(Message::Pasted(SecretInput::new("q")));
    assert_eq!(
        (world.exit.clone(), world.model.focus()),
        (None, Focus::List)
    );
    assert!(world.model.notice.is_some());
}

#[test]
fn the_line_is_edited_as_lines_are() {
    let mut world = World::at_rest(80, 24, Mailbox::of(30));
    let text = |world: &World| {
        world
            .model
            .prompt
            .as_ref()
            .map(|prompt| (prompt.text().to_owned(), prompt.cursor()))
    };
    world.press("/").write("ana 佐藤");
    assert_eq!(text(&world), Some(("ana 佐藤".to_owned(), 10)));
    world.press("Left Backspace Home Delete End Ctrl-Left Ctrl-u");
    assert_eq!(text(&world), Some(("藤".to_owned(), 0)));
    world.press("Alt-x F5 Ctrl-k");
    assert_eq!(text(&world), Some((String::new(), 0)));
    world.press("Ctrl-c");
    assert_eq!(world.exit, Some(ExitReason::Quit));
}

#[test]
fn what_could_be_typed_is_chosen_with_one_key_and_taken_back_with_another() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    let text = |world: &World| {
        world
            .model
            .prompt
            .as_ref()
            .map(|prompt| prompt.text().to_owned())
            .unwrap_or_default()
    };
    world.press("/").write("#2 stat").settle();
    assert_eq!(world.model.suggestions().len(), 1);
    world.press("Tab");
    assert_eq!(text(&world), "#2 status:");
    world.press("Tab");
    assert_eq!(
        text(&world),
        "#2 stat",
        "past the last offer stands what was typed"
    );
    world.press("Up Enter").settle();
    assert_eq!(
        (text(&world).as_str(), world.model.focus()),
        ("#2 status:", Focus::Prompt),
        "a name alone is no filter yet"
    );
    world.write("deli").settle().press("Down").settle();
    assert_eq!(
        (text(&world).as_str(), world.model.list.total),
        ("#2 status:delivered", Some(111)),
        "the list follows"
    );
    world.write(" #29").press("Tab");
    assert_eq!(
        text(&world),
        "#2 status:delivered #29",
        "offers for another text are not taken"
    );
    world.settle().press("Enter").settle();
    assert_eq!(
        (
            world.model.list.filter.text(),
            world.model.suggestions().len()
        ),
        ("#2 status:delivered #29", 0)
    );
}

#[test]
fn what_was_typed_earlier_is_typed_again() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    let text = |world: &World| {
        world
            .model
            .prompt
            .as_ref()
            .map(|prompt| prompt.text().to_owned())
            .unwrap_or_default()
    };
    for typed in ["one", "two", "one", "three"] {
        world.press("/ Ctrl-u").write(typed).press("Enter").settle();
    }
    world
        .press("Esc /")
        .write("dra")
        .press("Ctrl-p Ctrl-p Ctrl-p");
    assert_eq!(text(&world), "two");
    world.press("Ctrl-p Ctrl-n");
    assert_eq!(text(&world), "one");
    world.press("Ctrl-n Ctrl-n Ctrl-n");
    assert_eq!(text(&world), "dra");
    let kept = world
        .asked
        .iter()
        .filter(|effect| matches!(effect, Effect::SaveHistory(..)))
        .count();
    assert_eq!(kept, 4);

    let history = vec!["from the last session".to_owned()];
    let mut world = World::start(
        (80, 24),
        SessionInfo {
            filter_history: history,
            ..session()
        },
        Mailbox::of(3),
    );
    world.settle().press("/ Ctrl-p");
    assert_eq!(text(&world), "from the last session");
}

#[test]
fn the_keys_are_those_of_the_person() {
    let change = |keys: &str, command: &str| KeyBinding {
        keys: keys.to_owned(),
        command: command.to_owned(),
        declared_at: String::new(),
    };
    let (keys, wrong) = Keymap::with_overrides(&[
        change("s", "next-row"),
        change("Ctrl-s", "filter"),
        change("j", "none"),
    ]);
    assert!(wrong.is_empty());
    let mut world = World::start(
        (120, 40),
        SessionInfo {
            keymap: Arc::new(keys),
            ..session()
        },
        Mailbox::of(300),
    );
    world.settle().press("s s j").settle();
    assert_eq!(
        (world.selected(), world.model.notice.as_deref()),
        (297, Some("j does nothing here; ? shows the keys"))
    );
    world.press("Ctrl-s");
    assert_eq!(world.model.focus(), Focus::Prompt);
    world.write("s").press("Enter").settle();
    assert_eq!(
        world.model.list.filter.text(),
        "s",
        "where one types, a letter is a letter"
    );
}

#[test]
fn a_query_of_the_command_line_is_the_first_filter() {
    let query = "#29".to_owned();
    let mut world = World::start(
        (120, 40),
        SessionInfo { query, ..session() },
        Mailbox::of(300),
    );
    let looks = world
        .asked
        .iter()
        .filter(|effect| matches!(effect, Effect::LoadWindow { .. }))
        .count();
    world.settle();
    assert_eq!(
        (
            looks,
            world.model.list.filter.text(),
            world.model.list.total
        ),
        (1, "#29", Some(11))
    );
    world.press("Esc").settle();
    assert_eq!(
        (world.model.list.filter.text(), world.model.list.total),
        ("", Some(300))
    );
}

#[test]
fn the_matches_in_an_email_are_walked() {
    let mut world = World::at_rest(120, 24, Mailbox::of(300));
    world.press("Enter n").settle();
    assert_eq!(
        world.model.notice.as_deref(),
        Some("no search text; / searches this text")
    );
    world
        .press("q /")
        .write("\"line 2\" or receipt or subject:email")
        .press("Enter Enter")
        .settle();
    let marked: Vec<usize> = world
        .model
        .reader
        .matches()
        .iter()
        .map(crate::app::text_match::TextMatch::first_line)
        .collect();
    assert_eq!(
        marked,
        [3, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30],
        "in the body, words that begin so"
    );
    world.press("n");
    assert_eq!(
        (world.model.notice.as_deref(), world.model.reader.scroll),
        (Some("match 1 of 11"), 0)
    );
    world.press("n");
    assert_eq!(world.model.notice.as_deref(), Some("match 2 of 11"));
    assert!(world.model.reader.scroll > 0, "it is scrolled to");
    world.press("N N");
    assert_eq!(world.model.notice.as_deref(), Some("match 11 of 11"));
    world.press("q Esc").settle();
    assert!(world.model.reader.matches().is_empty());
}

#[test]
fn one_goes_to_a_date() {
    let mut world = World::at_rest(120, 40, Mailbox::of(500));
    world.press("G g d").write("2026-11-0").press("Enter");
    assert_eq!(
        world.model.focus(),
        Focus::Prompt,
        "what is no date stays to be made one"
    );
    world.write("2").press("Enter");
    let end: jiff::Timestamp = "2026-11-02T23:59:59.999999Z".parse().unwrap();
    assert!(
        world
            .asked
            .iter()
            .any(|effect| matches!(effect, Effect::LoadWindow { anchor: WindowAnchor::AtTime(micros), .. } if *micros == end.as_microsecond()))
    );
    world.settle();
    assert_eq!((world.model.focus(), world.selected()), (Focus::List, 499));
    world.press("j j g d Enter").settle();
    assert_eq!(
        (world.model.focus(), world.selected()),
        (Focus::List, 497),
        "no date goes nowhere"
    );
    world.press("g d").write("mon").press("Esc").settle();
    assert_eq!(world.selected(), 497);
}

#[test]
fn oldest_first_stands_the_list_on_its_head() {
    let mut world = World::at_rest(120, 40, Mailbox::of(3_000));
    world
        .press("/")
        .write("sort:oldest")
        .press("Enter")
        .settle();
    assert_eq!(
        (world.selected(), world.model.list.position()),
        (2_999, Some(3_000))
    );
    world.press("g g").settle();
    assert_eq!(
        (world.selected(), world.model.list.position()),
        (0, Some(1))
    );
    world.press("j j G k").settle();
    assert_eq!(
        (world.selected(), world.model.list.position()),
        (2_998, Some(2_999))
    );
}

#[test]
fn only_rows_like_this_one_and_the_way_back() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    world.press("j @ v").settle();
    assert_eq!(
        (world.model.list.filter.text(), world.selected()),
        ("status:delivered", 298)
    );
    world.press("@ t").settle();
    assert_eq!(
        world.model.list.filter.text(),
        "status:delivered to:customer298@example.com"
    );
    assert_eq!(world.visible(), [298]);
    world.press("u").settle();
    assert_eq!(world.model.list.filter.text(), "status:delivered");
    world.press("u").settle();
    assert_eq!(
        (
            world.model.list.filter.text(),
            world.model.list.total,
            world.selected()
        ),
        ("", Some(300), 298)
    );
    world.press("u").settle();
    assert_eq!(world.model.notice.as_deref(), Some("nothing to undo"));
    world.press("U U").settle();
    assert_eq!(world.visible(), [298]);
    world.press("u @ d").settle();
    assert_eq!(
        world.model.list.filter.text(),
        "status:delivered domain:example.com"
    );
    world.press("U");
    assert_eq!(world.model.notice.as_deref(), Some("nothing to redo"));
}

#[test]
fn looking_back_goes_on_until_there_is_enough_or_nothing_more_or_somebody_stops_it() {
    let mut mailbox = Mailbox::of(1_000);
    mailbox.older_pages = 30;
    let mut world = World::at_rest(120, 40, mailbox);
    let extends = |world: &World| {
        world
            .asked
            .iter()
            .filter(|effect| matches!(effect, Effect::LoadOlder(_)))
            .count()
    };
    world.press("/").write("#-1").press("Enter").settle();
    assert_eq!(
        (world.model.list.total, extends(&world)),
        (Some(0), 0),
        "a filter alone asks the service for nothing"
    );
    world.press("b").settle();
    assert_eq!(
        (world.model.list.total, extends(&world)),
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
    let before = extends(&world);
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
        (world.model.load_older, extends(&world)),
        (None, before),
        "what is under way comes, and nothing after it"
    );
    world.press("b").settle();
    assert_eq!(
        (world.model.list.archive_total, extends(&world)),
        (Some(4_000), 30),
        "until there is nothing more"
    );
    world.press("b");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("all mail of the service is loaded")
    );
}

#[test]
fn looking_back_ends_when_the_service_fails() {
    let mut mailbox = Mailbox::of(50);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    world
        .press("/")
        .write("nowhere")
        .press("Enter")
        .settle()
        .press("b");
    let Some(Effect::LoadOlder(request)) = world.pending.pop() else {
        panic!("a page is asked for")
    };
    world.happen(Message::OlderLoaded(
        request,
        Err(Error::new(ErrorKind::Unreachable, "no route")),
    ));
    assert_eq!(world.model.load_older, None);
    assert!(world.model.notice.is_some());
    world.settle();
}

/// One thing that can happen.
#[derive(Debug, Clone)]
enum Event {
    Command(Command),
    Answer(usize),
    Arrive,
    Resize(u16, u16),
    Click(u16, u16),
    Fail(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let command = prop_oneof![
        6 => prop::sample::select(vec![Command::NextRow, Command::PreviousRow, Command::HalfPageDown, Command::HalfPageUp, Command::PageDown, Command::PageUp, Command::Newest, Command::Oldest]),
        1 => prop::sample::select(vec![Command::ScrollDown, Command::ScrollUp, Command::ScrollPageDown, Command::ScrollToStart, Command::ScrollToEnd]),
        1 => Just(Command::Open),
        1 => Just(Command::NextEmail),
        1 => Just(Command::PreviousEmail),
        1 => Just(Command::NextBodyView),
        1 => Just(Command::FullReader),
        1 => Just(Command::CycleLayout),
        1 => Just(Command::SwitchPane),
        1 => Just(Command::Refresh),
        1 => Just(Command::OnlyStatus),
        1 => Just(Command::OnlyDomain),
        1 => Just(Command::RecipientSummary),
        1 => prop::sample::select(vec![Command::View1, Command::View2, Command::View3, Command::View4]),
        1 => prop::sample::select(vec![Command::HistoryBack, Command::HistoryForward]),
        1 => Just(Command::CloseLayer),
        1 => Just(Command::Undo),
        1 => Just(Command::Redo),
        1 => Just(Command::LoadOlder),
        1 => Just(Command::Stop),
        1 => Just(Command::Help),
    ];
    prop_oneof![
        4 => command.prop_map(Event::Command),
        6 => any::<usize>().prop_map(Event::Answer),
        1 => Just(Event::Arrive),
        1 => (1_u16..180, 1_u16..50).prop_map(|(width, height)| Event::Resize(width, height)),
        1 => (0_u16..180, 0_u16..50).prop_map(|(x, y)| Event::Click(x, y)),
        1 => any::<usize>().prop_map(Event::Fail),
    ]
}

/// What is wrong with the reader, if anything.
fn defect(world: &World) -> Option<String> {
    let selected = world.model.list.selected()?;
    let ReaderState::Ready(opened, body) = world.model.reader_state() else {
        return None;
    };
    if opened.email.summary.id != selected.summary.id {
        return Some(format!(
            "{:?} is selected, {:?} is open",
            selected.summary.id, opened.email.summary.id
        ));
    }
    let first = body?.lines.first()?.text();
    (!first.ends_with(selected.summary.id.as_str()))
        .then(|| format!("{:?} is selected, the text is {first}", selected.summary.id))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_reader_never_shows_another_email_than_the_selected_one(
        count in 0_i64..700,
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut mailbox = Mailbox::of(count);
        mailbox.older_pages = 2;
        let mut world = World::start((120, 40), session(), mailbox);
        for event in events {
            let before = world.model.list.selected().map(|row| row.summary.id.clone());
            let moves = matches!(event, Event::Command(_) | Event::Click(..) | Event::Answer(_));
            match event {
                Event::Command(command) => world.happen(Message::Command(command)),
                Event::Answer(n) if !world.pending.is_empty() => world.answer(n),
                Event::Answer(_) => {}
                Event::Arrive => world.mailbox.arriving += 1,
                Event::Resize(width, height) => world.happen(Message::Resized(Size::new(width, height))),
                Event::Click(x, y) => world.happen(Message::Mouse(MouseInput::Pressed(Position::new(x, y)))),
                Event::Fail(n) => {
                    let reads: Vec<_> = world.pending.iter().enumerate().filter(|(_, effect)| matches!(effect, Effect::LoadEmail { .. })).map(|(n, _)| n).collect();
                    if !reads.is_empty() {
                        let Effect::LoadEmail { request, .. } = world.pending.remove(reads[n % reads.len()]) else { unreachable!() };
                        world.happen(Message::EmailLoaded(request, Err(Error::new(ErrorKind::Server, "it failed"))));
                    }
                }
            }
            prop_assert_eq!(defect(&world), None);
            if !moves {
                prop_assert_eq!(world.model.list.selected().map(|row| row.summary.id.clone()), before);
            }
        }
        // Whatever happened, everything that was asked for is answered in the end, and the program is well.
        world.settle();
        prop_assert_eq!(defect(&world), None);
        if world.exit.is_none() && !world.mailbox.found(world.model.list.filter.query()).is_empty() {
            prop_assert!(world.model.list.selected().is_some());
        }
    }

    #[test]
    fn every_place_is_reached_by_walking(count in 1_i64..600, height in 3_u16..50, down in 0_usize..700, up in 0_usize..700) {
        let mut world = World::at_rest(120, height, Mailbox::of(count));
        for _ in 0..down { world.press("j"); }
        world.settle();
        for _ in 0..up { world.press("k").settle(); }
        let reached = (count - 1).min(down.cast_signed() as i64);
        let back = (reached - up.cast_signed() as i64).max(0);
        prop_assert_eq!(world.selected(), count - 1 - back);
        prop_assert_eq!(world.model.list.position(), Some(back.cast_unsigned() + 1));
        prop_assert!(world.visible().contains(&world.selected()));
    }
}
