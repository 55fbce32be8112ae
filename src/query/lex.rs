//! Cuts the text of a query into tokens; what cannot be syntax comes out as a word.

use std::ops::Range;

use super::{Diagnostic, Operator};

/// Brackets nested deeper than this are text, so that no input can exhaust the stack.
const MAX_DEPTH: usize = 40;

/// A piece of the text. Tokens are in order and only blanks lie between them.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) range: Range<usize>,
    pub(super) kind: TokenKind,
}

#[derive(Debug, PartialEq)]
pub(super) enum TokenKind {
    /// A bracket that opens a group, which is not empty.
    OpenParen,
    /// A bracket that closes an open group.
    CloseParen,
    /// A `-` directly in front of what it negates.
    Minus,
    /// A word without quotes: perhaps a connective.
    Word,
    /// A word that looks like syntax; a note says why it is none.
    InvalidSyntax,
    /// What stands in quotes, without them and unescaped.
    Quoted(String),
    /// An operator with its value, which is not empty.
    Operator(Operator, OperatorValue),
}

/// What stands after the colon.
#[derive(Debug, PartialEq)]
pub(super) struct OperatorValue {
    /// Where, with its quotes.
    pub(super) range: Range<usize>,
    /// Without quotes and unescaped.
    pub(super) text: String,
}

/// Cuts `text`, and says what in it looks like syntax but is not.
pub(super) fn lex(text: &str) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut lexer = Lexer {
        text,
        open_parens: Vec::new(),
        diagnostics: Vec::new(),
    };
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(blanks) = text[at..].find(|c: char| !c.is_whitespace()) {
        at += blanks;
        let (end, kind) = lexer.lex_token(at);
        tokens.push(Token {
            range: at..end,
            kind,
        });
        at = end;
    }
    for open in std::mem::take(&mut lexer.open_parens) {
        lexer.report_unclosed(open, "this bracket is not closed; it reaches to the end");
    }
    (tokens, lexer.diagnostics)
}

struct Lexer<'a> {
    text: &'a str,
    /// Where the groups begin that are still open.
    open_parens: Vec<usize>,
    diagnostics: Vec<Diagnostic>,
}

/// A quoted stretch of text.
struct QuotedText {
    end: usize,
    text: String,
    is_closed: bool,
}

