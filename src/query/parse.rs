//! Parser from text to query. It never fails:
//! what is not syntax is a word, and a diagnostic says why.

use std::ops::Range;

use super::ast::{Field, Node, Query, SortOrder, Term, TimeOperator};
use super::date::{DateExpr, NamedDay};
use super::diagnostic::{Diagnostic, InvalidValue};
use super::headers::parse_headers;
use super::lexer::{OperatorValue, Token, TokenKind, lex};
use super::lines::{join_lines, parse_list};
use super::normalize::SearchText;
use super::operators::{
    NO_TEXT, Operator, ParseContext, ParsedValue, near_operator, parse_value, status_warnings,
};
use super::words::{is_punctuation, is_reply_prefix, trim_address, trim_part, trim_word};
use crate::mail::{SafeText, Status};

/// A query with the syntax of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedQuery {
    /// The meaning of the text.
    pub query: Query,
    /// The parts of the text, in order; only spaces lie between them.
    pub(crate) spans: Vec<SyntaxSpan>,
    /// Messages in order of the text.
    /// A command that deletes should refuse such a query.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl ParsedQuery {
    /// Finds the diagnostic at the cursor; right behind its range counts too.
    pub(crate) fn diagnostic_at(&self, cursor: usize) -> Option<&Diagnostic> {
        self.diagnostics
            .iter()
            .find(|diagnostic| diagnostic.range.start <= cursor && cursor <= diagnostic.range.end)
    }

    /// Finds the diagnostic about a value that has no meaning.
    pub(crate) fn impossible_value(&self) -> Option<&Diagnostic> {
        let mut diagnostics = self.diagnostics.iter();
        diagnostics.find(|found| found.value == Some(InvalidValue::Impossible))
    }
}

/// A part of the text and its role, for highlighting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxSpan {
    pub(crate) range: Range<usize>,
    pub(crate) role: SyntaxRole,
}

/// The role of a part of the text.
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

/// Returns the query for a pasted list or the pasted headers of an email, to be shown
/// instead of them.
///
/// Another text is `None`: its words stay words.
pub(crate) fn query_of_pasted(text: &str) -> Option<String> {
    // A minus or `or` may be in front of it.
    let headers = parse_headers(text).map(|query| {
        if query.contains(' ') {
            format!("({query})")
        } else {
            query
        }
    });
    headers.or_else(|| join_lines(text))
}

/// Parses `text`.
#[must_use]
pub fn parse(text: &str, context: &ParseContext) -> ParsedQuery {
    let Some(headers) = parse_headers(text) else {
        return parse_query(text, context);
    };
    let query = parse_query(&headers, context).query;
    let message = format!("searched for as {}", SafeText::new(&headers));
    read_as(query, message, &lex(text).0)
}

fn parse_query(text: &str, context: &ParseContext) -> ParsedQuery {
    let (tokens, mut diagnostics) = lex(text);
    if let Some(words) = parse_list(text) {
        return any_of(&words, &tokens);
    }
    diagnostics.extend(sentence_hint(text, &tokens));
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
    diagnostics.extend(empty_time_hint(&filter, &parser.tokens));
    for diagnostic in &mut diagnostics {
        diagnostic.is_incomplete |= diagnostic.range.end == text.len();
    }
    // More text changes nothing about these.
    diagnostics.extend(address_list_hint(text, &parser.tokens));
    diagnostics.extend(list_hint(text, &parser.tokens));
    diagnostics.extend(named_address_hint(text, &parser.tokens));
    diagnostics.sort_by_key(|diagnostic| diagnostic.range.start);
    ParsedQuery {
        query: Query {
            filter,
            sort: parser.sort,
        },
        spans: parser.spans,
        diagnostics,
    }
}

/// Returns the query for a list of addresses or numbers, of which any may match.
fn any_of(words: &[&str], tokens: &[Token]) -> ParsedQuery {
    let message = match words {
        [address] => format!("searched for as {address}"),
        [first, second, ..] => {
            let (first, second) = (SafeText::new(first), SafeText::new(second));
            format!(
                "one of these {} is enough, as in {first} or {second}",
                words.len()
            )
        }
        [] => String::new(),
    };
    let terms = words.iter().filter_map(|word| SearchText::new(word));
    let query = Query {
        filter: Node::any(terms.map(|word| Node::Term(Term::Word(word)))),
        sort: SortOrder::default(),
    };
    read_as(query, message, tokens)
}

