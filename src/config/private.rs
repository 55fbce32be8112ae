//! Writes files whole, and for their owner alone.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Makes a folder that is open to its owner alone, with what is missing above it. One that is
/// already there stays as it is.
///
/// # Errors
///
/// If it cannot be made.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Puts `text` in place of what the file held. Whoever reads it meanwhile sees the old text or the
/// new one, never a part; a file that was open to others keeps its mode, a new one is private.
///
/// # Errors
///
/// If it cannot be written; the old text is then still there.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link, as from a folder of dot-files, stays one: what it leads to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = fs::metadata(&path).map_or(0o600, |metadata| metadata.permissions().mode() & 0o777);
    write(&path, text, mode)
}

/// Writes a secret: as [`replace`], but nobody else may read it or its folder afterwards.
///
/// # Errors
///
/// If it cannot be written.
pub(super) fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().expect("a secret lies in a folder");
    make_folder(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    write(path, text, 0o600)
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    })();
    if written.is_err() {
        // If there is nothing to take away, all the better.
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_secret_is_its_owners_alone_even_if_the_folder_was_open() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("keys");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        let path = folder.join("acme");
        write_secret(&path, "one").unwrap();
        write_secret(&path, "two").unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path), mode(&folder)), ("two", 0o600, 0o700));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left there");
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_a_link_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("real.toml"), dir.path().join("config.toml"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("new", 0o640));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
