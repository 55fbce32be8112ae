//! How emails are stored: short forms of ids and times, rows,
//! and compressed bodies.
//!
//! A million emails have two million UUIDs, an index of one of them, and a million times; as text
//! they would be a third of the archive. `SQLite` stores the type beside the value, so a short form
//! is never mistaken. `row.rs` converts whole rows; of the times, only `created_at` is encoded.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::Offset;
use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, Value, ValueRef};

use crate::mail::{ApiTime, EmailId};
use crate::text::uuid;

pub(crate) mod body;
pub(crate) mod dictionary;
pub(crate) mod members;
pub(crate) mod row;

impl ToSql for EmailId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(encode_id(self.as_str())))
    }
}

impl FromSql for EmailId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self::new(decode_id(value)))
    }
}

impl FromSql for ApiTime {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self::parse(&decode_time(value).unwrap_or_default()))
    }
}

pub(crate) fn encode_id(text: &str) -> Value {
    uuid::parse(text).map_or_else(
        || Value::Text(text.to_owned()),
        |uuid| Value::Blob(uuid.to_be_bytes().to_vec()),
    )
}

pub(crate) fn decode_id(value: ValueRef) -> String {
    match value {
        ValueRef::Blob(bytes) => {
            let uuid = bytes.try_into().map(u128::from_be_bytes);
            uuid.map(uuid::format).unwrap_or_default()
        }
        other => text_value(other),
    }
}

/// Encodes a message id `<uuid@domain>` as the 16 bytes and the domain,
/// which is omitted if it is the sender's; any other as text. It depends on the sender, so a row
/// writes both together.
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
            Some([&uuid::parse(local)?.to_be_bytes(), rest.as_bytes()].concat())
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
            Some(format!(
                "<{}@{domain}>",
                uuid::format(u128::from_be_bytes(*uuid))
            ))
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

/// How many forms of a time are known; a stored time has the number of its form.
/// A change needs a new schema version.
const FORMAT_COUNT: i64 = 4;

/// Encodes a time: a number if it is written in one of those forms, else its text.
pub(crate) fn encode_time(text: Option<&str>) -> Value {
    let Some(text) = text else { return Value::Null };
    let at: Option<Timestamp> = text.parse().ok();
    let same = at.and_then(|at| {
        (0..FORMAT_COUNT)
            .find(|style| format(at, *style) == text)
            .map(|style| (at, style))
    });
    same.map_or_else(
        || Value::Text(text.to_owned()),
        |(at, style)| Value::Integer(at.as_microsecond() * FORMAT_COUNT + style),
    )
}

pub(crate) fn decode_time(value: ValueRef) -> Option<String> {
    match value {
        ValueRef::Integer(packed) => {
            let at = Timestamp::from_microsecond(packed.div_euclid(FORMAT_COUNT)).ok()?;
            Some(format(at, packed.rem_euclid(FORMAT_COUNT)))
        }
        other => other.as_str().ok().map(str::to_owned),
    }
}

/// Returns the encoded bounds of all times between two (in microseconds),
/// both included.
///
/// Times that are stored as text lie outside; `search/scan.rs` does not skip them.
pub(crate) const fn encode_time_range(oldest: i64, newest: i64) -> (i64, i64) {
    (
        oldest.saturating_mul(FORMAT_COUNT),
        newest
            .saturating_mul(FORMAT_COUNT)
            .saturating_add(FORMAT_COUNT - 1),
    )
}

fn format(at: Timestamp, style: i64) -> String {
    let at = Offset::UTC.to_datetime(at);
    let mut text = String::with_capacity(32);
    let between = if style == 1 { ' ' } else { 'T' };
    let _ = write!(
        text,
        "{:04}-{:02}-{:02}{between}{:02}:{:02}:{:02}",
        at.year(),
        at.month(),
        at.day(),
        at.hour(),
        at.minute(),
        at.second()
    );
    let micros = at.subsec_nanosecond().unsigned_abs() / 1000;
    let _ = match style {
        // As the documentation of the service writes it.
        0 => write!(text, ".{micros:06}+00:00"),
        // As its database writes it.
        1 => write!(text, "{}+00", short_fraction(micros)),
        // As programs that follow RFC 3339 write it.
        2 => write!(text, "{}Z", short_fraction(micros)),
        _ => write!(text, ".{:03}Z", micros / 1000),
    };
    text
}

/// Writes a fraction without trailing zeros.
fn short_fraction(micros: u32) -> String {
    let fraction = format!(".{micros:06}");
    fraction.trim_end_matches(['0', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
                let stored = encode_message_id(Some(text), sender);
                let back = decode_message_id(ValueRef::from(&stored), sender);
                assert_eq!(back.as_deref(), Some(text));
            }
        }
        assert_eq!(decode_message_id(ValueRef::Null, None), None);
        let length = |sender| match encode_message_id(Some(full), sender) {
            Value::Blob(bytes) => bytes.len(),
            _ => 0,
        };
        assert_eq!(senders.map(length), [32, 16, 16, 32, 32, 32]);
    }

    fn through(text: &str) -> Option<String> {
        decode_time(ValueRef::from(&encode_time(Some(text))))
    }

    #[test]
    fn usual_times_round_trip_as_numbers() {
        for text in [
            "2026-04-30T11:46:04.183783+00:00",
            "2026-04-30T11:46:04.000000+00:00",
            "2025-11-30 20:41:40.84216+00",
            "2026-04-01 00:00:00+00",
            "2026-11-02T09:00:00Z",
            "2026-11-02T09:00:00.5Z",
            "2026-11-02T09:00:00.500Z",
            "1912-06-23T09:00:00.000001+00:00",
        ] {
            assert!(
                matches!(encode_time(Some(text)), Value::Integer(_)),
                "{text}"
            );
            assert_eq!(through(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn other_times_stay_text() {
        for text in [
            "",
            "yesterday",
            "12",
            "2026-04-30T13:46:04.183783+02:00",
            "2026-11-02T09:00:00.1234567Z",
            " 2026-11-02T09:00:00Z",
            "2026-11-02t09:00:00z",
        ] {
            assert_eq!(encode_time(Some(text)), Value::Text(text.to_owned()));
        }
        assert_eq!(encode_time(None), Value::Null);
        assert_eq!(decode_time(ValueRef::Null), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_instant_round_trips_in_every_format(micros in -4_000_000_000_000_000_i64..4_000_000_000_000_000, style in 0..FORMAT_COUNT) {
            let text = format(Timestamp::from_microsecond(micros).unwrap(), style);
            prop_assert_eq!(through(&text), Some(text));
        }
    }
}
