//! Fetches the bodies that a filter searches, after a question:
//! a word matches only in bodies that are known.
//!
//! The candidates are the emails that match if their bodies do. They are fetched from the newest on, in the
//! background, a few at a time, so that the list grows meanwhile. [`super::status_check`] works alike.

use std::sync::Arc;

use crate::api::InvalidResponses;
use crate::app::chooser::{Chooser, ChooserKind, Question};
use crate::app::commands::{Command, require};
use crate::app::effect::{BodyFetch, Effect, Pending, RequestId};
use crate::app::message::BodyFetchStep;
use crate::app::model::Model;
use crate::error::Result;
use crate::query::Query;
use crate::text::format::plural;

/// The count of the bodies to fetch, the question about them, and the fetch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BodyFetchState {
    pub running: Option<BodyFetch>,
    count: Pending<u64>,
    /// The filter whose bodies are counted, until the question about them is answered.
    counted: Option<Arc<Query>>,
    pub(in crate::app) request: Pending<()>,
}

impl BodyFetchState {
    /// Forgets the count, so that no question follows.
    pub(in crate::app) fn drop_count(&mut self) {
        self.count.reset();
        self.counted = None;
    }

    /// Stops a running fetch; false if there is none.
    pub(in crate::app) fn stop(&mut self) -> bool {
        self.request.reset();
        self.running.take().is_some()
    }
}

impl Model {
    /// An error if the filter searches no bodies, all are known,
    /// or none can be fetched.
    pub(in crate::app) fn check_fetch_bodies(&self) -> Result<(), String> {
        require(
            self.list.filter.needs_bodies(),
            "this filter searches no bodies",
        )?;
        if let Some(unavailable) = &self.service.unavailable {
            return Err(unavailable.error.message.clone());
        }
        let is_known = self.list.bodies_known.is_some() && !self.may_fetch_bodies();
        require(!is_known, "all bodies are known")
    }

    /// Whether the filter searches bodies of which some are not known.
    pub fn may_fetch_bodies(&self) -> bool {
        let counts = self.list.bodies_known.zip(self.list.archive_total);
        self.list.filter.needs_bodies() && counts.is_some_and(|(known, all)| known < all)
    }

    /// Counts the bodies to fetch; a question follows.
    pub(in crate::app) fn count_missing_bodies(&mut self) {
        let query = self.list.filter.query();
        self.body_fetch.drop_count();
        self.body_fetch.counted = Some(Arc::clone(query));
        self.outbox.push(Effect::CountMissingBodies(
            self.body_fetch.count.start(),
            Arc::new(query.without_bodies()),
        ));
    }

    pub(in crate::app) fn apply_missing_bodies(&mut self, request: RequestId, result: Result<u64>) {
        if !self.body_fetch.count.resolve(request, result) {
            return;
        }
        let count = &self.body_fetch.count;
        let text = match (count.value(), count.error()) {
            (Some(0), _) => "all bodies that this filter searches are known".to_owned(),
            (_, Some(error)) => error.message.clone(),
            (_, None) => return,
        };
        self.body_fetch.drop_count();
        self.notify(text);
    }

    /// Asks whether to fetch the counted bodies, as soon as nothing else is being typed
    /// or chosen. The question ends with its filter.
    pub(in crate::app) fn show_body_question(&mut self) {
        let query = self.list.filter.query();
        let mut counted = self.body_fetch.counted.iter();
        if counted.any(|counted| counted != query) {
            self.body_fetch.drop_count();
            let is_about_bodies = |chooser: &mut Chooser| {
                matches!(
                    chooser.kind,
                    ChooserKind::Question(Question::FetchBodies(_))
                )
            };
            self.chooser.take_if(is_about_bodies);
        }
        if let Some(count) = self.body_fetch.count.value()
            && self.is_free_to_ask()
        {
            self.open_question(Question::FetchBodies(*count));
        }
    }

    /// Fetches the bodies of the filter that the question was about.
    pub(in crate::app) fn start_body_fetch(&mut self, total: u64) {
        let Some(query) = self.body_fetch.counted.take() else {
            return;
        };
        self.body_fetch.drop_count();
        self.body_fetch.running = Some(BodyFetch {
            candidates: Arc::new(query.without_bodies()),
            query,
            total,
            requests: 0,
            requested_down_to: None,
            invalid: InvalidResponses::default(),
        });
    }

    /// Requests the next bodies; stops if the filter is another one.
    pub(in crate::app) fn continue_body_fetch(&mut self) {
        let query = self.list.filter.query();
        if self
            .body_fetch
            .running
            .take_if(|fetch| fetch.query != *query)
            .is_some()
        {
            self.body_fetch.request.reset();
        }
        if let Some(fetch) = &self.body_fetch.running
            && !self.body_fetch.request.is_pending()
        {
            let request = self.body_fetch.request.start();
            self.outbox
                .push(Effect::FetchBodies(request, fetch.clone()));
        }
    }

    pub(in crate::app) fn apply_body_fetch_step(
        &mut self,
        request: RequestId,
        result: Result<BodyFetchStep>,
    ) {
        let is_current = self.body_fetch.request.finish(request);
        let Some(fetch) = self.body_fetch.running.as_mut().filter(|_| is_current) else {
            return;
        };
        match result {
            Ok(step) => {
                fetch.requests += u64::from(step.requests);
                fetch.requested_down_to = step.down_to.or(fetch.requested_down_to);
                fetch.invalid = step.invalid;
                if step.is_done {
                    self.body_fetch.running = None;
                    let failed = match step.invalid.count {
                        0 => String::new(),
                        count => format!("; {} could not be read", plural(count, "response")),
                    };
                    self.notify(format!(
                        "the bodies that this filter searches are fetched{failed}"
                    ));
                }
            }
            Err(error) => {
                self.body_fetch.running = None;
                let text = format!("stopped fetching bodies: {}", error.message);
                self.notify_with(&text, Command::FetchBodies, "continues");
                self.service.record_error(error, self.now.timestamp());
            }
        }
        self.reload_list();
    }
}
