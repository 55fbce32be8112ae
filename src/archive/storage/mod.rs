//! The connections to the database:
//! one writer, and readers that do not wait for it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rusqlite::OpenFlags;
use rusqlite::config::DbConfig;
use tokio_util::sync::CancellationToken;

pub(crate) mod db;
pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod outdated;
pub(crate) mod peer_notice;
pub(crate) mod process_lock;
mod tables;

use crate::config::{ArchiveLocation, ServerUrl};
use crate::error::{Error, ErrorKind, Result};
use crate::tasks::lock;
use db::postgres::PostgresServer;
use db::{Connection, Transaction, TransactionKind};
use error::archive_error;
use files::{FileId, create_private, explain_damage, file_uri, is_read_only_file};
use peer_notice::{PeerNotice, PeerNotifier};
use process_lock::ProcessLock;
use tables::create_tables_as;
pub(crate) use tables::{
    INCOMPLETE_COPY, RowCounts, VERSION, advance_numbers, compact, complete_copy, count_rows,
    create_tables, exists, has_tables, is_outdated, is_owner, read_version, set_version,
};

/// How long a connection waits for another process before it gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The most idle readers that stay open.
const IDLE_READERS: usize = 3;

/// The most prepared statements of each connection.
const STATEMENT_CACHE: usize = 64;

pub(crate) struct Connections {
    database: Database,
    /// Why nothing can be stored.
    read_only: Option<ReadOnlyCause>,
    /// `None` until the first write.
    writer: Mutex<Option<Connection>>,
    idle_readers: Mutex<Vec<Connection>>,
    /// Whether the open transaction has changed what other processes display.
    has_changed: Arc<AtomicBool>,
    /// `None` if the archive is in memory.
    file_id: Option<FileId>,
    notifier: Option<PeerNotifier>,
    /// The user, if it is recorded which emails they open.
    audited_user: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadOnlyCause {
    /// Its file or server may not be written.
    Permission,
    /// The disk has no space for the files beside it.
    DiskFull,
}

/// Where the connections lead.
enum Database {
    /// The URI of a file, or of a database in memory.
    Sqlite(String),
    Server(Arc<PostgresServer>),
}

impl Connections {
    /// Opens the archive on a server, and creates it if there is none.
    pub(crate) fn open_on_server(url: &ServerUrl) -> Result<Self> {
        let server = Arc::new(PostgresServer::new(url)?);
        let reader = server.connect()?;
        let mut connections = Self::new(Database::Server(server), None, None);
        if !has_tables(&reader)? {
            connections.with_writer(|writer| create_tables(writer))?;
        }
        if is_outdated(&reader)? {
            return Err(archive_error(
                format!("the archive at {url} was written by an older version of sentbox"),
                "name another schema in its address; its mail is fetched again",
            ));
        }
        let is_writable = tables::is_writable(&reader)?;
        connections.read_only = (!is_writable).then_some(ReadOnlyCause::Permission);
        let access = url.access();
        if access.is_audited || tables::is_audited(&reader)? {
            connections.audited_user = Some(access.user.clone());
        }
        lock(&connections.idle_readers).push(reader);
        Ok(connections)
    }

    /// Opens an archive that is to become a copy, and creates one if there is none.
    pub(crate) fn open_copy(location: &ArchiveLocation) -> Result<Self> {
        let mut connections = match location {
            ArchiveLocation::Disk(path) => {
                Self::check_is_archive(path)?;
                create_private(path)?;
                Self::new(Database::Sqlite(file_uri(path)), Some(path), None)
            }
            ArchiveLocation::Server(url) => {
                let server = Arc::new(PostgresServer::new(url)?);
                Self::new(Database::Server(server), None, None)
            }
            ArchiveLocation::Memory => Self::open_in_memory()?,
        };
        // No other process can open it before it is complete.
        connections.notifier = None;
        connections.with_writer(|writer| create_tables_as(writer, INCOMPLETE_COPY))?;
        Ok(connections)
    }

