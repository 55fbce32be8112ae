//! Date expressions such as `today` and `7d`, resolved in a time zone against a given time.

use std::fmt;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::fmt::strtime;
use jiff::tz::{AmbiguousOffset, Offset};
use jiff::{Span, Timestamp, ToSpan, Zoned};

/// A date as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DateExpr {
    Today,
    Yesterday,
    /// `mon`, `tuesday`, ..: the most recent such day; today, if it is one.
    Weekday(Weekday),
    /// `this-week`, from Monday.
    ThisWeek,
    /// `last-week`: Monday to Sunday before this week.
    LastWeek,
    ThisMonth,
    LastMonth,
    /// `2026`.
    Year(i16),
    /// `2026-11`.
    Month(i16, i8),
    /// `2026-11-02`.
    Day(Date),
    /// `3 nov`: the most recent such day, as the list prints it; month and day.
    MonthDay(i8, i8),
    /// `2026-11-02T09:30`: that minute; with an offset, not in the zone of the user.
    Minute(DateTime, Option<Offset>),
    /// `2026-11-02T09:30:07Z`: that second.
    Second(DateTime, Option<Offset>),
    /// `2h`, `7d`, `3w`: an age. Days keep the time of day when the clocks change.
    Relative(u32, RelativeUnit),
}

/// The unit of a [`DateExpr::Relative`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RelativeUnit {
    Hours,
    Days,
    Weeks,
}

/// A date expression and the time that it means.
///
/// Both ends are whole seconds, so that a query parsed twice in a second is the same query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TimeRange {
    pub(crate) expr: DateExpr,
    /// The first instant of the range.
    pub(crate) start: Timestamp,
    /// The first instant after the range; the start, for an age.
    pub(crate) end: Timestamp,
}

/// Every word for a date, with its description for users.
#[rustfmt::skip] // one word a line
pub(super) const DATE_KEYWORDS: [(&str, DateExpr, &str); 13] = [
    ("today", DateExpr::Today, "since midnight"),
    ("yesterday", DateExpr::Yesterday, "the day before today"),
    ("this-week", DateExpr::ThisWeek, "from Monday"),
    ("last-week", DateExpr::LastWeek, "Monday to Sunday before this week"),
    ("this-month", DateExpr::ThisMonth, "from the first of this month"),
    ("last-month", DateExpr::LastMonth, "the whole month before this one"),
    ("mon", DateExpr::Weekday(Weekday::Monday), "the most recent Monday"),
    ("tue", DateExpr::Weekday(Weekday::Tuesday), "the most recent Tuesday"),
    ("wed", DateExpr::Weekday(Weekday::Wednesday), "the most recent Wednesday"),
    ("thu", DateExpr::Weekday(Weekday::Thursday), "the most recent Thursday"),
    ("fri", DateExpr::Weekday(Weekday::Friday), "the most recent Friday"),
    ("sat", DateExpr::Weekday(Weekday::Saturday), "the most recent Saturday"),
    ("sun", DateExpr::Weekday(Weekday::Sunday), "the most recent Sunday"),
];

/// Every unit of an age, with its letter.
const UNITS: [(RelativeUnit, char); 3] = [
    (RelativeUnit::Hours, 'h'),
    (RelativeUnit::Days, 'd'),
    (RelativeUnit::Weeks, 'w'),
];

