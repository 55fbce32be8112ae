//! The nearest of some known words: "did you mean".

/// The known word that `typed` is at most two slips away from, and not a different word of its own length.
#[must_use]
pub(crate) fn suggest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let allowed = (typed.chars().count() / 3).clamp(1, 2);
    let near = known
        .into_iter()
        .map(|word| (edit_distance(typed, word), word))
        .min_by_key(|(slips, _)| *slips);
    near.filter(|(slips, _)| *slips <= allowed)
        .map(|(_, word)| word)
}

/// How many letters must be added, dropped, changed or swapped with their neighbour.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (
        a.to_lowercase().chars().collect(),
        b.to_lowercase().chars().collect(),
    );
    let mut above = vec![0; b.len() + 1];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            next[j] = (row[j] + 1)
                .min(next[j - 1] + 1)
                .min(row[j - 1] + usize::from(a[i - 1] != b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                next[j] = next[j].min(above[j - 2] + 1);
            }
        }
        above = std::mem::replace(&mut row, next);
    }
    row[b.len()]
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
