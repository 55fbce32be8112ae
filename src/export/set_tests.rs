//! Exports of sets into real files.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use tempfile::TempDir;

use super::*;
use crate::api::RetrievedEmail;
use crate::archive::tests::{import_lines, memory, open_file};
use crate::export::{ExportFormat, NOT_EXPORTED};
use crate::mail::Email;
use crate::query::Query;
use crate::text::checks::TextChecks as _;
use crate::text::secrets::Secrets;

/// An archive of five emails: the bodies of the first three are stored.
fn archive() -> Archive {
    let archive = memory();
    let lines = (0..5).map(|n| {
        let mut email = serde_json::json!({
            "id": format!("49a3999c-{n}"),
            "to": ["ana@example.com"],
            "from": "Acme <hello@acme.example>",
            "created_at": format!("2026-11-20T08:0{n}:00Z"),
            "subject": "482913 is your code",
            "last_event": "delivery_delayed",
        });
        if n < 3 {
            email["text"] = "Your code is 482913\u{9b}".into();
            email["html"] = serde_json::Value::Null;
            email["tags"] = serde_json::json!([]);
        }
        email.to_string()
    });
    assert_eq!(import_lines(&archive, lines, now()).new, 5);
    archive
}

/// An archive of so many emails without bodies.
fn numbered(count: usize) -> Archive {
    let archive = memory();
    fill(&archive, count);
    archive
}

fn fill(archive: &Archive, count: usize) {
    let lines = (0..count)
        .map(|n| format!(r#"{{"id":"id-{n}","created_at":"2026-11-20T08:00:00.{n:06}Z"}}"#));
    assert_eq!(import_lines(archive, lines, now()).new, count as u64);
}

/// The email of a row, as the service sends it.
fn email_of(row: &EmailRow) -> Email {
    let id = EmailId::new("49a3999c-0");
    let mut email = archive().email(&id).unwrap().unwrap();
    email.summary = row.summary.clone();
    email
}

pub fn now() -> jiff::Timestamp {
    "2026-11-20T09:00:00Z".parse().unwrap()
}

fn everything() -> ExportScope {
    ExportScope::Query(Arc::new(Query::match_all()))
}

fn job(folder: &TempDir, format: SetFormat) -> ExportJob {
    job_at(folder.path().join("out"), format)
}

pub fn job_at(path: PathBuf, format: SetFormat) -> ExportJob {
    ExportJob {
        scope: everything(),
        format,
        path,
        target: None,
        zone: TimeZone::UTC,
        secrets: Secrets::Masked,
        retrieves: false,
        attaches: false,
        continues: false,
    }
}

fn retrieving(folder: &TempDir) -> ExportJob {
    ExportJob {
        retrieves: true,
        ..job(folder, EML)
    }
}

/// Runs the export as the program does; `answer` is the service.
fn run_with(
    job: &ExportJob,
    archive: &Archive,
    answer: impl Fn(&EmailRow) -> Result<Email>,
) -> ExportProgress {
    let mut progress = ExportProgress::default();
    while !progress.is_done && progress.error.is_none() {
        let cancel = CancellationToken::new();
        if let Some(row) = job.write_batch(None, archive, &mut progress, &cancel) {
            job.write_retrieved(None, archive, &mut progress, &row, answer(&row));
        }
    }
    progress
}

fn run(job: &ExportJob, archive: &Archive) -> ExportProgress {
    run_with(job, archive, |_| unreachable!("nothing is retrieved"))
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

pub const EML: SetFormat = SetFormat::Files(ExportFormat::Eml);

#[test]
fn folder_has_private_file_for_each_stored_body() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), archive());
    let job = job(&folder, EML);
    let plan = job.plan(&archive, &CancellationToken::new()).unwrap();
    assert_eq!((plan.emails, plan.without_body), (5, 2));
    assert_eq!(plan.retrievable, 2);
    let ExportScope::Emails(ids) = plan.scope else {
        panic!("what arrives later is not in the question");
    };
    assert_eq!(ids.len(), 5);
    let progress = run(&job, &archive);
    assert_eq!((progress.done, progress.written), (5, 3));
    assert_eq!(progress.failed, 2);
    // All have the same date and subject.
    let stem = "2026-11-20-is-your-code-49a3999c";
    let expected = ["0", "1", "2"].map(|number| format!("{stem}-{number}.eml"));
    let expected = expected.into_iter().chain([NOT_EXPORTED.to_owned()]);
    assert_eq!(names(&job.path), expected.collect());
    assert_eq!(
        read(&job.path.join(NOT_EXPORTED)),
        "49a3999c-4: its body is not stored\n49a3999c-3: its body is not stored\n"
    );
    let eml = read(&job.path.join(format!("{stem}-0.eml")));
    assert!(eml.contains("Subject: 482913 is your code"), "{eml}");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&job.path), 0o700);
    for name in names(&job.path) {
        assert_eq!(mode(&job.path.join(name)), 0o600);
    }
}

