//! Wraps html paragraphs with html2text and restores the styles of their runs.
//!
//! html2text gets a tree it cannot fail on: one `div` per paragraph and one `a` per run, whose
//! `href` is the number of the run. That number gives each returned string the style of its run.

use std::borrow::Cow;

use html2text::config;
use html2text::render::{RichAnnotation, TaggedLine};
use html5ever::interface::tree_builder::{ElementFlags, NodeOrText, TreeSink};
use html5ever::{Attribute, LocalName, QualName, ns};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthChar as _;

use super::wrap::{
    self, WrapRun, can_break_between, can_break_long_word, longest_unbreakable_width,
};
use crate::render::blocks::{LINK_MARK, Paragraph};
use crate::render::body::{BodyLine, BodySpan, LineEnd, MAX_LINES, SpanRole, SpanStyle, push_span};
use crate::render::catch_panics;
use crate::text::format::first_chars;
use crate::text::width::DisplayWidth as _;

/// Text that html2text lays out at once; more would take too much memory.
const MAX_BATCH_BYTES: usize = 64 << 10;

/// A paragraph of more runs would take too much memory of html2text.
const MAX_HTML2TEXT_RUNS: usize = 1_000;

/// Lines do not break inside buttons and items of menus up to this width.
const MAX_ITEM_WIDTH: usize = 26;

/// Returns the lines of each paragraph at `width` columns.
pub(super) fn wrap_paragraphs(paragraphs: &[&Paragraph], width: usize) -> Vec<Vec<BodyLine>> {
    let mut done: Vec<Vec<BodyLine>> = paragraphs
        .iter()
        .map(|paragraph| single_line(paragraph, width).into_iter().collect())
        .collect();
    let long: Vec<usize> = (0..paragraphs.len())
        .filter(|index| done[*index].is_empty())
        .collect();
    let mut texts = clip_paragraphs(long.iter().map(|index| paragraphs[*index]), width);
    halve_indents(&mut texts, width);
    let (direct, batched): (Vec<_>, Vec<_>) = long
        .into_iter()
        .zip(&texts)
        .partition(|(_, text)| text.preformatted || text.runs.len() > MAX_HTML2TEXT_RUNS);
    for (index, text) in direct {
        done[index] = wrap_directly(text, width);
    }
    let mut rest = &batched[..];
    while !rest.is_empty() {
        let mut free_bytes = MAX_BATCH_BYTES;
        let fits = |(_, paragraph): &&(usize, &Cow<'_, Paragraph>)| {
            let size: usize = paragraph.runs.iter().map(|run| run.text.len() + 64).sum();
            let before = free_bytes;
            free_bytes = free_bytes.saturating_sub(size);
            before > 0
        };
        let (batch, after) = rest.split_at(rest.iter().take_while(fits).count());
        let texts: Vec<&Paragraph> = batch.iter().map(|(_, text)| &***text).collect();
        for ((index, _), lines) in batch.iter().zip(wrap_batch(&texts, width)) {
            done[*index] = lines;
        }
        rest = after;
    }
    done
}

/// Cuts the text that would be on lines after the last.
fn clip_paragraphs<'p>(
    paragraphs: impl Iterator<Item = &'p Paragraph> + Clone,
    width: usize,
) -> Vec<Cow<'p, Paragraph>> {
    // No line has more columns than bytes, and a break drops one space.
    let mut free_columns = (MAX_LINES + 1) * (width + 1);
    let bytes: usize = paragraphs
        .clone()
        .flat_map(|paragraph| &paragraph.runs)
        .map(|run| run.text.len())
        .sum();
    if bytes <= free_columns {
        return paragraphs.map(Cow::Borrowed).collect();
    }
    let clip = |paragraph: &'p Paragraph| {
        let mut clipped = Cow::Borrowed(paragraph);
        for (index, run) in paragraph.runs.iter().enumerate() {
            let mut ends = run.text.char_indices().filter(|(_, c)| {
                let columns = c.width().unwrap_or(0);
                let fits = columns <= free_columns;
                free_columns -= columns.min(free_columns);
                !fits
            });
            if let Some((end, _)) = ends.next() {
                let clipped = clipped.to_mut();
                clipped.runs.truncate(index + 1);
                clipped.runs[index].text.truncate(end);
                break;
            }
        }
        clipped
    };
    paragraphs.map(clip).collect()
}

