//! Tasks, and work that blocks beside them.
//!
//! All is boxed: a task of each type of future or closure would add four kilobytes to the program.

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::thread;

use tokio::sync::oneshot;
use tokio::task::{self, JoinSet};

/// Starts a task of a set.
pub(crate) fn spawn_in<T: Send + 'static>(
    tasks: &mut JoinSet<T>,
    work: impl Future<Output = T> + Send + 'static,
) {
    let work: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(work);
    tasks.spawn(work);
}

/// Runs `work` on a thread that may block;
/// a panic in it goes on in the task that waits.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let result = catch_panic(work).await;
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs `work` on a thread that may block.
///
/// # Errors
///
/// The panic, if it panics.
pub(crate) async fn catch_panic<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> thread::Result<T> {
    let (done, result) = oneshot::channel();
    let job: Box<dyn FnOnce() + Send> = Box::new(move || {
        // The waiting task may have ended before.
        let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
    });
    task::spawn_blocking(job);
    wait_for_result(result).await
}

/// Waits for the result of work on another thread.
/// It never ends if the work is dropped: then the runtime shuts down.
pub(crate) async fn wait_for_result<T>(result: oneshot::Receiver<T>) -> T {
    match result.await {
        Ok(result) => result,
        Err(_) => pending().await,
    }
}
