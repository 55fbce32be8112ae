//! Tests of how the binary ends: by signals, a lost or unread terminal, a locked
//! archive, system limits.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;
use sentbox::signals::{
    SHUTDOWN_SIGNALS, TERMINATING_SIGNALS, command_shutdown_signals, signal_number,
};

use crate::crash_safety::archive_below;
use crate::harness::fixed::{Hooked, sample_mailbox};
use crate::harness::process::Sentbox;
use crate::harness::service::{KEY, Service};
use crate::harness::serving::{self, Serving};
use crate::harness::session::Session;
use crate::harness::terminal::{SENTBOX, size};
use crate::harness::text::TextChecks as _;

fn has_crash_report(home: &Path) -> bool {
    let entries = fs::read_dir(home.join(".local/state/sentbox"))
        .into_iter()
        .flatten();
    entries
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with("crash-"))
}

#[test]
fn each_signal_restores_the_terminal_and_names_itself() {
    for signal in TERMINATING_SIGNALS {
        let session = Session::demo(&[]);
        session.signal(signal);
        let expected = 128 + u32::from(signal_number(signal));
        assert_eq!(session.end().0, expected, "{signal:?}");
    }
}

#[test]
fn lost_terminal_is_no_crash_in_any_phase() {
    for (keys, shown) in [
        ("", "Enter read"),
        ("\r", "q back"),
        ("?", "In the list"),
        ("/rece", "rece"),
        ("gp", "sample mail"),
    ] {
        let mut session = Session::demo(&[]);
        session.press(keys);
        session.until(keys, |screen| {
            screen.to_lowercase().contains(&shown.to_lowercase())
        });
        let (code, home) = session.close();
        assert_eq!(code, 129, "{keys}");
        assert!(!has_crash_report(home.path()), "{keys}");
    }
    let mut session = Session::start(SENTBOX, &[], &[], (80, 24));
    session.until_shown("Log in");
    let (code, home) = session.close();
    assert_eq!(code, 129);
    assert!(!has_crash_report(home.path()), "the set-up screen");
    // Before it handles signals, the default action of one ends it.
    let (code, home) = Session::start(SENTBOX, &["demo"], &[], (80, 24)).close();
    assert!(code != 0 && code != 101, "at the start: {code}");
    assert!(!has_crash_report(home.path()));
}

#[test]
fn lost_terminal_ends_program_despite_ignored_hangup() {
    let script = format!("trap '' HUP; exec '{SENTBOX}' demo --emails 300");
    let mut session = Session::start("/bin/sh", &["-c", &script], &[], (120, 40));
    session.until_shown("Enter read");
    let (code, home) = session.close();
    assert_eq!(code, 129);
    assert!(!has_crash_report(home.path()));
}

#[test]
fn unread_terminal_delays_no_signal() {
    for signal in SHUTDOWN_SIGNALS {
        let mut session = Session::demo(&[]);
        session.stall();
        session.signal(signal);
        let expected = 128 + u32::from(signal_number(signal));
        assert_eq!(session.end().0, expected, "{signal:?}");
    }
}

#[test]
fn terminal_of_impossible_size_is_refused() {
    let script = format!("stty cols 65535 rows 65535; exec '{SENTBOX}' demo --emails 3");
    let session = Session::start("/bin/sh", &["-c", &script], &[], (120, 40));
    let (code, text) = session.end();
    assert_eq!(code, 1, "{text}");
    text.assert_contains("terminal size 65535x65535");
    text.assert_contains("stty cols");

    let session = Session::demo(&[]);
    session.master.resize(size(65535, 65535)).unwrap();
    let (code, text) = session.end();
    assert_eq!(code, 1, "{text}");
    text.assert_contains("too large");
}

#[test]
fn low_descriptor_limit_is_reported() {
    for limit in [8, 12, 20] {
        let script = format!("ulimit -n {limit}; exec '{SENTBOX}' demo --emails 3");
        let session = Session::start("/bin/sh", &["-c", &script], &[], (120, 40));
        let (code, text) = session.end();
        assert_eq!(code, 1, "{limit}: {text}");
        text.assert_contains(&format!("open file limit too low: {limit}"));
        text.assert_contains("ulimit -n 256");
    }
}

