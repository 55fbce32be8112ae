//! An open or selected email that leaves the list,
//! and clicks on rows that have moved meanwhile.

use ratatui::layout::Position;

use crate::app::tests::env::{AppHarness, FakeService, effect};
use crate::app::tests::fixtures::sync_report;
use crate::app::{Effect, Focus, ListLine, Message, MouseInput};
use crate::mail::Status;

#[test]
fn purged_email_closes_its_reader() {
    for (size, filter, keys) in [
        ((120, 40), "", "j Enter"),
        ((120, 40), "example", "j Enter"),
        ((120, 40), "", "j Enter z"),
        ((120, 40), "example", "j z"),
        ((40, 12), "", "j Enter z"),
    ] {
        let mut app = AppHarness::at_rest(size.0, size.1, FakeService::with_emails(9));
        app.search(filter);
        app.press(keys).settle();
        let open = app.model.list.selected_id().unwrap().clone();
        app.service.rows.retain(|row| row.summary.id != open);
        app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
        app.settle();
        app.shows_notice("the email that was open is no longer in the archive");
        assert_eq!(app.model.focus(), Focus::List);
        assert!(app.model.layout().list.area() > 0, "{size:?} {keys}");
    }
}

#[test]
fn purged_email_closes_what_acts_on_it() {
    for (keys, what) in [
        ("s", "open"),
        ("z s", "open"),
        ("Enter |", "open"),
        ("Enter /", "open"),
        ("o", "open"),
        ("Enter z o", "open"),
        ("Enter y", "open"),
        ("y", "selected"),
    ] {
        let mut service = FakeService::with_emails(9);
        service.html = Some("<a href=https://a.example/1>One</a> <a href=/2>Two</a>".into());
        let mut app = AppHarness::at_rest(120, 40, service);
        app.press(keys).settle();
        let is_open = |app: &AppHarness| {
            let has_keys = !app.model.pending_keys.is_empty();
            has_keys || app.model.prompt.is_some() || app.model.chooser.is_some()
        };
        assert!(is_open(&app), "{keys}");
        app.service.rows.remove(0);
        app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
        app.settle();
        assert!(!is_open(&app), "{keys}");
        app.shows_notice(&format!(
            "the email that was {what} is no longer in the archive"
        ));
        assert_eq!(app.model.focus(), Focus::List, "{keys}");
    }
}

#[test]
fn mouse_moves_no_prompt_to_another_email() {
    for keys in ["s", "Enter |", "Enter /"] {
        let mut app = AppHarness::at_rest(120, 12, FakeService::with_emails(90));
        app.press(keys).settle();
        let before = app.selected();
        let at = Position::new(20, 5);
        app.click(at);
        for _ in 0..9 {
            app.happen(Message::Mouse(MouseInput::Scrolled { at, down: true }));
        }
        app.settle();
        assert_eq!(app.selected(), before, "{keys}");
        assert!(app.model.prompt.is_some(), "{keys}");
    }
}

/// Opens the first of the sent emails, and then presses these keys.
fn first_sent_opened(keys: &str) -> AppHarness {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_statuses(&["sent"; 5]));
    app.search("is:sent");
    app.press("Enter").settle().press(keys).settle();
    app
}

/// The service reports that the email of a row was delivered.
fn deliver(app: &mut AppHarness, row: usize) {
    app.service.rows[row].summary.status = Status::Delivered;
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.settle();
}

#[test]
fn open_email_stays_when_its_status_leaves_the_filter() {
    let mut app = first_sent_opened("J J");
    assert_eq!(app.model.list.position(), Some(3));
    for _ in 0..2 {
        deliver(&mut app, 2);
        assert_eq!(app.model.focus(), Focus::Reader);
        assert_eq!(app.selected(), 998);
        let row = app.model.list.selected().unwrap();
        assert_eq!(row.summary.status, Status::Delivered);
        assert_eq!(app.model.list.position(), None);
        assert_eq!(app.model.list.total, Some(4));
    }
    app.shows_notice(
        "the selected email no longer matches the filter; it stays until you leave it",
    );
    for (keys, position) in [("J", 3), ("K", 2), ("Esc", 2)] {
        app.press(keys).settle();
        assert_eq!(app.model.list.rows().len(), 4, "{keys}");
        assert_eq!(app.model.list.position(), Some(position), "{keys}");
    }
}

