//! The tables of an archive: their version, and whether there are any.

use super::db::postgres::PostgresServer;
use super::db::{Connection, Transaction, TransactionKind};
use super::error::{archive_error, not_archive_error};
use super::files;
use crate::config::ArchiveLocation;
use crate::error::{Error, ErrorKind, Result};

/// The version that this program reads and writes.
/// The tables may change with each version: an older archive is moved to a backup, and its mail is
/// fetched again.
pub(crate) const VERSION: u32 = 21;

/// The version of a copy that is not complete: see `archive/copy.rs`.
pub(crate) const INCOMPLETE_COPY: u32 = 1_000_000 + VERSION;

/// How much is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RowCounts {
    pub(crate) emails: u64,
    /// Emails whose bodies and tags are known.
    pub(crate) bodies: u64,
}

/// Reads how much is stored, which triggers count.
pub(crate) fn count_rows(conn: &Connection) -> Result<RowCounts> {
    conn.one("SELECT emails, bodies FROM row_counts", [], |row| {
        let [emails, bodies] = [row.get::<i64>()?, row.get()?].map(i64::unsigned_abs);
        Ok(RowCounts { emails, bodies })
    })
}

/// Creates the tables if there are none, in one transaction.
pub(crate) fn create_tables(conn: &Connection) -> Result<()> {
    create_tables_as(conn, VERSION)
}

pub(super) fn create_tables_as(conn: &Connection, version: u32) -> Result<()> {
    let change = conn.begin(TransactionKind::Write)?;
    check_is_archive(&change)?;
    // Read under the lock: another process may have created them meanwhile.
    if read_version(&change)? == 0 {
        if change.is_postgres() {
            check_encoding(&change)?;
            change.execute_batch(include_str!("../postgres.sql"))?;
            if version == INCOMPLETE_COPY {
                // At the end it takes a fraction of the time.
                change.execute_batch("DROP INDEX search_tokens")?;
            }
        } else {
            change.execute_batch(include_str!("../schema.sql"))?;
        }
        set_version(&change, version)?;
    }
    change.commit()
}

/// Lets a server give numbers after those that were copied.
pub(crate) fn advance_numbers(tx: &Transaction) -> Result<()> {
    if !tx.is_postgres() {
        return Ok(());
    }
    for (table, key) in [
        ("key_order", "key_order_id"),
        ("dictionary", "id"),
        ("interned", "id"),
    ] {
        let query = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', '{key}'), max({key})) FROM {table} HAVING max({key}) IS NOT NULL"
        );
        tx.optional(&query, [], |_| Ok(()))?;
    }
    Ok(())
}

/// Makes a copy an archive that can be opened.
pub(crate) fn complete_copy(conn: &Connection) -> Result<()> {
    if !conn.is_postgres() {
        return set_version(conn, VERSION);
    }
    let change = conn.begin(TransactionKind::Write)?;
    change
        .execute_batch("CREATE INDEX IF NOT EXISTS search_tokens ON search USING gin (tokens)")?;
    set_version(&change, VERSION)?;
    change.commit()?;
    if let Err(error) = vacuum(conn) {
        tracing::warn!(%error, "a copy was not vacuumed");
    }
    Ok(())
}

pub(crate) fn set_version(conn: &Connection, version: u32) -> Result<()> {
    if conn.is_postgres() {
        return conn.execute("UPDATE format SET version = ?1", [version]);
    }
    Ok(conn
        .sqlite()?
        .pragma_update(None, "user_version", version)?)
}

/// Vacuums the tables of an archive on a server, if they belong to this role;
/// others are left to the server.
fn vacuum(writer: &Connection) -> Result<()> {
    if is_owner(writer)? {
        writer.execute_batch(
            "VACUUM (ANALYZE) mail, body, search, status_history, confirmed_run, interned, dictionary, dirty",
        )?;
    }
    Ok(())
}

/// Rewrites the file without deleted rows and empties the write-ahead log;
/// false if another process keeps the log from being emptied. Vacuums the tables of a server.
pub(crate) fn compact(writer: &Connection) -> Result<bool> {
    if writer.is_postgres() {
        vacuum(writer)?;
        return Ok(true);
    }
    // The copy may be too large for memory.
    writer.execute_batch("PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY")?;
    let busy: bool = writer.value("PRAGMA wal_checkpoint(TRUNCATE)", [])?;
    Ok(!busy)
}

/// Whether the tables of an archive on a server belong to this role.
pub(crate) fn is_owner(conn: &Connection) -> Result<bool> {
    let query = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'mail'::regclass";
    conn.value(query, [])
}

/// Whether there is an archive; creates none.
pub(crate) fn exists(location: &ArchiveLocation) -> Result<bool> {
    match location {
        ArchiveLocation::Disk(path) => files::exists(path),
        ArchiveLocation::Server(url) => has_tables(&PostgresServer::new(url)?.connect()?),
        ArchiveLocation::Memory => Ok(false),
    }
}

