//! `Model`: the state of the terminal program, and `update`,
//! the only method that changes it.
//!
//! The handlers of the messages are in the other files of `app/`. They start no work themselves:
//! they push effects to `outbox`. `reconcile` follows every message but `Clock` and starts what the
//! new state needs. From outside, linear mode alone calls another one: it prints what `take_notice`
//! returns.

use jiff::Zoned;
use jiff::tz::TimeZone;
use ratatui::layout::Size;

use super::chooser::Chooser;
use super::commands::keymap::Key;
use super::commands::{Command, Focus};
use super::copy::{EmailSave, UnwrittenPath};
use super::effect::{Effect, ExitReason, LoopEffect, Pending, RequestId, TimerKind};
use super::export::ExportState;
use super::history::NavHistory;
use super::layout::{Arrangement, Layout, Panes};
use super::list::changes::Changes;
use super::list::filter::Filter;
use super::list::load_older::LoadOlderState;
use super::list::marks::Marks;
use super::list::recipient::RecipientCard;
use super::list::saved_views::ViewFile;
use super::list::statistics::StatisticsState;
use super::list::{List, Viewport};
use super::mailbox::MailboxSwitch;
use super::message::{ListCounts, Message};
use super::mouse::MouseState;
use super::notice::{Notice, NoticeKind};
use super::prompt::Prompt;
use super::reader::attachments::AttachmentLists;
use super::reader::email_load::PreviewRequest;
use super::reader::lookup::{MetricsLookup, Suppressions};
use super::reader::previous_email::PreviousEmail;
use super::reader::{Reader, ReaderState};
use super::service::ServiceStatus;
use super::service::background::Prefetch;
use super::service::body_fetch::BodyFetchState;
use super::service::freshness::{Freshness, is_stale};
use super::service::status_check::StatusCheckState;
use super::service::watch::WatchList;
use super::session::{SessionInfo, StateRecord};
use super::start::StartScreen;
use crate::api::{Priority, RateBudget};
use crate::archive::{EmailRow, RowWindow};
use crate::config::Background;
use crate::error::{Error, Result};
use crate::query::{Completion, SortOrder};

/// The state of the terminal program.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub session: SessionInfo,
    pub list: List,
    pub reader: Reader,
    pub(super) previous_email: PreviousEmail,
    pub service: ServiceStatus,
    /// The line that is being typed.
    pub prompt: Option<Prompt>,
    pub recipient_card: RecipientCard,
    pub statistics: StatisticsState,
    pub load_older: LoadOlderState,
    pub body_fetch: BodyFetchState,
    /// The error whose details are shown.
    pub error_details: Option<Error>,
    /// Keys pressed of a sequence that is not complete.
    pub pending_keys: Vec<Key>,
    /// The screen before the mail or over it.
    pub start_screen: Option<StartScreen>,
    pub(super) notice: Option<Notice>,
    /// Errors over the screen; the next key closes them and does nothing else.
    pub banner: Vec<String>,
    /// The terminal's background; `None` until the terminal reports it.
    pub terminal_background: Option<Background>,
    pub full_times: bool,
    /// The zone of the start, while times are shown and read in UTC.
    pub(super) other_zone: Option<TimeZone>,
    pub(super) mouse: MouseState,
    /// Effects of the message that is being handled.
    pub(super) outbox: Vec<Effect>,
    pub size: Size,
    pub(super) panes: Panes,
    pub now: Zoned,
    /// The rate budget at the last message.
    pub rate_budget: Option<RateBudget>,
    pub(super) countdown: Pending<()>,
    pub(super) prefetch: Prefetch,
    /// When the visible rows are confirmed.
    pub(super) freshness: Freshness,
    pub status_check: StatusCheckState,
    /// Suggestions at the cursor of the prompt.
    pub(super) suggestions: Pending<Vec<Completion>>,
    pub(super) state_save: Pending<()>,
    pub(super) watch_list: WatchList,
    pub(super) changes: Changes,
    pub(super) history: NavHistory,
    /// The list over the mail from which an item is chosen.
    pub chooser: Option<Chooser>,
    pub(super) view_file: ViewFile,
    pub(super) mailbox_switch: MailboxSwitch,
    pub(super) clipboard_request: Pending<()>,
    pub(super) url_request: Pending<()>,
    pub(super) email_save: EmailSave,
    pub(super) attachments: AttachmentLists,
    pub(super) suppressions: Suppressions,
    pub(super) metrics: MetricsLookup,
    pub marks: Marks,
    pub export: ExportState,
    /// The name that was typed for a file that is not written yet, and what for.
    pub unwritten_path: Option<UnwrittenPath>,
    /// Whether there was a key press or a click.
    pub(super) user_acted: bool,
}

