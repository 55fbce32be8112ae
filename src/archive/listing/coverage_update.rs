//! The facts that a page proves about the listing:
//! which covered ranges it joins, and between which rows it lies.
//!
//! Invariants: a range never covers an email that is absent, and ranges never overlap. A page that
//! contradicts its cursor proves nothing. The update is computed before the rows are stored
//! ([`super::merge`]) and written in the same transaction.
//!
//! In SQL a newer email has the *smaller* sort key, because the tables store keys negated
//! ([`super::SortKey`]): "above" is `<` there and `>` in Rust.

use std::collections::{HashMap, HashSet};

use super::coverage::{self, CoveredRange, ListingPage, PagePosition};
use super::position::{self, KeyBounds, KeysExhausted, PositionHint};
use super::{Direction, SortKey};
use crate::archive::incoming::IncomingEmail;
use crate::archive::storage::db::Transaction;
use crate::error::Result;

/// With this many emails on either side it is not an accident that all times of one
/// side are past the other's.
const MIN_EVIDENCE: usize = 8;

/// How far (in microseconds) emails of one time may have been moved from it,
/// with a margin.
const MAX_DRIFT: i64 = 1_000_000;

impl Direction {
    /// Returns the key that lies furthest in this direction.
    fn outermost(self, keys: impl Iterator<Item = SortKey>) -> Option<SortKey> {
        match self {
            Self::Newer => keys.max(),
            Self::Older => keys.min(),
        }
    }

    /// Returns the end of the range in this direction.
    pub(super) const fn end_of(self, range: &CoveredRange) -> SortKey {
        match self {
            Self::Newer => range.top,
            Self::Older => range.bottom,
        }
    }

    /// Returns the outermost range in this direction, of ranges that are sorted newest
    /// first.
    fn last(self, ranges: &[CoveredRange]) -> Option<&CoveredRange> {
        match self {
            Self::Newer => ranges.first(),
            Self::Older => ranges.last(),
        }
    }
}

/// A page that is consistent with its request.
pub(crate) struct CoverageUpdate {
    /// The ranges that the page joins, newest first.
    ranges: Vec<CoveredRange>,
    reaches_top: bool,
    reaches_end: bool,
    /// The row of the cursor if the page does not contain it;
    /// it takes part in the ordering.
    cursor: Option<SortKey>,
    /// In which direction of its cursor the page lies.
    side: Direction,
    bounds: KeyBounds,
}

/// The facts that a page proves about the listing once its emails have keys.
#[derive(Default)]
pub(crate) struct PlacedPage {
    /// The page and the ranges that it joins, as one; `None` if it proves nothing.
    pub(crate) range: Option<CoveredRange>,
    /// Whether more is covered than before.
    pub(crate) extended: bool,
    /// Whether the page agrees with the known order, so that no row had to move for it.
    pub(crate) in_order: bool,
}

impl CoverageUpdate {
    /// Compares a page with its request; `None` if they contradict each other.
    ///
    /// Such a page may still contain mail, but it may also leave mail out, so it proves nothing
    /// about neighbours.
    pub(crate) fn from_page(
        tx: &Transaction,
        page: &ListingPage,
        emails: &[IncomingEmail],
    ) -> Result<Option<Self>> {
        let mut ranges = coverage::load_ranges(tx)?;
        let Ok(joined) = find_cursor(tx, page, emails, &mut ranges)? else {
            return Ok(None);
        };
        let side = match page.position {
            PagePosition::Top | PagePosition::Below { .. } => Direction::Older,
            _ => Direction::Newer,
        };
        let listed = emails.iter().filter_map(IncomingEmail::listed_key);
        let listed: Vec<SortKey> = listed.collect();
        let is_member = |range: &CoveredRange| {
            joined.is_some_and(|(joined, _)| joined.top == range.top)
                || listed.iter().any(|key| range.contains(*key))
        };
        let (members, others): (Vec<CoveredRange>, Vec<CoveredRange>) =
            ranges.into_iter().partition(is_member);
        // Where the page begins: next to its cursor, or to the rows that it repeats around that.
        let mut near = None;
        if let Some((range, cursor)) = &joined {
            let back = side.reverse();
            // A page below the cursor cannot contain a row of a range above the cursor's.
            let crosses =
                back.last(&members).map(|range| back.end_of(range)) != Some(back.end_of(range));
            let Some(outermost) = find_overlap(tx, range, *cursor, side, emails)? else {
                return Ok(None);
            };
            if crosses || is_other_end(tx, range, side, emails)? {
                return Ok(None);
            }
            near = next_listed(tx, range, outermost, back)?;
        }
        // Where it ends within a range, the rest of that range stays beyond it.
        let mut far = None;
        if let Some(range) = side.last(&members) {
            let contained = listed.iter().copied().filter(|key| range.contains(*key));
            if let Some(outermost) = side.outermost(contained) {
                far = next_listed(tx, range, outermost, side)?;
            }
        }
        let (ceiling, floor) = match side {
            Direction::Older => (near, far),
            Direction::Newer => (far, near),
        };
        let (next_above, next_below) = find_neighbours(&members, &others, side);
        let now = SortKey::from_micros(page.requested.micros()).unwrap_or(SortKey(0));
        Ok(Some(Self {
            reaches_top: next_above.is_none()
                && (page.position == PagePosition::Top
                    || members.iter().any(|range| range.reaches_top)),
            reaches_end: page.position == PagePosition::Bottom,
            ranges: members,
            cursor: joined
                .map(|(_, cursor)| cursor)
                .filter(|cursor| !listed.contains(cursor)),
            side,
            bounds: KeyBounds {
                ceiling: ceiling.or(next_above).map(|key| key.0),
                floor: floor.or(next_below).map(|key| key.0),
                now: now.0,
            },
        }))
    }

