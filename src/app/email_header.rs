//! The header of an email as lines, as far as they fit into the pane.

use std::sync::Arc;

use jiff::Timestamp;

use super::message::OpenedEmail;
use crate::archive::{EmailRow, ObservedStatus};
use crate::mail::{Address, ApiTime, Attachment, SafeText, Status, Tag, explain};
use crate::render::BodyNotice;
use crate::text::secrets;
use crate::text::width::{DisplayWidth as _, wrap};

/// One line of the header. The view draws it;
/// that it is one line is decided here, because scrolling needs the number of lines.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderLine {
    Subject(SafeText),
    /// A label and a line of addresses;
    /// the label is empty on further lines of the same field.
    Addresses(&'static str, String),
    /// The first recipient with the number of others, and the time at which it was
    /// accepted.
    ToAndCreated(String, ApiTime),
    /// The time at which it was accepted.
    Created(ApiTime),
    /// The time at which it is to be sent.
    Scheduled(ApiTime),
    /// The status, and its meaning as far as it fits on the line.
    Status {
        status: Status,
        /// Whether the time of its confirmation is shown.
        is_stale: bool,
        meaning: String,
    },
    /// A label and a line of text;
    /// the label is empty on further lines of the same field.
    Text(&'static str, String),
    /// The service no longer has the email.
    Gone(Timestamp),
    /// The observed statuses, oldest first.
    History(Vec<ObservedStatus>),
    /// A further line of the status.
    Indented(String),
    /// Name and JSON of a field that this version does not know.
    Field(SafeText, SafeText),
    /// The number of fields that only the raw view shows.
    MoreFields(usize),
    /// The tabs of the body views, with the number of lines by which the next
    /// [`HeaderDetail`] is longer.
    ViewBar(usize),
}

impl HeaderLine {
    /// Masks codes and URLs that work once in what the sender wrote.
    pub(super) fn mask_secrets(&mut self) {
        match self {
            Self::Subject(subject) => *subject = SafeText::new(&secrets::mask_secrets(subject)),
            Self::Addresses(_, text) | Self::Text("tags", text) => {
                *text = secrets::mask_secrets(text).into_owned();
            }
            _ => {}
        }
    }
}

/// How much of the header is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderDetail {
    /// What became of it, who got it, and when.
    #[default]
    Brief,
    /// The sender, ids, and the first fields that this version does not know, too.
    Full,
    /// Every recipient, tag and field.
    Everything,
}

impl HeaderDetail {
    /// The next one in a cycle.
    pub const fn next(self) -> Self {
        match self {
            Self::Brief => Self::Full,
            Self::Full => Self::Everything,
            Self::Everything => Self::Brief,
        }
    }
}

/// The pane for which a header is built.
#[derive(Debug, Clone, Copy)]
pub struct HeaderPane {
    pub width: u16,
    pub height: u16,
    pub detail: HeaderDetail,
    /// Whether the status was not confirmed lately.
    pub is_stale: bool,
}

impl HeaderPane {
    /// In a lower pane, a brief header is as short as it can be.
    const LOW: u16 = 16;

    const fn is_low(self) -> bool {
        self.height < Self::LOW && matches!(self.detail, HeaderDetail::Brief)
    }

    const fn is_at_least(self, detail: HeaderDetail) -> bool {
        self.detail as u8 >= detail as u8
    }

    /// The most lines of a field; the last one has all the rest.
    const fn max_lines(self) -> usize {
        match self.detail {
            HeaderDetail::Everything => usize::MAX,
            HeaderDetail::Brief if self.height < Self::LOW => 2,
            HeaderDetail::Brief | HeaderDetail::Full => 4,
        }
    }

    /// The columns beside a label.
    fn value_width(self) -> usize {
        usize::from(self.width.saturating_sub(LABEL_WIDTH)).max(1)
    }
}

