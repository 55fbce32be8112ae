//! Changes in the archive since an earlier snapshot, by any process:
//! for clients that follow it.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use super::listing::SortKey;
use super::listing::confirmations::to_timestamp;
use super::storage::db::{Connection, Row};
use super::{Archive, Result};
use crate::api::MailboxChange;
use crate::mail::EmailId;

/// The newest rows that are compared: more than a refresh reads.
const WATCHED_ROWS: u32 = 1000;

/// Changed statuses are compared for this long:
/// their times are those of the requests, which may be read later.
const STATUS_WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// Missing emails that are older are not compared:
/// the service has expired them, and there may be many.
const REMOVED_WINDOW: SignedDuration = SignedDuration::from_hours(24 * 28);

macro_rules! states {
    ($rest:literal) => {
        concat!(
            "SELECT id, last_event, status_seen_at, iif(json_valid(extra_json), extra_json -> '$.bounce', NULL) FROM mail WHERE missing_since IS NULL ",
            $rest
        )
    };
}
const NEWEST: &str = states!("ORDER BY sort_key LIMIT ?1");
const CHANGED: &str = states!("AND status_changes > 0 AND status_seen_at > ?1");
const REMOVED: &str =
    "SELECT id FROM mail WHERE missing_since IS NOT NULL AND listed = 0 AND sort_key < ?1";

const PURGES: &str =
    "SELECT number, id_hash FROM purged WHERE number > ?1 ORDER BY number LIMIT ?2";
const CUTOFF: &str = "SELECT cutoff FROM listing";

/// Purges that are read at once.
const PURGES_PER_PAGE: i64 = 1000;

/// A state of the archive, to be compared with a later one.
#[derive(Debug)]
pub(crate) struct ChangeSnapshot {
    /// The states of emails, each as the change to it.
    states: HashMap<EmailId, MailboxChange>,
    removed: HashSet<EmailId>,
    /// The next purges after the snapshot before.
    purges: Vec<MailboxChange>,
    /// The number of the last purge that was read.
    pub(crate) last_purge: i64,
    purged_before: Option<i64>,
}

impl Archive {
    /// Takes a snapshot, to be compared with the one that has read `last_purge`.
    ///
    /// Each has the next purges, not all: their number only grows. The first one has none.
    pub(crate) fn snapshot_changes(
        &self,
        now: Timestamp,
        last_purge: Option<i64>,
    ) -> Result<ChangeSnapshot> {
        let since = |window| now.checked_sub(window).unwrap_or(Timestamp::MIN);
        let changed_since = since(STATUS_WINDOW).as_microsecond();
        let removed_since = SortKey::oldest_at(since(REMOVED_WINDOW).as_microsecond());
        self.read(|conn| {
            let mut states = conn.all(NEWEST, [WATCHED_ROWS], read_state)?;
            states.extend(conn.all(CHANGED, [changed_since], read_state)?);
            let removed = conn.values(REMOVED, [removed_since])?;
            let last_purge = match last_purge {
                Some(number) => number,
                None => conn.value("SELECT coalesce(max(number), 0) FROM purged", [])?,
            };
            let purges = read_purges(conn, last_purge)?;
            Ok(ChangeSnapshot {
                states: states.into_iter().collect(),
                removed: removed.into_iter().collect(),
                last_purge: purges.last().map_or(last_purge, |(number, _)| *number),
                purges: purges.into_iter().map(|(_, purge)| purge).collect(),
                purged_before: conn.value(CUTOFF, [])?,
            })
        })
    }

    /// Returns the next purges after that of a number, with their numbers;
    /// none at the end.
    pub(crate) fn purges_after(&self, number: i64) -> Result<Vec<(i64, MailboxChange)>> {
        self.read(|conn| read_purges(conn, number))
    }

    /// Returns the time before which all mail was purged.
    pub(crate) fn purged_before(&self) -> Result<Option<Timestamp>> {
        Ok(to_timestamp(self.read(|conn| conn.value(CUTOFF, []))?))
    }
}