    /// Opens the file, and creates it privately if it is missing.
    /// One of an older version stays as it is, and is an error.
    pub(crate) fn open_on_disk(path: &Path) -> Result<Self> {
        let opened = Self::open_file(path).map_err(|error| explain_damage(error, path))?;
        opened.ok_or_else(|| outdated::outdated_error(path))
    }

    /// Opens the file; `None` if its tables are of an older version.
    fn open_file(path: &Path) -> Result<Option<Self>> {
        loop {
            let before = FileId::from_path(path);
            let opened = Self::open_file_once(path);
            // If another process has replaced it meanwhile, this has the old file and the new log.
            if before.is_none() || before == FileId::from_path(path) {
                return opened;
            }
        }
    }

    fn open_file_once(path: &Path) -> Result<Option<Self>> {
        files::check_kind(path)?;
        if files::has_no_write_bits(path) || is_read_only_file(path) {
            return Self::open_read_only(path, ReadOnlyCause::Permission);
        }
        if files::is_public(path) {
            Self::check_is_archive(path)?;
        }
        create_private(path)?;
        let uri = file_uri(path);
        let first = match connect_and_check(&uri) {
            Err(error) if files::is_cannot_open_error(&error) => {
                return Self::open_read_only(path, ReadOnlyCause::Permission);
            }
            Err(error) if files::is_no_space_error(&error) => {
                return Self::open_read_only(path, ReadOnlyCause::DiskFull);
            }
            first => Connection::Sqlite(first?),
        };
        if is_outdated(&first)? {
            return Ok(None);
        }
        if !has_tables(&first)? {
            set_wal_mode(first.sqlite()?)?;
            create_tables(&first)?;
        }
        forbid_writes(first.sqlite()?)?;
        let connections = Self::new(Database::Sqlite(uri), Some(path), None);
        lock(&connections.idle_readers).push(first);
        Ok(Some(connections))
    }

    /// Opens the file without a writer; `None` if its tables are of an older version.
    fn open_read_only(path: &Path, cause: ReadOnlyCause) -> Result<Option<Self>> {
        let uri = file_uri(path);
        let opened = connect_and_check(&format!("{uri}{}", files::uri_parameters(path, cause)));
        let reader = opened.map_err(|error| {
            files::unreadable_wal_error(path, &error).unwrap_or_else(|| error.into())
        })?;
        let reader = Connection::Sqlite(reader);
        if is_outdated(&reader)? {
            return Ok(None);
        }
        if !has_tables(&reader)? {
            return Err(archive_error(
                "the archive is empty and cannot be written",
                "check the owner and the mode of its file",
            ));
        }
        let database = Database::Sqlite(uri);
        Ok(Some(Self::new(database, Some(path), Some(cause))))
    }

    /// Fails if the file has something else than an archive; changes nothing.
    pub(crate) fn check_is_archive(path: &Path) -> Result<()> {
        match Self::open_unchanged(path) {
            Err(error) if error.kind == ErrorKind::NotAnArchive => Err(error),
            _ => Ok(()),
        }
    }

    /// Opens the file as it is, and creates none beside it;
    /// `None` if that cannot be done now.
    pub(crate) fn open_unchanged(path: &Path) -> Result<Option<Self>> {
        let Some(uri) = files::unchanged_uri(path) else {
            return Ok(None);
        };
        let reader = Connection::Sqlite(connect_and_check(&uri)?);
        if is_outdated(&reader)? || !has_tables(&reader)? {
            return Ok(None);
        }
        let cause = Some(ReadOnlyCause::Permission);
        Ok(Some(Self::new(Database::Sqlite(uri), None, cause)))
    }

