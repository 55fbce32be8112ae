//! What the index knows of an email: a bag of tokens, in the spelling that both sides share.
//!
//! Each token begins with the letter of its kind. Headers are cut into grams of three characters,
//! so that a part of a word is found in every script; bodies into words and their beginnings.
//! The order of tokens is not kept, so what the index finds is a superset that is looked at again.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::mail::{Status, Summary, Tag};
use crate::query::BodyTexts;
use crate::query::normalize::{is_unspaced_script, normalize, split_words};

/// Characters of a body's word that take part in its token; more would tell nothing apart.
pub(super) const MAX_WORD_CHARS: usize = 24;

/// The first characters of a body's word that are a token of their own, at most.
pub(super) const PREFIX_CHARS: usize = 3;

/// Characters of an id that take part in its token: those of a UUID that tell a million apart.
pub(super) const ID_CHARS: usize = 12;

/// Bytes of a text from which on its grams are looked at for repetitions.
const DEDUPLICATE_FROM_BYTES: usize = 4096;

/// Bytes that a bag keeps for the next email.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// The first letters of tokens.
pub(super) mod kind {
    /// A gram of a recipient, a copy recipient or an address for answers.
    pub(in crate::archive::search) const RECIPIENT: char = 'h';
    /// A gram of a sender that has no label.
    pub(in crate::archive::search) const SENDER: char = 'f';
    /// A gram of the subject.
    pub(in crate::archive::search) const SUBJECT: char = 'u';
    /// The number of a label.
    pub(in crate::archive::search) const LABEL: char = 'l';
    /// A whole word of a body, or two neighbours that are written without a blank.
    pub(in crate::archive::search) const WORD: char = 'w';
    /// The first two or three letters of a body's word.
    pub(in crate::archive::search) const START: char = 'p';
    /// The word of a status.
    pub(in crate::archive::search) const STATUS: char = 's';
    /// A recipient's domain.
    pub(in crate::archive::search) const DOMAIN: char = 'd';
    /// The name of a tag.
    pub(in crate::archive::search) const TAG: char = 't';
    /// The name and the value of a tag.
    pub(in crate::archive::search) const TAG_VALUE: char = 'v';
    /// The beginning of the id.
    pub(in crate::archive::search) const ID: char = 'i';
    /// The beginning of the message id.
    pub(in crate::archive::search) const MESSAGE_ID: char = 'n';
    /// What an email has.
    pub(in crate::archive::search) const FLAG: char = 'x';
}

/// Facts that are a token of their own.
pub(super) mod flag {
    /// Every email.
    pub(in crate::archive::search) const ANY: &str = "xany";
    /// Bodies and tags were fetched.
    pub(in crate::archive::search) const FETCHED: &str = "xfetched";
    /// The status was seen to change.
    pub(in crate::archive::search) const CHANGED: &str = "xchanged";
}

/// The bag of one email.
pub(super) struct TokenBuffer(String);

impl TokenBuffer {
    pub(super) fn new() -> Self {
        Self(String::with_capacity(1024))
    }

    /// Empties the bag for the next email.
    pub(super) fn clear(&mut self) {
        self.0.clear();
        self.0.shrink_to(MAX_KEPT_BYTES);
        self.0.push_str(flag::ANY);
    }

    /// The tokens, with blanks between them.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// All of it but the senders.
    pub(super) fn push_summary(&mut self, mail: &Summary, changed: bool) {
        for address in mail.recipients() {
            self.push_trigrams(kind::RECIPIENT, &normalize(&address.to_string()));
            let domain = normalize(address.domain());
            if !domain.is_empty() {
                self.push_token(&encode_token(kind::DOMAIN, domain.chars()));
            }
        }
        self.push_trigrams(kind::SUBJECT, &normalize(&mail.subject));
        self.push_token(&status_token(&mail.status));
        self.push_token(&encode_token(
            kind::ID,
            normalize(mail.id.as_str()).chars().take(ID_CHARS),
        ));
        let message_id = normalize(&mail.message_id);
        self.push_token(&encode_token(
            kind::MESSAGE_ID,
            trim_angle_brackets(&message_id).chars().take(ID_CHARS),
        ));
        for (has, name) in [
            (!mail.cc.is_empty(), "cc"),
            (!mail.bcc.is_empty(), "bcc"),
            (!mail.reply_to.is_empty(), "reply-to"),
        ] {
            self.push_flag_if(has, name);
        }
        if changed {
            self.push_token(flag::CHANGED);
        }
    }

