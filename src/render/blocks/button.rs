//! Detects links that look like buttons.

use super::builder::BlockBuilder;
use crate::render::css::{ComputedStyle, Display, LEFT, Length, Rgba, TOP};
use crate::render::html::NodeId;

/// A link with more letters is not a button.
const MAX_LETTERS: u32 = 60;

/// A wider box around a link is a section of the page.
const MAX_WIDTH_PX: f32 = 480.0;

/// Boxes inside of a link, and around it, that may be drawn as the button.
const MAX_NESTED_BOXES: usize = 8;

/// Cells beside a link, and elements in them, that tell whether it is a value.
const MAX_EXAMINED_NODES: usize = 16;

impl BlockBuilder<'_> {
    /// Returns the element whose content is the label of a link that looks like a
    /// button.
    ///
    /// The link, a box inside of it, or a box around it is filled or framed, and has no other text.
    /// A link with several blocks or with pictures is a card.
    pub(super) fn button_label(&self, link: NodeId, available_width: f32) -> Option<NodeId> {
        let letters = self.info.letter_counts[link.index()];
        if letters == 0 || letters > MAX_LETTERS {
            return None;
        }
        let is_filled = |id: NodeId| self.is_prominent(id, available_width);
        let has_all_letters = |id: &NodeId| self.info.letter_counts[id.index()] == letters;
        let is_line = |id: NodeId| {
            let is_row = matches!(self.styles[id].display, Display::Row | Display::RowGroup);
            let has_break = || {
                self.nodes_inside(id)
                    .any(|id| self.dom.tag_name(id) == "br")
            };
            !(is_row || self.info.contains_block[id.index()] || has_break())
        };
        let mut filled = false;
        let mut label = link;
        let mut inside = Some(link);
        for _ in 0..=MAX_NESTED_BOXES {
            let Some(id) = inside else { break };
            if !is_line(label) {
                label = id;
            }
            filled |= is_filled(id);
            let mut children = self.dom.children(id).filter(|id| self.dom.is_element(*id));
            inside = children.find(has_all_letters);
        }
        if !self.info.contains_block[link.index()] {
            label = if is_line(label) { label } else { link };
        } else if !is_line(label) || !self.images_in(link).is_empty() {
            return None;
        }
        let is_heading = |id: &NodeId| matches!(self.dom.tag_name(*id), "h1" | "h2" | "h3");
        let around = self.dom.ancestors(link);
        let around = around.take_while(|id| has_all_letters(id) && !is_heading(id));
        let is_box = |id: &NodeId| {
            let display = self.styles[*id].display;
            !matches!(display, Display::Row | Display::RowGroup)
        };
        let mut boxes = around.filter(is_box).take(MAX_NESTED_BOXES).enumerate();
        filled |= boxes.any(|(level, id)| {
            let is_section = (level > 1 && !self.images_in(id).is_empty())
                || (level > 2 && self.is_section(id, letters));
            is_filled(id) && !is_section
        });
        filled.then_some(label)
    }

    /// True for a box that is too large for a button with so many letters.
    fn is_section(&self, id: NodeId, letters: u32) -> bool {
        let style = &self.styles[id];
        let is_wide = match style.width {
            Length::Px(px) => px > MAX_WIDTH_PX,
            Length::Percent(share) => share >= 1.0,
            // A block is as wide as the page; a table is as wide as its text.
            _ => style.display == Display::Block && !style.is_floated(),
        };
        let is_long = letters > MAX_LETTERS / 2 && style.display != Display::InlineBlock;
        is_wide || is_long
    }

    /// True if a box is filled or framed like a button.
    fn is_prominent(&self, id: NodeId, available_width: f32) -> bool {
        let Some(parent) = self.dom.node(id).parent else {
            return false;
        };
        let style: &ComputedStyle = &self.styles[id];
        let background = self.background_of(parent);
        let is_filled = style
            .background
            .visible()
            .is_some_and(|colour| colour.alpha > 0.3 && colour.distance(background) > 30)
            || style.background_image;
        let is_framed = style.border_visible.iter().all(|on| *on)
            && style.border_width[0] >= 1.0
            && !(style.display == Display::Cell && self.is_beside_text(id));
        let is_padded = style.padding_and_border(LEFT, available_width) >= 5.0
            || style.padding_and_border(TOP, available_width) >= 5.0;
        (is_filled || is_framed) && (is_padded || style.display != Display::Inline)
    }

    /// True for a cell beside another with borders that has a text and no link, such as a
    /// label.
    fn is_beside_text(&self, cell: NodeId) -> bool {
        let row = self.dom.node(cell).parent;
        let cells = row.into_iter().flat_map(|row| self.dom.children(row));
        let is_text = |id: NodeId| {
            let mut inside = self.nodes_inside(id).take(MAX_EXAMINED_NODES);
            self.info.letter_counts[id.index()] > 0
                && self.styles[id].border_visible.iter().all(|on| *on)
                && inside.all(|id| self.dom.tag_name(id) != "a")
        };
        cells
            .take(MAX_EXAMINED_NODES)
            .any(|id| id != cell && is_text(id))
    }

    /// Returns the background colour of an element or of what is behind it.
    fn background_of(&self, id: NodeId) -> Rgba {
        let elements = std::iter::once(id).chain(self.dom.ancestors(id)).take(64);
        let mut colours = elements.filter_map(|id| self.styles[id].background.visible());
        let opaque = colours.find(|colour| colour.alpha > 0.5);
        opaque.unwrap_or(Rgba::WHITE)
    }
}
