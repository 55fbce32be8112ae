//! An export to disk that can be interrupted and resumed.
//!
//! It is written beside its target, as `NAME.part`, and renamed when it is complete. What was
//! written so far is in `NAME.part-state`: a resumed export cuts off what came later and writes
//! that again, so that the result is the same to the byte. While it is written, `NAME.part-lock`
//! keeps other processes away.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind as IoKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{ExportJob, ExportProgress, NOT_EXPORTED, SetFormat, write_file};
use crate::archive::{Archive, SortKey};
use crate::config::open_private;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::EmailId;

/// The request for an export. Only the same request resumes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExportRequest {
    /// The profile, its service and its archive.
    pub(crate) source: String,
    pub(crate) query: String,
    pub(crate) format: String,
    pub(crate) zone: String,
    pub(crate) masks_codes: bool,
    pub(crate) retrieves: bool,
    pub(crate) attaches: bool,
}

/// The written content of the part: its progress, last email and length.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Checkpoint {
    #[serde(flatten)]
    progress: ExportProgress,
    /// Position and id of the last email.
    /// The position of an email may change, its id does not.
    last: Option<(i64, Option<EmailId>)>,
    /// Bytes of the file, or of the list of a folder.
    length: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct ResumeState {
    request: ExportRequest,
    /// The time that dates of the query are relative to, in microseconds since 1970.
    started: i64,
    checkpoint: Checkpoint,
}

/// An export that is written beside its target.
#[derive(Debug)]
pub(crate) struct PartialExport {
    target: PathBuf,
    part: PathBuf,
    state_path: PathBuf,
    state: ResumeState,
    is_resumed: bool,
    _lock: TargetLock,
}

/// A locked file beside the target, which is removed with the lock.
#[derive(Debug)]
struct TargetLock {
    path: PathBuf,
    _file: File,
}

