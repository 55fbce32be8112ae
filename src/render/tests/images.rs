//! Images: their gaps, their captions, what those without a text show.

use super::*;

#[test]
fn blank_line_separates_image_from_previous_caption() {
    let cell = |name: &str| {
        format!(
            "<td><img alt='{name} photo' style='display:block' width=200><div style='padding:20px 0 10px;font-weight:700'>{name}</div>"
        )
    };
    let cells = ["Hats", "Boys"].map(cell).concat();
    let html = format!("<table width=600><tr>{cells}</table>");
    let lines = ["[Hats photo]", "", "Hats", "", "[Boys photo]", "", "Boys"];
    assert_eq!(shown(&html, 40), lines);
}

#[test]
fn large_image_without_alt_shows_title_or_placeholder() {
    for (image, label) in [
        ("<img src=x title='Sales chart' width=500>", "[Sales chart]"),
        ("<img src=x width=600 height=400>", "[image]"),
        ("<img src=x style='width:300px;height:90px'>", "[image]"),
        ("<img src=x width=600 height=20>", ""),
        ("<img src=x alt='' width=600 height=400>", ""),
        ("<img src=x>", ""),
    ] {
        let html = format!("<p>a</p>{image}<p>b</p>");
        assert!(text(&html).contains(label), "{image}");
        assert_eq!(text(&html).contains('['), !label.is_empty(), "{image}");
    }
}

#[test]
fn slices_of_a_picture_show_one_word() {
    let slice = "<tr><td><img src=x width=600 height=100 style='display:block'>";
    let table = format!("<table>{slice}{slice}{slice}</table>");
    assert_eq!(shown(&table, 40), ["[image]"]);
}

#[test]
fn areas_of_an_image_map_are_links() {
    let html = "<img usemap='#m' src=x alt='Spring sale'><map name=m><area href='https://a.example/shoes' alt=Shoes>\
        <area href='https://a.example/hats' alt=Hats><area alt=Nothing></map>";
    let body = super::lay_out_html(html, 80);
    assert_eq!(body.text().trim_end(), "[Spring sale] [Shoes] [Hats]");
    let links: Vec<&str> = body.links.iter().map(|link| &*link.text).collect();
    assert_eq!(links, ["Shoes", "Hats"]);
}

#[test]
fn icon_link_shows_its_hidden_text() {
    let icon = "display:inline-block;width:24px;height:24px;background:url(t.png)";
    for hidden in [
        "font-size:1px;color:transparent",
        "text-indent:-9999px;overflow:hidden",
    ] {
        let html = format!("<a href='https://example.com/t' style='{icon};{hidden}'>Twitter</a>");
        assert_eq!(shown(&html, 40), ["[Twitter]"], "{hidden}");
    }
    let html = format!("<a href='https://example.com/t' style='{icon}'>Twitter</a>");
    assert_eq!(shown(&html, 40), ["[ Twitter ]"]);
}

#[test]
fn signature_lines_beside_image_are_indented() {
    let html = "<table><tr><td><img src=x alt=Photo width=80 height=80><td><b>Bob Smith</b><br>CEO, Acme<br>acme.example</table>";
    let lines = [
        "[Photo]  Bob Smith",
        "         CEO, Acme",
        "         acme.example",
    ];
    assert_eq!(shown(html, 40), lines);
}

#[test]
fn image_of_unknown_height_is_one_line() {
    assert_shown("<img src=a alt=x><br>text", &["[x]", "text"]);
    assert_shown("<img src=a alt=x height=60><br>text", &["[x]", "", "text"]);
}

#[test]
fn column_that_ends_with_image_ends_there() {
    let column = |name: &str| format!("<td width=50%><b>{name}</b><br>Text<br><img alt=Pic>");
    let html = format!(
        "<table width=600><tr>{}{}</table>",
        column("One"),
        column("Two")
    );
    for width in [40, 80] {
        let lines = ["One", "Text", "[Pic]", "", "Two", "Text", "[Pic]"];
        assert_eq!(shown(&html, width), lines);
    }
    let html = "<table width=600><tr><td><img alt=Pic><td>A long text that is beside the picture on the page.</table>";
    assert_eq!(shown(html, 40)[0], "[Pic]  A long text that is beside the");
}
