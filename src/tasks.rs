//! Tasks, work that blocks beside them, and locks between them.
//!
//! All is boxed: a task of each type of future or closure would add four kilobytes to the program.

use std::future::{Future, pending};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use tokio::sync::oneshot;
use tokio::task::{self, JoinError, JoinSet};

/// The fewest items that are worth threads: more than a page of the service has.
const MIN_ITEMS: usize = 256;

/// The most threads: with more, `consume` could not keep up.
const MAX_THREADS: usize = 4;

/// How many results of each thread may wait to be consumed.
const AHEAD: usize = 64;

pub(crate) fn spawn_in<T: Send + 'static>(
    tasks: &mut JoinSet<T>,
    work: impl Future<Output = T> + Send + 'static,
) {
    let work: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(work);
    tasks.spawn(work);
}

/// Locks a mutex whose value stays valid when another thread panics.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on a thread that may block;
/// a panic in it goes on in the task that waits.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let result = catch_panic(work).await;
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Returns the result of a task that is never aborted; a panic in it goes on.
pub(crate) fn result_of_joined<T>(joined: Result<T, JoinError>) -> T {
    joined.unwrap_or_else(|error| resume_unwind(error.into_panic()))
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

/// Calls `consume` with the result of each item, in order.
///
/// Other threads make the results, a few items ahead; each calls `new_maker` for a function of its
/// own. This thread makes those of few items, and all if the system starts no other thread.
///
/// # Errors
///
/// The first of `consume`, which ends it.
pub(crate) fn map_ahead<T: Sync, M: Send, E, F: FnMut(&T) -> M>(
    items: &[T],
    new_maker: impl Fn() -> F + Sync,
    mut consume: impl FnMut(&T, M) -> Result<(), E>,
) -> Result<(), E> {
    let threads = if items.len() < MIN_ITEMS {
        0
    } else {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        processors.min(MAX_THREADS)
    };
    thread::scope(|scope| {
        let start = |first| {
            let (results, receiver) = mpsc::sync_channel(AHEAD);
            let new_maker = &new_maker;
            thread::Builder::new().spawn_scoped(scope, move || {
                let own_items = items.iter().skip(first).step_by(threads);
                // It fails after an error of `consume`.
                let _ = own_items
                    .map(new_maker())
                    .try_for_each(|made| results.send(made));
            })?;
            Ok(receiver)
        };
        // Threads that were started before one failed end, because they cannot send.
        let receivers: io::Result<Vec<_>> = (0..threads).map(start).collect();
        let receivers = receivers.unwrap_or_default();
        if receivers.is_empty() {
            let mut make = new_maker();
            return items.iter().try_for_each(|item| consume(item, make(item)));
        }
        let results = receivers.iter().cycle();
        items.iter().zip(results).try_for_each(|(item, results)| {
            let made = results.recv().expect("its thread made it, or panicked");
            consume(item, made)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Doubles numbers until it has consumed the result `last`;
    /// returns what it consumed.
    fn double(numbers: &[usize], last: usize) -> (Vec<usize>, Result<(), usize>) {
        let mut consumed = Vec::new();
        let result = map_ahead(
            numbers,
            || |number: &usize| number * 2,
            |number, made| {
                assert_eq!(made, number * 2);
                consumed.push(made);
                if made == last { Err(made) } else { Ok(()) }
            },
        );
        (consumed, result)
    }

    #[test]
    fn results_of_threads_come_in_order() {
        for count in [0, 1, MIN_ITEMS - 1, MIN_ITEMS, 10 * MIN_ITEMS + 1] {
            let numbers: Vec<usize> = (1..=count).collect();
            let doubled: Vec<usize> = numbers.iter().map(|number| number * 2).collect();
            assert_eq!(double(&numbers, 0), (doubled, Ok(())));
        }
    }

    #[test]
    fn error_of_consumer_ends_threads() {
        let numbers: Vec<usize> = (1..=10 * MIN_ITEMS).collect();
        let (consumed, result) = double(&numbers, 10);
        assert_eq!((consumed.len(), result), (5, Err(10)));
    }
}
