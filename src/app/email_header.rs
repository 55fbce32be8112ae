//! The header of an email as lines, as far as they fit into the pane.

use super::message::OpenedEmail;
use crate::archive::{EmailRow, MissingUpstream, ObservedStatus};
use crate::mail::{Address, ApiTime, SafeText, Status, Tag};
use crate::text::width::DisplayWidth as _;
use crate::text::width::wrap;

/// One line of the header. The view draws it; that it is one line is decided here, because
/// scrolling needs the number of lines.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderLine {
    Subject(SafeText),
    /// A label and a line of addresses; the label is empty on further lines of the same field.
    Addresses(&'static str, String),
    /// The time at which it was accepted.
    Sent(ApiTime),
    /// The time at which it is to be sent.
    Scheduled(ApiTime),
    /// The status, and its meaning as far as it fits on the line.
    Status {
        status: Status,
        /// Whether the time of its confirmation is shown.
        is_stale: bool,
        meaning: String,
    },
    /// A label and a line of text; the label is empty on further lines of the same field.
    Text(&'static str, String),
    /// The service no longer has the email.
    Gone(MissingUpstream),
    /// The observed statuses, oldest first.
    History(Vec<ObservedStatus>),
    Tags(Vec<Tag>),
    /// A label and a text, such as an id or an unknown field.
    Field(SafeText, SafeText),
    /// The number of fields that only the raw view shows.
    MoreFields(usize),
    /// The tabs of the body views, with the number of folded header lines.
    ViewBar(usize),
}

/// Panes lower than this have a folded header by default.
const LOW_PANE_HEIGHT: u16 = 16;
/// The most unknown fields.
const MAX_EXTRA_FIELDS: usize = 3;
/// The most lines of the reason of a bounce.
const MAX_REASON_LINES: usize = 4;
/// The most lines of a list of addresses.
const MAX_ADDRESS_LINES: usize = 4;

/// Whether a pane of this height has a folded header by default.
pub const fn is_low_pane(height: u16) -> bool {
    height < LOW_PANE_HEIGHT
}

/// Builds the header of `row`, whole or folded to its main lines; some lines need the opened email.
pub fn header_lines(
    row: &EmailRow,
    opened: Option<&OpenedEmail>,
    width: u16,
    folded: bool,
    is_stale: bool,
) -> Vec<HeaderLine> {
    let field_lines = |folded| field_lines(row, opened, width, folded, is_stale);
    let mut lines = field_lines(folded);
    let hidden = if folded {
        field_lines(false).len() - lines.len()
    } else {
        0
    };
    lines.push(HeaderLine::ViewBar(hidden));
    lines
}

fn field_lines(
    row: &EmailRow,
    opened: Option<&OpenedEmail>,
    width: u16,
    low: bool,
    is_stale: bool,
) -> Vec<HeaderLine> {
    let summary = &row.summary;
    let mut lines = vec![HeaderLine::Subject(summary.subject.clone())];
    // The row has only the first recipients, and no reason of a bounce.
    let full = opened.map_or(summary, |opened| &opened.email.summary);
    push_addresses(&mut lines, "to", &full.to, width);
    if low {
        // The sender is the team itself: one line is enough.
        lines.push(HeaderLine::Text("from", summary.from.to_string()));
    } else {
        let from = std::slice::from_ref(&summary.from);
        push_addresses(&mut lines, "cc", &full.cc, width);
        push_addresses(&mut lines, "bcc", &full.bcc, width);
        push_addresses(&mut lines, "from", from, width);
        push_addresses(&mut lines, "reply-to", &summary.reply_to, width);
    }
    lines.push(HeaderLine::Sent(summary.created.clone()));
    lines.extend(summary.scheduled.clone().map(HeaderLine::Scheduled));
    push_status(&mut lines, &summary.status, is_stale, width, low);
    if let Some(reason) = full.bounce_reason() {
        push_text(&mut lines, "why", &reason, width);
    }
    lines.extend(row.missing.map(HeaderLine::Gone));
    if !low {
        if let Some(opened) = opened {
            let mut history = opened.history.clone();
            // The row may know of a change that came after the email was opened.
            history.extend(row.last_change.clone().filter(|changed| {
                opened
                    .history
                    .last()
                    .is_none_or(|last| last.seen < changed.seen)
            }));
            if history.len() > 1 {
                lines.push(HeaderLine::History(history));
            }
            if !opened.email.tags.is_empty() {
                lines.push(HeaderLine::Tags(opened.email.tags.clone()));
            }
        }
        lines.push(HeaderLine::Field(
            SafeText::new("id"),
            summary.id.to_safe_text(),
        ));
        if !summary.message_id.is_empty() {
            lines.push(HeaderLine::Field(
                SafeText::new("message-id"),
                summary.message_id.clone(),
            ));
        }
        let extra = full.extra.iter().take(MAX_EXTRA_FIELDS);
        lines.extend(extra.map(|(name, json)| HeaderLine::Field(name.clone(), json.clone())));
        if full.extra.len() > MAX_EXTRA_FIELDS {
            lines.push(HeaderLine::MoreFields(full.extra.len() - MAX_EXTRA_FIELDS));
        }
    }
    lines
}

/// Adds the status with its meaning, wrapped; on one line in a low pane.
fn push_status(
    lines: &mut Vec<HeaderLine>,
    status: &Status,
    is_stale: bool,
    width: u16,
    low: bool,
) {
    let as_of = if is_stale { AS_OF_WIDTH } else { 0 };
    let label = SYMBOL_WIDTH + 1 + status.label().width() + as_of + 2;
    let columns = usize::from(width).saturating_sub(label).max(1);
    let mut meaning = status.meaning().to_owned();
    let mut rest = String::new();
    if !low && let Some(first) = wrap(&meaning, columns).first() {
        // A word that is too wide for the rest of this line goes to the next one.
        let fits = first.width() <= columns;
        rest = meaning.split_off(if fits { first.len() } else { 0 });
    }
    lines.push(HeaderLine::Status {
        status: status.clone(),
        is_stale,
        meaning,
    });
    let rest = wrap(&rest, value_width(width)).into_iter();
    lines.extend(rest.map(|line| HeaderLine::Text("", line)));
}

/// Adds a label with a wrapped text; the last allowed line has all the rest.
fn push_text(lines: &mut Vec<HeaderLine>, label: &'static str, text: &str, width: u16) {
    let mut texts = wrap(text, value_width(width));
    if texts.len() > MAX_REASON_LINES {
        let rest = texts.split_off(MAX_REASON_LINES - 1).join(" ");
        texts.push(rest);
    }
    let labelled = label_first(label, texts);
    lines.extend(labelled.map(|(label, text)| HeaderLine::Text(label, text)));
}

/// Adds as many addresses to each line as fit; one that does not fit is broken at a space or before
/// its domain, so that all of it can be read.
fn push_addresses(lines: &mut Vec<HeaderLine>, label: &'static str, all: &[Address], width: u16) {
    let columns = value_width(width);
    let mut texts: Vec<String> = Vec::new();
    for (n, address) in all.iter().enumerate() {
        if texts.len() >= MAX_ADDRESS_LINES {
            texts.push(format!("and {} more", all.len() - n));
            break;
        }
        let comma = if n + 1 < all.len() { "," } else { "" };
        let text = format!("{address}{comma}");
        match texts.last_mut() {
            Some(last) if last.width() + 1 + text.width() <= columns => {
                last.push(' ');
                last.push_str(&text);
            }
            _ => texts.extend(break_address(&text, columns)),
        }
    }
    let labelled = label_first(label, texts);
    lines.extend(labelled.map(|(label, text)| HeaderLine::Addresses(label, text)));
}

/// The columns beside a label.
fn value_width(width: u16) -> usize {
    usize::from(width.saturating_sub(LABEL_WIDTH)).max(1)
}

/// Adds the label to the first text, and empty labels to the others.
fn label_first(
    label: &'static str,
    texts: Vec<String>,
) -> impl Iterator<Item = (&'static str, String)> {
    std::iter::once(label)
        .chain(std::iter::repeat(""))
        .zip(texts)
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

    fn lines(all: &[&str], width: u16) -> Vec<(&'static str, String)> {
        let all: Vec<Address> = all.iter().map(|text| Address::parse(text)).collect();
        let mut lines = Vec::new();
        push_addresses(&mut lines, "to", &all, LABEL_WIDTH + width);
        let texts = lines.into_iter().map(|line| {
            if let HeaderLine::Addresses(label, text) = line {
                (label, text)
            } else {
                unreachable!()
            }
        });
        texts.collect()
    }

    #[test]
    fn meaning_of_status_is_wrapped() {
        let delivered = |width, low| {
            let mut lines = Vec::new();
            push_status(&mut lines, &Status::Delivered, false, width, low);
            lines
        };
        let meaning = Status::Delivered.meaning();
        let whole = vec![HeaderLine::Status {
            status: Status::Delivered,
            is_stale: false,
            meaning: meaning.to_owned(),
        }];
        assert_eq!(delivered(100, false), whole);
        assert_eq!(delivered(40, true), whole, "a low pane has one line for it");
        let lines = delivered(51, false);
        let texts: Vec<&str> = lines
            .iter()
            .map(|line| {
                if let HeaderLine::Status { meaning: text, .. } | HeaderLine::Text("", text) = line
                {
                    text.as_str()
                } else {
                    unreachable!()
                }
            })
            .collect();
        assert_eq!(texts.join(" "), meaning);
        assert!(
            texts.len() == 2 && texts[0].width() <= 51 - "x delivered: ".len(),
            "{texts:?}"
        );
    }

    #[test]
    fn last_line_of_long_reason_has_the_rest() {
        let reason = "550 5.1.1 the account does not exist ".repeat(9);
        let mut lines = Vec::new();
        push_text(&mut lines, "why", reason.trim(), LABEL_WIDTH + 30);
        assert_eq!(lines.len(), MAX_REASON_LINES);
        assert_eq!(
            lines[0],
            HeaderLine::Text("why", "550 5.1.1 the account does not".to_owned())
        );
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
