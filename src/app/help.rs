//! The help, made from the key table: nothing in it is typed a second time.

use super::command::Command;
use super::key::{self, Focus};
use super::keymap::Keymap;
use crate::mail::Status;

/// One line of the help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HelpLine {
    /// The name of a group.
    Title(&'static str),
    /// Keys, and what they do.
    Keys(String, Command),
    /// A status: its symbol and word, and what it means.
    Status(Status),
    /// The mark of a row whose status changed, and what it means.
    Changed(&'static str),
    /// The mark of a row that the service no longer has, and what it means.
    Gone(&'static str),
    /// Nothing.
    Blank,
}

/// All lines of the help about these keys.
#[must_use]
pub fn help_lines(keys: &Keymap) -> Vec<HelpLine> {
    let mut text = Vec::new();
    for (group, title) in GROUPS.into_iter().enumerate() {
        if !text.is_empty() {
            text.push(HelpLine::Blank);
        }
        text.push(HelpLine::Title(title));
        for row in keys
            .rows()
            .iter()
            .filter(|row| group == group_of(&row.focuses) && !row.keys.is_empty())
        {
            let all: Vec<String> = row
                .keys
                .iter()
                .map(|sequence| key::format_sequence(sequence))
                .collect();
            match row.command {
                // Nine keys that do the same with nine numbers are one line.
                Command::ShowSavedView(1) if all == ["1"] => {
                    text.push(HelpLine::Keys("1..9".to_owned(), row.command));
                }
                Command::ShowSavedView(number) if all == [number.to_string()] => {}
                command => text.push(HelpLine::Keys(all.join("  "), command)),
            }
        }
    }
    text.extend([HelpLine::Blank, HelpLine::Title("Signs")]);
    text.extend(Status::KNOWN.map(HelpLine::Status));
    text.push(HelpLine::Changed(
        "before a status: it changed, and nobody has looked since",
    ));
    text.push(HelpLine::Gone(
        "before a status: the service no longer has it; kept here (is:gone finds it)",
    ));
    text
}

/// The groups of keys, by where they hold.
const GROUPS: [&str; 6] = [
    "In the list",
    "In the email",
    "In both",
    "While choosing",
    "While typing",
    "Everywhere",
];

/// The group of what holds in these places.
fn group_of(places: &[Focus]) -> usize {
    let holds = |place| places.contains(&place);
    match places {
        _ if holds(Focus::List) && holds(Focus::Reader) && holds(Focus::Help) => 5,
        _ if holds(Focus::List) && holds(Focus::Reader) => 2,
        _ if holds(Focus::List) => 0,
        _ if holds(Focus::Reader) || holds(Focus::Help) => 1,
        _ if holds(Focus::Choice) => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::DEFAULT_BINDINGS;
    use super::*;

    #[test]
    fn every_binding_is_in_the_help_once() {
        let shown = help_lines(&Keymap::default())
            .iter()
            .filter(|line| matches!(line, HelpLine::Keys(..)))
            .count();
        let further_numbers = DEFAULT_BINDINGS
            .iter()
            .filter(|binding| matches!(binding.command, Command::ShowSavedView(2..)))
            .count();
        assert_eq!(shown, DEFAULT_BINDINGS.len() - further_numbers);
    }
}
