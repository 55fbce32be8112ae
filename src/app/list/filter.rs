//! The filter of the list, as it was typed and as it was parsed.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, Zoned};

use crate::app::commands::RowField;
use crate::app::model::Model;
use crate::archive::{pattern_parts, subject_pattern};
use crate::mail::Mailbox;
use crate::query::{Field, Node, ParseContext, ParsedQuery, Query, SearchText, Term, parse};
use crate::text::secrets::find_secrets;

/// An age is out of date once this share of it has passed since it was counted.
const OLD_SHARE: i32 = 10;

/// Nor is it out of date before: minutes are shown.
const MIN_OLD: SignedDuration = SignedDuration::from_mins(1);

/// A filter of the list. Without text, the list shows all mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    text: String,
    query: Arc<Query>,
    /// A warning that a part may be meant in another sense than it was parsed;
    /// and whether more text may resolve it.
    doubt: Option<(String, bool)>,
    /// The query that the words may mean instead.
    meant: Option<String>,
    /// Whether it has a value without a meaning, such as a date that does not exist.
    has_impossible_value: bool,
    /// The time of parsing: words such as `today` mean another day on the next,
    /// and ages such as `2h` another time.
    parsed_at: Option<Arc<Zoned>>,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            text: String::new(),
            query: Arc::new(Query::match_all()),
            doubt: None,
            meant: None,
            has_impossible_value: false,
            parsed_at: None,
        }
    }
}

impl Filter {
    pub fn parse(text: &str, now: &Zoned) -> Self {
        let parsed = parse_query(text, now, Mailbox::Sent);
        let impossible = parsed.impossible_value();
        let doubt = impossible.or(parsed.diagnostics.first());
        Self {
            text: text.trim().to_owned(),
            doubt: doubt.map(|doubt| (doubt.describe(text), doubt.is_incomplete)),
            meant: doubt.and_then(|doubt| doubt.meant.clone()),
            has_impossible_value: impossible.is_some(),
            query: Arc::new(parsed.query),
            parsed_at: Some(Arc::new(now.clone())),
        }
    }

    pub fn from_query(query: Query, now: &Zoned) -> Self {
        Self {
            text: query.to_string(),
            query: Arc::new(query),
            parsed_at: Some(Arc::new(now.clone())),
            ..Self::default()
        }
    }

    /// Whether it was parsed on another day than that of `now`, or in another zone.
    pub fn is_outdated(&self, now: &Zoned) -> bool {
        let day_and_zone = |at: &Zoned| (at.date(), at.time_zone().clone());
        let parsed_at = self.parsed_at.as_deref();
        parsed_at.is_some_and(|parsed_at| day_and_zone(parsed_at) != day_and_zone(now))
    }

    /// The time from which its ages count, unless that is about now.
    pub fn ages_as_of(&self, now: &Zoned) -> Option<Timestamp> {
        let counted_at = self.parsed_at.as_deref()?.timestamp();
        let youngest = counted_at.duration_since(self.query.latest_age()?);
        let elapsed = now.timestamp().duration_since(counted_at).abs();
        (elapsed >= youngest / OLD_SHARE && elapsed >= MIN_OLD).then_some(counted_at)
    }

    /// The filter, parsed again if `now` is another day or in another zone.
    pub fn reparsed(self, now: &Zoned) -> Self {
        if self.is_outdated(now) {
            Self::parse(&self.text, now)
        } else {
            self
        }
    }

    /// The filter with its ages counted from `now`.
    pub fn renewed(self, now: &Zoned) -> Self {
        if self.has_ages() {
            Self::parse(&self.text, now)
        } else {
            self.reparsed(now)
        }
    }

    pub fn has_ages(&self) -> bool {
        self.query.latest_age().is_some()
    }

    /// The typed text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A message about text that may be misread, such as an unknown status;
    /// while the user types, only one that more text does not resolve.
    pub fn doubt(&self, is_typing: bool) -> Option<&str> {
        let doubt = self.doubt.as_ref();
        let doubt = doubt.filter(|(_, is_incomplete)| !is_typing || !is_incomplete);
        doubt.map(|(text, _)| text.as_str())
    }

    /// The query that its words may mean, as in `bounced since yesterday`.
    pub fn meant(&self) -> Option<&str> {
        self.meant.as_deref()
    }

    /// Whether a value of it has no meaning, so that nothing was searched for it.
    pub const fn has_impossible_value(&self) -> bool {
        self.has_impossible_value
    }

