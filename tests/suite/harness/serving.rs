//! A running `serve`, and signals to running commands.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// A `serve` that runs; it is killed when this is dropped.
pub struct Serving {
    pub child: Child,
    stdout: BufReader<ChildStdout>,
    pub base: String,
}

impl Serving {
    pub fn start(command: &mut Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut base = String::new();
        stdout.read_line(&mut base).unwrap();
        let base = base.trim().to_owned();
        Self {
            child,
            stdout,
            base,
        }
    }

    /// Ends it as a service manager does; returns what it wrote after its address.
    pub fn stop(mut self) -> Output {
        signal(&self.child, Signal::TERM);
        let status = self.child.wait().unwrap();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.stdout.read_to_end(&mut stdout).unwrap();
        let errors = self.child.stderr.as_mut();
        errors.unwrap().read_to_end(&mut stderr).unwrap();
        Output {
            status,
            stdout,
            stderr,
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
