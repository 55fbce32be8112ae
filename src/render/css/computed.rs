//! `Style`: the properties of an element that decide what a person sees of it.

/// A length as written; what it is in pixels depends on font and surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::render) enum Length {
    #[default]
    Auto,
    Px(f32),
    /// Of the element's own font size.
    Em(f32),
    /// Of the document's font size.
    Rem(f32),
    /// Of the width around it, 1.0 being all of it.
    Percent(f32),
}

impl Length {
    pub(in crate::render) const ZERO: Self = Self::Px(0.0);

    /// In pixels, for a font of `font` pixels in a space `around` pixels wide; `None` for auto.
    pub(in crate::render) fn to_px(self, font: f32, around: f32) -> Option<f32> {
        let px = match self {
            Self::Auto => return None,
            Self::Px(px) => px,
            Self::Em(em) => em * font,
            Self::Rem(rem) => rem * ROOT_FONT_SIZE,
            Self::Percent(share) => share * around,
        };
        px.is_finite().then(|| px.clamp(-100_000.0, 100_000.0))
    }
}

/// What browsers set text in unless told otherwise, in pixels.
pub(in crate::render) const ROOT_FONT_SIZE: f32 = 16.0;

/// Height of a line, before the font is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::render) enum LineHeight {
    #[default]
    Normal,
    /// Times the font size of whoever inherits it.
    Factor(f32),
    Px(f32),
}

/// A colour with its opacity from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::render) struct Rgba {
    pub(in crate::render) red: u8,
    pub(in crate::render) green: u8,
    pub(in crate::render) blue: u8,
    pub(in crate::render) alpha: f32,
}

impl Rgba {
    pub(in crate::render) const BLACK: Self = Self::opaque(0, 0, 0);
    pub(in crate::render) const WHITE: Self = Self::opaque(255, 255, 255);

    pub(in crate::render) const fn opaque(red: u8, green: u8, blue: u8) -> Self {
        Self {
            red,
            green,
            blue,
            alpha: 1.0,
        }
    }

    /// Sum of the differences of the three channels.
    pub(in crate::render) fn distance(self, other: Self) -> u16 {
        let part = |a: u8, b: u8| u16::from(a.abs_diff(b));
        part(self.red, other.red) + part(self.green, other.green) + part(self.blue, other.blue)
    }
}

/// How an element takes part in the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::render) enum Display {
    None,
    #[default]
    Inline,
    InlineBlock,
    Block,
    /// A block whose children stand beside each other.
    Flex,
    ListItem,
    Table,
    RowGroup,
    Row,
    Cell,
    Caption,
    /// Its children stand in for it.
    Contents,
}

/// What happens to blanks and line feeds in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::render) enum WhiteSpace {
    #[default]
    Normal,
    NoWrap,
    Pre,
    PreWrap,
    PreLine,
}

/// Where a line stands between its margins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::render) enum TextAlign {
    #[default]
    Start,
    Center,
    End,
}

/// What happens to the case of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::render) enum TextTransform {
    #[default]
    None,
    Uppercase,
    Lowercase,
    Capitalize,
}

/// What stands in front of list items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::render) enum ListStyle {
    None,
    #[default]
    Disc,
    Decimal,
    Alpha,
    Roman,
}

/// Where the content of a table cell stands between its top and bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::render) enum VerticalAlign {
    Top,
    #[default]
    Middle,
    Bottom,
}

/// Top, right, bottom, left.
pub(in crate::render) type Sides<T> = [T; 4];

pub(in crate::render) const TOP: usize = 0;
pub(in crate::render) const RIGHT: usize = 1;
pub(in crate::render) const BOTTOM: usize = 2;
pub(in crate::render) const LEFT: usize = 3;

/// The computed style of an element. The first half is inherited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::render) struct ComputedStyle {
    pub(in crate::render) visible: bool,
    pub(in crate::render) colour: Rgba,
    /// In pixels.
    pub(in crate::render) font_size: f32,
    /// The size of the font of the whole document, in pixels.
    pub(in crate::render) root_font_size: f32,
    pub(in crate::render) font_weight: u16,
    pub(in crate::render) italic: bool,
    pub(in crate::render) monospace: bool,
    pub(in crate::render) line_height: LineHeight,
    pub(in crate::render) text_transform: TextTransform,
    pub(in crate::render) white_space: WhiteSpace,
    pub(in crate::render) text_align: TextAlign,
    pub(in crate::render) rtl: bool,
    pub(in crate::render) list_style: ListStyle,
    pub(in crate::render) text_indent: Length,
    pub(in crate::render) underline: bool,
    pub(in crate::render) line_through: bool,
    /// Between the cells of a table, in pixels.
    pub(in crate::render) border_spacing: f32,
    pub(in crate::render) border_collapse: bool,
    /// What the table's attributes say about its cells.
    pub(in crate::render) cell_padding: Option<f32>,
    pub(in crate::render) cell_border: bool,
    pub(in crate::render) vertical_align: VerticalAlign,

    pub(in crate::render) display: Display,
    pub(in crate::render) opacity: f32,
    pub(in crate::render) background: Option<Rgba>,
    pub(in crate::render) background_image: bool,
    pub(in crate::render) margin: Sides<Length>,
    pub(in crate::render) padding: Sides<Length>,
    pub(in crate::render) border_width: Sides<f32>,
    pub(in crate::render) border_visible: Sides<bool>,
    pub(in crate::render) width: Length,
    pub(in crate::render) max_width: Length,
    pub(in crate::render) height: Length,
    pub(in crate::render) min_height: Length,
    pub(in crate::render) max_height: Length,
    /// What does not fit its box is not shown.
    pub(in crate::render) overflow_clipped: bool,
    /// Taken out of the flow.
    pub(in crate::render) out_of_flow: bool,
    pub(in crate::render) relatively_positioned: bool,
    pub(in crate::render) offsets: Sides<Length>,
    /// Cut to nothing by `clip`.
    pub(in crate::render) clipped: bool,
    /// Cut or shrunk to nothing by `clip-path` or `transform`.
    pub(in crate::render) clipped_or_shrunk: bool,
    pub(in crate::render) floated: bool,
}

