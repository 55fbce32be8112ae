//! Loads a candidate and says whether it matches, with no more of its bodies than that takes.

use rusqlite::{Connection, OptionalExtension};

use super::held::Held;
use super::plan::{Depth, Plan};
use crate::api::wire;
use crate::archive::Place;
use crate::archive::packed::Packed;
use crate::archive::window::{self, Row};
use crate::failure::Failure;
use crate::mail::Tag;
use crate::query::{Bodies, Facts, Query, matches};
use crate::render;

pub(super) const BODY: &str = "SELECT json, dictionary FROM body WHERE place = ?1";

/// What stands between a candidate and the result.
pub(super) struct Judge<'a> {
    pub(super) connection: &'a Connection,
    pub(super) query: &'a Query,
    pub(super) plan: &'a Plan,
    /// Tells what bodies hold, if that is all that the query asks of them.
    pub(super) held: Option<Held<'a>>,
}

impl Judge<'_> {
    /// The row at `place`, if it matches. No place may come before one that was asked for already.
    pub(super) fn row(&mut self, place: Place) -> Result<Option<Row>, Failure> {
        let mut statement = self.connection.prepare_cached(window::AT)?;
        let Some(row) = statement.query_row([place], window::read).optional()? else {
            return Ok(None);
        };
        Ok(self.accepts(&row)?.then_some(row))
    }

    fn accepts(&mut self, row: &Row) -> Result<bool, Failure> {
        let seen_change = row.changed.as_ref().map(|observation| observation.seen);
        let shallow = Facts {
            summary: &row.summary,
            bodies: None,
            tags: None,
            seen_change,
            gone: row.gone.is_some(),
        };
        let verdict = matches(self.query, &shallow);
        let is_final = match self.plan.depth {
            Depth::Summary => true,
            Depth::Waits => verdict.is_some(),
            Depth::Adds => verdict == Some(true),
            Depth::Decides => false,
        };
        if is_final || !row.has_body {
            return Ok(verdict == Some(true));
        }
        if let Some(held) = &mut self.held
            && let Some(text) = held.text(row.place)?
        {
            let bodies = Bodies {
                text: Some(&text),
                html: None,
            };
            return Ok(matches(
                self.query,
                &Facts {
                    bodies: Some(bodies),
                    ..shallow
                },
            ) == Some(true));
        }
        let Some(email) = self.body(row.place)? else {
            return Ok(verdict == Some(true));
        };
        let html = email.html.as_deref().map(render::extract_text);
        let bodies = Bodies {
            text: email.text.as_deref(),
            html: html.as_deref(),
        };
        let tags: Vec<Tag> = email.tags.iter().map(Tag::from).collect();
        Ok(matches(
            self.query,
            &Facts {
                bodies: Some(bodies),
                tags: Some(&tags),
                ..shallow
            },
        ) == Some(true))
    }

    fn body(&self, place: Place) -> Result<Option<wire::Email>, Failure> {
        let mut statement = self.connection.prepare_cached(BODY)?;
        let packed = statement
            .query_row([place], |row| Packed::load(row, 0))
            .optional()?
            .flatten();
        packed
            .map(|packed| packed.email(self.connection))
            .transpose()
    }
}