/// Returns the query that the whole text means; the message says how it was read.
fn read_as(query: Query, message: String, tokens: &[Token]) -> ParsedQuery {
    let whole = tokens.first().zip(tokens.last());
    let whole = whole.map(|(first, last)| first.range.start..last.range.end);
    ParsedQuery {
        query,
        spans: tokens
            .iter()
            .map(|token| SyntaxSpan {
                range: token.range.clone(),
                role: SyntaxRole::Word,
            })
            .collect(),
        diagnostics: whole
            .map(|range| Diagnostic {
                is_incomplete: true,
                ..Diagnostic::new(range, message)
            })
            .into_iter()
            .collect(),
    }
}

/// Splits addresses at commas; a value without any is one address.
fn split_list(text: &str) -> Vec<&str> {
    let parts = text.split(',').map(str::trim);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return vec![text];
    }
    parts.into_iter().map(trim_address).collect()
}

/// Says that the name in `Ana <ana@example.com>` must match, too:
/// not all mail to an address has it.
fn named_address_hint(text: &str, tokens: &[Token]) -> Option<Diagnostic> {
    let mut pairs = tokens.windows(2);
    let pair = pairs.find(|pair| {
        let address = &text[pair[1].range.clone()];
        let is_name = matches!(pair[0].kind, TokenKind::Word | TokenKind::Quoted(_));
        is_name && address.starts_with('<') && address.contains('@')
    })?;
    let address = SafeText::new(trim_address(&text[pair[1].range.clone()]));
    let message = format!("the name must match, too: {address} alone finds all mail with it");
    Some(Diagnostic::new(
        pair[0].range.start..pair[1].range.end,
        message,
    ))
}

