//! Converts one email between its JSON and the columns of `mail`, without loss.
//!
//! Rows keep columns: storing the JSON as it came was measured at about 730 MB for a million emails
//! (490 MB deflated) against 410 MB, too close to or above the limit of 500 MB.

use rusqlite::types::ToSqlOutput::Owned;
use rusqlite::types::{FromSql, ToSqlOutput, Value};

use super::{decode_id, decode_message_id, decode_time, encode_id, encode_message_id, encode_time};
use crate::api::wire::{self, LosslessSummary, OrderedObject};
use crate::archive::storage::db::{Connection, Row};
use crate::mail::Mailbox;

/// The columns that [`read_summary`] reads, in its order;
/// those of [`read_summary_with`] have another form of the sender.
macro_rules! summary_columns {
    () => {
        $crate::archive::codec::row::summary_columns!(
            "iif(typeof(sender) = 'integer', (SELECT value FROM interned WHERE id = sender), sender)"
        )
    };
    ($sender:literal) => {
        concat!(
            "id, created_at, last_event, ",
            $sender,
            ", recipients, subject, message_id, cc, bcc, reply_to, scheduled_at, extra_json"
        )
    };
}
pub(crate) use summary_columns;

/// The columns that [`read_fields`] reads, in its order;
/// they come from `mail JOIN key_order`.
macro_rules! row_columns {
    () => {
        concat!($crate::archive::codec::row::summary_columns!(), ", keys")
    };
}
pub(crate) use row_columns;

/// Fails if a column that contains JSON is not valid.
pub(crate) fn check_json(fields: &LosslessSummary) -> Result<(), serde_json::Error> {
    serde_json::from_str::<Vec<String>>(&fields.key_order)?;
    let extra = fields.extra_json.as_deref().map(OrderedObject::parse);
    extra.transpose().map(drop)
}

/// Reads the columns of [`row_columns!`].
pub(crate) fn read_fields(row: &Row) -> rusqlite::Result<LosslessSummary> {
    let (summary, extra_json) = read_summary(row)?;
    Ok(LosslessSummary {
        summary,
        extra_json: extra_json.map(str::to_owned),
        key_order: row.get()?,
    })
}

/// Returns the columns of [`row_columns!`] but the last as parameters,
/// with the stored form of the sender.
pub(crate) fn to_params(fields: &LosslessSummary, sender: Value) -> [ToSqlOutput<'_>; 12] {
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
    } = &fields.summary;
    [
        Owned(encode_id(id)),
        Owned(encode_time(created_at.as_deref())),
        text_param(last_event.as_deref()),
        Owned(sender),
        list_param(to.as_deref()),
        text_param(subject.as_deref()),
        Owned(encode_message_id(message_id.as_deref(), from.as_deref())),
        list_param(cc.as_deref()),
        list_param(bcc.as_deref()),
        list_param(reply_to.as_deref()),
        text_param(scheduled_at.as_deref()),
        text_param(fields.extra_json.as_deref()),
    ]
}

/// Reads the columns of [`summary_columns!`], with `extra_json` as it is stored.
pub(crate) fn read_summary<'a>(
    row: &'a Row<'_>,
) -> rusqlite::Result<(wire::Summary, Option<&'a str>)> {
    read_summary_with(row, Row::get)
}

/// Reads as [`read_summary`]; `read_sender` reads the column of the sender.
pub(crate) fn read_summary_with<'a, 'r>(
    row: &'a Row<'r>,
    read_sender: impl FnOnce(&'a Row<'r>) -> rusqlite::Result<Option<String>>,
) -> rusqlite::Result<(wire::Summary, Option<&'a str>)> {
    let id = decode_id(row.get_ref()?);
    let created_at = decode_time(row.get_ref()?);
    let last_event = row.get()?;
    let from = read_sender(row)?;
    let mut summary = wire::Summary {
        id,
        created_at,
        last_event,
        to: read_list(row)?,
        subject: row.get()?,
        message_id: decode_message_id(row.get_ref()?, from.as_deref()),
        from,
        cc: read_list(row)?,
        bcc: read_list(row)?,
        reply_to: read_list(row)?,
        scheduled_at: row.get()?,
        extra: Vec::new(),
    };
    let extra = row.get_ref()?.as_str_or_null()?;
    if let Some(object) = extra.and_then(|json| OrderedObject::parse(json).ok()) {
        let unknown = object
            .members()
            .filter(|(name, _)| summary.field_json(name).is_none());
        summary.extra = unknown
            .map(|(name, json)| (name.to_owned(), json.to_owned()))
            .collect();
    }
    Ok((summary, extra))
}

