//! Who holds the database open: one writer, and readers that do not wait for it.

use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use rustix::fs::OFlags;

use super::error::explain_damage;
use super::peer_notice::{FileId, PeerNotice, PeerNotifier};
use super::schema::SchemaVersion;
use super::search::{self, CancellationToken};
use super::{dictionary, read_only, schema};
use crate::error::{Error, ErrorKind};

/// How long a connection waits for another process before it gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Readers kept open while they are idle; more are opened when more read at once.
const IDLE_READERS: usize = 3;

/// Statements that each connection keeps prepared.
const STATEMENT_CACHE: usize = 64;

/// Steps of `SQLite`'s machine between two looks at whether a search is to go on: a fraction of a millisecond.
const PROGRESS_STEPS: i32 = 10_000;

/// The database's connections.
pub(super) struct Connections {
    /// Where the file is, if there is one.
    path: Option<PathBuf>,
    uri: String,
    /// `None` if the archive may only be read.
    writer: Option<Mutex<Connection>>,
    idle_readers: Mutex<Vec<Connection>>,
    /// Whether the transaction that is open has changed what other processes show.
    has_changed: Arc<AtomicBool>,
    /// `None` if the archive is in memory.
    file_id: Option<FileId>,
    notifier: Option<Arc<PeerNotifier>>,
}

impl Connections {
    /// Opens the file, and creates it for the owner alone if it is not there. One of an older version is
    /// renamed first; returns its new name.
    pub(super) fn open_on_disk(path: &Path) -> Result<(Self, Option<PathBuf>), Error> {
        if let Some(connections) =
            Self::open_file(path).map_err(|failure| explain_damage(failure, path))?
        {
            return Ok((connections, None));
        }
        let aside = back_up_outdated(path)?;
        let in_use = || {
            Error::new(
                ErrorKind::Archive,
                "another sentbox, of an older version, uses the archive",
            )
            .with_hint("end it first")
        };
        Ok((Self::open_file(path)?.ok_or_else(in_use)?, Some(aside)))
    }

    /// Opens the file; `None` if its tables are of an older version.
    fn open_file(path: &Path) -> Result<Option<Self>, Error> {
        if read_only::has_no_write_bits(path) || is_read_only_file(path) {
            return Self::open_read_only(path);
        }
        create_private(path)?;
        let opened = connect(&file_uri(path))
            .and_then(|writer| Ok((schema::read_version(&writer)?, writer)));
        let writer = match opened {
            Err(error) if read_only::is_cannot_open_error(&error) => {
                return Self::open_read_only(path);
            }
            opened => opened?.1,
        };
        if schema::check_version(&writer)? == SchemaVersion::Outdated {
            return Ok(None);
        }
        writer.pragma_update(None, "journal_mode", "wal")?;
        let connections = Self::new(file_uri(path), writer)?;
        let notifier = Some(Arc::new(PeerNotifier::new(path)));
        Ok(Some(Self {
            path: Some(path.to_owned()),
            file_id: FileId::from_path(path),
            notifier,
            ..connections
        }))
    }

    /// Opens the file without a writer; `None` if its tables are of an older version.
    fn open_read_only(path: &Path) -> Result<Option<Self>, Error> {
        let uri = file_uri(path);
        let opened = connect(&format!("{uri}{}", read_only::uri_parameters(path)))
            .and_then(|reader| Ok((schema::read_version(&reader)?, reader)));
        let (_, reader) = opened.map_err(|error| {
            read_only::unreadable_wal_error(path, &error).unwrap_or_else(|| error.into())
        })?;
        if schema::check_version(&reader)? == SchemaVersion::Outdated {
            return Ok(None);
        }
        if !schema::has_tables(&reader)? {
            return Err(Error::new(
                ErrorKind::Archive,
                "the archive is empty and cannot be written",
            )
            .with_hint("check the owner and the mode of its file"));
        }
        Ok(Some(Self {
            path: Some(path.to_owned()),
            uri,
            writer: None,
            idle_readers: Mutex::default(),
            has_changed: Arc::default(),
            file_id: FileId::from_path(path),
            notifier: Some(Arc::new(PeerNotifier::new(path))),
        }))
    }

    /// A database that lives as long as this value, under a name of its own in this process.
    ///
    /// The `memdb` file system of `SQLite` file system and not its shared cache: the latter locks table by table and
    /// answers a reader that meets the writer with an error that no timeout waits for.
    pub(super) fn open_in_memory() -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let uri = format!(
            "file:/sentbox-{}?vfs=memdb",
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let writer = connect(&uri)?;
        Self::new(uri, writer)
    }

