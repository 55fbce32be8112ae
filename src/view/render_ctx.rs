//! The inputs of drawing beside the model: colours, glyphs, the time, the zone.

use jiff::civil::Date;
use jiff::{Timestamp, Zoned};
use ratatui::buffer::Buffer;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;

use super::theme::Theme;
use crate::archive::Outcome;
use crate::error::Error;
use crate::mail::{ApiTime, Status};
use crate::text::ascii::ascii_symbol;
use crate::text::format::{CLOCK_OR_DATE, format_by_age};
use crate::text::width;
use crate::text::width::DisplayWidth as _;

/// Columns of [`RenderCtx::format_short`].
pub const SHORT_WIDTH: usize = 6;
/// Columns of [`RenderCtx::format_medium`] for the last week.
pub const MEDIUM_WIDTH: usize = 9;
/// Columns of [`RenderCtx::format_clock`].
pub const CLOCK_WIDTH: usize = 5;
/// Columns of [`RenderCtx::format_iso`] in the zones with the longest names.
pub const ISO_WIDTH: usize = 25;

/// Date, clock and zone, whatever the age.
const ISO: [&str; 4] = ["%Y-%m-%d %H:%M:%S %Z"; 4];

/// Date, clock without seconds, and zone, whatever the age.
const DATED: [&str; 4] = ["%Y-%m-%d %H:%M %Z"; 4];

/// The clock today, the day before.
const CLOCK_OR_DAY: [&str; 4] = ["%H:%M", "", "%-d %b", "%-d %b"];

/// Everything about the drawing that is not in the model.
#[derive(Debug, Clone)]
pub struct RenderCtx {
    pub theme: Theme,
    pub glyphs: Glyphs,
    /// Whether links of a body are links of the terminal, too.
    pub hyperlinks: bool,
    /// Whether the text is copied: each time has its date and zone, and no key is named.
    pub is_copied: bool,
    /// The time of this frame, in the zone in which times are shown.
    pub now: Zoned,
}

impl RenderCtx {
    /// Cuts `text` to at most `columns`; an ellipsis shows that text is missing.
    pub fn truncate(&self, text: &str, columns: usize) -> String {
        width::truncate(text, columns, self.glyphs.ellipsis)
    }

    /// Cuts or pads `text` at the right to exactly `columns`.
    pub fn align_left(&self, text: &str, columns: usize) -> String {
        width::align_left(text, columns, self.glyphs.ellipsis)
    }

    /// Cuts `text` at the right or pads it at the left to exactly `columns`.
    pub fn align_right(&self, text: &str, columns: usize) -> String {
        width::align_right(text, columns, self.glyphs.ellipsis)
    }

    /// Cuts an address to at most `columns`; if it can, it keeps the domain whole.
    pub fn truncate_address(&self, address: &str, columns: usize) -> String {
        const MIN_LOCAL_PART: usize = 4;
        let (local, domain) = address.split_at(address.rfind('@').unwrap_or(0));
        let rest = columns.saturating_sub(domain.width());
        if address.width() <= columns || local.is_empty() || rest < MIN_LOCAL_PART {
            self.truncate(address, columns)
        } else {
            self.truncate(local, rest) + domain
        }
    }

    /// Builds symbol and label of a status.
    pub fn build_status<'a>(&self, status: &Status) -> Line<'a> {
        let symbol = self.glyphs.status(status);
        let space = if symbol.is_empty() { "" } else { " " };
        Line::from(vec![
            Span::styled(symbol, self.theme.status_symbol(status)),
            Span::styled(
                format!("{space}{}", status.label()),
                self.theme.status(status),
            ),
        ])
    }

    /// Builds the line that is shown until figures are counted,
    /// or because they could not be.
    pub fn build_counting<'a>(&self, error: Option<&Error>, columns: usize) -> Line<'a> {
        match error {
            Some(error) => Line::styled(self.truncate(&error.message, columns), self.theme.error()),
            None => Line::styled(
                format!("counting{}", self.glyphs.ellipsis),
                self.theme.chrome(),
            ),
        }
    }

