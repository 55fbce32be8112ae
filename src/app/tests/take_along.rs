//! Copying, opening and saving what is on the screen.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::env::{AppHarness, FakeService, effect, row, row_of, session};
use crate::api::wire;
use crate::app::effect::ClipboardText;
use crate::app::{Effect, Focus, LoopEffect, Message, SessionInfo, SessionTarget};
use crate::config::ClipboardRoute;
use crate::error::{Error, ErrorKind};
use crate::export::ExportFormat;
use crate::mail::{Address, EmailId, SafeText};
use crate::view::tests::screen;
use ratatui::layout::Position;

const HTML: &str = "<p>Your code is 482913. <a href='https://acme.example/reset?token=abc'>Reset</a></p>\
    <p><a href='https://click.example.net/?u=https%3A%2F%2Fshop.example.org%2Fa'>Our shop</a></p>";

/// A service whose newest email has a code in its subject,
/// a single-use and a tracked link.
fn service() -> FakeService {
    let mut service = FakeService::with_emails(3);
    let summary = wire::Summary {
        id: row(9).summary.id.as_str().to_owned(),
        to: Some(vec![
            "Ana Lopez <ana@example.com>".into(),
            "b@example.org".into(),
        ]),
        from: Some("Acme <hello@example.org>".into()),
        created_at: Some("2026-11-20T09:30:00Z".into()),
        subject: Some("482913 is your Acme code".into()),
        message_id: Some("<9@example.org>".into()),
        last_event: Some("bounced".into()),
        ..wire::Summary::default()
    };
    service.rows.insert(0, row_of(9, &summary));
    service.html = Some(Arc::from(HTML));
    service
}

fn app_with(session: SessionInfo) -> AppHarness {
    let mut app = AppHarness::settled((120, 40), session, service());
    app.press("Enter").settle();
    app
}

fn app() -> AppHarness {
    app_with(session())
}

/// Presses keys; returns what the terminal's clipboard gets, and the notice.
fn copied(app: &mut AppHarness, keys: &str) -> (Option<String>, String) {
    let before = app.effects.len();
    app.press(keys).settle();
    let text = app.effects[before..]
        .iter()
        .find_map(effect!(Effect::Loop(LoopEffect::SetClipboard { text, .. }) => text.clone()));
    (text, app.notice().to_owned())
}

#[test]
fn commands_quote_an_id_as_data() {
    let mut service = FakeService::with_emails(1);
    service.rows[0].summary.id = EmailId::new("-f/../x y");
    let mut app = AppHarness::at_rest(120, 40, service);
    let ticket = copied(&mut app, "y T").0.unwrap();
    assert!(ticket.ends_with(" show -- '-f/../x y'\n"), "{ticket}");
    let curl = copied(&mut app, "y c").0.unwrap();
    assert!(curl.ends_with("/emails/-f%2F..%2Fx%20y'"), "{curl}");
}

#[test]
fn command_that_shows_the_filter_is_copied() {
    let mut app = app();
    app.press("q");
    for (filter, expected) in [
        ("", "sentbox -p acme"),
        (
            "is:bounced o'neil",
            r"sentbox -p acme -- 'is:bounced o'\''neil'",
        ),
        ("list", "sentbox -p acme -- list"),
        ("attachment 5", "sentbox -p acme -- 'attachment 5'"),
        ("-is:delivered", "sentbox -p acme -- '-is:delivered'"),
    ] {
        app.press("/ Ctrl-u").write(filter).press("Enter").settle();
        assert_eq!(copied(&mut app, "y q").0.as_deref(), Some(expected));
    }
    let mut session = session();
    session.target = SessionTarget::Demo;
    let mut demo = app_with(session);
    demo.press("q").search("is:bounced");
    assert_eq!(copied(&mut demo, "y q").0.as_deref(), Some("is:bounced"));
}

#[test]
fn shortened_recipients_are_not_copied() {
    let mut service = FakeService::with_emails(1);
    service.rows[0].summary.cc = vec![Address::parse("team@example.org"); 101];
    let mut app = AppHarness::at_rest(40, 12, service);
    for keys in ["y t", "y T"] {
        let (text, notice) = copied(&mut app, keys);
        assert_eq!(text, None);
        assert_eq!(notice, "the email is not open; Enter reads it");
    }
}

