//! What each class of query asks of `SQLite`, so that a lost index shows.

use rusqlite::{Connection, params};

use super::plan::{Ask, Plan};
use super::{count, held, judge, keep_up, label, slot, walk};
use crate::archive::schema;
use crate::query::{parse, samples};

fn tables() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    schema::create(&mut connection).unwrap();
    connection
        .execute(
            "INSERT INTO label (nth, kind, text) VALUES (7, 'from', 'acme <hi@acme.example>')",
            [],
        )
        .unwrap();
    connection
}

/// What is asked of the index, with the letters that were moved out of its way moved back.
fn asked(text: &str) -> String {
    let plan = Plan::of(&parse(text, &samples::now()).query, &tables()).unwrap();
    let asked = match &plan.ask {
        Ask::All => "everything".to_owned(),
        Ask::Nothing => "nothing".to_owned(),
        ask => ask.text(),
    };
    let back = |c: char| {
        if ('\u{E000}'..='\u{E07F}').contains(&c) {
            char::from_u32(u32::from(c) - 0xE000).unwrap()
        } else {
            c
        }
    };
    let asked: String = asked.chars().map(back).collect();
    let bounds = match (plan.newest.0, plan.oldest.0) {
        (i64::MAX, i64::MIN) => "",
        (i64::MAX, _) => " since",
        (_, i64::MIN) => " until",
        _ => " between",
    };
    format!(
        "{asked}{bounds}{}",
        if plan.first.is_some() { ", costly" } else { "" }
    )
}

