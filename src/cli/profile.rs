//! `profile`: lists, chooses and removes the profiles of the configuration file.

use serde::Serialize;

use super::args::ProfileVerb;
use super::output::{Output, Shape, Stop};
use crate::config::{Env, Listed, Profiles};
use crate::failure::{Failure, Kind};
use crate::mail::clean;

/// A profile as JSON.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    default: bool,
    base_url: &'a str,
    key_from: Option<&'a str>,
}

impl<'a> From<&'a Listed> for Row<'a> {
    fn from(listed: &'a Listed) -> Self {
        let Listed {
            name,
            is_default,
            base_url,
            key_from,
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
struct Document<'a> {
    profiles: Vec<Row<'a>>,
}

/// Does what was asked for.
///
/// # Errors
///
/// If the file cannot be read, understood or changed, or an archive would be deleted unasked.
pub(super) fn run(verb: &ProfileVerb, env: &Env, out: &mut Output) -> Result<(), Stop> {
    let mut profiles = Profiles::read(env)?;
    for warning in profiles.warnings() {
        out.note(warning);
    }
    match verb {
        ProfileVerb::List => list(&profiles, env, out),
        ProfileVerb::Use { name } => {
            profiles.make_default(name)?;
            out.note(&format!("{name} is the default profile now"));
            Ok(())
        }
        ProfileVerb::Remove { name, yes } => {
            profiles.known(name)?;
            if let Some(archives) = profiles.archives(name).filter(|_| !yes) {
                let sentence = format!(
                    "the mail that profile {name} has gathered would be deleted with it: {}",
                    archives.display()
                );
                return Err(Failure::new(Kind::Usage, sentence)
                    .hint("add --yes if nobody needs it; the service forgets old mail")
                    .into());
            }
            profiles.remove(name)?;
            out.note(&format!("profile {name} is removed"));
            Ok(())
        }
    }
}

fn list(profiles: &Profiles, env: &Env, out: &mut Output) -> Result<(), Stop> {
    let listed = profiles.list();
    let rows: Vec<Row<'_>> = listed.iter().map(Row::from).collect();
    let text = match out.shape {
        Shape::Human => aligned(&listed),
        Shape::Json => {
            serde_json::to_string(&Document { profiles: rows }).expect("texts are JSON") + "\n"
        }
        Shape::JsonLines => rows
            .iter()
            .map(|row| serde_json::to_string(row).expect("texts are JSON") + "\n")
            .collect(),
    };
    out.data(&text)?;
    out.flush()?;
    if listed.is_empty() {
        out.note(&format!(
            "there is no profile in {}; sentbox login makes one",
            profiles.path().display()
        ));
    }
    if let Some(variable) = Profiles::overridden_by(env) {
        out.note(&format!(
            "{variable} is set and goes before the default profile"
        ));
    }
    Ok(())
}

/// One line each, in columns.
fn aligned(listed: &[Listed]) -> String {
    let widest = |text: fn(&Listed) -> &str| {
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
    let line = |Listed {
                    name,
                    is_default,
                    base_url,
                    key_from,
                    in_memory: _,
                }: &Listed| {
        let mark = if *is_default { '*' } else { ' ' };
        let key_from = if key_from.is_empty() {
            "no key"
        } else {
            key_from
        };
        format!(
            "{mark} {name:names$}  {base_url:urls$}  {}\n",
            clean::line(key_from)
        )
    };
    listed.iter().map(line).collect()
}
