//! The user-agent style sheet, and attributes that style elements.

use super::computed::{
    BOTTOM, Color, ComputedStyle, Display, Float, LEFT, Length, LineHeight, ListStyle, RIGHT, Rgba,
    TOP, TextAlign, VerticalAlign, WhiteSpace,
};
use super::values::{
    parse_legacy_color, parse_length_attribute, text_align_from_keyword,
    vertical_align_from_keyword,
};
use crate::render::html::{Dom, NodeData, NodeId};
use crate::text::format::is_listed;

/// The elements that the attribute `bgcolor` fills.
const FILLED_ELEMENTS: &str = "body table thead tbody tfoot tr td th col colgroup marquee";

/// Returns the style of an element without author styles.
pub(super) fn user_agent_style(dom: &Dom, id: NodeId, parent: &ComputedStyle) -> ComputedStyle {
    let mut style = parent.inherited();
    let name = dom.tag_name(id);
    style.display = default_display(name);
    if dom.is_svg(id) {
        apply_svg_defaults(name, &mut style);
        return style;
    }
    let mut above = dom.ancestors(id);
    let inside_list = is_list(name) && above.any(|id| is_list(dom.tag_name(id)));
    apply_defaults(name, &mut style, parent, dom.quirks, inside_list);
    if dom.quirks && name != "hr" {
        drop_margins_at_edges(dom, id, &mut style, parent);
    }
    apply_presentational_hints(dom, id, name, &mut style);
    style
}

/// Drops the default margins of the first and the last block in a table cell,
/// as quirks mode does.
///
/// Only paragraphs lose the margin below. The block may be in a `div` without a padding.
fn drop_margins_at_edges(dom: &Dom, id: NodeId, style: &mut ComputedStyle, parent: &ComputedStyle) {
    let is_blank = |id: NodeId| match &dom.node(id).data {
        NodeData::Text(text) => text.trim_ascii().is_empty(),
        NodeData::Element { .. } => false,
        NodeData::Other => true,
    };
    let is_at_edge = |id: NodeId, side: usize| {
        let next = |id: NodeId| match side {
            TOP => dom.node(id).previous_sibling,
            _ => dom.node(id).next_sibling,
        };
        std::iter::successors(next(id), |id| next(*id)).all(is_blank)
    };
    let in_cell = |id: NodeId| {
        let parent = dom.node(id).parent;
        parent.is_some_and(|parent| matches!(dom.tag_name(parent), "td" | "th"))
    };
    let block = dom
        .node(id)
        .parent
        .filter(|parent| dom.tag_name(*parent) == "div");
    for side in [TOP, BOTTOM] {
        let is_quirky = matches!(style.margin[side], Length::Em(_))
            && (side == TOP || matches!(dom.tag_name(id), "p" | "pre"));
        let in_edge_block = || {
            block.is_some_and(|block| {
                in_cell(block)
                    && is_at_edge(block, side)
                    && parent.padding_and_border(side, 0.0) == 0.0
            })
        };
        if is_quirky && is_at_edge(id, side) && (in_cell(id) || in_edge_block()) {
            style.margin[side] = Length::ZERO;
        }
    }
}

/// Styles an element of a drawing, of which only labels are text.
fn apply_svg_defaults(name: &str, style: &mut ComputedStyle) {
    match name {
        "svg" | "g" | "switch" => style.font_size = 0.0,
        "text" | "foreignObject" => {
            let initial = ComputedStyle::default();
            style.display = Display::Block;
            style.font_size = initial.font_size;
            style.text_outline = Color::Unknown;
        }
        "tspan" | "textPath" | "a" => {}
        _ => style.display = Display::None,
    }
}

/// True for lists, which have no margins inside another list.
fn is_list(name: &str) -> bool {
    matches!(name, "ul" | "ol" | "dl" | "menu" | "dir")
}

/// True for an element that is inside a closed `<details>`.
pub(super) fn is_closed_content(dom: &Dom, id: NodeId) -> bool {
    let parent = dom.node(id).parent;
    parent.is_some_and(|parent| is_closed_details(dom, parent)) && dom.tag_name(id) != "summary"
}

/// True for a `<details>` of which only the summary is shown.
pub(crate) fn is_closed_details(dom: &Dom, id: NodeId) -> bool {
    dom.tag_name(id) == "details" && dom.attribute(id, "open").is_none()
}

