//! The key table: what each key means where, and the one source of every text about keys.

use std::fmt;

use crossterm::event::{KeyCode, KeyModifiers};

use super::command::{Command, Direction, Motion, RowField};
use super::prompt::LineEdit;
use crate::render::BodyView;

/// What has the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Focus {
    /// The list of emails.
    List,
    /// The email.
    Reader,
    /// The help.
    Help,
    /// A line that is being typed.
    Prompt,
    /// A few things to choose from.
    Choice,
}

/// One key press, or one step of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// The key; letters carry their case.
    pub code: KeyCode,
    /// Control and Alt, and Shift for keys that are not letters.
    pub modifiers: KeyModifiers,
}

impl Key {
    /// Levels what terminals report differently: Shift on a letter, which the letter already tells,
    /// and Shift-Tab, which has a code of its own.
    #[must_use]
    pub fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let kept = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        let modifiers = modifiers & kept;
        match code {
            KeyCode::Char(_) => Self {
                code,
                modifiers: modifiers - KeyModifiers::SHIFT,
            },
            KeyCode::BackTab => Self {
                code: KeyCode::Tab,
                modifiers: modifiers | KeyModifiers::SHIFT,
            },
            _ => Self { code, modifiers },
        }
    }

    /// The letter that it writes where one types.
    #[must_use]
    pub fn typed_char(self) -> Option<char> {
        match self.code {
            KeyCode::Char(letter) if self.modifiers.is_empty() => Some(letter),
            _ => None,
        }
    }

    /// Reads a key as the table and people write it: `j`, `G`, `Ctrl-d`, `Shift-Down`, `F5`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        loop {
            let (modifier, after) = match rest {
                _ if rest.starts_with("Ctrl-") => (KeyModifiers::CONTROL, &rest[5..]),
                _ if rest.starts_with("Alt-") => (KeyModifiers::ALT, &rest[4..]),
                _ if rest.starts_with("Shift-") => (KeyModifiers::SHIFT, &rest[6..]),
                _ => break,
            };
            modifiers |= modifier;
            rest = after;
        }
        let mut letters = rest.chars();
        let code = match (letters.next(), letters.next()) {
            (Some(letter), None) => KeyCode::Char(letter),
            _ => match rest
                .strip_prefix('F')
                .and_then(|number| number.parse().ok())
            {
                Some(number @ 1..=12) => KeyCode::F(number),
                _ => KEY_NAMES.iter().find(|(_, name)| *name == rest)?.0,
            },
        };
        Some(Self::new(code, modifiers))
    }
}

/// Keys that have a name instead of a letter.
const KEY_NAMES: [(KeyCode, &str); 15] = [
    (KeyCode::Enter, "Enter"),
    (KeyCode::Esc, "Esc"),
    (KeyCode::Tab, "Tab"),
    (KeyCode::Char(' '), "Space"),
    (KeyCode::Up, "Up"),
    (KeyCode::Down, "Down"),
    (KeyCode::Left, "Left"),
    (KeyCode::Right, "Right"),
    (KeyCode::PageUp, "PgUp"),
    (KeyCode::PageDown, "PgDn"),
    (KeyCode::Home, "Home"),
    (KeyCode::End, "End"),
    (KeyCode::Backspace, "Backspace"),
    (KeyCode::Delete, "Delete"),
    (KeyCode::Insert, "Insert"),
];

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in [
            (KeyModifiers::CONTROL, "Ctrl-"),
            (KeyModifiers::ALT, "Alt-"),
            (KeyModifiers::SHIFT, "Shift-"),
        ] {
            if self.modifiers.contains(modifier) {
                f.write_str(name)?;
            }
        }
        match KEY_NAMES.iter().find(|(code, _)| *code == self.code) {
            Some((_, name)) => f.write_str(name),
            None => match self.code {
                KeyCode::Char(letter) => write!(f, "{letter}"),
                other => write!(f, "{other}"),
            },
        }
    }
}

