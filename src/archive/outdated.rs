//! Replaces archives of older versions, if a key or an import fills the new ones.

use std::path::{Path, PathBuf};

use super::identity::identity_of;
use super::storage::outdated::{self, OutdatedFile};
use super::{Archive, ArchiveLocation};
use crate::config::Settings;
use crate::error::Result;
use crate::mail::Mailbox;

/// The action for archives of an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnOutdated {
    /// Replace those that the key of the settings fills again.
    ReplaceIfFetched,
    /// Replace those, and those that may have imported mail alone.
    ReplaceForImport,
    /// Replace all.
    Replace,
}

/// The file that an archive without mail has replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReplacedArchive {
    /// One of an older version.
    Outdated {
        backup: PathBuf,
        /// Whether the key of the settings fetches its mail again.
        is_fetched: bool,
        /// Whether it is not known any more which mail was purged.
        loses_purged: bool,
    },
    /// A file without any content, as a full disk leaves it.
    Empty(PathBuf),
}

impl ReplacedArchive {
    /// Returns the message for users; `display` formats the path.
    pub(crate) fn message(&self, display: impl FnOnce(&Path) -> String) -> String {
        match self {
            Self::Outdated {
                backup,
                is_fetched,
                loses_purged,
            } => {
                let path = display(backup);
                let mail = if *is_fetched {
                    "; what the service has of its mail is fetched again"
                } else {
                    ", and its mail is in that file alone"
                };
                let purged = if *loses_purged {
                    "; mail that was purged may come back"
                } else {
                    ""
                };
                format!("the archive of an older version is now {path}{mail}{purged}")
            }
            Self::Empty(path) => {
                let path = display(path);
                format!("{path} was empty; an archive without mail was made in it")
            }
        }
    }
}

impl Archive {
    /// Replaces the archives of `settings`, sent and received, that an older version has written,
    /// as far as `on_outdated` allows. The others stay, and are an error when they are opened.
    pub(crate) fn replace_outdated(
        settings: &Settings,
        on_outdated: OnOutdated,
    ) -> Result<Vec<ReplacedArchive>> {
        let ArchiveLocation::Disk(path) = &settings.archive else {
            return Ok(Vec::new());
        };
        let mut replaced = Vec::new();
        for path in Mailbox::ALL.map(|mailbox| mailbox.archive_path(path)) {
            let Some(old) = outdated::find(&path) else {
                continue;
            };
            let (is_ours, is_of_no_key) = compare_key(&old, settings);
            let may_replace = match on_outdated {
                OnOutdated::ReplaceIfFetched => is_ours,
                OnOutdated::ReplaceForImport => is_ours || is_of_no_key,
                OnOutdated::Replace => true,
            };
            if !may_replace || outdated::is_backup(&path) {
                continue;
            }
            let file = match outdated::replace(&path) {
                // What was replaced must be reported; opening this file is an error of its own.
                Err(_) if !replaced.is_empty() => None,
                Err(error) => {
                    let hint = format!("{}: {}", path.display(), error.hint);
                    return Err(error.with_hint(hint));
                }
                Ok(file) => file,
            };
            if let Some(file) = file {
                replaced.push(ReplacedArchive::Outdated {
                    backup: file.backup,
                    is_fetched: is_ours && old.is_listed,
                    loses_purged: file.loses_purged,
                });
            }
        }
        Ok(replaced)
    }
}

/// Whether the key of `settings` is that of the archive,
/// and whether one of the two has no key.
fn compare_key(old: &OutdatedFile, settings: &Settings) -> (bool, bool) {
    match (&old.identity, identity_of(settings)) {
        (_, None) => (false, true),
        (Some((service, fingerprint)), Some(ours)) => {
            let is_ours = *service == ours.service && *fingerprint == ours.key_fingerprint;
            (is_ours, false)
        }
        // A file that a flag names may have mail of any team.
        (None, Some(_)) => (settings.named_archive().is_none(), true),
    }
}
