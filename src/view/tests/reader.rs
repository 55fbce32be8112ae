//! The reader, the card, the prompt and the keys on the screen:
//! nothing that matters is cut.

use super::{render_ctx, screen, varied};
use crate::api::RateBudget;
use crate::app::tests::BUDGET;
use crate::app::tests::env::{AppHarness, FakeService, effect, session};
use crate::app::{ClickTarget, Command, Effect, LoopEffect};
use crate::error::{Error, ErrorKind};
use crate::mail::{Address, SafeText};
use crate::render::{Body, BodyNotice};
use crate::view::click_target;
use crate::view::reader::describe_body;
use ratatui::layout::Position;
use std::time::Duration;

/// Emails with a tracker, links and another text part.
fn tracked() -> FakeService {
    let mut service = varied();
    service.html = Some(
        "<p><a href='https://example.com/a'>one</a> <a href='https://example.com/b'>two</a></p>\
         <img src='https://px.example.net/open.gif' width=1 height=1>"
            .into(),
    );
    service
}

fn tabs(app: &AppHarness) -> String {
    let shown = screen(app);
    let line = shown.lines().find(|line| line.contains(" rendered "));
    line.unwrap_or_else(|| panic!("{shown}")).to_owned()
}

#[test]
fn tracker_and_part_check_precede_view_names() {
    for width in [120, 130, 159] {
        let app = AppHarness::at_rest(width, 30, tracked());
        let tabs = tabs(&app);
        assert!(tabs.contains("1 tracker"), "{tabs}");
        assert!(tabs.contains("text part differs"), "{tabs}");
    }
    let wide = tabs(&AppHarness::at_rest(160, 45, tracked()));
    assert!(wide.contains(" text ─ source ─ raw "), "{wide}");
    assert!(wide.contains("1 tracker · text part differs"), "{wide}");
    let full = tabs(AppHarness::at_rest(160, 45, tracked()).press("z").settle());
    let notices = "1 tracker · text part differs · 2 links · Z ";
    assert!(full.contains(notices), "{full}");
}

#[test]
fn click_on_a_fact_shows_no_view() {
    let app = AppHarness::at_rest(120, 30, tracked());
    let shown = screen(&app);
    let (y, line) = (0..)
        .zip(shown.lines())
        .find(|(_, line)| line.contains("1 tracker"))
        .unwrap();
    let column = |text: &str| {
        let before = line.split(text).next().unwrap().chars().count();
        u16::try_from(before + 1).unwrap()
    };
    let target =
        |text: &str| click_target(&app.model, &render_ctx(), Position::new(column(text), y));
    let rendered = ClickTarget::Command(Command::ShowRendered);
    assert_eq!(target("rendered"), Some(rendered));
    assert_eq!(target("1 tracker"), None);
}

#[test]
fn unfolded_header_names_the_host_of_a_tracker() {
    let mut app = AppHarness::at_rest(120, 30, tracked());
    app.hides(&["px.example.net"]);
    app.press("Z").settle();
    app.shows(&["body       1 tracker would report to", "px.example.net"]);
}

#[test]
fn waiting_for_the_rate_limit_says_how_long() {
    let mut app = AppHarness::start((120, 30), session(), varied());
    app.answer_all();
    app.press("Enter");
    app.shows(&["loading this email…"]);
    app.set_rate_budget(Some(RateBudget {
        paused_for: Duration::from_millis(3_600),
        ..BUDGET
    }));
    app.shows(&["waiting for the rate limit, 4 s"]);
}

#[test]
fn unstored_email_of_offline_service_is_no_loading_email() {
    let mut app = AppHarness::start((120, 30), session(), varied());
    app.answer_archive();
    app.fail_refresh(Error::new(ErrorKind::Unreachable, "no route"));
    app.press("j Enter");
    app.hides(&["loading this email"]);
    app.shows(&[
        "of this email is not stored here",
        "not answer; r tries again",
    ]);
    let loads = app.email_loads();
    app.press("r");
    assert_eq!(app.email_loads(), loads + 1);
}

#[test]
fn card_of_one_email_labels_its_time() {
    let mut app = AppHarness::at_rest(120, 30, varied());
    app.press("c").settle();
    app.shows(&["created 09:41 │"]);
}

