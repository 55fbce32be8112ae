//! Notices: facts about a body as a whole, such as trackers and cuts.

use super::body::{BodyNotice, CUT};
use crate::text::format::plural;

/// The reason for a cut at [`super::body::MAX_LINES`].
pub(super) const TOO_MANY_LINES: &str = "it has more than 50 000 lines";

/// Creates a notice for the status line alone.
pub(super) fn status(label: impl Into<String>, detail: String) -> BodyNotice {
    BodyNotice {
        label: label.into(),
        detail,
        is_in_body: false,
    }
}

/// Creates a notice that is at the end of the body, too.
fn in_body(label: &str, detail: String) -> BodyNotice {
    BodyNotice {
        is_in_body: true,
        ..status(label, detail)
    }
}

/// Reports that the body is cut.
pub(super) fn truncated(reason: &str) -> BodyNotice {
    in_body(CUT, format!("not everything is shown: {reason}"))
}

/// Reports that another view is shown than the requested one.
pub(super) fn fallback(message: &str) -> BodyNotice {
    in_body("fallback", message.to_owned())
}

/// Reports characters that were removed from the text, if any.
pub(super) fn sanitized(count: usize) -> Option<BodyNotice> {
    let verb = if count == 1 { "was" } else { "were" };
    let characters = plural(count as u64, "character");
    let detail = format!(
        "{characters} {verb} removed that could command the terminal or reverse text; \u{FFFD} marks where"
    );
    (count > 0).then(|| status(format!("{count} removed"), detail))
}

/// Reports text that browsers show in reverse order.
pub(super) fn reversed() -> BodyNotice {
    let detail = "browsers show a part of the text in reverse order; here it is as written";
    in_body("reversed text", detail.to_owned())
}

/// Reports tracking images by their `hosts`.
pub(super) fn trackers(hosts: &[String]) -> Option<BodyNotice> {
    if hosts.is_empty() {
        return None;
    }
    let mut names: Vec<&str> = hosts.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let label = plural(hosts.len() as u64, "tracker");
    let more = match names.len() {
        0..=3 => String::new(),
        count => format!(" and {} more", count - 3),
    };
    let first = names[..names.len().min(3)].join(", ");
    let detail =
        format!("{label} would report to {first}{more} that this was opened; nothing was loaded");
    Some(status(label, detail))
}

/// Reports images that are attached to the email.
pub(super) fn attachments(names: &[String]) -> Option<BodyNotice> {
    if names.is_empty() {
        return None;
    }
    let label = plural(names.len() as u64, "attached picture");
    let detail = format!("{label}: {}", names.join(", "));
    Some(status(label, detail))
}
