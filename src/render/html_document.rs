//! An html part, read, judged and rebuilt: ready to be laid out at any width.

use super::blocks::{self, BlockContent};
use super::body::{Body, BodyNotice};
use super::{css, html, layout, notices};

/// An html part as plain blocks.
#[derive(Debug)]
pub(super) struct HtmlDocument {
    content: BlockContent,
    pub(super) notices: Vec<BodyNotice>,
}

impl HtmlDocument {
    pub(super) fn parse(html: &str) -> Self {
        let page = html::parse(html);
        let styles = css::compute_styles(&page.dom);
        let rebuilt = blocks::build_blocks(&page.dom, &styles);
        let mut notes: Vec<BodyNotice> = page
            .truncations
            .iter()
            .map(|cut| notices::truncated(cut))
            .collect();
        if rebuilt.truncated {
            notes.push(notices::truncated("it has too many paragraphs"));
        }
        notes.extend(notices::trackers(&rebuilt.trackers));
        notes.extend(notices::attachments(&rebuilt.attachments));
        if rebuilt.sanitized_chars > 0 {
            notes.push(notices::sanitized(rebuilt.sanitized_chars));
        }
        Self {
            content: rebuilt,
            notices: notes,
        }
    }

    /// Whether nothing of it can be seen.
    pub(super) fn is_empty(&self) -> bool {
        self.content.blocks.is_empty()
    }

    /// All words that are seen.
    pub(super) fn visible_text(&self) -> String {
        let mut words = String::new();
        for block in &self.content.blocks {
            block.runs().for_each(|run| words.push_str(&run.text));
            words.push('\n');
        }
        words
    }

    pub(super) fn lay_out(&self, width: usize) -> Body {
        Body {
            lines: layout::lay_out_blocks(&self.content.blocks, width),
            links: self.content.links.clone(),
            notices: Vec::new(),
        }
    }
}
