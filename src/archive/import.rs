//! Fills the archive from JSON lines: emails that were exported, or listed by another program.

use std::collections::HashSet;
use std::io::BufRead;
use std::sync::Arc;

use jiff::Timestamp;

use super::entry::{self, Entry, Source};
use super::members::{Members, object};
use super::{Archive, keep, removal, room};
use crate::api::wire;
use crate::failure::{Failure, Kind};

/// Lines in one transaction: the more, the fewer pages of the index of ids are written twice.
const BATCH: usize = 10_000;

/// The most text in one transaction, whatever the number of lines.
const BATCH_BYTES: usize = 16 << 20;

/// The most bad lines that are named.
const NAMED: usize = 100;

/// What became of the lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// How many lines were read, blank ones not counted.
    pub lines: u64,
    /// How many emails the archive did not have before.
    pub new: u64,
    /// How many were removed from this archive before, or are older than it keeps; they stay out.
    pub out: u64,
    /// How many lines were no email.
    pub bad: u64,
    /// Which ones (from 1 on) and why; the first hundred of them.
    pub bad_lines: Vec<(u64, String)>,
}

impl Archive {
    /// Takes emails in the shape of the list or of the retrieve operation, one to a line. A line that
    /// is no email is skipped and reported. An email that the archive already has gains the bodies that
    /// it lacked, and else stays as it is: the file may be older. `progress` is told after each batch.
    ///
    /// What was committed stays when the import is broken off; importing again continues it.
    ///
    /// # Errors
    ///
    /// If the lines cannot be read, or the archive cannot be written.
    pub fn import(
        &self,
        mut lines: impl BufRead,
        seen: Timestamp,
        mut progress: impl FnMut(&Imported),
    ) -> Result<Imported, Failure> {
        let mut done = Imported::default();
        let mut batch = Vec::with_capacity(BATCH);
        let mut line = Vec::new();
        let mut number = 0;
        let mut bytes = 0;
        loop {
            line.clear();
            let read = lines.read_until(b'\n', &mut line);
            if read.map_err(|error| {
                Failure::new(
                    Kind::Io,
                    format!("line {} cannot be read: {error}", number + 1),
                )
            })? == 0
            {
                break;
            }
            number += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            done.lines += 1;
            match entry(&line, seen) {
                Ok(entry) => batch.push(entry),
                Err(why) => {
                    done.bad += 1;
                    if done.bad_lines.len() < NAMED {
                        done.bad_lines.push((number, why));
                    }
                }
            }
            bytes += line.len();
            if batch.len() == BATCH || bytes > BATCH_BYTES {
                bytes = 0;
                self.take_in(&mut batch, seen, &mut done)?;
                progress(&done);
            }
        }
        self.take_in(&mut batch, seen, &mut done)?;
        progress(&done);
        Ok(done)
    }

    /// Takes the batch in and empties it.
    fn take_in(
        &self,
        batch: &mut Vec<Entry>,
        seen: Timestamp,
        done: &mut Imported,
    ) -> Result<(), Failure> {
        let mut ids = HashSet::new();
        let mut entries: Vec<Entry> = batch
            .drain(..)
            .filter(|entry| ids.insert(entry.raw_id().to_owned()))
            .collect();
        let (new, out) = self.connections.write(|change| {
            let out = removal::leave_out(change, &mut entries, self.keep, seen)?;
            room::by_time(change, &mut entries, seen)?;
            let new = entry::insert(change, &entries, Source::File(seen))?;
            for entry in entries.iter().filter(|entry| entry.known.is_some()) {
                if let Some(json) = entry.whole() {
                    keep::body_if_none(change, entry.place, json)?;
                }
            }
            Ok((new.len() as u64, out.len()))
        })?;
        done.new += new;
        done.out += out;
        Ok(())
    }
}

fn entry(line: &[u8], seen: Timestamp) -> Result<Entry, String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let json = without_notes(text.trim()).map_or_else(|| Arc::from(text.trim()), Arc::from);
    let entry = Entry::take(&json, seen, true).map_err(|failure| failure.sentence)?;
    let fields = entry.fields();
    let wire::Summary {
        to,
        from,
        created_at,
        subject,
        ..
    } = &fields.summary;
    // Any object with an id could be taken; somebody who named the wrong file would find its lines
    // among the team's mail.
    if to.is_none() && from.is_none() && created_at.is_none() && subject.is_none() {
        return Err("not an email: it has neither recipient, sender, time nor subject".to_owned());
    }
    drop(fields);
    Ok(entry)
}

/// The member in which `search` and `show` say when a status was confirmed.
const NOTES: &str = "_sentbox";

/// The JSON of an email without what sentbox has added to it; `None` if that is nothing.
fn without_notes(json: &str) -> Option<String> {
    if !json.contains(NOTES) {
        return None;
    }
    let mut members = Members::read(json)
        .ok()
        .filter(|members| members.has(NOTES))?;
    members.0.retain(|(name, _)| name != NOTES);
    Some(object(
        members
            .0
            .iter()
            .map(|(name, value)| (name.as_str(), value.get())),
    ))
}
