//! Sanitizes foreign text, so that it cannot control a terminal.
//!
//! Emails, error bodies and headers are foreign. Escape sequences can retitle a window or make a
//! terminal type; bidi controls change the reading order; zero-width characters hide. All of these
//! are removed, and a visible [`REPLACEMENT`] marks where.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use unicode_width::UnicodeWidthChar;

/// Marks removed characters.
pub(crate) const REPLACEMENT: char = '\u{FFFD}';

/// More combining marks than any script puts on one letter.
pub(crate) const MAX_COMBINING_MARKS: usize = 4;

/// How the text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// One line, such as a subject: newlines and tabs become spaces.
    SingleLine,
    /// Several lines, such as a body: newlines stay;
    /// the zero-width padding of newsletters, and direction marks other than overrides, are removed
    /// without a mark.
    MultiLine,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sanitized<'a> {
    /// Safe to write to a terminal; borrowed if nothing changed.
    pub(crate) text: Cow<'a, str>,
    /// How many characters were removed that control a device or reverse text.
    pub(crate) removed_controls: usize,
}

pub(crate) fn sanitize_line(text: &str) -> Cow<'_, str> {
    sanitize(text, TextKind::SingleLine).text
}

pub(crate) fn sanitize_block(text: &str) -> Cow<'_, str> {
    sanitize(text, TextKind::MultiLine).text
}

/// Sanitizes `text`. The result has no control character but newlines (in
/// [`TextKind::MultiLine`]), no bidi control and no invisible padding; sanitizing it again changes
/// nothing.
pub(crate) fn sanitize(text: &str, kind: TextKind) -> Sanitized<'_> {
    if text
        .bytes()
        .all(|b| (0x20..0x7f).contains(&b) || (b == b'\n' && kind == TextKind::MultiLine))
    {
        return Sanitized {
            text: Cow::Borrowed(text),
            removed_controls: 0,
        };
    }
    let mut out = String::with_capacity(text.len());
    let mut removed_controls = 0;
    let mut combining = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let length = out.len();
        match classify_char(c, out.chars().next_back(), next, kind) {
            CharAction::Keep if is_combining(c) => {
                combining += 1;
                if combining <= MAX_COMBINING_MARKS {
                    out.push(c);
                } else {
                    push_replacement(&mut out);
                }
            }
            CharAction::Keep => out.push(c),
            CharAction::Replace(other) => out.push(other),
            CharAction::Skip => {}
            CharAction::Control => {
                removed_controls += 1;
                push_replacement(&mut out);
            }
            CharAction::Invisible if kind == TextKind::SingleLine && c != '\u{AD}' => {
                push_replacement(&mut out);
            }
            CharAction::Invisible => {}
        }
        // A character removed without a mark does not separate letters, so the count goes on.
        if out.len() > length && !is_combining(c) {
            combining = 0;
        }
    }
    Sanitized {
        text: if out == text {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(out)
        },
        removed_controls,
    }
}

/// Whether `c` alone is safe:
/// it neither controls a device nor reorders or hides text.
pub(crate) fn is_safe_char(c: char) -> bool {
    matches!(
        classify_char(c, None, None, TextKind::SingleLine),
        CharAction::Keep
    )
}

/// Adds one mark for a run of removed characters.
fn push_replacement(out: &mut String) {
    if !out.ends_with(REPLACEMENT) {
        out.push(REPLACEMENT);
    }
}

enum CharAction {
    Keep,
    Replace(char),
    Skip,
    /// It controls a device, or changes the direction of what follows.
    Control,
    /// It has no width of its own: padding, a tag, a stray joiner.
    Invisible,
}

