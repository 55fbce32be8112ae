//! Converts one email between its JSON and the columns of `mail`, without loss.
//!
//! Rows keep columns: storing the JSON as it came was measured at about 730 MB for a million emails
//! (490 MB deflated) against 410 MB, too close to or above the limit of 500 MB.

use std::collections::HashSet;
use std::fmt;
use std::fmt::Write as _;

use rusqlite::Row;
use rusqlite::types::ToSqlOutput::Owned;
use rusqlite::types::{ToSqlOutput, Value};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{id, time};
use crate::api::wire;

/// Members that are bodies: a response with one of them is a retrieved email.
const BODY_KEYS: [&str; 2] = ["html", "text"];

/// Members that only a retrieved email has.
const RETRIEVE_ONLY_KEYS: [&str; 4] = ["object", "html", "text", "tags"];

/// The columns that [`read_summary`] reads, in its order.
macro_rules! summary_columns {
    () => {
        "id, created_at, last_event, iif(typeof(sender) = 'integer', (SELECT value FROM interned WHERE id = sender), sender), recipients, \
         subject, message_id, cc, bcc, reply_to, scheduled_at, extra_json"
    };
}
pub(crate) use summary_columns;

/// The columns that [`RowFields::from_row`] reads, in its order; they come from `mail JOIN key_order`.
macro_rules! row_columns {
    () => {
        concat!(summary_columns!(), ", keys")
    };
}
pub(crate) use row_columns;

/// The content of the columns of one email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowFields {
    /// The known members as they were read, and the unknown ones.
    pub(crate) summary: wire::Summary,
    /// The names of the JSON's members in their order, as a JSON array.
    pub(crate) key_order: String,
    /// A JSON object of the members that the columns cannot restore.
    pub(crate) extra_json: Option<String>,
}

/// An email's parsed JSON.
pub(crate) struct ParsedEmail {
    /// Its summary.
    pub(crate) fields: RowFields,
    /// Whether the JSON has bodies, so that it is stored as a body, too.
    pub(crate) has_body: bool,
}

impl RowFields {
    /// Parses an email's JSON in the form of a list item or of a retrieved email; drops the members that
    /// only the latter has.
    pub(crate) fn parse(json: &str) -> Result<ParsedEmail, serde_json::Error> {
        let mut members = OrderedObject::parse(json)?;
        let has_body = BODY_KEYS.iter().any(|name| members.contains_key(name));
        if !has_body {
            return Ok(ParsedEmail {
                fields: Self::from_object(wire::Summary::parse(json)?, &members),
                has_body,
            });
        }
        members
            .0
            .retain(|(name, _)| !RETRIEVE_ONLY_KEYS.contains(&name.as_str()));
        let short = write_object(
            members
                .0
                .iter()
                .map(|(name, value)| (name.as_str(), value.get())),
        );
        Ok(ParsedEmail {
            fields: Self::from_object(wire::Summary::parse(&short)?, &members),
            has_body,
        })
    }

    fn from_object(mut summary: wire::Summary, members: &OrderedObject) -> Self {
        summary.extra = members
            .0
            .iter()
            .filter(|(name, _)| !has_column(name))
            .map(|(name, value)| (name.clone(), value.get().to_owned()))
            .collect();
        let mut names = String::from("[");
        for (name, _) in &members.0 {
            let comma = if names.len() > 1 { "," } else { "" };
            let _ = write!(names, "{comma}{}", quote(name));
        }
        names.push(']');
        let extra = members
            .0
            .iter()
            .filter(|(name, value)| !fits_column(name, value))
            .map(|(name, value)| (name.as_str(), value.get()));
        let extra = Some(write_object(extra)).filter(|json| json != "{}");
        Self {
            summary,
            key_order: names,
            extra_json: extra,
        }
    }

    /// Restores the JSON: the same members in the same order with equal values.
    pub(crate) fn to_json(&self) -> String {
        let names: Vec<String> = serde_json::from_str(&self.key_order).unwrap_or_default();
        // The extra members have the order of the keys, so one pass finds them all.
        let mut extra = parse_extra(self.extra_json.as_deref())
            .0
            .into_iter()
            .peekable();
        let value = |name: &String| {
            extra.next_if(|(next, _)| next == name).map_or_else(
                || self.column_json(name),
                |(_, value)| value.get().to_owned(),
            )
        };
        let values: Vec<String> = names.iter().map(value).collect();
        write_object(
            names
                .iter()
                .map(String::as_str)
                .zip(values.iter().map(String::as_str)),
        )
    }

