//! The recipient card: the status of all mail to one address, above the list.
//!
//! The card is shown while the filter names one whole address (`recipient:ana@example.com`), typed
//! or not; so its filter can be extended, undone and saved as a view.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::filter::Filter;
use crate::app::commands::Command;
use crate::app::effect::{Effect, Pending};
use crate::app::history::HistoryEntry;
use crate::app::model::Model;
use crate::archive::{EmailRow, GoneStatuses};
use crate::mail::{Address, ApiTime, Bounce, EmailId, SafeText, Status, Summary, count_status};
use crate::query::normalize::normalize;
use crate::query::{Field, Node, Query, SearchText, SortOrder, Term};

/// The card above the list, which is shown if the filter is one recipient.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecipientCard {
    pub address: Option<SearchText>,
    pub summary: Pending<Arc<RecipientSummary>>,
}

impl RecipientCard {
    pub const fn is_shown(&self) -> bool {
        self.address.is_some()
    }
}

/// The figures of a recipient card.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecipientSummary {
    /// The name of the recipient in the newest email that has one, or else empty.
    pub name: SafeText,
    pub total: u64,
    /// Whether more emails exist than were counted.
    pub is_capped: bool,
    /// The number of emails of each status, in the natural order of statuses.
    pub statuses: Vec<(Status, u64)>,
    pub newest: Option<EmailRef>,
    /// The time of the oldest counted email.
    pub oldest_at: Option<ApiTime>,
    /// The number of emails whose status was confirmed by the status check,
    /// or earlier if it is final.
    pub checked: u64,
    /// The oldest confirmation of a status that is not final, at the service.
    pub as_of: Option<Timestamp>,
    /// Those that can no longer be checked.
    pub missing_upstream: GoneStatuses,
    /// The newest email that bounced; if none has, that has another problem.
    /// One to this address alone comes first.
    pub newest_problem: Option<EmailRef>,
    /// The number of emails with the same problem, to this address alone or not,
    /// as the newest one is.
    pub problems: u64,
}

/// An email on a card.
#[derive(Debug, Clone, PartialEq)]
pub struct EmailRef {
    pub id: EmailId,
    pub status: Status,
    pub created: ApiTime,
    pub subject: SafeText,
    /// Why it bounced, if known.
    pub bounce: Option<Bounce>,
    /// The number of addresses it was sent to.
    /// The service does not say which of them its status is about.
    pub recipients: usize,
}

impl EmailRef {
    /// Whether its status is that of one address.
    pub const fn is_to_one(&self) -> bool {
        self.recipients <= 1
    }
}

/// More emails than a customer gets;
/// an address that gets all mail is counted up to this number.
const MAX_COUNTED: u64 = 10_000;

impl RecipientSummary {
    /// Adds the next older email to `address`; false if the limit is reached.
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
                .find(|to| !to.name.is_empty() && normalize(&to.email) == address.normalized());
            self.name = named.map(|to| to.name.clone()).unwrap_or_default();
        }
        count_status(&mut self.statuses, &summary.status);
        self.add_freshness(row, fresh_since, now);
        let email = || EmailRef {
            id: summary.id.clone(),
            status: summary.status.clone(),
            created: summary.created.clone(),
            subject: summary.subject.clone(),
            bounce: summary.bounce(),
            recipients: row.recipient_count,
        };
        if summary.status.is_problem() {
            self.add_problem(email());
        }
        if self.newest.is_none() {
            self.newest = Some(email());
        }
        self.oldest_at = Some(summary.created.clone());
        true
    }

    fn add_freshness(&mut self, row: &EmailRow, fresh_since: Timestamp, now: Timestamp) {
        let confirmed = row.confirmed_at.filter(|at| *at <= now);
        if self.missing_upstream.add(row, now) {
            return;
        }
        let is_final = row.summary.status.is_final();
        let is_checked = |at| is_final || at >= fresh_since;
        self.checked += u64::from(confirmed.is_some_and(is_checked));
        if let Some(at) = confirmed.filter(|_| !is_final) {
            self.as_of = Some(self.as_of.map_or(at, |as_of| as_of.min(at)));
        }
    }

    /// Adds the next older problem.
    ///
    /// One of this address alone is worth more than one that may be of another, and what came back says more than
    /// what followed from it or may still arrive.
    fn add_problem(&mut self, email: EmailRef) {
        let worth = |email: &EmailRef| {
            let rank = match email.status {
                Status::Bounced => 3,
                Status::Suppressed => 1,
                _ if !email.status.is_final() => 0,
                _ => 2,
            };
            (email.is_to_one(), rank)
        };
        match &self.newest_problem {
            Some(newest) if worth(newest) >= worth(&email) => {
                let is_same = worth(newest) == worth(&email) && newest.status == email.status;
                self.problems += u64::from(is_same);
            }
            _ => {
                self.newest_problem = Some(email);
                self.problems = 1;
            }
        }
    }
}

