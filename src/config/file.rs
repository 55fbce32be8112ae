//! The configuration file: profiles, read with the line of whatever is wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::age::{AGES, age};
use super::backfill::Backfill;
use super::base::BaseUrl;
use super::nearest::nearest;
use super::paths::Paths;
use super::rate::Rate;
use super::views::{NUMBERS, SavedView, SavedViews};
use crate::failure::{Failure, Kind};

/// What the file says; empty if there is none.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct File {
    /// The profile that is meant if none is named.
    pub default_profile: Option<String>,
    /// The profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// The saved views, if there is a table of them.
    pub views: Option<SavedViews>,
    /// What was not understood and ignored, in words.
    pub warnings: Vec<String>,
}

/// A profile as it stands in the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Profile {
    /// Where the service is, if not at the default address.
    pub base_url: Option<BaseUrl>,
    /// Where the key comes from.
    pub key: Option<KeySource>,
    /// Whether nothing may be kept on disk.
    pub in_memory: bool,
    /// How old mail may become before it is removed; for ever if nothing is said.
    pub keep: Option<SignedDuration>,
    /// How far back mail is fetched by itself.
    pub backfill: Backfill,
    /// Requests a second.
    pub rate: Option<Rate>,
    /// Certificates to trust beside the system's.
    pub ca_file: Option<PathBuf>,
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
            Self::Command(command) => match command.split_whitespace().next().filter(|word| !word.contains(['=', '$', '`'])) {
                Some(word) => write!(f, "command {word} ..."),
                None => f.write_str("a command"),
            },
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Variable(name) => write!(f, "variable {name}"),
        }
    }
}

const TOP: [&str; 3] = ["default_profile", "profiles", "views"];
const VIEW: [&str; 2] = ["name", "query"];
const PROFILE: [&str; 9] = ["base_url", "api_key_command", "api_key_file", "api_key_env", "archive", "keep", "backfill", "rate", "ca_file"];

impl File {
    /// Reads the file; if there is none at its usual place, it is empty.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is not TOML, or has a value that is not allowed.
    pub(super) fn read(paths: &Paths) -> Result<Self, Failure> {
        match &paths.config {
            Some(path) if paths.config_named || path.exists() => Self::parse(&text_of(path)?, path, paths.home.as_deref()),
            Some(_) | None => Ok(Self::default()),
        }
    }

    /// Reads `text`, which stands in the file at `path`.
    ///
    /// # Errors
    ///
    /// If it is not TOML, or has a value that is not allowed.
    pub(super) fn parse(text: &str, path: &Path, home: Option<&Path>) -> Result<Self, Failure> {
        let mut reader = Reader { text, path, home, file: Self::default() };
        let document = DeTable::parse(text).map_err(|error| {
            let at = error.span().unwrap_or_default();
            reader.wrong(&at, error.message())
        })?;
        reader.top(document.get_ref())?;
        Ok(reader.file)
    }
}

/// The text of a configuration file.
///
/// # Errors
///
/// If it cannot be read.
pub(super) fn text_of(path: &Path) -> Result<String, Failure> {
    let unreadable = |error| Failure::new(Kind::Config, format!("{} cannot be read: {error}", path.display()));
    std::fs::read_to_string(path).map_err(unreadable)
}

struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
    home: Option<&'a Path>,
    file: File,
}

