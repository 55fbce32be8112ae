//! The tables in README.md and `docs/` are made from what they describe:
//! commands, the query language, and the doc comments of types.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::app::Keymap;
use crate::app::commands::help::{HelpLine, help_lines};
use crate::docs_tests::{read, root};
use crate::error::ErrorKind;
use crate::query::query_manual;

/// Every kind; a test compares it with the variants in the source.
const KINDS: [ErrorKind; 25] = [
    ErrorKind::Usage,
    ErrorKind::KeyMissing,
    ErrorKind::KeyRejected,
    ErrorKind::KeySendOnly,
    ErrorKind::NotFound,
    ErrorKind::NoSuchPart,
    ErrorKind::Unsupported,
    ErrorKind::InvalidRequest,
    ErrorKind::RateLimited,
    ErrorKind::Quota,
    ErrorKind::Server,
    ErrorKind::Unreachable,
    ErrorKind::NotTheApi,
    ErrorKind::Redirected,
    ErrorKind::TimedOut,
    ErrorKind::Archive,
    ErrorKind::ArchiveDamaged,
    ErrorKind::ArchiveUnreachable,
    ErrorKind::NotAnArchive,
    ErrorKind::Config,
    ErrorKind::InvalidInput,
    ErrorKind::StatusFinal,
    ErrorKind::Declined,
    ErrorKind::Io,
    ErrorKind::Internal,
];

/// A field of a struct or a variant of an enum, as the source has it.
#[derive(Debug, PartialEq)]
struct Member {
    name: String,
    /// The type; empty for a variant.
    ty: String,
    attributes: String,
    /// The paragraphs of its doc comment.
    docs: Vec<String>,
}

/// The members of `struct NAME` or `enum NAME` in rustfmt's layout.
fn members(source: &str, name: &str) -> Option<Vec<Member>> {
    let is_header = |line: &str| {
        let after = ["struct ", "enum "]
            .iter()
            .find_map(|keyword| line.split_once(keyword).map(|(_, after)| after));
        !line.starts_with([' ', '/'])
            && after
                .and_then(|after| after.strip_prefix(name))
                .is_some_and(|rest| rest.starts_with([' ', '<']))
    };
    let mut found = Vec::new();
    let (mut docs, mut attributes) = (String::new(), String::new());
    for line in source.lines().skip_while(|line| !is_header(line)).skip(1) {
        let text = line.trim();
        if line == "}" {
            return Some(found);
        } else if let Some(doc) = text.strip_prefix("///") {
            docs.push_str(doc.trim());
            docs.push(if doc.is_empty() { '\n' } else { ' ' });
        } else if text.starts_with("#[") {
            attributes.push_str(text);
        } else if let Some(member) = text.strip_suffix(',') {
            let member = member.rsplit_once(") ").map_or(member, |(_, bare)| bare);
            let (name, ty) = member.split_once(": ").unwrap_or((member, ""));
            found.push(Member {
                name: name.trim_start_matches("pub ").to_owned(),
                ty: ty.replace("'a ", "").replace("'static ", ""),
                attributes: std::mem::take(&mut attributes),
                docs: std::mem::take(&mut docs)
                    .lines()
                    .map(|line| line.trim().to_owned())
                    .filter(|line| !line.is_empty())
                    .collect(),
            });
        }
    }
    None
}

/// The value of a type in JSON: in words, and the struct that it is made of.
fn value(ty: &str) -> (String, Option<&str>) {
    let inner = |prefix: &str, suffix: &str| {
        ty.strip_prefix(prefix)
            .and_then(|rest| rest.strip_suffix(suffix))
    };
    if let Some(inner) = inner("Option<", ">") {
        let (words, nested) = value(inner);
        return (format!("{words} or null"), nested);
    }
    if let Some(inner) = inner("Vec<", ">").or_else(|| inner("&[", "]")) {
        let (words, nested) = value(inner);
        return (format!("list of {words}s"), nested);
    }
    let words = match ty {
        "String" | "&str" | "&Path" | "PathBuf" | "Cow<str>" => "string",
        "u8" | "u16" | "u32" | "u64" | "usize" | "f64" => "number",
        "bool" => "boolean",
        _ => return ("object".to_owned(), ty.split('<').next()),
    };
    (words.to_owned(), None)
}

