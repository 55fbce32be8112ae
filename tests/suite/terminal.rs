//! Tests of the binary in a pseudo-terminal.

use crate::harness::fixed::Fixed;
use crate::harness::service::{KEY, Service};
use crate::harness::session::{Session, cells, wait};
use crate::harness::terminal::{self, SENTBOX};
use crate::harness::text::TextChecks as _;
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn locale_without_utf8_draws_ascii() {
    let mut session = Session::start_demo(&[("LC_ALL", "C")], (120, 40));
    let screen = session.until_shown(" ok ");
    assert!(!screen.contains('✓'), "{screen}");
    session.quit();
}

#[test]
fn unknown_time_zone_is_reported_on_the_screen() {
    let mut session = Session::start_demo(&[("TZ", "Foo/Bar")], (120, 40));
    session.until_shown("TZ is Foo/Bar, which this machine does not know as a time zone");
    session.quit();
}

#[test]
fn query_of_several_lines_becomes_one_line() {
    let environment = [
        ("SENTBOX_API_KEY", KEY),
        ("SENTBOX_BASE_URL", "http://127.0.0.1:1"),
    ];
    let mut session = Session::start(SENTBOX, &["ana\nbob"], &environment, (100, 24));
    session.until_shown("▸ ana bob ");
    // The first key leaves the filter.
    session.press("q");
    session.quit();
}

#[test]
fn browsing_opening_and_resizing_work_until_quit() {
    let mut session = Session::demo(&[]);
    session.press("jj\r");
    session.until_shown("q back");
    session.press("J");
    session.until_shown("  4/");
    session.press("q");
    session.until_shown("Enter read");
    for (columns, rows) in [(80, 24), (40, 12), (1, 1), (200, 60), (100, 30)] {
        session
            .master
            .resize(terminal::size(columns, rows))
            .unwrap();
        session
            .screen
            .screen_mut()
            .set_size(cells(rows), cells(columns));
    }
    session.until("the last size", |screen| {
        screen.lines().count() > 20 && screen.contains("Enter read") && screen.contains("────────")
    });
    session.press("?");
    session.until_shown("In the list");
    session.press("\u{1b}");
    session.until("the list again", |screen| {
        screen.contains("Enter read") && !screen.contains("In the list")
    });
    session.quit();
}

#[test]
fn screen_without_alternate_one_is_cleared() {
    let session = Session::demo(&[]);
    let seen = String::from_utf8_lossy(&session.seen).replace("\u{1b}[?1049h", "");
    let mut screen = vt100::Parser::new(cells(40), cells(120), 0);
    screen.process("▒".repeat(40 * 120).as_bytes());
    screen.process(seen.as_bytes());
    screen.screen().contents().assert_lacks("▒");
    session.quit();
}

#[test]
fn reported_background_gives_colours_and_no_keys() {
    let mut session = Session::demo(&[]);
    let query = b"\x1b]11;?\x07";
    let queries = session
        .seen
        .windows(query.len())
        .filter(|bytes| bytes == query);
    assert_eq!(queries.count(), 1);
    let delivered = |session: &Session| {
        let screen = session.screen.screen();
        let cells = (0..40).filter_map(|row| screen.cell(row, 1));
        let mut symbols = cells.filter(|cell| cell.contents() == "✓");
        symbols.next().expect("a delivered email").fgcolor()
    };
    assert_eq!(delivered(&session), vt100::Color::Idx(2));
    for (report, colour) in [
        ("\u{1b}]11;rgb:ffff/ffff/ffff\u{7}", 22),
        ("\u{1b}]11;rgb:11/11/11\u{1b}\\", 114),
    ] {
        session.press(report);
        session.press("j");
        let position = if colour == 22 { "  2/" } else { "  3/" };
        let text = session.until_shown(position);
        text.assert_contains("demo ▸ all mail");
        assert_eq!(delivered(&session), vt100::Color::Idx(colour));
    }
    session.quit();
}

#[test]
fn other_charset_draws_ascii_and_is_reported() {
    let mut session = Session::start_demo(&[("LC_ALL", "de_DE.ISO-8859-1")], (120, 40));
    session.until_shown("LC_ALL=C.UTF-8 shows text outside ASCII, which is ? with LC_ALL=de_DE");
    assert!(session.seen.is_ascii());
    session.quit();
}

