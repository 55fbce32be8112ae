//! Binds an archive to a service and a key, so that the mail of two teams is not
//! mixed by accident.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fmt, fs};

use jiff::Timestamp;

use super::purge::expired_text;
use super::storage;
use super::storage::error::{archive_error, in_use_error};
use super::storage::files::{self, back_up_file, move_error, unused_path};
use super::{Archive, ArchiveLocation, is_unusable};
use crate::config::{ARCHIVE_FILE, ServerUrl, Settings, folder_of};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::Mailbox;
use crate::text::format::plural;

/// The service and the key that an archive belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The base URL of the service.
    pub(crate) service: String,
    /// The key's fingerprint, from which the key cannot be computed.
    pub(crate) key_fingerprint: String,
}

impl Identity {
    fn has_same_key(&self, ours: &Self) -> bool {
        self.key_fingerprint == ours.key_fingerprint
    }

    /// Returns what differs from `ours`, and its name: the key, or the service alone.
    pub(super) fn difference_from(&self, ours: &Self) -> (&'static str, String) {
        if self.has_same_key(ours) {
            ("service", self.service.clone())
        } else {
            ("key", self.to_string())
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, service) = (&self.key_fingerprint, &self.service);
        write!(f, "fingerprint {key}, for {service}")
    }
}

/// The action for an archive that belongs to another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnMismatch {
    /// Open nothing; the caller asks the user.
    Ask,
    /// Use it: it has mail of the same team.
    Adopt,
    /// Create a new one; move the file that is in its path, or that is unusable,
    /// to a backup.
    BackUp,
}

/// An archive that belongs to another key, or to another service of the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IdentityMismatch {
    /// The name of the profile that has the archive; `None` if a flag names its file.
    pub(crate) profile: Option<String>,
    pub(crate) path: PathBuf,
    /// The identity that is stored in it.
    pub(crate) identity: Option<Identity>,
    ours: Identity,
    /// Whether the archive has an answer of the service to that key.
    is_answered: bool,
    pub(crate) emails: u64,
}

/// The result of opening an archive for a profile.
#[derive(Debug)]
pub(crate) enum OpenResult {
    /// It belongs to the key of the profile.
    Opened(Archive),
    /// It may belong to another key.
    Mismatch(IdentityMismatch),
}

impl IdentityMismatch {
    /// Finds an archive that the user must decide about before that of `settings` is
    /// opened.
    ///
    /// That is one that another key of the profile filled while its own has none yet, or a file from
    /// elsewhere. It changes nothing.
    pub(crate) fn find(settings: &Settings) -> Result<Option<Self>> {
        let (ArchiveLocation::Disk(path), Some(ours)) = (&settings.archive, identity_of(settings))
        else {
            return Ok(None);
        };
        if !files::exists(path)? {
            return Self::find_previous_key(settings, &ours);
        }
        for path in Mailbox::ALL.map(|mailbox| mailbox.archive_path(path)) {
            if path.exists() {
                let archive = Archive::open(&ArchiveLocation::Disk(path.clone()))?;
                let identity = archive.identity()?;
                if archive.is_foreign(settings, identity.as_ref(), &ours)? {
                    return Self::new(settings, &path, &archive, identity, &ours).map(Some);
                }
            }
        }
        Ok(None)
    }

    fn find_previous_key(settings: &Settings, ours: &Identity) -> Result<Option<Self>> {
        // Keys from the environment change often, and each has its own archive.
        if !settings.credentials.is_from_profile() || settings.is_named_archive() {
            return Ok(None);
        }
        let Some(previous) = find_stored_archive(settings) else {
            return Ok(None);
        };
        // One that cannot be opened is ignored and stays where it is.
        let Ok(archive) = Archive::open(&ArchiveLocation::Disk(previous.clone())) else {
            return Ok(None);
        };
        let identity = archive.identity()?;
        Self::new(settings, &previous, &archive, identity, ours).map(Some)
    }

