//! An email as a message of RFC 5322, with its attachments if they were fetched.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mail_builder::MessageBuilder;
use mail_builder::headers::HeaderType;
use mail_builder::headers::address::Address as EmlAddress;
use mail_builder::headers::content_type::ContentType;
use mail_builder::headers::raw::Raw;
use mail_builder::headers::text::Text;
use mail_builder::mime::MimePart;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::slug;
use crate::api::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{Address, ApiTime, Attachment, Email, EmailId, Summary};

/// The most bytes of the attachments of one email, which are in memory together.
///
/// Services limit an email to 40 MB or less, and count the base64 of its attachments.
const MAX_ATTACHED_BYTES: u64 = 40_000_000;

/// The most bytes of text in an encoded word.
/// A line with one has at most 76 characters (RFC 2047), the name of the longest header among them.
const MAX_WORD_BYTES: usize = 36;

/// What an id cannot have in a message id; letters, digits, these signs and `%` are valid
/// there (RFC 5322, section 3.2.3).
const NOT_IN_MESSAGE_ID: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// An email, and its attachments if they were fetched.
#[derive(Debug, Clone)]
pub(crate) struct CompleteEmail {
    pub(crate) email: Email,
    pub(crate) files: Vec<AttachedFile>,
}

impl From<Email> for CompleteEmail {
    fn from(email: Email) -> Self {
        Self {
            email,
            files: Vec::new(),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct AttachedFile {
    attachment: Attachment,
    content: Vec<u8>,
}

impl AttachedFile {
    /// Whether the html refers to it.
    fn is_shown_in_html(&self) -> bool {
        self.attachment.is_inline && !self.attachment.content_id.is_empty()
    }
}

/// Downloads all attachments of an email.
///
/// Fails if the service cannot list them, one of them does not arrive whole, or they have more than
/// [`MAX_ATTACHED_BYTES`].
pub(crate) async fn fetch_attachments(
    client: &Client,
    email: &EmailId,
) -> Result<Vec<AttachedFile>> {
    let (mut files, mut received) = (Vec::new(), 0);
    for attachment in client.attachments(email).await? {
        let mut content = Vec::new();
        received += client.download_to(email, &attachment, &mut content).await?;
        if received > MAX_ATTACHED_BYTES {
            let message = format!(
                "the attachments of this email have more than {} MB",
                MAX_ATTACHED_BYTES / 1_000_000
            );
            return Err(Error::new(ErrorKind::NoSuchPart, message).with_hint(
                "export it without --attachments; sentbox attachment saves one of them",
            ));
        }
        files.push(AttachedFile {
            attachment,
            content,
        });
    }
    Ok(files)
}

/// Writes the message. The same email gives the same bytes.
pub(crate) fn to_eml(complete: &CompleteEmail) -> Vec<u8> {
    let mut eml = Vec::new();
    let message = add_headers(MessageBuilder::new(), &complete.email);
    message.body(build_body(complete)).serialize(&mut eml);
    // Without a time, the header was added only to keep the builder from inventing one.
    let sent = sent_time(&complete.email.summary);
    let empty = b"\r\nDate: \r\n";
    if sent.parsed.is_none()
        && sent.raw.is_empty()
        && let Some(at) = eml.windows(empty.len()).position(|found| found == empty)
    {
        eml.drain(at..at + empty.len() - 2);
    }
    eml
}

fn sent_time(summary: &Summary) -> &ApiTime {
    summary.scheduled.as_ref().unwrap_or(&summary.created)
}

fn add_headers<'a>(mut message: MessageBuilder<'a>, email: &'a Email) -> MessageBuilder<'a> {
    let summary = &email.summary;
    let lists = [
        ("From", std::slice::from_ref(&summary.from)),
        ("To", &summary.to),
        ("Cc", &summary.cc),
        ("Bcc", &summary.bcc),
        ("Reply-To", &summary.reply_to),
    ];
    for (name, list) in lists {
        if list.iter().any(|address| !address.email.is_empty()) {
            message = message.header(name, addresses(list));
        }
    }
    message = message.header("Subject", text_header(summary.subject.to_string()));
    // Without these two the builder would invent them; an empty date is removed at the end.
    let sent = sent_time(summary);
    message = match sent.parsed {
        Some(at) => message.date(at.as_second()),
        None => message.header("Date", Raw::new(&*sent.raw)),
    };
    let message_id = summary.message_id.trim().trim_matches(['<', '>']);
    let id = match header_token(message_id) {
        id if id.is_empty() || id != message_id => {
            utf8_percent_encode(summary.id.as_str(), NOT_IN_MESSAGE_ID).to_string()
        }
        id => id,
    };
    message = message.header("Message-ID", Raw::new(format!("<{id}>")));
    let id = match summary.id.as_str() {
        id if header_token(id) == id && !id.contains("=?") => id.to_owned(),
        id => encode_words(id),
    };
    message = message.header("X-Sentbox-Id", Raw::new(id));
    if summary.status.exists() {
        let status = header_token(summary.status.label());
        message = message.header("X-Sentbox-Status", Raw::new(status));
    }
    for tag in &email.tags {
        message = message.header("X-Sentbox-Tag", text_header(tag.to_string()));
    }
    message
}

fn build_body(complete: &CompleteEmail) -> MimePart<'_> {
    let Email {
        summary,
        html,
        text,
        ..
    } = &complete.email;
    // A boundary of the email's own: no part of it can know the id that the service gives it.
    let multipart = |kind: &str, parts| {
        // It must be ASCII, of which readers find the separator lines.
        let id = summary.id.as_str().escape_default().to_string();
        let boundary = format!("=_sentbox_{kind}_{}", slug(&id, 40));
        let kind = ContentType::new(format!("multipart/{kind}")).attribute("boundary", boundary);
        MimePart::new(kind, parts)
    };
    let (shown, attached): (Vec<&AttachedFile>, Vec<&AttachedFile>) = complete
        .files
        .iter()
        .partition(|file| html.is_some() && file.is_shown_in_html());
    let text = text
        .as_deref()
        .map(|text| MimePart::new("text/plain", text));
    let html = html.as_deref().map(|html| {
        let html = MimePart::new("text/html", html);
        match shown.as_slice() {
            [] => html,
            shown => multipart("related", with_files(html, shown)),
        }
    });
    let body = match (text, html) {
        (Some(text), Some(html)) => multipart("alternative", vec![text, html]),
        (Some(part), None) | (None, Some(part)) => part,
        (None, None) => MimePart::new("text/plain", ""),
    };
    match attached.as_slice() {
        [] => body,
        attached => multipart("mixed", with_files(body, attached)),
    }
}

fn with_files<'a>(first: MimePart<'a>, files: &[&'a AttachedFile]) -> Vec<MimePart<'a>> {
    let files = files.iter().map(|file| {
        let attachment = &file.attachment;
        let kind = header_token(&attachment.content_type);
        // The parts of a composite type may not be base64 (RFC 2045, section 6.4).
        let is_composite = ["multipart/", "message/"]
            .iter()
            .any(|start| kind.to_ascii_lowercase().starts_with(start));
        let kind = if kind.contains('/') && !is_composite {
            kind
        } else {
            "application/octet-stream".to_owned()
        };
        let mut part = MimePart::new(kind, file.content.as_slice());
        let disposition_type = if file.is_shown_in_html() {
            "inline"
        } else {
            "attachment"
        };
        let mut disposition = ContentType::new(disposition_type);
        if !attachment.name.is_empty() {
            disposition = disposition.attribute("filename", attachment.name.to_string());
        }
        part = part.header("Content-Disposition", disposition);
        match header_token(&attachment.content_id) {
            id if id.is_empty() => part,
            id => part.header(
                "Content-ID",
                Raw::new(format!("<{}>", id.trim_matches(['<', '>']))),
            ),
        }
    });
    std::iter::once(first).chain(files).collect()
}

fn addresses(list: &[Address]) -> HeaderType<'_> {
    let known = list.iter().filter(|address| !address.email.is_empty());
    let pairs = known.map(|address| {
        // What an imitator lists as one address must not become two.
        let email = address.email.replace(['<', '>', ',', ';', ':', '"'], "");
        (&address.name, email.replace(char::is_whitespace, ""))
    });
    if list.iter().any(|address| address.name.contains("=?")) {
        let written = pairs.map(|(name, email)| match encode_words(name) {
            name if name.is_empty() => format!("<{email}>"),
            name => format!("{name} <{email}>"),
        });
        return Raw::new(written.collect::<Vec<_>>().join(", ")).into();
    }
    let addresses = pairs.map(|(name, email)| {
        let name = Some(name.to_string()).filter(|name| !name.is_empty());
        EmlAddress::new_address(name, email)
    });
    EmlAddress::new_list(addresses.collect()).into()
}

/// Encodes text that a reader would decode, and leaves other text to the builder.
fn text_header(text: String) -> HeaderType<'static> {
    if text.contains("=?") {
        Raw::new(encode_words(&text)).into()
    } else {
        Text::new(text).into()
    }
}

/// Writes text as encoded words (RFC 2047); readers drop the spaces between them.
fn encode_words(text: &str) -> String {
    let (mut words, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.floor_char_boundary(MAX_WORD_BYTES));
        words.push(format!("=?utf-8?B?{}?=", BASE64_STANDARD.encode(word)));
        rest = after;
    }
    words.join(" ")
}

