//! The binary in a world of its own: a cleared environment, an empty home, a service on loopback.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::{self, JoinHandle};

use sentbox::api::Cursor;
use sentbox::failure::{Failure, Kind};
use sentbox::mail::EmailId;
use sentbox::server::{self, Fault, Page, Source, Terms};
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// The key of every service here; no output may ever hold it.
pub const KEY: &str = "re_canary_0123456789";

/// A service on a thread of its own, which ends with this value.
pub struct Service {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    pub fn new(source: impl Source) -> Self {
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let terms = Terms {
                    key: KEY.into(),
                    rate: 1000,
                    hosts: Vec::new(),
                };
                let until = async { drop(stopped.await) };
                server::serve(
                    listener,
                    source,
                    terms,
                    sentbox::config::clock::system(),
                    until,
                )
                .await
                .unwrap();
            });
        });
        Self {
            address: told.recv().unwrap(),
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A source of exactly these emails, given as the retrieve operation gives them, newest first.
pub struct Fixed(pub Vec<&'static str>);

impl Source for Fixed {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<Page, Fault> {
        let place = |id: &EmailId| {
            let spelled = serde_json::to_string(id.as_str()).unwrap();
            self.0
                .iter()
                .position(|json| json.contains(&format!("\"id\":{spelled}")))
                .ok_or(Fault::Unknown)
        };
        let (from, to) = match cursor {
            Cursor::Start => (0, self.0.len()),
            Cursor::After(id) => (place(id)? + 1, self.0.len()),
            Cursor::Before(id) => (0, place(id)?),
        };
        let shown = &self.0[from..to];
        let data = shown
            .iter()
            .take(usize::from(limit))
            .map(|json| RawValue::from_string((*json).to_owned()).unwrap())
            .collect();
        Ok(Page {
            data,
            has_more: shown.len() > usize::from(limit),
        })
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, Fault> {
        if id.as_str() == "broken" {
            return Err(Fault::Broken(Failure::new(Kind::Io, "the disk is gone")));
        }
        let page = self.page(&Cursor::Start, 100)?;
        let wanted = |json: &RawValue| {
            sentbox::api::wire::Summary::read(json.get())
                .is_ok_and(|summary| summary.id == id.as_str())
        };
        page.data
            .into_iter()
            .find(|json| wanted(json))
            .ok_or(Fault::Unknown)
    }
}

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

/// Writes a configuration that no other user may change, whatever the umask is.
pub fn write_config(folder: &Path, text: &str) {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .unwrap();
    let path = folder.join("config.toml");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
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
