//! `SearchSlot`: runs the searches of one kind, of which only the newest counts.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::DropGuard;

use crate::archive::CancellationToken;
use crate::tasks;

/// How many searches of one kind run.
/// Some go on for a while after they are cancelled, because the index collects all emails of a word
/// first; the newest one need not wait for that.
const MAX_RUNNING: usize = 2;

/// The searches of one kind. Each newer one cancels those before.
/// At most [`MAX_RUNNING`] run, so many keys at once start few threads.
pub(super) struct SearchSlot {
    guard: Option<DropGuard>,
    turns: Arc<Semaphore>,
}

impl Default for SearchSlot {
    fn default() -> Self {
        Self {
            guard: None,
            turns: Arc::new(Semaphore::new(MAX_RUNNING)),
        }
    }
}

impl SearchSlot {
    pub(super) fn cancel(&mut self) {
        self.guard = None;
    }

    /// Cancels the search, and starts one that runs `work` on a thread of its own.
    pub(super) fn replace<T: Send + 'static>(
        &mut self,
        tasks: &mut JoinSet<T>,
        work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
    ) {
        self.replace_boxed(tasks, Box::new(work));
    }

    fn replace_boxed<T: Send + 'static>(
        &mut self,
        tasks: &mut JoinSet<T>,
        work: Box<dyn FnOnce(&CancellationToken) -> T + Send>,
    ) {
        let cancel = CancellationToken::new();
        self.guard = Some(cancel.clone().drop_guard());
        let turns = self.turns.clone();
        tasks::spawn_in(tasks, async move {
            let _turn = turns.acquire().await.expect("it is never closed");
            tasks::run_blocking(move || work(&cancel)).await
        });
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc::channel;

    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn newest_search_waits_while_cancelled_ones_run() {
        let (mut slot, mut searches) = (SearchSlot::default(), JoinSet::new());
        let (begun, has_begun) = channel();
        let senders = [(); MAX_RUNNING].map(|()| {
            let begun = begun.clone();
            let (go_on, may_go_on) = channel::<()>();
            slot.replace(&mut searches, move |cancel| {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
                cancel.is_cancelled()
            });
            go_on
        });
        tasks::run_blocking(move || has_begun.iter().take(MAX_RUNNING).count()).await;
        slot.replace(&mut searches, CancellationToken::is_cancelled);
        slot.replace(&mut searches, CancellationToken::is_cancelled);
        assert!(poll!(pin!(searches.join_next())).is_pending());
        for go_on in senders {
            go_on.send(()).unwrap();
        }
        let mut cancelled = searches.join_all().await;
        cancelled.sort_unstable();
        assert_eq!(cancelled, [false, true, true, true]);
    }
}
