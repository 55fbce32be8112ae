//! Takes the selected email along:
//! copies a part of it, saves it as a file, gives it to a command.
//!
//! `commands/mod.rs` calls the `check_*` method of a command before it runs it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_segmentation::UnicodeSegmentation as _;

use super::chooser::{MaskedPart, Question};
use super::commands::{Command, CopyField, require};
use super::effect::{ClipboardText, Effect, LoopEffect, Pending, PipedCommand, RequestId};
use super::list::recipient::distinct_recipients;
use super::model::Model;
use super::prompt::{Prompt, PromptKind};
use super::reader::ReaderState;
use super::session::{SessionInfo, SessionTarget};
use crate::archive::EmailRow;
use crate::config::{BaseUrl, ClipboardRoute, Multiplexer};
use crate::error::{Error, ErrorKind};
use crate::export::{self, ExportFormat};
use crate::mail::{Address, ApiTime, Email, EmailId, Summary, explain};
use crate::render::Body;
use crate::text::format::{plural, shell_word};
use crate::text::secrets::{Secrets, find_secrets};
use crate::text::width::{DisplayWidth as _, truncate};

/// The most bytes that are copied;
/// base64 turns 74 kB into about 100 kB, and terminals drop longer sequences. It holds for programs
/// too, because the terminal gets what they refuse.
const MAX_BYTES: usize = 74_000;

/// The name that was typed for a file that is not written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnwrittenPath {
    kind: PromptKind,
    /// The email that the file is for; `None` for a set of emails.
    email: Option<EmailId>,
    text: String,
}

/// The email that is being written to a file.
#[derive(Debug, Clone, Default)]
pub(super) struct EmailSave {
    pub(super) request: Pending<()>,
    /// How many attachments the email has, which its file will not have.
    left_out: usize,
}

impl Model {
    pub(super) fn check_copy(&self) -> Result<(), String> {
        self.check_clipboard()?;
        self.check_selected()
    }

    pub(super) fn check_clipboard(&self) -> Result<(), String> {
        require(
            self.session.clipboard != ClipboardRoute::Off,
            "copying is switched off: clipboard = \"off\" in the configuration",
        )
    }

    /// Copies the command that opens the list with this filter; the filter alone where
    /// no command does.
    pub(super) fn copy_query(&mut self) {
        let (label, text) = match (self.list_command(), self.list.filter.text()) {
            (Some(command), _) => ("command", command),
            (None, "") => {
                return self.notify("no filter is set, and no command opens this list");
            }
            (None, query) => ("filter", query.to_owned()),
        };
        self.copy_text(ClipboardText { label, text });
    }

    /// Returns the command that opens the list with its filter; `None` if none does.
    pub(super) fn list_command(&self) -> Option<String> {
        if self.session.target == SessionTarget::Demo || self.is_received() {
            return None;
        }
        // It may look like a flag or like the name of a command.
        let query = match self.list.filter.text() {
            "" => String::new(),
            query => format!("-- {}", shell_word(query)),
        };
        let text = format!("sentbox {}{query}", self.session.command_flags);
        Some(text.trim_end().to_owned())
    }

    /// Copies a part of the selected email.
    pub(super) fn copy_field(&mut self, field: CopyField) {
        let Some(row) = self.list.selected() else {
            return;
        };
        let summary = &row.summary;
        let id = summary.id.to_safe_text().to_string();
        let names_recipients = matches!(field, CopyField::To | CopyField::Ticket);
        if names_recipients && row.is_shortened && self.opened_email().is_none() {
            return self.notify(self.describe_not_loaded());
        }
        let (label, text) = match field {
            CopyField::Id => ("id", id),
            CopyField::MessageId => ("message id", summary.message_id.to_string()),
            CopyField::To => {
                let all = distinct_recipients(self.full_summary(row));
                let all = all.into_iter().map(|address| address.email.to_string());
                ("recipient", all.collect::<Vec<_>>().join(", "))
            }
            CopyField::From => ("sender", summary.from.email.to_string()),
            CopyField::Subject => ("subject", self.whole_subject(row).into_owned()),
            CopyField::Body => match self.body() {
                Some(body) => ("body", body.unwrapped_text()),
                None => return self.notify(self.describe_not_loaded()),
            },
            CopyField::Json => {
                if self.body().is_none() || !self.masks_opened_email() {
                    return self.copy_json();
                }
                return self.open_question(Question::CopyUnmasked(MaskedPart::Json));
            }
            CopyField::Curl => ("curl command", curl_command(&self.session, &id)),
            CopyField::Ticket => ("ticket summary", self.ticket(row)),
        };
        self.copy_text(ClipboardText { label, text });
    }

