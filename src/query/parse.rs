//! Text to query. It never fails: what is not syntax is a word, and a note says why.

use std::ops::Range;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::lex::{OperatorValue, Token, TokenKind, lex};
use super::value::{self, ParsedValue};
use super::{Node, Operator, Query, SearchText, SortOrder, Term};

/// What the meaning of a text depends on.
#[derive(Debug, Clone)]
pub struct ParseContext {
    /// The time, in the zone in which the person counts days.
    pub(crate) now: Zoned,
}

impl ParseContext {
    /// The instant `now` as seen in `zone`.
    #[must_use]
    pub fn new(now: Timestamp, zone: TimeZone) -> Self {
        Self {
            now: now.to_zoned(zone),
        }
    }
}

/// A text that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedQuery {
    /// What it means.
    pub query: Query,
    /// What each part of the text is, in order; only blanks lie between them.
    pub(crate) spans: Vec<SyntaxSpan>,
    /// What is not read as it may be meant, in order. A command that destroys something should
    /// refuse a query with notes.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl ParsedQuery {
    /// What is wrong where the cursor is; it also counts as in a range when it is right behind it.
    #[must_use]
    pub(crate) fn diagnostic_at(&self, cursor: usize) -> Option<&Diagnostic> {
        self.diagnostics
            .iter()
            .find(|note| note.range.start <= cursor && cursor <= note.range.end)
    }
}

/// A stretch of the text and how to colour it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxSpan {
    /// Its bytes.
    pub(crate) range: Range<usize>,
    /// What it is.
    pub(crate) role: SyntaxRole,
}

/// What a stretch of the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyntaxRole {
    /// The name of an operator with its colon.
    Operator,
    /// What the operator looks for.
    Value,
    /// A word or a quoted phrase.
    Word,
    /// `and`, `or`, `not`, `-` or a bracket.
    Keyword,
    /// What is not read as it may be meant; a [`Note`] says why.
    Error,
}

/// Something that is not read as it may be meant, in words for the person who typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The bytes of the text that it is about.
    pub(crate) range: Range<usize>,
    /// A message without a capital and a full stop, safe to show.
    pub(crate) message: String,
    /// Whether it may come right when the text goes on: a hint for who still types, and no mistake.
    pub(crate) is_incomplete: bool,
}

/// Reads `text`.
#[must_use]
pub fn parse(text: &str, context: &ParseContext) -> ParsedQuery {
    let (tokens, notes) = lex(text);
    let mut parser = Parser {
        text,
        now: &context.now,
        tokens,
        position: 0,
        spans: Vec::new(),
        diagnostics: notes,
        sort: SortOrder::default(),
    };
    let filter = parser
        .parse_or()
        .unwrap_or_else(|| Query::match_all().filter);
    let Parser {
        spans,
        diagnostics: mut notes,
        sort,
        ..
    } = parser;
    notes.sort_by_key(|note| note.range.start);
    for note in &mut notes {
        note.is_incomplete |= note.range.end == text.len();
    }
    ParsedQuery {
        query: Query { filter, sort },
        spans,
        diagnostics: notes,
    }
}

struct Parser<'a> {
    text: &'a str,
    now: &'a Zoned,
    tokens: Vec<Token>,
    position: usize,
    spans: Vec<SyntaxSpan>,
    diagnostics: Vec<Diagnostic>,
    sort: SortOrder,
}

