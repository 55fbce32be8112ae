//! Times that grade themselves: a clock time today, a weekday this week, a date before.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::render_ctx::RenderCtx;
use crate::mail::ApiTime;

/// Columns of [`short`].
pub const SHORT_WIDTH: usize = 6;
/// Columns of [`medium`].
pub const MEDIUM_WIDTH: usize = 9;
/// Columns of [`column()`] for times that could be read, in the zones with the longest names.
pub const ISO_WIDTH: usize = 25;

/// `09:41`, `Mon`, `3 May`, `May 25`.
#[must_use]
pub fn format_short(stamp: &ApiTime, look: &RenderCtx) -> String {
    format_by_age(stamp, look, ["%H:%M", "%a", "%-d %b", "%b’%y"])
}

/// `09:41`, `Mon 09:41`, `3 May`, `3 May 25`.
#[must_use]
pub fn format_medium(stamp: &ApiTime, look: &RenderCtx) -> String {
    format_by_age(stamp, look, ["%H:%M", "%a %H:%M", "%-d %b", "%-d %b %y"])
}

/// `Fri 2026-11-20 09:41:07 CET`.
#[must_use]
pub fn format_full(stamp: &ApiTime, look: &RenderCtx) -> String {
    stamp.parsed.map_or_else(
        || stamp.raw.to_string(),
        |at| {
            to_zoned(at, &look.zone)
                .strftime("%a %-d %b %Y %H:%M:%S %Z")
                .to_string()
        },
    )
}

/// The most exact form that fits into `columns`: a time is never cut.
#[must_use]
pub fn format_fitting(stamp: &ApiTime, look: &RenderCtx, columns: usize) -> String {
    let all = [
        format_full(stamp, look),
        format_iso(stamp, look),
        format_medium(stamp, look),
    ];
    let fits = all
        .iter()
        .find(|text| unicode_width::UnicodeWidthStr::width(text.as_str()) <= columns);
    fits.unwrap_or(&all[2]).clone()
}

/// `2026-11-20 09:41:07 CET`, for a column.
#[must_use]
pub fn format_iso(stamp: &ApiTime, look: &RenderCtx) -> String {
    stamp.parsed.map_or_else(
        || stamp.raw.to_string(),
        |at| {
            to_zoned(at, &look.zone)
                .strftime("%Y-%m-%d %H:%M:%S %Z")
                .to_string()
        },
    )
}

/// `09:41` today, `3 May 09:41` before: when something was seen.
#[must_use]
pub fn format_date_time(at: Timestamp, look: &RenderCtx) -> String {
    let at = to_zoned(at, &look.zone);
    let today = at.date() == to_zoned(look.now, &look.zone).date();
    at.strftime(if today { "%H:%M" } else { "%-d %b %H:%M" })
        .to_string()
}

/// `as of 21:08` today, `as of 3 May` before; `unconfirmed` if the service never confirmed it.
#[must_use]
pub fn format_as_of(confirmed: Option<Timestamp>, look: &RenderCtx) -> String {
    confirmed.map_or_else(
        || "unconfirmed".to_owned(),
        |at| format!("as of {}", format_time_or_date(at, look)),
    )
}

/// The same in six columns: `~21:08`, `~3 May`, `~?`.
#[must_use]
pub fn format_short_as_of(confirmed: Option<Timestamp>, look: &RenderCtx) -> String {
    confirmed.map_or_else(
        || "~?".to_owned(),
        |at| format!("~{}", format_time_or_date(at, look)),
    )
}

fn format_time_or_date(at: Timestamp, look: &RenderCtx) -> String {
    let at = to_zoned(at, &look.zone);
    let today = at.date() == to_zoned(look.now, &look.zone).date();
    at.strftime(if today { "%H:%M" } else { "%-d %b" })
        .to_string()
}

/// `3 May`, or `3 May 2025` in another year.
#[must_use]
pub fn format_date(at: Timestamp, look: &RenderCtx) -> String {
    let at = to_zoned(at, &look.zone);
    let this_year = at.year() == to_zoned(look.now, &look.zone).year();
    at.strftime(if this_year { "%-d %b" } else { "%-d %b %Y" })
        .to_string()
}

fn format_by_age(
    stamp: &ApiTime,
    look: &RenderCtx,
    [clock, weekday, date, year]: [&str; 4],
) -> String {
    let Some(at) = stamp.parsed else {
        return stamp.raw.to_string();
    };
    let at = to_zoned(at, &look.zone);
    let today = to_zoned(look.now, &look.zone).date();
    at.strftime(match days_between(at.date(), today) {
        0 => clock,
        1..=6 => weekday,
        _ if at.year() == today.year() => date,
        _ => year,
    })
    .to_string()
}

/// Days from `then` to `today`; negative for the future.
fn days_between(then: Date, today: Date) -> i32 {
    then.until(today).map_or(i32::MAX, |span| span.get_days())
}

fn to_zoned(at: Timestamp, zone: &TimeZone) -> Zoned {
    at.to_zoned(zone.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Palette;
    use crate::view::{Glyphs, Theme};

    fn look() -> RenderCtx {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        RenderCtx {
            theme: Theme::new(Some(Palette::default())),
            glyphs: Glyphs::UNICODE,
            now: "2026-11-20T08:00:00Z".parse().unwrap(),
            zone,
        }
    }

    #[test]
    fn a_full_time_fits_its_column_in_every_zone() {
        let zone = TimeZone::posix("<+0545>-5:45").unwrap();
        let look = RenderCtx { zone, ..look() };
        assert_eq!(
            format_iso(&ApiTime::parse("2026-11-20T07:41:07Z"), &look).len(),
            ISO_WIDTH
        );
    }

    #[test]
    fn times_grade_themselves() {
        let at = |text: &str| ApiTime::parse(text);
        assert_eq!(format_short(&at("2026-11-20T07:41:07Z"), &look()), "08:41");
        assert_eq!(format_short(&at("2026-11-19T23:30:00Z"), &look()), "00:30");
        assert_eq!(
            format_medium(&at("2026-11-16T08:00:00Z"), &look()),
            "Mon 09:00"
        );
        assert_eq!(format_short(&at("2026-05-03T08:00:00Z"), &look()), "3 May");
        assert_eq!(
            format_medium(&at("2025-05-03T08:00:00Z"), &look()),
            "3 May 25"
        );
        assert_eq!(format_short(&at("2026-12-24T08:00:00Z"), &look()), "24 Dec");
        assert_eq!(format_short(&at("whenever"), &look()), "whenever");
        assert_eq!(
            format_full(&at("2026-11-20T07:41:07Z"), &look()),
            "Fri 20 Nov 2026 08:41:07 +01"
        );
    }
}
