//! `ScrollHistory`: where the latest emails were left.

use std::collections::VecDeque;

use crate::mail::EmailId;
use crate::render::BodyView;

/// More emails than a user goes back and forth between.
const MAX_EMAILS: usize = 100;

/// An email in a view at a width.
pub(super) type ScrollKey = (EmailId, BodyView, u16);

/// Where the latest emails were left, each in a view at a width; those left at their start are not kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ScrollHistory(VecDeque<(ScrollKey, usize)>);

impl ScrollHistory {
    pub(super) fn remember(&mut self, key: ScrollKey, scroll: usize) {
        self.0.retain(|(other, _)| *other != key);
        if scroll > 0 {
            self.0.truncate(MAX_EMAILS - 1);
            self.0.push_front((key, scroll));
        }
    }

    pub(super) fn scroll_of(&self, key: &ScrollKey) -> Option<usize> {
        let mut kept = self.0.iter();
        let found = kept.find(|(other, _)| other == key);
        found.map(|(_, scroll)| *scroll)
    }
}
