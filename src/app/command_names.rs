//! Names of commands, by which the configuration binds keys to them.

use super::command::{Command, Direction, Motion, RowField};
use super::key::DEFAULT_BINDINGS;
use super::prompt::LineEdit;
use crate::render::BodyView;

impl Command {
    /// The command of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|command| command.name() == name)
    }

    /// All commands that a key can mean.
    pub fn all() -> impl Iterator<Item = Self> {
        DEFAULT_BINDINGS.iter().map(|binding| binding.command)
    }

    /// Its name; stable.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MoveSelection(step) => match step {
                Motion::Down => "next-row",
                Motion::Up => "previous-row",
                Motion::HalfDown => "half-page-down",
                Motion::HalfUp => "half-page-up",
                Motion::PageDown => "page-down",
                Motion::PageUp => "page-up",
                Motion::First => "newest",
                Motion::Last => "oldest",
            },
            Self::Scroll(step) => match step {
                Motion::Down => "scroll-down",
                Motion::Up => "scroll-up",
                Motion::HalfDown => "scroll-half-page-down",
                Motion::HalfUp => "scroll-half-page-up",
                Motion::PageDown => "scroll-page-down",
                Motion::PageUp => "scroll-page-up",
                Motion::First => "scroll-to-start",
                Motion::Last => "scroll-to-end",
            },
            Self::Pan(Direction::Left) => "pan-left",
            Self::Pan(Direction::Right) => "pan-right",
            Self::Open => "read",
            Self::Back => "back",
            Self::CloseLayer => "back-not-out",
            Self::NextEmail => "next-email",
            Self::PreviousEmail => "previous-email",
            Self::SwitchPane => "other-pane",
            Self::FullReader => "full-reader",
            Self::CycleLayout => "arrange-panes",
            Self::ResizeSplit(Direction::Left) => "smaller-list",
            Self::ResizeSplit(Direction::Right) => "larger-list",
            Self::GoToMatch(Direction::Right) => "next-match",
            Self::GoToMatch(Direction::Left) => "previous-match",
            Self::NextView => "next-body-view",
            Self::PreviousView => "previous-body-view",
            Self::ShowView(BodyView::Rendered) => "show-rendered",
            Self::ShowView(BodyView::Text) => "show-text",
            Self::ShowView(BodyView::Source) => "show-source",
            Self::ShowView(BodyView::Raw) => "show-raw",
            Self::FoldHeader => "fold-head",
            Self::GoToDate => "go-to-date",
            Self::Filter => "filter",
            Self::FilterBy(RowField::Recipient) => "only-recipient",
            Self::FilterBy(RowField::Domain) => "only-domain",
            Self::FilterBy(RowField::Subject) => "only-subject",
            Self::FilterBy(RowField::Sender) => "only-sender",
            Self::FilterBy(RowField::Status) => "only-status",
            Self::RecipientSummary => "recipient-card",
            Self::ShowSavedView(number) => match number {
                1 => "view-1",
                2 => "view-2",
                3 => "view-3",
                4 => "view-4",
                5 => "view-5",
                6 => "view-6",
                7 => "view-7",
                8 => "view-8",
                _ => "view-9",
            },
            Self::SavedViews => "views",
            Self::SaveView => "save-view",
            Self::DeleteView => "drop-view",
            Self::Find => "find",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::History(Direction::Left) => "place-before",
            Self::History(Direction::Right) => "place-after",
            Self::LoadOlder => "look-back",
            Self::Stop => "stop",
            Self::Accept => "accept",
            Self::Cancel => "cancel",
            Self::CycleSuggestion(Direction::Right) => "next-offer",
            Self::CycleSuggestion(Direction::Left) => "previous-offer",
            Self::RecallFilter(Direction::Left) => "earlier-filter",
            Self::RecallFilter(Direction::Right) => "later-filter",
            Self::Edit(edit) => match edit {
                LineEdit::Left => "letter-left",
                LineEdit::Right => "letter-right",
                LineEdit::WordLeft => "word-left",
                LineEdit::WordRight => "word-right",
                LineEdit::Start => "line-start",
                LineEdit::End => "line-end",
                LineEdit::Backspace => "delete-letter-before",
                LineEdit::Delete => "delete-letter-after",
                LineEdit::DeleteWord => "delete-word-before",
                LineEdit::DeleteBefore => "delete-all-before",
                LineEdit::DeleteAfter => "delete-all-after",
            },
            Self::Refresh => "refresh",
            Self::FullTimes => "full-times",
            Self::ToggleMouse => "mouse",
            Self::Profiles => "profiles",
            Self::MoveChoice(Direction::Right) => "next-item",
            Self::MoveChoice(Direction::Left) => "previous-item",
            Self::Confirm => "take",
            Self::ErrorDetails => "details",
            Self::Help => "help",
            Self::Redraw => "redraw",
            Self::Suspend => "suspend",
            Self::Quit => "quit",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_name_means_one_command() {
        let mut named = HashMap::new();
        for command in Command::all() {
            assert_eq!(
                *named.entry(command.name()).or_insert(command),
                command,
                "{}",
                command.name()
            );
            assert_eq!(Command::from_name(command.name()), Some(command));
        }
        assert_eq!(Command::from_name("none"), None, "that takes a key away");
    }
}
