//! `profile`: lists, chooses and removes the profiles of the configuration file.

use serde::Serialize;

use super::args::ProfileVerb;
use super::output::{CommandExit, Output, OutputFormat};
use crate::config::{Env, ProfileEntry, Profiles};
use crate::error::{Error, ErrorKind};
use crate::text::sanitize;

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

impl<'a> From<&'a ProfileEntry> for ProfileJson<'a> {
    fn from(listed: &'a ProfileEntry) -> Self {
        let ProfileEntry {
            name,
            is_default,
            base_url,
            key_source: key_from,
            in_memory: _,
        } = listed;
        Self {
            name,
            default: *is_default,
            base_url,
            key_from: Some(key_from.as_str()).filter(|from| !from.is_empty()),
        }
    }
}

/// The profiles as one JSON document.
#[derive(Serialize)]
struct ProfilesJson<'a> {
    /// All profiles, by name.
    profiles: Vec<ProfileJson<'a>>,
}

/// Does what was asked for.
///
/// # Errors
///
/// If the file cannot be read, understood or changed, or an archive would be deleted unasked.
pub(super) fn run(verb: &ProfileVerb, env: &Env, out: &mut Output) -> Result<(), CommandExit> {
    let mut profiles = Profiles::load(env)?;
    for warning in profiles.warnings() {
        out.note(warning);
    }
    match verb {
        ProfileVerb::List => list_profiles(&profiles, env, out),
        ProfileVerb::Use { name } => {
            profiles.make_default(name)?;
            out.note(&format!("{name} is the default profile now"));
            Ok(())
        }
        ProfileVerb::Remove { name, yes } => {
            profiles.require(name)?;
            if let Some(archives) = profiles.existing_data_dir(name).filter(|_| !yes) {
                let message = format!(
                    "the mail that profile {name} has gathered would be deleted with it: {}",
                    archives.display()
                );
                return Err(Error::new(ErrorKind::Usage, message)
                    .with_hint("add --yes to delete it, too; the service forgets old mail")
                    .into());
            }
            profiles.remove(name)?;
            out.note(&format!("profile {name} is removed"));
            Ok(())
        }
    }
}

fn list_profiles(profiles: &Profiles, env: &Env, out: &mut Output) -> Result<(), CommandExit> {
    let listed = profiles.entries();
    let rows: Vec<ProfileJson<'_>> = listed.iter().map(ProfileJson::from).collect();
    let text = match out.format {
        OutputFormat::Human => format_table(&listed),
        OutputFormat::Json => {
            serde_json::to_string(&ProfilesJson { profiles: rows }).expect("texts are JSON") + "\n"
        }
        OutputFormat::JsonLines => rows
            .iter()
            .map(|row| serde_json::to_string(row).expect("texts are JSON") + "\n")
            .collect(),
    };
    out.write_data(&text)?;
    out.flush()?;
    if listed.is_empty() {
        out.note(&format!(
            "there is no profile in {}; sentbox login makes one",
            profiles.path().display()
        ));
    }
    if let Some(variable) = Profiles::overriding_variable(env) {
        out.note(&format!(
            "{variable} is set and goes before the default profile"
        ));
    }
    Ok(())
}

/// One line each, in columns.
fn format_table(listed: &[ProfileEntry]) -> String {
    let widest = |text: fn(&ProfileEntry) -> &str| {
        listed
            .iter()
            .map(|profile| text(profile).len())
            .max()
            .unwrap_or_default()
    };
    let (names, urls) = (
        widest(|profile| &profile.name),
        widest(|profile| &profile.base_url),
    );
    let line = |ProfileEntry {
                    name,
                    is_default,
                    base_url,
                    key_source: key_from,
                    in_memory: _,
                }: &ProfileEntry| {
        let mark = if *is_default { '*' } else { ' ' };
        let key_from = if key_from.is_empty() {
            "no key"
        } else {
            key_from
        };
        format!(
            "{mark} {name:names$}  {base_url:urls$}  {}\n",
            sanitize::sanitize_line(key_from)
        )
    };
    listed.iter().map(line).collect()
}
