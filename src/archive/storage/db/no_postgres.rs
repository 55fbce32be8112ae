//! In place of driver and server, in a program that is built without PostgreSQL:
//! none of these values exists, and to open an archive on a server is an error.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;

use rusqlite::ToSql;
use rusqlite::types::ValueRef;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Connection;
use crate::archive::storage::peer_notice::PeerNotice;
use crate::config::ServerUrl;
use crate::error::{Error, ErrorKind, Result};

pub(crate) struct PostgresConnection(Infallible);
pub(crate) struct PostgresStatement<'a>(Infallible, PhantomData<&'a ()>);
pub(crate) struct PostgresRows<'a>(Infallible, PhantomData<&'a ()>);
pub(crate) struct PostgresRow(Infallible);
pub(crate) struct Stored(Infallible);

/// Writes methods that cannot be called, because there is no value.
macro_rules! uncallable {
    ($($name:ident($($arg:ty),*) -> $result:ty;)*) => {
        $(pub(crate) fn $name(&self, $(_: $arg),*) -> $result {
            match self.0 {}
        })*
    };
}

impl PostgresConnection {
    uncallable! {
        is_closed() -> bool;
        constant((&'static str, i64), impl FnOnce() -> Result<Arc<Vec<u8>>>) -> Result<Arc<Vec<u8>>>;
        cancel_with(&CancellationToken) -> PostgresRow;
        prepare(&str) -> Result<PostgresStatement<'_>>;
        execute_batch(&str) -> Result<()>;
        send_batch(&str) -> Result<()>;
    }
}

impl PostgresStatement<'_> {
    uncallable! {
        execute(&[&dyn ToSql]) -> Result<()>;
        execute_counted(&[&dyn ToSql]) -> Result<usize>;
        all(&[&dyn ToSql]) -> Result<Vec<PostgresRow>>;
        parameters(&[&dyn ToSql]) -> Result<Vec<Stored>>;
        first_of_each(&[Vec<Stored>]) -> Result<Vec<Option<PostgresRow>>>;
        query(&[&dyn ToSql]) -> Result<PostgresRows<'_>>;
    }
}

impl PostgresRows<'_> {
    uncallable! { next() -> Result<Option<PostgresRow>>; }
}

impl PostgresRow {
    uncallable! { get_ref(usize) -> rusqlite::Result<ValueRef<'_>>; }
}

#[derive(Debug)]
pub(crate) struct PostgresServer(Infallible);

impl PostgresServer {
    pub(crate) fn new(url: &ServerUrl) -> Result<Self> {
        let message =
            format!("this sentbox was built without PostgreSQL, where the archive is: {url}");
        Err(Error::new(ErrorKind::Unsupported, message)
            .with_hint("install it with its default features"))
    }

    uncallable! {
        connect() -> Result<Connection>;
        connect_writer() -> Result<Connection>;
        listen() -> mpsc::UnboundedReceiver<PeerNotice>;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::config::ServerUrl;

    pub(crate) const SERVER: &str = "SENTBOX_TEST_SERVER";

    pub(crate) fn variable(_: &str) -> Option<std::ffi::OsString> {
        None
    }

    pub(crate) fn schema_for_test() -> Option<ServerUrl> {
        None
    }
}
