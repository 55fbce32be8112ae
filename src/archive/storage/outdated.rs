//! Archives of older versions: a new archive replaces one, which becomes a backup.

use std::fs;
use std::path::{Path, PathBuf};

use super::db::Connection;
use super::files::{self, FileId};
use super::tables::{create_tables, is_outdated};
use super::{connect, connect_and_check, open_for_repair, set_wal_mode};
use crate::config::lock_folder;
use crate::error::Result;

/// Replaces the file by an archive without mail if its tables are of an older version;
/// returns the backup.
///
/// Of several processes one does that. No process has the old file open meanwhile: it could use the
/// write-ahead log of the new one.
pub(super) fn replace(path: &Path) -> Result<Option<PathBuf>> {
    let _lock = lock_folder(path);
    let file_id = FileId::from_path(path);
    // Another process may have replaced it while this one waited for the lock.
    if !has_old_tables(path) {
        return Ok(None);
    }
    let source = open_for_repair(path, false)?;
    if !is_outdated(&source)? || FileId::from_path(path) != file_id {
        return Ok(None);
    }
    let new = path.with_added_extension("new");
    remove_file(&new);
    let backup = create(&new)
        .and_then(|()| files::replace_file(path, &new, "old"))
        .inspect_err(|_| remove_file(&new))?;
    // Its lock keeps other processes out until the new file has its name.
    drop(source);
    files::remove_empty_log(&backup);
    Ok(Some(backup))
}

/// Whether the tables are of an older version.
/// A file that cannot be read is reported when it is opened.
fn has_old_tables(path: &Path) -> bool {
    let unchanged = files::unchanged_uri(path).and_then(|uri| connect_and_check(&uri).ok());
    let reader = unchanged.map_or_else(|| connect_and_check(&files::file_uri(path)), Ok);
    reader.is_ok_and(|reader| is_outdated(&Connection::Sqlite(reader)).unwrap_or(false))
}

/// Creates an archive that has no log when this returns.
fn create(path: &Path) -> Result<()> {
    files::create_private(path)?;
    let writer = connect(&files::file_uri(path))?;
    set_wal_mode(&writer)?;
    create_tables(&Connection::Sqlite(writer))
}

fn remove_file(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(files::sidecar_path(path, suffix));
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::archive::tests::{import_lines, open_file, temp_path};

    const MAIL: &str = r#"{"id":"a","to":["a@b.example"],"subject":"Hello","created_at":"2026-11-20T09:00:00Z","last_event":"sent"}"#;

    fn change(path: &Path, sql: &str) {
        let conn = rusqlite::Connection::open(path).unwrap();
        conn.execute_batch(sql).unwrap();
    }

    fn count(path: &Path, sql: &str) -> i64 {
        let conn = rusqlite::Connection::open(path).unwrap();
        conn.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// An archive of version 19 with one email, closed.
    fn old_archive() -> (tempfile::TempDir, PathBuf) {
        let (folder, path) = temp_path("archive.sqlite");
        import_lines(&open_file(&path), [MAIL], Timestamp::UNIX_EPOCH);
        change(&path, "PRAGMA user_version = 19");
        (folder, path)
    }

    #[test]
    fn second_process_leaves_new_archive_in_place() {
        let (folder, path) = old_archive();
        let backup = replace(&path).unwrap().unwrap();
        import_lines(&open_file(&path), [MAIL, MAIL], Timestamp::UNIX_EPOCH);
        assert_eq!(replace(&path).unwrap(), None, "it saw the old version, too");
        let mail = "SELECT count(*) FROM mail";
        assert_eq!((count(&backup, mail), count(&path, mail)), (1, 1));
        assert_eq!(count(&backup, "PRAGMA user_version"), 19);
        let files = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files, 2, "no log and no unfinished file");
    }

    #[test]
    fn log_of_old_archive_goes_with_it() {
        let (_folder, path) = old_archive();
        let old = rusqlite::Connection::open(&path).unwrap();
        old.execute_batch("PRAGMA wal_autocheckpoint = 0; UPDATE listing SET max_page_len = 7")
            .unwrap();
        // What a process leaves that is killed.
        let copy = path.with_extension("copy");
        for suffix in ["", "-wal"] {
            let [from, to] = [&path, &copy].map(|path| files::sidecar_path(path, suffix));
            fs::copy(from, to).unwrap();
        }
        drop(old);
        let backup = replace(&copy).unwrap().unwrap();
        let length = "SELECT max_page_len FROM listing";
        assert_eq!((count(&backup, length), count(&copy, length)), (7, 0));
    }

    #[test]
    fn old_archive_in_use_stays() {
        let (_folder, path) = old_archive();
        let old = rusqlite::Connection::open(&path).unwrap();
        old.execute_batch("BEGIN; SELECT count(*) FROM mail")
            .unwrap();
        let error = replace(&path).unwrap_err();
        assert!(error.message.contains("another program"), "{error}");
        drop(old);
        assert_eq!(count(&path, "PRAGMA user_version"), 19);
    }

    #[test]
    fn backup_replaces_no_other_file() {
        let (_folder, path) = old_archive();
        let is_taken = std::cell::Cell::new(false);
        let backup = files::create_unused(&path, "old", |name| {
            if !is_taken.replace(true) {
                fs::write(name, "of another process").unwrap();
            }
            fs::hard_link(&path, name)
        });
        assert_eq!(backup.unwrap(), path.with_added_extension("old2"));
        let other = fs::read(path.with_added_extension("old1")).unwrap();
        assert_eq!(other, b"of another process");
    }
}
