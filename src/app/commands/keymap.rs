//! The keys: what each sequence means in each focus, with the changes of `[keys]`.

use std::fmt;

use crossterm::event::{KeyCode, KeyModifiers};

use super::line_commands::word_for;
use super::{COMMANDS, Command, CommandSpec, Focus, FocusSet};
use crate::config::KeyBinding;
use crate::text::format::suggest;

/// One key press: one step of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Letters carry their case.
    pub code: KeyCode,
    /// Control and Alt, and Shift for keys that are not letters.
    pub modifiers: KeyModifiers,
}

impl Key {
    /// Normalises what terminals report differently:
    /// Shift with a letter, whose case shows it already, and Shift-Tab, which has its own code.
    pub fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let known = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        let modifiers = modifiers & known;
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

    /// The character that the key types into a line of text.
    pub fn typed_char(self) -> Option<char> {
        match self.code {
            KeyCode::Char(letter) if self.modifiers.is_empty() => Some(letter),
            _ => None,
        }
    }

    /// Parses a key as in `j`, `G`, `Ctrl-d`, `Shift-Down`, `F5`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        while let Some((modifier, after)) = MODIFIER_NAMES
            .iter()
            .find_map(|(modifier, name)| Some((*modifier, rest.strip_prefix(name)?)))
        {
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

/// Modifiers, in the order in which they are written before a key.
const MODIFIER_NAMES: [(KeyModifiers, &str); 3] = [
    (KeyModifiers::CONTROL, "Ctrl-"),
    (KeyModifiers::ALT, "Alt-"),
    (KeyModifiers::SHIFT, "Shift-"),
];

/// Keys that are written by name.
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
        for (modifier, name) in MODIFIER_NAMES {
            if self.modifiers.contains(modifier) {
                f.write_str(name)?;
            }
        }
        match KEY_NAMES.iter().find(|(code, _)| *code == self.code) {
            Some((_, name)) => f.write_str(name),
            None => self.code.fmt(f),
        }
    }
}

/// Formats a sequence: single characters without spaces, as in `gg`,
/// else as in `g Enter`.
pub fn format_sequence(sequence: &[Key]) -> String {
    let steps: Vec<String> = sequence.iter().map(Key::to_string).collect();
    let tight = steps.iter().all(|step| step.chars().count() == 1);
    steps.join(if tight { "" } else { " " })
}

/// Parses a sequence; its steps are separated by a space.
fn parse_sequence(text: &str) -> Option<Vec<Key>> {
    text.split(' ').map(Key::parse).collect()
}

/// One key sequence and what it means in some focuses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding {
    focuses: FocusSet,
    keys: Vec<Key>,
    command: Command,
}

/// All bindings; of two for one command, the first is the one that hints name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    /// Whether commands are typed: hints then name their words instead of keys.
    is_typed: bool,
    bindings: Vec<Binding>,
}

/// The meaning of the keys pressed so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMatch {
    Command(Command),
    /// The start of at least one sequence.
    Prefix,
    Unbound,
}

impl Default for Keymap {
    fn default() -> Self {
        let of_command = |spec: &'static CommandSpec| {
            spec.bindings.iter().flat_map(|(focuses, keys)| {
                keys.split(", ").map(|keys| Binding {
                    focuses: *focuses,
                    keys: parse_sequence(keys).expect("the table holds only valid keys"),
                    command: spec.command,
                })
            })
        };
        Self {
            is_typed: false,
            bindings: COMMANDS.iter().flat_map(of_command).collect(),
        }
    }
}

/// The name that unbinds a key.
const UNBIND: &str = "none";

