//! The operators: one table of names, meanings and examples that the parser, the completion and the
//! help all read.

use super::Field;

/// What stands before a colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operator {
    /// A part of one field: `to:`, `subject:`, ..
    Text(Field),
    /// `recipient:`.
    Recipient,
    /// `domain:`.
    Domain,
    /// `status:`.
    Status,
    /// `is:`.
    Is,
    /// `has:`.
    Has,
    /// `tag:`.
    Tag,
    /// `after:`.
    After,
    /// `before:`.
    Before,
    /// `on:`.
    On,
    /// `seen-change:`.
    SeenChange,
    /// `sort:`.
    Sort,
}

/// Operator, name, meaning, example; in the order in which they are offered.
const OPERATORS: [(Operator, &str, &str, &str); 21] = [
    (
        Operator::Text(Field::To),
        "to",
        "part of a recipient's name or address",
        "to:ana@example.com",
    ),
    (
        Operator::Text(Field::From),
        "from",
        "part of the sender's name or address",
        "from:billing",
    ),
    (
        Operator::Text(Field::Subject),
        "subject",
        "part of the subject",
        "subject:\"your receipt\"",
    ),
    (
        Operator::Status,
        "status",
        "what became of it; several with commas",
        "status:bounced,delayed",
    ),
    (
        Operator::Is,
        "is",
        "trouble, still scheduled, or gone from the service",
        "is:trouble",
    ),
    (
        Operator::Domain,
        "domain",
        "a recipient's whole domain",
        "domain:example.org",
    ),
    (Operator::After, "after", "sent then or later", "after:7d"),
    (
        Operator::Before,
        "before",
        "sent earlier than that",
        "before:2026-11-02",
    ),
    (
        Operator::On,
        "on",
        "sent in that day, week, month or minute",
        "on:yesterday",
    ),
    (
        Operator::Tag,
        "tag",
        "a tag, with its value if you like",
        "tag:category=receipt",
    ),
    (
        Operator::Text(Field::Body),
        "body",
        "start of a word in the body, where it was read",
        "body:refund",
    ),
    (
        Operator::Text(Field::Any),
        "any",
        "part of any address: to, from, cc, bcc, reply-to",
        "any:ana",
    ),
    (
        Operator::Recipient,
        "recipient",
        "a recipient's whole address: to, cc or bcc",
        "recipient:ana@example.com",
    ),
    (
        Operator::Text(Field::Cc),
        "cc",
        "part of a copy recipient",
        "cc:team@example.org",
    ),
    (
        Operator::Text(Field::Bcc),
        "bcc",
        "part of a blind-copy recipient",
        "bcc:archive",
    ),
    (
        Operator::Text(Field::ReplyTo),
        "reply-to",
        "part of the address for answers",
        "reply-to:help",
    ),
    (Operator::Has, "has", "has such a part", "has:cc"),
    (
        Operator::SeenChange,
        "seen-change",
        "its status was seen to change then or later",
        "seen-change:1d",
    ),
    (
        Operator::Text(Field::Id),
        "id",
        "beginning of the id",
        "id:49a3999c",
    ),
    (
        Operator::Text(Field::MessageId),
        "message-id",
        "beginning of the message id",
        "message-id:111-222-333",
    ),
    (
        Operator::Sort,
        "sort",
        "newest or oldest first",
        "sort:oldest",
    ),
];

impl Operator {
    /// Every operator, the most useful first.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        OPERATORS.iter().map(|row| row.0)
    }

    /// The operator of that name; case does not matter.
    #[must_use]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        OPERATORS
            .iter()
            .find(|row| row.1.eq_ignore_ascii_case(name))
            .map(|row| row.0)
    }

    /// Its name, without the colon.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        self.spec().1
    }

    /// What it looks for, for a person.
    #[must_use]
    pub(crate) fn description(self) -> &'static str {
        self.spec().2
    }

    /// A query that uses it.
    #[must_use]
    pub(crate) fn example(self) -> &'static str {
        self.spec().3
    }

    fn spec(self) -> &'static (Self, &'static str, &'static str, &'static str) {
        OPERATORS
            .iter()
            .find(|row| row.0 == self)
            .expect("every operator has its row in the table")
    }
}

#[cfg(test)]
mod tests {
    use super::super::language::context;
    use super::super::parse;
    use super::*;

    #[test]
    fn every_example_is_a_query_of_its_operator() {
        for operator in Operator::all() {
            let parsed = parse(operator.example(), &context());
            assert_eq!(parsed.diagnostics, [], "{operator:?}");
            assert!(
                operator
                    .example()
                    .starts_with(&format!("{}:", operator.name()))
            );
            assert_eq!(
                Operator::from_name(&operator.name().to_uppercase()),
                Some(operator)
            );
        }
    }
}
