//! An html part, read, judged and rebuilt: ready to be laid out at any width.

use super::body::{Body, Note};
use super::text::Text;
use super::{notes, read};

/// An html part as plain blocks.
#[derive(Debug)]
pub(super) struct Page {
    text: Text,
    pub(super) notes: Vec<Note>,
}

impl Page {
    pub(super) fn new(html: &str) -> Self {
        let page = read::read(html);
        let words: String = page.tree.walk().map(|id| page.tree.text_of(id)).collect();
        Self { text: Text::new(&crate::mail::clean::block(&words)), notes: page.cuts.iter().map(|cut| notes::cut(cut)).collect() }
    }

    pub(super) fn words(&self) -> String {
        String::new()
    }

    pub(super) fn at(&self, width: usize) -> Body {
        self.text.at(width)
    }
}