    fn new(uri: String, mut writer: Connection) -> Result<Self, Error> {
        if !schema::has_tables(&writer)? {
            schema::create_tables(&mut writer)?;
        }
        let has_changed = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&has_changed);
        writer.update_hook(Some(move |_, _: &str, table: &str, _| {
            if matches!(table, "mail" | "body" | "confirmed_run") {
                noted.store(true, Ordering::Relaxed);
            }
        }))?;
        let writer = Some(Mutex::new(writer));
        Ok(Self {
            path: None,
            uri,
            writer,
            idle_readers: Mutex::default(),
            has_changed,
            file_id: None,
            notifier: None,
        })
    }

    /// Whether the archive may only be read.
    pub(super) const fn is_read_only(&self) -> bool {
        self.writer.is_none()
    }

    /// Sends notices to other processes, if there can be others.
    pub(super) const fn notifier(&self) -> Option<&Arc<PeerNotifier>> {
        self.notifier.as_ref()
    }

    /// Whether the file is still the one that was opened.
    pub(super) fn check_file(&self) -> Result<(), Error> {
        self.file_id
            .as_ref()
            .map_or(Ok(()), FileId::check_unchanged)
    }

    /// Makes the transaction that is open send a notice, although it changes no row of an email.
    pub(super) fn mark_changed(&self) {
        self.has_changed.store(true, Ordering::Relaxed);
    }

    /// Runs `change` in one transaction: all of it happens, or nothing.
    pub(super) fn write<T>(
        &self,
        change: impl FnOnce(&Transaction) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.run_write(change)
            .map_err(|failure| self.explain(failure))
    }

    fn run_write<T>(
        &self,
        change: impl FnOnce(&Transaction) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.check_file()?;
        let mut writer = lock_connection(
            self.writer
                .as_ref()
                .ok_or_else(read_only::read_only_error)?,
        );
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        self.has_changed.store(false, Ordering::Relaxed);
        let outcome = change(&transaction)?;
        search::reindex_dirty(&transaction)?;
        transaction.commit()?;
        if self.has_changed.load(Ordering::Relaxed)
            && let Some(notifier) = &self.notifier
        {
            notifier.send(PeerNotice::Changed);
        }
        Ok(outcome)
    }

    /// Writes the file anew without the room that deleted rows have left, and empties the log beside
    /// it; false if another process keeps that from being emptied now.
    pub(super) fn compact(&self) -> Result<bool, Error> {
        self.check_file()?;
        let writer = lock_connection(
            self.writer
                .as_ref()
                .ok_or_else(read_only::read_only_error)?,
        );
        search::erase_deleted(&writer)?;
        dictionary::delete_unused(&writer)?;
        // A copy of what stays may be too large for memory.
        writer.execute_batch("PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY")?;
        let busy: bool =
            writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        Ok(!busy)
    }

    /// Runs `look` as [`Connections::read`] does, until it is done or `halt` breaks it off: `None`.
    pub(super) fn read_cancellable<T>(
        &self,
        halt: &CancellationToken,
        look: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let watched = halt.clone();
        let outcome = self.with_reader(|reader| {
            reader.progress_handler(PROGRESS_STEPS, Some(move || watched.is_cancelled()))?;
            let outcome = read_in_transaction(reader, look);
            reader.progress_handler(0, None::<fn() -> bool>)?;
            outcome
        });
        if halt.is_cancelled() {
            Ok(None)
        } else {
            outcome.map(Some)
        }
    }

    /// Runs `look` on one state of the database, whatever is written meanwhile.
    pub(super) fn read<T>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with_reader(|reader| read_in_transaction(reader, look))
    }

    fn with_reader<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if let (None, Some(file)) = (&self.writer, &self.file_id) {
            // How it must be opened depends on whether another process writes now.
            return work(&mut connect_reader(&format!(
                "{}{}",
                self.uri,
                read_only::uri_parameters(file.path())
            ))?);
        }
        let idle = lock_connection(&self.idle_readers).pop();
        let mut reader = idle.map_or_else(|| connect_reader(&self.uri), Ok)?;
        let outcome = work(&mut reader).map_err(|failure| self.explain(failure))?;
        let mut idle = lock_connection(&self.idle_readers);
        if idle.len() < IDLE_READERS {
            idle.push(reader);
        }
        Ok(outcome)
    }

    fn explain(&self, failure: Error) -> Error {
        match &self.path {
            Some(path) => explain_damage(failure, path),
            None => failure,
        }
    }
}

fn read_in_transaction<T>(
    reader: &mut Connection,
    look: impl FnOnce(&Connection) -> Result<T, Error>,
) -> Result<T, Error> {
    let transaction = reader.transaction_with_behavior(TransactionBehavior::Deferred)?;
    let outcome = look(&transaction)?;
    transaction.finish()?;
    Ok(outcome)
}

/// A panic elsewhere leaves the connection whole: its transaction was rolled back on the way out.
fn lock_connection<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

fn connect_reader(uri: &str) -> rusqlite::Result<Connection> {
    let reader = connect(uri)?;
    reader.pragma_update(None, "query_only", true)?;
    Ok(reader)
}

