//! An html part, read, judged and rebuilt: ready to be laid out at any width.

use super::body::{Body, Note};
use super::rebuild::{self, Rebuilt};
use super::{judge, lay, notes, read};

/// An html part as plain blocks.
#[derive(Debug)]
pub(super) struct Page {
    rebuilt: Rebuilt,
    pub(super) notes: Vec<Note>,
}

impl Page {
    pub(super) fn new(html: &str) -> Self {
        let page = read::read(html);
        let styles = judge::judge(&page.tree);
        let rebuilt = rebuild::rebuild(&page.tree, &styles);
        let mut notes: Vec<Note> = page.cuts.iter().map(|cut| notes::cut(cut)).collect();
        if rebuilt.cut {
            notes.push(notes::cut("it has too many paragraphs"));
        }
        notes.extend(notes::trackers(&rebuilt.trackers));
        notes.extend(notes::attached(&rebuilt.attached));
        if rebuilt.removed > 0 {
            notes.push(notes::removed(rebuilt.removed));
        }
        Self { rebuilt, notes }
    }

    /// Whether nothing of it can be seen.
    pub(super) fn is_empty(&self) -> bool {
        self.rebuilt.blocks.is_empty()
    }

    /// All words that are seen.
    pub(super) fn words(&self) -> String {
        let mut words = String::new();
        for block in &self.rebuilt.blocks {
            block.runs().for_each(|run| words.push_str(&run.text));
            words.push('\n');
        }
        words
    }

    pub(super) fn at(&self, width: usize) -> Body {
        Body {
            lines: lay::lay(&self.rebuilt.blocks, width),
            links: self.rebuilt.links.clone(),
            notes: Vec::new(),
        }
    }
}
