//! The reader by messages: find, body views, header.

use super::recipient::service;
use crate::api::wire;
use crate::app::tests::env::{AppHarness, FakeService, effect};
use crate::app::{Effect, Focus, Message, ReaderState, TimerKind};
use crate::render::BodyView;
use ratatui::layout::Size;

#[test]
fn matches_are_stepped_through() {
    let mut app = AppHarness::at_rest(120, 24, FakeService::with_emails(300));
    app.press("Enter n").settle();
    app.shows_notice("no search text; / searches this text");
    app.press("q /")
        .write("\"line 2\" or receipt or subject:email")
        .press("Enter Enter")
        .settle();
    let marked: Vec<usize> = app
        .model
        .reader
        .matches()
        .iter()
        .map(crate::app::reader::text_match::TextMatch::first_line)
        .collect();
    let expected = [3, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30];
    assert_eq!(marked, expected, "in the body, words that begin so");
    app.press("n");
    app.shows_notice("match 1 of 11");
    assert_eq!(app.model.reader.scroll, 0);
    app.press("n");
    app.shows_notice("match 2 of 11");
    assert!(app.model.reader.scroll > 0, "it is scrolled to");
    app.press("N N");
    app.shows_notice("match 11 of 11");
    app.press("q Esc").settle();
    assert!(app.model.reader.matches().is_empty());
}

#[test]
fn find_follows_typing_and_esc_restores() {
    let mut app = AppHarness::at_rest(120, 24, FakeService::with_emails(300));
    app.press("Enter /").write("line 2").settle();
    assert_eq!(app.model.reader.find_text(), Some("line 2"));
    assert_eq!(app.model.reader.matches().len(), 11);
    assert_eq!(app.model.reader.current_match, Some(0));
    assert_eq!(app.model.reader.scroll, 0);
    app.write("9").settle();
    assert_eq!(app.model.reader.matches().len(), 1);
    assert!(app.model.reader.scroll > 0, "what is found is gone to");
    app.press("Backspace").settle();
    assert_eq!(app.model.reader.scroll, 0);
    assert_eq!(app.model.reader.current_match, Some(0), "from the start");
    app.press("Enter n n").settle();
    app.shows_notice("match 3 of 11");
    assert_eq!(app.model.reader.current_match, Some(2));
    app.press("G").settle();
    app.press("/ Enter");
    assert_eq!(app.model.reader.find_text(), Some("line 2"));
    app.search("line 2");
    assert!(app.model.reader.scroll > 0);
    app.press("n J").settle();
    assert_eq!(app.model.reader.scroll, 0);
    assert_eq!(app.model.reader.current_match, None);
    assert_eq!(app.model.reader.find_text(), Some("line 2"));
    assert_eq!(app.model.reader.matches().len(), 11, "there, too");
    app.press("Esc").settle();
    assert_eq!(app.model.reader.find_text(), None);
    assert_eq!(app.model.focus(), Focus::Reader, "one layer");
    app.press("/").write("line 50").settle();
    assert!(app.model.reader.scroll > 0);
    app.press("Esc").settle();
    assert_eq!(app.model.reader.scroll, 0);
    assert_eq!(app.model.reader.matches().len(), 0);
    app.press("/").write("nowhere").settle().press("Enter");
    app.shows_notice("nowhere is not in this text");
    app.press("j n");
    app.shows_notice("nowhere is not in this text");
}

#[test]
fn search_in_cut_body_claims_no_more() {
    let mut service = FakeService::with_emails(1);
    service.html = Some("x<br>".repeat(50_001).into());
    let mut app = AppHarness::at_rest(120, 40, service);
    app.search("to:@ or body:needle").press("Enter").settle();
    app.shows(&[" cut "]);
    app.press("n");
    app.shows_notice("the filter matches nothing in the part of this text that is shown");
    app.press("/").write("nowhere").settle().press("Enter");
    app.shows_notice("nowhere is not in the part of this text that is shown");
    assert_eq!(
        crate::view::linear::format_found(&app.model),
        ["shown part of the rendered view, no line has nowhere"]
    );
}

