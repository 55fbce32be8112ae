//! Wraps the paragraphs of html.

use unicode_segmentation::UnicodeSegmentation as _;

use super::numbers;
use super::wrap::{
    self, WrapRun, can_break_between, can_break_long_word, longest_unbreakable_width,
};
use crate::render::blocks::{LINK_MARK, Paragraph};
use crate::render::body::{BodyLine, BodySpan, MAX_LINES, SpanRole, push_span};
use crate::text::format::first_chars;
use crate::text::width::DisplayWidth as _;

/// Lines do not break inside buttons and items of menus up to this width.
const MAX_ITEM_WIDTH: usize = 26;

/// Columns by which the rest of a long line of code is indented below its start.
const HANGING_INDENT: usize = 2;

/// Returns the lines of each paragraph at `width` columns.
///
/// Paragraphs after the last line that is shown have no lines.
pub(super) fn wrap_paragraphs(paragraphs: &[&Paragraph], width: usize) -> Vec<Vec<BodyLine>> {
    let halvings = count_halvings(paragraphs, width);
    let mut count = 0;
    let wrap = |paragraph: &&Paragraph| {
        let lines = match single_line(paragraph, width) {
            Some(line) => vec![line],
            None if count > MAX_LINES => Vec::new(),
            None if paragraph.preformatted => wrap_preformatted(paragraph, halvings, width),
            None => wrap_text(paragraph, width),
        };
        count += lines.len();
        lines
    };
    paragraphs.iter().map(wrap).collect()
}

/// Returns how often the indents of preformatted text are halved until each line
/// that does not fit has half of the width for its text.
fn count_halvings(paragraphs: &[&Paragraph], width: usize) -> u32 {
    let is_long = |it: &&&Paragraph| it.preformatted && it.width() > width;
    let indents = paragraphs.iter().filter(is_long).map(|it| indent(it));
    let mut deepest = indents.max().unwrap_or(0);
    let mut halvings = 0;
    while deepest > width / 2 {
        deepest /= 2;
        halvings += 1;
    }
    halvings
}

/// Returns the spaces at the start of a line.
fn indent(line: &Paragraph) -> usize {
    let text = line.runs.iter().flat_map(|run| run.text.chars());
    text.take_while(|c| c.is_whitespace()).count()
}

/// Returns the line of a paragraph that needs no wrapping.
fn single_line(paragraph: &Paragraph, width: usize) -> Option<BodyLine> {
    if paragraph.width() > width {
        return drawn_rule(paragraph, width);
    }
    (!paragraph.preformatted).then(|| BodyLine {
        spans: visible_spans(paragraph),
        ..BodyLine::default()
    })
}

/// Returns a line drawn with one sign, cut to the width.
fn drawn_rule(paragraph: &Paragraph, width: usize) -> Option<BodyLine> {
    let text = paragraph.text();
    let sign = text.chars().next().filter(|c| "_-=*~–—─".contains(*c))?;
    let style = paragraph.runs.first()?.style;
    text.chars().all(|c| c == sign).then(|| BodyLine {
        spans: vec![BodySpan {
            text: text.chars().take(width).collect(),
            style,
        }],
        ..BodyLine::default()
    })
}

/// Returns the runs with no-break spaces shown as spaces.
fn visible_spans(paragraph: &Paragraph) -> Vec<BodySpan> {
    let mut spans = Vec::with_capacity(paragraph.runs.len());
    for run in &paragraph.runs {
        push_span(&mut spans, &run.text.replace('\u{A0}', " "), run.style);
    }
    spans
}

fn wrap_preformatted(paragraph: &Paragraph, halvings: u32, width: usize) -> Vec<BodyLine> {
    let mut spans = visible_spans(paragraph);
    let kept = indent(paragraph) >> halvings;
    let mut dropped = indent(paragraph) - kept;
    for span in &mut spans {
        let end = first_chars(&span.text, dropped).len();
        dropped -= span.text.drain(..end).count();
    }
    let runs: Vec<WrapRun<'_>> = spans
        .iter()
        .map(|it| WrapRun::new(&it.text, it.style))
        .collect();
    let text = paragraph.text();
    if is_drawn_row(&text) {
        return wrap::wrap_lines(&runs, usize::MAX, &[], &[]);
    }
    let hanging = (kept + HANGING_INDENT).min(width / 2);
    // A word that fills a line, such as a URL, stays whole.
    let word = longest_unbreakable_width(&text, can_break_between);
    let is_full = (width - hanging + 1..=width).contains(&word);
    let mut indent = Vec::new();
    if paragraph.width() > width && !is_full && is_code(paragraph, &text) {
        push_span(&mut indent, &" ".repeat(hanging), SpanRole::Indent.into());
    }
    wrap::wrap_lines(&runs, width, &[], &indent)
}

/// True for a row of a table that is drawn with signs, which is read only as a whole:
/// at least two cells, or a rule.
fn is_drawn_row(text: &str) -> bool {
    let is_border = |c: char| matches!(c, '|' | '\u{2500}'..='\u{257F}');
    let is_rule = |c: char| matches!(c, '+' | '-' | '=');
    let text = text.trim();
    let is_row = text.starts_with(is_border) && text.ends_with(is_border);
    (is_row && text.matches(is_border).count() > 2)
        || (text.starts_with('+') && text.chars().all(is_rule))
}

