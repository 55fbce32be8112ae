//! The recipient card: what became of all mail to one address, above the list of it.
//!
//! There is a card while the filter names one whole address (`recipient:ana@example.com`), however it
//! came about; so a card can be narrowed further, undone, saved as a view and typed.

use std::sync::Arc;

use jiff::Timestamp;

use super::effect::{Effect, Effects};
use super::filter::Filter;
use super::model::Model;
use super::slot::{Slot, Ticket};
use super::status_check::StatusCheck;
use super::tally::Tally;
use crate::failure::Failure;
use crate::mail::Address;
use crate::query::fold::fold;
use crate::query::{Needle, Node, Query, Sort, Term};

/// One address, and what became of all mail to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    address: Needle,
    tally: Slot<Arc<Tally>>,
}

impl Card {
    /// The address.
    #[must_use]
    pub fn address(&self) -> &str {
        self.address.text()
    }

    /// What became of the mail to it, once that is known.
    #[must_use]
    pub fn tally(&self) -> Option<&Tally> {
        self.tally.ready().map(|tally| &**tally)
    }

    /// Why that is not known.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.tally.failure()
    }

    fn ask(&mut self, fresh_since: Timestamp, now: Timestamp) -> Effect {
        Effect::Tally {
            ticket: self.tally.begin(),
            address: self.address.clone(),
            fresh_since,
            now,
        }
    }
}

/// The one whole address that a query wants, if it wants one.
fn address_in(query: &Query) -> Option<&Needle> {
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
    pub(super) fn show_card(&mut self) -> Effects {
        let Some(row) = self.list.selected() else {
            self.notice = Some("there is no email here to go by".to_owned());
            return Effects::new();
        };
        let mut addresses: Vec<&Address> = Vec::new();
        for address in row.summary.recipients() {
            if addresses
                .iter()
                .all(|known| fold(&known.email) != fold(&address.email))
            {
                addresses.push(address);
            }
        }
        let shown = self.card.as_ref().and_then(|card| {
            addresses
                .iter()
                .position(|one| fold(&one.email) == card.address.folded())
        });
        let next = shown.map_or(0, |nth| (nth + 1) % addresses.len());
        let address = addresses
            .get(next)
            .and_then(|address| Needle::new(&address.email));
        let Some(address) = address.filter(|_| shown != Some(next)) else {
            let words = if shown.is_some() {
                "this email went to nobody else"
            } else {
                "this email names no recipient"
            };
            self.notice = Some(words.to_owned());
            return Effects::new();
        };
        if addresses.len() > 1 {
            self.notice = Some(format!(
                "recipient {} of {}; c shows the next",
                next + 1,
                addresses.len()
            ));
        }
        self.list.stay();
        let filter = Filter::of(
            Query {
                filter: Node::Term(Term::Recipient(address)),
                sort: Sort::Newest,
            },
            &self.now,
        );
        let effects = self.show(filter);
        self.reading = false;
        self.panes.full = false;
        effects
    }

    /// Goes back from a card to where it was opened, or to all mail.
    pub(super) fn leave_card(&mut self) -> Effects {
        let before = self
            .trail
            .latest(|spot| address_in(spot.filter.query()).is_none())
            .cloned();
        let Some(spot) = before else {
            return self.show(Filter::default());
        };
        let card = self.spot();
        let effects = self.return_to(spot);
        self.leave(card);
        effects
    }

    /// Lets the card follow the filter, but not each letter while that is typed.
    pub(super) fn turn_card(&mut self) -> Option<Effect> {
        if self.prompt.is_some() {
            return None;
        }
        let wanted = address_in(self.list.filter().query());
        if wanted == self.card.as_ref().map(|card| &card.address) {
            return None;
        }
        self.card = wanted.map(|address| Card {
            address: address.clone(),
            tally: Slot::default(),
        });
        self.tally()
    }

    /// Asks again what became of the mail to the address of the card, if there is one.
    pub(super) fn tally(&mut self) -> Option<Effect> {
        let now = self.now().timestamp();
        let fresh_since = self.check.as_ref().map_or(now, StatusCheck::fresh_since);
        self.card.as_mut().map(|card| card.ask(fresh_since, now))
    }

    pub(super) fn tallied(&mut self, ticket: Ticket, outcome: Result<Arc<Tally>, Failure>) {
        if let Some(card) = &mut self.card {
            card.tally.settle(ticket, outcome);
        }
    }
}
