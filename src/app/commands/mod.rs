//! The one table of commands: name, keys, hint, help, condition and action of each.
//!
//! The configuration binds keys by name; the hint line, the help, the README and every notice that
//! names a key read this table, with the changes of `[keys]` ([`keymap::Keymap`]).
//!
//! `dispatch` calls the action only if the condition holds. A new [`Focus`] needs a bit in
//! `EVERYWHERE`, `View1` to `View9` stay side by side, and a test compares the table in the README
//! with this one.

pub mod help;
mod hints;
pub mod keymap;
pub mod line_commands;

use tui_input::InputRequest;

use super::effect::LoopEffect;
use super::model::Model;
use crate::mail::Mailbox;
use crate::render::BodyView;

/// How far to move in a list or a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Motion {
    Down,
    Up,
    HalfDown,
    HalfUp,
    PageDown,
    PageUp,
    First,
    Last,
}

impl Motion {
    /// The position after the motion; may lie behind the end.
    pub const fn apply(self, position: usize, page: usize) -> usize {
        match self {
            Self::Down => position.saturating_add(1),
            Self::Up => position.saturating_sub(1),
            Self::HalfDown => position.saturating_add(page / 2),
            Self::HalfUp => position.saturating_sub(page / 2),
            Self::PageDown => position.saturating_add(page),
            Self::PageUp => position.saturating_sub(page),
            Self::First => 0,
            Self::Last => usize::MAX,
        }
    }
}

/// A side to move to: left is also back and up, right is also forward and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Left,
    Right,
}

/// A field that two rows of the list can have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowField {
    /// The first recipient.
    Recipient,
    /// The domain of the first recipient.
    Domain,
    Subject,
    Sender,
    Status,
}

/// A part of an email that can be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CopyField {
    Id,
    MessageId,
    To,
    From,
    Subject,
    /// The body in the current view, as it was before its lines were wrapped.
    Body,
    /// The service's answer.
    Json,
    /// A command that requests the email; the key is a variable in it.
    Curl,
    /// The facts about the email that a colleague needs, in words.
    Ticket,
}

/// The part of the screen that gets the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Focus {
    List,
    Reader,
    /// The details of an error.
    Details,
    /// A line of text that is being typed.
    Prompt,
    /// A short list to choose from: profiles, saved views, the start screen.
    Choice,
}

/// A set of [`Focus`] values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FocusSet(u8);

impl FocusSet {
    pub const LIST: Self = Self::new(&[Focus::List]);
    pub const READER: Self = Self::new(&[Focus::Reader]);
    pub const PROMPT: Self = Self::new(&[Focus::Prompt]);
    pub const CHOICE: Self = Self::new(&[Focus::Choice]);
    pub const PANES: Self = Self::new(&[Focus::List, Focus::Reader]);
    pub const TEXT: Self = Self::new(&[Focus::Reader, Focus::Details]);
    /// The panes and a list to choose from: a number opens a saved view,
    /// or selects an item.
    pub const NUMBERS: Self = Self::new(&[Focus::List, Focus::Reader, Focus::Choice]);
    pub const NO_PROMPT: Self = Self::EVERYWHERE.without(Self::PROMPT);
    pub const EVERYWHERE: Self = Self(u8::MAX);
    pub const EMPTY: Self = Self(0);

    pub(super) const fn new(focuses: &[Focus]) -> Self {
        let mut bits = 0;
        let mut n = 0;
        while n < focuses.len() {
            bits |= 1 << focuses[n] as u8;
            n += 1;
        }
        Self(bits)
    }

    pub const fn contains(self, focus: Focus) -> bool {
        self.0 & (1 << focus as u8) != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// One row of the table.
#[derive(Debug)]
pub struct CommandSpec {
    pub command: Command,
    /// The name in `[keys]` and in the README; never changes.
    pub name: &'static str,
    /// The default keys: sequences separated by `, `, the keys of a sequence by a
    /// space.
    pub bindings: &'static [(FocusSet, &'static str)],
    /// One or two words for the hint line.
    pub hint: &'static str,
    /// A description for the help and the README.
    pub help: &'static str,
    /// Whether it can run now; the error is shown to the user instead.
    pub possible: fn(&Model) -> Result<(), String>,
    pub run: fn(&mut Model),
}

