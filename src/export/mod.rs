//! Writes an email as a file that other programs read: eml, html, text or JSON.
//!
//! Files are new and private: only a resumed export replaces some, which are its own. Sets of
//! emails are in [`set`].

mod attachment;
mod csv;
mod eml;
mod job;
pub(crate) mod resume;
mod set;
mod target;

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::iter;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use attachment::NewFile;
pub(crate) use attachment::{attachment_file_name, attachment_path, save_attachment};
pub(crate) use csv::{csv_record, join_addresses};
pub(crate) use eml::{CompleteEmail, fetch_attachments, to_eml};
pub(crate) use job::{ExportJob, ExportPlan, ExportProgress, ExportScope, SetFormat};
pub(crate) use target::NOT_EXPORTED;

use crate::mail::{ApiTime, Email, Summary, explain};
use crate::render::{self, BodyView, LayoutOptions, Link};
use crate::text::hash::{sha256, to_hex};
use crate::text::json::escape_line;
use crate::text::secrets::Secrets;

/// The most bytes of the subject in a file name;
/// common file systems allow 255 for the whole name.
const MAX_SLUG_BYTES: usize = 60;

/// The width at which the html part is laid out before its lines are joined again.
const TEXT_WIDTH: u16 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ExportFormat {
    /// A message of RFC 5322 with its MIME parts, as mail programs read it.
    Eml,
    /// The html part, which a browser shows without any request:
    /// a remote image would count as an opened email.
    Html,
    /// The header and the text of the rendered body.
    Text,
    /// The service's answer on one line, with control characters as escapes.
    Json,
}

impl ExportFormat {
    /// All formats; the first is the default.
    pub(crate) const ALL: [Self; 4] = [Self::Eml, Self::Html, Self::Text, Self::Json];

    /// Returns the ending of a file name, without the dot.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Eml => "eml",
            Self::Html => "html",
            Self::Text => "txt",
            Self::Json => "json",
        }
    }

    /// Returns the format that the ending of `path` names, in any case;
    /// `htm` and `text` count, too.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "htm" => Some(Self::Html),
            "text" => Some(Self::Text),
            _ => Self::ALL
                .into_iter()
                .find(|format| format.extension() == extension),
        }
    }
}

/// Returns a file name for the email:
/// its date, its subject without codes, the start of its id.
///
/// Letters, digits and hyphens only, so that it is a plain name on every file system.
pub(crate) fn file_name(summary: &Summary, zone: &TimeZone, format: ExportFormat) -> String {
    let id = slug(summary.id.as_str(), 8);
    join_file_name(summary, zone, id, format)
}

/// Returns the same with the whole id, so that two emails have two names.
fn unique_file_name(summary: &Summary, zone: &TimeZone, format: ExportFormat) -> String {
    let text = summary.id.as_str();
    let mut id = slug(text, 40);
    if id != text {
        // An id that is not a plain name has its digest there.
        id = format!("{id}-{}", to_hex(&sha256(text.as_bytes())[..8]));
    }
    join_file_name(summary, zone, id, format)
}

fn join_file_name(summary: &Summary, zone: &TimeZone, id: String, format: ExportFormat) -> String {
    let date = summary
        .created
        .parsed
        .map(|at| at.to_zoned(zone.clone()).date().to_string());
    let parts = [
        date.unwrap_or_default(),
        slug(&summary.shown_subject(Secrets::Masked), MAX_SLUG_BYTES),
        id,
    ];
    let name: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let stem = if name.is_empty() {
        "email".to_owned()
    } else {
        name.join("-")
    };
    format!("{stem}.{}", format.extension())
}

/// Returns the words of `text` in lower case, joined by hyphens,
/// in at most `max_bytes`.
fn slug(text: &str, max_bytes: usize) -> String {
    join_words(text.chars().flat_map(char::to_lowercase), max_bytes)
}

