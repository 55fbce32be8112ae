//! Possible meanings of a condition without a match: names and addresses of
//! recipients, numbers, and dates.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::fts_expr::FtsExpr;
use super::scan::Scan;
use super::suggest::{SAMPLED_EMAILS, recent_values};
use super::tokens::{self, encode_token, prefix};
use super::vocabulary::{count_up_to, create_terms, next_token};
use crate::archive::listing::{Direction, TOP};
use crate::archive::storage::db::Connection;
use crate::archive::window::RowSource as _;
use crate::error::Result;
use crate::query::normalize::{normalize, split_words};
use crate::query::{DateExpr, Field, Node, Query, SearchText, Term, quote_value};
use crate::text::format::{max_typos, suggest};

/// Shorter words have too many others near to them.
const MIN_LETTERS: usize = 4;
/// Numbers with fewer digits are in too many emails.
const MIN_DIGITS: usize = 3;
/// Numbers with more digits have no other form.
const MAX_DIGITS: usize = 10;
/// Fewer words are searched for as they are.
const MIN_PASTED_WORDS: usize = 3;
/// Names that are offered for one word.
const MAX_NAMES: usize = 2;

/// Why nothing matches all conditions of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Unmatched {
    /// Conditions that match nothing by themselves; none if there is only one.
    pub(crate) conditions: Vec<String>,
    /// Names and addresses that are near to those in a condition;
    /// other forms of its number; the condition on its date.
    pub(crate) nearest: Vec<String>,
    /// Whether `nearest` may be meant by the whole query, and not by one condition.
    pub(crate) is_whole: bool,
    /// The time of the oldest email in the list of the service, if all were searched.
    pub(crate) oldest_listed: Option<Timestamp>,
}

impl Unmatched {
    /// Returns a line for users about each of the two.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let alone = match self.conditions.as_slice() {
            [] => None,
            [one] => Some(format!("{one} matches nothing by itself")),
            _ if self.is_whole => None,
            all => Some(format!(
                "neither {} matches anything by itself",
                all.join(" nor ")
            )),
        };
        let meant = format!("did you mean {}?", self.nearest.join(" or "));
        let meant = Some(meant).filter(|_| !self.nearest.is_empty());
        alone.into_iter().chain(meant)
    }
}

/// Finds what the text of a condition may mean: a date, the same number in another form,
/// or the recipients that it is nearest to.
pub(super) fn find_nearest(node: &Node, connection: &Connection) -> Result<Vec<String>> {
    let Node::Term(term) = node else {
        return Ok(Vec::new());
    };
    if let Some(date) = find_date(term) {
        return Ok(vec![date]);
    }
    if let Some(number) = find_number(term, connection)? {
        return Ok(vec![number]);
    }
    find_recipients(term, connection)
}

/// Finds the only address or number in the words of a pasted text, among those that
/// match by themselves.
pub(super) fn find_reference(nodes: &[Node], matching: &[&Node]) -> Option<String> {
    let is_word = |node: &Node| matches!(node, Node::Term(Term::Word(_)));
    if nodes.len() < MIN_PASTED_WORDS || !nodes.iter().all(is_word) {
        return None;
    }
    let is_digit = |c: &char| c.is_ascii_digit();
    let is_reference =
        |text: &String| text.contains('@') || text.chars().filter(is_digit).count() >= MIN_DIGITS;
    let texts = matching.iter().map(ToString::to_string);
    let mut references: BTreeSet<String> = texts.filter(is_reference).collect();
    references.pop_first().filter(|_| references.is_empty())
}

/// Returns the condition on the time for a word that is a date.
///
/// A year is more often a number, and an age means since then.
fn find_date(term: &Term) -> Option<String> {
    let Term::Word(text) = term else {
        return None;
    };
    let date = DateExpr::parse(text.text())?;
    let operator = match date {
        DateExpr::Year(_) => return None,
        DateExpr::Relative(..) => "after",
        _ => "on",
    };
    Some(format!("{operator}:{}", quote_value(&date.to_string())))
}

/// Finds the number in a condition with more or fewer zeros before it, or alone.
///
/// Something must have that and no longer number.
/// A body is searched by the starts of its words, so `4711` is not found in `ORD-004711`.
/// Without its letters, a number with fewer digits than were typed would be another one.
fn find_number(term: &Term, connection: &Connection) -> Result<Option<String>> {
    let (Term::Word(text) | Term::Text(_, text)) = term else {
        return Ok(None);
    };
    let numbers = text.normalized().split(|c: char| !c.is_ascii_digit());
    let number = numbers
        .max_by_key(|number| number.len())
        .unwrap_or_default();
    let digits = number.trim_start_matches('0');
    if text.normalized().contains('@') || !(MIN_DIGITS..=MAX_DIGITS).contains(&digits.len()) {
        return Ok(None);
    }
    let with_zeros = (digits.len()..=MAX_DIGITS).map(|length| format!("{digits:0>length$}"));
    let numbers = [number.to_owned()].into_iter().chain(with_zeros);
    let has_letters = text.normalized().contains(char::is_alphabetic);
    let whole = numbers
        .clone()
        .filter(|_| has_letters)
        .map(|form| text.text().replacen(number, &form, 1));
    let is_last = text.normalized().ends_with(number);
    let alone = numbers.filter(|form| !has_letters || is_last && form.len() >= number.len());
    let node = |form: &str| {
        let text = SearchText::new(form)?;
        Some(Node::Term(match term {
            Term::Text(field, _) => Term::Text(*field, text),
            _ => Term::Word(text),
        }))
    };
    let typed = Node::Term(term.clone());
    for form in whole.chain(alone) {
        let Some(found) = node(&form).filter(|found| *found != typed) else {
            continue;
        };
        let longer = (0..=9).filter_map(|digit| node(&format!("{form}{digit}")));
        let query = Query {
            filter: Node::all([found, Node::any(longer).negated()]),
            ..Query::match_all()
        };
        if Scan::new(connection, &query)?.count_matches(Direction::Older, TOP, 1)? > 0 {
            return Ok(Some(form));
        }
    }
    Ok(None)
}