impl ChangeSnapshot {
    /// Returns what has changed since the snapshot before.
    /// An email that only moved into view may be among it.
    pub(crate) fn changes_since(&self, earlier: &Self) -> Vec<MailboxChange> {
        let states = self.states.iter();
        let changed = states.filter(|(id, state)| earlier.states.get(id) != Some(state));
        let changed = changed.map(|(_, state)| state.clone());
        let removed = self.removed.difference(&earlier.removed);
        let removed = removed.map(|id| MailboxChange::Removed(id.clone()));
        let before = (self.purged_before != earlier.purged_before).then_some(self.purged_before);
        let before = before.and_then(to_timestamp);
        changed
            .chain(removed)
            .chain(self.purges.iter().cloned())
            .chain(before.map(MailboxChange::PurgedBefore))
            .collect()
    }
}

fn read_purges(conn: &Connection, after: i64) -> Result<Vec<(i64, MailboxChange)>> {
    conn.all(PURGES, [after, PURGES_PER_PAGE], |row| {
        Ok((row.get()?, MailboxChange::Purged(row.get()?)))
    })
}

fn read_state(row: &Row) -> rusqlite::Result<(EmailId, MailboxChange)> {
    let id: EmailId = row.get()?;
    let state = MailboxChange::Changed {
        id: id.clone(),
        last_event: row.get()?,
        seen_at: to_timestamp(row.get()?),
        bounce: row.get()?,
    };
    Ok((id, state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::PurgeTarget;
    use crate::archive::storage::db::Transaction;
    use crate::archive::tests::{import_lines, memory};

    fn import(archive: &Archive, id: &str, now: Timestamp) {
        let line = format!(
            r#"{{"id":"{id}","to":["{id}@example.com"],"created_at":"2026-11-20T09:00:00Z","last_event":"sent"}}"#
        );
        import_lines(archive, [line], now);
    }

    #[test]
    fn new_removed_and_purged_emails_are_changes() {
        let now: Timestamp = "2026-11-20T10:00:00Z".parse().unwrap();
        let archive = memory();
        for id in ["a", "b", "c"] {
            import(&archive, id, now);
        }
        let before = archive.snapshot_changes(now, None).unwrap();
        assert_eq!(before.changes_since(&before), []);
        import(&archive, "d", now);
        let request = archive.stamp_request(now).unwrap();
        archive.mark_missing(&EmailId::new("b"), request).unwrap();
        let target = PurgeTarget::To("c@example.com".to_owned());
        archive.purge(&target).unwrap();
        let after = archive
            .snapshot_changes(now, Some(before.last_purge))
            .unwrap();
        let changes = after.changes_since(&before);
        let [changed, removed, MailboxChange::Purged(_)] = changes.as_slice() else {
            panic!("{changes:?}");
        };
        assert_eq!(
            *changed,
            MailboxChange::Changed {
                id: EmailId::new("d"),
                last_event: Some("sent".to_owned()),
                seen_at: Some(now),
                bounce: None,
            }
        );
        assert_eq!(*removed, MailboxChange::Removed(EmailId::new("b")));
        let time = "2026-11-20T08:00:00Z".parse().unwrap();
        archive.purge(&PurgeTarget::Before(time)).unwrap();
        let last = archive
            .snapshot_changes(now, Some(after.last_purge))
            .unwrap();
        let expected = [MailboxChange::PurgedBefore(time)];
        assert_eq!(last.changes_since(&after), expected);
    }

    #[test]
    fn purges_are_read_once_and_in_pages() {
        let now: Timestamp = "2026-11-20T10:00:00Z".parse().unwrap();
        let archive = memory();
        let purge = |first: i64, count: i64| {
            let store = |tx: &Transaction| {
                for number in first..first + count {
                    let hash = i128::from(number).to_be_bytes();
                    tx.execute("INSERT INTO purged (id_hash) VALUES (?1)", [hash])?;
                }
                Ok(())
            };
            archive.write(store).unwrap();
        };
        purge(0, PURGES_PER_PAGE + 5);
        let mut before = archive.snapshot_changes(now, None).unwrap();
        assert_eq!(before.purges, [], "what was purged before is no change");
        let mut pages = Vec::new();
        let mut number = 0;
        while let Some((last, _)) = archive.purges_after(number).unwrap().last() {
            pages.push(last - number);
            number = *last;
        }
        assert_eq!(pages, [PURGES_PER_PAGE, 5]);
        purge(5000, PURGES_PER_PAGE + 1);
        for expected in [1000, 1, 0] {
            let last_purge = Some(before.last_purge);
            let after = archive.snapshot_changes(now, last_purge).unwrap();
            assert_eq!(after.changes_since(&before).len(), expected);
            before = after;
        }
    }
}