    /// Whether the page adds to what is covered.
    fn extends(&self, emails: &[IncomingEmail]) -> bool {
        let is_covered = |email: &IncomingEmail| {
            email
                .listed_key()
                .is_some_and(|key| self.ranges.iter().any(|range| range.contains(key)))
        };
        self.ranges.len() > 1 || !emails.iter().all(is_covered)
    }

    /// Assigns keys to the page's emails, moves rows that contradict its order,
    /// and deletes the ranges that it joins.
    ///
    /// Returns the joined range, which is inserted once the rows exist. If the keys are exhausted
    /// it writes nothing; the caller renumbers, loads the existing rows again, and calls
    /// `from_page` again.
    pub(crate) fn apply(
        &self,
        tx: &Transaction,
        emails: &mut [IncomingEmail],
    ) -> Result<Result<PlacedPage, KeysExhausted>> {
        let mut hints: Vec<PositionHint> =
            emails.iter().map(IncomingEmail::position_hint).collect();
        let cursor_index = if self.side == Direction::Older {
            0
        } else {
            hints.len()
        };
        if let Some(cursor) = self.cursor {
            hints.insert(cursor_index, PositionHint::Existing(cursor.0));
        }
        let in_run = position::longest_decreasing_run(&hints, &self.bounds);
        let leaving = |(hint, in_run): (&PositionHint, &bool)| match (hint, in_run) {
            (PositionHint::Existing(key), false) => Some(*key),
            _ => None,
        };
        let leaving: HashSet<i64> = hints.iter().zip(&in_run).filter_map(leaving).collect();
        let is_taken = |key| Ok(!leaving.contains(&key) && position::key_exists(tx, key)?);
        let mut keys = match position::assign_keys(&hints, in_run, &self.bounds, is_taken)? {
            Ok(keys) => keys,
            Err(exhausted) => return Ok(Err(exhausted)),
        };
        let moved = |(hint, key): (&PositionHint, &i64)| match hint {
            PositionHint::Existing(from) if from != key => Some((SortKey(*from), SortKey(*key))),
            _ => None,
        };
        let moves: HashMap<SortKey, SortKey> = hints.iter().zip(&keys).filter_map(moved).collect();
        let range = self.joined_range(&moves, &keys);
        let current = coverage::load_ranges(tx)?;
        // Most pages only confirm what is known, and then nothing is written.
        if !moves.is_empty() || !current.contains(&range) {
            for range in &current {
                if self.ranges.iter().any(|member| member.top == range.top) {
                    coverage::delete_range(tx, range)?;
                }
            }
            if range.reaches_top {
                let query = "UPDATE covered_range SET reaches_top = 0 WHERE reaches_top = 1";
                tx.execute(query, [])?;
            }
            position::move_rows(tx, &moves)?;
        }
        if self.cursor.is_some() {
            keys.remove(cursor_index);
        }
        for (email, key) in emails.iter_mut().zip(keys) {
            email.sort_key = SortKey(key);
        }
        Ok(Ok(PlacedPage {
            range: Some(range),
            extended: self.extends(emails),
            in_order: moves.is_empty(),
        }))
    }

    fn joined_range(&self, moves: &HashMap<SortKey, SortKey>, keys: &[i64]) -> CoveredRange {
        let moved = |key: SortKey| moves.get(&key).copied().unwrap_or(key);
        let ends = || {
            let ends = self
                .ranges
                .iter()
                .flat_map(|range| [range.top, range.bottom]);
            ends.map(moved).chain(keys.iter().copied().map(SortKey))
        };
        let bottom = ends().min().expect("an update has emails or a range");
        let last = self.ranges.last();
        CoveredRange {
            top: ends().max().expect("an update has emails or a range"),
            bottom,
            reaches_top: self.reaches_top,
            reaches_end: self.reaches_end
                || last.is_some_and(|last| last.reaches_end && moved(last.bottom) == bottom),
        }
    }
}

impl IncomingEmail {
    /// Returns its key if it is part of the range around that.
    fn listed_key(&self) -> Option<SortKey> {
        let existing = self.existing.as_ref().filter(|existing| existing.listed);
        existing.map(|existing| existing.sort_key)
    }

    fn position_hint(&self) -> PositionHint {
        match (&self.existing, self.time_key) {
            (Some(existing), _) => PositionHint::Existing(existing.sort_key.0),
            (None, Some(time_key)) => PositionHint::ByTime(time_key.0),
            (None, None) => PositionHint::Unknown,
        }
    }
}

