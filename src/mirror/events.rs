//! The changes of the archive as server-sent events, so that clients need not poll
//! the mirror.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::response::sse::{Event, Sse};
use futures_util::stream::{self, Stream, StreamExt as _, TryStreamExt as _};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender};
use tokio::time::{sleep, timeout};

use crate::api::MailboxChange;
use crate::archive::{Archive, ChangeSnapshot};
use crate::config::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::tasks::{self, lock};

/// Time between two looks at the archive.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Time between two looks after an error of the archive.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Time between two comments in a stream without events,
/// which show each side that the other is there. A revoked key ends the stream then.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Events that a slow client may be behind;
/// then it gets `reset`, and has to read the newest page again.
pub(super) const MAX_BEHIND: usize = 1024;

/// The most streams that one key has open at once.
const MAX_STREAMS_PER_KEY: usize = 32;

/// The open streams by the name of their key.
///
/// A stream holds its connection for as long as it likes, so that streams get half of the
/// connections.
#[derive(Clone, Default)]
pub(super) struct OpenStreams(Arc<Mutex<HashMap<Arc<str>, usize>>>);

/// One of the streams; dropping it means that it has ended.
pub(super) struct OpenStream {
    streams: OpenStreams,
    key: Arc<str>,
}

impl OpenStreams {
    /// Counts one more stream; `None` if there may be none.
    pub(super) fn open(&self, key: &Arc<str>, max_connections: usize) -> Option<OpenStream> {
        let mut counts = lock(&self.0);
        let is_full = counts.values().sum::<usize>() >= max_connections / 2;
        let count = counts.entry(Arc::clone(key)).or_default();
        if is_full || *count >= MAX_STREAMS_PER_KEY.min(max_connections / 4) {
            return None;
        }
        *count += 1;
        let (streams, key) = (self.clone(), Arc::clone(key));
        Some(OpenStream { streams, key })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut counts = lock(&self.streams.0);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
        }
    }
}

/// Sends what changes, while a client listens.
///
/// Changes while the archive fails are sent once it works again.
pub(super) async fn watch(archive: Archive, clock: Clock, sender: Sender<MailboxChange>) {
    let mut earlier: Option<ChangeSnapshot> = None;
    loop {
        // The first snapshot is what the first client's changes are compared with.
        if earlier.is_some() && sender.receiver_count() == 0 {
            sleep(WATCH_INTERVAL).await;
            continue;
        }
        let (source, now) = (archive.clone(), clock());
        let last_purge = earlier.as_ref().map(|earlier| earlier.last_purge);
        let snapshot = tasks::catch_panic(move || source.snapshot_changes(now, last_purge)).await;
        let pause = match snapshot {
            Ok(Ok(snapshot)) => {
                let changes = earlier.map(|earlier| snapshot.changes_since(&earlier));
                for change in changes.unwrap_or_default() {
                    // It fails if the last client has gone.
                    let _ = sender.send(change);
                }
                earlier = Some(snapshot);
                WATCH_INTERVAL
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "the archive cannot be watched");
                RETRY_INTERVAL
            }
            Err(_) => {
                tracing::error!("watching the archive panicked");
                RETRY_INTERVAL
            }
        };
        sleep(pause).await;
    }
}

/// Streams the changes to one client, until its key is revoked.
///
/// The stream begins with `purges` and `reset`: the client may not have heard of what happened
/// before.
pub(super) fn stream_changes(
    purges: impl Stream<Item = Result<Vec<MailboxChange>>> + Send + 'static,
    receiver: Receiver<MailboxChange>,
    is_allowed: impl Fn() -> bool + Send + 'static,
) -> Sse<impl Stream<Item = Result<Event>>> {
    let events = stream::unfold(
        (receiver, is_allowed),
        |(mut receiver, is_allowed)| async move {
            let event = match timeout(HEARTBEAT, receiver.recv()).await {
                Ok(Ok(change)) => to_event(&change),
                Ok(Err(RecvError::Lagged(_))) => to_event(&MailboxChange::Reset),
                Ok(Err(RecvError::Closed)) => return None,
                Err(_) => Ok(Event::default().comment("")),
            };
            is_allowed().then_some((event, (receiver, is_allowed)))
        },
    );
    let to_events = |page| stream::iter(page).map(|change| to_event(&change));
    let purges = purges.map_ok(to_events).try_flatten();
    let start = purges.chain(stream::iter([to_event(&MailboxChange::Reset)]));
    Sse::new(start.chain(events))
}

