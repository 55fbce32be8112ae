//! `Hidden`: text that is typed or pasted unseen, in a type that cannot be printed.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// No key is longer than this; more is a paste gone wrong.
const MAX_CHARS: usize = 1_000;

/// What a person puts in without seeing it: wiped from memory when dropped or changed, redacted
/// wherever it is formatted.
#[derive(Clone, Default)]
pub(crate) struct SecretInput(SecretString);

impl SecretInput {
    /// Takes the text as it is.
    #[must_use]
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that needs it.
    #[must_use]
    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// How many letters there are.
    #[must_use]
    pub(crate) fn char_count(&self) -> usize {
        self.expose().chars().count()
    }

    /// Puts text at the end, without the blanks and line ends that come along with a paste.
    pub(crate) fn push(&mut self, text: &str) {
        // Grown at once: a string that grows by and by leaves copies behind that nobody wipes.
        let mut grown = String::with_capacity(self.expose().len() + text.len());
        grown.push_str(self.expose());
        let room = MAX_CHARS.saturating_sub(self.char_count());
        grown.extend(
            text.chars()
                .filter(|c| !c.is_whitespace() && !c.is_control())
                .take(room),
        );
        self.0 = grown.into();
    }

    /// Takes the last letter away.
    pub(crate) fn pop(&mut self) {
        let kept = self
            .expose()
            .char_indices()
            .next_back()
            .map_or(0, |(at, _)| at);
        self.0 = self.expose()[..kept].into();
    }

    /// Takes everything away.
    pub(crate) fn clear(&mut self) {
        self.0 = SecretString::default();
    }
}

impl PartialEq for SecretInput {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl fmt::Debug for SecretInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_edited_and_never_shown() {
        let mut hidden = SecretInput::default();
        hidden.push(" re_canary\u{1b}_1é\r\n");
        assert_eq!((hidden.expose(), hidden.char_count()), ("re_canary_1é", 12));
        assert!(!format!("{hidden:?} {:#?}", Some(&hidden)).contains("canary"));
        hidden.pop();
        hidden.pop();
        assert_eq!(hidden, SecretInput::new("re_canary_"));
        hidden.clear();
        hidden.pop();
        assert_eq!(hidden.char_count(), 0);
        hidden.push(&"x".repeat(2_000));
        assert_eq!(hidden.char_count(), MAX_CHARS);
    }
}
