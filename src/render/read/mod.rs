//! Reads html into a bounded tree: whatever the source, time and memory stay linear and small.
//!
//! The html5ever parser is quadratic in nesting depth and in the attributes of a tag, so limits
//! that are applied to its result come too late. They stand in front of it: [`mod@fence`] cuts
//! monstrous tags before the tokenizer, [`guard`] drops tags before the tree builder.

mod fence;
mod guard;
mod tree;

use html5ever::TokenizerResult;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};

pub(in crate::render) use fence::fence;
pub(in crate::render) use tree::{Data, Id, Tree};

/// More source than any email has; the rest is not read.
pub(in crate::render) const MAX_BYTES: usize = 4 << 20;

/// More elements than any email has; what follows is not read.
const MAX_NODES: usize = 100_000;

/// Deeper than any email nests; deeper tags are ignored, their content stays.
const MAX_DEPTH: u16 = 200;

/// How much is given to the tokenizer at once, between two looks at the limits.
const CHUNK: usize = 16 << 10;

/// A tree and what had to be left out of it.
pub(in crate::render) struct Page {
    pub(in crate::render) tree: Tree,
    /// Why the tree is not the whole source, in words; empty if it is.
    pub(in crate::render) cuts: Vec<&'static str>,
}

/// Reads `source`.
pub(in crate::render) fn read(source: &str) -> Page {
    let mut cuts = Vec::new();
    let fenced = fence(source, MAX_BYTES);
    if fenced.short {
        cuts.push("it is larger than 4 MB");
    }
    let options = TreeBuilderOpts {
        scripting_enabled: false,
        ..TreeBuilderOpts::default()
    };
    let guard = guard::Guard::new(
        TreeBuilder::new(tree::Builder::new(MAX_DEPTH), options),
        MAX_NODES,
        MAX_DEPTH,
    );
    let tokenizer = Tokenizer::new(guard, TokenizerOpts::default());
    let input = BufferQueue::default();
    let mut rest = &*fenced.text;
    while !rest.is_empty() && !tokenizer.sink.is_full() {
        let mut end = rest.len().min(CHUNK);
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
    if unread || tokenizer.sink.overflowed() {
        cuts.push("it has too many elements");
    }
    if tokenizer.sink.dropped() {
        cuts.push("its elements are nested too deep");
    }
    Page {
        tree: tokenizer.sink.into_tree(),
        cuts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(tree: &Tree) -> String {
        tree.walk().map(|id| tree.text_of(id)).collect()
    }

    fn deepest(tree: &Tree) -> usize {
        let depth = |id| std::iter::successors(Some(id), |id| tree.node(*id).parent).count();
        tree.walk().map(depth).max().unwrap_or(0)
    }

    #[test]
    fn nesting_is_flattened_and_the_content_stays() {
        let page = read(&format!(
            "{}core{}",
            "<div>".repeat(20_000),
            "</div>".repeat(20_000)
        ));
        assert!(page.tree.len() < 1_000, "{} nodes", page.tree.len());
        assert_eq!(text(&page.tree), "core");
        assert_eq!(page.cuts, ["its elements are nested too deep"]);
    }

    #[test]
    fn open_formatting_tags_cannot_multiply() {
        let open: String = (0..1500).fold(String::new(), |all, i| {
            all + &format!("<font color=\"#{i:06x}\">")
        });
        let page = read(&format!("<p>{open}{}", "<p>x".repeat(1500)));
        assert!(
            page.tree.len() <= MAX_NODES + 1_000,
            "{} nodes",
            page.tree.len()
        );
    }

    #[test]
    fn no_node_is_much_deeper_than_the_limit() {
        let page = read(&(0..3_000).fold(String::new(), |all, i| {
            all + &format!("<p><font size={i}></p>")
        }));
        assert!(
            deepest(&page.tree) <= usize::from(MAX_DEPTH) + 40,
            "{} deep",
            deepest(&page.tree)
        );
    }

    #[test]
    fn too_many_elements_end_the_reading_and_it_is_said() {
        let page = read(&"<b>x</b>".repeat(200_000));
        assert!(
            page.tree.len() <= MAX_NODES + 20_000,
            "{} nodes",
            page.tree.len()
        );
        assert_eq!(page.cuts, ["it has too many elements"]);
    }

    #[test]
    fn an_ordinary_page_is_read_whole() {
        let page = read("<!doctype html><p>One<p>Two <b>three</b><script>no</script>");
        assert!(page.cuts.is_empty());
        assert_eq!(text(&page.tree), "OneTwo threeno");
        assert!(!page.tree.quirks);
        assert!(read("<p>x").tree.quirks);
        let charset =
            "<meta http-equiv='Content-Type' content='text/html; charset=us-ascii'><p>after";
        assert_eq!(text(&read(charset).tree), "after");
    }
}
