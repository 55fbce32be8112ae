//! `login`: prompts for a key, tries it, and stores it readable by its owner only.

use std::io::{self, IsTerminal as _, Read as _};

use serde::Serialize;

use super::CommandContext;
use super::output::{CommandExit, Output, OutputFormat};
use crate::api::verify_key;
use crate::archive::IdentityMismatch;
use crate::config::{ApiKey, Flags, KeyTarget, Profiles, Settings};
use crate::error::{Error, ErrorKind};
use crate::text::sanitize;

/// Longer than any key; whatever comes after it is not read.
const MAX_INPUT: u64 = 64 << 10;

/// The report as JSON.
#[derive(Serialize)]
struct LoginJson<'a> {
    /// Name of the profile.
    profile: &'a str,
    /// Base URL of the service.
    base_url: String,
    /// What the key allows: always `full`, because reading needs that.
    access: &'a str,
    /// File that holds the key.
    key_file: String,
    /// The configuration file.
    config: String,
}

/// Asks, tries, stores and reports.
///
/// # Errors
///
/// If there is no directory for the key, or the service does not take it or does not let it read: then
/// nothing is stored.
pub(super) fn run(world: CommandContext<'_>) -> Result<(), CommandExit> {
    let CommandContext {
        global,
        env,
        clock,
        check_key_bindings: _,
        out,
    } = world;
    let mut profiles = Profiles::load(env)?;
    for warning in profiles.warnings() {
        out.note(warning);
    }
    let target = profiles.key_target(&global.flags(), env)?;
    let key = read_key(&target)?;
    super::block_on(async { Ok(verify_key(&target, &key, clock).await?) })?;
    profiles.store_key(&target, &key)?;
    write_report(&target, &profiles, out)?;
    let flags = Flags {
        profile: Some(target.profile.clone()),
        ..global.flags()
    };
    // What keeps the archive from opening is reported when it is used.
    if let Ok(Some(stranger)) =
        Settings::resolve(&flags, env).and_then(|settings| IdentityMismatch::find(&settings))
    {
        let failure = Error::from(stranger);
        out.note(&format!("{}; {}", failure.message, failure.hint));
    }
    if let Some(variable) = Profiles::overriding_variable(env) {
        out.note(&format!(
            "{variable} is set and goes before this profile; --profile {} uses it all the same",
            target.profile
        ));
    } else if profiles.default_name() != target.profile {
        out.note(&format!(
            "to use it: --profile {0}, or for good: sentbox profile use {0}",
            target.profile
        ));
    }
    Ok(())
}

/// The key: typed unseen on a terminal, else the first line of standard input.
fn read_key(target: &KeyTarget) -> Result<ApiKey, Error> {
    let unread = |error: io::Error| match error.kind() {
        io::ErrorKind::Interrupted => Error::new(ErrorKind::Io, "no key was given"),
        _ => Error::new(ErrorKind::Io, format!("the key cannot be read: {error}")),
    };
    if io::stdin().is_terminal() {
        let prompt = format!(
            "API key for {} (profile {}): ",
            target.base_url, target.profile
        );
        return ApiKey::new(
            &rpassword::prompt_password(sanitize::sanitize_line(&prompt)).map_err(unread)?,
            "the terminal",
        );
    }
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(MAX_INPUT)
        .read_to_string(&mut text)
        .map_err(unread)?;
    ApiKey::new(text.lines().next().unwrap_or_default(), "standard input")
}

fn write_report(
    target: &KeyTarget,
    profiles: &Profiles,
    out: &mut Output,
) -> Result<(), CommandExit> {
    let KeyTarget {
        profile,
        base_url,
        key_file,
        ca_file: _,
    } = target;
    let (key_file, config) = (
        key_file.display().to_string(),
        profiles.path().display().to_string(),
    );
    let text = match out.format {
        OutputFormat::Human => format!(
            "{base_url} takes the key. It may read; every key that may read may also send and delete.\n\
             profile  {profile}, in {config}\n\
             key      {key_file}, readable by you alone\n"
        ),
        OutputFormat::Json | OutputFormat::JsonLines => {
            let report = LoginJson {
                profile,
                base_url: base_url.to_string(),
                access: "full",
                key_file,
                config,
            };
            serde_json::to_string(&report).expect("texts are JSON") + "\n"
        }
    };
    out.write_data(&text)?;
    out.flush()
}
