//! Finds in clap's definition what the words of a command line name.

use std::ffi::OsStr;

use clap::{Arg, Command, CommandFactory as _};

use super::args::Args;

/// Returns the command that the words name, with its full name.
pub(super) fn find_command<W: AsRef<OsStr>>(words: &[W]) -> (String, Command) {
    let program = Args::command();
    let mut found = ("sentbox".to_owned(), program.clone());
    let words = words.iter().skip(1);
    let mut words = words.filter_map(|word| word.as_ref().to_str());
    while let Some(word) = words.next() {
        if find_value_flag([&program, &found.1], word).is_some() {
            words.next();
        } else if let Some(command) = found.1.find_subcommand(word) {
            found = (format!("{} {word}", found.0), command.clone());
        }
    }
    found
}

/// Returns the flag of this name that takes a value.
pub(super) fn find_value_flag<'a>(
    commands: impl IntoIterator<Item = &'a Command>,
    word: &str,
) -> Option<&'a Arg> {
    let is_named = |flag: &&Arg| match word.strip_prefix("--") {
        Some(long) => flag.get_long() == Some(long),
        None => flag
            .get_short()
            .is_some_and(|short| word == format!("-{short}")),
    };
    let arguments = commands.into_iter().flat_map(Command::get_arguments);
    arguments
        .filter(is_named)
        .find(|flag| flag.get_action().takes_values())
}