    /// Formats in six columns: `09:41`, `Mon`, `3 May`, `May’25`.
    pub fn format_short(&self, time: &ApiTime) -> String {
        self.format_by_age(time, ["%H:%M", "%a", "%-d %b", "%b’%y"])
    }

    /// Formats with a clock: `09:41`, `Mon 09:41`, `3 May 09:41`, `3 May 25 09:41`.
    pub fn format_medium(&self, time: &ApiTime) -> String {
        let forms = ["%H:%M", "%a %H:%M", "%-d %b %H:%M", "%-d %b %y %H:%M"];
        self.format_by_age(time, forms)
    }

    /// Formats the clock alone: `09:41`.
    pub fn format_clock(&self, time: &ApiTime) -> String {
        self.format_by_age(time, ["%H:%M"; 4])
    }

    /// Formats the heading of a day: `today`, `Fri 20 Nov`, `Sat 3 May 2025`.
    pub fn format_day(&self, day: Option<Date>) -> String {
        let today = self.now.date();
        match day {
            None => "no date".to_owned(),
            Some(day) if day == today => "today".to_owned(),
            Some(day) if day.year() == today.year() => day.strftime("%a %-d %b").to_string(),
            Some(day) => day.strftime("%a %-d %b %Y").to_string(),
        }
    }

    /// Formats for a column: `2026-11-20 09:41:07 CET`.
    pub fn format_iso(&self, time: &ApiTime) -> String {
        self.format_by_age(time, ISO)
    }

    /// Formats in full: `Fri 20 Nov 2026 09:41:07 CET`.
    pub fn format_full(&self, time: &ApiTime) -> String {
        self.format_by_age(time, ["%a %-d %b %Y %H:%M:%S %Z"; 4])
    }

    /// Formats with day, clock and zone: `20 Nov 09:41 CET`, `3 May 2025 09:41 CEST`.
    pub fn format_with_zone(&self, time: &ApiTime) -> String {
        let this_year = "%-d %b %H:%M %Z";
        self.format_by_age(
            time,
            [this_year, this_year, this_year, "%-d %b %Y %H:%M %Z"],
        )
    }

    /// Uses the most exact form that fits into `columns`; never cuts a time.
    pub fn format_fitting(&self, time: &ApiTime, columns: usize) -> String {
        let forms = [
            self.format_full(time),
            self.format_iso(time),
            self.format_with_zone(time),
            self.format_medium(time),
        ];
        let mut forms = forms.into_iter();
        let fitting = forms.find(|text| text.width() <= columns);
        fitting.unwrap_or_else(|| self.format_short(time))
    }

    /// Formats the time of an observation: `09:41` today, `3 May 09:41` before.
    pub fn format_date_time(&self, at: Timestamp) -> String {
        self.format_at(at, CLOCK_OR_DATE)
    }

    /// A confirmation after now counts as none: the clock was set.
    fn past(&self, confirmed: Option<Timestamp>) -> Option<Timestamp> {
        confirmed.filter(|at| *at <= self.now.timestamp())
    }

    /// Formats `as of 21:08` today, `as of 3 May` before, `unconfirmed` for none.
    pub fn format_as_of(&self, confirmed: Option<Timestamp>) -> String {
        self.format_as_of_in(CLOCK_OR_DAY, confirmed)
    }

    /// Formats `as of 2026-11-20 21:08:14 CET`, with date, seconds and zone.
    pub fn format_iso_as_of(&self, confirmed: Option<Timestamp>) -> String {
        self.format_as_of_in(ISO, confirmed)
    }

    fn format_as_of_in(&self, forms: [&str; 4], confirmed: Option<Timestamp>) -> String {
        let at = self.past(confirmed);
        let at = at.map(|at| format!("as of {}", self.format_at(at, forms)));
        at.unwrap_or_else(|| "unconfirmed".to_owned())
    }

    /// Formats a confirmation in six columns: `~21:08`, `~3 May`, `~?`.
    pub fn format_short_as_of(&self, confirmed: Option<Timestamp>) -> String {
        self.past(confirmed).map_or_else(
            || "~?".to_owned(),
            |at| format!("~{}", self.format_clock_or_day(at)),
        )
    }

