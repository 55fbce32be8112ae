//! The help, made from the key table: nothing in it is typed a second time.

use super::command::Command;
use super::keys::{self, Focus, TABLE};
use crate::mail::Status;

/// One line of the help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HelpLine {
    /// The name of a group.
    Title(&'static str),
    /// Keys, and what they do.
    Keys(String, &'static str),
    /// A status: its symbol and word, and what it means.
    Status(Status),
    /// The mark of a row whose status changed, and what it means.
    Changed(&'static str),
    /// The mark of a row that the service no longer has, and what it means.
    Gone(&'static str),
    /// Nothing.
    Blank,
}

/// All lines of the help.
#[must_use]
pub fn text() -> Vec<HelpLine> {
    let groups: [(&str, &[&[Focus]]); 6] = [
        ("In the list", &[keys::LIST]),
        ("In the email", &[keys::READER, keys::TEXT]),
        ("In both", &[keys::PANES, keys::NUMBERS]),
        ("While choosing", &[keys::CHOICE]),
        ("While typing", &[keys::PROMPT]),
        ("Everywhere", &[keys::ALL, keys::EVERYWHERE]),
    ];
    let mut text = Vec::new();
    for (title, places) in groups {
        if !text.is_empty() {
            text.push(HelpLine::Blank);
        }
        text.push(HelpLine::Title(title));
        for binding in TABLE.iter().filter(|binding| places.contains(&binding.places)) {
            let keys: Vec<String> = binding.keys.iter().map(|keys| keys::written(keys)).collect();
            match binding.command {
                // Nine keys that do the same with nine numbers are one line.
                Command::ShowSaved(1) => text.push(HelpLine::Keys("1..9".to_owned(), binding.command.words())),
                Command::ShowSaved(_) => {}
                command => text.push(HelpLine::Keys(keys.join("  "), command.words())),
            }
        }
    }
    text.extend([HelpLine::Blank, HelpLine::Title("Signs")]);
    text.extend(Status::KNOWN.map(HelpLine::Status));
    text.push(HelpLine::Changed("before a status: it changed, and nobody has looked since"));
    text.push(HelpLine::Gone("before a status: the service no longer has it; kept here (is:gone finds it)"));
    text
}

/// How many lines the help has.
#[must_use]
pub fn lines() -> usize {
    text().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_binding_is_in_the_help_once() {
        let shown = text().iter().filter(|line| matches!(line, HelpLine::Keys(..))).count();
        let further_numbers = TABLE.iter().filter(|binding| matches!(binding.command, Command::ShowSaved(2..))).count();
        assert_eq!(shown, TABLE.len() - further_numbers);
    }
}
