//! A mirror: the archive of a profile, served to a team by the service's API,
//! and the one poller that keeps it current.
//!
//! While the service answers, the newest page and a retrieved email are confirmed before they are
//! served if they are older than [`source::FRESH_FOR`]. An older page has the statuses of the
//! poller, and is confirmed afterwards. Without the service, a response is what the archive has.
//! The time of its confirmation is in a header.

mod access_log;
mod events;
mod http;
mod keys;
mod poller;
mod private_file;
mod single_flight;
mod source;
mod statistics;
#[cfg(test)]
mod tests;
mod webhooks;

use std::sync::{Arc, Mutex};

use tokio::sync::{Semaphore, broadcast};
use tokio_rustls::TlsAcceptor;
use url::Host;

pub(crate) use access_log::AccessLog;
pub(crate) use keys::KeyFile;
pub(crate) use webhooks::SigningSecrets;

use crate::api::Client;
use crate::config::HistorySpan;
use crate::config::clock::Clock;
use crate::server::{Listener, max_connections, serve_connections};
use crate::sync::Engine;
use http::MirrorState;
use private_file::NoteWriter;
use source::{MirrorSource, Slots};
use statistics::RequestStatistics;

/// How a mirror serves, and whom.
pub(crate) struct MirrorConfig {
    pub(crate) keys: KeyFile,
    /// Its names, beside those of the loopback interface.
    pub(crate) hosts: Vec<Host>,
    pub(crate) access_log: Option<AccessLog>,
    /// To receive the service's events.
    pub(crate) webhooks: Option<SigningSecrets>,
    /// How far back mail is fetched without a client's request.
    pub(crate) backfill: HistorySpan,
    pub(crate) clock: Clock,
    pub(crate) note: NoteWriter,
}

/// A mirror that does not listen yet.
pub(crate) struct Mirror {
    state: Arc<MirrorState>,
}

impl Mirror {
    pub(crate) fn new(
        sent: Engine<Client>,
        received: Engine<Client>,
        config: MirrorConfig,
    ) -> Self {
        let slots = Slots::default();
        let source = |engine| MirrorSource::new(engine, config.clock.clone(), slots.clone());
        let state = MirrorState {
            sent: source(sent),
            received: source(received),
            config,
            poll_error: Mutex::default(),
            statistics: RequestStatistics::default(),
            open_requests: Semaphore::new(http::MAX_OPEN_REQUESTS),
            open_streams: events::OpenStreams::default(),
            changes: broadcast::Sender::new(events::MAX_BEHIND),
        };
        Self {
            state: Arc::new(state),
        }
    }

    /// Polls the service and serves clients until `shutdown` completes.
    ///
    /// While the archive fails, `/healthz` says so; what can be read is served. Received mail is
    /// fetched when a client requests it: its status never changes, and not every team has any.
    pub(crate) async fn run(
        self,
        listener: Listener,
        tls: Option<TlsAcceptor>,
        shutdown: impl Future<Output = ()>,
    ) {
        let state = Arc::clone(&self.state);
        let clock = state.config.clock.clone();
        let engine = state.sent.engine();
        let archive = engine.archive().clone();
        let watch = events::watch(archive, clock, state.changes.clone());
        let follow = poller::follow(engine.clone());
        let poll = poller::poll(engine.clone(), &state);
        let routes = http::routes(self.state);
        tokio::select! {
            () = serve_connections(max_connections(), listener, tls, routes, shutdown) => {}
            () = poll => {}
            () = watch => {}
            () = follow => {}
        }
    }
}
