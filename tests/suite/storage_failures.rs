//! Tests of unusable archive files: each is reported, and no stored mail is lost.

use std::path::PathBuf;

use crate::cli::sample;
use crate::harness::process::{Sentbox, set_mode};
use crate::harness::text::TextChecks as _;
use serde_json::Value;

/// Returns the transcript of a command with a limit on file sizes, in blocks
/// of 512 bytes, as on a full disk.
fn limited(sentbox: &Sentbox, blocks: u32, line: &str) -> String {
    let mut command = sentbox.limited(&format!("-f {blocks}"), line);
    sentbox.shown(&command.output().unwrap())
}

#[test]
fn full_disk_keeps_stored_mail_and_resumes() {
    let sentbox = Sentbox::using(sample(900));
    let first = sentbox.json("sync --back 1d --rate 1000 --json");
    let stored = first["new"].as_u64().unwrap();
    let words = limited(&sentbox, 400, "sync --back all --rate 1000");
    words.assert_contains("archive");
    words.assert_contains("what is stored is safe");
    words.assert_ends("exit code 8");
    let after = sentbox.info();
    assert!(after["emails"].as_u64().unwrap() >= stored, "{after}");
    assert_eq!(after["complete"], false);
    // What is asked for is shown although it cannot be kept.
    let email = sentbox.json("list --jsonl --limit 1");
    let id = email["id"].as_str().unwrap();
    limited(&sentbox, 1, &format!("show {id}")).assert_ends("exit code 0");
    let doctor = limited(&sentbox, 4, "doctor --quick");
    doctor.assert_contains("FAILED  data      [HOME]/.local/share/sentbox cannot be written to: ");
    doctor.assert_ends("exit code 8");
    let archive = sentbox.archive_path();
    let line = format!("doctor --archive {}", archive.display());
    limited(&sentbox, 1, &line).assert_contains("FAILED  archive   ");
    sentbox.stdout("sync --back all --rate 1000");
    assert_eq!(sentbox.info()["emails"], 900);
    assert_eq!(sentbox.info()["complete"], true);
    // No file beside the archive can be created.
    let words = limited(&sentbox, 4, "search --count after:1970-01-01");
    words.assert_contains("900");
    words.assert_contains("the disk is full");
    words.assert_ends("exit code 0");
    let words = limited(&sentbox, 4, &format!("show {id}"));
    assert_eq!(words.matches("the disk is full").count(), 1, "{words}");
    words.assert_ends("exit code 0");
    limited(&sentbox, 4, &format!("show {}", &id[..12])).assert_ends("exit code 0");
    for line in ["archive purge --older 1d --yes", "archive vacuum"] {
        let words = limited(&sentbox, 4, line);
        words.assert_contains("the disk is full");
        words.assert_contains(": nothing was changed");
        words.assert_lacks("restart sentbox");
    }
    let words = limited(&sentbox, 40, "export --as jsonl --to mail.jsonl");
    words.assert_contains("the same command with --resume continues it");
    sentbox.stdout("export --as jsonl --to mail.jsonl --resume");
    let lines = std::fs::read_to_string(sentbox.home().join("mail.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 900);
}

#[test]
fn memory_is_no_name_of_an_archive() {
    let sentbox = Sentbox::new();
    let output = sentbox.run_with_input("--archive :memory: import -", "");
    let words = sentbox.shown(&output);
    words.assert_contains("use --in-memory");
    words.assert_ends("exit code 2");
}

#[test]
fn foreign_file_is_refused_and_unchanged() {
    let sentbox = Sentbox::synced(sample(3));
    let path = sentbox.archive_path();
    let letter = "Dear Sir or Madam, this is a letter. ".repeat(100);
    for file in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{file}", path.display()));
    }
    std::fs::write(&path, &letter).unwrap();
    let words = sentbox.transcript("sync");
    words.assert_contains("the archive file is not an archive");
    words.assert_contains("archive.sqlite");
    words.assert_ends("exit code 8");
    let code = sentbox.code("show 00000000-0000-4000-8000-000000000000");
    assert_eq!(code, Some(4), "the service is asked all the same");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), letter);
}

