//! The step from version 3 of the tables to version 4: every email moves to a table that takes less room.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::upkeep::Upkeep;
use super::{moment, pack};
use crate::failure::Failure;

/// Emails moved between two reports.
const BATCH: i64 = 20_000;

const COPY: &str = "INSERT INTO mail_4 \
    SELECT mail.place, slot, id, listed, seen, changes, gone, shape, packed_time(created_at), last_event, ifnull(nth, sender), recipients, \
           subject, packed_message_id(message_id, sender), cc, bcc, reply_to, scheduled_at, odd \
    FROM mail LEFT JOIN slot USING (place) LEFT JOIN label ON label.kind = 'sender' AND label.text = sender \
    WHERE mail.place > ?1 AND mail.place <= ?2 ORDER BY mail.place";

/// Moves the emails from `mail` to `mail_4`.
pub(super) fn convert(change: &Transaction, tell: &mut dyn FnMut(Upkeep)) -> Result<(), Failure> {
    offer_functions(change)?;
    let all: i64 = change.query_row("SELECT count(*) FROM mail", [], |row| row.get(0))?;
    let mut done = 0;
    let mut from = i64::MIN;
    while done < all {
        tell(Upkeep::converting(done, all));
        let end = "SELECT place FROM mail WHERE place > ?1 ORDER BY place LIMIT 1 OFFSET ?2";
        let until = change.query_row(end, [from, BATCH - 1], |row| row.get(0)).optional()?.unwrap_or(i64::MAX);
        done += i64::try_from(change.execute(COPY, params![from, until])?).unwrap_or(i64::MAX);
        from = until;
    }
    Ok(())
}