    /// Returns a known member as JSON.
    fn column_json(&self, name: &str) -> String {
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
            extra: _,
        } = &self.summary;
        match name {
            "id" => quote(id),
            "to" => to_json_text(to),
            "from" => to_json_text(from),
            "created_at" => to_json_text(created_at),
            "subject" => to_json_text(subject),
            "message_id" => to_json_text(message_id),
            "bcc" => to_json_text(bcc),
            "cc" => to_json_text(cc),
            "reply_to" => to_json_text(reply_to),
            "last_event" => to_json_text(last_event),
            "scheduled_at" => to_json_text(scheduled_at),
            _ => "null".to_owned(),
        }
    }

    /// Fails if a column that contains JSON is not valid.
    pub(crate) fn check_json(&self) -> Result<(), serde_json::Error> {
        serde_json::from_str::<Vec<String>>(&self.key_order)?;
        self.extra_json
            .as_deref()
            .map_or(Ok(()), |extra| OrderedObject::parse(extra).map(|_| ()))
    }

    /// Reads the columns of [`row_columns!`], which begin at `first`.
    pub(crate) fn from_row(row: &Row, first: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            summary: read_summary(row, first)?,
            extra_json: row.get(first + 11)?,
            key_order: row.get(first + 12)?,
        })
    }

    /// Returns the columns of [`row_columns!`] but the last as parameters, with the stored form of the sender.
    pub(crate) fn to_params(&self, sender: Value) -> [ToSqlOutput<'_>; 12] {
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
            extra: _,
        } = &self.summary;
        [
            Owned(id::encode_id(id)),
            Owned(time::encode(created_at.as_deref())),
            text_param(last_event.as_deref()),
            Owned(sender),
            list_param(to.as_deref()),
            text_param(subject.as_deref()),
            Owned(id::encode_message_id(
                message_id.as_deref(),
                from.as_deref(),
            )),
            list_param(cc.as_deref()),
            list_param(bcc.as_deref()),
            list_param(reply_to.as_deref()),
            text_param(scheduled_at.as_deref()),
            text_param(self.extra_json.as_deref()),
        ]
    }
}

/// Reads the columns of [`summary_columns!`], which begin at `first`.
pub(crate) fn read_summary(row: &Row, first: usize) -> rusqlite::Result<wire::Summary> {
    let text = |at: usize| row.get::<_, Option<String>>(first + at);
    let list = |at: usize| {
        Ok::<_, rusqlite::Error>(row.get_ref(first + at)?.as_str_or_null()?.map(decode_list))
    };
    let from = text(3)?;
    let extra = parse_extra(row.get_ref(first + 11)?.as_str_or_null()?)
        .0
        .into_iter()
        .filter(|(name, _)| !has_column(name));
    Ok(wire::Summary {
        id: id::decode_id(row.get_ref(first)?),
        created_at: time::decode(row.get_ref(first + 1)?),
        last_event: text(2)?,
        to: list(4)?,
        subject: text(5)?,
        message_id: id::decode_message_id(row.get_ref(first + 6)?, from.as_deref()),
        from,
        cc: list(7)?,
        bcc: list(8)?,
        reply_to: list(9)?,
        scheduled_at: text(10)?,
        extra: extra
            .map(|(name, value)| (name, value.get().to_owned()))
            .collect(),
    })
}

fn parse_extra(json: Option<&str>) -> OrderedObject {
    json.and_then(|json| OrderedObject::parse(json).ok())
        .unwrap_or(OrderedObject(Vec::new()))
}

fn text_param(text: Option<&str>) -> ToSqlOutput<'_> {
    text.map_or(Owned(Value::Null), ToSqlOutput::from)
}

fn list_param(list: Option<&[String]>) -> ToSqlOutput<'_> {
    Owned(list.map_or(Value::Null, |list| Value::Text(encode_list(list))))
}

fn has_column(name: &str) -> bool {
    matches!(
        name,
        "id" | "to"
            | "from"
            | "created_at"
            | "subject"
            | "message_id"
            | "bcc"
            | "cc"
            | "reply_to"
            | "last_event"
            | "scheduled_at"
    )
}

/// Whether the column can restore this member.
fn fits_column(name: &str, value: &RawValue) -> bool {
    match name {
        "id" => serde_json::from_str::<String>(value.get()).is_ok(),
        "to" | "cc" | "bcc" | "reply_to" => {
            serde_json::from_str::<Option<Vec<String>>>(value.get()).is_ok()
        }
        known if has_column(known) => serde_json::from_str::<Option<String>>(value.get()).is_ok(),
        _ => false,
    }
}

