//! Tests of single features:
//! index updates, FTS syntax in text, suggestions, rowids.

use super::*;
use crate::mail::EmailId;

fn archive_of(mails: impl IntoIterator<Item = Arc<str>>) -> Archive {
    let archive = memory();
    store_listed(&archive, mails);
    archive
}

#[test]
fn index_follows_every_change() {
    let one = plain_mail("one", "ana@example.com", "Your receipt", "sent");
    let two = plain_mail("two", "bo@example.org", "Reset", "sent");
    let archive = archive_of([Arc::clone(&one), Arc::clone(&two)]);
    assert_eq!(ids(&archive, "status:sent"), "one two");
    let bounced = plain_mail("one", "ana@example.com", "Your receipt", "bounced");
    store_page(&archive, [bounced], at(1_800_000_100));
    assert_eq!(ids(&archive, "status:sent"), "two");
    assert_eq!(ids(&archive, "is:trouble receipt"), "one");
    assert_eq!(ids(&archive, "seen-change:2020"), "one");
    assert_eq!(ids(&archive, "zephyr"), "");
    assert_eq!(ids(&archive, "tag:plan"), "");
    let tags = r#"[{"name":"plan","value":"pro"}]"#;
    store_email(&archive, &with_body(&two, "a zephyrine wind", tags));
    assert_eq!(ids(&archive, "zephyr"), "two");
    assert_eq!(ids(&archive, "tag:plan=pro"), "two");
    assert_eq!(ids(&archive, "has:text"), "two");
    store_email(&archive, &with_body(&two, "no wind", "[]"));
    assert_eq!(ids(&archive, "zephyr"), "");
    assert_eq!(ids(&archive, "body:wind"), "two");
    assert_eq!(ids(&archive, "-tag:plan"), "two");
    let counts = archive.row_counts().unwrap();
    assert_eq!((counts.emails, counts.bodies), (2, 1));
    let gone = plain_mail("gone", "cy@example.net", "Hi", "sent");
    store_listed(&archive, [gone]);
    assert_eq!(ids(&archive, "domain:example.net"), "gone");
    archive
        .write(|tx| tx.execute("DELETE FROM mail WHERE id = ?1", [EmailId::new("gone")]))
        .unwrap();
    assert_eq!(ids(&archive, "domain:example.net or to:example"), "one two");
    assert_eq!(archive.row_counts().unwrap(), counts);
    // In reverse order: both rows move.
    let swapped = [&two, &one].map(|json| ListedEmail::parse(json).unwrap());
    let requested = at(1_800_000_200);
    merge_at(&archive, swapped.into(), PagePosition::Top, requested);
    assert_eq!(ids(&archive, "example"), "two one");
    assert_eq!(ids(&archive, "body:wind"), "two");
    assert_eq!(ids(&archive, "receipt"), "one");
}

#[test]
fn fts_syntax_in_text_is_data() {
    let subject = "a OR b* NEAR(\"c\" d) col:x ^y \\ ' % _ AND NOT";
    let archive = archive_of([plain_mail("one", "ana@example.com", subject, "sent")]);
    let found = |text: &str| {
        let text = SearchText::new(text).unwrap();
        let found = [Term::Word(text.clone()), Term::Text(Field::Subject, text)].map(|term| {
            let (filter, sort) = (Node::Term(term), SortOrder::Newest);
            all_matches(&archive, &Query { filter, sort }).len()
        });
        (found[0], found[1])
    };
    for text in [
        "OR b*",
        "NEAR(\"c\"",
        "col:x",
        "^y",
        "'",
        "%",
        "_",
        "\\",
        "*",
        "\"",
        "\"c\" d",
        "and not",
    ] {
        assert_eq!(found(text), (1, 1), "{text}");
    }
    for text in [
        "OR b%",
        "b*x",
        "NEAR(z",
        "a\u{0}b",
        "\" OR \"",
        "acme* OR receipt",
    ] {
        assert_eq!(found(text), (0, 0), "{text}");
    }
}

#[test]
fn cancelled_search_returns_none() {
    let archive = archive_of([plain_mail("one", "ana@example.com", "Hi", "sent")]);
    let cancel = CancellationToken::default();
    cancel.cancel();
    let query = parsed("ana");
    let found = archive.search(&query, &WindowAnchor::Top, 9, &cancel);
    assert_eq!(found, Ok(None));
    assert_eq!(archive.count_matches(&query, 9, &cancel).unwrap(), None);
    assert!(!archive.for_each_match(&query, &cancel, |_| true).unwrap());
    // After the first row the scan ends, by the progress handler or by the check at its end.
    let cancel = CancellationToken::default();
    let is_complete = archive.for_each_match(&query, &cancel, |_| {
        cancel.cancel();
        true
    });
    assert_eq!(is_complete, Ok(false));
    assert_eq!(all_matches(&archive, &query).len(), 1);
}

