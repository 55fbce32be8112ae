//! One look at the whole tree before it is walked: which elements hold words, and which hold blocks.

use crate::render::css::{ComputedStyle, Display};
use crate::render::html::{Dom, NodeData, NodeId};

/// What is inside each node, by its index.
pub(super) struct ElementInfo {
    /// Letters that are shown.
    pub(super) letter_counts: Vec<u32>,
    /// Whether a block is inside, so that it cannot stand in a line of text.
    pub(super) contains_block: Vec<bool>,
}

impl ElementInfo {
    pub(super) fn collect(tree: &Dom, styles: &[ComputedStyle]) -> Self {
        let mut survey = Self {
            letter_counts: vec![0; tree.len()],
            contains_block: vec![false; tree.len()],
        };
        // Whether a line ends inside: a box of several lines cannot stand in a line of text either.
        let mut breaks = vec![false; tree.len()];
        let order: Vec<NodeId> = tree.nodes().collect();
        for id in order.into_iter().rev() {
            let style = &styles[id.index()];
            match &tree.node(id).data {
                NodeData::Text(text) => {
                    let tiny = tree.node(id).parent.is_some_and(|parent| {
                        styles[parent.index()].font_size <= super::TINY_FONT_PX
                    });
                    if tiny {
                        continue;
                    }
                    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
                    survey.letter_counts[id.index()] = u32::try_from(letters).unwrap_or(u32::MAX);
                }
                NodeData::Element { .. } if style.display == Display::None => {
                    survey.letter_counts[id.index()] = 0;
                    survey.contains_block[id.index()] = false;
                    continue;
                }
                NodeData::Element { .. } | NodeData::Other => {}
            }
            breaks[id.index()] |= tree.tag_name(id) == "br";
            survey.contains_block[id.index()] |=
                breaks[id.index()] && style.display == Display::InlineBlock;
            if let Some(parent) = tree.node(id).parent {
                breaks[parent.index()] |= breaks[id.index()] && !style.is_block();
                let sum = survey.letter_counts[parent.index()]
                    .saturating_add(survey.letter_counts[id.index()]);
                survey.letter_counts[parent.index()] = sum;
                survey.contains_block[parent.index()] |= survey.contains_block[id.index()]
                    || (!tree.tag_name(id).is_empty() && style.is_block());
            }
        }
        survey
    }
}
