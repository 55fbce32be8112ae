//! `Look`: everything about the drawing that is not in the model: colours, glyphs, the time.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::style::{Color, Modifier, Style};

use crate::config::Palette;
use crate::mail::Status;
use crate::query;
use crate::render::{SpanRole, SpanStyle};

/// How things look, and when and where it is.
#[derive(Debug, Clone)]
pub struct RenderCtx {
    /// Colours.
    pub theme: Theme,
    /// Characters beyond ASCII, or not.
    pub glyphs: Glyphs,
    /// The time of this frame.
    pub now: Timestamp,
    /// The person's time zone.
    pub zone: TimeZone,
}

/// What each role looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// The colours; without them bold, underline and reverse say it alone.
    palette: Option<Palette>,
}

impl Theme {
    /// With these colours, or with bold, underline and reverse alone.
    #[must_use]
    pub const fn new(palette: Option<Palette>) -> Self {
        Self { palette }
    }

    fn fg_style(self, role: impl FnOnce(Palette) -> Color) -> Style {
        self.palette
            .map_or_else(Style::new, |palette| Style::new().fg(role(palette)))
    }

    /// What stands around the text: dividers, labels.
    #[must_use]
    pub const fn chrome() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// A title.
    #[must_use]
    pub const fn title() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The one accent: the selection bar, keys in hints.
    #[must_use]
    pub fn accent(self) -> Style {
        self.fg_style(|palette| palette.accent)
            .add_modifier(Modifier::BOLD)
    }

    /// The recipient of the selected row.
    #[must_use]
    pub const fn selected(focused: bool) -> Style {
        Style::new().add_modifier(if focused {
            Modifier::REVERSED
        } else {
            Modifier::BOLD
        })
    }

    /// What a filter looks for, and the one of it that was gone to.
    #[must_use]
    pub const fn highlight(current: bool) -> Style {
        let style = Style::new().add_modifier(Modifier::UNDERLINED);
        if current {
            style.add_modifier(Modifier::REVERSED)
        } else {
            style
        }
    }

    /// Something went wrong.
    #[must_use]
    pub fn error(self) -> Style {
        self.fg_style(|palette| palette.bad)
            .add_modifier(Modifier::BOLD)
    }

    /// Something new.
    #[must_use]
    pub fn new_mail(self) -> Style {
        self.fg_style(|palette| palette.good)
            .add_modifier(Modifier::BOLD)
    }

    /// A status.
    #[must_use]
    pub fn status(self, status: &Status) -> Style {
        match status {
            Status::Delivered => self.fg_style(|palette| palette.good),
            Status::Opened | Status::Clicked => self.fg_style(|palette| palette.accent),
            Status::Bounced | Status::Failed | Status::Suppressed => {
                self.fg_style(|palette| palette.bad)
            }
            Status::Complained => self.fg_style(|palette| palette.apart),
            Status::DeliveryDelayed => self.fg_style(|palette| palette.warning),
            Status::Scheduled | Status::Queued | Status::Sent => {
                self.fg_style(|palette| palette.pending)
            }
            Status::Canceled | Status::Unknown | Status::Other(_) => Style::new(),
        }
    }

    /// A piece of a query.
    #[must_use]
    pub fn query_token(self, role: query::SyntaxRole) -> Style {
        match role {
            query::SyntaxRole::Operator => self.fg_style(|palette| palette.pending),
            query::SyntaxRole::Value => self.fg_style(|palette| palette.good),
            query::SyntaxRole::Word => Style::new(),
            query::SyntaxRole::Keyword => self.fg_style(|palette| palette.apart),
            query::SyntaxRole::Error => self
                .fg_style(|palette| palette.bad)
                .add_modifier(Modifier::UNDERLINED),
        }
    }

