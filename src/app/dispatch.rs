//! From keys to commands, and the commands that belong to no other part
//! of the model.

use crossterm::event::{KeyCode, KeyModifiers};

use super::chooser::{ChooserKind, Leave, Question};
use super::commands::keymap::{Key, KeyMatch, format_sequence};
use super::commands::{Command, Focus, Motion, Side, require};
use super::effect::{Effect, ExitReason, LoopEffect};
use super::layout::Arrangement;
use super::model::Model;
use super::notice::NoticeKind;
use super::prompt::PromptKind;
use super::reader::email_load::LoadTime;
use crate::mail::Mailbox;
use crate::query::SortOrder;
use crate::render::BodyView;

/// A layer above the list of all mail, which is closed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    ErrorDetails,
    StartScreen,
    Chooser,
    /// The text search in an email.
    Find,
    FullReader,
    Reader,
    MarkRange,
    OlderSearch,
    RecipientCard,
    Filter,
    Received,
}

impl Model {
    pub(super) fn handle_key(&mut self, key: Key) {
        self.mouse.last_click = None;
        let found = self.session.keymap.find_match(self.focus(), &[key]);
        let quits = found == KeyMatch::Command(Command::Quit);
        if !std::mem::take(&mut self.banner).is_empty() && !quits {
            return;
        }
        let shows_details = found == KeyMatch::Command(Command::ErrorDetails);
        if let Some(text) = self.wide_notice().filter(|_| shows_details)
            && self.failure_notice().is_none()
        {
            self.banner = vec![text.to_owned(), "(any key closes this)".to_owned()];
            return self.note_activity();
        }
        let lasting_notice = self.take_lasting_notice(found);
        self.note_activity();
        self.notice = lasting_notice;
        if let (Some(letter), Focus::Prompt) = (key.typed_char(), self.focus()) {
            self.insert_typed(letter.encode_utf8(&mut [0; 4]));
            return;
        }
        self.pending_keys.push(key);
        match self
            .session
            .keymap
            .find_match(self.focus(), &self.pending_keys)
        {
            KeyMatch::Prefix => {}
            // The next key belongs to it, and must not act alone.
            KeyMatch::Unbound if self.is_prefix_in_other_pane() => {}
            KeyMatch::Command(command) => {
                self.pending_keys.clear();
                self.dispatch(command);
            }
            KeyMatch::Unbound => {
                let keys = std::mem::take(&mut self.pending_keys);
                let pressed = format_sequence(&keys);
                let is_canceled =
                    keys.len() > 1 && key == Key::new(KeyCode::Esc, KeyModifiers::NONE);
                if let Some(letter) = key.typed_char().filter(|_| self.open_form()) {
                    self.insert_typed(letter.encode_utf8(&mut [0; 4]));
                } else if self.focus() != Focus::Prompt && !is_canceled {
                    self.report_unbound(&pressed, &keys);
                }
            }
        }
    }

    /// Whether the pressed keys are the start of a sequence in another pane.
    fn is_prefix_in_other_pane(&self) -> bool {
        let panes = [Focus::List, Focus::Reader];
        let is_prefix =
            |focus| self.session.keymap.find_match(focus, &self.pending_keys) == KeyMatch::Prefix;
        panes.contains(&self.focus()) && panes.into_iter().any(is_prefix)
    }

    /// Reports where unbound keys do something, or that they do nothing.
    fn report_unbound(&mut self, pressed: &str, keys: &[Key]) {
        let parts = [
            (Focus::List, "in the list"),
            (Focus::Reader, "in the email"),
            (Focus::Choice, "while choosing"),
        ];
        let found = parts.into_iter().find_map(|(focus, part)| {
            match self.session.keymap.find_match(focus, keys) {
                KeyMatch::Command(command) => Some((part, command)),
                KeyMatch::Prefix | KeyMatch::Unbound => None,
            }
        });
        if let Some((part, command)) = found {
            let text = format!("{pressed} works {part} ({})", command.spec().help);
            self.notify_with(&text, command, "does it here");
        } else {
            let text = format!("{pressed} does nothing here");
            self.notify_with(&text, Command::Help, "shows the keys");
        }
    }

    /// Notes that the user is there; a notice has been read.
    pub(super) fn note_activity(&mut self) {
        self.notice = None;
        self.user_acted = true;
        self.load_older.delay_automatic_search();
        let now = self.now.timestamp();
        self.freshness.last_activity = now;
        self.outbox.extend(self.service.retry_offline(now));
    }