    /// Creates a database that exists as long as this value,
    /// under a name of its own in this process.
    ///
    /// It uses the `memdb` file system and not the shared cache of `SQLite`: that locks single
    /// tables, and a reader that meets the writer gets an error at once, without any timeout.
    pub(crate) fn open_in_memory() -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        #[cfg(test)]
        if let Some(url) = db::postgres::tests::schema_for_test() {
            return Self::open_on_server(&url);
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let uri = format!("file:/sentbox-{number}?vfs=memdb");
        let connections = Self::new(Database::Sqlite(uri), None, None);
        connections.with_writer(|writer| create_tables(writer))?;
        Ok(connections)
    }

    fn new(database: Database, path: Option<&Path>, read_only: Option<ReadOnlyCause>) -> Self {
        Self {
            database,
            read_only,
            writer: Mutex::default(),
            idle_readers: Mutex::default(),
            has_changed: Arc::default(),
            file_id: path.and_then(FileId::from_path),
            notifier: path.map(PeerNotifier::new),
            audited_user: None,
        }
    }

    /// Returns the user, if it is recorded which emails they open.
    pub(crate) fn audited_user(&self) -> Option<&str> {
        self.audited_user.as_deref()
    }

    /// Returns why nothing can be stored, if the archive is read-only.
    pub(crate) fn read_only_reason(&self) -> Option<Error> {
        let is_on_server = self.server().is_some();
        self.read_only
            .map(|cause| error::read_only_error(cause, is_on_server))
    }

    /// Whether nothing can be stored because the disk is full.
    pub(crate) fn is_disk_full(&self) -> bool {
        self.read_only == Some(ReadOnlyCause::DiskFull)
    }

    /// Reports something to the other processes, if there can be others.
    /// They see a change later if that fails.
    pub(crate) fn notify(&self, notice: PeerNotice) {
        if let Some(notifier) = &self.notifier {
            notifier.send(notice);
        }
        if self.server().is_some() {
            let query = "SELECT pg_notify(current_schema(), ?1)";
            let sent = self.with_writer(|writer| writer.one(query, [notice.as_str()], |_| Ok(())));
            if let Err(error) = sent {
                tracing::warn!(%error, "a notice was not sent");
            }
        }
    }

    /// Fails if another file has taken the name of the open one.
    pub(crate) fn check_file(&self) -> Result<()> {
        self.file_id
            .as_ref()
            .map_or(Ok(()), FileId::check_unchanged)
    }

    /// Makes the open transaction send a notice although it changes no row of an email.
    pub(crate) fn mark_changed(&self) {
        self.has_changed.store(true, Ordering::Relaxed);
    }

    /// Runs `operation` in one transaction: it applies completely or not at all.
    /// Emails that it changes stay marked for the search index.
    pub(crate) fn write<T>(&self, operation: impl FnOnce(&Transaction) -> Result<T>) -> Result<T> {
        self.with_writer(|writer| {
            let tx = self.begin_write(writer)?;
            let result = operation(&tx)?;
            self.commit_write(tx)?;
            Ok(result)
        })
    }

