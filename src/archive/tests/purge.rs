//! Removed mail leaves no byte in the file.

use std::path::Path;

use super::*;
use crate::archive::listing::record_answer;
use crate::mail::EmailId;

fn line(id: &str, second: i64, to: &str, subject: &str) -> String {
    format!(
        r#"{{"id":"{id}","to":["{to}"],"created_at":"{}","subject":"{subject}","last_event":"sent","html":"<p>{subject}</p>","text":"{subject}"}}"#,
        at(second)
    )
}

/// Whether a file beside `path`, or that one itself, holds this text.
fn holds(path: &Path, text: &str) -> bool {
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let mut contents = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    contents.any(|bytes| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    })
}

fn filled(path: &Path) -> Archive {
    let archive = open_file(path);
    let mail = |number: i64| {
        let (id, to, subject) = match number % 10 {
            3 => ("c", "Canary <canary@example.org>", "the canary sings"),
            _ => ("o", "other@example.com", "nothing special"),
        };
        line(&format!("{id}-{number}"), number, to, subject)
    };
    import_lines(&archive, (0..500).map(mail), at(600));
    let canary = vec![item_with("c-3", Some(3), "the-canary-event")];
    merge(&archive, canary, PagePosition::Unknown, 700);
    archive
}

#[test]
fn purged_mail_is_erased_from_the_files() {
    let (_folder, path) = temp_path("mail.db");
    let archive = filled(&path);
    assert!(holds(&path, "canary"));
    // An idle reader of this process does not keep the log from being emptied.
    archive.window(&WindowAnchor::Top, 5).unwrap();
    let removal = PurgeTarget::To("CANARY@example.org".to_owned());
    assert_eq!(
        archive.count_purge(&removal).unwrap(),
        49,
        "the retrieved email has another recipient by now"
    );
    assert_eq!(archive.purge(&removal).unwrap(), (49, true));
    let other = PurgeTarget::To("a@example.com".to_owned());
    assert_eq!(archive.purge(&other).unwrap(), (1, true));
    assert!(!holds(&path, "canary"), "not a byte of it");
    assert_eq!(archive.query_count().unwrap(), 450);
    assert_eq!(archive.info().unwrap().bodies, 450);
    let again = line("c-13", 13, "Canary <canary@example.org>", "again");
    let again = import_lines(&archive, [again], at(800));
    assert_eq!((again.new, again.skipped), (0, 1));
    assert!(
        !holds(&path, "c-13"),
        "it is known again by nothing that tells what it was"
    );
}

#[test]
fn every_form_of_an_address_is_purged() {
    let archive = memory();
    let recipients = [
        "JÖRG@example.com",
        "Jörg <jörg@EXAMPLE.com>",
        r#"\"the boss\"@example.com"#,
        "jörg@bücher.example",
        "jorg@example.com",
    ];
    let lines = recipients.iter().enumerate();
    import_lines(
        &archive,
        lines.map(|(number, to)| line(&format!("m-{number}"), 1, to, "subject")),
        at(600),
    );
    for (address, count) in [
        ("jörg@example.com", 2),
        ("\"the boss\"@example.com", 1),
        ("JÖRG@BÜCHER.example", 1),
    ] {
        let target = PurgeTarget::To(address.to_owned());
        assert_eq!(archive.purge(&target).unwrap().0, count, "{address}");
    }
}

#[test]
fn expired_mail_is_overwritten() {
    let (_folder, path) = temp_path("mail.db");
    let now = at(403 + 3600);
    let archive = filled(&path)
        .with_retention(Some(jiff::SignedDuration::from_hours(1)))
        .unwrap();
    let all = archive.query_count().unwrap();
    assert_eq!(
        archive.purge_expired(now).unwrap(),
        0,
        "as of the newest email"
    );
    assert_eq!(archive.left_out().unwrap().describe(), None);
    archive.write(|tx| record_answer(tx, now.into())).unwrap();
    assert_eq!(archive.purge_expired(now).unwrap(), all - 97);
    let left_out = archive.left_out().unwrap();
    assert_eq!(left_out.limit, Some(at(403)));
    let expected = Some("mail older than the profile keeps (keep) is left out");
    assert_eq!(left_out.describe().as_deref(), expected);
    assert_eq!(archive.query_count().unwrap(), 97);
    let oldest = archive.info().unwrap().oldest.unwrap();
    assert_eq!(oldest.parsed, Some(at(403)));
    drop(archive);
    assert!(
        !holds(&path, "the-canary-event"),
        "the log beside the file is gone with the last who has it open"
    );
}

