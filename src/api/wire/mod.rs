//! The JSON of the service, for the client that parses it and the server that
//! writes it.
//!
//! Written strictly: each field has the shape of the specification. Parsed leniently: the real
//! service and its imitators send null for an empty list, a bare string for a list of one, omit
//! fields and add others; none of that may cost an email.

mod changes;
mod lookups;
mod types;

use std::collections::{BTreeMap, HashSet};
use std::fmt::{Display, Write as _};

use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{SerializeStruct as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::mail::{BOUNCE_FIELD, Mailbox, RECEIVED_EVENT};
use crate::text::json::replace_lone_surrogates;

pub(crate) use changes::ChangeEvent;
pub(crate) use lookups::{Attachment, Metrics, MetricsRow, Suppression};
pub(crate) use types::check_types;
use types::{is_nested, is_string};

/// An email as the list operation describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Summary {
    /// Opaque; a UUID on the real service.
    pub id: String,
    /// Recipients.
    pub(crate) to: Option<Vec<String>>,
    /// `Display name <address>`, or a bare address.
    pub(crate) from: Option<String>,
    /// RFC 3339, or Postgres text.
    pub(crate) created_at: Option<String>,
    /// The subject line.
    pub(crate) subject: Option<String>,
    /// `<uuid@domain>`, brackets included; not every service has it.
    pub(crate) message_id: Option<String>,
    /// Null when there are none; an empty list in a retrieved email.
    pub(crate) bcc: Option<Vec<String>>,
    /// Null when there are none; an empty list in a retrieved email.
    pub(crate) cc: Option<Vec<String>>,
    /// Null when there are none; an empty list in a retrieved email.
    pub(crate) reply_to: Option<Vec<String>>,
    /// The most recent event.
    pub(crate) last_event: Option<String>,
    /// Null unless the email is scheduled.
    pub(crate) scheduled_at: Option<String>,
    /// Unknown members: name and JSON text, as they were sent and in order.
    #[serde(skip)]
    pub(crate) extra: Vec<(String, String)>,
}

/// An email as the retrieve operation describes it; its lists are not null.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Email {
    /// The fields of the list operation.
    pub summary: Summary,
    /// The html body.
    pub(crate) html: Option<String>,
    /// The plain-text body.
    pub text: Option<String>,
    /// Labels of the sender.
    pub(crate) tags: Vec<Tag>,
}

/// A label: at most 256 characters of `A-Za-z0-9_-` each on the real service.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Tag {
    /// The name of the label.
    #[serde(default, deserialize_with = "string_or_empty")]
    pub(crate) name: String,
    /// The value of the label.
    #[serde(default, deserialize_with = "string_or_empty")]
    pub(crate) value: String,
}

/// The response of the list operation.
#[derive(Debug, Serialize)]
pub(crate) struct ListBody<Item> {
    /// Always `list`.
    object: &'static str,
    /// Whether more emails exist in the requested direction.
    has_more: bool,
    data: Vec<Item>,
}

impl<Item> ListBody<Item> {
    pub(crate) const fn new(data: Vec<Item>, has_more: bool) -> Self {
        Self {
            object: "list",
            has_more,
            data,
        }
    }
}

/// The flat error body of the real service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ErrorBody {
    /// Repeats the HTTP status.
    #[serde(rename = "statusCode")]
    pub(crate) status_code: u16,
    pub(crate) message: String,
    /// A stable code, such as `not_found`.
    pub(crate) name: String,
}

/// The fields of [`Summary`], in the order of the real service.
pub(crate) const FIELD_NAMES: [&str; 11] = [
    "id",
    "to",
    "from",
    "created_at",
    "subject",
    "message_id",
    "bcc",
    "cc",
    "reply_to",
    "last_event",
    "scheduled_at",
];

