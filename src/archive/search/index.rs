//! The search index: written with the emails, kept up to date, erased and compared.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::fts_engine::fts_engine;
use super::fts_expr::FtsExpr;
use super::interned::{self, Interner};
use super::periods::OUT_OF_ORDER_MICROS;
use super::tokens::{
    RetrievedTexts, TokenBuffer, flag, interned_token, prefix, status_token, tag_name_token,
    tag_value_token,
};
use super::vocabulary::{ALL_TERMS, create_terms};
use crate::api::wire;
use crate::archive::SortKey;
use crate::archive::codec::body::CompressedBody;
use crate::archive::codec::row::{self, row_columns};
use crate::archive::listing::{BOTTOM, ByDirection, Direction, TOP};
use crate::archive::storage::db::{Connection, Transaction, TransactionKind, params};
use crate::error::Result;
use crate::mail::{Address, Status, Summary, Tag};
use crate::query::normalize::normalize;
use crate::text::format::first_chars;

/// `SQLite` keeps no more bytes of a token.
const MAX_TOKEN_BYTES: usize = 32_768;

/// Bits of a sort key below a rowid.
///
/// A rowid is half a second: seldom too few for the emails between two others, never a large
/// number.
const ROWID_SHIFT: u32 = 29;

/// How many emails are read together before they are indexed.
const READ_TOGETHER: usize = 32;

/// How many more rowids than needed are freed where there are too few.
const SLACK: i64 = 64;

/// The rowid of the last email that is not past a key, for each [`Direction`].
pub(super) const ROWID_UP_TO: ByDirection = ByDirection {
    older: "SELECT fts_rowid FROM mail WHERE sort_key <= ?1 AND fts_rowid IS NOT NULL ORDER BY sort_key DESC LIMIT 1",
    newer: "SELECT fts_rowid FROM mail WHERE sort_key >= ?1 AND fts_rowid IS NOT NULL ORDER BY sort_key LIMIT 1",
};
pub(super) const ROWID_BY_KEY: &str =
    "SELECT fts_rowid FROM mail WHERE sort_key = ?1 AND fts_rowid IS NOT NULL";
pub(super) const NEXT_ROWID: &str =
    "SELECT sort_key, fts_rowid FROM mail WHERE fts_rowid > ?1 ORDER BY fts_rowid LIMIT 1";
pub(super) const KEYS_FROM_ROWID: &str =
    "SELECT fts_rowid, sort_key FROM mail WHERE fts_rowid >= ?1 ORDER BY fts_rowid";
const SET_ROWID: &str = "UPDATE mail SET fts_rowid = ?2 WHERE sort_key = ?1";
pub(super) const DIRTY_KEYS: &str =
    "SELECT sort_key FROM dirty WHERE sort_key BETWEEN ?1 AND ?2 ORDER BY sort_key";
pub(super) const ROW_TO_INDEX: &str = concat!(
    "SELECT fts_rowid, json, dictionary_id, ",
    row_columns!(),
    " FROM mail JOIN key_order USING (key_order_id) LEFT JOIN body USING (sort_key) WHERE mail.sort_key = ?1"
);

/// The index in one transaction, with the interned values that it has met.
///
/// FTS5 collects added rows in memory and writes a segment when the transaction ends; or at once
/// when `SQLite` prepares to undo a statement in part, as it does for each one that fires triggers.
/// So no such statement runs between two emails here.
pub(crate) struct Index<'a> {
    connection: &'a Connection,
    /// Whether new values are interned.
    may_intern: bool,
    interner: Interner,
    tokens: TokenBuffer,
}

/// An email with the tokens that depend on it alone:
/// all but those of the values that the index interns.
pub(crate) struct TokenizedEmail {
    summary: Summary,
    tags: Vec<Tag>,
    tokens: TokenBuffer,
    is_out_of_order: bool,
    is_retrieved: bool,
}

