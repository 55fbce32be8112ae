//! The attachments of an email: their list, and the download of one.
//!
//! The content is behind a signed link to another host. The API key is never sent there. The link
//! gives the file to anyone, so it is only in the service's own JSON, not in text, errors or logs.

use std::io::{self, Write};

use reqwest::header::ACCEPT_ENCODING;
use reqwest::{Response, StatusCode};
use url::Url;

use super::client::{Client, MAX_REDIRECTS, display_origin, redirect_target};
use super::connect::{READ_TIMEOUT, build_off_loop};
use super::error::{Endpoint, HttpError, RequestError, no_such_email};
use super::{MAX_LIMIT, response};
use crate::config::{BaseUrl, is_loopback};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{Attachment, EmailId};

/// The most bytes of an attachment. An email of the service has at most 40 MB.
const MAX_BYTES: u64 = 100_000_000;

/// The most attachments of an email; a service that ignores cursors repeats them.
const MAX_ATTACHMENTS: usize = 1000;

const TRY_AGAIN: &str = "try again; nothing was kept of it";

impl Client {
    /// Requests another read operation, and returns the response as it came.
    pub(crate) async fn fetch_raw(
        &self,
        segments: &[&str],
        query: Option<&str>,
    ) -> Result<Vec<u8>> {
        for segment in segments {
            checked_segment(segment)?;
        }
        let endpoint = match segments {
            ["suppressions", _] => Endpoint::Suppression,
            ["emails", "metrics"] => Endpoint::Metrics,
            [.., "attachments", _] => Endpoint::Attachment,
            _ => Endpoint::Attachments,
        };
        let mut url = self.inner.config.base_url.join_segments(segments);
        url.set_query(query);
        let parse = |body: &[u8]| Ok(body.to_vec());
        self.send_with_retries(url, endpoint, parse).await
    }

    /// Requests all attachments of an email, page by page.
    pub(super) async fn list_attachments(&self, email: &EmailId) -> Result<Vec<Attachment>> {
        let url = self.email_url(&[checked_segment(email.as_str())?, "attachments"]);
        let mut found: Vec<Attachment> = Vec::new();
        loop {
            let mut url = url.clone();
            url.query_pairs_mut()
                .append_pair("limit", &MAX_LIMIT.to_string())
                .extend_pairs(found.last().map(|last| ("after", &*last.id)));
            let (page, has_more) = self
                .send_with_retries(url, Endpoint::Attachments, response::parse_attachments)
                .await?;
            let known = found.len();
            for item in page {
                if !found.iter().any(|other| other.is_same(&item)) {
                    found.push(item);
                }
            }
            let can_continue = found.last().is_some_and(|last| !last.id.is_empty());
            let is_new = found.len() > known;
            if has_more != Some(true) || !is_new || !can_continue || found.len() >= MAX_ATTACHMENTS
            {
                found.truncate(MAX_ATTACHMENTS);
                return Ok(found);
            }
        }
    }

    /// Requests one attachment again, for a new link.
    async fn retrieve_attachment(&self, email: &EmailId, id: &str) -> Result<Attachment> {
        let segments = [
            checked_segment(email.as_str())?,
            "attachments",
            checked_segment(id)?,
        ];
        let url = self.email_url(&segments);
        self.send_with_retries(url, Endpoint::Attachment, response::parse_attachment)
            .await
    }

    /// Writes the content of an attachment to `sink`, chunk by chunk;
    /// returns its length.
    ///
    /// A link that has ended is requested again once.
    ///
    /// Fails if the link is not https, if the content is not as long as the service says or
    /// longer than [`MAX_BYTES`], or if `sink` fails. What was written until then stays in `sink`.
    pub(crate) async fn download_to<W: Write>(
        &self,
        email: &EmailId,
        attachment: &Attachment,
        sink: &mut W,
    ) -> Result<u64> {
        let now = (self.inner.clock)();
        let is_over = attachment.expires_at.is_some_and(|end| end <= now);
        let mut renewed = None;
        if attachment.download_url.is_none() || is_over {
            let retrieved = self.retrieve_attachment(email, &attachment.id).await;
            renewed = Some(retrieved.map_err(|error| match error.kind {
                // It was listed a moment ago.
                ErrorKind::NoSuchPart if attachment.download_url.is_none() => no_link_error(),
                _ => error,
            })?);
        }
        loop {
            let current = renewed.as_ref().unwrap_or(attachment);
            let size = current.size.or(attachment.size);
            if let Some(size) = size.filter(|size| *size > MAX_BYTES) {
                return Err(too_large_error(size));
            }
            let link = current.download_url.as_deref().ok_or_else(no_link_error)?;
            match self.open_link(link).await {
                Ok((response, host)) => return receive(response, &host, size, sink).await,
                Err(failed) if failed.is_stale && renewed.is_none() => {
                    renewed = Some(self.retrieve_attachment(email, &attachment.id).await?);
                }
                Err(failed) => return Err(failed.error),
            }
        }
    }