#[test]
fn find_text_hides_matches_of_filter() {
    let mut app = AppHarness::at_rest(120, 24, FakeService::with_emails(300));
    app.search("\"line 3\"");
    assert!(app.model.list.rows().is_empty(), "no body is known");
    app.press("/ Ctrl-u")
        .write("receipt or body:line")
        .press("Enter")
        .settle()
        .press("Enter")
        .settle();
    let of_filter = app.model.reader.matches().len();
    assert!(of_filter > 11);
    app.search("line 1");
    assert_eq!(app.model.reader.matches().len(), 11);
    app.press("Esc").settle();
    assert_eq!(app.model.reader.matches().len(), of_filter);
}

#[test]
fn header_shows_reason_of_bounce_once() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.search("\"For Ana #200\"");
    let mentions = |app: &AppHarness| {
        let row = app.model.list.selected().unwrap();
        format!("{:?}", app.model.reader.header(row))
            .matches("mailbox full")
            .count()
    };
    assert_eq!(mentions(&app), 1, "in place of the meaning of the status");
    app.press("Z Z").settle();
    assert_eq!(mentions(&app), 1, "and nowhere else");
    // A webhook can report it of an email that is open already.
    let mut row = app.model.list.selected().unwrap().clone();
    let later = r#"{"id":"a","bounce":{"message":"no such user"}}"#;
    let later = wire::Summary::parse(later).unwrap();
    row.summary.extra = crate::mail::Summary::from(&later).extra;
    let header = format!("{:?}", app.model.reader.header(&row));
    assert_eq!(header.matches("no such user").count(), 1, "{header}");
}

#[test]
fn body_view_keeps_its_scroll_position() {
    let mut app = AppHarness::at_rest(120, 24, FakeService::with_emails(300));
    app.press("Enter j j j j j j j j j j j j j j j j").settle();
    let scroll = app.model.reader.scroll;
    assert_eq!(scroll, 16);
    app.press("v").settle();
    let row = app.model.list.selected().unwrap().clone();
    let body = app.model.reader.header(&row).len();
    assert_eq!(app.model.reader.scroll, body, "the start of that view");
    app.press("j [").settle();
    assert_eq!(app.model.reader.scroll, scroll);
    app.press("] J").settle();
    assert_eq!(app.model.reader.scroll, 0, "another email");
}

#[test]
fn header_starts_short_and_key_extends_it() {
    let lengths = |width, height| {
        let mut app = AppHarness::at_rest(width, height, service());
        [(); 4].map(|()| {
            let row = app.model.list.selected().unwrap();
            let lines = app.model.reader.header(row).len();
            app.press("Z").settle();
            lines
        })
    };
    let [brief, full, again, _] = lengths(120, 40);
    assert!(brief < full, "this is everything");
    assert_eq!(again, brief);
    assert!(lengths(80, 24)[0] < brief, "a low pane");
}

#[test]
fn email_is_reopened_where_it_was_left() {
    let mut app = AppHarness::at_rest(120, 24, FakeService::with_emails(30));
    app.press("Enter j j j j j").settle();
    let left_at = app.model.reader.scroll;
    assert!(left_at > 0);
    app.press("J").settle();
    assert_eq!(app.model.reader.scroll, 0);
    app.press("K").settle();
    assert_eq!(app.model.reader.scroll, left_at);
}

#[test]
fn resized_email_stays_where_the_user_scrolled() {
    let mut service = FakeService::with_emails(3);
    let paragraph = |n| format!("<p>Paragraph {n} {}</p>", "word ".repeat(30));
    service.html = Some((1..40).map(paragraph).collect::<String>().into());
    let mut app = AppHarness::at_rest(80, 24, service);
    let resize = |app: &mut AppHarness, width, height| {
        app.happen(Message::Resized(Size::new(width, height)));
        app.settle();
        app.model.reader.scroll
    };
    app.press("Enter Space Space Space").settle();
    let left_at = app.model.reader.scroll;
    for (width, height) in [(20, 6), (160, 45), (80, 24)] {
        resize(&mut app, width, height);
    }
    assert_eq!(app.model.reader.scroll, left_at);
    app.press("G").settle();
    let end = app.model.reader.scroll;
    resize(&mut app, 80, 45);
    assert_eq!(resize(&mut app, 80, 24), end, "only the height has changed");
    resize(&mut app, 20, 6);
    app.press("g g").settle();
    assert_eq!(resize(&mut app, 80, 24), 0, "scrolled at the other size");
}

