//! What each class of query asks of `SQLite`, so that a lost index shows.

use rusqlite::{Connection, params};

use super::plan::{FtsExpr, Plan};
use super::{count, held, interned, keep_up, matcher, scan, slot};
use crate::archive::schema;
use crate::query::{parse, samples};

fn tables() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    schema::create_tables(&mut connection).unwrap();
    connection
        .execute(
            "INSERT INTO interned (id, kind, value) VALUES (7, 'from', 'acme <hi@acme.example>')",
            [],
        )
        .unwrap();
    connection
}

/// What is asked of the index, with the letters that were moved out of its way moved back.
fn plan_text(text: &str) -> String {
    let plan = Plan::from_query(&parse(text, &samples::berlin_context()).query, &tables()).unwrap();
    let asked = match &plan.expr {
        FtsExpr::All => "everything".to_owned(),
        FtsExpr::Nothing => "nothing".to_owned(),
        ask => ask.to_match_text(),
    };
    let back = |c: char| {
        if ('\u{E000}'..='\u{E07F}').contains(&c) {
            char::from_u32(u32::from(c) - 0xE000).unwrap()
        } else {
            c
        }
    };
    let asked: String = asked.chars().map(back).collect();
    let bounds = match (plan.newest_key.0, plan.oldest_key.0) {
        (i64::MAX, i64::MIN) => "",
        (i64::MAX, _) => " since",
        (_, i64::MIN) => " until",
        _ => " between",
    };
    format!(
        "{asked}{bounds}{}",
        if plan.prefilter.is_some() {
            ", costly"
        } else {
            ""
        }
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
        assert_eq!(plan_text(query), expected, "{query}");
    }
    let cheap = Plan::from_query(
        &parse("body:refund status:sent", &samples::berlin_context()).query,
        &tables(),
    )
    .unwrap()
    .prefilter;
    assert_eq!(cheap.unwrap().0.to_match_text(), r#"("pref" AND "ssent")"#);
    let word = plan_text("acme receipt");
    assert!(
        word.starts_with(r#"((("hacm" AND "hcme") OR "l7" OR ("facm" AND "fcme") OR ("uacm" AND "ucme") OR "wacme"* OR"#)
            && word.contains(r#""wreceipt"*"#),
        "{word}"
    );
}

#[test]
fn a_question_without_measure_is_not_asked() {
    let long = "-(a b) or ".repeat(200) + "c";
    assert_eq!(plan_text(&long), "everything");
    let deep = "-(a ".repeat(100) + "receipt";
    assert_eq!(plan_text(&deep), "everything");
    let wide = format!("to:{}", "abcdefghij0123456789".repeat(50));
    assert!(plan_text(&wide).matches(" AND ").count() < 16);
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
            scan::ALL_OLDER,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        ),
        (
            scan::ALL_NEWER,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        ),
        (
            scan::MISSING_OLDER,
            "SEARCH mail USING INDEX mail_missing_upstream (sort_key>? AND sort_key<?)",
        ),
        (
            scan::MISSING_NEWER,
            "SEARCH mail USING INDEX mail_missing_upstream (sort_key>? AND sort_key<?)",
        ),
        (
            scan::INDEXED_OLDER,
            "SCAN search VIRTUAL TABLE INDEX 64:M1><; CORRELATED SCALAR SUBQUERY 1; SEARCH mail USING INDEX mail_by_fts_rowid (fts_rowid=?)",
        ),
        (
            scan::INDEXED_NEWER,
            "SCAN search VIRTUAL TABLE INDEX 192:M1<>; CORRELATED SCALAR SUBQUERY 1; SEARCH mail USING INDEX mail_by_fts_rowid (fts_rowid=?)",
        ),
        (
            scan::OUT_OF_ORDER_OLDER,
            "SEARCH out_of_order USING INTEGER PRIMARY KEY (rowid>?)",
        ),
        (
            scan::OUT_OF_ORDER_NEWER,
            "SEARCH out_of_order USING INTEGER PRIMARY KEY (rowid<?)",
        ),
        (
            held::ROWID_BY_KEY,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            held::MATCHES_OLDER,
            "SCAN search VIRTUAL TABLE INDEX 64:M1>",
        ),
        (
            held::MATCHES_NEWER,
            "SCAN search VIRTUAL TABLE INDEX 192:M1<",
        ),
        (
            matcher::BODY_BY_KEY,
            "SEARCH body USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            interned::FIND_ID,
            "SEARCH interned USING COVERING INDEX sqlite_autoindex_interned_1 (kind=? AND value=?)",
        ),
        (
            interned::ALL_OF_KIND,
            "SEARCH interned USING COVERING INDEX sqlite_autoindex_interned_1 (kind=?)",
        ),
        (
            count::COUNT_MATCHES,
            "CO-ROUTINE (subquery-1); SCAN search VIRTUAL TABLE INDEX 0:M1; SCAN (subquery-1)",
        ),
        (
            slot::ROWID_AT_OR_NEWER,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid<?)",
        ),
        (
            slot::ROWID_AT_OR_OLDER,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid>?)",
        ),
        (
            slot::NEXT_ROWID,
            "SEARCH mail USING COVERING INDEX mail_by_fts_rowid (fts_rowid>?)",
        ),
        (
            slot::ROWIDS_FROM,
            "SEARCH mail USING COVERING INDEX mail_by_fts_rowid (fts_rowid>?)",
        ),
        (
            interned::HAS_ROW_AT,
            "SEARCH interned USING COVERING INDEX sqlite_autoindex_interned_1 (kind=?)",
        ),
        (
            interned::IDS_CONTAINING,
            "SEARCH interned USING COVERING INDEX sqlite_autoindex_interned_1 (kind=?)",
        ),
        (
            slot::HAS_ROWID,
            "SEARCH mail USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            count::COUNT_BETWEEN,
            "CO-ROUTINE (subquery-1); SCAN search VIRTUAL TABLE INDEX 0:M1><; SCAN (subquery-1)",
        ),
        (
            keep_up::DIRTY_KEYS,
            "SEARCH dirty USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        ),
    ] {
        assert_eq!(plan(sql), expected, "{sql}");
    }
    assert!(
        !plan(keep_up::ROW_TO_INDEX).contains("SCAN"),
        "{}",
        plan(keep_up::ROW_TO_INDEX)
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
        let ask = Plan::from_query(&parse(text, &samples::berlin_context()).query, &connection)
            .unwrap()
            .expr;
        let mut statement = connection.prepare(scan::INDEXED_OLDER).unwrap();
        let mut rows = statement
            .query(params![9, 0, 0, 0, ask.to_match_text()])
            .unwrap();
        assert!(rows.next().unwrap().is_none(), "{text}");
    }
}
