//! Pasted lines as one query.

use super::punctuation::trim_word;

/// Joins lines by `or` if each is one word, such as a column of order numbers.
///
/// A line may also have several addresses, with commas or semicolons.
/// Of a name with its address in angle brackets, the address remains. Another text is `None`: its
/// words stay words.
pub(crate) fn join_lines(text: &str) -> Option<String> {
    let lines = split_trimmed(text, &['\n', '\r']);
    let words = lines.map(|line| match single_word(line) {
        Some(word) => Some(vec![word]),
        None => split_addresses(line),
    });
    let words = words.collect::<Option<Vec<_>>>()?.concat();
    (words.len() > 1).then(|| format!("({})", words.join(" or ")))
}

fn split_trimmed<'a>(text: &'a str, at: &'a [char]) -> impl Iterator<Item = &'a str> {
    text.split(at)
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

/// A name may have a comma, so semicolons separate if there are any.
fn split_addresses(line: &str) -> Option<Vec<&str>> {
    let separator = if line.contains(';') { &[';'] } else { &[','] };
    let words = split_trimmed(line, separator).map(single_word);
    words
        .map(|word| word.filter(|word| word.contains('@')))
        .collect()
}

/// The one word of a line, or the address that follows a name.
fn single_word(line: &str) -> Option<&str> {
    let line = line.trim_end_matches([',', ';']);
    let word = match line.rsplit_once(char::is_whitespace) {
        Some((name, word)) => {
            let is_named = word.starts_with('<') && word.contains('@') && !name.contains('@');
            is_named.then_some(word)?
        }
        None => line,
    };
    let word = trim_word(word.trim_matches('"'));
    let is_plain = word
        .chars()
        .all(|c| c.is_alphanumeric() || "@._+-#/'".contains(c));
    let is_term = is_plain && word.contains(|c: char| c == '@' || c.is_numeric());
    (is_term && !word.starts_with('-')).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::join_lines;

    #[test]
    fn lines_of_one_thing_each_become_alternatives() {
        for (pasted, query) in [
            (
                "ana@x.example\nbo@y.example\n",
                Some("(ana@x.example or bo@y.example)"),
            ),
            ("ORD-1\r\nORD-2\r\n\r\n#3", Some("(ORD-1 or ORD-2 or #3)")),
            (
                "ana@x.example;\rBo B. <bo@y.example>,",
                Some("(ana@x.example or bo@y.example)"),
            ),
            (
                "a@x.example, b@x.example",
                Some("(a@x.example or b@x.example)"),
            ),
            (
                "Perez, A <a@x.example>; b@x.example\nc@x.example",
                Some("(a@x.example or b@x.example or c@x.example)"),
            ),
            (
                "b@x.example, A <a@x.example>",
                Some("(b@x.example or a@x.example)"),
            ),
            (
                "\"a@x.example\"\n\"b@x.example\",\n",
                Some("(a@x.example or b@x.example)"),
            ),
            ("31,90", None),
            ("to:a@x.example, b@x.example", None),
            ("ana@x.example\n", None),
            ("ana@x.example bo@y.example", None),
            ("Your order 4711\nis on its way", None),
            ("hello\nworld", None),
            ("-1\n-2", None),
            ("a@x.example\nto:b@x.example", None),
            ("a@x.example\n\u{1b}[A9", None),
        ] {
            assert_eq!(join_lines(pasted).as_deref(), query, "{pasted:?}");
        }
    }
}
