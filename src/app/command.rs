//! `Command`: everything a person can mean, whatever key or click said it.

use super::prompt::LineEdit;
use crate::render::BodyView;

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Motion {
    /// One row or line towards the end.
    Down,
    /// One row or line towards the start.
    Up,
    /// Half a page towards the end.
    HalfDown,
    /// Half a page towards the start.
    HalfUp,
    /// A page towards the end.
    PageDown,
    /// A page towards the start.
    PageUp,
    /// To the start.
    First,
    /// To the end.
    Last,
}

/// What a person wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// Move the selection in the list.
    MoveSelection(Motion),
    /// Move the text of the reader.
    Scroll(Motion),
    /// Move a block that is wider than the reader sideways.
    Pan(Direction),
    /// Read the selected email.
    Open,
    /// Leave the innermost layer: help, reader, then the program.
    Back,
    /// Leave the innermost layer, but never the program.
    CloseLayer,
    /// Read the next (older) email.
    NextEmail,
    /// Read the previous (newer) email.
    PreviousEmail,
    /// Move the focus to the other pane.
    SwitchPane,
    /// Give the reader the whole screen, or take it back.
    FullReader,
    /// Cycle through beside, below and one at a time.
    CycleLayout,
    /// Move the divider.
    ResizeSplit(Direction),
    /// Go to the next or the previous mark in the email.
    GoToMatch(Direction),
    /// Show the next face of the body.
    NextView,
    /// Show the previous face of the body.
    PreviousView,
    /// Show this face of the body.
    ShowView(BodyView),
    /// Fold the head of the email to what matters most, or unfold it.
    FoldHeader,
    /// Type a date to go to.
    GoToDate,
    /// Type what the list is to be narrowed to.
    Filter,
    /// Narrow the list to rows like the selected one.
    FilterBy(RowField),
    /// Show all mail to a recipient of the selected email, and what became of it.
    RecipientSummary,
    /// Show the saved view of this number.
    ShowSavedView(u8),
    /// Show the list of saved views.
    SavedViews,
    /// Save what is shown as a view.
    SaveView,
    /// Take the marked view away.
    DeleteView,
    /// Look for text in the email.
    Find,
    /// Go back to what the list showed before.
    Undo,
    /// Show again what was gone back from.
    Redo,
    /// Go to the place before this one, or forth again.
    History(Direction),
    /// Fetch older emails until the filter finds enough of them.
    LoadOlder,
    /// Stop looking further back.
    Stop,
    /// Keep what was typed.
    Accept,
    /// Leave the prompt as if nothing had been typed.
    Cancel,
    /// Choose the next or the previous of what could be typed.
    CycleSuggestion(Direction),
    /// Type again what was typed earlier, or later than that.
    RecallFilter(Direction),
    /// Change the line that is being typed.
    Edit(LineEdit),
    /// Ask the service for what is new, and again for an email that failed.
    Refresh,
    /// Show times in full with their zone, or short.
    FullTimes,
    /// Let the terminal have the mouse, so that text can be selected, or take it back.
    ToggleMouse,
    /// Show the profiles, to switch to another.
    Profiles,
    /// Mark the next or the previous of what can be chosen.
    MoveChoice(Direction),
    /// Take what is marked.
    Confirm,
    /// Tell all there is to know about what failed.
    ErrorDetails,
    /// Show all keys, or hide them.
    Help,
    /// Paint the whole screen again.
    Redraw,
    /// Stop the program until the shell continues it.
    Suspend,
    /// Leave the program.
    Quit,
}

/// A direction on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the left, or up for a divider that lies flat.
    Left,
    /// To the right, or down.
    Right,
}

/// What two rows of the list can have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowField {
    /// The first recipient.
    Recipient,
    /// The domain of the first recipient.
    Domain,
    /// The subject.
    Subject,
    /// The sender.
    Sender,
    /// The status.
    Status,
}

