//! Operators: one table of names, descriptions and examples, their values parsed,
//! and back to text.

use std::fmt;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::mail::{Mailbox, SafeText, Status};
use crate::text::format::suggest;

use super::ast::{EmailClass, EmailPart, Field, Node, Query, SortOrder, Term, TimeOperator};
use super::date::{DateExpr, TimeRange};
use super::lines::parse_list;
use super::normalize::{SearchText, normalize};
use super::words::{
    closing_quotes, is_keyword, is_punctuation, trim_address, trim_part, trim_word,
};

/// The name before a colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operator {
    Text(Field),
    Recipient,
    Domain,
    Status,
    Is,
    Has,
    Tag,
    Time(TimeOperator),
    Sort,
}

struct OperatorRow {
    operator: Operator,
    name: &'static str,
    description: &'static str,
    example: &'static str,
}

const fn row(
    operator: Operator,
    name: &'static str,
    description: &'static str,
    example: &'static str,
) -> OperatorRow {
    OperatorRow {
        operator,
        name,
        description,
        example,
    }
}

/// Every operator, in the order in which completion offers them.
#[rustfmt::skip] // one operator a line
const OPERATORS: [OperatorRow; 22] = [
    row(Operator::Text(Field::To), "to", "part of a recipient's name or address; several with commas", "to:ana@example.com"),
    row(Operator::Text(Field::From), "from", "part of the sender's name or address", "from:billing"),
    row(Operator::Text(Field::Subject), "subject", "part of the subject", "subject:\"your receipt\""),
    row(Operator::Status, "status", "delivery status; several with commas", "status:bounced,delayed"),
    row(Operator::Is, "is", "trouble, scheduled, gone from the service, or any status", "is:trouble"),
    row(Operator::Domain, "domain", "a recipient's whole domain", "domain:example.org"),
    row(Operator::Time(TimeOperator::After), "after", "sent then or later", "after:7d"),
    row(Operator::Time(TimeOperator::Before), "before", "sent earlier than that", "before:2026-11-02"),
    row(Operator::Time(TimeOperator::On), "on", "sent in that year, month, week, day, minute or second", "on:yesterday"),
    row(Operator::Tag, "tag", "tag name, optionally with a value", "tag:category=receipt"),
    row(Operator::Text(Field::Body), "body", "start of a word in a downloaded body", "body:refund"),
    row(Operator::Text(Field::Reason), "reason", "part of what is known of a bounce", "reason:\"mailbox full\""),
    row(Operator::Text(Field::Any), "any", "part of any address: to, from, cc, bcc, reply-to", "any:ana"),
    row(Operator::Recipient, "recipient", "a recipient's whole address: to, cc or bcc", "recipient:ana@example.com"),
    row(Operator::Text(Field::Cc), "cc", "part of a cc recipient", "cc:team@example.org"),
    row(Operator::Text(Field::Bcc), "bcc", "part of a bcc recipient", "bcc:archive"),
    row(Operator::Text(Field::ReplyTo), "reply-to", "part of the reply-to address", "reply-to:help"),
    row(Operator::Has, "has", "has this part", "has:cc"),
    row(Operator::Time(TimeOperator::SeenChange), "seen-change", "its status was seen to change then or later", "seen-change:1d"),
    row(Operator::Text(Field::Id), "id", "start of the id", "id:49a3999c"),
    row(Operator::Text(Field::MessageId), "message-id", "start of the message id", "message-id:111-222-333"),
    row(Operator::Sort, "sort", "newest or oldest first", "sort:oldest"),
];

impl Operator {
    /// Returns every operator, the most useful first.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        OPERATORS.iter().map(|row| row.operator)
    }

    /// Finds the operator of that name; ignores case.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let mut rows = OPERATORS.iter();
        let row = rows.find(|row| row.name.eq_ignore_ascii_case(name));
        row.map(|row| row.operator)
    }

    pub(crate) fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether commas in its value separate several, of which any may match.
    pub(super) const fn takes_list(self) -> bool {
        matches!(self, Self::Status) || self.takes_addresses()
    }

    pub(super) const fn takes_addresses(self) -> bool {
        match self {
            Self::Text(field) => field.has_addresses(),
            _ => matches!(self, Self::Recipient | Self::Domain),
        }
    }

    /// Whether a part of the field matches its value.
    pub(super) const fn is_part(self) -> bool {
        matches!(self, Self::Text(_))
    }

    pub(crate) fn description(self) -> &'static str {
        self.row().description
    }

    pub(crate) fn example(self) -> &'static str {
        self.row().example
    }

    fn row(self) -> &'static OperatorRow {
        let mut rows = OPERATORS.iter();
        rows.find(|row| row.operator == self)
            .expect("every operator is in the table")
    }
}

