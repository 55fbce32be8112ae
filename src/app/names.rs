//! Names of commands, by which the configuration binds keys to them.

use super::command::{Cell, Command, Side, Step};
use super::keys::TABLE;
use super::prompt::Edit;
use crate::render::BodyView;

impl Command {
    /// The command of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|command| command.name() == name)
    }

    /// All commands that a key can mean.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|binding| binding.command)
    }

    /// Its name; stable.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Select(step) => match step {
                Step::Down => "next-row",
                Step::Up => "previous-row",
                Step::HalfDown => "half-page-down",
                Step::HalfUp => "half-page-up",
                Step::PageDown => "page-down",
                Step::PageUp => "page-up",
                Step::First => "newest",
                Step::Last => "oldest",
            },
            Self::Scroll(step) => match step {
                Step::Down => "scroll-down",
                Step::Up => "scroll-up",
                Step::HalfDown => "scroll-half-page-down",
                Step::HalfUp => "scroll-half-page-up",
                Step::PageDown => "scroll-page-down",
                Step::PageUp => "scroll-page-up",
                Step::First => "scroll-to-start",
                Step::Last => "scroll-to-end",
            },
            Self::Pan(Side::Left) => "pan-left",
            Self::Pan(Side::Right) => "pan-right",
            Self::Open => "read",
            Self::Back => "back",
            Self::Peel => "back-not-out",
            Self::NextEmail => "next-email",
            Self::PreviousEmail => "previous-email",
            Self::SwitchPane => "other-pane",
            Self::FullReader => "full-reader",
            Self::Arrange => "arrange-panes",
            Self::Divide(Side::Left) => "smaller-list",
            Self::Divide(Side::Right) => "larger-list",
            Self::Mark(Side::Right) => "next-match",
            Self::Mark(Side::Left) => "previous-match",
            Self::NextView => "next-body-view",
            Self::PreviousView => "previous-body-view",
            Self::ShowView(BodyView::Rendered) => "show-rendered",
            Self::ShowView(BodyView::Text) => "show-text",
            Self::ShowView(BodyView::Source) => "show-source",
            Self::ShowView(BodyView::Raw) => "show-raw",
            Self::Fold => "fold-head",
            Self::GoToDate => "go-to-date",
            Self::Filter => "filter",
            Self::Only(Cell::Recipient) => "only-recipient",
            Self::Only(Cell::Domain) => "only-domain",
            Self::Only(Cell::Subject) => "only-subject",
            Self::Only(Cell::Sender) => "only-sender",
            Self::Only(Cell::Status) => "only-status",
            Self::Card => "recipient-card",
            Self::ShowSaved(number) => match number {
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
            Self::Views => "views",
            Self::SaveView => "save-view",
            Self::DropView => "drop-view",
            Self::Find => "find",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Place(Side::Left) => "place-before",
            Self::Place(Side::Right) => "place-after",
            Self::LookBack => "look-back",
            Self::Stop => "stop",
            Self::Accept => "accept",
            Self::Cancel => "cancel",
            Self::Complete(Side::Right) => "next-offer",
            Self::Complete(Side::Left) => "previous-offer",
            Self::Recall(Side::Left) => "earlier-filter",
            Self::Recall(Side::Right) => "later-filter",
            Self::Edit(edit) => match edit {
                Edit::Left => "letter-left",
                Edit::Right => "letter-right",
                Edit::WordLeft => "word-left",
                Edit::WordRight => "word-right",
                Edit::Start => "line-start",
                Edit::End => "line-end",
                Edit::Backspace => "delete-letter-before",
                Edit::Delete => "delete-letter-after",
                Edit::DeleteWord => "delete-word-before",
                Edit::DeleteBefore => "delete-all-before",
                Edit::DeleteAfter => "delete-all-after",
            },
            Self::Refresh => "refresh",
            Self::FullTimes => "full-times",
            Self::Mouse => "mouse",
            Self::Profiles => "profiles",
            Self::Item(Side::Right) => "next-item",
            Self::Item(Side::Left) => "previous-item",
            Self::Take => "take",
            Self::Details => "details",
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
            assert_eq!(Command::named(command.name()), Some(command));
        }
        assert_eq!(Command::named("none"), None, "that takes a key away");
    }
}
