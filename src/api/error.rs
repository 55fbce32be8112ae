//! Everything that can go wrong with a request, by cause; and the one place where causes become words.

use crate::text::format::format_pause;
use std::error::Error as _;
use std::io;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::rate_limit::RetryAction;
use crate::config::BaseUrl;
use crate::error::{Error, ErrorKind};
use crate::text::sanitize;

/// An answer larger than this, unpacked, is not read to its end.
pub(super) const MAX_BODY: usize = 24 << 20;

/// As much of a foreign text as is kept for quoting; far more than is quoted.
const MAX_EXCERPT: usize = 4096;

/// Why a request did not give what was asked for.
#[derive(Debug)]
pub(super) enum RequestError {
    /// Nothing was sent, or nobody waits for the answer: there is no key, no way to send it, or nobody who wants it.
    NotSent(Error),
    /// The name of the host is not known.
    UnknownHost,
    /// Nothing listens there.
    ConnectionRefused,
    /// No trusted connection; the cause in the words of the TLS library.
    Tls(String),
    /// No connection for another reason.
    ConnectFailed(String),
    /// The service, or the way to it, was silent for too long.
    Timeout,
    /// The connection broke while it was in use.
    ConnectionBroken,
    /// What listens there does not speak HTTP.
    NotHttp,
    /// More than [`MAX_BODY`] came.
    BodyTooLarge,
    /// What came is not the API's JSON: how it begins, as it came, and whether it looks like JSON cut short.
    UnexpectedBody { start: String, cut_short: bool },
    /// Another email than the one asked for.
    WrongEmail,
    /// Sent on to another origin.
    CrossOriginRedirect(String),
    /// Sent on too often.
    RedirectLoop,
    /// Refused by the service, or by something in front of it.
    Http(HttpError),
}

/// An answer with a status other than 200.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HttpError {
    pub(super) status: u16,
    /// The service's stable word, if the body was the API's JSON.
    pub(super) name: String,
    /// The service's message; or how the body begins, if it was anything else. As it came.
    pub(super) message: String,
    /// Whether the body was a JSON error of this API or of an imitator.
    pub(super) is_api_error: bool,
    /// How long it asks us to wait.
    pub(super) retry_after: Option<Duration>,
}

/// What the request was about, for the words of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// The first page.
    FirstPage,
    /// A page beside a cursor.
    PageAtCursor,
    /// One email.
    Email,
}

impl Endpoint {
    /// What is asked, without ids: they are foreign, and may be anything.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::FirstPage | Self::PageAtCursor => "GET /emails",
            Self::Email => "GET /emails/{id}",
        }
    }
}