    pub fn format_clock_or_day(&self, at: Timestamp) -> String {
        self.format_at(at, CLOCK_OR_DAY)
    }

    fn format_by_age(&self, time: &ApiTime, forms: [&str; 4]) -> String {
        time.format_or_raw(|at| self.format_at(at, forms))
    }

    fn format_at(&self, at: Timestamp, forms: [&str; 4]) -> String {
        let forms = if self.is_copied { DATED } else { forms };
        format_by_age(at, &self.now, forms)
    }
}

/// The characters that are drawn beside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    pub selection_bar: &'static str,
    /// Replaces the bar's space in a marked row, and the bar in one that is selected,
    /// too.
    pub mark: [&'static str; 2],
    pub vertical_rule: &'static str,
    pub horizontal_rule: &'static str,
    /// Replaces text that does not fit.
    pub ellipsis: &'static str,
    /// Separates two parts of a line.
    pub separator: &'static str,
    /// Separates the profile from the view that is shown.
    pub breadcrumb: &'static str,
    /// Marks a row that is new or whose status changed.
    pub changed: &'static str,
    /// Marks a row that is watched until its status settles.
    pub watched: &'static str,
    /// Marks a row that the service no longer has.
    pub missing_upstream: &'static str,
    /// Marks an address that may imitate another one.
    pub warning: &'static str,
    /// Replaces a character of a secret.
    pub mask: &'static str,
    /// Points from one status to the next.
    pub arrow: &'static str,
    ascii: bool,
    /// Whether text has ASCII alone: the terminal reads another charset than UTF-8.
    ascii_text: bool,
    /// Whether words are read aloud: a status then has no symbol.
    spoken: bool,
}

impl Glyphs {
    pub const UNICODE: Self = Self {
        selection_bar: "▌",
        mark: ["◆", "◈"],
        vertical_rule: "│",
        horizontal_rule: "─",
        ellipsis: "…",
        separator: "·",
        breadcrumb: "▸",
        changed: "•",
        watched: "»",
        missing_upstream: "†",
        warning: "⚠",
        mask: "•",
        arrow: "→",
        ascii: false,
        ascii_text: false,
        spoken: false,
    };
    pub const ASCII: Self = Self {
        selection_bar: ">",
        mark: ["#", "@"],
        vertical_rule: "|",
        horizontal_rule: "-",
        ellipsis: "~",
        separator: "-",
        breadcrumb: ">",
        changed: "*",
        watched: "w",
        missing_upstream: "+",
        warning: "!?",
        mask: "*",
        arrow: ">",
        ascii: true,
        ascii_text: false,
        spoken: false,
    };

    /// The same symbols; text outside ASCII is drawn as `?`.
    pub const fn with_ascii_text(self) -> Self {
        Self {
            ascii_text: true,
            ..self
        }
    }

    /// Words and punctuation instead of symbols, for lines that may be read aloud.
    pub const fn spoken(ascii: bool) -> Self {
        Self {
            ellipsis: "...",
            separator: ",",
            warning: "(look-alike)",
            arrow: "then",
            ascii,
            spoken: true,
            ..Self::ASCII
        }
    }

    /// Replaces the symbols that lower modules write into bodies and cut or masked
    /// texts.
    ///
    /// An email may have them, too: a font without them has none of both.
    pub fn replace_symbols(self, buffer: &mut Buffer) {
        if !self.ascii {
            return;
        }
        for cell in &mut buffer.content {
            if let Some(symbol) = self.replacement(cell.symbol()) {
                cell.set_symbol(symbol);
            } else if self.ascii_text && !cell.symbol().is_ascii() {
                cell.set_symbol("?");
            }
        }
    }

    /// Replaces the symbols that lower modules write, in a line of text.
    pub fn replace_in_line(self, line: &str) -> String {
        let graphemes = line.graphemes(true);
        graphemes
            .map(|grapheme| match self.replacement(grapheme) {
                Some(symbol) if self.ascii => symbol,
                _ => grapheme,
            })
            .collect()
    }

