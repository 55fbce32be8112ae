//! Why an email did not arrive:
//! [`Bounce`], the answer of the recipient's server, where the service passes it on, and
//! [`Suppression`], for which the service did not send it.

use std::borrow::Cow;
use std::ops::Deref;

use serde_json::Value;

use super::{Address, ApiTime, BOUNCE_FIELD, SafeText, Status};

/// Why an email bounced; each text is empty if the service does not state it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounce {
    message: SafeText,
    /// `Permanent`, `Transient` or `Undetermined`.
    kind: SafeText,
    /// Such as `MailboxFull`.
    sub_type: SafeText,
    /// The answer of the server.
    diagnostic: SafeText,
    /// The only recipient whose address is in these texts.
    named: SafeText,
}

impl Bounce {
    /// Finds it among the unknown fields of an email: names and JSON values.
    pub(crate) fn find<T: Deref<Target = str>>(extra: &[(T, T)]) -> Option<Self> {
        let (_, json) = extra.iter().find(|(name, _)| &**name == BOUNCE_FIELD)?;
        Self::parse(json)
    }

    /// Parses the member `bounce` of an email; `None` if it says nothing.
    fn parse(json: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(json).ok()?;
        let text = |name: &str| match value.get(name) {
            Some(Value::String(text)) => SafeText::new(text),
            // The events of webhooks have a list of them.
            Some(Value::Array(texts)) => {
                let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
                SafeText::new(&texts.join("; "))
            }
            _ => SafeText::default(),
        };
        let bounce = Self {
            message: text("message"),
            kind: text("type"),
            sub_type: text("subType"),
            diagnostic: text("diagnosticCode"),
            named: SafeText::default(),
        };
        Some(bounce).filter(|bounce| !bounce.reason().is_empty())
    }

    /// Finds which one of the recipients its texts name.
    pub(super) fn with_recipients<'a>(
        mut self,
        recipients: impl Iterator<Item = &'a Address>,
    ) -> Self {
        let text = self.searched_text().to_lowercase();
        if !text.contains('@') {
            return self;
        }
        let mut named = recipients
            .map(|to| (to.email.to_lowercase(), &to.email))
            .filter(|(address, _)| contains_address(&text, address));
        if let Some((first, email)) = named.next()
            && named.all(|(other, _)| other == first)
        {
            self.named = email.clone();
        }
        self
    }

    /// Returns the message, or else what says most.
    pub(crate) fn reason(&self) -> &SafeText {
        let all = [&self.message, &self.diagnostic, &self.kind, &self.sub_type];
        let first = all.into_iter().find(|text| !text.is_empty());
        first.unwrap_or(&self.message)
    }

    /// Returns all that it says, which a search reads.
    pub(crate) fn searched_text(&self) -> String {
        format!("{} {}", self.reason(), self.details())
    }

    /// Whether it is why an email has this status, and not an earlier one.
    fn explains(status: &Status) -> bool {
        match status {
            Status::Complained => false,
            Status::Unknown | Status::Other(_) => true,
            known => known.is_problem(),
        }
    }

    /// Returns what to show beside this status, and in a line of its own.
    ///
    /// The reason does not explain that an email was delivered: another recipient got it, or it was
    /// sent again.
    pub(super) fn texts_for(&self, status: &Status) -> (Option<&SafeText>, String) {
        if !Self::explains(status) {
            return (None, join_known([self.reason(), &self.details()], "; "));
        }
        (Some(self.reason()), self.details())
    }

    /// Writes what is not in the reason:
    /// `Permanent, General; smtp; 550 5.1.1 unknown user`.
    pub(crate) fn details(&self) -> String {
        let reason = self.reason();
        let [kind, sub_type, diagnostic] = [&self.kind, &self.sub_type, &self.diagnostic]
            .map(|text| if text == reason { "" } else { &**text });
        let kinds = join_known([kind, sub_type], ", ");
        join_known([&kinds, diagnostic], "; ")
    }
}

/// Whether a text has this address by itself, and not in another word.
///
/// A local part may have any sign but these (RFC 5321, section 4.1.2).
fn contains_address(text: &str, address: &str) -> bool {
    let ends_word = |c: char| c.is_whitespace() || "<>()[]\":;,„“”‘’".contains(c);
    address.contains('@')
        && text.match_indices(address).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            // A dot may end the sentence.
            let after = text[at + address.len()..].trim_start_matches('.');
            let next = after.chars().next();
            let is_quoted = matches!(
                (before, next),
                (Some('\''), Some('\'')) | (Some('`'), Some('`'))
            );
            is_quoted || (before.is_none_or(ends_word) && next.is_none_or(ends_word))
        })
}

fn join_known(texts: [&str; 2], separator: &str) -> String {
    let known = texts.into_iter().filter(|text| !text.is_empty());
    known.collect::<Vec<_>>().join(separator)
}

/// Returns that a status is about one recipient of several, and which one the
/// reason names; `None` if it is about the only one, or about the whole email.
pub(crate) fn describe_one_of(
    status: &Status,
    bounce: Option<&Bounce>,
    recipients: usize,
) -> Option<String> {
    let bounce = bounce.filter(|bounce| Bounce::explains(status) && !bounce.named.is_empty());
    let which = match bounce {
        Some(bounce) => format!("the reason names {}", bounce.named),
        None => "not known which".to_owned(),
    };
    let is_of_one = status.is_of_one_of(recipients);
    is_of_one.then(|| format!("one of {recipients} recipients, {which}"))
}