impl Default for ComputedStyle {
    fn default() -> Self {
        Self {
            visible: true,
            colour: Rgba::BLACK,
            font_size: ROOT_FONT_SIZE,
            root_font_size: ROOT_FONT_SIZE,
            font_weight: 400,
            italic: false,
            monospace: false,
            line_height: LineHeight::Normal,
            text_transform: TextTransform::None,
            white_space: WhiteSpace::Normal,
            text_align: TextAlign::Start,
            rtl: false,
            list_style: ListStyle::Disc,
            text_indent: Length::ZERO,
            underline: false,
            line_through: false,
            border_spacing: 2.0,
            border_collapse: false,
            cell_padding: None,
            cell_border: false,
            vertical_align: VerticalAlign::Middle,
            display: Display::Inline,
            opacity: 1.0,
            background: None,
            background_image: false,
            margin: [Length::ZERO; 4],
            padding: [Length::ZERO; 4],
            border_width: [3.0; 4],
            border_visible: [false; 4],
            width: Length::Auto,
            max_width: Length::Auto,
            height: Length::Auto,
            min_height: Length::Auto,
            max_height: Length::Auto,
            overflow_clipped: false,
            out_of_flow: false,
            relatively_positioned: false,
            offsets: [Length::Auto; 4],
            clipped: false,
            clipped_or_shrunk: false,
            floated: false,
        }
    }
}

impl ComputedStyle {
    /// The style of a child before anything is said about it.
    pub(in crate::render) fn inherited(&self) -> Self {
        Self {
            visible: self.visible,
            colour: self.colour,
            font_size: self.font_size,
            root_font_size: self.root_font_size,
            font_weight: self.font_weight,
            italic: self.italic,
            monospace: self.monospace,
            line_height: self.line_height,
            text_transform: self.text_transform,
            white_space: self.white_space,
            text_align: self.text_align,
            rtl: self.rtl,
            list_style: self.list_style,
            text_indent: self.text_indent,
            underline: self.underline,
            line_through: self.line_through,
            border_spacing: self.border_spacing,
            border_collapse: self.border_collapse,
            cell_padding: self.cell_padding,
            cell_border: self.cell_border,
            vertical_align: self.vertical_align,
            ..Self::default()
        }
    }

    /// Width of a border in pixels.
    pub(in crate::render) fn used_border(&self, side: usize) -> f32 {
        if self.border_visible[side] {
            self.border_width[side]
        } else {
            0.0
        }
    }

    /// Padding and border on one side, in pixels.
    pub(in crate::render) fn padding_and_border(&self, side: usize, around: f32) -> f32 {
        self.padding[side]
            .to_px(self.font_size, around)
            .unwrap_or(0.0)
            .max(0.0)
            + self.used_border(side)
    }

    /// Height of the letters of a line: ascent and descent of the usual fonts of emails, each in
    /// whole pixels, as browsers count them.
    pub(in crate::render) fn glyph_height(&self) -> f32 {
        (self.font_size * 0.905).round() + (self.font_size * 0.212).round()
    }

    /// Height of a line in pixels.
    pub(in crate::render) fn line_height_px(&self) -> f32 {
        match self.line_height {
            LineHeight::Normal => self.glyph_height() + (self.font_size * 0.033).round(),
            LineHeight::Factor(factor) => self.font_size * factor,
            LineHeight::Px(px) => px,
        }
    }

    /// Whether its children stand on lines of their own.
    pub(in crate::render) const fn is_block(&self) -> bool {
        match self.display {
            Display::Inline | Display::InlineBlock | Display::None | Display::Contents => false,
            Display::Block
            | Display::Flex
            | Display::ListItem
            | Display::Table
            | Display::RowGroup
            | Display::Row
            | Display::Cell
            | Display::Caption => true,
        }
    }
}
