//! `show`: one email, from the service, or from the archive if there is no answer.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::ProfileContext;
use super::args::{ShowArgs, ShowForm};
use super::escape::{add_checked_at, escape_line};
use super::format::format_time;
use super::freshness::{is_fresh, may_change};
use super::output::{CommandExit, Output, OutputFormat};
use super::{block_on, open_archive, render};
use crate::api::{Client, ClientConfig, EmailApi as _, RetryPolicy};
use crate::archive::Archive;
use crate::error::{Error, ErrorKind};
use crate::mail::{Address, ApiTime, Email, EmailId};
use crate::render::{BodyView, lay_out};

/// More recipients than this are counted rather than named.
const MAX_NAMED_RECIPIENTS: usize = 20;

/// An email, and where it is from.
struct ShownEmail {
    email: Email,
    /// Whether its body was ever fetched.
    has_body: bool,
    /// When the service has confirmed its status.
    confirmed: Option<Timestamp>,
    /// Whether its status does not change any more.
    is_final: bool,
    /// That the service does not have it any more, in words.
    deletion_note: String,
    /// Whether it is the copy of the archive, and not the service's answer.
    is_copy: bool,
}

/// Asks the service for the email and prints it, or the copy of the archive if there is no answer.
///
/// # Errors
///
/// If neither archive nor service has it, or may be asked; with `--fresh`, if the service has not.
pub(super) fn run(show: &ShowArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    let id = EmailId::new(&show.id);
    let zone = &ctx.settings.zone;
    if show.offline {
        let archive = open_archive::open_on_disk(ctx)?;
        let Some(copy) = load_copy(&archive, &id, (ctx.clock)(), zone)? else {
            let failure = Error::new(ErrorKind::NotFound, "the archive does not hold this email");
            return Err(failure
                .with_hint("without --offline the service is asked")
                .into());
        };
        if let Some(words) =
            describe_status_age(&copy, (ctx.clock)(), zone).filter(|_| !copy.is_final)
        {
            ctx.out
                .note(&format!("{words}; without --offline the service is asked"));
        }
        return print_email(&copy, show, zone, ctx.out);
    }
    let archive = open_archive::open_or_note(ctx);
    let copy_now = || {
        archive.as_ref().map_or(Ok(None), |archive| {
            load_copy(archive, &id, (ctx.clock)(), zone)
        })
    };
    // A damaged body is fetched again, and replaced.
    let kept = copy_now().unwrap_or_else(|failure| {
        ctx.out.note(&failure.message);
        None
    });
    let has_copy = !show.fresh && kept.is_some();
    let failure = match retrieve(&id, archive.as_ref(), has_copy, ctx)? {
        Ok(found) => return print_email(&found, show, zone, ctx.out),
        Err(failure) => failure,
    };
    // Without its body the copy is something for people alone.
    let is_of_use =
        |copy: &ShownEmail| copy.has_body || effective_form(show, ctx.out) == ShowForm::Rendered;
    let Some(mut copy) =
        copy_now()?.filter(|copy| has_copy && failure.kind.is_service_error() && is_of_use(copy))
    else {
        return Err(failure.into());
    };
    if failure.kind == ErrorKind::NotFound && copy.deletion_note.is_empty() {
        copy.deletion_note = format!("{}; kept here", failure.message);
    }
    let words = describe_status_age(&copy, (ctx.clock)(), zone);
    if failure.kind == ErrorKind::NotFound || words.is_some() {
        ctx.out.note(&format!(
            "{}; {}",
            failure.message,
            words.unwrap_or_else(|| "this is the copy kept here".to_owned())
        ));
    }
    print_email(&copy, show, zone, ctx.out)
}

/// Asks the service, and keeps its answer; with a copy at hand it is not asked as often.
fn retrieve(
    id: &EmailId,
    archive: Option<&Archive>,
    has_copy: bool,
    ctx: &mut ProfileContext<'_>,
) -> Result<Result<ShownEmail, Error>, CommandExit> {
    // That an archive cannot be written is no reason not to ask.
    let asked = archive
        .and_then(|archive| archive.stamp_request((ctx.clock)()).ok())
        .unwrap_or_else(|| (ctx.clock)().into());
    let patience = if has_copy {
        RetryPolicy::TUI
    } else {
        RetryPolicy::ONE_SHOT
    };
    let client = Client::new(
        ClientConfig::from(ctx.settings),
        patience,
        ctx.clock.clone(),
    );
    let retrieved = match block_on(async { Ok(client.retrieve(id).await) })? {
        Ok(retrieved) if retrieved.email.summary.id == id.as_str() => retrieved,
        Ok(_) => {
            return Ok(Err(Error::new(
                ErrorKind::NotTheApi,
                "the service answered with another email than the one asked for",
            )));
        }
        Err(failure) => {
            if let (ErrorKind::NotFound, Some(archive)) = (failure.kind, archive) {
                archive.mark_missing(id, asked)?;
            }
            return Ok(Err(failure));
        }
    };
    // That it cannot be kept is no reason not to show it.
    if let Some(Err(failure)) = archive.map(|archive| archive.put_body(&retrieved, asked)) {
        ctx.out.note(&failure.message);
    }
    let email = Email::from(retrieved);
    Ok(Ok(ShownEmail {
        email,
        has_body: true,
        confirmed: Some(asked.at),
        is_final: false,
        deletion_note: String::new(),
        is_copy: false,
    }))
}