fn default_display(name: &str) -> Display {
    match name {
        "head" | "title" | "style" | "script" | "meta" | "link" | "base" | "template"
        | "datalist" | "param" | "rp" | "noembed" | "noframes" | "dialog" | "iframe" | "video"
        | "audio" | "col" | "colgroup" | "frameset" | "embed" | "progress" | "meter"
        | "annotation" | "annotation-xml" => Display::None,
        "html" | "body" | "div" | "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol"
        | "dl" | "dt" | "dd" | "blockquote" | "pre" | "address" | "article" | "aside"
        | "section" | "header" | "footer" | "main" | "nav" | "figure" | "figcaption" | "form"
        | "fieldset" | "legend" | "hr" | "center" | "details" | "menu" | "dir" | "hgroup"
        | "search" | "marquee" | "optgroup" | "option" | "listing" | "xmp" | "plaintext"
        | "noscript" => Display::Block,
        "li" | "summary" => Display::ListItem,
        "table" => Display::Table,
        "thead" | "tbody" | "tfoot" => Display::RowGroup,
        "tr" => Display::Row,
        "td" | "th" => Display::Cell,
        "caption" => Display::Caption,
        "button" | "select" | "input" | "textarea" => Display::InlineBlock,
        _ => Display::Inline,
    }
}

fn apply_defaults(
    name: &str,
    style: &mut ComputedStyle,
    parent: &ComputedStyle,
    quirks: bool,
    inside_list: bool,
) {
    let mut set_margin = |above: f32, beside: f32| {
        let above = Length::Em(if inside_list { 0.0 } else { above });
        style.margin = [above, Length::Px(beside), above, Length::Px(beside)];
    };
    match name {
        "body" => style.margin = [Length::Px(8.0); 4],
        "p" | "dl" => set_margin(1.0, 0.0),
        "blockquote" | "figure" => set_margin(1.0, 40.0),
        "ul" | "ol" | "menu" | "dir" => {
            set_margin(1.0, 0.0);
            style.padding[if style.rtl { RIGHT } else { LEFT }] = Length::Px(40.0);
            style.list_style = if name == "ol" {
                ListStyle::Decimal
            } else {
                ListStyle::Disc
            };
        }
        "dd" => style.margin[LEFT] = Length::Px(40.0),
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
            let (size, above) = match name {
                "h1" => (2.0, 0.67),
                "h2" => (1.5, 0.83),
                "h3" => (1.17, 1.0),
                "h4" => (1.0, 1.33),
                "h5" => (0.83, 1.67),
                _ => (0.67, 2.33),
            };
            set_margin(above, 0.0);
            style.font_size = parent.font_size * size;
            style.font_weight = 700;
        }
        "pre" | "listing" | "xmp" | "plaintext" => {
            set_margin(1.0, 0.0);
            style.white_space = WhiteSpace::Pre;
            apply_monospace(style, parent);
        }
        "code" | "kbd" | "samp" | "tt" => apply_monospace(style, parent),
        "hr" => {
            style.margin[TOP] = Length::Em(0.5);
            style.margin[BOTTOM] = Length::Em(0.5);
            style.border_width = [1.0; 4];
            style.border_visible = [true; 4];
        }
        "address" | "em" | "i" | "cite" | "dfn" | "var" => style.italic = true,
        "b" | "strong" => style.font_weight = parent.font_weight.max(400) + 300,
        "th" => {
            style.font_weight = 700;
            style.text_align = TextAlign::Center;
        }
        "u" | "ins" => style.underline = true,
        "s" | "strike" | "del" => style.line_through = true,
        "nobr" => style.nowrap = true,
        "small" | "sub" | "sup" => style.font_size = parent.font_size / 1.2,
        "big" => style.font_size = parent.font_size * 1.2,
        "center" => (style.text_align, style.is_align_attribute) = (TextAlign::Center, true),
        "mark" => style.background = Color::Known(Rgba::opaque(255, 255, 0)),
        "textarea" => style.white_space = WhiteSpace::Pre,
        "table" => {
            style.border_spacing = 2.0;
            style.border_collapse = false;
            style.cell_padding = None;
            style.cell_border = false;
            style.text_indent = Length::ZERO;
            if quirks {
                let plain = ComputedStyle::default();
                style.font_size = plain.font_size;
                style.font_weight = plain.font_weight;
                style.italic = false;
                style.line_height = LineHeight::Normal;
                style.white_space = WhiteSpace::Normal;
                style.nowrap = false;
                style.colour = style.body_colour;
            }
            if quirks || style.is_align_attribute {
                (style.text_align, style.is_align_attribute) = (TextAlign::Start, false);
            }
        }
        "thead" | "tbody" | "tfoot" => style.vertical_align = VerticalAlign::Middle,
        "tr" => style.vertical_align = parent.vertical_align,
        "button" | "select" | "input" => {
            if name == "button" {
                style.colour = Color::Known(Rgba::BLACK);
                style.background = Color::Known(Rgba::opaque(239, 239, 239));
            }
            style.font_size = 13.333;
            style.line_height = LineHeight::Normal;
        }
        _ => {}
    }
    if matches!(name, "td" | "th") {
        style.vertical_align = parent.vertical_align;
        style.padding = [Length::Px(style.cell_padding.unwrap_or(1.0)); 4];
        style.border_width = [1.0; 4];
        style.border_visible = [style.cell_border; 4];
    }
}

