//! Reads emails from a JSON document of any length:
//! a list, the service's envelope around one, or one object after the other over several lines.
//!
//! Only one email is in memory at a time.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result};

/// The most bytes of one email:
/// what the service sends of one (24 MB), exported with escapes.
pub(crate) const MAX_EMAIL: usize = 64 << 20;

/// The member of the envelope that has the emails.
const ITEMS: &str = "data";

/// Whether a text that starts like this is a document,
/// and not an email on each line.
pub(super) fn is_document(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start();
    let line = text.lines().next().unwrap_or_default().trim_end();
    let is_email = find_member(line, "\"id\"");
    let is_envelope = find_member(line, "\"data\"");
    text.starts_with('[')
        || text.starts_with('{')
            && (line.ends_with(['{', '[', ','])
                || is_envelope.is_some_and(|at| is_email.is_none_or(|email| at < email)))
}

/// Returns where an object has a member of this name,
/// without those of the objects in it.
fn find_member(object: &str, name: &str) -> Option<usize> {
    let depth = |at: usize| {
        let ends = object[..at].matches(['}', ']']).count();
        object[..at].matches(['{', '[']).count().checked_sub(ends)
    };
    let mut found = object.match_indices(name).map(|(at, _)| at);
    found.find(|at| depth(*at) == Some(1))
}

/// Calls `visit` with the JSON of each email.
///
/// # Errors
///
/// Those of `visit`, and a text that is not JSON.
pub(super) fn for_each_email(
    input: impl Read,
    mut visit: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let left = Cell::new(MAX_EMAIL);
    let input = LimitedReader { input, left: &left };
    let mut failed = None;
    let mut visit = |json: &str| match visit(json) {
        Ok(()) => {
            left.set(MAX_EMAIL);
            true
        }
        Err(error) => {
            failed = Some(error);
            false
        }
    };
    let mut json = serde_json::Deserializer::from_reader(input);
    let read = loop {
        // The end of the text, after the last value.
        match json.end() {
            Ok(()) => break Ok(()),
            Err(error) if error.is_eof() || error.is_io() => break Err(error),
            Err(_) => {}
        }
        if let Err(error) = (Value { visit: &mut visit }).deserialize(&mut json) {
            break Err(error);
        }
    };
    match (failed, read) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => {
            let (kind, what) = if error.is_io() {
                (ErrorKind::Io, "cannot be read")
            } else {
                (ErrorKind::InvalidInput, "is not valid JSON")
            };
            let message = format!("the input {what}: {error}");
            Err(Error::new(kind, message).with_hint("what came before is in the archive"))
        }
    }
}

/// Fails when it has read more than may be `left`.
struct LimitedReader<'a, R> {
    input: R,
    left: &'a Cell<usize>,
}

impl<R: Read> Read for LimitedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let Some(left) = self.left.get().checked_sub(read) else {
            let message = format!("an email is longer than {} MB", MAX_EMAIL >> 20);
            return Err(io::Error::other(message));
        };
        self.left.set(left);
        Ok(read)
    }
}

/// A value that is a list of emails, an envelope, or an email.
struct Value<'a> {
    visit: &'a mut dyn FnMut(&str) -> bool,
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an email or a list of emails")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<Box<RawValue>>()? {
            if !(self.visit)(item.get()) {
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut email = String::new();
        let (mut has_id, mut is_envelope) = (false, false);
        while let Some(name) = members.next_key::<String>()? {
            if name == ITEMS && !has_id {
                is_envelope = true;
                members.next_value_seed(Value {
                    visit: &mut *self.visit,
                })?;
                continue;
            }
            has_id |= name == "id";
            let value: Box<RawValue> = members.next_value()?;
            let name = serde_json::to_string(&name).map_err(A::Error::custom)?;
            email.push(if email.is_empty() { '{' } else { ',' });
            email.push_str(&name);
            email.push(':');
            email.push_str(value.get());
        }
        email.push_str(if email.is_empty() { "{}" } else { "}" });
        if !is_envelope && !(self.visit)(&email) {
            return Err(A::Error::custom("stopped"));
        }
        Ok(())
    }
}