impl TokenizedEmail {
    /// Makes the tokens of the email at `key`; `json` is the whole one,
    /// if it was retrieved.
    pub(crate) fn new(key: SortKey, summary: &wire::Summary, json: Option<&str>) -> Self {
        let email = json.and_then(|json| wire::Email::parse(json).ok());
        Self::from_parts(key, Summary::from(summary), email.as_ref())
    }

    fn from_parts(key: SortKey, summary: Summary, email: Option<&wire::Email>) -> Self {
        let mut tokens = TokenBuffer::new();
        let is_out_of_order = is_out_of_order(key, &summary);
        if is_out_of_order {
            tokens.push_token(flag::OUT_OF_ORDER);
        }
        tokens.push_summary(&summary);
        let mut reason = listed_reason(&summary);
        let mut tags = Vec::new();
        if let Some(email) = email {
            let retrieved = RetrievedTexts::from_email(email);
            reason.get_or_insert_with(|| retrieved.reason());
            tokens.push_retrieved(&retrieved);
            tags = retrieved.tags;
        }
        tokens.push_reason(&reason.unwrap_or_default());
        Self {
            summary,
            tags,
            tokens,
            is_out_of_order,
            is_retrieved: email.is_some(),
        }
    }
}

impl<'a> Index<'a> {
    pub(crate) fn new(transaction: &'a Transaction<'a>) -> Self {
        Self {
            may_intern: true,
            ..Self::with_interned(transaction)
        }
    }

    /// The index of emails whose values are interned already:
    /// of a copy, which has those of its source.
    pub(crate) fn with_interned(connection: &'a Connection) -> Self {
        Self {
            connection,
            may_intern: false,
            interner: Interner::default(),
            tokens: TokenBuffer::new(),
        }
    }

    /// Adds a new email, in one transaction the newest first.
    ///
    /// FTS5 writes a segment for each smaller rowid.
    pub(crate) fn insert(
        &mut self,
        key: SortKey,
        rowid: i64,
        email: &TokenizedEmail,
    ) -> Result<()> {
        self.collect_tokens(email)?;
        let connection = self.connection;
        let insert = "INSERT INTO search (rowid, tokens) VALUES (?1, ?2)";
        connection.execute(insert, params![rowid, self.stored_tokens()])?;
        if email.is_retrieved {
            // A trigger marked it when its body was inserted, and it is indexed now.
            connection.execute("DELETE FROM dirty WHERE sort_key = ?1", [key])?;
        }
        if email.is_out_of_order {
            connection.execute("INSERT INTO out_of_order VALUES (?1)", [key])?;
        }
        Ok(())
    }

    /// Replaces the tokens of emails as they are stored.
    pub(crate) fn replace_stored(&mut self, keys: &[SortKey]) -> Result<()> {
        let params = keys.iter().map(|key| [*key]);
        let rows = self.connection.optional_each(ROW_TO_INDEX, params, |row| {
            let rowid: Option<i64> = row.get()?;
            Ok((rowid, CompressedBody::read(row)?, row::read_fields(row)?))
        })?;
        for (key, row) in keys.iter().zip(rows) {
            let Some((Some(rowid), body, fields)) = row else {
                continue;
            };
            // A damaged body is not found by its words; opening the email reports the damage.
            let email = body.and_then(|body| body.to_email(self.connection).ok());
            let summary = Summary::from(&fields.summary);
            let email = TokenizedEmail::from_parts(*key, summary, email.as_ref());
            self.collect_tokens(&email)?;
            // Costs a look-up more than to insert them.
            let replace = "INSERT OR REPLACE INTO search (rowid, tokens) VALUES (?1, ?2)";
            self.connection
                .execute(replace, params![rowid, self.stored_tokens()])?;
            let sql = if email.is_out_of_order {
                "INSERT INTO out_of_order VALUES (?1) ON CONFLICT DO NOTHING"
            } else {
                "DELETE FROM out_of_order WHERE sort_key = ?1"
            };
            self.connection.execute(sql, [key])?;
        }
        Ok(())
    }

