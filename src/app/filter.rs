//! `Filter`: what the list is narrowed to, as it was typed and as it was understood.

use std::sync::Arc;

use jiff::Zoned;
use jiff::civil::Date;

use crate::query::{Context, Field, Has, Node, Parsed, Query, Sort, Term, parse};

/// A search of the list. Without a word in it, every email is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    text: String,
    query: Arc<Query>,
    /// The day on which it was understood; words such as `today` mean another one on the next.
    day: Option<Date>,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            text: String::new(),
            query: Arc::new(Query::everything()),
            day: None,
        }
    }
}

impl Filter {
    /// Reads what was typed, at the time `now`.
    #[must_use]
    pub fn read(text: &str, now: &Zoned) -> Self {
        Self {
            text: text.trim().to_owned(),
            query: Arc::new(parsed(text, now).query),
            day: Some(now.date()),
        }
    }

    /// The filter that says what `query` means at the time `now`.
    #[must_use]
    pub fn of(query: Query, now: &Zoned) -> Self {
        Self {
            text: query.to_string(),
            query: Arc::new(query),
            day: Some(now.date()),
        }
    }

    /// Whether it was understood on another day than that of `now`.
    #[must_use]
    pub fn is_of_another_day(&self, now: &Zoned) -> bool {
        self.day.is_some_and(|day| day != now.date())
    }

    /// The same filter at the time `now`.
    #[must_use]
    pub fn at(self, now: &Zoned) -> Self {
        if self.is_of_another_day(now) {
            Self::read(&self.text, now)
        } else {
            self
        }
    }

    /// As it was typed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it means.
    #[must_use]
    pub const fn query(&self) -> &Arc<Query> {
        &self.query
    }

    /// Whether what it finds hangs on bodies or tags, which are not known of every email.
    #[must_use]
    pub fn looks_inside(&self) -> bool {
        looks_inside(&self.query.filter)
    }

    /// Whether it leaves the list as it is without it.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.query.is_everything() && self.query.sort == Sort::Newest
    }
}

fn looks_inside(node: &Node) -> bool {
    match node {
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().any(looks_inside),
        Node::Not(node) => looks_inside(node),
        Node::Term(
            Term::Word(_)
            | Term::Text(Field::Body, _)
            | Term::Tag { .. }
            | Term::Has(Has::Text | Has::Html | Has::Body | Has::Tag),
        ) => true,
        Node::Term(_) => false,
    }
}

/// What each part of a text means at the time `now`.
#[must_use]
pub fn parsed(text: &str, now: &Zoned) -> Parsed {
    parse(text, &Context { now: now.clone() })
}
