//! Masks one-time codes and single-use links in a laid-out body.

use std::iter::Peekable;
use std::ops::Range;
use std::vec::IntoIter;

use unicode_width::UnicodeWidthChar as _;

use super::blocks::BlockContent;
use super::body::{Body, BodyLine, BodySpan, LineEnd, Link, LinkFlag};
use crate::text::{secret_urls, secrets};

/// Behind a cell; words say nothing about those of the next one.
const CELL_END: &str = " \n";

const BLOCK_END: &str = "\n";

/// Replaces each character of a code, and of a single-use URL behind its host,
/// by a mark; a wide character by two, so that the layout stays.
pub(super) fn mask_body(body: &mut Body) {
    let secrets = find_secrets(body);
    body.has_secrets = is_secret(body, &secrets);
    if secrets.is_empty() {
        return;
    }
    let mut masks = Masks::new(secrets);
    let mut end = LineEnd::Newline;
    for line in &mut body.lines {
        let mut prefix = repeated_prefix(line, end);
        end = line.end;
        for span in &mut line.spans {
            let repeated = span.text.ceil_char_boundary(prefix.min(span.text.len()));
            prefix = prefix.saturating_sub(repeated);
            masks.mask_span(span, repeated, &mut body.links);
        }
        masks.position += line.end.separator().len();
    }
}

/// Returns a copy of blocks with the secrets in tables masked, if there are some.
///
/// The layout wraps a label and cuts a code, each beside another cell.
pub(super) fn mask_cells(content: &BlockContent) -> Option<BlockContent> {
    if content.blocks.iter().all(|block| block.as_row().is_none()) {
        return None;
    }
    let mut text = String::new();
    for block in &content.blocks {
        for paragraph in block.paragraphs() {
            text.push_str(&paragraph.text());
            text.push_str(CELL_END);
        }
        text.push_str(BLOCK_END);
    }
    let secrets = secrets::find_secrets(&text);
    if secrets.is_empty() {
        return None;
    }
    let mut masks = Masks::new(secrets);
    let mut content = content.clone();
    for block in &mut content.blocks {
        for paragraph in block.paragraphs_mut() {
            for run in &mut paragraph.runs {
                masks.mask_span(run, 0, &mut content.links);
            }
            masks.position += CELL_END.len();
        }
        masks.position += BLOCK_END.len();
    }
    Some(content)
}

/// The secrets of a text and how much of it is masked.
struct Masks {
    secrets: Peekable<IntoIter<Range<usize>>>,
    position: usize,
}

impl Masks {
    fn new(secrets: Vec<Range<usize>>) -> Self {
        Self {
            secrets: secrets.into_iter().peekable(),
            position: 0,
        }
    }

    /// Masks the next part of the text, behind bytes of the span that are not part of it.
    fn mask_span(&mut self, span: &mut BodySpan, start: usize, links: &mut [Link]) {
        let (before, text) = span.text.split_at(start);
        let mut masked = String::with_capacity(span.text.len());
        masked.push_str(before);
        for c in text.chars() {
            while self
                .secrets
                .next_if(|range| range.end <= self.position)
                .is_some()
            {}
            let range = self.secrets.peek();
            let is_secret = range.is_some_and(|range| range.contains(&self.position));
            let mask = if is_secret { secrets::mask_char(c) } else { c };
            let columns = if mask == c {
                1
            } else {
                c.width().unwrap_or(1).max(1)
            };
            masked.extend(std::iter::repeat_n(mask, columns));
            self.position += c.len_utf8();
        }
        if let Some(link) = span.style.link.filter(|_| *masked != *span.text)
            && let Some(link) = links.get_mut(usize::from(link))
        {
            link.text = link.text.chars().map(secrets::mask_char).collect();
        }
        span.text = masked.into();
    }
}

fn is_secret(body: &Body, secrets: &[Range<usize>]) -> bool {
    let mut links = body.links.iter();
    !secrets.is_empty() || links.any(|link| link.masked_target().is_some())
}

