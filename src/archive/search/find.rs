//! The window onto what a query finds: the same question as for the whole list, and the same answer.

use rusqlite::Connection;

use super::halt::Halt;
use super::walk::{Walk, Way};
use crate::archive::window::{BOTTOM, Row, TOP};
use crate::archive::{Anchor, Archive, Place, Window};
use crate::failure::Failure;
use crate::query::{Query, Sort};

impl Archive {
    /// At most `rows` of the emails that match, at `anchor`; `None` if `halt` broke it off. The query
    /// that everything matches costs no more than [`Archive::window`].
    ///
    /// With [`Sort::Oldest`] the list stands on its head, and so does all that is said of it: its rows
    /// come oldest first, [`Anchor::Newest`] is its top where the oldest email is, [`Anchor::Below`] are
    /// newer ones, [`Anchor::At`] begins with the oldest email at or after that time.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn search(
        &self,
        query: &Query,
        anchor: &Anchor,
        rows: usize,
        halt: &Halt,
    ) -> Result<Option<Window>, Failure> {
        if query.is_everything() && query.sort == Sort::Newest {
            return if halt.is_halted() {
                Ok(None)
            } else {
                self.window(anchor, rows).map(Some)
            };
        }
        self.connections.search(halt, |connection| {
            let list = List {
                walk: Walk::new(connection, query)?,
                down: if query.sort == Sort::Newest {
                    Way::Down
                } else {
                    Way::Up
                },
            };
            let window = list.window(anchor, rows)?;
            list.walk.check()?;
            Ok(window)
        })
    }

    /// Hands each match past `from` to `take`, in the order of the query, until that wants no more;
    /// without `from`, from the top on. Says whether it came to the end, which it does not if `halt`
    /// broke it off. However much is found, no more than one row is held.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read; for emails that cannot be read, after all others were handed over.
    pub fn each(
        &self,
        query: &Query,
        halt: &Halt,
        mut take: impl FnMut(Row) -> bool,
    ) -> Result<bool, Failure> {
        let mut is_whole = true;
        let done = self.connections.search(halt, |connection| {
            let way = if query.sort == Sort::Newest {
                Way::Down
            } else {
                Way::Up
            };
            let walk = Walk::new(connection, query)?;
            walk.each(way, end(way.back()), |row| {
                is_whole = take(row);
                is_whole
            })?;
            walk.check()
        })?;
        Ok(done.is_some() && is_whole)
    }
}

/// Emails that a query finds, chosen from the top of what is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// The chosen ones, newest first.
    pub rows: Vec<Row>,
    /// The last one that was looked at; `None` if nothing was left.
    pub passed: Option<Place>,
    /// Whether nothing is left below that.
    pub is_end: bool,
}

/// Emails that are looked at for [`Archive::candidates`] before it returns with fewer than asked for.
const MOST_PASSED: usize = 20_000;

impl Archive {
    /// At most `most` emails that `query` finds and `choose` takes, newest first, below `below`.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn candidates(
        &self,
        query: &Query,
        below: Option<Place>,
        most: usize,
        mut choose: impl FnMut(&Row) -> bool,
    ) -> Result<Candidates, Failure> {
        self.connections.read(|connection| {
            let (mut rows, mut passed, mut count, mut is_end) = (Vec::new(), None, 0, true);
            Walk::new(connection, query)?.each(Way::Down, below.unwrap_or(TOP), |row| {
                if rows.len() == most || count == MOST_PASSED {
                    is_end = false;
                    return false;
                }
                count += 1;
                passed = Some(row.place);
                if choose(&row) {
                    rows.push(row);
                }
                true
            })?;
            Ok(Candidates {
                rows,
                passed,
                is_end,
            })
        })
    }
}

/// Where everything stands that the query finds.
pub(in crate::archive) fn places(
    connection: &Connection,
    query: &Query,
) -> Result<Vec<Place>, Failure> {
    let mut places = Vec::new();
    let walk = Walk::new(connection, query)?;
    walk.each(Way::Down, TOP, |row| {
        places.push(row.place);
        true
    })?;
    walk.check()?;
    Ok(places)
}

/// What the query finds, top to bottom.
struct List<'a> {
    walk: Walk<'a>,
    /// Which way is down the list.
    down: Way,
}

impl List<'_> {
    fn window(&self, anchor: &Anchor, rows: usize) -> Result<Window, Failure> {
        let (top, bottom) = (end(self.down.back()), end(self.down));
        match *anchor {
            Anchor::Newest => self.below(top, rows),
            Anchor::Oldest => self.above(bottom, rows),
            Anchor::Above(place) => self.above(place, rows),
            Anchor::Below(place) => self.below(place, rows),
            Anchor::Around { place, above } => self.around(self.edge(place), above, rows),
            Anchor::At(micros) => {
                let place = if self.down == Way::Down {
                    Place::last_of(micros)
                } else {
                    Place::first_of(micros)
                };
                self.around(self.edge(place), 0, rows)
            }
        }
    }

    /// Right above `place`, so that what lies below it begins with it.
    fn edge(&self, place: Place) -> Place {
        if self.down == Way::Down {
            place.above()
        } else {
            place.below()
        }
    }

    fn below(&self, from: Place, rows: usize) -> Result<Window, Failure> {
        let mut found = self.walk.rows(self.down, from, rows.saturating_add(1))?;
        let more_below = found.len() > rows;
        found.truncate(rows);
        // What began at the top has nothing above it; to find that out costs as much as the rows.
        let more_above =
            from != end(self.down.back()) && self.is_more(self.down.back(), found.first())?;
        Ok(Window {
            rows: found,
            more_above,
            more_below,
        })
    }

    fn above(&self, from: Place, rows: usize) -> Result<Window, Failure> {
        let mut found = self
            .walk
            .rows(self.down.back(), from, rows.saturating_add(1))?;
        let more_above = found.len() > rows;
        found.truncate(rows);
        found.reverse();
        let more_below = from != end(self.down) && self.is_more(self.down, found.last())?;
        Ok(Window {
            rows: found,
            more_above,
            more_below,
        })
    }

    /// Around an edge, filled from the other side where one has too few.
    fn around(&self, edge: Place, lead: usize, rows: usize) -> Result<Window, Failure> {
        let lead = lead.min(rows.saturating_sub(1));
        let mut older = self.walk.rows(self.down, edge, rows - lead)?;
        let inclusive = if self.down == Way::Down {
            edge.below()
        } else {
            edge.above()
        };
        // The row at the edge itself is below it, so what is above begins past that.
        let mut found = self
            .walk
            .rows(self.down.back(), inclusive, rows - older.len())?;
        found.reverse();
        found.append(&mut older);
        if let Some(last) = found
            .last()
            .filter(|_| found.len() < rows)
            .map(|row| row.place)
        {
            found.extend(self.walk.rows(self.down, last, rows - found.len())?);
        }
        let (more_above, more_below) = (
            self.is_more(self.down.back(), found.first())?,
            self.is_more(self.down, found.last())?,
        );
        Ok(Window {
            rows: found,
            more_above,
            more_below,
        })
    }

    fn is_more(&self, way: Way, from: Option<&Row>) -> Result<bool, Failure> {
        from.map_or(Ok(false), |row| self.walk.any(way, row.place))
    }
}

/// One past the last email that way.
const fn end(way: Way) -> Place {
    match way {
        Way::Down => BOTTOM,
        Way::Up => TOP,
    }
}
