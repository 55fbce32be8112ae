//! The query plans of the archive's frequent statements.

use crate::archive::listing::{confirmations, coverage, deletions, page, position};
use crate::archive::storage::db::Connection;
use crate::archive::{bodies, incoming, storage, window};

#[test]
fn hot_queries_use_an_index() {
    let connection = Connection::in_memory();
    storage::create_tables(&connection).unwrap();
    let connection = connection.sqlite().unwrap();
    let hot = [
        window::PAST[0],
        window::PAST[1],
        window::BY_ID,
        window::COUNT_NEWER,
        window::OBSERVED,
        incoming::EXISTING,
        incoming::FIELDS_BY_KEY,
        bodies::BODY_BY_ID,
        bodies::STORED_BY_ID,
        page::LISTED_PAGE[0],
        page::LISTED_PAGE[1],
        position::KEY_EXISTS,
        position::KEYS_BELOW,
        coverage::COUNT_LISTED,
        coverage::NTH_LISTED[0],
        coverage::NTH_LISTED[1],
        confirmations::OVERLAPPING,
        confirmations::NEXT_RUN_ABOVE,
        confirmations::NEXT_RUN_BELOW,
        confirmations::LISTED_FROM,
    ];
    for sql in hot {
        let mut statement = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let steps: Vec<String> = statement
            .query_map(
                rusqlite::params_from_iter(vec![1; parameters(sql)]),
                |row| row.get(3),
            )
            .unwrap()
            .map(Result::unwrap)
            .collect();
        // There are a few covered ranges, at most.
        let walks = |step: &String| {
            !step.starts_with("SCAN")
                || step == "SCAN covered_range"
                || step == "SCAN found"
                || step.contains("CONSTANT ROW")
                || step.contains("subquery")
        };
        assert!(
            steps.iter().all(walks) && !steps.iter().any(|step| step.contains("TEMP")),
            "{sql}: {steps:?}"
        );
        assert!(
            steps.iter().any(|step| step.starts_with("SEARCH")),
            "{sql}: {steps:?}"
        );
    }
}

#[test]
fn counting_uses_the_small_index() {
    let connection = Connection::in_memory();
    storage::create_tables(&connection).unwrap();
    let connection = connection.sqlite().unwrap();
    let mut statement = connection
        .prepare(&format!("EXPLAIN QUERY PLAN {}", window::COUNT_NEWER))
        .unwrap();
    let step: String = statement.query_row([1], |row| row.get(3)).unwrap();
    assert!(
        step.contains("USING COVERING INDEX mail_by_fts_rowid"),
        "{step}"
    );
}

#[test]
fn unconfirmed_deletions_use_partial_index() {
    let connection = Connection::in_memory();
    storage::create_tables(&connection).unwrap();
    let connection = connection.sqlite().unwrap();
    let mut statement = connection
        .prepare(&format!("EXPLAIN QUERY PLAN {}", deletions::UNCONFIRMED))
        .unwrap();
    let step: String = statement.query_row([1, 1], |row| row.get(3)).unwrap();
    assert!(step.contains("INDEX mail_missing_upstream"), "{step}");
}

fn parameters(sql: &str) -> usize {
    (1..10)
        .take_while(|number| sql.contains(&format!("?{number}")))
        .count()
}
