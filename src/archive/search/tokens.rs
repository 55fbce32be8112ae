//! Tokens of the search index, as `schema.sql` describes them.

use std::collections::HashSet;

use crate::api::wire;
use crate::mail::{Status, Summary, Tag};
use crate::query::BodyTexts;
use crate::query::normalize::{is_unspaced_script, normalize, split_words};
use crate::render;

/// Characters of a body word in its token; more would not distinguish words.
pub(super) const MAX_WORD_CHARS: usize = 24;

/// The longest word prefix with a token of its own.
pub(super) const PREFIX_CHARS: usize = 3;

/// Characters of an id in its token; so many of a UUID tell a million apart.
pub(super) const ID_CHARS: usize = 12;

/// Bytes of a text from which on repeated trigrams are skipped.
const DEDUPLICATE_FROM_BYTES: usize = 4096;

/// Bytes that a buffer keeps for the next email.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// The first letters of tokens.
pub(super) mod prefix {
    pub(crate) const RECIPIENT: char = 'h';
    pub(crate) const SENDER: char = 'f';
    pub(crate) const SUBJECT: char = 'u';
    pub(crate) const INTERNED: char = 'l';
    pub(crate) const WORD: char = 'w';
    pub(crate) const WORD_PREFIX: char = 'p';
    pub(crate) const STATUS: char = 's';
    pub(crate) const DOMAIN: char = 'd';
    pub(crate) const TAG: char = 't';
    pub(crate) const TAG_VALUE: char = 'v';
    pub(crate) const ID: char = 'i';
    pub(crate) const MESSAGE_ID: char = 'n';
    pub(crate) const FLAG: char = 'x';
}

/// Flags that are no part of an email.
pub(super) mod flag {
    pub(crate) const EVERY_EMAIL: &str = "xany";
    pub(crate) const FETCHED: &str = "xfetched";
}

/// The parts of a retrieved email that are searched.
pub(super) struct RetrievedTexts<'a> {
    text: Option<&'a str>,
    html: Option<&'a str>,
    pub(super) tags: Vec<Tag>,
}

impl<'a> RetrievedTexts<'a> {
    pub(super) fn from_email(email: &'a wire::Email) -> Self {
        Self {
            text: email.text.as_deref(),
            html: email.html.as_deref(),
            tags: email.tags.iter().map(Tag::from).collect(),
        }
    }

    pub(super) fn bodies(&self) -> BodyTexts<'_> {
        BodyTexts {
            text: self.text,
            html: self.html,
            extract_text: render::extract_text,
        }
    }
}

/// The tokens of one email, separated by spaces.
pub(super) struct TokenBuffer(String);

impl TokenBuffer {
    pub(super) fn new() -> Self {
        Self(String::with_capacity(1024))
    }

