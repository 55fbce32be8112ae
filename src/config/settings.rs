//! `Settings`: the result of flags, environment and configuration file,
//! resolved once.

use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use secrecy::zeroize::Zeroizing;

use super::api_key::{KeySource, read_secret_file, run_secret_command};
use super::env::Flags;
use super::file::{ConfigFile, DEFAULT_PROFILE, ProfileConfig};
use super::{
    ApiKey, BaseUrl, Env, HistorySpan, Paths, Prompting, Rate, SavedViews, ServerAccess, ServerUrl,
    built_in_views,
};
use crate::error::{Error, ErrorKind, Result};
use crate::text::format::shell_word;
use crate::text::secrets::Secrets;

/// The name of each archive, which has a folder of its own.
pub(crate) const ARCHIVE_FILE: &str = "archive.sqlite";

/// The name in messages of the password for an archive on a server.
const PASSWORD: &str = "the password of the archive";

/// The location of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveLocation {
    /// In this file; its folders are created when needed.
    Disk(PathBuf),
    /// In a database that an organisation shares.
    Server(ServerUrl),
    /// In memory, gone with the process.
    Memory,
}

impl std::fmt::Display for ArchiveLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Disk(path) => path.display().fmt(f),
            Self::Server(url) => url.fmt(f),
            Self::Memory => f.write_str("memory"),
        }
    }
}

/// Why the archive is where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArchiveOrigin {
    /// A flag names it, so that it need not belong to the profile,
    /// except where another flag names that, too.
    Flag { with_profile: bool },
    /// The profile names a server.
    Server {
        /// The folder of what is kept beside it.
        folder: Option<PathBuf>,
    },
    /// This is the folder of all archives of the profile.
    Folder(PathBuf),
    /// It is in memory because of a flag, or of the profile.
    InMemory { by_profile: bool },
    /// It is in memory for lack of a home directory.
    NoHome,
}

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) profile: String,
    pub(crate) credentials: Credentials,
    /// The location of the archive.
    ///
    /// On disk, its path names the profile, the address and the key's fingerprint, so that the
    /// mail of two teams is never mixed.
    pub(crate) archive: ArchiveLocation,
    pub(crate) archive_origin: ArchiveOrigin,
    /// The age at which mail is removed from it; `None` is never.
    pub(crate) retention: Option<SignedDuration>,
    /// How archives on a server are reached and used.
    pub(crate) server_options: ServerOptions,
    /// The mail that is fetched in the background.
    pub(crate) backfill: HistorySpan,
    pub(crate) rate: Rate,
    /// Certificates to trust beside the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// The zone in which times are shown and read.
    pub(crate) zone: TimeZone,
    pub(crate) views: SavedViews,
    pub(crate) secrets: Secrets,
    /// Warnings about the configuration file and the time zone.
    pub(crate) warnings: Vec<String>,
}

/// The folder of the archives of keys from the environment;
/// no profile has such a name.
const ENVIRONMENT_FOLDER: &str = "@environment";

impl Settings {
    /// Resolves all settings. Reads the configuration file and the key, nothing else.
    pub(crate) fn resolve(flags: &Flags, env: &Env) -> Result<Self> {
        Self::from_file(&ConfigFile::load(&Paths::from_env(env))?, flags, env)
    }

