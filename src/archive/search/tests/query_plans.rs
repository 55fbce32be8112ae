//! The FTS expression of each class of query, and the query plan of each statement.

use crate::archive::codec::body::BODY_BY_KEY;
use crate::archive::listing::deletions;
use crate::archive::search::fts_expr::FtsExpr;
use crate::archive::search::plan::{Plan, QueryPlanner};
use crate::archive::search::vocabulary::MAX_TOKENS;
use crate::archive::search::{body_lookup, count, index, interned, scan, vocabulary};
use crate::archive::storage::db::{Connection, params};
use crate::archive::tests::query_plans::explain;
use crate::archive::window;
use crate::query::parse;
use crate::query::tests::arbitrary;

fn tables() -> Connection {
    let connection = Connection::in_memory();
    crate::archive::storage::create_tables(&connection).unwrap();
    let query =
        "INSERT INTO interned (id, kind, value) VALUES (7, 'from', 'acme <hi@acme.example>')";
    connection.execute(query, []).unwrap();
    connection
}

/// Plans a query for an index with so many words that starts of words stay.
fn plan(text: &str) -> Plan {
    let query = parse(text, &arbitrary::context()).query;
    let connection = tables();
    let mut planner = QueryPlanner::new(&query, &connection);
    Plan::from_planner(&mut planner, &query).unwrap();
    let words = planner
        .known_starts
        .keys()
        .flat_map(|start| (0..=MAX_TOKENS).map(move |n| format!("{start}{n:02}")));
    let tokens = words.collect::<Vec<_>>().join(" ");
    let insert = "INSERT INTO search (rowid, tokens) VALUES (1, ?1)";
    connection.execute(insert, [tokens]).unwrap();
    Plan::from_query(&query, &connection).unwrap()
}

/// Writes an expression with the encoded characters decoded.
fn decoded(expr: &FtsExpr) -> String {
    let back = |c: char| {
        if ('\u{E000}'..='\u{E07F}').contains(&c) {
            char::from_u32(u32::from(c) - 0xE000).unwrap()
        } else {
            c
        }
    };
    match expr {
        FtsExpr::All => "everything".to_owned(),
        FtsExpr::Nothing => "nothing".to_owned(),
        expr => expr
            .to_match_text(&Connection::in_memory())
            .chars()
            .map(back)
            .collect(),
    }
}

fn plan_text(text: &str) -> String {
    let plan = plan(text);
    let expr = decoded(&plan.expr);
    let bounds = match (plan.newest_key.0, plan.oldest_key.0) {
        (i64::MAX, i64::MIN) => "",
        (i64::MAX, _) => " since",
        (_, i64::MIN) => " until",
        _ => " between",
    };
    let text_if = |is_so: bool, text: &'static str| if is_so { text } else { "" };
    let changes = text_if(plan.changed_since.is_some(), " and changes");
    let costly = text_if(plan.prefilter.is_some(), ", costly");
    format!("{expr}{bounds}{changes}{costly}")
}

