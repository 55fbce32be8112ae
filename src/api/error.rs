//! The causes of failed requests, and their only conversion to errors for users.

use std::error::Error as _;
use std::fmt::Display;
use std::io;
use std::time::Duration;

use rustls::CertificateError::{ExpiredContext, NotValidYetContext};
use rustls::pki_types::UnixTime;
use serde_json::Value;

use super::proxy::{Proxy, TUNNEL_ERROR};
use super::request::RetryAction;
use crate::config::BaseUrl;
use crate::error::{Error, ErrorKind};
use crate::mail::Mailbox;
use crate::text::format::{excerpt, first_chars, format_pause, is_listed};
use crate::text::sanitize::sanitize_line;

/// The most bytes of a response body, decompressed.
pub(super) const MAX_BODY: usize = 24 << 20;

/// Characters of a foreign text that are stored for its excerpt.
const MAX_EXCERPT: usize = 4096;

/// Why a request failed.
#[derive(Debug)]
pub(super) enum RequestError {
    /// It was cancelled, must wait too long, or cannot be built, as without a key.
    NotSent(Error),
    UnknownHost,
    ConnectionRefused,
    /// No trusted connection, with the cause from the TLS library.
    Tls(String),
    /// No connection for another reason.
    ConnectFailed(String),
    Proxy(String),
    /// The service or the network did not respond in time.
    Timeout,
    ConnectionBroken,
    NotHttp,
    /// The body is not the gzip that its header names, or is cut off.
    InvalidGzip,
    /// The body has this encoding, which was not requested.
    UnknownEncoding(String),
    /// More than [`MAX_BODY`] was received.
    BodyTooLarge,
    /// The body is not the API's JSON:
    /// its start, as it was sent, and whether it looks like truncated JSON.
    UnexpectedBody {
        body_prefix: String,
        is_truncated: bool,
    },
    /// The response holds another email than the requested one.
    WrongEmail,
    /// A redirect to this other origin.
    CrossOriginRedirect(String),
    RedirectLoop,
    /// A status other than 200, from the service or from a proxy before it.
    Http(HttpError),
}

/// A response with a status other than 200.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HttpError {
    pub(super) status: u16,
    /// The service's stable code, if the body was the API's JSON.
    pub(super) name: String,
    /// The service's message, or the start of any other body; as it was sent.
    pub(super) message: String,
    /// Whether the body was a JSON error of this API or of an imitator.
    pub(super) is_api_error: bool,
    pub(super) retry_after: Option<Duration>,
}

/// The operation of a request, which the message of an error depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    FirstPage,
    /// The first page of received mail, which not every service lists.
    FirstReceivedPage,
    PageAtCursor,
    Email,
    Attachments,
    Attachment,
    Suppression,
    Metrics,
    /// The link of an attachment, which is on another host.
    Download,
    Changes,
}

impl Endpoint {
    /// Returns the method and path without ids: they are foreign, and may be anything.
    pub(super) const fn as_str(self, mailbox: Mailbox) -> &'static str {
        let is_sent = matches!(mailbox, Mailbox::Sent);
        match self {
            Self::FirstPage | Self::PageAtCursor if is_sent => "GET /emails",
            Self::FirstPage | Self::FirstReceivedPage | Self::PageAtCursor => {
                "GET /emails/receiving"
            }
            Self::Email if is_sent => "GET /emails/{id}",
            Self::Email => "GET /emails/receiving/{id}",
            Self::Attachments if is_sent => "GET /emails/{id}/attachments",
            Self::Attachments => "GET /emails/receiving/{id}/attachments",
            Self::Attachment if is_sent => "GET /emails/{id}/attachments/{attachment_id}",
            Self::Attachment => "GET /emails/receiving/{id}/attachments/{attachment_id}",
            Self::Suppression => "GET /suppressions/{address}",
            Self::Metrics => "GET /emails/metrics",
            Self::Download => "GET download_url",
            Self::Changes => "GET /sentbox/events",
        }
    }

    /// Whether it adds to an email what not every service has.
    pub(super) const fn is_lookup(self) -> bool {
        matches!(self, Self::Attachments | Self::Suppression | Self::Metrics)
    }

    /// Returns the request for the newest emails of a listing.
    pub(super) const fn first_page(mailbox: Mailbox) -> Self {
        match mailbox {
            Mailbox::Sent => Self::FirstPage,
            Mailbox::Received => Self::FirstReceivedPage,
        }
    }
}

