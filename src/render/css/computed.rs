//! `ComputedStyle`: the CSS properties that the layout uses,
//! and how declarations change them.
//!
//! Lengths in `rem` become pixels when a declaration is applied, with the root's font size;
//! [`Length::to_px`] takes 16 pixels for one that is left. [`super::property`] parses declarations,
//! and [`super`] applies them in the order of the cascade.

/// A length as written; fonts and the containing block turn it into pixels.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum Length {
    #[default]
    Auto,
    Px(f32),
    /// Times the element's font size.
    Em(f32),
    /// Times the document's font size.
    Rem(f32),
    /// Share of the width of the containing block, from 0 to 1.
    Percent(f32),
}

impl Length {
    pub(crate) const ZERO: Self = Self::Px(0.0);

    /// Converts to pixels by font size and available width; `None` for auto.
    pub(crate) fn to_px(self, font_size: f32, available_width: f32) -> Option<f32> {
        let px = match self {
            Self::Auto => return None,
            Self::Px(px) => px,
            Self::Em(em) => em * font_size,
            Self::Rem(rem) => rem * ROOT_FONT_SIZE,
            Self::Percent(share) => share * available_width,
        };
        px.is_finite().then(|| px.clamp(-100_000.0, 100_000.0))
    }
}

/// Default font size of browsers, in pixels.
pub(crate) const ROOT_FONT_SIZE: f32 = 16.0;

/// Line height as written.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum LineHeight {
    #[default]
    Normal,
    /// Times the font size of whichever element uses it.
    Factor(f32),
    Px(f32),
}

/// A colour; `alpha` is from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rgba {
    pub(crate) red: u8,
    pub(crate) green: u8,
    pub(crate) blue: u8,
    pub(crate) alpha: f32,
}

impl Rgba {
    pub(crate) const BLACK: Self = Self::opaque(0, 0, 0);
    pub(crate) const WHITE: Self = Self::opaque(255, 255, 255);

    pub(crate) const fn opaque(red: u8, green: u8, blue: u8) -> Self {
        Self {
            red,
            green,
            blue,
            alpha: 1.0,
        }
    }

    /// Returns what shows if this colour lies over `behind`.
    pub(crate) fn over(self, behind: Self) -> Self {
        let mix = |front: u8, back: u8| {
            let share = f32::from(front) * self.alpha + f32::from(back) * (1.0 - self.alpha);
            cssparser::color::clamp_floor_256_f32(share)
        };
        Self::opaque(
            mix(self.red, behind.red),
            mix(self.green, behind.green),
            mix(self.blue, behind.blue),
        )
    }

    /// Returns the sum of the differences of the three channels.
    pub(crate) fn distance(self, other: Self) -> u16 {
        let part = |a: u8, b: u8| u16::from(a.abs_diff(b));
        part(self.red, other.red) + part(self.green, other.green) + part(self.blue, other.blue)
    }
}

/// A colour as written, as far as it can be computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Color {
    Known(Rgba),
    /// The text colour of the element; computed styles have it as `text_fill` only.
    Current,
    /// A browser knows it, we do not.
    Unknown,
}

impl Color {
    pub(crate) const TRANSPARENT: Self = Self::Known(Rgba {
        alpha: 0.0,
        ..Rgba::BLACK
    });

    /// Returns the colour, unless it is transparent or cannot be computed.
    pub(crate) fn visible(self) -> Option<Rgba> {
        match self {
            Self::Known(colour) => Some(colour).filter(|colour| colour.alpha > 0.0),
            Self::Current | Self::Unknown => None,
        }
    }

    /// Replaces `currentColor` by `current`.
    pub(crate) fn resolve(self, current: Self) -> Self {
        match self {
            Self::Current => current,
            other => other,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Display {
    None,
    #[default]
    Inline,
    InlineBlock,
    Block,
    Flex,
    Grid,
    ListItem,
    Table,
    RowGroup,
    Row,
    Cell,
    Caption,
    Contents,
}

/// How spaces and newlines in text are treated; wrapping is up to the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum WhiteSpace {
    /// Also `nowrap`.
    #[default]
    Normal,
    /// Also `pre-wrap`.
    Pre,
    PreLine,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TextTransform {
    #[default]
    None,
    Uppercase,
    Lowercase,
    Capitalize,
}

/// The marker of list items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ListStyle {
    None,
    #[default]
    Disc,
    Decimal,
    LowerAlpha,
    UpperAlpha,
    LowerRoman,
    UpperRoman,
}

/// Alignment of text in its line; justified text is at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TextAlign {
    #[default]
    Start,
    Center,
    End,
}

/// Vertical alignment of a table cell in its row, and of text in its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum VerticalAlign {
    #[default]
    Baseline,
    Sub,
    Super,
    Top,
    Middle,
    Bottom,
}

