//! Tests of the sample mailbox over its two operations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::SignedDuration;
use proptest::prelude::*;
use ring::digest::{Context, SHA256};

use super::*;
use crate::mail::{Status, Summary};

/// A clock that only tests advance.
#[derive(Clone)]
struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    fn clock(&self) -> Clock {
        let seconds = Arc::clone(&self.0);
        Arc::new(move || start() + SignedDuration::from_secs(seconds.load(Ordering::Relaxed)))
    }

    fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

fn start() -> Timestamp {
    "2026-11-20T09:41:07Z".parse().unwrap()
}

fn mailbox(seed: u64, emails: u32) -> (SampleMailbox, ManualClock) {
    let clock = ManualClock(Arc::default());
    let mailbox = SampleMailbox::new(seed, emails, start(), clock.clock());
    (mailbox.with_bounce_reasons(), clock)
}

fn page(mailbox: &SampleMailbox, cursor: &Cursor, limit: u8) -> (Vec<wire::Summary>, bool) {
    let SourcePage { data, has_more } = mailbox.page(cursor, limit).unwrap();
    let items = data.iter().map(|json| wire::Summary::parse(json.get()));
    (items.collect::<Result<_, _>>().unwrap(), has_more)
}

fn email(mailbox: &SampleMailbox, id: &str) -> wire::Email {
    wire::Email::parse(mailbox.email(&EmailId::new(id)).unwrap().get()).unwrap()
}

/// Reads all pages in the direction of the cursors that `next` returns.
fn walk(
    mailbox: &SampleMailbox,
    mut cursor: Cursor,
    limit: u8,
    next: fn(&[wire::Summary]) -> Cursor,
) -> Vec<Vec<wire::Summary>> {
    let mut pages = Vec::new();
    loop {
        let (items, has_more) = page(mailbox, &cursor, limit);
        assert!(
            items.len() == usize::from(limit) || !has_more,
            "a page with more behind it is full"
        );
        if !items.is_empty() {
            cursor = next(&items);
            pages.push(items);
        }
        if !has_more {
            return pages;
        }
    }
}

/// Returns the cursor below the email of this number.
fn after(mailbox: &SampleMailbox, number: u64) -> Cursor {
    Cursor::After(EmailId::new(mailbox.ids.encode(number)))
}

fn down(items: &[wire::Summary]) -> Cursor {
    Cursor::After(EmailId::new(&items[items.len() - 1].id))
}

fn up(items: &[wire::Summary]) -> Cursor {
    Cursor::Before(EmailId::new(&items[0].id))
}

fn all(mailbox: &SampleMailbox) -> Vec<wire::Summary> {
    walk(mailbox, Cursor::Start, 100, down).concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn pages_upwards_reverse_pages_downwards(seed: u64, emails in 1..260_u32, limit in 1..=100_u8) {
        let (mailbox, _) = mailbox(seed, emails);
        let downwards = walk(&mailbox, Cursor::Start, limit, down).concat();
        let oldest = &downwards[downwards.len() - 1];
        let mut upwards = walk(&mailbox, Cursor::Before(EmailId::new(&oldest.id)), limit, up);
        upwards.reverse();
        let mut upwards = upwards.concat();
        upwards.push(oldest.clone());
        prop_assert_eq!(upwards, downwards);
    }

    #[test]
    fn summary_and_email_agree(seed: u64) {
        let (mailbox, _) = mailbox(seed, 300);
        for item in page(&mailbox, &Cursor::Start, 5).0 {
            let email = email(&mailbox, &item.id);
            prop_assert_eq!(&email.summary.subject, &item.subject);
            prop_assert_eq!(&email.summary.last_event, &item.last_event);
            prop_assert_eq!(email.summary.cc.unwrap_or_default(), item.cc.unwrap_or_default());
            prop_assert_eq!(email.summary.to.unwrap_or_default(), item.to.unwrap_or_default());
        }
    }
}

