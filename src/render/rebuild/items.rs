//! The marks and numbers of list items.

use crate::render::judge::ListStyle;
use crate::render::read::Id;

use super::walk::Walk;

impl Walk<'_> {
    /// What stands in front of a list item, its blank included. Items are numbered as they come.
    pub(super) fn item_mark(&mut self, id: Id, style: ListStyle) -> String {
        if style == ListStyle::Disc {
            return "• ".to_owned();
        }
        let list = self.tree.node(id).parent.unwrap_or(Id::ROOT);
        let said = |id: Id, name: &str| {
            self.tree
                .attribute(id, name)
                .and_then(|text| text.trim().parse::<i32>().ok())
        };
        let next = || {
            self.numbers.get(&list).map_or_else(
                || said(list, "start").unwrap_or(1),
                |last| last.saturating_add(1),
            )
        };
        let number = said(id, "value").unwrap_or_else(next);
        self.numbers.insert(list, number);
        match (style, u32::try_from(number.saturating_sub(1))) {
            (ListStyle::Alpha, Ok(index)) if index < 26 => format!(
                "{}. ",
                char::from_u32(u32::from('a') + index).unwrap_or('a')
            ),
            _ => format!("{number}. "),
        }
    }
}
