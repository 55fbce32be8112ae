//! The key table: what each key means where, and the one source of every text about keys.

use std::fmt;

use crossterm::event::{KeyCode, KeyModifiers};

use super::command::{Cell, Command, Side, Step};
use super::prompt::Edit;
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
    pub fn letter(self) -> Option<char> {
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
                _ => NAMES.iter().find(|(_, name)| *name == rest)?.0,
            },
        };
        Some(Self::new(code, modifiers))
    }
}

/// Keys that have a name instead of a letter.
const NAMES: [(KeyCode, &str); 15] = [
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
        match NAMES.iter().find(|(code, _)| *code == self.code) {
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
    pub places: &'static [Focus],
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
pub(super) const NUMBERS: &[Focus] = &[Focus::List, Focus::Reader, Focus::Choice];
pub(super) const ALL: &[Focus] = &[Focus::List, Focus::Reader, Focus::Help, Focus::Choice];
pub(super) const PROMPT: &[Focus] = &[Focus::Prompt];
pub(super) const EVERYWHERE: &[Focus] = &[
    Focus::List,
    Focus::Reader,
    Focus::Help,
    Focus::Prompt,
    Focus::Choice,
];

const fn on(places: &'static [Focus], keys: &'static [&'static str], command: Command) -> Binding {
    Binding {
        places,
        keys,
        command,
    }
}

/// The defaults, in the order of the help.
pub const TABLE: &[Binding] = &[
    on(LIST, &["j", "Down", "Ctrl-n"], Command::Select(Step::Down)),
    on(LIST, &["k", "Up", "Ctrl-p"], Command::Select(Step::Up)),
    on(LIST, &["Ctrl-d"], Command::Select(Step::HalfDown)),
    on(LIST, &["Ctrl-u"], Command::Select(Step::HalfUp)),
    on(
        LIST,
        &["PgDn", "Ctrl-f", "Space"],
        Command::Select(Step::PageDown),
    ),
    on(LIST, &["PgUp", "Ctrl-b"], Command::Select(Step::PageUp)),
    on(LIST, &["g g", "Home"], Command::Select(Step::First)),
    on(LIST, &["G", "End"], Command::Select(Step::Last)),
    on(LIST, &["g d"], Command::GoToDate),
    on(LIST, &["Enter", "l", "Right"], Command::Open),
    on(LIST, &["/", "f"], Command::Filter),
    on(LIST, &["@ t"], Command::Only(Cell::Recipient)),
    on(LIST, &["@ d"], Command::Only(Cell::Domain)),
    on(LIST, &["@ s"], Command::Only(Cell::Subject)),
    on(LIST, &["@ f"], Command::Only(Cell::Sender)),
    on(LIST, &["@ v"], Command::Only(Cell::Status)),
    on(PANES, &["c"], Command::Card),
    on(NUMBERS, &["1"], Command::ShowSaved(1)),
    on(NUMBERS, &["2"], Command::ShowSaved(2)),
    on(NUMBERS, &["3"], Command::ShowSaved(3)),
    on(NUMBERS, &["4"], Command::ShowSaved(4)),
    on(NUMBERS, &["5"], Command::ShowSaved(5)),
    on(NUMBERS, &["6"], Command::ShowSaved(6)),
    on(NUMBERS, &["7"], Command::ShowSaved(7)),
    on(NUMBERS, &["8"], Command::ShowSaved(8)),
    on(NUMBERS, &["9"], Command::ShowSaved(9)),
    on(PANES, &["g v"], Command::Views),
    on(PANES, &["W"], Command::SaveView),
    on(PANES, &["g [", "Alt-Left"], Command::Place(Side::Left)),
    on(PANES, &["g ]", "Alt-Right"], Command::Place(Side::Right)),
    on(LIST, &["u"], Command::Undo),
    on(LIST, &["U"], Command::Redo),
    on(LIST, &["b"], Command::LookBack),
    on(READER, &["J"], Command::NextEmail),
    on(READER, &["K"], Command::PreviousEmail),
    on(TEXT, &["j", "Down"], Command::Scroll(Step::Down)),
    on(TEXT, &["k", "Up"], Command::Scroll(Step::Up)),
    on(LIST, &["Alt-j", "Shift-Down"], Command::Scroll(Step::Down)),
    on(LIST, &["Alt-k", "Shift-Up"], Command::Scroll(Step::Up)),
    on(TEXT, &["Ctrl-d"], Command::Scroll(Step::HalfDown)),
    on(TEXT, &["Ctrl-u"], Command::Scroll(Step::HalfUp)),
    on(
        TEXT,
        &["PgDn", "Ctrl-f", "Space"],
        Command::Scroll(Step::PageDown),
    ),
    on(TEXT, &["PgUp", "Ctrl-b"], Command::Scroll(Step::PageUp)),
    on(TEXT, &["g g", "Home"], Command::Scroll(Step::First)),
    on(TEXT, &["G", "End"], Command::Scroll(Step::Last)),
    on(READER, &["/"], Command::Find),
    on(READER, &["n"], Command::Mark(Side::Right)),
    on(READER, &["N"], Command::Mark(Side::Left)),
    on(READER, &["H"], Command::Pan(Side::Left)),
    on(READER, &["L"], Command::Pan(Side::Right)),
    on(PANES, &["v", "]"], Command::NextView),
    on(PANES, &["["], Command::PreviousView),
    on(PANES, &["Alt-1"], Command::ShowView(BodyView::Rendered)),
    on(PANES, &["Alt-2"], Command::ShowView(BodyView::Text)),
    on(PANES, &["Alt-3"], Command::ShowView(BodyView::Source)),
    on(PANES, &["Alt-4"], Command::ShowView(BodyView::Raw)),
    on(PANES, &["Z"], Command::Fold),
    on(PANES, &["Tab", "Shift-Tab"], Command::SwitchPane),
    on(PANES, &["z"], Command::FullReader),
    on(PANES, &["P"], Command::Arrange),
    on(PANES, &["<"], Command::Divide(Side::Left)),
    on(PANES, &[">"], Command::Divide(Side::Right)),
    on(PANES, &["Ctrl-x"], Command::Stop),
    on(PANES, &["r", "F5"], Command::Refresh),
    on(PANES, &["t"], Command::FullTimes),
    on(PANES, &["M"], Command::Mouse),
    on(LIST, &["q"], Command::Back),
    on(TEXT, &["q", "Esc", "h", "Left"], Command::Back),
    on(LIST, &["Esc"], Command::Peel),
    on(PANES, &["g p"], Command::Profiles),
    on(PANES, &["!"], Command::Details),
    on(ALL, &["?", "F1"], Command::Help),
    on(
        CHOICE,
        &["j", "Down", "Tab", "Ctrl-n"],
        Command::Item(Side::Right),
    ),
    on(
        CHOICE,
        &["k", "Up", "Shift-Tab", "Ctrl-p"],
        Command::Item(Side::Left),
    ),
    on(CHOICE, &["Enter", "l", "Right"], Command::Take),
    on(CHOICE, &["d d"], Command::DropView),
    on(CHOICE, &["q"], Command::Back),
    on(CHOICE, &["Esc", "h", "Left"], Command::Peel),
    on(PROMPT, &["Enter"], Command::Accept),
    on(PROMPT, &["Esc"], Command::Cancel),
    on(PROMPT, &["Tab", "Down"], Command::Complete(Side::Right)),
    on(PROMPT, &["Shift-Tab", "Up"], Command::Complete(Side::Left)),
    on(PROMPT, &["Ctrl-p"], Command::Recall(Side::Left)),
    on(PROMPT, &["Ctrl-n"], Command::Recall(Side::Right)),
    on(PROMPT, &["Left", "Ctrl-b"], Command::Edit(Edit::Left)),
    on(PROMPT, &["Right", "Ctrl-f"], Command::Edit(Edit::Right)),
    on(
        PROMPT,
        &["Ctrl-Left", "Alt-b"],
        Command::Edit(Edit::WordLeft),
    ),
    on(
        PROMPT,
        &["Ctrl-Right", "Alt-f"],
        Command::Edit(Edit::WordRight),
    ),
    on(PROMPT, &["Home", "Ctrl-a"], Command::Edit(Edit::Start)),
    on(PROMPT, &["End", "Ctrl-e"], Command::Edit(Edit::End)),
    on(
        PROMPT,
        &["Backspace", "Ctrl-h"],
        Command::Edit(Edit::Backspace),
    ),
    on(PROMPT, &["Delete", "Ctrl-d"], Command::Edit(Edit::Delete)),
    on(
        PROMPT,
        &["Ctrl-w", "Alt-Backspace"],
        Command::Edit(Edit::DeleteWord),
    ),
    on(PROMPT, &["Ctrl-u"], Command::Edit(Edit::DeleteBefore)),
    on(PROMPT, &["Ctrl-k"], Command::Edit(Edit::DeleteAfter)),
    on(EVERYWHERE, &["Ctrl-l"], Command::Redraw),
    on(EVERYWHERE, &["Ctrl-z"], Command::Suspend),
    on(EVERYWHERE, &["Ctrl-c"], Command::Quit),
];

/// A sequence as people write it: letters close together.
#[must_use]
pub fn written(sequence: &[Key]) -> String {
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
            (written(&sequence("g g")), written(&sequence("g Enter"))),
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
