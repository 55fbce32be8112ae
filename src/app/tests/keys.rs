//! Keys, mouse and layers by messages.

use super::freshness::sent;
use crate::app::commands::help::{HelpLine, help_lines};
use crate::app::tests::env::{AppHarness, FakeService, effect, session};
use crate::app::{Command, Effect, ExitReason, Focus, Keymap, Message, MouseInput, ReaderState};
use crate::config::KeyBinding;
use crate::render::BodyView;
use jiff::ToSpan as _;
use ratatui::layout::{Offset, Position, Size};
use std::sync::Arc;

#[test]
fn open_loads_at_once_and_back_closes_layer() {
    let mut app = AppHarness::at_rest(40, 12, FakeService::with_emails(50));
    assert_eq!(app.email_loads(), 0, "the reader is not shown");
    app.press("Enter");
    assert!(app.is_pending(effect!(Effect::LoadEmail { .. })));
    assert_eq!(app.model.focus(), Focus::Reader);
    app.press("?");
    assert_eq!(app.model.focus(), Focus::Prompt);
    app.press("Esc");
    assert_eq!(app.model.focus(), Focus::Reader);
    app.press("Esc");
    assert_eq!((app.model.focus(), &app.exit), (Focus::List, &None));
    app.press("Esc");
    assert_eq!(app.exit, None, "Esc never leaves the program");
    app.press("q");
    assert_eq!(app.exit, Some(ExitReason::Quit));
}

#[test]
fn next_and_previous_email_while_reading() {
    let mut app = AppHarness::at_rest(40, 12, FakeService::with_emails(50));
    app.press("Enter").settle().press("J").settle();
    assert_eq!(app.selected(), 48);
    assert!(matches!(app.model.reader_state(), ReaderState::Ready(..)));
    app.press("K").settle().press("K").settle();
    assert_eq!(app.selected(), 49);
    app.shows_notice("this is the first email here");
}

#[test]
fn ends_of_reversed_list_are_first_and_last() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(50).older(3));
    app.search("sort:oldest").press("G");
    assert_eq!(app.selected(), 49);
    app.shows_notice("");
    app.press("Enter J").settle();
    app.shows_notice("this is the last email here");
    app.press("q").settle().press("g g Enter K").settle();
    assert_eq!(app.model.list.position(), Some(1));
    app.shows_notice("this is the first email here");
}

#[test]
fn unbound_key_is_reported_and_prefix_waits() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(50));
    app.press("Q");
    app.shows_notice("Q does nothing here; ? shows the keys");
    app.press("j g");
    assert_eq!(app.model.notice_text(), None);
    assert_eq!(app.model.pending_keys.len(), 1);
    app.press("g");
    assert_eq!((app.selected(), app.model.pending_keys.len()), (49, 0));
}

#[test]
fn double_click_opens_the_reader() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(50));
    let press = Message::Mouse(MouseInput::Pressed(Position::new(3, 4)));
    app.happen(press.clone());
    assert_eq!(app.model.focus(), Focus::List);
    let later = app.model.now.checked_add(1.second()).unwrap();
    app.set_time(later);
    app.happen(press.clone());
    assert_eq!(app.model.focus(), Focus::List, "two clicks");
    app.pass(-3600);
    app.happen(press.clone());
    assert_eq!(app.model.focus(), Focus::List, "the clock was set back");
    app.happen(press);
    assert_eq!(app.model.focus(), Focus::Reader);
}

