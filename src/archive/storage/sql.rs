//! Short forms of the calls that run one cached statement.

use rusqlite::types::FromSql;

use super::db::{Connection, Params, Row};
use crate::error::Result;

/// Runs a statement that changes rows. An error of a server may be reported by a later call.
pub(crate) fn execute(conn: &Connection, sql: &str, params: impl Params) -> Result<()> {
    conn.prepare_cached(sql)?.execute(params)
}

/// Runs a statement that changes rows; returns how many it changed.
pub(crate) fn execute_counted(conn: &Connection, sql: &str, params: impl Params) -> Result<usize> {
    conn.prepare_cached(sql)?.execute_counted(params)
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
    let row = optional(conn, sql, params, map)?;
    row.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
}

/// Returns the first row, if there is one.
pub(crate) fn optional<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnOnce(&Row) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    conn.prepare_cached(sql)?.first(params, map)
}

/// Returns the first row for each of the parameters, if there is one. A server gets all requests at once.
pub(crate) fn optional_each<T>(
    conn: &Connection,
    sql: &str,
    each: impl IntoIterator<Item = impl Params>,
    map: impl FnMut(&Row) -> rusqlite::Result<T>,
) -> Result<Vec<Option<T>>> {
    conn.prepare_cached(sql)?.first_of_each(each, map)
}

/// Returns all rows.
pub(crate) fn all<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnMut(&Row) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    conn.prepare_cached(sql)?.all(params, map)
}