/// Precedes the errors of the theme; on a low screen,
/// it may be the only visible line.
pub const WRONG_COLOURS: &str = "Wrong colours, so default ones are used (any key closes this):";

impl Model {
    /// The first state and its effects: load rows, refresh.
    pub fn start(info: SessionInfo, size: Size, now: Zoned) -> (Self, Vec<Effect>) {
        let mut model = Self::new(info, size, now);
        model.reconcile();
        let effects = std::mem::take(&mut model.outbox);
        (model, effects)
    }

    /// The first state, with its effects in the outbox.
    pub(super) fn new(mut session: SessionInfo, size: Size, now: Zoned) -> Self {
        // A time after now was taken from a clock that was set since.
        session.as_of.take_if(|at| *at > now.timestamp());
        let last_look = session.saved.seen_until.or(session.as_of);
        let last_look = last_look.unwrap_or_else(|| now.timestamp());
        let mut banner = std::mem::take(&mut session.theme_errors);
        if !banner.is_empty() {
            banner.insert(0, WRONG_COLOURS.to_owned());
        }
        let mut model = Self {
            reader: Reader::new(&session),
            service: ServiceStatus::new(&session),
            freshness: Freshness::new(now.timestamp()),
            start_screen: StartScreen::first(std::mem::take(&mut session.first_screen)),
            banner,
            changes: Changes::new(last_look, session.newest),
            watch_list: WatchList::new(std::mem::take(&mut session.saved.watched)),
            session,
            size,
            now,
            ..Self::default()
        };
        if let Some(text) = model.session.notice.take() {
            model.notify(text);
        } else if model.session.is_first && model.start_screen.is_none() {
            let commands = [
                (Command::Help, "lists every command"),
                (Command::Filter, "searches"),
            ];
            model.notify(model.list_hints(&commands));
        }
        model.list.columns = std::mem::take(&mut model.session.columns);
        let filtered = model
            .list
            .set_filter(Filter::parse(&model.session.query, &model.now));
        let first_window = filtered.unwrap_or_else(|| model.list.load_first());
        model.outbox.push(first_window);
        model.load_watched();
        let refresh = model.service.request_refresh(Priority::Interactive);
        model.outbox.extend(refresh);
        model
    }

    /// The part of the screen that has the keyboard.
    pub const fn focus(&self) -> Focus {
        if self.is_help_open() {
            Focus::Prompt
        } else {
            self.focus_below_help()
        }
    }

    /// The part of the screen that has the keyboard without the help.
    pub const fn focus_below_help(&self) -> Focus {
        match (&self.prompt, self.panes.reader_open) {
            _ if self.error_details.is_some() => Focus::Details,
            _ if self.is_form_open() => Focus::Prompt,
            _ if self.start_screen.is_some() => Focus::Choice,
            (Some(_), _) if !self.is_help_open() => Focus::Prompt,
            _ if self.chooser.is_some() => Focus::Choice,
            (_, true) => Focus::Reader,
            (_, false) => Focus::List,
        }
    }

    /// The areas of the screen.
    pub fn layout(&self) -> Layout {
        Layout::new(self.size, self.panes, self.recipient_card.is_shown())
    }

