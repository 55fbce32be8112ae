//! One connection type over two databases:
//! `SQLite`, and PostgreSQL for an archive that an organisation shares.
//!
//! Statements are written once, in what both dialects have in common, with parameters `?1` as
//! `SQLite` writes them. The schemas make up for most differences (`schema.sql`, `postgres.sql`);
//! `postgres/dialect.rs` rewrites the few texts that still differ. Values are those of `rusqlite`
//! for both.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;

use rusqlite::ToSql;
use rusqlite::types::{FromSql, ValueRef};

#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(not(feature = "postgres"))]
#[path = "no_postgres.rs"]
pub(crate) mod postgres;

use tokio_util::sync::CancellationToken;

use self::postgres::{PostgresConnection, PostgresRow, PostgresRows, PostgresStatement};
use crate::archive::storage::error::archive_error;
use crate::error::Result;

/// The most characters of a token of a `tsvector`: PostgreSQL takes 2,046 bytes.
pub(crate) const MAX_TSVECTOR_TOKEN: usize = 500;

/// `SQLite` instructions between two checks for cancellation:
/// a fraction of a millisecond.
const PROGRESS_STEPS: i32 = 10_000;

pub(crate) enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(Box<PostgresConnection>),
}

impl From<PostgresConnection> for Connection {
    fn from(conn: PostgresConnection) -> Self {
        Self::Postgres(Box::new(conn))
    }
}

