//! A query as canonical text: what a saved view stores and the filter line shows.

use std::fmt;

use crate::mail::Status;

use super::{Node, Operator, Query, Sort, Term};

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.filter)?;
        match self.sort {
            Sort::Newest => Ok(()),
            Sort::Oldest if self.is_everything() => f.write_str("sort:oldest"),
            Sort::Oldest => f.write_str(" sort:oldest"),
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(nodes) => joined(f, nodes, " ", |node| matches!(node, Self::Or(_))),
            Self::Or(nodes) => joined(f, nodes, " or ", |_| false),
            Self::Not(node) => match &**node {
                Self::And(_) | Self::Or(_) => write!(f, "-({node})"),
                Self::Not(_) | Self::Term(_) => write!(f, "-{node}"),
            },
            Self::Term(term) => write!(f, "{term}"),
        }
    }
}

fn joined(
    f: &mut fmt::Formatter<'_>,
    nodes: &[Node],
    between: &str,
    in_brackets: fn(&Node) -> bool,
) -> fmt::Result {
    for (index, node) in nodes.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        if in_brackets(node) {
            write!(f, "({node})")?;
        } else {
            write!(f, "{node}")?;
        }
    }
    Ok(())
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(needle) => f.write_str(&word(needle.text())),
            Self::Text(field, needle) => operator(f, Operator::Text(*field), needle.text()),
            Self::Recipient(needle) => operator(f, Operator::Recipient, needle.text()),
            Self::Domain(needle) => operator(f, Operator::Domain, needle.text()),
            Self::Status(statuses) => {
                let words: Vec<&str> = statuses.iter().map(Status::word).collect();
                operator(f, Operator::Status, &words.join(","))
            }
            Self::Is(is) => operator(f, Operator::Is, is.word()),
            Self::Has(has) => operator(f, Operator::Has, has.word()),
            Self::Tag { name, value: None } => operator(f, Operator::Tag, name.text()),
            Self::Tag {
                name,
                value: Some(value),
            } => operator(
                f,
                Operator::Tag,
                &format!("{}={}", name.text(), value.text()),
            ),
            Self::After(moment) => operator(f, Operator::After, &moment.when.to_string()),
            Self::Before(moment) => operator(f, Operator::Before, &moment.when.to_string()),
            Self::On(moment) => operator(f, Operator::On, &moment.when.to_string()),
            Self::SeenChange(moment) => operator(f, Operator::SeenChange, &moment.when.to_string()),
        }
    }
}

fn operator(f: &mut fmt::Formatter<'_>, operator: Operator, text: &str) -> fmt::Result {
    write!(f, "{}:{}", operator.name(), value(text))
}

/// `text` as the value of an operator, in quotes if it needs them.
pub(super) fn value(text: &str) -> String {
    let bare = !text.is_empty()
        && !text.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '(' | ')'));
    if bare { text.to_owned() } else { quoted(text) }
}

/// `text` as a word, in quotes if it would otherwise be read as syntax.
fn word(text: &str) -> String {
    let connective = ["and", "or", "not"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    let operator = text
        .split_once(':')
        .is_some_and(|(name, _)| Operator::named(name).is_some());
    if connective || operator || text.starts_with('-') {
        quoted(text)
    } else {
        value(text)
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
