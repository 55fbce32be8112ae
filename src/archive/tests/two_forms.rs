//! An email in the list and as it is retrieved: each form may have what the other one lacks.

use super::*;

fn json(members: &str) -> String {
    let created = at(1);
    format!(
        r#"{{"id":"a","to":["a@example.com"],"created_at":"{created}","subject":"Hi","last_event":"scheduled",{members}}}"#
    )
}

fn list(archive: &Archive, members: &str, second: i64) {
    let item = ListedEmail::parse(&json(members)).unwrap();
    merge(archive, vec![item], Top, second);
}

fn retrieve(archive: &Archive, members: &str, second: i64) {
    let body = format!(r#"{members},"text":"hello""#);
    put_email(archive, &json(&body), at(second));
}

#[test]
fn due_time_is_that_of_latest_answer() {
    let archive = memory();
    let due = |hour: u32| format!(r#""scheduled_at":"2027-01-01T{hour}:00:00Z""#);
    // The time in the row, and in the email as it was retrieved.
    let times = || {
        let email = archive.email(&EmailId::new("a")).unwrap();
        let row = row(&archive, "a");
        [Some(row.summary), email.map(|email| email.summary)]
            .map(|summary| Some(summary?.scheduled?.raw[11..13].to_owned()))
    };
    let hours = |hours: [&str; 2]| hours.map(|hour| Some(hour.to_owned()));
    list(&archive, &due(10), 10);
    retrieve(&archive, &due(18), 20);
    assert_eq!(times(), hours(["18", "18"]));
    list(&archive, &due(10), 15);
    assert_eq!(times(), hours(["18", "18"]), "an older answer");
    list(&archive, &due(20), 30);
    assert_eq!(times(), hours(["20", "20"]));
    let none = r#""scheduled_at":null"#;
    retrieve(&archive, none, 40);
    assert_eq!(times(), hours(["20", "20"]), "a null says nothing");
    list(&archive, none, 50);
    assert_eq!(times(), hours(["20", "20"]), "nor in the list");
}

#[test]
fn addresses_of_either_form_are_found() {
    let cc = r#""cc":["cc@example.org"],"reply_to":["re@example.org"]"#;
    let none = r#""cc":null,"reply_to":[]"#;
    let (text, from_file) = (r#""text":"hello""#, true);
    for (listed, retrieved, from_file) in [
        (none, cc, !from_file),
        (cc, none, !from_file),
        (none, cc, from_file),
    ] {
        let archive = memory();
        list(&archive, listed, 10);
        if from_file {
            import_lines(&archive, [json(&format!("{retrieved},{text}"))], at(20));
        } else {
            retrieve(&archive, retrieved, 20);
        }
        list(&archive, listed, 30);
        for text in ["cc:cc@", "reply-to:re@", "recipient:cc@example.org"] {
            let query = parse(text, &ParseContext::new(at(30), TimeZone::UTC)).query;
            assert_eq!(search(&archive, &query, 9), ["a"], "{text}");
        }
        let email = archive.email(&EmailId::new("a")).unwrap().unwrap();
        assert_eq!(email.summary.cc.len(), 1);
        assert_eq!(email.summary.reply_to.len(), 1);
        let target = PurgeTarget::To("cc@example.org".to_owned());
        assert_eq!(archive.count_purge(&target).unwrap(), 1);
    }
}
