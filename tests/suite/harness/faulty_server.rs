//! A service that misbehaves as told, over real connections, and counts what it is asked.

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

/// When everything here takes place.
pub const START: &str = "2026-11-20T09:42:00Z";
/// How many emails there are, and how many of them a page holds at most: enough for three pages.
const EMAILS: u32 = 32;
const PAGE: usize = 14;

/// What is answered to the request of this number, counted from 0 for each fault.
pub type Does = fn(&Asked, usize) -> Answer;

/// What a connection gets to see.
pub enum Answer {
    /// What a good service says, and the connection stays.
    Honest,
    /// This body in place of a good one.
    Body(Vec<u8>),
    /// These bytes, and the connection stays.
    Raw(Vec<u8>),
    /// These bytes and the end of the connection.
    Closed(Vec<u8>),
    /// These bytes, and then silence for as long as the client waits.
    Silence(Vec<u8>),
    /// A reset, after these bytes.
    Reset(Vec<u8>),
}

/// A request, and what a good service would say to it.
pub struct Asked {
    /// Its path with its query.
    pub target: String,
    /// The id behind `after=`, if there is one.
    pub after: Option<String>,
    /// How often it was asked before. Requests may cross each other: who fails the next one hits whichever it is.
    pub before: usize,
    status: u16,
    body: String,
}

impl Asked {
    /// Whether it is for a page.
    pub fn is_list(&self) -> bool {
        !self.target.contains("/emails/")
    }

    /// The good answer with something done to it.
    pub fn changed(&self, change: impl FnOnce(&mut Value)) -> Answer {
        let mut value = serde_json::from_str(&self.body).unwrap();
        change(&mut value);
        Answer::Body(value.to_string().into_bytes())
    }

    /// The good answer with something done to each email in it.
    pub fn each(&self, change: fn(&mut Value)) -> Answer {
        self.changed(|value| match value.get_mut("data") {
            Some(data) => data.as_array_mut().unwrap().iter_mut().for_each(change),
            None => change(value),
        })
    }

    /// The good answer with a text put in place of another.
    pub fn replaced(&self, old: &str, new: &str) -> Answer {
        Answer::Body(self.body.replacen(old, new, 1).into_bytes())
    }

    /// The good body.
    pub fn body(&self) -> &[u8] {
        self.body.as_bytes()
    }

    /// The good answer in full.
    pub fn whole(&self) -> Vec<u8> {
        http(&format!("{} Answer", self.status), "", self.body())
    }
}

/// An answer with this status line, these headers (each with its line end) and this body.
pub fn http(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// The service's own kind of error.
pub fn refused(status: &str, headers: &str, name: &str, message: &str) -> Answer {
    let code: u16 = status[..3].parse().unwrap();
    let body = json!({ "statusCode": code, "name": name, "message": message }).to_string();
    Answer::Raw(http(status, headers, body.as_bytes()))
}

/// So many bytes, packed, of a body that is all blanks.
pub fn packed(megabytes: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let blanks = vec![b' '; 1 << 20];
    (0..megabytes).for_each(|_| encoder.write_all(&blanks).unwrap());
    encoder.finish().unwrap()
}

/// These bytes, packed.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What is done, and the targets of the requests that it was done to.
type State = Mutex<(Does, Vec<String>)>;

/// The service; it ends with this value.
pub struct Faulty {
    state: Arc<State>,
    base: String,
    _serving: JoinSet<()>,
}

impl Faulty {
    /// A good service, until it is told otherwise.
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

    /// From now on it does this.
    pub fn does(&self, does: Does) {
        *self.state.lock().unwrap() = (does, Vec::new());
    }

    /// Requests since it was told last.
    pub fn asked(&self) -> usize {
        self.state.lock().unwrap().1.len()
    }
}

/// Answers one request after the other, as a connection that is kept alive.
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
        let mut asked = good(head.split(' ').nth(1).unwrap());
        let answer = {
            let mut does = state.lock().unwrap();
            let (does, so_far) = &mut *does;
            asked.before = so_far
                .iter()
                .filter(|target| **target == asked.target)
                .count();
            so_far.push(asked.target.clone());
            does(&asked, so_far.len() - 1)
        };
        // A client that has heard enough may hang up first.
        match answer {
            Answer::Honest => drop(stream.write_all(&asked.whole()).await),
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

/// All emails with their ids as a good service lists them, newest first.
pub fn truth() -> &'static [(String, Value)] {
    static TRUTH: LazyLock<Vec<(String, Value)>> = LazyLock::new(|| {
        let page = MAILBOX.page(&Cursor::Start, 100).unwrap();
        let emails = page
            .data
            .iter()
            .map(|json| serde_json::from_str::<Value>(json.get()).unwrap());
        emails
            .map(|email| (email["id"].as_str().unwrap().to_owned(), email))
            .collect()
    });
    &TRUTH
}

/// What a good service says; it is one that gives short pages.
fn good(target: &str) -> Asked {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let after = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("after="))
        .map(str::to_owned);
    let all = truth();
    let from = after.as_ref().map_or(Some(0), |after| {
        all.iter()
            .position(|(id, _)| id == after)
            .map(|place| place + 1)
    });
    let body = match path.strip_prefix("/emails/") {
        Some(id) => MAILBOX
            .email(&EmailId::new(id))
            .ok()
            .map(|email| email.get().to_owned()),
        None => from.map(|from| {
            let data: Vec<&Value> = all[from..]
                .iter()
                .map(|(_, email)| email)
                .take(PAGE)
                .collect();
            json!({ "object": "list", "has_more": from + PAGE < all.len(), "data": data })
                .to_string()
        }),
    };
    let unknown =
        || r#"{"statusCode":404,"name":"not_found","message":"Email not found"}"#.to_owned();
    let status = if body.is_some() { 200 } else { 404 };
    Asked {
        target: target.to_owned(),
        after,
        before: 0,
        status,
        body: body.unwrap_or_else(unknown),
    }
}
