//! `show`: one email, from the service, or from the archive if there is no answer.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::args::{Form, Show};
use super::freshness::{is_fresh, may_change};
use super::json::{guarded, with_checked_at};
use super::output::{Output, Shape, Stop};
use super::words::moment;
use super::{archive, render, wait_for};
use crate::api::{Access, Client, Patience, Service as _};
use crate::archive::Archive;
use crate::config::Settings;
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::mail::{Address, Email, EmailId, Stamp};
use crate::render::{BodyView, lay_out};

/// More recipients than this are counted rather than named.
const NAMED: usize = 20;

/// An email, and where it is from.
struct Found {
    email: Email,
    /// Whether its body was ever fetched.
    has_body: bool,
    /// When the service has confirmed its status.
    confirmed: Option<Timestamp>,
    /// Whether its status does not change any more.
    is_final: bool,
    /// That the service does not have it any more, in words.
    gone: String,
    /// Whether it is the copy of the archive, and not the service's answer.
    is_copy: bool,
}

/// Asks the service for the email and prints it, or the copy of the archive if there is no answer.
///
/// # Errors
///
/// If neither archive nor service has it, or may be asked; with `--fresh`, if the service has not.
pub(super) fn run(
    show: &Show,
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Result<(), Stop> {
    let id = EmailId::new(&show.id);
    let zone = &settings.zone;
    if show.offline {
        let archive = archive::open(settings, clock, out)?;
        let Some(copy) = copy(&archive, &id, clock(), zone)? else {
            let failure = Failure::new(Kind::NotFound, "the archive does not hold this email");
            return Err(failure
                .hint("without --offline the service is asked")
                .into());
        };
        if let Some(words) = age(&copy, clock(), zone).filter(|_| !copy.is_final) {
            out.note(&format!("{words}; without --offline the service is asked"));
        }
        return print(&copy, show, zone, out);
    }
    let archive = archive::open_if_possible(settings, clock, out);
    let copy_now = || {
        archive
            .as_ref()
            .map_or(Ok(None), |archive| copy(archive, &id, clock(), zone))
    };
    // A damaged body is fetched again, and replaced.
    let kept = copy_now().unwrap_or_else(|failure| {
        out.note(&failure.sentence);
        None
    });
    let has_copy = !show.fresh && kept.is_some();
    let failure = match retrieve(&id, archive.as_ref(), has_copy, settings, clock, out)? {
        Ok(found) => return print(&found, show, zone, out),
        Err(failure) => failure,
    };
    // Without its body the copy is something for people alone.
    let is_of_use = |copy: &Found| copy.has_body || form(show, out) == Form::Rendered;
    let Some(mut copy) =
        copy_now()?.filter(|copy| has_copy && leaves_the_copy(failure.kind) && is_of_use(copy))
    else {
        return Err(failure.into());
    };
    if failure.kind == Kind::NotFound && copy.gone.is_empty() {
        copy.gone = format!("{}; kept here", failure.sentence);
    }
    let words = age(&copy, clock(), zone);
    if failure.kind == Kind::NotFound || words.is_some() {
        out.note(&format!(
            "{}; {}",
            failure.sentence,
            words.unwrap_or_else(|| "this is the copy kept here".to_owned())
        ));
    }
    print(&copy, show, zone, out)
}

/// Asks the service, and keeps its answer; with a copy at hand it is not asked as often.
fn retrieve(
    id: &EmailId,
    archive: Option<&Archive>,
    has_copy: bool,
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Result<Result<Found, Failure>, Stop> {
    // That an archive cannot be written is no reason not to ask.
    let asked = archive
        .and_then(|archive| archive.stamp_request(clock()).ok())
        .unwrap_or_else(|| clock().into());
    let patience = if has_copy {
        Patience::SCREEN
    } else {
        Patience::ONE_SHOT
    };
    let client = Client::new(Access::from(settings), patience, clock.clone());
    let retrieved = match wait_for(async { Ok(client.retrieve(id).await) })? {
        Ok(retrieved) if retrieved.email.id == id.as_str() => retrieved,
        Ok(_) => {
            return Ok(Err(Failure::new(
                Kind::NotTheApi,
                "the service answered with another email than the one asked for",
            )));
        }
        Err(failure) => {
            if let (Kind::NotFound, Some(archive)) = (failure.kind, archive) {
                archive.mark_gone(id, asked)?;
            }
            return Ok(Err(failure));
        }
    };
    // That it cannot be kept is no reason not to show it.
    if let Some(Err(failure)) = archive.map(|archive| archive.keep(&retrieved, asked)) {
        out.note(&failure.sentence);
    }
    let email = Email::from(retrieved);
    Ok(Ok(Found {
        email,
        has_body: true,
        confirmed: Some(asked.at),
        is_final: false,
        gone: String::new(),
        is_copy: false,
    }))
}

/// What the archive has of the email.
fn copy(
    archive: &Archive,
    id: &EmailId,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Option<Found>, Failure> {
    let Some(row) = archive.row(id)? else {
        return Ok(None);
    };
    let is_final = !may_change(&row, now);
    let gone = row
        .gone
        .map(|gone| {
            format!(
                "{}; noticed {}",
                gone.kind.meaning(),
                spelled_at(gone.noticed, zone)
            )
        })
        .unwrap_or_default();
    let whole = archive.email(id)?;
    let has_body = whole.is_some();
    let email = if let Some(email) = whole {
        email
    } else {
        let json = archive.summary_json(id)?.unwrap_or_default().into();
        Email {
            summary: row.summary,
            html: None,
            text: None,
            tags: Vec::new(),
            json,
        }
    };
    Ok(Some(Found {
        email,
        has_body,
        confirmed: row.confirmed,
        is_final,
        gone,
        is_copy: true,
    }))
}

/// Whether this failure is no reason to withhold the copy: the service has no answer, or no such email.
const fn leaves_the_copy(kind: Kind) -> bool {
    match kind {
        Kind::NotFound
        | Kind::InvalidRequest
        | Kind::RateLimited
        | Kind::Quota
        | Kind::Server
        | Kind::Unreachable
        | Kind::NotTheApi
        | Kind::Redirected
        | Kind::TimedOut => true,
        Kind::Usage
        | Kind::KeyMissing
        | Kind::KeyRejected
        | Kind::KeySendOnly
        | Kind::NoSuchPart
        | Kind::Archive
        | Kind::Config
        | Kind::Io
        | Kind::Internal => false,
    }
}

/// `status as of 18 Nov 09:14`; `None` if it is fresh.
fn age(found: &Found, now: Timestamp, zone: &TimeZone) -> Option<String> {
    match found.confirmed {
        None => Some("the service never confirmed this status".to_owned()),
        Some(at) if is_fresh(at, now) => None,
        Some(at) => Some(format!("status as of {}", moment(at, now, zone))),
    }
}

fn form(show: &Show, out: &Output) -> Form {
    if out.shape == Shape::Human {
        show.form
    } else {
        Form::Json
    }
}

fn print(found: &Found, show: &Show, zone: &TimeZone, out: &mut Output) -> Result<(), Stop> {
    let Found {
        email,
        has_body,
        confirmed,
        is_copy,
        ..
    } = found;
    let view = match form(show, out) {
        Form::Json => {
            let json = guarded(&email.json);
            let json = if *is_copy {
                with_checked_at(&json, *confirmed).into()
            } else {
                json
            };
            out.data(&json)?;
            out.data("\n")?;
            return out.flush();
        }
        Form::Html | Form::Source | Form::Text if !has_body => {
            let failure =
                Failure::new(Kind::NoSuchPart, "the body of this email was never fetched");
            return Err(failure
                .hint("without --offline the service is asked")
                .into());
        }
        Form::Rendered if !has_body => {
            out.data(&head(found, zone))?;
            out.data("the body was never fetched\n")?;
            return out.flush();
        }
        Form::Html => {
            let html = part(email.html.as_ref(), "html", "text")?;
            out.exact(html)?;
            return out.flush();
        }
        Form::Source => {
            part(email.html.as_ref(), "html", "text")?;
            BodyView::Source
        }
        Form::Text => {
            part(email.text.as_ref(), "plain-text", "rendered")?;
            BodyView::Text
        }
        Form::Rendered => {
            out.data(&head(found, zone))?;
            BodyView::Rendered
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
fn head(found: &Found, zone: &TimeZone) -> String {
    let Email {
        summary,
        html: _,
        text: _,
        tags,
        json: _,
    } = &found.email;
    let confirmed = found.confirmed.map_or_else(
        || "never confirmed by the service".to_owned(),
        |at| format!("as of {}", spelled_at(at, zone)),
    );
    let tags: Vec<String> = tags
        .iter()
        .map(|tag| format!("{}={}", tag.name, tag.value))
        .collect();
    let scheduled = summary
        .scheduled
        .as_ref()
        .map(|stamp| spelled(stamp, zone))
        .unwrap_or_default();
    let mut lines = vec![
        (
            "status",
            format!(
                "{} {}: {}; {confirmed}",
                summary.status.symbol(),
                summary.status.word(),
                summary.status.meaning()
            ),
        ),
        ("gone", found.gone.clone()),
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
    lines.extend(
        summary
            .extra
            .iter()
            .map(|(name, value)| (&**name, value.to_string())),
    );
    let known = lines.iter().filter(|(_, value)| !value.is_empty());
    let known: Vec<String> = known
        .map(|(name, value)| format!("{name:<10} {value}\n"))
        .collect();
    known.concat() + "\n"
}

fn list(addresses: &[Address]) -> String {
    let named: Vec<String> = addresses
        .iter()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    match addresses.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// The time in full, or as it came if it cannot be read.
fn spelled(stamp: &Stamp, zone: &TimeZone) -> String {
    stamp
        .at
        .map_or_else(|| stamp.raw.to_string(), |at| spelled_at(at, zone))
}

fn spelled_at(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone())
        .strftime("%a %e %b %Y %H:%M:%S %Z")
        .to_string()
}
