//! [`Attachment`]: what the service says of a file that was sent with an email.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::SafeText;
use crate::text::format::format_bytes;

/// A file that was sent with an email, without its content.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The service's id, not sanitized; empty if it names none.
    pub(crate) id: String,
    /// The file name; empty if there is none.
    pub(crate) name: SafeText,
    /// Bytes.
    pub(crate) size: Option<u64>,
    /// The media type; empty if it is not known.
    pub(crate) content_type: SafeText,
    /// Whether the html shows it.
    pub(crate) is_inline: bool,
    /// Its name in the html (`cid:...`), not sanitized; empty if it has no such name.
    pub(crate) content_id: String,
    /// A link that needs no key. It is on another host, and works for about an hour.
    pub(crate) download_url: Option<Arc<str>>,
    /// When the link ends.
    pub(crate) expires_at: Option<Timestamp>,
    /// The JSON as it was sent.
    pub(crate) json: Arc<str>,
}

impl Attachment {
    /// Returns the file name, or `(no name)`.
    pub(crate) fn label(&self) -> &str {
        if self.name.is_empty() {
            "(no name)"
        } else {
            &self.name
        }
    }

    /// Writes `invoice.pdf 48 kB, terms.pdf 12 kB`.
    pub(crate) fn join(all: &[Self]) -> String {
        let all: Vec<String> = all.iter().map(Self::to_string).collect();
        all.join(", ")
    }
}

/// Writes `invoice.pdf 48 kB`.
impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())?;
        match self.size {
            Some(size) => write!(f, " {}", format_bytes(size)),
            None => Ok(()),
        }
    }
}

/// Leaves out the link, which gives the file to anyone.
impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attachment")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
