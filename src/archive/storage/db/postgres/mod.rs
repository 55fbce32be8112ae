//! The driver of PostgreSQL:
//! blocking calls over `tokio-postgres`, with the values of `rusqlite`.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::error::Error as _;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_executor::block_on;
use futures_util::future::try_join_all;
use rusqlite::ToSql;
use rusqlite::types::{Value, ValueRef};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Row as ClientRow, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::sync::CancellationToken;

use self::dialect::to_postgres;
use self::values::{Stored, as_parameters, to_parameters};
use crate::archive::storage::error::{archive_error, write_error};
use crate::error::{Error, ErrorKind, Result};

mod dialect;
mod server;
mod values;

pub(crate) use server::PostgresServer;
#[cfg(test)]
pub(crate) use server::tests;

/// The most statements whose responses are awaited later.
const MAX_PENDING: usize = 512;

/// Rows that a cursor reads at first, and at most.
const FIRST_ROWS: usize = 16;
const MAX_ROWS: usize = 1024;

/// How long a statement may go on once it is cancelled.
/// Most end before, and then the connection can be used again.
const CANCEL_AFTER: Duration = Duration::from_millis(20);

/// The threads that talk to servers.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("postgres")
        .enable_all()
        .build()
        .expect("the system starts a thread")
});

/// The response to a statement that returns no rows.
type Response = Pin<Box<dyn Future<Output = Result<(), tokio_postgres::Error>> + Send>>;

