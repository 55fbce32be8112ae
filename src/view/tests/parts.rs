//! Parts of screens: marks, wrapped and cut text, bars.

use super::{
    app_without_service, go_offline, plain_ctx, render_ctx, screen, terminal, text, varied,
};
use crate::api::{Priority, RateBudget};
use crate::app::tests::BUDGET;
use crate::app::tests::env::{AppHarness, FakeService, effect, session, sync_report};
use crate::app::{ClickTarget, Command, Effect, Keymap, LoopEffect, Message, SessionInfo};
use crate::config::{HistorySpan, KeyBinding};
use crate::error::{Error, ErrorKind};
use crate::mail::Status;
use crate::sync::SyncReport;
use crate::text::checks::TextChecks as _;
use crate::text::width::DisplayWidth as _;
use crate::view::{RenderCtx, add_hyperlinks, click_target, draw};
use ratatui::buffer::Cell;
use ratatui::layout::Position;
use ratatui::style::Modifier;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn filter_matches_are_underlined_in_list_and_header() {
    let mut app = AppHarness::at_rest(160, 16, varied());
    let underlined = |app: &AppHarness| {
        let terminal = terminal(app, &render_ctx());
        let mut cells = terminal.backend().buffer().content.clone();
        cells.retain(|cell| cell.modifier.contains(Modifier::UNDERLINED));
        cells.iter().map(Cell::symbol).collect::<String>()
    };
    assert_eq!(underlined(&app), "");
    app.search("to:OKAFOR or to:subdomain or subject:注文 or subject:okafor");
    // In the rows, and in the head of the selected email.
    assert_eq!(underlined(&app), "okafor注文subdomainokafor");
}

#[test]
fn offline_title_shows_outage_and_age() {
    let mut start = session();
    start.as_of = Some("2026-11-19T18:05:00Z".parse().unwrap());
    let mut app = AppHarness::start((100, 12), start, varied());
    app.answer(0);
    go_offline(&mut app);
    app.settle();
    app.title_ends("9 emails, complete · offline since 09:42 · as of 19 Nov 18:05");
}

#[test]
fn condition_without_any_match_is_named() {
    let mut service = varied();
    service.unmatched.conditions = vec!["stephan".to_owned()];
    service.unmatched.nearest = vec!["stephane".to_owned(), "stephanie".to_owned()];
    let mut app = AppHarness::at_rest(100, 24, service);
    app.search("stephan muller");
    app.shows(&[
        "Nothing matches",
        "stephan matches nothing by itself.",
        "Did you mean stephane or stephanie? Tab searches stephane.",
    ]);
    app.press("/").settle();
    app.press("Backspace").settle();
    assert_eq!(app.model.suggestions(), []);
    app.shows(&["stephanie? Tab searches stephane."]);
    app.press("Tab").settle();
    assert_eq!(app.prompt_text(), "stephane muller");
    app.press("Esc").settle();
    assert_eq!(app.filter(), "stephan muller");
    app.press("Tab").settle();
    assert_eq!(app.filter(), "stephane muller");
    app.press("u").settle();
    assert_eq!(app.filter(), "stephan muller");
    app.service.unmatched.conditions.push("mueler".to_owned());
    app.search("stephan mueler");
    app.shows(&["Neither stephan nor mueler matches anything by itself."]);
}

#[test]
fn pasted_text_is_replaced_by_its_number() {
    let mut service = varied();
    service.unmatched.conditions = vec!["never".to_owned(), "got".to_owned()];
    service.unmatched.nearest = vec!["ORD-7700124".to_owned()];
    service.unmatched.is_whole = true;
    let mut app = AppHarness::at_rest(100, 24, service);
    app.search("I never got my ORD-7700124");
    app.shows(&["Did you mean ORD-7700124? Tab searches it."]);
    app.hides(&["Neither"]);
    app.press("Tab").settle();
    assert_eq!(app.filter(), "ORD-7700124");
}

#[test]
fn sentence_gives_one_proposal() {
    let mut service = varied();
    service.unmatched.conditions = vec!["bounced".to_owned(), "yesterday".to_owned()];
    service.unmatched.nearest = vec!["on:yesterday".to_owned()];
    let mut app = AppHarness::at_rest(100, 24, service);
    app.search("bounced yesterday");
    app.shows(&["Did you mean status:bounced on:yesterday? Tab searches it."]);
    app.hides(&["Did you mean on:yesterday?", "searched for as words"]);
    app.press("Tab").settle();
    assert_eq!(app.filter(), "status:bounced on:yesterday");
}