impl Keymap {
    /// The default keys with these changes, and an error for each change that is not
    /// possible.
    ///
    /// Keys are unbound first, so that `g = "none"` takes away the default sequences only.
    pub fn with_overrides(changes: &[KeyBinding]) -> (Self, Vec<String>) {
        let mut keymap = Self::default();
        let mut bound: Vec<&KeyBinding> = Vec::new();
        let mut errors = Vec::new();
        let (unbound, others): (Vec<_>, Vec<_>) =
            (changes.iter().enumerate()).partition(|(_, change)| change.command == UNBIND);
        for (number, change) in unbound.into_iter().chain(others) {
            let result = match bound.iter().find_map(|other| find_conflict(change, other)) {
                Some(conflict) => Err(conflict),
                None => keymap.apply_override(change),
            };
            if let Err(error) = result {
                errors.push((number, format!("{}: {error}", change.declared_at)));
            }
            bound.push(change);
        }
        errors.sort_unstable();
        let errors = errors.into_iter().map(|(_, error)| error).collect();
        (keymap, errors)
    }

    /// A warning for each change that takes default keys away because one sequence is
    /// the start of the other.
    pub fn replaced_sequences(changes: &[KeyBinding]) -> Vec<String> {
        let (default, (keymap, _)) = (Self::default(), Self::with_overrides(changes));
        let warning = |change: &KeyBinding| {
            let keys = parse_sequence(&change.keys)?;
            Command::from_name(&change.command)?;
            let is_replaced = |binding: &&Binding| {
                is_start_of_other(&binding.keys, &keys) && !keymap.bindings.contains(binding)
            };
            let replaced = default.bindings.iter().filter(is_replaced);
            let mut replaced: Vec<String> = replaced
                .map(|it| format!("{} ({})", format_sequence(&it.keys), it.command.spec().name))
                .collect();
            replaced.sort_unstable();
            replaced.dedup();
            let replaced = replaced.join(", ");
            let KeyBinding {
                keys,
                command,
                declared_at,
            } = change;
            (!replaced.is_empty())
                .then(|| format!("{declared_at}: {keys:?} for {command} replaces {replaced}"))
        };
        changes.iter().filter_map(warning).collect()
    }

    /// The keymap of a front end where commands are typed (`line_commands.rs`).
    pub fn typed() -> Self {
        Self {
            is_typed: true,
            ..Self::default()
        }
    }

    fn apply_override(&mut self, change: &KeyBinding) -> Result<(), String> {
        let keys = parse_sequence(&change.keys).ok_or_else(|| {
            format!(
                "there is no key {:?}; keys are written as in \"j\", \"Ctrl-d\", \"g d\", \"F5\"",
                change.keys
            )
        })?;
        if keys[0] == Key::new(KeyCode::Char('c'), KeyModifiers::CONTROL) {
            return Err("Ctrl-c always quits".to_owned());
        }
        if change.command == UNBIND {
            self.unbind(&keys, FocusSet::EVERYWHERE);
            return Ok(());
        }
        let command = Command::from_name(&change.command)
            .ok_or_else(|| unknown_command_error(&change.command))?;
        let all = command.spec().focuses();
        if all.contains(Focus::Prompt) && keys[0].typed_char().is_some() {
            return Err(format!(
                "{:?} types a character where {} applies",
                change.keys, change.command
            ));
        }
        self.unbind(&keys, all);
        let sets = command.spec().bindings.iter();
        let added = sets.map(|(focuses, _)| Binding {
            focuses: *focuses,
            keys: keys.clone(),
            command,
        });
        self.bindings.splice(0..0, added);
        Ok(())
    }

    /// Removes, in `focuses` only, every sequence that would hide `keys` or be hidden
    /// by them.
    fn unbind(&mut self, keys: &[Key], focuses: FocusSet) {
        for binding in &mut self.bindings {
            if binding.keys.starts_with(keys) || keys.starts_with(&binding.keys) {
                binding.focuses = binding.focuses.without(focuses);
            }
        }
        self.bindings.retain(|binding| !binding.focuses.is_empty());
    }

    fn in_focus(&self, focus: Focus) -> impl Iterator<Item = &Binding> {
        let holds = move |binding: &&Binding| binding.focuses.contains(focus);
        self.bindings.iter().filter(holds)
    }

