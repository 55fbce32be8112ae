//! The line below the last row: Enter on it searches older mail.

use ratatui::layout::Position;

use crate::app::ListLine;
use crate::app::tests::env::{AppHarness, FakeService};

#[test]
fn click_selects_line_below_last_row() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(200).older(3));
    app.search("#150");
    let y = app.model.layout().list.y + 2;
    app.click(Position::new(3, y));
    assert!(app.model.list.is_on_load_more_row());
    assert_eq!(app.selected(), 150);
    app.click(Position::new(3, y - 1));
    assert!(!app.model.list.is_on_load_more_row());
}

/// A filtered list of 100 rows whose line below the last one is selected.
fn on_load_more_row() -> AppHarness {
    let mut app = AppHarness::at_rest(120, 20, FakeService::with_emails(300).older(50));
    app.search("#1");
    app.press("G").settle();
    app.press("j");
    assert_eq!(load_more_row(&app), Some(true));
    app
}

#[test]
fn every_motion_leaves_the_load_more_row() {
    let mut app = on_load_more_row();
    let last = app.selected();
    app.press("k");
    assert!(!app.model.list.is_on_load_more_row());
    assert_eq!(app.selected(), last);

    let mut app = on_load_more_row();
    app.press("PgUp");
    assert!(!app.model.list.is_on_load_more_row());
    let top = app.visible();
    assert!(top.contains(&app.selected()), "{top:?}");

    let mut app = on_load_more_row();
    let shown = app.visible();
    let over = Position::new(3, app.model.layout().list.y + 1);
    for _ in 0..5 {
        app.scroll(over, false);
    }
    assert_ne!(app.visible(), shown);
    assert!(!app.model.list.is_on_load_more_row());

    let mut app = on_load_more_row();
    app.press("g d").write("2026-11-12").press("Enter").settle();
    let by_date = app.selected();
    let mut other = on_load_more_row();
    other
        .press("k g d")
        .write("2026-11-12")
        .press("Enter")
        .settle();
    assert_eq!(by_date, other.selected());
    assert!(!app.model.list.is_on_load_more_row());
}

/// Whether the line below the last row is selected, if it is visible.
pub fn load_more_row(app: &AppHarness) -> Option<bool> {
    let viewport = app.model.list_viewport();
    let lines = app.model.list.visible_lines(&viewport);
    lines.into_iter().find_map(|line| match line {
        ListLine::LoadMore { selected } => Some(selected),
        ListLine::Day(_) | ListLine::Row { .. } => None,
    })
}