impl TargetLock {
    /// Locks the target; on file systems without locks, every process succeeds.
    fn acquire(target: &Path) -> Result<Self> {
        let path = target.with_added_extension("part-lock");
        let failed =
            |error: &io::Error| Error::cannot("written", ErrorKind::Io, target.display(), error);
        loop {
            let file = open_private(&path).map_err(|error| failed(&error))?;
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                let message = format!("another sentbox is writing {}", target.display());
                return Err(Error::new(ErrorKind::Io, message)
                    .with_hint("wait until it is done, or choose another name"));
            }
            // The holder before may have removed the file between the two calls.
            let locked = file.metadata().map_err(|error| failed(&error))?;
            if path
                .metadata()
                .is_ok_and(|found| found.ino() == locked.ino())
            {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for TargetLock {
    fn drop(&mut self) {
        // A file that is left has no lock, so it stops no later export.
        let _ = fs::remove_file(&self.path);
    }
}

impl PartialExport {
    /// Checks that nothing is overwritten, and with `resume` continues an unfinished
    /// export.
    ///
    /// Fails if the target exists or another process is writing it, or the unfinished export is
    /// missing, damaged or of another request.
    pub(crate) fn open(
        target: &Path,
        format: SetFormat,
        request: ExportRequest,
        now: Timestamp,
        resume: bool,
    ) -> Result<Self> {
        if target.file_name().is_none() {
            let message = format!("{}: a file or folder needs a name", target.display());
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let mut export = Self {
            target: target.to_owned(),
            part: target.with_added_extension("part"),
            state_path: target.with_added_extension("part-state"),
            state: ResumeState {
                request,
                started: now.as_microsecond(),
                checkpoint: Checkpoint::default(),
            },
            is_resumed: false,
            _lock: TargetLock::acquire(target)?,
        };
        if resume && let Some(saved) = export.load_state()? {
            export.resume(saved)?;
            return Ok(export);
        }
        export.check_absent(format)?;
        Ok(export)
    }

    fn load_state(&self) -> Result<Option<ResumeState>> {
        let path = self.state_path.display();
        match fs::read(&self.state_path) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| {
                let message = format!("{path} is damaged: {error}");
                Error::new(ErrorKind::Io, message).with_hint(self.removal_hint())
            }),
            Err(error) if error.kind() == IoKind::NotFound => Ok(None),
            Err(error) => Err(Error::cannot("read", ErrorKind::Io, path, &error)),
        }
    }

    fn resume(&mut self, saved: ResumeState) -> Result<()> {
        if saved.request != self.state.request {
            let ExportRequest { query, format, .. } = &saved.request;
            let query = if query.is_empty() { "all mail" } else { query };
            let message = format!(
                "the unfinished export {} is another one: {query}, as {format}",
                self.part.display()
            );
            let hint = "resume it with the same query, archive and options, or choose another name";
            return Err(Error::new(ErrorKind::Usage, message).with_hint(hint));
        }
        let has_part = self.part.symlink_metadata().is_ok();
        let progress = &saved.checkpoint.progress;
        if progress.has_started && !has_part && !progress.is_done {
            let message = format!(
                "{} is missing, so nothing can be resumed",
                self.part.display()
            );
            return Err(Error::new(ErrorKind::Io, message).with_hint(self.removal_hint()));
        }
        self.state = saved;
        self.is_resumed = true;
        Ok(())
    }

    fn removal_hint(&self) -> String {
        format!(
            "to begin again, remove {} and {}",
            self.part.display(),
            self.state_path.display()
        )
    }

    /// Fails if the target exists, unless it is a folder without emails for a folder,
    /// or a part does.
    fn check_absent(&self, format: SetFormat) -> Result<()> {
        check_no_part(&self.target, false).map_err(|error| {
            let hint = if self.state_path.symlink_metadata().is_ok() {
                format!("--resume continues it; {}", self.removal_hint())
            } else {
                format!("to begin again, remove {}", self.part.display())
            };
            error.with_hint(hint)
        })?;
        let target = self.target.display();
        let Ok(found) = self.target.symlink_metadata() else {
            return Ok(());
        };
        let message = if found.is_dir() && matches!(format, SetFormat::Files(_)) {
            let has_emails = has_emails(&self.target)
                .map_err(|error| Error::cannot("read", ErrorKind::Io, &target, &error))?;
            if !has_emails {
                return Ok(());
            }
            format!("the folder {target} is not empty")
        } else {
            format!("{target} exists already")
        };
        let hint = "nothing is overwritten; choose another name";
        Err(Error::new(ErrorKind::Io, message).with_hint(hint))
    }

    /// The file or folder to write.
    pub(crate) fn part(&self) -> &Path {
        &self.part
    }

    /// The time that dates of the query are relative to.
    pub(crate) fn started(&self) -> Timestamp {
        // Only a damaged state has a time that none is.
        Timestamp::from_microsecond(self.state.started).unwrap_or_default()
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Restores the progress of a resumed export and cuts off what was written later.
    pub(crate) fn restore(&self, job: &ExportJob, archive: &Archive) -> Result<ExportProgress> {
        if !self.is_resumed {
            return Ok(ExportProgress::default());
        }
        let checkpoint = &self.state.checkpoint;
        let mut progress = checkpoint.progress.clone();
        if !progress.is_done {
            let restored = if progress.has_started {
                cut_file(&written_file(job), checkpoint.length)
            } else {
                remove_any(&self.part)
            };
            restored.map_err(|error| {
                Error::cannot("resumed", ErrorKind::Io, self.part.display(), &error)
                    .with_hint(self.removal_hint())
            })?;
        }
        if let Some((key, id)) = &checkpoint.last {
            let row = id.as_ref().map_or(Ok(None), |id| archive.row(id))?;
            progress.last = Some(row.map_or(SortKey(*key), |row| row.sort_key));
        }
        Ok(progress)
    }

    /// Records what is written, so that a later process can resume after it.
    pub(crate) fn save(
        &mut self,
        job: &ExportJob,
        archive: &Archive,
        progress: &ExportProgress,
    ) -> Result<()> {
        let failed =
            |error: &io::Error| Error::cannot("written", ErrorKind::Io, self.part.display(), error);
        let length = match written_file(job).metadata() {
            Ok(found) => found.len(),
            Err(error) if error.kind() == IoKind::NotFound => 0,
            Err(error) => return Err(failed(&error)),
        };
        if progress.has_started {
            sync(&self.part).map_err(|error| failed(&error))?;
        }
        let mut last = None;
        if let Some(key) = progress.last {
            last = Some((key.0, archive.id_at(key)?));
        }
        self.state.checkpoint = Checkpoint {
            progress: progress.clone(),
            last,
            length,
        };
        self.save_state()
    }

    fn save_state(&self) -> Result<()> {
        let text = serde_json::to_vec(&self.state).expect("texts and numbers are JSON");
        let new = self.state_path.with_added_extension("new");
        let saved = write_file(&new, &text)
            .and_then(|()| File::open(&new)?.sync_all())
            .and_then(|()| fs::rename(&new, &self.state_path));
        saved.map_err(|error| {
            Error::cannot("written", ErrorKind::Io, self.state_path.display(), &error)
        })
    }

    /// Renames the complete part to its target.
    pub(crate) fn finish(self) -> Result<()> {
        // An earlier process may have ended right after the rename.
        if let Ok(part) = self.part.symlink_metadata() {
            if part.is_dir() && has_emails(&self.target).is_ok_and(|found| !found) {
                // The list of an earlier export; another target makes the renaming fail.
                let _ = fs::remove_file(self.target.join(NOT_EXPORTED));
            }
            rename_new(&self.part, &self.target).map_err(|error| {
                let target = self.target.display();
                let part = self.part.display();
                Error::new(ErrorKind::Io, format!("{target}: {error}"))
                    .with_hint(format!("the export is complete in {part}"))
            })?;
        }
        // It is complete, whether the state can be removed or not.
        let _ = fs::remove_file(&self.state_path);
        Ok(())
    }
}

/// Whether a folder has more than the list of an export that has written no email.
fn has_emails(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != NOT_EXPORTED || !entry.file_type()?.is_file() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the target has an export, and none to it is unfinished.
/// A folder with a list of emails that were not exported is not complete.
pub(crate) fn is_complete(target: &Path, format: SetFormat) -> bool {
    let has_export = match format {
        SetFormat::Files(_) => {
            has_emails(target).unwrap_or(false)
                && target.join(NOT_EXPORTED).symlink_metadata().is_err()
        }
        SetFormat::Text | SetFormat::Json | SetFormat::JsonLines | SetFormat::Csv => {
            target.is_file()
        }
    };
    has_export && check_no_part(target, false).is_ok()
}

/// The file that grows: the one file, or the list of what was not exported.
fn written_file(job: &ExportJob) -> PathBuf {
    match job.format {
        SetFormat::Files(_) => job.path.join(NOT_EXPORTED),
        SetFormat::Text | SetFormat::Json | SetFormat::JsonLines | SetFormat::Csv => {
            job.path.clone()
        }
    }
}

fn cut_file(path: &Path, length: u64) -> io::Result<()> {
    let found = match path.metadata() {
        Err(error) if error.kind() == IoKind::NotFound && length == 0 => return Ok(()),
        found => found?,
    };
    if found.len() < length {
        return Err(io::Error::other("it is shorter than it was"));
    }
    OpenOptions::new().write(true).open(path)?.set_len(length)
}

pub(super) fn remove_any(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == IoKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    }
}

/// Fails if there is an unfinished export to `target`;
/// with `continues`, one of the screen is no error.
pub(super) fn check_no_part(target: &Path, continues: bool) -> Result<()> {
    let part = Some(target.with_added_extension("part")).filter(|_| !continues);
    let state = target.with_added_extension("part-state");
    let paths = part.into_iter().chain([state]);
    let mut found = paths.filter(|path| path.symlink_metadata().is_ok());
    found.next().map_or(Ok(()), |path| {
        let message = format!("there is an unfinished export: {}", path.display());
        let hint = "remove it, or choose another name";
        Err(Error::new(ErrorKind::Io, message).with_hint(hint))
    })
}

/// Writes the complete part to the disk, and renames it, unless `target` exists.
pub(super) fn name_complete(part: &Path, target: &Path) -> io::Result<()> {
    sync(part)?;
    rename_new(part, target)
}

/// Writes a file, or the files of a folder, to the disk.
fn sync(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // A call for each of a million files would take longer than writing them.
    #[cfg(target_os = "linux")]
    if file.metadata()?.is_dir() {
        rustix::fs::syncfs(&file)?;
    }
    file.sync_all()
}

/// Renames `from`, unless `to` exists; an empty folder is replaced by a folder.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        // The system refuses to replace a folder that is not empty.
        return fs::rename(from, to);
    }
    match rename_unless_it_exists(from, to) {
        // Some systems and file systems cannot do that in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if to.symlink_metadata().is_err() => {
            fs::rename(from, to)
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(IoKind::AlreadyExists.into()),
        renamed => Ok(renamed?),
    }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_unless_it_exists(from: &Path, to: &Path) -> rustix::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
const fn rename_unless_it_exists(_: &Path, _: &Path) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

#[cfg(test)]
#[path = "resume_tests.rs"]
mod tests;
