//! The inputs that decide the colours:
//! the terminal's depth and background, and the `[theme]` of the configuration.
//!
//! The roles become colours in `view/theme.rs`.

use ratatui::style::Color;

use super::env::Env;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColourDepth {
    Ansi16,
    Indexed256,
    TrueColour,
}

/// Names in `TERM` of terminals with true colour;
/// SSH passes `TERM` on, and not `COLORTERM`.
const TRUE_COLOUR_TERMS: [&str; 5] = ["alacritty", "foot", "ghostty", "kitty", "wezterm"];

impl ColourDepth {
    /// Reads `COLORTERM` and `TERM`.
    pub(crate) fn from_env(env: &Env) -> Self {
        let term = env.get("TERM").unwrap_or_default();
        let colorterm = env.get("COLORTERM").unwrap_or_default();
        // GNU screen has the variables of the terminal around it, and no true colour.
        let is_true = !is_gnu_screen(env)
            && (matches!(colorterm, "truecolor" | "24bit")
                || term.ends_with("-direct")
                || TRUE_COLOUR_TERMS.iter().any(|name| term.contains(name)));
        if is_true {
            Self::TrueColour
        } else if term.contains("256color") {
            Self::Indexed256
        } else {
            Self::Ansi16
        }
    }

    /// Returns the number of colours, for people.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Ansi16 => "16",
            Self::Indexed256 => "256",
            Self::TrueColour => "16 million",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Background {
    Light,
    Dark,
}

impl Background {
    /// Classifies a colour by its lightness (L*) from 0 to 1.
    ///
    /// In the middle, black and white have about the same contrast to it.
    pub(crate) fn from_lightness(lightness: f32) -> Self {
        if lightness > 0.5 {
            Self::Light
        } else {
            Self::Dark
        }
    }

    /// Parses a colour as terminals report it, such as `rgb:1e1e/1e1e/1e1e`.
    pub(crate) fn parse(colour: &str) -> Option<Self> {
        let colour = xterm_color::Color::parse(colour.as_bytes()).ok()?;
        Some(Self::from_lightness(colour.perceived_lightness()))
    }

    /// Reads `COLORFGBG`, in which some terminals store the indices of their colours.
    /// The Linux console is dark.
    ///
    /// Only a hint: a shell keeps the variable when another terminal attaches.
    pub(crate) fn from_env(env: &Env) -> Option<Self> {
        if env.get("TERM") == Some("linux") {
            return Some(Self::Dark);
        }
        let (_, index) = env.get("COLORFGBG")?.rsplit_once(';')?;
        match index.parse().ok()? {
            7 | 9..=15 => Some(Self::Light),
            0..=6 | 8 => Some(Self::Dark),
            16_u8.. => None,
        }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// Whether the terminal reads operating system commands (OSC),
/// such as the question for its background and hyperlinks: some print them, others send the answers
/// of several terminals.
pub(crate) fn reads_osc(env: &Env) -> bool {
    let term = env.get("TERM").unwrap_or("dumb");
    let is_simple = term == "dumb" || term.to_lowercase().starts_with("eterm");
    !is_simple && !has_ascii_font(env) && !is_gnu_screen(env)
}

/// Whether the terminal is one whose fonts have little but ASCII.
pub(crate) fn has_ascii_font(env: &Env) -> bool {
    env.get("TERM")
        .is_some_and(|term| term == "linux" || term.starts_with("vt"))
}

/// Whether symbols are drawn with ASCII alone, if no flag decides.
///
/// Without a locale, or with one that names no charset, a terminal reads UTF-8: containers and
/// remote shells often set none.
pub(crate) fn draws_ascii(env: &Env) -> bool {
    has_ascii_font(env) || has_other_charset(env)
}

/// Whether the locale names a charset other than UTF-8.
///
/// A terminal may read the bytes of UTF-8 as control codes then: C1 is 80 to 9F (ECMA-48, 5.3).
pub(crate) fn has_other_charset(env: &Env) -> bool {
    locale(env).is_some_and(|(_, locale)| {
        matches!(locale, "C" | "POSIX") || (locale.contains('.') && !is_utf8(locale))
    })
}

/// Returns the variable that sets the charset of the terminal, with its value.
pub(crate) fn locale(env: &Env) -> Option<(&'static str, &str)> {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| Some((name, env.get(name)?)))
}

/// Whether a locale such as `de_DE.UTF-8` names UTF-8.
pub(crate) fn is_utf8(locale: &str) -> bool {
    locale.to_lowercase().replace('-', "").contains("utf8")
}

fn is_gnu_screen(env: &Env) -> bool {
    let is_screen = env
        .get("TERM")
        .is_some_and(|term| term.starts_with("screen"));
    env.get("TMUX").is_none() && (is_screen || env.get("STY").is_some())
}

/// A meaning that has a colour; not a position on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The selection bar, keys.
    Accent,
    /// Delivered, new.
    Good,
    /// Bounced, failed.
    Bad,
    /// Delayed.
    Warning,
    /// Pending statuses and links.
    Pending,
    /// Complaints and code.
    Apart,
    /// Labels and dividers.
    Muted,
}

impl Role {
    /// The names of the roles, in their order.
    pub(crate) const NAMES: [&str; 7] = [
        "accent", "good", "bad", "warning", "pending", "apart", "muted",
    ];
}

/// The colours that the others are chosen from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ThemeBase {
    /// `Light` or `Dark` by the terminal's background; `Terminal` if that is unknown.
    #[default]
    Auto,
    /// The terminal's own sixteen colours, as far as they are readable.
    Terminal,
    Light,
    Dark,
}

impl ThemeBase {
    /// The allowed values, for messages.
    pub(super) const SYNTAX: &str = "\"auto\", \"terminal\", \"light\" or \"dark\"";

    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "auto" => Self::Auto,
            "terminal" => Self::Terminal,
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => return None,
        })
    }
}

