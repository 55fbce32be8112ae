//! What each command does to the model.

use super::command::{Command, Direction, Motion};
use super::effect::{Effect, Effects};
use super::filter::Filter;
use super::key::{self, Focus, Key};
use super::keymap::KeyMatch;
use super::layout::PaneSettings;
use super::model::{ExitReason, Model};
use super::prompt::{Prompt, PromptKind};
use super::reader::ReaderState;
use super::start::{LoginForm, StorageMode};
use crate::error::Error;
use crate::render::BodyView;

impl Model {
    pub(super) fn handle_key(&mut self, key: Key) -> Effects {
        self.notice = None;
        self.user_acted = true;
        self.freshness.record_activity(self.now.timestamp());
        if let (Some(letter), Focus::Prompt) = (key.typed_char(), self.focus()) {
            return self.insert_text(letter.encode_utf8(&mut [0; 4]));
        }
        self.pending_keys.push(key);
        match self.keymap.find_match(self.focus(), &self.pending_keys) {
            KeyMatch::Prefix => Effects::new(),
            KeyMatch::Command(command) => {
                self.pending_keys.clear();
                self.dispatch(command)
            }
            KeyMatch::Unbound if self.focus() == Focus::Prompt => {
                self.pending_keys.clear();
                Effects::new()
            }
            KeyMatch::Unbound => {
                let pressed = key::format_sequence(&std::mem::take(&mut self.pending_keys));
                let shows = self
                    .keymap
                    .key_for(self.focus(), Command::Help)
                    .map(|key| format!("; {key} shows the keys"))
                    .unwrap_or_default();
                self.notice = Some(format!("{pressed} does nothing here{shows}"));
                Effects::new()
            }
        }
    }

