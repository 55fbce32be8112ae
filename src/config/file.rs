//! The configuration file, read with the line of each error and warning.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use ratatui::style::Color;
use toml_edit::{Document, Item, Key, TableLike, TomlError};
use toml_parser::Source;
use toml_parser::parser::{EventKind, RecursionGuard, parse_document};

use super::api_key::KeySource;
use super::base_url::BaseUrl;
use super::colours::{COLOUR_SYNTAX, Role, ThemeBase, ThemeConfig};
use super::desktop::{ClipboardSetting, DesktopSettings, NotifySetting};
use super::env::{Env, Flags, Paths};
use super::private_fs::{config_hint, open_to_read, why_writable_by_others};
use super::server_url::ServerUrl;
use super::values::{
    HistorySpan, KeyBinding, ListColumn, Rate, SavedView, SavedViews, VIEW_NUMBER_RULE, as_bool,
    as_line, as_table, as_text, entries, read_archive, read_backfill, read_keep, read_rate,
};
use crate::error::{Error, ErrorKind, Result};
use crate::text::format::{did_you_mean, suggest};

/// The content of the file; empty if there is none.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ConfigFile {
    pub(crate) default_profile: Option<String>,
    pub(super) profiles: BTreeMap<String, ProfileConfig>,
    /// The saved views; `None` without a table of views.
    pub(crate) views: Option<SavedViews>,
    pub(crate) keys: Vec<KeyBinding>,
    pub(crate) theme: ThemeConfig,
    pub(crate) desktop: DesktopSettings,
    /// Whether the program prints lines, as with `--linear`.
    pub(crate) accessible: bool,
    /// Whether links of a body are links of the terminal, too.
    pub(crate) hyperlinks: Option<bool>,
    /// Messages about unknown keys, each with its line.
    pub(crate) warnings: Vec<String>,
    /// Messages about wrong colours, each with its line;
    /// the default ones are used instead.
    pub(crate) theme_errors: Vec<String>,
    /// Messages about errors, each with its line.
    pub(crate) errors: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ProfileConfig {
    /// The service's address; the default one if `None`.
    pub(super) base_url: Option<BaseUrl>,
    pub(super) key: Option<KeySource>,
    /// The archive in PostgreSQL, if it is there.
    pub(super) server: Option<ServerUrl>,
    pub(super) server_password: Option<KeySource>,
    /// Whether it is recorded there who opens which email.
    pub(super) is_audited: bool,
    /// Whether nothing may be kept on disk.
    pub(super) in_memory: bool,
    /// The age at which mail is removed; `None` is never.
    pub(super) retention: Option<SignedDuration>,
    /// The mail that is fetched in the background;
    /// [`HistorySpan::DEFAULT_BACKFILL`] if `None`.
    pub(super) backfill: Option<HistorySpan>,
    pub(super) rate: Option<Rate>,
    /// Certificates to trust beside the system's.
    pub(super) ca_file: Option<PathBuf>,
    /// Whether one-time codes and single-use links are shown unmasked.
    pub(super) reveal: bool,
}

const TOP_LEVEL_KEYS: [&str; 11] = [
    "default_profile",
    "profiles",
    "views",
    "keys",
    "theme",
    "clipboard",
    "accessible",
    "hyperlinks",
    "columns",
    "prose_width",
    "notify",
];
const VIEW_KEYS: [&str; 2] = ["name", "query"];
const PROFILE_KEYS: [&str; 13] = [
    "base_url",
    "api_key_command",
    "api_key_file",
    "api_key_env",
    "archive",
    "archive_password_command",
    "archive_password_file",
    "audit",
    "keep",
    "backfill",
    "rate",
    "ca_file",
    "mask",
];

const THEME_KEYS: [&str; 8] = {
    let [accent, good, bad, warning, pending, apart, muted] = Role::NAMES;
    ["base", accent, good, bad, warning, pending, apart, muted]
};

/// The most bytes of a configuration file.
const MAX_FILE: u64 = 1 << 20;

/// The deepest nesting: that of the library that reads the file.
const MAX_DEPTH: u32 = 80;

/// The profile that is used if nothing names another; the file need not have it.
pub(super) const DEFAULT_PROFILE: &str = "default";

/// The allowed names of profiles, for messages. A profile has a folder of its name.
const PROFILE_NAME_RULE: &str = "a profile's name is made of letters, digits, - and _";

