//! The prefixes of quotes and list items, and the markers of lists.

use super::builder::BlockBuilder;
use super::context::LayoutContext;
use super::{Block, LinePrefix};
use crate::render::css::{
    BOTTOM, Color, ComputedStyle, Display, LEFT, Length, ListStyle, RIGHT, Rgba, TOP,
    is_closed_details,
};
use crate::render::html::NodeId;
use crate::text::sanitize::sanitize_block;
use crate::text::width::DisplayWidth as _;

/// Deeper quotes and lists get no more prefixes.
const MAX_PREFIXES: usize = 8;

/// Distance between the levels of lists in word processors, in pixels.
const LIST_LEVEL_PX: f32 = 48.0;

/// A longer text in front of a list item is not its number.
const MAX_MARKER_CHARS: usize = 6;

/// The borders of quotes are no wider, in pixels.
const MAX_QUOTE_BORDER_PX: f32 = 3.0;

/// The lines before a quote that say who wrote it are no more.
const MAX_ATTRIBUTION_LINES: usize = 5;

/// A longer text says more than who wrote a quote.
const MAX_ATTRIBUTION_CHARS: usize = 200;

/// The channels of a grey differ by no more.
const MAX_GREY_DIFFERENCE: u8 = 24;

impl BlockBuilder<'_> {
    /// Adds the prefix of a quote or a list item, if the element has one.
    pub(super) fn add_prefix(&mut self, id: NodeId, style: &ComputedStyle, context: LayoutContext) {
        let prefix = if self.is_quote(id, style) {
            LinePrefix::Quote
        } else if let Some(marker) = self.item_marker(id, style, context) {
            self.item_count += 1;
            LinePrefix::ListItem {
                number: self.item_count,
                marker: marker.into(),
            }
        } else {
            return;
        };
        if self.prefixes.len() < MAX_PREFIXES {
            self.prefixes = self.prefixes.iter().cloned().chain([prefix]).collect();
        }
    }

    /// Returns what the first line of an item starts with.
    fn item_marker(
        &mut self,
        id: NodeId,
        style: &ComputedStyle,
        context: LayoutContext,
    ) -> Option<String> {
        if style.display == Display::ListItem && style.list_style != ListStyle::None {
            return Some(self.list_marker(id, style.list_style));
        }
        if self.dom.tag_name(id) == "dd" && style.margin_px(LEFT, context.available_width) > 0.0 {
            return Some("  ".to_owned());
        }
        if self.is_list(id) && self.dom.node(id).parent.is_some_and(|it| self.is_list(it)) {
            return Some(self.item_indent());
        }
        let level = hanging_level(style, context)?;
        let written = self.written_marker(id);
        (level > 0 || written.is_some())
            .then(|| "  ".repeat(level) + written.as_deref().unwrap_or_default())
    }

    fn is_list(&self, id: NodeId) -> bool {
        matches!(self.dom.tag_name(id), "ul" | "ol" | "menu" | "dir")
    }

    /// Returns the indent of a list that is beside the items of another list, as Outlook writes it.
    fn item_indent(&self) -> String {
        let above = self.output.blocks.last().map(|block| &block.prefixes);
        let width = match above.and_then(|prefixes| prefixes.get(self.prefixes.len())) {
            Some(LinePrefix::ListItem { marker, .. }) => marker.width(),
            Some(LinePrefix::Quote) | None => 2,
        };
        " ".repeat(width)
    }

    /// Returns the marker of a list item with its space, and counts the item.
    fn list_marker(&mut self, id: NodeId, style: ListStyle) -> String {
        let list = self.dom.node(id).parent.unwrap_or(NodeId::ROOT);
        if self.dom.tag_name(id) == "summary" {
            let is_closed = is_closed_details(self.dom, list);
            return if is_closed { "▸ " } else { "▾ " }.to_owned();
        }
        if style == ListStyle::Disc {
            return "• ".to_owned();
        }
        let attribute = |id: NodeId, name: &str| -> Option<i32> {
            self.dom.attribute(id, name)?.trim().parse().ok()
        };
        let is_reversed = self.dom.attribute(list, "reversed").is_some();
        let number = attribute(id, "value").unwrap_or_else(|| match self.list_numbers.get(&list) {
            Some(last) if is_reversed => last.saturating_sub(1),
            Some(last) => last.saturating_add(1),
            None => attribute(list, "start").unwrap_or_else(|| {
                let items = self.dom.children(list);
                let items = items.filter(|item| is_reversed && self.dom.tag_name(*item) == "li");
                i32::try_from(items.count()).unwrap_or(i32::MAX).max(1)
            }),
        });
        self.list_numbers.insert(list, number);
        let letters = match style {
            ListStyle::LowerAlpha | ListStyle::UpperAlpha => alphabetic_number(number),
            ListStyle::LowerRoman | ListStyle::UpperRoman => roman_number(number),
            ListStyle::None | ListStyle::Disc | ListStyle::Decimal => None,
        };
        match letters {
            Some(letters) if matches!(style, ListStyle::UpperAlpha | ListStyle::UpperRoman) => {
                format!("{}. ", letters.to_ascii_uppercase())
            }
            Some(letters) => format!("{letters}. "),
            None => format!("{number}. "),
        }
    }

    /// True for quoted text; Gmail indents with the same element, without a border.
    fn is_quote(&self, id: NodeId, style: &ComputedStyle) -> bool {
        let name = self.dom.tag_name(id);
        let attribute = |name: &str| self.dom.attribute(id, name).unwrap_or_default();
        let is_indent = || {
            attribute("class").is_empty()
                && attribute("style").replace(' ', "").contains("border:none")
                && style.used_border(LEFT) == 0.0
                && matches!(style.margin[LEFT], Length::Px(px) if px >= 40.0)
        };
        let mut classes = attribute("class").split_ascii_whitespace();
        (name == "blockquote" && !is_indent())
            || (name == "div"
                && classes.any(|it| it.ends_with("yahoo_quoted") || it == "EmailQuote"))
            || (name == "div" && self.is_quote_box(id, style))
    }

    /// True for a box with the left border and padding that mail programs give to quotes,
    /// which Outlook writes with a style of its own; for others, if they name who wrote the text.
    ///
    /// Boxes of a page layout have other padding too, a width or a background, a wide border, or
    /// others beside them. A box around all of the text is no quote either.
    fn is_quote_box(&self, id: NodeId, style: &ComputedStyle) -> bool {
        let border = style.used_border(LEFT);
        let padding = style.padding_and_border(LEFT, 0.0) - border;
        let is_typical = match style.border_colour[LEFT].resolve(style.colour).visible() {
            Some(Rgba {
                red, green, blue, ..
            }) => {
                let (least, most) = (red.min(green).min(blue), red.max(green).max(blue));
                let is_light_grey = least >= 128 && most - least <= MAX_GREY_DIFFERENCE;
                let is_blue = blue >= 128 && red.max(green) <= blue / 2;
                least < 250 && (is_light_grey || is_blue)
            }
            None => false,
        };
        let letters = |id: NodeId| self.info.letter_counts[id.index()];
        let parent = |id: NodeId| self.dom.node(id).parent;
        let is_item = parent(id).is_some_and(|id| self.styles[id].display == Display::Flex);
        let mut above = self.dom.ancestors(id);
        let cell = above.find(|id| self.styles[*id].display == Display::Cell);
        let is_alone = |row: NodeId| {
            let mut cells = self.dom.children(row).filter(|id| self.dom.is_element(*id));
            cells.nth(1).is_none()
        };
        let others = [TOP, RIGHT, BOTTOM].map(|side| style.padding_and_border(side, 0.0));
        (1.0..=MAX_QUOTE_BORDER_PX).contains(&border)
            && padding > 0.0
            && padding <= 16.0
            && others.iter().all(|px| *px < 1.0)
            && style.background == Color::TRANSPARENT
            && !style.background_image
            && (style.display, style.width) == (Display::Block, Length::Auto)
            && !is_item
            && cell.and_then(parent).is_none_or(is_alone)
            && !style.is_floated()
            && !style.out_of_flow
            && letters(id) < letters(NodeId::ROOT)
            && (self.is_outlook_quote(id) || (is_typical && self.has_attribution(id)))
    }

    /// True for a box with the style that Outlook gives to quotes, whatever their colour.
    fn is_outlook_quote(&self, id: NodeId) -> bool {
        let style = self.dom.attribute(id, "style").unwrap_or_default();
        let style = style
            .to_ascii_lowercase()
            .replace([' ', '\n', '\r', '\t'], "");
        let has = |start: &str, end: &str| {
            let mut parts = style.split(';');
            parts.any(|part| part.starts_with(start) && part.ends_with(end))
        };
        has("border:none", "none")
            && has("border-left:solid", "pt")
            && (has("padding:0cm", "pt") || has("padding:0in", "pt"))
    }

    /// True if the text before a box, or its first line, says who wrote what is in the box.
    fn has_attribution(&self, id: NodeId) -> bool {
        let blocks = self.output.blocks.iter().rev().take(MAX_ATTRIBUTION_LINES);
        let mut before = String::new();
        let is_before = blocks.filter_map(Block::as_paragraph).any(|line| {
            before = format!("{} {before}", line.text());
            is_attribution(&before, true)
        });
        is_before || is_attribution(&self.inner_text(id, MAX_ATTRIBUTION_CHARS), false)
    }

    /// Returns the marker that a word processor wrote, which is then skipped.
    fn written_marker(&mut self, item: NodeId) -> Option<String> {
        if self.prefixes.len() >= MAX_PREFIXES {
            return None;
        }
        let is_marker = |id: &NodeId| {
            let style = self.dom.attribute(*id, "style").unwrap_or_default();
            let style = style.replace(' ', "").to_ascii_lowercase();
            style.contains("mso-list:ignore")
        };
        let marker = self.nodes_inside(item).find(is_marker)?;
        let text = self.inner_text(marker, MAX_MARKER_CHARS);
        let text = sanitize_block(&text).trim().to_owned();
        self.written_marker = Some(marker);
        let is_number = text.chars().count() <= MAX_MARKER_CHARS && text.ends_with(['.', ')']);
        Some(if is_number {
            format!("{text} ")
        } else {
            "• ".to_owned()
        })
    }
}

