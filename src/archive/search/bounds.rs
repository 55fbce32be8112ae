//! Between which times everything stands that a query finds.

use crate::query::{Node, Term};

/// The times (microseconds) between which what comes out as `wanted` was created: the newest and the oldest.
pub(super) fn time_bounds(node: &Node, wanted: bool) -> (i64, i64) {
    const OPEN: (i64, i64) = (i64::MAX, i64::MIN);
    const NONE: (i64, i64) = (i64::MIN, i64::MAX);
    let both = |one: (i64, i64), other: (i64, i64)| (one.0.min(other.0), one.1.max(other.1));
    let hull = |one: (i64, i64), other: (i64, i64)| (one.0.max(other.0), one.1.min(other.1));
    let before = |at: jiff::Timestamp| (at.as_microsecond(), i64::MIN);
    let after = |at: jiff::Timestamp| (i64::MAX, at.as_microsecond());
    match (node, wanted) {
        (Node::And(nodes), true) | (Node::Or(nodes), false) => nodes
            .iter()
            .map(|node| time_bounds(node, wanted))
            .fold(OPEN, both),
        (Node::Or(nodes), true) | (Node::And(nodes), false) => nodes
            .iter()
            .map(|node| time_bounds(node, wanted))
            .fold(NONE, hull),
        (Node::Not(inner), _) => time_bounds(inner, !wanted),
        (Node::Term(Term::After(moment)), true) | (Node::Term(Term::Before(moment)), false) => {
            after(moment.start)
        }
        (Node::Term(Term::Before(moment)), true) | (Node::Term(Term::After(moment)), false) => {
            before(moment.start)
        }
        (Node::Term(Term::On(moment)), true) => both(after(moment.start), before(moment.end)),
        (Node::Term(_), _) => OPEN,
    }
}