    /// Runs a command, or reports why it is not possible now.
    pub(super) fn dispatch(&mut self, command: Command) {
        let spec = command.spec();
        match (spec.possible)(self) {
            Ok(()) => (spec.run)(self),
            Err(reason) => self.notify(reason),
        }
    }

    pub(super) fn emit(&mut self, effect: LoopEffect) {
        self.outbox.push(Effect::Loop(effect));
    }

    pub(super) fn quit(&mut self) {
        if !self.ask_to_leave(Leave::Quit) {
            self.emit(LoopEffect::Exit(ExitReason::Quit));
        }
    }

    /// Fails while the list goes to another email: keys that were typed ahead mean that one.
    pub(super) fn check_selected(&self) -> Result<(), String> {
        require(!self.list.may_leave_selected(), "the list is still loading")?;
        self.check_email()
    }

    /// Fails for an empty list.
    pub(super) fn check_email(&self) -> Result<(), String> {
        require(self.list.selected().is_some(), "no email is selected")
    }

    /// Fails if no email is shown, also where the list is alone.
    pub(super) fn check_shown(&self) -> Result<(), String> {
        self.check_email()?;
        if self.layout().reader.is_empty() {
            return Err(self.describe_not_open());
        }
        Ok(())
    }

    pub(super) fn check_wide_block(&self) -> Result<(), String> {
        let error = "nothing here is wider than the screen";
        require(self.reader.overflow() > 0, error)
    }

    /// Fails for an empty list, which shows a text instead of panes.
    pub(super) fn check_panes(&self) -> Result<(), String> {
        require(!self.list.rows().is_empty(), "an empty list has no panes")
    }

    pub(super) fn check_divider(&self) -> Result<(), String> {
        self.check_panes()?;
        let is_shown = !self.layout().divider.is_empty();
        require(is_shown, "one pane is shown, so there is no divider")
    }

    /// Fails for an open email that has the whole screen without this command.
    pub(super) fn check_full_reader(&self) -> Result<(), String> {
        let is_single = self.layout().arrangement == Arrangement::Single;
        let is_alone = is_single && self.panes.reader_open && !self.panes.full_reader;
        require(!is_alone, "the reader has the whole screen already")
    }

    /// Linear mode unfolds the header before there is an email.
    pub(super) fn check_fold_header(&self) -> Result<(), String> {
        if self.session.is_linear {
            return Ok(());
        }
        self.check_shown()
    }

    /// Pans wide blocks, or reports that their end is visible.
    pub(super) fn pan_blocks(&mut self, side: Side) {
        let before = self.reader.pan;
        self.reader.pan_blocks(side);
        if self.reader.pan == before {
            self.notify(match side {
                Side::Left => "this is the left end",
                Side::Right => "this is the right end",
            });
        }
    }

    pub(super) fn move_selection(&mut self, motion: Motion) {
        if matches!(motion, Motion::First | Motion::Last) {
            self.history.push(self.history_entry());
        }
        self.stop_automatic_search();
        let viewport = self.list_viewport();
        self.outbox
            .extend(self.list.move_selection(motion, &viewport));
        if motion != Motion::Last {
            return;
        }
        self.load_older.is_stopped_at_end = false;
        if self.list.filter.is_empty() && self.can_load_older() {
            let text = "the oldest email loaded so far; loading older ones";
            self.notify_as(NoticeKind::ListState, text);
        } else if self.may_find_older() && self.list.filter.query().sort == SortOrder::Newest {
            self.notify_with(
                "the oldest email found so far",
                Command::LoadOlder,
                "searches older mail",
            );
        }
    }

    /// Opens the selected email, or continues the search on the last row.
    pub(super) fn open_selected(&mut self) {
        if !self.list.is_on_load_more_row() && !self.has_no_results() {
            self.open_email();
            self.confirm_opened_email();
        } else if !self.status_check.resume() {
            self.start_load_older();
        }
    }

    pub(super) fn close_reader(&mut self) {
        self.panes.close_reader();
        self.outbox.extend(self.reader.end_reveal());
    }

    /// Whether a prompt or a list is open that acts on the selected email.
    pub(super) fn has_email_dialog(&self) -> bool {
        use Question::{CopyUnmasked, Pipe, SaveUnmasked};
        let prompt = self.prompt.as_ref().map(|prompt| prompt.kind);
        let is_prompt = matches!(
            prompt,
            Some(
                PromptKind::Find
                    | PromptKind::Pipe
                    | PromptKind::SaveAttachment(_)
                    | PromptKind::SaveEmail
            )
        );
        is_prompt
            || match self.chooser_kind() {
                Some(ChooserKind::Links | ChooserKind::Link(_) | ChooserKind::Attachments) => true,
                Some(ChooserKind::Question(question)) => {
                    matches!(question, CopyUnmasked(_) | Pipe(_) | SaveUnmasked(..))
                }
                _ => false,
            }
    }