#[test]
fn each_class_of_query_asks_the_index_no_more_than_it_must() {
    for (query, expected) in [
        ("to:ana@", r#"("hana" AND "hna@")"#),
        (
            "to:ana@acme.example",
            r#"("hana" AND "hna@" AND "hacm" AND "he.e" AND "hxam")"#,
        ),
        ("from:acme", r#"("l7" OR ("facm" AND "fcme"))"#),
        ("subject:注文", r#""u注文""#),
        ("subject:hi", r#""uhi"*, costly"#),
        ("body:refund", r#""wrefund"*, costly"#),
        ("body:\"your ref\"", r#"("wyour" AND "pref")"#),
        (
            "body:注文の",
            r#"("w注文" AND "w文の" AND "w注" AND "w文" AND "wの")"#,
        ),
        ("body:a", r#""wa"*, costly"#),
        ("body::", "nothing"),
        ("status:bounced,failed", r#"("sbounced" OR "sfailed")"#),
        ("-status:sent", r#"("xany" NOT "ssent")"#),
        (
            "to:ana -status:sent -has:cc",
            r#"("hana" NOT ("ssent" OR "xcc"))"#,
        ),
        ("tag:plan=pro", "\"vplan\0pro\""),
        ("-tag:plan", r#"("xfetched" NOT "tplan")"#),
        ("-body:refund", r#""xfetched""#),
        ("-refund", "everything"),
        (
            "domain:acme.example or is:scheduled",
            r#"("dacme.example" OR "sscheduled")"#,
        ),
        ("id:0f9c", r#""i0f9c"*"#),
        ("seen-change:1d", r#""xchanged""#),
        ("after:7d status:sent", r#""ssent" since"#),
        ("on:2026-11-02", "everything between"),
        ("-after:2026", "everything until"),
        ("after:7d or before:2020 or to:bob", "everything"),
    ] {
        assert_eq!(asked(query), expected, "{query}");
    }
    let cheap = Plan::of(
        &parse("body:refund status:sent", &samples::now()).query,
        &tables(),
    )
    .unwrap()
    .first;
    assert_eq!(cheap.unwrap().0.text(), r#"("pref" AND "ssent")"#);
    let word = asked("acme receipt");
    assert!(
        word.starts_with(r#"((("hacm" AND "hcme") OR "l7" OR ("facm" AND "fcme") OR ("uacm" AND "ucme") OR "wacme"* OR"#)
            && word.contains(r#""wreceipt"*"#),
        "{word}"
    );
}

#[test]
fn a_question_without_measure_is_not_asked() {
    let long = "-(a b) or ".repeat(200) + "c";
    assert_eq!(asked(&long), "everything");
    let deep = "-(a ".repeat(100) + "receipt";
    assert_eq!(asked(&deep), "everything");
    let wide = format!("to:{}", "abcdefghij0123456789".repeat(50));
    assert!(asked(&wide).matches(" AND ").count() < 16);
}

#[test]
fn every_question_walks_an_index_and_sorts_nothing() {
    let connection = tables();
    let plan = |sql: &str| -> String {
        let mut statement = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let steps = statement
            .query_map(
                rusqlite::params_from_iter(vec!["1"; parameters(sql)]),
                |row| row.get::<_, String>(3),
            )
            .unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    for (sql, expected) in [
        (
            walk::ROWS_DOWN,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        ),
        (
            walk::ROWS_UP,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        ),
        (
            walk::GONE_DOWN,
            "SEARCH mail USING INDEX mail_gone (place>? AND place<?)",
        ),
        (
            walk::GONE_UP,
            "SEARCH mail USING INDEX mail_gone (place>? AND place<?)",
        ),
        (
            walk::FOUND_DOWN,
            "SCAN search VIRTUAL TABLE INDEX 64:M1><; CORRELATED SCALAR SUBQUERY 1; SEARCH mail USING INDEX mail_slots (slot=?)",
        ),
        (
            walk::FOUND_UP,
            "SCAN search VIRTUAL TABLE INDEX 192:M1<>; CORRELATED SCALAR SUBQUERY 1; SEARCH mail USING INDEX mail_slots (slot=?)",
        ),
        (
            walk::DISPLACED_DOWN,
            "SEARCH displaced USING INTEGER PRIMARY KEY (rowid>?)",
        ),
        (
            walk::DISPLACED_UP,
            "SEARCH displaced USING INTEGER PRIMARY KEY (rowid<?)",
        ),
        (
            held::SLOT,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        (held::HOLD_DOWN, "SCAN search VIRTUAL TABLE INDEX 64:M1>"),
        (held::HOLD_UP, "SCAN search VIRTUAL TABLE INDEX 192:M1<"),
        (
            judge::BODY,
            "SEARCH body USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            label::KNOWN,
            "SEARCH label USING COVERING INDEX sqlite_autoindex_label_1 (kind=? AND text=?)",
        ),
        (
            label::OF_KIND,
            "SEARCH label USING COVERING INDEX sqlite_autoindex_label_1 (kind=?)",
        ),
        (
            count::TOKENS,
            "CO-ROUTINE (subquery-1); SCAN search VIRTUAL TABLE INDEX 0:M1; SCAN (subquery-1)",
        ),
        (
            slot::FLOOR,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid<?)",
        ),
        (
            slot::CEILING,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid>?)",
        ),
        (
            slot::NEXT,
            "SEARCH mail USING COVERING INDEX mail_slots (slot>?)",
        ),
        (
            slot::FROM,
            "SEARCH mail USING COVERING INDEX mail_slots (slot>?)",
        ),
        (
            label::NTH,
            "SEARCH label USING COVERING INDEX sqlite_autoindex_label_1 (kind=?)",
        ),
        (
            label::HOLDING,
            "SEARCH label USING COVERING INDEX sqlite_autoindex_label_1 (kind=?)",
        ),
        (
            slot::GIVEN,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            count::PAST,
            "CO-ROUTINE (subquery-1); SCAN search VIRTUAL TABLE INDEX 0:M1><; SCAN (subquery-1)",
        ),
        (
            keep_up::STALE,
            "SEARCH stale USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        ),
    ] {
        assert_eq!(plan(sql), expected, "{sql}");
    }
    assert!(
        !plan(keep_up::ROW).contains("SCAN"),
        "{}",
        plan(keep_up::ROW)
    );
}

fn parameters(sql: &str) -> usize {
    (1..10)
        .take_while(|number| sql.contains(&format!("?{number}")))
        .count()
}

#[test]
fn the_index_takes_whatever_is_asked() {
    let connection = tables();
    for text in [
        "to:\"\\\"",
        "\"* OR\" NEAR(",
        "tag:\"=\"",
        "-\u{301}a^:*",
        "id:'",
        "\"\u{0}\"",
    ] {
        let ask = Plan::of(&parse(text, &samples::now()).query, &connection)
            .unwrap()
            .ask;
        let mut statement = connection.prepare(walk::FOUND_DOWN).unwrap();
        let mut rows = statement.query(params![9, 0, 0, 0, ask.text()]).unwrap();
        assert!(rows.next().unwrap().is_none(), "{text}");
    }
}
