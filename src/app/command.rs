//! `Command`: everything a person can mean, whatever key or click said it.

use super::prompt::Edit;
use crate::render::BodyView;

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
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
    Select(Step),
    /// Move the text of the reader.
    Scroll(Step),
    /// Move a block that is wider than the reader sideways.
    Pan(Side),
    /// Read the selected email.
    Open,
    /// Leave the innermost layer: help, reader, then the program.
    Back,
    /// Leave the innermost layer, but never the program.
    Peel,
    /// Read the next (older) email.
    NextEmail,
    /// Read the previous (newer) email.
    PreviousEmail,
    /// Move the focus to the other pane.
    SwitchPane,
    /// Give the reader the whole screen, or take it back.
    FullReader,
    /// Cycle through beside, below and one at a time.
    Arrange,
    /// Move the divider.
    Divide(Side),
    /// Go to the next or the previous mark in the email.
    Mark(Side),
    /// Show the next face of the body.
    NextView,
    /// Show the previous face of the body.
    PreviousView,
    /// Show this face of the body.
    ShowView(BodyView),
    /// Fold the head of the email to what matters most, or unfold it.
    Fold,
    /// Type a date to go to.
    GoToDate,
    /// Type what the list is to be narrowed to.
    Filter,
    /// Narrow the list to rows like the selected one.
    Only(Cell),
    /// Show all mail to a recipient of the selected email, and what became of it.
    Card,
    /// Show the saved view of this number.
    ShowSaved(u8),
    /// Show the list of saved views.
    Views,
    /// Save what is shown as a view.
    SaveView,
    /// Take the marked view away.
    DropView,
    /// Look for text in the email.
    Find,
    /// Go back to what the list showed before.
    Undo,
    /// Show again what was gone back from.
    Redo,
    /// Go to the place before this one, or forth again.
    Place(Side),
    /// Fetch older emails until the filter finds enough of them.
    LookBack,
    /// Stop looking further back.
    Stop,
    /// Keep what was typed.
    Accept,
    /// Leave the prompt as if nothing had been typed.
    Cancel,
    /// Choose the next or the previous of what could be typed.
    Complete(Side),
    /// Type again what was typed earlier, or later than that.
    Recall(Side),
    /// Change the line that is being typed.
    Edit(Edit),
    /// Ask the service for what is new, and again for an email that failed.
    Refresh,
    /// Show times in full with their zone, or short.
    FullTimes,
    /// Let the terminal have the mouse, so that text can be selected, or take it back.
    Mouse,
    /// Show the profiles, to switch to another.
    Profiles,
    /// Mark the next or the previous of what can be chosen.
    Item(Side),
    /// Take what is marked.
    Take,
    /// Tell all there is to know about what failed.
    Details,
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
pub enum Side {
    /// To the left, or up for a divider that lies flat.
    Left,
    /// To the right, or down.
    Right,
}

