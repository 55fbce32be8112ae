//! `Palette`: which colour each role of the screen has.

use ratatui::style::Color;

/// A colour for each role; a role is what something is, not where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Palette {
    /// What the eye is to find first: the selection bar, keys.
    pub(crate) accent: Color,
    /// What is as it should be: delivered, new.
    pub(crate) good: Color,
    /// What went wrong: bounced, failed.
    pub(crate) bad: Color,
    /// What may go wrong: delayed.
    pub(crate) warning: Color,
    /// What is under way, and what leads elsewhere: queued, links.
    pub(crate) pending: Color,
    /// What stands apart: complaints, code.
    pub(crate) apart: Color,
}

impl Default for Palette {
    /// Colours of the terminal's own palette, so that they fit light and dark alike.
    fn default() -> Self {
        Self {
            accent: Color::Cyan,
            good: Color::Green,
            bad: Color::Red,
            warning: Color::Yellow,
            pending: Color::Blue,
            apart: Color::Magenta,
        }
    }
}

/// The names of the roles.
pub(super) const ROLE_NAMES: [&str; 6] = ["accent", "good", "bad", "warning", "pending", "apart"];

/// What a colour is, in words.
pub(super) const COLOUR_SYNTAX: &str =
    "a colour is a name such as red or light-blue, a number from 0 to 255, or #rrggbb";

impl Palette {
    /// The colour of the role with this name, if there is one.
    pub(super) fn role_mut(&mut self, name: &str) -> Option<&mut Color> {
        Some(match name {
            "accent" => &mut self.accent,
            "good" => &mut self.good,
            "bad" => &mut self.bad,
            "warning" => &mut self.warning,
            "pending" => &mut self.pending,
            "apart" => &mut self.apart,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_its_own_colour() {
        let mut palette = Palette::default();
        let colours: std::collections::HashSet<Color> = ROLE_NAMES
            .iter()
            .map(|role| *palette.role_mut(role).unwrap())
            .collect();
        assert_eq!(colours.len(), ROLE_NAMES.len());
        assert_eq!(palette.role_mut("sidebar"), None);
    }
}
