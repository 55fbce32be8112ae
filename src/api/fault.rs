//! Everything that can go wrong with a request, by cause; and the one place where causes become words.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::pace::Retry;
use crate::config::BaseUrl;
use crate::failure::{Failure, Kind};
use crate::mail::clean;

/// An answer larger than this, unpacked, is not read to its end.
pub(super) const MAX_BODY: usize = 24 << 20;

/// As much of a foreign text as is kept for quoting; far more than is quoted.
const MAX_KEPT: usize = 4096;

/// Why a request did not give what was asked for.
#[derive(Debug)]
pub(super) enum Fault {
    /// Nothing was sent, or nobody waits for the answer: there is no key, no way to send it, or nobody who wants it.
    Unsent(Failure),
    /// The name of the host is not known.
    UnknownHost,
    /// Nothing listens there.
    Refused,
    /// No trusted connection; the cause in the words of the TLS library.
    Untrusted(String),
    /// No connection for another reason.
    NoConnection(String),
    /// The service, or the way to it, was silent for too long.
    Silent,
    /// The connection broke while it was in use.
    Broken,
    /// What listens there does not speak HTTP.
    NotHttp,
    /// More than [`MAX_BODY`] came.
    TooLarge,
    /// What came is not the API's JSON: how it begins, as it came, and whether it looks like JSON cut short.
    NotTheApi { start: String, cut_short: bool },
    /// Another email than the one asked for.
    OtherEmail,
    /// Sent on to another origin.
    ElsewhereTo(String),
    /// Sent on too often.
    Astray,
    /// Refused by the service, or by something in front of it.
    Rejected(Rejection),
}

/// An answer with a status other than 200.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) status: u16,
    /// The service's stable word, if the body was the API's JSON.
    pub(super) name: String,
    /// The service's sentence; or how the body begins, if it was anything else. As it came.
    pub(super) message: String,
    /// Whether the body was a JSON error of this API or of an imitator.
    pub(super) is_api: bool,
    /// How long it asks us to wait.
    pub(super) wait: Option<Duration>,
}

/// What the request was about, for the words of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// The first page.
    Start,
    /// A page beside a cursor.
    Beside,
    /// One email.
    Email,
}

impl Asked {
    /// What is asked, without ids: they are foreign, and may be anything.
    pub(super) const fn endpoint(self) -> &'static str {
        match self {
            Self::Start | Self::Beside => "GET /emails",
            Self::Email => "GET /emails/{id}",
        }
    }
}