    /// Whether the screen masks a part of the open email.
    fn masks_opened_email(&self) -> bool {
        let in_body = self.body().is_some_and(|body| body.has_secrets);
        self.reader.secrets.are_masked() && (in_body || self.has_secret_in_subject())
    }

    fn has_secret_in_subject(&self) -> bool {
        let subject = self.list.selected().map(|row| &row.summary.subject);
        subject.is_some_and(|subject| !find_secrets(subject).is_empty())
    }

    /// Copies every field of the open email.
    pub(super) fn copy_json(&mut self) {
        match self.reader_state() {
            ReaderState::Ready(opened, Some(_)) => {
                let text = opened.email.json.to_string();
                let label = "JSON";
                self.copy_text(ClipboardText { label, text });
            }
            _ => self.notify(self.describe_not_loaded()),
        }
    }

    /// Returns the subject, with its codes masked unless they are revealed.
    pub fn shown_subject<'a>(&self, row: &'a EmailRow) -> Cow<'a, str> {
        row.summary.shown_subject(self.secrets_of(row))
    }

    /// Returns the [`Self::shown_subject`], not truncated if the email is open.
    fn whole_subject<'a>(&'a self, row: &'a EmailRow) -> Cow<'a, str> {
        self.full_summary(row).shown_subject(self.secrets_of(row))
    }

    fn secrets_of(&self, row: &EmailRow) -> Secrets {
        let is_open = self.reader.id.as_ref() == Some(&row.summary.id);
        if is_open && self.reader.secrets == Secrets::Revealed {
            Secrets::Revealed
        } else {
            self.session.secrets
        }
    }

    pub(super) fn check_reveal(&self) -> Result<(), String> {
        self.check_selected()?;
        if self.reader_follows() {
            return Ok(());
        }
        Err(self.describe_not_loaded())
    }

    /// Reveals the codes and links of the selected email, or masks them again.
    pub(super) fn toggle_reveal(&mut self) {
        let has_none = |body: &Body| !body.has_secrets && !self.has_secret_in_subject();
        if self.reader.secrets.are_masked() && self.body().is_some_and(has_none) {
            return self.notify("this email has no codes or single-use links");
        }
        self.outbox.extend(self.reader.toggle_reveal());
        self.notify(match self.reader.secrets {
            Secrets::Masked => "codes and single-use links are masked",
            Secrets::Revealed => "codes are shown until you leave this email",
        });
    }

    /// Copies a text, and reports what went where;
    /// the terminal never says whether it took it.
    pub(super) fn copy_text(&mut self, copied: ClipboardText) {
        let ClipboardText { label, text } = &copied;
        if text.is_empty() {
            return self.notify(format!("this email has no {label}"));
        }
        if text.len() > MAX_BYTES {
            let size = text.len().div_ceil(1000);
            let text =
                format!("the {label} is too long to copy: {size} kB, and 74 kB is the limit");
            return self.notify_with(&text, Command::SaveEmail, "saves the email as a file");
        }
        match self.session.clipboard {
            ClipboardRoute::Terminal { multiplexer } => {
                self.copy_by_terminal(copied, "", multiplexer);
            }
            ClipboardRoute::Program(program) => {
                let request = self.clipboard_request.start();
                self.outbox
                    .push(Effect::SetClipboard(request, program, copied));
            }
            ClipboardRoute::Off => {}
        }
    }

    fn copy_by_terminal(
        &mut self,
        copied: ClipboardText,
        why: &str,
        multiplexer: Option<Multiplexer>,
    ) {
        let what = copied.describe();
        self.notify(format!("{what}, OSC 52{why}; the terminal may refuse"));
        let text = copied.text;
        self.emit(LoopEffect::SetClipboard { text, multiplexer });
    }

    /// Reports that a clipboard program has taken the text;
    /// the terminal gets what it has not.
    pub(super) fn apply_clipboard(
        &mut self,
        request: RequestId,
        copied: ClipboardText,
        result: Result<(), String>,
    ) {
        if !self.clipboard_request.finish(request) {
            return;
        }
        match (result, self.session.clipboard) {
            (Err(reason), _) => self.copy_by_terminal(copied, &format!(" ({reason})"), None),
            (Ok(()), ClipboardRoute::Program(program)) => {
                self.notify(format!("{}, {}", copied.describe(), program[0]));
            }
            (Ok(()), ClipboardRoute::Terminal { .. } | ClipboardRoute::Off) => {}
        }
    }

    /// Returns the email in words:
    /// to, subject, status, times in two zones, ids, and the command that shows it.
    fn ticket(&self, row: &EmailRow) -> String {
        let summary = &row.summary;
        let in_both_zones = |at| self.in_both_zones(at);
        let full = self.full_summary(row);
        let named = |addresses: &[Address]| {
            let named = addresses.iter().map(ToString::to_string);
            named.collect::<Vec<_>>().join(", ")
        };
        let mut text = format!("To: {}\n", named(&full.to));
        if self.is_received() {
            text = format!("From: {}\n{text}", summary.from);
        }
        let mut line = |label: &str, value: &str| {
            if !value.is_empty() {
                let _ = writeln!(text, "{label}: {value}");
            }
        };
        line("Cc", &named(&full.cc));
        line("Bcc", &named(&full.bcc));
        line("Subject", &self.whole_subject(row));
        let bounce = row.find_bounce(full);
        let (meaning, bounce_details) =
            explain(&summary.status, bounce.as_ref(), row.recipient_count);
        let checked = row.confirmed_at.map_or_else(
            || "never checked".to_owned(),
            |at| format!("as of {}", in_both_zones(at)),
        );
        if summary.status.exists() {
            line(
                "Status",
                &format!("{}: {meaning}; {checked}", summary.status.label()),
            );
            line("Bounce", &bounce_details);
        }
        if let Some(at) = row.missing_since {
            let noticed = in_both_zones(at);
            line(
                "Gone",
                &format!("no longer at the service, noticed {noticed}"),
            );
        }
        let time = |time: &ApiTime| match time.parsed {
            Some(at) => in_both_zones(at),
            None => time.raw.to_string(),
        };
        line("Created", &time(&summary.created));
        line(
            "Scheduled",
            &summary.scheduled.as_ref().map(time).unwrap_or_default(),
        );
        let id = summary.id.to_safe_text();
        line("Id", &id);
        line("Message-ID", &summary.message_id);
        if self.session.target == SessionTarget::Demo {
            // No command shows an email of it.
            return text;
        }
        let flags = &self.session.command_flags;
        let received = if self.is_received() {
            "--received "
        } else {
            ""
        };
        let end_of_flags = if id.starts_with('-') { "-- " } else { "" };
        let id = shell_word(&id);
        text + &format!("sentbox {flags}show {received}{end_of_flags}{id}\n")
    }

    /// Formats a time in the zone of the start and in UTC.
    pub(super) fn in_both_zones(&self, at: Timestamp) -> String {
        let zone = self.other_zone.as_ref();
        in_two_zones(at, zone.unwrap_or_else(|| self.now.time_zone()))
    }

    pub(super) fn check_opened(&self) -> Result<(), String> {
        self.check_selected()?;
        self.opened_email()
            .map(drop)
            .ok_or_else(|| self.describe_not_loaded())
    }

    /// Says why there is no email or body yet:
    /// it loads, that has failed, or the screen has the list alone.
    pub(super) fn describe_not_loaded(&self) -> String {
        if self.reader_follows() {
            return match self.reader_state() {
                ReaderState::Failed(error) => error.message.clone(),
                _ => "the email was not loaded yet; try again".to_owned(),
            };
        }
        self.describe_not_open()
    }

    pub(super) fn describe_not_open(&self) -> String {
        self.with_hint("the email is not open", Command::Open, "reads it")
    }

    /// Whether the reader has the selected email, or loads it.
    fn reader_follows(&self) -> bool {
        self.reader.id.as_ref() == self.list.selected_id()
    }

    /// The summary of the selected row with every recipient, if the email is open:
    /// the row has only the first ones.
    fn full_summary<'a>(&'a self, row: &'a EmailRow) -> &'a Summary {
        let opened = self.opened_email();
        opened.map_or(&row.summary, |email| &email.summary)
    }

    fn opened_email(&self) -> Option<&Arc<Email>> {
        Some(&self.reader_state().opened()?.email)
    }

    /// Asks for the name of the file, with one made from the email.
    pub(super) fn open_save_prompt(&mut self) {
        let Some(email) = self.opened_email() else {
            return;
        };
        let name = export::file_name(&email.summary, self.now.time_zone(), ExportFormat::Eml);
        self.open_path_prompt(PromptKind::SaveEmail, name);
    }

    /// Asks for the name of a file or a folder: with the one that was typed last if
    /// nothing was written there, else with this one.
    pub(super) fn open_path_prompt(&mut self, kind: PromptKind, name: String) {
        let email = self.file_email(kind);
        let typed = self.unwritten_path.take();
        let typed = typed.filter(|typed| (typed.kind, &typed.email) == (kind, &email));
        self.open_prompt(kind, typed.map_or(name, |typed| typed.text));
    }

    /// Writes what the prompt is about to the file with the typed name.
    pub(super) fn write_file(&mut self, prompt: Prompt) {
        let typed = UnwrittenPath {
            kind: prompt.kind,
            email: self.file_email(prompt.kind),
            text: prompt.text().to_owned(),
        };
        self.unwritten_path = Some(typed).filter(|typed| !typed.text.trim().is_empty());
        match prompt.kind {
            PromptKind::SaveAttachment(index) => self.save_attachment(&prompt, index),
            PromptKind::Export(format) => self.plan_export(&prompt, format),
            _ => self.save_email(prompt),
        }
    }

    /// Returns the email that a file is for; `None` for a set of emails.
    fn file_email(&self, kind: PromptKind) -> Option<EmailId> {
        let is_set = matches!(kind, PromptKind::Export(_));
        self.reader.id.clone().filter(|_| !is_set)
    }

    /// Writes the file. A name without a known ending stays in the prompt.
    pub(super) fn save_email(&mut self, prompt: Prompt) {
        let name = prompt.text().trim();
        let Some(format) = ExportFormat::from_path(Path::new(name)) else {
            self.prompt = Some(prompt.reject()).filter(|prompt| !prompt.text().trim().is_empty());
            return;
        };
        let path = self.expand_home(name);
        if self.masks_opened_email() {
            self.open_question(Question::SaveUnmasked(path, format));
        } else {
            self.write_email(path, format);
        }
    }

    /// Writes the open email, whose secrets a file has unmasked.
    pub(super) fn write_email(&mut self, path: PathBuf, format: ExportFormat) {
        let Some(email) = self.opened_email().cloned() else {
            return self.notify("the email is not loaded any more");
        };
        self.email_save.left_out = match format {
            ExportFormat::Eml => self.count_attachments(&email),
            _ => 0,
        };
        let zone = self.now.time_zone().clone();
        self.outbox.push(Effect::SaveEmail {
            request: self.email_save.request.start(),
            path,
            format,
            email,
            confirmed_at: self.list.selected().and_then(|row| row.confirmed_at),
            zone,
        });
    }

    /// Returns the path of a typed name, where `~/` is the home folder.
    pub(super) fn expand_home(&self, name: &str) -> PathBuf {
        match (name.strip_prefix("~/"), &self.session.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(name),
        }
    }

    /// Formats `before`, the path of a written file and `after` for a notice:
    /// `~/` is the home folder, and the end of a long name of a folder is cut off.
    pub(super) fn format_written(&self, before: &str, path: &Path, after: &str) -> String {
        let home = self.session.home.as_ref();
        let path = match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        };
        let (folder, name) = path.split_at(path.rfind('/').unwrap_or(0));
        let free = usize::from(self.size.width).saturating_sub(before.width() + after.width() + 2);
        let columns = free.saturating_sub(name.width());
        // A key shows the whole of a notice that is wider than the screen.
        if self.session.is_linear || columns < 2 {
            return format!("{before}{path}{after}");
        }
        format!("{before}{}{name}{after}", truncate(folder, columns, "…"))
    }

    pub(super) fn apply_email_saved(
        &mut self,
        request: RequestId,
        result: Result<PathBuf, String>,
    ) {
        if self.email_save.request.finish(request) {
            self.unwritten_path.take_if(|_| result.is_ok());
            let note = match self.email_save.left_out {
                0 => ", unmasked".to_owned(),
                1 => self.with_hint(
                    ", unmasked, without its attachment",
                    Command::Attachments,
                    "saves it",
                ),
                many => self.with_hint(
                    &format!(", unmasked, without its {many} attachments"),
                    Command::Attachments,
                    "saves them",
                ),
            };
            let result = result
                .map(|path| self.format_written("saved as ", &path, &note))
                .map_err(|reason| Error::new(ErrorKind::Io, format!("not saved: {reason}")));
            self.notify_end(result);
        }
    }
}

