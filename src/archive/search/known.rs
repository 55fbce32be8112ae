//! What could be typed, from the archive: addresses, domains, statuses and tags that occur.

use std::cmp::Reverse;
use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::count::TOKENS;
use super::label;
use super::plan::{Ask, Plan};
use super::walk::{Walk, Way};
use crate::archive::Archive;
use crate::archive::window::TOP;
use crate::failure::Failure;
use crate::mail::{Address, Shown, Status, Summary};
use crate::query::fold::fold;
use crate::query::{Field, Known, KnownValue, Needle, Node, Query, Sort, Source, Term};

/// So many of the newest emails that hold what is typed are looked at for addresses and domains.
const RECENT: usize = 200;

/// Emails are counted up to here; nobody chooses between two that occur more often.
const COUNTED: i64 = 1000;

impl Known for Archive {
    /// Addresses and domains are those of recent mail. Numbers are the index's, which may count a few
    /// too many, and end at a thousand.
    fn values(&self, source: Source<'_>, part: &str, limit: usize) -> Vec<KnownValue> {
        let part = fold(part);
        let found = self.connections.read(|connection| {
            let texts = match source {
                Source::Address(field) => {
                    recent(connection, field, &part, limit, |address| &address.email)?
                }
                Source::Domain => recent(connection, Field::To, &part, limit, Address::domain)?,
                Source::Status => labelled(connection, label::STATUS, &part)?,
                Source::TagName => labelled(connection, label::TAG, &part)?,
                Source::TagValue(name) => labelled(connection, &label::value_of(name), &part)?,
            };
            let counted = |text: Shown| {
                Ok(KnownValue {
                    emails: count(connection, source, &text)?,
                    text,
                })
            };
            texts
                .into_iter()
                .map(counted)
                .collect::<Result<Vec<_>, Failure>>()
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
fn recent(
    connection: &Connection,
    field: Field,
    part: &str,
    limit: usize,
    of: fn(&Address) -> &str,
) -> Result<Vec<Shown>, Failure> {
    let query =
        Needle::new(part).map_or_else(Query::everything, |needle| only(Term::Text(field, needle)));
    let mut times: HashMap<String, usize> = HashMap::new();
    for row in Walk::new(connection, &query)?.rows(Way::Down, TOP, RECENT)? {
        for value in addresses(field, &row.summary)
            .into_iter()
            .map(of)
            .filter(|value| !value.is_empty() && fold(value).contains(part))
        {
            *times.entry(value.to_owned()).or_default() += 1;
        }
    }
    let mut texts: Vec<(String, usize)> = times.into_iter().collect();
    texts.sort_unstable_by(|(one, once), (other, twice)| {
        (Reverse(once), one).cmp(&(Reverse(twice), other))
    });
    texts.truncate(limit);
    Ok(texts.iter().map(|(text, _)| Shown::new(text)).collect())
}

fn addresses(field: Field, mail: &Summary) -> Vec<&Address> {
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

fn labelled(connection: &Connection, kind: &str, part: &str) -> Result<Vec<Shown>, Failure> {
    let labels = label::all(connection, kind)?.into_iter();
    Ok(labels
        .map(|(_, text)| Shown::new(&text))
        .filter(|text| fold(text).contains(part))
        .collect())
}

/// In how many emails a value occurs.
fn count(connection: &Connection, source: Source<'_>, text: &str) -> Result<u64, Failure> {
    let Some(needle) = Needle::new(text) else {
        return Ok(0);
    };
    let term = match source {
        Source::Address(field) => Term::Text(field, needle),
        Source::Domain => Term::Domain(needle),
        Source::Status => Term::Status(vec![
            Status::KNOWN
                .into_iter()
                .find(|known| known.word() == text)
                .unwrap_or_else(|| Status::parse(text)),
        ]),
        Source::TagName => Term::Tag {
            name: needle,
            value: None,
        },
        Source::TagValue(name) => {
            let Some(name) = Needle::new(name) else {
                return Ok(0);
            };
            Term::Tag {
                name,
                value: Some(needle),
            }
        }
    };
    let ask = Plan::of(&only(term), connection)?.ask;
    if ask == Ask::Nothing {
        return Ok(0);
    }
    let count: i64 = connection
        .prepare_cached(TOKENS)?
        .query_row(params![ask.text(), COUNTED], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

fn only(term: Term) -> Query {
    Query {
        filter: Node::Term(term),
        sort: Sort::Newest,
    }
}
