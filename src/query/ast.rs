//! `Query`: a parsed search as a tree. Equal meanings have equal trees.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::mail::{EmailId, Status};
use crate::text::uuid;

use super::date::{DateExpr, TimeRange};
use super::normalize::SearchText;

/// A filter and the order of its matches.
///
/// Its `Display` is the canonical text: parsing it gives the same query again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) filter: Node,
    pub(crate) sort: SortOrder,
}

impl Query {
    /// Returns the query of the empty text: every email, newest first.
    pub(crate) const fn match_all() -> Self {
        Self {
            filter: Node::And(Vec::new()),
            sort: SortOrder::Newest,
        }
    }

    pub(crate) fn is_match_all(&self) -> bool {
        self.filter == Node::And(Vec::new())
    }

    /// Whether it is the list as the archive stores it: all mail, newest first.
    pub(crate) fn is_default(&self) -> bool {
        self.is_match_all() && self.sort == SortOrder::Newest
    }

    /// Splits off the changes that are searched for:
    /// returns a condition on all other emails, `None` if none of them matches, and since when a
    /// change may match. Below a negation all stays as it is.
    pub(crate) fn split_seen_changes(&self) -> (Option<Node>, Option<Timestamp>) {
        let mut since = None;
        (without_seen_changes(&self.filter, &mut since), since)
    }

    /// Whether a new status of an email may change the result.
    pub(crate) fn depends_on_status(&self) -> bool {
        self.has_term(Term::depends_on_status)
    }

    /// Whether a condition of the query is about a status,
    /// which received mail does not have.
    pub(crate) fn needs_status(&self) -> bool {
        self.has_term(Term::needs_status)
    }

    /// Whether the query reads bodies or tags. A word does.
    pub(crate) fn needs_bodies(&self) -> bool {
        self.has_term(Term::needs_body)
    }

    /// Whether the query has an operator on bodies or tags.
    pub(crate) fn has_body_operator(&self) -> bool {
        self.has_term(Term::is_unknown_until_fetched)
    }

    pub(crate) fn has_tag(&self) -> bool {
        self.has_term(|term| matches!(term, Term::Tag { .. } | Term::Has(EmailPart::Tag)))
    }

    pub(crate) fn has_reason(&self) -> bool {
        self.has_term(|term| {
            matches!(
                term,
                Term::Text(Field::Reason, _) | Term::Has(EmailPart::Reason)
            )
        })
    }

    /// Whether the query has a condition on the time of creation.
    pub(crate) fn has_time(&self) -> bool {
        self.has_term(Term::is_time)
    }

    /// Returns the latest of the times that were given as ages, as in `after:2h`.
    pub(crate) fn latest_age(&self) -> Option<Timestamp> {
        let mut latest = None;
        self.filter.visit_terms(0, &mut |term, _| {
            if let Term::Time(_, range) = term
                && matches!(range.expr, DateExpr::Relative(..))
            {
                latest = latest.max(Some(range.start));
            }
        });
        latest
    }

    /// Returns the whole id (a UUID) that is all of the query.
    pub(crate) fn whole_id(&self) -> Option<EmailId> {
        match &self.filter {
            Node::Term(Term::Word(id) | Term::Text(Field::Id, id)) => {
                let id = id.normalized();
                uuid::parse(id).map(|_| EmailId::new(id))
            }
            _ => None,
        }
    }

    fn has_term(&self, condition: impl Fn(&Term) -> bool) -> bool {
        let mut found = false;
        self.filter
            .visit_terms(0, &mut |term, _| found |= condition(term));
        found
    }

    /// Removes the conditions on the status, and the sort order.
    ///
    /// The result matches every email that this query may match once its status changes.
    pub(crate) fn without_status(&self) -> Self {
        self.without_terms(Term::depends_on_status)
    }

    /// Removes the conditions on bodies and tags, and the sort order.
    ///
    /// The result matches every email that this query may match once its body is fetched.
    pub(crate) fn without_bodies(&self) -> Self {
        self.without_terms(Term::needs_body)
    }

    fn without_terms(&self, removed: fn(&Term) -> bool) -> Self {
        Self {
            filter: without_terms(&self.filter, true, removed).unwrap_or(Node::And(Vec::new())),
            sort: SortOrder::Newest,
        }
    }
}

/// Takes each removed condition as met, or below a negation as not met.
///
/// `None` is a condition that every email meets, or none if not `positive`.
fn without_terms(node: &Node, positive: bool, removed: fn(&Term) -> bool) -> Option<Node> {
    match (node, positive) {
        (Node::And(nodes) | Node::Or(nodes), _) => {
            let rest: Vec<Node> = nodes
                .iter()
                .filter_map(|node| without_terms(node, positive, removed))
                .collect();
            let is_and = matches!(node, Node::And(_));
            let is_open = if is_and == positive {
                rest.is_empty()
            } else {
                rest.len() < nodes.len()
            };
            (!is_open).then(|| Node::group(rest, is_and))
        }
        (Node::Not(inner), _) => without_terms(inner, !positive, removed).map(Node::negated),
        (Node::Term(term), _) => (!removed(term)).then(|| node.clone()),
    }
}