impl Fault {
    /// The cause as one word for the log, in which nothing foreign is quoted.
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Unsent(_) => "unsent",
            Self::UnknownHost => "unknown_host",
            Self::Refused => "refused",
            Self::Untrusted(_) => "untrusted",
            Self::NoConnection(_) => "no_connection",
            Self::Silent => "silent",
            Self::Broken => "broken",
            Self::NotHttp => "not_http",
            Self::TooLarge => "too_large",
            Self::NotTheApi { .. } => "not_the_api",
            Self::OtherEmail => "other_email",
            Self::ElsewhereTo(_) => "redirected",
            Self::Astray => "redirected_in_circles",
            Self::Rejected(_) => "rejected",
        }
    }

    /// What came instead of the API's JSON.
    pub(super) fn garbled(text: &str, error: &serde_json::Error) -> Self {
        let json = text.trim_start().starts_with('{');
        Self::NotTheApi {
            start: text.chars().take(MAX_KEPT).collect(),
            cut_short: json && (error.is_eof() || error.is_syntax()),
        }
    }

    /// Tells the causes of a failed transport apart.
    pub(super) fn transport(error: &reqwest::Error) -> Self {
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
            .map(|cause| clean::line(&cause.to_string()).into_owned())
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
            Self::NoConnection("there was none within a few seconds".to_owned())
        } else if error.is_timeout() {
            Self::Silent
        } else if error.is_connect() && refused {
            Self::Refused
        } else if error.is_connect() && mentions(&["handshake eof"]) {
            Self::NoConnection("it was closed before it was secure".to_owned())
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
            Self::Untrusted(if by_itself {
                "its certificate is signed by nobody but itself".to_owned()
            } else {
                deepest()
            })
        } else if error.is_connect() {
            Self::NoConnection(deepest())
        } else if mentions(&[
            "invalid HTTP",
            "message head is too large",
            "invalid chunk",
            "Invalid chunk",
        ]) {
            Self::NotHttp
        } else {
            Self::Broken
        }
    }

    /// Whether trying again may help. All requests only read, so a repeated one does no harm.
    pub(super) fn retry(&self) -> Retry {
        match self {
            Self::Silent
            | Self::Broken
            | Self::NotTheApi {
                cut_short: true, ..
            } => Retry::Soon,
            Self::Rejected(rejection) => rejection.retry(),
            Self::Unsent(_)
            | Self::UnknownHost
            | Self::Refused
            | Self::Untrusted(_)
            | Self::NoConnection(_)
            | Self::NotHttp
            | Self::TooLarge
            | Self::NotTheApi {
                cut_short: false, ..
            }
            | Self::OtherEmail
            | Self::ElsewhereTo(_)
            | Self::Astray => Retry::Never,
        }
    }

    /// Takes `secret` out of what is quoted: a service may repeat the key it was sent.
    pub(super) fn without(mut self, secret: &str) -> Self {
        match &mut self {
            Self::NotTheApi { start: text, .. }
            | Self::Rejected(Rejection { message: text, .. })
            | Self::ElsewhereTo(text)
            | Self::Untrusted(text)
            | Self::NoConnection(text) => *text = text.replace(secret, "[key]"),
            Self::Unsent(_)
            | Self::UnknownHost
            | Self::Refused
            | Self::Silent
            | Self::Broken
            | Self::NotHttp
            | Self::TooLarge
            | Self::OtherEmail
            | Self::Astray => {}
        }
        self
    }

    /// The cause in words.
    pub(super) fn into_failure(self, asked: Asked, base: &BaseUrl) -> Failure {
        let unreachable = |what: String| Failure::new(Kind::Unreachable, what);
        let not_the_api = |what: String| Failure::new(Kind::NotTheApi, what).hint(WRONG_BASE);
        match self {
            Self::Unsent(failure) => failure,
            Self::UnknownHost => unreachable(format!("the name of {base} is not known")).hint("look at the base URL, the network and DNS"),
            Self::Refused => unreachable(format!("nothing listens at {base}")).hint("is the service running, and the base URL right?"),
            Self::Untrusted(why) => unreachable(format!("the connection to {base} cannot be trusted: {why}"))
                .hint("certificates of your own authority go into --ca-file; SSL_CERT_FILE names the system's"),
            Self::NoConnection(why) => unreachable(format!("no connection to {base}: {why}")).hint("look at the network"),
            Self::Silent => unreachable(format!("{base} did not answer in time")).hint("try again later"),
            Self::Broken => unreachable(format!("the connection to {base} broke off in the middle of its answer")).hint("try again"),
            Self::NotHttp => not_the_api(format!("{base} answered something that is not HTTP")),
            Self::TooLarge => not_the_api(format!("{base} answered more than {} MB; the rest was not read", MAX_BODY >> 20)),
            Self::NotTheApi { start, .. } => {
                not_the_api(format!("{base} answered something that is not this API's JSON{}", quoted(&start)))
            }
            Self::OtherEmail => Failure::new(Kind::NotTheApi, format!("{base} answered with another email than the one asked for")),
            Self::ElsewhereTo(place) => {
                Failure::new(Kind::Redirected, format!("{base} sends us on to {place}; the key was not sent there"))
                    .hint("if that is the right service, make it the base URL")
            }
            Self::Astray => Failure::new(Kind::Redirected, format!("{base} sends us on in circles")).hint(WRONG_BASE),
            Self::Rejected(rejection) => rejection.into_failure(asked, base),
        }
    }
}

const WRONG_BASE: &str = "is the base URL right, and no proxy or log-in page in between?";
/// Some imitations of the service answer for single emails only.
const NO_LIST: &str = "is the base URL right? if it is, this service has no list operation; sentbox show ID works without it";

