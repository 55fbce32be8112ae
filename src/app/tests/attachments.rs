//! Attachments: when their list is requested, where it is shown,
//! and how one is saved.

use std::path::Path;
use std::sync::Arc;

use super::env::{AppHarness, FakeService, effect};
use crate::api::{Priority, wire};
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

fn service() -> FakeService {
    let mut service = FakeService::with_emails(30);
    service.attachments = vec![
        attachment("Invoice 7.pdf", 48_200),
        attachment("terms.pdf", 9),
    ];
    service
}

fn requests(app: &AppHarness) -> Vec<Priority> {
    app.requested(effect!(Effect::LoadAttachments(_, _, priority) => *priority))
}

/// Opens the email and answers until its attachments are requested;
/// returns that request.
fn answer_until_request(app: &mut AppHarness) -> RequestId {
    app.press("Enter");
    app.answer_until(effect!(Effect::LoadAttachments(request, _, _) => *request))
}

#[test]
fn list_is_requested_once_for_each_opened_email() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.press("j j j").settle();
    assert_eq!(requests(&app), [], "a preview costs nothing");
    app.press("Enter").settle();
    assert_eq!(requests(&app), [Priority::Recheck]);
    let expected = ["Invoice 7.pdf 48 kB, terms.pdf 9 bytes"];
    assert_eq!(app.header_lines("attached"), expected);
    app.press("J").settle();
    assert_eq!(requests(&app).len(), 2);
    app.press("K").settle().press("J").settle();
    assert_eq!(requests(&app).len(), 2);
    assert_eq!(app.header_lines("attached").len(), 1);
}

#[test]
fn leaving_email_cancels_its_attachment_request() {
    let mut app = AppHarness::at_rest(160, 45, service());
    let request = answer_until_request(&mut app);
    let kind = crate::app::RequestKind::LoadAttachments;
    assert!(app.model.is_wanted(kind, request));
    app.press("J");
    assert!(!app.model.is_wanted(kind, request));
    let late = Message::AttachmentsLoaded(request, Ok(Arc::from(service().attachments)));
    app.happen(late);
    assert_eq!(app.header_lines("attached"), [""; 0]);
}

#[test]
fn attachment_header_does_not_move_visible_text() {
    let mut app = AppHarness::at_rest(160, 20, service());
    answer_until_request(&mut app);
    app.press("j j");
    let row = app.model.list.selected().unwrap().clone();
    let below = |app: &AppHarness| {
        let header = app.model.reader.header(&row).len();
        app.model.reader.scroll.cast_signed() - header.cast_signed()
    };
    let before = below(&app);
    app.settle();
    assert_eq!(app.header_lines("attached").len(), 1);
    assert_eq!(below(&app), before);
}

#[test]
fn chosen_attachment_is_saved_under_the_typed_name() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.press("Enter").settle().press("a");
    assert_eq!(app.model.chooser_kind(), Some(&ChooserKind::Attachments));
    let items = app.model.chooser_items();
    assert_eq!(items[0].detail, "48 kB, application/pdf");
    app.press("Enter");
    assert_eq!(app.prompt_text(), "Invoice-7.pdf");
    app.press("Ctrl-u").write("~/mail").press("Enter");
    let (name, path) = app.find(effect!(Effect::SaveAttachment { attachment, path, .. } => {
        (attachment.name.clone(), path.clone())
    }));
    assert_eq!(&*name, "Invoice 7.pdf");
    assert_eq!(path, Path::new("~/mail"), "without a home it is a name");
    app.shows_notice("saving Invoice 7.pdf 48 kB");
    app.settle();
    app.shows_notice("saved as ~/mail, 48 kB");
}

#[test]
fn stop_ends_the_awaited_request_first() {
    let mut app = AppHarness::at_rest(160, 45, service());
    answer_until_request(&mut app);
    app.press("a");
    app.shows_notice("asking the service for the attachments");
    let requests_before = requests(&app).len();
    app.press("Ctrl-x");
    app.shows_notice("stopped asking for the attachments");
    app.settle();
    assert_eq!(requests(&app).len(), requests_before);
    assert!(app.model.chooser.is_none());
    app.press("a").settle();
    assert!(app.model.chooser.is_some(), "asked again by the key");
}

#[test]
fn saved_eml_names_the_attachments_it_lacks() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.press("Enter").settle();
    app.press("s Enter").settle();
    let notice = app.notice();
    let expected = ", unmasked, without its 2 attachments; a saves them";
    assert!(notice.ends_with(expected), "{notice}");
    app.press("s Ctrl-u")
        .write("out.html")
        .press("Enter")
        .settle();
    assert!(app.notice().ends_with(", unmasked"), "{}", app.notice());
    app.service.attachments.clear();
    app.press("J").settle();
    app.press("s Enter").settle();
    assert!(app.notice().ends_with(", unmasked"), "{}", app.notice());
}

#[test]
fn stopping_save_cancels_it_and_keeps_nothing() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.press("Enter").settle().press("a Enter Enter");
    let request = app.find(effect!(Effect::SaveAttachment { request, .. } => *request));
    let kind = crate::app::RequestKind::SaveAttachment;
    assert!(app.model.is_wanted(kind, request));
    app.press("Ctrl-x");
    assert!(!app.model.is_wanted(kind, request));
    app.shows_notice("stopped; nothing of the attachment is kept");
}

#[test]
fn attachments_key_requests_and_opens_their_list() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.press("a");
    assert_eq!(requests(&app), [Priority::Interactive]);
    app.settle();
    assert!(app.model.chooser.is_some());
    let mut app = AppHarness::at_rest(160, 45, FakeService::with_emails(3));
    app.press("a").settle();
    app.shows_notice("this email has no attachments");
}

#[test]
fn missing_operation_is_reported_after_its_key_alone() {
    let mut app = AppHarness::at_rest(160, 45, service());
    let request = answer_until_request(&mut app);
    let error = Error::new(
        ErrorKind::Unsupported,
        "the service does not list attachments",
    );
    app.happen(Message::AttachmentsLoaded(request, Err(error)));
    assert_eq!(app.notice(), "", "the keys stay on the screen");
    app.press("J").settle().press("J").settle();
    assert_eq!(requests(&app).len(), 1);
    app.shows_notice("");
    app.press("a");
    app.shows_notice("the service does not list attachments");
}

#[test]
fn failed_request_is_repeated_by_the_key_alone() {
    let mut app = AppHarness::at_rest(160, 45, service());
    let request = answer_until_request(&mut app);
    let error = Error::new(ErrorKind::Server, "server error");
    app.happen(Message::AttachmentsLoaded(request, Err(error)));
    app.pending.clear();
    app.press("j k");
    assert_eq!(requests(&app).len(), 1);
    app.press("a").settle();
    assert_eq!(requests(&app), [Priority::Recheck, Priority::Interactive]);
    assert!(app.model.chooser.is_some());
}

#[test]
fn narrow_header_names_attachments_without_cut_sizes() {
    for (width, expected) in [
        (60, "Invoice 7.pdf 48 kB, terms.pdf 9 bytes"),
        (40, "Invoice 7.pdf, terms.pdf"),
    ] {
        let mut app = AppHarness::at_rest(width, 12, service());
        app.press("Enter").settle();
        assert_eq!(app.header_lines("attached"), [expected]);
    }
}