/// Writes a line for each member of a struct, and then for those of the structs in
/// it.
fn write_rows(out: &mut String, file: &str, name: &str, path: &str, used: &mut BTreeSet<String>) {
    used.insert(format!("{name} in {file}"));
    let members =
        members(&read(file), name).unwrap_or_else(|| panic!("there is no {name} in {file}"));
    for member in members {
        let Member {
            name: field,
            ty,
            attributes,
            docs,
        } = member;
        if attributes.contains("#[serde(skip)]") {
            continue;
        }
        let json = attributes
            .split_once("rename = \"")
            .and_then(|(_, rest)| rest.split_once('"'))
            .map_or(field.as_str(), |(json, _)| json);
        assert!(
            !docs.is_empty(),
            "{file}: {name}.{field} needs a doc comment: it is in docs/json.md"
        );
        let (words, nested) = value(&ty);
        // An email is written with the members of its summary beside its own.
        if (name, ty.as_str()) == ("Email", "Summary") {
            write_rows(out, file, "Summary", path, used);
            continue;
        }
        let words = if attributes.contains("skip_serializing_if") {
            format!("{}, may be absent", words.trim_end_matches(" or null"))
        } else {
            words
        };
        let json = format!("{path}{json}");
        let _ = writeln!(out, "| `{json}` | {words} | {} |", docs.join(" "));
        if let Some(nested) = nested {
            let list = if words.starts_with("list") { "[]" } else { "" };
            write_rows(out, file, nested, &format!("{json}{list}."), used);
        }
    }
}

fn member_table(file: &str, name: &str, used: &mut BTreeSet<String>) -> String {
    let mut out = String::from("| member | value | meaning |\n| --- | --- | --- |\n");
    write_rows(&mut out, file, name, "", used);
    out
}

fn error_table() -> String {
    let variants = members(&read("src/error.rs"), "ErrorKind").expect("there are error kinds");
    assert_eq!(
        variants
            .iter()
            .map(|variant| variant.name.clone())
            .collect::<Vec<_>>(),
        KINDS.map(|kind| format!("{kind:?}")),
        "KINDS has all variants in their order"
    );
    let mut out =
        String::from("| code | exit code | meaning | what to do |\n| --- | --- | --- | --- |\n");
    for (variant, kind) in variants.iter().zip(KINDS) {
        let [meaning, next_step] = variant.docs.as_slice() else {
            panic!("ErrorKind::{kind:?} needs two paragraphs: what it means, and what to do");
        };
        let (code, exit_code) = (kind.code(), kind.exit_code());
        let _ = writeln!(out, "| `{code}` | {exit_code} | {meaning} | {next_step} |");
    }
    out
}

fn format_keys(keys: &[String]) -> String {
    let keys: Vec<String> = keys
        .iter()
        .map(|key| format!("`{}`", key.replace('|', "\\|")))
        .collect();
    keys.join(" ")
}

fn key_table() -> String {
    let mut out = String::new();
    for line in help_lines(&Keymap::default()) {
        match line {
            // The signs explain themselves where they are.
            HelpLine::Title("Signs") => break,
            HelpLine::Status(_)
            | HelpLine::Changed(_)
            | HelpLine::Watched(_)
            | HelpLine::MissingUpstream(_)
            | HelpLine::Marked(_) => {}
            HelpLine::Title(title) => {
                let _ = write!(out, "| {title} | | |\n| --- | --- | --- |\n");
            }
            HelpLine::Keys(keys, spec) => {
                let keys = format_keys(&keys);
                let name = if keys == "`1..9`" {
                    "view-1` ... `view-9"
                } else {
                    spec.name
                };
                let _ = writeln!(out, "| {keys} | {} | `{name}` |", spec.help);
            }
            HelpLine::Blank => out.push('\n'),
        }
    }
    out.trim_end().to_owned() + "\n"
}

