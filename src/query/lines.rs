//! Lists of addresses or numbers, as they are pasted from elsewhere.

use super::words::{closing_quotes, is_keyword, trim_word};

/// Joins a list by `or`, such as a column of order numbers.
///
/// Another text is `None`: its words stay words.
pub(super) fn join_lines(text: &str) -> Option<String> {
    Some(match parse_list(text)?.as_slice() {
        [word] => (*word).to_owned(),
        words => format!("({})", words.join(" or ")),
    })
}

/// Splits a list of addresses or numbers with a digit:
/// one a line, or with commas or semicolons.
///
/// Of a name with its address in angle brackets, the address remains; bullets, numbers of lines
/// and the header of a column of addresses are left out. One word alone is no list.
pub(super) fn parse_list(text: &str) -> Option<Vec<&str>> {
    let mut lines: Vec<&str> = split_trimmed(text, &['\n', '\r']).collect();
    let has_header = lines.len() > 1 && is_header(lines[0]);
    lines.drain(..usize::from(has_header));
    let words = lines.into_iter().map(split_line);
    let words = words.collect::<Option<Vec<_>>>()?.concat();
    let is_list = match words.as_slice() {
        [] => false,
        [word] => word.contains('@') && trim_word(text.trim()) != *word,
        _ => true,
    };
    let is_column = !has_header || words.iter().all(|word| word.contains('@'));
    (is_list && is_column).then_some(words)
}

fn split_trimmed<'a>(text: &'a str, at: &'a [char]) -> impl Iterator<Item = &'a str> {
    text.split(at)
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

fn is_header(line: &str) -> bool {
    let name = line.trim_matches(['"', ',', ';', ':']).to_lowercase();
    let is_name = |c: char| c.is_alphabetic() || " _-".contains(c);
    let ends = ["mail", "address", "addresses", "recipient", "recipients"];
    name.chars().all(is_name) && (name == "to" || ends.iter().any(|end| name.ends_with(end)))
}

fn split_line(line: &str) -> Option<Vec<&str>> {
    let parts = split_trimmed(trim_bullet(line), &[';']).map(|part| match single_word(part) {
        Some(word) => Some(vec![word]),
        None => split_commas(part),
    });
    Some(parts.collect::<Option<Vec<_>>>()?.concat())
}

/// Returns a line without its bullet or number, as in `- ORD-1` and `1. ORD-1`.
fn trim_bullet(line: &str) -> &str {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = if digits.len() < line.len() {
        digits.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*', '•', '·', '–'])
    };
    let rest = rest.filter(|rest| rest.starts_with(char::is_whitespace));
    rest.map_or(line, str::trim_start)
}

/// Splits at commas, but not within a name or an amount.
///
/// As in `Perez, Ana <ana@example.com>` and `31,90`.
fn split_commas(text: &str) -> Option<Vec<&str>> {
    let (mut words, mut start) = (Vec::new(), 0);
    for (at, _) in text.match_indices(',').chain([(text.len(), "")]) {
        let part = text[start..at].trim();
        let rest = text[at..].trim_start_matches(',');
        let is_amount = rest.starts_with(|c: char| c.is_ascii_digit());
        if part.is_empty() {
            start = at + 1;
        } else if let Some(word) = single_word(part)
            && (!is_amount || word.contains(char::is_alphabetic))
        {
            words.push(word);
            start = at + 1;
        }
    }
    (start > text.len()).then_some(words)
}

/// Returns the one word of a part, or the address that follows a name.
pub(super) fn single_word(part: &str) -> Option<&str> {
    let part = part.trim_end_matches([',', ';']);
    let named = part.strip_suffix('>').and_then(|it| it.rsplit_once('<'));
    let word = if let Some((name, address)) = named {
        let quoted = unquote(name.trim());
        let is_one = quoted.map_or_else(|| is_name(name), |name| !name.contains('"'));
        Some(address).filter(|it| is_one && it.contains('@'))?
    } else {
        let is_quote = |c: char| c == '"' || closing_quotes(c).is_some();
        let unquoted = unquote(part).unwrap_or(part);
        Some(unquoted).filter(|it| !it.contains(is_quote))?
    };
    let word = trim_word(word);
    let is_plain = word
        .chars()
        .all(|c| c.is_alphanumeric() || "@._+-#/'".contains(c));
    let is_term = is_plain && word.contains(|c: char| c == '@' || c.is_numeric());
    (is_term && !word.starts_with('-')).then_some(word)
}

fn unquote(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

/// Whether text before an address has nothing that is syntax in a query.
fn is_name(text: &str) -> bool {
    let is_syntax = |word: &str| is_keyword(word) || word.len() > 1 && word.starts_with('-');
    !text.contains(['@', ':', '"']) && !text.split_whitespace().any(is_syntax)
}

#[cfg(test)]
mod tests {
    use super::join_lines;

    #[test]
    fn lists_become_alternatives() {
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
            ("a@x, b@x", Some("(a@x or b@x)")),
            ("Perez, A <a@x>; b@x\nc@x", Some("(a@x or b@x or c@x)")),
            ("b@x, A <a@x>", Some("(b@x or a@x)")),
            ("\"a@x\"\n\"b@x\",\n", Some("(a@x or b@x)")),
            ("Perez, Ana <ana@x>", Some("ana@x")),
            ("\"Perez, Ana\" <ana@x>", Some("ana@x")),
            ("\"ana@x\"<ana@x>", Some("ana@x")),
            ("\"A, B\" <a@x>, \"C, D\" <c@y>", Some("(a@x or c@y)")),
            ("A, B <a@x>, C, D <c@y>,", Some("(a@x or c@y)")),
            ("- a@x\n• b@x\n* c@x", Some("(a@x or b@x or c@x)")),
            ("1. a@x\n2) b@x", Some("(a@x or b@x)")),
            ("- a@x", Some("a@x")),
            ("a@x, b@y;\nc@z", Some("(a@x or b@y or c@z)")),
            ("email\na@x\nb@x", Some("(a@x or b@x)")),
            ("\"E-mail address\"\na@x", Some("a@x")),
            ("HP-58168, HP-69315", Some("(HP-58168 or HP-69315)")),
            ("HP-1;HP-2,HP-3", Some("(HP-1 or HP-2 or HP-3)")),
            ("4711, 4712", Some("(4711 or 4712)")),
            ("31,90", None),
            ("1,234.50", None),
            ("Nov 27, 2026", None),
            ("receipt, 4711", None),
            ("email\nORD-1", None),
            ("to:a@x, b@x", None),
            ("is:sent Ana <a@x>", None),
            ("bo or Ana <a@x>", None),
            ("\"HP-1,HP-2\"", None),
            ("“HP-1, HP-2”", None),
            ("-bo <a@x>", None),
            ("ana@x\n", None),
            ("<ana@x>,", None),
            ("ana@x bo@y", None),
            ("ana@x <bo@y>", None),
            ("Your order 4711\nis on its way", None),
            ("hello\nworld", None),
            ("-1\n-2", None),
            ("a@x\nto:b@x", None),
            ("a@x\n\u{1b}[A9", None),
        ] {
            assert_eq!(join_lines(pasted).as_deref(), query, "{pasted:?}");
        }
    }
}
