//! Hostile input. The tests count work, not time.

use super::*;

/// Lays out html and checks the limits that hold for every body.
fn assert_bounded(name: &str, html: &str) -> Body {
    let body = super::lay_out_html(html, 80);
    let (lines, links) = (body.lines.len(), body.links.len());
    assert!(lines <= 50_010, "{name}: {lines} lines");
    assert!(links <= 20_000, "{name}: {links} links");
    let spans = body.lines.iter().flat_map(|line| &line.spans);
    let bytes: usize = spans.map(|span| span.text.len()).sum();
    assert!(bytes <= 8 << 20, "{name}: {bytes} bytes");
    let bad =
        |c: char| c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let text = body.text().replace('\n', "");
    assert!(!text.chars().any(bad), "{name}: in the text");
    for link in &body.links {
        let mut chars = link.target.chars().chain(link.text.chars());
        assert!(!chars.any(bad), "{name}: in a link");
    }
    body
}

fn has_cut_notice(body: &Body) -> bool {
    body.is_cut() && body.text().contains("not everything is shown")
}

#[test]
fn deep_nesting_is_cut_with_a_notice() {
    for tag in [
        "div",
        "blockquote",
        "ul><li",
        "table><tr><td",
        "span",
        "a href=x><b><i",
        "font color=red",
        "center",
        "dl><dd",
    ] {
        let body = assert_bounded(tag, &format!("{}core", format!("<{tag}>").repeat(5_000)));
        assert!(body.text().contains("core"), "{tag}");
        assert!(has_cut_notice(&body), "{tag}");
    }
}

#[test]
fn many_elements_stay_within_the_limits() {
    for html in [
        "<p>x".repeat(35_000),
        "<br>".repeat(60_000) + "end",
        "<td>x".repeat(20_000),
        format!("<table>{}</table>", "<tr><td>a<td>b".repeat(8_000)),
        format!("<table><tr>{}</table>", "<td>x".repeat(5_000)),
        "<a href='https://example.com/'>x</a>".repeat(5_000),
        (0..25_000).fold(String::new(), |all, i| {
            all + &format!("<a href='https://e.test/{i}'>x</a> ")
        }),
        "&nbsp;".repeat(20_000),
        "x".repeat(100_000),
        format!("<pre>{}</pre>", "line\n".repeat(60_000)),
    ] {
        assert_bounded(&html[..20.min(html.len())].replace('\n', " "), &html);
    }
}

#[test]
fn long_source_is_cut_with_a_notice() {
    assert!(has_cut_notice(&assert_bounded(
        "long",
        &"word ".repeat(1_200_000)
    )));
}

#[test]
fn nested_tables_are_laid_out_once_each() {
    let mut html = "leaf".to_owned();
    for _ in 0..9 {
        html = format!("<table><tr><td>{html}</td><td>{html}</td></tr></table>");
    }
    let body = assert_bounded("two columns", &html);
    assert_eq!(body.text().matches("leaf").count(), 512);
}

#[test]
fn blank_characters_between_many_runs_cost_little() {
    let runs = "<b>&#x1680;</b><i>&#x1680;</i>".repeat(6_000);
    let body = assert_bounded("blank runs", &format!("<p>x{runs}"));
    assert_eq!(body.text().trim(), "x");
}

#[test]
fn extreme_spans_and_list_numbers_do_no_harm() {
    for html in [
        "<table><tr><td colspan=3><td rowspan=3></table>x",
        "<table><tr><td colspan=18446744073709551615>a<td rowspan=18446744073709551615>b<tr><td>c</table>",
        "<table><tr><td colspan=-1>a<td rowspan=0>b</table>",
        "<ol start=9223372036854775807><li>a<li>b</ol><ol start=-9999999999><li>c</ol>",
    ] {
        assert_bounded(html, html);
    }
}

#[test]
fn hostile_style_sheets_terminate() {
    let many = (0..9_000).fold(String::new(), |all, i| {
        all + &format!(".c{i} .d{i}{{color:red}}")
    });
    for css in [
        many,
        "@media screen{".repeat(20_000),
        format!("p{{color:{}", "rgb(".repeat(20_000)),
        "/*x".repeat(50_000),
        ":not(".repeat(20_000) + "p",
        format!("{} p{{color:red}}", "div ".repeat(3_000)),
        ":is(div,p) ".repeat(200) + "{color:red}",
        (0..5_000).fold(String::new(), |all, i| all + &format!("#i{i},")) + "p{color:red}",
    ] {
        let name = css[..30].to_owned();
        let body = assert_bounded(&name, &format!("<style>{css}</style><div><div><p>text"));
        let is_shown = body.text().contains("text") || css.starts_with("/*");
        assert!(is_shown, "{name}");
    }
    let inline = format!("<p style=\"{}\">text", "color:red;".repeat(50_000));
    assert_bounded("inline", &inline);
}