#[test]
fn card_does_not_call_unknown_status_no_problem() {
    let service = FakeService::with_statuses(&["wobbled", "delivered"]);
    for (width, text) in [
        (120, "no problem known, status of 1 of 2 unknown"),
        (30, "status of 1 of 2 unknown"),
    ] {
        let mut app = AppHarness::at_rest(width, 24, service.clone());
        app.press("c").settle();
        app.shows(&[text]);
    }
}

#[test]
fn card_of_several_emails_labels_its_times() {
    let service = FakeService::with_statuses(&["delivered", "opened", "delivered"]);
    for width in 20..100 {
        let mut app = AppHarness::at_rest(width, 24, service.clone());
        app.press("c").settle();
        let shown = screen(&app);
        let heading = shown.lines().nth(1).unwrap().trim();
        if let Some((_, times)) = heading.rsplit_once("  ") {
            let is_labelled = times.starts_with("first ") || times.starts_with("last ");
            assert!(is_labelled || times.contains(" to "), "{width}: {heading}");
        }
    }
}

#[test]
fn card_shows_every_count_at_120_columns() {
    let events = [
        "sent",
        "delivered",
        "opened",
        "clicked",
        "bounced",
        "complained",
        "failed",
        "suppressed",
    ];
    let service = FakeService::with_statuses(&events);
    for height in [30, 45] {
        let mut app = AppHarness::at_rest(120, height, service.clone());
        app.press("c").settle();
        let shown = screen(&app);
        let card: String = shown.lines().take(6).collect();
        for event in events {
            assert!(card.contains(&format!("{event} 1")), "{event}: {shown}");
        }
    }
}

#[test]
fn status_of_several_recipients_names_none() {
    let of_one = "one of 4 recipients, not known which; their server";
    for (width, height) in [(80, 24), (160, 45)] {
        let mut app = AppHarness::at_rest(width, height, varied());
        app.press("j Enter").settle();
        app.shows(&[&format!("bounced: {of_one}"), "j.okafor@example.org +3"]);
        app.press("y T").settle();
        let copied =
            app.requested(effect!(Effect::Loop(LoopEffect::SetClipboard { text, .. }) => text));
        let line = format!("Status: bounced: {of_one}");
        assert!(copied[0].contains(&line), "{}", copied[0]);
    }
    let mut app = AppHarness::at_rest(80, 24, varied());
    app.press("j Enter").settle();
    app.shows(&["to j.okafor@example.org +3"]);
}

