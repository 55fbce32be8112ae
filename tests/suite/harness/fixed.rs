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

impl Fixed {
    fn index(&self, id: &EmailId) -> Result<usize, SourceError> {
        let member = format!("\"id\":{}", serde_json::Value::from(id.as_str()));
        let index = self.0.iter().position(|json| json.contains(&member));
        index.ok_or(SourceError::Unknown)
    }

    fn json(&self, index: usize) -> Box<RawValue> {
        RawValue::from_string(self.0[index].to_owned()).unwrap()
    }
}

impl EmailSource for Fixed {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        let (range, has_more) = page_range(cursor, limit, self.0.len(), |id| self.index(id))?;
        let data = range.map(|index| self.json(index)).collect();
        Ok(SourcePage { data, has_more })
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        if id.as_str() == "broken" {
            return Err(SourceError::Internal(Error::new(
                ErrorKind::Io,
                "the disk is gone",
            )));
        }
        self.index(id).map(|index| self.json(index))
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
    page: Box<PageHook<S>>,
    email: Box<EmailHook<S>>,
}

type PageHook<S> = dyn Fn(&S, &Cursor, u8) -> Result<SourcePage, SourceError> + Send + Sync;
type EmailHook<S> = dyn Fn(&S, &EmailId) -> Result<Box<RawValue>, SourceError> + Send + Sync;

impl<S: EmailSource> Hooked<S> {
    pub fn before_page(source: S, hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self::with_page(source, move |source, cursor, limit| {
            hook();
            source.page(cursor, limit)
        })
    }

    pub fn with_page(
        source: S,
        hook: impl Fn(&S, &Cursor, u8) -> Result<SourcePage, SourceError> + Send + Sync + 'static,
    ) -> Self {
        let (page, email) = (Box::new(hook), Box::new(S::email));
        Self {
            source,
            page,
            email,
        }
    }

    pub fn with_email(
        source: S,
        hook: impl Fn(&S, &EmailId) -> Result<Box<RawValue>, SourceError> + Send + Sync + 'static,
    ) -> Self {
        let (page, email) = (Box::new(S::page), Box::new(hook));
        Self {
            source,
            page,
            email,
        }
    }
}

impl<S: EmailSource> EmailSource for Hooked<S> {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        (self.page)(&self.source, cursor, limit)
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        (self.email)(&self.source, id)
    }
}
