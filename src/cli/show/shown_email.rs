//! The email that `show` prints: from the service, or a copy in the archive.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::lookup::{LookedUp, look_up};
use crate::api::{EmailApi as _, RetryPolicy};
use crate::archive::{Archive, ArchiveLocation};
use crate::cli::args::{ShowArgs, ShowForm};
use crate::cli::output::CommandExit;
use crate::cli::output::format::{format_time, format_time_long, is_fresh};
use crate::cli::{ProfileContext, block_on};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{Email, EmailId, Finality};
use crate::sync::Engine;

pub(super) struct ShownEmail {
    pub(super) email: Email,
    /// Whether its body was ever fetched.
    pub(super) has_body: bool,
    /// The time at which the service confirmed its status.
    pub(super) confirmed_at: Option<Timestamp>,
    pub(super) is_final: bool,
    /// A description of its deletion; empty if the service has it.
    pub(super) deletion_note: String,
    pub(super) is_copy: bool,
    /// The facts from the service beside it.
    pub(super) found: LookedUp,
}

/// Loads the email from the service, or else from the archive;
/// notes how old its status is.
pub(super) fn load_email(
    id: &EmailId,
    show: &ShowArgs,
    form: ShowForm,
    archive: Option<&Archive>,
    ctx: &mut ProfileContext<'_>,
) -> Result<ShownEmail, CommandExit> {
    let (now, zone) = (ctx.now(), ctx.settings.zone.clone());
    let load_copy = || archive.map_or(Ok(None), |archive| load_copy(archive, id, now, &zone));
    if show.offline {
        let to_request = "leave out --offline to request it";
        let copy = load_copy()?.ok_or_else(|| {
            let message = "the archive does not hold this email";
            Error::new(ErrorKind::NotFound, message).with_hint(to_request)
        })?;
        if let Some(age) = describe_status_age(&copy, now, &zone).filter(|_| !copy.is_final) {
            ctx.out.note(&format!("{age}; {to_request}"));
        }
        return Ok(copy);
    }
    // A damaged body is fetched again, and replaced.
    let copy = load_copy().unwrap_or_else(|error| {
        ctx.out.note(&error.message);
        None
    });
    let has_copy = !show.fresh && copy.is_some();
    let is_rendered = form == ShowForm::Rendered;
    match block_on(retrieve(id, archive, has_copy, is_rendered, ctx))? {
        Ok(email) => {
            // That of a mirror may be old.
            let age = describe_status_age(&email, ctx.now(), &zone);
            if let Some(age) = age.filter(|_| !email.is_final) {
                ctx.out.note(&age);
            }
            Ok(email)
        }
        Err(error) => use_copy(load_copy()?.filter(|_| has_copy), error, form, ctx),
    }
}

/// Returns the copy in place of the email that could not be requested,
/// or the error if it is no use.
fn use_copy(
    copy: Option<ShownEmail>,
    error: Error,
    form: ShowForm,
    ctx: &mut ProfileContext<'_>,
) -> Result<ShownEmail, CommandExit> {
    let is_deleted = error.kind == ErrorKind::NotFound;
    let is_json = form == ShowForm::Json;
    // Without its body, a copy is printed as rendered text; as JSON, only if the service has no more of it.
    let is_partial = form == ShowForm::Rendered || (is_deleted && is_json);
    // A named archive is read without a key, or with that of another team.
    let is_excused = error.kind.is_service_error() || ctx.settings.credentials.key.is_err();
    let Some(mut copy) = copy else {
        return Err(error.into());
    };
    if is_deleted && !copy.has_body && !is_partial {
        let message = format!("{}, and its body was never fetched", error.message);
        let hint = "what was listed of it is kept here: leave out --as to print that";
        return Err(Error::new(error.kind, message).with_hint(hint).into());
    }
    if !is_excused {
        return Err(error.into());
    }
    if !copy.has_body && !is_partial {
        let hint = "--offline prints what was listed of it, without the body";
        return Err(if is_json { error.add_hint(hint) } else { error }.into());
    }
    if is_deleted && copy.deletion_note.is_empty() {
        copy.deletion_note = format!("{}; kept here", error.message);
    }
    let age = describe_status_age(&copy, ctx.now(), &ctx.settings.zone);
    // A fresh copy also reports the failure of the service.
    let age = age.unwrap_or_else(|| match copy.confirmed_at {
        Some(at) => format!(
            "this is the copy kept here, as of {}",
            format_time(at, ctx.now(), &ctx.settings.zone)
        ),
        None => "this is the copy kept here".to_owned(),
    });
    ctx.out.note(&format!("{}; {age}", error.message));
    Ok(copy)
}

