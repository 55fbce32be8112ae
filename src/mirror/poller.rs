//! The one poller of a team:
//! keeps the archive current also while no client sends requests.

use std::sync::Mutex;

use tokio::time::{Instant, sleep, sleep_until};

use crate::api::{Client, EmailApi as _, Priority, RequestHandle};
use crate::config::HistorySpan;
use crate::config::clock::Clock;
use crate::error::{Error, Result, lock};
use crate::sync::{Engine, RECHECK_PAGES, REFRESH_INTERVAL, StopReason, refresh_pause};

/// Refreshes, rechecks and loads older mail;
/// `broken` has the error of the archive while that fails.
///
/// While the service or the archive fails, it tries less often.
pub(super) async fn poll(
    engine: Engine<Client>,
    backfill: HistorySpan,
    clock: Clock,
    broken: &Mutex<Option<String>>,
) {
    let mut failures = 0;
    loop {
        let result = poll_once(&engine).await;
        let cooldown = match &result {
            Ok(()) => {
                failures = 0;
                std::time::Duration::ZERO
            }
            Err(error) => {
                failures += 1;
                tracing::warn!(%error, failures, "the poller failed");
                error.cooldown()
            }
        };
        let of_archive =
            |error: &Error| !error.kind.is_service_error() && !error.kind.is_key_error();
        let error = result.err().filter(of_archive);
        *lock(broken) = error.map(|error| error.message);
        let until = Instant::now() + refresh_pause(failures, cooldown);
        if failures == 0 {
            let engine = engine.with_priority(&RequestHandle::new(Priority::Backfill));
            let loaded = engine.backfill_until(backfill.start(clock()), until, |_| ());
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
    let with = |priority| engine.with_priority(&RequestHandle::new(priority));
    if let StopReason::Failed(error) = with(Priority::Refresh).refresh().await?.stop_reason {
        return Err(error);
    }
    let engine = with(Priority::Recheck);
    for _ in 0..RECHECK_PAGES {
        if engine.recheck_background().await?.is_none() {
            break;
        }
    }
    Ok(())
}
