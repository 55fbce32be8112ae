//! `Body`: a laid-out email body, ready to be drawn, searched and copied.

use std::sync::Arc;

/// Which of its four faces a body shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum BodyView {
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

impl BodyView {
    /// All views, in the order they are cycled through.
    pub(crate) const ALL: [Self; 4] = [Self::Rendered, Self::Text, Self::Source, Self::Raw];

    /// The word for people.
    #[must_use]
    pub(crate) const fn label(self) -> &'static str {
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
    pub(crate) lines: Vec<BodyLine>,
    /// Links in the order of the text; a span names its link by position here.
    pub(crate) links: Vec<Link>,
    /// What a person should know about this body: that it was cut, that it has a tracker.
    pub(crate) notices: Vec<BodyNotice>,
}

/// One line of the screen, or of a block that may be wider and can be panned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BodyLine {
    /// Pieces from left to right in logical order.
    pub(crate) spans: Vec<BodySpan>,
    /// It belongs to a block wider than asked for, such as a data table.
    pub(crate) wide: bool,
    /// It belongs to a right-to-left paragraph; the text is in logical order all the same.
    pub(crate) rtl: bool,
    /// What was in the text where this line ends.
    pub(crate) end: LineEnd,
}

/// What a line ends with in the text it was made from; copying puts it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LineEnd {
    /// A line feed, or the end of a paragraph.
    #[default]
    Newline,
    /// A blank at which the line was wrapped.
    Space,
    /// Nothing: the line was cut because it was too long, or to show its structure.
    Split,
}

/// Text of one look. Cleaned: no control characters, no bidi controls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodySpan {
    /// The text.
    pub(crate) text: Box<str>,
    /// How it looks and what it is.
    pub(crate) style: SpanStyle,
}

/// How a span looks and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SpanStyle {
    /// What it is; the theme decides what that looks like.
    pub(crate) role: SpanRole,
    /// Bold, from a tag or a style.
    pub(crate) bold: bool,
    /// Italic.
    pub(crate) italic: bool,
    /// Underlined, other than as a link.
    pub(crate) underline: bool,
    /// Struck through.
    pub(crate) strikethrough: bool,
    /// Position of its link in [`Body::links`].
    pub(crate) link: Option<u16>,
    /// The colour its author gave it, as red, green, blue, where it is a colour and not a grey.
    /// Only the theme knows whether it can be read on the background of this terminal.
    pub(crate) author_color: Option<[u8; 3]>,
}

/// What a piece of a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SpanRole {
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
    Notice,
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
    /// Blanks that are not in the text but show its structure; copying leaves them out.
    Indent,
}

/// A link of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// The words it is on, on one line.
    pub(crate) text: Box<str>,
    /// Where it goes, cleaned; may be of any scheme, so look before opening.
    pub(crate) target: Arc<str>,
    /// What following it does.
    pub(crate) kind: LinkKind,
    /// The host it really goes to, as its user would have to read it; empty if it has none.
    pub(crate) host: Box<str>,
    /// The target that a click-tracking wrapper carries in its own address, if it does.
    pub(crate) redirect_target: Option<Box<str>>,
    /// What a person should know before following it.
    pub(crate) flags: Box<[LinkFlag]>,
}

/// What following a link does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LinkKind {
    /// Opens a web page.
    Web,
    /// Writes an email.
    Email,
    /// Calls or texts a number.
    Phone,
    /// Points into the email itself, or relative to nothing: it leads nowhere.
    Relative,
    /// A scheme that is never opened, such as `javascript:`, `data:` or `file:`.
    Blocked,
}

/// A reason to look twice at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LinkFlag {
    /// Its words name another host than it goes to.
    HostMismatch,
    /// It goes through a click counter.
    Tracked,
    /// Its host is written in punycode: other letters than it seems.
    Punycode,
    /// Its host mixes scripts, such as a Cyrillic letter among Latin ones.
    MixedScript,
    /// It carries a user name in front of its host, which is how hosts are faked.
    Credentials,
    /// Its host is a bare number.
    IpAddress,
    /// Following it unsubscribes somebody.
    Unsubscribe,
    /// Following it uses it up: a reset, a confirmation, an invitation, a magic link.
    SingleUse,
}

impl LinkFlag {
    /// The words for people.
    #[must_use]
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::HostMismatch => "its words name another host",
            Self::Tracked => "click-tracked",
            Self::Punycode => "host in punycode",
            Self::MixedScript => "host mixes scripts",
            Self::Credentials => "has a user name before the host",
            Self::IpAddress => "host is a bare number",
            Self::Unsubscribe => "unsubscribes",
            Self::SingleUse => "works once",
        }
    }
}

/// A word about the body as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyNotice {
    /// What it is about.
    pub(crate) kind: NoticeKind,
    /// Two or three words for the status line: `1 tracker`.
    pub(crate) label: String,
    /// A message for the end of the body, without a full stop.
    pub(crate) detail: String,
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NoticeKind {
    /// The body is shown in part only, because it is too large or too deep.
    Truncated,
    /// It could not be shown as asked for, so something else is shown.
    Fallback,
    /// Pictures that report when the email is opened.
    Tracker,
    /// The plain-text part is missing, empty, or says something else than the html part.
    TextPart,
    /// Characters were taken out that could command the terminal or deceive the reader.
    Sanitized,
    /// A picture that travels with the email as an attachment.
    Attachment,
}

impl Link {
    /// Whether it may be opened at all; everything else can only be looked at and copied.
    #[must_use]
    pub(crate) const fn is_openable(&self) -> bool {
        matches!(self.kind, LinkKind::Web | LinkKind::Email | LinkKind::Phone)
    }

    /// Whether `flag` is set.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn has_flag(&self, flag: LinkFlag) -> bool {
        self.flags.contains(&flag)
    }
}

impl BodyLine {
    /// The text of the line without its looks.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        self.spans.iter().map(|span| &*span.text).collect()
    }
}

impl Body {
    /// The text of all lines, each ended by a line feed.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        self.lines.iter().fold(String::new(), |mut all, line| {
            all.push_str(line.text().trim_end());
            all.push('\n');
            all
        })
    }

    /// The text as it was before it was cut into lines, for the clipboard.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn unwrapped_text(&self) -> String {
        let mut all = String::new();
        for line in &self.lines {
            for span in line
                .spans
                .iter()
                .filter(|span| span.style.role != SpanRole::Indent)
            {
                all.push_str(&span.text);
            }
            match line.end {
                LineEnd::Newline => all.push('\n'),
                LineEnd::Space => all.push(' '),
                LineEnd::Split => {}
            }
        }
        all
    }
}
