//! The binary in a pseudo-terminal, read by a terminal emulator: the terminal is
//! always restored.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

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
    pub keyboard: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    pub screen: vt100::Parser,
    /// All bytes read so far.
    pub seen: Vec<u8>,
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

    /// Reads until the screen shows a text.
    pub fn until_shown(&mut self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
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
pub fn wait(child: &mut (dyn Child + Send + Sync)) -> ExitStatus {
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

pub fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a terminal has cells")
}

fn modes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().expect("a terminal has modes"))
}
