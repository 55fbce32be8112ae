//! `Profiles`: lists and edits the profiles of the configuration file,
//! and keeps its comments.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use secrecy::zeroize::Zeroizing;
use toml_edit::{Document, DocumentMut, InlineTable, Item, Table, value};

use super::api_key::KeySource;
use super::file::{ConfigFile, ProfileConfig, file_and_line, is_profile_name, read_text};
use super::private_fs::{
    create_private_dir, folder_of, lock_folder, remove_temp_files, replace_file, write_secret,
};
use super::server_url::ServerUrl;
use super::settings::{read_key, read_password_file};
use super::values::{SavedView, SavedViews, built_in_views};
use super::{ApiKey, BaseUrl, Env, Flags, Paths, Prompting};
use crate::error::{Error, ErrorKind, Result};

#[derive(Debug)]
pub(crate) struct Profiles {
    pub(crate) path: PathBuf,
    pub(crate) file: ConfigFile,
    paths: Paths,
    text: String,
}

/// The errors and warnings of a configuration file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ConfigFindings {
    /// Parts that cannot be used.
    pub errors: Vec<String>,
    /// Parts that have no effect, or another one than it seems.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProfileEntry {
    pub(crate) name: String,
    pub(crate) is_default: bool,
    pub(crate) base_url: String,
    /// Name of the key's source, without secrets.
    pub(crate) key_source: Option<String>,
    /// Whether nothing of its mail is kept on disk.
    pub(crate) in_memory: bool,
    /// Whether its mail is kept in PostgreSQL.
    pub(crate) on_server: bool,
}

/// The profile, service and file of a new key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyTarget {
    pub(crate) profile: String,
    /// The service that the key belongs to.
    pub(crate) base_url: BaseUrl,
    pub(crate) key_file: PathBuf,
    /// Certificates to trust beside the system's.
    pub(crate) ca_file: Option<PathBuf>,
}

impl Profiles {
    /// Reads the configuration file, which need not exist.
    pub(crate) fn load(env: &Env) -> Result<Self> {
        let profiles = Self::load_with_errors(env)?;
        profiles.file.reject_errors()?;
        Ok(profiles)
    }

    pub(crate) fn load_with_errors(env: &Env) -> Result<Self> {
        Self::read(Paths::from_env(env))
    }

    fn read(paths: Paths) -> Result<Self> {
        let path = config_path(&paths)?;
        let text = read_text(&path)?;
        let file = ConfigFile::parse_with_errors(&text, &path, paths.home.as_deref());
        Ok(Self {
            path,
            file,
            paths,
            text,
        })
    }

    /// Keeps other processes from changing the file, and reads it again:
    /// it may have been changed since.
    fn lock(&mut self) -> Result<Option<File>> {
        // Without the folder, two first logins could not exclude each other.
        let _ = create_private_dir(folder_of(&self.path));
        let lock = lock_folder(&self.path);
        *self = Self::read(self.paths.clone())?;
        self.file.reject_errors()?;
        Ok(lock)
    }

    /// Returns the profile that is used if nothing names another, if there is one.
    pub(crate) fn default(&self) -> Option<&str> {
        let name = self.file.default_name();
        self.file.profiles.contains_key(name).then_some(name)
    }

    /// Returns all profiles, by name.
    pub(crate) fn entries(&self) -> Vec<ProfileEntry> {
        let default = self.file.default_name();
        let profiles = self.file.profiles.iter();
        let entry = |(name, profile): (&String, &ProfileConfig)| {
            let base_url = profile.base_url.clone().unwrap_or_else(BaseUrl::resend);
            ProfileEntry {
                name: name.clone(),
                is_default: name == default,
                base_url: base_url.to_string(),
                key_source: profile.key.as_ref().map(ToString::to_string),
                in_memory: profile.in_memory,
                on_server: profile.server.is_some(),
            }
        };
        profiles.map(entry).collect()
    }

    /// Returns the file and line of an entry, by the keys that lead to it.
    pub(crate) fn locate(&self, keys: &[&str]) -> String {
        let document = Document::parse(self.text.as_str()).ok();
        let item = document.as_ref().and_then(|document| {
            let root = document.as_item();
            keys.iter().try_fold(root, |item, key| item.get(*key))
        });
        let span = item.and_then(Item::span).unwrap_or_default();
        file_and_line(&self.path, &self.text, span.start)
    }

