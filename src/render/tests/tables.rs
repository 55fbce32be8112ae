//! Tables with cells of several lines, lines of shop orders, padding, wide columns.

use super::*;

#[test]
fn cells_of_several_lines_stay_in_rows() {
    let row = |hop: &str| format!("<tr><td>{hop}<td>10/13<br>11:10<td>mail.example.com<br>ready");
    let rows = ["1", "2"].map(row).concat();
    let html = format!("<table><tr><th>Hop<th>Time<th>Host{rows}</table>");
    let lines = [
        "Hop  Time   Host",
        "1    10/13  mail.example.com",
        "     11:10  ready",
        "2    10/13  mail.example.com",
        "     11:10  ready",
    ];
    assert_shown(&html, &lines);
}

#[test]
fn price_stays_on_the_line_of_the_name() {
    let html = "<table><tr><td><img src=x alt=Mug><td>Mug, blue × 1<br>Red lid<td align=right>$10\
                <tr><td><img src=x alt=Pen><td>Pen × 2<td align=right>$4</table>";
    let lines = [
        "[Mug]  Mug, blue × 1  $10",
        "       Red lid",
        "[Pen]  Pen × 2         $4",
    ];
    assert_shown(html, &lines);
    let html = "<table><tr><td><img src=x alt='A long name of a picture'><td>Enamel mug with a blue rim<br>Red lid<td align=right>$10.00</table>";
    let lines = [
        "[A long name of a picture]",
        "Enamel mug with a blue rim  $10.00",
        "Red lid",
    ];
    assert_eq!(shown(html, 40), lines);
}

#[test]
fn cell_padding_adds_no_blank_lines() {
    let row = |label: &str, count: u8, style: &str| {
        format!("<tr><td style='padding:{style}'>{label}<td style='padding:{style}'>{count}")
    };
    let rows = row("Visits", 11, "14px") + &row("Views", 42, "14px");
    let lines = ["Visits  11", "Views   42"];
    assert_shown(&format!("<table>{rows}</table>"), &lines);
    let total = row("Total", 53, "40px 14px 14px");
    let lines = ["Visits  11", "Views   42", "", "Total   53"];
    assert_shown(&format!("<table>{rows}{total}</table>"), &lines);
}

#[test]
fn wide_columns_wrap_before_the_table_is_wide() {
    let row = "<tr><td>2026-03-01<td>mail-server-one.office.example.com<td>The message waits for the next server<td>11";
    let html = format!("<table>{}</table>", row.repeat(3));
    let body = super::lay_out_html(&html, 80);
    assert!(body.lines.iter().all(|line| !line.wide), "{}", body.text());
    let lines = [
        "2026-03-01  mail-server-one.       The message waits for  11",
        "            office.example.com     the next server",
        "2026-03-01  mail-server-one.       The message waits for  11",
    ];
    assert_eq!(shown(&html, 60)[..3], lines);
}

#[test]
fn rows_stay_rows_whatever_displays_the_table() {
    for style in ["inline-block", "block", "inline-table", "flex"] {
        assert_shown(
            &format!(
                "<p>Going?</p><table style='display:{style}'><tr><td>Yes<td>No<td>Maybe</table>"
            ),
            &["Going?", "", "Yes  No  Maybe"],
        );
    }
    let html = "<table><tbody style='display:block'><tr><td>Yes<td>No</table>";
    assert_shown(html, &["Yes  No"]);
}

