//! Loads a candidate and says whether it matches, with no more of its bodies than that takes.

use rusqlite::{Connection, OptionalExtension};

use super::held::BodyWords;
use super::plan::{BodyDependency, Plan};
use crate::api::wire;
use crate::archive::SortKey;
use crate::archive::body_codec::CompressedBody;
use crate::archive::window::{self, EmailRow};
use crate::error::Error;
use crate::mail::Tag;
use crate::query::{BodyTexts, EmailDocument, Query, matches};
use crate::render;

pub(super) const BODY_BY_KEY: &str = "SELECT json, dictionary_id FROM body WHERE sort_key = ?1";

/// What stands between a candidate and the result.
pub(super) struct RowMatcher<'a> {
    pub(super) connection: &'a Connection,
    pub(super) query: &'a Query,
    pub(super) plan: &'a Plan,
    /// Tells what bodies hold, if that is all that the query asks of them.
    pub(super) body_words: Option<BodyWords<'a>>,
}

impl RowMatcher<'_> {
    /// The row at `place`, if it matches. No place may come before one that was asked for already.
    pub(super) fn match_row(&mut self, place: SortKey) -> Result<Option<EmailRow>, Error> {
        let mut statement = self.connection.prepare_cached(window::BY_KEY)?;
        let Some(row) = statement.query_row([place], window::read_row).optional()? else {
            return Ok(None);
        };
        Ok(self.is_match(&row)?.then_some(row))
    }

    fn is_match(&mut self, row: &EmailRow) -> Result<bool, Error> {
        let seen_change = row.last_change.as_ref().map(|observation| observation.seen);
        let shallow = EmailDocument {
            summary: &row.summary,
            bodies: None,
            tags: None,
            seen_change,
            is_missing_upstream: row.missing.is_some(),
        };
        let verdict = matches(self.query, &shallow);
        let is_final = match self.plan.body_dependency {
            BodyDependency::Never => true,
            BodyDependency::IfUnknown => verdict.is_some(),
            BodyDependency::UnlessMatched => verdict == Some(true),
            BodyDependency::Always => false,
        };
        if is_final || !row.has_body {
            return Ok(verdict == Some(true));
        }
        if let Some(held) = &mut self.body_words
            && let Some(text) = held.words_in(row.sort_key)?
        {
            let bodies = BodyTexts {
                text: Some(&text),
                html: None,
            };
            return Ok(matches(
                self.query,
                &EmailDocument {
                    bodies: Some(bodies),
                    ..shallow
                },
            ) == Some(true));
        }
        let Some(email) = self.load_email(row.sort_key)? else {
            return Ok(verdict == Some(true));
        };
        let html = email.html.as_deref().map(render::extract_text);
        let bodies = BodyTexts {
            text: email.text.as_deref(),
            html: html.as_deref(),
        };
        let tags: Vec<Tag> = email.tags.iter().map(Tag::from).collect();
        Ok(matches(
            self.query,
            &EmailDocument {
                bodies: Some(bodies),
                tags: Some(&tags),
                ..shallow
            },
        ) == Some(true))
    }

    fn load_email(&self, place: SortKey) -> Result<Option<wire::Email>, Error> {
        let mut statement = self.connection.prepare_cached(BODY_BY_KEY)?;
        let packed = statement
            .query_row([place], |row| CompressedBody::from_row(row, 0))
            .optional()?
            .flatten();
        packed
            .map(|packed| packed.to_email(self.connection))
            .transpose()
    }
}