fn to_event(change: &MailboxChange) -> Result<Event> {
    let (name, data) = change.to_event();
    let data = serde_json::to_string(&data)
        .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
    Ok(Event::default().event(name).data(data))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use axum::response::IntoResponse as _;
    use tokio::time::Instant;

    use super::*;
    use crate::archive::tests::{import_lines, open_file};
    use crate::mail::EmailId;

    #[test]
    fn streams_leave_connections_to_others() {
        let streams = OpenStreams::default();
        let [ana, bob, eve]: [Arc<str>; 3] = ["ana", "bob", "eve"].map(Arc::from);
        let open = |key, max| -> Vec<OpenStream> {
            std::iter::from_fn(|| streams.open(key, max)).collect()
        };
        let of_ana = open(&ana, 128);
        assert_eq!(of_ana.len(), MAX_STREAMS_PER_KEY);
        assert_eq!(open(&bob, 128).len(), MAX_STREAMS_PER_KEY);
        let of_bob = open(&bob, 128);
        assert_eq!(
            (of_bob.len(), open(&eve, 128).len()),
            (32, 0),
            "half of all"
        );
        drop(of_bob);
        assert_eq!(open(&eve, 128).len(), 32, "those of bob have ended");
        drop(of_ana);
        assert_eq!(open(&ana, 16).len(), 4, "few file descriptors");
    }

    #[tokio::test(start_paused = true)]
    async fn changes_are_sent_after_error_of_archive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.sqlite");
        let archive = open_file(&path);
        let sender = Sender::new(1);
        let mut receiver = sender.subscribe();
        let now = "2026-11-20T10:00:00Z".parse().unwrap();
        let clock: Clock = Arc::new(move || now);
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(watch(archive.clone(), clock, sender));
        sleep(WATCH_INTERVAL * 2).await;
        let rename = |from: &str, to: &str| {
            let other = rusqlite::Connection::open(&path).unwrap();
            let query = format!("ALTER TABLE {from} RENAME TO {to}");
            other.execute_batch(&query).unwrap();
        };
        rename("purged", "moved");
        assert!(archive.snapshot_changes(now, None).is_err());
        sleep(WATCH_INTERVAL * 2).await;
        rename("moved", "purged");
        import_lines(&archive, [r#"{"id":"7","subject":"Hello"}"#], now);
        let change = receiver.recv().await.unwrap();
        assert!(
            matches!(&change, MailboxChange::Changed { id, .. } if *id == EmailId::new("7")),
            "{change:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn idle_stream_ends_soon_after_key_revocation() {
        let sender = Sender::new(1);
        let is_allowed = Arc::new(AtomicBool::new(true));
        let key = Arc::clone(&is_allowed);
        let sse = stream_changes(stream::empty(), sender.subscribe(), move || {
            key.load(Ordering::Relaxed)
        });
        let mut body = sse.into_response().into_body().into_data_stream();
        let mut next = async || {
            let bytes = body.next().await?.unwrap();
            Some(String::from_utf8(bytes.to_vec()).unwrap())
        };
        assert_eq!(next().await.unwrap(), "event: reset\ndata: {}\n\n");
        assert_eq!(next().await.unwrap(), ": \n\n");
        is_allowed.store(false, Ordering::Relaxed);
        let revoked = Instant::now();
        assert_eq!(next().await, None);
        assert_eq!(revoked.elapsed(), HEARTBEAT);
    }
}
