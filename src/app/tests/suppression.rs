//! Whether the address of a bounced email is blocked:
//! when the service is asked, and where the answer is shown.

use super::env::{AppHarness, effect};
use super::recipient::service;
use crate::app::{Effect, Message};
use crate::error::{Error, ErrorKind};
use crate::mail::{ApiTime, SafeText, Suppression};

fn blocked() -> Suppression {
    Suppression {
        origin: SafeText::new("bounce"),
        created: ApiTime::parse("2026-05-03T10:00:00Z"),
    }
}

/// Shows only the bounced email to Ana.
fn app(suppression: Option<Suppression>) -> AppHarness {
    let mut service = service();
    service.suppression = suppression;
    let mut app = AppHarness::at_rest(160, 45, service);
    app.search("\"For Ana #200\"");
    app
}

fn requested(app: &AppHarness) -> Vec<&str> {
    app.requested(effect!(Effect::LoadSuppression { address, .. } => address.as_str()))
}

#[test]
fn opened_bounce_says_whether_its_address_is_blocked() {
    let mut blocked = app(Some(blocked()));
    assert_eq!(requested(&blocked), [""; 0], "a preview costs nothing");
    blocked.press("Enter").settle();
    assert_eq!(requested(&blocked), ["ana@example.com"]);
    let expected = ["ana@example.com, since 3 May, after a bounce"];
    assert_eq!(blocked.header_lines("blocked"), expected);
    let mut free = app(None);
    free.press("Enter").settle();
    let expected = ["no (ana@example.com, 09:42)"];
    assert_eq!(free.header_lines("blocked"), expected);
    free.press("Esc Enter").settle();
    assert_eq!(requested(&free).len(), 1);
}

#[test]
fn delivered_email_sends_no_suppression_request() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.press("Enter").settle();
    assert_eq!(requested(&app), [""; 0]);
    assert_eq!(app.header_lines("blocked"), [""; 0]);
}

#[test]
fn recipient_summary_shows_blocked_address() {
    let mut app = app(Some(blocked()));
    app.press("c").settle();
    assert_eq!(requested(&app), ["ana@example.com"]);
    app.shows(&[" blocked since 3 May 10:00; ✕ bounced 3 times, last mail 12 Nov"]);
}

#[test]
fn missing_operation_is_not_requested_again() {
    let mut app = app(None);
    app.press("Enter");
    let request = app.answer_until(effect!(Effect::LoadSuppression { request, .. } => *request));
    let error = Error::new(ErrorKind::Unsupported, "the service does not say");
    app.happen(Message::SuppressionLoaded(request, Err(error)));
    assert_eq!(app.model.notice_text(), None);
    app.press("Esc c").settle();
    assert_eq!(requested(&app).len(), 1);
    assert_eq!(app.model.card_suppression(), None);
}
