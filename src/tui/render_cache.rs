//! Laid-out bodies that were shown lately, so that going back and forth lays nothing out again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::mail::{Email, EmailId};
use crate::render::{self, Body, BodyView};

/// How many are kept; a screenful of neighbours in one view.
const MAX_BODIES: usize = 24;
/// How many lines they may have together: an ordinary email has a hundred, a hostile one fifty
/// thousand.
const MAX_TOTAL_LINES: usize = 20_000;

/// The most recently used bodies, newest first.
#[derive(Debug, Default)]
pub struct RenderCache(VecDeque<(CacheKey, Arc<Body>)>);

/// What a laid-out body depends on. The JSON stands for the content: it is replaced whole whenever
/// the email is read again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CacheKey {
    id: EmailId,
    json: Arc<str>,
    view: BodyView,
    width: u16,
}

impl RenderCache {
    /// The body, laid out now if it is not here. Blocks; the lock is not held while it does.
    pub fn get_or_render(
        bodies: &Mutex<Self>,
        email: &Email,
        view: BodyView,
        width: u16,
    ) -> Arc<Body> {
        let key = CacheKey {
            id: email.summary.id.clone(),
            json: email.json.clone(),
            view,
            width,
        };
        let lock = || bodies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(body) = lock().get(&key) {
            return body;
        }
        let body = Arc::new(render::lay_out(email, view, width));
        lock().insert(key, body.clone());
        body
    }

    fn get(&mut self, key: &CacheKey) -> Option<Arc<Body>> {
        let at = self.0.iter().position(|(held, _)| held == key)?;
        let entry = self.0.remove(at)?;
        let body = entry.1.clone();
        self.0.push_front(entry);
        Some(body)
    }

    fn insert(&mut self, key: CacheKey, body: Arc<Body>) {
        self.0.push_front((key, body));
        self.0.truncate(MAX_BODIES);
        let lines = |(_, body): &(CacheKey, Arc<Body>)| body.lines.len();
        while self.0.len() > 1 && self.0.iter().map(lines).sum::<usize>() > MAX_TOTAL_LINES {
            self.0.pop_back();
        }
    }
}
