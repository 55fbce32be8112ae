//! Tests of keys and profiles: login, profile, config.

use crate::harness::fixed::Fixed;
use crate::harness::process::{Sentbox, mode, set_mode};
use crate::harness::raw_server::RawServer;
use crate::harness::service::{KEY, Service};
use crate::harness::session::Session;
use crate::harness::terminal::SENTBOX;
use crate::harness::text::TextChecks as _;
use insta::assert_snapshot;
use serde_json::Value;

pub fn service() -> Service {
    Service::new(Fixed(vec![
        r#"{"id":"5b","to":["ana@example.com"],"subject":"Your receipt","last_event":"delivered"}"#,
    ]))
}

pub fn log_in(sentbox: &Sentbox, service: &Service, more: &str) -> String {
    let output = sentbox.run_with_input(
        &format!("login --base-url {} {more}", service.base()),
        &format!("{KEY}\nnot part of it\n"),
    );
    sentbox.shown(&output).replace(&service.base(), "[SERVICE]")
}

#[test]
fn missing_named_config_acts_like_no_config() {
    let sentbox = Sentbox::using(service()).with("SENTBOX_CONFIG", "/nowhere/config.toml");
    assert!(sentbox.stdout("list").contains("Your receipt"));
    let expected = "/nowhere/config.toml does not exist (optional)\n";
    assert_eq!(sentbox.stdout("config check"), expected);
    let checked = sentbox.stdout("doctor");
    checked.assert_contains("/nowhere/config.toml, which does not exist");
    let sentbox = Sentbox::new().with("SENTBOX_CONFIG", "/nowhere/config.toml");
    let without_key = sentbox.transcript("list");
    without_key.assert_contains("there is no API key");
    without_key.assert_contains("sentbox login");
}