#[test]
fn existing_values_are_suggested_with_counts() {
    let archive = archive_of((0..5).map(|n| {
        let to = match n {
            0 | 1 => "Ana <ana@example.com>",
            2 => "ANA@example.com",
            _ => "joana@example.org",
        };
        plain_mail(&format!("m{n}"), to, "Hi", "sent")
    }));
    let bounced = plain_mail("m9", "x@y.test", "Hi", "bounced");
    let tags = r#"[{"name":"Plan","value":"pro max"}]"#;
    store_email(&archive, &with_body(&bounced, "x", tags));
    let known = |source: SuggestionField<'_>, part: &str| {
        let found = archive.suggest(source, part, 3).into_iter();
        let found = found.map(|value| format!("{} {}", value.text, value.emails));
        found.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        known(SuggestionField::Address(Field::To), "ANA@"),
        "ana@example.com 3, joana@example.org 2",
        "one suggestion for two spellings"
    );
    for (field, part, expected) in [
        (
            SuggestionField::Address(Field::From),
            "",
            "hi@acme.example 6",
        ),
        (
            SuggestionField::Domain,
            "ex",
            "example.com 3, example.org 2",
        ),
        (SuggestionField::Status, "", "sent 5, bounced 1"),
        (SuggestionField::TagName, "pl", "Plan 1"),
        (SuggestionField::TagValue("plan"), "", "pro max 1"),
        (SuggestionField::Address(Field::Cc), "ana", ""),
    ] {
        assert_eq!(known(field, part), expected);
    }
}

#[test]
fn emails_of_equal_time_shift_their_rowids() {
    let archive = memory();
    let mail = |n: usize| plain_mail(&format!("m{n:03}"), "ana@example.com", "Hi", "sent");
    let item = |json: Arc<str>| ListedEmail::parse(&json).unwrap();
    for step in [2, 1] {
        let items = (0..200).step_by(step).map(|n| item(mail(n))).collect();
        merge_at(&archive, items, PagePosition::Top, at(1_800_000_000));
    }
    let expected: Vec<String> = (0..200).map(|n| format!("m{n:03}")).collect();
    assert_eq!(ids(&archive, "to:ana"), expected.join(" "));
    assert_eq!(ids(&archive, "id:m101 status:sent"), "m101");
}

/// Stores emails with these bodies in turn;
/// some have this subject, some are only listed.
fn with_bodies(subject: &str, bodies: &[&str]) -> Archive {
    let archive = memory();
    for n in 0..130 {
        let subject = if n % 9 == 0 { subject } else { "Hi" };
        let status = if n % 4 == 0 { "bounced" } else { "sent" };
        let mail = plain_mail(&format!("m{n:03}"), "ana@example.com", subject, status);
        if n % 7 == 0 {
            store_listed(&archive, [mail]);
        } else {
            store_email(&archive, &with_body(&mail, bodies[n % bodies.len()], "[]"));
        }
    }
    archive
}

#[test]
fn body_words_in_index_agree_with_bodies() {
    let archive = with_bodies(
        "Your receipt",
        &[
            "a receipt",
            "two receipts",
            "recently received",
            "the recital",
            "nothing",
            "Q",
            "quay",
            "re",
            "(rece-ipt), a rec-1",
            "x-rece-ipt receipt-1.",
            "rece ipt",
        ],
    );
    let words = [
        "receipt",
        "recei",
        "rece",
        "rec",
        "re",
        "q",
        "qu",
        "recital",
        "receiptx",
        "body:receipts",
        "rece-i",
        "rece-ipt",
        "rec-1",
        "body:receipt-1",
        "ipt),",
    ];
    let others = [
        "",
        "status:bounced",
        "or nothing",
        "-quay",
        "-body:recently",
        "sort:oldest",
        "tag:plan",
        "\"two receipts\"",
        "-\"two receipts\"",
        "-\"the recital\" -nothing",
    ];
    for word in words {
        for other in others {
            assert_found_and_counted(&archive, &format!("{word} {other}"));
            assert_found_and_counted(&archive, &format!("-{word} {other}"));
        }
    }
}

