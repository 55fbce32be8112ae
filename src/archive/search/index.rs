//! `Index`: what makes an email findable, written beside it.

use std::collections::HashMap;

use rusqlite::{Connection, Transaction, params};

use super::label;
use super::plan::DRIFT;
use super::tokens::{Tokens, kind};
use crate::api::wire;
use crate::archive::Place;
use crate::failure::Failure;
use crate::mail::{Address, Summary, Tag};
use crate::query::Bodies;
use crate::query::fold::fold;
use crate::render;

/// The index, in one transaction; it remembers the labels that it has met.
///
/// The index gathers what is added to it in memory, and writes a segment when the transaction ends; or
/// at once when `SQLite` prepares to undo a statement in part, as it does for each one that sets
/// triggers off. So no such statement runs between two emails here.
pub(in crate::archive) struct Index<'a> {
    change: &'a Connection,
    /// Whether a value that has no label gets one.
    adds_labels: bool,
    labels: HashMap<(String, String), Option<i64>>,
    tokens: Tokens,
}

/// What is known of an email beyond its summary.
#[derive(Default)]
pub(super) struct Beyond<'a> {
    /// Whether its status was seen to change.
    pub(super) changed: bool,
    /// The answer of the retrieve operation.
    pub(super) whole: Option<&'a wire::Email>,
}

impl<'a> Index<'a> {
    pub(in crate::archive) fn new(change: &'a Transaction<'a>) -> Self {
        Self {
            change,
            adds_labels: true,
            labels: HashMap::new(),
            tokens: Tokens::new(),
        }
    }

    /// The index without writing to it, for [`tokens`](Self::tokens).
    pub(super) fn reading(connection: &'a Connection) -> Self {
        Self {
            change: connection,
            adds_labels: false,
            labels: HashMap::new(),
            tokens: Tokens::new(),
        }
    }

    /// The tokens that an email should have, with blanks between them.
    pub(super) fn tokens(
        &mut self,
        mail: &Summary,
        changed: bool,
        whole: Option<&wire::Email>,
    ) -> Result<&str, Failure> {
        self.gather(mail, &Beyond { changed, whole })?;
        Ok(self.tokens.text())
    }

    /// Adds an email that was not there before. Of those added in one transaction the newest comes
    /// first: the index writes a segment for each step back.
    pub(in crate::archive) fn add(
        &mut self,
        place: Place,
        slot: i64,
        summary: &wire::Summary,
        whole: Option<&str>,
    ) -> Result<(), Failure> {
        let whole = whole.and_then(|json| wire::Email::read(json).ok());
        let mail = Summary::from(summary);
        self.gather(
            &mail,
            &Beyond {
                changed: false,
                whole: whole.as_ref(),
            },
        )?;
        self.change
            .prepare_cached("INSERT INTO search (rowid, tokens) VALUES (?1, ?2)")?
            .execute(params![slot, self.tokens.text()])?;
        if whole.is_some() {
            // Its body has announced itself, and is in the index now.
            self.change
                .prepare_cached("DELETE FROM stale WHERE place = ?1")?
                .execute([place])?;
        }
        if is_displaced(place, &mail) {
            self.change
                .prepare_cached("INSERT INTO displaced VALUES (?1)")?
                .execute([place])?;
        }
        Ok(())
    }

    /// Puts an email in place of what the index knew of it.
    pub(super) fn renew(
        &mut self,
        place: Place,
        slot: i64,
        mail: &Summary,
        beyond: &Beyond<'_>,
    ) -> Result<(), Failure> {
        self.gather(mail, beyond)?;
        let sql = "INSERT OR REPLACE INTO search (rowid, tokens) VALUES (?1, ?2)";
        self.change
            .prepare_cached(sql)?
            .execute(params![slot, self.tokens.text()])?;
        let displaced = is_displaced(place, mail);
        let sql = if displaced {
            "INSERT OR IGNORE INTO displaced VALUES (?1)"
        } else {
            "DELETE FROM displaced WHERE place = ?1"
        };
        self.change.prepare_cached(sql)?.execute([place])?;
        Ok(())
    }

    fn gather(&mut self, mail: &Summary, beyond: &Beyond<'_>) -> Result<(), Failure> {
        self.tokens.clear();
        self.tokens.summary(mail, beyond.changed);
        self.label(label::STATUS, mail.status.word())?;
        self.shared(label::FROM, kind::SENDER, &mail.from)?;
        for address in &mail.reply_to {
            self.shared(label::REPLY_TO, kind::RECIPIENT, address)?;
        }
        if let Some(email) = beyond.whole {
            let tags: Vec<Tag> = email.tags.iter().map(Tag::from).collect();
            let html = email.html.as_deref().map(render::extract_text);
            self.tokens.fetched(
                &Bodies {
                    text: email.text.as_deref(),
                    html: html.as_deref(),
                },
                &tags,
            );
            for tag in &tags {
                self.label(label::TAG, &tag.name)?;
                self.label(&label::value_of(&tag.name), &tag.value)?;
            }
        }
        Ok(())
    }

    /// An address that many emails share: its label, or its grams if there are too many of those.
    fn shared(&mut self, of: &str, kind: char, address: &Address) -> Result<(), Failure> {
        let folded = fold(&address.to_string());
        match self.label(of, &folded)? {
            Some(nth) => self.tokens.label(nth),
            None => self.tokens.grams(kind, &folded),
        }
        Ok(())
    }

    fn label(&mut self, of: &str, text: &str) -> Result<Option<i64>, Failure> {
        let key = (of.to_owned(), text.to_owned());
        if let Some(known) = self.labels.get(&key) {
            return Ok(*known);
        }
        let number = if self.adds_labels {
            label::number(self.change, of, text)?
        } else {
            label::known(self.change, of, text)?
        };
        self.labels.insert(key, number);
        Ok(number)
    }
}

/// Whether it stands so far from its time that a search by time would miss it.
pub(in crate::archive) fn is_displaced(place: Place, mail: &Summary) -> bool {
    mail.created
        .micros()
        .is_some_and(|micros| micros.abs_diff(place.micros()) > DRIFT.unsigned_abs())
}
