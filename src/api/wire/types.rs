//! Which JSON types the members of an email may have.

use serde::de::Error as _;
use serde_json::value::RawValue;

use super::OrderedObject;

/// Refuses an email with a member of a type that cannot be meant.
///
/// A time and an address are strings, and a bare string is a list of one;
/// an id and other texts may be numbers. Any member may be null. Tags are read leniently.
pub(crate) fn check_types(json: &str) -> Result<(), serde_json::Error> {
    for (name, json) in OrderedObject::parse(json)?.members() {
        let is_meant = match name {
            "created_at" | "scheduled_at" => is_string(json),
            "from" | "to" | "cc" | "bcc" | "reply_to" => {
                serde_json::from_str::<Vec<&RawValue>>(json).map_or_else(
                    |_| is_string(json),
                    |items| items.iter().all(|item| is_string(item.get())),
                )
            }
            "id" | "subject" | "message_id" | "last_event" | "html" | "text" => !is_nested(json),
            _ => true,
        };
        if !is_meant {
            let message = format!("`{name}` is of another type");
            return Err(serde_json::Error::custom(message));
        }
    }
    Ok(())
}

/// Whether it is a string or null.
pub(super) fn is_string(json: &str) -> bool {
    json.starts_with(['"', 'n'])
}

/// Whether it is an object or an array.
pub(super) fn is_nested(json: &str) -> bool {
    json.starts_with(['{', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_cannot_be_meant_are_refused() {
        let is_accepted = |members: &str| check_types(&format!("{{{members}}}")).is_ok();
        for meant in [
            r#""id":"1","to":"a@b.example","cc":null,"bcc":[],"reply_to":["c@d.example",null]"#,
            r#""subject":7,"message_id":null,"last_event":true,"from":null,"html":null"#,
            r#""id":7,"from":["a@b.example"]"#,
            r#""created_at":"yesterday","scheduled_at":null,"tags":"x","bounce":{},"x":[1]"#,
        ] {
            assert!(is_accepted(meant), "{meant}");
        }
        for wrong in [
            r#""id":{}"#,
            r#""to":{}"#,
            r#""cc":[7]"#,
            r#""bcc":[{"name":"a"}]"#,
            r#""reply_to":false"#,
            r#""from":{}"#,
            r#""subject":{}"#,
            r#""last_event":["a"]"#,
            r#""created_at":1777000000"#,
            r#""scheduled_at":0"#,
            r#""html":{"a":1}"#,
            r#""text":[]"#,
        ] {
            assert!(!is_accepted(wrong), "{wrong}");
        }
    }
}
