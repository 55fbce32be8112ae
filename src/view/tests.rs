//! Snapshots of screens at common sizes.

mod commands;
mod looks;
mod parts;
mod reader;
mod rows;

use std::fmt::Write as _;

use crate::api::wire;
use crate::app::tests::env::{AppHarness, FakeService, effect, now, row_of, session, sync_report};
use crate::app::{Effect, Message};
use crate::archive::EmailRow;
use crate::config::{ColourDepth, ThemeBase, ThemeConfig};
use crate::error::{Error, ErrorKind, RequestDetails};
use crate::mail::EmailId;
use crate::sync::SyncReport;
use crate::text::sanitize::SafeText;
use crate::tui::tests::start_screens::setting_up;
use crate::view::{Glyphs, RenderCtx, Theme, draw};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Size;

pub fn render_ctx() -> RenderCtx {
    RenderCtx {
        theme: Theme::fixed(ThemeBase::Dark, ColourDepth::TrueColour),
        glyphs: Glyphs::UNICODE,
        hyperlinks: false,
        is_copied: false,
        now: now(),
    }
}

fn terminal(app: &AppHarness, ctx: &RenderCtx) -> Terminal<TestBackend> {
    let Size { width, height } = app.model.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(&app.model, ctx, frame)).unwrap();
    terminal
}

pub fn screen(app: &AppHarness) -> String {
    text(&terminal(app, &render_ctx()))
}

/// Draws the screen after the response of the archive, before that of the service.
pub fn screen_after_archive(mut app: AppHarness) -> String {
    app.answer_archive();
    screen(&app)
}

fn text(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                line.push_str(symbol);
                skip = unicode_width::UnicodeWidthStr::width(symbol).max(1);
            }
            skip -= 1;
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// Returns a service with many statuses, scripts and lengths.
fn varied() -> FakeService {
    let mut service = FakeService::with_emails(0);
    service.next = 1_001;
    let rows = [
        (
            "delivered",
            &["ana.lopez@example.com"][..],
            "Your receipt #4821",
            "2026-11-20 09:41:07.12+00",
        ),
        (
            "bounced",
            &["j.okafor@example.org", "b@example.org", "c@example.org"],
            "Reset your password",
            "2026-11-20 09:40:00+00",
        ),
        (
            "queued",
            &["team@example.test"],
            "Weekly digest",
            "2026-11-20T09:38:00.000000+00:00",
        ),
        (
            "email.opened",
            &["佐藤 <sato@example.jp>"],
            "ご注文の確認",
            "2026-11-19 09:31:00+00",
        ),
        (
            "clicked",
            &["m.weber@example.de"],
            "Rechnung 2026-1187",
            "2026-11-17 09:30:00+00",
        ),
        (
            "complained",
            &["k.novak@example.cz"],
            "Sale ends tonight 🎉",
            "2026-05-03 09:25:00+00",
        ),
        (
            "delivery_delayed",
            &["a.very.long.local.part.of.an.address@subdomain.example.com"],
            "An older one",
            "2025-05-03 09:25:00+00",
        ),
        ("teleported", &[], "", "whenever"),
        (
            "scheduled",
            &["evil\u{1b}[31m@example.com"],
            "Look \u{202e}here\u{7}",
            "2026-11-20 08:00:00+00",
        ),
    ];
    service.rows = rows
        .iter()
        .enumerate()
        .map(|(n, (event, to, subject, at))| {
            let n = i64::try_from(n).unwrap();
            row_of(
                1_000 - n,
                &wire::Summary {
                    id: format!("id-{n}"),
                    to: Some(to.iter().map(ToString::to_string).collect()),
                    cc: (n == 1).then(|| vec!["Copy <copy@example.org>".to_owned()]),
                    reply_to: (n == 1).then(|| vec!["help@example.org".to_owned()]),
                    from: Some("Acme <hello@acme.example>".to_owned()),
                    subject: Some((*subject).to_owned()),
                    created_at: Some((*at).to_owned()),
                    message_id: Some(format!("<{n}@acme.example>")),
                    last_event: Some((*event).to_owned()),
                    scheduled_at: (n == 8).then(|| "2026-11-21 08:00:00+00".to_owned()),
                    extra: if n == 1 {
                        vec![("topic_id".to_owned(), "\"42\"".to_owned())]
                    } else {
                        vec![]
                    },
                    ..wire::Summary::default()
                },
            )
        })
        .collect::<Vec<EmailRow>>();
    service
}

