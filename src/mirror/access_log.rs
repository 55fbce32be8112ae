//! Who read which email, when: one JSON line for each request, in a private file.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Mutex;

use serde::Serialize;

use crate::config::RotatingFile;
use crate::error::lock;
use crate::mail::EmailId;

/// The size at which the log is rotated: about a million lines for single emails.
const MAX_SIZE: u64 = 200 << 20;

/// The log.
pub(crate) struct AccessLog(Mutex<RotatingFile>);

/// One request. It has no key, and nothing of a query but ids of emails.
#[derive(Debug, Serialize)]
pub(super) struct Access<'a> {
    pub(super) time: String,
    /// The name of the key; null without a valid one.
    pub(super) key: Option<&'a str>,
    pub(super) client: Option<String>,
    pub(super) operation: &'static str,
    /// The emails in the response.
    #[serde(serialize_with = "serialize_ids")]
    pub(super) emails: &'a [EmailId],
    pub(super) status: u16,
    pub(super) seconds: f64,
}

fn serialize_ids<S: serde::Serializer>(ids: &[EmailId], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ids.iter().map(EmailId::as_str))
}

impl AccessLog {
    /// Opens the log, and creates it with mode 0600 if there is none.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Mutex::new(RotatingFile::open(path, MAX_SIZE)?)))
    }

    pub(super) fn write(&self, access: &Access<'_>) -> io::Result<()> {
        let mut line = serde_json::to_vec(access)?;
        line.push(b'\n');
        lock(&self.0).write_all(&line)
    }
}
