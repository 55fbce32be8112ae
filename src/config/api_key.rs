//! `ApiKey`: the secret, in a type that cannot be printed;
//! and the sources of keys and passwords.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{fmt, io, thread};

use io::{BufRead as _, Read as _};
use rustix::io::{ioctl_fionbio, retry_on_intr};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

use super::private_fs::open_secret;
use crate::error::{Error, ErrorKind, Result};
use crate::text::hash::{sha256, to_hex};

/// Long enough to type a passphrase; a command that takes longer hangs.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);

/// The most bytes of the first line of a command's output; more than any key has.
const MAX_LINE: usize = 4_096;

/// Whether a command that prints a key may prompt on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Prompting {
    /// No screen uses the terminal yet.
    #[default]
    Allowed,
    /// The terminal shows a screen, which a prompt would garble.
    Forbidden,
    /// The command is not run at all: a completion has no time for it.
    NotRun,
}

/// The source of a profile's key. The file never has the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// A shell command that prints it.
    Command(String),
    /// A file of mode 0600 that holds it.
    File(PathBuf),
    Variable(String),
}

impl fmt::Display for KeySource {
    /// Names the source. Of a command only its first word: the rest may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => match command
                .split_whitespace()
                .next()
                .filter(|word| !word.contains(['=', '$', '`']))
            {
                Some(word) => write!(f, "command {word} ..."),
                None => f.write_str("a command"),
            },
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Variable(name) => write!(f, "variable {name}"),
        }
    }
}

/// A key of the service: wiped when dropped, redacted when formatted.
#[derive(Debug, Clone)]
pub struct ApiKey(SecretString);

impl ApiKey {
    /// Creates a key; `from` names its source in errors.
    ///
    /// # Errors
    ///
    /// If it is empty, or holds a character that no HTTP header may carry: such a key is never
    /// sent.
    pub fn new(text: &str, from: &str) -> Result<Self> {
        // Some editors begin a file with a byte order mark.
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            let message = format!("the API key from {from} is empty");
            return Err(Error::new(ErrorKind::KeyMissing, message));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!(
                "the API key from {from} contains a space, a control character or a non-ASCII character"
            );
            return Err(Error::new(ErrorKind::KeyRejected, message)
                .with_hint("a key is one word; it was not sent anywhere"));
        }
        Ok(Self(text.into()))
    }

    /// Reads a key file, which must not be open to other users.
    pub(crate) fn from_file(path: &Path, from: &str) -> Result<Self> {
        let name = format!("the key file {}", path.display());
        let text = read_secret_file(path, &name)?.ok_or_else(|| {
            Error::new(ErrorKind::KeyMissing, format!("{name} does not exist"))
                .with_hint("sentbox login stores a key; --profile NAME names its profile")
        })?;
        Self::new(&text, from)
    }

    /// Returns the key, for the one header that carries it.
    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Returns prefix and fingerprint, which may be shown.
    pub(crate) fn masked(&self) -> String {
        let prefix = if self.expose().starts_with("re_") {
            "re_"
        } else {
            ""
        };
        format!("{prefix}..., fingerprint {}", self.fingerprint())
    }

    /// Returns eight hex digits of the key's hash. An archive is bound to them.
    pub(crate) fn fingerprint(&self) -> String {
        to_hex(&sha256(self.expose().as_bytes())[..4])
    }
}

/// Reads a file with a secret; `None` if it does not exist.
///
/// # Errors
///
/// As [`open_secret`].
pub(super) fn read_secret_file(path: &Path, name: &str) -> Result<Option<Zeroizing<String>>> {
    let Some(file) = open_secret(path, name)? else {
        return Ok(None);
    };
    let text = io::read_to_string(file)
        .map_err(|error| Error::cannot("read", ErrorKind::Config, name, &error))?;
    Ok(Some(Zeroizing::new(text)))
}

/// Runs `command` in the shell; returns the first line of its output.
/// `from` names its source in errors.
pub(super) fn run_secret_command(
    command: &str,
    from: &str,
    prompting: Prompting,
) -> Result<Zeroizing<String>> {
    run_command_within(COMMAND_TIMEOUT, command, from, prompting)
}

