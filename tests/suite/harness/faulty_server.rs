//! A server with a chosen fault, over real connections, that counts requests.

use std::io::Write as _;
use std::sync::{Arc, LazyLock, Mutex};

use sentbox::api::Cursor;
use sentbox::mail::EmailId;
use sentbox::server::EmailSource as _;
use sentbox::server::sample::SampleMailbox;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub const START: &str = "2026-11-20T09:42:00Z";
/// The emails in all and of a page: enough for three pages.
const EMAILS: u32 = 32;
const PAGE: u8 = 14;

/// Returns the answer to a request, given its number since the fault was set.
pub type Does = fn(&Request, usize) -> Answer;

/// What a connection receives.
pub enum Answer {
    /// The correct response; the connection stays open.
    Honest,
    /// This body instead of the correct one.
    Body(Vec<u8>),
    /// These bytes; the connection stays open.
    Raw(Vec<u8>),
    /// These bytes, then the end of the connection.
    Closed(Vec<u8>),
    /// These bytes, then silence as long as the client waits.
    Silence(Vec<u8>),
    /// These bytes, then a reset.
    Reset(Vec<u8>),
}

/// A request with its correct response.
pub struct Request {
    /// Its path with its query.
    pub target: String,
    /// The id behind `after=`, if there is one.
    pub after: Option<String>,
    /// How often it came before; requests may arrive in any order.
    pub before: usize,
    status: u16,
    body: String,
}

impl Request {
    pub fn is_list(&self) -> bool {
        !self.target.contains("/emails/")
    }

    /// Returns the correct response after `change`.
    pub fn changed(&self, change: impl FnOnce(&mut Value)) -> Answer {
        let mut value = serde_json::from_str(&self.body).unwrap();
        change(&mut value);
        Answer::Body(value.to_string().into_bytes())
    }

    /// Returns the correct response after `change` of each email in it.
    pub fn each(&self, change: fn(&mut Value)) -> Answer {
        self.changed(|value| match value.get_mut("data") {
            Some(data) => data.as_array_mut().unwrap().iter_mut().for_each(change),
            None => change(value),
        })
    }

    /// Returns the correct response with `old` replaced by `new` once.
    pub fn replaced(&self, old: &str, new: &str) -> Answer {
        Answer::Body(self.body.replacen(old, new, 1).into_bytes())
    }

    pub fn body(&self) -> &[u8] {
        self.body.as_bytes()
    }

    /// Returns the correct response with its headers.
    pub fn whole(&self) -> Vec<u8> {
        http(&format!("{} Answer", self.status), "", self.body())
    }
}

/// Formats a response; each header has its line end.
pub fn http(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

/// Answers with an error as the service formats it.
pub fn refused(status: &str, name: &str, message: &str) -> Answer {
    refused_with(status, "", name, message)
}

/// The same with headers.
pub fn refused_with(status: &str, headers: &str, name: &str, message: &str) -> Answer {
    let code: u16 = status[..3].parse().unwrap();
    let body = json!({ "statusCode": code, "name": name, "message": message }).to_string();
    Answer::Raw(http(status, headers, body.as_bytes()))
}

/// Returns a gzip body of so many megabytes of spaces.
pub fn packed(megabytes: usize) -> Vec<u8> {
    gzip(&vec![b' '; megabytes << 20])
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The current fault and the targets of the requests since it was set.
type State = Mutex<(Does, Vec<String>)>;

/// The server; it stops when this is dropped.
pub struct Faulty {
    state: Arc<State>,
    base: String,
    _serving: JoinSet<()>,
}

impl Faulty {
    /// Starts a server without a fault.
    pub async fn start() -> Self {
        let state = Arc::new(State::new((|_, _| Answer::Honest, Vec::new())));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let mut serving = JoinSet::new();
        let answering = state.clone();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(converse(stream, answering.clone()));
            }
        });
        Self {
            state,
            base,
            _serving: serving,
        }
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// Sets the fault and resets the count.
    pub fn does(&self, does: Does) {
        *self.state.lock().unwrap() = (does, Vec::new());
    }

    /// Returns the requests since the fault was set.
    pub fn request_count(&self) -> usize {
        self.state.lock().unwrap().1.len()
    }
}

async fn converse(mut stream: TcpStream, state: Arc<State>) {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8(head).unwrap();
        let mut request = good(head.split(' ').nth(1).unwrap());
        let answer = {
            let mut does = state.lock().unwrap();
            let (does, so_far) = &mut *does;
            request.before = so_far
                .iter()
                .filter(|target| **target == request.target)
                .count();
            so_far.push(request.target.clone());
            does(&request, so_far.len() - 1)
        };
        // The client may hang up first.
        match answer {
            Answer::Honest => drop(stream.write_all(&request.whole()).await),
            Answer::Body(body) => drop(stream.write_all(&http("200 OK", "", &body)).await),
            Answer::Raw(bytes) => drop(stream.write_all(&bytes).await),
            Answer::Closed(bytes) => return drop(stream.write_all(&bytes).await),
            Answer::Silence(bytes) => {
                drop(stream.write_all(&bytes).await);
                drop(stream.read_u8().await);
                return;
            }
            Answer::Reset(bytes) => {
                drop(stream.write_all(&bytes).await);
                return drop(stream.set_zero_linger());
            }
        }
    }
}

static MAILBOX: LazyLock<SampleMailbox> = LazyLock::new(|| {
    let now: jiff::Timestamp = START.parse().unwrap();
    SampleMailbox::new(7, EMAILS, now, Arc::new(move || now))
});

/// Returns all emails with their ids, newest first.
pub fn truth() -> &'static [(String, Value)] {
    static TRUTH: LazyLock<Vec<(String, Value)>> = LazyLock::new(|| list_all(&MAILBOX));
    &TRUTH
}

/// Returns all emails of a mailbox with their ids, newest first.
pub fn list_all(mailbox: &SampleMailbox) -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = Vec::new();
    loop {
        let last = all.last().map(|(id, _)| Cursor::After(EmailId::new(id)));
        let page = mailbox.page(&last.unwrap_or(Cursor::Start), 100).unwrap();
        for json in page.data {
            let email: Value = serde_json::from_str(json.get()).unwrap();
            all.push((email["id"].as_str().unwrap().to_owned(), email));
        }
        if !page.has_more {
            return all;
        }
    }
}

/// Computes the correct response; pages are short.
fn good(target: &str) -> Request {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let after = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("after="))
        .map(str::to_owned);
    let start = || Cursor::Start;
    let cursor = after
        .as_ref()
        .map_or_else(start, |id| Cursor::After(EmailId::new(id)));
    let body = match path.strip_prefix("/emails/") {
        Some(id) => MAILBOX
            .email(&EmailId::new(id))
            .ok()
            .map(|email| email.get().to_owned()),
        None => MAILBOX.page(&cursor, PAGE).ok().map(|page| {
            json!({ "object": "list", "has_more": page.has_more, "data": page.data }).to_string()
        }),
    };
    let unknown =
        || r#"{"statusCode":404,"name":"not_found","message":"Email not found"}"#.to_owned();
    let status = if body.is_some() { 200 } else { 404 };
    Request {
        target: target.to_owned(),
        after,
        before: 0,
        status,
        body: body.unwrap_or_else(unknown),
    }
}
