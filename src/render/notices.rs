//! Notices: facts about a body as a whole, such as trackers and cuts.

use super::body::BodyNotice;

/// The reason for a cut at [`super::body::MAX_LINES`].
pub(super) const TOO_MANY_LINES: &str = "it has more than 50 000 lines";

/// Reports that the body is cut.
pub(super) fn truncated(reason: &str) -> BodyNotice {
    BodyNotice {
        label: "cut".to_owned(),
        detail: format!("not everything is shown: {reason}"),
        is_in_body: true,
    }
}

/// Reports that another view is shown than the requested one.
pub(super) fn fallback(message: &str) -> BodyNotice {
    BodyNotice {
        label: "fallback".to_owned(),
        detail: message.to_owned(),
        is_in_body: true,
    }
}

/// Reports characters that were removed from the text, if any.
pub(super) fn sanitized(count: usize) -> Option<BodyNotice> {
    let verb = if count == 1 { "was" } else { "were" };
    (count > 0).then(|| BodyNotice {
        label: format!("{count} removed"),
        detail: format!(
            "{} {verb} removed that could command the terminal or reverse text; \u{FFFD} marks where",
            count_noun(count, "character")
        ),
        is_in_body: false,
    })
}

/// Reports text that browsers show in reverse order.
pub(super) fn reversed() -> BodyNotice {
    BodyNotice {
        label: "reversed text".to_owned(),
        detail: "browsers show a part of the text in reverse order; here it is as written"
            .to_owned(),
        is_in_body: true,
    }
}

/// Formats a count with its noun: `1 link`, `2 links`.
fn count_noun(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Reports tracking images by their `hosts`.
pub(super) fn trackers(hosts: &[String]) -> Option<BodyNotice> {
    if hosts.is_empty() {
        return None;
    }
    let mut names: Vec<&str> = hosts.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let label = count_noun(hosts.len(), "tracker");
    let more = if names.len() > 3 {
        format!(" and {} more", names.len() - 3)
    } else {
        String::new()
    };
    Some(BodyNotice {
        detail: format!(
            "{label} would report to {}{more} that this was opened; nothing was loaded",
            names[..names.len().min(3)].join(", ")
        ),
        label,
        is_in_body: false,
    })
}

/// Reports images that are attached to the email.
pub(super) fn attachments(names: &[String]) -> Option<BodyNotice> {
    if names.is_empty() {
        return None;
    }
    let label = count_noun(names.len(), "attached picture");
    let detail = format!("{label}: {}", names.join(", "));
    Some(BodyNotice {
        label,
        detail,
        is_in_body: false,
    })
}
