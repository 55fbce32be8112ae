//! `Body`: a laid-out email body: lines of styled spans, links and notices.

use std::ops::Range;
use std::sync::Arc;

use compact_str::CompactString;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::text::width::DisplayWidth as _;

/// Bodies of more lines are cut.
pub(super) const MAX_LINES: usize = 50_000;

/// One of the four views of an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum BodyView {
    /// The html part laid out; the text part if there is no html part.
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
    /// All views, in the order in which the user cycles through them.
    pub(crate) const ALL: [Self; 4] = [Self::Rendered, Self::Text, Self::Source, Self::Raw];

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Rendered => "rendered",
            Self::Text => "text",
            Self::Source => "source",
            Self::Raw => "raw",
        }
    }
}

/// The label of the notice of a body that is cut.
pub(super) const CUT: &str = "cut";

/// A body, laid out at one width.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Body {
    pub(crate) lines: Vec<BodyLine>,
    /// The columns of the widest line that is wider than the screen; 0 without one.
    pub(crate) widest: usize,
    /// Links in reading order; a span refers to its link by index.
    pub(crate) links: Vec<Link>,
    /// Facts about the whole body: it is cut, it has a tracker.
    pub(crate) notices: Vec<BodyNotice>,
    /// Whether the email has secrets; known only if they are masked.
    pub(crate) has_secrets: bool,
    /// The unwrapped text to copy, if boxes are beside each other.
    pub(crate) stacked_text: Option<Box<str>>,
}

/// One line; it may be wider than the screen and is then scrolled sideways.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BodyLine {
    /// Spans in logical order, also in right-to-left text.
    pub(crate) spans: Vec<BodySpan>,
    /// Bytes of the quote marks and of the indentation, which repeat on each line.
    pub(crate) prefix: usize,
    /// The line, or the data table that it belongs to, is wider than the screen.
    pub(crate) wide: bool,
    pub(crate) end: LineEnd,
    /// Text between this line and the next that is not on the screen.
    pub(crate) hidden: Option<Box<str>>,
    /// The bytes of each box beside others, in which text goes on below.
    pub(crate) columns: Vec<Range<usize>>,
}

/// The separator in the unwrapped text where a line ends; copying restores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LineEnd {
    /// A newline or the end of a paragraph.
    #[default]
    Newline,
    /// A space at which the line was wrapped.
    Space,
    /// Nothing: a long word was cut, or code was put on lines by its structure.
    Split,
}

impl LineEnd {
    pub(super) const fn separator(self) -> &'static str {
        match self {
            Self::Newline => "\n",
            Self::Space => " ",
            Self::Split => "",
        }
    }
}

/// Text of one style, sanitized: no control characters, no bidi controls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodySpan {
    pub(crate) text: CompactString,
    pub(crate) style: SpanStyle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SpanStyle {
    /// The theme turns the role into colours.
    pub(crate) role: SpanRole,
    pub(crate) bold: bool,
    pub(crate) italic: bool,
    /// Underlined by the author; links are underlined by their role.
    pub(crate) underline: bool,
    pub(crate) strikethrough: bool,
    /// Index in [`Body::links`].
    pub(crate) link: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SpanRole {
    #[default]
    Text,
    Heading,
    Link,
    /// A link drawn as a button, its brackets included.
    Button,
    /// The alternative text of an image.
    Image,
    /// Quoted text and its `>`.
    Quote,
    /// Code and preformatted text.
    Code,
    /// A horizontal rule or a list marker.
    Rule,
    /// Text that sentbox adds, such as a notice.
    Notice,
    /// The host of a link whose text names another one, on the screen only.
    LinkHost,
    /// Html source: a tag name with its brackets.
    Tag,
    /// Html source: an attribute name.
    Attribute,
    /// Html source: an attribute value.
    Value,
    /// Html source: a comment or a doctype.
    Comment,
    /// JSON: a member name.
    Key,
    /// JSON: a string.
    String,
    /// JSON: a number.
    Number,
    /// JSON: true, false and null.
    Literal,
    /// JSON and html source: brackets and commas.
    Punctuation,
    /// Added spaces that show the structure of code; copying leaves them out.
    Indent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// Its text, on one line.
    pub(crate) text: Box<str>,
    /// The sanitized URL, of any scheme; see [`Link::is_openable`].
    pub(crate) target: Arc<str>,
    pub(crate) kind: LinkKind,
    /// The facts that the user should know before opening it.
    pub(crate) flags: Box<[LinkFlag]>,
    /// The URL to which a click tracker leads, if its own URL contains it.
    pub(crate) behind: Option<Box<str>>,
}

/// The effect of opening a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LinkKind {
    /// Opens a web page.
    Web,
    /// Writes an email.
    Email,
    /// Calls or texts a number.
    Phone,
    /// Opens nothing: it is relative, as an email has no base URL,
    /// or has a scheme that is never opened, such as `javascript:` or `file:`.
    NotOpenable,
}

