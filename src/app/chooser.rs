//! Lists over the mail from which one item is chosen:
//! saved views, watched emails, links and attachments of the email, forms of an export, the answers
//! to a question.

use std::ops::Range;
use std::path::PathBuf;

use jiff::Timestamp;

use super::commands::Motion;
use super::effect::{ExitReason, LoopEffect, PipedCommand};
use super::model::Model;
use crate::api::Priority;
use crate::export::{ExportFormat, ExportJob, ExportPlan, SetFormat};
use crate::mail::Mailbox;
use crate::text::format::plural;

/// The lines of the title above the items.
const TITLE_LINES: usize = 2;

/// A list, and the index of the item that is selected.
#[derive(Debug, Clone, PartialEq)]
pub struct Chooser {
    pub kind: ChooserKind,
    pub selected: usize,
    /// The number that was typed last; a further digit may follow.
    typed: usize,
}

impl Chooser {
    pub(super) const fn new(kind: ChooserKind, selected: usize) -> Self {
        Self {
            kind,
            selected,
            typed: 0,
        }
    }
}

/// The contents of a list.
#[derive(Debug, Clone, PartialEq)]
pub enum ChooserKind {
    SavedViews,
    Watched,
    /// The lines of the statistics, which are drawn with bars.
    Statistics,
    /// The links of the body.
    Links,
    /// The actions for the link of this index.
    Link(usize),
    /// The attachments of the email.
    Attachments,
    /// The formats of an export.
    ExportFormat,
    /// The answers to a question.
    Question(Question),
}

/// A question before an action that sends requests, reveals secrets or loses work.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// To load mail back to a time, and to go to `jump_to`, in microseconds since 1970.
    LoadSince { start: Timestamp, jump_to: i64 },
    /// To fetch so many bodies that the filter searches.
    FetchBodies(u64),
    /// To mark all that is new or has changed as seen.
    MarkSeen,
    /// To delete the saved view of this number.
    DeleteView(u8),
    /// To refresh once although the service has asked to wait until this time.
    RefreshNow(Timestamp),
    /// To copy what is masked on the screen.
    CopyUnmasked(MaskedPart),
    /// To save the open email with what is masked on the screen.
    SaveUnmasked(PathBuf, ExportFormat),
    /// To mask what the command gets.
    Pipe(PipedCommand),
    /// To export what is not masked, and to retrieve bodies for it if the job does.
    Export(ExportJob, ExportPlan),
    /// To leave the running export or the marks, which ends them.
    Leave(Leave),
}

/// An answer to a question, or an action for a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Does what the question is about.
    Yes,
    /// Does it in another form: unmasked, or without retrieving.
    Other,
    No,
}

/// A part of the open email that is copied whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaskedPart {
    Json,
    /// The link of this index.
    Link(usize),
}

/// The texts of a question.
struct QuestionText {
    title: String,
    note: String,
    answers: Answers,
}

/// The lines of a question, each with what it does.
pub(super) type Answers = Vec<(Answer, ChooserItem)>;

/// Two answers that need no detail.
fn yes_or_no(yes: &str, no: &str) -> Answers {
    let item = |label| ChooserItem::new("", label, "");
    vec![(Answer::Yes, item(yes)), (Answer::No, item(no))]
}

/// An action that ends a running export, and removes marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    Quit,
    SwitchProfile,
    ShowMailbox(Mailbox),
}

impl Leave {
    const fn label(self) -> &'static str {
        match self {
            Self::Quit => "Quit",
            Self::SwitchProfile => "Switch profile",
            Self::ShowMailbox(Mailbox::Sent) => "Show sent mail",
            Self::ShowMailbox(Mailbox::Received) => "Show received mail",
        }
    }

    /// The answers; the first, which is selected, changes nothing.
    fn answers(self, keep: &str) -> Answers {
        let mut answers = yes_or_no(self.label(), keep);
        answers.reverse();
        answers
    }
}

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChooserItem {
    /// The key or the number before it.
    pub lead: String,
    pub label: String,
    pub detail: String,
}

impl ChooserItem {
    pub(super) fn new(
        lead: impl Into<String>,
        label: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            lead: lead.into(),
            label: label.into(),
            detail: detail.into(),
        }
    }
}

