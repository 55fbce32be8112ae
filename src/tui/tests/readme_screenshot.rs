//! Draws the screenshot and the recording of the README from the real screen,
//! and checks that they are current.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Rect, Size};
use ratatui::style::{Color, Modifier};
use ratatui::{Terminal, TerminalOptions, Viewport};
use unicode_width::UnicodeWidthStr;

use crate::tui::CompactBackend;
use crate::tui::tests::harness::TuiHarness;
use crate::tui::tests::output_bytes::Line;

/// Pixels of a cell.
const CELL: (u16, u16) = (9, 19);
const BACKGROUND: &str = "#1b1e24";
const FOREGROUND: &str = "#d7dae0";

/// The keys of the recording, and for how many milliseconds each screen stays.
const SCRIPT: [(&str, u64); 28] = [
    ("", 1500),
    ("j", 500),
    ("j", 500),
    ("j", 1200),
    ("/", 800),
    // A word without an operator shows how many bodies it was searched in, while others arrive.
    ("i s :", 300),
    ("b", 150),
    ("o", 150),
    ("u", 150),
    ("n", 150),
    ("c", 150),
    ("e", 150),
    ("d", 1200),
    ("Enter", 1500),
    ("j", 1500),
    ("c", 2500),
    ("Esc", 800),
    ("Esc", 1000),
    ("Esc", 1000),
    ("Enter", 1500),
    ("Space", 1500),
    ("o", 2000),
    ("Esc", 700),
    ("Esc", 1000),
    ("?", 2500),
    ("Esc", 800),
    ("G", 1500),
    ("g g", 1500),
];

#[tokio::test]
async fn readme_screenshot_matches_the_screen() {
    let mut it = TuiHarness::start(Size::new(132, 36), 2_000).await;
    let wanted = |it: &TuiHarness| {
        it.model()
            .list
            .selected()
            .is_some_and(|row| row.summary.subject.contains("receipt"))
    };
    for _ in 0..80 {
        if wanted(&it) {
            break;
        }
        it.press("j").await;
    }
    let drawn = svg(&[(screen(&mut it).await, 0)]);
    check("assets/screen.svg", &drawn);
}

#[tokio::test]
async fn recording_matches_the_screens() {
    let size = Size::new(110, 30);
    let mut it = TuiHarness::start(size, 2_000).await;
    let mut frames = Vec::new();
    for (keys, millis) in SCRIPT {
        for key in keys.split_whitespace() {
            it.press(key).await;
        }
        frames.push((screen(&mut it).await, millis));
    }
    check("assets/demo.svg", &svg(&frames));
    check("assets/demo.cast", &cast(size, &frames));
}

async fn screen(it: &mut TuiHarness) -> Buffer {
    // The test backend keeps what wide characters have covered, which a terminal does not.
    it.press("Ctrl-l").await;
    it.program.terminal().backend().buffer().clone()
}