/// A row of the table: in one of these places, any of these key sequences means the command.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Where it holds.
    pub focuses: &'static [Focus],
    /// The sequences, best first; the steps of a sequence are separated by a blank.
    pub keys: &'static [&'static str],
    /// What it means.
    pub command: Command,
}

pub(super) const LIST: &[Focus] = &[Focus::List];
pub(super) const READER: &[Focus] = &[Focus::Reader];
pub(super) const PANES: &[Focus] = &[Focus::List, Focus::Reader];
pub(super) const TEXT: &[Focus] = &[Focus::Reader, Focus::Help];
pub(super) const CHOICE: &[Focus] = &[Focus::Choice];
/// Where a number means a view.
pub(super) const VIEW_NUMBERS: &[Focus] = &[Focus::List, Focus::Reader, Focus::Choice];
pub(super) const ALL: &[Focus] = &[Focus::List, Focus::Reader, Focus::Help, Focus::Choice];
pub(super) const PROMPT: &[Focus] = &[Focus::Prompt];
pub(super) const EVERYWHERE: &[Focus] = &[
    Focus::List,
    Focus::Reader,
    Focus::Help,
    Focus::Prompt,
    Focus::Choice,
];

const fn bind(
    places: &'static [Focus],
    keys: &'static [&'static str],
    command: Command,
) -> Binding {
    Binding {
        focuses: places,
        keys,
        command,
    }
}