    pub(super) fn dispatch(&mut self, command: Command) -> Effects {
        let height = self.list_height();
        let mut effects = Effects::new();
        match command {
            Command::MoveSelection(step) => {
                if matches!(step, Motion::First | Motion::Last) {
                    self.history.push(self.history_entry());
                }
                effects.extend(self.list.move_selection(step, height));
                if step == Motion::Last && self.list.filter().is_empty() && self.service.has_older()
                {
                    self.notice = Some(
                        "the oldest email fetched so far; older ones are being fetched".to_owned(),
                    );
                } else if step == Motion::Last && self.may_find_older() {
                    self.notice = Some(
                        "the oldest email found so far; below it, Enter looks further back"
                            .to_owned(),
                    );
                }
            }
            Command::Scroll(step) => self.scroll(step),
            Command::Pan(side) => {
                if !self.reader.has_wide_block() {
                    self.notice = Some("nothing here is wider than the screen".to_owned());
                }
                self.reader.pan_blocks(side);
            }
            Command::Open
                if (self.list.is_on_load_more_row() || self.has_no_results())
                    && self.resume_status_check() => {}
            Command::Open if self.list.is_on_load_more_row() || self.has_no_results() => {
                effects.extend(self.start_load_older());
            }
            Command::Open => {
                effects.extend(self.open_email());
                effects.extend(self.confirm_opened_email());
            }
            Command::Back => match self.close_layer() {
                Some(asked) => effects.extend(asked),
                None => self.exit = Some(ExitReason::Quit),
            },
            Command::CloseLayer => match self.close_layer() {
                Some(asked) => effects.extend(asked),
                None => self.notice = Some("nothing to go back from; q leaves".to_owned()),
            },
            Command::NextEmail => effects.extend(self.step_email(Motion::Down)),
            Command::PreviousEmail => effects.extend(self.step_email(Motion::Up)),
            Command::SwitchPane if self.reader_open => {
                self.reader_open = false;
                self.panes.full_reader = false;
            }
            Command::SwitchPane => effects.extend(self.open_email()),
            Command::FullReader => {
                self.panes.full_reader = !self.panes.full_reader;
                if self.panes.full_reader {
                    effects.extend(self.open_email());
                }
            }
            Command::CycleLayout => {
                let next = self.layout().arrangement.next();
                self.panes = PaneSettings {
                    arrangement: Some(next),
                    ..PaneSettings::default()
                };
            }
            Command::ResizeSplit(Direction::Left) => {
                self.panes.divider_shift = self.panes.divider_shift.saturating_sub(2)
            }
            Command::ResizeSplit(Direction::Right) => {
                self.panes.divider_shift = self.panes.divider_shift.saturating_add(2)
            }
            Command::GoToMatch(side) => {
                self.notice = Some(self.reader.go_to_match(side, self.list.selected()));
            }
            Command::NextView => effects.extend(self.cycle_view(1)),
            Command::PreviousView => effects.extend(self.cycle_view(BodyView::ALL.len() - 1)),
            Command::ShowView(view) => {
                effects.extend(self.reader.show_view(view, self.list.selected()));
            }
            Command::FoldHeader => self.reader.toggle_header_fold(self.list.selected()),
            Command::GoToDate => {
                self.prompt = Some(Prompt::new(PromptKind::Date, "", self.history_entry()))
            }
            Command::Filter => effects.push(self.open_filter_prompt()),
            Command::FilterBy(cell) => effects.extend(self.filter_by(cell)),
            Command::RecipientSummary => effects.extend(self.show_recipient_card()),
            Command::ShowSavedView(number) => effects.extend(self.show_saved_view(number)),
            Command::SavedViews => self.open_view_chooser(),
            Command::SaveView => self.open_save_view_prompt(),
            Command::DeleteView => effects.extend(self.delete_view()),
            Command::Find => self.open_find_prompt(),
            Command::Undo => effects.extend(self.undo(Direction::Left)),
            Command::Redo => effects.extend(self.undo(Direction::Right)),
            Command::History(side) => effects.extend(self.go_history(side)),
            Command::LoadOlder => effects.extend(self.start_load_older()),
            Command::Stop => self.stop_fetching(),
            Command::Accept if self.is_form_open() => effects.extend(self.log_in()),
            Command::Cancel if self.is_form_open() => {
                self.close_start_layer();
            }
            Command::CycleSuggestion(_) if self.is_form_open() => {
                self.edit_form_with(LoginForm::next_field)
            }
            Command::Edit(edit) if self.is_form_open() => self.edit_form(edit),
            Command::RecallFilter(_) if self.is_form_open() => {}
            Command::Profiles => effects.push(self.open_profile_chooser()),
            Command::MoveChoice(side) if self.is_choosing_view() => self.move_view_choice(side),
            Command::Confirm if self.is_choosing_view() => effects.extend(self.confirm_view()),
            Command::MoveChoice(side) => self.move_choice(side),
            Command::Confirm => effects.extend(self.confirm_choice()),
            Command::Accept => effects.extend(self.accept_prompt()),
            Command::Cancel => effects.extend(self.cancel_prompt()),
            Command::CycleSuggestion(side) => effects.extend(self.cycle_suggestion(side)),
            Command::RecallFilter(side) => effects.extend(self.recall_filter(side)),
            Command::Edit(edit) => effects.extend(self.edit_prompt(edit)),
            Command::Refresh => {
                effects.extend(self.service.request_manual_refresh());
                self.freshness.force_confirm(self.now.timestamp());
                self.restart_status_check();
                if self.reader.has_failed() {
                    effects.extend(self.reader.reload());
                }
                if self.list.error().is_some() {
                    effects.extend(self.list.reload());
                }
                self.announce_refresh = self.service.is_refreshing();
                let asking = self
                    .announce_refresh
                    .then(|| "asking the service".to_owned());
                self.notice = self
                    .service
                    .unavailable()
                    .map(|failure| failure.message.clone())
                    .or(asking);
            }
            Command::FullTimes => self.full_times = !self.full_times,
            Command::ToggleMouse => {
                self.mouse = !self.mouse;
                let words = if self.mouse {
                    "the mouse moves and scrolls here"
                } else {
                    "the mouse selects text; M takes it back"
                };
                self.notice = Some(words.to_owned());
            }
            Command::ErrorDetails => {
                self.error_details = self.current_error().cloned();
                if self.error_details.is_none() {
                    self.notice = Some(match self.freshness.due_count {
                        0 => "nothing has failed".to_owned(),
                        due => {
                            format!("nothing has failed; {due} statuses are due to be read again")
                        }
                    });
                }
            }
            Command::Help => {
                self.error_details = None;
                self.help = if self.help.is_some() { None } else { Some(0) };
            }
            Command::Redraw => self.redraw_requests += 1,
            Command::Suspend => self.suspend_requests += 1,
            Command::Quit => self.exit = Some(ExitReason::Quit),
        }
        effects
    }

