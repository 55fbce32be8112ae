//! [`Error`]: an error as plain data, for users, scripts and tests.

use std::fmt;
use std::time::Duration;

/// The class of an error; it alone decides the exit code and the `kind` of the JSON error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The command line or a value from the user is invalid.
    Usage,
    /// There is no API key.
    KeyMissing,
    /// The service does not accept the key.
    KeyRejected,
    /// The key is accepted but may only send, not read.
    KeySendOnly,
    /// The service has no such email.
    NotFound,
    /// The email exists, but not the requested part of it.
    NoSuchPart,
    /// The service refused the request as invalid.
    InvalidRequest,
    /// The team's rate limit is used up for now.
    RateLimited,
    /// The team's quota is used up; waiting a second does not help.
    Quota,
    /// The service reports an error of its own.
    Server,
    /// There was no response: no connection, a broken one, or a timeout.
    Unreachable,
    /// The response is not one of this API.
    NotTheApi,
    /// The service redirects to another origin, to which the key must not be sent.
    Redirected,
    /// The local archive cannot be used.
    Archive,
    /// The configuration cannot be used.
    Config,
    /// A file or stream of this machine could not be read or written.
    Io,
    /// A defect of sentbox itself.
    Internal,
}

impl ErrorKind {
    /// Returns the stable code used as `kind` in JSON errors.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::KeyMissing => "key_missing",
            Self::KeyRejected => "key_rejected",
            Self::KeySendOnly => "key_send_only",
            Self::NotFound => "not_found",
            Self::NoSuchPart => "no_such_part",
            Self::InvalidRequest => "invalid_request",
            Self::RateLimited => "rate_limited",
            Self::Quota => "quota",
            Self::Server => "server",
            Self::Unreachable => "unreachable",
            Self::NotTheApi => "not_the_api",
            Self::Redirected => "redirected",
            Self::Archive => "archive",
            Self::Config => "config",
            Self::Io => "io",
            Self::Internal => "internal",
        }
    }

    /// Returns the stable exit code of a command that fails with this kind.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::NoSuchPart | Self::InvalidRequest | Self::Io => 1,
            Self::Usage => 2,
            Self::KeyMissing | Self::KeyRejected | Self::KeySendOnly => 3,
            Self::NotFound => 4,
            Self::Server | Self::Unreachable | Self::NotTheApi | Self::Redirected => 5,
            Self::RateLimited | Self::Quota => 6,
            Self::Archive | Self::Config => 8,
            Self::Internal => 101,
        }
    }

    /// Whether the service or the network is the cause, and not the key or this machine: a later request, or
    /// the archive, may still give the answer.
    pub(crate) const fn is_service_error(self) -> bool {
        matches!(
            self,
            Self::NotFound
                | Self::InvalidRequest
                | Self::RateLimited
                | Self::Quota
                | Self::Server
                | Self::Unreachable
                | Self::NotTheApi
                | Self::Redirected
        )
    }

    /// Whether there is no key that may read.
    pub(crate) const fn is_key_error(self) -> bool {
        matches!(
            self,
            Self::KeyMissing | Self::KeyRejected | Self::KeySendOnly
        )
    }
}

/// An error for users.
///
/// The message is lower case without a full stop, so that it can follow a colon; the hint says what to do
/// next. Both are safe to show: foreign text in them is sanitized ([`crate::text::sanitize`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The class, which decides the exit code.
    pub kind: ErrorKind,
    /// What failed.
    pub message: String,
    /// What the user can do next; empty if there is nothing to do.
    pub hint: String,
    /// How long to wait before the next request, if the service said so.
    pub retry_after: Option<Duration>,
    /// The request that failed, if one was sent.
    pub(crate) details: Option<Box<RequestDetails>>,
}

/// A request that failed, for questions to the service. Nothing in it is secret or personal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RequestDetails {
    /// The method and path, without ids.
    pub(crate) endpoint: &'static str,
    /// The status of the last response.
    pub(crate) status: Option<u16>,
    /// The service's id of the last response.
    pub(crate) request_id: Option<String>,
    pub(crate) attempts: u32,
}

impl Error {
    /// Creates an error without a hint.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: String::new(),
            retry_after: None,
            details: None,
        }
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    #[must_use]
    pub(crate) fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// Adds the request that failed, unless it was never sent.
    #[must_use]
    pub(crate) fn with_details(mut self, details: RequestDetails) -> Self {
        self.details = (details.attempts > 0).then(|| Box::new(details));
        self
    }

    /// Returns how long to send the service no background requests: as long as it asked, and for an hour after
    /// a used-up quota.
    pub(crate) fn cooldown(&self) -> Duration {
        let least = if self.kind == ErrorKind::Quota {
            Duration::from_hours(1)
        } else {
            Duration::ZERO
        };
        self.retry_after.unwrap_or_default().max(least)
    }

    /// Whether the service could not be reached, so that the archive is all there is to show.
    pub(crate) const fn is_offline(&self) -> bool {
        matches!(self.kind, ErrorKind::Unreachable)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
