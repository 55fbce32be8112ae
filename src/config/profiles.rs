//! `Profiles`: the configuration file as something to look at and to change, its comments kept.

use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, InlineTable, Item, Table, value};

use super::file::{
    ConfigFile, DEFAULT_PROFILE, KeySource, PROFILE_NAME_RULE, is_profile_name, read_text,
};
use super::private_fs::{create_private_dir, remove_temp_files, replace_file, write_secret};
use super::values::{SavedView, SavedViews, built_in_views};
use super::{ApiKey, BaseUrl, Env, Flags, KeyBinding, Palette, Paths};
use crate::error::{Error, ErrorKind};

/// The profiles of the configuration file.
#[derive(Debug)]
pub(crate) struct Profiles {
    path: PathBuf,
    paths: Paths,
    text: String,
    file: ConfigFile,
}

/// A profile as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProfileEntry {
    /// Its name.
    pub(crate) name: String,
    /// Whether it is meant if none is named.
    pub(crate) is_default: bool,
    /// Where its service is.
    pub(crate) base_url: String,
    /// Where its key comes from, in words; nothing secret. Empty if it has none.
    pub(crate) key_source: String,
    /// Whether nothing of its mail is kept on disk.
    pub(crate) in_memory: bool,
}

/// What a new key is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyTarget {
    /// The profile.
    pub(crate) profile: String,
    /// The service that the key belongs to.
    pub(crate) base_url: BaseUrl,
    /// The file that is to hold it.
    pub(crate) key_file: PathBuf,
    /// Certificates to trust beside the system's.
    pub(crate) ca_file: Option<PathBuf>,
}

impl Profiles {
    /// Reads the file that the environment means; one that is not there yet is empty.
    pub(crate) fn load(env: &Env) -> Result<Self, Error> {
        let paths = Paths::from_env(env);
        let path = config_path(&paths)?;
        let text = if path.exists() {
            read_text(&path)?
        } else {
            String::new()
        };
        let file = ConfigFile::parse(&text, &path, paths.home.as_deref())?;
        Ok(Self {
            path,
            paths,
            text,
            file,
        })
    }

    /// The file, and all that is wrong with it, line by line; also one that cannot be used.
    pub(crate) fn load_with_errors(env: &Env) -> Result<Self, Error> {
        let paths = Paths::from_env(env);
        let path = config_path(&paths)?;
        let text = if path.exists() {
            read_text(&path)?
        } else {
            String::new()
        };
        let file = ConfigFile::parse_with_errors(&text, &path, paths.home.as_deref());
        Ok(Self {
            path,
            paths,
            text,
            file,
        })
    }

    /// The colours of the screen.
    pub(crate) const fn palette(&self) -> Palette {
        self.file.palette
    }

    /// What the file changes in the meaning of keys.
    pub(crate) fn keys(&self) -> &[KeyBinding] {
        &self.file.keys
    }

    /// What in the file is not allowed, a message each.
    pub(crate) fn errors(&self) -> &[String] {
        &self.file.errors
    }

    /// The configuration file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The saved views, if the file says something about views.
    pub(crate) const fn views(&self) -> Option<&SavedViews> {
        self.file.views.as_ref()
    }

