//! Draws the picture of the README from the real screen, and checks that it is current.

use std::fmt::Write as _;
use std::path::Path;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Size;
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

use crate::tui::tests::harness::TuiHarness;

/// Pixels of a cell.
const CELL: (u16, u16) = (9, 19);
const BACKGROUND: &str = "#1b1e24";
const FOREGROUND: &str = "#d7dae0";

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test has no settings to ask")]
async fn readme_picture_matches_the_screen() {
    let mut it = TuiHarness::start(Size::new(132, 36), 2_000).await;
    let wanted = |it: &TuiHarness| {
        it.program
            .model()
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
    // The test backend keeps what wide characters have covered, which a terminal does not.
    it.press("Ctrl-l").await;
    let drawn = svg(it.program.terminal().backend().buffer());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/screen.svg");
    if std::env::var_os("SENTBOX_DRAW").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == drawn,
        "assets/screen.svg shows another screen; SENTBOX_DRAW=1 cargo test picture draws it anew"
    );
}

/// The screen as a picture of text, each run of equal cells placed by its column.
fn svg(buffer: &Buffer) -> String {
    let (width, height) = (
        buffer.area.width * CELL.0 + 16,
        buffer.area.height * CELL.1 + 16,
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"15\" fill=\"{FOREGROUND}\" xml:space=\"preserve\">\n"
    );
    for y in 0..buffer.area.height {
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
    }
    out.push_str("</g>\n</svg>\n");
    out
}

const fn style(cell: &Cell) -> (Color, Modifier) {
    (cell.fg, cell.modifier)
}

fn run(out: &mut String, text: &str, x: u16, y: u16, columns: u16, cell: &Cell) {
    if text.trim().is_empty() && !cell.modifier.contains(Modifier::REVERSED) {
        return;
    }
    let (left, top, width) = (8 + x * CELL.0, 8 + y * CELL.1, columns * CELL.0);
    let mut colour = colour(cell.fg);
    if cell.modifier.contains(Modifier::REVERSED) {
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
