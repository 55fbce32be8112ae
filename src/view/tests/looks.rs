//! ASCII symbols, states without colours, and low screens.

use super::parts::position_of;
use super::{plain_ctx, render_ctx, terminal, text, varied};
use crate::app::tests::env::{AppHarness, FakeService, session};
use crate::app::{Message, MouseInput};
use crate::tui::tests::start_screens::setting_up;
use crate::view::click_target;
use ratatui::layout::Position;
use ratatui::style::Modifier;

#[test]
fn ascii_symbols_are_on_every_screen() {
    let mut service = FakeService::with_emails(200);
    service.older_pages = 1;
    service.html = Some(
        "<p>Your verification code is 482913.</p><hr><ul><li>one</li></ul><blockquote>two</blockquote>\
         <p><a href='https://example.com/a'>a</a> <a href='https://example.com/b'>bank.test</a></p><table><tr><td>3</td><td>4</td></tr></table>\
         <img src='https://example.com/i.png' alt='A picture with a text that goes on and on and on and on'>"
            .into(),
    );
    for (width, height) in [(160, 45), (80, 24), (40, 12)] {
        let mut app = AppHarness::at_rest(width, height, service.clone());
        for keys in [
            "j Enter", "Z", "[", "[", "[", "q", "j", "V j", "t", "c", "q", "?", "q", "b", "G", "/",
            "s t a", "Enter", "2", "g v", "q", "W", "Esc", "g p", "q", "g d", "Esc", ":", "Esc",
            "Enter o", "q", "P", "y", "Esc", "@", "Esc", "S", "x",
        ] {
            app.press(keys).settle();
            let shown = text(&terminal(&app, &plain_ctx()));
            assert!(shown.is_ascii(), "{keys} at {width}x{height}:\n{shown}");
        }
    }
    let shown = text(&terminal(&setting_up(80, 24), &plain_ctx()));
    assert!(shown.is_ascii(), "{shown}");
}

#[test]
fn states_show_without_colours() {
    let mut app = AppHarness::at_rest(160, 24, varied());
    app.search("rece");
    let terminal = terminal(&app, &plain_ctx());
    let cells = |modifier: Modifier| -> String {
        let cells = terminal.backend().buffer().content.iter();
        let cells = cells.filter(|cell| cell.modifier.contains(modifier));
        cells.map(ratatui::buffer::Cell::symbol).collect()
    };
    assert_eq!(cells(Modifier::REVERSED), "ana.lopez@example.com");
    assert!(cells(Modifier::UNDERLINED).contains("rece"));
    let shown = text(&terminal);
    assert!(shown.contains(">ok delivered"), "{shown}");
}

fn app_with_banner() -> AppHarness {
    let mut start = session();
    start.theme_errors = vec!["config.toml:1: expected a table".to_owned()];
    AppHarness::settled((40, 12), start, varied())
}

#[test]
fn quit_key_works_under_a_banner() {
    let mut app = app_with_banner();
    app.press("Ctrl-c");
    assert!(app.exit.is_some());
}

#[test]
fn click_only_closes_a_banner() {
    let mut app = app_with_banner();
    let help = position_of(&app, "? help");
    assert_eq!(click_target(&app.model, &render_ctx(), help), None);
    let first = app.selected();
    for selects_row in [false, true] {
        let row = Position::new(10, 9);
        app.happen(Message::Mouse(MouseInput::Pressed(row)));
        app.settle();
        assert!(app.model.banner.is_empty());
        assert_eq!(app.selected() != first, selects_row);
    }
    assert!(click_target(&app.model, &render_ctx(), help).is_some());
}

#[test]
fn login_cursor_stays_in_form_on_low_screens() {
    let mut app = setting_up(80, 4);
    app.press("Enter").settle();
    let terminal = terminal(&app, &render_ctx());
    let cursor = terminal.backend().cursor_position();
    let lines = text(&terminal);
    let row = lines.lines().nth(usize::from(cursor.y)).unwrap();
    assert!(row.trim_start().starts_with("key"), "{cursor}\n{lines}");
}

#[test]
fn date_beyond_the_calendar_is_rejected_in_words() {
    let mut app = AppHarness::at_rest(80, 24, varied());
    app.press("g d").write("99999999d").press("Enter").settle();
    app.shows(&["not a date; examples:"]);
}
