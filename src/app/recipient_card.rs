//! The recipient card: what became of all mail to one address, above the list of it.
//!
//! There is a card while the filter names one whole address (`recipient:ana@example.com`), however it
//! came about; so a card can be narrowed further, undone, saved as a view and typed.

use std::sync::Arc;

use jiff::Timestamp;

use super::commands::Command;
use super::effect::{Effect, Pending, RequestId};
use super::model::Model;
use super::recipient::RecipientSummary;
use super::search::Filter;
use super::status_check::StatusCheck;
use crate::error::Error;
use crate::mail::Address;
use crate::query::normalize::normalize;
use crate::query::{Node, Query, SearchText, SortOrder, Term};

/// One address, and what became of all mail to it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecipientCard {
    address: SearchText,
    summary: Pending<Arc<RecipientSummary>>,
}

impl RecipientCard {
    /// The address.
    pub fn address(&self) -> &str {
        self.address.text()
    }

    /// What became of the mail to it, once that is known.
    pub fn summary(&self) -> Option<&RecipientSummary> {
        self.summary.value().map(|tally| &**tally)
    }

    /// Why that is not known.
    pub fn error(&self) -> Option<&Error> {
        self.summary.error()
    }

    fn request_summary(&mut self, fresh_since: Timestamp, now: Timestamp) -> Effect {
        Effect::SummarizeRecipient {
            request: self.summary.start(),
            address: self.address.clone(),
            fresh_since,
            now,
        }
    }
}

/// The one whole address that a query wants, if it wants one.
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

impl Model {
    /// Shows the card of the first recipient of the selected email; on a card of one of them, that of
    /// the next.
    pub(super) fn show_recipient_card(&mut self) {
        let Some(row) = self.list.selected() else {
            return;
        };
        let mut addresses: Vec<&Address> = Vec::new();
        for address in row.summary.recipients() {
            if addresses
                .iter()
                .all(|known| normalize(&known.email) != normalize(&address.email))
            {
                addresses.push(address);
            }
        }
        let shown = self.recipient_card.as_ref().and_then(|card| {
            addresses
                .iter()
                .position(|one| normalize(&one.email) == card.address.normalized())
        });
        let next = shown.map_or(0, |nth| (nth + 1) % addresses.len());
        let address = addresses
            .get(next)
            .and_then(|address| SearchText::new(&address.email));
        let Some(address) = address.filter(|_| shown != Some(next)) else {
            self.notify(if shown.is_some() {
                "this email has no other recipient"
            } else {
                "this email has no recipient"
            });
            return;
        };
        if addresses.len() > 1 {
            let text = format!("recipient {} of {}", next + 1, addresses.len());
            self.notify_with(&text, Command::RecipientSummary, "shows the next");
        }
        self.list.clear_anchor();
        let filter = Filter::from_query(
            Query {
                filter: Node::Term(Term::Recipient(address)),
                sort: SortOrder::Newest,
            },
            &self.now,
        );
        self.show_filter(filter);
        self.reader_open = false;
        self.panes.full_reader = false;
    }

    /// Goes back from a card to where it was opened, or to all mail.
    pub(super) fn close_recipient_card(&mut self) {
        let before = self
            .history
            .find_latest(|spot| recipient_address(spot.filter.query()).is_none())
            .cloned();
        let Some(spot) = before else {
            return self.show_filter(Filter::default());
        };
        let card = self.history_entry();
        self.restore_entry(spot);
        self.record_history(card);
    }

    /// Lets the card follow the filter, but not each letter while that is typed.
    pub(super) fn update_recipient_card(&mut self) {
        if self.prompt.is_some() {
            return;
        }
        let wanted = recipient_address(self.list.filter.query());
        if wanted == self.recipient_card.as_ref().map(|card| &card.address) {
            return;
        }
        self.recipient_card = wanted.map(|address| RecipientCard {
            address: address.clone(),
            summary: Pending::default(),
        });
        self.request_recipient_summary();
    }

    /// Asks again what became of the mail to the address of the card, if there is one.
    pub(super) fn request_recipient_summary(&mut self) {
        let now = self.now.timestamp();
        let fresh_since = self
            .status_check
            .as_ref()
            .map_or(now, StatusCheck::fresh_since);
        if let Some(card) = &mut self.recipient_card {
            self.outbox.push(card.request_summary(fresh_since, now));
        }
    }

    pub(super) fn apply_recipient_summary(
        &mut self,
        request: RequestId,
        result: Result<Arc<RecipientSummary>, Error>,
    ) {
        if let Some(card) = &mut self.recipient_card {
            card.summary.resolve(request, result);
        }
    }
}