impl Summary {
    /// Parses one item of a page.
    #[cfg(test)]
    pub(crate) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        Self::from_object(&OrderedObject::parse(json)?, |_, _| ())
    }

    /// Reads the members; `on_inexact` gets those that the fields do not restore.
    /// Unknown and missing fields are accepted; a missing id is not.
    fn from_object<'a>(
        object: &'a OrderedObject,
        mut on_inexact: impl FnMut(&'a str, &'a str),
    ) -> Result<Self, serde_json::Error> {
        let mut summary = Self::default();
        for (name, json) in object.members() {
            if !summary.set(name, json) {
                on_inexact(name, json);
            }
        }
        if summary.id.is_empty() {
            return Err(serde_json::Error::custom("an email without an id"));
        }
        Ok(summary)
    }

    /// Stores a member in its field; false if the field does not restore it.
    fn set(&mut self, name: &str, json: &str) -> bool {
        let text = |field: &mut _| read_field(field, json, parse_scalar);
        let list = |field: &mut _| read_field(field, json, parse_list);
        match name {
            "id" => {
                let mut id = None;
                let is_exact = text(&mut id);
                self.id = id.unwrap_or_default();
                is_exact
            }
            "to" => list(&mut self.to),
            "from" => read_field(&mut self.from, json, |json| {
                let senders = parse_list(json)?.join(", ");
                Some(senders).filter(|senders| !senders.is_empty())
            }),
            "created_at" => text(&mut self.created_at),
            "subject" => text(&mut self.subject),
            "message_id" => text(&mut self.message_id),
            "bcc" => list(&mut self.bcc),
            "cc" => list(&mut self.cc),
            "reply_to" => list(&mut self.reply_to),
            "last_event" => text(&mut self.last_event),
            "scheduled_at" => text(&mut self.scheduled_at),
            _ => {
                self.extra.push((name.to_owned(), json.to_owned()));
                false
            }
        }
    }

    /// Returns `Received` if [`mark_received`](Self::mark_received) has marked it.
    pub(crate) fn mailbox(&self) -> Mailbox {
        if self.last_event.as_deref() == Some(RECEIVED_EVENT) {
            Mailbox::Received
        } else {
            Mailbox::Sent
        }
    }

    /// Gives received mail its event, which the service does not name.
    pub(crate) fn mark_received(&mut self) {
        self.last_event
            .get_or_insert_with(|| RECEIVED_EVENT.to_owned());
    }

    /// Returns a field as JSON; `None` if there is no field of that name.
    pub(crate) fn field_json(&self, name: &str) -> Option<String> {
        let json = match name {
            "id" => serde_json::to_string(&self.id),
            "to" => serde_json::to_string(&self.to),
            "from" => serde_json::to_string(&self.from),
            "created_at" => serde_json::to_string(&self.created_at),
            "subject" => serde_json::to_string(&self.subject),
            "message_id" => serde_json::to_string(&self.message_id),
            "bcc" => serde_json::to_string(&self.bcc),
            "cc" => serde_json::to_string(&self.cc),
            "reply_to" => serde_json::to_string(&self.reply_to),
            "last_event" => serde_json::to_string(&self.last_event),
            "scheduled_at" => serde_json::to_string(&self.scheduled_at),
            _ => return None,
        };
        Some(json.expect("strings and lists of strings are always JSON"))
    }
}

/// A summary with all that restores the members and the order of its JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LosslessSummary {
    pub(crate) summary: Summary,
    /// The names of the members in their order, as a JSON array.
    pub(crate) key_order: String,
    /// A JSON object of the members that the fields of `summary` do not restore.
    pub(crate) extra_json: Option<String>,
}

impl LosslessSummary {
    /// Reads the members of an email.
    pub(super) fn from_object(
        object: &OrderedObject,
        mailbox: Mailbox,
    ) -> Result<Self, serde_json::Error> {
        let mut inexact = Vec::new();
        let names: Vec<&str> = object.members().map(|(name, _)| name).collect();
        let mut summary = Summary::from_object(object, |name, json| inexact.push((name, json)))?;
        if mailbox == Mailbox::Received && summary.last_event.is_none() {
            summary.mark_received();
            // A null that the mark hides.
            inexact.extend(object.members().filter(|(name, _)| *name == "last_event"));
            inexact.sort_by_key(|(name, _)| names.iter().position(|other| other == name));
        }
        Ok(Self {
            summary,
            key_order: serde_json::to_string(&names)?,
            extra_json: (!inexact.is_empty()).then(|| write_object(inexact)),
        })
    }

    /// Restores the JSON.
    pub(crate) fn to_json(&self) -> String {
        let names: Vec<String> = serde_json::from_str(&self.key_order).unwrap_or_default();
        let extra = self
            .extra_json
            .as_deref()
            .and_then(|json| OrderedObject::parse(json).ok());
        // The extra members have the order of the keys, so one pass finds them all.
        let mut extra = extra.iter().flat_map(OrderedObject::members).peekable();
        write_object(names.iter().map(|name| {
            let exact = extra
                .next_if(|(next, _)| next == name)
                .map(|(_, json)| json.to_owned());
            let json = exact.or_else(|| self.summary.field_json(name));
            (name, json.unwrap_or_else(|| "null".to_owned()))
        }))
    }

    /// Returns the JSON of the reason of a bounce.
    pub(crate) fn bounce(&self) -> Option<&str> {
        let mut extra = self.summary.extra.iter();
        let (_, json) = extra.find(|(name, _)| name == BOUNCE_FIELD)?;
        Some(json)
    }