#[test]
fn prompt_with_text_names_the_key_that_clears() {
    let mut app = AppHarness::at_rest(100, 30, varied());
    app.press("/").settle();
    app.hides(&["Ctrl-u"]);
    app.write("okafor").settle().press("Enter /").settle();
    app.shows(&["Enter ok  Esc cancel  Ctrl-u clear"]);
    app.write("rechnung").settle();
    app.shows(&["No email has all of it; Ctrl-u deletes what is typed."]);
    app.press("Ctrl-u").settle();
    app.hides(&["Ctrl-u"]);
    app.write("nothing").settle();
    app.hides(&["No email has all of it"]);
}

#[test]
fn backfill_and_pause_are_shown_in_bar() {
    let mut start = session();
    start.backfill = HistorySpan::All;
    let mut app = AppHarness::start((100, 12), start, varied().older(5));
    while !app.model.service.is_backfilling() {
        app.answer(0);
    }
    app.set_rate_budget(Some(BUDGET));
    app.shows(&["mirrored to 08:00, 0.5/s; Ctrl-x stops  Enter read"]);
    app.set_rate_budget(Some(RateBudget {
        paused_for: Duration::from_millis(11_500),
        ..BUDGET
    }));
    app.shows(&["rate limited: retrying in 12 s"]);
}

#[test]
fn emails_without_an_id_are_reported_once() {
    let mut app = AppHarness::at_rest(120, 12, varied());
    let mut refresh = |unreadable| {
        let Some(Effect::Refresh(request, _)) =
            app.model.service.request_refresh(Priority::Refresh)
        else {
            panic!("no refresh was requested")
        };
        let report = SyncReport {
            unreadable,
            ..sync_report(0)
        };
        app.happen(Message::Refreshed(request, Ok(report)));
        let shown = screen(&app)
            .contains("1 email of the service cannot be read: it has no id, or is too long");
        app.model.take_notice();
        shown
    };
    assert_eq!([refresh(0), refresh(1), refresh(1)], [false, true, false]);
}

#[test]
fn meaning_of_status_is_wrapped_and_not_cut() {
    for width in 30..60 {
        // Without the service, the queued email has a stale status.
        let mut service = varied();
        service.rows[2].confirmed_at = Some("2026-11-20T08:30:00Z".parse().unwrap());
        let mut app = app_without_service(width, 30, service);
        app.press("Enter").settle();
        for row in 0..3 {
            let status = app.model.list.selected().unwrap().summary.status.clone();
            for ctx in [render_ctx(), plain_ctx()] {
                let shown = text(&terminal(&app, &ctx));
                let words: Vec<&str> = shown.split_whitespace().collect();
                let text = words.join(" ");
                assert!(text.contains(status.meaning()), "{width}: {shown}");
                let is_timed = shown.contains(", as of 08:30");
                assert_eq!(is_timed, row == 2, "{width}: {shown}");
            }
            app.press("J").settle();
        }
    }
}

#[test]
fn long_error_of_recipient_summary_ends_with_ellipsis() {
    let mut app = app_without_service(60, 20, varied());
    app.press("c");
    let request = app.take(effect!(Effect::SummarizeRecipient { request, .. } => *request));
    let error = Error::new(ErrorKind::Archive, "the archive cannot be read ".repeat(4));
    app.happen(Message::RecipientSummarized(request, Err(error)));
    app.settle();
    let shown = screen(&app);
    let line = shown
        .lines()
        .find(|line| line.contains("the archive cannot"));
    assert!(line.unwrap().ends_with('…'), "{shown}");
}

#[test]
fn missing_email_is_marked_in_list_and_header() {
    let mut service = varied();
    service.rows[1].missing_since = Some("2026-11-19T08:30:00Z".parse().unwrap());
    let mut app = AppHarness::at_rest(160, 12, service.clone());
    app.press("j").settle();
    app.shows(&[
        "✕†bounced",
        "no longer at the service; kept here (noticed 19 Nov 08:30)",
    ]);
    assert!(text(&terminal(&app, &plain_ctx())).contains("xx+bounced"));
    let mut narrow = AppHarness::at_rest(40, 12, service);
    narrow.shows(&["✕†Reset your password"]);
    narrow.search("is:gone");
    assert_eq!(narrow.visible().len(), 1);
    let mut help = AppHarness::at_rest(100, 30, varied());
    help.press("?").write("deleted");
    help.shows(&["† ", "is:gone finds it"]);
}

