//! `login`: asks for a key, tries it, and stores it where nobody else can read it.

use std::io::{self, IsTerminal as _, Read as _};

use serde::Serialize;

use super::World;
use super::output::{Output, Shape, Stop};
use crate::api::try_key;
use crate::archive::Stranger;
use crate::config::{ApiKey, Flags, Place, Profiles, Settings};
use crate::failure::{Failure, Kind};
use crate::mail::clean;

/// Longer than any key; whatever comes after it is not read.
const MOST: u64 = 64 << 10;

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    profile: &'a str,
    base_url: String,
    access: &'a str,
    key_file: String,
    config: String,
}

/// Asks, tries, stores and reports.
///
/// # Errors
///
/// If there is no place for the key, or the service does not take it or does not let it read: then
/// nothing is stored.
pub(super) fn run(world: World<'_>) -> Result<(), Stop> {
    let World {
        global,
        env,
        clock,
        wrong_keys: _,
        out,
    } = world;
    let mut profiles = Profiles::read(env)?;
    for warning in profiles.warnings() {
        out.note(warning);
    }
    let place = profiles.place_for(&global.flags(), env)?;
    let key = asked(&place)?;
    super::wait_for(async { Ok(try_key(&place, &key, clock).await?) })?;
    profiles.store(&place, &key)?;
    report(&place, &profiles, out)?;
    let flags = Flags {
        profile: Some(place.profile.clone()),
        ..global.flags()
    };
    // Whatever keeps the archive from being looked at is said when it is used.
    if let Ok(Some(stranger)) =
        Settings::resolve(&flags, env).and_then(|settings| Stranger::before(&settings))
    {
        let failure = Failure::from(stranger);
        out.note(&format!("{}; {}", failure.sentence, failure.hint));
    }
    if let Some(variable) = Profiles::overridden_by(env) {
        out.note(&format!(
            "{variable} is set and goes before this profile; --profile {} uses it all the same",
            place.profile
        ));
    } else if profiles.default_name() != place.profile {
        out.note(&format!(
            "to use it: --profile {0}, or for good: sentbox profile use {0}",
            place.profile
        ));
    }
    Ok(())
}

/// The key: typed unseen on a terminal, else the first line of standard input.
fn asked(place: &Place) -> Result<ApiKey, Failure> {
    let unread = |error: io::Error| match error.kind() {
        io::ErrorKind::Interrupted => Failure::new(Kind::Io, "no key was given"),
        _ => Failure::new(Kind::Io, format!("the key cannot be read: {error}")),
    };
    if io::stdin().is_terminal() {
        let prompt = format!(
            "API key for {} (profile {}): ",
            place.base_url, place.profile
        );
        return ApiKey::new(
            &rpassword::prompt_password(clean::line(&prompt)).map_err(unread)?,
            "the terminal",
        );
    }
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(MOST)
        .read_to_string(&mut text)
        .map_err(unread)?;
    ApiKey::new(text.lines().next().unwrap_or_default(), "standard input")
}

fn report(place: &Place, profiles: &Profiles, out: &mut Output) -> Result<(), Stop> {
    let Place {
        profile,
        base_url,
        key_file,
        ca_file: _,
    } = place;
    let (key_file, config) = (
        key_file.display().to_string(),
        profiles.path().display().to_string(),
    );
    let text = match out.shape {
        Shape::Human => format!(
            "{base_url} takes the key. It may read; every key that may read may also send and delete.\n\
             profile  {profile}, in {config}\n\
             key      {key_file}, readable by you alone\n"
        ),
        Shape::Json | Shape::JsonLines => {
            let report = Report {
                profile,
                base_url: base_url.to_string(),
                access: "full",
                key_file,
                config,
            };
            serde_json::to_string(&report).expect("texts are JSON") + "\n"
        }
    };
    out.data(&text)?;
    out.flush()
}