#[test]
#[rustfmt::skip] // one query a line
fn each_class_of_query_has_its_expression() {
    for (query, expected) in [
        ("to:ana@", r#"("hana" AND "hna@")"#),
        ("to:ana@acme.example", r#"("hana" AND "hna@" AND "hacm" AND "he.e" AND "hxam")"#),
        ("from:acme", r#"(("facm" AND "fcme") OR "l7")"#),
        ("subject:注文", r#""u注文""#),
        ("subject:hi", r#""uhi"*, costly"#),
        ("body:refund", r#""wrefund"*, costly"#),
        ("body:\"your ref\"", r#""qyour ref"*, costly"#),
        ("body:\"hi your ref\"", r#"("qyour ref"* AND "qhi your"), costly"#),
        ("body:注文の", r#"("w注文" AND "w文の")"#),
        ("body:a", r#""wa"*, costly"#),
        ("body::", "nothing"),
        ("status:bounced,failed", r#"("sbounced" OR "sfailed")"#),
        ("-status:sent", r#"("xany" NOT "ssent")"#),
        ("to:ana -status:sent -has:cc", r#"("hana" NOT ("ssent" OR "xcc"))"#),
        ("tag:plan=pro", "\"vplan\0pro\""),
        ("-tag:plan", r#"("xfetched" NOT "tplan")"#),
        ("-body:refund", r#"("xfetched" NOT "wrefund"*), costly"#),
        ("-refund", r#"("xany" NOT ("arefund"* OR "drefund"* OR "mrefund"* OR "wrefund"*)), costly"#),
        ("-\"your refund\"", r#"("xany" NOT ("oyour refund"* OR "qyour refund"*)), costly"#),
        ("-\"all your refund\"", r#"("xany" NOT "oall your refund"*), costly"#),
        ("-subject:refund", r#"("xany" NOT "mrefund"*), costly"#),
        ("-subject:#48", "everything"),
        ("cc:ana", r#"("xcc" AND "hana")"#),
        ("recipient:ana@example.com", r#""rana@example.com""#),
        ("to:maria@acme.example", r#"("hari" AND "hia@" AND "hmar" AND "hria" AND "hacm" AND "he.e" AND "hxam")"#),
        ("domain:acme.example or is:scheduled", r#"("dacme.example" OR "sscheduled")"#),
        ("id:0f9c", r#""i0f9c"*"#),
        ("seen-change:1d", "nothing and changes"),
        ("after:7d or seen-change:1d", "everything since and changes"),
        ("seen-change:1d status:sent", "nothing and changes"),
        ("-seen-change:1d", "everything"),
        ("after:7d status:sent", r#""ssent" since"#),
        ("on:2026-11-02", "everything between"),
        ("-after:2026", "everything until"),
        ("after:7d or before:2020 or to:bob", "everything"),
    ] {
        assert_eq!(plan_text(query), expected, "{query}");
    }
    let cheap = plan("body:refund status:sent").prefilter;
    assert_eq!(cheap.unwrap().expr.to_match_text(&Connection::in_memory()), r#"("pref" AND "ssent")"#);
    let word = plan_text("acme receipt");
    assert!(
        word.starts_with(r#"((("hacm" AND "hcme") OR ("facm" AND "fcme") OR "l7" OR ("uacm" AND "ucme") OR "wacme"* OR"#)
            && word.contains(r#""wreceipt"*"#),
        "{word}"
    );
}

#[test]
#[rustfmt::skip] // one query a line
fn plan_has_expected_certain_and_possible_matches() {
    for (query, certain, possible) in [
        ("status:sent domain:acme.example", r#"("ssent" AND "dacme.example")"#, "nothing"),
        ("recipient:ana@example.com", r#""rana@example.com""#, "nothing"),
        ("body:refund", r#""wrefund"*"#, "nothing"),
        ("-body:refund", r#"("xfetched" NOT "wrefund"*)"#, "nothing"),
        ("subject:ref", r#""uref""#, "nothing"),
        ("subject:re status:sent", "nothing", r#""ssent""#),
        ("is:scheduled", r#""sscheduled""#, "nothing"),
        ("subject:#48", "nothing", r#""u#48""#),
        ("subject:refund", r#""mrefund"*"#, r#"("uefu" AND "ufun" AND "uref" AND "uund")"#),
        ("-subject:refund", r#"("xany" NOT ("uefu" AND "ufun" AND "uref" AND "uund"))"#, r#"(("uefu" AND "ufun" AND "uref" AND "uund") NOT "mrefund"*)"#),
        ("subject:\"all your\"", r#""oall your"*"#, r#"("uall" AND "ull " AND "ul y" AND "uour" AND "uyou" AND "u yo")"#),
        ("subject:ref4", "nothing", r#"("uef4" AND "uref")"#),
        ("to:ana", r#"(("aana"* OR "dana"*) NOT ("xcc" OR "xbcc"))"#, r#""hana""#),
        ("to:an", "nothing", r#""han"*"#),
        ("to:ana@", "nothing", r#"("hana" AND "hna@")"#),
        ("to:ana@ex", r#"("rana@ex"* NOT ("xcc" OR "xbcc"))"#, r#"("hana" AND "hna@" AND "h@ex")"#),
        ("cc:ana", "nothing", r#"("xcc" AND "hana")"#),
        ("body:\"your refund\"", r#""qyour refund"*"#, "nothing"),
        ("-body:\"your refund\"", r#"("xfetched" NOT "qyour refund"*)"#, "nothing"),
        ("-body:\"all your refund\"", r#"("xfetched" NOT ("qyour refund"* AND "qall your"))"#, r#"("xfetched" AND ("qyour refund"* AND "qall your"))"#),
        ("body:ORD-00", r#""qord 00""#, "nothing"),
        ("-body:ORD-00", r#"("xfetched" NOT "qord 00")"#, "nothing"),
        ("body:ORD-003", r#""cord-003"*"#, r#"("qord 00" AND "p003")"#),
        ("-body:ORD-003", r#"("xfetched" NOT ("qord 00" AND "p003"))"#, r#"("xfetched" AND (("qord 00" AND "p003") NOT "cord-003"*))"#),
        ("body:\"the ord-00\"", "nothing", r#"("qord 00" AND "qthe ord")"#),
        ("body:\"the 5 ord\"", "nothing", r#"("qthe 5" AND "q5 ord"*)"#),
        ("body:注文-00", "nothing", r#"("q文 00" AND "w注文")"#),
        ("body:refund after:7d", "nothing", r#""wrefund"*"#),
        ("any:maria@acme", r#""rairam@acme"*"#, r#"(("hari" AND "hia@" AND "hmar" AND "hria" AND "hacm" AND "hcme" AND "h@ac") OR ("fari" AND "fia@" AND "fmar" AND "fria" AND "facm" AND "fcme" AND "f@ac"))"#),
    ] {
        let plan = plan(query);
        assert_eq!((decoded(&plan.certain), decoded(&plan.possible)), (certain.to_owned(), possible.to_owned()), "{query}");
    }
}

#[test]
fn huge_query_has_a_bounded_expression() {
    let texts = (0..8000).map(|n| format!("-\"a long text {n}\" or "));
    let long = texts.collect::<String>() + "c";
    assert_eq!(plan_text(&long), "everything");
    let deep = "-(\"a long text\" ".repeat(100) + "receipt";
    assert_eq!(plan_text(&deep), "everything");
    let wide = format!("to:{}", "abcdefghij0123456789".repeat(50));
    assert!(plan_text(&wide).matches(" AND ").count() < 16);
}

#[test]
fn large_or_is_widened_alone() {
    let any = |count: usize, term: fn(usize) -> String| {
        let terms: Vec<String> = (0..count).map(term).collect();
        format!("({}) status:complained", terms.join(" or "))
    };
    for (text, has_alternatives) in [
        (any(40, |n| format!("w{n}xyz")), true),
        (any(400, |n| format!("customer.{n}@example.com")), true),
        (any(400, |n| format!("recipient:c{n}@example.com")), true),
        (any(5000, |n| format!("customer.{n}@example.com")), false),
    ] {
        let expr = plan(&text).expr.widen(3000);
        assert!(expr.count_lookups() <= 3001, "{}", expr.count_lookups());
        let text = decoded(&expr);
        assert!(text.contains("\"scomplained\""), "{text}");
        assert_eq!(text.contains(" OR "), has_alternatives, "{text}");
    }
    let words = plan(&any(3400, |n| format!("word{n}xyz"))).expr;
    assert!(words.count_lookups() > 10 * 3400, "each is looked up");
    // One look-up finds each address among the recipients, and one in bodies.
    let addresses = plan(&any(400, |n| format!("customer.{n}@example.com"))).certain;
    assert_eq!(addresses.count_lookups(), 801);
}

#[test]
#[rustfmt::skip] // one statement a line
fn every_statement_uses_an_index_without_sorting() {
    let connection = tables();
    let plan = |sql: &str| explain(&connection, sql).join("; ");
    for (sql, expected) in [
        (scan::ALL_ROWS.older, "SEARCH mail USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        (scan::ALL_ROWS.newer, "SEARCH mail USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        (scan::MISSING_ROWS.older, "SEARCH mail USING INDEX mail_missing_upstream (sort_key>? AND sort_key<?)"),
        (scan::MISSING_ROWS.newer, "SEARCH mail USING INDEX mail_missing_upstream (sort_key>? AND sort_key<?)"),
        (scan::INDEXED_ROWS.older, "SCAN search VIRTUAL TABLE INDEX 64:M1><; CORRELATED SCALAR SUBQUERY 1; SEARCH mail USING INDEX mail_by_fts_rowid (fts_rowid=?)"),
        (scan::INDEXED_ROWS.newer, "SCAN search VIRTUAL TABLE INDEX 192:M1<>; CORRELATED SCALAR SUBQUERY 1; SEARCH mail USING INDEX mail_by_fts_rowid (fts_rowid=?)"),
        (scan::OUT_OF_ORDER_ROWS.older, "SEARCH out_of_order USING INTEGER PRIMARY KEY (rowid>?)"),
        (scan::OUT_OF_ORDER_ROWS.newer, "SEARCH out_of_order USING INTEGER PRIMARY KEY (rowid<?)"),
        (scan::CHANGED_ROWS.older, "SEARCH mail USING INDEX mail_status_changes (status_seen_at>?)"),
        (scan::CHANGED_ROWS.newer, "SEARCH mail USING INDEX mail_status_changes (status_seen_at>?)"),
        (body_lookup::ROWIDS_FROM.older, "SCAN search VIRTUAL TABLE INDEX 64:M1>"),
        (body_lookup::ROWIDS_FROM.newer, "SCAN search VIRTUAL TABLE INDEX 192:M1<"),
        (BODY_BY_KEY, "SEARCH body USING INTEGER PRIMARY KEY (rowid=?)"),
        (interned::FIND_ID, "SEARCH interned USING COVERING INDEX sqlite_autoindex_interned_1 (kind=? AND value=?)"),
        (interned::ALL_OF_KIND, "SEARCH interned USING COVERING INDEX sqlite_autoindex_interned_1 (kind=?)"),
        (vocabulary::COUNT_UP_TO, "CO-ROUTINE found; SCAN search VIRTUAL TABLE INDEX 0:M1; SCAN found"),
        (index::ROWID_UP_TO.older, "SEARCH mail USING INTEGER PRIMARY KEY (rowid<?)"),
        (index::ROWID_UP_TO.newer, "SEARCH mail USING INTEGER PRIMARY KEY (rowid>?)"),
        (index::NEXT_ROWID, "SEARCH mail USING COVERING INDEX mail_by_fts_rowid (fts_rowid>?)"),
        (index::KEYS_FROM_ROWID, "SEARCH mail USING COVERING INDEX mail_by_fts_rowid (fts_rowid>?)"),
        (interned::COUNT_OF_KIND, "SEARCH interned USING COVERING INDEX sqlite_autoindex_interned_1 (kind=?)"),
        (interned::IDS_CONTAINING, "SEARCH interned USING COVERING INDEX sqlite_autoindex_interned_1 (kind=?)"),
        (index::ROWID_BY_KEY, "SEARCH mail USING INTEGER PRIMARY KEY (rowid=?)"),
        (count::COUNT_BETWEEN, "CO-ROUTINE found; SCAN search VIRTUAL TABLE INDEX 0:M1><; SCAN found"),
        (count::EMAILS_UP_TO, "CO-ROUTINE found; SEARCH mail USING COVERING INDEX mail_by_fts_rowid (fts_rowid>? AND fts_rowid<?); SCAN found"),
        (index::DIRTY_KEYS, "SEARCH dirty USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        (window::COUNT_NEWER, "SEARCH mail USING COVERING INDEX mail_by_fts_rowid (fts_rowid<?); SCALAR SUBQUERY 1; SEARCH mail USING INTEGER PRIMARY KEY (rowid<?)"),
        (deletions::UNCONFIRMED, "SEARCH mail USING INDEX mail_missing_upstream (sort_key>? AND sort_key<?)"),
    ] {
        assert_eq!(plan(sql), expected, "{sql}");
    }
    let steps = plan(index::ROW_TO_INDEX);
    assert!(!steps.contains("SCAN"), "{steps}");
}

#[test]
fn any_query_is_valid_fts_syntax() {
    let connection = tables();
    for text in [
        "to:\"\\\"",
        "\"* OR\" NEAR(",
        "tag:\"=\"",
        "-\u{301}a^:*",
        "id:'",
        "\"\u{0}\"",
    ] {
        let query = parse(text, &arbitrary::context()).query;
        let expr = Plan::from_query(&query, &connection).unwrap().expr;
        let params = params![9, 0, 0, 0, expr.to_match_text(&Connection::in_memory())];
        let found = connection.optional(scan::INDEXED_ROWS.older, params, |_| Ok(()));
        assert_eq!(found, Ok(None), "{text}");
    }
}
