//! Reaches the user's desktop: sets the clipboard, notifies, opens a URL.

use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use crate::config::{Multiplexer, NotifyRoute, NotifySequence, remove_key_variables};
use crate::text::sanitize;

/// A program that takes longer hangs:
/// those for the clipboard and for URLs go on in the background.
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

/// Runs a program that sets the clipboard or opens a URL; the error is a sentence.
pub(super) async fn run_program(name: &str, args: &[&str], input: &str) -> Result<(), String> {
    let run = async {
        let mut program = Command::new(name);
        program
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        remove_key_variables(program.as_std_mut());
        let mut child = program.spawn()?;
        let mut stdin = child.stdin.take().expect("its input is a pipe");
        stdin.write_all(input.as_bytes()).await?;
        drop(stdin);
        child.wait().await
    };
    match timeout(PROGRAM_TIME, run).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("{name} failed: {status}")),
        Ok(Err(error)) => Err(format!("{name} cannot be run: {error}")),
        Err(_) => Err(format!("{name} does not end")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_is_wrapped_for_multiplexers() {
        assert_eq!(osc52("ana", None), "\x1b]52;c;YW5h\x07");
        assert_eq!(
            osc52("ana", Some(Multiplexer::Tmux)),
            "\x1b]52;c;YW5h\x07\x1bPtmux;\x1b\x1b]52;c;YW5h\x07\x1b\\"
        );
        assert_eq!(
            osc52("ana", Some(Multiplexer::Screen)),
            "\x1bP\x1b]52;c;YW5h\x07\x1b\\"
        );
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
        assert_eq!(
            desktop(NotifySequence::Osc9, false),
            "\x07\x1b]9;sentbox: ana]0x\\: bounced\x07"
        );
        assert_eq!(
            desktop(NotifySequence::Osc777, true),
            "\x07\x1bPtmux;\x1b\x1b]777;notify;sentbox;ana]0x\\: bounced\x07\x1b\\"
        );
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
    async fn failing_program_is_reported() {
        let failed = run_program("sh", &["-c", "exit 3"], "").await.unwrap_err();
        assert!(failed.starts_with("sh failed: exit status: 3"), "{failed}");
        let missing = run_program("sentbox-no-such-program", &["https://example.com/"], "")
            .await
            .unwrap_err();
        assert!(missing.contains("cannot be run"), "{missing}");
    }
}