/// The modes of the terminal are compared at the end of each session.
#[test]
fn interrupted_prompt_restores_the_terminal() {
    for signal in SHUTDOWN_SIGNALS {
        let mut session = Session::start(SENTBOX, &["login"], &[], (80, 24));
        session.until_shown("API key for");
        if signal == Signal::INT {
            session.press("re_half\u{3}");
        } else {
            // A signal may overtake keys: the terminal would take them after its modes are
            // restored.
            session.signal(signal);
        }
        let (code, screen) = session.end();
        assert_eq!(code, 128 + u32::from(signal_number(signal)), "{signal:?}");
        assert!(!screen.contains("re_half"), "{screen}");
    }
}

#[test]
fn stopped_prompt_restores_the_terminal_meanwhile() {
    let mut session = Session::start(SENTBOX, &["login"], &[], (80, 24));
    session.until_shown("API key for");
    session.press("\u{1a}");
    session.until_restored(true);
    session.until_stopped();
    session.signal(Signal::CONT);
    session.until_restored(false);
    session.press("\u{3}");
    assert_eq!(session.end().0, 130);
}

#[test]
fn interrupted_doctor_restores_the_terminal() {
    for signal in SHUTDOWN_SIGNALS {
        let mut session = Session::start(SENTBOX, &["doctor", "--quick"], &[], (80, 24));
        session.until_written(b"\x1b]11;?");
        session.signal(signal);
        let (code, screen) = session.end();
        assert_eq!(code, 128 + u32::from(signal_number(signal)), "{screen}");
    }
}

#[test]
fn interrupted_import_reports_what_it_has_stored() {
    for signal in command_shutdown_signals() {
        let sentbox = Sentbox::new();
        let mut child = sentbox
            .command("import --archive mail.sqlite -")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let email = r#"{"id":"one","to":["ana@example.com"],"subject":"Receipt"}"#;
        writeln!(input, "{email}").unwrap();
        // More than a pipe holds: once it is written, the import has begun.
        input.write_all(&vec![b'\n'; 1 << 20]).unwrap();
        serving::signal(&child, signal);
        drop(input);
        let output = child.wait_with_output().unwrap();
        let expected = 128 + i32::from(signal_number(signal));
        assert_eq!(output.status.code(), Some(expected), "{signal:?}");
        let report = String::from_utf8(output.stdout).unwrap();
        assert_eq!(report, "1 email read, 1 of them new\n");
        let notes = String::from_utf8(output.stderr).unwrap();
        notes.assert_contains("interrupted; the same command imports the rest, if there is any\n");
        let count = sentbox.stdout("search -q --count --archive mail.sqlite receipt");
        assert_eq!(count, "1\n");
    }
}

fn reporting() -> (Service, Receiver<()>) {
    let (requested, requests) = channel();
    let report = move || requested.send(()).unwrap_or_default();
    (
        Service::new(Hooked::before_page(sample_mailbox(30), report)),
        requests,
    )
}

/// Locks the archive below `folder` against writers while it lives.
fn lock(folder: &Path) -> rusqlite::Connection {
    let path = archive_below(folder).expect("there is an archive");
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_mins(1)).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

#[test]
fn locked_archive_delays_no_signal() {
    for signal in command_shutdown_signals() {
        let (service, requests) = reporting();
        let sentbox = Sentbox::synced(service);
        let _lock = lock(sentbox.home());
        while requests.try_recv().is_ok() {}
        let mut child = sentbox.spawn("sync --watch");
        requests.recv().unwrap();
        serving::signal(&child, signal);
        // The process ends while the lock is held.
        let expected = Some(128 + i32::from(signal_number(signal)));
        assert_eq!(child.wait().unwrap().code(), expected, "{signal:?}");
    }
}

