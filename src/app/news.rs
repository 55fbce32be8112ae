//! What the service brought: in words, and what it does to list, counts and reader.

use super::effect::Effects;
use super::model::Model;
use super::msg::News;
use crate::mail::EmailId;

impl News {
    /// What a refresh has brought.
    #[must_use]
    pub fn in_words(&self) -> String {
        let brought = match (self.new, self.changed.len()) {
            (0, 0) => "nothing new".to_owned(),
            (new, 0) => format!("{new} new"),
            (0, changed) => format!("{changed} changed"),
            (new, changed) => format!("{new} new, {changed} changed"),
        };
        self.unreadable().map_or_else(|| brought.clone(), |unreadable| format!("{brought}; {unreadable}"))
    }

    /// That emails could not be read, if there were any.
    #[must_use]
    pub fn unreadable(&self) -> Option<String> {
        match self.unreadable {
            0 => None,
            1 => Some("1 email of the service cannot be read: it has no id".to_owned()),
            count => Some(format!("{count} emails of the service cannot be read: they have no id")),
        }
    }
}

impl Model {
    /// Reports emails that cannot be read, when more of them turn up than before.
    pub(super) fn report_unreadable(&mut self, news: Option<&News>) {
        if let Some(news) = news
            && self.service.has_more_unreadable(news.unreadable)
        {
            self.notice = news.unreadable();
        }
    }

    /// What is older than everything known arrives below, where nobody misses it.
    pub(super) fn take_older(&mut self, news: &News) -> Effects {
        let mut effects = self.take_news(0, news.changed.clone());
        effects.extend(self.list.renew());
        effects.push(self.count());
        effects.extend(self.tally());
        effects
    }

    /// Takes what is new and what has changed: rows, counts, and the email that is read.
    pub(super) fn take_news(&mut self, new: u64, changed: Vec<EmailId>) -> Effects {
        let mut effects = Effects::new();
        let shows = !self.list.rows().is_empty() || !self.list.filter().is_none();
        if new == 0 && changed.is_empty() && shows {
            return effects;
        }
        let reread = self.reader.id().is_some_and(|id| changed.contains(id));
        let unseen = if self.list.rows().is_empty() || !self.list.filter().is_none() { 0 } else { new };
        self.list.take_news(unseen, changed);
        effects.extend(self.list.renew());
        effects.push(self.count());
        effects.extend(self.tally());
        if reread {
            effects.extend(self.reader.read_again());
        }
        effects
    }
}
