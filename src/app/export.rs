//! Exports the marked emails, or what the filter shows:
//! format, file, question, progress.
//!
//! The export runs batch by batch in the background ([`crate::export`] writes the files), so that
//! it can be stopped after each. What is written whole is written after a question.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use super::chooser::{Answer, Answers, Chooser, ChooserItem, ChooserKind, Leave, Question};
use super::commands::{Command, require};
use super::effect::{Effect, Pending, RequestId};
use super::model::Model;
use super::prompt::{Prompt, PromptKind};
use super::service::state::NO_ANSWER_AFTER;
use crate::api::Priority;
use crate::error::{Error, ErrorKind, Result};
use crate::export::{ExportJob, ExportPlan, ExportProgress, ExportScope, NOT_EXPORTED, SetFormat};
use crate::text::format::{group_digits, plural};
use crate::text::width::DisplayWidth as _;

/// The most bodies that one export requests.
/// More are the work of `sentbox sync --bodies`.
const MAX_REQUESTS: u64 = 5_000;

/// The export that is planned or running.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExportState {
    plan_request: Pending<()>,
    /// The export that the next question to the user is about.
    question: Option<(ExportJob, ExportPlan)>,
    pub running: Option<RunningExport>,
    /// The running export as it was requested, or one that has ended early.
    unfinished: Option<ExportJob>,
    step_request: Pending<()>,
}

/// An export that is being written.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningExport {
    job: Arc<ExportJob>,
    plan: ExportPlan,
    progress: ExportProgress,
    /// Whether it ends after the batch that is being written.
    is_stopping: bool,
    /// When its last step was requested.
    step_started: Timestamp,
}

impl ExportState {
    /// Whether the emails are being counted.
    pub const fn is_planning(&self) -> bool {
        self.plan_request.is_pending()
    }

    /// Whether an export requests bodies from the service.
    pub fn is_retrieving(&self) -> bool {
        self.running.as_ref().is_some_and(|run| run.job.retrieves)
    }

    /// Describes a running export, which ends with the program, and its file.
    /// Its last batch may still be written.
    pub(super) fn describe_unfinished(&self) -> Option<String> {
        let running = self.running.as_ref()?;
        let done = group_digits(running.progress.done, ' ');
        let (total, path) = (running.plan.total(), running.job.path.display());
        Some(format!(
            "the export was stopped after about {done} of {total}; what is written is in {path}"
        ))
    }

    /// Whether the batch is still needed. A cancelled one ends before its next request.
    pub fn is_step_current(&self, request: RequestId) -> bool {
        self.step_request.is_current(request)
            && self.running.as_ref().is_some_and(|run| !run.is_stopping)
    }
}

impl RunningExport {
    /// Formats what went where, what did not, and how to go on:
    /// `retry` after a failed request, `stopped` after a stop.
    fn describe_end(&self, retry: &str, stopped: &str) -> String {
        let ExportProgress {
            written,
            failed,
            without_body,
            first_failure,
            service_error,
            error,
            ..
        } = &self.progress;
        let path = if self.progress.is_complete() {
            self.job.target().display()
        } else {
            self.job.path.display()
        };
        let is_whole = !self.is_stopping && *failed == 0 && error.is_none();
        let count = if is_whole {
            plural(*written, "email")
        } else {
            format!("{} of {}", group_digits(*written, ' '), self.plan.total())
        };
        if let Some(error) = error {
            return format!("export failed after {count}: {error}");
        }
        let masks = match self.job.format {
            SetFormat::Csv if self.job.secrets.are_masked() => ", codes masked",
            SetFormat::Csv => "",
            _ => ", unmasked",
        };
        let mut parts = Vec::new();
        if self.is_stopping {
            parts.push(stopped.to_owned());
        }
        parts.push(if is_whole {
            format!("exported {count} to {path}{masks}")
        } else {
            format!("exported {count}")
        });
        if let Some(error) = service_error {
            parts.push(format!("{error}{retry}"));
        }
        if *without_body > 0 {
            let without = group_digits(*without_body, ' ');
            parts.push(format!("{without} without body"));
        }
        match (self.job.format, *failed, first_failure) {
            (_, 0, _) | (.., None) => {}
            (SetFormat::Files(_), ..) => parts.push(format!("{NOT_EXPORTED} lists {failed}")),
            (_, 1, Some(failure)) => parts.push(format!("not {failure}")),
            (_, _, Some(failure)) => parts.push(format!("{failed} not, first {failure}")),
        }
        if !is_whole {
            // On a narrow screen, what is missing is worth more than the path.
            parts.push(format!("in {path}{masks}"));
        }
        parts.join("; ")
    }
}

