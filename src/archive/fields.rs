//! One email between its JSON and the columns of `mail`, in both directions and without loss.

use std::fmt::Write as _;

use rusqlite::Row;
use rusqlite::types::ToSqlOutput::{self, Owned};
use rusqlite::types::Value;
use serde_json::value::RawValue;

use super::members::{Members, object, quoted};
use super::{moment, pack};
use crate::api::wire;

/// Members that are bodies: an answer that has one of them is a whole email.
const BODIES: [&str; 2] = ["html", "text"];

/// Members that only a whole email has.
const WHOLE: [&str; 4] = ["object", "html", "text", "tags"];

/// The columns that [`summary`] reads, in its order.
macro_rules! summary_columns {
    () => {
        "id, created_at, last_event, iif(typeof(sender) = 'integer', (SELECT text FROM label WHERE nth = sender), sender), recipients, \
         subject, message_id, cc, bcc, reply_to, scheduled_at, odd"
    };
}
pub(super) use summary_columns;

/// The columns that [`Fields::load`] reads, in its order; they come from `mail JOIN shape USING (shape)`.
macro_rules! columns {
    () => {
        concat!(summary_columns!(), ", names")
    };
}
pub(super) use columns;

/// What the columns of one email hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fields {
    /// The known members as they were read, and the unknown ones.
    pub(super) summary: wire::Summary,
    /// The names of the JSON's members in their order, as a JSON array.
    pub(super) names: String,
    /// A JSON object of the members that the columns cannot give back as they were.
    pub(super) odd: Option<String>,
}

/// An email's JSON, taken apart.
pub(super) struct Taken {
    /// Its summary.
    pub(super) fields: Fields,
    /// Whether the JSON has bodies, so that it is worth keeping whole.
    pub(super) whole: bool,
}

impl Fields {
    /// Takes an email's JSON apart, in the shape of a list item or of a retrieved email. From the
    /// latter, what only it has is left out.
    pub(super) fn take(json: &str) -> Result<Taken, serde_json::Error> {
        let mut members = Members::read(json)?;
        let whole = BODIES.iter().any(|name| members.has(name));
        if !whole {
            return Ok(Taken {
                fields: Self::of(wire::Summary::read(json)?, &members),
                whole,
            });
        }
        members
            .0
            .retain(|(name, _)| !WHOLE.contains(&name.as_str()));
        let short = object(
            members
                .0
                .iter()
                .map(|(name, value)| (name.as_str(), value.get())),
        );
        Ok(Taken {
            fields: Self::of(wire::Summary::read(&short)?, &members),
            whole,
        })
    }

    fn of(mut summary: wire::Summary, members: &Members) -> Self {
        summary.extra = members
            .0
            .iter()
            .filter(|(name, _)| !is_known(name))
            .map(|(name, value)| (name.clone(), value.get().to_owned()))
            .collect();
        let mut names = String::from("[");
        for (name, _) in &members.0 {
            let comma = if names.len() > 1 { "," } else { "" };
            let _ = write!(names, "{comma}{}", quoted(name));
        }
        names.push(']');
        let odd = members
            .0
            .iter()
            .filter(|(name, value)| !is_plain(name, value))
            .map(|(name, value)| (name.as_str(), value.get()));
        let odd = Some(object(odd)).filter(|json| json != "{}");
        Self {
            summary,
            names,
            odd,
        }
    }

    /// The JSON that was taken apart: the same members in the same order with equal values.
    pub(super) fn json(&self) -> String {
        let names: Vec<String> = serde_json::from_str(&self.names).unwrap_or_default();
        // The odd members stand in the order of the names, so one walk meets them all.
        let mut odd = odd_members(self.odd.as_deref()).0.into_iter().peekable();
        let value = |name: &String| {
            odd.next_if(|(next, _)| next == name)
                .map_or_else(|| self.plain(name), |(_, value)| value.get().to_owned())
        };
        let values: Vec<String> = names.iter().map(value).collect();
        object(
            names
                .iter()
                .map(String::as_str)
                .zip(values.iter().map(String::as_str)),
        )
    }

    /// A known member from its column, as JSON.
    fn plain(&self, name: &str) -> String {
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
            "id" => quoted(id),
            "to" => json_of(to),
            "from" => json_of(from),
            "created_at" => json_of(created_at),
            "subject" => json_of(subject),
            "message_id" => json_of(message_id),
            "bcc" => json_of(bcc),
            "cc" => json_of(cc),
            "reply_to" => json_of(reply_to),
            "last_event" => json_of(last_event),
            "scheduled_at" => json_of(scheduled_at),
            _ => "null".to_owned(),
        }
    }

    /// Whether the texts that hold JSON do.
    pub(super) fn check(&self) -> Result<(), serde_json::Error> {
        serde_json::from_str::<Vec<String>>(&self.names)?;
        self.odd
            .as_deref()
            .map_or(Ok(()), |odd| Members::read(odd).map(|_| ()))
    }

    /// Reads the columns of [`columns!`], which begin at `first`.
    pub(super) fn load(row: &Row, first: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            summary: summary(row, first)?,
            odd: row.get(first + 11)?,
            names: row.get(first + 12)?,
        })
    }

    /// The columns of [`columns!`] but the last, as they are bound; the sender as it is given.
    pub(super) fn values(&self, sender: Value) -> [ToSqlOutput<'_>; 12] {
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
            Owned(pack::id(id)),
            Owned(moment::packed(created_at.as_deref())),
            text(last_event.as_deref()),
            Owned(sender),
            list(to.as_deref()),
            text(subject.as_deref()),
            Owned(pack::message_id(message_id.as_deref(), from.as_deref())),
            list(cc.as_deref()),
            list(bcc.as_deref()),
            list(reply_to.as_deref()),
            text(scheduled_at.as_deref()),
            text(self.odd.as_deref()),
        ]
    }
}

