//! Tests of `--archive FILE`, and of what is on stderr beside JSON.

use insta::assert_snapshot;
use serde_json::Value;

use crate::cli::two_emails;
use crate::harness::process::Sentbox;
use crate::harness::service::KEY;
use crate::harness::text::TextChecks as _;

const MAIL: &str = r#"{"object":"email","id":"one","to":["ana@example.com"],"from":"hi@acme.example","created_at":"2026-11-20T08:41:07Z","subject":"Your receipt","last_event":"delivered"}"#;

#[test]
fn named_archive_works_without_a_key() {
    let sentbox = Sentbox::new();
    assert_snapshot!(sentbox.transcript("search --archive mail.sqlite receipt"), @r"
    stderr: sentbox: there is no archive mail.sqlite
    stderr:    hint: sync and import make one there
    exit code 8
    ");
    sentbox.stdout_with_input("import --archive mail.sqlite -", MAIL);
    let found = sentbox.stdout("search -q --archive mail.sqlite --columns id,status receipt");
    assert_eq!(found, "one\tdelivered\n");
    let stats = sentbox.stdout("stats -q --archive mail.sqlite --csv");
    assert_eq!(stats.lines().count(), 2);
    assert!(!sentbox.home().join(".local/share/sentbox").exists());
    let code = sentbox.code("search --archive mail.sqlite --in-memory x");
    assert_eq!(code, Some(2));
}

#[test]
fn keyless_export_names_missing_bodies_alone() {
    let sentbox = Sentbox::new();
    sentbox.stdout_with_input("import --archive mail.sqlite -", MAIL);
    let output = sentbox.transcript("export --archive mail.sqlite --to x.jsonl");
    output.assert_contains("the bodies of 1 of 1 email are not stored\n");
    let output = sentbox.transcript("export --archive mail.sqlite --to x.eml");
    output.assert_contains("the body of this email is not stored\nexit code 1");
}

#[test]
fn linear_mode_reads_named_archive_without_key() {
    let sentbox = Sentbox::new();
    assert_snapshot!(sentbox.transcript("--linear --archive mail.sqlite"), @r"
    stderr: sentbox: there is no archive mail.sqlite
    stderr:    hint: sync and import make one there
    exit code 8
    ");
    let whole = MAIL.replace('}', r#","text":"Thank you, Ana.","html":null}"#);
    sentbox.run_with_input("import --archive mail.sqlite -", &whole);
    let text = sentbox.stdout_with_input("--linear --archive mail.sqlite", "1\nquit\n");
    text.assert_contains("mail.sqlite, all mail, 1 email, no key\n1. delivered, ");
    text.assert_contains("\nThank you, Ana.\n");
    let text = sentbox.stdout_with_input("--linear --archive mail.sqlite", "/ unknown\nquit\n");
    text.assert_contains("nothing matches; searched 1 email, not confirmed to be complete");
}

#[test]
fn missing_body_error_names_key_of_archive() {
    let sentbox = Sentbox::using(two_emails());
    sentbox.stdout("sync -q --back all --archive mail.sqlite");
    sentbox.run_with_input("import --archive mail.sqlite -", MAIL);
    let sentbox = sentbox.with("SENTBOX_API_KEY", "re_canary_of_another_team");
    let input = "/ id:one\n1\nquit\n";
    let text = sentbox.stdout_with_input("--linear --archive mail.sqlite", input);
    text.assert_contains("\nerror: the archive mail.sqlite of 3 emails belongs to another key (");
}

#[test]
fn every_line_beside_json_is_json() {
    let sentbox = Sentbox::new();
    sentbox.run_with_input("import --archive mail.sqlite -", MAIL);
    for line in [
        "search --json --archive mail.sqlite zebra receipt",
        "search --json --archive nowhere.sqlite receipt",
        "stats --json --archive mail.sqlite",
        "archive info --json --archive mail.sqlite",
        "list --json",
    ] {
        for text in sentbox.stderr(line).lines() {
            let value: Value = serde_json::from_str(text).expect(text);
            let has_text = |pointer| value.pointer(pointer).is_some_and(|text| text != "");
            assert!(has_text("/note") || has_text("/error/message"), "{text}");
            assert_ne!(value.pointer("/error/hint"), Some(&Value::from("")));
        }
    }
}

#[test]
fn named_archive_of_another_key_is_only_read() {
    let sentbox = Sentbox::using(two_emails());
    sentbox.stdout("sync -q --back all --archive mail.sqlite");
    let owner = sentbox.stdout("archive info --json --archive mail.sqlite --jq .key");
    let sentbox = sentbox.with("SENTBOX_API_KEY", "re_canary_of_another_team");
    for (line, text) in [
        ("search -q --columns id receipt", "49a3999c"),
        ("stats -q --csv", "delivered"),
        ("export -q --to - --as jsonl receipt", "\"price\":1.50"),
        ("show -q --offline 49a3", "Your receipt"),
        ("archive info", "reach    everything the service had at"),
    ] {
        let printed = sentbox.stdout(&format!("{line} --archive mail.sqlite"));
        assert!(printed.contains(text), "{line}: {printed}");
    }
    let doctor = sentbox.transcript("doctor --quick --archive mail.sqlite");
    doctor.assert_contains(
        "note    archive   the archive mail.sqlite of 2 emails belongs to another",
    );
    doctor.assert_contains("ok      archive   mail.sqlite: quick check passed, 2 emails");
    let screen = sentbox.stdout_with_input("--linear --archive mail.sqlite", "quit\n");
    screen.assert_contains("mail.sqlite, all mail, 2 emails, complete, no key, as of ");
    let shown = sentbox.transcript("show --as text 49a3 --archive mail.sqlite");
    shown.assert_contains(
        "\nstderr: sentbox: the archive mail.sqlite of 2 emails belongs to another key (",
    );
    shown.assert_contains("; this is the copy kept here, as of ");
    shown.assert_ends("exit code 0");
    for line in [
        "show --fresh 49a3",
        "sync",
        "sync --dry-run",
        "search --fresh receipt",
    ] {
        let transcript = sentbox.transcript(&format!("{line} --archive mail.sqlite"));
        let is_refused = transcript
            .contains("sentbox: the archive mail.sqlite of 2 emails belongs to another key (");
        assert!(
            is_refused && transcript.ends_with("exit code 8"),
            "{line}: {transcript}"
        );
    }
    let info = "archive info --json --archive mail.sqlite --jq .key";
    assert_eq!(sentbox.stdout(info), owner, "reading binds nothing");
    sentbox.stdout("archive adopt --archive mail.sqlite");
    assert_ne!(sentbox.stdout(info), owner);
    assert_snapshot!(sentbox.transcript("archive adopt --archive mail.sqlite"), @r"
    stderr: sentbox: the archive mail.sqlite belongs to no other key
    stderr:    hint: sentbox --archive mail.sqlite archive info describes its archive
    exit code 2
    ");
}

#[test]
fn imported_archive_syncs_only_with_chosen_profile() {
    let service = two_emails();
    let sentbox = Sentbox::at(&service);
    sentbox.stdout_with_input("import --archive mail.sqlite -", MAIL);
    assert_snapshot!(sentbox.transcript("search --archive mail.sqlite receipt"), @r"
    2026-11-20T08:41:07.000000Z	delivered	ana@example.com	Your receipt	one
    stderr: sentbox: the service never confirmed some of the statuses
    stderr: sentbox: searched 1 email, not confirmed to be complete; bodies and tags of 0 are known
    exit code 0
    ");
    let screen = sentbox.stdout_with_input("--linear --archive mail.sqlite", "quit\n");
    screen.assert_contains("mail.sqlite, all mail, 1 email, no key");
    for line in ["stats", "export --to - --as csv receipt"] {
        let transcript = sentbox.transcript(&format!("{line} --archive mail.sqlite"));
        transcript.assert_lacks("sentbox sync");
    }
    assert_snapshot!(sentbox.transcript("sync --archive mail.sqlite"), @r"
    stderr: sentbox: the archive mail.sqlite of 1 email belongs to no key yet
    stderr:    hint: choose the profile of its team with -p; if this key is of that team: sentbox --archive mail.sqlite archive adopt
    exit code 8
    ");
    sentbox.stdout_with_input("import --archive mail.sqlite -", MAIL);
    let owner = "archive info --json --archive mail.sqlite --jq .key";
    assert_eq!(sentbox.stdout(owner), "\n", "it belongs to no key yet");
    sentbox.stdout("archive adopt --archive mail.sqlite");
    assert_ne!(sentbox.stdout(owner), "\n");
    let stdout = sentbox.stdout("sync --archive mail.sqlite");
    stdout.assert_starts("2 emails new");

    let text = format!(
        "[profiles.two]\nbase_url = \"{}\"\napi_key_env = \"TWO\"\n",
        service.base()
    );
    sentbox.configure(&text);
    let sentbox = sentbox.with("TWO", KEY);
    sentbox.run_with_input("import --archive other.sqlite -", MAIL);
    let stdout = sentbox.stdout("-p two sync --archive other.sqlite");
    stdout.assert_starts("2 emails new");
}

#[test]
fn imported_archive_belongs_to_no_service_yet() {
    let sentbox = Sentbox::new();
    sentbox.run_with_input("import --archive mail.sqlite -", MAIL);
    let info = sentbox.stdout("archive info --archive mail.sqlite");
    for line in [
        "service  none yet\n",
        "key      none yet\n",
        "reach    not confirmed to be complete\n",
    ] {
        info.assert_contains(line);
    }
}

#[test]
fn imported_archive_is_purged_without_its_key() {
    let sentbox = Sentbox::new().with("SENTBOX_API_KEY", KEY);
    sentbox.stdout_with_input("import --archive mail.sqlite -", MAIL);
    assert_snapshot!(sentbox.transcript("archive purge --archive mail.sqlite --to ana@example.com"), @r"
    stderr: sentbox: this would remove 1 email to ana@example.com for good
    stderr:    hint: add --yes to confirm
    exit code 2
    ");
    let removed = sentbox.stdout("archive purge --archive mail.sqlite --to ana@example.com --yes");
    assert_eq!(removed, "1 email removed\n");
    sentbox.stdout("archive vacuum --archive mail.sqlite");
    for line in ["purge --older 1d --yes", "vacuum"] {
        let transcript = sentbox.transcript(&format!("archive {line} --archive misspelt.sqlite"));
        transcript.assert_contains("there is no archive misspelt.sqlite");
        transcript.assert_contains("exit code 8");
    }
    assert!(!sentbox.home().join("misspelt.sqlite").exists());
}

#[test]
fn refused_key_is_not_said_to_be_accepted() {
    let service = two_emails();
    let sentbox = Sentbox::at_address("re_other", &service.base());
    assert_eq!(sentbox.code("sync --archive mail.sqlite"), Some(3));
    let info = sentbox.stdout("archive info --archive mail.sqlite");
    info.assert_contains("; the archive has no answer to it yet\n");
    let sentbox = sentbox.with("SENTBOX_API_KEY", KEY);
    sentbox.stdout("sync --archive mail.sqlite");
    let info = sentbox.stdout("archive info --archive mail.sqlite");
    info.assert_contains("\nkey      fingerprint ");
    info.assert_lacks("accepted yet");
    let other = sentbox.with("SENTBOX_API_KEY", "re_other");
    let adopted = other.stdout("archive adopt --archive mail.sqlite");
    adopted.assert_contains("; the archive has no answer to it yet\n");
    let purge = other
        .with("SENTBOX_API_KEY", KEY)
        .stderr("archive purge --archive mail.sqlite --older 1d");
    purge.assert_contains("; the archive has no answer to it yet)\n");
}
