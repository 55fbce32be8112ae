//! Cuts very long URLs in the middle, so that they take two lines of the screen.

use super::body::{Body, BodyLine, BodySpan, LineEnd, SpanRole};

/// URLs on fewer lines are shown whole.
const MIN_LINES: usize = 4;

/// Keeps the first and the last line of each long URL; copying still has the whole.
pub(super) fn cut_long_urls(body: &mut Body) {
    let mut lines = std::mem::take(&mut body.lines).into_iter().peekable();
    while let Some(first) = lines.next() {
        let mut url = vec![first];
        while url[url.len() - 1].end == LineEnd::Split
            && let Some(next) = lines.next()
        {
            url.push(next);
        }
        if url.len() >= MIN_LINES && is_url(&url) {
            cut(&mut url);
        }
        body.lines.append(&mut url);
    }
}

/// True if one URL starts in the first line and ends in the last.
fn is_url(lines: &[BodyLine]) -> bool {
    let text = lines[0].text();
    let middle = &lines[1..lines.len() - 1];
    // A script without spaces goes on in other letters.
    let is_part = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let start = text.split_once("://");
    start.is_some_and(|(_, rest)| is_part(rest))
        && middle.iter().all(|line| is_part(&text_of(line)))
}

fn cut(url: &mut Vec<BodyLine>) {
    let last = url.len() - 1;
    let middle: String = url.drain(1..last).map(|line| text_of(&line)).collect();
    let first = &mut url[0];
    let Some(end) = first.spans.last_mut() else {
        return;
    };
    // The mark takes the column of the last character.
    let hidden: String = end.text.pop().into_iter().collect();
    let style = end.style;
    first.spans.push(BodySpan {
        text: "…".into(),
        // Copying leaves it out.
        style: super::body::SpanStyle {
            role: SpanRole::Indent,
            ..style
        },
    });
    first.hidden = Some((hidden + &middle).into());
}

/// Returns the text of a line without the prefix that all lines have.
fn text_of(line: &BodyLine) -> String {
    line.text().split_off(line.prefix)
}

#[cfg(test)]
mod tests {
    use super::super::{Document, LayoutOptions};

    #[test]
    fn unspaced_text_after_url_is_not_cut() {
        let text =
            "詳細はhttps://example.com/shopをご覧ください。".to_owned() + &"ご注文".repeat(60);
        let options = LayoutOptions {
            for_screen: true,
            ..40.into()
        };
        let body = Document::from_html(&format!("<p>{text}")).lay_out(options);
        let mut cut = body.clone();
        super::cut_long_urls(&mut cut);
        assert!(body.lines.len() > 5);
        assert_eq!(cut, body);
    }

    #[test]
    fn long_url_is_cut_but_copied_whole() {
        let url = format!("https://example.com/{}", "abcdefgh/".repeat(30));
        let page = format!("<p>See {url} for more.</p><p>And https://example.com/short</p>");
        let document = Document::from_html(&page);
        let options = LayoutOptions {
            for_screen: true,
            ..40.into()
        };
        let mut body = document.lay_out(options);
        super::cut_long_urls(&mut body);
        let text = body.text();
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains('…') && text.contains("for more."), "{text}");
        let copied = body.unwrapped_text();
        assert!(
            copied.contains(&format!("See {url} for more.\n")),
            "{copied}"
        );
        assert_eq!(copied, document.lay_out(40).unwrapped_text());
    }
}
