//! The lines above a body: who, what, when and what became of it, as far as the pane has room.

use jiff::Timestamp;

use super::msg::Opened;
use crate::archive::{Observation, Row};
use crate::mail::{Address, Shown, Stamp, Status, Tag};

/// One line of the head. How it looks is the view's business; that it is one line is settled here,
/// so that scrolling knows how many lines there are.
#[derive(Debug, Clone, PartialEq)]
pub enum Head {
    /// The subject.
    Subject(Shown),
    /// A label and some addresses; the label is empty on further lines of the same field.
    Addresses(&'static str, Vec<Address>),
    /// When it was accepted.
    Sent(Stamp),
    /// When it is to be sent.
    Scheduled(Stamp),
    /// What became of it.
    Status(Status),
    /// When the service was found to list it no more.
    Gone(Timestamp),
    /// What was seen to become of it, and when, oldest first.
    History(Vec<Observation>),
    /// Labels.
    Tags(Vec<Tag>),
    /// A label and a text, such as an id or a field that nobody knows.
    Field(Shown, Shown),
    /// So many more fields; the raw view has them all.
    More(usize),
    /// The faces of the body, one of them shown.
    Views,
}

/// Panes lower than this get the few lines that matter most.
const LOW: u16 = 16;
/// Fields that nobody knows are shown up to this number.
const MOST_EXTRA: usize = 3;
/// A recipient list is shown to this many lines.
const MOST_ADDRESS_LINES: usize = 4;

/// The head of the email in `row`; what only the opened email knows comes when it is there.
#[must_use]
pub fn of(row: &Row, opened: Option<&Opened>, width: u16, height: u16) -> Vec<Head> {
    let summary = &row.summary;
    let mut lines = vec![Head::Subject(summary.subject.clone())];
    addresses(&mut lines, "to", &summary.to, width);
    let low = height < LOW;
    if !low {
        addresses(&mut lines, "cc", &summary.cc, width);
        addresses(&mut lines, "bcc", &summary.bcc, width);
    }
    addresses(&mut lines, "from", std::slice::from_ref(&summary.from), width);
    if !low {
        addresses(&mut lines, "reply-to", &summary.reply_to, width);
    }
    lines.push(Head::Sent(summary.created.clone()));
    if let Some(stamp) = &summary.scheduled {
        lines.push(Head::Scheduled(stamp.clone()));
    }
    lines.push(Head::Status(summary.status.clone()));
    lines.extend(row.gone.map(Head::Gone));
    if !low {
        if let Some(opened) = opened {
            if opened.history.len() > 1 {
                lines.push(Head::History(opened.history.clone()));
            }
            if !opened.email.tags.is_empty() {
                lines.push(Head::Tags(opened.email.tags.clone()));
            }
        }
        lines.push(Head::Field(Shown::new("id"), summary.id.shown()));
        if !summary.message_id.is_empty() {
            lines.push(Head::Field(Shown::new("message-id"), summary.message_id.clone()));
        }
        let extra = opened.map_or(&summary.extra, |opened| &opened.email.summary.extra);
        lines.extend(extra.iter().take(MOST_EXTRA).map(|(name, json)| Head::Field(name.clone(), json.clone())));
        if extra.len() > MOST_EXTRA {
            lines.push(Head::More(extra.len() - MOST_EXTRA));
        }
    }
    lines.push(Head::Views);
    lines
}

/// As many addresses on each line as fit after the label.
fn addresses(lines: &mut Vec<Head>, label: &'static str, all: &[Address], width: u16) {
    let room = usize::from(width.saturating_sub(LABEL_WIDTH)).max(1);
    let mut label = label;
    let mut taken = 0;
    for line in 0..MOST_ADDRESS_LINES {
        let rest = &all[taken..];
        if rest.is_empty() {
            return;
        }
        let mut used = 0;
        let fits = rest.iter().take_while(|address| {
            used += unicode_width::UnicodeWidthStr::width(address.to_string().as_str()) + 2;
            used <= room + 2
        });
        let count = if line + 1 == MOST_ADDRESS_LINES { rest.len() } else { fits.count().max(1) };
        lines.push(Head::Addresses(label, rest[..count].to_vec()));
        label = "";
        taken += count;
    }
}

/// Columns of the labels, the blank after them included.
pub const LABEL_WIDTH: u16 = 11;
