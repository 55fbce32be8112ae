//! Words of a query: keywords, and the punctuation that sentences, lists and mail
//! programs put around words.

/// Marks that are not typed on most keyboards.
const TYPOGRAPHIC: &str = "“”„‟«»‘’‚‛‹›…·•–—¿¡、。「」『』！？：；，（）";
/// Not among them is the start of `-x`, `@x`, `.example`, `#3` and amounts.
const BEFORE_WORD: &str = "([{<'\"*,;:!?“”„‟«»‘’‚‛‹›…¿¡「『（";
const AFTER_WORD: &str = ")]}>'\"*,;:!?.“”„‟«»‘’‚‛‹›…、。」』！？：；，）";
const BRACKETS: [(char, char); 4] = [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>')];

/// Returns the quotes that close what a typographic quote opens.
pub(super) const fn closing_quotes(open: char) -> Option<&'static [char]> {
    match open {
        '“' | '”' | '„' | '‟' | '«' | '»' => Some(&['"', '“', '”', '‟', '«', '»']),
        '‘' | '‚' | '‹' | '›' => Some(&['‘', '’', '‛', '‹', '›']),
        _ => None,
    }
}

/// Returns a word without the punctuation around it; of a link to an email, the id.
///
/// Brackets that open within the word stay, and so does a word of punctuation alone.
pub(super) fn trim_word(word: &str) -> &str {
    if word.contains('@') {
        return trim_address(word);
    }
    let mut trimmed = word.trim_start_matches(|c| BEFORE_WORD.contains(c));
    while let Some(last) = trimmed
        .chars()
        .next_back()
        .filter(|c| AFTER_WORD.contains(*c))
    {
        let rest = &trimmed[..trimmed.len() - last.len_utf8()];
        let is_inch = last == '"' && rest.ends_with(|c: char| c.is_ascii_digit());
        let is_pair = |(open, close): &(char, char)| {
            *close == last && rest.matches(*open).count() > rest.matches(*close).count()
        };
        if is_inch || BRACKETS.iter().any(is_pair) {
            break;
        }
        trimmed = rest;
    }
    if !trimmed.contains(char::is_alphanumeric) {
        return word;
    }
    linked_id(trimmed).unwrap_or(trimmed)
}

/// Returns the id in the link to an email in the service's dashboard.
fn linked_id(word: &str) -> Option<&str> {
    let path = word.split(['?', '#']).next()?.trim_end_matches('/');
    let (before, id) = path.rsplit_once('/')?;
    let is_digit = |c: char| c == '-' || c.is_ascii_hexdigit();
    let is_uuid = id.len() == 36 && id.chars().all(is_digit);
    let is_link = before.contains("://") && before.contains("/emails");
    (is_uuid && is_link).then_some(id)
}

/// Returns an address without what programs and sentences put around it, as in
/// `<ana@example.com>`, `mailto:ana@example.com` or `ana@example.com,`. Other words stay.
pub(super) fn trim_address(word: &str) -> &str {
    if !word.contains('@') {
        return word;
    }
    let address = word.trim_start_matches(|c| BEFORE_WORD.contains(c));
    match address.split_at_checked("mailto:".len()) {
        Some((scheme, address)) if scheme.eq_ignore_ascii_case("mailto:") => {
            return trim_address(address);
        }
        _ => {}
    }
    address.trim_end_matches(|c| AFTER_WORD.contains(c))
}

/// Returns the value of an operator on a part of a field without `*`, ellipses and
/// typographic quotes around it.
pub(super) fn trim_part(value: &str) -> &str {
    let trimmed = value.trim_matches(|c| c == '*' || c == '…' || closing_quotes(c).is_some());
    if trimmed.contains(char::is_alphanumeric) {
        trimmed
    } else {
        value
    }
}

/// Whether a word is punctuation alone, such as the dash in `order – shipped`.
/// One that may be meant as *not* counts as none.
pub(super) fn is_punctuation(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_ascii_punctuation() && !"@#+%$-!".contains(c) || TYPOGRAPHIC.contains(c))
}

/// Whether a word is what mail programs put before the subject of a reply or a forwarded email,
/// or servers before that of mail from outside.
pub(super) fn is_reply_prefix(word: &str) -> bool {
    /// In the languages whose headers are read.
    const REPLIES: &str = "re aw antw sv rv res r vs fw fwd wg tr enc doorst vb vl i";
    const OUTSIDE: &str = "[ext] [extern] [external] [externe] [externo]";
    let word = word.to_lowercase();
    let reply = word.strip_suffix(':');
    reply.is_some_and(|reply| REPLIES.split(' ').any(|it| it == reply))
        || OUTSIDE
            .split(' ')
            .any(|it| it == word.trim_end_matches(':'))
}

/// Returns a subject without the prefixes of replies.
pub(super) fn skip_reply_prefixes(subject: &str) -> &str {
    let mut rest = subject.trim();
    while let Some((first, after)) = rest.split_once(char::is_whitespace)
        && is_reply_prefix(first)
    {
        rest = after.trim_start();
    }
    rest
}

/// Whether a word joins or negates conditions.
pub(super) fn is_keyword(word: &str) -> bool {
    ["and", "or", "not"]
        .iter()
        .any(|it| word.eq_ignore_ascii_case(it))
}
