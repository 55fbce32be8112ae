//! Tests that a recognisable key appears in no output, file or process list.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;

use crate::harness::fixed::Fixed;
use crate::harness::process::{Sentbox, files_below, set_mode};
use crate::harness::raw_server::{RawServer, response};
use crate::harness::service::{KEY, Service};
use crate::harness::session::Session;
use crate::harness::terminal::SENTBOX;
use crate::harness::text::TextChecks as _;

/// The start of every key in these tests.
const CANARY: &str = "re_canary";

/// Returns the files below a folder whose name or content has the key.
pub fn holders(folder: &Path) -> Vec<PathBuf> {
    let has_key = |path: &PathBuf| {
        // A log beside an archive may go while one looks.
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(_) if path.is_dir() => Vec::new(),
            bytes => bytes.unwrap(),
        };
        let text = String::from_utf8_lossy(&bytes);
        text.contains(CANARY) || path.display().to_string().contains(CANARY)
    };
    files_below(folder).into_iter().filter(has_key).collect()
}

#[test]
fn no_error_response_reveals_the_key() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = elsewhere.local_addr().unwrap();
    let echoed = format!("Bearer {KEY}");
    let named =
        format!("{{\"name\":\"{KEY}\",\"message\":\"no key like {KEY} is known, {echoed}\"}}");
    let refused = [400, 401, 403, 404, 409, 418, 422, 451]
        .map(|status| response(&format!("{status} {KEY}"), "", &named));
    let passing = [429, 500, 503]
        .map(|status| response(&format!("{status} No"), "retry-after: 0\r\n", &named));
    let page = format!("{{\"data\":[{{\"{KEY}\":1}}],\"has_more\":false}}");
    let with = |status, headers: &str| response(status, headers, &echoed);
    let odd = [
        with("200 OK", ""),
        response("200 OK", "", format!("<html>{echoed}</html>")),
        response("200 OK", "", format!("{{\"data\":\"{KEY}\"}}")),
        response("200 OK", "", page),
        with("401 No", &format!("x-request-id: {KEY}\r\n")),
        with(
            "401 No",
            &format!("x-request-id: x-{KEY}-y\r\nratelimit-limit: {KEY}\r\ndate: {KEY}\r\n"),
        ),
        with(
            "429 No",
            &format!("retry-after: 3600\r\nratelimit-policy: {KEY}\r\n"),
        ),
        with(
            "307 On",
            &format!("location: http://{other}/{KEY}?key={KEY}\r\n"),
        ),
        with(
            "301 On",
            &format!("location: https://{KEY}.example.com/\r\n"),
        ),
        with("302 On", &format!("location: {KEY}://x\r\n")),
        with("200 OK", &format!("content-encoding: gzip\r\nx: {KEY}\r\n")),
        format!("{KEY} is not HTTP\r\n\r\n").into(),
        Vec::new(),
    ];
    thread::scope(|scope| {
        for answer in refused.iter().chain(&passing).chain(&odd) {
            scope.spawn(move || {
                let base = RawServer::start([answer.as_slice()]).base;
                let sentbox = Sentbox::at_address(KEY, &base);
                // What is run checks its own streams.
                sentbox.run("doctor -vv");
                // A connection that breaks is tried again, for seconds, by all but the doctor.
                let mut logged_in = false;
                let text = String::from_utf8_lossy(answer);
                if !answer.is_empty() && !text.contains("gzip") {
                    for line in ["list -vv --json", "show 5b -vv --fresh", "doctor --json"] {
                        sentbox.run(line);
                    }
                    logged_in = sentbox
                        .run_with_input(&format!("login -vv --base-url {base} -p a"), KEY)
                        .status
                        .success();
                }
                let log = sentbox.home().join(".local/state/sentbox/sentbox.log");
                assert!(log.exists());
                let mut holders = holders(sentbox.home());
                if logged_in {
                    holders.retain(|path| !path.ends_with("keys/a"));
                }
                assert!(holders.is_empty(), "{holders:?} after {text}");
            });
        }
    });
    elsewhere.set_nonblocking(true).unwrap();
    assert!(elsewhere.accept().is_err(), "another address was asked");
}

#[test]
fn successful_responses_leak_no_key() {
    let sentbox = Sentbox::using(Service::new(Fixed(vec![
        r#"{"id":"5b","to":["ana@example.com"],"subject":"Your receipt","text":"Thanks"}"#,
    ])));
    for line in [
        "sync -vv --back all",
        "list -vv --json",
        "show 5b -vv --fresh",
        "doctor -vv --json",
        "doctor -vv",
        "profile list",
    ] {
        assert!(sentbox.run(line).status.success(), "{line}");
    }
    assert_eq!(holders(sentbox.home()), Vec::<PathBuf>::new());
    let log = fs::read_to_string(sentbox.home().join(".local/state/sentbox/sentbox.log")).unwrap();
    log.assert_contains("page merged");
    log.assert_contains("status=200");
    for personal in ["5b", "ana@", "example.com", "receipt", "Thanks"] {
        assert!(!log.contains(personal), "{personal} in {log}");
    }
}

#[test]
fn child_processes_and_arguments_show_no_key() {
    let service = Service::new(Fixed(vec![]));
    let sentbox = Sentbox::at(&service).with("RESEND_API_KEY", "re_canary_of_theirs");
    let secret = sentbox.home().join("secret");
    fs::write(&secret, KEY).unwrap();
    set_mode(&secret, 0o600);
    let command = "env > environment; (cat /proc/$PPID/cmdline || ps -o args= -p $PPID) > arguments; cat secret";
    let profile = format!(
        "[profiles.a]\nbase_url = \"{}\"\napi_key_command = \"{command}\"\n",
        service.base()
    );
    sentbox.configure(&profile);
    sentbox.stdout("list -p a -vv");
    let environment = fs::read_to_string(sentbox.home().join("environment"));
    environment.unwrap().assert_contains("HOME=");
    let arguments = fs::read_to_string(sentbox.home().join("arguments"));
    arguments.unwrap().assert_contains("list");
    assert_eq!(holders(sentbox.home()), [secret]);
}

#[test]
fn crash_report_has_no_key() {
    let service = Service::new(Fixed(vec![
        r#"{"id":"5b","to":["ana@example.com"],"subject":"Your receipt","text":"Thanks"}"#,
    ]));
    for position in ["fetch", "store"] {
        let environment = [
            ("SENTBOX_API_KEY", KEY),
            ("SENTBOX_BASE_URL", &service.base()),
            ("SENTBOX_PANIC", position),
        ];
        let mut session = Session::start(SENTBOX, &["-vv"], &environment, (100, 30));
        let status = session.child.wait().unwrap();
        assert_eq!(status.exit_code(), 101, "{position}");
        let found = holders(session.home.path());
        assert_eq!(found, Vec::<PathBuf>::new(), "{position}");
        session.end().1.assert_contains("report:");
    }
}
