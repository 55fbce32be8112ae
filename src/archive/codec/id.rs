//! Ids in half their size: a UUID as its 16 bytes, any other id as its text.
//!
//! A million emails have two million UUIDs and an index of one of them; as text they would be a
//! third of the archive. `SQLite` stores the type beside the value, so a blob is never mistaken.

use rusqlite::types::{Value, ValueRef};

/// Encodes an id.
pub(crate) fn encode_id(text: &str) -> Value {
    parse_uuid(text).map_or_else(
        || Value::Text(text.to_owned()),
        |bytes| Value::Blob(bytes.to_vec()),
    )
}

/// Decodes an id.
pub(crate) fn decode_id(value: ValueRef) -> String {
    match value {
        ValueRef::Blob(bytes) => bytes.try_into().map(format_uuid).unwrap_or_default(),
        other => text_value(other),
    }
}

/// Encodes a message id `<uuid@domain>` as the 16 bytes and the domain, which is omitted if it is the
/// sender's; any other as text.
pub(crate) fn encode_message_id(text: Option<&str>, sender: Option<&str>) -> Value {
    let Some(text) = text else { return Value::Null };
    let parts = text
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
        .and_then(|rest| rest.split_once('@'));
    let packed = parts
        .filter(|(_, domain)| !domain.is_empty())
        .and_then(|(local, domain)| {
            let rest = if domain_of(sender) == Some(domain) {
                ""
            } else {
                domain
            };
            Some([&parse_uuid(local)?, rest.as_bytes()].concat())
        });
    packed.map_or_else(|| Value::Text(text.to_owned()), Value::Blob)
}

/// Decodes a message id of an email of that sender.
pub(crate) fn decode_message_id(value: ValueRef, sender: Option<&str>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Blob(bytes) => {
            let (uuid, rest) = bytes.split_first_chunk()?;
            let domain = if rest.is_empty() {
                domain_of(sender)?.into()
            } else {
                String::from_utf8_lossy(rest)
            };
            Some(format!("<{}@{domain}>", format_uuid(*uuid)))
        }
        other => Some(text_value(other)),
    }
}

/// Returns the domain of `Name <user@domain>` or `user@domain`.
fn domain_of(sender: Option<&str>) -> Option<&str> {
    let (_, end) = sender?.rsplit_once('@')?;
    Some(end.strip_suffix('>').unwrap_or(end))
}

fn text_value(value: ValueRef) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Parses a UUID in its canonical spelling; any other spelling would not be restored.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let canonical = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        });
    if !canonical {
        return None;
    }
    u128::from_str_radix(&text.replace('-', ""), 16)
        .ok()
        .map(u128::to_be_bytes)
}

fn format_uuid(bytes: [u8; 16]) -> String {
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip() {
        let uuid = "0f9c35de-6ad1-4cb2-9f4e-00000000beef";
        for text in [
            uuid,
            &uuid.to_uppercase(),
            &uuid[1..],
            "",
            "em_1",
            "ключ",
            "0f9c35de_6ad1-4cb2-9f4e-00000000beef",
        ] {
            assert_eq!(decode_id(ValueRef::from(&encode_id(text))), text);
        }
        assert!(matches!(encode_id(uuid), Value::Blob(bytes) if bytes.len() == 16));
    }

    #[test]
    fn message_ids_round_trip() {
        let full = "<0f9c35de-6ad1-4cb2-9f4e-00000000beef@mail.example.com>";
        let senders = [
            None,
            Some("Acme <hi@mail.example.com>"),
            Some("hi@mail.example.com"),
            Some("hi@"),
            Some("Acme"),
            Some("@>"),
        ];
        for text in [
            full,
            &full[1..],
            "<0f9c35de-6ad1-4cb2-9f4e-00000000beef@>",
            "<a@b@c>",
            "",
            "<>",
        ] {
            for sender in senders {
                assert_eq!(
                    decode_message_id(
                        ValueRef::from(&encode_message_id(Some(text), sender)),
                        sender
                    )
                    .as_deref(),
                    Some(text)
                );
            }
        }
        assert_eq!(decode_message_id(ValueRef::Null, None), None);
        let length = |sender| {
            if let Value::Blob(bytes) = encode_message_id(Some(full), sender) {
                bytes.len()
            } else {
                0
            }
        };
        assert_eq!(senders.map(length), [32, 16, 16, 32, 32, 32]);
    }
}
