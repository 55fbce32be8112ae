//! `show` and `render`: emails from the service or the archive, or an html file,
//! as text.

mod lookup;
mod shown_email;
mod typed_id;

use std::fs::File;
use std::io;
use std::path::Path;

use jiff::tz::TimeZone;

use super::args::{RenderArgs, ShowArgs, ShowForm};
use super::output::escape::add_checked_at;
use super::output::format::{format_api_time_long, format_time_long};
use super::output::{CommandExit, Output, OutputFormat};
use super::{ProfileContext, open_archive};
use crate::archive::{Archive, MAX_EMAIL};
use crate::config::read_at_most;
use crate::error::{Error, ErrorKind, Result};
use crate::export::to_eml;
use crate::mail::{Address, Email, EmailId, explain};
use crate::render::ansi::{self, AnsiOptions};
use crate::render::{Body, BodyView, Document, LayoutOptions, decode_html, lay_out};
use crate::text::json::escape_line;
use crate::text::secrets::{Secrets, shown_text};
use shown_email::{ShownEmail, load_email};
pub(super) use typed_id::TypedId;

/// The most recipients whose names are printed; the others are counted.
const MAX_NAMED_RECIPIENTS: usize = 20;

/// The form in which emails are printed, and the text between two emails.
#[derive(Clone, Copy)]
struct Printing<'a> {
    show: &'a ShowArgs,
    form: ShowForm,
    /// Written before the next email, once there is something to print of it.
    prefix: &'static str,
}

/// Prints the emails of the service, or their archived copies if the service fails.
///
/// If there are several, an error about one email is noted, and the next one is printed; any other error ends the command.
pub(super) fn run(show: &ShowArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    let form = effective_form(show, ctx.out)?;
    let ids = read_ids(&show.ids)?;
    if ids.is_empty() {
        ctx.out
            .note("the input has no id: there is nothing to show");
    }
    let archive = if show.offline {
        Some(open_archive::open_to_read(ctx)?)
    } else {
        open_archive::open_or_note(ctx)
    };
    let archive = archive.as_ref();
    let is_document = ctx.out.format == OutputFormat::Json && ids.len() > 1;
    let (first, later) = match ctx.out.format {
        OutputFormat::Json if is_document => ("{\"object\":\"list\",\"data\":[\n", ","),
        OutputFormat::Human => ("", "\n"),
        OutputFormat::Json | OutputFormat::JsonLines => ("", ""),
    };
    let mut printing = Printing {
        show,
        form,
        prefix: first,
    };
    let mut failures: Vec<Error> = Vec::new();
    for id in &ids {
        match show_one(id, printing, archive, ctx) {
            Ok(()) => printing.prefix = later,
            Err(CommandExit::Failed(error)) if ids.len() > 1 && concerns_one_email(error.kind) => {
                let id = id.to_safe_text();
                ctx.out.note(&format!("{id}: {}", error.message));
                failures.push(error);
            }
            Err(exit) => {
                end_document(is_document && printing.prefix == later, true, ctx.out)?;
                return Err(exit);
            }
        }
    }
    end_document(is_document && printing.prefix == later, false, ctx.out)?;
    match failures.first() {
        None => Ok(()),
        Some(first) => {
            let verb = if failures.len() == 1 { "is" } else { "are" };
            let message = format!(
                "{} of {} emails {verb} not shown",
                failures.len(),
                ids.len()
            );
            Err(Error::new(first.kind, message).into())
        }
    }
}

/// Ends the list of several emails in one JSON document.
fn end_document(is_open: bool, has_more: bool, out: &mut Output) -> Result<(), CommandExit> {
    if is_open {
        out.write_data(&format!("],\"has_more\":{has_more}}}\n"))?;
    }
    out.flush()
}

/// Whether an error says something about one email, and nothing about the next.
const fn concerns_one_email(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound | ErrorKind::NoSuchPart | ErrorKind::InvalidRequest | ErrorKind::Usage
    )
}

/// Returns the ids that were typed; `-` means those on standard input, one a line.
fn read_ids(typed: &[String]) -> Result<Vec<EmailId>> {
    let mut ids = Vec::new();
    for word in typed.iter().map(|word| word.trim()) {
        if word != "-" {
            ids.push(EmailId::new(word));
            continue;
        }
        let lines = io::read_to_string(io::stdin().lock())
            .map_err(|error| Error::cannot("read", ErrorKind::Io, "standard input", &error))?;
        let lines = lines.lines().map(str::trim);
        ids.extend(lines.filter(|line| !line.is_empty()).map(EmailId::new));
    }
    Ok(ids)
}

