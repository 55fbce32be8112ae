//! What is known about the service, and when it is asked again.

use std::time::Duration;

use jiff::Timestamp;

use super::effect::{Effect, Rest};
use super::fill::Fill;
use super::msg::News;
use super::slot::{Slot, Ticket};
use crate::api::Urgency;
use crate::archive::Reach;
use crate::config::Backfill;
use crate::failure::{Failure, Kind};

/// The pause before the first new attempt after a failure; it doubles up to [`LONGEST`].
const SHORTEST: Duration = Duration::from_secs(5);
/// The longest pause between attempts, unless the service asks for a longer one.
const LONGEST: Duration = Duration::from_mins(2);
/// The same while there is no way to it: trying costs it nothing, and its return is to be noticed soon.
const LONGEST_OFFLINE: Duration = Duration::from_secs(20);

/// How it stands with the service.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    out_of_reach: Option<Failure>,
    is_refused: bool,
    trouble: Option<Failure>,
    /// When the trouble began.
    since: Option<Timestamp>,
    /// When it answered last, to this process or another one.
    as_of: Option<Timestamp>,
    answered: bool,
    every: Duration,
    failures: u32,
    refresh: Slot<()>,
    /// Whether nobody waits for the refresh.
    unasked: bool,
    refresh_rest: Slot<()>,
    extend: Slot<()>,
    extend_rest: Slot<()>,
    fill: Fill,
    reach: Option<Reach>,
    /// The last refresh did not get to the end of what is new.
    catching_up: bool,
    /// The service had nothing older to give, although it did not say that this was all.
    exhausted: bool,
    /// The most emails without an id that one answer had.
    unreadable: u64,
}

impl Service {
    /// A service that has not been asked yet, or cannot be.
    #[must_use]
    pub fn new(
        no_service: Option<Failure>,
        every: Duration,
        backfill: Backfill,
        as_of: Option<Timestamp>,
    ) -> Self {
        Self {
            out_of_reach: no_service,
            is_refused: false,
            trouble: None,
            since: None,
            as_of,
            answered: false,
            every,
            failures: 0,
            refresh: Slot::default(),
            unasked: false,
            refresh_rest: Slot::default(),
            extend: Slot::default(),
            extend_rest: Slot::default(),
            fill: Fill::new(backfill),
            reach: None,
            catching_up: false,
            exhausted: false,
            unreadable: 0,
        }
    }

    /// Why the service cannot be asked at all.
    #[must_use]
    pub const fn no_service(&self) -> Option<&Failure> {
        self.out_of_reach.as_ref()
    }

    /// What went wrong when it was asked last.
    #[must_use]
    pub const fn trouble(&self) -> Option<&Failure> {
        self.trouble.as_ref()
    }

    /// When that began.
    #[must_use]
    pub const fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// When it answered last, as far as is known.
    #[must_use]
    pub const fn as_of(&self) -> Option<Timestamp> {
        self.as_of
    }

    /// Whether it has ever answered.
    #[must_use]
    pub const fn has_answered(&self) -> bool {
        self.answered
    }

    /// Whether what is new is not all there yet: at the first start, or after a long absence.
    #[must_use]
    pub const fn is_catching_up(&self) -> bool {
        !self.answered || self.catching_up
    }

    /// Whether older emails are on their way.
    #[must_use]
    pub const fn is_extending(&self) -> bool {
        self.extend.is_awaiting()
    }

    /// Whether older emails are fetched because the profile wants them.
    #[must_use]
    pub const fn is_filling(&self) -> bool {
        self.fill.is_going_on()
    }

    /// Whether it is being asked for what is new.
    #[must_use]
    pub const fn is_refreshing(&self) -> bool {
        self.refresh.is_awaiting()
    }

    /// How far back the archive is complete, once that is known.
    #[must_use]
    pub const fn reach(&self) -> Option<&Reach> {
        self.reach.as_ref()
    }

    /// Whether the service is known to have emails older than those in the archive, and can be asked.
    #[must_use]
    pub fn has_older(&self) -> bool {
        self.out_of_reach.is_none()
            && self
                .reach
                .as_ref()
                .is_some_and(|reach| *reach != Reach::Everything)
    }