/// The side of its container to which an element floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Float {
    #[default]
    None,
    Left,
    Right,
}

/// Values by side: [`TOP`], [`RIGHT`], [`BOTTOM`], [`LEFT`].
pub(crate) type Sides<T> = [T; 4];

pub(crate) const TOP: usize = 0;
pub(crate) const RIGHT: usize = 1;
pub(crate) const BOTTOM: usize = 2;
pub(crate) const LEFT: usize = 3;

/// Defines the computed style from the type and the initial value of each property.
macro_rules! computed_style {
    (
        inherited { $($(#[$meta:meta])* $inherited:ident: $type:ty = $initial:expr,)+ }
        reset { $($(#[$reset_meta:meta])* $reset:ident: $reset_type:ty = $reset_initial:expr,)+ }
    ) => {
        /// The computed style of an element.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub(crate) struct ComputedStyle {
            $($(#[$meta])* pub(crate) $inherited: $type,)+
            $($(#[$reset_meta])* pub(crate) $reset: $reset_type,)+
        }

        impl Default for ComputedStyle {
            fn default() -> Self {
                Self { $($inherited: $initial,)+ $($reset: $reset_initial,)+ }
            }
        }

        impl ComputedStyle {
            /// Returns the initial style of a child.
            pub(crate) fn inherited(&self) -> Self {
                Self { $($inherited: self.$inherited,)+ ..Self::default() }
            }
        }
    };
}

computed_style! {
    inherited {
        visible: bool = true,
        colour: Color = Color::Known(Rgba::BLACK),
        /// Replaces the text colour inside letters.
        text_fill: Color = Color::Current,
        /// Shadow or stroke of letters.
        text_outline: Color = Color::TRANSPARENT,
        /// Text colour of the body, which tables get in quirks mode.
        body_colour: Color = Color::Known(Rgba::BLACK),
        link_colour: Color = Color::Known(Rgba::opaque(0, 0, 238)),
        /// In pixels.
        font_size: f32 = ROOT_FONT_SIZE,
        /// Font size of the document, in pixels.
        root_font_size: f32 = ROOT_FONT_SIZE,
        font_weight: u16 = 400,
        italic: bool = false,
        monospace: bool = false,
        /// Letters are signs of the font Wingdings.
        wingdings: bool = false,
        line_height: LineHeight = LineHeight::Normal,
        text_transform: TextTransform = TextTransform::None,
        white_space: WhiteSpace = WhiteSpace::Normal,
        /// Lines break at newlines only.
        nowrap: bool = false,
        text_align: TextAlign = TextAlign::Start,
        /// `text_align` is from an attribute or from `<center>`: tables do not inherit it.
        is_align_attribute: bool = false,
        rtl: bool = false,
        /// The direction holds for every character.
        bidi_override: bool = false,
        list_style: ListStyle = ListStyle::Disc,
        text_indent: Length = Length::ZERO,
        underline: bool = false,
        line_through: bool = false,
        /// In pixels.
        border_spacing: f32 = 2.0,
        border_collapse: bool = false,
        /// From the table's attribute `cellpadding`, in pixels.
        cell_padding: Option<f32> = None,
        /// From the table's attribute `border`.
        cell_border: bool = false,
    }
    reset {
        vertical_align: VerticalAlign = VerticalAlign::Baseline,
        display: Display = Display::Inline,
        opacity: f32 = 1.0,
        background: Color = Color::TRANSPARENT,
        background_image: bool = false,
        /// It is moved or has a shadow inside, so that anything may be behind it.
        overlaid: bool = false,
        margin: Sides<Length> = [Length::ZERO; 4],
        padding: Sides<Length> = [Length::ZERO; 4],
        border_width: Sides<f32> = [3.0; 4],
        border_visible: Sides<bool> = [false; 4],
        border_colour: Sides<Color> = [Color::Current; 4],
        width: Length = Length::Auto,
        max_width: Length = Length::Auto,
        height: Length = Length::Auto,
        min_height: Length = Length::Auto,
        max_height: Length = Length::Auto,
        /// `overflow` is not `visible`.
        overflow_clipped: bool = false,
        /// Positioned absolutely or fixed.
        out_of_flow: bool = false,
        relatively_positioned: bool = false,
        offsets: Sides<Length> = [Length::Auto; 4],
        /// `clip` leaves nothing; it applies to absolutely positioned elements only.
        clipped: bool = false,
        /// An animation may show what is transparent or shrunk.
        animated: bool = false,
        /// `clip-path` or `transform` leaves nothing.
        clipped_or_shrunk: bool = false,
        /// A filter makes it transparent.
        filtered_out: bool = false,
        float: Float = Float::None,
        /// It starts below the floated boxes before it.
        clears_floats: bool = false,
        /// The items of a flex container are below each other.
        flex_column: bool = false,
        /// The items of a flex container go from its end to its start.
        flex_reversed: bool = false,
        /// The items of a flex container have space between them.
        flex_spread: bool = false,
        /// The items of a flex container are sorted by this number.
        order: i32 = 0,
    }
}

impl ComputedStyle {
    pub(crate) fn is_floated(&self) -> bool {
        self.float != Float::None
    }

    /// True if it contains the absolutely positioned boxes in it.
    pub(crate) fn is_positioned(&self) -> bool {
        self.out_of_flow || self.relatively_positioned
    }

    /// Returns the width of a visible border in pixels, else zero.
    pub(crate) fn used_border(&self, side: usize) -> f32 {
        if self.border_visible[side] {
            self.border_width[side]
        } else {
            0.0
        }
    }

    /// Replaces `currentColor` by the text colour, which must be final.
    pub(super) fn resolve_colours(&mut self) {
        self.background = self.background.resolve(self.colour);
        self.text_outline = self.text_outline.resolve(self.colour);
    }

    /// Returns the colour inside its letters.
    pub(crate) fn text_colour(&self) -> Color {
        self.text_fill.resolve(self.colour)
    }

    /// True if it may be painted over something other than its parent's background.
    pub(crate) fn is_moved(&self) -> bool {
        let is_set = |length: &Length| !matches!(length, Length::Auto | Length::Px(0.0));
        let pulls =
            |length: &Length| matches!(length, Length::Px(px) | Length::Em(px) if *px <= -4.0);
        self.overlaid
            || self.out_of_flow
            || (self.relatively_positioned && self.offsets.iter().any(is_set))
            || self.margin.iter().any(pulls)
    }

    /// Converts one of its lengths to pixels; `None` for auto.
    pub(crate) fn px(&self, length: Length, available_width: f32) -> Option<f32> {
        length.to_px(self.font_size, available_width)
    }

    /// Returns the margin of one side in pixels; zero for auto.
    pub(crate) fn margin_px(&self, side: usize, available_width: f32) -> f32 {
        self.px(self.margin[side], available_width).unwrap_or(0.0)
    }

    /// Returns padding and border of one side in pixels.
    pub(crate) fn padding_and_border(&self, side: usize, available_width: f32) -> f32 {
        let padding = self.px(self.padding[side], available_width);
        padding.unwrap_or(0.0).max(0.0) + self.used_border(side)
    }

    /// Returns the width in pixels; `auto` is the width if none is set.
    pub(crate) fn used_width(&self, available_width: f32, auto: f32) -> f32 {
        let max = self.px(self.max_width, available_width);
        let width = self.px(self.width, available_width).unwrap_or(auto);
        width.min(max.unwrap_or(f32::MAX))
    }

    /// Returns ascent plus descent in pixels.
    ///
    /// The factors are those of common fonts; browsers round each to whole pixels.
    pub(crate) fn glyph_height(&self) -> f32 {
        (self.font_size * 0.905).round() + (self.font_size * 0.212).round()
    }

    /// Returns the line height in pixels.
    pub(crate) fn line_height_px(&self) -> f32 {
        match self.line_height {
            LineHeight::Normal => self.glyph_height() + (self.font_size * 0.033).round(),
            LineHeight::Factor(factor) => self.font_size * factor,
            LineHeight::Px(px) => px,
        }
    }

    /// True for block-level elements.
    pub(crate) const fn is_block(&self) -> bool {
        !matches!(
            self.display,
            Display::Inline | Display::InlineBlock | Display::None | Display::Contents
        )
    }
}
