//! The files of an archive: names, modes and identity,
//! and files that may only be read.
//!
//! `SQLite` locks a file by `fcntl`, and a process loses these locks when it closes any descriptor
//! of the file (<https://sqlite.org/howtocorrupt.html>, section 2.2). Another process would then
//! believe that it is the last one, and delete the log that this one uses. So a file that a
//! connection may have open is not opened here, or not closed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind::AlreadyExists, ErrorKind::NotFound, Seek as _};
use std::mem::ManuallyDrop;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{ErrorCode, ffi};
use rustix::fs::{Access, OFlags};
use rustix::io::Errno;

use super::ReadOnlyCause;
use super::error::{UNREADABLE, archive_error};
use crate::config::{
    ARCHIVE_FILE, create_private_dir, create_private_file, existing_folder_of, folder_of,
};
use crate::error::{self, Error, Result};
use crate::tasks::lock;

/// The labels in the names of backups, between the archive's name and a number.
const BACKUP_LABELS: [&str; 3] = ["aside", "damaged", "old"];

/// The fewest bytes of the file `-shm` that a process uses
/// (<https://sqlite.org/walformat.html>, section 2).
const MIN_SHM: u64 = 32 << 10;

/// Bits of a file mode that let anyone write.
const WRITE_BITS: u32 = 0o222;

/// Bits of a file mode that let others than its owner open it.
const PUBLIC_BITS: u32 = 0o077;

/// Whether the mode of the file keeps everyone from writing it.
/// The superuser could write it all the same, but is not meant to.
pub(crate) fn has_no_write_bits(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.mode() & WRITE_BITS == 0)
}

/// Whether the mode of the file lets other users open it.
pub(crate) fn is_public(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.mode() & PUBLIC_BITS != 0)
}

/// Whether this user can read the file but not write it.
pub(crate) fn is_read_only_file(path: &Path) -> bool {
    let is_permission_error =
        |error: Errno| matches!(error, Errno::ACCESS | Errno::PERM | Errno::ROFS);
    let access = |access| rustix::fs::access(path, access);
    access(Access::WRITE_OK).is_err_and(is_permission_error) && access(Access::READ_OK).is_ok()
}

/// Whether this error of `SQLite` may mean that the file can be read but not
/// written.
pub(crate) fn is_cannot_open_error(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
    )
}

/// Whether this error of `SQLite` means that there is no space for a file that it
/// needs to read an archive.
pub(crate) fn is_no_space_error(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_FULL))
}

/// Whether another connection has a lock that this error of `SQLite` is about.
pub(crate) fn is_busy_error(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Returns the URI parameters with which `SQLite` can read the file now.
///
/// In WAL mode `SQLite` creates the files `-wal` and `-shm` beside the database. Where it cannot or
/// should not, and no other process can be writing, the file is opened as one that does not change
/// (<https://sqlite.org/uri.html#uriimmutable>).
pub(crate) fn uri_parameters(path: &Path, cause: ReadOnlyCause) -> &'static str {
    let len = |suffix: &str| fs::metadata(sidecar_path(path, suffix)).map(|file| file.len());
    let can_create_files = cause != ReadOnlyCause::DiskFull
        && rustix::fs::access(folder_of(path), Access::WRITE_OK).is_ok();
    let is_immutable = match len("-wal") {
        Err(_) => !can_create_files || has_no_write_bits(path),
        // On a full disk, an attempt to open it leaves an empty log, and a part of the other file.
        Ok(wal) => wal == 0 && !can_create_files && len("-shm").map_or(true, |shm| shm < MIN_SHM),
    };
    if is_immutable {
        "?mode=ro&immutable=1"
    } else {
        "?mode=ro"
    }
}

/// Returns the error for a file that can neither be written nor read because of its
/// write-ahead log.
pub(crate) fn unreadable_wal_error(path: &Path, error: &rusqlite::Error) -> Option<Error> {
    let has_wal = fs::metadata(sidecar_path(path, "-wal")).is_ok_and(|wal| wal.len() > 0);
    ((is_cannot_open_error(error) || is_no_space_error(error)) && has_wal).then(|| {
        archive_error(
            "the archive cannot be read here: its latest changes are in the file -wal beside it",
            "copy the archive with the files beside it to a folder that you can write to",
        )
    })
}

