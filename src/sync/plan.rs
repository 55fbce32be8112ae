//! Decides what to ask next from what is known and what came back: pure, so that any service can be
//! played to it.
//!
//! Three things keep a walk honest. It ends: no cursor is asked twice in one walk, and a page that
//! adds nothing ends it. It claims little: the archive refuses to claim anything from a page that
//! contradicts its cursor. And it believes in the end of the listing only when a page says so that is
//! shorter than others were, since some services never say that they have more. Where a service does not
//! say whether there is more, the walk goes on until a page brings nothing new.

use std::collections::HashSet;

use super::exchange::{Answer, Arrived, Ask, Finding, Goal, Next};
use super::foothold::Foothold;
use super::synced::{Back, Stopped};
use crate::api::MAX_LIMIT;
use crate::archive::{Ground, Span};
use crate::mail::EmailId;

/// The most pages that looking for new mail takes, so that what came is soon on the screen; what is
/// left is a gap, closed by later walks.
const HEAD_PAGES: u32 = 3;

/// The most pages of one step back that claim nothing, where a service makes a muddle of its cursors.
const EXTEND_PAGES: u32 = 5;

/// One walk through the listing.
#[derive(Debug)]
pub struct Walk {
    goal: Goal,
    pages: u32,
    started: bool,
    /// Whether to begin at the first page although the span could be continued.
    from_start: bool,
    /// Where the span can be continued downwards.
    foothold: Foothold,
    /// How many rows below the top of the span to continue it upwards.
    overlap: u32,
    /// Whether an end that was believed before has been looked at again.
    confirmed: bool,
    /// Whether a foothold is being looked for.
    searching: bool,
    /// Whether a cursor was answered by an empty page: there is nothing below it, or the service does
    /// not know it.
    empty: bool,
    /// Whether the service refuses unknown cursors, so that its empty pages can be believed.
    strict: bool,
    /// Whether an email on the pages so far could not be read.
    flawed: bool,
    /// Whether the latest page did not say if there is more.
    silent: bool,
    stray: Option<EmailId>,
    /// What goes on behind a page of which nothing was taken in.
    past: Option<Ask>,
    asked: HashSet<EmailId>,
    over: Option<Stopped>,
    /// How many spans there were at first below the one that is growing.
    gaps: Option<usize>,
}

impl Walk {
    /// A walk for `goal` that begins on this ground.
    #[must_use]
    pub fn new(goal: Goal, ground: &Ground) -> Self {
        // The newest hundred come along, so that their statuses are read again.
        let overlap = if goal == Goal::Head && ground.rising {
            u32::from(MAX_LIMIT) - 1
        } else {
            0
        };
        Self {
            goal,
            pages: 0,
            started: false,
            from_start: false,
            foothold: Foothold::default(),
            confirmed: false,
            overlap,
            searching: false,
            empty: false,
            strict: false,
            flawed: false,
            silent: false,
            stray: None,
            past: None,
            asked: HashSet::new(),
            over: None,
            gaps: None,
        }
    }

    /// What to do next.
    pub fn next(&mut self, ground: &Ground) -> Next {
        if let Some(stopped) = &self.over {
            return Next::Over(stopped.clone());
        }
        if self.pages >= self.budget() {
            return Next::Over(Stopped::Budget);
        }
        if let Some(past) = &self.past {
            return Next::Ask(past.clone());
        }
        if let Some(id) = &self.stray {
            return Next::Ask(Ask::After(id.clone()));
        }
        let Some(span) = newest(ground) else {
            return if self.started {
                Next::Over(Stopped::Done)
            } else {
                Next::Ask(Ask::Start)
            };
        };
        if ground.rising {
            self.next_rising(span)
        } else {
            self.next_falling(span, ground)
        }
    }

    fn next_falling(&mut self, span: Span, ground: &Ground) -> Next {
        if matches!(self.goal, Goal::Back(_)) && span.reaches_end && !self.confirmed {
            // From one row further up the end shows itself again.
            (self.foothold, self.confirmed) = (Foothold::at(1), true);
        }
        let below = self
            .foothold
            .next()
            .map_or(Next::Over(Stopped::CursorGone), |(rows, cut)| {
                Next::Ask(Ask::Below { span, rows, cut })
            });
        match self.goal {
            Goal::Head | Goal::Back(_) if !self.started => Next::Ask(Ask::Start),
            Goal::Head => {
                let gaps = ground
                    .spans
                    .iter()
                    .filter(|other| other.top < span.bottom)
                    .count();
                let before = *self.gaps.get_or_insert(gaps);
                if gaps == 0 || gaps < before || span.reaches_end {
                    Next::Over(Stopped::Done)
                } else {
                    below
                }
            }
            Goal::Extend if span.reaches_end => Next::Over(Stopped::End),
            Goal::Back(Back::Until(time)) if span.bottom.micros() < time.as_microsecond() => {
                Next::Over(Stopped::Done)
            }
            Goal::Extend | Goal::Back(_) => below,
        }
    }