    /// What in the file was not understood, a message each.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.file.warnings
    }

    /// The profile that is meant if none is named.
    pub(crate) fn default_name(&self) -> &str {
        self.file
            .default_profile
            .as_deref()
            .unwrap_or(DEFAULT_PROFILE)
    }

    /// All profiles by name.
    pub(crate) fn entries(&self) -> Vec<ProfileEntry> {
        let listed = |(name, profile): (&String, &super::file::ProfileConfig)| ProfileEntry {
            name: name.clone(),
            is_default: name == self.default_name(),
            base_url: profile
                .base_url
                .clone()
                .unwrap_or_else(BaseUrl::resend)
                .to_string(),
            key_source: profile
                .key
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            in_memory: profile.in_memory,
        };
        self.file.profiles.iter().map(listed).collect()
    }

    /// Where a new key would go. A profile that has its key from elsewhere is left alone: what a
    /// person has written down is not undone behind their back.
    ///
    /// # Errors
    ///
    /// If the profile's name or the address is not allowed, or the profile has another address or
    /// another source of its key.
    pub(crate) fn key_target(&self, flags: &Flags, env: &Env) -> Result<KeyTarget, Error> {
        let name = flags
            .profile
            .as_deref()
            .or_else(|| env.get("SENTBOX_PROFILE"))
            .unwrap_or_else(|| self.default_name());
        if !is_profile_name(name) {
            return Err(Error::new(ErrorKind::Usage, PROFILE_NAME_RULE));
        }
        let known = self.file.profiles.get(name);
        let asked = flags.base_url.as_deref().map(BaseUrl::parse).transpose()?;
        let written = known.map(|profile| profile.base_url.clone().unwrap_or_else(BaseUrl::resend));
        if let (Some(asked), Some(written)) = (&asked, &written)
            && asked != written
        {
            return Err(Error::new(ErrorKind::Usage, format!("profile {name} is for {written}"))
                .with_hint("name another profile with --profile, or change its base_url: sentbox config edit"));
        }
        let key_file = self.key_file(name);
        match known.and_then(|profile| profile.key.as_ref()) {
            Some(KeySource::File(path)) if *path == key_file => {}
            Some(source) => {
                return Err(Error::new(ErrorKind::Usage, format!("profile {name} has its key from elsewhere: {source}"))
                    .with_hint("name another profile with --profile, or take that line out: sentbox config edit"));
            }
            None => {}
        }
        Ok(KeyTarget {
            profile: name.to_owned(),
            base_url: asked.or(written).unwrap_or_else(BaseUrl::resend),
            key_file,
            ca_file: flags
                .ca_file
                .clone()
                .or_else(|| known.and_then(|profile| profile.ca_file.clone())),
        })
    }

    /// Writes the profile down and stores its key. The first profile of all becomes the one that is
    /// meant if none is named.
    ///
    /// The profile comes first: a process that is killed in between leaves a profile that still
    /// lacks its key, which is reported and mended by the next login, and never a key without a profile.
    pub(crate) fn store_key(&mut self, target: &KeyTarget, key: &ApiKey) -> Result<(), Error> {
        let KeyTarget {
            profile,
            base_url,
            key_file,
            ca_file,
        } = target;
        let unwritable = |error| {
            Error::new(
                ErrorKind::Config,
                format!("{} cannot be written: {error}", key_file.display()),
            )
        };
        self.remove_temp_files();
        let before = self.path.exists().then(|| self.text.clone());
        let is_first = self.file.profiles.is_empty() && self.file.default_profile.is_none();
        let is_new = !self.file.profiles.contains_key(profile);
        self.edit(|document| {
            let table = profile_table(document, profile)?;
            if is_new {
                table.insert("base_url", value(base_url.to_string()));
                if let Some(file) = ca_file {
                    let whole = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                    table.insert("ca_file", value(whole.to_str()?));
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
        write_secret(key_file, &format!("{}\n", key.expose())).map_err(|error| {
            // Where nothing can be written any more, the profile without a key stays.
            let _ = match &before {
                Some(text) => replace_file(&self.path, text),
                None => fs::remove_file(&self.path),
            };
            unwritable(error)
        })
    }

    /// Removes the files that logins have left which were killed while they wrote, and returns them.
    pub(crate) fn remove_temp_files(&self) -> Vec<PathBuf> {
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Vec::new();
        };
        let mut removed = remove_temp_files(&self.key_file(""), is_profile_name);
        removed.extend(remove_temp_files(folder, |found| found == name));
        removed
    }

    /// The stored keys that no profile uses.
    pub(crate) fn unused_key_files(&self) -> Vec<PathBuf> {
        let used = |path: &PathBuf| {
            self.file
                .profiles
                .values()
                .any(|profile| profile.key == Some(KeySource::File(path.clone())))
        };
        let stored = fs::read_dir(self.key_file(""))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let is_key = |path: &PathBuf| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(is_profile_name)
        };
        let mut stray: Vec<PathBuf> = stored.filter(|path| is_key(path) && !used(path)).collect();
        stray.sort();
        stray
    }

    /// Makes `name` the profile that is meant if none is named.
    pub(crate) fn make_default(&mut self, name: &str) -> Result<(), Error> {
        self.require(name)?;
        self.edit(|document| {
            write_default_profile(document, name);
            Some(())
        })
    }

    /// The archives of a profile, if there are any.
    pub(crate) fn existing_data_dir(&self, name: &str) -> Option<PathBuf> {
        self.paths
            .profile_data_dir(name)
            .filter(|folder| folder.exists())
    }

    /// Whether there is a profile of that name.
    pub(crate) fn require(&self, name: &str) -> Result<(), Error> {
        if self.file.profiles.contains_key(name) {
            return Ok(());
        }
        Err(super::file::profile_not_found(name, &self.file))
    }

    /// Takes a profile out of the file, with the key that was stored for it and its archives.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Error> {
        self.require(name)?;
        let kept = |path: &Path, error: std::io::Error| {
            Error::new(
                ErrorKind::Io,
                format!("{} cannot be deleted: {error}", path.display()),
            )
        };
        if let Some(archives) = self.existing_data_dir(name) {
            fs::remove_dir_all(&archives).map_err(|error| kept(&archives, error))?;
        }
        let key_file = self.key_file(name);
        if key_file.exists() {
            fs::remove_file(&key_file).map_err(|error| kept(&key_file, error))?;
        }
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
        })
    }

    /// The file, to be edited: also one that cannot be understood, and begun if there is none.
    pub(crate) fn create_if_missing(env: &Env) -> Result<PathBuf, Error> {
        let path = config_path(&Paths::from_env(env))?;
        if !path.exists() {
            write_config(&path, CONFIG_TEMPLATE)?;
        }
        Ok(path)
    }

    /// The variable of the environment whose key goes before the default profile's, if one is set.
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

    /// Changes the file, comments and order kept. A change that cannot be made, or would make the
    /// file one that cannot be read, leaves it as it was.
    pub(super) fn edit(
        &mut self,
        change: impl FnOnce(&mut DocumentMut) -> Option<()>,
    ) -> Result<(), Error> {
        let stuck = || {
            Error::new(
                ErrorKind::Config,
                format!("{} cannot be edited safely", self.path.display()),
            )
            .with_hint("change it by hand: sentbox config edit")
        };
        let mut document: DocumentMut = self.text.parse().map_err(|_| stuck())?;
        change(&mut document).ok_or_else(stuck)?;
        let text = document.to_string();
        let file = ConfigFile::parse(&text, &self.path, self.paths.home.as_deref())
            .map_err(|_| stuck())?;
        write_config(&self.path, &text)?;
        (self.file, self.text) = (file, text);
        Ok(())
    }
}