impl DateExpr {
    /// Parses a date; ignores case.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        DATE_KEYWORDS
            .iter()
            .find_map(|(word, expr, _)| (*word == text).then_some(*expr))
            .or_else(|| parse_weekday_name(&text))
            .or_else(|| parse_relative(&text))
            .or_else(|| parse_iso_date(&text))
            .or_else(|| parse_time_of_day(&text))
            .or_else(|| parse_day_month(&text))
    }

    /// Parses a date, also with the abbreviation of the zone of `now` after a time, as the screen prints it.
    pub(crate) fn parse_local(text: &str, now: &Zoned) -> Option<Self> {
        Self::parse(text).or_else(|| {
            let (time, zone) = text.rsplit_once(' ')?;
            let expr = Self::parse(time)?;
            let (Self::Minute(at, None) | Self::Second(at, None)) = expr else {
                return None;
            };
            let local = at.to_zoned(now.time_zone().clone()).ok()?;
            let printed = local.strftime("%Z").to_string();
            printed.eq_ignore_ascii_case(zone).then_some(expr)
        })
    }

    /// Returns the time that is meant at `now`; `None` if it is outside the calendar.
    ///
    /// A [`DateExpr::Relative`] is an instant without a length.
    pub(crate) fn resolve(self, now: &Zoned) -> Option<TimeRange> {
        let today = now.date();
        let days_ago = |days: i8| today.checked_sub(i64::from(days).days()).ok();
        let monday = || days_ago(today.weekday().to_monday_zero_offset());
        let day = |date: Date| Some((date, date.tomorrow().ok()?));
        let week = |monday: Date| Some((monday, monday.checked_add(1.week()).ok()?));
        let month = |date: Date| {
            let first = date.first_of_month();
            Some((first, first.checked_add(1.month()).ok()?))
        };
        let range = |start: Timestamp, end: Timestamp| TimeRange {
            expr: self,
            start,
            end,
        };
        let (first, after) = match self {
            Self::Today => day(today)?,
            Self::Yesterday => day(today.yesterday().ok()?)?,
            Self::Weekday(weekday) => day(days_ago(today.weekday().since(weekday))?)?,
            Self::ThisWeek => week(monday()?)?,
            Self::LastWeek => week(monday()?.checked_sub(1.week()).ok()?)?,
            Self::ThisMonth => month(today)?,
            Self::LastMonth => month(today.first_of_month().yesterday().ok()?)?,
            Self::Year(year) => (
                Date::new(year, 1, 1).ok()?,
                Date::new(year.checked_add(1)?, 1, 1).ok()?,
            ),
            Self::Month(year, number) => month(Date::new(year, number, 1).ok()?)?,
            Self::Day(date) => day(date)?,
            Self::MonthDay(month, number) => {
                // 29 February may be eight years back.
                let dates = (0..=8)
                    .map(|back| Date::new(today.year().checked_sub(back)?, month, number).ok());
                day(dates.flatten().find(|date| *date <= today)?)?
            }
            Self::Minute(at, offset) | Self::Second(at, offset) => {
                let zone = offset.map_or_else(|| now.time_zone().clone(), Offset::to_time_zone);
                let times = zone.to_ambiguous_timestamp(at);
                let length = match self {
                    Self::Second(..) => 1.second(),
                    _ => 1.minute(),
                };
                // A time occurs twice when the clocks are set back. The range has both, and what is between.
                let last = match times.offset() {
                    AmbiguousOffset::Fold { .. } => times.later().ok()?,
                    _ => times.compatible().ok()?,
                };
                let start = times.compatible().ok()?;
                return Some(range(start, last.checked_add(length).ok()?));
            }
            Self::Relative(count, unit) => {
                let instant = now.checked_sub(relative_span(count, unit)?).ok()?;
                let start = Timestamp::from_second(instant.timestamp().as_second()).ok()?;
                return Some(range(start, start));
            }
        };
        let midnight = |date: Date| Some(date.to_zoned(now.time_zone().clone()).ok()?.timestamp());
        Some(range(midnight(first)?, midnight(after)?))
    }

    /// Resolves like [`DateExpr::resolve`], but an age to its whole day.
    pub(crate) fn resolve_range(self, now: &Zoned) -> Option<TimeRange> {
        let range = self.resolve(now)?;
        if !matches!(self, Self::Relative(..)) {
            return Some(range);
        }
        let day = range.start.to_zoned(now.time_zone().clone()).date();
        Some(TimeRange {
            expr: self,
            ..Self::Day(day).resolve(now)?
        })
    }
}

fn relative_span(count: u32, unit: RelativeUnit) -> Option<Span> {
    let span = Span::new();
    match unit {
        RelativeUnit::Hours => span.try_hours(count),
        RelativeUnit::Days => span.try_days(count),
        RelativeUnit::Weeks => span.try_weeks(count),
    }
    .ok()
}

fn parse_weekday_name(text: &str) -> Option<DateExpr> {
    strtime::parse("%A", text)
        .ok()?
        .weekday()
        .map(DateExpr::Weekday)
}

