//! From the wire to what is shown: the one place where foreign fields become cleaned, typed ones.

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
        Self {
            id: EmailId::new(id),
            to: parse_addresses(to.as_deref().unwrap_or_default()),
            cc: parse_addresses(cc.as_deref().unwrap_or_default()),
            bcc: parse_addresses(bcc.as_deref().unwrap_or_default()),
            reply_to: parse_addresses(reply_to.as_deref().unwrap_or_default()),
            from: Address::parse(from.as_deref().unwrap_or_default()),
            subject: SafeText::new(subject.as_deref().unwrap_or_default()),
            message_id: SafeText::new(message_id.as_deref().unwrap_or_default()),
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
            object: _,
            id,
            to,
            from,
            created_at,
            subject,
            message_id,
            html,
            text,
            bcc,
            cc,
            reply_to,
            last_event,
            scheduled_at,
            tags,
            extra,
        } = email;
        let summary = wire::Summary {
            id,
            to: Some(to),
            from,
            created_at,
            subject,
            message_id,
            bcc: Some(bcc),
            cc: Some(cc),
            reply_to: Some(reply_to),
            last_event,
            scheduled_at,
            extra,
        };
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

fn parse_addresses(list: &[String]) -> Vec<Address> {
    list.iter().map(|text| Address::parse(text)).collect()
}