#[test]
fn long_reply_to_leaves_the_recipients_whole() {
    let mut service = FakeService::with_emails(1);
    service.rows[0].summary.reply_to = vec![Address::parse("team@example.org"); 101];
    let mut app = AppHarness::at_rest(40, 12, service);
    assert!(copied(&mut app, "y t").0.is_some());
}

#[test]
fn each_field_is_copied_and_reported() {
    let mut app = app();
    let id = row(9).summary.id.as_str().to_owned();
    let mut text = |keys: &str| copied(&mut app, keys).0.unwrap();
    assert_eq!(text("y i"), id);
    assert_eq!(text("y m"), "<9@example.org>");
    assert_eq!(text("y t"), "ana@example.com, b@example.org");
    assert_eq!(text("y f"), "hello@example.org");
    assert_eq!(text("y s"), "•••••• is your Acme code");
    let expected = format!(
        "curl -H \"Authorization: Bearer $SENTBOX_API_KEY\" https://api.example.com/emails/{id}"
    );
    assert_eq!(text("y c"), expected);
    assert!(text("y b").starts_with("Your code is ••••••. Reset"));
    let (_, notice) = copied(&mut app, "y f");
    let expected = "copied: sender, 17 characters, OSC 52; the terminal may refuse";
    assert_eq!(notice, expected);
}

#[test]
fn long_subject_of_open_email_is_copied_whole() {
    let mut service = FakeService::with_emails(1);
    let subject = "word ".repeat(300) + "end";
    service.rows[0].summary.subject = SafeText::new(&subject);
    let mut app = AppHarness::at_rest(120, 40, service);
    app.press("Enter").settle();
    assert_eq!(copied(&mut app, "y s").0.as_ref(), Some(&subject));
    let ticket = copied(&mut app, "y T").0.unwrap();
    assert!(ticket.contains(&subject), "{ticket}");
}

#[test]
fn curl_command_names_the_variable_of_the_key() {
    let key_variable = Some("OTHER".to_owned());
    let mut app = app_with(SessionInfo {
        key_variable,
        ..session()
    });
    let text = copied(&mut app, "y c").0.unwrap();
    assert!(text.contains("Bearer $OTHER\" https://"), "{text}");
}