/// The new ways of storing, for SQL.
fn offer_functions(connection: &Connection) -> rusqlite::Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("packed_time", 1, pure, |context: &Context| {
        let text: Option<String> = context.get(0)?;
        Ok(moment::packed(text.as_deref()))
    })?;
    connection.create_scalar_function("packed_message_id", 2, pure, |context: &Context| {
        let value: Value = context.get(0)?;
        let sender: Option<String> = context.get(1)?;
        Ok(match value {
            Value::Blob(bytes) => pack::message_id(pack::message_id_of_3(&bytes).as_deref(), sender.as_deref()),
            other => other,
        })
    })
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression};
    use rusqlite::Connection;

    use super::*;
    use crate::archive::{Anchor, Archive, Halt, Location, Reach, packed};
    use crate::mail::{EmailId, Status};
    use crate::query::{parse, samples};

    const UUID: &str = "0f9c35de-6ad1-4cb2-9f4e-0000000000";
    const NAMES: &str = r#"["id","to","from","created_at","subject","message_id","bcc","cc","reply_to","last_event","scheduled_at"]"#;

    /// The JSON of the email number `n`.
    fn summary(n: usize) -> String {
        let id = if n == 3 { "no-uuid".to_owned() } else { format!("{UUID}{n:02}") };
        let from = ["Acme <hi@acme.example>", "Acme <hi@acme.example>", "", "12"][n % 4];
        let from = if from.is_empty() { "null".to_owned() } else { format!("\"{from}\"") };
        let created = ["2026-11-02T09:00:00.123456+00:00", "2026-11-02 08:00:00.5+00", "2026-11-02T07:00:00Z", "some day"][n % 4];
        let domain = ["acme.example", "mail.acme.example", ""][n % 3];
        format!(
            r#"{{"id":"{id}","to":["ana{n}@example.com"],"from":{from},"created_at":"{created}","subject":"Receipt {n}","message_id":"<{UUID}{n:02}@{domain}>","bcc":null,"cc":null,"reply_to":null,"last_event":"delivered","scheduled_at":null}}"#
        )
    }

    /// An archive as version 3 wrote it, of which the last email had not been indexed yet.
    fn version_3(path: &std::path::Path, emails: usize) {
        let old = Connection::open(path).unwrap();
        for step in [include_str!("schema/1.sql"), include_str!("schema/2.sql"), include_str!("schema/3.sql")] {
            old.execute_batch(step).unwrap();
        }
        old.pragma_update(None, "user_version", 3).unwrap();
        old.execute("INSERT INTO shape (names) VALUES (?1)", [NAMES]).unwrap();
        for n in 0..emails {
            let wire = crate::api::wire::Summary::read(&summary(n)).unwrap();
            let uuid = |text: &str| u128::from_str_radix(&text.replace('-', ""), 16).ok().map(|uuid| uuid.to_be_bytes().to_vec());
            let message_id = wire.message_id.as_deref().unwrap().trim_matches(['<', '>']).split_once('@').unwrap();
            let message_id = [uuid(message_id.0).unwrap(), message_id.1.as_bytes().to_vec()].concat();
            let id = uuid(&wire.id).map_or_else(|| Value::Text(wire.id.clone()), Value::Blob);
            let place = i64::try_from(n).unwrap() - 1_000_000;
            let sql = "INSERT INTO mail (place, id, listed, seen, changes, shape, created_at, last_event, sender, recipients, subject, \
                       message_id) VALUES (?1, ?2, 1, 7, ?3, 1, ?4, 'delivered', ?5, ?6, ?7, ?8)";
            let to = wire.to.as_ref().map(|to| to[0].clone());
            let row = params![place, id, i64::from(n == 0), wire.created_at, wire.from, to, wire.subject, message_id];
            old.execute(sql, row).unwrap();
            if n + 1 < emails {
                let tokens = format!("xany sdelivered hana urec uece ucei ueip uipt i{n}");
                old.execute("INSERT INTO slot VALUES (?1, ?2)", params![place * 2, place]).unwrap();
                old.execute("INSERT INTO search (rowid, tokens) VALUES (?1, ?2)", params![place * 2, tokens]).unwrap();
                old.execute("DELETE FROM stale WHERE place = ?1", [place]).unwrap();
            }
        }
        old.execute("INSERT INTO observed VALUES (-1000000, 0, 5, 'sent')", []).unwrap();
        old.execute("INSERT INTO span VALUES (-1000000, ?1, 1, 1)", [i64::try_from(emails).unwrap() - 1_000_001]).unwrap();
        let whole = summary(1).replace('}', r#","html":"<p>zephyrine</p>","text":null,"tags":[]}"#);
        let body = packed::deflated(&mut Compress::new(Compression::new(3), false), whole.as_bytes(), None);
        old.execute("INSERT INTO body VALUES (-999999, ?1)", [body]).unwrap();
    }

    #[test]
    fn an_archive_of_version_3_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail.db");
        version_3(&path, 12);
        let mut told = Vec::new();
        let archive = Archive::open_telling(&Location::Disk(path.clone()), &mut |upkeep| told.push(upkeep.to_string())).unwrap();
        assert_eq!(told, ["bringing the archive to this version: 0 % of 12 emails", "indexing the archive for search: 0 % of 2 emails"]);
        let rows = archive.window(&Anchor::Newest, 99).unwrap().rows;
        assert_eq!(rows.len(), 12);
        for (n, row) in rows.iter().enumerate() {
            assert_eq!(archive.summary_json(&row.summary.id).unwrap().unwrap(), summary(n));
        }
        assert_eq!(archive.reach().unwrap(), Reach::Everything);
        assert_eq!(archive.rank(rows[5].place).unwrap(), 5);
        let history = archive.history(&rows[0].summary.id).unwrap();
        assert_eq!(history.iter().map(|seen| seen.status.clone()).collect::<Vec<_>>(), [Status::Sent, Status::Delivered]);
        let email = archive.email(&EmailId::new(format!("{UUID}01"))).unwrap().unwrap();
        assert_eq!(email.html.as_deref(), Some("<p>zephyrine</p>"));
        let found = |text: &str| {
            let query = parse(text, &samples::now()).query;
            archive.search(&query, &Anchor::Newest, 99, &Halt::default()).unwrap().unwrap().rows.len()
        };
        assert_eq!((found("receipt"), found("to:ana11"), found("body:zephyrine"), found("status:sent")), (12, 1, 1, 0));
        drop(archive);
        let mut told = 0;
        Archive::open_telling(&Location::Disk(path), &mut |_| told += 1).unwrap().examine().unwrap();
        assert_eq!(told, 0, "it happens once");
    }

    #[test]
    fn a_conversion_that_is_broken_off_leaves_the_old_archive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail.db");
        version_3(&path, 3);
        let location = Location::Disk(path.clone());
        let outcome = std::panic::catch_unwind(|| Archive::open_telling(&location, &mut |_| panic!("the power is cut")));
        assert!(outcome.is_err());
        let version: i64 = Connection::open(&path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, 3);
        assert_eq!(Archive::open(&location).unwrap().count().unwrap(), 3);
    }
}
