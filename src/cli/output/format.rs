//! Formats times, subjects, coverage and remaining time for several verbs.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::archive::{Coverage, LeftOut};
use crate::config::Rate;
use crate::mail::ApiTime;
use crate::text::format::{CLOCK_OR_DATE, format_by_age, format_pause, format_timestamp, round_up};

/// `3 May 2026 09:14`.
const MINUTE: &str = "%-d %b %Y %H:%M";

/// Formats a time for people, as `3 May 2026 09:14`.
pub(in crate::cli) fn format_api_time(time: &ApiTime, zone: &TimeZone) -> String {
    time.format_or_raw(|at| strftime(at, zone, MINUTE))
}

/// Formats a time since which all mail is here, rounded up to a minute.
pub(in crate::cli) fn format_since(time: &ApiTime, zone: &TimeZone) -> String {
    time.format_or_raw(|at| {
        round_up(at.to_zoned(zone.clone()))
            .strftime(MINUTE)
            .to_string()
    })
}

/// Formats a time with weekday and seconds, as `Sun  3 May 2026 09:14:05 CEST`.
pub(in crate::cli) fn format_api_time_long(time: &ApiTime, zone: &TimeZone) -> String {
    time.format_or_raw(|at| format_time_long(at, zone))
}

pub(in crate::cli) fn format_time_long(at: Timestamp, zone: &TimeZone) -> String {
    strftime(at, zone, "%a %e %b %Y %H:%M:%S %Z")
}

/// Formats a time as `20:41` of today, `18 Nov 09:14`, `18 Nov 2025 09:14`.
pub(in crate::cli) fn format_time(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    format_by_age(at, &now.to_zoned(zone.clone()), CLOCK_OR_DATE)
}

pub(in crate::cli) fn strftime(at: Timestamp, zone: &TimeZone, format: &str) -> String {
    at.to_zoned(zone.clone()).strftime(format).to_string()
}

/// The largest age of an answer of the service that is printed without its time.
const FRESH_FOR: SignedDuration = SignedDuration::from_mins(2);

/// Whether an answer of this time is printed without the time.
pub(in crate::cli) fn is_fresh(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at).abs() <= FRESH_FOR
}

/// The largest age of the newest page whose coverage is stated without its time:
/// mail that arrived while a longer command ran may be missing.
const LISTING_FRESH_FOR: SignedDuration = SignedDuration::from_secs(5);

/// Whether a coverage of this time is stated with it.
/// A time after now is not stated: the clock was set.
fn is_old(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) > LISTING_FRESH_FOR
}

/// Describes the coverage after a request, as of the newest page if that is old:
/// a mirror may have read it long before.
pub(in crate::cli) fn describe_coverage_as_of(
    coverage: &Coverage,
    refreshed: Option<Timestamp>,
    now: Timestamp,
    zone: &TimeZone,
) -> String {
    match refreshed {
        Some(at) if is_old(at, now) && *coverage != Coverage::Unknown => {
            describe_past_coverage(coverage, 0, refreshed, now, zone)
        }
        _ => describe_coverage(coverage, zone),
    }
}

/// Describes the coverage after a request to the service.
pub(in crate::cli) fn describe_coverage(coverage: &Coverage, zone: &TimeZone) -> String {
    match coverage {
        Coverage::Complete => "everything the service has is here".to_owned(),
        Coverage::Since(oldest) if oldest.parsed.is_some() => {
            format!("all mail since {} is here", format_since(oldest, zone))
        }
        Coverage::Since(_) | Coverage::Unknown => {
            "what is here is not confirmed to be complete".to_owned()
        }
    }
}

/// Describes the coverage of an archive of `emails` as of `refreshed`,
/// the last request for the newest page.
pub(in crate::cli) fn describe_past_coverage(
    coverage: &Coverage,
    emails: u64,
    refreshed: Option<Timestamp>,
    now: Timestamp,
    zone: &TimeZone,
) -> String {
    let time = match refreshed {
        Some(at) => format!("at {}", format_time(at, now, zone)),
        None => "at the last request".to_owned(),
    };
    match coverage {
        Coverage::Complete => format!("everything the service had {time} is here"),
        Coverage::Since(oldest) if oldest.parsed.is_some() => {
            let oldest = format_since(oldest, zone);
            format!("all mail since {oldest} that the service had {time} is here")
        }
        Coverage::Unknown if emails == 0 => "nothing is here yet".to_owned(),
        Coverage::Since(_) | Coverage::Unknown => "not confirmed to be complete".to_owned(),
    }
}

