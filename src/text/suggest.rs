//! The nearest of some known words: "did you mean".

/// Returns the known word that differs from `typed` in at most two letters, and in few of a short word.
pub(crate) fn suggest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let max_distance = (typed.chars().count() / 3).clamp(1, 2);
    let typed = typed.to_lowercase();
    let distance = |word: &str| strsim::osa_distance(&typed, &word.to_lowercase());
    let nearest = known.into_iter().min_by_key(|word| distance(word));
    nearest.filter(|word| distance(word) <= max_distance)
}

/// `; did you mean acme?`, if there is something near.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    suggest(name, known)
        .map(|word| format!("; did you mean {word}?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_word_and_other_words_do_not() {
        let verbs = ["list", "show", "serve", "sync", "render", "demo"];
        for (typed, word) in [
            ("lst", "list"),
            ("shwo", "show"),
            ("LIST", "list"),
            ("servee", "serve"),
            ("syn", "sync"),
        ] {
            assert_eq!(suggest(typed, verbs), Some(word), "{typed}");
        }
        for typed in ["receipt", "acme", "ana", "x"] {
            assert_eq!(suggest(typed, verbs), None, "{typed}");
        }
    }
}
