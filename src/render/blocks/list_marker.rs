//! The marks and numbers of list items.

use crate::render::css::ListStyle;
use crate::render::html::NodeId;

use super::builder::BlockBuilder;

impl BlockBuilder<'_> {
    /// What stands in front of a list item, its blank included. Items are numbered as they come.
    pub(super) fn list_marker(&mut self, id: NodeId, style: ListStyle) -> String {
        if style == ListStyle::Disc {
            return "• ".to_owned();
        }
        let list = self.dom.node(id).parent.unwrap_or(NodeId::ROOT);
        let said = |id: NodeId, name: &str| {
            self.dom
                .attribute(id, name)
                .and_then(|text| text.trim().parse::<i32>().ok())
        };
        let next = || {
            self.list_numbers.get(&list).map_or_else(
                || said(list, "start").unwrap_or(1),
                |last| last.saturating_add(1),
            )
        };
        let number = said(id, "value").unwrap_or_else(next);
        self.list_numbers.insert(list, number);
        match (style, u32::try_from(number.saturating_sub(1))) {
            (ListStyle::Alpha, Ok(index)) if index < 26 => format!(
                "{}. ",
                char::from_u32(u32::from('a') + index).unwrap_or('a')
            ),
            _ => format!("{number}. "),
        }
    }
}
