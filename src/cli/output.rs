//! `Output`: the only place that writes to stdout and stderr, and knows about closed pipes.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::Duration;

use serde::Serialize;

use super::args::{ColorMode, Global};
use super::escape;
use crate::config::Env;
use crate::error::{Error, ErrorKind, RequestDetails};
use crate::text::sanitize;

/// Why a command ends before its work is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandExit {
    /// It could not go on.
    Failed(Error),
    /// Nobody reads any more what it writes, which is a success: `sentbox list | head -1`.
    OutputClosed,
    /// A signal of this number asked it to end.
    Signal(u8),
}

impl From<Error> for CommandExit {
    fn from(failure: Error) -> Self {
        Self::Failed(failure)
    }
}

/// In which form results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// For people.
    Human,
    /// One JSON document.
    Json,
    /// One JSON object a line.
    JsonLines,
}

/// Where results and words go.
pub struct Output {
    stdout: Box<dyn Write>,
    stderr: Box<dyn Write>,
    /// The form of results.
    pub format: OutputFormat,
    /// Whether results are styled.
    pub colour: bool,
    /// The columns of the terminal that stdout is, if it is one.
    pub columns: Option<u16>,
    quiet: bool,
    verbose: bool,
    shows_progress: bool,
}

impl Output {
    /// The streams of this process.
    pub fn from_process(global: &Global, env: &Env) -> Self {
        let is_terminal = io::stdout().is_terminal();
        // A terminal that does not know its own width says that it has none.
        let wide = || {
            rustix::termios::tcgetwinsize(io::stdout())
                .ok()
                .map(|size| size.ws_col)
                .filter(|columns| *columns > 0)
        };
        let columns = is_terminal.then(|| wide().unwrap_or(80));
        let colour = match global.color {
            ColorMode::Auto => env.wants_colour(is_terminal),
            ColorMode::Always => true,
            ColorMode::Never => false,
        };
        Self {
            stdout: Box::new(BufWriter::new(io::stdout())),
            stderr: Box::new(io::stderr()),
            format: format_from_flags(global.json, global.jsonl),
            colour,
            columns,
            quiet: global.quiet,
            verbose: global.verbose > 0,
            shows_progress: io::stderr().is_terminal() && env.get("TERM") != Some("dumb"),
        }
    }

    /// The streams of this process before the command line is understood: `json` is whether errors
    /// are wanted as JSON.
    pub fn before_parsing(json: bool) -> Self {
        let stdout = Box::new(BufWriter::new(io::stdout()));
        Self {
            stdout,
            stderr: Box::new(io::stderr()),
            format: format_from_flags(json, false),
            colour: false,
            columns: None,
            quiet: false,
            verbose: false,
            shows_progress: false,
        }
    }

