//! The prompt: a line for typed text.
//! While it is open, characters are text and no commands.
//!
//! It reads filters, times, columns, words of the help, and names of files and views. While the
//! log-in form is open, keys go to the form (`start.rs`). `view/prompt.rs` draws.

use std::ops::Range;

use tui_input::{Input, InputRequest};

use super::commands::{Command, Motion, Side};
use super::effect::{Effect, RequestId};
use super::history::HistoryEntry;
use super::list::filter::Filter;
use super::model::Model;
use super::session::{MAX_FILTERS, StateRecord};
use super::start::LoginForm;
use crate::config::ListColumn;
use crate::export::SetFormat;
use crate::query::{Completion, query_of_pasted};
use crate::text::format::{first_chars, group_digits};
use crate::text::sanitize;

/// The purpose of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PromptKind {
    /// The filter of the list.
    Filter,
    /// The time to go to.
    Date,
    /// The columns of the list.
    Columns,
    /// The text to find in the email.
    Find,
    /// The number and the name of a view.
    SaveView,
    /// The name of the file for the email.
    SaveEmail,
    /// The name of the file or the folder for the attachment of this index.
    SaveAttachment(usize),
    /// The name of the file or the folder for a set of emails.
    Export(SetFormat),
    /// The command that reads the email.
    Pipe,
    /// Words of the help.
    Help,
}

/// The typed text, and the location before.
#[derive(Debug, Clone)]
pub struct Prompt {
    pub kind: PromptKind,
    input: Input,
    pub origin: HistoryEntry,
    /// The suggestion in the line, and the line and the cursor without it.
    suggestion: Option<(usize, String, usize)>,
    /// Whether the text was refused.
    pub is_rejected: bool,
    /// How far back in the history the line is from, and the line without it.
    recalled: Option<(usize, String)>,
    /// The selection in the help.
    pub help: HelpCursor,
}

/// The chosen line of the help, and the first visible one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HelpCursor {
    /// Always a line with keys.
    pub chosen: Option<usize>,
    pub(super) top: usize,
}

impl HelpCursor {
    /// Returns how many lines are above the visible ones,
    /// so that the chosen one is visible.
    pub fn top(self, height: usize) -> usize {
        match self.chosen {
            // With the title above the first command.
            Some(chosen) if chosen <= self.top => chosen.saturating_sub(1),
            Some(chosen) => self.top.max((chosen + 1).saturating_sub(height)),
            None => self.top,
        }
    }
}

/// The most characters of a prompt: hundreds of addresses.
/// More is an accidental paste.
const MAX_CHARS: usize = 20_000;

impl Prompt {
    fn new(kind: PromptKind, text: String, origin: HistoryEntry) -> Self {
        Self {
            kind,
            input: Input::new(text),
            origin,
            suggestion: None,
            is_rejected: false,
            recalled: None,
            help: HelpCursor::default(),
        }
    }

    pub fn text(&self) -> &str {
        self.input.value()
    }

    /// The byte position of the cursor in the text.
    pub fn cursor(&self) -> usize {
        first_chars(self.text(), self.input.cursor()).len()
    }

    /// The column of the cursor and the first visible column, at this width.
    pub fn cursor_columns(&self, width: usize) -> (usize, usize) {
        (
            self.input.visual_cursor(),
            self.input.visual_scroll(width.saturating_sub(1)),
        )
    }

    /// Marks the text as refused.
    pub fn reject(self) -> Self {
        Self {
            is_rejected: true,
            ..self
        }
    }

    /// Inserts text at the cursor, on one line and without control characters;
    /// false if it is too long.
    #[must_use]
    pub fn insert(&mut self, text: &str) -> bool {
        let (before, after) = self.text().split_at(self.cursor());
        let inserted = text
            .chars()
            .map(|c| if c.is_whitespace() { ' ' } else { c })
            .filter(|c| sanitize::is_safe_char(*c));
        let mut whole = before.to_owned();
        whole.extend(inserted);
        let cursor = whole.chars().count();
        whole.push_str(after);
        let fits = whole.chars().count() <= MAX_CHARS;
        if fits {
            self.input = Input::new(whole).with_cursor(cursor);
        }
        fits
    }