impl Lexer<'_> {
    fn lex_token(&mut self, at: usize) -> (usize, TokenKind) {
        let rest = &self.text[at..];
        let mut chars = rest.chars();
        let first = chars.next().expect("a token begins at a character");
        match first {
            '(' => self.lex_paren(at),
            ')' if self.open_parens.pop().is_some() => (at + 1, TokenKind::CloseParen),
            ')' => {
                self.report(
                    at..at + 1,
                    "this bracket closes nothing; it is looked for as text",
                );
                (self.word_end(at), TokenKind::InvalidSyntax)
            }
            '-' if chars
                .next()
                .is_some_and(|next| !next.is_whitespace() && !matches!(next, '-' | ')')) =>
            {
                (at + 1, TokenKind::Minus)
            }
            '"' => match self.lex_quoted(at) {
                Some(quote) => (quote.end, TokenKind::Quoted(quote.text)),
                None => (self.word_end(at), TokenKind::Word),
            },
            _ => match self.find_operator(at) {
                Some((operator, start)) => self.lex_operator(operator, at, start),
                None => (self.word_end(at), TokenKind::Word),
            },
        }
    }

    fn lex_paren(&mut self, at: usize) -> (usize, TokenKind) {
        let inside = self.text[at + 1..].trim_start();
        if let Some(after) = inside.strip_prefix(')') {
            self.report(
                at..self.text.len() - after.len(),
                "nothing is in these brackets; they are looked for as text",
            );
            return (self.text.len() - after.len(), TokenKind::InvalidSyntax);
        }
        if inside.is_empty() || self.open_parens.len() == MAX_DEPTH {
            self.report(
                at..at + 1,
                "this bracket opens nothing; it is looked for as text",
            );
            return (self.word_end(at), TokenKind::InvalidSyntax);
        }
        self.open_parens.push(at);
        (at + 1, TokenKind::OpenParen)
    }

    /// The operator that is named `at`, and where its value begins.
    fn find_operator(&self, at: usize) -> Option<(Operator, usize)> {
        let rest = &self.text[at..];
        let colon = rest.find(|c: char| !c.is_ascii_alphabetic() && c != '-')?;
        let operator = Operator::from_name(&rest[..colon])?;
        rest[colon..]
            .starts_with(':')
            .then_some((operator, at + colon + 1))
    }

    /// An operator with its value, or a word if there is none.
    fn lex_operator(&mut self, operator: Operator, at: usize, start: usize) -> (usize, TokenKind) {
        let bare = start..self.word_end(start);
        let head = match (operator, self.text[bare.clone()].split_once('=')) {
            (Operator::Tag, Some((name, _))) if !name.starts_with('"') => start + name.len() + 1,
            _ => start,
        };
        if let Some(quote) = self.lex_quoted(head) {
            let text = self.text[start..head].to_owned() + &quote.text;
            return (
                quote.end,
                TokenKind::Operator(
                    operator,
                    OperatorValue {
                        range: start..quote.end,
                        text,
                    },
                ),
            );
        }
        if bare.is_empty() || self.text[start..].starts_with('"') {
            let (name, example) = (operator.name(), operator.example());
            self.report(at..start, &format!("`{name}:` needs a value right after the colon, as in {example}; until then it is a word"));
            return (bare.end, TokenKind::InvalidSyntax);
        }
        let text = self.text[bare.clone()].to_owned();
        (
            bare.end,
            TokenKind::Operator(operator, OperatorValue { range: bare, text }),
        )
    }

    /// The quoted text that begins `at`, if there is a quote and something in it.
    fn lex_quoted(&mut self, at: usize) -> Option<QuotedText> {
        let inside = self.text[at..].strip_prefix('"')?;
        let quote = unquote(inside, at + 1);
        if quote.text.trim().is_empty() {
            return None;
        }
        if !quote.is_closed {
            self.report_unclosed(at, "this quote is not closed; it reaches to the end");
        }
        Some(quote)
    }

    /// Where the word ends that begins `at`: at a blank, or at the bracket that closes a group.
    /// Brackets that open within the word are its own.
    fn word_end(&self, at: usize) -> usize {
        let mut own = 0_usize;
        for (offset, c) in self.text[at..].char_indices() {
            match c {
                '(' => own += 1,
                ')' if own > 0 => own -= 1,
                ')' if !self.open_parens.is_empty() => return at + offset,
                c if c.is_whitespace() => return at + offset,
                _ => {}
            }
        }
        self.text.len()
    }

    fn report(&mut self, range: Range<usize>, words: &str) {
        self.diagnostics.push(Diagnostic {
            range,
            message: words.to_owned(),
            is_incomplete: false,
        });
    }

    fn report_unclosed(&mut self, at: usize, words: &str) {
        self.diagnostics.push(Diagnostic {
            range: at..at + 1,
            message: words.to_owned(),
            is_incomplete: true,
        });
    }
}

fn unquote(inside: &str, start: usize) -> QuotedText {
    let mut text = String::new();
    let mut chars = inside.char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        match c {
            '"' => {
                return QuotedText {
                    end: start + offset + 1,
                    text,
                    is_closed: true,
                };
            }
            '\\' => {
                let escaped = chars.next_if(|(_, next)| matches!(next, '"' | '\\'));
                text.push(escaped.map_or(c, |(_, escaped)| escaped));
            }
            _ => text.push(c),
        }
    }
    QuotedText {
        end: start + inside.len(),
        text,
        is_closed: false,
    }
}
