//! Attachments: when their list is requested, where it is shown, and how one is saved.

use std::path::PathBuf;
use std::sync::Arc;

use super::env::{Mailbox, World};
use crate::api::{Priority, wire};
use crate::app::email_header::HeaderLine;
use crate::app::{ChooserKind, Effect, Message, RequestId};
use crate::error::{Error, ErrorKind};
use crate::mail::Attachment;

fn attachment(name: &str, size: u64) -> Attachment {
    let wire = wire::Attachment {
        id: Some(name.to_owned()),
        filename: Some(name.to_owned()),
        size: Some(size),
        content_type: Some("application/pdf".to_owned()),
        ..wire::Attachment::default()
    };
    (wire, "{}".into()).into()
}

fn mailbox() -> Mailbox {
    let mut mailbox = Mailbox::of(30);
    mailbox.attachments = vec![
        attachment("Invoice 7.pdf", 48_200),
        attachment("terms.pdf", 9),
    ];
    mailbox
}

fn requests(world: &World) -> Vec<Priority> {
    let requests = world.asked.iter().filter_map(|effect| match effect {
        Effect::LoadAttachments { priority, .. } => Some(*priority),
        _ => None,
    });
    requests.collect()
}

fn header(world: &World) -> Vec<String> {
    let row = world.model.list.selected().unwrap();
    let lines = world.model.reader.header(row).into_iter();
    lines
        .filter_map(|line| match line {
            HeaderLine::Text("attached", text) => Some(text),
            _ => None,
        })
        .collect()
}

/// Opens the email and answers until its attachments are requested; returns that request.
fn answer_until_request(world: &mut World) -> RequestId {
    world.press("Enter");
    loop {
        let found = world.pending.iter().find_map(|effect| match effect {
            Effect::LoadAttachments { request, .. } => Some(*request),
            _ => None,
        });
        match found {
            Some(request) => return request,
            None => world.answer(0),
        }
    }
}

fn notice(world: &World) -> &str {
    world.model.notice.as_deref().unwrap_or_default()
}

#[test]
fn list_is_requested_once_for_each_opened_email() {
    let mut world = World::at_rest(160, 45, mailbox());
    world.press("j j j").settle();
    assert_eq!(requests(&world), [], "a preview costs nothing");
    world.press("Enter").settle();
    assert_eq!(requests(&world), [Priority::Recheck]);
    assert_eq!(header(&world), ["Invoice 7.pdf 48 kB, terms.pdf 9 bytes"]);
    world.press("J").settle();
    assert_eq!(requests(&world).len(), 2);
    world.press("K").settle().press("J").settle();
    assert_eq!(requests(&world).len(), 2);
    assert_eq!(header(&world).len(), 1);
}

#[test]
fn email_that_is_left_is_not_asked_about() {
    let mut world = World::at_rest(160, 45, mailbox());
    let request = answer_until_request(&mut world);
    let kind = crate::app::RequestKind::LoadAttachments;
    assert!(world.model.is_wanted(kind, request));
    world.press("J");
    assert!(!world.model.is_wanted(kind, request));
    let late = Message::AttachmentsLoaded(request, Ok(Arc::from(mailbox().attachments)));
    world.happen(late);
    assert_eq!(header(&world), Vec::<String>::new());
}

#[test]
fn text_that_is_read_stays_in_place() {
    let mut world = World::at_rest(160, 20, mailbox());
    answer_until_request(&mut world);
    world.press("j j");
    let row = world.model.list.selected().unwrap().clone();
    let below = |world: &World| {
        let header = world.model.reader.header(&row).len();
        world.model.reader.scroll.cast_signed() - header.cast_signed()
    };
    let before = below(&world);
    world.settle();
    assert_eq!(header(&world).len(), 1);
    assert_eq!(below(&world), before);
}

#[test]
fn chosen_attachment_is_saved_under_the_typed_name() {
    let mut world = World::at_rest(160, 45, mailbox());
    world.press("Enter").settle().press("a");
    let chooser = world.model.chooser.unwrap();
    assert_eq!(chooser.kind, ChooserKind::Attachments);
    let items = world.model.chooser_items(chooser);
    assert_eq!(items[0].detail, "48 kB, application/pdf");
    world.press("Enter");
    let prompt = world.model.prompt.as_ref().unwrap();
    assert_eq!(prompt.text(), "invoice-7.pdf");
    world.press("Ctrl-u").write("~/mail").press("Enter");
    let saved = world.asked.last().unwrap();
    let Effect::SaveAttachment {
        attachment, path, ..
    } = saved
    else {
        panic!("{saved:?}");
    };
    assert_eq!(&*attachment.name, "Invoice 7.pdf");
    assert_eq!(
        path,
        &PathBuf::from("~/mail"),
        "without a home it is a name"
    );
    assert_eq!(notice(&world), "saving Invoice 7.pdf 48 kB");
    world.settle();
    assert_eq!(notice(&world), "saved as ~/mail, 48 kB");
}

#[test]
fn stopped_save_is_not_wanted() {
    let mut world = World::at_rest(160, 45, mailbox());
    world.press("Enter").settle().press("a Enter Enter");
    let Some(Effect::SaveAttachment { request, .. }) = world.asked.last().cloned() else {
        panic!("nothing is saved");
    };
    let kind = crate::app::RequestKind::SaveAttachment;
    assert!(world.model.is_wanted(kind, request));
    world.press("Ctrl-x");
    assert!(!world.model.is_wanted(kind, request));
    assert_eq!(notice(&world), "stopped; nothing of the attachment is kept");
}

#[test]
fn key_in_the_list_asks_at_once_and_opens_the_list() {
    let mut world = World::at_rest(160, 45, mailbox());
    world.press("a");
    assert_eq!(requests(&world), [Priority::Interactive]);
    world.settle();
    assert!(world.model.chooser.is_some());
    let mut world = World::at_rest(160, 45, Mailbox::of(3));
    world.press("a").settle();
    assert_eq!(notice(&world), "this email has no attachments");
}

#[test]
fn missing_operation_is_said_once_and_not_asked_again() {
    let mut world = World::at_rest(160, 45, mailbox());
    let request = answer_until_request(&mut world);
    let error = Error::new(
        ErrorKind::Unsupported,
        "the service does not list attachments",
    );
    world.happen(Message::AttachmentsLoaded(request, Err(error)));
    assert_eq!(notice(&world), "the service does not list attachments");
    world.press("J").settle().press("J").settle();
    assert_eq!(requests(&world).len(), 1);
    assert_eq!(notice(&world), "");
    world.press("a");
    assert_eq!(notice(&world), "the service does not list attachments");
}

#[test]
fn failed_request_is_repeated_by_the_key_alone() {
    let mut world = World::at_rest(160, 45, mailbox());
    let request = answer_until_request(&mut world);
    let error = Error::new(ErrorKind::Server, "server error");
    world.happen(Message::AttachmentsLoaded(request, Err(error)));
    world.pending.clear();
    world.press("j k");
    assert_eq!(requests(&world).len(), 1);
    world.press("a").settle();
    assert_eq!(requests(&world), [Priority::Recheck, Priority::Interactive]);
    assert!(world.model.chooser.is_some());
}
