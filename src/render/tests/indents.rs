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

#[test]
fn single_space_indents_a_line_of_code() {
    let html = "<tt>Pos&nbsp; Item<br>&nbsp;10&nbsp; Shaft<br><code>&nbsp;x&nbsp;</code></tt>";
    assert_shown(html, &["Pos  Item", " 10  Shaft", "x"]);
    let html = "<tt>&nbsp;1 a<br>&nbsp;<b>2</b> b<br>&nbsp;<a href=x>3</a> c</tt>";
    assert_shown(html, &[" 1 a", " 2 b", " 3 c"]);
    let html = "&nbsp;<a href=https://acme.example>View</a>";
    assert_shown(html, &["View"]);
}

#[test]
fn tables_do_not_inherit_align_attributes() {
    let table = "<table><tr><td>One<br>&nbsp;&nbsp;two<td>$5</table>";
    for around in [
        "<td align=center>",
        "<td><center>",
        "<td><div align=center>",
    ] {
        let html = format!("<!DOCTYPE html><table><tr>{around}{table}");
        assert_eq!(shown_text(&html, 40), ["One    $5", "  two"], "{around}");
    }
    let styled = format!("<!DOCTYPE html><table><tr><td style='text-align:center'>{table}");
    assert_eq!(shown_text(&styled, 40), ["One  $5", "two"]);
}
