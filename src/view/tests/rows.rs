//! Rows of the list: widths of every script, columns, marks of addresses.

use super::parts::position_of;
use super::{render_ctx, screen, terminal, text, varied, world_without_service};
use crate::app::tests::env::{Mailbox, World};
use crate::app::{ClickTarget, Command, Effect, Message};
use crate::mail::{Address, SafeText, Status};
use crate::view::cell_target;
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
    let mut mailbox = varied();
    for (row, subject) in mailbox.rows.iter_mut().zip(subjects) {
        row.summary.subject = SafeText::new(subject);
    }
    for width in 20..=200 {
        let world = World::at_rest(width, 45, mailbox.clone());
        let terminal = terminal(&world, &render_ctx());
        let buffer = terminal.backend().buffer();
        let list = world.model.layout().list;
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
fn lookalike_addresses_are_marked() {
    let mut mailbox = varied();
    mailbox.rows[0].summary.to = vec![Address::parse("billing@\u{430}pple.example")];
    for (width, height) in [(160, 20), (80, 24)] {
        let world = World::at_rest(width, height, mailbox.clone());
        let shown = screen(&world);
        assert!(shown.contains("\u{430}pple.example ⚠"), "{shown}");
        assert!(
            shown.contains("(look-alike: mixes letters of two"),
            "{shown}"
        );
    }
}

#[test]
fn cells_filter_the_list_by_their_value() {
    let command_at = |world: &World, text: &str| {
        let Position { x, y } = position_of(world, text);
        cell_target(&world.model, &render_ctx(), Position::new(x + 1, y))
    };
    for (width, height) in [(160, 45), (120, 40), (80, 24), (40, 12)] {
        let world = World::at_rest(width, height, Mailbox::of(30));
        let at = |text: &str| match command_at(&world, text) {
            Some(ClickTarget::Cell(_, command)) => Some(command),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(at("customer28"), Some(Command::OnlyRecipient), "{width}");
        assert_eq!(at("receipt #28"), Some(Command::OnlySubject), "{width}");
        let area = world.model.layout().list;
        let first = cell_target(
            &world.model,
            &render_ctx(),
            Position::new(area.x, area.y + 1),
        );
        assert!(
            matches!(
                first,
                Some(ClickTarget::Cell(
                    _,
                    Command::OnlyStatus | Command::OnlyRecipient
                ))
            ),
            "{first:?}"
        );
        let last = Position::new(area.right() - 1, area.y + 2);
        assert_eq!(
            cell_target(&world.model, &render_ctx(), last),
            None,
            "the time"
        );
    }
    let mut world = World::at_rest(160, 45, Mailbox::of(30));
    let target = command_at(&world, "customer27").unwrap();
    world.happen(Message::Clicked(target));
    world.settle();
    assert_eq!(world.filter(), "recipient:customer27@example.com");
    for keys in ["/", "Esc g p", "q ?"] {
        world.press(keys);
        let behind = Position::new(20, 5);
        assert_eq!(
            cell_target(&world.model, &render_ctx(), behind),
            None,
            "{keys}"
        );
    }
}

#[test]
fn zone_key_switches_times_and_filter_to_utc() {
    let mut world = World::at_rest(160, 20, varied());
    world.press("T");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("times are in UTC, and so is the zone of the start")
    );
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let midnight: Timestamp = "2026-11-19T23:30:00Z".parse().unwrap();
    world.set_time(midnight.to_zoned(zone));
    world.press("/").write("before:today").press("Enter t");
    world.settle();
    let shown = |world: &World| {
        let mut ctx = render_ctx();
        ctx.set_now(&world.model.now);
        text(&terminal(world, &ctx))
    };
    let (local, filter) = (shown(&world), world.model.list.filter.clone());
    assert!(local.contains("2026-11-19 10:31:00 CET"), "{local}");

    world.press("T").settle();
    let utc = shown(&world);
    assert!(utc.contains("times are in UTC"), "{utc}");
    assert!(utc.contains("2026-11-17 09:30:00 UTC"), "{utc}");
    assert!(!utc.contains("2026-11-19"), "today in UTC: {utc}");

    world.press("T").settle();
    assert!(shown(&world).contains("times are in CET"));
    assert_eq!(world.model.list.filter, filter);
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
    let mut mailbox = Mailbox::of(30);
    for (row, event) in mailbox.rows.iter_mut().zip(events) {
        row.summary.status = Status::parse(event);
        row.summary.to = vec![Address::parse("minjun-kim@old-observatory.example")];
    }
    for columns in ["to subject", "name domain subject"] {
        let mut world = World::at_rest(40, 14, mailbox.clone());
        world.press("g c").settle();
        for _ in 0..20 {
            world.press("Backspace");
        }
        world.write(columns).press("Enter").settle();
        let shown = screen(&world);
        for problem in problems {
            let line = |line: &&str| line.trim_end().ends_with(problem);
            assert!(shown.lines().any(|it| line(&it)), "{problem}\n{shown}");
        }
    }
}

#[test]
fn tags_column_shows_which_emails_were_not_fetched() {
    let mut mailbox = Mailbox::of(30);
    mailbox.rows[1].tags = Some(SafeText::new("category=receipt plan=pro"));
    let mut world = World::at_rest(160, 20, mailbox);
    world.press("g c").settle();
    for _ in 0..20 {
        world.press("Backspace");
    }
    world.write("to tags").press("Enter");
    let is_with_tags = |effect: &Effect| {
        matches!(
            effect,
            Effect::LoadWindow {
                with_tags: true,
                ..
            }
        )
    };
    assert!(world.pending.iter().any(is_with_tags));
    world.settle();
    let shown = screen(&world);
    let row = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap();
    assert!(
        row("customer28@").contains(" category=receipt plan=pro "),
        "{shown}"
    );
    assert!(row("customer29@").contains(" ? "), "{shown}");
}

#[test]
fn full_times_keep_as_of_and_due() {
    let mut mailbox = varied();
    mailbox.rows[2].confirmed_at = Some("2026-11-20T08:30:00Z".parse().unwrap());
    for (width, as_of, due) in [
        (
            240,
            "as of 2026-11-20 08:30:00 UTC",
            "due 2026-11-21 08:00:00 UTC",
        ),
        (
            160,
            "as of 2026-11-20 08:30:00 UTC",
            "due 2026-11-21 08:00:00 UTC",
        ),
        (44, "~08:30", ""),
    ] {
        let mut world = world_without_service(width, 24, mailbox.clone());
        world.press("t").settle();
        let shown = screen(&world);
        assert!(shown.contains(as_of), "{width}: {shown}");
        assert!(shown.contains(due), "{width}: {shown}");
    }
}
