//! Compares the text part with the html part, because some people only ever see the former.

use std::collections::HashMap;

use super::body::{BodyNotice, NoticeKind};

/// Longer parts are compared up to here.
const MAX_WORDS: usize = 20_000;

/// Below this share of common words the parts say different things.
const MIN_SHARED: f64 = 0.6;

/// What a person should know about the text part, given the words of the html part.
pub(super) fn compare_parts(html: &str, text: Option<&str>) -> Option<BodyNotice> {
    let (short, message) = match text {
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
        kind: NoticeKind::TextPart,
        label: short.to_owned(),
        detail: message,
    })
}

/// The share of the words of the smaller part that the other one has too. Words of one letter and
/// addresses of links do not count: only one of the parts shows them.
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
    let mut words = HashMap::new();
    let shown = text.split_whitespace().filter(|word| !word.contains("://"));
    let each = shown
        .flat_map(|word| word.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| word.chars().nth(1).is_some());
    for word in each.take(MAX_WORDS) {
        *words.entry(word.to_lowercase()).or_default() += 1;
    }
    words
}