/// Reads the columns of [`summary_columns!`], which begin at `first`.
pub(super) fn summary(row: &Row, first: usize) -> rusqlite::Result<wire::Summary> {
    let text = |at: usize| row.get::<_, Option<String>>(first + at);
    let list = |at: usize| {
        Ok::<_, rusqlite::Error>(row.get_ref(first + at)?.as_str_or_null()?.map(unlisted))
    };
    let from = text(3)?;
    let odd = odd_members(row.get_ref(first + 11)?.as_str_or_null()?)
        .0
        .into_iter()
        .filter(|(name, _)| !is_known(name));
    Ok(wire::Summary {
        id: pack::id_back(row.get_ref(first)?),
        created_at: moment::back(row.get_ref(first + 1)?),
        last_event: text(2)?,
        to: list(4)?,
        subject: text(5)?,
        message_id: pack::message_id_back(row.get_ref(first + 6)?, from.as_deref()),
        from,
        cc: list(7)?,
        bcc: list(8)?,
        reply_to: list(9)?,
        scheduled_at: text(10)?,
        extra: odd
            .map(|(name, value)| (name, value.get().to_owned()))
            .collect(),
    })
}

fn odd_members(json: Option<&str>) -> Members {
    json.and_then(|json| Members::read(json).ok())
        .unwrap_or(Members(Vec::new()))
}

fn text(text: Option<&str>) -> ToSqlOutput<'_> {
    text.map_or(Owned(Value::Null), ToSqlOutput::from)
}

fn list(list: Option<&[String]>) -> ToSqlOutput<'_> {
    Owned(list.map_or(Value::Null, |list| Value::Text(listed(list))))
}

fn is_known(name: &str) -> bool {
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

/// Whether the column gives this member back as it was.
fn is_plain(name: &str, value: &RawValue) -> bool {
    match name {
        "id" => serde_json::from_str::<String>(value.get()).is_ok(),
        "to" | "cc" | "bcc" | "reply_to" => {
            serde_json::from_str::<Option<Vec<String>>>(value.get()).is_ok()
        }
        known if is_known(known) => serde_json::from_str::<Option<String>>(value.get()).is_ok(),
        _ => false,
    }
}

fn json_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("strings and lists of strings are always JSON")
}

/// A list as text: the one address that most lists are, or a JSON array.
fn listed(list: &[String]) -> String {
    match list {
        [one] if !one.starts_with('[') => one.clone(),
        _ => json_of(&list),
    }
}

fn unlisted(text: &str) -> Vec<String> {
    let list = text
        .starts_with('[')
        .then(|| serde_json::from_str(text).ok())
        .flatten();
    list.unwrap_or_else(|| vec![text.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    /// Through the columns of a real table and back.
    fn through(json: &str) -> Fields {
        let fields = Fields::take(json).unwrap().fields;
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let sql = "SELECT ?1 id, ?2 created_at, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13";
        let sender = fields.summary.from.clone().into();
        let values = fields
            .values(sender)
            .into_iter()
            .chain([ToSqlOutput::from(fields.names.as_str())]);
        let back = connection
            .query_row(sql, rusqlite::params_from_iter(values), |row| {
                Fields::load(row, 0)
            })
            .unwrap();
        assert_eq!(back, fields);
        back
    }

    #[test]
    fn the_names_keep_their_order_and_the_numbers_their_digits() {
        let json = r#"{"zeta":1.50,"id":"7","to":"bare@example.com","cc":[],"bcc":null,"big":123456789012345678901234567890,"from":"A <a@example.com>"}"#;
        assert_eq!(through(json).json(), json);
    }

    #[test]
    fn a_usual_summary_needs_no_odd_members() {
        let json = r#"{"id":"0f9c35de-6ad1-4cb2-9f4e-00000000beef","to":["a@example.com"],"subject":null,"cc":["[x] <b@example.com>"]}"#;
        assert_eq!(through(json).odd, None);
        assert_eq!(through(json).json(), json);
    }

    #[test]
    fn a_whole_email_is_taken_without_its_bodies() {
        let taken = Fields::take(r#"{"object":"email","id":"1","html":"<p>","text":null,"tags":[],"x":1,"subject":"Hi"}"#).unwrap();
        assert!(taken.whole);
        assert_eq!(taken.fields.json(), r#"{"id":"1","x":1,"subject":"Hi"}"#);
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
        fn an_item_of_any_shape_comes_back_equal(
            members in prop::collection::vec((prop_oneof![
                prop::sample::select(vec!["to", "from", "created_at", "subject", "message_id", "bcc", "cc", "reply_to", "last_event", "scheduled_at"]).prop_map(str::to_owned),
                "[a-z_]{1,8}",
            ], anything()), 0..14),
            id in "\\PC{1,8}",
        ) {
            let mut item: Map<String, Value> = members.into_iter().filter(|(name, _)| !BODIES.contains(&name.as_str())).collect();
            item.insert("id".to_owned(), Value::from(id));
            let json = Value::Object(item).to_string();
            let back = through(&json).json();
            prop_assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), serde_json::from_str::<Value>(&json).unwrap());
        }
    }
}
