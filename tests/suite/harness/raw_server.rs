//! A server that sends chosen bytes, one response a connection.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use super::faulty_server::http;

/// A server on loopback; it runs until the test program ends.
pub struct RawServer {
    pub base: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl RawServer {
    /// Sends each connection the next response, and repeats the last one.
    pub fn start<T: Into<Vec<u8>>>(responses: impl IntoIterator<Item = T>) -> Self {
        let mut responses: Vec<Vec<u8>> = responses.into_iter().map(Into::into).collect();
        responses.reverse();
        Self::with(move |_| match responses.len() {
            1 => responses[0].clone(),
            _ => responses.pop().unwrap(),
        })
    }

    /// Sends what `respond` returns for the head of a request.
    pub fn with(respond: impl FnMut(&str) -> Vec<u8> + Send + 'static) -> Self {
        Self::spawn(respond, false)
    }

    /// Sends these bytes to each connection, and leaves it open.
    pub fn holding(bytes: &'static [u8]) -> Self {
        Self::spawn(move |_| bytes.to_vec(), true)
    }

    fn spawn(mut respond: impl FnMut(&str) -> Vec<u8> + Send + 'static, leaves_open: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap();
                let response = respond(&head);
                log.lock().unwrap().push(head);
                // The client may have closed the connection.
                let _ = stream.write_all(&response);
                if leaves_open {
                    open.push(stream);
                }
            }
        });
        Self { base, requests }
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Formats a response that ends its connection; each header has its line end.
pub fn response(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let headers = format!("connection: close\r\n{headers}");
    http(status, &headers, body.as_ref())
}