#[test]
fn terminals_without_answers_are_not_asked() {
    for environment in [[("TERM", "linux")], [("NO_COLOR", "1")], [("STY", "1.pts")]] {
        let mut session = Session::start_demo(&environment, (80, 24));
        session.until_shown("Enter read");
        assert!(!session.seen.windows(3).any(|bytes| bytes == b"]11"));
        session.quit();
    }
}

#[test]
fn wrong_colour_is_a_banner_on_the_screen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.toml");
    std::fs::write(&path, "[theme]\naccent = \"blu\"\n").unwrap();
    let mut session = Session::demo(&[("SENTBOX_CONFIG", path.to_str().unwrap())]);
    session.until_shown("\n c.toml:2: accent is a name such as");
    session.press("x");
    session.until("no banner", |screen| {
        !screen.contains("any key closes this")
    });
    session.quit();
}

#[test]
fn control_c_quits_with_success() {
    let mut session = Session::demo(&[]);
    session.press("\u{3}");
    assert_eq!(session.end().0, 0);
}

#[test]
fn suspend_restores_terminal_and_resume_takes_it() {
    // Only a shell with job control can stop its job and go on with it.
    let script = format!(
        "set -m; '{SENTBOX}' demo --emails 300; echo STOPPED; read line; fg >/dev/null; echo LEFT"
    );
    let mut session = Session::start("/bin/sh", &["-c", &script], &[], (120, 40));
    session.until_shown("Enter read");
    session.press("\u{1a}");
    session.until("the shell", |screen| {
        screen.contains("STOPPED") && !screen.contains("Enter read")
    });
    session.press("\n");
    session.until_shown("Enter read");
    session.press("q");
    let (code, text) = session.end();
    assert_eq!(code, 0);
    text.assert_contains("LEFT");
}

#[test]
fn suspend_without_a_shell_to_continue_changes_nothing() {
    // As `ssh host 'cd mail && sentbox'` does; a stopped program could not be continued.
    let script = format!("'{SENTBOX}' demo --emails 300; echo LEFT");
    let mut session = Session::start("/bin/sh", &["-c", &script], &[], (120, 40));
    session.until_shown("Enter read");
    session.press("\u{1a}");
    session.press("?");
    session.until_shown("In the list");
    session.press("\u{1b}");
    session.until("the list again", |screen| {
        screen.contains("Enter read") && !screen.contains("In the list")
    });
    session.press("q");
    let screen = session.end().1;
    assert!(screen.contains("LEFT"), "{screen}");
}

#[test]
fn stop_from_outside_restores_terminal_until_continued() {
    let script = format!(
        "set -m; sh -c 'echo $$ > \"$HOME/pid\"; exec \"$0\" demo --emails 300' '{SENTBOX}'; \
         echo STOPPED; read line; fg >/dev/null; echo LEFT"
    );
    for signal in [Signal::TSTP, Signal::STOP] {
        let mut session = Session::start("/bin/sh", &["-c", &script], &[], (120, 40));
        session.until_shown("Enter read");
        let pid = std::fs::read_to_string(session.home.path().join("pid")).unwrap();
        kill_process(Pid::from_raw(pid.trim().parse().unwrap()).unwrap(), signal).unwrap();
        let is_restored = signal == Signal::TSTP;
        session.until("the shell", |screen| {
            screen.contains("STOPPED") && screen.contains("Enter read") != is_restored
        });
        session.press("\n");
        session.until("the list again", |screen| {
            screen.contains("Enter read") && !screen.contains("STOPPED")
        });
        session.press("q");
        let screen = session.end().1;
        assert!(screen.contains("LEFT"), "{screen}");
    }
}

