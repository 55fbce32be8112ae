//! `Settings`: what flags, environment and file together say, decided once.

use std::path::PathBuf;

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::file::{DEFAULT, File, KeySource, PROFILE_NAME, Profile, is_profile_name};
use super::{
    ApiKey, Asking, Backfill, BaseUrl, Env, PanicAt, Paths, Rate, SavedViews, built_in, nearest,
};
use crate::failure::{Failure, Kind};

/// What the command line says about where to go and how. There is no flag that takes a key:
/// everybody on the machine may read the command lines of all.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// The profile to use; the environment's keys are then ignored.
    pub profile: Option<String>,
    /// Where the service is.
    pub base_url: Option<String>,
    /// Whether nothing may be kept on disk.
    pub in_memory: bool,
    /// Requests a second.
    pub rate: Option<f64>,
    /// Certificates to trust beside the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether a command that gives the key may ask for something.
    pub asking: Asking,
    /// The zone in which times are shown and read.
    pub zone: Option<TimeZone>,
}

/// Where the archive is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In this file, whose directories are made when needed.
    Disk(PathBuf),
    /// In memory, gone with the process.
    Memory,
}

/// Everything that was settled before the program does anything.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The profile's name.
    pub profile: String,
    /// Where the service is.
    pub base_url: BaseUrl,
    /// The key that belongs to that address, or why there is none: that is no reason not to start.
    pub key: Result<ApiKey, Failure>,
    /// Where the key comes from, in words.
    pub key_from: String,
    /// Whether nothing says where a key would come from: nobody has set sentbox up yet.
    pub is_new: bool,
    /// Whether key and address come from the profile, and not from the environment.
    pub of_profile: bool,
    /// Where the archive is. On disk it is bound to the profile, the address and the key's
    /// fingerprint by its path, so that two teams' mail is never mixed; a new key starts a new one.
    pub archive: Location,
    /// Whether it is in memory because flag or profile say so.
    pub in_memory: bool,
    /// How old mail may become in it; `None` is for ever.
    pub keep: Option<SignedDuration>,
    /// How far back it is to reach by itself.
    pub backfill: Backfill,
    /// Whether it is in memory for want of a home directory, which whoever opens it should say.
    pub no_home: bool,
    /// Requests a second.
    pub rate: Rate,
    /// Certificates to trust beside the system's.
    pub ca_file: Option<PathBuf>,
    /// The zone in which times are shown and read.
    pub zone: TimeZone,
    /// The saved views; those that are built in if the file says nothing about views.
    pub views: SavedViews,
    /// What in the file was not understood, a sentence each.
    pub warnings: Vec<String>,
    /// Where a debug build is told to panic.
    pub panic_at: Option<PanicAt>,
}

impl Settings {
    /// Settles everything. Asks the disk for the configuration file and the key, nobody else.
    ///
    /// # Errors
    ///
    /// If a value given by hand or in the file is not allowed. A missing key is no error here.
    pub fn resolve(flags: &Flags, env: &Env) -> Result<Self, Failure> {
        let paths = Paths::of(env);
        let file = File::read(&paths)?;
        let (name, profile) = chosen(flags, env, &file)?;
        let mut no_home = false;
        let pair = Pair::find(flags, env, &name, &profile)?;
        let in_memory = flags.in_memory || profile.in_memory;
        let archive = if in_memory {
            Location::Memory
        } else if let Some(archives) = paths.archives_of(&name) {
            match &pair.key {
                Ok(key) => Location::Disk(
                    archives
                        .join(bound_to(&pair.base_url, key))
                        .join("archive.sqlite"),
                ),
                Err(_) => Location::Memory,
            }
        } else {
            no_home = true;
            Location::Memory
        };
        Ok(Self {
            archive,
            in_memory,
            keep: profile.keep,
            backfill: profile.backfill,
            rate: rate(flags, env, &profile)?,
            ca_file: flags.ca_file.clone().or(profile.ca_file),
            zone: flags.zone.clone().unwrap_or_else(|| env.zone()),
            no_home,
            views: file.views.unwrap_or_else(built_in),
            warnings: file.warnings,
            panic_at: PanicAt::of(env),
            profile: name,
            base_url: pair.base_url,
            key: pair.key,
            key_from: pair.key_from,
            is_new: pair.is_new,
            of_profile: pair.of_profile,
        })
    }
}

/// The directory that an address and a key share with no other team's.
fn bound_to(base_url: &BaseUrl, key: &ApiKey) -> String {
    format!("{}-{}", base_url.directory_name(), key.fingerprint())
}

/// The profile that is meant: by flag, environment or file, else `default`, which need not be written down.
fn chosen(flags: &Flags, env: &Env, file: &File) -> Result<(String, Profile), Failure> {
    let named = flags
        .profile
        .as_deref()
        .or_else(|| env.get("SENTBOX_PROFILE"))
        .or(file.default_profile.as_deref());
    let name = named.unwrap_or(DEFAULT);
    if !is_profile_name(name) {
        return Err(Failure::new(Kind::Usage, PROFILE_NAME));
    }
    match file.profiles.get(name) {
        Some(profile) => Ok((name.to_owned(), profile.clone())),
        None if name == DEFAULT => Ok((name.to_owned(), Profile::default())),
        None => Err(no_such_profile(name, file)),
    }
}

