//! The pager: the program through which a user reads long output on a terminal.

use std::io::{self, BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::config::{Env, has_other_charset, remove_key_variables};
use crate::error::{Error, ErrorKind, Result};
use crate::signals::InterruptsIgnored;
use crate::tasks::lock;

/// The most bytes that are kept in case the pager fails: more than a pipe takes
/// before the pager reads.
const MAX_KEPT: usize = 128 << 10;

pub(super) struct Pager {
    child: Child,
    written: KeptText,
    /// Ctrl-C is for the pager, which has the terminal.
    _interrupts: InterruptsIgnored,
}

/// Where the pager is set.
pub(super) const PAGER_HINT: &str = "SENTBOX_PAGER or PAGER names it; --no-pager does without";

/// All that was written to a pager; `None` if that is more than [`MAX_KEPT`].
type KeptText = Arc<Mutex<Option<Vec<u8>>>>;

pub(super) struct PagerInput {
    pipe: ChildStdin,
    written: KeptText,
}

impl Write for PagerInput {
    /// Writes to the pager. If that has ended, the text is kept only.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = lock(&self.written);
        let len = match self.pipe.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && written.is_some() => {
                bytes.len()
            }
            result => result?,
        };
        if let Some(text) = &mut *written {
            text.extend_from_slice(&bytes[..len]);
        }
        written.take_if(|text| text.len() > MAX_KEPT);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the command of the user's pager; `None` if there shall be none.
pub(super) fn pager_command(env: &Env) -> Option<Command> {
    let named = ["SENTBOX_PAGER", "PAGER"].map(|name| env.get_or_blank(name));
    let mut command = match named.into_iter().flatten().next() {
        Some("" | "cat") => return None,
        // It may have arguments, so the shell reads it.
        Some(pager) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", pager]);
            shell
        }
        None => Command::new("less"),
    };
    if env.get_or_blank("LESS").is_none() {
        // Quit if it fits on the screen, show colours, leave the text on the screen.
        command.env("LESS", "FRX");
    }
    if env.get_or_blank("LESSCHARSET").is_none() && !has_other_charset(env) {
        // Without a locale, less reads another charset.
        command.env("LESSCHARSET", "utf-8");
    }
    remove_key_variables(&mut command);
    Some(command)
}

impl Pager {
    /// Starts the pager; returns it with its input. `None` if it is not installed.
    pub(in crate::cli) fn start(mut command: Command) -> Option<(Self, BufWriter<PagerInput>)> {
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let pipe = child.stdin.take().expect("its input is a pipe");
        let written = KeptText::new(Mutex::new(Some(Vec::new())));
        for signal in [SIGINT, SIGQUIT] {
            // A handler replaces the default action; if there can be none, Ctrl-C ends both.
            let _ = signal_hook::flag::register(signal, Arc::default());
        }
        let input = PagerInput {
            pipe,
            written: Arc::clone(&written),
        };
        let pager = Self {
            child,
            written,
            _interrupts: InterruptsIgnored::new(),
        };
        Some((pager, BufWriter::new(input)))
    }

    /// Waits until the user leaves the pager, whose input must be closed.
    ///
    /// Returns the text if the pager has failed, as it may not have shown it.
    pub(in crate::cli) fn wait(mut self) -> Result<Option<Vec<u8>>> {
        let status = self.child.wait().ok();
        let code = status.and_then(|status| status.code());
        if code.is_none_or(|code| code == 0) {
            return Ok(None);
        }
        let text = lock(&self.written).take();
        text.map(Some).ok_or_else(|| {
            let error = Error::new(ErrorKind::Io, "the pager has failed");
            error.with_hint(PAGER_HINT)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_pager_variable_wins_and_empty_disables() {
        let words = |variables: &[(&str, &str)]| {
            let command = pager_command(&variables.iter().copied().collect())?;
            let words = [command.get_program()]
                .into_iter()
                .chain(command.get_args());
            let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
            let mut set = command.get_envs().filter(|(_, value)| value.is_some());
            Some((words.join(" "), set.any(|(name, _)| name == "LESS")))
        };
        let of = |text: &str, sets_less| Some((text.to_owned(), sets_less));
        assert_eq!(words(&[]), of("less", true));
        assert_eq!(words(&[("LESS", "")]), of("less", false));
        assert_eq!(words(&[("PAGER", "most -s")]), of("sh -c most -s", true));
        let both = [("PAGER", "most"), ("SENTBOX_PAGER", "more")];
        assert_eq!(words(&both), of("sh -c more", true));
        for none in [("PAGER", "cat"), ("PAGER", " "), ("SENTBOX_PAGER", "")] {
            assert_eq!(words(&[none]), None);
        }
        assert_eq!(words(&[("SENTBOX_PAGER", ""), ("PAGER", "most")]), None);
    }

    #[test]
    fn less_reads_the_charset_that_is_written() {
        let charset = |variables: &[(&str, &str)]| {
            let command = pager_command(&variables.iter().copied().collect()).unwrap();
            let mut set = command.get_envs();
            let found = set.find(|(name, _)| *name == "LESSCHARSET");
            found.and_then(|(_, value)| Some(value?.to_str()?.to_owned()))
        };
        assert_eq!(charset(&[]).as_deref(), Some("utf-8"));
        assert_eq!(charset(&[("LANG", "de_DE")]).as_deref(), Some("utf-8"));
        assert_eq!(charset(&[("LC_ALL", "C")]), None);
        assert_eq!(charset(&[("LESSCHARSET", "latin1")]), None);
    }
}
