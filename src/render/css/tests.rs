//! Tests of the cascade with small style sheets.

use super::*;
use crate::render::html;

/// Returns the style of the element with id `x`.
fn style(html: &str) -> ComputedStyle {
    let mut tree = html::parse(html).dom;
    let styles = compute_styles(&mut tree);
    let id = tree
        .nodes()
        .find(|id| tree.attribute(*id, "id") == Some("x"))
        .expect("the html has an element x");
    styles[id]
}

fn is(px: f32, expected: f32) -> bool {
    (px - expected).abs() < 0.01
}

#[test]
fn specific_rules_win_then_later_ones() {
    let css = "<style>#x{color:red} p.a{color:lime} .a{color:blue} p{color:navy}</style>";
    let expected = Color::Known(Rgba::opaque(255, 0, 0));
    assert_eq!(style(&format!("{css}<p id=x class=a>")).colour, expected);
    let later = style("<style>.a{color:red} .a{color:lime}</style><p id=x class=a>");
    assert_eq!(later.colour, Color::Known(Rgba::opaque(0, 255, 0)));
}

#[test]
fn layers_decide_before_specificity() {
    let display = |css: &str| style(&format!("<style>{css}</style><p id=x class=a>")).display;
    for shown in [
        ".a{display:block}@layer x{#x{display:none}}",
        "@layer x{#x{display:none}}.a{display:block}",
        "@layer x{#x{display:none}}@layer y{.a{display:block}}@layer x{#x{display:none}}",
        "@layer x,y;@layer y{.a{display:block}}@layer x{#x{display:none}}",
        "@layer{#x{display:none}}@layer{.a{display:block}}",
        "@layer z{@layer x{#x{display:none}}@layer y{.a{display:block}}}",
        "@layer z{@layer x{#x{display:none}}}.a{display:block}",
        "@layer x{.a{display:block!important}}#x{display:none!important}",
        "@layer x{.a{display:block!important}}@layer y{#x{display:none!important}}",
        "@layer x{.a{display:block!important}}#x{display:none}",
    ] {
        assert_eq!(display(shown), Display::Block, "{shown}");
        let hidden = shown
            .replace("block", "?")
            .replace("none", "block")
            .replace('?', "none");
        assert_eq!(display(&hidden), Display::None, "{hidden}");
    }
    let inline = "<style>@layer x{p{display:none!important}}</style><p id=x style='display:block!important'>";
    assert_eq!(style(inline).display, Display::Block);
}

#[test]
fn important_beats_inline_beats_rules() {
    let display = |rule: &str, inline: &str| {
        let html = format!("<style>p{{{rule}}}</style><p id=x style='{inline}'>");
        style(&html).display
    };
    let important = "display:none!important";
    assert_eq!(display(important, "display:block"), Display::None);
    assert_eq!(display("display:none", "display:block"), Display::Block);
    let both = display(important, "display:block!important");
    assert_eq!(both, Display::Block);
}

#[test]
fn invalid_rules_do_not_disable_later_ones() {
    for bad in [
        "p::-x-y(a){}",
        "@page{margin:1in}",
        "a:bogus{color:red}",
        "@media (max-width:1px){p{color:red}}",
        "{{ css }}",
        "p{color:}",
    ] {
        let html = format!("<style>{bad} .h{{display:none}}</style><p id=x class=h>");
        assert_eq!(style(&html).display, Display::None, "{bad}");
    }
}

#[test]
fn combinators_positions_and_attributes_match() {
    for selector in [
        "div > p",
        "div p",
        "b + p",
        "b ~ p",
        "p:last-child",
        "p:nth-child(2)",
        "[class^=ba]",
        "[class*=a][id]",
        "*[class~='b']",
        "p:not(.c)",
        "DIV P",
    ] {
        let css = format!("<style>{selector}{{display:none}}</style>");
        let html = format!("{css}<div><b></b><p id=x class='bar b'></p></div>");
        assert_eq!(style(&html).display, Display::None, "{selector}");
    }
    let hover = style("<style>p:hover{display:none}</style><p id=x>");
    assert_eq!(hover.display, Display::Block);
}

#[test]
fn attributes_and_tags_style_as_in_a_browser() {
    assert!(is(style("<!doctype html><h1 id=x>").font_size, 32.0));
    assert!(is(style("<font size=5 id=x>").font_size, 24.0));
    let cell = style("<table cellpadding=7><tr><td id=x bgcolor='#ff0'>");
    assert_eq!(cell.padding[0], Length::Px(7.0));
}

#[test]
fn relative_sizes_refer_to_the_parent() {
    for (html, line_height) in [
        (
            "<div style='font-size:20px'><p id=x style='font-size:1.5em;line-height:2'>",
            60.0,
        ),
        ("<div style='font:bold 12px/18px Arial'><p id=x>", 18.0),
        ("<p id=x style='line-height:150%;font-size:20px'>", 30.0),
    ] {
        let style = style(&format!("<!doctype html>{html}"));
        assert!(is(style.line_height_px(), line_height), "{html}");
    }
    let html =
        "<!doctype html><style>html{font-size:62.5%}</style><p id=x style='font-size:1.6rem'>";
    assert!(is(style(html).font_size, 16.0));
}