    pub const fn query(&self) -> &Arc<Query> {
        &self.query
    }

    /// Whether matching needs bodies or tags, which are not stored for every email.
    pub fn needs_bodies(&self) -> bool {
        self.query.needs_bodies()
    }

    /// Whether it matches all mail in the default order.
    pub fn is_empty(&self) -> bool {
        self.query.is_default()
    }
}

/// Parses a query on these emails, which its messages depend on.
pub fn parse_query(text: &str, now: &Zoned, mailbox: Mailbox) -> ParsedQuery {
    let now = now.clone();
    parse(text, &ParseContext { now, mailbox })
}

impl Model {
    /// Narrows the filter to emails that share this field with the selected one, or
    /// replaces a filter that shows nothing but this one.
    pub(in crate::app) fn filter_by(&mut self, cell: RowField) {
        let Some(row) = self.list.selected() else {
            return;
        };
        let summary = &row.summary;
        let text =
            |field, text: &str| SearchText::new(text).map(|needle| Term::Text(field, needle));
        let recipient = if self.is_received() {
            summary.to.first()
        } else {
            self.shown_correspondent(row)
        };
        let terms = match cell {
            RowField::Recipient => {
                let address = recipient.and_then(|to| SearchText::new(&to.email));
                Vec::from_iter(address.map(Term::Recipient))
            }
            RowField::Domain if self.is_received() => {
                Vec::from_iter(text(Field::From, summary.from.domain()))
            }
            RowField::Domain => {
                let domain = recipient.and_then(|to| SearchText::new(to.domain()));
                Vec::from_iter(domain.map(Term::Domain))
            }
            RowField::Subject => {
                let part = |part: &str| text(Field::Subject, part);
                let pattern = subject_pattern(&summary.subject);
                let parts: Vec<Term> = pattern_parts(&pattern).filter_map(part).collect();
                if parts.is_empty() && find_secrets(&summary.subject).is_empty() {
                    Vec::from_iter(part(&summary.subject))
                } else {
                    parts
                }
            }
            RowField::Sender => Vec::from_iter(text(Field::From, &summary.from.email)),
            RowField::Status => vec![Term::Status(vec![summary.status.clone()])],
        };
        if terms.is_empty() {
            self.notify("this email has no such field");
            return;
        }
        let nodes = terms.into_iter().map(Node::Term);
        let filter = if self.list.total == Some(1) {
            let filter = Node::all(nodes);
            let sort = self.list.filter.query().sort;
            Filter::from_query(Query { filter, sort }, &self.now)
        } else {
            self.narrowed_filter(nodes)
        };
        self.show_filter(filter);
    }

    /// Returns the filter that may be meant by one that matches nothing, and what is other in it;
    /// `None` if there is none.
    pub fn suggested_filter(&self) -> Option<(Filter, &str)> {
        let unmatched = &self.list.unmatched;
        let (true, Some(0)) = (self.has_no_results(), self.list.total) else {
            return None;
        };
        let nearest = unmatched.nearest.first()?;
        if unmatched.is_whole {
            return Some((Filter::parse(nearest, &self.now), nearest));
        }
        let query = self.list.filter.query();
        let other = |node: &Node| {
            let Node::Term(term) = node else {
                return None;
            };
            let text = SearchText::new(nearest);
            Some(match term {
                Term::Text(field, _) => Node::Term(Term::Text(*field, text?)),
                Term::Recipient(_) => Node::Term(Term::Recipient(text?)),
                _ => parse_query(nearest, &self.now, Mailbox::Sent).query.filter,
            })
        };
        let filter = match (&query.filter, unmatched.conditions.as_slice()) {
            (node, []) => other(node)?,
            (Node::And(nodes), [condition]) => {
                let is_unmatched = |node: &Node| node.to_string() == *condition;
                let node = nodes.iter().position(is_unmatched)?;
                let mut nodes = nodes.clone();
                nodes[node] = other(&nodes[node])?;
                Node::all(nodes)
            }
            _ => return None,
        };
        let sort = query.sort;
        let filter = Filter::from_query(Query { filter, sort }, &self.now);
        Some((filter, nearest))
    }

    /// Returns the filter with more conditions.
    pub(super) fn narrowed_filter(&self, nodes: impl IntoIterator<Item = Node>) -> Filter {
        let query = self.list.filter.query();
        let query = Query {
            filter: Node::all(std::iter::once(query.filter.clone()).chain(nodes)),
            sort: query.sort,
        };
        Filter::from_query(query, &self.now)
    }
}