impl RequestError {
    /// The cause as one word for the log, in which nothing foreign is quoted.
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::NotSent(_) => "unsent",
            Self::UnknownHost => "unknown_host",
            Self::ConnectionRefused => "refused",
            Self::Tls(_) => "untrusted",
            Self::ConnectFailed(_) => "no_connection",
            Self::Timeout => "silent",
            Self::ConnectionBroken => "broken",
            Self::NotHttp => "not_http",
            Self::BodyTooLarge => "too_large",
            Self::UnexpectedBody { .. } => "not_the_api",
            Self::WrongEmail => "other_email",
            Self::CrossOriginRedirect(_) => "redirected",
            Self::RedirectLoop => "redirected_in_circles",
            Self::Http(_) => "rejected",
        }
    }

    /// What came instead of the API's JSON.
    pub(super) fn unexpected_body(text: &str, error: &serde_json::Error) -> Self {
        let json = text.trim_start().starts_with('{');
        Self::UnexpectedBody {
            start: text.chars().take(MAX_EXCERPT).collect(),
            cut_short: json && (error.is_eof() || error.is_syntax()),
        }
    }

    /// Tells the causes of a failed transport apart.
    pub(super) fn from_reqwest(error: &reqwest::Error) -> Self {
        let mut causes = Vec::new();
        let mut next = error.source();
        while let Some(cause) = next {
            causes.push(cause);
            next = cause.source();
        }
        let refused = causes
            .iter()
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|io| io.kind() == io::ErrorKind::ConnectionRefused);
        let words: Vec<String> = causes
            .iter()
            .map(|cause| sanitize::sanitize_line(&cause.to_string()).into_owned())
            .collect();
        let mentions = |parts: &[&str]| {
            words
                .iter()
                .any(|cause| parts.iter().any(|part| cause.contains(part)))
        };
        let deepest = || words.last().cloned().unwrap_or_default();
        if error.is_dns() {
            Self::UnknownHost
        } else if error.is_timeout() && error.is_connect() {
            Self::ConnectFailed("there was none within a few seconds".to_owned())
        } else if error.is_timeout() {
            Self::Timeout
        } else if error.is_connect() && refused {
            Self::ConnectionRefused
        } else if error.is_connect() && mentions(&["handshake eof"]) {
            Self::ConnectFailed("it was closed before it was secure".to_owned())
        } else if error.is_connect()
            && mentions(&[
                "certificate",
                "TLS",
                "tls",
                "handshake",
                "corrupt message",
                "UnknownIssuer",
            ])
        {
            let by_itself = mentions(&["CaUsedAsEndEntity"]);
            Self::Tls(if by_itself {
                "its certificate is signed by nobody but itself".to_owned()
            } else {
                deepest()
            })
        } else if error.is_connect() {
            Self::ConnectFailed(deepest())
        } else if mentions(&[
            "invalid HTTP",
            "message head is too large",
            "invalid chunk",
            "Invalid chunk",
        ]) {
            Self::NotHttp
        } else {
            Self::ConnectionBroken
        }
    }

    /// Whether trying again may help. All requests only read, so a repeated one does no harm.
    pub(super) fn retry_action(&self) -> RetryAction {
        match self {
            Self::Timeout
            | Self::ConnectionBroken
            | Self::UnexpectedBody {
                cut_short: true, ..
            } => RetryAction::Backoff,
            Self::Http(rejection) => rejection.retry_action(),
            Self::NotSent(_)
            | Self::UnknownHost
            | Self::ConnectionRefused
            | Self::Tls(_)
            | Self::ConnectFailed(_)
            | Self::NotHttp
            | Self::BodyTooLarge
            | Self::UnexpectedBody {
                cut_short: false, ..
            }
            | Self::WrongEmail
            | Self::CrossOriginRedirect(_)
            | Self::RedirectLoop => RetryAction::Never,
        }
    }

    /// Takes `secret` out of what is quoted: a service may repeat the key it was sent.
    pub(super) fn redact(mut self, secret: &str) -> Self {
        match &mut self {
            Self::UnexpectedBody { start: text, .. }
            | Self::Http(HttpError { message: text, .. })
            | Self::CrossOriginRedirect(text)
            | Self::Tls(text)
            | Self::ConnectFailed(text) => *text = text.replace(secret, "[key]"),
            Self::NotSent(_)
            | Self::UnknownHost
            | Self::ConnectionRefused
            | Self::Timeout
            | Self::ConnectionBroken
            | Self::NotHttp
            | Self::BodyTooLarge
            | Self::WrongEmail
            | Self::RedirectLoop => {}
        }
        self
    }

    /// The cause in words.
    pub(super) fn into_error(self, asked: Endpoint, base: &BaseUrl) -> Error {
        let unreachable = |what: String| Error::new(ErrorKind::Unreachable, what);
        let not_the_api =
            |what: String| Error::new(ErrorKind::NotTheApi, what).with_hint(WRONG_BASE_HINT);
        match self {
            Self::NotSent(failure) => failure,
            Self::UnknownHost => unreachable(format!("the name of {base} is not known")).with_hint("look at the base URL, the network and DNS"),
            Self::ConnectionRefused => unreachable(format!("nothing listens at {base}")).with_hint("is the service running, and the base URL right?"),
            Self::Tls(why) => unreachable(format!("the connection to {base} cannot be trusted: {why}"))
                .with_hint("certificates of your own authority go into --ca-file; SSL_CERT_FILE names the system's"),
            Self::ConnectFailed(why) => unreachable(format!("no connection to {base}: {why}")).with_hint("look at the network"),
            Self::Timeout => unreachable(format!("{base} did not answer in time")).with_hint("try again later"),
            Self::ConnectionBroken => unreachable(format!("the connection to {base} broke off in the middle of its answer")).with_hint("try again"),
            Self::NotHttp => not_the_api(format!("{base} answered something that is not HTTP")),
            Self::BodyTooLarge => not_the_api(format!("{base} answered more than {} MB; the rest was not read", MAX_BODY >> 20)),
            Self::UnexpectedBody { start, .. } => {
                not_the_api(format!("{base} answered something that is not this API's JSON{}", quote_excerpt(&start)))
            }
            Self::WrongEmail => Error::new(ErrorKind::NotTheApi, format!("{base} answered with another email than the one asked for")),
            Self::CrossOriginRedirect(place) => {
                Error::new(ErrorKind::Redirected, format!("{base} sends us on to {place}; the key was not sent there"))
                    .with_hint("if that is the right service, make it the base URL")
            }
            Self::RedirectLoop => Error::new(ErrorKind::Redirected, format!("{base} sends us on in circles")).with_hint(WRONG_BASE_HINT),
            Self::Http(rejection) => rejection.into_error(asked, base),
        }
    }
}

