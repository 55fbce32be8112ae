//! Looking further back: older pages, one after the other, until there is enough to look at.

use super::command::Command;
use super::effect::{Effect, Effects};
use super::key::Focus;
use super::keymap::key_hints;
use super::message::SyncUpdate;
use super::model::Model;
use crate::archive::Coverage;

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOlder {
    /// It ends when so many emails are found; unknown until what was there at first is counted.
    target_total: Option<u64>,
    loaded: u64,
}

impl LoadOlder {
    /// Emails that were brought so far, whether the filter lets them through or not.
    #[must_use]
    pub const fn loaded(&self) -> u64 {
        self.loaded
    }
}

impl Model {
    /// Whether looking further back may bring something that the filter lets through.
    #[must_use]
    pub fn may_find_older(&self) -> bool {
        !self.list.filter().is_empty() && self.can_load_older()
    }

    /// Whether there may be older mail than is here, and it is wanted.
    #[must_use]
    pub fn can_load_older(&self) -> bool {
        self.service.has_older() && !self.covers_filter()
    }

    /// Whether the archive is complete from before the time on that the filter begins with.
    fn covers_filter(&self) -> bool {
        let reach = self.service.reach().and_then(|reach| {
            if let Coverage::Since(stamp) = reach {
                stamp.parsed
            } else {
                None
            }
        });
        self.list
            .filter()
            .query()
            .time_bounds()
            .oldest
            .zip(reach)
            .is_some_and(|(since, reach)| reach < since)
    }

    /// Begins, unless there is nothing further back or nobody to ask.
    pub(super) fn start_load_older(&mut self) -> Option<Effect> {
        if self.load_older.is_some() {
            return None;
        }
        if self.covers_filter() {
            self.notice = Some("all mail since the time of this filter is here already".to_owned());
            return None;
        }
        let asked = self.service.request_older();
        if asked.is_none() && !self.service.is_loading_older() {
            self.notice = Some(match (self.service.unavailable(), self.service.reach()) {
                (Some(failure), _) => failure.message.clone(),
                (None, Some(Coverage::Complete)) => {
                    "everything that the service has is here already".to_owned()
                }
                (None, Some(_)) if self.service.error().is_none() => {
                    "the service has nothing older to give".to_owned()
                }
                (None, _) => {
                    let help = key_hints(
                        &self.keymap,
                        Focus::List,
                        [(Command::Refresh, "asks again now")],
                    );
                    format!("the service does not answer yet; {help}")
                }
            });
            return None;
        }
        let screen = self.list_height() as u64;
        self.load_older = Some(LoadOlder {
            target_total: self.list.total().map(|total| total + screen),
            loaded: 0,
        });
        asked
    }

    /// Takes what one page brought; without news the service failed.
    pub(super) fn apply_older_page(&mut self, news: Option<&SyncUpdate>) {
        let Some(look_back) = &mut self.load_older else {
            return;
        };
        if let Some(news) = news {
            look_back.loaded += news.new;
        } else {
            self.load_older = None;
            self.notice =
                Some("looking back has stopped, because the service did not answer".to_owned());
        }
    }

    /// Goes on to the next page, if what was found so far is not enough. Without a count nobody knows.
    pub(super) fn continue_load_older(&mut self, counted: bool) -> Effects {
        let screen = self.list_height() as u64;
        let total = self.list.total().unwrap_or_default();
        let Some(look_back) = &mut self.load_older else {
            return Effects::new();
        };
        if self.service.is_loading_older() {
            return Effects::new();
        }
        let goal = *look_back.target_total.get_or_insert(total + screen);
        if !counted || total >= goal || self.list.is_capped() {
            self.load_older = None;
            return Effects::new();
        }
        let asked = self.service.request_older();
        if asked.is_none() {
            self.load_older = None;
            self.notice = Some("that is everything the service has".to_owned());
        }
        asked.into_iter().collect()
    }

    /// Stops; a page that was asked for still comes, one that was not will not be.
    pub(super) fn stop_fetching(&mut self) {
        self.notice = Some(match self.load_older.take() {
            Some(_) => "stopped looking back; b goes on".to_owned(),
            None if self.stop_status_check() => {
                let help = key_hints(
                    &self.keymap,
                    Focus::List,
                    [(Command::Refresh, "checks them again")],
                );
                format!("stopped checking statuses; {help}")
            }
            None if self.service.stop_backfill() => {
                "older mail is no longer fetched by itself, until the next start".to_owned()
            }
            None => "nothing is going on that could be stopped".to_owned(),
        });
    }
}
