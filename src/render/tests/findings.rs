//! Features of real emails, one small html each.

use super::*;

#[test]
fn layout_tables_become_plain_blocks() {
    let html = "<table border=1 width=600><tr><td><table><tr><td><h1>Hello</h1></td></tr><tr><td><p>Text of the email.</p></td></tr></table></td></tr></table>";
    assert_eq!(shown(html, 80), ["Hello", "", "Text of the email."]);
}

#[test]
fn data_tables_stay_in_columns() {
    let html = "<table><tr><th>Item<th align=right>Qty<th align=right>Price<tr><td>Blue notebook<td align=right>2<td align=right>€14.00\
        <tr><td>Shipping<td><td align=right>€3.90<tr><td colspan=2>Total<td align=right>€31.90</table>";
    let table = [
        "Item           Qty   Price",
        "Blue notebook    2  €14.00",
        "Shipping             €3.90",
        "Total               €31.90",
    ];
    assert_eq!(shown(html, 40), table);
    assert_eq!(shown(html, 120), table);
}

#[test]
fn rowspan_does_not_shift_columns_below() {
    let html = "<table><tr><td rowspan=2>Notebook<td>blue<td>2<tr><td>red<td>1</table>";
    assert_eq!(shown(html, 40), ["Notebook  blue  2", "          red   1"]);
}

#[test]
fn wide_prose_columns_are_stacked() {
    let html = "<table><tr><td>A first column with a sentence in it<td>and a second one with another</table>";
    let lines = ["A first column with a sentence in it  and a second one with another"];
    assert_eq!(shown(html, 80), lines);
    let lines = [
        "A first column with a sentence",
        "in it",
        "",
        "and a second one with another",
    ];
    assert_eq!(shown(html, 30), lines);
}

#[test]
fn data_table_that_does_not_fit_is_wide() {
    let row = "<tr><td>unbreakable_____one<td>unbreakable_____two<td>unbreakable_____three";
    let body = super::lay_out_html(
        &format!("<p>Before</p><table>{}</table>", row.repeat(4)),
        40,
    );
    let wide: Vec<bool> = body.lines.iter().map(|line| line.wide).collect();
    assert!(!wide[0]);
    assert!(wide[2..].iter().all(|wide| *wide), "{wide:?}");
}

#[test]
fn label_beside_text_is_a_hanging_indent() {
    let html = "<table><tr><td>09:30<td><b>Opening</b><br>Main hall<tr><td>10:00<td><b>Keynote</b><br>Room 2</table>";
    let lines = [
        "09:30  Opening",
        "       Main hall",
        "10:00  Keynote",
        "       Room 2",
    ];
    assert_eq!(shown(html, 40), lines);
}

#[test]
fn short_cells_that_do_not_fit_are_joined() {
    let cells: String = ["Home", "Products", "Catalogue", "Contact us", "Imprint"]
        .map(|word| format!("<td>{word}</td>"))
        .concat();
    assert_eq!(
        shown(&format!("<table><tr>{cells}</tr></table>"), 30),
        ["Home  Products  Catalogue", "Contact us  Imprint"]
    );
}

#[test]
fn image_cells_that_do_not_fit_are_joined() {
    let cells: String = [
        "a picture of the moon",
        "an arrow to the right",
        "the sign of a team",
    ]
    .map(|alt| format!("<td><img src=x alt='{alt}'>"))
    .concat();
    let lines = [
        "[a picture of the moon]  [an arrow to the right]",
        "[the sign of a team]",
    ];
    assert_eq!(shown(&format!("<table><tr>{cells}</table>"), 50), lines);
}

#[test]
fn amounts_stay_on_the_first_item_line() {
    let html = "<table><tr><td>Field jacket<br>Size M, quantity 1<td align=right>€248.00<tr><td>Beanie<br>One size<td align=right>€42.00</table>";
    let lines = [
        "Field jacket        €248.00",
        "Size M, quantity 1",
        "Beanie               €42.00",
        "One size",
    ];
    assert_eq!(shown(html, 40), lines);
}

#[test]
fn preheader_filler_is_removed_but_joiners_stay() {
    let filler = "&#847;&zwnj;&nbsp;&#8199;&shy;&#65279;".repeat(40);
    assert_eq!(
        text(&format!("<div>Your order{filler}</div><p>می‌خواهم 👩‍💻</p>")),
        "Your order\n\nمی‌خواهم 👩‍💻\n"
    );
}