impl Model {
    /// Whether an item of a list is being chosen.
    pub const fn is_choosing(&self) -> bool {
        self.chooser.is_some() && self.start_screen.is_none()
    }

    /// The contents of the open list, if one is open.
    pub fn chooser_kind(&self) -> Option<&ChooserKind> {
        self.chooser.as_ref().map(|chooser| &chooser.kind)
    }

    /// Returns the title of the list.
    pub fn chooser_title(&self) -> String {
        let title = match self.chooser_kind() {
            None => "",
            Some(ChooserKind::SavedViews) => "Saved views",
            Some(ChooserKind::Watched) => "Watched emails",
            Some(ChooserKind::Statistics) => "Statistics",
            Some(ChooserKind::Links) => "Links of this email",
            Some(ChooserKind::Link(index)) => {
                let link = self.link(*index);
                return link.map_or_else(String::new, |link| self.shown_target(&link));
            }
            Some(ChooserKind::Attachments) => "Save an attachment of this email",
            Some(ChooserKind::ExportFormat) => return self.export_title(),
            Some(ChooserKind::Question(question)) => return self.question_text(question).title,
        };
        title.to_owned()
    }

    /// Returns the lines of the list; none if it is empty.
    pub fn chooser_items(&self) -> Vec<ChooserItem> {
        self.chooser_items_in(&(0..usize::MAX))
    }

    /// Returns the lines of the list;
    /// a link outside of `visible` has no detail, which costs most.
    pub fn chooser_items_in(&self, visible: &Range<usize>) -> Vec<ChooserItem> {
        let Some(kind) = self.chooser_kind() else {
            return Vec::new();
        };
        let items = |answers: Answers| answers.into_iter().map(|(_, item)| item).collect();
        match kind {
            ChooserKind::SavedViews => {
                let views = self.session.saved_views.iter();
                views
                    .map(|(number, view)| {
                        ChooserItem::new(number.to_string(), &view.name, &view.query)
                    })
                    .collect()
            }
            ChooserKind::Watched => self.watched_items(),
            ChooserKind::Statistics => self.statistics_choices(),
            ChooserKind::Links => {
                let body = self.body();
                let links = body.iter().flat_map(|body| &body.links).enumerate();
                links
                    .map(|(index, link)| self.link_item(index, link, visible))
                    .collect()
            }
            ChooserKind::Attachments => self.attachment_items(),
            ChooserKind::ExportFormat => Self::export_format_items(),
            ChooserKind::Link(index) => items(self.link_answers(*index)),
            ChooserKind::Question(question) => items(self.question_text(question).answers),
        }
    }

    /// Whether the open question is whether to quit, and no export would be stopped.
    pub(super) fn asks_to_quit(&self) -> bool {
        let quit = ChooserKind::Question(Question::Leave(Leave::Quit));
        self.is_choosing() && self.chooser_kind() == Some(&quit) && self.export_progress().is_none()
    }

    /// Whether nothing else is being typed or chosen, so that a question can be asked.
    pub(super) const fn is_free_to_ask(&self) -> bool {
        self.chooser.is_none() && self.prompt.is_none() && self.start_screen.is_none()
    }

    /// Shows a list with its first item selected.
    pub(super) fn open_chooser(&mut self, kind: ChooserKind) {
        self.chooser = Some(Chooser::new(kind, 0));
    }

    pub(super) fn open_question(&mut self, question: Question) {
        self.open_chooser(ChooserKind::Question(question));
    }

    /// Returns what a question is about, in the line below the title;
    /// empty for another list.
    pub fn chooser_note(&self) -> String {
        match self.chooser_kind() {
            Some(ChooserKind::Question(question)) => self.question_text(question).note,
            _ => String::new(),
        }
    }

