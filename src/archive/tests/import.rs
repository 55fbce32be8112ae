//! Imports: gaps that stay, segments of the index, lines that are no email.

use super::*;

#[test]
fn import_merges_segments_of_index() {
    let archive = memory();
    for numbers in [10..20, 20..30, 30..40] {
        let lines: Vec<String> = numbers
            .map(|number| item(number).json.to_string())
            .collect();
        archive
            .import(lines.join("\n").as_bytes(), at(0), |_| ())
            .unwrap();
        let segments = archive.read(|conn| {
            let sql = "SELECT count(DISTINCT segid) FROM search_idx";
            storage::sql::value::<i64>(conn, sql, [])
        });
        assert_eq!(segments.unwrap(), 1);
    }
}

#[test]
fn imported_email_does_not_end_gap() {
    let archive = memory();
    archive
        .merge_page(&page((10..20).rev(), PagePosition::Top))
        .unwrap();
    archive
        .import(
            &*[item(55).json.as_bytes(), item(52).json.as_bytes()].join(&b'\n'),
            at(0),
            |_| (),
        )
        .unwrap();
    archive
        .merge_page(&page((50..60).rev(), PagePosition::Top))
        .unwrap();
    let coverage = archive.coverage_state().unwrap();
    assert_eq!(coverage.ranges.len(), 2, "a gap remains: {coverage:?}");
    let carried = archive
        .merge_page(&page((15..50).rev(), below(50)))
        .unwrap();
    assert!(carried.extended);
    assert_eq!(archive.coverage_state().unwrap().ranges.len(), 1);
    assert_eq!(
        all(&archive),
        (10..60)
            .rev()
            .map(|number| format!("mail-{number}"))
            .collect::<Vec<_>>()
    );
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
    assert_eq!(
        imported
            .invalid_lines
            .iter()
            .map(|(line, _)| *line)
            .collect::<Vec<_>>(),
        [3, 4, 6, 7]
    );
    assert_eq!(reported, [6]);
    assert_eq!(
        archive.import(lines.as_bytes(), at(0), |_| ()).unwrap().new,
        0
    );
    assert_eq!(
        archive.coverage().unwrap(),
        Coverage::Unknown,
        "an import claims nothing"
    );
}