#[test]
fn damaged_archive_is_reported() {
    let sentbox = Sentbox::synced(sample(300));
    let path = sentbox.archive_path();
    let mut bytes = std::fs::read(&path).unwrap();
    let len = bytes.len();
    bytes[4096..len].fill(0x5a);
    std::fs::write(&path, &bytes).unwrap();
    let words = sentbox.transcript("sync");
    words.assert_contains("the archive file is damaged");
    words.assert_contains("sentbox archive begin moves it to a backup");
    words.assert_ends("exit code 8");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn unreadable_email_is_reported_after_the_matches() {
    let sentbox = Sentbox::synced(sample(30));
    let connection = sentbox.archive();
    connection.execute("UPDATE mail SET subject = CAST(X'61ff62' AS TEXT) WHERE rowid = (SELECT max(rowid) FROM mail)", []).unwrap();
    let oldest = "SELECT recipients FROM mail ORDER BY rowid DESC LIMIT 1";
    let recipient: String = connection.query_one(oldest, [], |row| row.get(0)).unwrap();
    drop(connection);
    let output = sentbox.run("search after:1970-01-01 --json");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["data"].as_array().unwrap().len(), 29);
    assert_eq!(found["has_more"], true, "that is not all");
    assert_eq!(output.status.code(), Some(8));
    let words = String::from_utf8_lossy(&output.stderr);
    words.assert_contains("1 email in the archive cannot be read, so matches may be missing");
    words.assert_contains("sentbox archive repair");
    words.assert_lacks("everything");
    // The index does not know exactly who has a text of four characters in an address.
    let part = &recipient[recipient.len() - 4..];
    let words = sentbox.transcript(&format!("search to:{part} --count"));
    words.assert_contains("cannot be read");
    words.assert_ends("exit code 8");
}

#[test]
fn damaged_body_is_reported_and_fetched_again() {
    let sentbox = Sentbox::using(sample(30));
    sentbox.stdout("sync --back all --bodies --rate 1000");
    let damage = "UPDATE body SET json = x'00' WHERE sort_key = (SELECT min(sort_key) FROM mail)";
    sentbox.archive().execute_batch(damage).unwrap();
    let email = sentbox.json("list --limit 1 --jsonl");
    let id = email["id"].as_str().unwrap();
    let transcript = sentbox.transcript("search has:html");
    transcript.assert_contains("1 email in the archive cannot be read");
    let transcript = sentbox.transcript(&format!("show {id} --offline"));
    transcript.assert_ends("exit code 8");
    sentbox.stdout(&format!("show {id}"));
    sentbox.stdout(&format!("show {id} --offline"));
    sentbox.stdout("search has:html");
}

#[test]
fn repaired_archive_is_complete_after_the_next_sync() {
    let sentbox = Sentbox::synced(sample(300));
    let path = sentbox.archive_path();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'mail'";
    let root = sentbox.archive().query_one(root, [], |row| row.get(0));
    let root: u32 = root.unwrap();
    // The first child of the table's root is a page of emails.
    let mut bytes = std::fs::read(&path).unwrap();
    let page = |number: u32| usize::try_from(number - 1).unwrap() * 4096;
    let root = &bytes[page(root)..page(root + 1)];
    let cell = usize::from(u16::from_be_bytes([root[12], root[13]]));
    let child = u32::from_be_bytes([root[cell], root[cell + 1], root[cell + 2], root[cell + 3]]);
    bytes[page(child)..page(child + 1)].fill(0);
    std::fs::write(&path, bytes).unwrap();
    let doctor = sentbox.transcript("doctor");
    doctor.assert_contains("FAILED  archive");
    doctor.assert_contains("sentbox archive repair");
    let report = sentbox.json("archive repair --json");
    let emails = report["emails"].as_u64().unwrap();
    assert!((200..300).contains(&emails), "{report}");
    assert_eq!(report["complete"], false);
    let damaged = report["damaged_file"].as_str().unwrap();
    assert!(std::path::Path::new(damaged).exists());
    let repeated = sentbox.json("archive repair --json");
    assert_eq!(repeated["damaged_file"], Value::Null);
    let purged = sentbox.run("archive purge --to none@example.com --yes --json");
    let report: Value = serde_json::from_slice(&purged.stdout).unwrap();
    assert_eq!(report["backups"], serde_json::json!([damaged]));
    let words = sentbox.shown(&purged);
    words.assert_contains("to delete them: rm -r ");
    let doctor = sentbox.transcript("doctor");
    doctor.assert_contains("ok      archive");
    doctor.assert_lacks("everything");
    let sync = sentbox.transcript("sync --back all --rate 1000");
    sync.assert_contains(&format!("{} emails new", 300 - emails));
    let transcript = sentbox.transcript("search after:1970-01-01 --count");
    transcript.assert_contains("searched 300 emails, which is everything");
    let transcript = sentbox.transcript("doctor --quick");
    transcript.assert_contains("quick check passed");
}

