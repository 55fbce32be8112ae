//! Whether the address of a bounced email is blocked: when the service is asked, and where the answer is shown.

use super::env::World;
use super::recipient::mailbox;
use crate::app::email_header::HeaderLine;
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
fn world(suppression: Option<Suppression>) -> World {
    let mut mailbox = mailbox();
    mailbox.suppression = suppression;
    let mut world = World::at_rest(160, 45, mailbox);
    world
        .press("/")
        .write("\"For Ana #200\"")
        .press("Enter")
        .settle();
    world
}

fn asked(world: &World) -> Vec<&str> {
    let asked = world.asked.iter().filter_map(|effect| match effect {
        Effect::LoadSuppression { address, .. } => Some(address.as_str()),
        _ => None,
    });
    asked.collect()
}

fn header(world: &World) -> Vec<String> {
    let row = world.model.list.selected().unwrap();
    let lines = world.model.reader.header(row).into_iter();
    lines
        .filter_map(|line| match line {
            HeaderLine::Text("blocked", text) => Some(text),
            _ => None,
        })
        .collect()
}

#[test]
fn opened_bounce_says_whether_its_address_is_blocked() {
    let mut blocked = world(Some(blocked()));
    assert_eq!(asked(&blocked), [""; 0], "a preview costs nothing");
    blocked.press("Enter").settle();
    assert_eq!(asked(&blocked), ["ana@example.com"]);
    assert_eq!(
        header(&blocked),
        ["ana@example.com, since 3 May, after a bounce"]
    );
    let mut free = world(None);
    free.press("Enter").settle();
    assert_eq!(header(&free), ["no (ana@example.com, 09:42)"]);
    free.press("Esc Enter").settle();
    assert_eq!(asked(&free).len(), 1);
}

#[test]
fn delivered_email_asks_nothing() {
    let mut world = World::at_rest(160, 45, mailbox());
    world.press("Enter").settle();
    assert_eq!(asked(&world), [""; 0]);
    assert_eq!(header(&world), Vec::<String>::new());
}

#[test]
fn card_with_a_bounce_says_it_too() {
    let mut world = world(Some(blocked()));
    world.press("c").settle();
    assert_eq!(asked(&world), ["ana@example.com"]);
    let shown = crate::view::tests::screen(&world);
    assert!(
        shown.contains(" blocked since 3 May 10:00; ✕ bounced 3 times, last 12 Nov"),
        "{shown}"
    );
}

#[test]
fn missing_operation_is_said_once() {
    let mut world = world(None);
    world.press("Enter");
    let request = world.answer_until(|effect| match effect {
        Effect::LoadSuppression { request, .. } => Some(*request),
        _ => None,
    });
    let error = Error::new(ErrorKind::Unsupported, "the service does not say");
    world.happen(Message::SuppressionLoaded(request, Err(error)));
    assert_eq!(
        world.model.notice.as_deref(),
        Some("the service does not say")
    );
    world.press("Esc c").settle();
    assert_eq!(asked(&world).len(), 1);
    assert_eq!(world.model.card_suppression(), None);
}
