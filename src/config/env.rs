//! Flags and the environment: variables, directories, and fault injection for tests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::tz::TimeZone;

use super::api_key::Prompting;

/// A copy of the environment. A variable that is blank counts as not set.
#[derive(Clone, Default)]
pub(crate) struct Env(BTreeMap<String, String>);

impl Env {
    /// The environment of this process. A variable that is not Unicode is left out: none that
    /// matters here may be.
    pub(crate) fn from_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The value of a variable, without blanks around it.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// A directory: the variable `name` if it is an absolute path, else `below` in the home directory.
    pub(crate) fn base_dir(&self, name: &str, below: &str) -> Option<PathBuf> {
        let absolute = |name| {
            self.get(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        absolute(name).or_else(|| absolute("HOME").map(|home| home.join(below)))
    }

    /// The time zone of the person: `TZ` if it names one, else the zone of this machine.
    pub(crate) fn time_zone(&self) -> jiff::tz::TimeZone {
        let named = self.get("TZ").map(|name| name.trim_start_matches(':'));
        named
            .and_then(|name| jiff::tz::TimeZone::get(name).ok())
            .unwrap_or_else(jiff::tz::TimeZone::system)
    }

    /// Whether styled output is wanted on a stream that is (or is not) a terminal.
    pub(crate) fn wants_colour(&self, is_terminal: bool) -> bool {
        if self.get("NO_COLOR").is_some() {
            return false;
        }
        let forced = self.get("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        forced || (is_terminal && self.get("TERM") != Some("dumb"))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Env {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(
            variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

/// The files and directories of sentbox; `None` without a home directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Paths {
    /// The configuration file; it need not be there.
    pub(crate) config: Option<PathBuf>,
    /// Whether `SENTBOX_CONFIG` names it, so that it must be there.
    pub(crate) config_is_explicit: bool,
    /// The folder of the archives.
    pub(crate) data: Option<PathBuf>,
    /// The folder of the log and of crash reports.
    pub(crate) state: Option<PathBuf>,
    /// What `~/` means in the configuration file.
    pub(super) home: Option<PathBuf>,
}

impl Paths {
    /// The paths by `env`.
    pub(crate) fn from_env(env: &Env) -> Self {
        let folder = |name, below| {
            env.base_dir(name, below)
                .map(|folder| folder.join("sentbox"))
        };
        let named = env.get("SENTBOX_CONFIG").map(PathBuf::from);
        Self {
            config_is_explicit: named.is_some(),
            config: named.or_else(|| {
                folder("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("config.toml"))
            }),
            data: folder("XDG_DATA_HOME", ".local/share"),
            state: folder("XDG_STATE_HOME", ".local/state"),
            home: env.get("HOME").map(PathBuf::from),
        }
    }

    /// The folder of a profile's archives: one for each address and key it has had.
    pub(crate) fn profile_data_dir(&self, profile: &str) -> Option<PathBuf> {
        self.data.as_ref().map(|data| data.join(profile))
    }
}

/// A kind of work in which a debug build panics on request (`SENTBOX_PANIC`). The terminal must be
/// given back and the archive stay whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    /// While a request runs.
    Fetch,
    /// While the archive is asked.
    Store,
    /// While a body is laid out.
    Render,
    /// While input is handled.
    Input,
}

impl FaultPoint {
    /// The fault that the environment names; none in a release build.
    pub(crate) fn from_env(env: &Env) -> Option<Self> {
        if !cfg!(debug_assertions) {
            return None;
        }
        match env.get("SENTBOX_PANIC")? {
            "fetch" => Some(Self::Fetch),
            "store" => Some(Self::Store),
            "render" => Some(Self::Render),
            "input" => Some(Self::Input),
            _ => None,
        }
    }

    /// Panics if `asked` is `here`.
    pub(crate) fn panic_if_requested(asked: Option<Self>, here: Self) {
        assert!(
            asked != Some(here),
            "SENTBOX_PANIC asked for this in {here:?}"
        );
    }
}

/// What the command line says about where to go and how. There is no flag that takes a key:
/// everybody on the machine may read the command lines of all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    /// The profile to use; the environment's keys are then ignored.
    pub(crate) profile: Option<String>,
    /// Where the service is.
    pub(crate) base_url: Option<String>,
    /// Whether nothing may be kept on disk.
    pub(crate) in_memory: bool,
    /// Requests a second.
    pub(crate) rate: Option<f64>,
    /// Certificates to trust beside the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// Whether a command that gives the key may ask for something.
    pub(crate) prompting: Prompting,
    /// The zone in which times are shown and read.
    pub(crate) zone: Option<TimeZone>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_variables_and_relative_directories_are_ignored() {
        let env = Env::from_iter([
            ("A", "  "),
            ("XDG_DATA_HOME", "relative"),
            ("HOME", "/home/ana"),
        ]);
        assert_eq!(env.get("A"), None);
        assert_eq!(
            env.base_dir("XDG_DATA_HOME", ".local/share"),
            Some(PathBuf::from("/home/ana/.local/share"))
        );
        assert_eq!(
            Env::default().base_dir("XDG_DATA_HOME", ".local/share"),
            None
        );
    }

    #[test]
    fn colour_follows_terminal_unless_overridden() {
        let wants = |name: &str, value: &str, is_terminal| {
            Env::from_iter([(name, value)]).wants_colour(is_terminal)
        };
        assert!(wants("TERM", "xterm", true) && !wants("TERM", "xterm", false));
        assert!(!wants("TERM", "dumb", true) && !wants("NO_COLOR", "1", true));
        assert!(wants("CLICOLOR_FORCE", "1", false) && !wants("CLICOLOR_FORCE", "0", false));
    }
}