    fn stored_tokens(&self) -> Cow<'_, str> {
        self.tokens
            .limited_to(fts_engine(self.connection).max_bytes)
    }

    /// Collects all tokens of an email, and interns its values.
    fn collect_tokens(&mut self, email: &TokenizedEmail) -> Result<()> {
        self.tokens.clear();
        let summary = &email.summary;
        self.intern(interned::STATUS, summary.status.label())?;
        self.push_shared_address(interned::FROM, prefix::SENDER, &summary.from)?;
        for address in &summary.reply_to {
            self.push_shared_address(interned::REPLY_TO, prefix::RECIPIENT, address)?;
        }
        for tag in &email.tags {
            self.intern(interned::TAG, &tag.name)?;
            self.intern(&interned::tag_value_kind(&tag.name), &tag.value)?;
        }
        self.tokens.append(&email.tokens);
        Ok(())
    }

    /// Adds the id of an address, or its trigrams if too many are interned.
    fn push_shared_address(&mut self, kind: &str, prefix: char, address: &Address) -> Result<()> {
        let normalized = normalize(&address.to_string());
        if let Some(id) = self.intern(kind, &normalized)? {
            self.tokens.push_token(&interned_token(id));
        } else {
            self.tokens.push_trigrams(prefix, &normalized);
            if prefix == prefix::RECIPIENT {
                self.tokens.push_local_parts(&normalized);
            }
        }
        Ok(())
    }

    fn intern(&mut self, kind: &str, value: &str) -> Result<Option<i64>> {
        let interner = &mut self.interner;
        interner.intern(self.connection, self.may_intern, kind, value)
    }
}

/// Returns the reason of a bounce if the list has it;
/// the retrieved email may have one in any case.
pub(super) fn listed_reason(summary: &Summary) -> Option<String> {
    Some(summary.bounce()?.searched_text())
}

/// Whether an email at `key` has another time than its neighbours, or none.
pub(crate) fn is_out_of_order(key: SortKey, summary: &Summary) -> bool {
    let created = summary.created.as_micros();
    created.is_none_or(|micros| micros.abs_diff(key.micros()) > OUT_OF_ORDER_MICROS.unsigned_abs())
}

/// Finds the rowid of the last email in a direction that is not past `key`.
/// Rowids ascend from the newest email to the oldest.
pub(super) fn rowid_up_to(
    connection: &Connection,
    direction: Direction,
    key: SortKey,
) -> Result<i64> {
    let found = connection.optional_value(ROWID_UP_TO.get(direction), [key])?;
    Ok(found.unwrap_or(match direction {
        Direction::Older => i64::MIN,
        Direction::Newer => i64::MAX,
    }))
}

/// Assigns rowids to emails by their times, as far as their neighbours allow.
///
/// `keys` are newest first. If the neighbours leave too few rowids, those below move down and
/// become dirty.
pub(crate) fn assign_rowids(transaction: &Transaction, keys: &[SortKey]) -> Result<Vec<i64>> {
    let mut rowids: Vec<i64> = Vec::with_capacity(keys.len());
    // The next emails with a rowid above and below.
    let mut above = i64::MIN;
    let mut below: Option<(SortKey, i64)> = None;
    for (index, key) in keys.iter().enumerate() {
        if index == 0 || below.is_some_and(|(below, _)| below > *key) {
            above = rowid_up_to(transaction, Direction::Older, *key)?;
            below =
                transaction.optional(NEXT_ROWID, [above], |row| Ok((row.get()?, row.get()?)))?;
        }
        let last = rowids.last().map_or(above, |last| above.max(*last));
        let lowest = last.saturating_add(1);
        let mut highest = i64::MAX;
        if let Some((below, rowid)) = &mut below {
            let until = keys.partition_point(|other| other > below);
            let needed = i64::try_from(until - index).unwrap_or(i64::MAX);
            if rowid.saturating_sub(needed) < lowest {
                *rowid = shift_rowids(transaction, *rowid, lowest + needed + SLACK)?;
            }
            highest = rowid.saturating_sub(needed);
        }
        let by_time = key.0.saturating_neg() >> ROWID_SHIFT;
        rowids.push(by_time.clamp(lowest, highest));
    }
    Ok(rowids)
}

