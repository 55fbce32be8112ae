//! Where emails stand: gives places to a stretch of the service's listing.
//!
//! The archive keeps the list in one integer key, so that a window is one walk down a tree. That
//! key has to serve two masters. *The service's order* is the order of its pages and nothing else:
//! `created_at` may be missing, unreadable, equal for a whole broadcast, or contradict the pages.
//! *Time* is all that relates emails which never stood on one page: two sides of a gap, an import, a
//! jump to a date.
//!
//! So an email's natural [`Place`] is its time, in microseconds with ten bits of room below, and
//! pages have the last word:
//!
//! - Of a stretch, the longest run of emails whose times (or places, if they are known already)
//!   agree with the page keeps them. One absurd time then displaces itself and not its neighbours,
//!   and an email that was misplaced at the edge of a page is put right by the next page that shows
//!   it between others; the cursor's row takes part for that reason.
//! - The others go right below their upper neighbour, a sixteenth of a microsecond apart. Equal
//!   times are a case of this.
//! - A stretch stays between its neighbours: below the part of the span it continues and above the
//!   next span, so that spans never overlap. Emails without readable times that stand above a gap take
//!   the time they were seen at, which leaves room for what the gap hides.
//! - Where there is no room, the rows underneath are moved down. A row is never refused a place.
//!
//! Which end of a page is the newest is decided before ([`crate::sync`]): the places only know one
//! direction.
//!
//! [`Place`]: super::Place

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use rusqlite::{Transaction, params};

use super::sort_key::SortKey;
use crate::archive::incoming::IncomingEmail;
use crate::error::Error;

/// How far apart emails stand that have no time of their own.
const KEY_SPACING: i64 = 64;

/// What is known of an email's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PositionHint {
    /// It is in the archive, there.
    Existing(i64),
    /// It is new, and its time would put it there.
    ByTime(i64),
    /// It is new, and its time says nothing.
    Unknown,
}

impl PositionHint {
    const fn key(self) -> Option<i64> {
        match self {
            Self::Existing(at) | Self::ByTime(at) => Some(at),
            Self::Unknown => None,
        }
    }
}

/// What a stretch must stay between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyBounds {
    /// Below this place, if anything is above.
    pub(crate) ceiling: Option<i64>,
    /// Above this place, if anything is below.
    pub(crate) floor: Option<i64>,
    /// Where emails stand that nothing else puts anywhere.
    pub(crate) now: i64,
}

impl KeyBounds {
    fn contain(&self, at: i64) -> bool {
        self.ceiling.is_none_or(|ceiling| at < ceiling) && self.floor.is_none_or(|floor| at > floor)
    }
}

/// There are not `need` free places under `under`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeysExhausted {
    pub(crate) below: i64,
    pub(crate) count: usize,
}

