//! Whether the file of the archive is whole.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags, Row};

use super::body_codec::{self, CompressedBody};
use super::error::read_to_end;
use super::row_codec::{RowFields, row_columns, summary_columns};
use super::{Archive, SortKey, schema, search};
use crate::error::{Error, ErrorKind};
use crate::mail::Summary;

impl Archive {
    /// Reads the whole file and sees whether its parts fit together. A large one takes seconds.
    ///
    /// # Errors
    ///
    /// If it is damaged, or cannot be read.
    pub(crate) fn quick_check(&self) -> Result<(), Error> {
        let found: String = self.connections.read(|connection| {
            Ok(connection.pragma_query_value(None, "quick_check", |row| row.get(0))?)
        })?;
        if found == "ok" {
            return Ok(());
        }
        Err(damage_error("the archive file is damaged"))
    }

    /// Reads every email and its body, derives its part of the search index again, and compares index and
    /// counts with the emails. Takes minutes for a million emails, and no more memory than for one.
    /// `progress` gets the number of emails that were read.
    ///
    /// # Errors
    ///
    /// If something is damaged, or the archive cannot be read at all.
    pub(crate) fn check_integrity(&self, progress: impl FnMut(u64)) -> Result<(), Error> {
        let damage = self
            .connections
            .read(|connection| find_damage(connection, progress))?;
        if damage == Damage::default() {
            Ok(())
        } else {
            Err(damage_error(&format!("the archive is damaged: {damage}")))
        }
    }
}

