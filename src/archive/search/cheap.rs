//! What costs little to ask before a question for which the index gathers all answers first: what has
//! many answers is found that way, and what has few costs the index little.

use super::plan::FtsExpr;
use super::tokens::{PREFIX_CHARS, encode_token, kind};

/// Emails that are looked at where a gram is so short that most questions have many answers.
const EXAMINED_FOR_SHORT_PREFIX: usize = 500;

/// The same where it is the beginning of a longer word.
const EXAMINED_FOR_LONG_PREFIX: usize = 64;

/// What to ask before `ask`, if that is costly, and how many emails to look at.
pub(super) fn choose_prefilter(ask: &FtsExpr) -> Option<(FtsExpr, usize)> {
    let few = if has_prefix(ask, &is_short_prefix) {
        EXAMINED_FOR_SHORT_PREFIX
    } else {
        EXAMINED_FOR_LONG_PREFIX
    };
    // Alone, a word that nobody uses would cost the index as much a second time.
    has_prefix(ask, &is_costly_prefix).then(|| {
        (
            if matches!(ask, FtsExpr::And(_)) {
                drop_costly_prefixes(ask)
            } else {
                FtsExpr::All
            },
            few,
        )
    })
}

/// A superset of `ask` without what is costly.
fn drop_costly_prefixes(ask: &FtsExpr) -> FtsExpr {
    match ask {
        FtsExpr::Prefix(start) if is_costly_prefix(start) && !is_short_prefix(start) => {
            FtsExpr::Token(encode_token(
                kind::START,
                start.chars().skip(1).take(PREFIX_CHARS),
            ))
        }
        FtsExpr::And(members) => FtsExpr::and(members.iter().map(drop_costly_prefixes)),
        FtsExpr::Or(members) => FtsExpr::or(members.iter().map(drop_costly_prefixes)),
        other if has_prefix(other, &is_costly_prefix) => FtsExpr::All,
        other => other.clone(),
    }
}

fn has_prefix(ask: &FtsExpr, is_such: &dyn Fn(&str) -> bool) -> bool {
    match ask {
        FtsExpr::All | FtsExpr::Nothing | FtsExpr::Token(_) => false,
        FtsExpr::Prefix(start) => is_such(start),
        FtsExpr::And(members) | FtsExpr::Or(members) => {
            members.iter().any(|member| has_prefix(member, is_such))
        }
        FtsExpr::Not(inner) => has_prefix(inner, is_such),
    }
}

fn is_short_prefix(start: &str) -> bool {
    start.chars().count() <= PREFIX_CHARS
}

fn is_costly_prefix(start: &str) -> bool {
    start.starts_with(kind::WORD) || is_short_prefix(start)
}
