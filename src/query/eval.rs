//! The plain meaning of a query, over one email: the measure for every faster way to ask.

use jiff::Timestamp;

use crate::mail::{Address, Status, Summary, Tag};

use super::normalize::normalize;
use super::{EmailClass, EmailPart, Field, Node, Query, SearchText, Term};

/// What is known about one email.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmailDocument<'a> {
    /// What every listed email tells.
    pub(crate) summary: &'a Summary,
    /// Its bodies; `None` if they were never fetched.
    pub(crate) bodies: Option<BodyTexts<'a>>,
    /// Its tags; `None` if they were never fetched.
    pub(crate) tags: Option<&'a [Tag]>,
    /// When its status was last observed to change; `None` if it never was.
    pub(crate) seen_change: Option<Timestamp>,
    /// Whether the service was found to list it no more.
    pub(crate) is_missing_upstream: bool,
}

/// The bodies of one email, as text that can be read; `None` for a part that it lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BodyTexts<'a> {
    /// The plain-text part.
    pub(crate) text: Option<&'a str>,
    /// The visible text of the html part.
    pub(crate) html: Option<&'a str>,
}

/// Whether the email is found; `None` if that hangs on something that was never fetched, so that
/// neither the query nor its negation finds it.
#[must_use]
pub(crate) fn matches(query: &Query, facts: &EmailDocument<'_>) -> Option<bool> {
    eval_node(&query.filter, facts)
}

/// The logic of Kleene: what is unknown stays so unless the rest decides without it.
fn eval_node(node: &Node, facts: &EmailDocument<'_>) -> Option<bool> {
    match node {
        Node::And(nodes) => eval_group(false, nodes, facts),
        Node::Or(nodes) => eval_group(true, nodes, facts),
        Node::Not(inner) => self::eval_node(inner, facts).map(|found| !found),
        Node::Term(wanted) => eval_term(wanted, facts),
    }
}

fn eval_group(decisive: bool, nodes: &[Node], facts: &EmailDocument<'_>) -> Option<bool> {
    let mut verdict = Some(!decisive);
    for member in nodes {
        match eval_node(member, facts) {
            Some(found) if found == decisive => return Some(decisive),
            Some(_) => {}
            None => verdict = None,
        }
    }
    verdict
}

fn eval_term(term: &Term, facts: &EmailDocument<'_>) -> Option<bool> {
    let mail = facts.summary;
    let created = mail.created.parsed;
    match term {
        Term::Word(needle) => Some(matches_word(needle, facts)),
        Term::Text(wanted, needle) => eval_field(*wanted, needle, facts),
        Term::Recipient(needle) => Some(
            mail.recipients()
                .any(|address| normalize(&address.email) == needle.normalized()),
        ),
        Term::Domain(needle) => Some(
            mail.recipients()
                .any(|address| normalize(address.domain()) == needle.normalized()),
        ),
        Term::Status(wanted) => Some(
            wanted
                .iter()
                .any(|status| normalize(status.label()) == normalize(mail.status.label())),
        ),
        Term::Is(EmailClass::Trouble) => Some(mail.status.is_problem()),
        Term::Is(EmailClass::Scheduled) => Some(mail.status == Status::Scheduled),
        Term::Is(EmailClass::Gone) => Some(facts.is_missing_upstream),
        Term::Has(part) => eval_has(*part, facts),
        Term::Tag { name, value } => facts.tags.map(|tags| {
            let same = |needle: &SearchText, text: &str| normalize(text) == needle.normalized();
            tags.iter().any(|tag| {
                same(name, &tag.name) && value.as_ref().is_none_or(|value| same(value, &tag.value))
            })
        }),
        Term::After(moment) => created.map(|at| at >= moment.start),
        Term::Before(moment) => created.map(|at| at < moment.start),
        Term::On(moment) => created.map(|at| moment.start <= at && at < moment.end),
        Term::SeenChange(moment) => Some(facts.seen_change.is_some_and(|at| at >= moment.start)),
    }
}