/// Decides about `c` between `before` (already sanitized) and `next`.
fn classify_char(c: char, before: Option<char>, next: Option<char>, kind: TextKind) -> CharAction {
    match c {
        '\n' | '\u{2028}' | '\u{2029}' | '\u{85}' | '\u{B}' | '\u{C}' => match kind {
            TextKind::SingleLine => CharAction::Replace(' '),
            TextKind::MultiLine => CharAction::Replace('\n'),
        },
        '\r' if next == Some('\n') => CharAction::Skip,
        '\r' => match kind {
            TextKind::SingleLine => CharAction::Control,
            TextKind::MultiLine => CharAction::Replace('\n'),
        },
        '\t' => CharAction::Replace(' '),
        '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}' => CharAction::Control,
        // A direction mark affects only the sign beside it, and right-to-left text is full of them:
        // in a body they are removed like other padding.
        '\u{200E}' | '\u{200F}' | '\u{61C}' if kind == TextKind::SingleLine => CharAction::Control,
        // So are isolates and embeddings, which programs put around names and numbers. An override
        // shows letters in another order than they are in.
        '\u{202A}'..='\u{202C}' | '\u{2066}'..='\u{2069}' if kind == TextKind::MultiLine => {
            CharAction::Invisible
        }
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{206F}' => CharAction::Control,
        '\u{200C}' | '\u{200D}'
            if joins_script(before, next) || (c == '\u{200D}' && joins_emoji(before, next)) =>
        {
            CharAction::Keep
        }
        '\u{FE00}'..='\u{FE0F}'
            if before.is_some_and(|b| {
                !b.is_whitespace() && b != REPLACEMENT && !is_variation_selector(b)
            }) =>
        {
            CharAction::Keep
        }
        '\u{E0020}'..='\u{E007F}' if before.is_some_and(|b| b == '\u{1F3F4}' || is_tag(b)) => {
            CharAction::Keep
        }
        '\u{AD}'
        | '\u{34F}'
        | '\u{61C}'
        | '\u{115F}'
        | '\u{1160}'
        | '\u{17B4}'
        | '\u{17B5}'
        | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}'
        | '\u{2060}'..='\u{2065}'
        | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}'
        | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}' => CharAction::Invisible,
        _ => CharAction::Keep,
    }
}

const fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}')
}

const fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0020}'..='\u{E007F}')
}

pub(crate) fn is_combining(c: char) -> bool {
    c > '\u{2FF}'
        && c.width() == Some(0)
        && !matches!(c, '\u{200B}'..='\u{200F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0000}'..='\u{E0FFF}')
        && !is_jamo(c)
}

/// Vowels and finals of Hangul, which have no width, yet are letters.
const fn is_jamo(c: char) -> bool {
    matches!(c, '\u{1160}'..='\u{11FF}' | '\u{D7B0}'..='\u{D7FF}')
}

/// A joiner makes one image of two emoji, as in families.
fn joins_emoji(before: Option<char>, next: Option<char>) -> bool {
    let picture = |c: char| matches!(c, '\u{2190}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}');
    before.is_some_and(|c| picture(c) || c == '\u{FE0F}') && next.is_some_and(picture)
}

/// Arabic, Syriac and Indic scripts spell with joiners; no other script needs them.
fn joins_script(before: Option<char>, next: Option<char>) -> bool {
    let needs = |c: char| matches!(c, '\u{600}'..='\u{8FF}' | '\u{900}'..='\u{DFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{FB50}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}');
    before.is_some_and(needs) && next.is_some_and(needs)
}

/// One line of sanitized text, as its constructor makes it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct SafeText(Arc<str>);

impl SafeText {
    pub(crate) fn new(text: &str) -> Self {
        Self(Arc::from(&*sanitize_line(text)))
    }

    /// Truncates to `max_chars` characters, with an ellipsis as the last.
    pub(crate) fn truncate(&mut self, max_chars: usize) {
        // A text with at most so many bytes has at most so many characters.
        let mut last_chars = self.0.char_indices().skip(max_chars - 1);
        if self.0.len() > max_chars
            && let (Some((end, _)), Some(_)) = (last_chars.next(), last_chars.next())
        {
            self.0 = Arc::from(format!("{}…", &self.0[..end]));
        }
    }
}