    /// Reads the keys and passwords of all profiles, but runs no command for them;
    /// adds the errors of files that are refused, and warnings about keys that are not there, each
    /// with its line.
    pub(crate) fn check_secrets(&self, env: &Env, findings: &mut ConfigFindings) {
        for (name, profile) in &self.file.profiles {
            let mut check = |field, result: Result<()>| {
                let Err(error) = result else {
                    return;
                };
                let at = self.locate(&["profiles", name, field]);
                let message = format!("{at}: {}", error.message);
                match (error.kind, error.hint.as_ref()) {
                    (ErrorKind::KeyMissing, _) => findings.warnings.push(message),
                    (_, "") => findings.errors.push(message),
                    (_, hint) => findings.errors.push(format!("{message}; {hint}")),
                }
            };
            let field = match &profile.key {
                Some(KeySource::File(_)) => Some("api_key_file"),
                Some(KeySource::Variable(_)) => Some("api_key_env"),
                Some(KeySource::Command(_)) | None => None,
            };
            if let (Some(field), Some(source)) = (field, &profile.key) {
                let from = format!("profile {name}");
                let key = read_key(source, &from, env, Prompting::NotRun);
                check(field, key.map(|_| ()));
            }
            if let Some(KeySource::File(path)) = &profile.server_password {
                check(
                    "archive_password_file",
                    read_password_file(path).map(|_| ()),
                );
            }
        }
    }

    /// Returns the files of certificates, with the names of their profiles.
    pub(crate) fn ca_files(&self) -> impl Iterator<Item = (&str, &Path)> {
        let profiles = self.file.profiles.iter();
        profiles.filter_map(|(name, profile)| Some((name.as_str(), profile.ca_file.as_deref()?)))
    }

    /// Returns the target of a new key.
    ///
    /// A profile with another source of its key is refused, because the user wrote that down.
    ///
    /// Fails if the profile's name or the address is not allowed, or the profile has another
    /// address or another source of its key.
    pub(crate) fn key_target(&self, flags: &Flags, env: &Env) -> Result<KeyTarget> {
        let name = self.file.select_profile(flags, env)?;
        let known = self.file.profiles.get(name);
        let flag = flags.base_url.as_deref().map(BaseUrl::parse).transpose()?;
        let configured =
            known.map(|profile| profile.base_url.clone().unwrap_or_else(BaseUrl::resend));
        if let (Some(flag), Some(configured)) = (&flag, &configured)
            && flag != configured
        {
            let message = format!("profile {name} is for {configured}");
            return Err(Error::new(ErrorKind::Usage, message).with_hint(
                "name another profile with --profile, or change its base_url: sentbox config edit",
            ));
        }
        let key_file = self.key_file(name);
        match known.and_then(|profile| profile.key.as_ref()) {
            Some(KeySource::File(path)) if *path == key_file => {}
            Some(source) => {
                let message = format!("profile {name} has its key from elsewhere: {source}");
                return Err(Error::new(ErrorKind::Usage, message)
                    .with_hint("name another profile with --profile, or take that line out: sentbox config edit"));
            }
            None => {}
        }
        Ok(KeyTarget {
            profile: name.to_owned(),
            base_url: flag.or(configured).unwrap_or_else(BaseUrl::resend),
            key_file,
            ca_file: (flags.ca_file.clone()).or_else(|| known?.ca_file.clone()),
        })
    }

    /// Writes the profile and stores its key. The first profile becomes the default.
    ///
    /// The profile comes first: a process that is killed in between leaves a profile without its
    /// key, which is reported and repaired by the next login, and never a key without a profile.
    pub(crate) fn store_key(&mut self, target: &KeyTarget, key: &ApiKey) -> Result<()> {
        self.remove_temp_files();
        let _lock = self.lock()?;
        // The file may name another service or key since the target was chosen.
        let flags = Flags {
            profile: Some(target.profile.clone()),
            base_url: Some(target.base_url.to_string()),
            ..Flags::default()
        };
        self.key_target(&flags, &Env::default())?;
        let profile = &target.profile;
        let before = self.path.exists().then(|| self.text.clone());
        let is_first = self.file.profiles.is_empty() && self.file.default_profile.is_none();
        let is_new = !self.file.profiles.contains_key(profile);
        self.edit(|document| {
            let table = profile_table(document, profile)?;
            if is_new {
                table.insert("base_url", value(target.base_url.to_string()));
                if let Some(file) = &target.ca_file {
                    let path = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                    table.insert("ca_file", value(path.to_str()?));
                }
            }
            table
                .entry("api_key_file")
                .or_insert_with(|| value(format!("{KEYS_DIR}/{profile}")));
            if is_first {
                write_default_profile(document, profile);
            }
            Some(())
        })?;
        let line = Zeroizing::new(format!("{}\n", key.expose()));
        let key_file = &target.key_file;
        write_secret(key_file, &line).map_err(|error| {
            // If this fails too, the profile stays without a key.
            let _ = match &before {
                Some(text) => replace_file(&self.path, text),
                None => fs::remove_file(&self.path),
            };
            Error::cannot("written", ErrorKind::Config, key_file.display(), &error)
        })
    }

