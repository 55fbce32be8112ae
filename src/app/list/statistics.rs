//! Statistics of what the filter shows: by time, status, domain and subject.
//! Each line leads to its emails.
//!
//! They are computed once, off the event loop, when they are opened, and again after a purge or a
//! refresh by the user; closing them cancels that.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};

use super::filter::Filter;
use crate::app::chooser::{ChooserItem, ChooserKind};
use crate::app::effect::{Effect, Pending, RequestId};
use crate::app::history::HistoryEntry;
use crate::app::model::Model;
use crate::archive::{Coverage, Outcome, Outcomes, Share, Statistics, pattern_parts};
use crate::query::{Field, Node, SearchText, Term};
use crate::text::format::group_digits;

/// From this many columns on, times are beside the rest.
pub const TWO_COLUMNS_WIDTH: u16 = 120;

/// A group of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Days,
    Weeks,
    Months,
    Statuses,
    Domains,
    Subjects,
    /// Subjects of a filter by status, without the share that bounced.
    SubjectsOfStatus,
}

impl Section {
    pub const fn title(self) -> &'static str {
        match self {
            Self::Days => "By day",
            Self::Weeks => "By week",
            Self::Months => "By month",
            Self::Statuses => "By status",
            Self::Domains => "Domains by bounced, failed, suppressed",
            Self::Subjects => "Frequent subjects: bounced or failed",
            Self::SubjectsOfStatus => "Most frequent subjects",
        }
    }

    pub const fn is_time(self) -> bool {
        matches!(self, Self::Days | Self::Weeks | Self::Months)
    }
}

/// One line: a part of the emails.
#[derive(Debug, Clone, PartialEq)]
pub struct StatisticsItem {
    pub section: Section,
    pub label: String,
    pub outcomes: Outcomes,
    /// The number before the bar: `18 of 400` bounced, for a domain or a subject.
    pub count: String,
    /// What part of a domain or a subject bounced; `None` if the status was chosen,
    /// of which it says nothing.
    pub bounced: Option<Share>,
    /// The condition on its emails.
    node: Node,
}

/// The statistics that were opened last, and the mail that they are of.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatisticsState {
    pub result: Pending<Arc<Statistics>>,
    /// How far back the archive was complete.
    pub coverage: Option<Coverage>,
    /// The number of emails with known bodies and tags, if the filter needs them.
    pub bodies_known: Option<u64>,
    /// When the service last sent its list.
    pub as_of: Option<Timestamp>,
    /// The line to select once they are computed.
    returns_to: Option<Box<StatisticsItem>>,
    /// The lines whose emails were shown, to go back to them, the latest last.
    origins: Vec<Origin>,
}

/// A line of the statistics that leads to the emails of a filter.
#[derive(Debug, Clone, PartialEq)]
struct Origin {
    line: StatisticsItem,
    leads_to: Filter,
    before: HistoryEntry,
}

impl Model {
    /// Opens the statistics and starts to compute them.
    pub(in crate::app) fn open_statistics(&mut self) {
        self.open_chooser(ChooserKind::Statistics);
        self.statistics.result.reset();
        self.statistics.returns_to = None;
        self.load_statistics();
    }

    /// Computes them again if they are open; returns whether they are.
    pub(in crate::app) fn reload_statistics(&mut self) -> bool {
        let is_open = self.chooser_kind() == Some(&ChooserKind::Statistics);
        if is_open {
            self.load_statistics();
        }
        is_open
    }

    /// Computes them again if that has failed: the archive can be read again.
    pub(in crate::app) fn retry_statistics(&mut self) {
        if self.statistics.result.error().is_some() {
            self.reload_statistics();
        }
    }

    fn load_statistics(&mut self) {
        self.statistics.coverage = self.service.known_coverage().cloned();
        self.statistics.bodies_known = self.list.count_known_bodies();
        self.statistics.as_of = self.service.as_of;
        self.outbox.push(Effect::LoadStatistics(
            self.statistics.result.start(),
            self.list.filter.query().clone(),
            self.now.clone(),
        ));
    }

