//! A PostgreSQL server for tests. The tests of the archive use this file, too.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

/// A server with its data in a folder that it is removed with.
pub struct TestServer {
    process: Child,
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
}

const PORT: u16 = 5432;

const SETTINGS: &str = "
listen_addresses = ''
fsync = off
max_connections = 200
max_locks_per_transaction = 256
";

impl TestServer {
    /// Starts a server; `None` if this machine has none, or no user for it.
    pub fn start() -> Option<Self> {
        let programs = find_programs()?;
        let folder = create_folder()?;
        let data = folder.path().join("data");
        let created = as_other_user(&programs.join("initdb"))
            .arg("-D")
            .arg(&data)
            .args("-A trust -U sentbox -E UTF8 --locale=C --no-sync".split(' '))
            .output()
            .unwrap();
        assert!(created.status.success(), "{created:?}");
        append(&data.join("postgresql.conf"), SETTINGS);
        let process = spawn_server(&programs, folder.path());
        Some(Self {
            process,
            folder,
            programs,
            port: PORT,
        })
    }

    /// Lets it take connections over TLS, and no others, at a port of `localhost`, too;
    /// returns the port. The roles `guarded` and `other` need a password there.
    pub fn listen_with_tls(&mut self, certificate: &str, key: &str) -> u16 {
        let any = TcpListener::bind("localhost:0").unwrap();
        self.port = any.local_addr().unwrap().port();
        let data = self.folder.path().join("data");
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            append(&data.join(name), text);
        }
        std::fs::write(
            data.join("pg_hba.conf"),
            "local all all trust\nhostssl all guarded,other all scram-sha-256\nhostssl all all all trust\n",
        )
        .unwrap();
        drop(any);
        self.configure(&format!(
            "listen_addresses = 'localhost'\nport = {}\nssl = on\n",
            self.port
        ));
        self.port
    }

    /// Starts it again with other settings.
    pub fn configure(&mut self, settings: &str) {
        append(&self.folder.path().join("data/postgresql.conf"), settings);
        self.restart(Signal::INT);
    }

    /// Ends the server by a signal, [`Signal::KILL`] as a crash does,
    /// and starts it again.
    pub fn restart(&mut self, signal: Signal) {
        self.stop(signal);
        self.process = spawn_server(&self.programs, self.folder.path());
    }

    pub fn stop(&mut self, signal: Signal) {
        let pid = rustix::process::Pid::from_child(&self.process);
        let _ = rustix::process::kill_process(pid, signal);
        let _ = self.process.wait();
    }

    /// Starts a standby of it, with what it has now.
    pub fn start_standby(&self) -> Self {
        let folder = create_folder().unwrap();
        let copied = as_other_user(&self.programs.join("pg_basebackup"))
            .args("-U sentbox -R --checkpoint=fast --no-sync -h".split(' '))
            .arg(self.folder.path())
            .arg("-D")
            .arg(folder.path().join("data"))
            .output()
            .unwrap();
        assert!(copied.status.success(), "{copied:?}");
        Self {
            process: spawn_server(&self.programs, folder.path()),
            folder,
            programs: self.programs.clone(),
            port: self.port,
        }
    }

    /// Makes a standby a server that takes changes.
    pub fn promote(&self) {
        let promoted = as_other_user(&self.programs.join("pg_ctl"))
            .args(["promote", "-D"])
            .arg(self.folder.path().join("data"))
            .output()
            .unwrap();
        assert!(promoted.status.success(), "{promoted:?}");
    }

    /// Returns the folder of its socket, which is its host.
    pub fn host(&self) -> String {
        self.folder.path().display().to_string()
    }

    pub fn url(&self) -> String {
        let (host, port) = (self.host(), self.port);
        format!("postgres:///postgres?host={host}&port={port}&user=sentbox")
    }

    /// Runs a statement with the database's own client;
    /// returns the rows, with `|` between columns.
    pub fn rows(&self, statement: &str) -> String {
        let output = Command::new(self.programs.join("psql"))
            .args(["-X", "-A", "-t", "-d", &self.url(), "-c", statement])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop(Signal::INT);
    }
}

/// Starts the server on the data in a folder, and waits until it takes connections.
///
/// It does not start while a process of a server that was killed there still ends.
fn spawn_server(programs: &Path, folder: &Path) -> Child {
    let mut log = String::new();
    for _ in 0..200 {
        match try_spawn_server(programs, folder) {
            Ok(server) => return server,
            Err(other) => log = other,
        }
    }
    panic!("the server does not start:\n{log}")
}

/// Returns what the server says if it does not start.
fn try_spawn_server(programs: &Path, folder: &Path) -> Result<Child, String> {
    let mut server = as_other_user(&programs.join("postgres"))
        .arg("-D")
        .arg(folder.join("data"))
        .arg("-k")
        .arg(folder)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let mut log = String::new();
    for line in lines.by_ref().map_while(Result::ok) {
        if line.contains("ready to accept") {
            // It goes on writing.
            std::thread::spawn(move || lines.for_each(drop));
            return Ok(server);
        }
        log.push_str(&line);
        log.push('\n');
    }
    server.wait().unwrap();
    Err(log)
}

/// Adds to a file that only the server may read.
fn append(path: &Path, text: &str) {
    let mut options = OpenOptions::new();
    let mut file = options
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
    give_to_server(path).unwrap();
}

fn give_to_server(path: &Path) -> std::io::Result<()> {
    if is_root() {
        std::os::unix::fs::chown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED))?;
    }
    Ok(())
}

/// Creates a folder of the server;
/// `None` where root is the only user, as in a user namespace.
fn create_folder() -> Option<tempfile::TempDir> {
    // The path of a Unix socket is short.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    give_to_server(folder.path()).ok()?;
    Some(folder)
}

/// A user without rights: a server refuses to run as root.
const UNPRIVILEGED: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn as_other_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if is_root() {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    command
}

/// Returns the folder with the newest `initdb`.
#[expect(
    clippy::disallowed_methods,
    reason = "the program itself is not tested here"
)]
fn find_programs() -> Option<PathBuf> {
    let debian = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut folders: Vec<PathBuf> = debian
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .collect();
    folders.sort();
    let in_path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&in_path));
    // A link in a folder of PATH leads to the folder of all programs.
    let initdb = folders
        .iter()
        .rev()
        .find_map(|folder| folder.join("initdb").canonicalize().ok())?;
    initdb.parent().map(Path::to_owned)
}

/// Returns the rights that the documentation gives the roles `support` and `syncer`.
pub fn documented_grants(schema: &str) -> String {
    let documented = include_str!("../../../docs/postgres.md");
    let (_, grants) = documented.split_once("```sql\n").unwrap();
    grants.split("```").next().unwrap().replace("acme", schema)
}

pub fn note_skipped(name: &str) {
    // Not through the macros: the harness would hide it.
    let note = format!("skipped: {name}: no initdb of PostgreSQL, or no user for its server\n");
    std::io::stderr().write_all(note.as_bytes()).unwrap();
}
