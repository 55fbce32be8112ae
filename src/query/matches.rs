//! The plain meaning of a query, over one email: the measure for every faster way to ask.

use jiff::Timestamp;

use crate::mail::{Address, Status, Summary, Tag};

use super::fold::fold;
use super::{Field, Has, Is, Needle, Node, Query, Term};

/// What is known about one email.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// What every listed email tells.
    pub summary: &'a Summary,
    /// Its bodies; `None` if they were never fetched.
    pub bodies: Option<Bodies<'a>>,
    /// Its tags; `None` if they were never fetched.
    pub tags: Option<&'a [Tag]>,
    /// When its status was last observed to change; `None` if it never was.
    pub seen_change: Option<Timestamp>,
    /// Whether the service was found to list it no more.
    pub gone: bool,
}

/// The bodies of one email, as text that can be read; `None` for a part that it lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bodies<'a> {
    /// The plain-text part.
    pub text: Option<&'a str>,
    /// The visible text of the html part.
    pub html: Option<&'a str>,
}

/// Whether the email is found; `None` if that hangs on something that was never fetched, so that
/// neither the query nor its negation finds it.
#[must_use]
pub fn matches(query: &Query, facts: &Facts<'_>) -> Option<bool> {
    node(&query.filter, facts)
}

/// The logic of Kleene: what is unknown stays so unless the rest decides without it.
fn node(node: &Node, facts: &Facts<'_>) -> Option<bool> {
    match node {
        Node::And(nodes) => decided_by(false, nodes, facts),
        Node::Or(nodes) => decided_by(true, nodes, facts),
        Node::Not(inner) => self::node(inner, facts).map(|found| !found),
        Node::Term(wanted) => term(wanted, facts),
    }
}

fn decided_by(decisive: bool, nodes: &[Node], facts: &Facts<'_>) -> Option<bool> {
    let mut verdict = Some(!decisive);
    for member in nodes {
        match node(member, facts) {
            Some(found) if found == decisive => return Some(decisive),
            Some(_) => {}
            None => verdict = None,
        }
    }
    verdict
}

fn term(term: &Term, facts: &Facts<'_>) -> Option<bool> {
    let mail = facts.summary;
    let created = mail.created.at;
    match term {
        Term::Word(needle) => Some(word(needle, facts)),
        Term::Text(wanted, needle) => field(*wanted, needle, facts),
        Term::Recipient(needle) => Some(
            mail.recipients()
                .any(|address| fold(&address.email) == needle.folded()),
        ),
        Term::Domain(needle) => Some(
            mail.recipients()
                .any(|address| fold(address.domain()) == needle.folded()),
        ),
        Term::Status(wanted) => Some(
            wanted
                .iter()
                .any(|status| fold(status.word()) == fold(mail.status.word())),
        ),
        Term::Is(Is::Trouble) => Some(mail.status.is_trouble()),
        Term::Is(Is::Scheduled) => Some(mail.status == Status::Scheduled),
        Term::Is(Is::Gone) => Some(facts.gone),
        Term::Has(part) => has(*part, facts),
        Term::Tag { name, value } => facts.tags.map(|tags| {
            let same = |needle: &Needle, text: &str| fold(text) == needle.folded();
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
fn word(needle: &Needle, facts: &Facts<'_>) -> bool {
    let mail = facts.summary;
    addresses(Field::Any, facts).any(|address| needle.is_in(&fold(&address.to_string())))
        || needle.is_in(&fold(&mail.subject))
        || fold(mail.id.as_str()) == needle.folded()
        || is_message_id(&fold(&mail.message_id), needle)
        || facts
            .bodies
            .is_some_and(|bodies| in_bodies(needle, &bodies))
}

fn field(field: Field, needle: &Needle, facts: &Facts<'_>) -> Option<bool> {
    let mail = facts.summary;
    match field {
        Field::To | Field::From | Field::Cc | Field::Bcc | Field::ReplyTo | Field::Any => {
            Some(addresses(field, facts).any(|address| needle.is_in(&fold(&address.to_string()))))
        }
        Field::Subject => Some(needle.is_in(&fold(&mail.subject))),
        Field::Body => facts.bodies.map(|bodies| in_bodies(needle, &bodies)),
        Field::Id => Some(fold(mail.id.as_str()).starts_with(needle.folded())),
        Field::MessageId => {
            let id = fold(&mail.message_id);
            Some(
                !id.is_empty()
                    && id
                        .trim_start_matches('<')
                        .starts_with(needle.folded().trim_start_matches('<')),
            )
        }
    }
}

/// The addresses in a field; none for a field that holds no addresses.
fn addresses<'a>(field: Field, facts: &Facts<'a>) -> impl Iterator<Item = &'a Address> {
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

fn has(part: Has, facts: &Facts<'_>) -> Option<bool> {
    let mail = facts.summary;
    match part {
        Has::Cc => Some(!mail.cc.is_empty()),
        Has::Bcc => Some(!mail.bcc.is_empty()),
        Has::ReplyTo => Some(!mail.reply_to.is_empty()),
        Has::Text => facts.bodies.map(|bodies| bodies.text.is_some()),
        Has::Html => facts.bodies.map(|bodies| bodies.html.is_some()),
        Has::Body => facts
            .bodies
            .map(|bodies| bodies.text.is_some() || bodies.html.is_some()),
        Has::Tag => facts.tags.map(|tags| !tags.is_empty()),
    }
}

fn in_bodies(needle: &Needle, bodies: &Bodies<'_>) -> bool {
    [bodies.text, bodies.html]
        .into_iter()
        .flatten()
        .any(|body| needle.starts_words_in(&fold(body)))
}

/// Mail programs copy the angle brackets along or not.
fn is_message_id(id: &str, needle: &Needle) -> bool {
    let bare = |id: &str| id.trim_matches(['<', '>']).to_owned();
    !id.is_empty() && bare(id) == bare(needle.folded())
}
