//! Converts wire types to domain types, whose text is sanitized; the only place that does so.

use std::sync::Arc;

use super::{RetrievedEmail, wire};
use crate::mail::{Address, ApiTime, Email, EmailId, SafeText, Status, Summary, Tag};

impl From<&wire::Summary> for Summary {
    fn from(wire: &wire::Summary) -> Self {
        let wire::Summary {
            id,
            to,
            from,
            created_at,
            subject,
            message_id,
            bcc,
            cc,
            reply_to,
            last_event,
            scheduled_at,
            extra,
        } = wire;
        let text = |field: &Option<String>| SafeText::new(field.as_deref().unwrap_or_default());
        Self {
            id: EmailId::new(id),
            to: parse_addresses(to.as_deref()),
            cc: parse_addresses(cc.as_deref()),
            bcc: parse_addresses(bcc.as_deref()),
            reply_to: parse_addresses(reply_to.as_deref()),
            from: Address::parse(from.as_deref().unwrap_or_default()),
            subject: text(subject),
            message_id: text(message_id),
            created: ApiTime::parse(created_at.as_deref().unwrap_or_default()),
            scheduled: scheduled_at.as_deref().map(ApiTime::parse),
            status: Status::parse(last_event.as_deref().unwrap_or_default()),
            extra: extra
                .iter()
                .map(|(name, json)| (SafeText::new(name), SafeText::new(json)))
                .collect(),
        }
    }
}

impl From<RetrievedEmail> for Email {
    fn from(retrieved: RetrievedEmail) -> Self {
        let RetrievedEmail { email, json } = retrieved;
        let wire::Email {
            summary,
            html,
            text,
            tags,
        } = email;
        Self {
            summary: Summary::from(&summary),
            html: html.map(Arc::from),
            text: text.map(Arc::from),
            tags: tags.iter().map(Tag::from).collect(),
            json,
        }
    }
}

impl From<&wire::Tag> for Tag {
    fn from(wire: &wire::Tag) -> Self {
        let wire::Tag { name, value } = wire;
        Self {
            name: SafeText::new(name),
            value: SafeText::new(value),
        }
    }
}

fn parse_addresses(list: Option<&[String]>) -> Vec<Address> {
    list.unwrap_or_default()
        .iter()
        .map(|text| Address::parse(text))
        .collect()
}
