//! The token buckets: one in memory, and one in a file that processes share.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use super::Decision;
use crate::config::open_private;

/// Others hold the lock for microseconds; a stopped process is not waited for.
const LOCK_ATTEMPTS: u32 = 25;
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(2);
/// A state has four numbers; a longer line is not a state.
const MAX_STATE_BYTES: u64 = 200;
/// More tokens than any bucket holds.
const FULL_TOKENS: f64 = 1e6;

/// Returns how long a bucket with `tokens` takes to reach `needed`.
fn time_until(tokens: f64, needed: f64, rate: f64) -> Duration {
    if tokens >= needed {
        return Duration::ZERO;
    }
    Duration::from_secs_f64((needed - tokens) / rate).max(Duration::from_millis(1))
}

/// A bucket of tokens in memory. Times are measured from the start of the limiter.
#[derive(Debug)]
pub(super) struct TokenBucket {
    tokens: f64,
    refilled_at: Duration,
}

impl TokenBucket {
    pub(super) const fn new(tokens: f64) -> Self {
        Self {
            tokens,
            refilled_at: Duration::ZERO,
        }
    }

    /// Adds the tokens since the last refill, up to `capacity`.
    pub(super) fn refill(&mut self, now: Duration, rate: f64, capacity: f64) {
        let passed = now.saturating_sub(self.refilled_at).as_secs_f64();
        self.tokens = (self.tokens + passed * rate).min(capacity);
        self.refilled_at = self.refilled_at.max(now);
    }

    /// Takes `tokens`; the bucket may go below zero.
    pub(super) fn consume(&mut self, tokens: f64) {
        self.tokens -= tokens;
    }

    pub(super) fn cap(&mut self, tokens: f64) {
        self.tokens = self.tokens.min(tokens);
    }

    pub(super) fn time_until(&self, needed: f64, rate: f64) -> Duration {
        time_until(self.tokens, needed, rate)
    }
}

/// The needs of one request on a shared bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenDemand {
    /// New tokens a second.
    pub(super) rate: f64,
    pub(super) burst: f64,
    /// Tokens that the bucket must hold before one is taken.
    pub(super) needed: f64,
    pub(super) ignores_pause: bool,
}

/// A pause that the service requested, as the shared file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordedPause {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

/// The shared bucket as the file has it; times are microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BucketState {
    tokens: f64,
    refilled_at: i64,
    /// A pause has a start as well, so that it ends when the clock is set back.
    paused_from: i64,
    paused_until: i64,
}

impl BucketState {
    /// Reads `text`; anything but a state is a full bucket.
    fn parse(text: &str, now: i64) -> Self {
        let parse = || {
            let mut words = text.split_ascii_whitespace();
            let tokens = words.next()?.parse().ok();
            let mut time = || words.next()?.parse().ok();
            Some(Self {
                tokens: tokens.filter(|tokens: &f64| tokens.is_finite())?,
                refilled_at: time()?,
                paused_from: time()?,
                paused_until: time()?,
            })
        };
        parse().unwrap_or(Self {
            tokens: FULL_TOKENS,
            refilled_at: now,
            paused_from: now,
            paused_until: now,
        })
    }

    fn to_line(self) -> String {
        format!(
            "{:.6} {} {} {}\n",
            self.tokens, self.refilled_at, self.paused_from, self.paused_until
        )
    }

    fn try_take(&mut self, now: i64, demand: TokenDemand) -> Decision {
        // A clock that goes back adds no tokens; a clock that jumps ahead fills the bucket at most.
        let passed =
            Duration::from_micros(u64::try_from(now.saturating_sub(self.refilled_at)).unwrap_or(0));
        self.tokens = (self.tokens + passed.as_secs_f64() * demand.rate).min(demand.burst);
        self.refilled_at = now;
        if self.is_paused(now) && !demand.ignores_pause {
            return Decision::Paused(Duration::from_micros(self.paused_until.abs_diff(now)));
        }
        let wait = time_until(self.tokens, demand.needed, demand.rate);
        if !wait.is_zero() {
            return Decision::Wait(wait);
        }
        self.tokens -= 1.0;
        Decision::Allowed
    }

    fn is_paused(&self, now: i64) -> bool {
        (self.paused_from..self.paused_until).contains(&now)
    }

    fn pause(&mut self, now: i64, wait: Duration) {
        let until = now.saturating_add(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX));
        if !self.is_paused(now) || until > self.paused_until {
            (self.paused_from, self.paused_until) = (now, until);
        }
    }
}

/// The token bucket that all processes of one profile on this machine share.
///
/// Its state is a line in a file beside the archive, read and written under an advisory lock, which
/// the system releases when a process ends. Each process has its own bucket as well, so that a file
/// that cannot be used costs only the sharing.
///
/// Each method blocks for up to 50 ms, and returns `None` if the file cannot be used.
#[derive(Debug, Clone)]
pub(super) struct SharedBucket(PathBuf);