/// Parts of the messages by which a peer without HTTP is recognised.
const NOT_HTTP_MESSAGES: [&str; 4] = [
    "invalid HTTP",
    "message head is too large",
    "invalid chunk",
    "Invalid chunk",
];

impl RequestError {
    /// Returns a code for the log, which quotes nothing foreign.
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::NotSent(_) => "not_sent",
            Self::UnknownHost => "unknown_host",
            Self::ConnectionRefused => "connection_refused",
            Self::Tls(_) => "tls",
            Self::ConnectFailed(_) => "connect_failed",
            Self::Proxy(_) => "proxy",
            Self::Timeout => "timeout",
            Self::ConnectionBroken => "connection_broken",
            Self::NotHttp => "not_http",
            Self::InvalidGzip => "invalid_gzip",
            Self::UnknownEncoding(_) => "unknown_encoding",
            Self::BodyTooLarge => "body_too_large",
            Self::UnexpectedBody { .. } => "unexpected_body",
            Self::WrongEmail => "wrong_email",
            Self::CrossOriginRedirect(_) => "cross_origin_redirect",
            Self::RedirectLoop => "redirect_loop",
            Self::Http(_) => "http_status",
        }
    }

    /// Creates the error for a body that is not the API's JSON.
    pub(super) fn unexpected_body(text: &str, error: &serde_json::Error) -> Self {
        let is_object = text.trim_start().starts_with('{');
        Self::UnexpectedBody {
            body_prefix: text.chars().take(MAX_EXCERPT).collect(),
            is_truncated: is_object && (error.is_eof() || error.is_syntax()),
        }
    }

    /// Finds the cause of a failed transport.
    pub(super) fn from_reqwest(error: &reqwest::Error) -> Self {
        let causes: Vec<&dyn std::error::Error> =
            std::iter::successors(error.source(), |&cause| cause.source()).collect();
        let io_errors = || {
            causes
                .iter()
                .filter_map(|cause| cause.downcast_ref::<io::Error>())
        };
        let is_refused = io_errors().any(|io| io.kind() == io::ErrorKind::ConnectionRefused);
        let tls = io_errors().find_map(find_tls_error);
        let mut messages: Vec<String> = causes
            .iter()
            .map(|cause| sanitize_line(&cause.to_string()).into_owned())
            .collect();
        let mentions = |parts: &[&str]| {
            let mut messages = messages.iter();
            messages.any(|message| parts.iter().any(|part| message.contains(part)))
        };
        if mentions(&[TUNNEL_ERROR]) {
            let cause = messages.pop().unwrap_or_default();
            let proxy = Proxy::from_env();
            return Self::Proxy(proxy.describe_error(error.is_dns(), is_refused, &cause));
        }
        match (error.is_connect(), error.is_timeout()) {
            _ if error.is_dns() => Self::UnknownHost,
            // One timeout covers the connection and the TLS handshake.
            (true, true) if error.url().is_some_and(|url| url.scheme() == "https") => {
                Self::ConnectFailed("connection or TLS handshake timed out".to_owned())
            }
            (true, true) => Self::ConnectFailed("connection timed out".to_owned()),
            (false, true) => Self::Timeout,
            (false, false) if mentions(&NOT_HTTP_MESSAGES) => Self::NotHttp,
            (false, false) => Self::ConnectionBroken,
            (true, false) if is_refused => Self::ConnectionRefused,
            (true, false) if mentions(&["handshake eof"]) => {
                Self::ConnectFailed("closed during the TLS handshake".to_owned())
            }
            (true, false) if mentions(&[AUTHORITY_ERROR]) => Self::Tls(format!(
                "self-signed certificate, or one of an authority ({IS_AUTHORITY})"
            )),
            (true, false) if let Some(tls) = tls => {
                Self::Tls(sanitize_line(&describe_tls(tls)).into_owned())
            }
            (true, false) => Self::ConnectFailed(messages.pop().unwrap_or_default()),
        }
    }

    /// Whether the service refused the request because there were too many (429).
    pub(super) const fn is_rate_limit(&self) -> bool {
        matches!(self, Self::Http(HttpError { status: 429, .. }))
    }

    /// The retry that may help; no request changes anything.
    pub(super) fn retry_action(&self) -> RetryAction {
        match self {
            Self::Timeout
            | Self::ConnectionBroken
            | Self::InvalidGzip
            | Self::UnexpectedBody {
                is_truncated: true, ..
            } => RetryAction::Backoff,
            Self::Http(error) => error.retry_action(),
            _ => RetryAction::Never,
        }
    }

    /// Removes `secret` from foreign text:
    /// a service may repeat the key that it received.
    ///
    /// Before any excerpt is made, because its end could cut the secret in two.
    pub(super) fn redact(mut self, secret: &str) -> Self {
        if let Self::UnexpectedBody {
            body_prefix: text, ..
        }
        | Self::Http(HttpError { message: text, .. })
        | Self::CrossOriginRedirect(text)
        | Self::Tls(text)
        | Self::UnknownEncoding(text)
        | Self::ConnectFailed(text)
        | Self::Proxy(text) = &mut self
        {
            *text = text.replace(secret, "[key]");
        }
        self
    }

    /// Converts the cause to an error for users.
    pub(super) fn into_error(self, endpoint: Endpoint, base: &dyn Display) -> Error {
        use ErrorKind::{NotTheApi, Redirected, Unreachable};
        #[rustfmt::skip]
        let (kind, message, hint) = match self {
            Self::NotSent(error) => return error,
            Self::Http(error) => return error.into_error(endpoint, base),
            Self::UnknownHost => (Unreachable, format!("could not resolve the host of {base}"), "check the base URL, the network and DNS, and HTTPS_PROXY if it is set"),
            Self::ConnectionRefused => (Unreachable, format!("connection refused by {base}"), "is the service running, and the base URL right?"),
            Self::Tls(why) if why.contains("InvalidContentType") => (Unreachable, format!("TLS connection to {base} failed: {why}"), no_tls_hint(base)),
            Self::Tls(why) => (Unreachable, format!("TLS connection to {base} failed: {why}"), tls_hint(&why).unwrap_or(CA_FILE_HINT)),
            Self::Proxy(why) => (Unreachable, format!("no connection to {base}: {why}"), PROXY_HINT),
            Self::ConnectFailed(why) if why.contains("TLS handshake") => (Unreachable, format!("no connection to {base}: {why}"), "check the network, and that this port speaks https"),
            Self::ConnectFailed(why) => (Unreachable, format!("no connection to {base}: {why}"), "check the network"),
            Self::Timeout => (Unreachable, format!("request to {base} timed out"), "try again later"),
            Self::ConnectionBroken => (Unreachable, format!("connection to {base} closed before the response was complete"), "try again"),
            Self::NotHttp if base.to_string().starts_with("http:") => (NotTheApi, format!("invalid HTTP response from {base}"), TLS_PORT_HINT),
            Self::NotHttp => (NotTheApi, format!("invalid HTTP response from {base}"), BASE_URL_HINT),
            Self::InvalidGzip => (NotTheApi, format!("broken response from {base}: its gzip data is invalid or cut off"), "try again; a proxy in between may damage it"),
            Self::UnknownEncoding(encoding) =>
                (NotTheApi, format!("response from {base} in an encoding that was not requested{}", quote_excerpt(&encoding)), "sentbox accepts gzip, and data that is not encoded"),
            Self::BodyTooLarge => (NotTheApi, format!("response from {base} is larger than {} MB", MAX_BODY >> 20), BASE_URL_HINT),
            Self::UnexpectedBody { body_prefix, .. } =>
                (NotTheApi, format!("unexpected response from {base}: not this API's JSON{}", quote_excerpt(&body_prefix)), BASE_URL_HINT),
            Self::WrongEmail => (NotTheApi, format!("{base} returned another email than the requested one"), "nothing was stored; try again or report it to the service's operator"),
            Self::CrossOriginRedirect(origin) =>
                (Redirected, format!("{base} redirects to another origin, {origin}; the API key was not sent"), "if that is the right service, make it the base URL"),
            Self::RedirectLoop => (Redirected, format!("too many redirects from {base}"), BASE_URL_HINT),
        };
        Error::new(kind, message).with_hint(hint)
    }
}

