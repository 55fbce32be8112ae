//! The marks and numbers of list items.

use crate::render::judge::{ListStyle, Style};
use crate::render::read::{Id, Tree};

/// What stands in front of a list item, its blank included.
pub(super) fn item_mark(tree: &Tree, id: Id, style: &Style) -> String {
    let value = |id: Id, name: &str| tree.attribute(id, name).and_then(|text| text.trim().parse::<i32>().ok());
    if style.list == ListStyle::Disc {
        return "• ".to_owned();
    }
    let mut number = 1_i32;
    let mut at = Some(id);
    // Counting back to the last number that was set; a list of thousands is counted in part.
    for _ in 0..2_000 {
        let Some(here) = at else { break };
        if let Some(set) = value(here, "value") {
            number = number.saturating_add(set - 1);
            break;
        }
        let mut before = tree.node(here).previous;
        while let Some(other) = before
            && tree.name(other) != "li"
        {
            before = tree.node(other).previous;
        }
        if before.is_some() {
            number = number.saturating_add(1);
        } else if let Some(start) = tree.node(id).parent.and_then(|list| value(list, "start")) {
            number = number.saturating_add(start.saturating_sub(1));
        }
        at = before;
    }
    match (style.list, u32::try_from(number - 1)) {
        (ListStyle::Alpha, Ok(index)) if index < 26 => format!("{}. ", char::from_u32(u32::from('a') + index).unwrap_or('a')),
        _ => format!("{number}. "),
    }
}
