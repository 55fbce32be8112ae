//! Index search against the reference evaluator, over small random mailboxes and
//! queries.

mod features;
mod headers;
mod query_plans;
mod times;

use std::sync::Arc;

use jiff::Timestamp;
use proptest::prelude::*;

use super::plan::Plan;
use super::*;
use crate::api::ListedEmail;
use crate::archive::tests::{anchor_and_part, cases, memory, merge_at, put_email};
use crate::archive::{Archive, EmailRow, PagePosition, RowWindow, WindowAnchor};
use crate::mail::{Address, Tag};
use crate::query::tests::arbitrary::{self, ArbitraryEmail};
use crate::query::{
    BodyTexts, EmailDocument, Field, Node, Query, SearchText, SortOrder, SuggestionField,
    SuggestionSource as _, Term, matches,
};
use crate::render;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Writes an email's JSON as in a list, or as the retrieve operation returns it.
fn json(sample: &ArbitraryEmail, event: &str, whole: bool) -> Arc<str> {
    let mail = &sample.summary;
    let list = |list: &[Address]| -> Vec<String> { list.iter().map(ToString::to_string).collect() };
    let mut json = serde_json::json!({
        "id": mail.id.as_str(), "to": list(&mail.to), "cc": list(&mail.cc), "bcc": list(&mail.bcc), "reply_to": list(&mail.reply_to),
        "from": mail.from.to_string(), "subject": &*mail.subject, "message_id": &*mail.message_id, "created_at": &*mail.created.raw,
        "last_event": event,
    });
    if !sample.reason.is_empty() && (whole || sample.lists_reason) {
        json["bounce"] = serde_json::json!({"message": sample.reason, "type": "Permanent"});
    }
    if whole {
        let tag = |tag: &Tag| serde_json::json!({"name": &*tag.name, "value": &*tag.value});
        json["tags"] = sample.tags.iter().map(tag).collect();
        json["object"] = "email".into();
        json["text"] = sample.text.clone().into();
        json["html"] = sample.html.clone().into();
    }
    json.to_string().into()
}

fn store_page(archive: &Archive, items: impl IntoIterator<Item = Arc<str>>, requested: Timestamp) {
    let item = |json: Arc<str>| ListedEmail::parse(&json).unwrap();
    let items = items.into_iter().map(item).collect();
    merge_at(archive, items, PagePosition::Unknown, requested);
}

/// Stores emails of a page that was requested before the others.
fn store_listed(archive: &Archive, items: impl IntoIterator<Item = Arc<str>>) {
    store_page(archive, items, at(1_800_000_000));
}

fn store_email(archive: &Archive, json: &str) {
    put_email(archive, json, at(1_900_000_000));
}

/// Builds an archive in which some statuses changed and some emails were retrieved.
fn build_archive(mails: &[(ArbitraryEmail, bool)]) -> Archive {
    let archive = memory();
    let event = |sample: &ArbitraryEmail| sample.summary.status.label().to_owned();
    for (sample, whole) in mails {
        if let Some(seen) = sample.seen_change {
            let before = json(sample, "before", false);
            store_page(&archive, [before], at(1_700_000_000));
            store_page(&archive, [json(sample, &event(sample), false)], seen);
        }
        if *whole {
            store_email(&archive, &json(sample, &event(sample), true));
        }
    }
    let mails = mails.iter().map(|(sample, _)| sample);
    let listed = mails
        .clone()
        .map(|sample| json(sample, &event(sample), false));
    store_page(&archive, listed, at(1_900_000_000));
    for sample in mails.filter(|sample| sample.gone) {
        let requested = at(1_950_000_000).into();
        archive.mark_missing(&sample.summary.id, requested).unwrap();
    }
    archive
}

fn all(archive: &Archive) -> Vec<EmailRow> {
    archive.window(&WindowAnchor::Top, usize::MAX).unwrap().rows
}

/// Filters all rows by the reference evaluator, in the order of the query.
fn filter_naively(archive: &Archive, query: &Query) -> Vec<EmailRow> {
    let is_found = |row: &EmailRow| {
        let email = archive.email(&row.summary.id).unwrap();
        let bodies = email.as_ref().map(|email| BodyTexts {
            text: email.text.as_deref(),
            html: email.html.as_deref(),
            extract_text: render::extract_text,
        });
        let seen_change = row.last_change.as_ref().map(|observation| observation.seen);
        let tags = email.as_ref().map(|email| &*email.tags);
        let retrieved = email.as_ref().map(|email| email.summary.bounce());
        let reason = match (row.summary.bounce(), retrieved) {
            (Some(bounce), _) | (None, Some(Some(bounce))) => Some(bounce.searched_text()),
            (None, Some(None)) => Some(String::new()),
            (None, None) => None,
        };
        matches(
            query,
            &EmailDocument {
                summary: &row.summary,
                bodies,
                tags,
                reason: reason.as_deref(),
                seen_change,
                is_missing_upstream: row.missing_since.is_some(),
            },
        ) == Some(true)
    };
    let mut rows: Vec<EmailRow> = all(archive).into_iter().filter(is_found).collect();
    if query.sort == SortOrder::Oldest {
        rows.reverse();
    }
    rows
}