#[test]
fn vertical_gaps_become_one_blank_line() {
    for html in [
        "<p>One</p><p>Two</p>",
        "<p>One</p><br><br>&nbsp;<br><p>&nbsp;</p><p>Two</p>",
        "<table><tr><td>One<tr><td height=20>&nbsp;<tr><td>Two</table>",
        "<div style='padding-bottom:16px'>One</div>Two",
    ] {
        assert_eq!(shown(html, 40), ["One", "", "Two"], "{html}");
    }
    for html in [
        "<div>One</div><div>Two</div>",
        "<p style='margin:0'>One<p style='margin:0'>Two",
        "<p>One<br>Two",
    ] {
        assert_eq!(shown(html, 40), ["One", "Two"], "{html}");
    }
    assert_eq!(shown("One<img src=x height=80>", 40), ["One"]);
}

#[test]
fn bold_and_headings_come_from_the_style() {
    let body = super::lay_out_html(
        "<h2>Head</h2><p>plain <span style='font-weight:600'>heavy</span> <i>slanted</i> <s>gone</s> <u>under</u>",
        80,
    );
    assert_eq!(style(&body, "Head").role, SpanRole::Heading);
    assert!(style(&body, "heavy").bold);
    assert!(style(&body, "slanted").italic);
    assert!(style(&body, "gone").strikethrough);
    assert!(style(&body, "under").underline);
    assert_eq!(style(&body, "plain"), SpanStyle::default());
}

#[test]
fn buttons_have_brackets_and_links_do_not() {
    let button = "<a href='https://example.com/r' style='background:#06c;color:#fff;padding:12px 20px;display:inline-block'> Reset password </a>";
    let cell = "<table><tr><td bgcolor='#0066cc' style='padding:10px'><a href='https://example.com/s' style='color:#fff'>Sign in</a></td></tr></table>";
    let body = super::lay_out_html(
        &format!("<p>{button}</p>{cell}<p>or <a href='https://example.com/t'>read on</a></p>"),
        80,
    );
    let expected = "[ Reset password ]\n\n[ Sign in ]\n\nor read on\n";
    assert_eq!(body.text(), expected);
    assert_eq!(style(&body, "Reset").role, SpanRole::Button);
    assert_eq!(style(&body, "read on").role, SpanRole::Link);
}

#[test]
fn zero_font_size_keeps_larger_children() {
    let column = |words: &str| {
        format!(
            "<div style='font-size:0;display:inline-block;width:50%;vertical-align:top'><table width='100%'><tr><td><p style='font-size:14px;margin:0'>{words}</p>\
             <a href=x style='font-size:14px;background:#000;color:#fff;padding:9px;display:inline-block'>Go</a></td></tr></table></div>"
        )
    };
    let columns = ["One", "Two"].map(column).concat();
    let html = format!("<div style='font-size:0'>{columns}</div>");
    assert_eq!(shown(&html, 80), ["One", "[ Go ]", "", "Two", "[ Go ]"]);
}

#[test]
fn images_are_shown_by_their_text() {
    let expected = "Hello [wave] you\n";
    assert_eq!(text("<p>Hello<img src=a alt=wave>you"), expected);
    let link = "<a href='https://www.example.com/x'><img src=a></a>";
    assert_eq!(text(link), "[example.com]\n");
    let titled = link.replace("><img", " title='Our shop'><img");
    assert_eq!(text(&titled), "[Our shop]\n");
    assert_eq!(text("<p>Text<img src=a>"), "Text\n");
}

#[test]
fn trackers_and_attachments_have_notices() {
    let body = super::lay_out_html(
        "<p>Hi<img src='https://open.example.net/o.gif' width=1 height=1 alt=''><img src='cid:logo@1' alt=Logo>",
        80,
    );
    let labels: Vec<&str> = body.notices.iter().map(|note| &*note.label).collect();
    assert_eq!(labels, ["1 tracker", "1 attached picture"]);
    assert!(body.notices[0].detail.contains("open.example.net"));
    assert!(body.notices[1].detail.contains("logo@1"));
    assert_eq!(body.text(), "Hi [Logo]\n");
}

