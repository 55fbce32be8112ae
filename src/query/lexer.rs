//! Splits the text of a query into tokens, and reports what looks like syntax but
//! is not.

use std::ops::Range;

use super::date::DateExpr;
use super::diagnostic::{Diagnostic, InvalidValue};
use super::headers::operator_of_header;
use super::operators::Operator;
use super::words::{closing_quotes, is_keyword, is_reply_prefix};

/// Groups nested deeper than this are text, so that no input can exhaust the stack.
const MAX_DEPTH: usize = 40;

/// A token of the text. Tokens are in order and only spaces lie between them.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) range: Range<usize>,
    pub(super) kind: TokenKind,
}

#[derive(Debug, PartialEq)]
pub(super) enum TokenKind {
    /// The start of a group that is not empty.
    OpenParen,
    /// The end of an open group.
    CloseParen,
    /// A `-` directly in front of its operand.
    Minus,
    /// A word without quotes, perhaps a keyword.
    Word,
    /// A word that looks like syntax; a diagnostic says why it is none.
    InvalidSyntax,
    /// Quoted text, unescaped and without its quotes.
    Quoted(String),
    /// An operator with its value, which is not empty.
    Operator(Operator, OperatorValue),
}

#[derive(Debug, PartialEq)]
pub(super) struct OperatorValue {
    /// The bytes of the value with its quotes.
    pub(super) range: Range<usize>,
    /// Unescaped and without quotes.
    pub(super) text: String,
}

/// Splits `text` into tokens, and reports what looks like syntax but is not.
pub(super) fn lex(text: &str) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut lexer = Lexer {
        text,
        open_parens: Vec::new(),
        diagnostics: Vec::new(),
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(spaces) = text[start..].find(|c: char| !c.is_whitespace()) {
        start += spaces;
        let (end, kind) = lexer.lex_token(start);
        tokens.push(Token {
            range: start..end,
            kind,
        });
        start = end;
    }
    for open in std::mem::take(&mut lexer.open_parens) {
        lexer.report_unclosed(open, "missing \")\": the group extends to the end");
    }
    (tokens, lexer.diagnostics)
}

struct Lexer<'a> {
    text: &'a str,
    /// The starts of the groups that are still open.
    open_parens: Vec<usize>,
    diagnostics: Vec<Diagnostic>,
}

