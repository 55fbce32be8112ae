//! The starts of words in an expression become the words that the index has,
//! where these are few.
//!
//! FTS5 collects all emails of a prefix before it returns the first one. An `OR` of tokens finds
//! the same emails one by one, and a start that no token has is known to find nothing. The
//! expression is only valid in the transaction in which it is made: a later email may have a new
//! word. [`super::plan`] makes it, and gets the expressions that find few emails from here.

use std::collections::HashMap;

use super::fts_engine::fts_engine;
use super::fts_expr::{FtsExpr, is_costly_prefix};
use super::tokens::{PREFIX_CHARS, prefix};
use crate::archive::storage::db::{Connection, params};
use crate::error::Result;

/// Each token costs a look-up, and is one more list to merge.
pub(super) const MAX_TOKENS: usize = 32;

const HAS_TERMS: &str = "SELECT 1 FROM temp.sqlite_schema WHERE name = 'search_term'";
/// FTS5 seeks the first of them;
/// with a number of rows for each token, it would count these.
/// (<https://www.sqlite.org/fts5.html#the_fts5vocab_virtual_table_module>)
const CREATE_TERMS: &str =
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.search_term USING fts5vocab(main, search, instance)";
/// Reads each token of each email.
pub(super) const ALL_TERMS: &str = "SELECT doc, term FROM temp.search_term";
const FIRST_TERM: &str =
    "SELECT term FROM temp.search_term WHERE term >= ?1 AND term < ?2 ORDER BY term LIMIT 1";

/// To compare so many candidates takes less time than to collect the emails of a
/// letter, which may be nearly all. The archives of tests are small, and have queries with more and
/// with fewer.
const FEW_CANDIDATES: i64 = if cfg!(test) { 20 } else { 4000 };

/// So many emails of a start of a word are collected within some milliseconds.
const FEW_COLLECTED: i64 = 50_000;

pub(super) const COUNT_UP_TO: &str =
    "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ?1 LIMIT ?2) AS found";

/// Starts of words, each with the expression that finds the same emails.
pub(super) type KnownStarts = HashMap<String, FtsExpr>;

/// Replaces starts of words and of pairs in an expression by the tokens that begin
/// so. Starts of words of [`PREFIX_CHARS`] characters or fewer stay.
///
/// Adds each of these starts to `known`, where it is not there yet.
pub(super) fn expand_prefixes(
    expr: FtsExpr,
    connection: &Connection,
    known: &mut KnownStarts,
) -> Result<FtsExpr> {
    if !fts_engine(connection).collects_prefixes || !expr.has_prefix(&is_expanded) {
        return Ok(expr);
    }
    create_terms(connection)?;
    expr.map_prefixes(&mut |start| {
        if !is_expanded(&start) {
            return Ok(FtsExpr::Prefix(start));
        }
        if let Some(expanded) = known.get(&start) {
            return Ok(expanded.clone());
        }
        let expanded = match find_tokens(&start, connection)? {
            Some(tokens) => FtsExpr::or(tokens.into_iter().map(FtsExpr::Token)),
            None => FtsExpr::Prefix(start.clone()),
        };
        known.insert(start, expanded.clone());
        Ok(expanded)
    })
}

/// Shorter starts of words have too many tokens.
fn is_expanded(start: &str) -> bool {
    let headers = [
        prefix::SUBJECT_WORD,
        prefix::SUBJECT_WORDS,
        prefix::RECIPIENT_WORD,
        prefix::DOMAIN,
    ];
    start.starts_with(prefix::PAIR)
        || (start.starts_with([prefix::WORD, prefix::COMPOUND])
            && start.chars().count() > PREFIX_CHARS + 1)
        || (start.starts_with(headers) && start.chars().count() > PREFIX_CHARS)
}