/// Returns the steps and the tests of selectors that the elements of html take.
fn spent(html: &str) -> (u64, u64) {
    let tree = html::parse(html).dom;
    let sheets = RuleIndex::from_dom(&tree);
    let mut matcher = RuleMatcher::new(&sheets);
    for id in tree.nodes().skip(1) {
        matcher.find_rules(&tree, id, None);
    }
    (
        MAX_TREE_STEPS - matcher.steps_left.get(),
        MAX_SELECTOR_TESTS - matcher.tests_left,
    )
}

#[test]
fn matching_takes_limited_steps() {
    let deep = "<div class=q>".repeat(150);
    let css = format!(
        "<style>zz {}{{color:red}} .zz {}{{display:none}}</style>",
        "div ".repeat(12),
        ".q ".repeat(12)
    );
    let (steps, _) = spent(&format!("{css}{deep}core"));
    assert!(steps < 200_000, "{steps} steps");
}

#[test]
fn huge_numbers_do_no_harm() {
    let css = "<style>li:nth-child(99999999999n+88888888888){display:none} li:nth-child(-2147483648n+2147483647){color:red}</style>";
    style(&format!(
        "{css}<ul><li id=x style='height:{}px;max-height:1e999px;color:rgb(999999999999,-5,1e30)'>",
        "9".repeat(400)
    ));
}

#[test]
fn repeated_declarations_count_once() {
    let css = "color:red;margin:1px;".repeat(1_000);
    let variables = Variables::default();
    let mut reader = StylesheetReader::new(false, &variables);
    let declarations = reader.parse_declarations(&mut Parser::new(&css));
    assert_eq!(declarations.len(), 5, "a colour and four margins");
    let last = style("<p id=x style='display:block;color:red;display:none;display:inline'>");
    assert_eq!(last.display, Display::Inline);
}

#[test]
fn long_class_and_selector_lists_spend_budget() {
    let css = format!(
        "<style>.a.b{{color:red}} p:not({}.z){{color:red}}</style>",
        ".y,".repeat(150)
    );
    let (steps, tries) = spent(&format!("{css}<p class='a {}'>", "junk ".repeat(1_000)));
    assert!(steps >= 150, "{steps} steps");
    assert!(tries >= 150, "{tries} tries");
}

#[test]
fn has_spends_more_budget_than_not() {
    let tries = |css: &str| spent(&format!("<style>{css}{{color:red}}</style><p>")).1;
    let (has, not) = (tries(":has(q)"), tries(":not(q)"));
    assert!(has >= 4 * not, "{has} and {not} tries");
}

#[test]
fn legacy_colours_follow_the_html_standard() {
    for (written, expected) in [
        ("44CC44", "#44cc44"),
        ("#f0a", "#ff00aa"),
        ("chucknorris", "#c00000"),
        ("#00336", "#003360"),
        ("0", "#000000"),
        ("#ff000080", "#ff0080"),
        (" RED ", "#ff0000"),
        ("rgb(1,2,3)", "#001030"),
        ("#001230045000678900", "#000467"),
        ("#001230045000078900", "#014578"),
    ] {
        let font = style(&format!("<font id=x color='{written}'>"));
        let wanted = style(&format!("<p id=x style='color:{expected}'>"));
        assert_eq!(font.colour, wanted.colour, "{written}");
    }
}

#[test]
fn nested_rules_apply_inside_their_parents() {
    let is_hidden = |css: &str| {
        let html = format!("<style>{css}</style><div class=a><b><p id=x class=b>");
        style(&html).display == Display::None
    };
    for css in [
        ".a{& .b{display:none}}",
        ".a{color:red;.b{display:none}}",
        ".a{p{display:none} color:red}",
        "p{&.b{display:none}}",
        "p{.a &{display:none}}",
        "p{display:block;p:is(&){display:none}}",
        ".a{b{& > .b{display:none}}}",
        ".a{@media (min-width:300px){.b{display:none}}}",
        "p{@media screen{display:none}}",
        "p{@supports (display:grid){&.b{display:none}}}",
        "#y,.a{.c,.b{display:none}}",
        "p{--x:none;display:var(--x);i{display:block}}",
        "@scope (.a){.b{display:none}}",
        "@layer k{@scope (.a){p{display:none}}}",
    ] {
        assert!(is_hidden(css), "{css}");
    }
    for css in [
        ".c{.b{display:none}}",
        ".a{> .b{display:none}}",
        ".a{&.b{display:none}}",
        ".a{@media (max-width:300px){.b{display:none}}}",
        ".a{a:hover .b{display:none}}",
        ".a{color:red;} .b{& i{display:none}}",
        "@scope (.c){.b{display:none}}",
        "@scope (.a) to (b){.b{display:none}}",
    ] {
        assert!(!is_hidden(css), "{css}");
    }
    assert!(is_hidden(
        ".a{& .c{display:none} zoom:1; *zoom:1} .b{display:none}"
    ));
}
