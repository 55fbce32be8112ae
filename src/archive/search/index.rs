//! `Index`: what makes an email findable, written beside it.

use std::collections::HashMap;

use rusqlite::{Connection, Transaction, params};

use super::interned;
use super::plan::OUT_OF_ORDER_MICROS;
use super::tokens::{TokenBuffer, kind};
use crate::api::wire;
use crate::archive::SortKey;
use crate::error::Error;
use crate::mail::{Address, Summary, Tag};
use crate::query::BodyTexts;
use crate::query::normalize::normalize;
use crate::render;

/// The index, in one transaction; it remembers the labels that it has met.
///
/// The index gathers what is added to it in memory, and writes a segment when the transaction ends; or
/// at once when `SQLite` prepares to undo a statement in part, as it does for each one that sets
/// triggers off. So no such statement runs between two emails here.
pub(in crate::archive) struct Index<'a> {
    connection: &'a Connection,
    /// Whether a value that has no label gets one.
    may_intern: bool,
    interned: HashMap<(String, String), Option<i64>>,
    tokens: TokenBuffer,
}

/// What is known of an email beyond its summary.
#[derive(Default)]
pub(super) struct IndexExtras<'a> {
    /// Whether its status was seen to change.
    pub(super) status_changed: bool,
    /// The answer of the retrieve operation.
    pub(super) email: Option<&'a wire::Email>,
}

impl<'a> Index<'a> {
    pub(in crate::archive) fn new(change: &'a Transaction<'a>) -> Self {
        Self {
            connection: change,
            may_intern: true,
            interned: HashMap::new(),
            tokens: TokenBuffer::new(),
        }
    }

    /// The index without writing to it, for [`tokens`](Self::tokens).
    pub(super) fn read_only(connection: &'a Connection) -> Self {
        Self {
            connection,
            may_intern: false,
            interned: HashMap::new(),
            tokens: TokenBuffer::new(),
        }
    }

    /// The tokens that an email should have, with blanks between them.
    pub(super) fn expected_tokens(
        &mut self,
        mail: &Summary,
        changed: bool,
        whole: Option<&wire::Email>,
    ) -> Result<&str, Error> {
        self.build_tokens(
            mail,
            &IndexExtras {
                status_changed: changed,
                email: whole,
            },
        )?;
        Ok(self.tokens.as_str())
    }

    /// Adds an email that was not there before. Of those added in one transaction the newest comes
    /// first: the index writes a segment for each step back.
    pub(in crate::archive) fn insert(
        &mut self,
        place: SortKey,
        slot: i64,
        summary: &wire::Summary,
        whole: Option<&str>,
    ) -> Result<(), Error> {
        let whole = whole.and_then(|json| wire::Email::parse(json).ok());
        let mail = Summary::from(summary);
        self.build_tokens(
            &mail,
            &IndexExtras {
                status_changed: false,
                email: whole.as_ref(),
            },
        )?;
        self.connection
            .prepare_cached("INSERT INTO search (rowid, tokens) VALUES (?1, ?2)")?
            .execute(params![slot, self.tokens.as_str()])?;
        if whole.is_some() {
            // Its body has announced itself, and is in the index now.
            self.connection
                .prepare_cached("DELETE FROM dirty WHERE sort_key = ?1")?
                .execute([place])?;
        }
        if is_out_of_order(place, &mail) {
            self.connection
                .prepare_cached("INSERT INTO out_of_order VALUES (?1)")?
                .execute([place])?;
        }
        Ok(())
    }

    /// Puts an email in place of what the index knew of it.
    pub(super) fn replace(
        &mut self,
        place: SortKey,
        slot: i64,
        mail: &Summary,
        beyond: &IndexExtras<'_>,
    ) -> Result<(), Error> {
        self.build_tokens(mail, beyond)?;
        let sql = "INSERT OR REPLACE INTO search (rowid, tokens) VALUES (?1, ?2)";
        self.connection
            .prepare_cached(sql)?
            .execute(params![slot, self.tokens.as_str()])?;
        let displaced = is_out_of_order(place, mail);
        let sql = if displaced {
            "INSERT OR IGNORE INTO out_of_order VALUES (?1)"
        } else {
            "DELETE FROM out_of_order WHERE sort_key = ?1"
        };
        self.connection.prepare_cached(sql)?.execute([place])?;
        Ok(())
    }

    fn build_tokens(&mut self, mail: &Summary, beyond: &IndexExtras<'_>) -> Result<(), Error> {
        self.tokens.clear();
        self.tokens.push_summary(mail, beyond.status_changed);
        self.intern(interned::STATUS, mail.status.label())?;
        self.push_shared_address(interned::FROM, kind::SENDER, &mail.from)?;
        for address in &mail.reply_to {
            self.push_shared_address(interned::REPLY_TO, kind::RECIPIENT, address)?;
        }
        if let Some(email) = beyond.email {
            let tags: Vec<Tag> = email.tags.iter().map(Tag::from).collect();
            let html = email.html.as_deref().map(render::extract_text);
            self.tokens.push_retrieved(
                &BodyTexts {
                    text: email.text.as_deref(),
                    html: html.as_deref(),
                },
                &tags,
            );
            for tag in &tags {
                self.intern(interned::TAG, &tag.name)?;
                self.intern(&interned::tag_value_kind(&tag.name), &tag.value)?;
            }
        }
        Ok(())
    }

    /// An address that many emails share: its label, or its grams if there are too many of those.
    fn push_shared_address(
        &mut self,
        of: &str,
        kind: char,
        address: &Address,
    ) -> Result<(), Error> {
        let folded = normalize(&address.to_string());
        match self.intern(of, &folded)? {
            Some(nth) => self.tokens.push_interned(nth),
            None => self.tokens.push_trigrams(kind, &folded),
        }
        Ok(())
    }

    fn intern(&mut self, of: &str, text: &str) -> Result<Option<i64>, Error> {
        let key = (of.to_owned(), text.to_owned());
        if let Some(known) = self.interned.get(&key) {
            return Ok(*known);
        }
        let number = if self.may_intern {
            interned::intern(self.connection, of, text)?
        } else {
            interned::find_id(self.connection, of, text)?
        };
        self.interned.insert(key, number);
        Ok(number)
    }
}

/// Whether it stands so far from its time that a search by time would miss it.
pub(in crate::archive) fn is_out_of_order(place: SortKey, mail: &Summary) -> bool {
    mail.created
        .as_micros()
        .is_some_and(|micros| micros.abs_diff(place.micros()) > OUT_OF_ORDER_MICROS.unsigned_abs())
}
