//! The members of a JSON object in the order they were written, their values untouched.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON object. A name stands once: of several members the last one counts, as JSON has it.
pub(super) struct OrderedObject(pub(super) Vec<(String, Box<RawValue>)>);

impl OrderedObject {
    pub(super) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }
}

/// Writes an object from names and JSON texts.
pub(super) fn write_object<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> String {
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

/// A text as a JSON string.
pub(super) fn quote(text: &str) -> String {
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
