//! What is asked of the archive beside rows: how many, what became of them, what could be typed.

use jiff::Timestamp;

use crate::app::{ListCounts, RecipientSummary};
use crate::archive::{Archive, CancellationToken, MatchCount, SortKey};
use crate::error::{Error, ErrorKind};
use crate::query::{
    Node, Query, SearchText, SortOrder, Suggestion, SuggestionField, SuggestionSource, Term,
};

/// A switch for the next search; the one before is broken off.
pub(super) fn cancel_and_renew(halt: &mut CancellationToken) -> CancellationToken {
    halt.cancel();
    *halt = CancellationToken::default();
    halt.clone()
}

/// What the archive knows, for as long as nobody has typed on: offers must not hold up the search.
pub(super) struct CancellableSource {
    pub(super) archive: Archive,
    pub(super) halt: CancellationToken,
}

impl SuggestionSource for CancellableSource {
    fn suggest(&self, source: SuggestionField<'_>, part: &str, limit: usize) -> Vec<Suggestion> {
        if self.halt.is_cancelled() {
            Vec::new()
        } else {
            self.archive.suggest(source, part, limit)
        }
    }
}

/// Nobody is told: who broke the search off has asked another question since.
pub(super) fn cancelled_error() -> Error {
    Error::new(ErrorKind::Internal, "the search was broken off")
}

/// How many emails the query finds, and how many of them stand before `place`.
pub(super) fn load_counts(
    archive: &Archive,
    query: &Query,
    place: Option<SortKey>,
    halt: &CancellationToken,
) -> Result<ListCounts, Error> {
    /// Nobody reads the end of such a list.
    const MOST: u64 = 10_000;
    if query.is_match_all() && query.sort == SortOrder::Newest {
        let before = place
            .map(|place| Ok::<_, Error>((place, archive.rank(place)?)))
            .transpose()?;
        let all = archive.query_count()?;
        return Ok(ListCounts {
            total: all,
            is_capped: false,
            archive_total: all,
            bodies_known: None,
            rows_before: before,
        });
    }
    let (total, capped) = match archive
        .count_matches(query, MOST, halt)?
        .ok_or_else(cancelled_error)?
    {
        MatchCount::Exactly(total) => (total, false),
        MatchCount::MoreThan(total) => (total, true),
    };
    let before = match place {
        None => None,
        Some(place) => match archive
            .count_newer_matches(query, place, MOST, halt)?
            .ok_or_else(cancelled_error)?
        {
            MatchCount::MoreThan(_) => None,
            MatchCount::Exactly(newer) if query.sort == SortOrder::Newest => Some((place, newer)),
            MatchCount::Exactly(newer) if !capped => Some((place, total.saturating_sub(newer + 1))),
            MatchCount::Exactly(_) => None,
        },
    };
    let scope = archive.body_availability()?;
    Ok(ListCounts {
        total,
        is_capped: capped,
        archive_total: scope.emails,
        bodies_known: Some(scope.fetched),
        rows_before: before,
    })
}

/// What became of all emails to an address.
pub(super) fn load_recipient_summary(
    archive: &Archive,
    address: &SearchText,
    (fresh_since, now): (Timestamp, Timestamp),
    halt: &CancellationToken,
) -> Result<RecipientSummary, Error> {
    let query = Query {
        filter: Node::Term(Term::Recipient(address.clone())),
        sort: SortOrder::Newest,
    };
    let mut tally = RecipientSummary::default();
    let is_whole = archive.for_each_match(&query, halt, |row| {
        tally.add(&row, address, fresh_since, now)
    })?;
    if !is_whole && halt.is_cancelled() {
        return Err(cancelled_error());
    }
    // The list does not say why; the email may, if it was read.
    if let Some(trouble) = tally
        .newest_problem
        .as_mut()
        .filter(|trouble| trouble.reason.is_none())
    {
        trouble.reason = archive
            .email(&trouble.id)?
            .and_then(|email| email.summary.bounce_reason());
    }
    Ok(tally)
}
