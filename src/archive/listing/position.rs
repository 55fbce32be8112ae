//! Assigns sort keys to a page of the service's listing.
//!
//! The archive orders the list by one integer key, so that a window is one index scan. The key
//! combines two orders. *The service's order* is the order of its pages: `created_at` may be
//! missing, unreadable, equal for a whole broadcast, or contradict the pages. *Time* is all that
//! relates emails which were never on one page: two sides of a gap, an import, a jump to a date.
//!
//! So an email's time gives its key, in microseconds with ten bits below, and pages override it:
//!
//! - On a page, the longest run of emails whose times (or existing keys) agree with the page keeps them.
//!   One absurd time then moves itself and not its neighbours, and an email that was misplaced at the edge
//!   of a page is corrected by the next page that has it between others; so the cursor's row takes part.
//! - The others get keys right below their upper neighbour, a sixteenth of a microsecond apart. Equal
//!   times are a case of this.
//! - A page stays between its neighbours: below the part of the range that it continues and above the next
//!   range, so that ranges never overlap. Emails without readable times above a gap take the time at which
//!   they were received, which leaves keys for the emails of the gap.
//! - Where keys are exhausted, the rows below are renumbered. A row always gets a key.
//!
//! The caller has put the newest email of a page first ([`crate::sync`]).

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::SortKey;
use crate::archive::incoming::IncomingEmail;
use crate::archive::storage::db::{Transaction, params};
use crate::error::Result;

/// The distance between emails without a time of their own.
const KEY_SPACING: i64 = 64;

/// The key of an email, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PositionHint {
    /// The row exists and has this key.
    Existing(i64),
    /// It is new, and its time gives this key.
    ByTime(i64),
    /// It is new and has no usable time.
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

#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyBounds {
    /// The page stays below this key.
    pub(crate) ceiling: Option<i64>,
    /// The page stays above this key.
    pub(crate) floor: Option<i64>,
    /// The key for emails that have no time and no neighbours.
    pub(crate) now: i64,
}

impl KeyBounds {
    fn contain(&self, at: i64) -> bool {
        self.ceiling.is_none_or(|ceiling| at < ceiling) && self.floor.is_none_or(|floor| at > floor)
    }
}

/// There are not `count` free keys below `below`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeysExhausted {
    pub(crate) below: i64,
    pub(crate) count: usize,
}