impl Lexer<'_> {
    fn lex_token(&mut self, start: usize) -> (usize, TokenKind) {
        let mut chars = self.text[start..].chars();
        match chars.next() {
            Some('(') => self.lex_paren(start),
            Some(')') if self.open_parens.pop().is_some() => (start + 1, TokenKind::CloseParen),
            Some(')') => {
                self.report(start..start + 1, "no matching \"(\": searched for as text");
                (self.word_end(start), TokenKind::InvalidSyntax)
            }
            Some('-')
                if chars
                    .next()
                    .is_some_and(|next| !next.is_whitespace() && !matches!(next, '-' | ')')) =>
            {
                (start + 1, TokenKind::Minus)
            }
            Some(quote) if quote == '"' || closing_quotes(quote).is_some() => {
                match self.lex_quoted(start) {
                    Some((end, text)) => (end, TokenKind::Quoted(text)),
                    None => (self.word_end(start), TokenKind::Word),
                }
            }
            _ => match self.find_operator(start) {
                Some((operator, value)) => self.lex_operator(operator, start, value),
                None => (self.bare_word_end(start), TokenKind::Word),
            },
        }
    }

    /// Finds the end of a word without quotes: a keyword may have its group directly
    /// behind it, as in `not(ana or bob)`.
    fn bare_word_end(&self, start: usize) -> usize {
        let end = self.word_end(start);
        let word = &self.text[start..end];
        match word.split_once('(') {
            Some((keyword, _)) if is_keyword(keyword) => start + keyword.len(),
            _ => end,
        }
    }

    fn lex_paren(&mut self, start: usize) -> (usize, TokenKind) {
        let inside = self.text[start + 1..].trim_start();
        if let Some(after) = inside.strip_prefix(')') {
            let end = self.text.len() - after.len();
            self.report(start..end, "empty group: searched for as text");
            return (end, TokenKind::InvalidSyntax);
        }
        let reason = if inside.is_empty() {
            "no matching \")\""
        } else if self.open_parens.len() == MAX_DEPTH {
            "groups are nested too deeply"
        } else {
            self.open_parens.push(start);
            return (start + 1, TokenKind::OpenParen);
        };
        self.report(start..start + 1, format!("{reason}: searched for as text"));
        (self.word_end(start), TokenKind::InvalidSyntax)
    }

    /// Finds the operator at `start`, and the start of its value.
    ///
    /// A copied header may be named in another language: with a capital letter, and a space before
    /// an address or a subject.
    fn find_operator(&self, start: usize) -> Option<(Operator, usize)> {
        let rest = &self.text[start..];
        let colon = rest.find(|c: char| !c.is_alphabetic() && c != '-')?;
        let value = rest[colon..].strip_prefix(':')?;
        let name = &rest[..colon];
        let is_copied = name.starts_with(char::is_uppercase)
            && value.starts_with(' ')
            && (value.contains('@') || operator_of_header(name) == Some("subject"));
        let of_header = || operator_of_header(name).filter(|_| is_copied);
        let operator =
            Operator::from_name(name).or_else(|| of_header().and_then(Operator::from_name))?;
        Some((operator, start + colon + 1))
    }

    /// Reads an operator with its value, or a word if there is no value;
    /// the value may follow after spaces, as in a copied header.
    fn lex_operator(
        &mut self,
        operator: Operator,
        start: usize,
        value_start: usize,
    ) -> (usize, TokenKind) {
        let value_start = self.next_value(value_start).unwrap_or(value_start);
        let word_end = self.word_end(value_start);
        let date_end = self
            .date_end(value_start, word_end)
            .filter(|_| matches!(operator, Operator::Time(_)));
        let list_end = || {
            operator
                .takes_list()
                .then(|| self.list_end(value_start, word_end))
        };
        let bare = value_start..date_end.or_else(list_end).unwrap_or(word_end);
        let quote_start = match (operator, self.text[bare.clone()].split_once('=')) {
            (Operator::Tag, Some((name, _))) if !name.starts_with('"') => {
                value_start + name.len() + 1
            }
            _ => value_start,
        };
        let (range, text) = if let Some((end, quoted)) = self.lex_quoted(quote_start) {
            let text = self.text[value_start..quote_start].to_owned() + &quoted;
            (value_start..end, text)
        } else if bare.is_empty() || self.text[value_start..].starts_with('"') {
            let message = format!("needs a value, for example {}", operator.example());
            self.diagnostics.push(Diagnostic {
                value: Some(InvalidValue::Missing),
                ..Diagnostic::new(start..value_start, message)
            });
            return (bare.end, TokenKind::InvalidSyntax);
        } else {
            let value = &self.text[bare.clone()];
            if value.starts_with('(') && value.matches('(').count() > value.matches(')').count() {
                let name = &self.text[start..value_start];
                let message =
                    format!("a value ends at a space: quote it, or write ({name}a or {name}b)");
                self.report(bare.clone(), message);
            }
            (bare.clone(), self.text[bare].to_owned())
        };
        (
            range.end,
            TokenKind::Operator(operator, OperatorValue { range, text }),
        )
    }

    /// Finds the word or the quoted text after the spaces at `start`,
    /// and after the prefixes of a copied reply.
    fn next_value(&self, start: usize) -> Option<usize> {
        let (mut end, mut found) = (start, None);
        loop {
            let rest = self.text[end..].trim_start();
            let next = self.text.len() - rest.len();
            let word = &self.text[next..self.bare_word_end(next)];
            let is_syntax = rest.starts_with(['-', '(', ')'])
                || is_keyword(word)
                || self.find_operator(next).is_some();
            if next == end || rest.is_empty() || is_syntax {
                return found;
            }
            found = Some(next);
            if !is_reply_prefix(word) {
                return found;
            }
            end = next + word.len();
        }
    }

    /// Reads the quoted text at `start`, if there is any that is not empty;
    /// returns its end too.
    fn lex_quoted(&mut self, start: usize) -> Option<(usize, String)> {
        let open = self.text[start..].chars().next()?;
        let inside_start = start + open.len_utf8();
        let inside = &self.text[inside_start..];
        let (text, len) = match closing_quotes(open) {
            Some(closing) => unquote_typographic(inside, closing)?,
            None if open == '"' => unquote(inside),
            None => return None,
        };
        if text.trim().is_empty() {
            return None;
        }
        if len.is_none() {
            self.report_unclosed(start, "missing closing quote: the text extends to the end");
        }
        Some((len.map_or(self.text.len(), |len| inside_start + len), text))
    }

    /// Finds the end of the word at `start`: a space, or the `)` of an open group.
    /// Parentheses that open within the word are part of it.
    fn word_end(&self, start: usize) -> usize {
        let mut own_parens = 0_usize;
        for (offset, c) in self.text[start..].char_indices() {
            match c {
                '(' => own_parens += 1,
                ')' if own_parens > 0 => own_parens -= 1,
                ')' if !self.open_parens.is_empty() => return start + offset,
                c if c.is_whitespace() => return start + offset,
                _ => {}
            }
        }
        self.text.len()
    }

    /// Finds the end of a date of several words at `start`, such as `2 Nov`,
    /// whose first word ends at `end` and is not a whole date, or of a day with a time,
    /// such as `2026-11-02 09:30:07 UTC`.
    fn date_end(&self, start: usize, end: usize) -> Option<usize> {
        /// The words after the weekday of `Mon 2 Nov 2026 09:30:07 UTC`.
        const MORE_WORDS: usize = 5;
        let date = |end: usize| DateExpr::parse(&self.text[start..end]);
        let is_longer = |next: &usize| match date(*next) {
            Some(DateExpr::Minute(..) | DateExpr::Second(..) | DateExpr::MinuteOf(..)) => true,
            found => {
                let words = self.text[end..*next].trim_start();
                match date(end) {
                    Some(first) => {
                        found.is_some() && first.may_continue(words) || first.is_before_day(words)
                    }
                    None => found.is_some(),
                }
            }
        };
        let next_end = |end: &usize| {
            let spaces = self.text[*end..].find(|c: char| !c.is_whitespace())?;
            Some(self.word_end(end + spaces)).filter(|next| next > end)
        };
        let ends = std::iter::successors(next_end(&end), next_end).take(MORE_WORDS);
        ends.filter(is_longer).last().filter(|_| end > start)
    }

    /// Finds the end of a list at `start`, such as `bounced, failed`,
    /// whose first word ends at `end`.
    fn list_end(&self, start: usize, mut end: usize) -> usize {
        while self.text[start..end].ends_with(',')
            && let Some(spaces) = self.text[end..].find(|c: char| !c.is_whitespace())
            && self.text[end + spaces..].starts_with(char::is_alphanumeric)
            && self.find_operator(end + spaces).is_none()
        {
            end = self.word_end(end + spaces);
        }
        end
    }

    fn report(&mut self, range: Range<usize>, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(range, message));
    }

    fn report_unclosed(&mut self, start: usize, message: &str) {
        self.diagnostics.push(Diagnostic {
            is_incomplete: true,
            ..Diagnostic::new(start..start + 1, message)
        });
    }
}