/// `Ok` if a command is possible, or else the error to show.
pub fn require(is_possible: bool, error: &str) -> Result<(), String> {
    if is_possible {
        Ok(())
    } else {
        Err(error.to_owned())
    }
}

impl CommandSpec {
    /// Every focus in which a key may run it.
    pub fn focuses(&self) -> FocusSet {
        let sets = self.bindings.iter().map(|(focuses, _)| *focuses);
        sets.fold(FocusSet::EMPTY, FocusSet::union)
    }
}

impl Command {
    pub fn spec(self) -> &'static CommandSpec {
        &COMMANDS[self as usize]
    }

    pub fn from_name(name: &str) -> Option<Self> {
        let spec = COMMANDS.iter().find(|spec| spec.name == name)?;
        Some(spec.command)
    }

    /// Whether the command only moves through what is shown.
    pub(super) const fn is_movement(self) -> bool {
        matches!(
            self,
            Self::NextRow
                | Self::PreviousRow
                | Self::HalfPageDown
                | Self::HalfPageUp
                | Self::PageDown
                | Self::PageUp
                | Self::ScrollDown
                | Self::ScrollUp
                | Self::ScrollHalfPageDown
                | Self::ScrollHalfPageUp
                | Self::ScrollPageDown
                | Self::ScrollPageUp
        )
    }

    /// The number of the saved view that the command opens.
    pub fn view_number(self) -> Option<u8> {
        let number = (self as u8).checked_sub(Self::View1 as u8)? + 1;
        (number <= 9).then_some(number)
    }
}

/// Makes [`Command`] and [`COMMANDS`]. A row is:
/// variant, name, keys by focus, hint, help, `if` condition (optional), `=>` action. The order of
/// the rows is the order of the help.
macro_rules! commands {
    ($($id:ident $name:literal [$($focus:ident $keys:literal),+] $hint:literal $help:literal
       $(if $possible:expr)? => $run:expr;)+) => {
        /// A user action, whatever key or click caused it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Command { $($id),+ }

        /// The table, indexed by `Command as usize`.
        pub static COMMANDS: &[CommandSpec] = &[$(CommandSpec {
            command: Command::$id,
            name: $name,
            bindings: &[$((FocusSet::$focus, $keys)),+],
            hint: $hint,
            help: $help,
            possible: commands!(@possible $($possible)?),
            run: $run,
        }),+];
    };
    (@possible) => { |_| Ok(()) };
    (@possible $possible:expr) => { $possible };
}

