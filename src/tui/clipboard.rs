//! Sets the user's clipboard: by the terminal (OSC 52) or by a program of the desktop.

use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

/// A clipboard program that takes longer hangs: `xclip` and `wl-copy` go on in the background.
const PROGRAM_TIME: Duration = Duration::from_secs(3);

/// Returns the bytes that make the terminal set its clipboard (OSC 52, xterm's control sequences).
///
/// tmux reads the plain sequence if its `set-clipboard` is `on`; the wrapped one reaches the
/// terminal around it if its `allow-passthrough` is `on`. Whatever is off ignores its sequence.
pub(super) fn osc52(text: &str, tmux: bool) -> String {
    let sequence = format!("\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text));
    if tmux {
        format!("{sequence}\x1bPtmux;\x1b{sequence}\x1b\\")
    } else {
        sequence
    }
}

/// Runs a clipboard program with `text` as its input.
///
/// # Errors
///
/// A sentence, if it cannot be started, fails, or does not end.
pub(super) async fn run_program(program: &[&str], text: String) -> Result<(), String> {
    let name = program[0];
    let run = async {
        let mut child = Command::new(name)
            .args(&program[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let mut input = child.stdin.take().expect("its input is a pipe");
        input.write_all(text.as_bytes()).await?;
        drop(input);
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
    fn sequence_is_wrapped_for_tmux() {
        assert_eq!(osc52("ana", false), "\x1b]52;c;YW5h\x07");
        assert_eq!(
            osc52("ana", true),
            "\x1b]52;c;YW5h\x07\x1bPtmux;\x1b\x1b]52;c;YW5h\x07\x1b\\"
        );
    }

    #[tokio::test]
    async fn program_reads_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clipboard");
        let script = format!("cat > '{}'", path.display());
        run_program(&["sh", "-c", &script], "ana@example.com".to_owned())
            .await
            .unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "ana@example.com");
    }

    #[tokio::test]
    async fn failing_program_is_reported() {
        let failed = run_program(&["sh", "-c", "exit 3"], String::new())
            .await
            .unwrap_err();
        assert!(failed.starts_with("sh failed: exit status: 3"), "{failed}");
        let missing = run_program(&["sentbox-no-such-program"], String::new())
            .await
            .unwrap_err();
        assert!(missing.contains("cannot be run"), "{missing}");
    }
}
