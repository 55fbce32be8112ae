//! Boxes beside each other on wide screens, and the width of prose.

use super::*;

const BILLING: [&str; 3] = ["Billing address", "Ana Example", "1 Long Street"];
const SHIPPING: [&str; 3] = ["Shipping address", "Bo Example", "2 Short Street"];

/// Two boxes, each made of `open`, its lines and `close`.
fn boxes(open: &str, close: &str) -> String {
    let lines = |lines: [&str; 3]| format!("{open}{}{close}", lines.join("<br>"));
    format!("{}{}", lines(BILLING), lines(SHIPPING))
}

#[test]
fn text_before_columns_stays_above_them() {
    let cells = boxes("<td width=300>", "</td>").replace("<br>", "<p>");
    let page = format!(
        "Intro<div style='display:inline-block'><table width=600><tr>{cells}</table></div>"
    );
    let lines = shown(&page, 120);
    assert_eq!(lines[0], "Intro", "{lines:?}");
    let one_row = |line: &String| line.contains("1 Long Street") && line.contains("2 Short Street");
    assert!(lines.iter().any(one_row), "{lines:?}");
}

#[test]
fn short_boxes_become_columns_on_wide_screens() {
    let half = "style='width:50%;float:left'";
    let pages = [
        format!(
            "<table width=600><tr>{}</table>",
            boxes("<td width=300>", "</td>")
        ),
        boxes("<table align=left width=50%><tr><td>", "</table>"),
        boxes(&format!("<div {half}>"), "</div>"),
        boxes("<div style='display:inline-block;width:50%'>", "</div>"),
        format!(
            "<div style='display:flex'>{}</div>",
            boxes("<div>", "</div>")
        ),
    ];
    for page in pages {
        let beside = |width: usize| {
            let rows = BILLING.iter().zip(SHIPPING);
            rows.map(|(one, other)| format!("{one:width$}{other}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(&page, 120), beside(62), "{page}");
        assert_eq!(shown(&page, 100), beside(52), "{page}");
        for width in [40, 80, 99] {
            let lines = [BILLING, SHIPPING].concat();
            assert_eq!(shown_text(&page, width), lines, "{width} columns: {page}");
        }
    }
}

#[test]
fn prose_and_stacked_boxes_get_no_columns() {
    let prose = "A paragraph of several sentences is prose. It is read alone. ".repeat(5);
    let cells = format!(
        "<table width=600><tr><td width=300>{prose}<p>{prose}<td width=300>{prose}<p>{prose}</table>"
    );
    let column = format!(
        "<div style='display:flex;flex-direction:column'>{}</div>",
        boxes("<div>", "</div>")
    );
    let narrow = boxes("<div style='width:10%;float:left'>", "</div>")
        + "<div style='width:80%;float:left'>Text<br>of it</div>";
    let quote = format!(
        "<blockquote><table width=600><tr>{}</table></blockquote>",
        boxes("<td width=300>", "</td>")
    );
    for page in [cells, column, narrow, quote] {
        let body = super::lay_out_html(&page, 120).text();
        assert!(
            body.lines().all(|line| !line.trim().contains("    ")),
            "{body}"
        );
    }
}

#[test]
fn cards_keep_the_columns_of_their_row() {
    let card = |name: &str| {
        format!(
            "<td width=200><img src=x alt={name} height=90><br><b>{name}</b><br><p>What {name} is good for, in some words.</p><a href='https://example.com/{name}'>Read on</a></td>"
        )
    };
    let cards = ["One", "Two", "Three"].map(card).concat();
    let html = format!("<table width=600><tr>{cards}</table><p>Below</p>");
    let gap = |texts: [&str; 3]| format!("{:41}{:41}{}", texts[0], texts[1], texts[2]);
    let lines = [
        gap(["[One]", "[Two]", "[Three]"]),
        String::new(),
        gap(["One", "Two", "Three"]),
        String::new(),
        gap([
            "What One is good for, in some words.",
            "What Two is good for, in some words.",
            "What Three is good for, in some",
        ]),
        gap(["", "", "words."]).trim_end().to_owned(),
        gap(["Read on", "Read on", ""]).trim_end().to_owned(),
        gap(["", "", "Read on"]).trim_end().to_owned(),
        String::new(),
        "Below".to_owned(),
    ];
    assert_eq!(shown(&html, 120), lines);
}

#[test]
fn column_starts_at_its_original_line() {
    let html = "<table width=600><tr>\
        <td width=300 valign=top><img src=x alt=Shop height=20><p>All rights reserved</td>\
        <td width=300 valign=top><img src=y height=20><p>1 Long Street</td></table>";
    let lines = shown(html, 120);
    let expected = [
        "[Shop]".to_owned(),
        String::new(),
        format!("{:62}1 Long Street", "All rights reserved"),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn prose_width_bounds_text_but_not_tables() {
    let words = "word ".repeat(60);
    let cells = "<td>cell of a table".repeat(7);
    let html = format!(
        "<p>{words}</p><pre>{}</pre><table><tr>{cells}<tr>{cells}</table>",
        "x".repeat(110)
    );
    let widest = |prose_width: u16| -> Vec<usize> {
        let options = LayoutOptions {
            prose_width,
            ..160.into()
        };
        let body = Document::from_html(&html).lay_out(options);
        let width = |word: &str| {
            let lines = body.lines.iter().filter(|line| line.text().contains(word));
            lines.map(|line| line.text().len()).max().unwrap_or(0)
        };
        vec![width("word"), width("xxx"), width("cell")]
    };
    assert_eq!(widest(90), [89, 110, 117]);
    assert_eq!(widest(160), [159, 110, 117]);
}

#[test]
fn content_floating_right_is_on_the_right() {
    let right = "style='float:right'";
    let left = "style='float:left'";
    let pages = [
        (
            format!("<div {right}>Right</div> <div {left}>Left</div>"),
            "Left  Right",
        ),
        (
            "<table align=right><tr><td>Right</table><table align=left><tr><td>Left</table>"
                .to_owned(),
            "Left  Right",
        ),
        (
            format!("<p {right}>Last</p><p {right}>Middle</p><p {left}>First</p>"),
            "First  Middle  Last",
        ),
        (
            format!("<p><span {right}>$5.00</span>Order <b>7</b></p>"),
            "Order 7  $5.00",
        ),
        (
            format!("<p>Order <span {right}>$5.00</span></p>"),
            "Order  $5.00",
        ),
    ];
    for (page, line) in pages {
        let html = format!("{page}<p style='clear:both'>Below");
        assert_shown(&html, &[line, "", "Below"]);
    }
}

#[test]
fn boxes_wider_than_row_keep_source_order() {
    let wide = |side: &str, text: &str| format!("<div style='float:{side};width:80%'>{text}</div>");
    let page = wide("right", "First") + &wide("left", "Second");
    assert_eq!(shown(&page, 80), ["First", "Second"]);
    let prose = "A sentence that is longer than what fits beside a box. ".repeat(3);
    let page = format!("<div><b style='float:right'>Note</b>{prose}</div>");
    assert_eq!(shown(&page, 80)[0], "Note");
}

#[test]
fn flex_items_are_in_visual_order() {
    let items = "<div>One</div> <div style='order:-1'>Two</div> <div>Three</div>";
    for (direction, expected) in [
        ("row", vec!["Two  One  Three"]),
        ("row-reverse", vec!["Three  One  Two"]),
        ("column", vec!["Two", "One", "Three"]),
        ("column-reverse", vec!["Three", "One", "Two"]),
    ] {
        let page = format!("<div style='display:flex;flex-direction:{direction}'>{items}</div>");
        assert_shown(&page, &expected);
    }
}

#[test]
fn items_of_grids_and_flex_columns_are_blocks() {
    let items =
        "<strong>Order</strong><span>#1042</span> due <a style='display:inline-block'>Pay</a>";
    for style in [
        "display:grid;grid-template-columns:1fr 1fr",
        "display:flex;flex-direction:column",
    ] {
        let page = format!("<div style='{style}'>{items}</div>");
        assert_shown(&page, &["Order", "#1042", "due", "Pay"]);
    }
    let row = format!("<div style='display:flex'>{items}</div>");
    assert_shown(&row, &["Order #1042 due Pay"]);
}

#[test]
fn short_float_is_beside_the_block_after_it() {
    let item = "<div><span style='float:right'>$12.00</span><div><p style='margin:0'>Green tea</div></div>";
    let lines = ["Green tea  $12.00", "Green tea  $12.00"];
    assert_shown(&item.repeat(2), &lines);
    let label = "<strong style='float:left'>Color:</strong> <p style='margin:0'>Blue</p>";
    assert_shown(&label.repeat(2), &["Color:  Blue", "Color:  Blue"]);
    for (page, lines) in [
        (
            "<b style='float:left;width:100%'>One</b><p>Two",
            &["One", "", "Two"][..],
        ),
        (
            "<b style='float:left'>One</b><p style='clear:left;margin:0'>Two",
            &["One", "Two"],
        ),
        (
            "<b style='float:right'>One</b><div><div>Two</div><div>three</div></div>",
            &["One", "Two", "three"],
        ),
    ] {
        assert_shown(page, lines);
    }
    let ruled = "<b style='float:left'>One</b><div style='text-align:right;border-bottom:1px solid'>Two</div>Three";
    assert_eq!(shown(ruled, 40), ["One", "Two", "─────", "Three"]);
}

#[test]
fn labels_stay_beside_the_values_of_their_lines() {
    let labels = ["Name:", "PIN:"];
    let values = ["Jane Doe", "8837"];
    let half = "style='width:50%;float:left'";
    let table = |lines: [&str; 2]| format!("<table><tr><td>{}</table>", lines.join("<tr><td>"));
    let boxes = |open: &str, close: &str| {
        [labels, values]
            .map(|lines| format!("{open}{}{close}", lines.join("<br>")))
            .concat()
    };
    for html in [
        format!("<table><tr>{}</table>", boxes("<td>", "</td>")),
        format!(
            "<table><tr><td>{}<td>{}</table>",
            table(labels),
            table(values)
        ),
        boxes("<table align=left width=50%><tr><td>", "</table>"),
        boxes(&format!("<div {half}>"), "</div>"),
        boxes("<div style='display:inline-block'>", "</div>"),
        format!(
            "<div style='display:flex'>{}</div>",
            boxes("<div>", "</div>")
        ),
    ] {
        let html = format!("<p>Hi</p>{html}<p style='clear:both'>Bye</p>");
        let lines = ["Hi", "", "Name:  Jane Doe", "PIN:   8837", "", "Bye"];
        assert_shown(&html, &lines);
    }
    let cells = "<td>Subtotal<br>Shipping<br>Total<td align=right>$10.00<br>free<br>$10.00";
    let lines = ["Subtotal  $10.00", "Shipping    free", "Total     $10.00"];
    assert_shown(&format!("<table><tr>{cells}</table>"), &lines);
    let cards = "<td>20<br>Clients<td>1200<br>Projects";
    assert_eq!(
        shown_text(&format!("<table><tr>{cards}</table>"), 40)[..2],
        ["20", "Clients"]
    );
    let apart = "<table><tr><td>Name:<br>PIN:<td>Jane Doe<br>1 Main St<br>8837</table>";
    assert_eq!(shown_text(apart, 40)[..2], labels);
}

#[test]
fn labels_beside_boxes_in_columns_stay_apart() {
    let value = "long value that is more than twenty six columns wide";
    let columns = format!(
        "<div style='display:flex'><div>A first {value}</div><div>A second {value}</div></div>"
    );
    let below = "<p>One</p><p>Two</p><p>Three</p>";
    for html in [
        format!("<div style='display:flex'><div>Name:<br>Note:</div><div>{columns}</div></div>"),
        format!("<table><tr><td>Name:<br>Note:<td>{columns}</table>"),
    ] {
        let lines = shown_text(&format!("<p>Hi</p>{html}{below}"), 160);
        assert_eq!(lines[lines.len() - 3..], ["One", "Two", "Three"]);
        assert!(!lines.iter().any(|line| line.starts_with("Note:  A second")));
    }
}

#[test]
fn labels_and_values_below_each_other_stay() {
    let full = "<div style='width:100%'>";
    let html = format!(
        "<div style='display:flex;flex-wrap:wrap'>{full}Shipping address:<br>Billing address:</div>{full}See below<br>None</div></div>"
    );
    let lines = ["Shipping address:", "Billing address:", "See below", "None"];
    assert_eq!(shown_text(&html, 80), lines);
}

#[test]
fn gap_follows_texts_that_were_beside_each_other() {
    let cell = |name: &str| format!("<td>{name}<br>of the transfer");
    let row = |one: &str, other: &str| format!("<tr>{}{}", cell(one), cell(other));
    let html = format!(
        "<table>{}{}</table><div>Total</div>",
        row("Number", "Arrival at the bank"),
        row("Sender", "Receiver at the bank")
    );
    let below = |name: &str| [name.to_owned(), "of the transfer".to_owned(), String::new()];
    let names = [
        "Number",
        "Arrival at the bank",
        "Sender",
        "Receiver at the bank",
    ];
    let mut lines: Vec<String> = names.into_iter().flat_map(below).collect();
    lines.push("Total".to_owned());
    assert_eq!(shown(&html, 40), lines);
}

#[test]
fn narrow_cell_above_narrows_no_other() {
    let float =
        |side: &str, text: &str| format!("<div style='float:{side};width:200px'>{text}</div>");
    let html = format!(
        "<table width=600><tr><td width=64>Logo<tr><td>{}{}</table>",
        float("left", "Total"),
        float("right", "$5.00")
    );
    assert_eq!(shown(&html, 80), ["Logo", "Total  $5.00"]);
}

#[test]
fn rows_without_widths_have_those_above() {
    let rows = [("width=50%", "Number"), ("", "Name and address")]
        .map(|(width, one)| format!("<tr><td {width}>{one}<br>1234<td {width}>Date<br>2 June"));
    let lines = shown(&format!("<table width=600>{}</table>", rows.concat()), 120);
    let starts: Vec<_> = lines.iter().filter_map(|line| line.find("Date")).collect();
    assert_eq!(starts, [62, 62], "{lines:?}");
}

#[test]
fn break_after_a_float_ends_its_line() {
    let row = |name: &str, amount: &str| format!("{name}<span style=float:right>{amount}</span>");
    let [total, tax] = [row("Total", "$5"), row("Tax", "$1")];
    assert_shown(&format!("{total}<br>{tax}"), &["Total  $5", "Tax    $1"]);
    let lines = ["Total  $5", "", "Tax    $1"];
    assert_shown(&format!("{total}<br><br>{tax}"), &lines);
    assert_shown(&format!("<div>{total}</div><br>{tax}"), &lines);
}