/// A warning about a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LinkFlag {
    /// Its text names another host than its URL.
    HostMismatch,
    /// It goes through a click tracker.
    Tracked,
    /// Its host is written in punycode, so it may imitate another host.
    Punycode,
    /// Its host mixes scripts, such as a Cyrillic letter among Latin ones.
    MixedScript,
    /// A user name is before the host, which can imitate another host.
    Credentials,
    /// Its host is an IP address.
    IpAddress,
    /// Opening it unsubscribes the recipient.
    Unsubscribe,
    /// It works once: a reset, a confirmation, an invitation, a magic link.
    SingleUse,
}

impl LinkFlag {
    /// Whether the link may lead elsewhere than it seems to.
    const fn is_deceptive(self) -> bool {
        match self {
            Self::HostMismatch
            | Self::Punycode
            | Self::MixedScript
            | Self::Credentials
            | Self::IpAddress => true,
            Self::Tracked | Self::Unsubscribe | Self::SingleUse => false,
        }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::HostMismatch => "link text names another host",
            Self::Tracked => "click-tracked",
            Self::Punycode => "host in punycode",
            Self::MixedScript => "host mixes scripts",
            Self::Credentials => "has a user name before the host",
            Self::IpAddress => "host is an IP address",
            Self::Unsubscribe => "unsubscribes",
            Self::SingleUse => "single-use",
        }
    }
}

/// A fact about the body as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyNotice {
    /// Text for the status line: `1 tracker`.
    pub(crate) label: String,
    /// The fact in a sentence without a full stop.
    pub(crate) detail: String,
    /// The detail is at the end of the body, too: it is cut or another view.
    pub(crate) is_in_body: bool,
}

/// Adds `text` to `spans`; text of the same style joins the last span.
pub(super) fn push_span(spans: &mut Vec<BodySpan>, text: &str, style: SpanStyle) {
    match spans.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.style == style => last.text.push_str(text),
        _ => spans.push(BodySpan {
            text: text.into(),
            style,
        }),
    }
}

/// Adds `more` to `spans`, as [`push_span`] does.
pub(super) fn push_spans(spans: &mut Vec<BodySpan>, more: &[BodySpan]) {
    for span in more {
        push_span(spans, &span.text, span.style);
    }
}

/// Adds `more` to `spans`, from column `start` on.
pub(super) fn push_spans_at(spans: &mut Vec<BodySpan>, start: usize, more: &[BodySpan]) {
    let gap = start.saturating_sub(spans_width(spans));
    push_span(spans, &" ".repeat(gap), SpanStyle::default());
    push_spans(spans, more);
}

/// Returns the display width of `spans` in columns.
pub(super) fn spans_width(spans: &[BodySpan]) -> usize {
    spans.iter().map(|span| span.text.width()).sum()
}

impl From<SpanRole> for SpanStyle {
    fn from(role: SpanRole) -> Self {
        Self {
            role,
            ..Self::default()
        }
    }
}

