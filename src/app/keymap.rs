//! `Keys`: what each key means to this person, the table with what the configuration changes in it.

use super::command::Command;
use super::key::{DEFAULT_BINDINGS, Focus, Key, format_sequence};
use crate::config::KeyBinding;
use crate::text::suggest::suggest;

/// A row of the table as it is for this person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// Where it holds.
    pub focuses: Vec<Focus>,
    /// The sequences, best first; none if all were taken away.
    pub keys: Vec<Vec<Key>>,
    /// What it means.
    pub command: Command,
}

/// The whole table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    rows: Vec<KeyRow>,
}

/// What the keys pressed so far amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMatch {
    /// A command.
    Command(Command),
    /// The start of at least one sequence.
    Prefix,
    /// Nothing, here.
    Unbound,
}

impl Default for Keymap {
    fn default() -> Self {
        let read =
            |keys: &&str| parse_sequence(keys).expect("the table holds keys that can be read");
        let row = |places: &[Focus], keys: &[&str], command| KeyRow {
            focuses: places.to_vec(),
            keys: keys.iter().map(read).collect(),
            command,
        };
        Self {
            rows: DEFAULT_BINDINGS
                .iter()
                .map(|binding| row(binding.focuses, binding.keys, binding.command))
                .collect(),
        }
    }
}

impl Keymap {
    /// The table with these changes, and what is wrong with those that cannot be made.
    #[must_use]
    pub fn with_overrides(changes: &[KeyBinding]) -> (Self, Vec<String>) {
        let mut keys = Self::default();
        let wrong = |change: &KeyBinding| {
            keys.apply_override(change)
                .err()
                .map(|wrong| format!("{}: {wrong}", change.declared_at))
        };
        let wrong = changes.iter().filter_map(wrong).collect();
        (keys, wrong)
    }

    fn apply_override(&mut self, change: &KeyBinding) -> Result<(), String> {
        let named = &change.keys;
        let keys = parse_sequence(named)
            .ok_or_else(|| format!("there is no key {named:?}; keys are written as in \"j\", \"Ctrl-d\", \"g d\", \"F5\""))?;
        if keys[0] == Key::parse("Ctrl-c").expect("it is in the table") {
            return Err("Ctrl-c always leaves".to_owned());
        }
        if change.command == UNBIND {
            self.unbind(&keys, |_| true);
            return Ok(());
        }
        let command = Command::from_name(&change.command)
            .ok_or_else(|| unknown_command_error(&change.command))?;
        let places: Vec<Focus> = self
            .rows
            .iter()
            .filter(|row| row.command == command)
            .flat_map(|row| row.focuses.clone())
            .collect();
        if places.contains(&Focus::Prompt) && keys[0].typed_char().is_some() {
            return Err(format!("{named:?} is typed where {} holds", command.name()));
        }
        self.unbind(&keys, |place| places.contains(&place));
        self.rows
            .iter_mut()
            .filter(|row| row.command == command)
            .for_each(|row| row.keys.insert(0, keys.clone()));
        Ok(())
    }

    /// Takes away every sequence that `keys` would hide or be hidden by, in these places alone.
    fn unbind(&mut self, keys: &[Key], holds: impl Fn(Focus) -> bool) {
        let collides = |other: &Vec<Key>| other.starts_with(keys) || keys.starts_with(other);
        let rows = std::mem::take(&mut self.rows);
        for row in rows {
            if !row.keys.iter().any(collides) || !row.focuses.iter().any(|place| holds(*place)) {
                self.rows.push(row);
                continue;
            }
            let (here, elsewhere): (Vec<Focus>, Vec<Focus>) =
                row.focuses.iter().partition(|place| holds(**place));
            let left = row
                .keys
                .iter()
                .filter(|keys| !collides(keys))
                .cloned()
                .collect();
            self.rows.push(KeyRow {
                focuses: here,
                keys: left,
                command: row.command,
            });
            if !elsewhere.is_empty() {
                self.rows.push(KeyRow {
                    focuses: elsewhere,
                    ..row
                });
            }
        }
    }

    /// The rows, in the order of the help.
    #[must_use]
    pub fn rows(&self) -> &[KeyRow] {
        &self.rows
    }

    /// Looks `pressed` up as a whole sequence, or the start of one; time plays no part.
    #[must_use]
    pub fn find_match(&self, focus: Focus, pressed: &[Key]) -> KeyMatch {
        let mut prefix = false;
        for row in self.rows.iter().filter(|row| row.focuses.contains(&focus)) {
            for keys in row.keys.iter().filter(|keys| keys.starts_with(pressed)) {
                if keys.len() == pressed.len() {
                    return KeyMatch::Command(row.command);
                }
                prefix = true;
            }
        }
        if prefix {
            KeyMatch::Prefix
        } else {
            KeyMatch::Unbound
        }
    }

    /// The first key bound to `command` in `focus`, as people write it.
    #[must_use]
    pub fn key_for(&self, focus: Focus, command: Command) -> Option<String> {
        let row = self.rows.iter().find(|row| {
            row.focuses.contains(&focus) && row.command == command && !row.keys.is_empty()
        })?;
        Some(format_sequence(&row.keys[0]))
    }
}

/// What a key does, as in `r tries again`; nothing of a command that no key means.
#[must_use]
pub fn key_hints<const N: usize>(
    keys: &Keymap,
    focus: Focus,
    acts: [(Command, &str); N],
) -> String {
    let acts = acts
        .into_iter()
        .filter_map(|(command, words)| Some(format!("{} {words}", keys.key_for(focus, command)?)));
    acts.collect::<Vec<_>>().join("; ")
}

