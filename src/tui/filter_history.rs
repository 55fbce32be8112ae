//! Keeps the filters that were typed, across sessions, for nobody but the person who typed them.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// So many filters are offered again.
const MAX_FILTERS: usize = 100;
/// A file with more lines than this is written anew with what is still offered.
const MAX_FILE_LINES: usize = 1_000;

/// A file with a filter on each line, oldest first; without a file nothing is kept.
///
/// Lines are only ever added, so that two sessions side by side lose nothing of each other.
#[derive(Debug, Clone, Default)]
pub struct FilterHistory(Option<PathBuf>);

impl FilterHistory {
    /// Keeps it in `file`, if there is one.
    pub const fn new(file: Option<PathBuf>) -> Self {
        Self(file)
    }

    /// What was kept, each filter once, the latest last.
    ///
    /// # Errors
    ///
    /// If there is a file that cannot be read.
    pub fn load(&self) -> io::Result<Vec<String>> {
        let Some(path) = &self.0 else {
            return Ok(Vec::new());
        };
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut kept: Vec<String> = Vec::new();
        for line in text.lines().rev().filter(|line| !line.is_empty()) {
            if kept.len() < MAX_FILTERS && !kept.iter().any(|later| later == line) {
                kept.push(line.to_owned());
            }
        }
        kept.reverse();
        if text.lines().count() > MAX_FILE_LINES {
            let fresh = path.with_extension("new");
            set_private_mode(OpenOptions::new().write(true).create(true).truncate(true))
                .open(&fresh)?
                .write_all((kept.join("\n") + "\n").as_bytes())?;
            fs::rename(fresh, path)?;
        }
        Ok(kept)
    }

    /// Keeps one more.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn append(&self, text: &str) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        set_private_mode(OpenOptions::new().append(true).create(true))
            .open(path)?
            .write_all(format!("{text}\n").as_bytes())
    }
}

/// What people look for is as personal as the mail they find.
fn set_private_mode(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_kept_comes_back_once_and_in_order_and_is_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history");
        let history = FilterHistory::new(Some(path.clone()));
        assert_eq!(history.load().unwrap(), Vec::<String>::new());
        for text in ["to:ana", "佐藤", "to:ana"] {
            history.append(text).unwrap();
        }
        assert_eq!(history.load().unwrap(), ["佐藤", "to:ana"]);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn the_file_does_not_grow_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history");
        let history = FilterHistory::new(Some(path.clone()));
        for n in 0..=MAX_FILE_LINES {
            history.append(&format!("number {n}")).unwrap();
        }
        let kept = history.load().unwrap();
        assert_eq!(
            (kept.len(), kept.last().map(String::as_str)),
            (MAX_FILTERS, Some("number 1000"))
        );
        assert_eq!(
            fs::read_to_string(&path).unwrap().lines().count(),
            MAX_FILTERS
        );
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn without_file_no_view_is_saved() {
        let history = FilterHistory::default();
        history.append("to:ana").unwrap();
        assert_eq!(history.load().unwrap(), Vec::<String>::new());
    }
}
