//! Archives of older versions: a new archive, with what the user has decided,
//! replaces one, which becomes a backup.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::db::{Connection, TransactionKind, params};
use super::error::archive_error;
use super::files::{self, FileId};
use super::tables::{create_tables, is_outdated};
use super::{connect, connect_and_check, open_for_repair, set_wal_mode};
use crate::config::lock_folder;
use crate::error::{Error, Result};

/// What is known of an archive of an older version.
pub(crate) struct OutdatedFile {
    /// The service and the fingerprint of the key.
    pub(crate) identity: Option<(String, String)>,
    /// Whether the service has listed mail of it.
    pub(crate) is_listed: bool,
}

/// Describes the file if its tables are of an older version.
/// A file that cannot be read is reported when it is opened.
pub(crate) fn find(path: &Path) -> Option<OutdatedFile> {
    let unchanged = files::unchanged_uri(path).and_then(|uri| connect_and_check(&uri).ok());
    let reader = unchanged.or_else(|| connect_and_check(&files::file_uri(path)).ok())?;
    let reader = Connection::Sqlite(reader);
    is_outdated(&reader).ok()?.then(|| OutdatedFile {
        identity: read_identity(&reader),
        // Before version 8 the table had another name.
        is_listed: reader
            .value("SELECT EXISTS (SELECT 1 FROM covered_range)", [])
            .unwrap_or(true),
    })
}

/// Whether the file has the name of a backup of an older version.
pub(crate) fn is_backup(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| files::is_numbered(extension, "old"))
}

/// Returns the error for a file of an older version.
pub(super) fn outdated_error(path: &Path) -> Error {
    let message = "the archive was written by an older version of sentbox";
    archive_error(
        message,
        if is_backup(path) {
            "it is the backup of one that was replaced: leave out the end of its name to open the new one; that version of sentbox reads it"
        } else {
            "sync with its key, or import if it has none, replaces it by a new one and keeps it as a backup; that version of sentbox reads it"
        },
    )
}

fn read_identity(old: &Connection) -> Option<(String, String)> {
    let query = "SELECT service, key_fingerprint FROM identity";
    let identity = old.optional(query, [], |row| Ok((row.get()?, row.get()?)));
    identity.ok().flatten()
}

/// An archive of an older version that was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReplacedFile {
    pub(crate) backup: PathBuf,
    /// Whether it is not known any more which mail was purged.
    pub(crate) loses_purged: bool,
}

/// Replaces the file by an archive without mail if its tables are of an older version.
///
/// Of several processes one does that. No process has the old file open meanwhile: it could use the
/// write-ahead log of the new one.
pub(crate) fn replace(path: &Path) -> Result<Option<ReplacedFile>> {
    let _lock = lock_folder(path);
    let file_id = FileId::from_path(path);
    // Another process may have replaced it while this one waited for the lock.
    if find(path).is_none() {
        return Ok(None);
    }
    let source = open_for_repair(path, false)?;
    if !is_outdated(&source)? || FileId::from_path(path) != file_id {
        return Ok(None);
    }
    let new = path.with_added_extension(format!("new{}", std::process::id()));
    let decisions = Decisions::read(&source);
    let backup = create(&new, &decisions)
        .and_then(|()| files::replace_file(path, &new, "old"))
        .inspect_err(|_| remove_file(&new))?;
    // Its lock keeps other processes out until the new file has its name.
    drop(source);
    files::remove_empty_log(&backup);
    Ok(Some(ReplacedFile {
        backup,
        loses_purged: decisions.purged.is_none(),
    }))
}

/// Creates an archive that has no log when this returns.
fn create(path: &Path, decisions: &Decisions) -> Result<()> {
    files::create_private(path)?;
    let writer = connect(&files::file_uri(path))?;
    set_wal_mode(&writer)?;
    let writer = Connection::Sqlite(writer);
    create_tables(&writer)?;
    decisions.write(&writer)
}

/// What a user has decided about an archive, and no service can give again.
struct Decisions {
    /// Numbers and hashes of purged emails; `None` if there are some that cannot be read.
    purged: Option<Vec<(Option<i64>, Vec<u8>)>>,
    cutoff: Option<i64>,
    retention: Option<i64>,
    left_out_old: bool,
    /// The service and the fingerprint of the key.
    identity: Option<(String, String)>,
}

impl Decisions {
    /// Reads what has the same columns as now.
    fn read(old: &Connection) -> Self {
        let column = |name: &str| {
            let query = format!("SELECT {name} FROM listing");
            old.value::<Option<i64>>(&query, []).ok().flatten()
        };
        Self {
            purged: read_purged(old),
            cutoff: column("cutoff"),
            retention: column("retention"),
            left_out_old: column("left_out_old") == Some(1),
            identity: read_identity(old),
        }
    }