    /// Resolves as [`Self::resolve`], with a configuration file that was read.
    pub(crate) fn from_file(file: &ConfigFile, flags: &Flags, env: &Env) -> Result<Self> {
        let paths = Paths::from_env(env);
        let of_env = Credentials::from_env(flags, env)?;
        let name = if of_env.is_some() && env.get("SENTBOX_PROFILE").is_none() {
            // A key of the environment has nothing to do with the profile that others use by
            // default.
            DEFAULT_PROFILE
        } else {
            file.select_profile(flags, env)?
        };
        let profile = file.profile_or_default(name)?;
        let mut credentials = match of_env {
            Some(credentials) => credentials,
            None => Credentials::from_profile(flags, env, name, &profile)?,
        };
        if credentials.is_from_profile() && !file.profiles.contains_key(name) {
            credentials.suggest_profiles(file);
        }
        let mut warnings = file.warnings.clone();
        warnings.extend(env.time_zone_warning().filter(|_| flags.zone.is_none()));
        if let Some(variable) = credentials.source.variable()
            && profile.key.is_some()
        {
            warnings.push(format!(
                "{variable} takes precedence over the key of profile {name}; -p {name} uses that one"
            ));
        }
        // Without a profile, what a key of the environment has gathered is still read.
        let is_of_profile = credentials.is_from_profile() && file.profiles.contains_key(name);
        let folder = paths.profile_data_dir(if is_of_profile {
            name
        } else {
            ENVIRONMENT_FOLDER
        });
        let ca_file = flags.ca_file.clone().or_else(|| profile.ca_file.clone());
        let options = ServerOptions {
            source: profile.server_password.clone(),
            server: profile.server.clone(),
            prompting: flags.prompting,
            access: ServerAccess {
                password: None,
                ca_file: ca_file.clone(),
                user: env.user(),
                is_audited: profile.is_audited,
            },
        };
        let (archive_origin, archive) =
            options.locate_archive(flags, &profile, &credentials, folder)?;
        if profile.is_audited && !matches!(archive, ArchiveLocation::Server(_)) {
            return Err(not_audited_error(name));
        }
        Ok(Self {
            profile: name.to_owned(),
            credentials,
            archive,
            server_options: options,
            archive_origin,
            retention: profile.retention,
            backfill: profile.backfill.unwrap_or(HistorySpan::DEFAULT_BACKFILL),
            rate: resolve_rate(flags, env, &profile)?,
            ca_file,
            zone: flags.zone.clone().unwrap_or_else(|| env.time_zone()),
            views: file.views.clone().unwrap_or_else(built_in_views),
            secrets: if flags.reveal || profile.reveal {
                Secrets::Revealed
            } else {
                Secrets::Masked
            },
            warnings,
        })
    }

    /// The name of what is shown:
    /// of the profile, or of the file or variable that was given instead of one.
    pub(crate) fn title(&self) -> &str {
        let archive_name = self.named_archive().and_then(|archive| match archive {
            ArchiveLocation::Disk(path) => path.file_name()?.to_str(),
            ArchiveLocation::Server(url) => Some(url.schema()),
            ArchiveLocation::Memory => None,
        });
        match (archive_name, &self.credentials.source) {
            (Some(name), _) => name,
            (None, CredentialSource::KeyVariable(name)) => name,
            (None, _) => &self.profile,
        }
    }

    /// The flags by which a command has the same emails, each with a space after it.
    pub(crate) fn command_flags(&self) -> String {
        let profile = self.used_profile();
        let flags = profile.map_or_else(String::new, |name| format!("-p {} ", shell_word(name)));
        let named = match &self.archive {
            ArchiveLocation::Disk(path) if self.is_named_archive() => path.display().to_string(),
            ArchiveLocation::Server(url)
                if profile.is_none() || self.server_options.server.as_ref() != Some(url) =>
            {
                url.to_argument()
            }
            _ => return flags,
        };
        format!("{flags}--archive {} ", shell_word(&named))
    }

    /// The profile whose emails are shown, if they are of one.
    pub(crate) fn used_profile(&self) -> Option<&str> {
        (self.credentials.is_from_profile() && self.named_archive().is_none())
            .then_some(&*self.profile)
    }

    /// Whether a flag or the profile has chosen an archive in memory.
    pub(crate) const fn in_memory(&self) -> bool {
        matches!(self.archive_origin, ArchiveOrigin::InMemory { .. })
    }

    /// Whether a flag or the profile names the archive,
    /// so that it has no folder of a key.
    pub(crate) const fn is_named_archive(&self) -> bool {
        use ArchiveOrigin::{Flag, Server};
        matches!(self.archive_origin, Flag { .. } | Server { .. })
    }

