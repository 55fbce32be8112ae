//! [`Address`]: a mailbox of a header, split into name and address.

use std::borrow::Cow;

use super::{MAX_CHARS, SafeText};

/// A mailbox: `Ana López <ana@example.com>`, or the bare address.
///
/// Nothing is validated: text that cannot be split is in `email` as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Address {
    /// The display name; empty if there is none.
    pub(crate) name: SafeText,
    /// The bare address, `ana@example.com`.
    pub(crate) email: SafeText,
}

impl Address {
    /// Splits at the last `<`, so that a name which looks like an address is not taken
    /// for one.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim();
        let split = text
            .strip_suffix('>')
            .and_then(|rest| rest.rsplit_once('<'));
        match split {
            Some((name, email)) if !email.trim().is_empty() => Self {
                name: SafeText::new(&unquote(name.trim())),
                email: SafeText::new(email.trim()),
            },
            _ => Self {
                name: SafeText::default(),
                email: SafeText::new(text),
            },
        }
    }

    pub(super) fn truncate(&mut self) {
        self.name.truncate(MAX_CHARS);
        self.email.truncate(MAX_CHARS);
    }

    /// Returns the part after the last `@`; empty if there is none.
    pub(crate) fn domain(&self) -> &str {
        self.email.rsplit_once('@').map_or("", |(_, domain)| domain)
    }

    /// Formats the address as a header does, so that a list of them can be split:
    /// a name with special characters (RFC 5322, section 3.2.3) is quoted.
    pub(crate) fn to_mailbox(&self) -> String {
        if !self
            .name
            .contains(['(', ')', '<', '>', '[', ']', ':', ';', '@', '\\', ',', '"'])
        {
            return self.to_string();
        }
        let name = self.name.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{name}\" <{}>", self.email)
    }

    /// Formats the address, with a warning if it may imitate another one.
    pub(crate) fn with_warning(&self) -> String {
        match self.lookalike_warning() {
            Some(why) => format!("{self} (look-alike: {why})"),
            None => self.to_string(),
        }
    }

    /// Returns why the address may imitate another one, if it may.
    pub(crate) fn lookalike_warning(&self) -> Option<String> {
        let email = self.email.to_lowercase();
        if email.is_ascii() && !email.contains("xn--") {
            return None;
        }
        let (local, domain) = email.rsplit_once('@').unwrap_or(("", &email));
        let unicode = url::quirks::domain_to_unicode(domain);
        if mixes_scripts(local) || unicode.split('.').any(mixes_scripts) {
            Some("mixes letters of two scripts".to_owned())
        } else if unicode != domain && domain.is_ascii() {
            Some(format!("the domain is {}", SafeText::new(&unicode)))
        } else {
            None
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.name.is_empty() {
            return f.write_str(&self.email);
        }
        write!(f, "{} <{}>", self.name, self.email)
    }
}

/// Whether a name has letters that look like those of another script in it:
/// Greek, Cyrillic, Armenian or Georgian ones beside Latin ones.
pub(crate) fn mixes_scripts(name: &str) -> bool {
    let latin = |c: char| c.is_ascii_alphabetic() || matches!(c, '\u{C0}'..='\u{24F}');
    let similar = |c: char| matches!(c, '\u{370}'..='\u{58F}' | '\u{10A0}'..='\u{10FF}');
    name.chars().any(latin) && name.chars().any(similar)
}

/// Returns a name without its quotes, and without the backslashes of quoted pairs.
fn unquote(name: &str) -> Cow<'_, str> {
    let Some(quoted) = name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return name.into();
    };
    if !quoted.contains('\\') {
        return quoted.into();
    }
    let mut chars = quoted.chars();
    std::iter::from_fn(|| match chars.next() {
        Some('\\') => chars.next(),
        next => next,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, String) {
        let address = Address::parse(text);
        (address.name.to_string(), address.email.to_string())
    }

    #[test]
    fn lookalike_addresses_are_flagged() {
        let warning = |text: &str| Address::parse(text).lookalike_warning();
        assert_eq!(warning("Ana <ana@example.com>"), None);
        assert_eq!(warning("jürgen@müller.example"), None);
        let expected = Some("the domain is müller.example");
        assert_eq!(warning("a@XN--mller-kva.example").as_deref(), expected);
        let mixed = "mixes letters of two scripts";
        assert_eq!(warning("a@\u{430}pple.example").as_deref(), Some(mixed));
        assert_eq!(warning("\u{430}na@example.com").as_deref(), Some(mixed));
        assert_eq!(warning("почта@пример.example"), None);
    }

    #[test]
    fn mailboxes_are_split_at_the_last_bracket() {
        let pair = |name: &str, email: &str| (name.to_owned(), email.to_owned());
        assert_eq!(
            parsed("Ana López <ana@example.com>"),
            pair("Ana López", "ana@example.com")
        );
        assert_eq!(
            parsed("\"Acme, Inc.\" <hi@example.com>"),
            pair("Acme, Inc.", "hi@example.com")
        );
        assert_eq!(parsed(" ana@example.com "), pair("", "ana@example.com"));
        assert_eq!(
            parsed("boss@example.com <thief@example.org>"),
            pair("boss@example.com", "thief@example.org")
        );
        let quoted = r#""O'Brien, \"X\" \\" <o@example.com>"#;
        assert_eq!(parsed(quoted), pair(r#"O'Brien, "X" \"#, "o@example.com"));
        assert_eq!(Address::parse(quoted).to_mailbox(), quoted);
        assert_eq!(parsed("broken <"), pair("", "broken <"));
        assert_eq!(parsed(""), pair("", ""));
        assert_eq!(Address::parse("x@a@example.org").domain(), "example.org");
    }
}
