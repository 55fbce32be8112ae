//! The reader by messages: find, body views, header.

use super::recipient::mailbox;
use crate::api::wire;
use crate::app::tests::env::{Mailbox, World};
use crate::app::{Effect, Focus, Message, ReaderState, TimerKind};
use crate::render::BodyView;
use ratatui::layout::Size;

#[test]
fn matches_are_stepped_through() {
    let mut world = World::at_rest(120, 24, Mailbox::of(300));
    world.press("Enter n").settle();
    assert_eq!(
        world.model.notice.as_deref(),
        Some("no search text; / searches this text")
    );
    world
        .press("q /")
        .write("\"line 2\" or receipt or subject:email")
        .press("Enter Enter")
        .settle();
    let marked: Vec<usize> = world
        .model
        .reader
        .matches()
        .iter()
        .map(crate::app::text_match::TextMatch::first_line)
        .collect();
    assert_eq!(
        marked,
        [3, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30],
        "in the body, words that begin so"
    );
    world.press("n");
    assert_eq!(
        (world.model.notice.as_deref(), world.model.reader.scroll),
        (Some("match 1 of 11"), 0)
    );
    world.press("n");
    assert_eq!(world.model.notice.as_deref(), Some("match 2 of 11"));
    assert!(world.model.reader.scroll > 0, "it is scrolled to");
    world.press("N N");
    assert_eq!(world.model.notice.as_deref(), Some("match 11 of 11"));
    world.press("q Esc").settle();
    assert!(world.model.reader.matches().is_empty());
}

#[test]
fn find_follows_typing_and_esc_restores() {
    let mut world = World::at_rest(120, 24, Mailbox::of(300));
    world.press("Enter /").write("line 2").settle();
    assert_eq!(
        (
            world.model.reader.find_text(),
            world.model.reader.matches().len(),
            world.model.reader.current_match
        ),
        (Some("line 2"), 11, Some(0))
    );
    assert_eq!(world.model.reader.scroll, 0);
    world.write("9").settle();
    assert_eq!(world.model.reader.matches().len(), 1);
    assert!(world.model.reader.scroll > 0, "what is found is gone to");
    world.press("Backspace").settle();
    assert_eq!(
        (world.model.reader.scroll, world.model.reader.current_match),
        (0, Some(0)),
        "from where one began"
    );
    world.press("Enter n n").settle();
    assert_eq!(
        (
            world.model.notice.as_deref(),
            world.model.reader.current_match
        ),
        (Some("match 3 of 11"), Some(2))
    );
    world.press("G").settle();
    world.press("/ Enter");
    assert_eq!(
        world.model.reader.find_text(),
        Some("line 2"),
        "nothing typed changes nothing"
    );
    world.press("/").write("line 2").press("Enter").settle();
    assert!(world.model.reader.scroll > 0);
    world.press("n J").settle();
    assert_eq!(
        (world.model.reader.scroll, world.model.reader.current_match),
        (0, None),
        "another email begins at its start"
    );
    assert_eq!(
        (
            world.model.reader.find_text(),
            world.model.reader.matches().len()
        ),
        (Some("line 2"), 11),
        "in the next email, too"
    );
    world.press("Esc").settle();
    assert_eq!(
        (world.model.reader.find_text(), world.model.focus()),
        (None, Focus::Reader),
        "one layer"
    );
    world.press("/").write("line 50").settle();
    assert!(world.model.reader.scroll > 0);
    world.press("Esc").settle();
    assert_eq!(
        (
            world.model.reader.scroll,
            world.model.reader.matches().len()
        ),
        (0, 0)
    );
    world
        .press("/")
        .write("nowhere")
        .press("Enter")
        .settle()
        .press("n");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("nowhere is not in this text")
    );
}

#[test]
fn find_text_hides_matches_of_filter() {
    let mut world = World::at_rest(120, 24, Mailbox::of(300));
    world.press("/").write("\"line 3\"").press("Enter").settle();
    assert!(
        world.model.list.rows().is_empty(),
        "no subject says so, and no body is known"
    );
    world
        .press("/ Ctrl-u")
        .write("receipt or body:line")
        .press("Enter")
        .settle()
        .press("Enter")
        .settle();
    let of_filter = world.model.reader.matches().len();
    assert!(of_filter > 11);
    world.press("/").write("line 1").press("Enter").settle();
    assert_eq!(world.model.reader.matches().len(), 11);
    world.press("Esc").settle();
    assert_eq!(world.model.reader.matches().len(), of_filter);
}

#[test]
fn header_shows_reason_of_bounce_once() {
    let mut world = World::at_rest(120, 40, mailbox());
    world
        .press("/")
        .write("\"For Ana #200\"")
        .press("Enter")
        .settle();
    let mentions = |world: &World| {
        let row = world.model.list.selected().unwrap();
        format!("{:?}", world.model.reader.header(row))
            .matches("mailbox full")
            .count()
    };
    assert_eq!(mentions(&world), 1, "in place of the meaning of the status");
    world.press("Z Z").settle();
    assert_eq!(mentions(&world), 1, "and nowhere else");
    // A webhook can report it of an email that is open already.
    let mut row = world.model.list.selected().unwrap().clone();
    let later = r#"{"id":"a","bounce":{"message":"no such user"}}"#;
    let later = wire::Summary::parse(later).unwrap();
    row.summary.extra = crate::mail::Summary::from(&later).extra;
    let header = format!("{:?}", world.model.reader.header(&row));
    assert_eq!(header.matches("no such user").count(), 1, "{header}");
}

