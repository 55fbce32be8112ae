//! Runs the binary with cleared variables and an empty home.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use super::service::{KEY, Service, write_config};
use super::terminal::SENTBOX;

pub struct Sentbox {
    home: tempfile::TempDir,
    variables: Vec<(String, String)>,
    hidden: Vec<(String, &'static str)>,
    /// The service, if it ends with this.
    service: Option<Service>,
}

impl Sentbox {
    /// Creates an environment with only a home.
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().display().to_string();
        Self {
            variables: vec![("HOME".into(), path.clone()), ("TZ".into(), "UTC".into())],
            hidden: vec![(path, "[HOME]")],
            home,
            service: None,
        }
    }

    /// Creates an environment with the key and the address of `service`.
    pub fn at(service: &Service) -> Self {
        let mut this = Self::at_address(KEY, &service.base());
        this.hidden.push((service.base(), "[SERVICE]"));
        this
    }

    /// Creates an environment with a service of its own, which runs as long.
    pub fn using(service: Service) -> Self {
        let mut this = Self::at(&service);
        this.service = Some(service);
        this
    }

    /// Does the same, and stores all mail in the archive.
    #[track_caller]
    pub fn synced(service: Service) -> Self {
        let this = Self::using(service);
        this.stdout("sync --back all --rate 1000");
        this
    }

    /// Creates an environment with this key and this address of a service.
    pub fn at_address(key: &str, base: &str) -> Self {
        Self::new()
            .with("SENTBOX_API_KEY", key)
            .with("SENTBOX_BASE_URL", base)
    }

    pub fn stop_service(&mut self) {
        self.service = None;
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
        self.program(SENTBOX, line.split_whitespace())
    }

    /// A shell in the same environment.
    pub fn shell(&self, line: &str) -> Command {
        self.program("/bin/sh", ["-c", line])
    }

    /// A command that starts under a limit, such as `-f 4`.
    pub fn limited(&self, limit: &str, line: &str) -> Command {
        self.shell(&format!("ulimit {limit}; exec '{SENTBOX}' {line}"))
    }

    fn program<'a>(&self, name: &str, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(name);
        command
            .args(arguments)
            .env_clear()
            .envs(self.variables.iter().cloned())
            .current_dir(self.home.path())
            .stdin(Stdio::null());
        command
    }

    /// Starts a command whose output can be read.
    pub fn spawn(&self, line: &str) -> Child {
        let mut command = self.command(line);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    pub fn run_with_input(&self, line: &str, input: &str) -> Output {
        let child = self.spawn_with_input(line, input);
        checked(child.wait_with_output().unwrap())
    }

    /// Starts a command with `input` on its standard input and both outputs piped.
    pub fn spawn_with_input(&self, line: &str, input: &str) -> Child {
        let mut command = self.command(line);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        child
    }

    /// Returns stdout of a command that must succeed.
    #[track_caller]
    pub fn stdout_with_input(&self, line: &str, input: &str) -> String {
        let output = self.run_with_input(line, input);
        assert!(output.status.success(), "{line}: {}", self.shown(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Imports emails, one a line.
    #[track_caller]
    pub fn import(&self, lines: &str) {
        self.stdout_with_input("import -", lines);
    }

    pub fn config(&self) -> PathBuf {
        self.home().join(".config/sentbox")
    }

    pub fn configure(&self, text: &str) {
        write_config(&self.config(), text);
    }

    pub fn run(&self, line: &str) -> Output {
        checked(self.command(line).output().unwrap())
    }

    /// Returns stdout of a command that must succeed.
    #[track_caller]
    pub fn stdout(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", self.shown(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn stderr(&self, line: &str) -> String {
        String::from_utf8(self.run(line).stderr).unwrap()
    }

    /// Returns the JSON of each line that a command prints.
    #[track_caller]
    pub fn json_lines(&self, line: &str) -> Vec<Value> {
        json_lines(&self.stdout(line))
    }

    /// Returns the JSON that a command prints, which must succeed.
    #[track_caller]
    pub fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.stdout(line)).unwrap()
    }

    pub fn code(&self, line: &str) -> Option<i32> {
        self.run(line).status.code()
    }

    /// Describes the archive that commands use.
    pub fn info(&self) -> Value {
        self.json("archive info --json")
    }

    /// The file of the archive that commands use.
    pub fn archive_path(&self) -> PathBuf {
        self.info()["path"].as_str().unwrap().into()
    }

    /// Opens the file of the archive that commands use.
    pub fn archive(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.archive_path()).unwrap()
    }

    /// Returns stdout, stderr and exit code as one text without values of this run.
    pub fn transcript(&self, line: &str) -> String {
        self.shown(&self.run(line))
    }

    pub fn shown(&self, output: &Output) -> String {
        let mut text = String::new();
        for (name, bytes) in [("", &output.stdout), ("stderr: ", &output.stderr)] {
            for line in String::from_utf8(bytes.clone()).unwrap().lines() {
                let timed = [
                    ("status ", "; as of "),
                    ("sentbox: searched ", " service had at "),
                ];
                let line = timed
                    .into_iter()
                    .find_map(|(start, before)| {
                        let (text, _) = line.split_once(before)?;
                        line.starts_with(start)
                            .then(|| format!("{text}{before}[TIME]"))
                    })
                    .unwrap_or_else(|| line.to_owned());
                writeln!(text, "{name}{line}").unwrap();
            }
        }
        for (what, word) in &self.hidden {
            text = text.replace(what, word);
        }
        format!("{text}exit code {}", output.status.code().unwrap())
    }
}

pub fn json_lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

pub fn mode(path: impl AsRef<Path>) -> u32 {
    let metadata = std::fs::metadata(path).unwrap();
    metadata.permissions().mode() & 0o777
}

pub fn set_mode(path: impl AsRef<Path>, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns all files and folders below a folder, in order.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

/// Checks that the output does not contain the key.
fn checked(output: Output) -> Output {
    for bytes in [&output.stdout, &output.stderr] {
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(!text.contains("re_canary"), "the key in {text}");
    }
    output
}
