//! The recipient card by messages.

use jiff::Timestamp;

use crate::api::wire;
use crate::app::tests::env::{AppHarness, FakeService, effect, row_of};
use crate::app::{Effect, Focus, Message, RecipientSummary};
use crate::archive::EmailRow;
use crate::error::{Error, ErrorKind};
use crate::mail::Address;
use crate::query::SearchText;

/// Emails 0 to 299; every tenth goes to Ana, with Ben in copy,
/// and every hundredth of hers bounced.
pub fn service() -> FakeService {
    let mut service = FakeService::with_emails(300);
    for row in service
        .rows
        .iter_mut()
        .filter(|row| row.sort_key.micros() % 10 == 0)
    {
        let n = row.sort_key.micros();
        let bounced = n % 100 == 0;
        *row = row_of(
            n,
            &wire::Summary {
                id: row.summary.id.as_str().to_owned(),
                to: Some(vec![
                    "Ana <ana@example.com>".to_owned(),
                    "ANA@example.com".to_owned(),
                ]),
                cc: Some(vec!["ben@example.org".to_owned()]),
                from: Some("Acme <hello@example.org>".to_owned()),
                subject: Some(format!("For Ana #{n}")),
                created_at: Some(row.summary.created.raw.to_string()),
                last_event: Some(if bounced { "bounced" } else { "opened" }.to_owned()),
                extra: if bounced {
                    vec![(
                        "bounce".to_owned(),
                        r#"{"message":"mailbox full"}"#.to_owned(),
                    )]
                } else {
                    vec![]
                },
                ..wire::Summary::default()
            },
        );
    }
    // Whose address only contains Ana's.
    service.rows[5].summary.to = vec![crate::mail::Address::parse("diana@example.com")];
    service
}

#[test]
fn card_shows_all_mail_and_leads_back() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.press_times("j", 9);
    app.settle();
    assert_eq!(app.selected(), 290);
    app.press("c").settle();
    assert_eq!(app.filter(), "recipient:ana@example.com");
    assert_eq!(app.selected(), 290);
    let tally = app
        .model
        .recipient_card
        .summary
        .value()
        .expect("it is counted")
        .clone();
    let statuses: Vec<(&str, u64)> = tally
        .statuses
        .iter()
        .map(|(status, count)| (status.label(), *count))
        .collect();
    assert_eq!(tally.total, 30);
    assert_eq!(&*tally.name, "Ana");
    assert_eq!(statuses, vec![("bounced", 3), ("opened", 27)]);
    let problem = tally
        .newest_problem
        .as_ref()
        .expect("the newest that bounced");
    assert_eq!(&*problem.subject, "For Ana #200");
    let bounce = problem.bounce.as_ref().expect("its reason is known");
    assert_eq!(&**bounce.reason(), "mailbox full");
    assert_eq!(&*tally.newest.as_ref().unwrap().subject, "For Ana #290");

    app.press("j j @ v").settle();
    assert!(
        app.model.recipient_card.is_shown(),
        "the filter is narrower"
    );
    assert_eq!(app.filter(), "recipient:ana@example.com status:opened");
    app.press("Esc").settle();
    assert_eq!(app.filter(), "recipient:ana@example.com");
    app.press("Esc").settle();
    assert_eq!(app.filter(), "");
    assert_eq!(app.selected(), 290);
    assert!(app.model.recipient_card.address.is_none(), "where one was");
    app.press("u").settle();
    let expected = "recipient:ana@example.com";
    assert_eq!(app.filter(), expected, "also back to the card");
}

