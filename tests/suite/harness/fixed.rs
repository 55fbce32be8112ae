//! Sources of emails: a few given ones, the sample mailbox, and one with a hook.

use std::sync::Arc;

use sentbox::api::Cursor;
use sentbox::config::clock;
use sentbox::error::{Error, ErrorKind};
use sentbox::mail::EmailId;
use sentbox::server::sample::SampleMailbox;
use sentbox::server::{EmailSource, SourceError, SourcePage, page_range};
use serde_json::value::RawValue;

/// A source of these emails, in the JSON of the retrieve operation, newest first.
pub struct Fixed(pub Vec<&'static str>);

impl EmailSource for Fixed {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        let index = |id: &EmailId| {
            let spelled = serde_json::to_string(id.as_str()).unwrap();
            self.0
                .iter()
                .position(|json| json.contains(&format!("\"id\":{spelled}")))
                .ok_or(SourceError::Unknown)
        };
        let (range, has_more) = page_range(cursor, limit, self.0.len(), index)?;
        let raw = |json: &&str| RawValue::from_string((*json).to_owned()).unwrap();
        let data = self.0[range].iter().map(raw).collect();
        Ok(SourcePage { data, has_more })
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        if id.as_str() == "broken" {
            return Err(SourceError::Internal(Error::new(
                ErrorKind::Io,
                "the disk is gone",
            )));
        }
        let page = self.page(&Cursor::Start, 100)?;
        let wanted = |json: &RawValue| {
            sentbox::api::wire::Summary::parse(json.get())
                .is_ok_and(|summary| summary.id == id.as_str())
        };
        page.data
            .into_iter()
            .find(|json| wanted(json))
            .ok_or(SourceError::Unknown)
    }
}

/// A source of sent and received mail.
pub struct TwoLists {
    pub sent: Fixed,
    pub received: Fixed,
}

impl EmailSource for TwoLists {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        self.sent.page(cursor, limit)
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        self.sent.email(id)
    }

    fn received(&self) -> Option<&dyn EmailSource> {
        Some(&self.received)
    }
}

/// Returns a sample mailbox of so many emails, as of now.
pub fn sample_mailbox(emails: u32) -> SampleMailbox {
    let now = clock::now();
    SampleMailbox::new(7, emails, now, Arc::new(move || now))
}

/// A source with a hook for one of its operations.
pub struct Hooked<S> {
    source: S,
    before_page: Box<dyn Fn() + Send + Sync>,
    email: Box<EmailHook<S>>,
}

type EmailHook<S> = dyn Fn(&S, &EmailId) -> Result<Box<RawValue>, SourceError> + Send + Sync;

impl<S: EmailSource> Hooked<S> {
    /// Calls `hook` before each page.
    pub fn before_page(source: S, hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            source,
            before_page: Box::new(hook),
            email: Box::new(S::email),
        }
    }

    /// Retrieves each email by `hook`.
    pub fn with_email(
        source: S,
        hook: impl Fn(&S, &EmailId) -> Result<Box<RawValue>, SourceError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            source,
            before_page: Box::new(|| ()),
            email: Box::new(hook),
        }
    }
}

impl<S: EmailSource> EmailSource for Hooked<S> {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        (self.before_page)();
        self.source.page(cursor, limit)
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        (self.email)(&self.source, id)
    }
}
