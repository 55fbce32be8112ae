//! `login` and `profile`: stores a checked key;
//! lists, selects and removes profiles.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::PathBuf;

use secrecy::zeroize::Zeroizing;
use serde::Serialize;

use super::args::ProfileVerb;
use super::output::terminal_modes::read_hidden_line;
use super::output::{CommandExit, Output};
use super::{CommandContext, block_on_until_signal};
use crate::api::{KeyAccess, verify_key};
use crate::archive::IdentityMismatch;
use crate::config::{ApiKey, Env, Flags, KeyTarget, Profiles, ServerUrl, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::text::sanitize;

/// Longer than any key; the rest of the input is not read.
const MAX_INPUT: usize = 64 << 10;

/// A profile as JSON.
#[derive(Serialize)]
struct ProfileJson<'a> {
    /// Name of the profile.
    name: &'a str,
    /// Whether it is used without `--profile`.
    default: bool,
    /// Base URL of the service.
    base_url: &'a str,
    /// Source of its key, without secrets; null if it has none.
    key_from: Option<&'a str>,
}

#[derive(Serialize)]
struct ProfilesJson<'a> {
    /// All profiles, by name.
    profiles: Vec<ProfileJson<'a>>,
}

/// Runs `profile`. An archive is deleted only with `--yes`.
pub(super) fn run(verb: &ProfileVerb, mut context: CommandContext<'_>) -> Result<(), CommandExit> {
    let mut profiles = context.load_profiles()?;
    let out = context.out;
    match verb {
        ProfileVerb::List => return list_profiles(&profiles, context.env, out),
        ProfileVerb::Use { name } => {
            profiles.make_default(name)?;
            out.note(&format!("{name} is the default profile now"));
        }
        ProfileVerb::Remove { name, yes } => {
            profiles.require(name)?;
            let server = profiles.server_archive(name);
            if !yes {
                check_archive(name, profiles.existing_data_dir(name), server.as_ref())?;
            }
            let has_default =
                |profiles: &Profiles| profiles.entries().iter().any(|it| it.is_default);
            let had_default = has_default(&profiles);
            profiles.remove(name)?;
            out.note(&format!("profile {name} is removed"));
            if had_default && !has_default(&profiles) && !profiles.entries().is_empty() {
                out.note("no profile is the default now; to choose one: sentbox profile use NAME");
            }
            if let Some(url) = server {
                let deletion = describe_deletion("it", &url);
                out.note(&format!(
                    "what is stored in PostgreSQL, at {url}, stays; {deletion}"
                ));
            }
        }
    }
    Ok(())
}

/// Fails if the profile has an archive: one on disk is deleted with it,
/// and one on a server stays there.
fn check_archive(name: &str, folder: Option<PathBuf>, server: Option<&ServerUrl>) -> Result<()> {
    let folder = folder.map(|folder| folder.display().to_string());
    let (message, hint) = match (folder, server) {
        (None, None) => return Ok(()),
        (Some(folder), None) => (
            format!("the mail that profile {name} has gathered would be deleted with it: {folder}"),
            "add --yes to delete it, too; the service forgets old mail".to_owned(),
        ),
        (folder, Some(url)) => {
            let folder = folder.map(|folder| format!("; {folder} would be deleted"));
            let folder = folder.unwrap_or_default();
            let deletion = describe_deletion("the mail", url);
            (
                format!(
                    "what profile {name} has stored in PostgreSQL, at {url}, would stay{folder}"
                ),
                format!("add --yes to remove the profile all the same; {deletion}"),
            )
        }
    };
    Err(Error::new(ErrorKind::Usage, message).with_hint(hint))
}

fn describe_deletion(mail: &str, url: &ServerUrl) -> String {
    let statement = url.drop_statement();
    format!(
        "the owner of the schema deletes {mail} for all who use it, with all that other programs have in these schemas: {statement}"
    )
}

