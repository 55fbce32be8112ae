//! The mail that the sample company has received:
//! a few letters, some of them replies to what it has sent.

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::id_codec::IdCodec;
use super::{parse_data, to_json};
use crate::api::{Cursor, wire};
use crate::mail::EmailId;
use crate::server::request::page_range;
use crate::server::{EmailSource, SourceAttachment, SourceError, SourcePage};

static DATA: LazyLock<LetterData> =
    LazyLock::new(|| parse_data(include_str!("../../../assets/sample/received.toml")));

/// The content of `received.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LetterData {
    letters: Vec<Letter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Letter {
    /// Its age at the start of the mailbox.
    minutes: i64,
    /// The template of the sent email that it answers.
    answers: Option<String>,
    from: String,
    to: String,
    #[serde(default)]
    cc: Vec<String>,
    subject: String,
    html: Option<String>,
    text: Option<String>,
    /// Name, media type and content.
    #[serde(default)]
    attachments: Vec<(String, String, String)>,
    #[serde(default)]
    withheld: bool,
}

/// A sent email that a letter answers.
pub(super) struct Answered {
    pub(super) customer: String,
    pub(super) subject: String,
    pub(super) message_id: String,
}

/// The received mail of a sample mailbox; it does not change.
pub(super) struct ReceivedMail {
    ids: IdCodec,
    /// Newest first.
    letters: Vec<(&'static Letter, Timestamp, Option<Answered>)>,
}

/// A received email as the list operation describes it.
#[derive(Serialize)]
struct ReceivedSummary<'a> {
    id: String,
    to: [&'a str; 1],
    from: &'a str,
    created_at: String,
    subject: Option<String>,
    message_id: String,
    bcc: Option<Vec<String>>,
    cc: Option<&'a [String]>,
    reply_to: Option<Vec<String>>,
    attachments: Vec<wire::Attachment>,
}

/// A received email as the retrieve operation describes it.
#[derive(Serialize)]
struct ReceivedEmail<'a> {
    object: &'static str,
    #[serde(flatten)]
    summary: ReceivedSummary<'a>,
    html: Option<&'a str>,
    text: Option<&'a str>,
    headers: Headers<'a>,
    received_for: [&'a str; 1],
}

#[derive(Serialize)]
struct Headers<'a> {
    #[serde(rename = "in-reply-to", skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<&'a str>,
    #[serde(rename = "auto-submitted")]
    auto_submitted: &'static str,
}

impl ReceivedMail {
    /// Creates the mail of a mailbox that begins at `start`.
    /// `find_answered` finds the newest email of a template that was sent before a time.
    pub(super) fn new(
        seed: u64,
        start: Timestamp,
        find_answered: impl Fn(&str, Timestamp) -> Option<Answered>,
    ) -> Self {
        let letters = DATA.letters.iter().map(|letter| {
            let at = start - SignedDuration::from_mins(letter.minutes);
            let answers = letter.answers.as_deref();
            (letter, at, answers.and_then(|name| find_answered(name, at)))
        });
        Self {
            // The two listings have no ids in common.
            ids: IdCodec::new(!seed),
            letters: letters.collect(),
        }
    }

    /// Returns the index of an email in the list.
    fn find(&self, id: &EmailId) -> Result<usize, SourceError> {
        let index = usize::try_from(self.ids.decode(id.as_str())?).ok();
        let known = index.filter(|index| *index < self.letters.len());
        known.ok_or(SourceError::Unknown)
    }

    fn build_summary(&self, index: usize) -> ReceivedSummary<'_> {
        let (letter, at, answered) = &self.letters[index];
        let number = index as u64;
        let from = answered.as_ref().map_or(&letter.from, |it| &it.customer);
        let subject = match answered {
            Some(answered) => format!("Re: {}", answered.subject),
            None => letter.subject.clone(),
        };
        let (_, domain) = from.rsplit_once('@').unwrap_or_default();
        let attachments = self.build_attachments(index);
        ReceivedSummary {
            id: self.ids.encode(number),
            to: [&letter.to],
            from,
            created_at: at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
            subject: (!subject.is_empty()).then_some(subject),
            message_id: format!(
                "<{}@{}>",
                self.ids.encode_message_id(number),
                domain.trim_end_matches('>')
            ),
            bcc: None,
            cc: (!letter.cc.is_empty()).then_some(&letter.cc),
            reply_to: None,
            attachments: attachments.iter().map(SourceAttachment::describe).collect(),
        }
    }

    fn build_attachments(&self, index: usize) -> Vec<SourceAttachment> {
        let (letter, ..) = &self.letters[index];
        let attachments = letter.attachments.iter().zip(0..);
        let attachments =
            attachments.map(|((name, content_type, content), part)| SourceAttachment {
                id: self.ids.encode_attachment(index as u64, part),
                name: name.clone(),
                content_type: content_type.clone(),
                content: content.clone().into_bytes(),
            });
        attachments.collect()
    }
}

impl EmailSource for ReceivedMail {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        let count = self.letters.len();
        let (range, has_more) = page_range(cursor, limit, count, |id| self.find(id))?;
        let data = range.map(|index| to_json(&self.build_summary(index)));
        Ok(SourcePage {
            data: data.collect(),
            has_more,
        })
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        let index = self.find(id)?;
        let (letter, _, answered) = &self.letters[index];
        if letter.withheld {
            return Err(SourceError::Withheld);
        }
        Ok(to_json(&ReceivedEmail {
            object: "email",
            summary: self.build_summary(index),
            html: letter.html.as_deref(),
            text: letter.text.as_deref(),
            headers: Headers {
                in_reply_to: answered.as_ref().map(|it| &*it.message_id),
                auto_submitted: "no",
            },
            received_for: [&letter.to],
        }))
    }

    fn attachments(&self, email: &EmailId) -> Result<Vec<SourceAttachment>, SourceError> {
        Ok(self.build_attachments(self.find(email)?))
    }
}