fn search_window(
    archive: &Archive,
    query: &Query,
    anchor: &WindowAnchor,
    rows: usize,
) -> RowWindow {
    archive
        .search(query, anchor, rows, &CancellationToken::default())
        .unwrap()
        .expect("it is not cancelled")
}

fn all_matches(archive: &Archive, query: &Query) -> Vec<EmailRow> {
    search_window(archive, query, &WindowAnchor::Top, usize::MAX).rows
}

fn count(archive: &Archive, query: &Query, most: u64) -> MatchCount {
    archive
        .count_matches(query, most, &CancellationToken::default())
        .unwrap()
        .expect("it is not cancelled")
}

/// Checks the matches and their count against the reference evaluator.
fn assert_found_and_counted(archive: &Archive, text: &str) {
    let query = parsed(text);
    let found = all_matches(archive, &query);
    let plain = filter_naively(archive, &query);
    assert_eq!(found, plain, "{text}");
    let matches = u64::try_from(plain.len()).unwrap();
    for most in [matches / 2, matches.saturating_sub(1), matches, u64::MAX] {
        let expected = if most < matches {
            MatchCount::MoreThan(most)
        } else {
            MatchCount::Exactly(matches)
        };
        assert_eq!(count(archive, &query, most), expected, "{text}");
    }
}

/// Returns the rowids that the index finds with at most `max` look-ups.
fn candidates(archive: &Archive, query: &Query, max: usize) -> BTreeSet<i64> {
    let rowids = archive.connections.read(|connection| {
        let expr = Plan::from_query(query, connection)?.expr.widen(max);
        let sql = "SELECT rowid FROM search WHERE search MATCH ?1";
        let text = expr.to_match_text(connection);
        connection.values(sql, [text])
    });
    rowids.unwrap().into_iter().collect()
}

fn parsed(text: &str) -> Query {
    crate::query::parse(text, &arbitrary::context()).query
}

fn ids(archive: &Archive, text: &str) -> String {
    let rows = all_matches(archive, &parsed(text));
    let ids: Vec<&str> = rows.iter().map(|row| row.summary.id.as_str()).collect();
    ids.join(" ")
}

/// Returns terms of few letters and parts of words, rare in [`arbitrary::term`].
fn part() -> impl Strategy<Value = Term> {
    let parts = [
        "a",
        "lo",
        "@ex",
        "文",
        "注文",
        "の確認",
        "4821",
        "RECEI",
        "eceipt",
        "p",
        "r a",
        "<",
        "ご",
        "your r",
        "é",
        "receipt, an",
        "x",
        "ana.lopez@example.com",
        "lopez@example.c",
        "lopez@",
        "boss@ab.cd",
        "<ana.lopez@example.org>",
        "@lopez@example.com",
        "x@lopez@example.com",
        "your-rec",
        "注文-4",
        "lopez@example.com)",
        "full; 552",
        "box",
        "permanent",
        "lopez",
        "boss",
        "example",
        "example.c",
        "receipt",
        "your receipt",
        "ana l",
    ];
    let text = prop_oneof![
        prop::sample::select(parts.to_vec()).prop_map(str::to_owned),
        "[0-9a-f]{1,3}"
    ];
    let fields = [
        Field::To,
        Field::From,
        Field::Any,
        Field::Subject,
        Field::Body,
        Field::Reason,
        Field::Id,
        Field::MessageId,
        Field::ReplyTo,
        // It becomes the term of a whole recipient.
        Field::Cc,
    ];
    let field = prop::option::weighted(0.6, prop::sample::select(fields.to_vec()));
    (field, text).prop_map(|(field, text)| {
        let text = SearchText::new(&text).expect("it has letters");
        match field {
            Some(Field::Cc) => Term::Recipient(text),
            Some(field) => Term::Text(field, text),
            None => Term::Word(text),
        }
    })
}

