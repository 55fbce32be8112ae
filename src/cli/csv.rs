//! CSV for spreadsheets: quoted where it must be, and no cell that a spreadsheet would compute.

/// One line with its end.
#[must_use]
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