    /// The index of the suggestion in the line.
    pub fn chosen_suggestion(&self) -> Option<usize> {
        self.suggestion.as_ref().map(|(nth, ..)| *nth)
    }

    /// Puts the next or the previous suggestion into the line;
    /// past either end, the typed text.
    pub fn cycle_suggestion(&mut self, side: Side, suggestions: &[Completion]) {
        let (before, text, cursor) = match self.suggestion.take() {
            Some((nth, text, cursor)) => (Some(nth), text, cursor),
            None => (None, self.text().to_owned(), self.cursor()),
        };
        let next = match (before, side) {
            (None, Side::Right) => Some(0),
            (None, Side::Left) => suggestions.len().checked_sub(1),
            (Some(nth), Side::Right) => Some(nth + 1),
            (Some(nth), Side::Left) => nth.checked_sub(1),
        };
        match next.and_then(|nth| Some((nth, suggestions.get(nth)?))) {
            Some((nth, suggestion)) => {
                let Range { start, end } = suggestion.range.clone();
                self.replace_text(
                    format!("{}{}{}", &text[..start], suggestion.text, &text[end..]),
                    start + suggestion.text.len(),
                );
                self.suggestion = Some((nth, text, cursor));
            }
            None => self.replace_text(text, cursor),
        }
    }

    /// Keeps the suggestion as if it had been typed; returns whether there is one.
    pub fn accept_suggestion(&mut self) -> bool {
        self.recalled = None;
        self.is_rejected = false;
        self.suggestion.take().is_some()
    }

    /// Puts an earlier or a later filter of the history into the line.
    /// The history does not change while a prompt is open.
    pub fn recall_filter(&mut self, side: Side, history: &[String]) {
        let (back, typed) = self
            .recalled
            .take()
            .unwrap_or_else(|| (0, self.text().to_owned()));
        self.suggestion = None;
        let back = match side {
            Side::Left => (back + 1).min(history.len()),
            Side::Right => back.saturating_sub(1),
        };
        let text = if back == 0 {
            &typed
        } else {
            &history[history.len() - back]
        };
        self.replace_text(text.clone(), text.len());
        self.recalled = (back > 0).then_some((back, typed));
    }

    /// Replaces the whole text.
    fn replace_text(&mut self, text: String, cursor: usize) {
        let letters = text[..cursor].chars().count();
        self.input = std::mem::take(&mut self.input)
            .with_value(text)
            .with_cursor(letters);
    }

    pub fn edit(&mut self, edit: InputRequest) {
        self.input.handle(edit);
    }
}

impl Model {
    /// Opens a prompt that already has this text.
    pub(super) fn open_prompt(&mut self, kind: PromptKind, text: impl Into<String>) {
        self.prompt = Some(Prompt::new(kind, text.into(), self.history_entry()));
    }

    pub(super) fn open_columns_prompt(&mut self) {
        let columns: Vec<String> = self.columns().iter().map(ToString::to_string).collect();
        self.open_prompt(PromptKind::Columns, columns.join(" "));
    }

    /// Shows the typed columns until the program ends;
    /// the default if the line is empty.
    fn set_columns(&mut self, prompt: Prompt) {
        let text = prompt.text().trim();
        match ListColumn::parse_list(text) {
            Some(columns) => self.list.columns = columns,
            None if text.is_empty() => self.list.columns.clear(),
            None => return self.prompt = Some(prompt.reject()),
        }
        self.outbox.extend(self.list.reload());
    }

    /// The columns of the list between status and time.
    pub fn columns(&self) -> &[ListColumn] {
        match self.list.columns.as_slice() {
            [] => &ListColumn::DEFAULT,
            columns => columns,
        }
    }

    /// Opens the prompt with the current filter.
    /// A space at its end separates it from typed words, unless an operator still needs its value.
    pub(super) fn open_filter_prompt(&mut self) {
        let text = self.list.filter.text();
        // With more words, a list would be words that must all match.
        let mut text = query_of_pasted(text).unwrap_or_else(|| text.to_owned());
        if !text.is_empty() && !text.ends_with(':') {
            text.push(' ');
        }
        self.open_prompt(PromptKind::Filter, text);
        self.request_suggestions();
    }

