//! The files beside an archive that keep for the next session what the user did:
//! typed filters (`history`), and watched emails and the time of the last look (`state.jsonl`).
//!
//! Lines are appended; a long file is written again when it is loaded. Both are under a lock, so
//! that two processes do not lose the lines of each other.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;

use crate::app::{MAX_FILTERS, SavedState, StateRecord};
use crate::config::{HISTORY_FILE, LineFile, STATE_FILE};
use crate::error::{Error, ErrorKind};
use crate::mail::Mailbox;
use crate::tasks::lock;

/// A longer file is written again with the lines that are still needed:
/// about a hundred at most. Each start reads it.
const MAX_FILE_LINES: usize = 300;

/// The folder of the files; without one, nothing is stored.
#[derive(Debug, Clone, Default)]
pub struct StateFiles {
    folder: Option<PathBuf>,
    /// Received mail has no statuses to watch, and what is new of it is not that of
    /// sent mail: then only filters are stored.
    mailbox: Mailbox,
    /// Lines of [`STATE_FILE`] that could not be appended.
    unsaved: Arc<Mutex<Vec<String>>>,
}

impl StateFiles {
    pub fn new(folder: Option<PathBuf>, mailbox: Mailbox) -> Self {
        Self {
            folder,
            mailbox,
            ..Self::default()
        }
    }

    /// Loads what earlier sessions have stored.
    /// A line that cannot be parsed is skipped, and a look after `now`: the clock was set back.
    pub fn load(&self, now: Timestamp) -> io::Result<SavedState> {
        let filters = latest_filters(&self.read_or_shorten(HISTORY_FILE, latest_filters)?);
        if self.mailbox == Mailbox::Received {
            return Ok(SavedState {
                filters,
                ..SavedState::default()
            });
        }
        let state = parse_state(
            now,
            &self.read_or_shorten(STATE_FILE, |lines| {
                let state = parse_state(now, lines);
                let watched = state.watched.into_iter().map(StateRecord::Watched);
                let records = watched.chain(state.seen_until.map(|at| StateRecord::Seen { at }));
                records.map(|record| to_line(&record)).collect()
            })?,
        );
        Ok(SavedState { filters, ..state })
    }

    /// Appends a record; unless it is a filter, after those that failed before.
    ///
    /// A filter that cannot be saved is forgotten: a purge would not find it here.
    pub fn append(&self, record: &StateRecord) -> io::Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        match record {
            StateRecord::Filter(_) => {
                return LineFile::new(folder, HISTORY_FILE).append(&to_line(record));
            }
            _ if self.mailbox == Mailbox::Received => return Ok(()),
            StateRecord::Watched(_) | StateRecord::Unwatched { .. } | StateRecord::Seen { .. } => {}
        }
        let mut unsaved = lock(&self.unsaved);
        unsaved.push(to_line(record));
        LineFile::new(folder, STATE_FILE).append(&unsaved.join("\n"))?;
        unsaved.clear();
        Ok(())
    }

    /// Reads the lines of a file, and shortens a long one.
    fn read_or_shorten(
        &self,
        name: &str,
        shorten: impl Fn(&[String]) -> Vec<String>,
    ) -> io::Result<Vec<String>> {
        let Some(folder) = &self.folder else {
            return Ok(Vec::new());
        };
        let file = LineFile::new(folder, name);
        let lines = file.read()?;
        if lines.len() > MAX_FILE_LINES {
            // On a full disk the file stays long.
            let _ = file.update(|lines| shorten(&lines));
        }
        Ok(lines)
    }
}

/// Returns the watched emails and the time of the last look.
fn parse_state(now: Timestamp, lines: &[String]) -> SavedState {
    let mut state = SavedState::default();
    let lines = lines.iter();
    for record in lines.filter_map(|line| serde_json::from_str(line).ok()) {
        match record {
            StateRecord::Filter(_) => {}
            StateRecord::Watched(record) => {
                state.watched.retain(|watched| watched.id != record.id);
                state.watched.push(record);
            }
            StateRecord::Unwatched { id } => state.watched.retain(|watched| watched.id != id),
            StateRecord::Seen { at } if at > now => {}
            StateRecord::Seen { at } => state.seen_until = state.seen_until.max(Some(at)),
        }
    }
    state
}

