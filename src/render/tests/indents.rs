//! Spaces that indent a line.

use super::*;

#[test]
fn spaces_that_indent_a_line_are_kept() {
    let code = "if (x) {<br>&nbsp;&nbsp;&nbsp;&nbsp;return 1;<br>}";
    assert_shown(code, &["if (x) {", "    return 1;", "}"]);
    assert_shown(
        "<p>One<br>&emsp;two<br>&nbsp; &nbsp;three",
        &["One", "  two", "   three"],
    );
    let cells = "<table><tr><td>Plan<td>$5<tr><td>&nbsp;&nbsp;Seats<td>$3</table>";
    assert_shown(cells, &["Plan     $5", "  Seats  $3"]);
}

#[test]
fn spaces_around_a_text_are_dropped() {
    for html in [
        "&nbsp; One<br>&nbsp;&nbsp;Two&nbsp;&nbsp;<br>&nbsp;&nbsp;",
        "One<div style='text-align:center'>&nbsp;&nbsp;Two</div>&nbsp;&nbsp;",
        "One<table><tr><td align=center>&nbsp;&nbsp;Two</table>",
        "One<center>&nbsp; &nbsp;Two</center>",
    ] {
        assert_shown(html, &["One", "Two"]);
    }
}
