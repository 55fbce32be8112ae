//! Cuts the text of a query into tokens; what cannot be syntax comes out as a word.

use std::ops::Range;

use super::{Note, Operator};

/// Brackets nested deeper than this are text, so that no input can exhaust the stack.
const MAX_DEPTH: usize = 40;

/// A piece of the text. Tokens are in order and only blanks lie between them.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    /// A bracket that opens a group, which is not empty.
    Open,
    /// A bracket that closes an open group.
    Close,
    /// A `-` directly in front of what it negates.
    Minus,
    /// A word without quotes: perhaps a connective.
    Bare,
    /// A word that looks like syntax; a note says why it is none.
    Misread,
    /// What stands in quotes, without them and unescaped.
    Quoted(String),
    /// An operator with its value, which is not empty.
    Operator(Operator, Value),
}

/// What stands after the colon.
#[derive(Debug, PartialEq)]
pub(super) struct Value {
    /// Where, with its quotes.
    pub(super) range: Range<usize>,
    /// Without quotes and unescaped.
    pub(super) text: String,
}

/// Cuts `text`, and says what in it looks like syntax but is not.
pub(super) fn lex(text: &str) -> (Vec<Token>, Vec<Note>) {
    let mut lexer = Lexer {
        text,
        open: Vec::new(),
        notes: Vec::new(),
    };
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(blanks) = text[at..].find(|c: char| !c.is_whitespace()) {
        at += blanks;
        let (end, kind) = lexer.token(at);
        tokens.push(Token {
            range: at..end,
            kind,
        });
        at = end;
    }
    for open in std::mem::take(&mut lexer.open) {
        lexer.unclosed(open, "this bracket is not closed; it reaches to the end");
    }
    (tokens, lexer.notes)
}

struct Lexer<'a> {
    text: &'a str,
    /// Where the groups begin that are still open.
    open: Vec<usize>,
    notes: Vec<Note>,
}

/// A quoted stretch of text.
struct Quote {
    end: usize,
    text: String,
    closed: bool,
}

impl Lexer<'_> {
    fn token(&mut self, at: usize) -> (usize, Kind) {
        let rest = &self.text[at..];
        let mut chars = rest.chars();
        let first = chars.next().expect("a token begins at a character");
        match first {
            '(' => self.bracket(at),
            ')' if self.open.pop().is_some() => (at + 1, Kind::Close),
            ')' => {
                self.note(
                    at..at + 1,
                    "this bracket closes nothing; it is looked for as text",
                );
                (self.bare_end(at), Kind::Misread)
            }
            '-' if chars
                .next()
                .is_some_and(|next| !next.is_whitespace() && !matches!(next, '-' | ')')) =>
            {
                (at + 1, Kind::Minus)
            }
            '"' => match self.quote(at) {
                Some(quote) => (quote.end, Kind::Quoted(quote.text)),
                None => (self.bare_end(at), Kind::Bare),
            },
            _ => match self.operator_at(at) {
                Some((operator, start)) => self.operated(operator, at, start),
                None => (self.bare_end(at), Kind::Bare),
            },
        }
    }

    fn bracket(&mut self, at: usize) -> (usize, Kind) {
        let inside = self.text[at + 1..].trim_start();
        if let Some(after) = inside.strip_prefix(')') {
            self.note(
                at..self.text.len() - after.len(),
                "nothing is in these brackets; they are looked for as text",
            );
            return (self.text.len() - after.len(), Kind::Misread);
        }
        if inside.is_empty() || self.open.len() == MAX_DEPTH {
            self.note(
                at..at + 1,
                "this bracket opens nothing; it is looked for as text",
            );
            return (self.bare_end(at), Kind::Misread);
        }
        self.open.push(at);
        (at + 1, Kind::Open)
    }

    /// The operator that is named `at`, and where its value begins.
    fn operator_at(&self, at: usize) -> Option<(Operator, usize)> {
        let rest = &self.text[at..];
        let colon = rest.find(|c: char| !c.is_ascii_alphabetic() && c != '-')?;
        let operator = Operator::named(&rest[..colon])?;
        rest[colon..]
            .starts_with(':')
            .then_some((operator, at + colon + 1))
    }

    /// An operator with its value, or a word if there is none.
    fn operated(&mut self, operator: Operator, at: usize, start: usize) -> (usize, Kind) {
        let bare = start..self.bare_end(start);
        let head = match (operator, self.text[bare.clone()].split_once('=')) {
            (Operator::Tag, Some((name, _))) if !name.starts_with('"') => start + name.len() + 1,
            _ => start,
        };
        if let Some(quote) = self.quote(head) {
            let text = self.text[start..head].to_owned() + &quote.text;
            return (
                quote.end,
                Kind::Operator(
                    operator,
                    Value {
                        range: start..quote.end,
                        text,
                    },
                ),
            );
        }
        if bare.is_empty() || self.text[start..].starts_with('"') {
            let (name, example) = (operator.name(), operator.example());
            self.note(at..start, &format!("`{name}:` needs a value right after the colon, as in {example}; until then it is a word"));
            return (bare.end, Kind::Misread);
        }
        let text = self.text[bare.clone()].to_owned();
        (
            bare.end,
            Kind::Operator(operator, Value { range: bare, text }),
        )
    }

    /// The quoted text that begins `at`, if there is a quote and something in it.
    fn quote(&mut self, at: usize) -> Option<Quote> {
        let inside = self.text[at..].strip_prefix('"')?;
        let quote = unquote(inside, at + 1);
        if quote.text.trim().is_empty() {
            return None;
        }
        if !quote.closed {
            self.unclosed(at, "this quote is not closed; it reaches to the end");
        }
        Some(quote)
    }

    /// Where the word ends that begins `at`: at a blank, or at the bracket that closes a group.
    /// Brackets that open within the word are its own.
    fn bare_end(&self, at: usize) -> usize {
        let mut own = 0_usize;
        for (offset, c) in self.text[at..].char_indices() {
            match c {
                '(' => own += 1,
                ')' if own > 0 => own -= 1,
                ')' if !self.open.is_empty() => return at + offset,
                c if c.is_whitespace() => return at + offset,
                _ => {}
            }
        }
        self.text.len()
    }

    fn note(&mut self, range: Range<usize>, words: &str) {
        self.notes.push(Note {
            range,
            words: words.to_owned(),
            unfinished: false,
        });
    }

    fn unclosed(&mut self, at: usize, words: &str) {
        self.notes.push(Note {
            range: at..at + 1,
            words: words.to_owned(),
            unfinished: true,
        });
    }
}

fn unquote(inside: &str, start: usize) -> Quote {
    let mut text = String::new();
    let mut chars = inside.char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        match c {
            '"' => {
                return Quote {
                    end: start + offset + 1,
                    text,
                    closed: true,
                };
            }
            '\\' => {
                let escaped = chars.next_if(|(_, next)| matches!(next, '"' | '\\'));
                text.push(escaped.map_or(c, |(_, escaped)| escaped));
            }
            _ => text.push(c),
        }
    }
    Quote {
        end: start + inside.len(),
        text,
        closed: false,
    }
}
