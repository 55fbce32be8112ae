//! Rows of the list: widths of every script, columns, marks of addresses.

use super::parts::position_of;
use super::{app_without_service, render_ctx, screen, terminal, text, varied};
use crate::app::tests::env::{AppHarness, FakeService, effect};
use crate::app::{ClickTarget, Command, Effect, Message};
use crate::mail::{Address, SafeText, Status};
use crate::view::{RenderCtx, cell_target};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::layout::Position;

/// Each script has clusters whose width depends on what measures them.
#[test]
fn times_are_aligned_beside_every_script() {
    let subjects = [
        "سلام لا إله إلا الله",
        "नमस्ते दुनिया क्षत्रिय",
        "สวัสดีครับ น้ำ",
        "🇩🇪🇫🇷 👩‍💻 👍🏽 ok",
        "e\u{301}a\u{308}o\u{302} combined",
        "שלום עולם",
        "ご注文の確認 안녕하세요",
    ];
    let mut service = varied();
    for (row, subject) in service.rows.iter_mut().zip(subjects) {
        row.summary.subject = SafeText::new(subject);
    }
    for width in 20..=200 {
        let app = AppHarness::at_rest(width, 45, service.clone());
        let terminal = terminal(&app, &render_ctx());
        let buffer = terminal.backend().buffer();
        let list = app.model.layout().list;
        for y in list.rows().map(|row| row.y) {
            let mut x = list.left();
            while x < list.right() {
                let columns = unicode_width::UnicodeWidthStr::width(buffer[(x, y)].symbol());
                x += u16::try_from(columns).unwrap().max(1);
            }
            assert_eq!(x, list.right(), "{width}, row {y}");
        }
        let shown = text(&terminal);
        assert!(shown.contains("09:41"), "{width}\n{shown}");
    }
}

#[test]
fn long_address_leaves_the_word_of_every_status() {
    let mut service = FakeService::with_statuses(&["bounced", "delivered"]);
    for row in &mut service.rows {
        row.summary.to = vec![Address::parse("chloe.macdonald-of-glencoe@icloud.example")];
    }
    let app = AppHarness::at_rest(40, 12, service);
    app.shows(&["bounced", "delivered"]);
}

#[test]
fn lookalike_addresses_are_marked() {
    let mut service = varied();
    service.rows[0].summary.to = vec![Address::parse("billing@\u{430}pple.example")];
    for (width, height) in [(160, 20), (80, 24)] {
        let app = AppHarness::at_rest(width, height, service.clone());
        app.shows(&["\u{430}pple.example ⚠", "(look-alike: mixes letters of two"]);
    }
}