/// Takes each change that is searched for as not seen,
/// and notes the earliest time of them; `None` is a condition that no email meets.
fn without_seen_changes(node: &Node, since: &mut Option<Timestamp>) -> Option<Node> {
    match node {
        Node::And(nodes) => {
            // All members, so that none of their times is missed.
            let rest = nodes.iter().map(|node| without_seen_changes(node, since));
            let rest: Vec<Option<Node>> = rest.collect();
            rest.into_iter().collect::<Option<_>>().map(Node::And)
        }
        Node::Or(nodes) => {
            let rest: Vec<Node> = nodes
                .iter()
                .filter_map(|node| without_seen_changes(node, since))
                .collect();
            (!rest.is_empty()).then(|| Node::group(rest, false))
        }
        Node::Term(Term::Time(TimeOperator::SeenChange, range)) => {
            *since = Some(since.map_or(range.start, |since| since.min(range.start)));
            None
        }
        Node::Not(_) | Node::Term(_) => Some(node.clone()),
    }
}

/// The times between which all matches of a query were created;
/// `None` for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TimeBounds {
    pub(crate) oldest: Option<Timestamp>,
    pub(crate) newest: Option<Timestamp>,
}

impl TimeBounds {
    const fn new(oldest: Option<Timestamp>, newest: Option<Timestamp>) -> Self {
        Self { oldest, newest }
    }

    fn intersection(self, other: Self) -> Self {
        Self::new(
            self.oldest.max(other.oldest),
            [self.newest, other.newest].into_iter().flatten().min(),
        )
    }

    fn union(self, other: Self) -> Self {
        Self::new(
            self.oldest.min(other.oldest),
            self.newest.zip(other.newest).map(|(a, b)| a.max(b)),
        )
    }
}

/// A condition on one email.
///
/// Build groups with [`Node::all`], [`Node::any`] and [`Node::negated`]: they keep the tree in the
/// shape that the parser gives and the canonical text needs (no group within a group of its kind,
/// none of one member or of equal ones, no double negation).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// All of these; without a member, every email.
    And(Vec<Node>),
    /// At least one of these.
    Or(Vec<Node>),
    Not(Box<Node>),
    Term(Term),
}

impl Node {
    /// Returns the times between which all emails that match were created or, if not
    /// `positive`, all that do not.
    pub(crate) fn time_bounds(&self, positive: bool) -> TimeBounds {
        let members = |node: &Self| node.time_bounds(positive);
        match (self, positive) {
            (Self::And(nodes), true) | (Self::Or(nodes), false) => nodes
                .iter()
                .map(members)
                .fold(TimeBounds::default(), TimeBounds::intersection),
            (Self::Or(nodes), true) | (Self::And(nodes), false) => nodes
                .iter()
                .map(members)
                .reduce(TimeBounds::union)
                .unwrap_or_default(),
            (Self::Not(inner), _) => inner.time_bounds(!positive),
            (Self::Term(Term::Time(operator, range)), _) => match (operator, positive) {
                (TimeOperator::After, true) | (TimeOperator::Before, false) => {
                    TimeBounds::new(Some(range.start), None)
                }
                (TimeOperator::Before, true) | (TimeOperator::After, false) => {
                    TimeBounds::new(None, Some(range.start))
                }
                (TimeOperator::On, true) => TimeBounds::new(Some(range.start), Some(range.end)),
                (TimeOperator::On, false) | (TimeOperator::SeenChange, _) => TimeBounds::default(),
            },
            (Self::Term(_), _) => TimeBounds::default(),
        }
    }

    pub(crate) fn all(nodes: impl IntoIterator<Item = Self>) -> Self {
        Self::group(nodes, true)
    }

    pub(crate) fn any(nodes: impl IntoIterator<Item = Self>) -> Self {
        Self::group(nodes, false)
    }

    fn group(nodes: impl IntoIterator<Item = Self>, is_and: bool) -> Self {
        let mut members = Vec::new();
        for node in nodes {
            match node {
                Self::And(inner) if is_and => members.extend(inner),
                Self::Or(inner) if !is_and => members.extend(inner),
                other => members.push(other),
            }
        }
        let mut seen = HashSet::new();
        members.retain(|member| seen.insert(member.clone()));
        match members.len() {
            1 => members.remove(0),
            _ if is_and => Self::And(members),
            _ => Self::Or(members),
        }
    }

    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            Self::And(_) | Self::Or(_) | Self::Term(_) => Self::Not(Box::new(self)),
        }
    }

    /// Calls `visit` for each term, with the number of negations around it.
    pub(crate) fn visit_terms<'a>(
        &'a self,
        negations: usize,
        visit: &mut impl FnMut(&'a Term, usize),
    ) {
        match self {
            Self::And(nodes) | Self::Or(nodes) => nodes
                .iter()
                .for_each(|node| node.visit_terms(negations, visit)),
            Self::Not(inner) => inner.visit_terms(negations + 1, visit),
            Self::Term(term) => visit(term, negations),
        }
    }
}