/// The email as the input of a shell command.
impl Model {
    pub(super) fn open_pipe_prompt(&mut self) {
        self.open_prompt(PromptKind::Pipe, "");
    }

    /// Runs the command, or asks first what it gets if the body has secrets that are
    /// masked.
    pub(super) fn pipe_email(&mut self, prompt: &Prompt) {
        let command = prompt.text().trim().to_owned();
        let ReaderState::Ready(opened, Some(body)) = self.reader_state() else {
            return self.notify(self.describe_not_loaded());
        };
        if command.is_empty() {
            return;
        }
        let has_secrets = body.has_secrets;
        let piped = PipedCommand {
            command,
            email: opened.email.clone(),
            body_view: self.reader.body_view,
            width: self.reader.width(),
            masked: self.reader.secrets.are_masked(),
        };
        if piped.masked && has_secrets {
            self.open_question(Question::Pipe(piped));
        } else {
            self.emit(LoopEffect::RunCommand(piped));
        }
    }

    pub(super) fn apply_command_ended(
        &mut self,
        command: &str,
        input_len: u64,
        result: Result<String, String>,
    ) {
        /// The start of a longer command is enough to know it.
        const MAX_COLUMNS: usize = 30;
        let command = truncate(command, MAX_COLUMNS, "...");
        let input = plural(input_len, "character");
        let result = result
            .map(|status| format!("{command}: {status}; its input was the body, {input}"))
            .map_err(|reason| Error::new(ErrorKind::Io, format!("{command}: {reason}")));
        self.notify_end(result);
    }
}

