//! Stores an event that the service, or a mirror of it, reported without a request.

use serde_json::json;
use serde_json::value::RawValue;

use super::incoming::{self, IncomingEmail, ValueCache};
use super::listing::confirmations;
use super::storage::db::{Transaction, params};
use super::storage::error::damaged_error;
use super::{Archive, RequestStamp, SortKey, purge};
use crate::api::ListedEmail;
use crate::error::Result;
use crate::mail::{BOUNCE_FIELD, EmailId, Status};

#[derive(Debug, Clone)]
pub(crate) struct EmailEvent {
    pub(crate) id: EmailId,
    pub(crate) status: Status,
    pub(crate) bounce: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EventOutcome {
    /// The archive has changed.
    Stored,
    /// The archive has it already, or something newer.
    Known,
    /// The archive does not have the email.
    Missing,
    Purged,
}

impl EventOutcome {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Known => "known",
            Self::Missing => "missing",
            Self::Purged => "purged",
        }
    }
}

impl Archive {
    /// Stores events, each of which counts as a response to its request;
    /// all of them or none.
    ///
    /// With the time of the event as that of the request, events may come in any order, and more
    /// than once; a request that was sent before the event does not undo it, and one that was sent
    /// later is believed. The reason of a bounce is kept whatever the status is by now.
    pub(crate) fn put_events(
        &self,
        events: &[(EmailEvent, RequestStamp)],
    ) -> Result<Vec<EventOutcome>> {
        self.write(|tx| {
            let events = events.iter();
            let outcomes = events.map(|(event, request)| Self::put_event(tx, event, *request));
            outcomes.collect()
        })
    }

    fn put_event(
        tx: &Transaction,
        event: &EmailEvent,
        request: RequestStamp,
    ) -> Result<EventOutcome> {
        let json = json!({ "id": event.id.as_str(), "last_event": event.status.api_name() });
        let item = ListedEmail::parse(&json.to_string()).map_err(damaged_error)?;
        let mut emails = vec![IncomingEmail::new(item, request.as_of)];
        purge::filter_purged(tx, &mut emails, request.as_of)?;
        let Some(email) = emails.first_mut() else {
            return Ok(EventOutcome::Purged);
        };
        let Some(existing) = &email.existing else {
            return Ok(EventOutcome::Missing);
        };
        let key = existing.sort_key;
        let current = incoming::load_fields(tx, key)?.summary.last_event;
        let current = Status::parse(&current.unwrap_or_default());
        // Of two events at the same time, the one that usually comes later counts.
        let is_newest = !existing.is_newer_than(request)
            && (!existing.is_written_by(request) || event.status.progress() > current.progress());
        email.sort_key = key;
        let mut is_changed = false;
        if is_newest {
            is_changed = email.update_status(tx, request)?;
            confirmations::record_row(tx, key, request)?;
        }
        if let Some(bounce) = &event.bounce {
            is_changed |= store_bounce(tx, key, bounce, is_newest)?;
        }
        Ok(if is_changed {
            EventOutcome::Stored
        } else {
            EventOutcome::Known
        })
    }
}

/// Stores the reason of a bounce among the unknown members of the row,
/// where it replaces an older one; true if it is new.
fn store_bounce(
    tx: &Transaction,
    key: SortKey,
    bounce: &RawValue,
    is_newest: bool,
) -> Result<bool> {
    let current = incoming::load_fields(tx, key)?;
    if current
        .bounce()
        .is_some_and(|stored| !is_newest || stored == bounce.get())
    {
        return Ok(false);
    }
    let fields = current.with_members([(BOUNCE_FIELD, bounce)]);
    let fields = fields.map_err(damaged_error)?;
    let order = ValueCache::default().key_order_id(tx, &fields.key_order)?;
    let query = "UPDATE mail SET key_order_id = ?2, extra_json = ?3 WHERE sort_key = ?1";
    tx.execute(query, params![key, order, fields.extra_json])?;
    Ok(true)
}