/// What two rows of the list can have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cell {
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
    pub const fn words(self) -> &'static str {
        match self {
            Self::Select(step) => match step {
                Step::Down => "next row",
                Step::Up => "previous row",
                Step::HalfDown => "half a page down",
                Step::HalfUp => "half a page up",
                Step::PageDown => "a page down",
                Step::PageUp => "a page up",
                Step::First => "newest email",
                Step::Last => "oldest email",
            },
            Self::Scroll(step) => match step {
                Step::Down => "scroll the email down",
                Step::Up => "scroll the email up",
                Step::HalfDown => "half a page down",
                Step::HalfUp => "half a page up",
                Step::PageDown => "a page down",
                Step::PageUp => "a page up",
                Step::First => "start of the email",
                Step::Last => "end of the email",
            },
            Self::Pan(Side::Left) => "pan a wide block left",
            Self::Pan(Side::Right) => "pan a wide block right",
            Self::Open => "read the email; below the last one: look further back",
            Self::Back => "back; clear the filter; at the top: leave",
            Self::Peel => "back; clear the filter",
            Self::NextEmail => "next email",
            Self::PreviousEmail => "previous email",
            Self::SwitchPane => "other pane",
            Self::FullReader => "reader on the whole screen, and back",
            Self::Arrange => "panes beside, below, one at a time",
            Self::Divide(Side::Left) => "smaller list",
            Self::Divide(Side::Right) => "larger list",
            Self::Find => "find in the email",
            Self::Mark(Side::Right) => "next match",
            Self::Mark(Side::Left) => "previous match",
            Self::NextView => "next view of the body",
            Self::PreviousView => "previous view of the body",
            Self::ShowView(BodyView::Rendered) => "body as the recipient saw it",
            Self::ShowView(BodyView::Text) => "plain-text part",
            Self::ShowView(BodyView::Source) => "html source",
            Self::ShowView(BodyView::Raw) => "raw JSON, every field",
            Self::Fold => "fold or unfold the head of the email",
            Self::GoToDate => "go to a date",
            Self::Filter => "filter the list while you type",
            Self::Only(Cell::Recipient) => "only emails to this recipient",
            Self::Only(Cell::Domain) => "only emails to this domain",
            Self::Only(Cell::Subject) => "only emails with this subject",
            Self::Only(Cell::Sender) => "only emails from this sender",
            Self::Only(Cell::Status) => "only emails with this status",
            Self::Card => "all mail to this recipient; again: to the next one",
            Self::ShowSaved(_) => "show a saved view",
            Self::Views => "all saved views",
            Self::SaveView => "save what is shown as a view",
            Self::DropView => "take the marked view away",
            Self::Undo => "undo a change of what is shown",
            Self::Redo => "redo it",
            Self::Place(Side::Left) => "the place before this one",
            Self::Place(Side::Right) => "the place after this one",
            Self::LookBack => "look further back",
            Self::Stop => "stop fetching older mail",
            Self::Accept => "keep what is typed; go to the date",
            Self::Cancel => "leave it as it was before",
            Self::Complete(Side::Right) => "next offer",
            Self::Complete(Side::Left) => "previous offer",
            Self::Recall(Side::Left) => "an earlier filter",
            Self::Recall(Side::Right) => "a later filter",
            Self::Edit(edit) => edit.words(),
            Self::Refresh => "ask the service again now",
            Self::FullTimes => "full times with zone, or short",
            Self::Mouse => "mouse off and on (off: select text)",
            Self::Profiles => "switch profile",
            Self::Item(Side::Right) => "mark the next",
            Self::Item(Side::Left) => "mark the previous",
            Self::Take => "take what is marked",
            Self::Details => "what failed, in detail",
            Self::Help => "this help",
            Self::Redraw => "paint the screen again",
            Self::Suspend => "stop until the shell continues",
            Self::Quit => "leave",
        }
    }

    /// The one or two words of it for the hint line.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Select(Step::First) => "newest",
            Self::Select(Step::Last) => "oldest",
            Self::Select(_) => "down",
            Self::Scroll(Step::First) => "start",
            Self::Scroll(Step::Last) => "end",
            Self::Scroll(_) => "scroll",
            Self::Pan(_) => "pan",
            Self::Open => "read",
            Self::Back => "back",
            Self::Peel => "all mail",
            Self::NextEmail => "next",
            Self::PreviousEmail => "previous",
            Self::SwitchPane => "pane",
            Self::FullReader => "full",
            Self::Arrange => "panes",
            Self::Divide(_) => "divider",
            Self::Mark(_) => "match",
            Self::NextView | Self::PreviousView | Self::ShowView(_) => "view",
            Self::Fold => "fold",
            Self::GoToDate => "date",
            Self::Filter => "filter",
            Self::Only(_) => "only these",
            Self::Card => "recipient",
            Self::ShowSaved(_) => "view",
            Self::Views => "views",
            Self::SaveView => "save",
            Self::DropView => "take away",
            Self::Find => "find",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Place(_) => "places",
            Self::LookBack => "further back",
            Self::Stop => "stop",
            Self::Accept => "keep",
            Self::Cancel => "cancel",
            Self::Complete(_) => "choose",
            Self::Recall(_) => "earlier",
            Self::Edit(_) => "edit",
            Self::Refresh => "refresh",
            Self::FullTimes => "times",
            Self::Mouse => "mouse",
            Self::Profiles => "profile",
            Self::Item(_) => "choose",
            Self::Take => "take it",
            Self::Details => "details",
            Self::Help => "help",
            Self::Redraw => "redraw",
            Self::Suspend => "suspend",
            Self::Quit => "quit",
        }
    }
}