    fn question_text(&self, question: &Question) -> QuestionText {
        match question {
            Question::LoadSince { start, .. } => QuestionText {
                title: format!("Load mail back to {}?", self.format_day(*start)),
                note: self.estimate_requests_since(*start).map_or_else(
                    || "it is not known how many requests this takes".to_owned(),
                    |requests| {
                        let effort = self.format_effort(requests, Priority::Interactive);
                        format!("about {effort}")
                    },
                ),
                answers: yes_or_no("Load it, then go there", "Go to the oldest loaded email"),
            },
            Question::FetchBodies(count) => QuestionText {
                title: format!(
                    "Fetch the bodies of {} that this filter may match?",
                    plural(*count, "email")
                ),
                note: self.format_effort(*count, Priority::Backfill),
                answers: yes_or_no("Fetch them, the newest first", "Fetch nothing"),
            },
            Question::MarkSeen => QuestionText {
                title: "Mark all that is new or has changed as seen?".to_owned(),
                note: "also what is not on the screen".to_owned(),
                answers: yes_or_no("Mark all as seen", "Change nothing"),
            },
            Question::DeleteView(number) => QuestionText {
                title: self.session.saved_views.get(number).map_or_else(
                    || format!("There is no view {number} any more"),
                    |view| format!("Delete {} ({})?", view.name, view.query),
                ),
                note: String::new(),
                answers: yes_or_no("Delete it for good", "Keep it"),
            },
            Question::RefreshNow(until) => QuestionText {
                title: format!(
                    "The service asked to wait until {}. Try now?",
                    self.format_until(*until)
                ),
                note: "one request; if it succeeds, sentbox does not wait any longer".to_owned(),
                answers: yes_or_no("Try once", "Wait"),
            },
            Question::CopyUnmasked(part) => QuestionText {
                title: match part {
                    MaskedPart::Json => "The JSON has a code or a single-use link".to_owned(),
                    MaskedPart::Link(_) => "The link works once".to_owned(),
                },
                note: "it is masked on the screen".to_owned(),
                answers: yes_or_no("Copy it whole", "Copy nothing"),
            },
            Question::SaveUnmasked(..) => QuestionText {
                title: "This email has a code or a single-use link".to_owned(),
                note: "a file has it unmasked".to_owned(),
                answers: yes_or_no("Save it whole", "Save nothing"),
            },
            Question::Pipe(_) => QuestionText {
                title: "This body has a code or a single-use link".to_owned(),
                note: String::new(),
                answers: [
                    (
                        Answer::Yes,
                        "Masked",
                        "the command gets what the screen shows",
                    ),
                    (
                        Answer::Other,
                        "Unmasked",
                        "the command gets codes and links, too",
                    ),
                    (Answer::No, "Back", "nothing is run"),
                ]
                .map(|(answer, label, detail)| (answer, ChooserItem::new("", label, detail)))
                .into(),
            },
            Question::Export(job, plan) => QuestionText {
                title: plan.question(job.format),
                note: self.export_note(job),
                answers: self.export_answers(job, plan),
            },
            Question::Leave(leave) if self.export.running.is_none() => QuestionText {
                title: format!(
                    "{} and remove the marks of {}?",
                    leave.label(),
                    plural(self.marks.len() as u64, "email")
                ),
                note: self.describe_marks_outside().unwrap_or_default(),
                answers: leave.answers("Keep the marks"),
            },
            Question::Leave(leave) => QuestionText {
                title: format!("{} and stop the running export?", leave.label()),
                note: self.export_progress().unwrap_or_default(),
                answers: leave.answers("Keep exporting"),
            },
        }
    }