macro_rules! setting_up_at {
    ($($name:ident: $width:literal x $height:literal, $keys:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let mut app = setting_up($width, $height);
                app.press($keys).settle();
                insta::assert_snapshot!(screen(&app));
            }
        )*
    };
}

setting_up_at! {
    set_up_wide: 160 x 45, "j";
    set_up_small: 80 x 24, "j";
    set_up_narrow: 40 x 12, "j";
    set_up_tiny: 20 x 5, "j";
    log_in_small: 80 x 24, "Enter";
    log_in_narrow: 40 x 12, "Enter Tab";
    log_in_one_cell: 1 x 1, "Enter";
}

macro_rules! snapshot_at {
    ($($name:ident: $width:literal x $height:literal, $keys:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let mut app = AppHarness::at_rest($width, $height, varied());
                for key in $keys.split(' ') {
                    app.press(key).settle();
                }
                insta::assert_snapshot!(screen(&app));
            }
        )*
    };
}

snapshot_at! {
    wide: 160 x 45, "j";
    medium: 100 x 30, "j";
    small: 80 x 24, "j";
    smaller: 60 x 20, "j";
    narrow: 40 x 12, "j";
    narrow_reading: 40 x 12, "j Enter";
    tiny: 20 x 5, "j";
    one_cell: 1 x 1, "j";
    full_reader: 80 x 24, "j z";
    profiles_wide: 160 x 20, "g p";
    profiles_small: 80 x 24, "g p j";
    profiles_narrow: 40 x 12, "g p j";
    help: 80 x 24, "?";
    help_wide: 160 x 45, "j Enter ? Down Down";
    help_narrow: 40 x 12, "?";
    help_search: 80 x 24, "? s t a t u s";
    help_search_narrow: 40 x 12, "? u n d o";
    full_times: 160 x 12, "t";
    stacked_by_key: 160 x 24, "P";
    end_of_email: 80 x 24, "Enter G";
    raw_view: 80 x 24, "Enter [";
    statistics_wide: 160 x 45, "S j j";
    statistics_small: 80 x 24, "S";
    statistics_narrow: 40 x 12, "S j j j";
    filtered: 120 x 16, "@ v";
    date_prompt: 60 x 16, "g d 7 x";
    filtered_narrow: 40 x 12, "@ v";
    unfolded_header: 60 x 20, "j Z";
    recipient: 160 x 45, "j c";
    recipient_medium: 100 x 30, "j c";
    recipient_small: 80 x 24, "j c";
    recipient_next: 60 x 20, "j c c";
    recipient_narrow: 40 x 12, "j c";
    recipient_tiny: 20 x 5, "j c";
    saved_view: 120 x 16, "2";
    saved_view_narrow: 40 x 12, "2";
    saved_views: 80 x 24, "2 g v j";
    saved_views_narrow: 40 x 12, "g v";
    save_view_prompt: 80 x 24, "@ v W Ctrl-u 2 Space L o s t";
    find_prompt: 80 x 24, "Enter / l i n e Space 4";
    find_matches: 80 x 24, "Enter / 4 Enter n n";
    find_matches_narrow: 40 x 12, "Enter / 4 Enter n n";
    marked: 160 x 45, "x x j x k";
    marked_small: 80 x 24, "x x j x k V j";
    marked_narrow: 40 x 12, "x x k";
    export_formats: 80 x 24, "x x E j";
    export_formats_narrow: 40 x 12, "E";
    export_prompt: 80 x 24, "E Enter";
    pipe_prompt: 80 x 24, "Enter |";
}

#[test]
fn export_shows_question_before_start() {
    for (name, width, height, format) in [
        ("files", 100, 12, "Enter"),
        ("json", 80, 12, "j j j Enter"),
        ("narrow", 40, 12, "Enter"),
    ] {
        let mut service = varied();
        service.without_body = 4;
        let mut app = AppHarness::at_rest(width, height, service);
        app.press("E").press(format).press("Enter").settle();
        insta::assert_snapshot!(format!("export_question_{name}"), screen(&app));
    }
}