#[test]
fn escape_sequences_never_reach_the_output() {
    let evil = "\u{1b}[31m\u{9b}2J\u{1b}]52;c;QQ==\u{7}\u{202e}&#27;&#x9b;&#x202e;";
    let html = format!(
        "<title>{evil}</title><p title='{evil}'>{evil}<a href='https://e.test/{evil}'>{evil}</a><img src=x alt='{evil}'>\
         <a href='https://e.test/x' title='{evil}'><img src=y></a><img src='cid:{evil}'><img width=1 height=1 src='https://{evil}/'>\
         <ol start='{evil}'><li>x</ol><table><tr><td>{evil}<td>b</table><pre>{evil}\r\n\u{b}</pre><input type=submit value='{evil}'>"
    );
    let body = assert_bounded("escapes", &html);
    for style in [
        ansi::AnsiOptions {
            colour: true,
            links: true,
            masked: false,
        },
        ansi::AnsiOptions::default(),
    ] {
        let written = ansi::write(&body, style);
        let ours = written.replace("\u{1b}]8;;", "").replace("\u{1b}\\", "");
        let left = ours
            .split("\u{1b}[")
            .map(|part| part.split_once('m').map_or(part, |(_, text)| text))
            .collect::<String>();
        let has_control = left.chars().any(|c| c.is_control() && c != '\n');
        assert!(!has_control, "{left:?}");
    }
    let mut notices = body.notices.iter();
    assert!(notices.any(|notice| notice.label.ends_with(" removed")));
}

#[test]
fn floods_of_combining_and_invisible_characters_are_removed() {
    let marks: String = (0..1_000)
        .filter_map(|i| char::from_u32(0x300 + i % 112))
        .collect();
    assert!(text(&format!("<p>z{marks}a")).chars().count() < 12);
    let invisible = "\u{200b}\u{200d}\u{feff}\u{34f}\u{ad}".repeat(20_000);
    assert_eq!(text(&format!("<p>pre{invisible}post")), "prepost\n");
}

#[test]
fn huge_attributes_are_dropped() {
    let many = (0..20_000).fold(String::new(), |all, i| all + &format!("a{i}=v "));
    assert_eq!(text(&format!("<p {many}>text")), "text\n");
    let picture = format!(
        "<p>hi<img src='data:image/png;base64,{}' alt=chart> bye",
        "A".repeat(5_000_000)
    );
    assert_eq!(text(&picture), "hi [chart] bye\n");
}

fn content_of(html: &str) -> blocks::BlockContent {
    let mut page = html::parse(html);
    let styles = css::compute_styles(&mut page.dom);
    blocks::build_blocks(&page.dom, &styles)
}

#[test]
fn lines_are_limited_before_the_layout() {
    for (start, unit) in [
        ("<pre>", "a\n"),
        ("<div style='white-space:pre'>", "a\n"),
        ("<div style='white-space:pre-line'>", "a b\n"),
        ("<textarea>", "a\n"),
    ] {
        let html = format!("{start}{}", unit.repeat(300_000));
        assert_eq!(content_of(&html).blocks.len(), 50_001, "{start}");
        let body = assert_bounded(start, &html);
        assert!(body.text().contains("more than 50 000 lines"), "{start}");
    }
}

#[test]
fn inline_pieces_are_limited_before_the_layout() {
    for unit in [
        "<img alt='a picture' src=x>",
        "<input type=submit value=Send>",
        "<a href=http://a.example/><img alt=a></a>",
    ] {
        let content = content_of(&unit.repeat(80_000));
        let texts = content.blocks.iter().flat_map(blocks::Block::paragraphs);
        let runs = texts.flat_map(|paragraph| &paragraph.runs);
        let count = runs.filter(|run| run.text.contains('[')).count();
        let is_cut = content.truncation.is_some() && count == 50_000;
        let is_bounded = is_cut || count < 50_000 && unit.starts_with("<a");
        assert!(is_bounded, "{unit}: {count}");
    }
    let body = assert_bounded("images", &"<img alt=a>".repeat(60_000));
    assert!(body.text().contains("too many links, pictures"));
}

#[test]
fn nested_selectors_and_pseudo_elements_are_limited() {
    let list = vec!["&"; 200].join(",");
    let nested = format!(
        "p{{{}{}",
        format!("{list}{{").repeat(8),
        "&::before{content:'ab'}"
    );
    let many = "&".repeat(100_000);
    let css = format!("{nested}{} p{{{many}{{color:red}}}}", "}".repeat(9));
    let html = format!(
        "<style>{css} b::before{{content:'{}'}}</style>",
        "x".repeat(1_000)
    );
    let shown = text(&format!("{html}{}", "<b>.</b> ".repeat(2_000)));
    let count = shown.matches(&['x', 'x'][..]).count();
    assert!((60_000..70_000).contains(&count), "{count}");
}

#[test]
fn nested_rules_like_declarations_take_linear_time() {
    let rules = "p:hover{color:red}".repeat(20_000);
    assert_eq!(text(&format!("<style>.a{{{rules}}}</style>text")), "text\n");
}