#[test]
fn body_view_keeps_its_scroll_position() {
    let mut world = World::at_rest(120, 24, Mailbox::of(300));
    world
        .press("Enter j j j j j j j j j j j j j j j j")
        .settle();
    let scroll = world.model.reader.scroll;
    assert_eq!(scroll, 16);
    world.press("v").settle();
    let row = world.model.list.selected().unwrap().clone();
    assert_eq!(
        world.model.reader.scroll,
        world.model.reader.header(&row).len(),
        "the start of the other face"
    );
    world.press("j [").settle();
    assert_eq!(world.model.reader.scroll, scroll);
    world.press("] J").settle();
    assert_eq!(
        world.model.reader.scroll, 0,
        "another email begins at its start"
    );
}

#[test]
fn header_grows_by_key_and_is_short_at_first() {
    let lengths = |width, height| {
        let mut world = World::at_rest(width, height, mailbox());
        [(); 4].map(|()| {
            let row = world.model.list.selected().unwrap();
            let lines = world.model.reader.header(row).len();
            world.press("Z").settle();
            lines
        })
    };
    let [brief, full, everything, again] = lengths(120, 40);
    assert!(brief < full && full <= everything);
    assert_eq!(again, brief);
    assert!(
        lengths(80, 24)[0] < brief,
        "a low pane has fewer lines for it"
    );
}

#[test]
fn email_is_reopened_where_it_was_left() {
    let mut world = World::at_rest(120, 24, Mailbox::of(30));
    world.press("Enter j j j j j").settle();
    let left_at = world.model.reader.scroll;
    assert!(left_at > 0);
    world.press("J").settle();
    assert_eq!(world.model.reader.scroll, 0);
    world.press("K").settle();
    assert_eq!(world.model.reader.scroll, left_at);
    world.happen(Message::Resized(Size::new(60, 24)));
    world.settle().press("g g").settle();
    assert_eq!(world.model.reader.scroll, 0);
    world.happen(Message::Resized(Size::new(120, 24)));
    world.settle();
    assert_eq!(world.model.reader.scroll, left_at, "at the same width");
}

#[test]
fn another_width_shows_the_same_place() {
    let mut mailbox = Mailbox::of(3);
    let paragraph = |n| format!("<p>Paragraph {n} {}</p>", "word ".repeat(60));
    mailbox.html = Some((1..60).map(paragraph).collect::<String>().into());
    let mut world = World::at_rest(160, 24, mailbox);
    world.press("Enter").settle().press("w w w w").settle();
    world
        .press("G")
        .settle()
        .press("k k k k k k k k k")
        .settle();
    let place = |world: &World| {
        let row = world.model.list.selected().unwrap();
        let reader = &world.model.reader;
        (reader.scroll, reader.scroll * 100 / reader.line_count(row))
    };
    let before = place(&world);
    world.happen(Message::Resized(Size::new(60, 24)));
    world.settle();
    let after = place(&world);
    assert!(after.0 > before.0, "{before:?} {after:?}");
    assert!(after.1.abs_diff(before.1) <= 1, "{before:?} {after:?}");
    world
        .press("g g /")
        .write("paragraph 31")
        .press("Enter")
        .settle();
    world.happen(Message::Resized(Size::new(150, 24)));
    world.settle();
    let shown = crate::view::tests::screen(&world);
    assert!(shown.contains("Paragraph 31"), "{shown}");
}

#[test]
fn end_is_reached_before_the_new_layout() {
    let mut mailbox = Mailbox::of(30);
    mailbox.html = Some("<p>Your code is 482913.</p>".repeat(40).into());
    let mut world = World::at_rest(120, 24, mailbox);
    world.press("Enter").settle();
    world.press("R G");
    let row = world.model.list.selected().unwrap().clone();
    let reader = &world.model.reader;
    assert!(reader.scroll < reader.line_count(&row));
    assert!(crate::view::tests::screen(&world).contains("end"));
    let end = reader.scroll;
    world.settle();
    assert_eq!(world.model.reader.scroll, end);
}

#[test]
fn position_of_another_view_is_not_restored() {
    let mut world = World::at_rest(120, 24, Mailbox::of(30));
    for keys in ["Enter", "[", "j j j j j"] {
        world.press(keys).settle();
    }
    let left_at = world.model.reader.scroll;
    assert!(left_at > 0);
    for (keys, view, scroll) in [
        (["J", "]", "K"], BodyView::Rendered, 0),
        (["J", "[", "K"], BodyView::Raw, left_at),
    ] {
        for key in keys {
            world.press(key).settle();
        }
        let reader = &world.model.reader;
        assert_eq!((reader.view, reader.scroll), (view, scroll));
    }
}

