//! Pages at the ends of what the archive covers.

use super::*;
use crate::api::ListedEmail;
use crate::archive::tests::merge_at;
use crate::archive::{Coverage, PagePosition, PurgeTarget};
use crate::mail::EmailId;
use crate::query::{ParseContext, parse};

fn purge(mirror: &TestMirror, query: &str) {
    let context = ParseContext::new(Hand::start(), jiff::tz::TimeZone::UTC);
    let target = PurgeTarget::Matching(parse(query, &context).query);
    mirror.archive.purge(&target).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn coverage_gap_is_filled_before_serving() {
    let (hand, service, mirror) = TestMirror::of_sample(900).await;
    mirror.get("/emails?limit=100").await;
    // So much has arrived meanwhile that a refresh does not reach the known mail.
    hand.advance(5 * 3600);
    let later = mirror.restart(&service, &hand).await;
    later.get("/emails").await;
    let ranges = mirror.archive.coverage_state().unwrap().ranges;
    assert_eq!(ranges.len(), 2, "{ranges:?}");
    let (bodies, ids) = read_all(&service, "/emails", 70).await;
    assert_eq!(read_all(&later.running, "/emails", 70).await.0, bodies);
    assert!(ids.len() > 1400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_and_purged_emails_are_not_served() {
    let (_, _service, mirror) = TestMirror::of_sample(120).await;
    let (_, ids) = read_all(&mirror.running, "/emails", 100).await;
    mirror.get(&format!("/emails/{}", ids[5])).await;
    // A page without it.
    let page = [2, 4].map(|index| {
        let json = mirror.archive.summary_json(&EmailId::new(&ids[index]));
        ListedEmail::parse(&json.unwrap().unwrap()).unwrap()
    });
    let position = PagePosition::Below {
        cursor: EmailId::new(&ids[1]),
        is_end: false,
    };
    let requested = mirror.archive.stamp_request(Hand::start()).unwrap();
    merge_at(&mirror.archive, page.into(), position, requested);
    purge(&mirror, &format!("id:{}", ids[5]));
    let (_, left) = read_all(&mirror.running, "/emails", 50).await;
    assert!(!left.contains(&ids[3]) && !left.contains(&ids[5]));
    assert_eq!(left.len(), 118);
    let got = mirror.get(&format!("/emails/{}", ids[5])).await;
    assert_eq!(got.status, 404, "the service has it, this mirror does not");
    for path in ["attachments", "attachments/0"] {
        let got = mirror.get(&format!("/emails/{}/{path}", ids[5])).await;
        assert_eq!(got.json()["message"], "Email not found", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newest_page_after_purge_has_current_listing_time() {
    let (hand, service, mirror) = TestMirror::of_sample(300).await;
    let (_, ids) = read_all(&mirror.running, "/emails", 100).await;
    purge(&mirror, &format!("id:{} or id:{}", ids[5], ids[6]));
    hand.advance(60);
    let later = mirror.restart(&service, &hand).await;
    let page = later.get("/emails?limit=100").await;
    for (header, time) in [
        ("x-sentbox-listed-at", "2026-11-20T09:42:07.000000Z"),
        ("x-sentbox-checked-at", "2026-11-20T09:41:07.000000Z"),
    ] {
        assert_eq!(page.header(header), Some(time), "{header}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listing_ends_where_old_mail_is_not_kept() {
    let hand = Hand::default();
    let service = Running::sample(600, &hand).await;
    let day = SignedDuration::from_hours(24);
    let mirror = TestMirror::start_with(&service, &hand, false, |archive| {
        archive.with_retention(Some(day * 20)).unwrap()
    })
    .await;
    let (_, ids) = read_all(&mirror.running, "/emails", 100).await;
    let (_, all) = read_all(&service, "/emails", 100).await;
    assert!((20..500).contains(&ids.len()), "{}", ids.len());
    assert_eq!(ids, all[..ids.len()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn poller_loads_all_and_serves_without_requests() {
    let hand = Hand::default();
    let service = Running::sample(450, &hand).await;
    let mirror = TestMirror::start(&service, &hand, true).await;
    until(|| mirror.archive.coverage().unwrap() == Coverage::Complete).await;
    let requests = mirror.requests();
    let (bodies, _) = read_all(&service, "/emails", 100).await;
    assert_eq!(read_all(&mirror.running, "/emails", 100).await.0, bodies);
    assert_eq!(mirror.requests(), requests);
}