impl ExportPlan {
    /// The question before the export.
    pub(super) fn question(&self, format: SetFormat) -> String {
        let more = if self.is_capped { "more than " } else { "" };
        let (count, format) = (plural(self.emails, "email"), format.label());
        format!("Export {more}{count} as {format}, codes unmasked?")
    }
}

impl Model {
    pub(super) fn check_export(&self) -> Result<(), String> {
        if self.export.running.is_some() || self.export.is_planning() {
            return Err(self.with_hint("an export is running", Command::Stop, "stops it"));
        }
        let window = self.list.window.value();
        let is_any = !self.marks.is_empty()
            || window.is_some_and(|window| window.matching().next().is_some());
        require(is_any, "there is no email to export")
    }

    /// Lets the user choose a format: first that of an export that has ended early.
    pub(super) fn open_export_formats(&mut self) {
        let unfinished = self.export.unfinished.as_ref();
        let is_its_format = |it: &SetFormat| unfinished.is_some_and(|job| job.format == *it);
        let chosen = SetFormat::ALL.iter().position(is_its_format);
        self.chooser = Some(Chooser::new(
            ChooserKind::ExportFormat,
            chosen.unwrap_or_default(),
        ));
    }

    /// Closes the list of formats, or the prompt for the file, if one is open.
    pub(super) fn close_export_dialog(&mut self) {
        let prompt = self.prompt.as_ref().map(|prompt| prompt.kind);
        if matches!(prompt, Some(PromptKind::Export(_))) {
            self.cancel_prompt();
        }
        if self.chooser_kind() == Some(&ChooserKind::ExportFormat) {
            self.chooser = None;
        }
    }

    pub(super) fn export_title(&self) -> String {
        let what = match self.marks.len() as u64 {
            0 if self.list.filter.is_empty() => "all mail stored here".to_owned(),
            0 => "what the filter shows".to_owned(),
            marked => {
                let marked = group_digits(marked, ' ');
                let Some(outside) = self.describe_marks_outside() else {
                    return format!("Export the marked emails ({marked})");
                };
                let title = format!("Export the marked emails ({marked}, {outside})");
                // The margins of the list are two columns.
                if title.width() + 2 <= self.size.width.into() {
                    return title;
                }
                return format!("Export {marked} marked, {outside}");
            }
        };
        let more = if self.list.is_capped {
            "more than "
        } else {
            ""
        };
        let count = self.list.total.map_or_else(String::new, |total| {
            format!(" ({more}{})", group_digits(total, ' '))
        });
        let title = format!("Export {what}{count}");
        let note = "; nothing is marked";
        // The margins of the list are two columns.
        if title.width() + note.width() + 2 <= self.size.width.into() {
            title + note
        } else {
            title
        }
    }

    pub(super) fn export_format_items() -> Vec<ChooserItem> {
        let item = |(index, format): (usize, SetFormat)| {
            let detail = match format {
                SetFormat::Files(_) => "a new folder, a file for each email",
                SetFormat::Text => "one file with all, to read or print",
                SetFormat::Json => "one file, a list with every field",
                SetFormat::JsonLines => "one email a line, for sentbox import",
                SetFormat::Csv => "one file without bodies, codes masked",
            };
            ChooserItem::new((index + 1).to_string(), format.label(), detail)
        };
        SetFormat::ALL.into_iter().enumerate().map(item).collect()
    }

    /// Asks for the name of the file or the folder.
    pub(super) fn open_export_prompt(&mut self, format: SetFormat) {
        self.chooser = None;
        let mut name = self.now.strftime("emails-%Y-%m-%d-%H%M%S").to_string();
        if let Some(extension) = format.extension() {
            name = format!("{name}.{extension}");
        }
        if let Some(job) = self
            .export
            .unfinished
            .as_ref()
            .filter(|job| job.format == format)
        {
            name = job.target().display().to_string();
        }
        self.open_path_prompt(PromptKind::Export(format), name);
    }

