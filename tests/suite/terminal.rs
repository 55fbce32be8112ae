//! Tests of the binary in a pseudo-terminal, read by a terminal emulator: the
//! terminal is always restored.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

use crate::harness::fixed::Fixed;
use crate::harness::service::{KEY, Service};
use crate::harness::terminal::{self, PATIENCE, SENTBOX, poll_until};
use crate::harness::text::TextChecks as _;
use portable_pty::{Child, ExitStatus, MasterPty};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::time::Instant;

/// The key that redraws the whole screen.
const REDRAW: &str = "\u{c}";

/// The binary on its own terminal.
pub struct Session {
    pub child: Box<dyn Child + Send + Sync>,
    pub master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// All bytes read so far.
    seen: Vec<u8>,
    modes_before: String,
    /// Keeps the terminal open after the child has ended,
    /// so that its modes can be compared.
    slave: Box<dyn portable_pty::SlavePty + Send>,
    pub home: tempfile::TempDir,
    reader: JoinHandle<()>,
    /// Pauses the reader of the terminal until it is dropped.
    stalled: Arc<AtomicBool>,
    resume: Option<Sender<()>>,
}

impl Session {
    pub fn start(
        program: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
        (columns, rows): (u16, u16),
    ) -> Self {
        let pair = terminal::open(columns, rows);
        let home = tempfile::tempdir().unwrap();
        let variables = [("TERM", "xterm-256color"), ("TZ", "UTC")];
        let mut command = terminal::command(program, arguments, &variables);
        command.env("HOME", home.path());
        for (name, value) in environment {
            command.env(name, value);
        }
        let modes_before = modes(pair.master.as_ref());
        let child = pair.slave.spawn_command(command).unwrap();
        let keyboard = pair.master.take_writer().unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (send, output) = channel();
        let stalled = Arc::new(AtomicBool::new(false));
        let (resume, resumed) = channel::<()>();
        let is_stalled = Arc::clone(&stalled);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || send.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
                if is_stalled.load(Ordering::SeqCst) {
                    let _ = resumed.recv();
                }
            }
        });
        let screen = vt100::Parser::new(cells(rows), cells(columns), 0);
        let (seen, slave, resume) = (Vec::new(), pair.slave, Some(resume));
        Self {
            child,
            master: pair.master,
            keyboard,
            output,
            screen,
            seen,
            modes_before,
            slave,
            home,
            reader,
            stalled,
            resume,
        }
    }

    /// Starts the program on the sample mailbox.
    pub fn start_demo(environment: &[(&str, &str)], size: (u16, u16)) -> Self {
        Self::start(SENTBOX, &["demo", "--emails", "300"], environment, size)
    }

    /// The same, and waits for the list.
    pub fn demo(environment: &[(&str, &str)]) -> Self {
        let mut session = Self::start_demo(environment, (120, 40));
        session.until("the list", |screen| {
            screen.contains("demo ▸ all mail") && screen.contains("Enter read")
        });
        session
    }

    /// Reads until the screen meets a condition.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.screen.screen().contents();
            if wanted(&text) {
                return text;
            }
            self.receive(what, deadline);
        }
    }

    /// Reads until the program has written these bytes.
    pub fn until_written(&mut self, bytes: &[u8]) {
        let deadline = Instant::now() + PATIENCE;
        while !self.seen.windows(bytes.len()).any(|window| window == bytes) {
            self.receive("what is not shown", deadline);
        }
    }

    fn receive(&mut self, what: &str, deadline: Instant) {
        let left = deadline.checked_duration_since(Instant::now());
        let received = left
            .ok_or(RecvTimeoutError::Timeout)
            .and_then(|left| self.output.recv_timeout(left));
        match received {
            Ok(bytes) => {
                self.screen.process(&bytes);
                self.seen.extend(bytes);
            }
            Err(error) => {
                let text = self.screen.screen().contents();
                panic!("{what} did not appear ({error}):\n{text}")
            }
        }
    }

    /// Waits until the modes of the terminal are as before the program, or are not.
    pub fn until_restored(&self, is_restored: bool) {
        poll_until("the change of the modes", || {
            let is_as_before = modes(self.master.as_ref()) == self.modes_before;
            (is_as_before == is_restored).then_some(())
        });
    }

    /// Waits until the program has stopped itself, which it does after it has restored
    /// the terminal.
    pub fn until_stopped(&self) {
        let options = WaitOptions::UNTRACED | WaitOptions::NOHANG;
        let (_, status) = poll_until("the stop", || waitpid(Some(self.pid()), options).unwrap());
        assert!(status.stopped(), "it has ended");
    }

    fn pid(&self) -> Pid {
        let id = i32::try_from(self.child.process_id().unwrap()).unwrap();
        Pid::from_raw(id).unwrap()
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Closes the terminal and waits for the program's end.
    pub fn close(self) -> (u32, tempfile::TempDir) {
        let Self {
            mut child,
            master,
            mut keyboard,
            output,
            home,
            reader,
            slave,
            ..
        } = self;
        drop(output);
        // The reader holds the terminal open until it has something that it cannot hand on.
        keyboard.write_all(REDRAW.as_bytes()).unwrap();
        reader.join().unwrap();
        drop((keyboard, master, slave));
        (wait(child.as_mut()).exit_code(), home)
    }

    /// Stops reading, and makes the program write until its buffer is full.
    pub fn stall(&mut self) {
        self.stalled.store(true, Ordering::SeqCst);
        let other_end = std::fs::File::open(self.master.tty_name().unwrap()).unwrap();
        let nothing = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let takes_bytes = || {
            let mut watched = [rustix::event::PollFd::new(
                &other_end,
                rustix::event::PollFlags::OUT,
            )];
            rustix::event::poll(&mut watched, Some(&nothing)).unwrap() > 0
        };
        while takes_bytes() {
            if rustix::io::ioctl_fionread(&other_end).unwrap() == 0 {
                self.press(REDRAW);
            }
            std::thread::yield_now();
        }
    }

    /// Quits the program by its key.
    pub fn quit(mut self) {
        self.press("q");
        assert_eq!(self.end().0, 0);
    }

    /// Waits for the end, checks that the terminal is restored and no key was written;
    /// returns the exit code and the last screen.
    pub fn end(self) -> (u32, String) {
        let Self {
            mut child,
            master,
            output,
            mut screen,
            mut seen,
            modes_before,
            slave,
            resume,
            ..
        } = self;
        let status = wait(child.as_mut());
        // The line discipline is as it was.
        assert_eq!(modes(master.as_ref()), modes_before);
        drop(resume);
        // With the last holder of its other end gone, the terminal ends after its last byte.
        drop(slave);
        while let Ok(bytes) = output.recv_timeout(PATIENCE) {
            screen.process(&bytes);
            seen.extend(bytes);
        }
        String::from_utf8_lossy(&seen).assert_lacks("re_canary");
        let screen = screen.screen();
        assert!(!screen.alternate_screen(), "the alternate screen was left");
        assert!(!screen.hide_cursor(), "the cursor is shown");
        let expected = vt100::MouseProtocolMode::None;
        assert_eq!(screen.mouse_protocol_mode(), expected, "the mouse is free");
        assert!(!screen.bracketed_paste(), "bracketed paste is off");
        (status.exit_code(), screen.contents())
    }
}

