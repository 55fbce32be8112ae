//! Short lines beside each other: icons, menus, buttons, labels and values.

use super::*;

/// Boxes as editors of emails write them: a small table for each.
fn boxes(cells: impl Iterator<Item = String>) -> String {
    let boxes = cells.map(|cells| {
        format!("<table align=center style='float:none;display:inline-table'><tr>{cells}</table> ")
    });
    format!(
        "<table width=600><tr><td style='font-size:0'>{}</table>",
        boxes.collect::<String>()
    )
}

#[test]
fn icons_beside_each_other_share_a_line() {
    let icons = ["a", "b", "c"].map(|name| {
        format!(
            "<td style='padding:8px'><a href='https://{name}.example/'><img alt='' width=24 height=24 style='display:block'></a>"
        )
    });
    assert_shown(
        &boxes(icons.into_iter()),
        &["[a.example] [b.example] [c.example]"],
    );
}

#[test]
fn labels_beside_each_other_share_a_line() {
    let names = ["Facebook", "Mastodon", "Newsroom", "Downloads"];
    let cells = names.map(|name| {
        format!("<td style='font-size:14px'><img alt='' width=20><td style='font-size:14px'><a href='https://{name}.example/'>{name}</a>")
    });
    let floats = names.map(|name| format!("<div style='float:left;width:25%'>{name}</div>"));
    let flex = names.map(|name| format!("<div>{name}</div>"));
    let line = names.join("  ");
    for html in [
        boxes(cells.into_iter()),
        floats.concat(),
        format!("<div style='display:flex'>{}</div>", flex.concat()),
    ] {
        assert_shown(&html, &[&*line]);
        let narrow = ["Facebook  Mastodon", "Newsroom  Downloads"];
        assert_eq!(shown(&html, 24), narrow, "{html}");
    }
}

#[test]
fn boxes_that_start_new_rows_stay_apart() {
    let half = |style: &str, text: &str| format!("<div style='float:left;{style}'>{text}</div>");
    let clear = "<div style='clear:both'></div>";
    for (html, lines) in [
        (
            half("width:40%", "One") + clear + &half("width:40%", "Two"),
            2,
        ),
        (
            half("width:40%", "One") + &half("width:40%;clear:left", "Two"),
            2,
        ),
        (half("width:60%", "One") + &half("width:60%", "Two"), 2),
        (half("width:40%", "One") + &half("width:40%", "Two"), 1),
    ] {
        for width in [40, 80, 120] {
            let shown = shown_text(&html, width);
            assert_eq!(shown.len(), lines, "{width} columns: {html}");
        }
    }
}

#[test]
fn multiline_box_stays_below_a_short_box() {
    let html = "<div style='float:left;width:30%'>Label</div><div style='float:left;width:60%'>First line<br>Second line</div>";
    for width in [40, 80] {
        let lines = ["Label", "First line", "Second line"];
        assert_eq!(shown_text(html, width), lines);
    }
}

#[test]
fn lines_do_not_break_inside_items() {
    let button = |text: &str| {
        format!(
            "<a href='https://a.example/{text}' style='display:inline-block;padding:9px;background:#123;color:#fff'>{text}</a>"
        )
    };
    let buttons = ["Visit the website", "Download it"].map(button).join(" ");
    let lines = ["[ Visit the website ] [ Download it ]"];
    assert_eq!(shown(&buttons, 80), lines);
    let lines = ["[ Visit the website ]", "[ Download it ]"];
    assert_eq!(shown(&buttons, 32), lines);
    let cell = |text: &str| format!("<td><a href='https://a.example/{text}'>{text}</a>");
    let names = [
        "About us",
        "About the farm",
        "Concierge service",
        "Questions",
    ];
    let menu = format!("<table><tr>{}</table>", names.map(cell).concat());
    let lines = ["About us  About the farm", "Concierge service  Questions"];
    assert_eq!(shown(&menu, 40), lines);
    assert_eq!(shown(&menu, 80), [lines.join("  ")]);
    let link =
        |text: &str| format!("<a href='https://a.example/{text}' style='padding:9px'> {text} </a>");
    let names = ["Summer deals", "Our blog", "Follow us"];
    let links = format!("<p>{}</p>", names.map(link).concat());
    assert_eq!(shown(&links, 80), ["Summer deals · Our blog · Follow us"]);
    let flex = "<div style=display:flex;gap:20px><a href=/1>Our story</a><a href=/2>Gift cards</a>";
    assert_eq!(shown(flex, 80), ["Our story · Gift cards"]);
    let lines = ["Summer deals · Our blog ·", "Follow us"];
    assert_eq!(shown(&links, 31), lines);
}

