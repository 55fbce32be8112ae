//! Parses html into a bounded tree, in linear time and memory.
//!
//! html5ever is quadratic in nesting depth and in the attributes of a tag, so limits on its result
//! come too late. [`limits`] cuts long tags before the tokenizer and drops deep tags before the
//! tree builder.

mod charset;
mod dom;
mod limits;
mod offline;

use std::cell::{Cell, RefCell};

use html5ever::TokenizerResult;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};

use self::limits::limit_source;
pub(crate) use charset::decode_html;
pub(crate) use dom::{Dom, NodeData, NodeId};
pub(crate) use offline::without_requests;

/// Longer html is cut.
const MAX_BYTES: usize = 4 << 20;

/// Bytes that the tokenizer gets between two checks of the limits.
const CHUNK_BYTES: usize = 16 << 10;

/// A tree and the reasons why it is incomplete.
pub(crate) struct ParsedHtml {
    pub(crate) dom: Dom,
    pub(crate) truncations: Vec<&'static str>,
}

/// Parses html within the limits.
pub(crate) fn parse(source: &str) -> ParsedHtml {
    let mut truncations = Vec::new();
    let limited = limit_source(source, MAX_BYTES);
    if limited.len() > MAX_BYTES {
        truncations.push("it is larger than 4 MB");
    }
    let options = TreeBuilderOpts {
        scripting_enabled: false,
        ..TreeBuilderOpts::default()
    };
    let tree_builder = TreeBuilder::new(dom::DomSink::new(), options);
    let limiter = limits::DepthLimiter::new(tree_builder);
    let tokenizer = Tokenizer::new(limiter, TokenizerOpts::default());
    let input = BufferQueue::default();
    let mut rest = &*limited;
    while !rest.is_empty() && !tokenizer.sink.is_full() {
        let (chunk, after) = rest.split_at(rest.ceil_char_boundary(CHUNK_BYTES));
        rest = after;
        feed(&tokenizer, &input, chunk);
    }
    tokenizer.end();
    if !rest.is_empty() || tokenizer.sink.nodes_exceeded.get() {
        truncations.push("it has too many elements");
    }
    if tokenizer.sink.depth_exceeded.get() {
        truncations.push("its elements are nested too deep");
    }
    ParsedHtml {
        dom: tokenizer.sink.into_tree(),
        truncations,
    }
}

/// Extracts the text of html for the search index, without building a tree.
///
/// Blocks are separated by spaces. Styles, scripts, comments and the title are left out. Text that
/// a style hides stays, because the preview line of mail programs is hidden by a style.
pub(crate) fn extract_text(source: &str) -> String {
    let sink = tokenize(&limit_source(source, MAX_BYTES), TextSink::default());
    sink.text.into_inner()
}

/// Gives `sink` the tokens of `text`, and returns it.
fn tokenize<S: TokenSink>(text: &str, sink: S) -> S {
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    feed(&tokenizer, &BufferQueue::default(), text);
    tokenizer.end();
    tokenizer.sink
}

fn feed<S: TokenSink>(tokenizer: &Tokenizer<S>, input: &BufferQueue, text: &str) {
    input.push_back(StrTendril::from(text));
    // A script or a charset declaration pauses the tokenizer; both are ignored.
    while !matches!(tokenizer.feed(input), TokenizerResult::Done) {}
}

#[derive(Default)]
struct TextSink {
    text: RefCell<String>,
    /// True inside an element whose text is not shown.
    skips_text: Cell<bool>,
}

impl TextSink {
    fn process_tag(&self, tag: &Tag) -> TokenSinkResult<()> {
        self.skips_text.set(false);
        if !INLINE.contains(&&*tag.name) {
            self.text.borrow_mut().push(' ');
        }
        let raw = match (&*tag.name, tag.kind) {
            ("script" | "style" | "xmp" | "iframe" | "noembed" | "noframes", TagKind::StartTag) => {
                RawKind::Rawtext
            }
            ("title" | "textarea", TagKind::StartTag) => RawKind::Rcdata,
            _ => return TokenSinkResult::Continue,
        };
        self.skips_text.set(&*tag.name != "textarea");
        TokenSinkResult::RawData(raw)
    }
}