/// What the service says beside the opened email, as far as it was asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeaderFacts {
    pub attachments: Arc<[Attachment]>,
    /// Whether it sends to the recipient, in words.
    pub suppression: String,
    /// How often the email was opened and clicked, in words.
    pub activity: String,
}

/// The most fields that this version does not know, unless everything is shown.
const MAX_EXTRA_FIELDS: usize = 3;

/// Builds the header of `row`;
/// some lines need the opened email, and some its laid-out body.
pub fn header_lines(
    row: &EmailRow,
    opened: Option<&OpenedEmail>,
    found: &HeaderFacts,
    notices: &[BodyNotice],
    pane: HeaderPane,
) -> Vec<HeaderLine> {
    let nothing = HeaderFacts::default();
    let found = opened.map_or(&nothing, |_| found);
    let mut lines = field_lines(row, opened, found, notices, pane);
    let detail = pane.detail.next();
    let next = HeaderPane { detail, ..pane };
    let next = field_lines(row, opened, found, notices, next);
    lines.push(HeaderLine::ViewBar(next.len().saturating_sub(lines.len())));
    lines
}

fn field_lines(
    row: &EmailRow,
    opened: Option<&OpenedEmail>,
    found: &HeaderFacts,
    notices: &[BodyNotice],
    pane: HeaderPane,
) -> Vec<HeaderLine> {
    let summary = &row.summary;
    let mut lines = vec![HeaderLine::Subject(summary.subject.clone())];
    // The row has only the first recipients, but it may be newer.
    let full = opened.map_or(summary, |opened| &opened.email.summary);
    let bounce = summary.bounce().or_else(|| full.bounce());
    let (meaning, bounced) = explain(&summary.status, bounce.as_ref());
    let is_sent = summary.status.exists();
    let from = std::slice::from_ref(&summary.from);
    if is_sent {
        push_status(&mut lines, &summary.status, meaning, pane);
    }
    lines.extend(row.missing_since.map(HeaderLine::Gone));
    push_text(&mut lines, "blocked", &found.suppression, pane);
    push_text(&mut lines, "activity", &found.activity, pane);
    if pane.is_low() {
        push_low_fields(&mut lines, row, &full.to, pane);
        push_attachments(&mut lines, &found.attachments, pane);
        return lines;
    }
    if !is_sent {
        push_addresses(&mut lines, "from", from, pane);
    }
    push_addresses(&mut lines, "to", &full.to, pane);
    push_addresses(&mut lines, "cc", &full.cc, pane);
    push_addresses(&mut lines, "bcc", &full.bcc, pane);
    if pane.is_at_least(HeaderDetail::Full) {
        if is_sent {
            push_addresses(&mut lines, "from", from, pane);
        }
        push_addresses(&mut lines, "reply-to", &summary.reply_to, pane);
    }
    lines.push(HeaderLine::Created(summary.created.clone()));
    lines.extend(summary.scheduled.clone().map(HeaderLine::Scheduled));
    if let Some(opened) = opened {
        let mut history = opened.history.clone();
        // The row may know of a change that came after the email was opened.
        history.extend(
            row.last_change.clone().filter(|changed| {
                (opened.history.last()).is_none_or(|last| last.seen < changed.seen)
            }),
        );
        if history.len() > 1 {
            lines.push(HeaderLine::History(history));
        }
        push_tags(&mut lines, &opened.email.tags, pane);
    }
    push_attachments(&mut lines, &found.attachments, pane);
    if pane.is_at_least(HeaderDetail::Full) {
        for notice in notices.iter().filter(|notice| !notice.is_in_body) {
            push_text(&mut lines, "body", &notice.detail, pane);
        }
        let id = summary.id.to_safe_text();
        push_text(&mut lines, "id", &id, pane);
        push_text(&mut lines, "message-id", &summary.message_id, pane);
        push_text(&mut lines, "bounce", &bounced, pane);
        let has_attachments = !found.attachments.is_empty();
        let extra = full.other_fields(bounce.as_ref(), has_attachments);
        let extra: Vec<_> = extra.collect();
        let count = match pane.detail {
            HeaderDetail::Everything => extra.len(),
            HeaderDetail::Brief | HeaderDetail::Full => extra.len().min(MAX_EXTRA_FIELDS),
        };
        let shown = extra[..count].iter();
        lines.extend(shown.map(|(name, json)| HeaderLine::Field(name.clone(), json.clone())));
        if count < extra.len() {
            lines.push(HeaderLine::MoreFields(extra.len() - count));
        }
    }
    lines
}

