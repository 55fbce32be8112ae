//! The bytes that a screen writes, which users on a slow line notice first.

use std::io::{self, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};

use crate::app::{Message, Model};
use crate::config::{ColourDepth, ThemeBase};
use crate::tui::CompactBackend;
use crate::view::{RenderCtx, Theme, draw};
use ratatui::layout::{Position, Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::harness::TuiHarness;
use crate::app::tests::env::{AppHarness, FakeService};

/// A line that remembers what went over it.
#[derive(Clone, Default)]
pub(super) struct Line(Arc<Mutex<Vec<u8>>>);

impl Line {
    /// Takes what was written.
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn render_ctx(base: ThemeBase) -> RenderCtx {
    RenderCtx {
        // A slow line is one of SSH, which passes TERM on and not COLORTERM.
        theme: Theme::fixed(base, ColourDepth::Indexed256),
        ..crate::view::tests::render_ctx()
    }
}

struct Screen {
    app: AppHarness,
    terminal: Terminal<CompactBackend<Line>>,
    line: Line,
}

impl Screen {
    fn at_rest() -> Self {
        let app = AppHarness::at_rest(120, 40, FakeService::with_emails(2_000));
        let line = Line::default();
        let Size { width, height } = app.model.size;
        let options = TerminalOptions {
            viewport: Viewport::Fixed(Rect::new(0, 0, width, height)),
        };
        let terminal = Terminal::with_options(CompactBackend::new(line.clone()), options).unwrap();
        let mut screen = Self {
            app,
            terminal,
            line,
        };
        screen.cost();
        screen
    }

    /// Draws, and gives the number of bytes that took.
    fn cost(&mut self) -> usize {
        let ctx = render_ctx(ThemeBase::Dark);
        self.terminal
            .draw(|frame| draw(&self.app.model, &ctx, frame))
            .unwrap();
        self.line.take().len()
    }
}

/// Draws the messages of a run, and compares for each step the bytes with the
/// characters that changed on the screen; blanks do not count. A step ends after as many messages
/// as `ends` has.
fn measure_steps(
    (mut model, messages): (Model, Vec<Message>),
    ends: &[usize],
    base: ThemeBase,
) -> Vec<(usize, usize)> {
    let line = Line::default();
    let Size { width, height } = model.size;
    let area = Rect::new(0, 0, width, height);
    let backend = CompactBackend::new(line.clone());
    let viewport = Viewport::Fixed(area);
    let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
    let cells = |count| NonZeroU16::new(count).unwrap();
    let mut emulator = vt100::Parser::new(cells(height), cells(width), 0);
    let text = |emulator: &vt100::Parser| -> Vec<String> {
        let cell = |at: Position| {
            emulator
                .screen()
                .cell(at.y, at.x)
                .unwrap()
                .contents()
                .trim()
                .to_owned()
        };
        area.positions().map(cell).collect()
    };
    let (mut steps, mut bytes, mut before) = (Vec::new(), 0, text(&emulator));
    for (nth, message) in (1..).zip(messages) {
        model.update(message);
        let ctx = render_ctx(base);
        terminal.draw(|frame| draw(&model, &ctx, frame)).unwrap();
        let written = line.take();
        emulator.process(&written);
        bytes += written.len();
        if ends.contains(&nth) {
            let after = text(&emulator);
            let changed = before
                .iter()
                .zip(&after)
                .filter(|(before, after)| before != after);
            steps.push((bytes, changed.map(|(_, after)| after.len()).sum()));
            (bytes, before) = (0, after);
        }
    }
    steps
}

#[tokio::test]
async fn browsing_writes_little_more_than_the_new_text() {
    for (width, height) in [(80, 24), (120, 40), (160, 45)] {
        let mut it = TuiHarness::start(Size::new(width, height), 300).await;
        // The first time, bodies are fetched.
        for _ in 0..25 {
            it.press("j").await;
        }
        it.press("Home").await;
        let mut ends = vec![it.program.recording.1.len()];
        for _ in 0..25 {
            it.press("j").await;
            ends.push(it.program.recording.1.len());
        }
        // Without a report of the background, there are attributes only; colours have longer codes.
        for (base, most) in [(ThemeBase::Auto, 150), (ThemeBase::Dark, 250)] {
            let recording = *it.program.recording.clone();
            let steps = measure_steps(recording, &ends, base);
            let excess = steps[1..]
                .iter()
                .map(|(bytes, text)| bytes.saturating_sub(text * 16 / 10));
            let mut excess: Vec<usize> = excess.collect();
            excess.sort_unstable();
            assert!(excess[12] <= most, "{width}x{height}, {base:?}: {steps:?}");
        }
    }
}

#[test]
fn unchanged_frame_writes_no_bytes() {
    let mut screen = Screen::at_rest();
    assert_eq!(screen.cost(), 0);
    screen.app.wait_for_refresh();
    assert_eq!(screen.cost(), 0, "nothing new");
}

#[test]
fn moving_selection_writes_two_rows() {
    let mut screen = Screen::at_rest();
    let mut costs: Vec<usize> = (0..200)
        .map(|_| {
            screen.app.press("j").answer_archive();
            screen.cost()
        })
        .collect();
    let all: usize = costs.iter().sum();
    costs.sort_unstable();
    let median = costs[100];
    assert!(median <= 160, "the median step costs {median} bytes");
    assert!(all <= 40_000, "200 steps cost {all} bytes");
}

#[test]
fn many_keys_at_once_write_one_frame() {
    let mut screen = Screen::at_rest();
    for _ in 0..200 {
        screen.app.press("j");
    }
    screen.app.settle();
    let cost = screen.cost();
    assert!(cost <= 2_000, "200 keys at once cost {cost} bytes");
}

#[test]
fn scrolling_a_page_writes_about_a_page() {
    let mut screen = Screen::at_rest();
    screen.app.press("PgDn").settle();
    screen.app.press("PgDn");
    let cost = screen.cost();
    assert!(cost <= 3_000, "a page costs {cost} bytes");
}

#[test]
fn typing_a_filter_writes_only_changed_rows() {
    let mut screen = Screen::at_rest();
    screen.app.press("/").settle();
    let opening = screen.cost();
    assert!(opening <= 2_500, "the prompt costs {opening} bytes");
    let mut costs: Vec<usize> = "receipt #1999"
        .chars()
        .map(|letter| {
            screen.app.write(&letter.to_string()).answer_archive();
            screen.cost()
        })
        .collect();
    costs.sort_unstable();
    assert!(costs[costs.len() / 2] <= 1_500, "{costs:?} bytes");
}