#[test]
fn export_shows_its_progress() {
    for (name, width) in [("wide", 120), ("narrow", 40)] {
        let mut app = AppHarness::at_rest(width, 12, varied());
        app.press("E Enter Enter").settle().press("Enter");
        app.answer_first(effect!(Effect::ExportBatch(_, _, _)));
        let screen = screen(&app);
        let bottom = screen.lines().last().unwrap();
        insta::assert_snapshot!(format!("export_progress_{name}"), bottom);
    }
}

#[test]
fn watched_rows_are_marked_and_listed() {
    for (name, width, height) in [("wide", 160, 45), ("small", 80, 24), ("narrow", 40, 12)] {
        let mut app = AppHarness::at_rest(width, height, varied());
        app.press("j j .").settle().press("g g").settle();
        insta::assert_snapshot!(format!("watched_row_{name}"), screen(&app));
        app.press("g w");
        insta::assert_snapshot!(format!("watched_list_{name}"), screen(&app));
        app.press("q");
        assert!(text(&terminal(&app, &plain_ctx())).contains("..w"));
    }
}

#[test]
fn statistics_without_colours_differ_by_character() {
    let mut app = AppHarness::at_rest(80, 45, varied());
    app.press("S").settle();
    insta::assert_snapshot!(text(&terminal(&app, &plain_ctx())));
}

#[test]
fn filter_prompt_is_drawn_at_every_size() {
    for (name, width, height, text) in [
        ("wide", 160, 16, "status:delivered,bounced ana or okafor"),
        ("small", 80, 24, "rece"),
        ("misread", 80, 24, "status:boun"),
        ("empty", 100, 24, ""),
        ("choosing", 60, 20, "re"),
        (
            "narrow",
            40,
            12,
            "a text that is longer than this narrow line",
        ),
    ] {
        let mut app = AppHarness::at_rest(width, height, varied());
        app.press("/").write(text).settle();
        insta::assert_snapshot!(format!("filter_prompt_{name}"), screen(&app));
    }
}

#[test]
fn filter_without_matches_shows_what_was_searched() {
    let mut app = AppHarness::at_rest(80, 24, varied().older(2));
    app.search("nowhere");
    insta::assert_snapshot!("filter_without_matches", screen(&app));
    app.press("b");
    insta::assert_snapshot!("filter_searching_older_mail", screen(&app));
    app.settle();
    insta::assert_snapshot!("filter_without_matches_anywhere", screen(&app));
}

#[test]
fn bars_stay_when_one_pane_is_shown() {
    let mut app = AppHarness::at_rest(40, 12, varied().older(2));
    app.search("nowhere").press("b");
    insta::assert_snapshot!(screen(&app));
}

#[test]
fn loading_first_page_shows_storage_file() {
    let mut app = AppHarness::start((80, 24), session(), FakeService::with_emails(0));
    app.answer(0);
    insta::assert_snapshot!(screen(&app));
}

#[test]
fn empty_mailbox_shows_placeholder() {
    let app = AppHarness::at_rest(80, 24, FakeService::with_emails(0));
    insta::assert_snapshot!(screen(&app));
}

#[test]
fn mailbox_is_not_called_empty_before_its_rows() {
    let mut app = AppHarness::at_rest(80, 24, FakeService::with_emails(0));
    app.shows(&["Nothing was sent yet", "0 emails"]);
    app.service.arrive();
    app.happen(Message::ArchiveChanged(Ok(sync_report(1))));
    app.hides(&["Nothing was sent yet", "0 emails"]);
    app.settle().shows(&["1 email, complete"]);
}

#[test]
fn failed_first_page_shows_error() {
    let mut app = AppHarness::start((80, 24), session(), FakeService::with_emails(0));
    app.answer(0);
    app.fail_refresh(
        Error::new(
            ErrorKind::Unreachable,
            "127.0.0.1:8025 refuses the connection",
        )
        .with_hint("is the service running there?"),
    );
    insta::assert_snapshot!(screen(&app));
}