    fn write(&self, new: &Connection) -> Result<()> {
        let change = new.begin(TransactionKind::Write)?;
        let query = "UPDATE listing SET cutoff = ?1, retention = ?2, left_out_old = ?3";
        change.execute(
            query,
            params![self.cutoff, self.retention, self.left_out_old],
        )?;
        let mut purged =
            change.prepare_cached("INSERT INTO purged (number, id_hash) VALUES (?1, ?2)")?;
        for (number, id_hash) in self.purged.iter().flatten() {
            purged.execute(params![number, id_hash])?;
        }
        drop(purged);
        if let Some((service, fingerprint)) = &self.identity {
            let query = "INSERT INTO identity (service, key_fingerprint) VALUES (?1, ?2)";
            change.execute(query, params![service, fingerprint])?;
        }
        change.commit()
    }
}

/// Reads the purged emails; `None` if there are some that cannot be read.
fn read_purged(old: &Connection) -> Option<Vec<(Option<i64>, Vec<u8>)>> {
    let read = |number: &str| {
        let query = format!("SELECT {number}, id_hash FROM purged");
        old.all(&query, [], |row| Ok((row.get()?, row.get()?)))
    };
    // Before version 14 they had no numbers, before 8 another table, and at first there were none.
    let purged = read("number").or_else(|_| read("NULL"));
    let has_some = |query| old.value::<bool>(query, []).unwrap_or(false);
    let is_lost = || {
        has_some("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'purged')")
            || has_some("SELECT EXISTS (SELECT 1 FROM removed)")
            || has_some("SELECT horizon IS NOT NULL FROM listing")
    };
    purged.ok().or_else(|| (!is_lost()).then(Vec::new))
}

fn remove_file(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(files::sidecar_path(path, suffix));
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::tables::VERSION;
    use super::*;
    use crate::archive::PurgeTarget;
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
    fn new_archive_is_not_replaced_again() {
        let (folder, path) = old_archive();
        let backup = replace(&path).unwrap().unwrap().backup;
        import_lines(&open_file(&path), [MAIL, MAIL], Timestamp::UNIX_EPOCH);
        assert_eq!(replace(&path).unwrap(), None);
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
        let backup = replace(&copy).unwrap().unwrap().backup;
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
    fn decisions_of_user_outlive_the_version() {
        let without_number = "CREATE TABLE kept AS SELECT id_hash FROM purged; DROP TABLE purged; \
            CREATE TABLE purged (id_hash BLOB PRIMARY KEY) STRICT, WITHOUT ROWID; \
            INSERT INTO purged SELECT id_hash FROM kept; PRAGMA user_version = 12";
        for old_tables in ["", without_number] {
            let (_folder, path) = old_archive();
            change(&path, &format!("PRAGMA user_version = {VERSION}"));
            let to = PurgeTarget::To("a@b.example".to_owned());
            open_file(&path).purge(&to).unwrap();
            change(
                &path,
                "UPDATE listing SET cutoff = 7, retention = 8, left_out_old = 1; \
                 INSERT INTO identity VALUES ('s', 'k'); PRAGMA user_version = 19",
            );
            change(&path, old_tables);
            let replaced = replace(&path).unwrap().unwrap();
            assert!(!replaced.loses_purged);
            let kept = "SELECT count(*) FROM listing, identity WHERE cutoff = 7 AND retention = 8 \
                AND left_out_old = 1 AND service = 's' AND key_fingerprint = 'k'";
            assert_eq!(count(&path, kept), 1);
            let imported = import_lines(&open_file(&path), [MAIL], Timestamp::UNIX_EPOCH);
            assert_eq!(imported.new, 0, "it was purged");
        }
    }

    #[test]
    fn purges_that_cannot_be_read_are_reported() {
        for (old_tables, is_lost) in [
            ("DROP TABLE purged", false),
            ("DROP TABLE purged; CREATE TABLE removed (mark)", false),
            (
                "DROP TABLE purged; CREATE TABLE removed (mark); INSERT INTO removed VALUES (1)",
                true,
            ),
            ("ALTER TABLE purged RENAME id_hash TO hash", true),
            (
                "DROP TABLE purged; ALTER TABLE listing ADD horizon INTEGER; UPDATE listing SET horizon = 1",
                true,
            ),
        ] {
            let (_folder, path) = old_archive();
            change(&path, old_tables);
            let replaced = replace(&path).unwrap().unwrap();
            assert_eq!(replaced.loses_purged, is_lost, "{old_tables}");
        }
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
