//! The trail: the places where one has been, so that one can go back to them and forth again.
//!
//! One trail serves both ways of walking it: `u` and `U` undo and redo a change of what the list
//! shows and keep the selected email where they can; `g [` and `g ]` go to each place with the email
//! that was selected there.

use super::command::Side;
use super::effect::Effects;
use super::filter::Filter;
use super::marks::Home;
use super::model::Model;

/// What the list showed, and where in it the person was.
#[derive(Debug, Clone, PartialEq)]
pub struct Spot {
    /// What the list was narrowed to.
    pub filter: Filter,
    /// The selected email, if there was one.
    pub home: Option<Home>,
    /// Whether the email was being read.
    pub reading: bool,
}

/// Spots that were left and spots that were gone back from, the nearest last.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trail {
    past: Vec<Spot>,
    future: Vec<Spot>,
}

/// Nobody walks further back than that.
const LONGEST: usize = 200;

impl Trail {
    /// Remembers a spot that is being left for a new one.
    pub fn leave(&mut self, spot: Spot) {
        self.future.clear();
        if self.past.last() != Some(&spot) {
            self.past.push(spot);
            let surplus = self.past.len().saturating_sub(LONGEST);
            self.past.drain(..surplus);
        }
    }

    /// The nearest wanted spot that was left, or with [`Side::Right`] gone back from; all between it
    /// and `here` can be walked the other way. If there is none, the trail stays as it is.
    fn walk(&mut self, side: Side, here: Spot, wanted: impl Fn(&Spot) -> bool) -> Option<Spot> {
        let (from, to) = match side {
            Side::Left => (&mut self.past, &mut self.future),
            Side::Right => (&mut self.future, &mut self.past),
        };
        let at = from.iter().rposition(wanted)?;
        to.push(here);
        to.extend(from.drain(at + 1..).rev());
        from.pop()
    }

    /// The nearest wanted spot that was left.
    pub fn latest(&self, wanted: impl Fn(&Spot) -> bool) -> Option<&Spot> {
        self.past.iter().rfind(|spot| wanted(spot))
    }
}

impl Model {
    /// Where the person is.
    pub(super) fn spot(&self) -> Spot {
        Spot {
            filter: self.list.filter().clone(),
            home: self.list.here(),
            reading: self.reading,
        }
    }

    /// Takes back the last change of what the list shows, or makes it again.
    pub(super) fn undo(&mut self, side: Side) -> Effects {
        let here = self.spot();
        let text = here.filter.text().to_owned();
        match self
            .trail
            .walk(side, here, |spot| spot.filter.text() != text)
        {
            Some(spot) => self.narrow(spot.filter),
            None => self.nowhere(if side == Side::Left {
                "there is nothing to undo"
            } else {
                "there is nothing to redo"
            }),
        }
    }

    /// Goes back to the place before this one, or forth again.
    pub(super) fn walk_places(&mut self, side: Side) -> Effects {
        let here = self.spot();
        let (text, home) = (
            here.filter.text().to_owned(),
            here.home.clone().map(|home| home.cursor),
        );
        let other = |spot: &Spot| {
            spot.filter.text() != text
                || spot.home.as_ref().map(|home| &home.cursor) != home.as_ref()
        };
        match self.trail.walk(side, here, other) {
            Some(spot) => self.return_to(spot),
            None => self.nowhere(if side == Side::Left {
                "this is the first place"
            } else {
                "this is the latest place"
            }),
        }
    }

    /// Shows a place as it was left.
    pub(super) fn return_to(&mut self, spot: Spot) -> Effects {
        self.reading = spot.reading;
        let changes = spot.filter.text() != self.list.filter().text();
        let asked = self.list.come_back(spot.filter.at(&self.now), spot.home);
        if changes {
            self.look_back = None;
            self.counts.clear();
        }
        vec![asked]
    }

    /// Shows another filter, and remembers the place that was left.
    pub(super) fn show(&mut self, filter: Filter) -> Effects {
        let before = self.spot();
        let effects = self.narrow(filter);
        self.leave(before);
        effects
    }

    /// Remembers a place if the list shows something else now.
    pub(super) fn leave(&mut self, before: Spot) {
        if before.filter.query() != self.list.filter().query() {
            self.trail.leave(before);
        }
    }

    pub(super) fn narrow(&mut self, filter: Filter) -> Effects {
        let asked = self.list.narrow(filter.at(&self.now));
        if asked.is_some() {
            self.look_back = None;
            self.counts.clear();
        }
        asked.into_iter().collect()
    }

    fn nowhere(&mut self, words: &str) -> Effects {
        self.notice = Some(words.to_owned());
        Effects::new()
    }
}