impl SharedBucket {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn try_take(&self, now: Timestamp, demand: TokenDemand) -> Option<Decision> {
        self.update(now, |state, now| state.try_take(now, demand))
    }

    pub(super) fn pause(&self, now: Timestamp, wait: Duration) -> Option<()> {
        self.update(now, |state, now| state.pause(now, wait))
    }

    /// Ends the pause of all processes.
    pub(super) fn lift_pause(&self, now: Timestamp) -> Option<()> {
        self.update(now, |state, now| state.paused_until = now)
    }

    /// Whether all processes pause.
    pub(super) fn is_paused(&self, now: Timestamp) -> Option<bool> {
        self.update(now, |state, now| state.is_paused(now))
    }

    /// Returns the pause of all processes; `None` also without one.
    pub(super) fn recorded_pause(&self, now: Timestamp) -> Option<RecordedPause> {
        let pause = |state: &mut BucketState, now| {
            state.is_paused(now).then_some(RecordedPause {
                from: Timestamp::from_microsecond(state.paused_from).ok()?,
                until: Timestamp::from_microsecond(state.paused_until).unwrap_or(Timestamp::MAX),
            })
        };
        self.update(now, pause).flatten()
    }

    fn update<T>(
        &self,
        now: Timestamp,
        apply: impl FnOnce(&mut BucketState, i64) -> T,
    ) -> Option<T> {
        let now = now.as_microsecond();
        let mut file = self.open_locked()?;
        let mut text = String::new();
        // A file that is not UTF-8 is replaced.
        let _ = (&mut file).take(MAX_STATE_BYTES).read_to_string(&mut text);
        let mut state = BucketState::parse(&text, now);
        let outcome = apply(&mut state, now);
        let line = state.to_line();
        file.rewind().ok()?;
        file.write_all(line.as_bytes()).ok()?;
        file.set_len(line.len() as u64).ok()?;
        Some(outcome)
    }

    fn open_locked(&self) -> Option<File> {
        let file = open_private(&self.0).ok()?;
        for _ in 0..LOCK_ATTEMPTS {
            match file.try_lock() {
                Ok(()) => return Some(file),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_DELAY),
                Err(TryLockError::Error(_)) => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMAND: TokenDemand = TokenDemand {
        rate: 2.0,
        burst: 4.0,
        needed: 1.0,
        ignores_pause: false,
    };

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_second(1_790_000_000).unwrap()
            + jiff::SignedDuration::from_secs_f64(seconds)
    }

    fn try_take_at(bucket: &SharedBucket, seconds: f64) -> Decision {
        bucket.try_take(at(seconds), DEMAND).unwrap()
    }

    /// Counts how many of ten requests are allowed at once.
    fn count_allowed(bucket: &SharedBucket, seconds: f64) -> usize {
        let decisions = (0..10).map(|_| try_take_at(bucket, seconds));
        decisions.filter(|it| *it == Decision::Allowed).count()
    }

    fn temp_bucket_path() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.sqlite.rate");
        (folder, path)
    }

    #[test]
    fn clock_jump_neither_blocks_nor_adds_burst() {
        let (_folder, path) = temp_bucket_path();
        let bucket = SharedBucket::new(path);
        while try_take_at(&bucket, 0.0) == Decision::Allowed {}
        bucket.pause(at(0.0), Duration::from_hours(1));
        assert_eq!(
            try_take_at(&bucket, -1_000_000.0),
            Decision::Wait(Duration::from_millis(500)),
            "the pause starts later"
        );
        assert_eq!(try_take_at(&bucket, -999_999.5), Decision::Allowed);
        assert_eq!(count_allowed(&bucket, 1e9), 4, "a full bucket");
    }

    #[test]
    fn unreadable_state_is_replaced() {
        let (_folder, path) = temp_bucket_path();
        let bucket = SharedBucket::new(path.clone());
        for text in [
            &b""[..],
            b"NaN 1 2 3",
            b"2.0 17",
            b"inf 1 2 3",
            b"\xff\xfe\n",
            &[b'9'; 5000],
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(count_allowed(&bucket, 0.0), 4, "{}", text.len());
            assert!(std::fs::read(&path).unwrap().len() < 100);
        }
    }

    #[test]
    fn unusable_file_gives_no_decision() {
        let (folder, path) = temp_bucket_path();
        let decide =
            |path: &std::path::Path| SharedBucket::new(path.to_owned()).try_take(at(0.0), DEMAND);
        assert_eq!(decide(&folder.path().join("absent/rate")), None);
        let locked = File::create(&path).unwrap();
        locked.lock().unwrap();
        assert_eq!(decide(&path), None, "a stopped process holds the lock");
        drop(locked);
        assert_eq!(decide(&path), Some(Decision::Allowed));
    }
}
