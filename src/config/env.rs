//! Flags and the environment:
//! variables, directories, and fault injection for tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

use super::api_key::Prompting;

/// A copy of the environment. A variable that is blank counts as not set.
#[derive(Clone, Default)]
pub(crate) struct Env(BTreeMap<String, String>);

impl Env {
    /// The environment of this process.
    ///
    /// A variable that is not Unicode is left out: none that matters here may be.
    pub(crate) fn from_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// Returns the trimmed value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// Returns the name of the user by `LOGNAME` or `USER`, and their number.
    pub(crate) fn user(&self) -> String {
        let name = self.get("LOGNAME").or_else(|| self.get("USER"));
        format!(
            "{} ({})",
            name.unwrap_or("?"),
            rustix::process::getuid().as_raw()
        )
    }

    /// Returns the trimmed value of a variable, also if it is blank.
    pub(crate) fn get_or_blank(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim())
    }

    /// Returns the absolute path in a variable, or else `below` in the home directory.
    pub(crate) fn base_dir(&self, name: &str, below: &str) -> Option<PathBuf> {
        let absolute = |name| {
            self.get(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        absolute(name).or_else(|| absolute("HOME").map(|home| home.join(below)))
    }

    /// Returns the time zone of `TZ`, or else of this machine.
    pub(crate) fn time_zone(&self) -> TimeZone {
        self.named_time_zone()
            .or_else(|| linked_time_zone(Path::new("/etc/localtime")))
            .unwrap_or_else(TimeZone::system)
    }

    /// Returns the time zone of `TZ`: a name, a POSIX rule, or the path of a file.
    fn named_time_zone(&self) -> Option<TimeZone> {
        let name = self.get("TZ")?.trim_start_matches(':');
        let path = Path::new(name);
        let read = || TimeZone::tzif(name, &fs::read(path).ok()?).ok();
        find_time_zone(name)
            .or_else(|| TimeZone::posix(name).ok())
            .or_else(|| path.is_absolute().then(read)?)
    }

    /// Returns a warning if `TZ` is set, but no time zone.
    pub(crate) fn time_zone_warning(&self) -> Option<String> {
        let name = self.get("TZ")?;
        let zone = match self.named_time_zone() {
            Some(_) => return None,
            None => self.time_zone(),
        };
        let zone = zone.iana_name().unwrap_or("UTC");
        Some(format!(
            "TZ is {name}, which this machine does not know as a time zone; times are in {zone}"
        ))
    }

    /// Whether output is styled on a stream that is (or is not) a terminal.
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
    /// The folder of the archives.
    pub(crate) data: Option<PathBuf>,
    /// The folder of the log and of crash reports.
    pub(crate) state: Option<PathBuf>,
    /// The folder of `~/` in the configuration file.
    pub(super) home: Option<PathBuf>,
}

impl Paths {
    /// Returns the paths of the environment.
    pub(crate) fn from_env(env: &Env) -> Self {
        let folder = |name, below| {
            env.base_dir(name, below)
                .map(|folder| folder.join("sentbox"))
        };
        let named = env.get("SENTBOX_CONFIG").map(PathBuf::from);
        Self {
            config: named.or_else(|| {
                folder("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("config.toml"))
            }),
            data: folder("XDG_DATA_HOME", ".local/share"),
            state: folder("XDG_STATE_HOME", ".local/state"),
            home: env.get("HOME").map(PathBuf::from),
        }
    }

    /// Returns the folder of a profile's archives, one for each address and key.
    pub(crate) fn profile_data_dir(&self, profile: &str) -> Option<PathBuf> {
        self.data.as_ref().map(|data| data.join(profile))
    }
}

/// A kind of work in which a debug build panics on request (`SENTBOX_PANIC`).
///
/// The terminal must be given back and the archive stay whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    /// While a request runs.
    Fetch,
    /// While rows are loaded.
    Store,
    /// While a body is laid out.
    Render,
    /// While input is handled.
    Input,
}

impl FaultPoint {
    /// Returns the fault of the environment; none in a release build.
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

    /// Panics if `requested` is `here`.
    pub(crate) fn panic_if_requested(requested: Option<Self>, here: Self) {
        assert!(
            requested != Some(here),
            "SENTBOX_PANIC requested this panic in {here:?}"
        );
    }
}

/// The flags that settings depend on.
///
/// No flag takes a key: every user of the machine may read the command lines of all processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    /// The profile to use; the environment's keys are then ignored.
    pub(crate) profile: Option<String>,
    pub(crate) base_url: Option<String>,
    /// The file of the archive, instead of the profile's.
    pub(crate) archive: Option<PathBuf>,
    /// Whether nothing may be kept on disk.
    pub(crate) in_memory: bool,
    /// Whether secrets are shown unmasked.
    pub(crate) reveal: bool,
    /// Requests a second.
    pub(crate) rate: Option<f64>,
    /// Certificates to trust beside the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// Whether a command that gives the key may ask for something.
    pub(crate) prompting: Prompting,
    /// The zone in which times are shown and read.
    pub(crate) zone: Option<TimeZone>,
}

