//! The shape of the house: floors, file lengths, opening sentences, and what may be called where.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each room and its floor. A room imports only rooms on lower floors.
const FLOORS: &[(&str, u8)] = &[
    ("failure", 0),
    ("mail", 1),
    ("config", 1),
    ("signals", 1),
    ("query", 2),
    ("render", 2),
    ("api", 2),
    ("archive", 3),
    ("sync", 4),
    ("server", 4),
    ("app", 4),
    ("view", 5),
    ("tui", 6),
    ("cli", 6),
    ("crash", 7),
    ("limits", 7),
    ("log", 7),
    ("open", 7),
    ("main", 7),
    ("lib", 7),
];

/// Pairs that break the rule, each with its reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "cli",
    "tui",
    "the verbs that open the terminal program hand over to it; nothing of it is used otherwise",
)];

/// No file is longer than this; what is longer is split by what it is for.
const LONGEST: usize = 900;

/// Files that may be longer, because they are one table of data.
const TABLES: &[&str] = &["server/sample/cultures.rs"];

fn sources() -> Vec<(PathBuf, String)> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("src can be read") {
            let path = entry.expect("its entries too").path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a source file is text");
        (
            path.strip_prefix(&root)
                .expect("it lies below src")
                .to_owned(),
            text,
        )
    };
    paths.into_iter().map(read).collect()
}

fn room_of(path: &Path) -> String {
    let first = path
        .components()
        .next()
        .expect("a path has a part")
        .as_os_str()
        .to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The rooms named in `crate::room` and in `crate::{room, other::..}`, comments left out.
fn rooms_named(text: &str) -> Vec<(usize, String)> {
    let mut named = Vec::new();
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 1;
            let mut word = String::new();
            let mut fresh = true;
            for c in group.chars() {
                if fresh && (c.is_alphanumeric() || c == '_') {
                    word.push(c);
                    continue;
                }
                if !word.is_empty() {
                    named.push((line, std::mem::take(&mut word)));
                    fresh = false;
                }
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 1 => fresh = true,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        } else {
            let word: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            named.push((line, word));
        }
    }
    named
}

#[test]
fn a_room_imports_only_rooms_on_lower_floors() {
    let floors: BTreeMap<&str, u8> = FLOORS.iter().copied().collect();
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let here = room_of(&path);
        let floor = *floors
            .get(here.as_str())
            .unwrap_or_else(|| panic!("{here} is a room without a floor"));
        for (line, other) in rooms_named(&text) {
            let Some(theirs) = floors.get(other.as_str()) else {
                continue;
            };
            let excepted = EXCEPTIONS
                .iter()
                .any(|(from, to, _)| (*from, *to) == (here.as_str(), other.as_str()));
            if other != here && *theirs >= floor && !excepted {
                broken.push(format!(
                    "{}:{line}: {here} (floor {floor}) imports {other} (floor {theirs})",
                    path.display()
                ));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_floors_are_found_however_a_path_is_written() {
    let text = "use crate::{api, archive::{Place, Row}, mail};\nlet x = crate::view::draw; // crate::tui\n";
    let names: Vec<String> = rooms_named(text)
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    assert_eq!(names, ["api", "archive", "mail", "view"]);
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().count();
        if lines > LONGEST && !TABLES.iter().any(|table| path == Path::new(table)) {
            broken.push(format!("{}: {lines} lines", path.display()));
        }
        if !text.starts_with("//! ") {
            broken.push(format!(
                "{}: does not open with what it is for",
                path.display()
            ));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn no_room_is_called_by_what_it_might_hold() {
    let vague = [
        "utils", "util", "helpers", "helper", "common", "manager", "misc",
    ];
    for (path, _) in sources() {
        let parts = path.components().map(|part| {
            part.as_os_str()
                .to_string_lossy()
                .trim_end_matches(".rs")
                .to_owned()
        });
        for part in parts {
            assert!(!vague.contains(&part.as_str()), "{}", path.display());
        }
    }
}

/// Crates and calls that only some rooms may know: what the pure machine never sees, it cannot do.
#[test]
fn the_machine_is_pure() {
    let banned: &[(&str, &[&str])] = &[
        (
            "app",
            &[
                "tokio",
                "reqwest",
                "rusqlite",
                "axum",
                "println!",
                "std::fs",
                "std::io",
                "std::env",
                "Timestamp::now",
                "Instant",
            ],
        ),
        (
            "view",
            &[
                "&mut Model",
                "tokio",
                "reqwest",
                "rusqlite",
                "std::fs",
                "std::env",
                "Timestamp::now",
            ],
        ),
        (
            "mail",
            &[
                "tokio", "reqwest", "rusqlite", "ratatui", "std::fs", "std::env",
            ],
        ),
        (
            "render",
            &[
                "tokio",
                "reqwest",
                "rusqlite",
                "ratatui",
                "crossterm",
                "std::fs",
                "std::env",
            ],
        ),
        ("cli", &["crate::app", "crate::view"]),
    ];
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let room = room_of(&path);
        for (_, words) in banned.iter().filter(|(name, _)| *name == room) {
            for (n, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                for word in words.iter().filter(|word| code.contains(**word)) {
                    broken.push(format!("{}:{}: {word}", path.display(), n + 1));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
