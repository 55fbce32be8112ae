//! Tests of the source and JSON views.

use proptest::prelude::*;

use super::*;
use crate::render::BodySpan;

fn json_text(json: &str, width: usize) -> String {
    CodeView::from_json(json).lay_out(width).text()
}

#[test]
fn json_keeps_numbers_key_order_and_unknown_fields() {
    let json = r#"{"b":1.50,"a":[],"c":{"x":12345678901234567890},"d":[true,null]}"#;
    let expected = "{\n  \"b\": 1.50,\n  \"a\": [],\n  \"c\": {\n    \"x\": 12345678901234567890\n  },\n  \"d\": [\n    true,\n    null\n  ]\n}\n";
    assert_eq!(json_text(json, 80), expected);
}

#[test]
fn long_json_strings_wrap_and_longer_ones_fold() {
    let json = format!(r#"{{"a":"{}","b":"{}"}}"#, "x".repeat(60), "y".repeat(1000));
    let text = json_text(&json, 30);
    assert!(
        text.lines().all(|line| line.chars().count() <= 30),
        "{text}"
    );
    let joined = text.replace(['\n', ' '], "");
    assert!(joined.contains(&"x".repeat(60)));
    assert!(joined.contains("…802morecharacters"), "{text}");
}

#[test]
fn control_characters_become_json_escapes() {
    let text = json_text("{\"a\":\"\u{9b}31m\u{202e}x\"}", 80);
    assert!(text.contains(r"\u009b31m\u202ex"), "{text}");
}

#[test]
fn excess_combining_marks_become_json_escapes() {
    let text = json_text(&format!("{{\"a\":\"e{}x\"}}", "\u{301}".repeat(6)), 80);
    let kept = "\u{301}".repeat(4);
    assert!(text.contains(&format!(r"e{kept}\u0301\u0301x")), "{text}");
}

#[test]
fn invalid_json_is_shown_token_by_token() {
    assert_eq!(json_text("oops \"unclosed", 80), "oops\"unclosed\n");
    assert_eq!(json_text("}}]", 80), "}\n}\n]\n");
}

/// Checks that each text is a span of its role.
#[track_caller]
fn assert_roles(view: &CodeView, roles: &[(&str, SpanRole)]) {
    let lines = view.lay_out(80).lines;
    let spans: Vec<&BodySpan> = lines.iter().flat_map(|line| &line.spans).collect();
    for (text, role) in roles {
        let is_found = |span: &&BodySpan| span.text == *text && span.style.role == *role;
        assert!(spans.iter().any(is_found), "{text:?} in {spans:?}");
    }
}

#[test]
fn json_keys_and_values_have_different_roles() {
    let view = CodeView::from_json(r#"{"k":"v","n":-1,"t":true}"#);
    let roles = [
        ("\"k\"", SpanRole::Key),
        ("\"v\"", SpanRole::String),
        ("-1", SpanRole::Number),
        ("true", SpanRole::Literal),
    ];
    assert_roles(&view, &roles);
}

#[test]
fn one_line_source_gets_a_line_per_block() {
    let body = CodeView::from_html("<div><p class=\"a\">Hi <b>you</b></p></div>").lay_out(80);
    assert_eq!(
        body.text(),
        "<div>\n  <p class=\"a\">Hi <b>you</b></p>\n</div>\n"
    );
}

#[test]
fn source_tokens_have_their_roles() {
    let view = CodeView::from_html("<!-- c --><a href='x'>t</a><style>p{}</style>");
    let roles = [
        ("<!-- c -->", SpanRole::Comment),
        ("<a", SpanRole::Tag),
        ("href", SpanRole::Attribute),
        ("'x'", SpanRole::Value),
        ("t", SpanRole::Text),
        ("p{}", SpanRole::Code),
    ];
    assert_roles(&view, &roles);
}

#[test]
fn broken_markup_is_shown_whole() {
    for source in [
        "<",
        "a < b",
        "<a href=\"x",
        "<style>never closed",
        "<!-- open",
        "</",
        "<3",
    ] {
        let copied = CodeView::from_html(source).lay_out(40).unwrapped_text();
        assert_eq!(copied.trim_end_matches('\n'), source);
    }
}

proptest! {
    #[test]
    fn copying_gives_the_source_back(source in "(<p>|</p>|<a href=\"x y\">|</a>|<br>|<!--|-->|<style>|</style>|word |\n|<|\"|日本){0,30}", width in 4..60_usize) {
        let copied = CodeView::from_html(&source).lay_out(width).unwrapped_text();
        prop_assert_eq!(copied.trim_end_matches('\n'), source.trim_end_matches('\n'));
    }
}