/// Returns `text` without what could end a header line or a word of it.
fn header_token(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() && !c.is_whitespace() && c.is_ascii())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mail_parser::{MessageParser, MimeHeaders as _};

    use super::*;
    use crate::api::wire;
    use crate::export::tests::{email, parse};

    /// Returns the names and addresses of a header.
    fn named(address: Option<&mail_parser::Address<'_>>) -> Vec<(String, String)> {
        let list = address.into_iter().flat_map(|list| list.iter());
        list.map(|one| {
            pair(
                one.name().unwrap_or_default(),
                one.address().unwrap_or_default(),
            )
        })
        .collect()
    }

    fn pair(name: &str, address: &str) -> (String, String) {
        (name.to_owned(), address.to_owned())
    }

    #[test]
    fn eml_is_read_back_equal() {
        let eml = to_eml(&email().into());
        let message = MessageParser::default().parse(&eml).unwrap();
        let expected = [pair("Acme, Inc.", "billing@acme.example")];
        assert_eq!(named(message.from()), expected);
        assert_eq!(
            named(message.to()),
            [
                pair("Ana López", "ana@example.com"),
                pair("", "b@example.org")
            ]
        );
        assert_eq!(named(message.bcc()), [pair("", "c@example.net")]);
        assert_eq!(named(message.cc()), []);
        let expected = Some("Ihre Bestellung: 4 Bücher & ご注文 Bcc: thief@example.org");
        assert_eq!(message.subject(), expected);
        assert_eq!(message.message_id(), Some("1@acme.example"));
        assert_eq!(message.date().unwrap().to_rfc3339(), "2026-11-20T08:41:07Z");
        for (name, value) in [
            ("X-Sentbox-Status", "bounced"),
            ("X-Sentbox-Tag", "plan=pro"),
        ] {
            assert_eq!(message.header_raw(name).map(str::trim), Some(value));
        }
        let lines = |body: &str| body.replace("\r\n", "\n");
        let part = |body: Option<std::borrow::Cow<'_, str>>| body.map(|body| lines(&body));
        assert_eq!(
            part(message.body_html(0)).as_deref(),
            email().html.as_deref()
        );
        assert_eq!(
            part(message.body_text(0)).as_deref(),
            email().text.as_deref()
        );
        assert_eq!(eml, to_eml(&email().into()));
    }

    #[test]
    fn eml_of_any_id_is_read_back() {
        for id in [
            "uenï 1",
            "\u{fc}\u{fc}",
            "a b\r\nBcc: c@x.example",
            "=?utf-8?q?a?=",
        ] {
            let json = serde_json::json!({"id": id, "html": "<p>Hi", "text": "Hi"});
            let eml = to_eml(&parse(&json.to_string()).into());
            assert!(eml.is_ascii(), "{}", String::from_utf8_lossy(&eml));
            let message = MessageParser::default().parse(&eml).unwrap();
            assert_eq!(message.parts.len(), 3, "{id}");
            let found = message.header("X-Sentbox-Id").unwrap().as_text();
            assert_eq!(found, Some(&*encode_words(id)));
            assert!(message.bcc().is_none());
        }
    }

    #[test]
    fn message_id_is_made_of_any_id() {
        let message_id = |json: serde_json::Value| {
            let eml = to_eml(&parse(&json.to_string()).into());
            let message = MessageParser::default().parse(&eml).unwrap();
            message.message_id().unwrap().to_owned()
        };
        for (id, expected) in [
            ("4ef9a417-02e9", "4ef9a417-02e9"),
            ("a b", "a%20b"),
            ("a\nb", "a%0Ab"),
            ("<a>", "%3Ca%3E"),
            ("\u{fc}", "%C3%BC"),
        ] {
            assert_eq!(message_id(serde_json::json!({"id": id})), expected);
        }
        let unreadable = serde_json::json!({"id": "a", "message_id": "<\u{fc}@x.example>"});
        assert_eq!(message_id(unreadable), "a");
    }

    #[test]
    fn unknown_sender_and_recipients_have_no_header() {
        let eml = to_eml(&parse(r#"{"id":"a","from":null,"to":null,"text":"Hi"}"#).into());
        let eml = String::from_utf8(eml).unwrap();
        assert!(!eml.contains("From:") && !eml.contains("To:"), "{eml}");
        let eml = to_eml(&parse(r#"{"id":"a","to":["","b@x.example"]}"#).into());
        let eml = String::from_utf8(eml).unwrap();
        assert!(eml.contains("To: <b@x.example>\r\n"), "{eml}");
    }

    #[test]
    fn email_without_time_has_no_date_header() {
        for created in ["null", "\"\""] {
            let json = format!(r#"{{"id":"a","created_at":{created},"text":"Date: \r\n"}}"#);
            let eml = String::from_utf8(to_eml(&parse(&json).into())).unwrap();
            let (headers, _) = eml.split_once("\r\n\r\n").unwrap();
            assert!(!headers.contains("Date"), "{eml}");
            assert!(
                headers.contains("Subject: \r\nMessage-ID: <a>\r\n"),
                "{eml}"
            );
        }
    }

    #[test]
    fn name_with_quotes_is_escaped_once() {
        let to = r#""O'Brien, \"X\"" <o@example.com>"#;
        let json = serde_json::json!({"id": "a", "to": [to], "text": "Hi"});
        let eml = to_eml(&parse(&json.to_string()).into());
        let eml = String::from_utf8(eml).unwrap();
        assert!(eml.contains(&format!("To: {to}\r\n")), "{eml}");
    }

    #[test]
    fn literal_encoded_words_are_read_back_equal() {
        let subject = "=?utf-8?B?aGk=?= raw, ".to_owned() + &"é1 ".repeat(60) + "end";
        let json = serde_json::json!({
            "id": "a",
            "subject": subject,
            "from": "\"=?utf-8?q?Ev?=\" <e@x.example>",
            "to": ["\"=?utf-8?q?A?=, B\" <a@x.example>", "Ána <b@x.example>", "c@x.example"],
            "text": "Hi",
            "tags": [{"name": "note", "value": subject}],
        });
        let eml = to_eml(&parse(&json.to_string()).into());
        let lines = std::str::from_utf8(&eml).unwrap().lines();
        let encoded: Vec<_> = lines.filter(|line| line.contains("=?")).collect();
        assert!(
            encoded
                .iter()
                .any(|line| line.starts_with("X-Sentbox-Tag: =?"))
        );
        assert!(encoded.iter().all(|line| line.len() <= 76), "{encoded:?}");
        let message = MessageParser::default().parse(&eml).unwrap();
        assert_eq!(message.subject(), Some(&*subject));
        let expected = [pair("=?utf-8?q?Ev?=", "e@x.example")];
        assert_eq!(named(message.from()), expected);
        assert_eq!(
            named(message.to()),
            [
                pair("=?utf-8?q?A?=, B", "a@x.example"),
                pair("Ána", "b@x.example"),
                pair("", "c@x.example"),
            ]
        );
    }

    fn file(json: &str, content: &[u8]) -> AttachedFile {
        AttachedFile {
            attachment: Attachment::from((wire::Attachment::parse(json).unwrap(), Arc::from(json))),
            content: content.to_vec(),
        }
    }

    #[test]
    fn attachments_are_read_back_equal() {
        let files = vec![
            file(
                r#"{"filename":"Räch\r\nBcc: x@y.example nung.pdf","content_type":"application/pdf","content_disposition":"attachment"}"#,
                b"%PDF\0\xff\r\n",
            ),
            file(
                r#"{"filename":"logo.png","content_type":"image/png","content_disposition":"inline","content_id":"logo@x"}"#,
                b"png",
            ),
            file(
                r#"{"filename":null,"content_type":"not a type","content_id":"","content_disposition":"inline"}"#,
                b"a\n.\nb",
            ),
            file(
                r#"{"filename":"a.ics","content_type":"text/calendar"}"#,
                "BEGIN:VCALENDAR\r\nSUMMARY:Grüße\r\n".as_bytes(),
            ),
        ];
        let email = email();
        let eml = to_eml(&CompleteEmail { email, files });
        let message = MessageParser::default().parse(&eml).unwrap();
        assert!(
            message
                .header("Bcc")
                .is_some_and(|_| message.bcc().unwrap().iter().count() == 1)
        );
        let found: Vec<String> = message
            .attachments()
            .map(|part| {
                let kind = part.content_type().unwrap();
                format!(
                    "{:?} {}/{} {:?} {:?}",
                    part.attachment_name(),
                    kind.ctype(),
                    kind.subtype().unwrap(),
                    part.content_id(),
                    String::from_utf8_lossy(part.contents())
                )
            })
            .collect();
        insta::assert_snapshot!(found.join("\n"), @r#"
        Some("logo.png") image/png Some("logo@x") "png"
        Some("Räch Bcc: x@y.example nung.pdf") application/pdf None "%PDF\0�\r\n"
        None application/octet-stream None "a\n.\nb"
        Some("a.ics") text/calendar None "BEGIN:VCALENDAR\r\nSUMMARY:Grüße\r\n"
        "#);
    }

    #[test]
    fn hostile_parts_stay_one_part() {
        let mut email = email();
        email.summary.to = vec![Address::parse("a@x.example> , <bcc@evil.example")];
        email.tags = vec![crate::mail::Tag {
            name: crate::mail::SafeText::new("customer"),
            value: crate::mail::SafeText::new("Müller\r\nBcc: b@x.example"),
        }];
        let json = r#"{"filename":"old.eml","content_type":"Message/rfc822"}"#;
        let files = vec![file(json, b"Subject: Hi\r\n\r\nHello")];
        let eml = to_eml(&CompleteEmail { email, files });
        let message = MessageParser::default().parse(&eml).unwrap();
        let to: Vec<_> = message.to().unwrap().iter().collect();
        assert_eq!(to.len(), 1, "{to:?}");
        let tag = message.header("X-Sentbox-Tag").unwrap();
        let tag = format!("{tag:?}");
        assert!(tag.contains("customer=3DM=C3=BCller"), "{tag}");
        assert_eq!(message.bcc().unwrap().iter().count(), 1);
        let part = message.attachments().next().unwrap();
        assert_eq!(part.content_type().unwrap().ctype(), "application");
        assert_eq!(part.contents(), b"Subject: Hi\r\n\r\nHello");
    }
}
