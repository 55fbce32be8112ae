//! A server for the service's API over any [`EmailSource`],
//! to run and test the real client without the service.

use std::collections::BTreeMap;
use std::future::Future;
use std::ops::RangeInclusive;
use std::sync::Arc;

use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use url::Host;

use crate::api::{Cursor, wire};
use crate::config::clock::Clock;
use crate::error::Error;
use crate::mail::{EmailId, Mailbox};

mod attachments;
mod connections;
mod error;
mod http;
mod metrics;
mod request;
pub mod sample;

pub(crate) use connections::{
    ClientAddress, Listener, UnixSocket, load_tls, max_connections, serve as serve_connections,
};
pub(crate) use error::ErrorResponse;
pub(crate) use http::{bearer_key, check_host};
pub use request::page_range;
pub(crate) use request::{ListParams, get_only, method_not_allowed};

/// The API key of a demonstration server.
pub const DEMO_KEY: &str = "re_demo";

/// Length of the rate limit's window; also the `retry-after` of a refused request.
const RATE_WINDOW_SECONDS: i64 = 1;

/// The emails that a server serves.
///
/// Methods run on a blocking thread, so they may read a file or a database. They return JSON text
/// and not typed emails, so that an archive can serve what it stored, with members unknown to this
/// version. The JSON has the form of the API and is sent unchecked. `limit` is from 1 to 100.
///
/// # Errors
///
/// All methods fail if the source cannot be read, and all but [`EmailSource::metrics`] if no email
/// has the id or cursor.
#[expect(clippy::missing_errors_doc, reason = "the text above says it")]
pub trait EmailSource: Send + Sync + 'static {
    /// Returns at most `limit` summaries, newest first:
    /// those next to the cursor, older ones for `After` and newer ones for `Before`, or the newest
    /// of all for `Start`.
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError>;

    /// Returns one email with its bodies.
    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError>;

    /// Returns the attachments of an email;
    /// by default, the server has no such operation.
    fn attachments(&self, _email: &EmailId) -> Result<Vec<SourceAttachment>, SourceError> {
        Err(SourceError::Unsupported)
    }

    /// Returns the received mail; by default, the server has no such operation.
    fn received(&self) -> Option<&dyn EmailSource> {
        None
    }

    /// Returns the entry of the suppression list for an address;
    /// by default, the server has no such operation.
    fn suppression(&self, _address: &str) -> Result<Box<RawValue>, SourceError> {
        Err(SourceError::Unsupported)
    }

    /// Returns the counts of an email's events in a range of time, by their names,
    /// all zero if no email has the id; by default, the server has no such operation.
    fn metrics(
        &self,
        _email: &EmailId,
        _range: RangeInclusive<Timestamp>,
    ) -> Result<BTreeMap<String, u64>, SourceError> {
        Err(SourceError::Unsupported)
    }
}

/// A source that the operations share.
type Source = Arc<dyn EmailSource>;

/// The sent or the received mail of a source.
#[derive(Clone)]
struct Listing {
    source: Source,
    mailbox: Mailbox,
}

impl Listing {
    fn source(&self) -> Result<&dyn EmailSource, SourceError> {
        match self.mailbox {
            Mailbox::Sent => Ok(&*self.source),
            Mailbox::Received => self.source.received().ok_or(SourceError::Unsupported),
        }
    }
}

/// An attachment of an [`EmailSource`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceAttachment {
    /// An id without characters that a URL escapes.
    pub id: String,
    /// The file name.
    pub name: String,
    /// The media type.
    pub content_type: String,
    /// The content.
    pub content: Vec<u8>,
}

impl SourceAttachment {
    /// Returns its entry in the list of an email's attachments.
    fn describe(&self) -> wire::Attachment {
        wire::Attachment {
            id: Some(self.id.clone()),
            filename: Some(self.name.clone()),
            size: Some(self.content.len() as u64),
            content_type: Some(self.content_type.clone()),
            content_disposition: Some("attachment".to_owned()),
            ..wire::Attachment::default()
        }
    }
}

/// One page of an [`EmailSource`].
#[derive(Debug, Clone)]
pub struct SourcePage {
    /// The summaries, newest first.
    pub data: Vec<Box<RawValue>>,
    /// Whether more emails exist in the direction of the cursor.
    pub has_more: bool,
}

/// The error of an [`EmailSource`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceError {
    /// The text cannot be an id of this source.
    Malformed,
    /// No email has this id.
    Unknown,
    /// The email is there, but above the quota of the team.
    Withheld,
    /// The source has no such operation.
    Unsupported,
    /// The source cannot be read.
    Internal(Error),
}

/// The access rules of a server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The only valid API key.
    pub key: SecretString,
    /// Limit of requests per second.
    pub rate: u32,
    /// Host names of this server, beside those of the loopback interface.
    ///
    /// A request to another name is refused: a web page may let its own name resolve to this
    /// address (DNS rebinding).
    pub hosts: Vec<Host>,
}

impl ServerConfig {
    /// Returns the rules of a demonstration: [`DEMO_KEY`] and loopback host names only.
    #[must_use]
    pub fn demo(rate: u32) -> Self {
        Self {
            key: SecretString::from(DEMO_KEY),
            rate,
            hosts: Vec::new(),
        }
    }
}

/// Serves requests until `shutdown` completes, then lets open requests finish.
///
/// This future does all the work: dropping it stops the server.
pub async fn serve(
    listener: TcpListener,
    source: impl EmailSource,
    config: ServerConfig,
    clock: Clock,
    shutdown: impl Future<Output = ()> + Send,
) {
    let routes = http::routes(Arc::new(source), config, clock);
    let listener = Listener::Tcp(listener);
    serve_connections(max_connections(), listener, None, routes, shutdown).await;
}
