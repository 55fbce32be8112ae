//! Imports: gaps that stay, segments of the index, lines that are not emails.

use std::io::{BufReader, Cursor, Read as _, repeat};

use super::*;

#[test]
fn import_merges_segments_of_index() {
    let archive = memory();
    for numbers in [10..20, 20..30, 30..40] {
        import_lines(
            &archive,
            numbers.map(|number| item(number).json.to_string()),
            at(0),
        );
        let segments = archive.read(|conn| {
            let sql = "SELECT count(DISTINCT segid) FROM search_idx";
            conn.value::<i64>(sql, [])
        });
        assert_eq!(segments.unwrap(), 1);
    }
}

#[test]
fn imported_email_does_not_end_gap() {
    let archive = memory();
    merge_numbers(&archive, (10..20).rev(), Top);
    import_lines(&archive, [item(55).json, item(52).json], at(0));
    merge_numbers(&archive, (50..60).rev(), Top);
    let coverage = archive.coverage_state().unwrap();
    assert_eq!(coverage.ranges.len(), 2, "a gap remains: {coverage:?}");
    let carried = merge_numbers(&archive, (15..50).rev(), below(50));
    assert!(carried.extended);
    assert_eq!(archive.coverage_state().unwrap().ranges.len(), 1);
    let expected: Vec<String> = (10..60).rev().map(|n| format!("mail-{n}")).collect();
    assert_eq!(all(&archive), expected);
}

#[test]
fn invalid_lines_are_reported_and_others_imported() {
    let archive = memory();
    let lines = format!(
        "{}\n\n{{\"subject\":\"no id\"}}\nnot json\n{}\n\u{fffd}\n{{\"id\":\"no email\"}}",
        item(1).json,
        item(2).json
    );
    let mut reported = Vec::new();
    let imported = archive
        .import(lines.as_bytes(), at(0), |so_far| {
            reported.push(so_far.lines);
        })
        .unwrap();
    assert_eq!((imported.lines, imported.new, imported.invalid), (6, 2, 4));
    let reasons = imported.invalid_lines.iter();
    let labels: Vec<&str> = reasons.map(|it| it.split_once(':').unwrap().0).collect();
    assert_eq!(labels, ["line 3", "line 4", "line 6", "line 7"]);
    assert_eq!(reported, [6]);
    let again = import_lines(&archive, [&lines], at(0));
    assert_eq!(again.new, 0);
    assert_eq!(
        archive.coverage().unwrap(),
        Coverage::Unknown,
        "an import claims nothing"
    );
}

#[test]
fn documents_are_imported_like_lines() {
    let (one, two) = (item(1).json, item(2).json);
    let value: serde_json::Value = serde_json::from_str(&one).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    for text in [
        format!("{one}\n{two}\n"),
        format!("{{\"object\":\"list\",\"data\":[\n{one},\n{two}\n],\"has_more\":false}}\n"),
        format!("{{\"has_more\":false,\"data\":[{one},{two}],\"object\":\"list\"}}"),
        format!("{{\"meta\":{{\"id\":1}},\"data\":[{one},{two}]}}"),
        format!("{{\n\"meta\":{{\"id\":1}},\"data\":[{one},{two}]}}"),
        format!("[{one},{two}]"),
        format!("[\n{pretty},\n{two}\n]\n"),
        format!("{pretty}\n{two}\n"),
        format!("{{\"data\":[{one}]}}\n{{\"data\":[{two}]}}\n"),
    ] {
        let archive = memory();
        let imported = archive.import(text.as_bytes(), at(0), |_| ()).unwrap();
        assert_eq!((imported.lines, imported.new), (2, 2), "{text}");
        let stored = archive.summary_json(&EmailId::new("mail-1")).unwrap();
        let stored: serde_json::Value = serde_json::from_str(&stored.unwrap()).unwrap();
        assert_eq!(stored, value, "{text}");
    }
}

#[test]
fn cut_document_keeps_what_came_before() {
    let archive = memory();
    let text = format!("[{},{},{{\"id\":\"cut", item(1).json, item(2).json);
    let error = archive.import(text.as_bytes(), at(0), |_| ()).unwrap_err();
    assert!(error.message.contains("not valid JSON"), "{error:?}");
    assert_eq!(archive.query_count().unwrap(), 2);
    let text = format!("[{},{{\"id\":\"no email\"}},7]", item(3).json);
    let imported = archive.import(text.as_bytes(), at(0), |_| ()).unwrap();
    assert_eq!((imported.new, imported.invalid), (1, 2));
    assert!(imported.invalid_lines[0].starts_with("email 2: not an email"));
}

#[test]
fn too_long_line_is_refused_with_its_number() {
    let archive = memory();
    let email = r#"{"id":"a","to":["a@b.example"],"subject":"Hello"}"#;
    let long = repeat(b' ').take((64 << 20) + 1);
    let input = format!("\u{FEFF}{email}\n");
    let input = Cursor::new(input).chain(long).chain("\n{}\n".as_bytes());
    let input = BufReader::new(input);
    let report = archive
        .import(input, Timestamp::UNIX_EPOCH, |_| ())
        .unwrap();
    assert_eq!((report.lines, report.new, report.invalid), (3, 1, 2));
    assert_eq!(report.invalid_lines[0], "line 2: longer than 64 MB");
    assert!(report.invalid_lines[1].starts_with("line 3: "));
}

#[test]
fn too_long_email_in_document_is_refused() {
    let archive = memory();
    let long = repeat(b'x').take(65 << 20);
    let input = Cursor::new("\u{FEFF}[\"").chain(long);
    let input = BufReader::new(input);
    let error = archive
        .import(input, Timestamp::UNIX_EPOCH, |_| ())
        .unwrap_err();
    error
        .message
        .assert_contains("an email is longer than 64 MB");
}

#[test]
fn later_line_of_same_email_adds_its_body() {
    let listed = r#"{"id":"7","to":["a@example.com"],"subject":"Hello","last_event":"sent"}"#;
    let whole = r#"{"id":"7","to":["a@example.com"],"subject":"Hello","last_event":"sent","text":"zebra","tags":[]}"#;
    let archive = memory();
    let report = import_lines(&archive, [listed, whole, listed], at(0));
    assert_eq!((report.lines, report.new), (3, 1));
    let email = archive.email(&EmailId::new("7")).unwrap().unwrap();
    assert_eq!(email.text.as_deref(), Some("zebra"));
}
