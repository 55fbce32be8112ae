//! Keys, mouse and layers by messages.

use crate::app::tests::env::{Mailbox, World, session};
use crate::app::{
    Effect, ExitReason, Focus, Keymap, Message, MouseInput, ReaderState, SessionInfo,
};
use crate::config::KeyBinding;
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