const WRONG_BASE_HINT: &str = "is the base URL right, and no proxy or log-in page in between?";
/// Some imitations of the service answer for single emails only.
const NO_LIST_HINT: &str = "is the base URL right? if it is, this service has no list operation; sentbox show ID works without it";

impl HttpError {
    /// Reads the body of an answer: the service's flat error, or the two shapes of its imitators.
    pub(super) fn parse(status: u16, body: &[u8], wait: Option<Duration>) -> Self {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Body {
            name: Value,
            code: Value,
            message: Value,
            error: Value,
        }
        let text = String::from_utf8_lossy(body);
        let string = |value: &Value| value.as_str().map(str::to_owned).unwrap_or_default();
        let either = |first: String, second: String| if first.is_empty() { second } else { first };
        let Body {
            name,
            code,
            message,
            error,
        } = serde_json::from_str(&text).unwrap_or_default();
        let name = either(string(&name), string(&code));
        let name = either(name, string(&error["code"]));
        let message = either(string(&message), string(&error));
        let message = either(message, string(&error["message"]));
        let is_api = !(name.is_empty() && message.is_empty());
        let message = if is_api {
            message
        } else {
            text.chars().take(MAX_EXCERPT).collect()
        };
        Self {
            status,
            name,
            message,
            is_api_error: is_api,
            retry_after: wait,
        }
    }

    fn is_quota(&self) -> bool {
        self.status == 429 && self.name.contains("quota")
    }

    fn retry_action(&self) -> RetryAction {
        match self.status {
            429 if self.is_quota() => RetryAction::Never,
            408 | 409 | 425 | 429 | 500..=599 => self
                .retry_after
                .map_or(RetryAction::Backoff, RetryAction::After),
            _ => RetryAction::Never,
        }
    }

