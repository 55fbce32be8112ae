//! Shares between processes whether the service can be reached.
//!
//! The process that refreshes for all ([`Lease`]) records an outage beside the archive, and the others
//! show it. What another process learns from a request of its own is a reason for that one to try now.
//!
//! [`Lease`]: crate::archive::Lease

use jiff::Timestamp;

use super::Engine;
use crate::api::EmailApi;
use crate::archive::Archive;
use crate::error::Error;

impl<S: EmailApi> Engine<S> {
    /// Makes the process that refreshes try now, if an answer contradicts what it has recorded.
    pub(super) async fn report_reachability<T>(&self, answer: &Result<T, Error>) {
        let is_offline = match answer {
            Ok(_) => false,
            Err(failure) if failure.is_offline() => true,
            Err(_) => return,
        };
        let reported = self.run_blocking(move |archive| {
            let lease = archive.poll_lock();
            if !lease.is_held() && lease.outage().is_some() != is_offline {
                archive.notify_service_state();
            }
            Ok(())
        });
        // It only makes another process faster.
        let _ = reported.await;
    }
}

/// Records how a refresh by this process ended, and makes the others look.
pub(super) fn record_reachability<T>(
    archive: &Archive,
    outcome: &Result<T, Error>,
    now: Timestamp,
) {
    let has_turned = match outcome {
        Ok(_) => archive.poll_lock().record_response(now),
        Err(failure) if failure.is_offline() => archive.poll_lock().record_outage(now, failure),
        Err(_) => false,
    };
    if has_turned {
        archive.notify_service_state();
    }
}