/// Runs it, and kills it if it does not end within `timeout`,
/// even if its first line is there.
fn run_command_within(
    timeout: Duration,
    command: &str,
    from: &str,
    prompting: Prompting,
) -> Result<Zeroizing<String>> {
    let hint = match prompting {
        Prompting::Allowed => "run it by hand to see what is wrong",
        Prompting::Forbidden => {
            "if it prompts for something, quit and start sentbox with --profile; or run it by hand to see what is wrong"
        }
        Prompting::NotRun => "",
    };
    let failed = |why: String| {
        Error::new(ErrorKind::Config, format!("the command of {from} {why}")).with_hint(hint)
    };
    if prompting == Prompting::NotRun {
        return Err(failed("was not run".to_owned()));
    }
    let mut shell = Command::new("sh");
    let is_forbidden = prompting == Prompting::Forbidden;
    if is_forbidden {
        // A group of its own is stopped when it reads the terminal: it takes no keys.
        shell
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
    }
    // The command must not see the key of another source.
    let mut child = remove_key_variables(shell.args(["-c", command]))
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("cannot be run: {error}")))?;
    let mut pipe = child.stdout.take().expect("stdout is piped");
    let pid = Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // It stays to be reaped below, so its number is that of no other process.
        let mut end = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        end.set(WaitIdOptions::STOPPED, is_forbidden);
        let status = retry_on_intr(|| waitid(WaitId::Pid(pid), end));
        if matches!(status, Ok(Some(status)) if status.stopped()) {
            return;
        }
        // The pipe has more space than a line may have. A process in the background may keep it
        // open.
        let line = ioctl_fionbio(&pipe, true).map_err(io::Error::from);
        let _ = sender.send(line.and_then(|()| read_line(&mut pipe)));
    });
    let line = match receiver.recv_timeout(timeout) {
        Ok(line) => line,
        Err(error) => {
            // It may have ended by itself in this instant; then there is nothing to kill.
            if is_forbidden {
                let _ = kill_process_group(pid, Signal::KILL);
            }
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(match error {
                RecvTimeoutError::Timeout => {
                    format!("did not end within {} s", timeout.as_secs_f32())
                }
                RecvTimeoutError::Disconnected => "waits for the terminal".to_owned(),
            }));
        }
    };
    let status = child
        .wait()
        .map_err(|error| failed(format!("cannot be waited for: {error}")))?;
    if !status.success() {
        return Err(failed(format!("failed ({status})")));
    }
    let line = line.map_err(|error| failed(format!("printed no text: {error}")))?;
    let text = str::from_utf8(&line);
    let text = text.map_err(|error| failed(format!("printed no text: {error}")))?;
    Ok(Zeroizing::new(text.trim_end_matches('\n').to_owned()))
}

/// Reads the first line, or what is there of it.
fn read_line(source: impl io::Read) -> io::Result<Zeroizing<Vec<u8>>> {
    // A buffer that grows leaves copies behind that are never wiped.
    let mut line = Zeroizing::new(Vec::with_capacity(MAX_LINE));
    let source = io::BufReader::with_capacity(1, source);
    match source.take(MAX_LINE as u64).read_until(b'\n', &mut line) {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
        _ => {}
    }
    if line.len() == MAX_LINE {
        return Err(io::Error::other("the line is too long"));
    }
    Ok(line)
}

/// Keeps the keys of the environment from a program that sentbox starts.
pub(crate) fn remove_key_variables(command: &mut Command) -> &mut Command {
    command
        .env_remove("SENTBOX_API_KEY")
        .env_remove("RESEND_API_KEY")
}

/// No key is longer than this; more is a paste gone wrong.
const MAX_CHARS: usize = 1_000;

/// Typed text that is not shown: wiped when changed, redacted when formatted.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecretInput(SecretString);

impl SecretInput {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub(crate) fn char_count(&self) -> usize {
        self.expose().chars().count()
    }

    /// Appends text, without the spaces and newlines of a paste.
    pub(crate) fn push(&mut self, text: &str) {
        // Grown at once: a string that grows leaves copies behind that are never wiped.
        let mut grown = String::with_capacity(self.expose().len() + text.len());
        grown.push_str(self.expose());
        let free = MAX_CHARS.saturating_sub(self.char_count());
        grown.extend(
            text.chars()
                .filter(|c| !c.is_whitespace() && !c.is_control())
                .take(free),
        );
        self.0 = grown.into();
    }

    /// Removes the last character.
    pub(crate) fn pop(&mut self) {
        let kept = self
            .expose()
            .char_indices()
            .next_back()
            .map_or(0, |(at, _)| at);
        self.0 = self.expose()[..kept].into();
    }

    pub(crate) fn clear(&mut self) {
        self.0 = SecretString::default();
    }
}

impl PartialEq for SecretInput {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_cannot_be_printed() {
        let key = ApiKey::new("\u{feff}re_canary_1234\r\n", "a test").unwrap();
        assert_eq!(key.expose(), "re_canary_1234");
        assert!(!format!("{key:?} {:?} {}", Some(&key), key.masked()).contains("canary"));
    }