#[test]
fn piped_key_is_verified_stored_and_used() {
    let service = service();
    let sentbox = Sentbox::new();
    assert_snapshot!(log_in(&sentbox, &service, "--profile acme"), @r"
    [SERVICE] accepts the key. It may read; every key that may read may also send and delete.
    profile  acme, in [HOME]/.config/sentbox/config.toml
    key      [HOME]/.config/sentbox/keys/acme, readable by you alone
    exit code 0
    ");
    let key_file = sentbox.config().join("keys/acme");
    let expected = format!("{KEY}\n");
    assert_eq!(std::fs::read_to_string(&key_file).unwrap(), expected);
    assert_eq!(mode(&key_file), 0o600);
    // The first profile is the default.
    assert_eq!(sentbox.stdout("list").lines().count(), 1);
    assert_snapshot!(log_in(&sentbox, &service, "-p other --json").lines().last().unwrap(), @"exit code 0");
    assert_eq!(sentbox.stdout("list -p other").lines().count(), 1);
}

#[test]
fn rejected_or_send_only_key_is_not_stored() {
    for (answer, kind, code) in [
        (
            "HTTP/1.1 400 No\r\ncontent-length: 58\r\n\r\n{\"name\":\"validation_error\",\"message\":\"API key is invalid\"}",
            "key_rejected",
            3,
        ),
        (
            "HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n",
            "key_rejected",
            3,
        ),
        (
            "HTTP/1.1 401 No\r\ncontent-length: 58\r\n\r\n{\"name\":\"restricted_api_key\",\"message\":\"only send emails\"}",
            "key_send_only",
            3,
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>",
            "not_the_api",
            5,
        ),
    ] {
        let sentbox = Sentbox::new();
        let server = RawServer::start([answer]);
        let login = format!("login --json --base-url {}", server.base);
        let output = sentbox.run_with_input(&login, KEY);
        let error: Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!(error["error"]["kind"].as_str(), Some(kind), "{answer}");
        assert_eq!(output.status.code(), Some(code), "{answer}");
        let hint = error["error"]["hint"].as_str().unwrap();
        hint.assert_ends("the key was not stored");
        assert!(!hint.contains("doctor"), "it cannot know the key: {hint}");
        assert!(!sentbox.config().exists());
    }
    let sentbox = Sentbox::new();
    assert_snapshot!(sentbox.shown(&sentbox.run_with_input("login", "\n")), @r"
    stderr: sentbox: the API key from standard input is empty
    exit code 3
    ");
}

#[test]
fn typed_key_is_not_shown() {
    let service = service();
    let arguments = ["login", "--base-url", &service.base()];
    let mut session = Session::start(SENTBOX, &arguments, &[], (100, 24));
    session.until_shown("(profile default):");
    // A hand faster than any user's must wait until the echo is off.
    session.until_restored(false);
    session.press(&format!("{KEY}\r"));
    let (code, screen) = session.end();
    assert_eq!(code, 0, "{screen}");
    screen.assert_contains("accepts the key");
}

#[test]
fn profiles_are_listed_chosen_and_removed() {
    let service = service();
    let sentbox = Sentbox::new();
    log_in(&sentbox, &service, "--profile acme");
    let file = sentbox.config().join("config.toml");
    let more = "\n# Ours.\n[profiles.staging]\napi_key_command = \"pass show re_canary\"\n[profiles.bare]\n";
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + more).unwrap();
    let transcript = |line: &str| {
        let wide = format!("{:29}", "[SERVICE]");
        sentbox
            .transcript(line)
            .replace(&format!("{:29}", service.base()), &wide)
            .replace(&service.base(), "[SERVICE]")
    };
    assert!(transcript("profile list").starts_with("* acme     "));
    assert_snapshot!(transcript("profile list --jsonl"), @r#"
    {"name":"acme","default":true,"base_url":"[SERVICE]","key_from":"file [HOME]/.config/sentbox/keys/acme"}
    {"name":"bare","default":false,"base_url":"https://api.resend.com","key_from":null}
    {"name":"staging","default":false,"base_url":"https://api.resend.com","key_from":"command pass ..."}
    exit code 0
    "#);
    assert_snapshot!(transcript("profile use stagin"), @r"
    stderr: sentbox: there is no profile stagin
    stderr:    hint: did you mean staging?
    exit code 2
    ");
    assert_snapshot!(transcript("profile use staging"), @r"
    stderr: sentbox: staging is the default profile now
    exit code 0
    ");
    assert!(std::fs::read_to_string(&file).unwrap().contains("# Ours."));
    sentbox.stdout("show 5b -p acme");
    assert_snapshot!(transcript("profile remove acme"), @r"
    stderr: sentbox: the mail that profile acme has gathered would be deleted with it: [HOME]/.local/share/sentbox/acme
    stderr:    hint: add --yes to delete it, too; the service forgets old mail
    exit code 2
    ");
    assert_snapshot!(transcript("profile remove acme --yes"), @r"
    stderr: sentbox: profile acme is removed
    exit code 0
    ");
    assert!(!sentbox.config().join("keys/acme").exists());
    let server = "\n[profiles.team]\narchive = \"postgres://me@db.example.com/mail?schema=team\"\n";
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + server).unwrap();
    assert_snapshot!(transcript("profile remove team"), @r#"
    stderr: sentbox: what profile team has stored in PostgreSQL, at postgres://me@db.example.com/mail (schema team), would stay
    stderr:    hint: add --yes to remove the profile all the same; the owner of the schema deletes the mail for all who use it, with all that other programs have in these schemas: DROP SCHEMA IF EXISTS "team", "team_received" CASCADE
    exit code 2
    "#);
    assert_snapshot!(transcript("profile remove team --yes"), @r#"
    stderr: sentbox: profile team is removed
    stderr: sentbox: what is stored in PostgreSQL, at postgres://me@db.example.com/mail (schema team), stays; the owner of the schema deletes it for all who use it, with all that other programs have in these schemas: DROP SCHEMA IF EXISTS "team", "team_received" CASCADE
    exit code 0
    "#);
    let mail = sentbox.home().join(".local/share/sentbox/acme");
    assert!(!mail.exists());
    assert_snapshot!(transcript("config check"), @r"
    [HOME]/.config/sentbox/config.toml can be used; profiles: 2, default: staging
    exit code 0
    ");
    assert_snapshot!(transcript("profile remove staging"), @r"
    stderr: sentbox: profile staging is removed
    stderr: sentbox: no profile is the default now; to choose one: sentbox profile use NAME
    exit code 0
    ");
    assert_snapshot!(transcript("profile remove bare"), @r"
    stderr: sentbox: profile bare is removed
    exit code 0
    ");
}

#[test]
fn login_reports_a_key_of_higher_precedence() {
    let service = service();
    let sentbox = Sentbox::new().with("RESEND_API_KEY", "re_canary_of_another_team");
    let transcript = log_in(&sentbox, &service, "");
    transcript.assert_contains("RESEND_API_KEY is set and takes precedence over this profile; --profile default uses it all the same");
}

#[test]
fn config_file_is_found_edited_and_checked() {
    let sentbox = Sentbox::new().with("SENTBOX_API_KEY", KEY).with(
        "EDITOR",
        "printf '%s' \"$SENTBOX_API_KEY\" > seen; printf '[profiles.a]\\nrates = 1\\n' >",
    );
    assert_snapshot!(sentbox.transcript("config path"), @r"
    [HOME]/.config/sentbox/config.toml
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("config check"), @r"
    [HOME]/.config/sentbox/config.toml does not exist (optional)
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("config edit"), @r#"
    [HOME]/.config/sentbox/config.toml can be used; profiles: 1, none of them the default
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:2: "rates" is not known here; did you mean rate?
    exit code 0
    "#);
    let seen = std::fs::read_to_string(sentbox.home().join("seen")).unwrap();
    assert_eq!(seen, "", "the editor gets no key");
    let file = sentbox.config().join("config.toml");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let views = "[views]\n1 = { name = \"Today\", query = \"after:today\" }\n2 = { name = \"Odd\", query = \"on:soon (a\", keys = 1 }\n";
    write(views);
    assert_snapshot!(sentbox.transcript("config check"), @r#"
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:3: "keys" is not known here
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:3: view 2, Odd: (: missing ")": the group extends to the end
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:3: view 2, Odd: soon: expected a date such as 2026-11-02, 2 Nov, today, last-week, 09:30, 7d or 5min
    stderr:    hint: sentbox config edit
    exit code 8
    "#);
    let doctor = sentbox.transcript("doctor --quick");
    let failed = "FAILED  config    [HOME]/.config/sentbox/config.toml:3: view 2, Odd: soon: expected a date";
    doctor.assert_contains(failed);
    write("[keys]\n\"Ctrl-s\" = \"filter\"\nx = \"filer\"\n");
    assert_snapshot!(sentbox.transcript("demo"), @r#"
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:3: there is no command "filer"; did you mean filter?
    stderr:    hint: sentbox config edit
    exit code 8
    "#);
    write("[keys]\ng = \"export\"\n\"g s\" = \"recipient-summary\"\n");
    assert_snapshot!(sentbox.transcript("config check"), @r#"
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:2: "g" for export replaces g[ (history-back), g] (history-forward), gb (fetch-bodies), gc (columns), gd (go-to-date), gg (newest), gg (scroll-to-start), gn (show-changes), gp (profiles), gr (received-mail), gs (sent-mail), gv (saved-views), gw (watched-emails)
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:3: "g s" starts with "g" ([HOME]/.config/sentbox/config.toml:2), so only one of them can have a command
    stderr:    hint: sentbox config edit
    exit code 8
    "#);
    write("[profiles.a\n");
    assert_eq!(sentbox.code("config check"), Some(8));
    let wrong = "[profiles.a]\nrate = 0\nratte = 1\n[profiles.b]\narchive = \"tape\"\n";
    write(wrong);
    assert_snapshot!(sentbox.transcript("config check"), @r#"
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:2: rate is a number of requests a second from 0.01 to 10000
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:5: archive is "disk", "memory" or postgres://USER@HOST/DATABASE
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:3: "ratte" is not known here; did you mean rate?
    stderr: sentbox: [HOME]/.config/sentbox/config.toml has 2 errors
    stderr:    hint: sentbox config edit
    exit code 8
    "#);
    assert_snapshot!(sentbox.transcript("list"), @r#"
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:2: rate is a number of requests a second from 0.01 to 10000; [HOME]/.config/sentbox/config.toml:5: archive is "disk", "memory" or postgres://USER@HOST/DATABASE
    stderr:    hint: sentbox config check lists them by line; edit with sentbox config edit
    exit code 8
    "#);
    let with_key = format!("{wrong}[keys]\nx = \"filer\"\n");
    write(&with_key);
    assert_snapshot!(sentbox.transcript(""), @r#"
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:2: rate is a number of requests a second from 0.01 to 10000; [HOME]/.config/sentbox/config.toml:5: archive is "disk", "memory" or postgres://USER@HOST/DATABASE; [HOME]/.config/sentbox/config.toml:7: there is no command "filer"; did you mean filter?
    stderr:    hint: sentbox config check lists them by line; edit with sentbox config edit
    exit code 8
    "#);
    let theme = "[theme]\nbase = \"black\"\nbad = 256\n[keys]\n\"Ctrl-s\" = \"filter\"\n";
    write(theme);
    assert_snapshot!(sentbox.transcript("config check"), @r##"
    [HOME]/.config/sentbox/config.toml can be used; profiles: 0
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:2: base is "auto", "terminal", "light" or "dark"
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:3: bad is a name such as "light-blue", a number from 0 to 255, or "#rrggbb"
    exit code 0
    "##);
    write(wrong);
    let output = sentbox.run("config check --json");
    let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(checked["errors"].as_array().unwrap().len(), 2);
    assert_eq!(checked["warnings"].as_array().unwrap().len(), 1);
    let code = sentbox.code("config edit");
    assert_eq!(code, Some(0), "a broken file can be edited");
    let spoiling = sentbox.with("VISUAL", "printf '[profiles.a]\\nrate = 0\\n' >");
    let code = spoiling.code("config edit");
    assert_eq!(code, Some(8), "what was made of it is looked at");
    let failing = spoiling.with("VISUAL", "false");
    assert_eq!(failing.code("config edit"), Some(1));
}

#[test]
fn without_terminal_missing_key_is_the_error() {
    assert_snapshot!(Sentbox::new().transcript(""), @r"
    stderr: sentbox: there is no API key
    stderr:    hint: run sentbox login, or set SENTBOX_API_KEY; sentbox demo needs none
    exit code 3
    ");
}

#[test]
fn login_reports_archive_of_previous_key() {
    let service = service();
    let sentbox = Sentbox::new();
    log_in(&sentbox, &service, "-p acme");
    sentbox.stdout("sync --back all");
    let key_file = sentbox.config().join("keys/acme");
    std::fs::write(&key_file, "re_canary_of_somebody\n").unwrap();
    let transcript = |line: &str| {
        sentbox
            .transcript(line)
            .replace(&service.base(), "[SERVICE]")
    };
    assert_snapshot!(transcript("search receipt"), @r"
    stderr: sentbox: profile acme has an archive of 1 email that belongs to another key (fingerprint 9c925810, for [SERVICE])
    stderr:    hint: if the key is of the same team, go on with it: sentbox archive adopt; if not, leave it alone: sentbox archive begin
    exit code 8
    ");
    let home = sentbox.home().to_str().unwrap();
    let mut session = Session::start(
        SENTBOX,
        &["search", "receipt"],
        &[("HOME", home)],
        (120, 30),
    );
    session.press("n\n");
    let (code, text) = session.end();
    text.assert_contains("is the key of the same team, to go on with it?");
    assert_eq!(code, 1, "declined");
    transcript("doctor")
        .assert_contains("FAILED  archive   profile acme has an archive of 1 email");
    // What needs no archive goes on.
    transcript("show 5b").assert_contains("belongs to another key");
    let archives = sentbox.home().join(".local/share/sentbox/acme");
    let count = std::fs::read_dir(&archives).unwrap().count();
    assert_eq!(count, 1, "none was begun unasked");

    let begun = transcript("archive begin");
    begun.assert_contains("emails   0");
    begun.assert_ends("exit code 0");
    assert_eq!(sentbox.stdout("search receipt --count"), "0\n");
    std::fs::write(&key_file, "re_canary_third\n").unwrap();
    let mut folders = std::fs::read_dir(&archives)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let begun = folders.find(|folder| !folder.display().to_string().ends_with("9c925810"));
    std::fs::remove_dir_all(begun.unwrap()).unwrap();
    let adopted = transcript("archive adopt --json");
    adopted.assert_contains("\"emails\":1");
    adopted.assert_ends("exit code 0");
    assert_eq!(sentbox.stdout("search receipt --count"), "1\n");
    assert_snapshot!(transcript("archive adopt"), @r"
    stderr: sentbox: profile acme has no archive of another key
    stderr:    hint: sentbox archive info describes its archive
    exit code 2
    ");
}

#[test]
fn key_command_in_shared_file_is_refused() {
    let sentbox = Sentbox::new();
    let mark = sentbox.home().join("mark");
    let folder = sentbox.config();
    sentbox.configure(&format!(
        "[profiles.acme]\napi_key_command = \"touch {}\"\n",
        mark.display()
    ));
    let path = folder.join("config.toml");
    for (path, mode, kept) in [
        (&path, 0o666, 0o600),
        (&path, 0o620, 0o600),
        (&folder, 0o777, 0o700),
    ] {
        set_mode(path, mode);
        for line in ["list -p acme", "config check", "doctor"] {
            let words = sentbox.transcript(line);
            let why = format!("mode {mode:04o}");
            for part in [
                "api_key_command is not run",
                &why,
                "chmod go-w",
                "run that chmod",
                "exit code 8",
            ] {
                assert!(words.contains(part), "{line}: no {part}: {words}");
            }
        }
        set_mode(path, kept);
    }
    assert!(!mark.exists());
    assert!(sentbox.transcript("config check").ends_with("exit code 0"));
    sentbox.run("list -p acme");
    assert!(mark.exists(), "nothing is wrong any more");
}

#[test]
fn login_without_stored_key_adds_no_profile() {
    let service = service();
    let sentbox = Sentbox::new();
    std::fs::create_dir_all(sentbox.config()).unwrap();
    let folder = sentbox.config().join("keys");
    std::fs::write(folder, "a file where a folder belongs").unwrap();
    let login = format!("login -p acme --base-url {}", service.base());
    let output = sentbox.run_with_input(&login, KEY);
    assert_eq!(output.status.code(), Some(8), "{}", sentbox.shown(&output));
    assert!(!sentbox.config().join("config.toml").exists());
}

#[test]
fn profile_without_its_key_names_the_remedy() {
    let sentbox = Sentbox::new();
    sentbox.configure("[profiles.acme]\napi_key_file = \"keys/acme\"\n");
    let words = sentbox.transcript("list -p acme");
    words.assert_contains("does not exist");
    words.assert_contains("sentbox -p acme login");
    words.assert_ends("exit code 3");
}