    /// Creates streams that keep what is written to stderr and drop data.
    #[cfg(test)]
    pub(super) fn captured() -> (Self, std::sync::Arc<std::sync::Mutex<Vec<u8>>>) {
        struct Kept(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
        impl Write for Kept {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let captured = std::sync::Arc::default();
        (
            Self {
                stdout: Box::new(io::sink()),
                stderr: Box::new(Kept(std::sync::Arc::clone(&captured))),
                ..Self::before_parsing(false)
            },
            captured,
        )
    }

    /// Writes results to stdout, which keeps them until there is enough of them or [`Output::flush`].
    /// Text for people loses its control characters, JSON has them as escapes: whatever a result
    /// quotes cannot command a terminal.
    pub fn write_data(&mut self, text: &str) -> Result<(), CommandExit> {
        let safe = if self.format == OutputFormat::Human {
            escape::strip_controls(text)
        } else {
            escape::escape_lines(text)
        };
        self.write(&safe)
    }

    /// Writes text for people in which the program has set styles and links of its own.
    pub(super) fn write_styled(&mut self, text: &str) -> Result<(), CommandExit> {
        if self.format == OutputFormat::Human && self.colour {
            self.write(&escape::strip_foreign_controls(text))
        } else {
            self.write_data(text)
        }
    }

    /// Writes what a program needs byte by byte, such as a path or a part of an email; a terminal is
    /// given it by [`Self::write_data`].
    pub(super) fn write_exact(&mut self, text: &str) -> Result<(), CommandExit> {
        if self.columns.is_some() {
            self.write_data(text)
        } else {
            self.write(text)
        }
    }

    fn write(&mut self, text: &str) -> Result<(), CommandExit> {
        self.stdout
            .write_all(text.as_bytes())
            .map_err(|error| write_error(&error))
    }

    /// Sends on what was written so far.
    pub fn flush(&mut self) -> Result<(), CommandExit> {
        self.stdout.flush().map_err(|error| write_error(&error))
    }

    /// Whether nothing is captured but results and errors.
    pub const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Says something beside the results; cleaned, since it may quote what others wrote.
    pub fn note(&mut self, text: &str) {
        if !self.quiet {
            let _ = writeln!(self.stderr, "sentbox: {}", sanitize::sanitize_line(text));
        }
    }

    /// The same for those who cannot wait until the output is theirs.
    pub fn note_writer(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let Self {
            quiet,
            shows_progress: watched,
            ..
        } = *self;
        move |text| {
            if !quiet {
                let _ = writeln!(
                    io::stderr(),
                    "{}sentbox: {}",
                    if watched { "\r\x1b[K" } else { "" },
                    sanitize::sanitize_line(text)
                );
            }
        }
    }

    /// Shows how far a long command is, instead of what it showed before; only to a user who
    /// watches. The empty text takes it away.
    pub fn show_progress(&mut self, text: &str) {
        if self.shows_progress && !self.quiet {
            let columns = usize::from(self.columns.unwrap_or(80)).saturating_sub(1);
            let line: String = sanitize::sanitize_line(text)
                .chars()
                .take(columns)
                .collect();
            // Whoever does not see it misses nothing.
            let _ = write!(self.stderr, "\r\x1b[K{line}");
            let _ = self.stderr.flush();
        }
    }

    /// Asks a person; `None` if there is none to be asked.
    pub fn confirm(&mut self, question: &str) -> Result<Option<bool>, CommandExit> {
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            return Ok(None);
        }
        let _ = write!(
            self.stderr,
            "sentbox: {} [y/N] ",
            sanitize::sanitize_line(question)
        );
        let _ = self.stderr.flush();
        let mut answer = String::new();
        let failed =
            |error| Error::new(ErrorKind::Io, format!("the answer cannot be read: {error}"));
        io::stdin().read_line(&mut answer).map_err(failed)?;
        Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
    }

    /// Says why a command ends, in the form that was asked for.
    pub fn report_error(&mut self, failure: &Error) {
        let Error {
            kind,
            message,
            hint,
            retry_after: wait,
            details,
        } = failure;
        let (message, hint) = (
            sanitize::sanitize_line(message),
            sanitize::sanitize_line(hint),
        );
        let request = details
            .as_deref()
            .map(|details| FailedRequest::new(details, *wait));
        if self.format == OutputFormat::Human {
            self.write_stderr(&format!("sentbox: {message}"));
            if !hint.is_empty() {
                self.write_stderr(&format!("   hint: {hint}"));
            }
            if let Some(request) = request.filter(|_| self.verbose) {
                self.write_stderr(&format!("request: {request}"));
            }
            return;
        }
        let document = ErrorDocument {
            error: ErrorBody {
                kind: kind.code(),
                message: &message,
                hint: &hint,
                request,
            },
        };
        self.write_stderr(&serde_json::to_string(&document).expect("strings are JSON"));
    }

    /// A closed stderr is no reason to stop.
    fn write_stderr(&mut self, line: &str) {
        let line = if self.format == OutputFormat::Human {
            sanitize::sanitize_line(line)
        } else {
            escape::escape_lines(line)
        };
        let _ = writeln!(self.stderr, "{line}");
    }
}

/// A failure as JSON.
#[derive(Serialize)]
struct ErrorDocument<'a> {
    /// The error.
    error: ErrorBody<'a>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    /// Code of the error, as in errors.md; stable.
    kind: &'a str,
    /// What failed.
    message: &'a str,
    /// What to do next; may be empty.
    hint: &'a str,
    /// The request that failed, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<FailedRequest<'a>>,
}

/// The request that failed, for those who run the service.
#[derive(Serialize)]
struct FailedRequest<'a> {
    /// Endpoint, without ids.
    endpoint: &'a str,
    /// HTTP status of the last response; null if none came.
    status: Option<u16>,
    /// The service's id of the last response.
    id: Option<&'a str>,
    /// How often the request was sent.
    attempts: u32,
    /// Seconds to wait, from `retry-after`.
    wait: Option<u64>,
}

impl<'a> FailedRequest<'a> {
    fn new(details: &'a RequestDetails, wait: Option<Duration>) -> Self {
        let RequestDetails {
            endpoint,
            status,
            request_id,
            attempts,
        } = details;
        Self {
            endpoint,
            status: *status,
            id: request_id.as_deref(),
            attempts: *attempts,
            wait: wait.map(|wait| wait.as_secs()),
        }
    }
}

impl fmt::Display for FailedRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            endpoint,
            status,
            id,
            attempts,
            wait,
        } = self;
        write!(f, "{endpoint}, attempt {attempts}")?;
        match status {
            Some(status) => write!(f, ", status {status}")?,
            None => f.write_str(", no answer")?,
        }
        if let Some(id) = id {
            write!(f, ", id {id}")?;
        }
        if let Some(wait) = wait {
            write!(f, ", wait {wait} s")?;
        }
        Ok(())
    }
}

const fn format_from_flags(json: bool, jsonl: bool) -> OutputFormat {
    match (json, jsonl) {
        (_, true) => OutputFormat::JsonLines,
        (true, false) => OutputFormat::Json,
        (false, false) => OutputFormat::Human,
    }
}

fn write_error(error: &io::Error) -> CommandExit {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return CommandExit::OutputClosed;
    }
    CommandExit::Failed(Error::new(
        ErrorKind::Io,
        format!("standard output cannot be written: {error}"),
    ))
}