/// The names of operators in other programs, each list with our name.
const OTHER_NAMES: [(&str, &str); 7] = [
    ("since newer newer_than", "after"),
    ("until older older_than", "before"),
    ("date day", "on"),
    ("event state last_event", "status"),
    ("sender", "from"),
    ("label category", "tag"),
    ("title", "subject"),
];

/// Returns a message if the part of `word` before its colon is nearly the name of
/// an operator.
pub(super) fn near_operator(word: &str) -> Option<String> {
    let (name, value) = word.split_once(':')?;
    if name.len() < 3 || value.is_empty() || value.starts_with('/') {
        return None;
    }
    let other = OTHER_NAMES.iter().find(|(others, _)| {
        let mut others = others.split(' ');
        others.any(|other| name.eq_ignore_ascii_case(other))
    });
    let near = || suggest(name, OPERATORS.iter().map(|row| row.name));
    let meant = other.map(|(_, name)| *name).or_else(near)?;
    Some(format!("searched for as a word: did you mean {meant}:?"))
}

/// The fewest letters of a status after a negation, as in `unsent`.
const MIN_STATUS_START: usize = 4;

/// The message for text without a character that can be compared.
pub(super) const NO_TEXT: &str = "no text to search for";

/// The facts on which the meaning of a text depends.
#[derive(Debug, Clone)]
pub struct ParseContext {
    /// The current time, in the zone in which days are counted.
    pub(crate) now: Zoned,
    /// Which emails are searched.
    pub(crate) mailbox: Mailbox,
}

impl ParseContext {
    /// Returns the context for the instant `now` in `zone`.
    #[must_use]
    pub fn new(now: Timestamp, zone: TimeZone) -> Self {
        Self {
            now: now.to_zoned(zone),
            mailbox: Mailbox::Sent,
        }
    }

    /// Returns the context for a search of these emails.
    #[must_use]
    pub(crate) fn with_mailbox(self, mailbox: Mailbox) -> Self {
        Self { mailbox, ..self }
    }
}

/// The meaning of an operator with its value.
pub(super) enum ParsedValue {
    Term(Term),
    Sort(SortOrder),
}

/// Parses the value of `operator`; the error is a message for the user.
pub(super) fn parse_value(
    operator: Operator,
    text: &str,
    context: &ParseContext,
) -> Result<ParsedValue, String> {
    let search_text = |text: &str| SearchText::new(text).ok_or_else(|| NO_TEXT.to_owned());
    let term = match operator {
        Operator::Text(Field::Id) => {
            let id = text.trim_start_matches('<').trim_end_matches('>');
            Term::Text(Field::Id, search_text(id)?)
        }
        Operator::Text(field) => Term::Text(field, search_text(text)?),
        Operator::Recipient => Term::Recipient(search_text(text)?),
        Operator::Domain => Term::Domain(search_text(
            text.trim_start_matches(|c: char| c == '@' || c.is_whitespace()),
        )?),
        Operator::Status => Term::Status(parse_statuses(text)?),
        Operator::Is => parse_class(text)?,
        Operator::Has => Term::Has(parse_keyword(text, EmailPart::ALL, EmailPart::as_str)?),
        Operator::Tag => {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            Term::Tag {
                name: search_text(name)?,
                value: SearchText::new(value),
            }
        }
        Operator::Time(operator) => {
            let resolve = match operator {
                TimeOperator::On => DateExpr::resolve_range,
                _ => DateExpr::resolve,
            };
            Term::Time(operator, parse_time(text, &context.now, resolve)?)
        }
        Operator::Sort => {
            let sort = parse_keyword(text, SortOrder::ALL, SortOrder::as_str)?;
            return Ok(ParsedValue::Sort(sort));
        }
    };
    if context.mailbox == Mailbox::Received && term.needs_status() {
        return Err("received mail has no status".to_owned());
    }
    Ok(ParsedValue::Term(term))
}

/// Returns the statuses that this version does not know, each with a message.
///
/// Such a status is searched for, since the service may have new ones, but more often it is a typo.
pub(super) fn status_warnings(term: &Term) -> Vec<(Status, String)> {
    let Term::Status(statuses) = term else {
        return Vec::new();
    };
    let is_one = statuses.len() == 1;
    let warning = |status: &Status| Some((status.clone(), unknown_status_message(status, is_one)?));
    statuses.iter().filter_map(warning).collect()
}

