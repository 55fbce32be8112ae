//! Reference evaluator over one email; the index search must agree with it.

use std::cell::OnceCell;

use jiff::Timestamp;

use crate::mail::{Address, Status, Summary, Tag};

use super::ast::{EmailClass, EmailPart, Field, Node, Query, Term, TimeOperator};
use super::normalize::{SearchText, is_invisible, normalize};

/// The fields of one email that a query reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmailDocument<'a> {
    pub(crate) summary: &'a Summary,
    /// `None` if they were never fetched.
    pub(crate) bodies: Option<BodyTexts<'a>>,
    /// `None` if they were never fetched.
    pub(crate) tags: Option<&'a [Tag]>,
    /// The service's reason for a bounce;
    /// empty if it gives none, `None` if it was never fetched.
    pub(crate) reason: Option<&'a str>,
    /// The last observed change of the status; `None` if there was none.
    pub(crate) seen_change: Option<Timestamp>,
    /// Whether the service no longer lists the email.
    pub(crate) is_missing_upstream: bool,
}

/// The bodies of one email; `None` for a part that it lacks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyTexts<'a> {
    pub(crate) text: Option<&'a str>,
    pub(crate) html: Option<&'a str>,
    /// Returns the visible text of the html part.
    /// It is called only if the text part does not match.
    pub(crate) extract_text: fn(&str) -> String,
}

/// An email with its texts normalised, each when a term first reads it.
///
/// A query of hundreds of terms reads the same few texts for each of them.
struct NormalizedDocument<'a> {
    document: &'a EmailDocument<'a>,
    texts: NormalizedTexts,
}

#[derive(Default)]
struct NormalizedTexts {
    addresses: [OnceCell<Vec<String>>; ADDRESS_FIELDS.len()],
    /// The whole addresses of all recipients without names.
    recipients: OnceCell<Vec<String>>,
    domains: OnceCell<Vec<String>>,
    subject: OnceCell<String>,
    id: OnceCell<String>,
    message_id: OnceCell<String>,
    text: OnceCell<String>,
    html: OnceCell<String>,
}

/// The fields of one list of addresses each.
const ADDRESS_FIELDS: [Field; 5] = [
    Field::To,
    Field::From,
    Field::Cc,
    Field::Bcc,
    Field::ReplyTo,
];

/// Whether the email matches.
///
/// Returns `None` if that depends on a part that was never fetched: then neither the query nor its
/// negation matches.
pub(crate) fn matches(query: &Query, document: &EmailDocument<'_>) -> Option<bool> {
    let texts = NormalizedTexts::default();
    let normalized = NormalizedDocument { document, texts };
    eval_node(&query.filter, &|term| eval_term(term, &normalized))
}

/// Whether an email with this status may match, whatever its other fields are.
pub(crate) fn may_match_status(query: &Query, status: &Status) -> bool {
    eval_node(&query.filter, &|term| eval_status(term, status)) != Some(false)
}

/// Applies Kleene's logic: unknown stays unknown unless other operands decide.
fn eval_node(node: &Node, eval: &impl Fn(&Term) -> Option<bool>) -> Option<bool> {
    match node {
        Node::And(nodes) => eval_group(false, nodes, eval),
        Node::Or(nodes) => eval_group(true, nodes, eval),
        Node::Not(inner) => eval_node(inner, eval).map(|found| !found),
        Node::Term(term) => eval(term),
    }
}

fn eval_group(
    decisive: bool,
    nodes: &[Node],
    eval: &impl Fn(&Term) -> Option<bool>,
) -> Option<bool> {
    let mut result = Some(!decisive);
    for member in nodes {
        match eval_node(member, eval) {
            Some(found) if found == decisive => return Some(decisive),
            Some(_) => {}
            None => result = None,
        }
    }
    result
}

fn eval_term(term: &Term, normalized: &NormalizedDocument<'_>) -> Option<bool> {
    let document = normalized.document;
    let mail = document.summary;
    let created = mail.created.parsed;
    match term {
        Term::Word(text) => Some(matches_word(text, normalized)),
        Term::Text(field, text) => eval_field(*field, text, normalized),
        Term::Recipient(text) => {
            Some(normalized.has_recipient(text, &normalized.texts.recipients, |it| &it.email))
        }
        Term::Domain(text) => {
            Some(normalized.has_recipient(text, &normalized.texts.domains, Address::domain))
        }
        Term::Is(EmailClass::Gone) => Some(document.is_missing_upstream),
        Term::Status(_) | Term::Is(_) => eval_status(term, &mail.status),
        Term::Has(part) => eval_has(*part, document),
        Term::Tag { name, value } => document.tags.map(|tags| {
            let is_equal = |search: &SearchText, text: &str| normalize(text) == search.normalized();
            tags.iter().any(|tag| {
                let has_value = |value| is_equal(value, &tag.value);
                is_equal(name, &tag.name) && value.as_ref().is_none_or(has_value)
            })
        }),
        Term::Time(TimeOperator::After, range) => created.map(|created| created >= range.start),
        Term::Time(TimeOperator::Before, range) => created.map(|created| created < range.start),
        Term::Time(TimeOperator::On, range) => {
            created.map(|created| range.start <= created && created < range.end)
        }
        Term::Time(TimeOperator::SeenChange, range) => {
            let seen = document.seen_change;
            Some(seen.is_some_and(|seen| seen >= range.start))
        }
    }
}

