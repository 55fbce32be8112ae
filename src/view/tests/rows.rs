//! Rows of the list: widths of every script, columns, marks of addresses.

use super::{render_ctx, screen, terminal, text, varied};
use crate::app::tests::env::World;
use crate::mail::{Address, SafeText};

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
