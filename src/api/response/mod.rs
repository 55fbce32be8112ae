//! Parses responses leniently: an unreadable item costs that item, not the page.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{HttpError, RequestError};
use super::{EmailPage, ListedEmail, RetrievedEmail, wire};
use crate::mail::{Attachment, EmailId, Mailbox, Metrics, Suppression};

pub(super) mod body;
pub(super) mod headers;

/// The most items of a page whose parsed form is kept.
///
/// A service that ignores the requested page size may send all mail at once. Of such a page only
/// the JSON is kept, and each item is parsed again when it is needed.
const MAX_PARSED_ITEMS: usize = 1000;

/// The longest item of a page that is read, in bytes:
/// about 60 000 recipients, where the real service allows 50. A longer one takes 40 times its
/// length in memory.
const MAX_ITEM_BYTES: usize = 2 << 20;

/// The list response with its items as they were sent.
#[derive(Deserialize)]
struct ListResponse<'a> {
    #[serde(borrow, default)]
    has_more: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Vec<&'a RawValue>,
}

/// Decodes and parses a body; the error quotes its start.
fn parse_body<T>(
    body: &[u8],
    parse: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> Result<T, RequestError> {
    let text = decode_text(body);
    parse(&text).map_err(|error| RequestError::unexpected_body(&text, &error))
}

pub(super) fn parse_page(body: &[u8], mailbox: Mailbox) -> Result<EmailPage, RequestError> {
    let page = parse_body(body, |text| {
        let ListResponse {
            has_more,
            error,
            data,
        } = serde_json::from_str(text)?;
        if error
            .is_some_and(|error| !matches!(error.get(), "null" | "false" | "\"\"" | "{}" | "[]"))
        {
            return Ok(None);
        }
        let count = data.len();
        let parse = |raw: &RawValue| {
            if raw.get().len() > MAX_ITEM_BYTES {
                return None;
            }
            let mut item = ListedEmail::parse_as(raw.get(), mailbox).ok()?;
            let parsed = item.parsed();
            // Members of the type of the specification are not among the extra ones.
            let extra = parsed.extra_json.as_deref();
            let unsure = if item.has_body {
                Some(raw.get())
            } else {
                extra
            };
            unsure.map_or(Ok(()), wire::check_types).ok()?;
            item.parsed.take_if(|_| count > MAX_PARSED_ITEMS);
            Some(item)
        };
        let items: Vec<_> = data.into_iter().filter_map(parse).collect();
        Ok(Some(EmailPage {
            unreadable: count - items.len(),
            items,
            has_more: parse_has_more(has_more),
            ..EmailPage::default()
        }))
    })?;
    // Some services report an error with status 200, beside a list that proves nothing.
    page.ok_or_else(|| RequestError::Http(HttpError::parse(200, body, None)))
}

/// Parses a page of attachments, and whether there are more.
pub(super) fn parse_attachments(
    body: &[u8],
) -> Result<(Vec<Attachment>, Option<bool>), RequestError> {
    parse_body(body, |text| {
        let ListResponse { has_more, data, .. } = serde_json::from_str(text)?;
        let items = data
            .into_iter()
            .filter_map(|raw| to_attachment(raw.get()).ok());
        Ok((items.collect(), parse_has_more(has_more)))
    })
}

pub(super) fn parse_attachment(body: &[u8]) -> Result<Attachment, RequestError> {
    parse_body(body, |text| to_attachment(text.trim()))
}

fn to_attachment(json: &str) -> Result<Attachment, serde_json::Error> {
    let wire = wire::Attachment::parse(json)?;
    Ok(Attachment::from((wire, json.into())))
}

/// Parses an entry of the suppression list.
pub(super) fn parse_suppression(body: &[u8]) -> Result<Suppression, RequestError> {
    parse_body(body, wire::Suppression::parse)
}

pub(super) fn parse_metrics(body: &[u8], email: &EmailId) -> Result<Metrics, RequestError> {
    let counts = parse_body(body, |text| {
        wire::Metrics::parse_counts(text, email.as_str())
    })?;
    let count = |name: &str| counts.get(name).copied();
    Ok(Metrics {
        opened: count("opened"),
        clicked: count("clicked"),
        bounced_permanent: count("bounced_permanent"),
        bounced_transient: count("bounced_transient"),
        bounced_undetermined: count("bounced_undetermined"),
    })
}

/// `has_more` may be in quotes, a number or a word; anything else is unknown.
fn parse_has_more(raw: Option<&RawValue>) -> Option<bool> {
    let text = raw?.get().trim_matches('"').trim().to_ascii_lowercase();
    match text.as_str() {
        "true" | "1" | "yes" => Some(true),
        "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

/// Parses the email with `id`; another email is an error.
pub(super) fn parse_email(
    body: &[u8],
    id: &EmailId,
    mailbox: Mailbox,
) -> Result<RetrievedEmail, RequestError> {
    let parse = |text: &str| {
        wire::check_types(text)?;
        Ok((wire::Email::parse(text)?, Arc::from(text.trim())))
    };
    let (mut email, json) = parse_body(body, parse)?;
    if !is_same_id(&email.summary.id, id.as_str()) {
        return Err(RequestError::WrongEmail);
    }
    if mailbox == Mailbox::Received {
        email.summary.mark_received();
    }
    Ok(RetrievedEmail {
        email,
        json,
        checked_at: None,
    })
}

/// Whether `received` is `requested`, perhaps in another spelling:
/// one imitator finds an email by its bare UUID and responds with that UUID in capitals, without
/// dashes, behind a prefix.
fn is_same_id(received: &str, requested: &str) -> bool {
    let letters = |id: &str| {
        id.chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase()
    };
    // A short id may well be the end of another one.
    received == requested
        || (requested.len() >= 32 && letters(received).ends_with(&letters(requested)))
}

/// Decodes a body as UTF-8, without a byte order mark; invalid bytes become U+FFFD.
fn decode_text(body: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_page(body: &[u8]) -> Result<EmailPage, RequestError> {
        super::parse_page(body, Mailbox::Sent)
    }

    fn parse_email(body: &[u8], id: &EmailId) -> Result<RetrievedEmail, RequestError> {
        super::parse_email(body, id, Mailbox::Sent)
    }

    #[test]
    fn received_item_lacks_status_and_keeps_json() {
        let page = |json: &str| {
            let page = super::parse_page(json.as_bytes(), Mailbox::Received).unwrap();
            page.items[0].parsed()
        };
        for item in [
            r#"{"id":"1","to":["help@acme.example"],"from":"ana@example.com","subject":null,"message_id":null,"cc":null,"bcc":[],"attachments":[{"id":"a","filename":null,"size":null}],"created_at":"2026-10-09T14:37:40.951Z"}"#,
            r#"{"id":"1","to":"help@acme.example","from":["ana@example.com"],"last_event":null,"x":1}"#,
            r#"{"x":1,"id":"1","to":null,"from":null}"#,
        ] {
            let parsed = page(&format!(r#"{{"data":[{item}]}}"#));
            let summary = crate::mail::Summary::from(&parsed.summary);
            assert_eq!(summary.status, crate::mail::Status::Received, "{item}");
            assert_eq!(parsed.to_json(), item);
        }
        let parsed = page(r#"{"data":[{"id":"1","last_event":"delivered"}]}"#);
        assert_eq!(parsed.summary.last_event.as_deref(), Some("delivered"));
    }

    #[test]
    fn retrieved_received_email_may_lack_all_parts() {
        let json = r#"{"object":"email","id":"1","to":["help@acme.example"],"from":"ana@example.com","subject":null,"html":null,"text":null,"headers":null,"received_for":[],"raw":null,"attachments":[{"id":"a","filename":"a.txt","size":null}]}"#;
        let id = EmailId::new("1");
        let retrieved = super::parse_email(json.as_bytes(), &id, Mailbox::Received).unwrap();
        assert_eq!(&*retrieved.json, json);
        let listed = retrieved.to_listed().unwrap();
        assert_eq!(listed.parsed().summary.mailbox(), Mailbox::Received);
        let email = crate::mail::Email::from(retrieved);
        assert_eq!((email.html, email.text), (None, None));
        assert_eq!(email.summary.status, crate::mail::Status::Received);
        assert_eq!(&*email.summary.subject, "");
    }

    #[test]
    fn unreadable_items_of_a_page_are_counted() {
        let page = parse_page(b"\xEF\xBB\xBF{\"object\":\"list\",\"data\":[{\"id\":\"1\",\"n\":1.50},{\"to\":[]},7],\"extra\":[]}").unwrap();
        assert_eq!(page.unreadable, 2);
        assert_eq!(page.has_more, None);
        assert_eq!(&*page.items[0].json, "{\"id\":\"1\",\"n\":1.50}");
    }

    #[test]
    fn member_of_wrong_type_costs_its_email() {
        let email = r#"{"id":"1","to":"one@example.com","cc":{},"subject":42}"#;
        let page = format!(r#"{{"data":[{email},{{"id":"2","subject":7,"cc":null}}]}}"#);
        let page = parse_page(page.as_bytes()).unwrap();
        assert_eq!((page.unreadable, page.items.len()), (1, 1));
        let with_body = r#"{"data":[{"id":"1","html":{"a":1}}]}"#;
        assert_eq!(parse_page(with_body.as_bytes()).unwrap().unreadable, 1);
        let error = parse_email(email.as_bytes(), &EmailId::new("1")).unwrap_err();
        assert!(
            matches!(error, RequestError::UnexpectedBody { .. }),
            "{error:?}"
        );
    }

    #[test]
    fn page_with_an_error_is_an_error() {
        for error in [
            r#"{"message":"shard unavailable"}"#,
            r#""down""#,
            "true",
            "[1]",
        ] {
            let page = format!(r#"{{"data":[],"has_more":false,"error":{error}}}"#);
            assert!(
                matches!(parse_page(page.as_bytes()), Err(RequestError::Http(_))),
                "{error}"
            );
        }
        for none in ["null", "{}", "\"\""] {
            let page = format!(r#"{{"data":[],"error":{none}}}"#);
            assert!(parse_page(page.as_bytes()).is_ok(), "{none}");
        }
    }

    #[test]
    fn too_long_item_of_a_page_is_unreadable() {
        let to = "\"a@b.example\",".repeat(150_000);
        let page = format!("{{\"data\":[{{\"id\":\"1\",\"to\":[{to}\"c\"]}},{{\"id\":\"2\"}}]}}");
        let page = parse_page(page.as_bytes()).unwrap();
        assert_eq!((page.unreadable, page.items.len()), (1, 1));
    }

    #[test]
    fn has_more_without_boolean_is_unknown() {
        let more = |json: &str| {
            parse_page(format!("{{\"data\":[]{json}}}").as_bytes())
                .unwrap()
                .has_more
        };
        for (json, expected) in [
            ("true", Some(true)),
            ("\"true\"", Some(true)),
            ("false", Some(false)),
            ("0", Some(false)),
            ("\"0\"", Some(false)),
            ("\"no\"", Some(false)),
            ("\"False\"", Some(false)),
            ("1", Some(true)),
            ("\"yes\"", Some(true)),
            ("null", None),
            ("{}", None),
            ("7", None),
        ] {
            assert_eq!(more(&format!(",\"has_more\":{json}")), expected, "{json}");
        }
        assert_eq!(more(""), None);
    }

    #[test]
    fn body_without_data_list_is_an_error() {
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
    fn response_with_another_email_is_an_error() {
        let id = EmailId::new("ab");
        let retrieved = parse_email(b" {\"id\":\"ab\",\"html\":\"<p>\"} ", &id).unwrap();
        assert_eq!(&*retrieved.json, "{\"id\":\"ab\",\"html\":\"<p>\"}");
        let uuid = EmailId::new("6f79f982-88f7-4bbd-87b3-f5e550b48a78");
        assert!(parse_email(b"{\"id\":\"em_6F79F98288F74BBD87B3F5E550B48A78\"}", &uuid).is_ok());
        for (json, id) in [
            (&b"{\"id\":\"xab\"}"[..], &id),
            (b"{\"id\":\"6f79f982-88f7-4bbd-87b3-f5e550b48a79\"}", &uuid),
        ] {
            assert!(matches!(
                parse_email(json, id),
                Err(RequestError::WrongEmail)
            ));
        }
        assert!(parse_email(b"{\"error\":\"x\"}", &id).is_err());
        assert!(parse_email(b"{\"id\":\"ab\xFF\"}", &EmailId::new("ab\u{FFFD}")).is_ok());
    }

    #[test]
    fn id_in_other_case_equals_known_id() {
        let known = EmailId::new("6f79f982-88f7-4bbd-87b3-f5e550b48a78");
        let upper = known.as_str().to_uppercase();
        let json = format!(r#"{{"object":"email","id":"{upper}","html":"<p>"}}"#);
        let retrieved = parse_email(json.as_bytes(), &known).unwrap();
        let retrieved = retrieved.with_known_id(&known).unwrap();
        assert_eq!(retrieved.email.summary.id, known.as_str());
        assert_eq!(&*retrieved.json, json.replace(&upper, known.as_str()));
        let prefixed = format!(r#"{{"id":"em_{upper}"}}"#);
        let retrieved = parse_email(prefixed.as_bytes(), &known).unwrap();
        assert_eq!(
            retrieved.with_known_id(&known).unwrap_err().kind,
            crate::error::ErrorKind::NotTheApi
        );
    }
}