/// Converts a path to a URI;
/// escapes `?`, `#`, `%` and other characters that are special there.
pub(crate) fn file_uri(path: &Path) -> String {
    const SPECIAL: AsciiSet = NON_ALPHANUMERIC
        .remove(b'/')
        .remove(b'.')
        .remove(b'-')
        .remove(b'_');
    let path = percent_encode(path.as_os_str().as_encoded_bytes(), &SPECIAL);
    format!("file:{path}")
}

/// Returns the URI by which the file is read as it is, and none is created beside it;
/// `None` if that cannot be done now.
pub(crate) fn unchanged_uri(path: &Path) -> Option<String> {
    let exists = |suffix| sidecar_path(path, suffix).exists();
    // Even a reader creates both files of WAL mode, and leaves them behind. Without them no process
    // writes now.
    let parameters = match (exists("-wal"), exists("-shm")) {
        (false, _) => "?mode=ro&immutable=1",
        (true, true) => "?mode=ro",
        (true, false) => return None,
    };
    Some(format!("{}{parameters}", file_uri(path)))
}

/// Returns the name of a file that belongs to the database,
/// such as the one with the suffix `-wal`.
pub(crate) fn sidecar_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns a name beside `path` that no file has:
/// with the extension `label` and a number.
///
/// Another process may create one with it: only [`create_unused`] makes sure of the name.
pub(crate) fn unused_path(path: &Path, label: &str) -> PathBuf {
    unused_paths(path, label)
        .next()
        .expect("there are more numbers than files")
}

fn unused_paths(path: &Path, label: &str) -> impl Iterator<Item = PathBuf> {
    debug_assert!(BACKUP_LABELS.contains(&label), "find_backups must find it");
    (1..=u32::MAX)
        .map(move |n| path.with_added_extension(format!("{label}{n}")))
        // A log that was left there would be applied to the file.
        .filter(|name| !name.exists() && !sidecar_path(name, "-wal").exists())
}

/// Creates a file beside `path` under a name like that of [`unused_path`]; replaces none.
/// `create` fails if there is one by now, and gets the next name.
pub(super) fn create_unused(
    path: &Path,
    label: &str,
    create: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    unused_paths(path, label)
        .find_map(|name| match create(&name) {
            Err(error) if error.kind() == AlreadyExists => None,
            created => Some(created.map(|()| name)),
        })
        .expect("there are more numbers than files")
}