#[test]
fn read_only_archive_is_searched_and_not_filled() {
    let sentbox = Sentbox::using(sample(30));
    sentbox.stdout("sync --back all --bodies --rate 1000");
    let email = sentbox.json("search after:1970-01-01 --limit 1 --jsonl");
    let id = email["id"].as_str().unwrap();
    set_mode(sentbox.archive_path(), 0o400);
    for line in [
        "search after:1970-01-01",
        "archive info",
        "doctor",
        &format!("show {id} --offline"),
        &format!("show {id} --fresh"),
    ] {
        sentbox.stdout(line);
    }
    for line in [
        "sync",
        "import /dev/null",
        "archive purge --older 1d --yes",
        "archive vacuum",
        "search order --back all",
    ] {
        let words = sentbox.transcript(line);
        assert!(words.ends_with("exit code 8"), "{line}: {words}");
        let error = if line.starts_with("archive ") {
            "read-only archive: nothing was changed"
        } else {
            "read-only archive: new mail is not stored"
        };
        assert!(words.contains(error), "{line}: {words}");
    }
}

#[test]
fn unusable_archive_is_backed_up_and_replaced() {
    let service = sample(30);
    let spoil: [fn(&PathBuf); 3] = [
        |path| std::fs::write(path, "Dear Sir or Madam").unwrap(),
        |path| {
            let mut bytes = std::fs::read(path).unwrap();
            bytes[4096..].fill(0x5a);
            std::fs::write(path, bytes).unwrap();
        },
        |path| {
            rusqlite::Connection::open(path)
                .unwrap()
                .pragma_update(None, "user_version", 99)
                .unwrap();
        },
    ];
    for spoil in spoil {
        let sentbox = Sentbox::at(&service);
        sentbox.stdout("sync --back all --rate 1000");
        let whole = sentbox.transcript("archive begin");
        // One that is of use stays.
        whole.assert_contains("no archive");
        whole.assert_ends("exit code 2");
        let path = sentbox.archive_path();
        spoil(&path);
        let before = std::fs::read(&path).unwrap();
        let transcript = sentbox.transcript("archive info");
        transcript.assert_contains("sentbox archive begin moves it to a backup");
        let begun = sentbox.transcript("archive begin");
        begun.assert_contains("emails   0");
        begun.assert_contains(".aside1");
        let sync = sentbox.transcript("sync --back all --rate 1000");
        sync.assert_contains("30");
        let aside = path
            .parent()
            .unwrap()
            .with_added_extension("aside1")
            .join("archive.sqlite");
        let kept = std::fs::read(aside).unwrap();
        assert!(kept == before, "nothing is destroyed");
    }
}

#[test]
fn archive_begin_leaves_foreign_file_unchanged() {
    let sentbox = Sentbox::using(sample(1));
    let notes = sentbox.home().join("notes.txt");
    std::fs::write(&notes, "Call Ana").unwrap();
    let line = format!("--archive {} archive begin", notes.display());
    insta::assert_snapshot!(sentbox.transcript(&line), @r"
    stderr: sentbox: [HOME]/notes.txt is not an archive
    stderr:    hint: name another file, or move this one away first
    exit code 8
    ");
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "Call Ana");
}