    /// Counts what is to be exported, before anything is written.
    pub(super) fn plan_export(&mut self, prompt: &Prompt, format: SetFormat) {
        let name = prompt.text().trim();
        if name.is_empty() {
            return;
        }
        let scope = if self.marks.is_empty() {
            ExportScope::Query(self.list.filter.query().clone())
        } else {
            ExportScope::Emails(self.marks.ids().cloned().collect())
        };
        // Without a slash at its end.
        let target: PathBuf = self.expand_home(name).components().collect();
        let job = ExportJob {
            scope,
            format,
            path: target.with_added_extension("part"),
            target: Some(target),
            zone: self.now.time_zone().clone(),
            secrets: self.session.secrets,
            retrieves: false,
            attaches: false,
            continues: false,
        };
        let continues = self.export.unfinished.as_ref() == Some(&job);
        let job = ExportJob { continues, ..job };
        let request = self.export.plan_request.start();
        self.outbox.push(Effect::PlanExport(request, job));
    }

    /// Starts the export, or shows a question first if it contains bodies.
    pub(super) fn apply_export_plan(
        &mut self,
        request: RequestId,
        result: Result<(ExportJob, ExportPlan)>,
    ) {
        if !self.export.plan_request.finish(request) {
            return;
        }
        match result {
            Err(error) => self.notify_failure(error.prefixed("not exported")),
            Ok((_, plan)) if plan.emails == 0 => self.notify("there is no email to export"),
            Ok((job, plan)) if !job.format.has_bodies() => self.start_export(job, plan),
            Ok(planned) => self.export.question = Some(planned),
        }
    }

    /// Shows the question before an export, as soon as nothing else is being typed or
    /// chosen.
    pub(super) fn show_export_question(&mut self) {
        if self.is_free_to_ask()
            && let Some((job, plan)) = self.export.question.take()
        {
            let retrieves = self.may_retrieve(&plan);
            self.open_question(Question::Export(ExportJob { retrieves, ..job }, plan));
        }
    }

    /// What the question before an export adds: that marks are not in the filter.
    pub(super) fn export_note(&self, job: &ExportJob) -> String {
        match job.scope {
            ExportScope::Emails(_) => self.describe_marks_outside().unwrap_or_default(),
            ExportScope::Query(_) => String::new(),
        }
    }

    /// The answers to the question before an export.
    pub(super) fn export_answers(&self, job: &ExportJob, plan: &ExportPlan) -> Answers {
        let mut answers = Vec::new();
        let requests = plan.retrievable;
        let can_retrieve = self.service.unavailable.is_none();
        if job.retrieves {
            let effort = self.format_effort(requests, Priority::Backfill);
            let detail = format!("{effort}, for bodies that are not stored");
            let item = ChooserItem::new("", "Retrieve and export", detail);
            answers.push((Answer::Yes, item));
        }
        let without = group_digits(plan.without_body, ' ');
        let all = group_digits(plan.emails, ' ');
        let mut detail = match (plan.without_body, job.format) {
            (0, _) => format!("to {}", job.target().display()),
            (_, SetFormat::Files(_)) => {
                format!("without {without} of {all}, whose bodies are not stored")
            }
            _ => format!("{without} of {all} without bodies, which are not stored"),
        };
        if can_retrieve && requests > MAX_REQUESTS {
            detail += "; sentbox sync --bodies retrieves them";
        }
        let label = match plan.without_body {
            0 => "Export",
            _ => "Export what is stored",
        };
        let back = ChooserItem::new("", "Back", "nothing is written");
        answers.push((Answer::Other, ChooserItem::new("", label, detail)));
        answers.push((Answer::No, back));
        answers
    }

    fn may_retrieve(&self, plan: &ExportPlan) -> bool {
        self.service.unavailable.is_none() && (1..=MAX_REQUESTS).contains(&plan.retrievable)
    }