#[test]
fn selected_row_is_reversed_without_colours() {
    let app = AppHarness::at_rest(80, 24, varied());
    let terminal = terminal(&app, &plain_ctx());
    let cells = terminal.backend().buffer().content.iter();
    let reversed = cells.filter(|cell| cell.modifier.contains(Modifier::REVERSED));
    assert_eq!(reversed.count(), "ana.lopez@example.com".len());
}

#[test]
fn every_size_draws_without_control_characters() {
    for width in [0, 1, 2, 3, 5, 10, 23, 24, 55, 56, 60, 119, 120, 300] {
        for height in [0, 1, 2, 3, 5, 6, 8, 15, 16, 100] {
            let mut app = AppHarness::at_rest(width, height, varied());
            for keys in [
                "Enter",
                "q",
                "z",
                "? a Down",
                "Esc",
                "P",
                "P",
                "t",
                "G",
                "> > > > >",
                "q",
                "/",
                "a b c Enter",
                "Esc",
                "@ t",
                "c",
                "b",
                "g [",
                "2",
                "g v",
                "j",
                "q",
                "S",
                "j j q",
                "W",
                "Esc",
                "Enter / 1",
                "Enter",
                "Z",
                "q q",
            ] {
                app.press(keys).settle();
                let shown = screen(&app);
                let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
                assert!(!shown.chars().any(acts), "{width}x{height}");
            }
        }
    }
}

/// Returns where this text is drawn first.
pub(super) fn position_of(app: &AppHarness, text: &str) -> Position {
    let shown = screen(app);
    let found = shown.lines().zip(0..).find_map(|(line, y)| {
        let before = &line[..line.find(text)?];
        Some(Position::new(u16::try_from(before.width()).unwrap(), y))
    });
    found.unwrap_or_else(|| panic!("no {text}:\n{shown}"))
}

#[test]
fn tabs_hints_and_links_can_be_clicked() {
    let mut service = varied();
    let html = "<p>Hello, <a href='https://example.com/order'>your order</a> came.";
    service.html = Some(html.into());
    for (width, height) in [(160, 45), (80, 24)] {
        let mut app = AppHarness::at_rest(width, height, service.clone());
        let target = |app: &AppHarness, text: &str| {
            let Position { x, y } = position_of(app, text);
            click_target(&app.model, &render_ctx(), Position::new(x + 1, y))
        };
        let command = |command| Some(ClickTarget::Command(command));
        assert_eq!(target(&app, "source"), command(Command::ShowSource));
        assert_eq!(target(&app, "rendered"), command(Command::ShowRendered));
        assert_eq!(target(&app, "Enter read"), command(Command::Open));
        assert_eq!(target(&app, "? help"), command(Command::Help));
        assert_eq!(target(&app, "Hello"), None);
        assert_eq!(target(&app, "ana.lopez"), None, "rows belong to the model");
        let link = target(&app, "your order").unwrap();
        assert_eq!(link, ClickTarget::Link(0));
        app.happen(Message::Clicked(link, None));
        // Without a browser, the link is copied.
        let copied =
            app.requested(effect!(Effect::Loop(LoopEffect::SetClipboard { text, .. }) => text));
        assert_eq!(copied, ["https://example.com/order"]);
    }
}

#[test]
fn links_of_the_focused_reader_are_hyperlinks() {
    let mut service = varied();
    let html = "<p>Hello, <a href='https://example.com/a?b=é'>your order</a>, <a href='javascript:x'>no</a> \
                <a href='https://other.example/'>https://bank.example</a> <a href='mailto:a@b.example?attach=x'>write</a> \
                <a href='mailto:a@b.example'>answer</a> \
                <a href='https://example.com/reset?token=a1b2c3d4e5'>new password</a>";
    service.html = Some(html.into());
    let mut app = AppHarness::at_rest(160, 45, service);
    let ctx = RenderCtx {
        hyperlinks: true,
        ..render_ctx()
    };
    // The text that has a hyperlink, with its sequence once for a run of cells.
    let linked = |app: &AppHarness| {
        let mut terminal = terminal(app, &ctx);
        let mut text = String::new();
        let mut last = None;
        let frame = terminal
            .draw(|frame| {
                draw(&app.model, &ctx, frame);
                add_hyperlinks(&app.model, &ctx, frame);
            })
            .unwrap();
        for cell in &frame.buffer.content {
            if let Some((url, symbol)) = cell.symbol().split_once('\\') {
                if last.as_deref() != Some(url) {
                    text.push_str(url.trim_start_matches('\x1b').trim_end_matches('\x1b'));
                    text.push(' ');
                }
                last = Some(url.to_owned());
                text.push_str(symbol);
            }
        }
        text
    };
    assert_eq!(linked(&app), "", "the list has the focus");
    app.press("Enter").settle();
    let open = "]8;;https://example.com/a?b=%C3%A9 your order]8;;mailto:a@b.example answer";
    assert_eq!(linked(&app), open);
    app.press("R").settle();
    let reset = "]8;;https://example.com/reset?token=a1b2c3d4e5 new password";
    assert_eq!(linked(&app), [open, reset].concat());
    app.press(":").settle();
    assert_eq!(linked(&app), "", "the help is in front");
}

