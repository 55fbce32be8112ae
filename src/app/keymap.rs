//! `Keys`: what each key means to this person, the table with what the configuration changes in it.

use super::command::Command;
use super::keys::{Focus, Key, TABLE, written};
use crate::config::{KeyChange, nearest};

/// A row of the table as it is for this person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Where it holds.
    pub places: Vec<Focus>,
    /// The sequences, best first; none if all were taken away.
    pub keys: Vec<Vec<Key>>,
    /// What it means.
    pub command: Command,
}

/// The whole table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    rows: Vec<Row>,
}

/// What the keys pressed so far amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A command.
    Command(Command),
    /// The start of at least one sequence.
    Prefix,
    /// Nothing, here.
    Nothing,
}

impl Default for Keys {
    fn default() -> Self {
        let read = |keys: &&str| sequence(keys).expect("the table holds keys that can be read");
        let row = |places: &[Focus], keys: &[&str], command| Row {
            places: places.to_vec(),
            keys: keys.iter().map(read).collect(),
            command,
        };
        Self {
            rows: TABLE
                .iter()
                .map(|binding| row(binding.places, binding.keys, binding.command))
                .collect(),
        }
    }
}

impl Keys {
    /// The table with these changes, and what is wrong with those that cannot be made.
    #[must_use]
    pub fn with(changes: &[KeyChange]) -> (Self, Vec<String>) {
        let mut keys = Self::default();
        let wrong = |change: &KeyChange| {
            keys.change(change)
                .err()
                .map(|wrong| format!("{}: {wrong}", change.place))
        };
        let wrong = changes.iter().filter_map(wrong).collect();
        (keys, wrong)
    }

    fn change(&mut self, change: &KeyChange) -> Result<(), String> {
        let named = &change.keys;
        let keys = sequence(named)
            .ok_or_else(|| format!("there is no key {named:?}; keys are written as in \"j\", \"Ctrl-d\", \"g d\", \"F5\""))?;
        if keys[0] == Key::parse("Ctrl-c").expect("it is in the table") {
            return Err("Ctrl-c always leaves".to_owned());
        }
        if change.command == NONE {
            self.take_away(&keys, |_| true);
            return Ok(());
        }
        let command = Command::named(&change.command).ok_or_else(|| no_command(&change.command))?;
        let places: Vec<Focus> = self
            .rows
            .iter()
            .filter(|row| row.command == command)
            .flat_map(|row| row.places.clone())
            .collect();
        if places.contains(&Focus::Prompt) && keys[0].letter().is_some() {
            return Err(format!("{named:?} is typed where {} holds", command.name()));
        }
        self.take_away(&keys, |place| places.contains(&place));
        self.rows
            .iter_mut()
            .filter(|row| row.command == command)
            .for_each(|row| row.keys.insert(0, keys.clone()));
        Ok(())
    }

    /// Takes away every sequence that `keys` would hide or be hidden by, in these places alone.
    fn take_away(&mut self, keys: &[Key], holds: impl Fn(Focus) -> bool) {
        let collides = |other: &Vec<Key>| other.starts_with(keys) || keys.starts_with(other);
        let rows = std::mem::take(&mut self.rows);
        for row in rows {
            if !row.keys.iter().any(collides) || !row.places.iter().any(|place| holds(*place)) {
                self.rows.push(row);
                continue;
            }
            let (here, elsewhere): (Vec<Focus>, Vec<Focus>) =
                row.places.iter().partition(|place| holds(**place));
            let left = row
                .keys
                .iter()
                .filter(|keys| !collides(keys))
                .cloned()
                .collect();
            self.rows.push(Row {
                places: here,
                keys: left,
                command: row.command,
            });
            if !elsewhere.is_empty() {
                self.rows.push(Row {
                    places: elsewhere,
                    ..row
                });
            }
        }
    }

    /// The rows, in the order of the help.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Looks `pressed` up as a whole sequence, or the start of one; time plays no part.
    #[must_use]
    pub fn meaning(&self, focus: Focus, pressed: &[Key]) -> Meaning {
        let mut prefix = false;
        for row in self.rows.iter().filter(|row| row.places.contains(&focus)) {
            for keys in row.keys.iter().filter(|keys| keys.starts_with(pressed)) {
                if keys.len() == pressed.len() {
                    return Meaning::Command(row.command);
                }
                prefix = true;
            }
        }
        if prefix {
            Meaning::Prefix
        } else {
            Meaning::Nothing
        }
    }