/// Retrieves the email and stores it; with a copy at hand, retries are few.
async fn retrieve(
    id: &EmailId,
    archive: Option<&Archive>,
    has_copy: bool,
    with_details: bool,
    ctx: &mut ProfileContext<'_>,
) -> Result<ShownEmail> {
    let client = ctx.client(if has_copy {
        RetryPolicy::TUI
    } else {
        RetryPolicy::ONE_SHOT
    });
    let archive = match archive {
        Some(archive) => archive.clone(),
        None => Archive::open(&ArchiveLocation::Memory)?,
    };
    let engine = Engine::new(client, archive.clone(), ctx.clock.clone());
    let client = engine.service();
    let retrieved = engine.fetch_and_store(id).await.map_err(|error| {
        if error.kind != ErrorKind::NotFound || !client.is_mirror() {
            return error;
        }
        let hint = format!(
            "{}, and a mirror leaves out what was purged from it",
            error.hint
        );
        error.with_hint(hint)
    })?;
    let stored = match retrieved.is_changed {
        // It has what only the list has.
        Ok(_) => archive.email(id).ok().flatten(),
        Err(error) => {
            // A full disk was noted when the archive was opened.
            if !archive.is_disk_full() {
                ctx.out.note(&error.message);
            }
            None
        }
    };
    let (email, requested) = (stored.unwrap_or(retrieved.email), retrieved.requested);
    let found = if with_details {
        look_up(client, &email.summary, &ctx.settings.zone).await
    } else {
        LookedUp::default()
    };
    let created = email.summary.created.parsed.unwrap_or(requested.as_of);
    let age = ctx.now().duration_since(created);
    Ok(ShownEmail {
        has_body: true,
        confirmed_at: requested.confirmed_at(),
        is_final: email.summary.status.finality(age) == Finality::Final,
        email,
        deletion_note: String::new(),
        is_copy: false,
        found,
    })
}

fn load_copy(
    archive: &Archive,
    id: &EmailId,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Option<ShownEmail>> {
    let Some(row) = archive.row(id)? else {
        return Ok(None);
    };
    let deletion_note = row.missing_since.map(|noticed| {
        let noticed = format_time_long(noticed, zone);
        format!("no longer at the service; kept here; noticed {noticed}")
    });
    let stored = archive.email(id)?;
    let has_body = stored.is_some();
    let confirmed_at = row.confirmed_at.filter(|at| *at <= now);
    let is_final = row.finality(now) == Finality::Final;
    let email = match stored {
        Some(email) => email,
        None => Email {
            summary: row.summary,
            html: None,
            text: None,
            tags: Vec::new(),
            json: archive.summary_json(id)?.unwrap_or_default().into(),
        },
    };
    Ok(Some(ShownEmail {
        email,
        has_body,
        confirmed_at,
        is_final,
        deletion_note: deletion_note.unwrap_or_default(),
        is_copy: true,
        found: LookedUp::default(),
    }))
}

/// Formats the age as `status as of 18 Nov 09:14`; `None` if it is fresh.
fn describe_status_age(email: &ShownEmail, now: Timestamp, zone: &TimeZone) -> Option<String> {
    match email.confirmed_at {
        _ if !email.email.summary.status.exists() => None,
        None => Some("the service never confirmed this status".to_owned()),
        Some(at) if is_fresh(at, now) => None,
        Some(at) => Some(format!("status as of {}", format_time(at, now, zone))),
    }
}