#[test]
fn links_are_listed_once_in_reading_order() {
    let html = "<a href='https://example.com/b'><img src=x alt=Logo></a><p><a href='https://example.com/a'>One</a> <a href='https://example.com/b'>Two</a>";
    let links: Vec<String> = super::lay_out_html(html, 80)
        .links
        .iter()
        .map(|link| format!("{} {}", link.text, link.target))
        .collect();
    let expected = ["Two https://example.com/b", "One https://example.com/a"];
    assert_eq!(links, expected);
}

#[test]
fn list_items_are_indented_under_their_markers() {
    let html = "<ol start=9><li>nine<li>ten<ul><li>nested and long enough to wrap</ul></ol><ul style='list-style:none'><li>bare</ul>";
    let lines = [
        "9. nine",
        "10. ten",
        "    • nested and long",
        "      enough to wrap",
        "",
        "bare",
    ];
    assert_eq!(shown(html, 24), lines);
}

#[test]
fn quotes_have_a_prefix_on_every_line() {
    let html = "<p>Yes.</p><blockquote><p>one two three four five</p><blockquote><p>older</p><p>oldest</p></blockquote></blockquote><p>Done</p>";
    let lines = [
        "Yes.",
        "",
        "> one two three four",
        "> five",
        ">",
        "> > older",
        "> >",
        "> > oldest",
        "",
        "Done",
    ];
    assert_eq!(shown(html, 22), lines);
    let expected = SpanRole::Quote;
    assert_eq!(style(&super::lay_out_html(html, 80), "one").role, expected);
}

#[test]
fn preformatted_text_keeps_its_spaces() {
    let lines = ["if x:", "    y()", "", "z"];
    assert_eq!(shown("<pre>if x:\n    y()\n\nz</pre>", 40), lines);
}

#[test]
fn deep_indent_leaves_half_width_for_text() {
    let deep = format!("{}<b>a long line of code</b>", " ".repeat(12));
    let page = format!("<pre>if x:\n    y()\n{deep}</pre>");
    let lines = ["if x:", "  y()", "      a long line of", "        code"];
    assert_eq!(shown(&page, 20), lines);
    // A line that fits keeps its place, however deep it is.
    let fits = format!("{}end", " ".repeat(17));
    assert_eq!(shown(&format!("<pre>{fits}</pre>"), 20), [fits]);
}

#[test]
fn japanese_does_not_wrap_before_a_full_stop() {
    let lines = ["ご注文の確認です。", "ありがとう。"];
    assert_eq!(shown("<p>ご注文の確認です。ありがとう。</p>", 18), lines);
    let lines = ["ご注文の確認で", "す。ありがとう。"];
    assert_eq!(shown("<p>ご注文の確認です。ありがとう。</p>", 16), lines);
}

#[test]
fn japanese_cells_wrap_in_their_column() {
    let html =
        "<table><tr><td>商品<td>とても長い商品の名前がここにあります<tr><td>数量<td>二</table>";
    let lines = [
        "商品  とても長い商品の名",
        "      前がここにあります",
        "数量  二",
    ];
    assert_eq!(shown(html, 24), lines);
}

#[test]
fn right_to_left_text_stays_in_logical_order() {
    assert_eq!(text("<p dir=rtl>مرحبا Ana</p>"), "مرحبا Ana\n");
}

#[test]
fn lines_with_ligatures_fit_the_screen() {
    let html = format!("<p>{}", "لا إله سلام لأن ".repeat(10));
    for width in 20..60 {
        let body = super::lay_out_html(&html, width);
        assert!(!body.lines.iter().any(|line| line.wide), "{width}");
    }
}

#[test]
fn case_and_spaces_follow_css() {
    let expected = "STRASSE\n";
    assert_eq!(text("<p style='text-transform:uppercase'>straße"), expected);
    let capitalized = "<p style='text-transform:capitalize'>it's an order";
    assert_eq!(text(capitalized), "It's An Order\n");
    assert_eq!(text("<p>  a \n <b> b</b> <i>c </i> d"), "a b c d\n");
}

#[test]
fn space_inside_an_empty_link_is_shown() {
    let html =
        "<a href=https://a.test>a</a><a href=https://b.test> </a><a href=https://c.test>c</a>";
    assert_eq!(text(html), "a c\n");
}

