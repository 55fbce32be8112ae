//! Checks whether the archive is damaged;
//! changes nothing, and never repairs ([`super::repair`] does).
//!
//! In SQL a newer email has the smaller sort key, because the tables store keys negated: a range
//! whose `top` is greater than its `bottom` is damaged.

use std::path::Path;

use rusqlite::{ErrorCode, OpenFlags};

use super::codec::body::CompressedBody;
use super::codec::row::{self, row_columns};
use super::storage::db::{Connection, Row};
use super::storage::error::{DAMAGED_FILE, damage_error, damaged_error};
use super::storage::files::read_to_end;
use super::storage::{self, Connections};
use super::{Archive, SortKey, search};
use crate::error::{ErrorKind, Result};
use crate::mail::Summary;
use crate::text::format::plural;

impl Archive {
    /// Reads the whole file and checks its structure. A large one takes seconds.
    pub(crate) fn quick_check(&self) -> Result<()> {
        let result: String = self.read(|conn| conn.value("PRAGMA quick_check", []))?;
        if result == "ok" {
            return Ok(());
        }
        Err(damage_error(DAMAGED_FILE))
    }

    /// Reads every email and body, recomputes its search tokens,
    /// and compares index and counts with them.
    ///
    /// Takes minutes for a million emails, and memory for one. `progress` gets the number of emails
    /// read.
    pub(crate) fn check_integrity(&self, progress: impl FnMut(u64)) -> Result<()> {
        let damage = self.read(|conn| find_damage(conn, progress))?;
        if damage == Damage::default() {
            Ok(())
        } else {
            Err(damage_error(format!("the archive is damaged: {damage}")))
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Damage {
    /// Database pages or indexes.
    pub(crate) in_file: bool,
    /// How many emails cannot be read.
    pub(crate) emails: u64,
    /// How many bodies cannot be read.
    pub(crate) bodies: u64,
    /// Row counts or coverage.
    pub(crate) in_counts: bool,
    /// The search index.
    pub(crate) in_index: bool,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counted = |count: u64, noun: &str| {
            (count > 0).then(|| format!("{} cannot be read", plural(count, noun)))
        };
        let stated = |is_so: bool, text: &str| is_so.then(|| text.to_owned());
        let parts = [
            stated(self.in_file, "database pages are corrupt"),
            counted(self.emails, "email"),
            counted(self.bodies, "body"),
            stated(self.in_counts, "its row counts are wrong"),
            stated(self.in_index, "its search index does not match its emails"),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// All columns that belong to one email.
const EMAILS: &str = concat!(
    "SELECT json, dictionary_id, EXISTS (SELECT 1 FROM out_of_order WHERE out_of_order.sort_key = mail.sort_key), \
     listed, status_seen_at, response_seq, confirmed_at, missing_since, mail.sort_key, fts_rowid, status_changes, ",
    row_columns!(),
    " FROM mail LEFT JOIN key_order USING (key_order_id) LEFT JOIN body USING (sort_key) ORDER BY mail.sort_key"
);

/// Counts contradictions: a range ends at an unlisted row,
/// a row refers to a missing one, or a table of one row has another number of rows.
const COUNT_CONTRADICTIONS: &str = "SELECT (SELECT count(*) FROM covered_range WHERE top > bottom OR reaches_top NOT IN (0, 1) OR reaches_end NOT IN (0, 1) \
     OR NOT EXISTS (SELECT 1 FROM mail WHERE sort_key = top AND listed = 1) \
     OR NOT EXISTS (SELECT 1 FROM mail WHERE sort_key = bottom AND listed = 1)) \
     + (SELECT count(*) FROM covered_range AS one JOIN covered_range AS other ON one.top < other.top AND one.bottom >= other.top) \
     + (SELECT count(*) FROM pragma_foreign_key_check) \
     + (SELECT iif(count(*) <> 1, 1, 0) FROM listing) + (SELECT iif(count(*) <> 1, 1, 0) FROM row_counts) + (SELECT iif(count(*) > 1, 1, 0) FROM identity) \
     + (SELECT count(*) FROM dirty)";

/// Finds what is damaged. An error of `SQLite` meanwhile counts as damage.
pub(crate) fn find_damage(conn: &Connection, progress: impl FnMut(u64)) -> Result<Damage> {
    let mut damage = Damage::default();
    let checked = conn.value::<String>("PRAGMA integrity_check(1)", []);
    damage.in_file = !checked.is_ok_and(|result| result == "ok");
    match compare_with_emails(conn, &mut damage, progress) {
        Err(error) if error.kind == ErrorKind::ArchiveDamaged || damage.in_file => {
            damage.in_file = true;
        }
        compared => compared?,
    }
    Ok(damage)
}

fn compare_with_emails(
    conn: &Connection,
    damage: &mut Damage,
    mut progress: impl FnMut(u64),
) -> Result<()> {
    let mut expected = search::IndexChecksum::new(conn)?;
    let (mut emails, mut bodies) = (0_u64, 0_u64);
    let mut statement = conn.prepare_cached(EMAILS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        emails += 1;
        progress(emails);
        let compressed = CompressedBody::read(&row)?;
        let is_out_of_order: bool = row.get()?;
        bodies += u64::from(compressed.is_some());
        let body = compressed
            .map(|compressed| compressed.to_email(conn))
            .transpose();
        damage.bodies += u64::from(body.is_err());
        let Ok((key, fts_rowid, mail)) = decode_row(&row) else {
            damage.emails += 1;
            continue;
        };
        damage.in_index |= is_out_of_order != search::is_out_of_order(key, &mail);
        let body = body.ok().flatten();
        expected.add(key, fts_rowid, mail, body.as_ref())?;
    }
    let query = "SELECT emails = ?1 AND bodies = ?2 FROM row_counts";
    let are_counts_right: bool = conn.value(query, [emails.cast_signed(), bodies.cast_signed()])?;
    let contradictions: i64 = conn.value(COUNT_CONTRADICTIONS, [])?;
    damage.in_counts = !are_counts_right || contradictions > 0;
    // An email that cannot be read has tokens that are not expected.
    damage.in_index |= damage.emails + damage.bodies == 0 && !expected.matches_index()?;
    Ok(())
}

/// Reads the columns of [`EMAILS`] from `listed` on strictly;
/// returns what the index needs: key, rowid and summary.
fn decode_row(row: &Row) -> Result<(SortKey, i64, Summary)> {
    let is_listed: i64 = row.get()?;
    if !matches!(is_listed, 0 | 1) {
        return Err(damage_error("an email in the archive is damaged"));
    }
    let _seen_at_and_seq: (i64, i64) = (row.get()?, row.get()?);
    let _times: (Option<i64>, Option<i64>) = (row.get()?, row.get()?);
    let (key, fts_rowid, _changes): (SortKey, i64, i64) = (row.get()?, row.get()?, row.get()?);
    let fields = row::read_fields(row)?;
    row::check_json(&fields).map_err(damaged_error)?;
    Ok((key, fts_rowid, Summary::from(&fields.summary)))
}

/// Whether this version can never use the file:
/// it is damaged, not an archive, or of a newer version.
///
/// A file that is locked or may not be read can become usable. Changes nothing.
pub(crate) fn is_unusable(path: &Path) -> bool {
    let check = || -> rusqlite::Result<bool> {
        let conn = rusqlite::Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let is_whole = conn.pragma_query_value(None, "quick_check", |row| {
            Ok(row.get::<_, String>(0)? == "ok")
        })?;
        Ok(is_whole && storage::is_outdated(&Connection::Sqlite(conn)).is_ok())
    };
    match check() {
        Ok(is_of_use) => !is_of_use,
        // A disk that cannot read the file proves nothing about it.
        Err(_) if read_to_end(path).is_err() => false,
        Err(error) => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        ),
    }
}

/// Whether a file has something else than an archive,
/// perhaps one whose first bytes are damaged.
pub(crate) fn is_no_archive(path: &Path) -> bool {
    path.exists() && Connections::check_is_archive(path).is_err()
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, SeekFrom, Write as _};

    use super::*;
    use crate::archive::ArchiveLocation;
    use crate::archive::tests::temp_path;

    #[test]
    fn unusable_files_are_recognised() {
        let (_dir, path) = temp_path("archive.sqlite");
        let location = ArchiveLocation::Disk(path.clone());
        Archive::open(&location).unwrap().quick_check().unwrap();
        // The second page is the root of some table; the first must stay for the file to open at
        // all.
        let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.seek(SeekFrom::Start(4096)).unwrap();
        file.write_all(&[0xff; 4096]).unwrap();
        drop(file);
        let error = Archive::open(&location)
            .and_then(|archive| archive.quick_check())
            .unwrap_err();
        assert_eq!(error.message, "the archive file is damaged");
    }
}
