//! The times at which statuses were confirmed, as the archive reports them.

use proptest::prelude::*;

use super::*;
use crate::mail::{EmailId, Status};

/// When each email was confirmed, newest first, in seconds.
fn confirmed(archive: &Archive) -> Vec<Option<i64>> {
    let rows = archive.window(&WindowAnchor::Top, usize::MAX).unwrap().rows;
    rows.iter()
        .map(|row| row.confirmed_at.map(|at| at.as_second() - NOON))
        .collect()
}

fn retrieve(archive: &Archive, n: i64, event: &str, second: i64) {
    let json =
        format!(r#"{{"object":"email","id":"mail-{n}","last_event":"{event}","html":"<p>Hi"}}"#);
    put_email(archive, &json, at(second));
}

#[test]
fn pages_within_seconds_share_the_older_time() {
    let archive = memory();
    merge(&archive, items([5, 4], "sent"), Top, 100);
    merge(&archive, items([3, 2], "sent"), below(4), 110);
    merge(&archive, items([1, 0], "sent"), below(2), 131);
    let expected = [100, 100, 100, 100, 131, 131].map(Some);
    assert_eq!(confirmed(&archive), expected);
    assert_eq!(archive.confirmed_runs().unwrap().len(), 2);
}

#[test]
fn confirmation_never_becomes_older() {
    let archive = memory();
    merge(&archive, items([3, 2, 1], "sent"), Top, 100);
    // Each new email makes the page end one row higher.
    merge(&archive, items([104, 3, 2], "sent"), Top, 105);
    assert_eq!(confirmed(&archive), [105, 105, 105, 100].map(Some));
    merge(&archive, items([104, 3, 2], "sent"), Top, 110);
    assert_eq!(confirmed(&archive), [110, 110, 110, 100].map(Some));
}

#[test]
fn email_is_not_confirmed_before_it_was_created() {
    let archive = memory();
    merge(&archive, items([2, 1], "sent"), Top, 100);
    merge(&archive, items([104], "sent"), Top, 105);
    assert_eq!(confirmed(&archive)[0], Some(105));
}

#[test]
fn late_mirror_page_keeps_its_request_time() {
    let archive = memory();
    merge(&archive, items([3, 2], "sent"), Top, 100);
    let requested = RequestStamp::from(at(200)).known_by(Some(at(110)), None, true);
    merge_at(&archive, items([1, 0], "sent"), below(2), requested);
    let runs = archive.confirmed_runs().unwrap();
    let runs: Vec<_> = runs
        .iter()
        .map(|run| (run.at, run.last_requested_at(at(300))))
        .collect();
    assert_eq!(runs, [(at(100), at(100)), (at(110), at(200))]);
}

#[test]
fn imported_row_inherits_no_confirmation() {
    let archive = memory();
    merge(&archive, items([9, 0], "sent"), Top, 100);
    let line = item_with("mail-5", Some(5), "sent").json;
    import_lines(&archive, [line], at(150));
    assert_eq!(confirmed(&archive), [Some(100), None, Some(100)]);
    merge(&archive, items([9, 5, 0], "sent"), Top, 200);
    assert_eq!(confirmed(&archive), [Some(200); 3]);
}

#[test]
fn changed_status_of_email_with_body_is_stored() {
    let archive = memory();
    merge(&archive, items([1], "sent"), Top, 100);
    retrieve(&archive, 1, "sent", 110);
    retrieve(&archive, 1, "bounced", 120);
    let row = row(&archive, "mail-1");
    assert_eq!(row.summary.status, Status::Bounced);
    assert_eq!(row.confirmed_at, Some(at(120)));
}

#[test]
fn changed_status_of_moved_email_is_recorded() {
    let archive = memory();
    merge(&archive, items([2, 1], "sent"), Top, 100);
    // The service lists them the other way round, so that one of them gets another key.
    let merged = merge(&archive, items([1, 2], "bounced"), Top, 200);
    assert_eq!(merged.changed.len(), 2);
    for id in ["mail-1", "mail-2"].map(EmailId::new) {
        let history: Vec<Status> = archive
            .history(&id)
            .unwrap()
            .into_iter()
            .map(|observed| observed.status)
            .collect();
        assert_eq!(history, [Status::Sent, Status::Bounced], "{id:?}");
    }
}

#[test]
fn older_response_does_not_overwrite_newer_one() {
    let archive = memory();
    merge(&archive, items([2, 1, 0], "delivered"), Top, 100);
    merge(&archive, items([2, 1, 0], "delivered"), Top, 300);
    let late = merge(&archive, items([2, 0], "sent"), Top, 200);
    assert!(late.changed.is_empty());
    let rows = archive.window(&WindowAnchor::Top, 9).unwrap().rows;
    assert!(
        rows.iter()
            .all(|row| row.summary.status == Status::Delivered && row.missing_since.is_none()),
        "{rows:?}"
    );
    assert_eq!(confirmed(&archive), [Some(300); 3]);
    mark_missing(&archive, "mail-1", at(250));
    assert_eq!(archive.first_unconfirmed_deletion().unwrap(), None);
}

#[test]
fn clock_set_back_loses_neither_change_nor_deletion() {
    let archive = memory();
    let merge = |items, clock: i64| {
        let requested = archive.stamp_request(at(clock)).unwrap();
        merge_at(&archive, items, Top, requested)
    };
    merge(items([2, 1, 0], "sent"), 30 * 86_400);
    let carried = merge(items([2, 0], "bounced"), 60);
    assert_eq!(carried.changed.len(), 2);
    assert_eq!(row(&archive, "mail-1").missing_since, Some(at(60)));
}

#[test]
fn deletion_is_unconfirmed_until_page_is_fetched() {
    let archive = memory();
    merge(&archive, items([2, 1, 0], "sent"), Top, 100);
    mark_missing(&archive, "mail-1", at(110));
    let row = || row(&archive, "mail-1");
    assert_eq!(row().missing_since, None);
    let expected = Some(row().sort_key);
    assert_eq!(archive.first_unconfirmed_deletion().unwrap(), expected);
    merge(&archive, items([2, 0], "sent"), Top, 120);
    assert!(row().missing_since.is_some());
    assert_eq!(archive.first_unconfirmed_deletion().unwrap(), None);
}

#[test]
fn missing_email_keeps_its_time_of_confirmation() {
    let archive = memory();
    let day = 86_400;
    let numbers = [10 * day, 5 * day, 2 * day, day];
    merge(&archive, items(numbers, "sent"), Top, 11 * day);
    let bottom = archive.coverage_state().unwrap().ranges[0].bottom;
    let oldest = EmailId::new(format!("mail-{}", 2 * day));
    archive
        .record_end(bottom, Some(&oldest), at(12 * day).into())
        .unwrap();
    merge(&archive, items([10 * day, 2 * day], "sent"), Top, 13 * day);
    let state = |n: i64| {
        let row = row(&archive, &format!("mail-{n}"));
        (row.missing_since.is_some(), row.confirmed_at)
    };
    assert_eq!(
        numbers.map(state),
        [
            (false, Some(at(13 * day))),
            (true, Some(at(11 * day))),
            (false, Some(at(13 * day))),
            (true, Some(at(11 * day))),
        ]
    );
}

#[test]
fn oldest_runs_merge_above_the_limit() {
    let archive = memory();
    let count = 4200;
    for n in (0..count).rev() {
        let joins = if n == count - 1 { Top } else { below(n + 1) };
        merge(&archive, items([n], "sent"), joins, 100 * (count - n));
    }
    let runs = archive.confirmed_runs().unwrap();
    assert_eq!(runs.len(), 4096);
    let times = confirmed(&archive);
    assert!(
        times.iter().all(Option::is_some),
        "neighbours merge, so every row keeps a time"
    );
    assert!(
        times.iter().zip(1..).all(|(at, n)| at.unwrap() <= 100 * n),
        "and none gains a newer one"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(128), failure_persistence: None, ..ProptestConfig::default() })]

    /// Against the plain meaning:
    /// each row has the newest time at which an answer has held it, or an older one.
    #[test]
    fn rows_are_not_confirmed_after_their_last_response(
        mut steps in prop::collection::vec((0..30_usize, 1..12_usize, 0..400_i64, prop::bool::weighted(0.2)), 1..40),
        in_order: bool,
    ) {
        if in_order {
            steps.sort_by_key(|step| step.2);
        }
        let archive = memory();
        let all: Vec<i64> = (0..30).rev().collect();
        merge(&archive, items(all.clone(), "sent"), Top, 0);
        let mut held = vec![0; 30];
        for (from, len, second, single) in steps {
            let to = (from + len).min(30);
            if single {
                retrieve(&archive, all[from], "sent", second);
                held[from] = held[from].max(second);
                continue;
            }
            let joins = if from == 0 { Top } else { below(all[from - 1]) };
            merge(&archive, items(all[from..to].iter().copied(), "sent"), joins, second);
            for time in &mut held[from..to] {
                *time = (*time).max(second);
            }
        }
        for (row, held) in confirmed(&archive).into_iter().zip(held) {
            let row = row.expect("every row was on the first page");
            prop_assert!(row <= held && (!in_order || row >= held - 30), "{row} is not {held}");
        }
        let runs = archive.confirmed_runs().unwrap();
        prop_assert!(runs.windows(2).all(|pair| pair[0].bottom > pair[1].top), "runs overlap: {runs:?}");
    }
}

#[test]
fn request_before_1970_has_its_time() {
    let archive = memory();
    let before_1970 = NOON + 3_000_000_000;
    merge(&archive, items([1, 0], "sent"), Top, -before_1970);
    let runs = archive.confirmed_runs().unwrap();
    let [run] = runs.as_slice() else {
        panic!("one run: {runs:?}");
    };
    let now = at(60 - before_1970);
    assert!(now < Timestamp::UNIX_EPOCH);
    assert_eq!(run.last_requested_at(now), at(-before_1970));
}
