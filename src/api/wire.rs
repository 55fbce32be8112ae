//! The service's JSON, once, for the client that reads it and the server that speaks it.
//!
//! Written strictly: each field has the one shape of the specification. Read leniently: the real
//! service and its imitators send null for an empty list, a bare string for a list of one, leave
//! fields out and add others; none of that may cost us an email.

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
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
    /// Null when there are none.
    pub(crate) bcc: Option<Vec<String>>,
    /// Null when there are none.
    pub(crate) cc: Option<Vec<String>>,
    /// Null when there are none.
    pub(crate) reply_to: Option<Vec<String>>,
    /// The most recent event.
    pub(crate) last_event: Option<String>,
    /// Null unless it is to be sent later.
    pub(crate) scheduled_at: Option<String>,
    /// Members that this version does not know: name and JSON text, verbatim and in order.
    #[serde(skip)]
    pub(crate) extra: Vec<(String, String)>,
}

/// An email as the retrieve operation describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Email {
    /// Always `email`.
    pub(crate) object: String,
    /// As in the summary.
    pub id: String,
    /// As in the summary.
    pub(crate) to: Vec<String>,
    /// As in the summary.
    pub(crate) from: Option<String>,
    /// As in the summary.
    pub(crate) created_at: Option<String>,
    /// As in the summary.
    pub(crate) subject: Option<String>,
    /// As in the summary.
    pub(crate) message_id: Option<String>,
    /// The html part.
    pub(crate) html: Option<String>,
    /// The plain-text part.
    pub text: Option<String>,
    /// Empty when there are none.
    pub(crate) bcc: Vec<String>,
    /// Empty when there are none.
    pub(crate) cc: Vec<String>,
    /// Empty when there are none.
    pub(crate) reply_to: Vec<String>,
    /// As in the summary.
    pub(crate) last_event: Option<String>,
    /// As in the summary.
    pub(crate) scheduled_at: Option<String>,
    /// Labels.
    pub(crate) tags: Vec<Tag>,
    /// As in the summary.
    #[serde(skip)]
    pub(crate) extra: Vec<(String, String)>,
}

/// A label: at most 256 characters of `A-Za-z0-9_-` each on the real service.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Tag {
    /// Its name.
    #[serde(default, deserialize_with = "string_or_empty")]
    pub(crate) name: String,
    /// Its value.
    #[serde(default, deserialize_with = "string_or_empty")]
    pub(crate) value: String,
}

/// The list operation's answer, its items still as they were sent.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ListBody<Item> {
    /// Always `list`; some services leave it out.
    #[serde(default)]
    pub(crate) object: Option<String>,
    /// Whether more emails exist in the direction asked. Missing on some services: then unknown.
    #[serde(default)]
    pub(crate) has_more: Option<bool>,
    /// The page's items.
    pub(crate) data: Vec<Item>,
}

/// The flat error body of the real service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ErrorBody {
    /// Repeats the HTTP status.
    #[serde(rename = "statusCode")]
    pub(crate) status_code: u16,
    /// A message.
    pub(crate) message: String,
    /// A stable word, such as `not_found`.
    pub(crate) name: String,
}

impl Summary {
    /// Reads one item of a page. An unknown or missing field is no error; a missing id is.
    ///
    /// # Errors
    ///
    /// If `json` is not an object, or has no usable `id`.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let mut members: OrderedObject = serde_json::from_str(json)?;
        let mut known = Self {
            id: members.remove_id()?,
            ..Self::default()
        };
        let Self {
            id: _,
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
        } = &mut known;
        *to = members.remove_list("to");
        *from = members.remove_string("from");
        *created_at = members.remove_string("created_at");
        *subject = members.remove_string("subject");
        *message_id = members.remove_string("message_id");
        *bcc = members.remove_list("bcc");
        *cc = members.remove_list("cc");
        *reply_to = members.remove_list("reply_to");
        *last_event = members.remove_string("last_event");
        *scheduled_at = members.remove_string("scheduled_at");
        *extra = members.into_extra();
        Ok(known)
    }
}

impl Email {
    /// Reads the answer of the retrieve operation, as leniently as [`Summary::read`].
    ///
    /// # Errors
    ///
    /// If `json` is not an object, or has no usable `id`.
    pub(crate) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let mut members: OrderedObject = serde_json::from_str(json)?;
        let mut known = Self {
            id: members.remove_id()?,
            ..Self::default()
        };
        let Self {
            object,
            id: _,
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
        } = &mut known;
        *object = members
            .remove_string("object")
            .unwrap_or_else(|| "email".to_owned());
        *to = members.remove_list("to").unwrap_or_default();
        *from = members.remove_string("from");
        *created_at = members.remove_string("created_at");
        *subject = members.remove_string("subject");
        *message_id = members.remove_string("message_id");
        *html = members.remove_string("html");
        *text = members.remove_string("text");
        *bcc = members.remove_list("bcc").unwrap_or_default();
        *cc = members.remove_list("cc").unwrap_or_default();
        *reply_to = members.remove_list("reply_to").unwrap_or_default();
        *last_event = members.remove_string("last_event");
        *scheduled_at = members.remove_string("scheduled_at");
        *tags = members
            .remove("tags")
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        *extra = members.into_extra();
        Ok(known)
    }
}

/// A JSON object in the order it was written, its values untouched.
struct OrderedObject(Vec<(String, Box<RawValue>)>);

impl OrderedObject {
    /// The last member of that name, as JSON itself has it; earlier ones are dropped.
    fn remove(&mut self, name: &str) -> Option<Box<RawValue>> {
        let mut found = None;
        self.0.retain_mut(|(key, value)| {
            let is_it = key == name;
            if is_it {
                found = Some(std::mem::replace(value, RawValue::NULL.to_owned()));
            }
            !is_it
        });
        found
    }

    fn remove_id(&mut self) -> Result<String, serde_json::Error> {
        self.remove_string("id")
            .filter(|id| !id.is_empty())
            .ok_or_else(|| serde_json::Error::custom("an email without an id"))
    }

    /// A string; null and a missing member are none, and any other value is its JSON text.
    fn remove_string(&mut self, name: &str) -> Option<String> {
        let raw = self.remove(name)?;
        match serde_json::from_str::<Option<String>>(raw.get()) {
            Ok(text) => text,
            Err(_) => Some(raw.get().to_owned()),
        }
    }

    /// A list of strings; a bare string is a list of one.
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

/// The text of a JSON string, or the JSON text of anything else but null.
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
    fn addresses_come_in_four_shapes() {
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
    fn unknown_members_are_kept_verbatim_and_in_order() {
        let summary =
            Summary::parse(r#"{"zeta":1.50,"id":"1","alpha":{"b": [1, 2]},"subject":7}"#).unwrap();
        let expected = [("zeta", "1.50"), ("alpha", r#"{"b": [1, 2]}"#)]
            .map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(summary.extra, expected);
        assert_eq!(summary.subject.as_deref(), Some("7"));
    }

    #[test]
    fn an_email_needs_an_id_and_nothing_else() {
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
        assert!(email.cc.is_empty());
    }

    #[test]
    fn a_summary_is_written_in_the_shape_of_the_specification() {
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
