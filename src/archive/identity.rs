//! Whose mail an archive holds: it knows the service and the key that it belongs to, so that the mail
//! of two teams is never mixed unless somebody says that they are one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, params};

use super::storage::error::in_use_error;
use super::storage::files::{move_error, unused_path};
use super::{Archive, ArchiveLocation, is_unusable};
use crate::config::Settings;
use crate::error::{Error, ErrorKind};

/// The service and the key that an archive belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Where the service is.
    pub(crate) service: String,
    /// The key's fingerprint, which gives nothing away.
    pub(crate) key_fingerprint: String,
}

/// What somebody has said about an archive that belongs to another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnMismatch {
    /// Nothing: whoever opens must ask.
    Ask,
    /// It holds mail of the same team: go on with it.
    Adopt,
    /// It does not, or is of no use any more: leave it alone and begin another.
    BackUp,
}

/// An archive that stands where mail is to go, and belongs to somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IdentityMismatch {
    /// The name of the profile.
    pub(crate) profile: String,
    /// Its file.
    pub(crate) path: PathBuf,
    /// Whose it is, as far as it says so.
    pub(crate) identity: Option<Identity>,
    /// How many emails it holds.
    pub(crate) emails: u64,
}

/// What came of opening an archive for somebody.
#[derive(Debug)]
pub(crate) enum OpenResult {
    /// It is theirs.
    Opened(Archive),
    /// It may not be.
    Mismatch(IdentityMismatch),
}

impl IdentityMismatch {
    /// The archive that must be asked about before that of `settings` is opened: one that another key
    /// of the profile has filled while its own has none yet, or one that has come to its place from
    /// elsewhere. Changes nothing.
    pub(crate) fn find(settings: &Settings) -> Result<Option<Self>, Error> {
        let (ArchiveLocation::Disk(path), Some(ours)) = (&settings.archive, identity_of(settings))
        else {
            return Ok(None);
        };
        if !path.exists() {
            return Self::find_previous_key(settings, path);
        }
        let archive = Archive::open(&settings.archive)?;
        archive
            .identity()?
            .filter(|owner| *owner != ours)
            .map(|owner| Self::new(settings, path, &archive, Some(owner)))
            .transpose()
    }

    fn find_previous_key(settings: &Settings, path: &Path) -> Result<Option<Self>, Error> {
        let Some(former) = find_previous_archive(settings, path) else {
            return Ok(None);
        };
        // One that cannot be opened is not gone on with; it stays where it is.
        let Ok(archive) = Archive::open(&ArchiveLocation::Disk(former.clone())) else {
            return Ok(None);
        };
        let owner = archive.identity()?;
        Self::new(settings, &former, &archive, owner).map(Some)
    }

    fn new(
        settings: &Settings,
        path: &Path,
        archive: &Archive,
        owner: Option<Identity>,
    ) -> Result<Self, Error> {
        Ok(Self {
            profile: settings.profile.clone(),
            path: path.to_owned(),
            identity: owner,
            emails: archive.query_count()?,
        })
    }

    /// What there is to know, a message.
    pub(crate) fn message(&self) -> String {
        let Self {
            profile,
            path: _,
            identity: owner,
            emails,
        } = self;
        let of = owner.as_ref().map_or_else(String::new, |owner| {
            format!(
                " (fingerprint {}, for {})",
                owner.key_fingerprint, owner.service
            )
        });
        let mails = if *emails == 1 { "email" } else { "emails" };
        format!(
            "profile {profile} has an archive of {emails} {mails} that belongs to another key{of}"
        )
    }
}

impl From<IdentityMismatch> for Error {
    fn from(stranger: IdentityMismatch) -> Self {
        Self::new(ErrorKind::Archive, stranger.message())
            .with_hint("if the key is of the same team, go on with it: sentbox archive adopt; if not, leave it alone: sentbox archive begin")
    }
}