/// The defaults, in the order of the help.
pub const DEFAULT_BINDINGS: &[Binding] = &[
    bind(
        LIST,
        &["j", "Down", "Ctrl-n"],
        Command::MoveSelection(Motion::Down),
    ),
    bind(
        LIST,
        &["k", "Up", "Ctrl-p"],
        Command::MoveSelection(Motion::Up),
    ),
    bind(LIST, &["Ctrl-d"], Command::MoveSelection(Motion::HalfDown)),
    bind(LIST, &["Ctrl-u"], Command::MoveSelection(Motion::HalfUp)),
    bind(
        LIST,
        &["PgDn", "Ctrl-f", "Space"],
        Command::MoveSelection(Motion::PageDown),
    ),
    bind(
        LIST,
        &["PgUp", "Ctrl-b"],
        Command::MoveSelection(Motion::PageUp),
    ),
    bind(
        LIST,
        &["g g", "Home"],
        Command::MoveSelection(Motion::First),
    ),
    bind(LIST, &["G", "End"], Command::MoveSelection(Motion::Last)),
    bind(LIST, &["g d"], Command::GoToDate),
    bind(LIST, &["Enter", "l", "Right"], Command::Open),
    bind(LIST, &["/", "f"], Command::Filter),
    bind(LIST, &["@ t"], Command::FilterBy(RowField::Recipient)),
    bind(LIST, &["@ d"], Command::FilterBy(RowField::Domain)),
    bind(LIST, &["@ s"], Command::FilterBy(RowField::Subject)),
    bind(LIST, &["@ f"], Command::FilterBy(RowField::Sender)),
    bind(LIST, &["@ v"], Command::FilterBy(RowField::Status)),
    bind(PANES, &["c"], Command::RecipientSummary),
    bind(VIEW_NUMBERS, &["1"], Command::ShowSavedView(1)),
    bind(VIEW_NUMBERS, &["2"], Command::ShowSavedView(2)),
    bind(VIEW_NUMBERS, &["3"], Command::ShowSavedView(3)),
    bind(VIEW_NUMBERS, &["4"], Command::ShowSavedView(4)),
    bind(VIEW_NUMBERS, &["5"], Command::ShowSavedView(5)),
    bind(VIEW_NUMBERS, &["6"], Command::ShowSavedView(6)),
    bind(VIEW_NUMBERS, &["7"], Command::ShowSavedView(7)),
    bind(VIEW_NUMBERS, &["8"], Command::ShowSavedView(8)),
    bind(VIEW_NUMBERS, &["9"], Command::ShowSavedView(9)),
    bind(PANES, &["g v"], Command::SavedViews),
    bind(PANES, &["W"], Command::SaveView),
    bind(
        PANES,
        &["g [", "Alt-Left"],
        Command::History(Direction::Left),
    ),
    bind(
        PANES,
        &["g ]", "Alt-Right"],
        Command::History(Direction::Right),
    ),
    bind(LIST, &["u"], Command::Undo),
    bind(LIST, &["U"], Command::Redo),
    bind(LIST, &["b"], Command::LoadOlder),
    bind(READER, &["J"], Command::NextEmail),
    bind(READER, &["K"], Command::PreviousEmail),
    bind(TEXT, &["j", "Down"], Command::Scroll(Motion::Down)),
    bind(TEXT, &["k", "Up"], Command::Scroll(Motion::Up)),
    bind(
        LIST,
        &["Alt-j", "Shift-Down"],
        Command::Scroll(Motion::Down),
    ),
    bind(LIST, &["Alt-k", "Shift-Up"], Command::Scroll(Motion::Up)),
    bind(TEXT, &["Ctrl-d"], Command::Scroll(Motion::HalfDown)),
    bind(TEXT, &["Ctrl-u"], Command::Scroll(Motion::HalfUp)),
    bind(
        TEXT,
        &["PgDn", "Ctrl-f", "Space"],
        Command::Scroll(Motion::PageDown),
    ),
    bind(TEXT, &["PgUp", "Ctrl-b"], Command::Scroll(Motion::PageUp)),
    bind(TEXT, &["g g", "Home"], Command::Scroll(Motion::First)),
    bind(TEXT, &["G", "End"], Command::Scroll(Motion::Last)),
    bind(READER, &["/"], Command::Find),
    bind(READER, &["n"], Command::GoToMatch(Direction::Right)),
    bind(READER, &["N"], Command::GoToMatch(Direction::Left)),
    bind(READER, &["H"], Command::Pan(Direction::Left)),
    bind(READER, &["L"], Command::Pan(Direction::Right)),
    bind(PANES, &["v", "]"], Command::NextView),
    bind(PANES, &["["], Command::PreviousView),
    bind(PANES, &["Alt-1"], Command::ShowView(BodyView::Rendered)),
    bind(PANES, &["Alt-2"], Command::ShowView(BodyView::Text)),
    bind(PANES, &["Alt-3"], Command::ShowView(BodyView::Source)),
    bind(PANES, &["Alt-4"], Command::ShowView(BodyView::Raw)),
    bind(PANES, &["Z"], Command::FoldHeader),
    bind(PANES, &["Tab", "Shift-Tab"], Command::SwitchPane),
    bind(PANES, &["z"], Command::FullReader),
    bind(PANES, &["P"], Command::CycleLayout),
    bind(PANES, &["<"], Command::ResizeSplit(Direction::Left)),
    bind(PANES, &[">"], Command::ResizeSplit(Direction::Right)),
    bind(PANES, &["Ctrl-x"], Command::Stop),
    bind(PANES, &["r", "F5"], Command::Refresh),
    bind(PANES, &["t"], Command::FullTimes),
    bind(PANES, &["M"], Command::ToggleMouse),
    bind(LIST, &["q"], Command::Back),
    bind(TEXT, &["q", "Esc", "h", "Left"], Command::Back),
    bind(LIST, &["Esc"], Command::CloseLayer),
    bind(PANES, &["g p"], Command::Profiles),
    bind(PANES, &["!"], Command::ErrorDetails),
    bind(ALL, &["?", "F1"], Command::Help),
    bind(
        CHOICE,
        &["j", "Down", "Tab", "Ctrl-n"],
        Command::MoveChoice(Direction::Right),
    ),
    bind(
        CHOICE,
        &["k", "Up", "Shift-Tab", "Ctrl-p"],
        Command::MoveChoice(Direction::Left),
    ),
    bind(CHOICE, &["Enter", "l", "Right"], Command::Confirm),
    bind(CHOICE, &["d d"], Command::DeleteView),
    bind(CHOICE, &["q"], Command::Back),
    bind(CHOICE, &["Esc", "h", "Left"], Command::CloseLayer),
    bind(PROMPT, &["Enter"], Command::Accept),
    bind(PROMPT, &["Esc"], Command::Cancel),
    bind(
        PROMPT,
        &["Tab", "Down"],
        Command::CycleSuggestion(Direction::Right),
    ),
    bind(
        PROMPT,
        &["Shift-Tab", "Up"],
        Command::CycleSuggestion(Direction::Left),
    ),
    bind(PROMPT, &["Ctrl-p"], Command::RecallFilter(Direction::Left)),
    bind(PROMPT, &["Ctrl-n"], Command::RecallFilter(Direction::Right)),
    bind(PROMPT, &["Left", "Ctrl-b"], Command::Edit(LineEdit::Left)),
    bind(PROMPT, &["Right", "Ctrl-f"], Command::Edit(LineEdit::Right)),
    bind(
        PROMPT,
        &["Ctrl-Left", "Alt-b"],
        Command::Edit(LineEdit::WordLeft),
    ),
    bind(
        PROMPT,
        &["Ctrl-Right", "Alt-f"],
        Command::Edit(LineEdit::WordRight),
    ),
    bind(PROMPT, &["Home", "Ctrl-a"], Command::Edit(LineEdit::Start)),
    bind(PROMPT, &["End", "Ctrl-e"], Command::Edit(LineEdit::End)),
    bind(
        PROMPT,
        &["Backspace", "Ctrl-h"],
        Command::Edit(LineEdit::Backspace),
    ),
    bind(
        PROMPT,
        &["Delete", "Ctrl-d"],
        Command::Edit(LineEdit::Delete),
    ),
    bind(
        PROMPT,
        &["Ctrl-w", "Alt-Backspace"],
        Command::Edit(LineEdit::DeleteWord),
    ),
    bind(PROMPT, &["Ctrl-u"], Command::Edit(LineEdit::DeleteBefore)),
    bind(PROMPT, &["Ctrl-k"], Command::Edit(LineEdit::DeleteAfter)),
    bind(EVERYWHERE, &["Ctrl-l"], Command::Redraw),
    bind(EVERYWHERE, &["Ctrl-z"], Command::Suspend),
    bind(EVERYWHERE, &["Ctrl-c"], Command::Quit),
];