    /// Returns it with these members; those that it lacks become its last ones.
    pub(crate) fn with_members<'a>(
        &self,
        members: impl IntoIterator<Item = (&'a str, &'a RawValue)>,
    ) -> Result<Self, serde_json::Error> {
        let json = self.to_json();
        let mut object = OrderedObject::parse(&json)?;
        for (name, value) in members {
            object.set(name, value);
        }
        Self::from_object(&object, self.summary.mailbox())
    }
}

impl Email {
    /// Parses a retrieved email, as leniently as an item of a page.
    pub(crate) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let mut object = OrderedObject::parse(json)?;
        object.remove("object");
        let mut text = |name: &str| object.remove(name).and_then(|raw| parse_scalar(raw.get()));
        Ok(Self {
            html: text("html"),
            text: text("text"),
            tags: object
                .remove("tags")
                .map_or_else(Vec::new, |raw| parse_tags(raw.get())),
            summary: Summary::from_object(&object, |_, _| ())?,
        })
    }
}

/// Writes the fields in the order of the real service.
impl Serialize for Email {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let list = |addresses: &Option<Vec<String>>| addresses.clone().unwrap_or_default();
        let summary = &self.summary;
        let mut object = serializer.serialize_struct("Email", 15)?;
        object.serialize_field("object", "email")?;
        object.serialize_field("id", &summary.id)?;
        object.serialize_field("to", &list(&summary.to))?;
        object.serialize_field("from", &summary.from)?;
        object.serialize_field("created_at", &summary.created_at)?;
        object.serialize_field("subject", &summary.subject)?;
        object.serialize_field("message_id", &summary.message_id)?;
        object.serialize_field("html", &self.html)?;
        object.serialize_field("text", &self.text)?;
        object.serialize_field("bcc", &list(&summary.bcc))?;
        object.serialize_field("cc", &list(&summary.cc))?;
        object.serialize_field("reply_to", &list(&summary.reply_to))?;
        object.serialize_field("last_event", &summary.last_event)?;
        object.serialize_field("scheduled_at", &summary.scheduled_at)?;
        object.serialize_field("tags", &self.tags)?;
        object.end()
    }
}

/// A JSON object that keeps the order and the text of its members.
/// Of several with one name the last counts.
pub(crate) struct OrderedObject<'a>(Vec<(String, &'a RawValue)>);

