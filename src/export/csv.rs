//! CSV: an email as one record, with masked codes and no formulas.

use crate::mail::{Address, ApiTime, Summary};

/// The names of the columns of an exported set.
const COLUMNS: [&str; 11] = [
    "id",
    "created_at",
    "last_event",
    "to",
    "cc",
    "bcc",
    "from",
    "reply_to",
    "subject",
    "scheduled_at",
    "message_id",
];

/// Returns the first line of an exported set.
pub(super) fn csv_header() -> String {
    csv_record(COLUMNS.map(str::to_owned)) + "\n"
}

/// Returns the line of an email, with statuses and names of columns as in the API,
/// times in UTC.
pub(super) fn csv_line(summary: &Summary, masks_codes: bool) -> String {
    let cells = [
        summary.id.to_safe_text().to_string(),
        summary.created.format_utc(),
        summary.status.api_name().to_owned(),
        join_addresses(&summary.to),
        join_addresses(&summary.cc),
        join_addresses(&summary.bcc),
        summary.shown_from(!masks_codes),
        join_addresses(&summary.reply_to),
        summary.shown_subject(!masks_codes).into_owned(),
        summary
            .scheduled
            .as_ref()
            .map(ApiTime::format_utc)
            .unwrap_or_default(),
        summary.message_id.to_string(),
    ];
    csv_record(cells) + "\n"
}

/// Formats addresses with their names, separated by commas.
pub(crate) fn join_addresses(list: &[Address]) -> String {
    let list: Vec<String> = list.iter().map(ToString::to_string).collect();
    list.join(", ")
}

/// Formats a record of a CSV file.
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