#[test]
fn single_recipient_problems_precede_shared_problems() {
    let row = |n: i64, to: &[&str], status: &str| {
        row_of(
            n,
            &wire::Summary {
                id: format!("{n}"),
                to: Some(to.iter().map(|&to| to.to_owned()).collect()),
                last_event: Some(status.to_owned()),
                ..wire::Summary::default()
            },
        )
    };
    let both: &[&str] = &["ana@example.com", "ben@example.org"];
    let rows = [
        row(9, both, "bounced"),
        row(8, both, "bounced"),
        row(7, &["ana@example.com"], "complained"),
        row(6, &["ana@example.com", "ANA@example.com"], "complained"),
        row(5, both, "complained"),
    ];
    let problem = |rows: &[EmailRow]| {
        let (mut summary, address) = (
            RecipientSummary::default(),
            SearchText::new(both[0]).unwrap(),
        );
        for row in rows {
            summary.add(row, &address, Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        }
        let newest = summary.newest_problem.expect("there is one");
        (
            newest.status.label().to_owned(),
            newest.recipients,
            summary.problems,
        )
    };
    assert_eq!(problem(&rows[..2]), ("bounced".to_owned(), 2, 2));
    assert_eq!(problem(&rows), ("complained".to_owned(), 1, 2));
    let alone = |n, status| row(n, &["ana@example.com"], status);
    let rows = ["delivery_delayed", "suppressed", "bounced", "bounced"];
    let rows: Vec<EmailRow> = (1..5)
        .rev()
        .zip(rows)
        .map(|(n, status)| alone(n, status))
        .collect();
    assert_eq!(problem(&rows[..1]), ("delayed".to_owned(), 1, 1));
    assert_eq!(problem(&rows[..2]), ("suppressed".to_owned(), 1, 1));
    assert_eq!(problem(&rows), ("bounced".to_owned(), 1, 2));
    let rows = [alone(2, "failed"), alone(1, "bounced")];
    assert_eq!(problem(&rows), ("bounced".to_owned(), 1, 1));
}

#[test]
fn age_alone_does_not_confirm_delivered_email() {
    let summary = wire::Summary {
        id: "1".to_owned(),
        created_at: Some("2026-08-20T09:00:00Z".to_owned()),
        last_event: Some("delivered".to_owned()),
        ..wire::Summary::default()
    };
    let now: Timestamp = "2026-11-20T09:00:00Z".parse().unwrap();
    let mut row = row_of(1, &summary);
    let address = SearchText::new("ana@example.com").unwrap();
    let checked = |row: &EmailRow| {
        let mut card = RecipientSummary::default();
        card.add(row, &address, now, now);
        (card.checked, card.total)
    };
    row.confirmed_at = Some("2026-09-20T09:00:00Z".parse().unwrap());
    assert_eq!(checked(&row), (0, 1));
    row.confirmed_at = Some(now);
    assert_eq!(checked(&row), (1, 1));
}

#[test]
fn unconfirmed_final_status_is_not_checked() {
    let summary = wire::Summary {
        last_event: Some("bounced".to_owned()),
        ..wire::Summary::default()
    };
    let now: Timestamp = "2026-11-20T09:00:00Z".parse().unwrap();
    let mut row = row_of(1, &summary);
    let address = SearchText::new("ana@example.com").unwrap();
    for (confirmed_at, checked) in [
        (None, 0),
        (Some("2026-12-24T09:00:00Z"), 0),
        (Some("2026-09-20T09:00:00Z"), 1),
    ] {
        row.confirmed_at = confirmed_at.map(|at| at.parse().unwrap());
        let mut card = RecipientSummary::default();
        card.add(&row, &address, now, now);
        assert_eq!(card.checked, checked, "{confirmed_at:?}");
    }
}

#[test]
fn card_key_shows_next_recipient() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("c").settle();
    assert_eq!(app.filter(), "recipient:customer299@example.com");
    app.press("c");
    app.shows_notice("this email has no other recipient");
    app.press("Esc").settle();
    app.press_times("j", 9);
    app.settle().press("c").settle();
    app.shows_notice("recipient 1 of 2; c shows the next");
    app.press("c").settle();
    assert_eq!(app.filter(), "recipient:ben@example.org");
    assert_eq!(app.selected(), 290);
    app.press("c").settle();
    let expected = "recipient:ana@example.com";
    assert_eq!(app.filter(), expected, "past the last comes the first");
    app.press("Esc").settle();
    assert_eq!(app.filter(), "");
    assert_eq!(app.selected(), 290, "one step back from all of them");
}

