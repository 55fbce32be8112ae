//! Keys, mouse and layers by messages.

use crate::app::help::{HelpLine, help_lines};
use crate::app::tests::env::{Mailbox, World, session};
use crate::app::{
    Effect, ExitReason, Focus, Keymap, Message, MouseInput, ReaderState, SessionInfo,
};
use crate::config::KeyBinding;
use crate::render::BodyView;
use jiff::ToSpan as _;
use ratatui::layout::{Position, Size};
use std::sync::Arc;

#[test]
fn open_loads_at_once_and_back_closes_layer() {
    let mut world = World::at_rest(40, 12, Mailbox::of(50));
    assert_eq!(
        world.email_loads(),
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
    assert_eq!(world.model.focus(), Focus::Prompt);
    world.press("Esc");
    assert_eq!(world.model.focus(), Focus::Reader);
    world.press("Esc");
    assert_eq!((world.model.focus(), &world.exit), (Focus::List, &None));
    world.press("Esc");
    assert_eq!(world.exit, None, "Esc never leaves the program");
    world.press("q");
    assert_eq!(world.exit, Some(ExitReason::Quit));
}

#[test]
fn next_and_previous_email_while_reading() {
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
fn unbound_key_is_reported_and_prefix_waits() {
    let mut world = World::at_rest(120, 40, Mailbox::of(50));
    world.press("Q");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("Q does nothing here; ? shows the keys")
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
fn double_click_reads() {
    let mut world = World::at_rest(120, 40, Mailbox::of(50));
    let press = Message::Mouse(MouseInput::Pressed(Position::new(3, 4)));
    world.happen(press.clone());
    assert_eq!(world.model.focus(), Focus::List);
    let later = world.model.now.checked_add(1.second()).unwrap();
    world.set_time(later);
    world.happen(press.clone());
    assert_eq!(world.model.focus(), Focus::List, "two clicks");
    world.happen(press);
    assert_eq!(world.model.focus(), Focus::Reader);
}

#[test]
fn mouse_selects_opens_and_scrolls() {
    let mut world = World::at_rest(120, 40, Mailbox::of(500));
    let layout = world.model.layout();
    world.happen(Message::Mouse(MouseInput::Pressed(Position::new(
        3,
        layout.list.y + 4,
    ))));
    assert_eq!(world.selected(), 499 - 3, "below the heading of the day");
    world.settle();
    let over_list = Position::new(3, layout.list.y + 4);
    world.happen(Message::Mouse(MouseInput::Scrolled {
        at: over_list,
        down: true,
    }));
    assert_eq!(world.selected(), 499 - 3, "the wheel scrolls the view");
    assert_eq!(world.visible()[0], 499 - 3);
    world.happen(Message::Mouse(MouseInput::Scrolled {
        at: over_list,
        down: true,
    }));
    assert_eq!(world.selected(), 499 - 6, "the selection stays visible");
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
fn divider_is_reset_when_arrangement_changes() {
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
fn configured_keys_replace_defaults() {
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
fn help_lists_commands_without_keys() {
    let changes = ["r", "F5"].map(|keys| KeyBinding {
        keys: keys.to_owned(),
        command: "none".to_owned(),
        declared_at: String::new(),
    });
    let (keys, _) = Keymap::with_overrides(&changes);
    let names = |line: &HelpLine| match line {
        HelpLine::Keys(keys, spec) if keys.is_empty() => Some(spec.name),
        _ => None,
    };
    let unbound: Vec<_> = help_lines(&keys).iter().filter_map(names).collect();
    assert_eq!(unbound, ["refresh"]);
}

/// The names of the commands that the help lists, the best match first.
fn found(world: &World) -> Vec<&'static str> {
    let lines = world.model.help_lines();
    let names = lines.iter().filter_map(|line| match line {
        HelpLine::Keys(_, spec) => Some(spec.name),
        _ => None,
    });
    names.collect()
}

#[test]
fn help_finds_commands_by_name_words_and_keys() {
    let mut world = World::at_rest(120, 40, Mailbox::of(5));
    for (typed, best) in [
        ("shraw", "show-raw"),
        ("plain part", "show-text"),
        ("G", "oldest"),
        ("!", "details"),
        ("gd", "go-to-date"),
        ("undo", "undo"),
    ] {
        world.press("?").write(typed);
        assert_eq!(found(&world)[0], best, "{typed}");
        world.press("Esc");
    }
}

#[test]
fn help_runs_the_chosen_command() {
    let mut world = World::at_rest(120, 40, Mailbox::of(50));
    world.press(":").write("shraw").press("Enter").settle();
    assert_eq!(world.model.reader.view, BodyView::Raw);
    assert!(world.model.prompt.is_none());
    world.press("? Down Down Up Enter").settle();
    assert_eq!(
        world.selected(),
        48,
        "the first in the list is the next row"
    );
    world.press("? Enter");
    assert_eq!((world.selected(), world.model.focus()), (48, Focus::List));
    world.press("?").write("qqqq").press("Enter");
    assert!(
        world
            .model
            .prompt
            .as_ref()
            .is_some_and(|prompt| prompt.is_rejected)
    );
}

#[test]
fn help_without_match_names_typed_text() {
    let mut world = World::at_rest(80, 12, Mailbox::of(5));
    for keys in ["", "Enter"] {
        world.press(":").write("qqq").press(keys);
        let shown = crate::view::tests::screen(&world);
        assert!(shown.contains(" no command matches qqq"), "{shown}");
        world.press("Esc");
    }
}

#[test]
fn help_names_why_a_command_is_impossible() {
    let mut world = World::at_rest(120, 40, Mailbox::of(5));
    world.press("?").write("undo").press("Enter");
    assert_eq!(world.model.notice.as_deref(), Some("nothing to undo"));
    world.press("?").write("next-email").press("Enter");
    let notice = world.model.notice.as_deref();
    assert_eq!(notice, Some("next-email works only in the email"));
    assert_eq!(world.selected(), 4);
}

#[test]
fn help_closes_to_what_was_below() {
    for (keys, focus) in [
        ("Enter", Focus::Reader),
        ("g v", Focus::Choice),
        ("g p", Focus::Choice),
    ] {
        let mut world = World::at_rest(120, 40, Mailbox::of(5));
        world.press(keys).settle().press("?");
        assert_eq!(world.model.focus(), Focus::Prompt, "{keys}");
        world.write("q").press("Esc");
        assert_eq!(world.model.focus(), focus, "{keys}");
    }
}

#[test]
fn help_pages_and_the_wheel_keep_the_choice_visible() {
    let mut world = World::at_rest(80, 12, Mailbox::of(5));
    world.press("?");
    let at = Position::new(3, 3);
    for down in [true, true, true, false] {
        world.happen(Message::Mouse(MouseInput::Scrolled { at, down }));
    }
    world.press("PgDn PgDn PgDn PgUp PgDn");
    let help = world.model.prompt.as_ref().unwrap().help;
    let (chosen, height) = (help.chosen.unwrap(), world.model.help_height());
    assert!((help.top(height)..help.top(height) + height).contains(&chosen));
    for _ in 0..30 {
        world.press("PgDn");
    }
    let last = *found(&world).last().unwrap();
    assert_eq!(world.model.chosen_command().unwrap().0.name, last);
}
