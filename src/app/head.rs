//! The lines above a body: who, what, when and what became of it, as far as the pane has room.

use unicode_width::UnicodeWidthStr;

use super::msg::Opened;
use crate::archive::{Gone, Observation, Row};
use crate::mail::{Address, Shown, Stamp, Status, Tag};

/// One line of the head. How it looks is the view's business; that it is one line is settled here,
/// so that scrolling knows how many lines there are.
#[derive(Debug, Clone, PartialEq)]
pub enum Head {
    /// The subject.
    Subject(Shown),
    /// A label and a line of addresses; the label is empty on further lines of the same field.
    Addresses(&'static str, String),
    /// When it was accepted.
    Sent(Stamp),
    /// When it is to be sent.
    Scheduled(Stamp),
    /// What became of it, and what that means, as far as it fits beside the word.
    Status(Status, String),
    /// A label and a line of words; the label is empty on further lines of the same field.
    Words(&'static str, String),
    /// That the service does not have it any more.
    Gone(Gone),
    /// What was seen to become of it, and when, oldest first.
    History(Vec<Observation>),
    /// Labels.
    Tags(Vec<Tag>),
    /// A label and a text, such as an id or a field that nobody knows.
    Field(Shown, Shown),
    /// So many more fields; the raw view has them all.
    More(usize),
    /// The faces of the body, one of them shown, and how many lines of the head are folded away.
    Views(usize),
}

/// Panes lower than this get the few lines that matter most.
const LOW: u16 = 16;
/// Fields that nobody knows are shown up to this number.
const MOST_EXTRA: usize = 3;
/// Why it bounced is shown to this many lines.
const MOST_LINES_OF_REASON: usize = 4;
/// A recipient list is shown to this many lines.
const MOST_ADDRESS_LINES: usize = 4;

/// Whether a pane of this height gets a folded head if nobody says otherwise.
#[must_use]
pub const fn is_low(height: u16) -> bool {
    height < LOW
}

/// The head of the email in `row`, whole or folded to the few lines that matter most; what only the
/// opened email knows comes when it is there.
#[must_use]
pub fn of(row: &Row, opened: Option<&Opened>, width: u16, folded: bool) -> Vec<Head> {
    let mut lines = fields(row, opened, width, folded);
    let hidden = if folded {
        fields(row, opened, width, false).len() - lines.len()
    } else {
        0
    };
    lines.push(Head::Views(hidden));
    lines
}

fn fields(row: &Row, opened: Option<&Opened>, width: u16, low: bool) -> Vec<Head> {
    let summary = &row.summary;
    let mut lines = vec![Head::Subject(summary.subject.clone())];
    // The row names the first recipients only.
    let named = opened.map_or(summary, |opened| &opened.email.summary);
    addresses(&mut lines, "to", &named.to, width);
    if !low {
        addresses(&mut lines, "cc", &named.cc, width);
        addresses(&mut lines, "bcc", &named.bcc, width);
    }
    if low {
        // Who sent it is the team itself: where every line counts, one is enough.
        lines.push(Head::Words("from", summary.from.to_string()));
    } else {
        addresses(
            &mut lines,
            "from",
            std::slice::from_ref(&summary.from),
            width,
        );
        addresses(&mut lines, "reply-to", &summary.reply_to, width);
    }
    lines.push(Head::Sent(summary.created.clone()));
    if let Some(stamp) = &summary.scheduled {
        lines.push(Head::Scheduled(stamp.clone()));
    }
    status(&mut lines, &summary.status, width, low);
    // What was read tells more than what was listed.
    let told = opened.map_or(summary, |opened| &opened.email.summary);
    if let Some(reason) = told.reason() {
        words(&mut lines, "why", &reason, width);
    }
    lines.extend(row.gone.map(Head::Gone));
    if !low {
        if let Some(opened) = opened {
            let mut history = opened.history.clone();
            // The row may know of a change that came after the email was opened.
            history.extend(row.changed.clone().filter(|changed| {
                opened
                    .history
                    .last()
                    .is_none_or(|last| last.seen < changed.seen)
            }));
            if history.len() > 1 {
                lines.push(Head::History(history));
            }
            if !opened.email.tags.is_empty() {
                lines.push(Head::Tags(opened.email.tags.clone()));
            }
        }
        lines.push(Head::Field(Shown::new("id"), summary.id.shown()));
        if !summary.message_id.is_empty() {
            lines.push(Head::Field(
                Shown::new("message-id"),
                summary.message_id.clone(),
            ));
        }
        let extra = opened.map_or(&summary.extra, |opened| &opened.email.summary.extra);
        lines.extend(
            extra
                .iter()
                .take(MOST_EXTRA)
                .map(|(name, json)| Head::Field(name.clone(), json.clone())),
        );
        if extra.len() > MOST_EXTRA {
            lines.push(Head::More(extra.len() - MOST_EXTRA));
        }
    }
    lines
}

/// What became of it, with its meaning on as many lines as that takes; on one line of a low pane.
fn status(lines: &mut Vec<Head>, status: &Status, width: u16, low: bool) {
    let lead = format!("{} {}: ", status.symbol(), status.word()).width();
    let mut meaning = wrapped(
        status.meaning(),
        usize::from(width).saturating_sub(lead).max(1),
    )
    .into_iter();
    let first = meaning.next().unwrap_or_default();
    if low || meaning.len() == 0 {
        lines.push(Head::Status(status.clone(), status.meaning().to_owned()));
        return;
    }
    let rest = status.meaning()[first.len()..].trim_start();
    lines.push(Head::Status(status.clone(), first));
    let room = usize::from(width.saturating_sub(LABEL_WIDTH)).max(1);
    lines.extend(
        wrapped(rest, room)
            .into_iter()
            .map(|line| Head::Words("", line)),
    );
}

/// A label and `text` beside it, on as many lines as it takes; the last holds what is beyond the most.
fn words(lines: &mut Vec<Head>, label: &'static str, text: &str, width: u16) {
    let room = usize::from(width.saturating_sub(LABEL_WIDTH)).max(1);
    let mut texts = wrapped(text, room);
    if texts.len() > MOST_LINES_OF_REASON {
        let rest = texts.split_off(MOST_LINES_OF_REASON - 1).join(" ");
        texts.push(rest);
    }
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    lines.extend(
        labels
            .zip(texts)
            .map(|(label, text)| Head::Words(label, text)),
    );
}

/// `text` in lines of at most `room` columns, broken at blanks.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(last) if last.width() + 1 + word.width() <= room => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// As many addresses on each line as fit after the label; one that does not fit is broken at a blank
/// or before its domain, because who got an email is what people look at.
fn addresses(lines: &mut Vec<Head>, label: &'static str, all: &[Address], width: u16) {
    let room = usize::from(width.saturating_sub(LABEL_WIDTH)).max(1);
    let mut texts: Vec<String> = Vec::new();
    for (n, address) in all.iter().enumerate() {
        if texts.len() >= MOST_ADDRESS_LINES {
            texts.push(format!("and {} more", all.len() - n));
            break;
        }
        let comma = if n + 1 < all.len() { "," } else { "" };
        let text = format!("{address}{comma}");
        match texts.last_mut() {
            Some(last) if last.width() + 1 + text.width() <= room => {
                last.push(' ');
                last.push_str(&text);
            }
            _ => texts.extend(broken(&text, room)),
        }
    }
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    lines.extend(
        labels
            .zip(texts)
            .map(|(label, text)| Head::Addresses(label, text)),
    );
}

/// `text` in lines of at most `room` columns, as far as it can be broken.
fn broken(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let domain = |word: &str| word.find('@').filter(|_| word.width() > room).unwrap_or(0);
    for word in text.split_inclusive(' ') {
        let (local, domain) = word.split_at(domain(word));
        for piece in [local, domain] {
            let last = lines.len() - 1;
            if !lines[last].is_empty() && lines[last].width() + piece.trim_end().width() > room {
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

/// Columns of the labels, the blank after them included.
pub const LABEL_WIDTH: u16 = 11;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[&str], width: u16) -> Vec<(&'static str, String)> {
        let all: Vec<Address> = all.iter().map(|text| Address::parse(text)).collect();
        let mut lines = Vec::new();
        addresses(&mut lines, "to", &all, LABEL_WIDTH + width);
        let texts = lines.into_iter().map(|line| {
            if let Head::Addresses(label, text) = line {
                (label, text)
            } else {
                unreachable!()
            }
        });
        texts.collect()
    }

    #[test]
    fn what_became_of_it_is_wrapped_and_not_cut() {
        let delivered = |width, low| {
            let mut lines = Vec::new();
            status(&mut lines, &Status::Delivered, width, low);
            lines
        };
        let meaning = Status::Delivered.meaning();
        let whole = vec![Head::Status(Status::Delivered, meaning.to_owned())];
        assert_eq!(delivered(100, false), whole);
        assert_eq!(delivered(40, true), whole, "a low pane has one line for it");
        let lines = delivered(51, false);
        let texts: Vec<&str> = lines
            .iter()
            .map(|line| {
                if let Head::Status(_, text) | Head::Words("", text) = line {
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
    fn a_reason_is_wrapped_and_its_end_is_on_the_last_line() {
        let reason = "550 5.1.1 the account does not exist ".repeat(9);
        let mut lines = Vec::new();
        words(&mut lines, "why", reason.trim(), LABEL_WIDTH + 30);
        assert_eq!(lines.len(), MOST_LINES_OF_REASON);
        assert_eq!(
            lines[0],
            Head::Words("why", "550 5.1.1 the account does not".to_owned())
        );
        assert!(
            matches!(&lines[3], Head::Words("", text) if text.ends_with("exist") && text.width() > 30),
            "the view cuts it with a mark"
        );
    }

    #[test]
    fn who_got_it_is_wrapped_and_not_cut() {
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