impl ConfigFile {
    /// Reads the file; if there is none, it is empty: `login` creates it.
    pub(super) fn load(paths: &Paths) -> Result<Self> {
        let file = Self::load_with_errors(paths)?;
        file.reject_errors()?;
        Ok(file)
    }

    /// Reads the file as [`Self::load`], but accepts one with errors.
    pub(crate) fn load_with_errors(paths: &Paths) -> Result<Self> {
        let Some(path) = &paths.config else {
            return Ok(Self::default());
        };
        let text = read_text(path)?;
        Ok(Self::parse_with_errors(&text, path, paths.home.as_deref()))
    }

    pub(super) fn parse(text: &str, path: &Path, home: Option<&Path>) -> Result<Self> {
        let file = Self::parse_with_errors(text, path, home);
        file.reject_errors()?;
        Ok(file)
    }

    pub(crate) fn reject_errors(&self) -> Result<()> {
        let hint = match self.errors.as_slice() {
            [] => return Ok(()),
            [error] => config_hint(error),
            _ => "sentbox config check lists them by line; edit with sentbox config edit",
        };
        Err(Error::new(ErrorKind::Config, self.errors.join("; ")).with_hint(hint))
    }

    /// Parses what can be understood of `text`; errors go to `errors`.
    pub(super) fn parse_with_errors(text: &str, path: &Path, home: Option<&Path>) -> Self {
        let mut reader = ConfigReader {
            text,
            newlines: text.match_indices('\n').map(|(at, _)| at).collect(),
            path,
            home,
            file: Self::default(),
            errors: Vec::new(),
            warnings: Vec::new(),
            theme_errors: Vec::new(),
        };
        match Document::parse(text) {
            Ok(document) => reader.read_top_level(document.as_table()),
            // Without valid TOML, any further error would be a guess.
            Err(error) => reader.add_syntax_errors(&error),
        }
        Self {
            errors: sort_by_position(reader.errors),
            warnings: sort_by_position(reader.warnings),
            theme_errors: sort_by_position(reader.theme_errors),
            ..reader.file
        }
    }

    /// Returns the profile that is used if nothing names another.
    pub(crate) fn default_name(&self) -> &str {
        self.default_profile.as_deref().unwrap_or(DEFAULT_PROFILE)
    }

    /// Returns the profile's name by flag, environment or file.
    ///
    /// The file need not have it.
    pub(super) fn select_profile<'a>(&'a self, flags: &'a Flags, env: &'a Env) -> Result<&'a str> {
        let named = flags.profile.as_deref();
        let name = named
            .or_else(|| env.get("SENTBOX_PROFILE"))
            .unwrap_or_else(|| self.default_name());
        check_profile_name(name).map_err(|rule| Error::new(ErrorKind::Usage, rule))?;
        Ok(name)
    }

    /// Returns a copy of a profile; the default profile need not be in the file.
    pub(super) fn profile_or_default(&self, name: &str) -> Result<ProfileConfig> {
        match self.profiles.get(name) {
            Some(profile) => Ok(profile.clone()),
            None if name == DEFAULT_PROFILE => Ok(ProfileConfig::default()),
            None => Err(self.profile_not_found(name)),
        }
    }

    pub(super) fn profile_not_found(&self, name: &str) -> Error {
        if let Err(rule) = check_profile_name(name) {
            return Error::new(ErrorKind::Usage, rule);
        }
        let known = self.profiles.keys().map(String::as_str);
        let hint = match suggest(name, known.clone()) {
            Some(near) => format!("did you mean {near}?"),
            None if self.profiles.is_empty() => {
                format!("there is none yet; sentbox -p {name} login makes it")
            }
            None => format!("there is {}", known.collect::<Vec<_>>().join(", ")),
        };
        Error::new(ErrorKind::Usage, format!("there is no profile {name}")).with_hint(hint)
    }
}

/// Returns all errors and warnings of a configuration text, each with its line.
pub(crate) fn check_config(text: &str) -> Vec<String> {
    let file = ConfigFile::parse_with_errors(text, Path::new("config.toml"), None);
    [file.errors, file.theme_errors, file.warnings].concat()
}

