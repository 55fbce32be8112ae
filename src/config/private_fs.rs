//! Files for their owner alone: how they are opened, read, and written atomically.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Result};

/// Returns the folder of a file; `.` if the path has none.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Returns the folder of a file or, if it is missing, the nearest one above it.
pub(crate) fn existing_folder_of(path: &Path) -> &Path {
    let mut folders = folder_of(path).ancestors();
    folders
        .find(|folder| folder.exists())
        .unwrap_or(Path::new("."))
}

/// Creates a folder, with its parents, for its owner only;
/// an existing one stays as it is.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Replaces the text of the file.
///
/// A concurrent reader sees the old text or the new one, never a part. An existing file keeps its
/// mode, a new one is private.
pub(super) fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    // A symbolic link, as to a folder of dot-files, stays; its target is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = fs::metadata(&path).map_or(0o600, |metadata| metadata.permissions().mode() & 0o777);
    write_atomically(&path, text, mode)
}

/// Locks the folder of a file until the result is dropped:
/// a file that is replaced cannot keep a lock.
///
/// `None` without a folder, and on network file systems without locks.
pub(crate) fn lock_folder(path: &Path) -> Option<File> {
    let folder = File::open(folder_of(path)).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// Creates an empty file that only its owner may read; fails if there is one.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

/// Opens a file to append to it;
/// if there is none, creates one that only its owner may read.
pub(crate) fn open_private_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = open_without_waiting(path, options.append(true).create(true).mode(0o600))?;
    // What a pipe has no space for waits again.
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(file)
}

/// Opens a regular file to read and write it;
/// if there is none, creates one that only its owner may read.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    open_regular(path, options.truncate(false))
}

/// Opens a regular file; fails if it is something else, such as a pipe,
/// which would make its reader wait.
pub(crate) fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = open_without_waiting(path, options)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("it is not a regular file"))
}

/// Opens a regular file with a secret; `None` if it does not exist.
/// `name` is its name in errors.
///
/// Fails if other users have any access to it, or it is not a regular file.
pub(crate) fn open_secret(path: &Path, name: &str) -> Result<Option<File>> {
    let unreadable = |error: io::Error| Error::cannot("read", ErrorKind::Config, name, &error);
    let file = match open_regular(path, OpenOptions::new().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(unreadable)?,
    };
    if file.metadata().map_err(unreadable)?.mode() & 0o077 != 0 {
        let message = format!("{name} is open to other users");
        return Err(Error::new(ErrorKind::Config, message)
            .with_hint(format!("chmod 600 {}", path.display())));
    }
    Ok(Some(file))
}

/// Reads a regular file of at most `max` bytes.
pub(crate) fn read_regular(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    read_at_most(open_regular(path, OpenOptions::new().read(true))?, max)
}

/// Reads to the end; fails if that is more than `max` bytes.
pub(crate) fn read_at_most(source: impl Read, max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > max {
        let message = format!("it is larger than {} MB", max >> 20);
        return Err(io::Error::other(message));
    }
    Ok(bytes)
}

/// Opens a file or a pipe to read it; a pipe that no process writes is empty.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    let file = open_without_waiting(path, OpenOptions::new().read(true))?;
    rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

/// Opens a file, and does not wait for another process to open the other end of a
/// pipe.
fn open_without_waiting(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let no_reader = Errno::NXIO.raw_os_error();
    match options.custom_flags(flags).open(path) {
        Err(error) if error.raw_os_error() == Some(no_reader) => {
            Err(io::Error::other("no process reads from this pipe"))
        }
        opened => opened,
    }
}

