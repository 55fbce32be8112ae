//! The renderer as a whole: one small html for each finding, properties, and hostile input.

mod findings;
mod hostile;
mod parts;
mod properties;

use super::*;

/// The lines of an html source at a width, without looks.
fn shown(html: &str, width: u16) -> Vec<String> {
    super::lay_out_html(html, width)
        .lines
        .iter()
        .map(|line| line.text().trim_end().to_owned())
        .collect()
}

/// The same as one text.
fn text(html: &str) -> String {
    super::lay_out_html(html, 80).text()
}

/// The mark of the first span that holds `words`.
fn mark(body: &Body, words: &str) -> SpanStyle {
    let spans = body.lines.iter().flat_map(|line| &line.spans);
    spans
        .into_iter()
        .find(|span| span.text.contains(words))
        .expect("the words are shown")
        .style
}
