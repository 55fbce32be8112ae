//! Words of subjects and recipients, of which the index counts some without reading
//! the emails.

use super::*;

fn store(archive: &Archive, emails: impl Iterator<Item = serde_json::Value>) {
    let emails = emails.enumerate().map(|(n, mut email)| {
        email["id"] = format!("m{n:03}").into();
        let created = at(1_760_000_000 + i64::try_from(n).unwrap());
        email["created_at"] = created.to_string().into();
        email.to_string().into()
    });
    store_listed(archive, emails);
}

#[test]
fn counts_of_headers_agree_with_reference() {
    let archive = memory();
    // More reply-to addresses than are interned: their trigrams are as those of recipients.
    let others = (0..80).map(|n| serde_json::json!({"reply_to": [format!("ethan.{n}@yahoo.example")], "subject": n.to_string()}));
    let subjects = [
        "Your order has shipped",
        "Reorder: your orders",
        "Your  ÓRDER-confirmation 4821",
        "order7 order confirmation7",
        "Bring your order here, your order hastens the next email",
        "Border",
        "ご注文 order",
        "(order)",
    ];
    let recipients = [
        serde_json::json!({"to": ["Ethan Miller <ethan.miller7@yahoo.example>"]}),
        serde_json::json!({"to": ["bo@example.org"], "cc": ["ethan@yahoo.example"]}),
        serde_json::json!({"to": ["Ethan <e@example.org>"], "bcc": ["bo@example.org"]}),
        serde_json::json!({"to": ["bo@mail.yahoo.example"], "reply_to": ["ethan@yahoo.example"]}),
        serde_json::json!({"to": ["bethany@example.org"]}),
        serde_json::json!({"to": ["\"ethan@yahoo\" <bo@example.org>"]}),
        serde_json::json!({"to": ["ethan7 <7ethan@example.org>", "ethan"]}),
        serde_json::json!({"to": ["bo@example.org"], "from": "ethan@yahoo.example"}),
    ];
    let both = recipients.iter().flat_map(|email| {
        subjects.iter().map(|subject| {
            let mut email = email.clone();
            email["subject"] = (*subject).into();
            email
        })
    });
    store(&archive, both.chain(others));
    for text in [
        "order",
        "ord",
        "orders",
        "your order",
        "your order has",
        "your order has shipped and",
        "order confirmation",
        "bring your order here, your",
        "bring your order here your",
        "bring your order here",
        "4821",
        "order7",
        "confirmation7",
        "注文",
        "ethan",
        "eth",
        "et",
        "than",
        "ethan.miller",
        "ethan miller",
        "miller",
        "ethan7",
        "ethan@",
        "ethan@yahoo",
        "@yahoo",
        "yahoo",
        "yahoo.ex",
        "mail.yahoo",
        "ample.org",
        "bo@example.org",
    ] {
        for operator in ["", "subject:", "to:", "cc:", "bcc:", "reply-to:", "from:"] {
            for filter in [
                format!("{operator}\"{text}\""),
                format!("-{operator}\"{text}\""),
                format!("{operator}\"{text}\" (status:sent or subject:order)"),
            ] {
                assert_found_and_counted(&archive, &filter);
            }
        }
    }
}

#[test]
fn long_subject_of_repeated_words_is_found() {
    let archive = memory();
    // Each word was searched to the end of the subject.
    let subjects = ["long ".repeat(40_000), "\u{6f22}\u{5b57}".repeat(20_000)];
    let emails = subjects.map(|subject| serde_json::json!({"subject": subject}));
    store(&archive, emails.into_iter());
    assert_eq!(ids(&archive, "subject:\"long long\""), "m000");
    assert_eq!(ids(&archive, "subject:\u{6f22}\u{5b57}"), "m001");
}