    fn begin_write<'a>(&self, writer: &'a Connection) -> Result<Transaction<'a>> {
        let tx = writer.begin(TransactionKind::Write)?;
        // It may have been replaced while this waited for its lock.
        self.check_file()?;
        self.has_changed.store(false, Ordering::Relaxed);
        Ok(tx)
    }

    /// Commits, and reports the change to other processes.
    fn commit_write(&self, tx: Transaction<'_>) -> Result<()> {
        if tx.is_postgres() {
            let query = "UPDATE row_count SET emails = emails + added('emails'), bodies = bodies + added('bodies') \
                         WHERE added('emails') <> 0 OR added('bodies') <> 0";
            tx.execute(query, [])?;
        }
        tx.commit()?;
        if self.has_changed.load(Ordering::Relaxed)
            && let Some(notifier) = &self.notifier
        {
            notifier.send(PeerNotice::Changed);
        }
        Ok(())
    }

    /// Runs `work` on the writer. The first write opens it: most commands only read.
    pub(crate) fn with_writer<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T>,
    ) -> Result<T> {
        let mut writer = self.lock_writer()?;
        let writer = writer.as_mut().expect("it was connected");
        work(writer).map_err(|error| self.explain(error))
    }

    fn lock_writer(&self) -> Result<MutexGuard<'_, Option<Connection>>> {
        if let Some(error) = self.read_only_reason() {
            return Err(error);
        }
        self.check_file()?;
        let mut writer = lock(&self.writer);
        if writer.as_ref().is_none_or(Connection::is_closed) {
            *writer = None;
            let connected = self.connect_writer();
            *writer = Some(connected.map_err(|error| self.explain(error))?);
        }
        Ok(writer)
    }

    fn connect_writer(&self) -> Result<Connection> {
        let uri = match &self.database {
            Database::Sqlite(uri) => uri,
            Database::Server(server) => return server.connect_writer(),
        };
        let mut writer = connect(uri)?;
        if self.file_id.is_some() {
            self.check_file()?;
            set_wal_mode(&writer)?;
        }
        let flag = Arc::clone(&self.has_changed);
        writer.update_hook(Some(move |_, _: &str, table: &str, _| {
            if matches!(table, "mail" | "body" | "confirmed_run") {
                flag.store(true, Ordering::Relaxed);
            }
        }))?;
        Ok(Connection::Sqlite(writer))
    }

    /// Runs `read` like [`Connections::read`]; `None` if `cancel` interrupted it.
    pub(crate) fn read_cancellable<T>(
        &self,
        cancel: &CancellationToken,
        mut read: impl FnMut(&Connection) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        let mut read = |reader: &Connection| read(reader).map(|value| found = Some(value));
        self.run_cancellable(cancel, &mut read)?;
        Ok(found.filter(|_| !cancel.is_cancelled()))
    }

    /// Runs `read` until it ends, or fails because `cancel` is cancelled.
    fn run_cancellable(
        &self,
        cancel: &CancellationToken,
        read: &mut dyn FnMut(&Connection) -> Result<()>,
    ) -> Result<()> {
        self.with_reader(|reader| {
            let mut read = |reader: &Connection| read_in_transaction(reader, &mut *read);
            let result = reader.run_cancellable(cancel, &mut read);
            // What is interrupted leaves the connection as it was.
            if cancel.is_cancelled() {
                Ok(())
            } else {
                result
            }
        })
    }

    /// Runs `read` on one snapshot of the database.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.with_reader(|reader| read_in_transaction(reader, read))
    }

    pub(crate) fn with_reader<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T>,
    ) -> Result<T> {
        let mut reader = self.take_reader()?;
        let result = work(&mut reader).map_err(|error| self.explain(error))?;
        self.keep_reader(reader);
        Ok(result)
    }

    fn take_reader(&self) -> Result<Connection> {
        let idle = lock(&self.idle_readers).pop();
        if let Some(reader) = idle.filter(|reader| !reader.is_closed()) {
            return Ok(reader);
        }
        match (&self.database, &self.file_id, self.read_only) {
            (Database::Server(server), ..) => server.connect(),
            // How to open it depends on whether another process writes now.
            (Database::Sqlite(uri), Some(file), Some(cause)) => {
                let parameters = files::uri_parameters(file.path(), cause);
                connect_reader(&format!("{uri}{parameters}"))
            }
            (Database::Sqlite(uri), ..) => {
                connect_reader(uri).map_err(|error| self.check_file().err().unwrap_or(error))
            }
        }
    }

    /// Keeps a connection for the next reader, unless that has to open the file again.
    fn keep_reader(&self, reader: Connection) {
        let mut idle = lock(&self.idle_readers);
        if idle.len() < IDLE_READERS && !(self.read_only.is_some() && self.file_id.is_some()) {
            idle.push(reader);
        }
    }

    pub(crate) const fn server(&self) -> Option<&Arc<PostgresServer>> {
        match &self.database {
            Database::Sqlite(_) => None,
            Database::Server(server) => Some(server),
        }
    }

    /// Creates the lock of the processes that do the work `work` on this archive,
    /// which is at `location`.
    pub(crate) fn process_lock(
        &self,
        location: &ArchiveLocation,
        work: &'static str,
    ) -> ProcessLock {
        match self.server() {
            Some(server) => ProcessLock::Server {
                server: Arc::clone(server),
                work,
                is_reader: self.read_only.is_some(),
                session: Arc::default(),
            },
            None => ProcessLock::new(location, work),
        }
    }

    fn explain(&self, error: Error) -> Error {
        match &self.file_id {
            Some(file) => explain_damage(error, file.path()),
            None => error,
        }
    }
}