    /// Whether the statistics are still wanted.
    pub(in crate::app) fn is_statistics_current(&self, request: RequestId) -> bool {
        let is_open = self.chooser_kind() == Some(&ChooserKind::Statistics);
        is_open && self.statistics.result.is_current(request)
    }

    /// The lines of the statistics, in the order in which they are chosen.
    pub fn statistics_items(&self) -> Vec<StatisticsItem> {
        let Some(statistics) = self.statistics.result.value() else {
            return Vec::new();
        };
        let is_by_status = self.list.filter.query().depends_on_status();
        // A share of emails that were chosen by their status means nothing.
        let share = |outcomes: Outcomes, count: u64| {
            let bounced = Some(Share::of_bounced(outcomes)).filter(|_| !is_by_status);
            let text = bounced.map(|share| {
                let [part, whole] = [share.part, share.whole].map(|it| group_digits(it, ' '));
                format!("{part} of {whole}")
            });
            (text.unwrap_or_else(|| group_digits(count, ' ')), bounced)
        };
        let subjects = if is_by_status {
            Section::SubjectsOfStatus
        } else {
            Section::Subjects
        };
        let mut items = self.time_items(statistics);
        items.extend(statistics.statuses.iter().map(|(status, count)| {
            let mut outcomes = Outcomes::default();
            outcomes.add(Outcome::from_status(status), *count);
            StatisticsItem {
                section: Section::Statuses,
                label: status.label().to_owned(),
                outcomes,
                count: group_digits(*count, ' '),
                bounced: None,
                node: Node::Term(Term::Status(vec![status.clone()])),
            }
        }));
        for (domain, outcomes) in &statistics.worst_domains {
            let count = outcomes.get(Outcome::Bounced);
            let (count, bounced) = share(*outcomes, count);
            items.extend(SearchText::new(domain).map(|text| StatisticsItem {
                section: Section::Domains,
                label: domain.clone(),
                outcomes: *outcomes,
                count,
                bounced,
                node: Node::Term(Term::Domain(text)),
            }));
        }
        for (pattern, outcomes) in &statistics.top_subjects {
            let parts = pattern_parts(pattern).filter_map(SearchText::new);
            let terms = parts.map(|part| Node::Term(Term::Text(Field::Subject, part)));
            let (count, bounced) = share(*outcomes, outcomes.total());
            items.push(StatisticsItem {
                section: subjects,
                label: pattern.clone(),
                outcomes: *outcomes,
                count,
                bounced,
                node: Node::all(terms),
            });
        }
        items
    }

    /// Days, or else weeks or months: as few lines as the screen has.
    fn time_items(&self, statistics: &Statistics) -> Vec<StatisticsItem> {
        let most = if self.size.width >= TWO_COLUMNS_WIDTH {
            31
        } else {
            10
        };
        let days = &statistics.days;
        let weeks = group(days, |day| {
            let from_monday = i64::from(day.weekday().to_monday_zero_offset());
            day.checked_sub(from_monday.days()).unwrap_or(day)
        });
        let (section, groups) = if days.len() <= most {
            (Section::Days, days.clone())
        } else if weeks.len() <= most {
            (Section::Weeks, weeks)
        } else {
            (Section::Months, group(days, Date::first_of_month))
        };
        let item = |(start, outcomes): &(Date, Outcomes)| {
            let (label, text) = match section {
                Section::Weeks => {
                    let end = start.checked_add(7.days()).unwrap_or(*start);
                    ("week of %-d %b %Y", format!("after:{start} before:{end}"))
                }
                Section::Months => ("%b %Y", format!("on:{}", start.strftime("%Y-%m"))),
                _ => ("%a %-d %b %Y", format!("on:{start}")),
            };
            StatisticsItem {
                section,
                label: start.strftime(label).to_string(),
                outcomes: *outcomes,
                count: group_digits(outcomes.total(), ' '),
                bounced: None,
                node: Filter::parse(&text, &self.now).query().filter.clone(),
            }
        };
        groups.iter().rev().map(item).collect()
    }

