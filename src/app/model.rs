//! `Model`: everything the terminal program knows, and `update`, the only thing that changes it.

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, Zoned};
use ratatui::layout::Size;

use super::card::Card;
use super::effect::{Effect, Effects, Rest};
use super::filter::Filter;
use super::freshness::Freshness;
use super::hall::{Door, Hall, Kept};
use super::keymap::Keys;
use super::keys::{Focus, Key};
use super::layout::{Arrangement, Layout, Panes};
use super::list::List;
use super::look_back::LookBack;
use super::msg::{Msg, News};
use super::prompt::Prompt;
use super::reader::{Reader, Stage};
use super::service::Service;
use super::slot::Slot;
use super::status_check::StatusCheck;
use super::trail::Trail;
use super::warm::Warming;
use crate::api::{Budget, Urgency};
use crate::archive::Row;
use crate::config::{Backfill, SavedViews};
use crate::failure::Failure;
use crate::query::{Completion, Sort};

/// What the program is started with.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// The size of the screen.
    pub size: Size,
    /// The profile, in the person's words.
    pub profile: String,
    /// Why the service cannot be asked at all, for example because there is no key.
    pub no_service: Option<Failure>,
    /// How often the service is asked for what is new.
    pub refresh: Duration,
    /// How far back the archive is to reach by itself.
    pub backfill: Backfill,
    /// When the service answered last, as far as the archive knows.
    pub as_of: Option<Timestamp>,
    /// The time, in the person's zone.
    pub now: Zoned,
    /// A word to the person, until the first key.
    pub notice: Option<String>,
    /// What each key means.
    pub keys: Arc<Keys>,
    /// What the list is narrowed to at first; blank for all mail.
    pub query: String,
    /// Filters that were typed before, the latest last.
    pub history: Vec<String>,
    /// The saved views.
    pub views: SavedViews,
    /// Which door leads here.
    pub door: Door,
    /// Where the mail is kept.
    pub kept: Kept,
    /// What stands before the mail, if something does.
    pub hall: Option<Hall>,
}

/// The state of the terminal program.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The profile, in the person's words.
    pub profile: String,
    /// The list of emails.
    pub list: List,
    /// The email.
    pub reader: Reader,
    /// What is known about the service.
    pub service: Service,
    /// The line that is being typed, while there is one.
    pub prompt: Option<Prompt>,
    /// The card above the list, while it shows the mail to one address.
    pub card: Option<Card>,
    /// How far the program is with looking further back, while it does.
    pub look_back: Option<LookBack>,
    /// Scroll position of the help, while it is shown.
    pub help: Option<usize>,
    /// What failed, while somebody looks at the details of it.
    pub details: Option<Failure>,
    /// What each key means.
    pub keys: Arc<Keys>,
    /// Keys pressed of a sequence that is not complete.
    pub pressed: Vec<Key>,
    /// What stands before the mail or over it, while it does.
    pub hall: Option<Hall>,
    /// Which door leads here.
    pub door: Door,
    /// Where the mail is kept.
    pub kept: Kept,
    /// Set when the person goes where a door was opened.
    pub leaving: bool,
    /// A word to the person, until the next key.
    pub notice: Option<String>,
    /// Whether times are shown in full.
    pub full_times: bool,
    /// Whether the mouse is ours; otherwise the terminal can select text with it.
    pub mouse: bool,
    /// How often a fresh painting of the whole screen was asked for.
    pub redraws: u64,
    /// How often the program was asked to stop until the shell continues it.
    pub suspensions: u64,
    /// Set when the program is to end.
    pub ending: Option<Ending>,
    pub(super) size: Size,
    pub(super) panes: Panes,
    pub(super) reading: bool,
    pub(super) dragging: bool,
    pub(super) now: Zoned,
    /// What may be asked of the service, as it stood when something happened last.
    pub(super) budget: Option<Budget>,
    pub(super) second: Slot<()>,
    pub(super) warming: Warming,
    /// What is looked at, and how it is confirmed.
    pub(super) freshness: Freshness,
    /// Whether all that the filter may find was confirmed.
    pub(super) check: Option<StatusCheck>,
    /// What could stand at the cursor of the prompt.
    pub(super) offers: Slot<Vec<Completion>>,
    /// Filters that were typed and kept, the latest last.
    pub(super) history: Vec<String>,
    pub(super) remembered: Slot<()>,
    pub(super) trail: Trail,
    pub(super) views: SavedViews,
    /// The marked line of the list of views, while that is shown.
    pub(super) chooser: Option<usize>,
    pub(super) saving: Slot<()>,
    pub(super) counts: Slot<()>,
    /// Whether the person has done anything yet.
    pub(super) touched: bool,
    /// Whether the person waits to be told what a refresh brings.
    pub(super) curious: bool,
}

/// Why the program ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The person wants to leave.
    Quit,
    /// It cannot go on.
    Broken(Failure),
}