    /// Whether statuses can be confirmed: it has answered, and not failed since.
    #[must_use]
    pub const fn can_confirm(&self) -> bool {
        self.out_of_reach.is_none()
            && self.trouble.is_none()
            && self.answered
            && !self.refresh.is_awaiting()
    }

    /// Another request has failed: the next refresh finds out whether it is away.
    pub fn note_failure(&mut self, failure: Failure, now: Timestamp) {
        self.failures += 1;
        self.since.get_or_insert(now);
        self.trouble = Some(failure);
    }

    /// Whether there are more emails that cannot be read than in any answer before.
    pub const fn has_more_unreadable(&mut self, count: u64) -> bool {
        let has_more = count > self.unreadable;
        if has_more {
            self.unreadable = count;
        }
        has_more
    }

    /// Asks for what is new, unless that is being done already as urgently.
    pub fn refresh(&mut self, urgency: Urgency) -> Option<Effect> {
        let unasked = urgency.is_background();
        if self.out_of_reach.is_some() || (self.refresh.is_awaiting() && (unasked || !self.unasked))
        {
            return None;
        }
        self.refresh_rest.clear();
        self.unasked = unasked;
        Some(Effect::Refresh {
            ticket: self.refresh.begin(),
            urgency,
        })
    }

    /// Asks because a person wants it, even if the service has refused the key: it may have been
    /// allowed again, or something in front of the service has thought better of it.
    pub fn refresh_by_hand(&mut self) -> Option<Effect> {
        if self.is_refused {
            (self.out_of_reach, self.is_refused) = (None, false);
        }
        self.refresh(Urgency::Person)
    }

    /// Takes how far back the archive is complete, and when the newest page was requested last, from an
    /// answer to another request or to another process.
    pub fn learn(&mut self, reach: Reach, head_at: Option<Timestamp>) {
        self.reach = Some(reach);
        self.as_of = self.as_of.max(head_at);
    }

    /// Sends no request any more.
    pub fn stop(&mut self, why: Failure) {
        (self.out_of_reach, self.is_refused) = (Some(why), false);
        self.refresh.clear();
        self.refresh_rest.clear();
        self.extend.clear();
        self.extend_rest.clear();
        self.fill.stop();
    }

    /// Whether the service has refused the key, so that it is asked again by hand alone.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// The pause between two refreshes is over.
    pub fn refresh_rested(&mut self, ticket: Ticket) -> Option<Effect> {
        if self.refresh_rest.settle(ticket, Ok(())) {
            self.refresh(Urgency::Head)
        } else {
            None
        }
    }

    /// It has answered something else: if it was out of reach, what is new can be had again.
    pub fn is_back(&mut self) -> Option<Effect> {
        self.trouble.as_ref()?;
        self.refresh(Urgency::Head)
    }

    /// Takes what is new, and rests until the next time.
    pub fn refreshed(
        &mut self,
        ticket: Ticket,
        outcome: Result<News, Failure>,
        now: Timestamp,
    ) -> (Option<News>, Option<Effect>) {
        if !self.refresh.settle(ticket, Ok(())) {
            return (None, None);
        }
        let news = self.take(outcome, now);
        if news.is_some() {
            self.exhausted = false;
            self.fill.may_go_on();
        }
        if self.out_of_reach.is_some() {
            return (news, None);
        }
        self.catching_up = news.as_ref().is_some_and(|news| news.unfinished);
        let at_once = news
            .as_ref()
            .is_some_and(|news| news.unfinished && news.new > 0);
        let pause = if at_once {
            Duration::ZERO
        } else {
            self.pause()
        };
        let rest = Effect::Rest {
            ticket: self.refresh_rest.begin(),
            what: Rest::Refresh,
            pause,
        };
        (news, Some(rest))
    }

    /// Whether this attempt is still waited for.
    #[must_use]
    pub const fn refreshes(&self, ticket: Ticket) -> bool {
        self.refresh.awaits(ticket)
    }

    /// Asks for older emails, unless there are none, or that is being done or rested from.
    pub fn extend(&mut self) -> Option<Effect> {
        let idle = !self.extend.is_awaiting() && !self.extend_rest.is_awaiting();
        if !idle || !self.may_have_older() {
            return None;
        }
        Some(Effect::Extend {
            ticket: self.extend.begin(),
        })
    }