fn to_json_text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("strings and lists of strings are always JSON")
}

/// Encodes a list as text: the single address of most lists, or a JSON array.
fn encode_list(list: &[String]) -> String {
    match list {
        [one] if !one.starts_with('[') => one.clone(),
        _ => to_json_text(&list),
    }
}

fn decode_list(text: &str) -> Vec<String> {
    let list = text
        .starts_with('[')
        .then(|| serde_json::from_str(text).ok())
        .flatten();
    list.unwrap_or_else(|| vec![text.to_owned()])
}

/// A JSON object with its members in order. Of several members with one name the last one counts.
pub(crate) struct OrderedObject(pub(crate) Vec<(String, Box<RawValue>)>);

impl OrderedObject {
    pub(crate) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    pub(crate) fn contains_key(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }
}

/// Writes an object from names and JSON texts.
pub(crate) fn write_object<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut json = String::from("{");
    for (name, value) in members {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&quote(name));
        json.push(':');
        json.push_str(value);
    }
    json.push('}');
    json
}

/// Quotes a text as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl<'de> Deserialize<'de> for OrderedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = OrderedObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OrderedObject, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::with_capacity(16);
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                let mut later = HashSet::new();
                let stays: Vec<bool> = members
                    .iter()
                    .rev()
                    .map(|(name, _)| later.insert(name.as_str()))
                    .collect();
                let mut stays = stays.into_iter().rev();
                members.retain(|_| stays.next() == Some(true));
                Ok(OrderedObject(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    /// Through the columns of a real table and back.
    fn through(json: &str) -> RowFields {
        let fields = RowFields::parse(json).unwrap().fields;
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let sql = "SELECT ?1 id, ?2 created_at, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13";
        let sender = fields.summary.from.clone().into();
        let values = fields
            .to_params(sender)
            .into_iter()
            .chain([ToSqlOutput::from(fields.key_order.as_str())]);
        let back = connection
            .query_row(sql, rusqlite::params_from_iter(values), |row| {
                RowFields::from_row(row, 0)
            })
            .unwrap();
        assert_eq!(back, fields);
        back
    }

    #[test]
    fn keys_keep_order_and_numbers_keep_digits() {
        let json = r#"{"zeta":1.50,"id":"7","to":"bare@example.com","cc":[],"bcc":null,"big":123456789012345678901234567890,"from":"A <a@example.com>"}"#;
        assert_eq!(through(json).to_json(), json);
    }

    #[test]
    fn usual_summary_needs_no_extra_json() {
        let json = r#"{"id":"0f9c35de-6ad1-4cb2-9f4e-00000000beef","to":["a@example.com"],"subject":null,"cc":["[x] <b@example.com>"]}"#;
        assert_eq!(through(json).extra_json, None);
        assert_eq!(through(json).to_json(), json);
    }

    #[test]
    fn retrieved_email_is_parsed_without_bodies() {
        let taken = RowFields::parse(r#"{"object":"email","id":"1","html":"<p>","text":null,"tags":[],"x":1,"subject":"Hi"}"#).unwrap();
        assert!(taken.has_body);
        assert_eq!(taken.fields.to_json(), r#"{"id":"1","x":1,"subject":"Hi"}"#);
        assert_eq!(
            taken.fields.summary.extra,
            [("x".to_owned(), "1".to_owned())]
        );
    }

    fn anything() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(|n| json!(n)),
            "\\PC{0,12}".prop_map(Value::from),
            "[\\[\"<@ a]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(2, 8, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("[a-z]{1,3}", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_item_round_trips(
            members in prop::collection::vec((prop_oneof![
                prop::sample::select(vec!["to", "from", "created_at", "subject", "message_id", "bcc", "cc", "reply_to", "last_event", "scheduled_at"]).prop_map(str::to_owned),
                "[a-z_]{1,8}",
            ], anything()), 0..14),
            id in "\\PC{1,8}",
        ) {
            let mut item: Map<String, Value> = members.into_iter().filter(|(name, _)| !BODY_KEYS.contains(&name.as_str())).collect();
            item.insert("id".to_owned(), Value::from(id));
            let json = Value::Object(item).to_string();
            let back = through(&json).to_json();
            prop_assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), serde_json::from_str::<Value>(&json).unwrap());
        }
    }
}
