//! Compares README, change log and guide with the program.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;

const README: &str = include_str!("../README.md");
const CHANGELOG: &str = include_str!("../CHANGELOG.md");

#[test]
fn the_readme_names_every_verb_and_no_other() {
    let command = crate::cli::Args::command();
    let verbs = command.get_subcommands().map(clap::Command::get_name);
    let verbs: Vec<&str> = verbs.collect();
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
fn change_log_has_section_for_current_version() {
    assert!(CHANGELOG.contains(concat!("## ", env!("CARGO_PKG_VERSION"))));
}

/// Pages for people outside of `docs/`.
const PAGES: [&str; 5] = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "benches/README.md",
];

/// The pages in `docs/`, without the files of the book.
fn docs() -> Vec<String> {
    let files = fs::read_dir(root().join("docs")).unwrap();
    files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| !matches!(name.as_str(), "SUMMARY.md" | "book.toml"))
        .collect()
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1);
    targets.filter_map(|rest| rest.split(')').next())
}

fn fragment(heading: &str) -> String {
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let kept: String = heading.chars().filter(is_kept).collect();
    kept.to_lowercase().replace(' ', "-")
}

/// Beginnings of code words that name a file or a folder of the repository.
const FOLDERS: [&str; 9] = [
    "src/",
    "tests/",
    "docs/",
    "assets/",
    "benches/",
    "fuzz/",
    "packaging/",
    ".ci/",
    ".github/",
];

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
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
    let docs = docs().into_iter().map(|name| format!("docs/{name}"));
    for page in docs.chain(PAGES.map(str::to_owned)) {
        let text = read(&page);
        let folder = root().join(&page);
        let folder = folder.parent().expect("a page is in a folder");
        for path in code_words(&text).into_iter().filter(|word| is_path(word)) {
            // Fuzzing makes this one.
            if path != "fuzz/artifacts/"
                && !folder.join(&path).exists()
                && !root().join(&path).exists()
            {
                missing.push(format!("{page}: {path}"));
            }
        }
        for link in links(&text).filter(|link| !link.starts_with("http")) {
            let (path, target) = link.split_once('#').unwrap_or((link, ""));
            let linked = if path.is_empty() {
                root().join(&page)
            } else {
                folder.join(path)
            };
            let linked_text = fs::read_to_string(&linked).unwrap_or_default();
            let mut headings = linked_text.lines().filter_map(|line| line.split_once("# "));
            let has_target =
                target.is_empty() || headings.any(|(_, heading)| fragment(heading) == target);
            if !linked.exists() || !has_target {
                missing.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn the_contents_of_the_book_are_all_pages() {
    let contents = read("docs/SUMMARY.md");
    let mut listed: Vec<&str> = links(&contents).collect();
    let mut pages = docs();
    listed.sort_unstable();
    pages.sort_unstable();
    assert_eq!(listed, pages);
}

/// Each step of a walk names files and what is in them.
#[test]
fn walks_name_only_items_in_their_files() {
    let text = read("CONTRIBUTING.md");
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
