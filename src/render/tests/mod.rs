//! Tests of the whole renderer: features of real emails, properties, hostile input.

mod breaks;
mod buttons;
mod cells;
mod code;
mod columns;
mod findings;
mod generated;
mod hostile;
mod images;
mod indents;
mod inputs;
mod lists;
mod marks;
mod menus;
mod parts;
mod properties;
mod records;
mod signs;
mod tables;
mod visibility;

use super::*;

/// Returns the lines of html laid out at a width.
fn shown(html: &str, width: u16) -> Vec<String> {
    super::lay_out_html(html, width)
        .lines
        .iter()
        .map(|line| line.text().trim_end().to_owned())
        .collect()
}

/// Returns the lines that are not blank.
fn shown_text(html: &str, width: u16) -> Vec<String> {
    let mut lines = shown(html, width);
    lines.retain(|line| !line.is_empty());
    lines
}

/// Checks that html looks the same at 40, 80 and 120 columns.
#[track_caller]
fn assert_shown(html: &str, lines: &[&str]) {
    for width in [40, 80, 120] {
        assert_eq!(shown(html, width), lines, "{width} columns: {html}");
    }
}

/// Returns html laid out at 80 columns as text.
fn text(html: &str) -> String {
    super::lay_out_html(html, 80).text()
}

/// Returns the style of the first span that contains `text`.
fn style(body: &Body, text: &str) -> SpanStyle {
    let spans = body.lines.iter().flat_map(|line| &line.spans);
    spans
        .into_iter()
        .find(|span| span.text.contains(text))
        .expect("the text is shown")
        .style
}
