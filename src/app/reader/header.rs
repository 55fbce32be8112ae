//! The header of an email as lines, as far as they fit into the pane.

use std::sync::Arc;

use jiff::Timestamp;

use super::address_lines::{break_recipient, break_text, join_last};
use super::header_field::HeaderField;
use crate::app::message::OpenedEmail;
use crate::archive::{EmailRow, ObservedStatus};
use crate::mail::{Address, ApiTime, Attachment, SafeText, Status, Tag, explain};
use crate::render::BodyNotice;
use crate::text::secrets::{self, Secrets};
use crate::text::width::{DisplayWidth as _, split_columns, wrap};

/// One line of the header. `view` draws it;
/// that it is one line is decided here, because scrolling needs the number of lines.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderLine {
    /// A line of the subject, with its codes masked or revealed.
    Subject { is_first: bool, text: String },
    /// A line of a field, whose label is before the first one.
    Text {
        field: HeaderField,
        is_first: bool,
        text: String,
    },
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
    /// The service no longer has the email.
    MissingUpstream(Timestamp),
    /// The observed statuses, oldest first.
    History(Vec<ObservedStatus>),
    /// A further line of the status in a low pane.
    Indented(String),
    /// Name and JSON of a field that this version does not know.
    Field(SafeText, SafeText),
    /// The number of fields that only the raw body view shows.
    MoreFields(usize),
    /// The tabs of the body views, with the number of lines by which the next
    /// [`HeaderDetail`] is longer.
    BodyViewTabs(usize),
}

impl HeaderLine {
    /// Masks codes and URLs that work once. A subject is masked before it is wrapped.
    fn mask_secrets(&mut self) {
        if let Self::Text { field, text, .. } = self
            && (*field == HeaderField::TAGS || !field.query_fields.is_empty())
        {
            *text = secrets::mask_secrets(text).into_owned();
        }
    }
}

/// How much of the header is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderDetail {
    /// The outcome, the recipients and the times.
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
    pub secrets: Secrets,
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

/// Further facts about the opened email, as far as the service was asked.
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
    facts: &HeaderFacts,
    notices: &[BodyNotice],
    pane: HeaderPane,
) -> Vec<HeaderLine> {
    let nothing = HeaderFacts::default();
    let facts = opened.map_or(&nothing, |_| facts);
    let mut lines = field_lines(row, opened, facts, notices, pane);
    let detail = pane.detail.next();
    let next = HeaderPane { detail, ..pane };
    let next = field_lines(row, opened, facts, notices, next);
    lines.push(HeaderLine::BodyViewTabs(
        next.len().saturating_sub(lines.len()),
    ));
    if pane.secrets.are_masked() {
        lines.iter_mut().for_each(HeaderLine::mask_secrets);
    }
    lines
}