/// True for a line of code or of a log; a line of prose has no indent and no gap,
/// and starts with a letter.
fn is_code(line: &Paragraph, text: &str) -> bool {
    let is_monospace = |run: &BodySpan| run.style.role == SpanRole::Code;
    let starts_as_prose = text.starts_with(|c: char| c.is_alphabetic() || "\"'“„«".contains(c));
    line.runs.iter().any(is_monospace) && (!starts_as_prose || text.contains("  "))
}

/// Wraps text in which white space collapses.
fn wrap_text(paragraph: &Paragraph, width: usize) -> Vec<BodyLine> {
    let joined = join_words(paragraph, width);
    let mut breaks = long_word_breaks(&joined.concat(), width)
        .into_iter()
        .peekable();
    let (mut position, mut after_space) = (0, true);
    let collapse = |run: &String| {
        let mut text = String::with_capacity(run.len());
        for c in run.chars() {
            let is_break = breaks.next_if_eq(&position).is_some();
            position += c.len_utf8();
            let c = if is_break && c == '\u{A0}' { ' ' } else { c };
            text.extend((is_break && c != ' ').then_some(wrap::BREAK));
            let is_space = c.is_whitespace() && c != '\u{A0}';
            if !is_space {
                text.push(c);
            } else if !after_space {
                text.push(' ');
            }
            after_space = is_space;
        }
        text
    };
    let texts: Vec<String> = joined.iter().map(collapse).collect();
    let runs: Vec<WrapRun<'_>> = texts
        .iter()
        .zip(&paragraph.runs)
        .map(|(text, run)| WrapRun::new(text, run.style))
        .collect();
    let mut lines = wrap::wrap_lines(&runs, width, &[], &[]);
    for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
        if span.text.contains('\u{A0}') {
            span.text = span.text.replace('\u{A0}', " ").into();
        }
    }
    lines
}

/// Returns the text of each run with no-break spaces where no line may break:
/// in short buttons and items of menus, beside the brackets of others, and in numbers.
fn join_words(paragraph: &Paragraph, width: usize) -> Vec<String> {
    let is_menu = paragraph.runs.iter().any(|run| run.text == LINK_MARK);
    let mut joints = numbers::inner_spaces(&paragraph.text())
        .into_iter()
        .peekable();
    let mut position = 0;
    let join = |run: &BodySpan| {
        let is_button = run.style.role == SpanRole::Button;
        let is_item = is_button || (is_menu && run.style.role == SpanRole::Link);
        let is_whole = is_item && run.text.width() <= MAX_ITEM_WIDTH.min(width / 2);
        let mut text = String::with_capacity(run.text.len());
        for (at, c) in run.text.char_indices() {
            let is_joint = joints.next_if_eq(&(position + at)).is_some();
            let is_bracket = is_button && (text == "[" || run.text[at..] == *" ]");
            let holds = c == ' ' && (is_whole || is_joint || is_bracket);
            text.push(if holds { '\u{A0}' } else { c });
        }
        position += run.text.len();
        text
    };
    paragraph.runs.iter().map(join).collect()
}

/// Returns the bytes at which words that are wider than the line are best cut:
/// at the no-break spaces behind a text, and inside of what is still too wide.
fn long_word_breaks(text: &str, width: usize) -> Vec<usize> {
    let is_long = |word: &str| longest_unbreakable_width(word, can_break_between) > width;
    let mut breaks = Vec::new();
    let mut start = 0;
    for word in text.split_inclusive(' ') {
        let (word_start, end) = (start, start + word.len());
        let text_start = end - word.trim_start_matches('\u{A0}').len();
        let parts = if is_long(word) { word } else { "" };
        for part in parts.split_inclusive('\u{A0}') {
            let joined = part.trim_end_matches('\u{A0}');
            let space = start + joined.len();
            // The spaces that indent a text stay before it.
            let from = if start == text_start {
                word_start
            } else {
                start
            };
            let cut = if is_long(&text[from..space]) {
                joined
            } else {
                ""
            };
            let mut before = None;
            for (at, grapheme) in cut.grapheme_indices(true) {
                if can_break_long_word(before, grapheme.chars().next()) {
                    breaks.push(start + at);
                }
                before = grapheme.chars().next_back();
            }
            start += part.len();
            let is_parted = text[start..end].starts_with(|c| !matches!(c, ' ' | '\u{A0}'));
            if space > text_start && is_parted {
                breaks.push(space);
            }
        }
        start = end;
    }
    breaks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::body::SpanStyle;

    #[test]
    fn emoji_sequences_are_not_cut() {
        for emoji in ["👩‍👩‍👧‍👦", "👨🏽‍🚒", "🇯🇵"] {
            let mut paragraph = Paragraph::default();
            paragraph.push_run(&emoji.repeat(40), SpanStyle::default());
            for line in wrap_paragraphs(&[&paragraph], 21).concat() {
                let rest = line.text().replace(emoji, "");
                assert_eq!(rest, "", "{emoji} in {}", line.text());
            }
        }
    }

    #[test]
    fn text_beyond_line_limit_is_not_wrapped() {
        for text in ["word ", "x", "日"] {
            let mut paragraph = Paragraph::default();
            let count = 600_000 / text.chars().count();
            paragraph.push_run(&text.repeat(count), SpanStyle::default());
            let lines = wrap_paragraphs(&[&paragraph, &paragraph], 10);
            let counts = (lines[0].len(), lines[1].len());
            assert!(
                (MAX_LINES + 1..=MAX_LINES + 10_000).contains(&(counts.0 + counts.1)),
                "{text}: {counts:?}"
            );
        }
    }
}