/// Adds to a described coverage the mail that the archive leaves out.
pub(in crate::cli) fn add_left_out(reach: &str, coverage: &Coverage, left_out: LeftOut) -> String {
    let has_everything = *coverage == Coverage::Complete;
    let is_known = has_everything || covered_since(coverage).is_some();
    match (left_out.exception(has_everything), left_out.describe()) {
        (None, _) if is_known => reach.to_owned(),
        (Some(exception), _) if is_known => format!("{reach}, except {exception}"),
        (_, Some(left_out)) => format!("{reach}; {left_out}"),
        _ => reach.to_owned(),
    }
}

/// Estimates the time left by the time that the done part took,
/// as [`format_remaining`].
pub(in crate::cli) fn estimate_remaining(elapsed: SignedDuration, done: u64, left: u64) -> String {
    let each = elapsed.as_millis() / i128::from(done.max(1));
    format_remaining(each * i128::from(left) / 1000)
}

/// Formats the time that requests take at a rate, as `5 min`.
pub(in crate::cli) fn format_request_time(requests: u64, rate: Rate) -> String {
    let requests = f64::from(u32::try_from(requests).unwrap_or(u32::MAX));
    format_pause(Duration::from_secs_f64(requests / rate.per_second))
}

/// Formats the time left, as `; about 3 min left`; empty for less than a second.
pub(in crate::cli) fn format_remaining(seconds: i128) -> String {
    match seconds {
        ..1 => String::new(),
        1..90 => format!("; about {seconds} s left"),
        90..5400 => format!("; about {} min left", seconds / 60),
        _ => format!("; about {} h left", seconds / 3600),
    }
}

/// Returns the time of a coverage, for programs, if it is stated.
pub(in crate::cli) fn coverage_time(
    refreshed: Option<Timestamp>,
    now: Timestamp,
) -> Option<String> {
    let at = refreshed.filter(|at| is_old(*at, now));
    at.map(format_timestamp)
}

/// Returns the earliest time of an incomplete coverage, for programs.
pub(in crate::cli) fn covered_since(coverage: &Coverage) -> Option<String> {
    match coverage {
        Coverage::Since(time) => time.parsed.map(format_timestamp),
        Coverage::Complete | Coverage::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_near_now_are_short() {
        let format = |at: &str| {
            format_time(
                at.parse().unwrap(),
                "2026-11-20T20:45:00Z".parse().unwrap(),
                &TimeZone::UTC,
            )
        };
        assert_eq!(format("2026-11-20T20:41:00Z"), "20:41");
        assert_eq!(format("2026-11-18T09:14:00Z"), "18 Nov 09:14");
        assert_eq!(format("2025-11-18T09:14:00Z"), "18 Nov 2025 09:14");
    }

    #[test]
    fn coverage_by_an_old_page_has_its_time() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let has_time = |now| {
            let newest_page = Some(at(0));
            describe_coverage_as_of(&Coverage::Complete, newest_page, at(now), &TimeZone::UTC)
                .contains("00:00")
        };
        assert_eq!([5, 6].map(has_time), [false, true]);
    }

    #[test]
    fn coverage_since_unknown_time_is_unknown() {
        let since = Coverage::Since(ApiTime::parse("yesterday"));
        let now = Timestamp::UNIX_EPOCH;
        let words = |coverage| {
            (
                describe_coverage(coverage, &TimeZone::UTC),
                describe_past_coverage(coverage, 1, None, now, &TimeZone::UTC),
            )
        };
        assert_eq!(words(&since), words(&Coverage::Unknown));
        assert_eq!(covered_since(&since), None);
    }

    #[test]
    fn coverage_is_rounded_up_to_a_minute() {
        let format = |time: &str| format_since(&ApiTime::parse(time), &TimeZone::UTC);
        assert_eq!(format("2026-11-26T09:48:26.500001Z"), "26 Nov 2026 09:49");
        assert_eq!(format("2026-11-26T23:59:00.000001Z"), "27 Nov 2026 00:00");
        assert_eq!(format("2026-11-26T09:48:00Z"), "26 Nov 2026 09:48");
    }
}
