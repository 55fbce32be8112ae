//! Masks one-time codes and single-use links in a laid-out body.

use std::ops::Range;

use linkify::{LinkFinder, LinkKind as FoundKind};
use unicode_width::UnicodeWidthChar as _;

use super::body::{Body, BodyLine, LineEnd, LinkFlag};
use super::links;
use crate::text::secrets;

/// Replaces each character of a code, and of a single-use URL behind its host, by `mark`; a wide
/// character by two, so that the layout stays.
pub(super) fn mask_body(body: &mut Body, mark: char) {
    let text = joined_text(&body.lines);
    let mut secrets = secrets::find_codes(&text);
    secrets.extend(find_single_use_urls(&text));
    if secrets.is_empty() {
        return;
    }
    secrets.sort_by_key(|range| range.start);
    let mut secrets = secrets.into_iter().peekable();
    let mut position = 0;
    for line in &mut body.lines {
        for span in &mut line.spans {
            let mut masked = String::with_capacity(span.text.len());
            for c in span.text.chars() {
                while secrets.next_if(|range| range.end <= position).is_some() {}
                let is_secret = secrets
                    .peek()
                    .is_some_and(|range| range.contains(&position));
                let mask = if is_secret {
                    secrets::mask_char(c, mark)
                } else {
                    c
                };
                let columns = if mask == c {
                    1
                } else {
                    c.width().unwrap_or(1).max(1)
                };
                masked.extend(std::iter::repeat_n(mask, columns));
                position += c.len_utf8();
            }
            span.text = masked;
        }
        position += separator(line.end).len();
    }
}

/// Returns the text of the lines as it was before wrapping, with every span.
fn joined_text(lines: &[BodyLine]) -> String {
    let mut text = String::new();
    for line in lines {
        line.spans.iter().for_each(|span| text.push_str(&span.text));
        text.push_str(separator(line.end));
    }
    text
}

const fn separator(end: LineEnd) -> &'static str {
    match end {
        LineEnd::Newline => "\n",
        LineEnd::Space => " ",
        LineEnd::Split => "",
    }
}

/// Returns the parts of single-use URLs in `text` that follow their host.
fn find_single_use_urls(text: &str) -> Vec<Range<usize>> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[FoundKind::Url]);
    let urls = finder.links(text).filter(|link| {
        let found = links::inspect_link("", link.as_str());
        found.flags.contains(&LinkFlag::SingleUse)
    });
    urls.filter_map(|link| {
        let host = link.as_str().find("://")? + 3;
        let path = host + link.as_str()[host..].find(['/', '?', '#'])? + 1;
        Some(link.start() + path..link.end())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::lay_out_html;
    use super::*;

    fn masked(html: &str, width: u16) -> String {
        let mut body = lay_out_html(html, width);
        let before: Vec<usize> = body
            .lines
            .iter()
            .map(|line| super::super::body::spans_width(&line.spans))
            .collect();
        mask_body(&mut body, '•');
        let after: Vec<usize> = body
            .lines
            .iter()
            .map(|line| super::super::body::spans_width(&line.spans))
            .collect();
        assert_eq!(before, after);
        body.text()
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