#[test]
fn changed_width_keeps_the_reading_position() {
    let mut service = FakeService::with_emails(3);
    let paragraph = |n| format!("<p>Paragraph {n} {}</p>", "word ".repeat(60));
    service.html = Some((1..60).map(paragraph).collect::<String>().into());
    let mut app = AppHarness::at_rest(160, 24, service);
    app.press("Enter").settle().press("w w w w").settle();
    app.press("G").settle().press("k k k k k k k k k").settle();
    let place = |app: &AppHarness| {
        let row = app.model.list.selected().unwrap();
        let reader = &app.model.reader;
        (reader.scroll, reader.scroll * 100 / reader.line_count(row))
    };
    let before = place(&app);
    app.happen(Message::Resized(Size::new(60, 24)));
    app.settle();
    let after = place(&app);
    assert!(after.0 > before.0, "{before:?} {after:?}");
    assert!(after.1.abs_diff(before.1) <= 1, "{before:?} {after:?}");
    app.press("g g /")
        .write("paragraph 31")
        .press("Enter")
        .settle();
    app.happen(Message::Resized(Size::new(150, 24)));
    app.settle();
    app.shows(&["Paragraph 31"]);
}

#[test]
fn end_is_reached_before_the_new_layout() {
    let mut service = FakeService::with_emails(30);
    service.html = Some("<p>Your code is 482913.</p>".repeat(40).into());
    let mut app = AppHarness::at_rest(120, 24, service);
    app.press("Enter").settle();
    app.press("R G");
    let row = app.model.list.selected().unwrap().clone();
    let reader = &app.model.reader;
    assert!(reader.scroll < reader.line_count(&row));
    app.shows(&["end"]);
    let end = reader.scroll;
    app.settle();
    assert_eq!(app.model.reader.scroll, end);
}

#[test]
fn position_of_another_view_is_not_restored() {
    let mut app = AppHarness::at_rest(120, 24, FakeService::with_emails(30));
    for keys in ["Enter", "[", "j j j j j"] {
        app.press(keys).settle();
    }
    let left_at = app.model.reader.scroll;
    assert!(left_at > 0);
    for (keys, view, scroll) in [
        (["J", "]", "K"], BodyView::Rendered, 0),
        (["J", "[", "K"], BodyView::Raw, left_at),
    ] {
        for key in keys {
            app.press(key).settle();
        }
        let reader = &app.model.reader;
        assert_eq!((reader.body_view, reader.scroll), (view, scroll));
    }
}

#[test]
fn width_key_cycles_presets_and_repeats_layout() {
    let mut app = AppHarness::at_rest(160, 24, FakeService::with_emails(3));
    app.press("Enter z").settle();
    let mut widths = Vec::new();
    for _ in 0..5 {
        let options = app.requested(effect!(Effect::RenderBody(_, _, _, options) => *options));
        let last = options.last().unwrap();
        widths.push((last.width, last.prose_width));
        app.press("w").settle();
    }
    let expected = [(158, 158), (158, 40), (158, 72), (158, 100), (158, 158)];
    assert_eq!(widths, expected);
    app.shows_notice("prose is at most 40 columns wide");
}

/// A service whose newer emails are stored with their bodies.
fn with_stored_emails() -> FakeService {
    let mut service = FakeService::with_emails(30);
    for row in service.rows.iter_mut().take(10) {
        row.has_body = true;
    }
    service
}

fn is_stored_load(effect: &Effect) -> bool {
    matches!(effect, Effect::LoadStoredEmail(_, _))
}

fn is_layout(effect: &Effect) -> bool {
    matches!(effect, Effect::RenderBody(_, _, _, _))
}

/// The number of the email in the reader's pane.
fn shown(app: &AppHarness) -> i64 {
    let (row, _) = app.model.shown_email().unwrap();
    row.sort_key.micros()
}

