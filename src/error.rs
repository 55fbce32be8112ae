//! [`Error`]: an error as plain data, for users, scripts and tests.

use std::fmt;
use std::time::Duration;

/// The result of anything that can fail with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The class of an error: its exit code, and its `kind` in JSON.
///
/// `docs/errors.md` is made of the variants: the first paragraph is what it means, the second what
/// to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The command line, or a value given by hand, is not valid.
    ///
    /// See `sentbox --help` or `sentbox VERB --help`.
    Usage,
    /// No API key was found.
    ///
    /// Store one with `sentbox login`, or set `SENTBOX_API_KEY`.
    KeyMissing,
    /// The service does not accept the key.
    ///
    /// Check it with `sentbox doctor`; store another one with `sentbox login`.
    KeyRejected,
    /// The service accepts the key for sending only.
    ///
    /// Create a key with full access: reading requires it.
    KeySendOnly,
    /// The service has no such email.
    ///
    /// Check the id; `sentbox show ID --offline` prints the copy in the archive.
    NotFound,
    /// The email exists, but not the requested part of it.
    ///
    /// Choose another part, as the hint says: with `--as`, or another attachment.
    NoSuchPart,
    /// The service has no such operation.
    ///
    /// Nothing can be done here: imitations of the service have fewer operations.
    Unsupported,
    /// The service refused the request as invalid.
    ///
    /// Report it with the output of `-v`.
    InvalidRequest,
    /// The team's request limit is used up for the moment.
    ///
    /// Try again later, or lower `--rate`. While the service asks to wait, `sentbox doctor` sends
    /// one request.
    RateLimited,
    /// The team's quota is used up; waiting a second does not help.
    ///
    /// Wait until the service resets the quota.
    Quota,
    /// The service reports a failure of its own (HTTP status 5xx).
    ///
    /// Try again later.
    Server,
    /// No response came: no connection, a broken one, or a timeout.
    ///
    /// Check network and `base_url` with `sentbox doctor`; the archive can be used.
    Unreachable,
    /// A response came, but it is not one of this API.
    ///
    /// Check `base_url`; a proxy or a login page may have responded.
    NotTheApi,
    /// The service redirected to another origin, which never gets the key.
    ///
    /// Change `base_url` if the service has moved.
    Redirected,
    /// The awaited change did not happen in the time allowed.
    ///
    /// Try again, or allow more time.
    TimedOut,
    /// The archive cannot be used.
    ///
    /// Run `sentbox doctor`.
    Archive,
    /// Something in the archive cannot be read any more.
    ///
    /// `sentbox archive repair` keeps what can be read; `sentbox sync` fetches the rest again.
    ArchiveDamaged,
    /// The server of the archive does not answer.
    ///
    /// Check its address, the network, and that it runs; then try again.
    ArchiveUnreachable,
    /// The file of the archive has something else.
    ///
    /// Choose another file.
    NotAnArchive,
    /// The configuration cannot be used.
    ///
    /// Run `sentbox config check`, which lists errors line by line.
    Config,
    /// The input has another format, or items that the command does not accept.
    ///
    /// Correct the input at the line or item that the message names.
    InvalidInput,
    /// The status of the email cannot become the awaited one any more.
    ///
    /// Read what became of it: `sentbox show ID`.
    StatusFinal,
    /// A question was answered with no, so nothing was changed.
    ///
    /// Run the command again; `--yes` answers yes where a command has it.
    Declined,
    /// A file or stream of this machine cannot be read or written,
    /// or an export lacks a body.
    ///
    /// Check the path in the message, its permissions and the free space.
    Io,
    /// A defect of sentbox itself.
    ///
    /// Report it with the crash report that the message names.
    Internal,
}

