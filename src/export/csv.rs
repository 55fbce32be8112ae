//! CSV: an email as one record, with masked codes and no formulas.

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