    /// Opens the question about a running export or marks;
    /// false if there are none, or the question is open.
    pub(super) fn ask_to_leave(&mut self, leave: Leave) -> bool {
        let is_open = self.chooser.as_ref().is_some_and(is_about_leaving);
        if self.is_free_to_leave() || (is_open && self.start_screen.is_none()) {
            return false;
        }
        self.cancel_prompt();
        (self.start_screen, self.error_details) = (None, None);
        self.open_question(Question::Leave(leave));
        true
    }

    /// Whether nothing is lost with the session:
    /// no export is running, nothing is marked.
    pub(super) fn is_free_to_leave(&self) -> bool {
        self.export.running.is_none() && self.marks.is_empty()
    }

    /// Formats how far the running export is, and whether the service does not answer.
    pub fn export_progress(&self) -> Option<String> {
        let running = self.export.running.as_ref()?;
        let mut text = running.progress.describe(&running.plan);
        let waited = self.now.timestamp().duration_since(running.step_started);
        if running.job.retrieves && waited.unsigned_abs() >= NO_ANSWER_AFTER {
            text += ", waiting for the service";
        }
        Some(text)
    }

    pub(super) fn start_export(&mut self, job: ExportJob, plan: ExportPlan) {
        self.export.unfinished = Some(ExportJob {
            retrieves: false,
            continues: false,
            ..job.clone()
        });
        self.export.running = Some(RunningExport {
            job: Arc::new(ExportJob {
                scope: plan.scope.clone(),
                ..job
            }),
            plan,
            progress: ExportProgress::default(),
            is_stopping: false,
            step_started: self.now.timestamp(),
        });
        self.request_export_step();
    }

    fn request_export_step(&mut self) {
        let Some(running) = &mut self.export.running else {
            return;
        };
        running.step_started = self.now.timestamp();
        self.outbox.push(Effect::ExportBatch(
            self.export.step_request.start(),
            running.job.clone(),
            Box::new(running.progress.clone()),
        ));
    }

    pub(super) fn apply_export_step(&mut self, request: RequestId, progress: ExportProgress) {
        if !self.export.step_request.finish(request) {
            return;
        }
        let retry = self.with_hint("", Command::Export, "requests the rest");
        let stopped = self.with_hint("stopped", Command::Export, "begins it again");
        let Some(running) = &mut self.export.running else {
            return;
        };
        running.progress = progress;
        // After a stop that came with the last email, one more step completes the file.
        let has_more = running.plan.is_capped || running.progress.done < running.plan.emails;
        let is_stopped = running.is_stopping && has_more;
        if !running.progress.is_done && running.progress.error.is_none() && !is_stopped {
            return self.request_export_step();
        }
        // A stop that came after the last batch has stopped nothing.
        running.is_stopping &= !running.progress.is_done;
        let text = running.describe_end(&retry, &stopped);
        let is_unwritten = running.progress.error.is_some();
        let has_failed = is_unwritten || running.progress.service_error.is_some();
        // One that could only not be renamed is complete, and stays as it is.
        let is_left = !running.progress.is_done || running.progress.service_error.is_some();
        let can_continue = running.progress.has_started && is_left;
        self.export.unfinished.take_if(|_| !can_continue);
        self.unwritten_path
            .take_if(|_| !is_unwritten && !can_continue);
        if running.progress.requests > 0 {
            // The rows have bodies now.
            self.outbox.extend(self.list.reload());
        }
        self.export.running = None;
        self.chooser.take_if(|chooser| is_about_leaving(chooser));
        let result = if has_failed {
            Err(Error::new(ErrorKind::Io, text))
        } else {
            Ok(text)
        };
        self.notify_end(result);
    }

    /// Stops an export after the emails that it is writing; false if there is none.
    pub(super) fn stop_export(&mut self) -> bool {
        if self.export.is_planning() {
            self.export.plan_request.reset();
            self.notify("nothing is exported");
            return true;
        }
        let Some(running) = &mut self.export.running else {
            return false;
        };
        running.is_stopping = true;
        self.notify("stopping the export");
        true
    }
}

const fn is_about_leaving(chooser: &Chooser) -> bool {
    matches!(chooser.kind, ChooserKind::Question(Question::Leave(_)))
}
