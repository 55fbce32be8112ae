//! What a browser does without any style sheet: its own one, and the attributes that style elements.

use super::declare::{align, vertical};
use super::style::{
    Align, BOTTOM, Colour, Display, LEFT, Length, LineHeight, ListStyle, RIGHT, Style, TOP,
    Vertical, WhiteSpace,
};
use super::values::{attribute_colour, attribute_length};
use crate::render::read::{Id, Tree};

/// The style of an element before its author said anything.
pub(super) fn begin(tree: &Tree, id: Id, parent: &Style) -> Style {
    let mut style = parent.inherited();
    let name = tree.name(id);
    style.display = display(name);
    let mut above = std::iter::successors(tree.node(id).parent, |id| tree.node(*id).parent);
    let inside_list = is_list(name) && above.any(|id| is_list(tree.name(id)));
    defaults(name, &mut style, parent, tree.quirks, inside_list);
    hints(tree, id, name, &mut style);
    style
}

/// Lists leave no space around them when they are inside another.
fn is_list(name: &str) -> bool {
    matches!(name, "ul" | "ol" | "dl" | "menu" | "dir")
}

/// Whether only the summary of an element is shown.
pub(in crate::render) fn is_closed(tree: &Tree, id: Id) -> bool {
    tree.name(id) == "details" && tree.attribute(id, "open").is_none()
}

fn display(name: &str) -> Display {
    match name {
        "head" | "title" | "style" | "script" | "meta" | "link" | "base" | "template" | "area"
        | "datalist" | "param" | "rp" | "noembed" | "noframes" | "dialog" | "iframe" | "video"
        | "audio" | "canvas" | "svg" | "math" | "textarea" | "col" | "colgroup" | "map"
        | "frameset" | "embed" | "progress" | "meter" => Display::None,
        "html" | "body" | "div" | "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol"
        | "dl" | "dt" | "dd" | "blockquote" | "pre" | "address" | "article" | "aside"
        | "section" | "header" | "footer" | "main" | "nav" | "figure" | "figcaption" | "form"
        | "fieldset" | "legend" | "hr" | "center" | "details" | "summary" | "menu" | "dir"
        | "hgroup" | "search" | "optgroup" | "option" | "listing" | "xmp" | "plaintext"
        | "noscript" => Display::Block,
        "li" => Display::ListItem,
        "table" => Display::Table,
        "thead" | "tbody" | "tfoot" => Display::RowGroup,
        "tr" => Display::Row,
        "td" | "th" => Display::Cell,
        "caption" => Display::Caption,
        "button" | "select" | "input" => Display::InlineBlock,
        _ => Display::Inline,
    }
}

