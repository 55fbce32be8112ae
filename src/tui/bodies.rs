//! Laid-out bodies that were shown lately, so that going back and forth lays nothing out again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::mail::{Email, EmailId};
use crate::render::{self, Body, BodyView};

/// How many are kept; a screenful of neighbours in one view.
const MOST: usize = 24;
/// How many lines they may have together: an ordinary email has a hundred, a hostile one fifty
/// thousand.
const MOST_LINES: usize = 20_000;

/// The most recently used bodies, newest first.
#[derive(Debug, Default)]
pub struct Bodies(VecDeque<(Key, Arc<Body>)>);

/// What a laid-out body depends on. The JSON stands for the content: it is replaced whole whenever
/// the email is read again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    id: EmailId,
    json: Arc<str>,
    view: BodyView,
    width: u16,
}

impl Bodies {
    /// The body, laid out now if it is not here. Blocks; the lock is not held while it does.
    pub fn at(bodies: &Mutex<Self>, email: &Email, view: BodyView, width: u16) -> Arc<Body> {
        let key = Key {
            id: email.summary.id.clone(),
            json: email.json.clone(),
            view,
            width,
        };
        let lock = || bodies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(body) = lock().find(&key) {
            return body;
        }
        let body = Arc::new(render::lay_out(email, view, width));
        lock().keep(key, body.clone());
        body
    }

    fn find(&mut self, key: &Key) -> Option<Arc<Body>> {
        let at = self.0.iter().position(|(held, _)| held == key)?;
        let entry = self.0.remove(at)?;
        let body = entry.1.clone();
        self.0.push_front(entry);
        Some(body)
    }

    fn keep(&mut self, key: Key, body: Arc<Body>) {
        self.0.push_front((key, body));
        self.0.truncate(MOST);
        let lines = |(_, body): &(Key, Arc<Body>)| body.lines.len();
        while self.0.len() > 1 && self.0.iter().map(lines).sum::<usize>() > MOST_LINES {
            self.0.pop_back();
        }
    }
}