#[test]
fn wrong_local_clock_deletes_nothing() {
    let archive = memory();
    let now = at(600);
    merge(&archive, items((0..10).rev(), "sent"), Top, 600);
    let year = jiff::SignedDuration::from_hours(365 * 24);
    let archive = archive.with_retention(Some(year / 2)).unwrap();
    assert_eq!(archive.purge_expired(now + year).unwrap(), 0);
    // The service dates its answer.
    let request = RequestStamp::from(now + year).with_clock_skew(Some(-year));
    let answer = merge_at(
        &archive,
        items([10], "sent"),
        PagePosition::Unknown,
        request,
    );
    assert_eq!((answer.expired, archive.query_count().unwrap()), (0, 11));
    // Without a date, the local clock is all there is.
    let answer = merge_at(&archive, Vec::new(), PagePosition::Unknown, now + year);
    assert_eq!(answer.expired, 11);
}

#[test]
fn retention_applies_to_archives_that_are_open() {
    let (_folder, path) = temp_path("mail.db");
    let now = at(403 + 3600);
    let open = filled(&path);
    let with_retention = |retention| {
        let other = open_file(&path);
        other.with_retention(retention).unwrap()
    };
    let fetch_again = || {
        let items = vec![item_with("o-5", Some(5), "sent")];
        merge_at(&open, items, PagePosition::Unknown, now);
        (
            open.query_count().unwrap(),
            open.left_out().unwrap().has_age_limit,
        )
    };
    drop(with_retention(Some(jiff::SignedDuration::from_hours(1))));
    assert_eq!(fetch_again(), (97, true));
    drop(with_retention(None));
    assert_eq!(fetch_again(), (98, false), "the limit was removed");
}

#[test]
fn longer_retention_leaves_nothing_out_yet() {
    let keep = |seconds| Some(jiff::SignedDuration::from_secs(seconds));
    for (longer, purged, left_out) in [
        (keep(200), false, None),
        (None, false, None),
        (
            keep(200),
            true,
            Some("mail older than archive purge --older keeps is left out"),
        ),
        (
            keep(50),
            false,
            Some("mail older than the profile keeps (keep) is left out"),
        ),
    ] {
        let archive = memory().with_retention(keep(105)).unwrap();
        let numbers = (0..10).rev();
        merge(&archive, items(numbers.clone(), "sent"), Top, 100);
        merge(&archive, items(numbers, "sent"), PagePosition::Bottom, 110);
        assert_eq!(archive.query_count().unwrap(), 5);
        assert_eq!(archive.coverage().unwrap(), Coverage::Complete);
        if purged {
            archive.purge(&PurgeTarget::Before(at(7))).unwrap();
        }
        let archive = archive.with_retention(longer).unwrap();
        assert_eq!(archive.left_out().unwrap().describe().as_deref(), left_out);
        let is_complete = archive.coverage().unwrap() == Coverage::Complete;
        assert_eq!(is_complete, longer == keep(50), "{longer:?}");
    }
}

#[test]
fn purged_archive_covers_only_remaining_mail() {
    let archive = memory();
    let items = items((0..10).rev(), "sent");
    merge(&archive, items, Top, 100);
    let bottom = archive.coverage_state().unwrap().ranges[0].bottom;
    archive.record_end(bottom, None, at(100).into()).unwrap();
    assert_eq!(archive.coverage().unwrap(), Coverage::Complete);
    assert_eq!(archive.purge(&PurgeTarget::Before(at(4))).unwrap().0, 4);
    assert_eq!(covered_after(&archive), at(4));
    assert_eq!(archive.purge(&PurgeTarget::Before(at(50))).unwrap().0, 6);
    assert_eq!(archive.query_count().unwrap(), 0);
    assert_eq!(archive.coverage().unwrap(), Coverage::Unknown);
    assert_eq!(archive.row(&EmailId::new("mail-9")).unwrap(), None);
}