/// Says that there is no such profile, and which there are.
pub(super) fn no_such_profile(name: &str, file: &File) -> Failure {
    let known = file.profiles.keys().map(String::as_str);
    let hint = match nearest(name, known.clone()) {
        Some(near) => format!("did you mean {near}?"),
        None if file.profiles.is_empty() => {
            "there is no profile in the configuration file".to_owned()
        }
        None => format!("there is {}", known.collect::<Vec<_>>().join(", ")),
    };
    Failure::new(Kind::Usage, format!("there is no profile {name}")).hint(hint)
}

fn rate(flags: &Flags, env: &Env, profile: &Profile) -> Result<Rate, Failure> {
    let wrong = |from: &str| Failure::new(Kind::Usage, format!("{from} is {}", Rate::ALLOWED));
    if let Some(number) = flags.rate {
        return Rate::by_hand(number).ok_or_else(|| wrong("--rate"));
    }
    if let Some(text) = env.get("SENTBOX_RATE") {
        return text
            .parse()
            .ok()
            .and_then(Rate::by_hand)
            .ok_or_else(|| wrong("SENTBOX_RATE"));
    }
    Ok(profile.rate.unwrap_or_default())
}

/// A key and the address it belongs to. Both come from one source: a key must never be sent to an
/// address that somebody else wrote down.
struct Pair {
    base_url: BaseUrl,
    key: Result<ApiKey, Failure>,
    key_from: String,
    is_new: bool,
    of_profile: bool,
}

impl Pair {
    fn find(flags: &Flags, env: &Env, name: &str, profile: &Profile) -> Result<Self, Failure> {
        if flags.profile.is_none() {
            if let Some(pair) =
                Self::from_environment(flags, env, "SENTBOX_API_KEY", "SENTBOX_BASE_URL")?
            {
                return Ok(pair);
            }
            if env.get("SENTBOX_BASE_URL").is_some() {
                let base_url = completed(
                    flags,
                    env_base(env, "SENTBOX_BASE_URL")?,
                    "SENTBOX_BASE_URL",
                )?;
                let failure = Failure::new(
                    Kind::KeyMissing,
                    "SENTBOX_BASE_URL is set, but not the key that belongs to it",
                );
                let key = Err(failure.hint("set SENTBOX_API_KEY too"));
                return Ok(Self {
                    base_url,
                    key,
                    key_from: String::new(),
                    is_new: false,
                    of_profile: false,
                });
            }
            let profile_named = env.get("SENTBOX_PROFILE").is_some();
            if !profile_named
                && let Some(pair) =
                    Self::from_environment(flags, env, "RESEND_API_KEY", "RESEND_BASE_URL")?
            {
                return Ok(pair);
            }
        }
        let key_from = format!("profile {name}");
        let key = match &profile.key {
            Some(KeySource::Command(command)) => {
                ApiKey::from_command(command, &key_from, flags.asking)
            }
            Some(KeySource::File(path)) => ApiKey::from_file(path, &key_from),
            Some(KeySource::Variable(variable)) => match env.get(variable) {
                Some(text) => ApiKey::new(text, variable),
                None => Err(Failure::new(
                    Kind::KeyMissing,
                    format!("{variable}, where {key_from} has its key, is not set"),
                )),
            },
            None => Err(Failure::new(Kind::KeyMissing, "there is no API key")
                .hint("run sentbox login, or set SENTBOX_API_KEY; sentbox demo needs none")),
        };
        let base_url = completed(flags, profile.base_url.clone(), &key_from)?;
        Ok(Self {
            base_url,
            key,
            key_from,
            is_new: profile.key.is_none(),
            of_profile: true,
        })
    }

    fn from_environment(
        flags: &Flags,
        env: &Env,
        key: &str,
        base: &str,
    ) -> Result<Option<Self>, Failure> {
        let Some(text) = env.get(key) else {
            return Ok(None);
        };
        let base_url = completed(flags, env_base(env, base)?, base)?;
        let (key, key_from) = (ApiKey::new(text, key), key.to_owned());
        Ok(Some(Self {
            base_url,
            key,
            key_from,
            is_new: false,
            of_profile: false,
        }))
    }
}

fn env_base(env: &Env, name: &str) -> Result<Option<BaseUrl>, Failure> {
    env.get(name)
        .map(BaseUrl::parse)
        .transpose()
        .map_err(|failure| Failure {
            sentence: format!("{name}: {}", failure.sentence),
            ..failure
        })
}

/// The address: the flag completes a source that names none, but may not redirect the key of one that does.
fn completed(flags: &Flags, said: Option<BaseUrl>, by: &str) -> Result<BaseUrl, Failure> {
    let Some(flag) = flags.base_url.as_deref().map(BaseUrl::parse).transpose()? else {
        return Ok(said.unwrap_or_else(BaseUrl::real));
    };
    match said {
        Some(said) if said.url().origin() != flag.url().origin() => {
            let sentence = format!(
                "--base-url names another service than {by}, where the key belongs to {said}"
            );
            Err(Failure::new(Kind::Usage, sentence)
                .hint("use a profile of its own for each service"))
        }
        _ => Ok(flag),
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
