//! What the README and the change log say is what the program is.

use std::fmt::Write as _;

use crate::app::Keymap;
use crate::app::keymap::{HelpLine, help_lines};
use clap::CommandFactory as _;

const README: &str = include_str!("../README.md");
const CHANGELOG: &str = include_str!("../CHANGELOG.md");

/// The key table as the README has it.
fn keys() -> String {
    let mut out = String::new();
    for line in help_lines(&Keymap::default()) {
        match line {
            // The signs explain themselves where they stand; the README has the keys.
            HelpLine::Title("Signs") => break,
            HelpLine::Status(_) | HelpLine::Changed(_) | HelpLine::Gone(_) => {}
            HelpLine::Title(title) => {
                let _ = write!(out, "| {title} | | |\n| --- | --- | --- |\n");
            }
            HelpLine::Keys(keys, spec) => {
                let keys: Vec<String> = keys.split("  ").map(|key| format!("`{key}`")).collect();
                let name = if keys == ["`1..9`"] {
                    "view-1` ... `view-9"
                } else {
                    spec.name
                };
                let _ = writeln!(out, "| {} | {} | `{name}` |", keys.join(" "), spec.help);
            }
            HelpLine::Blank => out.push('\n'),
        }
    }
    out
}

#[test]
fn the_key_table_of_the_readme_is_the_one_of_the_program() {
    let (_, rest) = README
        .split_once("<!-- keys -->\n")
        .expect("the table has a start");
    let (table, _) = rest
        .split_once("<!-- /keys -->")
        .expect("the table has an end");
    assert!(
        table.trim() == keys().trim(),
        "the README should have:\n{}",
        keys()
    );
}

#[test]
fn the_readme_names_every_verb_and_no_other() {
    let command = crate::cli::Args::command();
    let verbs: Vec<&str> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    for verb in &verbs {
        assert!(
            README.contains(&format!("sentbox {verb}")),
            "README.md does not name sentbox {verb}"
        );
    }
    for (at, _) in README.match_indices("    sentbox ") {
        let word = README[at..].split_whitespace().nth(1).unwrap_or_default();
        assert!(
            verbs.contains(&word) || word.starts_with(['[', '-']),
            "README.md names sentbox {word}"
        );
    }
}

#[test]
fn the_change_log_knows_this_version() {
    assert!(CHANGELOG.contains(concat!("## ", env!("CARGO_PKG_VERSION"))));
}
