//! SQL that differs in PostgreSQL, where `postgres.sql` does not make up for it.

/// Fragments that differ, with their form in PostgreSQL.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "INSERT OR REPLACE INTO search (rowid, tokens) VALUES (?1, ?2)",
        "INSERT INTO search (rowid, tokens) VALUES (?1, ?2) ON CONFLICT (rowid) DO UPDATE SET tokens = excluded.tokens",
    ),
    (
        "iif(typeof(sender) = 'integer', (SELECT value FROM interned WHERE id = sender), sender)",
        "iif(typeof(sender) = 'integer', (SELECT value FROM interned WHERE id = integer_of(sender)), text_of(sender))",
    ),
    (
        "(SELECT sender FROM mail WHERE typeof(sender) = 'integer')",
        "(SELECT integer_of(sender) FROM mail WHERE typeof(sender) = 'integer')",
    ),
    (
        "iif(json_valid(extra_json), extra_json -> '$.bounce', NULL)",
        "bounce_of(extra_json)",
    ),
    // The server checks its own pages and references.
    ("PRAGMA integrity_check(1)", "SELECT 'ok'"),
    (" + (SELECT count(*) FROM pragma_foreign_key_check)", ""),
    // It drops partitions that have nothing else.
    (
        "DELETE FROM mail WHERE sort_key > ?1",
        "SELECT delete_older(?1)",
    ),
    (
        "SELECT doc, term FROM temp.search_term",
        "SELECT rowid, lexeme FROM search, unnest(tokens)",
    ),
    (" INDEXED BY mail_missing_upstream", ""),
    (" INDEXED BY mail_status_changes", ""),
    ("search MATCH ?1", "tokens @@ ?1::text::tsquery"),
    ("search MATCH ?2", "tokens @@ ?2::text::tsquery"),
    ("search MATCH ?5", "tokens @@ ?5::text::tsquery"),
];

/// Returns the statement as PostgreSQL takes it.
pub(super) fn to_postgres(sql: &str) -> String {
    let mut text = sql.to_owned();
    for (ours, theirs) in DIFFERENT {
        if text.contains(ours) {
            text = text.replace(ours, theirs);
        }
    }
    // A question mark is not an operator in any statement of ours.
    text.replace('?', "$")
}
