//! `EmailId`: the service's name for an email, opaque.

use std::fmt;
use std::sync::Arc;

use super::SafeText;

/// The id of an email. A UUID on the real service, something else on its imitators; so it is data,
/// never a path and never parsed. Its text may hold anything: show it through [`EmailId::shown`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmailId(Arc<str>);

impl EmailId {
    /// Takes the id as the service spelled it.
    #[must_use]
    pub fn new(id: impl AsRef<str>) -> Self {
        Self(Arc::from(id.as_ref()))
    }

    /// The id as the service spelled it: for requests and for the archive, not for the screen.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id, safe to show.
    #[must_use]
    pub(crate) fn to_safe_text(&self) -> SafeText {
        SafeText::new(&self.0)
    }
}

impl fmt::Debug for EmailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}