commands! {
    NextRow "next-row" [LIST "j, Down, Ctrl-n"] "down" "next row"
        => |m| m.move_selection(Motion::Down);
    PreviousRow "previous-row" [LIST "k, Up"] "up" "previous row"
        => |m| m.move_selection(Motion::Up);
    HalfPageDown "half-page-down" [LIST "Ctrl-d"] "down" "half a page down"
        => |m| m.move_selection(Motion::HalfDown);
    HalfPageUp "half-page-up" [LIST "Ctrl-u"] "up" "half a page up"
        => |m| m.move_selection(Motion::HalfUp);
    PageDown "page-down" [LIST "PgDn, Ctrl-f, Space"] "down" "a page down"
        => |m| m.move_selection(Motion::PageDown);
    PageUp "page-up" [LIST "PgUp, Ctrl-b"] "up" "a page up"
        => |m| m.move_selection(Motion::PageUp);
    Newest "newest" [LIST "g g, Home"] "top" "first email"
        => |m| m.move_selection(Motion::First);
    Oldest "oldest" [LIST "G, End"] "bottom" "last email"
        => |m| m.move_selection(Motion::Last);
    GoToDate "go-to-date" [LIST "g d"] "date" "go to a date"
        => Model::open_date_prompt;
    Columns "columns" [LIST "g c"] "columns" "choose the columns of the list and their widths"
        => Model::open_columns_prompt;
    Open "open" [LIST "Enter, l, Right"] "read" "read the email; on the last row: search older mail"
        => Model::open_selected;
    Filter "filter" [LIST "/, f"] "filter" "filter the list while you type"
        => Model::open_filter_prompt;
    OnlyRecipient "only-recipient" [LIST "@ t"] "recipient" "only emails to this recipient"
        if Model::check_selected => |m| m.filter_by(RowField::Recipient);
    OnlyDomain "only-domain" [LIST "@ d"] "domain" "only emails to this domain"
        if Model::check_selected => |m| m.filter_by(RowField::Domain);
    OnlySubject "only-subject" [LIST "@ s"] "subject" "only emails with this subject, whatever numbers are in it"
        if Model::check_selected => |m| m.filter_by(RowField::Subject);
    OnlySender "only-sender" [LIST "@ f"] "sender" "only emails whose sender contains this address"
        if Model::check_selected => |m| m.filter_by(RowField::Sender);
    OnlyStatus "only-status" [LIST "@ v"] "status" "only emails with this status"
        if Model::check_has_status => |m| m.filter_by(RowField::Status);
    RecipientSummary "recipient-summary" [PANES "c"] "recipient" "all mail to this recipient; again: to the next one"
        if Model::check_selected => Model::show_recipient_card;
    View1 "view-1" [NUMBERS "1"] "view" "a saved view; while choosing: the item with this number"
        if |m| m.check_number(1) => |m| m.press_number(1);
    View2 "view-2" [NUMBERS "2"] "view" "a saved view; while choosing: the item with this number"
        if |m| m.check_number(2) => |m| m.press_number(2);
    View3 "view-3" [NUMBERS "3"] "view" "a saved view; while choosing: the item with this number"
        if |m| m.check_number(3) => |m| m.press_number(3);
    View4 "view-4" [NUMBERS "4"] "view" "a saved view; while choosing: the item with this number"
        if |m| m.check_number(4) => |m| m.press_number(4);
    View5 "view-5" [NUMBERS "5"] "view" "a saved view; while choosing: the item with this number"
        if |m| m.check_number(5) => |m| m.press_number(5);
    View6 "view-6" [NUMBERS "6"] "view" "a saved view; while choosing: the item with this number"
        if |m| m.check_number(6) => |m| m.press_number(6);
    View7 "view-7" [NUMBERS "7"] "view" "a saved view; while choosing: the item with this number"
        if |m| m.check_number(7) => |m| m.press_number(7);
    View8 "view-8" [NUMBERS "8"] "view" "a saved view; while choosing: the item with this number"
        if |m| m.check_number(8) => |m| m.press_number(8);
    View9 "view-9" [NUMBERS "9"] "view" "a saved view; while choosing: the item with this number"
        if |m| m.check_number(9) => |m| m.press_number(9);
    SavedViews "saved-views" [PANES "g v"] "views" "all saved views"
        => Model::open_view_chooser;
    SaveView "save-view" [PANES "W"] "save" "save what is shown as a view"
        if Model::check_save_view => Model::open_save_view_prompt;
    HistoryBack "history-back" [PANES "g [, Alt-Left"] "back" "previous location"
        if |m| m.check_history(Side::Left) => |m| m.go_history(Side::Left);
    HistoryForward "history-forward" [PANES "g ], Alt-Right"] "forward" "next location"
        if |m| m.check_history(Side::Right) => |m| m.go_history(Side::Right);
    Undo "undo" [LIST "u"] "undo" "undo a change of what is shown"
        if |m| m.check_undo(Side::Left) => |m| m.undo(Side::Left);
    Redo "redo" [LIST "U"] "redo" "redo an undone change"
        if |m| m.check_undo(Side::Right) => |m| m.undo(Side::Right);
    LoadOlder "load-older" [LIST "b"] "older mail" "search older mail"
        if Model::check_load_older => Model::start_load_older;
    FetchBodies "fetch-bodies" [LIST "g b"] "bodies" "fetch the bodies that the filter searches"
        if Model::check_fetch_bodies => Model::count_missing_bodies;
    Mark "mark" [PANES "x"] "mark" "mark the email, or unmark it, and go to the next one"
        if Model::check_selected => Model::toggle_mark;
    MarkRange "mark-range" [LIST "V"] "range" "begin a range here; again: mark the rows from there to here"
        if Model::check_selected => Model::mark_range;
    MarkAll "mark-all" [LIST "*"] "mark all" "mark everything that the filter shows"
        if Model::check_email => Model::mark_all;
    ClearMarks "clear-marks" [PANES "X"] "unmark" "remove all marks"
        if Model::check_marks => Model::clear_marks;
    NextEmail "next-email" [READER "J"] "next" "next email"
        => |m| m.step_email(Motion::Down);
    PreviousEmail "previous-email" [READER "K"] "previous" "previous email"
        => |m| m.step_email(Motion::Up);
    ScrollDown "scroll-down" [READER "j, Down", LIST "Alt-j, Shift-Down"] "scroll" "scroll the email down"
        => |m| m.scroll(Motion::Down);
    ScrollUp "scroll-up" [READER "k, Up", LIST "Alt-k, Shift-Up"] "scroll" "scroll the email up"
        => |m| m.scroll(Motion::Up);
    ScrollHalfPageDown "scroll-half-page-down" [READER "Ctrl-d"] "scroll" "half a page down"
        => |m| m.scroll(Motion::HalfDown);
    ScrollHalfPageUp "scroll-half-page-up" [READER "Ctrl-u"] "scroll" "half a page up"
        => |m| m.scroll(Motion::HalfUp);
    ScrollPageDown "scroll-page-down" [READER "PgDn, Ctrl-f, Space"] "scroll" "a page down"
        => |m| m.scroll(Motion::PageDown);
    ScrollPageUp "scroll-page-up" [READER "PgUp, Ctrl-b"] "scroll" "a page up"
        => |m| m.scroll(Motion::PageUp);
    ScrollToStart "scroll-to-start" [READER "g g, Home"] "start" "start of the email"
        => |m| m.scroll(Motion::First);
    ScrollToEnd "scroll-to-end" [READER "G, End"] "end" "end of the email"
        => |m| m.scroll(Motion::Last);
    Find "find" [READER "/"] "find" "find in the email"
        => Model::open_find_prompt;
    NextMatch "next-match" [READER "n"] "match" "next match"
        if Model::check_matches => |m| m.go_to_match(Side::Right);
    PreviousMatch "previous-match" [READER "N"] "match" "previous match"
        if Model::check_matches => |m| m.go_to_match(Side::Left);
    PanLeft "pan-left" [READER "H"] "pan" "pan a wide block left"
        if Model::check_wide_block => |m| m.pan_blocks(Side::Left);
    PanRight "pan-right" [READER "L"] "pan" "pan a wide block right"
        if Model::check_wide_block => |m| m.pan_blocks(Side::Right);
    NextBodyView "next-body-view" [PANES "v, ]"] "view" "next view of the body"
        if Model::check_shown => |m| m.cycle_body_view(1);
    PreviousBodyView "previous-body-view" [PANES "["] "view" "previous view of the body"
        if Model::check_shown => |m| m.cycle_body_view(BodyView::ALL.len() - 1);
    ShowRendered "show-rendered" [PANES "Alt-1"] "view" "body as the recipient saw it"
        if Model::check_shown => |m| m.show_body_view(BodyView::Rendered);
    ShowText "show-text" [PANES "Alt-2"] "view" "plain-text part"
        if Model::check_shown => |m| m.show_body_view(BodyView::Text);
    ShowSource "show-source" [PANES "Alt-3"] "view" "html source"
        if Model::check_shown => |m| m.show_body_view(BodyView::Source);
    ShowRaw "show-raw" [PANES "Alt-4"] "view" "raw JSON, every field"
        if Model::check_shown => |m| m.show_body_view(BodyView::Raw);
    FoldHeader "fold-header" [PANES "Z"] "more" "show more of the header of the email; again: everything"
        if Model::check_fold_header => |m| m.reader.cycle_header_detail(m.list.selected());
    Links "links" [PANES "o"] "links" "links of the email with their true targets"
        if Model::check_links => Model::open_links;
    CopyId "copy-id" [PANES "y i"] "id" "copy the id"
        if Model::check_copy => |m| m.copy_field(CopyField::Id);
    CopyMessageId "copy-message-id" [PANES "y m"] "message id" "copy the message id"
        if Model::check_copy => |m| m.copy_field(CopyField::MessageId);
    CopyRecipient "copy-recipient" [PANES "y t"] "recipient" "copy the addresses of the recipients"
        if Model::check_copy => |m| m.copy_field(CopyField::To);
    CopySender "copy-sender" [PANES "y f"] "sender" "copy the address of the sender"
        if Model::check_copy => |m| m.copy_field(CopyField::From);
    CopySubject "copy-subject" [PANES "y s"] "subject" "copy the subject"
        if Model::check_copy => |m| m.copy_field(CopyField::Subject);
    CopyBody "copy-body" [PANES "y b"] "body" "copy the body in this view, without line breaks of the screen"
        if Model::check_copy => |m| m.copy_field(CopyField::Body);
    CopyJson "copy-json" [PANES "y j"] "JSON" "copy the JSON, every field"
        if Model::check_copy => |m| m.copy_field(CopyField::Json);
    CopyLink "copy-link" [PANES "y l"] "link" "copy a link"
        if Model::check_copy_link => Model::copy_chosen_link;
    CopyItem "copy-item" [CHOICE "y"] "copy" "copy the selected link, or the statistics"
        if Model::check_copy_item => Model::copy_item;
    CopyCurl "copy-curl" [PANES "y c"] "curl" "copy a curl command that requests the email, without the key"
        if Model::check_copy => |m| m.copy_field(CopyField::Curl);
    CopyTicket "copy-ticket" [PANES "y T"] "ticket" "copy a summary for a ticket"
        if Model::check_copy => |m| m.copy_field(CopyField::Ticket);
    CopyQuery "copy-query" [PANES "y q"] "query" "copy the command that opens this list, for a colleague"
        if Model::check_clipboard => Model::copy_query;
    CopyCard "copy-card" [PANES "y r"] "card" "copy the card of the recipient"
        if Model::check_copy_card => Model::copy_figures;
    SaveEmail "save-email" [PANES "s"] "save" "save the email as eml, html, text or JSON"
        if Model::check_opened => Model::open_save_prompt;
    Attachments "attachments" [PANES "a"] "attached" "attachments of the email: save one as a file"
        if Model::check_attachments => Model::open_attachments;
    Export "export" [PANES "E"] "export" "export the marked emails, or else all that the filter shows"
        if Model::check_export => Model::open_export_formats;
    Pipe "pipe" [PANES "|"] "pipe" "give the body in this view to a shell command"
        if Model::check_opened => Model::open_pipe_prompt;
    Reveal "reveal" [PANES "R"] "reveal" "reveal masked codes and links until the email is left"
        if Model::check_reveal => Model::toggle_reveal;
    SwitchPane "switch-pane" [PANES "Tab, Shift-Tab"] "pane" "other pane"
        => Model::switch_pane;
    FullReader "full-reader" [PANES "z"] "full" "reader on the whole screen, and back"
        if Model::check_full_reader => Model::toggle_full_reader;
    CycleProseWidth "cycle-prose-width" [PANES "w"] "width" "width of prose in emails: 40, 72, 100 columns, or the pane"
        => Model::cycle_prose_width;
    CycleLayout "cycle-layout" [PANES "P"] "panes" "panes beside, below, one at a time"
        if Model::check_panes => Model::cycle_layout;
    SmallerList "smaller-list" [PANES "<"] "divider" "smaller list"
        if Model::check_divider => |m| m.move_divider(-2);
    LargerList "larger-list" [PANES ">"] "divider" "larger list"
        if Model::check_divider => |m| m.move_divider(2);
    Stop "stop" [PANES "Ctrl-x"] "stop" "stop the export, or fetching older mail, bodies or statuses"
        => Model::stop_work;
    Refresh "refresh" [PANES "r, F5", CHOICE "F5"] "refresh" "refresh now"
        => Model::refresh;
    Watch "watch" [PANES ".", CHOICE "."] "watch" "watch the status until it settles; if watched: stop"
        if Model::check_watch => Model::toggle_watch;
    WatchedEmails "watched-emails" [PANES "g w"] "watched" "all watched emails"
        if Model::check_watched_emails => Model::open_watched_chooser;
    ShowChanges "show-changes" [PANES "g n"] "changes" "what is new or has changed since you last looked"
        => Model::show_changes;
    AcknowledgeChanges "acknowledge-changes" [PANES "A"] "seen" "mark all changes as seen"
        => Model::ask_to_acknowledge;
    Statistics "statistics" [PANES "S"] "statistics" "statistics of what is shown"
        if Model::check_sent => Model::open_statistics;
    FullTimes "full-times" [PANES "t"] "times" "full times with zone, or short"
        => Model::toggle_full_times;
    ToggleUtc "toggle-utc" [PANES "T"] "zone" "times in UTC; again: in the zone of the start"
        => Model::toggle_utc;
    ToggleMouse "toggle-mouse" [PANES "M"] "mouse" "mouse off and on (off: select text)"
        => Model::toggle_mouse;
    ReceivedMail "received-mail" [PANES "g r"] "received" "received mail, where the service has it; again: sent mail"
        if |m| m.check_mailbox(Mailbox::Received) => |m| m.show_mailbox(m.session.mailbox.other());
    SentMail "sent-mail" [PANES "g s"] "sent" "sent mail again"
        if |m| m.check_mailbox(Mailbox::Sent) => |m| m.show_mailbox(Mailbox::Sent);
    Profiles "profiles" [PANES "g p"] "profile" "switch profile"
        => Model::open_profile_chooser;
    ErrorDetails "error-details" [NUMBERS "!"] "details" "details of the last error, or the rest of a notice"
        if Model::check_error => |m| m.error_details = m.current_error();
    Help "help" [NO_PROMPT "?, F1", PANES ":", LIST "Ctrl-p"] "help" "every command: type to search, run one"
        => Model::open_help;
    NextItem "next-item" [CHOICE "j, Down, Tab, Ctrl-n"] "choose" "next item"
        => |m| m.select_item(Motion::Down);
    PreviousItem "previous-item" [CHOICE "k, Up, Shift-Tab, Ctrl-p"] "choose" "previous item"
        => |m| m.select_item(Motion::Up);
    ItemsHalfPageDown "items-half-page-down" [CHOICE "Ctrl-d"] "down" "half a page of items down"
        => |m| m.select_item(Motion::HalfDown);
    ItemsHalfPageUp "items-half-page-up" [CHOICE "Ctrl-u"] "up" "half a page of items up"
        => |m| m.select_item(Motion::HalfUp);
    ItemsPageDown "items-page-down" [CHOICE "PgDn, Ctrl-f, Space"] "down" "a page of items down"
        => |m| m.select_item(Motion::PageDown);
    ItemsPageUp "items-page-up" [CHOICE "PgUp, Ctrl-b"] "up" "a page of items up"
        => |m| m.select_item(Motion::PageUp);
    FirstItem "first-item" [CHOICE "g g, Home"] "first" "first item"
        => |m| m.select_item(Motion::First);
    LastItem "last-item" [CHOICE "G, End"] "last" "last item"
        => |m| m.select_item(Motion::Last);
    Confirm "confirm" [CHOICE "Enter, l, Right"] "confirm" "confirm the choice"
        => Model::confirm_item;
    DeleteView "delete-view" [CHOICE "d d"] "delete" "delete the selected view"
        if Model::check_delete_view => Model::ask_to_delete_view;
    Back "back" [LIST "q", TEXT "q, Esc, h, Left", CHOICE "q"] "back" "back one step (find, email, filter); at the top: quit"
        => Model::close_layer_or_quit;
    CloseLayer "close-layer" [LIST "Esc, h, Left", CHOICE "Esc, h, Left"] "all mail" "back one step (find, email, filter)"
        => Model::close_layer_or_report;
    Accept "accept" [PROMPT "Enter"] "ok" "accept the input"
        => Model::accept_prompt;
    Cancel "cancel" [PROMPT "Esc"] "cancel" "discard the input"
        => Model::cancel_prompt;
    NextSuggestion "next-suggestion" [PROMPT "Tab, Down"] "choose" "next suggestion"
        => |m| m.cycle_suggestion(Side::Right);
    PreviousSuggestion "previous-suggestion" [PROMPT "Shift-Tab, Up"] "choose" "previous suggestion"
        => |m| m.cycle_suggestion(Side::Left);
    HelpPageDown "help-page-down" [PROMPT "PgDn"] "down" "a page of the help down"
        => |m| m.move_help(Motion::PageDown);
    HelpPageUp "help-page-up" [PROMPT "PgUp"] "up" "a page of the help up"
        => |m| m.move_help(Motion::PageUp);
    EarlierFilter "earlier-filter" [PROMPT "Ctrl-p"] "earlier" "an earlier filter"
        => |m| m.recall_filter(Side::Left);
    LaterFilter "later-filter" [PROMPT "Ctrl-n"] "later" "a later filter"
        => |m| m.recall_filter(Side::Right);
    CharLeft "char-left" [PROMPT "Left, Ctrl-b"] "edit" "a character to the left"
        => |m| m.edit_prompt(InputRequest::GoToPrevChar);
    CharRight "char-right" [PROMPT "Right, Ctrl-f"] "edit" "a character to the right"
        => |m| m.edit_prompt(InputRequest::GoToNextChar);
    WordLeft "word-left" [PROMPT "Ctrl-Left, Alt-b"] "edit" "a word to the left"
        => |m| m.edit_prompt(InputRequest::GoToPrevWord);
    WordRight "word-right" [PROMPT "Ctrl-Right, Alt-f"] "edit" "a word to the right"
        => |m| m.edit_prompt(InputRequest::GoToNextWord);
    LineStart "line-start" [PROMPT "Home, Ctrl-a"] "edit" "start of the line"
        => |m| m.edit_prompt(InputRequest::GoToStart);
    LineEnd "line-end" [PROMPT "End, Ctrl-e"] "edit" "end of the line"
        => |m| m.edit_prompt(InputRequest::GoToEnd);
    DeleteCharBefore "delete-char-before" [PROMPT "Backspace, Ctrl-h"] "edit" "delete the character before"
        => |m| m.edit_prompt(InputRequest::DeletePrevChar);
    DeleteCharAfter "delete-char-after" [PROMPT "Delete, Ctrl-d"] "edit" "delete the character after"
        => |m| m.edit_prompt(InputRequest::DeleteNextChar);
    DeleteWordBefore "delete-word-before" [PROMPT "Ctrl-w, Alt-Backspace"] "edit" "delete the word before"
        => |m| m.edit_prompt(InputRequest::DeletePrevWord);
    DeleteAllBefore "delete-all-before" [PROMPT "Ctrl-u"] "clear" "delete everything before"
        => |m| m.edit_prompt(InputRequest::DeleteFromStart);
    DeleteAllAfter "delete-all-after" [PROMPT "Ctrl-k"] "edit" "delete everything after"
        => |m| m.edit_prompt(InputRequest::DeleteTillEnd);
    Redraw "redraw" [EVERYWHERE "Ctrl-l"] "redraw" "redraw the screen"
        => |m| m.emit(LoopEffect::Redraw);
    Suspend "suspend" [EVERYWHERE "Ctrl-z"] "suspend" "suspend the program (fg resumes it)"
        => |m| m.emit(LoopEffect::Suspend);
    Quit "quit" [EVERYWHERE "Ctrl-c"] "quit" "quit"
        => Model::quit;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_name_belongs_to_one_command() {
        let mut names = HashSet::new();
        for spec in COMMANDS {
            assert!(names.insert(spec.name), "{}", spec.name);
            assert_eq!(Command::from_name(spec.name), Some(spec.command));
            assert_eq!(spec.command.spec().name, spec.name);
            let mut variant = String::new();
            for letter in format!("{:?}", spec.command).chars() {
                if !letter.is_lowercase() && !variant.is_empty() {
                    variant.push('-');
                }
                variant.push(letter.to_ascii_lowercase());
            }
            assert_eq!(spec.name, variant);
        }
        assert_eq!(Command::from_name("none"), None, "it unbinds a key");
        for (command, number) in [
            (Command::RecipientSummary, None),
            (Command::View1, Some(1)),
            (Command::View9, Some(9)),
            (Command::SavedViews, None),
        ] {
            assert_eq!(command.view_number(), number);
        }
    }
}
