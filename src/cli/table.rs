//! An email as one line: fields between tabs for programs, aligned columns for people.

use clap::ValueEnum;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::args::NO_HELP;
use crate::archive::EmailRow;
use crate::mail::{Address, ApiTime, Status, Summary};

/// The width of a status: symbol, blank, the longest word.
const STATUS_WIDTH: usize = 12;
/// The width of a time, `20 Nov 09:41`.
const TIME_WIDTH: usize = 12;
/// The width of a UUID.
const ID_WIDTH: usize = 36;
/// From this width on the id is shown.
const MIN_WIDTH_WITH_ID: usize = 110;

/// Time in UTC, status, recipients, subject and id between tabs, for cut and grep.
pub(super) fn tab_separated(summary: &Summary) -> String {
    let time = summary
        .created
        .parsed
        .map_or_else(|| summary.created.raw.to_string(), |at| at.to_string());
    let to: Vec<String> = summary
        .to
        .iter()
        .map(|address| address.email.to_string())
        .collect();
    [
        &time,
        summary.status.label(),
        &to.join(","),
        &summary.subject,
        &summary.id.to_safe_text(),
    ]
    .join("\t")
}

/// How rows for people look.
#[derive(Debug, Clone)]
pub(super) struct RowLayout {
    /// Their whole width.
    pub(super) width: u16,
    /// Whether the status is coloured.
    pub(super) colour: bool,
    /// The zone of the times.
    pub(super) zone: TimeZone,
    /// The present; a time of another year is shown as a date.
    pub(super) now: Timestamp,
}

impl RowLayout {
    /// Status, recipient, subject, time and, if it fits, the id; a mark says that the service no
    /// longer has it.
    pub(super) fn format_row(&self, summary: &Summary, gone: bool) -> String {
        let width = usize::from(self.width);
        let with_id = width >= MIN_WIDTH_WITH_ID;
        let fixed = STATUS_WIDTH + 1 + 2 + TIME_WIDTH + if with_id { 1 + ID_WIDTH } else { 0 };
        let free = width.saturating_sub(fixed);
        let (recipient, subject) = (free * 2 / 5, free - free * 2 / 5);
        let others = summary.to.len().saturating_sub(1);
        // As on the screen: who looks for a customer looks for the address, and the name would push it out.
        let first = summary
            .to
            .first()
            .map(|address| address.email.to_string())
            .unwrap_or_default();
        let plus = if others > 0 {
            format!(" +{others}")
        } else {
            String::new()
        };
        let to = format!(
            "{}{plus}",
            fit_width(&first, recipient.saturating_sub(plus.width())).trim_end()
        );
        let sign = if gone { "†" } else { " " };
        let status = fit_width(
            &format!(
                "{}{sign}{}",
                summary.status.symbol(),
                summary.status.label()
            ),
            STATUS_WIDTH,
        );
        let time = self.format_time(&summary.created);
        let mut row = format!(
            "{} {} {} {time:>TIME_WIDTH$}",
            self.colour_status(&status, &summary.status),
            fit_width(&to, recipient),
            fit_width(&summary.subject, subject)
        );
        if with_id {
            row.push(' ');
            row.push_str(&summary.id.to_safe_text());
        }
        row
    }

    fn format_time(&self, stamp: &ApiTime) -> String {
        let Some(at) = stamp.parsed else {
            return fit_width(&stamp.raw, TIME_WIDTH);
        };
        let (then, now) = (
            at.to_zoned(self.zone.clone()),
            self.now.to_zoned(self.zone.clone()),
        );
        let form = if then.year() == now.year() {
            "%e %b %H:%M"
        } else {
            "%Y-%m-%d"
        };
        then.strftime(form).to_string()
    }

    fn colour_status(&self, text: &str, status: &Status) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match status {
            Status::Bounced
            | Status::Complained
            | Status::Failed
            | Status::Suppressed
            | Status::DeliveryDelayed => "31",
            Status::Delivered | Status::Opened | Status::Clicked => "32",
            Status::Scheduled
            | Status::Queued
            | Status::Canceled
            | Status::Sent
            | Status::Unknown
            | Status::Other(_) => "33",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// The text in exactly `width` columns: filled with blanks, or cut with an ellipsis.
fn fit_width(text: &str, width: usize) -> String {
    let full = text.width();
    if full <= width {
        return format!("{text}{:pad$}", "", pad = width - full);
    }
    let (mut kept, mut used) = (String::new(), 0);
    for grapheme in text.graphemes(true) {
        let wide = grapheme.width();
        if used + wide + 1 > width {
            break;
        }
        kept.push_str(grapheme);
        used += wide;
    }
    if used < width {
        kept.push('…');
        used += 1;
    }
    format!("{kept}{:pad$}", "", pad = width - used)
}

/// A column that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Column {
    /// When the service accepted it, in UTC.
    #[value(help = NO_HELP)]
    Created,
    /// The status in one word.
    #[value(help = NO_HELP)]
    Status,
    /// When the status was seen to change, in UTC.
    #[value(help = NO_HELP)]
    Changed,
    /// When the service has confirmed the status, in UTC.
    #[value(help = NO_HELP)]
    Checked,
    /// When the service was found to list it no more, in UTC.
    #[value(help = NO_HELP)]
    Gone,
    /// Recipients.
    #[value(help = NO_HELP)]
    To,
    /// Copy recipients.
    #[value(help = NO_HELP)]
    Cc,
    /// Blind-copy recipients.
    #[value(help = NO_HELP)]
    Bcc,
    /// The sender.
    #[value(help = NO_HELP)]
    From,
    /// Where answers go.
    #[value(help = NO_HELP)]
    ReplyTo,
    /// The subject.
    #[value(help = NO_HELP)]
    Subject,
    /// When it is to be sent, in UTC.
    #[value(help = NO_HELP)]
    Scheduled,
    /// The id.
    #[value(help = NO_HELP)]
    Id,
    /// The message id.
    #[value(help = NO_HELP)]
    MessageId,
}

impl Column {
    /// The name in `--columns` and in the header.
    pub(super) fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }

    /// What it holds for an email; without tabs and line feeds.
    pub(super) fn value(self, row: &EmailRow) -> String {
        let mail = &row.summary;
        match self {
            Self::Created => format_utc(&mail.created),
            Self::Status => mail.status.label().to_owned(),
            Self::Changed => row
                .last_change
                .as_ref()
                .map(|change| change.seen.to_string())
                .unwrap_or_default(),
            Self::Checked => row
                .confirmed_at
                .map(|at| at.to_string())
                .unwrap_or_default(),
            Self::Gone => row
                .missing
                .map(|gone| gone.noticed.to_string())
                .unwrap_or_default(),
            Self::To => join_addresses(&mail.to),
            Self::Cc => join_addresses(&mail.cc),
            Self::Bcc => join_addresses(&mail.bcc),
            Self::From => mail.from.to_string(),
            Self::ReplyTo => join_addresses(&mail.reply_to),
            Self::Subject => mail.subject.to_string(),
            Self::Scheduled => mail.scheduled.as_ref().map(format_utc).unwrap_or_default(),
            Self::Id => mail.id.to_safe_text().to_string(),
            Self::MessageId => mail.message_id.to_string(),
        }
    }
}

fn join_addresses(addresses: &[Address]) -> String {
    addresses
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn format_utc(stamp: &ApiTime) -> String {
    stamp
        .parsed
        .map_or_else(|| stamp.raw.to_string(), |at| at.to_string())
}

/// One line with its end.
pub(super) fn format_record<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let cells: Vec<String> = cells
        .into_iter()
        .map(|text| format_field(text.as_ref()))
        .collect();
    cells.join(",") + "\n"
}

/// A cell that begins like a formula is led by an apostrophe, which spreadsheets take for "text".
fn format_field(text: &str) -> String {
    let guard = if text
        .trim_start()
        .starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r'])
    {
        "'"
    } else {
        ""
    };
    if text.contains([',', '"', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        return format!("\"{guard}{}\"", text.replace('"', "\"\""));
    }
    format!("{guard}{text}")
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

    fn columns(width: u16) -> RowLayout {
        let zone = TimeZone::get("Europe/Madrid").unwrap_or(TimeZone::fixed(jiff::tz::offset(1)));
        RowLayout {
            width,
            colour: false,
            zone,
            now: "2026-11-20T12:00:00Z".parse().unwrap(),
        }
    }

    #[test]
    fn fields_hold_no_tab_of_their_own() {
        let row = tab_separated(&summary(
            &["Ana <ana@example.com>", "b@example.org"],
            "a\tb\u{1b}[31m\nc",
            "delivered",
        ));
        assert_eq!(
            row,
            "2026-11-20T08:41:07.5Z\tdelivered\tana@example.com,b@example.org\ta b\u{fffd}[31m c\t49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"
        );
    }

    #[test]
    fn rows_are_aligned_whatever_is_in_them() {
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
                let row = columns(width).format_row(row, false);
                assert!(row.width() <= usize::from(width).max(60), "{width}: {row}");
            }
        }
        insta::assert_snapshot!(rows.iter().map(|row| columns(80).format_row(row, false)).collect::<Vec<_>>().join("\n"), @r"
        ✓ delivered  ana.lopez@example.com Your receipt #4821               20 Nov 09:41
        ✕ bounced    sato@example.jp +1    ご注文の確認 ご注文の確認 ご注…  20 Nov 09:41
        ? teleporte…                                                        20 Nov 09:41
        ");
    }

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        let cells = [
            "plain",
            "a,b",
            "say \"hi\"",
            "=1+1",
            "+49",
            "-x",
            "@cmd",
            " =HYPERLINK(\"x\",1)",
            "",
            "two\nlines",
            "a=b",
        ];
        assert_eq!(
            format_record(cells),
            "plain,\"a,b\",\"say \"\"hi\"\"\",'=1+1,'+49,'-x,'@cmd,\"' =HYPERLINK(\"\"x\"\",1)\",,\"two\nlines\",a=b\n"
        );
    }
}
