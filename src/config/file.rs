//! The configuration file: profiles, read with the line of whatever is wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::base_url::BaseUrl;
use super::env::Paths;
use super::private_fs::why_writable_by_others;
use super::values::Backfill;
use super::values::KeyBinding;
use super::values::Rate;
use super::values::{COLOUR_SYNTAX, Palette, ROLE_NAMES};
use super::values::{DURATION_SYNTAX, parse_duration};
use super::values::{SavedView, SavedViews, VIEW_NUMBER_RULE};
use crate::error::{Error, ErrorKind};
use crate::text::suggest::did_you_mean;
use crate::text::suggest::suggest;

/// What the file says; empty if there is none.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ConfigFile {
    /// The profile that is meant if none is named.
    pub(crate) default_profile: Option<String>,
    /// The profiles by name.
    pub(crate) profiles: BTreeMap<String, ProfileConfig>,
    /// The saved views, if there is a table of them.
    pub(crate) views: Option<SavedViews>,
    /// What the table of keys changes.
    pub(crate) keys: Vec<KeyBinding>,
    /// The colours.
    pub(crate) palette: Palette,
    /// What was not understood and ignored, in words.
    pub(crate) warnings: Vec<String>,
    /// What is not allowed, in words, each with its line.
    pub(crate) errors: Vec<String>,
}

/// A profile of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ProfileConfig {
    /// Where the service is, if not at the default address.
    pub(crate) base_url: Option<BaseUrl>,
    /// Where the key comes from.
    pub(crate) key: Option<KeySource>,
    /// Whether nothing may be kept on disk.
    pub(crate) in_memory: bool,
    /// How old mail may become before it is removed; for ever by default.
    pub(crate) retention: Option<SignedDuration>,
    /// How far back mail is fetched by itself.
    pub(crate) backfill: Backfill,
    /// Requests a second.
    pub(crate) rate: Option<Rate>,
    /// Certificates to trust beside the system's.
    pub(crate) ca_file: Option<PathBuf>,
}

/// Where a profile's key comes from; never the key itself, so that the file can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeySource {
    /// A command of the shell that prints it.
    Command(String),
    /// A file of mode 0600 that holds it.
    File(PathBuf),
    /// A variable of the environment.
    Variable(String),
}

impl fmt::Display for KeySource {
    /// Names the source. Of a command only its first word: the rest may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => match command
                .split_whitespace()
                .next()
                .filter(|word| !word.contains(['=', '$', '`']))
            {
                Some(word) => write!(f, "command {word} ..."),
                None => f.write_str("a command"),
            },
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Variable(name) => write!(f, "variable {name}"),
        }
    }
}

const TOP_LEVEL_KEYS: [&str; 5] = ["default_profile", "profiles", "views", "keys", "theme"];
const VIEW_KEYS: [&str; 2] = ["name", "query"];
const PROFILE_KEYS: [&str; 9] = [
    "base_url",
    "api_key_command",
    "api_key_file",
    "api_key_env",
    "archive",
    "keep",
    "backfill",
    "rate",
    "ca_file",
];

impl ConfigFile {
    /// Reads the file; if there is none at its usual location, it is empty.
    pub(super) fn load(paths: &Paths) -> Result<Self, Error> {
        match &paths.config {
            Some(path) if paths.config_is_explicit || path.exists() => {
                Self::parse(&read_text(path)?, path, paths.home.as_deref())
            }
            Some(_) | None => Ok(Self::default()),
        }
    }

    /// Reads `text` of the file at `path`.
    pub(super) fn parse(text: &str, path: &Path, home: Option<&Path>) -> Result<Self, Error> {
        let file = Self::parse_with_errors(text, path, home);
        if file.errors.is_empty() {
            return Ok(file);
        }
        let hint = if file.errors.len() == 1 {
            "sentbox config edit"
        } else {
            "sentbox config check says it line by line; sentbox config edit"
        };
        Err(Error::new(ErrorKind::Config, file.errors.join("; ")).with_hint(hint))
    }