#[test]
fn selected_row_that_leaves_the_filter_stays_until_refreshed() {
    for emails in [5, 1] {
        let mut app =
            AppHarness::at_rest(120, 40, FakeService::with_statuses(&vec!["sent"; emails]));
        app.search("is:sent");
        let selected = app.model.list.selected_id().cloned();
        deliver(&mut app, 0);
        assert_eq!(app.model.list.selected_id(), selected.as_ref());
        app.shows_notice(
            "the selected email no longer matches the filter; it stays until you leave it",
        );
        app.press("r").settle();
        assert_eq!(app.model.list.rows().len(), emails - 1);
        assert_ne!(app.model.list.selected_id(), selected.as_ref());
    }
}

#[test]
fn going_back_opens_no_other_email() {
    let mut app = first_sent_opened("J J c");
    deliver(&mut app, 2);
    app.press("Esc").settle();
    app.shows_notice("the email that was open no longer matches the filter");
    assert_eq!(app.model.focus(), Focus::List);
    assert_eq!(app.model.list.rows().len(), 4);
    let mut app = first_sent_opened("J J c");
    app.service.rows.remove(2);
    app.press("Esc").settle();
    app.shows_notice("the email that was open is no longer in the archive");
    assert_eq!(app.model.focus(), Focus::List);
}

#[test]
fn obsolete_rows_do_not_close_the_reader() {
    let mut app = first_sent_opened("J J g n");
    assert_eq!(app.model.list.rows().len(), 0);
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.press("g [");
    app.answer_first(effect!(Effect::LoadWindow(..)));
    app.settle();
    assert_eq!(app.model.focus(), Focus::Reader);
    assert_eq!(app.selected(), 998);
}

#[test]
fn notice_of_kept_email_goes_when_it_is_left() {
    let mut app = first_sent_opened("");
    deliver(&mut app, 0);
    app.shows_notice(
        "the selected email no longer matches the filter; it stays until you leave it",
    );
    app.happen(Message::Mouse(MouseInput::Pressed(Position::new(20, 3))));
    app.settle();
    assert_eq!(app.model.notice_text(), None);
    assert_eq!(app.model.list.rows().len(), 4);
}

#[test]
fn notice_of_kept_email_goes_when_it_matches_again() {
    let mut app = first_sent_opened("");
    deliver(&mut app, 0);
    app.service.rows[0].summary.status = Status::Sent;
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.settle();
    assert_eq!(app.model.list.position(), Some(1));
    assert_eq!(app.model.notice_text(), None);
}

#[test]
fn kept_email_is_reported_after_an_older_notice() {
    let mut app = first_sent_opened("");
    app.model.notify("copied: id, 36 characters");
    deliver(&mut app, 0);
    app.shows_notice(
        "the selected email no longer matches the filter; it stays until you leave it",
    );
}

#[test]
fn settled_watched_email_is_reported_while_kept() {
    let mut app = first_sent_opened(".");
    deliver(&mut app, 0);
    let end = "delivered, their server accepted it; it may be in the spam folder";
    app.shows_notice(&format!("ana@example.com: {end}"));
}

/// Clicks twice on the line in which the third email is now;
/// the answers come in between.
fn double_click_third(app: &mut AppHarness) {
    let lines = app.model.list.visible_lines(&app.model.list_viewport());
    let is_third =
        |line: &ListLine| matches!(line, ListLine::Row { row, .. } if row.sort_key.micros() == 998);
    let line = lines.iter().position(is_third).unwrap();
    let y = app.model.layout().list.y + u16::try_from(line).unwrap();
    for _ in 0..2 {
        app.happen(Message::Mouse(MouseInput::Pressed(Position::new(20, y))));
        app.settle();
        assert_eq!(app.selected(), 998);
    }
    assert_eq!(app.model.focus(), Focus::Reader);
}

#[test]
fn double_click_opens_what_the_first_click_selects() {
    let mut app = first_sent_opened("");
    deliver(&mut app, 0);
    double_click_third(&mut app);
}

#[test]
fn double_click_on_kept_row_opens_its_email() {
    let mut app = first_sent_opened("J J");
    deliver(&mut app, 2);
    double_click_third(&mut app);
}

#[test]
fn click_after_other_input_is_no_double_click() {
    let at = Position::new(20, 3);
    let mut app = first_sent_opened("Esc");
    app.click(at);
    app.scroll(at, true);
    app.scroll(at, false);
    app.click(at);
    assert_eq!(app.model.focus(), Focus::List);
    app.press("j k");
    app.click(at);
    assert_eq!(app.model.focus(), Focus::List);
    app.click(at);
    assert_eq!(app.model.focus(), Focus::Reader);
}

#[test]
fn kept_row_alone_is_not_exported() {
    let mut app = first_sent_opened("J J");
    for row in 0..5 {
        deliver(&mut app, row);
    }
    app.press("E");
    app.shows_notice("there is no email to export");
    assert_eq!(app.model.focus(), Focus::Reader);
}
