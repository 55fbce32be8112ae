//! `Settings`: what flags, environment and file together say, decided once.

use std::path::PathBuf;

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::credentials::Credentials;
use super::env::Flags;
use super::file::profile_not_found;
use super::file::{ConfigFile, DEFAULT_PROFILE, PROFILE_NAME_RULE, ProfileConfig, is_profile_name};
use super::{ApiKey, Backfill, BaseUrl, Env, Paths, Rate, SavedViews, built_in_views};
use crate::error::{Error, ErrorKind};

/// Where the archive is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveLocation {
    /// In this file, whose directories are made when needed.
    Disk(PathBuf),
    /// In memory, gone with the process.
    Memory,
}

/// Everything that was settled before the program does anything.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The profile's name.
    pub(crate) profile: String,
    /// Where the service is.
    pub(crate) base_url: BaseUrl,
    /// The key that belongs to that address, or why there is none: that is no reason not to start.
    pub(crate) key: Result<ApiKey, Error>,
    /// Where the key comes from, in words.
    pub(crate) key_source: String,
    /// Whether no source names a key: sentbox is not set up yet.
    pub(crate) is_unconfigured: bool,
    /// Whether key and address come from the profile, and not from the environment.
    pub(crate) is_from_profile: bool,
    /// Where the archive is. On disk it is bound to the profile, the address and the key's
    /// fingerprint by its path, so that two teams' mail is never mixed; a new key starts a new one.
    pub(crate) archive: ArchiveLocation,
    /// Whether it is in memory because flag or profile say so.
    pub(crate) in_memory: bool,
    /// How old mail may become in it; `None` is for ever.
    pub(crate) retention: Option<SignedDuration>,
    /// How far back it is to reach by itself.
    pub(crate) backfill: Backfill,
    /// Whether it is in memory for lack of a home directory, which is worth a note.
    pub(crate) no_home: bool,
    /// Requests a second.
    pub(crate) rate: Rate,
    /// Certificates to trust beside the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// The zone in which times are shown and read.
    pub(crate) zone: TimeZone,
    /// The saved views; those that are built in if the file says nothing about views.
    pub(crate) views: SavedViews,
    /// What in the file was not understood, a message each.
    pub(crate) warnings: Vec<String>,
}

impl Settings {
    /// Resolves all settings. Reads the configuration file and the key, nothing else.
    pub(crate) fn resolve(flags: &Flags, env: &Env) -> Result<Self, Error> {
        let paths = Paths::from_env(env);
        let file = ConfigFile::load(&paths)?;
        let (name, profile) = select_profile(flags, env, &file)?;
        let mut no_home = false;
        let pair = Credentials::resolve(flags, env, &name, &profile)?;
        let in_memory = flags.in_memory || profile.in_memory;
        let archive = if in_memory {
            ArchiveLocation::Memory
        } else if let Some(archives) = paths.profile_data_dir(&name) {
            match &pair.key {
                Ok(key) => ArchiveLocation::Disk(
                    archives
                        .join(archive_dir_name(&pair.base_url, key))
                        .join("archive.sqlite"),
                ),
                Err(_) => ArchiveLocation::Memory,
            }
        } else {
            no_home = true;
            ArchiveLocation::Memory
        };
        Ok(Self {
            archive,
            in_memory,
            retention: profile.retention,
            backfill: profile.backfill,
            rate: resolve_rate(flags, env, &profile)?,
            ca_file: flags.ca_file.clone().or(profile.ca_file),
            zone: flags.zone.clone().unwrap_or_else(|| env.time_zone()),
            no_home,
            views: file.views.unwrap_or_else(built_in_views),
            warnings: file.warnings,
            profile: name,
            base_url: pair.base_url,
            key: pair.key,
            key_source: pair.key_source,
            is_unconfigured: pair.is_unconfigured,
            is_from_profile: pair.is_from_profile,
        })
    }
}

/// The directory that an address and a key share with no other team's.
fn archive_dir_name(base_url: &BaseUrl, key: &ApiKey) -> String {
    format!("{}-{}", base_url.directory_name(), key.fingerprint())
}

/// The profile that is meant: by flag, environment or file, else `default`, which need not be written down.
fn select_profile(
    flags: &Flags,
    env: &Env,
    file: &ConfigFile,
) -> Result<(String, ProfileConfig), Error> {
    let named = flags
        .profile
        .as_deref()
        .or_else(|| env.get("SENTBOX_PROFILE"))
        .or(file.default_profile.as_deref());
    let name = named.unwrap_or(DEFAULT_PROFILE);
    if !is_profile_name(name) {
        return Err(Error::new(ErrorKind::Usage, PROFILE_NAME_RULE));
    }
    match file.profiles.get(name) {
        Some(profile) => Ok((name.to_owned(), profile.clone())),
        None if name == DEFAULT_PROFILE => Ok((name.to_owned(), ProfileConfig::default())),
        None => Err(profile_not_found(name, file)),
    }
}

fn resolve_rate(flags: &Flags, env: &Env, profile: &ProfileConfig) -> Result<Rate, Error> {
    let wrong = |from: &str| Error::new(ErrorKind::Usage, format!("{from} is {}", Rate::SYNTAX));
    if let Some(number) = flags.rate {
        return Rate::explicit(number).ok_or_else(|| wrong("--rate"));
    }
    if let Some(text) = env.get("SENTBOX_RATE") {
        return text
            .parse()
            .ok()
            .and_then(Rate::explicit)
            .ok_or_else(|| wrong("SENTBOX_RATE"));
    }
    Ok(profile.rate.unwrap_or_default())
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