    /// A piece of a body.
    #[must_use]
    pub fn body_span(self, mark: &SpanStyle) -> Style {
        let mut style = match mark.role {
            SpanRole::Text | SpanRole::Literal | SpanRole::Indent => Style::new(),
            SpanRole::Heading => Self::title(),
            SpanRole::Link => self
                .fg_style(|palette| palette.pending)
                .add_modifier(Modifier::UNDERLINED),
            SpanRole::Button => self
                .fg_style(|palette| palette.pending)
                .add_modifier(Modifier::BOLD),
            SpanRole::Image if mark.link.is_some() => self
                .fg_style(|palette| palette.pending)
                .add_modifier(Modifier::UNDERLINED),
            SpanRole::Image | SpanRole::Rule | SpanRole::Comment | SpanRole::Punctuation => {
                Self::chrome()
            }
            SpanRole::Quote => self.fg_style(|palette| palette.good),
            SpanRole::Code | SpanRole::Number => self.fg_style(|palette| palette.apart),
            SpanRole::Notice => self
                .fg_style(|palette| palette.warning)
                .add_modifier(Modifier::ITALIC),
            SpanRole::Tag | SpanRole::Key => self.fg_style(|palette| palette.pending),
            SpanRole::Attribute => self.fg_style(|palette| palette.accent),
            SpanRole::Value | SpanRole::String => self.fg_style(|palette| palette.good),
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

/// The characters that are drawn beside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    /// Marks the selected row.
    pub selection_bar: &'static str,
    /// Divides two panes that lie side by side.
    pub vertical_rule: &'static str,
    /// Divides two panes that lie one above the other.
    pub horizontal_rule: &'static str,
    /// Stands for what does not fit.
    pub ellipsis: &'static str,
    /// Between two words of a line.
    pub separator: &'static str,
    /// From the profile to what is shown of it.
    pub breadcrumb: &'static str,
    /// Marks a row whose status changed.
    pub changed: &'static str,
    /// Marks a row that the service no longer has.
    pub deleted: &'static str,
    /// Stands for a letter that is not shown.
    pub mask: &'static str,
    /// From one status to the next.
    pub arrow: &'static str,
    ascii: bool,
}

impl Glyphs {
    /// Unicode, as most terminals can.
    pub const UNICODE: Self = Self {
        selection_bar: "▌",
        vertical_rule: "│",
        horizontal_rule: "─",
        ellipsis: "…",
        separator: "·",
        breadcrumb: "▸",
        changed: "•",
        deleted: "†",
        mask: "•",
        arrow: "→",
        ascii: false,
    };
    /// ASCII alone.
    pub const ASCII: Self = Self {
        selection_bar: ">",
        vertical_rule: "|",
        horizontal_rule: "-",
        ellipsis: "~",
        separator: "-",
        breadcrumb: ">",
        changed: "*",
        deleted: "+",
        mask: "*",
        arrow: ">",
        ascii: true,
    };

    /// The symbol of a status; they differ in shape, so that colour is never needed. Two columns at
    /// most in ASCII, one otherwise.
    #[must_use]
    pub const fn status(self, status: &Status) -> &'static str {
        if !self.ascii {
            return status.symbol();
        }
        match status {
            Status::Delivered => "ok",
            Status::Opened => "op",
            Status::Clicked => "cl",
            Status::Bounced => "xx",
            Status::Failed => "xf",
            Status::Suppressed => "xs",
            Status::Complained => "!!",
            Status::DeliveryDelayed => "||",
            Status::Sent => "->",
            Status::Queued => "..",
            Status::Scheduled => "at",
            Status::Canceled => "--",
            Status::Unknown | Status::Other(_) => "??",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn symbols_differ_in_shape_and_take_one_column() {
        for glyphs in [Glyphs::UNICODE, Glyphs::ASCII] {
            let symbols: std::collections::BTreeSet<_> = Status::KNOWN
                .iter()
                .map(|status| glyphs.status(status))
                .collect();
            assert_eq!(symbols.len(), Status::KNOWN.len());
            assert!(
                symbols
                    .iter()
                    .all(|symbol| symbol.width() == if glyphs.ascii { 2 } else { 1 })
            );
        }
    }
}