    /// Closes the email with all that acts on it, also the first keys of a sequence:
    /// it is not in the list any more.
    pub(super) fn close_email(&mut self) {
        self.pending_keys.clear();
        if self.has_email_dialog() {
            self.cancel_prompt();
            self.chooser = None;
        }
        self.close_reader();
    }

    pub(super) fn switch_pane(&mut self) {
        if let Some((filter, _)) = self.suggested_filter() {
            self.show_filter(filter);
        } else if self.panes.reader_open {
            self.close_reader();
        } else {
            self.open_email();
        }
    }

    pub(super) fn toggle_full_reader(&mut self) {
        if self.panes.full_reader {
            return self.leave_full_reader();
        }
        self.panes.cover_list();
        self.open_email();
    }

    /// Goes back to the pane that had the keys before.
    fn leave_full_reader(&mut self) {
        if self.panes.uncover_list() {
            self.close_reader();
        }
    }

    pub(super) fn cycle_layout(&mut self) {
        self.panes.arrange(self.layout().arrangement.next());
    }

    pub(super) fn cycle_prose_width(&mut self) {
        let effect = self.reader.cycle_prose_width();
        self.outbox.extend(effect);
        match self.reader.prose_width {
            0 => self.notify("prose is as wide as the pane"),
            columns => self.notify(format!("prose is at most {columns} columns wide")),
        }
    }

    pub(super) fn move_divider(&mut self, by: i16) {
        let card = self.recipient_card.is_shown();
        self.panes.move_divider(by, self.size, card);
    }

    pub(super) fn refresh(&mut self) {
        if let Some(until) = self.long_pause_until() {
            return self.open_question(Question::RefreshNow(until));
        }
        self.outbox.extend(self.service.request_manual_refresh());
        self.freshness.forced_at = self.now.timestamp();
        self.status_check.restart(self.now.timestamp());
        let is_failing = self.service.failing_since().is_some();
        if self.reader.needs_retry(is_failing) {
            self.outbox.extend(self.reader.reload());
        }
        if self.list.error().is_some() {
            self.outbox.extend(self.list.reload());
        } else if !self.panes.reader_open {
            self.outbox.extend(self.list.leave_kept_row());
            self.renew_ages();
        }
        if let Some(unavailable) = &self.service.unavailable {
            let reason = unavailable.error.message.clone();
            let is_counted = self.reload_statistics();
            self.notify(if is_counted {
                format!("counting again; {reason}")
            } else {
                reason
            });
        } else if self.service.announce_refresh {
            self.notify_as(NoticeKind::Refreshing, "refreshing");
        }
        self.reopen_read_only();
    }

    /// Stops the request for attachments, the export, the search of older mail, the fetch of
    /// bodies, the status check or the backfill, in this order.
    pub(super) fn stop_work(&mut self) {
        if self.stop_saving() || self.stop_export() || self.stop_load_older() {
            return;
        }
        if self.body_fetch.stop() {
            self.notify_with("stopped fetching bodies", Command::FetchBodies, "continues");
        } else if self.status_check.stop() {
            self.notify_with(
                "stopped checking statuses",
                Command::Refresh,
                "checks them again",
            );
        } else if self.service.stop_backfill() {
            self.notify("stopped loading older mail until the next start");
        } else {
            self.notify("nothing to stop");
        }
    }

    pub(super) fn toggle_mouse(&mut self) {
        self.mouse.is_off = !self.mouse.is_off;
        self.emit(LoopEffect::CaptureMouse(!self.mouse.is_off));
        if self.mouse.is_off {
            self.notify_with(
                "the mouse selects text",
                Command::ToggleMouse,
                "takes it back",
            );
        } else {
            self.notify("the mouse selects rows and scrolls");
        }
    }

    pub(super) fn close_layer_or_quit(&mut self) {
        if self.asks_to_quit() || !self.close_layer() {
            self.quit();
        }
    }

    pub(super) fn close_layer_or_report(&mut self) {
        if !self.close_layer() {
            self.notify_with("nothing to close", Command::Back, "quits");
        }
    }