#[test]
fn right_aligned_values_stay_whole_beside_labels() {
    let row =
        |label: &str, value: &str| format!("<tr><td>{label}<td style='text-align:right'>{value}");
    let rows = row("Plan:", "Basic")
        + &row("Amount:", "1,200.00 Swiss francs")
        + &row("Next date of billing:", "2027-03-01");
    let html = format!("<table>{rows}</table>");
    let lines = [
        format!("{:35}Basic", "Plan:"),
        format!("{:19}1,200.00 Swiss francs", "Amount:"),
        format!("{:30}2027-03-01", "Next date of billing:"),
    ];
    assert_eq!(shown(&html, 40), lines);
    for width in [80, 120] {
        let lines = shown(&html, width);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[1].ends_with("1,200.00 Swiss francs"), "{lines:?}");
    }
}

#[test]
fn a_button_in_each_row_keeps_the_table() {
    let row = |name: &str| {
        format!(
            "<tr><td>{name}<td>Bangalore<td>10/26<br>to<br>10/30<td>$1,030<td><table><tr><td bgcolor='#0095d3'><a href='https://a.example/{name}' style='color:#fff'>Register</a></table>"
        )
    };
    let rows = ["First", "Second", "Third"].map(row).concat();
    let html = format!("<table>{rows}</table>");
    for width in [80, 120] {
        let lines = shown(&html, width);
        let first = "First   Bangalore  10/26  $1,030  [ Register ]";
        assert_eq!(lines[0], first, "{lines:?}");
        assert_eq!(lines[1].trim(), "to");
    }
    let name = "A course with a long name that needs more than one line of its column in a table";
    let long = html.replace(">Second<", &format!(">{name}<"));
    for width in [80, 120] {
        let lines = shown(&long, width);
        let row = lines.iter().find(|line| line.starts_with("A course"));
        let is_whole = row.is_some_and(|row| row.ends_with("$1,030  [ Register ]"));
        assert!(is_whole, "{lines:?}");
    }
}

#[test]
fn invisible_space_between_elements_separates_words() {
    let line = |block: &str, style: &str| {
        format!(
            "<div style='{block}'><span style='{style}'>from us,</span> <a href='https://a.example/' style='{style}'>unsubscribe</a> <span style='{style}'>here.</span></div>"
        )
    };
    for (block, style) in [
        ("font-size:0", "font-size:12px"),
        ("color:#333;background:#333", "color:#fff"),
    ] {
        assert_shown(&line(block, style), &["from us, unsubscribe here."]);
    }
    let word =
        "<p>C<span style='font-size:0'> </span>or<span style='font-size:0'>x</span>reios</p>";
    assert_eq!(shown(word, 40), ["Correios"]);
}

#[test]
fn image_on_left_shares_first_text_line() {
    let text = "<b>Add passwords</b><br>Transfer them.";
    let picture = |alt: &str| format!("<img alt='{alt}' width=40 height=40>");
    let cells = |one: &str, other: &str| {
        format!("<table width=600><tr><td width=80>{one}<td>{other}</table>")
    };
    let boxes = format!(
        "<div style='display:inline-block;width:20%'><div>{}</div></div><div style='display:inline-block;width:80%'>{text}</div>",
        picture("Install")
    );
    let lines = ["[Install]  Add passwords", "           Transfer them."];
    assert_shown(&cells(&picture("Install"), text), &lines);
    assert_shown(&boxes, &["[Install]  Add passwords", "Transfer them."]);
    for width in [40, 80, 120] {
        let after = shown_text(&cells(text, &picture("Install")), width);
        assert!(after[0].starts_with("Add passwords"), "{after:?}");
    }
    let long = "A picture with a long description";
    let lines = shown(&cells(&picture(long), text), 80);
    assert_eq!(lines[0], format!("[{long}]"));
}