/// A condition without `and`, `or` and `not`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Term {
    /// A part of an address or the subject, the start of a word in a known body, or the
    /// whole id.
    Word(SearchText),
    /// A part of one field.
    Text(Field, SearchText),
    /// The whole address of a recipient (to, cc or bcc).
    Recipient(SearchText),
    /// The whole domain of a recipient (to, cc or bcc).
    Domain(SearchText),
    /// One of these statuses. Never empty.
    Status(Vec<Status>),
    Is(EmailClass),
    Has(EmailPart),
    /// A tag with this whole name and, if one is given, this whole value.
    Tag {
        /// Without a `=`, which ends it in the text.
        name: SearchText,
        value: Option<SearchText>,
    },
    Time(TimeOperator, TimeRange),
}

/// The comparison of a condition on a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TimeOperator {
    /// Accepted by the service at the start of the range or later.
    After,
    /// Accepted before the start of the range.
    Before,
    /// Accepted within the range.
    On,
    /// Its status was observed to change at the start of the range or later.
    SeenChange,
}

impl Term {
    fn depends_on_status(&self) -> bool {
        use TimeOperator::SeenChange;
        matches!(
            self,
            Self::Status(_) | Self::Is(_) | Self::Time(SeenChange, _)
        )
    }

    /// Whether no received email can match, because it has no status.
    pub(super) fn needs_status(&self) -> bool {
        self.depends_on_status() && *self != Self::Is(EmailClass::Gone)
    }

    /// Whether the term reads bodies or tags. A word does.
    fn needs_body(&self) -> bool {
        matches!(self, Self::Word(_)) || self.is_unknown_until_fetched()
    }

    /// Whether the term is about the time of creation.
    pub(crate) fn is_time(&self) -> bool {
        matches!(self, Self::Time(operator, _) if *operator != TimeOperator::SeenChange)
    }

    /// Whether the term is unknown until bodies and tags are fetched.
    pub(crate) fn is_unknown_until_fetched(&self) -> bool {
        use EmailPart::{Body, Html, Reason, Tag, Text};
        matches!(
            self,
            Self::Text(Field::Body | Field::Reason, _)
                | Self::Tag { .. }
                | Self::Has(Text | Html | Body | Tag | Reason)
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    /// A part of a recipient's name or address, as in every address field.
    To,
    From,
    Cc,
    Bcc,
    ReplyTo,
    /// Any of the five above.
    Any,
    Subject,
    /// The start of a word in the text or the visible html.
    Body,
    /// A part of what the service says of a bounce.
    Reason,
    /// The start of the id.
    Id,
    /// The start of the message id, with or without its angle brackets.
    MessageId,
}

impl Field {
    pub(crate) const fn has_addresses(self) -> bool {
        use Field::{Any, Bcc, Cc, From, ReplyTo, To};
        matches!(self, To | From | Cc | Bcc | ReplyTo | Any)
    }
}

/// Defines an enum of keywords, each with its description for users.
macro_rules! keywords {
    ($(#[$meta:meta])* $name:ident { $($(#[$default:meta])? $variant:ident = $keyword:literal, $description:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum $name { $($(#[$default])? $variant),+ }

        impl $name {
            pub(crate) const ALL: [Self; [$($keyword),+].len()] = [$(Self::$variant),+];

            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $keyword),+ }
            }

            /// Returns every keyword with its description.
            pub(super) fn descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
                [$(($keyword, $description)),+].into_iter()
            }
        }
    };
}

keywords! {
    /// A class of emails. `Trouble` is [`Status::is_problem`].
    EmailClass {
        Trouble = "trouble", "bounced, complained, failed, suppressed or delayed";
        Scheduled = "scheduled", "not sent yet";
        Gone = "gone", "the service no longer has it";
    }
}

keywords! {
    /// A part that an email can have or lack.
    EmailPart {
        Cc = "cc", "has a cc recipient";
        Bcc = "bcc", "has a bcc recipient";
        ReplyTo = "reply-to", "has a reply-to address";
        Text = "text", "has a plain-text part";
        Html = "html", "has an html part";
        Body = "body", "has a text or an html part";
        Tag = "tag", "has a tag";
        Reason = "reason", "has the reason of a bounce";
    }
}

keywords! {
    /// The order of the matches, by the service's own order of emails.
    #[derive(Default)]
    SortOrder {
        #[default]
        Newest = "newest", "newest first";
        Oldest = "oldest", "oldest first";
    }
}