    /// The archive, if a flag named it and none the profile:
    /// it need not be of the default profile.
    pub(crate) fn named_archive(&self) -> Option<&ArchiveLocation> {
        let alone = ArchiveOrigin::Flag {
            with_profile: false,
        };
        (self.archive_origin == alone).then_some(&self.archive)
    }

    /// The folder of all archives of the profile;
    /// `None` if it has no part in the archive.
    pub(crate) fn archives_folder(&self) -> Option<&Path> {
        match &self.archive_origin {
            ArchiveOrigin::Server { folder } => folder.as_deref(),
            ArchiveOrigin::Folder(folder) => Some(folder),
            _ => None,
        }
    }

    /// The folder of what belongs to this user and the archive:
    /// what was typed, and how fast requests are sent.
    pub(crate) fn state_folder(&self) -> Option<PathBuf> {
        match &self.archive {
            ArchiveLocation::Disk(path) => path.parent().map(Path::to_owned),
            ArchiveLocation::Server(url) => {
                Some(self.archives_folder()?.join(url.directory_name()))
            }
            ArchiveLocation::Memory => None,
        }
    }
}

/// The settings of a profile for its archives on a server, with the source of their
/// password.
#[derive(Debug, Clone)]
pub(crate) struct ServerOptions {
    source: Option<KeySource>,
    server: Option<ServerUrl>,
    prompting: Prompting,
    /// Without the password, which is read when an archive on a server is named.
    pub(crate) access: ServerAccess,
}

impl ServerOptions {
    /// Returns the archive that a user names:
    /// a file, or the address of one on a server.
    pub(crate) fn locate(&self, path: &Path) -> Result<ArchiveLocation> {
        match path.to_str() {
            // Each connection to this name has a database of its own.
            Some(":memory:") => {
                let message = "an archive in memory has no name";
                Err(Error::new(ErrorKind::Usage, message).with_hint("use --in-memory"))
            }
            Some(url) if ServerUrl::is_one(url) => self.on_server(&ServerUrl::parse(url)?),
            _ => Ok(ArchiveLocation::Disk(path.to_owned())),
        }
    }

    /// Returns the location of the archive, and why it is there.
    fn locate_archive(
        &self,
        flags: &Flags,
        profile: &ProfileConfig,
        credentials: &Credentials,
        folder: Option<PathBuf>,
    ) -> Result<(ArchiveOrigin, ArchiveLocation)> {
        Ok(if let Some(path) = &flags.archive {
            let with_profile = flags.profile.is_some();
            (ArchiveOrigin::Flag { with_profile }, self.locate(path)?)
        } else if flags.in_memory || profile.in_memory {
            let by_profile = profile.in_memory;
            (
                ArchiveOrigin::InMemory { by_profile },
                ArchiveLocation::Memory,
            )
        } else if let Some(url) = &profile.server {
            (ArchiveOrigin::Server { folder }, self.on_server(url)?)
        } else if let Some(folder) = folder {
            let archive = credentials.locate_in(&folder);
            (ArchiveOrigin::Folder(folder), archive)
        } else {
            (ArchiveOrigin::NoHome, ArchiveLocation::Memory)
        })
    }

    fn on_server(&self, url: &ServerUrl) -> Result<ArchiveLocation> {
        // Another server must not get it.
        let is_its_server = self
            .server
            .as_ref()
            .is_none_or(|own| own.is_same_server(url));
        let password = match &self.source {
            Some(KeySource::Command(command)) if is_its_server => {
                Some(run_secret_command(command, PASSWORD, self.prompting)?)
            }
            Some(KeySource::File(path)) if is_its_server => Some(read_password_file(path)?),
            _ => None,
        };
        let password = password.map(|text| text.trim_end_matches(['\n', '\r']).into());
        let access = ServerAccess {
            password,
            ..self.access.clone()
        };
        Ok(ArchiveLocation::Server(url.clone().with_access(access)))
    }
}

/// The error of a profile that records who opens an email, with another archive.
fn not_audited_error(profile: &str) -> Error {
    let message = format!(
        "profile {profile} records who opens an email, which only its archive in PostgreSQL can"
    );
    Error::new(ErrorKind::Usage, message)
        .with_hint("leave out --archive and --in-memory, or choose another profile")
}

