//! Tokens of the search index, as `schema.sql` describes them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::api::wire;
use crate::mail::{Bounce, Status, Summary, Tag};
use crate::query::normalize::{is_unspaced_script, normalize, split_words, word_ranges};
use crate::query::{BodyTexts, EmailPart, SearchText};
use crate::render;
use crate::text::format::first_chars;

/// Characters of a body word in its token; more would not distinguish words.
pub(super) const MAX_WORD_CHARS: usize = 24;

/// The longest word prefix with a token of its own.
pub(super) const PREFIX_CHARS: usize = 3;

/// Characters of a number in the token of a pair:
/// numbers of orders would be as many pairs.
const NUMBER_CHARS: usize = 2;

/// Shorter words of a subject or an address have no token:
/// two letters are the start of a trigram.
pub(super) const MIN_HEADER_WORD: usize = 3;

/// Characters of an id in its token; so many of a UUID tell a million apart.
pub(super) const ID_CHARS: usize = 12;

/// Characters of an address in its token; the index keeps no longer ones.
pub(super) const MAX_MAILBOX_CHARS: usize = 320;

/// Bytes of a text from which on repeated trigrams are skipped.
const DEDUPLICATE_FROM_BYTES: usize = 4096;

/// Bytes that a buffer keeps for the next email.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// The first letters of tokens.
pub(super) mod prefix {
    pub(crate) const RECIPIENT: char = 'h';
    pub(crate) const SENDER: char = 'f';
    pub(crate) const SUBJECT: char = 'u';
    pub(crate) const SUBJECT_WORD: char = 'm';
    pub(crate) const SUBJECT_WORDS: char = 'o';
    pub(crate) const RECIPIENT_WORD: char = 'a';
    pub(crate) const MAILBOX: char = 'r';
    pub(crate) const INTERNED: char = 'l';
    pub(crate) const WORD: char = 'w';
    pub(crate) const WORD_PREFIX: char = 'p';
    pub(crate) const COMPOUND: char = 'c';
    pub(crate) const PAIR: char = 'q';
    pub(crate) const STATUS: char = 's';
    pub(crate) const DOMAIN: char = 'd';
    pub(crate) const TAG: char = 't';
    pub(crate) const TAG_VALUE: char = 'v';
    pub(crate) const ID: char = 'i';
    pub(crate) const MESSAGE_ID: char = 'n';
    pub(crate) const REASON: char = 'b';
    pub(crate) const FLAG: char = 'x';
}

/// Flags that are not part of an email.
pub(super) mod flag {
    pub(crate) const EVERY_EMAIL: &str = "xany";
    pub(crate) const FETCHED: &str = "xfetched";
    /// The email has another time than its neighbours, or none.
    pub(crate) const OUT_OF_ORDER: &str = "xoutoforder";
    /// Not all tokens of the email are in the index of PostgreSQL.
    pub(crate) const INCOMPLETE: &str = "xincomplete";
}

/// The parts of a retrieved email that are searched.
pub(super) struct RetrievedTexts<'a> {
    text: Option<&'a str>,
    html: Option<&'a str>,
    pub(super) tags: Vec<Tag>,
    bounce: Option<Bounce>,
}

impl<'a> RetrievedTexts<'a> {
    pub(super) fn from_email(email: &'a wire::Email) -> Self {
        Self {
            text: email.text.as_deref(),
            html: email.html.as_deref(),
            tags: email.tags.iter().map(Tag::from).collect(),
            bounce: Bounce::find(&email.summary.extra),
        }
    }

    /// Returns the reason of a bounce as a search reads it; empty if there is none.
    pub(super) fn reason(&self) -> String {
        let bounce = self.bounce.as_ref();
        bounce.map(Bounce::searched_text).unwrap_or_default()
    }

    pub(super) fn bodies(&self) -> BodyTexts<'_> {
        BodyTexts {
            text: self.text,
            html: self.html,
            extract_text: render::extract_text,
        }
    }
}