/// A sequence as people write it: letters close together.
#[must_use]
pub fn format_sequence(sequence: &[Key]) -> String {
    let steps: Vec<String> = sequence.iter().map(Key::to_string).collect();
    let tight = steps.iter().all(|step| step.chars().count() == 1);
    steps.join(if tight { "" } else { " " })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_as_they_are_read() {
        for text in [
            "j",
            "G",
            "Ctrl-d",
            "Alt-j",
            "Shift-Down",
            "F5",
            "F12",
            "Insert",
            "Space",
            "Enter",
            "<",
        ] {
            assert_eq!(Key::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Key::parse("Shift-Tab"),
            Some(Key::new(KeyCode::BackTab, KeyModifiers::SHIFT))
        );
        assert_eq!(Key::parse("Hyper-x"), None);
        let sequence = |text: &str| {
            text.split(' ')
                .map(|key| Key::parse(key).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (
                format_sequence(&sequence("g g")),
                format_sequence(&sequence("g Enter"))
            ),
            ("gg".to_owned(), "g Enter".to_owned())
        );
    }

    #[test]
    fn shift_on_a_letter_changes_nothing_that_the_letter_does_not_tell() {
        assert_eq!(
            Key::new(KeyCode::Char('G'), KeyModifiers::SHIFT),
            Key::parse("G").unwrap()
        );
    }
}
