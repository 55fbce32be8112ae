//! What a page says about the listing: which spans it connects, and what its emails lie between.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, Transaction, params};

use super::coverage::{self, CoveredRange};
use super::incoming::IncomingEmail;
use super::merge::{ListingPage, PagePosition};
use super::position::{self, KeyBounds, KeysExhausted, PositionHint};
use super::{SortKey, id_codec, renumber};
use crate::error::Error;
use crate::mail::EmailId;

pub(super) const COUNT_LISTED: &str = "SELECT count(*) FROM (SELECT 1 FROM mail WHERE sort_key BETWEEN ?2 AND ?1 AND listed LIMIT ?3)";
pub(super) const NEXT_ABOVE: &str = "SELECT sort_key FROM mail WHERE sort_key < ?1 AND sort_key >= ?2 AND listed ORDER BY sort_key DESC LIMIT 1";
pub(super) const NEXT_BELOW: &str = "SELECT sort_key FROM mail WHERE sort_key > ?1 AND sort_key <= ?2 AND listed ORDER BY sort_key LIMIT 1";

/// So many emails on either side make it no accident that all times of one side are past the other's.
const MIN_EVIDENCE: usize = 8;

/// How far (in microseconds) emails of one moment may have been pushed from their time, with room to spare.
const MAX_DRIFT: i64 = 1_000_000;

/// A page that agrees with what it was asked for.
pub(super) struct CoverageUpdate {
    /// The spans that become one with the page, newest first.
    ranges: Vec<CoveredRange>,
    /// Whether the page is known to be the listing's newest, or its oldest.
    reaches: (bool, bool),
    /// The cursor's row, if the page does not hold it; it takes part in the ordering.
    cursor: Option<SortKey>,
    /// Whether the cursor stands above the page.
    is_below: bool,
    bounds: KeyBounds,
}

/// The page and the spans that it connects, as one.
pub(super) struct MergedRange {
    pub(super) range: CoveredRange,
    /// Whether no row had to move for it.
    pub(super) in_order: bool,
}

