//! `Output`: writes to stdout and stderr, and handles closed pipes.
//!
//! No other file writes to them but the panic hook and the terminal program.

mod closed;
pub(super) mod columns;
pub(super) mod escape;
pub(super) mod format;
pub(super) mod jq;
mod pager;
pub(super) mod table;
pub(super) mod terminal_modes;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::mem::take;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::args::suggested_commands::SelectionFlags;
use super::args::{ColorMode, Global};
use crate::config::{Env, Profiles, draws_ascii, has_other_charset};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::Mailbox;
use crate::text::ascii::{self, AsciiWriter, replace_non_ascii};
use crate::text::format::shell_word;
use crate::text::width::truncate;
use crate::text::{json, sanitize};
pub(super) use closed::wait_for_closed_stdout;
use jq::{JqFilter, JqValue, JsonCollector};
use pager::{PAGER_HINT, Pager, pager_command};

/// The reason why a command ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandExit {
    Failed(Error),
    /// The reader of stdout is gone, which is a success: `sentbox list | head -1`.
    OutputClosed,
    /// The search found nothing, and a flag requests an exit code for that.
    NothingFound,
    /// The signal of this number arrived.
    Signal(u8),
}

impl From<Error> for CommandExit {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Text for people.
    Human,
    /// One JSON document.
    Json,
    /// One JSON object a line.
    JsonLines,
}

/// The output streams of a command.
pub struct Output {
    stdout: Box<dyn Write + Send>,
    stderr: Box<dyn Write + Send>,
    /// Starts the pager at the first write;
    /// `None` without one, and when it was started.
    pager_command: Option<Command>,
    pager: Option<Pager>,
    /// Whether the pager has the terminal.
    is_paging: Arc<AtomicBool>,
    /// Notes that wait until the pager has ended.
    waiting_notes: Vec<String>,
    /// Runs on each JSON document, instead of printing it.
    jq: Option<JqFilter>,
    /// Whether it has failed for an object, and the next ones were printed.
    has_jq_failed: bool,
    /// The parts of a document that is not complete.
    collector: JsonCollector,
    pub format: OutputFormat,
    /// Whether results are styled.
    pub colour: bool,
    /// Whether text for people has the symbols of the program in ASCII.
    pub(super) ascii: bool,
    /// Whether stdout is a terminal that reads another charset than UTF-8.
    is_ascii_only: bool,
    /// Whether stderr is one.
    is_stderr_ascii_only: bool,
    /// The flags of this run that suggested commands need, too.
    selection: SelectionFlags,
    /// The width of stdout; `None` if it is not a terminal.
    pub columns: Option<u16>,
    pub(in crate::cli) quiet: bool,
    verbose: bool,
    shows_progress: bool,
}

impl Output {
    /// Whether data are printed as JSON.
    pub(super) fn is_json(&self) -> bool {
        self.format != OutputFormat::Human
    }

