//! Follows a mirror: stores its changes, and purges what it has purged.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::Engine;
use crate::api::{ChangeStream, EmailApi, MailboxChange, Priority};
use crate::archive::{EmailEvent, EventOutcome, PurgeTarget};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::Status;
use crate::tasks::lock;
use crate::text::format::plural;

/// How long a stream may take to repeat its purges.
const PURGES_TIMEOUT: Duration = Duration::from_secs(30);

const MAX_PURGES: usize = 1_000_000;

/// The shortest time until a stream that has ended is opened again.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// The results of a mirror's purges since the last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PurgeReport {
    pub(crate) removed: u64,
    /// Whether the archive ignores the purges, which is reported once.
    pub(crate) is_refused: bool,
}

impl PurgeReport {
    /// Formats what the user must know.
    pub(crate) fn text(self) -> Option<String> {
        match self {
            Self { removed: 0, is_refused: false } => None,
            Self { is_refused: true, .. } => Some(
                "the service purges mail like a mirror, but this archive was not made from a mirror, so nothing was removed; \
                 to follow the mirror, make a new one: sentbox archive begin"
                    .to_owned(),
            ),
            Self { removed, .. } => Some(format!("{} that the mirror has purged: removed here too", plural(removed, "email"))),
        }
    }
}

/// The purges of all clones of an engine.
#[derive(Debug, Default)]
pub(super) struct PurgeLog {
    report: PurgeReport,
    was_refused: bool,
}

impl<S: EmailApi> Engine<S> {
    /// Returns what purges did since the last call.
    pub(crate) fn take_purges(&self) -> PurgeReport {
        std::mem::take(&mut lock(&self.purges).report)
    }

    /// Returns a clone for [`follow`](Self::follow), with a change feed of its own.
    ///
    /// [`poll_changes`](Self::poll_changes) of this one reports what that one stores.
    pub(crate) fn follower(&self) -> Self {
        Self {
            change_feed: Arc::default(),
            ..self.with_priority(Priority::Refresh)
        }
    }

    /// Waits for the next changes of a mirror and stores them.
    /// Returns the stream of the others, or `None` after a pause if it has ended or they could not be stored: the
    /// next stream repeats purges and `reset`.
    pub(crate) async fn follow(self, stream: Option<ChangeStream>) -> Option<ChangeStream> {
        match self.service.follow(stream).await {
            Ok((stream, changes)) => match self.apply_changes(changes).await {
                Ok(()) => return Some(stream),
                Err(error) => warn!(%error, "changes of the mirror were not stored"),
            },
            Err(error) => info!(%error, "the mirror is not followed"),
        }
        sleep(RETRY_PAUSE.mul_f64(1.0 + fastrand::f64())).await;
        None
    }

    /// Purges what a mirror has purged, if the archive was made from a mirror.
    /// Does nothing for a service that is not a mirror.
    pub(crate) async fn apply_purges(&self) -> Result<()> {
        if !self.service.is_mirror() {
            return Ok(());
        }
        let message = "the mirror's list of purges has no end";
        let too_many = || Error::new(ErrorKind::NotTheApi, message);
        let purges = timeout(PURGES_TIMEOUT, self.load_purges()).await;
        match purges.map_err(|_| too_many())? {
            Err(error) if error.kind == ErrorKind::Unsupported => Ok(()),
            Ok(purges) if purges.len() > MAX_PURGES => Err(too_many()),
            purges => self.purge(&purges?).await,
        }
    }

    /// Loads the purges with which a stream begins, up to one more than [`MAX_PURGES`].
    async fn load_purges(&self) -> Result<Vec<MailboxChange>> {
        let (mut stream, mut purges) = (None, Vec::new());
        loop {
            let (open, changes) = self.service.follow(stream).await?;
            stream = Some(open);
            let is_complete = changes.contains(&MailboxChange::Reset);
            purges.extend(changes.into_iter().filter(MailboxChange::is_purge));
            if is_complete || purges.len() > MAX_PURGES {
                return Ok(purges);
            }
        }
    }

    async fn purge(&self, changes: &[MailboxChange]) -> Result<()> {
        let (mut purged, mut before) = (HashSet::new(), None);
        for change in changes {
            match change {
                MailboxChange::Purged(hash) => _ = purged.insert(*hash),
                MailboxChange::PurgedBefore(time) => before = before.max(Some(*time)),
                _ => {}
            }
        }
        if before.is_none() && purged.is_empty() {
            return Ok(());
        }
        // Mail of the future cannot have been purged.
        let now = (self.clock)();
        let before = before.map(|time| PurgeTarget::Before(time.min(now)));
        let targets = before.into_iter().chain([PurgeTarget::Hashed(purged)]);
        let log = Arc::clone(&self.purges);
        self.run_blocking(move |archive| {
            // Any service can claim to be a mirror, and the archive may have the only copy.
            if archive.follows_mirror()? != Some(true) {
                let mut log = lock(&log);
                log.report.is_refused |= !std::mem::replace(&mut log.was_refused, true);
                return Ok(());
            }
            for target in targets {
                // A new stream begins with what was purged before.
                if archive.count_purge(&target)? > 0 {
                    let (removed, _) = archive.purge(&target)?;
                    info!(removed, "purged what the mirror has purged");
                    lock(&log).report.removed += removed;
                }
            }
            Ok(())
        })
        .await
    }

    /// Stores changes of a mirror. Only new mail, and what was removed, takes requests.
    async fn apply_changes(&self, changes: Vec<MailboxChange>) -> Result<()> {
        self.purge(&changes).await?;
        let now = (self.clock)();
        let (removed, is_current) = self
            .run_blocking(move |archive| {
                // After all that this process has requested so far.
                let request = archive.stamp_request(now)?;
                let (mut events, mut removed, mut is_current) = (Vec::new(), Vec::new(), true);
                let mut newest = HashSet::new();
                for change in changes.into_iter().rev() {
                    match change {
                        MailboxChange::Changed { id, .. } if !newest.insert(id.clone()) => {}
                        MailboxChange::Changed {
                            id,
                            last_event,
                            seen_at,
                            bounce,
                        } => {
                            let event = EmailEvent {
                                id,
                                status: Status::parse(&last_event.unwrap_or_default()),
                                bounce: bounce.and_then(|json| RawValue::from_string(json).ok()),
                            };
                            events.push((event, request.known_by(seen_at, None, true)));
                        }
                        MailboxChange::Removed(id) => removed.push(id),
                        // Other statuses that were not sent are confirmed when they are shown.
                        MailboxChange::Reset => is_current = false,
                        MailboxChange::Purged(_) | MailboxChange::PurgedBefore(_) => {}
                    }
                }
                is_current &= !archive
                    .put_events(&events)?
                    .contains(&EventOutcome::Missing);
                Ok((removed, is_current))
            })
            .await?;
        let mut result = Ok(());
        for id in removed {
            match self.fetch_email(&id).await {
                Err(error) if error.kind != ErrorKind::NotFound => result = Err(error),
                _ => {}
            }
        }
        if !is_current {
            self.refresh_now().await?;
        }
        result
    }
}