fn field_lines(
    row: &EmailRow,
    opened: Option<&OpenedEmail>,
    facts: &HeaderFacts,
    notices: &[BodyNotice],
    pane: HeaderPane,
) -> Vec<HeaderLine> {
    let summary = &row.summary;
    let lines = Vec::new();
    let mut header = HeaderBuilder { lines, pane };
    // The row has only the first recipients and the start of the subject, but it may be newer.
    let full = opened.map_or(summary, |opened| &opened.email.summary);
    header.push_subject(&full.shown_subject(pane.secrets));
    let bounce = row.find_bounce(full);
    let (meaning, bounced) = explain(&summary.status, bounce.as_ref(), row.recipient_count);
    let is_sent = summary.status.exists();
    let from = std::slice::from_ref(&summary.from);
    if is_sent {
        header.push_status(&summary.status, &meaning);
    }
    header
        .lines
        .extend(row.missing_since.map(HeaderLine::MissingUpstream));
    header.push_text(HeaderField::BLOCKED, &facts.suppression);
    header.push_text(HeaderField::ACTIVITY, &facts.activity);
    if pane.is_low() {
        header.push_low_fields(row, &full.to);
        header.push_attachments(&facts.attachments);
        return header.lines;
    }
    if !is_sent {
        header.push_addresses(HeaderField::FROM, from);
    }
    header.push_addresses(HeaderField::TO, &full.to);
    header.push_addresses(HeaderField::CC, &full.cc);
    header.push_addresses(HeaderField::BCC, &full.bcc);
    if pane.is_at_least(HeaderDetail::Full) {
        if is_sent {
            header.push_addresses(HeaderField::FROM, from);
        }
        header.push_addresses(HeaderField::REPLY_TO, &summary.reply_to);
    }
    header.push(HeaderLine::Created(summary.created.clone()));
    header
        .lines
        .extend(summary.scheduled.clone().map(HeaderLine::Scheduled));
    if let Some(opened) = opened {
        header.push_history(row, opened);
        header.push_tags(&opened.email.tags);
    }
    header.push_attachments(&facts.attachments);
    if pane.is_at_least(HeaderDetail::Full) {
        for notice in notices.iter().filter(|notice| !notice.is_in_body) {
            header.push_text(HeaderField::BODY, &notice.detail);
        }
        let id = summary.id.to_safe_text();
        header.push_id(HeaderField::ID, &id);
        header.push_id(HeaderField::MESSAGE_ID, &summary.message_id);
        header.push_text(HeaderField::BOUNCE, &bounced);
        let has_attachments = !facts.attachments.is_empty();
        header.push_extra_fields(full.other_fields(bounce.as_ref(), has_attachments));
    }
    header.lines
}

/// The lines of a header so far, and their pane.
struct HeaderBuilder {
    lines: Vec<HeaderLine>,
    pane: HeaderPane,
}

impl HeaderBuilder {
    fn push(&mut self, line: HeaderLine) {
        self.lines.push(line);
    }

    /// Adds the subject, wrapped: what tells two emails apart is often at its end.
    fn push_subject(&mut self, subject: &str) {
        let columns = usize::from(self.pane.width).max(1);
        let mut texts = break_text(subject, columns, columns);
        join_last(&mut texts, self.pane.max_lines(), " ");
        for (n, text) in texts.into_iter().enumerate() {
            let is_first = n == 0;
            self.push(HeaderLine::Subject { is_first, text });
        }
    }

    /// Adds correspondent and times in as few lines as possible, for a low pane.
    fn push_low_fields(&mut self, row: &EmailRow, all_to: &[Address]) {
        let summary = &row.summary;
        let is_lookalike = |to: &Address| to.lookalike_warning().is_some();
        if !summary.status.exists() {
            self.push_addresses(HeaderField::FROM, std::slice::from_ref(&summary.from));
            self.push(HeaderLine::Created(summary.created.clone()));
        } else if summary.to.iter().any(is_lookalike) {
            self.push_addresses(HeaderField::TO, all_to);
            self.push(HeaderLine::Created(summary.created.clone()));
        } else {
            let to = summary.to.first().map_or(String::new(), Address::to_string);
            let more = match row.recipient_count {
                0 | 1 => String::new(),
                count => format!(" +{}", count - 1),
            };
            self.push(HeaderLine::ToAndCreated(
                to + &more,
                summary.created.clone(),
            ));
        }
        self.lines
            .extend(summary.scheduled.clone().map(HeaderLine::Scheduled));
    }

    /// Adds the observed statuses, if there is more than one.
    fn push_history(&mut self, row: &EmailRow, opened: &OpenedEmail) {
        let mut history = opened.history.clone();
        // The row may know of a change that came after the email was opened.
        history.extend(
            row.last_change.clone().filter(|changed| {
                (opened.history.last()).is_none_or(|last| last.seen < changed.seen)
            }),
        );
        if history.len() > 1 {
            self.push(HeaderLine::History(history));
        }
    }

