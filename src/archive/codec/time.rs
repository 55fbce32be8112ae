//! Times in a quarter of their length: one number for the instant and the way it was written.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::Offset;
use rusqlite::types::{Value, ValueRef};

/// The known ways to write a time.
const FORMATS: [fn(&mut String, u32); 4] = [
    // As the documentation of the service writes it.
    |text, micros| _ = write!(text, ".{micros:06}+00:00"),
    // As its database writes it.
    |text, micros| {
        push_fraction(text, micros);
        text.push_str("+00");
    },
    // As programs that follow RFC 3339 write it.
    |text, micros| {
        push_fraction(text, micros);
        text.push('Z');
    },
    |text, micros| _ = write!(text, ".{:03}Z", micros / 1000),
];

/// The one of them with a space before the hour.
const POSTGRES: i64 = 1;

/// Encodes a time: a number if it is written in one of those ways, else its text.
pub(crate) fn encode(text: Option<&str>) -> Value {
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

/// Decodes a time.
pub(crate) fn decode(value: ValueRef) -> Option<String> {
    match value {
        ValueRef::Integer(packed) => {
            let at = Timestamp::from_microsecond(packed.div_euclid(FORMAT_COUNT)).ok()?;
            Some(format(at, packed.rem_euclid(FORMAT_COUNT)))
        }
        other => other.as_str().ok().map(str::to_owned),
    }
}

/// Returns the encoded bounds of all times between two (in microseconds), both included.
pub(crate) const fn encode_range(oldest: i64, newest: i64) -> (i64, i64) {
    (
        oldest.saturating_mul(FORMAT_COUNT),
        newest
            .saturating_mul(FORMAT_COUNT)
            .saturating_add(FORMAT_COUNT - 1),
    )
}

const FORMAT_COUNT: i64 = 4;

fn format(at: Timestamp, style: i64) -> String {
    let at = Offset::UTC.to_datetime(at);
    let mut text = String::with_capacity(32);
    let between = if style == POSTGRES { ' ' } else { 'T' };
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
    let write = usize::try_from(style)
        .ok()
        .and_then(|style| FORMATS.get(style))
        .expect("only known styles are encoded");
    write(&mut text, at.subsec_nanosecond().unsigned_abs() / 1000);
    text
}

/// Writes a fraction without trailing zeros.
fn push_fraction(text: &mut String, micros: u32) {
    if micros > 0 {
        let _ = write!(text, ".{micros:06}");
        text.truncate(text.trim_end_matches('0').len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn through(text: &str) -> Option<String> {
        decode(ValueRef::from(&encode(Some(text))))
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
            assert!(matches!(encode(Some(text)), Value::Integer(_)), "{text}");
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
            assert_eq!(encode(Some(text)), Value::Text(text.to_owned()));
        }
        assert_eq!((encode(None), decode(ValueRef::Null)), (Value::Null, None));
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
