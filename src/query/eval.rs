//! Reference evaluator over one email; the index search must agree with it.

use jiff::Timestamp;

use crate::mail::{Address, Status, Summary, Tag};

use super::ast::{EmailClass, EmailPart, Field, Node, Query, Term};
use super::normalize::{SearchText, normalize};

/// The fields of one email that a query reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmailDocument<'a> {
    pub(crate) summary: &'a Summary,
    /// `None` if they were never fetched.
    pub(crate) bodies: Option<BodyTexts<'a>>,
    /// `None` if they were never fetched.
    pub(crate) tags: Option<&'a [Tag]>,
    /// The last observed change of the status; `None` if there was none.
    pub(crate) seen_change: Option<Timestamp>,
    /// Whether the service no longer lists the email.
    pub(crate) is_missing_upstream: bool,
}

/// The bodies of one email as plain text; `None` for a part that it lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BodyTexts<'a> {
    pub(crate) text: Option<&'a str>,
    /// The visible text of the html part.
    pub(crate) html: Option<&'a str>,
}

/// Checks whether the email matches.
///
/// Returns `None` if that depends on a part that was never fetched: then neither the query nor its
/// negation matches.
pub(crate) fn matches(query: &Query, document: &EmailDocument<'_>) -> Option<bool> {
    eval_node(&query.filter, document)
}

/// Applies Kleene's logic: unknown stays unknown unless other operands decide.
fn eval_node(node: &Node, document: &EmailDocument<'_>) -> Option<bool> {
    match node {
        Node::And(nodes) => eval_group(false, nodes, document),
        Node::Or(nodes) => eval_group(true, nodes, document),
        Node::Not(inner) => eval_node(inner, document).map(|found| !found),
        Node::Term(term) => eval_term(term, document),
    }
}

fn eval_group(decisive: bool, nodes: &[Node], document: &EmailDocument<'_>) -> Option<bool> {
    let mut result = Some(!decisive);
    for member in nodes {
        match eval_node(member, document) {
            Some(found) if found == decisive => return Some(decisive),
            Some(_) => {}
            None => result = None,
        }
    }
    result
}

fn eval_term(term: &Term, document: &EmailDocument<'_>) -> Option<bool> {
    let mail = document.summary;
    let created = mail.created.parsed;
    let is_equal = |search: &SearchText, text: &str| normalize(text) == search.normalized();
    match term {
        Term::Word(text) => Some(matches_word(text, document)),
        Term::Text(field, text) => eval_field(*field, text, document),
        Term::Recipient(text) => {
            let mut recipients = mail.recipients();
            Some(recipients.any(|address| is_equal(text, &address.email)))
        }
        Term::Domain(text) => {
            let mut recipients = mail.recipients();
            Some(recipients.any(|address| is_equal(text, address.domain())))
        }
        Term::Status(statuses) => {
            let label = normalize(mail.status.label());
            let mut labels = statuses.iter().map(|status| normalize(status.label()));
            Some(labels.any(|searched| searched == label))
        }
        Term::Is(EmailClass::Trouble) => Some(mail.status.is_problem()),
        Term::Is(EmailClass::Scheduled) => Some(mail.status == Status::Scheduled),
        Term::Is(EmailClass::Gone) => Some(document.is_missing_upstream),
        Term::Has(part) => eval_has(*part, document),
        Term::Tag { name, value } => document.tags.map(|tags| {
            tags.iter().any(|tag| {
                let has_value = |value| is_equal(value, &tag.value);
                is_equal(name, &tag.name) && value.as_ref().is_none_or(has_value)
            })
        }),
        Term::After(range) => created.map(|created| created >= range.start),
        Term::Before(range) => created.map(|created| created < range.start),
        Term::On(range) => created.map(|created| range.start <= created && created < range.end),
        Term::SeenChange(range) => {
            let seen = document.seen_change;
            Some(seen.is_some_and(|seen| seen >= range.start))
        }
    }
}

/// Searches every part that is known.
///
/// A part that was never fetched does not match: otherwise `-word` would match nothing until every
/// body is fetched.
fn matches_word(text: &SearchText, document: &EmailDocument<'_>) -> bool {
    let mail = document.summary;
    matches_addresses(Field::Any, text, mail)
        || text.is_substring_of(&normalize(&mail.subject))
        || normalize(mail.id.as_str()) == text.normalized()
        || is_message_id(&normalize(&mail.message_id), text)
        || document
            .bodies
            .is_some_and(|bodies| matches_bodies(text, &bodies))
}

fn eval_field(field: Field, text: &SearchText, document: &EmailDocument<'_>) -> Option<bool> {
    let mail = document.summary;
    match field {
        Field::To | Field::From | Field::Cc | Field::Bcc | Field::ReplyTo | Field::Any => {
            Some(matches_addresses(field, text, mail))
        }
        Field::Subject => Some(text.is_substring_of(&normalize(&mail.subject))),
        Field::Body => document.bodies.map(|bodies| matches_bodies(text, &bodies)),
        Field::Id => Some(normalize(mail.id.as_str()).starts_with(text.normalized())),
        Field::MessageId => {
            let id = normalize(&mail.message_id);
            let start = text.normalized().trim_start_matches('<');
            Some(!id.is_empty() && id.trim_start_matches('<').starts_with(start))
        }
    }
}

fn matches_addresses(field: Field, text: &SearchText, mail: &Summary) -> bool {
    field
        .addresses(mail)
        .any(|address| text.is_substring_of(&normalize(&address.to_string())))
}

impl Field {
    /// Returns the addresses in the field; none if it holds no addresses.
    pub(crate) fn addresses(self, mail: &Summary) -> impl Iterator<Item = &Address> {
        let from = std::slice::from_ref(&mail.from);
        let none: &[Address] = &[];
        let lists: [&[Address]; 5] = match self {
            Self::To => [&mail.to, none, none, none, none],
            Self::From => [from, none, none, none, none],
            Self::Cc => [&mail.cc, none, none, none, none],
            Self::Bcc => [&mail.bcc, none, none, none, none],
            Self::ReplyTo => [&mail.reply_to, none, none, none, none],
            Self::Any => [&mail.to, from, &mail.cc, &mail.bcc, &mail.reply_to],
            Self::Subject | Self::Body | Self::Id | Self::MessageId => [none; 5],
        };
        lists.into_iter().flatten()
    }
}

fn eval_has(part: EmailPart, document: &EmailDocument<'_>) -> Option<bool> {
    let (mail, bodies) = (document.summary, document.bodies);
    match part {
        EmailPart::Cc => Some(!mail.cc.is_empty()),
        EmailPart::Bcc => Some(!mail.bcc.is_empty()),
        EmailPart::ReplyTo => Some(!mail.reply_to.is_empty()),
        EmailPart::Text => bodies.map(|bodies| bodies.text.is_some()),
        EmailPart::Html => bodies.map(|bodies| bodies.html.is_some()),
        EmailPart::Body => bodies.map(|bodies| bodies.text.is_some() || bodies.html.is_some()),
        EmailPart::Tag => document.tags.map(|tags| !tags.is_empty()),
    }
}

fn matches_bodies(text: &SearchText, bodies: &BodyTexts<'_>) -> bool {
    [bodies.text, bodies.html]
        .into_iter()
        .flatten()
        .any(|body| text.matches_words_of(&normalize(body)))
}

/// Compares message ids, which mail programs copy with or without brackets.
fn is_message_id(id: &str, text: &SearchText) -> bool {
    let trim = |id: &str| id.trim_matches(['<', '>']).to_owned();
    !id.is_empty() && trim(id) == trim(text.normalized())
}