/// Selects the emails (newest first) that keep their key:
/// the longest run in which each is older than the one before.
pub(crate) fn longest_decreasing_run(hints: &[PositionHint], bounds: &KeyBounds) -> Vec<bool> {
    let at = |index: usize| {
        hints[index]
            .key()
            .expect("only emails with a key are in a run")
    };
    // For each length, the end of the run that is easiest to continue.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; hints.len()];
    for (index, hint) in hints.iter().enumerate() {
        let Some(key) = hint.key().filter(|key| bounds.contain(*key)) else {
            continue;
        };
        let length = ends.partition_point(|end| at(*end) > key);
        before[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            // Of equal times the first one keeps it, and the others follow below.
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

/// Assigns every email a key, strictly decreasing, none of them taken by another
/// row.
pub(crate) fn assign_keys(
    hints: &[PositionHint],
    mut in_run: Vec<bool>,
    bounds: &KeyBounds,
    mut is_taken: impl FnMut(i64) -> Result<bool>,
) -> Result<Result<Vec<i64>, KeysExhausted>> {
    let mut keys = Vec::with_capacity(hints.len());
    let mut above = bounds.ceiling;
    while keys.len() < hints.len() {
        let fixed = |from: usize| (from..hints.len()).find(|index| in_run[*index]);
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
            let mut run = free_keys_below(start, below, spacing, count, &mut is_taken)?;
            if run.is_none() {
                run = free_keys_below(start, below, 1, count, &mut is_taken)?;
            }
            let Some(run) = run else {
                let below = start;
                return Ok(Err(KeysExhausted { below, count }));
            };
            keys.extend(run);
        }
        let Some(index) = next else { break };
        let key = match hints[index] {
            PositionHint::Existing(key) => Some(key),
            PositionHint::ByTime(key) => {
                let below = fixed(index + 1)
                    .and_then(|index| hints[index].key())
                    .or(bounds.floor);
                free_keys_below(key + 1, below, 1, 1, &mut is_taken)?.map(|run| run[0])
            }
            PositionHint::Unknown => None,
        };
        let Some(key) = key else {
            // Every key from its time down to its lower neighbour is taken: once more without it.
            in_run[index] = false;
            keys.clear();
            above = bounds.ceiling;
            continue;
        };
        keys.push(key);
        above = Some(key);
    }
    Ok(Ok(keys))
}

/// Returns the key above the first of `count` emails that have nothing above them:
/// right above a neighbour on the same page, else the present time.
fn start_key(count: usize, neighbour: Option<i64>, bounds: &KeyBounds) -> i64 {
    let height = KEY_SPACING * (to_i64(count) + 1);
    match (neighbour, bounds.floor) {
        (Some(neighbour), _) => neighbour.saturating_add(height),
        (None, Some(floor)) => bounds.now.max(floor.saturating_add(height)),
        (None, None) => bounds.now,
    }
}

/// Finds free keys below `start`, at least `step` apart;
/// `None` if `floor` is reached.
fn free_keys_below(
    start: i64,
    floor: Option<i64>,
    step: i64,
    count: usize,
    is_taken: &mut impl FnMut(i64) -> Result<bool>,
) -> Result<Option<Vec<i64>>> {
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

/// Additional keys that a renumbering frees, so that the next email fits at once.
const SLACK: i64 = 1024;

pub(crate) const KEY_EXISTS: &str = "SELECT EXISTS (SELECT 1 FROM mail WHERE sort_key = ?1)";
pub(crate) const KEYS_BELOW: &str =
    "SELECT sort_key FROM mail WHERE sort_key > ?1 ORDER BY sort_key";
const MOVE: &str = "UPDATE mail SET sort_key = ?2 WHERE sort_key = ?1";

pub(crate) fn key_exists(tx: &Transaction, key: i64) -> Result<bool> {
    tx.value(KEY_EXISTS, [SortKey(key)])
}

/// Moves rows to new keys, in whatever order they cross.
/// The data of a row (body, status history, the end of a range) follows it.
pub(crate) fn move_rows(tx: &Transaction, moves: &HashMap<SortKey, SortKey>) -> Result<()> {
    let mut statement = tx.prepare_cached(MOVE)?;
    for (backup, from) in temporary_keys().zip(moves.keys()) {
        statement.execute(params![from, backup])?;
    }
    for (backup, to) in temporary_keys().zip(moves.values()) {
        statement.execute(params![backup, to])?;
    }
    Ok(())
}

/// Keys that no email has, for rows that are moved.
fn temporary_keys() -> impl Iterator<Item = SortKey> {
    (i64::MIN + 1..).map(SortKey)
}

/// Moves down as many rows as needed to free the keys.
pub(crate) fn renumber(
    tx: &Transaction,
    KeysExhausted { below, count }: KeysExhausted,
) -> Result<()> {
    let count = i64::try_from(count)
        .unwrap_or(i64::MAX)
        .saturating_add(SLACK);
    let mut free = below.saturating_sub(count);
    let mut moves = Vec::new();
    {
        let mut statement = tx.prepare_cached(KEYS_BELOW)?;
        let mut rows = statement.query([SortKey(below)])?;
        while let Some(row) = rows.next()? {
            let SortKey(key) = row.get()?;
            free -= 1;
            if key <= free {
                break;
            }
            moves.push((key, free));
        }
    }
    // The lowest row first, so that each new key is free.
    let mut statement = tx.prepare_cached(MOVE)?;
    for (from, to) in moves.iter().rev() {
        statement.execute(params![SortKey(*from), SortKey(*to)])?;
    }
    Ok(())
}

/// Assigns new emails the keys of their times;
/// one without a time gets a key below the email before.
pub(crate) fn assign_time_keys(
    tx: &Transaction,
    emails: &mut [IncomingEmail],
    now: Timestamp,
) -> Result<()> {
    // Emails of one time, such as a broadcast, must not each search for a free key from its start
    // on.
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
        while given.contains(&key) || key_exists(tx, key.0)? {
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
    use PositionHint::{ByTime, Existing, Unknown};

    use super::*;
    use proptest::prelude::*;

    const OPEN: KeyBounds = KeyBounds {
        ceiling: None,
        floor: None,
        now: 1_000_000,
    };

    fn arranged(hints: &[PositionHint], bounds: &KeyBounds) -> Result<Vec<i64>, KeysExhausted> {
        let in_run = longest_decreasing_run(hints, bounds);
        assign_keys(hints, in_run, bounds, |_| Ok(false)).unwrap()
    }

    #[test]
    fn keys_follow_times_unless_the_page_contradicts() {
        let far = [
            ByTime(9000),
            ByTime(-50),
            ByTime(8000),
            ByTime(1 << 60),
            ByTime(7000),
        ];
        let equal = [ByTime(9000); 3];
        for (hints, floor, keys) in [
            (
                &[ByTime(9000), Existing(8000), ByTime(7000)][..],
                None,
                &[9000, 8000, 7000][..],
            ),
            // An absurd time moves only its email.
            (&far, None, &[9000, 8936, 8000, 7936, 7000]),
            // Equal times follow the first.
            (&equal, None, &[9000, 8936, 8872]),
            (&equal, Some(8990), &[9000, 8997, 8994]),
            // Without a time it is the present, or next to a row of the same page.
            (&[Unknown; 2], None, &[999_936, 999_872]),
            (&[Unknown, Existing(500)], None, &[564, 500]),
            (&[Unknown; 2], Some(2_000_000), &[2_000_128, 2_000_064]),
        ] {
            let found = arranged(hints, &KeyBounds { floor, ..OPEN });
            assert_eq!(found, Ok(keys.to_vec()), "{hints:?}");
        }
    }

    #[test]
    fn exhausted_keys_are_reported() {
        let tight = KeyBounds {
            ceiling: Some(12),
            floor: Some(9),
            ..OPEN
        };
        let (below, count) = (12, 3);
        let exhausted = Err(KeysExhausted { below, count });
        assert_eq!(arranged(&[Unknown; 3], &tight), exhausted);
    }

    fn hint() -> impl Strategy<Value = PositionHint> {
        prop_oneof![
            (0..2000_i64).prop_map(ByTime),
            (0..20_i64).prop_map(|at| ByTime(at * 100)),
            Just(Unknown)
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn keys_are_within_bounds_and_free(
            hints in prop::collection::vec(hint(), 1..40),
            is_taken in prop::collection::hash_set(0..2000_i64, 0..200),
            bounds in (0..1000_i64, 1000..2000_i64, any::<bool>(), any::<bool>()),
        ) {
            let (floor, ceiling, floored, capped) = bounds;
            let bounds = KeyBounds { ceiling: capped.then_some(ceiling), floor: floored.then_some(floor), now: 1500 };
            let in_run = longest_decreasing_run(&hints, &bounds);
            let result = assign_keys(&hints, in_run, &bounds, |key| Ok(is_taken.contains(&key))).unwrap();
            let Ok(keys) = result else { return Ok(()) };
            prop_assert_eq!(keys.len(), hints.len());
            prop_assert!(keys.is_sorted_by(|above, below| above > below));
            prop_assert!(keys.iter().all(|key| bounds.contain(*key)));
            prop_assert!(keys.iter().copied().collect::<HashSet<_>>().is_disjoint(&is_taken));
        }
    }
}