/// Joins words of letters and digits by hyphens, in at most `max_bytes`.
fn join_words(chars: impl Iterator<Item = char>, max_bytes: usize) -> String {
    let mut slug = String::new();
    for c in chars {
        if slug.len() + c.len_utf8() > max_bytes {
            break;
        }
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// Returns the email in `format`; only eml has the attachments, and text says when the status was
/// confirmed.
///
/// # Errors
///
/// A sentence, if the email has no html part and `format` is html.
fn export_email(
    complete: &CompleteEmail,
    confirmed_at: Option<Timestamp>,
    format: ExportFormat,
    zone: &TimeZone,
) -> Result<Vec<u8>, &'static str> {
    let email = &complete.email;
    match format {
        ExportFormat::Eml => Ok(to_eml(complete)),
        ExportFormat::Html => match &email.html {
            Some(html) => Ok(render::without_requests(html).into_bytes()),
            None => Err("this email has no html part"),
        },
        ExportFormat::Text => Ok(to_text(email, confirmed_at, zone).into_bytes()),
        ExportFormat::Json => Ok(format!("{}\n", escape_line(email.json.trim())).into_bytes()),
    }
}

/// Writes the email as a new file; the error is a sentence.
pub(crate) fn save_email(
    path: &Path,
    format: ExportFormat,
    email: &CompleteEmail,
    confirmed_at: Option<Timestamp>,
    zone: &TimeZone,
) -> Result<(), String> {
    let contents = export_email(email, confirmed_at, format, zone)?;
    write_new_file(path, &contents).map_err(|error| describe_write_error(path, &error))
}

fn describe_write_error(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{} exists already; choose another name", path.display())
        }
        _ => format!("{}: {error}", path.display()),
    }
}

/// Writes a new file that only its owner can read, under a temporary name first.
///
/// Fails if the file exists already or cannot be written; no part of it is left then.
fn write_new_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(contents)?;
    file.commit()
}

/// Writes a file of a folder that the export has created;
/// a resumed export writes it again.
fn write_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(path)?.write_all(contents);
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

fn to_text(email: &Email, confirmed_at: Option<Timestamp>, zone: &TimeZone) -> String {
    let options = LayoutOptions::from(TEXT_WIDTH).stacked();
    let body = render::lay_out(email, BodyView::Rendered, options);
    let header = text_header(&email.summary, confirmed_at, zone);
    let mut text = format!("{header}\n{}", body.unwrapped_text());
    let is_shown = |link: &Link| *link.text == *link.target.trim_start_matches("mailto:");
    let mut links = (body.links.iter()).filter(|link| link.is_openable() && !is_shown(link));
    if let Some(first) = links.next() {
        text.push_str("\nLinks:\n");
        for link in iter::once(first).chain(links) {
            let _ = writeln!(text, "{}: {}", link.text, link.target);
        }
    }
    text
}