/// A query for a row that never changes, and the number of the row.
type Constant = (&'static str, i64);

pub(crate) struct PostgresConnection {
    client: Arc<Client>,
    tls: MakeRustlsConnect,
    /// Statements that were sent, in their order: see [`PostgresConnection::send`].
    pending: RefCell<Vec<Response>>,
    statements: RefCell<HashMap<String, Statement>>,
    /// A number for each query that had a cursor:
    /// a prepared FETCH keeps the columns of the cursor of that name.
    cursor_numbers: RefCell<HashMap<String, usize>>,
    open_cursors: RefCell<HashSet<String>>,
    constants: RefCell<HashMap<Constant, Arc<Vec<u8>>>>,
    /// Ends the statements of the work that goes on.
    cancel: RefCell<Option<CancellationToken>>,
    /// Whether a request to end a statement was sent:
    /// it may reach the server during a later one.
    has_sent_cancel: Arc<AtomicBool>,
}

impl PostgresConnection {
    pub(crate) fn new(client: Client, tls: MakeRustlsConnect) -> Self {
        Self {
            client: Arc::new(client),
            tls,
            pending: RefCell::default(),
            statements: RefCell::default(),
            cursor_numbers: RefCell::default(),
            open_cursors: RefCell::default(),
            constants: RefCell::default(),
            cancel: RefCell::default(),
            has_sent_cancel: Arc::default(),
        }
    }

    /// Returns a value that never changes, which `load` reads the first time.
    pub(super) fn constant(
        &self,
        key: Constant,
        load: impl FnOnce() -> Result<Arc<Vec<u8>>>,
    ) -> Result<Arc<Vec<u8>>> {
        if let Some(known) = self.constants.borrow().get(&key) {
            return Ok(Arc::clone(known));
        }
        let value = load()?;
        self.constants.borrow_mut().insert(key, Arc::clone(&value));
        Ok(value)
    }

    /// Returns the process at the server that serves this connection.
    pub(crate) fn backend_pid(&self) -> Result<i32> {
        let row = self.run(self.client.query_one("SELECT pg_backend_pid()", &[]))?;
        row.try_get(0).map_err(to_error)
    }

    /// Whether no more work can be done through it.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.has_sent_cancel.load(Ordering::Relaxed)
    }

    /// Ends the statement that runs when `cancel` is cancelled, and refuses later ones,
    /// until the returned value is dropped.
    pub(super) fn cancel_with(&self, cancel: &CancellationToken) -> CancelWatch<'_> {
        *self.cancel.borrow_mut() = Some(cancel.clone());
        let (cancel, token) = (cancel.clone(), self.client.cancel_token());
        let end = CancellationToken::new();
        let ended = end.clone();
        let (tls, has_sent) = (self.tls.clone(), Arc::clone(&self.has_sent_cancel));
        let task = RUNTIME.spawn(async move {
            let is_late = async {
                cancel.cancelled().await;
                sleep(CANCEL_AFTER).await;
            };
            tokio::select! {
                () = ended.cancelled() => {}
                () = is_late => {
                    has_sent.store(true, Ordering::Relaxed);
                    let _ = token.cancel_query(tls).await;
                }
            }
        });
        CancelWatch {
            connection: self,
            end,
            task,
        }
    }

    fn check_cancelled(&self) -> Result<()> {
        match &*self.cancel.borrow() {
            Some(cancel) if cancel.is_cancelled() => {
                Err(archive_error("the work was cancelled", ""))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn prepare(&self, sql: &str) -> Result<PostgresStatement<'_>> {
        Ok(PostgresStatement {
            connection: self,
            statement: self.prepared(sql, "")?,
            sql: sql.to_owned(),
        })
    }

    fn prepared(&self, sql: &str, before: &str) -> Result<Statement> {
        let key = format!("{before}{sql}");
        if let Some(known) = self.statements.borrow().get(&key) {
            return Ok(known.clone());
        }
        let text = format!("{before}{}", to_postgres(sql));
        let statement = self.run(self.client.prepare(&text))?;
        // The rarity of its tokens decides how a search is planned, and the first execution has a
        // plan of its own.
        if !text.contains("tsquery") {
            self.statements.borrow_mut().insert(key, statement.clone());
        }
        Ok(statement)
    }

    /// Returns a name that no open cursor has, and no cursor of another query had.
    fn name_cursor(&self, sql: &str) -> String {
        let mut numbers = self.cursor_numbers.borrow_mut();
        let next = numbers.len();
        let number = *numbers.entry(sql.to_owned()).or_insert(next);
        let open = self.open_cursors.borrow();
        let names = (0..).map(|level| format!("cursor_{number}_{level}"));
        let mut free = names.filter(|name| !open.contains(name));
        free.next().expect("the names do not end")
    }

    pub(super) fn execute_batch(&self, sql: &str) -> Result<()> {
        self.run(self.client.batch_execute(sql))
    }

    /// Runs statements; an error is reported by the next one that waits for its
    /// response.
    pub(crate) fn send_batch(&self, sql: &str) -> Result<()> {
        let (client, sql) = (Arc::clone(&self.client), sql.to_owned());
        self.send(Box::pin(async move { client.batch_execute(&sql).await }))
    }

    fn send_execute(&self, statement: &Statement, values: &[&dyn ToSql]) -> Result<()> {
        let values = to_parameters(values)?;
        let (client, statement) = (Arc::clone(&self.client), statement.clone());
        self.send(Box::pin(async move {
            let parameters = as_parameters(&values);
            client.execute(&statement, &parameters).await.map(drop)
        }))
    }

    /// Sends a statement without waiting for its response:
    /// a server in the network is far away. It runs before all later statements, and if it fails,
    /// these fail until the transaction ends.
    fn send(&self, mut response: Response) -> Result<()> {
        if let Poll::Ready(result) = response
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return result.map_err(to_error);
        }
        self.pending.borrow_mut().push(response);
        if self.pending.borrow().len() < MAX_PENDING {
            return Ok(());
        }
        self.await_pending()
    }

    /// Waits for a response, and then reports the first error,
    /// which may be that of an earlier statement.
    fn run<T>(
        &self,
        response: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        let result = block_on(response);
        self.await_pending()?;
        result.map_err(to_error)
    }

    fn await_pending(&self) -> Result<()> {
        let responses = std::mem::take(&mut *self.pending.borrow_mut());
        // After an error all others fail, too.
        responses
            .into_iter()
            .try_for_each(block_on)
            .map_err(to_error)
    }
}

