//! The version of the tables, and how a new archive gets them.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Error, ErrorKind, Result};

/// The version that this program reads and writes. The tables may change with each version: an older
/// archive is moved to a backup, and its mail is fetched again.
const VERSION: u32 = 8;

/// The version of a file in relation to this program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaVersion {
    /// No tables yet, or those of this version.
    Current,
    /// Tables of an older version.
    Outdated,
}

/// Creates the tables if there are none, in one transaction.
pub(crate) fn create_tables(conn: &mut Connection) -> Result<()> {
    let change = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read under the lock: another process may have created them meanwhile.
    if read_version(&change)? == 0 {
        change.execute_batch(include_str!("../schema.sql"))?;
        change.pragma_update(None, "user_version", VERSION)?;
    }
    change.commit()?;
    Ok(())
}

/// Whether the tables exist already.
pub(crate) fn has_tables(conn: &Connection) -> Result<bool> {
    Ok(read_version(conn)? != 0)
}

/// Compares the version of the file; a newer one is an error. Changes nothing.
pub(crate) fn check_version(conn: &Connection) -> Result<SchemaVersion> {
    match read_version(conn)? {
        0 | VERSION => Ok(SchemaVersion::Current),
        1..VERSION => Ok(SchemaVersion::Outdated),
        newer => Err(Error::new(
            ErrorKind::Archive,
            format!("the archive was written by a newer version of sentbox (format {newer})"),
        )
        .with_hint(
            "update sentbox; or sentbox archive begin moves it to a backup and creates a new one",
        )),
    }
}

/// Reads the version of the tables.
pub(crate) fn read_version(conn: &Connection) -> rusqlite::Result<u32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_file_gets_the_tables_once() {
        let mut conn = Connection::open_in_memory().unwrap();
        assert!(!has_tables(&conn).unwrap());
        create_tables(&mut conn).unwrap();
        create_tables(&mut conn).unwrap();
        assert_eq!(
            (read_version(&conn).unwrap(), check_version(&conn).unwrap()),
            (VERSION, SchemaVersion::Current)
        );
        conn.execute("INSERT INTO key_order (keys) VALUES ('[]')", [])
            .unwrap();
    }

    #[test]
    fn newer_tables_are_refused_and_older_recognised() {
        let conn = Connection::open_in_memory().unwrap();
        conn.pragma_update(None, "user_version", VERSION + 1)
            .unwrap();
        let failure = check_version(&conn).unwrap_err();
        assert!(
            failure.kind == ErrorKind::Archive && failure.message.contains("newer version"),
            "{failure}"
        );
        conn.pragma_update(None, "user_version", VERSION - 1)
            .unwrap();
        assert_eq!(check_version(&conn).unwrap(), SchemaVersion::Outdated);
    }

    #[test]
    fn failed_creation_leaves_nothing_behind() {
        let mut conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE mail (extra_json INTEGER)")
            .unwrap();
        create_tables(&mut conn).unwrap_err();
        assert!(!has_tables(&conn).unwrap());
        let tables: i64 = conn
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .unwrap();
        assert_eq!(tables, 1, "only the table that existed before");
    }
}