/// The SHA-256 of pages and emails.
/// It changes when data, order or an algorithm of the sample does; README, snapshots and tests
/// quote its mail.
#[test]
fn sample_mailbox_bytes_are_stable() {
    let mut digest = Context::new(&SHA256);
    let mut add = |mailbox: &SampleMailbox, cursor: Cursor| {
        let page = mailbox.page(&cursor, 100).unwrap();
        for json in &page.data {
            let id = wire::Summary::parse(json.get()).unwrap().id;
            digest.update(json.get().as_bytes());
            digest.update(mailbox.email(&EmailId::new(id)).unwrap().get().as_bytes());
        }
    };
    for seed in [0, 1, 77] {
        let (mailbox, clock) = mailbox(seed, DEFAULT_EMAILS);
        for _ in 0..2 {
            add(&mailbox, Cursor::Start);
            for number in (100..DEFAULT_EMAILS).step_by(100) {
                add(&mailbox, after(&mailbox, number.into()));
            }
            clock.advance(3600);
        }
    }
    let (million, _) = mailbox(1, 1_000_000);
    add(&million, after(&million, 500_000));
    let hex = |byte: &u8| format!("{byte:02x}");
    let digest: String = digest.finish().as_ref().iter().map(hex).collect();
    let expected = "391718e06c5c2c66ef5fb3b5b2267c1161623feb5bc70d7662d498ac7f9d9aa9";
    assert_eq!(digest, expected);
}

#[test]
fn empty_mailbox_fills_as_mail_arrives() {
    let (mailbox, clock) = mailbox(1, 0);
    assert_eq!(page(&mailbox, &Cursor::Start, 20), (vec![], false));
    clock.advance(60);
    assert_eq!(page(&mailbox, &Cursor::Start, 20).0.len(), 2);
}

#[test]
fn new_mail_is_added_above_existing_mail() {
    let (mailbox, clock) = mailbox(1, 100);
    let before: Vec<String> = all(&mailbox).into_iter().map(|item| item.id).collect();
    clock.advance(300);
    let after: Vec<String> = all(&mailbox).into_iter().map(|item| item.id).collect();
    assert!((109..=111).contains(&after.len()), "{}", after.len());
    assert!(after.ends_with(&before));
}

#[test]
fn future_or_foreign_id_is_unknown() {
    let (mailbox, clock) = mailbox(1, 100);
    let next = EmailId::new(mailbox.ids.encode(100));
    assert_eq!(mailbox.email(&next).unwrap_err(), SourceError::Unknown);
    let page_error = |cursor| mailbox.page(&cursor, 1).unwrap_err();
    let error = page_error(Cursor::After(next.clone()));
    assert_eq!(error, SourceError::Unknown);
    let foreign = EmailId::new("00000000-0000-4000-8000-000000000000");
    assert_eq!(mailbox.email(&foreign).unwrap_err(), SourceError::Unknown);
    let error = page_error(Cursor::Before(EmailId::new("nonsense")));
    assert_eq!(error, SourceError::Malformed);
    clock.advance(60);
    assert!(mailbox.email(&next).is_ok());
}

#[test]
fn default_mailbox_has_every_status_and_template() {
    for seed in 0..12 {
        let (mailbox, _) = mailbox(seed, DEFAULT_EMAILS);
        let now = start();
        let mut statuses: BTreeMap<String, u32> = BTreeMap::new();
        let mut templates: BTreeMap<&str, u32> = BTreeMap::new();
        for number in 0..u64::from(DEFAULT_EMAILS) {
            let draft = mailbox.plan_email(number);
            *templates.entry(&draft.template.name).or_default() += 1;
            let status = mailbox.build_summary(&draft, now).last_event.unwrap();
            *statuses.entry(status).or_default() += 1;
        }
        assert_eq!(statuses.len(), Status::KNOWN.len(), "{statuses:?}");
        assert_eq!(templates.len(), EmailTemplate::all().len(), "{templates:?}");
        let good: u32 = ["delivered", "opened", "clicked"]
            .map(|it| statuses[it])
            .iter()
            .sum();
        assert!(good > DEFAULT_EMAILS * 8 / 10, "{statuses:?}");
    }
}

#[test]
fn every_template_renders_and_varies() {
    let (mailbox, _) = mailbox(1, DEFAULT_EMAILS);
    let mut bodies: BTreeMap<String, BTreeSet<Option<String>>> = BTreeMap::new();
    for number in 0..u64::from(DEFAULT_EMAILS) {
        let email = mailbox.build_email(number, start());
        for body in [&email.html, &email.text].into_iter().flatten() {
            assert!(!body.contains("{{") && !body.contains("}}{"), "{body}");
        }
        let template = bodies.entry(email.tags[0].value.clone()).or_default();
        template.insert(email.html.or(email.text));
    }
    assert_eq!(bodies.len(), EmailTemplate::all().len());
    for (letter, bodies) in bodies {
        assert!(bodies.len() > 1 || letter == "empty", "{letter}");
    }
}

