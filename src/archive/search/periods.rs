//! `Period`: a part of the timeline in which a condition on time is met by all
//! emails or by none, except near that time.
//!
//! The index has no times. A condition that every match must meet bounds the scan; one beside `or`
//! or below a negation would make every email a candidate. So the timeline is split at its times,
//! and [`super::plan`] has an expression for each period. For a count it is split at all times:
//! what the index knows exactly within a period need not be compared.

use jiff::Timestamp;

use crate::archive::SortKey;
use crate::archive::listing::{BOTTOM, TOP};
use crate::query::{Node, Term, TimeOperator};

/// Microseconds between the time of an email and its place in the list from which
/// on it is out of order. A query with a time compares all emails out of order, and those this near
/// to its time.
pub(super) const OUT_OF_ORDER_MICROS: i64 = 3_600_000_000;

/// With more conditions beside `or`, there would be more periods than are worth an
/// expression.
const MAX_CONDITIONS: usize = 2;

/// [`MAX_CONDITIONS`] for a count, which reads all periods.
const MAX_COUNTED_CONDITIONS: usize = 4;

#[derive(Debug, Clone, Copy)]
pub(super) struct Period {
    /// The keys at its ends; inclusive.
    pub(super) newest_key: SortKey,
    pub(super) oldest_key: SortKey,
}

impl Period {
    pub(super) const ALL: Self = Self {
        newest_key: TOP,
        oldest_key: BOTTOM,
    };

    /// Splits the timeline at all times that a query names, newest first.
    /// Returns nothing if there are none, or too many.
    pub(super) fn split(filter: &Node) -> Vec<Self> {
        let mut conditions = Vec::new();
        filter.visit_terms(0, &mut |term, _| {
            conditions.extend(term.is_time().then_some(term));
        });
        Self::split_at(&conditions, MAX_COUNTED_CONDITIONS)
    }

    /// Splits it only at times that not every match must meet.
    pub(super) fn split_beside_or(filter: &Node) -> Vec<Self> {
        let mut conditions = Vec::new();
        visit_inner_times(filter, &mut |term| conditions.push(term));
        Self::split_at(&conditions, MAX_CONDITIONS)
    }

    fn split_at(conditions: &[&Term], most: usize) -> Vec<Self> {
        if conditions.is_empty() || conditions.len() > most {
            return Vec::new();
        }
        let times = conditions.iter().flat_map(|term| match term {
            Term::Time(TimeOperator::On, range) => vec![range.start, range.end],
            Term::Time(_, range) => vec![range.start],
            _ => Vec::new(),
        });
        // In between, the email of a key may be from before and from after the time.
        let starts = times.flat_map(|time| {
            let micros = time.as_microsecond();
            [
                micros - OUT_OF_ORDER_MICROS,
                micros + OUT_OF_ORDER_MICROS + 1,
            ]
            .map(SortKey::oldest_at)
        });
        let mut starts: Vec<SortKey> = starts.collect();
        starts.sort_unstable_by(|one, other| other.cmp(one));
        starts.dedup();
        let mut newest_key = TOP;
        let starts = starts.into_iter().chain([BOTTOM]);
        let period = starts.map(|oldest_key| {
            let period = Self {
                newest_key,
                oldest_key,
            };
            newest_key = oldest_key.next_older();
            period
        });
        period.collect()
    }

    /// Whether the emails of this period meet a condition on time,
    /// except those out of order; `None` if some may and others may not.
    pub(super) fn meets(&self, condition: &Term) -> Option<bool> {
        let oldest = self.oldest_key.micros().saturating_sub(OUT_OF_ORDER_MICROS);
        let newest = self.newest_key.micros().saturating_add(OUT_OF_ORDER_MICROS);
        let is_since = |time: Timestamp| {
            let micros = time.as_microsecond();
            match (oldest > micros, newest < micros) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            }
        };
        match condition {
            Term::Time(TimeOperator::After, range) => is_since(range.start),
            Term::Time(TimeOperator::Before, range) => {
                is_since(range.start).map(|is_since| !is_since)
            }
            Term::Time(TimeOperator::On, range) => {
                match (is_since(range.start), is_since(range.end)) {
                    (Some(true), Some(false)) => Some(true),
                    (Some(false), _) | (_, Some(true)) => Some(false),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Visits the conditions on time, except a member of the whole query,
/// or its negation, which every match must meet.
fn visit_inner_times<'a>(filter: &'a Node, visit: &mut impl FnMut(&'a Term)) {
    let members = match filter {
        Node::And(nodes) => nodes,
        other => std::slice::from_ref(other),
    };
    for member in members {
        let is_bound = match member {
            Node::Term(term) => term.is_time(),
            Node::Not(inner) => matches!(&**inner, Node::Term(term) if term.is_time()),
            Node::And(_) | Node::Or(_) => false,
        };
        if !is_bound {
            member.visit_terms(0, &mut |term, _| {
                if term.is_time() {
                    visit(term);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::parse;
    use crate::query::tests::arbitrary;

    #[test]
    fn timeline_is_split_only_beside_or() {
        for (text, periods) in [
            ("receipt", 0),
            ("after:7d receipt -before:30d", 0),
            ("receipt or after:7d", 3),
            ("-(receipt after:7d)", 3),
            ("-on:2026-11-02", 0),
            ("receipt or on:2026-11-02", 5),
            ("a or after:1d or after:2d", 5),
            ("a or after:1d or after:2d or after:3d", 0),
        ] {
            let filter = parse(text, &arbitrary::context()).query.filter;
            assert_eq!(Period::split_beside_or(&filter).len(), periods, "{text}");
        }
    }
}
