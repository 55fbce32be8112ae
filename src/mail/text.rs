//! `Shown`: one line of foreign text that has been cleaned, as a type, so that it cannot be skipped.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::clean;

/// One line of text that is safe to draw. The only way to make one is to clean something.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Shown(Arc<str>);

impl Shown {
    /// Cleans `text` for one line ([`clean::line`]).
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Arc::from(&*clean::line(text)))
    }
}

impl Deref for Shown {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}