/// Waits for the end of a child up to the longest wait.
fn wait(child: &mut (dyn Child + Send + Sync)) -> ExitStatus {
    let mut killer = child.clone_killer();
    let (ended, end) = channel::<()>();
    let watch = std::thread::spawn(move || {
        if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let _ = killer.kill();
        }
    });
    let status = child.wait().unwrap();
    drop(ended);
    watch.join().unwrap();
    status
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a terminal has cells")
}

fn modes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().expect("a terminal has modes"))
}

#[test]
fn locale_without_utf8_draws_ascii() {
    let mut session = Session::start_demo(&[("LC_ALL", "C")], (120, 40));
    let screen = session.until("the list", |screen| screen.contains(" ok "));
    assert!(!screen.contains('✓'), "{screen}");
    session.quit();
}

#[test]
fn unknown_time_zone_is_reported_on_the_screen() {
    let mut session = Session::start_demo(&[("TZ", "Foo/Bar")], (120, 40));
    session.until("the warning", |screen| {
        screen.contains("TZ is Foo/Bar, which this machine does not know as a time zone")
    });
    session.quit();
}

#[test]
fn browsing_opening_and_resizing_work_until_quit() {
    let mut session = Session::demo(&[]);
    session.press("jj\r");
    session.until("the reader has the focus", |screen| {
        screen.contains("q back")
    });
    session.press("J");
    session.until("the fourth email", |screen| screen.contains("  4/"));
    session.press("q");
    session.until("the list has the focus", |screen| {
        screen.contains("Enter read")
    });
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
    session.until("the help", |screen| screen.contains("In the list"));
    session.press("\u{1b}");
    session.until("the list again", |screen| {
        screen.contains("Enter read") && !screen.contains("In the list")
    });
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
        let text = session.until("the next row", |screen| screen.contains(position));
        text.assert_contains("demo ▸ all mail");
        assert_eq!(delivered(&session), vt100::Color::Idx(colour));
    }
    session.quit();
}

