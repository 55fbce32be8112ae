//! The limit of the backfill's requests a day.

use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::Instant;

use super::SyncEnv;
use super::sim::{Dates, EPOCH, FakeService, ticking};
use crate::api::{BeforeSend, Cursor, EmailApi, EmailPage, RetrievedEmail};
use crate::error::Result;
use crate::mail::EmailId;
use crate::sync::{BackfillStep, Engine};

/// Runs steps; returns of each whether it has loaded a page.
fn run_steps<S: EmailApi>(env: &SyncEnv, engine: &Engine<S>, count: usize) -> Vec<bool> {
    let step = || matches!(env.run(engine.backfill()), Ok(BackfillStep::Loaded(_)));
    std::iter::repeat_with(step).take(count).collect()
}

#[test]
fn backfill_sends_no_more_than_the_day_allows() {
    let mut env = SyncEnv::new(Dates::Distinct, 900);
    env.engine.backfill_limit = 3;
    env.refresh();
    let steps = run_steps(&env, &env.engine, 5);
    assert_eq!(steps, [true, true, true, false, false]);
    assert_eq!(env.archive().query_count().unwrap(), 400);
    env.load_older();
    assert_eq!(env.archive().query_count().unwrap(), 500, "by hand");
    env.sim.state().mirrored_at = Some(jiff::Timestamp::UNIX_EPOCH);
    let steps = run_steps(&env, &env.engine, 1);
    assert_eq!(steps, [true], "a mirror has no limit");
}

/// A client that repeats each request for a page once.
#[derive(Clone)]
struct RetryingClient(FakeService, Option<BeforeSend>);

impl EmailApi for RetryingClient {
    fn with_before_send(&self, hook: BeforeSend) -> Option<Self> {
        Some(Self(self.0.clone(), Some(hook)))
    }

    async fn list(&self, limit: u8, cursor: &Cursor) -> Result<EmailPage> {
        for _ in 0..2 {
            (self.1.as_ref().unwrap())().await;
        }
        self.0.list(limit, cursor).await
    }

    async fn retrieve(&self, id: &EmailId) -> Result<RetrievedEmail> {
        self.0.retrieve(id).await
    }
}

#[test]
fn retries_count_for_limit_of_the_day() {
    let env = SyncEnv::new(Dates::Distinct, 900);
    env.refresh();
    let client = RetryingClient(env.sim.clone(), None);
    let mut engine = Engine::new(client, env.archive().clone(), ticking());
    engine.backfill_limit = 4;
    let steps = run_steps(&env, &engine, 3);
    assert_eq!(steps, [true, true, false]);
}

#[test]
fn mail_too_old_to_keep_is_requested_hourly() {
    let env = SyncEnv::at_rest(2000);
    let keep = SignedDuration::from_secs(7 * 1000);
    let archive = env.archive().clone().with_retention(Some(keep)).unwrap();
    let start = jiff::Timestamp::from_second(EPOCH).unwrap();
    let backfill = || {
        let until = Instant::now() + Duration::from_mins(1);
        env.run(env.engine.backfill_until(Some(start), until, |_| ()))
            .unwrap();
    };
    env.refresh();
    backfill();
    assert!((990..1010).contains(&archive.query_count().unwrap()));
    for (seconds, requests) in [(0, 0), (1800, 0), (1800, 1), (1, 0)] {
        env.seconds.fetch_add(seconds, Ordering::Relaxed);
        env.refresh();
        assert_eq!(env.count_requests(|_| backfill()).0, requests, "{seconds}");
    }
}