    /// Removes the temporary files of killed logins, and returns their paths.
    pub(crate) fn remove_temp_files(&self) -> Vec<PathBuf> {
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Vec::new();
        };
        let mut removed = remove_temp_files(&self.key_file(""), is_profile_name);
        removed.extend(remove_temp_files(folder, |found| found == name));
        removed
    }

    /// Returns the files in the folder of keys that no profile uses.
    pub(crate) fn unused_key_files(&self) -> Vec<PathBuf> {
        let is_used = |path: &PathBuf| {
            let source = Some(KeySource::File(path.clone()));
            let mut profiles = self.file.profiles.values();
            profiles.any(|profile| profile.key == source || profile.server_password == source)
        };
        let stored = fs::read_dir(self.key_file(""))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let is_key = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(is_profile_name)
        };
        let unused = stored.filter(|path| is_key(path) && !is_used(path));
        let mut unused: Vec<PathBuf> = unused.collect();
        unused.sort_unstable();
        unused
    }

    pub(crate) fn make_default(&mut self, name: &str) -> Result<()> {
        let _lock = self.lock()?;
        self.require(name)?;
        self.edit(|document| {
            write_default_profile(document, name);
            Some(())
        })
    }

    /// Returns the folder of a profile's archives, if it exists.
    pub(crate) fn existing_data_dir(&self, name: &str) -> Option<PathBuf> {
        self.paths
            .profile_data_dir(name)
            .filter(|folder| folder.exists())
    }

    /// Returns the address of a profile's archive, if it is on a server.
    pub(crate) fn server_archive(&self, name: &str) -> Option<ServerUrl> {
        self.file.profiles.get(name)?.server.clone()
    }

    pub(crate) fn require(&self, name: &str) -> Result<()> {
        if self.file.profiles.contains_key(name) {
            return Ok(());
        }
        Err(self.file.profile_not_found(name))
    }

    /// Removes a profile from the file, then its stored key and its archives.
    pub(crate) fn remove(&mut self, name: &str) -> Result<()> {
        let _lock = self.lock()?;
        self.require(name)?;
        let is_default = self.file.default_profile.as_deref() == Some(name);
        self.edit(|document| {
            document
                .get_mut("profiles")?
                .as_table_like_mut()?
                .remove(name)?;
            if is_default {
                // A comment above it may be about the file or about this line.
                let above = document
                    .key("default_profile")
                    .and_then(|key| key.leaf_decor().prefix()?.as_str().map(str::to_owned));
                document.remove("default_profile");
                document.decor_mut().set_prefix(above.unwrap_or_default());
            }
            Some(())
        })?;
        let kept = |path: &Path, error| {
            Error::cannot(
                "deleted",
                ErrorKind::Io,
                path.display(),
                &error as &io::Error,
            )
        };
        let key_file = self.key_file(name);
        if key_file.exists() {
            fs::remove_file(&key_file).map_err(|error| kept(&key_file, error))?;
        }
        match self.existing_data_dir(name) {
            Some(archives) => fs::remove_dir_all(&archives).map_err(|error| kept(&archives, error)),
            None => Ok(()),
        }
    }

    /// Returns the path of the file; writes the template if there is none.
    pub(crate) fn create_if_missing(env: &Env) -> Result<PathBuf> {
        let path = config_path(&Paths::from_env(env))?;
        if !path.exists() {
            write_config(&path, CONFIG_TEMPLATE)?;
        }
        Ok(path)
    }

    /// Returns the set variable whose key precedes that of the default profile.
    pub(crate) fn overriding_variable(env: &Env) -> Option<&'static str> {
        let theirs = env
            .get("SENTBOX_PROFILE")
            .is_none()
            .then_some("RESEND_API_KEY");
        ["SENTBOX_API_KEY", "SENTBOX_BASE_URL"]
            .into_iter()
            .chain(theirs)
            .find(|name| env.get(name).is_some())
    }

    fn key_file(&self, profile: &str) -> PathBuf {
        self.path
            .parent()
            .unwrap_or_else(|| Path::new(""))
            .join(KEYS_DIR)
            .join(profile)
    }

    /// Changes the file, and keeps comments and order.
    ///
    /// The file stays as it is if the change fails, or would make it invalid.
    pub(super) fn edit(
        &mut self,
        change: impl FnOnce(&mut DocumentMut) -> Option<()>,
    ) -> Result<()> {
        let stuck = || {
            let message = format!("{} cannot be edited safely", self.path.display());
            Error::new(ErrorKind::Config, message)
                .with_hint("change it by hand: sentbox config edit")
        };
        let mut document: DocumentMut = self.text.parse().map_err(|_| stuck())?;
        change(&mut document).ok_or_else(stuck)?;
        let mut text = document.to_string();
        let has_crlf = self.text.contains("\r\n");
        if has_crlf && !self.text.replace("\r\n", "").contains('\n') {
            // The document has lost them.
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        let file = ConfigFile::parse(&text, &self.path, self.paths.home.as_deref())
            .map_err(|_| stuck())?;
        write_config(&self.path, &text)?;
        (self.file, self.text) = (file, text);
        Ok(())
    }
}