fn app_without_service(width: u16, height: u16, service: FakeService) -> AppHarness {
    let mut start = session();
    start.service_error = Some(
        Error::new(ErrorKind::KeyMissing, "there is no API key")
            .with_hint("set SENTBOX_API_KEY, or try: sentbox demo"),
    );
    AppHarness::settled((width, height), start, service)
}

#[test]
fn statistics_of_unlisted_mail_claim_no_absence() {
    let mut app = AppHarness::start((80, 24), session(), FakeService::with_emails(0));
    app.answer(0);
    go_offline(&mut app);
    app.press("S").settle();
    app.shows(&["0 emails stored here"]);
}

#[test]
fn missing_key_shows_error() {
    let app = app_without_service(80, 24, FakeService::with_emails(0));
    insta::assert_snapshot!(screen(&app));
}

#[test]
fn offline_with_archive_shows_rows_and_error() {
    let mut app = AppHarness::start((100, 12), session(), varied());
    app.answer(0);
    go_offline(&mut app);
    app.settle();
    insta::assert_snapshot!(screen(&app));
}

#[test]
fn failed_email_shows_error_below_header() {
    let mut app = AppHarness::start((120, 20), session(), varied());
    app.answer_all();
    app.press("Enter");
    let request = app.take(effect!(Effect::LoadEmail { request, .. } => *request));
    let error = Error::new(ErrorKind::Server, "the service failed with status 503");
    app.happen(Message::EmailLoaded(request, Err(error)));
    insta::assert_snapshot!(screen(&app));
}

#[test]
fn error_details_show_request_and_response() {
    let mut app = AppHarness::start((80, 16), session(), varied());
    app.answer(0);
    app.press("!");
    app.shows_notice("no error");
    let mut error = Error::new(
        ErrorKind::RateLimited,
        "too many requests for the team's limit",
    )
    .with_hint("try again in 30 s");
    error.retry_after = Some(std::time::Duration::from_secs(30));
    let details = RequestDetails {
        endpoint: "GET /emails",
        status: Some(429),
        request_id: Some("req-17".to_owned()),
        attempts: 2,
    };
    error.details = Some(Box::new(details));
    app.fail_refresh(error);
    app.press("!");
    insta::assert_snapshot!(screen(&app));
    app.press("q");
    assert!(app.model.error_details.is_none() && app.exit.is_none());
}

#[test]
fn new_and_changed_emails_are_marked() {
    let mut app = AppHarness::at_rest(120, 12, varied());
    app.press("j").settle();
    app.press("r");
    let request = app.answer_until(effect!(Effect::Refresh(request, _) => *request));
    app.service.arrive();
    app.service.arrive();
    app.happen(Message::Refreshed(
        request,
        Ok(SyncReport {
            changed_ids: vec![EmailId::new("id-4")],
            ..sync_report(2)
        }),
    ));
    app.settle();
    insta::assert_snapshot!(screen(&app));
}

/// Draws with ASCII symbols and without colours.
fn plain_ctx() -> RenderCtx {
    RenderCtx {
        theme: Theme::new(ThemeConfig::default(), None),
        glyphs: Glyphs::ASCII,
        ..render_ctx()
    }
}

#[test]
fn banner_names_file_and_line_until_a_key() {
    let mut start = session();
    start.theme_errors = vec![
        "config.toml:3: base is \"auto\", \"terminal\", \"light\" or \"dark\"".to_owned(),
        "config.toml:4: good is a name such as \"light-blue\", a number from 0 to 255, or \"#rrggbb\"".to_owned(),
    ];
    let mut app = AppHarness::settled((80, 16), start, varied());
    insta::assert_snapshot!(screen(&app));
    let ctx = render_ctx();
    let shown = terminal(&app, &ctx);
    let title = &shown.backend().buffer()[parts::position_of(&app, "Wrong")];
    assert_eq!(Some(title.fg), ctx.theme.error().fg);
    let selected = app.model.list.selected().cloned();
    app.press("j");
    assert_eq!(app.model.banner, [""; 0]);
    assert_eq!(app.model.list.selected(), selected.as_ref());
    app.press("j");
    assert_ne!(app.model.list.selected(), selected.as_ref());
}

