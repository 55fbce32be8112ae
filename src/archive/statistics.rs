//! Statistics of a query: what became of its emails, by time, status, domain and subject.
//!
//! One pass over the matches, newest first. Memory is bounded: of each kind only so many different
//! values are counted, and the newest ones come first.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::search::CancellationToken;
use super::{Archive, EmailRow};
use crate::error::Result;
use crate::mail::{Finality, Status};
use crate::query::Query;
use crate::text::secrets::{self, MASK};

/// The most different domains, and the most different subjects, that are counted.
const MAX_VALUES: usize = 50_000;

/// Replaces a number in a subject, so that receipts are counted together.
pub(crate) const NUMBER: char = '…';

/// What became of an email, in few classes.
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

    pub(crate) const fn of(status: &Status) -> Self {
        match status {
            Status::Delivered | Status::Opened | Status::Clicked => Self::Delivered,
            Status::Scheduled | Status::Queued | Status::Sent | Status::DeliveryDelayed => {
                Self::InProgress
            }
            Status::Bounced | Status::Failed | Status::Suppressed => Self::Bounced,
            Status::Complained => Self::Complained,
            Status::Canceled | Status::Unknown | Status::Other(_) => Self::Other,
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

/// A part of a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) part: u64,
    pub(crate) whole: u64,
}

/// The statistics of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Statistics {
    pub(crate) total: u64,
    /// By the day in which the service accepted an email, oldest first.
    pub(crate) days: Vec<(Date, Outcomes)>,
    /// Emails whose time cannot be parsed.
    pub(crate) undated: u64,
    /// In the natural order of statuses.
    pub(crate) statuses: Vec<(Status, u64)>,
    /// The domains of recipients with the most bounces, worst first.
    pub(crate) worst_domains: Vec<(String, Outcomes)>,
    /// The most frequent subjects, their codes masked and their numbers as [`NUMBER`].
    pub(crate) top_subjects: Vec<(String, Outcomes)>,
    /// The oldest confirmation of a status that may still change.
    pub(crate) as_of: Option<Timestamp>,
    /// Emails whose status may still change, and was never confirmed.
    pub(crate) unconfirmed: u64,
}

impl Statistics {
    /// Bounces of the emails that were handed over to a mail server.
    pub(crate) fn bounces(&self) -> Share {
        let never_left = |status: &Status| {
            matches!(
                status,
                Status::Scheduled
                    | Status::Queued
                    | Status::Canceled
                    | Status::Failed
                    | Status::Suppressed
            )
        };
        Share {
            part: self.count(|status| *status == Status::Bounced),
            whole: self.count(|status| !never_left(status)),
        }
    }

    /// Complaints about the emails that were delivered.
    pub(crate) fn complaints(&self) -> Share {
        let is_complaint = |status: &Status| *status == Status::Complained;
        Share {
            part: self.count(is_complaint),
            whole: self
                .count(|status| is_complaint(status) || Outcome::of(status) == Outcome::Delivered),
        }
    }

    fn count(&self, condition: impl Fn(&Status) -> bool) -> u64 {
        let statuses = self.statuses.iter();
        let counts = statuses.filter(|(status, _)| condition(status));
        counts.map(|(_, count)| count).sum()
    }
}

/// Collects statistics row by row.
#[derive(Debug)]
pub(crate) struct StatisticsBuilder {
    zone: TimeZone,
    now: Timestamp,
    result: Statistics,
    days: BTreeMap<Date, Outcomes>,
    domains: HashMap<String, Outcomes>,
    subjects: HashMap<String, Outcomes>,
}

impl StatisticsBuilder {
    /// Days are those of `zone`; `now` decides which statuses are final.
    pub(crate) fn new(zone: TimeZone, now: Timestamp) -> Self {
        Self {
            zone,
            now,
            result: Statistics::default(),
            days: BTreeMap::new(),
            domains: HashMap::new(),
            subjects: HashMap::new(),
        }
    }

    pub(crate) fn add(&mut self, row: &EmailRow) {
        let (summary, result) = (&row.summary, &mut self.result);
        let outcome = Outcome::of(&summary.status);
        result.total += 1;
        match summary.created.parsed {
            Some(at) => {
                let day = at.to_zoned(self.zone.clone()).date();
                self.days.entry(day).or_default().add(outcome, 1);
            }
            None => result.undated += 1,
        }
        let mut statuses = result.statuses.iter_mut();
        match statuses.find(|(status, _)| *status == summary.status) {
            Some((_, count)) => *count += 1,
            None => result.statuses.push((summary.status.clone(), 1)),
        }
        if row.finality(self.now) != Finality::Final {
            match row.confirmed_at.filter(|at| *at <= self.now) {
                Some(at) => result.as_of = Some(result.as_of.map_or(at, |as_of| as_of.min(at))),
                None => result.unconfirmed += 1,
            }
        }
        let mut domains: Vec<String> = summary
            .recipients()
            .map(|address| address.domain().to_lowercase())
            .filter(|domain| !domain.is_empty())
            .collect();
        domains.sort_unstable();
        domains.dedup();
        for domain in domains {
            count_value(&mut self.domains, domain, outcome);
        }
        let pattern = subject_pattern(&summary.subject);
        if pattern_parts(&pattern).next().is_some() {
            count_value(&mut self.subjects, pattern, outcome);
        }
    }

    /// Returns the statistics with at most `top` domains and subjects.
    pub(crate) fn finish(self, top: usize) -> Statistics {
        let mut statuses = self.result.statuses;
        let known = |status: &Status| Status::KNOWN.iter().position(|known| known == status);
        statuses.sort_by_key(|(status, _)| known(status).unwrap_or(usize::MAX));
        Statistics {
            days: self.days.into_iter().collect(),
            statuses,
            worst_domains: largest(self.domains, top, |counts| counts.get(Outcome::Bounced)),
            top_subjects: largest(self.subjects, top, Outcomes::total),
            ..self.result
        }
    }
}

fn count_value(values: &mut HashMap<String, Outcomes>, value: String, outcome: Outcome) {
    if values.len() < MAX_VALUES || values.contains_key(&value) {
        values.entry(value).or_default().add(outcome, 1);
    }
}

/// The values with the largest sizes, zero left out, largest first.
fn largest(
    values: HashMap<String, Outcomes>,
    top: usize,
    size: fn(Outcomes) -> u64,
) -> Vec<(String, Outcomes)> {
    let mut values: Vec<_> = values
        .into_iter()
        .filter(|(_, counts)| size(*counts) > 0)
        .collect();
    values.sort_unstable_by(|(a, a_counts), (b, b_counts)| {
        size(*b_counts).cmp(&size(*a_counts)).then_with(|| a.cmp(b))
    });
    values.truncate(top);
    values
}

/// Returns the subject with its codes masked, and each number replaced by [`NUMBER`].
fn subject_pattern(subject: &str) -> String {
    let mut pattern = String::with_capacity(subject.len());
    for letter in secrets::mask_codes(subject).chars() {
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

impl Archive {
    /// Computes the statistics of a query; `None` if that was cancelled.
    pub(crate) fn statistics(
        &self,
        query: &Query,
        mut builder: StatisticsBuilder,
        top: usize,
        cancel: &CancellationToken,
    ) -> Result<Option<Statistics>> {
        let is_whole = self.for_each_match(query, cancel, |row| {
            builder.add(&row);
            true
        })?;
        Ok(is_whole.then(|| builder.finish(top)))
    }
}
