//! The operations of the service, and the check of a key:
//! their URLs, and the parsers of responses.

use jiff::{SignedDuration, Timestamp};

use super::attachments::checked_segment;
use super::changes::{ChangeStream, MailboxChange};
use super::client::{Client, ClientConfig};
use super::error::{Endpoint, TYPED_KEY_HINT, unsupported_error};
use super::rate_limit::RateBudget;
use super::request::{RequestHandle, RetryPolicy};
use super::{BeforeSend, Cursor, EmailApi, EmailPage, MAX_LIMIT, RetrievedEmail, response};
use crate::config::clock::Clock;
use crate::config::{ApiKey, KeyTarget, Rate};
use crate::error::{ErrorKind, Result};
use crate::mail::{Attachment, EmailId, Mailbox, Metrics, Suppression};
use crate::tasks::lock;

impl EmailApi for Client {
    fn with_priority(&self, request: &RequestHandle) -> Self {
        Self {
            request: request.clone(),
            ..self.clone()
        }
    }

    fn with_before_send(&self, hook: BeforeSend) -> Option<Self> {
        Some(Self {
            before_send: Some(hook),
            ..self.clone()
        })
    }

    fn rate_budget(&self) -> Option<RateBudget> {
        Some(self.rate_budget())
    }

    fn clock_skew(&self) -> Option<SignedDuration> {
        lock(&self.inner.state).clock_skew
    }

    fn is_mirror(&self) -> bool {
        lock(&self.inner.state).is_mirror
    }

    async fn follow(
        &self,
        stream: Option<ChangeStream>,
    ) -> Result<(ChangeStream, Vec<MailboxChange>)> {
        let mut stream = match stream {
            Some(stream) => stream,
            None => self.open_changes().await?,
        };
        let changes = stream.next().await?;
        Ok((stream, changes))
    }

    async fn list(&self, limit: u8, cursor: &Cursor) -> Result<EmailPage> {
        let mailbox = self.inner.config.mailbox;
        let (endpoint, cursor) = match cursor {
            Cursor::Start => (Endpoint::first_page(mailbox), None),
            Cursor::After(id) => (Endpoint::PageAtCursor, Some(("after", id.as_str()))),
            Cursor::Before(id) => (Endpoint::PageAtCursor, Some(("before", id.as_str()))),
        };
        let mut url = self.email_url(&[]);
        url.query_pairs_mut()
            .append_pair("limit", &limit.clamp(1, MAX_LIMIT).to_string())
            .extend_pairs(cursor);
        let parse = |body: &[u8]| response::parse_page(body, mailbox);
        let (page, times) = self.send_dated(url, endpoint, parse).await?;
        Ok(EmailPage {
            checked_at: times.checked_at,
            listed_at: times.listed_at,
            ..page
        })
    }

    async fn retrieve(&self, id: &EmailId) -> Result<RetrievedEmail> {
        let mailbox = self.inner.config.mailbox;
        let mut url = self.email_url(&[checked_segment(id.as_str())?]);
        if mailbox == Mailbox::Received {
            // By default, all pictures are within the html.
            url.query_pairs_mut().append_pair("html_format", "cid");
        }
        let parse = |body: &[u8]| response::parse_email(body, id, mailbox);
        let (email, times) = self.send_dated(url, Endpoint::Email, parse).await?;
        Ok(RetrievedEmail {
            checked_at: times.checked_at,
            ..email
        })
    }
}

impl Client {
    /// Returns the attachments of an email.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if the service does not list any.
    pub async fn attachments(&self, email: &EmailId) -> Result<Vec<Attachment>> {
        match self.list_attachments(email).await {
            // A service without this operation may take its path for the id of an email.
            Err(error)
                if error.kind == ErrorKind::NotFound && self.retrieve(email).await.is_ok() =>
            {
                Err(unsupported_error(Endpoint::Attachments))
            }
            result => result,
        }
    }

    /// Returns why the service does not send to an address, or `None` if it does,
    /// or if the address cannot be a part of a path.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if the service does not say.
    pub(crate) async fn suppression(&self, address: &str) -> Result<Option<Suppression>> {
        let Ok(address) = checked_segment(address) else {
            return Ok(None);
        };
        let base_url = &self.inner.config.base_url;
        let url = base_url.join_segments(&["suppressions", address]);
        let found = self
            .send_with_retries(url, Endpoint::Suppression, response::parse_suppression)
            .await;
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns what the service counts of an email since then.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if the service does not count.
    pub(crate) async fn metrics(&self, email: &EmailId, since: Timestamp) -> Result<Metrics> {
        let base_url = &self.inner.config.base_url;
        let mut url = base_url.join_segments(&["emails", "metrics"]);
        url.query_pairs_mut()
            .append_pair("email_id", email.as_str())
            .append_pair("dimensions", "email")
            // Without a start the service counts the last days only.
            .append_pair("start_date", &since.to_string());
        let parse = |body: &[u8]| response::parse_metrics(body, email);
        self.send_with_retries(url, Endpoint::Metrics, parse).await
    }
}

/// The access of a key that may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyAccess {
    /// It is of the service, where each key that may read may also send and delete.
    Full,
    /// It is of a mirror, which can only be read.
    Read,
}

/// Requests one email with `key`: only the service knows what the key may do.
pub(crate) async fn verify_key(
    target: &KeyTarget,
    key: &ApiKey,
    clock: &Clock,
) -> Result<KeyAccess> {
    let config = ClientConfig {
        base_url: target.base_url.clone(),
        mailbox: Mailbox::Sent,
        key: Ok(key.clone()),
        ca_file: target.ca_file.clone(),
        rate: Rate::default(),
        rate_file: None,
    };
    let client = Client::new(config, RetryPolicy::ONE_SHOT, clock.clone());
    let result = client.list(1, &Cursor::Start).await.map(|_| {
        if client.is_mirror() {
            KeyAccess::Read
        } else {
            KeyAccess::Full
        }
    });
    result.map_err(|mut error| {
        if error.kind == ErrorKind::KeyRejected {
            TYPED_KEY_HINT.clone_into(&mut error.hint);
        }
        error.add_hint("the key was not stored")
    })
}