    /// The real service answers a wrong key with 400, 401 or 403, depending on time and place: the
    /// name counts first, then the message, and the status last.
    fn into_error(self, asked: Endpoint, base: &BaseUrl) -> Error {
        let said = quote_excerpt(&self.message);
        let key = self.message.to_lowercase().contains("api key");
        let rejected = || {
            Error::new(
                ErrorKind::KeyRejected,
                format!("{base} does not accept the API key{said}"),
            )
            .with_hint("look at the key, and whether it belongs to this service")
        };
        let not_the_api = || {
            Error::new(
                ErrorKind::NotTheApi,
                format!("{base} answered {}{said}", self.status),
            )
            .with_hint(WRONG_BASE_HINT)
        };
        let send_only = || {
            Error::new(
                ErrorKind::KeySendOnly,
                format!("this API key may send mail but not read it{said}"),
            )
            .with_hint("reading needs a key with full access")
        };
        match (self.status, self.name.as_str()) {
            (_, "restricted_api_key") if self.message.contains("only send") => send_only(),
            (_, "invalid_permission") => send_only(),
            (_, "suspended_api_key" | "restricted_api_key") => Error::new(
                ErrorKind::KeyRejected,
                format!("this API key is suspended{said}"),
            )
            .with_hint("your team's administrator can tell why"),
            (_, "missing_api_key" | "invalid_api_key") => rejected(),
            (400 | 401 | 403, _) if key => rejected(),
            (401, _) => rejected(),
            (403, _) => Error::new(
                ErrorKind::KeyRejected,
                format!("{base}, or something in front of it, does not let us in{said}"),
            )
            .with_hint("look at the key; a proxy or a firewall may be in between"),
            (404, _) if self.is_api_error && asked == Endpoint::Email => {
                Error::new(ErrorKind::NotFound, "the service has no such email")
                    .with_hint("look at the id; old mail is deleted by the service")
            }
            (404, _) if self.is_api_error && asked == Endpoint::PageAtCursor => Error::new(
                ErrorKind::NotFound,
                "the email to continue from is no longer known to the service",
            )
            .with_hint("start over at the newest"),
            (404 | 405, _) if asked == Endpoint::FirstPage => not_the_api().with_hint(NO_LIST_HINT),
            (404, _) => not_the_api(),
            (422, _) if asked == Endpoint::Email => Error::new(
                ErrorKind::NotFound,
                format!("the service does not take this for the id of an email{said}"),
            )
            .with_hint("look at the id"),
            (407, _) => Error::new(
                ErrorKind::Unreachable,
                "the proxy wants to know who you are",
            )
            .with_hint("look at HTTPS_PROXY"),
            (429, _) if self.is_quota() => Error::new(
                ErrorKind::Quota,
                format!("the team's quota is used up{said}"),
            )
            .with_hint("waiting a moment does not help")
            .with_retry_after(self.retry_after),
            (429, _) => {
                let when = self.retry_after.map_or_else(
                    || "try again in a moment".to_owned(),
                    |wait| format!("try again in {}", format_pause(wait)),
                );
                Error::new(
                    ErrorKind::RateLimited,
                    "too many requests for the team's limit",
                )
                .with_hint(when)
                .with_retry_after(self.retry_after)
            }
            (408 | 409 | 425, _) => Error::new(
                ErrorKind::Server,
                format!(
                    "{base} could not answer at the moment: {}{said}",
                    self.status
                ),
            )
            .with_hint("try again later")
            .with_retry_after(self.retry_after),
            (500..=599, _) => Error::new(
                ErrorKind::Server,
                format!("{base} is failing itself: {}{said}", self.status),
            )
            .with_hint("try again later")
            .with_retry_after(self.retry_after),
            (400..=499, _) if self.is_api_error => Error::new(
                ErrorKind::InvalidRequest,
                format!("{base} refused the request: {}{said}", self.status),
            ),
            _ => not_the_api(),
        }
    }
}

/// `: "the first words of a text"`, on one line and safe to show; nothing for an empty text.
fn quote_excerpt(text: &str) -> String {
    let start: String = text.chars().take(MAX_EXCERPT).collect();
    let words = sanitize::sanitize_line(&start)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    match words.char_indices().nth(80) {
        Some((end, _)) => format!(": \"{}…\"", &words[..end]),
        None if words.is_empty() => words,
        None => format!(": \"{words}\""),
    }
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
