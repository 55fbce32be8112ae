//! One request to the service for all clients that need the same at the same time.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::error::{Error, ErrorKind, Result};
use crate::tasks::lock;

/// The most requests that are open at once;
/// more would wait for the rate limit for minutes.
const MAX_FLIGHTS: usize = 100;

/// The requests that are open, and those that ended within `fresh_for`.
pub(super) struct SingleFlight<K, T> {
    fresh_for: Duration,
    inner: Mutex<Inner<K, T>>,
}

struct Inner<K, T> {
    flights: HashMap<K, Flight<T>>,
    tasks: JoinSet<()>,
}

#[derive(Clone)]
struct Flight<T> {
    started: Instant,
    ended: watch::Receiver<Option<Ended<T>>>,
}

struct Ended<T> {
    at: Instant,
    result: Result<T>,
}

impl<K: Clone + Eq + Hash, T: Clone + Send + Sync + 'static> SingleFlight<K, T> {
    pub(super) fn new(fresh_for: Duration) -> Self {
        Self {
            fresh_for,
            inner: Mutex::new(Inner {
                flights: HashMap::new(),
                tasks: JoinSet::new(),
            }),
        }
    }

    /// Runs `request`, or waits for the same one of another caller,
    /// or returns its recent result.
    ///
    /// It runs to its end although callers are dropped.
    pub(super) async fn run<F>(&self, key: &K, request: impl FnOnce() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        self.join_or_start(key, request)?.wait().await
    }

    /// Runs `request` like [`run`](Self::run), but waits no longer than until
    /// `max_wait` after its start: then it returns `None`.
    pub(super) async fn run_within<F>(
        &self,
        max_wait: Duration,
        key: &K,
        request: impl FnOnce() -> F,
    ) -> Option<Result<T>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        match self.join_or_start(key, request) {
            Ok(flight) => timeout_at(flight.started + max_wait, flight.wait())
                .await
                .ok(),
            Err(error) => Some(Err(error)),
        }
    }

    fn join_or_start<F>(&self, key: &K, request: impl FnOnce() -> F) -> Result<Flight<T>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let mut inner = lock(&self.inner);
        let Inner { flights, tasks } = &mut *inner;
        while tasks.try_join_next().is_some() {}
        flights.retain(|_, flight| match &*flight.ended.borrow() {
            Some(ended) => ended.at.elapsed() < self.fresh_for,
            None => flight.ended.has_changed().is_ok(),
        });
        if let Some(flight) = flights.get(key) {
            return Ok(flight.clone());
        }
        if tasks.len() >= MAX_FLIGHTS {
            let message = "too many requests to the service are open";
            return Err(Error::new(ErrorKind::RateLimited, message));
        }
        let (sender, ended) = watch::channel(None);
        let flight = Flight {
            started: Instant::now(),
            ended,
        };
        let request = request();
        tasks.spawn(async move {
            let result = request.await;
            sender.send_replace(Some(Ended {
                at: Instant::now(),
                result,
            }));
        });
        flights.insert(key.clone(), flight.clone());
        Ok(flight)
    }
}

impl<T: Clone> Flight<T> {
    async fn wait(mut self) -> Result<T> {
        let ended = self.ended.wait_for(Option::is_some).await;
        match ended.as_deref() {
            Ok(Some(ended)) => ended.result.clone(),
            // It panicked, or the program ends.
            _ => Err(Error::new(ErrorKind::Internal, "the request was dropped")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::time::{advance, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn same_requests_run_once_until_stale() {
        let runs = Arc::new(AtomicU32::new(0));
        let flights = SingleFlight::new(Duration::from_secs(10));
        let run = |key: &'static str| {
            let (flights, runs) = (&flights, runs.clone());
            let request = async move {
                runs.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_secs(1)).await;
                Ok(key)
            };
            async move { flights.run(&key, || request).await }
        };
        let results = futures_util::future::join_all(["a", "a", "b", "a"].map(run)).await;
        assert_eq!(results, [Ok("a"), Ok("a"), Ok("b"), Ok("a")]);
        assert_eq!(runs.load(Ordering::Relaxed), 2);
        advance(Duration::from_secs(9)).await;
        run("a").await.unwrap();
        assert_eq!(runs.load(Ordering::Relaxed), 2);
        advance(Duration::from_secs(1)).await;
        run("a").await.unwrap();
        assert_eq!(runs.load(Ordering::Relaxed), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn request_goes_on_without_its_caller() {
        let flights = SingleFlight::new(Duration::from_secs(10));
        let slow = || async {
            sleep(Duration::from_secs(5)).await;
            Ok(1)
        };
        let max_wait = Duration::from_secs(3);
        let started = Instant::now();
        assert_eq!(flights.run_within(max_wait, &"a", slow).await, None);
        assert_eq!(started.elapsed().as_secs(), 3);
        assert_eq!(flights.run_within(max_wait, &"a", slow).await, None);
        assert_eq!(started.elapsed().as_secs(), 3, "it is known to be slow");
        assert_eq!(flights.run(&"a", slow).await, Ok(1));
        assert_eq!(started.elapsed().as_secs(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn too_many_open_requests_are_refused() {
        let flights: SingleFlight<usize, ()> = SingleFlight::new(Duration::from_secs(10));
        let waits = (0..=MAX_FLIGHTS).map(|key| {
            let never = flights.run(Box::leak(Box::new(key)), std::future::pending);
            tokio::time::timeout(Duration::from_secs(1), never)
        });
        let results = futures_util::future::join_all(waits).await;
        let refused = results.iter().filter(|result| result.is_ok()).count();
        assert_eq!(refused, 1);
    }
}
