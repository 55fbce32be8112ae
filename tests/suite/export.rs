//! Tests of `export`: formats, resumption after a kill, bodies,
//! and what `import` reads back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use rustix::process::Signal;
use sentbox::mail::EmailId;
use sentbox::server::SourceError;
use serde_json::Value;

use crate::cli::two_emails;
use crate::harness::fixed::{Hooked, sample_mailbox};
use crate::harness::process::{Sentbox, json_lines};
use crate::harness::service::{KEY, Service};
use crate::harness::serving::signal;
use crate::harness::text::TextChecks as _;
use crate::sync_command::reporting_bodies;

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect()
}

#[test]
fn line_feed_of_file_name_is_not_printed() {
    let sentbox = Sentbox::synced(two_emails());
    let mut command = sentbox.command("export --as csv --to");
    let output = command.arg("two\nlines.csv").output().unwrap();
    assert!(
        sentbox
            .shown(&output)
            .starts_with("exported 2 emails to two lines.csv\n")
    );
}

/// macOS has no such names.
#[cfg(target_os = "linux")]
#[test]
fn file_name_that_is_not_utf8_is_in_json() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let sentbox = Sentbox::synced(two_emails());
    let mut command = sentbox.command("export --as csv --json --to");
    let name = OsStr::from_bytes(b"b\xff.csv");
    let output = sentbox.shown(&command.arg(name).output().unwrap());
    assert!(output.contains("\"path\":\"b\u{fffd}.csv\""), "{output}");
}

