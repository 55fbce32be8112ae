//! The line below the last row: Enter on it searches older mail.

use ratatui::layout::Position;

use crate::app::tests::env::{Mailbox, World};
use crate::app::{ListLine, Message, MouseInput};

#[test]
fn click_selects_line_below_last_row() {
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    world.press("/").write("#150").press("Enter").settle();
    let y = world.model.layout().list.y + 2;
    world.happen(Message::Mouse(MouseInput::Pressed(Position::new(3, y))));
    assert!(world.model.list.is_on_load_more_row());
    assert_eq!(world.selected(), 150);
    world.happen(Message::Mouse(MouseInput::Pressed(Position::new(3, y - 1))));
    assert!(!world.model.list.is_on_load_more_row());
}

/// A filtered list of 100 rows whose line below the last one is selected.
fn on_load_more_row() -> World {
    let mut mailbox = Mailbox::of(300);
    mailbox.older_pages = 50;
    let mut world = World::at_rest(120, 20, mailbox);
    world.press("/").write("#1").press("Enter").settle();
    world.press("G").settle();
    world.press("j");
    assert_eq!(load_more_row(&world), Some(true));
    world
}

#[test]
fn every_motion_leaves_the_line_below_the_last_row() {
    let mut world = on_load_more_row();
    let last = world.selected();
    world.press("k");
    assert_eq!(
        (world.model.list.is_on_load_more_row(), world.selected()),
        (false, last)
    );

    let mut world = on_load_more_row();
    world.press("PgUp");
    assert!(!world.model.list.is_on_load_more_row());
    let top = world.visible();
    assert!(top.contains(&world.selected()), "{top:?}");

    let mut world = on_load_more_row();
    let shown = world.visible();
    let over = Position::new(3, world.model.layout().list.y + 1);
    for _ in 0..5 {
        world.happen(Message::Mouse(MouseInput::Scrolled {
            at: over,
            down: false,
        }));
    }
    assert_ne!(world.visible(), shown);
    assert!(!world.model.list.is_on_load_more_row());

    let mut world = on_load_more_row();
    world
        .press("g d")
        .write("2026-11-12")
        .press("Enter")
        .settle();
    let by_date = world.selected();
    let mut other = on_load_more_row();
    other
        .press("k g d")
        .write("2026-11-12")
        .press("Enter")
        .settle();
    assert_eq!(
        (by_date, world.model.list.is_on_load_more_row()),
        (other.selected(), false)
    );
}

/// Whether the line below the last row is selected, if it is visible.
pub fn load_more_row(world: &World) -> Option<bool> {
    let viewport = world.model.list_viewport();
    let lines = world.model.list.visible_lines(&viewport);
    lines.into_iter().find_map(|line| match line {
        ListLine::LoadMore { selected } => Some(selected),
        ListLine::Day(_) | ListLine::Row { .. } => None,
    })
}