fn connect(uri: &str) -> rusqlite::Result<Connection> {
    // A URI may say that the file is only to be read.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Otherwise a statement with a bound LIMIT is planned anew whenever another number is bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // In WAL mode NORMAL may lose the last pages after a power cut, never the database; sync fetches
    // them again. New mail touches the tree of ids all over, so the log gathers a good many pages before
    // they are written back. What is deleted is overwritten: it is somebody's mail. Nothing is mapped: a
    // large map is slower than reads on a cold file, and each connection would have one of its own.
    connection.execute_batch(
        "PRAGMA synchronous = NORMAL;
         PRAGMA foreign_keys = ON;
         PRAGMA secure_delete = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA journal_size_limit = 16777216;",
    )?;
    Ok(connection)
}

/// A path as a URI, in which `?`, `#` and `%` would have a meaning of their own.
fn file_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}

/// Whether the file can be read, but the system does not let this user write it.
fn is_read_only_file(path: &Path) -> bool {
    let denied = OpenOptions::new()
        .write(true)
        .open(path)
        .is_err_and(|error| read_only::is_permission_error(&error));
    denied && std::fs::File::open(path).is_ok()
}

/// Renames the file, and the log beside it, to a name that no file has yet.
fn back_up_outdated(path: &Path) -> Result<PathBuf, Error> {
    let aside = unused_path(path, "old");
    for suffix in ["-wal", "-shm", ""] {
        match std::fs::rename(sidecar_path(path, suffix), sidecar_path(&aside, suffix)) {
            Err(error) if suffix.is_empty() || error.kind() != std::io::ErrorKind::NotFound => {
                let message = format!(
                    "the archive of an older version cannot be moved to {}: {error}",
                    aside.display()
                );
                return Err(Error::new(ErrorKind::Archive, message)
                    .with_hint("check the owner and the mode of the folder"));
            }
            _ => {}
        }
    }
    Ok(aside)
}

/// A name beside the file that no file has yet.
pub(super) fn unused_path(path: &Path, why: &str) -> PathBuf {
    let mut names = (1..=u32::MAX).map(|n| path.with_added_extension(format!("{why}{n}")));
    names
        .find(|name| !name.exists())
        .expect("there are more numbers than files")
}

/// The name of a file that `SQLite` keeps beside another one.
pub(super) fn sidecar_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Opens a file that may be damaged, to read what is left of it.
pub(super) fn open_for_repair(path: &Path) -> Result<Connection, Error> {
    if !path.exists() {
        return Err(Error::new(
            ErrorKind::Archive,
            format!("there is no archive at {}", path.display()),
        ));
    }
    let connection = connect_reader(&file_uri(path))?;
    connection.execute_batch("BEGIN")?;
    Ok(connection)
}

/// Mail is personal data: the folder opens for its owner alone, and so does the file, from which
/// `SQLite` copies the mode of those beside it. A symbolic link may lead to the file, but then the
/// mode of that is left alone: somebody has put it there for a purpose of theirs.
fn create_private(path: &Path) -> Result<(), Error> {
    let failed = |error: std::io::Error| {
        Error::new(
            ErrorKind::Archive,
            format!("{} cannot be opened: {error}", path.display()),
        )
        .with_hint("check the owner and the mode of the folder")
    };
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed)?;
    }
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    if !is_link {
        // One that is put there in this instant is not followed either.
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    }
    let file = options.open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    let is_open = mode & 0o077 != 0;
    if !is_open {
        return Ok(());
    }
    if is_link {
        let target = std::fs::canonicalize(path).map_err(failed)?;
        let message = format!(
            "{} is a symbolic link to {}, which other users may open (mode {:04o})",
            path.display(),
            target.display(),
            mode & 0o7777
        );
        return Err(Error::new(ErrorKind::Archive, message).with_hint(format!(
            "chmod 600 {}, or take the link away",
            target.display()
        )));
    }
    file.set_permissions(Permissions::from_mode(0o600))
        .map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbolic_link_changes_no_mode_of_its_target() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("letter"), dir.path().join("archive.sqlite"));
        let mode = || std::fs::metadata(&target).unwrap().permissions().mode() & 0o777;
        std::fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        std::fs::set_permissions(&target, Permissions::from_mode(0o644)).unwrap();
        let failure = Connections::open_on_disk(&link)
            .err()
            .expect("others may read it");
        assert!(
            failure.message.contains("symbolic link") && failure.hint.contains("chmod 600"),
            "{failure}"
        );
        assert_eq!((mode(), std::fs::read(&target).unwrap().len()), (0o644, 0));
        std::fs::set_permissions(&target, Permissions::from_mode(0o600)).unwrap();
        assert!(
            Connections::open_on_disk(&link).is_ok(),
            "a link to a private file is one's own affair"
        );
    }

    #[test]
    fn archive_that_was_open_to_others_is_closed_to_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("archive.sqlite");
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert!(Connections::open_on_disk(&path).is_ok());
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