impl Model {
    /// The first state, and what it asks for: rows from the archive, news from the service.
    #[must_use]
    pub fn start(opening: Opening) -> (Self, Effects) {
        let Opening {
            size,
            profile,
            no_service,
            refresh,
            backfill,
            as_of,
            now,
            notice,
            keys,
            query,
            history,
            views,
            door,
            kept,
            hall,
        } = opening;
        let mut model = Self {
            profile,
            list: List::default(),
            reader: Reader::default(),
            service: Service::new(no_service, refresh, backfill, as_of),
            prompt: None,
            card: None,
            look_back: None,
            help: None,
            details: None,
            keys,
            pressed: Vec::new(),
            hall,
            door,
            kept,
            leaving: false,
            notice,
            full_times: false,
            mouse: true,
            redraws: 0,
            suspensions: 0,
            ending: None,
            size,
            panes: Panes::default(),
            reading: false,
            dragging: false,
            freshness: Freshness::new(now.timestamp()),
            check: None,
            now,
            budget: None,
            second: Slot::default(),
            warming: Warming::default(),
            offers: Slot::default(),
            history,
            remembered: Slot::default(),
            trail: Trail::default(),
            views,
            chooser: None,
            saving: Slot::default(),
            counts: Slot::default(),
            touched: false,
            curious: false,
        };
        let narrowed = model.list.narrow(Filter::read(&query, &model.now));
        let mut effects = vec![narrowed.unwrap_or_else(|| model.list.start())];
        effects.extend(model.service.refresh(Urgency::Person));
        effects.extend(model.fit());
        (model, effects)
    }

    /// What has the keyboard.
    #[must_use]
    pub const fn focus(&self) -> Focus {
        match (self.help, &self.prompt, self.reading) {
            _ if self.details.is_some() => Focus::Help,
            (Some(_), ..) => Focus::Help,
            _ if self.fills_in() => Focus::Prompt,
            _ if self.hall.is_some() => Focus::Choice,
            (None, Some(_), _) => Focus::Prompt,
            _ if self.chooser.is_some() => Focus::Choice,
            (None, None, true) => Focus::Reader,
            (None, None, false) => Focus::List,
        }
    }

    /// The size of the screen.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// The time, in the person's zone.
    #[must_use]
    pub const fn now(&self) -> &Zoned {
        &self.now
    }

    /// Where everything lies now.
    #[must_use]
    pub fn layout(&self) -> Layout {
        Layout::of(self.size, self.panes, self.reading, self.card.is_some())
    }

