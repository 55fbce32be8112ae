//! Copies the figures on the screen: the card of a recipient, or the statistics.
//!
//! The view formats them, as it does for a screen reader, but with full dates.

use super::chooser::ChooserKind;
use super::commands::{Command, require};
use super::effect::{ClipboardText, LoopEffect};
use super::model::Model;

impl Model {
    pub(super) fn check_copy_card(&self) -> Result<(), String> {
        self.check_clipboard()?;
        if !self.recipient_card.is_shown() {
            let text = "no card is shown";
            let does = "shows the one of the recipient";
            return Err(self.with_hint(text, Command::RecipientSummary, does));
        }
        let is_counted = self.recipient_card.summary.value().is_some();
        require(is_counted, "the card is not counted yet")
    }

    /// Checks that the selected item of a list can be copied:
    /// a link, or with any line the statistics.
    pub(super) fn check_copy_item(&self) -> Result<(), String> {
        if !self.has_statistics_open() {
            require(self.has_links_open(), "nothing to copy here")?;
            return self.check_copy_link();
        }
        self.check_clipboard()?;
        let is_counted = self.statistics.result.value().is_some();
        require(is_counted, "the statistics are not counted yet")
    }

    pub(super) fn copy_item(&mut self) {
        if self.has_statistics_open() {
            self.copy_figures();
        } else {
            self.copy_chosen_link();
        }
    }

    pub(super) fn copy_figures(&mut self) {
        self.emit(LoopEffect::FormatFigures);
    }

    /// Copies the figures as the view has formatted them, with the time
    /// and the command that opens their list.
    pub(super) fn copy_formatted(&mut self, figures: &str) {
        let label = if self.has_statistics_open() {
            "statistics"
        } else {
            "card"
        };
        let at = self.in_both_zones(self.now.timestamp());
        let mut text = format!("{figures}\nCopied: {at}\n");
        if let Some(command) = self.list_command() {
            text = format!("{text}{command}\n");
        }
        self.copy_text(ClipboardText { label, text });
    }

    pub(super) fn has_statistics_open(&self) -> bool {
        self.is_choosing() && self.chooser_kind() == Some(&ChooserKind::Statistics)
    }
}