#[test]
fn piped_command_has_terminal_keys_and_interrupt() {
    let service = Service::new(Fixed(vec![
        r#"{"id":"5b","to":["ana@example.com"],"subject":"Your receipt","text":"Thanks"}"#,
    ]));
    let arguments = ["--base-url", &service.base()];
    let key = [("SENTBOX_API_KEY", KEY)];
    let mut session = Session::start(SENTBOX, &arguments, &key, (100, 30));
    session.until_shown("Thanks");
    session.press("|cat; echo; printf READY; read line </dev/tty; echo \"GOT $line\"\r");
    session.until("the command", |screen| {
        screen.contains("Thanks") && screen.contains("READY") && !screen.contains("ana@")
    });
    session.press("hello\r");
    session.until("the end of the command", |screen| {
        screen.contains("GOT hello") && screen.contains("press a key")
    });
    session.press("x");
    let screen = session.until_shown("ana@");
    // The key is for the prompt alone.
    screen.assert_lacks("marked");
    session.until_shown("exit status: 0; its input was the body, 7 characters");
    // With `exec`: a shell that is just starting a program may lose the signal.
    session.press("|echo WAITING; exec sleep 1000\r");
    session.until_shown("sentbox]\nWAITING");
    session.press("\u{3}");
    session.until("its end", |screen| {
        screen.matches("press a key").count() == 2
    });
    session.press(" ");
    session.until_shown("signal: 2");
    session.quit();
}

#[test]
fn panic_anywhere_restores_terminal_and_writes_report() {
    for (position, keys) in [("fetch", ""), ("store", ""), ("render", ""), ("input", "j")] {
        let mut session = Session::start_demo(&[("SENTBOX_PANIC", position)], (100, 30));
        if !keys.is_empty() {
            session.until_shown("Enter read");
            session.press(keys);
        }
        let state = session.home.path().join(".local/state/sentbox");
        let status = wait(session.child.as_mut());
        assert_eq!(status.exit_code(), 101, "{position}");
        let reports: Vec<_> = std::fs::read_dir(&state)
            .expect("a report was written")
            .collect();
        assert_eq!(reports.len(), 1, "{position}");
        let report = std::fs::read_to_string(reports[0].as_ref().unwrap().path()).unwrap();
        for part in [
            "SENTBOX_PANIC",
            "Please report it",
            "Backtrace:",
            "panic_if_requested",
        ] {
            assert!(report.contains(part), "{position}: no {part} in {report}");
        }
        assert!(!report.contains('\u{1b}'), "{report}");
        let (code, text) = session.end();
        assert_eq!(code, 101);
        assert!(text.contains("internal error"), "{position}: {text}");
        assert!(text.contains("report:"), "{position}: {text}");
        assert!(!text.contains("panicked"), "once, {position}: {text}");
    }
}

#[test]
fn without_key_set_up_screen_is_shown() {
    let mut session = Session::start(SENTBOX, &[], &[], (80, 24));
    session.until("what to do", |screen| {
        screen.contains("Log in")
            && screen.contains("Look around")
            && screen.contains("api_key_command")
    });
    session.quit();
}

#[test]
fn pasted_key_is_used_and_never_shown() {
    let service = Service::new(Fixed(vec![
        r#"{"id":"5b","to":["ana@example.com"],"subject":"Your receipt","text":"Thanks"}"#,
    ]));
    let arguments = ["-vv", "--base-url", &service.base()];
    let mut session = Session::start(SENTBOX, &arguments, &[], (100, 30));
    session.until_shown("Log in");
    session.press("\r");
    session.until_shown("paste or type it");
    session.press(&format!("\u{1b}[200~{KEY}\n\u{1b}[201~"));
    let form = session.until_shown("20 characters");
    form.assert_contains("••••");
    form.assert_lacks("canary");
    session.press("\r");
    session.until("the list", |screen| {
        screen.contains("ana@example.com") && screen.contains("stored in")
    });
    let home = session.home.path().to_owned();
    let holders = crate::secrets::holders(&home);
    assert_eq!(holders, [home.join(".config/sentbox/keys/default")]);
    assert!(home.join(".local/state/sentbox/sentbox.log").exists());
    session.quit();
}

#[test]
fn hanging_service_delays_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let environment = [("SENTBOX_API_KEY", "re_test"), ("SENTBOX_BASE_URL", &url)];
    let mut session = Session::start(SENTBOX, &[], &environment, (80, 24));
    session.until_shown("Loading the newest emails");
    session.quit();
}

#[test]
fn commands_that_read_the_terminal_report_it() {
    let mut session = Session::start(SENTBOX, &["render"], &[], (80, 24));
    session.until_shown("reading from the terminal; Ctrl-D ends the input");
    session.press("<p>A <b>zephyr</b>\r\x04");
    let (code, screen) = session.end();
    assert_eq!(code, 0);
    screen.assert_contains("A zephyr");
}