    /// How far the reader is with the selected email.
    #[must_use]
    pub fn stage(&self) -> Stage<'_> {
        self.list
            .selected()
            .map_or(Stage::Empty, |row| self.reader.stage(&row.summary.id))
    }

    /// Takes the time, from which words like `today` count.
    pub fn at(&mut self, now: Zoned) {
        self.now = now;
    }

    /// Takes what may be asked of the service at present.
    pub const fn allowed(&mut self, budget: Option<Budget>) {
        self.budget = budget;
    }

    /// Takes what happened; answers with what is to be done about it.
    pub fn update(&mut self, msg: Msg) -> Effects {
        let height = self.list_height();
        let mut effects = Effects::new();
        match msg {
            Msg::Pressed(key) => effects.extend(self.press(key)),
            Msg::Pasted(text) => effects.extend(self.paste(text.expose())),
            Msg::Pointed(pointer) => effects.extend(self.point(pointer)),
            #[cfg(test)]
            Msg::Command(command) => effects.extend(self.obey(command)),
            Msg::Resized(size) => {
                if Arrangement::of(size) != Arrangement::of(self.size) {
                    self.panes = Panes {
                        full: self.panes.full,
                        ..Panes::default()
                    };
                }
                self.size = size;
            }
            Msg::Window { ticket, outcome } => {
                let asked = self.list.settle(ticket, outcome, height);
                let uncounted = self.list.total().is_none() || self.list.position().is_none();
                effects.extend(asked);
                effects.extend(self.reread_if_outdated());
                if uncounted && !self.counts.is_awaiting() {
                    effects.push(self.count());
                }
            }
            Msg::Counted { ticket, outcome } => {
                if self.counts.settle(ticket, Ok(())) {
                    let found = outcome
                        .as_ref()
                        .ok()
                        .map(|counts| self.list.counted(*counts));
                    effects.extend(self.look_further(found.is_some()));
                }
            }
            Msg::Remembered { ticket, outcome } => {
                if let (true, Err(failure)) = (self.remembered.settle(ticket, Ok(())), outcome) {
                    self.notice = Some(failure.sentence);
                }
            }
            Msg::Tallied { ticket, outcome } => self.tallied(ticket, outcome),
            Msg::ViewKept { ticket, outcome } => self.view_kept(ticket, outcome),
            Msg::Completed { ticket, offers } => self.offered(ticket, offers),
            Msg::Read { ticket, outcome } => effects.extend(self.take_email(ticket, outcome)),
            Msg::Warmed { ticket } => self.warming.settle(ticket),
            Msg::Confirmed { ticket, outcome } => effects.extend(self.confirmed(ticket, outcome)),
            Msg::Rechecked { ticket, outcome } => effects.extend(self.rechecked(ticket, outcome)),
            Msg::StatusesChecked { ticket, outcome } => {
                effects.extend(self.checked_statuses(ticket, outcome));
            }
            Msg::Laid { ticket, outcome } => {
                self.reader
                    .settle_body(ticket, outcome, self.list.selected());
            }
            Msg::Sought { ticket, marks } => {
                self.reader
                    .settle_marks(ticket, marks, self.list.selected());
            }
            Msg::Refreshed { ticket, outcome } => {
                let catching_up = self.service.is_catching_up();
                let (news, rest) = self
                    .service
                    .refreshed(ticket, outcome, self.now.timestamp());
                effects.extend(rest);
                self.report_unreadable(news.as_ref());
                if std::mem::take(&mut self.curious) {
                    self.notice = news.as_ref().map(News::in_words);
                }
                if let Some(news) = news {
                    effects.extend(self.freshness.recheck());
                    effects.extend(self.take_news(news.new, news.changed));
                    if catching_up && !self.touched {
                        // Nobody has chosen a place yet: the newest email is the place to begin.
                        effects.push(self.list.start());
                    }
                }
            }
            Msg::Extended { ticket, outcome } => {
                let (news, rest) = self.service.extended(ticket, outcome, self.now.timestamp());
                effects.extend(rest);
                self.looked_back(news.as_ref());
                self.report_unreadable(news.as_ref());
                if let Some(news) = news {
                    effects.extend(self.take_older(&news));
                }
            }
            Msg::Filled { ticket, outcome } => {
                let news = self.service.filled(ticket, outcome, self.now.timestamp());
                self.report_unreadable(news.as_ref());
                if let Some(news) = news {
                    effects.extend(self.take_older(&news));
                }
            }
            Msg::Dropped { errand, ticket } => self.drop_errand(errand, ticket),
            Msg::ArchiveChanged { outcome } => effects.extend(self.archive_changed(outcome)),
            Msg::ServiceChanged => effects.extend(self.service.refresh(Urgency::Head)),
            Msg::ArchiveLost(failure) => self.archive_lost(failure),
            Msg::Doors { ticket, outcome } => self.learn_doors(ticket, outcome),
            Msg::Checked { ticket, outcome } => effects.extend(self.checked(ticket, outcome)),
            Msg::Entered { ticket, outcome } => self.entered(ticket, outcome),
            Msg::Rested { ticket, what } => match what {
                Rest::Selection => {
                    // What is shown first is not what anybody has asked for.
                    let urgency = if self.touched {
                        Urgency::Person
                    } else {
                        Urgency::Extend
                    };
                    effects.extend(self.reader.rested(ticket, urgency));
                }
                Rest::Refresh => effects.extend(self.service.refresh_rested(ticket)),
                Rest::Extend => self.service.extend_rested(ticket),
                Rest::Freshness => self.freshness_rested(ticket),
                Rest::Second => _ = self.second.settle(ticket, Ok(())),
            },
            Msg::Broken(failure) => self.ending = Some(Ending::Broken(failure)),
        }
        effects.extend(self.fit());
        effects
    }

    pub(super) fn count(&mut self) -> Effect {
        let ticket = self.counts.begin();
        self.list.count(ticket)
    }

    /// Makes everything fit together again after a change: sizes, the reader's email, what is to be
    /// fetched because the selection nears it.
    fn fit(&mut self) -> Effects {
        let mut effects = Effects::new();
        if self.prompt.is_none() && self.list.filter().is_of_another_day(&self.now) {
            // On another day `today` is another one.
            effects.extend(self.narrow(self.list.filter().clone()));
        }
        effects.extend(self.turn_card());
        let may_grow = self.may_find_older() || self.has_paused_check();
        self.list
            .set_bottomless(may_grow && self.list.filter().query().sort == Sort::Newest);
        let height = self.list_height();
        effects.extend(self.list.resized(height));
        let layout = self.layout();
        let row = self.list.selected();
        effects.extend(
            self.reader
                .resized(layout.reader.width, layout.reader.height, row),
        );
        let selected = row.map(|row: &Row| row.summary.id.clone());
        if layout.reader.area() > 0 {
            effects.extend(self.reader.turn_to(selected.as_ref(), false));
            if let (Some(id), Stage::Ready(..)) = (&selected, self.stage()) {
                self.list.looked_at(id);
            }
        }
        effects.extend(self.reader.seek(self.list.filter().query()));
        if self.list.nears_the_end(height)
            && !self.list.rows().is_empty()
            && self.list.filter().is_none()
        {
            effects.extend(self.service.extend());
        }
        effects.extend(self.turn_check());
        effects.extend(self.confirm_visible());
        effects.extend(self.in_the_background());
        effects
    }

    /// Emails that fit into the list, or would if it were shown.
    #[must_use]
    pub fn list_height(&self) -> usize {
        let rows = self.layout().rows();
        if rows > 0 {
            return rows;
        }
        Layout::of(
            self.size,
            Panes {
                full: false,
                ..self.panes
            },
            false,
            self.card.is_some(),
        )
        .rows()
        .max(1)
    }
}