    fn next_rising(&self, span: Span) -> Next {
        match self.goal {
            _ if self.from_start && !self.started => Next::Ask(Ask::Start),
            Goal::Extend if span.reaches_top && span.reaches_end => Next::Over(Stopped::End),
            Goal::Head | Goal::Extend | Goal::Back(_) => Next::Ask(Ask::Above {
                span,
                rows: self.overlap,
            }),
        }
    }

    /// Notes that `id` is asked for as a cursor; false if it was before, so that the walk would turn
    /// in a circle.
    pub fn mark(&mut self, id: &EmailId) -> bool {
        self.asked.insert(id.clone())
    }

    /// Learns from the answer to `ask`; `ground` is what is known since.
    pub fn learn(&mut self, ask: &Ask, answer: &Answer, ground: &Ground) -> Finding {
        let past = self.past.take();
        let ask = match ask {
            Ask::Past { ask, .. } => ask,
            ask => ask,
        };
        match answer {
            Answer::Page(page) if page.is_out() || (past.is_some() && page.is_nothing()) => {
                self.learn_out(ask, page, ground)
            }
            Answer::Gone if past.is_some() => self.stop(Stopped::CursorGone),
            Answer::Again if past.is_some() => self.stop(Stopped::NoProgress),
            Answer::Page(page) => {
                self.pages += u32::from(page.length > 0);
                self.flawed |= page.unreadable > 0;
                self.silent = page.has_more.is_none();
                match ask {
                    Ask::Start => self.learn_start(page, ground),
                    Ask::Below { span, rows, cut } => {
                        self.learn_below(span, *rows, *cut, page, ground)
                    }
                    Ask::Above { span, .. } => self.learn_above(span, page, ground),
                    Ask::After(_) | Ask::Past { .. } => self.stray_on(page),
                }
            }
            Answer::Gone => self.learn_gone(ask),
            Answer::Nowhere => self.learn_nowhere(ask),
            Answer::Again => match ask {
                // The walk has been there, so the service knows that row.
                Ask::Below { span, rows, .. } if *rows > 0 => {
                    self.foothold.is_beyond(*rows);
                    self.searched(span)
                }
                Ask::Below { span, .. } if self.empty => self.found(Finding::End(*span)),
                Ask::Start
                | Ask::Below { .. }
                | Ask::Above { .. }
                | Ask::After(_)
                | Ask::Past { .. } => self.stop(Stopped::NoProgress),
            },
        }
    }

    /// A page of which nothing was taken in, because all of it was removed before or is too old to be
    /// kept. What is older than that is too old as well; else the walk goes on behind the page.
    fn learn_out(&mut self, ask: &Ask, page: &Arrived, ground: &Ground) -> Finding {
        self.pages += 1;
        if page.carried.too_old > 0 {
            return self.stop(Stopped::Done);
        }
        if !page.is_nothing() && !page.is_last(ground) {
            self.past = page.last.clone().map(|after| Ask::Past {
                ask: Box::new(ask.clone()),
                after,
            });
            return if self.past.is_some() {
                Finding::None
            } else {
                self.stop(Stopped::NoProgress)
            };
        }
        match ask {
            Ask::Below { span, .. } => self.found(Finding::End(page.carried.span.unwrap_or(*span))),
            Ask::Above { span, .. } => self.found(Finding::Top(page.carried.span.unwrap_or(*span))),
            Ask::Start | Ask::After(_) | Ask::Past { .. } => self.stop(Stopped::End),
        }
    }

    /// Whether the service refuses cursors that it does not know, so that an empty page is the end.
    #[must_use]
    pub const fn is_strict(&self) -> bool {
        self.strict
    }

    fn learn_start(&mut self, page: &Arrived, ground: &Ground) -> Finding {
        self.started = true;
        if page.is_nothing() {
            return self.stop(Stopped::End);
        }
        match page.carried.span {
            None if page.unreadable > 0 => self.stray_on(page),
            None => self.stop(Stopped::NoProgress),
            Some(span) if ground.rising => {
                self.overlap = 0;
                if page.is_last(ground) {
                    self.found(Finding::Top(span))
                } else {
                    Finding::None
                }
            }
            Some(span) if page.is_last(ground) && page.carried.is_lowest => {
                self.found(Finding::End(span))
            }
            Some(_) => Finding::None,
        }
    }

