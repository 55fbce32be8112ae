//! The search language: text that a user types becomes a [`Query`],
//! and a query becomes text again.
//!
//! List, saved views, command line, counts and export use the same language:
//!
//! - Terms side by side must all match. `or` binds weaker, `not` and `-` bind stronger, `( )` group:
//!   `a or -b c` is `a or ((not b) and c)`. `and` may be written out.
//! - A word loses the punctuation at its edges that sentences and lists put there; quoted, it does not.
//!   A word of punctuation alone counts only where nothing else is searched for.
//! - Case and accents are ignored ([`normalize`]). A word matches as a part of addresses and
//!   subjects; in bodies it matches at the start of a word. Quotes keep words together, `\"` is a
//!   quote in them; typographic quotes do the same.
//! - A text that is nothing but a list of addresses or numbers finds mail with any of them.
//! - `name:value` is an operator if [`operators`] knows the name. **What cannot be parsed as syntax
//!   is a word**, and a [`Diagnostic`] says so: a query never fails. An unclosed quote or group ends
//!   at the end of the text.
//! - `after:` includes the time it names, `before:` excludes it, `on:` is from its start to its end;
//!   see [`DateExpr`].
//! - An operator on a field that was never fetched for an email matches neither it nor its negation
//!   ([`matches()`]).

mod ast;
mod complete;
mod date;
mod diagnostic;
mod eval;
mod headers;
mod highlight;
mod lexer;
mod lines;
mod manual;
pub(crate) mod normalize;
mod operators;
mod parse;
#[cfg(test)]
pub(crate) mod tests;
mod words;

pub use ast::Query;
pub(crate) use ast::{
    EmailClass, EmailPart, Field, Node, SortOrder, Term, TimeBounds, TimeOperator,
};
pub(crate) use complete::{Completion, Suggestion, SuggestionField, SuggestionSource, complete};
pub(crate) use date::DateExpr;
pub use diagnostic::Diagnostic;
pub(crate) use diagnostic::InvalidValue;
pub(crate) use eval::{BodyTexts, EmailDocument, matches, may_match_status};
pub(crate) use highlight::NormalizedText;
pub(crate) use manual::query_manual;
pub(crate) use normalize::SearchText;
pub use operators::ParseContext;
pub(crate) use operators::quote_value;
pub(crate) use parse::query_of_pasted;
pub use parse::{ParsedQuery, SyntaxRole, SyntaxSpan, parse};
