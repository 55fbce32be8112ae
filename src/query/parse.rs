//! Parser from text to query. It never fails: what is not syntax is a word, and a diagnostic says why.

use std::ops::Range;

use super::ast::{Field, Node, Query, SortOrder, Term};
use super::date::DateExpr;
use super::normalize::SearchText;
use super::operators::{
    NO_TEXT, Operator, ParseContext, ParsedValue, near_operator, parse_value, status_warnings,
};
use crate::mail::Status;

/// Groups nested deeper than this are text, so that no input can exhaust the stack.
const MAX_DEPTH: usize = 40;

/// A query with the syntax of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedQuery {
    /// What the text means.
    pub query: Query,
    /// The parts of the text, in order; only spaces lie between them.
    pub(crate) spans: Vec<SyntaxSpan>,
    /// Messages in order of the text. A command that deletes should refuse such a query.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl ParsedQuery {
    /// Finds the diagnostic at the cursor; right behind its range counts too.
    pub(crate) fn diagnostic_at(&self, cursor: usize) -> Option<&Diagnostic> {
        self.diagnostics
            .iter()
            .find(|diagnostic| diagnostic.range.start <= cursor && cursor <= diagnostic.range.end)
    }
}

/// A part of the text and its role, for highlighting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxSpan {
    pub(crate) range: Range<usize>,
    pub(crate) role: SyntaxRole,
}

/// What a part of the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyntaxRole {
    /// The name of an operator with its colon.
    Operator,
    /// The value of an operator.
    Value,
    /// A word or a quoted phrase.
    Word,
    /// `and`, `or`, `not`, `-` or a parenthesis.
    Keyword,
    /// Text that may be misread; a [`Diagnostic`] says why.
    Error,
}

/// A message about text that may be misread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The bytes that it is about.
    pub(crate) range: Range<usize>,
    /// Without a capital and a full stop, safe to show.
    pub(crate) message: String,
    /// Whether more text may resolve it: a hint while the user types, not an error.
    pub(crate) is_incomplete: bool,
    /// Set if it is about the value of an operator.
    pub(crate) value: Option<InvalidValue>,
}

impl Diagnostic {
    /// The message with the part of `text` that it is about: `is:bounce: no status of that name`.
    pub(crate) fn describe(&self, text: &str) -> String {
        let part = text.get(self.range.clone()).unwrap_or_default();
        format!("{part}: {}", self.message)
    }
}

/// A value that an operator does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InvalidValue {
    /// It has no meaning there, such as a date that does not exist.
    Impossible,
    /// The service may have this status all the same.
    UnknownStatus(Status),
    /// The same in quotes: it is meant.
    QuotedStatus,
}

