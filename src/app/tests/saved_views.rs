//! Saved views by messages.

use super::recipient::service;
use crate::app::tests::env::{AppHarness, effect, session};
use crate::app::{Effect, Focus, Message, SessionInfo};
use crate::config::{SavedView, ViewWrite};
use crate::error::{Error, ErrorKind};
use ratatui::layout::Position;

#[test]
fn number_shows_view_and_undo_restores() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("2").settle();
    assert_eq!(app.filter(), "is:trouble after:7d");
    assert_eq!(app.model.shown_view().unwrap().1.name, "Trouble");
    app.press("1").settle();
    assert_eq!(app.filter(), "after:today");
    app.press("u").settle();
    assert_eq!(app.filter(), "is:trouble after:7d");
    app.press("u").settle();
    assert_eq!((app.filter(), app.model.shown_view()), ("", None));
    app.press("9").settle();
    app.shows_notice("no view has the number 9; W saves what is shown as one");
}

#[test]
fn views_are_saved_chosen_and_deleted() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("W");
    assert!(app.model.notice_text().is_some(), "all mail is not a view");
    assert!(app.model.prompt.is_none());
    app.press("/").write("to:ana").press("Enter W").settle();
    assert_eq!(app.prompt_text(), "5 ", "the first free number");
    app.press("Enter");
    assert_eq!(app.model.focus(), Focus::Prompt, "a view has a name");
    app.write("Ana").press("Enter").settle();
    let saved = SavedView {
        name: "Ana".to_owned(),
        query: "to:ana".to_owned(),
    };
    assert!(app.effects.iter().any(|effect| matches!(effect, Effect::SaveView { number: 5, view: Some(view), .. } if *view == saved)));
    app.shows_notice("5 shows Ana from now on; written to config.toml");
    assert_eq!(app.model.shown_view(), Some((5, &saved)));

    app.press("Esc g v").settle();
    assert_eq!(app.model.focus(), Focus::Choice);
    assert_eq!(app.selected_item(), 0);
    app.press("j j j j j Enter").settle();
    assert_eq!((app.model.focus(), app.filter()), (Focus::List, "to:ana"));
    app.press("g v").settle();
    assert_eq!(app.selected_item(), 4, "the shown one");
    app.press("d d");
    app.shows(&["Delete Ana (to:ana)?"]);
    app.press("j Enter").settle();
    assert_eq!(app.model.session.saved_views.len(), 5, "kept");
    assert_eq!(app.selected_item(), 4);
    app.press("d d Enter").settle();
    let is_deleted = effect!(Effect::SaveView {
        number: 5,
        view: None,
        ..
    });
    assert_eq!(app.count(is_deleted), 1);
    assert_eq!(app.model.session.saved_views.len(), 4);
    assert_eq!(app.selected_item(), 3);
    for _ in 0..4 {
        app.press("d d Enter").settle();
    }
    assert!(app.model.session.saved_views.is_empty());
    app.press("Esc");
    assert_eq!(app.model.focus(), Focus::List);
}

#[test]
fn saving_again_renames_view() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("2").settle().press("W");
    assert_eq!(app.prompt_text(), "2 Trouble");
    app.press("Ctrl-w").write("Alarm").press("Enter").settle();
    let (number, view) = app.model.shown_view().unwrap();
    assert_eq!((number, &*view.name), (2, "Alarm"));
    assert_eq!(app.model.session.saved_views.len(), 4);
}

#[test]
fn replacing_a_view_takes_a_second_enter() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("/").write("to:ana").press("Enter W").settle();
    app.press("Ctrl-u").write("2 Ana").press("Enter");
    assert_eq!(app.model.focus(), Focus::Prompt);
    assert_eq!(app.model.session.saved_views[&2].name, "Trouble");
    app.press("Enter").settle();
    assert_eq!(app.model.session.saved_views[&2].name, "Ana");
}

#[test]
fn view_that_another_session_has_saved_stays() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("/").write("to:ana").press("Enter W");
    app.write("Ana").settle().press("Enter");
    let (request, known) =
        app.take(effect!(Effect::SaveView { request, known, .. } => (*request, known.clone())));
    assert_eq!(known, None);
    let other = SavedView {
        name: "Bo".to_owned(),
        query: "to:bo".to_owned(),
    };
    let views = [(5, other.clone())].into();
    app.happen(Message::ViewSaved(
        request,
        Ok(ViewWrite::Conflict { number: 5, views }),
    ));
    app.shows_notice("nothing is written: 5 is Bo (to:bo) in the file by now");
    assert_eq!(app.model.session.saved_views, [(5, other)].into());
}