/// Returns the text of the file; it is empty if there is none.
pub(super) fn read_text(path: &Path) -> Result<String> {
    if !path.exists() {
        return Ok(String::new());
    }
    let unreadable =
        |why: &dyn Display| Error::cannot("read", ErrorKind::Config, path.display(), why);
    let mut bytes = Vec::new();
    open_to_read(path)
        .and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > MAX_FILE {
        let message = format!("{} is larger than {} MB", path.display(), MAX_FILE >> 20);
        return Err(Error::new(ErrorKind::Config, message)
            .with_hint("check that it is a configuration file"));
    }
    String::from_utf8(bytes).map_err(|error| unreadable(&error))
}

struct ConfigReader<'a> {
    text: &'a str,
    newlines: Vec<usize>,
    path: &'a Path,
    home: Option<&'a Path>,
    file: ConfigFile,
    /// Messages with their positions.
    errors: Vec<(usize, String)>,
    warnings: Vec<(usize, String)>,
    theme_errors: Vec<(usize, String)>,
}

impl ConfigReader<'_> {
    fn read_columns(&mut self, item: &Item) {
        let columns = item.as_array().filter(|columns| !columns.is_empty());
        let columns = columns.map(|columns| {
            let names = columns.iter().map(|value| value.as_str());
            names
                .map(|name| ListColumn::parse(name?))
                .collect::<Option<_>>()
        });
        let columns = columns
            .flatten()
            .ok_or_else(|| format!("columns is a list of names, each {}", ListColumn::SYNTAX));
        self.file.desktop.columns = self.check(item.span(), columns).unwrap_or_default();
    }

    fn read_top_level(&mut self, table: &dyn TableLike) {
        for (key, item) in entries(table) {
            match key.get() {
                // Which profiles exist is known after the others.
                "default_profile" => {}
                "profiles" => {
                    for (name, profile) in self.read_table(item) {
                        self.check(name.span(), check_profile_name(name.get()));
                        if let Some(table) = self.check(profile.span(), as_table(profile)) {
                            let profile = self.read_profile(table);
                            let name = name.get().to_owned();
                            self.file.profiles.insert(name, profile);
                        }
                    }
                }
                "views" => self.read_views(item),
                "keys" => self.read_keys(item),
                "theme" => self.read_theme(item),
                "clipboard" => {
                    let setting = as_text(item).and_then(ClipboardSetting::parse);
                    self.file.desktop.clipboard =
                        self.check(item.span(), setting).unwrap_or_default();
                }
                "accessible" => {
                    let value = self.check(item.span(), as_bool(key, item));
                    self.file.accessible = value.unwrap_or_default();
                }
                "hyperlinks" => {
                    self.file.hyperlinks = self.check(item.span(), as_bool(key, item));
                }
                "columns" => self.read_columns(item),
                "prose_width" => {
                    let width = item.as_integer().and_then(|width| width.try_into().ok());
                    let width = width.ok_or("prose_width is a number of columns");
                    self.file.desktop.prose_width = self.check(item.span(), width);
                }
                "notify" => {
                    let setting = as_text(item).and_then(NotifySetting::parse);
                    self.file.desktop.notify = self.check(item.span(), setting).unwrap_or_default();
                }
                _ => self.warn_unknown_key(key, &TOP_LEVEL_KEYS),
            }
        }
        if let Some(item) = table.get("default_profile")
            && let Some(name) = self.check(item.span(), as_text(item))
        {
            self.check(item.span(), check_profile_name(name));
            if name != DEFAULT_PROFILE && !self.file.profiles.contains_key(name) {
                let instead = did_you_mean(name, self.file.profiles.keys().map(String::as_str));
                self.add_error(item.span(), &format!("there is no profile {name}{instead}"));
            }
            self.file.default_profile = Some(name.to_owned());
        }
    }

    fn read_profile(&mut self, table: &dyn TableLike) -> ProfileConfig {
        let mut profile = ProfileConfig::default();
        for (key, item) in entries(table) {
            let span = item.span();
            match key.get() {
                "base_url" => {
                    let url = as_text(item)
                        .and_then(|text| BaseUrl::parse(text).map_err(|error| error.message));
                    profile.base_url = self.check(span, url);
                }
                "api_key_command" | "api_key_file" | "api_key_env" => {
                    let source = self.read_key_source(key, item);
                    if let Some(source) = self.check(span, source)
                        && profile.key.replace(source).is_some()
                    {
                        let rule =
                            "a profile has one of api_key_command, api_key_file and api_key_env";
                        self.add_error(key.span(), rule);
                    }
                }
                "archive" => {
                    let archive = self.check(span, read_archive(item));
                    (profile.in_memory, profile.server) = archive.unwrap_or_default();
                }
                "archive_password_command" | "archive_password_file" => {
                    let source = self.read_key_source(key, item);
                    profile.server_password = self.check(span, source);
                }
                "audit" => {
                    profile.is_audited = self.check(span, as_bool(key, item)).unwrap_or_default();
                }
                "keep" => profile.retention = self.check(span, read_keep(item)),
                "backfill" => profile.backfill = self.check(span, read_backfill(item)),
                "rate" => profile.rate = self.check(span, read_rate(item)),
                "ca_file" => {
                    let path = as_text(item).map(|text| self.resolve_path(text));
                    profile.ca_file = self.check(span, path);
                }
                "mask" => {
                    profile.reveal = !self.check(span, as_bool(key, item)).unwrap_or(true);
                }
                "api_key" => self.add_warning(
                    key.span(),
                    "api_key is not allowed in this file and is ignored; sentbox login stores it safely",
                ),
                _ => self.warn_unknown_key(key, &PROFILE_KEYS),
            }
        }
        if let Some(item) = table.get("audit")
            && profile.is_audited
            && profile.server.is_none()
        {
            self.add_error(item.span(), "audit needs an archive in PostgreSQL");
        }
        profile
    }

    fn read_key_source(&self, key: &Key, item: &Item) -> Result<KeySource, String> {
        let (name, text) = (key.get(), as_text(item)?);
        if text.trim().is_empty() {
            return Err(format!("{name} is empty"));
        }
        Ok(match name {
            "api_key_command" | "archive_password_command" => {
                match why_writable_by_others(self.path) {
                    Some(why) => return Err(format!("{name} is not run, because {why}")),
                    None => KeySource::Command(text.to_owned()),
                }
            }
            "api_key_file" | "archive_password_file" => KeySource::File(self.resolve_path(text)),
            _ => KeySource::Variable(text.to_owned()),
        })
    }

    fn read_views(&mut self, item: &Item) {
        let Some(table) = self.check(item.span(), as_table(item)) else {
            return;
        };
        self.file.views = Some(SavedViews::new());
        for (key, item) in entries(table) {
            let number = key.get().parse().ok();
            let number = number.filter(|number| (1..=9).contains(number));
            let number = self.check(key.span(), number.ok_or(VIEW_NUMBER_RULE));
            if let Some(number) = number
                && let Some(view) = self.read_view(item)
            {
                self.file.views.get_or_insert_default().insert(number, view);
            }
        }
    }

    fn read_view(&mut self, item: &Item) -> Option<SavedView> {
        let (mut name, mut query) = (None, None);
        let errors_before = self.errors.len();
        for (key, item) in entries(self.check(item.span(), as_table(item))?) {
            match key.get() {
                "name" => name = self.check(item.span(), as_line(item)),
                "query" => query = self.check(item.span(), as_line(item)),
                _ => self.warn_unknown_key(key, &VIEW_KEYS),
            }
        }
        if let (Some(name), Some(query)) = (name, query) {
            return Some(SavedView { name, query });
        }
        if self.errors.len() == errors_before {
            let rule = "a view has a name and a query, as in { name = \"Today\", query = \"after:today\" }";
            self.add_error(item.span(), rule);
        }
        None
    }

    /// Reads the theme. A wrong colour must not keep the mail from the user:
    /// the default one is used.
    fn read_theme(&mut self, item: &Item) {
        let errors_before = self.errors.len();
        for (key, item) in self.read_table(item) {
            let role = Role::NAMES.iter().position(|name| *name == key.get());
            if key.get() == "base" {
                let base = as_text(item).ok().and_then(ThemeBase::parse);
                let base = base.ok_or_else(|| format!("base is {}", ThemeBase::SYNTAX));
                self.file.theme.base = self.check(item.span(), base).unwrap_or_default();
            } else if let Some(role) = role {
                let index = item
                    .as_integer()
                    .and_then(|number| u8::try_from(number).ok());
                let colour = index.map(Color::Indexed);
                let colour = colour.or_else(|| item.as_str()?.parse().ok());
                let colour = colour.ok_or_else(|| format!("{} is {COLOUR_SYNTAX}", key.get()));
                self.file.theme.roles[role] = self.check(item.span(), colour);
            } else {
                self.warn_unknown_key(key, &THEME_KEYS);
            }
        }
        let errors = self.errors.drain(errors_before..);
        self.theme_errors.extend(errors);
    }

    /// Reads the key bindings. Only the terminal program knows keys and commands.
    fn read_keys(&mut self, item: &Item) {
        for (key, command) in self.read_table(item) {
            if let Some(command) = self.check(command.span(), as_line(command)) {
                self.file.keys.push(KeyBinding {
                    keys: key.get().to_owned(),
                    command,
                    declared_at: self.file_and_line(&key.span().unwrap_or_default()),
                });
            }
        }
    }

    /// Returns the entries of a table; none if it is something else.
    fn read_table<'i>(&mut self, item: &'i Item) -> Vec<(&'i Key, &'i Item)> {
        let table = self.check(item.span(), as_table(item));
        table.map(entries).unwrap_or_default()
    }

    /// Resolves a path from the home directory after `~/`, else from the file.
    fn resolve_path(&self, path: &str) -> PathBuf {
        match (self.home, path.strip_prefix("~/"), self.path.parent()) {
            (Some(home), Some(rest), _) => home.join(rest),
            (_, _, folder) => folder.unwrap_or(Path::new("")).join(path),
        }
    }

    fn check<T>(
        &mut self,
        span: Option<Range<usize>>,
        value: Result<T, impl AsRef<str>>,
    ) -> Option<T> {
        value
            .map_err(|message| self.add_error(span, message.as_ref()))
            .ok()
    }

    fn warn_unknown_key(&mut self, key: &Key, known: &[&'static str]) {
        let instead = did_you_mean(key.get(), known.iter().copied());
        self.add_warning(
            key.span(),
            &format!("{:?} is not known here{instead}", key.get()),
        );
    }

    /// Adds all syntax errors: a document reports only its first one.
    fn add_syntax_errors(&mut self, first: &TomlError) {
        let source = Source::new(self.text);
        let (mut events, mut errors) = (Vec::new(), Vec::new());
        let mut receiver = RecursionGuard::new(&mut events, MAX_DEPTH);
        parse_document(&source.lex().into_vec(), &mut receiver, &mut errors);
        for event in events {
            if let (EventKind::Scalar, Some(value)) = (event.kind(), source.get(event)) {
                let _ = value.decode_scalar(&mut (), &mut errors);
            }
        }
        for error in &errors {
            let span = error.unexpected().or(error.context());
            let span = span.map(|span| span.start()..span.end());
            self.add_error(span, error.description());
        }
        // A repeated key is not an error of the grammar.
        if errors.is_empty() {
            self.add_error(first.span(), first.message());
        }
    }

    fn add_error(&mut self, span: Option<Range<usize>>, message: &str) {
        let located = self.locate(span, message);
        self.errors.push(located);
    }

    fn add_warning(&mut self, span: Option<Range<usize>>, message: &str) {
        let located = self.locate(span, message);
        self.warnings.push(located);
    }

    /// Returns a message with its position, and with its line in the text.
    fn locate(&self, span: Option<Range<usize>>, message: &str) -> (usize, String) {
        let span = span.unwrap_or_default();
        let message = format!("{}: {message}", self.file_and_line(&span));
        (span.start, message)
    }

    fn file_and_line(&self, span: &Range<usize>) -> String {
        let line = self.newlines.partition_point(|at| *at < span.start) + 1;
        format!("{}:{line}", self.path.display())
    }
}

/// Formats the line of this byte as `config.toml:3`.
pub(super) fn file_and_line(path: &Path, text: &str, offset: usize) -> String {
    let before = text.bytes().take(offset);
    let line = before.filter(|byte| *byte == b'\n').count() + 1;
    format!("{}:{line}", path.display())
}

fn sort_by_position(mut messages: Vec<(usize, String)>) -> Vec<String> {
    messages.sort_unstable();
    let mut messages: Vec<_> = messages.into_iter().map(|(_, message)| message).collect();
    // Each of many open brackets in a line is an error of its own.
    messages.dedup();
    messages
}

fn check_profile_name(name: &str) -> Result<(), &'static str> {
    if is_profile_name(name) {
        Ok(())
    } else {
        Err(PROFILE_NAME_RULE)
    }
}

pub(super) fn is_profile_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
