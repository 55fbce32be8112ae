//! The written bytes on an emulated terminal.

use super::*;
use proptest::prelude::*;
use ratatui::buffer::{Buffer, CellDiffOption};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use std::num::NonZeroU16;

const AREA: Rect = Rect::new(0, 0, 24, 9);

fn written(frames: &[Buffer]) -> String {
    written_for(false, frames)
}

/// The bytes of these frames for a terminal with margins at columns, or without.
fn written_for(has_margins: bool, frames: &[Buffer]) -> String {
    let mut bytes = Vec::new();
    let mut backend = CompactBackend::new(&mut bytes);
    backend.has_margins = has_margins;
    let mut before = Buffer::empty(AREA);
    for frame in frames {
        backend.draw(before.diff(frame).into_iter()).unwrap();
        Backend::flush(&mut backend).unwrap();
        before = frame.clone();
    }
    String::from_utf8(bytes).unwrap()
}

/// The terminal after the bytes of these frames.
fn shown(has_margins: bool, frames: &[Buffer]) -> vt100::Parser {
    let cells = |count| NonZeroU16::new(count).unwrap();
    let mut terminal = vt100::Parser::new(cells(AREA.height), cells(AREA.width), 0);
    let bytes = written_for(has_margins, frames);
    let mut rest = bytes.as_str();
    while let Some((before, scroll)) = rest.split_once("\x1b[?69h") {
        terminal.process(before.as_bytes());
        let (scroll, after) = scroll.split_once("\x1b[?69l\x1b[r").unwrap();
        scroll_columns(&mut terminal, scroll);
        rest = after;
    }
    terminal.process(rest.as_bytes());
    terminal
}

/// Does what a terminal with margins at columns does; the emulator has none.
fn scroll_columns(terminal: &mut vt100::Parser, sequences: &str) {
    let numbers: Vec<u16> = sequences
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    let &[left, top, bottom, row, column] = numbers.as_slice() else {
        panic!("{sequences:?}");
    };
    assert_eq!(left, column, "a line feed scrolls between the margins");
    let up = sequences.matches('\n').count();
    let down = sequences.matches("\x1bM").count();
    assert_eq!(row, if up > 0 { bottom } else { top });
    let width = AREA.width - (left - 1);
    let rows: Vec<String> = terminal.screen().rows_formatted(left - 1, width).collect();
    for y in top..=bottom {
        let from = usize::from(y - 1) + up;
        let source = from.checked_sub(down);
        let moved = source.filter(|y| (usize::from(top - 1)..usize::from(bottom)).contains(y));
        terminal.process(format!("\x1b[m\x1b[{y};{left}H\x1b[K").as_bytes());
        terminal.process(moved.map_or(&[], |y| rows[y].as_bytes()));
    }
    terminal.process(b"\x1b[m");
}

fn frame(lines: &[&str]) -> Buffer {
    let mut buffer = Buffer::empty(AREA);
    for (y, line) in (0..).zip(lines) {
        buffer.set_string(0, y, line, Style::new());
    }
    buffer
}

