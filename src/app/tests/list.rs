//! The list by messages: windows of rows, selection, jumps, navigation history.

use std::collections::BTreeSet;

use super::recipient::service;
use crate::app::tests::env::{AppHarness, FakeService, effect, row, session, sync_report};
use crate::app::{Command, Effect, Focus, Message, ReaderState, TimerKind};
use crate::archive::WindowAnchor;
use crate::error::{Error, ErrorKind};
use crate::mail::{ApiTime, Status};
use proptest::prelude::*;
use ratatui::layout::{Position, Size};

#[test]
fn start_loads_newest_rows_before_refresh() {
    let app = AppHarness::start((120, 40), session(), FakeService::with_emails(50));
    assert!(matches!(app.effects[0], Effect::LoadWindow { .. }));
    assert!(matches!(app.effects[1], Effect::Refresh(..)));
    let app = AppHarness::at_rest(120, 40, FakeService::with_emails(50));
    assert_eq!(app.selected(), 49);
    assert_eq!(app.model.list.position(), Some(1));
    assert_eq!(app.model.list.total, Some(50));
}

#[test]
fn held_key_loads_one_email() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(5_000));
    let before = app.email_loads();
    app.press_times("j", 200);
    app.settle();
    assert_eq!(app.selected(), 4_999 - 200);
    assert_eq!(app.email_loads() - before, 1);
}

#[test]
fn moves_past_loaded_window_apply_when_rows_arrive() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(5_000));
    app.press_times("j", 1_000);
    app.settle();
    assert_eq!(app.selected(), 4_999 - 1_000);
    app.press("G k k").settle();
    assert_eq!(app.selected(), 2, "two above the last");
}

#[test]
fn jump_to_end_is_one_query() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(20_000));
    let before = app.window_loads();
    app.press("G").settle();
    assert_eq!(app.selected(), 0);
    assert_eq!(app.model.list.position(), Some(20_000));
    app.press("g g").settle();
    assert_eq!(app.selected(), 19_999);
    assert_eq!(app.model.list.position(), Some(1));
    assert!(app.window_loads() - before <= 4);
}

#[test]
fn new_emails_are_counted_above_the_selection() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(500));
    app.press("j j j").settle();
    let (selected, visible) = (app.selected(), app.visible());
    app.service.arriving = 3;
    app.wait_for_refresh();
    assert_eq!(app.selected(), selected);
    assert_eq!(app.visible(), visible);
    assert_eq!(app.model.list.unseen_above, 3);
    assert_eq!(app.model.list.position(), Some(7));
    app.press("Home").settle();
    assert_eq!((app.selected(), app.model.list.unseen_above), (502, 0));
}

#[test]
fn new_emails_that_match_the_filter_are_counted() {
    let mut service = FakeService::with_statuses(&["sent"; 60]);
    service.next = 1_001;
    let mut app = AppHarness::at_rest(120, 40, service);
    app.search("is:sent");
    app.service.arrive();
    app.service.rows[0].summary.status = Status::Sent;
    app.service.arrive();
    app.service.rows[0].summary.status = Status::Bounced;
    app.happen(Message::ArchiveChanged(Ok(sync_report(2))));
    app.settle();
    assert_eq!(app.model.list.position(), Some(2));
    assert_eq!(app.model.list.unseen_above, 1);
    app.service.rows[0].summary.status = Status::Sent;
    app.service.rows[1].summary.status = Status::Delivered;
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.settle();
    assert_eq!(app.model.list.unseen_above, 1, "one came, one went");
    app.press("k").settle();
    assert_eq!(app.model.list.unseen_above, 0);
}

#[test]
fn older_mail_that_comes_to_match_is_not_new() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_statuses(&["bounced"; 60]));
    for row in &mut app.service.rows[..20] {
        row.summary.status = Status::Sent;
    }
    app.search("is:bounced");
    app.press("G").settle();
    assert_eq!(app.model.list.total, Some(40));
    for row in &mut app.service.rows[..20] {
        row.summary.status = Status::Bounced;
    }
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.settle();
    assert_eq!(
        (app.model.list.total, app.model.list.unseen_above),
        (Some(60), 0)
    );
}

