//! The words that a body says about itself.

use super::body::{BodyNotice, NoticeKind};

/// The body is not whole, because of `reason`.
pub(super) fn truncated(reason: &str) -> BodyNotice {
    BodyNotice {
        kind: NoticeKind::Truncated,
        label: "cut".to_owned(),
        detail: format!("not everything is shown: {reason}"),
    }
}

/// Something else is shown than what was asked for.
pub(super) fn fallback(message: &str) -> BodyNotice {
    BodyNotice {
        kind: NoticeKind::Fallback,
        label: "fall-back".to_owned(),
        detail: message.to_owned(),
    }
}

/// Characters were taken out in cleaning.
pub(super) fn sanitized(count: usize) -> BodyNotice {
    let message = format!(
        "{} removed that could command the terminal or reverse text; \u{FFFD} marks where",
        count_phrase(count, "character")
    );
    BodyNotice {
        kind: NoticeKind::Sanitized,
        label: format!("{count} removed"),
        detail: message,
    }
}

/// `1 link`, `2 links`.
pub(super) fn count_phrase(count: usize, word: &str) -> String {
    if count == 1 {
        format!("1 {word} was")
    } else {
        format!("{count} {word}s were")
    }
}

/// Pictures that are only there to be loaded, by the hosts that would learn of it.
pub(super) fn trackers(hosts: &[String]) -> Option<BodyNotice> {
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
    let message = format!(
        "{short} would report to {}{more} that this was opened; nothing was loaded",
        named[..named.len().min(3)].join(", ")
    );
    Some(BodyNotice {
        kind: NoticeKind::Tracker,
        label: short,
        detail: message,
    })
}

/// Pictures that travel with the email.
pub(super) fn attachments(names: &[String]) -> Option<BodyNotice> {
    if names.is_empty() {
        return None;
    }
    let short = if names.len() == 1 {
        "1 attached picture".to_owned()
    } else {
        format!("{} attached pictures", names.len())
    };
    Some(BodyNotice {
        kind: NoticeKind::Attachment,
        detail: format!("{short}: {}", names.join(", ")),
        label: short,
    })
}