    /// Reads what can be understood of `text`; errors go to `errors`.
    pub(super) fn parse_with_errors(text: &str, path: &Path, home: Option<&Path>) -> Self {
        let mut reader = ConfigReader {
            text,
            path,
            home,
            file: Self::default(),
            errors: Vec::new(),
            warnings: Vec::new(),
        };
        let (document, broken) = DeTable::parse_recoverable(text);
        for error in &broken {
            reader.add_error(&error.span().unwrap_or_default(), error.message());
        }
        // Without valid TOML, any further error would be a guess.
        if broken.is_empty() {
            reader.read_top_level(document.get_ref());
        }
        let ConfigReader {
            mut file,
            errors,
            warnings,
            ..
        } = reader;
        file.errors = sort_by_position(errors);
        file.warnings = sort_by_position(warnings);
        file
    }
}

/// Returns all errors and warnings of a configuration text, each with its line.
#[must_use]
pub(crate) fn check_config(text: &str) -> Vec<String> {
    let file = ConfigFile::parse_with_errors(text, Path::new("config.toml"), None);
    [file.errors, file.warnings].concat()
}

/// The text of a configuration file.
pub(super) fn read_text(path: &Path) -> Result<String, Error> {
    let unreadable = |error| {
        Error::new(
            ErrorKind::Config,
            format!("{} cannot be read: {error}", path.display()),
        )
    };
    std::fs::read_to_string(path).map_err(unreadable)
}

struct ConfigReader<'a> {
    text: &'a str,
    path: &'a Path,
    home: Option<&'a Path>,
    file: ConfigFile,
    /// Each with where it is.
    errors: Vec<(usize, String)>,
    warnings: Vec<(usize, String)>,
}

