//! A query as canonical text: what a saved view stores and the filter line shows.

use std::fmt;

use crate::mail::Status;

use super::{Node, Operator, Query, SortOrder, Term};

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
            Self::And(nodes) => write_joined(f, nodes, " ", |node| matches!(node, Self::Or(_))),
            Self::Or(nodes) => write_joined(f, nodes, " or ", |_| false),
            Self::Not(node) => match &**node {
                Self::And(_) | Self::Or(_) => write!(f, "-({node})"),
                Self::Not(_) | Self::Term(_) => write!(f, "-{node}"),
            },
            Self::Term(term) => write!(f, "{term}"),
        }
    }
}

fn write_joined(
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
            Self::Word(needle) => f.write_str(&quote_word(needle.text())),
            Self::Text(field, needle) => write_operator(f, Operator::Text(*field), needle.text()),
            Self::Recipient(needle) => write_operator(f, Operator::Recipient, needle.text()),
            Self::Domain(needle) => write_operator(f, Operator::Domain, needle.text()),
            Self::Status(statuses) => {
                let words: Vec<&str> = statuses.iter().map(Status::label).collect();
                write_operator(f, Operator::Status, &words.join(","))
            }
            Self::Is(is) => write_operator(f, Operator::Is, is.as_str()),
            Self::Has(has) => write_operator(f, Operator::Has, has.as_str()),
            Self::Tag { name, value: None } => write_operator(f, Operator::Tag, name.text()),
            Self::Tag {
                name,
                value: Some(value),
            } => write_operator(
                f,
                Operator::Tag,
                &format!("{}={}", name.text(), value.text()),
            ),
            Self::After(moment) => write_operator(f, Operator::After, &moment.expr.to_string()),
            Self::Before(moment) => write_operator(f, Operator::Before, &moment.expr.to_string()),
            Self::On(moment) => write_operator(f, Operator::On, &moment.expr.to_string()),
            Self::SeenChange(moment) => {
                write_operator(f, Operator::SeenChange, &moment.expr.to_string())
            }
        }
    }
}

fn write_operator(f: &mut fmt::Formatter<'_>, operator: Operator, text: &str) -> fmt::Result {
    write!(f, "{}:{}", operator.name(), quote_value(text))
}

/// `text` as the value of an operator, in quotes if it needs them.
pub(super) fn quote_value(text: &str) -> String {
    let bare = !text.is_empty()
        && !text.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '(' | ')'));
    if bare { text.to_owned() } else { quote(text) }
}

/// `text` as a word, in quotes if it would otherwise be read as syntax.
fn quote_word(text: &str) -> String {
    let connective = ["and", "or", "not"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    let operator = text
        .split_once(':')
        .is_some_and(|(name, _)| Operator::from_name(name).is_some());
    if connective || operator || text.starts_with('-') {
        quote(text)
    } else {
        quote_value(text)
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
