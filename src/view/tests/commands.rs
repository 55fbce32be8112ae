//! Every command of the table changes the screen or has an effect.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;

use super::{render_ctx, setting_up, terminal, varied};
use crate::app::session::SavedState;
use crate::app::tests::env::{AppHarness, FakeService, session};
use crate::app::{COMMANDS, Message, SessionInfo};
use crate::config::SavedView;
use crate::error::{Error, ErrorKind};

/// An app after some input.
type Setup = fn() -> AppHarness;

fn service() -> FakeService {
    let mut service = varied();
    let cells = "<td>a_cell_that_is_long</td>".repeat(12);
    let table = format!(
        "<table border=1><tr>{}</tr><tr>{cells}</tr><tr>{cells}</tr></table>",
        cells.replace("td>", "th>")
    );
    let lines = "<p>line of text</p>".repeat(80);
    let html = format!(
        "{table}{lines}<a href='https://example.com/a'>one</a> \
         <a href='https://example.com/reset?token=1'>two</a>"
    );
    service.html = Some(html.into());
    service.older_pages = 3;
    service
}

fn info() -> SessionInfo {
    let view = |number: u8| {
        let (name, query) = (format!("View {number}"), format!("to:example{number}"));
        (number, SavedView { name, query })
    };
    SessionInfo {
        saved_views: (1..=9).map(view).collect::<BTreeMap<_, _>>(),
        saved: SavedState {
            filters: vec!["first".to_owned(), "second".to_owned()],
            ..SavedState::default()
        },
        ..session()
    }
}

fn after(keys: &str) -> AppHarness {
    let mut app = AppHarness::settled((120, 24), info(), service());
    for key in keys.split(' ').filter(|key| !key.is_empty()) {
        match key.strip_prefix("type:") {
            Some(text) => app.write(&text.replace('_', " ")),
            None => app.press(key),
        };
        app.settle();
    }
    app
}

const SETUPS: &[Setup] = &[
    || after("j j j"),
    || after("/ type:example Enter j"),
    || after("/ type:example Enter u"),
    || after("/ type:example Enter g [ j"),
    || after("/ type:nowhere Enter"),
    || after("j j Enter Ctrl-d Ctrl-d"),
    || after("j j Enter L"),
    || after("j j v"),
    || after("j Enter / type:line Enter n n"),
    || after("g v j"),
    || after("c"),
    || after("o j"),
    || after("j x V j"),
    || after("j j . A j"),
    || after("g r j"),
    || after("? Ctrl-d Ctrl-d"),
    || after("/ type:one_two_three Left Left Left Left"),
    || after("/ type:status: Down Down"),
    || after("/ Ctrl-p Ctrl-p"),
    || after(": type:ref"),
    || {
        let mut app = after("");
        let error = Error::new(
            ErrorKind::Unreachable,
            "127.0.0.1:8025 refuses the connection",
        );
        app.press("r");
        app.fail_refresh(error);
        app
    },
    || {
        let mut app = after("/ type:nowhere Enter");
        app.press("b");
        app
    },
    || {
        let mut app = setting_up(80, 24);
        app.press("j").settle();
        app
    },
];

/// Returns what the user can notice:
/// the screen with the cursor, and the number of effects.
fn state(app: &AppHarness) -> (Buffer, String, usize, bool) {
    let terminal = terminal(app, &render_ctx());
    let cursor = format!("{:?}", terminal.backend().cursor_position());
    let screen = terminal.backend().buffer().clone();
    (screen, cursor, app.effects.len(), app.exit.is_some())
}

#[test]
fn every_command_has_a_screen_or_an_effect() {
    let mut idle: Vec<&str> = COMMANDS.iter().map(|spec| spec.name).collect();
    for setup in SETUPS {
        let start = setup();
        // Every key clears the notice and may cause effects, so that neither is a sign of a
        // command.
        let mut other = start.clone();
        other.press("F12");
        other.model.take_notice();
        let before = state(&other);
        idle.retain(|name| {
            let spec = COMMANDS.iter().find(|spec| spec.name == *name).unwrap();
            if (spec.possible)(&start.model).is_err() {
                return true;
            }
            let mut app = start.clone();
            app.happen(Message::Command(spec.command));
            state(&app) == before
        });
    }
    assert_eq!(idle, Vec::<&str>::new());
}