    /// Opens the prompt for text in the email.
    /// The last search stays until the user types.
    pub(super) fn open_find_prompt(&mut self) {
        self.reader.find_from_here();
        self.open_prompt(PromptKind::Find, "");
    }

    fn request_suggestions(&mut self) {
        if let Some(prompt) = &self.prompt {
            self.outbox.push(Effect::LoadSuggestions {
                request: self.suggestions.start(),
                text: prompt.text().to_owned(),
                cursor: prompt.cursor(),
            });
        }
    }

    /// The suggestions at the cursor of the prompt.
    pub fn suggestions(&self) -> &[Completion] {
        self.suggestions
            .value()
            .map_or(&[], |suggestions| suggestions)
    }

    pub(super) fn apply_suggestions(&mut self, request: RequestId, suggestions: Vec<Completion>) {
        if self.prompt.is_some() {
            self.suggestions.resolve(request, Ok(suggestions));
        }
    }

    pub(super) fn cycle_suggestion(&mut self, side: Side) {
        if self.is_help_open() {
            return self.move_help(match side {
                Side::Right => Motion::Down,
                Side::Left => Motion::Up,
            });
        }
        if self.is_form_open() {
            self.edit_form_with(LoginForm::next_field);
            return;
        }
        if self.accepts_suggested_filter() {
            return self.accept_suggested_filter();
        }
        // Suggestions for an older text have other positions.
        let suggestions = self
            .suggestions
            .value()
            .filter(|suggestions| !self.suggestions.is_pending() && !suggestions.is_empty());
        let (Some(prompt), Some(suggestions)) = (&mut self.prompt, suggestions) else {
            return;
        };
        prompt.cycle_suggestion(side, suggestions);
        if prompt.kind == PromptKind::Filter {
            self.apply_prompt_filter();
        }
    }

    /// Whether the key of suggestions types the filter that may be meant:
    /// there is one, and no suggestion.
    pub fn accepts_suggested_filter(&self) -> bool {
        let mut prompt = self.prompt.iter();
        !self.suggestions.is_pending()
            && self.suggestions().is_empty()
            && prompt.any(|prompt| prompt.kind == PromptKind::Filter)
            && self.suggested_filter().is_some()
    }

    fn accept_suggested_filter(&mut self) {
        let filter = self.suggested_filter().map(|(filter, _)| filter);
        if let (Some(prompt), Some(filter)) = (&mut self.prompt, filter) {
            let text = filter.text().to_owned();
            prompt.replace_text(text.clone(), text.len());
            self.apply_prompt_change(true);
        }
    }

    pub(super) fn recall_filter(&mut self, side: Side) {
        let Some(prompt) = self
            .prompt
            .as_mut()
            .filter(|prompt| prompt.kind == PromptKind::Filter)
        else {
            return;
        };
        prompt.recall_filter(side, &self.session.saved.filters);
        self.apply_prompt_change(false);
    }

    /// Inserts pasted text; a filter gets the query that it means.
    pub(super) fn paste(&mut self, text: &str) {
        self.insert_text(text, query_of_pasted);
    }

    /// Inserts typed text, which may be a part of a list.
    pub(super) fn insert_typed(&mut self, text: &str) {
        self.insert_text(text, |_| None);
    }

    /// Inserts text; a filter gets what `join` makes of it.
    /// Without a prompt, pasted text is not taken for keys.
    fn insert_text(&mut self, text: &str, join: fn(&str) -> Option<String>) {
        if !self.is_help_open() && (self.is_form_open() || self.open_form()) {
            self.edit_form_with(|form| form.insert(text));
            return;
        }
        let Some(prompt) = &mut self.prompt else {
            self.notify_with("nothing to paste into", Command::Filter, "opens a prompt");
            return;
        };
        // An operator takes them as they are.
        let before = &prompt.text()[..prompt.cursor()];
        let is_value = before.ends_with(':');
        let is_filter = prompt.kind == PromptKind::Filter && !is_value;
        let terms = join(text).filter(|_| is_filter);
        // A minus negates what is right after it.
        let needs_space = !before.is_empty() && !before.ends_with(['-', '(', ' ']);
        let space = if needs_space { " " } else { "" };
        let terms = terms.map(|terms| format!("{space}{terms}"));
        if !prompt.insert(terms.as_deref().unwrap_or(text)) {
            let most = group_digits(MAX_CHARS as u64, ' ');
            return self.notify(format!(
                "too long: a prompt takes {most} characters at most"
            ));
        }
        if is_filter && terms.is_none() && text.trim().contains(['\n', '\r']) {
            self.notify(
                "the lines are one query, no alternatives: one of them is no address or number",
            );
        }
        self.apply_prompt_change(true);
    }