fn config_path(paths: &Paths) -> Result<PathBuf> {
    paths.config.clone().ok_or_else(|| {
        let message = "there is no home directory to keep a configuration in";
        Error::new(ErrorKind::Config, message)
            .with_hint("set HOME, XDG_CONFIG_HOME or SENTBOX_CONFIG")
    })
}

fn write_config(path: &Path, text: &str) -> Result<()> {
    let written = create_private_dir(folder_of(path)).and_then(|()| replace_file(path, text));
    written.map_err(|error| Error::cannot("written", ErrorKind::Config, path.display(), &error))
}

/// The folder of stored keys, beside the configuration file.
const KEYS_DIR: &str = "keys";

/// The content of a new file.
const CONFIG_TEMPLATE: &str = include_str!("../../assets/config.example.toml");

/// Names the default profile; a comment beside it stays.
fn write_default_profile(document: &mut DocumentMut, name: &str) {
    let item = document.entry("default_profile").or_insert(Item::None);
    let mut named = toml_edit::Value::from(name);
    if let Some(before) = item.as_value() {
        *named.decor_mut() = before.decor().clone();
    }
    *item = Item::Value(named);
}

/// Returns the table of a profile, new if there is none.
fn profile_table<'a>(
    document: &'a mut DocumentMut,
    name: &str,
) -> Option<&'a mut dyn toml_edit::TableLike> {
    let mut implicit = Table::new();
    implicit.set_implicit(true);
    let profiles = document.entry("profiles");
    let profiles = profiles
        .or_insert(Item::Table(implicit))
        .as_table_like_mut()?;
    let profile = profiles.entry(name).or_insert(toml_edit::table());
    profile.as_table_like_mut()
}

/// Stores views in the configuration file, where users edit, copy and share them.
///
/// Only the line of the view is changed; comments and order stay.
#[derive(Clone, Default)]
pub(crate) struct ViewStore(Option<Env>);

impl ViewStore {
    /// Stores views in the file that the environment names.
    pub(crate) const fn new(env: Env) -> Self {
        Self(Some(env))
    }

    /// Returns the views of the file, or the built-in ones; `None` if nothing is kept.
    pub(crate) fn load(&self) -> Result<Option<SavedViews>> {
        let Some(env) = &self.0 else { return Ok(None) };
        let views = Profiles::load(env)?.file.views;
        Ok(Some(views.unwrap_or_else(built_in_views)))
    }

    /// Stores or removes the view of a number, unless the file has another one there
    /// than `known`.
    ///
    /// The file is read again first, so that changes of other processes stay.
    pub(crate) fn save(
        &self,
        number: u8,
        known: Option<&SavedView>,
        view: Option<&SavedView>,
    ) -> Result<ViewWrite> {
        let Some(env) = &self.0 else {
            return Ok(ViewWrite::NotStored);
        };
        let mut profiles = Profiles::load_with_errors(env)?;
        let _lock = profiles.lock()?;
        let built_in = built_in_views();
        let views = profiles.file.views.as_ref().unwrap_or(&built_in);
        if views.get(&number) != known {
            let views = views.clone();
            return Ok(ViewWrite::Conflict { number, views });
        }
        profiles.edit(|document| {
            let is_new = !document.contains_key("views");
            let item = document.entry("views").or_insert(toml_edit::table());
            let table = item.as_table_like_mut()?;
            if is_new {
                // A table replaces the built-in views.
                for (number, view) in &built_in {
                    write_view(table, *number, view);
                }
            }
            match view {
                Some(view) => write_view(table, number, view),
                None => {
                    table.remove(&number.to_string());
                }
            }
            Some(())
        })?;
        Ok(ViewWrite::Stored(profiles.path.display().to_string()))
    }
}

/// The result of storing a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ViewWrite {
    /// It is in this file.
    Stored(String),
    /// Nothing is kept here.
    NotStored,
    /// Another process has changed the view of this number; the file has these.
    Conflict { number: u8, views: SavedViews },
}

/// Writes the line of a view; a comment beside it stays.
fn write_view(table: &mut dyn toml_edit::TableLike, number: u8, view: &SavedView) {
    let mut line = InlineTable::new();
    line.insert("name", view.name.as_str().into());
    line.insert("query", view.query.as_str().into());
    let mut written = value(line);
    let item = table.entry(&number.to_string()).or_insert(Item::None);
    if let (Some(before), Some(after)) = (item.as_value(), written.as_value_mut()) {
        *after.decor_mut() = before.decor().clone();
    }
    *item = written;
}

#[cfg(test)]
#[path = "profiles_tests.rs"]
mod tests;