impl Archive {
    /// Opens the archive that `settings` mean, for their service and key. One that belongs to another
    /// is not opened unless `said` tells what is to become of it.
    pub(crate) fn open_for(settings: &Settings, said: OnMismatch) -> Result<OpenResult, Error> {
        let (ArchiveLocation::Disk(path), Some(ours)) = (&settings.archive, identity_of(settings))
        else {
            return Self::open(&settings.archive).map(OpenResult::Opened);
        };
        if said == OnMismatch::BackUp && path.exists() && is_unusable(path) {
            back_up(path)?;
        }
        if !path.exists()
            && let Some(stranger) = IdentityMismatch::find_previous_key(settings, path)?
        {
            match said {
                OnMismatch::Ask => return Ok(OpenResult::Mismatch(stranger)),
                OnMismatch::Adopt => adopt(&stranger.path, path)?,
                OnMismatch::BackUp => {}
            }
            let archive = Self::open(&settings.archive)?;
            archive.bind(&ours)?;
            return Ok(OpenResult::Opened(archive));
        }
        let mut archive = Self::open(&settings.archive)?;
        match archive.identity()? {
            Some(owner) if owner == ours => return Ok(OpenResult::Opened(archive)),
            None if archive.read_only_reason().is_some() => return Ok(OpenResult::Opened(archive)),
            None => {}
            Some(owner) => match said {
                OnMismatch::Ask => {
                    return IdentityMismatch::new(settings, path, &archive, Some(owner))
                        .map(OpenResult::Mismatch);
                }
                OnMismatch::Adopt => {}
                OnMismatch::BackUp => {
                    drop(archive);
                    back_up(path)?;
                    archive = Self::open(&settings.archive)?;
                }
            },
        }
        archive.bind(&ours)?;
        Ok(OpenResult::Opened(archive))
    }

    /// Whose it is; nobody's if it was never opened for anybody.
    pub(crate) fn identity(&self) -> Result<Option<Identity>, Error> {
        self.connections.read(load_identity)
    }

    fn bind(&self, owner: &Identity) -> Result<(), Error> {
        self.connections.write(|change| {
            change.execute("DELETE FROM identity", [])?;
            change.execute(
                "INSERT INTO identity (service, key_fingerprint) VALUES (?1, ?2)",
                params![owner.service, owner.key_fingerprint],
            )?;
            Ok(())
        })
    }
}

fn load_identity(connection: &Connection) -> Result<Option<Identity>, Error> {
    let owner = |row: &rusqlite::Row| {
        Ok(Identity {
            service: row.get(0)?,
            key_fingerprint: row.get(1)?,
        })
    };
    Ok(connection
        .query_row("SELECT service, key_fingerprint FROM identity", [], owner)
        .optional()?)
}

fn identity_of(settings: &Settings) -> Option<Identity> {
    let key = settings.key.as_ref().ok()?;
    Some(Identity {
        service: settings.base_url.to_string(),
        key_fingerprint: key.fingerprint(),
    })
}

/// The archive that was used last of those that other keys of this profile have filled at the same
/// service. Keys of the environment come and go, and each has its own.
fn find_previous_archive(settings: &Settings, path: &Path) -> Option<PathBuf> {
    let file = path.file_name()?;
    let folder = path
        .parent()?
        .parent()
        .filter(|_| settings.is_from_profile)?;
    let start = format!("{}-", settings.base_url.directory_name());
    let is_fingerprint =
        |rest: &str| rest.len() == 8 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
        entry
            .file_name()
            .to_str()?
            .strip_prefix(&start)
            .filter(|rest| is_fingerprint(rest))?;
        let archive = entry.path().join(file);
        let used = fs::metadata(&archive)
            .ok()?
            .modified()
            .unwrap_or(SystemTime::UNIX_EPOCH);
        Some((used, archive))
    });
    found.max().map(|(_, archive)| archive)
}

/// Moves the archive with what lies beside it. Its former place must not be in use: the log beside a
/// file that is open would be looked for under the old name.
fn adopt(from: &Path, to: &Path) -> Result<(), Error> {
    let archive = Archive::open(&ArchiveLocation::Disk(from.to_owned()))?;
    if !archive.poll_lock().is_free() {
        let message = format!("another sentbox is using the archive {}", from.display());
        return Err(in_use_error(message));
    }
    drop(archive);
    let folders = from
        .parent()
        .zip(to.parent())
        .ok_or_else(|| Error::new(ErrorKind::Archive, "the archive has no folder of its own"))?;
    rename_folder(folders.0, folders.1)
}

/// Moves the archive to a place beside the one where it stands, under a name that nothing has yet.
fn back_up(path: &Path) -> Result<(), Error> {
    let folder = path
        .parent()
        .ok_or_else(|| Error::new(ErrorKind::Archive, "the archive has no folder of its own"))?;
    rename_folder(folder, &unused_path(folder, "aside"))
}

fn rename_folder(from: &Path, to: &Path) -> Result<(), Error> {
    fs::rename(from, to).map_err(|error| move_error(from, to, &error))
}