/// The cursor of a page did not lead to its position.
struct UnknownPosition;

/// Finds the row of the page's cursor and the range around it,
/// if the page has a cursor.
///
/// If the service no longer has the rows below the cursor, the range ends there: only its `bottom`
/// changes, because `apply` identifies a range by its `top`.
fn find_cursor(
    tx: &Transaction,
    page: &ListingPage,
    emails: &[IncomingEmail],
    ranges: &mut [CoveredRange],
) -> Result<Result<Option<(CoveredRange, SortKey)>, UnknownPosition>> {
    let (id, is_end) = match &page.position {
        PagePosition::Unknown => return Ok(Err(UnknownPosition)),
        PagePosition::Top | PagePosition::Bottom if emails.is_empty() => {
            return Ok(Err(UnknownPosition));
        }
        PagePosition::Top | PagePosition::Bottom => return Ok(Ok(None)),
        PagePosition::Below { cursor, is_end } => (cursor, *is_end),
        PagePosition::Above(cursor) => (cursor, false),
    };
    let Some(cursor) = coverage::find_listed(tx, id)? else {
        return Ok(Err(UnknownPosition));
    };
    let Some(range) = ranges.iter_mut().find(|range| range.contains(cursor)) else {
        return Ok(Err(UnknownPosition));
    };
    if is_end && range.bottom < cursor {
        range.bottom = cursor;
        range.reaches_end = false;
    }
    Ok(Ok(Some((*range, cursor))))
}

/// Finds how far a page reaches back over its cursor:
/// the outermost row of the range that both contain.
///
/// A page that continues at its cursor contains nothing on the cursor's other side. Some services
/// repeat a few emails, in order and without a gap; that is harmless. Anything else means that the
/// service ignored the cursor or gave it another meaning: `None`.
fn find_overlap(
    tx: &Transaction,
    range: &CoveredRange,
    cursor: SortKey,
    side: Direction,
    emails: &[IncomingEmail],
) -> Result<Option<SortKey>> {
    let repeated_key = |email: &IncomingEmail| {
        let key = email.listed_key();
        key.filter(|key| range.contains(*key) && !side.precedes(cursor, *key))
    };
    let repeated: Vec<SortKey> = emails.iter().filter_map(repeated_key).collect();
    let mut from_cursor: Vec<&IncomingEmail> = emails.iter().collect();
    if side == Direction::Newer {
        from_cursor.reverse();
    }
    if !from_cursor
        .iter()
        .take(repeated.len())
        .all(|email| repeated_key(email).is_some())
    {
        return Ok(None);
    }
    let Some(outermost) = side.reverse().outermost(repeated.iter().copied()) else {
        return Ok(Some(cursor));
    };
    let count = u32::try_from(repeated.len()).unwrap_or(u32::MAX - 1);
    let (top, bottom) = (cursor.max(outermost), cursor.min(outermost));
    let between = coverage::count_listed(tx, top, bottom, count + 1)?;
    Ok((between == count).then_some(outermost))
}

/// Finds the nearest ends of `others` above and below `members`;
/// without members, those next to the end of the list where the page begins.
fn find_neighbours(
    members: &[CoveredRange],
    others: &[CoveredRange],
    side: Direction,
) -> (Option<SortKey>, Option<SortKey>) {
    let (highest, lowest) = match (members.first(), members.last()) {
        (Some(first), Some(last)) => (first.top, last.bottom),
        _ => [side.reverse().end(); 2].into(),
    };
    let above = others.iter().map(|range| range.bottom);
    let below = others.iter().map(|range| range.top);
    (
        above.filter(|bottom| *bottom > highest).min(),
        below.filter(|top| *top < lowest).max(),
    )
}

/// Returns the next row of the range on this side of `key`.
fn next_listed(
    tx: &Transaction,
    range: &CoveredRange,
    key: SortKey,
    side: Direction,
) -> Result<Option<SortKey>> {
    match side {
        Direction::Newer => coverage::oldest_listed(tx, range.top, key.next_newer()),
        Direction::Older => coverage::newest_listed(tx, key.next_older(), range.bottom),
    }
}

/// Whether all times of a page show that it comes from the other end of the
/// listing.
///
/// Such a page lies below a range and is newer than all of it, or above it and older. Few emails
/// prove nothing: a service may list its mail in an order unrelated to time.
fn is_other_end(
    tx: &Transaction,
    range: &CoveredRange,
    side: Direction,
    emails: &[IncomingEmail],
) -> Result<bool> {
    let is_past = |time: i64| match side {
        Direction::Older => time > range.top.micros() + MAX_DRIFT,
        Direction::Newer => time < range.bottom.micros() - MAX_DRIFT,
    };
    let is_past = |email: &IncomingEmail| email.time_key.map(SortKey::micros).is_some_and(is_past);
    if emails.len() < MIN_EVIDENCE || !emails.iter().all(is_past) {
        return Ok(false);
    }
    let enough = u32::try_from(MIN_EVIDENCE).unwrap_or(u32::MAX);
    Ok(coverage::count_listed(tx, range.top, range.bottom, enough)? == enough)
}
