//! The outcomes of emails, and the number of emails by a value:
//! day, hour, status, domain, subject or tag.
//!
//! Memory is bounded: only so many different values are counted.

use std::collections::HashMap;

use jiff::tz::TimeZone;

use super::EmailRow;
use crate::mail::{Status, Tag};
use crate::text::secrets::{self, MASK};

/// The most different values that are counted.
const MAX_VALUES: usize = 50_000;

/// Replaces a number in a subject, so that receipts are counted together.
pub(crate) const NUMBER: char = '…';

/// The outcome of an email, in few classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Delivered,
    InProgress,
    Bounced,
    Complained,
    Other,
}

impl Outcome {
    pub(crate) const ALL: [Self; 5] = [
        Self::Delivered,
        Self::InProgress,
        Self::Bounced,
        Self::Complained,
        Self::Other,
    ];

    pub(crate) const fn from_status(status: &Status) -> Self {
        match status {
            Status::Delivered | Status::Opened | Status::Clicked => Self::Delivered,
            Status::Scheduled | Status::Queued | Status::Sent | Status::DeliveryDelayed => {
                Self::InProgress
            }
            Status::Bounced | Status::Failed | Status::Suppressed => Self::Bounced,
            Status::Complained => Self::Complained,
            Status::Canceled | Status::Received | Status::Unknown | Status::Other(_) => Self::Other,
        }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::InProgress => "in progress",
            Self::Bounced => "bounced or failed",
            Self::Complained => "complained",
            Self::Other => "other",
        }
    }
}

/// How many emails there are of each outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Outcomes([u64; Outcome::ALL.len()]);

impl Outcomes {
    pub(crate) const fn get(self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    pub(crate) fn total(self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) const fn add(&mut self, outcome: Outcome, count: u64) {
        self.0[outcome as usize] += count;
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for outcome in Outcome::ALL {
            self.add(outcome, other.get(outcome));
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grouping {
    Day,
    Hour,
    Status,
    /// The domains of the recipients: an email is in the group of each.
    Domain,
    /// The subject with its codes masked, and each number replaced by [`NUMBER`].
    Subject,
    /// `name=value`: an email is in the group of each of its tags.
    Tag,
}

impl Grouping {
    pub(crate) const ALL: [Self; 6] = [
        Self::Day,
        Self::Hour,
        Self::Status,
        Self::Domain,
        Self::Subject,
        Self::Tag,
    ];

    /// Returns its name in `stats --by`, and in the JSON of `stats`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Status => "status",
            Self::Domain => "domain",
            Self::Subject => "subject",
            Self::Tag => "tag",
        }
    }
}

/// The counts of one grouping.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    by: Grouping,
    zone: TimeZone,
    counts: HashMap<String, Outcomes>,
    /// Emails without such a value.
    pub(crate) ungrouped: u64,
    /// Emails whose tags were never fetched.
    pub(crate) unknown: u64,
    /// Emails in no group because of [`MAX_VALUES`].
    pub(crate) left_out: u64,
}

impl Groups {
    /// Days and hours are those of `zone`.
    pub(crate) fn new(by: Grouping, zone: TimeZone) -> Self {
        Self {
            by,
            zone,
            counts: HashMap::new(),
            ungrouped: 0,
            unknown: 0,
            left_out: 0,
        }
    }

    pub(crate) const fn by(&self) -> Grouping {
        self.by
    }

    /// Counts an email; `tags` are `None` if they were never fetched.
    pub(crate) fn add(&mut self, row: &EmailRow, tags: Option<&[Tag]>) {
        if self.by == Grouping::Tag && tags.is_none() {
            self.unknown += 1;
            return;
        }
        let values = self.values(row, tags.unwrap_or_default());
        if values.is_empty() {
            self.ungrouped += 1;
        }
        let mut is_left_out = false;
        for value in values {
            if self.counts.len() < MAX_VALUES || self.counts.contains_key(&value) {
                let outcomes = self.counts.entry(value).or_default();
                outcomes.add(Outcome::from_status(&row.summary.status), 1);
            } else {
                is_left_out = true;
            }
        }
        self.left_out += u64::from(is_left_out);
    }

    fn values(&self, row: &EmailRow, tags: &[Tag]) -> Vec<String> {
        let summary = &row.summary;
        let time = |format: &str| {
            let at = summary.created.parsed?.to_zoned(self.zone.clone());
            Some(at.strftime(format).to_string())
        };
        let mut values: Vec<String> = match self.by {
            Grouping::Day => time("%Y-%m-%d").into_iter().collect(),
            Grouping::Hour => time("%Y-%m-%dT%H:00").into_iter().collect(),
            Grouping::Status => vec![summary.status.api_name().to_owned()],
            Grouping::Domain => summary
                .recipients()
                .map(|address| address.domain().to_lowercase())
                .filter(|domain| !domain.is_empty())
                .collect(),
            Grouping::Subject => {
                let pattern = subject_pattern(&summary.subject);
                let has_words = pattern_parts(&pattern).next().is_some();
                Some(pattern).filter(|_| has_words).into_iter().collect()
            }
            Grouping::Tag => tags.iter().map(ToString::to_string).collect(),
        };
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Returns the groups: times and statuses in their order, others the largest first.
    pub(crate) fn into_sorted(self) -> Vec<(String, Outcomes)> {
        let rank = match self.by {
            Grouping::Day | Grouping::Hour => |_: &str| 0,
            Grouping::Status => |name: &str| Status::parse(name).order(),
            Grouping::Domain | Grouping::Subject | Grouping::Tag => {
                return self.into_largest(usize::MAX, Outcomes::total);
            }
        };
        let mut groups: Vec<_> = self.counts.into_iter().collect();
        groups.sort_by_cached_key(|(name, _)| (rank(name), name.clone()));
        groups
    }

    /// Returns the groups with the largest sizes, zero left out, largest first.
    pub(super) fn into_largest(
        self,
        top: usize,
        size: fn(Outcomes) -> u64,
    ) -> Vec<(String, Outcomes)> {
        let mut groups: Vec<_> = self
            .counts
            .into_iter()
            .filter(|(_, counts)| size(*counts) > 0)
            .collect();
        groups.sort_unstable_by(|(a, a_counts), (b, b_counts)| {
            size(*b_counts).cmp(&size(*a_counts)).then_with(|| a.cmp(b))
        });
        groups.truncate(top);
        groups
    }
}

/// Returns the subject with its codes masked, and each number replaced by
/// [`NUMBER`].
pub(crate) fn subject_pattern(subject: &str) -> String {
    let mut pattern = String::with_capacity(subject.len());
    for letter in secrets::mask_secrets(subject).chars() {
        if !letter.is_numeric() {
            pattern.push(letter);
        } else if !pattern.ends_with(NUMBER) {
            pattern.push(NUMBER);
        }
    }
    pattern
}

/// The parts of a subject pattern that every subject of it contains.
pub(crate) fn pattern_parts(pattern: &str) -> impl Iterator<Item = &str> {
    let parts = pattern.split([NUMBER, MASK]).map(str::trim);
    parts.filter(|part| part.chars().any(char::is_alphanumeric))
}