/// Lets a [`CancellationToken`] end the statements of a connection until it is
/// dropped.
pub(super) struct CancelWatch<'a> {
    connection: &'a PostgresConnection,
    end: CancellationToken,
    task: JoinHandle<()>,
}

impl Drop for CancelWatch<'_> {
    fn drop(&mut self) {
        self.end.cancel();
        let _ = block_on(&mut self.task);
        *self.connection.cancel.borrow_mut() = None;
    }
}

pub(crate) struct PostgresStatement<'a> {
    connection: &'a PostgresConnection,
    statement: Statement,
    sql: String,
}

impl PostgresStatement<'_> {
    /// Runs it; returns how many rows it changed.
    pub(super) fn execute_counted(&self, values: &[&dyn ToSql]) -> Result<usize> {
        let connection = self.connection;
        connection.check_cancelled()?;
        let values = to_parameters(values)?;
        let parameters = as_parameters(&values);
        let count = connection.run(connection.client.execute(&self.statement, &parameters))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Runs it; an error is reported by the next statement that waits for its response.
    pub(super) fn execute(&self, values: &[&dyn ToSql]) -> Result<()> {
        self.connection.check_cancelled()?;
        self.connection.send_execute(&self.statement, values)
    }

    pub(super) fn all(&self, values: &[&dyn ToSql]) -> Result<Vec<PostgresRow>> {
        let connection = self.connection;
        connection.check_cancelled()?;
        let values = to_parameters(values)?;
        let parameters = as_parameters(&values);
        let rows = connection.run(connection.client.query(&self.statement, &parameters))?;
        rows.iter().map(PostgresRow::new).collect()
    }

    /// Converts the parameters of one request.
    #[expect(
        clippy::unused_self,
        reason = "without PostgreSQL there is no statement"
    )]
    pub(super) fn parameters(&self, values: &[&dyn ToSql]) -> Result<Vec<Stored>> {
        to_parameters(values)
    }

    /// Reads the first row for each of the parameters, if there is one.
    pub(super) fn first_of_each(&self, each: &[Vec<Stored>]) -> Result<Vec<Option<PostgresRow>>> {
        self.connection.check_cancelled()?;
        let client = &self.connection.client;
        let requests = each.iter().map(|values| async move {
            let parameters = as_parameters(values);
            client.query(&self.statement, &parameters).await
        });
        let rows = self.connection.run(try_join_all(requests))?;
        let rows = rows
            .iter()
            .map(|rows| rows.first().map(PostgresRow::new).transpose());
        rows.collect()
    }

    /// Reads rows in portions. A cursor lives as long as its transaction.
    pub(super) fn query(&self, values: &[&dyn ToSql]) -> Result<PostgresRows<'_>> {
        let connection = self.connection;
        connection.check_cancelled()?;
        let cursor = connection.name_cursor(&self.sql);
        let declare = format!("DECLARE {cursor} NO SCROLL CURSOR FOR ");
        let statement = connection.prepared(&self.sql, &declare)?;
        connection.send_execute(&statement, values)?;
        connection.open_cursors.borrow_mut().insert(cursor.clone());
        Ok(PostgresRows {
            connection,
            cursor,
            rows: VecDeque::new(),
            next: FIRST_ROWS,
            is_end: false,
        })
    }
}

pub(crate) struct PostgresRows<'a> {
    connection: &'a PostgresConnection,
    cursor: String,
    rows: VecDeque<PostgresRow>,
    next: usize,
    is_end: bool,
}