/// Whether an extension is one of [`unused_path`] with `label`.
pub(super) fn is_numbered(name: &str, label: &str) -> bool {
    let number = name.strip_prefix(label);
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Finds what [`unused_path`] has named beside `path`,
/// and the write-ahead logs of these files.
pub(crate) fn find_backups(path: &Path) -> Vec<PathBuf> {
    let is_backup = |name: &str| {
        let name = name.strip_suffix("-wal").unwrap_or(name);
        BACKUP_LABELS.iter().any(|label| is_numbered(name, label))
    };
    let Some(name) = path.file_name() else {
        return Vec::new();
    };
    let prefix = [name.as_encoded_bytes(), b"."].concat();
    let entries = fs::read_dir(folder_of(path)).into_iter().flatten();
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut found: Vec<PathBuf> = names
        .filter(|name| {
            let rest = name.as_encoded_bytes().strip_prefix(&prefix[..]);
            rest.is_some_and(|rest| str::from_utf8(rest).is_ok_and(is_backup))
        })
        .map(|name| path.with_file_name(name))
        .collect();
    found.sort_unstable();
    found
}

/// Returns the error for a file or folder that cannot be moved.
pub(crate) fn move_error(from: &Path, to: &Path, error: &io::Error) -> Error {
    let (from, to) = (from.display(), to.display());
    let message = format!("{from} cannot be moved to {to}: {error}");
    archive_error(message, "check the owner and the mode of the folder")
}

/// Moves the file of an archive, and its write-ahead log,
/// to a name with `aside` that no file has yet.
pub(crate) fn back_up_file(path: &Path) -> Result<PathBuf> {
    const LABEL: &str = "aside";
    // To rename replaces a file: this empty one keeps the name from others.
    let backup = create_unused(path, LABEL, |name| create_private_file(name).map(drop))
        .map_err(|error| move_error(path, &unused_path(path, LABEL), &error))?;
    rename_sidecars(path, &backup)
        .and_then(|()| fs::rename(path, &backup))
        .map_err(|error| {
            let _ = fs::remove_file(&backup);
            move_error(path, &backup, &error)
        })?;
    Ok(backup)
}

/// Renames the new file to the old one, which becomes a backup with `label`.
/// At no time is there no file at `path`.
pub(crate) fn replace_file(path: &Path, new: &Path, label: &str) -> Result<PathBuf> {
    let copy = |name: &Path| {
        let mut target = create_private_file(name)?;
        // Not closed, because that would unlock it.
        let mut file = ManuallyDrop::new(File::open(path)?);
        io::copy(&mut *file, &mut target)
            .map(drop)
            .inspect_err(|_| drop(fs::remove_file(name)))
    };
    let replaced = create_unused(path, label, |name| fs::hard_link(path, name))
        .or_else(|_| create_unused(path, label, copy))
        // A log that stayed there would be applied to the new file.
        .and_then(|backup| rename_sidecars(path, &backup).map(|()| backup))
        .and_then(|backup| fs::rename(new, path).map(|()| backup));
    replaced.map_err(|error| move_error(new, path, &error))
}

/// Removes the write-ahead log that the lock on a file has created.
pub(crate) fn remove_empty_log(path: &Path) {
    let log = sidecar_path(path, "-wal");
    if fs::metadata(&log).is_ok_and(|metadata| metadata.len() == 0) {
        let _ = fs::remove_file(log);
    }
}

/// Renames the write-ahead log of a database, if there is one.
pub(crate) fn rename_sidecars(from: &Path, to: &Path) -> io::Result<()> {
    for suffix in ["-wal", "-shm"] {
        match fs::rename(sidecar_path(from, suffix), sidecar_path(to, suffix)) {
            Err(error) if error.kind() != NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Whether there is such a file; fails if this user may not know,
/// as below a folder that only its owner may enter.
pub(crate) fn exists(path: &Path) -> Result<bool> {
    path.try_exists().map_err(|error| open_error(path, &error))
}

/// Returns the error for a file that cannot be opened, or found.
fn open_error(path: &Path, error: &io::Error) -> Error {
    let message = format!("{} cannot be opened: {error}", path.display());
    let folder = existing_folder_of(path).display();
    archive_error(
        message,
        &format!("check the owner and the mode of {folder}"),
    )
}

/// Creates the file and its folder if they are missing, and makes the file private.
///
/// Mail is personal data: only the owner may open the folder and the file, from which `SQLite`
/// copies the mode of its other files. The mode of a file behind a symbolic link is not changed:
/// the link was made for a purpose that is not known here.
pub(crate) fn create_private(path: &Path) -> Result<()> {
    /// So that no thread connects to a new file before another one has closed it here.
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = lock(&CREATING);
    let open_error = |error| open_error(path, &error);
    create_private_dir(folder_of(path)).map_err(open_error)?;
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    if !is_public(path) && rustix::fs::access(path, Access::READ_OK | Access::WRITE_OK).is_ok() {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    if is_link {
        check_link(path)?;
    } else {
        // A link that is created between the check and the open is not followed either.
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    }
    // Not closed if it existed: no connection has a new file open.
    let file = ManuallyDrop::new(options.open(path).map_err(open_error)?);
    let mode = file.metadata().map_err(open_error)?.permissions().mode();
    if mode & PUBLIC_BITS == 0 {
        drop(ManuallyDrop::into_inner(file));
        return Ok(());
    }
    if is_link {
        let target = fs::canonicalize(path).map_err(open_error)?;
        let (link, target) = (path.display(), target.display());
        let mode = mode & 0o7777;
        let message = format!(
            "{link} is a symbolic link to {target}, which other users may open (mode {mode:04o})"
        );
        let hint = format!("chmod 600 {target}, or remove the link");
        return Err(archive_error(message, &hint));
    }
    file.set_permissions(Permissions::from_mode(0o600))
        .map_err(open_error)
}

/// Fails for a folder, and for a device, a pipe or a socket,
/// whose mode must stay as it is.
pub(crate) fn check_kind(path: &Path) -> Result<()> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => metadata,
        _ => return Ok(()),
    };
    let name = path.display();
    Err(if metadata.is_dir() {
        let file = path.join(ARCHIVE_FILE);
        let hint = format!("name a file in it, such as {}", file.display());
        archive_error(format!("{name} is a folder"), &hint)
    } else {
        let message = format!("{name} is a device, a pipe or a socket");
        let hint = "an archive is a file; --in-memory keeps nothing on disk";
        archive_error(message, hint)
    })
}

/// Fails if the path is a symbolic link to a path where no file can be.
pub(crate) fn check_link(path: &Path) -> Result<()> {
    let (Ok(target), Err(error)) = (fs::read_link(path), fs::metadata(path)) else {
        return Ok(());
    };
    if error.kind() == NotFound && folder_of(&folder_of(path).join(&target)).is_dir() {
        return Ok(());
    }
    let (link, target) = (path.display(), target.display());
    let message = format!("{link} is a symbolic link to {target}, which cannot be opened: {error}");
    Err(archive_error(
        message,
        &format!("correct or remove the link {link}"),
    ))
}

/// Identifies the file of an open archive, so that a replacement under the same
/// name is noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileId {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl FileId {
    /// Identifies the file that has this name now; `None` if there is none.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            path: path.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if another file has the name by now, or none.
    ///
    /// A folder that can no longer be searched proves nothing about the file.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        let problem = match fs::metadata(&self.path) {
            Ok(metadata) if (metadata.dev(), metadata.ino()) == (self.device, self.inode) => {
                return Ok(());
            }
            Ok(_) => "replaced",
            Err(error) if error.kind() == NotFound => "removed",
            Err(_) => return Ok(()),
        };
        let message = format!("the archive file was {problem}: new mail is not stored");
        Err(archive_error(
            message,
            "restart sentbox, or run the command again",
        ))
    }
}

