//! Links that look like buttons, and links that do not.

use super::*;

const URL: &str = "https://example.com/x";

#[test]
fn filled_box_inside_a_link_is_a_button() {
    let filled = "background:#900;color:#fff;padding:10px 20px";
    for label in [
        format!("<span style='{filled};display:inline-block'>Buy now</span>"),
        format!("<div style='{filled};display:inline-block'>Buy now</div>"),
        format!("<div style='{filled}'>Buy now</div>"),
        format!("<table><tr><td style='{filled}'>Buy now</table>"),
        format!("<span style='{filled};display:inline-block'><b>Buy now</b><br></span>"),
        format!("<table><tr><td style='{filled};display:inline-block'>Buy now</table>"),
        "<table style='background:#900'><tr><td style='padding:10px'><b>Buy now</b></table>".into(),
    ] {
        let html = format!("<p>Now or never</p><a href={URL}>{label}</a><p>Bye</p>");
        let lines = shown(&html, 80);
        let is_button = lines.iter().any(|line| line == "[ Buy now ]");
        assert!(is_button, "{label}: {lines:?}");
    }
}

#[test]
fn filled_link_around_a_block_is_a_button() {
    let html = format!(
        "<p>Hi</p><a href={URL} style='display:inline-block;background:#000;color:#fff'><span style='display:block;padding:10px'>Download</span></a>"
    );
    assert_eq!(shown(&html, 80), ["Hi", "", "[ Download ]"]);
}

#[test]
fn filled_table_around_a_link_is_a_button() {
    let cell = format!("<td style='padding:18px'><a href={URL}>Buy now</a>");
    let inner = format!("<table style='background:#90c'><tbody><tr>{cell}</table>");
    assert_eq!(shown(&inner, 80), ["[ Buy now ]"]);
    let label = "Accept the invitation to the workshop on Monday";
    let inline_block = format!(
        "<div style='background:red;display:inline-block'><span><span><span><a href={URL}>{label}</a></span></span></span></div>"
    );
    assert_eq!(shown(&inline_block, 80), [format!("[ {label} ]")]);
    let outer = format!("<table bgcolor=#9900cc><tr><td><table><tr>{cell}</table></table>");
    assert_eq!(shown(&outer, 80), ["[ Buy now ]"]);
}

#[test]
fn link_around_a_card_is_no_button() {
    for card in [
        "<img src=x alt=Chair><div>A chair</div>",
        "<div>A chair</div><div>$20</div>",
        "<div>A chair with a long description that tells how comfortable it is to sit on for hours</div>",
    ] {
        let html =
            format!("<a href={URL} style='display:block;background:#eee;padding:9px'>{card}</a>");
        assert!(!text(&html).contains("[ "), "{}", text(&html));
    }
}

#[test]
fn single_link_in_filled_section_is_no_button() {
    let row = format!("<a href={URL}>View in browser</a>");
    for table in [
        "<table bgcolor=#eeeeee width=100%><tr><td><table><tr><td>",
        "<table bgcolor=#eeeeee width=600><tr><td><table><tr><td>",
        "<table bgcolor=#eeeeee><tr><td><h1>",
        "<div style='background:#eee'><table><tr><td><p>",
        "<table bgcolor=#eeeeee><tr><td><img src=x width=600 height=400><p>",
    ] {
        let shown = text(&format!("{table}{row}"));
        assert!(!shown.contains("[ "), "{table}: {shown}");
    }
}

#[test]
fn label_in_brackets_gets_no_others() {
    let html = format!("<a href={URL} style='background:#900;padding:9px'><b>[Play now]</b></a>");
    assert_eq!(shown(&html, 80), ["[Play now]"]);
}

#[test]
fn link_beside_a_label_in_borders_is_no_button() {
    let link = format!("<a href={URL}>4711</a>");
    let html = format!("<table border=1><tr><td>Ticket<td>{link}<tr><td>Status<td>open</table>");
    assert_eq!(shown(&html, 80), ["Ticket  4711", "Status  open"]);
    let cell = format!("<td style='border:1px solid #000;padding:9px'>{link}");
    let html = format!("<table><tr>{cell}{cell}</table>");
    assert_eq!(shown(&html, 80), ["[ 4711 ]  [ 4711 ]"]);
    let html = format!("<table><tr><td>Do you agree?{cell}</table>");
    assert_eq!(shown(&html, 80), ["Do you agree?  [ 4711 ]"]);
}

#[test]
fn buttons_that_do_not_fit_stay_whole() {
    let button = |label: &str| {
        format!("<td bgcolor=#036 style='padding:8px'><a href=https://a.example>{label}</a>")
    };
    let html = format!(
        "<table><tr>{}{}</table>",
        button("Yes, it was me"),
        button("No, block my card")
    );
    assert_eq!(
        shown(&html, 40),
        ["[ Yes, it was me ]", "[ No, block my card ]"]
    );
}
