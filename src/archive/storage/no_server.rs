//! In place of a server, in a program that is built without PostgreSQL: to open an archive there is an error.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::db::Connection;
use super::peer_notice::PeerNotice;
use crate::config::ServerUrl;
use crate::error::{Error, ErrorKind, Result};

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