/// Adds correspondent and times in as few lines as possible, for a low pane.
fn push_low_fields(
    lines: &mut Vec<HeaderLine>,
    row: &EmailRow,
    all_to: &[Address],
    pane: HeaderPane,
) {
    let summary = &row.summary;
    let is_lookalike = |to: &Address| to.lookalike_warning().is_some();
    if !summary.status.exists() {
        push_addresses(lines, "from", std::slice::from_ref(&summary.from), pane);
        lines.push(HeaderLine::Created(summary.created.clone()));
    } else if summary.to.iter().any(is_lookalike) {
        push_addresses(lines, "to", all_to, pane);
        lines.push(HeaderLine::Created(summary.created.clone()));
    } else {
        let to = summary.to.first().map_or(String::new(), Address::to_string);
        let more = match row.to_count {
            0 | 1 => String::new(),
            count => format!(" +{}", count - 1),
        };
        lines.push(HeaderLine::ToAndCreated(
            to + &more,
            summary.created.clone(),
        ));
    }
    lines.extend(summary.scheduled.clone().map(HeaderLine::Scheduled));
}

/// Adds as many tags to each line as fit.
fn push_tags(lines: &mut Vec<HeaderLine>, tags: &[Tag], pane: HeaderPane) {
    // Tags are rarely what an email is opened for.
    let max_lines = match pane.detail {
        HeaderDetail::Brief => 1,
        HeaderDetail::Full | HeaderDetail::Everything => pane.max_lines(),
    };
    let tags = tags.iter().map(Tag::to_string);
    push_items(lines, "tags", tags, "  ", max_lines, pane);
}

/// Adds the names and sizes of the attachments, as many to each line as fit;
/// in a low pane on one line.
fn push_attachments(lines: &mut Vec<HeaderLine>, attachments: &[Attachment], pane: HeaderPane) {
    let max_lines = if pane.is_low() { 1 } else { pane.max_lines() };
    let items = attachments.iter().map(Attachment::to_string);
    push_items(lines, "attached", items, ", ", max_lines, pane);
}

/// Adds as many items to each line as fit; the last line has all the rest.
fn push_items(
    lines: &mut Vec<HeaderLine>,
    label: &'static str,
    items: impl Iterator<Item = String>,
    separator: &str,
    max_lines: usize,
    pane: HeaderPane,
) {
    let columns = pane.value_width();
    let mut texts: Vec<String> = Vec::new();
    for item in items {
        match texts.last_mut() {
            Some(last) if last.width() + separator.width() + item.width() <= columns => {
                last.push_str(separator);
                last.push_str(&item);
            }
            _ => texts.push(item),
        }
    }
    join_last(&mut texts, max_lines, separator);
    lines.extend(label_first(label, texts, HeaderLine::Text));
}