/// Halves the indents of preformatted text until each line that does not fit has
/// half of the width for its text.
fn halve_indents(paragraphs: &mut [Cow<'_, Paragraph>], width: usize) {
    let is_long =
        |paragraph: &&Cow<'_, Paragraph>| paragraph.preformatted && paragraph.width() > width;
    let indents = paragraphs.iter().filter(is_long).map(|it| indent(it));
    let mut deepest = indents.max().unwrap_or(0);
    let mut halvings = 0;
    while deepest > width / 2 {
        deepest /= 2;
        halvings += 1;
    }
    if halvings == 0 {
        return;
    }
    for paragraph in paragraphs.iter_mut().filter(|it| it.preformatted) {
        let mut dropped = indent(paragraph) - (indent(paragraph) >> halvings);
        for run in &mut paragraph.to_mut().runs {
            let end = first_chars(&run.text, dropped).len();
            dropped -= run.text.drain(..end).count();
        }
    }
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
    let [run, ..] = &paragraph.runs[..] else {
        return None;
    };
    text.chars().all(|c| c == sign).then(|| BodyLine {
        spans: vec![BodySpan {
            text: text.chars().take(width).collect(),
            style: run.style,
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

fn wrap_batch(paragraphs: &[&Paragraph], width: usize) -> Vec<Vec<BodyLine>> {
    catch_panics(|| wrap_with_html2text(paragraphs, width))
        .flatten()
        .unwrap_or_else(|| {
            paragraphs
                .iter()
                .map(|paragraph| wrap_directly(paragraph, width))
                .collect()
        })
}

/// Wraps where html2text does not, would take too much memory, or fails.
fn wrap_directly(paragraph: &Paragraph, width: usize) -> Vec<BodyLine> {
    let spans = visible_spans(paragraph);
    let runs: Vec<WrapRun<'_>> = spans
        .iter()
        .map(|span| WrapRun::new(&span.text, span.style))
        .collect();
    wrap::wrap_lines(&runs, width, &[], &[])
}

fn wrap_with_html2text(paragraphs: &[&Paragraph], width: usize) -> Option<Vec<Vec<BodyLine>>> {
    let mut done = vec![Vec::new(); paragraphs.len()];
    // By run number: the paragraph's index and the run's style.
    let runs: Vec<(usize, SpanStyle)> = paragraphs
        .iter()
        .enumerate()
        .flat_map(|(index, paragraph)| paragraph.runs.iter().map(move |run| (index, run.style)))
        .collect();
    let config = config::rich()
        .no_table_borders()
        .allow_width_overflow()
        .min_wrap_width(18)
        .unicode_strikeout(false);
    let tree = config
        .dom_to_render_tree(&build_dom(paragraphs, width))
        .ok()?;
    for line in config.render_to_lines(tree, width).ok()? {
        collect_line(&line, &runs, &mut done);
    }
    for (lines, paragraph) in done.iter_mut().zip(paragraphs) {
        set_line_ends(lines, paragraph);
    }
    done.iter()
        .zip(paragraphs)
        .all(|(lines, paragraph)| !lines.is_empty() || paragraph.runs.is_empty())
        .then_some(done)
}

fn collect_line(
    line: &TaggedLine<Vec<RichAnnotation>>,
    runs: &[(usize, SpanStyle)],
    done: &mut [Vec<BodyLine>],
) {
    let mut spans = Vec::new();
    let mut paragraph = None;
    for string in line.tagged_strings() {
        let number = string.tag.iter().find_map(|annotation| match annotation {
            RichAnnotation::Link(url) => url.parse::<usize>().ok(),
            _ => None,
        });
        let run = number.and_then(|number| runs.get(number));
        paragraph = paragraph.or(run.map(|run| run.0));
        let style = run.map_or(SpanStyle::default(), |run| run.1);
        push_span(&mut spans, &string.s.replace('\u{A0}', " "), style);
    }
    if let Some(paragraph) = paragraph {
        done[paragraph].push(BodyLine {
            spans,
            ..BodyLine::default()
        });
    }
}

/// Sets what each line ends with: html2text drops the space at its end.
fn set_line_ends(lines: &mut [BodyLine], paragraph: &Paragraph) {
    let text = paragraph.text();
    let mut rest = text.chars().peekable();
    let Some((_, wrapped)) = lines.split_last_mut() else {
        return;
    };
    for line in wrapped {
        let mut count = line
            .spans
            .iter()
            .flat_map(|span| span.text.chars())
            .filter(|c| !c.is_whitespace())
            .count();
        while count > 0 {
            let Some(c) = rest.next() else { return };
            count -= usize::from(!c.is_whitespace());
        }
        line.end = if rest.peek().is_some_and(|c| c.is_whitespace()) {
            LineEnd::Space
        } else {
            LineEnd::Split
        };
    }
}

fn build_dom(paragraphs: &[&Paragraph], width: usize) -> html2text::RcDom {
    let dom = html2text::RcDom::default();
    let element = |name: &str, attributes| {
        let name = QualName::new(None, ns!(html), LocalName::from(name));
        dom.create_element(name, attributes, ElementFlags::default())
    };
    let root = dom.get_document();
    let mut number = 0_usize;
    for paragraph in paragraphs {
        let block = element("div", Vec::new());
        let mut breaks = break_opportunities(paragraph, width).into_iter();
        let is_menu = paragraph.runs.iter().any(|run| run.text == LINK_MARK);
        for run in &paragraph.runs {
            let is_item =
                run.style.role == SpanRole::Button || (is_menu && run.style.role == SpanRole::Link);
            let is_whole = is_item && run.text.width() <= MAX_ITEM_WIDTH.min(width / 2);
            let mut text = String::with_capacity(run.text.len());
            for (c, can_break) in run.text.chars().zip(breaks.by_ref()) {
                text.extend(can_break.then_some('\u{200B}'));
                text.push(if is_whole && c == ' ' { '\u{A0}' } else { c });
            }
            if run.text.trim().is_empty() {
                // html2text drops links without text, and their spaces with them.
                dom.append(&block, NodeOrText::AppendText(run.text.as_str().into()));
            } else {
                let href = Attribute {
                    name: QualName::new(None, ns!(), LocalName::from("href")),
                    value: number.to_string().into(),
                };
                let link = element("a", vec![href]);
                dom.append(&link, NodeOrText::AppendText(text.into()));
                dom.append(&block, NodeOrText::AppendNode(link));
            }
            number += 1;
        }
        dom.append(&root, NodeOrText::AppendNode(block));
    }
    dom
}

/// Returns for each character whether a line may break before it without a space.
///
/// html2text breaks Japanese, and words that are wider than the line, only where the line is full;
/// zero-width spaces let it break them at these places.
fn break_opportunities(paragraph: &Paragraph, width: usize) -> Vec<bool> {
    // A word may continue in the next run.
    let text = paragraph.text();
    let mut breaks = Vec::with_capacity(text.len());
    let mut before = None;
    for word in text.split_inclusive(' ') {
        if longest_unbreakable_width(word, can_break_between) <= width {
            for c in word.chars() {
                breaks.push(can_break_between(before, Some(c)));
                before = Some(c);
            }
            continue;
        }
        for grapheme in word.graphemes(true) {
            // html2text would cut a sequence of emoji where the line is full.
            let is_sequence = grapheme.chars().skip(1).any(|c| c.width() > Some(0));
            breaks.push(is_sequence || can_break_long_word(before, grapheme.chars().next()));
            breaks.extend(grapheme.chars().skip(1).map(|_| false));
            before = grapheme.chars().next_back();
        }
    }
    breaks
}

#[cfg(test)]
mod tests {
    use super::*;

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
