//! What costs little to ask before a question for which the index gathers all answers first: what has
//! many answers is found that way, and what has few costs the index little.

use super::plan::Ask;
use super::tokens::{START, kind, token};

/// Emails that are looked at where a gram is so short that most questions have many answers.
const MANY: usize = 500;

/// The same where it is the beginning of a longer word.
const FEW: usize = 64;

/// What to ask before `ask`, if that is costly, and how many emails to look at.
pub(super) fn first(ask: &Ask) -> Option<(Ask, usize)> {
    let few = if has(ask, &is_short) { MANY } else { FEW };
    // Alone, a word that nobody uses would cost the index as much a second time.
    has(ask, &is_costly).then(|| {
        (
            if matches!(ask, Ask::And(_)) {
                cheap(ask)
            } else {
                Ask::All
            },
            few,
        )
    })
}

/// A superset of `ask` without what is costly.
fn cheap(ask: &Ask) -> Ask {
    match ask {
        Ask::Start(start) if is_costly(start) && !is_short(start) => {
            Ask::Token(token(kind::START, start.chars().skip(1).take(START)))
        }
        Ask::And(members) => Ask::and(members.iter().map(cheap)),
        Ask::Or(members) => Ask::or(members.iter().map(cheap)),
        other if has(other, &is_costly) => Ask::All,
        other => other.clone(),
    }
}

fn has(ask: &Ask, is_such: &dyn Fn(&str) -> bool) -> bool {
    match ask {
        Ask::All | Ask::Nothing | Ask::Token(_) => false,
        Ask::Start(start) => is_such(start),
        Ask::And(members) | Ask::Or(members) => members.iter().any(|member| has(member, is_such)),
        Ask::Not(inner) => has(inner, is_such),
    }
}

fn is_short(start: &str) -> bool {
    start.chars().count() <= START
}

fn is_costly(start: &str) -> bool {
    start.starts_with(kind::WORD) || is_short(start)
}
