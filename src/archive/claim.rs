//! What a page says about the listing: which spans it connects, and what its emails lie between.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, Transaction, params};

use super::carry::{Joins, Stretch};
use super::entry::Entry;
use super::order::{self, Bounds, NoRoom, Wish};
use super::span::{self, Span};
use super::{Place, pack, room};
use crate::failure::Failure;
use crate::mail::EmailId;

pub(super) const COUNT_LISTED: &str =
    "SELECT count(*) FROM (SELECT 1 FROM mail WHERE place BETWEEN ?2 AND ?1 AND listed LIMIT ?3)";
pub(super) const NEXT_ABOVE: &str = "SELECT place FROM mail WHERE place < ?1 AND place >= ?2 AND listed ORDER BY place DESC LIMIT 1";
pub(super) const NEXT_BELOW: &str =
    "SELECT place FROM mail WHERE place > ?1 AND place <= ?2 AND listed ORDER BY place LIMIT 1";

/// So many emails on either side make it no accident that all times of one side are past the other's.
const TELLING: usize = 8;

/// How far (in microseconds) emails of one moment may have been pushed from their time, with room to spare.
const DRIFT: i64 = 1_000_000;

/// A page that agrees with what it was asked for.
pub(super) struct Claim {
    /// The spans that become one with the page, newest first.
    members: Vec<Span>,
    /// Whether the page is known to be the listing's newest, or its oldest.
    ends: (bool, bool),
    /// The cursor's row, if the page does not hold it; it takes part in the ordering.
    cursor: Option<Place>,
    /// Whether the cursor stands above the page.
    below: bool,
    bounds: Bounds,
}

/// The page and the spans that it connects, as one.
pub(super) struct Whole {
    pub(super) span: Span,
    /// Whether no row had to move for it.
    pub(super) in_order: bool,
}

impl Claim {
    /// `None` if the page contradicts what it was asked for. It may still hold mail, but it may also
    /// leave mail out, so that nothing is known of its neighbours.
    pub(super) fn of(
        change: &Transaction,
        stretch: &Stretch,
        entries: &[Entry],
    ) -> Result<Option<Self>, Failure> {
        let mut spans = span::load(change)?;
        let joined = match &stretch.joins {
            Joins::Nothing => return Ok(None),
            Joins::Top | Joins::Bottom if entries.is_empty() => return Ok(None),
            Joins::Top | Joins::Bottom => None,
            Joins::Below { cursor, .. } | Joins::Above(cursor) => {
                let Some(cursor) = listed_place(change, cursor)? else {
                    return Ok(None);
                };
                let Some(span) = spans.iter_mut().find(|span| span.holds(cursor)) else {
                    return Ok(None);
                };
                if matches!(stretch.joins, Joins::Below { cut: true, .. }) && span.bottom < cursor {
                    *span = Span {
                        bottom: cursor,
                        reaches_end: false,
                        ..*span
                    };
                }
                Some((*span, cursor))
            }
        };
        let below = matches!(stretch.joins, Joins::Top | Joins::Below { .. });
        let listed: Vec<Place> = entries.iter().filter_map(Entry::listed_at).collect();
        let is_member = |span: &Span| {
            joined.is_some_and(|(joined, _)| joined.top == span.top)
                || listed.iter().any(|place| span.holds(*place))
        };
        let (members, others): (Vec<Span>, Vec<Span>) = spans.into_iter().partition(is_member);
        let (highest, lowest) = match (members.first(), members.last()) {
            (Some(first), Some(last)) => (first.top, last.bottom),
            _ if below => (Place(i64::MAX), Place(i64::MAX)),
            _ => (Place(i64::MIN), Place(i64::MIN)),
        };
        // Where the page begins: next to its cursor, or to what it repeats of the span around that.
        let mut near = None;
        if let Some((span, cursor)) = &joined {
            // A page below the cursor cannot hold what is known to stand in a span above it.
            let crosses = if below {
                span.top != highest
            } else {
                span.bottom != lowest
            };
            let Some(outermost) = overlap(change, span, *cursor, below, entries)? else {
                return Ok(None);
            };
            if crosses || is_elsewhere(change, span, below, entries)? {
                return Ok(None);
            }
            near = neighbour(change, span, outermost, below)?;
        }
        // Where it ends within a span, what the span has beyond that stays beyond it.
        let mut far = None;
        if let Some(span) = if below {
            members.last()
        } else {
            members.first()
        } {
            let met = listed.iter().copied().filter(|place| span.holds(*place));
            if let Some(outermost) = if below { met.min() } else { met.max() } {
                far = neighbour(change, span, outermost, !below)?;
            }
        }
        let (ceiling, floor) = if below { (near, far) } else { (far, near) };
        let over = others
            .iter()
            .map(|span| span.bottom)
            .filter(|bottom| *bottom > highest)
            .min();
        let under = others
            .iter()
            .map(|span| span.top)
            .filter(|top| *top < lowest)
            .max();
        let bounds = Bounds {
            ceiling: ceiling.or(over).map(|place| place.0),
            floor: floor.or(under).map(|place| place.0),
            now: Place::of(stretch.asked.micros()).unwrap_or(Place(0)).0,
        };
        let ends = (
            over.is_none()
                && (stretch.joins == Joins::Top || members.iter().any(|span| span.reaches_top)),
            stretch.joins == Joins::Bottom,
        );
        let cursor = joined
            .map(|(_, cursor)| cursor)
            .filter(|cursor| !listed.contains(cursor));
        Ok(Some(Self {
            members,
            ends,
            cursor,
            below,
            bounds,
        }))
    }

