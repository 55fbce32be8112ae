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

use crate::error::Error;

/// How far apart emails stand that have no time of their own.
const KEY_SPACING: i64 = 64;

/// What is known of an email's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PositionHint {
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
pub(super) struct KeyBounds {
    /// Below this place, if anything is above.
    pub(super) ceiling: Option<i64>,
    /// Above this place, if anything is below.
    pub(super) floor: Option<i64>,
    /// Where emails stand that nothing else puts anywhere.
    pub(super) now: i64,
}

impl KeyBounds {
    fn contain(&self, at: i64) -> bool {
        self.ceiling.is_none_or(|ceiling| at < ceiling) && self.floor.is_none_or(|floor| at > floor)
    }
}

/// There are not `need` free places under `under`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeysExhausted {
    pub(super) below: i64,
    pub(super) count: usize,
}

/// Which emails of a stretch (newest first) keep their place: the longest strictly falling run.
pub(super) fn longest_increasing_run(wishes: &[PositionHint], bounds: &KeyBounds) -> Vec<bool> {
    let at = |index: usize| {
        wishes[index]
            .key()
            .expect("only emails with a place are in a run")
    };
    // Of all runs of each length, where the one ends that is easiest to continue.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; wishes.len()];
    for (index, wish) in wishes.iter().enumerate() {
        let Some(place) = wish.key().filter(|place| bounds.contain(*place)) else {
            continue;
        };
        let length = ends.partition_point(|end| at(*end) > place);
        before[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            // Of equal times the first one stands for all, and the others follow below it.
            Some(end) if at(*end) == place => {}
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut keeps = vec![false; wishes.len()];
    let mut next = ends.last().copied();
    while let Some(index) = next {
        keeps[index] = true;
        next = before[index];
    }
    keeps
}

/// Gives every email of a stretch a place, strictly falling, none of them `taken` by another.
pub(super) fn assign_keys(
    wishes: &[PositionHint],
    mut keeps: Vec<bool>,
    bounds: &KeyBounds,
    mut taken: impl FnMut(i64) -> Result<bool, Error>,
) -> Result<Result<Vec<i64>, KeysExhausted>, Error> {
    loop {
        match try_assign(wishes, &keeps, bounds, &mut taken)? {
            Assignment::Done(places) => return Ok(Ok(places)),
            Assignment::Exhausted(no_room) => return Ok(Err(no_room)),
            Assignment::Blocked(index) => keeps[index] = false,
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
    wishes: &[PositionHint],
    keeps: &[bool],
    bounds: &KeyBounds,
    taken: &mut impl FnMut(i64) -> Result<bool, Error>,
) -> Result<Assignment, Error> {
    let fixed = |from: usize| (from..wishes.len()).find(|index| keeps[*index]);
    let mut places = Vec::with_capacity(wishes.len());
    let mut above = bounds.ceiling;
    while places.len() < wishes.len() {
        let first = places.len();
        let next = fixed(first);
        let count = next.unwrap_or(wishes.len()) - first;
        let neighbour = next.and_then(|index| wishes[index].key());
        let below = neighbour.or(bounds.floor);
        if count > 0 {
            let start = above.unwrap_or_else(|| start_key(count, neighbour, bounds));
            let roomy = below.map_or(KEY_SPACING, |below| {
                (start.saturating_sub(below) / (to_i64(count) + 1)).min(KEY_SPACING)
            });
            match free_keys_below(start, below, roomy, count, taken)? {
                Some(run) => places.extend(run),
                None => match free_keys_below(start, below, 1, count, taken)? {
                    Some(run) => places.extend(run),
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
        let place = match wishes[index] {
            PositionHint::Existing(place) => Some(place),
            PositionHint::ByTime(place) => {
                let below = fixed(index + 1)
                    .and_then(|index| wishes[index].key())
                    .or(bounds.floor);
                free_keys_below(place + 1, below, 1, 1, taken)?.map(|run| run[0])
            }
            PositionHint::Unknown => None,
        };
        let Some(place) = place else {
            return Ok(Assignment::Blocked(index));
        };
        places.push(place);
        above = Some(place);
    }
    Ok(Assignment::Done(places))
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
    taken: &mut impl FnMut(i64) -> Result<bool, Error>,
) -> Result<Option<Vec<i64>>, Error> {
    let mut run = Vec::with_capacity(count);
    let mut place = start;
    while run.len() < count {
        place = place.saturating_sub(step.max(1));
        while floor.is_none_or(|floor| place > floor) && taken(place)? {
            place -= 1;
        }
        if floor.is_some_and(|floor| place <= floor) {
            return Ok(None);
        }
        run.push(place);
    }
    Ok(Some(run))
}

fn to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX / (2 * KEY_SPACING))
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

    fn arranged(wishes: &[PositionHint], bounds: &KeyBounds) -> Vec<i64> {
        assign_keys(
            wishes,
            longest_increasing_run(wishes, bounds),
            bounds,
            |_| Ok(false),
        )
        .unwrap()
        .unwrap()
    }

    #[test]
    fn agreeing_times_are_the_places() {
        let wishes = [
            PositionHint::ByTime(9000),
            PositionHint::Existing(8000),
            PositionHint::ByTime(7000),
        ];
        assert_eq!(arranged(&wishes, &OPEN), [9000, 8000, 7000]);
    }

    #[test]
    fn one_absurd_time_displaces_itself_only() {
        let wishes = [
            PositionHint::ByTime(9000),
            PositionHint::ByTime(-50),
            PositionHint::ByTime(8000),
            PositionHint::ByTime(1 << 60),
            PositionHint::ByTime(7000),
        ];
        assert_eq!(arranged(&wishes, &OPEN), [9000, 8936, 8000, 7936, 7000]);
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
                .all(|place| *place > 2_000_000)
        );
    }

    #[test]
    fn no_room_is_said_and_not_guessed() {
        let tight = KeyBounds {
            ceiling: Some(12),
            floor: Some(9),
            ..OPEN
        };
        let wishes = [PositionHint::Unknown; 3];
        let outcome = assign_keys(
            &wishes,
            longest_increasing_run(&wishes, &tight),
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

    fn wish() -> impl Strategy<Value = PositionHint> {
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
            wishes in prop::collection::vec(wish(), 1..40),
            taken in prop::collection::hash_set(0..2000_i64, 0..200),
            bounds in (0..1000_i64, 1000..2000_i64, any::<bool>(), any::<bool>()),
        ) {
            let (floor, ceiling, floored, capped) = bounds;
            let bounds = KeyBounds { ceiling: capped.then_some(ceiling), floor: floored.then_some(floor), now: 1500 };
            let keeps = longest_increasing_run(&wishes, &bounds);
            let outcome = assign_keys(&wishes, keeps, &bounds, |place| Ok(taken.contains(&place))).unwrap();
            let Ok(places) = outcome else { return Ok(()) };
            prop_assert_eq!(places.len(), wishes.len());
            prop_assert!(places.is_sorted_by(|above, below| above > below));
            prop_assert!(places.iter().all(|place| bounds.contain(*place)));
            prop_assert!(places.iter().copied().collect::<HashSet<_>>().is_disjoint(&taken));
        }
    }
}
