//! Properties that hold for any html.

use proptest::prelude::*;

use super::*;
use crate::render::body::spans_width;

/// Generates fragments of valid and invalid markup; `#` becomes a new word.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "# ",
        "<p>#</p>",
        "<div>#",
        "</div>",
        "<b>#</b>",
        "<i>#",
        "</i>",
        "<br>",
        "<ul><li>#",
        "</ul>",
        "<ol><li>#</ol>",
        "<blockquote>#",
        "</blockquote>",
        "<table><tr><td>#",
        "<td>#",
        "<tr><td>#<td>#",
        "</table>",
        "<td colspan=3>#",
        "<td rowspan=2>#",
        "<h1>#</h1>",
        "<hr>",
        "<a href='https://example.com/'>#</a>",
        "<a href=x style='background:red;padding:9px'>#</a>",
        "<pre>#\n#</pre>",
        "<span style='display:block'>#</span>",
        "<div style='display:inline-block'>#</div>",
        "<center>#</center>",
        "<font color=red>#",
        "&nbsp;#",
        "日本語 # ",
        "<td width=10>#",
        "<th>#",
        "<caption>#",
        "<li>#",
        "<dd>#",
        "<p style='float:left'>#",
        "</p>",
        "</td>",
        "<div dir=rtl>#",
        "<section>#</section>",
        "<table><caption>#",
        "<select><option>#</select>",
    ])
}

/// Generates html of such fragments, with the words `w0z`, `w1z`, ... in order.
fn html() -> impl Strategy<Value = (String, usize)> {
    prop::collection::vec(piece(), 0..25).prop_map(|pieces| {
        let mut count = 0;
        let mut html = String::new();
        for part in pieces.concat().split_inclusive('#') {
            if let Some(before) = part.strip_suffix('#') {
                html.push_str(before);
                html.extend(["w", &count.to_string(), "z"]);
                count += 1;
            } else {
                html.push_str(part);
            }
        }
        (html, count)
    })
}

/// Returns the words of a text, also those that are cut over two lines.
fn words(text: &str) -> Vec<String> {
    let joined: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    let numbered = |word: &String| word[1..].parse::<usize>().is_ok();
    joined
        .split('z')
        .filter_map(|part| part.rfind('w').map(|at| part[at..].to_owned()))
        .filter(numbered)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_word_is_shown_once_in_order((html, count) in html(), width in prop::sample::select(vec![20_u16, 40, 80, 120])) {
        let body = super::super::lay_out_html(&html, width);
        let text = body.text();
        let mut shown = words(&text);
        let mut expected: Vec<String> = (0..count).map(|i| format!("w{i}")).collect();
        if html.contains("<t") || html.contains("float") {
            // Cells and floats of several lines are side by side, so their words are interleaved.
            shown.sort_unstable();
            expected.sort_unstable();
        }
        prop_assert_eq!(shown, expected, "{}", text);
    }

    #[test]
    fn lines_fit_unless_they_are_marked_wide((html, _) in html(), width in 1..60_u16) {
        for line in super::super::lay_out_html(&html, width).lines {
            prop_assert!(line.wide || spans_width(&line.spans) <= usize::from(width), "{:?}", line.text());
        }
    }

    #[test]
    fn unwrapped_paragraph_is_one_line(text in "([a-z日本]{1,12} ?){1,20}", width in 8..40_u16) {
        let copied = super::super::lay_out_html(&format!("<p>{text}"), width).unwrapped_text();
        prop_assert_eq!(copied.trim_end(), text.trim_end());
    }

    #[test]
    fn random_markup_gives_no_control_characters(soup in "([<>/=\"'&;#!-]|[a-z]{1,4}|td|tr|table|style|\\PC|\u{1b}|\u{9b}|\u{202e}){0,80}", width in 0..100_u16) {
        let body = super::super::lay_out_html(&soup, width);
        let bad = |c: char| c.is_control() || c == '\u{202e}';
        prop_assert!(!body.lines.iter().any(|line| line.text().chars().any(bad)));
    }

    #[test]
    fn repeated_layout_gives_the_same_body((html, _) in html(), other in 8..200_u16) {
        let document = Document::from_html(&html);
        let first = document.lay_out(60);
        let _ = document.lay_out(other);
        prop_assert_eq!(first, document.lay_out(60));
    }
}

#[test]
fn output_grows_linearly_with_the_source() {
    // Twice the source may give twice the lines and spans, plus a little for the ends.
    for unit in [
        "<div><p>text</p>",
        "<table><tr><td>a<td>b",
        "<ul><li>x",
        "<a href=y>z</a> ",
        "<td>q",
    ] {
        let spans = |times: usize| -> usize {
            super::super::lay_out_html(&unit.repeat(times), 80)
                .lines
                .iter()
                .map(|line| line.spans.len() + 1)
                .sum()
        };
        let (once, twice) = (spans(100), spans(200));
        assert!(twice <= once * 2 + 60, "{unit}: {once} then {twice}");
    }
}

/// Prints what a parsed document costs while it is kept.
///
/// `cargo test --lib parsed_document_costs -- --ignored --nocapture`
#[cfg(target_os = "linux")]
#[test]
#[ignore = "a measurement of the memory of the whole process"]
#[expect(clippy::disallowed_macros, reason = "the figures are the result")]
fn parsed_document_costs_under_eight_times_source() {
    let resident_kib = || -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        line.unwrap()
            .split_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap()
    };
    let card = "<table width='100%'><tr><td style='padding:16px'><img src='https://example.com/i.png' width=280 height=160 alt='A picture'><h2>A story</h2><p style='font-size:14px;line-height:21px'>Some sentences about what happened, with <b>weight</b> and a <a href='https://example.com/a'>link</a>.</p></td></tr></table>";
    for (cards, count) in [(10, 100), (300, 10), (3_000, 3)] {
        let html = card.repeat(cards);
        drop(Document::from_html(&html));
        let before = resident_kib();
        let kept: Vec<Document> = (0..count).map(|_| Document::from_html(&html)).collect();
        let kib = resident_kib().saturating_sub(before) / count;
        drop(kept);
        let source_kib = html.len() / 1024;
        println!("{source_kib} KiB of html: {kib} KiB kept");
        assert!(kib < source_kib * 8 + 64);
    }
}
