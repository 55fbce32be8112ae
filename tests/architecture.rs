//! Checks the architecture: layers, file sizes, header comments,
//! and what each module may use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The top-level modules, layer by layer. A module imports only modules of lower
/// layers.
const LAYERS: &[&[&str]] = &[
    &["error", "tasks", "text"],
    &["config", "mail", "signals"],
    &["api", "query", "render"],
    &["archive"],
    &["export", "server", "sync"],
    &["app", "mirror"],
    &["view"],
    &["cli", "tui"],
    &["fuzz_targets", "launch", "logging", "panic_hook"],
    &["run"],
    &["lib", "main"],
];

/// The most lines of a file, tests not counted.
const MAX_LINES: usize = 600;

/// Files that own the state of a module: they may import what extends them.
const STATE_OWNERS: &[&str] = &["app/model"];

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
    // Only the path below `src`: the folder above it may have any name.
    paths.retain(|path| !is_test(path.strip_prefix(&root).expect("it lies below src")));
    paths.sort();
    assert!(paths.len() > 100, "the sources are found");
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a source file is text");
        let path = path.strip_prefix(&root).expect("it lies below src");
        (path.to_owned(), text)
    };
    paths.into_iter().map(read).collect()
}

fn is_test(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains("tests/") || text.ends_with("tests.rs")
}

/// A file's module path below `src`, for example `["archive", "search", "plan"]`.
fn module_path(path: &Path) -> Vec<String> {
    let parts = path.components().map(|part| {
        let text = part.as_os_str().to_string_lossy();
        text.trim_end_matches(".rs").to_owned()
    });
    let mut parts: Vec<String> = parts.collect();
    parts.pop_if(|last| last == "mod");
    parts
}