    fn answer_question(&mut self, question: Question, answer: Answer) {
        self.chooser = None;
        match (question, answer) {
            (Question::LoadSince { start, jump_to }, Answer::Yes) => {
                self.start_load_since(start, jump_to);
            }
            (Question::LoadSince { jump_to, .. }, _) => self.jump_to_time(jump_to),
            (Question::RefreshNow(_), Answer::Yes) => {
                let refresh = self.service.request_refresh_now();
                self.outbox.push(refresh);
                self.notify("trying once");
            }
            (Question::MarkSeen, Answer::Yes) => self.acknowledge_changes(),
            (Question::DeleteView(number), answer) => {
                self.return_to_views(number);
                if answer == Answer::Yes {
                    self.delete_view(number);
                }
            }
            (Question::FetchBodies(count), Answer::Yes) => self.start_body_fetch(count),
            (Question::FetchBodies(_), _) => self.body_fetch.drop_count(),
            (Question::Leave(Leave::Quit), Answer::Yes) => {
                let stopped = self.export.describe_unfinished();
                let reason = stopped.map_or(ExitReason::Quit, ExitReason::ExportStopped);
                self.emit(LoopEffect::Exit(reason));
            }
            (Question::Leave(Leave::SwitchProfile), Answer::Yes) => self.show_profiles(),
            (Question::Leave(Leave::ShowMailbox(mailbox)), Answer::Yes) => {
                self.open_mailbox(mailbox);
            }
            (Question::CopyUnmasked(MaskedPart::Json), Answer::Yes) => self.copy_json(),
            (Question::CopyUnmasked(MaskedPart::Link(index)), answer) => {
                self.return_to_links(index);
                if answer == Answer::Yes {
                    self.copy_whole_link(index);
                }
            }
            (Question::SaveUnmasked(path, format), Answer::Yes) => self.write_email(path, format),
            (Question::Pipe(piped), Answer::Yes | Answer::Other) => {
                let masked = answer == Answer::Yes;
                self.emit(LoopEffect::RunCommand(PipedCommand { masked, ..piped }));
            }
            (Question::Export(job, plan), Answer::Yes) => self.start_export(job, plan),
            (Question::Export(job, plan), Answer::Other) => {
                let retrieves = false;
                self.start_export(ExportJob { retrieves, ..job }, plan);
            }
            (Question::Export(..), Answer::No) => self.notify("nothing is exported"),
            (
                Question::RefreshNow(_)
                | Question::MarkSeen
                | Question::Leave(_)
                | Question::CopyUnmasked(MaskedPart::Json)
                | Question::SaveUnmasked(..)
                | Question::Pipe(_),
                _,
            ) => {}
        }
    }

    pub(super) fn has_chooser_items(&self) -> bool {
        self.chooser_len() > 0
    }

    fn chooser_len(&self) -> usize {
        self.chooser_items_in(&(0..0)).len()
    }

    pub(super) fn select_in_chooser(&mut self, selected: usize) {
        if let Some(chooser) = &mut self.chooser {
            (chooser.selected, chooser.typed) = (selected, 0);
        }
    }

    /// Moves the selection in the list.
    pub(super) fn move_chooser(&mut self, motion: Motion) {
        let Some(chooser) = &self.chooser else {
            return;
        };
        let page = self.chooser_lines(self.layout().main.height);
        let page = page.saturating_sub(TITLE_LINES + 1);
        let last = self.chooser_len().saturating_sub(1);
        self.select_in_chooser(motion.apply(chooser.selected, page).min(last));
    }

    /// Whether a digit shows a saved view or selects an item.
    pub(super) fn check_number(&self, digit: u8) -> Result<(), String> {
        match self.numbered_chooser() {
            Some(chooser) if self.find_number(chooser, digit).is_none() => {
                Err(format!("no item has the number {digit}"))
            }
            Some(_) => Ok(()),
            None => self.check_saved_view(digit),
        }
    }

    /// Selects the item of a number, whose second digit this may be;
    /// without a list of items, shows a view.
    pub(super) fn press_number(&mut self, digit: u8) {
        let Some(chooser) = self.numbered_chooser() else {
            return self.show_saved_view(digit);
        };
        let found = self.find_number(chooser, digit);
        if let (Some(chooser), Some(found)) = (&mut self.chooser, found) {
            (chooser.selected, chooser.typed) = found;
        }
    }

    /// The open list, unless its numbers are those of views.
    fn numbered_chooser(&self) -> Option<&Chooser> {
        let chooser = self.chooser.as_ref().filter(|_| self.is_choosing());
        chooser.filter(|chooser| chooser.kind != ChooserKind::SavedViews)
    }

    /// The item of the number that ends with this digit, and that number.
    fn find_number(&self, chooser: &Chooser, digit: u8) -> Option<(usize, usize)> {
        let items = self.chooser_items_in(&(0..0));
        let digit = usize::from(digit);
        let numbers = [chooser.typed * 10 + digit, digit];
        numbers.into_iter().find_map(|number| {
            let lead = number.to_string();
            let index = items.iter().position(|item| item.lead == lead)?;
            Some((index, number))
        })
    }

    /// Keeps the selection on an item after one was removed; closes a list without any.
    pub(super) fn fit_chooser(&mut self) {
        match (self.chooser_len().checked_sub(1), &mut self.chooser) {
            (Some(last), Some(chooser)) => chooser.selected = chooser.selected.min(last),
            _ => self.chooser = None,
        }
    }