    /// Adds fields that this version does not know, by their names and JSON.
    fn push_extra_fields<'a>(&mut self, fields: impl Iterator<Item = &'a (SafeText, SafeText)>) {
        let mut fields = fields.map(|(name, json)| HeaderLine::Field(name.clone(), json.clone()));
        let most = match self.pane.detail {
            HeaderDetail::Everything => usize::MAX,
            HeaderDetail::Brief | HeaderDetail::Full => MAX_EXTRA_FIELDS,
        };
        self.lines.extend(fields.by_ref().take(most));
        match fields.count() {
            0 => {}
            more => self.push(HeaderLine::MoreFields(more)),
        }
    }

    /// Adds as many tags to each line as fit.
    fn push_tags(&mut self, tags: &[Tag]) {
        // Tags are rarely what an email is opened for.
        let max_lines = match self.pane.detail {
            HeaderDetail::Brief => 1,
            HeaderDetail::Full | HeaderDetail::Everything => self.pane.max_lines(),
        };
        let tags = tags.iter().map(Tag::to_string);
        self.push_items(HeaderField::TAGS, tags, "  ", max_lines);
    }

    /// Adds the names and sizes of the attachments, as many to each line as fit;
    /// in a low pane on one line. If a size does not fit, the names are alone.
    fn push_attachments(&mut self, attachments: &[Attachment]) {
        let max_lines = if self.pane.is_low() {
            1
        } else {
            self.pane.max_lines()
        };
        let columns = self.pane.value_width();
        let texts = fill_lines(attachments.iter().map(Attachment::to_string), ", ", columns);
        let fits = texts.len() <= max_lines && texts.iter().all(|text| text.width() <= columns);
        if fits {
            self.push_lines(HeaderField::ATTACHED, texts);
        } else {
            let names = attachments.iter().map(|each| each.label().to_owned());
            self.push_items(HeaderField::ATTACHED, names, ", ", max_lines);
        }
    }

    /// Adds as many items to each line as fit; the last line has all the rest.
    fn push_items(
        &mut self,
        field: HeaderField,
        items: impl Iterator<Item = String>,
        separator: &str,
        max_lines: usize,
    ) {
        let mut texts = fill_lines(items, separator, self.pane.value_width());
        join_last(&mut texts, max_lines, separator);
        self.push_lines(field, texts);
    }

    /// Adds the status with its meaning, or with the reason of a bounce, wrapped.
    fn push_status(&mut self, status: &Status, meaning: &str) {
        let as_of = if self.pane.is_stale { AS_OF_WIDTH } else { 0 };
        let label = SYMBOL_WIDTH + 1 + status.label().width() + as_of + 2;
        let columns = usize::from(self.pane.width).saturating_sub(label).max(1);
        let mut rest = wrap(meaning, columns);
        // A word that is too wide for the rest of this line goes to the next one.
        let fits = rest.first().is_some_and(|line| line.width() <= columns);
        let first = rest.drain(..usize::from(fits)).next().unwrap_or_default();
        self.push(HeaderLine::Status {
            status: status.clone(),
            is_stale: self.pane.is_stale,
            meaning: first,
        });
        let indent = if self.pane.is_low() { 2 } else { LABEL_WIDTH };
        let columns = usize::from(self.pane.width.saturating_sub(indent)).max(1);
        let mut rest = wrap(&rest.join(" "), columns);
        let first = usize::from(self.pane.is_low());
        join_last(&mut rest, self.pane.max_lines() - first, " ");
        self.lines.extend(rest.into_iter().map(|line| {
            if self.pane.is_low() {
                HeaderLine::Indented(line)
            } else {
                HeaderLine::Text {
                    field: HeaderField::STATUS,
                    is_first: false,
                    text: line,
                }
            }
        }));
    }

    fn push_lines(&mut self, field: HeaderField, texts: Vec<String>) {
        let lines = texts.into_iter().enumerate();
        self.lines.extend(lines.map(|(n, text)| HeaderLine::Text {
            field,
            is_first: n == 0,
            text,
        }));
    }

    /// Adds a label with a wrapped text, unless it is empty.
    fn push_text(&mut self, field: HeaderField, text: &str) {
        let mut texts = wrap(text, self.pane.value_width());
        join_last(&mut texts, self.pane.max_lines(), " ");
        self.push_lines(field, texts);
    }

    /// Adds an id, which is broken where a line ends: a part of it is of no use.
    fn push_id(&mut self, field: HeaderField, id: &str) {
        let texts = split_columns(id, self.pane.value_width());
        self.push_lines(field, texts);
    }

    /// Adds as many addresses to each line as fit;
    /// one that does not fit is broken at a space or before its domain, and in the whole header
    /// anywhere, so that all of it can be read.
    fn push_addresses(&mut self, field: HeaderField, all: &[Address]) {
        let columns = self.pane.value_width();
        let is_limited = self.pane.max_lines() < usize::MAX;
        let mut texts: Vec<String> = Vec::new();
        for (n, address) in all.iter().enumerate() {
            if texts.len() >= self.pane.max_lines() {
                texts.push(format!("and {} more", all.len() - n));
                break;
            }
            let comma = if n + 1 < all.len() { "," } else { "" };
            let text = format!("{}{comma}", address.with_warning());
            // A comma is not alone on a line.
            let longest = if is_limited {
                usize::MAX
            } else {
                columns.saturating_sub(comma.len()).max(1)
            };
            match texts.last_mut() {
                Some(last) if last.width() + 1 + text.width() <= columns => {
                    last.push(' ');
                    last.push_str(&text);
                }
                _ => {
                    let max_lines = self.pane.max_lines() - texts.len();
                    texts.extend(break_recipient(&text, columns, longest, max_lines));
                }
            }
        }
        self.push_lines(field, texts);
    }
}

