//! Records of data tables: each value stays below or beside its own heading.

use super::*;

#[test]
fn text_stays_in_the_column_of_its_heading() {
    let cases: [(&str, &[&str]); 5] = [
        (
            "<table border=1><tr><th>Name<th>In<th>Out<tr><td>Ana<td>29 Nov 8:00<td><tr><td>Bo<td>8:05<td>16:30</table>",
            &[
                "Name  In           Out",
                "Ana   29 Nov 8:00",
                "Bo    8:05         16:30",
            ],
        ),
        (
            "<table><tr><th>Field<th>Old<th>New<tr><td>Phone<td>600 111 222<td>&nbsp;<tr><td>Mail<td><td>a@x.example</table>",
            &[
                "Field  Old          New",
                "Phone  600 111 222",
                "Mail                a@x.example",
            ],
        ),
        (
            "<table><tr><td>Name<td>In<td>Out<tr><td>Ana<td>29 Nov 8:00<td><tr><td>Bo<td>8:05<td>16:30</table>",
            &[
                "Name  In           Out",
                "Ana   29 Nov 8:00",
                "Bo    8:05         16:30",
            ],
        ),
        (
            "<table border=1><tr><th rowspan=2>Day<th colspan=2>Mails<th rowspan=2>Total<tr><th>Sent<th>Complaints<tr><td>Mon<td>12<td>9<td>21</table>",
            &[
                "Day  Mails             Total",
                "     Sent  Complaints",
                "Mon  12    9           21",
            ],
        ),
        (
            "<table border=1><tr><th>Item<th>Old<th>New<tr><td>All items of the shop<tr><td>Tea<td>1<td>2</table>",
            &["Item  Old  New", "All items of the shop", "Tea   1    2"],
        ),
    ];
    for (html, lines) in cases {
        assert_shown(html, lines);
    }
}

#[test]
fn text_extends_over_column_without_heading() {
    let html = "<table><tr><td>5.<td>Payments on account<td><td>£<td>p\
        <tr><td><td>(a)<td>31 January<td align=right>1,204<td>50\
        <tr><td><td>(b)<td>31 July<td align=right>1,204<td>50</table>";
    let lines = [
        "5.  Payments on account  £      p",
        "    (a)  31 January      1,204  50",
        "    (b)  31 July         1,204  50",
    ];
    assert_shown(html, &lines);
}

#[test]
fn values_of_one_record_are_beside_their_headings() {
    let record = |heads: &str, values: &str| {
        let cells = |tag: &str, texts: &str| {
            let cell = |text: &str| format!("<{tag}>{text}</{tag}>");
            texts.split('|').map(cell).collect::<String>()
        };
        let (th, td) = (cells("th", heads), cells("td", values));
        [
            format!("<table border=1><tr>{th}<tr>{td}</table>"),
            format!("<table><tr>{th}<tr>{td}</table>"),
            format!(
                "<table><tr>{}<tr>{td}</table>",
                th.replace("th>", "td>").replace("<td>", "<td><b>")
            ),
        ]
    };
    let invoice = record(
        "Invoice|Date|Due|Net|Tax|Gross|Paid|Open",
        "RE-2026-0471|01.11.2026|15.11.2026|10.000,00|1.900,00|11.900,00||11.900,00",
    );
    let item = record(
        "Item|Ordered|Shipped|Backorder",
        "Oak worktop 40 mm oiled|2||2",
    );
    let work = record(
        "Description|Qty|Unit price|VAT|Total",
        "Consulting on-site in Rotterdam|40|€ 135.00|21 %|€ 5,400.00",
    );
    let invoice_lines = [
        "Invoice  RE-2026-0471",
        "Date     01.11.2026",
        "Due      15.11.2026",
        "Net      10.000,00",
        "Tax      1.900,00",
        "Gross    11.900,00",
        "Paid",
        "Open     11.900,00",
    ];
    let item_lines = [
        "Item       Oak worktop 40 mm oiled",
        "Ordered    2",
        "Shipped",
        "Backorder  2",
    ];
    let work_lines = [
        "Description  Consulting on-site in",
        "             Rotterdam",
        "Qty          40",
        "Unit price   € 135.00",
        "VAT          21 %",
        "Total        € 5,400.00",
    ];
    for width in [40, 80] {
        for html in &invoice {
            assert_eq!(shown(html, width), invoice_lines, "{width}: {html}");
        }
    }
    for html in &item {
        assert_eq!(shown(html, 40), item_lines, "{html}");
        assert_eq!(shown(html, 80).len(), 2, "{html}");
    }
    for html in &work {
        assert_eq!(shown(html, 40), work_lines, "{html}");
        assert_eq!(shown(html, 80).len(), 2, "{html}");
    }
}

#[test]
fn two_framed_records_keep_their_empty_cells() {
    let html = "<table border=1><tr><td>Consulting on-site<td>10.000,00<td><td>11.900,00\
        <tr><td>Travel<td><td>1.900,00<td>2.100,00</table>";
    let body = super::lay_out_html(html, 40);
    assert!(body.lines.iter().all(|line| line.wide), "{}", body.text());
    let lines = [
        "Consulting on-site  10.000,00            11.900,00",
        "Travel                         1.900,00  2.100,00",
    ];
    assert_eq!(shown(html, 40), lines);
}

