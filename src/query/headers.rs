//! Headers of an email, as they are pasted from a mail program or copied from sentbox.

use super::lines::single_word;
use super::operators::{Operator, quote_value};
use super::words::{skip_reply_prefixes, trim_address};

/// What a line of a header is searched for, the most exact first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Header {
    Id,
    MessageId,
    From,
    To,
    Subject,
}

/// The names of a header in mail programs, in English, Dutch, French, German, Italian,
/// Portuguese, Scandinavian languages and Spanish.
const NAMES: [(Header, &str); 5] = [
    (Header::Id, "id"),
    (Header::MessageId, "message-id"),
    (Header::From, "from von van de da fra från"),
    (Header::To, "to an aan à para til till"),
    (
        Header::Subject,
        "subject betreff onderwerp objet oggetto assunto asunto emne ämne",
    ),
];

/// Returns the operator of a header that is named in another language, in lower case.
pub(super) fn operator_of_header(name: &str) -> Option<&'static str> {
    match find_header(name)? {
        Header::From => Some("from"),
        Header::To => Some("to"),
        Header::Subject => Some("subject"),
        Header::Id | Header::MessageId => None,
    }
}

fn find_header(name: &str) -> Option<Header> {
    let name = name.trim().to_lowercase();
    let mut names = NAMES.iter();
    let found = names.find(|(_, names)| names.split(' ').any(|it| it == name));
    found.map(|(header, _)| *header)
}

/// Returns the query for the headers of one email:
/// of its id if they have one, otherwise of its addresses and its subject.
///
/// One line alone is a query, unless it is an address after its name, as in
/// `To: Ana <ana@example.com>`, or the command that shows an email.
pub(super) fn parse_headers(text: &str) -> Option<String> {
    let mut found: Vec<(Header, &str)> = Vec::new();
    let mut lines = 0;
    for line in text.split(['\n', '\r']) {
        let line = line.trim_start_matches(['>', ' ', '\t']).trim_end();
        lines += usize::from(!line.is_empty());
        if is_condition(line) {
            return None;
        }
        let header = shown_id(line).map(|id| (Header::Id, id)).or_else(|| {
            // Without a space, it is an operator.
            let (name, value) = line.split_once(':')?;
            let value = value.strip_prefix(' ')?;
            Some((find_header(name)?, value.trim()))
        });
        // Only the first of a kind: a reply quotes the headers of others below.
        found.extend(header.filter(|(kind, value)| {
            !value.is_empty() && found.iter().all(|(other, _)| other != kind)
        }));
    }
    let is_named_address = |(kind, value): &(Header, &str)| {
        let is_address = matches!(kind, Header::From | Header::To) && value.ends_with('>');
        is_address && single_word(value).is_some_and(|word| word.contains('@'))
    };
    match found.as_slice() {
        [(Header::Id, _)] if shown_id(text.trim()).is_some() => {}
        [one] if lines == 1 && is_named_address(one) => {}
        [_, _, ..] => {}
        _ => return None,
    }
    found.sort_unstable_by_key(|(kind, _)| *kind);
    let conditions = found.iter().map(|(kind, value)| condition(*kind, value));
    Some(match found[0].0 {
        Header::Id | Header::MessageId => condition(found[0].0, found[0].1),
        Header::From | Header::To | Header::Subject => conditions.collect::<Vec<_>>().join(" "),
    })
}

/// Whether a line begins with an operator and its value, as in `is:bounced` or `-to:ana`:
/// the text is a query.
fn is_condition(line: &str) -> bool {
    let condition = line.trim_start_matches('-').split_once(':');
    condition.is_some_and(|(name, value)| {
        Operator::from_name(name).is_some() && !value.is_empty() && !value.starts_with(' ')
    })
}

/// Returns the id in `sentbox -p acme show 49a3999c`.
fn shown_id(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix("sentbox ")?.split(' ');
    words.by_ref().find(|word| *word == "show")?;
    let mut ids = words.filter(|word| !word.starts_with('-'));
    let id = ids.next().filter(|_| ids.next().is_none())?;
    let is_id = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    (id.contains(|c: char| c.is_ascii_digit()) && id.chars().all(is_id)).then_some(id)
}

fn condition(header: Header, value: &str) -> String {
    let (name, value) = match header {
        Header::Id => ("id", quote_value(value)),
        Header::MessageId => ("message-id", quote_value(value)),
        Header::From => ("from", addresses(value)),
        Header::To => ("to", addresses(value)),
        Header::Subject => ("subject", quote_value(skip_reply_prefixes(value))),
    };
    format!("{name}:{value}")
}

/// Returns the addresses with commas; a header with names alone as it is.
fn addresses(value: &str) -> String {
    let parts = value.split([',', ';', ' ', '<', '>']);
    let addresses = parts.filter(|part| part.contains('@')).map(trim_address);
    let mut addresses: Vec<&str> = addresses.collect();
    addresses.dedup();
    match addresses.as_slice() {
        [] => quote_value(value.trim_matches('"')),
        addresses => addresses.join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_headers;

    #[test]
    fn headers_of_an_email_become_its_query() {
        for (pasted, query) in [
            (
                "From: Acme <billing@acme.example>\nSent: Tuesday, 24 November 2026 10:12\nTo: Ana \
                 Lopez <ana@example.com>\nSubject: RE: AW: Your \"order\" 4711\n\nHello",
                Some(
                    r#"from:billing@acme.example to:ana@example.com subject:"Your \"order\" 4711""#,
                ),
            ),
            (
                "> Von: Acme\r\n> An: ana@example.com; Bo <bo@example.com>\r\n> Betreff: Hallo",
                Some("from:Acme to:ana@example.com,bo@example.com subject:Hallo"),
            ),
            (
                "À : Ana <ana@example.com>\nObjet : Votre commande",
                Some("to:ana@example.com subject:\"Votre commande\""),
            ),
            (
                "Subject: Hi\nMessage-ID: <1@acme.example>\nTo: ana@example.com",
                Some("message-id:<1@acme.example>"),
            ),
            (
                "To: ana@example.com\nId: 49a3999c-0ce1\nMessage-ID: <1@acme.example>\nsentbox \
                 show 49a3999c-0ce1",
                Some("id:49a3999c-0ce1"),
            ),
            ("sentbox -p acme show 49a3999c", Some("id:49a3999c")),
            (
                "To: Ana Lopez <ana@example.com>",
                Some("to:ana@example.com"),
            ),
            ("To: ana is:bounced", None),
            ("subject: hi", None),
            ("to:ana@x.org from:<bo@x.org>", None),
            ("To: ana@x.org from:<bo@x.org>", None),
            ("From: bo before:2d -to:<ana@x.org>", None),
            ("to:ana@x.org\nfrom:bo@x.org\nis:bounced", None),
            ("sentbox show order 4711", None),
            ("To: ana@x.org\nFrom: bo@x.org\nis:bounced", None),
            ("To: ana@x.org\nFrom: bo@x.org\n-subject:hi", None),
            ("sentbox show", None),
            ("sentbox show me", None),
            ("Dear all\nTo: me", None),
            ("to:\nsubject:", None),
        ] {
            assert_eq!(parse_headers(pasted).as_deref(), query, "{pasted:?}");
        }
    }
}
