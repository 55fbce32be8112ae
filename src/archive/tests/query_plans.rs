//! The query plans of the archive's frequent statements.

use crate::archive::listing::{confirmations, coverage, page, position};
use crate::archive::storage::db::{Connection, Row};
use crate::archive::{bodies, incoming, storage, window};

/// Returns the steps by which `SQLite` runs a statement.
pub(crate) fn explain(connection: &Connection, sql: &str) -> Vec<String> {
    let has = |number: &usize| sql.contains(&format!("?{number}"));
    let params = vec!["1"; (1..10).take_while(has).count()];
    let query = format!("EXPLAIN QUERY PLAN {sql}");
    let detail = |row: &Row| {
        let _before: (i64, i64, i64) = (row.get()?, row.get()?, row.get()?);
        row.get()
    };
    connection.all(&query, params, detail).unwrap()
}

fn tables() -> Connection {
    let connection = Connection::in_memory();
    storage::create_tables(&connection).unwrap();
    connection
}

#[test]
fn hot_queries_use_an_index() {
    let connection = tables();
    let hot = [
        window::PAST.older,
        window::PAST.newer,
        window::BY_ID,
        window::COUNT_NEWER,
        window::OBSERVED,
        incoming::EXISTING,
        incoming::FIELDS_BY_KEY,
        bodies::STORED_BY_ID,
        page::LISTED_PAGE.older,
        page::LISTED_PAGE.newer,
        position::KEY_EXISTS,
        position::KEYS_BELOW,
        coverage::COUNT_LISTED,
        coverage::NTH_LISTED.older,
        coverage::NTH_LISTED.newer,
        confirmations::OVERLAPPING,
        confirmations::NEXT_RUN_ABOVE,
        confirmations::NEXT_RUN_BELOW,
        confirmations::LISTED_FROM,
    ];
    for sql in hot {
        let steps = explain(&connection, sql);
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