fn parse_relative(text: &str) -> Option<DateExpr> {
    let (unit, digits) = UNITS
        .into_iter()
        .find_map(|(unit, letter)| Some((unit, text.strip_suffix(letter)?)))?;
    let is_number = digits.bytes().all(|b| b.is_ascii_digit());
    let count = is_number.then(|| digits.parse().ok())??;
    Some(DateExpr::Relative(count, unit))
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Parses the forms in which the screen prints days: `3 Nov`, `Fri 20 Nov 2026`, and `3-nov`.
fn parse_day_month(text: &str) -> Option<DateExpr> {
    let mut parts: Vec<&str> = text
        .split([' ', '-', ',', '.'])
        .filter(|part| !part.is_empty())
        .collect();
    let is_weekday =
        |word: &&str| strtime::parse("%a", word).is_ok() || parse_weekday_name(word).is_some();
    if parts.len() > 2 && parts.first().is_some_and(is_weekday) {
        parts.remove(0);
    }
    let (day, month, year) = match parts.as_slice() {
        [one, two] if one.starts_with(|c: char| c.is_ascii_digit()) => (one, two, None),
        [one, two] => (two, one, None),
        [day, month, year] if year.len() == 4 => (day, month, Some(year)),
        _ => return None,
    };
    let day: i8 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = strtime::parse("%b", month)
        .or_else(|_| strtime::parse("%B", month))
        .ok()?
        .month()?;
    match year {
        Some(year) => Date::new(year.parse().ok()?, month, day)
            .ok()
            .map(DateExpr::Day),
        // A leap year has every day that some year has.
        None => Date::new(2024, month, day)
            .ok()
            .map(|_| DateExpr::MonthDay(month, day)),
    }
}

/// Parses dates in one spelling of ISO 8601.
///
/// The others (`20261102`, week dates) are more likely order numbers.
fn parse_iso_date(text: &str) -> Option<DateExpr> {
    let digit_to_zero = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let pattern: String = text.chars().map(digit_to_zero).collect();
    match pattern.as_str() {
        "0000" => {
            let first: Date = format!("{text}-01-01").parse().ok()?;
            Some(DateExpr::Year(first.year()))
        }
        "0000-00" => {
            let first: Date = format!("{text}-01").parse().ok()?;
            Some(DateExpr::Month(first.year(), first.month()))
        }
        "0000-00-00" => text.parse().ok().map(DateExpr::Day),
        _ => None,
    }
}

/// Parses a time of a day, as ISO 8601, the screen and the service write it: `2026-11-02T09:30`,
/// `Mon 2 Nov 2026 09:30:07 UTC`, `2026-11-02 09:30:07.25+02`. Parts of a second are left out.
fn parse_time_of_day(text: &str) -> Option<DateExpr> {
    let day_end = text[..text.find(':')?].rfind(['t', ' '])?;
    let (day, rest) = (&text[..day_end], &text[day_end + 1..]);
    let zone = rest.find(|c: char| !c.is_ascii_digit() && !":.".contains(c));
    let (time, zone) = rest.split_at(zone.unwrap_or(rest.len()));
    let offset = match zone.trim() {
        "" => None,
        zone => Some(parse_offset(zone)?),
    };
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let DateExpr::Day(day) = parse_iso_date(day).or_else(|| parse_day_month(day))? else {
        return None;
    };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = whole.split(':').collect();
    let numbers = parts
        .iter()
        .filter(|part| part.len() == 2 && is_number(part));
    let numbers: Vec<i8> = numbers.filter_map(|part| part.parse().ok()).collect();
    let (hour, minute, second) = match *numbers.as_slice() {
        [hour, minute] if parts.len() == 2 && whole == time => (hour, minute, None),
        [hour, minute, second] if parts.len() == 3 && is_number(fraction) => {
            (hour, minute, Some(second))
        }
        _ => return None,
    };
    let clock = Time::new(hour, minute, second.unwrap_or_default(), 0).ok()?;
    let at = day.to_datetime(clock);
    Some(match second {
        None => DateExpr::Minute(at, offset),
        Some(_) => DateExpr::Second(at, offset),
    })
}

/// Parses `z`, `utc`, `+02:00`, `+0200` or `+02`.
fn parse_offset(text: &str) -> Option<Offset> {
    if matches!(text, "z" | "utc" | "gmt") {
        return Some(Offset::UTC);
    }
    let with_minutes = format!("{text}00");
    let formats = [("%:z", text), ("%z", text), ("%z", &with_minutes)];
    let parsed = formats.map(|(format, text)| strtime::parse(format, text).ok()?.offset());
    parsed.into_iter().flatten().next()
}

impl fmt::Display for DateExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Year(year) => write!(f, "{year:04}"),
            Self::Month(year, month) => write!(f, "{year:04}-{month:02}"),
            Self::Day(date) => write!(f, "{}", date.strftime("%Y-%m-%d")),
            Self::MonthDay(month, day) => {
                write!(f, "{day}-{}", MONTHS[usize::from(month.unsigned_abs()) - 1])
            }
            Self::Minute(at, offset) => {
                write!(f, "{}", at.strftime("%Y-%m-%dT%H:%M"))?;
                write_offset(*offset, f)
            }
            Self::Second(at, offset) => {
                write!(f, "{}", at.strftime("%Y-%m-%dT%H:%M:%S"))?;
                write_offset(*offset, f)
            }
            Self::Relative(count, unit) => {
                let (_, letter) = UNITS
                    .iter()
                    .find(|(known, _)| known == unit)
                    .expect("every unit is in the table");
                write!(f, "{count}{letter}")
            }
            Self::Today
            | Self::Yesterday
            | Self::Weekday(_)
            | Self::ThisWeek
            | Self::LastWeek
            | Self::ThisMonth
            | Self::LastMonth => {
                let (word, ..) = DATE_KEYWORDS
                    .iter()
                    .find(|(_, expr, _)| expr == self)
                    .expect("every word for a date is in the table");
                f.write_str(word)
            }
        }
    }
}

