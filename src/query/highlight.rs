//! Matches of a query within displayed text, for highlighting.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::ast::{Field, Query, Term};
use super::normalize::{SearchText, normalize_chars};

impl Query {
    /// Returns the text to highlight, with the field if it is searched for in just one.
    ///
    /// Negated text is left out: no match contains it.
    pub(crate) fn highlight_terms(&self) -> Vec<(Option<Field>, &SearchText)> {
        let mut found = Vec::new();
        self.filter
            .visit_terms(0, &mut |term, negations| match term {
                Term::Word(text) if negations == 0 => found.push((None, text)),
                Term::Text(field, text) if negations == 0 => found.push((Some(*field), text)),
                _ => {}
            });
        found
    }
}

/// Displayed text, normalised once for all that is searched in it.
pub(crate) struct NormalizedText {
    text: String,
    /// Starts in the normalised text, each with the original bytes of the character.
    origins: Vec<(usize, Range<usize>)>,
}

impl NormalizedText {
    /// Normalises each grapheme by itself: no rule reaches across, but spaces join, and
    /// single letters of Hangul become syllables.
    pub(crate) fn new(text: &str) -> Self {
        let mut normalized = String::with_capacity(text.len());
        let mut origins = Vec::new();
        let mut graphemes = text.grapheme_indices(true).peekable();
        while let Some((start, mut grapheme)) = graphemes.next() {
            while grapheme.ends_with(is_hangul)
                && let Some((at, next)) = graphemes.next_if(|(_, next)| next.starts_with(is_jamo))
            {
                grapheme = &text[start..at + next.len()];
            }
            let before = normalized.len();
            let mut push = |c: char| {
                if !c.is_whitespace() {
                    normalized.push(c);
                } else if !normalized.is_empty() && !normalized.ends_with(' ') {
                    normalized.push(' ');
                }
            };
            match grapheme.as_bytes() {
                [byte] => push(char::from(byte.to_ascii_lowercase())),
                _ => normalize_chars(grapheme).for_each(push),
            }
            if normalized.len() > before {
                origins.push((before, start..start + grapheme.len()));
            }
        }
        Self {
            text: normalized,
            origins,
        }
    }

    /// Finds `search` in an address or a subject:
    /// ranges of bytes of the displayed text, in order.
    pub(crate) fn find_substrings(&self, search: &SearchText) -> Vec<Range<usize>> {
        let found = search.substrings_in(&self.text);
        found.map(|range| self.original_range(range)).collect()
    }

    /// Finds starts of words in a body:
    /// ranges of bytes of the displayed text, in order.
    pub(crate) fn find_word_runs(&self, search: &SearchText) -> Vec<Range<usize>> {
        let found = search.word_runs_in(&self.text);
        found.map(|range| self.original_range(range)).collect()
    }

    fn original_range(&self, normalized: Range<usize>) -> Range<usize> {
        let origin = |position: usize| {
            let after = self
                .origins
                .partition_point(|(start, _)| *start <= position);
            self.origins[after.saturating_sub(1)].1.clone()
        };
        origin(normalized.start).start..origin(normalized.end - 1).end
    }
}

/// Whether normalisation may join this letter of Hangul with the one before it.
const fn is_jamo(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11FF}' | '\u{3131}'..='\u{318E}' | '\u{FFA0}'..='\u{FFDC}')
}

const fn is_hangul(c: char) -> bool {
    is_jamo(c) || matches!(c, '\u{AC00}'..='\u{D7A3}')
}

#[cfg(test)]
mod tests {
    use super::super::normalize::normalize;
    use super::super::parse;
    use super::super::tests::arbitrary::context;
    use super::*;
    use proptest::prelude::*;

    fn search_text(text: &str) -> SearchText {
        SearchText::new(text).unwrap()
    }

    #[test]
    fn match_covers_all_original_bytes() {
        for (search, text, expected) in [
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
            let found: Vec<&str> = NormalizedText::new(text)
                .find_substrings(&search_text(search))
                .into_iter()
                .map(|range| &text[range])
                .collect();
            assert_eq!(found, expected, "{search} in {text}");
        }
    }

    #[test]
    fn bodies_match_only_starts_of_words() {
        let text = "Hello Ana,\nthe ordér: reorder, order!";
        let found = |search: &str| {
            NormalizedText::new(text)
                .find_word_runs(&search_text(search))
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
    fn negated_text_is_not_highlighted() {
        let query = parse(
            "receipt -order (to:ana or status:bounced) -(subject:x -b)",
            &context(),
        )
        .query;
        assert_eq!(
            query.highlight_terms(),
            [
                (None, &search_text("receipt")),
                (Some(Field::To), &search_text("ana"))
            ]
        );
    }

    proptest! {
        #[test]
        fn normalizing_graphemes_equals_normalizing_text(text in any::<String>()) {
            let normalized = NormalizedText::new(&text);
            prop_assert_eq!(normalized.text.trim_end(), normalize(&text));
        }
    }
}
