//! Finds secrets, which are one-time codes and parts of URLs, and masks them.

use std::borrow::Cow;
use std::ops::Range;

use super::codes::find_codes;
use super::secret_urls::find_secret_urls;

/// How one-time codes and single-use links are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Secrets {
    #[default]
    Masked,
    Revealed,
}

impl Secrets {
    pub(crate) fn are_masked(self) -> bool {
        self == Self::Masked
    }

    pub(crate) const fn toggled(self) -> Self {
        match self {
            Self::Masked => Self::Revealed,
            Self::Revealed => Self::Masked,
        }
    }
}

/// Replaces a letter or digit of a secret.
pub(crate) const MASK: char = '•';

/// Returns `text` with each letter and digit of its secrets replaced by [`MASK`].
pub(crate) fn mask_secrets(text: &str) -> Cow<'_, str> {
    let secrets = find_secrets(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for secret in secrets {
        masked.push_str(&text[end..secret.start]);
        masked.extend(text[secret.clone()].chars().map(mask_char));
        end = secret.end;
    }
    masked.push_str(&text[end..]);
    Cow::Owned(masked)
}

/// Returns `text` with its secrets masked or revealed.
pub(crate) fn shown_text(text: &str, secrets: Secrets) -> Cow<'_, str> {
    match secrets {
        Secrets::Masked => mask_secrets(text),
        Secrets::Revealed => Cow::Borrowed(text),
    }
}

/// Returns the byte ranges of one-time codes and of secret parts of URLs in `text`,
/// in order and apart from each other.
pub(crate) fn find_secrets(text: &str) -> Vec<Range<usize>> {
    let mut secrets = find_codes(text);
    secrets.extend(find_secret_urls(text));
    secrets.sort_unstable_by_key(|range| range.start);
    secrets.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    secrets
}

/// Returns [`MASK`] for a letter or digit; spaces and hyphens inside a code stay.
pub(crate) fn mask_char(c: char) -> char {
    if c.is_alphanumeric() { MASK } else { c }
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
