//! Text to query. It never fails: what is not syntax is a word, and a note says why.

use std::ops::Range;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::lex::{Kind, Token, Value, lex};
use super::value::{self, Reading};
use super::{Needle, Node, Operator, Query, Sort, Term};

/// What the meaning of a text depends on.
#[derive(Debug, Clone)]
pub struct Context {
    /// The time, in the zone in which the person counts days.
    pub now: Zoned,
}

impl Context {
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
pub struct Parsed {
    /// What it means.
    pub query: Query,
    /// What each part of the text is, in order; only blanks lie between them.
    pub spans: Vec<Span>,
    /// What is not read as it may be meant, in order. A command that destroys something should
    /// refuse a query with notes.
    pub notes: Vec<Note>,
}

impl Parsed {
    /// What is wrong where the cursor is; it also counts as in a range when it is right behind it.
    #[must_use]
    pub fn note_at(&self, cursor: usize) -> Option<&Note> {
        self.notes
            .iter()
            .find(|note| note.range.start <= cursor && cursor <= note.range.end)
    }
}

/// A stretch of the text and how to colour it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its bytes.
    pub range: Range<usize>,
    /// What it is.
    pub role: Role,
}

/// What a stretch of the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The name of an operator with its colon.
    Operator,
    /// What the operator looks for.
    Value,
    /// A word or a quoted phrase.
    Word,
    /// `and`, `or`, `not`, `-` or a bracket.
    Connective,
    /// What is not read as it may be meant; a [`Note`] says why.
    Error,
}

/// Something that is not read as it may be meant, in words for the person who typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The bytes of the text that it is about.
    pub range: Range<usize>,
    /// A sentence without a capital and a full stop, safe to show.
    pub words: String,
    /// Whether it may come right when the text goes on: a hint for who still types, and no mistake.
    pub unfinished: bool,
}

/// Reads `text`.
#[must_use]
pub fn parse(text: &str, context: &Context) -> Parsed {
    let (tokens, notes) = lex(text);
    let mut parser = Parser {
        text,
        now: &context.now,
        tokens,
        at: 0,
        spans: Vec::new(),
        notes,
        sort: Sort::default(),
    };
    let filter = parser.group().unwrap_or_else(|| Query::everything().filter);
    let Parser {
        spans,
        mut notes,
        sort,
        ..
    } = parser;
    notes.sort_by_key(|note| note.range.start);
    for note in &mut notes {
        note.unfinished |= note.range.end == text.len();
    }
    Parsed {
        query: Query { filter, sort },
        spans,
        notes,
    }
}

struct Parser<'a> {
    text: &'a str,
    now: &'a Zoned,
    tokens: Vec<Token>,
    at: usize,
    spans: Vec<Span>,
    notes: Vec<Note>,
    sort: Sort,
}

impl Parser<'_> {
    /// What stands in brackets, or the whole text: sides between `or`. `None` if there is no
    /// condition in it, as in `sort:oldest`.
    fn group(&mut self) -> Option<Node> {
        let mut sides = Vec::from_iter(self.side());
        while self.connects("or") {
            self.take(Role::Connective);
            sides.extend(self.side());
        }
        if sides.is_empty() {
            None
        } else {
            Some(Node::any(sides))
        }
    }

    /// Operands side by side.
    fn side(&mut self) -> Option<Node> {
        let mut nodes = Vec::from_iter(self.operand());
        loop {
            if self.connects("and") {
                self.take(Role::Connective);
            } else if !self.is_operand(self.at) || self.connects("or") {
                break;
            }
            nodes.extend(self.operand());
        }
        if nodes.is_empty() {
            None
        } else {
            Some(Node::all(nodes))
        }
    }

    /// One condition with the negations in front of it.
    fn operand(&mut self) -> Option<Node> {
        let mut negated = false;
        let mut dashed = false;
        loop {
            if self.tokens.get(self.at)?.kind == Kind::Minus {
                dashed = true;
            } else if dashed || !self.connects("not") {
                break;
            }
            self.take(Role::Connective);
            negated = !negated;
        }
        let node = self.atom()?;
        Some(if negated { node.negated() } else { node })
    }

    fn atom(&mut self) -> Option<Node> {
        let token = self.tokens.get(self.at)?;
        let range = token.range.clone();
        match &token.kind {
            Kind::Open => {
                self.take(Role::Connective);
                let node = self.group();
                if self
                    .tokens
                    .get(self.at)
                    .is_some_and(|token| token.kind == Kind::Close)
                {
                    self.take(Role::Connective);
                }
                node
            }
            Kind::Quoted(text) => {
                let word = text.clone();
                self.word(range, &word, Role::Word)
            }
            Kind::Operator(operator, Value { range, text }) => {
                let (operator, range, text) = (*operator, range.clone(), text.clone());
                self.operator(operator, range, &text)
            }
            // The others do not stand here: a group is closed by whoever opened it, and a minus was
            // taken with what it negates.
            Kind::Bare | Kind::Close | Kind::Minus => {
                self.word(range.clone(), &self.text[range], Role::Word)
            }
            Kind::Misread => self.word(range.clone(), &self.text[range], Role::Error),
        }
    }

    fn word(&mut self, range: Range<usize>, word: &str, role: Role) -> Option<Node> {
        let Some(needle) = Needle::new(word) else {
            self.notes.push(Note {
                range,
                words: "nothing here can be looked for".to_owned(),
                unfinished: false,
            });
            self.take(Role::Error);
            return None;
        };
        self.take(role);
        Some(Node::Term(Term::Word(needle)))
    }

    fn operator(&mut self, operator: Operator, value: Range<usize>, text: &str) -> Option<Node> {
        let token = self.tokens[self.at].range.clone();
        self.at += 1;
        self.spans.push(Span {
            range: token.start..value.start,
            role: Role::Operator,
        });
        let note = |words| Note {
            range: value.clone(),
            words,
            unfinished: false,
        };
        let (node, notes) = match value::read(operator, text, self.now) {
            Ok(Reading::Sort(sort)) => {
                self.sort = sort;
                (None, Vec::new())
            }
            Ok(Reading::Term(term)) => {
                let notes = value::doubts(&term, note);
                (Some(Node::Term(term)), notes)
            }
            Err(words) => {
                let word = Needle::new(&self.text[token]);
                (
                    word.map(|needle| Node::Term(Term::Word(needle))),
                    vec![note(words)],
                )
            }
        };
        let role = if notes.is_empty() {
            Role::Value
        } else {
            Role::Error
        };
        self.spans.push(Span { range: value, role });
        self.notes.extend(notes);
        node
    }

    /// Whether the token here is this connective and has something to connect: a dangling one is a
    /// word.
    fn connects(&self, word: &str) -> bool {
        let Some(token) = self.tokens.get(self.at) else {
            return false;
        };
        token.kind == Kind::Bare
            && self.text[token.range.clone()].eq_ignore_ascii_case(word)
            && self.is_operand(self.at + 1)
    }

    fn is_operand(&self, at: usize) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| token.kind != Kind::Close)
    }

    fn take(&mut self, role: Role) {
        self.spans.push(Span {
            range: self.tokens[self.at].range.clone(),
            role,
        });
        self.at += 1;
    }
}