    /// Peels one layer: help, the list of views, what is looked for in the email, the reader on the
    /// whole screen, the reader, looking back, the card, the filter. `None` if there is none.
    fn close_layer(&mut self) -> Option<Effects> {
        if self.error_details.take().is_some() || self.help.take().is_some() {
            return Some(Effects::new());
        }
        if self.start_screen.is_some() {
            return self.close_start_layer().then(Effects::new);
        }
        if self.view_chooser.take().is_some()
            || (self.reader_open && self.reader.clear_find())
            || std::mem::take(&mut self.panes.full_reader)
            || std::mem::take(&mut self.reader_open)
        {
            return Some(Effects::new());
        }
        if self.load_older.is_some() {
            self.stop_fetching();
            return Some(Effects::new());
        }
        if self.recipient_card.is_some() {
            return Some(self.close_recipient_card());
        }
        (!self.list.filter().is_empty()).then(|| self.show_filter(Filter::default()))
    }

    /// Whether the filter lets nothing through of what is known.
    fn has_no_results(&self) -> bool {
        !self.list.filter().is_empty() && self.list.rows().is_empty() && !self.list.is_loading()
    }

    /// What failed last, nearest to what is looked at first.
    fn current_error(&self) -> Option<&Error> {
        let read = match self.reader_state() {
            ReaderState::Failed(failure) => Some(failure),
            ReaderState::Empty
            | ReaderState::Debouncing
            | ReaderState::Loading
            | ReaderState::Ready(..) => None,
        };
        let service = self.service.unavailable().or(self.service.error());
        let unkept = if let StorageMode::Unavailable(failure) | StorageMode::ReadOnly(failure) =
            &self.storage
        {
            Some(failure)
        } else {
            None
        };
        read.or(service).or(self.list.error()).or(unkept)
    }

    pub(super) fn open_email(&mut self) -> Option<Effect> {
        let Some(row) = self.list.selected() else {
            self.notice = Some("there is no email to read yet".to_owned());
            self.panes.full_reader = false;
            return None;
        };
        self.reader_open = true;
        let id = row.summary.id.clone();
        self.list.clear_anchor();
        self.reader.select_email(Some(&id), true)
    }

    fn step_email(&mut self, step: Motion) -> Effects {
        let height = self.list_height();
        let before = self.list.selected().map(|row| row.summary.id.clone());
        let mut effects: Effects = self.list.move_selection(step, height).into_iter().collect();
        let after = self.list.selected().map(|row| row.summary.id.clone());
        if before == after {
            self.notice = Some(
                if step == Motion::Up {
                    "this is the newest email"
                } else {
                    "this is the oldest email here"
                }
                .to_owned(),
            );
        }
        effects.extend(self.reader.select_email(after.as_ref(), false));
        effects
    }

    fn cycle_view(&mut self, by: usize) -> Option<Effect> {
        let now = BodyView::ALL
            .iter()
            .position(|view| *view == self.reader.view())
            .unwrap_or(0);
        self.reader.show_view(
            BodyView::ALL[(now + by) % BodyView::ALL.len()],
            self.list.selected(),
        )
    }

    pub(super) fn scroll(&mut self, step: Motion) {
        let Some(scroll) = self.help else {
            self.reader.scroll_by(step, self.list.selected());
            return;
        };
        let page = usize::from(self.size.height.max(6)) - 5;
        let moved = match step {
            Motion::Down => scroll + 1,
            Motion::Up => scroll.saturating_sub(1),
            Motion::HalfDown => scroll + page / 2,
            Motion::HalfUp => scroll.saturating_sub(page / 2),
            Motion::PageDown => scroll + page,
            Motion::PageUp => scroll.saturating_sub(page),
            Motion::First => 0,
            Motion::Last => usize::MAX,
        };
        self.help = Some(
            moved.min(
                super::help::help_lines(&self.keymap)
                    .len()
                    .saturating_sub(page),
            ),
        );
    }
}