impl ClipboardText {
    fn describe(&self) -> String {
        let length = self.text.graphemes(true).count() as u64;
        format!("copied: {}, {}", self.label, plural(length, "character"))
    }
}

/// Writes a time in `zone` and in UTC: `2026-11-21 21:30 CET (20:30 UTC)`.
fn in_two_zones(at: Timestamp, zone: &TimeZone) -> String {
    let (local, utc) = (at.to_zoned(zone.clone()), at.to_zoned(TimeZone::UTC));
    let text = local.strftime("%Y-%m-%d %H:%M %Z").to_string();
    if local.offset() == utc.offset() {
        return text;
    }
    let form = if local.date() == utc.date() {
        "%H:%M UTC"
    } else {
        "%Y-%m-%d %H:%M UTC"
    };
    format!("{text} ({})", utc.strftime(form))
}

fn curl_command(session: &SessionInfo, id: &str) -> String {
    let segments = [session.mailbox.path(), &[id]].concat();
    let url = BaseUrl::parse(&session.base_url).map_or_else(
        |_| session.base_url.clone(),
        |base_url| base_url.join_segments(&segments).to_string(),
    );
    let url = shell_word(&url);
    let variable = session.key_variable.as_deref().unwrap_or("SENTBOX_API_KEY");
    format!("curl -H \"Authorization: Bearer ${variable}\" {url}")
}