impl ErrorKind {
    /// Returns the stable code used as `kind` in JSON errors.
    #[must_use]
    pub const fn code(self) -> &'static str {
        let (code, _) = self.codes();
        code
    }

    /// Returns the stable exit code of a command that fails with this kind.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        let (_, exit_code) = self.codes();
        exit_code
    }

    const fn codes(self) -> (&'static str, u8) {
        match self {
            Self::Usage => ("usage", 2),
            Self::KeyMissing => ("key_missing", 3),
            Self::KeyRejected => ("key_rejected", 3),
            Self::KeySendOnly => ("key_send_only", 3),
            Self::NotFound => ("not_found", 4),
            Self::NoSuchPart => ("no_such_part", 1),
            Self::Unsupported => ("unsupported", 1),
            Self::InvalidRequest => ("invalid_request", 1),
            Self::RateLimited => ("rate_limited", 6),
            Self::Quota => ("quota", 6),
            Self::Server => ("server", 5),
            Self::Unreachable => ("unreachable", 5),
            Self::NotTheApi => ("not_the_api", 5),
            Self::Redirected => ("redirected", 5),
            Self::TimedOut => ("timed_out", 7),
            Self::Archive => ("archive", 8),
            Self::ArchiveDamaged => ("archive_damaged", 8),
            Self::ArchiveUnreachable => ("archive_unreachable", 8),
            Self::NotAnArchive => ("not_an_archive", 8),
            Self::Config => ("config", 8),
            Self::InvalidInput => ("invalid_input", 1),
            Self::StatusFinal => ("status_final", 1),
            Self::Declined => ("declined", 1),
            Self::Io => ("io", 1),
            Self::Internal => ("internal", 101),
        }
    }

    /// Returns the state of the connection to the service while its last request fails
    /// like this.
    ///
    /// The title of the terminal program and `doctor` use the same words for it.
    pub(crate) const fn service_state(self) -> &'static str {
        match self {
            Self::KeyMissing => "no key",
            Self::KeyRejected => "key rejected",
            Self::KeySendOnly => "key may not read",
            Self::RateLimited => "rate limited",
            Self::Quota => "quota used up",
            Self::Unreachable => "offline",
            Self::Archive
            | Self::ArchiveDamaged
            | Self::ArchiveUnreachable
            | Self::NotAnArchive => "no archive",
            Self::Server => "service error",
            Self::NotTheApi | Self::Redirected => "wrong response",
            Self::Usage
            | Self::NotFound
            | Self::NoSuchPart
            | Self::Unsupported
            | Self::InvalidRequest
            | Self::TimedOut
            | Self::Config
            | Self::InvalidInput
            | Self::StatusFinal
            | Self::Declined
            | Self::Io
            | Self::Internal => "request failed",
        }
    }

    /// Whether the service or the network is the cause, and not the key or this
    /// machine.
    ///
    /// A later request, or the archive, may still give the answer.
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

    /// Whether a later request may succeed although nothing is changed here.
    pub(crate) const fn may_pass(self) -> bool {
        self.is_service_error() || matches!(self, Self::ArchiveUnreachable)
    }

    pub(crate) const fn is_archive_error(self) -> bool {
        matches!(
            self,
            Self::Archive | Self::ArchiveDamaged | Self::ArchiveUnreachable | Self::NotAnArchive
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
/// The message is lower case without a full stop, so that it can follow a colon; the hint says what
/// to do next. Both are safe to show: foreign text in them is sanitized
/// ([`crate::text::sanitize`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The class, which decides the exit code.
    pub kind: ErrorKind,
    /// What failed.
    pub message: String,
    /// The next step for the user; empty if there is none.
    pub hint: String,
    /// The time to wait before the next request, if the service sets one.
    pub retry_after: Option<Duration>,
    /// The request that failed, if one was sent.
    pub(crate) details: Option<Box<RequestDetails>>,
    /// Whether writing to the archive failed, which says nothing about reading it.
    pub(crate) is_write_failure: bool,
}

/// The state of an archive that can be read and not written.
pub(crate) const NOT_WRITABLE: &str = "archive not writable";

/// A request that failed, for questions to the service.
///
/// Nothing in it is secret or personal.
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
            is_write_failure: false,
        }
    }

    /// Creates an error of the system: `SUBJECT cannot be ACTION: REASON`.
    pub(crate) fn cannot(
        action: &str,
        kind: ErrorKind,
        subject: impl fmt::Display,
        reason: &dyn fmt::Display,
    ) -> Self {
        Self::new(kind, format!("{subject} cannot be {action}: {reason}"))
    }

    /// Adds a text and a colon before the message.
    pub(crate) fn prefixed(self, prefix: &str) -> Self {
        let message = format!("{prefix}: {}", self.message);
        Self { message, ..self }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Adds another next step.
    pub(crate) fn add_hint(mut self, hint: &str) -> Self {
        if self.hint.ends_with('?') {
            self.hint.push(' ');
        } else if !self.hint.is_empty() {
            self.hint.push_str("; ");
        }
        self.hint.push_str(hint);
        self
    }

    /// Returns the error of a user who was asked about it, and answered with no.
    pub(crate) const fn into_declined(mut self) -> Self {
        self.kind = ErrorKind::Declined;
        self
    }

    pub(crate) fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// Adds the request that failed, unless it was never sent.
    pub(crate) fn with_details(mut self, details: RequestDetails) -> Self {
        self.details = (details.attempts > 0).then(|| Box::new(details));
        self
    }

    /// Returns the time without background requests after this error.
    ///
    /// It is the one that the service sets, and at least an hour after a used-up quota.
    pub(crate) fn cooldown(&self) -> Duration {
        let least = if self.kind == ErrorKind::Quota {
            Duration::from_hours(1)
        } else {
            Duration::ZERO
        };
        self.retry_after.unwrap_or_default().max(least)
    }

    /// Returns the state of a program that can still read its archive
    /// while its last request fails like this.
    pub(crate) const fn service_state(&self) -> &'static str {
        if self.is_write_failure {
            NOT_WRITABLE
        } else {
            self.kind.service_state()
        }
    }

    /// Whether the service could not be reached.
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