/// Returns the text up to the closing quote, and the bytes that both take;
/// `None` without that quote.
///
/// A `\"` that would leave the text without a closing quote ends it, as in `"C:\temp\"`.
fn unquote(inside: &str) -> (String, Option<usize>) {
    let unescaped = unescape(inside);
    let ends_word = |rest: &str| !rest.starts_with(|c: char| !c.is_whitespace() && c != ')');
    match inside.split_once('"') {
        Some((text, rest)) if unescaped.1.is_none() && ends_word(rest) => {
            (text.to_owned(), Some(text.len() + 1))
        }
        _ => unescaped,
    }
}

/// Returns the text up to the typographic quote that closes it, and the bytes that both
/// take; `None` without that quote. An apostrophe closes nothing.
fn unquote_typographic(inside: &str, closing: &[char]) -> Option<(String, Option<usize>)> {
    let (text, quote) = inside.match_indices(closing).find_map(|(at, quote)| {
        let after = &inside[at + quote.len()..];
        (!after.starts_with(char::is_alphanumeric)).then_some((&inside[..at], quote))
    })?;
    Some((text.to_owned(), Some(text.len() + quote.len())))
}

/// Returns the text up to the first quote without a backslash before it, unescaped,
/// and the bytes that both take; `None` without that quote.
fn unescape(inside: &str) -> (String, Option<usize>) {
    let mut text = String::new();
    let mut chars = inside.char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        match c {
            '"' => return (text, Some(offset + 1)),
            '\\' => {
                let escaped = chars.next_if(|(_, next)| matches!(next, '"' | '\\'));
                text.push(escaped.map_or(c, |(_, escaped)| escaped));
            }
            _ => text.push(c),
        }
    }
    (text, None)
}
