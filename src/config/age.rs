//! How long ago, as it is typed: `12h`, `30d`, `8w`.

use jiff::SignedDuration;

/// What is allowed, in words.
pub(crate) const DURATION_SYNTAX: &str = "a number of hours, days or weeks such as 12h, 30d, 8w";

/// Reads a number of hours, days or weeks; `None` if it is none.
#[must_use]
pub(crate) fn parse_duration(text: &str) -> Option<SignedDuration> {
    let (number, hours) = [('h', 1), ('d', 24), ('w', 24 * 7)]
        .into_iter()
        .find_map(|(unit, hours)| Some((text.strip_suffix(unit)?, hours)))?;
    // A thousand years is as good as for ever, and no arithmetic on times fails within it.
    let number: u32 = number.parse().ok().filter(|number| *number <= 50_000)?;
    Some(SignedDuration::from_hours(i64::from(number) * hours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_hours_days_and_weeks() {
        for (text, hours) in [("12h", 12), ("30d", 720), ("2w", 336), ("0d", 0)] {
            assert_eq!(
                parse_duration(text),
                Some(SignedDuration::from_hours(hours)),
                "{text}"
            );
        }
        for text in ["", "d", "-1d", "30", "3m", "1.5d", "99999999d", "all", "3é"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
