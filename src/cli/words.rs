//! Numbers, times and reach in the words that several verbs use.

use jiff::tz::TimeZone;

use crate::archive::Reach;
use crate::mail::Stamp;

/// `48 310`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `1 email`, `48 310 emails`.
pub(super) fn emails(number: u64) -> String {
    format!("{} {}", grouped(number), if number == 1 { "email" } else { "emails" })
}

/// `3 May 2026 09:14`, or the time as it came if it cannot be read.
pub(super) fn stamp(stamp: &Stamp, zone: &TimeZone) -> String {
    let time = stamp.at.map(|at| at.to_zoned(zone.clone()).strftime("%-d %b %Y %H:%M").to_string());
    time.unwrap_or_else(|| stamp.raw.to_string())
}

/// How far back the archive is complete.
pub(super) fn reach(reach: &Reach, zone: &TimeZone) -> String {
    match reach {
        Reach::Everything => "everything the service has is here".to_owned(),
        Reach::Since(oldest) => format!("all mail since {} is here", stamp(oldest, zone)),
        Reach::Nothing => "nothing is here yet".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_threes() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1 000"), (48_310, "48 310"), (1_234_567, "1 234 567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
