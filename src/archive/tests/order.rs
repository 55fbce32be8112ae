//! The order of the list, and what it says of times.

use super::*;

#[test]
fn latest_created_email_may_be_below_another() {
    let archive = memory();
    let span = || {
        (
            archive.earliest_created().unwrap(),
            archive.latest_created().unwrap(),
        )
    };
    assert_eq!(span(), (None, None));
    let mut seconds = vec![Some(50); 205];
    seconds[..3].copy_from_slice(&[Some(1), Some(90), None]);
    seconds[202..].copy_from_slice(&[None, Some(10), Some(99)]);
    let items = seconds.into_iter().enumerate();
    let items = items.map(|(n, second)| item_with(&format!("id-{n}"), second, "sent"));
    merge(&archive, items.collect(), Top, 9);
    assert_eq!(all(&archive)[..2], ["id-0", "id-1"]);
    assert_eq!(span(), (Some(at(10)), Some(at(90))));
}

#[test]
fn page_order_overrides_times() {
    let archive = memory();
    let merge_moment = |names: &str| {
        let items = names
            .chars()
            .map(|name| item_with(&name.to_string(), Some(7), "sent"));
        merge(&archive, items.collect(), Top, 9);
    };
    merge_moment("dcba");
    let id = EmailId::new("a");
    put_email(&archive, r#"{"id":"a","html":"x"}"#, at(9));
    merge_moment("ecdab");
    assert_eq!(all(&archive).concat(), "ecdab");
    assert!(
        archive.email(&id).unwrap().is_some(),
        "the body has moved along"
    );
    merge_moment("ecdab");
    assert_eq!(all(&archive).concat(), "ecdab");
}

#[test]
fn future_time_affects_only_its_email() {
    let archive = memory();
    let day = 86_400;
    let listed = [("c", 90), ("skewed", 5000), ("b", 20), ("a", 10)]
        .map(|(id, days)| item_with(id, Some(days * day), "sent"));
    merge(&archive, listed[1..].to_vec(), Top, 100 * day);
    merge(&archive, listed.to_vec(), Top, 100 * day);
    assert_eq!(all(&archive), ["c", "skewed", "b", "a"]);
    let then = archive
        .window(&WindowAnchor::AtTime((NOON + 95 * day) * 1_000_000), 1)
        .unwrap();
    assert_eq!(ids(&then), ["c"], "its time still finds it");
}

#[test]
fn exhausted_keys_renumber_rows_in_order() {
    let archive = memory();
    // Two thousand imported emails of one time leave no free key between them.
    import_lines(
        &archive,
        (0..2000).map(|number| {
            item_with(&format!("old-{number}"), Some(7), "sent")
                .json
                .to_string()
        }),
        at(9),
    );
    let before = all(&archive);
    let items = ["old-0", "x", "y", "z", "old-1"]
        .map(|id| item_with(id, Some(7), "sent"))
        .to_vec();
    merge(&archive, items, Top, 9);
    let mut after = all(&archive);
    assert_eq!(after[..5], ["old-0", "x", "y", "z", "old-1"]);
    after.drain(1..4);
    assert_eq!(after, before);
}
