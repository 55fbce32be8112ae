//! `Query`: what is looked for, as a tree that has one shape for one meaning.

use jiff::Timestamp;

use crate::mail::Status;

use super::{SearchText, TimeRange};

/// What is looked for, and in which order it is shown.
///
/// Its `Display` is the canonical text: parsing it gives the same query again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// What an email must be like.
    pub(crate) filter: Node,
    /// The order of what is found.
    pub(crate) sort: SortOrder,
}

impl Query {
    /// The query that every email matches, newest first: the text without a word.
    #[must_use]
    pub(crate) const fn match_all() -> Self {
        Self {
            filter: Node::And(Vec::new()),
            sort: SortOrder::Newest,
        }
    }

    /// Before which time no email matches, if there is such a time.
    #[must_use]
    pub(crate) fn earliest_match(&self) -> Option<Timestamp> {
        earliest_match(&self.filter, true)
    }

    /// Whether what it finds may change with the status of an email.
    #[must_use]
    pub(crate) fn depends_on_status(&self) -> bool {
        depends_on_status(&self.filter)
    }

    /// The query for every email that this one may find once its status is another, newest first: the same
    /// without the conditions on the status.
    #[must_use]
    pub(crate) fn without_status(&self) -> Self {
        Self {
            filter: without_status(&self.filter, true).unwrap_or(Node::And(Vec::new())),
            sort: SortOrder::Newest,
        }
    }

    /// Whether every email matches.
    #[must_use]
    pub(crate) fn is_match_all(&self) -> bool {
        self.filter == Node::And(Vec::new())
    }
}

fn depends_on_status(node: &Node) -> bool {
    match node {
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().any(depends_on_status),
        Node::Not(inner) => depends_on_status(inner),
        Node::Term(term) => matches!(term, Term::Status(_) | Term::Is(_) | Term::SeenChange(_)),
    }
}

/// The node with each condition on the status taken for met (`None`: everything meets it), or for not met
/// where that is not `wanted`, below a negation.
fn without_status(node: &Node, wanted: bool) -> Option<Node> {
    let kept = |nodes: &[Node]| -> Vec<Node> {
        nodes
            .iter()
            .filter_map(|node| without_status(node, wanted))
            .collect()
    };
    match (node, wanted) {
        (Node::And(nodes), true) => Some(kept(nodes))
            .filter(|kept| !kept.is_empty())
            .map(Node::all),
        (Node::Or(nodes), false) => Some(kept(nodes))
            .filter(|kept| !kept.is_empty())
            .map(Node::any),
        (Node::And(nodes), false) => Some(kept(nodes))
            .filter(|kept| kept.len() == nodes.len())
            .map(Node::all),
        (Node::Or(nodes), true) => Some(kept(nodes))
            .filter(|kept| kept.len() == nodes.len())
            .map(Node::any),
        (Node::Not(inner), _) => without_status(inner, !wanted).map(Node::negated),
        (Node::Term(Term::Status(_) | Term::Is(_) | Term::SeenChange(_)), _) => None,
        (Node::Term(_), _) => Some(node.clone()),
    }
}

fn earliest_match(node: &Node, wanted: bool) -> Option<Timestamp> {
    match (node, wanted) {
        (Node::And(nodes), true) | (Node::Or(nodes), false) => nodes
            .iter()
            .filter_map(|node| earliest_match(node, wanted))
            .max(),
        (Node::Or(nodes), true) | (Node::And(nodes), false) => {
            let sides: Option<Vec<Timestamp>> = nodes
                .iter()
                .map(|node| earliest_match(node, wanted))
                .collect();
            sides?.into_iter().min()
        }
        (Node::Not(inner), _) => earliest_match(inner, !wanted),
        (Node::Term(Term::After(moment) | Term::On(moment)), true)
        | (Node::Term(Term::Before(moment)), false) => Some(moment.start),
        (Node::Term(_), _) => None,
    }
}

/// A condition on one email.
///
/// Build groups with [`Node::all`], [`Node::any`] and [`Node::negated`]: they keep the tree in the
/// shape that the parser gives and the canonical text needs (no group within a group of its kind,
/// none of one member, no double negation).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// All of these; without a member, every email.
    And(Vec<Node>),
    /// At least one of these.
    Or(Vec<Node>),
    /// Not this.
    Not(Box<Node>),
    /// One thing to look for.
    Term(Term),
}

impl Node {
    /// All of `nodes`.
    #[must_use]
    pub(crate) fn all(nodes: impl IntoIterator<Item = Self>) -> Self {
        let mut members = Vec::new();
        for node in nodes {
            match node {
                Self::And(inner) => members.extend(inner),
                Self::Or(_) | Self::Not(_) | Self::Term(_) => members.push(node),
            }
        }
        take_single(&mut members).unwrap_or(Self::And(members))
    }

