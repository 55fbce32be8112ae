//! The tables, and the steps that lead from an older version of them to this one.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::convert;
use super::upkeep::Upkeep;
use crate::failure::{Failure, Kind};

/// Step `n` leads from version `n` to version `n + 1`; a step that was released never changes.
const STEPS: [Step; 6] = [
    |change, _| Ok(change.execute_batch(include_str!("schema/1.sql"))?),
    |change, _| Ok(change.execute_batch(include_str!("schema/2.sql"))?),
    |change, _| Ok(change.execute_batch(include_str!("schema/3.sql"))?),
    |change, _| Ok(change.execute_batch(include_str!("schema/4.sql"))?),
    |change, tell| {
        change.execute_batch(include_str!("schema/5.sql"))?;
        convert::convert(change, tell)?;
        Ok(change.execute_batch(include_str!("schema/5-filled.sql"))?)
    },
    |change, _| Ok(change.execute_batch(include_str!("schema/6.sql"))?),
];

type Step = fn(&Transaction, &mut dyn FnMut(Upkeep)) -> Result<(), Failure>;

/// The version that this program reads and writes.
const VERSION: u32 = STEPS.len() as u32;

/// Brings the tables to this version, in one transaction, so that a crash leaves the old ones.
pub(super) fn migrate(connection: &mut Connection, tell: &mut dyn FnMut(Upkeep)) -> Result<(), Failure> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    // A table that takes another's place must not take along what refers to that.
    // And what is sorted on the way may be too large for memory.
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA temp_store = FILE")?;
    let outcome = step_by_step(connection, tell);
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY")?;
    outcome
}

fn step_by_step(connection: &mut Connection, tell: &mut dyn FnMut(Upkeep)) -> Result<(), Failure> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again: another process may have migrated while this one waited for the lock.
    let from = version(&change)?;
    let Some(steps) = usize::try_from(from).ok().and_then(|from| STEPS.get(from..)) else { return Err(newer(from)) };
    for step in steps {
        step(&change, tell)?;
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
        migrate(&mut connection, &mut |_| ()).unwrap();
        migrate(&mut connection, &mut |_| ()).unwrap();
        assert_eq!(version(&connection).unwrap(), VERSION);
        connection.execute("INSERT INTO shape (names) VALUES ('[]')", []).unwrap();
    }

    #[test]
    fn a_newer_archive_is_refused_and_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
        let failure = migrate(&mut connection, &mut |_| ()).unwrap_err();
        assert_eq!(failure.kind, Kind::Archive);
        assert!(failure.sentence.contains("newer version"), "{failure}");
        assert_eq!(version(&connection).unwrap(), VERSION + 1);
    }

    #[test]
    fn a_step_that_fails_leaves_nothing_behind() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE mail (odd INTEGER)").unwrap();
        migrate(&mut connection, &mut |_| ()).unwrap_err();
        assert_eq!(version(&connection).unwrap(), 0);
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, 1, "only the table that was in the way");
    }
}