    /// Creates the output of a command with its flags.
    pub fn from_process(global: &Global, env: &Env) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let mut out = Self::before_parsing(global.json || global.jq.is_some(), env);
        out.jq.clone_from(&global.jq);
        out.selection = SelectionFlags::new(global);
        if global.jsonl {
            out.format = OutputFormat::JsonLines;
        }
        out.colour = match global.color {
            ColorMode::Auto => env.wants_colour(is_terminal),
            ColorMode::Always => true,
            ColorMode::Never => false,
        };
        out.columns = is_terminal.then(|| terminal_width(io::stdout()));
        out.ascii = global.ascii || (is_terminal && draws_ascii(env));
        out.is_ascii_only = is_terminal && has_other_charset(env);
        out.quiet = global.quiet;
        out.verbose = global.verbose > 0;
        out.shows_progress =
            io::stderr().is_terminal() && env.get("TERM") != Some("dumb") && !out.is_json();
        out
    }

    /// Creates the output before the command line is parsed.
    pub fn before_parsing(json: bool, env: &Env) -> Self {
        let is_stderr_ascii_only = io::stderr().is_terminal() && has_other_charset(env);
        Self {
            stdout: Box::new(BufWriter::new(io::stdout())),
            stderr: if is_stderr_ascii_only {
                Box::new(AsciiWriter(io::stderr()))
            } else {
                Box::new(io::stderr())
            },
            pager_command: None,
            pager: None,
            is_paging: Arc::default(),
            waiting_notes: Vec::new(),
            jq: None,
            has_jq_failed: false,
            collector: JsonCollector::default(),
            format: if json {
                OutputFormat::Json
            } else {
                OutputFormat::Human
            },
            colour: false,
            ascii: false,
            is_ascii_only: false,
            is_stderr_ascii_only,
            selection: SelectionFlags::default(),
            columns: None,
            quiet: false,
            verbose: false,
            shows_progress: false,
        }
    }

    /// Lets suggested commands be about the same mailbox as this one.
    pub(super) fn set_mailbox(&mut self, mailbox: Mailbox) {
        self.selection.mailbox = mailbox;
    }

    /// Returns the flags that make another command print in the same form,
    /// each after a space.
    pub(super) fn format_flags(&self) -> String {
        let format = match (self.format, &self.jq) {
            (OutputFormat::JsonLines, _) => " --jsonl",
            (OutputFormat::Json, None) => " --json",
            (OutputFormat::Json, Some(_)) | (OutputFormat::Human, _) => "",
        };
        let jq = self.jq.as_ref();
        let jq = jq.map(|jq| format!(" --jq {}", shell_word(&jq.code)));
        format!("{format}{}", jq.unwrap_or_default())
    }

    /// Adds the flags of this run to the commands that a text suggests.
    pub(super) fn complete_commands<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.selection.add_to(text)
    }

    /// Lets a pager show text for people on a terminal, from the first write on.
    pub fn use_pager(&mut self, env: &Env) {
        let is_terminal = io::stdout().is_terminal() && env.get("TERM") != Some("dumb");
        // Screen readers need lines without a pager; the configuration file has a switch for it.
        let is_accessible =
            || Profiles::load_with_errors(env).is_ok_and(|profiles| profiles.file.accessible);
        if is_terminal && !self.is_json() && !is_accessible() {
            self.pager_command = pager_command(env);
        }
    }

    fn start_pager(&mut self) {
        let started = self.pager_command.take().and_then(Pager::start);
        if let Some((pager, input)) = started {
            self.show_progress("");
            self.stdout = Box::new(input);
            self.pager = Some(pager);
            self.is_paging.store(true, Ordering::Relaxed);
        }
    }

    /// Waits until the user leaves the pager, if one was started,
    /// and prints what waits for that.
    pub fn end_pager(&mut self) -> Result<()> {
        let Some(pager) = self.pager.take() else {
            return Ok(());
        };
        // This closes the input of the pager.
        self.stdout = Box::new(BufWriter::new(io::stdout()));
        let result = pager.wait();
        self.is_paging.store(false, Ordering::Relaxed);
        if let Ok(Some(text)) = &result {
            // A reader of stdout that is gone is not an error.
            let _ = self.write_bytes(text).and_then(|()| self.flush());
            self.note(&format!("the pager has failed; {PAGER_HINT}"));
        }
        for text in take(&mut self.waiting_notes) {
            self.note(&text);
        }
        result.map(drop)
    }

    /// Writes results, buffered until [`Output::flush`].
    ///
    /// Control characters are removed from text for people and escaped in JSON, so that quoted
    /// text cannot command a terminal.
    pub fn write_data(&mut self, text: &str) -> Result<(), CommandExit> {
        if let Some(filter) = &self.jq {
            return match self.collector.push(text)? {
                Some(documents) => {
                    let filter = filter.clone();
                    filter.run(&documents, |result| match result {
                        Ok(value) => self.write_value(value),
                        Err(error) => {
                            self.has_jq_failed = true;
                            // Beside the values of its object.
                            self.flush()?;
                            self.report_error(&error);
                            Ok(())
                        }
                    })
                }
                None => Ok(()),
            };
        }
        if self.is_json() {
            self.write_json(text)
        } else {
            self.write_text(&escape::strip_controls(text))
        }
    }

    fn write_json(&mut self, json: &str) -> Result<(), CommandExit> {
        if self.is_ascii_only {
            self.write(&json::escape_to_ascii(json))
        } else {
            self.write(&json::escape_lines(json))
        }
    }

    /// Writes safe text for people.
    fn write_text(&mut self, text: &str) -> Result<(), CommandExit> {
        if self.ascii {
            self.write(&ascii::replace_symbols(text))
        } else {
            self.write(text)
        }
    }

    /// Writes what `--jq` makes of a document: a string like other text for people.
    fn write_value(&mut self, value: JqValue) -> Result<(), CommandExit> {
        match value {
            JqValue::Text(text) => self.write(&escape::strip_controls(&(text + "\n"))),
            JqValue::Json(json) => self.write_json(&(json + "\n")),
        }
    }

    /// Writes text with styles and links of the program's own.
    pub(super) fn write_styled(&mut self, text: &str) -> Result<(), CommandExit> {
        if !self.is_json() && self.colour {
            self.write_text(&escape::strip_foreign_controls(text))
        } else {
            self.write_data(text)
        }
    }

    /// Writes text as it is, such as a path or a part of an email;
    /// to a terminal, and with `--jq`, as [`Self::write_data`].
    pub(super) fn write_exact(&mut self, text: &str) -> Result<(), CommandExit> {
        if self.columns.is_some() || self.jq.is_some() {
            self.write_data(text)
        } else {
            self.write(text)
        }
    }

    /// Writes bytes as they are; the caller has checked that stdout is not a terminal.
    pub(super) fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), CommandExit> {
        self.stdout
            .write_all(bytes)
            .map_err(|error| write_error(&error))
    }

    /// Writes the result of a command: a text for people, or one JSON object.
    pub(super) fn report(
        &mut self,
        json: &impl Serialize,
        text: impl Into<String>,
    ) -> Result<(), CommandExit> {
        let text = match self.format {
            OutputFormat::Human => text.into(),
            OutputFormat::Json | OutputFormat::JsonLines => to_json(json),
        };
        self.write_data(&(text + "\n"))?;
        self.flush()
    }

    /// Writes a list: lines for people, one JSON document, or one JSON object a row.
    pub(super) fn report_list<T: Serialize>(
        &mut self,
        rows: &[T],
        document: &impl Serialize,
        lines: impl Iterator<Item = String>,
    ) -> Result<(), CommandExit> {
        let lines: Vec<String> = match self.format {
            OutputFormat::Human => lines.collect(),
            OutputFormat::Json => vec![to_json(document)],
            OutputFormat::JsonLines => rows.iter().map(to_json).collect(),
        };
        for line in lines {
            self.write_data(&(line + "\n"))?;
        }
        self.flush()
    }

    fn write(&mut self, text: &str) -> Result<(), CommandExit> {
        if self.pager_command.is_some() && !text.is_empty() {
            self.start_pager();
        }
        if self.is_ascii_only {
            self.write_bytes(&replace_non_ascii(text.as_bytes()))
        } else {
            self.write_bytes(text.as_bytes())
        }
    }

    pub fn flush(&mut self) -> Result<(), CommandExit> {
        self.stdout.flush().map_err(|error| write_error(&error))
    }

    /// Whether `--jq` has failed for an object, whose error was reported.
    pub const fn has_jq_failed(&self) -> bool {
        self.has_jq_failed
    }

    /// Whether only results and errors are printed.
    pub const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints a sanitized message on stderr; beside JSON it is JSON, too.
    pub fn note(&mut self, text: &str) {
        if self.pager.is_some() {
            self.waiting_notes.push(text.to_owned());
            return;
        }
        self.show_progress("");
        if !self.quiet {
            let text = self.complete_commands(text);
            let note = format_note(self.format, self.ascii, &text);
            let _ = writeln!(self.stderr, "{note}");
        }
    }

    pub fn notes(&mut self, texts: &[String]) {
        for text in texts {
            self.note(text);
        }
    }

    /// Returns a function like [`Self::note`] that does not borrow the output.
    pub fn note_writer(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let quiet = self.quiet;
        let (format, ascii) = (self.format, self.ascii);
        let is_ascii_only = self.is_stderr_ascii_only;
        let is_paging = Arc::clone(&self.is_paging);
        let clear = if self.shows_progress { CLEAR_LINE } else { "" };
        move |text| {
            // Such a note is out of date when the user leaves the pager.
            if !quiet && !is_paging.load(Ordering::Relaxed) {
                let mut line =
                    format!("{clear}{}\n", format_note(format, ascii, text)).into_bytes();
                if is_ascii_only {
                    line = replace_non_ascii(&line);
                }
                let _ = io::stderr().write_all(&line);
            }
        }
    }

    /// Replaces the progress line on a terminal; an empty text removes it.
    pub fn show_progress(&mut self, text: &str) {
        if self.shows_progress && !self.quiet && self.pager.is_none() {
            // Its window may have another size by now, and data may go elsewhere.
            let columns = usize::from(terminal_width(io::stderr())).saturating_sub(1);
            let line = truncate(&sanitize::sanitize_line(text), columns, "");
            let _ = write!(self.stderr, "{CLEAR_LINE}{line}");
            let _ = self.stderr.flush();
        }
    }

    /// Prompts the user for yes or no; `None` without a terminal.
    pub fn confirm(&mut self, question: &str) -> Result<Option<bool>, CommandExit> {
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            return Ok(None);
        }
        let question = sanitize::sanitize_line(question);
        let _ = write!(self.stderr, "sentbox: {question} [y/N] ");
        let _ = self.stderr.flush();
        let mut answer = String::new();
        io::stdin()
            .read_line(&mut answer)
            .map_err(|error| Error::cannot("read", ErrorKind::Io, "the answer", &error))?;
        Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
    }

    /// Prints the error that ends a command, in the format of the results.
    pub fn report_error(&mut self, error: &Error) {
        let message = sanitize::sanitize_line(&error.message);
        let hint = self.complete_commands(&error.hint);
        let hint = sanitize::sanitize_line(&hint);
        let details = error.details.as_deref();
        let request = details.map(|details| FailedRequest {
            endpoint: details.endpoint,
            status: details.status,
            id: details.request_id.as_deref(),
            attempts: details.attempts,
            wait: error.retry_after.map(|wait| wait.as_secs()),
        });
        if self.is_json() {
            let error = ErrorBody {
                kind: error.kind.code(),
                message: &message,
                hint: &hint,
                request,
            };
            return self.write_stderr(&to_json(&ErrorDocument { error }));
        }
        self.write_stderr(&format!("sentbox: {message}"));
        if !hint.is_empty() {
            self.write_stderr(&format!("   hint: {hint}"));
        }
        if let Some(request) = request.filter(|_| self.verbose) {
            self.write_stderr(&format!("request: {request}"));
        }
    }

    /// A closed stderr does not stop the program.
    fn write_stderr(&mut self, line: &str) {
        let line = if self.is_json() && self.is_stderr_ascii_only {
            json::escape_to_ascii(line)
        } else if self.is_json() {
            json::escape_lines(line)
        } else {
            clean_line(line, self.ascii)
        };
        let _ = writeln!(self.stderr, "{line}");
    }
}