fn resolve_rate(flags: &Flags, env: &Env, profile: &ProfileConfig) -> Result<Rate> {
    let (rate, source) = match (flags.rate, env.get("SENTBOX_RATE")) {
        (Some(number), _) => (Rate::explicit(number), "--rate"),
        (None, Some(text)) => {
            let number = text.parse().ok();
            (number.and_then(Rate::explicit), "SENTBOX_RATE")
        }
        (None, None) => return Ok(profile.rate.unwrap_or_default()),
    };
    let message = || format!("{source} is {}", Rate::SYNTAX);
    rate.ok_or_else(|| Error::new(ErrorKind::Usage, message()))
}

/// Where a key and its address come from.
#[derive(Debug, Clone)]
pub(crate) enum CredentialSource {
    /// The profile, with the source of its key if it has one.
    Profile(Option<KeySource>),
    /// This variable of the environment, which has the key.
    KeyVariable(&'static str),
    /// This variable of the environment, which has an address alone.
    UrlVariable(&'static str),
}

impl CredentialSource {
    const fn variable(&self) -> Option<&'static str> {
        match self {
            Self::Profile(_) => None,
            Self::KeyVariable(name) | Self::UrlVariable(name) => Some(name),
        }
    }
}

/// A key and the address it belongs to.
///
/// Both come from one source: a key must never be sent to an address from another source.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    pub(crate) base_url: BaseUrl,
    /// The key, or why there is none: the program starts without one.
    pub(crate) key: Result<ApiKey>,
    pub(crate) source: CredentialSource,
    /// Whether no source names a key, and no archive is named, which needs none:
    /// sentbox is not set up yet.
    pub(crate) is_unconfigured: bool,
}

impl Credentials {
    fn from_profile(flags: &Flags, env: &Env, name: &str, profile: &ProfileConfig) -> Result<Self> {
        let from = format!("profile {name}");
        let key = match &profile.key {
            Some(source) => read_key(source, &from, env, flags.prompting),
            None => Err(Error::new(ErrorKind::KeyMissing, "there is no API key")
                .with_hint("run sentbox login, or set SENTBOX_API_KEY; sentbox demo needs none")),
        };
        Ok(Self {
            base_url: apply_base_url_flag(flags, profile.base_url.clone(), &from)?,
            key,
            source: CredentialSource::Profile(profile.key.clone()),
            is_unconfigured: profile.key.is_none() && flags.archive.is_none(),
        })
    }

    /// Whether key and address come from the profile, and not from the environment.
    pub(crate) const fn is_from_profile(&self) -> bool {
        matches!(self.source, CredentialSource::Profile(_))
    }

    /// Names the source of the key, without secrets; `None` if no source names a key.
    pub(crate) fn key_source(&self) -> Option<String> {
        match &self.source {
            CredentialSource::Profile(source) => source.as_ref().map(ToString::to_string),
            CredentialSource::KeyVariable(name) => Some((*name).to_owned()),
            CredentialSource::UrlVariable(_) => None,
        }
    }

    /// Returns the variable of the environment that has the key, if one has.
    pub(crate) fn key_variable(&self) -> Option<&str> {
        match &self.source {
            CredentialSource::Profile(Some(KeySource::Variable(name))) => Some(name),
            CredentialSource::KeyVariable(name) => self.key.is_ok().then_some(*name),
            CredentialSource::Profile(_) | CredentialSource::UrlVariable(_) => None,
        }
    }

    /// Returns the archive of the key, in the folder of a profile.
    fn locate_in(&self, folder: &Path) -> ArchiveLocation {
        let Ok(key) = &self.key else {
            return ArchiveLocation::Memory;
        };
        let service = self.base_url.directory_name();
        let team = format!("{service}-{}", key.fingerprint());
        ArchiveLocation::Disk(folder.join(team).join(ARCHIVE_FILE))
    }