#[test]
fn sample_has_missing_bodies_and_several_recipients() {
    let (mailbox, _) = mailbox(1, DEFAULT_EMAILS);
    let emails: Vec<wire::Email> = (0..600)
        .map(|number| mailbox.build_email(number, start()))
        .collect();
    let some = |is_so: fn(&wire::Email) -> bool| emails.iter().any(is_so);
    assert!(some(|email| email.html.is_none() && email.text.is_some()));
    assert!(some(|email| email.html.is_some() && email.text.is_none()));
    assert!(some(|email| email.html.is_none() && email.text.is_none()));
    assert!(some(|email| email.summary.to.as_ref().unwrap().len() > 1));
    assert!(some(|email| email.summary.cc != Some(vec![])));
    assert!(some(|email| email.summary.bcc != Some(vec![])));
    assert!(some(|email| email.summary.reply_to != Some(vec![])));
    assert!(some(|email| email.summary.scheduled_at.is_some()));
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_valid = |text: &str| (1..=256).contains(&text.len()) && text.bytes().all(is_allowed);
    for tag in emails.iter().flat_map(|email| &email.tags) {
        assert!(is_valid(&tag.name) && is_valid(&tag.value), "{tag:?}");
    }
}

#[test]
fn templates_have_distinct_html_structure() {
    // The sequence of a template's tags, without their attributes, is its skeleton.
    let name = |tag: &str| {
        let mut parts = tag.split(|c: char| !c.is_alphanumeric());
        parts.next().unwrap_or("").to_lowercase()
    };
    let skeleton = |html: &str| html.split('<').skip(1).map(name).collect::<Vec<_>>();
    let templates: Vec<(&str, Vec<String>)> = EmailTemplate::all()
        .iter()
        .filter_map(|l| Some((&*l.name, skeleton(&l.html.as_ref()?.0))))
        .collect();
    assert!(templates.len() >= 18, "{}", templates.len());
    for (i, (name, one)) in templates.iter().enumerate() {
        for (other, two) in &templates[i + 1..] {
            let same = one.iter().zip(two).take_while(|(a, b)| a == b).count();
            assert!(
                same * 2 < one.len().max(two.len()),
                "{name} and {other} begin alike"
            );
        }
    }
}

#[test]
fn only_reserved_domains_occur() {
    let (mailbox, _) = mailbox(1, DEFAULT_EMAILS);
    for number in 0..400 {
        let email = mailbox.build_email(number, start());
        let texts = [email.html, email.text, email.summary.from]
            .into_iter()
            .flatten()
            .chain(email.summary.to.into_iter().flatten())
            .chain(email.summary.cc.into_iter().flatten());
        for text in texts {
            for start in ["://", "@"]
                .iter()
                .flat_map(|sign| text.match_indices(sign).map(|(at, sign)| at + sign.len()))
            {
                let host: String = text[start..]
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
                    .collect();
                // Style sheets have @-rules, an iframe of a hostile email has no dot, and document
                // types name their authors.
                let ends = [
                    ".example",
                    ".test",
                    "example.com",
                    "example.org",
                    "example.net",
                ];
                let host = host.trim_end_matches('.');
                let reserved = ends.iter().any(|end| host.ends_with(end));
                let vocabulary = ["www.w3.org", "schema.org"].contains(&host);
                assert!(
                    reserved || vocabulary || !host.contains('.'),
                    "{host} in {}",
                    email.summary.id
                );
            }
        }
    }
}

#[test]
fn retrieved_email_says_why_it_bounced() {
    let (mailbox, _) = mailbox(1, DEFAULT_EMAILS);
    let page = mailbox.page(&Cursor::Start, 100).unwrap();
    let mut bounced = 0;
    for item in page.data {
        let id = EmailId::new(wire::Summary::parse(item.get()).unwrap().id);
        let email = wire::Email::parse(mailbox.email(&id).unwrap().get()).unwrap();
        let summary = Summary::from(&email.summary);
        let is_bounced = summary.status == Status::Bounced;
        assert_eq!(summary.bounce().is_some(), is_bounced, "{id:?}");
        bounced += u32::from(is_bounced);
    }
    assert!(bounced > 0);
}
