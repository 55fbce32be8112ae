//! Rebuilds what is seen of a page as plain blocks, each with the place it had on the page.
//!
//! The walk lays the page out as far as it must be known how far apart things are: widths are
//! guessed from the letters, heights are added up with the rules of browsers for margins, padding
//! and lines. Where two blocks are a finger's breadth apart on the page, a blank line keeps them
//! apart on the terminal.

mod block;
mod boxes;
mod builder;
mod cursor;
mod element_info;
mod image;
mod inline;
mod list_marker;
mod table;

pub(in crate::render) use block::{Block, BlockKind, LinePrefix, Paragraph, Run, TableCell};

use std::collections::HashMap;

use super::body::{Link, SpanRole};
use super::css::ComputedStyle;
use super::html::{Dom, NodeId};
use super::links;

/// Letters of this size in pixels cannot be read by anybody.
const TINY_FONT_PX: f32 = 2.0;

/// More text than is worth showing, in blocks.
const MAX_BLOCKS: usize = 30_000;

/// A page as blocks.
#[derive(Debug, Default)]
pub(in crate::render) struct BlockContent {
    pub(in crate::render) blocks: Vec<Block>,
    pub(in crate::render) links: Vec<Link>,
    /// Hosts of pictures that are too small to be seen, in order, one for each picture.
    pub(in crate::render) trackers: Vec<String>,
    /// Names of pictures that travel with the email.
    pub(in crate::render) attachments: Vec<String>,
    /// Characters that were taken out of the text in cleaning.
    pub(in crate::render) sanitized_chars: usize,
    /// There was more than is worth showing.
    pub(in crate::render) truncated: bool,
}

/// Rebuilds the page.
pub(in crate::render) fn build_blocks(tree: &Dom, styles: &[ComputedStyle]) -> BlockContent {
    let mut walk = builder::BlockBuilder::new(tree, styles);
    walk.visit_node(NodeId::ROOT, builder::LayoutContext::root());
    let (mut rebuilt, targets) = walk.finish();
    number_links(&mut rebuilt, &targets);
    rebuilt
}

/// Numbers links in the order in which they are read, each target once, under the first words it is on.
fn number_links(rebuilt: &mut BlockContent, targets: &[String]) {
    let mut numbers: HashMap<u16, u16> = HashMap::new();
    let mut named: Vec<NamedLink> = Vec::new();
    let mut last = None;
    for block in &mut rebuilt.blocks {
        for run in block.runs_mut() {
            let Some(target) = run.style.link else {
                last = None;
                continue;
            };
            let next = u16::try_from(named.len()).unwrap_or(u16::MAX);
            let number = *numbers.entry(target).or_insert(next);
            if number == next {
                named.push(NamedLink {
                    target,
                    text: String::new(),
                    from_image: true,
                });
            }
            named[usize::from(number)].push_run(run, last == Some(number));
            run.style.link = Some(number);
            last = Some(number);
        }
        if let Some(name) = last.and_then(|last| named.get_mut(usize::from(last))) {
            name.text.push(' ');
        }
    }
    rebuilt.links = named
        .into_iter()
        .map(|name| links::inspect_link(&name.text, &targets[usize::from(name.target)]))
        .collect();
}

/// A link and the words it is known by.
struct NamedLink {
    target: u16,
    text: String,
    /// The words stand for a picture; real ones are better.
    from_image: bool,
}

impl NamedLink {
    fn push_run(&mut self, run: &Run, goes_on: bool) {
        let picture = run.style.role == SpanRole::Image;
        if self.from_image && !picture {
            self.text.clear();
            self.from_image = false;
        } else if self.from_image != picture || !(goes_on || self.text.is_empty()) {
            return;
        }
        if self.text.len() < 200 {
            let framed = matches!(run.style.role, SpanRole::Image | SpanRole::Button);
            let frame = |c: char| framed && matches!(c, '[' | ']');
            self.text.push_str(run.text.trim_matches(frame));
        }
    }
}