/// Returns what is wrong with a status; with its name, unless it is the only one.
fn unknown_status_message(status: &Status, is_one: bool) -> Option<String> {
    let Status::Other(word) = status else {
        return None;
    };
    let name = if is_one {
        String::new()
    } else {
        format!(" `{word}`")
    };
    if EmailClass::ALL
        .iter()
        .any(|class| class.as_str() == &**word)
    {
        return Some(format!("unknown status{name}; did you mean is:{word}?"));
    }
    Some(match similar_status(word) {
        Some(known) => format!("unknown status{name}; did you mean {known}?"),
        None => format!("unknown status{name}; known are {}", known_statuses()),
    })
}

/// The known status that `word` begins, or that is spelt like it.
///
/// `undelivered` is the opposite of one: that mail has one of the statuses of `is:trouble`.
fn similar_status(word: &str) -> Option<&'static str> {
    let word = normalize(word);
    let denied = ["un", "not", "non"].into_iter().find_map(|negation| {
        let status = word.strip_prefix(negation)?.trim_start_matches('-');
        nearest_status(status).filter(|_| status.len() >= MIN_STATUS_START)
    });
    match denied {
        Some(denied) => (denied == Status::Delivered.label()).then_some("is:trouble"),
        None => nearest_status(&word),
    }
}

fn nearest_status(word: &str) -> Option<&'static str> {
    let mut labels = Status::KNOWN.iter().map(Status::label);
    let begun = labels.clone().find(|known| known.starts_with(word));
    begun.or_else(|| suggest(word, &mut labels))
}

fn known_statuses() -> String {
    join_with(" and ", Status::KNOWN.iter().map(Status::label))
}

fn parse_statuses(text: &str) -> Result<Vec<Status>, String> {
    let mut statuses = Vec::new();
    for status in text.split(',').filter_map(parse_status) {
        if !statuses.contains(&status) {
            statuses.push(status);
        }
    }
    if statuses.is_empty() {
        return Err(format!("no status given: known are {}", known_statuses()));
    }
    Ok(statuses)
}

/// Parses a status by its label or the service's own word; keeps any other word.
fn parse_status(text: &str) -> Option<Status> {
    let word = SearchText::new(&SafeText::new(text))?;
    let known = Status::KNOWN
        .into_iter()
        .chain([Status::Unknown])
        .find(|known| known.label() == word.normalized());
    Some(known.unwrap_or_else(|| match Status::parse(word.text()) {
        Status::Unknown | Status::Received => Status::Other(SafeText::new(word.text())),
        status => status,
    }))
}

/// Parses a class of emails, or a status: `is:bounced` is `status:bounced`.
fn parse_class(text: &str) -> Result<Term, String> {
    let class = parse_keyword(text, EmailClass::ALL, EmailClass::as_str).map(Term::Is);
    let status = parse_status(text).filter(|status| !matches!(status, Status::Other(_)));
    match (class, status) {
        (Err(_), Some(status)) => Ok(Term::Status(vec![status])),
        (class, _) => class.map_err(|expected| match similar_status(text) {
            Some(known) => format!("unknown status; did you mean {known}?"),
            None => format!("{expected}, or a status such as delivered"),
        }),
    }
}

fn parse_keyword<T: Copy, const N: usize>(
    text: &str,
    all: [T; N],
    as_str: fn(T) -> &'static str,
) -> Result<T, String> {
    let normalized = normalize(text);
    all.into_iter()
        .find(|value| as_str(*value) == normalized)
        .ok_or_else(|| {
            format!(
                "expected {}",
                join_with(" or ", all.into_iter().map(as_str))
            )
        })
}

fn parse_time(
    text: &str,
    now: &Zoned,
    resolve: fn(DateExpr, &Zoned) -> Option<TimeRange>,
) -> Result<TimeRange, String> {
    let text = text.trim();
    let date = DateExpr::parse_local(text, now).ok_or_else(|| {
        let parts: Vec<&str> = text.split(['/', '-']).collect();
        if parts.len() == 3 && parts.iter().all(|part| part.parse::<u16>().is_ok()) {
            "expected a date as 2026-11-27 or 27.11.2026".to_owned()
        } else if let Some(word) = DateExpr::suggest_word(text) {
            format!("unknown date; did you mean {word}?")
        } else {
            "expected a date such as 2026-11-02, 2 Nov, today, last-week, 09:30, 7d or 5min"
                .to_owned()
        }
    })?;
    resolve(date, now).ok_or_else(|| "date out of range".to_owned())
}