impl Connection {
    /// Opens an empty database of `SQLite`.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Self {
        Self::Sqlite(rusqlite::Connection::open_in_memory().unwrap())
    }

    /// Prepares a statement, which stays prepared for the next time.
    pub(crate) fn prepare_cached(&self, sql: &str) -> Result<Statement<'_>> {
        Ok(match self {
            Self::Sqlite(conn) => Statement::Sqlite(conn.prepare_cached(sql)?),
            Self::Postgres(conn) => Statement::Postgres(conn.prepare(sql)?),
        })
    }

    /// Runs a statement that changes rows.
    /// An error of a server may be reported by a later call.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<()> {
        self.prepare_cached(sql)?.execute(params)
    }

    /// Runs a statement that changes rows; returns how many it changed.
    pub(crate) fn execute_counted(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.prepare_cached(sql)?.execute_counted(params)
    }

    /// Returns the first column of the first row; no row is an error.
    pub(crate) fn value<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<T> {
        self.one(sql, params, first_column)
    }

    /// Returns the first column of the first row, if there is one.
    pub(crate) fn optional_value<T: FromSql>(
        &self,
        sql: &str,
        params: impl Params,
    ) -> Result<Option<T>> {
        self.optional(sql, params, first_column)
    }

    /// Returns the first column of all rows.
    pub(crate) fn values<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<Vec<T>> {
        self.all(sql, params, first_column)
    }

    /// Returns the first row; no row is an error.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let row = self.optional(sql, params, map)?;
        row.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
    }

    pub(crate) fn optional<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.prepare_cached(sql)?.first(params, map)
    }

    /// Returns the first row for each of the parameters, if there is one.
    /// A server gets all requests at once.
    pub(crate) fn optional_each<T>(
        &self,
        sql: &str,
        each: impl IntoIterator<Item = impl Params>,
        mut map: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<Option<T>>> {
        let each = each.into_iter();
        let mut prepared = self.prepare_cached(sql)?;
        let Statement::Postgres(statement) = &prepared else {
            let rows = each.map(|params| prepared.first(params, &mut map));
            return rows.collect();
        };
        let all = each.map(|params| params.with_values(|values| statement.parameters(values)));
        let rows = statement.first_of_each(&all.collect::<Result<Vec<_>>>()?)?;
        let mut map = |row| map(&Row::new(RowValues::Postgres(row)));
        let rows = rows.into_iter().map(|row| row.map(&mut map).transpose());
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut map: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.prepare_cached(sql)?;
        let mut found = Vec::new();
        let mut visit = |row: &Row| map(row).map(|value| found.push(value));
        params.with_values(|values| statement.visit(values, usize::MAX, &mut visit))?;
        Ok(found)
    }

    /// Runs statements without parameters, in the dialect of the database.
    pub(crate) fn execute_batch(&self, sql: &str) -> Result<()> {
        match self {
            Self::Sqlite(conn) => Ok(conn.execute_batch(sql)?),
            Self::Postgres(conn) => conn.execute_batch(sql),
        }
    }

    /// Returns the number that the database has given to the row that was inserted
    /// last.
    pub(crate) fn last_insert_rowid(&self) -> Result<i64> {
        match self {
            Self::Sqlite(conn) => Ok(conn.last_insert_rowid()),
            Self::Postgres(_) => self.value("SELECT lastval()", []),
        }
    }

    /// Returns the first column of the row `number`, which never changes:
    /// it is read from a server once.
    pub(crate) fn constant(&self, sql: &'static str, number: i64) -> Result<Arc<Vec<u8>>> {
        let load = || self.value(sql, [number]).map(Arc::new);
        match self {
            Self::Sqlite(_) => load(),
            Self::Postgres(conn) => conn.constant((sql, number), load),
        }
    }

    /// Runs `query`, for which PostgreSQL finds rows by their conditions and does not
    /// walk through all of them in an order until some meet the conditions: it does not know how
    /// long that takes.
    pub(crate) fn without_walks<T>(&self, query: impl FnOnce() -> Result<T>) -> Result<T> {
        let Self::Postgres(conn) = self else {
            return query();
        };
        conn.send_batch("SET LOCAL enable_indexscan = off; SET LOCAL enable_seqscan = off")?;
        let result = query()?;
        conn.send_batch("SET LOCAL enable_indexscan = on; SET LOCAL enable_seqscan = on")?;
        Ok(result)
    }

    /// The connection for what only `SQLite` has.
    pub(crate) fn sqlite(&self) -> Result<&rusqlite::Connection> {
        match self {
            Self::Sqlite(conn) => Ok(conn),
            Self::Postgres(_) => Err(archive_error(
                "an archive in PostgreSQL has no file",
                "use the tools of the database: pg_dump, pg_amcheck",
            )),
        }
    }

    /// Runs `work`, whose statements fail once `cancel` is cancelled.
    pub(crate) fn run_cancellable(
        &mut self,
        cancel: &CancellationToken,
        work: &mut dyn FnMut(&Self) -> Result<()>,
    ) -> Result<()> {
        if let Self::Postgres(conn) = &*self {
            let _watch = conn.cancel_with(cancel);
            return work(self);
        }
        if let Self::Sqlite(conn) = self {
            let watched = cancel.clone();
            conn.progress_handler(PROGRESS_STEPS, Some(move || watched.is_cancelled()))?;
        }
        let result = work(self);
        if let Self::Sqlite(conn) = self {
            conn.progress_handler(0, None::<fn() -> bool>)?;
        }
        result
    }

    /// Whether its server can no longer be reached through it.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Postgres(conn) if conn.is_closed())
    }

    pub(in crate::archive::storage) const fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Begins a transaction, which is undone unless it is committed.
    pub(crate) fn begin(&self, kind: TransactionKind) -> Result<Transaction<'_>> {
        match self {
            Self::Sqlite(conn) => conn.execute_batch(match kind {
                TransactionKind::Read => "BEGIN DEFERRED",
                TransactionKind::Write => "BEGIN IMMEDIATE",
            })?,
            Self::Postgres(conn) => conn.send_batch(match kind {
                TransactionKind::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                // It takes turns with other writers: a transaction of ours reads what it changes.
                TransactionKind::Write => {
                    "BEGIN; SELECT pg_advisory_xact_lock(hashtext(current_setting('search_path')), 1)"
                }
            })?,
        }
        Ok(Transaction {
            conn: self,
            is_open: true,
        })
    }
}

/// Whether a transaction only reads, or writes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionKind {
    /// It sees one state of the database.
    Read,
    /// No other one writes at the same time.
    Write,
}

pub(crate) struct Transaction<'a> {
    conn: &'a Connection,
    is_open: bool,
}

impl Transaction<'_> {
    /// Makes its changes permanent.
    pub(crate) fn commit(mut self) -> Result<()> {
        self.conn.execute_batch("COMMIT")?;
        self.is_open = false;
        Ok(())
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // It fails if the database has undone it already.
            let _ = self.conn.execute_batch("ROLLBACK");
        }
    }
}