#[test]
fn only_the_widest_cell_of_a_row_wraps() {
    let icon = |name: &str| format!("<a href='https://example.com/{name}'><img alt={name}></a> ");
    let icons = ["twitter", "facebook"].map(icon).concat();
    let row = format!("<table><tr><td>View on the web | Join us<td>Follow us: {icons}</table>");
    let lines = [
        "View on the web | Join us  Follow us:",
        "                           [twitter]",
        "                           [facebook]",
    ];
    assert_eq!(shown(&row, 40), lines);
    let lines = ["View on the web | Join us  Follow us: [twitter] [facebook]"];
    assert_eq!(shown(&row, 80), lines);
    let button = |text: &str| {
        format!(
            "<td><a href='https://example.com/' style='display:block;background:#222;color:#fff;padding:9px'>{text}</a>"
        )
    };
    let buttons = ["Book the pass now", "Register for events"].map(button);
    let row = format!("<table><tr>{}</table>", buttons.concat());
    let lines = ["[ Book the pass now ]", "[ Register for events ]"];
    assert_eq!(shown(&row, 40), lines);
    let row = "Yes|No|Maybe|More options".split('|').map(button);
    let row = format!("<table><tr>{}</table>", row.collect::<String>());
    let lines = ["[ Yes ]  [ No ]  [ Maybe ]", "[ More options ]"];
    assert_eq!(shown(&row, 40), lines);
    let scale: String = (0..=10).map(|number| button(&number.to_string())).collect();
    let row = format!("<table><tr>{scale}</table>");
    assert_eq!(shown(&row, 40), ["0  1  2  3  4  5  6  7  8  9  10"]);
}

#[test]
fn bordered_cells_with_signs_stay_in_columns() {
    let cell = |text: &str| format!("<td style='border-bottom:1px solid #eee'>{text}");
    for [yes, no] in [["✔", "–"], ["✅", "❌"], ["[ok]", "[no]"]] {
        let content = |sign: &str| match sign.trim_matches(['[', ']']) {
            alt if alt != sign => format!("<img src=x alt={alt}>"),
            _ => sign.to_owned(),
        };
        let row = |name: &str, sign: &str| format!("<tr>{}{}", cell(name), cell(&content(sign)));
        let html = format!("<table>{}{}</table>", row("Export", yes), row("Help", no));
        let lines = [format!("Export  {yes}"), format!("Help    {no}")];
        assert_eq!(shown(&html, 40), lines);
    }
}

#[test]
fn two_column_data_table_keeps_multiline_cells() {
    let row = |name: &str| {
        format!("<tr><td>{name}<br><small>x@example.com</small><td>Admin<br>since 2020")
    };
    let rows = [row("Bob Smith"), row("Al Jones")].concat();
    let lines = [
        "Name           Role",
        "Bob Smith      Admin",
        "x@example.com  since 2020",
        "Al Jones       Admin",
        "x@example.com  since 2020",
    ];
    let header = "<tr><th>Name<th>Role";
    assert_shown(&format!("<table border=1>{header}{rows}</table>"), &lines);
    assert_shown(&format!("<table>{header}{rows}</table>"), &lines);
}

#[test]
fn data_table_cells_keep_lists_and_tables() {
    let html = "<table border=1><tr><th>Step<th>Details<tr><td>First<td><ul style=margin:0><li>open it<li>read it</ul>\
        <tr><td>Last<td><table><tr><td>•<td>close it<tr><td>•<td>file it</table></table>";
    let lines = [
        "Step   Details",
        "First  • open it",
        "       • read it",
        "Last   •  close it",
        "       •  file it",
    ];
    assert_shown(html, &lines);
}

#[test]
fn table_of_shared_borders_is_a_data_table() {
    // As word processors write it: each cell draws the sides that no cell before it has drawn.
    let cell = |sides: &str, text: &str| {
        format!("<td style='border:solid 1pt #000;{sides}'><p style=margin:0>{text}</p>")
    };
    let row = |sides: &str, texts: [&str; 3]| {
        let [first, others @ ..] = texts;
        let next = |text: &str| cell(&format!("border-left:none;{sides}"), text);
        format!("<tr>{}{}", cell(sides, first), others.map(next).concat())
    };
    let note = "For the printer on the second floor, out of paper<p style=margin:0>Urgent";
    let html = row("", ["Item", "Size", "Notes"])
        + &row("border-top:none", ["Paper", "A4", note])
        + &row("border-top:none", ["Ink", "", "Next week"]);
    let lines = [
        "Item   Size  Notes",
        "Paper  A4    For the printer on the second floor, out of paper",
        "             Urgent",
        "Ink          Next week",
    ];
    let table = format!("<table style='border-collapse:collapse'>{html}</table>");
    assert_eq!(shown(&table, 80), lines);
}