/// Returns the stored filters, each once, the latest last.
fn latest_filters(lines: &[String]) -> Vec<String> {
    let mut filters: Vec<String> = Vec::new();
    for line in lines.iter().rev().filter(|line| !line.is_empty()) {
        if filters.len() < MAX_FILTERS && !filters.contains(line) {
            filters.push(line.clone());
        }
    }
    filters.reverse();
    filters
}

fn to_line(record: &StateRecord) -> String {
    match record {
        StateRecord::Filter(text) => text.clone(),
        record => serde_json::to_string(record).expect("strings and numbers are JSON"),
    }
}

/// The error of records that could not be appended.
pub fn not_saved_error(records: &[StateRecord], error: &io::Error) -> Error {
    let what = match records.first() {
        Some(StateRecord::Filter(_)) => "the list of filters",
        Some(StateRecord::Watched(_) | StateRecord::Unwatched { .. }) => {
            "the list of watched emails"
        }
        Some(StateRecord::Seen { .. }) | None => "which changes are seen",
    };
    let next = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space",
        _ => "",
    };
    let message = format!("{what} was not saved: {error}{next}");
    Error::new(ErrorKind::Io, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::WatchRecord;
    use crate::mail::EmailId;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn now() -> Timestamp {
        "2026-11-20T10:30:00Z".parse().unwrap()
    }

    fn filter(text: &str) -> StateRecord {
        StateRecord::Filter(text.to_owned())
    }

    #[test]
    fn full_disk_error_names_what_was_not_saved() {
        let full = io::Error::from_raw_os_error(28);
        assert_eq!(
            not_saved_error(&[filter("ana")], &full).message,
            "the list of filters was not saved: No space left on device (os error 28); free some space"
        );
        let records = [StateRecord::Watched(watched("a", "sent"))];
        let other = io::Error::from(io::ErrorKind::PermissionDenied);
        let expected = "the list of watched emails was not saved: permission denied";
        assert_eq!(not_saved_error(&records, &other).message, expected);
    }

    fn watched(id: &str, status: &str) -> WatchRecord {
        WatchRecord {
            id: EmailId::new(id),
            since: "2026-11-20T09:42:00Z".parse().unwrap(),
            status: status.to_owned(),
        }
    }

    #[test]
    fn files_are_private_and_load_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let files = StateFiles::new(Some(folder.path().to_owned()), Mailbox::Sent);
        assert_eq!(files.load(now()).unwrap(), SavedState::default());
        for text in ["to:ana", "佐藤", "to:ana"] {
            files.append(&filter(text)).unwrap();
        }
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        for record in [
            StateRecord::Watched(watched("a\n\"1\"", "sent")),
            StateRecord::Watched(watched("b", "queued")),
            StateRecord::Seen {
                at: at("2026-11-20T10:00:00Z"),
            },
            StateRecord::Watched(watched("a\n\"1\"", "delayed")),
            StateRecord::Unwatched {
                id: EmailId::new("b"),
            },
            StateRecord::Seen {
                at: at("2026-11-20T09:00:00Z"),
            },
        ] {
            files.append(&record).unwrap();
        }
        let state = files.load(now()).unwrap();
        assert_eq!(state.filters, ["佐藤", "to:ana"]);
        assert_eq!(state.watched, [watched("a\n\"1\"", "delayed")]);
        assert_eq!(state.seen_until, Some(at("2026-11-20T10:00:00Z")));
        for name in ["history", "state.jsonl"] {
            let mode = fs::metadata(folder.path().join(name))
                .unwrap()
                .permissions();
            assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn look_after_now_hides_no_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        let files = too_long(folder.path());
        for at in ["2026-11-20T09:00:00Z", "2027-11-20T10:00:00Z"] {
            let at = at.parse().unwrap();
            files.append(&StateRecord::Seen { at }).unwrap();
        }
        let expected = "2026-11-20T09:00:00Z".parse().ok();
        assert_eq!(files.load(now()).unwrap().seen_until, expected);
        let later = now() + jiff::SignedDuration::from_hours(24 * 700);
        let seen_until = files.load(later).unwrap().seen_until;
        assert_eq!(seen_until, expected, "the file was shortened");
    }

    #[test]
    fn lines_of_earlier_versions_are_unchanged() {
        let since: Timestamp = "2026-11-20T09:42:00Z".parse().unwrap();
        let lines = [
            r#"{"watch":{"id":"a","since":1795167720000000,"status":"sent"}}"#,
            r#"{"unwatch":{"id":"b"}}"#,
            r#"{"seen":{"at":1795167720000000}}"#,
        ]
        .map(str::to_owned);
        let state = parse_state(now(), &lines);
        assert_eq!(state.watched, [watched("a", "sent")]);
        assert_eq!(state.seen_until, Some(since));
        let id = EmailId::new("b");
        let records = [
            StateRecord::Watched(watched("a", "sent")),
            StateRecord::Unwatched { id },
            StateRecord::Seen { at: since },
        ];
        assert_eq!(records.map(|record| to_line(&record)), lines);
    }

    #[test]
    fn unsaved_records_are_saved_with_the_next_ones() {
        let folder = tempfile::tempdir().unwrap();
        let files = StateFiles::new(Some(folder.path().to_owned()), Mailbox::Sent);
        let watch = |id| {
            files
                .clone()
                .append(&StateRecord::Watched(watched(id, "sent")))
        };
        let blocker = folder.path().join(STATE_FILE);
        fs::create_dir(&blocker).unwrap();
        watch("a").unwrap_err();
        watch("b").unwrap_err();
        files.append(&filter("to:ana")).unwrap();
        fs::remove_dir(&blocker).unwrap();
        let at = Timestamp::UNIX_EPOCH;
        files.append(&StateRecord::Seen { at }).unwrap();
        files.append(&StateRecord::Seen { at }).unwrap();
        let state = files.load(now()).unwrap();
        assert_eq!(state.watched, ["a", "b"].map(|id| watched(id, "sent")));
        assert_eq!((state.seen_until, state.filters.len()), (Some(at), 1));
        assert_eq!(fs::read_to_string(blocker).unwrap().lines().count(), 4);
    }

    /// Files with one line more than they may have.
    fn too_long(folder: &Path) -> StateFiles {
        let files = StateFiles::new(Some(folder.to_owned()), Mailbox::Sent);
        for n in 0..=MAX_FILE_LINES {
            files.append(&filter(&format!("number {n}"))).unwrap();
            let record = watched("a", &n.to_string());
            files.append(&StateRecord::Watched(record)).unwrap();
        }
        files
    }

    #[test]
    fn long_files_are_shortened() {
        let folder = tempfile::tempdir().unwrap();
        let files = too_long(folder.path());
        let state = files.load(now()).unwrap();
        assert_eq!(state.filters.last().map(String::as_str), Some("number 300"));
        let line_count = |name: &str| {
            let text = fs::read_to_string(folder.path().join(name)).unwrap();
            text.lines().count()
        };
        assert_eq!(
            (line_count("history"), line_count("state.jsonl")),
            (MAX_FILTERS, 1)
        );
        assert_eq!(files.load(now()).unwrap(), state);
    }

    #[test]
    fn long_file_that_cannot_be_shortened_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let files = too_long(folder.path());
        // What a shortened file would be written to is there already.
        for name in [HISTORY_FILE, STATE_FILE] {
            let beside = folder
                .path()
                .join(format!(".{name}.{}", std::process::id()));
            fs::create_dir(beside).unwrap();
        }
        let state = files.load(now()).unwrap();
        assert_eq!((state.filters.len(), state.watched.len()), (MAX_FILTERS, 1));
        let text = fs::read_to_string(folder.path().join(HISTORY_FILE)).unwrap();
        assert_eq!(text.lines().count(), MAX_FILE_LINES + 1);
    }

    #[test]
    fn damaged_line_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let files = StateFiles::new(Some(folder.path().to_owned()), Mailbox::Sent);
        files
            .append(&StateRecord::Watched(watched("a", "sent")))
            .unwrap();
        let path = folder.path().join("state.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{{\"watch\":{{\"id\n\u{0}\n{text}")).unwrap();
        assert_eq!(files.load(now()).unwrap().watched, [watched("a", "sent")]);
    }

    #[test]
    fn nothing_is_stored_without_a_folder() {
        let files = StateFiles::default();
        files.append(&filter("to:ana")).unwrap();
        assert_eq!(files.load(now()).unwrap(), SavedState::default());
    }
}