#[test]
fn first_refresh_selects_newest_email() {
    let mut service = FakeService::with_emails(50);
    service.arriving = 2;
    let app = AppHarness::at_rest(120, 40, service);
    assert_eq!((app.selected(), app.model.list.unseen_above), (51, 0));
}

#[test]
fn date_prompt_jumps_to_date() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(500));
    app.press("G g d").write("2026-11-0").press("Enter");
    assert_eq!(app.model.focus(), Focus::Prompt, "it is no date");
    app.write("2").press("Enter");
    let end: jiff::Timestamp = "2026-11-02T23:59:59.999999Z".parse().unwrap();
    let anchor = app.find(effect!(Effect::LoadWindow(_, it) => it.anchor.clone()));
    assert_eq!(anchor, WindowAnchor::AtTime(end.as_microsecond()));
    app.settle();
    assert_eq!((app.model.focus(), app.selected()), (Focus::List, 499));
    app.press("j j g d Enter").settle();
    assert_eq!(app.model.focus(), Focus::List);
    assert_eq!(app.selected(), 497, "no date goes nowhere");
    app.press("g d").write("mon").press("Esc").settle();
    assert_eq!(app.selected(), 497);
}

#[test]
fn date_before_all_mail_names_oldest_day() {
    let go = |date: &str, older_pages| {
        let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(30).older(older_pages));
        app.model.take_notice();
        app.press("g d").write(date).press("Enter").settle();
        app.model.take_notice()
    };
    let notice = Some("the oldest email is of 3 Nov".to_owned());
    assert_eq!(go("2026-11-02", 0), notice);
    assert_eq!(go("2026-11-03", 0), None, "the day of the oldest email");
    assert_ne!(go("2026-11-02", 9), notice, "older mail may follow");
}

#[test]
fn date_after_all_mail_names_newest_day() {
    let go = |date: &str| {
        let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(30));
        app.model.take_notice();
        app.press("g d").write(date).press("Enter").settle();
        app.model.take_notice()
    };
    let notice = Some("the newest email is of 4 Nov".to_owned());
    assert_eq!(go("2030-01-01"), notice);
    assert_eq!(go("2026-11-05"), notice);
    assert_eq!(go("2026-11-04"), None, "the day of the newest email");
    assert_eq!(go("2026"), None, "its year");
}

#[test]
fn sort_oldest_reverses_the_list() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(3_000));
    app.search("sort:oldest");
    assert_eq!(app.selected(), 2_999);
    assert_eq!(app.model.list.position(), Some(3_000));
    app.press("g g").settle();
    assert_eq!((app.selected(), app.model.list.position()), (0, Some(1)));
    app.press("j j G k").settle();
    assert_eq!(app.selected(), 2_998);
    assert_eq!(app.model.list.position(), Some(2_999));
}