    /// The first key bound to `command` in `focus`, as people write it.
    #[must_use]
    pub fn key_for(&self, focus: Focus, command: Command) -> Option<String> {
        let row = self.rows.iter().find(|row| {
            row.places.contains(&focus) && row.command == command && !row.keys.is_empty()
        })?;
        Some(written(&row.keys[0]))
    }
}

/// What a key does, as in `r tries again`; nothing of a command that no key means.
#[must_use]
pub fn told<const N: usize>(keys: &Keys, focus: Focus, acts: [(Command, &str); N]) -> String {
    let acts = acts
        .into_iter()
        .filter_map(|(command, words)| Some(format!("{} {words}", keys.key_for(focus, command)?)));
    acts.collect::<Vec<_>>().join("; ")
}

/// The name that takes a key away.
const NONE: &str = "none";

fn no_command(name: &str) -> String {
    let instead = nearest(name, Command::all().map(Command::name).chain([NONE]));
    let instead = instead.map_or_else(
        || "; README.md lists all".to_owned(),
        |near| format!("; did you mean {near}?"),
    );
    format!("there is no command {name:?}{instead}")
}

/// Reads a sequence; its steps are separated by a blank.
fn sequence(text: &str) -> Option<Vec<Key>> {
    text.split(' ').map(Key::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::super::command::{Cell, Step};
    use super::super::keys::{ALL, EVERYWHERE};
    use super::*;
    use crossterm::event::{KeyCode, KeyModifiers};

    fn press(keys: &str) -> Vec<Key> {
        sequence(keys).unwrap()
    }

    fn changed(changes: &[(&str, &str)]) -> (Keys, Vec<String>) {
        let change = |(n, (keys, command)): (usize, &(&str, &str))| KeyChange {
            keys: (*keys).to_owned(),
            command: (*command).to_owned(),
            place: format!("c.toml:{}", n + 1),
        };
        Keys::with(&changes.iter().enumerate().map(change).collect::<Vec<_>>())
    }

    fn means(keys: &Keys, focus: Focus, pressed: &str) -> Meaning {
        keys.meaning(focus, &press(pressed))
    }

    #[test]
    fn every_key_of_the_table_means_one_thing_where_it_holds() {
        let keys = Keys::default();
        for binding in TABLE {
            for sequence in binding.keys {
                for focus in binding.places {
                    let pressed = press(sequence);
                    assert_eq!(
                        keys.meaning(*focus, &pressed),
                        Meaning::Command(binding.command),
                        "{sequence} in {focus:?}"
                    );
                    for start in 1..pressed.len() {
                        assert_eq!(
                            keys.meaning(*focus, &pressed[..start]),
                            Meaning::Prefix,
                            "{sequence} in {focus:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn one_can_leave_from_everywhere() {
        let keys = Keys::default();
        for focus in ALL {
            assert_eq!(means(&keys, *focus, "q"), Meaning::Command(Command::Back));
        }
        for focus in EVERYWHERE {
            assert_eq!(
                means(&keys, *focus, "Ctrl-c"),
                Meaning::Command(Command::Quit)
            );
        }
    }

    #[test]
    fn no_key_that_writes_a_letter_is_taken_from_the_prompt() {
        for letter in ' '..='~' {
            let key = Key::new(KeyCode::Char(letter), KeyModifiers::NONE);
            assert_eq!(
                (Keys::default().meaning(Focus::Prompt, &[key]), key.letter()),
                (Meaning::Nothing, Some(letter))
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
                Meaning::Command(Command::Filter),
                "{pressed}"
            );
        }
        assert_eq!(
            means(&keys, Focus::Reader, "v"),
            Meaning::Command(Command::NextView)
        );
        assert_eq!(
            means(&keys, Focus::List, "g"),
            Meaning::Command(Command::Select(Step::First))
        );
        assert_eq!(
            means(&keys, Focus::List, "g d"),
            Meaning::Nothing,
            "what it hides is gone"
        );
        assert_eq!(means(&keys, Focus::Reader, "g"), Meaning::Prefix);
        assert_eq!(
            means(&keys, Focus::Reader, "F9"),
            Meaning::Command(Command::Scroll(Step::Down))
        );
        assert_eq!(means(&keys, Focus::Reader, "J"), Meaning::Nothing);
        assert_eq!(
            means(&keys, Focus::List, "@ t"),
            Meaning::Command(Command::Only(Cell::Recipient))
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
            Meaning::Command(Command::Undo)
        );
    }
}