    /// The state of the reader for the selected email.
    pub fn reader_state(&self) -> ReaderState<'_> {
        let id = self.list.selected_id();
        id.map_or(ReaderState::Empty, |id| self.reader.state(id))
    }

    /// Handles a message; returns the effects to run.
    pub fn update(&mut self, msg: Message) -> Vec<Effect> {
        match msg {
            Message::Clock { now, budget } => {
                (self.now, self.rate_budget) = (now, budget);
                return Vec::new();
            }
            Message::KeyPressed(key) => self.handle_key(key),
            Message::Pasted(text) => self.paste(text.expose()),
            Message::Typed(text) => self.insert_typed(text.expose()),
            Message::Mouse(mouse) => self.handle_mouse(mouse),
            Message::Clicked(target, at) => self.handle_click(target, at),
            Message::Command(command) => {
                self.note_activity();
                self.dispatch(command);
            }
            Message::RowChosen(anchor) => {
                self.note_activity();
                let filter = self.list.filter.clone();
                let effect = self.list.restore(filter, anchor);
                self.outbox.push(effect);
            }
            Message::Resized(size) => {
                if Arrangement::for_size(size) != Arrangement::for_size(self.size) {
                    self.panes.reset_arrangement();
                }
                self.change_statistics(|model| model.size = size);
            }
            Message::FiguresFormatted(figures) => self.copy_formatted(&figures),
            Message::BackgroundReported(background) => self.terminal_background = Some(background),
            Message::MarginsReported => self.emit(LoopEffect::UseMargins),
            Message::WindowLoaded(request, result) => self.apply_window(request, result),
            Message::Counted(request, result) => self.apply_counts(request, result.ok()),
            Message::ChangesCounted(request, result) => self.apply_change_counts(request, result),
            Message::RowsLoaded(request, result) => self.apply_watched(request, result),
            Message::UnstoredFound(request, result) => self.remove_unstored_marks(request, result),
            Message::StateSaved(request, result) => {
                if let (true, Err(failure)) = (self.state_save.finish(request), result) {
                    self.notify(failure.message);
                }
            }
            Message::RecipientSummarized(request, result) => {
                self.recipient_card.summary.resolve(request, result);
            }
            Message::StatisticsLoaded(request, result) => self.change_statistics(|model| {
                model.statistics.result.resolve(request, result);
            }),
            Message::ViewSaved(request, result) => self.apply_view_saved(request, result),
            Message::ViewsLoaded(request, result) => self.apply_views(request, result),
            Message::SuggestionsLoaded(request, suggestions) => {
                self.apply_suggestions(request, suggestions);
            }
            Message::EmailLoaded(request, result) => self.apply_email(request, result),
            Message::StoredEmailLoaded(request, result) => self.apply_stored_email(request, result),
            Message::EmailPrefetched(request) => {
                self.prefetch.request.finish(request);
                if self.list.needs_tags() {
                    self.outbox.extend(self.list.reload());
                }
            }
            Message::RetrievedById(request, result) => self.apply_retrieved_by_id(request, result),
            Message::StatusesConfirmed(request, result) => self.apply_confirmation(request, result),
            Message::StatusesRechecked(request, result) => self.apply_recheck(request, result),
            Message::StatusesChecked(request, result) => {
                self.apply_status_check_step(request, result);
            }
            Message::MissingBodiesCounted(request, result) => {
                self.apply_missing_bodies(request, result);
            }
            Message::BodiesFetched(request, result) => self.apply_body_fetch_step(request, result),
            Message::BodyRendered(request, result) => {
                self.reader
                    .apply_body(request, result, self.list.selected());
            }
            Message::MatchesFound(request, matches) => {
                self.reader
                    .apply_matches(request, matches, self.list.selected());
            }
            Message::Refreshed(request, result) => self.apply_refresh(request, result),
            Message::OlderLoaded(request, result) => self.apply_older(request, result),
            Message::Backfilled(request, result) => self.apply_backfill(request, result),
            Message::RequestCancelled(request, kind) => self.request_cancelled(kind, request),
            Message::ArchiveChanged(result) => self.apply_archive_change(result),
            Message::ServiceChanged => self
                .outbox
                .extend(self.service.request_refresh(Priority::Refresh)),
            Message::ArchiveLost(failure) => self.apply_archive_lost(failure),
            Message::ProfilesLoaded(request, result) => self.apply_profiles(request, result),
            Message::KeyVerified(request, result) => self.apply_key_check(request, result),
            Message::SessionOpened(request, result) => self.apply_session_opened(request, result),
            Message::MailboxOpened(request, result) => self.apply_mailbox_opened(request, result),
            Message::ClipboardSet(request, copied, result) => {
                self.apply_clipboard(request, copied, result);
            }
            Message::UrlOpened(request, result) => self.apply_url_opened(request, result),
            Message::EmailSaved(request, result) => self.apply_email_saved(request, result),
            Message::AttachmentsLoaded(request, result) => self.apply_attachments(request, result),
            Message::SuppressionLoaded(request, result) => {
                self.apply_lookup(|model| &mut model.suppressions, request, result);
            }
            Message::MetricsLoaded(request, result) => {
                self.apply_lookup(|model| &mut model.metrics, request, result);
            }
            Message::AttachmentSaved(request, result) => {
                self.apply_attachment_saved(request, result);
            }
            Message::IdsCollected(request, result) => self.apply_collected_ids(request, result),
            Message::ExportPlanned(request, result) => self.apply_export_plan(request, result),
            Message::ExportAdvanced(request, progress) => {
                self.apply_export_step(request, progress);
            }
            Message::CommandEnded {
                command,
                input_len,
                result,
            } => self.apply_command_ended(&command, input_len, result),
            Message::TimerFired(request, kind) => self.timer_fired(request, kind),
            Message::Fatal(error) => self.emit(LoopEffect::Exit(ExitReason::Fatal(error))),
        }
        self.reconcile();
        std::mem::take(&mut self.outbox)
    }

    fn apply_window(&mut self, request: RequestId, result: Result<RowWindow>) {
        let viewport = self.list_viewport();
        let is_open = self.panes.reader_open || self.has_email_dialog();
        let is_used = is_open || !self.pending_keys.is_empty();
        let is_current = is_used && self.list.window.is_current(request);
        let open = self.list.awaited_id().filter(|_| is_current).cloned();
        let is_it = |row: &EmailRow| Some(&row.summary.id) == open.as_ref();
        let has_open = |rows: &[EmailRow]| rows.iter().any(is_it);
        let is_stored = result.as_ref().is_ok_and(|window| has_open(&window.rows));
        let was_unmatched = self.list.is_selected_unmatched();
        let effect = self.list.apply_window(request, result, &viewport);
        if open.is_some() && self.list.error().is_none() && !has_open(self.list.rows()) {
            // Another email is selected now, which must not take its place unnoticed.
            if is_open {
                self.close_email();
                self.notify(if is_stored {
                    "the email that was open no longer matches the filter"
                } else {
                    "the email that was open is no longer in the archive"
                });
            } else if !is_stored {
                self.pending_keys.clear();
                self.notify("the email that was selected is no longer in the archive");
            }
        }
        match (was_unmatched, self.list.is_selected_unmatched()) {
            (false, true) => self.notify_kept_email(),
            (true, false) => self.end_notice(&NoticeKind::KeptEmail),
            _ => {}
        }
        let uncounted = self.list.total.is_none() || self.list.position().is_none();
        self.outbox.extend(effect);
        self.reload_if_outdated();
        if uncounted && !self.list.count.request.is_pending() {
            self.request_counts();
        }
    }

    fn apply_counts(&mut self, request: RequestId, counts: Option<ListCounts>) {
        if self.list.count.request.finish(request) {
            let is_counted = counts.is_some();
            if let Some(counts) = counts {
                self.service.stored_coverage = Some(counts.coverage.clone());
                let is_first = self.list.archive_total.is_none();
                let left_out = self.list.left_out;
                if !self.list.apply_counts(counts) {
                    // Other rows are there by now.
                    self.request_counts();
                }
                if !is_first && self.list.left_out.has_purge_since(left_out) {
                    self.reload_statistics();
                }
                self.changes.note_newest(self.list.archive_span);
            }
            self.outbox.extend(self.list.start_count_pause());
            self.continue_load_older(is_counted);
        }
    }

    fn timer_fired(&mut self, request: RequestId, kind: TimerKind) {
        match kind {
            TimerKind::Selection => {
                // Without a key press, the first email is not a request of the user.
                let priority = if self.user_acted {
                    Priority::Interactive
                } else {
                    Priority::Backfill
                };
                let preview = PreviewRequest {
                    priority,
                    refusal: self.service.refusal().cloned(),
                };
                self.outbox
                    .extend(self.reader.debounce_elapsed(request, preview));
            }
            TimerKind::PreviousEmail => self.previous_email_timer_fired(request),
            TimerKind::Resize => self.outbox.extend(self.reader.resize_timer_fired(request)),
            TimerKind::Refresh => self
                .outbox
                .extend(self.service.refresh_timer_fired(request)),
            TimerKind::LoadOlder => _ = self.service.older_timer.finish(request),
            TimerKind::AutomaticSearch => self.automatic_search_timer_fired(request),
            TimerKind::Count => {
                self.outbox.extend(self.list.count_timer_fired(request));
            }
            // Due rows are confirmed after each message.
            TimerKind::Freshness => _ = self.freshness.timer.finish(request),
            TimerKind::Countdown => _ = self.countdown.finish(request),
        }
    }

    pub(super) fn save_state(&mut self, records: Vec<StateRecord>) {
        let request = self.state_save.start();
        self.outbox.push(Effect::SaveState(request, records));
    }

    /// Counts the emails of the list; while the user types, few of them.
    pub(super) fn request_counts(&mut self) {
        let effect = self.list.start_count(self.prompt.is_some());
        self.outbox.push(effect);
    }

    /// Reconciles list, reader and requests after a change.
    ///
    /// Each step reads what those before it have set; a comment names what that is.
    fn reconcile(&mut self) {
        self.changes.forget_future(self.now.timestamp());
        if self.prompt.is_none() && self.list.filter.is_outdated(&self.now) {
            // Words such as `today` have another meaning on another day, or in another zone.
            self.set_filter(self.list.filter.clone());
        }
        if let Some(effect) = self.list.drop_left_row() {
            self.outbox.push(effect);
            self.end_notice(&NoticeKind::KeptEmail);
        }
        // The filter decides on the card, which takes lines from the list.
        self.update_recipient_card();
        let may_grow = self.may_find_older() || self.status_check.paused().is_some();
        self.list
            .set_offers_load_more(may_grow && self.list.filter.query().sort == SortOrder::Newest);
        // The line that offers more is a line to scroll to.
        let viewport = self.list_viewport();
        self.outbox.extend(self.list.scroll_to_selection(&viewport));
        // The header and the size of the pane come before the email, whose body is laid out for
        // them.
        let layout = self.layout();
        let row = self.list.selected();
        self.reader.has_tabs_above = layout.has_tabs_in_divider();
        self.reader.is_stale = row.is_some_and(|row| is_stale(row, self.now.timestamp()));
        self.outbox.extend(
            self.reader
                .resize(layout.reader.width, layout.reader.height, row),
        );
        if layout.reader.area() > 0 {
            // Another email drops the header lines of the one before.
            self.update_reader_email(&layout);
            self.update_attachments();
            self.update_metrics();
            if self.reader_state().opened().is_some()
                && let Some(row) = self.list.selected()
            {
                self.changes.note_viewed(row);
                let id = row.summary.id.clone();
                self.list.mark_seen(&id);
            }
        }
        self.update_suppression();
        self.outbox
            .extend(self.reader.request_matches(self.list.filter.query()));
        self.load_older.is_stopped_at_end &= self.needs_older();
        if self.list.is_near_end(&viewport)
            && !self.load_older.is_stopped_at_end
            && !self.list.rows().is_empty()
            && self.list.filter.is_empty()
        {
            self.outbox
                .extend(self.service.request_older(Priority::Interactive));
        }
        // One question at a time: the first one is shown.
        self.show_export_question();
        self.show_body_question();
        self.schedule_automatic_search();
        self.continue_body_fetch();
        // The check may start a refresh; while one runs, no status is confirmed.
        self.update_status_check();
        self.confirm_visible();
        // The backfill yields to older mail that was requested above.
        self.schedule_background();
    }

    /// The part of the screen that the list fills, or would fill while it is hidden.
    pub fn list_viewport(&self) -> Viewport {
        let mut panes = self.panes;
        panes.close_reader();
        let layout = Layout::new(self.size, panes, self.recipient_card.is_shown());
        let has_headings = layout.day_headings;
        Viewport {
            lines: layout.row_capacity().max(1),
            day_zone: has_headings.then(|| self.now.time_zone().clone()),
        }
    }
}
