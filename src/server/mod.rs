//! The service's API over anything that can answer *page* and *email*, so that the real client can be run, shown and tested without the service.

use std::future::{Future, IntoFuture};
use std::io;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Host;

use crate::api::Cursor;
use crate::config::clock::Clock;
use crate::error::Error;
use crate::mail::EmailId;

mod ask;
mod error;
mod http;
pub mod sample;
mod window;

/// The key that a demonstration server accepts.
pub const DEMO_KEY: &str = "re_demo";

/// How long answers under way may take once the server is told to stop.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// What a server serves. It is asked on a blocking thread, so it may read a file or a database.
///
/// Answers are JSON text rather than typed emails, so that an archive can hand on what it was
/// given, members unknown to this version included.
pub trait EmailSource: Send + Sync + 'static {
    /// At most `limit` summaries right below or above the cursor, newest first.
    ///
    /// # Errors
    ///
    /// If the cursor names no email, or nothing can be read.
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError>;

    /// One email with its bodies.
    ///
    /// # Errors
    ///
    /// If the id names no email, or nothing can be read.
    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError>;
}

/// One page of a [`Source`].
#[derive(Debug, Clone)]
pub struct SourcePage {
    /// The summaries, newest first.
    pub data: Vec<Box<RawValue>>,
    /// Whether more emails exist beyond it, in the direction of its cursor.
    pub has_more: bool,
}

/// Why a [`Source`] cannot answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceError {
    /// Not spelled like an id of this source.
    Malformed,
    /// Spelled like an id, but no email has it.
    Unknown,
    /// The source itself is in trouble.
    Internal(Error),
}

/// What a server asks of its callers.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The one key that may read.
    pub key: SecretString,
    /// Requests that are answered in any one second.
    pub rate: u32,
    /// Names of this server beside those of the loopback interface. A request to another name is
    /// refused: a web page may have its own name lead here (DNS rebinding).
    pub hosts: Vec<Host>,
}

impl ServerConfig {
    /// The terms of a demonstration: [`DEMO_KEY`], the given rate, and no name but those of loopback.
    #[must_use]
    pub fn demo(rate: u32) -> Self {
        Self {
            key: SecretString::from(DEMO_KEY),
            rate,
            hosts: Vec::new(),
        }
    }
}

/// Answers requests on `listener` until `shutdown` is done, then finishes what is under way.
///
/// The caller owns the task: this future does all the work, and dropping it stops the server.
///
/// # Errors
///
/// If the listener fails.
pub async fn serve(
    listener: TcpListener,
    source: impl EmailSource,
    terms: ServerConfig,
    clock: Clock,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let stop = CancellationToken::new();
    let served = axum::serve(listener, http::routes(source, terms, clock))
        .with_graceful_shutdown(stop.clone().cancelled_owned());
    let mut served = std::pin::pin!(served.into_future());
    tokio::select! {
        ended = &mut served => ended,
        () = shutdown => {
            stop.cancel();
            // A caller that never finishes its request must not keep the program from ending.
            tokio::time::timeout(SHUTDOWN_GRACE, served).await.unwrap_or(Ok(()))
        }
    }
}