    fn may_have_older(&self) -> bool {
        self.out_of_reach.is_none()
            && self.answered
            && !self.exhausted
            && self.reach != Some(Reach::Everything)
    }

    /// Takes older emails; after a failure it rests before the next attempt.
    pub fn extended(
        &mut self,
        ticket: Ticket,
        outcome: Result<News, Failure>,
        now: Timestamp,
    ) -> (Option<News>, Option<Effect>) {
        if !self.extend.settle(ticket, Ok(())) {
            return (None, None);
        }
        let before = self.reach.clone();
        let Some(news) = self.take(outcome, now) else {
            let pause = self.pause();
            return (
                None,
                Some(Effect::Rest {
                    ticket: self.extend_rest.begin(),
                    what: Rest::Extend,
                    pause,
                }),
            );
        };
        self.exhausted = news.new == 0 && self.reach == before;
        (Some(news), None)
    }

    /// The pause after a failed attempt to extend is over.
    pub fn extend_rested(&mut self, ticket: Ticket) {
        self.extend_rest.settle(ticket, Ok(()));
    }

    /// Whether this attempt to extend is still waited for.
    #[must_use]
    pub const fn extends(&self, ticket: Ticket) -> bool {
        self.extend.awaits(ticket)
    }

    /// The attempt was dropped before anything was asked.
    pub fn extend_dropped(&mut self, ticket: Ticket) {
        if self.extend.awaits(ticket) {
            self.extend.clear();
        }
    }

    /// Asks for older emails because the profile wants them, if nobody asks for them anyway.
    pub fn fill(&mut self, now: Timestamp) -> Option<Effect> {
        let quiet = self.trouble.is_none() && !self.catching_up && !self.extend.is_awaiting();
        if !self.may_have_older() {
            self.fill.rest();
            return None;
        }
        if quiet {
            self.fill.next(self.reach.as_ref(), now)
        } else {
            None
        }
    }

    /// Takes what came of that.
    pub fn filled(
        &mut self,
        ticket: Ticket,
        outcome: Result<Option<News>, Failure>,
        now: Timestamp,
    ) -> Option<News> {
        if !self.fill.settle(ticket) {
            return None;
        }
        let before = self.reach.clone();
        let news = match outcome {
            Ok(Some(news)) => self.take(Ok(news), now),
            Ok(None) => None,
            Err(failure) => self.take(Err(failure), now),
        };
        match &news {
            Some(news) => self.exhausted = news.new == 0 && self.reach == before,
            None => self.fill.rest(),
        }
        news
    }

    /// Whether this attempt to fill is still wanted: not while a person looks further back.
    #[must_use]
    pub const fn fills(&self, ticket: Ticket) -> bool {
        self.fill.awaits(ticket) && !self.extend.is_awaiting()
    }

    /// That attempt was dropped before anything was asked.
    pub fn fill_dropped(&mut self, ticket: Ticket) {
        self.fill.settle(ticket);
    }

    /// Fills no more; says whether it did.
    pub fn stop_filling(&mut self) -> bool {
        self.fill.stop()
    }

    fn take(&mut self, outcome: Result<News, Failure>, now: Timestamp) -> Option<News> {
        match outcome {
            Ok(news) => {
                (self.trouble, self.since, self.as_of) =
                    (None, None, Some(news.head_at.unwrap_or(now)));
                self.failures = 0;
                self.answered = true;
                self.reach = Some(news.reach.clone());
                Some(news)
            }
            Err(failure) => {
                self.failures += 1;
                if matches!(
                    failure.kind,
                    Kind::KeyMissing | Kind::KeyRejected | Kind::KeySendOnly
                ) {
                    (self.out_of_reach, self.is_refused) = (Some(failure), true);
                } else {
                    self.trouble = Some(failure);
                    self.since.get_or_insert(now);
                }
                None
            }
        }
    }

    fn pause(&self) -> Duration {
        let Some(trouble) = &self.trouble else {
            return self.every;
        };
        let longest = if trouble.is_offline() {
            LONGEST_OFFLINE
        } else {
            LONGEST
        };
        let own = SHORTEST
            .saturating_mul(1 << self.failures.saturating_sub(1).min(8))
            .min(longest);
        trouble.rest().max(own)
    }
}