    /// Makes the error of a missing key name the profiles of the file.
    fn suggest_profiles(&mut self, file: &ConfigFile) {
        if let Err(error) = &mut self.key
            && !file.profiles.is_empty()
        {
            let names: Vec<&str> = file.profiles.keys().map(String::as_str).collect();
            let names = names.join(", ");
            error.hint = format!(
                "no profile is the default one: choose with -p ({names}), or set it with sentbox profile use NAME"
            );
        }
    }

    /// Returns the credentials of the environment.
    ///
    /// `--profile` precedes them all, `SENTBOX_PROFILE` those of `RESEND_API_KEY`.
    fn from_env(flags: &Flags, env: &Env) -> Result<Option<Self>> {
        let (key, key_variable, url_variable) = if flags.profile.is_some() {
            return Ok(None);
        } else if let Some(text) = env.get("SENTBOX_API_KEY") {
            let name = "SENTBOX_API_KEY";
            (ApiKey::new(text, name), Some(name), "SENTBOX_BASE_URL")
        } else if env.get("SENTBOX_BASE_URL").is_some() {
            let message = "SENTBOX_BASE_URL is set, but not the key that belongs to it";
            let error = Error::new(ErrorKind::KeyMissing, message);
            let error = error.with_hint("set SENTBOX_API_KEY too");
            (Err(error), None, "SENTBOX_BASE_URL")
        } else if let Some(text) = env.get("RESEND_API_KEY")
            && env.get("SENTBOX_PROFILE").is_none()
        {
            let name = "RESEND_API_KEY";
            (ApiKey::new(text, name), Some(name), "RESEND_BASE_URL")
        } else {
            return Ok(None);
        };
        let base_url = env.get(url_variable).map(BaseUrl::parse).transpose();
        let base_url = base_url.map_err(|error| error.prefixed(url_variable))?;
        Ok(Some(Self {
            base_url: apply_base_url_flag(flags, base_url, url_variable)?,
            key,
            source: key_variable.map_or(
                CredentialSource::UrlVariable(url_variable),
                CredentialSource::KeyVariable,
            ),
            is_unconfigured: false,
        }))
    }
}

/// Reads the key of a profile; `from` names the profile in errors.
pub(super) fn read_key(
    source: &KeySource,
    from: &str,
    env: &Env,
    prompting: Prompting,
) -> Result<ApiKey> {
    match source {
        KeySource::Command(command) => {
            ApiKey::new(&run_secret_command(command, from, prompting)?, from)
        }
        KeySource::File(path) => ApiKey::from_file(path, from),
        KeySource::Variable(variable) => {
            let text = env.get(variable).ok_or_else(|| {
                let message = format!("{variable}, where {from} has its key, is not set");
                let hint = format!("set {variable} to the key, for instance in ~/.profile");
                Error::new(ErrorKind::KeyMissing, message).with_hint(hint)
            })?;
            ApiKey::new(text, variable)
        }
    }
}

/// Reads the file with the password of an archive on a server.
pub(super) fn read_password_file(path: &Path) -> Result<Zeroizing<String>> {
    let name = format!("the file {} with {PASSWORD}", path.display());
    let missing = || Error::new(ErrorKind::Config, format!("{name} does not exist"));
    read_secret_file(path, &name)?.ok_or_else(missing)
}

/// Returns the address.
///
/// The flag completes a source without one, but must not redirect another's key.
fn apply_base_url_flag(
    flags: &Flags,
    configured: Option<BaseUrl>,
    source: &str,
) -> Result<BaseUrl> {
    let flag = flags.base_url.as_deref().map(BaseUrl::parse).transpose()?;
    match (flag, configured) {
        (Some(flag), Some(configured)) if configured.url().origin() != flag.url().origin() => {
            let message = format!(
                "--base-url names another service than {source}, where the key belongs to {configured}"
            );
            Err(Error::new(ErrorKind::Usage, message)
                .with_hint("use a profile of its own for each service"))
        }
        (flag, configured) => Ok(flag.or(configured).unwrap_or_else(BaseUrl::resend)),
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
