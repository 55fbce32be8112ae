//! Hands paragraphs to html2text and takes its lines back with the marks they went in with.
//!
//! It is given a tree that holds nothing it could trip over: one `div` for each paragraph, one `a`
//! for each run of text, whose address is the number of the run. What comes back is told apart by
//! that number alone, so that its own ideas of links and emphasis never matter.

use html2text::config::{self, Config};
use html2text::render::{TaggedLine, TextDecorator};
use html5ever::interface::tree_builder::{ElementFlags, NodeOrText, TreeSink};
use html5ever::{Attribute, LocalName, QualName, ns};

use crate::render::blocks::Paragraph;
use crate::render::body::{BodyLine, LineEnd, SpanStyle};
use crate::render::panics::catch_panics;
use crate::render::wrap::{self, WrapRun, can_break_between};

/// Text that is laid out in one go; more would take memory that nobody has to spare.
const MAX_BATCH_BYTES: usize = 64 << 10;

/// Lines of each of `paras` at `width` columns.
pub(super) fn wrap_paragraphs(paras: &[&Paragraph], width: usize) -> Vec<Vec<BodyLine>> {
    let mut done: Vec<Vec<BodyLine>> = paras
        .iter()
        .map(|para| single_line(para, width).into_iter().collect())
        .collect();
    let long: Vec<usize> = (0..paras.len()).filter(|at| done[*at].is_empty()).collect();
    let mut rest = &long[..];
    while !rest.is_empty() {
        let mut room = MAX_BATCH_BYTES;
        let fits = |at: &&usize| {
            let size: usize = paras[**at].runs.iter().map(|run| run.text.len() + 64).sum();
            let before = room;
            room = room.saturating_sub(size);
            before > 0
        };
        let (batch, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        rest = after;
        let texts: Vec<&Paragraph> = batch.iter().map(|at| paras[*at]).collect();
        for (at, lines) in batch.iter().zip(wrap_batch(&texts, width)) {
            done[*at] = lines;
        }
    }
    done
}

/// A paragraph that fits on one line, where there is nothing to lay out.
fn single_line(para: &Paragraph, width: usize) -> Option<BodyLine> {
    if para.preformatted || para.width() > width {
        return None;
    }
    let mut spans = Vec::with_capacity(para.runs.len());
    para.runs
        .iter()
        .for_each(|run| wrap::push_span(&mut spans, &run.text.replace('\u{A0}', " "), run.style));
    Some(BodyLine {
        spans,
        rtl: para.rtl,
        ..BodyLine::default()
    })
}

fn wrap_batch(paras: &[&Paragraph], width: usize) -> Vec<Vec<BodyLine>> {
    let laid = catch_panics(|| wrap_with_html2text(paras, width)).flatten();
    laid.unwrap_or_else(|| {
        paras
            .iter()
            .map(|para| wrap_directly(para, width))
            .collect()
    })
}

/// Wrapping of our own: for text whose blanks are the author's, and should the library fail.
fn wrap_directly(para: &Paragraph, width: usize) -> Vec<BodyLine> {
    let plain: Vec<String> = para
        .runs
        .iter()
        .map(|run| run.text.replace('\u{A0}', " "))
        .collect();
    let pieces: Vec<WrapRun<'_>> = plain
        .iter()
        .zip(&para.runs)
        .map(|(text, run)| WrapRun {
            text,
            style: run.style,
            no_break: false,
        })
        .collect();
    let lines = wrap::wrap_lines(&pieces, width, &[], &[]);
    lines
        .into_iter()
        .map(|line| BodyLine {
            rtl: para.rtl,
            ..line
        })
        .collect()
}

fn wrap_with_html2text(paras: &[&Paragraph], width: usize) -> Option<Vec<Vec<BodyLine>>> {
    let mut done: Vec<Vec<BodyLine>> = paras
        .iter()
        .map(|para| {
            if para.preformatted {
                wrap_directly(para, width)
            } else {
                Vec::new()
            }
        })
        .collect();
    let numbers: Vec<(usize, SpanStyle)> = paras
        .iter()
        .enumerate()
        .flat_map(|(number, para)| para.runs.iter().map(move |run| (number, run.style)))
        .collect();
    let config = html2text_config();
    let tree = config.dom_to_render_tree(&build_dom(paras)).ok()?;
    for line in config.render_to_lines(tree, width).ok()? {
        collect_line(&line, &numbers, paras, &mut done);
    }
    for (lines, para) in done
        .iter_mut()
        .zip(paras)
        .filter(|(_, para)| !para.preformatted)
    {
        set_line_ends(lines, para);
    }
    done.iter()
        .zip(paras)
        .all(|(lines, para)| !lines.is_empty() || para.runs.is_empty())
        .then_some(done)
}

fn html2text_config() -> Config<RunDecorator> {
    config::with_decorator(RunDecorator)
        .no_table_borders()
        .allow_width_overflow()
        .min_wrap_width(18)
        .unicode_strikeout(false)
}

fn collect_line(
    line: &TaggedLine<Vec<RunNumber>>,
    numbers: &[(usize, SpanStyle)],
    paras: &[&Paragraph],
    done: &mut [Vec<BodyLine>],
) {
    let mut spans = Vec::new();
    let mut of = None;
    for piece in line.tagged_strings() {
        let number = piece.tag.iter().find_map(|number| number.0);
        let (para, mark) = number
            .and_then(|number| numbers.get(number))
            .map_or((None, SpanStyle::default()), |(para, mark)| {
                (Some(*para), *mark)
            });
        of = of.or(para);
        wrap::push_span(&mut spans, &piece.s.replace('\u{A0}', " "), mark);
    }
    if let Some(of) = of {
        done[of].push(BodyLine {
            spans,
            rtl: paras[of].rtl,
            ..BodyLine::default()
        });
    }
}

/// Notes at the end of each line but the last whether a blank stood there: copying joins them again.
fn set_line_ends(lines: &mut [BodyLine], para: &Paragraph) {
    let text: String = para.runs.iter().map(|run| &*run.text).collect();
    let mut rest = text.chars().peekable();
    let Some((_, wrapped)) = lines.split_last_mut() else {
        return;
    };
    for line in wrapped {
        let mut letters = line
            .spans
            .iter()
            .flat_map(|span| span.text.chars())
            .filter(|c| !c.is_whitespace())
            .count();
        while letters > 0 {
            let Some(c) = rest.next() else { return };
            letters -= usize::from(!c.is_whitespace());
        }
        line.end = if rest.peek().is_some_and(|c| c.is_whitespace()) {
            LineEnd::Space
        } else {
            LineEnd::Split
        };
    }
}

/// The paragraphs as the plainest tree there is.
fn build_dom(paras: &[&Paragraph]) -> html2text::RcDom {
    let dom = html2text::RcDom::default();
    let element = |name: &str, attributes| {
        let name = QualName::new(None, ns!(html), LocalName::from(name));
        dom.create_element(name, attributes, ElementFlags::default())
    };
    let root = dom.get_document();
    let mut number = 0_usize;
    for para in paras {
        let block = element("div", Vec::new());
        let mut before = None;
        for run in &para.runs {
            if run.text.trim().is_empty() {
                // A link without words is no link to html2text, and its blanks would be lost.
                dom.append(&block, NodeOrText::AppendText(run.text.as_str().into()));
            } else if !para.preformatted {
                let href = QualName::new(None, ns!(), LocalName::from("href"));
                let link = element(
                    "a",
                    vec![Attribute {
                        name: href,
                        value: number.to_string().into(),
                    }],
                );
                dom.append(
                    &link,
                    NodeOrText::AppendText(
                        insert_break_opportunities(&run.text, &mut before).into(),
                    ),
                );
                dom.append(&block, NodeOrText::AppendNode(link));
            }
            number += 1;
        }
        dom.append(&root, NodeOrText::AppendNode(block));
    }
    dom
}

/// The text with a zero-width blank wherever a line may end without one: html2text knows no other
/// place to break a line of Japanese than the one where it is full.
fn insert_break_opportunities(text: &str, before: &mut Option<char>) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if can_break_between(*before, Some(c)) {
            out.push('\u{200B}');
        }
        out.push(c);
        *before = Some(c);
    }
    out
}

