//! Compares the files in `packaging/` and the package metadata with Cargo.toml and
//! with each other.

use std::collections::BTreeSet;

use clap::Parser as _;
use toml_edit::{DocumentMut, Item};

use crate::cli::Args;
use crate::docs_tests::{read, root};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const DESCRIPTION: &str = env!("CARGO_PKG_DESCRIPTION");
const LICENSE: &str = env!("CARGO_PKG_LICENSE");
const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// Returns the files that a list of assets takes.
fn sources(assets: &Item, source: impl Fn(&toml_edit::Value) -> Option<&str>) -> BTreeSet<String> {
    let assets = assets.as_array().expect("assets are a list").iter();
    assets
        .map(|asset| source(asset).expect("each has a source").to_owned())
        .collect()
}

#[test]
fn packages_have_the_facts_of_cargo_toml() {
    assert_eq!(
        LICENSE, "MIT OR Apache-2.0",
        "the formula and the flake list both"
    );
    let facts = [
        (
            "packaging/PKGBUILD",
            format!("pkgname=sentbox\npkgver={VERSION}\n"),
        ),
        ("packaging/PKGBUILD", format!("\npkgdesc='{DESCRIPTION}'\n")),
        ("packaging/PKGBUILD", format!("\nlicense=('{LICENSE}')\n")),
        (
            "packaging/flake.nix",
            format!("  description = \"{DESCRIPTION}\";\n\n"),
        ),
        (
            "packaging/flake.nix",
            format!("pname = \"sentbox\";\n        version = \"{VERSION}\";\n"),
        ),
        (
            "packaging/flake.nix",
            format!("meta = {{\n          description = \"{DESCRIPTION}\";\n"),
        ),
        (
            "packaging/flake.nix",
            "licenses; [ mit asl20 ];\n".to_owned(),
        ),
        ("packaging/formula", format!("\n  desc \"{DESCRIPTION}\"\n")),
        ("packaging/formula", format!("\n  version \"{VERSION}\"\n")),
        (
            "packaging/formula",
            "\n  license any_of: [\"MIT\", \"Apache-2.0\"]\n".to_owned(),
        ),
        (
            "packaging/Dockerfile",
            format!(".description=\"{DESCRIPTION}\" \\\n"),
        ),
        (
            "packaging/Dockerfile",
            format!(".version=\"{VERSION}\" \\\n"),
        ),
        ("packaging/Dockerfile", format!(".licenses=\"{LICENSE}\"\n")),
        (
            "packaging/Dockerfile",
            format!("\nFROM rust:{RUST_VERSION}-alpine AS build\n"),
        ),
        (
            ".github/workflows/ci.yml",
            format!("RUSTUP_TOOLCHAIN: \"{RUST_VERSION}\"\n"),
        ),
        (
            ".github/workflows/release.yml",
            format!("RUSTUP_TOOLCHAIN: \"{RUST_VERSION}\"\n"),
        ),
    ];
    for (path, fact) in facts {
        assert!(read(path).contains(&fact), "{path} lacks {fact}");
    }
}

#[test]
fn packages_install_the_same_existing_files() {
    let manifest: DocumentMut = read("Cargo.toml").parse().unwrap();
    let metadata = &manifest["package"]["metadata"];
    let deb = sources(&metadata["deb"]["assets"], |asset| {
        asset.as_array()?.get(0)?.as_str()
    });
    let mut rpm = sources(&metadata["generate-rpm"]["assets"], |asset| {
        asset.as_inline_table()?.get("source")?.as_str()
    });
    let arch: BTreeSet<String> = read("packaging/PKGBUILD")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("install -Dm"))
        .flat_map(|line| {
            line.split(" -t ")
                .next()
                .unwrap_or_default()
                .split(' ')
                .skip(1)
        })
        .map(str::to_owned)
        .collect();
    assert_eq!(rpm, arch);
    // Debian's package has the licences in its file `copyright`.
    rpm.retain(|path| !path.starts_with("LICENSE-"));
    assert_eq!(rpm, deb);
    let script = read("packaging/generate");
    for path in &arch {
        let is_made = path == "target/release/sentbox" || script.contains(&format!("> {path}\n"));
        assert!(is_made || root().join(path).is_file(), "{path}");
    }
}

#[test]
fn packaging_runs_only_existing_commands() {
    let mut lines: Vec<String> = Vec::new();
    for unit in [
        "sentbox.service",
        "sentbox@.service",
        "sentbox-mirror.service",
    ] {
        let unit = read(&format!("packaging/systemd/{unit}"));
        let lines_of = unit
            .lines()
            .filter_map(|line| line.strip_prefix("ExecStart=/usr/bin/"));
        lines.extend(lines_of.map(str::to_owned));
    }
    let script = read("packaging/generate");
    lines.extend(script.lines().filter_map(|line| {
        let (arguments, _) = line.strip_prefix("\"$sentbox\" ")?.split_once(" > ")?;
        Some(format!("sentbox {arguments}"))
    }));
    assert_eq!(lines.len(), 7, "{lines:?}");
    for line in lines {
        let parsed = Args::try_parse_from(line.split(' '));
        assert!(parsed.is_ok_and(|args| args.verb.is_some()), "{line}");
    }
}
