//! Items of a TOML document as the types that settings have; an error is a message for the user.

use toml_edit::{Item, Key, TableLike};

pub(super) fn entries(table: &dyn TableLike) -> Vec<(&Key, &Item)> {
    let names = table.iter().map(|(name, _)| name);
    names.filter_map(|name| table.get_key_value(name)).collect()
}

pub(super) fn as_text(item: &Item) -> Result<&str, String> {
    item.as_str().ok_or("expected a text in quotes".to_owned())
}

/// Returns a trimmed text that is not empty, on one line.
pub(super) fn as_line(item: &Item) -> Result<String, String> {
    let text = as_text(item)?.trim();
    if text.is_empty() || text.contains(char::is_control) {
        return Err("a text on one line belongs here".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn as_table(item: &Item) -> Result<&dyn TableLike, &'static str> {
    item.as_table_like().ok_or("expected a table")
}
