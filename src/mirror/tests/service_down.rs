//! The responses of a mirror while its service is down.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_mail_is_served_with_its_time() {
    let (hand, mut service, mirror) = TestMirror::of_sample(300).await;
    let page = mirror.get("/emails?limit=90").await;
    let path = format!("/emails/{}", page.ids()[0]);
    let email = mirror.get(&path).await;
    service.tasks.shutdown().await;
    hand.advance(600);
    let later = mirror.restart(&service, &hand).await;
    for (path, before) in [("/emails?limit=90", &page), (&*path, &email)] {
        let got = later.get(path).await;
        assert_eq!((got.status, &got.body), (200, &before.body), "{path}");
        let at = got.header("x-sentbox-checked-at");
        assert_eq!(at, Some("2026-11-20T09:41:07.000000Z"));
    }
    let ids = page.ids();
    let got = later.get(&format!("/emails/{}", ids[1])).await;
    assert_eq!(got.status, 503, "its body was never fetched");
    assert!(got.header("retry-after").is_some());
    assert_eq!(got.json()["name"], "service_unavailable");
    // The end of what is stored is not the end of the listing.
    let path = format!("/emails?limit=20&after={}", ids[85]);
    let part = later.get(&path).await;
    assert_eq!(part.ids().len(), 14, "a hundred are stored");
    assert_eq!(part.ids()[..4], ids[86..]);
    assert_eq!(part.json()["has_more"], true);
    let end = format!("/emails?after={}", part.ids()[13]);
    assert_eq!(later.get(&end).await.status, 503);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn error_of_service_is_not_the_clients() {
    let hand = Hand::default();
    let mut service = Running::sample(30, &hand).await;
    service.key = "re_revoked";
    let mirror = TestMirror::start(&service, &hand, false).await;
    for path in [
        "/emails",
        "/emails/receiving",
        "/suppressions/a@example.com",
    ] {
        assert_eq!(mirror.get(path).await.status, 502, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_key_of_mirror_is_reported_once() {
    let hand = Hand::default();
    let mut service = Running::sample(30, &hand).await;
    service.key = "re_revoked";
    let mirror = TestMirror::start(&service, &hand, false).await;
    let state = Arc::clone(&mirror.state);
    for _ in 0..2 {
        let mut tasks = mirror.poll();
        until(|| {
            let error = lock(&state.poll_error);
            (error.as_ref()).is_some_and(|error| error.message != "an earlier attempt")
        })
        .await;
        tasks.shutdown().await;
        if let Some(error) = &mut *lock(&state.poll_error) {
            assert!(error.kind.is_key_error(), "{error}");
            error.message = "an earlier attempt".to_owned();
        }
    }
    let got = mirror.running.get_with("/healthz", &[]).await;
    assert_eq!(got.status, 200);
    assert_eq!(got.json()["poller"], "failing");
    assert_eq!(got.json()["error"], "key_rejected");
    let notes = lock(&mirror.notes).clone();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].ends_with("; until that ends, only stored mail is served"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_reports_pause_requested_by_service() {
    use axum::http::StatusCode;
    let hand = Hand::default();
    let (listener, base) = listen().await;
    let wait = [("retry-after", "3600")];
    let limited = move || async move { (StatusCode::TOO_MANY_REQUESTS, wait, "{}") };
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let routes = axum::Router::new().fallback(limited);
        let listener = Listener::Tcp(listener);
        serve_connections(16, listener, None, routes, std::future::pending()).await;
    });
    let service = Running::new(base, server::DEMO_KEY, CancellationToken::new(), tasks);
    let mirror = TestMirror::start(&service, &hand, false).await;
    assert_eq!(mirror.get("/emails").await.status, 429);
    let health = mirror.running.get_with("/healthz", &[]).await;
    let seconds = health.json()["service_paused_seconds"].as_u64().unwrap();
    assert!((3_000..=3_600).contains(&seconds), "{seconds}");
}
