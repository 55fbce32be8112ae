//! Date expressions such as `today` and `7d`, resolved in a time zone against a
//! given time.

use std::fmt;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::fmt::strtime;
use jiff::tz::{AmbiguousOffset, Offset};
use jiff::{Span, Timestamp, ToSpan, Zoned};

use crate::text::format::suggest;

/// A date as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DateExpr {
    Named(NamedDay),
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
    /// `april`: the most recent such month; this month, if it is one.
    NamedMonth(i8),
    /// `2026-11-02`.
    Day(Date),
    /// `2026-11-02T09:30`: that minute; with an offset, not in the zone of the user.
    Minute(DateTime, Option<Offset>),
    /// `2026-11-02T09:30:07Z`: that second.
    Second(DateTime, Option<Offset>),
    /// `tue 18:00`, `3 nov 18:00`: that minute of such a day; `18:00`: of today.
    MinuteOf(NamedDay, Time),
    /// `5min`, `2h`, `7d`, `3w`, `2mo`: an age. Days keep the time of day when the clocks change.
    Relative(u32, RelativeUnit),
}

/// A day that depends on today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NamedDay {
    Today,
    Yesterday,
    /// `mon`, `tuesday`, ..: the most recent such day; today, if it is one.
    Weekday(Weekday),
    /// `3 nov`: the most recent such day, as the list prints it; month and day.
    MonthDay(i8, i8),
}

