//! Tests of the server against the API's contract, over real HTTP.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::{Method, Response, StatusCode};
use sentbox::api::Cursor;
use sentbox::config::clock::Clock;
use sentbox::error::{Error, ErrorKind};
use sentbox::mail::{ApiTime, EmailId};
use sentbox::server::sample::SampleMailbox;
use sentbox::server::{DEMO_KEY, EmailSource, ServerConfig, SourceError, SourcePage, serve};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const SUMMARY: [&str; 11] = [
    "id",
    "to",
    "from",
    "created_at",
    "subject",
    "message_id",
    "bcc",
    "cc",
    "reply_to",
    "last_event",
    "scheduled_at",
];
const BODY: [&str; 4] = ["object", "html", "text", "tags"];
pub const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// A server on its own port, with a clock that a test sets.
pub struct Served {
    pub base: String,
    client: reqwest::Client,
    pub millis: Arc<AtomicI64>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Served {
    pub async fn sample(emails: u32) -> Self {
        let source = |start, clock| SampleMailbox::new(7, emails, start, clock);
        Self::with(10_000, source).await
    }

    async fn with<S: EmailSource>(rate: u32, source: impl FnOnce(Timestamp, Clock) -> S) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let start: Timestamp = "2026-11-20T09:41:07Z".parse().unwrap();
        let millis = Arc::new(AtomicI64::new(0));
        let hand = Arc::clone(&millis);
        let clock: Clock =
            Arc::new(move || start + SignedDuration::from_millis(hand.load(Ordering::Relaxed)));
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let source = source(start, Arc::clone(&clock));
        tasks.spawn(serve(
            listener,
            source,
            ServerConfig::demo(rate),
            clock,
            stop.clone().cancelled_owned(),
        ));
        Self {
            base,
            client: plain_client(),
            millis,
            stop,
            tasks,
        }
    }

    pub async fn ask(&self, method: Method, path: &str, authorization: Option<&str>) -> Response {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        request.send().await.unwrap()
    }

    /// The response to a request with the key.
    pub async fn respond(&self, path: &str) -> Response {
        let key = format!("Bearer {DEMO_KEY}");
        self.ask(Method::GET, path, Some(&key)).await
    }

    pub async fn get(&self, path: &str) -> Value {
        let response = self.respond(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        json(response).await
    }

    pub async fn page(&self, query: &str) -> (Vec<String>, bool) {
        let page = self.get(&format!("/emails?{query}")).await;
        let emails = page["data"].as_array().unwrap().iter();
        let ids = emails.map(|email| text(email, "id"));
        (ids.collect(), page["has_more"].as_bool().unwrap())
    }

    /// All emails, newest first.
    pub async fn all(&self) -> Vec<Value> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.get(&format!("/emails?limit=100{cursor}")).await;
            all.extend_from_slice(page["data"].as_array().unwrap());
            if page["has_more"] == false {
                return all;
            }
            cursor = format!("&after={}", text(all.last().unwrap(), "id"));
        }
    }

    async fn page_of(&self, cursor: &str, id: &str, limit: usize) -> (Vec<String>, bool) {
        self.page(&format!("limit={limit}&{cursor}={id}")).await
    }
}

/// A client that trusts no certificate: it speaks to this machine only.
pub fn plain_client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().no_proxy().tls_certs_only([]);
    builder.build().unwrap()
}

pub fn text(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap().to_owned()
}

