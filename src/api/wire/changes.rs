//! The data of an event of a mirror.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The JSON of a change; which members it has depends on the name of the event.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ChangeEvent {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// Null if the service has sent none; absent in other events than `changed`.
    #[expect(clippy::option_option, reason = "null and absent differ")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_event: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seen_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bounce: Option<Box<RawValue>>,
    /// Half of the SHA-256 of the id in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
}
