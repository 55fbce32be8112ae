//! Hands paragraphs to html2text and takes its lines back with the marks they went in with.
//!
//! It is given a tree that holds nothing it could trip over: one `div` for each paragraph, one `a`
//! for each run of text, whose address is the number of the run. What comes back is told apart by
//! that number alone, so that its own ideas of links and emphasis never matter.

use html2text::config::{self, Config};
use html2text::render::{TaggedLine, TextDecorator};
use html5ever::interface::tree_builder::{ElementFlags, NodeOrText, TreeSink};
use html5ever::{Attribute, LocalName, QualName, ns};

use crate::render::body::{End, Line, Mark};
use crate::render::contained::contained;
use crate::render::flow::{self, Piece, may_break};
use crate::render::rebuild::Para;

/// Text that is laid out in one go; more would take memory that nobody has to spare.
const MAX_BATCH: usize = 64 << 10;

/// Lines of each of `paras` at `width` columns.
pub(super) fn lines(paras: &[&Para], width: usize) -> Vec<Vec<Line>> {
    let mut done: Vec<Vec<Line>> = paras
        .iter()
        .map(|para| as_it_is(para, width).into_iter().collect())
        .collect();
    let long: Vec<usize> = (0..paras.len()).filter(|at| done[*at].is_empty()).collect();
    let mut rest = &long[..];
    while !rest.is_empty() {
        let mut room = MAX_BATCH;
        let fits = |at: &&usize| {
            let size: usize = paras[**at].runs.iter().map(|run| run.text.len() + 64).sum();
            let before = room;
            room = room.saturating_sub(size);
            before > 0
        };
        let (batch, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        rest = after;
        let texts: Vec<&Para> = batch.iter().map(|at| paras[*at]).collect();
        for (at, lines) in batch.iter().zip(batch_lines(&texts, width)) {
            done[*at] = lines;
        }
    }
    done
}

/// A paragraph that fits on one line, where there is nothing to lay out.
fn as_it_is(para: &Para, width: usize) -> Option<Line> {
    if para.pre || para.width() > width {
        return None;
    }
    let mut spans = Vec::with_capacity(para.runs.len());
    para.runs
        .iter()
        .for_each(|run| flow::push(&mut spans, &run.text.replace('\u{A0}', " "), run.mark));
    Some(Line {
        spans,
        rtl: para.rtl,
        ..Line::default()
    })
}

fn batch_lines(paras: &[&Para], width: usize) -> Vec<Vec<Line>> {
    let laid = contained(|| by_html2text(paras, width)).flatten();
    laid.unwrap_or_else(|| paras.iter().map(|para| by_hand(para, width)).collect())
}

/// Wrapping of our own: for text whose blanks are the author's, and should the library fail.
fn by_hand(para: &Para, width: usize) -> Vec<Line> {
    let plain: Vec<String> = para
        .runs
        .iter()
        .map(|run| run.text.replace('\u{A0}', " "))
        .collect();
    let pieces: Vec<Piece<'_>> = plain
        .iter()
        .zip(&para.runs)
        .map(|(text, run)| Piece {
            text,
            mark: run.mark,
            whole: false,
        })
        .collect();
    let lines = flow::wrap(&pieces, width, &[], &[]);
    lines
        .into_iter()
        .map(|line| Line {
            rtl: para.rtl,
            ..line
        })
        .collect()
}

fn by_html2text(paras: &[&Para], width: usize) -> Option<Vec<Vec<Line>>> {
    let mut done: Vec<Vec<Line>> = paras
        .iter()
        .map(|para| {
            if para.pre {
                by_hand(para, width)
            } else {
                Vec::new()
            }
        })
        .collect();
    let numbers: Vec<(usize, Mark)> = paras
        .iter()
        .enumerate()
        .flat_map(|(number, para)| para.runs.iter().map(move |run| (number, run.mark)))
        .collect();
    let config = config();
    let tree = config.dom_to_render_tree(&tree(paras)).ok()?;
    for line in config.render_to_lines(tree, width).ok()? {
        add_line(&line, &numbers, paras, &mut done);
    }
    for (lines, para) in done.iter_mut().zip(paras).filter(|(_, para)| !para.pre) {
        say_ends(lines, para);
    }
    done.iter()
        .zip(paras)
        .all(|(lines, para)| !lines.is_empty() || para.runs.is_empty())
        .then_some(done)
}

fn config() -> Config<Numbered> {
    config::with_decorator(Numbered)
        .no_table_borders()
        .allow_width_overflow()
        .min_wrap_width(18)
        .unicode_strikeout(false)
}

fn add_line(
    line: &TaggedLine<Vec<Number>>,
    numbers: &[(usize, Mark)],
    paras: &[&Para],
    done: &mut [Vec<Line>],
) {
    let mut spans = Vec::new();
    let mut of = None;
    for piece in line.tagged_strings() {
        let number = piece.tag.iter().find_map(|number| number.0);
        let (para, mark) = number
            .and_then(|number| numbers.get(number))
            .map_or((None, Mark::default()), |(para, mark)| (Some(*para), *mark));
        of = of.or(para);
        flow::push(&mut spans, &piece.s.replace('\u{A0}', " "), mark);
    }
    if let Some(of) = of {
        done[of].push(Line {
            spans,
            rtl: paras[of].rtl,
            ..Line::default()
        });
    }
}

/// Notes at the end of each line but the last whether a blank stood there: copying joins them again.
fn say_ends(lines: &mut [Line], para: &Para) {
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
            End::Blank
        } else {
            End::Nothing
        };
    }
}

/// The paragraphs as the plainest tree there is.
fn tree(paras: &[&Para]) -> html2text::RcDom {
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
            } else if !para.pre {
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
                    NodeOrText::AppendText(breakable(&run.text, &mut before).into()),
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
fn breakable(text: &str, before: &mut Option<char>) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if may_break(*before, Some(c)) {
            out.push('\u{200B}');
        }
        out.push(c);
        *before = Some(c);
    }
    out
}

/// The number of the run that a piece of text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Number(Option<usize>);

/// Decorates nothing, and turns addresses back into numbers.
#[derive(Debug, Clone, Copy)]
struct Numbered;

impl TextDecorator for Numbered {
    type Annotation = Number;

    fn decorate_link_start(&mut self, url: &str) -> (String, Number) {
        (String::new(), Number(url.parse().ok()))
    }

    fn decorate_link_end(&mut self) -> String {
        String::new()
    }

    fn decorate_em_start(&self) -> (String, Number) {
        Default::default()
    }

    fn decorate_em_end(&self) -> String {
        String::new()
    }

    fn decorate_strong_start(&self) -> (String, Number) {
        Default::default()
    }

    fn decorate_strong_end(&self) -> String {
        String::new()
    }

    fn decorate_strikeout_start(&self) -> (String, Number) {
        Default::default()
    }

    fn decorate_strikeout_end(&self) -> String {
        String::new()
    }

    fn decorate_code_start(&self) -> (String, Number) {
        Default::default()
    }

    fn decorate_code_end(&self) -> String {
        String::new()
    }

    fn decorate_preformat_first(&self) -> Number {
        Number::default()
    }

    fn decorate_preformat_cont(&self) -> Number {
        Number::default()
    }

    fn decorate_image(&mut self, _: &str, _: &str) -> (String, Number) {
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

    fn finalise(&mut self, _: Vec<String>) -> Vec<TaggedLine<Number>> {
        Vec::new()
    }
}
