//! Blanks, rules and marks that tell the eye what belongs together.

use super::*;

#[test]
fn padding_between_links_becomes_a_mark() {
    let link = |name: &str, style: &str| {
        format!("<a href='https://example.com/{name}' style='{style}'>{name}</a>")
    };
    let [home, shop, help] = ["Home", "Shop", "Help"].map(|name| link(name, "padding:0 20px"));
    assert_shown(&format!("<p>{home}{shop} {help}"), &["Home · Shop · Help"]);
    let [home, shop] = ["Home", "Shop"].map(|name| link(name, ""));
    assert_shown(
        &format!("<p>{home} {shop} or {help}"),
        &["Home Shop or Help"],
    );
}

#[test]
fn border_of_a_block_becomes_a_rule() {
    let block = |style: &str| {
        let rule = format!("<div style='{style}'>Two</div>");
        text(&format!(
            "<p style='margin:0'>One</p>{rule}<p style='margin:0'>Three</p>"
        ))
    };
    let expected = "One\n──────────\nTwo\nThree\n";
    assert_eq!(block("border-top:1px solid #ccc"), expected);
    let expected = "One\nTwo\n──────────\nThree\n";
    assert_eq!(block("border-bottom:1px solid"), expected);
    let plain = "One\nTwo\nThree\n";
    for style in [
        "border-top:1px none #ccc",
        "border-top:1px solid transparent",
        "border-top:1px solid #fff",
        "border:1px solid #ccc",
        "border-top:1px solid #ccc;border-top-color:white",
        "border-top:1px solid #ccc;font-weight:bold",
    ] {
        assert_eq!(block(style), plain, "{style}");
    }
    let row = "<table style='border-bottom:1px solid #ccc'><tr><td>Tax<td>$1</table>";
    assert_eq!(text(&row.repeat(2)), "Tax  $1\nTax  $1\n");
    let cell = "<td style='border-bottom:1px solid #ccc'>";
    let table = format!("<table><tr>{cell}One{cell}1<tr>{cell}Two{cell}2</table>");
    assert_eq!(text(&table), "One  1\nTwo  2\n");
    let table = format!("<table><tr>{cell}One<tr><td>Two</table>");
    assert_eq!(text(&table), "One\n──────────\nTwo\n");
}

#[test]
fn text_much_larger_than_usual_is_a_heading() {
    let html = "<p style='font-size:20px'>Section</p><p style='font-size:15px'>Text of the section that is long enough.</p>";
    let body = super::lay_out_html(html, 80);
    assert_eq!(style(&body, "Section").role, SpanRole::Heading);
    assert_eq!(style(&body, "Text").role, SpanRole::Text);
    let body = super::lay_out_html(
        "<p style='font-size:20px'>A whole mail in large letters.",
        80,
    );
    assert_eq!(style(&body, "whole").role, SpanRole::Text);
}

#[test]
fn every_picture_has_the_same_gap_below() {
    let cell = |name: &str| format!("<td><img src=x alt={name} height=60><br>{name} text</td>");
    let html = format!("<table><tr>{}{}</table>", cell("One"), cell("Two"));
    let lines = ["[One]", "", "One text", "", "[Two]", "", "Two text"];
    assert_eq!(shown(&html, 40), lines);
}

#[test]
fn line_height_of_tiny_text_is_a_gap() {
    let spaced = |style: &str| {
        format!(
            "<p style='margin:0'>One</p><div style='{style}'>&nbsp;</div><p style='margin:0'>Two</p>"
        )
    };
    let lines = ["One", "", "Two"];
    assert_shown(&spaced("font-size:1px;line-height:20px"), &lines);
    assert_shown(&spaced("font-size:1px;line-height:1px"), &["One", "Two"]);
}

#[test]
fn forwarded_email_header_has_blank_line_above() {
    let html = "<div>Alex</div><div><b>From:</b> Ana<br><b>Sent:</b> Monday<br><b>To:</b> Bo</div><div>Hi</div>";
    let lines = ["Alex", "", "From: Ana", "Sent: Monday", "To: Bo", "Hi"];
    assert_shown(html, &lines);
}

#[test]
fn quotations_keep_their_marks() {
    let lines = ["She said “he said ‘yes’ twice”."];
    assert_shown("<p>She said <q>he said <q>yes</q> twice</q>.", &lines);
}

#[test]
fn word_processor_lists_keep_their_indents() {
    let item = |margin: &str, text: &str| {
        format!("<p style='margin:0 0 0 {margin};text-indent:-.25in'>·&nbsp; {text}</p>")
    };
    let html = item("0.5in", "One")
        + &item("1.0in", "Two with a text that is longer than a line")
        + &item("0.5in", "Three");
    let lines = [
        "·  One",
        "  ·  Two with a text that is longer than",
        "  a line",
        "·  Three",
    ];
    assert_eq!(shown(&html, 40), lines);
}