/// Replaces an error about damage if the disk cannot read the file:
/// `SQLite` reports that as damage, too.
pub(crate) fn explain_damage(error: Error, path: &Path) -> Error {
    if error.kind != error::ErrorKind::ArchiveDamaged {
        return error;
    }
    match read_to_end(path) {
        Ok(()) => error,
        Err(error) => archive_error(format!("{}: {error}", UNREADABLE.0), UNREADABLE.1),
    }
}

/// Reads the archive file and its write-ahead log, if there is one, to their ends.
pub(crate) fn read_to_end(path: &Path) -> io::Result<()> {
    /// The archive files that were read, by device and inode.
    static OPENED: Mutex<BTreeMap<(u64, u64), File>> = Mutex::new(BTreeMap::new());
    match File::open(sidecar_path(path, "-wal")) {
        Err(error) if error.kind() == NotFound => {}
        log => read_whole(&log?)?,
    }
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == NotFound => return Ok(()),
        metadata => metadata?,
    };
    match lock(&OPENED).entry((metadata.dev(), metadata.ino())) {
        Entry::Occupied(file) => read_whole(file.get()),
        Entry::Vacant(entry) => read_whole(entry.insert(File::open(path)?)),
    }
}

fn read_whole(mut file: &File) -> io::Result<()> {
    file.rewind()?;
    io::copy(&mut file, &mut io::sink()).map(drop)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::archive::tests::{import_lines, open_file, temp_path};
    use crate::archive::{Archive, ArchiveLocation, RequestStamp};
    use crate::mail::EmailId;

    /// How many locks this process has on the file.
    #[cfg(target_os = "linux")]
    fn count_locks(path: &Path) -> usize {
        let inode = format!(":{}", fs::metadata(path).unwrap().ino());
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let process = std::process::id().to_string();
        let lines = locks
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let is_ours = |words: &Vec<&str>| {
            words.contains(&"POSIX")
                && words.contains(&process.as_str())
                && words.iter().any(|word| word.ends_with(&inode))
        };
        lines.filter(is_ours).count()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn opening_a_file_again_keeps_its_locks() {
        let (_folder, path) = temp_path("archive.sqlite");
        let archive = open_file(&path);
        archive.query_count().unwrap();
        let before = count_locks(&path);
        assert!(
            before > 0,
            "without a lock, another process deletes the log"
        );
        drop(open_file(&path));
        assert_eq!(count_locks(&path), before, "opened again");
        assert!(!crate::archive::is_unusable(&path));
        assert_eq!(count_locks(&path), before, "checked");
        read_to_end(&path).unwrap();
        assert_eq!(count_locks(&path), before, "read");
        drop(archive);
        assert_eq!(count_locks(&path), 0);
    }

    const MAIL: &str = r#"{"id":"a","to":["a@b.example"],"subject":"Hello","created_at":"2026-11-20T09:00:00Z","last_event":"sent"}"#;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A folder with an archive of one email, closed.
    fn filled() -> (tempfile::TempDir, PathBuf) {
        let (folder, path) = temp_path("archive.sqlite");
        import_lines(&open_file(&path), [MAIL], Timestamp::UNIX_EPOCH);
        (folder, path)
    }

    #[test]
    fn file_without_write_bits_is_read_unchanged() {
        let (folder, path) = filled();
        set_mode(&path, 0o400);
        let before = (names(folder.path()), fs::read(&path).unwrap());
        let archive = open_file(&path)
            .with_retention(Some(jiff::SignedDuration::ZERO))
            .unwrap();
        assert_eq!(archive.purge_expired(Timestamp::MAX).unwrap(), 0);
        let expected = "read-only archive: new mail is not stored";
        assert_eq!(archive.read_only_reason().unwrap().message, expected);
        assert_eq!(archive.query_count().unwrap(), 1);
        assert_eq!(archive.info().unwrap().emails, 1);
        assert!(archive.row(&EmailId::new("a")).unwrap().is_some());
        archive.quick_check().unwrap();
        drop(archive);
        assert_eq!((names(folder.path()), fs::read(&path).unwrap()), before);
        set_mode(&path, 0o600);
        assert!(open_file(&path).read_only_reason().is_none());
    }

    #[test]
    fn deletion_is_not_stored_in_read_only_archive() {
        let (_folder, path) = filled();
        set_mode(&path, 0o444);
        let archive = open_file(&path);
        let now = Timestamp::from_second(9).unwrap();
        assert_eq!(archive.stamp_request(now).unwrap(), RequestStamp::from(now));
        archive
            .mark_missing(&EmailId::new("a"), now.into())
            .unwrap();
    }

    #[test]
    fn read_only_archive_sees_what_a_writer_commits() {
        let (_folder, path) = filled();
        let writer = open_file(&path);
        // It keeps its connection, which without write bits only root could open.
        import_lines(&writer, [MAIL], Timestamp::UNIX_EPOCH);
        set_mode(&path, 0o400);
        let reader = open_file(&path);
        assert_eq!(reader.query_count().unwrap(), 1);
        assert!(reader.read_only_reason().is_some());
        let other = MAIL.replace(r#""a""#, r#""b""#);
        import_lines(&writer, [other], Timestamp::UNIX_EPOCH);
        assert_eq!(reader.query_count().unwrap(), 2);
        drop(writer);
        assert_eq!(reader.query_count().unwrap(), 2);
    }

    #[test]
    fn folder_without_write_bits_is_read() {
        let (folder, path) = filled();
        set_mode(folder.path(), 0o500);
        let archive = open_file(&path);
        assert_eq!(archive.query_count().unwrap(), 1);
        // A user with the right to, such as most superusers, writes all the same.
        let can_write = fs::write(folder.path().join("file"), "").is_ok();
        assert_eq!(archive.read_only_reason().is_some(), !can_write);
        drop(archive);
        set_mode(folder.path(), 0o700);
    }

    #[test]
    fn empty_file_without_write_bits_is_no_archive() {
        let (_folder, path) = temp_path("archive.sqlite");
        fs::write(&path, "").unwrap();
        set_mode(&path, 0o400);
        let error = Archive::open(&ArchiveLocation::Disk(path)).unwrap_err();
        assert_eq!(error.message, "the archive is empty and cannot be written");
    }
}