#[derive(Debug, Clone)]
enum Change {
    Text(u16, u16, &'static str, Style),
    /// Rows below the first one, and above the last, move from a column on.
    Scroll(i16, u16),
    Clear,
}

fn change() -> impl Strategy<Value = Change> {
    let text = prop::sample::select(vec![
        "plain",
        "é…│",
        "ご注",
        "✓ ok",
        " ",
        "     ",
        "a b",
        "👩x",
        "e\u{301} x",
        "──────",
        "•=•",
        "ñ a",
        "is a line of a text that is cut",
    ]);
    let colour = prop::sample::select(vec![
        Color::Reset,
        Color::Reset,
        Color::Green,
        Color::LightRed,
        Color::Indexed(99),
        Color::Rgb(1, 2, 3),
    ]);
    let modifier = prop::sample::select(vec![
        Modifier::empty(),
        Modifier::BOLD,
        Modifier::REVERSED | Modifier::UNDERLINED,
        Modifier::ITALIC,
    ]);
    let style = (colour.clone(), colour, modifier)
        .prop_map(|(fg, bg, modifier)| Style::new().fg(fg).bg(bg).add_modifier(modifier));
    let written = (0..AREA.width, 0..AREA.height, text, style)
        .prop_map(|(x, y, text, style)| Change::Text(x, y, text, style));
    prop_oneof![
        12 => written,
        2 => (-3..=3_i16, prop::sample::select(vec![0, 0, 5])).prop_map(|(by, left)| Change::Scroll(by, left)),
        1 => Just(Change::Clear),
    ]
}

fn apply(change: &Change, buffer: &mut Buffer) {
    match *change {
        Change::Text(x, y, text, style) => {
            let columns = usize::from(AREA.width - x);
            // What a wide character covers is no longer there if its half is overwritten.
            if x > 0 && buffer[(x - 1, y)].symbol().width() == 2 {
                buffer[(x - 1, y)].reset();
            }
            buffer.set_stringn(x, y, text, columns, style);
        }
        Change::Scroll(by, left) => {
            let before = buffer.clone();
            for y in 1..AREA.height - 1 {
                let from = y.saturating_add_signed(by);
                if left > 0 && buffer[(left - 1, y)].symbol().width() == 2 {
                    buffer[(left - 1, y)].reset();
                }
                for x in left..AREA.width {
                    buffer[(x, y)] = if (1..AREA.height - 1).contains(&from) {
                        before[(x, from)].clone()
                    } else {
                        Cell::EMPTY
                    };
                }
            }
        }
        Change::Clear => *buffer = Buffer::empty(AREA),
    }
}

fn frames() -> impl Strategy<Value = Vec<Buffer>> {
    let changes = prop::collection::vec(change(), 1..14);
    prop::collection::vec(changes, 1..6).prop_map(|frames| {
        let mut buffer = Buffer::empty(AREA);
        let next = |changes: Vec<Change>| {
            for change in &changes {
                apply(change, &mut buffer);
            }
            buffer.clone()
        };
        frames.into_iter().map(next).collect()
    })
}

proptest! {
    #[test]
    fn terminal_shows_drawn_cells(has_margins: bool, frames in frames()) {
        let terminal = shown(has_margins, &frames);
        let last = frames.last().unwrap();
        for y in 0..AREA.height {
            let mut x = 0;
            while x < AREA.width {
                let wanted = &last[(x, y)];
                let cell = terminal.screen().cell(y, x).unwrap();
                let text = if cell.contents().is_empty() { " " } else { cell.contents() };
                prop_assert_eq!(text, wanted.symbol(), "{},{}", x, y);
                prop_assert_eq!(cell.bgcolor(), emulated(wanted.bg), "{},{}", x, y);
                prop_assert_eq!(cell.inverse(), wanted.modifier.contains(Modifier::REVERSED));
                prop_assert_eq!(cell.underline(), wanted.modifier.contains(Modifier::UNDERLINED));
                if text != " " {
                    prop_assert_eq!(cell.bold(), wanted.modifier.contains(Modifier::BOLD));
                    prop_assert_eq!(cell.italic(), wanted.modifier.contains(Modifier::ITALIC));
                    prop_assert_eq!(cell.fgcolor(), emulated(wanted.fg));
                }
                x += u16::try_from(wanted.symbol().width()).unwrap().max(1);
            }
        }
    }
}

#[test]
fn consecutive_linked_cells_write_one_hyperlink() {
    let mut next = frame(&["see a ok here"]);
    for x in 4..8 {
        let symbol = format!("\x1b]8;;https://example.com\x1b\\{}", next[(x, 0)].symbol());
        next[(x, 0)]
            .set_symbol(&symbol)
            .set_diff_option(CellDiffOption::ForcedWidth(NonZeroU16::MIN));
    }
    let expected = "\x1b[1Hsee \x1b]8;;https://example.com\x1b\\a ok\x1b]8;;\x1b\\ here";
    assert_eq!(written(&[next]), expected);
}

/// Returns the bytes of the last frame without the marks of a synchronised update.
fn last_written(frames: &[&[&str]]) -> String {
    let frames: Vec<Buffer> = frames.iter().map(|lines| frame(lines)).collect();
    let before = written(&frames[..frames.len() - 1]);
    let bytes = written(&frames).split_off(before.len());
    bytes.replace("\x1b[?2026h", "").replace("\x1b[?2026l", "")
}

#[test]
fn short_gap_is_written_and_blank_end_erased() {
    assert_eq!(last_written(&[&["one two"], &["six two"]]), "\x1b[1Hsix");
    let expected = "\x1b[1Hsix a ten";
    assert_eq!(last_written(&[&["one a two"], &["six a ten"]]), expected);
    let written = last_written(&[&["one and two", "x"], &["one", "y"]]);
    assert_eq!(written, "\x1b[1;5H\x1b[K\r\ny");
    let written = last_written(&[&["", "", "───"], &["", "─", "─x─x─x"]]);
    assert_eq!(written, "\x1b[2H─\r\n\x1b[Cx\x1b[Cx─x");
}

#[test]
fn clearing_ends_margins_of_another_program() {
    let frame = frame(&["first", "", "", "", "", "", "", "", "last"]);
    let mut bytes = b"\x1b[4;7r\x1b[?6h".to_vec();
    let mut backend = CompactBackend::new(&mut bytes);
    backend.clear().unwrap();
    backend
        .draw(Buffer::empty(AREA).diff(&frame).into_iter())
        .unwrap();
    let cells = |count| NonZeroU16::new(count).unwrap();
    let mut terminal = vt100::Parser::new(cells(AREA.height), cells(AREA.width), 0);
    terminal.process(&bytes);
    let expected = format!("first{}last", "\n".repeat(8));
    assert_eq!(terminal.screen().contents(), expected);
}

#[test]
fn moved_rows_are_scrolled_by_the_terminal() {
    let lines = [
        "the first line",
        "the second line",
        "a third line",
        "and the fourth one",
        "a fifth",
        "the last but two",
        "the last but one",
        "the last line",
        "status",
    ];
    let scrolled = |from: usize| {
        let mut shown = lines[from..from + 5].to_vec();
        shown.insert(0, "title");
        shown.push("status");
        shown
    };
    let expected = "\x1b[2;6r\x1b[6H\n\x1b[r\x1b[6Hthe last but two";
    assert_eq!(last_written(&[&scrolled(0), &scrolled(1)]), expected);
    let expected = "\x1b[2;6r\x1b[2H\x1bM\x1bM\x1b[r\x1b[2Hthe first line\r\nthe second line";
    assert_eq!(last_written(&[&scrolled(2), &scrolled(0)]), expected);
}

#[test]
fn pane_beside_another_is_scrolled_by_margins() {
    let lines = [
        "one",
        "two and more",
        "three, four",
        "five of them",
        "six, seven",
        "eight",
        "nine",
    ];
    let pane = |from: usize| {
        let rows = ["ana", "bob", "eve", "leo", "mia"]
            .iter()
            .zip(&lines[from..]);
        let rows = rows.map(|(name, line)| format!("{name} │ {line}"));
        let rows: Vec<String> = rows.collect();
        frame(&rows.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let last = |from, to| {
        let before = written_for(true, &[pane(from)]);
        written_for(true, &[pane(from), pane(to)]).split_off(before.len())
    };
    let expected = "\x1b[?69h\x1b[7s\x1b[1;5r\x1b[5;7H\n\x1b[?69l\x1b[r\x1b[5;7Height";
    assert_eq!(last(0, 1), expected);
    let expected = "\x1b[?69h\x1b[7s\x1b[1;5r\x1b[1;7H\x1bM\x1b[?69l\x1b[r\x1b[1;7Hone";
    assert_eq!(last(1, 0), expected);
}

#[test]
fn cluster_is_drawn_on_blank_cells() {
    let on_blank = "  \x1b[1G👩🏽\x1b[3Gc";
    let written = last_written(&[&["", "b"], &["👩🏽c", "b"]]);
    assert_eq!(written, format!("\x1b[1H{on_blank}"));
    let written = last_written(&[&["abc"], &["👩🏽c"]]);
    assert_eq!(written, format!("\x1b[1H\x1b[K{on_blank}"));
}

#[test]
fn changed_row_is_written_again_from_its_clusters() {
    for (before, after, expected) in [
        ("न ok", "x ok", "\x1b[1Hx"),
        ("नमस्ते ok", "x ok", "\x1b[1;3H\x1b[K\x1b[1Hx ok"),
        ("ご注文🇩🇪", "ご注文 x", "\x1b[1;7H\x1b[K x"),
        ("ご注文🇩🇪", "ご注 x", "\x1b[1;7H\x1b[K\x1b[5G x"),
        ("🇩🇪", "", "\x1b[1H\x1b[K"),
        ("é abc", "é abd", "\x1b[1;5Hd"),
    ] {
        assert_eq!(last_written(&[&[before], &[after]]), expected);
    }
    let frames: [&[&str]; 3] = [&["नमस्ते ok"], &["x ok"], &["y ok"]];
    assert_eq!(last_written(&frames), "\x1b[1Hy", "only once");
    assert_eq!(last_written(&[&["नमस्ते", "a"], &["नमस्ते", "b"]]), "\x1b[2Hb");
}

fn emulated(colour: Color) -> vt100::Color {
    match colour {
        Color::Green => vt100::Color::Idx(2),
        Color::LightRed => vt100::Color::Idx(9),
        Color::Indexed(index) => vt100::Color::Idx(index),
        Color::Rgb(red, green, blue) => vt100::Color::Rgb(red, green, blue),
        _ => vt100::Color::Default,
    }
}