impl Reader<'_> {
    fn top(&mut self, table: &DeTable<'_>) -> Result<(), Failure> {
        let mut default = None;
        for (key, value) in table {
            match &**key.get_ref() {
                "default_profile" => default = Some((self.name(value)?, value.span())),
                "profiles" => {
                    for (name, profile) in self.table(value)? {
                        let words = self.profile(self.table(profile)?)?;
                        self.check_name(name.get_ref(), &name.span())?;
                        self.file.profiles.insert(name.get_ref().to_string(), words);
                    }
                }
                "views" => {
                    let mut views = SavedViews::new();
                    for (number, view) in self.table(value)? {
                        let at = number.get_ref().parse().ok().filter(|number| (1..=9).contains(number));
                        let at = at.ok_or_else(|| self.wrong(&number.span(), NUMBERS))?;
                        views.insert(at, self.view(view)?);
                    }
                    self.file.views = Some(views);
                }
                other => self.unknown(other, &key.span(), &TOP),
            }
        }
        if let Some((name, at)) = default {
            if name != DEFAULT && !self.file.profiles.contains_key(&name) {
                let instead = did_you_mean(&name, self.file.profiles.keys().map(String::as_str));
                return Err(self.wrong(&at, &format!("there is no profile {name}{instead}")));
            }
            self.file.default_profile = Some(name);
        }
        Ok(())
    }

    fn profile(&mut self, table: &DeTable<'_>) -> Result<Profile, Failure> {
        let mut profile = Profile::default();
        for (key, value) in table {
            let name = &**key.get_ref();
            match name {
                "base_url" => {
                    let base = BaseUrl::parse(self.text(value)?).map_err(|failure| self.wrong(&value.span(), &failure.sentence))?;
                    profile.base_url = Some(base);
                }
                "api_key_command" | "api_key_file" | "api_key_env" => {
                    let text = self.text(value)?.to_owned();
                    if text.trim().is_empty() {
                        return Err(self.wrong(&value.span(), &format!("{name} is empty")));
                    }
                    let source = match name {
                        "api_key_command" => KeySource::Command(text),
                        "api_key_file" => KeySource::File(self.beside(&text)),
                        _ => KeySource::Variable(text),
                    };
                    if profile.key.replace(source).is_some() {
                        return Err(self.wrong(&key.span(), "a profile has one of api_key_command, api_key_file and api_key_env"));
                    }
                }
                "archive" => {
                    profile.in_memory = match self.text(value)? {
                        "disk" => false,
                        "memory" => true,
                        _ => return Err(self.wrong(&value.span(), "archive is \"disk\" or \"memory\"")),
                    }
                }
                "keep" => {
                    let keep = age(self.text(value)?).filter(|age| !age.is_zero());
                    profile.keep = Some(keep.ok_or_else(|| self.wrong(&value.span(), &format!("keep is {AGES}")))?);
                }
                "backfill" => {
                    let backfill = Backfill::parse(self.text(value)?);
                    profile.backfill = backfill.ok_or_else(|| self.wrong(&value.span(), &format!("backfill is {}", Backfill::ALLOWED)))?;
                }
                "rate" => {
                    let number = match value.get_ref() {
                        DeValue::Integer(integer) => integer.as_str().parse().ok(),
                        DeValue::Float(float) => float.as_str().parse().ok(),
                        _ => None,
                    };
                    let rate = number.and_then(Rate::by_hand);
                    profile.rate = Some(rate.ok_or_else(|| self.wrong(&value.span(), &format!("rate is {}", Rate::ALLOWED)))?);
                }
                "ca_file" => profile.ca_file = Some(self.beside(self.text(value)?)),
                "api_key" => {
                    let place = self.place(&key.span());
                    self.file.warnings.push(format!("{place}: a key does not belong here and is ignored; sentbox login stores it safely"));
                }
                other => self.unknown(other, &key.span(), &PROFILE),
            }
        }
        Ok(profile)
    }

    fn view(&mut self, value: &Spanned<DeValue<'_>>) -> Result<SavedView, Failure> {
        let (mut name, mut query) = (None, None);
        for (key, text) in self.table(value)? {
            match &**key.get_ref() {
                "name" => name = Some(self.said(text)?),
                "query" => query = Some(self.said(text)?),
                other => self.unknown(other, &key.span(), &VIEW),
            }
        }
        match (name, query) {
            (Some(name), Some(query)) => Ok(SavedView { name, query }),
            _ => Err(self.wrong(&value.span(), "a view has a name and a query, as in { name = \"Today\", query = \"after:today\" }")),
        }
    }

    /// A text in which something is said, on one line.
    fn said(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Failure> {
        let text = self.text(value)?.trim();
        let is_said = !text.is_empty() && !text.contains(char::is_control);
        if is_said { Ok(text.to_owned()) } else { Err(self.wrong(&value.span(), "a text on one line belongs here")) }
    }

    /// A path in the file is meant from the home directory or else from the directory of the file.
    fn beside(&self, path: &str) -> PathBuf {
        if let (Some(home), Some(rest)) = (self.home, path.strip_prefix("~/")) {
            return home.join(rest);
        }
        self.path.parent().unwrap_or_else(|| Path::new("")).join(path)
    }

    fn name(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Failure> {
        let name = self.text(value)?;
        self.check_name(name, &value.span())?;
        Ok(name.to_owned())
    }

    fn check_name(&self, name: &str, at: &Range<usize>) -> Result<(), Failure> {
        if is_profile_name(name) { Ok(()) } else { Err(self.wrong(at, PROFILE_NAME)) }
    }

    fn text<'v>(&self, value: &'v Spanned<DeValue<'_>>) -> Result<&'v str, Failure> {
        value.get_ref().as_str().ok_or_else(|| self.wrong(&value.span(), "a text in quotes belongs here"))
    }

    fn table<'v, 'i>(&self, value: &'v Spanned<DeValue<'i>>) -> Result<&'v DeTable<'i>, Failure> {
        value.get_ref().as_table().ok_or_else(|| self.wrong(&value.span(), "a table belongs here"))
    }

    fn unknown(&mut self, name: &str, at: &Range<usize>, known: &[&'static str]) {
        let instead = did_you_mean(name, known.iter().copied());
        let place = self.place(at);
        self.file.warnings.push(format!("{place}: {name:?} is not known here{instead}"));
    }

    fn wrong(&self, at: &Range<usize>, what: &str) -> Failure {
        Failure::new(Kind::Config, format!("{}: {what}", self.place(at)))
    }

    fn place(&self, at: &Range<usize>) -> String {
        let line = self.text.bytes().take(at.start).filter(|byte| *byte == b'\n').count() + 1;
        format!("{}:{line}", self.path.display())
    }
}

/// `; did you mean acme?`, if there is something near.
fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|word| format!("; did you mean {word}?")).unwrap_or_default()
}