/// An event of the property test.
#[derive(Debug, Clone)]
enum Event {
    Command(Command),
    Answer(usize),
    Arrive,
    Resize(u16, u16),
    Click(u16, u16),
    Fail(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let command = prop_oneof![
        6 => prop::sample::select(vec![Command::NextRow, Command::PreviousRow, Command::HalfPageDown, Command::HalfPageUp, Command::PageDown, Command::PageUp, Command::Newest, Command::Oldest]),
        1 => prop::sample::select(vec![Command::ScrollDown, Command::ScrollUp, Command::ScrollPageDown, Command::ScrollToStart, Command::ScrollToEnd]),
        1 => Just(Command::Open),
        1 => Just(Command::NextEmail),
        1 => Just(Command::PreviousEmail),
        1 => Just(Command::NextBodyView),
        1 => Just(Command::FullReader),
        1 => Just(Command::CycleLayout),
        1 => Just(Command::SwitchPane),
        1 => Just(Command::Refresh),
        1 => Just(Command::OnlyStatus),
        1 => Just(Command::OnlyDomain),
        1 => Just(Command::RecipientSummary),
        1 => prop::sample::select(vec![Command::View1, Command::View2, Command::View3, Command::View4]),
        1 => prop::sample::select(vec![Command::HistoryBack, Command::HistoryForward]),
        1 => Just(Command::CloseLayer),
        1 => Just(Command::Undo),
        1 => Just(Command::Redo),
        1 => Just(Command::LoadOlder),
        1 => Just(Command::Stop),
        1 => Just(Command::Help),
    ];
    prop_oneof![
        4 => command.prop_map(Event::Command),
        6 => any::<usize>().prop_map(Event::Answer),
        1 => Just(Event::Arrive),
        1 => (1_u16..180, 1_u16..50).prop_map(|(width, height)| Event::Resize(width, height)),
        1 => (0_u16..180, 0_u16..50).prop_map(|(x, y)| Event::Click(x, y)),
        1 => any::<usize>().prop_map(Event::Fail),
    ]
}

/// A defect of the reader, if it has one.
fn defect(app: &AppHarness) -> Option<String> {
    let selected = app.model.list.selected()?;
    let (shown, _) = app.model.shown_email()?;
    let is_timed = app.has_timer(TimerKind::PreviousEmail);
    if shown.summary.id != selected.summary.id && !is_timed {
        return Some(format!(
            "{:?} stays on the screen, {:?} is selected",
            shown.summary.id, selected.summary.id
        ));
    }
    let ReaderState::Ready(opened, body) = app.model.reader_state() else {
        return None;
    };
    if opened.email.summary.id != selected.summary.id {
        return Some(format!(
            "{:?} is selected, {:?} is open",
            selected.summary.id, opened.email.summary.id
        ));
    }
    let first = body?.lines.first()?.text();
    (!first.ends_with(selected.summary.id.as_str()))
        .then(|| format!("{:?} is selected, the text is {first}", selected.summary.id))
}

#[test]
fn position_is_right_after_change_during_jump() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(600));
    app.press("G");
    (0..50).for_each(|_| app.service.arrive());
    app.happen(Message::ArchiveChanged(Ok(sync_report(50))));
    app.settle();
    assert_eq!((app.selected(), app.model.list.total), (0, Some(650)));
    assert_eq!(app.model.list.position(), Some(650));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn reader_shows_only_the_selected_email(
        count in 0_i64..700,
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut service = FakeService::with_emails(count);
        service.older_pages = 2;
        for row in service.rows.iter_mut().step_by(2) {
            row.has_body = true;
        }
        let mut app = AppHarness::start((120, 40), session(), service);
        for event in events {
            let before = app.model.list.selected().map(|row| row.summary.id.clone());
            let moves = matches!(event, Event::Command(_) | Event::Click(..) | Event::Answer(_));
            match event {
                Event::Command(command) => app.happen(Message::Command(command)),
                Event::Answer(n) if !app.pending.is_empty() => app.answer(n),
                Event::Answer(_) => {}
                Event::Arrive => app.service.arriving += 1,
                Event::Resize(width, height) => app.happen(Message::Resized(Size::new(width, height))),
                Event::Click(x, y) => app.click(Position::new(x, y)),
                Event::Fail(n) => {
                    let reads: Vec<_> = app.pending.iter().enumerate().filter(|(_, effect)| matches!(effect, Effect::LoadEmail { .. })).map(|(n, _)| n).collect();
                    if !reads.is_empty() {
                        let Effect::LoadEmail { request, .. } = app.pending.remove(reads[n % reads.len()]) else { unreachable!() };
                        app.happen(Message::EmailLoaded(request, Err(Error::new(ErrorKind::Server, "it failed"))));
                    }
                }
            }
            prop_assert_eq!(defect(&app), None);
            if !moves {
                prop_assert_eq!(app.model.list.selected().map(|row| row.summary.id.clone()), before);
            }
        }
        // Whatever happened, everything that was asked for is answered in the end, and the program
        // is well.
        app.settle();
        prop_assert_eq!(defect(&app), None);
        if app.exit.is_none() && !app.service.found(app.model.list.filter.query()).is_empty() {
            prop_assert!(app.model.list.selected().is_some());
        }
    }

    #[test]
    fn every_row_is_reached_by_moving(count in 1_i64..600, height in 3_u16..50, down in 0_usize..700, up in 0_usize..700) {
        let mut app = AppHarness::at_rest(120, height, FakeService::with_emails(count));
        app.press_times("j", down);
        app.settle();
        for _ in 0..up { app.press("k").settle(); }
        let reached = (count - 1).min(down.cast_signed() as i64);
        let back = (reached - up.cast_signed() as i64).max(0);
        prop_assert_eq!(app.selected(), count - 1 - back);
        prop_assert_eq!(app.model.list.position(), Some(back.cast_unsigned() + 1));
        prop_assert!(app.visible().contains(&app.selected()));
    }
}