    pub(super) fn edit_prompt(&mut self, edit: InputRequest) {
        if self.is_form_open() {
            self.edit_form_with(|form| form.edit(edit));
            return;
        }
        if let Some(prompt) = &mut self.prompt {
            prompt.edit(edit);
        }
        self.apply_prompt_change(true);
    }

    /// Follows a changed text: typed, or recalled from the history.
    fn apply_prompt_change(&mut self, typed: bool) {
        let Some(prompt) = &mut self.prompt else {
            return;
        };
        if typed {
            prompt.accept_suggestion();
        }
        match prompt.kind {
            PromptKind::Filter => {
                self.apply_prompt_filter();
                self.request_suggestions();
            }
            PromptKind::Help => self.reset_help_cursor(),
            PromptKind::Find => self.reader.set_find_text(prompt.text()),
            // The others are read when they are accepted.
            _ => {}
        }
    }

    /// Applies the text to the list.
    fn apply_prompt_filter(&mut self) {
        let Some(prompt) = &self.prompt else {
            return;
        };
        let filter = Filter::parse(prompt.text(), &self.now);
        if filter.text() != self.list.filter.text() {
            self.forget_statistics_lines();
        }
        self.set_filter(filter);
    }

    /// Carries out the prompt by its kind.
    /// A filter stays open while an operator still needs its value.
    pub(super) fn accept_prompt(&mut self) {
        if self.is_form_open() {
            self.log_in();
            return;
        }
        let Some(mut prompt) = self.prompt.take() else {
            return;
        };
        match prompt.kind {
            PromptKind::Date => return self.go_to_date(prompt),
            PromptKind::Columns => return self.set_columns(prompt),
            PromptKind::SaveView => return self.save_view(prompt),
            PromptKind::SaveEmail | PromptKind::SaveAttachment(_) | PromptKind::Export(_) => {
                return self.write_file(prompt);
            }
            PromptKind::Pipe => return self.pipe_email(&prompt),
            PromptKind::Help => return self.run_chosen_command(prompt),
            PromptKind::Find => {
                if let (false, Err(reason)) = (prompt.text().is_empty(), self.check_matches()) {
                    self.notify(reason);
                }
                return;
            }
            PromptKind::Filter => {}
        }
        if prompt.accept_suggestion() && prompt.text()[..prompt.cursor()].ends_with(':') {
            self.prompt = Some(prompt);
            return self.request_suggestions();
        }
        self.suggestions.reset();
        self.record_history(prompt.origin);
        let text = self.list.filter.text().to_owned();
        let filters = &mut self.session.saved.filters;
        if text.is_empty() || filters.last() == Some(&text) {
            return;
        }
        filters.retain(|earlier| *earlier != text);
        filters.push(text.clone());
        let surplus = filters.len().saturating_sub(MAX_FILTERS);
        filters.drain(..surplus);
        self.save_state(vec![StateRecord::Filter(text)]);
    }

    pub(super) fn cancel_prompt(&mut self) {
        if self.is_form_open() {
            self.close_start_layer();
            return;
        }
        let Some(prompt) = self.prompt.take() else {
            return;
        };
        match prompt.kind {
            PromptKind::Filter => {
                self.suggestions.reset();
                self.set_filter(prompt.origin.filter);
            }
            PromptKind::Find => self.reader.cancel_find(),
            // The others have changed nothing yet.
            _ => {}
        }
    }
}
