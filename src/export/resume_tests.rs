//! Exports that are interrupted at each batch, and resumed.

use std::collections::BTreeMap;

use tempfile::TempDir;

use super::*;
use crate::archive::CancellationToken;
use crate::archive::tests::{import_lines, memory};
use crate::export::set::tests::{EML, job_at, now};

/// An archive of several batches; every fifth email has no body.
fn archive() -> Archive {
    let archive = memory();
    let lines = (0..900).map(|n| {
        let body = if n % 5 == 0 { "" } else { r#","html":null,"text":"Hello""# };
        format!(
            r#"{{"id":"id-{n}","subject":"Hello","created_at":"2026-11-20T08:00:00.{n:06}Z"{body}}}"#
        )
    });
    assert_eq!(import_lines(&archive, lines, now()).new, 900);
    archive
}

fn request(query: &str) -> ExportRequest {
    ExportRequest {
        source: "default".to_owned(),
        query: query.to_owned(),
        format: "eml".to_owned(),
        zone: "UTC".to_owned(),
        masks_codes: true,
        retrieves: false,
        attaches: false,
    }
}

fn open(target: &Path, format: SetFormat, resume: bool) -> Result<PartialExport> {
    PartialExport::open(target, format, request(""), now(), resume)
}

fn job(export: &PartialExport, format: SetFormat) -> ExportJob {
    job_at(export.part().to_owned(), format)
}

/// Writes at most so many batches, a checkpoint after each but the last;
/// returns whether it is done.
fn run(target: &Path, format: SetFormat, archive: &Archive, resume: bool, batches: usize) -> bool {
    let mut export = open(target, format, resume).unwrap();
    let job = job(&export, format);
    let mut progress = export.restore(&job, archive).unwrap();
    for batch in 0..batches {
        let next = job.write_batch(None, archive, &mut progress, &CancellationToken::new());
        assert_eq!((next, &progress.error), (None, &None));
        if progress.is_done {
            export.save(&job, archive, &progress).unwrap();
            export.finish().unwrap();
            return true;
        }
        if batch + 1 < batches {
            export.save(&job, archive, &progress).unwrap();
        }
    }
    false
}

fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    if path.is_file() {
        return BTreeMap::from([(String::new(), fs::read(path).unwrap())]);
    }
    let entries = fs::read_dir(path).unwrap();
    let read = |entry: io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read(path).unwrap())
    };
    entries.map(read).collect()
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn resumed_export_equals_uninterrupted_one() {
    let archive = archive();
    for format in [EML, SetFormat::Json, SetFormat::JsonLines, SetFormat::Csv] {
        let folder = tempfile::tempdir().unwrap();
        let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
        assert!(run(&whole, format, &archive, false, usize::MAX));
        let mut runs = 0;
        // Each run writes a batch that no checkpoint has, and the next one writes it again.
        while !run(&parts, format, &archive, runs > 0, 2) {
            runs += 1;
        }
        assert!(runs > 2, "{format:?}");
        assert_eq!(contents(&parts), contents(&whole), "{format:?}");
        assert_eq!(names(&folder), ["parts", "whole"]);
    }
}

#[test]
fn nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("mine");
    fs::write(&target, "mine").unwrap();
    for (format, resume) in [
        (EML, false),
        (SetFormat::Csv, false),
        (SetFormat::Csv, true),
    ] {
        let error = open(&target, format, resume).unwrap_err();
        assert!(error.message.ends_with("exists already"), "{error:?}");
    }
    fs::remove_file(&target).unwrap();
    fs::create_dir(&target).unwrap();
    assert!(open(&target, EML, false).is_ok());
    assert!(open(&target, SetFormat::Csv, false).is_err());
    let in_target = target.join(NOT_EXPORTED);
    fs::create_dir(&in_target).unwrap();
    let error = open(&target, EML, true).unwrap_err();
    assert!(error.message.ends_with("is not empty"), "{error:?}");
    // What appears while the export is written stays, too.
    let late = folder.path().join("late");
    let archive = archive();
    let mut export = open(&late, SetFormat::Csv, false).unwrap();
    let job = job(&export, SetFormat::Csv);
    let mut progress = export.restore(&job, &archive).unwrap();
    while !progress.is_done {
        job.write_batch(None, &archive, &mut progress, &CancellationToken::new());
    }
    export.save(&job, &archive, &progress).unwrap();
    fs::write(&late, "mine").unwrap();
    assert!(export.finish().is_err());
    assert_eq!(fs::read(&late).unwrap(), b"mine");
    // It can be resumed once that is gone.
    fs::remove_file(&late).unwrap();
    open(&late, SetFormat::Csv, true).unwrap().finish().unwrap();
    assert_eq!(fs::read_to_string(&late).unwrap().lines().count(), 901);
}

#[test]
fn second_export_to_one_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let first = open(&target, SetFormat::JsonLines, false).unwrap();
    for resume in [false, true] {
        let error = open(&target, SetFormat::JsonLines, resume).unwrap_err();
        let message = format!("another sentbox is writing {}", target.display());
        assert_eq!(error.message, message);
    }
    let other = open(&folder.path().join("other"), SetFormat::JsonLines, false);
    drop((first, other.unwrap()));
    assert_eq!(names(&folder), [""; 0]);
    // A killed process leaves the file, without its lock.
    fs::write(target.with_added_extension("part-lock"), "").unwrap();
    assert!(open(&target, SetFormat::JsonLines, true).is_ok());
}

#[test]
fn only_the_same_request_resumes_unfinished_export() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), archive());
    let target = folder.path().join("out");
    assert!(!run(&target, SetFormat::Csv, &archive, false, 2));
    let error = open(&target, SetFormat::Csv, false).unwrap_err();
    assert!(error.hint.contains("--resume"), "{error:?}");
    let other = request("to:ana");
    let error = PartialExport::open(&target, SetFormat::Csv, other, now(), true).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(run(&target, SetFormat::Csv, &archive, true, usize::MAX));
    let error = open(&target, SetFormat::Csv, true).unwrap_err();
    assert!(error.message.ends_with("exists already"), "{error:?}");
}

#[test]
fn export_with_an_unfinished_part_is_not_complete() {
    let archive = archive();
    for (format, other) in [(EML, SetFormat::Csv), (SetFormat::Csv, EML)] {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        assert!(!is_complete(&target, format));
        assert!(!run(&target, format, &archive, false, 2));
        assert!(!is_complete(&target, format));
        assert!(run(&target, format, &archive, true, usize::MAX));
        let is_whole = !target.join(NOT_EXPORTED).exists();
        assert_eq!(is_complete(&target, format), is_whole);
        assert!(!is_complete(&target, other));
    }
}

#[test]
fn new_email_is_not_part_of_resumed_export() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), archive());
    let target = folder.path().join("out");
    assert!(!run(&target, SetFormat::JsonLines, &archive, false, 3));
    let email = r#"{"id":"late","subject":"Late","created_at":"2026-11-20T08:59:00Z"}"#;
    import_lines(&archive, [email], now());
    let format = SetFormat::JsonLines;
    let export = open(&target, format, true).unwrap();
    let job = job(&export, format);
    let progress = export.restore(&job, &archive).unwrap();
    let plan = job.count(&archive, u64::MAX, &progress, &CancellationToken::new());
    assert_eq!(plan.unwrap().emails + progress.done, 900);
    drop(export);
    assert!(run(&target, format, &archive, true, usize::MAX));
    let text = fs::read_to_string(&target).unwrap();
    assert_eq!((text.lines().count(), text.contains("late")), (900, false));
}