fn format_note(format: OutputFormat, ascii: bool, text: &str) -> String {
    match format {
        OutputFormat::Human => format!("sentbox: {}", clean_line(text, ascii)),
        OutputFormat::Json | OutputFormat::JsonLines => to_json(&Note {
            note: &sanitize::sanitize_line(text),
        }),
    }
}

/// Cleans a line for people; with `ascii`, its symbols are replaced.
fn clean_line(text: &str, ascii: bool) -> Cow<'_, str> {
    match sanitize::sanitize_line(text) {
        line if ascii => ascii::replace_symbols(&line).into(),
        line => line,
    }
}

/// A note as JSON.
#[derive(Serialize)]
struct Note<'a> {
    /// What a user should know.
    note: &'a str,
}

/// An error as JSON.
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
    /// What to do next; absent if nothing is known but what errors.md has for the code.
    #[serde(skip_serializing_if = "str::is_empty")]
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

impl fmt::Display for FailedRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, attempt {}", self.endpoint, self.attempts)?;
        match self.status {
            Some(status) => write!(f, ", status {status}")?,
            None => f.write_str(", no answer")?,
        }
        if let Some(id) = self.id {
            write!(f, ", id {id}")?;
        }
        if let Some(wait) = self.wait {
            write!(f, ", wait {wait} s")?;
        }
        Ok(())
    }
}

/// Moves to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Returns the width of a terminal; 80 columns if it does not know that, or there is none.
fn terminal_width(terminal: impl AsFd) -> u16 {
    let size = rustix::termios::tcgetwinsize(terminal);
    let columns = size.map_or(0, |size| size.ws_col);
    if columns == 0 { 80 } else { columns }
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers are JSON")
}

fn write_error(error: &io::Error) -> CommandExit {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return CommandExit::OutputClosed;
    }
    Error::cannot("written", ErrorKind::Io, "standard output", error).into()
}

#[cfg(test)]
mod tests;