    /// Whether the page adds to what is known whole.
    pub(super) fn grows(&self, entries: &[Entry]) -> bool {
        let within = |entry: &Entry| {
            entry
                .listed_at()
                .is_some_and(|place| self.members.iter().any(|span| span.holds(place)))
        };
        self.members.len() > 1 || !entries.iter().all(within)
    }

    /// Gives the page's emails their places, moves those that stand elsewhere, and takes the spans
    /// away that are now one; returns that one, which is to be put when the rows are there.
    pub(super) fn settle(
        &self,
        change: &Transaction,
        entries: &mut [Entry],
    ) -> Result<Result<Whole, NoRoom>, Failure> {
        let mut wishes: Vec<Wish> = entries.iter().map(Entry::wish).collect();
        if let Some(cursor) = self.cursor {
            wishes.insert(
                if self.below { 0 } else { wishes.len() },
                Wish::Has(cursor.0),
            );
        }
        let keeps = order::keepers(&wishes, &self.bounds);
        let leaving = |(wish, keeps): (&Wish, &bool)| {
            if let (Wish::Has(place), false) = (wish, keeps) {
                Some(*place)
            } else {
                None
            }
        };
        let leaving: HashSet<i64> = wishes.iter().zip(&keeps).filter_map(leaving).collect();
        let taken = |place| {
            if leaving.contains(&place) {
                Ok(false)
            } else {
                room::is_taken(change, place)
            }
        };
        let mut places = match order::arrange(&wishes, keeps, &self.bounds, taken)? {
            Ok(places) => places,
            Err(no_room) => return Ok(Err(no_room)),
        };
        let had = wishes.iter().zip(&places).filter_map(|(wish, place)| {
            if let Wish::Has(from) = wish {
                Some((Place(*from), Place(*place)))
            } else {
                None
            }
        });
        let moves: HashMap<Place, Place> = had.filter(|(from, to)| from != to).collect();
        let now_at = |place: Place| moves.get(&place).copied().unwrap_or(place);
        let edges = || {
            self.members
                .iter()
                .flat_map(|span| [span.top, span.bottom])
                .map(now_at)
                .chain(places.iter().copied().map(Place))
        };
        let top = edges().max().expect("a claim has emails or a span");
        let bottom = edges().min().expect("a claim has emails or a span");
        let ended = self
            .members
            .last()
            .is_some_and(|span| span.reaches_end && now_at(span.bottom) == bottom);
        let whole = Span {
            top,
            bottom,
            reaches_top: self.ends.0,
            reaches_end: self.ends.1 || ended,
        };
        let standing = span::load(change)?;
        // Most pages only confirm what is known, and then nothing is written.
        if !moves.is_empty() || !standing.contains(&whole) {
            for span in standing
                .iter()
                .filter(|span| self.members.iter().any(|member| member.top == span.top))
            {
                span::remove(change, span)?;
            }
            if whole.reaches_top {
                change.execute("UPDATE span SET reaches_top = 0 WHERE reaches_top", [])?;
            }
            room::move_all(change, &moves)?;
        }
        if self.cursor.is_some() {
            places.remove(if self.below { 0 } else { places.len() - 1 });
        }
        for (entry, place) in entries.iter_mut().zip(places) {
            entry.place = Place(place);
        }
        Ok(Ok(Whole {
            span: whole,
            in_order: moves.is_empty(),
        }))
    }
}