/// Returns the hint for a port that does not answer with TLS.
fn no_tls_hint(base: &dyn Display) -> &'static str {
    let plain = base.to_string().replacen("https:", "http:", 1);
    if BaseUrl::parse(&plain).is_ok() {
        "that port does not speak TLS; is the base URL http://?"
    } else {
        "that port does not speak TLS; is the port of the base URL right?"
    }
}

const TLS_PORT_HINT: &str =
    "is the base URL right? if that port speaks TLS, the base URL begins with https://";
const PROXY_HINT: &str = "check that variable; NO_PROXY names the hosts without a proxy";
const NAME_HINT: &str = "is the URL right? its host must be a name of the certificate";
const NO_TLS_HINT: &str =
    "the server has to use TLS: ssl = on in postgresql.conf, with a certificate";
const CLOCK_HINT: &str =
    "is this machine's clock right? if it is, the server has to renew its certificate";
/// The extension of a certificate that no server may have, trusted or not.
const IS_AUTHORITY: &str = "CA:TRUE";
/// The error of the TLS library about such a certificate.
const AUTHORITY_ERROR: &str = "CaUsedAsEndEntity";
const END_ENTITY_HINT: &str = "the server has to use another certificate, with CA:FALSE: the option of openssl req -x509 is -addext basicConstraints=CA:FALSE";
const CA_FILE_HINT: &str = "name the certificates of an authority of your own with --ca-file; SSL_CERT_FILE names the system's";
const BASE_URL_HINT: &str = "is the base URL right, and no proxy or log-in page in between?";
/// Some imitations of the service return single emails only.
const NO_LIST_HINT: &str = "is the base URL right? if it is, this service has no list operation; sentbox show ID works without it";

