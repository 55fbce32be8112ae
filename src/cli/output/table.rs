//! An email as one line: fields between tabs for programs,
//! aligned columns for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{CommandExit, Output, OutputFormat};
use crate::archive::Outcome;
use crate::cli::ProfileContext;
use crate::error::Result;
use crate::mail::{ApiTime, NO_SUBJECT, Status, Summary};
use crate::text::format::format_by_age;
use crate::text::secrets::Secrets;
use crate::text::width::{DisplayWidth as _, align_left};

/// The width of a status: symbol of one column, space, the longest word.
const STATUS_WIDTH: usize = 12;
/// The width of a time, `20 Nov 09:41`.
const TIME_WIDTH: usize = 12;
const ID_WIDTH: usize = 36;
/// From this width on the id is on the line of its email, else on a line below it.
const MIN_WIDTH_WITH_ID: usize = 110;

/// Prints emails one by one in the format of the output.
pub(in crate::cli) struct RowPrinter<'a> {
    pub(in crate::cli) layout: RowLayout,
    pub(in crate::cli) out: &'a mut Output,
    /// Number of emails printed so far.
    pub(in crate::cli) printed: u64,
}

impl<'a> RowPrinter<'a> {
    pub(in crate::cli) fn new(ctx: &'a mut ProfileContext<'_>) -> Self {
        Self {
            layout: RowLayout::new(ctx),
            out: &mut *ctx.out,
            printed: 0,
        }
    }

    /// Prints one email: a line for people, or its JSON, in a list envelope; nothing
    /// without JSON.
    pub(in crate::cli) fn print(
        &mut self,
        line: impl FnOnce(&RowLayout) -> String,
        json: impl FnOnce() -> Result<Option<String>>,
    ) -> Result<(), CommandExit> {
        let text = if self.out.is_json() {
            let Some(json) = json()? else { return Ok(()) };
            match self.out.format {
                OutputFormat::Json => format!("{}\n{json}", self.list_separator(",")),
                _ => json + "\n",
            }
        } else {
            line(&self.layout) + "\n"
        };
        self.printed += 1;
        self.out.write_styled(&text)
    }

    /// Ends the list envelope, and starts it if there was no email.
    pub(in crate::cli) fn end(&mut self, has_more: bool) -> Result<(), CommandExit> {
        if self.out.format == OutputFormat::Json {
            let start = self.list_separator("");
            let end = format!("{start}\n],\"has_more\":{has_more}}}\n");
            self.out.write_data(&end)?;
        }
        self.out.flush()
    }

    fn list_separator(&self, later: &'static str) -> &'static str {
        match self.printed {
            0 => "{\"object\":\"list\",\"data\":[",
            _ => later,
        }
    }
}

#[derive(Debug, Clone)]
pub(in crate::cli) struct RowLayout {
    /// Width of the terminal; without one, fields are separated by tabs.
    pub(in crate::cli) columns: Option<u16>,
    pub(in crate::cli) colour: bool,
    /// Whether statuses have symbols of ASCII, which take two columns.
    pub(in crate::cli) ascii: bool,
    pub(in crate::cli) secrets: Secrets,
    pub(in crate::cli) zone: TimeZone,
    /// The present; a time of another year is shown as a date.
    pub(in crate::cli) now: Timestamp,
}

impl RowLayout {
    pub(in crate::cli) fn new(ctx: &ProfileContext<'_>) -> Self {
        Self {
            columns: ctx.out.columns,
            colour: ctx.out.colour,
            ascii: ctx.out.ascii,
            secrets: ctx.settings.secrets,
            zone: ctx.settings.zone.clone(),
            now: ctx.now(),
        }
    }

    /// Formats an email as one line, or as two on a narrow terminal.
    ///
    /// On a terminal, a mark shows that it is deleted upstream.
    pub(in crate::cli) fn format(&self, summary: &Summary, is_gone: bool) -> String {
        match self.columns {
            Some(width) => self.format_columns(summary, is_gone, width.into()),
            None => self.format_tab_separated(summary),
        }
    }

    /// Formats time (UTC), status, recipients or sender, subject and id,
    /// separated by tabs.
    fn format_tab_separated(&self, summary: &Summary) -> String {
        let others = if summary.status.exists() {
            &*summary.to
        } else {
            std::slice::from_ref(&summary.from)
        };
        let others: Vec<&str> = others.iter().map(|address| &*address.email).collect();
        [
            &*summary.created.format_utc(),
            &self.colour_status(summary.status.api_name().to_owned(), &summary.status),
            &others.join(","),
            &summary.shown_subject(self.secrets),
            &summary.id.to_safe_text(),
        ]
        .join("\t")
    }