impl Entry {
    /// Its place, if it is part of whatever span holds that.
    fn listed_at(&self) -> Option<Place> {
        self.known
            .as_ref()
            .filter(|known| known.listed)
            .map(|known| known.place)
    }

    fn wish(&self) -> Wish {
        match (&self.known, self.natural) {
            (Some(known), _) => Wish::Has(known.place.0),
            (None, Some(natural)) => Wish::Wants(natural.0),
            (None, None) => Wish::Anywhere,
        }
    }
}

/// How far a page reaches back over its cursor: the outermost row of the span that both hold.
///
/// A page that continues at its cursor holds nothing of the span on the cursor's other side. Some
/// services repeat a few emails, in order and without a gap; that is harmless. Anything else says
/// that the cursor was ignored, or means something else than it should: `None`.
fn overlap(
    change: &Transaction,
    span: &Span,
    cursor: Place,
    below: bool,
    entries: &[Entry],
) -> Result<Option<Place>, Failure> {
    let beyond = |entry: &Entry| {
        entry.listed_at().filter(|place| {
            span.holds(*place)
                && if below {
                    *place >= cursor
                } else {
                    *place <= cursor
                }
        })
    };
    let repeated: Vec<Place> = entries.iter().filter_map(beyond).collect();
    let mut towards_cursor: Vec<&Entry> = entries.iter().collect();
    if !below {
        towards_cursor.reverse();
    }
    if !towards_cursor
        .iter()
        .take(repeated.len())
        .all(|entry| beyond(entry).is_some())
    {
        return Ok(None);
    }
    let outermost = if below {
        repeated.iter().max()
    } else {
        repeated.iter().min()
    };
    let Some(outermost) = outermost.copied() else {
        return Ok(Some(cursor));
    };
    let limit = i64::try_from(repeated.len()).unwrap_or(i64::MAX - 1);
    let between = params![cursor.min(outermost), cursor.max(outermost), limit + 1];
    let standing: i64 = change
        .prepare_cached(COUNT_LISTED)?
        .query_row(between, |row| row.get(0))?;
    Ok((standing == limit).then_some(outermost))
}

/// The next row of the span above or below `place`.
fn neighbour(
    change: &Transaction,
    span: &Span,
    place: Place,
    above: bool,
) -> Result<Option<Place>, Failure> {
    let (sql, end) = if above {
        (NEXT_ABOVE, span.top)
    } else {
        (NEXT_BELOW, span.bottom)
    };
    Ok(change
        .prepare_cached(sql)?
        .query_row([place, end], |row| row.get(0))
        .optional()?)
}

/// Whether all times of a page say that it comes from the other end of the listing: below a span, but
/// newer than all of it, or above it and older. Few emails say nothing: a service whose order has
/// nothing to do with its times must not be misunderstood.
fn is_elsewhere(
    change: &Transaction,
    span: &Span,
    below: bool,
    entries: &[Entry],
) -> Result<bool, Failure> {
    let is_past = |time: i64| {
        if below {
            time > span.top.micros() + DRIFT
        } else {
            time < span.bottom.micros() - DRIFT
        }
    };
    if entries.len() < TELLING
        || !entries
            .iter()
            .all(|entry| entry.natural.map(Place::micros).is_some_and(is_past))
    {
        return Ok(false);
    }
    let telling = i64::try_from(TELLING).unwrap_or(i64::MAX);
    let rows: i64 = change
        .prepare_cached(COUNT_LISTED)?
        .query_row(params![span.bottom, span.top, telling], |row| row.get(0))?;
    Ok(rows == telling)
}

/// The place of an email that a page has held.
fn listed_place(change: &Transaction, id: &EmailId) -> Result<Option<Place>, Failure> {
    let sql = "SELECT place FROM mail WHERE id = ?1 AND listed";
    Ok(change
        .prepare_cached(sql)?
        .query_row([pack::id(id.as_str())], |row| row.get(0))
        .optional()?)
}
