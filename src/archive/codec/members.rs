//! Members in which the two forms of an email differ:
//! that of the list and that of a retrieved email.
//!
//! Each of them may have null where the other one has addresses or a due time, so a null proves
//! nothing.

use serde_json::value::RawValue;

use crate::api::wire::{LosslessSummary, Summary};
use crate::error::Result;
use crate::mail::ApiTime;

use super::super::storage::error::damaged_error;

/// A member of an email as JSON.
pub(crate) type Member = (&'static str, Box<RawValue>);

/// Returns the lists of addresses and the due time that `own` lacks, and `other` has.
pub(crate) fn missing_members(own: &Summary, other: &Summary) -> Vec<Member> {
    let lists = [
        ("cc", &own.cc, &other.cc),
        ("bcc", &own.bcc, &other.bcc),
        ("reply_to", &own.reply_to, &other.reply_to),
    ];
    let is_empty = |list: &Option<Vec<String>>| list.as_ref().is_none_or(Vec::is_empty);
    let missing = lists
        .into_iter()
        .filter(|(_, own, other)| is_empty(own) && !is_empty(other));
    let lists = missing.filter_map(|(name, _, other)| Some((name, to_json(other)?)));
    let due = other.scheduled_at.as_ref();
    let due = due.filter(|_| own.scheduled_at.is_none()).and_then(to_json);
    lists.chain(due.map(|due| ("scheduled_at", due))).collect()
}

/// Returns the members of `newer` that `own` lacks or has from before:
/// lists of addresses, and the time for which it is scheduled.
pub(crate) fn newer_members(own: &Summary, newer: &Summary) -> Vec<Member> {
    let mut members = missing_members(own, newer);
    let [before, after] = [own, newer].map(|it| it.scheduled_at.as_deref().map(ApiTime::parse));
    if let (Some(before), Some(after)) = (before, after)
        && (before.parsed != after.parsed || before.parsed.is_none() && before.raw != after.raw)
    {
        members.extend(to_json(&newer.scheduled_at).map(|due| ("scheduled_at", due)));
    }
    members
}

/// Returns an email of the list with these members.
pub(crate) fn with_members(
    fields: &LosslessSummary,
    members: &[Member],
) -> Result<LosslessSummary> {
    let members = members.iter().map(|(name, value)| (*name, &**value));
    fields.with_members(members).map_err(damaged_error)
}

fn to_json(value: &impl serde::Serialize) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(value).ok()
}