impl PostgresRows<'_> {
    pub(super) fn next(&mut self) -> Result<Option<PostgresRow>> {
        if self.rows.is_empty() && !self.is_end {
            let connection = self.connection;
            connection.check_cancelled()?;
            let fetch = format!("FETCH {} FROM {}", self.next, self.cursor);
            let fetch = connection.prepared(&fetch, "")?;
            let rows = connection.run(connection.client.query(&fetch, &[]))?;
            self.is_end = rows.len() < self.next;
            self.next = (self.next * 4).min(MAX_ROWS);
            self.rows = rows.iter().map(PostgresRow::new).collect::<Result<_>>()?;
        }
        Ok(self.rows.pop_front())
    }
}

impl Drop for PostgresRows<'_> {
    fn drop(&mut self) {
        let connection = self.connection;
        connection.open_cursors.borrow_mut().remove(&self.cursor);
        // It fails in a transaction that has failed, which closes the cursor, too.
        let _ = connection.send_batch(&format!("CLOSE {}", self.cursor));
    }
}

/// A row in the values of `SQLite`.
pub(crate) struct PostgresRow(Vec<Value>);

impl PostgresRow {
    fn new(row: &ClientRow) -> Result<Self> {
        let columns = 0..row.len();
        let values =
            columns.map(|column| Ok(row.try_get::<_, Stored>(column).map_err(to_error)?.0));
        values.collect::<Result<_>>().map(Self)
    }

    pub(super) fn get_ref(&self, column: usize) -> rusqlite::Result<ValueRef<'_>> {
        let value = self.0.get(column).map(ValueRef::from);
        value.ok_or(rusqlite::Error::InvalidColumnIndex(column))
    }
}

/// Converts an error of the server or the connection.
#[expect(clippy::needless_pass_by_value, reason = "it is called by `map_err`")]
pub(crate) fn to_error(error: tokio_postgres::Error) -> Error {
    // The message of the server may quote stored data; its code does not.
    tracing::warn!(code = ?error.code(), "the archive failed");
    let Some(reported) = error.as_db_error() else {
        let cause = error.source().map(|cause| format!(": {cause}"));
        let text = format!("the archive failed: {error}{}", cause.unwrap_or_default());
        let source = (error.source()).and_then(|cause| cause.downcast_ref::<io::Error>());
        let is_lost = error.is_closed() || source.is_some();
        return Error::new(unreachable_kind(is_lost), text).with_hint(UNREACHABLE_HINT);
    };
    let text = format!("the archive failed: {}", reported.message());
    match reported.code() {
        code if *code == SqlState::DISK_FULL => write_error(
            "the disk of the server is full, so the archive cannot be changed",
            "free some space there; what is stored is safe",
        ),
        code if *code == SqlState::READ_ONLY_SQL_TRANSACTION => write_error(
            "the server takes no changes",
            "it may be a standby: name the primary in the address of the archive",
        ),
        // A schema that the role may not use does not exist for it.
        code if [
            SqlState::INSUFFICIENT_PRIVILEGE,
            SqlState::INVALID_SCHEMA_NAME,
        ]
        .contains(code) =>
        {
            archive_error(
                text,
                "the owner of the schema creates the archive (also for received mail) and grants what a role may do",
            )
        }
        code if *code == SqlState::QUERY_CANCELED => archive_error(
            text,
            "if statement_timeout of the server is too short: ALTER ROLE name SET statement_timeout = 0",
        ),
        code => {
            let is_lost = [
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::TOO_MANY_CONNECTIONS,
            ]
            .contains(code);
            let hint = if is_lost { UNREACHABLE_HINT } else { "" };
            Error::new(unreachable_kind(is_lost), text).with_hint(hint)
        }
    }
}

const UNREACHABLE_HINT: &str = "check the address of its server, the network, and that it runs";

/// Returns the kind of an error; `is_lost` if a new connection may work later.
const fn unreachable_kind(is_lost: bool) -> ErrorKind {
    if is_lost {
        ErrorKind::ArchiveUnreachable
    } else {
        ErrorKind::Archive
    }
}