pub(crate) fn has_tables(conn: &Connection) -> Result<bool> {
    Ok(read_version(conn)? != 0)
}

/// Fails if the database is that of another program:
/// it has tables, and not those of an archive.
fn check_is_archive(conn: &Connection) -> Result<()> {
    if conn.is_postgres() {
        return Ok(());
    }
    // Every version has these two tables, and sets the number of its version together with them.
    let query = "SELECT user_version, (SELECT count(*) FROM sqlite_schema),
        (SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('mail', 'listing'))
        FROM pragma_user_version";
    let counts = conn.one(query, [], |row| Ok([row.get()?, row.get()?, row.get()?]))?;
    match counts {
        [0, 0, _] => Ok(()),
        [version, _, 2] if version != 0 => Ok(()),
        [_, _, _] => Err(not_archive_error(
            "it is a database of another program: name another file; sentbox archive begin moves this one to a backup",
        )),
    }
}

/// Whether the tables are of an older version;
/// a newer one, or a file of another program, is an error. Changes nothing.
pub(crate) fn is_outdated(conn: &Connection) -> Result<bool> {
    check_is_archive(conn)?;
    match read_version(conn)? {
        0 | VERSION => Ok(false),
        1..VERSION => Ok(true),
        INCOMPLETE_COPY => Err(archive_error(
            "the archive is a copy that is not complete",
            "run the command that makes the copy again: it goes on",
        )),
        newer => Err(Error::new(
            ErrorKind::Archive,
            format!("the archive was written by a newer version of sentbox (format {newer})"),
        )
        .with_hint(if conn.is_postgres() {
            "update sentbox; or name another schema in its address"
        } else {
            "update sentbox; or sentbox archive begin moves it to a backup and creates a new one"
        })),
    }
}

pub(crate) fn read_version(conn: &Connection) -> Result<u32> {
    if conn.is_postgres() {
        let exists = "SELECT to_regclass('format') IS NOT NULL";
        if !conn.value::<bool>(exists, [])? {
            return Ok(0);
        }
        return conn.value("SELECT version FROM format", []);
    }
    conn.value("PRAGMA user_version", [])
}

/// Fails if the database cannot store every text.
fn check_encoding(conn: &Connection) -> Result<()> {
    let encoding: String = conn.value("SELECT current_setting('server_encoding')", [])?;
    if encoding == "UTF8" {
        return Ok(());
    }
    Err(archive_error(
        format!("the database stores text as {encoding}"),
        "the archive needs one of UTF-8: createdb --encoding UTF8 --template template0",
    ))
}

/// Whether the archive may be written:
/// neither on a standby, nor by a role that may only read.
pub(crate) fn is_writable(conn: &Connection) -> Result<bool> {
    let query = "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' \
                 AND has_table_privilege('mail', 'INSERT')";
    conn.value(query, [])
}

/// Whether the server is set to record who opens which email:
/// for the role, the database, or all. What a connection sets itself counts only where the server
/// sets nothing.
pub(super) fn is_audited(conn: &Connection) -> Result<bool> {
    let query = "SELECT coalesce(
            (SELECT split_part(setting, '=', 2)
                FROM pg_db_role_setting, unnest(setconfig) AS setting
                WHERE setrole IN (0, to_regrole(quote_ident(session_user))::oid)
                    AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
                    AND setting ILIKE 'sentbox.audit=%'
                ORDER BY setrole = 0, setdatabase = 0 LIMIT 1),
            current_setting('sentbox.audit', true),
            '') = 'on'";
    conn.value(query, [])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_tables_are_refused_and_older_recognised() {
        let conn = Connection::in_memory();
        create_tables(&conn).unwrap();
        let sqlite = conn.sqlite().unwrap();
        sqlite
            .pragma_update(None, "user_version", VERSION + 1)
            .unwrap();
        let error = is_outdated(&conn).unwrap_err();
        assert!(
            error.kind == ErrorKind::Archive
                && error.message.contains("newer version of sentbox (format "),
            "{error}"
        );
        sqlite
            .pragma_update(None, "user_version", VERSION - 1)
            .unwrap();
        assert!(is_outdated(&conn).unwrap());
    }

    #[test]
    fn failed_creation_leaves_nothing_behind() {
        let conn = Connection::in_memory();
        conn.execute_batch("CREATE TABLE mail (extra_json INTEGER)")
            .unwrap();
        create_tables(&conn).unwrap_err();
        assert!(!has_tables(&conn).unwrap());
        let tables: i64 = conn
            .value("SELECT count(*) FROM sqlite_schema", [])
            .unwrap();
        assert_eq!(tables, 1, "only the table that existed before");
    }
}
