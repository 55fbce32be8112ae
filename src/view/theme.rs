//! `Theme`: styles by role, chosen by the base of the theme,
//! the depth of colour and the background.
//!
//! Text in a role's colour has a contrast of at least 4.5 to the common backgrounds of its base,
//! symbols of at least 3 (WCAG 2.2, 1.4.3 and 1.4.11), or 1.9 where the background is unknown; the
//! tests compute it. Where a terminal's own sixteen colours do not reach that, the text keeps the
//! default colour. Colour is never the only sign of a state.
//!
//! The background is known late: `tui` sends the query when it takes the terminal, and does not
//! wait. The answer arrives among the keys (`tui/input/parser.rs`) as a message; then the frame is
//! drawn again in the colours of the background.

use ratatui::style::{Color, Modifier, Style};

use crate::config::{Background, ColourDepth, Role, ThemeBase, ThemeConfig};
use crate::mail::Status;
use crate::query;
use crate::render::{SpanRole, SpanStyle};

/// Styles by role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    config: ThemeConfig,
    /// `None` without colours: bold, underline and reverse show the role.
    depth: Option<ColourDepth>,
    inks: [Ink; Role::NAMES.len()],
}

/// The colours of a role; `None` is the terminal's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ink {
    text: Option<Color>,
    /// A symbol beside the text needs less contrast.
    symbol: Option<Color>,
}

impl Ink {
    const DEFAULT: Self = Self::new(None, None);

    const fn new(text: Option<Color>, symbol: Option<Color>) -> Self {
        Self { text, symbol }
    }

    const fn text(colour: Color) -> Self {
        Self::new(Some(colour), Some(colour))
    }

    const fn symbol(colour: Color) -> Self {
        Self::new(None, Some(colour))
    }
}

/// A role in three depths of colour: RGB, the index of 256, one of sixteen.
type Shades = (u32, u8, Ink);

/// For dark backgrounds; in the order of [`Role`].
const DARK: [Shades; Role::NAMES.len()] = [
    (0x5c_c3cc, 80, Ink::text(Color::Cyan)),
    (0x8c_c570, 114, Ink::text(Color::Green)),
    (0xff_8080, 210, Ink::symbol(Color::LightRed)),
    (0xe5_c07b, 180, Ink::symbol(Color::Yellow)),
    (0x7a_b8f5, 111, Ink::symbol(Color::LightBlue)),
    (0xd1_9be6, 176, Ink::symbol(Color::LightMagenta)),
    (0xa3_aab5, 248, Ink::DEFAULT),
];

const LIGHT: [Shades; Role::NAMES.len()] = [
    (0x00_6570, 23, Ink::DEFAULT),
    (0x2f_6318, 22, Ink::DEFAULT),
    (0xb3_261e, 124, Ink::symbol(Color::Red)),
    (0x7a_4f00, 94, Ink::DEFAULT),
    (0x1f_55a8, 25, Ink::symbol(Color::Blue)),
    (0x85_27a0, 90, Ink::symbol(Color::Magenta)),
    (0x5a_5d63, 240, Ink::DEFAULT),
];

/// For any background: the colours that `git` and `ls` use without knowing it.
/// Beside each symbol is its word in the default colour. Yellow is left out, because it is not
/// visible on white.
const TERMINAL: [Ink; Role::NAMES.len()] = {
    let mut inks = [Ink::DEFAULT; Role::NAMES.len()];
    inks[Role::Accent as usize] = Ink::symbol(Color::Cyan);
    inks[Role::Good as usize] = Ink::symbol(Color::Green);
    inks[Role::Pending as usize] = Ink::symbol(Color::LightBlue);
    inks[Role::Bad as usize] = Ink::symbol(Color::LightRed);
    inks[Role::Apart as usize] = Ink::symbol(Color::Magenta);
    inks
};

impl Theme {
    /// Without a depth, the theme has no colours.
    pub fn new(config: ThemeConfig, depth: Option<ColourDepth>) -> Self {
        let mut theme = Self {
            config,
            depth,
            inks: [Ink::DEFAULT; Role::NAMES.len()],
        };
        theme.set_base(config.base);
        theme
    }