#[test]
fn keys_after_prefix_and_notice_ends_are_visible() {
    for (width, height) in [(160, 24), (80, 24), (40, 12)] {
        let mut app = AppHarness::at_rest(width, height, varied());
        app.press("y");
        let shown = screen(&app);
        for (key, hint) in app.model.continuations() {
            assert!(shown.contains(&format!(" {key} {hint}")), "{shown}");
        }
    }
    let mut app = AppHarness::at_rest(80, 24, varied());
    app.press("y T").settle();
    app.shows(&[" copied: ticket summary, ", "the terminal may refuse"]);
}

#[test]
fn position_is_whole_or_left_out() {
    for (width, keys, expected) in [
        (30, "j", "      2/1 200   ? help"),
        (20, "j", " 2/1 200  ? help"),
        (20, "j Enter", " 2/1 200 "),
        (12, "j Enter", " "),
    ] {
        let mut app = AppHarness::at_rest(width, 12, FakeService::with_emails(1_200));
        app.press(keys).settle();
        let shown = screen(&app);
        let bottom = shown.lines().last().unwrap();
        assert!(bottom.starts_with(expected), "{bottom}");
        assert!(!bottom.contains('…'), "{bottom}");
    }
}

#[test]
fn position_is_never_above_the_total() {
    let mut app = AppHarness::at_rest(80, 24, FakeService::with_emails(5));
    app.press("j j").settle();
    app.model.list.total = Some(2);
    app.shows(&[" 3/3 "]);
}

#[test]
fn kept_row_has_a_dash_for_its_position() {
    let mut app = AppHarness::at_rest(120, 24, FakeService::with_statuses(&["sent"; 5]));
    app.search("is:sent");
    app.press("Enter").settle();
    let bottom = |app: &AppHarness| screen(app).lines().last().unwrap().to_owned();
    let before = bottom(&app);
    app.service.rows[0].summary.status = Status::Delivered;
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.settle().press("PgUp");
    assert_eq!(bottom(&app), before.replace("1/5", "-/4"));
}

#[test]
fn typed_address_list_shows_hint_in_empty_list() {
    let mut app = AppHarness::at_rest(100, 24, varied());
    app.press("/").write("x@x.example y@y.example").settle();
    app.shows(&["x@x.example y@y.example: one email must match all of these"]);
    app.press("Ctrl-u").write("status:boun").settle();
    app.hides(&["boun: unknown"]);
}

#[test]
fn impossible_value_is_not_understood() {
    for (query, message) in [
        ("is:bounce", "bounce: unknown status; did you mean bounced?"),
        (
            "hi on:07/04/2026",
            "07/04/2026: expected a date as 2026-11-27",
        ),
    ] {
        let info = SessionInfo {
            query: query.to_owned(),
            ..session()
        };
        let app = AppHarness::settled((100, 30), info, varied());
        app.shows(&["Not understood", query, message]);
        app.hides(&["Nothing matches", "Searched", "0 of"]);
    }
}

#[test]
fn unbound_keys_leave_no_empty_hints() {
    let unbound = ["Enter", "l", "Right", "Esc", "h", "Left"].map(|keys| KeyBinding {
        keys: keys.to_owned(),
        command: "none".to_owned(),
        declared_at: String::new(),
    });
    let (keymap, _) = Keymap::with_overrides(&unbound);
    let keymap = Arc::new(keymap);
    for (query, text) in [
        ("zzzz", "Nothing matches"),
        ("to:example", "older mail is searched next"),
    ] {
        let info = SessionInfo {
            keymap: Arc::clone(&keymap),
            query: query.to_owned(),
            ..session()
        };
        let mut service = varied();
        service.older_pages = 3;
        let mut app = AppHarness::start((100, 30), info, service);
        app.answer_archive().wait_for_refresh();
        app.shows(&[text]);
        app.hides(&[" searches older mail", "shows all mail again"]);
    }
}

#[test]
fn summary_counts_problems_before_most_frequent_status() {
    let service = FakeService::with_statuses(&[
        "scheduled",
        "queued",
        "sent",
        "delivered",
        "delivered",
        "bounced",
    ]);
    let mut app = AppHarness::at_rest(60, 20, service);
    app.press("c").settle();
    app.shows(&["bounced 1   ✓ delivered 2"]);
}