impl Diagnostic {
    fn new(range: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            range,
            message: message.into(),
            is_incomplete: false,
            value: None,
        }
    }
}

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
            Some('"') => match self.lex_quoted(start) {
                Some((end, text)) => (end, TokenKind::Quoted(text)),
                None => (self.word_end(start), TokenKind::Word),
            },
            _ => match self.find_operator(start) {
                Some((operator, value)) => self.lex_operator(operator, start, value),
                None => (self.word_end(start), TokenKind::Word),
            },
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
    fn find_operator(&self, start: usize) -> Option<(Operator, usize)> {
        let rest = &self.text[start..];
        let colon = rest.find(|c: char| !c.is_ascii_alphabetic() && c != '-')?;
        let operator = Operator::from_name(&rest[..colon])?;
        rest[colon..]
            .starts_with(':')
            .then_some((operator, start + colon + 1))
    }

    /// Reads an operator with its value, or a word if there is no value.
    fn lex_operator(
        &mut self,
        operator: Operator,
        start: usize,
        value_start: usize,
    ) -> (usize, TokenKind) {
        let word_end = self.word_end(value_start);
        let date_end = self
            .date_end(value_start, word_end)
            .filter(|_| operator.takes_date());
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
            let (name, example) = (operator.name(), operator.example());
            self.report(
                start..value_start,
                format!("`{name}:` needs a value, for example {example}: searched for as text"),
            );
            return (bare.end, TokenKind::InvalidSyntax);
        } else {
            (bare.clone(), self.text[bare].to_owned())
        };
        (
            range.end,
            TokenKind::Operator(operator, OperatorValue { range, text }),
        )
    }

    /// Reads the quoted text at `start`, if there is any that is not empty; returns its end too.
    fn lex_quoted(&mut self, start: usize) -> Option<(usize, String)> {
        let inside = self.text[start..].strip_prefix('"')?;
        let (text, len) = unquote(inside);
        if text.trim().is_empty() {
            return None;
        }
        if len.is_none() {
            self.report_unclosed(start, "missing closing quote: the text extends to the end");
        }
        Some((len.map_or(self.text.len(), |len| start + 1 + len), text))
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

    /// Finds the end of a date of several words at `start`, such as `2 Nov`, whose first word ends at `end`
    /// and is no date but a weekday, or of a day with a time, such as `2026-11-02 09:30:07 UTC`.
    fn date_end(&self, start: usize, end: usize) -> Option<usize> {
        /// The words after the weekday of `Mon 2 Nov 2026 09:30:07 UTC`.
        const MORE_WORDS: usize = 5;
        let date = |end: usize| DateExpr::parse(&self.text[start..end]);
        let is_longer = |next: &usize| match date(*next) {
            Some(DateExpr::Minute(..) | DateExpr::Second(..) | DateExpr::MinuteOf(..)) => true,
            found => found.is_some() && matches!(date(end), None | Some(DateExpr::Weekday(_))),
        };
        let next_end = |end: &usize| {
            let spaces = self.text[*end..].find(|c: char| !c.is_whitespace())?;
            Some(self.word_end(end + spaces)).filter(|next| next > end)
        };
        let ends = std::iter::successors(next_end(&end), next_end).take(MORE_WORDS);
        ends.filter(is_longer).last().filter(|_| end > start)
    }

    /// Finds the end of a list at `start`, such as `bounced, failed`, whose first word ends at `end`.
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

/// Returns the text up to the closing quote, and the bytes that both take; `None` without that quote.
fn unquote(inside: &str) -> (String, Option<usize>) {
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

/// Parses `text`.
#[must_use]
pub fn parse(text: &str, context: &ParseContext) -> ParsedQuery {
    let (tokens, mut diagnostics) = lex(text);
    diagnostics.extend(sentence_hint(text, &tokens));
    diagnostics.extend(address_list_hint(text, &tokens));
    let mut parser = Parser {
        text,
        context,
        tokens,
        position: 0,
        spans: Vec::new(),
        diagnostics,
        sort: SortOrder::default(),
    };
    let filter = parser
        .parse_or()
        .unwrap_or_else(|| Query::match_all().filter);
    let mut diagnostics = parser.diagnostics;
    diagnostics.sort_by_key(|diagnostic| diagnostic.range.start);
    for diagnostic in &mut diagnostics {
        diagnostic.is_incomplete |= diagnostic.range.end == text.len();
    }
    ParsedQuery {
        query: Query {
            filter,
            sort: parser.sort,
        },
        spans: parser.spans,
        diagnostics,
    }
}

/// Splits addresses at commas; a value without any is one address.
fn split_list(text: &str) -> Vec<&str> {
    let parts = text.split(',').map(str::trim);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    if parts.len() < 2 { vec![text] } else { parts }
}

/// Says that one email must match all of several addresses, such as pasted ones.
fn address_list_hint(text: &str, tokens: &[Token]) -> Option<Diagnostic> {
    let is_address = |token: &Token| match &token.kind {
        TokenKind::Word => text[token.range.clone()].contains('@'),
        TokenKind::Operator(operator, _) => *operator == Operator::Text(Field::To),
        _ => false,
    };
    let is_list = tokens.len() > 1 && tokens.iter().all(is_address);
    let mut words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
    let last = words.next_back().filter(|_| is_list)?;
    let range = tokens.first()?.range.start..last.range.end;
    let message = "one email must match all of these; to:A,B,C finds mail to any of them";
    Some(Diagnostic::new(range, message))
}

/// Offers operators for words such as `bounced since yesterday`, which are searched for as words.
fn sentence_hint(text: &str, tokens: &[Token]) -> Option<Diagnostic> {
    let is_word = |token: &Token| token.kind == TokenKind::Word;
    if !tokens.iter().all(is_word) || text.contains(char::is_control) {
        return None;
    }
    let words = tokens
        .iter()
        .map(|token| text[token.range.clone()].to_lowercase());
    let words: Vec<String> = words.collect();
    let (mut parts, mut has_status, mut has_date, mut has_other) =
        (Vec::new(), false, false, false);
    let mut rest = words.iter().map(String::as_str).peekable();
    while let Some(word) = rest.next() {
        let operator = match word {
            "since" | "after" => Some("after"),
            "before" | "until" => Some("before"),
            "on" => Some("on"),
            _ => None,
        };
        let date = |word: &str| DateExpr::parse(word).is_some();
        if let Some((operator, next)) = operator.zip(rest.next_if(|next| date(next))) {
            has_date = true;
            parts.push(format!("{operator}:{next}"));
        } else if Status::KNOWN.iter().any(|status| status.label() == word) {
            has_status = true;
            parts.push(format!("status:{word}"));
        } else if matches!(word, "and" | "or" | "not") {
            parts.push(word.to_owned());
        } else if date(word) {
            parts.push(format!("on:{word}"));
        } else {
            has_other = true;
            parts.push(word.to_owned());
        }
    }
    let is_sentence = has_date || (has_status && !has_other);
    let range = tokens.first()?.range.start..tokens.last()?.range.end;
    is_sentence.then(|| {
        let query = parts.join(" ");
        Diagnostic::new(
            range,
            format!("searched for as words: did you mean {query}?"),
        )
    })
}

struct Parser<'a> {
    text: &'a str,
    context: &'a ParseContext,
    tokens: Vec<Token>,
    position: usize,
    spans: Vec<SyntaxSpan>,
    diagnostics: Vec<Diagnostic>,
    sort: SortOrder,
}

impl Parser<'_> {
    /// Parses a group or the whole text: operands of `or`.
    /// Returns `None` if there is no condition in it, as in `sort:oldest`.
    fn parse_or(&mut self) -> Option<Node> {
        let mut nodes = Vec::from_iter(self.parse_and());
        while self.is_keyword("or") {
            self.consume(SyntaxRole::Keyword);
            nodes.extend(self.parse_and());
        }
        (!nodes.is_empty()).then(|| Node::any(nodes))
    }

    /// Parses operands side by side.
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
        (!nodes.is_empty()).then(|| Node::all(nodes))
    }

    /// Parses one condition with the negations in front of it.
    fn parse_not(&mut self) -> Option<Node> {
        let mut negated = false;
        let mut has_minus = false;
        loop {
            if self.tokens.get(self.position)?.kind == TokenKind::Minus {
                has_minus = true;
            } else if has_minus || !self.is_keyword("not") {
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
                let next = self.tokens.get(self.position);
                if next.is_some_and(|token| token.kind == TokenKind::CloseParen) {
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
            // The other two cannot be here: the group that is open takes its `)`, and a minus was
            // taken with its operand.
            TokenKind::Word | TokenKind::CloseParen | TokenKind::Minus => {
                self.parse_word(range.clone(), &self.text[range], SyntaxRole::Word)
            }
            TokenKind::InvalidSyntax => {
                self.parse_word(range.clone(), &self.text[range], SyntaxRole::Error)
            }
        }
    }

    fn parse_word(&mut self, range: Range<usize>, word: &str, role: SyntaxRole) -> Option<Node> {
        let Some(word) = SearchText::new(word) else {
            self.diagnostics.push(Diagnostic::new(range, NO_TEXT));
            self.consume(SyntaxRole::Error);
            return None;
        };
        if role == SyntaxRole::Word
            && let Some(message) = near_operator(&self.text[range.clone()])
        {
            self.diagnostics.push(Diagnostic::new(range, message));
        }
        self.consume(role);
        Some(Node::Term(Term::Word(word)))
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
        let is_quoted = self.text[value.clone()].starts_with('"');
        let values = if operator.takes_addresses() && !is_quoted {
            split_list(text)
        } else {
            vec![text]
        };
        let parse = |value| parse_value(operator, value, self.context);
        let values: Result<Vec<ParsedValue>, String> = values.into_iter().map(parse).collect();
        let (node, messages) = match values {
            Ok(values) => {
                let (mut nodes, mut messages) = (Vec::new(), Vec::new());
                for value in values {
                    let term = match value {
                        ParsedValue::Sort(sort) => {
                            self.sort = sort;
                            continue;
                        }
                        ParsedValue::Term(term) => term,
                    };
                    for (status, message) in status_warnings(&term) {
                        let invalid = if is_quoted {
                            InvalidValue::QuotedStatus
                        } else {
                            InvalidValue::UnknownStatus(status)
                        };
                        messages.push((message, invalid));
                    }
                    nodes.push(Node::Term(term));
                }
                ((!nodes.is_empty()).then(|| Node::any(nodes)), messages)
            }
            Err(message) => {
                let word = SearchText::new(&self.text[token]);
                let messages = vec![(message, InvalidValue::Impossible)];
                (word.map(|word| Node::Term(Term::Word(word))), messages)
            }
        };
        let role = if messages.is_empty() {
            SyntaxRole::Value
        } else {
            SyntaxRole::Error
        };
        let diagnostics = messages.into_iter().map(|(message, invalid)| Diagnostic {
            value: Some(invalid),
            ..Diagnostic::new(value.clone(), message)
        });
        self.diagnostics.extend(diagnostics);
        self.spans.push(SyntaxSpan { range: value, role });
        node
    }

    /// Checks whether the token is this keyword with an operand, and so no word.
    fn is_keyword(&self, keyword: &str) -> bool {
        let Some(token) = self.tokens.get(self.position) else {
            return false;
        };
        token.kind == TokenKind::Word
            && self.text[token.range.clone()].eq_ignore_ascii_case(keyword)
            && self.starts_operand(self.position + 1)
    }

    fn starts_operand(&self, position: usize) -> bool {
        self.tokens
            .get(position)
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