#[test]
fn other_charset_draws_ascii_and_is_reported() {
    let mut session = Session::start_demo(&[("LC_ALL", "de_DE.ISO-8859-1")], (120, 40));
    session.until("the notice", |screen| {
        screen.contains("LC_ALL=C.UTF-8 shows text outside ASCII, which is ? with LC_ALL=de_DE")
    });
    assert!(session.seen.is_ascii());
    session.quit();
}

#[test]
fn terminals_without_answers_are_not_asked() {
    for environment in [[("TERM", "linux")], [("NO_COLOR", "1")], [("STY", "1.pts")]] {
        let mut session = Session::start_demo(&environment, (80, 24));
        session.until("the list", |screen| screen.contains("Enter read"));
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
    session.until("the banner", |screen| {
        screen.contains("\n c.toml:2: accent is a name such as")
    });
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
        "set -m; '{}' demo --emails 300; echo STOPPED; read line; fg >/dev/null; echo LEFT",
        env!("CARGO_BIN_EXE_sentbox")
    );
    let mut session = Session::start("/bin/sh", &["-c", &script], &[], (120, 40));
    session.until("the list", |screen| screen.contains("Enter read"));
    session.press("\u{1a}");
    session.until("the shell", |screen| {
        screen.contains("STOPPED") && !screen.contains("Enter read")
    });
    session.press("\n");
    session.until("the list again", |screen| screen.contains("Enter read"));
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
    session.until("the list", |screen| screen.contains("Enter read"));
    session.press("\u{1a}");
    session.press("?");
    session.until("the help", |screen| screen.contains("In the list"));
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
        "set -m; sh -c 'echo $$ > \"$HOME/pid\"; exec \"$0\" demo --emails 300' '{}'; \
         echo STOPPED; read line; fg >/dev/null; echo LEFT",
        env!("CARGO_BIN_EXE_sentbox")
    );
    for signal in [Signal::TSTP, Signal::STOP] {
        let mut session = Session::start("/bin/sh", &["-c", &script], &[], (120, 40));
        session.until("the list", |screen| screen.contains("Enter read"));
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
    session.until("the email", |screen| screen.contains("Thanks"));
    session.press("|cat; echo; printf READY; read line </dev/tty; echo \"GOT $line\"\r");
    session.until("the command", |screen| {
        screen.contains("Thanks") && screen.contains("READY") && !screen.contains("ana@")
    });
    session.press("hello\r");
    session.until("the end of the command", |screen| {
        screen.contains("GOT hello") && screen.contains("press a key")
    });
    session.press("x");
    let screen = session.until("the list", |screen| screen.contains("ana@"));
    // The key is for the prompt alone.
    screen.assert_lacks("marked");
    session.until("the notice", |screen| {
        screen.contains("exit status: 0; its input was the body, 7 characters")
    });
    // With `exec`: a shell that is just starting a program may lose the signal.
    session.press("|echo WAITING; exec sleep 1000\r");
    session.until("another command", |screen| {
        screen.contains("sentbox]\nWAITING")
    });
    session.press("\u{3}");
    session.until("its end", |screen| {
        screen.matches("press a key").count() == 2
    });
    session.press(" ");
    session.until("the notice", |screen| screen.contains("signal: 2"));
    session.quit();
}

#[test]
fn panic_anywhere_restores_terminal_and_writes_report() {
    for (position, keys) in [("fetch", ""), ("store", ""), ("render", ""), ("input", "j")] {
        let mut session = Session::start_demo(&[("SENTBOX_PANIC", position)], (100, 30));
        if !keys.is_empty() {
            session.until("the list", |screen| screen.contains("Enter read"));
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
    session.until("the set-up screen", |screen| screen.contains("Log in"));
    session.press("\r");
    session.until("the form", |screen| screen.contains("paste or type it"));
    session.press(&format!("\u{1b}[200~{KEY}\n\u{1b}[201~"));
    let form = session.until("the letters", |screen| screen.contains("20 characters"));
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
    session.until("the screen", |screen| {
        screen.contains("Loading the newest emails")
    });
    session.quit();
}

#[test]
fn commands_that_read_the_terminal_report_it() {
    let mut session = Session::start(SENTBOX, &["render"], &[], (80, 24));
    session.until("the note", |screen| {
        screen.contains("reading from the terminal; Ctrl-D ends the input")
    });
    session.press("<p>A <b>zephyr</b>\r\x04");
    let (code, screen) = session.end();
    assert_eq!(code, 0);
    screen.assert_contains("A zephyr");
}
