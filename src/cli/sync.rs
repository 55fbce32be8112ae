//! `sync`: mirrors the service into the archive, and says how far that got.

use std::sync::Arc;

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::args;
use super::output::{Output, Shape, Stop};
use super::signal::Ending;
use crate::api::{Access, Client, Patience};
use crate::archive::{Archive, Reach};
use crate::config::Settings;
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::sync::{self, Engine, Stopped, Synced};

/// How far back to go, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back {
    /// To the very first email.
    All,
    /// So long before now.
    Span(SignedDuration),
}

/// Reads `all`, or a number of hours, days or weeks.
///
/// # Errors
///
/// If it is neither; the text says what is allowed.
pub fn back(text: &str) -> Result<Back, String> {
    let allowed = || "say all, or a number of hours, days or weeks such as 12h, 30d, 8w".to_owned();
    if text == "all" {
        return Ok(Back::All);
    }
    let (number, hours) = [('h', 1), ('d', 24), ('w', 24 * 7)]
        .into_iter()
        .find_map(|(unit, hours)| Some((text.strip_suffix(unit)?, hours)))
        .ok_or_else(allowed)?;
    // A thousand years is as good as all, and no arithmetic on times fails within it.
    let number: u32 = number.parse().ok().filter(|number| *number <= 50_000).ok_or_else(allowed)?;
    Ok(Back::Span(SignedDuration::from_hours(i64::from(number) * hours)))
}

/// The report as JSON.
#[derive(Serialize)]
struct Report {
    new: u64,
    changes: u64,
    pages: u64,
    complete: bool,
    since: Option<String>,
}

/// Fetches what is new, then what is older, until it is all there or something ends it.
///
/// # Errors
///
/// If the service or the archive fails; what was fetched until then is kept, and reported first.
pub(super) async fn run(sync: &args::Sync, archive: &Archive, settings: &Settings, clock: &Clock, out: &mut Output) -> Result<(), Stop> {
    let (synced, stop) = walk(sync.back, archive, settings, clock, out).await?;
    if let Some(synced) = synced {
        report(&synced, &settings.zone, out)?;
    }
    stop.map_or(Ok(()), Err)
}

/// The same without a report, for a command that needs what is fetched.
///
/// # Errors
///
/// As [`run`].
pub(super) async fn extend(back: Back, archive: &Archive, settings: &Settings, clock: &Clock, out: &mut Output) -> Result<(), Stop> {
    let (_, stop) = walk(back, archive, settings, clock, out).await?;
    stop.map_or(Ok(()), Err)
}

/// How far it got, and what ended it early.
type Walked = (Option<Synced>, Option<Stop>);

async fn walk(back: Back, archive: &Archive, settings: &Settings, clock: &Clock, out: &mut Output) -> Result<Walked, Stop> {
    let back = match back {
        Back::All => sync::Back::All,
        Back::Span(span) => sync::Back::Until(clock().checked_sub(span).unwrap_or(jiff::Timestamp::MIN)),
    };
    // Nobody waits at a screen, and the team's own sending goes first.
    let client = Client::new(Access::from(settings), Patience::STEADY, clock.clone()).background();
    let engine = Engine::new(Arc::new(client), archive.clone(), clock.clone());
    let ending = Ending::new()?;
    let mut last = None;
    let outcome = {
        let walk = engine.all(back, |synced| {
            out.progress(&words(synced, &settings.zone));
            last = Some(synced.clone());
        });
        tokio::select! {
            outcome = walk => outcome.map_err(Stop::from),
            number = ending.await_one() => Err(Stop::Signal(number)),
        }
    };
    out.progress("");
    Ok(match outcome {
        Ok(synced) => {
            let stop = failed(&synced.stopped).map(Stop::from);
            (Some(synced), stop)
        }
        Err(stop) => (last, Some(stop)),
    })
}

fn report(synced: &Synced, zone: &TimeZone, out: &mut Output) -> Result<(), Stop> {
    let text = match out.shape {
        Shape::Human => words(synced, zone),
        Shape::Json | Shape::JsonLines => {
            let Synced { new, changes, pages, .. } = *synced;
            let since = match &synced.reach {
                Reach::Since(stamp) => Some(stamp.at.map_or_else(|| stamp.raw.to_string(), |at| at.to_string())),
                Reach::Everything | Reach::Nothing => None,
            };
            let report = Report { new, changes, pages, complete: synced.reached_end(), since };
            serde_json::to_string(&report).expect("numbers and texts are JSON")
        }
    };
    out.data(&(text + "\n"))?;
    out.flush()
}

/// `1 200 emails new, 3 changed; all mail since 3 May 2026 09:14`.
fn words(synced: &Synced, zone: &TimeZone) -> String {
    let reach = match &synced.reach {
        Reach::Everything => "everything the service has is here".to_owned(),
        Reach::Since(stamp) => {
            let time = stamp.at.map(|at| at.to_zoned(zone.clone()).strftime("%-d %b %Y %H:%M").to_string());
            format!("all mail since {} is here", time.unwrap_or_else(|| stamp.raw.to_string()))
        }
        Reach::Nothing => "nothing is here yet".to_owned(),
    };
    format!("{} emails new, {} changed; {reach}", synced.new, synced.changes)
}

/// Why the walk did not get as far as it was asked to, if it did not.
fn failed(stopped: &Stopped) -> Option<Failure> {
    match stopped {
        Stopped::Done | Stopped::End => None,
        Stopped::Budget => Some(Failure::new(Kind::RateLimited, "there is more than one run may ask for").hint("run it again to go on")),
        Stopped::NoProgress => {
            let failure = Failure::new(Kind::NotTheApi, "the service says that there is more, but sends nothing new");
            Some(failure.hint("what is here is kept; there may be more"))
        }
        Stopped::CursorGone => Some(
            Failure::new(Kind::NotFound, "the service no longer knows where to go on from").hint("run it again to start from the newest"),
        ),
        Stopped::Failed(failure) => Some(failure.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_hours_days_and_weeks() {
        assert_eq!(back("all"), Ok(Back::All));
        for (text, hours) in [("12h", 12), ("30d", 720), ("2w", 336), ("0d", 0)] {
            assert_eq!(back(text), Ok(Back::Span(SignedDuration::from_hours(hours))), "{text}");
        }
        for text in ["", "d", "-1d", "30", "3m", "1.5d", "99999999d", "All"] {
            assert!(back(text).is_err(), "{text}");
        }
    }
}