/// Says that one email must match two words that look like a list,
/// because the query has more than the list.
fn list_hint(text: &str, tokens: &[Token]) -> Option<Diagnostic> {
    let is_item = |word: &str| word.contains(|c: char| c == '@' || c.is_ascii_digit());
    tokens.windows(2).find_map(|pair| {
        let [first, second] = [0, 1].map(|at| &text[pair[at].range.clone()]);
        let are_words = pair.iter().all(|token| token.kind == TokenKind::Word);
        let is_list = first.ends_with([',', ';']) && is_item(first) && is_item(second);
        (are_words && is_list).then(|| {
            let [first, second] = [first, second].map(|word| SafeText::new(trim_word(word)));
            let message = format!("both must match: ({first} or {second}) finds any of them");
            Diagnostic::new(pair[0].range.start..pair[1].range.end, message)
        })
    })
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

/// Says that no time fulfils the conditions, as in `before:mon after:fri`.
fn empty_time_hint(filter: &Node, tokens: &[Token]) -> Option<Diagnostic> {
    let bounds = filter.time_bounds(true);
    bounds
        .oldest
        .zip(bounds.newest)
        .filter(|(oldest, newest)| oldest >= newest)?;
    let range = tokens.first()?.range.start..tokens.last()?.range.end;
    let message = "nothing can match: these times do not overlap";
    Some(Diagnostic::new(range, message))
}

/// Returns the longest date that words begin with, and its words.
fn first_date(words: &[String]) -> Option<(DateExpr, &[String])> {
    /// The words of `mon 2 nov 2026 09:30:07 utc`.
    const MAX_DATE_WORDS: usize = 6;
    let longest_first = (1..=MAX_DATE_WORDS).rev();
    let mut starts = longest_first.filter_map(|length| words.get(..length));
    starts.find_map(|date| Some((DateExpr::parse(&date.join(" "))?, date)))
}

/// Whether it is a day of the calendar: `2 nov`, but not `monday` or `november`.
const fn is_day(date: DateExpr) -> bool {
    matches!(
        date,
        DateExpr::Day(_) | DateExpr::Named(NamedDay::MonthDay(..))
    )
}

/// Offers operators for words such as `bounced since yesterday`,
/// which are searched for as words.
fn sentence_hint(text: &str, tokens: &[Token]) -> Option<Diagnostic> {
    /// More are a list, in which no date is looked for.
    const MAX_WORDS: usize = 24;
    let is_word = |token: &Token| token.kind == TokenKind::Word;
    let is_operator = |token: &Token| matches!(token.kind, TokenKind::Operator(..));
    let are_read = tokens
        .iter()
        .all(|token| is_word(token) || is_operator(token));
    if !are_read || tokens.len() > MAX_WORDS || text.contains(char::is_control) {
        return None;
    }
    let words = tokens.iter().map(|token| match &text[token.range.clone()] {
        word if is_word(token) => word.to_lowercase(),
        operator => operator.to_owned(),
    });
    let words: Vec<String> = words.collect();
    let (mut parts, mut has_status, mut has_date, mut has_other) =
        (Vec::new(), false, false, false);
    let mut days = 0;
    let mut rest = words.as_slice();
    while let [word, after @ ..] = rest {
        let word = word.as_str();
        let operator = match word {
            "since" | "after" => Some("after"),
            "before" | "until" => Some("before"),
            "on" => Some("on"),
            _ => None,
        };
        let (part, length) = if let Some((operator, (_, date))) = operator.zip(first_date(after)) {
            has_date = true;
            (format!("{operator}:{}", date.join(" ")), 1 + date.len())
        } else if Status::KNOWN.iter().any(|status| status.label() == word) {
            has_status = true;
            (format!("status:{word}"), 1)
        } else if matches!(word, "and" | "or" | "not") {
            (word.to_owned(), 1)
        } else if let Some((expr, date)) = first_date(rest) {
            days += usize::from(date.len() > 1 && is_day(expr));
            (format!("on:{}", date.join(" ")), date.len())
        } else {
            has_other |= is_word(&tokens[words.len() - rest.len()]);
            (word.to_owned(), 1)
        };
        parts.push(part);
        rest = &rest[length..];
    }
    let is_sentence = has_date || ((has_status || days == 1) && !has_other);
    let range = tokens.first()?.range.start..tokens.last()?.range.end;
    is_sentence.then(|| {
        let query = parts.join(" ");
        let message = if tokens.iter().all(is_word) {
            format!("searched for as words: did you mean {query}?")
        } else {
            format!("did you mean {query}?")
        };
        Diagnostic {
            meant: Some(query),
            ..Diagnostic::new(range, message)
        }
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
    ///
    /// Words of punctuation alone and prefixes of replies are left out if there are others.
    fn parse_and(&mut self) -> Option<Node> {
        let (mut nodes, mut punctuation) = (Vec::new(), Vec::new());
        loop {
            if self.is_left_out() {
                punctuation.extend(self.parse_atom());
            } else {
                nodes.extend(self.parse_not());
            }
            if self.is_keyword("and") {
                self.consume(SyntaxRole::Keyword);
            } else if !self.starts_operand(self.position) || self.is_keyword("or") {
                break;
            }
        }
        if nodes.is_empty() {
            nodes = punctuation;
        }
        (!nodes.is_empty()).then(|| Node::all(nodes))
    }

    fn is_left_out(&self) -> bool {
        self.tokens.get(self.position).is_some_and(|token| {
            let word = &self.text[token.range.clone()];
            token.kind == TokenKind::Word && (is_punctuation(word) || is_reply_prefix(word))
        })
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
                let typed = &self.text[range.clone()];
                let word = trim_word(typed);
                self.report_wildcard(&range, typed, word);
                self.parse_word(range, word, SyntaxRole::Word)
            }
            TokenKind::InvalidSyntax => {
                self.parse_word(range.clone(), &self.text[range], SyntaxRole::Error)
            }
        }
    }

    /// Says so if a `*` was left out of what was typed.
    fn report_wildcard(&mut self, range: &Range<usize>, typed: &str, searched: &str) {
        if typed.contains('*') && !searched.contains('*') {
            let message = "searched for without *: a part or the start of a word is enough";
            self.diagnostics
                .push(Diagnostic::new(range.clone(), message));
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
        let is_quoted = self.text[value.clone()] != *text;
        let values = if is_quoted {
            vec![text]
        } else {
            self.split_value(operator, &value, text)
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
                    if let Term::Time(TimeOperator::On, range) = term {
                        let ranges = range.split_repeated(&self.context.now).into_iter();
                        let terms = ranges.map(|range| Term::Time(TimeOperator::On, range));
                        nodes.extend(terms.map(Node::Term));
                    } else {
                        nodes.push(Node::Term(term));
                    }
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

    /// Splits a value without quotes, and trims its parts.
    fn split_value<'v>(
        &mut self,
        operator: Operator,
        range: &Range<usize>,
        text: &'v str,
    ) -> Vec<&'v str> {
        let mut values = vec![text];
        if operator.takes_addresses() {
            values = split_list(text);
        }
        if operator.is_part() {
            values = values.into_iter().map(trim_part).collect();
            self.report_wildcard(range, text, &values.concat());
        } else if operator.takes_addresses() && text.contains('*') {
            let message = "the whole is compared, and * is no wildcard: to: finds a part";
            let diagnostic = Diagnostic::new(range.clone(), message);
            self.diagnostics.push(diagnostic);
        }
        values
    }

    /// Whether the token is this keyword with an operand, and so no word.
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