#[test]
fn modules_import_only_lower_layers() {
    let layer_of = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let here = &module_path(&path)[0];
        let layer = layer_of(here).unwrap_or_else(|| panic!("{here} has no layer"));
        for names in named_paths(&text) {
            let [start, other, ..] = &names[..] else {
                continue;
            };
            let theirs = layer_of(other).filter(|_| start == "crate");
            if other != here && theirs.is_some_and(|theirs| theirs >= layer) {
                broken.push(format!(
                    "{}: {here} (layer {layer}) imports {}",
                    path.display(),
                    names.join("::")
                ));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn files_are_short_and_have_a_header() {
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().count();
        if lines > MAX_LINES {
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
        for part in module_path(&path) {
            assert!(!vague.contains(&part.as_str()), "{}", path.display());
        }
    }
}

/// What the pure modules cannot name, they cannot use.
#[test]
fn pure_modules_use_no_input_or_output() {
    let banned = [
        (
            "app",
            "tokio, reqwest, rusqlite, axum, println!, std::fs, std::io, std::env, Timestamp::now, Instant",
        ),
        (
            "view",
            "&mut Model, tokio, reqwest, rusqlite, std::fs, std::env, Timestamp::now",
        ),
        (
            "mail",
            "tokio, reqwest, rusqlite, ratatui, std::fs, std::env",
        ),
        (
            "render",
            "tokio, reqwest, rusqlite, ratatui, crossterm, std::fs, std::env",
        ),
        ("cli", "crate::app, crate::view"),
    ];
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let module = &module_path(&path)[0];
        for (_, words) in banned.iter().filter(|(name, _)| name == module) {
            for (n, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                for word in words.split(", ").filter(|word| code.contains(word)) {
                    broken.push(format!("{}:{}: {word}", path.display(), n + 1));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The paths of all `use` declarations, with groups written out: `use a::{b, c::d}`
/// gives `a::b` and `a::c::d`.
fn used_paths(text: &str) -> Vec<Vec<String>> {
    fn expand(prefix: &[String], tree: &str, out: &mut Vec<Vec<String>>) {
        let tree = tree.trim();
        if let Some((head, group)) = tree.split_once('{') {
            let parts = head.split("::").map(str::trim);
            let parts = parts.filter(|part| !part.is_empty()).map(str::to_owned);
            let prefix = [prefix, &parts.collect::<Vec<_>>()].concat();
            let (mut depth, mut start) = (0, 0);
            for (at, c) in group.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => {
                        expand(&prefix, &group[start..at], out);
                        break;
                    }
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        expand(&prefix, &group[start..at], out);
                        start = at + 1;
                    }
                    _ => {}
                }
            }
        } else if !tree.is_empty() {
            let path = tree.split(" as ").next().unwrap_or(tree);
            let parts = path.split("::").map(|part| part.trim().to_owned());
            out.push([prefix, &parts.collect::<Vec<_>>()].concat());
        }
    }
    let mut paths = Vec::new();
    for declaration in text.split(';') {
        let found = declaration
            .rmatch_indices("use ")
            .find(|(at, _)| declaration[..*at].ends_with(['\n', ' ', ')']) || *at == 0);
        if let Some((at, _)) = found {
            let line = declaration[..at]
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .trim();
            if line.is_empty() || line == "pub" || line.starts_with("pub(") {
                expand(&[], &declaration[at + 4..], &mut paths);
            }
        }
    }
    paths
}

/// The paths in the code itself that start at the crate or at the module above,
/// outside of `use` declarations, too.
fn inline_paths(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines();
    let code: Vec<&str> = lines.filter_map(|line| line.split("//").next()).collect();
    let code = code.join("\n");
    let mut paths = Vec::new();
    for start in ["super::", "crate::"] {
        for (at, _) in code.match_indices(start) {
            let is_inside =
                code[..at].ends_with(|c: char| c == ':' || c == '_' || c.is_alphanumeric());
            // The reach of a visibility, such as `pub(in crate::archive)`, is not an import.
            if is_inside || code[..at].ends_with("(in ") {
                continue;
            }
            let is_path = |c: char| c == ':' || c == '_' || c.is_alphanumeric();
            let path: String = code[at..].chars().take_while(|c| is_path(*c)).collect();
            let parts = path.split("::").filter(|part| !part.is_empty());
            paths.push(parts.map(str::to_owned).collect());
        }
    }
    paths
}

/// All paths that a text names.
fn named_paths(text: &str) -> Vec<Vec<String>> {
    let mut paths = used_paths(text);
    paths.extend(inline_paths(text));
    paths
}

#[test]
fn nested_and_inline_paths_are_recognized() {
    let text = "use crate::{api, archive::{Place, Row}, mail};\nuse super::plan;\n\
                let x = super::super::sync::print(crate::view::draw); // crate::tui\n";
    let paths: Vec<String> = named_paths(text)
        .iter()
        .map(|path| path.join("::"))
        .collect();
    assert_eq!(
        paths,
        [
            "crate::api",
            "crate::archive::Place",
            "crate::archive::Row",
            "crate::mail",
            "super::plan",
            "super::plan",
            "super::super::sync::print",
            "crate",
            "crate::view::draw",
        ]
    );
}

/// Which file imports which inside each top-level module. A name that the file of a
/// folder (`mod.rs`, or the file named like the folder) hands on counts for the file that defines
/// it.
///
/// The file of a folder declares the files in it, and they use its types: that is left out, as are
/// the files that own the state of a module.
fn imports() -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let product = |text: String| {
        let parts = text.split_once("#[cfg(test)]\nmod tests {");
        parts.map_or(text.clone(), |(product, _)| product.to_owned())
    };
    let files: BTreeMap<Vec<String>, String> = sources()
        .into_iter()
        .map(|(path, text)| (module_path(&path), product(text)))
        .collect();
    let owners: BTreeSet<Vec<String>> = files
        .keys()
        .filter(|path| {
            files
                .keys()
                .any(|other| other.len() > path.len() && other.starts_with(path))
        })
        .cloned()
        .collect();
    let resolve = |here: &[String], path: &[String]| -> Vec<String> {
        let mut base = here.to_vec();
        let mut parts = path.iter();
        let mut rest: Vec<String> = Vec::new();
        match parts.next().map(String::as_str) {
            Some("crate") => base.clear(),
            Some("self") => {}
            Some("super") => {
                base.pop();
            }
            Some(other) => rest.push(other.to_owned()),
            None => {}
        }
        for part in parts {
            if part == "super" {
                base.pop();
            } else {
                rest.push(part.clone());
            }
        }
        base.extend(rest);
        base
    };
    // What an owner hands on: its path and a name -> the path of the definition.
    let mut handed_on: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for owner in &owners {
        for path in used_paths(&files[owner]) {
            let full = resolve(owner, &path);
            if let Some(name) = full.last() {
                let mut alias = owner.clone();
                alias.push(name.clone());
                handed_on.insert(alias, full);
            }
        }
    }
    let is_state = |path: &Vec<String>| STATE_OWNERS.contains(&path.join("/").as_str());
    let mut graph: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
    for (here, text) in &files {
        if here.len() < 2 || is_state(here) {
            continue;
        }
        for path in named_paths(text) {
            let mut full = resolve(here, &path);
            while let Some(next) = handed_on.get(&full).filter(|next| **next != full) {
                full = next.clone();
            }
            let target = (2..=full.len())
                .rev()
                .map(|n| full[..n].to_vec())
                .find(|prefix| files.contains_key(prefix));
            let Some(target) = target.filter(|target| target[0] == here[0]) else {
                continue;
            };
            let is_same_folder = target.starts_with(here) || here.starts_with(&target);
            if !is_same_folder && !is_state(&target) {
                graph.entry(here.clone()).or_default().insert(target);
            }
        }
    }
    graph
}

#[test]
fn files_of_a_module_import_in_one_direction() {
    let graph = imports();
    let reachable = |from: &Vec<String>| {
        let (mut seen, mut queue) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(file) = queue.pop() {
            for next in graph.get(&file).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    queue.push(next.clone());
                }
            }
        }
        seen
    };
    let reach: BTreeMap<_, _> = graph
        .keys()
        .map(|file| (file.clone(), reachable(file)))
        .collect();
    let mut cycles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (file, far) in &reach {
        if far.contains(file) {
            let circle: Vec<String> = far
                .iter()
                .filter(|other| reach.get(*other).is_some_and(|back| back.contains(file)))
                .map(|path| path.join("/"))
                .collect();
            cycles.insert(circle);
        }
    }
    let broken: Vec<String> = cycles.iter().map(|circle| circle.join(" <-> ")).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