/// Returns the recipients, each address once.
pub(in crate::app) fn distinct_recipients(summary: &Summary) -> Vec<&Address> {
    let mut known = HashSet::new();
    let is_first = |address: &&Address| known.insert(normalize(&address.email));
    summary.recipients().filter(is_first).collect()
}

/// Returns how many recipients there are beside the one that the row shows;
/// none where it shows the sender.
pub fn count_other_recipients(row: &EmailRow, shown: Option<&Address>) -> usize {
    if !row.summary.status.exists() {
        return 0;
    }
    let is_counted = usize::from(shown.is_some());
    row.recipient_count.saturating_sub(is_counted)
}

/// Returns the recipient that most terms match, the first of equal ones;
/// `None` if there is only one, or no term matches one.
fn find_recipient<'a>(summary: &'a Summary, query: &Query) -> Option<&'a Address> {
    /// The most comparisons for a row: more would delay the frame.
    const MAX_COMPARISONS: usize = 4_000;
    let recipients = summary.recipients().count();
    if recipients < 2 {
        return None;
    }
    let mut terms = Vec::new();
    query.filter.visit_terms(0, &mut |term, negations| {
        if negations == 0 {
            terms.push(term);
        }
    });
    if terms.len() * recipients > MAX_COMPARISONS {
        return None;
    }
    let count_matches = |field: Field, to: &Address| {
        let (text, email) = (normalize(&to.to_string()), normalize(&to.email));
        let domain = normalize(to.domain());
        let is_match = |term: &&&Term| match term {
            Term::Recipient(searched) => email == searched.normalized(),
            Term::Domain(searched) => domain == searched.normalized(),
            Term::Word(searched) => searched.is_substring_of(&text),
            Term::Text(in_field, searched) => {
                (*in_field == field || *in_field == Field::Any) && searched.is_substring_of(&text)
            }
            _ => false,
        };
        terms.iter().filter(is_match).count()
    };
    let fields = [Field::To, Field::Cc, Field::Bcc].into_iter();
    let recipients = fields.flat_map(|field| field.addresses(summary).map(move |to| (field, to)));
    let counted = recipients.map(|(field, to)| (count_matches(field, to), to));
    let best = counted.min_by_key(|(count, _)| Reverse(*count));
    best.filter(|(count, _)| *count > 0).map(|(_, to)| to)
}

/// Returns the address if the query requires exactly one, in full.
fn recipient_address(query: &Query) -> Option<&SearchText> {
    let nodes = if let Node::And(nodes) = &query.filter {
        nodes
    } else {
        std::slice::from_ref(&query.filter)
    };
    let mut addresses = nodes.iter().filter_map(|node| {
        if let Node::Term(Term::Recipient(address)) = node {
            Some(address)
        } else {
            None
        }
    });
    addresses.next().filter(|_| addresses.next().is_none())
}

/// Returns the filter of a card: all mail to one address.
fn card_filter(address: SearchText, now: &Zoned) -> Filter {
    let query = Query {
        filter: Node::Term(Term::Recipient(address)),
        sort: SortOrder::Newest,
    };
    Filter::from_query(query, now)
}

