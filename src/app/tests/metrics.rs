//! How often an email was opened:
//! when the service is asked, and what the header says.

use super::env::{AppHarness, FakeService, effect, row_of};
use crate::api::wire;
use crate::app::{Effect, Message};
use crate::error::{Error, ErrorKind};
use crate::mail::{Metrics, Status};

/// Shows one email of this status.
fn app(event: &str, extra: Option<(&str, &str)>) -> AppHarness {
    let mut service = FakeService::with_emails(1);
    service.metrics = Metrics {
        opened: Some(3),
        clicked: Some(1),
        bounced_permanent: Some(u64::from(event == "bounced")),
        ..Metrics::default()
    };
    let extra = extra.map(|(name, json)| (name.to_owned(), json.to_owned()));
    service.rows = vec![row_of(
        1,
        &wire::Summary {
            id: "id-1".to_owned(),
            to: Some(vec!["ana@example.com".to_owned()]),
            created_at: Some("2026-11-19T08:00:00.25Z".to_owned()),
            last_event: Some(event.to_owned()),
            extra: extra.into_iter().collect(),
            ..wire::Summary::default()
        },
    )];
    AppHarness::at_rest(160, 45, service)
}

/// The start of the range of each request.
fn requested(app: &AppHarness) -> Vec<String> {
    app.requested(effect!(Effect::LoadMetrics { id, created, .. } => format!("{id:?} {created}")))
}

#[test]
fn opened_email_says_how_often() {
    let mut app = app("opened", None);
    assert_eq!(requested(&app), [""; 0], "a preview costs nothing");
    app.press("Enter").settle();
    assert_eq!(requested(&app), ["\"id-1\" 2026-11-19T08:00:00.25Z"]);
    let expected = ["opened 3 times, clicked once; the service's count, 09:42"];
    assert_eq!(app.header_lines("activity"), expected);
    app.press("Esc Enter").settle();
    assert_eq!(requested(&app).len(), 1);
    app.service.rows[0].summary.status = Status::Clicked;
    app.press("Esc /").write("ana").press("Enter").settle();
    app.press("Enter").settle();
    assert_eq!(requested(&app).len(), 2, "the counts have changed, too");
}

#[test]
fn only_statuses_with_counts_request_metrics() {
    for status in Status::KNOWN {
        let mut app = app(status.api_name(), None);
        app.press("Enter").settle();
        let is_counted = matches!(status, Status::Opened | Status::Clicked | Status::Bounced);
        assert_eq!(requested(&app).len(), usize::from(is_counted), "{status:?}");
        let lines = app.header_lines("activity");
        assert_eq!(lines.len(), usize::from(is_counted), "{status:?}");
    }
}

#[test]
fn bounce_without_reason_says_its_kind() {
    let mut unexplained = app("bounced", None);
    unexplained.press("Enter").settle();
    let lines = unexplained.header_lines("activity");
    assert!(lines[0].starts_with("bounced permanently, opened"));
    let mut explained = app("bounced", Some(("bounce", r#"{"message":"mailbox full"}"#)));
    explained.press("Enter").settle();
    assert_eq!(requested(&explained), [""; 0]);
    assert_eq!(explained.header_lines("activity"), [""; 0]);
}

#[test]
fn missing_operation_is_not_requested_again() {
    let mut service = super::recipient::service();
    service.metrics.opened = Some(1);
    let mut app = AppHarness::at_rest(160, 45, service);
    app.search("is:opened");
    app.press("Enter");
    let request = app.answer_until(effect!(Effect::LoadMetrics { request, .. } => *request));
    let error = Error::new(ErrorKind::Unsupported, "the service does not count");
    app.happen(Message::MetricsLoaded(request, Err(error)));
    assert_eq!(app.model.notice_text(), None);
    app.press("J").settle();
    assert_eq!(requested(&app).len(), 1);
    assert_eq!(app.header_lines("activity"), [""; 0]);
}