/// Returns the byte ranges of all secrets in the text of the lines, in order.
fn find_secrets(body: &Body) -> Vec<Range<usize>> {
    secrets::find_secrets(&joined_text(&body.lines))
}

/// Returns the text of the lines as it was before wrapping, byte for byte.
///
/// Of two spaces the second is a line end: they are between the cells of a row, whose words say
/// nothing about each other. What is masked already is no sign of a list.
fn joined_text(lines: &[BodyLine]) -> String {
    let mut text = String::new();
    let mut end = LineEnd::Newline;
    for line in lines {
        let line_text = line.text();
        let own_text = line_text.get(repeated_prefix(line, end)..);
        text.push_str(own_text.unwrap_or_default());
        end = line.end;
        text.push_str(end.separator());
    }
    text.replace("  ", " \n").replace("••", "……")
}

/// The bytes before the text of a line that continues one with this end: quote marks and
/// an indent, which are not between the parts of a code.
fn repeated_prefix(line: &BodyLine, end: LineEnd) -> usize {
    match end {
        LineEnd::Newline => 0,
        LineEnd::Space | LineEnd::Split => line.prefix,
    }
}

impl Link {
    /// Returns the URL with its password masked and, if it works once, what follows the
    /// host; `None` if it has neither.
    pub(crate) fn masked_target(&self) -> Option<String> {
        self.mask_url(&self.target)
    }

    /// Returns the same of the URL behind a click tracker.
    pub(crate) fn masked_behind(&self) -> Option<String> {
        self.mask_url(self.behind.as_deref()?)
    }

