//! Types of values in the configuration file:
//! rates, durations, key bindings, saved views.
//!
//! At the end are the functions that convert items of TOML; their errors are messages for the user.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use toml_edit::{Item, Key, TableLike};

use super::server_url::ServerUrl;

/// Requests a second.
///
/// The team's limit is shared with the mail that it is sending, so the default is low and never
/// more than a quarter of what the service allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub(crate) per_second: f64,
    /// The part of the service's stated limit that may be used at most.
    pub(crate) max_share: f64,
}

impl Rate {
    /// For a mirror, which has no team's limit to share:
    /// a million emails in ten minutes.
    pub(crate) const TO_MIRROR: Self = Self {
        per_second: 20.0,
        max_share: 0.9,
    };

    /// The allowed rates, for messages.
    pub(crate) const SYNTAX: &str = "a number of requests a second from 0.01 to 10000";

    /// Returns a rate that the user chose: it may use 90 % of the service's limit.
    #[must_use]
    pub fn explicit(per_second: f64) -> Option<Self> {
        (0.01..=10_000.0).contains(&per_second).then_some(Self {
            per_second,
            max_share: 0.9,
        })
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self {
            per_second: 2.0,
            max_share: 0.25,
        }
    }
}

/// The allowed durations, for messages.
pub(crate) const DURATION_SYNTAX: &str = "a number of hours, days or weeks such as 12h, 30d, 8w";

/// Parses a number of hours, days or weeks.
pub(crate) fn parse_duration(text: &str) -> Option<SignedDuration> {
    let (number, hours) = [('h', 1), ('d', 24), ('w', 24 * 7)]
        .into_iter()
        .find_map(|(unit, hours)| Some((text.strip_suffix(unit)?, hours)))?;
    // A thousand years is as good as for ever, and no arithmetic on times fails within it.
    let number: u32 = number.parse().ok().filter(|number| *number <= 50_000)?;
    Some(SignedDuration::from_hours(i64::from(number) * hours))
}

/// A column of the list; status and time are always the first and the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListColumn {
    pub(crate) field: ColumnField,
    /// Its cells; `None` for the default of the field.
    pub(crate) width: Option<u16>,
}

/// The field that a column of the list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnField {
    /// The address of the first recipient.
    To,
    /// The name of the first recipient.
    Name,
    /// The domain of the first recipient.
    Domain,
    From,
    Subject,
    /// The tags, which only a retrieved email has.
    Tags,
    Id,
}

impl ListColumn {
    /// The allowed columns, for messages.
    pub(crate) const SYNTAX: &str =
        "to, name, domain, from, subject, tags or id, with its width if you like: from:20";
    pub(crate) const DEFAULT: [Self; 2] = [
        Self::new(ColumnField::To, None),
        Self::new(ColumnField::Subject, None),
    ];

    const fn new(field: ColumnField, width: Option<u16>) -> Self {
        Self { field, width }
    }

    /// Parses columns that are separated by spaces or commas; at least one.
    pub(crate) fn parse_list(text: &str) -> Option<Vec<Self>> {
        let names = text.split([' ', ',']).filter(|name| !name.is_empty());
        let columns: Vec<Self> = names.map(Self::parse).collect::<Option<_>>()?;
        Some(columns).filter(|columns| !columns.is_empty())
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, width) = match text.split_once(':') {
            Some((name, width)) => (name, Some(width.parse().ok().filter(|width| *width > 0)?)),
            None => (text, None),
        };
        let mut fields = ColumnField::NAMES.into_iter();
        let (_, field) = fields.find(|(known, _)| *known == name)?;
        Some(Self::new(field, width))
    }
}

impl ColumnField {
    const NAMES: [(&str, Self); 7] = [
        ("to", Self::To),
        ("name", Self::Name),
        ("domain", Self::Domain),
        ("from", Self::From),
        ("subject", Self::Subject),
        ("tags", Self::Tags),
        ("id", Self::Id),
    ];

    /// The cells of a column without a width; `None` takes what the others leave.
    pub(crate) const fn default_width(self) -> Option<u16> {
        match self {
            Self::To | Self::Subject | Self::Tags => None,
            Self::Name => Some(16),
            Self::Domain => Some(20),
            Self::From => Some(24),
            Self::Id => Some(36),
        }
    }
}

impl fmt::Display for ListColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = ColumnField::NAMES.iter();
        let name = names.find(|(_, field)| *field == self.field);
        f.write_str(name.map_or("", |(name, _)| name))?;
        match self.width {
            Some(width) => write!(f, ":{width}"),
            None => Ok(()),
        }
    }
}

/// A part of the mail's history: the newest up to an age.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HistorySpan {
    #[default]
    Off,
    /// The mail of this last time.
    Last(SignedDuration),
    /// All that the service has.
    All,
}