    /// A theme whose colours do not depend on the background.
    #[cfg(test)]
    pub fn fixed(base: ThemeBase, depth: ColourDepth) -> Self {
        let config = ThemeConfig {
            base,
            ..ThemeConfig::default()
        };
        Self::new(config, Some(depth))
    }

    /// Whether the theme depends on the background.
    pub fn follows_background(&self) -> bool {
        self.depth.is_some() && self.config.base == ThemeBase::Auto
    }

    /// Chooses the colours for a background, if the theme depends on it.
    pub fn set_background(&mut self, background: Background) {
        if self.follows_background() {
            self.set_base(background.into());
        }
    }

    fn set_base(&mut self, base: ThemeBase) {
        let Some(depth) = self.depth else {
            return;
        };
        let shade = |(rgb, index, ansi): Shades| match depth {
            ColourDepth::TrueColour => Ink::text(Color::from_u32(rgb)),
            ColourDepth::Indexed256 => Ink::text(Color::Indexed(index)),
            ColourDepth::Ansi16 => ansi,
        };
        self.inks = match base {
            ThemeBase::Auto | ThemeBase::Terminal => TERMINAL,
            ThemeBase::Light => LIGHT.map(shade),
            ThemeBase::Dark => DARK.map(shade),
        };
        for (ink, own) in self.inks.iter_mut().zip(self.config.roles) {
            *ink = own.map_or(*ink, Ink::text);
        }
    }

    const fn text(self, role: Role) -> Style {
        Style {
            fg: self.inks[role as usize].text,
            ..Style::new()
        }
    }

    const fn symbol(self, role: Role) -> Style {
        Style {
            fg: self.inks[role as usize].symbol,
            ..Style::new()
        }
    }

    /// Styles what surrounds the text: dividers, labels.
    pub fn chrome(self) -> Style {
        self.text(Role::Muted)
    }

    pub const fn title() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Styles keys in hints.
    pub fn accent(self) -> Style {
        self.text(Role::Accent).add_modifier(Modifier::BOLD)
    }

    /// Styles the selection bar; a space without style costs the terminal no byte.
    pub fn bar(self, selected: bool) -> Style {
        if selected {
            self.symbol(Role::Accent).add_modifier(Modifier::BOLD)
        } else {
            Style::new()
        }
    }

    /// Styles the recipient of the selected row.
    pub const fn selected(focused: bool) -> Style {
        Style::new().add_modifier(if focused {
            Modifier::REVERSED
        } else {
            Modifier::BOLD
        })
    }

    /// Styles an item of a list to choose from.
    pub const fn item(selected: bool) -> Style {
        if selected {
            Self::selected(true)
        } else {
            Style::new()
        }
    }

    /// Styles matches of a filter or a search; `current` is the one last jumped to.
    pub const fn highlight(current: bool) -> Style {
        let style = Style::new().add_modifier(Modifier::UNDERLINED);
        if current {
            style.add_modifier(Modifier::REVERSED)
        } else {
            style
        }
    }

    pub fn error(self) -> Style {
        self.text(Role::Bad).add_modifier(Modifier::BOLD)
    }

    pub fn new_mail(self) -> Style {
        self.text(Role::Good).add_modifier(Modifier::BOLD)
    }

    /// Styles the label of a status.
    pub fn status(self, status: &Status) -> Style {
        status_role(status).map_or_else(Style::new, |role| self.text(role))
    }

    pub fn status_symbol(self, status: &Status) -> Style {
        status_role(status).map_or_else(Style::new, |role| self.symbol(role))
    }

    pub fn query_token(self, role: query::SyntaxRole) -> Style {
        match role {
            query::SyntaxRole::Operator => self.text(Role::Pending),
            query::SyntaxRole::Value => self.text(Role::Good),
            query::SyntaxRole::Word => Style::new(),
            query::SyntaxRole::Keyword => self.text(Role::Apart),
            query::SyntaxRole::Error => self.text(Role::Bad).add_modifier(Modifier::UNDERLINED),
        }
    }

