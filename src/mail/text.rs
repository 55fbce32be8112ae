//! `Shown`: one line of foreign text that has been cleaned, as a type, so that it cannot be skipped.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::text::sanitize;

/// One line of text that is safe to draw. The only way to make one is to clean something.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct SafeText(Arc<str>);

impl SafeText {
    /// Cleans `text` for one line ([`clean::line`]).
    #[must_use]
    pub(crate) fn new(text: &str) -> Self {
        Self(Arc::from(&*sanitize::sanitize_line(text)))
    }

    /// Cuts it to so many characters, the last of which is an ellipsis then.
    pub(super) fn truncate(&mut self, most: usize) {
        // Whatever is no longer in bytes is no longer in characters.
        if self.0.len() > most
            && let Some((end, _)) = self
                .0
                .char_indices()
                .nth(most - 1)
                .filter(|_| self.0.chars().nth(most).is_some())
        {
            self.0 = Arc::from(format!("{}…", &self.0[..end]));
        }
    }
}

impl Deref for SafeText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_only_where_it_is_longer() {
        for (text, expected) in [
            ("", ""),
            ("abcd", "abcd"),
            ("abcde", "abc…"),
            ("äöüß", "äöüß"),
            ("äöüßx", "äöü…"),
        ] {
            let mut shown = SafeText::new(text);
            shown.truncate(4);
            assert_eq!(&*shown, expected);
        }
    }
}