#[test]
fn phrases_in_index_agree_with_bodies() {
    let archive = with_bodies(
        "Re: ord-0312",
        &[
            "order ord-0333 of march 5",
            "ord 03, order 0333",
            "(ord) #0312: 5 orders",
            "ord x 03",
            "ord 1",
            "0333 ord",
            "x-ord-0333333 at 10:45",
            "the order your order 12a",
            "your orders",
            "order of yours 1",
            "年 3 ord 年 33",
            "ord0333",
            "averylongwordofmorethan24letters 12 averylongwordofmorethan24characters 34",
            "averylongwordofmorethan24letters averylongwordofmorethan24characters",
            "12 orders, 1 order, 123 ordinary",
            "注文 ord 注, order 文",
            "the order of your order",
            "of the order your order of",
        ],
    );
    for text in [
        "ord-0",
        "ord-03",
        "ord-033",
        "ord-0333",
        "ord-1",
        "\"ord 12\"",
        "\"order ord 03\"",
        "\"ord 0333 of\"",
        "\"0333 ord\"",
        "10:4",
        "\"march 5\"",
        "\"5 ord\"",
        "\"order 12a\"",
        "\"年 3\"",
        "\"averylongwordofmorethan24letters 1\"",
        "\"averylongwordofmorethan24letters 3\"",
        "\"your order\"",
        "\"your order\" \"order your\"",
        "\"order of\" \"yours 1\" -\"of order\"",
        "your \"the order\" or \"ord x\"",
        "\"ord 𐀀\" or \"ord 03\"",
        "\"averylongwordofmorethan24letters averylongwordofmorethan24c\"",
        "\"averylongwordofmorethan24letters a\"",
        "\"order averylongwordofmorethan24letters\"",
        "\"12 ord\"",
        "\"1 order\"",
        "\"order o\"",
        "注文",
        "\"注文 ord\"",
        "\"ord 注\"",
        "\"order of your\"",
        "\"the order your\"",
        "\"the order of your ord\"",
    ] {
        for other in [
            "",
            "-ord",
            "body:order",
            "or subject:hi",
            "sort:oldest",
            "tag:plan",
        ] {
            assert_found_and_counted(&archive, &format!("{text} {other}"));
            assert_found_and_counted(&archive, &format!("-{text} {other}"));
        }
    }
}