impl NamedDay {
    /// Returns the day that is meant; `None` if it is outside the calendar.
    fn resolve(self, today: Date) -> Option<Date> {
        match self {
            Self::Today => Some(today),
            Self::Yesterday => today.yesterday().ok(),
            Self::Weekday(weekday) => {
                let days = i64::from(today.weekday().since(weekday)).days();
                today.checked_sub(days).ok()
            }
            Self::MonthDay(month, day) => {
                // 29 February may be eight years back.
                let dates =
                    (0..=8).map(|back| Date::new(today.year().checked_sub(back)?, month, day).ok());
                dates.flatten().find(|date| *date <= today)
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RelativeUnit {
    Minutes,
    Hours,
    Days,
    Weeks,
    Months,
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
    ("today", DateExpr::Named(NamedDay::Today), "since midnight"),
    ("yesterday", DateExpr::Named(NamedDay::Yesterday), "the day before today"),
    ("this-week", DateExpr::ThisWeek, "from Monday"),
    ("last-week", DateExpr::LastWeek, "Monday to Sunday before this week"),
    ("this-month", DateExpr::ThisMonth, "from the first of this month"),
    ("last-month", DateExpr::LastMonth, "the whole month before this one"),
    ("mon", DateExpr::Named(NamedDay::Weekday(Weekday::Monday)), "the most recent Monday"),
    ("tue", DateExpr::Named(NamedDay::Weekday(Weekday::Tuesday)), "the most recent Tuesday"),
    ("wed", DateExpr::Named(NamedDay::Weekday(Weekday::Wednesday)), "the most recent Wednesday"),
    ("thu", DateExpr::Named(NamedDay::Weekday(Weekday::Thursday)), "the most recent Thursday"),
    ("fri", DateExpr::Named(NamedDay::Weekday(Weekday::Friday)), "the most recent Friday"),
    ("sat", DateExpr::Named(NamedDay::Weekday(Weekday::Saturday)), "the most recent Saturday"),
    ("sun", DateExpr::Named(NamedDay::Weekday(Weekday::Sunday)), "the most recent Sunday"),
];

/// The whole names of days and months, for which a misspelled word may stand.
#[rustfmt::skip] // in the order of the calendar
const NAMES: [&str; 19] = [
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
];

/// Every unit of an age, with its short and its long name.
const UNITS: [(RelativeUnit, &str, &str); 5] = [
    // `6m` may mean months.
    (RelativeUnit::Minutes, "min", "minute"),
    (RelativeUnit::Hours, "h", "hour"),
    (RelativeUnit::Days, "d", "day"),
    (RelativeUnit::Weeks, "w", "week"),
    (RelativeUnit::Months, "mo", "month"),
];

impl TimeRange {
    /// Splits a time that occurs twice, as clocks are set back, into both.
    ///
    /// Each has its offset; what is between them is in neither.
    pub(super) fn split_repeated(self, now: &Zoned) -> Vec<Self> {
        let (length, with_offset): (_, fn(DateTime, Option<Offset>) -> DateExpr) = match self.expr {
            DateExpr::Minute(_, None) | DateExpr::MinuteOf(..) => (1.minute(), DateExpr::Minute),
            DateExpr::Second(_, None) => (1.second(), DateExpr::Second),
            _ => return vec![self],
        };
        let resolve = |start: Timestamp| {
            let offset = now.time_zone().to_offset(start);
            with_offset(offset.to_datetime(start), Some(offset)).resolve(now)
        };
        match self.end.checked_sub(length) {
            Ok(last) if last != self.start => {
                [self.start, last].into_iter().filter_map(resolve).collect()
            }
            _ => vec![self],
        }
    }
}

impl DateExpr {
    /// Whether the words after it may belong to it: `mon 2 nov`, `nov 2`, `7d ago`.
    pub(super) fn may_continue(self, words: &str) -> bool {
        match self {
            Self::Named(NamedDay::Weekday(_)) | Self::NamedMonth(_) => {
                let is_month = |word: &str| parse_month_name(&word.to_ascii_lowercase()).is_some();
                words.starts_with(|c: char| c.is_ascii_digit())
                    || words.split([' ', '-']).next().is_some_and(is_month)
            }
            Self::Relative(..) => words.eq_ignore_ascii_case("ago"),
            _ => false,
        }
    }

    /// Whether the words after it are a day of it, and a year, even if there is no such
    /// date, as in `feb 30`: then they are no words to search for.
    pub(super) fn is_before_day(self, words: &str) -> bool {
        let is_day = |word: &str| word.len() <= 2 && is_number(word);
        let (day, year) = words.split_once(' ').unwrap_or((words, "2026"));
        let day = trim_ordinal(day.trim_end_matches(','));
        matches!(self, Self::NamedMonth(_)) && is_day(day) && parse_year(year).is_some()
    }

    /// Parses a date; ignores case.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ").to_ascii_lowercase();
        parse_word(&text)
            .or_else(|| parse_relative(&text))
            .or_else(|| parse_iso_date(&text))
            .or_else(|| parse_time_of_day(&text))
            .or_else(|| parse_day_month(&text))
    }

    /// Returns the word that differs from `text` in a letter or two.
    pub(super) fn suggest_word(text: &str) -> Option<&'static str> {
        let keywords = DATE_KEYWORDS.iter().map(|(word, ..)| *word);
        // Three letters are near to any others.
        let words = keywords.chain(NAMES).filter(|word| word.len() > 3);
        suggest(&text.replace(' ', "-"), words)
    }

    /// Parses a date, also with the abbreviation of the zone of `now` after a time,
    /// as the screen prints it.
    pub(crate) fn parse_local(text: &str, now: &Zoned) -> Option<Self> {
        Self::parse(text).or_else(|| {
            let (time, zone) = text.rsplit_once(' ')?;
            let expr = Self::parse(time)?;
            let at = match expr {
                Self::Minute(at, None) | Self::Second(at, None) => {
                    at.to_zoned(now.time_zone().clone()).ok()?
                }
                Self::MinuteOf(..) => expr.resolve(now)?.start.to_zoned(now.time_zone().clone()),
                _ => return None,
            };
            let printed = at.strftime("%Z").to_string();
            printed.eq_ignore_ascii_case(zone).then_some(expr)
        })
    }

    /// Returns the time that is meant at `now`; `None` if it is outside the calendar.
    ///
    /// A [`DateExpr::Relative`] is an instant without a length.
    pub(crate) fn resolve(self, now: &Zoned) -> Option<TimeRange> {
        let today = now.date();
        let monday = || NamedDay::Weekday(Weekday::Monday).resolve(today);
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
            Self::Named(named) => day(named.resolve(today)?)?,
            Self::ThisWeek => week(monday()?)?,
            Self::LastWeek => week(monday()?.checked_sub(1.week()).ok()?)?,
            Self::ThisMonth => month(today)?,
            Self::LastMonth => month(today.first_of_month().yesterday().ok()?)?,
            Self::Year(year) => (
                Date::new(year, 1, 1).ok()?,
                Date::new(year.checked_add(1)?, 1, 1).ok()?,
            ),
            Self::Month(year, number) => month(Date::new(year, number, 1).ok()?)?,
            Self::NamedMonth(number) => {
                let years_back = i16::from(number > today.month());
                month(Date::new(today.year().checked_sub(years_back)?, number, 1).ok()?)?
            }
            Self::Day(date) => day(date)?,
            Self::Minute(at, offset) | Self::Second(at, offset) => {
                let zone = offset.map_or_else(|| now.time_zone().clone(), Offset::to_time_zone);
                let times = zone.to_ambiguous_timestamp(at);
                let length = match self {
                    Self::Second(..) => 1.second(),
                    _ => 1.minute(),
                };
                // A time occurs twice when the clocks are set back. The range has both, and what is
                // between.
                let last = match times.offset() {
                    AmbiguousOffset::Fold { .. } => times.later().ok()?,
                    _ => times.compatible().ok()?,
                };
                let start = times.compatible().ok()?;
                return Some(range(start, last.checked_add(length).ok()?));
            }
            Self::MinuteOf(day, time) => {
                let at = day.resolve(today)?.to_datetime(time);
                let minute = Self::Minute(at, None).resolve(now)?;
                return Some(range(minute.start, minute.end));
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
        RelativeUnit::Minutes => span.try_minutes(count),
        RelativeUnit::Hours => span.try_hours(count),
        RelativeUnit::Days => span.try_days(count),
        RelativeUnit::Weeks => span.try_weeks(count),
        RelativeUnit::Months => span.try_months(count),
    }
    .ok()
}

fn parse_word(text: &str) -> Option<DateExpr> {
    let text = text.replace(' ', "-");
    let mut words = DATE_KEYWORDS.iter();
    let found = words.find(|(word, ..)| *word == text);
    found
        .map(|(_, expr, _)| *expr)
        .or_else(|| parse_weekday_name(&text))
}

fn parse_weekday_name(text: &str) -> Option<DateExpr> {
    strtime::parse("%A", text)
        .ok()?
        .weekday()
        .map(|weekday| DateExpr::Named(NamedDay::Weekday(weekday)))
}

/// Parses an age: `7d`, `7 days`, `7 days ago`.
fn parse_relative(text: &str) -> Option<DateExpr> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let unit = unit.strip_suffix(" ago").unwrap_or(unit).trim_start();
    let singular = unit.strip_suffix('s').unwrap_or(unit);
    let (unit, ..) = UNITS
        .into_iter()
        .find(|(_, short, long)| [short, long].contains(&&unit) || singular == *long)?;
    Some(DateExpr::Relative(digits.parse().ok()?, unit))
}

/// Parses the forms in which the screen prints days:
/// `3 Nov`, `Fri 20 Nov 2026`, and `3-nov`; with dots also `3.11.2026`, `3.11.26` and `3.11.`.
/// A month may be alone or before a year. With slashes, it must be clear which number is the month.
fn parse_day_month(text: &str) -> Option<DateExpr> {
    let mut parts: Vec<&str> = text
        .split([' ', '-', ',', '.', '/'])
        .filter(|part| !part.is_empty())
        .collect();
    let is_weekday =
        |word: &&str| strtime::parse("%a", word).is_ok() || parse_weekday_name(word).is_some();
    if parts.len() > 2 && parts.first().is_some_and(is_weekday) {
        parts.remove(0);
    }
    let is_numeric = parts.iter().all(|part| is_number(part));
    let (day, month, year) = match parts.as_slice() {
        [month] => return Some(DateExpr::NamedMonth(parse_month_name(month)?)),
        [month, year] if is_number(year) && year.len() == 4 => {
            return Some(DateExpr::Month(parse_year(year)?, parse_month_name(month)?));
        }
        [one, two] if one.starts_with(|c: char| c.is_ascii_digit()) => (one, two, None),
        [one, two] => (two, one, None),
        [month, day, year] if parse_month_name(month).is_some() => (day, month, Some(year)),
        [day, month, year] => (day, month, Some(year)),
        _ => return None,
    };
    let day: i8 = trim_ordinal(day).parse().ok()?;
    let is_dotted = is_numeric && text.contains('.');
    let has_slashes = is_numeric && text.contains('/') && text.split(' ').count() == 1;
    let (day, month) = match (parse_month_name(month), month.parse()) {
        (Some(month), _) => (day, month),
        (None, Ok(month)) if is_dotted => (day, month),
        // Which of two low numbers is the month depends on the country.
        (None, Ok(month)) if has_slashes && (day > 12 || day == month) => (day, month),
        (None, Ok(other)) if has_slashes && other > 12 => (other, day),
        _ => return None,
    };
    match year {
        Some(year) if is_dotted && year.len() == 2 => {
            let year = 2000 + year.parse::<i16>().ok()?;
            Date::new(year, month, day).ok().map(DateExpr::Day)
        }
        Some(year) => Date::new(parse_year(year)?, month, day)
            .ok()
            .map(DateExpr::Day),
        // A leap year has every day that some year has.
        None => Date::new(2024, month, day)
            .ok()
            .map(|_| DateExpr::Named(NamedDay::MonthDay(month, day))),
    }
}

/// Returns the number of a month, from its English name or the first three letters of it.
fn parse_month_name(text: &str) -> Option<i8> {
    if text == "sept" {
        return Some(9);
    }
    ["%b", "%B"]
        .iter()
        .filter_map(|format| strtime::parse(format, text).ok())
        .find_map(|parsed| parsed.month())
}

/// Parses a year of four digits, in which there may be an email: `4711` is more likely
/// the number of an order.
fn parse_year(text: &str) -> Option<i16> {
    let year: i16 = text.parse().ok().filter(|_| text.len() == 4)?;
    (1970..2100).contains(&year).then_some(year)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns `2` of `2nd`.
fn trim_ordinal(text: &str) -> &str {
    let mut endings = ["st", "nd", "rd", "th"].into_iter();
    let number = endings.find_map(|ending| text.strip_suffix(ending));
    number.filter(|number| is_number(number)).unwrap_or(text)
}

/// Parses dates in one spelling of ISO 8601; a day also with slashes.
///
/// The others (`20261102`, week dates) are more likely order numbers.
fn parse_iso_date(text: &str) -> Option<DateExpr> {
    let digit_to_zero = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let pattern: String = text.chars().map(digit_to_zero).collect();
    match pattern.as_str() {
        "0000" => parse_year(text).map(DateExpr::Year),
        "0000-00" => {
            let first: Date = format!("{text}-01").parse().ok()?;
            Some(DateExpr::Month(first.year(), first.month()))
        }
        "0000-00-00" | "0000/00/00" => text.replace('/', "-").parse().ok().map(DateExpr::Day),
        _ => None,
    }
}

/// Parses a time of a day, as ISO 8601, the screen and the service write it:
/// `2026-11-02T09:30`, `Tue 18:00`, `Mon 2 Nov 2026 09:30:07 UTC`, `2026-11-02 09:30:07.25+02`.
/// Without a day it is of today. Parts of a second are left out.
fn parse_time_of_day(text: &str) -> Option<DateExpr> {
    let day_end = text[..text.find(':')?].rfind(['t', ' ']);
    let (day, rest) = day_end.map_or(("today", text), |end| (&text[..end], &text[end + 1..]));
    let zone = rest.find(|c: char| !c.is_ascii_digit() && !":.".contains(c));
    let (time, zone) = rest.split_at(zone.unwrap_or(rest.len()));
    let offset = match zone.trim() {
        "" => None,
        zone => Some(parse_offset(zone)?),
    };
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let day = parse_word(day)
        .or_else(|| parse_iso_date(day))
        .or_else(|| parse_day_month(day))?;
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
    let day = match day {
        DateExpr::Day(day) => {
            let at = day.to_datetime(clock);
            return Some(match second {
                None => DateExpr::Minute(at, offset),
                Some(_) => DateExpr::Second(at, offset),
            });
        }
        DateExpr::Named(day) => day,
        _ => return None,
    };
    (second.is_none() && offset.is_none()).then_some(DateExpr::MinuteOf(day, clock))
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
            Self::NamedMonth(month) => {
                let date = Date::new(2024, *month, 1).map_err(|_| fmt::Error)?;
                f.write_str(&date.strftime("%B").to_string().to_ascii_lowercase())
            }
            Self::Day(date) => write!(f, "{}", date.strftime("%Y-%m-%d")),
            Self::Named(NamedDay::MonthDay(month, day)) => {
                let date = Date::new(2024, *month, *day).map_err(|_| fmt::Error)?;
                let printed = date.strftime("%-d-%b").to_string();
                f.write_str(&printed.to_ascii_lowercase())
            }
            Self::Minute(at, offset) => {
                write!(f, "{}", at.strftime("%Y-%m-%dT%H:%M"))?;
                write_offset(*offset, f)
            }
            Self::Second(at, offset) => {
                write!(f, "{}", at.strftime("%Y-%m-%dT%H:%M:%S"))?;
                write_offset(*offset, f)
            }
            Self::MinuteOf(day, time) => {
                write!(f, "{} {}", Self::Named(*day), time.strftime("%H:%M"))
            }
            Self::Relative(count, unit) => {
                let (_, name, _) = UNITS
                    .iter()
                    .find(|(known, ..)| known == unit)
                    .expect("every unit is in the table");
                write!(f, "{count}{name}")
            }
            Self::Named(_)
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