#[test]
fn products_between_hairlines_are_no_data_table() {
    let cell = |name: &str| {
        format!(
            "<td style='border-right:1px solid #eee;border-bottom:1px solid #eee'><p>{name}<p>A cup of stoneware<p>9.90"
        )
    };
    let row = |names: [&str; 2]| format!("<tr>{}", names.map(cell).concat());
    let html = row(["Mug", "Bowl"]) + &row(["Plate", "Jug"]);
    let lines = shown(&format!("<table>{html}</table>"), 80);
    let first_product = ["Mug", "", "A cup of stoneware", "", "9.90", "", "Bowl"];
    assert_eq!(lines[..7], first_product);
}

#[test]
fn long_label_stays_beside_its_lines() {
    let html = "<table><tr><td>Order:<td>123<tr><td>Delivery address:<td>1 Main St<br>Springfield\
        <tr><td>Items:<td>Shirt x 1<br>Shoes x 2</table>";
    let lines = [
        "Order:             123",
        "Delivery address:  1 Main St",
        "                   Springfield",
        "Items:             Shirt x 1",
        "                   Shoes x 2",
    ];
    assert_shown(html, &lines);
}

#[test]
fn records_that_do_not_fit_have_a_gap() {
    let row = "<tr><td>A name that is long<br>second line<td>A value that is long<br>another line";
    let html = format!("<table border=1>{row}{row}</table>");
    let record = [
        "A name that is long",
        "second line",
        "",
        "A value that is long",
        "another line",
    ];
    let lines = [&record[..], &[""], &record[..]].concat();
    assert_eq!(shown(&html, 24), lines);
}

#[test]
fn amounts_stay_below_their_headers() {
    let html = "<table><tr><td>Date<td align=right>Debit<td align=right>Credit<td align=right>Balance\
        <tr><td>2 May<td align=right>54.20<td>&nbsp;<td align=right>945.80\
        <tr><td>5 May<td>&nbsp;<td align=right>1,500.00<td align=right>2,445.80</table>";
    let lines = [
        "Date   Debit    Credit   Balance",
        "2 May  54.20              945.80",
        "5 May         1,500.00  2,445.80",
    ];
    assert_shown(html, &lines);
    let html = "<table><tr><th>Mo<th>Tu<th>We<tr><td><td><td>1<tr><td>2<td>3<td>4</table>";
    assert_shown(html, &["Mo  Tu  We", "        1", "2   3   4"]);
}

#[test]
fn receipt_of_one_table_a_row_has_columns() {
    let row = |name: &str, price: &str| {
        format!("<table width=100%><tr><td>{name}<td align=right>{price}</table>")
    };
    let rows = [row("Pro plan × 1", "$120.00"), row("VAT", "$6.00")].concat();
    let html = format!("{rows}<hr>{}", row("Amount paid", "$126.00"));
    let lines = [
        "Pro plan × 1  $120.00",
        "VAT             $6.00",
        "Amount paid   $126.00",
    ];
    let mut all = shown(&html, 80);
    all.retain(|line| line.contains('$'));
    assert_eq!(all, lines);
}

#[test]
fn discounted_price_stays_beside_its_item() {
    let item = "<td>Tea towel × 1<br>Linen<br>SUMMER10 (−$1.20)<td align=right><del>$12.00</del><p style=margin:0>$10.80";
    let lines = [
        "Tea towel × 1      $12.00",
        "Linen              $10.80",
        "SUMMER10 (−$1.20)",
    ];
    assert_shown(&format!("<table><tr>{item}</table>"), &lines);
}