#[test]
fn cells_filter_the_list_by_their_value() {
    let command_at = |app: &AppHarness, text: &str| {
        let Position { x, y } = position_of(app, text);
        cell_target(&app.model, &render_ctx(), Position::new(x + 1, y))
    };
    for (width, height) in [(160, 45), (120, 40), (80, 24), (40, 12)] {
        let app = AppHarness::at_rest(width, height, FakeService::with_emails(30));
        let at = |text: &str| match command_at(&app, text) {
            Some(ClickTarget::Cell(_, command)) => Some(command),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(at("customer28"), Some(Command::OnlyRecipient), "{width}");
        assert_eq!(at("receipt #28"), Some(Command::OnlySubject), "{width}");
        let area = app.model.layout().list;
        let first = cell_target(&app.model, &render_ctx(), Position::new(area.x, area.y + 1));
        let Some(ClickTarget::Cell(_, Command::OnlyStatus | Command::OnlyRecipient)) = first else {
            panic!("{first:?}")
        };
        let last = Position::new(area.right() - 1, area.y + 2);
        let time = cell_target(&app.model, &render_ctx(), last);
        assert_eq!(time, None);
    }
    let mut app = AppHarness::at_rest(160, 45, FakeService::with_emails(30));
    let target = command_at(&app, "customer27").unwrap();
    app.happen(Message::Clicked(target, None));
    app.settle();
    assert_eq!(app.filter(), "recipient:customer27@example.com");
    for keys in ["/", "Esc g p", "q ?"] {
        app.press(keys);
        let behind = cell_target(&app.model, &render_ctx(), Position::new(20, 5));
        assert_eq!(behind, None, "{keys}");
    }
}

#[test]
fn zone_key_switches_times_and_filter_to_utc() {
    let mut app = AppHarness::at_rest(160, 20, varied());
    for start in [TimeZone::UTC, TimeZone::get("Etc/UTC").unwrap()] {
        app.set_time(app.model.now.with_time_zone(start));
        app.press("T");
        app.shows_notice("times are in UTC, and so is the zone of the start");
    }
    let elsewhere = TimeZone::posix("UTC+5").unwrap();
    app.set_time(app.model.now.with_time_zone(elsewhere));
    app.press("T").shows_notice("times are in UTC");
    app.press("T");
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let midnight: Timestamp = "2026-11-19T23:30:00Z".parse().unwrap();
    app.set_time(midnight.to_zoned(zone));
    app.press("/").write("before:today").press("Enter t");
    app.settle();
    let shown = |app: &AppHarness| {
        let now = app.model.now.clone();
        let ctx = RenderCtx {
            now,
            ..render_ctx()
        };
        text(&terminal(app, &ctx))
    };
    let (local, filter) = (shown(&app), app.model.list.filter.clone());
    assert!(local.contains("2026-11-19 10:31:00 CET"), "{local}");

    app.press("T").settle();
    let utc = shown(&app);
    assert!(utc.contains("times are in UTC"), "{utc}");
    assert!(utc.contains("2026-11-17 09:30:00 UTC"), "{utc}");
    assert!(!utc.contains("2026-11-19"), "today in UTC: {utc}");

    app.press("T").settle();
    assert!(shown(&app).contains("times are in CET"));
    assert_eq!(app.model.list.filter, filter);
}

#[test]
fn narrow_rows_name_each_problem() {
    let problems = ["bounced", "complained", "failed", "suppressed", "delayed"];
    let events = [
        "delivery_delayed",
        "suppressed",
        "failed",
        "complained",
        "bounced",
    ];
    let mut service = FakeService::with_emails(30);
    for (row, event) in service.rows.iter_mut().zip(events) {
        row.summary.status = Status::parse(event);
        row.summary.to = vec![Address::parse("minjun-kim@old-observatory.example")];
    }
    for columns in ["to subject", "name domain subject"] {
        let mut app = AppHarness::at_rest(40, 14, service.clone());
        app.press("g c").settle();
        app.press_times("Backspace", 20);
        app.write(columns).press("Enter").settle();
        let shown = screen(&app);
        for problem in problems {
            let line = |line: &&str| line.trim_end().ends_with(problem);
            assert!(shown.lines().any(|it| line(&it)), "{problem}\n{shown}");
        }
    }
}

#[test]
fn tags_column_shows_which_emails_were_not_fetched() {
    let mut service = FakeService::with_emails(30);
    service.rows[1].tags = Some(SafeText::new("category=receipt plan=pro"));
    let mut app = AppHarness::at_rest(160, 20, service);
    app.press("g c").settle();
    app.press_times("Backspace", 20);
    app.write("to tags").press("Enter");
    let with_tags = app.find(effect!(Effect::LoadWindow(_, it) => it.with_tags));
    assert!(with_tags);
    app.settle();
    let shown = screen(&app);
    let row = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap();
    let tags = " category=receipt plan=pro ";
    assert!(row("customer28@").contains(tags), "{shown}");
    assert!(row("customer29@").contains(" ? "), "{shown}");
}

#[test]
fn full_times_keep_as_of_and_due() {
    let mut service = varied();
    service.rows[2].confirmed_at = Some("2026-11-20T08:30:00Z".parse().unwrap());
    let long_as_of = "as of 2026-11-20 08:30:00 UTC";
    let long_due = "due 2026-11-21 08:00:00 UTC";
    for (width, as_of, due) in [
        (240, long_as_of, long_due),
        (160, long_as_of, long_due),
        (44, "~08:30", long_due),
        (30, "~08:30", "due 21 Nov"),
    ] {
        let mut app = app_without_service(width, 24, service.clone());
        app.press("t").settle();
        let shown = screen(&app);
        assert!(shown.contains(as_of), "{width}: {shown}");
        assert!(shown.contains(due), "{width}: {shown}");
    }
}

#[test]
fn narrow_panes_never_cut_a_time_or_an_id() {
    for keys in ["t", "P t", "P P t", "P"] {
        let mut app = AppHarness::at_rest(40, 12, varied());
        app.press(keys).settle();
        for line in screen(&app).lines() {
            let list = line.split('│').next().unwrap();
            assert!(
                !list.contains("2026-") || list.contains("UTC"),
                "{keys}: {line}"
            );
        }
    }
    let mut app = AppHarness::at_rest(40, 12, varied());
    app.press("P").settle();
    app.shows(&[" · 09:41"]);
    let mut app = AppHarness::at_rest(40, 40, FakeService::with_emails(3));
    app.press("Enter Z").settle();
    let id = app.model.list.selected_id().unwrap().as_str().to_owned();
    let (start, end) = id.split_at(27);
    app.shows(&[start, end]);
}

#[test]
fn short_time_of_scheduled_email_is_named() {
    for width in 20..=200 {
        let mut app = AppHarness::at_rest(width, 12, varied());
        app.press("G").settle().shows(&["due 21 Nov"]);
    }
    let mut app = AppHarness::at_rest(56, 24, varied());
    app.press("g c").settle();
    app.press_times("Backspace", 20);
    app.write("to:30 subject:4").press("Enter").settle();
    app.press("G").settle().hides(&["due…", "due …", "due 2"]);
}

#[test]
fn full_times_without_columns_are_reported() {
    let mut app = AppHarness::at_rest(30, 12, varied());
    app.press("t");
    app.shows(&["too narrow for full times"]);
    let mut app = AppHarness::at_rest(40, 12, varied());
    app.press("Enter t");
    app.shows_notice("full times, where the list has columns for them");
    app.press("q").settle().shows(&["2026-11-20"]);
}

#[test]
fn key_hints_stay_while_statuses_differ() {
    let service = FakeService::with_statuses(&["delivered", "sent", "bounced"]);
    let mut app = AppHarness::at_rest(160, 45, service);
    let hints = |app: &AppHarness| {
        let shown = screen(app);
        let bottom = shown.lines().last().unwrap().to_owned();
        let hints = &bottom[bottom.find("Enter").unwrap()..];
        let (all, watch) = hints.split_once("t times").unwrap();
        (all.to_owned(), watch.contains(". watch"))
    };
    let (first, can_watch) = hints(&app);
    assert!(!can_watch, "it is delivered");
    app.press("j").settle();
    assert_eq!(hints(&app), (first.clone(), true));
    app.press("j").settle();
    assert_eq!(hints(&app), (first, false));
}
