//! Files of archives: private ones, deleted ones, and those on a full disk.

use super::*;
use crate::archive::tests::temp_path;
use crate::text::checks::TextChecks as _;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn symbolic_link_leaves_mode_of_target() {
    let dir = tempfile::tempdir().unwrap();
    let (target, link) = (dir.path().join("letter"), dir.path().join("archive.sqlite"));
    let mode = || std::fs::metadata(&target).unwrap().permissions().mode() & 0o777;
    std::fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    std::fs::set_permissions(&target, Permissions::from_mode(0o644)).unwrap();
    let error = Connections::open_on_disk(&link)
        .err()
        .expect("others may read it");
    error.message.assert_contains("symbolic link");
    error.hint.assert_contains("chmod 600");
    assert_eq!((mode(), std::fs::read(&target).unwrap().len()), (0o644, 0));
    std::fs::set_permissions(&target, Permissions::from_mode(0o600)).unwrap();
    assert!(
        Connections::open_on_disk(&link).is_ok(),
        "a link to a private file is one's own affair"
    );
}

#[test]
fn broken_link_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("archive.sqlite");
    for target in [&dir.path().join("missing/archive"), &link] {
        std::os::unix::fs::symlink(target, &link).unwrap();
        let error = Connections::open_on_disk(&link).map(drop).unwrap_err();
        assert!(error.message.contains("is a symbolic link to"), "{error}");
        let hint = format!("correct or remove the link {}", link.display());
        assert_eq!(error.hint, hint);
        assert_eq!(files::check_link(&link), Err(error), "as doctor reports it");
        std::fs::remove_file(&link).unwrap();
    }
    std::os::unix::fs::symlink("new", &link).unwrap();
    assert!(
        Connections::open_on_disk(&link).is_ok(),
        "a file can be created there"
    );
}

#[test]
fn deleted_archive_is_reported_and_not_created() {
    let (_dir, path) = temp_path("archive.sqlite");
    let connections = Connections::open_on_disk(&path).unwrap();
    lock(&connections.idle_readers).clear();
    std::fs::remove_file(&path).unwrap();
    let error = connections.read(read_version).unwrap_err();
    let expected = "the archive file was removed: new mail is not stored";
    assert_eq!(error.message, expected);
    assert!(!path.exists());
}

#[test]
fn full_disk_leaves_a_readable_archive() {
    let (_dir, path) = temp_path("archive.sqlite");
    drop(Connections::open_on_disk(&path).unwrap());
    // What an attempt to open it leaves.
    std::fs::write(files::sidecar_path(&path, "-wal"), "").unwrap();
    let shm = files::sidecar_path(&path, "-shm");
    std::fs::write(&shm, "abc").unwrap();
    let opened = Connections::open_read_only(&path, ReadOnlyCause::DiskFull).unwrap();
    let connections = opened.unwrap();
    assert_eq!(connections.read(read_version).unwrap(), tables::VERSION);
    assert!(connections.is_disk_full());
    let error = connections.write(|_| Ok(())).unwrap_err();
    assert!(error.message.starts_with("the disk is full"), "{error}");
    assert_eq!(std::fs::read_to_string(&shm).unwrap(), "abc");
}

#[test]
fn public_archive_becomes_private() {
    let (_dir, path) = temp_path("archive.sqlite");
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    assert!(Connections::open_on_disk(&path).is_ok());
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn database_of_another_program_stays_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    for (version, table) in [(0, "letters"), (0, "mail"), (5, "mail"), (18, "letters")] {
        let path = dir.path().join(format!("{table}{version}"));
        let other = rusqlite::Connection::open(&path).unwrap();
        let sql = format!("CREATE TABLE {table} (text); PRAGMA user_version = {version}");
        other.execute_batch(&sql).unwrap();
        drop(other);
        let location = ArchiveLocation::Disk(path.clone());
        for mode in [0o644, 0o600, 0o400] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let state = || {
                let file = std::fs::metadata(&path).unwrap();
                let names = std::fs::read_dir(dir.path()).unwrap().count();
                (
                    file.permissions().mode() & 0o777,
                    std::fs::read(&path).unwrap(),
                    names,
                )
            };
            let before = state();
            for opened in [
                Connections::open_on_disk(&path).map(drop),
                Connections::open_copy(&location).map(drop),
            ] {
                let message = opened.unwrap_err().message;
                assert_eq!(
                    message,
                    "the archive file is not an archive",
                    "{}",
                    path.display()
                );
            }
            assert!(crate::archive::is_unusable(&path) && crate::archive::is_no_archive(&path));
            assert!(state() == before, "{} {mode:o}", path.display());
        }
    }
}
