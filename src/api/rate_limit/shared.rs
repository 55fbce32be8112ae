//! `SharedBucket`: the token bucket that the processes of one profile on this machine share.
//!
//! Its state is a line in a file beside the archive, read and written under an advisory lock, which the
//! system releases when a process ends, however that ends. Each process has its own bucket as well, so that
//! a file that cannot be used costs nothing but the sharing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

/// Another process holds the lock for microseconds; one that was stopped while it did is not waited for.
const LOCK_ATTEMPTS: u32 = 25;
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(2);
/// A state has four numbers; what is longer is no state.
const MAX_STATE_BYTES: u64 = 200;
/// More tokens than any bucket holds.
const FULL_TOKENS: f64 = 1e6;

/// What one request needs of the bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenDemand {
    /// Tokens that flow in a second.
    pub(super) rate: f64,
    /// The most tokens that the bucket holds.
    pub(super) burst: f64,
    /// Tokens that must be there for one to be taken.
    pub(super) needed: f64,
}

/// Whether a request may be sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SharedDecision {
    /// It may, and its token is taken.
    Allowed,
    /// Not before this time has passed.
    Wait(Duration),
    /// Not before this time has passed, because the service has refused a request of one of the processes.
    Paused(Duration),
}

/// The bucket as the file has it; times are microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BucketState {
    tokens: f64,
    refilled_at: i64,
    /// A pause holds between these two times, so that it ends when the clock is set back.
    paused_from: i64,
    paused_until: i64,
}

impl BucketState {
    /// The state in `text`; a full bucket if there is none.
    fn parse(text: &str, now: i64) -> Self {
        let mut words = text.split_ascii_whitespace();
        let tokens = words
            .next()
            .and_then(|word| word.parse().ok())
            .filter(|tokens: &f64| tokens.is_finite());
        let mut time = || words.next().and_then(|word| word.parse().ok());
        match (tokens, time(), time(), time()) {
            (Some(tokens), Some(counted_at), Some(paused_from), Some(paused_until)) => Self {
                tokens,
                refilled_at: counted_at,
                paused_from,
                paused_until,
            },
            _ => Self {
                tokens: FULL_TOKENS,
                refilled_at: now,
                paused_from: now,
                paused_until: now,
            },
        }
    }

    fn to_line(&self) -> String {
        let Self {
            tokens,
            refilled_at: counted_at,
            paused_from,
            paused_until,
        } = self;
        format!("{tokens:.6} {counted_at} {paused_from} {paused_until}\n")
    }

    fn try_take(&mut self, now: i64, demand: TokenDemand) -> SharedDecision {
        let TokenDemand {
            rate,
            burst,
            needed,
        } = demand;
        // While the clock goes back nothing flows in, and when it leaps the bucket is full at most.
        let passed =
            Duration::from_micros(u64::try_from(now.saturating_sub(self.refilled_at)).unwrap_or(0));
        self.tokens = (self.tokens + passed.as_secs_f64() * rate).min(burst);
        self.refilled_at = now;
        if (self.paused_from..self.paused_until).contains(&now) {
            return SharedDecision::Paused(Duration::from_micros(self.paused_until.abs_diff(now)));
        }
        if self.tokens < needed {
            return SharedDecision::Wait(
                Duration::from_secs_f64((needed - self.tokens) / rate)
                    .max(Duration::from_millis(1)),
            );
        }
        self.tokens -= 1.0;
        SharedDecision::Allowed
    }

    fn pause(&mut self, now: i64, wait: Duration) {
        let until = now.saturating_add(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX));
        if !(self.paused_from..self.paused_until).contains(&now) || until > self.paused_until {
            (self.paused_from, self.paused_until) = (now, until);
        }
    }
}

/// The file that holds the bucket.
#[derive(Debug, Clone)]
pub(super) struct SharedBucket(PathBuf);

impl SharedBucket {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Takes a token; `None` if the file cannot be used. Blocks for a moment.
    pub(super) fn try_take(&self, now: Timestamp, demand: TokenDemand) -> Option<SharedDecision> {
        self.update(now, |state, now| state.try_take(now, demand))
    }

