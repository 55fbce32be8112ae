//! Signs in place of what plain text cannot show: raised digits, tabs, drawn lines.

use super::*;

#[test]
fn raised_digits_do_not_join_the_number_before() {
    for (html, expected) in [
        ("Only $19<sup>99</sup> today", "Only $19⁹⁹ today"),
        ("10<sup>-6</sup> and H<sub>2</sub>O", "10⁻⁶ and H₂O"),
        ("note<sup><a href=https://example.com>2</a></sup>", "note²"),
        (
            "text<sup>[<a href=https://example.com>2</a>]</sup>",
            "text[2]",
        ),
        ("the 1<sup>st</sup>, x<sup>2y</sup>", "the 1st, x2y"),
    ] {
        assert_eq!(shown(html, 40), [expected]);
    }
}

#[test]
fn tabs_in_preformatted_text_reach_tab_stops() {
    let html = "<pre>if x:\n\ty\n\t\tz\na<b>b\tc</b>\n1234567\t8\nlong text\t9</pre><p>a\tb</p>";
    let lines = [
        "if x:",
        "        y",
        "                z",
        "ab      c",
        "1234567 8",
        "long text       9",
        "",
        "a b",
    ];
    assert_eq!(shown(html, 40), lines);
}

#[test]
fn drawn_line_is_cut_to_the_width() {
    let html = format!(
        "<blockquote><div>{}</div><div>Join</div></blockquote>",
        "_".repeat(80)
    );
    assert_eq!(shown(&html, 20), ["> __________________", "> Join"]);
    let title = format!("<p>== {} ==</p>", "=".repeat(20));
    assert!(shown(&title, 20).len() > 1);
}

#[test]
fn annotations_of_ruby_are_in_parentheses() {
    for ruby in [
        "<ruby>漢<rt>kan</rt></ruby>字",
        "<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>字",
    ] {
        assert_shown(ruby, &["漢(kan)字"]);
    }
}