impl HistorySpan {
    /// The allowed values, for messages.
    pub(crate) const SYNTAX: &str =
        "\"off\", \"all\", or a number of hours, days or weeks such as 12h, 30d, 8w";

    /// The `backfill` of a profile that names none:
    /// what common plans of the service list.
    pub(crate) const DEFAULT_BACKFILL: Self = Self::Last(SignedDuration::from_hours(30 * 24));

    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "off" => Some(Self::Off),
            "all" => Some(Self::All),
            _ => parse_duration(text).map(Self::Last),
        }
    }

    /// Returns the earliest time in the span; `None` if it is off.
    pub(crate) fn start(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Off => None,
            Self::Last(age) => Some(now.checked_sub(age).unwrap_or(Timestamp::MIN)),
            Self::All => Some(Timestamp::MIN),
        }
    }
}

/// A key bound to another command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyBinding {
    /// The key, or a sequence of keys.
    pub(crate) keys: String,
    /// The name of the command, or `none`.
    pub(crate) command: String,
    /// File and line of the declaration.
    pub(crate) declared_at: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedView {
    pub(crate) name: String,
    /// The query as it was typed: `today` stays a word.
    pub(crate) query: String,
}

/// Views by number, 1 to 9.
pub(crate) type SavedViews = BTreeMap<u8, SavedView>;

/// Returns the views of a configuration without views.
pub(crate) fn built_in_views() -> SavedViews {
    let views = [
        (1, "Today", "after:today"),
        (2, "Trouble", "is:trouble after:7d"),
        (3, "Waiting", "status:scheduled,queued,sent,delayed"),
        (4, "Yesterday", "on:yesterday"),
    ];
    let view = |(number, name, query): (u8, &str, &str)| {
        let (name, query) = (name.to_owned(), query.to_owned());
        (number, SavedView { name, query })
    };
    views.map(view).into()
}

/// The allowed numbers of views, for messages.
pub(super) const VIEW_NUMBER_RULE: &str = "a view has a number from 1 to 9";

/// Returns the entries of a table of TOML, with their keys.
pub(super) fn entries(table: &dyn TableLike) -> Vec<(&Key, &Item)> {
    let names = table.iter().map(|(name, _)| name);
    names.filter_map(|name| table.get_key_value(name)).collect()
}

pub(super) fn as_text(item: &Item) -> Result<&str, String> {
    item.as_str().ok_or("expected a text in quotes".to_owned())
}

/// Returns a trimmed text that is not empty, on one line.
pub(super) fn as_line(item: &Item) -> Result<String, String> {
    let text = as_text(item)?.trim();
    if text.is_empty() || text.contains(char::is_control) {
        return Err("a text on one line belongs here".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn as_table(item: &Item) -> Result<&dyn TableLike, &'static str> {
    item.as_table_like().ok_or("expected a table")
}

pub(super) fn as_bool(key: &Key, item: &Item) -> Result<bool, String> {
    item.as_bool()
        .ok_or_else(|| format!("{} is true or false", key.get()))
}

/// Reads whether mail is kept in memory only, or else the server that keeps it.
pub(super) fn read_archive(item: &Item) -> Result<(bool, Option<ServerUrl>), String> {
    match as_text(item)? {
        "memory" => Ok((true, None)),
        "disk" => Ok((false, None)),
        text if ServerUrl::is_one(text) => match ServerUrl::parse(text) {
            Ok(url) => Ok((false, Some(url))),
            Err(error) => Err(error.message),
        },
        _ => Err("archive is \"disk\", \"memory\" or postgres://USER@HOST/DATABASE".to_owned()),
    }
}

pub(super) fn read_keep(item: &Item) -> Result<SignedDuration, String> {
    let age = parse_duration(as_text(item)?).filter(|age| !age.is_zero());
    age.ok_or_else(|| format!("keep is {DURATION_SYNTAX}"))
}

pub(super) fn read_backfill(item: &Item) -> Result<HistorySpan, String> {
    let span = HistorySpan::parse(as_text(item)?);
    span.filter(|span| *span != HistorySpan::Last(SignedDuration::ZERO))
        .ok_or_else(|| format!("backfill is {}", HistorySpan::SYNTAX))
}

pub(super) fn read_rate(item: &Item) -> Result<Rate, String> {
    let integer = item
        .as_integer()
        .and_then(|number| i32::try_from(number).ok());
    let rate = item.as_float().or(integer.map(f64::from));
    rate.and_then(Rate::explicit)
        .ok_or_else(|| format!("rate is {}", Rate::SYNTAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_hours_days_and_weeks() {
        for (text, hours) in [("12h", 12), ("30d", 720), ("2w", 336), ("0d", 0)] {
            let expected = Some(SignedDuration::from_hours(hours));
            assert_eq!(parse_duration(text), expected, "{text}");
        }
        for text in ["", "d", "-1d", "30", "3m", "1.5d", "99999999d", "all", "3é"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
