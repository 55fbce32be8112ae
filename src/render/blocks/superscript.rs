//! Raises and lowers digits: exponents, footnote signs, the cents of a price.

use std::borrow::Cow;

use super::builder::BlockBuilder;
use super::signs::{SUBSCRIPTS, SUPERSCRIPTS, raise_digits};
use crate::render::css::{BOTTOM, Display, Length, TOP, VerticalAlign};
use crate::render::html::NodeId;
use crate::text::format::{CURRENCIES, is_listed};

/// Elements around a text that may raise it.
const MAX_LEVELS: usize = 4;

/// Longer texts are not raised by their style.
const MAX_RAISED_LETTERS: u32 = 3;

/// The size of small text to that around it; `<small>` has 0.83.
/// Editors that mix fonts write a number in sizes with less between them.
const MAX_SMALL_RATIO: f32 = 0.85;

/// Of each text in an element, so many characters decide.
const MAX_EXAMINED_CHARS: usize = 64;

/// Signs behind which a raised number is a note.
const CLOSING_SIGNS: &str = ")]}\"'”’»";

/// Signs between the groups of digits in a number.
const GROUP_SIGNS: [char; 3] = ['.', ',', '\''];

impl BlockBuilder<'_> {
    /// Returns the text of a node with its digits raised or lowered, if the page shows them so.
    ///
    /// Of a text with other signs, only digits that continue a number are.
    pub(super) fn shift_digits<'t>(&self, text: Cow<'t, str>, id: NodeId) -> Cow<'t, str> {
        let parent = self.dom.node(id).parent.unwrap_or(NodeId::ROOT);
        let forms = |id| Some((id, self.shifted_forms(id, &text)?));
        let above = std::iter::once(parent).chain(self.dom.ancestors(parent));
        let Some((around, forms)) = above
            .take(MAX_LEVELS)
            .find_map(forms)
            .or_else(|| self.are_cents(&text, id).then_some((parent, SUPERSCRIPTS)))
        else {
            return text;
        };
        let inside = self.inner_text(around, MAX_EXAMINED_CHARS);
        let has_other = match self.dom.tag_name(around) {
            "sup" | "sub" => raise_digits(&inside, forms).is_none(),
            _ => inside.contains(|c: char| !c.is_ascii_digit() && !c.is_ascii_whitespace()),
        };
        let is_digit = |c: char| c.is_ascii_digit();
        let digits = text.len() - text.trim_start_matches(is_digit).len();
        let end = match has_other {
            true if inside.matches(is_digit).count() > digits => 0,
            true if self.line.end_of_text().ends_with(is_digit) => digits,
            true => 0,
            false => text.len(),
        };
        match raise_digits(&text[..end], forms) {
            Some(raised) => (raised + &text[end..]).into(),
            None => text,
        }
    }

    /// Returns the forms of the digits of a text
    /// in an element that is above or below its line.
    ///
    /// By its style it is, if it is small and directly behind a word, and starts with a digit.
    /// Behind a digit it may be the rest of a code.
    fn shifted_forms(&self, id: NodeId, text: &str) -> Option<&'static str> {
        let style = &self.styles[id];
        let px = |length: Length| style.px(length, 0.0).unwrap_or(0.0);
        let offset = px(style.offsets[TOP]) - px(style.offsets[BOTTOM]);
        let forms = match (self.dom.tag_name(id), style.vertical_align) {
            ("sup", _) => return Some(SUPERSCRIPTS),
            ("sub", _) => return Some(SUBSCRIPTS),
            (_, VerticalAlign::Sub) => SUBSCRIPTS,
            (_, VerticalAlign::Super | VerticalAlign::Top) => SUPERSCRIPTS,
            _ if style.relatively_positioned && offset < 0.0 => SUPERSCRIPTS,
            _ => return None,
        };
        let is_behind = |c: char| c.is_alphabetic() || CLOSING_SIGNS.contains(c);
        let is_shifted = matches!(style.display, Display::Inline | Display::InlineBlock)
            && self.info.letter_counts[id.index()] <= MAX_RAISED_LETTERS
            && text.starts_with(|c: char| c.is_ascii_digit())
            && self.is_smaller(id)
            && self.line.end_of_text().ends_with(is_behind);
        is_shifted.then_some(forms)
    }

    /// True for a text of two digits in a smaller font that continue a price:
    /// a currency is before its number, or behind them.
    fn are_cents(&self, text: &str, id: NodeId) -> bool {
        let digits = text.trim_ascii_end();
        if digits.len() != 2 || !digits.bytes().all(|c| c.is_ascii_digit()) {
            return false;
        }
        let parent = self.dom.node(id).parent.unwrap_or(NodeId::ROOT);
        let line = self.line.end_of_text();
        let before =
            line.trim_end_matches(|c: char| c.is_ascii_digit() || GROUP_SIGNS.contains(&c));
        let is_whole = is_whole_number(&line[before.len()..]);
        let before = before.trim_end();
        let word = before.rsplit(char::is_whitespace).next();
        let is_behind = word.is_some_and(is_currency) || before.ends_with(is_currency_sign);
        let is_first = !before.ends_with(|c: char| c.is_ascii_digit());
        let is_before = || starts_with_currency(self.text_behind(id).trim_start());
        is_whole && self.is_smaller(parent) && (is_behind || (is_first && is_before()))
    }

    /// Returns the start of the text that follows a text on its line.
    fn text_behind(&self, id: NodeId) -> String {
        let parent = |id: &NodeId| self.dom.node(*id).parent;
        let next = |id: &NodeId| self.dom.node(*id).next_sibling;
        let is_inline = |id: &NodeId| self.styles[*id].display == Display::Inline;
        let around = std::iter::successors(Some(id), parent).take(MAX_LEVELS);
        around
            .take_while(is_inline)
            .flat_map(|id| std::iter::successors(next(&id), next).take(MAX_LEVELS))
            .take_while(|id| self.is_in_line(*id))
            .map(|id| self.inner_text(id, MAX_EXAMINED_CHARS))
            .collect()
    }

    /// True if the text of an element is clearly smaller than what is around or before it.
    fn is_smaller(&self, id: NodeId) -> bool {
        let style = &self.styles[id];
        let parent = self.dom.node(id).parent.unwrap_or(NodeId::ROOT);
        let before = self.line.glyph_heights.map_or(0.0, |(_, last)| last);
        let is_below = |size: f32, other: f32| size <= other * MAX_SMALL_RATIO;
        is_below(style.font_size, self.styles[parent].font_size)
            || is_below(style.glyph_height(), before)
    }
}

/// True for a number without a fraction, with or without signs between its groups of digits.
fn is_whole_number(text: &str) -> bool {
    let mut groups = text.split(GROUP_SIGNS);
    let first = groups.next().unwrap_or_default();
    (first == "0" || !first.starts_with('0'))
        && !first.is_empty()
        && groups.all(|group| group.len() == 3)
}

fn is_currency_sign(c: char) -> bool {
    matches!(c, '$' | '£' | '¥' | '\u{20A0}'..='\u{20CF}')
}

/// True for a code in capitals, such as `EUR`.
fn is_currency(word: &str) -> bool {
    !word.contains(char::is_lowercase) && is_listed(&word.to_lowercase(), CURRENCIES)
}

fn starts_with_currency(text: &str) -> bool {
    let word = text.split(|c: char| !c.is_alphabetic()).next();
    text.starts_with(is_currency_sign) || word.is_some_and(is_currency)
}