#[test]
fn card_begins_with_the_recipient_searched_for() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("/")
        .write("ben for")
        .settle()
        .press("Enter")
        .settle();
    assert_eq!(app.selected(), 290);
    app.shows(&["ben@example.org +1"]);
    app.press("c").settle();
    app.shows_notice("recipient 2 of 2; c shows the next");
    assert_eq!(app.filter(), "recipient:ben@example.org");
    app.shows(&["ben@example.org +1"]);
    app.press("Esc @ t").settle();
    let expected = "ben for recipient:ben@example.org";
    assert_eq!(app.filter(), expected, "the shown one");
    app.press("Esc / Ctrl-u")
        .write("ana")
        .settle()
        .press("Enter")
        .settle();
    app.shows(&["ana@example.com +1"]);
    app.press("Esc / Ctrl-u")
        .write("#290")
        .settle()
        .press("Enter")
        .settle();
    app.shows(&["ana@example.com +1"]);
    app.press("c").settle();
    assert_eq!(app.filter(), "recipient:ana@example.com");
}

#[test]
fn card_of_shortened_row_counts_the_first_recipients() {
    let mut service = service();
    let row = &mut service.rows[0];
    row.summary.to.push(Address::parse("other@example.com"));
    row.is_shortened = true;
    let mut app = AppHarness::at_rest(120, 40, service);
    app.press("c").settle();
    app.shows_notice("recipient 1 of the first 2; c shows the next");
    let mut service = self::service();
    service.rows[0].is_shortened = true;
    let mut app = AppHarness::at_rest(120, 40, service);
    app.press("c").settle().press("c");
    app.shows_notice("no other recipient is among the first 100");
}

#[test]
fn closing_card_returns_to_open_email() {
    let mut app = AppHarness::at_rest(40, 12, service());
    app.press("Enter").settle();
    assert_eq!(app.model.focus(), Focus::Reader);
    app.press("c").settle();
    assert_eq!(app.model.focus(), Focus::List);
    app.press("Esc").settle();
    assert_eq!((app.model.focus(), app.selected()), (Focus::Reader, 299));
}

#[test]
fn card_is_counted_again_after_changes() {
    let mut app = AppHarness::at_rest(120, 40, service());
    let tallies = |app: &AppHarness| app.count(effect!(Effect::SummarizeRecipient { .. }));
    app.press("/").write("recipient:ana@example.com").settle();
    assert_eq!(tallies(&app), 0, "half an address");
    assert!(app.model.recipient_card.address.is_none());
    app.press("Enter").settle();
    assert_eq!(tallies(&app), 2, "again when its emails were checked");
    assert!(app.model.recipient_card.is_shown());
    app.service.arriving = 1;
    app.wait_for_refresh();
    assert_eq!(tallies(&app), 3);
    app.press("/ Ctrl-u").settle();
    assert!(app.model.recipient_card.is_shown(), "while one types");
    app.press("Enter").settle();
    assert!(app.model.recipient_card.address.is_none());
}

#[test]
fn failed_count_is_reported() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.press("c");
    let request = app.take(effect!(Effect::SummarizeRecipient { request, .. } => *request));
    let error = Error::new(ErrorKind::Archive, "the disk is gone");
    app.happen(Message::RecipientSummarized(request, Err(error)));
    assert!(app.model.recipient_card.summary.error().is_some());
}

#[test]
fn summary_of_earlier_recipient_is_ignored() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.press_times("j", 9);
    app.settle().press("c c");
    assert_eq!(app.filter(), "recipient:ben@example.org");
    app.answer_first(effect!(Effect::SummarizeRecipient { .. }));
    assert!(app.model.recipient_card.summary.value().is_none());
    app.settle();
    assert!(app.model.recipient_card.summary.value().is_some());
}
