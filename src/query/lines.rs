//! Pasted lines as one query.

use super::operators::trim_address;

/// Joins lines by `or` if each names one thing: a column of addresses or numbers.
///
/// Of a name with its address in angle brackets, the address remains. Another text is `None`: its words stay words.
pub(crate) fn join_lines(text: &str) -> Option<String> {
    let lines = text
        .split(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let words: Vec<&str> = lines.map(single_word).collect::<Option<_>>()?;
    (words.len() > 1).then(|| format!("({})", words.join(" or ")))
}

/// The one word of a line, or the address that follows a name.
fn single_word(line: &str) -> Option<&str> {
    let line = line.trim_end_matches([',', ';']);
    let word = match line.rsplit_once(char::is_whitespace) {
        Some((_, word)) => (word.starts_with('<') && word.contains('@')).then_some(word)?,
        None => line,
    };
    let word = trim_address(word);
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