impl From<Background> for ThemeBase {
    fn from(background: Background) -> Self {
        match background {
            Background::Light => Self::Light,
            Background::Dark => Self::Dark,
        }
    }
}

/// The `[theme]` of the configuration file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThemeConfig {
    pub(crate) base: ThemeBase,
    /// The user's colour of each role; `None` is that of the base.
    pub(crate) roles: [Option<Color>; Role::NAMES.len()],
}

/// The allowed colours, for messages.
pub(super) const COLOUR_SYNTAX: &str =
    "a name such as \"light-blue\", a number from 0 to 255, or \"#rrggbb\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_follows_colorterm_and_term() {
        use ColourDepth::{Ansi16, Indexed256, TrueColour};
        for (variables, depth) in [
            (&[("TERM", "xterm")][..], Ansi16),
            (&[("TERM", "xterm-256color")], Indexed256),
            (
                &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")],
                TrueColour,
            ),
            (&[("TERM", "xterm"), ("COLORTERM", "24bit")], TrueColour),
            (&[("TERM", "xterm-direct")], TrueColour),
            (&[("TERM", "xterm-kitty")], TrueColour),
            (
                &[("TERM", "screen-256color"), ("COLORTERM", "truecolor")],
                Indexed256,
            ),
            (
                &[
                    ("TERM", "screen"),
                    ("TMUX", "/t"),
                    ("COLORTERM", "truecolor"),
                ],
                TrueColour,
            ),
            (&[("COLORTERM", "yes")], Ansi16),
            (&[], Ansi16),
        ] {
            let env = variables.iter().copied().collect();
            assert_eq!(ColourDepth::from_env(&env), depth, "{variables:?}");
        }
    }

    #[test]
    fn ascii_is_drawn_in_locales_without_utf8() {
        for (variables, expected) in [
            (&[][..], false),
            (&[("LANG", "")], false),
            (&[("LANG", "C")], true),
            (&[("LANG", "POSIX")], true),
            (&[("LANG", "C.UTF-8")], false),
            (&[("LANG", "C.utf8")], false),
            (&[("LC_CTYPE", "UTF-8")], false),
            (&[("LANG", "de_DE")], false),
            (&[("LANG", "de_DE@euro")], false),
            (&[("LANG", "de_DE.ISO-8859-15@euro")], true),
            (&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")], true),
            (&[("LC_CTYPE", "C.UTF-8"), ("LANG", "C")], false),
            (&[("TERM", "linux"), ("LANG", "C.UTF-8")], true),
        ] {
            let env = variables.iter().copied().collect();
            assert_eq!(draws_ascii(&env), expected, "{variables:?}");
        }
    }

    #[test]
    fn reported_colour_is_light_or_dark() {
        for (colour, background) in [
            ("rgb:0000/2b2b/3636", Some(Background::Dark)),
            ("rgb:fd/f6/e3", Some(Background::Light)),
            ("rgba:ffff/ffff/ffff/8000", Some(Background::Light)),
            ("rgb:0000/2b2b", None),
            ("", None),
        ] {
            assert_eq!(Background::parse(colour), background, "{colour}");
        }
    }

    #[test]
    fn colorfgbg_hints_at_the_background() {
        for (value, background) in [
            ("15;0", Some(Background::Dark)),
            ("0;15", Some(Background::Light)),
            ("0;default;15", Some(Background::Light)),
            ("0;7", Some(Background::Light)),
            ("default;default", None),
            ("15", None),
        ] {
            let env = Env::from_iter([("COLORFGBG", value)]);
            assert_eq!(Background::from_env(&env), background, "{value}");
        }
    }

    #[test]
    fn simple_terminals_are_not_asked() {
        let answers = |variables: &[(&str, &str)]| reads_osc(&variables.iter().copied().collect());
        assert!(answers(&[("TERM", "xterm-256color")]));
        assert!(answers(&[("TERM", "screen-256color"), ("TMUX", "/t")]));
        for term in ["dumb", "linux", "vt220", "eterm-color", "screen"] {
            assert!(!answers(&[("TERM", term)]), "{term}");
        }
        assert!(!answers(&[]) && !answers(&[("TERM", "xterm"), ("STY", "1.pts")]));
    }
}
