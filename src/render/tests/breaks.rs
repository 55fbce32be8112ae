//! Where lines of html break, and where they stay whole.

use super::*;

#[test]
fn nowrap_text_stays_on_one_line() {
    let before = "We ask you to pay the sum of";
    for sum in [
        "<nobr>1 234,56 euros</nobr>",
        "<span style='white-space:nowrap'>1 234,56 <b>euros</b></span>",
    ] {
        let html = format!("<p>{before} {sum} to our account");
        let lines = [before, "1 234,56 euros to our account"];
        assert_eq!(shown(&html, 40), lines, "{sum}");
    }
    let row = "<tr><td nowrap>1 January to 3 March<td>measured by our people and then counted";
    let table = format!("<table border=1>{row}{row}</table>");
    let lines = [
        "1 January to 3 March  measured by our",
        "                      people and then",
        "                      counted",
    ];
    assert_eq!(shown(&table, 40)[..3], lines);
}

#[test]
fn nowrap_text_breaks_if_it_is_too_wide() {
    let words = "one two three four five six seven eight nine ten";
    let html = format!("<p>Count: <nobr>{words}</nobr>");
    let lines = [
        "Count: one two three",
        "four five six seven",
        "eight nine ten",
    ];
    assert_eq!(shown(&html, 20), lines);
}

#[test]
fn line_may_break_before_and_after_nowrap_text() {
    let html = "<p>aaaa bbbb <nobr>cc dd</nobr> eeee <nobr> ff gg </nobr> hhhh";
    assert_eq!(shown(html, 10), ["aaaa bbbb", "cc dd eeee", "ff gg hhhh"]);
}