/// Returns a time zone of the system's database by its name, and UTC also without one.
pub(crate) fn find_time_zone(name: &str) -> Option<TimeZone> {
    if name.eq_ignore_ascii_case("UTC") {
        return Some(TimeZone::UTC);
    }
    TimeZone::get(name).ok()
}

/// Returns the time zone to whose file `link` leads.
///
/// jiff reads the names of all zones before the first one, which takes longer than the rest of the
/// start of a command.
fn linked_time_zone(link: &Path) -> Option<TimeZone> {
    let target = fs::read_link(link).ok()?;
    let (_, name) = target.to_str()?.rsplit_once("zoneinfo/")?;
    TimeZone::tzif(name, &fs::read(link).ok()?).ok()
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
        let data_dir = |env: &Env| env.base_dir("XDG_DATA_HOME", ".local/share");
        assert_eq!(data_dir(&env), Some("/home/ana/.local/share".into()));
        assert_eq!(data_dir(&Env::default()), None);
    }

    #[test]
    fn unknown_time_zone_is_a_warning() {
        let env = |zone: &str| Env::from_iter([("TZ", zone)]);
        let has_database = TimeZone::get("Europe/Berlin").is_ok();
        let named = has_database.then_some(":Europe/Berlin");
        let others = ["UTC", ":utc", "CET-1CEST,M3.5.0,M10.5.0/3", " "];
        for known in others.into_iter().chain(named) {
            assert_eq!(env(known).time_zone_warning(), None, "{known}");
        }
        for unknown in ["Nowhere/Bad", "/nowhere/zone"] {
            let warning = env(unknown).time_zone_warning().unwrap();
            let start = format!("TZ is {unknown}, which this machine does not know as a time zone");
            assert!(warning.starts_with(&start), "{warning}");
        }
    }

    #[test]
    fn linked_time_zone_is_named_after_file() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("zoneinfo/Test");
        fs::create_dir_all(&folder).unwrap();
        // One type of local time, one hour east of Greenwich (RFC 9636).
        let counts = [0_u32, 0, 0, 0, 1, 4].map(u32::to_be_bytes).concat();
        let data = [
            b"TZif",
            &[0; 16][..],
            &counts,
            &3600_i32.to_be_bytes(),
            b"\0\0CET\0",
        ]
        .concat();
        fs::write(folder.join("East"), data).unwrap();
        let link = home.path().join("localtime");
        std::os::unix::fs::symlink(folder.join("East"), &link).unwrap();
        let zone = linked_time_zone(&link).unwrap();
        assert_eq!(zone.iana_name(), Some("Test/East"));
        let offset = zone.to_offset(jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(offset, jiff::tz::offset(1));
        assert!(
            linked_time_zone(&folder.join("East")).is_none(),
            "no link has no name"
        );
    }

    #[test]
    fn colour_follows_terminal_unless_overridden() {
        let is_coloured = |name: &str, value: &str, is_terminal| {
            Env::from_iter([(name, value)]).wants_colour(is_terminal)
        };
        assert!(is_coloured("TERM", "xterm", true) && !is_coloured("TERM", "xterm", false));
        assert!(!is_coloured("TERM", "dumb", true) && !is_coloured("NO_COLOR", "1", true));
        assert!(
            is_coloured("CLICOLOR_FORCE", "1", false) && !is_coloured("CLICOLOR_FORCE", "0", false)
        );
    }
}