#[test]
fn view_list_shows_what_others_have_saved() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("g v");
    let request = app.take(effect!(Effect::LoadViews(request) => *request));
    let view = |name: &str| SavedView {
        name: name.to_owned(),
        query: format!("to:{name}"),
    };
    let mut views = app.model.session.saved_views.clone();
    views.insert(6, view("bo"));
    app.happen(Message::ViewsLoaded(request, Ok(Some(views))));
    app.shows(&["to:bo"]);
    app.press("6").settle();
    assert_eq!(app.filter(), "to:bo");
    // What could not be written is not lost.
    app.press("/").write("to:ana").press("Enter W").write("Ana");
    app.settle().press("Enter");
    let request = app.take(effect!(Effect::SaveView { request, .. } => *request));
    let error = Error::new(ErrorKind::Config, "config.toml cannot be written");
    app.happen(Message::ViewSaved(request, Err(error)));
    let loads = effect!(Effect::LoadViews(_));
    let before = app.count(loads);
    app.press("g v").settle();
    assert_eq!(app.count(effect!(Effect::LoadViews(_))), before);
}

#[test]
fn number_without_view_loads_what_others_have_saved() {
    let view = SavedView {
        name: "Bo".to_owned(),
        query: "to:bo".to_owned(),
    };
    for (meanwhile, filter) in [("", "to:bo"), ("/ a n a", "ana")] {
        let mut app = AppHarness::at_rest(120, 40, service());
        app.press("6");
        let request = app.take(effect!(Effect::LoadViews(request) => *request));
        app.press(meanwhile);
        let views = [(6, view.clone())].into();
        app.happen(Message::ViewsLoaded(request, Ok(Some(views))));
        app.settle();
        assert_eq!(app.filter(), filter);
    }
}

#[test]
fn impossible_query_is_not_saved_as_view() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("/").write("on:2026-13-45").press("Enter W");
    assert!(app.model.prompt.is_none());
    let notice = app.notice();
    let start = "not saved as a view: 2026-13-45: expected a date";
    assert!(notice.starts_with(start), "{notice}");
}

#[test]
fn unwritten_view_lasts_until_exit() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("/")
        .write("to:ana")
        .press("Enter W")
        .write("Ana")
        .settle()
        .press("Enter");
    let request = app.take(effect!(Effect::SaveView { request, .. } => *request));
    let error = Error::new(ErrorKind::Config, "config.toml cannot be written");
    app.happen(Message::ViewSaved(request, Err(error)));
    app.shows_notice("5 shows Ana from now on; until you leave: config.toml cannot be written");
    app.press("Esc 5").settle();
    assert_eq!(app.filter(), "to:ana");
}

#[test]
fn stored_view_is_not_added_to_other_notices() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("/").write("to:ana").press("Enter W");
    app.write("Ana").settle().press("Enter U");
    app.shows_notice("nothing to redo");
    app.settle();
    app.shows_notice("written to config.toml");
}

#[test]
fn view_list_covers_mouse_targets() {
    let mut app = AppHarness::at_rest(120, 40, service());
    let selected = app.selected();
    app.press("g v");
    let at = Position::new(3, 9);
    app.click(at);
    app.scroll(at, true);
    assert_eq!(app.selected_item(), 1);
    assert_eq!(app.selected(), selected);
}

#[test]
fn click_chooses_view() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("g v");
    let title = Position::new(3, app.model.layout().main.y);
    app.click(title);
    assert!(app.model.is_choosing(), "the title is not a view");
    app.click(Position::new(3, title.y + 3));
    app.settle();
    assert!(!app.model.is_choosing());
    let expected = &app.model.session.saved_views.values().nth(1).unwrap().query;
    assert_eq!(app.filter(), expected);
}

#[test]
fn configured_views_have_their_numbers() {
    let seven = SavedView {
        name: "Seven".to_owned(),
        query: "#7".to_owned(),
    };
    let session = SessionInfo {
        saved_views: [(7, seven)].into(),
        ..session()
    };
    let mut app = AppHarness::settled((120, 40), session, service());
    app.press("7").settle();
    assert_eq!(app.filter(), "#7");
}
