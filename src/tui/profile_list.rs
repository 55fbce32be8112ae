//! Profiles for the start screens, and the places where mail and keys are kept.

use std::path::{Path, PathBuf};

use super::sessions::SessionFactory;
use crate::app::session::SetupInfo;
use crate::app::{ProfileChoice, SessionTarget};
use crate::archive::ArchiveLocation;
use crate::config::{Paths, Profiles, Settings};
use crate::error::Result;
use crate::text::sanitize;

impl SessionFactory {
    pub(super) fn build_setup_info(&self, settings: &Settings) -> SetupInfo {
        let profiles = Profiles::load(&self.env);
        let storage = profiles
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|profiles| {
                let key_target = profiles.key_target(&self.flags, &self.env)?;
                let mail = match (&settings.archive, self.archive_dir(&settings.profile)) {
                    (ArchiveLocation::Server(url), _) => {
                        format!("{url}, what was listed and read, where others may read it")
                    }
                    (_, Some(folder)) if !settings.in_memory() => format!(
                        "{}, what was listed and read, for you alone",
                        self.display_path(&folder)
                    ),
                    _ => "in memory: nothing of it is kept".to_owned(),
                };
                let key_file = self.display_path(&key_target.key_file);
                let config_file = self.display_path(&profiles.path);
                Ok(vec![
                    ("mail", mail),
                    ("key", format!("{key_file}, for you alone")),
                    (
                        "profile",
                        format!("{}, in {config_file}", key_target.profile),
                    ),
                ])
            });
        // A user with profiles, but without a default one, need not enter a key again.
        let others = profiles
            .map(|profiles| profiles.entries())
            .unwrap_or_default();
        let profiles = others
            .into_iter()
            .filter(|entry| entry.key_source.is_some() && entry.name != settings.profile)
            .map(|entry| (entry.name, entry.base_url))
            .collect();
        SetupInfo {
            base_url: settings.credentials.base_url.to_string(),
            storage,
            profiles,
            key_command_hint: format!(
                "To read the key from a password manager: quit, run sentbox config edit, and set in [profiles.{}]: \
                 api_key_command = \"pass show sentbox\"",
                settings.profile
            ),
        }
    }

    fn archive_dir(&self, profile: &str) -> Option<PathBuf> {
        Paths::from_env(&self.env).profile_data_dir(profile)
    }

    /// How much mail a file, or a folder of archives, stores, by its size,
    /// without opening an archive.
    fn describe_storage(&self, files: Option<&Path>, in_memory: bool, on_server: bool) -> String {
        if in_memory || self.flags.in_memory {
            return "nothing is kept".to_owned();
        }
        if on_server {
            return "in PostgreSQL".to_owned();
        }
        match files.map_or(0, disk_size) {
            0 => "nothing kept yet".to_owned(),
            1..1_000_000 => "less than 1 MB kept".to_owned(),
            bytes => format!("{} MB kept", bytes / 1_000_000),
        }
    }

    /// The path with `~` for the home directory.
    pub(super) fn display_path(&self, path: &Path) -> String {
        self.abbreviate_home(&path.display().to_string())
    }

    /// Returns a text in which paths have `~` for the home directory.
    fn abbreviate_home(&self, text: &str) -> String {
        let text = sanitize::sanitize_line(text);
        let home = self
            .env
            .get("HOME")
            .filter(|home| home.len() > 1)
            .map(|home| format!("{}/", home.trim_end_matches('/')));
        home.map_or_else(|| text.to_string(), |home| text.replace(&home, "~/"))
    }

    pub(super) fn list_profiles(&self) -> Result<Vec<ProfileChoice>> {
        let profiles = Profiles::load(&self.env)?;
        let mut choices = Vec::new();
        if let Some(variable) =
            Profiles::overriding_variable(&self.env).filter(|_| self.flags.profile.is_none())
        {
            let settings = self.resolve_settings(&SessionTarget::Default)?;
            let (files, on_server) = match &settings.archive {
                ArchiveLocation::Disk(path) if settings.is_named_archive() => {
                    (Some(&**path), false)
                }
                ArchiveLocation::Disk(path) => (path.parent(), false),
                ArchiveLocation::Server(_) => (None, true),
                ArchiveLocation::Memory => (None, false),
            };
            choices.push(ProfileChoice {
                target: SessionTarget::Default,
                name: settings.title().to_owned(),
                base_url: settings.credentials.base_url.to_string(),
                key_source: format!("key from {variable}"),
                storage: self.describe_storage(files, settings.in_memory(), on_server),
            });
        }
        choices.extend(profiles.entries().into_iter().map(|entry| ProfileChoice {
            target: SessionTarget::Profile(entry.name.clone()),
            storage: self.describe_storage(
                self.archive_dir(&entry.name).as_deref(),
                entry.in_memory,
                entry.on_server,
            ),
            base_url: entry.base_url,
            key_source: match &entry.key_source {
                Some(source) => format!("key from {}", self.abbreviate_home(source)),
                None => "no key".to_owned(),
            },
            name: entry.name,
        }));
        choices.push(ProfileChoice {
            target: SessionTarget::Demo,
            name: "demo".to_owned(),
            base_url: "sample mail".to_owned(),
            key_source: "no key needed".to_owned(),
            storage: "nothing is kept".to_owned(),
        });
        Ok(choices)
    }
}

/// The bytes of a file, or of all files in a folder and below.
fn disk_size(path: &Path) -> u64 {
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        _ => dir_size(path),
    }
}

/// The bytes of all files in a folder and below, as far as they can be read.
fn dir_size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => dir_size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