/// The sequence before the URL of a hyperlink; with an empty URL it ends one.
pub(crate) const HYPERLINK_START: &str = "\x1b]8;;";
/// The sequence between the URL and the text of a hyperlink.
pub(crate) const HYPERLINK_MIDDLE: &str = "\x1b\\";
/// The ASCII characters that a hyperlink must not have.
const NOT_GRAPHIC: AsciiSet = CONTROLS.add(b' ');

impl Link {
    /// True if it may be opened; other links can only be viewed and copied.
    pub(crate) const fn is_openable(&self) -> bool {
        !matches!(self.kind, LinkKind::NotOpenable)
    }

    /// Returns the sequence that starts a hyperlink of the terminal (OSC 8);
    /// `None` if it opens neither a web page nor a message to an address, or may lead elsewhere
    /// than it seems to: a terminal opens it without a question. Also `None` if its URL is longer
    /// than terminals take (<https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda>),
    /// or if characters of it were replaced because they control a terminal. The sequence allows
    /// only printable ASCII, so the rest of the URL is percent-encoded.
    pub(crate) fn hyperlink(&self) -> Option<String> {
        const MAX_BYTES: usize = 2_083;
        let is_plain = match self.kind {
            LinkKind::Web => true,
            // A mail program may attach a file that a parameter names.
            LinkKind::Email => !self.target.contains('?'),
            _ => false,
        };
        let is_whole = is_plain
            && !self.flags.iter().any(|flag| flag.is_deceptive())
            && self.target.len() <= MAX_BYTES
            && !self.target.contains(char::REPLACEMENT_CHARACTER);
        let target = utf8_percent_encode(&self.target, &NOT_GRAPHIC);
        is_whole.then(|| format!("{HYPERLINK_START}{target}{HYPERLINK_MIDDLE}"))
    }

    /// Returns the host of a web link.
    pub(crate) fn host(&self) -> Option<&str> {
        let (_, rest) = self.target.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        Some(
            authority
                .rsplit_once('@')
                .map_or(authority, |(_, host)| host),
        )
    }
}

impl BodyLine {
    /// Returns the bytes of its box of this number, or of all its text without boxes.
    pub(crate) fn part(&self, column: usize) -> Range<usize> {
        let len = self.spans.iter().map(|span| span.text.len()).sum();
        let whole = self.prefix.min(len)..len;
        self.columns.get(column).cloned().unwrap_or(whole)
    }

    /// Returns the text without styles.
    pub(crate) fn text(&self) -> String {
        self.spans.iter().map(|span| &*span.text).collect()
    }
}

impl Body {
    /// Whether a part of the body is left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.notices.iter().any(|notice| notice.label == CUT)
    }

    /// Returns about how much memory it takes.
    pub(crate) fn byte_size(&self) -> usize {
        let span_size = |span: &BodySpan| size_of::<BodySpan>() + span.text.len();
        let line_size = |line: &BodyLine| {
            size_of::<BodyLine>() + line.spans.iter().map(span_size).sum::<usize>()
        };
        let stacked = self.stacked_text.as_ref().map_or(0, |text| text.len());
        stacked + self.lines.iter().map(line_size).sum::<usize>()
    }

    /// Returns the text of all lines without trailing spaces, each ended by a newline.
    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        self.lines.iter().fold(String::new(), |mut all, line| {
            all.push_str(line.text().trim_end());
            all.push('\n');
            all
        })
    }

    /// Returns the text as it was before wrapping, for the clipboard and for files.
    pub(crate) fn unwrapped_text(&self) -> String {
        if let Some(text) = &self.stacked_text {
            return text.to_string();
        }
        let mut all = String::new();
        for line in &self.lines {
            let start = all.len();
            for span in &line.spans {
                match span.style.role {
                    SpanRole::Indent => {}
                    // The space at which the line was wrapped belongs to the host.
                    SpanRole::LinkHost if all.len() == start && all.ends_with(' ') => {
                        all.pop();
                    }
                    SpanRole::LinkHost => {}
                    _ => all.push_str(&span.text),
                }
            }
            all.push_str(line.hidden.as_deref().unwrap_or_default());
            all.push_str(line.end.separator());
        }
        all
    }
}