#[test]
fn suggestions_look_alike_above_any_rows() {
    let suggested = |service: FakeService| {
        let mut app = AppHarness::at_rest(120, 12, service);
        app.press("/").write("r").settle();
        let terminal = terminal(&app, &render_ctx());
        let rows = terminal.backend().buffer().content.chunks(120);
        // Above the prompt.
        rows.rev()
            .skip(1)
            .take(3)
            .flatten()
            .cloned()
            .collect::<Vec<_>>()
    };
    let above_rows = suggested(FakeService::with_emails(300));
    let text: String = above_rows.iter().map(Cell::symbol).collect();
    assert!(text.contains("reply-to:"), "{text}");
    assert_eq!(above_rows, suggested(FakeService::with_emails(0)), "{text}");
}

#[test]
fn long_error_leaves_position_and_key() {
    let message = "https://mail.example.com/api refuses the connection: ".repeat(3);
    for (width, start, end) in [
        (40, " https", "offline · ! details"),
        (
            130,
            "      1/1 000   https",
            "… · r retries now; ! shows details  ? help",
        ),
    ] {
        let mut app = AppHarness::at_rest(width, 12, FakeService::with_emails(1000));
        app.press("r");
        app.fail_refresh(Error::new(ErrorKind::Unreachable, &*message));
        let lines = screen(&app);
        let last = lines.lines().last().unwrap();
        assert!(last.starts_with(start) && last.contains("…; ! "), "{last}");
        app.press("j");
        let lines = screen(&app);
        let last = lines.lines().last().unwrap().trim_end();
        last.assert_starts("      2/1 000   ");
        last.assert_ends(end);
    }
}

#[test]
fn error_beside_a_body_names_the_whole_key() {
    let message = "https://mail.example.com/api refuses the connection: ".repeat(3);
    let details = "details";
    for width in [40, 59, 80] {
        let mut service = FakeService::with_emails(3);
        service.html = Some("<p>Line".repeat(60).into());
        let mut app = AppHarness::at_rest(width, 12, service);
        app.press("Enter").settle().press("r");
        app.fail_refresh(Error::new(ErrorKind::Unreachable, &*message));
        let lines = screen(&app);
        let last = lines.lines().last().unwrap();
        let (text, right) = last.split_once(details).unwrap_or_else(|| panic!("{last}"));
        assert!(
            text.contains("…; ! ") && right.trim_end().ends_with('%'),
            "{last}"
        );
        assert!(right.trim_end().len() < 8, "columns are free: {last}");
    }
}

#[test]
fn notice_leaves_the_progress_of_work() {
    let mut app = AppHarness::at_rest(120, 20, FakeService::with_emails(9).older(3));
    app.press("/").write("nothing").press("Enter b");
    app.shows(&["searching older mail: 0 emails"]);
    app.press("y i");
    app.press("M");
    app.shows(&["selects text", " · searching older mail: 0 emails"]);
}

#[test]
fn empty_list_offers_bodies_after_enter_of_its_filter() {
    let mut app = AppHarness::at_rest(100, 16, FakeService::with_emails(3));
    app.press("/").write("nothing").settle();
    app.shows(&["after Enter"]);
    app.press("Enter").settle();
    app.shows(&["gb fetches the others"]);
    app.press("W");
    app.shows(&["Bodies and tags are known for"]);
    app.hides(&["after Enter"]);
}

#[test]
fn narrow_bar_has_the_whole_stop_key_or_none() {
    let mut app = AppHarness::at_rest(40, 12, FakeService::with_emails(1000));
    app.press("E Enter Enter").answer_archive();
    app.answer_first(effect!(Effect::PlanExport(..)));
    app.press("Enter");
    let lines = screen(&app);
    let last = lines.lines().last().unwrap();
    last.assert_starts(" exporting: 0 of");
    last.assert_ends("; Ctrl-x stops");

    for width in [30, 40] {
        let mut start = session();
        start.backfill = HistorySpan::All;
        let service = FakeService::with_emails(200).older(9);
        let mut app = AppHarness::start((width, 12), start, service);
        while !app.model.service.is_backfilling() {
            app.answer(0);
        }
        let lines = screen(&app);
        let last = lines.lines().last().unwrap();
        assert!(last.contains("mirrored to"), "{last}");
        assert_eq!(
            last.contains("Ctrl"),
            last.contains("; Ctrl-x stops"),
            "{last}"
        );
    }
}