/// The profile that is meant if nothing names another; it need not be written down.
pub(super) const DEFAULT: &str = "default";

/// What a profile may be called: its name is a directory's name too.
pub(super) const PROFILE_NAME: &str = "a profile's name is made of letters, digits, - and _";

/// Whether a profile may be called so.
#[must_use]
pub(super) fn is_profile_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<File, String> {
        File::parse(text, Path::new("/etc/config.toml"), Some(Path::new("/home/ana"))).map_err(|failure| failure.sentence)
    }

    #[test]
    fn a_whole_file() {
        let file = parse(
            "default_profile = \"acme\"\n[profiles.acme]\nbase_url = \"https://mail.example.com/api\"\napi_key_file = \"key\"\n\
             archive = \"memory\"\nkeep = \"26w\"\nbackfill = \"30d\"\nrate = 0.5\nca_file = \"~/ca.pem\"\n[profiles.other]\nrate = 3\n",
        )
        .unwrap();
        assert_eq!(file.default_profile.as_deref(), Some("acme"));
        let acme = &file.profiles["acme"];
        assert_eq!(acme.base_url.as_ref().unwrap().to_string(), "https://mail.example.com/api");
        assert_eq!(acme.key, Some(KeySource::File("/etc/key".into())));
        assert_eq!(acme.backfill, Backfill::Span(SignedDuration::from_hours(720)));
        assert_eq!(file.profiles["other"].backfill, Backfill::Off);
        assert_eq!(acme.keep, Some(SignedDuration::from_hours(26 * 7 * 24)));
        assert!(acme.in_memory && acme.rate == Rate::by_hand(0.5) && acme.ca_file == Some("/home/ana/ca.pem".into()));
        assert_eq!(file.profiles["other"].rate, Rate::by_hand(3.0));
        assert!(file.warnings.is_empty());
    }

    #[test]
    fn an_unknown_key_is_a_warning_with_the_nearest_name() {
        let file = parse("[profiles.a]\n\nbaseurl = \"https://example.com\"\ncolour = 1\n").unwrap();
        assert_eq!(
            file.warnings,
            [
                "/etc/config.toml:3: \"baseurl\" is not known here; did you mean base_url?",
                "/etc/config.toml:4: \"colour\" is not known here"
            ]
        );
    }

    #[test]
    fn views_have_a_number_a_name_and_a_query() {
        let file = parse(
            "[views]\n1 = { name = \"Today\", query = \"after:today\", colour = 1 }\n[views.9]\nname = \"B\"\nquery = \"is:trouble\"\n",
        )
        .unwrap();
        let views: Vec<_> = file.views.unwrap().into_iter().map(|(number, view)| (number, view.name, view.query)).collect();
        let view = |number, name: &str, query: &str| (number, name.to_owned(), query.to_owned());
        assert_eq!(views, [view(1, "Today", "after:today"), view(9, "B", "is:trouble")]);
        assert_eq!(file.warnings, ["/etc/config.toml:2: \"colour\" is not known here"]);
        assert_eq!((parse("").unwrap().views, parse("[views]").unwrap().views.map(|views| views.len())), (None, Some(0)));
    }

    #[test]
    fn a_key_in_the_file_is_ignored_and_not_repeated() {
        let file = parse("[profiles.a]\napi_key = \"re_canary\"\n").unwrap();
        assert_eq!(file.profiles["a"].key, None);
        assert_eq!(file.warnings, ["/etc/config.toml:2: a key does not belong here and is ignored; sentbox login stores it safely"]);
    }

    #[test]
    fn a_source_is_named_without_what_may_be_secret() {
        let shown = |command: &str| KeySource::Command(command.to_owned()).to_string();
        assert_eq!(shown("pass show sentbox/acme"), "command pass ...");
        assert_eq!(shown("KEY=re_canary; echo $KEY"), "a command");
    }

    #[test]
    fn a_wrong_value_is_an_error_with_its_line() {
        for (text, error) in [
            ("[profiles.a]\narchive = \"tape\"", "/etc/config.toml:2: archive is \"disk\" or \"memory\""),
            ("[profiles.a]\n\nrate = 0", "/etc/config.toml:3: rate is a number of requests a second from 0.01 to 10000"),
            ("[profiles.a]\nrate = \"2\"", "/etc/config.toml:2: rate is a number of requests a second from 0.01 to 10000"),
            ("[profiles.a]\nkeep = \"0d\"", "/etc/config.toml:2: keep is a number of hours, days or weeks such as 12h, 30d, 8w"),
            (
                "[profiles.a]\nkeep = \"8w\"\nbackfill = \"3m\"",
                "/etc/config.toml:3: backfill is \"off\", \"all\", or a number of hours, days or weeks such as 12h, 30d, 8w",
            ),
            ("profiles = 3", "/etc/config.toml:1: a table belongs here"),
            ("[profiles.\"../x\"]", "/etc/config.toml:1: a profile's name is made of letters, digits, - and _"),
            ("[profiles.a]\nbase_url = 7", "/etc/config.toml:2: a text in quotes belongs here"),
            ("[profiles.a]\napi_key_command = \" \"", "/etc/config.toml:2: api_key_command is empty"),
            ("[views]\n\n0 = { name = \"A\", query = \"a\" }", "/etc/config.toml:3: a view has a number from 1 to 9"),
            ("[views]\nToday = \"after:today\"", "/etc/config.toml:2: a view has a number from 1 to 9"),
            ("[views]\n1 = \"after:today\"", "/etc/config.toml:2: a table belongs here"),
            (
                "[views]\n1 = { name = \"A\" }",
                "/etc/config.toml:2: a view has a name and a query, as in { name = \"Today\", query = \"after:today\" }",
            ),
            ("[views.2]\nname = \"A\"\nquery = \" \"", "/etc/config.toml:3: a text on one line belongs here"),
            ("\ndefault_profile = \"acne\"\n[profiles.acme]", "/etc/config.toml:2: there is no profile acne; did you mean acme?"),
        ] {
            assert_eq!(parse(text).unwrap_err(), error);
        }
        assert!(parse("\n\nx = ").unwrap_err().starts_with("/etc/config.toml:3: "));
        assert!(parse("[profiles.a]\napi_key_env = \"A\"\napi_key_file = \"b\"").is_err());
    }
}