fn show_one(
    typed: &EmailId,
    printing: Printing<'_>,
    archive: Option<&Archive>,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    let typed = match TypedId::find(typed, archive, ctx.out) {
        // It is requested all the same.
        Err(CommandExit::Failed(error))
            if !printing.show.offline && error.kind.is_archive_error() =>
        {
            TypedId::known(typed)
        }
        found => found?,
    };
    let id = &typed.id;
    let shown = load_email(id, printing.show, printing.form, archive, ctx);
    let shown = shown.map_err(|exit| match exit {
        CommandExit::Failed(error) => typed.explain(error).into(),
        exit => exit,
    })?;
    open_archive::record_opened(archive, id, ctx)?;
    print_email(&shown, printing, ctx)
}

/// Returns the form to print:
/// JSON if a flag says so, which goes with no other form.
fn effective_form(show: &ShowArgs, out: &Output) -> Result<ShowForm> {
    match (out.format, show.form) {
        (OutputFormat::Human, form) => Ok(form.unwrap_or(ShowForm::Rendered)),
        (_, None | Some(ShowForm::Json)) => Ok(ShowForm::Json),
        (_, Some(_)) => {
            let message = "--json and --jsonl print the service's JSON, and no other form";
            Err(Error::new(ErrorKind::Usage, message).with_hint("leave out --as, or the other one"))
        }
    }
}

fn print_email(
    shown: &ShownEmail,
    Printing { show, form, prefix }: Printing<'_>,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    let (zone, secrets) = (&ctx.settings.zone, ctx.settings.secrets);
    let out = &mut *ctx.out;
    let email = &shown.email;
    let (html, text) = (email.html.as_deref(), email.text.as_deref());
    if !shown.has_body && !matches!(form, ShowForm::Json | ShowForm::Rendered) {
        let message = "the body of this email was never fetched";
        return Err(Error::new(ErrorKind::NoSuchPart, message)
            .with_hint("leave out --offline to request it")
            .into());
    }
    match form {
        ShowForm::Html | ShowForm::Source => require_part(html, "html")?,
        ShowForm::Text => require_part(text, "plain-text")?,
        ShowForm::Json | ShowForm::Eml | ShowForm::Rendered => {}
    }
    let width = layout_width(show.width, out);
    let layout = LayoutOptions::from(width).masked(secrets.are_masked());
    // A source may split a code, so it cannot be masked.
    if form == ShowForm::Source
        && secrets.are_masked()
        && lay_out(email, BodyView::Rendered, layout).has_secrets
    {
        let message = "the source has codes or links that work once, which are masked";
        return Err(Error::new(ErrorKind::NoSuchPart, message)
            .with_hint("--reveal shows it")
            .into());
    }
    out.write_data(prefix)?;
    let view = match form {
        ShowForm::Json => {
            let mut json = escape_line(&email.json);
            if shown.is_copy {
                json = add_checked_at(&json, shown.confirmed_at).into();
            }
            out.write_data(&format!("{json}\n"))?;
            if !shown.has_body {
                out.note("the body was never fetched");
            }
            return out.flush();
        }
        ShowForm::Html => {
            out.write_exact(html.unwrap_or_default())?;
            return out.flush();
        }
        ShowForm::Eml => {
            out.write_exact(&String::from_utf8_lossy(&to_eml(&email.clone().into())))?;
            return out.flush();
        }
        ShowForm::Source => BodyView::Source,
        ShowForm::Text => BodyView::Text,
        ShowForm::Rendered => {
            out.write_data(&format_header(shown, zone, secrets, out.ascii))?;
            if !shown.has_body {
                out.write_data("the body was never fetched\n")?;
                return out.flush();
            }
            BodyView::Rendered
        }
    };
    let body = lay_out(email, view, layout);
    let options = AnsiOptions {
        masked: secrets.are_masked(),
        ..AnsiOptions::default()
    };
    write_body(&body, options, out)?;
    if body.has_secrets && secrets.are_masked() {
        out.note("codes and links that work once are masked; --reveal shows them");
    }
    Ok(())
}

