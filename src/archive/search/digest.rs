//! Compares the search index with the emails: a sum over all tokens, equal if both hold the same ones.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rusqlite::Connection;

use super::index::Index;
use super::interned;
use super::tokens::kind;
use crate::api::wire;
use crate::error::Error;
use crate::mail::Summary;

/// `SQLite` keeps no more bytes of a token.
const MAX_TOKEN_BYTES: usize = 32_768;

/// The sum of a hash of each token with its slot. It takes no memory, whatever the number of tokens,
/// and does not depend on their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct TokenChecksum {
    tokens: u64,
    hashes: u64,
}

impl TokenChecksum {
    fn add(&mut self, slot: i64, token: &[u8]) {
        let mut hasher = DefaultHasher::new();
        (slot, token).hash(&mut hasher);
        self.tokens += 1;
        self.hashes = self.hashes.wrapping_add(hasher.finish());
    }
}

/// Sums up the tokens that the emails should have in the index.
pub(in crate::archive) struct IndexChecksum<'a> {
    connection: &'a Connection,
    index: Index<'a>,
    all_interned: bool,
    checksum: TokenChecksum,
}

impl<'a> IndexChecksum<'a> {
    pub(in crate::archive) fn new(connection: &'a Connection) -> Result<Self, Error> {
        let has_all_labels = interned::has_capacity(connection, interned::FROM)?
            && interned::has_capacity(connection, interned::REPLY_TO)?;
        Ok(Self {
            connection,
            index: Index::read_only(connection),
            all_interned: has_all_labels,
            checksum: TokenChecksum::default(),
        })
    }

    /// Adds an email.
    pub(in crate::archive) fn add(
        &mut self,
        slot: i64,
        mail: &Summary,
        changed: bool,
        whole: Option<&wire::Email>,
    ) -> Result<(), Error> {
        let text = self
            .index
            .expected_tokens(mail, changed, whole)?
            .to_ascii_lowercase();
        let mut met = HashSet::new();
        // As the tokenizer `ascii` cuts.
        for token in text
            .as_bytes()
            .split(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric())
        {
            let token = &token[..token.len().min(MAX_TOKEN_BYTES)];
            if !token.is_empty() && is_compared(token, self.all_interned) && met.insert(token) {
                self.checksum.add(slot, token);
            }
        }
        Ok(())
    }

    /// Whether the index holds these tokens and no others. Reads all of it.
    pub(in crate::archive) fn matches_index(&self) -> Result<bool, Error> {
        // The table is one of this connection alone.
        self.connection.pragma_update(None, "query_only", false)?;
        self.connection.execute_batch("CREATE VIRTUAL TABLE IF NOT EXISTS temp.search_terms USING fts5vocab(main, search, instance)")?;
        let mut found = TokenChecksum::default();
        {
            let mut statement = self
                .connection
                .prepare("SELECT doc, term FROM temp.search_terms")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let token = row.get_ref(1)?.as_bytes().map_err(rusqlite::Error::from)?;
                if is_compared(token, self.all_interned) {
                    found.add(row.get(0)?, token);
                }
            }
        }
        self.connection
            .execute_batch("DROP TABLE temp.search_terms")?;
        self.connection.pragma_update(None, "query_only", true)?;
        Ok(found == self.checksum)
    }
}

/// Where there were too many addresses for labels, whether an email has a label or the parts of an address
/// depends on when it was indexed; then these tokens are left out.
fn is_compared(token: &[u8], has_all_labels: bool) -> bool {
    let by_label = [kind::LABEL, kind::SENDER, kind::RECIPIENT];
    has_all_labels
        || token
            .first()
            .is_none_or(|first| !by_label.contains(&char::from(*first)))
}