    /// At least one of `nodes`.
    #[must_use]
    pub(crate) fn any(nodes: impl IntoIterator<Item = Self>) -> Self {
        let mut members = Vec::new();
        for node in nodes {
            match node {
                Self::Or(inner) => members.extend(inner),
                Self::And(_) | Self::Not(_) | Self::Term(_) => members.push(node),
            }
        }
        take_single(&mut members).unwrap_or(Self::Or(members))
    }

    /// Not this node.
    #[must_use]
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            Self::And(_) | Self::Or(_) | Self::Term(_) => Self::Not(Box::new(self)),
        }
    }
}

/// The only member, taken out, if there is just one.
fn take_single(members: &mut Vec<Node>) -> Option<Node> {
    if members.len() == 1 {
        members.pop()
    } else {
        None
    }
}

/// One thing to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Term {
    /// A part of an address or of the subject, the start of a word in a known body, or the whole id.
    Word(SearchText),
    /// A part of one field.
    Text(Field, SearchText),
    /// The whole address of a recipient (to, cc or bcc).
    Recipient(SearchText),
    /// The whole domain of a recipient (to, cc or bcc).
    Domain(SearchText),
    /// One of these statuses. Never empty.
    Status(Vec<Status>),
    /// A class of emails.
    Is(EmailClass),
    /// A part that the email has.
    Has(EmailPart),
    /// A tag of this name and, if one is given, of this value. Both are whole, not parts.
    Tag {
        /// The name; without a `=`, which ends it in the text.
        name: SearchText,
        /// The value.
        value: Option<SearchText>,
    },
    /// Accepted by the service at the start of the moment or later.
    After(TimeRange),
    /// Accepted before the start of the moment.
    Before(TimeRange),
    /// Accepted from the start of the moment until its end.
    On(TimeRange),
    /// Its status was observed to change at the start of the moment or later.
    SeenChange(TimeRange),
}

/// A field of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    /// A recipient: a part of name or address, as in every address field.
    To,
    /// The sender.
    From,
    /// A copy recipient.
    Cc,
    /// A blind-copy recipient.
    Bcc,
    /// Where answers go.
    ReplyTo,
    /// Any of the five above.
    Any,
    /// A part of the subject.
    Subject,
    /// The start of a word in the text or the visible html.
    Body,
    /// The beginning of the id.
    Id,
    /// The beginning of the message id, with or without its angle brackets.
    MessageId,
}

/// A class of emails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EmailClass {
    /// Bounced, complained, failed, suppressed or delayed: [`Status::is_trouble`].
    Trouble,
    /// Still waiting for its send time.
    Scheduled,
    /// The service no longer lists it.
    Gone,
}

impl EmailClass {
    /// Every class.
    pub(crate) const ALL: [Self; 3] = [Self::Trouble, Self::Scheduled, Self::Gone];

    /// The word in a query.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Trouble => "trouble",
            Self::Scheduled => "scheduled",
            Self::Gone => "gone",
        }
    }

    /// What it means, for a person.
    #[must_use]
    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::Trouble => "bounced, complained, failed, suppressed or delayed",
            Self::Scheduled => "waits for its send time",
            Self::Gone => "the service no longer has it",
        }
    }
}

/// A part that an email can have or lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EmailPart {
    /// A copy recipient.
    Cc,
    /// A blind-copy recipient.
    Bcc,
    /// An address for answers.
    ReplyTo,
    /// A plain-text part.
    Text,
    /// An html part.
    Html,
    /// Either part.
    Body,
    /// A tag.
    Tag,
}

impl EmailPart {
    /// Every part.
    pub(crate) const ALL: [Self; 7] = [
        Self::Cc,
        Self::Bcc,
        Self::ReplyTo,
        Self::Text,
        Self::Html,
        Self::Body,
        Self::Tag,
    ];

    /// The word in a query.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Cc => "cc",
            Self::Bcc => "bcc",
            Self::ReplyTo => "reply-to",
            Self::Text => "text",
            Self::Html => "html",
            Self::Body => "body",
            Self::Tag => "tag",
        }
    }

    /// What it means, for a person.
    #[must_use]
    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::Cc => "went to somebody in copy",
            Self::Bcc => "went to somebody in blind copy",
            Self::ReplyTo => "wants answers at another address",
            Self::Text => "has a plain-text part",
            Self::Html => "has an html part",
            Self::Body => "has a text or an html part",
            Self::Tag => "carries a tag",
        }
    }
}

/// The order of what is found, by the service's own order of emails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum SortOrder {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
}

impl SortOrder {
    /// Both orders.
    pub(crate) const ALL: [Self; 2] = [Self::Newest, Self::Oldest];

    /// The word in a query.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Oldest => "oldest",
        }
    }

    /// What it means, for a person.
    #[must_use]
    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::Newest => "newest first",
            Self::Oldest => "oldest first",
        }
    }
}
