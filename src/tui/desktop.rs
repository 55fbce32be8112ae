//! Reaches the user's desktop: sets the clipboard, notifies, opens a URL.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::config::{Multiplexer, NotifyRoute, NotifySequence, remove_key_variables};
use crate::text::sanitize;

/// A program that takes longer goes on in the background: one for the clipboard
/// hangs, one for URLs may show the page.
const PROGRAM_TIME: Duration = Duration::from_secs(3);

/// Returns the bytes that make the terminal set its clipboard (OSC 52,
/// xterm's control sequences).
///
/// tmux reads the plain sequence if its `set-clipboard` is `on`; the wrapped one reaches the
/// terminal around it if its `allow-passthrough` is `on`. Whatever is off ignores its sequence.
/// GNU screen would print a long plain one.
pub(super) fn osc52(text: &str, multiplexer: Option<Multiplexer>) -> String {
    let sequence = format!("\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text));
    match multiplexer {
        None => sequence,
        Some(Multiplexer::Tmux) => sequence.clone() + &wrap_for_tmux(&sequence),
        Some(Multiplexer::Screen) => wrap_for_screen(&sequence),
    }
}

/// Makes GNU screen pass a sequence of ASCII on, in parts that it takes.
fn wrap_for_screen(sequence: &str) -> String {
    /// The limit is 768 bytes, and 256 in old versions.
    const MAX_PART: usize = 250;
    let parts = sequence.as_bytes().chunks(MAX_PART);
    let parts: Vec<_> = parts.map(String::from_utf8_lossy).collect();
    format!("\x1bP{}\x1b\\", parts.join("\x1b\\\x1bP"))
}

/// Makes tmux pass a sequence on, if its `allow-passthrough` is `on`.
fn wrap_for_tmux(sequence: &str) -> String {
    format!("\x1bPtmux;\x1b{sequence}\x1b\\")
}

/// Returns the bytes that ring the bell, and show `text` as a notification if the
/// route says so.
///
/// The text loses what could end the sequence, and begins with the name of the program: OSC 9 with
/// a number has another meaning.
pub(super) fn notification(route: NotifyRoute, text: &str) -> String {
    /// More characters than a notification shows.
    const MAX_CHARS: usize = 200;
    let safe = text
        .chars()
        .filter(|c| sanitize::is_safe_char(*c) && *c != ';');
    let text: String = safe.take(MAX_CHARS).collect();
    match route {
        NotifyRoute::Off => String::new(),
        NotifyRoute::Bell => "\x07".to_owned(),
        NotifyRoute::Desktop { sequence, tmux } => {
            let sequence = match sequence {
                NotifySequence::Osc9 => format!("\x1b]9;sentbox: {text}\x07"),
                NotifySequence::Osc777 => format!("\x1b]777;notify;sentbox;{text}\x07"),
            };
            let sequence = if tmux {
                wrap_for_tmux(&sequence)
            } else {
                sequence
            };
            format!("\x07{sequence}")
        }
    }
}

/// Runs a program that sets the clipboard; the error is a sentence.
pub(super) async fn run_program(name: &str, args: &[&str], input: &str) -> Result<(), String> {
    match start(name, args, input).await {
        Ok(Some(status)) => check_status(name, status),
        Ok(None) => Err(format!("{name} does not end")),
        Err(error) => Err(format!("{name} cannot be run: {error}")),
    }
}

/// Opens a URL with what `BROWSER` holds; the error is a sentence.
///
/// The URL replaces `%s`, or comes last. Of several commands between colons, the first
/// that can be run is used.
pub(super) async fn open_url(commands: &str, url: &str) -> Result<(), String> {
    let mut failure = "BROWSER names no program".to_owned();
    // The path of a program may have spaces and colons.
    let is_program = Path::new(commands).is_file();
    let separator = |c| c == ':' && !is_program;
    for command in commands.split(separator) {
        let words: Vec<&str> = if is_program {
            vec![command]
        } else {
            command.split_whitespace().collect()
        };
        let Some((name, args)) = words.split_first() else {
            continue;
        };
        let mut args: Vec<String> = args.iter().map(|word| word.replace("%s", url)).collect();
        if !command.contains("%s") {
            args.push(url.to_owned());
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        match start(name, &args, "").await {
            Ok(Some(status)) => return check_status(name, status),
            // It shows the page until the user closes it.
            Ok(None) => return Ok(()),
            Err(error) => failure = format!("{name} cannot be run: {error}"),
        }
    }
    Err(failure)
}

/// Starts a program and waits for its end; `None` if it goes on after [`PROGRAM_TIME`].
async fn start(name: &str, args: &[&str], input: &str) -> io::Result<Option<ExitStatus>> {
    let run = async {
        let mut program = Command::new(name);
        program
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        remove_key_variables(program.as_std_mut());
        feed(&mut program.spawn()?, input).await
    };
    timeout(PROGRAM_TIME, run).await.ok().transpose()
}

/// Writes the input of a program and waits for its end; it need not read all, as `head -1`.
pub(super) async fn feed(program: &mut Child, input: &str) -> io::Result<ExitStatus> {
    let mut stdin = program.stdin.take().expect("its input is a pipe");
    let write = async {
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
    };
    let ((), status) = tokio::join!(write, program.wait());
    status
}

fn check_status(name: &str, status: ExitStatus) -> Result<(), String> {
    if status.success() {
        Ok(())
    } else {
        Err(format!("{name} failed: {status}"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn sequence_is_wrapped_for_multiplexers() {
        assert_eq!(osc52("ana", None), "\x1b]52;c;YW5h\x07");
        let expected = "\x1b]52;c;YW5h\x07\x1bPtmux;\x1b\x1b]52;c;YW5h\x07\x1b\\";
        assert_eq!(osc52("ana", Some(Multiplexer::Tmux)), expected);
        let expected = "\x1bP\x1b]52;c;YW5h\x07\x1b\\";
        assert_eq!(osc52("ana", Some(Multiplexer::Screen)), expected);
        let text = "ana@example.com, ".repeat(100);
        let long = osc52(&text, Some(Multiplexer::Screen));
        let parts: Vec<&str> = long.split_inclusive("\x1b\\").collect();
        assert!(parts.len() > 9 && parts.iter().all(|part| part.len() <= 256));
        let inner = parts.iter().map(|part| &part[2..part.len() - 2]);
        assert_eq!(inner.collect::<String>(), osc52(&text, None));
    }

    #[test]
    fn notification_cannot_leave_its_sequence() {
        let text = "ana;\x07\x1b]0;x\x1b\\\u{9c}\u{202e}: bounced";
        let notify = |route| notification(route, text);
        let desktop = |sequence, tmux| notify(NotifyRoute::Desktop { sequence, tmux });
        assert_eq!(notify(NotifyRoute::Off), "");
        assert_eq!(notify(NotifyRoute::Bell), "\x07");
        let expected = "\x07\x1b]9;sentbox: ana]0x\\: bounced\x07";
        assert_eq!(desktop(NotifySequence::Osc9, false), expected);
        let expected = "\x07\x1bPtmux;\x1b\x1b]777;notify;sentbox;ana]0x\\: bounced\x07\x1b\\";
        assert_eq!(desktop(NotifySequence::Osc777, true), expected);
    }

    #[tokio::test]
    async fn program_reads_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clipboard");
        let script = format!("cat > '{}'", path.display());
        run_program("sh", &["-c", &script], "ana@example.com")
            .await
            .unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "ana@example.com");
    }

    #[tokio::test]
    async fn program_need_not_read_the_text() {
        let text = "Your receipt ".repeat(100_000);
        let ended = run_program("sh", &["-c", "exit 3"], &text).await;
        assert_eq!(ended.unwrap_err(), "sh failed: exit status: 3");
    }

    #[tokio::test]
    async fn failing_program_is_reported() {
        let failed = run_program("sh", &["-c", "exit 3"], "").await.unwrap_err();
        assert!(failed.starts_with("sh failed: exit status: 3"), "{failed}");
        let missing = run_program("sentbox-no-such-program", &["https://example.com/"], "")
            .await
            .unwrap_err();
        assert!(missing.contains("cannot be run"), "{missing}");
    }

    #[tokio::test]
    async fn browser_may_have_arguments_and_alternatives() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("opened");
        let browser = folder.path().join("browser");
        let script = format!("#!/bin/sh\nprintf '%s ' \"$@\" > '{}'\n", file.display());
        std::fs::write(&browser, script).unwrap();
        std::fs::set_permissions(&browser, Permissions::from_mode(0o700)).unwrap();
        let url = "https://example.com/?a=%s&b";
        for (arguments, expected) in [
            ("", url.to_owned()),
            (" --new-window", format!("--new-window {url}")),
            (" -u %s -x", format!("-u {url} -x")),
        ] {
            let commands = format!("sentbox-no-such-program:{}{arguments}", browser.display());
            open_url(&commands, url).await.unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), expected + " ");
        }
        let spaced = folder.path().join("my: browser");
        std::fs::rename(&browser, &spaced).unwrap();
        open_url(&spaced.to_string_lossy(), "https://b.example/")
            .await
            .unwrap();
        let opened = std::fs::read_to_string(&file).unwrap();
        assert_eq!(opened, "https://b.example/ ");
        let missing = open_url("sentbox-no-such-program -x", url).await;
        assert!(missing.unwrap_err().contains("cannot be run"));
        assert!(open_url(":", url).await.is_err());
        let failed = open_url("false", url).await.unwrap_err();
        assert!(failed.starts_with("false failed"), "{failed}");
    }
}
