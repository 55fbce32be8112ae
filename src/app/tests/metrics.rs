//! How often an email was opened: when the service is asked, and what the header says.

use super::env::{Mailbox, World, row_of};
use crate::api::wire;
use crate::app::email_header::HeaderLine;
use crate::app::{Effect, Message};
use crate::error::{Error, ErrorKind};
use crate::mail::{Metrics, Status};

/// Shows one email of this status.
fn world(event: &str, extra: Option<(&str, &str)>) -> World {
    let mut mailbox = Mailbox::of(1);
    mailbox.metrics = Metrics {
        opened: Some(3),
        clicked: Some(1),
        bounced_permanent: Some(u64::from(event == "bounced")),
        ..Metrics::default()
    };
    let extra = extra.map(|(name, json)| (name.to_owned(), json.to_owned()));
    mailbox.rows = vec![row_of(
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
    World::at_rest(160, 45, mailbox)
}

/// The start of the range of each request.
fn asked(world: &World) -> Vec<String> {
    let asked = world.asked.iter().filter_map(|effect| match effect {
        Effect::LoadMetrics { id, since, .. } => Some(format!("{id:?} {since}")),
        _ => None,
    });
    asked.collect()
}

fn header(world: &World) -> Option<String> {
    let row = world.model.list.selected().unwrap();
    let mut lines = world.model.reader.header(row).into_iter();
    lines.find_map(|line| match line {
        HeaderLine::Text("activity", text) => Some(text),
        _ => None,
    })
}

#[test]
fn opened_email_says_how_often() {
    let mut world = world("opened", None);
    assert_eq!(asked(&world), [""; 0], "a preview costs nothing");
    world.press("Enter").settle();
    assert_eq!(asked(&world), ["\"id-1\" 2026-11-19T08:00:00.25Z"]);
    assert_eq!(
        header(&world).as_deref(),
        Some("opened 3 times, clicked once; the service's count, 09:42")
    );
    world.press("Esc Enter").settle();
    assert_eq!(asked(&world).len(), 1);
    world.mailbox.rows[0].summary.status = Status::Clicked;
    world.press("Esc /").write("ana").press("Enter").settle();
    world.press("Enter").settle();
    assert_eq!(asked(&world).len(), 2, "the counts have changed, too");
}

#[test]
fn only_statuses_with_counts_ask() {
    for status in Status::KNOWN {
        let mut world = world(status.api_name(), None);
        world.press("Enter").settle();
        let is_counted = matches!(status, Status::Opened | Status::Clicked | Status::Bounced);
        assert_eq!(asked(&world).len(), usize::from(is_counted), "{status:?}");
        assert_eq!(header(&world).is_some(), is_counted, "{status:?}");
    }
}

#[test]
fn bounce_without_reason_says_its_kind() {
    let mut unexplained = world("bounced", None);
    unexplained.press("Enter").settle();
    assert!(
        header(&unexplained).is_some_and(|text| text.starts_with("bounced permanently, opened"))
    );
    let mut explained = world("bounced", Some(("bounce", r#"{"message":"mailbox full"}"#)));
    explained.press("Enter").settle();
    assert_eq!(asked(&explained), [""; 0]);
    assert_eq!(header(&explained), None);
}

#[test]
fn missing_operation_is_said_once() {
    let mut mailbox = super::recipient::mailbox();
    mailbox.metrics.opened = Some(1);
    let mut world = World::at_rest(160, 45, mailbox);
    world.press("/").write("is:opened").press("Enter").settle();
    world.press("Enter");
    let request = world.answer_until(|effect| match effect {
        Effect::LoadMetrics { request, .. } => Some(*request),
        _ => None,
    });
    let error = Error::new(ErrorKind::Unsupported, "the service does not count");
    world.happen(Message::MetricsLoaded(request, Err(error)));
    assert_eq!(
        world.model.notice.as_deref(),
        Some("the service does not count")
    );
    world.press("J").settle();
    assert_eq!(asked(&world).len(), 1);
    assert_eq!(header(&world), None);
}