/// Runs itself again in a process that can write no file of more than 4096 bytes,
/// as on a full disk.
#[test]
fn full_disk_leaves_no_part_of_an_email() {
    use rustix::process::{Resource, getrlimit};
    if getrlimit(Resource::Fsize).current != Some(4096) {
        let test = "export::set::tests::full_disk_leaves_no_part_of_an_email";
        let limited = std::process::Command::new("/bin/sh")
            .args([
                "-c",
                "trap '' XFSZ; ulimit -f 8; exec \"$0\" --exact \"$1\"",
            ])
            .arg(std::env::current_exe().unwrap())
            .arg(test)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&limited.stdout);
        assert!(
            limited.status.success() && printed.contains("1 passed"),
            "{printed}"
        );
        return;
    }
    let archive = memory();
    let email = serde_json::json!({"id": "a", "subject": "Large", "text": "word ".repeat(2000), "html": null});
    import_lines(&archive, [email.to_string()], now());
    let folder = tempfile::tempdir().unwrap();
    let job = job(&folder, EML);
    let progress = run(&job, &archive);
    assert!(progress.error.unwrap().contains("too large"));
    assert_eq!(names(&job.path), BTreeSet::new());
}

#[test]
fn missing_bodies_are_retrieved_or_listed() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), archive());
    let job = retrieving(&folder);
    let progress = run_with(&job, &archive, |row| {
        if row.summary.id.as_str().ends_with('3') {
            return Err(Error::new(ErrorKind::NotFound, "no such email"));
        }
        Ok(email_of(row))
    });
    assert_eq!((progress.written, progress.requests), (4, 2));
    let expected = Some("49a3999c-3: no such email");
    assert_eq!(progress.first_failure.as_deref(), expected);
}

#[test]
fn failing_service_is_asked_once() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), archive());
    let job = retrieving(&folder);
    let progress = run_with(&job, &archive, |_| {
        Err(Error::new(ErrorKind::Unreachable, "connection refused"))
    });
    assert_eq!((progress.written, progress.failed), (3, 2));
    assert_eq!(progress.requests, 1);
    let list = read(&job.path.join(NOT_EXPORTED));
    assert_eq!(
        list,
        "49a3999c-4: connection refused\n49a3999c-3: not requested, because an earlier request failed\n"
    );
}

#[test]
fn invalid_responses_in_a_row_end_retrieval() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), numbered(20));
    let job = retrieving(&folder);
    let log_in_page = || Err(Error::new(ErrorKind::NotTheApi, "the response is html"));
    let progress = run_with(&job, &archive, |_| log_in_page());
    assert_eq!((progress.requests, progress.failed), (5, 20));
    std::fs::remove_dir_all(&job.path).unwrap();
    // Single ones are no reason to leave out the others.
    let single = std::cell::Cell::new(0);
    let progress = run_with(&job, &archive, |row| {
        single.set(single.get() + 1);
        if single.get() % 2 == 0 {
            return log_in_page();
        }
        Ok(email_of(row))
    });
    assert_eq!((progress.requests, progress.written), (20, 10));
}

#[test]
fn json_document_is_complete_after_each_batch() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), archive());
    let mut job = job(&folder, SetFormat::Json);
    job.retrieves = true;
    let mut progress = ExportProgress::default();
    let mut lengths = Vec::new();
    while !progress.is_done {
        let next = job.write_batch(None, &archive, &mut progress, &CancellationToken::new());
        let text = read(&job.path);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["has_more"], !progress.is_done);
        assert!(!text.contains('\u{9b}'), "{text}");
        lengths.push(document["data"].as_array().unwrap().len());
        if let Some(row) = next {
            let gone: Result<Email> = Err(Error::new(ErrorKind::NotFound, "no such email"));
            job.write_retrieved(None, &archive, &mut progress, &row, gone);
        }
    }
    assert_eq!(lengths, [0, 1, 5, 5]);
    assert_eq!((progress.written, progress.without_body), (5, 2));
    let first = progress.first_missing_body.as_deref();
    assert_eq!(first, Some("49a3999c-4: no such email"));
}

