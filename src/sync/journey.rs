//! One walk with the archive under its feet: turns what the plan asks for into cursors, and answers
//! into rows. It blocks, so the engine sends it to a blocking thread between requests.

use std::collections::HashSet;

use tracing::debug;

use super::exchange::{Answer, Arrived, Ask, Finding, Goal, Next};
use super::plan::Walk;
use super::synced::{NAMED, Stopped, Synced};
use crate::api::{Cursor, Item, Page};
use crate::archive::{Archive, Carried, Ground, Joins, RequestTime, Stretch};
use crate::failure::{Failure, Kind};
use crate::mail::{EmailId, Stamp};

/// A walk under way.
pub(super) struct Journey {
    archive: Archive,
    walk: Walk,
    ground: Ground,
    ask: Ask,
    cursor: Option<EmailId>,
    brought: Brought,
    /// When the last request was sent; `None` before the first.
    asked: Option<RequestTime>,
}

/// What a walk has brought so far.
#[derive(Debug, Default)]
pub(super) struct Brought {
    new: u64,
    changes: u64,
    changed: Vec<EmailId>,
    pub(super) pages: u64,
    pub(super) unreadable: u64,
}

/// What to do next.
pub(super) enum Step {
    /// Request the page at this cursor.
    Request(Cursor),
    /// Nothing more.
    Over(Stopped),
}

impl Journey {
    /// Sets out for `goal`.
    pub(super) fn begin(archive: Archive, goal: Goal) -> Result<(Self, Step), Failure> {
        let ground = archive.ground()?;
        let walk = Walk::new(goal, &ground);
        let mut journey = Self {
            archive,
            walk,
            ground,
            ask: Ask::Start,
            cursor: None,
            brought: Brought::default(),
            asked: None,
        };
        let step = journey.step()?;
        Ok((journey, step))
    }

    /// Takes the answer to the last request in, and says what to do next. The request was made at
    /// `asked`.
    pub(super) fn arrive(
        mut self,
        answer: Result<Page, Failure>,
        asked: RequestTime,
    ) -> Result<(Self, Step), Failure> {
        self.asked = Some(asked);
        let answer = match answer {
            Ok(page) => self.carry(page, asked)?,
            Err(failure) if self.ask != Ask::Start && is_about_the_cursor(&failure) => Answer::Gone,
            Err(failure) if self.brought.pages > 0 => {
                return Ok((self, Step::Over(Stopped::Failed(failure))));
            }
            Err(failure) => return Err(failure),
        };
        self.learn(&answer)?;
        let step = self.step()?;
        Ok((self, step))
    }

    /// What the walk has brought, for the person who waits for it.
    pub(super) fn synced(&self, stopped: Stopped) -> Result<Synced, Failure> {
        self.brought.synced(&self.archive, stopped)
    }

    fn step(&mut self) -> Result<Step, Failure> {
        loop {
            match self.walk.next(&self.ground) {
                Next::Over(stopped) => return Ok(Step::Over(stopped)),
                Next::Ask(ask) => self.ask = ask,
            }
            if self.ask == Ask::Start {
                return Ok(Step::Request(Cursor::Start));
            }
            if let Ask::Past { after, .. } = &self.ask {
                let after = after.clone();
                if self.walk.mark(&after) {
                    return Ok(Step::Request(Cursor::After(after)));
                }
                self.learn(&Answer::Again)?;
                continue;
            }
            self.cursor = self.cursor()?;
            match &self.cursor {
                Some(id) if self.walk.mark(id) => {
                    return Ok(Step::Request(Cursor::After(id.clone())));
                }
                Some(_) => self.learn(&Answer::Again)?,
                None => self.learn(&Answer::Nowhere)?,
            }
        }
    }

    fn cursor(&self) -> Result<Option<EmailId>, Failure> {
        match &self.ask {
            Ask::Start | Ask::Past { .. } => Ok(None),
            Ask::After(id) => Ok(Some(id.clone())),
            Ask::Below { span, rows, .. } => self.archive.above_bottom(span, *rows),
            Ask::Above { span, rows } => self.archive.below_top(span, *rows),
        }
    }

    fn carry(&mut self, page: Page, asked: RequestTime) -> Result<Answer, Failure> {
        let Page {
            mut items,
            unreadable,
            has_more,
        } = page;
        let length = items
            .iter()
            .map(|item| item.id.as_str())
            .collect::<HashSet<_>>()
            .len();
        let last = items.last().map(|item| EmailId::new(&item.id));
        let oldest = times(&items).min();
        let rising = if self.ask == Ask::Start {
            rises(&items).unwrap_or(self.ground.rising)
        } else {
            self.ground.rising
        };
        if rising {
            items.reverse();
        }
        let carried = if length > 0
            || (self.ask == Ask::Start && has_more != Some(true) && unreadable == 0)
        {
            // A page is claimed whole or not at all.
            let joins = if unreadable > 0 {
                Joins::Nothing
            } else {
                self.joins(rising)
            };
            self.archive.carry(&Stretch {
                items,
                joins,
                rising,
                asked,
            })?
        } else {
            Carried::default()
        };
        self.brought.add(&carried, unreadable);
        debug!(
            length,
            unreadable,
            has_more,
            new = carried.new.len(),
            changed = carried.changed.len(),
            "carried a page"
        );
        Ok(Answer::Page(Arrived {
            length,
            has_more,
            unreadable,
            last,
            oldest,
            carried,
        }))
    }