#[test]
fn history_restores_filters_with_their_emails() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("j j G").settle();
    app.press("@ t").settle();
    for keys in ["Esc", "k k", "g g"] {
        app.press(keys).settle();
    }
    assert_eq!((app.filter(), app.selected()), ("", 299));
    let mut seen = Vec::new();
    for _ in 0..4 {
        app.press("g [").settle();
        seen.push((app.filter().to_owned(), app.selected()));
    }
    let place = |filter: &str, selected| (filter.to_owned(), selected);
    let expected = [
        place("", 2),
        place("recipient:ana@example.com", 0),
        place("", 0),
        place("", 297),
    ];
    assert_eq!(seen, expected);
    app.press("Alt-Left");
    app.shows_notice("start of the history");
    app.press("Alt-Right g ]").settle();
    assert_eq!(app.filter(), "recipient:ana@example.com");
    assert_eq!(app.selected(), 0);
    app.press("u").settle();
    assert_eq!(app.filter(), "", "the filter is undone");
}

#[test]
fn headings_of_days_leave_no_row_unreachable() {
    let mut service = FakeService::with_emails(0);
    let created = |n: i64| format!("2026-11-{:02} 09:00:00+00", 1 + (n / 3) % 20);
    service.rows = (0..200)
        .rev()
        .map(|n| {
            let mut row = row(n);
            row.summary.created = ApiTime::parse(&created(n));
            row
        })
        .collect();
    let mut app = AppHarness::at_rest(120, 20, service);
    for (start, key) in [("g g", "j"), ("g g", "PgDn"), ("G", "k"), ("G", "PgUp")] {
        app.press(start).settle();
        let mut seen = BTreeSet::new();
        while seen.len() < 200 {
            let before = (app.selected(), app.visible());
            assert!(before.1.contains(&before.0), "{key}: selected and visible");
            seen.extend(before.1.iter().copied());
            app.press(key).settle();
            let is_at_end = before == (app.selected(), app.visible());
            assert!(!is_at_end || seen.len() == 200, "{key}: {seen:?}");
        }
    }
}

#[test]
fn position_survives_an_archive_error() {
    let mut app = AppHarness::at_rest(120, 20, FakeService::with_emails(1000));
    app.press_times("PgDn", 30).settle();
    let (selected, visible) = (app.selected(), app.visible());
    let fail = |app: &mut AppHarness| {
        let request = app.take(effect!(Effect::LoadWindow(request, _) => *request));
        let error = Error::new(ErrorKind::Archive, "the disk is gone");
        app.happen(Message::WindowLoaded(request, Err(error)));
    };
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    fail(&mut app);
    assert_eq!(app.selected(), -1);
    app.press("r");
    fail(&mut app);
    app.press("r").settle();
    assert_eq!((app.selected(), app.visible()), (selected, visible));
}