/// What the archive has of the email.
fn load_copy(
    archive: &Archive,
    id: &EmailId,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Option<ShownEmail>, Error> {
    let Some(row) = archive.row(id)? else {
        return Ok(None);
    };
    let is_final = !may_change(&row, now);
    let gone = row
        .missing
        .map(|gone| {
            format!(
                "{}; noticed {}",
                gone.reason.description(),
                format_time_long(gone.noticed, zone)
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
    Ok(Some(ShownEmail {
        email,
        has_body,
        confirmed: row.confirmed_at,
        is_final,
        deletion_note: gone,
        is_copy: true,
    }))
}

/// `status as of 18 Nov 09:14`; `None` if it is fresh.
fn describe_status_age(found: &ShownEmail, now: Timestamp, zone: &TimeZone) -> Option<String> {
    match found.confirmed {
        None => Some("the service never confirmed this status".to_owned()),
        Some(at) if is_fresh(at, now) => None,
        Some(at) => Some(format!("status as of {}", format_time(at, now, zone))),
    }
}

fn effective_form(show: &ShowArgs, out: &Output) -> ShowForm {
    if out.format == OutputFormat::Human {
        show.form
    } else {
        ShowForm::Json
    }
}

fn print_email(
    found: &ShownEmail,
    show: &ShowArgs,
    zone: &TimeZone,
    out: &mut Output,
) -> Result<(), CommandExit> {
    let ShownEmail {
        email,
        has_body,
        confirmed,
        is_copy,
        ..
    } = found;
    let view = match effective_form(show, out) {
        ShowForm::Json => {
            let json = escape_line(&email.json);
            let json = if *is_copy {
                add_checked_at(&json, *confirmed).into()
            } else {
                json
            };
            out.write_data(&json)?;
            out.write_data("\n")?;
            return out.flush();
        }
        ShowForm::Html | ShowForm::Source | ShowForm::Text if !has_body => {
            let failure = Error::new(
                ErrorKind::NoSuchPart,
                "the body of this email was never fetched",
            );
            return Err(failure
                .with_hint("without --offline the service is asked")
                .into());
        }
        ShowForm::Rendered if !has_body => {
            out.write_data(&format_header(found, zone))?;
            out.write_data("the body was never fetched\n")?;
            return out.flush();
        }
        ShowForm::Html => {
            let html = require_part(email.html.as_ref(), "html", "text")?;
            out.write_exact(html)?;
            return out.flush();
        }
        ShowForm::Source => {
            require_part(email.html.as_ref(), "html", "text")?;
            BodyView::Source
        }
        ShowForm::Text => {
            require_part(email.text.as_ref(), "plain-text", "rendered")?;
            BodyView::Text
        }
        ShowForm::Rendered => {
            out.write_data(&format_header(found, zone))?;
            BodyView::Rendered
        }
    };
    let width = render::layout_width(show.width, out);
    render::write_body(&lay_out(email, view, width), false, out)
}

/// The part, or a failure that names the form which has something to show.
fn require_part<'a>(part: Option<&'a Arc<str>>, name: &str, other: &str) -> Result<&'a str, Error> {
    part.map(|part| &**part).ok_or_else(|| {
        let failure = Error::new(
            ErrorKind::NoSuchPart,
            format!("this email has no {name} part"),
        );
        failure.with_hint(format!("show it with --as {other}"))
    })
}

/// What is known about the email beside its body, a line each, and a blank line.
fn format_header(found: &ShownEmail, zone: &TimeZone) -> String {
    let Email {
        summary,
        html: _,
        text: _,
        tags,
        json: _,
    } = &found.email;
    let confirmed = found.confirmed.map_or_else(
        || "never confirmed by the service".to_owned(),
        |at| format!("as of {}", format_time_long(at, zone)),
    );
    let tags: Vec<String> = tags
        .iter()
        .map(|tag| format!("{}={}", tag.name, tag.value))
        .collect();
    let scheduled = summary
        .scheduled
        .as_ref()
        .map(|stamp| format_api_time_long(stamp, zone))
        .unwrap_or_default();
    let mut lines = vec![
        (
            "status",
            format!(
                "{} {}: {}; {confirmed}",
                summary.status.symbol(),
                summary.status.label(),
                summary.status.meaning()
            ),
        ),
        ("gone", found.deletion_note.clone()),
        ("to", format_recipients(&summary.to)),
        ("cc", format_recipients(&summary.cc)),
        ("bcc", format_recipients(&summary.bcc)),
        ("from", summary.from.to_string()),
        ("reply-to", format_recipients(&summary.reply_to)),
        ("subject", summary.subject.to_string()),
        ("created", format_api_time_long(&summary.created, zone)),
        ("scheduled", scheduled),
        ("tags", tags.join(" ")),
        ("id", summary.id.to_safe_text().to_string()),
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

fn format_recipients(addresses: &[Address]) -> String {
    let named: Vec<String> = addresses
        .iter()
        .take(MAX_NAMED_RECIPIENTS)
        .map(ToString::to_string)
        .collect();
    match addresses.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// The time in full, or as it came if it cannot be read.
fn format_api_time_long(stamp: &ApiTime, zone: &TimeZone) -> String {
    stamp
        .parsed
        .map_or_else(|| stamp.raw.to_string(), |at| format_time_long(at, zone))
}

fn format_time_long(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone())
        .strftime("%a %e %b %Y %H:%M:%S %Z")
        .to_string()
}