    /// Clears the buffer for the next email.
    pub(super) fn clear(&mut self) {
        self.0.clear();
        self.0.shrink_to(MAX_KEPT_BYTES);
        self.0.push_str(flag::EVERY_EMAIL);
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Adds the tokens of a summary, except those of sender and reply-to addresses.
    pub(super) fn push_summary(&mut self, mail: &Summary) {
        for address in mail.recipients() {
            self.push_trigrams(prefix::RECIPIENT, &normalize(&address.to_string()));
            let domain = normalize(address.domain());
            if !domain.is_empty() {
                self.push_token(&encode_token(prefix::DOMAIN, domain.chars()));
            }
        }
        self.push_trigrams(prefix::SUBJECT, &normalize(&mail.subject));
        self.push_token(&status_token(&mail.status));
        self.push_token(&encode_token(
            prefix::ID,
            normalize(mail.id.as_str()).chars().take(ID_CHARS),
        ));
        let message_id = normalize(&mail.message_id);
        self.push_token(&encode_token(
            prefix::MESSAGE_ID,
            trim_angle_brackets(&message_id).chars().take(ID_CHARS),
        ));
        for (has, name) in [
            (!mail.cc.is_empty(), "cc"),
            (!mail.bcc.is_empty(), "bcc"),
            (!mail.reply_to.is_empty(), "reply-to"),
        ] {
            self.push_flag_if(has, name);
        }
    }

    pub(super) fn push_retrieved(&mut self, retrieved: &RetrievedTexts<'_>) {
        let tags = &retrieved.tags;
        self.push_token(flag::FETCHED);
        self.push_flag_if(retrieved.text.is_some(), "text");
        self.push_flag_if(retrieved.html.is_some(), "html");
        self.push_flag_if(!tags.is_empty(), "tag");
        for tag in tags {
            self.push_token(&tag_name_token(&normalize(&tag.name)));
            self.push_token(&tag_value_token(
                &normalize(&tag.name),
                &normalize(&tag.value),
            ));
        }
        let html = retrieved
            .html
            .map(|html| normalize(&render::extract_text(html)));
        let normalized: Vec<String> = retrieved
            .text
            .map(normalize)
            .into_iter()
            .chain(html)
            .collect();
        let mut seen = HashSet::new();
        for body in &normalized {
            self.push_words(body, &mut seen);
        }
    }

    pub(super) fn push_interned(&mut self, id: i64) {
        self.push_token(&interned_token(id));
    }

    /// Adds the trigrams of normalised text; the last two are shorter.
    ///
    /// Two characters that are not ASCII are a token, too: a word of such a script may be that short.
    pub(super) fn push_trigrams(&mut self, prefix: char, normalized: &str) {
        // A long text has most of its trigrams more than once.
        let mut seen = (normalized.len() > DEDUPLICATE_FROM_BYTES).then(HashSet::new);
        let mut rest = normalized;
        while let Some(first) = rest.chars().next() {
            let trigram = rest
                .char_indices()
                .nth(3)
                .map_or(rest, |(end, _)| &rest[..end]);
            if seen.as_mut().is_some_and(|seen| !seen.insert(trigram)) {
                rest = &rest[first.len_utf8()..];
                continue;
            }
            self.begin_token(prefix);
            rest.chars()
                .take(3)
                .for_each(|c| self.0.push_str(encode_char(c, &mut [0; 4])));
            let mut two = rest.chars().take(2).filter(|c| !c.is_ascii());
            if let (Some(one), Some(other)) = (two.next(), two.next()) {
                self.begin_token(prefix);
                self.0.extend([one, other]);
            }
            rest = &rest[first.len_utf8()..];
        }
    }

    /// Adds the words of a body except those `seen` before.
    fn push_words<'a>(&mut self, normalized: &'a str, seen: &mut HashSet<&'a str>) {
        let mut previous: Option<char> = None;
        for word in split_words(normalized) {
            let unspaced = unspaced_char(word);
            if let (Some(one), Some(other)) = (previous, unspaced) {
                self.begin_token(prefix::WORD);
                self.0.extend([one, other]);
            }
            previous = unspaced;
            if !seen.insert(word) {
                continue;
            }
            self.begin_token(prefix::WORD);
            self.0.extend(word.chars().take(MAX_WORD_CHARS));
            if unspaced.is_none() {
                for length in 2..=PREFIX_CHARS {
                    if let Some((end, last)) = word.char_indices().nth(length - 1) {
                        self.begin_token(prefix::WORD_PREFIX);
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

    fn begin_token(&mut self, prefix: char) {
        self.0.push(' ');
        self.0.push(prefix);
    }

    fn push_token(&mut self, token: &str) {
        self.0.push(' ');
        self.0.push_str(token);
    }
}

/// Writes a token.
///
/// Moves ASCII punctuation to a private range, because the tokenizer splits at it.
pub(super) fn encode_token(prefix: char, chars: impl Iterator<Item = char>) -> String {
    let mut token = String::from(prefix);
    chars.for_each(|c| token.push_str(encode_char(c, &mut [0; 4])));
    token
}

pub(super) fn interned_token(id: i64) -> String {
    format!("{}{id}", prefix::INTERNED)
}

pub(super) fn flag_token(name: &str) -> String {
    encode_token(prefix::FLAG, name.chars())
}

pub(super) fn status_token(status: &Status) -> String {
    encode_token(prefix::STATUS, normalize(status.label()).chars())
}

pub(super) fn tag_name_token(name: &str) -> String {
    encode_token(prefix::TAG, name.chars())
}

pub(super) fn tag_value_token(name: &str, value: &str) -> String {
    encode_token(
        prefix::TAG_VALUE,
        name.chars().chain(['\0']).chain(value.chars()),
    )
}

pub(super) fn trim_angle_brackets(message_id: &str) -> &str {
    message_id.trim_matches(['<', '>'])
}

/// Returns the only character of a word in a script without spaces.
pub(super) fn unspaced_char(word: &str) -> Option<char> {
    word.chars().next().filter(|c| is_unspaced_script(*c))
}

fn encode_char(c: char, buffer: &mut [u8; 4]) -> &str {
    /// The start of the private use area, which no text uses.
    const PRIVATE: u32 = 0xE000;
    let moved = if c.is_ascii() && !c.is_ascii_alphanumeric() {
        char::from_u32(PRIVATE + u32::from(c)).unwrap_or(c)
    } else {
        c
    };
    moved.encode_utf8(buffer)
}
