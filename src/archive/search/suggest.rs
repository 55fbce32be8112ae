//! What could be typed, from the archive: addresses, domains, statuses and tags that occur.

use std::cmp::Reverse;
use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::count::COUNT_MATCHES;
use super::interned;
use super::plan::{FtsExpr, Plan};
use super::scan::{Direction, Scan};
use crate::archive::Archive;
use crate::archive::window::TOP;
use crate::error::Error;
use crate::mail::{Address, SafeText, Status, Summary};
use crate::query::normalize::normalize;
use crate::query::{
    Field, Node, Query, SearchText, SortOrder, Suggestion, SuggestionField, SuggestionSource, Term,
};

/// So many of the newest emails that hold what is typed are looked at for addresses and domains.
const SAMPLED_EMAILS: usize = 200;

/// Emails are counted up to here; nobody chooses between two that occur more often.
const MAX_COUNT: i64 = 1000;

impl SuggestionSource for Archive {
    /// Addresses and domains are those of recent mail. Numbers are the index's, which may count a few
    /// too many, and end at a thousand.
    fn suggest(&self, source: SuggestionField<'_>, part: &str, limit: usize) -> Vec<Suggestion> {
        let part = normalize(part);
        let found = self.connections.read(|connection| {
            let texts = match source {
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
            let counted = |text: SafeText| {
                Ok(Suggestion {
                    emails: count_emails_with(connection, source, &text)?,
                    text,
                })
            };
            texts
                .into_iter()
                .map(counted)
                .collect::<Result<Vec<_>, Error>>()
        });
        // Whoever types does without an offer if the archive has none to give.
        let mut known = found.unwrap_or_default();
        known.retain(|value| value.emails > 0);
        known.sort_by(|one, other| {
            other
                .emails
                .cmp(&one.emails)
                .then_with(|| one.text.cmp(&other.text))
        });
        known.truncate(limit);
        known
    }
}

/// What the newest emails have that hold `part`, the most frequent among them.
fn recent_values(
    connection: &Connection,
    field: Field,
    part: &str,
    limit: usize,
    of: fn(&Address) -> &str,
) -> Result<Vec<SafeText>, Error> {
    let query = SearchText::new(part).map_or_else(Query::match_all, |needle| {
        single_term_query(Term::Text(field, needle))
    });
    let mut times: HashMap<String, usize> = HashMap::new();
    for row in Scan::new(connection, &query)?.collect_rows(Direction::Older, TOP, SAMPLED_EMAILS)? {
        for value in field_addresses(field, &row.summary)
            .into_iter()
            .map(of)
            .filter(|value| !value.is_empty() && normalize(value).contains(part))
        {
            *times.entry(value.to_owned()).or_default() += 1;
        }
    }
    let mut texts: Vec<(String, usize)> = times.into_iter().collect();
    texts.sort_unstable_by(|(one, once), (other, twice)| {
        (Reverse(once), one).cmp(&(Reverse(twice), other))
    });
    texts.truncate(limit);
    Ok(texts.iter().map(|(text, _)| SafeText::new(text)).collect())
}

fn field_addresses(field: Field, mail: &Summary) -> Vec<&Address> {
    match field {
        Field::To => mail.to.iter().collect(),
        Field::From => vec![&mail.from],
        Field::Cc => mail.cc.iter().collect(),
        Field::Bcc => mail.bcc.iter().collect(),
        Field::ReplyTo => mail.reply_to.iter().collect(),
        Field::Any => mail
            .to
            .iter()
            .chain(&mail.cc)
            .chain(&mail.bcc)
            .chain(&mail.reply_to)
            .chain([&mail.from])
            .collect(),
        Field::Subject | Field::Body | Field::Id | Field::MessageId => Vec::new(),
    }
}

fn interned_values(
    connection: &Connection,
    kind: &str,
    part: &str,
) -> Result<Vec<SafeText>, Error> {
    let labels = interned::all_of_kind(connection, kind)?.into_iter();
    Ok(labels
        .map(|(_, text)| SafeText::new(&text))
        .filter(|text| normalize(text).contains(part))
        .collect())
}

/// In how many emails a value occurs.
fn count_emails_with(
    connection: &Connection,
    source: SuggestionField<'_>,
    text: &str,
) -> Result<u64, Error> {
    let Some(needle) = SearchText::new(text) else {
        return Ok(0);
    };
    let term = match source {
        SuggestionField::Address(field) => Term::Text(field, needle),
        SuggestionField::Domain => Term::Domain(needle),
        SuggestionField::Status => Term::Status(vec![
            Status::KNOWN
                .into_iter()
                .find(|known| known.label() == text)
                .unwrap_or_else(|| Status::parse(text)),
        ]),
        SuggestionField::TagName => Term::Tag {
            name: needle,
            value: None,
        },
        SuggestionField::TagValue(name) => {
            let Some(name) = SearchText::new(name) else {
                return Ok(0);
            };
            Term::Tag {
                name,
                value: Some(needle),
            }
        }
    };
    let ask = Plan::from_query(&single_term_query(term), connection)?.expr;
    if ask == FtsExpr::Nothing {
        return Ok(0);
    }
    let count: i64 = connection
        .prepare_cached(COUNT_MATCHES)?
        .query_row(params![ask.to_match_text(), MAX_COUNT], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

fn single_term_query(term: Term) -> Query {
    Query {
        filter: Node::Term(term),
        sort: SortOrder::Newest,
    }
}
