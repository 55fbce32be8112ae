//! Compares README, change log and guide with the program.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::app::Keymap;
use crate::app::help::{HelpLine, help_lines};
use clap::CommandFactory as _;

const README: &str = include_str!("../README.md");
const CHANGELOG: &str = include_str!("../CHANGELOG.md");

/// The key table as the README has it.
fn keys() -> String {
    let mut out = String::new();
    for line in help_lines(&Keymap::default()) {
        match line {
            // The signs explain themselves where they are; the README has the keys.
            HelpLine::Title("Signs") => break,
            HelpLine::Status(_)
            | HelpLine::Changed(_)
            | HelpLine::Watched(_)
            | HelpLine::Gone(_)
            | HelpLine::Marked(_) => {}
            HelpLine::Title(title) => {
                let _ = write!(out, "| {title} | | |\n| --- | --- | --- |\n");
            }
            HelpLine::Keys(keys, spec) => {
                let keys: Vec<String> = keys
                    .iter()
                    .map(|key| format!("`{}`", key.replace('|', "\\|")))
                    .collect();
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
fn readme_key_table_matches_commands() {
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
            verbs.contains(&word) || word == "help" || word.starts_with(['[', '-']),
            "README.md names sentbox {word}"
        );
    }
}

#[test]
fn the_change_log_knows_this_version() {
    assert!(CHANGELOG.contains(concat!("## ", env!("CARGO_PKG_VERSION"))));
}

/// Pages for people, each with its folder.
const PAGES: [(&str, &str); 7] = [
    ("", "README.md"),
    ("", "CONTRIBUTING.md"),
    ("", "SECURITY.md"),
    ("", "CHANGELOG.md"),
    ("docs/", "errors.md"),
    ("docs/", "json.md"),
    ("benches/", "README.md"),
];

/// Beginnings of code words that name a file or a folder of the repository.
const FOLDERS: [&str; 8] = [
    "src/", "tests/", "docs/", "assets/", "benches/", "fuzz/", ".ci/", ".github/",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The words between backticks, outside of blocks.
fn code_words(text: &str) -> Vec<String> {
    let prose: Vec<&str> = text.split("```").step_by(2).collect();
    let prose = prose.join(" ");
    let words = prose.split('`').skip(1).step_by(2);
    words
        .map(|word| word.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

fn is_path(word: &str) -> bool {
    FOLDERS.iter().any(|folder| word.starts_with(folder)) && !word.contains(['*', '<', ' '])
}

#[test]
fn pages_name_only_files_that_exist() {
    let mut missing = Vec::new();
    for (folder, name) in PAGES {
        let text = fs::read_to_string(root().join(folder).join(name)).unwrap();
        let words = code_words(&text).into_iter().filter(|word| is_path(word));
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .filter(|link| !link.starts_with("http") && !link.starts_with('#'))
            .map(|link| format!("{folder}{}", link.split('#').next().unwrap_or_default()));
        for path in words.chain(links) {
            // Fuzzing makes this one.
            if path != "fuzz/artifacts/" && !root().join(&path).exists() {
                missing.push(format!("{folder}{name}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Each step of a walk names files and what is in them.
#[test]
fn walks_name_only_items_in_their_files() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, walks) = text.split_once("\n## Four walks").unwrap();
    let (walks, _) = walks.split_once("\n## ").unwrap();
    let mut steps: Vec<String> = Vec::new();
    for line in walks.lines() {
        if line.starts_with(|c: char| c.is_ascii_digit()) {
            steps.push(line.to_owned());
        } else if let Some(step) = steps.last_mut().filter(|_| line.starts_with(' ')) {
            step.push_str(line);
        }
    }
    assert!(steps.len() > 30, "{} steps", steps.len());
    let mut missing = Vec::new();
    for step in steps {
        let (files, items): (Vec<String>, Vec<String>) = code_words(&step)
            .into_iter()
            .partition(|word| is_path(word));
        let source: String = files
            .iter()
            .map(|file| fs::read_to_string(root().join(file)).unwrap_or_default())
            .collect();
        let is_missing = |item: &String| {
            !source
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| word == item)
        };
        for item in items.into_iter().filter(is_missing) {
            missing.push(format!("{item} is not in {}", files.join(", ")));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