/// Tokens of one email, each after a space.
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

    /// Adds the tokens of another buffer.
    pub(super) fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    /// Returns the tokens; if they have more than `most` bytes, the first of them,
    /// and a flag for that.
    pub(super) fn limited_to(&self, most: usize) -> Cow<'_, str> {
        if self.0.len() <= most {
            return Cow::Borrowed(&self.0);
        }
        let (mut seen, mut bytes, mut end) = (HashSet::new(), 0, 0);
        for token in self.0.split_inclusive(' ') {
            bytes += if seen.insert(token.trim_end()) {
                token.len()
            } else {
                0
            };
            if bytes > most {
                return Cow::Owned(format!("{}{}", &self.0[..end], flag::INCOMPLETE));
            }
            end += token.len();
        }
        Cow::Borrowed(&self.0)
    }

    /// Adds the tokens of a summary, except those of sender and reply-to addresses.
    pub(super) fn push_summary(&mut self, mail: &Summary) {
        for address in mail.recipients() {
            let normalized = normalize(&address.to_string());
            self.push_trigrams(prefix::RECIPIENT, &normalized);
            let before_domain = normalized.split('@').next().unwrap_or_default();
            self.push_header_words(prefix::RECIPIENT_WORD, before_domain);
            let mailbox = normalize(&address.email);
            self.push_token(&mailbox_token(&mailbox));
            if normalized.matches('@').count() > 1 || !has_one_at_sign(&mailbox) {
                self.push_local_parts(&normalized);
            }
            let domain = normalize(address.domain());
            if !domain.is_empty() {
                self.push_token(&encode_token(prefix::DOMAIN, domain.chars()));
            }
        }
        let subject = normalize(&mail.subject);
        self.push_trigrams(prefix::SUBJECT, &subject);
        self.push_header_words(prefix::SUBJECT_WORD, &subject);
        for range in word_ranges(&subject) {
            let words = letters_and_spaces(&subject[range.start..]);
            if words.contains(' ') {
                self.push_token(&encode_token(prefix::SUBJECT_WORDS, words.chars()));
            }
        }
        self.push_token(&status_token(&mail.status));
        let (id, message_id) = (normalize(mail.id.as_str()), normalize(&mail.message_id));
        let message_id = trim_angle_brackets(&message_id);
        self.push_token(&id_token(prefix::ID, &id));
        self.push_token(&id_token(prefix::MESSAGE_ID, message_id));
        self.push_flag_if(!mail.cc.is_empty(), "cc");
        self.push_flag_if(!mail.bcc.is_empty(), "bcc");
        self.push_flag_if(!mail.reply_to.is_empty(), "reply-to");
    }

    pub(super) fn push_retrieved(&mut self, retrieved: &RetrievedTexts<'_>) {
        let tags = &retrieved.tags;
        self.push_token(flag::FETCHED);
        self.push_flag_if(retrieved.text.is_some(), "text");
        self.push_flag_if(retrieved.html.is_some(), "html");
        self.push_flag_if(!tags.is_empty(), "tag");
        for tag in tags {
            let name = normalize(&tag.name);
            self.push_token(&tag_name_token(&name));
            self.push_token(&tag_value_token(&name, &normalize(&tag.value)));
        }
        let html = retrieved
            .html
            .map(|html| normalize(&render::extract_text(html)));
        let text = retrieved.text.map(normalize);
        let normalized: Vec<String> = text.into_iter().chain(html).collect();
        self.push_words(&normalized);
        for compound in normalized.iter().flat_map(|body| compounds(body)) {
            self.push_token(&compound_token(compound));
        }
    }

    /// Adds the tokens of the reason of a bounce.
    pub(super) fn push_reason(&mut self, reason: &str) {
        self.push_flag_if(!reason.is_empty(), EmailPart::Reason.as_str());
        self.push_trigrams(prefix::REASON, &normalize(reason));
    }

    /// Adds the characters before each `@` of a normalised address.
    pub(super) fn push_local_parts(&mut self, normalized: &str) {
        for (at, _) in normalized.match_indices('@') {
            if let Some(local) = local_part_before(&normalized[..at]) {
                // No whole address has a space there.
                self.push_token(&local_part_token(local, "@ "));
            }
        }
    }

    /// Adds the trigrams of normalised text; the last two are shorter.
    ///
    /// Two characters that are not ASCII are a token, too: a word of such a script may be that
    /// short.
    pub(super) fn push_trigrams(&mut self, prefix: char, normalized: &str) {
        // A long text has most of its trigrams more than once.
        let mut seen = (normalized.len() > DEDUPLICATE_FROM_BYTES).then(HashSet::new);
        let mut rest = normalized;
        while let Some(first) = rest.chars().next() {
            let trigram = first_chars(rest, 3);
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

    /// Adds the letters that the words of a normalised header start with.
    fn push_header_words(&mut self, prefix: char, normalized: &str) {
        for word in split_words(normalized) {
            let letters = letters_and_spaces(word);
            if letters.chars().count() >= MIN_HEADER_WORD {
                self.begin_token(prefix);
                self.0.push_str(letters);
            }
        }
    }

    /// Adds the words of normalised bodies, and the pairs of neighbours.
    fn push_words(&mut self, bodies: &[String]) {
        let mut words: Vec<&str> = Vec::new();
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for body in bodies {
            let mut before = None;
            for word in split_words(body) {
                let number = *numbers.entry(word).or_insert_with(|| {
                    self.push_word(word);
                    words.push(word);
                    words.len() - 1
                });
                pairs.extend(before.replace(number).map(|before| (before, number)));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        for (word, next) in pairs {
            self.0.push(' ');
            write_pair(words[word], words[next], &mut self.0);
        }
    }

    fn push_word(&mut self, word: &str) {
        self.begin_token(prefix::WORD);
        self.0.push_str(first_chars(word, MAX_WORD_CHARS));
        if unspaced_char(word).is_none() {
            for length in 2..=PREFIX_CHARS {
                if let Some((end, last)) = word.char_indices().nth(length - 1) {
                    self.begin_token(prefix::WORD_PREFIX);
                    self.0.push_str(&word[..end + last.len_utf8()]);
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

    pub(super) fn push_token(&mut self, token: &str) {
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

pub(super) fn id_token(prefix: char, id: &str) -> String {
    encode_token(prefix, id.chars().take(ID_CHARS))
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

/// Writes the token of a whole address:
/// its local part from back to front, and its domain.
///
/// So a part of an address with the end of its local part is a prefix. Another text than one local
/// part and one domain is kept as it is, behind an `@`.
pub(super) fn mailbox_token(address: &str) -> String {
    match address.split_once('@') {
        Some((local, domain)) if has_one_at_sign(address) => {
            local_part_token(local, &format!("@{domain}"))
        }
        _ => local_part_token("", &format!("@{address}")),
    }
}

/// Writes the start of the tokens of all addresses whose local part ends in
/// `local`.
pub(super) fn local_part_token(local: &str, rest: &str) -> String {
    let chars = local.chars().rev().chain(rest.chars());
    encode_token(prefix::MAILBOX, chars.take(MAX_MAILBOX_CHARS))
}

/// Returns the characters at the end of a text that may be of a local part;
/// `None` if there are none.
pub(super) fn local_part_before(text: &str) -> Option<&str> {
    text.rsplit([' ', '<', '@'])
        .next()
        .filter(|local| !local.is_empty())
}

/// Whether an address is a local part and a domain.
pub(super) fn has_one_at_sign(address: &str) -> bool {
    !address.starts_with('@') && address.matches('@').count() == 1
}

pub(super) fn trim_angle_brackets(message_id: &str) -> &str {
    message_id.trim_matches(['<', '>'])
}

/// Splits normalised text at spaces, and returns the parts of several words from
/// the first word on.
fn compounds(normalized: &str) -> impl Iterator<Item = &str> {
    normalized.split(' ').filter_map(|part| {
        // Most parts are one word, perhaps between punctuation.
        let inner = part.trim_matches(|c: char| c.is_ascii_punctuation());
        if inner.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let start = word_ranges(part).next()?.start;
        Some(&part[start..]).filter(|compound| is_compound(compound))
    })
}

/// Whether a text is several words from its start on with no space between them.
pub(super) fn is_compound(text: &str) -> bool {
    let mut words = split_words(text);
    let starts_with_word = words.next().is_some_and(|word| text.starts_with(word));
    starts_with_word
        && words.next().is_some()
        && !text.contains(' ')
        && split_words(text).all(|word| unspaced_char(word).is_none())
}

pub(super) fn compound_token(compound: &str) -> String {
    encode_token(prefix::COMPOUND, compound.chars().take(MAX_WORD_CHARS))
}

/// Returns the letters at the start of a text, with the spaces between them,
/// at most [`MAX_WORD_CHARS`].
///
/// Numbers of orders would be as many tokens.
pub(super) fn letters_and_spaces(text: &str) -> &str {
    // First cut: the text of a hostile subject has as many words as this one is called for.
    let text = first_chars(text, MAX_WORD_CHARS);
    let is_other = |c: char| !c.is_alphabetic() && c != ' ';
    text[..text.find(is_other).unwrap_or(text.len())].trim_end()
}

/// Whether a word starts with a digit, as most numbers of orders and invoices do.
pub(super) fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Writes the token of two words beside each other.
pub(super) fn pair_token(word: &str, next: &str) -> String {
    let mut token = String::new();
    write_pair(word, next, &mut token);
    token
}

fn write_pair(word: &str, next: &str, out: &mut String) {
    if let (Some(_), Some(_)) = (unspaced_char(word), unspaced_char(next)) {
        out.push(prefix::WORD);
        out.extend([word, next]);
    } else {
        out.push(prefix::PAIR);
        out.push_str(first_chars(word, max_pair_chars(word)));
        out.push_str(encode_char(' ', &mut [0; 4]));
        out.push_str(first_chars(next, max_pair_chars(next)));
    }
}

/// Returns the two words of a token of a pair, which may be cut.
pub(super) fn words_of_pair(token: &str) -> Option<(&str, &str)> {
    let words = token.strip_prefix(prefix::PAIR)?;
    words.split_once(encode_char(' ', &mut [0; 4]))
}

/// Returns how many characters of a word the tokens of its pairs have.
pub(super) fn max_pair_chars(word: &str) -> usize {
    if is_number(word) {
        NUMBER_CHARS
    } else {
        MAX_WORD_CHARS
    }
}

/// Returns the only word of a text, if the index has it uncut.
pub(super) fn single_word(text: &SearchText) -> Option<String> {
    let mut words = split_words(text.normalized());
    let word = words
        .next()
        .filter(|word| word.chars().count() < MAX_WORD_CHARS && unspaced_char(word).is_none())?;
    words.next().is_none().then(|| word.to_owned())
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