#[test]
fn mouse_selects_opens_and_scrolls() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(500));
    let layout = app.model.layout();
    app.click(Position::new(3, layout.list.y + 4));
    assert_eq!(app.selected(), 499 - 3, "below the heading of the day");
    app.settle();
    let over_list = Position::new(3, layout.list.y + 4);
    app.scroll(over_list, true);
    assert_eq!(app.selected(), 499 - 3, "the wheel scrolls the view");
    assert_eq!(app.visible()[0], 499 - 3);
    app.scroll(over_list, true);
    assert_eq!(app.selected(), 499 - 6, "the selection stays visible");
    app.settle();
    let over = Position::new(layout.reader.x + 2, layout.reader.y + 2);
    app.scroll(over, true);
    assert_eq!(app.model.reader.scroll, 3);
    app.click(over);
    assert_eq!(app.model.focus(), Focus::Reader);
    let before = app.model.layout().list.width;
    let divider = app.model.layout().divider;
    app.click(Position::new(divider.x, divider.y + 1));
    let to = Position::new(divider.x + 5, divider.y + 1);
    app.happen(Message::Mouse(MouseInput::Dragged(to)));
    assert_eq!(app.model.layout().list.width, before + 5);
    app.model.banner = vec!["Released under it.".to_owned()];
    app.happen(Message::Mouse(MouseInput::Released));
    app.press("j");
    app.happen(Message::Mouse(MouseInput::Dragged(over)));
    assert_eq!(app.model.layout().list.width, before + 5);
}

#[test]
fn divider_at_its_limit_moves_back_at_once() {
    for size in [(160, 45), (80, 24)] {
        let mut app = AppHarness::at_rest(size.0, size.1, FakeService::with_emails(50));
        let position = |app: &AppHarness| app.model.layout().divider_position();
        app.press_times(">", 60);
        let limit = position(&app);
        app.press("<");
        assert_eq!(position(&app), limit - 2);
        let start = app.model.layout().divider.as_position();
        app.click(start);
        let drag = |app: &mut AppHarness, by: i32| {
            let at = start.offset(Offset::new(by, by));
            app.happen(Message::Mouse(MouseInput::Dragged(at)));
        };
        for by in [1, 2, 3, 4, 5, 6, -3] {
            drag(&mut app, by);
        }
        assert_eq!(position(&app), limit - 5, "it follows the pointer");
    }
}

#[test]
fn divider_is_reset_when_arrangement_changes() {
    let mut app = AppHarness::at_rest(160, 45, FakeService::with_emails(50));
    let default = app.model.layout();
    app.press("> > >");
    let wider = app.model.layout();
    assert_eq!(wider.list.width, default.list.width + 6);
    app.happen(Message::Resized(Size::new(150, 45)));
    assert!(app.model.layout().list.width > 6);
    app.happen(Message::Resized(Size::new(80, 24)));
    app.happen(Message::Resized(Size::new(160, 45)));
    assert_eq!(app.model.layout(), default);
}

#[test]
fn configured_keys_replace_defaults() {
    let change = |keys: &str, command: &str| KeyBinding {
        keys: keys.to_owned(),
        command: command.to_owned(),
        declared_at: String::new(),
    };
    let changes = [("s", "next-row"), ("Ctrl-s", "filter"), ("j", "none")];
    let (keys, wrong) = Keymap::with_overrides(&changes.map(|(keys, name)| change(keys, name)));
    assert!(wrong.is_empty());
    let mut info = session();
    info.keymap = Arc::new(keys);
    let mut app = AppHarness::settled((120, 40), info, FakeService::with_emails(300));
    app.press("s s j").settle();
    assert_eq!(app.selected(), 297);
    app.shows_notice("j does nothing here; ? shows the keys");
    app.press("Ctrl-s");
    assert_eq!(app.model.focus(), Focus::Prompt);
    app.write("s").press("Enter").settle();
    assert_eq!(app.filter(), "s", "where one types, a letter is a letter");
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
pub fn found(app: &AppHarness) -> Vec<&'static str> {
    let lines = app.model.help_lines();
    let names = lines.iter().filter_map(|line| match line {
        HelpLine::Keys(_, spec) => Some(spec.name),
        _ => None,
    });
    names.collect()
}

#[test]
fn help_finds_commands_by_name_words_and_keys() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(5));
    for (typed, best) in [
        ("shraw", "show-raw"),
        ("plain part", "show-text"),
        ("G", "oldest"),
        ("!", "error-details"),
        ("gd", "go-to-date"),
        ("undo", "undo"),
        ("customer", "recipient-summary"),
        ("company", "only-domain"),
        ("print", "pipe"),
        ("unread", "show-changes"),
    ] {
        app.press("?").write(typed);
        assert_eq!(found(&app)[0], best, "{typed}");
        app.press("Esc");
    }
}