impl Model {
    /// Returns the address that the row of an email shows:
    /// the recipient of the card, one that the filter matches, or else the first one; the sender
    /// of received mail.
    pub fn shown_correspondent<'a>(&self, row: &'a EmailRow) -> Option<&'a Address> {
        let summary = &row.summary;
        if !summary.status.exists() {
            return summary.correspondent();
        }
        let card = self.recipient_card.address.as_ref();
        let is_on_card = |to: &&Address| {
            card.is_some_and(|address| normalize(&to.email) == address.normalized())
        };
        let on_card = summary.recipients().find(is_on_card);
        on_card
            .or_else(|| find_recipient(summary, self.list.filter.query()))
            .or_else(|| summary.correspondent())
    }

    /// Shows the card of the recipient that the row of the selected email shows,
    /// or of the next recipient; of the sender of received mail.
    pub(in crate::app) fn show_recipient_card(&mut self) {
        let Some(row) = self.list.selected() else {
            return;
        };
        if self.is_received() {
            match SearchText::new(&row.summary.from.email) {
                Some(address) => self.show_sent_mail(card_filter(address, &self.now)),
                None => self.notify("this email has no sender"),
            }
            return;
        }
        let addresses = distinct_recipients(&row.summary);
        let position = |address: &str| {
            let mut addresses = addresses.iter();
            addresses.position(|to| normalize(&to.email) == address)
        };
        let card = self.recipient_card.address.as_ref();
        let shown = card.and_then(|address| position(address.normalized()));
        let first = self.shown_correspondent(row);
        let first = first.and_then(|to| position(&normalize(&to.email)));
        let next = match shown {
            Some(nth) => (nth + 1) % addresses.len(),
            None => first.unwrap_or(0),
        };
        let address = addresses
            .get(next)
            .and_then(|address| SearchText::new(&address.email));
        let Some(address) = address.filter(|_| shown != Some(next)) else {
            self.notify(match shown {
                Some(_) if row.is_shortened => "no other recipient is among the first 100",
                Some(_) => "this email has no other recipient",
                None => "this email has no recipient",
            });
            return;
        };
        if addresses.len() > 1 {
            let first = if row.is_shortened { "the first " } else { "" };
            let text = format!("recipient {} of {first}{}", next + 1, addresses.len());
            self.notify_with(&text, Command::RecipientSummary, "shows the next");
        }
        self.list.clear_anchor();
        self.show_filter(card_filter(address, &self.now));
        self.close_reader();
    }

    /// Goes back to the location before the card, or to all mail.
    pub(in crate::app) fn close_recipient_card(&mut self) {
        let is_whole = |query: &Query| matches!(query.filter, Node::Term(_));
        let is_narrowed = !is_whole(self.list.filter.query());
        let whole = self.history.find_latest(|entry| {
            let query = entry.filter.query();
            is_whole(query) && recipient_address(query) == self.recipient_card.address.as_ref()
        });
        let before = whole.filter(|_| is_narrowed).or_else(|| {
            let is_other = |entry: &HistoryEntry| recipient_address(entry.filter.query()).is_none();
            self.history.find_latest(is_other)
        });
        let Some(before) = before.cloned() else {
            return self.show_filter(Filter::default());
        };
        let card = self.history_entry();
        self.restore_entry(before);
        self.record_history(card);
    }

    /// Shows or hides the card for another filter, unless that is being typed.
    pub(in crate::app) fn update_recipient_card(&mut self) {
        if self.prompt.is_some() {
            return;
        }
        let address = recipient_address(self.list.filter.query()).filter(|_| !self.is_received());
        if address == self.recipient_card.address.as_ref() {
            return;
        }
        self.recipient_card.address = address.cloned();
        self.recipient_card.summary.reset();
        self.request_recipient_summary();
    }

    /// Requests the summary of the card again, if there is a card.
    pub(in crate::app) fn request_recipient_summary(&mut self) {
        let now = self.now.timestamp();
        let fresh_since = match &self.status_check.current {
            Some(check) => check.fresh_since(),
            None => now,
        };
        if let Some(address) = &self.recipient_card.address {
            self.outbox.push(Effect::SummarizeRecipient {
                request: self.recipient_card.summary.start(),
                address: address.clone(),
                fresh_since,
                now,
            });
        }
    }
}
