//! CSV: an email as one record, with masked codes and no formulas.

use crate::mail::{Address, ApiTime, Summary};
use crate::text::secrets::Secrets;

/// A column of an exported set: its name, as in the API, and its value of an email,
/// in which codes are shown or masked.
type Column = (&'static str, fn(&Summary, Secrets) -> String);

const COLUMNS: [Column; 11] = [
    ("id", |mail, _| mail.id.to_safe_text().to_string()),
    ("created_at", |mail, _| mail.created.format_utc()),
    ("last_event", |mail, _| mail.status.api_name().to_owned()),
    ("to", |mail, _| join_addresses(&mail.to)),
    ("cc", |mail, _| join_addresses(&mail.cc)),
    ("bcc", |mail, _| join_addresses(&mail.bcc)),
    ("from", Summary::shown_from),
    ("reply_to", |mail, _| join_addresses(&mail.reply_to)),
    ("subject", |mail, secrets| {
        mail.shown_subject(secrets).into_owned()
    }),
    ("scheduled_at", |mail, _| {
        let scheduled = mail.scheduled.as_ref();
        scheduled.map(ApiTime::format_utc).unwrap_or_default()
    }),
    ("message_id", |mail, _| mail.message_id.to_string()),
];

/// Returns the first line of an exported set.
pub(super) fn csv_header() -> String {
    csv_record(COLUMNS.map(|(name, _)| name.to_owned())) + "\n"
}

pub(super) fn csv_line(summary: &Summary, secrets: Secrets) -> String {
    csv_record(COLUMNS.map(|(_, value)| value(summary, secrets))) + "\n"
}

/// Formats addresses as a header does, separated by commas.
pub(crate) fn join_addresses(list: &[Address]) -> String {
    let list: Vec<String> = list.iter().map(Address::to_mailbox).collect();
    list.join(", ")
}

pub(crate) fn csv_record(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|text| csv_field(&text)).collect();
    cells.join(",")
}

/// Formats a field.
///
/// One that starts like a formula gets an apostrophe, which spreadsheets take for "text".
fn csv_field(text: &str) -> String {
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
            csv_record(cells.map(str::to_owned)),
            "plain,\"a,b\",\"say \"\"hi\"\"\",'=1+1,'+49,'-x,'@cmd,\"' =HYPERLINK(\"\"x\"\",1)\",,\"two\nlines\",a=b"
        );
    }
}