/// Joins words as in `a, b or c`, with ` or ` as the last separator.
fn join_with(last_separator: &str, words: impl IntoIterator<Item = &'static str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("{}{last_separator}{last}", others.join(", "))
        }
        _ => words.concat(),
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.filter)?;
        match self.sort {
            SortOrder::Newest => Ok(()),
            SortOrder::Oldest if self.is_match_all() => f.write_str("sort:oldest"),
            SortOrder::Oldest => f.write_str(" sort:oldest"),
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(nodes) => {
                for (index, node) in nodes.iter().enumerate() {
                    let space = if index > 0 { " " } else { "" };
                    match node {
                        Self::Or(_) => write!(f, "{space}({node})")?,
                        // It would be the day or the year of the date.
                        Self::Term(Term::Word(word))
                            if index > 0 && nodes[index - 1].ends_in_date_before(word.text()) =>
                        {
                            write!(f, "{space}{}", quote(word.text()))?;
                        }
                        Self::And(_) | Self::Not(_) | Self::Term(_) => write!(f, "{space}{node}")?,
                    }
                }
                Ok(())
            }
            Self::Or(nodes) => {
                for (index, node) in nodes.iter().enumerate() {
                    let keyword = if index > 0 { " or " } else { "" };
                    write!(f, "{keyword}{node}")?;
                }
                Ok(())
            }
            Self::Not(node) => match &**node {
                Self::And(_) | Self::Or(_) => write!(f, "-({node})"),
                Self::Not(_) | Self::Term(_) => write!(f, "-{node}"),
            },
            Self::Term(term) => write!(f, "{term}"),
        }
    }
}

impl Node {
    /// Whether the next word may be read as a part of the date at the end.
    fn ends_in_date_before(&self, word: &str) -> bool {
        match self {
            Self::Not(node) => matches!(**node, Self::Term(_)) && node.ends_in_date_before(word),
            Self::Term(Term::Time(_, range)) => range.expr.may_continue(word),
            _ => false,
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operator, value) = match self {
            Self::Word(word) => return f.write_str(&quote_word(word.text())),
            Self::Text(field, text) => (Operator::Text(*field), text.text().to_owned()),
            Self::Recipient(address) => (Operator::Recipient, address.text().to_owned()),
            Self::Domain(domain) => (Operator::Domain, domain.text().to_owned()),
            Self::Status(statuses) => {
                let labels: Vec<&str> = statuses.iter().map(Status::label).collect();
                (Operator::Status, labels.join(","))
            }
            Self::Is(class) => (Operator::Is, class.as_str().to_owned()),
            Self::Has(part) => (Operator::Has, part.as_str().to_owned()),
            Self::Tag { name, value: None } => (Operator::Tag, name.text().to_owned()),
            Self::Tag {
                name,
                value: Some(value),
            } => (Operator::Tag, format!("{}={}", name.text(), value.text())),
            Self::Time(operator, range) => (Operator::Time(*operator), range.expr.to_string()),
        };
        let is_list = value.contains(',') || trim_address(&value) != value;
        let is_changed = operator.takes_addresses() && is_list
            || operator.is_part() && trim_part(&value) != value;
        let value = if is_changed {
            quote(&value)
        } else {
            quote_value(&value)
        };
        write!(f, "{}:{value}", operator.name())
    }
}

/// Writes the value of an operator, in quotes if it needs them.
pub(crate) fn quote_value(text: &str) -> String {
    let is_syntax = |c: char| c.is_whitespace() || "\"()".contains(c);
    let needs_quotes = text.is_empty()
        || text.contains(is_syntax)
        || text.contains(|c| closing_quotes(c).is_some());
    if needs_quotes {
        quote(text)
    } else {
        text.to_owned()
    }
}

/// Writes a word, in quotes if it would otherwise be parsed as syntax.
fn quote_word(text: &str) -> String {
    let is_operator = text
        .split_once(':')
        .is_some_and(|(name, _)| Operator::from_name(name).is_some());
    // After a day it would be a time of that day.
    let is_time = text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(':');
    let is_changed = text.starts_with('-')
        || trim_word(text) != text
        || is_punctuation(text)
        || parse_list(text).is_some();
    if is_keyword(text) || is_operator || is_time || is_changed {
        quote(text)
    } else {
        quote_value(text)
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