#[test]
fn only_unlabelled_links_get_host_labels() {
    let picture =
        |path: &str| format!("<p><a href='https://www.example.com/{path}'><img src=x></a></p>");
    let words = "<p><a href='https://www.example.com/sale'>The sale</a></p>";
    assert_shown(&format!("{}{words}", picture("sale")), &["The sale"]);
    let described = "<p><a href='https://www.example.com/sale'><img src=y alt=Sale></a></p>";
    assert_shown(&format!("{described}{}", picture("sale")), &["[Sale]"]);
    let run = format!("{}{}{}", picture("a"), picture("b"), picture("a"));
    assert_shown(&run, &["[example.com] [2]"]);
    let body = super::lay_out_html(&run, 80);
    assert_eq!(style(&body, "[2]").link, Some(1));
    assert_eq!(&*body.links[1].target, "https://www.example.com/b");
    let apart = format!("{}<p>Text</p>{}", picture("a"), picture("b"));
    assert_shown(&apart, &["[example.com]", "", "Text", "", "[example.com]"]);
}

#[test]
fn quirks_mode_drops_default_margins_at_cell_edges() {
    for (open, close) in [("", ""), ("<div>", "</div>")] {
        let html = format!(
            "<table cellspacing=0 cellpadding=0><tr><td>{open}<p>One</p><p>Two</p>{close}<tr><td> {open}<h4>Title</h4><p>Text</p>{close} </table>"
        );
        let blank_between = |html: &str, width| {
            let lines = shown(html, width);
            lines
                .windows(2)
                .any(|pair| pair[0].is_empty() && pair[1] == "Title")
        };
        for width in [40, 80, 120] {
            let lines = ["One", "", "Two", "Title", "", "Text"];
            assert_eq!(shown(&html, width), lines, "{html}");
            assert!(blank_between(&format!("<!doctype html>{html}"), width));
            let written = html.replace("<p>", "<p style='margin:20px 0'>");
            assert!(blank_between(&written, width));
        }
    }
}

#[test]
fn style_sheet_text_does_not_affect_usual_size() {
    let css = "/* ".to_owned() + &"words of a comment ".repeat(20) + "*/";
    let html = format!(
        "<style>{css}</style><p style='font-size:18px'>Large</p><p style='font-size:13px'>Text that most letters are in</p>"
    );
    let body = super::lay_out_html(&html, 80);
    assert_eq!(style(&body, "Large").role, SpanRole::Heading);
    assert_eq!(style(&body, "Text").role, SpanRole::Text);
}

#[test]
fn padding_of_inline_block_button_adds_blank_line() {
    let button = |display: &str| {
        format!(
            "<p>Read the guide.<br><a href='https://example.com/' style='display:{display};padding:12px;background:#175ddc;color:#fff'>Open</a></p>"
        )
    };
    let lines = ["Read the guide.", "", "[ Open ]"];
    assert_shown(&button("inline-block"), &lines);
    assert_shown(&button("inline"), &["Read the guide.", "[ Open ]"]);
}

#[test]
fn image_close_below_heading_has_no_gap() {
    let page = |above: u32, below: u32| {
        format!(
            "<b>Heading</b><div style='padding:{above}px 0 {below}px'><img alt=Photo width=300 height=200 style='display:block'></div><div>Text</div>"
        )
    };
    assert_shown(&page(14, 14), &["Heading", "[Photo]", "", "Text"]);
    let far = ["Heading", "", "[Photo]", "", "Text"];
    assert_shown(&page(30, 30), &far);
    // It is as near to the text below.
    assert_shown(&page(14, 0), &far);
}

#[test]
fn long_runs_break_at_no_break_spaces() {
    let html = "<p>Your&nbsp;card&nbsp;will&nbsp;be&nbsp;charged EUR&nbsp;1.234,56&nbsp;on&nbsp;2026-05-01.";
    let lines = [
        "Your card will be",
        "charged EUR",
        "1.234,56 on",
        "2026-05-01.",
    ];
    assert_eq!(shown(html, 18), lines);
    let lines = ["    code-with-", "dashes"];
    assert_eq!(
        shown("<p>&nbsp;&nbsp;&nbsp;&nbsp;code-with-dashes", 14),
        lines
    );
    let indented = "<p>&nbsp;&nbsp;&nbsp;&nbsp;start_date:&nbsp;2015";
    assert_eq!(shown(indented, 14), ["    start_", "date: 2015"]);
    assert_eq!(shown("<p>in EUR&nbsp;1234567", 12), ["in", "EUR 1234567"]);
}

#[test]
fn struck_value_is_parted_from_the_next() {
    for (html, expected) in [
        ("<del>2.3</del><ins>2.4</ins>", "2.3 2.4"),
        ("amount <s>10</s>12.00", "amount 10 12.00"),
        ("<s>$10</s>$8", "$10 $8"),
        ("<s>10</s> 12", "10 12"),
        ("<s>gone</s>, here", "gone, here"),
        ("<s>one<b>two</b></s>", "onetwo"),
        ("colo<del>u</del>r", "colour"),
    ] {
        assert_shown(html, &[expected]);
    }
}