/// Writes the offset as in ISO 8601.
fn write_offset(offset: Option<Offset>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(seconds) = offset.map(Offset::seconds) else {
        return Ok(());
    };
    if seconds == 0 {
        return f.write_str("Z");
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.unsigned_abs() / 60;
    write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    /// Clocks go back on 25 October 2026 at three, forward on 28 March 2027 at two.
    fn berlin(civil: &str) -> Zoned {
        civil
            .parse::<DateTime>()
            .unwrap()
            .to_zoned(TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap())
            .unwrap()
    }

    fn local_range(text: &str, now: &Zoned) -> (String, String) {
        let range = DateExpr::parse(text)
            .and_then(|expr| expr.resolve_range(now))
            .unwrap_or_else(|| panic!("no date: {text}"));
        let local = |instant: Timestamp| {
            instant
                .to_zoned(now.time_zone().clone())
                .strftime("%Y-%m-%dT%H:%M %z")
                .to_string()
        };
        (local(range.start), local(range.end))
    }

    #[test]
    fn printed_days_are_the_most_recent_ones() {
        let friday = berlin("2026-11-20T09:41:07");
        let start = |text: &str| local_range(text, &friday).0[..10].to_owned();
        assert_eq!(start("3 Nov"), "2026-11-03");
        assert_eq!(start("nov 20"), "2026-11-20");
        assert_eq!(start("21-november"), "2025-11-21");
        assert_eq!(start("29 feb"), "2024-02-29");
        assert_eq!(start("Fri 20 Nov 2020"), "2020-11-20");
        for text in ["31 nov", "0 nov", "32 dec", "nov", "3 no", "3 nov 26", "3"] {
            assert_eq!(DateExpr::parse(text), None, "{text}");
        }
        assert_eq!(DateExpr::parse("3 Nov").unwrap().to_string(), "3-nov");
    }

    #[test]
    fn words_and_ages_resolve_on_a_friday_morning() {
        let friday = berlin("2026-11-20T09:41:07");
        for (text, start, end) in [
            ("today", "2026-11-20", "2026-11-21"),
            ("yesterday", "2026-11-19", "2026-11-20"),
            ("fri", "2026-11-20", "2026-11-21"),
            ("Thursday", "2026-11-19", "2026-11-20"),
            ("sat", "2026-11-14", "2026-11-15"),
            ("mon", "2026-11-16", "2026-11-17"),
            ("this-week", "2026-11-16", "2026-11-23"),
            ("last-week", "2026-11-09", "2026-11-16"),
            ("this-month", "2026-11-01", "2026-12-01"),
            ("last-month", "2026-10-01", "2026-11-01"),
            ("2026", "2026-01-01", "2027-01-01"),
            ("2024-02", "2024-02-01", "2024-03-01"),
            ("2024-02-29", "2024-02-29", "2024-03-01"),
            ("2h", "2026-11-20", "2026-11-21"),
            ("10h", "2026-11-19", "2026-11-20"),
            ("7d", "2026-11-13", "2026-11-14"),
            ("3w", "2026-10-30", "2026-10-31"),
        ] {
            let midnight = |date: &str| berlin(date).strftime("%Y-%m-%dT%H:%M %z").to_string();
            assert_eq!(
                local_range(text, &friday),
                (midnight(start), midnight(end)),
                "{text}"
            );
        }
    }

    #[test]
    fn clock_changes_shorten_and_lengthen_days() {
        let pair = |start: &str, end: &str| (start.to_owned(), end.to_owned());
        let now = berlin("2027-04-01T12:00");
        assert_eq!(
            local_range("2026-10-25", &now),
            pair("2026-10-25T00:00 +0200", "2026-10-26T00:00 +0100")
        );
        assert_eq!(
            local_range("2027-03-28", &now),
            pair("2027-03-28T00:00 +0100", "2027-03-29T00:00 +0200")
        );
        assert_eq!(
            local_range("2026-10-25T02:30", &now),
            pair("2026-10-25T02:30 +0200", "2026-10-25T02:31 +0100")
        );
        assert_eq!(
            local_range("2027-03-28T02:30", &now),
            pair("2027-03-28T03:30 +0200", "2027-03-28T03:31 +0200")
        );
        let age_start = |text: &str, now: &str| {
            DateExpr::parse(text)
                .unwrap()
                .resolve(&berlin(now))
                .unwrap()
                .start
                .to_string()
        };
        assert_eq!(age_start("1d", "2026-10-26T01:00"), "2026-10-24T23:00:00Z");
        assert_eq!(age_start("24h", "2026-10-26T01:00"), "2026-10-25T00:00:00Z");
        assert_eq!(
            age_start("1w", "2027-03-29T09:00:00.75"),
            "2027-03-22T08:00:00Z"
        );
    }

    #[test]
    fn times_with_seconds_and_offset_are_instants() {
        let now = berlin("2026-11-20T09:41");
        for (text, start, seconds, printed) in [
            ("2026-11-02 10:00", "09:00:00", 60, "2026-11-02T10:00"),
            ("2026-11-02T10:00:07", "09:00:07", 1, "2026-11-02T10:00:07"),
            (
                "2026-11-02 10:00:07 UTC",
                "10:00:07",
                1,
                "2026-11-02T10:00:07Z",
            ),
            ("2026-11-02T10:00Z", "10:00:00", 60, "2026-11-02T10:00Z"),
            (
                "2026-11-02 10:00:07 +02:00",
                "08:00:07",
                1,
                "2026-11-02T10:00:07+02:00",
            ),
            (
                "2026-11-02T10:00:07-0330",
                "13:30:07",
                1,
                "2026-11-02T10:00:07-03:30",
            ),
            (
                "Mon  2 Nov 2026 10:00:07 UTC",
                "10:00:07",
                1,
                "2026-11-02T10:00:07Z",
            ),
            ("2 Nov 2026 10:00", "09:00:00", 60, "2026-11-02T10:00"),
            (
                "2026-11-02 10:00:07 CET",
                "09:00:07",
                1,
                "2026-11-02T10:00:07",
            ),
            (
                "2026-11-02 10:00:07.123456+00",
                "10:00:07",
                1,
                "2026-11-02T10:00:07Z",
            ),
        ] {
            let expr =
                DateExpr::parse_local(text, &now).unwrap_or_else(|| panic!("no date: {text}"));
            let range = expr.resolve(&now).unwrap();
            assert_eq!(
                range.start.to_string(),
                format!("2026-11-02T{start}Z"),
                "{text}"
            );
            assert_eq!(
                range.end.duration_since(range.start).as_secs(),
                seconds,
                "{text}"
            );
            assert_eq!(expr.to_string(), printed);
            assert_eq!(DateExpr::parse(printed), Some(expr));
            assert_eq!(
                DateExpr::parse_local("2026-11-02 10:00:07 CEST", &now),
                None
            );
        }
    }

    #[test]
    fn other_text_is_no_date() {
        for text in [
            "",
            "2026-11-2",
            "2026-13",
            "2026-02-30",
            "2026-11-02T24:00",
            "2026-11-02T09:60",
            "2026-11-02  09:30",
            "2026-11-02T9:30",
            "2026-11-02T09:30:60",
            "2026-11-02T09:30.5",
            "2026-11-02T09:30:07.",
            "2026-11-02 09:30 CET",
            "2 Nov 09:30",
            "2026-11-02T09:30+2",
            "+2026",
            "٢٠٢٦",
            "monda",
            "d",
            "7",
            "1.5d",
        ] {
            assert_eq!(DateExpr::parse(text), None, "{text}");
        }
    }

    #[test]
    fn dates_outside_the_calendar_resolve_to_none() {
        let now = berlin("2026-11-20T09:41");
        for text in [
            "9999-12-31",
            "9999-12",
            "9999",
            "9999-12-31T23:59",
            "4294967295w",
            "4294967295h",
            "0000",
        ] {
            assert_eq!(
                DateExpr::parse(text)
                    .and_then(|expr| expr.resolve_range(&now))
                    .is_some(),
                text == "0000",
                "{text}"
            );
        }
    }
}