impl Rejection {
    /// Reads the body of an answer: the service's flat error, or the two shapes of its imitators.
    pub(super) fn read(status: u16, body: &[u8], wait: Option<Duration>) -> Self {
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
            text.chars().take(MAX_KEPT).collect()
        };
        Self {
            status,
            name,
            message,
            is_api,
            wait,
        }
    }

    fn is_quota(&self) -> bool {
        self.status == 429 && self.name.contains("quota")
    }

    fn retry(&self) -> Retry {
        match self.status {
            429 if self.is_quota() => Retry::Never,
            408 | 409 | 425 | 429 | 500..=599 => self.wait.map_or(Retry::Soon, Retry::After),
            _ => Retry::Never,
        }
    }

    /// The real service answers a wrong key with 400, 401 or 403, depending on time and place: the
    /// name counts first, then the message, and the status last.
    fn into_failure(self, asked: Asked, base: &BaseUrl) -> Failure {
        let said = quoted(&self.message);
        let key = self.message.to_lowercase().contains("api key");
        let rejected = || {
            Failure::new(
                Kind::KeyRejected,
                format!("{base} does not accept the API key{said}"),
            )
            .hint("look at the key, and whether it belongs to this service")
        };
        let not_the_api = || {
            Failure::new(
                Kind::NotTheApi,
                format!("{base} answered {}{said}", self.status),
            )
            .hint(WRONG_BASE)
        };
        let send_only = || {
            Failure::new(
                Kind::KeySendOnly,
                format!("this API key may send mail but not read it{said}"),
            )
            .hint("reading needs a key with full access")
        };
        match (self.status, self.name.as_str()) {
            (_, "restricted_api_key") if self.message.contains("only send") => send_only(),
            (_, "invalid_permission") => send_only(),
            (_, "suspended_api_key" | "restricted_api_key") => Failure::new(
                Kind::KeyRejected,
                format!("this API key is suspended{said}"),
            )
            .hint("your team's administrator can tell why"),
            (_, "missing_api_key" | "invalid_api_key") => rejected(),
            (400 | 401 | 403, _) if key => rejected(),
            (401, _) => rejected(),
            (403, _) => Failure::new(
                Kind::KeyRejected,
                format!("{base}, or something in front of it, does not let us in{said}"),
            )
            .hint("look at the key; a proxy or a firewall may be in between"),
            (404, _) if self.is_api && asked == Asked::Email => {
                Failure::new(Kind::NotFound, "the service has no such email")
                    .hint("look at the id; old mail is deleted by the service")
            }
            (404, _) if self.is_api && asked == Asked::Beside => Failure::new(
                Kind::NotFound,
                "the email to continue from is no longer known to the service",
            )
            .hint("start over at the newest"),
            (404 | 405, _) if asked == Asked::Start => not_the_api().hint(NO_LIST),
            (404, _) => not_the_api(),
            (422, _) if asked == Asked::Email => Failure::new(
                Kind::NotFound,
                format!("the service does not take this for the id of an email{said}"),
            )
            .hint("look at the id"),
            (407, _) => Failure::new(Kind::Unreachable, "the proxy wants to know who you are")
                .hint("look at HTTPS_PROXY"),
            (429, _) if self.is_quota() => {
                Failure::new(Kind::Quota, format!("the team's quota is used up{said}"))
                    .hint("waiting a moment does not help")
                    .wait(self.wait)
            }
            (429, _) => {
                let when = self.wait.map_or_else(
                    || "try again in a moment".to_owned(),
                    |wait| format!("try again in {}", spelled(wait)),
                );
                Failure::new(Kind::RateLimited, "too many requests for the team's limit")
                    .hint(when)
                    .wait(self.wait)
            }
            (408 | 409 | 425, _) => Failure::new(
                Kind::Server,
                format!(
                    "{base} could not answer at the moment: {}{said}",
                    self.status
                ),
            )
            .hint("try again later")
            .wait(self.wait),
            (500..=599, _) => Failure::new(
                Kind::Server,
                format!("{base} is failing itself: {}{said}", self.status),
            )
            .hint("try again later")
            .wait(self.wait),
            (400..=499, _) if self.is_api => Failure::new(
                Kind::InvalidRequest,
                format!("{base} refused the request: {}{said}", self.status),
            ),
            _ => not_the_api(),
        }
    }
}

/// A pause in words: `3 s`, `5 min`, `24 h`.
#[must_use]
pub fn spelled(wait: Duration) -> String {
    match wait.as_secs() {
        seconds @ 0..120 => format!("{} s", seconds.max(1)),
        seconds @ 120..7200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// `: "the first words of a text"`, on one line and safe to show; nothing for an empty text.
fn quoted(text: &str) -> String {
    let start: String = text.chars().take(MAX_KEPT).collect();
    let words = clean::line(&start)
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