#[test]
fn values_below_a_spanning_label_stay_in_their_column() {
    let html = "<table><tr><td rowspan=2>Mon<td>09–12<tr><td>13–17<tr><td>Tue<td>closed</table>";
    assert_shown(html, &["Mon  09–12", "     13–17", "Tue  closed"]);
}

#[test]
fn value_is_aligned_as_the_box_inside_its_cell() {
    let row = |name: &str, value: &str| {
        format!("<table><tr><td>{name}<td><div align=right><p style=margin:0>{value}</div></table>")
    };
    let html = row("Subtotal", "$129.00") + &row("Shipping", "Free");
    assert_shown(&html, &["Subtotal  $129.00", "Shipping     Free"]);
}

#[test]
fn long_label_beside_an_amount_stays_there() {
    let half = "<div style='display:inline-block;width:50%'><p>";
    let html = format!("{half}Total to be paid at the hotel</p></div>{half}€248.00</p></div>");
    assert_shown(&html, &["Total to be paid at the hotel  €248.00"]);
    let spans = html
        .replace("<div", "<span")
        .replace("div>", "span>")
        .replace("<p>", "");
    let lines = ["Total to be paid at the hotel €248.00"];
    assert_shown(&spans.replace("</p>", ""), &lines);
}

#[test]
fn long_title_in_a_table_with_headers_wraps_in_its_column() {
    let title = "How we moved twelve services to one database and kept it";
    let html = format!(
        "<table><tr><th>Time<th>Session<th>Room<tr><td>10:30<td>{title}<br>Bob<td>2</table>"
    );
    assert_eq!(shown(&html, 80)[1], format!("10:30  {title}  2"));
}

#[test]
fn label_in_the_middle_of_its_value_adds_no_gap() {
    let html =
        "<table><tr><td>From:<td>Shop<tr><td>Ship to:<td>1 Main St<br>Leeds<br>LS1<br>GB</table>";
    let lines = [
        "From:     Shop",
        "Ship to:  1 Main St",
        "          Leeds",
        "          LS1",
        "          GB",
    ];
    assert_shown(html, &lines);
}

#[test]
fn values_beside_empty_cells_stay_in_their_column() {
    let row = |cells: [&str; 4]| {
        let cells = cells.map(|cell| format!("<td>{cell}</td>"));
        format!("<tr>{}</tr>", cells.concat())
    };
    let table = [
        row(["Station", "Arrival", "Departure", "Platform"]),
        row(["Example South", "", "08:34", "12"]),
        row(["Example North", "10:20", "", "3"]),
    ];
    let lines = [
        "Station        Arrival  Departure  Platform",
        "Example South           08:34      12",
        "Example North  10:20               3",
    ];
    let html = format!("<table>{}</table>", table.concat());
    for width in [40, 80] {
        assert_eq!(shown(&html, width), lines);
    }
}

#[test]
fn amounts_stay_beside_labels_of_their_lines() {
    let long = "Shipping and handling to the country of the customer";
    let page = |end: &str| {
        format!(
            "<table><tr><td>Subtotal{end}{long}{end}Total<td align=right>$10.00{end}$2.50{end}$12.50</table>"
        )
    };
    for end in ["<br>", "<p style='margin:0'>"] {
        let lines = [
            "Subtotal                                              $10.00".to_owned(),
            format!("{long}   $2.50"),
            "Total                                                 $12.50".to_owned(),
        ];
        assert_eq!(shown(&page(end), 80), lines);
        let narrow = shown(&page(end), 40);
        let total = narrow.last().expect("the total is shown");
        assert!(
            total.starts_with("Total") && total.ends_with("$12.50"),
            "{narrow:?}"
        );
    }
}

