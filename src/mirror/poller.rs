//! The one poller of a team:
//! keeps the archive current also while no client sends requests.

use tokio::time::{Instant, sleep, sleep_until};

use super::http::MirrorState;
use crate::api::{Client, EmailApi as _, Priority};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Engine, RECHECK_PAGES, REFRESH_INTERVAL, StopReason, refresh_pause};
use crate::tasks::lock;

/// Refreshes, rechecks and loads older mail; keeps the error of the last attempt.
///
/// While the service or the archive fails, it tries less often. The first failure of a kind is
/// reported.
pub(super) async fn poll(engine: Engine<Client>, state: &MirrorState) {
    let config = &state.config;
    let mut failures = 0;
    loop {
        let error = poll_once(&engine).await.err();
        let cooldown = error.as_ref().map(Error::cooldown).unwrap_or_default();
        failures = error.as_ref().map_or(0, |_| failures + 1);
        let kind = |error: &Option<Error>| error.as_ref().map(|error| error.kind);
        let earlier = std::mem::replace(&mut *lock(&state.poll_error), error.clone());
        match &error {
            None if earlier.is_some() => (config.note)("new mail is stored again"),
            Some(Error {
                message,
                kind: cause,
                ..
            }) => {
                tracing::warn!(message, failures, "the poller failed");
                if kind(&earlier) != kind(&error) {
                    let served = match cause {
                        ErrorKind::ArchiveUnreachable => "no mail",
                        _ => "only stored mail",
                    };
                    (config.note)(&format!("{message}; until that ends, {served} is served"));
                }
            }
            None => {}
        }
        let until = Instant::now() + refresh_pause(failures, cooldown);
        if failures == 0 {
            let engine = engine.with_priority(Priority::Backfill);
            let start = config.backfill.start((config.clock)());
            let loaded = engine.backfill_until(start, until, |_| ());
            if let Err(error) = loaded.await {
                tracing::warn!(%error, "older mail was not loaded");
            }
        }
        sleep_until(until).await;
    }
}

/// Stores the changes of a mirror behind this one as they come.
pub(super) async fn follow(engine: Engine<Client>) {
    let engine = engine.follower();
    let mut stream = None;
    loop {
        if engine.service().is_mirror() {
            stream = engine.clone().follow(stream).await;
        } else {
            sleep(REFRESH_INTERVAL).await;
        }
    }
}

/// Fetches new mail, and statuses that are due.
async fn poll_once(engine: &Engine<Client>) -> Result<()> {
    let refreshed = engine.with_priority(Priority::Refresh).refresh().await?;
    if let StopReason::Failed(error) = refreshed.stop_reason {
        return Err(error);
    }
    let engine = engine.with_priority(Priority::Recheck);
    for _ in 0..RECHECK_PAGES {
        if engine.recheck_background().await?.is_none() {
            break;
        }
    }
    Ok(())
}