#[test]
fn export_reports_cost_before_fetching_bodies() {
    let sentbox = Sentbox::synced(two_emails());
    // The listing of this service has bodies already.
    assert_snapshot!(sentbox.transcript("export --to mail --as eml"), @r"
    exported 2 emails to mail
    stderr: sentbox: attachments, if there are any, were not saved; --attachments saves them
    stderr: sentbox: searched 2 emails, which is everything the service had at [TIME]
    exit code 0
    ");
    let (service, requests) = reporting_bodies(12);
    let sentbox = Sentbox::synced(service);
    assert_snapshot!(sentbox.transcript("export to:no-such-person --to none.csv"), @r"
    exported 0 emails to none.csv
    stderr: sentbox: searched 12 emails, which is everything the service had at [TIME]
    exit code 0
    ");
    assert_eq!(sentbox.code("export --to some --as eml"), Some(1));
    let list = fs::read_to_string(sentbox.home().join("some/not-exported.txt"));
    assert_eq!(list.unwrap().lines().count(), 12);
    assert_eq!(requests.try_iter().count(), 0);
    // The folder has no email yet.
    assert_snapshot!(sentbox.transcript("export --to some --as eml --bodies --rate 1000"), @r"
    exported 12 emails to some
    stderr: sentbox: the bodies of 12 of 12 emails are not stored; fetching them first: 12 requests, about 1 s
    stderr: sentbox: attachments, if there are any, were not saved; --attachments saves them
    stderr: sentbox: searched 12 emails, which is everything the service had at [TIME]
    exit code 0
    ");
    assert_eq!(requests.try_iter().count(), 12);
    assert_eq!(files(&sentbox.home().join("some")).len(), 12);
}

#[test]
fn refused_body_fails_every_format() {
    let withheld = |_: &_, _: &EmailId| Err(SourceError::Withheld);
    let sentbox = Sentbox::synced(Service::new(Hooked::with_email(
        sample_mailbox(3),
        withheld,
    )));
    for to in ["a.jsonl", "b.json", "- --as jsonl --quiet", "c --as eml"] {
        let shown = sentbox.transcript(&format!("export --bodies --to {to}"));
        shown.assert_contains("the service withholds this email");
        shown.assert_ends("exit code 1");
    }
}

#[test]
fn killed_export_is_resumed_to_equal_bytes() {
    let (service, requests) = reporting_bodies(60);
    for form in ["eml", "json", "jsonl"] {
        let sentbox = Sentbox::at(&service);
        sentbox.run("sync --back all --rate 1000");
        let line = format!("export --to out --as {form} --bodies --rate 1000");
        let mut child = sentbox.spawn(&line);
        (0..20).for_each(|_| drop(requests.recv().unwrap()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!sentbox.home().join("out").exists());
        let shown = sentbox.transcript(&line);
        shown.assert_contains("--resume continues it");
        shown.assert_ends("exit code 1");
        let resumed = sentbox.json(&format!("{line} --resume --json"));
        assert!(resumed["resumed_from"].is_string(), "{resumed}");
        let again = sentbox.transcript(&format!("{line} --resume"));
        again.assert_contains("nothing was left to do: out exists");
        again.assert_ends("exit code 0");
        assert!(requests.try_iter().count() <= 41);
        // Without a request: all bodies are stored.
        let whole = sentbox.json(&format!("{} --json", line.replace("out", "whole")));
        assert!(whole["resumed_from"].is_null(), "{whole}");
        assert_eq!(requests.try_iter().count(), 0);
        let (out, whole) = (sentbox.home().join("out"), sentbox.home().join("whole"));
        if form == "eml" {
            assert_eq!(files(&out).len(), 60);
            assert_eq!(files(&out), files(&whole));
        } else {
            assert!(fs::read(&out).unwrap() == fs::read(&whole).unwrap());
        }
        let left = fs::read_dir(sentbox.home()).unwrap();
        let is_part = |name: &str| name.contains(".part");
        let mut names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(!names.any(|name| is_part(&name)));
    }
}

#[test]
fn export_is_not_resumed_from_another_archive() {
    let (service, requests) = reporting_bodies(60);
    let sentbox = Sentbox::synced(service);
    let mut child = sentbox.spawn("export --to out.jsonl --bodies --rate 20");
    (0..5).for_each(|_| drop(requests.recv().unwrap()));
    child.kill().unwrap();
    child.wait().unwrap();
    let lines = sentbox.home().join("one.jsonl");
    fs::write(lines, r#"{"id":"7","subject":"Hello"}"#).unwrap();
    sentbox.run("import --archive other.db one.jsonl");
    let line = "export --to out.jsonl --bodies --archive other.db --resume";
    let output = sentbox.run(line);
    assert_eq!(output.status.code(), Some(2), "{}", sentbox.shown(&output));
    // Its own archive by another name.
    let archive = sentbox.archive_path();
    let folder = archive.parent().unwrap();
    let again = folder
        .join("..")
        .join(folder.file_name().unwrap())
        .join(archive.file_name().unwrap());
    let line = line.replace("other.db", again.to_str().unwrap());
    assert_eq!(sentbox.json(&format!("{line} --json"))["emails"], 60);
}

#[test]
fn interrupted_json_export_has_more() {
    let (service, requests) = reporting_bodies(60);
    let sentbox = Sentbox::synced(service);
    let child = sentbox.spawn("export --to out.json --bodies --rate 20");
    (0..5).for_each(|_| drop(requests.recv().unwrap()));
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(sentbox.shown(&output).contains("--resume continues it"));
    assert!(!sentbox.home().join("out.json").exists());
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(sentbox.home().join(name)).unwrap()).unwrap()
    };
    let part = read("out.json.part");
    assert_eq!(part["has_more"], true);
    assert!(part["data"].as_array().unwrap().len() < 60);
    let resumed = sentbox.transcript("export --to out.json --bodies --rate 1000 --resume");
    resumed.assert_contains("this export began at ");
    resumed.assert_ends("exit code 0");
    let whole = read("out.json");
    assert_eq!(whole["has_more"], false);
    assert_eq!(whole["data"].as_array().unwrap().len(), 60);
}

#[test]
fn import_reads_every_json_alike() {
    let service = two_emails();
    let sentbox = Sentbox::at(&service);
    sentbox.run("sync --back all");
    for line in [
        "list --json",
        "list --jsonl",
        "search x --json",
        "search x --jsonl",
        "export --to - --as jsonl",
        "export --to - --as json",
        "show 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --json",
    ] {
        let printed = sentbox.stdout(line);
        let document: Value = serde_json::from_str(&printed).unwrap_or_default();
        let mut emails: Vec<Value> = match &document["data"] {
            Value::Array(emails) => emails.clone(),
            _ => json_lines(&printed),
        };
        assert!(!emails.is_empty(), "{line}");
        let other = Sentbox::at(&service);
        let imported = other.run_with_input("import - --json", &printed);
        let report: Value = serde_json::from_slice(&imported.stdout).unwrap();
        assert_eq!(report["new"], emails.len(), "{line}");
        assert_eq!(report["bad"], 0, "{line}");
        let mut stored = other.json_lines("export --to - --as jsonl");
        for email in &mut emails {
            email.as_object_mut().unwrap().remove("_sentbox");
        }
        let key = |email: &Value| email["id"].to_string();
        emails.sort_by_key(key);
        stored.sort_by_key(key);
        assert_eq!(stored, emails, "{line}");
    }
}

#[test]
fn export_writes_requested_streams_and_single_files() {
    let sentbox = Sentbox::synced(two_emails());
    assert_snapshot!(sentbox.transcript("export --to - --as csv"), @r#"
    id,created_at,last_event,to,cc,bcc,from,reply_to,subject,scheduled_at,message_id
    49a3999c-0ce1-4ea6-ab68-afcd6dc2e794,2026-11-20T08:41:07.420000Z,delivered,"Ana López <ana@example.com>, b@example.org",c@example.org,,Acme <billing@example.net>,,Your receipt #4821,,<1@example.net>
    5b,yesterday,teleported,x@example.com,,,�]0;gotcha�,,red �[31mtext� and tabs,,
    stderr: sentbox: exported 2 emails
    stderr: sentbox: searched 2 emails, which is everything the service had at [TIME]
    exit code 0
    "#);
    assert_snapshot!(sentbox.transcript("export to:ana --to receipt.txt"), @r"
    exported 1 email to receipt.txt
    stderr: sentbox: searched 2 emails, which is everything the service had at [TIME]
    exit code 0
    ");
    let text = fs::read_to_string(sentbox.home().join("receipt.txt")).unwrap();
    let (before, after) = text.split_once("; as of ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    assert_snapshot!(format!("{before}; as of [TIME]\n{after}"), @r"
    From: Acme <billing@example.net>
    To: Ana López <ana@example.com>, b@example.org
    Cc: c@example.org
    Date: Fri 20 Nov 2026 08:41:07 +0000
    Subject: Your receipt #4821
    Status: delivered: one of 3 recipients, not known which; as of [TIME]
    Id: 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794

    Thanks. See your receipt.
    ");
    assert_snapshot!(sentbox.transcript("export to:ana --to receipt.txt"), @r"
    stderr: sentbox: receipt.txt exists already
    stderr:    hint: nothing is overwritten; choose another name
    exit code 1
    ");
    assert_snapshot!(sentbox.transcript("export --to receipt.eml"), @r"
    stderr: sentbox: receipt.eml is one file, but several emails match
    stderr:    hint: give a folder with --to, or a query that only one email matches
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("export --to mail"), @r"
    stderr: sentbox: which format to write is not known
    stderr:    hint: give --as eml, html, text, txt, json, jsonl or csv
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("export --to - --as eml"), @r"
    stderr: sentbox: eml, html and text are files
    stderr:    hint: for one stream: --as txt, jsonl, json or csv
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("export --to nowhere/x.csv"), @r"
    stderr: sentbox: cannot write nowhere/x.csv: there is no folder nowhere
    exit code 1
    ");
    assert_snapshot!(sentbox.transcript("export status:bouncd --to x.csv"), @r#"
    stderr: sentbox: bouncd: unknown status; did you mean bounced?
    stderr:    hint: if the service has a status of that name, put it in quotes: 'status:"bouncd"'
    exit code 2
    "#);
    assert!(!sentbox.home().join("x.csv.part-state").exists());
}

#[test]
fn export_needs_no_key_where_an_archive_is() {
    let service = two_emails();
    let sentbox = Sentbox::new().with("ITS_KEY", KEY);
    let base = service.base();
    let config = format!("[profiles.default]\nbase_url = \"{base}\"\napi_key_env = \"ITS_KEY\"\n");
    sentbox.configure(&config);
    sentbox.run("sync --back all");
    let expected = sentbox.stdout("export --to - --as jsonl");
    let keyless = sentbox.with("ITS_KEY", "");
    let output = keyless.run("export --to - --as jsonl");
    assert!(output.status.success(), "{}", keyless.shown(&output));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert_eq!(keyless.code("export --to x --as eml --bodies"), Some(3));
}