#[test]
fn prose_width_steps_through_presets_and_lays_out_again() {
    let mut world = World::at_rest(160, 24, Mailbox::of(3));
    world.press("Enter z").settle();
    let mut widths = Vec::new();
    for _ in 0..5 {
        let last = world.asked.iter().rev().find_map(|effect| match effect {
            Effect::RenderBody { options, .. } => Some((options.width, options.prose_width)),
            _ => None,
        });
        widths.push(last.unwrap());
        world.press("w").settle();
    }
    assert_eq!(
        widths,
        [(158, 158), (158, 40), (158, 72), (158, 100), (158, 158)]
    );
    assert_eq!(
        world.model.notice.as_deref(),
        Some("prose is at most 40 columns wide")
    );
}

/// A mailbox whose newer emails are stored with their bodies.
fn stored_mailbox() -> Mailbox {
    let mut mailbox = Mailbox::of(30);
    for row in mailbox.rows.iter_mut().take(10) {
        row.has_body = true;
    }
    mailbox
}

/// Answers the first pending effect of this kind.
fn answer_first(world: &mut World, is_wanted: impl Fn(&Effect) -> bool) {
    let found = world.pending.iter().position(is_wanted);
    world.answer(found.expect("the effect is pending"));
}

fn is_timer(kind: TimerKind) -> impl Fn(&Effect) -> bool {
    move |effect| matches!(effect, Effect::Timer { kind: other, .. } if *other == kind)
}

fn is_stored_load(effect: &Effect) -> bool {
    matches!(effect, Effect::LoadStoredEmail { .. })
}

fn is_layout(effect: &Effect) -> bool {
    matches!(effect, Effect::RenderBody { .. })
}

/// The number of the email in the reader's pane.
fn shown(world: &World) -> i64 {
    let (row, _) = world.model.shown_email().unwrap();
    row.sort_key.micros()
}

#[test]
fn stored_email_replaces_the_previous_one_at_once() {
    let mut world = World::at_rest(120, 40, stored_mailbox());
    let loads = world.email_loads();
    world.press("j");
    assert_eq!((shown(&world), world.selected()), (29, 28));
    answer_first(&mut world, is_stored_load);
    assert_eq!(shown(&world), 29, "until the body is there too");
    answer_first(&mut world, is_layout);
    assert_eq!(shown(&world), 28);
    assert!(matches!(
        world.model.reader_state(),
        ReaderState::Ready(_, Some(_))
    ));
    world.settle();
    assert_eq!(world.email_loads(), loads, "nothing else is loaded");
}

#[test]
fn previous_email_goes_after_its_time() {
    let mut world = World::at_rest(120, 40, stored_mailbox());
    world.press("j");
    answer_first(&mut world, is_stored_load);
    answer_first(&mut world, is_timer(TimerKind::PreviousEmail));
    assert_eq!(shown(&world), 28);
    let screen = crate::view::tests::screen(&world);
    assert!(screen.contains("loading this email"), "{screen}");
    world.settle().press("j");
    world.happen(Message::Resized(Size::new(100, 40)));
    assert_eq!(shown(&world), 27, "in another pane it cannot stay");
}

#[test]
fn missing_email_is_requested_after_the_pause() {
    let mut world = World::at_rest(120, 40, Mailbox::of(30));
    let loads = world.email_loads();
    world.press("j");
    answer_first(&mut world, is_stored_load);
    assert_eq!(world.model.reader_state(), ReaderState::Loading);
    assert_eq!(
        (shown(&world), world.email_loads()),
        (28, loads),
        "the header is shown, and nothing requested"
    );
    answer_first(&mut world, is_timer(TimerKind::Selection));
    assert_eq!(world.email_loads(), loads + 1);
}

#[test]
fn held_key_loads_its_first_and_its_last_email() {
    let mut world = World::at_rest(120, 40, stored_mailbox());
    let (loads, stored) = (world.email_loads(), world.count(is_stored_load));
    world.press("j j j j j");
    assert_eq!(world.count(is_stored_load), stored + 1);
    assert_eq!(world.email_loads(), loads);
    world.settle();
    assert_eq!(world.email_loads(), loads + 1);
    assert_eq!((shown(&world), world.selected()), (24, 24));
}

#[test]
fn first_and_last_width_are_laid_out() {
    let mut world = World::at_rest(120, 40, stored_mailbox());
    let before = world.count(is_layout);
    for width in 101..=110 {
        world.happen(Message::Resized(Size::new(width, 40)));
    }
    assert_eq!(world.count(is_layout), before + 1);
    world.settle();
    assert_eq!(world.count(is_layout), before + 2);
    let last = world.asked.iter().rev().find_map(|effect| match effect {
        Effect::RenderBody { options, .. } => Some(options.width),
        _ => None,
    });
    assert_eq!(last, Some(world.model.reader.width()));
}