    fn joins(&self, rising: bool) -> Joins {
        let ask = match &self.ask {
            Ask::Past { ask, .. } => ask,
            ask => ask,
        };
        match (ask, &self.cursor) {
            (Ask::Start, _) if rising => Joins::Bottom,
            (Ask::Start, _) => Joins::Top,
            (Ask::Below { cut, .. }, Some(cursor)) => Joins::Below {
                cursor: cursor.clone(),
                cut: *cut,
            },
            (Ask::Above { .. }, Some(cursor)) => Joins::Above(cursor.clone()),
            (Ask::Below { .. } | Ask::Above { .. } | Ask::After(_) | Ask::Past { .. }, _) => {
                Joins::Nothing
            }
        }
    }

    fn learn(&mut self, answer: &Answer) -> Result<(), Failure> {
        self.ground = self.archive.ground()?;
        match (self.walk.learn(&self.ask, answer, &self.ground), self.asked) {
            (Finding::None, _) | (_, None) => return Ok(()),
            (Finding::End(span), Some(asked)) => {
                self.archive
                    .conclude_end(span.bottom, self.last_listed(answer), asked)?;
            }
            (Finding::Top(span), Some(asked)) => self.archive.conclude_top(span.top, asked)?,
        }
        self.ground = self.archive.ground()?;
        Ok(())
    }
}

impl Journey {
    /// The oldest email that the service lists, after an answer that says that there is no more.
    fn last_listed<'a>(&'a self, answer: &'a Answer) -> Option<&'a EmailId> {
        match answer {
            Answer::Page(page) if page.length > 0 => page.last.as_ref(),
            Answer::Page(_) if self.walk.is_strict() => self.cursor.as_ref(),
            Answer::Page(_) | Answer::Gone | Answer::Nowhere | Answer::Again => None,
        }
    }
}

impl Brought {
    /// Adds what a page has brought, and how many of its emails could not be read.
    pub(super) fn add(&mut self, carried: &Carried, unreadable: usize) {
        self.pages += 1;
        self.unreadable += unreadable as u64;
        self.new += carried.new.len() as u64;
        self.changes += carried.changed.len() as u64;
        let room = NAMED - self.changed.len();
        self.changed
            .extend(carried.changed.iter().take(room).cloned());
    }

    /// Adds what another run has brought.
    pub(super) fn add_synced(&mut self, synced: &Synced) {
        self.pages += synced.pages;
        self.follow(synced.new, synced.changed.clone());
    }

    /// Adds what another process has brought.
    pub(super) fn follow(&mut self, new: u64, changed: Vec<EmailId>) {
        self.new += new;
        self.changes += changed.len() as u64;
        self.changed.extend(changed);
        self.changed.truncate(NAMED);
    }

    pub(super) fn synced(&self, archive: &Archive, stopped: Stopped) -> Result<Synced, Failure> {
        let Self {
            new,
            changes,
            changed,
            pages,
            unreadable,
        } = self;
        let (reach, head_at) = (archive.reach()?, archive.head_at()?);
        Ok(Synced {
            new: *new,
            changes: *changes,
            changed: changed.clone(),
            pages: *pages,
            unreadable: *unreadable,
            reach,
            head_at,
            stopped,
        })
    }
}

/// Whether the service refuses the cursor: it is gone, or no id of a kind that it knows.
pub(super) const fn is_about_the_cursor(failure: &Failure) -> bool {
    matches!(failure.kind, Kind::NotFound | Kind::InvalidRequest)
}

/// Whether a first page lists the oldest first; `None` if its times do not tell.
///
/// Only times that rise all along say so. Anything else is taken for the documented order, newest
/// first, in which single times may contradict their neighbours.
fn rises(items: &[Item]) -> Option<bool> {
    let times: Vec<i64> = times(items).collect();
    let differ = times.iter().any(|time| *time != times[0]);
    differ.then(|| times.is_sorted())
}

/// When the emails of a page were created, in microseconds since 1970.
fn times(items: &[Item]) -> impl Iterator<Item = i64> {
    items
        .iter()
        .filter_map(|item| Stamp::parse(item.created_at.as_deref()?).micros())
}