/// Adds the status with its meaning, or with the reason of a bounce, wrapped.
fn push_status(lines: &mut Vec<HeaderLine>, status: &Status, meaning: &str, pane: HeaderPane) {
    let as_of = if pane.is_stale { AS_OF_WIDTH } else { 0 };
    let label = SYMBOL_WIDTH + 1 + status.label().width() + as_of + 2;
    let columns = usize::from(pane.width).saturating_sub(label).max(1);
    let mut rest = wrap(meaning, columns);
    // A word that is too wide for the rest of this line goes to the next one.
    let fits = rest.first().is_some_and(|line| line.width() <= columns);
    let first = rest.drain(..usize::from(fits)).next().unwrap_or_default();
    lines.push(HeaderLine::Status {
        status: status.clone(),
        is_stale: pane.is_stale,
        meaning: first,
    });
    let indent = if pane.is_low() { 2 } else { LABEL_WIDTH };
    let columns = usize::from(pane.width.saturating_sub(indent)).max(1);
    let mut rest = wrap(&rest.join(" "), columns);
    join_last(&mut rest, pane.max_lines() - 1, " ");
    lines.extend(rest.into_iter().map(|line| {
        if pane.is_low() {
            HeaderLine::Indented(line)
        } else {
            HeaderLine::Text("", line)
        }
    }));
}

/// Adds a label with a wrapped text, unless it is empty.
fn push_text(lines: &mut Vec<HeaderLine>, label: &'static str, text: &str, pane: HeaderPane) {
    let mut texts = wrap(text, pane.value_width());
    join_last(&mut texts, pane.max_lines(), " ");
    lines.extend(label_first(label, texts, HeaderLine::Text));
}

/// Adds as many addresses to each line as fit;
/// one that does not fit is broken at a space or before its domain, so that all of it can be read.
fn push_addresses(
    lines: &mut Vec<HeaderLine>,
    label: &'static str,
    all: &[Address],
    pane: HeaderPane,
) {
    let columns = pane.value_width();
    let mut texts: Vec<String> = Vec::new();
    for (n, address) in all.iter().enumerate() {
        if texts.len() >= pane.max_lines() {
            texts.push(format!("and {} more", all.len() - n));
            break;
        }
        let comma = if n + 1 < all.len() { "," } else { "" };
        let text = format!("{}{comma}", address.with_warning());
        match texts.last_mut() {
            Some(last) if last.width() + 1 + text.width() <= columns => {
                last.push(' ');
                last.push_str(&text);
            }
            _ => texts.extend(break_address(&text, columns)),
        }
    }
    lines.extend(label_first(label, texts, HeaderLine::Addresses));
}

/// Puts what is beyond the last allowed line at its end.
fn join_last(texts: &mut Vec<String>, max_lines: usize, separator: &str) {
    if texts.len() > max_lines.max(1) {
        let rest = texts.split_off(max_lines.max(1) - 1).join(separator);
        texts.push(rest);
    }
}

/// Makes a line of each text, the first one with the label, the others without.
fn label_first(
    label: &'static str,
    texts: Vec<String>,
    line: fn(&'static str, String) -> HeaderLine,
) -> impl Iterator<Item = HeaderLine> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    labels
        .zip(texts)
        .map(move |(label, text)| line(label, text))
}

