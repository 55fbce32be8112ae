//! `config`: where the configuration file is, what is wrong with it, and a way to edit it.

use std::process::Command;

use serde::Serialize;

use super::World;
use super::args::ConfigVerb;
use super::output::{Shape, Stop};
use crate::config::{Env, Paths, Profiles, without_keys};
use crate::failure::{Failure, Kind};
use crate::query::{Context, parse};

/// The outcome of a check as JSON.
#[derive(Serialize)]
struct Checked<'a> {
    path: String,
    profiles: usize,
    default: &'a str,
    errors: &'a [String],
    warnings: &'a [String],
}

/// Does what was asked for.
///
/// # Errors
///
/// If the file cannot be read, understood or made, or the editor fails.
pub(super) fn run(verb: ConfigVerb, world: World) -> Result<(), Stop> {
    match verb {
        ConfigVerb::Path => {
            let path = Paths::of(world.env).config.ok_or_else(|| {
                Failure::new(Kind::Config, "there is no home directory").hint("set HOME")
            })?;
            let path = path.display().to_string();
            let text = match world.out.shape {
                Shape::Human => path,
                Shape::Json | Shape::JsonLines => serde_json::json!({ "path": path }).to_string(),
            };
            world.out.exact(&(text + "\n"))?;
            world.out.flush()
        }
        ConfigVerb::Check => check(world),
        ConfigVerb::Edit => {
            edit(world.env)?;
            check(world)
        }
    }
}

fn check(world: World) -> Result<(), Stop> {
    let World {
        env,
        clock,
        wrong_keys,
        out,
        global: _,
    } = world;
    let profiles = Profiles::look(env)?;
    let mut warnings = profiles.warnings().to_vec();
    for (number, view) in profiles.views().into_iter().flatten() {
        let notes = parse(&view.query, &Context::new(clock(), env.zone())).notes;
        warnings.extend(
            notes
                .into_iter()
                .map(|note| format!("view {number}, {}: {}", view.name, note.words)),
        );
    }
    let errors = [profiles.errors(), &wrong_keys(profiles.keys())].concat();
    // A single error is what the command ends with.
    let several = Some(errors.as_slice())
        .filter(|errors| errors.len() > 1)
        .unwrap_or_default();
    for words in several.iter().chain(&warnings) {
        out.note(words);
    }
    let (path, names) = (profiles.path().display().to_string(), profiles.list().len());
    let text = match out.shape {
        Shape::Human if !errors.is_empty() => String::new(),
        Shape::Human if !profiles.path().exists() => {
            format!("{path} is not there, which is fine\n")
        }
        Shape::Human => format!(
            "{path} can be used; profiles: {names}, default: {}\n",
            profiles.default_name()
        ),
        Shape::Json | Shape::JsonLines => {
            let checked = Checked {
                path: path.clone(),
                profiles: names,
                default: profiles.default_name(),
                errors: &errors,
                warnings: &warnings,
            };
            serde_json::to_string(&checked).expect("texts are JSON") + "\n"
        }
    };
    out.data(&text)?;
    out.flush()?;
    let sentence = match errors.as_slice() {
        [] => return Ok(()),
        [error] => error.clone(),
        errors => format!("{path} has {} errors", errors.len()),
    };
    Err(Failure::new(Kind::Config, sentence)
        .hint("sentbox config edit")
        .into())
}

/// Opens the file in the person's editor and waits for its end.
fn edit(env: &Env) -> Result<(), Failure> {
    let path = Profiles::begun(env)?;
    let editor = env
        .get("VISUAL")
        .or_else(|| env.get("EDITOR"))
        .unwrap_or("vi");
    let failed = |why: String| {
        Failure::new(Kind::Io, format!("the editor {why}")).hint("VISUAL or EDITOR names it")
    };
    // An editor's variable may hold arguments, so the shell reads it; the path is data.
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("sentbox")
        .arg(path);
    let status = without_keys(&mut command)
        .status()
        .map_err(|error| failed(format!("cannot be run: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(failed(format!("failed ({status})")))
    }
}