fn config_path(paths: &Paths) -> Result<PathBuf, Error> {
    let no_home = || {
        Error::new(
            ErrorKind::Config,
            "there is no home directory to keep a configuration in",
        )
    };
    paths
        .config
        .clone()
        .ok_or_else(|| no_home().with_hint("set HOME, XDG_CONFIG_HOME or SENTBOX_CONFIG"))
}

fn write_config(path: &Path, text: &str) -> Result<(), Error> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let written = folder
        .map_or(Ok(()), create_private_dir)
        .and_then(|()| replace_file(path, text));
    written.map_err(|error| {
        Error::new(
            ErrorKind::Config,
            format!("{} cannot be written: {error}", path.display()),
        )
    })
}

/// The folder of stored keys, beside the configuration file.
const KEYS_DIR: &str = "keys";

/// What a new file begins with.
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

/// The table of a profile, made if it is not there.
fn profile_table<'a>(
    document: &'a mut DocumentMut,
    name: &str,
) -> Option<&'a mut dyn toml_edit::TableLike> {
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let profiles = document
        .entry("profiles")
        .or_insert_with(implicit)
        .as_table_like_mut()?;
    profiles
        .entry(name)
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_like_mut()
}

/// Where views are kept.
///
/// The configuration file, so that users find the views
/// where the manual says, and what was saved with a key can be edited, copied and shared like the
/// rest. Only the line of the view is changed; comments and order stay.
#[derive(Clone, Default)]
pub(crate) struct ViewStore(Option<Env>);

impl ViewStore {
    /// The configuration file that the environment means.
    pub(crate) const fn new(env: Env) -> Self {
        Self(Some(env))
    }

    /// Puts a view under a number, or takes away what is there. The file is read again first, so that
    /// what was changed in it meanwhile stays. Says which file it is; `None` if nothing is kept.
    pub(crate) fn save(
        &self,
        number: u8,
        view: Option<&SavedView>,
    ) -> Result<Option<String>, Error> {
        let Some(env) = &self.0 else { return Ok(None) };
        let mut profiles = Profiles::load(env)?;
        let built_in = built_in_views();
        profiles.edit(|document| {
            let is_new = !document.contains_key("views");
            let item = document
                .entry("views")
                .or_insert_with(|| Item::Table(Table::new()));
            let table = item.as_table_like_mut()?;
            if is_new {
                // Those that were there so far would be gone otherwise.
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
        Ok(Some(profiles.path().display().to_string()))
    }
}

/// Writes one line; a comment beside it stays.
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