fn require_part(part: Option<&str>, name: &str) -> Result<()> {
    if part.is_some() {
        return Ok(());
    }
    let message = format!("this email has no {name} part");
    Err(Error::new(ErrorKind::NoSuchPart, message).with_hint("leave out --as to print what it has"))
}

/// Formats what is known beside the body, a line each, and a blank line.
fn format_header(shown: &ShownEmail, zone: &TimeZone, secrets: Secrets, ascii: bool) -> String {
    let Email { summary, tags, .. } = &shown.email;
    let status = &summary.status;
    let confirmed = match shown.confirmed_at {
        Some(at) => format!("as of {}", format_time_long(at, zone)),
        None => "never confirmed by the service".to_owned(),
    };
    let bounce = summary.bounce();
    let (meaning, bounced) = explain(status, bounce.as_ref(), summary.count_recipients());
    let label = status.label();
    let symbol = if ascii {
        status.ascii_symbol()
    } else {
        status.symbol()
    };
    let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
    let mask = |text: String| shown_text(&text, secrets).into_owned();
    let scheduled = summary.scheduled.as_ref();
    let scheduled = scheduled.map(|time| format_api_time_long(time, zone));
    let mut lines = vec![
        (
            "status",
            if status.exists() {
                format!("{symbol} {label}: {meaning}; {confirmed}")
            } else {
                String::new()
            },
        ),
        ("bounce", bounced),
        ("blocked", shown.found.suppression.clone()),
        ("activity", shown.found.activity.clone()),
        ("gone", shown.deletion_note.clone()),
        ("to", format_recipients(&summary.to)),
        ("cc", format_recipients(&summary.cc)),
        ("bcc", format_recipients(&summary.bcc)),
        ("from", mask(summary.from.with_warning())),
        ("reply-to", format_recipients(&summary.reply_to)),
        ("subject", summary.shown_subject(secrets).into_owned()),
        ("created", format_api_time_long(&summary.created, zone)),
        ("scheduled", scheduled.unwrap_or_default()),
        ("tags", mask(tags.join(" "))),
        ("attached", shown.found.attachments.clone()),
        ("id", summary.id.to_safe_text().to_string()),
        ("message-id", summary.message_id.to_string()),
    ];
    let extra = summary.other_fields(bounce.as_ref(), !shown.found.attachments.is_empty());
    lines.extend(extra.map(|(name, value)| (&**name, value.to_string())));
    let known = lines.iter().filter(|(_, value)| !value.is_empty());
    let known = known.map(|(name, value)| format!("{name:<10} {value}\n"));
    known.collect::<String>() + "\n"
}

fn format_recipients(addresses: &[Address]) -> String {
    let named = addresses.iter().take(MAX_NAMED_RECIPIENTS);
    let named: Vec<String> = named.map(Address::with_warning).collect();
    match addresses.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// `render`: lays out an html file or standard input.
pub(super) fn render(args: &RenderArgs, out: &mut Output) -> Result<(), CommandExit> {
    let path = args.file.as_deref().unwrap_or(Path::new("-"));
    let unreadable = |name: &dyn std::fmt::Display, error: io::Error| {
        Error::cannot("read", ErrorKind::Io, name, &error)
    };
    let html = if path == Path::new("-") {
        read_at_most(io::stdin().lock(), MAX_EMAIL)
            .map_err(|error| unreadable(&"standard input", error))?
    } else {
        File::open(path)
            .and_then(|file| read_at_most(file, MAX_EMAIL))
            .map_err(|error| unreadable(&path.display(), error))?
    };
    let width = layout_width(args.width, out);
    let text = decode_html(&html, args.charset);
    drop(html);
    let mut document = Document::from_html(&text);
    if args.links {
        document = document.with_link_numbers();
    }
    let body = document.lay_out(width);
    let options = AnsiOptions {
        links: args.links,
        ..AnsiOptions::default()
    };
    write_body(&body, options, out)
}

/// Returns the columns to lay out for: by flag, as wide as the terminal, or 80.
fn layout_width(flag: Option<u16>, out: &Output) -> u16 {
    flag.or(out.columns).unwrap_or(80)
}

fn write_body(body: &Body, options: AnsiOptions, out: &mut Output) -> Result<(), CommandExit> {
    let colour = out.colour;
    out.write_styled(&ansi::write(body, AnsiOptions { colour, ..options }))?;
    out.flush()
}
