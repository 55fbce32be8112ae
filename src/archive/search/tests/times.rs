//! Conditions on time: emails in and out of order, and counts by periods.

use jiff::SignedDuration;

use super::*;

#[test]
fn out_of_order_email_is_found_by_time() {
    let archive = memory();
    let mail = |id: &str, created: &str| -> Arc<str> {
        format!(r#"{{"id":"{id}","created_at":"{created}"}}"#).into()
    };
    let items = [
        mail("skewed", "2036-01-01T00:00:00Z"),
        mail("b", "2026-11-02T09:00:00Z"),
        mail("a", "2026-10-02T09:00:00Z"),
    ];
    let items = items
        .map(|json| ListedEmail::parse(&json).unwrap())
        .to_vec();
    let requested: Timestamp = "2026-11-20T00:00:00Z".parse().unwrap();
    merge_at(&archive, items, PagePosition::Top, requested);
    assert_eq!(ids(&archive, "after:2030"), "skewed");
    assert_eq!(ids(&archive, "before:2030"), "b a");
    assert_eq!(ids(&archive, "on:2036-01-01 or on:2026-10"), "skewed a");
    assert_eq!(ids(&archive, "sort:oldest -before:2026-10-15"), "b skewed");
}

#[test]
fn conditions_on_time_agree_with_reference() {
    let archive = memory();
    let start: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
    let items = (0..160_i64).rev().map(|n| {
        let created = start + SignedDuration::from_hours(n * 3);
        let created = match n % 20 {
            7 => "2031-01-01T00:00:00Z".to_owned(),
            11 => "soon".to_owned(),
            13 => (created + SignedDuration::from_hours(20)).to_string(),
            // The email between these two is placed right below the newer one, 45 minutes after its
            // time.
            17 => (created + SignedDuration::from_mins(210)).to_string(),
            19 => (created - SignedDuration::from_mins(135)).to_string(),
            _ => created.to_string(),
        };
        let (subject, status) = (["Receipt", "Order"][usize::from(n % 9 == 0)], ["sent", "bounced"][usize::from(n % 7 == 0)]);
        let json = serde_json::json!({"id": format!("m{n:03}"), "created_at": created, "subject": subject, "last_event": status});
        let json: Arc<str> = json.to_string().into();
        ListedEmail::parse(&json).unwrap()
    });
    let requested = at(1_800_000_000);
    merge_at(&archive, items.collect(), PagePosition::Top, requested);
    for text in [
        "after:2026-11-18",
        "status:sent after:2026-11-08T07:15",
        "re before:2026-11-05T19:15",
        "re on:2026-11-06",
        "status:bounced after:2026-11-04 before:2026-11-08",
        "status:sent -after:2026-11-10T19:20",
        "order -on:2026-11-06",
        "before:2026-11-04 -before:2026-11-02 -on:2026-11-03",
        "order before:2026-11-18 or status:sent after:2026-11-10T19:10",
        "order or after:2026-11-18",
        "order or before:2026-11-03",
        "order or on:2026-11-10",
        "order or -on:2026-11-10 status:bounced",
        "-(order after:2026-11-09)",
        "-(order or after:2026-11-09)",
        "zephyr or after:2030",
        "-on:2026-11-10",
        "o or after:2026-11-18",
        "re -(order after:2026-11-18)",
        "status:sent or after:2026-11-18",
        "zephyr or status:bounced before:2026-11-05 or order after:2026-11-17",
        "(order or after:2026-11-12) before:2026-11-15",
        "status:bounced or has:reason after:2026-11-18",
        "seen-change:2020 or order or after:2026-11-19",
    ] {
        assert!(parsed(text).has_time(), "{text}");
        assert_found_and_counted(&archive, text);
        assert_found_and_counted(&archive, &format!("{text} sort:oldest"));
    }
    // Too many times to split the timeline.
    let times = (1..=6).map(|day| format!("on:2026-11-0{day}"));
    assert_found_and_counted(&archive, &times.collect::<Vec<_>>().join(" or "));
}