impl CoverageUpdate {
    /// `None` if the page contradicts what it was asked for. It may still hold mail, but it may also
    /// leave mail out, so that nothing is known of its neighbours.
    pub(super) fn from_page(
        change: &Transaction,
        stretch: &ListingPage,
        entries: &[IncomingEmail],
    ) -> Result<Option<Self>, Error> {
        let mut spans = coverage::load_ranges(change)?;
        let joined = match &stretch.position {
            PagePosition::Unknown => return Ok(None),
            PagePosition::Top | PagePosition::Bottom if entries.is_empty() => return Ok(None),
            PagePosition::Top | PagePosition::Bottom => None,
            PagePosition::Below { cursor, .. } | PagePosition::Above(cursor) => {
                let Some(cursor) = load_listed_key(change, cursor)? else {
                    return Ok(None);
                };
                let Some(span) = spans.iter_mut().find(|span| span.contains(cursor)) else {
                    return Ok(None);
                };
                if matches!(stretch.position, PagePosition::Below { is_end: true, .. })
                    && span.bottom < cursor
                {
                    *span = CoveredRange {
                        bottom: cursor,
                        reaches_end: false,
                        ..*span
                    };
                }
                Some((*span, cursor))
            }
        };
        let below = matches!(
            stretch.position,
            PagePosition::Top | PagePosition::Below { .. }
        );
        let listed: Vec<SortKey> = entries
            .iter()
            .filter_map(IncomingEmail::listed_key)
            .collect();
        let is_member = |span: &CoveredRange| {
            joined.is_some_and(|(joined, _)| joined.top == span.top)
                || listed.iter().any(|place| span.contains(*place))
        };
        let (members, others): (Vec<CoveredRange>, Vec<CoveredRange>) =
            spans.into_iter().partition(is_member);
        let (highest, lowest) = match (members.first(), members.last()) {
            (Some(first), Some(last)) => (first.top, last.bottom),
            _ if below => (SortKey(i64::MAX), SortKey(i64::MAX)),
            _ => (SortKey(i64::MIN), SortKey(i64::MIN)),
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
            let Some(outermost) = find_overlap(change, span, *cursor, below, entries)? else {
                return Ok(None);
            };
            if crosses || is_other_end(change, span, below, entries)? {
                return Ok(None);
            }
            near = next_listed(change, span, outermost, below)?;
        }
        // Where it ends within a span, what the span has beyond that stays beyond it.
        let mut far = None;
        if let Some(span) = if below {
            members.last()
        } else {
            members.first()
        } {
            let met = listed.iter().copied().filter(|place| span.contains(*place));
            if let Some(outermost) = if below { met.min() } else { met.max() } {
                far = next_listed(change, span, outermost, !below)?;
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
        let bounds = KeyBounds {
            ceiling: ceiling.or(over).map(|place| place.0),
            floor: floor.or(under).map(|place| place.0),
            now: SortKey::from_micros(stretch.requested.micros())
                .unwrap_or(SortKey(0))
                .0,
        };
        let ends = (
            over.is_none()
                && (stretch.position == PagePosition::Top
                    || members.iter().any(|span| span.reaches_top)),
            stretch.position == PagePosition::Bottom,
        );
        let cursor = joined
            .map(|(_, cursor)| cursor)
            .filter(|cursor| !listed.contains(cursor));
        Ok(Some(Self {
            ranges: members,
            reaches: ends,
            cursor,
            is_below: below,
            bounds,
        }))
    }

    /// Whether the page adds to what is known whole.
    pub(super) fn extends(&self, entries: &[IncomingEmail]) -> bool {
        let within = |entry: &IncomingEmail| {
            entry
                .listed_key()
                .is_some_and(|place| self.ranges.iter().any(|span| span.contains(place)))
        };
        self.ranges.len() > 1 || !entries.iter().all(within)
    }

    /// Gives the page's emails their places, moves those that stand elsewhere, and takes the spans
    /// away that are now one; returns that one, which is to be put when the rows are there.
    pub(super) fn apply(
        &self,
        change: &Transaction,
        entries: &mut [IncomingEmail],
    ) -> Result<Result<MergedRange, KeysExhausted>, Error> {
        let mut wishes: Vec<PositionHint> =
            entries.iter().map(IncomingEmail::position_hint).collect();
        if let Some(cursor) = self.cursor {
            wishes.insert(
                if self.is_below { 0 } else { wishes.len() },
                PositionHint::Existing(cursor.0),
            );
        }
        let keeps = position::longest_increasing_run(&wishes, &self.bounds);
        let leaving = |(wish, keeps): (&PositionHint, &bool)| {
            if let (PositionHint::Existing(place), false) = (wish, keeps) {
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
                renumber::key_exists(change, place)
            }
        };
        let mut places = match position::assign_keys(&wishes, keeps, &self.bounds, taken)? {
            Ok(places) => places,
            Err(no_room) => return Ok(Err(no_room)),
        };
        let had = wishes.iter().zip(&places).filter_map(|(wish, place)| {
            if let PositionHint::Existing(from) = wish {
                Some((SortKey(*from), SortKey(*place)))
            } else {
                None
            }
        });
        let moves: HashMap<SortKey, SortKey> = had.filter(|(from, to)| from != to).collect();
        let now_at = |place: SortKey| moves.get(&place).copied().unwrap_or(place);
        let edges = || {
            self.ranges
                .iter()
                .flat_map(|span| [span.top, span.bottom])
                .map(now_at)
                .chain(places.iter().copied().map(SortKey))
        };
        let top = edges().max().expect("a claim has emails or a span");
        let bottom = edges().min().expect("a claim has emails or a span");
        let ended = self
            .ranges
            .last()
            .is_some_and(|span| span.reaches_end && now_at(span.bottom) == bottom);
        let whole = CoveredRange {
            top,
            bottom,
            reaches_top: self.reaches.0,
            reaches_end: self.reaches.1 || ended,
        };
        let standing = coverage::load_ranges(change)?;
        // Most pages only confirm what is known, and then nothing is written.
        if !moves.is_empty() || !standing.contains(&whole) {
            for span in standing
                .iter()
                .filter(|span| self.ranges.iter().any(|member| member.top == span.top))
            {
                coverage::delete_range(change, span)?;
            }
            if whole.reaches_top {
                change.execute(
                    "UPDATE covered_range SET reaches_top = 0 WHERE reaches_top",
                    [],
                )?;
            }
            renumber::move_rows(change, &moves)?;
        }
        if self.cursor.is_some() {
            places.remove(if self.is_below { 0 } else { places.len() - 1 });
        }
        for (entry, place) in entries.iter_mut().zip(places) {
            entry.sort_key = SortKey(place);
        }
        Ok(Ok(MergedRange {
            range: whole,
            in_order: moves.is_empty(),
        }))
    }
}

impl IncomingEmail {
    /// Its place, if it is part of whatever span holds that.
    fn listed_key(&self) -> Option<SortKey> {
        self.existing
            .as_ref()
            .filter(|known| known.listed)
            .map(|known| known.sort_key)
    }

    fn position_hint(&self) -> PositionHint {
        match (&self.existing, self.time_key) {
            (Some(known), _) => PositionHint::Existing(known.sort_key.0),
            (None, Some(natural)) => PositionHint::ByTime(natural.0),
            (None, None) => PositionHint::Unknown,
        }
    }
}

/// How far a page reaches back over its cursor: the outermost row of the span that both hold.
///
/// A page that continues at its cursor holds nothing of the span on the cursor's other side. Some
/// services repeat a few emails, in order and without a gap; that is harmless. Anything else says
/// that the cursor was ignored, or means something else than it should: `None`.
fn find_overlap(
    change: &Transaction,
    span: &CoveredRange,
    cursor: SortKey,
    below: bool,
    entries: &[IncomingEmail],
) -> Result<Option<SortKey>, Error> {
    let beyond = |entry: &IncomingEmail| {
        entry.listed_key().filter(|place| {
            span.contains(*place)
                && if below {
                    *place >= cursor
                } else {
                    *place <= cursor
                }
        })
    };
    let repeated: Vec<SortKey> = entries.iter().filter_map(beyond).collect();
    let mut towards_cursor: Vec<&IncomingEmail> = entries.iter().collect();
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
fn next_listed(
    change: &Transaction,
    span: &CoveredRange,
    place: SortKey,
    above: bool,
) -> Result<Option<SortKey>, Error> {
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
fn is_other_end(
    change: &Transaction,
    span: &CoveredRange,
    below: bool,
    entries: &[IncomingEmail],
) -> Result<bool, Error> {
    let is_past = |time: i64| {
        if below {
            time > span.top.micros() + MAX_DRIFT
        } else {
            time < span.bottom.micros() - MAX_DRIFT
        }
    };
    if entries.len() < MIN_EVIDENCE
        || !entries
            .iter()
            .all(|entry| entry.time_key.map(SortKey::micros).is_some_and(is_past))
    {
        return Ok(false);
    }
    let telling = i64::try_from(MIN_EVIDENCE).unwrap_or(i64::MAX);
    let rows: i64 = change
        .prepare_cached(COUNT_LISTED)?
        .query_row(params![span.bottom, span.top, telling], |row| row.get(0))?;
    Ok(rows == telling)
}

/// The place of an email that a page has held.
fn load_listed_key(change: &Transaction, id: &EmailId) -> Result<Option<SortKey>, Error> {
    let sql = "SELECT sort_key FROM mail WHERE id = ?1 AND listed";
    Ok(change
        .prepare_cached(sql)?
        .query_row([id_codec::encode_id(id.as_str())], |row| row.get(0))
        .optional()?)
}
