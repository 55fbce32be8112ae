//! Looking further back: older pages, one after the other, until there is enough to look at.

use super::command::Command;
use super::effect::{Effect, Effects};
use super::keymap::told;
use super::keys::Focus;
use super::model::Model;
use super::msg::News;
use crate::archive::Reach;

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookBack {
    /// It ends when so many emails are found; unknown until what was there at first is counted.
    goal: Option<u64>,
    brought: u64,
}

impl LookBack {
    /// Emails that were brought so far, whether the filter lets them through or not.
    #[must_use]
    pub const fn brought(&self) -> u64 {
        self.brought
    }
}

impl Model {
    /// Whether looking further back may bring something that the filter lets through.
    #[must_use]
    pub fn may_find_older(&self) -> bool {
        !self.list.filter().is_none() && self.may_look_back()
    }

    /// Whether there may be older mail than is here, and it is wanted.
    #[must_use]
    pub fn may_look_back(&self) -> bool {
        self.service.has_older() && !self.has_all_that_is_wanted()
    }

    /// Whether the archive is complete from before the time on that the filter begins with.
    fn has_all_that_is_wanted(&self) -> bool {
        let reach = self.service.reach().and_then(|reach| {
            if let Reach::Since(stamp) = reach {
                stamp.at
            } else {
                None
            }
        });
        self.list
            .filter()
            .query()
            .since()
            .zip(reach)
            .is_some_and(|(since, reach)| reach < since)
    }

    /// Begins, unless there is nothing further back or nobody to ask.
    pub(super) fn look_back(&mut self) -> Option<Effect> {
        if self.look_back.is_some() {
            return None;
        }
        if self.has_all_that_is_wanted() {
            self.notice = Some("all mail since the time of this filter is here already".to_owned());
            return None;
        }
        let asked = self.service.extend();
        if asked.is_none() && !self.service.is_extending() {
            self.notice = Some(match (self.service.no_service(), self.service.reach()) {
                (Some(failure), _) => failure.sentence.clone(),
                (None, Some(Reach::Everything)) => {
                    "everything that the service has is here already".to_owned()
                }
                (None, Some(_)) if self.service.trouble().is_none() => {
                    "the service has nothing older to give".to_owned()
                }
                (None, _) => {
                    let help = told(
                        &self.keys,
                        Focus::List,
                        [(Command::Refresh, "asks again now")],
                    );
                    format!("the service does not answer yet; {help}")
                }
            });
            return None;
        }
        let screen = self.list_height() as u64;
        self.look_back = Some(LookBack {
            goal: self.list.total().map(|total| total + screen),
            brought: 0,
        });
        asked
    }

    /// Takes what one page brought; without news the service failed.
    pub(super) fn looked_back(&mut self, news: Option<&News>) {
        let Some(look_back) = &mut self.look_back else {
            return;
        };
        if let Some(news) = news {
            look_back.brought += news.new;
        } else {
            self.look_back = None;
            self.notice =
                Some("looking back has stopped, because the service did not answer".to_owned());
        }
    }

    /// Goes on to the next page, if what was found so far is not enough. Without a count nobody knows.
    pub(super) fn look_further(&mut self, counted: bool) -> Effects {
        let screen = self.list_height() as u64;
        let total = self.list.total().unwrap_or_default();
        let Some(look_back) = &mut self.look_back else {
            return Effects::new();
        };
        if self.service.is_extending() {
            return Effects::new();
        }
        let goal = *look_back.goal.get_or_insert(total + screen);
        if !counted || total >= goal || self.list.is_capped() {
            self.look_back = None;
            return Effects::new();
        }
        let asked = self.service.extend();
        if asked.is_none() {
            self.look_back = None;
            self.notice = Some("that is everything the service has".to_owned());
        }
        asked.into_iter().collect()
    }

    /// Stops; a page that was asked for still comes, one that was not will not be.
    pub(super) fn stop(&mut self) {
        self.notice = Some(match self.look_back.take() {
            Some(_) => "stopped looking back; b goes on".to_owned(),
            None if self.stop_check() => {
                let help = told(
                    &self.keys,
                    Focus::List,
                    [(Command::Refresh, "checks them again")],
                );
                format!("stopped checking statuses; {help}")
            }
            None if self.service.stop_filling() => {
                "older mail is no longer fetched by itself, until the next start".to_owned()
            }
            None => "nothing is going on that could be stopped".to_owned(),
        });
    }
}
