//! Custom properties, and the replacement of `var()` by their values.
//!
//! Custom properties are not inherited from element to element here. A value is known if the whole
//! document gives a property one value, on its root or beside its use. Every other value is
//! unknown, because a guess could hide text.

use std::cell::Cell;
use std::collections::HashMap;

/// Nested `var()` after these make a value unknown.
const MAX_DEPTH: usize = 8;

/// Bytes of all values that are substituted in a document, plus one for each value.
const MAX_BYTES: usize = 1 << 20;

/// Bytes of one value after substitution.
const MAX_VALUE_BYTES: usize = 2 << 10;

/// The custom properties of one block, with their values as written.
pub(super) type CustomProperties = Vec<(String, String)>;

/// The custom properties of a document.
pub(super) struct Variables {
    values: HashMap<String, Variable>,
    bytes_left: Cell<usize>,
}

struct Variable {
    /// `None` if the document has several values.
    value: Option<String>,
    is_on_root: bool,
}

/// Why a value has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubstitutionError {
    /// A property is not set, so the declaration sets the initial or inherited value.
    Invalid,
    Unknown,
}

impl Default for Variables {
    fn default() -> Self {
        Self {
            values: HashMap::new(),
            bytes_left: Cell::new(MAX_BYTES),
        }
    }
}

impl Variables {
    /// Adds the custom properties of a block; all inherit them if `is_on_root`.
    pub(super) fn declare(&mut self, block: CustomProperties, is_on_root: bool) {
        for (name, value) in block {
            let known = self.values.entry(name).or_insert_with(|| Variable {
                value: Some(value.clone()),
                is_on_root,
            });
            known.is_on_root |= is_on_root;
            known.value.take_if(|known| *known != value);
        }
    }

    /// Replaces each `var()` in a value of a block that declares `own`.
    pub(super) fn substitute(
        &self,
        value: &str,
        own: &CustomProperties,
    ) -> Result<String, SubstitutionError> {
        let mut out = String::new();
        self.write(value, own, MAX_DEPTH, &mut out)?;
        Ok(out)
    }

    fn write(
        &self,
        value: &str,
        own: &CustomProperties,
        depth: usize,
        out: &mut String,
    ) -> Result<(), SubstitutionError> {
        let mut rest = value;
        while let Some(start) = find_var(rest) {
            out.push_str(&rest[..start]);
            let (arguments, after) =
                split_block(&rest[start + 4..]).ok_or(SubstitutionError::Invalid)?;
            rest = after;
            let (name, fallback) = match arguments.split_once(',') {
                Some((name, fallback)) => (name, Some(fallback)),
                None => (arguments, None),
            };
            let depth = depth.checked_sub(1).ok_or(SubstitutionError::Unknown)?;
            let found = self.value(name.trim(), own);
            match (found, fallback) {
                (Ok(value), _) => self.write(value, own, depth, out)?,
                (Err(SubstitutionError::Invalid), Some(fallback)) => {
                    self.write(fallback, own, depth, out)?;
                }
                (Err(error), _) => return Err(error),
            }
            if out.len() > MAX_VALUE_BYTES {
                return Err(SubstitutionError::Unknown);
            }
        }
        out.push_str(rest);
        Ok(())
    }

    fn value<'a>(
        &'a self,
        name: &str,
        own: &'a CustomProperties,
    ) -> Result<&'a str, SubstitutionError> {
        let known = self.values.get(name).ok_or(SubstitutionError::Invalid)?;
        let is_in_scope = known.is_on_root || own.iter().any(|(own, _)| own == name);
        let value = known.value.as_deref().filter(|_| is_in_scope);
        let cost = 1 + value.map_or(0, str::len);
        let left = self.bytes_left.get().checked_sub(cost);
        self.bytes_left.set(left.unwrap_or(0));
        value
            .filter(|_| left.is_some())
            .ok_or(SubstitutionError::Unknown)
    }
}

/// Returns where the first `var(` starts.
pub(super) fn find_var(text: &str) -> Option<usize> {
    let mut windows = text.as_bytes().windows(4);
    windows.position(|window| window.eq_ignore_ascii_case(b"var("))
}

/// Splits `text` at the bracket that closes the one before it.
fn split_block(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1_usize;
    let end = text.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(blocks: &[(&str, &str, bool)]) -> Variables {
        let mut all = Variables::default();
        for (name, value, is_on_root) in blocks {
            let block = vec![((*name).to_owned(), (*value).to_owned())];
            all.declare(block, *is_on_root);
        }
        all
    }

    #[test]
    fn values_come_from_root_block_or_fallback() {
        let all = variables(&[("--a", "red", true), ("--b", "var(--a) solid", false)]);
        let own = vec![("--b".to_owned(), String::new())];
        for (written, value) in [
            ("1px VAR( --b )", Ok("1px red solid")),
            ("var(--c, var(--d, rgb(1, 2, 3)))", Ok("  rgb(1, 2, 3)")),
            ("var(--c)", Err(SubstitutionError::Invalid)),
        ] {
            let expected = value.map(str::to_owned);
            assert_eq!(all.substitute(written, &own), expected);
        }
    }

    #[test]
    fn values_out_of_scope_or_ambiguous_are_unknown() {
        let elsewhere = variables(&[("--a", "red", false)]);
        let several = variables(&[("--a", "red", true), ("--a", "blue", false)]);
        for all in [elsewhere, several] {
            let value = all.substitute("var(--a, lime)", &Vec::new());
            assert_eq!(value, Err(SubstitutionError::Unknown));
        }
    }

    #[test]
    fn nested_values_are_limited() {
        let circle = variables(&[("--a", "var(--b)", true), ("--b", "var(--a)", true)]);
        let doubled = variables(&[
            ("--a", &"var(--b)".repeat(100), true),
            ("--b", &"x".repeat(100), true),
        ]);
        for all in [circle, doubled] {
            let value = all.substitute("var(--a)", &Vec::new());
            assert_eq!(value, Err(SubstitutionError::Unknown));
        }
    }
}
