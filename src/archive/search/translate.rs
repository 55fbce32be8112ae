//! Translates a query to expressions of the index.
//!
//! Each condition is translated for the emails that it matches, or below a negation for those that
//! it does not match. Where the index cannot tell, both are all emails, so a negation never
//! excludes too much.

use super::fts_expr::{FtsExpr, is_costly_prefix};
use super::interned;
use super::periods::Period;
use super::text_expr::{
    MAX_SHARED_TRIGRAMS, body_expr, id_expr, id_prefix_expr, sample_evenly, trigram_expr,
};
use super::tokens::{
    self, MAX_MAILBOX_CHARS, MAX_WORD_CHARS, MIN_HEADER_WORD, encode_token, flag, max_pair_chars,
    prefix, single_word,
};
use crate::archive::storage::db::Connection;
use crate::error::Result;
use crate::mail::Status;
use crate::query::normalize::split_words;
use crate::query::{EmailClass, EmailPart, Field, Node, SearchText, Term, TimeOperator};

/// Shorter ends of local parts are searched for by trigrams:
/// many addresses have them.
const MIN_LOCAL_PART: usize = 4;

/// Few domains have a person with a longer local part:
/// the domain hardly narrows the result.
const RARE_LOCAL_PART: usize = 8;

/// Groups nested deeper are not given to the index.
const MAX_DEPTH: usize = 40;

/// Expressions for a part of a query.
///
/// The matches are among those of `expr`, and among those of `certain` and `possible` together.
/// They include all of `certain`.
#[derive(Clone)]
pub(super) struct Translated {
    pub(super) expr: FtsExpr,
    pub(super) certain: FtsExpr,
    pub(super) possible: FtsExpr,
}

impl Translated {
    /// Translates what the index knows exactly.
    pub(super) fn exact(expr: FtsExpr) -> Self {
        Self {
            certain: expr.clone(),
            possible: FtsExpr::Nothing,
            expr,
        }
    }

    fn superset(expr: FtsExpr) -> Self {
        Self {
            certain: FtsExpr::Nothing,
            possible: expr.clone(),
            expr,
        }
    }

    fn new(expr: FtsExpr, is_exact: bool) -> Self {
        if is_exact {
            Self::exact(expr)
        } else {
            Self::superset(expr)
        }
    }

    fn or(members: impl IntoIterator<Item = Self>) -> Self {
        let members: Vec<Self> = members.into_iter().collect();
        let all = |part: fn(&Self) -> &FtsExpr| FtsExpr::or(members.iter().map(part).cloned());
        Self {
            expr: all(|member| &member.expr),
            certain: all(|member| &member.certain),
            possible: all(|member| &member.possible),
        }
    }

    fn and(members: impl IntoIterator<Item = Self>) -> Self {
        let members: Vec<Self> = members.into_iter().collect();
        let all = |part: fn(&Self) -> &FtsExpr| FtsExpr::and(members.iter().map(part).cloned());
        let inexact = |member: &&Self| member.possible != FtsExpr::Nothing;
        let possible = match members.iter().filter(inexact).count() {
            0 => FtsExpr::Nothing,
            // The others are certain.
            1 => all(|member| match member.possible {
                FtsExpr::Nothing => &member.certain,
                _ => &member.possible,
            }),
            _ => all(|member| &member.expr),
        };
        Self {
            expr: all(|member| &member.expr),
            certain: all(|member| &member.certain),
            possible,
        }
    }

    /// Returns the expressions for all other emails.
    fn negated(self) -> Self {
        let uncertain = self.certain.complement();
        Self {
            possible: FtsExpr::and([self.possible, uncertain.clone()]),
            expr: uncertain,
            certain: self.expr.complement(),
        }
    }

