//! The faults of a service as one table, with the expected result of `list`,
//! `show`, `sync` and the terminal program.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use sentbox::api::RetryPolicy;
use sentbox::error::ErrorKind;

use super::faulty_server::{Answer, Does, Request, gzip, http, packed, refused, refused_with};
use contents::{fields, pages};

#[path = "fault_contents.rs"]
mod contents;

#[derive(Debug, Clone, Copy)]
pub enum End {
    Well,
    /// An error of this kind, whose message contains this text.
    Fails(ErrorKind, &'static str),
}

/// How often a failing request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tries {
    Once,
    /// Until the retry policy ends.
    Again,
}

pub struct Row {
    pub name: &'static str,
    pub does: Does,
    pub list: End,
    /// The command `list`, which continues after a short page.
    pub listing: Option<End>,
    pub show: End,
    pub sync: End,
    pub tries: Tries,
    /// The service does not respond, so that time must pass.
    pub is_silent: bool,
    /// The list differs from the service's mail, and the client cannot notice.
    pub garbles: bool,
    /// It requests a pause that outlasts the fault.
    pub lasts: bool,
    /// The most requests of a success, and of one attempt of a failure.
    pub most: usize,
    pub each: usize,
}

fn row(name: &'static str, does: Does) -> Row {
    let (list, show, sync) = (End::Well, End::Well, End::Well);
    Row {
        name,
        does,
        list,
        listing: None,
        show,
        sync,
        tries: Tries::Once,
        is_silent: false,
        garbles: false,
        lasts: false,
        most: 6,
        each: 1,
    }
}

impl Row {
    fn fails(mut self, kind: ErrorKind, words: &'static str) -> Self {
        self.list = End::Fails(kind, words);
        self.show(kind, words).sync(kind, words)
    }

    fn show(mut self, kind: ErrorKind, words: &'static str) -> Self {
        self.show = End::Fails(kind, words);
        self
    }

    /// Only `sync` is affected.
    fn sync(mut self, kind: ErrorKind, words: &'static str) -> Self {
        self.sync = End::Fails(kind, words);
        self
    }

    /// The command `list` is affected, too.
    fn listing(mut self, kind: ErrorKind, words: &'static str) -> Self {
        self.listing = Some(End::Fails(kind, words));
        self
    }

    fn again(mut self) -> Self {
        self.tries = Tries::Again;
        self
    }

    fn silent(mut self) -> Self {
        self.is_silent = true;
        self.again()
    }

    fn garbles(mut self) -> Self {
        self.garbles = true;
        self
    }

    fn lasts(mut self) -> Self {
        self.lasts = true;
        self
    }

