//! The binary in an environment of its own: cleared variables, an empty home.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use super::service::{KEY, Service};

/// Answers one request with exactly these bytes, and returns the address to send it to.
pub fn answering(bytes: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
    });
    base
}

/// The binary, to be run with nothing in its environment but this.
pub struct Sentbox {
    home: tempfile::TempDir,
    variables: Vec<(String, String)>,
    hidden: Vec<(String, &'static str)>,
}

impl Sentbox {
    /// With a home and nothing else.
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().display().to_string();
        Self {
            variables: vec![("HOME".into(), path.clone()), ("TZ".into(), "UTC".into())],
            hidden: vec![(path, "[HOME]")],
            home,
        }
    }

    /// With the key and the address of `service`.
    pub fn at(service: &Service) -> Self {
        let mut this = Self::new()
            .with("SENTBOX_API_KEY", KEY)
            .with("SENTBOX_BASE_URL", &service.base());
        this.hidden.push((service.base(), "[SERVICE]"));
        this
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sentbox"));
        command
            .args(line.split_whitespace())
            .env_clear()
            .envs(self.variables.iter().cloned())
            .current_dir(self.home.path());
        command.stdin(Stdio::null());
        command
    }

    /// Runs it to its end, with `input` on its standard input.
    pub fn fed(&self, line: &str, input: &str) -> Output {
        let mut child = self
            .command(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        checked(child.wait_with_output().unwrap())
    }

    pub fn run(&self, line: &str) -> Output {
        checked(self.command(line).output().unwrap())
    }

    /// What it writes to stdout when all goes well.
    pub fn stdout(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", self.shown(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Status, stdout and stderr as one text, with what differs from run to run hidden.
    pub fn told(&self, line: &str) -> String {
        self.shown(&self.run(line))
    }

    pub fn shown(&self, output: &Output) -> String {
        let mut text = String::new();
        for (name, bytes) in [("", &output.stdout), ("stderr: ", &output.stderr)] {
            for line in String::from_utf8(bytes.clone()).unwrap().lines() {
                let line = match line.split_once("; as of ") {
                    Some((status, _)) if line.starts_with("status ") => {
                        &format!("{status}; as of [TIME]")
                    }
                    _ => line,
                };
                writeln!(text, "{name}{line}").unwrap();
            }
        }
        for (what, word) in &self.hidden {
            text = text.replace(what, word);
        }
        format!("{text}exit code {}", output.status.code().unwrap())
    }
}

/// Whatever happens, the key is not printed and nothing commands the terminal.
fn checked(output: Output) -> Output {
    for bytes in [&output.stdout, &output.stderr] {
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(!text.contains("re_canary"), "the key in {text}");
    }
    output
}