#[test]
fn cells_without_a_row_get_one() {
    let cells = "<div style='display:table-cell'>Total</div> <!-- --> <div style='display:table-cell'>12.00</div>";
    let table = format!("<div style='display:table'>{cells}</div>");
    assert_shown(&table, &["Total  12.00"]);
    let group = format!(
        "<div style='display:table'><div style='display:table-row-group'>{cells}</div></div>"
    );
    assert_shown(&group, &["Total  12.00"]);
}

#[test]
fn details_of_an_item_stay_in_its_cell() {
    let html = "<table><tr><th>Product<th>Quantity<th>Price<tr><td>Hoodie<ul><li><b>Color:</b> <p>Blue</p></li></ul><td>1<td>45.00</table>";
    let lines = [
        "Product   Quantity  Price",
        "Hoodie    1         45.00",
        "• Color:",
        "  Blue",
    ];
    assert_shown(html, &lines);
}

#[test]
fn picture_above_a_name_stays_in_its_cell() {
    let html = "<table><tr><td><img src=a alt=Mug><br>A mug</td><td>5.00</td></tr></table>";
    assert_shown(html, &["[Mug]  5.00", "A mug"]);
}

#[test]
fn totals_leave_the_columns_of_an_invoice() {
    let html = "<table><tr><th>Pos<th>Description<th>Qty<th>Unit price<th>Amount<tr><td>1<td>Green tea, loose, 100 g<td>2<td>12.00<td>24.00<tr><td colspan=4>Subtotal<td>24.00<tr><td colspan=4>Total<td>24.00</table>";
    let lines = shown(html, 40);
    let header = lines
        .iter()
        .find(|line| line.contains("Pos") && line.contains("Amount"));
    assert!(header.is_some(), "{lines:#?}");
}

#[test]
fn value_continues_in_its_column() {
    let lines = ["Address  Main St 1", "         Madrid", "         Spain"];
    let rows = "<tr><td></td><td>Madrid</td></tr><tr><td></td><td>Spain</td></tr>";
    let html = format!("<table><tr><td>Address</td><td>Main St 1</td></tr>{rows}</table>");
    assert_shown(&html, &lines);
    let html = html
        .replace("<td>Address", "<td rowspan=3>Address")
        .replace("<td></td>", "");
    assert_shown(&html, &lines);
}

#[test]
fn section_rows_leave_the_columns() {
    let html = "<table><tr><th>Service<th>Hours<th>Cost<tr><td colspan=3>Compute<tr><td>Small machine<td>100<td>$5<tr><td colspan=3>Storage<tr><td>Disk<td>7<td>$12</table>";
    let lines = [
        "Service        Hours  Cost",
        "Compute",
        "Small machine  100    $5",
        "Storage",
        "Disk           7      $12",
    ];
    assert_shown(html, &lines);
}

#[test]
fn headings_stay_above_their_columns() {
    let lines = [
        "Old address  New address",
        "1 Main St    2 Side St",
        "Springfield  Shelbyville",
    ];
    let row = "<tr><td>1 Main St<br>Springfield</td><td>2 Side St<br>Shelbyville</td></tr>";
    for [open, close] in [
        ["<td>", "</td>"],
        ["<td><b>", "</b></td>"],
        ["<th>", "</th>"],
    ] {
        let heads = ["Old address", "New address"].map(|head| format!("{open}{head}{close}"));
        let html = format!(
            "<!DOCTYPE html><table><tr>{}</tr>{row}</table>",
            heads.concat()
        );
        assert_shown(&html, &lines);
        let stacked = [
            "Old address",
            "1 Main St",
            "Springfield",
            "",
            "New address",
            "2 Side St",
            "Shelbyville",
        ];
        assert_eq!(shown(&html, 22), stacked);
        let records = html.replace(row, &row.repeat(2));
        let is_repeated = shown(&records, 22) == [&stacked[..], &[""], &stacked].concat();
        assert_eq!(is_repeated, open != "<td>");
    }
}