/// A word is no operator: it looks wherever there is something to look at, and what was never
/// fetched does not hold it. Otherwise `-word` would find nothing until every body is here.
fn matches_word(needle: &SearchText, facts: &EmailDocument<'_>) -> bool {
    let mail = facts.summary;
    field_addresses(Field::Any, facts)
        .any(|address| needle.is_substring_of(&normalize(&address.to_string())))
        || needle.is_substring_of(&normalize(&mail.subject))
        || normalize(mail.id.as_str()) == needle.normalized()
        || is_message_id(&normalize(&mail.message_id), needle)
        || facts
            .bodies
            .is_some_and(|bodies| matches_bodies(needle, &bodies))
}

fn eval_field(field: Field, needle: &SearchText, facts: &EmailDocument<'_>) -> Option<bool> {
    let mail = facts.summary;
    match field {
        Field::To | Field::From | Field::Cc | Field::Bcc | Field::ReplyTo | Field::Any => Some(
            field_addresses(field, facts)
                .any(|address| needle.is_substring_of(&normalize(&address.to_string()))),
        ),
        Field::Subject => Some(needle.is_substring_of(&normalize(&mail.subject))),
        Field::Body => facts.bodies.map(|bodies| matches_bodies(needle, &bodies)),
        Field::Id => Some(normalize(mail.id.as_str()).starts_with(needle.normalized())),
        Field::MessageId => {
            let id = normalize(&mail.message_id);
            Some(
                !id.is_empty()
                    && id
                        .trim_start_matches('<')
                        .starts_with(needle.normalized().trim_start_matches('<')),
            )
        }
    }
}

/// The addresses in a field; none for a field that holds no addresses.
fn field_addresses<'a>(
    field: Field,
    facts: &EmailDocument<'a>,
) -> impl Iterator<Item = &'a Address> {
    let mail = facts.summary;
    let from = std::slice::from_ref(&mail.from);
    let none: &[Address] = &[];
    let lists: [&[Address]; 5] = match field {
        Field::To => [&mail.to, none, none, none, none],
        Field::From => [from, none, none, none, none],
        Field::Cc => [&mail.cc, none, none, none, none],
        Field::Bcc => [&mail.bcc, none, none, none, none],
        Field::ReplyTo => [&mail.reply_to, none, none, none, none],
        Field::Any => [&mail.to, from, &mail.cc, &mail.bcc, &mail.reply_to],
        Field::Subject | Field::Body | Field::Id | Field::MessageId => [none; 5],
    };
    lists.into_iter().flatten()
}

fn eval_has(part: EmailPart, facts: &EmailDocument<'_>) -> Option<bool> {
    let mail = facts.summary;
    match part {
        EmailPart::Cc => Some(!mail.cc.is_empty()),
        EmailPart::Bcc => Some(!mail.bcc.is_empty()),
        EmailPart::ReplyTo => Some(!mail.reply_to.is_empty()),
        EmailPart::Text => facts.bodies.map(|bodies| bodies.text.is_some()),
        EmailPart::Html => facts.bodies.map(|bodies| bodies.html.is_some()),
        EmailPart::Body => facts
            .bodies
            .map(|bodies| bodies.text.is_some() || bodies.html.is_some()),
        EmailPart::Tag => facts.tags.map(|tags| !tags.is_empty()),
    }
}

fn matches_bodies(needle: &SearchText, bodies: &BodyTexts<'_>) -> bool {
    [bodies.text, bodies.html]
        .into_iter()
        .flatten()
        .any(|body| needle.matches_words_of(&normalize(body)))
}

/// Mail programs copy the angle brackets along or not.
fn is_message_id(id: &str, needle: &SearchText) -> bool {
    let bare = |id: &str| id.trim_matches(['<', '>']).to_owned();
    !id.is_empty() && bare(id) == bare(needle.normalized())
}