/// Returns what helps where TLS failed for this reason,
/// unless that is to trust another authority.
pub(crate) fn tls_hint(why: &str) -> Option<&'static str> {
    let hints = [
        ("expired", CLOCK_HINT),
        ("not valid yet", CLOCK_HINT),
        // PostgreSQL's client prints the names of the errors.
        ("Expired", CLOCK_HINT),
        ("NotValidYet", CLOCK_HINT),
        ("does not support TLS", NO_TLS_HINT),
        ("not valid for name", NAME_HINT),
        (IS_AUTHORITY, END_ENTITY_HINT),
        (AUTHORITY_ERROR, END_ENTITY_HINT),
    ];
    let mut hints = hints.into_iter();
    hints.find_map(|(part, hint)| why.contains(part).then_some(hint))
}

/// Finds the error of the TLS library in one of the transport,
/// which may be wrapped twice.
fn find_tls_error(error: &io::Error) -> Option<&rustls::Error> {
    let inner = error.get_ref()?;
    inner
        .downcast_ref()
        .or_else(|| find_tls_error(inner.downcast_ref()?))
}

/// Describes why a TLS connection failed, with times as dates.
fn describe_tls(error: &rustls::Error) -> String {
    let format = |time: &UnixTime| {
        let at = i64::try_from(time.as_secs()).map(jiff::Timestamp::from_second);
        let at = at.ok().and_then(Result::ok).unwrap_or_default();
        at.strftime("%Y-%m-%d %H:%M UTC")
    };
    let (problem, time, side, limit) = match error {
        rustls::Error::InvalidCertificate(ExpiredContext { time, not_after }) => {
            ("expired", time, "after", not_after)
        }
        rustls::Error::InvalidCertificate(NotValidYetContext { time, not_before }) => {
            ("not valid yet", time, "before", not_before)
        }
        _ => return error.to_string(),
    };
    format!(
        "invalid peer certificate: certificate {problem}: verification time {}, but certificate is not valid {side} {}",
        format(time),
        format(limit)
    )
}

/// Creates the error for an email that the service does not have.
pub(super) fn no_such_email() -> Error {
    Error::new(ErrorKind::NotFound, "the service has no such email")
        .with_hint("check the id; the service deletes old mail")
}

/// Creates the error for a request that must wait too long for the service.
pub(crate) fn paused_error(wait: Duration) -> Error {
    let wait_text = format_pause(wait);
    Error::new(
        ErrorKind::RateLimited,
        "the service has asked to wait, and nothing is requested until then",
    )
    .with_hint(format!(
        "try again in {wait_text}; sentbox doctor sends one request"
    ))
    .with_retry_after(Some(wait))
}

/// Creates the error for a service without the operation of `endpoint`.
pub(super) fn unsupported_error(endpoint: Endpoint) -> Error {
    let message = match endpoint {
        Endpoint::Suppression => "the service has no suppression list",
        Endpoint::Metrics => "the service does not count the opens and clicks of an email",
        Endpoint::FirstReceivedPage => "the service does not list received mail",
        // It is not a mirror, or the listing is one whose changes a mirror does not send.
        Endpoint::Changes => "the service sends no changes",
        _ => "the service does not list attachments",
    };
    Error::new(ErrorKind::Unsupported, message)
}