/// True if a text starts, or with `whole` is, what a mail program writes above a quote.
fn is_attribution(text: &str, whole: bool) -> bool {
    let text = sanitize_block(&text[..text.floor_char_boundary(MAX_ATTRIBUTION_CHARS)]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let starts = |list: &[&str]| list.iter().any(|word| text.starts_with(word));
    let ends = |word: &str| {
        text.split_once(word)
            .and_then(|(_, rest)| rest.split_once(':'))
            .is_some_and(|(_, rest)| !whole || rest.is_empty())
    };
    let has = |list: &[&str]| list.iter().any(|word| text.contains(word));
    (starts(&["On "]) && ends(" wrote"))
        || (starts(&["Am "]) && ends(" schrieb"))
        || (starts(&["--"])
            && has(&[
                "- Original Message",
                "-Original Message",
                "Ursprüngliche Nachricht",
            ]))
        || (starts(&["From: ", "Von: ", "De: "])
            && has(&["Subject:", "Betreff:", "Asunto:", "Objet:"]))
}

/// Returns a, b, ..., z, aa, ab, ... for numbers from one on.
fn alphabetic_number(number: i32) -> Option<String> {
    let mut rest = u32::try_from(number).ok().filter(|number| *number > 0)?;
    let mut letters = Vec::new();
    while let Some(index) = rest.checked_sub(1) {
        letters.push(char::from_u32(u32::from(b'a') + index % 26)?);
        rest = index / 26;
    }
    Some(letters.iter().rev().collect())
}

/// Returns a Roman number in lower case; there are none below 1 and above 3999.
fn roman_number(number: i32) -> Option<String> {
    const VALUES: [i32; 13] = [1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1];
    const DIGITS: &str = "m cm d cd c xc l xl x ix v iv i";
    let mut rest = number;
    let mut letters = String::new();
    for (value, digit) in VALUES.into_iter().zip(DIGITS.split(' ')) {
        while rest >= value && number < 4000 {
            letters.push_str(digit);
            rest -= value;
        }
    }
    (!letters.is_empty()).then_some(letters)
}

/// Returns the level at which a word processor indents a list item, from zero on.
///
/// It writes items as paragraphs with a margin, from which the marker sticks out.
fn hanging_level(style: &ComputedStyle, context: LayoutContext) -> Option<usize> {
    let px = |length| style.px(length, context.available_width).unwrap_or(0.0);
    let (margin, indent) = (px(style.margin[LEFT]), px(style.text_indent));
    let level = ((margin + indent) / LIST_LEVEL_PX).floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped"
    )]
    (indent < 0.0 && level >= 0.0).then_some(level.min(9.0) as usize)
}