/// The keys of the commands with these names, in this order.
fn short_key_table(names: &str) -> String {
    let lines = help_lines(&Keymap::default());
    let mut out = String::from("| key | what it does |\n| --- | --- |\n");
    for name in names.split(", ") {
        let row = lines.iter().find_map(|line| match line {
            HelpLine::Keys(keys, spec) if spec.name == name => Some((format_keys(keys), spec.help)),
            _ => None,
        });
        let (keys, help) = row.unwrap_or_else(|| panic!("there is no command {name}"));
        let _ = writeln!(out, "| {keys} | {help} |");
    }
    out
}

/// The document with its tables written again:
/// each is between `<!-- errors -->`, `<!-- keys -->`, `<!-- keys of NAME, NAME -->`,
/// `<!-- queries -->` or `<!-- members of NAME in FILE -->`, and `<!-- end -->`.
fn regenerate(text: &str, used: &mut BTreeSet<String>) -> String {
    let mut out = String::new();
    let mut is_generated = false;
    for line in text.lines() {
        if line == "<!-- end -->" {
            is_generated = false;
        }
        if is_generated {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        let marker = line
            .strip_prefix("<!-- ")
            .and_then(|line| line.strip_suffix(" -->"));
        let table = match marker {
            Some("errors") => error_table(),
            Some("keys") => key_table(),
            Some("queries") => format!("```text\n{}```\n", query_manual()),
            Some(marker) => {
                if let Some(names) = marker.strip_prefix("keys of ") {
                    short_key_table(names)
                } else if let Some(item) = marker.strip_prefix("members of ") {
                    let (name, file) = item.split_once(" in ").expect("NAME in FILE");
                    member_table(file, name, used)
                } else {
                    continue;
                }
            }
            None => continue,
        };
        is_generated = true;
        let _ = write!(out, "\n{table}\n");
    }
    assert!(!is_generated, "a table has no <!-- end -->");
    out
}

fn serialized_structs() -> BTreeSet<String> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("src/cli is a folder") {
            let path = entry.expect("its entries can be read").path();
            if path.is_dir() {
                collect(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut files = Vec::new();
    collect(&root().join("src/cli"), &mut files);
    let mut found = BTreeSet::new();
    for path in files {
        let file = path
            .strip_prefix(root())
            .expect("it is below the root")
            .display()
            .to_string();
        let text = read(&file);
        let mut is_serialized = false;
        for line in text.lines() {
            is_serialized |= line.starts_with("#[derive(") && line.contains("Serialize");
            if let Some((_, rest)) = line.split_once("struct ").filter(|_| is_serialized) {
                let name = rest
                    .split(|c: char| !c.is_alphanumeric())
                    .next()
                    .unwrap_or_default();
                found.insert(format!("{name} in {file}"));
                is_serialized = false;
            }
        }
    }
    found
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test has no settings")]
fn generated_tables_match_the_source() {
    let mut used = BTreeSet::new();
    for path in [
        "README.md",
        "docs/errors.md",
        "docs/json.md",
        "docs/keys.md",
        "docs/query.md",
    ] {
        let text = read(path);
        let expected = regenerate(&text, &mut used);
        if std::env::var_os("SENTBOX_WRITE_DOCS").is_some() {
            fs::write(root().join(path), &expected).expect("docs can be written");
        } else {
            assert!(
                text == expected,
                "{path} is out of date; SENTBOX_WRITE_DOCS=1 cargo test --lib docs writes its tables"
            );
        }
    }
    let missing: Vec<String> = serialized_structs().difference(&used).cloned().collect();
    assert!(missing.is_empty(), "docs/json.md lacks {missing:?}");
}

#[test]
fn members_have_name_type_and_docs() {
    let source = "/// A.\n#[derive(Serialize)]\npub(super) struct Report<'a> {\n    /// One\n    /// two.\n    ///\n    /// Three.\n    pub(super) name: &'a str,\n    #[serde(skip)]\n    pub count: Option<u64>,\n}\n";
    let member = |name: &str, ty: &str, attributes: &str, docs: &[&str]| Member {
        name: name.to_owned(),
        ty: ty.to_owned(),
        attributes: attributes.to_owned(),
        docs: docs.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(
        members(source, "Report").unwrap(),
        [
            member("name", "&str", "", &["One two.", "Three."]),
            member("count", "Option<u64>", "#[serde(skip)]", &[]),
        ]
    );
    assert_eq!(members(source, "Rep"), None);
}