    #[test]
    fn invalid_header_key_is_refused_unquoted() {
        for bad in ["re_ca\nnary", "re_ca nary", "re_ca\u{1b}nary", "re_cañary"] {
            let failure = ApiKey::new(bad, "a test").unwrap_err();
            assert_eq!(failure.kind, ErrorKind::KeyRejected);
            assert!(!failure.message.contains("re_ca"), "{}", failure.message);
        }
        let empty = ApiKey::new(" \n", "a test").unwrap_err();
        assert_eq!(empty.kind, ErrorKind::KeyMissing);
    }

    #[test]
    fn fingerprints_differ_by_key_and_are_stable() {
        let print = |key: &str| ApiKey::new(key, "a test").unwrap().fingerprint();
        assert_eq!(print("abc"), "ba7816bf");
        assert_ne!(print("re_one"), print("re_two"));
    }

    #[test]
    fn first_line_of_command_is_the_key() {
        let of = |command: &str, prompting| {
            let key = run_secret_command(command, "a test", prompting);
            key.map(|key| key.to_string()).map_err(|error| error.kind)
        };
        let lines = of("printf 're_x\\nsecond\\n'", Prompting::Allowed);
        assert_eq!(lines, Ok("re_x".to_owned()));
        assert_eq!(of("exit 3", Prompting::Allowed), Err(ErrorKind::Config));
        let without_prompt = of("read line || echo re_nobody", Prompting::Forbidden);
        assert_eq!(without_prompt, Ok("re_nobody".to_owned()));
    }

    #[test]
    fn command_that_does_not_end_times_out() {
        for command in ["echo re_x; exec >&-; exec sleep 60", "exec yes"] {
            let timeout = Duration::from_millis(500);
            let result = run_command_within(timeout, command, "a test", Prompting::Forbidden);
            let message = result.unwrap_err().message;
            assert_eq!(message, "the command of a test did not end within 0.5 s");
        }
    }

    #[test]
    fn stopped_command_prompts_for_something() {
        // Reading the terminal stops a group in the background in the same way.
        let result = run_secret_command("kill -STOP $$; echo re_x", "a test", Prompting::Forbidden);
        let error = result.unwrap_err();
        assert_eq!(
            error.message,
            "the command of a test waits for the terminal"
        );
        assert!(error.hint.starts_with("if it prompts for something, quit"));
    }

    #[test]
    fn process_left_in_background_delays_no_key() {
        for command in ["echo re_x; yes &", "printf re_x; sleep 100 &"] {
            let key = run_secret_command(command, "a test", Prompting::Forbidden);
            assert_eq!(*key.unwrap(), "re_x");
        }
    }

    #[test]
    fn too_long_line_is_no_key() {
        let command = "head -c 5000 /dev/zero";
        let result = run_secret_command(command, "a test", Prompting::Forbidden);
        let message = result.unwrap_err().message;
        assert!(message.ends_with("printed no text: the line is too long"));
    }

    #[test]
    fn key_file_of_others_or_another_type_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, "re_file\n").unwrap();
        let mode =
            |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o640);
        let refused = |path| {
            let error = ApiKey::from_file(path, "a test").unwrap_err();
            assert_eq!(error.kind, ErrorKind::Config);
            error.to_string()
        };
        assert!(refused(&path).contains("is open to other users"));
        mode(0o600);
        let key = ApiKey::from_file(&path, "a test").unwrap();
        assert_eq!(key.expose(), "re_file");
        let pipe = dir.path().join("pipe");
        let made = Command::new("mkfifo")
            .args(["-m", "600"])
            .arg(&pipe)
            .status();
        assert!(made.unwrap().success());
        for path in [dir.path(), Path::new("/dev/zero"), &pipe] {
            assert!(refused(path).contains("not a regular file"), "{path:?}");
        }
    }

    #[test]
    fn secret_input_is_edited_and_never_shown() {
        let mut input = SecretInput::default();
        input.push(" re_canary\u{1b}_1é\r\n");
        assert_eq!((input.expose(), input.char_count()), ("re_canary_1é", 12));
        assert!(!format!("{input:?} {:#?}", Some(&input)).contains("canary"));
        input.pop();
        input.pop();
        assert_eq!(input, SecretInput::new("re_canary_"));
        input.clear();
        input.pop();
        assert_eq!(input.char_count(), 0);
        input.push(&"x".repeat(2_000));
        assert_eq!(input.char_count(), MAX_CHARS);
    }
}