impl ConfigReader<'_> {
    fn read_top_level(&mut self, table: &DeTable<'_>) {
        let mut default = None;
        for (key, value) in table {
            match &**key.get_ref() {
                "default_profile" => {
                    default = self
                        .read_profile_name(value)
                        .map(|name| (name, value.span()));
                }
                "profiles" => {
                    for (name, profile) in self.expect_table(value).into_iter().flatten() {
                        self.check_profile_name(name.get_ref(), &name.span());
                        if let Some(table) = self.expect_table(profile) {
                            let profile = self.read_profile(table);
                            self.file
                                .profiles
                                .insert(name.get_ref().to_string(), profile);
                        }
                    }
                }
                "views" => self.read_views(value),
                "keys" => self.read_keys(value),
                "theme" => self.read_theme(value),
                other => self.warn_unknown_key(other, &key.span(), &TOP_LEVEL_KEYS),
            }
        }
        if let Some((name, at)) = default {
            if name != DEFAULT_PROFILE && !self.file.profiles.contains_key(&name) {
                let instead = did_you_mean(&name, self.file.profiles.keys().map(String::as_str));
                self.add_error(&at, &format!("there is no profile {name}{instead}"));
            }
            self.file.default_profile = Some(name);
        }
    }

    fn read_profile(&mut self, table: &DeTable<'_>) -> ProfileConfig {
        let mut profile = ProfileConfig::default();
        for (key, value) in table {
            let name = &**key.get_ref();
            match name {
                "base_url" => {
                    profile.base_url = self
                        .expect_str(value)
                        .and_then(|text| self.read_base_url(text, &value.span()));
                }
                "api_key_command" | "api_key_file" | "api_key_env" => {
                    let source = self
                        .expect_str(value)
                        .and_then(|text| self.read_key_source(name, text, &value.span()));
                    if let Some(source) = source
                        && profile.key.replace(source).is_some()
                    {
                        self.add_error(
                            &key.span(),
                            "a profile has one of api_key_command, api_key_file and api_key_env",
                        );
                    }
                }
                "archive" => match self.expect_str(value) {
                    Some("memory") => profile.in_memory = true,
                    Some("disk") | None => {}
                    Some(_) => self.add_error(&value.span(), "archive is \"disk\" or \"memory\""),
                },
                "keep" => {
                    profile.retention = self
                        .expect_str(value)
                        .and_then(parse_duration)
                        .filter(|age| !age.is_zero());
                    if profile.retention.is_none() && value.get_ref().is_str() {
                        self.add_error(&value.span(), &format!("keep is {DURATION_SYNTAX}"));
                    }
                }
                "backfill" => match self.expect_str(value).map(Backfill::parse) {
                    Some(Some(backfill)) => profile.backfill = backfill,
                    Some(None) => {
                        self.add_error(&value.span(), &format!("backfill is {}", Backfill::SYNTAX));
                    }
                    None => {}
                },
                "rate" => {
                    let number = match value.get_ref() {
                        DeValue::Integer(integer) => integer.as_str().parse().ok(),
                        DeValue::Float(float) => float.as_str().parse().ok(),
                        _ => None,
                    };
                    profile.rate = number.and_then(Rate::explicit);
                    if profile.rate.is_none() {
                        self.add_error(&value.span(), &format!("rate is {}", Rate::SYNTAX));
                    }
                }
                "ca_file" => {
                    profile.ca_file = self.expect_str(value).map(|text| self.resolve_path(text));
                }
                "api_key" => {
                    let location = self.file_and_line(&key.span());
                    let words = format!(
                        "{location}: api_key is not allowed in this file and is ignored; sentbox login stores it safely"
                    );
                    self.warnings.push((key.span().start, words));
                }
                other => self.warn_unknown_key(other, &key.span(), &PROFILE_KEYS),
            }
        }
        profile
    }

    fn read_base_url(&mut self, text: &str, at: &Range<usize>) -> Option<BaseUrl> {
        BaseUrl::parse(text)
            .map_err(|failure| self.add_error(at, &failure.message))
            .ok()
    }

    fn read_key_source(&mut self, name: &str, text: &str, at: &Range<usize>) -> Option<KeySource> {
        if text.trim().is_empty() {
            self.add_error(at, &format!("{name} is empty"));
            return None;
        }
        Some(match name {
            "api_key_command" => match why_writable_by_others(self.path) {
                Some(why) => {
                    self.add_error(at, &format!("api_key_command is not run, because {why}"));
                    return None;
                }
                None => KeySource::Command(text.to_owned()),
            },
            "api_key_file" => KeySource::File(self.resolve_path(text)),
            _ => KeySource::Variable(text.to_owned()),
        })
    }

    fn read_views(&mut self, value: &Spanned<DeValue<'_>>) {
        let Some(table) = self.expect_table(value) else {
            return;
        };
        let mut views = SavedViews::new();
        for (number, view) in table {
            let at = number
                .get_ref()
                .parse()
                .ok()
                .filter(|number| (1..=9).contains(number));
            if at.is_none() {
                self.add_error(&number.span(), VIEW_NUMBER_RULE);
            } else if let Some((at, view)) = at.zip(self.read_view(view)) {
                views.insert(at, view);
            }
        }
        self.file.views = Some(views);
    }

    fn read_theme(&mut self, value: &Spanned<DeValue<'_>>) {
        for (role, colour) in self.expect_table(value).into_iter().flatten() {
            if self.file.palette.role_mut(role.get_ref()).is_none() {
                self.warn_unknown_key(role.get_ref(), &role.span(), &ROLE_NAMES);
                continue;
            }
            match self.expect_str(colour).map(str::parse) {
                Some(Ok(colour)) => self
                    .file
                    .palette
                    .role_mut(role.get_ref())
                    .into_iter()
                    .for_each(|role| *role = colour),
                Some(Err(_)) => self.add_error(&colour.span(), COLOUR_SYNTAX),
                None => {}
            }
        }
    }

    /// Which keys and commands there are is not known here.
    fn read_keys(&mut self, value: &Spanned<DeValue<'_>>) {
        for (keys, command) in self.expect_table(value).into_iter().flatten() {
            if let Some(command) = self.expect_line(command) {
                let change = KeyBinding {
                    keys: keys.get_ref().to_string(),
                    command,
                    declared_at: self.file_and_line(&keys.span()),
                };
                self.file.keys.push(change);
            }
        }
    }

    fn read_view(&mut self, value: &Spanned<DeValue<'_>>) -> Option<SavedView> {
        let (mut name, mut query) = (None, None);
        let known = self.errors.len();
        for (key, text) in self.expect_table(value)? {
            match &**key.get_ref() {
                "name" => name = self.expect_line(text),
                "query" => query = self.expect_line(text),
                other => self.warn_unknown_key(other, &key.span(), &VIEW_KEYS),
            }
        }
        let view = name
            .zip(query)
            .map(|(name, query)| SavedView { name, query });
        if view.is_none() && self.errors.len() == known {
            self.add_error(&value.span(), "a view has a name and a query, as in { name = \"Today\", query = \"after:today\" }");
        }
        view
    }

    /// A text that is not empty, on one line.
    fn expect_line(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let text = self.expect_str(value)?.trim();
        if text.is_empty() || text.contains(char::is_control) {
            self.add_error(&value.span(), "a text on one line belongs here");
            return None;
        }
        Some(text.to_owned())
    }

    /// A path in the file is meant from the home directory or else from the directory of the file.
    fn resolve_path(&self, path: &str) -> PathBuf {
        if let (Some(home), Some(rest)) = (self.home, path.strip_prefix("~/")) {
            return home.join(rest);
        }
        self.path
            .parent()
            .unwrap_or_else(|| Path::new(""))
            .join(path)
    }

    fn read_profile_name(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let name = self.expect_str(value)?;
        self.check_profile_name(name, &value.span());
        Some(name.to_owned())
    }

    fn check_profile_name(&mut self, name: &str, at: &Range<usize>) {
        if !is_profile_name(name) {
            self.add_error(at, PROFILE_NAME_RULE);
        }
    }

    fn expect_str<'v>(&mut self, value: &'v Spanned<DeValue<'_>>) -> Option<&'v str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.add_error(&value.span(), "expected a text in quotes");
        }
        text
    }

    fn expect_table<'v, 'i>(&mut self, value: &'v Spanned<DeValue<'i>>) -> Option<&'v DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.add_error(&value.span(), "expected a table");
        }
        table
    }

    fn warn_unknown_key(&mut self, name: &str, at: &Range<usize>, known: &[&'static str]) {
        let instead = did_you_mean(name, known.iter().copied());
        let location = self.file_and_line(at);
        self.warnings.push((
            at.start,
            format!("{location}: {name:?} is not known here{instead}"),
        ));
    }

    fn add_error(&mut self, at: &Range<usize>, what: &str) {
        let location = self.file_and_line(at);
        self.errors.push((at.start, format!("{location}: {what}")));
    }

    fn file_and_line(&self, at: &Range<usize>) -> String {
        let line = self
            .text
            .bytes()
            .take(at.start)
            .filter(|byte| *byte == b'\n')
            .count()
            + 1;
        format!("{}:{line}", self.path.display())
    }
}

/// What was found, from the first line to the last.
fn sort_by_position(mut found: Vec<(usize, String)>) -> Vec<String> {
    found.sort();
    found.into_iter().map(|(_, words)| words).collect()
}

/// The profile that is meant if nothing names another; it need not be written down.
pub(super) const DEFAULT_PROFILE: &str = "default";

/// What a profile may be called: its name is a directory's name too.
pub(super) const PROFILE_NAME_RULE: &str = "a profile's name is made of letters, digits, - and _";

/// Whether a profile may be called so.
pub(super) fn is_profile_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Says that there is no such profile, and which there are.
pub(super) fn profile_not_found(name: &str, file: &ConfigFile) -> Error {
    let known = file.profiles.keys().map(String::as_str);
    let hint = match suggest(name, known.clone()) {
        Some(near) => format!("did you mean {near}?"),
        None if file.profiles.is_empty() => {
            "there is no profile in the configuration file".to_owned()
        }
        None => format!("there is {}", known.collect::<Vec<_>>().join(", ")),
    };
    Error::new(ErrorKind::Usage, format!("there is no profile {name}")).with_hint(hint)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