impl HttpError {
    /// Parses an error body, in the shape of the service or of its imitators.
    pub(super) fn parse(status: u16, body: &[u8], retry_after: Option<Duration>) -> Self {
        let text = String::from_utf8_lossy(body);
        let json: Value = serde_json::from_str(&text).unwrap_or_default();
        let first_string = |paths: [&str; 3]| {
            paths
                .iter()
                .filter_map(|path| json.pointer(path)?.as_str())
                .find(|text| !text.is_empty())
                .unwrap_or_default()
                .to_owned()
        };
        let name = first_string(["/name", "/code", "/error/code"]);
        let mut message = first_string(["/message", "/error", "/error/message"]);
        let is_api_error = !(name.is_empty() && message.is_empty());
        if !is_api_error {
            message = text.chars().take(MAX_EXCERPT).collect();
        }
        Self {
            status,
            name,
            message,
            is_api_error,
            retry_after,
        }
    }

    fn is_quota(&self) -> bool {
        self.status == 429 && self.name.contains("quota")
    }

    /// Whether the message has one of these words outside a path.
    fn mentions(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        let message = message.replace("/emails", "").replace("/suppressions", "");
        self.is_api_error && words.iter().any(|word| message.contains(word))
    }

    /// Whether it is about an address that the service does not have.
    fn is_about_address(&self) -> bool {
        const OTHERS: &str = "endpoint path route url uri domain page html host api project \
            workspace account tenant";
        let message = self.message.to_lowercase();
        let text = format!("{} {message}", self.name.to_lowercase());
        let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
        let is_other = words.any(|word| {
            let singular = word.strip_suffix('s').unwrap_or(word);
            is_listed(word, OTHERS) || is_listed(singular, OTHERS)
        });
        !(message.contains("email not found") || message.contains("cursor"))
            && (is_other || message.contains('<') || message.contains("cannot get"))
    }

    /// Whether it concerns the id of the request, and not the request as a whole.
    fn is_about_id(&self) -> bool {
        let message = self.message.to_lowercase();
        let mut words = message.split(|letter: char| !letter.is_ascii_alphanumeric());
        self.name == "invalid_parameter"
            || words.any(|word| is_listed(word, "id uuid guid ulid cuid identifier"))
    }

    /// Whether the suppression list lacks the address, not the service the list.
    fn is_unknown_address(&self) -> bool {
        self.mentions(&["suppress"])
    }

    /// Whether the service takes `metrics` for an id, and refuses no parameter.
    fn is_unknown_operation(&self) -> bool {
        !self.mentions(&["email_id", "_date"])
    }

    /// Whether a link may have ended: storage services say so in several ways.
    pub(super) const fn is_stale_link(&self) -> bool {
        matches!(self.status, 400 | 401 | 403 | 404 | 410)
    }

    fn is_temporary(&self) -> bool {
        // 501 is an operation that the service does not have.
        matches!(self.status, 408 | 409 | 425 | 429 | 500 | 502..=599)
    }

    fn retry_action(&self) -> RetryAction {
        match self.retry_after {
            _ if self.is_quota() || !self.is_temporary() => RetryAction::Never,
            Some(wait) => RetryAction::After(wait),
            None => RetryAction::Backoff,
        }
    }