    fn new(
        settings: &Settings,
        path: &Path,
        archive: &Archive,
        identity: Option<Identity>,
        ours: &Identity,
    ) -> Result<Self> {
        let location = ArchiveLocation::Disk(path.to_owned());
        let key = identity.as_ref();
        let is_answered = is_answered(&location, key)? || is_answered(&settings.archive, key)?;
        Ok(Self {
            profile: (!settings.is_named_archive()).then(|| settings.profile.clone()),
            path: path.to_owned(),
            identity,
            ours: ours.clone(),
            is_answered,
            emails: archive
                .query_count()?
                .max(count_unbound_received(settings)?),
        })
    }

    /// Removes from `settings` what does not apply to this archive:
    /// the key and the retention.
    pub(crate) fn drop_key(self, settings: &mut Settings) {
        settings.credentials.key = Err(self.into());
        settings.retention = None;
    }

    /// Whether the key is the same, and the service another one.
    pub(crate) fn is_of_same_key(&self) -> bool {
        let identity = self.identity.as_ref();
        identity.is_some_and(|identity| identity.has_same_key(&self.ours))
    }

    pub(crate) fn message(&self) -> String {
        let other = match &self.identity {
            Some(identity) => {
                let (what, name) = identity.difference_from(&self.ours);
                let answer = if self.is_answered {
                    ""
                } else {
                    "; the archive has no answer to it yet"
                };
                format!("another {what} ({name}{answer})")
            }
            None => "another key".to_owned(),
        };
        let emails = plural(self.emails, "email");
        let path = self.path.display();
        match (&self.profile, &self.identity) {
            (Some(profile), _) => {
                format!("profile {profile} has an archive of {emails} that belongs to {other}")
            }
            (None, Some(_)) => format!("the archive {path} of {emails} belongs to {other}"),
            (None, None) => format!("the archive {path} of {emails} belongs to no key yet"),
        }
    }
}

impl From<IdentityMismatch> for Error {
    fn from(mismatch: IdentityMismatch) -> Self {
        let hint = match (&mismatch.profile, &mismatch.identity) {
            (Some(_), _) if mismatch.is_of_same_key() => {
                "if it is the same service at another address, go on with it: sentbox archive adopt; if not, leave it alone: sentbox archive begin"
            }
            (None, _) if mismatch.is_of_same_key() => {
                "choose the profile of that service with -p; if it is the same one at another address: sentbox archive adopt"
            }
            (Some(_), _) => {
                "if the key is of the same team, go on with it: sentbox archive adopt; if not, leave it alone: sentbox archive begin"
            }
            (None, Some(_)) => {
                "choose the profile of that key with -p; if this key is of the same team: sentbox archive adopt"
            }
            (None, None) => {
                "choose the profile of its team with -p; if this key is of that team: sentbox archive adopt"
            }
        };
        archive_error(mismatch.message(), hint)
    }
}

impl ArchiveLocation {
    /// The archive of a mailbox, where this is that of sent mail.
    pub(crate) fn for_mailbox(&self, mailbox: Mailbox) -> Self {
        match self {
            Self::Disk(path) => Self::Disk(mailbox.archive_path(path)),
            Self::Server(url) if mailbox == Mailbox::Received => {
                Self::Server(url.with_suffix("received"))
            }
            other => other.clone(),
        }
    }
}

impl Archive {
    /// Opens the archive of `settings` for their service and key;
    /// `on_mismatch` decides about one that belongs to another.
    ///
    /// The file of received mail is beside that of sent mail, and belongs to the same key as that.
    pub(crate) fn open_for(
        settings: &Settings,
        mailbox: Mailbox,
        on_mismatch: OnMismatch,
    ) -> Result<OpenResult> {
        if let ArchiveLocation::Server(url) = &settings.archive {
            return Self::open_on_server_for(settings, url, mailbox, on_mismatch);
        }
        let sent = Self::open_sent_for(settings, on_mismatch)?;
        let (Mailbox::Received, OpenResult::Opened(_), ArchiveLocation::Disk(path)) =
            (mailbox, &sent, &settings.archive)
        else {
            return Ok(sent);
        };
        let path = mailbox.archive_path(path);
        let Some(ours) = identity_of(settings) else {
            return Self::open(&ArchiveLocation::Disk(path)).map(OpenResult::Opened);
        };
        Self::open_file_for(settings, &path, &ours, on_mismatch, || {
            back_up_file(&path).map(drop)
        })
    }

