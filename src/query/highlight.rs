//! Where a needle stands in text as it is shown, so that it can be marked there.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::normalize::normalize_chars;
use super::{Field, Node, Query, SearchText, Term};

impl SearchText {
    /// Where it is a part of `text`, as in addresses and subjects: ranges of bytes, in order.
    #[must_use]
    pub(crate) fn find_substrings(&self, text: &str) -> Vec<Range<usize>> {
        let traced = NormalizedText::new(text);
        self.substrings_in(&traced.text)
            .map(|part| traced.original_range(part))
            .collect()
    }

    /// Where it begins words of `text`, as in bodies: ranges of bytes, in order.
    #[must_use]
    pub(crate) fn find_word_runs(&self, text: &str) -> Vec<Range<usize>> {
        let traced = NormalizedText::new(text);
        self.word_runs_in(&traced.text)
            .map(|run| traced.original_range(run))
            .collect()
    }
}

impl Query {
    /// The text that is looked for, with the field if it is looked for in just one. What the query
    /// wants absent is not among it: there is nothing to mark.
    #[must_use]
    pub(crate) fn highlight_terms(&self) -> Vec<(Option<Field>, &SearchText)> {
        let mut sought = Vec::new();
        collect_highlight_terms(&self.filter, &mut sought);
        sought
    }
}

fn collect_highlight_terms<'a>(node: &'a Node, sought: &mut Vec<(Option<Field>, &'a SearchText)>) {
    match node {
        Node::And(nodes) | Node::Or(nodes) => nodes
            .iter()
            .for_each(|node| collect_highlight_terms(node, sought)),
        Node::Term(Term::Word(needle)) => sought.push((None, needle)),
        Node::Term(Term::Text(field, needle)) => sought.push((Some(*field), needle)),
        Node::Not(_) | Node::Term(_) => {}
    }
}

/// Folded text that knows what it was made from.
struct NormalizedText {
    text: String,
    /// Where in the folded text something begins, and the bytes that it was made from.
    origins: Vec<(usize, Range<usize>)>,
}

impl NormalizedText {
    /// Folds letter by letter: no rule of folding reaches across them, but that blanks join.
    fn new(text: &str) -> Self {
        let mut folded = String::with_capacity(text.len());
        let mut origins = Vec::new();
        for (start, letter) in text.grapheme_indices(true) {
            let before = folded.len();
            for c in normalize_chars(letter) {
                if !c.is_whitespace() {
                    folded.push(c);
                } else if !folded.is_empty() && !folded.ends_with(' ') {
                    folded.push(' ');
                }
            }
            if folded.len() > before {
                origins.push((before, start..start + letter.len()));
            }
        }
        Self {
            text: folded,
            origins,
        }
    }

    fn original_range(&self, folded: Range<usize>) -> Range<usize> {
        let at = |position: usize| {
            let after = self
                .origins
                .partition_point(|(start, _)| *start <= position);
            self.origins[after.saturating_sub(1)].1.clone()
        };
        at(folded.start).start..at(folded.end - 1).end
    }
}

#[cfg(test)]
mod tests {
    use super::super::language::context;
    use super::super::normalize::normalize;
    use super::super::parse;
    use super::*;
    use proptest::prelude::*;

    fn needle(text: &str) -> SearchText {
        SearchText::new(text).unwrap()
    }

    #[test]
    fn a_mark_covers_what_was_folded() {
        for (looked_for, text, marked) in [
            (
                "lopez",
                "Ana LÓPEZ, lo\u{301}pez",
                vec!["LÓPEZ", "lo\u{301}pez"],
            ),
            ("strasse", "Hauptstraße 1", vec!["straße"]),
            ("s", "ß", vec!["ß", "ß"]),
            ("your receipt", "Your \t receipt", vec!["Your \t receipt"]),
            ("a", " a ", vec!["a"]),
            ("注文", "ご注文の確認", vec!["注文"]),
            ("fin", "ﬁne", vec!["ﬁn"]),
            ("x", "abc", vec![]),
        ] {
            let found: Vec<&str> = needle(looked_for)
                .find_substrings(text)
                .into_iter()
                .map(|range| &text[range])
                .collect();
            assert_eq!(found, marked, "{looked_for} in {text}");
        }
    }

    #[test]
    fn in_bodies_only_beginnings_of_words_are_marked() {
        let text = "Hello Ana,\nthe ordér: reorder, order!";
        let found = |looked_for: &str| {
            needle(looked_for)
                .find_word_runs(text)
                .into_iter()
                .map(|range| &text[range])
                .collect::<Vec<_>>()
        };
        assert_eq!(found("ord"), ["ord", "ord"]);
        assert_eq!(found("order"), ["ordér", "order"]);
        assert_eq!(found("ana the o"), ["Ana,\nthe o"]);
        assert_eq!(found(":"), [""; 0]);
    }

    #[test]
    fn only_what_is_wanted_is_sought() {
        let query = parse(
            "receipt -order (to:ana or status:bounced) -(subject:x -b)",
            &context(),
        )
        .query;
        assert_eq!(
            query.highlight_terms(),
            [
                (None, &needle("receipt")),
                (Some(Field::To), &needle("ana"))
            ]
        );
    }

    proptest! {
        #[test]
        fn folding_letter_by_letter_is_folding(text in any::<String>()) {
            let traced = NormalizedText::new(&text);
            prop_assert_eq!(traced.text.trim_end(), normalize(&text));
        }
    }
}
