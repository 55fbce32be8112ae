//! `SgrState`: the colours and attributes of the next character,
//! and the sequences that change them.

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

/// The colours and attributes of the next character (select graphic rendition).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SgrState {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

const VISIBLE_IN_SPACE: Modifier = Modifier::REVERSED
    .union(Modifier::UNDERLINED)
    .union(Modifier::SLOW_BLINK)
    .union(Modifier::RAPID_BLINK)
    .union(Modifier::CROSSED_OUT);

impl SgrState {
    pub(super) const DEFAULT: Self = Self {
        fg: Color::Reset,
        bg: Color::Reset,
        modifier: Modifier::empty(),
    };

    pub(super) const fn from_cell(cell: &Cell) -> Self {
        Self {
            fg: cell.fg,
            bg: cell.bg,
            modifier: cell.modifier,
        }
    }

    /// Whether `symbol` looks the same in both states.
    pub(super) fn shows_alike(self, other: Self, symbol: &str) -> bool {
        let visible = |state: Self| state.modifier.intersection(VISIBLE_IN_SPACE);
        self == other
            || (symbol == " "
                && self.bg == other.bg
                && visible(self) == visible(other)
                && (self.fg == other.fg || visible(self).is_empty()))
    }

    /// Whether a space is blank, as a terminal erases cells in this state.
    pub(super) fn is_blank(self) -> bool {
        self.shows_alike(Self::DEFAULT, " ")
    }

    /// Returns the sequence that changes this state to another.
    pub(super) fn sequence_to(self, to: Self) -> String {
        if to == self {
            return String::new();
        }
        if to == Self::DEFAULT {
            return "\x1b[m".to_owned();
        }
        let mut codes = Vec::new();
        // Terminals differ in the codes that remove one attribute, so all are removed at once.
        let from = if to.modifier.contains(self.modifier) {
            self
        } else {
            // No number is 0.
            codes.push(String::new());
            Self::DEFAULT
        };
        let added = to.modifier - from.modifier;
        codes.extend(
            SGR_MODIFIERS
                .iter()
                .filter(|(modifier, _)| added.contains(*modifier))
                .map(|(_, code)| (*code).to_owned()),
        );
        if to.fg != from.fg {
            codes.push(sgr_colour(to.fg, 0));
        }
        if to.bg != from.bg {
            codes.push(sgr_colour(to.bg, 10));
        }
        format!("\x1b[{}m", codes.join(";"))
    }
}

/// Attributes and their codes (ECMA-48, SGR).
const SGR_MODIFIERS: [(Modifier, &str); 9] = [
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::SLOW_BLINK, "5"),
    (Modifier::RAPID_BLINK, "6"),
    (Modifier::REVERSED, "7"),
    (Modifier::HIDDEN, "8"),
    (Modifier::CROSSED_OUT, "9"),
];

/// The code of a colour as foreground; as background with `shift` 10.
fn sgr_colour(colour: Color, shift: u8) -> String {
    let code = match colour {
        Color::Reset => 39,
        Color::Black => 30,
        Color::Red => 31,
        Color::Green => 32,
        Color::Yellow => 33,
        Color::Blue => 34,
        Color::Magenta => 35,
        Color::Cyan => 36,
        Color::Gray => 37,
        Color::DarkGray => 90,
        Color::LightRed => 91,
        Color::LightGreen => 92,
        Color::LightYellow => 93,
        Color::LightBlue => 94,
        Color::LightMagenta => 95,
        Color::LightCyan => 96,
        Color::White => 97,
        Color::Indexed(index) => return format!("{};5;{index}", 38 + shift),
        Color::Rgb(red, green, blue) => return format!("{};2;{red};{green};{blue}", 38 + shift),
    };
    (code + shift).to_string()
}
