//! Checks the architecture: layers, file sizes, header comments, and what each module may use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each top-level module and its layer. A module imports only modules of lower layers.
const LAYERS: &[(&str, u8)] = &[
    ("error", 0),
    ("text", 0),
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
    ("fuzz_targets", 7),
    ("launch", 7),
    ("logging", 7),
    ("main", 9),
    ("panic_hook", 7),
    ("run", 8),
    ("lib", 9),
];

/// Imports that break the rule, each with its reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "cli",
    "tui",
    "the verbs that open the terminal program hand over to it; nothing of it is used otherwise",
)];

/// The most lines of a file, tests not counted.
const MAX_LINES: usize = 900;

/// Files that may be longer because they are one table of data.
const DATA_FILES: &[&str] = &[];

/// The product's source files; tests are in files of their own.
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
    paths.retain(|path| !is_test(path));
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

fn is_test(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains("/tests/") || text.ends_with("tests.rs")
}

fn module_of(path: &Path) -> String {
    let first = path
        .components()
        .next()
        .expect("a path has a part")
        .as_os_str()
        .to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// Top-level modules named in `crate::module` and `crate::{module, other::..}`, comments left out.
fn named_modules(text: &str) -> Vec<(usize, String)> {
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
fn modules_import_only_lower_layers() {
    let layers: BTreeMap<&str, u8> = LAYERS.iter().copied().collect();
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let here = module_of(&path);
        let layer = *layers
            .get(here.as_str())
            .unwrap_or_else(|| panic!("{here} has no layer"));
        for (line, other) in named_modules(&text) {
            let Some(theirs) = layers.get(other.as_str()) else {
                continue;
            };
            let excepted = EXCEPTIONS
                .iter()
                .any(|(from, to, _)| (*from, *to) == (here.as_str(), other.as_str()));
            if other != here && *theirs >= layer && !excepted {
                broken.push(format!(
                    "{}:{line}: {here} (layer {layer}) imports {other} (layer {theirs})",
                    path.display()
                ));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn nested_use_paths_are_recognized() {
    let text = "use crate::{api, archive::{Place, Row}, mail};\nlet x = crate::view::draw; // crate::tui\n";
    let names: Vec<String> = named_modules(text)
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    assert_eq!(names, ["api", "archive", "mail", "view"]);
}

#[test]
fn files_are_short_and_have_a_header() {
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().count();
        if lines > MAX_LINES && !DATA_FILES.iter().any(|table| path == Path::new(table)) {
            broken.push(format!("{}: {lines} lines", path.display()));
        }
        if !text.starts_with("//! ") {
            broken.push(format!("{}: has no header comment", path.display()));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn no_module_has_a_vague_name() {
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

/// What the pure modules cannot name, they cannot use.
#[test]
fn pure_modules_use_no_input_or_output() {
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
        let module = module_of(&path);
        for (_, words) in banned.iter().filter(|(name, _)| *name == module) {
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
