//! `FtsEngine`: in what the full-text engines of the two databases differ,
//! as far as a search depends on it.

use crate::archive::storage::db::{Connection, MAX_TSVECTOR_TOKEN};

pub(super) struct FtsEngine {
    /// The operators of its query syntax.
    pub(super) and: &'static str,
    pub(super) or: &'static str,
    pub(super) and_not: &'static str,
    /// The quote around a token, and the operator after the start of tokens.
    pub(super) quote: char,
    pub(super) prefix: &'static str,
    /// Whether it finds emails one by one in the order of the list,
    /// so that the next ones can be read ahead and the others left.
    pub(super) is_ordered: bool,
    /// Whether it collects all emails of a prefix before it returns the first one.
    /// Otherwise it reads them as those of a token.
    pub(super) collects_prefixes: bool,
    /// Rows that are loaded together, at first and at most.
    pub(super) chunk: [usize; 2],
    /// The most tokens of one expression.
    pub(super) max_lookups: usize,
    pub(super) max_token_chars: usize,
    /// The most bytes of the tokens of one email; further tokens are not indexed.
    pub(super) max_bytes: usize,
}

const FTS5: FtsEngine = FtsEngine {
    and: " AND ",
    or: " OR ",
    and_not: " NOT ",
    quote: '"',
    prefix: "*",
    is_ordered: true,
    collects_prefixes: true,
    chunk: [1, 1],
    // Each takes 10 to 60 microseconds and a kilobyte, found or not. This is enough for 5000 words
    // or addresses. Of more, each email is compared with all, which takes minutes.
    max_lookups: 100_000,
    max_token_chars: usize::MAX,
    max_bytes: usize::MAX,
};

/// That of PostgreSQL, with a GIN index.
const TSVECTOR: FtsEngine = FtsEngine {
    and: " & ",
    or: " | ",
    and_not: " & !",
    quote: '\'',
    prefix: ":*",
    is_ordered: false,
    collects_prefixes: false,
    chunk: [16, 128],
    max_lookups: 3000,
    max_token_chars: MAX_TSVECTOR_TOKEN,
    // It takes a megabyte.
    max_bytes: 1_000_000,
};

pub(super) const fn fts_engine(connection: &Connection) -> &'static FtsEngine {
    match connection {
        Connection::Sqlite(_) => &FTS5,
        Connection::Postgres(_) => &TSVECTOR,
    }
}