/// Which emails of a stretch (newest first) keep their place: the longest strictly falling run.
pub(crate) fn longest_increasing_run(hints: &[PositionHint], bounds: &KeyBounds) -> Vec<bool> {
    let at = |index: usize| {
        hints[index]
            .key()
            .expect("only emails with a place are in a run")
    };
    // Of all runs of each length, where the one ends that is easiest to continue.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; hints.len()];
    for (index, hint) in hints.iter().enumerate() {
        let Some(key) = hint.key().filter(|key| bounds.contain(*key)) else {
            continue;
        };
        let length = ends.partition_point(|end| at(*end) > key);
        before[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            // Of equal times the first one stands for all, and the others follow below it.
            Some(end) if at(*end) == key => {}
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut in_run = vec![false; hints.len()];
    let mut next = ends.last().copied();
    while let Some(index) = next {
        in_run[index] = true;
        next = before[index];
    }
    in_run
}

/// Gives every email of a stretch a place, strictly falling, none of them `taken` by another.
pub(crate) fn assign_keys(
    hints: &[PositionHint],
    mut in_run: Vec<bool>,
    bounds: &KeyBounds,
    mut is_taken: impl FnMut(i64) -> Result<bool, Error>,
) -> Result<Result<Vec<i64>, KeysExhausted>, Error> {
    loop {
        match try_assign(hints, &in_run, bounds, &mut is_taken)? {
            Assignment::Done(keys) => return Ok(Ok(keys)),
            Assignment::Exhausted(no_room) => return Ok(Err(no_room)),
            Assignment::Blocked(index) => in_run[index] = false,
        }
    }
}

enum Assignment {
    Done(Vec<i64>),
    Exhausted(KeysExhausted),
    /// Everything from this email's natural place down to its lower neighbour is taken.
    Blocked(usize),
}

fn try_assign(
    hints: &[PositionHint],
    in_run: &[bool],
    bounds: &KeyBounds,
    is_taken: &mut impl FnMut(i64) -> Result<bool, Error>,
) -> Result<Assignment, Error> {
    let fixed = |from: usize| (from..hints.len()).find(|index| in_run[*index]);
    let mut keys = Vec::with_capacity(hints.len());
    let mut above = bounds.ceiling;
    while keys.len() < hints.len() {
        let first = keys.len();
        let next = fixed(first);
        let count = next.unwrap_or(hints.len()) - first;
        let neighbour = next.and_then(|index| hints[index].key());
        let below = neighbour.or(bounds.floor);
        if count > 0 {
            let start = above.unwrap_or_else(|| start_key(count, neighbour, bounds));
            let spacing = below.map_or(KEY_SPACING, |below| {
                (start.saturating_sub(below) / (to_i64(count) + 1)).min(KEY_SPACING)
            });
            match free_keys_below(start, below, spacing, count, is_taken)? {
                Some(run) => keys.extend(run),
                None => match free_keys_below(start, below, 1, count, is_taken)? {
                    Some(run) => keys.extend(run),
                    None => {
                        return Ok(Assignment::Exhausted(KeysExhausted {
                            below: start,
                            count,
                        }));
                    }
                },
            }
        }
        let Some(index) = next else { break };
        let key = match hints[index] {
            PositionHint::Existing(key) => Some(key),
            PositionHint::ByTime(key) => {
                let below = fixed(index + 1)
                    .and_then(|index| hints[index].key())
                    .or(bounds.floor);
                free_keys_below(key + 1, below, 1, 1, is_taken)?.map(|run| run[0])
            }
            PositionHint::Unknown => None,
        };
        let Some(key) = key else {
            return Ok(Assignment::Blocked(index));
        };
        keys.push(key);
        above = Some(key);
    }
    Ok(Assignment::Done(keys))
}

/// One above the first of `count` emails that have nothing above them: right above a neighbour on
/// the same page, and else at the present time.
fn start_key(count: usize, neighbour: Option<i64>, bounds: &KeyBounds) -> i64 {
    let height = KEY_SPACING * (to_i64(count) + 1);
    match (neighbour, bounds.floor) {
        (Some(neighbour), _) => neighbour.saturating_add(height),
        (None, Some(floor)) => bounds.now.max(floor.saturating_add(height)),
        (None, None) => bounds.now,
    }
}

/// Free places below `start`, each at least `step` below the one before; `None` if `floor` is met.
fn free_keys_below(
    start: i64,
    floor: Option<i64>,
    step: i64,
    count: usize,
    is_taken: &mut impl FnMut(i64) -> Result<bool, Error>,
) -> Result<Option<Vec<i64>>, Error> {
    let mut run = Vec::with_capacity(count);
    let mut key = start;
    while run.len() < count {
        key = key.saturating_sub(step.max(1));
        while floor.is_none_or(|floor| key > floor) && is_taken(key)? {
            key -= 1;
        }
        if floor.is_some_and(|floor| key <= floor) {
            return Ok(None);
        }
        run.push(key);
    }
    Ok(Some(run))
}

fn to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX / (2 * KEY_SPACING))
}

/// How many more places than needed are made, so that the next email in the same spot fits at once.
const SLACK: i64 = 1024;

