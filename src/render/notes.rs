//! The words that a body says about itself.

use super::body::{Note, NoteKind};

/// The body is not whole, because of `reason`.
pub(super) fn cut(reason: &str) -> Note {
    Note { kind: NoteKind::Cut, short: "cut".to_owned(), sentence: format!("not everything is shown: {reason}") }
}

/// Something else is shown than what was asked for.
pub(super) fn instead(sentence: &str) -> Note {
    Note { kind: NoteKind::Instead, short: "fall-back".to_owned(), sentence: sentence.to_owned() }
}

/// Characters were taken out in cleaning.
pub(super) fn removed(count: usize) -> Note {
    let sentence = format!("{} removed that could command the terminal or reverse text; \u{FFFD} marks where", number(count, "character"));
    Note { kind: NoteKind::Removed, short: format!("{count} removed"), sentence }
}

/// `1 link`, `2 links`.
pub(super) fn number(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word} was") } else { format!("{count} {word}s were") }
}
