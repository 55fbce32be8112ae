//! Raises and lowers digits: exponents, footnote signs, the cents of a price.

use std::borrow::Cow;

use super::builder::BlockBuilder;
use super::signs::{SUBSCRIPTS, SUPERSCRIPTS, raise_digits};
use crate::render::css::{BOTTOM, Display, Length, TOP, VerticalAlign};
use crate::render::html::NodeId;

/// Elements around a text that may raise it.
const MAX_LEVELS: usize = 4;

/// Longer texts are not raised by their style.
const MAX_RAISED_LETTERS: u32 = 3;

impl BlockBuilder<'_> {
    /// Returns a text with its digits raised or lowered, if the page shows them so.
    ///
    /// Of a text with other signs, only digits that continue a number are.
    pub(super) fn shift_digits<'t>(&self, text: Cow<'t, str>, parent: NodeId) -> Cow<'t, str> {
        let before = self.line.char_before();
        let before = before.filter(|_| !text.starts_with(|c: char| c.is_ascii_whitespace()));
        let is_number = before.is_some_and(|c| c.is_ascii_digit());
        let above = std::iter::once(parent).chain(self.dom.ancestors(parent));
        let forms = |id| Some((id, self.shifted_forms(id, before.is_some())?));
        let written = text.trim_ascii();
        let are_cents = is_number
            && written.len() == 2
            && written.bytes().all(|c| c.is_ascii_digit())
            && self.is_smaller(parent);
        let Some((id, forms)) = above
            .take(MAX_LEVELS)
            .find_map(forms)
            .or(are_cents.then_some((parent, SUPERSCRIPTS)))
        else {
            return text;
        };
        let mut inside = self.nodes_inside(id).filter_map(|id| self.dom.text(id));
        let has_other = inside.any(|text| raise_digits(text, forms).is_none());
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let end = match has_other {
            true if is_number => digits,
            true => 0,
            false => text.len(),
        };
        match raise_digits(&text[..end], forms) {
            Some(raised) => (raised + &text[end..]).into(),
            None => text,
        }
    }

    /// Returns the forms of the digits in an element that is above or below its line.
    ///
    /// A box at the top of its line is, if it is small and directly behind a text.
    fn shifted_forms(&self, id: NodeId, is_behind: bool) -> Option<&'static str> {
        let style = &self.styles[id];
        let is_inline = matches!(style.display, Display::Inline | Display::InlineBlock)
            && self.info.letter_counts[id.index()] <= MAX_RAISED_LETTERS;
        let px = |length: Length| style.px(length, 0.0).unwrap_or(0.0);
        let offset = px(style.offsets[TOP]) - px(style.offsets[BOTTOM]);
        let is_raised = style.vertical_align == VerticalAlign::Top
            || (style.relatively_positioned && offset < 0.0);
        match (self.dom.tag_name(id), style.vertical_align) {
            ("sup", _) => Some(SUPERSCRIPTS),
            ("sub", _) => Some(SUBSCRIPTS),
            _ if !is_inline => None,
            (_, VerticalAlign::Super) => Some(SUPERSCRIPTS),
            (_, VerticalAlign::Sub) => Some(SUBSCRIPTS),
            _ if is_raised && is_behind && self.is_smaller(id) => Some(SUPERSCRIPTS),
            _ => None,
        }
    }

    /// True if the text of an element is smaller than what is around or before it.
    fn is_smaller(&self, id: NodeId) -> bool {
        let style = &self.styles[id];
        let parent = self.dom.node(id).parent.unwrap_or(NodeId::ROOT);
        let before = self.line.glyph_heights.map_or(0.0, |(_, last)| last);
        style.font_size < self.styles[parent].font_size || style.glyph_height() < before
    }
}