pub(crate) const KEY_EXISTS: &str = "SELECT EXISTS (SELECT 1 FROM mail WHERE sort_key = ?1)";
pub(crate) const KEYS_BELOW: &str =
    "SELECT sort_key FROM mail WHERE sort_key > ?1 ORDER BY sort_key";
const MOVE: &str = "UPDATE mail SET sort_key = ?2 WHERE sort_key = ?1";

/// Whether a row stands at `place`.
pub(crate) fn key_exists(transaction: &Transaction, key: i64) -> Result<bool, Error> {
    Ok(transaction
        .prepare_cached(KEY_EXISTS)?
        .query_row([SortKey(key)], |row| row.get(0))?)
}

/// Moves rows from their old places to their new ones, whatever order they cross each other in.
/// What belongs to a row (body, observed changes, the end of a span) follows it.
pub(crate) fn move_rows(
    transaction: &Transaction,
    moves: &HashMap<SortKey, SortKey>,
) -> Result<(), Error> {
    let mut statement = transaction.prepare_cached(MOVE)?;
    for (backup, from) in temporary_keys().zip(moves.keys()) {
        statement.execute(params![from, backup])?;
    }
    for (backup, to) in temporary_keys().zip(moves.values()) {
        statement.execute(params![backup, to])?;
    }
    Ok(())
}

/// Places that no email has, for rows on their way.
fn temporary_keys() -> impl Iterator<Item = SortKey> {
    (i64::MIN + 1..).map(SortKey)
}

/// Moves down as many rows as it takes to leave free what is asked for.
pub(crate) fn renumber(
    transaction: &Transaction,
    KeysExhausted { below, count }: KeysExhausted,
) -> Result<(), Error> {
    let count = i64::try_from(count)
        .unwrap_or(i64::MAX)
        .saturating_add(SLACK);
    let mut free = below.saturating_sub(count);
    let mut moves = Vec::new();
    {
        let mut statement = transaction.prepare_cached(KEYS_BELOW)?;
        let mut rows = statement.query([SortKey(below)])?;
        while let Some(row) = rows.next()? {
            let SortKey(key) = row.get(0)?;
            free -= 1;
            if key <= free {
                break;
            }
            moves.push((key, free));
        }
    }
    // From the lowest on, each moves to where nobody stands any more.
    let mut statement = transaction.prepare_cached(MOVE)?;
    for (from, to) in moves.iter().rev() {
        statement.execute(params![SortKey(*from), SortKey(*to)])?;
    }
    Ok(())
}

