//! `Tally`: what became of the emails to one address, in figures.

use jiff::Timestamp;

use crate::archive::Row;
use crate::mail::{EmailId, Finality, Shown, Stamp, Status};
use crate::query::Needle;
use crate::query::fold::fold;

/// The figures of a recipient card.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// The name beside the address, as the newest email that has one spells it; else empty.
    pub name: Shown,
    /// How many emails.
    pub total: u64,
    /// There are more of them; counting ended there.
    pub capped: bool,
    /// How many of each status, in the natural order of statuses.
    pub statuses: Vec<(Status, u64)>,
    /// The newest email.
    pub last: Option<Mention>,
    /// When the oldest one was accepted, of those that were counted.
    pub first: Option<Stamp>,
    /// How many are final, or were confirmed by the check of them.
    pub checked: u64,
    /// When the status that was confirmed longest ago was, of those that are not final; `None` if there is
    /// none, or if one was never confirmed.
    pub as_of: Option<Timestamp>,
    /// How many that are not final were never confirmed.
    pub unconfirmed: u64,
    /// The newest one that bounced, was complained about, or the like.
    pub trouble: Option<Mention>,
}

/// An email on a card.
#[derive(Debug, Clone, PartialEq)]
pub struct Mention {
    /// Which.
    pub id: EmailId,
    /// What became of it.
    pub status: Status,
    /// When it was accepted.
    pub created: Stamp,
    /// Its subject.
    pub subject: Shown,
    /// Why, if the service says so.
    pub reason: Option<Shown>,
}

/// A customer has fewer; an address that gets everything is counted so far.
const MOST: u64 = 10_000;

impl Tally {
    /// Takes the next older email to `address`; says whether it wants more.
    pub fn take(
        &mut self,
        row: &Row,
        address: &Needle,
        fresh_since: Timestamp,
        now: Timestamp,
    ) -> bool {
        if self.total == MOST {
            self.capped = true;
            return false;
        }
        self.total += 1;
        let summary = &row.summary;
        if self.name.is_empty() {
            let named = summary
                .recipients()
                .find(|one| !one.name.is_empty() && fold(&one.email) == address.folded());
            self.name = named.map(|one| one.name.clone()).unwrap_or_default();
        }
        self.count(&summary.status);
        self.note_freshness(row, fresh_since, now);
        let mention = || Mention {
            id: summary.id.clone(),
            status: summary.status.clone(),
            created: summary.created.clone(),
            subject: summary.subject.clone(),
            reason: summary.reason(),
        };
        if self.trouble.is_none() && summary.status.is_trouble() {
            self.trouble = Some(mention());
        }
        if self.last.is_none() {
            self.last = Some(mention());
        }
        self.first = Some(summary.created.clone());
        true
    }

    fn note_freshness(&mut self, row: &Row, fresh_since: Timestamp, now: Timestamp) {
        let confirmed = row.confirmed.filter(|at| *at <= now);
        let is_final = row.finality(now) == Finality::Final;
        self.checked += u64::from(is_final || confirmed.is_some_and(|at| at >= fresh_since));
        match confirmed {
            _ if is_final => {}
            Some(at) => self.as_of = Some(self.as_of.map_or(at, |as_of| as_of.min(at))),
            None => self.unconfirmed += 1,
        }
    }

    fn count(&mut self, status: &Status) {
        if let Some((_, count)) = self.statuses.iter_mut().find(|(known, _)| known == status) {
            *count += 1;
            return;
        }
        self.statuses.push((status.clone(), 1));
        let order = |status: &Status| {
            Status::KNOWN
                .iter()
                .position(|known| known == status)
                .unwrap_or(usize::MAX)
        };
        self.statuses.sort_by_key(|(status, _)| order(status));
    }
}
