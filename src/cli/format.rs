//! Numbers, times and reach in the words that several verbs use.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::archive::Coverage;
use crate::mail::ApiTime;

/// `3 May 2026 09:14`, or the time as it came if it cannot be read.
pub(super) fn format_api_time(stamp: &ApiTime, zone: &TimeZone) -> String {
    let time = stamp.parsed.map(|at| {
        at.to_zoned(zone.clone())
            .strftime("%-d %b %Y %H:%M")
            .to_string()
    });
    time.unwrap_or_else(|| stamp.raw.to_string())
}

/// `20:41` of today, `18 Nov 09:14` of this year, `18 Nov 2025 09:14`.
pub(super) fn format_time(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let form = match () {
        () if at.date() == now.date() => "%H:%M",
        () if at.year() == now.year() => "%-d %b %H:%M",
        () => "%-d %b %Y %H:%M",
    };
    at.strftime(form).to_string()
}

/// How far back the archive is complete, for a command that does not ask the service: as of `asked`, when
/// the newest page was requested last.
pub(super) fn describe_past_coverage(
    reach: &Coverage,
    asked: Option<Timestamp>,
    now: Timestamp,
    zone: &TimeZone,
) -> String {
    let asked = asked.map_or_else(
        || "when it was asked last".to_owned(),
        |asked| format!("at {}", format_time(asked, now, zone)),
    );
    match reach {
        Coverage::Complete => format!("everything the service had {asked} is here"),
        Coverage::Since(oldest) => format!(
            "all mail since {} that the service had {asked} is here",
            format_api_time(oldest, zone)
        ),
        Coverage::Unknown => "nothing is here yet".to_owned(),
    }
}

/// How far back the archive is complete, for a command that has just asked the service.
pub(super) fn describe_coverage(reach: &Coverage, zone: &TimeZone) -> String {
    match reach {
        Coverage::Complete => "everything the service has is here".to_owned(),
        Coverage::Since(oldest) => {
            format!("all mail since {} is here", format_api_time(oldest, zone))
        }
        Coverage::Unknown => "nothing is here yet".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_as_short_as_they_can_be() {
        let of = |at: &str| {
            format_time(
                at.parse().unwrap(),
                "2026-11-20T20:45:00Z".parse().unwrap(),
                &TimeZone::UTC,
            )
        };
        assert_eq!(of("2026-11-20T20:41:00Z"), "20:41");
        assert_eq!(of("2026-11-18T09:14:00Z"), "18 Nov 09:14");
        assert_eq!(of("2025-11-18T09:14:00Z"), "18 Nov 2025 09:14");
    }
}