#[test]
fn json_lines_are_imported_back() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), archive());
    let job = job(&folder, SetFormat::JsonLines);
    let progress = run(&job, &archive);
    assert_eq!((progress.written, progress.without_body), (5, 2));
    assert_eq!(progress.first_missing_body, None);
    let other = memory();
    let text = read(&job.path);
    let report = import_lines(&other, text.lines(), now());
    assert_eq!((report.new, report.invalid), (5, 0), "{text}");
    let id = EmailId::new("49a3999c-0");
    let text = |archive: &Archive| archive.email(&id).unwrap().unwrap().text;
    assert_eq!(text(&other), text(&archive));
}

#[test]
fn csv_has_masks_and_words_of_the_api() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), archive());
    let mut job = job(&folder, SetFormat::Csv);
    job.scope = ExportScope::Emails([EmailId::new("49a3999c-3")].into());
    let progress = run(&job, &archive);
    assert_eq!((progress.written, progress.without_body), (1, 0));
    insta::assert_snapshot!(read(&job.path), @r"
    id,created_at,last_event,to,cc,bcc,from,reply_to,subject,scheduled_at,message_id
    49a3999c-3,2026-11-20T08:03:00.000000Z,delivery_delayed,ana@example.com,,,Acme <hello@acme.example>,,•••••• is your code,,
    ");
}

#[test]
fn marked_emails_are_exported_in_list_order() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), archive());
    let mut job = job(&folder, SetFormat::JsonLines);
    let ids = ["49a3999c-0", "49a3999c-4", "unknown"].map(EmailId::new);
    job.scope = ExportScope::Emails(ids.into());
    let plan = job.plan(&archive, &CancellationToken::new()).unwrap();
    job.scope = plan.scope;
    let progress = run(&job, &archive);
    let text = read(&job.path);
    let first = text.find("49a3999c-4").unwrap();
    assert!(first < text.find("49a3999c-0").unwrap(), "{text}");
    assert_eq!((progress.written, progress.failed), (2, 1));
    let expected = Some("unknown: it is no longer in the archive");
    assert_eq!(progress.first_failure.as_deref(), expected);
}

#[test]
fn unreadable_rows_are_counted_as_failed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.db");
    fill(&open_file(&path), 10);
    // The two newest, one in the middle, and the two oldest.
    let damage = "UPDATE mail SET subject = CAST(X'61ff62' AS TEXT) WHERE id IN ('id-9', 'id-8', 'id-5', 'id-1', 'id-0')";
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch(damage).unwrap();
    let archive = open_file(&path);
    let marked = ExportScope::Emails((0..10).map(|n| EmailId::new(format!("id-{n}"))).collect());
    for scope in [everything(), marked] {
        let mut job = job(&folder, SetFormat::JsonLines);
        job.scope = scope;
        let plan = job.plan(&archive, &CancellationToken::new()).unwrap();
        assert_eq!((plan.emails, plan.without_body), (10, 5));
        job.scope = plan.scope;
        job.retrieves = true;
        let gone = || Err(Error::new(ErrorKind::NotFound, "no such email"));
        let progress = run_with(&job, &archive, |_| gone());
        assert_eq!(progress.error, None);
        assert_eq!((progress.done, progress.written), (10, 5));
        assert_eq!(progress.failed, 5);
        assert_eq!(read(&job.path).lines().count(), 5);
        std::fs::remove_file(&job.path).unwrap();
    }
}

#[test]
fn existing_file_is_refused_before_anything_is_counted() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), archive());
    let job = job(&folder, SetFormat::Csv);
    std::fs::write(&job.path, "mine").unwrap();
    let error = job.plan(&archive, &CancellationToken::new()).unwrap_err();
    assert!(error.message.ends_with("choose another name"), "{error:?}");
    // One that appears after the plan stays, too.
    let progress = run(&job, &archive);
    assert!(progress.error.is_some());
    assert_eq!(read(&job.path), "mine");
}

#[test]
fn batches_are_joined_without_gap_or_repetition() {
    let count = BATCH_LEN * 2 + 7;
    let (folder, archive) = (tempfile::tempdir().unwrap(), numbered(count));
    let all = (0..count).map(|n| EmailId::new(format!("id-{n}")));
    for scope in [everything(), ExportScope::Emails(all.collect())] {
        let mut job = job(&folder, SetFormat::JsonLines);
        job.scope = scope;
        let progress = run(&job, &archive);
        assert_eq!(progress.written, count as u64);
        let text = read(&job.path);
        let distinct: BTreeSet<&str> = text.lines().collect();
        assert_eq!((text.lines().count(), distinct.len()), (count, count));
        std::fs::remove_file(&job.path).unwrap();
    }
}

