//! Reads html into a bounded tree: whatever the source, time and memory stay linear and small.
//!
//! The html5ever parser is quadratic in nesting depth and in the attributes of a tag, so limits
//! that are applied to its result come too late. They stand in front of it: [`mod@fence`] cuts
//! monstrous tags before the tokenizer, [`guard`] drops tags before the tree builder.

mod depth_limiter;
mod dom;
mod limits;

use html5ever::TokenizerResult;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};

pub(in crate::render) use dom::{Dom, NodeData, NodeId};
pub(in crate::render) use limits::limit_source;

/// More source than any email has; the rest is not read.
pub(in crate::render) const MAX_BYTES: usize = 4 << 20;

/// More elements than any email has; what follows is not read.
const MAX_NODES: usize = 100_000;

/// Deeper than any email nests; deeper tags are ignored, their content stays.
const MAX_DEPTH: u16 = 200;

/// How much is given to the tokenizer at once, between two looks at the limits.
const CHUNK_BYTES: usize = 16 << 10;

/// A tree and what had to be left out of it.
pub(in crate::render) struct ParsedHtml {
    pub(in crate::render) dom: Dom,
    /// Why the tree is not the whole source, in words; empty if it is.
    pub(in crate::render) truncations: Vec<&'static str>,
}

/// Reads `source`.
pub(in crate::render) fn parse(source: &str) -> ParsedHtml {
    let mut cuts = Vec::new();
    let fenced = limit_source(source, MAX_BYTES);
    if fenced.truncated {
        cuts.push("it is larger than 4 MB");
    }
    let options = TreeBuilderOpts {
        scripting_enabled: false,
        ..TreeBuilderOpts::default()
    };
    let guard = depth_limiter::DepthLimiter::new(
        TreeBuilder::new(dom::DomSink::new(MAX_DEPTH), options),
        MAX_NODES,
        MAX_DEPTH,
    );
    let tokenizer = Tokenizer::new(guard, TokenizerOpts::default());
    let input = BufferQueue::default();
    let mut rest = &*fenced.text;
    while !rest.is_empty() && !tokenizer.sink.is_full() {
        let mut end = rest.len().min(CHUNK_BYTES);
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (chunk, after) = rest.split_at(end);
        rest = after;
        input.push_back(StrTendril::from(chunk));
        // A script or a charset pauses the tokenizer for somebody who would act on it. Nobody does.
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    }
    let unread = !rest.is_empty();
    tokenizer.end();
    if unread || tokenizer.sink.nodes_exceeded() {
        cuts.push("it has too many elements");
    }
    if tokenizer.sink.depth_exceeded() {
        cuts.push("its elements are nested too deep");
    }
    ParsedHtml {
        dom: tokenizer.sink.into_tree(),
        truncations: cuts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(tree: &Dom) -> String {
        tree.nodes().map(|id| tree.child_text(id)).collect()
    }

    fn deepest(tree: &Dom) -> usize {
        let depth = |id| std::iter::successors(Some(id), |id| tree.node(*id).parent).count();
        tree.nodes().map(depth).max().unwrap_or(0)
    }

    #[test]
    fn nesting_is_flattened_and_the_content_stays() {
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
    fn open_formatting_tags_cannot_multiply() {
        let open: String = (0..1500).fold(String::new(), |all, i| {
            all + &format!("<font color=\"#{i:06x}\">")
        });
        let page = parse(&format!("<p>{open}{}", "<p>x".repeat(1500)));
        assert!(
            page.dom.len() <= MAX_NODES + 1_000,
            "{} nodes",
            page.dom.len()
        );
    }

    #[test]
    fn no_node_is_much_deeper_than_the_limit() {
        let page = parse(&(0..3_000).fold(String::new(), |all, i| {
            all + &format!("<p><font size={i}></p>")
        }));
        assert!(
            deepest(&page.dom) <= usize::from(MAX_DEPTH) + 40,
            "{} deep",
            deepest(&page.dom)
        );
    }

    #[test]
    fn too_many_elements_end_the_reading_and_it_is_said() {
        let page = parse(&"<b>x</b>".repeat(200_000));
        assert!(
            page.dom.len() <= MAX_NODES + 20_000,
            "{} nodes",
            page.dom.len()
        );
        assert_eq!(page.truncations, ["it has too many elements"]);
    }

    #[test]
    fn an_ordinary_page_is_read_whole() {
        let page = parse("<!doctype html><p>One<p>Two <b>three</b><script>no</script>");
        assert!(page.truncations.is_empty());
        assert_eq!(text(&page.dom), "OneTwo threeno");
        assert!(!page.dom.quirks);
        assert!(parse("<p>x").dom.quirks);
        let charset =
            "<meta http-equiv='Content-Type' content='text/html; charset=us-ascii'><p>after";
        assert_eq!(text(&parse(charset).dom), "after");
    }
}