    /// Converts the response to an error for users.
    ///
    /// The real service answers a wrong key with 400, 401 or 403, depending on endpoint and time:
    /// the name counts first, then the message, and the status last.
    fn into_error(self, endpoint: Endpoint, base: &dyn Display) -> Error {
        use ErrorKind::{
            InvalidRequest, KeyRejected, KeySendOnly, NoSuchPart, NotFound, NotTheApi, Quota,
            RateLimited, Server, Unreachable,
        };
        let (status, quote) = (self.status, quote_excerpt(&self.message));
        let mentions_key = self.message.to_lowercase().contains("api key");
        let unexpected = || format!("unexpected response from {base}: {status}{quote}");
        let send_only = || format!("this API key may send mail but not read it{quote}");
        let rejected = || format!("{base} does not accept the API key{quote}");
        let wait = self
            .retry_after
            .map_or_else(|| "a moment".to_owned(), format_pause);
        #[rustfmt::skip]
        let (kind, message, hint) = match (status, self.name.as_str()) {
            (400..=499, _) if endpoint == Endpoint::Download => (Server, format!("{base} refuses the link of this attachment: {status}"), ""),
            (_, "restricted_api_key") if self.message.contains("only send") => (KeySendOnly, send_only(), FULL_ACCESS_HINT),
            (_, "invalid_permission") => (KeySendOnly, send_only(), FULL_ACCESS_HINT),
            (_, "suspended_api_key" | "restricted_api_key") => (KeyRejected, format!("this API key is suspended{quote}"), "ask your team's administrator"),
            (_, "missing_api_key" | "invalid_api_key") | (401, _) => (KeyRejected, rejected(), KEY_HINT),
            (400 | 403, _) if mentions_key => (KeyRejected, rejected(), KEY_HINT),
            (403, "email_above_quota") => (NoSuchPart, format!("the service withholds this email{quote}"), "it was received when the team's quota was used up"),
            (403, _) => (KeyRejected, format!("access denied by {base} or a proxy before it{quote}"), "check the key, and any proxy or firewall in between"),
            (404, _) if endpoint == Endpoint::Suppression && self.is_unknown_address() => (NotFound, "the address is not on the suppression list".to_owned(), ""),
            (404, _) if endpoint == Endpoint::Attachment => (NoSuchPart, "the service no longer has this attachment".to_owned(), ""),
            (404, _) if endpoint == Endpoint::Attachments && self.mentions(&["email"]) => return no_such_email(),
            // A service without received mail takes the last part of the path for the id of an email.
            (404 | 405 | 422 | 501, _) if endpoint == Endpoint::FirstReceivedPage => return unsupported_error(endpoint),
            (404 | 405 | 501, _) if endpoint.is_lookup() => return unsupported_error(endpoint),
            (400 | 422, _) if endpoint == Endpoint::Metrics && self.is_unknown_operation() => return unsupported_error(endpoint),
            (404, _) if self.is_api_error && endpoint == Endpoint::Email && !self.is_about_address() => return no_such_email(),
            (404, _) if self.is_api_error && endpoint == Endpoint::PageAtCursor && !self.is_about_address() =>
                (NotFound, format!("the service no longer has the email to continue from{quote}"), "start again at the newest"),
            (404 | 405, _) if endpoint == Endpoint::FirstPage => (NotTheApi, unexpected(), NO_LIST_HINT),
            (404, _) => (NotTheApi, unexpected(), BASE_URL_HINT),
            (400 | 422, _) if matches!(endpoint, Endpoint::Email | Endpoint::Attachments) && self.is_about_id() => (NotFound, format!("invalid email id{quote}"), "check the id"),
            (407, _) => (Unreachable, "proxy authentication required".to_owned(), "check HTTPS_PROXY"),
            (429, _) if self.is_quota() => (Quota, format!("the team's quota is used up{quote}"), "waiting a moment does not help"),
            (429, _) => (RateLimited, "too many requests for the team's limit".to_owned(), &*format!("try again in {wait}")),
            (408 | 409 | 425, _) => (Server, format!("{base} is temporarily unavailable: {status}{quote}"), "try again later"),
            (500..=599, _) => (Server, format!("server error from {base}: {status}{quote}"), "try again later"),
            (400..=499, _) if self.is_api_error => (InvalidRequest, format!("{base} refused the request: {status}{quote}"), ""),
            _ => (NotTheApi, unexpected(), BASE_URL_HINT),
        };
        // Other errors do not go away with time.
        let is_temporary = matches!(kind, Quota | RateLimited | Server);
        Error::new(kind, message)
            .with_hint(hint)
            .with_retry_after(self.retry_after.filter(|_| is_temporary))
    }
}

const KEY_HINT: &str = "check the key, and whether it belongs to this service; sentbox doctor names where it comes from";
/// The hint for a rejected key that was just typed: only the user knows its source.
pub(super) const TYPED_KEY_HINT: &str = "check the key, and whether it belongs to this service";
const FULL_ACCESS_HINT: &str = "reading needs a key with full access";

/// Quotes the start of a text on one line, as `: "text"`; empty for an empty text.
fn quote_excerpt(text: &str) -> String {
    let words = excerpt(&sanitize_line(first_chars(text, MAX_EXCERPT)), 80);
    if words.is_empty() {
        words
    } else {
        format!(": \"{words}\"")
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