/// Sets a monospace font, which browsers make smaller, once.
fn apply_monospace(style: &mut ComputedStyle, parent: &ComputedStyle) {
    style.monospace = true;
    if !parent.monospace {
        style.font_size = parent.font_size * 13.0 / 16.0;
    }
}

/// Applies the attributes that style elements, such as `bgcolor` and `align`.
fn apply_presentational_hints(dom: &Dom, id: NodeId, name: &str, style: &mut ComputedStyle) {
    let attribute = |key: &str| dom.attribute(id, key);
    let pixels = |key: &str| {
        attribute(key)
            .and_then(parse_length_attribute)
            .and_then(|length| length.to_px(0.0, 0.0))
    };
    if attribute("hidden").is_some()
        || (name == "input"
            && attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("hidden")))
    {
        style.display = Display::None;
    }
    if name == "dialog" && attribute("open").is_some() {
        style.display = Display::Block;
    }
    let colour = |key: &str| {
        attribute(key)
            .and_then(parse_legacy_color)
            .map(Color::Known)
    };
    if name == "a" && attribute("href").is_some() {
        style.colour = style.link_colour;
        style.underline = true;
    }
    style.bidi_override |= name == "bdo";
    if let Some(dir) = attribute("dir") {
        style.rtl = dir.eq_ignore_ascii_case("rtl");
    }
    if let Some(colour) = colour("bgcolor")
        && is_listed(name, FILLED_ELEMENTS)
    {
        style.background = colour;
    }
    if attribute("background").is_some_and(|url| !url.trim().is_empty()) {
        style.background_image = true;
    }
    if let Some(align) = attribute("align")
        .and_then(|word| text_align_from_keyword(&word.trim().to_ascii_lowercase()))
        .filter(|_| name != "table" && name != "img")
    {
        (style.text_align, style.is_align_attribute) = (align, true);
    }
    if matches!(name, "td" | "th" | "tr" | "tbody" | "thead" | "tfoot")
        && let Some(word) = attribute("valign")
    {
        style.vertical_align = vertical_align_from_keyword(&word.trim().to_ascii_lowercase());
    }
    if matches!(name, "table" | "td" | "th" | "img" | "hr" | "tr") {
        for (key, length) in [("width", &mut style.width), ("height", &mut style.height)] {
            if let Some(value) = attribute(key).and_then(parse_length_attribute) {
                *length = value;
            }
        }
    }
    match name {
        "font" => {
            if let Some(face) = attribute("face") {
                style.wingdings = face.trim().eq_ignore_ascii_case("wingdings");
            }
            style.colour = colour("color").unwrap_or(style.colour);
            if let Some(size) = attribute("size").and_then(font_size_attribute) {
                style.font_size = size;
            }
        }
        "body" => {
            style.colour = colour("text").unwrap_or(style.colour);
            style.link_colour = colour("link").unwrap_or(style.link_colour);
        }
        "table" => {
            style.border_spacing = pixels("cellspacing").unwrap_or(style.border_spacing);
            style.cell_padding = pixels("cellpadding");
            let align = attribute("align").map(|word| word.trim().to_ascii_lowercase());
            style.float = match align.as_deref() {
                Some("left") => Float::Left,
                Some("right") => Float::Right,
                _ => Float::None,
            };
            let border = attribute("border").map(|text| text.trim().parse::<f32>().unwrap_or(1.0));
            style.cell_border = border.is_some_and(|width| width > 0.0);
            style.border_width = [border.unwrap_or(0.0); 4];
            style.border_visible = [style.cell_border; 4];
        }
        "td" | "th" if attribute("nowrap").is_some() => {
            style.white_space = WhiteSpace::Normal;
            style.nowrap = true;
        }
        "ol" => {
            style.list_style = match attribute("type") {
                Some("a") => ListStyle::LowerAlpha,
                Some("A") => ListStyle::UpperAlpha,
                Some("i") => ListStyle::LowerRoman,
                Some("I") => ListStyle::UpperRoman,
                Some(_) | None => ListStyle::Decimal,
            }
        }
        _ => {}
    }
}

/// Returns the font size of `<font size=5>` or `<font size="+1">` in pixels.
fn font_size_attribute(text: &str) -> Option<f32> {
    let text = text.trim();
    let number: i32 = text.trim_start_matches('+').parse().ok()?;
    let step = if text.starts_with(['+', '-']) {
        3_i32.saturating_add(number)
    } else {
        number
    };
    let index = usize::try_from(step.clamp(1, 7)).ok()?;
    Some([10.0, 13.0, 16.0, 18.0, 24.0, 32.0, 48.0][index - 1])
}