/// Creates the table of tokens, which exists as long as the connection;
/// false if the database has no list of them. That of PostgreSQL reads them from each email.
pub(super) fn create_terms(connection: &Connection) -> Result<bool> {
    let Connection::Sqlite(sqlite) = connection else {
        return Ok(false);
    };
    if connection.optional(HAS_TERMS, [], |_| Ok(()))?.is_some() {
        return Ok(true);
    }
    let is_read_only: bool = sqlite.pragma_query_value(None, "query_only", |row| row.get(0))?;
    sqlite.pragma_update(None, "query_only", false)?;
    let created = sqlite.execute_batch(CREATE_TERMS);
    sqlite.pragma_update(None, "query_only", is_read_only)?;
    created?;
    Ok(true)
}

/// Finds the tokens with this start; `None` if there are more than [`MAX_TOKENS`].
fn find_tokens(start: &str, connection: &Connection) -> Result<Option<Vec<String>>> {
    let mut tokens: Vec<String> = Vec::new();
    let (mut from, end) = (start.to_owned(), format!("{start}\u{10FFFF}"));
    while let Some(token) = next_token(&from, &end, connection)? {
        if tokens.len() == MAX_TOKENS {
            return Ok(None);
        }
        // No token has this character, so what comes next is another token.
        from = format!("{token}\u{1}");
        tokens.push(token);
    }
    Ok(Some(tokens))
}

/// Finds the first token from `from` on that is before `end`.
pub(super) fn next_token(from: &str, end: &str, connection: &Connection) -> Result<Option<String>> {
    connection.optional_value(FIRST_TERM, [from, end])
}

/// Counts the emails that the index finds, up to `most`.
pub(super) fn count_up_to(expr: &FtsExpr, most: i64, connection: &Connection) -> Result<i64> {
    let params = params![expr.to_match_text(connection), most];
    connection.value(COUNT_UP_TO, params)
}

/// Whether the index finds few emails, and cheaply.
pub(super) fn finds_few(expr: &FtsExpr, connection: &Connection) -> Result<bool> {
    if expr.has_prefix(&is_costly_prefix) {
        let collected = count_up_to(&expr.without_costly_prefixes(), FEW_COLLECTED, connection)?;
        // These are all that `expr` finds, and others.
        if !(FEW_CANDIDATES..FEW_COLLECTED).contains(&collected) {
            return Ok(collected < FEW_CANDIDATES);
        }
    }
    Ok(count_up_to(expr, FEW_CANDIDATES, connection)? < FEW_CANDIDATES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Archive;
    use crate::archive::tests::{at, import_lines, memory};

    fn archive(words: &str) -> Archive {
        let archive = memory();
        let email = serde_json::json!({"object": "email", "id": "1", "to": ["ana@example.com"], "text": words});
        import_lines(&archive, [email.to_string()], at(0));
        archive
    }

    fn expanded(archive: &Archive, start: &str) -> FtsExpr {
        let expr = FtsExpr::Prefix(start.to_owned());
        archive
            .read(|connection| expand_prefixes(expr, connection, &mut KnownStarts::new()))
            .unwrap()
    }

    #[test]
    fn start_of_few_words_becomes_these_words() {
        let archive = archive("receipt receipts received order");
        let words = ["wreceipt", "wreceipts", "wreceived"].map(str::to_owned);
        let expected = FtsExpr::or(words.map(FtsExpr::Token));
        assert_eq!(expanded(&archive, "wrecei"), expected);
        assert_eq!(expanded(&archive, "wreceiptx"), FtsExpr::Nothing);
        let expected = FtsExpr::Prefix("wrec".to_owned());
        assert_eq!(expanded(&archive, "wrec"), expected);
    }

    #[test]
    fn start_of_many_words_stays() {
        let words: Vec<String> = (0..=MAX_TOKENS).map(|n| format!("order{n}")).collect();
        let start = FtsExpr::Prefix("worder".to_owned());
        assert_eq!(expanded(&archive(&words.join(" ")), "worder"), start);
        assert_ne!(expanded(&archive(&words[1..].join(" ")), "worder"), start);
    }

    #[test]
    fn connection_stays_read_only() {
        let archive = archive("receipt");
        let write = archive.read(|connection| {
            let expr = FtsExpr::Prefix("wrecei".to_owned());
            expand_prefixes(expr, connection, &mut KnownStarts::new())?;
            connection.execute("DELETE FROM mail", [])
        });
        assert!(write.is_err());
    }
}