/// A statement to four recipients that bounced, and an email to one of them.
fn bounced_statement(reason: &str) -> FakeService {
    let mut service = FakeService::with_statuses(&["bounced", "delivered"]);
    let names = ["ana", "bo", "cfo", "fo"];
    let row = &mut service.rows[0];
    row.summary.to = names
        .map(|name| Address::parse(&format!("{name}@northwind.example")))
        .into();
    row.recipient_count = 4;
    row.summary.subject = SafeText::new("Quarterly statement");
    let bounce = SafeText::new(&format!(r#"{{"message":"{reason}"}}"#));
    row.summary.extra = vec![(SafeText::new("bounce"), bounce)];
    service.rows[1].summary.to = vec![Address::parse("ana@northwind.example")];
    service
}

#[test]
fn card_of_one_of_several_shows_reason() {
    let mut service = bounced_statement("550 5.1.1 user unknown");
    let card = |service: &FakeService| {
        let mut app = AppHarness::at_rest(220, 45, service.clone());
        app.press("c").settle();
        app
    };
    card(&service).shows(&["one of 4 recipients, not known which; 550", "user unknown"]);
    service.rows[0].summary.extra.clear();
    card(&service).shows(&[
        "one of 4 recipients, not known which  ",
        "latest ✕ bounced (one of 4) 09:00  Quarterly statement",
    ]);
}

#[test]
fn reason_that_names_one_recipient_is_quoted() {
    let named = "one of 4 recipients, the reason names cfo@northwind.example";
    let service = bounced_statement("550 5.1.1 user unknown: CFO@northwind.example");
    let mut app = AppHarness::at_rest(100, 30, service);
    app.shows(&[&format!("bounced: {named}; 550")]);
    app.press("y T").settle();
    let copied =
        app.requested(effect!(Effect::Loop(LoopEffect::SetClipboard { text, .. }) => text));
    assert!(
        copied[0].contains(&format!("{named}; 550 5.1.1 user")),
        "{}",
        copied[0]
    );
    app.press("c").settle();
    app.shows(&["one of 4 recipients, the reason names cfo@"]);
}

#[test]
fn card_of_six_statuses_keeps_its_reach() {
    let events = [
        "bounced",
        "complained",
        "delivered",
        "opened",
        "clicked",
        "sent",
    ];
    let mut service = FakeService::with_statuses(&events);
    for row in &mut service.rows {
        row.confirmed_at = None;
    }
    for (width, height) in [(80, 24), (80, 30), (66, 30), (70, 20)] {
        let mut app = AppHarness::at_rest(width, height, service.clone());
        app.press("c").answer_archive();
        app.shows(&["6 of 6 emails, complete; no status checked", "bounced 1"]);
        if width == 80 {
            app.shows(&["✕ bounced 1  ! complained 1  → sent 1", "↗ clicked 1"]);
        }
    }
}

#[test]
fn long_reason_of_card_gets_a_second_line() {
    let mut service = FakeService::with_statuses(&["suppressed", "suppressed", "delivered"]);
    let app = |width, height, service: &FakeService| {
        let mut app = AppHarness::at_rest(width, height, service.clone());
        app.press("c").settle();
        app
    };
    let shown = app(160, 45, &service);
    shown.shows(&["skipped: this", "suppression list"]);
    app(40, 30, &service).shows(&["suppressed 2 times: skipped"]);
    let both = ["ana@example.com", "bo@example.com"].map(Address::parse);
    service.rows[1].summary.to = both.into();
    service.rows[1].recipient_count = 2;
    app(40, 30, &service).shows(&["suppressed 1/2 alone: skipped"]);
}

#[test]
fn keys_after_prefix_are_shown_with_labels() {
    for (width, keys) in [(160, "y"), (80, "y"), (40, "y"), (80, "g"), (40, "g")] {
        let mut app = AppHarness::at_rest(width, 12, varied());
        app.press("Enter").settle().press(keys);
        let shown = screen(&app);
        for (key, hint) in app.model.continuations() {
            assert!(shown.contains(&format!(" {key} {hint}")), "{key}: {shown}");
        }
    }
}

#[test]
fn long_message_of_the_prompt_is_wrapped() {
    for (width, last) in [(80, "complained"), (120, "complained"), (40, "complained")] {
        let mut app = AppHarness::at_rest(width, 24, varied());
        app.press("/").write("status:bogus").settle();
        let shown = screen(&app);
        let start = shown
            .find("unknown status")
            .unwrap_or_else(|| panic!("{shown}"));
        assert!(shown[start..].contains(last), "{shown}");
        assert!(!shown[start..].contains('…'), "{shown}");
    }
    let mut app = AppHarness::at_rest(80, 24, varied());
    app.press("/").write("after:xyz").settle();
    app.shows(&["7d or 5min\n"]);
}

#[test]
fn suggestions_that_do_not_fit_are_counted() {
    let mut app = AppHarness::at_rest(100, 24, varied());
    app.press("/").settle();
    let hidden = app.model.suggestions().len() - 7;
    app.shows(&[&format!(" {hidden} more ")]);
    app.write("rece").settle();
    app.hides(&[&format!(" {hidden} more ")]);
}

#[test]
fn link_that_names_another_host_says_which() {
    let mut service = varied();
    service.html = Some("<p><a href='https://evil.test/a'>https://bank.example/</a></p>".into());
    let mut app = AppHarness::at_rest(120, 30, service);
    app.press("Enter").settle().press("o");
    app.shows(&["link text names bank.example"]);
}

#[test]
fn body_cut_twice_is_labelled_once() {
    let cut = |detail: &str| BodyNotice {
        label: "cut".to_owned(),
        detail: detail.to_owned(),
        is_in_body: true,
    };
    let body = Body {
        notices: vec![cut("it is too large"), cut("it has too many lines")],
        ..Body::default()
    };
    assert_eq!(describe_body(&body), ["cut"]);
}