fn read_in_transaction<T>(
    reader: &Connection,
    read: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    let tx = reader.begin(TransactionKind::Read)?;
    let result = read(&tx)?;
    tx.commit()?;
    Ok(result)
}

/// Connects and reads the file, which connecting alone does not.
fn connect_and_check(uri: &str) -> rusqlite::Result<rusqlite::Connection> {
    let conn = connect(uri)?;
    conn.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))?;
    Ok(conn)
}

fn connect_reader(uri: &str) -> Result<Connection> {
    let reader = connect(uri)?;
    forbid_writes(&reader)?;
    Ok(Connection::Sqlite(reader))
}

fn forbid_writes(conn: &rusqlite::Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "query_only", true)
}

fn set_wal_mode(conn: &rusqlite::Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "journal_mode", "wal")
}

fn connect(uri: &str) -> rusqlite::Result<rusqlite::Connection> {
    let conn = open_uri(uri)?;
    configure(&conn)?;
    Ok(conn)
}

fn open_uri(uri: &str) -> rusqlite::Result<rusqlite::Connection> {
    // A URI may ask for a read-only file. None is created: a deleted archive is not an empty one.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = rusqlite::Connection::open_with_flags(uri, flags)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    Ok(conn)
}

fn configure(conn: &rusqlite::Connection) -> rusqlite::Result<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Otherwise a statement with a bound LIMIT is planned again whenever another number is bound.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // In WAL mode NORMAL may lose the last pages after a power cut, never the database; sync
    // fetches them again. New mail changes the id index all over, so many pages gather in the log
    // before they are written back. Deleted rows are overwritten: they are private mail. No memory
    // map: a large one is slower than reads on a cold file, and each connection would have its own.
    conn.execute_batch(
        "PRAGMA synchronous = NORMAL;
         PRAGMA foreign_keys = ON;
         PRAGMA secure_delete = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA journal_size_limit = 16777216;",
    )
}

/// Opens a file that may be damaged, for reading, and locks it:
/// no other process can open or change it.
///
/// A file that cannot be written, or is too damaged for a lock, is read without one. With
/// `ignores_schema_errors`, tables are read although definitions of others cannot be.
pub(crate) fn open_for_repair(path: &Path, ignores_schema_errors: bool) -> Result<Connection> {
    if !files::exists(path)? {
        return Err(archive_error(
            format!("there is no archive at {}", path.display()),
            "",
        ));
    }
    files::check_kind(path)?;
    let uri = file_uri(path);
    let open = || -> rusqlite::Result<rusqlite::Connection> {
        let conn = open_uri(&uri)?;
        // Meant for changes of definitions that are damaged. Nothing is written by this connection.
        conn.pragma_update(None, "writable_schema", ignores_schema_errors)?;
        Ok(conn)
    };
    let conn = open()?;
    // It must come before the first read: that decides how the write-ahead log is locked.
    conn.execute_batch("PRAGMA locking_mode = EXCLUSIVE")?;
    let conn = match configure(&conn).and_then(|()| conn.execute_batch("BEGIN EXCLUSIVE")) {
        Ok(()) => conn,
        Err(error) if files::is_busy_error(&error) => return Err(error.into()),
        Err(_) => {
            drop(conn);
            let conn = open()?;
            configure(&conn)?;
            conn.execute_batch("BEGIN")?;
            conn
        }
    };
    forbid_writes(&conn)?;
    Ok(Connection::Sqlite(conn))
}

#[cfg(test)]
mod tests;
