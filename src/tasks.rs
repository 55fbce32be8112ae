//! Tasks, and work that blocks beside them.
//!
//! All is boxed: a task of each type of future or closure would add four kilobytes to the program.

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::thread;

use tokio::sync::oneshot;
use tokio::task::{self, JoinSet};

/// Work for another thread. It does not panic.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

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
    let (job, result) = blocking_job(work);
    task::spawn_blocking(job);
    result.await
}

/// Turns `work` into a job, and a future of its result or panic.
/// The future never ends if the job is dropped: then the runtime shuts down.
pub(crate) fn blocking_job<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> (
    Job,
    impl Future<Output = thread::Result<T>> + Send + 'static,
) {
    let (done, result) = oneshot::channel();
    let job = Box::new(move || {
        // The waiting task may have ended before.
        let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
    });
    let wait = async {
        match result.await {
            Ok(result) => result,
            Err(_) => pending().await,
        }
    };
    (job, wait)
}
