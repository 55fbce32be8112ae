//! Rebuilds what is seen of a page as plain blocks, each with the place it had on the page.
//!
//! The walk lays the page out as far as it must be known how far apart things are: widths are
//! guessed from the letters, heights are added up with the rules of browsers for margins, padding
//! and lines. Where two blocks are a finger's breadth apart on the page, a blank line keeps them
//! apart on the terminal.

mod block;
mod boxes;
mod flow;
mod items;
mod line;
mod picture;
mod survey;
mod table;
mod walk;

pub(in crate::render) use block::{Block, Cell, Kind, Lead, Para, Run};

use std::collections::HashMap;

use super::body::{Link, Role};
use super::judge::Style;
use super::links;
use super::read::{Id, Tree};

/// Letters of this size in pixels cannot be read by anybody.
const TINY: f32 = 2.0;

/// More text than is worth showing, in blocks.
const MAX_BLOCKS: usize = 30_000;

/// A page as blocks.
#[derive(Debug, Default)]
pub(in crate::render) struct Rebuilt {
    pub(in crate::render) blocks: Vec<Block>,
    pub(in crate::render) links: Vec<Link>,
    /// Hosts of pictures that are too small to be seen, in order, one for each picture.
    pub(in crate::render) trackers: Vec<String>,
    /// Names of pictures that travel with the email.
    pub(in crate::render) attached: Vec<String>,
    /// Characters that were taken out of the text in cleaning.
    pub(in crate::render) removed: usize,
    /// There was more than is worth showing.
    pub(in crate::render) cut: bool,
}

/// Rebuilds the page.
pub(in crate::render) fn rebuild(tree: &Tree, styles: &[Style]) -> Rebuilt {
    let mut walk = walk::Walk::new(tree, styles);
    walk.node(Id::ROOT, walk::Around::page());
    let (mut rebuilt, targets) = walk.finish();
    number_links(&mut rebuilt, &targets);
    rebuilt
}

/// Numbers links in the order in which they are read, each target once, under the first words it is on.
fn number_links(rebuilt: &mut Rebuilt, targets: &[String]) {
    let mut numbers: HashMap<u16, u16> = HashMap::new();
    let mut named: Vec<Named> = Vec::new();
    let mut last = None;
    for block in &mut rebuilt.blocks {
        for run in block.runs_mut() {
            let Some(target) = run.mark.link else {
                last = None;
                continue;
            };
            let next = u16::try_from(named.len()).unwrap_or(u16::MAX);
            let number = *numbers.entry(target).or_insert(next);
            if number == next {
                named.push(Named {
                    target,
                    words: String::new(),
                    picture: true,
                });
            }
            named[usize::from(number)].add(run, last == Some(number));
            run.mark.link = Some(number);
            last = Some(number);
        }
        if let Some(name) = last.and_then(|last| named.get_mut(usize::from(last))) {
            name.words.push(' ');
        }
    }
    rebuilt.links = named
        .into_iter()
        .map(|name| links::link(&name.words, &targets[usize::from(name.target)]))
        .collect();
}

/// A link and the words it is known by.
struct Named {
    target: u16,
    words: String,
    /// The words stand for a picture; real ones are better.
    picture: bool,
}

impl Named {
    fn add(&mut self, run: &Run, goes_on: bool) {
        let picture = run.mark.role == Role::Image;
        if self.picture && !picture {
            self.words.clear();
            self.picture = false;
        } else if self.picture != picture || !(goes_on || self.words.is_empty()) {
            return;
        }
        if self.words.len() < 200 {
            let framed = matches!(run.mark.role, Role::Image | Role::Button);
            let frame = |c: char| framed && matches!(c, '[' | ']');
            self.words.push_str(run.text.trim_matches(frame));
        }
    }
}