    /// Looks `pressed` up as a whole sequence or as the start of one;
    /// there is no time limit.
    pub fn find_match(&self, focus: Focus, pressed: &[Key]) -> KeyMatch {
        let mut result = KeyMatch::Unbound;
        for binding in self.in_focus(focus) {
            if binding.keys == pressed {
                return KeyMatch::Command(binding.command);
            } else if binding.keys.starts_with(pressed) {
                result = KeyMatch::Prefix;
            }
        }
        result
    }

    /// The keys that complete a sequence of which `pressed` is the start,
    /// each with its command.
    pub fn continuations(&self, focus: Focus, pressed: &[Key]) -> Vec<(String, Command)> {
        let longer = self.in_focus(focus).filter(|binding| {
            binding.keys.len() > pressed.len() && binding.keys.starts_with(pressed)
        });
        longer
            .map(|binding| {
                (
                    format_sequence(&binding.keys[pressed.len()..]),
                    binding.command,
                )
            })
            .collect()
    }

    /// The sequences bound to `command`, formatted, each with the focuses in which it
    /// is.
    pub fn keys_of(&self, command: Command) -> impl Iterator<Item = (FocusSet, String)> {
        let bindings = self.bindings.iter();
        let bound = bindings.filter(move |binding| binding.command == command);
        bound.map(|binding| (binding.focuses, format_sequence(&binding.keys)))
    }

    /// The first sequence bound to `command` in `focus`, formatted;
    /// the word, if commands are typed.
    pub fn key_for(&self, focus: Focus, command: Command) -> Option<String> {
        if self.is_typed {
            return word_for(command).map(|word| format!("\"{word}\""));
        }
        let binding = self.in_focus(focus).find(|one| one.command == command)?;
        Some(format_sequence(&binding.keys))
    }

    /// `r tries again`: the key of a command and what it does,
    /// or nothing if it has no key.
    pub fn hint(&self, focus: Focus, command: Command, does: &str) -> Option<String> {
        Some(format!("{} {does}", self.key_for(focus, command)?))
    }

    /// Appends the hint to a text: `text; r tries again`.
    pub fn with_hint(&self, text: &str, focus: Focus, command: Command, does: &str) -> String {
        let hint = self.hint(focus, command, does);
        hint.map_or_else(|| text.to_owned(), |hint| format!("{text}; {hint}"))
    }

    /// The hints for several commands, as in `r tries again; q quits`.
    pub fn hints(&self, focus: Focus, commands: &[(Command, &str)]) -> String {
        let commands = commands.iter();
        let hints = commands.filter_map(|(command, does)| self.hint(focus, *command, does));
        hints.collect::<Vec<_>>().join("; ")
    }
}

/// Whether one of two different sequences is the start of the other.
fn is_start_of_other(one: &[Key], other: &[Key]) -> bool {
    one != other && (one.starts_with(other) || other.starts_with(one))
}

/// Returns why two changes cannot both be applied, if that is so.
fn find_conflict(change: &KeyBinding, other: &KeyBinding) -> Option<String> {
    let focuses = |change: &KeyBinding| Some(Command::from_name(&change.command)?.spec().focuses());
    let (own, others) = (focuses(change)?, focuses(other)?);
    let (keys, other_keys) = (parse_sequence(&change.keys)?, parse_sequence(&other.keys)?);
    let is_conflict = is_start_of_other(&keys, &other_keys) && own.without(others) != own;
    is_conflict.then(|| {
        let relation = if keys.len() < other_keys.len() {
            "is the start of"
        } else {
            "starts with"
        };
        format!(
            "{:?} {relation} {:?} ({}), so only one of them can have a command",
            change.keys, other.keys, other.declared_at
        )
    })
}

fn unknown_command_error(name: &str) -> String {
    let names = COMMANDS.iter().map(|spec| spec.name);
    let instead = suggest(name, names.chain([UNBIND])).map_or_else(
        || "; docs/keys.md lists all".to_owned(),
        |near| format!("; did you mean {near}?"),
    );
    format!("there is no command {name:?}{instead}")
}

#[cfg(test)]
#[path = "keymap_tests.rs"]
mod tests;