#[test]
fn long_words_are_cut_beside_their_labels() {
    let table = |value: &str| {
        format!(
            "<table><tr><td>Alert<td>cpu-high<tr><td>Resource<td>{value}<tr><td>Value<td>97.4</table>"
        )
    };
    let id = "/subscriptions/0f8fad5b-d9cb-469f-a165-70867728950e/resourcegroups/rg-prod/vm-01";
    let cases: [(&str, u16, &[&str]); 5] = [
        (
            id,
            80,
            &[
                "Alert     cpu-high",
                "Resource  /subscriptions/0f8fad5b-d9cb-469f-a165-70867728950e/resourcegroups/rg-",
                "          prod/vm-01",
                "Value     97.4",
            ],
        ),
        (
            id,
            40,
            &[
                "Alert     cpu-high",
                "Resource  /subscriptions/0f8fad5b-d9cb-",
                "          469f-a165-70867728950e/",
                "          resourcegroups/rg-prod/vm-01",
                "Value     97.4",
            ],
        ),
        // Too much to cut.
        (
            &"0f8fad5b".repeat(15),
            40,
            &[
                "Alert     cpu-high",
                "Resource",
                &"0f8fad5b".repeat(5),
                &"0f8fad5b".repeat(5),
                &"0f8fad5b".repeat(5),
                "Value     97.4",
            ],
        ),
        // A link can work once, and is masked then.
        (
            "https://example.com/runbooks/4711",
            40,
            &[
                "Alert     cpu-high",
                "Resource",
                "https://example.com/runbooks/4711",
                "Value     97.4",
            ],
        ),
        (
            "https://example.com/runbooks/4711",
            80,
            &[
                "Alert     cpu-high",
                "Resource  https://example.com/runbooks/4711",
                "Value     97.4",
            ],
        ),
    ];
    for (value, width, lines) in cases {
        assert_eq!(shown(&table(value), width), lines, "{width}: {value}");
    }
    for width in [40, 80] {
        let copied = super::lay_out_html(&table(id), width).unwrapped_text();
        assert_eq!(
            copied.lines().nth(1),
            Some(format!("Resource  {id}").as_str()),
            "{width}"
        );
    }
    let cases: [(&str, &str, &[&str]); 2] = [
        (
            "A label of some words",
            "Id",
            &[
                "A label of some words  one",
                "Id  0f8fad5b-d9cb-469f-a165-708677289",
            ],
        ),
        (
            "Name",
            "Identifier of the resource",
            &[
                "Name  one",
                "Identifier of the resource",
                "0f8fad5b-d9cb-469f-a165-708677289",
            ],
        ),
    ];
    for (first, label, lines) in cases {
        let html = format!(
            "<table><tr><td>{first}<td>one<tr><td>{label}<td>0f8fad5b-d9cb-469f-a165-708677289</table>"
        );
        assert_eq!(shown(&html, 40), lines, "{html}");
    }
}

#[test]
fn items_of_many_columns_stay_aligned() {
    let html = "<table><tr><th>Pos.<th>Item<th>Count<th>Price<tr><td>1<td>Multifunction-Maintenance<td>1<td>89.00<tr><td>2<td>Paper<td>40<td>171.60</table>";
    let lines = [
        "Pos.  Item                 Count  Price",
        "1     Multifunction-       1      89.00",
        "      Maintenance",
        "2     Paper                40     171.60",
    ];
    assert_eq!(shown(html, 40), lines);
}

#[test]
fn amounts_stay_on_one_line_in_every_column() {
    let row = |name: &str| format!("<tr><td>{name}<td>NOK 1 234 567.00<td>$12,345,678.00");
    let html = format!(
        "<table border=1><tr><th>Name<th>Paid<th>Open{}{}</table>",
        row("A customer with a longer name"),
        row("Another one")
    );
    for width in 30..90 {
        let text = shown(&html, width).join("\n");
        assert!(
            text.contains("NOK 1 234 567.00") && text.contains("$12,345,678.00"),
            "{width}\n{text}"
        );
    }
}

#[test]
fn account_number_breaks_between_its_groups() {
    let html = "<table border=1><tr><th>Account<th>Amount<th>Date<th>To<tr><td>DE89 3704 0044 0532 0130 00<td>-1,234.00 EUR<td>2026-11-12<td>A shop in a town<tr><td>DE89 3704 0044 0532 0130 00<td>1.00 EUR<td>2026-11-13<td>Ana</table>";
    let lines = [
        "Account          Amount         Date        To",
        "DE89 3704 0044   -1,234.00 EUR  2026-11-12  A shop in a",
        "0532 0130 00                                town",
        "DE89 3704 0044   1.00 EUR       2026-11-13  Ana",
        "0532 0130 00",
    ];
    assert_eq!(shown(html, 60), lines);
}

#[test]
fn long_list_breaks_between_its_numbers() {
    let html = "<p>20150611T210000Z,20150618T210000Z,20150625T210000Z</p>";
    let lines = ["20150611T210000Z,", "20150618T210000Z,", "20150625T210000Z"];
    assert_eq!(shown(html, 24), lines);
}
