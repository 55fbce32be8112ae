//! Statistics of a query: what became of its emails, by time, status,
//! domain and subject.
//!
//! One pass over the matches, newest first. Memory is bounded: of each kind only so many different
//! values are counted, and the newest ones come first.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::grouping::{Grouping, Groups, Outcome, Outcomes};
use super::search::CancellationToken;
use super::status_age::StatusAge;
use super::{Archive, EmailRow};
use crate::error::Result;
use crate::mail::{Status, Tag, count_status};
use crate::query::Query;
use crate::text::format::group_digits;

/// A part of a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) part: u64,
    pub(crate) whole: u64,
}

impl Share {
    /// Returns the part of a group that bounced, failed or was suppressed.
    pub(crate) fn of_bounced(group: Outcomes) -> Self {
        Self {
            part: group.get(Outcome::Bounced),
            whole: group.total(),
        }
    }

    /// Formats it in percent; `-` of nothing.
    pub(crate) fn percent(self) -> String {
        let percent = |rate: u64| format!("{}.{:02} %", rate / 100, rate % 100);
        self.rounded(10_000).map_or_else(|| "-".to_owned(), percent)
    }

    /// Returns it in parts of `unit`; `None` of nothing.
    fn rounded(self, unit: u64) -> Option<u64> {
        (self.part * unit + self.whole / 2).checked_div(self.whole)
    }

    /// Describes it as the rate `name`: `bounce rate 2.50 % (1 of 40 handed over)`.
    pub(crate) fn describe(self, name: &str, of: &str) -> String {
        let [part, whole] = [self.part, self.whole].map(|count| group_digits(count, ' '));
        format!("{name} {} ({part} of {whole} {of})", self.percent())
    }

    /// Returns it as a number from 0 to 1 with six digits; `None` of nothing.
    pub(crate) fn ratio(self) -> Option<f64> {
        let rate = u32::try_from(self.rounded(1_000_000)?).unwrap_or(u32::MAX);
        Some(f64::from(rate) / 1_000_000.0)
    }
}

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
    /// The most frequent subjects, their codes masked and their numbers as
    /// [`NUMBER`](super::grouping::NUMBER).
    pub(crate) top_subjects: Vec<(String, Outcomes)>,
    /// When the statuses were confirmed.
    pub(crate) age: StatusAge,
}

impl Statistics {
    /// Bounces of the emails that were handed over to a mail server.
    pub(crate) fn bounces(&self) -> Share {
        let may_not_have_left = |status: &Status| {
            let is_held = matches!(
                status,
                Status::Scheduled
                    | Status::Queued
                    | Status::Canceled
                    | Status::Failed
                    | Status::Suppressed
            );
            is_held || !status.is_understood()
        };
        Share {
            part: self.count(|status| *status == Status::Bounced),
            whole: self.count(|status| !may_not_have_left(status)),
        }
    }

    /// Complaints about the emails that were delivered.
    pub(crate) fn complaints(&self) -> Share {
        let is_complaint = |status: &Status| *status == Status::Complained;
        Share {
            part: self.count(is_complaint),
            whole: self.count(|status| {
                is_complaint(status) || Outcome::from_status(status) == Outcome::Delivered
            }),
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
    groups: Vec<Groups>,
}

impl StatisticsBuilder {
    /// Days are those of `zone`; `now` decides which statuses are final.
    pub(crate) fn new(zone: TimeZone, now: Timestamp) -> Self {
        Self::grouped_by(&[Grouping::Domain, Grouping::Subject], zone, now)
    }

    /// Counts other groups than the terminal program.
    pub(crate) fn grouped_by(groupings: &[Grouping], zone: TimeZone, now: Timestamp) -> Self {
        let groups = groupings.iter().map(|by| Groups::new(*by, zone.clone()));
        Self {
            groups: groups.collect(),
            zone,
            now,
            result: Statistics::default(),
            days: BTreeMap::new(),
        }
    }

    /// Adds an email; `tags` are `None` if they were never fetched.
    pub(crate) fn add(&mut self, row: &EmailRow, tags: Option<&[Tag]>) {
        let (summary, result) = (&row.summary, &mut self.result);
        let outcome = Outcome::from_status(&summary.status);
        result.total += 1;
        match summary.created.parsed {
            Some(at) => {
                let day = at.to_zoned(self.zone.clone()).date();
                self.days.entry(day).or_default().add(outcome, 1);
            }
            None => result.undated += 1,
        }
        count_status(&mut result.statuses, &summary.status);
        result.age.add(row, self.now);
        for groups in &mut self.groups {
            groups.add(row, tags);
        }
    }

    /// Returns the statistics with at most `top` domains and subjects.
    pub(crate) fn finish(self, top: usize) -> Statistics {
        let (mut statistics, groups) = self.finish_groups();
        for groups in groups {
            match groups.by() {
                Grouping::Domain => {
                    let bounces = |counts: Outcomes| counts.get(Outcome::Bounced);
                    statistics.worst_domains = groups.into_largest(top, bounces);
                }
                Grouping::Subject => {
                    statistics.top_subjects = groups.into_largest(top, Outcomes::total);
                }
                _ => {}
            }
        }
        statistics
    }

    /// Returns the statistics without domains and subjects, and the groups.
    pub(crate) fn finish_groups(self) -> (Statistics, Vec<Groups>) {
        let statistics = Statistics {
            days: self.days.into_iter().collect(),
            ..self.result
        };
        (statistics, self.groups)
    }
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
            builder.add(&row, None);
            true
        })?;
        Ok(is_whole.then(|| builder.finish(top)))
    }
}