    /// Purges what is too old from this archive of `mailbox`,
    /// and from that of the other listing; returns what to report.
    pub(crate) fn purge_expired_of(
        &self,
        settings: &Settings,
        mailbox: Mailbox,
        now: Timestamp,
    ) -> Option<String> {
        let location = settings.archive.for_mailbox(mailbox.other());
        let purge_other = || {
            if settings.retention.is_none() || !storage::exists(&location)? {
                return Ok(0);
            }
            let other = Self::open(&location)?.with_retention(settings.retention)?;
            other.purge_expired(now)
        };
        let purged = self.purge_expired(now);
        match purged.and_then(|here| Ok(here + purge_other()?)) {
            Ok(count) => expired_text(count),
            Err(error) => Some(error.message),
        }
    }

    /// Limits how long mail is stored as `settings` say, unless the archive is read
    /// without a key: the limit that it has may be that of another profile.
    pub(crate) fn with_retention_of(self, settings: &Settings) -> Result<Self> {
        if settings.retention.is_none() && settings.credentials.key.is_err() {
            return Ok(self);
        }
        self.with_retention(settings.retention)
    }

    fn open_sent_for(settings: &Settings, on_mismatch: OnMismatch) -> Result<OpenResult> {
        let (ArchiveLocation::Disk(path), Some(ours)) = (&settings.archive, identity_of(settings))
        else {
            return Self::open(&settings.archive).map(OpenResult::Opened);
        };
        if !files::exists(path)?
            && let Some(mismatch) = IdentityMismatch::find_previous_key(settings, &ours)?
        {
            match on_mismatch {
                OnMismatch::Ask => return Ok(OpenResult::Mismatch(mismatch)),
                OnMismatch::Adopt => adopt(&mismatch.path, path)?,
                OnMismatch::BackUp => {}
            }
        }
        let received = Mailbox::Received.archive_path(path);
        if on_mismatch == OnMismatch::Adopt && received.exists() {
            Self::open(&ArchiveLocation::Disk(received))?.bind(&ours)?;
        }
        Self::open_file_for(settings, path, &ours, on_mismatch, || {
            back_up(settings, path)
        })
    }

    /// Opens the archive on a server and binds it to the key.
    /// That of received mail has a schema of its own.
    fn open_on_server_for(
        settings: &Settings,
        url: &ServerUrl,
        mailbox: Mailbox,
        on_mismatch: OnMismatch,
    ) -> Result<OpenResult> {
        let archive = Self::open(&settings.archive.for_mailbox(mailbox))?;
        // A reader needs no key.
        let Some(ours) = identity_of(settings) else {
            return Ok(OpenResult::Opened(archive));
        };
        let is_read_only = archive.read_only_reason().is_some();
        match archive.identity()? {
            Some(identity) if identity == ours => {}
            _ if is_read_only => return Ok(OpenResult::Opened(archive)),
            Some(identity)
                if on_mismatch != OnMismatch::Adopt && is_confirmed(settings, &identity)? =>
            {
                let (what, name) = identity.difference_from(&ours);
                let same = if identity.has_same_key(&ours) {
                    "it is the same service at another address"
                } else {
                    "the key is of the same team"
                };
                return Err(archive_error(
                    format!("the archive at {url} belongs to another {what} ({name})"),
                    &format!(
                        "if {same}, go on with it: sentbox archive adopt; if not, name another schema"
                    ),
                ));
            }
            identity
                if on_mismatch == OnMismatch::Ask
                    && archive.is_foreign(settings, identity.as_ref(), &ours)? =>
            {
                let address = PathBuf::from(url.to_string());
                return IdentityMismatch::new(settings, &address, &archive, identity, &ours)
                    .map(OpenResult::Mismatch);
            }
            _ => archive.bind(&ours)?,
        }
        Ok(OpenResult::Opened(archive.with_identity(ours)))
    }