/// Creates a file with a secret that only its owner may read;
/// fails if there is one. Its folder stays as it is.
pub(crate) fn create_secret(path: &Path, text: &str) -> io::Result<()> {
    let mut file = create_private_file(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Writes a secret as [`replace_file`]; only its owner may read it and its folder.
pub(super) fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().expect("a secret lies in a folder");
    create_private_dir(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    write_atomically(path, text, 0o600)
}

fn write_atomically(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let (mut file, beside) = create_temp_file(path, mode)?;
    // The umask may have removed bits. Some file systems have no modes.
    let _ = file.set_permissions(Permissions::from_mode(mode));
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Creates the file `.NAME.PROCESS` beside `path`, to be renamed when it is
/// complete; returns it with its path.
///
/// It is locked, so that [`remove_temp_files`] of another process does not remove it. One that a
/// killed process of the same number has left is replaced: in a container, many have the same.
pub(crate) fn create_temp_file(path: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let beside = path.with_file_name(format!(".{}.{}", name.display(), std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let file = match options.open(&beside) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_unused(&beside) => {
            fs::remove_file(&beside)?;
            options.open(&beside)?
        }
        opened => opened?,
    };
    // Some network file systems have no locks: there a leftover stays.
    let _ = file.lock();
    Ok((file, beside))
}

/// Whether no process writes this temporary file.
fn is_unused(path: &Path) -> bool {
    // To open a pipe of another user could block.
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
        && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Removes the temporary files of killed writes, and returns their paths.
///
/// `is_ours` decides by the name of the target.
pub(super) fn remove_temp_files(folder: &Path, is_ours: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let is_leftover = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let of = name.and_then(|name| name.strip_prefix('.')?.rsplit_once('.'));
        of.is_some_and(|(name, process)| {
            is_ours(name)
                && !process.is_empty()
                && process.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let found = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(is_leftover);
    found
        .filter(|path| is_unused(path) && fs::remove_file(path).is_ok())
        .collect()
}

/// Returns why other users could change a file, and a remedy;
/// `None` if they could not.
///
/// The file, a link to it, and the folders of both must belong to this user or to root and be
/// writable by their owner alone. In a folder with the sticky bit, others can replace no file.
pub(super) fn why_writable_by_others(path: &Path) -> Option<String> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let ours = [0, rustix::process::geteuid().as_raw()];
    let link = fs::symlink_metadata(path)
        .ok()
        .filter(fs::Metadata::is_symlink)
        .map(|link| (path.to_owned(), link));
    let others = [&target, folder_of(&target), folder_of(path)]
        .map(|path| Some((path.to_owned(), fs::metadata(path).ok()?)));
    for (path, found) in link.into_iter().chain(others.into_iter().flatten()) {
        if !ours.contains(&found.uid()) {
            return Some(format!("{} belongs to another user", path.display()));
        }
        let mode = found.mode() & 0o7777;
        let is_sticky = found.is_dir() && mode & 0o1000 != 0;
        if mode & 0o022 != 0 && !found.is_symlink() && !is_sticky {
            let kind = if found.is_dir() { "folder" } else { "file" };
            return Some(format!(
                "other users may write the {kind} {0} (mode {mode:04o}); chmod go-w {0}",
                path.display()
            ));
        }
    }
    None
}

/// Returns what helps against an error of the configuration file.
pub(crate) fn config_hint(error: &str) -> &'static str {
    if error.contains("; chmod ") {
        "run that chmod"
    } else {
        "sentbox config edit"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn pipe_without_other_end_is_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let mut write = OpenOptions::new();
        for error in [
            read_regular(&pipe, 9).unwrap_err(),
            open_regular(&pipe, write.write(true)).unwrap_err(),
            open_regular(&pipe, write.read(true)).unwrap_err(),
            open_private_append(&pipe).unwrap_err(),
        ] {
            let message = error.to_string();
            assert!(
                message.contains("pipe") || message.contains("regular"),
                "{message}"
            );
        }
        let text = io::read_to_string(open_to_read(&pipe).unwrap()).unwrap();
        assert_eq!(text, "", "and its reader does not wait");
        // A log may go to a pipe that is read, such as the standard output of a container.
        let reader = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&pipe)
            .unwrap();
        let mut log = open_private_append(&pipe).unwrap();
        log.write_all(b"line").unwrap();
        let mut line = [0; 4];
        (&reader).read_exact(&mut line).unwrap();
        assert_eq!(&line, b"line");
    }

    #[test]
    fn larger_file_is_not_read() {
        assert_eq!(read_at_most(&[0; 9][..], 9).unwrap().len(), 9);
        let error = read_at_most(io::repeat(0), 2 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 2 MB");
    }

    #[test]
    fn secret_file_is_private_in_open_directory() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("keys");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        let path = folder.join("acme");
        write_secret(&path, "one").unwrap();
        write_secret(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&folder), 0o700);
        let files = fs::read_dir(&folder).unwrap().count();
        assert_eq!(files, 1, "nothing else is left there");
    }

    #[test]
    fn replaced_file_keeps_mode_and_symlink() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("real.toml"), dir.path().join("config.toml"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace_file(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(mode(&file), 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn file_that_others_may_write_is_recognised() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("sentbox");
        let path = folder.join("config.toml");
        fs::create_dir(&folder).unwrap();
        fs::write(&path, "").unwrap();
        let set =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        for (of_folder, of_file, expected) in [
            (0o700, 0o600, None),
            (0o755, 0o644, None),
            (0o1777, 0o644, None),
            (0o755, 0o666, Some("mode 0666")),
            (0o755, 0o664, Some("mode 0664")),
            (0o777, 0o600, Some("mode 0777")),
            (0o770, 0o600, Some("mode 0770")),
        ] {
            set(&folder, of_folder);
            set(&path, of_file);
            let why = why_writable_by_others(&path);
            let is_named = why
                .as_ref()
                .zip(expected)
                .map(|(why, mode)| why.contains(mode));
            assert_eq!(why.is_some(), expected.is_some(), "{expected:?}: {why:?}");
            assert!(is_named.unwrap_or(true), "{expected:?}: {why:?}");
        }
        let elsewhere = dir.path().join("link.toml");
        std::os::unix::fs::symlink(&path, &elsewhere).unwrap();
        let why = why_writable_by_others(&elsewhere).unwrap();
        assert!(why.contains("mode 0770"), "the folder behind a link counts");
        assert_eq!(config_hint(&why), "run that chmod");
    }

    #[test]
    fn leftover_of_same_process_number_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let name = format!(".config.toml.{}", std::process::id());
        let leftover = dir.path().join(name);
        fs::write(&leftover, "half").unwrap();
        replace_file(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(!leftover.exists());
        // One that is written now stays.
        let (_file, _) = create_temp_file(&path, 0o600).unwrap();
        let error = create_temp_file(&path, 0o600).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn leftovers_of_killed_writes_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        for name in [".acme.123", ".acme.x", ".acme.", ".other.5", "acme", ".123"] {
            fs::write(dir.path().join(name), "re_x").unwrap();
        }
        let used = fs::File::create(dir.path().join(".acme.77")).unwrap();
        used.lock().unwrap();
        let removed = remove_temp_files(dir.path(), |name| name == "acme");
        assert_eq!(removed, [dir.path().join(".acme.123")]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 6);
    }
}