    fn learn_below(
        &mut self,
        span: &Span,
        rows: u32,
        cut: bool,
        page: &Arrived,
        ground: &Ground,
    ) -> Finding {
        if page.is_nothing() {
            return self.learn_nothing(span, rows);
        }
        let Some(grown) = page.carried.span else {
            return self.stray_on(page);
        };
        let is_last = page.is_last(ground);
        if self.searching && rows > 0 && !cut {
            // A row that the service knows, but far above those that it does not.
            self.foothold.is_beyond(rows);
            return if is_last {
                self.found(Finding::End(grown))
            } else {
                self.searched(span)
            };
        }
        if (is_last || page.is_known_end(rows, ground)) && page.carried.is_lowest {
            return self.found(Finding::End(grown));
        }
        if !page.carried.grew && rows == 0 {
            return self.stop(Stopped::NoProgress);
        }
        (self.foothold, self.searching, self.empty) = (Foothold::default(), false, false);
        if page.carried.grew && self.goal == Goal::Extend {
            self.stop(Stopped::Done)
        } else {
            Finding::None
        }
    }

    /// The end, or the answer of a service to a cursor that it does not know: a row further up tells
    /// which, unless the service is known to refuse such cursors.
    fn learn_nothing(&mut self, span: &Span, rows: u32) -> Finding {
        if self.strict {
            return self.found(Finding::End(*span));
        }
        self.empty = true;
        self.foothold.is_gone(rows);
        self.searched(span)
    }

    /// Goes on with the search for a row that the service knows. If there is none, and no cursor was
    /// refused, then there is nothing below.
    fn searched(&mut self, span: &Span) -> Finding {
        self.searching = true;
        if self.foothold.next().is_some() {
            return Finding::None;
        }
        if self.empty {
            self.found(Finding::End(*span))
        } else {
            self.stop(Stopped::CursorGone)
        }
    }

    fn learn_above(&mut self, span: &Span, page: &Arrived, ground: &Ground) -> Finding {
        if page.is_nothing() {
            return self.found(Finding::Top(*span));
        }
        match page.carried.span {
            Some(grown) if page.is_last(ground) => self.found(Finding::Top(grown)),
            Some(_) if page.carried.grew || self.overlap > 0 => {
                self.overlap = 0;
                Finding::None
            }
            None if !self.started => self.restart(),
            Some(_) | None => self.stop(Stopped::NoProgress),
        }
    }

    /// Goes on behind a page that claims nothing, as long as there is new mail in such pages; or, where the
    /// page cannot be claimed because of an email on it, as far as the walk was to go.
    fn stray_on(&mut self, page: &Arrived) -> Finding {
        let is_far = match self.goal {
            Goal::Back(Back::Until(time)) => page
                .oldest
                .is_some_and(|oldest| oldest < time.as_microsecond()),
            Goal::Head | Goal::Extend | Goal::Back(Back::All) => false,
        };
        let is_worthwhile =
            !page.carried.new.is_empty() || (self.flawed && self.goal != Goal::Head);
        self.stray = page.last.clone().filter(|_| is_worthwhile && !is_far);
        if self.stray.is_some() {
            Finding::None
        } else {
            self.stop(Stopped::NoProgress)
        }
    }

    fn learn_gone(&mut self, ask: &Ask) -> Finding {
        match ask {
            Ask::Below { span, rows, .. } => {
                self.strict = true;
                self.foothold.is_gone(*rows);
                self.searched(span)
            }
            Ask::Above { .. } if !self.started => self.restart(),
            Ask::Start | Ask::Above { .. } | Ask::After(_) | Ask::Past { .. } => {
                self.stop(Stopped::CursorGone)
            }
        }
    }

    fn learn_nowhere(&mut self, ask: &Ask) -> Finding {
        match ask {
            Ask::Below { span, rows, .. } => {
                self.foothold.is_beyond(*rows);
                self.searched(span)
            }
            Ask::Above { .. } if !self.started => self.restart(),
            Ask::Start | Ask::Above { .. } | Ask::After(_) | Ask::Past { .. } => {
                self.stop(Stopped::NoProgress)
            }
        }
    }

    fn found(&mut self, finding: Finding) -> Finding {
        self.over = Some(Stopped::End);
        finding
    }

    fn stop(&mut self, stopped: Stopped) -> Finding {
        self.over = Some(match stopped {
            Stopped::NoProgress if self.flawed => Stopped::Unreadable,
            // A page without anything new ends a listing that does not say where it ends.
            Stopped::NoProgress if self.silent => Stopped::End,
            stopped => stopped,
        });
        Finding::None
    }

    /// Begins at the listing's first page instead.
    const fn restart(&mut self) -> Finding {
        self.from_start = true;
        Finding::None
    }

    const fn budget(&self) -> u32 {
        match self.goal {
            Goal::Head => HEAD_PAGES,
            Goal::Extend => EXTEND_PAGES,
            Goal::Back(_) => u32::MAX,
        }
    }
}

/// The span that holds the newest emails.
fn newest(ground: &Ground) -> Option<Span> {
    if ground.rising {
        ground.spans.first().copied()
    } else {
        ground.spans.iter().find(|span| span.reaches_top).copied()
    }
}