#[test]
fn ascii_theme_has_no_colours() {
    let mut app = AppHarness::at_rest(80, 16, varied());
    app.press("x x k").settle();
    let terminal = terminal(&app, &plain_ctx());
    let buffer = terminal.backend().buffer();
    let is_plain = |cell: &ratatui::buffer::Cell| cell.fg == ratatui::style::Color::Reset;
    assert!(buffer.content.iter().all(is_plain));
    insta::assert_snapshot!(text(&terminal));
}

#[test]
fn text_in_another_charset_is_ascii() {
    let mut service = varied();
    // In ISO 8859-1 the second byte of U+00DB starts a control sequence.
    service.rows[0].summary.subject = SafeText::new("\u{db}2J \u{65e5}\u{672c}");
    let mut app = AppHarness::at_rest(80, 16, service);
    app.settle();
    let mut ctx = plain_ctx();
    ctx.glyphs = ctx.glyphs.with_ascii_text();
    let drawn = text(&terminal(&app, &ctx));
    assert!(drawn.is_ascii(), "{drawn}");
    assert!(drawn.contains("?2J ? ?"), "{drawn}");
}

/// Fails the running refresh, as if the service were not running.
fn go_offline(app: &mut AppHarness) {
    let refused = "127.0.0.1:8025 refuses the connection";
    app.fail_refresh(Error::new(ErrorKind::Unreachable, refused));
}

#[test]
fn recipient_summary_shows_bounces_and_reason() {
    let mut service = varied();
    let summary = |n: usize, event: &str, bounce: Option<&str>| wire::Summary {
        id: format!("card-{n}"),
        to: Some(vec!["Ana López <ana.lopez@example.com>".to_owned()]),
        from: Some("Acme <hello@acme.example>".to_owned()),
        subject: Some(format!("Reminder {n}")),
        created_at: Some(format!("2026-05-{:02} 09:25:00+00", 28 - n)),
        last_event: Some(event.to_owned()),
        extra: bounce
            .map(|json| ("bounce".to_owned(), json.to_owned()))
            .into_iter()
            .collect(),
        ..wire::Summary::default()
    };
    let full = r#"{"message":"mailbox full","type":"Transient"}"#;
    let events = [
        ("delivered", None),
        ("bounced", Some(full)),
        ("bounced", None),
        ("complained", None),
        ("opened", None),
    ];
    service
        .rows
        .extend(events.iter().zip(0..).map(|((event, bounce), n)| {
            row_of(
                900 - n,
                &summary(usize::try_from(n).unwrap(), event, *bounce),
            )
        }));
    let both = ["Ana López <ana.lopez@example.com>", "bo@example.org"];
    let to_both = wire::Summary {
        to: Some(both.map(str::to_owned).into()),
        ..summary(5, "bounced", None)
    };
    service.rows.push(row_of(895, &to_both));
    for (width, height) in [(160, 45), (80, 24), (40, 12)] {
        let mut app = AppHarness::at_rest(width, height, service.clone());
        app.press("c").settle();
        insta::assert_snapshot!(
            format!("recipient_bounces_{width}x{height}"),
            screen(&app).lines().take(10).collect::<Vec<_>>().join("\n")
        );
    }
    for (width, mail) in [(240, "mail"), (118, "last mail")] {
        let mut app = AppHarness::at_rest(width, 45, service.clone());
        app.press("c").settle();
        let text = format!("✕ bounced 3 times, 2 to this address alone, {mail} 27 May 09:25");
        app.shows(&[&text]);
    }
}

#[test]
fn typed_columns_are_shown_at_once() {
    let mut app = AppHarness::at_rest(120, 20, varied());
    app.press("g c").settle();
    app.press_times("Backspace", 20);
    app.write("name:10 wrong").press("Enter").settle();
    app.shows(&["not a column; a column is to, name, domain"]);
    app.press_times("Backspace", 5);
    app.write("domain subject").press("Enter").settle();
    insta::assert_snapshot!(screen(&app));
}
