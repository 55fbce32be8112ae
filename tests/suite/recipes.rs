//! Runs each line of the recipes in `docs/scripts.md`, against the sample mailbox.

use std::process::Command;

use crate::harness::fixed::sample_mailbox;
use crate::harness::process::Sentbox;
use crate::harness::service::Service;

const PAGE: &str = include_str!("../../docs/scripts.md");

/// The lines of all blocks of shell.
fn recipes() -> Vec<&'static str> {
    let blocks = PAGE.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).collect()
}

/// Whether the shell finds each program of a pipeline.
fn is_installed(recipe: &str) -> bool {
    recipe.split(" | ").skip(1).all(|part| {
        let program = part.split_whitespace().next().unwrap_or_default();
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output();
        program == "sentbox" || found.is_ok_and(|output| output.status.success())
    })
}

#[test]
fn each_recipe_runs_and_prints() {
    let sentbox = Sentbox::using(Service::new(sample_mailbox(250))).with("SENTBOX_RATE", "1000");
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_sentbox"));
    let folder = folder.parent().unwrap().display().to_string();
    let sentbox = sentbox.with("PATH", &format!("{folder}:/usr/local/bin:/usr/bin:/bin"));
    let recipes = recipes();
    assert!(recipes.len() > 15, "{recipes:?}");
    for recipe in recipes {
        // A quoted pipe is a part of an expression.
        let line = if is_installed(&recipe.replace(" | @", " @")) {
            recipe
        } else {
            recipe.split(" | ").next().unwrap_or_default()
        };
        let output = sentbox.shell(&format!("set -e; {line}")).output().unwrap();
        let shown = sentbox.shown(&output);
        assert!(output.status.success(), "{line}: {shown}");
        let is_silent = line.contains("--quiet") || line.contains(" --to ");
        let prints = !output.stdout.is_empty();
        assert!(is_silent || prints, "{line} prints nothing");
    }
    for file in ["bounced.csv", "bounced"] {
        assert!(sentbox.home().join(file).exists(), "{file}");
    }
}