    /// Closes the innermost layer; false if there is none.
    fn close_layer(&mut self) -> bool {
        let Some(layer) = self.innermost_layer() else {
            return false;
        };
        match layer {
            Layer::ErrorDetails => self.error_details = None,
            Layer::StartScreen => self.close_start_layer(),
            Layer::Chooser => self.close_chooser(),
            Layer::Find => self.reader.clear_find(),
            Layer::FullReader => self.leave_full_reader(),
            Layer::Reader => self.close_reader(),
            Layer::MarkRange => {
                self.marks.drop_range();
                self.notify("no range begins any more; the marks stay");
            }
            Layer::OlderSearch => _ = self.stop_load_older(),
            Layer::RecipientCard | Layer::Filter if self.is_from_statistics() => {
                self.return_to_statistics();
            }
            Layer::RecipientCard => self.close_recipient_card(),
            Layer::Filter => self.clear_filter(),
            Layer::Received => self.show_mailbox(Mailbox::Sent),
        }
        true
    }

    /// Returns what the key that goes back closes; `None` if that is the program.
    pub fn innermost_layer(&self) -> Option<Layer> {
        if self.error_details.is_some() {
            return Some(Layer::ErrorDetails);
        }
        if self.start_screen.is_some() {
            return self.can_close_start_layer().then_some(Layer::StartScreen);
        }
        let layers = [
            (self.chooser.is_some(), Layer::Chooser),
            (
                self.panes.reader_open && self.reader.find_text().is_some(),
                Layer::Find,
            ),
            (self.panes.full_reader, Layer::FullReader),
            (self.panes.reader_open, Layer::Reader),
            (self.marks.has_range(), Layer::MarkRange),
            (self.load_older.running.is_some(), Layer::OlderSearch),
            (self.recipient_card.is_shown(), Layer::RecipientCard),
            (!self.list.filter.is_empty(), Layer::Filter),
            (self.is_received(), Layer::Received),
        ];
        let open = layers.into_iter().find(|(is_open, _)| *is_open);
        open.map(|(_, layer)| layer)
    }

    /// Whether no known email matches the filter.
    pub(super) fn has_no_results(&self) -> bool {
        !self.list.filter.is_empty() && self.list.rows().is_empty() && !self.list.is_loading()
    }

    pub(super) fn open_email(&mut self) {
        let Some(row) = self.list.selected() else {
            self.notify("there is no email to read yet");
            self.panes.full_reader = false;
            return;
        };
        self.panes.reader_open = true;
        let id = row.summary.id.clone();
        self.list.clear_anchor();
        self.outbox
            .extend(self.reader.select_email(Some(&id), LoadTime::AtOnce));
    }

    pub(super) fn step_email(&mut self, motion: Motion) {
        self.stop_automatic_search();
        let viewport = self.list_viewport();
        let before = self.list.selected_id().cloned();
        self.outbox
            .extend(self.list.move_selection(motion, &viewport));
        if before.as_ref() == self.list.selected_id() {
            self.notify(if motion == Motion::Up {
                "this is the first email here"
            } else {
                "this is the last email here"
            });
        }
    }

    pub(super) fn show_body_view(&mut self, view: BodyView) {
        self.outbox
            .extend(self.reader.show_body_view(view, self.list.selected()));
    }

    /// Shows the view of the body that comes `by` views later.
    pub(super) fn cycle_body_view(&mut self, by: usize) {
        let all = BodyView::ALL;
        let current = all.iter().position(|view| *view == self.reader.body_view);
        self.show_body_view(all[(current.unwrap_or(0) + by) % all.len()]);
    }

    pub(super) fn check_matches(&self) -> Result<(), String> {
        if self.reader.is_searching() || !self.reader.matches().is_empty() {
            return Ok(());
        }
        let searched = match self.body() {
            Some(body) if body.is_cut() => "the part of this text that is shown",
            _ => "this text",
        };
        Err(match self.reader.find_text() {
            Some(text) => format!("{text} is not in {searched}"),
            None if self.reader.is_searched() => {
                format!("the filter matches nothing in {searched}")
            }
            None => self.with_hint("no search text", Command::Find, "searches this text"),
        })
    }

    pub(super) fn go_to_match(&mut self, side: Side) {
        let row = self.list.selected();
        let position = self.reader.go_to_match(side, row);
        self.notify(position.map_or_else(
            || "still searching".to_owned(),
            |(nth, total)| format!("match {nth} of {total}"),
        ));
    }

    pub(super) fn scroll(&mut self, motion: Motion) {
        self.reader.scroll_by(motion, self.list.selected());
    }
}
