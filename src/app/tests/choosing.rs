//! Keys in lists to choose from:
//! numbers, pages, and what a key without a meaning says.

use super::keys::found;
use crate::app::tests::env::{AppHarness, FakeService};
use crate::app::{ChooserKind, ClickTarget, Command, Focus, Message};
use ratatui::layout::Position;
use std::fmt::Write as _;

/// Emails with so many links each.
fn with_links(count: usize) -> FakeService {
    let mut service = FakeService::with_emails(9);
    let html = (1..=count).fold(String::new(), |mut html, n| {
        let _ = write!(
            html,
            "<p><a href='https://example.com/{n}'>Page {n}</a></p>"
        );
        html
    });
    service.html = Some(html.into());
    service
}

fn chosen(app: &AppHarness) -> Option<(ChooserKind, usize)> {
    let chooser = app.model.chooser.as_ref();
    chooser.map(|chooser| (chooser.kind.clone(), chooser.selected))
}

#[test]
fn double_click_on_an_item_chooses_it_only() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(30));
    app.press("g v");
    let first = Position::new(5, app.model.layout().main.y + 2);
    app.click(first);
    app.click(first);
    app.click(first);
    app.settle();
    assert!(!app.model.list.filter.is_empty(), "the view is shown");
    assert_eq!(app.model.focus(), Focus::List);
}

#[test]
fn double_click_that_opens_a_chooser_chooses_nothing() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(30));
    let at = Position::new(5, app.model.layout().main.y + 2);
    let click = Message::Clicked(ClickTarget::Command(Command::SavedViews), Some(at));
    app.happen(click.clone());
    app.click(at);
    app.click(at);
    assert_eq!(app.model.focus(), Focus::Choice);
    app.pass(1);
    app.click(at);
    app.happen(click);
    assert_eq!(app.model.focus(), Focus::List, "one view was chosen");
}

#[test]
fn digit_selects_the_item_of_its_number() {
    let mut app = AppHarness::at_rest(80, 24, with_links(12));
    app.press("Enter").settle().press("o 2").settle();
    assert_eq!(chosen(&app), Some((ChooserKind::Links, 1)));
    assert_eq!(app.filter(), "", "no saved view is shown");
    app.press("9");
    assert_eq!(chosen(&app), Some((ChooserKind::Links, 8)));
    app.press("1 2");
    assert_eq!(chosen(&app), Some((ChooserKind::Links, 11)), "two digits");
    app.press("j 1 j 2");
    assert_eq!(chosen(&app), Some((ChooserKind::Links, 1)));
}

#[test]
fn digit_without_an_item_stays_in_the_list() {
    let mut app = AppHarness::at_rest(80, 24, with_links(3));
    app.press("Enter").settle().press("o 7").settle();
    assert_eq!(chosen(&app), Some((ChooserKind::Links, 0)));
    app.shows_notice("no item has the number 7");
    app.press("Esc Esc S").settle().press("2").settle();
    assert_eq!(chosen(&app), Some((ChooserKind::Statistics, 0)));
    assert_eq!(app.model.focus(), Focus::Choice);
}

#[test]
fn digit_in_view_list_shows_the_view() {
    let mut app = AppHarness::at_rest(80, 24, with_links(3));
    app.press("g v 2").settle();
    assert_eq!(chosen(&app), None);
    assert_ne!(app.filter(), "");
}

#[test]
fn lists_are_paged() {
    let mut app = AppHarness::at_rest(80, 24, with_links(60));
    app.press("Enter").settle().press("o");
    let selected = |app: &AppHarness| app.selected_item();
    app.press("PgDn");
    let page = selected(&app);
    assert!((8..24).contains(&page), "{page}");
    app.press("Ctrl-d");
    assert_eq!(selected(&app), page + page / 2);
    app.press("Ctrl-u PgUp");
    assert_eq!(selected(&app), 0);
    app.press("G");
    assert_eq!(selected(&app), 59);
    app.press("g g");
    assert_eq!(selected(&app), 0);
    app.press("End");
    assert_eq!(selected(&app), 59);
    app.press("Home");
    assert_eq!(selected(&app), 0);
}

#[test]
fn esc_cancels_a_prefix_without_a_notice() {
    let mut app = AppHarness::at_rest(120, 40, with_links(3));
    for prefix in ["g", "y", "@"] {
        app.press(prefix);
        assert_eq!(app.model.pending_keys.len(), 1);
        app.press("Esc");
        assert_eq!(app.model.notice_text(), None, "{prefix}");
        assert!(app.model.pending_keys.is_empty());
    }
    app.press("g z");
    app.shows_notice("gz does nothing here; ? shows the keys");
}

#[test]
fn key_of_another_part_says_where_it_works() {
    let mut app = AppHarness::at_rest(80, 24, with_links(3));
    for (keys, notice) in [
        ("H", "H works in the email (pan a wide block left)"),
        ("n", "n works in the email (next match)"),
        (
            "Enter Alt-j",
            "Alt-j works in the list (scroll the email down); j does it here",
        ),
    ] {
        app.press(keys).settle();
        assert_eq!(app.notice(), notice);
    }
}

#[test]
fn panning_beyond_an_end_is_reported() {
    let mut service = FakeService::with_emails(3);
    let cells = "<td>a_cell_that_is_long</td>".repeat(12);
    let head = cells.replace("td>", "th>");
    service.html = Some(
        format!("<table border=1><tr>{head}</tr><tr>{cells}</tr><tr>{cells}</tr></table>").into(),
    );
    let mut app = AppHarness::at_rest(80, 24, service);
    app.press("Enter").settle().press("H");
    app.shows_notice("this is the left end");
    app.press_times("L", 100);
    app.shows_notice("this is the right end");
    app.press("H");
    assert_eq!(app.model.notice_text(), None);
}

#[test]
fn name_that_begins_as_typed_comes_first() {
    let mut app = AppHarness::at_rest(120, 40, with_links(3));
    for (typed, best) in [
        ("stat", "statistics"),
        ("export", "export"),
        ("mark", "mark"),
    ] {
        app.press(":").write(typed);
        assert_eq!(found(&app)[0], best, "{typed}");
        app.press("Esc");
    }
    app.press(":").write("status");
    assert_eq!(found(&app)[0], "only-status");
}