    pub fn body_span(self, mark: &SpanStyle) -> Style {
        let mut style = match mark.role {
            SpanRole::Text | SpanRole::Literal | SpanRole::Indent => Style::new(),
            SpanRole::Heading => Self::title(),
            SpanRole::Link => self.text(Role::Pending).add_modifier(Modifier::UNDERLINED),
            SpanRole::Button => self.text(Role::Pending).add_modifier(Modifier::BOLD),
            SpanRole::Image if mark.link.is_some() => {
                self.text(Role::Pending).add_modifier(Modifier::UNDERLINED)
            }
            SpanRole::Image | SpanRole::Rule | SpanRole::Comment | SpanRole::Punctuation => {
                self.chrome()
            }
            SpanRole::Quote => self.text(Role::Good),
            SpanRole::Code | SpanRole::Number => self.text(Role::Apart),
            SpanRole::Notice | SpanRole::LinkHost => {
                self.text(Role::Warning).add_modifier(Modifier::ITALIC)
            }
            SpanRole::Tag | SpanRole::Key => self.text(Role::Pending),
            SpanRole::Attribute => self.text(Role::Accent),
            SpanRole::Value | SpanRole::String => self.text(Role::Good),
        };
        for (set, modifier) in [
            (mark.bold, Modifier::BOLD),
            (mark.italic, Modifier::ITALIC),
            (mark.underline, Modifier::UNDERLINED),
            (mark.strikethrough, Modifier::CROSSED_OUT),
        ] {
            if set {
                style = style.add_modifier(modifier);
            }
        }
        style
    }
}