impl Parser<'_> {
    /// What stands in brackets, or the whole text: sides between `or`. `None` if there is no
    /// condition in it, as in `sort:oldest`.
    fn parse_or(&mut self) -> Option<Node> {
        let mut sides = Vec::from_iter(self.parse_and());
        while self.is_keyword("or") {
            self.consume(SyntaxRole::Keyword);
            sides.extend(self.parse_and());
        }
        if sides.is_empty() {
            None
        } else {
            Some(Node::any(sides))
        }
    }

    /// Operands side by side.
    fn parse_and(&mut self) -> Option<Node> {
        let mut nodes = Vec::from_iter(self.parse_not());
        loop {
            if self.is_keyword("and") {
                self.consume(SyntaxRole::Keyword);
            } else if !self.starts_operand(self.position) || self.is_keyword("or") {
                break;
            }
            nodes.extend(self.parse_not());
        }
        if nodes.is_empty() {
            None
        } else {
            Some(Node::all(nodes))
        }
    }

    /// One condition with the negations in front of it.
    fn parse_not(&mut self) -> Option<Node> {
        let mut negated = false;
        let mut dashed = false;
        loop {
            if self.tokens.get(self.position)?.kind == TokenKind::Minus {
                dashed = true;
            } else if dashed || !self.is_keyword("not") {
                break;
            }
            self.consume(SyntaxRole::Keyword);
            negated = !negated;
        }
        let node = self.parse_atom()?;
        Some(if negated { node.negated() } else { node })
    }

    fn parse_atom(&mut self) -> Option<Node> {
        let token = self.tokens.get(self.position)?;
        let range = token.range.clone();
        match &token.kind {
            TokenKind::OpenParen => {
                self.consume(SyntaxRole::Keyword);
                let node = self.parse_or();
                if self
                    .tokens
                    .get(self.position)
                    .is_some_and(|token| token.kind == TokenKind::CloseParen)
                {
                    self.consume(SyntaxRole::Keyword);
                }
                node
            }
            TokenKind::Quoted(text) => {
                let word = text.clone();
                self.parse_word(range, &word, SyntaxRole::Word)
            }
            TokenKind::Operator(operator, OperatorValue { range, text }) => {
                let (operator, range, text) = (*operator, range.clone(), text.clone());
                self.parse_operator(operator, range, &text)
            }
            // The others do not stand here: a group is closed by whoever opened it, and a minus was
            // taken with what it negates.
            TokenKind::Word | TokenKind::CloseParen | TokenKind::Minus => {
                self.parse_word(range.clone(), &self.text[range], SyntaxRole::Word)
            }
            TokenKind::InvalidSyntax => {
                self.parse_word(range.clone(), &self.text[range], SyntaxRole::Error)
            }
        }
    }

    fn parse_word(&mut self, range: Range<usize>, word: &str, role: SyntaxRole) -> Option<Node> {
        let Some(needle) = SearchText::new(word) else {
            self.diagnostics.push(Diagnostic {
                range,
                message: "nothing here can be looked for".to_owned(),
                is_incomplete: false,
            });
            self.consume(SyntaxRole::Error);
            return None;
        };
        self.consume(role);
        Some(Node::Term(Term::Word(needle)))
    }

    fn parse_operator(
        &mut self,
        operator: Operator,
        value: Range<usize>,
        text: &str,
    ) -> Option<Node> {
        let token = self.tokens[self.position].range.clone();
        self.position += 1;
        self.spans.push(SyntaxSpan {
            range: token.start..value.start,
            role: SyntaxRole::Operator,
        });
        let note = |words| Diagnostic {
            range: value.clone(),
            message: words,
            is_incomplete: false,
        };
        let (node, notes) = match value::parse_value(operator, text, self.now) {
            Ok(ParsedValue::Sort(sort)) => {
                self.sort = sort;
                (None, Vec::new())
            }
            Ok(ParsedValue::Term(term)) => {
                let notes = value::status_warnings(&term, note);
                (Some(Node::Term(term)), notes)
            }
            Err(words) => {
                let word = SearchText::new(&self.text[token]);
                (
                    word.map(|needle| Node::Term(Term::Word(needle))),
                    vec![note(words)],
                )
            }
        };
        let role = if notes.is_empty() {
            SyntaxRole::Value
        } else {
            SyntaxRole::Error
        };
        self.spans.push(SyntaxSpan { range: value, role });
        self.diagnostics.extend(notes);
        node
    }

    /// Whether the token here is this connective and has something to connect: a dangling one is a
    /// word.
    fn is_keyword(&self, word: &str) -> bool {
        let Some(token) = self.tokens.get(self.position) else {
            return false;
        };
        token.kind == TokenKind::Word
            && self.text[token.range.clone()].eq_ignore_ascii_case(word)
            && self.starts_operand(self.position + 1)
    }

    fn starts_operand(&self, at: usize) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| token.kind != TokenKind::CloseParen)
    }

    fn consume(&mut self, role: SyntaxRole) {
        self.spans.push(SyntaxSpan {
            range: self.tokens[self.position].range.clone(),
            role,
        });
        self.position += 1;
    }
}