/// Returns what explains a status, its meaning or the reason of the bounce,
/// and what else there is of the bounce.
///
/// Of several recipients, it is not known which one the status is about,
/// unless the reason names one.
pub(crate) fn explain<'a>(
    status: &Status,
    bounce: Option<&'a Bounce>,
    recipients: usize,
) -> (Cow<'a, str>, String) {
    let texts = bounce.map(|bounce| bounce.texts_for(status));
    let (reason, details) = texts.unwrap_or_default();
    let meaning = reason.map_or(status.meaning(), |reason| reason);
    let meaning = match describe_one_of(status, bounce, recipients) {
        // A good status needs no reason, so that one line is enough.
        Some(recipient) if !status.is_problem() => recipient.into(),
        Some(recipient) => format!("{recipient}; {meaning}").into(),
        None => meaning.into(),
    };
    (meaning, details)
}

/// An entry of the team's suppression list:
/// an address to which the service no longer sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// `bounce`, `complaint` or `manual`, or what else the service says.
    pub(crate) origin: SafeText,
    /// When the address was added.
    pub(crate) created: ApiTime,
}

impl Suppression {
    pub(crate) fn reason(&self) -> String {
        match &*self.origin {
            "bounce" => "after a bounce".to_owned(),
            "complaint" => "after a complaint".to_owned(),
            "manual" => "added by hand".to_owned(),
            "" => "for an unknown reason".to_owned(),
            other => other.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_of_several_recipients_is_of_one() {
        let explained = |status: &Status, recipients| explain(status, None, recipients).0;
        assert_eq!(explained(&Status::Bounced, 1), "their server rejected it");
        let expected = "one of 4 recipients, not known which; their server rejected it";
        assert_eq!(explained(&Status::Bounced, 4), expected);
        assert!(explained(&Status::Opened, 2).starts_with("one of 2 recipients"));
        let meaning = Status::Canceled.meaning();
        assert_eq!(explained(&Status::Canceled, 4), meaning);
    }

    #[test]
    fn reason_names_at_most_one_recipient() {
        let recipients = ["cfo@b.test", "fo@b.test", "CFO@b.test"].map(Address::parse);
        for (message, named) in [
            ("unknown: CFO@B.test.", "cfo@b.test"),
            ("<fo@b.test>: unknown", "fo@b.test"),
            ("cfo@b.test, fo@b.test", ""),
            ("dcfo@b.test, a.fo@b.test, fo@b.test.example", ""),
            ("unknown: eve@b.test", ""),
            ("o'fo@b.test unknown", ""),
            ("'fo@b.test' or “fo@b.test” unknown", "fo@b.test"),
            ("fo@b.test@relay.test", ""),
        ] {
            let json = format!(r#"{{"diagnosticCode":"{message}","message":"no"}}"#);
            let bounce = Bounce::parse(&json).unwrap();
            let bounce = bounce.with_recipients(recipients.iter());
            assert_eq!(&*bounce.named, named, "{message}");
            let explained = |status: &Status| explain(status, Some(&bounce), 2).0;
            let which = match named {
                "" => "not known which".to_owned(),
                _ => format!("the reason names {named}"),
            };
            let expected = format!("one of 2 recipients, {which}; no");
            assert_eq!(explained(&Status::Bounced), expected);
            assert!(explained(&Status::Opened).ends_with("not known which"));
        }
    }

    #[test]
    fn bounce_keeps_reason_and_details_of_service() {
        let parse = |json: &str| {
            let bounce = Bounce::parse(json)?;
            Some((bounce.reason().to_string(), bounce.details()))
        };
        let delivered = |json| Bounce::parse(json).unwrap().texts_for(&Status::Delivered).1;
        let full = r#"{"message":"full","type":"Transient","subType":"General"}"#;
        assert_eq!(delivered(full), "full; Transient, General");
        assert_eq!(delivered(r#"{"message":"x"}"#), "x");
        let bounce = Bounce::parse(full).unwrap();
        let reason = |status| bounce.texts_for(&status).0.map(ToString::to_string);
        assert_eq!(reason(Status::Queued), None);
        assert_eq!(reason(Status::Bounced).as_deref(), Some("full"));
        let expected = |reason: &str, details: &str| Some((reason.to_owned(), details.to_owned()));
        assert_eq!(
            parse(
                r#"{"message":"mailbox full","type":"Transient","subType":"MailboxFull","diagnosticCode":["smtp; 552"]}"#
            ),
            expected("mailbox full", "Transient, MailboxFull; smtp; 552")
        );
        assert_eq!(parse(r#"{"message":"x"}"#), expected("x", ""));
        assert_eq!(
            parse(r#"{"message":null,"type":"Permanent","diagnosticCode":"550 \u001b[31m"}"#),
            expected("550 \u{FFFD}[31m", "Permanent")
        );
        for nothing in ["null", "{}", "[]", "\"bounced\"", r#"{"message":7}"#] {
            assert_eq!(parse(nothing), None, "{nothing}");
        }
    }
}