#[test]
fn help_finds_letters_that_are_together() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(5));
    app.press("?").write("marks");
    let names = found(&app);
    assert!(!names.is_empty());
    let help = |name: &&str| Command::from_name(name).unwrap().spec().help;
    let is_of_marks = names.iter().map(help).all(|help| help.contains("mark"));
    assert!(is_of_marks, "{names:?}");
    app.press("Ctrl-u").write("why");
    app.shows(&[" no command matches why"]);
}

#[test]
fn help_runs_the_chosen_command() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(50));
    app.press(":").write("shraw").press("Enter").settle();
    assert_eq!(app.model.reader.body_view, BodyView::Raw);
    assert!(app.model.prompt.is_none());
    app.press("? Down Down Up Enter").settle();
    assert_eq!(app.selected(), 48, "the first in the list is the next row");
    app.press("? Enter");
    assert_eq!((app.selected(), app.model.focus()), (48, Focus::List));
    app.press("?").write("qqqq").press("Enter");
    assert!(app.model.prompt.as_ref().unwrap().is_rejected);
}

#[test]
fn help_without_match_names_typed_text() {
    let mut app = AppHarness::at_rest(80, 12, FakeService::with_emails(5));
    for keys in ["", "Enter"] {
        app.press(":").write("qqq").press(keys);
        app.shows(&[" no command matches qqq"]);
        app.press("Esc");
    }
}

#[test]
fn help_names_why_a_command_is_impossible() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(5));
    app.press("?").write("undo").press("Enter");
    app.shows_notice("nothing to undo");
    app.press("?").write("next-email").press("Enter");
    app.shows_notice("next-email works only in the email");
    assert_eq!(app.selected(), 4);
}

#[test]
fn help_closes_to_what_was_below() {
    for (keys, focus) in [
        ("Enter", Focus::Reader),
        ("g v", Focus::Choice),
        ("g p", Focus::Choice),
    ] {
        let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(5));
        app.press(keys).settle().press("?");
        assert_eq!(app.model.focus(), Focus::Prompt, "{keys}");
        app.write("q").press("Esc");
        assert_eq!(app.model.focus(), focus, "{keys}");
    }
}

#[test]
fn paging_or_scrolling_help_keeps_choice_visible() {
    let mut app = AppHarness::at_rest(80, 12, FakeService::with_emails(5));
    app.press("?");
    let at = Position::new(3, 3);
    for down in [true, true, true, false] {
        app.scroll(at, down);
    }
    app.press("PgDn PgDn PgDn PgUp PgDn");
    let help = app.model.prompt.as_ref().unwrap().help;
    let (chosen, height) = (help.chosen.unwrap(), app.model.help_height());
    assert!((help.top(height)..help.top(height) + height).contains(&chosen));
    app.press_times("PgDn", 30);
    let last = *found(&app).last().unwrap();
    assert_eq!(app.model.chosen_command().unwrap().0.name, last);
}

#[test]
fn click_ends_a_notice() {
    let mut app = AppHarness::at_rest(120, 12, FakeService::with_emails(9));
    app.press("Q")
        .shows_notice("Q does nothing here; ? shows the keys");
    app.click(Position::new(20, 5));
    assert_eq!(app.model.notice_text(), None);
}

#[test]
fn sequence_of_another_pane_is_read_whole() {
    let mut app = AppHarness::at_rest(120, 12, FakeService::with_emails(9));
    app.press("Enter @ s").settle();
    assert!(app.model.prompt.is_none(), "s alone saves the email");
    app.shows_notice(
        "@s works in the list (only emails with this subject, whatever numbers are in it)",
    );
    app.press("@ Esc").settle();
    assert_eq!(app.model.focus(), Focus::Reader);
}

