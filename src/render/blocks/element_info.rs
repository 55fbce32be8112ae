//! Facts about the content of each element, collected before the walk.

use std::collections::HashMap;

use super::visibility::find_layered_elements;
use crate::render::css::{ComputedStyle, Display, ROOT_FONT_SIZE, Styles};
use crate::render::html::{Dom, NodeData, NodeId};

/// Text of this font size or less is invisible.
pub(super) const TINY_FONT_PX: f32 = 2.0;

/// Letters behind these in one text are not counted.
const MAX_COUNTED_CHARS: usize = 100_000;

/// Facts about the content of each node, by its index, collected before the walk.
pub(super) struct ElementInfo {
    /// Number of visible letters and digits.
    pub(super) letter_counts: Vec<u32>,
    /// True if a block is inside, so that the element cannot be part of a line.
    pub(super) contains_block: Vec<bool>,
    /// The font size of most letters, in pixels.
    pub(super) usual_font_px: f32,
    /// True if something out of the flow may be behind its text.
    pub(super) is_layered: Vec<bool>,
}

impl ElementInfo {
    pub(super) fn collect(dom: &Dom, styles: &Styles) -> Self {
        let mut letter_counts = vec![0_u32; dom.len()];
        let mut contains_block = vec![false; dom.len()];
        // A box of several lines cannot be part of a line either.
        let mut breaks = vec![false; dom.len()];
        let mut letters_by_size: HashMap<u32, u32> = HashMap::new();
        let order: Vec<NodeId> = dom.nodes().collect();
        for id in order.into_iter().rev() {
            let index = id.index();
            let style = &styles[id];
            let parent = dom.node(id).parent;
            match &dom.node(id).data {
                NodeData::Text(text) => {
                    // Style sheets and titles are not read either.
                    let is_unread = |style: &ComputedStyle| {
                        style.font_size <= TINY_FONT_PX || style.display == Display::None
                    };
                    if parent.is_some_and(|parent| is_unread(&styles[parent])) {
                        continue;
                    }
                    let chars = text.chars().take(MAX_COUNTED_CHARS);
                    let letters = chars.filter(|c| c.is_alphanumeric()).count();
                    letter_counts[index] = u32::try_from(letters).unwrap_or(u32::MAX);
                    if let Some(parent) = parent {
                        let size = letters_by_size.entry(styles[parent].font_size.to_bits());
                        let count = size.or_default();
                        *count = count.saturating_add(letter_counts[index]);
                    }
                }
                NodeData::Element { .. } if style.display == Display::None => {
                    letter_counts[index] = 0;
                    contains_block[index] = false;
                    continue;
                }
                NodeData::Element { .. } | NodeData::Other => {}
            }
            let name = dom.tag_name(id);
            breaks[index] |= name == "br";
            contains_block[index] |= breaks[index] && style.display == Display::InlineBlock;
            if let Some(parent) = parent.map(NodeId::index) {
                breaks[parent] |= breaks[index] && !style.is_block();
                letter_counts[parent] = letter_counts[parent].saturating_add(letter_counts[index]);
                contains_block[parent] |=
                    contains_block[index] || (!name.is_empty() && style.is_block());
            }
        }
        Self {
            letter_counts,
            contains_block,
            usual_font_px: letters_by_size
                .into_iter()
                .max_by_key(|(size, count)| (*count, *size))
                .map_or(ROOT_FONT_SIZE, |(size, _)| f32::from_bits(size)),
            is_layered: find_layered_elements(dom, styles),
        }
    }
}
