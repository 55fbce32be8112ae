//! `config`: shows the path of the configuration file, checks it, and opens it in an editor.

use std::process::Command;

use serde::Serialize;

use super::CommandContext;
use super::args::ConfigVerb;
use super::output::{CommandExit, OutputFormat};
use crate::config::{Env, Paths, Profiles, remove_key_variables};
use crate::error::{Error, ErrorKind};
use crate::query::{ParseContext, parse};

/// The outcome of a check as JSON.
#[derive(Serialize)]
struct ConfigJson<'a> {
    /// The configuration file.
    path: String,
    /// Number of profiles.
    profiles: usize,
    /// Profile that is used without `--profile`.
    default: &'a str,
    /// Errors, one a line of the file.
    errors: &'a [String],
    /// Warnings, one a line of the file.
    warnings: &'a [String],
}

/// Does what was asked for.
pub(super) fn run(verb: ConfigVerb, world: CommandContext) -> Result<(), CommandExit> {
    match verb {
        ConfigVerb::Path => {
            let path = Paths::from_env(world.env).config.ok_or_else(|| {
                Error::new(ErrorKind::Config, "there is no home directory").with_hint("set HOME")
            })?;
            let path = path.display().to_string();
            let text = match world.out.format {
                OutputFormat::Human => path,
                OutputFormat::Json | OutputFormat::JsonLines => {
                    serde_json::json!({ "path": path }).to_string()
                }
            };
            world.out.write_exact(&(text + "\n"))?;
            world.out.flush()
        }
        ConfigVerb::Check => check_config(world),
        ConfigVerb::Edit => {
            edit_config(world.env)?;
            check_config(world)
        }
    }
}

fn check_config(world: CommandContext) -> Result<(), CommandExit> {
    let CommandContext {
        env,
        clock,
        check_key_bindings: wrong_keys,
        out,
        global: _,
    } = world;
    let profiles = Profiles::load_with_errors(env)?;
    let mut warnings = profiles.warnings().to_vec();
    for (number, view) in profiles.views().into_iter().flatten() {
        let notes = parse(&view.query, &ParseContext::new(clock(), env.time_zone())).diagnostics;
        warnings.extend(
            notes
                .into_iter()
                .map(|note| format!("view {number}, {}: {}", view.name, note.message)),
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
    let (path, names) = (
        profiles.path().display().to_string(),
        profiles.entries().len(),
    );
    let text = match out.format {
        OutputFormat::Human if !errors.is_empty() => String::new(),
        OutputFormat::Human if !profiles.path().exists() => {
            format!("{path} is not there, which is fine\n")
        }
        OutputFormat::Human => format!(
            "{path} can be used; profiles: {names}, default: {}\n",
            profiles.default_name()
        ),
        OutputFormat::Json | OutputFormat::JsonLines => {
            let checked = ConfigJson {
                path: path.clone(),
                profiles: names,
                default: profiles.default_name(),
                errors: &errors,
                warnings: &warnings,
            };
            serde_json::to_string(&checked).expect("texts are JSON") + "\n"
        }
    };
    out.write_data(&text)?;
    out.flush()?;
    let message = match errors.as_slice() {
        [] => return Ok(()),
        [error] => error.clone(),
        errors => format!("{path} has {} errors", errors.len()),
    };
    Err(Error::new(ErrorKind::Config, message)
        .with_hint("sentbox config edit")
        .into())
}

/// Opens the file in the person's editor and waits for its end.
fn edit_config(env: &Env) -> Result<(), Error> {
    let path = Profiles::create_if_missing(env)?;
    let editor = env
        .get("VISUAL")
        .or_else(|| env.get("EDITOR"))
        .unwrap_or("vi");
    let failed = |why: String| {
        Error::new(ErrorKind::Io, format!("the editor {why}"))
            .with_hint("VISUAL or EDITOR names it")
    };
    // An editor's variable may hold arguments, so the shell reads it; the path is data.
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("sentbox")
        .arg(path);
    let status = remove_key_variables(&mut command)
        .status()
        .map_err(|error| failed(format!("cannot be run: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(failed(format!("failed ({status})")))
    }
}
