//! Tests of the four views and of the comparison of parts.

use super::*;
use crate::api::RetrievedEmail;

fn email(html: Option<&str>, text: Option<&str>) -> Email {
    let json = serde_json::json!({ "id": "1", "html": html, "text": text }).to_string();
    let email: Email = RetrievedEmail::parse(json).unwrap().into();
    let json = r#"{"id":"1"}"#.into();
    Email { json, ..email }
}

fn notice_labels(email: &Email) -> Vec<String> {
    lay_out(email, BodyView::Rendered, 80)
        .notices
        .into_iter()
        .map(|notice| notice.label)
        .collect()
}

#[test]
fn each_view_shows_its_part() {
    let both = email(Some("<p>Hello</p>"), Some("Hello\n"));
    assert_eq!(lay_out(&both, BodyView::Rendered, 80).text(), "Hello\n");
    assert_eq!(lay_out(&both, BodyView::Text, 80).text(), "Hello\n");
    let expected = "<p>Hello</p>\n";
    assert_eq!(lay_out(&both, BodyView::Source, 80).text(), expected);
    let expected = "{\n  \"id\": \"1\"\n}\n";
    assert_eq!(lay_out(&both, BodyView::Raw, 80).text(), expected);
}

#[test]
fn missing_part_shows_message_or_other_part() {
    use BodyView::{Rendered, Source, Text};
    let shown = |html, text, view| lay_out(&email(html, text), view, 80).text();
    assert_eq!(shown(None, Some("Only text"), Rendered), "Only text\n");
    let no_text = shown(Some("<p>x"), None, Text);
    assert_eq!(no_text, "This email has no plain-text part.\n");
    let no_html = shown(None, Some("x"), Source);
    assert_eq!(no_html, "This email has no html part.\n");
    let nothing = shown(None, None, Rendered);
    assert_eq!(nothing, "This email has no content.\n");
    let empty = shown(Some("<p></p>"), None, Rendered);
    assert_eq!(empty, "The html part shows nothing.\n");
}

#[test]
fn parts_are_compared_by_their_words() {
    let html = "<p>Your parcel has left our warehouse and will reach you on Friday.</p><p><a href='https://example.com/x'>Track it</a></p>";
    let same = "Your parcel has left our warehouse and will reach you on Friday.\n\nTrack it: https://example.com/x\n";
    assert!(notice_labels(&email(Some(html), Some(same))).is_empty());
    let other = Some("Please enable html to view this message in your reader");
    assert_eq!(
        notice_labels(&email(Some(html), other)),
        ["text part differs"]
    );
    let notice = ["text part empty"];
    assert_eq!(notice_labels(&email(Some(html), Some(" \n"))), notice);
    assert_eq!(notice_labels(&email(Some(html), None)), ["no text part"]);
}

#[test]
fn document_can_be_laid_out_again_and_shared() {
    fn shareable<T: Send + Sync>(_: &T) {}
    let document = Document::from_html("<p>one two three four</p>");
    shareable(&document);
    assert_eq!(document.lay_out(9).text(), "one two\nthree\nfour\n");
    assert_eq!(document.lay_out(80).text(), "one two three four\n");
}

#[test]
fn panics_are_caught_only_inside_catch_panics() {
    assert_eq!(catch_panics(|| 7), Some(7));
    let outcome: Option<()> = catch_panics(|| {
        assert!(is_catching_panics());
        catch_panics(|| ());
        assert!(is_catching_panics());
        panic!("as a parser may do");
    });
    assert_eq!(outcome, None);
    assert!(!is_catching_panics());
}

#[test]
fn body_knows_its_widest_line() {
    let html = "<p>one</p><p>seven77</p>";
    assert_eq!(lay_out_html(html, 40).widest, 0, "no line is too wide");
    assert_eq!(lay_out_html(html, 5).widest, 7);
}

fn masked(width: u16) -> LayoutOptions {
    LayoutOptions::from(width).masked(true)
}

#[test]
fn every_view_knows_of_codes_in_another_view() {
    let code = "Your code is 482913.";
    let split = "<p>Your code is 482 <b>913</b>.</p>";
    for (html, text) in [
        (None, Some(code)),
        (Some("<p>See the text part.</p>"), Some(code)),
        (Some(split), None),
    ] {
        for view in BodyView::ALL {
            let body = lay_out(&email(html, text), view, masked(60));
            assert!(body.has_secrets, "{html:?} {text:?} {view:?}");
            let digits: String = body.text().chars().filter(char::is_ascii_digit).collect();
            assert!(!digits.contains("482913"), "{html:?} {text:?} {view:?}");
        }
    }
}

#[test]
fn code_beside_wrapped_label_is_masked() {
    let label = "One-time activation code for the console of your new device";
    let rows = |code: &str| format!("<tr><td>{label}<td>{code}<tr><td>Where<td>Order 4821");
    let record = |code: &str| {
        format!(
            "<tr><th>What<th>Value<th>Note<tr><td>{label}<td>{code}<td>Valid for ten minutes<tr><td>Order of the person<td>12<td>None"
        )
    };
    for code in ["482913", "QX7M-42KD-99LP-TT3W-8HZC-5RVN"] {
        for html in [
            format!("<table>{}</table>", rows(code)),
            format!("<table border=1>{}</table>", rows(code)),
            format!("<table border=1>{}</table>", record(code)),
        ] {
            for width in 30..=120 {
                let email = email(Some(&html), None);
                let body = lay_out(&email, BodyView::Rendered, masked(width));
                let text = body.text();
                let leaks = ["4829", "QX7M", "42KD", "99LP", "TT3W", "8HZC", "5RVN"];
                let is_leaked = leaks.iter().any(|leak| text.contains(leak));
                assert!(body.has_secrets && !is_leaked, "{width}\n{text}");
                let source = lay_out(&email, BodyView::Source, masked(width)).text();
                assert!(!source.contains(code), "{width}\n{source}");
            }
        }
    }
}