#[test]
fn view_changes_only_of_a_shown_email() {
    let mut app = AppHarness::at_rest(40, 12, FakeService::with_emails(9));
    for key in ["v", "]", "[", "Alt-3", "Z"] {
        app.press(key);
        app.shows_notice("the email is not open; Enter reads it");
    }
    app.press("Enter").settle().press("v").settle();
    assert_eq!(app.model.notice_text(), None);
}

#[test]
fn click_in_the_help_chooses_its_line() {
    let mut app = AppHarness::at_rest(80, 24, FakeService::with_emails(5));
    app.press("?");
    app.click(Position::new(30, app.model.layout().main.y));
    let chosen = |app: &AppHarness| app.model.chosen_command().map(|(spec, _)| spec.name);
    assert_eq!(chosen(&app), None, "the first line is a title");
    app.click(Position::new(30, app.model.layout().main.y + 2));
    assert_eq!(chosen(&app), Some("previous-row"));
    app.press("Down");
    assert_ne!(chosen(&app), Some("previous-row"));
}

#[test]
fn reason_of_the_help_is_whole_on_narrow_screens() {
    for width in [20, 30, 40, 80] {
        let mut app = AppHarness::at_rest(width, 16, FakeService::with_emails(5));
        app.press("?");
        app.press_times("Down", 30);
        while app.model.chosen_command().unwrap().1.is_none() {
            app.press("Down");
        }
        app.shows(&["not now"]);
        let (spec, reason) = app.model.chosen_command().unwrap();
        let reason = reason.unwrap();
        let end = reason.rsplit(' ').next().unwrap();
        app.shows(&[end]);
        assert!(end.len() > 3, "{}: {reason}", spec.name);
    }
}

#[test]
fn notice_wider_than_the_screen_is_shown_by_a_key() {
    let mut app = AppHarness::at_rest(40, 12, FakeService::with_emails(5));
    app.press("g y");
    app.shows(&["gy does nothing here", "? shows the keys"]);
    app.press("!");
    app.shows_notice("no error");
    app.press("Alt-j");
    app.press("Enter Alt-j");
    app.shows(&["Alt-j works in the list", "! details"]);
    app.press("!");
    app.shows(&[" Alt-j works in the list (scroll the", " email down)"]);
    app.press("j");
    app.hides(&["email down)"]);
    app.press("g v Alt-j");
    app.shows(&["Alt-j works in the list", "! details"]);
    app.press("!");
    app.shows(&[" email down)", "any key closes this"]);
}

#[test]
fn keys_of_an_email_report_an_empty_list() {
    let mut app = AppHarness::at_rest(120, 30, FakeService::with_emails(0));
    for key in ["v", "]", "[", "Alt-1", "Alt-4", "Z"] {
        app.press(key).settle();
        assert_eq!(app.notice(), "no email is selected", "{key}");
    }
    app.press("t");
    app.shows_notice("full times, where the list has columns for them");
    for key in ["P", "<", ">"] {
        app.press(key).settle();
        assert_eq!(app.notice(), "an empty list has no panes", "{key}");
    }
}

#[test]
fn divider_of_one_pane_cannot_be_moved() {
    let mut app = AppHarness::at_rest(40, 12, FakeService::with_emails(3));
    app.press("<");
    app.shows_notice("one pane is shown, so there is no divider");
}

#[test]
fn typed_ahead_key_acts_on_no_other_email() {
    let far = "Space ".repeat(40) + "y i";
    for keys in ["G y i", "/ # 4 2 Enter y i", "G x", "G .", "G c", &far] {
        let mut app = AppHarness::at_rest(120, 40, sent(600, 0));
        app.press(keys);
        app.shows_notice("the list is still loading");
        app.settle();
        assert!(app.model.marks.is_empty());
        assert!(!app.model.recipient_card.is_shown());
    }
    let mut app = AppHarness::at_rest(120, 40, sent(600, 0));
    app.press("/ # 4 2 Enter *").settle();
    assert!(!app.model.marks.is_empty(), "all that match are meant");
}
