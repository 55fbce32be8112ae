//! `attachment`: lists the attachments of an email, or saves one.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;

use super::args::AttachmentArgs;
use super::output::{CommandExit, Output};
use super::show::TypedId;
use super::{ProfileContext, block_on_until_signal, open_archive};
use crate::api::RetryPolicy;
use crate::api::wire::ListBody;
use crate::error::{Error, ErrorKind, Result};
use crate::export::{attachment_path, save_attachment};
use crate::mail::{Attachment, EmailId};
use crate::text::format::{format_bytes, plural};
use crate::text::sanitize::sanitize_line;
use crate::text::width::{DisplayWidth as _, align_left};

/// The report of a saved attachment as JSON.
#[derive(Serialize)]
struct SavedJson<'a> {
    /// The file.
    path: String,
    /// The name that the service gives.
    name: &'a str,
    /// The length.
    bytes: u64,
}

pub(super) fn run(args: &AttachmentArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    let is_stream = args.is_stream();
    if args.to.is_none() && args.attachment.is_some() {
        let message = "where to save the attachment is not known";
        let hint = "--to FILE, or a folder; --to - is standard output";
        return Err(Error::new(ErrorKind::Usage, message).with_hint(hint).into());
    }
    if is_stream && ctx.out.columns.is_some() {
        let message = "an attachment is not written to a terminal, which it could control";
        let hint = "--to FILE, or a pipe after --to -";
        return Err(Error::new(ErrorKind::Usage, message).with_hint(hint).into());
    }
    ctx.settings.credentials.key.clone()?;
    let archive = open_archive::open_or_note(ctx);
    let typed = TypedId::find(&EmailId::new(args.id.trim()), archive.as_ref(), ctx.out)?;
    let id = &typed.id;
    if args.to.is_some() {
        open_archive::record_opened(archive.as_ref(), id, ctx)?;
    }
    drop(archive);
    let client = ctx.client_with_notes(RetryPolicy::ONE_SHOT);
    let out = &mut *ctx.out;
    block_on_until_signal(async {
        let attachments = client.attachments(id).await;
        let attachments = attachments.map_err(|error| typed.explain(error))?;
        let Some(to) = &args.to else {
            return print_list(&attachments, out);
        };
        let attachment = choose(&attachments, args.attachment.as_deref())?;
        out.show_progress(&format!("fetching {attachment}"));
        if is_stream {
            let mut sink = StdoutSink { out, exit: None };
            let result = client.download_to(id, attachment, &mut sink).await;
            if let Some(exit) = sink.exit {
                return Err(exit);
            }
            result?;
            return out.flush();
        }
        let path = attachment_path(to, attachment);
        let bytes = save_attachment(&client, id, attachment, &path).await?;
        let name = attachment.label();
        let report = SavedJson {
            path: path.display().to_string(),
            name,
            bytes,
        };
        let size = format_bytes(bytes);
        let text = format!("saved {name}, {size}, as {}", path.display());
        out.report(&report, sanitize_line(&text))
    })
}

impl AttachmentArgs {
    /// Whether the content goes to standard output.
    pub(super) fn is_stream(&self) -> bool {
        self.to.as_deref() == Some(Path::new("-"))
    }
}

/// Writes to stdout; the reader may go away.
struct StdoutSink<'a> {
    out: &'a mut Output,
    /// Why the last write failed.
    exit: Option<CommandExit>,
}