pub(crate) enum Statement<'a> {
    Sqlite(rusqlite::CachedStatement<'a>),
    Postgres(PostgresStatement<'a>),
}

impl Statement<'_> {
    pub(crate) fn execute(&mut self, params: impl Params) -> Result<()> {
        params.with_values(|values| match self {
            Self::Sqlite(statement) => Ok(statement.execute(values).map(drop)?),
            Self::Postgres(statement) => statement.execute(values),
        })
    }

    pub(crate) fn execute_counted(&mut self, params: impl Params) -> Result<usize> {
        params.with_values(|values| match self {
            Self::Sqlite(statement) => Ok(statement.execute(values)?),
            Self::Postgres(statement) => statement.execute_counted(values),
        })
    }

    /// Runs a query whose rows are read one by one. Other statements may run meanwhile.
    pub(crate) fn query(&mut self, params: impl Params) -> Result<Rows<'_>> {
        params.with_values(|values| {
            Ok(match self {
                Self::Sqlite(statement) => Rows::Sqlite(statement.query(values)?),
                Self::Postgres(statement) => Rows::Postgres(statement.query(values)?),
            })
        })
    }

    /// Visits the rows of a query, at most `most`.
    /// It is not generic, because it would be compiled for each query.
    fn visit(
        &mut self,
        values: &[&dyn ToSql],
        most: usize,
        visit: &mut dyn FnMut(&Row) -> rusqlite::Result<()>,
    ) -> Result<()> {
        match self {
            Self::Sqlite(statement) => {
                let mut rows = statement.query(values)?;
                for _ in 0..most {
                    let Some(row) = rows.next()? else { break };
                    visit(&Row::new(RowValues::Sqlite(row)))?;
                }
            }
            Self::Postgres(statement) => {
                for row in statement.all(values)?.into_iter().take(most) {
                    visit(&Row::new(RowValues::Postgres(row)))?;
                }
            }
        }
        Ok(())
    }

    fn first<T>(
        &mut self,
        params: impl Params,
        mut map: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        let mut visit = |row: &Row| map(row).map(|value| found = Some(value));
        params.with_values(|values| self.visit(values, 1, &mut visit))?;
        Ok(found)
    }

    pub(crate) fn exists(&mut self, params: impl Params) -> Result<bool> {
        Ok(self.first(params, |_| Ok(()))?.is_some())
    }
}

pub(crate) enum Rows<'a> {
    Sqlite(rusqlite::Rows<'a>),
    Postgres(PostgresRows<'a>),
}

impl Rows<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>> {
        let values = match self {
            Self::Sqlite(rows) => rows.next()?.map(RowValues::Sqlite),
            Self::Postgres(rows) => rows.next()?.map(RowValues::Postgres),
        };
        Ok(values.map(Row::new))
    }
}

/// A row, whose columns are read in their order.
pub(crate) struct Row<'a> {
    values: RowValues<'a>,
    next: Cell<usize>,
}

enum RowValues<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(PostgresRow),
}

impl<'a> Row<'a> {
    const fn new(values: RowValues<'a>) -> Self {
        Self {
            values,
            next: Cell::new(0),
        }
    }

    /// Reads the next column.
    pub(crate) fn get<T: FromSql>(&self) -> rusqlite::Result<T> {
        Ok(T::column_result(self.get_ref()?)?)
    }

    pub(crate) fn get_ref(&self) -> rusqlite::Result<ValueRef<'_>> {
        let column = self.next.get();
        self.next.set(column + 1);
        match &self.values {
            RowValues::Sqlite(row) => row.get_ref(column),
            RowValues::Postgres(row) => row.get_ref(column),
        }
    }
}

fn first_column<T: FromSql>(row: &Row) -> rusqlite::Result<T> {
    row.get()
}

/// The values of the parameters of a statement.
pub(crate) trait Params {
    fn with_values<T>(self, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T;
}

impl Params for &[&dyn ToSql] {
    fn with_values<T>(self, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
        run(self)
    }
}

impl Params for [&dyn ToSql; 0] {
    fn with_values<T>(self, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
        run(&self)
    }
}

macro_rules! params_of_arrays {
    ($($len:literal)*) => {
        $(impl<V: ToSql> Params for [V; $len] {
            fn with_values<T>(self, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
                run(&self.each_ref().map(|value| value as &dyn ToSql))
            }
        })*
    };
}
params_of_arrays!(1 2 3 4);

impl<V: ToSql> Params for Vec<V> {
    fn with_values<T>(self, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
        let values: Vec<&dyn ToSql> = self.iter().map(|value| value as &dyn ToSql).collect();
        run(&values)
    }
}

/// Writes so many parameters from the number `first` on, separated by commas.
pub(crate) fn parameter_marks(first: usize, count: usize) -> String {
    let marks: Vec<String> = (first..first + count)
        .map(|number| format!("?{number}"))
        .collect();
    marks.join(", ")
}

/// Parameters of several types.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$(&$value as &dyn ::rusqlite::ToSql),*] as &[&dyn ::rusqlite::ToSql]
    };
}
pub(crate) use params;
