//! The words that a body says about itself.

use super::body::{Note, NoteKind};

/// The body is not whole, because of `reason`.
pub(super) fn cut(reason: &str) -> Note {
    Note {
        kind: NoteKind::Cut,
        short: "cut".to_owned(),
        sentence: format!("not everything is shown: {reason}"),
    }
}

/// Something else is shown than what was asked for.
pub(super) fn instead(sentence: &str) -> Note {
    Note {
        kind: NoteKind::Instead,
        short: "fall-back".to_owned(),
        sentence: sentence.to_owned(),
    }
}

/// Characters were taken out in cleaning.
pub(super) fn removed(count: usize) -> Note {
    let sentence = format!(
        "{} removed that could command the terminal or reverse text; \u{FFFD} marks where",
        number(count, "character")
    );
    Note {
        kind: NoteKind::Removed,
        short: format!("{count} removed"),
        sentence,
    }
}

/// `1 link`, `2 links`.
pub(super) fn number(count: usize, word: &str) -> String {
    if count == 1 {
        format!("1 {word} was")
    } else {
        format!("{count} {word}s were")
    }
}

/// Pictures that are only there to be loaded, by the hosts that would learn of it.
pub(super) fn trackers(hosts: &[String]) -> Option<Note> {
    if hosts.is_empty() {
        return None;
    }
    let mut named: Vec<&str> = hosts.iter().map(String::as_str).collect();
    named.sort_unstable();
    named.dedup();
    let count = hosts.len();
    let short = if count == 1 {
        "1 tracker".to_owned()
    } else {
        format!("{count} trackers")
    };
    let more = if named.len() > 3 {
        format!(" and {} more", named.len() - 3)
    } else {
        String::new()
    };
    let sentence = format!(
        "{short} would report to {}{more} that this was opened; nothing was loaded",
        named[..named.len().min(3)].join(", ")
    );
    Some(Note {
        kind: NoteKind::Tracker,
        short,
        sentence,
    })
}

/// Pictures that travel with the email.
pub(super) fn attached(names: &[String]) -> Option<Note> {
    if names.is_empty() {
        return None;
    }
    let short = if names.len() == 1 {
        "1 attached picture".to_owned()
    } else {
        format!("{} attached pictures", names.len())
    };
    Some(Note {
        kind: NoteKind::Attachment,
        sentence: format!("{short}: {}", names.join(", ")),
        short,
    })
}
