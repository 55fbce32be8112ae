//! The window onto what a query finds: the same question as for the whole list, and the same answer.

use rusqlite::Connection;

use super::halt::CancellationToken;
use super::scan::{Direction, Scan};
use crate::archive::window::{BOTTOM, EmailRow, TOP};
use crate::archive::{Archive, RowWindow, SortKey, WindowAnchor};
use crate::error::Error;
use crate::query::{Query, SortOrder};

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
        anchor: &WindowAnchor,
        rows: usize,
        halt: &CancellationToken,
    ) -> Result<Option<RowWindow>, Error> {
        if query.is_match_all() && query.sort == SortOrder::Newest {
            return if halt.is_cancelled() {
                Ok(None)
            } else {
                self.window(anchor, rows).map(Some)
            };
        }
        self.connections.read_cancellable(halt, |connection| {
            let list = MatchList {
                scan: Scan::new(connection, query)?,
                forward: if query.sort == SortOrder::Newest {
                    Direction::Older
                } else {
                    Direction::Newer
                },
            };
            let window = list.window(anchor, rows)?;
            list.scan.report_unreadable()?;
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
    pub(crate) fn for_each_match(
        &self,
        query: &Query,
        halt: &CancellationToken,
        mut take: impl FnMut(EmailRow) -> bool,
    ) -> Result<bool, Error> {
        let mut is_whole = true;
        let done = self.connections.read_cancellable(halt, |connection| {
            let way = if query.sort == SortOrder::Newest {
                Direction::Older
            } else {
                Direction::Newer
            };
            let walk = Scan::new(connection, query)?;
            walk.for_each_match(way, list_end(way.reverse()), |row| {
                is_whole = take(row);
                is_whole
            })?;
            walk.report_unreadable()
        })?;
        Ok(done.is_some() && is_whole)
    }
}

/// Emails that a query finds, chosen from the top of what is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CandidateRows {
    /// The chosen ones, newest first.
    pub(crate) rows: Vec<EmailRow>,
    /// The last one that was looked at; `None` if nothing was left.
    pub(crate) last_examined: Option<SortKey>,
    /// Whether nothing is left below that.
    pub(crate) is_exhausted: bool,
}

/// Emails that are looked at for [`Archive::candidates`] before it returns with fewer than asked for.
const MAX_EXAMINED: usize = 20_000;

impl Archive {
    /// At most `most` emails that `query` finds and `choose` takes, newest first, below `below`.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn find_candidates(
        &self,
        query: &Query,
        below: Option<SortKey>,
        most: usize,
        mut choose: impl FnMut(&EmailRow) -> bool,
    ) -> Result<CandidateRows, Error> {
        self.connections.read(|connection| {
            let (mut rows, mut passed, mut count, mut is_end) = (Vec::new(), None, 0, true);
            Scan::new(connection, query)?.for_each_match(
                Direction::Older,
                below.unwrap_or(TOP),
                |row| {
                    if rows.len() == most || count == MAX_EXAMINED {
                        is_end = false;
                        return false;
                    }
                    count += 1;
                    passed = Some(row.sort_key);
                    if choose(&row) {
                        rows.push(row);
                    }
                    true
                },
            )?;
            Ok(CandidateRows {
                rows,
                last_examined: passed,
                is_exhausted: is_end,
            })
        })
    }
}

/// Where everything stands that the query finds.
pub(in crate::archive) fn matching_keys(
    connection: &Connection,
    query: &Query,
) -> Result<Vec<SortKey>, Error> {
    let mut places = Vec::new();
    let walk = Scan::new(connection, query)?;
    walk.for_each_match(Direction::Older, TOP, |row| {
        places.push(row.sort_key);
        true
    })?;
    walk.report_unreadable()?;
    Ok(places)
}

/// What the query finds, top to bottom.
struct MatchList<'a> {
    scan: Scan<'a>,
    /// Which way is down the list.
    forward: Direction,
}

impl MatchList<'_> {
    fn window(&self, anchor: &WindowAnchor, rows: usize) -> Result<RowWindow, Error> {
        let (top, bottom) = (list_end(self.forward.reverse()), list_end(self.forward));
        match *anchor {
            WindowAnchor::Newest => self.rows_after(top, rows),
            WindowAnchor::Oldest => self.rows_before(bottom, rows),
            WindowAnchor::Above(place) => self.rows_before(place, rows),
            WindowAnchor::Below(place) => self.rows_after(place, rows),
            WindowAnchor::Around {
                sort_key: place,
                above,
            } => self.rows_around(self.key_before(place), above, rows),
            WindowAnchor::AtTime(micros) => {
                let place = if self.forward == Direction::Older {
                    SortKey::newest_at(micros)
                } else {
                    SortKey::oldest_at(micros)
                };
                self.rows_around(self.key_before(place), 0, rows)
            }
        }
    }

    /// Right above `place`, so that what lies below it begins with it.
    fn key_before(&self, place: SortKey) -> SortKey {
        if self.forward == Direction::Older {
            place.next_newer()
        } else {
            place.next_older()
        }
    }

    fn rows_after(&self, from: SortKey, rows: usize) -> Result<RowWindow, Error> {
        let mut found = self
            .scan
            .collect_rows(self.forward, from, rows.saturating_add(1))?;
        let more_below = found.len() > rows;
        found.truncate(rows);
        // What began at the top has nothing above it; to find that out costs as much as the rows.
        let more_above = from != list_end(self.forward.reverse())
            && self.has_more(self.forward.reverse(), found.first())?;
        Ok(RowWindow {
            rows: found,
            more_above,
            more_below,
        })
    }

    fn rows_before(&self, from: SortKey, rows: usize) -> Result<RowWindow, Error> {
        let mut found =
            self.scan
                .collect_rows(self.forward.reverse(), from, rows.saturating_add(1))?;
        let more_above = found.len() > rows;
        found.truncate(rows);
        found.reverse();
        let more_below =
            from != list_end(self.forward) && self.has_more(self.forward, found.last())?;
        Ok(RowWindow {
            rows: found,
            more_above,
            more_below,
        })
    }

    /// Around an edge, filled from the other side where one has too few.
    fn rows_around(&self, edge: SortKey, lead: usize, rows: usize) -> Result<RowWindow, Error> {
        let lead = lead.min(rows.saturating_sub(1));
        let mut older = self.scan.collect_rows(self.forward, edge, rows - lead)?;
        let inclusive = if self.forward == Direction::Older {
            edge.next_older()
        } else {
            edge.next_newer()
        };
        // The row at the edge itself is below it, so what is above begins past that.
        let mut found =
            self.scan
                .collect_rows(self.forward.reverse(), inclusive, rows - older.len())?;
        found.reverse();
        found.append(&mut older);
        if let Some(last) = found
            .last()
            .filter(|_| found.len() < rows)
            .map(|row| row.sort_key)
        {
            found.extend(
                self.scan
                    .collect_rows(self.forward, last, rows - found.len())?,
            );
        }
        let (more_above, more_below) = (
            self.has_more(self.forward.reverse(), found.first())?,
            self.has_more(self.forward, found.last())?,
        );
        Ok(RowWindow {
            rows: found,
            more_above,
            more_below,
        })
    }

    fn has_more(&self, way: Direction, from: Option<&EmailRow>) -> Result<bool, Error> {
        from.map_or(Ok(false), |row| self.scan.has_match(way, row.sort_key))
    }
}

/// One past the last email that way.
const fn list_end(way: Direction) -> SortKey {
    match way {
        Direction::Older => BOTTOM,
        Direction::Newer => TOP,
    }
}