/// Formats the header of an email, one field a line, with what became of it.
fn text_header(summary: &Summary, confirmed_at: Option<Timestamp>, zone: &TimeZone) -> String {
    let time = |at: Timestamp| {
        let format = "%a %-d %b %Y %H:%M:%S %z";
        at.to_zoned(zone.clone()).strftime(format).to_string()
    };
    let api_time = |at: &ApiTime| at.parsed.map_or_else(|| at.raw.to_string(), time);
    let (mut status, mut details) = (String::new(), String::new());
    if summary.status.exists() {
        let (bounce, recipients) = (summary.bounce(), summary.recipients().count());
        let (meaning, bounce_details) = explain(&summary.status, bounce.as_ref(), recipients);
        let checked = match confirmed_at {
            Some(at) => format!("as of {}", time(at)),
            None => "never checked".to_owned(),
        };
        status = format!("{}: {meaning}; {checked}", summary.status.label());
        details = bounce_details;
    }
    let scheduled = summary.scheduled.as_ref();
    let lines = [
        ("From", summary.from.to_string()),
        ("To", join_addresses(&summary.to)),
        ("Cc", join_addresses(&summary.cc)),
        ("Bcc", join_addresses(&summary.bcc)),
        ("Reply-To", join_addresses(&summary.reply_to)),
        ("Date", api_time(&summary.created)),
        ("Scheduled", scheduled.map(api_time).unwrap_or_default()),
        ("Subject", summary.subject.to_string()),
        ("Status", status),
        ("Bounce", details),
        ("Id", summary.id.to_safe_text().to_string()),
    ];
    let mut text = String::new();
    for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "{name}: {value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::RetrievedEmail;

    pub(super) fn email() -> Email {
        let json = r#"{"id":"49a3999c-0ce1-4ea6-ab68-afcd6dc2e794","to":["Ana López <ana@example.com>","b@example.org"],
            "from":"\"Acme, Inc.\" <billing@acme.example>","created_at":"2026-11-20 08:41:07.5+00",
            "subject":"Ihre Bestellung: 4 Bücher & ご注文\nBcc: thief@example.org","message_id":"<1@acme.example>",
            "cc":null,"bcc":["c@example.net"],"reply_to":null,"last_event":"bounced",
            "html":"<p>Grüße, <b>Ana</b></p>\n.\nFrom here","text":"Grüße, Ana\n.\n","tags":[{"name":"plan","value":"pro"}]}"#;
        parse(json)
    }

    pub(super) fn parse(json: &str) -> Email {
        RetrievedEmail::parse(json).unwrap().into()
    }

    fn utc() -> TimeZone {
        TimeZone::UTC
    }

    fn export(email: Email, format: ExportFormat) -> String {
        let confirmed_at = Some("2026-11-20T09:00:00Z".parse().unwrap());
        let exported = export_email(&email.into(), confirmed_at, format, &utc());
        String::from_utf8(exported.unwrap()).unwrap()
    }

    #[test]
    fn html_fetches_nothing() {
        let html = export(email(), ExportFormat::Html);
        assert!(html.starts_with(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
        ));
        let bare = Email {
            html: None,
            ..email()
        };
        assert!(export_email(&bare.into(), None, ExportFormat::Html, &utc()).is_err());
    }

    #[test]
    fn json_has_control_characters_as_escapes() {
        let source = "{\"id\":\"a\",\n\"subject\":\"\u{9b}31mred\u{202e}\",\"n\":1.50}\n";
        let expected = "{\"id\":\"a\",\"subject\":\"\\u009b31mred\\u202e\",\"n\":1.50}\n";
        assert_eq!(export(parse(source), ExportFormat::Json), expected);
    }

    #[test]
    fn text_has_header_and_body() {
        insta::assert_snapshot!(export(email(), ExportFormat::Text), @r"
        From: Acme, Inc. <billing@acme.example>
        To: Ana López <ana@example.com>, b@example.org
        Bcc: c@example.net
        Date: Fri 20 Nov 2026 08:41:07 +0000
        Subject: Ihre Bestellung: 4 Bücher & ご注文 Bcc: thief@example.org
        Status: bounced: one of 3 recipients, not known which; their server rejected it; as of Fri 20 Nov 2026 09:00:00 +0000
        Id: 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794

        Grüße, Ana

        . From here
        ");
    }

    #[test]
    fn text_has_targets_of_links() {
        let html = r#"<p><a href="https://a.example/reset?t=1">Reset password</a> or
            <a href="https://b.example/">https://b.example/</a><a href="https://c.example/"><img></a>"#;
        let email = parse(&serde_json::json!({ "id": "1", "html": html }).to_string());
        let text = export(email, ExportFormat::Text);
        let (_, links) = text.split_once("\nLinks:\n").unwrap();
        assert_eq!(
            links,
            "Reset password: https://a.example/reset?t=1\nc.example: https://c.example/\n"
        );
    }

    #[test]
    fn columns_are_stacked_in_exported_text() {
        let cell = |name: &str| format!("<td width=300>{name}<br>1 Long Street<br>Town");
        let html = format!("<table width=600><tr>{}{}</table>", cell("Ana"), cell("Bo"));
        let email = parse(&serde_json::json!({ "id": "1", "html": html }).to_string());
        let text = export(email, ExportFormat::Text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        let text = lines.join("|");
        let expected = "|Ana|1 Long Street|Town|Bo|1 Long Street|Town";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn names_are_plain_on_every_file_system() {
        let name = |subject: &str, id: &str| {
            let json = serde_json::json!({ "id": id, "subject": subject, "created_at": "2026-11-20T08:41:07Z" });
            file_name(&parse(&json.to_string()).summary, &utc(), ExportFormat::Eml)
        };
        for (subject, id, expected) in [
            (
                "Reset your password",
                "49a3999c-0ce1",
                "2026-11-20-reset-your-password-49a3999c.eml",
            ),
            (
                "../../etc/passwd",
                "..\\x:y",
                "2026-11-20-etc-passwd-x-y.eml",
            ),
        ] {
            assert_eq!(name(subject, id), expected);
        }
        assert_eq!(name("ご注文の確認", "/"), "2026-11-20-ご注文の確認.eml");
        assert!(name(&"Ü".repeat(500), &"i".repeat(500)).len() < 100);
    }

    #[test]
    fn format_follows_the_ending() {
        let format = |path: &str| ExportFormat::from_path(Path::new(path));
        assert_eq!(format("a.EML"), Some(ExportFormat::Eml));
        assert_eq!(format("a.b.htm"), Some(ExportFormat::Html));
        assert_eq!(format("a.txt"), Some(ExportFormat::Text));
        assert_eq!((format("a"), format("a.pdf")), (None, None));
    }
}