#[test]
fn text_file_has_all_emails() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), archive());
    let job = job(&folder, SetFormat::Text);
    let progress = run(&job, &archive);
    assert_eq!((progress.written, progress.without_body), (5, 2));
    let text = read(&job.path);
    let emails: Vec<&str> = text.split(&"=".repeat(72)).collect();
    assert_eq!(emails.len(), 5);
    insta::assert_snapshot!(emails[1..3].concat().trim(), @r"
    From: Acme <hello@acme.example>
    To: ana@example.com
    Date: Fri 20 Nov 2026 08:03:00 +0000
    Subject: 482913 is your code
    Status: delayed: their server asks to try later; still being tried; never checked
    Id: 49a3999c-3

    (its body is not stored)



    From: Acme <hello@acme.example>
    To: ana@example.com
    Date: Fri 20 Nov 2026 08:02:00 +0000
    Subject: 482913 is your code
    Status: delayed: their server asks to try later; still being tried; never checked
    Id: 49a3999c-2

    Your code is 482913�
    ");
}

#[test]
fn retrieved_text_says_when_it_was_confirmed() {
    let (folder, archive) = (tempfile::tempdir().unwrap(), numbered(1));
    let job = ExportJob {
        retrieves: true,
        ..job(&folder, SetFormat::Text)
    };
    let progress = run_with(&job, &archive, |row| {
        let json = format!(
            r#"{{"id":"{}","last_event":"delivered","text":"Hi"}}"#,
            row.summary.id.as_str()
        );
        let retrieved = RetrievedEmail::parse(json).unwrap();
        let later = now() + std::time::Duration::from_mins(7);
        archive.put_body(&retrieved, later.into()).unwrap();
        Ok(retrieved.into())
    });
    assert_eq!((progress.requests, progress.without_body), (1, 0));
    let text = read(&job.path);
    assert!(text.contains("Status: delivered: "), "{text}");
    text.assert_contains("as of Fri 20 Nov 2026 09:07:00 +0000\n");
}

#[test]
fn complete_export_gets_its_name() {
    for format in SetFormat::ALL {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let job = ExportJob {
            target: Some(target.clone()),
            ..job_at(folder.path().join("out.part"), format)
        };
        let archive = numbered(BATCH_LEN + 1);
        let mut progress = ExportProgress::default();
        let cancel = CancellationToken::new();
        assert!(job.plan(&archive, &cancel).is_ok());
        job.write_batch(None, &archive, &mut progress, &cancel);
        assert!(job.path.exists() && !target.exists(), "{format:?}");
        // Another one does not replace what is there, the same one does.
        assert!(job.plan(&archive, &cancel).is_err());
        let again = ExportJob {
            continues: true,
            ..job.clone()
        };
        assert!(again.plan(&archive, &cancel).is_ok());
        if job.path.is_dir() {
            std::fs::write(job.path.join("purged.eml"), "").unwrap();
        }
        let progress = run(&again, &archive);
        assert_eq!(progress.error, None, "{format:?}");
        assert!(target.exists() && !job.path.exists(), "{format:?}");
        assert!(!target.join("purged.eml").exists());
        assert!(again.plan(&archive, &cancel).is_err());
    }
}

#[test]
fn export_with_failed_requests_keeps_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let job = ExportJob {
        target: Some(folder.path().join("out")),
        ..retrieving(&folder)
    };
    let job = ExportJob {
        path: folder.path().join("out.part"),
        ..job
    };
    let refused = || Error::new(ErrorKind::Unreachable, "refused");
    let progress = run_with(&job, &archive(), |_| Err(refused()));
    assert!(progress.is_done && progress.service_error.is_some());
    assert!(job.path.exists() && !job.target().exists());
}

#[test]
fn complete_export_that_cannot_be_renamed_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let job = ExportJob {
        target: Some(target.clone()),
        ..job_at(folder.path().join("out.part"), SetFormat::JsonLines)
    };
    std::fs::write(&target, "other").unwrap();
    let error = run(&job, &numbered(1)).error.unwrap();
    assert!(error.contains("the export is complete in "), "{error}");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "other");
}