    fn mask_url(&self, url: &str) -> Option<String> {
        let mask = secrets::MASK.to_string().repeat(6);
        let mut masked = url.to_owned();
        if self.flags.contains(&LinkFlag::SingleUse) {
            masked.replace_range(secret_urls::path_start(url).., &mask);
        }
        if let Some(password) = secret_urls::find_password(url) {
            masked.replace_range(password, &mask);
        }
        (masked != url).then_some(masked)
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::spans_width;
    use super::super::lay_out_html;
    use super::*;

    fn masked(html: &str, width: u16) -> String {
        let mut body = lay_out_html(html, width);
        let widths = |body: &Body| -> Vec<usize> {
            let lines = body.lines.iter();
            lines.map(|line| spans_width(&line.spans)).collect()
        };
        let before = widths(&body);
        mask_body(&mut body);
        assert_eq!(before, widths(&body));
        body.text()
    }

    #[test]
    fn single_use_url_in_narrow_cell_is_masked() {
        let token = "a1b2c3d4e5f6".repeat(4);
        let row = |n: usize| {
            format!(
                "<tr><td>Number {n}<td>for a person<td>https://acme.example/invite?token={token}</tr>"
            )
        };
        let html = format!("<table>{}</table>", (1..=4).map(row).collect::<String>());
        for width in [40, 60, 80, 100] {
            let text = masked(&html, width);
            assert!(
                text.contains("••••••") && !text.contains("f6a1"),
                "{width}\n{text}"
            );
        }
    }

    #[test]
    fn secret_on_several_lines_is_masked_whole() {
        let url = format!(
            "https://example.com/verify?token={}",
            "a1b2c3d4e5f6".repeat(7)
        );
        let code = "ABCD1234".repeat(4);
        let cells = format!("<table border=1><tr><td>Code<td>{code}<tr><td>Valid<td>1 h</table>");
        for html in [
            format!("<pre>Link:  {url}</pre>"),
            format!("<pre>      {url}</pre>"),
            format!("<pre>- {url}</pre>"),
            format!("<blockquote><pre>&gt; {url}</pre></blockquote>"),
            format!("<blockquote>Link: {url}</blockquote>"),
            format!("<ul><li>Link: {url}</ul>"),
            "<pre>  This is the verification code:    482 913</pre>".to_owned(),
            cells,
        ] {
            for width in (32..=100).step_by(4) {
                let text = masked(&html, width);
                let leaks = [
                    "a1b2", "c3d4", "e5f6", "b2c3", "d4e5", "f6a1", "482", "913", "1234",
                ];
                assert!(
                    !leaks.iter().any(|leak| text.contains(leak)),
                    "{width}\n{text}"
                );
            }
        }
    }

    #[test]
    fn code_beside_another_cell_is_masked() {
        for (row, cell) in [("display:flex", ""), ("", "float:left;width:90px")] {
            let cell = |text: &str| format!("<div style='{cell}'>{text}</div>");
            let html = format!(
                "<p>Your verification code:</p><div style='{row}'>{}{}</div>",
                cell("482913"),
                cell("Order 4711")
            );
            let text = masked(&html, 80);
            assert!(text.contains("••••••  Order 4711"), "{html}\n{text}");
        }
    }

    #[test]
    fn number_beside_its_label_is_not_masked() {
        let code = "<p>Your sign-in code is 739418.</p>";
        let row = |label| format!("{code}<table border=1><tr><td>{label}<td>482133</table>");
        let wide = "<table border=1><tr><td>Order number<td>482133<tr><td>The name of the shop<td>Acme</table>";
        for html in [
            format!(
                "{code}<div style='display:flex;justify-content:space-between'><span>Order</span><span>482133</span></div>"
            ),
            row("Order number"),
            format!("{code}{wide}"),
        ] {
            let text = masked(&html, 80);
            assert!(
                text.contains("482133") && !text.contains("739418"),
                "{text}"
            );
        }
        for label in [
            "Sign-in code",
            "To sign in to your account",
            "Code for your order",
        ] {
            assert!(!masked(&row(label), 80).contains("482133"), "{label}");
        }
    }

    #[test]
    fn code_in_two_cells_is_masked() {
        let label = "<p>Your verification code</p>";
        let spread = "<div style='display:flex;justify-content:space-between'>";
        for html in [
            format!("{label}{spread}<span>482</span><span>913</span></div>"),
            format!("{spread}Your verification code: <b>482</b><b>913</b></div>"),
            format!("{label}<table border=1><tr><td>482<td>913</table>"),
        ] {
            let text = masked(&html, 80);
            assert!(text.contains("•••  •••"), "{html}\n{text}");
        }
        for counts in [
            "<tr><th>Code<th>Sold<th>Left<tr><td>120<td>340<td>560",
            "<tr><th>Code<th>Sold<tr><td>340<td>560",
            "<tr><td>PIN<td>120<td>340<td>560",
        ] {
            let html = format!("<table border=1>{counts}</table>");
            assert!(!masked(&html, 80).contains('•'), "{counts}");
        }
    }

    #[test]
    fn code_in_several_sizes_is_masked() {
        for code in [
            "<b style='font-size:28px'>4829</b><small>13</small>",
            "<kbd>4829</kbd><kbd>13</kbd>",
            "48<span style='font-size:12px'>29</span>13",
            "482<span style='vertical-align:super;font-size:60%'>913</span>",
            "4829<span style='position:relative;top:-6px;font-size:9px'>13</span>",
        ] {
            let text = masked(&format!("<p>Your code: {code}</p>"), 60);
            assert!(text.contains(": ••••••"), "{code}\n{text}");
        }
    }

    #[test]
    fn code_below_its_words_is_masked() {
        let html = "<p>Your sign-in code, valid for 10 minutes:</p><h1>482 <b>913</b></h1><p>Order 4821</p>";
        let text = masked(html, 60);
        assert!(
            text.contains("••• •••") && text.contains("Order 4821"),
            "{text}"
        );
    }

    #[test]
    fn single_use_url_keeps_its_host() {
        let html = "<p>Open https://acme.example/reset?token=abc123def456ghi789 or \
             https://acme.example/help</p>";
        for width in [24, 40, 100] {
            let text = masked(html, width).replace(['\n', ' '], "");
            assert!(text.contains("https://acme.example/•"), "{text}");
            assert!(
                !text.contains("abc123") && text.contains("acme.example/help"),
                "{text}"
            );
        }
    }

    #[test]
    fn body_without_secrets_stays() {
        let html = "<p>Thanks for order 4821. See https://acme.example/orders/4821.</p>";
        assert!(!masked(html, 40).contains('•'));
    }
}