/// Elsewhere a process cannot know what it was started to ignore.
#[cfg(target_os = "linux")]
#[test]
fn hangup_does_not_end_command_under_nohup() {
    let (service, requests) = reporting();
    let sentbox = Sentbox::using(service);
    let script = format!("trap '' HUP; exec '{SENTBOX}' sync --watch");
    let mut child = (sentbox.shell(&script).stderr(Stdio::null()).spawn()).unwrap();
    requests.recv().unwrap();
    serving::signal(&child, Signal::HUP);
    serving::signal(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn locked_archive_under_the_screen_delays_no_signal() {
    let (service, requests) = reporting();
    let environment = [
        ("SENTBOX_API_KEY", KEY),
        ("SENTBOX_BASE_URL", &service.base()),
    ];
    let mut session = Session::start(SENTBOX, &[], &environment, (120, 40));
    session.until("the list", |screen| {
        screen.contains("lists every command") && screen.contains("30 emails")
    });
    let _lock = lock(session.home.path());
    while requests.try_recv().is_ok() {}
    session.press("r");
    requests.recv().unwrap();
    session.signal(Signal::TERM);
    assert_eq!(session.end().0, 143);
}

#[test]
fn killed_login_leaves_no_key_without_profile() {
    let (service, requests) = reporting();
    for seed in 0..20 {
        let mut chance = fastrand::Rng::with_seed(seed);
        let sentbox = Sentbox::new();
        let config = sentbox.home().join(".config/sentbox");
        let line = format!("login --profile acme --base-url {}", service.base());
        let mut child = sentbox.spawn_with_input(&line, KEY);
        requests.recv().unwrap();
        // From here on the answer is read and the files are written: any instant may be the last.
        for _ in 0..chance.u64(..400_000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let keys = || {
            fs::read_dir(config.join("keys"))
                .into_iter()
                .flatten()
                .count()
        };
        let profile = fs::read_to_string(config.join("config.toml")).unwrap_or_default();
        let is_whole = keys() == 0 || profile.contains("[profiles.acme]");
        assert!(is_whole, "seed {seed}");
        // The next login mends whatever is there, and leaves nothing else.
        assert!(sentbox.run_with_input(&line, KEY).status.success());
        assert_eq!(keys(), 1, "seed {seed}");
        assert_eq!(fs::read_dir(&config).unwrap().count(), 2, "seed {seed}");
        while requests.try_recv().is_ok() {}
    }
}

/// A core dump would contain the key.
#[cfg(target_os = "linux")]
#[test]
fn no_core_is_dumped_whatever_the_shell_allows() {
    let sentbox = Sentbox::new();
    let line = "serve --demo --emails 3 --listen 127.0.0.1:0";
    let server = Serving::start(&mut sentbox.limited("-Sc $(ulimit -Hc)", line));
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.child.id())).unwrap();
    assert_eq!(server.stop().status.code(), Some(143));
    let of_cores: Vec<&str> = limits
        .lines()
        .filter(|line| line.starts_with("Max core file size"))
        .collect();
    assert_eq!(of_cores.len(), 1, "{limits}");
    let limit = of_cores[0].split_whitespace().nth(4);
    assert_eq!(limit, Some("0"), "{limits}");
}

#[test]
fn public_listen_address_warns_and_checks_hosts() {
    let sentbox = Sentbox::new();
    let line = "serve --demo --emails 3 --listen 0.0.0.0:0 --allow-host Mail.Example";
    let server = Serving::start(&mut sentbox.command(line));
    let port = server.base.rsplit(':').next().unwrap();
    for (host, status) in [
        ("localhost", "200"),
        ("mail.example", "200"),
        ("evil.example", "421"),
        ("192.168.1.5", "421"),
    ] {
        let mut stream = std::net::TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        let request = format!(
            "GET /emails HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer re_demo\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let start = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&start), "{host}: {answer}");
    }
    let words = String::from_utf8(server.stop().stderr).unwrap();
    words.assert_contains("warning: 0.0.0.0");
    words.assert_contains("other machines");
    words.assert_contains("mail.example");
}