/// Evaluates a term that reads nothing but the status; `None` for others.
fn eval_status(term: &Term, status: &Status) -> Option<bool> {
    match term {
        Term::Status(statuses) => Some(has_status(status, statuses)),
        Term::Is(EmailClass::Trouble) => {
            let problems = Status::KNOWN.into_iter().filter(Status::is_problem);
            Some(has_status(status, &problems.collect::<Vec<_>>()))
        }
        Term::Is(EmailClass::Scheduled) => Some(has_status(status, &[Status::Scheduled])),
        _ => None,
    }
}

/// Compares labels, as the index does.
fn has_status(status: &Status, statuses: &[Status]) -> bool {
    let label = normalize(status.label());
    let mut labels = statuses.iter().map(|status| normalize(status.label()));
    labels.any(|searched| searched == label)
}

/// Searches every part that is known.
///
/// A part that was never fetched does not match: otherwise `-word` would match nothing until every
/// body is fetched.
fn matches_word(text: &SearchText, document: &NormalizedDocument<'_>) -> bool {
    document.matches_addresses(Field::Any, text)
        || text.is_substring_of(document.subject())
        || document.id() == text.normalized()
        || is_message_id(document.message_id(), text)
        || document.matches_bodies(text) == Some(true)
}

fn eval_field(field: Field, text: &SearchText, document: &NormalizedDocument<'_>) -> Option<bool> {
    match field {
        Field::To | Field::From | Field::Cc | Field::Bcc | Field::ReplyTo | Field::Any => {
            Some(document.matches_addresses(field, text))
        }
        Field::Subject => Some(text.is_substring_of(document.subject())),
        Field::Body => document.matches_bodies(text),
        Field::Reason => document
            .document
            .reason
            .map(|reason| text.is_substring_of(&normalize(reason))),
        Field::Id => {
            let id = document.document.summary.id.as_str();
            Some(document.id().starts_with(text.normalized()) && has_id_prefix(id, text.text()))
        }
        Field::MessageId => {
            let id = document.message_id();
            let start = text.normalized().trim_start_matches('<');
            let is_normalized_prefix = id.trim_start_matches('<').starts_with(start);
            let id = document.document.summary.message_id.trim_start_matches('<');
            let start = text.text().trim_start_matches('<');
            Some(!id.is_empty() && is_normalized_prefix && has_id_prefix(id, start))
        }
    }
}

impl NormalizedDocument<'_> {
    fn subject(&self) -> &str {
        let subject = &self.document.summary.subject;
        self.texts.subject.get_or_init(|| normalize(subject))
    }

    fn id(&self) -> &str {
        let id = self.document.summary.id.as_str();
        self.texts.id.get_or_init(|| normalize(id))
    }

    fn message_id(&self) -> &str {
        let id = &self.document.summary.message_id;
        self.texts.message_id.get_or_init(|| normalize(id))
    }

    /// Whether this is the whole of a part of a recipient's address.
    fn has_recipient(
        &self,
        search: &SearchText,
        texts: &OnceCell<Vec<String>>,
        part: fn(&Address) -> &str,
    ) -> bool {
        let recipients = || self.document.summary.recipients();
        let texts = texts.get_or_init(|| recipients().map(|it| normalize(part(it))).collect());
        texts.iter().any(|text| text == search.normalized())
    }

    fn matches_addresses(&self, field: Field, text: &SearchText) -> bool {
        let is_searched = |one: &Field| field == Field::Any || field == *one;
        ADDRESS_FIELDS
            .iter()
            .zip(&self.texts.addresses)
            .filter(|(one, _)| is_searched(one))
            .any(|(one, addresses)| {
                let addresses = addresses.get_or_init(|| {
                    let addresses = one.addresses(self.document.summary);
                    addresses
                        .map(|address| normalize(&address.to_string()))
                        .collect()
                });
                addresses
                    .iter()
                    .any(|address| text.is_substring_of(address))
            })
    }

    /// Searches the bodies; `None` if they were never fetched.
    fn matches_bodies(&self, text: &SearchText) -> Option<bool> {
        let bodies = self.document.bodies?;
        let is_in_text = bodies.text.is_some_and(|body| {
            text.matches_words_of(self.texts.text.get_or_init(|| normalize(body)))
        });
        let is_in_html = || {
            bodies.html.is_some_and(|html| {
                let visible = || normalize(&(bodies.extract_text)(html));
                text.matches_words_of(self.texts.html.get_or_init(visible))
            })
        };
        Some(is_in_text || is_in_html())
    }
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
            Self::Subject | Self::Body | Self::Reason | Self::Id | Self::MessageId => [none; 5],
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
        EmailPart::Reason => document.reason.map(|reason| !reason.is_empty()),
    }
}

/// Whether an id begins with `start`, ignoring the case of ASCII letters only.
///
/// The index ignores accents and width, too, but ids that differ in them are of different emails.
fn has_id_prefix(id: &str, start: &str) -> bool {
    let start: String = start.chars().filter(|c| !is_invisible(*c)).collect();
    let prefix = id.get(..start.len());
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(&start))
}

/// Compares message ids, which mail programs copy with or without brackets.
fn is_message_id(id: &str, text: &SearchText) -> bool {
    let brackets = ['<', '>'];
    !id.is_empty() && id.trim_matches(brackets) == text.normalized().trim_matches(brackets)
}
