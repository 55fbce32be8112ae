//! Reads the time. All other code is given a [`Clock`].

use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;

use crate::error::{Error, ErrorKind, Result};

/// Returns the time. Cheap to clone; tests pass a fixed one.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Seconds since 1970 at the start of the year 9000.
///
/// Calculations with later times would leave the range, which ends in the year 9999.
const MAX_SECOND: i64 = 221_845_392_000;

/// Returns the clock of this machine.
#[must_use]
pub fn system_clock() -> Clock {
    Arc::new(now)
}

/// Returns the time of this machine; it stops in the year 9000.
#[must_use]
pub fn now() -> Timestamp {
    clamp_time(read_system_time())
}

pub(crate) fn check_system_clock() -> Result<()> {
    check_year(read_system_time())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the only reader of the system clock"
)]
fn read_system_time() -> SystemTime {
    SystemTime::now()
}

fn max_time() -> Timestamp {
    Timestamp::from_second(MAX_SECOND).expect("the year 9000 can be represented")
}

fn clamp_time(time: SystemTime) -> Timestamp {
    let before = time < SystemTime::UNIX_EPOCH;
    Timestamp::try_from(time).map_or(if before { Timestamp::MIN } else { max_time() }, |time| {
        time.min(max_time())
    })
}

fn check_year(time: SystemTime) -> Result<()> {
    if clamp_time(time) < max_time() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Io,
        "the clock of this machine is beyond the year 9000",
    )
    .with_hint("set the clock: date"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_beyond_the_calendar_is_refused() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(check_year(at(0)).is_ok() && check_year(at(32_503_680_000)).is_ok());
        for seconds in [253_402_300_800, 1 << 40, 1 << 60] {
            assert_eq!(check_year(at(seconds)).unwrap_err().kind, ErrorKind::Io);
            assert_eq!(clamp_time(at(seconds)).to_string(), "9000-01-01T00:00:00Z");
        }
    }
}