/// The number of the run that a piece of text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct RunNumber(Option<usize>);

/// Decorates nothing, and turns addresses back into numbers.
#[derive(Debug, Clone, Copy)]
struct RunDecorator;

impl TextDecorator for RunDecorator {
    type Annotation = RunNumber;

    fn decorate_link_start(&mut self, url: &str) -> (String, RunNumber) {
        (String::new(), RunNumber(url.parse().ok()))
    }

    fn decorate_link_end(&mut self) -> String {
        String::new()
    }

    fn decorate_em_start(&self) -> (String, RunNumber) {
        Default::default()
    }

    fn decorate_em_end(&self) -> String {
        String::new()
    }

    fn decorate_strong_start(&self) -> (String, RunNumber) {
        Default::default()
    }

    fn decorate_strong_end(&self) -> String {
        String::new()
    }

    fn decorate_strikeout_start(&self) -> (String, RunNumber) {
        Default::default()
    }

    fn decorate_strikeout_end(&self) -> String {
        String::new()
    }

    fn decorate_code_start(&self) -> (String, RunNumber) {
        Default::default()
    }

    fn decorate_code_end(&self) -> String {
        String::new()
    }

    fn decorate_preformat_first(&self) -> RunNumber {
        RunNumber::default()
    }

    fn decorate_preformat_cont(&self) -> RunNumber {
        RunNumber::default()
    }

    fn decorate_image(&mut self, _: &str, _: &str) -> (String, RunNumber) {
        Default::default()
    }

    fn header_prefix(&self, _: usize) -> String {
        String::new()
    }

    fn quote_prefix(&self) -> String {
        String::new()
    }

    fn unordered_item_prefix(&self) -> String {
        String::new()
    }

    fn ordered_item_prefix(&self, _: i64) -> String {
        String::new()
    }

    fn make_subblock_decorator(&self) -> Self {
        *self
    }

    fn finalise(&mut self, _: Vec<String>) -> Vec<TaggedLine<RunNumber>> {
        Vec::new()
    }
}
