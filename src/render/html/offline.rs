//! Rewrites html for a file that a browser opens, so that it requests nothing by
//! itself.
//!
//! A Content Security Policy stops images, styles, fonts, frames, forms and scripts. It stops
//! neither a refresh nor the lookups and connections of `<link>`, so those tags are left out. The
//! result has no `<` but those of the tags written here, and no comment: whatever a browser makes
//! of the nesting, it finds no other tag.

use std::cell::{Cell, RefCell};

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};

use super::limits::limit_attributes;
use super::tokenize;
use crate::text::format::{escape_html, is_listed};

/// Put before the html. Sources: Content Security Policy Level 3;
/// Firefox and Chromium look up the hosts of links in advance unless a page forbids it.
const HEAD: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
     style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'\">\n\
     <meta http-equiv=\"x-dns-prefetch-control\" content=\"off\">\n<meta charset=\"utf-8\">\n";

/// Tags that load or navigate, or whose content is no markup to a browser.
const DROPPED: &str = "applet base embed fencedframe frame frameset iframe link meta noembed \
    noframes noscript object plaintext portal script xmp";

/// Rewrites html so that a browser requests nothing before a link is followed.
pub(crate) fn without_requests(source: &str) -> String {
    let sink = tokenize(&limit_attributes(source), OfflineSink::default());
    HEAD.to_owned() + &sink.html.into_inner()
}

/// The kind of the text after a tag.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum TextKind {
    #[default]
    Text,
    Style,
    Dropped,
}

#[derive(Default)]
struct OfflineSink {
    html: RefCell<String>,
    text_kind: Cell<TextKind>,
    /// The text of the style sheet that is being read.
    style: RefCell<String>,
}

impl OfflineSink {
    fn process_tag(&self, tag: &Tag) -> TokenSinkResult<()> {
        self.end_style();
        let name = &*tag.name;
        let (raw, text_kind) = match (name, tag.kind) {
            ("style", TagKind::StartTag) => (Some(RawKind::Rawtext), TextKind::Style),
            ("script" | "iframe" | "noembed" | "noframes", TagKind::StartTag) => {
                (Some(RawKind::Rawtext), TextKind::Dropped)
            }
            ("title" | "textarea", TagKind::StartTag) => (Some(RawKind::Rcdata), TextKind::Text),
            _ => (None, TextKind::Text),
        };
        self.text_kind.set(text_kind);
        if !is_listed(name, DROPPED) && is_plain_name(name) {
            self.write_tag(tag);
        }
        raw.map_or(TokenSinkResult::Continue, TokenSinkResult::RawData)
    }

    fn write_tag(&self, tag: &Tag) {
        let mut html = self.html.borrow_mut();
        html.push('<');
        if tag.kind == TagKind::EndTag {
            html.push('/');
        }
        html.push_str(&tag.name);
        for attribute in &tag.attrs {
            let name = &*attribute.name.local;
            if is_plain_name(name) {
                html.push(' ');
                html.push_str(name);
                html.push_str("=\"");
                escape_html(&attribute.value, &mut html);
                html.push('"');
            }
        }
        html.push_str(if tag.self_closing { " />" } else { ">" });
    }

    fn write_text(&self, text: &str) {
        let mut html = self.html.borrow_mut();
        match self.text_kind.get() {
            TextKind::Text => escape_html(text, &mut html),
            TextKind::Style => self.style.borrow_mut().push_str(text),
            TextKind::Dropped => {}
        }
    }

    /// Writes the style sheet. Old ones begin like a comment of html;
    /// any other `<` that could begin markup is in a string of CSS and is written as its escape.
    fn end_style(&self) {
        let style = self.style.take().replace("<!--", "");
        let mut html = self.html.borrow_mut();
        for (n, part) in style.split('<').enumerate() {
            let begins_markup =
                part.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
            match n {
                0 => {}
                _ if begins_markup => html.push_str("\\3c "),
                _ => html.push('<'),
            }
            html.push_str(part);
        }
    }
}

fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    !name.is_empty() && name.chars().all(is_plain)
}

