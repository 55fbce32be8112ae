//! [`Mailbox`]: which of the service's two listings of email.

use std::path::{Path, PathBuf};

/// A listing of the service.
/// Each has its own ids, order and coverage, and so its own archive file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Mailbox {
    /// Email that the team has sent.
    #[default]
    Sent,
    /// Email that the team's addresses have received; it has no status.
    Received,
}

impl Mailbox {
    pub(crate) const ALL: [Self; 2] = [Self::Sent, Self::Received];

    /// Returns the path segments of the listing in the API;
    /// the path of an email begins with them.
    pub(crate) const fn path(self) -> &'static [&'static str] {
        match self {
            Self::Sent => &["emails"],
            Self::Received => &["emails", "receiving"],
        }
    }

    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Sent => Self::Received,
            Self::Received => Self::Sent,
        }
    }

    /// Returns the archive file of this listing, beside the file `sent` of the sent
    /// emails.
    pub(crate) fn archive_path(self, sent: &Path) -> PathBuf {
        match self {
            Self::Sent => sent.to_owned(),
            Self::Received => sent.with_added_extension("received"),
        }
    }
}
