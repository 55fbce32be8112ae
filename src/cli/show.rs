//! `show`: one email, from the archive or else from the service.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::args::{Form, Show};
use super::json::guarded;
use super::output::{Output, Shape, Stop};
use super::{archive, render, wait_for};
use crate::api::{Access, Client, Patience, Service as _};
use crate::archive::Gone;
use crate::config::Settings;
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::mail::{Address, Email, EmailId, Stamp};
use crate::render::{View, lay_out};

/// More recipients than this are counted rather than named.
const NAMED: usize = 20;

/// Finds the email and prints it.
///
/// # Errors
///
/// If neither archive nor service has it, or may be asked.
pub(super) fn run(show: &Show, settings: &Settings, clock: &Clock, out: &mut Output) -> Result<(), Stop> {
    let id = EmailId::new(&show.id);
    let archive = if show.offline { Some(archive::open(settings, clock, out)?) } else { archive::open_if_possible(settings, clock, out) };
    let kept = match &archive {
        Some(archive) if show.offline => archive.email(&id)?,
        // A damaged body is fetched again, and replaced.
        Some(archive) if !show.fresh => archive.email(&id).unwrap_or_else(|failure| {
            out.note(&failure.sentence);
            None
        }),
        _ => None,
    };
    let email = match kept {
        Some(email) => email,
        None if show.offline => {
            let failure = Failure::new(Kind::NotFound, "the archive does not hold this email with its body");
            return Err(failure.hint("without --offline the service is asked").into());
        }
        None => {
            let asked = archive.as_ref().map_or_else(|| Ok(clock().into()), |archive| archive.stamp_request(clock()))?;
            let client = Client::new(Access::from(settings), Patience::ONE_SHOT, clock.clone());
            let retrieved = wait_for(async { Ok(client.retrieve(&id).await) })?;
            if let (Err(Failure { kind: Kind::NotFound, .. }), Some(archive)) = (&retrieved, &archive) {
                archive.mark_gone(&id, asked)?;
            }
            let retrieved = retrieved?;
            // That it cannot be kept is no reason not to show it.
            if let Some(Err(failure)) = archive.as_ref().map(|archive| archive.keep(&retrieved, asked)) {
                out.note(&failure.sentence);
            }
            Email::from(retrieved)
        }
    };
    let gone = archive.and_then(|archive| archive.row(&id).ok().flatten()).and_then(|row| row.gone);
    print(&email, gone, show, &settings.zone, out)
}

fn print(email: &Email, gone: Option<Gone>, show: &Show, zone: &TimeZone, out: &mut Output) -> Result<(), Stop> {
    let form = if out.shape == Shape::Human { show.form } else { Form::Json };
    let view = match form {
        Form::Json => {
            out.data(&guarded(&email.json))?;
            out.data("\n")?;
            return out.flush();
        }
        Form::Html => {
            let html = part(email.html.as_ref(), "html", "text")?;
            out.exact(html)?;
            return out.flush();
        }
        Form::Source => {
            part(email.html.as_ref(), "html", "text")?;
            View::Source
        }
        Form::Text => {
            part(email.text.as_ref(), "plain-text", "rendered")?;
            View::Text
        }
        Form::Rendered => {
            out.data(&head(email, gone, zone))?;
            View::Rendered
        }
    };
    let width = render::width(show.width, out);
    render::write(&lay_out(email, view, width), false, out)
}

/// The part, or a failure that names the form which has something to show.
fn part<'a>(part: Option<&'a Arc<str>>, name: &str, other: &str) -> Result<&'a str, Failure> {
    part.map(|part| &**part).ok_or_else(|| {
        let failure = Failure::new(Kind::NoSuchPart, format!("this email has no {name} part"));
        failure.hint(format!("show it with --as {other}"))
    })
}

/// What is known about the email beside its body, a line each, and a blank line.
fn head(email: &Email, gone: Option<Gone>, zone: &TimeZone) -> String {
    let Email { summary, html: _, text: _, tags, json: _ } = email;
    let tags: Vec<String> = tags.iter().map(|tag| format!("{}={}", tag.name, tag.value)).collect();
    let scheduled = summary.scheduled.as_ref().map(|stamp| spelled(stamp, zone)).unwrap_or_default();
    let mut lines = vec![
        ("status", format!("{} {}: {}", summary.status.symbol(), summary.status.word(), summary.status.meaning())),
        ("gone", gone.map(|gone| format!("{}; noticed {}", gone.kind.meaning(), spelled_at(gone.noticed, zone))).unwrap_or_default()),
        ("to", list(&summary.to)),
        ("cc", list(&summary.cc)),
        ("bcc", list(&summary.bcc)),
        ("from", summary.from.to_string()),
        ("reply-to", list(&summary.reply_to)),
        ("subject", summary.subject.to_string()),
        ("created", spelled(&summary.created, zone)),
        ("scheduled", scheduled),
        ("tags", tags.join(" ")),
        ("id", summary.id.shown().to_string()),
        ("message-id", summary.message_id.to_string()),
    ];
    lines.extend(summary.extra.iter().map(|(name, value)| (&**name, value.to_string())));
    let known = lines.iter().filter(|(_, value)| !value.is_empty());
    let known: Vec<String> = known.map(|(name, value)| format!("{name:<10} {value}\n")).collect();
    known.concat() + "\n"
}

fn list(addresses: &[Address]) -> String {
    let named: Vec<String> = addresses.iter().take(NAMED).map(ToString::to_string).collect();
    match addresses.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// The time in full, or as it came if it cannot be read.
fn spelled(stamp: &Stamp, zone: &TimeZone) -> String {
    stamp.at.map_or_else(|| stamp.raw.to_string(), |at| spelled_at(at, zone))
}

fn spelled_at(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone()).strftime("%a %e %b %Y %H:%M:%S %Z").to_string()
}