/// Moves the email at `rowid` to `to`, and those in between further down.
fn shift_rowids(transaction: &Transaction, rowid: i64, to: i64) -> Result<i64> {
    let mut free = to;
    let mut moves: Vec<(i64, i64, SortKey)> = Vec::new();
    {
        let mut statement = transaction.prepare_cached(KEYS_FROM_ROWID)?;
        let mut rows = statement.query([rowid])?;
        while let Some(row) = rows.next()? {
            let from: i64 = row.get()?;
            if from >= free {
                break;
            }
            moves.push((from, free, row.get()?));
            free += 1;
        }
    }
    for (from, to, key) in moves.into_iter().rev() {
        transaction.execute(SET_ROWID, params![key, to])?;
        transaction.execute("DELETE FROM search WHERE rowid = ?1", [from])?;
        let mark = "INSERT INTO dirty VALUES (?1) ON CONFLICT DO NOTHING";
        transaction.execute(mark, [key])?;
    }
    Ok(to)
}

/// Indexes the emails that changed in this transaction.
///
/// It goes on until none is dirty, since emails that move for new rowids become dirty. Emails are
/// indexed in the order of the list: FTS5 writes a segment for each smaller rowid.
pub(crate) fn reindex_dirty(transaction: &Transaction) -> Result<()> {
    loop {
        let keys = dirty_keys(transaction, TOP, BOTTOM)?;
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
            return Ok(());
        };
        let params = keys.iter().map(|key| [*key]);
        let with_rowid = transaction.optional_each(ROWID_BY_KEY, params, |_| Ok(()))?;
        let keys_with = keys.iter().zip(with_rowid);
        let without_rowid: Vec<SortKey> = keys_with
            .filter_map(|(key, found)| found.is_none().then_some(*key))
            .collect();
        let rowids = assign_rowids(transaction, &without_rowid)?;
        for (key, rowid) in without_rowid.iter().zip(rowids) {
            transaction.execute(SET_ROWID, params![key, rowid])?;
        }
        let mut index = Index::new(transaction);
        // Emails that had to move for the new rowids may be dirty now.
        for keys in dirty_keys(transaction, *first, *last)?.chunks(READ_TOGETHER) {
            index.replace_stored(keys)?;
        }
        let delete = "DELETE FROM dirty WHERE sort_key BETWEEN ?1 AND ?2";
        transaction.execute(delete, [first, last])?;
    }
}

fn dirty_keys(transaction: &Transaction, first: SortKey, last: SortKey) -> Result<Vec<SortKey>> {
    transaction.values(DIRTY_KEYS, [first, last])
}

/// Erases the tokens of deleted emails, and interned values that no email has.
///
/// To delete an email from an FTS5 index only marks its tokens as deleted.
pub(crate) fn erase_deleted(writer: &Connection) -> Result<()> {
    let transaction = writer.begin(TransactionKind::Write)?;
    let values: Vec<(i64, String, String)> =
        transaction.all("SELECT id, kind, value FROM interned", [], |row| {
            Ok((row.get()?, row.get()?, row.get()?))
        })?;
    for (id, kind, value) in values {
        let token = match kind.strip_prefix("tag=") {
            Some(name) => tag_value_token(name, &normalize(&value)),
            None if kind == interned::STORED_SENDER => continue,
            None if kind == interned::TAG => tag_name_token(&normalize(&value)),
            None if kind == interned::STATUS => status_token(&Status::parse(&value)),
            None => interned_token(id),
        };
        let sql = "DELETE FROM interned WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM search WHERE search MATCH ?2)";
        let token = FtsExpr::Token(token).to_match_text(&transaction);
        transaction.execute(sql, params![id, token])?;
    }
    let sql = "DELETE FROM interned WHERE kind = ?1 AND id NOT IN (SELECT sender FROM mail WHERE typeof(sender) = 'integer')";
    transaction.execute(sql, [interned::STORED_SENDER])?;
    if let Ok(sqlite) = transaction.sqlite() {
        sqlite.execute_batch("INSERT INTO search (search) VALUES ('optimize')")?;
    }
    transaction.commit()
}

