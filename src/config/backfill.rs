//! `Backfill`: how far back the archive is to reach by itself.

use jiff::SignedDuration;

use super::age::parse_duration;

/// How far back mail is fetched without anybody asking for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Backfill {
    /// Not at all: what is new, and what somebody looks for.
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
    #[must_use]
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
