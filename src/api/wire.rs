//! The JSON of the service, for the client that parses it and the server that writes it.
//!
//! Written strictly: each field has the shape of the specification. Parsed leniently: the real service
//! and its imitators send null for an empty list, a bare string for a list of one, omit fields and add
//! others; none of that may cost an email.

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{SerializeStruct as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

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

/// An email as the retrieve operation describes it: a summary, with empty lists where that has null.
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
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ListBody<Item> {
    /// Always `list`; some services leave it out.
    #[serde(default)]
    pub(crate) object: Option<String>,
    /// Whether more emails exist in the requested direction; missing on some services.
    #[serde(default)]
    pub(crate) has_more: Option<bool>,
    pub(crate) data: Vec<Item>,
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

impl Summary {
    /// Parses one item of a page. Unknown and missing fields are accepted; a missing id is not.
    ///
    /// # Errors
    ///
    /// If `json` is not an object, or has no usable `id`.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        Self::from_object(serde_json::from_str(json)?)
    }

    fn from_object(mut object: OrderedObject) -> Result<Self, serde_json::Error> {
        Ok(Self {
            id: object
                .remove_string("id")
                .filter(|id| !id.is_empty())
                .ok_or_else(|| serde_json::Error::custom("an email without an id"))?,
            to: object.remove_list("to"),
            from: object.remove_string("from"),
            created_at: object.remove_string("created_at"),
            subject: object.remove_string("subject"),
            message_id: object.remove_string("message_id"),
            bcc: object.remove_list("bcc"),
            cc: object.remove_list("cc"),
            reply_to: object.remove_list("reply_to"),
            last_event: object.remove_string("last_event"),
            scheduled_at: object.remove_string("scheduled_at"),
            extra: object.into_extra(),
        })
    }
}

impl Email {
    /// Parses the response of the retrieve operation, as leniently as [`Summary::parse`].
    pub(crate) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let mut object: OrderedObject = serde_json::from_str(json)?;
        object.remove("object");
        Ok(Self {
            html: object.remove_string("html"),
            text: object.remove_string("text"),
            tags: object
                .remove("tags")
                .and_then(|raw| serde_json::from_str(raw.get()).ok())
                .unwrap_or_default(),
            summary: Summary::from_object(object)?,
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
struct OrderedObject(Vec<(String, Box<RawValue>)>);

impl OrderedObject {
    /// Removes all members of that name and returns the last one, as JSON parsers do.
    fn remove(&mut self, name: &str) -> Option<Box<RawValue>> {
        let mut found = None;
        self.0.retain_mut(|(key, value)| {
            let is_match = key == name;
            if is_match {
                found = Some(std::mem::replace(value, RawValue::NULL.to_owned()));
            }
            !is_match
        });
        found
    }

    /// Removes a string; null and a missing member are `None`, any other value is its JSON text.
    fn remove_string(&mut self, name: &str) -> Option<String> {
        let raw = self.remove(name)?;
        match serde_json::from_str::<Option<String>>(raw.get()) {
            Ok(text) => text,
            Err(_) => Some(raw.get().to_owned()),
        }
    }

    /// Removes a list of strings; a bare string is a list of one.
    fn remove_list(&mut self, name: &str) -> Option<Vec<String>> {
        let raw = self.remove(name)?;
        let text = raw.get();
        match serde_json::from_str::<Option<Vec<Box<RawValue>>>>(text) {
            Ok(items) => items.map(|items| {
                items
                    .iter()
                    .filter_map(|item| parse_scalar(item.get()))
                    .collect()
            }),
            Err(_) => Some(parse_scalar(text).into_iter().collect()),
        }
    }

    fn into_extra(self) -> Vec<(String, String)> {
        self.0
            .into_iter()
            .map(|(name, raw)| (name, raw.get().to_owned()))
            .collect()
    }
}

/// Returns the text of a JSON string, `None` for null, and the JSON text of anything else.
fn parse_scalar(json: &str) -> Option<String> {
    serde_json::from_str::<Option<String>>(json).unwrap_or_else(|_| Some(json.to_owned()))
}

impl<'de> Deserialize<'de> for OrderedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = OrderedObject;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OrderedObject, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or(16));
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(OrderedObject(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

fn string_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(parse_scalar(raw.get()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_four_shapes() {
        let read = |to: &str| Summary::parse(&format!(r#"{{"id":"1"{to}}}"#)).unwrap().to;
        assert_eq!(read(""), None);
        assert_eq!(read(r#","to":null"#), None);
        assert_eq!(read(r#","to":[]"#), Some(vec![]));
        assert_eq!(
            read(r#","to":"a@example.com""#),
            Some(vec!["a@example.com".to_owned()])
        );
        assert_eq!(
            read(r#","to":["a@example.com",null]"#),
            Some(vec!["a@example.com".to_owned()])
        );
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
    fn email_needs_only_an_id() {
        assert!(Summary::parse(r#"{"subject":"x"}"#).is_err());
        assert!(Summary::parse(r#"{"id":""}"#).is_err());
        assert!(Email::parse("[]").is_err());
        let email =
            Email::parse(r#"{"id":"1","tags":[{"name":"a","value":null},{"value":3}],"cc":null}"#)
                .unwrap();
        assert_eq!(
            email.tags,
            [
                Tag {
                    name: "a".into(),
                    value: String::new()
                },
                Tag {
                    name: String::new(),
                    value: "3".into()
                }
            ]
        );
        assert_eq!(email.summary.cc, None);
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
