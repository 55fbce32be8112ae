//! One look at the whole tree before it is walked: which elements hold words, and which hold blocks.

use crate::render::judge::{Display, Style};
use crate::render::read::{Data, Id, Tree};

/// What is inside each node, by its index.
pub(super) struct Survey {
    /// Letters that are shown.
    pub(super) letters: Vec<u32>,
    /// Whether a block is inside, so that it cannot stand in a line of text.
    pub(super) blocks: Vec<bool>,
}

impl Survey {
    pub(super) fn of(tree: &Tree, styles: &[Style]) -> Self {
        let mut survey = Self {
            letters: vec![0; tree.len()],
            blocks: vec![false; tree.len()],
        };
        // Whether a line ends inside: a box of several lines cannot stand in a line of text either.
        let mut breaks = vec![false; tree.len()];
        let order: Vec<Id> = tree.walk().collect();
        for id in order.into_iter().rev() {
            let style = &styles[id.index()];
            match &tree.node(id).data {
                Data::Text(text) => {
                    let tiny = tree
                        .node(id)
                        .parent
                        .is_some_and(|parent| styles[parent.index()].font <= super::TINY);
                    if tiny {
                        continue;
                    }
                    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
                    survey.letters[id.index()] = u32::try_from(letters).unwrap_or(u32::MAX);
                }
                Data::Element { .. } if style.display == Display::None => {
                    survey.letters[id.index()] = 0;
                    survey.blocks[id.index()] = false;
                    continue;
                }
                Data::Element { .. } | Data::Other => {}
            }
            breaks[id.index()] |= tree.name(id) == "br";
            survey.blocks[id.index()] |=
                breaks[id.index()] && style.display == Display::InlineBlock;
            if let Some(parent) = tree.node(id).parent {
                breaks[parent.index()] |= breaks[id.index()] && !style.is_block();
                let sum = survey.letters[parent.index()].saturating_add(survey.letters[id.index()]);
                survey.letters[parent.index()] = sum;
                survey.blocks[parent.index()] |=
                    survey.blocks[id.index()] || (!tree.name(id).is_empty() && style.is_block());
            }
        }
        survey
    }
}