fn list_profiles(profiles: &Profiles, env: &Env, out: &mut Output) -> Result<(), CommandExit> {
    let entries = profiles.entries();
    let name_width = entries.iter().map(|entry| entry.name.len()).max();
    let name_width = name_width.unwrap_or_default();
    let url_width = entries.iter().map(|entry| entry.base_url.len()).max();
    let url_width = url_width.unwrap_or_default();
    let rows = entries.iter().map(|entry| ProfileJson {
        name: &entry.name,
        default: entry.is_default,
        base_url: &entry.base_url,
        key_from: entry.key_source.as_deref(),
    });
    let document = ProfilesJson {
        profiles: rows.collect(),
    };
    let line = |row: &ProfileJson<'_>| {
        let mark = if row.default { '*' } else { ' ' };
        let key = sanitize::sanitize_line(row.key_from.unwrap_or("no key"));
        let (name, url) = (row.name, row.base_url);
        format!("{mark} {name:name_width$}  {url:url_width$}  {key}")
    };
    let lines = document.profiles.iter().map(line);
    out.report_list(&document.profiles, &document, lines)?;
    if entries.is_empty() {
        out.note(&format!(
            "there is no profile in {}; sentbox login makes one",
            profiles.path.display()
        ));
    }
    if let Some(variable) = Profiles::overriding_variable(env) {
        out.note(&format!(
            "{variable} is set and takes precedence over the default profile"
        ));
    }
    Ok(())
}

/// The report of `login` as JSON.
#[derive(Serialize)]
struct LoginJson<'a> {
    /// Name of the profile.
    profile: &'a str,
    /// Base URL of the service.
    base_url: String,
    /// What the key allows: `full`, because reading needs that;
    /// `read` if the service is a mirror.
    access: &'a str,
    /// File that holds the key.
    key_file: String,
    /// The configuration file.
    config: String,
}

/// `login`: reads a key, verifies it, and stores it for its owner only.
pub(super) fn log_in(mut context: CommandContext<'_>) -> Result<(), CommandExit> {
    let mut profiles = context.load_profiles()?;
    let CommandContext { env, out, .. } = context;
    let target = profiles.key_target(&context.global.flags(), env)?;
    let key = read_key(&target)?;
    let verify = async { Ok(verify_key(&target, &key, context.clock).await?) };
    let access = block_on_until_signal(verify)?;
    profiles.store_key(&target, &key)?;
    let profile = &target.profile;
    let report = LoginJson {
        profile,
        base_url: target.base_url.to_string(),
        access: match access {
            KeyAccess::Full => "full",
            KeyAccess::Read => "read",
        },
        key_file: target.key_file.display().to_string(),
        config: profiles.path.display().to_string(),
    };
    let text = format!(
        "{} accepts the key. It may read; {}.\n\
         profile  {profile}, in {}\n\
         key      {}, readable by you alone",
        report.base_url,
        match access {
            KeyAccess::Full => "every key that may read may also send and delete",
            KeyAccess::Read => "the service is a mirror, where no key may send or delete",
        },
        report.config,
        report.key_file
    );
    out.report(&report, text)?;
    let flags = Flags {
        profile: Some(profile.clone()),
        ..context.global.flags()
    };
    // What keeps the archive from opening is reported when it is used.
    if let Ok(Some(mismatch)) =
        Settings::resolve(&flags, env).and_then(|settings| IdentityMismatch::find(&settings))
    {
        let error = Error::from(mismatch);
        out.note(&format!("{}; {}", error.message, error.hint));
    }
    if let Some(variable) = Profiles::overriding_variable(env) {
        out.note(&format!(
            "{variable} is set and takes precedence over this profile; --profile {profile} uses it all the same"
        ));
    } else if profiles.file.default_name() != profile {
        out.note(&format!(
            "to use it: --profile {profile}, or for good: sentbox profile use {profile}"
        ));
    }
    Ok(())
}

/// Reads the key: by a prompt without echo, or the first line of standard input.
fn read_key(target: &KeyTarget) -> Result<ApiKey, CommandExit> {
    let failed = |error: io::Error| Error::cannot("read", ErrorKind::Io, "the key", &error);
    let (input, source) = if io::stdin().is_terminal() {
        let (url, profile) = (&target.base_url, &target.profile);
        let prompt = format!("API key for {url} (profile {profile}): ");
        let line = read_hidden_line(sanitize::sanitize_line(&prompt).into_owned())?;
        (line.map_err(failed)?, "the terminal")
    } else {
        let mut input = Zeroizing::new(String::with_capacity(MAX_INPUT));
        let mut stdin = io::stdin().lock().take(MAX_INPUT as u64);
        stdin.read_to_string(&mut input).map_err(failed)?;
        (input, "standard input")
    };
    Ok(ApiKey::new(
        input.lines().next().unwrap_or_default(),
        source,
    )?)
}