    /// What a retrieved email adds.
    pub(super) fn push_retrieved(&mut self, bodies: &BodyTexts<'_>, tags: &[Tag]) {
        self.push_token(flag::FETCHED);
        self.push_flag_if(bodies.text.is_some(), "text");
        self.push_flag_if(bodies.html.is_some(), "html");
        self.push_flag_if(!tags.is_empty(), "tag");
        for tag in tags {
            self.push_token(&tag_name_token(&normalize(&tag.name)));
            self.push_token(&tag_value_token(
                &normalize(&tag.name),
                &normalize(&tag.value),
            ));
        }
        let folded: Vec<String> = [bodies.text, bodies.html]
            .into_iter()
            .flatten()
            .map(normalize)
            .collect();
        let mut met = HashSet::new();
        for body in &folded {
            self.push_words(body, &mut met);
        }
    }

    /// The number of a label.
    pub(super) fn push_interned(&mut self, nth: i64) {
        let _ = write!(self.0, " {}{nth}", kind::LABEL);
    }

    /// The grams of folded text: three characters from each one on, or as many as there are. Two that
    /// are not ASCII are a gram, too: a word of such a script is often not longer.
    pub(super) fn push_trigrams(&mut self, kind: char, folded: &str) {
        // A long text has most of its grams more than once.
        let mut met = (folded.len() > DEDUPLICATE_FROM_BYTES).then(HashSet::new);
        let mut rest = folded;
        while let Some(first) = rest.chars().next() {
            let gram = rest
                .char_indices()
                .nth(3)
                .map_or(rest, |(end, _)| &rest[..end]);
            if met.as_mut().is_some_and(|met| !met.insert(gram)) {
                rest = &rest[first.len_utf8()..];
                continue;
            }
            self.begin_token(kind);
            rest.chars()
                .take(3)
                .for_each(|c| self.0.push_str(encode_char(c, &mut [0; 4])));
            let mut two = rest.chars().take(2).filter(|c| !c.is_ascii());
            if let (Some(one), Some(other)) = (two.next(), two.next()) {
                self.begin_token(kind);
                self.0.extend([one, other]);
            }
            rest = &rest[first.len_utf8()..];
        }
    }

    /// The words of a body but for those that were `met` before.
    fn push_words<'a>(&mut self, folded: &'a str, met: &mut HashSet<&'a str>) {
        let mut before: Option<char> = None;
        for word in split_words(folded) {
            let unspaced = unspaced_char(word);
            if let (Some(one), Some(other)) = (before, unspaced) {
                self.begin_token(kind::WORD);
                self.0.extend([one, other]);
            }
            before = unspaced;
            if !met.insert(word) {
                continue;
            }
            self.begin_token(kind::WORD);
            self.0.extend(word.chars().take(MAX_WORD_CHARS));
            if unspaced.is_none() {
                for length in 2..=PREFIX_CHARS {
                    if let Some((end, last)) = word.char_indices().nth(length - 1) {
                        self.begin_token(kind::START);
                        self.0.push_str(&word[..end + last.len_utf8()]);
                    }
                }
            }
        }
    }

    fn push_flag_if(&mut self, has: bool, name: &str) {
        if has {
            self.push_token(&flag_token(name));
        }
    }

    fn begin_token(&mut self, kind: char) {
        self.0.push(' ');
        self.0.push(kind);
    }

    fn push_token(&mut self, token: &str) {
        self.0.push(' ');
        self.0.push_str(token);
    }
}

/// A token of its kind; characters that are no letters are moved out of the way of whoever cuts at
/// them, to where no text has any.
pub(super) fn encode_token(kind: char, chars: impl Iterator<Item = char>) -> String {
    let mut token = String::from(kind);
    chars.for_each(|c| token.push_str(encode_char(c, &mut [0; 4])));
    token
}

pub(super) fn flag_token(name: &str) -> String {
    encode_token(kind::FLAG, name.chars())
}

pub(super) fn status_token(status: &Status) -> String {
    encode_token(kind::STATUS, normalize(status.label()).chars())
}

pub(super) fn tag_name_token(name: &str) -> String {
    encode_token(kind::TAG, name.chars())
}

pub(super) fn tag_value_token(name: &str, value: &str) -> String {
    encode_token(
        kind::TAG_VALUE,
        name.chars().chain(['\0']).chain(value.chars()),
    )
}

/// A message id without its angle brackets.
pub(super) fn trim_angle_brackets(message_id: &str) -> &str {
    message_id.trim_matches(['<', '>'])
}

/// The character that a word is, if it is of a script without blanks.
pub(super) fn unspaced_char(word: &str) -> Option<char> {
    word.chars().next().filter(|c| is_unspaced_script(*c))
}

fn encode_char(c: char, buffer: &mut [u8; 4]) -> &str {
    const PRIVATE: u32 = 0xE000;
    let moved = if c.is_ascii() && !c.is_ascii_alphanumeric() {
        char::from_u32(PRIVATE + u32::from(c)).unwrap_or(c)
    } else {
        c
    };
    moved.encode_utf8(buffer)
}
