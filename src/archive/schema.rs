//! The tables, and the steps that lead from an older version of them to this one.

use rusqlite::{Connection, TransactionBehavior};

use crate::failure::{Failure, Kind};

/// Step `n` leads from version `n` to version `n + 1`; a step that was released never changes.
const STEPS: [&str; 4] =
    [include_str!("schema/1.sql"), include_str!("schema/2.sql"), include_str!("schema/3.sql"), include_str!("schema/4.sql")];

/// The version that this program reads and writes.
const VERSION: u32 = STEPS.len() as u32;

/// Brings the tables to this version, in one transaction, so that a crash leaves the old ones.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Failure> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again: another process may have migrated while this one waited for the lock.
    let from = version(&change)?;
    let Some(steps) = usize::try_from(from).ok().and_then(|from| STEPS.get(from..)) else { return Err(newer(from)) };
    for step in steps {
        change.execute_batch(step)?;
    }
    change.pragma_update(None, "user_version", VERSION)?;
    change.commit()?;
    Ok(())
}

/// Refuses tables of a newer version, before anything of their file is changed.
pub(super) fn is_known(connection: &Connection) -> Result<(), Failure> {
    match version(connection)? {
        0..=VERSION => Ok(()),
        from => Err(newer(from)),
    }
}

fn newer(from: u32) -> Failure {
    Failure::new(Kind::Archive, format!("the archive was written by a newer version of sentbox (format {from})"))
        .hint("update sentbox; or sentbox archive begin puts it aside and begins a new one")
}

/// The version of the tables behind `connection`.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_becomes_this_version_and_stays_it() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        migrate(&mut connection).unwrap();
        assert_eq!(version(&connection).unwrap(), VERSION);
        connection.execute("INSERT INTO shape (names) VALUES ('[]')", []).unwrap();
    }

    #[test]
    fn a_newer_archive_is_refused_and_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
        let failure = migrate(&mut connection).unwrap_err();
        assert_eq!(failure.kind, Kind::Archive);
        assert!(failure.sentence.contains("newer version"), "{failure}");
        assert_eq!(version(&connection).unwrap(), VERSION + 1);
    }

    #[test]
    fn a_step_that_fails_leaves_nothing_behind() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE mail (odd INTEGER)").unwrap();
        migrate(&mut connection).unwrap_err();
        assert_eq!(version(&connection).unwrap(), 0);
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, 1, "only the table that was in the way");
    }
}