/// Merges segments of the index, at most about `MERGED_PAGES`;
/// false if there is nothing left to merge.
///
/// Each segment costs a search a few microseconds for each token. `start` takes all segments, and
/// later calls continue.
pub(crate) fn merge_segments(writer: &Connection, start: bool) -> Result<bool> {
    /// Other writers wait for about a tenth of a second.
    const MERGED_PAGES: i64 = 500;
    let Ok(sqlite) = writer.sqlite() else {
        return Ok(false);
    };
    let before = sqlite.total_changes();
    let pages = if start { -MERGED_PAGES } else { MERGED_PAGES };
    let merge = "INSERT INTO search (search, rank) VALUES ('merge', ?1)";
    writer.execute(merge, [pages])?;
    // The statement itself is one change (https://sqlite.org/fts5.html#the_merge_command).
    Ok(sqlite.total_changes() - before >= 2)
}

/// The sum of a hash of each token with its rowid, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct TokenChecksum {
    tokens: u64,
    hashes: u64,
}

impl TokenChecksum {
    fn add(&mut self, rowid: i64, token: &[u8]) {
        let mut hasher = DefaultHasher::new();
        (rowid, token).hash(&mut hasher);
        self.tokens += 1;
        self.hashes = self.hashes.wrapping_add(hasher.finish());
    }
}

/// Compares the index with the tokens that the emails should have.
pub(crate) struct IndexChecksum<'a> {
    index: Index<'a>,
    /// Whether all addresses are interned.
    all_interned: bool,
    checksum: TokenChecksum,
}

impl<'a> IndexChecksum<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Result<Self> {
        let all_interned = interned::capacity(connection, interned::FROM)? > 0
            && interned::capacity(connection, interned::REPLY_TO)? > 0;
        Ok(Self {
            index: Index::with_interned(connection),
            all_interned,
            checksum: TokenChecksum::default(),
        })
    }

    pub(crate) fn add(
        &mut self,
        key: SortKey,
        rowid: i64,
        summary: Summary,
        email: Option<&wire::Email>,
    ) -> Result<()> {
        let email = TokenizedEmail::from_parts(key, summary, email);
        self.index.collect_tokens(&email)?;
        let text = self.index.stored_tokens().to_ascii_lowercase();
        let most = fts_engine(self.index.connection).max_token_chars;
        let mut seen = HashSet::new();
        // As the tokenizer `ascii` splits.
        for token in text.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric()) {
            let token = first_chars(token, most).as_bytes();
            let token = &token[..token.len().min(MAX_TOKEN_BYTES)];
            if !token.is_empty() && is_compared(token, self.all_interned) && seen.insert(token) {
                self.checksum.add(rowid, token);
            }
        }
        Ok(())
    }

    /// Whether the index has exactly these tokens. Reads the whole index.
    pub(crate) fn matches_index(&self) -> Result<bool> {
        create_terms(self.index.connection)?;
        let mut found = TokenChecksum::default();
        let mut statement = self.index.connection.prepare_cached(ALL_TERMS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let rowid = row.get()?;
            let token = row.get_ref()?.as_bytes().map_err(rusqlite::Error::from)?;
            if is_compared(token, self.all_interned) {
                found.add(rowid, token);
            }
        }
        Ok(found == self.checksum)
    }
}

/// Whether a token does not depend on when its email was indexed.
///
/// The tokens of an address do, if not all addresses are interned.
fn is_compared(token: &[u8], all_interned: bool) -> bool {
    let of_addresses = [
        prefix::INTERNED,
        prefix::SENDER,
        prefix::RECIPIENT,
        prefix::MAILBOX,
    ];
    all_interned
        || token
            .first()
            .is_none_or(|first| !of_addresses.contains(&char::from(*first)))
}
