//! Lines of code and drawn tables that are wider than the screen.

use super::*;

#[test]
fn rest_of_a_long_code_line_is_indented() {
    for (code, lines) in [
        (
            "2026-11-29 12:00 ERROR the application went wrong",
            ["2026-11-29 12:00 ERROR the application", "  went wrong"],
        ),
        (
            "  File \"/usr/lib/python3/foo.py\", line 327, in run",
            [
                "  File \"/usr/lib/python3/foo.py\", line",
                "    327, in run",
            ],
        ),
        (
            "This line of an old text mail is prose and goes on",
            ["This line of an old text mail is prose", "and goes on"],
        ),
    ] {
        assert_eq!(shown(&format!("<pre>{code}</pre>"), 40), lines);
    }
    let html = "<p style='white-space:pre-wrap'>2026 was a good year for the people of the town";
    let lines = ["2026 was a good year for the people of", "the town"];
    assert_eq!(shown(html, 40), lines);
}

#[test]
fn indent_of_the_rest_is_no_text() {
    let body = super::lay_out_html("<ul><li><pre>+ one two three four</pre></ul>", 20);
    let rest = &body.lines[1];
    assert_eq!(rest.text().split_off(rest.prefix), "four");
}

#[test]
fn word_that_fills_a_code_line_stays_whole() {
    let url = format!("https://example.com/{}", "x".repeat(19));
    let lines = shown(&format!("<pre>- see {url}</pre>"), 40);
    assert_eq!(lines, ["- see", &url]);
}

#[test]
fn drawn_table_is_a_wide_block() {
    let row = "| 1  ".repeat(20) + "|";
    let body = super::lay_out_html(&format!("<pre>{row}\n{row}</pre>"), 40);
    assert!(body.lines.iter().all(|line| line.wide));
    assert_eq!(body.lines[0].text(), row);
    let line = format!("+const total = {} +", "one + ".repeat(9));
    let body = super::lay_out_html(&format!("<pre>{line}</pre>"), 40);
    assert!(body.lines.iter().all(|line| !line.wide));
}

#[test]
fn indent_of_the_rest_is_not_copied() {
    let line = "File \"node_modules/express/lib/router/layer/and/more/of/it.js\", line 95,  in it";
    let body = super::lay_out_html(&format!("<pre>{line}</pre>"), 40);
    assert!(body.lines.len() > 1);
    assert_eq!(body.unwrapped_text().trim_end(), line);
}