/// Compares a file with what was drawn, or writes it again.
#[expect(clippy::disallowed_methods, reason = "a test has no settings to ask")]
fn check(file: &str, drawn: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("SENTBOX_DRAW").is_some() {
        std::fs::write(&path, drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == drawn,
        "{file} shows another screen; SENTBOX_DRAW=1 cargo test --lib readme_screenshot draws it again"
    );
}

/// Writes the frames as a terminal gets them: a recording in asciicast v2
/// (<https://docs.asciinema.org/manual/asciicast/v2/>).
fn cast(size: Size, frames: &[(Buffer, u64)]) -> String {
    let header = serde_json::json!({"version": 2, "width": size.width, "height": size.height, "title": "sentbox"});
    let mut out = format!("{header}\n");
    let viewport = Viewport::Fixed(Rect::new(0, 0, size.width, size.height));
    let line = Line::default();
    let backend = CompactBackend::new(line.clone());
    let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
    let mut millis = 0;
    for (buffer, stays) in frames {
        terminal
            .draw(|frame| frame.buffer_mut().clone_from(buffer))
            .unwrap();
        let seconds = Duration::from_millis(millis).as_secs_f64();
        let written = String::from_utf8(line.take()).unwrap();
        let _ = writeln!(out, "{}", serde_json::json!([seconds, "o", written]));
        millis += stays;
    }
    // A player ends at the last event: the last screen stays, too.
    let seconds = Duration::from_millis(millis).as_secs_f64();
    let _ = writeln!(out, "{}", serde_json::json!([seconds, "o", ""]));
    out
}

/// Draws the frames as an SVG of text, each run of equal cells placed by its
/// column. Several follow each other again and again, each for its milliseconds.
fn svg(frames: &[(Buffer, u64)]) -> String {
    let area = frames[0].0.area;
    let (width, height) = (area.width * CELL.0 + 16, area.height * CELL.1 + 16);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"15\" fill=\"{FOREGROUND}\" xml:space=\"preserve\">\n"
    );
    let total: u64 = frames.iter().map(|(_, millis)| millis).sum();
    for ((start, end), rows) in rows_by_time(frames) {
        if (start, end) == (0, total) {
            out.push_str(&rows);
            continue;
        }
        // A row is drawn once for the time in which it stays as it is.
        let percent = |millis: u64| {
            format!(
                "{}.{:02}%",
                millis * 100 / total,
                millis * 10_000 / total % 100
            )
        };
        let name = format!("t{start}-{end}");
        let hidden_first = if start > 0 {
            "0%{visibility:hidden}"
        } else {
            ""
        };
        let hidden_last = if end < total {
            format!("{}{{visibility:hidden}}", percent(end))
        } else {
            String::new()
        };
        let _ = write!(
            out,
            "<style>@keyframes {name}{{{hidden_first}{}{{visibility:visible}}{hidden_last}}}\
             .{name}{{animation:{name} {total}ms step-end infinite}}</style>\n<g class=\"{name}\">\n{rows}</g>\n",
            percent(start)
        );
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// Draws each row once for each time in which it does not change.
fn rows_by_time(frames: &[(Buffer, u64)]) -> BTreeMap<(u64, u64), String> {
    let mut drawn: BTreeMap<(u64, u64), String> = BTreeMap::new();
    for y in 0..frames[0].0.area.height {
        let (mut at, mut shown) = (0, None::<(u64, String)>);
        for (buffer, millis) in frames {
            let row = row(buffer, y);
            if shown.as_ref().is_none_or(|(_, text)| *text != row)
                && let Some((start, text)) = shown.replace((at, row))
            {
                drawn.entry((start, at)).or_default().push_str(&text);
            }
            at += millis;
        }
        let (start, text) = shown.expect("there is a frame");
        drawn.entry((start, at)).or_default().push_str(&text);
    }
    drawn.retain(|_, rows| !rows.is_empty());
    drawn
}

fn row(buffer: &Buffer, y: u16) -> String {
    let mut out = String::new();
    let mut x = 0;
    while x < buffer.area.width {
        let start = x;
        let first = &buffer[(x, y)];
        let mut text = String::new();
        // A run ends at a gap, so that the next one starts in its column with any font.
        while x < buffer.area.width
            && style(&buffer[(x, y)]) == style(first)
            && !(text.ends_with("  ") && buffer[(x, y)].symbol() != " ")
        {
            let symbol = buffer[(x, y)].symbol();
            text.push_str(symbol);
            x += u16::try_from(symbol.width()).unwrap_or(1).max(1);
        }
        run(&mut out, &text, start, y, x - start, first);
    }
    out
}

const fn style(cell: &Cell) -> (Color, Modifier) {
    (cell.fg, cell.modifier)
}

fn run(out: &mut String, text: &str, x: u16, y: u16, columns: u16, cell: &Cell) {
    let is_reversed = cell.modifier.contains(Modifier::REVERSED);
    let (text, before, columns) = if is_reversed {
        (text, 0, columns)
    } else {
        let text = text.trim_end();
        let shown = text.trim_start();
        let width = u16::try_from(shown.width()).unwrap_or(columns);
        (
            shown,
            u16::try_from(text.len() - shown.len()).unwrap_or(0),
            width,
        )
    };
    if text.is_empty() {
        return;
    }
    let (left, top) = (8 + (x + before) * CELL.0, 8 + y * CELL.1);
    let width = columns * CELL.0;
    let mut colour = colour(cell.fg);
    if is_reversed {
        let _ = writeln!(
            out,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{}\" fill=\"{colour}\"/>",
            CELL.1
        );
        BACKGROUND.clone_into(&mut colour);
    }
    let mut looks = String::new();
    for (modifier, attribute) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
    ] {
        if cell.modifier.contains(modifier) {
            looks.push_str(attribute);
        }
    }
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = writeln!(
        out,
        "<text x=\"{left}\" y=\"{}\" textLength=\"{width}\" fill=\"{colour}\"{looks}>{text}</text>",
        top + 15
    );
}

fn colour(colour: Color) -> String {
    match colour {
        Color::Reset => FOREGROUND.to_owned(),
        colour => colour.to_string().to_lowercase(),
    }
}