#[test]
fn stored_email_replaces_the_previous_one_at_once() {
    let mut app = AppHarness::at_rest(120, 40, with_stored_emails());
    let loads = app.email_loads();
    app.press("j");
    assert_eq!((shown(&app), app.selected()), (29, 28));
    app.answer_first(is_stored_load);
    assert_eq!(shown(&app), 29, "until the body is there too");
    app.answer_first(is_layout);
    assert_eq!(shown(&app), 28);
    assert!(app.model.body().is_some());
    app.settle();
    assert_eq!(app.email_loads(), loads, "nothing else is loaded");
}

#[test]
fn previous_email_goes_after_its_time() {
    let mut app = AppHarness::at_rest(120, 40, with_stored_emails());
    app.press("j");
    app.answer_first(is_stored_load);
    app.fire(TimerKind::PreviousEmail);
    assert_eq!(shown(&app), 28);
    app.shows(&["loading this email"]);
    app.settle().press("j");
    app.happen(Message::Resized(Size::new(100, 40)));
    assert_eq!(shown(&app), 27, "in another pane it cannot stay");
}

#[test]
fn unloaded_email_is_requested_after_the_pause() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(30));
    let loads = app.email_loads();
    app.press("j");
    app.answer_first(is_stored_load);
    assert_eq!(app.model.reader_state(), ReaderState::Loading);
    assert_eq!(shown(&app), 28, "the header");
    assert_eq!(app.email_loads(), loads);
    app.fire(TimerKind::Selection);
    assert_eq!(app.email_loads(), loads + 1);
}

#[test]
fn held_key_loads_first_and_last_email() {
    let mut app = AppHarness::at_rest(120, 40, with_stored_emails());
    let (loads, stored) = (app.email_loads(), app.count(is_stored_load));
    app.press("j j j j j");
    assert_eq!(app.count(is_stored_load), stored + 1);
    assert_eq!(app.email_loads(), loads);
    app.settle();
    assert_eq!(app.email_loads(), loads + 1);
    assert_eq!((shown(&app), app.selected()), (24, 24));
}

#[test]
fn first_and_last_width_are_laid_out() {
    let mut app = AppHarness::at_rest(120, 40, with_stored_emails());
    let before = app.count(is_layout);
    for width in 101..=110 {
        app.happen(Message::Resized(Size::new(width, 40)));
    }
    assert_eq!(app.count(is_layout), before + 1);
    app.settle();
    assert_eq!(app.count(is_layout), before + 2);
    let last = app
        .requested(effect!(Effect::RenderBody(_, _, _, options) => options.width))
        .pop();
    assert_eq!(last, Some(app.model.reader.width()));
}

#[test]
fn other_view_begins_at_its_start_after_a_resize() {
    let mut service = FakeService::with_emails(3);
    let comment = format!("<!--{}-->", "\n".repeat(200));
    service.html = Some(("<p>line</p>".repeat(14) + &comment).into());
    let mut app = AppHarness::at_rest(80, 24, service);
    app.press("Enter z Space").settle();
    assert!(app.model.reader.scroll > 0);
    app.happen(Message::Resized(Size::new(160, 60)));
    app.settle();
    assert_eq!(app.model.reader.scroll, 0);
    while app.model.reader.body_view != BodyView::Source {
        app.press("v").settle();
        assert_eq!(app.model.reader.scroll, 0);
    }
}

#[test]
fn full_reader_returns_to_the_pane_before() {
    for size in [(160, 45), (80, 24), (40, 12)] {
        for leave in ["z", "Esc"] {
            let mut app = AppHarness::at_rest(size.0, size.1, FakeService::with_emails(9));
            app.press("z").settle().press(leave);
            assert_eq!(app.model.focus(), Focus::List, "{size:?} {leave}");
            app.press("Enter z").settle();
            if size.0 == 40 {
                app.shows_notice("the reader has the whole screen already");
                continue;
            }
            app.press(leave);
            assert_eq!(app.model.focus(), Focus::Reader, "{size:?} {leave}");
        }
    }
}
