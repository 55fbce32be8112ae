//! Notices: facts about a body as a whole, such as trackers,
//! cuts and parts that differ.

use std::collections::HashMap;

use super::body::BodyNotice;

/// The reason for a cut at [`super::body::MAX_LINES`].
pub(super) const TOO_MANY_LINES: &str = "it has more than 50 000 lines";

/// Longer parts are compared up to here.
const MAX_COMPARED_WORDS: usize = 20_000;

/// Parts that share fewer words than this say different things.
const MIN_SHARED: f64 = 0.6;

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

/// Compares the text part with the text of the html part;
/// some readers see only the former.
pub(super) fn compare_parts(html: &str, text: Option<&str>) -> Option<BodyNotice> {
    let (label, detail) = match text {
        None => (
            "no text part",
            "there is no plain-text part: some people see nothing".to_owned(),
        ),
        Some(text) if text.trim().is_empty() => (
            "text part empty",
            "the plain-text part is empty: some people see nothing".to_owned(),
        ),
        Some(text) => {
            let share = shared_word_share(html, text);
            if share >= MIN_SHARED {
                return None;
            }
            let percent = (share * 100.0).round();
            (
                "text part differs",
                format!(
                    "the plain-text part says something else: {percent} % of its words are in the html part"
                ),
            )
        }
    };
    Some(BodyNotice {
        label: label.to_owned(),
        detail,
        is_in_body: false,
    })
}

/// Returns the share of the smaller part's words that the other part has too.
///
/// Words of one letter and URLs do not count, because often only one part shows them.
fn shared_word_share(html: &str, text: &str) -> f64 {
    let (html, text) = (count_words(html), count_words(text));
    let (few, many) = if html.values().sum::<usize>() < text.values().sum::<usize>() {
        (html, text)
    } else {
        (text, html)
    };
    let total: usize = few.values().sum();
    if total == 0 {
        return 1.0;
    }
    let shared: usize = few
        .iter()
        .map(|(word, count)| count.min(many.get(word).unwrap_or(&0)))
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    let share = shared as f64 / total as f64;
    share
}

fn count_words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let words = text
        .split_whitespace()
        .filter(|word| !word.contains("://"))
        .flat_map(|word| word.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| word.chars().nth(1).is_some());
    for word in words.take(MAX_COMPARED_WORDS) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    counts
}