impl TokenSink for OfflineSink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => return self.process_tag(&tag),
            Token::CharacterTokens(text) => self.write_text(&text),
            Token::EOFToken => self.end_style(),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::render::html::parse;

    fn rewrite(source: &str) -> String {
        let html = without_requests(source);
        html.strip_prefix(HEAD).unwrap().to_owned()
    }

    #[test]
    fn policy_forbids_every_kind_of_request() {
        for directive in [
            "default-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ] {
            assert!(HEAD.contains(directive), "{directive}");
        }
        assert!(HEAD.contains("<meta http-equiv=\"x-dns-prefetch-control\" content=\"off\">"));
    }

    #[test]
    fn tags_that_load_or_navigate_are_left_out() {
        for source in [
            "<meta http-equiv=refresh content='0;url=https://t.example/open'>",
            "<META HTTP-EQUIV=\"Refresh\" CONTENT=\"0;url=https://t.example/open\"/>",
            "<base href='https://t.example/'>",
            "<link rel=prefetch href=https://t.example/open>",
            "<link rel=dns-prefetch href=https://t.example/open>",
            "<link rel=preconnect href=https://t.example/open>",
            "<link rel=prerender href=https://t.example/open>",
            "<link rel=stylesheet href=https://t.example/open>",
            "<link rel=icon href=https://t.example/open>",
            "<iframe src=https://t.example srcdoc='<link rel=preconnect>'>no</iframe>",
            "<frameset><frame src=https://t.example></frameset>",
            "<object data=https://t.example><embed src=https://t.example></object>",
            "<script type=speculationrules>{\"prefetch\":[]}</script>",
            "<noscript><meta http-equiv=refresh content='0;url=https://t.example'></noscript>",
        ] {
            assert_eq!(rewrite(&format!("{source}x")), "x", "{source}");
            let drawing = format!("<svg>{source}</svg>x");
            assert_eq!(rewrite(&drawing), "<svg></svg>x", "{source}");
        }
    }

    #[test]
    fn style_sheets_keep_their_rules() {
        for (source, expected) in [
            (
                "<style><!-- p{color:red} --></style>",
                "<style> p{color:red} --></style>",
            ),
            ("<style><!-- p{color:red}", "<style> p{color:red}"),
            (
                "<style>@media (width <= 600px){p{top:0}}</style>",
                "<style>@media (width <= 600px){p{top:0}}</style>",
            ),
            (
                "<style>a{content:'<b>'}</style>",
                "<style>a{content:'\\3c b>'}</style>",
            ),
        ] {
            assert_eq!(rewrite(source), expected);
        }
    }

    #[test]
    fn tags_in_text_styles_and_attributes_stay_inert() {
        const LINK: &str = "<link rel=preconnect href=https://t.example>";
        for source in [
            format!("<noscript><p title='</noscript>{LINK}'>x</p></noscript>"),
            format!("<svg><style><p>{LINK}</style></svg>"),
            format!("<select><style></select>{LINK}</style>"),
            format!("<title>{LINK}</title>"),
            format!("<textarea>{LINK}</textarea>"),
            format!("<!-- {LINK} --><!--[if mso]>{LINK}<![endif]-->"),
            format!("<math><![CDATA[{LINK}]]></math>"),
            format!("&lt;{}", &LINK[1..]),
            format!("<p \"{LINK} ='{LINK}'>x"),
            format!("<style>a{{content:'<!--{LINK}'}}</style>"),
        ] {
            let html = rewrite(&source);
            assert!(!html.contains("<link"), "{source}: {html}");
        }
    }

    #[test]
    fn ordinary_email_keeps_its_looks() {
        let source = "<!DOCTYPE html><html lang=de><head><title>A &amp; B</title><style>p > a{color:red}</style></head>\
             <body bgcolor=\"#fff\"><p style='font-family:\"Arial\"'>1 &lt; 2 &nbsp;<br/><img src=\"data:image/png;base64,AA==\" alt=logo></p></body></html>";
        let expected = "<html lang=\"de\"><head><title>A &amp; B</title><style>p > a{color:red}</style></head><body bgcolor=\"#fff\">\
             <p style=\"font-family:&quot;Arial&quot;\">1 &lt; 2 \u{a0}<br /><img src=\"data:image/png;base64,AA==\" alt=\"logo\"></p></body></html>";
        assert_eq!(rewrite(source), expected);
    }

    #[test]
    fn large_image_in_the_html_stays() {
        let image = format!(
            "<img src=\"data:image/png;base64,{}\">",
            "A".repeat(200_000)
        );
        assert_eq!(rewrite(&image), image);
    }

    #[test]
    fn huge_tag_is_rewritten_in_linear_time() {
        let tag: String = (0..100_000).fold("<p ".to_owned(), |tag, n| tag + &format!("a{n}=b "));
        assert!(rewrite(&format!("{tag}>after")).ends_with(">after"));
    }

    proptest! {
        #[test]
        fn rewritten_html_contains_no_dropped_tag(pieces in prop::collection::vec(prop::sample::select(vec![
            "<", ">", "/", "!--", "-->", "\"", "'", "=", " ", "\0", "link ", "meta ", "base ", "style", "script",
            "svg", "math", "select", "noscript", "textarea", "title", "template", "xmp", "plaintext", "p",
            "<link>", "<style>", "</style>", "<svg>", "</p>", "<!--", "&lt;", "<![CDATA[", "]]>", "\\", "\u{c}",
        ]), 0..40)) {
            let html = rewrite(&pieces.concat());
            let dom = parse(&html).dom;
            for id in dom.nodes() {
                prop_assert!(!is_listed(dom.tag_name(id), DROPPED), "{html}");
            }
            let lower = html.to_ascii_lowercase();
            for name in DROPPED.split(' ') {
                let tag = format!("<{name}");
                // A longer name, such as `script--`, is another tag.
                let ends_name = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>');
                let is_tag = |(at, _): (usize, &str)| lower[at + tag.len()..].starts_with(ends_name);
                prop_assert!(!lower.match_indices(&tag).any(is_tag), "{html}");
            }
            prop_assert!(!html.contains("<!"), "{html}");
        }
    }
}