    /// The lines as items of a list.
    pub(in crate::app) fn statistics_choices(&self) -> Vec<ChooserItem> {
        let items = self.statistics_items().into_iter();
        items
            .map(|item| ChooserItem::new("", item.label, ""))
            .collect()
    }

    /// Changes the lines, and leaves the same one selected if it is still there.
    pub(in crate::app) fn change_statistics(&mut self, change: impl FnOnce(&mut Self)) {
        let chooser = self.chooser.as_ref();
        let chooser = chooser.filter(|it| it.kind == ChooserKind::Statistics);
        let Some(index) = chooser.map(|chooser| chooser.selected) else {
            return change(self);
        };
        let selected = self.statistics_items().into_iter().nth(index);
        let returns_to = || self.statistics.returns_to.as_deref().cloned();
        let line = selected.or_else(returns_to);
        change(self);
        let Some(line) = line else {
            return;
        };
        let items = self.statistics_items();
        let is_same = |it: &StatisticsItem| it.label == line.label && it.node == line.node;
        match items.iter().position(is_same) {
            Some(index) => self.select_in_chooser(index),
            // Other times than before are here.
            None if line.section.is_time() => self.select_in_chooser(0),
            None => {}
        }
    }

    /// Shows the emails of a line in the list.
    pub(in crate::app) fn show_statistics_item(&mut self, index: usize) {
        let Some(item) = self.statistics_items().into_iter().nth(index) else {
            return;
        };
        let filter = self.narrowed_filter([item.node.clone()]);
        self.close_chooser();
        self.close_reader();
        let before = self.history_entry();
        self.show_filter(filter);
        let leads_to = self.list.filter.clone();
        let origins = &mut self.statistics.origins;
        origins.retain(|origin| origin.leads_to != leads_to);
        origins.push(Origin {
            line: item,
            leads_to,
            before,
        });
    }

    /// Whether the filter was set by a line of the statistics.
    pub(in crate::app) fn is_from_statistics(&self) -> bool {
        let mut origins = self.statistics.origins.iter();
        !self.is_received()
            && origins.any(|origin| origin.leads_to.text() == self.list.filter.text())
    }

    /// Opens the statistics again at the line that has set the filter.
    pub(in crate::app) fn return_to_statistics(&mut self) {
        let origins = &mut self.statistics.origins;
        let text = self.list.filter.text();
        let at = origins.iter().rposition(|it| it.leads_to.text() == text);
        let Some(origin) = at.and_then(|at| origins.drain(at..).next()) else {
            return;
        };
        let here = self.history_entry();
        self.restore_entry(origin.before);
        self.record_history(here);
        self.open_statistics();
        self.statistics.returns_to = Some(Box::new(origin.line));
    }

    /// Shows all mail, from which nothing leads back to statistics.
    pub(in crate::app) fn clear_filter(&mut self) {
        self.forget_statistics_lines();
        self.show_filter(Filter::default());
    }

    /// Leads nowhere back to statistics: the user types another filter.
    pub(in crate::app) fn forget_statistics_lines(&mut self) {
        self.statistics.origins.clear();
    }
}

/// Adds up the days of equal keys; both are in ascending order.
fn group(days: &[(Date, Outcomes)], key: impl Fn(Date) -> Date) -> Vec<(Date, Outcomes)> {
    let mut groups: Vec<(Date, Outcomes)> = Vec::new();
    for (day, outcomes) in days {
        let start = key(*day);
        match groups.last_mut().filter(|(last, _)| *last == start) {
            Some((_, sum)) => sum.merge(*outcomes),
            None => groups.push((start, *outcomes)),
        }
    }
    groups
}