/// Puts as many items into each line as fit.
fn fill_lines(items: impl Iterator<Item = String>, separator: &str, columns: usize) -> Vec<String> {
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
    texts
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

    fn builder(width: u16, height: u16) -> HeaderBuilder {
        let pane = HeaderPane {
            width,
            height,
            detail: HeaderDetail::Brief,
            is_stale: false,
            secrets: Secrets::Masked,
        };
        let lines = Vec::new();
        HeaderBuilder { lines, pane }
    }

    fn lines(all: &[&str], width: u16) -> Vec<(bool, String)> {
        let all: Vec<Address> = all.iter().map(|text| Address::parse(text)).collect();
        let mut header = builder(LABEL_WIDTH + width, 40);
        header.push_addresses(HeaderField::TO, &all);
        let texts = header.lines.into_iter().map(|line| {
            if let HeaderLine::Text { is_first, text, .. } = line {
                (is_first, text)
            } else {
                unreachable!()
            }
        });
        texts.collect()
    }

    fn meanings(lines: &[HeaderLine]) -> Vec<&str> {
        let texts = lines.iter().map(|line| match line {
            HeaderLine::Status { meaning: text, .. }
            | HeaderLine::Text { text, .. }
            | HeaderLine::Indented(text) => text.as_str(),
            _ => unreachable!(),
        });
        texts.collect()
    }

    #[test]
    fn meaning_of_status_is_wrapped() {
        let meaning = Status::Delivered.meaning();
        for (width, height, count) in [(100, 40, 1), (100, 8, 1), (51, 40, 2), (30, 8, 2)] {
            let mut header = builder(width, height);
            header.push_status(&Status::Delivered, meaning);
            let texts = meanings(&header.lines);
            assert_eq!(texts.join(" "), meaning, "no word is lost");
            assert_eq!(texts.len(), count, "{texts:?}");
            assert!(texts[0].width() + "x delivered: ".len() <= width.into());
        }
    }

    #[test]
    fn long_subject_is_wrapped() {
        let subject = "【重要】大切なお知らせ (注文番号 ORD-7700124) of last week and this one";
        for (width, height, count) in [(100, 40, 1), (30, 40, 3), (30, 8, 2), (12, 40, 4)] {
            let mut header = builder(width, height);
            header.push_subject(subject);
            let texts = header.lines.iter().filter_map(|line| match line {
                HeaderLine::Subject { text, .. } => Some(text.as_str()),
                _ => None,
            });
            let texts: Vec<&str> = texts.collect();
            assert_eq!(texts.len(), count, "{texts:?}");
            assert_eq!(texts.concat().replace(' ', ""), subject.replace(' ', ""));
        }
    }

    #[test]
    fn reason_with_runs_of_spaces_is_wrapped() {
        for (width, expected) in [
            (100, &["550 ユーザー不明"][..]),
            (22, &["550", "ユーザー不明"]),
            (14, &["", "550", "ユーザー不明"]),
        ] {
            let mut header = builder(width, 40);
            header.push_status(&Status::Bounced, "550  ユーザー不明");
            assert_eq!(meanings(&header.lines), expected, "{width}");
        }
    }

    #[test]
    fn last_line_of_long_reason_has_the_rest() {
        let reason = "550 5.1.1 the account does not exist ".repeat(9);
        let wrapped = |detail| {
            let mut header = builder(LABEL_WIDTH + 30, 40);
            header.pane.detail = detail;
            header.push_text(HeaderField::BOUNCE, reason.trim());
            header.lines
        };
        let lines = wrapped(HeaderDetail::Brief);
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[..3], wrapped(HeaderDetail::Everything)[..3]);
        // `view` cuts it with a mark.
        let is_rest = |text: &str| text.ends_with("exist") && text.width() > 30;
        assert!(matches!(&lines[3], HeaderLine::Text { text, .. } if is_rest(text)));
    }

    #[test]
    fn addresses_are_wrapped() {
        let two = &["a@example.com", "b@example.com"][..];
        let long = &["Rohan Palakurthi <rohan-palakurthi@webmail.test>"][..];
        for (all, width, expected) in [
            (two, 40, &["a@example.com, b@example.com"][..]),
            (two, 20, &["a@example.com,", "b@example.com"]),
            (
                long,
                24,
                &["Rohan Palakurthi", "<rohan-palakurthi", "@webmail.test>"],
            ),
            (
                &["ana@support-of-the-team.webmail.test"],
                20,
                &["ana", "@support-of-the-team.webmail.test"],
            ),
            (&[], 25, &[]),
        ] {
            let lines = lines(all, width);
            let texts: Vec<&str> = lines.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(texts, expected);
            let labelled = lines.iter().map(|(is_first, _)| *is_first);
            assert!(labelled.eq([true, false, false].into_iter().take(expected.len())));
        }
        let many: Vec<String> = (0..9).map(|n| format!("customer{n}@example.com")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(lines(&many, 25).last().unwrap().1, "and 5 more");
        let long = format!("{}<ana@example.com>", "Ana Maria ".repeat(20));
        let found = lines(&[&long, "b@example.com"], 30);
        assert_eq!((found.len(), &*found[3].1), (5, "<ana@example.com>,"));
        let warned = lines(&[&long.replace("<a", "<\u{430}")], 30);
        assert!(warned.last().unwrap().1.ends_with("two scripts)"));
        let mut header = builder(LABEL_WIDTH + 21, 40);
        header.pane.detail = HeaderDetail::Everything;
        let all = ["ana@support.webmail.test", "b@c.test"].map(Address::parse);
        header.push_addresses(HeaderField::TO, &all);
        let is_comma =
            |line: &HeaderLine| matches!(line, HeaderLine::Text { text, .. } if text == ",");
        assert!(!header.lines.iter().any(is_comma));
    }
}