#[test]
fn phrase_does_not_span_text_and_html() {
    let archive = memory();
    let mail = plain_mail("one", "ana@example.com", "Hi", "sent");
    let email = with_body(&mail, "about your", "[]")
        .replace(r#""html":null"#, r#""html":"<p>order shipped</p>""#);
    store_email(&archive, &email);
    for (text, found) in [
        ("\"about your\"", "one"),
        ("\"order shipped\"", "one"),
        ("\"your order\"", ""),
        ("\"shipped about\"", ""),
    ] {
        assert_found_and_counted(&archive, text);
        assert_eq!(ids(&archive, text), found, "{text}");
    }
}

#[test]
fn addresses_beyond_the_interned_ones_are_found() {
    let archive = memory();
    let mail = |n: usize| -> Arc<str> {
        serde_json::json!({"id": format!("m{n:03}"), "subject": format!("For buyer.{n}@example.com"),
            "from": format!("Shop {n} <shop.{n}@example.com>"), "reply_to": [format!("\"desk@office.{n}\" <help.{n}@example.org>")],
            "to": [format!("old.{n}@name.example <buyer.{n}@example.net>"), format!("two@at.{n}@example.net"), "plain"],
            "created_at": "2026-11-02T09:00:00Z"})
        .to_string()
        .into()
    };
    store_listed(&archive, (0..90).map(mail));
    let many: Vec<String> = (0..20)
        .map(|n| format!("unknown.{n}@example.com"))
        .collect();
    let many = many.join(" or ");
    for text in [
        "help.80@example.org",
        "help.8",
        "reply-to:elp.80@example",
        "desk@office.80",
        "shop.80@example.com",
        "old.80@name",
        "\"80@name.example <buy\"",
        "uyer.80@example.net",
        "buyer.80@example.com",
        "at.80@example.net",
        "two@at.80@example.net",
        "recipient:two@at.80@example.net",
        "recipient:buyer.80@example.net",
        "recipient:buyer.80@example.ne",
        "recipient:at.80@example.net",
        "recipient:old.80@name.example",
        "recipient:plain",
        "recipient:help.80@example.org",
    ] {
        for text in [
            text.to_owned(),
            format!("{text} or {many}"),
            format!("-({text}) -({many})"),
        ] {
            assert_found_and_counted(&archive, &text);
        }
    }
    assert_eq!(ids(&archive, "help.80@example.org"), "m080");
    assert_eq!(ids(&archive, "recipient:two@at.80@example.net"), "m080");
    archive.check_integrity(|_| ()).unwrap();
}

#[test]
fn tags_beyond_the_limit_are_not_interned() {
    let archive = memory();
    for part in 0..2 {
        let tags = (0..3_000).map(|n| format!(r#"{{"name":"n{part}.{n}","value":"v"}}"#));
        let tags = format!("[{}]", tags.collect::<Vec<_>>().join(","));
        let mail = plain_mail(&format!("m{part}"), "ana@example.com", "Hi", "sent");
        store_email(&archive, &with_body(&mail, "text", &tags));
    }
    let names = archive
        .connections
        .read(|connection| interned::all_of_kind(connection, interned::TAG));
    assert_eq!(names.unwrap().len(), 4_096);
    assert_eq!(ids(&archive, "tag:n1.2999=v"), "m1");
}

#[test]
fn conditions_without_any_match_are_found() {
    let archive = archive_of([
        plain_mail("m1", "ana@example.com", "Hi", "sent"),
        plain_mail("m2", "bo@example.org", "Ho", "bounced"),
    ]);
    for (text, unmatched) in [
        ("anna hi", ["anna"].as_slice()),
        ("anna hi is:complained", &["anna", "status:complained"]),
        ("anna hi status:bouncd", &["anna"]),
        ("ana ho", &[]),
        ("anna", &[]),
    ] {
        let cancel = CancellationToken::default();
        let found = archive.find_unmatched(&parsed(text), &cancel).unwrap();
        assert_eq!(found.conditions, unmatched, "{text}");
    }
}

#[test]
fn recipients_near_misspelled_one_are_found() {
    let archive = archive_of([
        plain_mail("m1", "Stéphane <s.garcia@example.com>", "Hi", "sent"),
        plain_mail("m2", "stephane.bernard@example.org", "Hi", "sent"),
        plain_mail("m3", "Stephanie <team@example.org>", "Hi", "sent"),
        plain_mail("m4", "max.muller22@example.org", "Hi", "sent"),
    ]);
    let in_body = with_body(
        &plain_mail("m5", "eva@example.org", "Invoice 815", "sent"),
        "Order ORD-004711",
        "[]",
    );
    store_email(&archive, &in_body);
    for (text, nearest) in [
        ("4711", "004711"),
        ("ORD 4711", "004711"),
        ("#4711", "004711"),
        ("body:no.4711", "004711"),
        ("subject:#815", "815"),
        ("subject:00815", "815"),
        ("ORD-4711", "ORD-004711"),
        ("ord-00004711", "ord-004711"),
        ("ORD-0000815", ""),
        ("ORD-000471", ""),
        ("0004711a-4", ""),
        ("99", ""),
        ("4712", ""),
        ("stephann", "stephane stephanie"),
        ("Tsephane", "stephane"),
        ("garcai hi", "garcia"),
        ("to:bernnard", "bernard"),
        ("stephan.bernard", "stephane.bernard"),
        (
            "stephane.bernard@exmaple.org",
            "stephane.bernard@example.org",
        ),
        ("recipient:s.garzia@example.com", "s.garcia@example.com"),
        ("max.mulller22", "max.muller22"),
        ("yesterday", "on:yesterday"),
        ("2025-11-27 hi", "on:2025-11-27"),
        ("27.11.2025", "on:2025-11-27"),
        ("13:18", "on:\"today 13:18\""),
        ("5min", "after:5min"),
        ("mix", ""),
        ("wholly", ""),
        ("subject:garcai", ""),
        ("stephane status:bounced", ""),
        ("Hi, I never got ORD-004711, can you help?", "ORD-004711"),
        (
            "I wait for it since weeks (max.muller22@example.org)",
            "max.muller22@example.org",
        ),
        ("I never got 004711 nor 815", ""),
        ("I never got ORD-9999", ""),
        (
            "never got your parcel via s.garzia@example.com there",
            "s.garcia@example.com",
        ),
    ] {
        let cancel = CancellationToken::default();
        let found = archive.find_unmatched(&parsed(text), &cancel).unwrap();
        assert_eq!(found.nearest.join(" "), nearest, "{text}");
    }
}