impl Command {
    /// What it does, for the help.
    #[must_use]
    pub const fn help_text(self) -> &'static str {
        match self {
            Self::MoveSelection(step) => match step {
                Motion::Down => "next row",
                Motion::Up => "previous row",
                Motion::HalfDown => "half a page down",
                Motion::HalfUp => "half a page up",
                Motion::PageDown => "a page down",
                Motion::PageUp => "a page up",
                Motion::First => "newest email",
                Motion::Last => "oldest email",
            },
            Self::Scroll(step) => match step {
                Motion::Down => "scroll the email down",
                Motion::Up => "scroll the email up",
                Motion::HalfDown => "half a page down",
                Motion::HalfUp => "half a page up",
                Motion::PageDown => "a page down",
                Motion::PageUp => "a page up",
                Motion::First => "start of the email",
                Motion::Last => "end of the email",
            },
            Self::Pan(Direction::Left) => "pan a wide block left",
            Self::Pan(Direction::Right) => "pan a wide block right",
            Self::Open => "read the email; below the last one: look further back",
            Self::Back => "back; clear the filter; at the top: leave",
            Self::CloseLayer => "back; clear the filter",
            Self::NextEmail => "next email",
            Self::PreviousEmail => "previous email",
            Self::SwitchPane => "other pane",
            Self::FullReader => "reader on the whole screen, and back",
            Self::CycleLayout => "panes beside, below, one at a time",
            Self::ResizeSplit(Direction::Left) => "smaller list",
            Self::ResizeSplit(Direction::Right) => "larger list",
            Self::Find => "find in the email",
            Self::GoToMatch(Direction::Right) => "next match",
            Self::GoToMatch(Direction::Left) => "previous match",
            Self::NextView => "next view of the body",
            Self::PreviousView => "previous view of the body",
            Self::ShowView(BodyView::Rendered) => "body as the recipient saw it",
            Self::ShowView(BodyView::Text) => "plain-text part",
            Self::ShowView(BodyView::Source) => "html source",
            Self::ShowView(BodyView::Raw) => "raw JSON, every field",
            Self::FoldHeader => "fold or unfold the head of the email",
            Self::GoToDate => "go to a date",
            Self::Filter => "filter the list while you type",
            Self::FilterBy(RowField::Recipient) => "only emails to this recipient",
            Self::FilterBy(RowField::Domain) => "only emails to this domain",
            Self::FilterBy(RowField::Subject) => "only emails with this subject",
            Self::FilterBy(RowField::Sender) => "only emails from this sender",
            Self::FilterBy(RowField::Status) => "only emails with this status",
            Self::RecipientSummary => "all mail to this recipient; again: to the next one",
            Self::ShowSavedView(_) => "show a saved view",
            Self::SavedViews => "all saved views",
            Self::SaveView => "save what is shown as a view",
            Self::DeleteView => "take the marked view away",
            Self::Undo => "undo a change of what is shown",
            Self::Redo => "redo it",
            Self::History(Direction::Left) => "the place before this one",
            Self::History(Direction::Right) => "the place after this one",
            Self::LoadOlder => "look further back",
            Self::Stop => "stop fetching older mail",
            Self::Accept => "keep what is typed; go to the date",
            Self::Cancel => "leave it as it was before",
            Self::CycleSuggestion(Direction::Right) => "next offer",
            Self::CycleSuggestion(Direction::Left) => "previous offer",
            Self::RecallFilter(Direction::Left) => "an earlier filter",
            Self::RecallFilter(Direction::Right) => "a later filter",
            Self::Edit(edit) => edit.help_text(),
            Self::Refresh => "ask the service again now",
            Self::FullTimes => "full times with zone, or short",
            Self::ToggleMouse => "mouse off and on (off: select text)",
            Self::Profiles => "switch profile",
            Self::MoveChoice(Direction::Right) => "mark the next",
            Self::MoveChoice(Direction::Left) => "mark the previous",
            Self::Confirm => "take what is marked",
            Self::ErrorDetails => "what failed, in detail",
            Self::Help => "this help",
            Self::Redraw => "paint the screen again",
            Self::Suspend => "stop until the shell continues",
            Self::Quit => "leave",
        }
    }

    /// The one or two words of it for the hint line.
    #[must_use]
    pub const fn hint_label(self) -> &'static str {
        match self {
            Self::MoveSelection(Motion::First) => "newest",
            Self::MoveSelection(Motion::Last) => "oldest",
            Self::MoveSelection(_) => "down",
            Self::Scroll(Motion::First) => "start",
            Self::Scroll(Motion::Last) => "end",
            Self::Scroll(_) => "scroll",
            Self::Pan(_) => "pan",
            Self::Open => "read",
            Self::Back => "back",
            Self::CloseLayer => "all mail",
            Self::NextEmail => "next",
            Self::PreviousEmail => "previous",
            Self::SwitchPane => "pane",
            Self::FullReader => "full",
            Self::CycleLayout => "panes",
            Self::ResizeSplit(_) => "divider",
            Self::GoToMatch(_) => "match",
            Self::NextView | Self::PreviousView | Self::ShowView(_) => "view",
            Self::FoldHeader => "fold",
            Self::GoToDate => "date",
            Self::Filter => "filter",
            Self::FilterBy(_) => "only these",
            Self::RecipientSummary => "recipient",
            Self::ShowSavedView(_) => "view",
            Self::SavedViews => "views",
            Self::SaveView => "save",
            Self::DeleteView => "take away",
            Self::Find => "find",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::History(_) => "places",
            Self::LoadOlder => "further back",
            Self::Stop => "stop",
            Self::Accept => "keep",
            Self::Cancel => "cancel",
            Self::CycleSuggestion(_) => "choose",
            Self::RecallFilter(_) => "earlier",
            Self::Edit(_) => "edit",
            Self::Refresh => "refresh",
            Self::FullTimes => "times",
            Self::ToggleMouse => "mouse",
            Self::Profiles => "profile",
            Self::MoveChoice(_) => "choose",
            Self::Confirm => "take it",
            Self::ErrorDetails => "details",
            Self::Help => "help",
            Self::Redraw => "redraw",
            Self::Suspend => "suspend",
            Self::Quit => "quit",
        }
    }
}
