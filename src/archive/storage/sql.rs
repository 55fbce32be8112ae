//! Short forms of the calls that run one cached statement.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::error::Result;

/// Runs a statement that changes rows; returns how many it changed.
pub(crate) fn execute(conn: &Connection, sql: &str, params: impl Params) -> Result<usize> {
    Ok(conn.prepare_cached(sql)?.execute(params)?)
}

/// Returns the first column of the first row; no row is an error.
pub(crate) fn value<T: FromSql>(conn: &Connection, sql: &str, params: impl Params) -> Result<T> {
    one(conn, sql, params, |row| row.get(0))
}

/// Returns the first column of the first row, if there is one.
pub(crate) fn optional_value<T: FromSql>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Option<T>> {
    optional(conn, sql, params, |row| row.get(0))
}

/// Returns the first row; no row is an error.
pub(crate) fn one<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnOnce(&Row) -> rusqlite::Result<T>,
) -> Result<T> {
    Ok(conn.prepare_cached(sql)?.query_row(params, map)?)
}

/// Returns the first row, if there is one.
pub(crate) fn optional<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnOnce(&Row) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    let mut statement = conn.prepare_cached(sql)?;
    Ok(statement.query_row(params, map).optional()?)
}

/// Returns all rows.
pub(crate) fn all<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnMut(&Row) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, map)?;
    Ok(rows.collect::<Result<_, _>>()?)
}