/// What is damaged in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Damage {
    /// Pages of the file, or its indexes.
    pub(super) in_file: bool,
    /// Emails that cannot be read.
    pub(super) emails: u64,
    /// Bodies that cannot be read.
    pub(super) bodies: u64,
    /// Counts, or what is claimed to be complete.
    pub(super) in_counts: bool,
    /// The search index.
    pub(super) in_index: bool,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counted = |count: u64, one: &str, more: &str| match count {
            0 => None,
            1 => Some(format!("1 {one} cannot be read")),
            count => Some(format!("{count} {more} cannot be read")),
        };
        let parts = [
            self.in_file
                .then(|| "pages of the file are wrong".to_owned()),
            counted(self.emails, "email", "emails"),
            counted(self.bodies, "body", "bodies"),
            self.in_counts
                .then(|| "its counts do not fit its emails".to_owned()),
            self.in_index
                .then(|| "its search index does not fit its emails".to_owned()),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// Everything that belongs to one email.
const EMAILS: &str = concat!(
    "SELECT mail.sort_key, fts_rowid, status_changes, json, dictionary_id, listed, status_seen_at, response_seq, confirmed_at, missing_since, \
     EXISTS (SELECT 1 FROM out_of_order WHERE out_of_order.sort_key = mail.sort_key), ",
    row_columns!(),
    " FROM mail LEFT JOIN key_order USING (key_order_id) LEFT JOIN body USING (sort_key) ORDER BY mail.sort_key"
);

/// How many claims contradict the emails: a span ends where no listed email is, a row refers to one that
/// is missing, or a table of one row has another number.
const COUNT_CONTRADICTIONS: &str = "SELECT (SELECT count(*) FROM covered_range WHERE top > bottom OR reaches_top NOT IN (0, 1) OR reaches_end NOT IN (0, 1) \
     OR NOT EXISTS (SELECT 1 FROM mail WHERE sort_key = top AND listed) \
     OR NOT EXISTS (SELECT 1 FROM mail WHERE sort_key = bottom AND listed)) \
     + (SELECT count(*) FROM covered_range AS one JOIN covered_range AS other ON one.top < other.top AND one.bottom >= other.top) \
     + (SELECT count(*) FROM pragma_foreign_key_check) \
     + (SELECT count(*) <> 1 FROM listing) + (SELECT count(*) <> 1 FROM row_counts) + (SELECT count(*) > 1 FROM identity) \
     + (SELECT count(*) FROM dirty)";

/// Finds what is damaged. An error of `SQLite` on the way is damage, too.
pub(super) fn find_damage(
    connection: &Connection,
    progress: impl FnMut(u64),
) -> Result<Damage, Error> {
    let mut damage = Damage::default();
    let whole: rusqlite::Result<String> =
        connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
    damage.in_file = !whole.is_ok_and(|found| found == "ok");
    let compared = compare_with_emails(connection, &mut damage, progress);
    connection.pragma_update(None, "query_only", true)?;
    match compared {
        Err(failure) if failure.hint == REPAIR_HINT || damage.in_file => damage.in_file = true,
        compared => compared?,
    }
    Ok(damage)
}

fn compare_with_emails(
    connection: &Connection,
    damage: &mut Damage,
    mut progress: impl FnMut(u64),
) -> Result<(), Error> {
    let mut expected = search::IndexChecksum::new(connection)?;
    let (mut emails, mut bodies) = (0_u64, 0_u64);
    let mut statement = connection.prepare(EMAILS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        emails += 1;
        progress(emails);
        let packed = CompressedBody::from_row(row, 3)?;
        bodies += u64::from(packed.is_some());
        let whole = packed.map(|packed| packed.to_email(connection)).transpose();
        damage.bodies += u64::from(whole.is_err());
        let Ok(email) = decode_row(row) else {
            damage.emails += 1;
            continue;
        };
        let is_displaced: bool = row.get(10)?;
        damage.in_index |= is_displaced != search::is_out_of_order(email.place, &email.mail);
        expected.add(
            email.slot,
            &email.mail,
            email.changed,
            whole.ok().flatten().as_ref(),
        )?;
    }
    let (counted, counted_bodies): (i64, i64) =
        connection.query_row("SELECT emails, bodies FROM row_counts", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let contradictions: i64 = connection.query_row(COUNT_CONTRADICTIONS, [], |row| row.get(0))?;
    damage.in_counts = (counted, counted_bodies) != (emails.cast_signed(), bodies.cast_signed())
        || contradictions > 0;
    // What cannot be read has tokens that are not expected.
    damage.in_index |= damage.emails + damage.bodies == 0 && !expected.matches_index()?;
    Ok(())
}

/// A row, as far as it takes part in the index.
struct DecodedRow {
    place: SortKey,
    slot: i64,
    changed: bool,
    mail: Summary,
}

/// Reads a row of [`EMAIL`] without leniency.
fn decode_row(row: &Row) -> Result<DecodedRow, Error> {
    let fields = RowFields::from_row(row, 11)?;
    fields
        .check_json()
        .map_err(|error| body_codec::damaged_error(&error))?;
    let flag: i64 = row.get(5)?;
    let _times: (i64, i64, Option<i64>, Option<i64>) =
        (row.get(6)?, row.get(7)?, row.get(8)?, row.get(9)?);
    if !matches!(flag, 0 | 1) {
        return Err(damage_error("an email in the archive is damaged"));
    }
    let (place, slot, changes): (SortKey, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
    Ok(DecodedRow {
        place,
        slot,
        changed: changes > 0,
        mail: Summary::from(&fields.summary),
    })
}

fn damage_error(message: &str) -> Error {
    Error::new(ErrorKind::Archive, message).with_hint(REPAIR_HINT)
}

/// Whether a failure says that something in the archive cannot be read any more.
pub(super) fn is_damage_error(failure: &Error) -> bool {
    failure.hint == REPAIR_HINT || failure.hint == body_codec::REFETCH_HINT
}

/// That emails cannot be read, which may have been looked for.
pub(super) fn unreadable_error(count: usize) -> Error {
    let emails = if count == 1 { "email" } else { "emails" };
    damage_error(&format!(
        "{count} {emails} in the archive cannot be read, so matches may be missing"
    ))
}

/// What helps where a file is damaged.
pub(super) const REPAIR_HINT: &str = "sentbox archive repair keeps what can be read, and sync reads the rest again; \
     sentbox archive begin puts it aside and begins a new one";

/// What helps where a file is of no use any more.
pub(super) const START_NEW_HINT: &str = "sentbox archive begin puts it aside and begins a new one; what the service no longer has is in the old file alone";

/// Whether the file will never be of use to this version: it is damaged, no archive, or of a newer
/// version. One that somebody holds, or that may not be read, is none of these. Changes nothing.
#[must_use]
pub(crate) fn is_unusable(path: &Path) -> bool {
    let looked = || -> rusqlite::Result<bool> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let is_whole = connection.pragma_query_value(None, "quick_check", |row| {
            Ok(row.get::<_, String>(0)? == "ok")
        })?;
        Ok(is_whole && schema::check_version(&connection).is_ok())
    };
    match looked() {
        Ok(is_of_use) => !is_of_use,
        // A disk that cannot read the file says nothing about it.
        Err(_) if read_to_end(path).is_err() => false,
        Err(error) => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, SeekFrom, Write as _};

    use super::*;
    use crate::archive::ArchiveLocation;

    #[test]
    fn a_whole_archive_is_told_from_a_damaged_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("archive.sqlite");
        let location = ArchiveLocation::Disk(path.clone());
        Archive::open(&location).unwrap().quick_check().unwrap();
        // The second page is the root of some table; the first must stay for the file to open at all.
        let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.seek(SeekFrom::Start(4096)).unwrap();
        file.write_all(&[0xff; 4096]).unwrap();
        drop(file);
        let failure = Archive::open(&location)
            .and_then(|archive| archive.quick_check())
            .unwrap_err();
        assert_eq!(failure.message, "the archive file is damaged");
    }
}
