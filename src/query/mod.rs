//! The search language: what a person types becomes a [`Query`], and a query becomes text again.
//!
//! The list, saved views, the command line, counts and export all mean the same by the same text:
//!
//! - Terms that stand side by side must all match. `or` binds weaker, `not` and `-` bind stronger,
//!   `( )` group: `a or -b c` is `a or ((not b) and c)`. `and` may be written out.
//! - Case and accents do not matter ([`fold`]). A word matches as a part of addresses and subjects;
//!   in bodies it matches at the start of a word. Quotes keep words together, `\"` is a quote in them.
//! - `name:value` is an operator if [`Operator`] knows the name. **Whatever cannot be read as syntax
//!   is a word**, and a [`Note`] says so: a query never fails. An unclosed quote or bracket counts as
//!   closed at the end of the text.
//! - `after:` includes the moment it names, `before:` excludes it, `on:` is from its start to its end;
//!   see [`When`].
//! - An operator whose field was never fetched for an email matches neither it nor its negation
//!   ([`matches()`]).

mod ast;
mod complete;
mod date;
mod eval;
mod highlight;
#[cfg(test)]
mod language;
mod lex;
pub(crate) mod normalize;
mod operators;
mod parse;
mod print;
#[cfg(test)]
mod properties;
#[cfg(test)]
pub(crate) mod samples;
mod value;

pub use ast::Query;
pub(crate) use ast::{EmailClass, EmailPart, Field, Node, SortOrder, Term};
pub(crate) use complete::{Completion, Suggestion, SuggestionField, SuggestionSource, complete};
#[cfg(test)]
pub(crate) use date::RelativeUnit;
pub(crate) use date::{DateExpr, TimeRange};
pub(crate) use eval::{BodyTexts, EmailDocument, matches};
pub(crate) use normalize::SearchText;
pub(crate) use operators::Operator;
pub use parse::{Diagnostic, ParseContext, ParsedQuery, SyntaxRole, SyntaxSpan, parse};
