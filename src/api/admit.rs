//! Tries a key before it is stored: what it may do is only known once the service was asked.

use super::{Client, ClientConfig, Cursor, EmailApi as _, RetryPolicy};
use crate::config::clock::Clock;
use crate::config::{ApiKey, KeyTarget, Rate};
use crate::error::Error;

/// Asks the service for one email with `key`.
///
/// # Errors
///
/// If the service does not take the key or does not let it read, or cannot be asked.
pub(crate) async fn verify_key(
    place: &KeyTarget,
    key: &ApiKey,
    clock: &Clock,
) -> Result<(), Error> {
    let KeyTarget {
        profile: _,
        base_url,
        key_file: _,
        ca_file,
    } = place;
    let access = ClientConfig {
        base_url: base_url.clone(),
        key: Ok(key.clone()),
        ca_file: ca_file.clone(),
        rate: Rate::default(),
        rate_file: None,
    };
    let client = Client::new(access, RetryPolicy::ONE_SHOT, clock.clone());
    client
        .list(1, &Cursor::Start)
        .await
        .map(drop)
        .map_err(add_not_stored_hint)
}

/// The same failure, saying that the key was not kept.
fn add_not_stored_hint(failure: Error) -> Error {
    let hint = if failure.hint.is_empty() {
        "the key was not stored".to_owned()
    } else {
        format!("{}; the key was not stored", failure.hint)
    };
    failure.with_hint(hint)
}
