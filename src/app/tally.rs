//! `Tally`: what became of the emails to one address, in figures.

use crate::archive::Row;
use crate::mail::{EmailId, Shown, Stamp, Status};
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
    pub fn take(&mut self, row: &Row, address: &Needle) -> bool {
        if self.total == MOST {
            self.capped = true;
            return false;
        }
        self.total += 1;
        let summary = &row.summary;
        if self.name.is_empty() {
            let named = summary.recipients().find(|one| !one.name.is_empty() && fold(&one.email) == address.folded());
            self.name = named.map(|one| one.name.clone()).unwrap_or_default();
        }
        self.count(&summary.status);
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

    fn count(&mut self, status: &Status) {
        if let Some((_, count)) = self.statuses.iter_mut().find(|(known, _)| known == status) {
            *count += 1;
            return;
        }
        self.statuses.push((status.clone(), 1));
        let order = |status: &Status| Status::KNOWN.iter().position(|known| known == status).unwrap_or(usize::MAX);
        self.statuses.sort_by_key(|(status, _)| order(status));
    }
}