impl Deref for SafeText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        for text in [
            "",
            "Your receipt #4821",
            "Ana López",
            "ご注文の確認",
            "مرحبا بالعالم",
        ] {
            assert!(
                matches!(sanitize(text, TextKind::SingleLine).text, Cow::Borrowed(_)),
                "{text}"
            );
        }
    }

    #[test]
    fn escape_sequences_lose_their_introducer() {
        assert_eq!(sanitize_line("a\u{1b}[31mred"), "a\u{FFFD}[31mred");
        let expected = "a\u{FFFD}31mred\u{FFFD}";
        assert_eq!(sanitize_line("a\u{9b}31mred\u{7}"), expected);
        assert_eq!(sanitize_line("safe\u{202e}gpj.exe"), "safe\u{FFFD}gpj.exe");
        assert_eq!(sanitize_line("rubout\rover"), "rubout\u{FFFD}over");
    }

    #[test]
    fn run_of_removals_becomes_one_mark() {
        let cleaned = sanitize("a\u{1b}\u{1b}\u{7f}\u{202e}b", TextKind::SingleLine);
        assert_eq!(cleaned.text, "a\u{FFFD}b");
        assert_eq!(cleaned.removed_controls, 4);
    }

    #[test]
    fn newlines_stay_only_in_blocks() {
        assert_eq!(sanitize_line("a\r\nb\tc\nd"), "a b c d");
        assert_eq!(sanitize_block("a\r\nb\rc\td\n"), "a\nb\nc d\n");
    }

    #[test]
    fn joiners_of_scripts_and_emoji_stay() {
        for text in [
            "👩‍💻 joins",
            "می‌خواهم",
            "क्‍ष",
            "❤️",
            "🏴\u{E0067}\u{E0062}\u{E007F}",
            "한국어",
            "ภาษาไทย",
            "नमस्ते",
            "שלום",
        ] {
            assert_eq!(sanitize_line(text), text);
        }
    }

    #[test]
    fn padding_leaves_a_mark_only_in_lines() {
        assert_eq!(
            sanitize_block("Hi\u{200c}\u{200b}\u{feff} there"),
            "Hi there"
        );
        assert_eq!(sanitize_block("12\u{200e}:\u{200f}05 \u{61c}"), "12:05 ");
        assert_eq!(sanitize_line("12\u{200e}:05"), "12\u{FFFD}:05");
        assert_eq!(
            sanitize_block("\u{2068}Bob\u{2069} \u{202a}+1\u{202c}"),
            "Bob +1"
        );
        assert_eq!(sanitize_block("a\u{202e}b\u{202c}"), "a\u{FFFD}b");
        assert_eq!(sanitize_line("\u{2068}Bob\u{2069}"), "\u{FFFD}Bob\u{FFFD}");
        assert_eq!(sanitize_line("pay\u{200b}pal"), "pay\u{FFFD}pal");
        assert_eq!(sanitize_line("Silben\u{ad}trennung"), "Silbentrennung");
    }

    #[test]
    fn combining_marks_are_limited() {
        assert_eq!(
            sanitize_line("z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}a"),
            "z\u{300}\u{301}\u{302}\u{303}\u{FFFD}a"
        );
        assert_eq!(
            sanitize_block("z\u{300}\u{300}\u{300}\u{300}\u{200d}\u{300}"),
            "z\u{300}\u{300}\u{300}\u{300}\u{FFFD}"
        );
    }

    #[test]
    fn only_longer_text_is_truncated() {
        for (text, expected) in [
            ("", ""),
            ("abcd", "abcd"),
            ("abcde", "abc…"),
            ("äöüß", "äöüß"),
            ("äöüßx", "äöü…"),
        ] {
            let mut safe = SafeText::new(text);
            safe.truncate(4);
            assert_eq!(&*safe, expected);
        }
    }
}
