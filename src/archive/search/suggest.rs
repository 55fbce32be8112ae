//! Suggestions for completion: addresses, domains, statuses and tags of the emails.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::CancellationToken;
use super::fts_expr::FtsExpr;
use super::interned;
use super::plan::Plan;
use super::scan::Scan;
use super::vocabulary::count_up_to;
use crate::archive::Archive;
use crate::archive::listing::{Direction, TOP};
use crate::archive::storage::db::Connection;
use crate::archive::window::RowSource as _;
use crate::error::Result;
use crate::mail::{Address, SafeText, Status};
use crate::query::normalize::normalize;
use crate::query::{
    Field, Node, Query, SearchText, SortOrder, Suggestion, SuggestionField, SuggestionSource, Term,
};

/// The newest matching emails whose addresses and domains are suggested.
pub(super) const SAMPLED_EMAILS: usize = 200;

impl SuggestionSource for Archive {
    fn suggest(&self, field: SuggestionField<'_>, part: &str, limit: usize) -> Vec<Suggestion> {
        self.suggest_until(field, part, limit, &CancellationToken::new())
    }
}

impl Archive {
    /// Suggests addresses and domains of recent mail, and all statuses and tags.
    ///
    /// The counts are those of the index, which may be a few too many. Suggests no value if the
    /// archive cannot be read, or the search for them was cancelled.
    pub(crate) fn suggest_until(
        &self,
        field: SuggestionField<'_>,
        part: &str,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Vec<Suggestion> {
        let part = normalize(part);
        let found = self.connections.read_cancellable(cancel, |connection| {
            let values = match field {
                SuggestionField::Address(field) => {
                    recent_values(connection, field, &part, limit, |address| &address.email)?
                }
                SuggestionField::Domain => {
                    recent_values(connection, Field::To, &part, limit, Address::domain)?
                }
                SuggestionField::Status => interned_values(connection, interned::STATUS, &part)?,
                SuggestionField::TagName => interned_values(connection, interned::TAG, &part)?,
                SuggestionField::TagValue(name) => {
                    interned_values(connection, &interned::tag_value_kind(name), &part)?
                }
            };
            let with_count = |text: SafeText| {
                Ok(Suggestion {
                    emails: count_emails_with(connection, field, &text)?,
                    text,
                })
            };
            let counted = values.into_iter().map(with_count);
            counted.collect::<Result<Vec<_>>>()
        });
        let mut suggestions = found.ok().flatten().unwrap_or_default();
        suggestions.retain(|value| value.emails > 0);
        suggestions.sort_unstable_by(|a, b| {
            (Reverse(a.emails), &a.text).cmp(&(Reverse(b.emails), &b.text))
        });
        suggestions.truncate(limit);
        suggestions
    }
}

/// Returns the most frequent values of the newest emails that contain `part`.
pub(super) fn recent_values(
    connection: &Connection,
    field: Field,
    part: &str,
    limit: usize,
    value: fn(&Address) -> &str,
) -> Result<Vec<SafeText>> {
    let query = SearchText::new(part).map_or_else(Query::match_all, |text| {
        single_term_query(Term::Text(field, text))
    });
    // An address in two spellings is one suggestion, in its newest spelling.
    let mut counts: HashMap<String, (usize, String)> = HashMap::new();
    for row in Scan::new(connection, &query)?.rows(Direction::Older, TOP, SAMPLED_EMAILS)? {
        let values = field.addresses(&row.summary).map(value);
        for value in values {
            let normalized = normalize(value);
            if !value.is_empty() && normalized.contains(part) {
                let newest = || (0, value.to_owned());
                counts.entry(normalized).or_insert_with(newest).0 += 1;
            }
        }
    }
    let mut values: Vec<(Reverse<usize>, String)> = counts
        .into_values()
        .map(|(count, value)| (Reverse(count), value))
        .collect();
    values.sort_unstable();
    values.truncate(limit);
    let texts = values.iter().map(|(_, value)| SafeText::new(value));
    Ok(texts.collect())
}

fn interned_values(connection: &Connection, kind: &str, part: &str) -> Result<Vec<SafeText>> {
    let values = interned::all_of_kind(connection, kind)?;
    let texts = values.iter().map(|value| SafeText::new(value));
    Ok(texts
        .filter(|text| normalize(text).contains(part))
        .collect())
}

fn count_emails_with(
    connection: &Connection,
    field: SuggestionField<'_>,
    value: &str,
) -> Result<u64> {
    let Some(text) = SearchText::new(value) else {
        return Ok(0);
    };
    let term = match field {
        // One look-up, where the parts of an address are many.
        SuggestionField::Address(Field::To | Field::Cc | Field::Bcc) => Term::Recipient(text),
        SuggestionField::Address(field) => Term::Text(field, text),
        SuggestionField::Domain => Term::Domain(text),
        SuggestionField::Status => Term::Status(vec![
            Status::KNOWN
                .into_iter()
                .find(|known| known.label() == value)
                .unwrap_or_else(|| Status::parse(value)),
        ]),
        SuggestionField::TagName => Term::Tag {
            name: text,
            value: None,
        },
        SuggestionField::TagValue(name) => {
            let Some(name) = SearchText::new(name) else {
                return Ok(0);
            };
            Term::Tag {
                name,
                value: Some(text),
            }
        }
    };
    let expr = Plan::from_query(&single_term_query(term), connection)?.expr;
    if expr == FtsExpr::Nothing {
        return Ok(0);
    }
    let most = Suggestion::MAX_EMAILS.cast_signed();
    Ok(count_up_to(&expr, most, connection)?.unsigned_abs())
}

pub(super) fn single_term_query(term: Term) -> Query {
    Query {
        filter: Node::Term(term),
        sort: SortOrder::Newest,
    }
}
