//! `Env`: the environment variables as one value, so that a test needs no process environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A copy of the environment. A variable that is blank counts as not set.
#[derive(Clone, Default)]
pub(crate) struct Env(BTreeMap<String, String>);

impl Env {
    /// The environment of this process. A variable that is not Unicode is left out: none that
    /// matters here may be.
    #[must_use]
    pub(crate) fn from_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The value of a variable, without blanks around it.
    #[must_use]
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// A directory: the variable `name` if it is an absolute path, else `below` in the home directory.
    #[must_use]
    pub(crate) fn base_dir(&self, name: &str, below: &str) -> Option<PathBuf> {
        let absolute = |name| {
            self.get(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        absolute(name).or_else(|| absolute("HOME").map(|home| home.join(below)))
    }

    /// The time zone of the person: `TZ` if it names one, else the zone of this machine.
    #[must_use]
    pub(crate) fn time_zone(&self) -> jiff::tz::TimeZone {
        let named = self.get("TZ").map(|name| name.trim_start_matches(':'));
        named
            .and_then(|name| jiff::tz::TimeZone::get(name).ok())
            .unwrap_or_else(jiff::tz::TimeZone::system)
    }

    /// Whether styled output is wanted on a stream that is (or is not) a terminal.
    #[must_use]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_is_not_set_and_relative_directories_do_not_count() {
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
    fn colour_follows_the_terminal_unless_told_otherwise() {
        let wants = |name: &str, value: &str, is_terminal| {
            Env::from_iter([(name, value)]).wants_colour(is_terminal)
        };
        assert!(wants("TERM", "xterm", true) && !wants("TERM", "xterm", false));
        assert!(!wants("TERM", "dumb", true) && !wants("NO_COLOR", "1", true));
        assert!(wants("CLICOLOR_FORCE", "1", false) && !wants("CLICOLOR_FORCE", "0", false));
    }
}