#[test]
fn ticket_has_status_times_and_command() {
    let text = copied(&mut app(), "y T").0.unwrap();
    insta::assert_snapshot!(text, @r"
    To: Ana Lopez <ana@example.com>, b@example.org
    Subject: •••••• is your Acme code
    Status: bounced: one of 2 recipients, not known which; their server rejected it; as of 2026-11-20 09:42 UTC
    Created: 2026-11-20 09:30 UTC
    Id: 00000000-0000-4000-8000-000001000009
    Message-ID: <9@example.org>
    sentbox -p acme show 00000000-0000-4000-8000-000001000009
    ");
}

#[test]
fn ticket_of_missing_email_says_so() {
    let mut app = AppHarness::start((120, 40), session(), service());
    app.service.rows[0].missing_since = app.service.rows[0].confirmed_at;
    app.settle();
    let text = copied(&mut app, "y T").0.unwrap();
    let line = "Gone: no longer at the service, noticed 2026-11-20 09:42 UTC\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn copies_name_all_recipients() {
    let mut app = AppHarness::start((120, 40), session(), service());
    let summary = &mut app.service.rows[0].summary;
    summary.cc = vec![Address::parse("Cleo <cleo@example.com>")];
    summary.bcc = vec![
        Address::parse("B@example.org"),
        Address::parse("d@example.net"),
    ];
    app.settle();
    let text = copied(&mut app, "y T").0.unwrap();
    let lines = "Cc: Cleo <cleo@example.com>\nBcc: B@example.org, d@example.net\n";
    assert!(text.contains(lines), "{text}");
    let all = "ana@example.com, b@example.org, cleo@example.com, d@example.net";
    assert_eq!(copied(&mut app, "y t").0.as_deref(), Some(all));
}

#[test]
fn ticket_includes_bounce_reason_of_retrieved_email() {
    const BOUNCE: &str = r#"{"message": "No such mailbox", "type": "Permanent"}"#;
    let mut app = AppHarness::start((120, 40), session(), service());
    let extra = (SafeText::new("bounce"), SafeText::new(BOUNCE));
    app.service.rows[0].summary.extra.push(extra);
    app.settle().press("Enter").settle();
    let text = copied(&mut app, "y T").0.unwrap();
    let lines = "known which; No such mailbox; as of 2026-11-20 09:42 UTC\nBounce: Permanent\n";
    assert!(text.contains(lines), "{text}");
    app.press("J").settle();
    let other = copied(&mut app, "y T").0.unwrap();
    assert!(!other.contains("No such mailbox"), "{other}");
}

#[test]
fn ticket_of_the_demo_has_no_command() {
    let mut session = session();
    session.target = SessionTarget::Demo;
    let text = copied(&mut app_with(session), "y T").0.unwrap();
    assert!(text.ends_with("Message-ID: <9@example.org>\n"), "{text}");
}

#[test]
fn secrets_are_copied_only_after_confirmation_or_reveal() {
    let mut app = app();
    assert_eq!(copied(&mut app, "y j").0, None);
    app.shows(&["The JSON has a code or a single-use link", "Copy it whole"]);
    assert_eq!(copied(&mut app, "j Enter").0, None);
    copied(&mut app, "y j");
    assert_eq!(copied(&mut app, "Enter").0.as_deref(), Some("{}"));
    app.press("R").settle();
    assert_eq!(copied(&mut app, "y j").0.as_deref(), Some("{}"));
    let expected = "482913 is your Acme code";
    assert_eq!(copied(&mut app, "y s").0.unwrap(), expected);
    assert!(copied(&mut app, "y b").0.unwrap().contains("482913"));
    app.press("J K").settle();
    let expected = "•••••• is your Acme code";
    assert_eq!(copied(&mut app, "y s").0.unwrap(), expected);
}

#[test]
fn hints_name_the_key_that_reveals() {
    let mut app = app();
    app.shows(&["R reveal"]);
    app.press("R").settle();
    app.hides(&["R reveal"]);
    // Of a hidden view it is the first key, even where few fit.
    app.press("R Enter [").settle();
    app.happen(Message::Resized(ratatui::layout::Size::new(40, 12)));
    app.settle().shows(&["R reveal"]);
}

#[test]
fn email_without_codes_has_nothing_to_reveal() {
    let mut app = AppHarness::settled((120, 40), session(), FakeService::with_emails(3));
    app.press("R").settle();
    app.shows_notice("this email has no codes or single-use links");
    assert!(app.model.reader.secrets.are_masked());
}

#[test]
fn reader_command_without_open_email_reports_it() {
    let mut app = AppHarness::settled((40, 12), session(), service());
    for keys in ["R", "o", "y b", "y j", "a", "s", "|"] {
        app.press(keys).settle();
        let notice = "the email is not open; Enter reads it";
        assert_eq!(app.notice(), notice, "{keys}");
    }
    app.press("Enter").settle().press("R").settle();
    assert!(!app.model.reader.secrets.are_masked());
}

#[test]
fn reveal_ends_when_the_reader_closes() {
    for leave in ["Esc", "Tab"] {
        let mut app = app();
        app.press("R").settle();
        assert!(!app.model.reader.secrets.are_masked());
        app.press(leave).settle();
        let (subject, _) = copied(&mut app, "y s");
        let expected = Some("•••••• is your Acme code");
        assert_eq!(subject.as_deref(), expected, "{leave}");
        let is_masked = |effect: &Effect| match effect {
            Effect::RenderBody(_, _, _, options) => Some(options.masked),
            _ => None,
        };
        let last = app.effects.iter().rev().find_map(is_masked);
        assert_eq!(last, Some(true), "{leave}");
    }
}

#[test]
fn missing_and_long_texts_are_not_copied() {
    let mut app = app();
    let (text, _) = copied(&mut app, "y l");
    assert_eq!(text, None, "there are two: the list opens");
    app.press("Esc");
    let copied = ClipboardText {
        label: "body",
        text: "x".repeat(80_000),
    };
    app.model.copy_text(copied);
    let notice = app.notice();
    let start = "the body is too long to copy: 80 kB";
    assert!(notice.starts_with(start), "{notice}");
    assert!(notice.ends_with("s saves the email as a file"), "{notice}");
}

#[test]
fn failed_clipboard_program_falls_back_to_the_terminal() {
    let program = ClipboardRoute::Program(&["wl-copy"]);
    let mut app = app_with(SessionInfo {
        clipboard: program,
        ..session()
    });
    app.press("y f").settle();
    app.shows_notice("copied: sender, 17 characters, wl-copy");
    app.press("y f");
    let (request, copied) =
        app.find(effect!(Effect::SetClipboard(request, _, copied) => (*request, copied.clone())));
    let result = Err("wl-copy cannot be run".to_owned());
    app.happen(Message::ClipboardSet(request, copied, result));
    app.shows_notice(
        "copied: sender, 17 characters, OSC 52 (wl-copy cannot be run); the terminal may refuse",
    );
}

#[test]
fn links_show_host_target_and_flags() {
    let mut app = app();
    app.press("o");
    let items = app.model.chooser_items();
    let lines: Vec<String> = items
        .iter()
        .map(|item| format!("{} {} {}", item.lead, item.label, item.detail))
        .collect();
    let expected = [
        "1 acme.example Reset  single-use  https://acme.example/••••••",
        "2 click.example.net Our shop  click-tracked, leads to https://shop.example.org/a  \
             https://click.example.net/?u=https%3A%2F%2Fshop.example.org%2Fa",
    ];
    assert_eq!(lines, expected);
    // Without a browser that the user could see, Enter copies.
    app.shows(&["Enter copy"]);
    assert_eq!(copied(&mut app, "Enter").0, None, "it is masked");
    assert_eq!(copied(&mut app, "j Enter").0, None, "not copied");
    assert_eq!(copied(&mut app, "Enter").0, None);
    let whole = copied(&mut app, "Enter").0;
    assert!(whole.is_some_and(|text| text.ends_with("token=abc")));
    let text = copied(&mut app, "j Enter").0.unwrap();
    assert!(text.starts_with("https://click.example.net/?u="), "{text}");
    app.press("Esc");
    assert_eq!(app.model.focus(), Focus::Reader);
}

#[test]
fn link_is_opened_only_after_a_question() {
    let browser = Some("xdg-open".to_owned());
    let mut app = app_with(SessionInfo {
        browser,
        ..session()
    });
    let opened = |app: &AppHarness| {
        let mut effects = app.effects.iter();
        effects.any(
            |effect| matches!(effect, Effect::OpenUrl { url, .. } if url.ends_with("token=abc")),
        )
    };
    // The item to open it is in the line of the first link.
    app.press("o").settle();
    app.shows(&["Enter open or copy"]);
    let first = Position::new(5, app.model.layout().main.y + 3);
    app.click(first);
    app.click(first);
    app.settle();
    app.shows(&["Copy it"]);
    app.press("Esc Esc");
    app.press("o Enter").settle();
    assert!(!opened(&app));
    app.press("Esc Enter k Enter").settle();
    assert!(opened(&app));
    app.shows_notice("opened");
}

#[test]
fn file_ending_chooses_the_saved_format() {
    let session = SessionInfo {
        home: Some(PathBuf::from("/home/ana")),
        ..session()
    };
    let mut app = app_with(session);
    app.press("s");
    let expected = "2026-11-20-is-your-acme-code-00000000.eml";
    assert_eq!(app.prompt_text(), expected);
    app.press("Ctrl-u").write("~/mail").press("Enter");
    assert!(app.model.prompt.as_ref().unwrap().is_rejected);
    app.write(".html").press("Enter").settle();
    let saved = |app: &AppHarness| {
        app.effects.iter().any(|effect| {
            matches!(effect, Effect::SaveEmail { path, format: ExportFormat::Html, .. }
                if path == &PathBuf::from("/home/ana/mail.html"))
        })
    };
    app.shows(&["Save it whole"]);
    assert!(!saved(&app), "{}", screen(&app));
    app.press("Enter").settle();
    assert!(saved(&app));
    app.shows_notice("saved as ~/mail.html, unmasked");
}

#[test]
fn saved_path_is_shortened_before_its_name() {
    let mut app = app_with(SessionInfo {
        home: Some(PathBuf::from("/home/ana")),
        ..session()
    });
    let path = Path::new("/home/ana/Documents/customers/2026/invoice-9136.pdf");
    let mut written = |width, path| {
        app.model.size.width = width;
        app.model.format_written("saved as ", path, ", 9 kB")
    };
    let expected = "saved as ~/Documents/customers/2026/invoice-9136.pdf, 9 kB";
    assert_eq!(written(80, path), expected);
    let short = written(40, path);
    assert_eq!(short, "saved as ~/Doc…/invoice-9136.pdf, 9 kB");
    let elsewhere = Path::new("/tmp/a.pdf");
    assert_eq!(written(40, elsewhere), "saved as /tmp/a.pdf, 9 kB");
    let whole = written(20, path);
    assert_eq!(whole, expected, "a key shows the rest");
}

#[test]
fn links_outside_of_the_screen_are_not_formatted() {
    let mut service = service();
    let link = |n| format!("<p><a href='https://example.com/{n}'>Page {n}</a></p>");
    let html: String = (1..=50).map(link).collect();
    service.html = Some(html.into());
    let mut app = AppHarness::at_rest(80, 12, service);
    app.press("Enter").settle().press("o");
    app.press_times("j", 30);
    let visible = app.model.visible_items(app.model.layout().main.height);
    let items = app.model.chooser_items_in(&visible);
    let formatted: Vec<usize> = (0..50).filter(|n| !items[*n].detail.is_empty()).collect();
    assert!(formatted.len() <= 12, "{formatted:?}");
    let shown = screen(&app);
    let count = shown.matches("https://example.com/").count();
    assert!(count >= 5, "{}", screen(&app));
    app.shows(&["https://example.com/31"]);
}

#[test]
fn long_link_is_shown_without_truncation() {
    let mut service = service();
    let target = |n| format!("https://example.com/{n}?upn={}end", "abcdefgh".repeat(40));
    let link = |n| format!("<p><a href='{}'>Page {n}</a></p>", target(n));
    service.html = Some((10..60).map(link).collect::<String>().into());
    let mut app = AppHarness::at_rest(80, 24, service);
    app.press("Enter").settle().press("o");
    app.press_times("j", 30);
    let joined = |app: &AppHarness| screen(app).replace(['\n', ' '], "");
    assert!(joined(&app).contains(&target(40)), "{}", screen(&app));
    app.press("Enter");
    assert!(joined(&app).contains(&target(40)), "{}", screen(&app));
}

/// Ends a command that the email was given to.
fn end_command(app: &mut AppHarness, result: Result<String, String>) {
    app.happen(Message::CommandEnded {
        command: "lp".to_owned(),
        input_len: 20,
        result,
    });
}

#[test]
fn details_are_those_of_the_shown_failure() {
    let mut app = app();
    app.press("!");
    app.shows_notice("no error");
    end_command(&mut app, Err("sh cannot be run".to_owned()));
    app.press("j ! q").press("!");
    app.shows(&["What failed", "lp: sh cannot be run"]);
    app.press("q");
    end_command(&mut app, Ok("exit status: 0".to_owned()));
    app.press("!");
    app.shows_notice("no error");
}

#[test]
fn click_on_details_reaches_nothing_below() {
    let mut app = app();
    app.press("r");
    app.fail_refresh(Error::new(ErrorKind::Unreachable, "no route"));
    app.press("g v !").shows(&["What failed"]);
    let main = app.model.layout().main;
    for row in 0..8 {
        app.click(Position::new(5, main.y + row));
    }
    app.scroll(Position::new(5, main.y), true);
    app.press("q");
    assert_eq!(app.model.focus(), Focus::Choice);
    assert!(app.model.list.filter.is_empty());
}

#[test]
fn file_that_cannot_be_written_has_details() {
    let mut app = app();
    app.press("s Ctrl-u").write("a.json").press("Enter Enter");
    let request = app.take(effect!(Effect::SaveEmail { request, .. } => *request));
    app.happen(Message::EmailSaved(request, Err("disk full".to_owned())));
    app.press("!");
    app.shows(&["not saved: disk full"]);
}

#[test]
fn later_error_of_the_service_replaces_that_of_an_action() {
    let mut app = app();
    end_command(&mut app, Err("exit status: 1".to_owned()));
    app.press("r");
    app.fail_refresh(Error::new(ErrorKind::Unreachable, "no route"));
    app.press("!");
    app.shows(&["no route"]);
}