#[test]
fn moving_text_has_its_own_line() {
    assert_shown(
        "<marquee>Today only</marquee><b>50% off</b>",
        &["Today only", "50% off"],
    );
}

#[test]
fn inline_blocks_of_several_lines_are_stacked() {
    let html = "<style>.c{display:inline-block;width:50%}</style><div><div class=c><b>Ships to</b><br>Ana<br>Brno</div>\
                <div class=c><b>Paid with</b><br>Card</div></div>";
    assert_eq!(text(html), "Ships to\nAna\nBrno\n\nPaid with\nCard\n");
    let short = "<p>See <span style='display:inline-block'>page 2</span>.</p>";
    assert_eq!(text(short), "See page 2.\n");
}

#[test]
fn flex_items_are_separated_by_spaces() {
    let html = "<div style='display:flex'><span>Refund</span><strong>£51.90</strong></div>";
    assert_eq!(text(html), "Refund £51.90\n");
    for justify in ["space-between", "space-around", "space-evenly"] {
        let row = |items: &str| {
            format!("<div style='display:flex;justify-content:{justify}'>{items}</div>")
        };
        let html = row("<span>Plan</span> <b>Team</b>") + &row("Total due <b>£51.90</b>");
        assert_eq!(text(&html), "Plan  Team\nTotal due  £51.90\n");
        let html = row("<span>Plan</span><span>Team</span>") + "<p>After";
        assert_eq!(text(&html), "Plan  Team\n\nAfter\n");
        let long = "A sentence that is longer than the items of a menu.";
        let html = row(&format!("<span>{long}</span><span>£51.90</span>"));
        assert_eq!(text(&html), format!("{long}  £51.90\n"));
        let html = row(&format!("<span>{long}</span><span>{long}</span>"));
        assert_eq!(text(&html), format!("{long}\n{long}\n"));
    }
}

#[test]
fn link_naming_another_host_shows_real_host() {
    let disguised =
        "<p>Open <a href='https://evil.example/x'>https://<b>bank.test</b>/login</a>.</p>";
    let expected = "Open https://bank.test/login (→ evil.example).\n";
    assert_eq!(text(disguised), expected);
    let body = super::lay_out_html(disguised, 80);
    assert_eq!(style(&body, "evil.example"), SpanRole::LinkHost.into());
    for width in 10..80 {
        let body = super::lay_out_html(disguised, width);
        assert_eq!(body.unwrapped_text(), "Open https://bank.test/login.\n");
    }
    let second = "<p><a href='https://evil.example/'>Here</a> or <a href='https://evil.example/'>www.bank.test</a>";
    assert_eq!(text(second), "Here or www.bank.test (→ evil.example)\n");
    let cell = "<table><tr><td>Site<td><a href='https://evil.example/'>bank.example.com</a><tr><td>a<td>b</table>";
    assert!(text(cell).contains("bank.example.com (→ evil.example)"));
    for honest in [
        "<a href='https://www.bank.test/x'>bank.test</a>",
        "<a href='https://evil.example/'>Read report.pdf</a>",
        "<a href='mailto:ana@evil.example'>www.bank.test</a>",
    ] {
        assert!(!text(honest).contains('→'), "{honest}");
    }
}

#[test]
fn details_are_marked_as_closed_or_open() {
    let html = "<details><summary>Terms</summary>Text<p>and more</details><p>End";
    assert_eq!(text(html), "▸ Terms\n\nEnd\n");
    let open = html.replace("<details", "<details open");
    assert_eq!(text(&open), "▾ Terms\nText\n\nand more\n\nEnd\n");
}

#[test]
fn table_foot_is_below_its_bodies() {
    let html = "<table><tfoot><tr><td>Total<td>2</tfoot><tr><td>One<td>1<tr><td>Two<td>1</table>";
    let lines: Vec<String> = text(html).lines().map(str::to_owned).collect();
    let first_words: Vec<_> = lines
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(first_words, ["One", "Two", "Total"]);
}

#[test]
fn reversed_list_counts_down() {
    let items = "<li>a<li>b<li value=9>c<li>d";
    let html = format!("<ol reversed>{items}</ol><p>.<ol reversed start=2>{items}</ol>");
    let expected = "4. a\n3. b\n9. c\n8. d\n\n.\n\n2. a\n1. b\n9. c\n8. d\n";
    assert_eq!(text(&html), expected);
}