/// Reads the columns of `summary_columns!("sender")` and `key_order_id`,
/// without the parts that `interned` and `key_order` no longer have.
///
/// Returns whether a part is missing. Without its order of keys, an email has those that are not
/// null.
pub(crate) fn recover_fields(
    row: &Row,
    conn: &Connection,
) -> rusqlite::Result<(LosslessSummary, bool)> {
    let mut is_sender_lost = false;
    let (summary, extra_json) = read_summary_with(row, |row| {
        let stored: Value = row.get()?;
        let Value::Integer(id) = stored else {
            return Ok(FromSql::column_result((&stored).into())?);
        };
        let sender = conn.value("SELECT value FROM interned WHERE id = ?1", [id]);
        is_sender_lost = sender.is_err();
        Ok(sender.ok())
    })?;
    let query = "SELECT keys FROM key_order WHERE key_order_id = ?1";
    let keys: Option<String> = conn.value(query, [row.get::<i64>()?]).ok();
    let keys = keys.and_then(|keys| serde_json::from_str::<Vec<String>>(&keys).ok());
    let are_keys_lost = keys.is_none();
    let extra = extra_json.and_then(|json| OrderedObject::parse(json).ok());
    let extra: Vec<&str> = (extra.iter().flat_map(OrderedObject::members))
        .map(|(name, _)| name)
        .collect();
    let is_lost = |name: &str| {
        let may_be_lost = are_keys_lost || is_sender_lost && ["from", "message_id"].contains(&name);
        may_be_lost && summary.field_json(name).is_some_and(|json| json == "null")
    };
    let mut keys = keys.unwrap_or_else(|| {
        let mut keys = wire::FIELD_NAMES.to_vec();
        keys.retain(|name| *name != "last_event" || summary.mailbox() == Mailbox::Sent);
        keys.retain(|name| !extra.contains(name));
        keys.extend(&extra);
        keys.into_iter().map(str::to_owned).collect()
    });
    keys.retain(|name| extra.contains(&&**name) || !is_lost(name));
    let key_order = serde_json::Value::from(keys).to_string();
    let extra_json = extra_json.map(str::to_owned);
    let fields = LosslessSummary {
        summary,
        key_order,
        extra_json,
    };
    Ok((fields, are_keys_lost || is_sender_lost))
}

fn read_list(row: &Row) -> rusqlite::Result<Option<Vec<String>>> {
    Ok(row.get_ref()?.as_str_or_null()?.map(decode_list))
}

fn text_param(text: Option<&str>) -> ToSqlOutput<'_> {
    text.map_or(Owned(Value::Null), ToSqlOutput::from)
}

fn list_param(list: Option<&[String]>) -> ToSqlOutput<'_> {
    Owned(list.map_or(Value::Null, |list| Value::Text(encode_list(list))))
}

/// Encodes a list as text: the single address of most lists, or a JSON array.
fn encode_list(list: &[String]) -> String {
    match list {
        [one] if !one.starts_with('[') => one.clone(),
        _ => serde_json::Value::from(list).to_string(),
    }
}

fn decode_list(text: &str) -> Vec<String> {
    let list = text
        .starts_with('[')
        .then(|| serde_json::from_str(text).ok())
        .flatten();
    list.unwrap_or_else(|| vec![text.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ListedEmail;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    /// Through the columns of a real table and back.
    fn through(json: &str) -> LosslessSummary {
        let fields = ListedEmail::parse(json).unwrap().parsed();
        let conn = Connection::in_memory();
        let sql = "SELECT ?1 id, ?2 created_at, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13";
        let sender = fields.summary.from.clone().into();
        let values: Vec<_> = to_params(&fields, sender)
            .into_iter()
            .chain([ToSqlOutput::from(fields.key_order.as_str())])
            .collect();
        let back = conn.one(sql, values, read_fields).unwrap();
        assert_eq!(back, *fields);
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
        let email = ListedEmail::parse(r#"{"object":"email","id":"1","html":"<p>","text":null,"tags":[],"x":1,"subject":"Hi"}"#).unwrap();
        assert!(email.has_body);
        let parsed = email.parsed();
        assert_eq!(parsed.to_json(), r#"{"id":"1","x":1,"subject":"Hi"}"#);
        assert_eq!(parsed.summary.extra, [("x".to_owned(), "1".to_owned())]);
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
                prop::sample::select(&wire::FIELD_NAMES[1..]).prop_map(str::to_owned),
                "[a-z_]{1,8}",
            ], anything()), 0..14),
            id in "\\PC{1,8}",
        ) {
            let mut item: Map<String, Value> = members.into_iter().filter(|(name, _)| name != "html" && name != "text").collect();
            item.insert("id".to_owned(), Value::from(id));
            let json = Value::Object(item).to_string();
            let back = through(&json).to_json();
            prop_assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), serde_json::from_str::<Value>(&json).unwrap());
        }
    }
}