impl TokenSink for TextSink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => return self.process_tag(&tag),
            Token::CharacterTokens(text) if !self.skips_text.get() => {
                self.text.borrow_mut().push_str(&text);
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// Elements that do not separate words.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "em", "font", "i", "ins", "kbd",
    "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var",
    "wbr",
];

#[cfg(test)]
mod tests {
    use super::dom::MAX_DEPTH;
    use super::limits::MAX_NODES;
    use super::*;

    fn text(tree: &Dom) -> String {
        tree.nodes().map(|id| tree.child_text(id)).collect()
    }

    fn deepest(tree: &Dom) -> usize {
        let depth = |id| std::iter::successors(Some(id), |id| tree.node(*id).parent).count();
        tree.nodes().map(depth).max().unwrap_or(0)
    }

    #[test]
    fn deep_nesting_is_flattened_and_keeps_its_content() {
        let page = parse(&format!(
            "{}core{}",
            "<div>".repeat(20_000),
            "</div>".repeat(20_000)
        ));
        assert!(page.dom.len() < 1_000, "{} nodes", page.dom.len());
        assert_eq!(text(&page.dom), "core");
        assert_eq!(page.truncations, ["its elements are nested too deep"]);
    }

    #[test]
    fn open_formatting_tags_do_not_multiply() {
        let open: String = (0..1500).fold(String::new(), |all, i| {
            all + &format!("<font color=\"#{i:06x}\">")
        });
        let page = parse(&format!("<p>{open}{}", "<p>x".repeat(1500)));
        let count = page.dom.len();
        assert!(count <= MAX_NODES + 1_000, "{count} nodes");
    }

    #[test]
    fn reopened_tags_stay_near_the_depth_limit() {
        let page = parse(&(0..3_000).fold(String::new(), |all, i| {
            all + &format!("<p><font size={i}></p>")
        }));
        let depth = deepest(&page.dom);
        assert!(depth <= usize::from(MAX_DEPTH) + 40, "{depth} deep");
    }

    #[test]
    fn too_many_elements_stop_parsing_with_a_reason() {
        let page = parse(&"<b>x</b>".repeat(200_000));
        let count = page.dom.len();
        assert!(count <= MAX_NODES + 20_000, "{count} nodes");
        assert_eq!(page.truncations, ["it has too many elements"]);
    }

    #[test]
    fn ordinary_page_is_parsed_whole() {
        let page = parse("<!doctype html><p>One<p>Two <b>three</b><script>no</script>");
        assert!(page.truncations.is_empty());
        assert_eq!(text(&page.dom), "OneTwo threeno");
        assert!(!page.dom.quirks);
        assert!(parse("<p>x").dom.quirks);
        let charset =
            "<meta http-equiv='Content-Type' content='text/html; charset=us-ascii'><p>after";
        assert_eq!(text(&parse(charset).dom), "after");
    }

    fn words(source: &str) -> String {
        extract_text(source)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn extracted_text_has_no_markup() {
        for (source, text) in [
            (
                "<p>Your <b>rec</b>eipt</p><p>No.&nbsp;4&amp;5 &eacute;",
                "Your receipt No. 4&5 é",
            ),
            ("<td>one</td><td>two<br>three", "one two three"),
            (
                "<title>no</title><style>p{a:b}</style><script>if (a<b) x()</script>yes<!-- no -->",
                "yes",
            ),
            ("<style>never closed <p>no", ""),
            ("a < b and <unknown>c", "a < b and c"),
            ("", ""),
        ] {
            assert_eq!(words(source), text, "{source}");
        }
    }

    #[test]
    fn huge_tag_is_extracted_in_linear_time() {
        let tag: String = (0..100_000).fold("<p ".to_owned(), |tag, n| tag + &format!("a{n}=b "));
        assert_eq!(words(&format!("{tag}>after")), "after");
    }
}