    fn most(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    fn each(mut self, each: usize) -> Self {
        self.each = each;
        self
    }

    /// Returns a retry policy that takes no time unless the service is silent.
    pub fn patience(&self, tries: u32) -> RetryPolicy {
        let total = Duration::from_secs(if self.is_silent { 1 } else { 60 });
        RetryPolicy {
            max_attempts: tries,
            total_timeout: total,
            max_server_pauses: Duration::ZERO,
            initial_backoff: Duration::from_millis(1),
            cancel_grace: Duration::ZERO,
        }
    }

    /// Returns the most requests, given the attempts of a failing one.
    pub fn at_most(&self, end: End, tries: usize) -> usize {
        match (end, self.tries) {
            (End::Well, _) => self.most,
            (End::Fails(..), Tries::Once) => self.each,
            (End::Fails(..), Tries::Again) => self.each * tries,
        }
    }
}

pub const ERROR: &str = r#"{"statusCode":500,"name":"internal_server_error","message":"oh dear"}"#;
pub const NONSENSE: &str = "not this API's JSON";
pub const CIRCLES: &str = "sends no new ones";
pub const UNREADABLE: &str = "not every email on the service's pages could be read";

fn body(text: &str) -> Answer {
    Answer::Body(text.as_bytes().to_vec())
}

fn raw(status: &str, headers: &str, body: &str) -> Answer {
    Answer::Raw(http(status, headers, body.as_bytes()))
}

fn ok(headers: &str, body: &[u8]) -> Answer {
    Answer::Raw(http("200 OK", headers, body))
}

/// Answers the first request so, and the others correctly.
fn first(n: usize, answer: Answer) -> Answer {
    if n < 1 { answer } else { Answer::Honest }
}

/// Answers requests for one email so, and those for a page correctly.
fn single(request: &Request, answer: Answer) -> Answer {
    if request.is_list() {
        Answer::Honest
    } else {
        answer
    }
}

fn half(request: &Request) -> Vec<u8> {
    let whole = request.whole();
    whole[..whole.len() / 2].to_vec()
}

/// Returns all faults, by layer.
pub fn table() -> Vec<Row> {
    [
        connections(),
        statuses(),
        redirects(),
        limits(),
        bodies(),
        fields(),
        pages(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[rustfmt::skip] // one fault a line, if it is short
fn connections() -> Vec<Row> {
    use ErrorKind::{NotTheApi, Unreachable};
    vec![
        row("a good service", |_, _| Answer::Honest),
        row("never answers", |_, _| Answer::Silence(vec![])).fails(Unreachable, "timed out").silent(),
        row("answers half", |request, _| Answer::Silence(half(request))).fails(Unreachable, "timed out").silent(),
        row("half a header", |_, _| Answer::Silence(b"HTTP/1.1 200 OK\r\ncont".to_vec())).fails(Unreachable, "timed out").silent(),
        row("resets", |_, _| Answer::Reset(vec![])).fails(Unreachable, "closed before the response was complete").again(),
        row("closes at once", |_, _| Answer::Closed(vec![])).fails(Unreachable, "closed before the response was complete").again(),
        row("resets half-way", |request, _| Answer::Reset(half(request))).fails(Unreachable, "closed before the response was complete").again(),
        row("closes half-way", |request, _| Answer::Closed(half(request))).fails(Unreachable, "closed before the response was complete").again(),
        row("resets at times", |request, n| {
            if request.before == 0 && n % 3 == 1 {
                Answer::Reset(half(request))
            } else {
                Answer::Honest
            }
        })
        .most(9),
        row("closes each connection", |request, _| Answer::Closed(request.whole())),
        row("is not HTTP", |_, _| Answer::Closed(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec())).fails(NotTheApi, "invalid HTTP response"),
        row("HTTP/1.0", |request, _| Answer::Closed([b"HTTP/1.0 200 OK\r\n\r\n", request.body()].concat())),
        row("a header without end", |request, _| {
            let header = format!("x-big: {}\r\n", "a".repeat(4_000_000));
            ok(&header, request.body())
        })
        .fails(NotTheApi, "invalid HTTP response"),
        row("thousands of headers", |request, _| {
            let headers = "x-one: of many\r\n".repeat(20_000);
            ok(&headers, request.body())
        })
        .fails(NotTheApi, "invalid HTTP response"),
        row("broken chunks", |_, _| {
            Answer::Raw(
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n"
                    .to_vec(),
            )
        })
        .fails(NotTheApi, "invalid HTTP response"),
        row("a hint before the answer", |request, _| {
            Answer::Raw(
                [
                    b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".to_vec(),
                    request.whole(),
                ]
                .concat(),
            )
        }),
    ]
}

#[rustfmt::skip] // one fault a line, if it is short
fn statuses() -> Vec<Row> {
    use ErrorKind::{InvalidRequest, KeyRejected, KeySendOnly, NotFound, NotTheApi, Server};
    vec![
        row("500 for ever", |_, _| raw("500 Oops", "", ERROR)).fails(Server, "server error from").again(),
        row("500 once", |_, n| first(n, raw("500 Oops", "", ERROR))).most(8),
        row("500 at first", |request, _| first(request.before, raw("503 Busy", "", "one moment"))).most(12),
        row("a wrong key, 401", |_, _| refused("401 No", "validation_error", "API key is invalid")).fails(KeyRejected, "does not accept the API key"),
        row("a key for sending", |_, _| {
            refused(
                "401 No",
                "restricted_api_key",
                "This API key is restricted to only send emails",
            )
        })
        .fails(KeySendOnly, "may send mail but not read it"),
        row("a key revoked meanwhile", |_, n| {
            if n < 2 {
                Answer::Honest
            } else {
                refused("401 No", "validation_error", "API key is invalid")
            }
        })
        .sync(KeyRejected, "does not accept the API key"),
        row("no email is found", |request, _| single(request, refused("404 No", "not_found", "Email not found"))).show(NotFound, "has no such email"),
        row("no id will do", |request, _| {
            single(
                request,
                refused(
                    "422 No",
                    "validation_error",
                    "The `id` must be a valid UUID",
                ),
            )
        })
        .show(NotFound, "invalid email id"),
        row("another service", |_, _| raw("404 No", "", "<html>Not found</html>")).fails(NotTheApi, "404"),
        row("not modified, 304", |_, _| Answer::Raw(b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec())).fails(NotTheApi, "304"),
        row("an error that commands the terminal", |_, _| {
            refused(
                "400 No",
                "validation_error",
                "bad \u{1b}]0;HX\u{7}\u{1b}[2J\u{9b}31m\u{202e} request",
            )
        })
        .fails(InvalidRequest, "bad \u{fffd}]0;HX"),
        row("a proxy requires a password", |_, _| raw("407 Who", "", "")).fails(ErrorKind::Unreachable, "proxy"),
    ]
}

#[rustfmt::skip] // one fault a line, if it is short
fn redirects() -> Vec<Row> {
    use ErrorKind::Redirected;
    vec![
        row("sent on to another host", |_, _| raw("307 On", "location: http://elsewhere.test/emails\r\n", "")).fails(Redirected, "the API key was not sent"),
        row("sent on to another port", |_, _| raw("308 On", "location: http://127.0.0.1:1/emails\r\n", "")).fails(Redirected, "http://127.0.0.1:1"),
        row("sent on to a file", |_, _| raw("302 On", "location: file:///etc/passwd\r\n", "")).fails(Redirected, "a file: URL"),
        row("sent on to itself", |request, _| raw("302 On", &format!("location: {}\r\n", request.target), "")).fails(Redirected, "too many redirects").each(4),
        row("sent on once within", |request, _| {
            let target = &request.target;
            if target.contains("again") {
                return Answer::Honest;
            }
            let mark = if target.contains('?') { '&' } else { '?' };
            raw("308 On", &format!("location: {target}{mark}again=1\r\n"), "")
        })
        .most(12),
    ]
}

#[rustfmt::skip] // one fault a line, if it is short
fn limits() -> Vec<Row> {
    use ErrorKind::{Quota, RateLimited};
    fn busy(headers: &str) -> Answer {
        let message = "Too many requests. You can only make 2 requests per second.";
        refused_with("429 No", headers, "rate_limit_exceeded", message)
    }
    vec![
        row("too many, once", |_, n| first(n, busy("retry-after: 0\r\n"))).most(8),
        row("too many, at a date", |_, n| {
            let date = "date: Fri, 20 Nov 2026 09:42:00 GMT\r\nretry-after: Fri, 20 Nov 2026 09:42:00 GMT\r\n";
            first(n, busy(date))
        })
        .most(8),
        row("too many, and a strange time", |_, n| first(n, busy("retry-after: -5\r\n"))).most(7),
        row("too many, for a day", |_, _| busy("retry-after: 86400\r\n")).fails(RateLimited, "too many requests").lasts(),
        row("too many, without a body", |_, _| raw("429 No", "retry-after: 86400\r\n", "")).fails(RateLimited, "too many requests").lasts(),
        row("the day's quota", |_, _| {
            let message = "You have reached your daily email quota.";
            refused("429 No", "daily_quota_exceeded", message)
        })
        .fails(Quota, "quota is used up"),
    ]
}

#[rustfmt::skip] // one fault a line, if it is short
fn bodies() -> Vec<Row> {
    use ErrorKind::NotTheApi;
    vec![
        row("a log-in page", |_, _| body("<!doctype html><title>Sign in to Wi-Fi</title>")).fails(NotTheApi, "Sign in to Wi-Fi"),
        row("nothing at all", |_, _| body("")).fails(NotTheApi, NONSENSE),
        row("an empty object", |_, _| body("{}")).fails(NotTheApi, NONSENSE),
        row("an error with 200", |_, _| body(ERROR)).fails(NotTheApi, "oh dear"),
        row("broken JSON", |_, _| body(r#"{"object":"list","data":[,}"#)).fails(NotTheApi, NONSENSE).again(),
        row("JSON cut short", |request, _| Answer::Body(request.body()[..request.body().len() / 2].to_vec())).fails(NotTheApi, NONSENSE).again(),
        row("very deep JSON", |_, _| body(&"[".repeat(200_000))).fails(NotTheApi, NONSENSE),
        row("gzip that is none", |request, _| ok("content-encoding: gzip\r\n", request.body())).fails(NotTheApi, "gzip data is invalid").again(),
        row("gzip of two members", |request, _| {
            let (one, other) = request.body().split_at(request.body().len() / 2);
            let body = [gzip(one), gzip(other)].concat();
            ok("content-encoding: gzip\r\n", &body)
        }),
        row("a gzip bomb", |_, _| ok("content-encoding: gzip\r\n", &packed(30))).fails(NotTheApi, "larger than 24 MB"),
        row("a byte order mark", |request, _| Answer::Body([b"\xef\xbb\xbf", request.body()].concat())),
        row("no content type", |request, _| ok("", request.body())),
        row("a wrong content type", |request, _| ok("content-type: image/png\r\n", request.body())),
        row("numbers beyond measure", |request, _| {
            request.replaced(
                r#"{"object""#,
                r#"{"x":1e400,"y":123456789012345678901234567890,"object""#,
            )
        }),
        row("members twice", |request, _| request.replaced(r#""subject":"#, r#""subject":"first","subject":"#)),
        row("no UTF-8", |request, _| {
            Answer::Body([&b"{\"x\":\"\xff\xfe\","[..], &request.body()[1..]].concat())
        }),
        row("half a surrogate", |request, _| {
            Answer::Body([&b"{\"x\":\"\\ud83d\","[..], &request.body()[1..]].concat())
        }),
        row("an email of 30 MB", |request, _| {
            if request.is_list() {
                Answer::Honest
            } else {
                request.changed(|email| email["html"] = "x".repeat(30 << 20).into())
            }
        })
        .show(NotTheApi, "larger than 24 MB"),
    ]
}

/// Runs `test` for each row, several at once because some wait.
pub async fn for_each<'a, F: Future<Output = ()>>(
    rows: impl IntoIterator<Item = &'a Row>,
    test: impl Fn(&'a Row) -> F,
) {
    stream::iter(rows).for_each_concurrent(8, test).await;
}