    fn replacement(self, symbol: &str) -> Option<&'static str> {
        match symbol {
            "…" => Some(self.ellipsis),
            "→" => Some(self.arrow),
            _ => {
                let mut chars = symbol.chars();
                let first = chars.next()?;
                ascii_symbol(first).filter(|_| chars.next().is_none())
            }
        }
    }

    /// Returns the selection bar, or a space in a row that is not selected.
    pub const fn bar(self, selected: bool) -> &'static str {
        if selected { self.selection_bar } else { " " }
    }

    /// Returns the first cell of a row: bar, mark, both in one, or a space.
    pub const fn row_start(self, selected: bool, marked: bool) -> &'static str {
        if marked {
            self.mark[selected as usize]
        } else {
            self.bar(selected)
        }
    }

    /// Returns the character of which the bar of an outcome is made.
    pub const fn outcome(self, outcome: Outcome) -> &'static str {
        match (outcome, self.ascii) {
            (Outcome::Delivered, false) => "█",
            (Outcome::Delivered, true) => "#",
            (Outcome::InProgress, false) => "░",
            (Outcome::InProgress, true) => ".",
            (Outcome::Bounced, false) => "✕",
            (Outcome::Bounced, true) => "x",
            (Outcome::Complained, _) => "!",
            (Outcome::Other, false) => "–",
            (Outcome::Other, true) => "-",
        }
    }

    /// Returns the symbol of a status: two columns in ASCII, one otherwise.
    ///
    /// Symbols differ in shape, so that colour is never needed.
    pub const fn status(self, status: &Status) -> &'static str {
        if self.spoken {
            return "";
        }
        if self.ascii {
            status.ascii_symbol()
        } else {
            status.symbol()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ctx() -> RenderCtx {
        RenderCtx {
            now: "2026-11-20T09:00:00+01:00[+01:00]".parse().unwrap(),
            ..crate::view::tests::render_ctx()
        }
    }

    #[test]
    fn status_symbols_differ_and_have_equal_width() {
        for glyphs in [Glyphs::UNICODE, Glyphs::ASCII] {
            let symbols = Status::KNOWN.iter().map(|status| glyphs.status(status));
            let symbols: std::collections::BTreeSet<_> = symbols.collect();
            assert_eq!(symbols.len(), Status::KNOWN.len());
            let columns = if glyphs.ascii { 2 } else { 1 };
            assert!(symbols.iter().all(|symbol| symbol.width() == columns));
        }
    }

    #[test]
    fn iso_time_fits_its_column_in_every_zone() {
        let zone = jiff::tz::TimeZone::posix("<+0545>-5:45").unwrap();
        let now = ctx().now.with_time_zone(zone);
        let ctx = RenderCtx { now, ..ctx() };
        let time = ApiTime::parse("2026-11-20T07:41:07Z");
        assert_eq!(ctx.format_iso(&time).len(), ISO_WIDTH);
    }

    #[test]
    fn form_of_a_time_depends_on_its_age() {
        let short = |text: &str| ctx().format_short(&ApiTime::parse(text));
        let medium = |text: &str| ctx().format_medium(&ApiTime::parse(text));
        assert_eq!(short("2026-11-20T07:41:07Z"), "08:41");
        assert_eq!(short("2026-11-19T23:30:00Z"), "00:30");
        assert_eq!(medium("2026-11-16T08:00:00Z"), "Mon 09:00");
        assert_eq!(short("2026-05-03T08:00:00Z"), "3 May");
        assert_eq!(medium("2025-05-03T08:00:00Z"), "3 May 25 09:00");
        assert_eq!(short("2026-12-24T08:00:00Z"), "24 Dec");
        assert_eq!(short("whenever"), "whenever");
        assert_eq!(
            ctx().format_full(&ApiTime::parse("2026-11-20T07:41:07Z")),
            "Fri 20 Nov 2026 08:41:07 +01"
        );
    }
}