    /// Limits each expression to `max` look-ups.
    pub(super) fn widen(self, max: usize) -> Self {
        let expr = self.expr.widen(max);
        if self.certain.count_lookups() > max {
            return Self::superset(expr);
        }
        Self {
            possible: self.possible.widen(max),
            certain: self.certain,
            expr,
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Translator<'a> {
    pub(super) connection: &'a Connection,
    pub(super) has_many_terms: bool,
    /// The only period of the emails that the expression is for.
    pub(super) period: Option<Period>,
}

impl Translator<'_> {
    /// Translates `node`, or its negation if not `positive`.
    pub(super) fn translate_node(
        &self,
        node: &Node,
        positive: bool,
        depth: usize,
    ) -> Result<Translated> {
        if depth > MAX_DEPTH {
            return Ok(Translated::superset(FtsExpr::All));
        }
        match node {
            Node::And(nodes) | Node::Or(nodes) => {
                let members: Vec<Translated> = nodes
                    .iter()
                    .map(|node| self.translate_node(node, positive, depth + 1))
                    .collect::<Result<_, _>>()?;
                Ok(if matches!(node, Node::And(_)) == positive {
                    Translated::and(members)
                } else {
                    Translated::or(members)
                })
            }
            Node::Not(inner) => self.translate_node(inner, !positive, depth + 1),
            Node::Term(term) => {
                let translated = self.translate_term(term)?;
                Ok(match (positive, term.is_unknown_until_fetched()) {
                    (true, _) => translated,
                    (false, false) => translated.negated(),
                    (false, true) => {
                        Translated::and([Translated::exact(known(term)), translated.negated()])
                    }
                })
            }
        }
    }

    fn translate_term(&self, term: &Term) -> Result<Translated> {
        use Translated as T;
        Ok(match term {
            Term::Word(text) => T::or([
                self.translate_field(Field::Any, text)?,
                self.translate_subject(text),
                self.translate_body(text),
                T::superset(id_expr(prefix::ID, text.normalized())),
                T::superset(id_expr(
                    prefix::MESSAGE_ID,
                    tokens::trim_angle_brackets(text.normalized()),
                )),
            ]),
            Term::Text(field, text) => self.translate_field(*field, text)?,
            Term::Recipient(text) => T::new(
                FtsExpr::Token(tokens::mailbox_token(text.normalized())),
                text.normalized().chars().count() < MAX_MAILBOX_CHARS,
            ),
            Term::Domain(text) => T::exact(FtsExpr::Token(encode_token(
                prefix::DOMAIN,
                text.normalized().chars(),
            ))),
            Term::Status(statuses) => T::exact(status_expr(statuses)),
            Term::Is(EmailClass::Trouble) => {
                let problems = Status::KNOWN.into_iter().filter(Status::is_problem);
                T::exact(status_expr(&problems.collect::<Vec<_>>()))
            }
            Term::Is(EmailClass::Scheduled) => T::exact(status_expr(&[Status::Scheduled])),
            Term::Has(EmailPart::Body) => T::exact(FtsExpr::or([
                flag_expr(EmailPart::Text),
                flag_expr(EmailPart::Html),
            ])),
            Term::Has(part) => T::exact(flag_expr(*part)),
            Term::Tag { name, value } => {
                let name = name.normalized();
                T::exact(FtsExpr::Token(match value {
                    None => tokens::tag_name_token(name),
                    Some(value) => tokens::tag_value_token(name, value.normalized()),
                }))
            }
            // No token changes when mail leaves the service; an index of the table knows those
            // rows.
            Term::Is(EmailClass::Gone) | Term::Time(TimeOperator::SeenChange, _) => {
                T::superset(FtsExpr::All)
            }
            Term::Time(..) => match self.period.and_then(|period| period.meets(term)) {
                Some(true) => T::exact(FtsExpr::All),
                Some(false) => T::exact(FtsExpr::Nothing),
                None => T::superset(FtsExpr::All),
            },
        })
    }

    /// Searches words of a body.
    ///
    /// The index knows exactly a single word, and two beside each other unless a long word or a
    /// number is cut. Of others, it knows that each two are beside each other, and some that have
    /// no space between them.
    pub(super) fn translate_body(&self, text: &SearchText) -> Translated {
        let normalized = text.normalized();
        if single_word(text).is_some() {
            return Translated::exact(body_expr(text));
        }
        let mut expr = body_expr(text);
        // Hundreds of addresses end in the same word, which may be in every body.
        let is_widened = self.has_many_terms && expr.has_prefix(&is_costly_prefix);
        if is_widened {
            expr = expr.without_costly_prefixes();
        }
        let words: Vec<&str> = split_words(normalized).collect();
        if let [word, next] = *words
            && !is_widened
            && (tokens::unspaced_char(word).is_some()
                || word.chars().count() < max_pair_chars(word))
            && next.chars().count() <= max_pair_chars(next)
        {
            return Translated::exact(expr);
        }
        let is_known =
            tokens::is_compound(normalized) && normalized.chars().count() <= MAX_WORD_CHARS;
        Translated {
            certain: if is_known {
                FtsExpr::Prefix(tokens::compound_token(normalized))
            } else {
                FtsExpr::Nothing
            },
            ..Translated::superset(expr)
        }
    }

    fn translate_field(&self, field: Field, text: &SearchText) -> Result<Translated> {
        use Translated as T;
        let sender = || trigrams(prefix::SENDER, text);
        // Tokens of recipients do not tell which field they are of.
        let recipient = || self.translate_recipient(text);
        let [has_cc, has_bcc] = [EmailPart::Cc, EmailPart::Bcc].map(flag_expr);
        Ok(match field {
            Field::From => self.with_interned(interned::FROM, text, sender())?,
            Field::ReplyTo => T::superset(
                self.with_interned(interned::REPLY_TO, text, recipient())?
                    .expr,
            ),
            Field::Any => self.with_interned(
                interned::REPLY_TO,
                text,
                self.with_interned(interned::FROM, text, T::or([recipient(), sender()]))?,
            )?,
            Field::To => {
                let is_other = FtsExpr::or([has_cc, has_bcc]);
                Translated {
                    certain: FtsExpr::and([self.known_recipients(text), is_other.complement()]),
                    ..T::superset(recipient().expr)
                }
            }
            Field::Cc => T::superset(FtsExpr::and([has_cc, recipient().expr])),
            Field::Bcc => T::superset(FtsExpr::and([has_bcc, recipient().expr])),
            Field::Subject => self.translate_subject(text),
            Field::Body => self.translate_body(text),
            Field::Reason => trigrams(prefix::REASON, text),
            Field::Id => T::superset(id_prefix_expr(prefix::ID, text.normalized())),
            Field::MessageId => T::superset(id_prefix_expr(
                prefix::MESSAGE_ID,
                tokens::trim_angle_brackets(text.normalized()),
            )),
        })
    }

    fn translate_subject(&self, text: &SearchText) -> Translated {
        let translated = trigrams(prefix::SUBJECT, text);
        if translated.possible == FtsExpr::Nothing {
            return translated;
        }
        let prefix = if text.normalized().contains(' ') {
            prefix::SUBJECT_WORDS
        } else {
            prefix::SUBJECT_WORD
        };
        Translated {
            certain: self.header_words(prefix, text),
            ..translated
        }
    }

    /// Searches the addresses that are indexed as recipients.
    ///
    /// The end of a local part is one look-up where trigrams are many, but the index collects all
    /// its matches before it returns the first.
    fn translate_recipient(&self, text: &SearchText) -> Translated {
        let by_trigrams = trigrams(prefix::RECIPIENT, text);
        if by_trigrams.possible == FtsExpr::Nothing {
            return by_trigrams;
        }
        let mut expr = by_trigrams.expr;
        let normalized = text.normalized();
        if self.has_many_terms
            && let Some((before, _)) = normalized.split_once('@')
            && let Some(local) = tokens::local_part_before(before)
            && local.chars().count() >= MIN_LOCAL_PART
        {
            expr = FtsExpr::Prefix(tokens::local_part_token(local, ""));
            if local.chars().count() < RARE_LOCAL_PART {
                let domain: Vec<char> = normalized[before.len()..].chars().collect();
                let domain = domain
                    .windows(3)
                    .map(|trigram| encode_token(prefix::RECIPIENT, trigram.iter().copied()));
                let domain = sample_evenly(domain.collect(), MAX_SHARED_TRIGRAMS);
                expr = FtsExpr::and([expr].into_iter().chain(domain));
            }
        }
        Translated {
            certain: self.known_recipients(text),
            ..Translated::superset(expr)
        }
    }

    /// Finds recipients with a word or a domain that starts with this text,
    /// or with an address in which it is the end of the local part and the start of the domain.
    fn known_recipients(&self, text: &SearchText) -> FtsExpr {
        let normalized = text.normalized();
        let length = normalized.chars().count();
        if normalized.contains([' ', '>']) || length >= MAX_MAILBOX_CHARS {
            return FtsExpr::Nothing;
        }
        match normalized.split_once('@') {
            None if self.has_many_terms || length < MIN_HEADER_WORD => FtsExpr::Nothing,
            None => {
                let domain = FtsExpr::Prefix(encode_token(prefix::DOMAIN, normalized.chars()));
                FtsExpr::or([self.header_words(prefix::RECIPIENT_WORD, text), domain])
            }
            // Without a part of the domain, it may be a reply-to address.
            Some((local, domain))
                if !domain.is_empty()
                    && !domain.contains('@')
                    && tokens::local_part_before(local) == Some(local) =>
            {
                FtsExpr::Prefix(tokens::local_part_token(local, &format!("@{domain}")))
            }
            Some(_) => FtsExpr::Nothing,
        }
    }

    /// Finds emails with a word in a header that starts with this text.
    fn header_words(&self, prefix: char, text: &SearchText) -> FtsExpr {
        let normalized = text.normalized();
        let is_known = normalized.chars().count() >= MIN_HEADER_WORD
            && tokens::letters_and_spaces(normalized) == normalized;
        if is_known && !self.has_many_terms {
            FtsExpr::Prefix(encode_token(prefix, normalized.chars()))
        } else {
            FtsExpr::Nothing
        }
    }

    /// Adds the interned addresses with this text to the expressions for all others.
    fn with_interned(
        &self,
        kind: &str,
        text: &SearchText,
        others: Translated,
    ) -> Result<Translated> {
        let params = [kind, text.normalized()];
        let ids: Vec<i64> = self.connection.values(interned::IDS_CONTAINING, params)?;
        if ids.len() > interned::MAX_ADDRESSES {
            return Ok(Translated::superset(FtsExpr::All));
        }
        let ids = ids
            .into_iter()
            .map(|id| Translated::exact(FtsExpr::Token(tokens::interned_token(id))));
        Ok(Translated::or([others].into_iter().chain(ids)))
    }
}

/// Finds the emails for which a term on retrieved parts is known.
fn known(term: &Term) -> FtsExpr {
    let fetched = FtsExpr::Token(flag::FETCHED.to_owned());
    match term {
        // The list may have it.
        Term::Text(Field::Reason, _) | Term::Has(EmailPart::Reason) => {
            FtsExpr::or([fetched, flag_expr(EmailPart::Reason)])
        }
        _ => fetched,
    }
}

fn flag_expr(part: EmailPart) -> FtsExpr {
    FtsExpr::Token(tokens::flag_token(part.as_str()))
}

fn status_expr(statuses: &[Status]) -> FtsExpr {
    let tokens = statuses.iter().map(tokens::status_token);
    FtsExpr::or(tokens.map(FtsExpr::Token))
}

/// Searches a part of a text.
/// All trigrams are indexed, so the index knows up to three characters exactly.
fn trigrams(prefix: char, text: &SearchText) -> Translated {
    let normalized = text.normalized();
    // ASCII punctuation is indexed as private characters, which a text may have, too.
    let is_exact = normalized.chars().count() <= 3 && normalized.chars().all(char::is_alphanumeric);
    Translated::new(trigram_expr(prefix, text), is_exact)
}
