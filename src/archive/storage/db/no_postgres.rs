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
pub(super) struct Stored(Infallible);

impl PostgresConnection {
    pub(crate) fn is_closed(&self) -> bool {
        match self.0 {}
    }

    pub(super) fn constant(
        &self,
        _: (&'static str, i64),
        _: impl FnOnce() -> Result<Arc<Vec<u8>>>,
    ) -> Result<Arc<Vec<u8>>> {
        match self.0 {}
    }

    pub(super) fn cancel_with(&self, _: &CancellationToken) -> PostgresRow {
        match self.0 {}
    }

    pub(super) fn prepare(&self, _: &str) -> Result<PostgresStatement<'_>> {
        match self.0 {}
    }

    pub(super) fn execute_batch(&self, _: &str) -> Result<()> {
        match self.0 {}
    }

    pub(super) fn send_batch(&self, _: &str) -> Result<()> {
        match self.0 {}
    }
}

impl PostgresStatement<'_> {
    pub(super) fn execute(&self, _: &[&dyn ToSql]) -> Result<()> {
        match self.0 {}
    }

    pub(super) fn execute_counted(&self, _: &[&dyn ToSql]) -> Result<usize> {
        match self.0 {}
    }

    pub(super) fn all(&self, _: &[&dyn ToSql]) -> Result<Vec<PostgresRow>> {
        match self.0 {}
    }

    pub(super) fn parameters(&self, _: &[&dyn ToSql]) -> Result<Vec<Stored>> {
        match self.0 {}
    }

    pub(super) fn first_of_each(&self, _: &[Vec<Stored>]) -> Result<Vec<Option<PostgresRow>>> {
        match self.0 {}
    }

    pub(super) fn query(&self, _: &[&dyn ToSql]) -> Result<PostgresRows<'_>> {
        match self.0 {}
    }
}

impl PostgresRows<'_> {
    pub(super) fn next(&mut self) -> Result<Option<PostgresRow>> {
        match self.0 {}
    }
}

impl PostgresRow {
    pub(super) fn get_ref(&self, _: usize) -> rusqlite::Result<ValueRef<'_>> {
        match self.0 {}
    }
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

    pub(crate) fn connect(&self) -> Result<Connection> {
        match self.0 {}
    }

    pub(crate) fn connect_writer(&self) -> Result<Connection> {
        match self.0 {}
    }

    pub(crate) fn listen(self: &Arc<Self>) -> mpsc::UnboundedReceiver<PeerNotice> {
        match self.0 {}
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