/// Returns hundreds of alternatives, of which few match anything.
fn large_or() -> impl Strategy<Value = Node> {
    let unknown = |number: usize| match number % 4 {
        0 => format!("customer{number}@example.com"),
        1 => format!("ORD-{number}"),
        2 => format!("recipient:name.{number}@example.org"),
        _ => format!("to:{number}@ab.cd"),
    };
    let unknown = (0..2000_usize).prop_map(move |number| parsed(&unknown(number)).filter);
    let member = prop_oneof![60 => unknown, 1 => part().prop_map(Node::Term)];
    prop::collection::vec(member, 250..450).prop_map(Node::any)
}

fn query() -> impl Strategy<Value = Query> {
    let filter = arbitrary::node(prop_oneof![arbitrary::term(), part()]);
    let sort = prop::sample::select(SortOrder::ALL.to_vec());
    (filter, sort).prop_map(|(filter, sort)| Query { filter, sort })
}

fn mailbox() -> impl Strategy<Value = Vec<(ArbitraryEmail, bool)>> {
    prop::collection::vec((arbitrary::mail(), any::<bool>()), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(48), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn search_agrees_with_reference_evaluator(mails in mailbox(), queries in prop::collection::vec(query(), 30)) {
        let archive = build_archive(&mails);
        for query in &queries {
            let expected = filter_naively(&archive, query);
            prop_assert_eq!(all_matches(&archive, query), expected.clone(), "{}", query);
            for most in [5, u64::MAX] {
                let count = count(&archive, query, most);
                let exact = if expected.len() as u64 > most { MatchCount::MoreThan(most) } else { MatchCount::Exactly(expected.len() as u64) };
                prop_assert!(count == exact || query.is_match_all(), "{}: {:?}", query, count);
            }
        }
    }

    #[test]
    fn window_is_a_part_of_all_matches(
        mails in mailbox(),
        query in query(),
        anchors in prop::collection::vec((0..4_usize, any::<prop::sample::Index>(), 0..6_usize, 1..8_usize), 6),
    ) {
        let archive = build_archive(&mails);
        let (rows, list) = (all(&archive), filter_naively(&archive, &query));
        for (kind, index, lead, size) in anchors {
            let Some(key) = (!rows.is_empty()).then(|| rows[index.index(rows.len())].sort_key) else { continue };
            let oldest = query.sort == SortOrder::Oldest;
            let is_above = |row: &EmailRow| if oldest { row.sort_key < key } else { row.sort_key > key };
            let at = key.micros();
            let is_past = |row: &EmailRow| if oldest { row.sort_key.micros() < at } else { row.sort_key.micros() > at };
            let is_before = |row: &&EmailRow| if kind == 3 { is_past(row) } else { is_above(row) };
            let before = list.iter().filter(is_before).count();
            let (anchor, part) = anchor_and_part(kind, key, (before, lead), size, list.len());
            let window = search_window(&archive, &query, &anchor, size);
            prop_assert_eq!(&window.rows[..], &list[part.clone()], "{:?} of {}", anchor, query);
            if !part.is_empty() {
                prop_assert_eq!((window.more_above, window.more_below), (part.start > 0, part.end < list.len()), "{:?} of {}", anchor, query);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(6), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn large_or_agrees_with_reference_evaluator(mails in mailbox(), large in large_or(), other in query()) {
        let archive = build_archive(&mails);
        let is_other = other.filter;
        let filters = [
            large.clone(),
            large.clone().negated(),
            Node::all([large.clone(), is_other.clone()]),
            Node::all([large.clone().negated(), is_other.clone()]),
            Node::any([large, is_other.negated()]),
        ];
        for filter in filters {
            let query = Query { filter, sort: SortOrder::Newest };
            let expected = filter_naively(&archive, &query);
            prop_assert_eq!(all_matches(&archive, &query), expected.clone(), "{}", query);
            let exact = MatchCount::Exactly(expected.len() as u64);
            prop_assert!(count(&archive, &query, u64::MAX) == exact || query.is_match_all(), "{}", query);
            let found = candidates(&archive, &query, usize::MAX);
            for max in [1, 30, 1000] {
                prop_assert!(candidates(&archive, &query, max).is_superset(&found), "{} {}", max, query);
            }
        }
    }
}

fn plain_mail(id: &str, to: &str, subject: &str, event: &str) -> Arc<str> {
    serde_json::json!({"id": id, "to": [to], "from": "Acme <hi@acme.example>", "subject": subject, "last_event": event,
        "created_at": "2026-11-02T09:00:00Z"})
    .to_string()
    .into()
}

fn with_body(mail: &str, text: &str, tags: &str) -> Arc<str> {
    format!(
        r#"{},"text":"{text}","html":null,"tags":{tags}}}"#,
        mail.trim_end_matches('}')
    )
    .into()
}
