//! A mailbox whose statuses a test changes.

use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use sentbox::api::Cursor;
use sentbox::config::clock;
use sentbox::error::{Error, ErrorKind};
use sentbox::mail::EmailId;
use sentbox::server::{EmailSource, SourceError, SourcePage, page_range};
use serde_json::value::RawValue;

/// Emails of the last day, newest first; a test changes their statuses.
#[derive(Clone)]
pub struct Live(Arc<Mutex<State>>);

struct State {
    /// Number, time and status of each email.
    emails: Vec<(usize, Timestamp, &'static str)>,
    /// Requests since the last check: pages, and single emails.
    pages: u32,
    singles: u32,
    fails: bool,
}

impl State {
    fn check(&self) -> Result<(), SourceError> {
        let error = || SourceError::Internal(Error::new(ErrorKind::Io, "it fails"));
        if self.fails { Err(error()) } else { Ok(()) }
    }
}

impl Live {
    /// Creates `count` emails, a minute apart, all `sent`. Number 0 is the newest.
    pub fn new(count: usize) -> Self {
        let now = clock::now();
        let minutes = |n: usize| SignedDuration::from_mins(i64::try_from(n).unwrap() + 1);
        let emails = (0..count).map(|n| (n, now - minutes(n), "sent")).collect();
        Self(Arc::new(Mutex::new(State {
            emails,
            pages: 0,
            singles: 0,
            fails: false,
        })))
    }

    pub fn change(&self, numbers: impl IntoIterator<Item = usize>, status: &'static str) {
        let mut state = self.0.lock().unwrap();
        for number in numbers {
            state
                .emails
                .iter_mut()
                .filter(|(n, ..)| *n == number)
                .for_each(|email| email.2 = status);
        }
    }

    /// Lists the oldest first.
    pub fn reverse(&self) {
        self.0.lock().unwrap().emails.reverse();
    }

    pub fn delete(&self, number: usize) {
        self.0.lock().unwrap().emails.retain(|(n, ..)| *n != number);
    }

    pub fn fail(&self, fails: bool) {
        self.0.lock().unwrap().fails = fails;
    }

    /// Returns and resets the number of requested pages and single emails.
    pub fn requests(&self) -> (u32, u32) {
        let mut state = self.0.lock().unwrap();
        (
            std::mem::take(&mut state.pages),
            std::mem::take(&mut state.singles),
        )
    }
}

pub fn id(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

fn json((number, at, status): &(usize, Timestamp, &'static str), body: &str) -> Box<RawValue> {
    let id = id(*number);
    let text = format!(
        r#"{{"object":"email","id":"{id}","to":["c{number}@example.com"],"from":"a@example.net","created_at":"{at}","subject":"Mail {number}","last_event":"{status}"{body}}}"#
    );
    RawValue::from_string(text).unwrap()
}

impl EmailSource for Live {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        let mut state = self.0.lock().unwrap();
        state.pages += 1;
        state.check()?;
        let emails = &state.emails;
        let index = |cursor: &EmailId| {
            let position = emails.iter().position(|(n, ..)| id(*n) == cursor.as_str());
            position.ok_or(SourceError::Unknown)
        };
        let (range, has_more) = page_range(cursor, limit, emails.len(), index)?;
        let data = emails[range].iter().map(|email| json(email, "")).collect();
        Ok(SourcePage { data, has_more })
    }

    fn email(&self, wanted: &EmailId) -> Result<Box<RawValue>, SourceError> {
        let mut state = self.0.lock().unwrap();
        state.singles += 1;
        state.check()?;
        let email = state
            .emails
            .iter()
            .find(|(n, ..)| id(*n) == wanted.as_str())
            .ok_or(SourceError::Unknown)?;
        Ok(json(email, r#","html":null,"text":"Hello""#))
    }
}