impl<'a> OrderedObject<'a> {
    pub(crate) fn parse(json: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// Returns the names and JSON texts.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, raw)| (name.as_str(), raw.get()))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.members()
            .find(|(key, _)| *key == name)
            .map(|(_, json)| json)
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<&'a RawValue> {
        let index = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(index).1)
    }

    /// Replaces the member of that name, or adds it at the end.
    pub(crate) fn set(&mut self, name: &str, value: &'a RawValue) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    pub(crate) fn to_json(&self) -> String {
        write_object(self.members())
    }

    /// Removes what only a retrieved email has, if it is one: true if it has a body.
    pub(super) fn remove_bodies(&mut self) -> bool {
        let has_body = self.get("html").or_else(|| self.get("text")).is_some();
        if has_body {
            let is_listed = |name: &str| !matches!(name, "object" | "html" | "text" | "tags");
            self.0.retain(|(name, _)| is_listed(name));
        }
        has_body
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for OrderedObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = OrderedObject<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(String, &RawValue)> = Vec::with_capacity(16);
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                let mut later = HashSet::new();
                let is_last: Vec<bool> = members
                    .iter()
                    .rev()
                    .map(|(name, _)| later.insert(name.as_str()))
                    .collect();
                let mut is_last = is_last.into_iter().rev();
                members.retain(|_| is_last.next() == Some(true));
                Ok(OrderedObject(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// Writes an object from names and JSON texts.
fn write_object<N: AsRef<str>, V: Display>(members: impl IntoIterator<Item = (N, V)>) -> String {
    let mut json = String::from("{");
    for (name, value) in members {
        let comma = if json.len() > 1 { "," } else { "" };
        let _ = write!(json, "{comma}{}:{value}", Value::from(name.as_ref()));
    }
    json.push('}');
    json
}

/// Reads a field; false if it does not restore `json`.
/// `parse_leniently` reads it then.
fn read_field<T: DeserializeOwned>(
    field: &mut Option<T>,
    json: &str,
    parse_leniently: fn(&str) -> Option<T>,
) -> bool {
    let exact = serde_json::from_str(json);
    let is_exact = exact.is_ok();
    *field = exact.unwrap_or_else(|_| parse_leniently(json));
    is_exact
}

/// Parses a list of addresses leniently: a bare string is a list of one,
/// and what is no string is left out.
fn parse_list(json: &str) -> Option<Vec<String>> {
    let parse_address = |json: &str| parse_scalar(json).filter(|_| is_string(json));
    match serde_json::from_str::<Vec<&RawValue>>(json) {
        Ok(items) => Some(
            items
                .iter()
                .filter_map(|item| parse_address(item.get()))
                .collect(),
        ),
        Err(_) => parse_address(json).map(|address| vec![address]),
    }
}

/// Parses a list of tags, of which a bare string is a name, or an object from names
/// to values; what is no tag is left out.
fn parse_tags(json: &str) -> Vec<Tag> {
    if let Ok(values) = serde_json::from_str::<BTreeMap<String, &RawValue>>(json) {
        let tags = values.into_iter().map(|(name, value)| Tag {
            name,
            value: parse_scalar(value.get()).unwrap_or_default(),
        });
        return tags.collect();
    }
    let items: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    let parse = |item: &&RawValue| {
        let name = serde_json::from_str(item.get()).map(|name| Tag {
            name,
            ..Tag::default()
        });
        serde_json::from_str(item.get()).or(name).ok()
    };
    items.iter().filter_map(parse).collect()
}

/// Returns the text of a JSON string, with U+FFFD for each lone surrogate,
/// the JSON text of a number or a boolean, else `None`.
fn parse_scalar(json: &str) -> Option<String> {
    let parse = |json: &str| serde_json::from_str::<Option<String>>(json);
    parse(json)
        .or_else(|_| parse(&replace_lone_surrogates(json)))
        .unwrap_or_else(|_| (!is_nested(json)).then(|| json.to_owned()))
}

fn string_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(parse_scalar(raw.get()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_other_shapes() {
        let read = |to: &str| {
            let json = format!(r#"{{"id":"1"{to}}}"#);
            Summary::parse(&json).unwrap().to
        };
        let one = Some(vec!["a@example.com".to_owned()]);
        for (to, expected) in [
            ("", None),
            (r#","to":null"#, None),
            (r#","to":[]"#, Some(vec![])),
            (r#","to":"a@example.com""#, one.clone()),
            (r#","to":["a@example.com",null,7,{}]"#, one),
            (r#","to":{}"#, None),
        ] {
            assert_eq!(read(to), expected, "{to}");
        }
    }

    #[test]
    fn unknown_members_keep_text_and_order() {
        let summary =
            Summary::parse(r#"{"zeta":1.50,"id":"1","alpha":{"b": [1, 2]},"subject":7}"#).unwrap();
        let expected = [("zeta", "1.50"), ("alpha", r#"{"b": [1, 2]}"#)]
            .map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(summary.extra, expected);
        assert_eq!(summary.subject.as_deref(), Some("7"));
    }

    #[test]
    fn lone_surrogate_alone_is_replaced() {
        let subject = r#""emoji \ud83d\ude00 \ud800 lone""#;
        let json = format!(r#"{{"id":"1","subject":{subject}}}"#);
        let summary = Summary::parse(&json).unwrap();
        assert_eq!(summary.subject.as_deref(), Some("emoji 😀 \u{fffd} lone"));
    }

    #[test]
    fn email_needs_only_an_id() {
        assert!(Summary::parse(r#"{"subject":"x"}"#).is_err());
        assert!(Summary::parse(r#"{"id":""}"#).is_err());
        assert!(Email::parse("[]").is_err());
        let email =
            Email::parse(r#"{"id":"1","tags":[{"name":"a","value":null},{"value":3}],"cc":null}"#)
                .unwrap();
        let tag = |name: &str, value: &str| Tag {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        assert_eq!(email.tags, [tag("a", ""), tag("", "3")]);
        assert_eq!(email.summary.cc, None);
    }

    #[test]
    fn tags_are_read_from_other_shapes() {
        for (tags, expected) in [
            (
                r#"[{"name":"a","value":"1"},"b",null,7,{"name":"c","value":{}}]"#,
                "a=1 b= c=",
            ),
            (r#"{"plan":"pro","n":3,"none":null}"#, "n=3 none= plan=pro"),
            (r#"["b"]"#, "b="),
            (r#""a""#, ""),
            ("null", ""),
        ] {
            let email = Email::parse(&format!(r#"{{"id":"1","tags":{tags}}}"#)).unwrap();
            let shown = email.tags.iter();
            let shown: Vec<String> = shown
                .map(|it| format!("{}={}", it.name, it.value))
                .collect();
            assert_eq!(shown.join(" "), expected, "{tags}");
        }
    }

    #[test]
    fn summary_is_written_as_specified() {
        let summary = Summary {
            id: "1".into(),
            to: Some(vec!["a@example.com".into()]),
            ..Summary::default()
        };
        let json = serde_json::to_string(&summary).unwrap();
        assert_eq!(
            json,
            r#"{"id":"1","to":["a@example.com"],"from":null,"created_at":null,"subject":null,"message_id":null,"bcc":null,"cc":null,"reply_to":null,"last_event":null,"scheduled_at":null}"#
        );
    }
}