pub async fn json(response: Response) -> Value {
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

pub fn names(object: &Value) -> BTreeSet<&str> {
    object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[tokio::test]
async fn page_and_email_have_exactly_specified_fields() {
    let served = Served::sample(300).await;
    let page = served.get("/emails?limit=100").await;
    assert_eq!(names(&page), BTreeSet::from(["object", "has_more", "data"]));
    assert_eq!(page["object"], "list");
    let lists_of_addresses = ["bcc", "cc", "reply_to"];
    let (mut nulls, mut lists) = (0, 0);
    for summary in page["data"].as_array().unwrap() {
        assert_eq!(names(summary), BTreeSet::from(SUMMARY));
        let email = served
            .get(&format!("/emails/{}", text(summary, "id")))
            .await;
        assert_eq!(names(&email), SUMMARY.into_iter().chain(BODY).collect());
        assert_eq!(email["object"], "email");
        for field in lists_of_addresses {
            match &summary[field] {
                Value::Null => {
                    assert_eq!(email[field], Value::Array(vec![]));
                    nulls += 1;
                }
                list => {
                    assert!(!list.as_array().unwrap().is_empty());
                    assert_eq!(&email[field], list);
                    lists += 1;
                }
            }
        }
        for field in SUMMARY
            .into_iter()
            .filter(|it| !lists_of_addresses.contains(it))
        {
            assert_eq!(summary[field], email[field], "{field}");
        }
        let created = summary["created_at"].as_str().unwrap();
        assert!(ApiTime::parse(created).parsed.is_some(), "{created}");
        let len = "2023-04-03T22:13:42.674981+00:00".len();
        assert_eq!(created.len(), len, "{created}");
        assert!(summary["message_id"].as_str().unwrap().starts_with('<'));
        assert!(summary["from"].as_str().unwrap().contains(" <"));
    }
    assert!(nulls > 0 && lists > 0, "{nulls} nulls, {lists} lists");
}

#[tokio::test]
async fn page_length_is_twenty_or_limit() {
    let served = Served::sample(130).await;
    assert_eq!(served.page("").await.0.len(), 20);
    for limit in [1, 7, 100] {
        assert_eq!(served.page(&format!("limit={limit}")).await.0.len(), limit);
    }
    assert_eq!(served.page("limit=5&unheard_of=1").await.0.len(), 5);
}

#[tokio::test]
async fn after_and_before_cursors_are_exclusive() {
    let served = Served::sample(90).await;
    let (all, more) = served.page("limit=100").await;
    assert_eq!((all.len(), more), (90, false));

    let below = |at: usize, limit: usize| served.page_of("after", &all[at], limit);
    assert_eq!(below(9, 10).await, (all[10..20].to_vec(), true));
    assert_eq!(below(79, 10).await, (all[80..].to_vec(), false));
    assert_eq!(below(78, 10).await, (all[79..89].to_vec(), true));
    assert_eq!(below(89, 10).await, (vec![], false));

    let above = |at: usize, limit: usize| served.page_of("before", &all[at], limit);
    assert_eq!(above(50, 10).await, (all[40..50].to_vec(), true));
    assert_eq!(above(10, 10).await, (all[..10].to_vec(), false));
    assert_eq!(above(5, 100).await, (all[..5].to_vec(), false));
    assert_eq!(above(0, 10).await, (vec![], false));
}

#[tokio::test]
async fn paging_meets_each_email_once_during_arrivals() {
    let served = Served::sample(400).await;
    let (mut down, mut more) = served.page("limit=37").await;
    while more {
        served.millis.fetch_add(61_000, Ordering::Relaxed);
        let page = served.page_of("after", down.last().unwrap(), 37).await;
        down.extend(page.0);
        more = page.1;
    }
    assert_eq!(down.iter().collect::<BTreeSet<_>>().len(), 400);
    assert_eq!(down.len(), 400);

    let mut up: Vec<String> = vec![down[399].clone()];
    more = true;
    while more {
        let page = served.page_of("before", &up[0], 41).await;
        up.splice(0..0, page.0);
        more = page.1;
    }
    assert!(up.len() > 400, "mail has arrived: {}", up.len());
    assert!(up.ends_with(&down));
}

#[tokio::test]
async fn errors_have_documented_status_name_and_message() {
    let served = Served::sample(50).await;
    let (ids, _) = served.page("limit=2").await;
    let (a, b) = (&ids[0], &ids[1]);
    let key = format!("Bearer {DEMO_KEY}");
    let keyed = |path: &str, key: Option<&str>, error| {
        (Method::GET, path.to_owned(), key.map(str::to_owned), error)
    };
    let get = |path: &str, error| keyed(path, Some(&key), error);
    let not_found = |message| (404, "not_found", message);
    let invalid = |message| (422, "validation_error", message);
    let missing_key = (401, "missing_api_key", "Missing API Key");
    let invalid_key = (400, "validation_error", "API key is invalid");
    let no_endpoint = not_found("The requested endpoint does not exist");
    let no_object = not_found("The pagination cursor references an object that does not exist.");
    let both = invalid("You can only pass one of `before` or `after` for pagination.");
    let two_limits = invalid("The `limit` parameter can only be passed once.");
    let two_cursors = invalid("The `after` parameter can only be passed once.");
    let no_cursor = invalid("The pagination cursor must be a valid UUID");
    let no_id = invalid("The `id` must be a valid UUID");
    let limit = invalid("The pagination limit must be a number between 1 and 100.");
    let no_method = (
        405,
        "method_not_allowed",
        "This endpoint does not support this method",
    );
    let mut table = vec![
        keyed("/emails", None, missing_key),
        keyed("/nowhere", None, missing_key),
        keyed("/emails", Some("Basic cmVfZGVtbzo="), missing_key),
        keyed("/emails", Some("Bearer "), missing_key),
        keyed("/emails?limit=0", Some("Bearer re_wrong"), invalid_key),
        get("/nowhere", no_endpoint),
        get("/emails/", no_endpoint),
        get(&format!("/emails?after={a}&before={b}"), both),
        get("/emails?after=&before=", both),
        get("/emails?limit=3&limit=3", two_limits),
        get(&format!("/emails?after={a}&after={b}"), two_cursors),
        get("/emails?after=not-a-cursor", no_cursor),
        get("/emails?before=", no_cursor),
        get(&format!("/emails?after={NOBODY}"), no_object),
        get(&format!("/emails/{NOBODY}"), not_found("Email not found")),
        get("/emails/not-a-uuid", no_id),
        get("/emails/%FF%FE", no_id),
    ];
    let too_large = "99999999999999999999";
    for bad in [
        "0", "101", "256", "-1", "+5", "%2B5", "1e1", "abc", "1.5", "", "%20", too_large,
    ] {
        table.push(get(&format!("/emails?limit={bad}"), limit));
    }
    for method in ["POST", "DELETE", "PATCH", "PUT", "OPTIONS"] {
        for path in ["/emails".to_owned(), format!("/emails/{a}")] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            table.push((method, path, Some(key.clone()), no_method));
        }
    }
    for (method, path, key, (status, name, message)) in table {
        let case = format!("{method} {path}");
        let response = served.ask(method, &path, key.as_deref()).await;
        assert_eq!(response.status().as_u16(), status, "{case}");
        let headers = response.headers();
        assert!(headers.contains_key("ratelimit-remaining"), "{case}");
        let is_challenged = headers.contains_key("www-authenticate");
        assert_eq!(is_challenged, status == 401, "{case}");
        let allows_get = headers.get("allow").is_some_and(|allow| allow == "GET");
        assert_eq!(allows_get, status == 405, "{case}");
        let body = json(response).await;
        let expected = serde_json::json!({"statusCode": status, "name": name, "message": message});
        assert_eq!(body, expected, "{case}");
    }
    let head = served.ask(Method::HEAD, "/emails", Some(&key)).await;
    assert_eq!(head.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn rate_limit_headers_match_enforced_limit() {
    let served = Served::with(3, |start, clock| SampleMailbox::new(7, 50, start, clock)).await;
    let key = format!("bearer {DEMO_KEY}");
    let ask = || served.ask(Method::GET, "/emails?limit=1", Some(&key));
    let header =
        |response: &Response, name: &str| response.headers()[name].to_str().unwrap().to_owned();

    let keyless = served.ask(Method::GET, "/emails", None).await;
    // A wrong key uses no rate limit.
    assert_eq!(header(&keyless, "ratelimit-remaining"), "3");
    for left in ["2", "1", "0"] {
        let response = ask().await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(header(&response, "ratelimit-limit"), "3");
        assert_eq!(header(&response, "ratelimit-policy"), "3;w=1");
        assert_eq!(header(&response, "ratelimit-remaining"), left);
        assert_eq!(header(&response, "ratelimit-reset"), "1");
        assert!(!response.headers().contains_key("retry-after"));
    }
    let response = ask().await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(&*header(&response, "retry-after"), "1");
    let body = json(response).await;
    assert_eq!(body["name"], "rate_limit_exceeded");
    let expected = "Too many requests. You can only make 3 requests per second.";
    assert_eq!(body["message"], expected);

    served.millis.fetch_add(1000, Ordering::Relaxed);
    assert_eq!(ask().await.status(), StatusCode::OK);
}

/// Has one page and fails for any other request.
struct Trouble;

impl EmailSource for Trouble {
    fn page(&self, cursor: &Cursor, _limit: u8) -> Result<SourcePage, SourceError> {
        match cursor {
            Cursor::Start => Ok(SourcePage {
                data: vec![RawValue::from_string(r#"{"id":"1","new":1.50}"#.to_owned()).unwrap()],
                has_more: false,
            }),
            Cursor::After(_) => Err(SourceError::Internal(Error::new(
                ErrorKind::Archive,
                "the disk is gone",
            ))),
            Cursor::Before(_) => panic!("a defect of a source"),
        }
    }

    fn email(&self, _id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        Err(SourceError::Unknown)
    }
}

#[tokio::test]
async fn failing_source_gives_500_for_affected_requests() {
    let served = Served::with(100, |_, _| Trouble).await;
    for path in ["/emails?after=1", "/emails?before=1"] {
        let response = served.respond(path).await;
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(json(response).await["name"], "internal_server_error");
    }
    let response = served.respond("/emails").await;
    let text = response.text().await.unwrap();
    let expected = r#"{"object":"list","has_more":false,"data":[{"id":"1","new":1.50}]}"#;
    assert_eq!(text, expected, "items pass verbatim");
}

#[tokio::test]
async fn server_shuts_down_despite_open_connections() {
    let mut served = Served::sample(50).await;
    served.page("limit=1").await;
    let address = served.base.trim_start_matches("http://").to_owned();
    let _silent = TcpStream::connect(&address).await.unwrap();
    let mut half = TcpStream::connect(&address).await.unwrap();
    half.write_all(b"GET /emails HTTP/1.1\r\nhost: x\r\n")
        .await
        .unwrap();
    served.stop.cancel();
    let ended = served.tasks.join_next().await.unwrap();
    ended.unwrap();
    // Not by its port, which a server of another test may have by now.
    let ended = timeout(Duration::from_secs(10), half.read(&mut [0; 64])).await;
    assert!(matches!(ended, Ok(Ok(0) | Err(_))), "it is closed");
}
