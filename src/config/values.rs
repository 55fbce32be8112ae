//! Types of values in the configuration file: rates, durations, key bindings, colours, saved views.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use ratatui::style::Color;

/// Requests a second. The team's limit is shared with the mail that it is sending, so the default
/// is low and never more than a quarter of what the service allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Requests a second.
    pub(crate) per_second: f64,
    /// The part of the service's stated limit that may be used at most.
    pub(crate) max_share: f64,
}

impl Rate {
    /// What a rate may be, for messages.
    pub(crate) const SYNTAX: &str = "a number of requests a second from 0.01 to 10000";

    /// A rate that a person chose: it may go to 90 % of the service's limit.
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

/// What is allowed, in words.
pub(crate) const DURATION_SYNTAX: &str = "a number of hours, days or weeks such as 12h, 30d, 8w";

/// Reads a number of hours, days or weeks; `None` if it is none.
pub(crate) fn parse_duration(text: &str) -> Option<SignedDuration> {
    let (number, hours) = [('h', 1), ('d', 24), ('w', 24 * 7)]
        .into_iter()
        .find_map(|(unit, hours)| Some((text.strip_suffix(unit)?, hours)))?;
    // A thousand years is as good as for ever, and no arithmetic on times fails within it.
    let number: u32 = number.parse().ok().filter(|number| *number <= 50_000)?;
    Some(SignedDuration::from_hours(i64::from(number) * hours))
}

/// How far back mail is fetched in the background.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Backfill {
    /// Not at all: only new mail, and what a search needs.
    #[default]
    Off,
    /// So long before now.
    Last(SignedDuration),
    /// Everything that the service has.
    All,
}

impl Backfill {
    /// What it may be, for messages.
    pub(crate) const SYNTAX: &str =
        "\"off\", \"all\", or a number of hours, days or weeks such as 12h, 30d, 8w";

    /// Reads it as it is written in a profile.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "off" => Some(Self::Off),
            "all" => Some(Self::All),
            _ => parse_duration(text)
                .filter(|span| !span.is_zero())
                .map(Self::Last),
        }
    }
}

/// A key that is to mean another command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyBinding {
    /// The key, or several after each other, as people write them.
    pub(crate) keys: String,
    /// The name of the command, or `none`.
    pub(crate) command: String,
    /// File and line of the declaration.
    pub(crate) declared_at: String,
}

/// A colour for each role; a role is a meaning, not a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Palette {
    /// What the eye is to find first: the selection bar, keys.
    pub(crate) accent: Color,
    /// What is as it should be: delivered, new.
    pub(crate) good: Color,
    /// What went wrong: bounced, failed.
    pub(crate) bad: Color,
    /// What may go wrong: delayed.
    pub(crate) warning: Color,
    /// Pending statuses and links.
    pub(crate) pending: Color,
    /// Complaints and code.
    pub(crate) apart: Color,
}

impl Default for Palette {
    /// Colours of the terminal's own palette, so that they fit light and dark alike.
    fn default() -> Self {
        Self {
            accent: Color::Cyan,
            good: Color::Green,
            bad: Color::Red,
            warning: Color::Yellow,
            pending: Color::Blue,
            apart: Color::Magenta,
        }
    }
}

/// The names of the roles.
pub(super) const ROLE_NAMES: [&str; 6] = ["accent", "good", "bad", "warning", "pending", "apart"];

/// What a colour is, in words.
pub(super) const COLOUR_SYNTAX: &str =
    "a colour is a name such as red or light-blue, a number from 0 to 255, or #rrggbb";

impl Palette {
    /// The colour of the role with this name, if there is one.
    pub(super) fn role_mut(&mut self, name: &str) -> Option<&mut Color> {
        Some(match name {
            "accent" => &mut self.accent,
            "good" => &mut self.good,
            "bad" => &mut self.bad,
            "warning" => &mut self.warning,
            "pending" => &mut self.pending,
            "apart" => &mut self.apart,
            _ => return None,
        })
    }
}

/// A saved view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedView {
    /// What people call it.
    pub(crate) name: String,
    /// What it shows, in the language of the search, as it was typed: `today` stays a word.
    pub(crate) query: String,
}

/// The views by their numbers, which are 1 to 9.
pub(crate) type SavedViews = BTreeMap<u8, SavedView>;

/// The views of a file that says nothing about views.
pub(crate) fn built_in_views() -> SavedViews {
    let views = [
        (1, "Today", "after:today"),
        (2, "Trouble", "is:trouble after:7d"),
        (3, "Waiting", "status:scheduled,queued,sent,delayed"),
        (4, "Yesterday", "on:yesterday"),
    ];
    views
        .map(|(number, name, query)| {
            (
                number,
                SavedView {
                    name: name.to_owned(),
                    query: query.to_owned(),
                },
            )
        })
        .into()
}

/// What a view's number is.
pub(super) const VIEW_NUMBER_RULE: &str = "a view has a number from 1 to 9";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_hours_days_and_weeks() {
        for (text, hours) in [("12h", 12), ("30d", 720), ("2w", 336), ("0d", 0)] {
            assert_eq!(
                parse_duration(text),
                Some(SignedDuration::from_hours(hours)),
                "{text}"
            );
        }
        for text in ["", "d", "-1d", "30", "3m", "1.5d", "99999999d", "all", "3é"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn every_role_has_its_own_colour() {
        let mut palette = Palette::default();
        let colours: std::collections::HashSet<Color> = ROLE_NAMES
            .iter()
            .map(|role| *palette.role_mut(role).unwrap())
            .collect();
        assert_eq!(colours.len(), ROLE_NAMES.len());
        assert_eq!(palette.role_mut("sidebar"), None);
    }
}