/// Breaks an address into lines of at most `columns`, as far as possible.
fn break_address(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let split = |word: &str| word.find('@').filter(|_| word.width() > columns);
    for word in text.split_inclusive(' ') {
        let (local, domain) = word.split_at(split(word).unwrap_or(0));
        for piece in [local, domain] {
            let last = lines.len() - 1;
            if !lines[last].is_empty() && lines[last].width() + piece.trim_end().width() > columns {
                lines.push(String::new());
            }
            let last = lines.len() - 1;
            lines[last].push_str(piece);
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Columns of the labels with the space after them.
pub const LABEL_WIDTH: u16 = 11;
/// Columns of a status symbol, of which ASCII has the widest ones.
const SYMBOL_WIDTH: usize = 2;
/// Columns of the longest time of a stale status.
const AS_OF_WIDTH: usize = ", as of 30 Nov".len();

#[cfg(test)]
mod tests {
    use super::*;

    fn pane(width: u16, height: u16) -> HeaderPane {
        HeaderPane {
            width,
            height,
            detail: HeaderDetail::Brief,
            is_stale: false,
        }
    }

    fn lines(all: &[&str], width: u16) -> Vec<(&'static str, String)> {
        let all: Vec<Address> = all.iter().map(|text| Address::parse(text)).collect();
        let mut lines = Vec::new();
        push_addresses(&mut lines, "to", &all, pane(LABEL_WIDTH + width, 40));
        let texts = lines.into_iter().map(|line| {
            if let HeaderLine::Addresses(label, text) = line {
                (label, text)
            } else {
                unreachable!()
            }
        });
        texts.collect()
    }

    fn meanings(lines: &[HeaderLine]) -> Vec<&str> {
        let texts = lines.iter().map(|line| match line {
            HeaderLine::Status { meaning: text, .. }
            | HeaderLine::Text("", text)
            | HeaderLine::Indented(text) => text.as_str(),
            _ => unreachable!(),
        });
        texts.collect()
    }

    #[test]
    fn meaning_of_status_is_wrapped() {
        let meaning = Status::Delivered.meaning();
        for (width, height, count) in [(100, 40, 1), (100, 8, 1), (51, 40, 2), (30, 8, 2)] {
            let mut lines = Vec::new();
            push_status(&mut lines, &Status::Delivered, meaning, pane(width, height));
            let texts = meanings(&lines);
            assert_eq!(texts.join(" "), meaning, "no word is lost");
            assert_eq!(texts.len(), count, "{texts:?}");
            assert!(texts[0].width() + "x delivered: ".len() <= width.into());
        }
    }

    #[test]
    fn reason_with_runs_of_spaces_is_wrapped() {
        for (width, expected) in [
            (100, &["550 ユーザー不明"][..]),
            (22, &["550", "ユーザー不明"]),
            (14, &["", "550", "ユーザー不明"]),
        ] {
            let mut lines = Vec::new();
            push_status(
                &mut lines,
                &Status::Bounced,
                "550  ユーザー不明",
                pane(width, 40),
            );
            assert_eq!(meanings(&lines), expected, "{width}");
        }
    }

    #[test]
    fn last_line_of_long_reason_has_the_rest() {
        let reason = "550 5.1.1 the account does not exist ".repeat(9);
        let mut lines = Vec::new();
        push_text(&mut lines, "why", reason.trim(), pane(LABEL_WIDTH + 30, 40));
        assert_eq!(lines.len(), 4);
        let whole = HeaderPane {
            detail: HeaderDetail::Everything,
            ..pane(LABEL_WIDTH + 30, 40)
        };
        let mut all = Vec::new();
        push_text(&mut all, "why", reason.trim(), whole);
        assert_eq!(lines[..3], all[..3]);
        assert!(
            matches!(&lines[3], HeaderLine::Text("", text) if text.ends_with("exist") && text.width() > 30),
            "the view cuts it with a mark"
        );
    }

    #[test]
    fn addresses_are_wrapped() {
        let owned = |lines: &[(&'static str, &str)]| {
            lines
                .iter()
                .map(|(label, text)| (*label, (*text).to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lines(&["a@example.com", "b@example.com"], 40),
            owned(&[("to", "a@example.com, b@example.com")])
        );
        assert_eq!(
            lines(&["a@example.com", "b@example.com"], 20),
            owned(&[("to", "a@example.com,"), ("", "b@example.com")])
        );
        assert_eq!(
            lines(&["Rohan Palakurthi <rohan-palakurthi@webmail.test>"], 24),
            owned(&[
                ("to", "Rohan Palakurthi"),
                ("", "<rohan-palakurthi"),
                ("", "@webmail.test>")
            ])
        );
        let many: Vec<String> = (0..9).map(|n| format!("customer{n}@example.com")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(
            lines(&many, 25).last().map(|(_, text)| text.as_str()),
            Some("and 5 more")
        );
        assert_eq!(lines(&[], 25), []);
    }
}