    /// Opens the file of an archive and binds it to `ours`;
    /// `back_up` moves one aside that is not to be used.
    fn open_file_for(
        settings: &Settings,
        path: &Path,
        ours: &Identity,
        on_mismatch: OnMismatch,
        back_up: impl Fn() -> Result<()>,
    ) -> Result<OpenResult> {
        if on_mismatch == OnMismatch::BackUp && path.exists() && is_unusable(path) {
            back_up()?;
        }
        let location = ArchiveLocation::Disk(path.to_owned());
        let mut archive = Self::open(&location)?;
        let identity = archive.identity()?;
        let is_read_only = archive.read_only_reason().is_some();
        if identity.as_ref() == Some(ours) {
            return Ok(OpenResult::Opened(archive.with_identity(ours.clone())));
        }
        if identity.is_none() && is_read_only {
            return Ok(OpenResult::Opened(archive));
        }
        if archive.is_foreign(settings, identity.as_ref(), ours)? {
            match on_mismatch {
                OnMismatch::Ask => {
                    return IdentityMismatch::new(settings, path, &archive, identity, ours)
                        .map(OpenResult::Mismatch);
                }
                OnMismatch::Adopt => {}
                OnMismatch::BackUp => {
                    drop(archive);
                    back_up()?;
                    archive = Self::open(&location)?;
                }
            }
        }
        if is_read_only {
            return Ok(OpenResult::Opened(archive));
        }
        archive.bind(ours)?;
        Ok(OpenResult::Opened(archive.with_identity(ours.clone())))
    }

    /// Whether it belongs to another key than `ours`, or may:
    /// a file that a flag names has emails of an unknown team, and no flag names the profile.
    fn is_foreign(
        &self,
        settings: &Settings,
        identity: Option<&Identity>,
        ours: &Identity,
    ) -> Result<bool> {
        match identity {
            Some(identity) if identity == ours || is_confirmed(settings, identity)? => {
                Ok(identity != ours)
            }
            _ => Ok(settings.named_archive().is_some()
                && (self.query_count()? > 0 || count_unbound_received(settings)? > 0)),
        }
    }
}

/// Removes from `settings` the key and the retention if a flag names their archive,
/// and it belongs to no key, unless a flag names the profile, too: mail that is imported there
/// may be of any team, and is removed as it came.
pub(crate) fn drop_key_of_unbound(settings: &mut Settings) -> Result<()> {
    if let Some(location) = settings.named_archive()
        && !(storage::exists(location)? && Archive::open(location)?.identity()?.is_some())
    {
        let error = Error::new(ErrorKind::KeyMissing, "an archive of no key needs none");
        settings.credentials.key = Err(error);
        settings.retention = None;
    }
    Ok(())
}

/// Whether the settings' archives have this identity, and mail of the service.
/// A key that was only tried owns nothing.
fn is_confirmed(settings: &Settings, identity: &Identity) -> Result<bool> {
    has_identity(&settings.archive, Some(identity), "answered_at")
}

/// Whether the archives at `location` have this identity,
/// and an answer of the service since then.
pub(crate) fn is_answered(location: &ArchiveLocation, key: Option<&Identity>) -> Result<bool> {
    has_identity(location, key, "is_mirror")
}