    /// Makes all processes pause. Blocks for a moment.
    pub(super) fn pause(&self, now: Timestamp, wait: Duration) {
        self.update(now, |state, now| state.pause(now, wait));
    }

    fn update<T>(&self, now: Timestamp, act: impl FnOnce(&mut BucketState, i64) -> T) -> Option<T> {
        let now = now.as_microsecond();
        let mut file = self.open_locked()?;
        let mut text = String::new();
        // A line that is no text is no state, and is written anew.
        let _ = (&mut file).take(MAX_STATE_BYTES).read_to_string(&mut text);
        let mut state = BucketState::parse(&text, now);
        let outcome = act(&mut state, now);
        let line = state.to_line();
        file.rewind().ok()?;
        file.write_all(line.as_bytes()).ok()?;
        file.set_len(line.len() as u64).ok()?;
        Some(outcome)
    }

    fn open_locked(&self) -> Option<File> {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&self.0)
            .ok()?;
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
    };

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_second(1_790_000_000).unwrap()
            + jiff::SignedDuration::from_secs_f64(seconds)
    }

    fn try_take_at(bucket: &SharedBucket, seconds: f64) -> SharedDecision {
        bucket.try_take(at(seconds), DEMAND).unwrap()
    }

    fn temp_bucket_path() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.sqlite.rate");
        (folder, path)
    }

    #[test]
    fn two_processes_share_one_rate() {
        let (_folder, path) = temp_bucket_path();
        let both = [SharedBucket::new(path.clone()), SharedBucket::new(path)];
        let mut sent = 0_u32;
        for step in 0..200 {
            for bucket in &both {
                sent += u32::from(
                    try_take_at(bucket, f64::from(step) / 10.0) == SharedDecision::Allowed,
                );
            }
        }
        assert_eq!(sent, 4 + 39, "a burst, and two a second for 19.9 seconds");
    }

    #[test]
    fn pause_of_one_process_holds_for_all() {
        let (_folder, path) = temp_bucket_path();
        let (one, other) = (SharedBucket::new(path.clone()), SharedBucket::new(path));
        one.pause(at(0.0), Duration::from_secs(3));
        one.pause(at(1.0), Duration::from_secs(1));
        assert_eq!(
            try_take_at(&other, 1.0),
            SharedDecision::Paused(Duration::from_secs(2))
        );
        assert_eq!(try_take_at(&other, 3.0), SharedDecision::Allowed);
    }

    #[test]
    fn clock_that_jumps_blocks_nobody_and_adds_no_burst() {
        let (_folder, path) = temp_bucket_path();
        let bucket = SharedBucket::new(path);
        while try_take_at(&bucket, 0.0) == SharedDecision::Allowed {}
        bucket.pause(at(0.0), Duration::from_hours(1));
        assert_eq!(
            try_take_at(&bucket, -1_000_000.0),
            SharedDecision::Wait(Duration::from_millis(500)),
            "the pause lies ahead"
        );
        assert_eq!(try_take_at(&bucket, -999_999.5), SharedDecision::Allowed);
        let leap = (0..10)
            .filter(|_| try_take_at(&bucket, 1e9) == SharedDecision::Allowed)
            .count();
        assert_eq!(leap, 4, "a full bucket");
    }

    #[test]
    fn unreadable_state_is_written_anew() {
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
            assert_eq!(
                (0..10)
                    .filter(|_| try_take_at(&bucket, 0.0) == SharedDecision::Allowed)
                    .count(),
                4,
                "{}",
                text.len()
            );
            assert!(std::fs::read(&path).unwrap().len() < 100);
        }
    }

    #[test]
    fn file_that_cannot_be_used_is_no_bucket() {
        let (folder, path) = temp_bucket_path();
        assert_eq!(
            SharedBucket::new(folder.path().join("absent/rate")).try_take(at(0.0), DEMAND),
            None
        );
        let held = File::create(&path).unwrap();
        held.lock().unwrap();
        assert_eq!(
            SharedBucket::new(path.clone()).try_take(at(0.0), DEMAND),
            None,
            "one that was stopped holds it"
        );
        drop(held);
        assert_eq!(
            SharedBucket::new(path).try_take(at(0.0), DEMAND),
            Some(SharedDecision::Allowed)
        );
    }
}