    /// Returns how many lines of the list are above a pane of this height,
    /// so that the selected one is in it.
    pub fn chooser_scroll(&self, height: u16) -> usize {
        self.chooser.as_ref().map_or(0, |chooser| {
            (chooser.selected + TITLE_LINES + 1).saturating_sub(self.chooser_lines(height))
        })
    }

    /// Returns how many lines of a pane of this height the title and the items may
    /// have.
    ///
    /// Most links are cut in their line: the selected one is in the rest of the pane.
    pub fn chooser_lines(&self, height: u16) -> usize {
        usize::from(if self.chooser_kind() == Some(&ChooserKind::Links) {
            height - height / 3
        } else {
            height
        })
    }

    /// Returns the items of which a pane of this height may show a line.
    pub fn visible_items(&self, height: u16) -> Range<usize> {
        let scroll = self.chooser_scroll(height);
        scroll.saturating_sub(TITLE_LINES)..scroll + self.chooser_lines(height)
    }

    /// Chooses the item in this line of a pane of this height, if one is there.
    /// The lines of the statistics are not items alone, so the mouse chooses none.
    pub(super) fn choose_at(&mut self, line: u16, height: u16) {
        if self.chooser_kind() == Some(&ChooserKind::Statistics) {
            return;
        }
        let line = usize::from(line);
        let index = (line + self.chooser_scroll(height)).checked_sub(TITLE_LINES);
        if let Some(index) = index.filter(|_| line < self.chooser_lines(height)) {
            self.choose_item(index);
        }
    }

    /// Selects an item, if there is one of this index, and runs its action.
    pub(super) fn choose_item(&mut self, index: usize) {
        if let Some(screen) = &mut self.start_screen {
            if index < screen.items(&self.session.target).len() {
                screen.selected = index;
                self.confirm_item();
            }
        } else if index < self.chooser_len() {
            self.select_in_chooser(index);
            self.confirm_chooser();
        }
    }

    /// Runs the action of the selected item.
    pub(super) fn confirm_chooser(&mut self) {
        let Some(Chooser { kind, selected, .. }) = self.chooser.clone() else {
            return;
        };
        let answer_at = |answers: &Answers| answers.get(selected).map(|(answer, _)| *answer);
        match kind {
            ChooserKind::SavedViews => {
                if let Some(number) = self.chosen_view() {
                    self.show_saved_view(number);
                }
            }
            ChooserKind::Watched => self.go_to_watched(selected),
            ChooserKind::Statistics => self.show_statistics_item(selected),
            // Over SSH no browser can be opened.
            ChooserKind::Links if self.session.browser.is_none() => self.copy_link(selected),
            ChooserKind::Links => {
                self.chooser = Some(Chooser::new(ChooserKind::Link(selected), 1));
            }
            ChooserKind::Link(index) => match answer_at(&self.link_answers(index)) {
                Some(Answer::Yes) => self.open_link(index),
                Some(Answer::Other) => self.copy_link(index),
                Some(Answer::No) | None => self.close_chooser(),
            },
            ChooserKind::Attachments => self.open_attachment_prompt(selected),
            ChooserKind::ExportFormat => {
                if let Some(format) = SetFormat::ALL.get(selected) {
                    self.open_export_prompt(*format);
                }
            }
            ChooserKind::Question(question) => {
                if let Some(answer) = answer_at(&self.question_text(&question).answers) {
                    self.answer_question(question, answer);
                }
            }
        }
    }

    /// Closes the list; a question about a link leads to the links.
    pub(super) fn close_chooser(&mut self) {
        match self.chooser.take().map(|chooser| chooser.kind) {
            Some(ChooserKind::Question(Question::FetchBodies(_))) => {
                self.body_fetch.drop_count();
            }
            Some(
                ChooserKind::Link(index)
                | ChooserKind::Question(Question::CopyUnmasked(MaskedPart::Link(index))),
            ) => self.return_to_links(index),
            Some(ChooserKind::Question(Question::DeleteView(number))) => {
                self.return_to_views(number);
            }
            _ => {}
        }
    }
}