/// Whether an archive has this identity, and a value in a column of `listing`.
fn has_identity(
    location: &ArchiveLocation,
    identity: Option<&Identity>,
    column: &str,
) -> Result<bool> {
    let Some(identity) = identity else {
        return Ok(false);
    };
    let params = [&identity.service, &identity.key_fingerprint];
    let query = format!(
        "SELECT EXISTS (SELECT 1 FROM identity, listing \
         WHERE service = ?1 AND key_fingerprint = ?2 AND {column} IS NOT NULL)"
    );
    for location in Mailbox::ALL.map(|mailbox| location.for_mailbox(mailbox)) {
        if storage::exists(&location)?
            && Archive::open(&location)?.read(|conn| conn.value(&query, params))?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Counts the received emails of the settings' archive, if they belong to no key.
fn count_unbound_received(settings: &Settings) -> Result<u64> {
    let location = settings.archive.for_mailbox(Mailbox::Received);
    if !storage::exists(&location)? {
        return Ok(0);
    }
    let received = Archive::open(&location)?;
    match received.identity()? {
        None => received.query_count(),
        Some(_) => Ok(0),
    }
}

pub(super) fn identity_of(settings: &Settings) -> Option<Identity> {
    let key = settings.credentials.key.as_ref().ok()?;
    Some(Identity {
        service: settings.credentials.base_url.to_string(),
        key_fingerprint: key.fingerprint(),
    })
}

/// Finds the most recently used archive of this profile at its service,
/// whatever its key.
///
/// `config/settings.rs` makes the folder names: service, hyphen, fingerprint of the key.
pub(crate) fn find_stored_archive(settings: &Settings) -> Option<PathBuf> {
    let folder = settings.archives_folder()?;
    let start = format!("{}-", settings.credentials.base_url.directory_name());
    let is_fingerprint =
        |rest: &str| rest.len() == 8 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let rest = name.to_str()?.strip_prefix(&start)?;
        let archive = entry.path().join(ARCHIVE_FILE);
        let used = fs::metadata(&archive).ok()?.modified();
        is_fingerprint(rest).then(|| (used.unwrap_or(SystemTime::UNIX_EPOCH), archive))
    });
    found.max().map(|(_, archive)| archive)
}

/// Moves the archive's folder. No process may use the archive:
/// `SQLite` would look for the write-ahead log under the old name.
fn adopt(from: &Path, to: &Path) -> Result<()> {
    for path in Mailbox::ALL.map(|mailbox| mailbox.archive_path(from)) {
        if path.exists()
            && !Archive::open(&ArchiveLocation::Disk(path.clone()))?
                .poll_lock()
                .is_free()
        {
            let message = format!("another sentbox is using the archive {}", path.display());
            return Err(in_use_error(message));
        }
    }
    rename_folder(folder_of(from), folder_of(to))
}

/// Moves the archive to unused names:
/// its folder if that is one of the profile's, else its files alone, because the folder of a named archive may
/// have anything in it.
fn back_up(settings: &Settings, path: &Path) -> Result<()> {
    if let Some(folder) = own_folder(settings, path) {
        return rename_folder(folder, &unused_path(folder, "aside"));
    }
    for path in Mailbox::ALL.map(|mailbox| mailbox.archive_path(path)) {
        if path.exists() {
            back_up_file(&path)?;
        }
    }
    Ok(())
}

/// Returns the folder that has nothing but this archive of a profile.
fn own_folder<'a>(settings: &Settings, path: &'a Path) -> Option<&'a Path> {
    let folder = path.parent()?;
    let is_own = folder.parent() == settings.archives_folder();
    Some(folder).filter(|_| is_own && !settings.is_named_archive())
}

/// Returns where an archive will be that is moved aside now.
pub(crate) fn backup_path(settings: &Settings, path: &Path) -> PathBuf {
    unused_path(own_folder(settings, path).unwrap_or(path), "aside")
}

/// Finds the backups of the archives of `settings`, sent and received:
/// files and folders that no purge changes.
pub(crate) fn find_backups(settings: &Settings) -> Vec<PathBuf> {
    let ArchiveLocation::Disk(path) = &settings.archive else {
        return Vec::new();
    };
    let files = Mailbox::ALL.map(|mailbox| mailbox.archive_path(path));
    let paths = files.iter().map(PathBuf::as_path);
    let paths = paths.chain(own_folder(settings, path));
    paths.flat_map(files::find_backups).collect()
}

fn rename_folder(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|error| move_error(from, to, &error))
}
