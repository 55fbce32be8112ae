//! What is asked of the archive beside rows: how many, what became of them, what could be typed.

use jiff::Timestamp;

use crate::app::{Counts, Tally};
use crate::archive::{Archive, Counted, Halt, Place};
use crate::failure::{Failure, Kind};
use crate::query::{Known, KnownValue, Needle, Node, Query, Sort, Source, Term};

/// A switch for the next search; the one before is broken off.
pub(super) fn cancel_and_renew(halt: &mut Halt) -> Halt {
    halt.halt();
    *halt = Halt::default();
    halt.clone()
}

/// What the archive knows, for as long as nobody has typed on: offers must not hold up the search.
pub(super) struct CancellableSource {
    pub(super) archive: Archive,
    pub(super) halt: Halt,
}

impl Known for CancellableSource {
    fn values(&self, source: Source<'_>, part: &str, limit: usize) -> Vec<KnownValue> {
        if self.halt.is_halted() {
            Vec::new()
        } else {
            self.archive.values(source, part, limit)
        }
    }
}

/// Nobody is told: who broke the search off has asked another question since.
pub(super) fn cancelled_error() -> Failure {
    Failure::new(Kind::Internal, "the search was broken off")
}

/// How many emails the query finds, and how many of them stand before `place`.
pub(super) fn load_counts(
    archive: &Archive,
    query: &Query,
    place: Option<Place>,
    halt: &Halt,
) -> Result<Counts, Failure> {
    /// Nobody reads the end of such a list.
    const MOST: u64 = 10_000;
    if query.is_everything() && query.sort == Sort::Newest {
        let before = place
            .map(|place| Ok::<_, Failure>((place, archive.rank(place)?)))
            .transpose()?;
        let all = archive.count()?;
        return Ok(Counts {
            total: all,
            capped: false,
            all,
            fetched: None,
            before,
        });
    }
    let (total, capped) = match archive
        .count_matching(query, MOST, halt)?
        .ok_or_else(cancelled_error)?
    {
        Counted::Exactly(total) => (total, false),
        Counted::MoreThan(total) => (total, true),
    };
    let before = match place {
        None => None,
        Some(place) => match archive
            .rank_matching(query, place, MOST, halt)?
            .ok_or_else(cancelled_error)?
        {
            Counted::MoreThan(_) => None,
            Counted::Exactly(newer) if query.sort == Sort::Newest => Some((place, newer)),
            Counted::Exactly(newer) if !capped => Some((place, total.saturating_sub(newer + 1))),
            Counted::Exactly(_) => None,
        },
    };
    let scope = archive.scope()?;
    Ok(Counts {
        total,
        capped,
        all: scope.emails,
        fetched: Some(scope.fetched),
        before,
    })
}

/// What became of all emails to an address.
pub(super) fn load_recipient_summary(
    archive: &Archive,
    address: &Needle,
    (fresh_since, now): (Timestamp, Timestamp),
    halt: &Halt,
) -> Result<Tally, Failure> {
    let query = Query {
        filter: Node::Term(Term::Recipient(address.clone())),
        sort: Sort::Newest,
    };
    let mut tally = Tally::default();
    let is_whole = archive.each(&query, halt, |row| {
        tally.take(&row, address, fresh_since, now)
    })?;
    if !is_whole && halt.is_halted() {
        return Err(cancelled_error());
    }
    // The list does not say why; the email may, if it was read.
    if let Some(trouble) = tally
        .trouble
        .as_mut()
        .filter(|trouble| trouble.reason.is_none())
    {
        trouble.reason = archive
            .email(&trouble.id)?
            .and_then(|email| email.summary.reason());
    }
    Ok(tally)
}
