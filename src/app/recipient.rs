//! `Tally`: what became of the emails to one address, in figures.

use jiff::Timestamp;

use crate::archive::EmailRow;
use crate::mail::{ApiTime, EmailId, Finality, SafeText, Status};
use crate::query::SearchText;
use crate::query::normalize::normalize;

/// The figures of a recipient card.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecipientSummary {
    /// The name beside the address, as the newest email that has one spells it; else empty.
    pub name: SafeText,
    /// How many emails.
    pub total: u64,
    /// There are more of them; counting ended there.
    pub is_capped: bool,
    /// How many of each status, in the natural order of statuses.
    pub statuses: Vec<(Status, u64)>,
    /// The newest email.
    pub newest: Option<EmailRef>,
    /// When the oldest one was accepted, of those that were counted.
    pub oldest_at: Option<ApiTime>,
    /// How many are final, or were confirmed by the check of them.
    pub checked: u64,
    /// When the status that was confirmed longest ago was, of those that are not final; `None` if there is
    /// none, or if one was never confirmed.
    pub as_of: Option<Timestamp>,
    /// How many that are not final were never confirmed.
    pub unconfirmed: u64,
    /// The newest one that bounced, was complained about, or the like.
    pub newest_problem: Option<EmailRef>,
}

/// An email on a card.
#[derive(Debug, Clone, PartialEq)]
pub struct EmailRef {
    /// Which.
    pub id: EmailId,
    /// What became of it.
    pub status: Status,
    /// When it was accepted.
    pub created: ApiTime,
    /// Its subject.
    pub subject: SafeText,
    /// Why, if the service says so.
    pub reason: Option<SafeText>,
}

/// A customer has fewer; an address that gets everything is counted so far.
const MAX_COUNTED: u64 = 10_000;

impl RecipientSummary {
    /// Takes the next older email to `address`; says whether it wants more.
    pub fn add(
        &mut self,
        row: &EmailRow,
        address: &SearchText,
        fresh_since: Timestamp,
        now: Timestamp,
    ) -> bool {
        if self.total == MAX_COUNTED {
            self.is_capped = true;
            return false;
        }
        self.total += 1;
        let summary = &row.summary;
        if self.name.is_empty() {
            let named = summary
                .recipients()
                .find(|one| !one.name.is_empty() && normalize(&one.email) == address.normalized());
            self.name = named.map(|one| one.name.clone()).unwrap_or_default();
        }
        self.count_status(&summary.status);
        self.add_freshness(row, fresh_since, now);
        let mention = || EmailRef {
            id: summary.id.clone(),
            status: summary.status.clone(),
            created: summary.created.clone(),
            subject: summary.subject.clone(),
            reason: summary.bounce_reason(),
        };
        if self.newest_problem.is_none() && summary.status.is_problem() {
            self.newest_problem = Some(mention());
        }
        if self.newest.is_none() {
            self.newest = Some(mention());
        }
        self.oldest_at = Some(summary.created.clone());
        true
    }

    fn add_freshness(&mut self, row: &EmailRow, fresh_since: Timestamp, now: Timestamp) {
        let confirmed = row.confirmed_at.filter(|at| *at <= now);
        let is_final = row.finality(now) == Finality::Final;
        self.checked += u64::from(is_final || confirmed.is_some_and(|at| at >= fresh_since));
        match confirmed {
            _ if is_final => {}
            Some(at) => self.as_of = Some(self.as_of.map_or(at, |as_of| as_of.min(at))),
            None => self.unconfirmed += 1,
        }
    }

    fn count_status(&mut self, status: &Status) {
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