impl Write for StdoutSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.show_progress("");
        self.out.write_bytes(bytes).map_err(|exit| {
            self.exit = Some(exit);
            io::Error::from(io::ErrorKind::BrokenPipe)
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the attachment of that name or id, or the only one.
fn choose<'a>(all: &'a [Attachment], typed: Option<&str>) -> Result<&'a Attachment> {
    let Some(typed) = typed else {
        return match all {
            [] => Err(Error::new(
                ErrorKind::NoSuchPart,
                "this email has no attachments",
            )),
            [one] => Ok(one),
            _ => {
                let count = plural(all.len() as u64, "attachment");
                Err(
                    Error::new(ErrorKind::Usage, format!("this email has {count}"))
                        .with_hint(format!("name one of them: {}", join_names(all))),
                )
            }
        };
    };
    let matches = |test: &dyn Fn(&Attachment) -> bool| -> Vec<&Attachment> {
        all.iter().filter(|one| test(one)).collect()
    };
    let found = [
        matches(&|one| one.id == typed),
        matches(&|one| *one.name == *typed),
        matches(&|one| one.name.to_lowercase() == typed.to_lowercase()),
    ];
    match found
        .iter()
        .find(|found| !found.is_empty())
        .map(Vec::as_slice)
    {
        Some([one]) => Ok(one),
        Some(several) => {
            let ids: Vec<String> = several.iter().map(|one| one.id.clone()).collect();
            let message = format!("{} attachments have this name", several.len());
            Err(Error::new(ErrorKind::Usage, message)
                .with_hint(format!("give the id of one: {}", ids.join(", "))))
        }
        None => {
            let hint = match all {
                [] => "this email has no attachments".to_owned(),
                _ => format!("it has {}", join_names(all)),
            };
            let message = "this email has no such attachment";
            Err(Error::new(ErrorKind::NoSuchPart, message).with_hint(hint))
        }
    }
}

fn join_names(all: &[Attachment]) -> String {
    let names: Vec<&str> = all.iter().map(Attachment::label).collect();
    names.join(", ")
}

fn print_list(all: &[Attachment], out: &mut Output) -> Result<(), CommandExit> {
    if all.is_empty() && !out.is_json() {
        out.note("this email has no attachments");
        return Ok(());
    }
    let items = all.iter().map(|one| serde_json::from_str(&one.json));
    let items: Result<Vec<&RawValue>, _> = items.collect();
    let items = items.expect("it was parsed before");
    let document = ListBody::new(items.clone(), false);
    let width = all.iter().map(|one| one.label().width()).max();
    let width = width.unwrap_or_default().min(60);
    let is_terminal = out.columns.is_some();
    let lines = all.iter().map(|one| {
        if is_terminal {
            let size = one.size.map_or_else(|| "? bytes".to_owned(), format_bytes);
            let name = align_left(one.label(), width, "…");
            let inline = if one.is_inline { " (in the text)" } else { "" };
            return format!("{name}  {size:>11}  {}{inline}", one.content_type);
        }
        let size = one.size.map_or_else(String::new, |size| size.to_string());
        [&*one.name, &size, &one.content_type, &one.id].join("\t")
    });
    out.report_list(&items, &document, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::wire;

    fn attachment(id: &str, name: &str) -> Attachment {
        let wire = wire::Attachment {
            id: Some(id.to_owned()),
            filename: Some(name.to_owned()),
            ..wire::Attachment::default()
        };
        (wire, "{}".into()).into()
    }

    #[test]
    fn attachment_is_chosen_by_name_or_id() {
        let all = [
            attachment("1", "Terms.pdf"),
            attachment("2", "logo.png"),
            attachment("3", "logo.png"),
            attachment("4", "1"),
        ];
        let choose = |typed| choose(&all, typed).map(|one| one.id.as_str());
        for (typed, id) in [
            ("Terms.pdf", "1"),
            ("terms.PDF", "1"),
            ("3", "3"),
            ("1", "1"),
        ] {
            assert_eq!(choose(Some(typed)).unwrap(), id, "{typed}");
        }
        let hint = |typed| choose(typed).unwrap_err().hint;
        assert_eq!(hint(Some("logo.png")), "give the id of one: 2, 3");
        assert_eq!(hint(Some("x")), "it has Terms.pdf, logo.png, logo.png, 1");
        let expected = "name one of them: Terms.pdf, logo.png, logo.png, 1";
        assert_eq!(hint(None), expected);
    }
}