    /// Opens a link through its redirects; returns the response and its host.
    async fn open_link(&self, link: &str) -> Result<(Response, String), LinkError> {
        let base = &self.inner.config.base_url;
        let mut url = Url::parse(link).map_err(|_| link_error("is not a URL"))?;
        for _ in 0..=MAX_REDIRECTS {
            check_link(&url, base)?;
            let host = display_origin(&url);
            let http = self.http_client_for(&url).await?;
            let request = http.get(url.clone()).header(ACCEPT_ENCODING, "identity");
            let sent = request.send().await;
            let response = sent.map_err(|error| transport_error(&error, &host))?;
            if let Some(target) = redirect_target(&response, &url) {
                url = target;
                continue;
            }
            if response.status() == StatusCode::OK {
                return Ok((response, host));
            }
            let error = HttpError {
                status: response.status().as_u16(),
                ..HttpError::default()
            };
            let is_stale = error.is_stale_link();
            let error = RequestError::Http(error)
                .into_error(Endpoint::Download, &host)
                .with_hint(TRY_AGAIN);
            return Err(LinkError { error, is_stale });
        }
        Err(link_error("redirects too often").into())
    }

    /// Returns a client; none has the API key, which each request adds.
    async fn http_client_for(&self, url: &Url) -> Result<reqwest::Client> {
        let config = &self.inner.config;
        let is_plain = url.scheme() == "http";
        if is_plain == config.base_url.is_plain_http() {
            return self.inner.http_client().await.cloned();
        }
        build_off_loop(config.ca_file.clone(), is_plain, READ_TIMEOUT).await
    }
}

impl Attachment {
    fn is_same(&self, other: &Self) -> bool {
        if self.id.is_empty() {
            self.json == other.json
        } else {
            self.id == other.id
        }
    }
}

/// Why a link could not be opened.
struct LinkError {
    error: Error,
    /// Whether the link may have ended; a new one may work.
    is_stale: bool,
}

impl From<Error> for LinkError {
    fn from(error: Error) -> Self {
        let is_stale = false;
        Self { error, is_stale }
    }
}

/// Returns a segment of a path; no email has an id that would change the path.
pub(super) fn checked_segment(segment: &str) -> Result<&str> {
    if matches!(segment, "" | "." | "..") {
        return Err(no_such_email());
    }
    Ok(segment)
}

/// Checks that a link is https, or http between programs of this machine.
fn check_link(url: &Url, base: &BaseUrl) -> Result<()> {
    let is_loopback = url.host().is_some_and(|host| is_loopback(&host));
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback && base.is_loopback() => Ok(()),
        "http" => Err(link_error("leads to plain http")),
        _ => Err(link_error("leads to something else than https")),
    }
}

fn no_link_error() -> Error {
    let message = "the service gives no link to this attachment now";
    Error::new(ErrorKind::NoSuchPart, message).with_hint(TRY_AGAIN)
}

fn link_error(problem: &str) -> Error {
    let message = format!("the link of this attachment {problem}; it was not fetched");
    Error::new(ErrorKind::Redirected, message)
}

fn transport_error(error: &reqwest::Error, host: &str) -> Error {
    RequestError::from_reqwest(error)
        .into_error(Endpoint::Download, &host)
        .with_hint(TRY_AGAIN)
}

fn too_large_error(size: u64) -> Error {
    let message = format!(
        "the attachment has {} MB; sentbox fetches at most {} MB",
        size.div_ceil(1_000_000),
        MAX_BYTES / 1_000_000
    );
    Error::new(ErrorKind::NoSuchPart, message)
}

/// Writes a body to `sink`, and compares its length with the stated one.
async fn receive<W: Write>(
    mut response: Response,
    host: &str,
    size: Option<u64>,
    sink: &mut W,
) -> Result<u64> {
    let mut received = 0;
    let next = |error: &reqwest::Error| transport_error(error, host);
    while let Some(chunk) = response.chunk().await.map_err(|error| next(&error))? {
        received += chunk.len() as u64;
        if received > size.unwrap_or(MAX_BYTES) {
            break;
        }
        sink.write_all(&chunk).map_err(|error| sink_error(&error))?;
    }
    match size {
        Some(size) if size != received => {
            let more = if received > size { "more than " } else { "" };
            let received = received.min(size);
            let message =
                format!("{host} sent {more}{received} bytes; the attachment has {size} bytes");
            Err(Error::new(ErrorKind::Unreachable, message).with_hint(TRY_AGAIN))
        }
        None if received > MAX_BYTES => Err(too_large_error(received)),
        _ => Ok(received),
    }
}

fn sink_error(error: &io::Error) -> Error {
    Error::cannot("written", ErrorKind::Io, "the attachment", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_is_https_or_on_this_machine() {
        let check = |link: &str, base: &str| {
            let base = BaseUrl::parse(base).unwrap();
            check_link(&Url::parse(link).unwrap(), &base).is_ok()
        };
        let (remote, local) = ("https://api.example", "http://127.0.0.1:8025");
        for (link, from_remote, from_local) in [
            ("https://cdn.example/a?sig=1", true, true),
            ("http://cdn.example/a", false, false),
            ("http://127.0.0.1:9/a", false, true),
            ("http://[::1]/a", false, true),
            ("http://localhost/a", false, true),
            ("http://localhost.cdn.example/a", false, false),
            ("http://2130706433/a", false, true),
            ("ftp://127.0.0.1/a", false, false),
            ("file:///etc/passwd", false, false),
            ("data:text/plain,a", false, false),
        ] {
            assert_eq!(check(link, remote), from_remote, "{link}");
            assert_eq!(check(link, local), from_local, "{link}");
        }
    }
}
