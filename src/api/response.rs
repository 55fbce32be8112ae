//! Reads what the service answered, leniently: what cannot be read costs one item, not the page.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::RequestError;
use super::{EmailPage, ListedEmail, RetrievedEmail, wire};
use crate::mail::EmailId;

/// The list envelope with everything still as it was sent.
#[derive(Deserialize)]
struct ListResponse<'a> {
    #[serde(borrow, default)]
    has_more: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Vec<&'a RawValue>,
}

/// A page of the list operation. `has_more` may be in quotes; anything but a boolean is unknown.
pub(super) fn parse_page(body: &[u8]) -> Result<EmailPage, RequestError> {
    let text = decode_text(body);
    let ListResponse { has_more, data } = serde_json::from_str(&text)
        .map_err(|error| RequestError::unexpected_body(&text, &error))?;
    let mut items = Vec::with_capacity(data.len());
    let mut unreadable = 0;
    for raw in data {
        match ListedEmail::parse(raw.get()) {
            Ok(item) => items.push(item),
            Err(_) => unreadable += 1,
        }
    }
    let has_more = has_more.and_then(|raw| raw.get().trim_matches('"').parse().ok());
    Ok(EmailPage {
        items,
        unreadable,
        has_more,
    })
}

/// The email that was asked for; another one in its place is no answer.
pub(super) fn parse_email(body: &[u8], id: &EmailId) -> Result<RetrievedEmail, RequestError> {
    let text = decode_text(body);
    let email =
        wire::Email::parse(&text).map_err(|error| RequestError::unexpected_body(&text, &error))?;
    if !is_same_id(&email.id, id.as_str()) {
        return Err(RequestError::WrongEmail);
    }
    Ok(RetrievedEmail {
        email,
        json: Arc::from(text.trim()),
    })
}

/// Whether `answered` is `asked`, perhaps in the service's own spelling: one imitator finds an email
/// by its bare UUID and answers with that UUID in capitals, without dashes, behind a prefix.
fn is_same_id(answered: &str, asked: &str) -> bool {
    let letters = |id: &str| {
        id.chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase()
    };
    // A short id may well be the end of another one.
    answered == asked || (asked.len() >= 32 && letters(answered).ends_with(&letters(asked)))
}

/// The body as text. Bytes that are no UTF-8 are marked, not fatal; a byte order mark is skipped.
fn decode_text(body: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_with_its_unreadable_items_counted() {
        let page = parse_page(b"\xEF\xBB\xBF{\"object\":\"list\",\"data\":[{\"id\":\"1\",\"n\":1.50},{\"to\":[]},7],\"extra\":[]}").unwrap();
        assert_eq!(page.unreadable, 2);
        assert_eq!(page.has_more, None);
        assert_eq!(&*page.items[0].json, "{\"id\":\"1\",\"n\":1.50}");
    }

    #[test]
    fn has_more_that_is_no_boolean_is_unknown() {
        let more = |json: &str| {
            parse_page(format!("{{\"data\":[]{json}}}").as_bytes())
                .unwrap()
                .has_more
        };
        for (json, expected) in [
            ("true", Some(true)),
            ("\"true\"", Some(true)),
            ("false", Some(false)),
            ("null", None),
            ("7", None),
        ] {
            assert_eq!(more(&format!(",\"has_more\":{json}")), expected, "{json}");
        }
        assert_eq!(more(""), None);
    }

    #[test]
    fn what_is_no_envelope_is_not_the_api() {
        for body in [
            "",
            "null",
            "[]",
            "{}",
            "{\"data\":null}",
            "{\"data\":{}}",
            "<html>",
            "{\"data\":[",
            &"[".repeat(200_000),
        ] {
            assert!(
                parse_page(body.as_bytes()).is_err(),
                "{}",
                &body[..body.len().min(20)]
            );
        }
    }

    #[test]
    fn an_email_is_the_one_that_was_asked_for() {
        let id = EmailId::new("ab");
        let retrieved = parse_email(b" {\"id\":\"ab\",\"html\":\"<p>\"} ", &id).unwrap();
        assert_eq!(&*retrieved.json, "{\"id\":\"ab\",\"html\":\"<p>\"}");
        assert!(matches!(
            parse_email(b"{\"id\":\"xab\"}", &id),
            Err(RequestError::WrongEmail)
        ));
        let uuid = EmailId::new("6f79f982-88f7-4bbd-87b3-f5e550b48a78");
        assert!(parse_email(b"{\"id\":\"em_6F79F98288F74BBD87B3F5E550B48A78\"}", &uuid).is_ok());
        assert!(matches!(
            parse_email(b"{\"id\":\"6f79f982-88f7-4bbd-87b3-f5e550b48a79\"}", &uuid),
            Err(RequestError::WrongEmail)
        ));
        assert!(parse_email(b"{\"error\":\"x\"}", &id).is_err());
        assert!(parse_email(b"{\"id\":\"ab\xFF\"}", &EmailId::new("ab\u{FFFD}")).is_ok());
    }
}