fn defaults(name: &str, style: &mut Style, parent: &Style, quirks: bool, inside_list: bool) {
    let above = |px: f32| {
        if is_list(name) && inside_list {
            0.0
        } else {
            px
        }
    };
    let mut around = |px: f32, beside: f32| {
        let above = above(px);
        style.margin = [
            Length::Em(above),
            Length::Px(beside),
            Length::Em(above),
            Length::Px(beside),
        ];
    };
    match name {
        "body" => style.margin = [Length::Px(8.0); 4],
        "p" | "dl" => around(1.0, 0.0),
        "blockquote" | "figure" => around(1.0, 40.0),
        "ul" | "ol" | "menu" | "dir" => {
            around(1.0, 0.0);
            style.padding[if style.rtl { RIGHT } else { LEFT }] = Length::Px(40.0);
            style.list = if name == "ol" {
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
            around(above, 0.0);
            style.font = parent.font * size;
            style.weight = 700;
        }
        "pre" | "listing" | "xmp" | "plaintext" => {
            around(1.0, 0.0);
            style.white_space = WhiteSpace::Pre;
            mono(style, parent);
        }
        "code" | "kbd" | "samp" | "tt" => mono(style, parent),
        "hr" => {
            style.margin[TOP] = Length::Em(0.5);
            style.margin[BOTTOM] = Length::Em(0.5);
            style.border = [1.0; 4];
            style.border_on = [true; 4];
        }
        "address" | "em" | "i" | "cite" | "dfn" | "var" => style.italic = true,
        "b" | "strong" => style.weight = parent.weight.max(400) + 300,
        "th" => {
            style.weight = 700;
            style.align = Align::Centre;
        }
        "u" | "ins" => style.underline = true,
        "s" | "strike" | "del" => style.strike = true,
        "small" | "sub" | "sup" => style.font = parent.font / 1.2,
        "big" => style.font = parent.font * 1.2,
        "center" => style.align = Align::Centre,
        "mark" => style.background = Some(Colour::opaque(255, 255, 0)),
        "table" => {
            style.spacing = 2.0;
            style.collapse = false;
            style.cell_padding = None;
            style.cell_border = false;
            style.indent = Length::ZERO;
            if quirks {
                let plain = Style::default();
                style.font = plain.font;
                style.weight = plain.weight;
                style.italic = false;
                style.line_height = LineHeight::Normal;
                style.white_space = WhiteSpace::Normal;
                style.align = Align::Start;
            }
        }
        "thead" | "tbody" | "tfoot" => style.vertical = Vertical::Middle,
        "button" | "select" | "input" => {
            style.font = 13.333;
            style.line_height = LineHeight::Normal;
        }
        _ => {}
    }
    if matches!(name, "td" | "th") {
        style.padding = [Length::Px(style.cell_padding.unwrap_or(1.0)); 4];
        style.border = [1.0; 4];
        style.border_on = [style.cell_border; 4];
    }
}

/// Browsers set these in a smaller font, unless somebody else already did.
fn mono(style: &mut Style, parent: &Style) {
    style.mono = true;
    if !parent.mono {
        style.font = parent.font * 13.0 / 16.0;
    }
}

/// The attributes that style elements, from before there were style sheets.
fn hints(tree: &Tree, id: Id, name: &str, style: &mut Style) {
    let attribute = |wanted: &str| tree.attribute(id, wanted);
    let pixels = |wanted: &str| {
        attribute(wanted)
            .and_then(attribute_length)
            .and_then(|length| length.px(0.0, 0.0))
    };
    if attribute("hidden").is_some()
        || (name == "input"
            && attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("hidden")))
    {
        style.display = Display::None;
    }
    if name != "summary"
        && tree
            .node(id)
            .parent
            .is_some_and(|parent| is_closed(tree, parent))
    {
        style.display = Display::None;
    }
    if name == "a" && attribute("href").is_some() {
        style.colour = Colour::opaque(0, 0, 238);
        style.underline = true;
    }
    if let Some(dir) = attribute("dir") {
        style.rtl = dir.eq_ignore_ascii_case("rtl");
    }
    if let Some(colour) = attribute("bgcolor").and_then(attribute_colour) {
        style.background = Some(colour);
    }
    if attribute("background").is_some_and(|url| !url.trim().is_empty()) {
        style.picture = true;
    }
    if let Some(to) = attribute("align")
        .and_then(|word| align(&word.trim().to_ascii_lowercase()))
        .filter(|_| name != "table" && name != "img")
    {
        style.align = to;
    }
    if matches!(name, "td" | "th" | "tr" | "tbody" | "thead" | "tfoot")
        && let Some(word) = attribute("valign")
    {
        style.vertical = vertical(&word.trim().to_ascii_lowercase());
    }
    if matches!(name, "table" | "td" | "th" | "img" | "hr" | "tr") {
        for (wanted, length) in [("width", &mut style.width), ("height", &mut style.height)] {
            if let Some(value) = attribute(wanted).and_then(attribute_length) {
                *length = value;
            }
        }
    }
    match name {
        "font" => {
            if let Some(colour) = attribute("color").and_then(attribute_colour) {
                style.colour = colour;
            }
            if let Some(size) = attribute("size").and_then(font_size) {
                style.font = size;
            }
        }
        "body" => {
            if let Some(colour) = attribute("text").and_then(attribute_colour) {
                style.colour = colour;
            }
        }
        "table" => {
            style.spacing = pixels("cellspacing").unwrap_or(style.spacing);
            style.cell_padding = pixels("cellpadding");
            style.floats = attribute("align").is_some_and(|word| {
                ["left", "right"]
                    .iter()
                    .any(|side| word.trim().eq_ignore_ascii_case(side))
            });
            let border = attribute("border").map(|text| text.trim().parse::<f32>().unwrap_or(1.0));
            style.cell_border = border.is_some_and(|width| width > 0.0);
            style.border = [border.unwrap_or(0.0); 4];
            style.border_on = [style.cell_border; 4];
        }
        "td" | "th" if attribute("nowrap").is_some() => style.white_space = WhiteSpace::NoWrap,
        "ol" => {
            style.list = match attribute("type") {
                Some("a" | "A") => ListStyle::Alpha,
                Some("i" | "I") => ListStyle::Roman,
                Some(_) | None => ListStyle::Decimal,
            }
        }
        _ => {}
    }
}

/// `<font size=5>`, `<font size="+1">`.
fn font_size(text: &str) -> Option<f32> {
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