#[test]
fn long_item_name_wraps_in_its_column() {
    let name = "Air Zoom Pegasus 39 Road Running Shoes, Black/White";
    let html = format!(
        "<!DOCTYPE html><table><tr><td>{name}<br>Size 42</td><td>1</td><td align=right>$120.00<br>$140.00</td></tr><tr><td>Socks<br>M</td><td>2</td><td align=right>$10.00</td></tr></table>"
    );
    let lines = [
        format!("{name}  1  $120.00"),
        format!("{:56}$140.00", "Size 42"),
        format!("{:51}  2   $10.00", "Socks"),
        "M".to_owned(),
    ];
    assert_eq!(shown(&html, 80), lines);
    let lines = [
        "Air Zoom Pegasus 39 Road      1  $120.00",
        "Running Shoes, Black/White       $140.00",
        "Size 42",
        "Socks                         2   $10.00",
        "M",
    ];
    assert_eq!(shown(&html, 40), lines);
    let pair = format!("<table><tr><td>{name}<br>Size 42</td><td>$120.00</table>");
    assert_eq!(
        shown(&pair, 80),
        [format!("{name}  $120.00"), "Size 42".to_owned()]
    );
    let long = pair.replace(name, &format!("{name}, {name}, {name}"));
    assert!(shown(&long, 80)[0].ends_with("$120.00"), "{long}");
}

#[test]
fn labels_and_values_are_no_headings() {
    let labels = [
        "Description of the problem, as you have reported it",
        "Delivery address and the name of the person",
    ];
    let values = [
        "The printer in the second floor does not print any more since yesterday",
        "1 Main St, behind the bakery, second floor, ring twice and then wait",
    ];
    for (head, index) in [
        ("<td>Ticket<td>#4711", 0),
        ("<td><b>Ticket</b><td><b>#4711</b>", 0),
        ("<td><b>Contact:</b><td><b>Ana Perez</b>", 1),
        ("<td><b>From</b><td>Ana Perez", 1),
        ("<th>From<td>Ana Perez", 1),
        ("<td>From<td>Ana Perez", 1),
    ] {
        let (label, value) = (labels[index], values[index]);
        let html = format!("<!DOCTYPE html><table><tr>{head}<tr><td>{label}<td>{value}</table>");
        let lines = shown_text(&html, 80);
        assert!(lines[0].contains("  "), "{head}: {lines:?}");
        let below: Vec<&str> = lines[1..].iter().map(|line| line.trim_start()).collect();
        assert_eq!(below, [label, value], "{head}");
    }
}

#[test]
fn paragraphs_below_headings_keep_their_gaps() {
    let html = "<!DOCTYPE html><table><tr><td>Before<td>After\
        <tr><td><p>First.</p><p>Second.</p><td><p>Third.</p><p>Fourth.</p></table>";
    let lines = shown(html, 80);
    let first = lines.iter().position(|line| line == "First.");
    let next = first.map(|at| &lines[at + 1..at + 3]);
    assert_eq!(next, Some(&[String::new(), "Second.".to_owned()][..]));
    let menu = "Home<br>Shop<br>Help";
    let prose = "<p style='margin:0'>Your order is on its way.</p><p style='margin:0'>Track it.</p><p style='margin:0'>Bye.</p>";
    let pairs = "<table><tr><td>Name<td>Ana<tr><td>City<td>Lima</table>";
    for (left, right, apart) in [
        (menu, prose, "Your order"),
        (menu, &prose.replace("margin:0", "margin:1em"), "Your order"),
        (pairs, "Three<br>lines<br>of text", "Three"),
    ] {
        let html =
            format!("<!DOCTYPE html><table><tr><td>Menu<td>News<tr><td>{left}<td>{right}</table>");
        let lines = shown(&html, 80);
        let starts = lines.iter().any(|line| line.starts_with(apart));
        assert!(starts, "{lines:?}");
    }
}