/// The name that takes a key away.
const UNBIND: &str = "none";

fn unknown_command_error(name: &str) -> String {
    let instead = suggest(name, Command::all().map(Command::name).chain([UNBIND]));
    let instead = instead.map_or_else(
        || "; README.md lists all".to_owned(),
        |near| format!("; did you mean {near}?"),
    );
    format!("there is no command {name:?}{instead}")
}

/// Reads a sequence; its steps are separated by a blank.
fn parse_sequence(text: &str) -> Option<Vec<Key>> {
    text.split(' ').map(Key::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::super::command::{Motion, RowField};
    use super::super::key::{ALL, EVERYWHERE};
    use super::*;
    use crossterm::event::{KeyCode, KeyModifiers};

    fn press(keys: &str) -> Vec<Key> {
        parse_sequence(keys).unwrap()
    }

    fn changed(changes: &[(&str, &str)]) -> (Keymap, Vec<String>) {
        let change = |(n, (keys, command)): (usize, &(&str, &str))| KeyBinding {
            keys: (*keys).to_owned(),
            command: (*command).to_owned(),
            declared_at: format!("c.toml:{}", n + 1),
        };
        Keymap::with_overrides(&changes.iter().enumerate().map(change).collect::<Vec<_>>())
    }

    fn means(keys: &Keymap, focus: Focus, pressed: &str) -> KeyMatch {
        keys.find_match(focus, &press(pressed))
    }

    #[test]
    fn every_key_of_the_table_means_one_thing_where_it_holds() {
        let keys = Keymap::default();
        for binding in DEFAULT_BINDINGS {
            for sequence in binding.keys {
                for focus in binding.focuses {
                    let pressed = press(sequence);
                    assert_eq!(
                        keys.find_match(*focus, &pressed),
                        KeyMatch::Command(binding.command),
                        "{sequence} in {focus:?}"
                    );
                    for start in 1..pressed.len() {
                        assert_eq!(
                            keys.find_match(*focus, &pressed[..start]),
                            KeyMatch::Prefix,
                            "{sequence} in {focus:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn one_can_leave_from_everywhere() {
        let keys = Keymap::default();
        for focus in ALL {
            assert_eq!(means(&keys, *focus, "q"), KeyMatch::Command(Command::Back));
        }
        for focus in EVERYWHERE {
            assert_eq!(
                means(&keys, *focus, "Ctrl-c"),
                KeyMatch::Command(Command::Quit)
            );
        }
    }

    #[test]
    fn no_key_that_writes_a_letter_is_taken_from_the_prompt() {
        for letter in ' '..='~' {
            let key = Key::new(KeyCode::Char(letter), KeyModifiers::NONE);
            assert_eq!(
                (
                    Keymap::default().find_match(Focus::Prompt, &[key]),
                    key.typed_char()
                ),
                (KeyMatch::Unbound, Some(letter))
            );
        }
    }

    #[test]
    fn a_key_gets_another_meaning_where_its_command_holds_and_keeps_its_own_elsewhere() {
        let (keys, wrong) = changed(&[
            ("Ctrl-s", "filter"),
            ("v", "filter"),
            ("g", "newest"),
            ("F9", "scroll-down"),
            ("x", "none"),
            ("J", "none"),
        ]);
        assert_eq!(wrong, [""; 0]);
        assert_eq!(
            keys.key_for(Focus::List, Command::Filter).as_deref(),
            Some("v"),
            "the last one said is the first one named"
        );
        for pressed in ["Ctrl-s", "v", "/"] {
            assert_eq!(
                means(&keys, Focus::List, pressed),
                KeyMatch::Command(Command::Filter),
                "{pressed}"
            );
        }
        assert_eq!(
            means(&keys, Focus::Reader, "v"),
            KeyMatch::Command(Command::NextView)
        );
        assert_eq!(
            means(&keys, Focus::List, "g"),
            KeyMatch::Command(Command::MoveSelection(Motion::First))
        );
        assert_eq!(
            means(&keys, Focus::List, "g d"),
            KeyMatch::Unbound,
            "what it hides is gone"
        );
        assert_eq!(means(&keys, Focus::Reader, "g"), KeyMatch::Prefix);
        assert_eq!(
            means(&keys, Focus::Reader, "F9"),
            KeyMatch::Command(Command::Scroll(Motion::Down))
        );
        assert_eq!(means(&keys, Focus::Reader, "J"), KeyMatch::Unbound);
        assert_eq!(
            means(&keys, Focus::List, "@ t"),
            KeyMatch::Command(Command::FilterBy(RowField::Recipient))
        );
    }

    #[test]
    fn what_cannot_be_is_said_with_its_line() {
        let (keys, wrong) = changed(&[
            ("Hyper-x", "filter"),
            ("x", "filer"),
            ("Ctrl-c", "none"),
            ("x", "accept"),
            ("y", "polka"),
            ("x", "undo"),
        ]);
        assert_eq!(
            wrong,
            [
                "c.toml:1: there is no key \"Hyper-x\"; keys are written as in \"j\", \"Ctrl-d\", \"g d\", \"F5\"",
                "c.toml:2: there is no command \"filer\"; did you mean filter?",
                "c.toml:3: Ctrl-c always leaves",
                "c.toml:4: \"x\" is typed where accept holds",
                "c.toml:5: there is no command \"polka\"; README.md lists all",
            ]
        );
        assert_eq!(
            means(&keys, Focus::List, "x"),
            KeyMatch::Command(Command::Undo)
        );
    }
}