/// Finds the recipients that the text of a condition is nearest to.
fn find_recipients(term: &Term, connection: &Connection) -> Result<Vec<String>> {
    let (Term::Word(text)
    | Term::Recipient(text)
    | Term::Text(Field::To | Field::Cc | Field::Bcc | Field::Any, text)) = term
    else {
        return Ok(Vec::new());
    };
    let text = text.normalized();
    let before_domain = text.split('@').next().unwrap_or_default();
    if before_domain.chars().count() > tokens::MAX_WORD_CHARS {
        return Ok(Vec::new());
    }
    let mut addresses = Vec::new();
    for word in split_words(before_domain) {
        let word = tokens::letters_and_spaces(word);
        let names = find_names(word, connection)?;
        if word == text {
            return Ok(names.into_iter().filter(|name| name != word).collect());
        }
        for name in names {
            let emails = recent_values(connection, Field::To, &name, SAMPLED_EMAILS, |address| {
                &address.email
            })?;
            addresses.extend(emails);
        }
    }
    let is_address = text.contains('@');
    let known = addresses.iter().map(|email| match email.split_once('@') {
        Some((local, _)) if !is_address => local,
        _ => email,
    });
    let nearest = suggest(text, known);
    Ok(nearest.map(str::to_owned).into_iter().collect())
}

/// Finds the names of recipients that differ from a word in one or two letters, the
/// nearest and then the most frequent first; itself, too.
///
/// A name that only starts with a word with one difference may have a second one, where the
/// database has a list of tokens.
fn find_names(word: &str, connection: &Connection) -> Result<Vec<String>> {
    if word.chars().count() < MIN_LETTERS {
        return Ok(Vec::new());
    }
    let starts: Vec<String> = edits(word)
        .iter()
        .map(|start| encode_token(prefix::RECIPIENT_WORD, start.chars()))
        .collect();
    let found = if create_terms(connection)? {
        find_first_tokens(&starts, connection)?
    } else {
        find_recent_tokens(starts, connection)?
    };
    let mut names = Vec::new();
    for token in found {
        let name = token[prefix::RECIPIENT_WORD.len_utf8()..].to_owned();
        let distance = strsim::osa_distance(word, &name);
        if distance <= max_typos(word) {
            let emails = count_up_to(&FtsExpr::Token(token), 1000, connection)?;
            names.push((distance, Reverse(emails), name));
        }
    }
    names.sort_unstable();
    names.truncate(MAX_NAMES);
    Ok(names.into_iter().map(|(_, _, name)| name).collect())
}

/// Finds the first token of each start.
///
/// The starts are looked up one after the other, and the tokens in between are skipped: that takes
/// as long in a large archive as in a small one.
fn find_first_tokens(starts: &[String], connection: &Connection) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut token = String::new();
    let end = char::from(prefix::RECIPIENT_WORD as u8 + 1).to_string();
    for start in starts {
        if token < *start {
            match next_token(start, &end, connection)? {
                Some(next) => token = next,
                None => break,
            }
        }
        if token.starts_with(start) {
            found.insert(token.clone());
        }
    }
    Ok(found)
}

/// Finds the tokens of the newest emails that have one of these,
/// where the database has no list of tokens.
fn find_recent_tokens(wanted: Vec<String>, connection: &Connection) -> Result<BTreeSet<String>> {
    let query = Query::match_all();
    let mut scan = Scan::new(connection, &query)?;
    scan.plan.expr = FtsExpr::or(wanted.into_iter().map(FtsExpr::Token));
    let mut found = BTreeSet::new();
    for row in scan.rows(Direction::Older, TOP, SAMPLED_EMAILS)? {
        for address in row.summary.recipients() {
            let normalized = normalize(&address.to_string());
            let before_domain = normalized.split('@').next().unwrap_or_default();
            let names = split_words(before_domain).map(tokens::letters_and_spaces);
            found.extend(names.map(|name| encode_token(prefix::RECIPIENT_WORD, name.chars())));
        }
    }
    Ok(found)
}

/// Returns a word and all with one letter less, more or exchanged, and with two
/// neighbours exchanged, in the order of the index.
fn edits(word: &str) -> BTreeSet<String> {
    let chars: Vec<char> = word.chars().collect();
    let letters: BTreeSet<char> = ('a'..='z').chain(chars.iter().copied()).collect();
    let joined = |parts: [&[char]; 3]| parts.concat().into_iter().collect::<String>();
    let mut words = BTreeSet::from([word.to_owned()]);
    for at in 0..=chars.len() {
        let (before, after) = chars.split_at(at);
        let rest = after.get(1..).unwrap_or_default();
        words.extend(letters.iter().flat_map(|letter| {
            [
                joined([before, &[*letter], after]),
                joined([before, &[*letter], rest]),
            ]
        }));
        words.insert(joined([before, &[], rest]));
        if let [one, other, rest @ ..] = after {
            words.insert(joined([before, &[*other, *one], rest]));
        }
    }
    words
}
