//! `Body`: a laid-out email body, ready to be drawn, searched and copied.

use std::sync::Arc;

/// Which of its four faces a body shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum View {
    /// As the recipient saw it.
    #[default]
    Rendered,
    /// The plain-text part.
    Text,
    /// The html part as written.
    Source,
    /// The service's JSON, every field.
    Raw,
}

impl View {
    /// All views, in the order they are cycled through.
    pub const ALL: [Self; 4] = [Self::Rendered, Self::Text, Self::Source, Self::Raw];

    /// The word for people.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rendered => "rendered",
            Self::Text => "text",
            Self::Source => "source",
            Self::Raw => "raw",
        }
    }
}

/// A body at one width.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Body {
    /// What is drawn, top to bottom.
    pub lines: Vec<Line>,
    /// Links in the order of the text; a span names its link by position here.
    pub links: Vec<Link>,
    /// What a person should know about this body: that it was cut, that it has a tracker.
    pub notes: Vec<Note>,
}

/// One line of the screen, or of a block that may be wider and can be panned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// Pieces from left to right in logical order.
    pub spans: Vec<Span>,
    /// It belongs to a block wider than asked for, such as a data table.
    pub wide: bool,
    /// It belongs to a right-to-left paragraph; the text is in logical order all the same.
    pub rtl: bool,
}

/// Text of one look. Cleaned: no control characters, no bidi controls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: Box<str>,
    /// How it looks and what it is.
    pub mark: Mark,
}

/// How a span looks and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// What it is; the theme decides what that looks like.
    pub role: Role,
    /// Bold, from a tag or a style.
    pub bold: bool,
    /// Italic.
    pub italic: bool,
    /// Underlined, other than as a link.
    pub underline: bool,
    /// Struck through.
    pub strike: bool,
    /// Position of its link in [`Body::links`].
    pub link: Option<u16>,
}

/// What a piece of a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Running text.
    #[default]
    Text,
    /// A heading.
    Heading,
    /// A link in running text.
    Link,
    /// A link that is drawn as a button, its brackets included.
    Button,
    /// The words that stand for a picture.
    Image,
    /// Quoted text and its marks.
    Quote,
    /// Code and preformatted text.
    Code,
    /// A line, a list mark, a table border.
    Rule,
    /// Something sentbox itself says about the body.
    Note,
    /// Html source: the name of a tag, with its brackets.
    Tag,
    /// Html source: the name of an attribute.
    Attribute,
    /// Html source: the value of an attribute.
    Value,
    /// Html source: a comment or a doctype.
    Comment,
    /// JSON: the name of a member.
    Key,
    /// JSON: a string.
    String,
    /// JSON: a number.
    Number,
    /// JSON: true, false and null.
    Literal,
    /// JSON and html source: brackets and commas.
    Punctuation,
}

/// A link of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The words it is on, on one line.
    pub text: Box<str>,
    /// Where it goes, cleaned; may be of any scheme, so look before opening.
    pub target: Arc<str>,
}

/// A word about the body as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// A sentence for the status line, or the end of the body.
    pub sentence: String,
}

impl Line {
    /// The text of the line without its looks.
    #[must_use]
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| &*span.text).collect()
    }
}

impl Body {
    /// The text of all lines, each ended by a line feed.
    #[must_use]
    pub fn text(&self) -> String {
        self.lines.iter().fold(String::new(), |mut all, line| {
            all.push_str(line.text().trim_end());
            all.push('\n');
            all
        })
    }
}
