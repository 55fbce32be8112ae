//! `config`: shows the path of the configuration file, checks it,
//! and opens it in an editor.

use std::process::Command;

use serde::Serialize;
use serde_json::json;

use super::CommandContext;
use super::args::ConfigVerb;
use super::output::{CommandExit, Output, OutputFormat};
use crate::api::read_certificates;
use crate::config::{ConfigFindings, Env, Paths, Profiles, config_hint, remove_key_variables};
use crate::error::{Error, ErrorKind, Result};
use crate::query::{InvalidValue, ParseContext, parse};

/// The result of a check as JSON.
#[derive(Serialize)]
struct ConfigJson<'a> {
    /// The configuration file.
    path: String,
    /// Number of profiles.
    profiles: usize,
    /// Profile that is used without `--profile`; null if there is none of that name.
    default: Option<&'a str>,
    /// Errors, one a line of the file.
    errors: &'a [String],
    /// Warnings, one a line of the file.
    warnings: &'a [String],
}

pub(super) fn run(verb: ConfigVerb, context: CommandContext<'_>) -> Result<(), CommandExit> {
    match verb {
        ConfigVerb::Path => print_path(context.env, context.out),
        ConfigVerb::Check => check(context),
        ConfigVerb::Edit => {
            edit(context.env)?;
            check(context)
        }
    }
}

fn print_path(env: &Env, out: &mut Output) -> Result<(), CommandExit> {
    let Some(path) = Paths::from_env(env).config else {
        let error = Error::new(ErrorKind::Config, "there is no home directory");
        return Err(error.with_hint("set HOME").into());
    };
    let path = path.display().to_string();
    let text = match out.format {
        OutputFormat::Human => path,
        OutputFormat::Json | OutputFormat::JsonLines => json!({ "path": path }).to_string(),
    };
    out.write_exact(&(text + "\n"))?;
    out.flush()
}

pub(super) fn find_errors(profiles: &Profiles, context: &CommandContext<'_>) -> ConfigFindings {
    let CommandContext { env, clock, .. } = context;
    let file = &profiles.file;
    let mut findings = ConfigFindings {
        errors: file.errors.clone(),
        warnings: [file.theme_errors.as_slice(), &file.warnings].concat(),
    };
    profiles.check_secrets(env, &mut findings);
    for (name, path) in profiles.ca_files() {
        if let Err(error) = read_certificates(path) {
            let at = profiles.locate(&["profiles", name, "ca_file"]);
            findings.errors.push(format!("{at}: {}", error.message));
        }
    }
    for (number, view) in file.views.iter().flatten() {
        let parsed = parse(&view.query, &ParseContext::new(clock(), env.time_zone()));
        let at = profiles.locate(&["views", &number.to_string(), "query"]);
        for diagnostic in parsed.diagnostics {
            let problem = diagnostic.describe(&view.query);
            let message = format!("{at}: view {number}, {}: {problem}", view.name);
            match diagnostic.value {
                Some(InvalidValue::Impossible) => findings.errors.push(message),
                _ => findings.warnings.push(message),
            }
        }
    }
    let key_bindings = (context.check_key_bindings)(&file.keys);
    findings.errors.extend(key_bindings.errors);
    findings.warnings.extend(key_bindings.warnings);
    findings
}

fn check(context: CommandContext<'_>) -> Result<(), CommandExit> {
    let profiles = Profiles::load_with_errors(context.env)?;
    let ConfigFindings { errors, warnings } = find_errors(&profiles, &context);
    let out = context.out;
    // A single error is what the command ends with.
    if errors.len() > 1 {
        out.notes(&errors);
    }
    out.notes(&warnings);
    let path = profiles.path.display().to_string();
    let report = ConfigJson {
        path: path.clone(),
        profiles: profiles.entries().len(),
        default: profiles.default(),
        errors: &errors,
        warnings: &warnings,
    };
    let text = if profiles.path.exists() {
        let default = match report.default {
            Some(name) => format!(", default: {name}"),
            None if report.profiles > 0 => ", none of them the default".to_owned(),
            None => String::new(),
        };
        format!("{path} can be used; profiles: {}{default}", report.profiles)
    } else {
        format!("{path} does not exist (optional)")
    };
    if errors.is_empty() || out.is_json() {
        out.report(&report, text)?;
    }
    let message = match errors.as_slice() {
        [] => return Ok(()),
        [error] => error.clone(),
        errors => format!("{path} has {} errors", errors.len()),
    };
    let hint = config_hint(&message);
    Err(Error::new(ErrorKind::Config, message)
        .with_hint(hint)
        .into())
}

/// Opens the file in the user's editor and waits for its end.
fn edit(env: &Env) -> Result<()> {
    let path = Profiles::create_if_missing(env)?;
    let editor = env.get("VISUAL").or_else(|| env.get("EDITOR"));
    let editor = editor.unwrap_or("vi");
    let hint = "VISUAL or EDITOR names it";
    // An editor's variable may hold arguments, so the shell reads it; the path is data.
    let mut command = Command::new("sh");
    let command = command.arg("-c").arg(format!("{editor} \"$1\""));
    let status = remove_key_variables(command.arg("sentbox").arg(path))
        .status()
        .map_err(|error| {
            Error::cannot("run", ErrorKind::Io, "the editor", &error).with_hint(hint)
        })?;
    if status.success() {
        return Ok(());
    }
    let message = format!("the editor failed ({status})");
    Err(Error::new(ErrorKind::Io, message).with_hint(hint))
}