    /// Formats status, if there is one, recipient or sender, subject, time and the id.
    fn format_columns(&self, summary: &Summary, is_gone: bool, width: usize) -> String {
        let with_id = width >= MIN_WIDTH_WITH_ID;
        let has_status = summary.status.exists();
        let status_width = STATUS_WIDTH + usize::from(self.ascii);
        let first_width = if has_status { status_width + 1 } else { 2 };
        let fixed = first_width + 2 + TIME_WIDTH + if with_id { 1 + ID_WIDTH } else { 0 };
        let free = width.saturating_sub(fixed);
        let (to_width, subject_width) = (free * 2 / 5, free - free * 2 / 5);
        let plus = match summary.count_recipients() {
            count if has_status && count > 1 => format!(" +{}", count - 1),
            _ => String::new(),
        };
        // As on the screen: the address identifies a customer, and the name would push it out.
        let first = (summary.correspondent()).map_or("", |address| &address.email);
        let first = align_left(first, to_width.saturating_sub(plus.width()), "…");
        let to = format!("{}{plus}", first.trim_end());
        let (mark, symbol) = if self.ascii {
            ("+", summary.status.ascii_symbol())
        } else {
            ("†", summary.status.symbol())
        };
        let mark = if is_gone { mark } else { " " };
        let status = if has_status {
            let text = format!("{symbol}{mark}{}", summary.status.label());
            self.colour_status(align_left(&text, status_width, "…"), &summary.status)
        } else {
            mark.to_owned()
        };
        let subject = match summary.shown_subject(self.secrets) {
            subject if subject.is_empty() => NO_SUBJECT.into(),
            subject => subject,
        };
        let mut row = format!(
            "{status} {} {} {:>TIME_WIDTH$}",
            align_left(&to, to_width, "…"),
            align_left(&subject, subject_width, "…"),
            self.format_time(&summary.created)
        );
        row.push_str(if with_id { " " } else { "\n  " });
        row.push_str(&summary.id.to_safe_text());
        row
    }

    fn format_time(&self, time: &ApiTime) -> String {
        let Some(at) = time.parsed else {
            return align_left(&time.raw, TIME_WIDTH, "…");
        };
        let now = self.now.to_zoned(self.zone.clone());
        let this_year = "%e %b %H:%M";
        format_by_age(at, &now, [this_year, "", this_year, "%Y-%m-%d"])
    }

    fn colour_status(&self, text: String, status: &Status) -> String {
        if !self.colour || text.is_empty() {
            return text;
        }
        let code = match Outcome::from_status(status) {
            _ if status.is_problem() => "31",
            Outcome::Delivered => "32",
            Outcome::InProgress | Outcome::Bounced | Outcome::Complained | Outcome::Other => "33",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::wire;

    fn summary(to: &[&str], subject: &str, event: &str) -> Summary {
        Summary::from(&wire::Summary {
            id: "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794".into(),
            to: Some(to.iter().map(|&address| address.into()).collect()),
            subject: Some(subject.into()),
            created_at: Some("2026-11-20 08:41:07.5+00".into()),
            last_event: Some(event.into()),
            ..wire::Summary::default()
        })
    }

    #[test]
    fn codes_in_subjects_are_masked_unless_revealed() {
        let mail = summary(&["ana@example.com"], "482913 is your code", "delivered");
        for columns in [None, Some(80)] {
            let mut layout = layout(columns);
            assert!(!layout.format(&mail, false).contains("482913"));
            layout.secrets = Secrets::Revealed;
            assert!(layout.format(&mail, false).contains("482913 is your code"));
        }
    }

    fn layout(columns: Option<u16>) -> RowLayout {
        let zone = TimeZone::get("Europe/Madrid").unwrap_or(TimeZone::fixed(jiff::tz::offset(1)));
        RowLayout {
            columns,
            colour: false,
            ascii: false,
            secrets: Secrets::Masked,
            zone,
            now: "2026-11-20T12:00:00Z".parse().unwrap(),
        }
    }

    #[test]
    fn fields_hold_no_tab_of_their_own() {
        let to = ["Ana <ana@example.com>", "b@example.org"];
        let summary = summary(&to, "a\tb\u{1b}[31m\nc", "delivered");
        let row = layout(None).format(&summary, false);
        let expected = "2026-11-20T08:41:07.500000Z\tdelivered\tana@example.com,b@example.org\ta b\u{fffd}[31m c\t49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";
        assert_eq!(row, expected);
    }

    #[test]
    fn ascii_statuses_keep_the_width_of_rows() {
        let mail = summary(&["ana@example.com"], "482913 is your code", "delivered");
        let mut ascii = layout(Some(80));
        ascii.ascii = true;
        let row = ascii.format(&mail, true);
        assert!(row.starts_with("ok+delivered  ana@"), "{row}");
        let first_width = |row: &str| row.lines().next().map(str::width);
        let wide = layout(Some(80)).format(&mail, true);
        assert_eq!(first_width(&row), first_width(&wide));
    }

    #[test]
    fn rows_of_any_content_are_aligned() {
        let rows = [
            summary(
                &["Ana López <ana.lopez@example.com>"],
                "Your receipt #4821",
                "delivered",
            ),
            summary(
                &["佐藤 <sato@example.jp>", "b@example.org"],
                "ご注文の確認 ご注文の確認 ご注文の確認",
                "bounced",
            ),
            summary(&[], "", "teleported-somewhere"),
        ];
        for width in [20, 40, 80, 120, 200] {
            for row in &rows {
                let row = layout(Some(width)).format(row, false);
                for line in row.lines() {
                    assert!(
                        line.width() <= usize::from(width).max(60),
                        "{width}: {line}"
                    );
                }
            }
        }
        insta::assert_snapshot!(rows.iter().map(|row| layout(Some(80)).format(row, false)).collect::<Vec<_>>().join("\n"), @r"
        ✓ delivered  ana.lopez@example.com Your receipt #4821               20 Nov 09:41
          49a3999c-0ce1-4ea6-ab68-afcd6dc2e794
        ✕ bounced    sato@example.jp +1    ご注文の確認 ご注文の確認 ご注…  20 Nov 09:41
          49a3999c-0ce1-4ea6-ab68-afcd6dc2e794
        ? teleporte…                       (no subject)                     20 Nov 09:41
          49a3999c-0ce1-4ea6-ab68-afcd6dc2e794
        ");
    }
}