/// Gives new emails their natural places, and those without one the place below the email before.
pub(crate) fn assign_time_keys(
    transaction: &Transaction,
    emails: &mut [IncomingEmail],
    now: Timestamp,
) -> Result<(), Error> {
    // Emails of one moment, a whole broadcast perhaps, must not each look for room from its start on.
    let mut last: Option<(SortKey, SortKey)> = None;
    let mut given = HashSet::new();
    let now = SortKey::from_micros(now.as_microsecond()).unwrap_or(SortKey(0));
    for email in emails {
        if let Some(known) = &email.existing {
            email.sort_key = known.sort_key;
            continue;
        }
        let start = match (email.time_key, last) {
            (Some(time_key), Some((before, key))) if time_key == before => SortKey(key.0 - 1),
            (Some(time_key), _) => time_key,
            (None, Some((_, key))) => SortKey(key.0 - 1),
            (None, None) => now,
        };
        let mut key = start;
        while given.contains(&key) || key_exists(transaction, key.0)? {
            key.0 -= 1;
        }
        given.insert(key);
        email.sort_key = key;
        last = Some((email.time_key.unwrap_or(key), key));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const OPEN: KeyBounds = KeyBounds {
        ceiling: None,
        floor: None,
        now: 1_000_000,
    };

    fn arranged(hints: &[PositionHint], bounds: &KeyBounds) -> Vec<i64> {
        assign_keys(hints, longest_increasing_run(hints, bounds), bounds, |_| {
            Ok(false)
        })
        .unwrap()
        .unwrap()
    }

    #[test]
    fn agreeing_times_are_the_places() {
        let hints = [
            PositionHint::ByTime(9000),
            PositionHint::Existing(8000),
            PositionHint::ByTime(7000),
        ];
        assert_eq!(arranged(&hints, &OPEN), [9000, 8000, 7000]);
    }

    #[test]
    fn one_absurd_time_displaces_itself_only() {
        let hints = [
            PositionHint::ByTime(9000),
            PositionHint::ByTime(-50),
            PositionHint::ByTime(8000),
            PositionHint::ByTime(1 << 60),
            PositionHint::ByTime(7000),
        ];
        assert_eq!(arranged(&hints, &OPEN), [9000, 8936, 8000, 7936, 7000]);
    }

    #[test]
    fn equal_times_follow_the_first() {
        assert_eq!(
            arranged(
                &[
                    PositionHint::ByTime(9000),
                    PositionHint::ByTime(9000),
                    PositionHint::ByTime(9000)
                ],
                &OPEN
            ),
            [9000, 8936, 8872]
        );
        let tight = KeyBounds {
            floor: Some(8990),
            ..OPEN
        };
        assert_eq!(
            arranged(
                &[
                    PositionHint::ByTime(9000),
                    PositionHint::ByTime(9000),
                    PositionHint::ByTime(9000)
                ],
                &tight
            ),
            [9000, 8997, 8994]
        );
    }

    #[test]
    fn without_times_the_present_leaves_room_for_a_gap() {
        assert_eq!(
            arranged(&[PositionHint::Unknown; 2], &OPEN),
            [999_936, 999_872]
        );
        let known = [PositionHint::Unknown, PositionHint::Existing(500)];
        assert_eq!(
            arranged(&known, &OPEN),
            [564, 500],
            "next to a row of the same page there is no gap"
        );
        let late = KeyBounds {
            floor: Some(2_000_000),
            ..OPEN
        };
        assert!(
            arranged(&[PositionHint::Unknown; 2], &late)
                .iter()
                .all(|key| *key > 2_000_000)
        );
    }

    #[test]
    fn no_room_is_said_and_not_guessed() {
        let tight = KeyBounds {
            ceiling: Some(12),
            floor: Some(9),
            ..OPEN
        };
        let hints = [PositionHint::Unknown; 3];
        let outcome = assign_keys(
            &hints,
            longest_increasing_run(&hints, &tight),
            &tight,
            |_| Ok(false),
        )
        .unwrap();
        assert_eq!(
            outcome,
            Err(KeysExhausted {
                below: 12,
                count: 3
            })
        );
    }

    fn hint() -> impl Strategy<Value = PositionHint> {
        prop_oneof![
            (0..2000_i64).prop_map(PositionHint::ByTime),
            (0..20_i64).prop_map(|at| PositionHint::ByTime(at * 100)),
            Just(PositionHint::Unknown)
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn places_fall_within_bounds_and_take_nobody_s(
            hints in prop::collection::vec(hint(), 1..40),
            is_taken in prop::collection::hash_set(0..2000_i64, 0..200),
            bounds in (0..1000_i64, 1000..2000_i64, any::<bool>(), any::<bool>()),
        ) {
            let (floor, ceiling, floored, capped) = bounds;
            let bounds = KeyBounds { ceiling: capped.then_some(ceiling), floor: floored.then_some(floor), now: 1500 };
            let in_run = longest_increasing_run(&hints, &bounds);
            let outcome = assign_keys(&hints, in_run, &bounds, |key| Ok(is_taken.contains(&key))).unwrap();
            let Ok(keys) = outcome else { return Ok(()) };
            prop_assert_eq!(keys.len(), hints.len());
            prop_assert!(keys.is_sorted_by(|above, below| above > below));
            prop_assert!(keys.iter().all(|key| bounds.contain(*key)));
            prop_assert!(keys.iter().copied().collect::<HashSet<_>>().is_disjoint(&is_taken));
        }
    }
}