const fn status_role(status: &Status) -> Option<Role> {
    Some(match status {
        Status::Delivered => Role::Good,
        Status::Opened | Status::Clicked => Role::Accent,
        Status::Bounced | Status::Failed | Status::Suppressed => Role::Bad,
        Status::Complained => Role::Apart,
        Status::DeliveryDelayed => Role::Warning,
        Status::Scheduled | Status::Queued | Status::Sent => Role::Pending,
        Status::Canceled | Status::Received | Status::Unknown | Status::Other(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A published palette: its name, its background and the sixteen colours.
    type Palette = (&'static str, u32, [u32; 16]);

    /// Dark ones first. xterm and the Linux console:
    /// <https://en.wikipedia.org/wiki/ANSI_escape_code#3-bit_and_4-bit>.
    const XTERM: [u32; 16] = [
        0x00_0000, 0xcd_0000, 0x00_cd00, 0xcd_cd00, 0x00_00ee, 0xcd_00cd, 0x00_cdcd, 0xe5_e5e5,
        0x7f_7f7f, 0xff_0000, 0x00_ff00, 0xff_ff00, 0x5c_5cff, 0xff_00ff, 0x00_ffff, 0xff_ffff,
    ];
    const CONSOLE: [u32; 16] = [
        0x00_0000, 0xaa_0000, 0x00_aa00, 0xaa_5500, 0x00_00aa, 0xaa_00aa, 0x00_aaaa, 0xaa_aaaa,
        0x55_5555, 0xff_5555, 0x55_ff55, 0xff_ff55, 0x55_55ff, 0xff_55ff, 0x55_ffff, 0xff_ffff,
    ];
    /// <https://ethanschoonover.com/solarized/#the-values>
    const SOLARIZED: [u32; 16] = [
        0x07_3642, 0xdc_322f, 0x85_9900, 0xb5_8900, 0x26_8bd2, 0xd3_3682, 0x2a_a198, 0xee_e8d5,
        0x00_2b36, 0xcb_4b16, 0x58_6e75, 0x65_7b83, 0x83_9496, 0x6c_71c4, 0x93_a1a1, 0xfd_f6e3,
    ];
    /// <https://github.com/morhetz/gruvbox#palette>
    const GRUVBOX_DARK: [u32; 16] = [
        0x28_2828, 0xcc_241d, 0x98_971a, 0xd7_9921, 0x45_8588, 0xb1_6286, 0x68_9d6a, 0xa8_9984,
        0x92_8374, 0xfb_4934, 0xb8_bb26, 0xfa_bd2f, 0x83_a598, 0xd3_869b, 0x8e_c07c, 0xeb_dbb2,
    ];
    const GRUVBOX_LIGHT: [u32; 16] = [
        0xfb_f1c7, 0xcc_241d, 0x98_971a, 0xd7_9921, 0x45_8588, 0xb1_6286, 0x68_9d6a, 0x7c_6f64,
        0x92_8374, 0x9d_0006, 0x79_740e, 0xb5_7614, 0x07_6678, 0x8f_3f71, 0x42_7b58, 0x3c_3836,
    ];
    /// <https://gitlab.gnome.org/GNOME/gnome-terminal/-/blob/master/src/profile-editor.cc>
    const TANGO: [u32; 16] = [
        0x2e_3436, 0xcc_0000, 0x4e_9a06, 0xc4_a000, 0x34_65a4, 0x75_507b, 0x06_989a, 0xd3_d7cf,
        0x55_5753, 0xef_2929, 0x8a_e234, 0xfc_e94f, 0x72_9fcf, 0xad_7fa8, 0x34_e2e2, 0xee_eeec,
    ];

    const DARK_PALETTES: [Palette; 4] = [
        ("xterm, black", 0x00_0000, XTERM),
        ("Linux console", 0x00_0000, CONSOLE),
        ("Solarized dark", 0x00_2b36, SOLARIZED),
        ("Gruvbox dark", 0x28_2828, GRUVBOX_DARK),
    ];
    const LIGHT_PALETTES: [Palette; 4] = [
        ("xterm, white", 0xff_ffff, XTERM),
        ("Solarized light", 0xfd_f6e3, SOLARIZED),
        ("Gruvbox light", 0xfb_f1c7, GRUVBOX_LIGHT),
        ("Tango light", 0xff_ffff, TANGO),
    ];

    /// The colour as a terminal with this palette shows it.
    fn shown(colour: Color, (_, _, sixteen): &Palette) -> u32 {
        let ansi = |index: usize| sixteen[index];
        match colour {
            Color::Rgb(red, green, blue) => u32::from_be_bytes([0, red, green, blue]),
            Color::Indexed(index @ 16..=231) => {
                let level = |step: u8| [0, 95, 135, 175, 215, 255][usize::from(step % 6)];
                let index = index - 16;
                u32::from_be_bytes([0, level(index / 36), level(index / 6), level(index)])
            }
            Color::Indexed(index @ 232..) => (u32::from(index - 232) * 10 + 8) * 0x01_0101,
            Color::Red => ansi(1),
            Color::Green => ansi(2),
            Color::Yellow => ansi(3),
            Color::Blue => ansi(4),
            Color::Magenta => ansi(5),
            Color::Cyan => ansi(6),
            Color::LightRed => ansi(9),
            Color::LightBlue => ansi(12),
            Color::LightMagenta => ansi(13),
            other => panic!("{other} has no value here"),
        }
    }

    /// <https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio>
    fn contrast(one: u32, other: u32) -> f64 {
        let luminance = |colour: u32| {
            let [_, red, green, blue] = colour.to_be_bytes().map(|channel| {
                let channel = f64::from(channel) / 255.0;
                if channel <= 0.04045 {
                    channel / 12.92
                } else {
                    ((channel + 0.055) / 1.055).powf(2.4)
                }
            });
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn contrast_is_that_of_the_standard() {
        assert!((contrast(0, 0xff_ffff) - 21.0).abs() < 1e-9);
        assert!((contrast(0x77_7777, 0xff_ffff) - 4.48).abs() < 0.01);
    }

    #[test]
    fn every_role_is_readable_on_common_palettes() {
        let (dark, light) = (DARK_PALETTES.iter(), LIGHT_PALETTES.iter());
        let cases = [
            (ThemeBase::Dark, dark.clone().collect::<Vec<_>>()),
            (ThemeBase::Light, light.clone().collect()),
            (ThemeBase::Terminal, dark.chain(light).collect()),
        ];
        let depths = [
            ColourDepth::TrueColour,
            ColourDepth::Indexed256,
            ColourDepth::Ansi16,
        ];
        for (base, palettes) in cases {
            for (depth, palette) in depths
                .iter()
                .flat_map(|d| palettes.iter().map(move |p| (d, p)))
            {
                let inks = Theme::fixed(base, *depth).inks;
                for (name, ink) in Role::NAMES.iter().zip(inks) {
                    // No green and no cyan has more on both black and white.
                    let least = if base == ThemeBase::Terminal {
                        1.9
                    } else {
                        3.0
                    };
                    for (colour, least) in [(ink.text, 4.5), (ink.symbol, least)] {
                        let Some(colour) = colour else { continue };
                        let (on, background, _) = palette;
                        let contrast = contrast(shown(colour, palette), *background);
                        assert!(contrast >= least, "{name}: {contrast:.1} on {on}");
                    }
                }
            }
        }
    }

    #[test]
    fn symbols_have_colours_on_an_unknown_background() {
        let theme = Theme::fixed(ThemeBase::Auto, ColourDepth::TrueColour);
        for (status, colour) in [
            (Status::Delivered, Color::Green),
            (Status::Sent, Color::LightBlue),
            (Status::Scheduled, Color::LightBlue),
            (Status::Opened, Color::Cyan),
            (Status::Bounced, Color::LightRed),
        ] {
            assert_eq!(theme.status_symbol(&status).fg, Some(colour), "{status:?}");
            assert_eq!(theme.status(&status).fg, None, "text is read");
        }
        assert_eq!(theme.bar(true).fg, Some(Color::Cyan));
        let plain = Theme::new(ThemeConfig::default(), None);
        assert_eq!(plain.bar(true).fg, None);
    }

    #[test]
    fn own_colours_give_every_role_a_colour() {
        for base in [ThemeBase::Dark, ThemeBase::Light] {
            for depth in [ColourDepth::TrueColour, ColourDepth::Indexed256] {
                let inks = Theme::fixed(base, depth).inks;
                let colours: std::collections::HashSet<_> =
                    inks.iter().filter_map(|ink| ink.text).collect();
                assert_eq!(colours.len(), Role::NAMES.len());
            }
        }
    }

    #[test]
    fn background_chooses_colours_of_an_automatic_theme() {
        let depth = ColourDepth::Indexed256;
        let mut auto = Theme::fixed(ThemeBase::Auto, depth);
        assert!(auto.follows_background());
        assert_eq!(auto.inks, Theme::fixed(ThemeBase::Terminal, depth).inks);
        auto.set_background(Background::Light);
        assert_eq!(auto.inks, Theme::fixed(ThemeBase::Light, depth).inks);
        auto.set_background(Background::Dark);
        assert_eq!(auto.inks, Theme::fixed(ThemeBase::Dark, depth).inks);
        let mut fixed = Theme::fixed(ThemeBase::Light, depth);
        fixed.set_background(Background::Dark);
        assert_eq!(fixed, Theme::fixed(ThemeBase::Light, depth));
        assert!(!Theme::new(ThemeConfig::default(), None).follows_background());
    }

    #[test]
    fn user_colour_replaces_base_theme_colour() {
        let mut config = ThemeConfig::default();
        config.roles[Role::Bad as usize] = Some(Color::Blue);
        let mut theme = Theme::new(config, Some(ColourDepth::TrueColour));
        theme.set_background(Background::Dark);
        assert_eq!(theme.status(&Status::Bounced).fg, Some(Color::Blue));
        let plain = Theme::new(config, None);
        assert_eq!(plain.status_symbol(&Status::Bounced), Style::new());
    }
}