#[test]
fn account_number_behind_a_code_stays() {
    let row = "<tr><td>IBAN<td>DE89 3704 0044 0532 0130 00<tr><td>Amount<td>1234.56 EUR";
    let html = format!("<p>Your sign-in code is 739418.<table border=1>{row}</table>");
    let text = lay_out(&email(Some(&html), None), BodyView::Rendered, masked(80)).text();
    let is_shown = text.contains("code is ••••••.") && text.contains("3704 0044 0532");
    assert!(is_shown, "{text}");
}

#[test]
fn masked_url_breaks_where_it_would_unmasked() {
    let url = "https://acme.example/login?token=a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6&uid=9f8e7d6c";
    let html = format!("<table><tr><td>User<td>Ana</table><p>{url}</p>");
    let email = email(Some(&html), None);
    for width in [30, 40, 60, 80] {
        let lengths = |is_masked| -> Vec<usize> {
            let options = LayoutOptions::from(width).masked(is_masked);
            let text = lay_out(&email, BodyView::Rendered, options).text();
            text.lines().map(|line| line.chars().count()).collect()
        };
        assert_eq!(lengths(true), lengths(false), "{width}");
    }
}

#[test]
fn text_view_reports_secrets_of_html_part() {
    let html = "<a href='https://acme.example/reset?x=1a2b'>Reset</a>";
    let has_secrets = |html, view| {
        let email = email(html, Some("Open the link."));
        lay_out(&email, view, masked(60)).has_secrets
    };
    for view in [BodyView::Rendered, BodyView::Text, BodyView::Source] {
        assert!(has_secrets(Some(html), view), "{view:?}");
    }
    assert!(!has_secrets(None, BodyView::Text));
}

#[test]
fn code_is_masked_before_column_layout() {
    let page = |code: &str| {
        format!(
            "<table width=600><tr><td width=300>Your login code is<br>{code}<td width=300>Need help?<br>Write to us</table>"
        )
    };
    let shown = |code: &str| {
        let email = email(Some(&page(code)), None);
        lay_out(&email, BodyView::Rendered, masked(120)).text()
    };
    let masked = shown("482913");
    assert!(masked.lines().any(|line| line == "••••••"), "{masked}");
    let plain = shown("on its way");
    assert!(plain.contains("Your login code is    "), "{plain}");
}

#[test]
fn kept_views_give_the_same_bodies() {
    let html = "<table width=600><tr><td width=300>Billing<br>Ana Example<td width=300>Shipping<br>Bo Example</table>\
                <p>See <a href='https://acme.example/reset?token=a1b2c3d4e5f6'>this</a>.";
    for html in [html.to_owned(), html.replace("reset?token", "help?page")] {
        let email = email(Some(&html), Some("See https://acme.example/help"));
        let mut views = EmailViews::default();
        for width in [120, 40, 80, 120] {
            for view in BodyView::ALL {
                for options in [masked(width), width.into()] {
                    let options = LayoutOptions {
                        for_screen: true,
                        ..options
                    };
                    let expected = lay_out(&email, view, options);
                    assert_eq!(views.lay_out(&email, view, options), expected);
                }
            }
        }
    }
}

#[test]
fn base_completes_relative_links() {
    let html = "<base href='https://evil.example/a/'><a href=/login>x</a> <a href='b?c'>y</a>\
        <a href='#top'>z</a> <a href='https://acme.example/'>q</a>";
    let body = lay_out_html(html, 60);
    let targets: Vec<&str> = body.links.iter().map(|link| &*link.target).collect();
    let expected = [
        "https://evil.example/login",
        "https://evil.example/a/b?c",
        "#top",
        "https://acme.example/",
    ];
    assert_eq!(targets, expected);
    assert_eq!(&*lay_out_html("<a href=/x>x</a>", 60).links[0].target, "/x");
}

#[test]
fn buttons_of_forms_are_links() {
    for button in ["<input type=submit value=Send>", "<button>Send</button>"] {
        let html = format!("<form action='https://evil.example/a'>{button}</form>");
        let body = lay_out_html(&html, 60);
        assert_eq!(&*body.links[0].target, "https://evil.example/a", "{html}");
        assert!(lay_out_html(button, 60).links.is_empty(), "{button}");
    }
}

#[test]
fn reversed_text_is_reported() {
    let is_reported = |html: &str| {
        let notices = lay_out_html(html, 60).notices;
        notices.iter().any(|notice| notice.label == "reversed text")
    };
    assert!(is_reported("<bdo dir=rtl>moc.knab</bdo>"));
    assert!(is_reported(
        "<p style='direction:rtl;unicode-bidi:bidi-override'>moc.knab</p>"
    ));
    assert!(!is_reported("<p dir=rtl>moc.knab</p><bdo>bank</bdo>"));
}
