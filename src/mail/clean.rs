//! Turns foreign text into text that cannot command a terminal, and shows where it did so.
//!
//! Whatever an email, an error body or a header brings is data that somebody else wrote. Escape
//! sequences can retitle a window or make a terminal type; bidi controls make text read otherwise
//! than it is; zero-width characters hide. Each of these leaves the text here, once, and a visible
//! [`MARK`] stays where something was taken out.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Stands where characters were removed.
pub const MARK: char = '\u{FFFD}';

/// More combining marks than any script puts on one letter; the rest is a flood ("zalgo").
const MAX_COMBINING: usize = 4;

/// What kind of place the text is shown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// One line, such as a subject: line breaks and tabs become blanks.
    Line,
    /// Several lines, such as a body: line feeds stay, and filler that every newsletter is padded
    /// with (zero-width characters) goes without a mark.
    Block,
}

/// How much was taken out of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// C0, DEL, C1 and other characters that control a device.
    pub controls: usize,
    /// Characters that change the direction of what follows.
    pub bidi: usize,
    /// Characters without a width of their own: padding, tags, stray joiners.
    pub invisible: usize,
    /// Combining marks beyond the fourth on one letter.
    pub combining: usize,
}

impl Removed {
    /// Everything together.
    #[must_use]
    pub const fn total(self) -> usize {
        self.controls + self.bidi + self.invisible + self.combining
    }
}

/// A cleaned text and what was taken out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned<'a> {
    /// Safe to write to a terminal. Borrowed if nothing had to change.
    pub text: Cow<'a, str>,
    /// What is no longer in it.
    pub removed: Removed,
}

/// Cleans `text` for one line.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    clean(text, Place::Line).text
}

/// Cleans `text` for a block of lines.
#[must_use]
pub fn block(text: &str) -> Cow<'_, str> {
    clean(text, Place::Block).text
}

/// Cleans `text`. The result has no control character but (in a block) line feeds, no bidi
/// control, no invisible padding, and cleaning it again changes nothing.
#[must_use]
pub fn clean(text: &str, place: Place) -> Cleaned<'_> {
    if text
        .bytes()
        .all(|b| (0x20..0x7f).contains(&b) || (b == b'\n' && place == Place::Block))
    {
        return Cleaned {
            text: Cow::Borrowed(text),
            removed: Removed::default(),
        };
    }
    let mut out = String::with_capacity(text.len());
    let mut removed = Removed::default();
    let mut combining = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let length = out.len();
        match verdict(c, out.chars().next_back(), next, place) {
            Verdict::Keep if is_combining(c) => {
                combining += 1;
                if combining <= MAX_COMBINING {
                    out.push(c);
                } else {
                    removed.combining += 1;
                    mark(&mut out);
                }
            }
            Verdict::Keep => out.push(c),
            Verdict::Instead(other) => out.push(other),
            Verdict::Skip => {}
            Verdict::Control => {
                removed.controls += 1;
                mark(&mut out);
            }
            Verdict::Bidi => {
                removed.bidi += 1;
                mark(&mut out);
            }
            Verdict::Invisible => {
                removed.invisible += 1;
                if place == Place::Line && c != '\u{AD}' {
                    mark(&mut out);
                }
            }
        }
        // What goes without a trace separates no letters, so it does not start the count again.
        if out.len() > length && !is_combining(c) {
            combining = 0;
        }
    }
    if removed == Removed::default() && out == text {
        return Cleaned {
            text: Cow::Borrowed(text),
            removed,
        };
    }
    Cleaned {
        text: Cow::Owned(out),
        removed,
    }
}

/// Whether `c` can stand anywhere by itself: it neither controls a device nor turns or hides text.
#[must_use]
pub fn is_safe(c: char) -> bool {
    matches!(verdict(c, None, None, Place::Line), Verdict::Keep)
}

/// One mark for a run of removals.
fn mark(out: &mut String) {
    if !out.ends_with(MARK) {
        out.push(MARK);
    }
}

enum Verdict {
    Keep,
    Instead(char),
    Skip,
    Control,
    Bidi,
    Invisible,
}

/// What becomes of `c` after `before` (already clean) and in front of `next`.
fn verdict(c: char, before: Option<char>, next: Option<char>, place: Place) -> Verdict {
    match c {
        '\n' | '\u{2028}' | '\u{2029}' | '\u{85}' | '\u{B}' | '\u{C}' => match place {
            Place::Line => Verdict::Instead(' '),
            Place::Block => Verdict::Instead('\n'),
        },
        '\r' if next == Some('\n') => Verdict::Skip,
        '\r' => match place {
            Place::Line => Verdict::Control,
            Place::Block => Verdict::Instead('\n'),
        },
        '\t' => Verdict::Instead(' '),
        '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}' => Verdict::Control,
        // A mark of direction turns no more than the sign beside it, and right-to-left text is full
        // of them: in a body they go with the other padding.
        '\u{200E}' | '\u{200F}' | '\u{61C}' if place == Place::Line => Verdict::Bidi,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{206F}' => Verdict::Bidi,
        '\u{200C}' | '\u{200D}'
            if joins_script(before, next) || (c == '\u{200D}' && joins_emoji(before, next)) =>
        {
            Verdict::Keep
        }
        '\u{FE00}'..='\u{FE0F}'
            if before.is_some_and(|b| !b.is_whitespace() && b != MARK && !is_selector(b)) =>
        {
            Verdict::Keep
        }
        '\u{E0020}'..='\u{E007F}' if before.is_some_and(|b| b == '\u{1F3F4}' || is_tag(b)) => {
            Verdict::Keep
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
        | '\u{E0000}'..='\u{E0FFF}' => Verdict::Invisible,
        _ => Verdict::Keep,
    }
}

const fn is_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}')
}

const fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0020}'..='\u{E007F}')
}

fn is_combining(c: char) -> bool {
    c > '\u{2FF}'
        && c.width() == Some(0)
        && !matches!(c, '\u{200B}'..='\u{200F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0000}'..='\u{E0FFF}')
        && !is_jamo(c)
}

/// Vowels and finals of conjoining Hangul have no width of their own, yet are letters.
const fn is_jamo(c: char) -> bool {
    matches!(c, '\u{1160}'..='\u{11FF}' | '\u{D7B0}'..='\u{D7FF}')
}

/// A joiner between two emoji makes one picture of them, as in families and professions.
fn joins_emoji(before: Option<char>, next: Option<char>) -> bool {
    let picture = |c: char| matches!(c, '\u{2190}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}');
    before.is_some_and(|c| picture(c) || c == '\u{FE0F}') && next.is_some_and(picture)
}

/// Arabic, Syriac and Indic scripts spell with joiners; no other script needs them.
fn joins_script(before: Option<char>, next: Option<char>) -> bool {
    let needs = |c: char| matches!(c, '\u{600}'..='\u{8FF}' | '\u{900}'..='\u{DFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{FB50}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}');
    before.is_some_and(needs) && next.is_some_and(needs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
                matches!(clean(text, Place::Line).text, Cow::Borrowed(_)),
                "{text}"
            );
        }
    }

    #[test]
    fn sequences_lose_their_introducer_and_leave_a_mark() {
        assert_eq!(line("a\u{1b}[31mred"), "a\u{FFFD}[31mred");
        assert_eq!(line("a\u{9b}31mred\u{7}"), "a\u{FFFD}31mred\u{FFFD}");
        assert_eq!(line("safe\u{202e}gpj.exe"), "safe\u{FFFD}gpj.exe");
        assert_eq!(line("rubout\rover"), "rubout\u{FFFD}over");
    }

    #[test]
    fn a_run_of_removals_is_one_mark_and_counted_whole() {
        let cleaned = clean("a\u{1b}\u{1b}\u{7f}\u{202e}b", Place::Line);
        assert_eq!(cleaned.text, "a\u{FFFD}b");
        assert_eq!(
            cleaned.removed,
            Removed {
                controls: 3,
                bidi: 1,
                ..Removed::default()
            }
        );
    }

    #[test]
    fn lines_are_one_line_and_blocks_keep_theirs() {
        assert_eq!(line("a\r\nb\tc\nd"), "a b c d");
        assert_eq!(block("a\r\nb\rc\td\n"), "a\nb\nc d\n");
    }

    #[test]
    fn what_scripts_and_emoji_need_stays() {
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
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn padding_goes_silently_from_a_body_and_visibly_from_a_line() {
        assert_eq!(block("Hi\u{200c}\u{200b}\u{feff} there"), "Hi there");
        assert_eq!(block("12\u{200e}:\u{200f}05 \u{61c}"), "12:05 ");
        assert_eq!(line("12\u{200e}:05"), "12\u{FFFD}:05");
        assert_eq!(line("pay\u{200b}pal"), "pay\u{FFFD}pal");
        assert_eq!(line("Silben\u{ad}trennung"), "Silbentrennung");
    }

    #[test]
    fn a_flood_of_combining_marks_is_capped() {
        let cleaned = clean("z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}a", Place::Line);
        assert_eq!(cleaned.removed.combining, 2);
        assert_eq!(cleaned.text, "z\u{300}\u{301}\u{302}\u{303}\u{FFFD}a");
        assert_eq!(
            clean("z\u{300}\u{300}\u{300}\u{300}\u{200d}\u{300}", Place::Block)
                .removed
                .combining,
            1
        );
    }

    fn nasty() -> impl Strategy<Value = String> {
        let chars = prop_oneof![
            any::<char>(),
            prop::char::range('\0', '\u{A0}'),
            prop::char::range('\u{2000}', '\u{2070}'),
            prop::char::range('\u{300}', '\u{36F}'),
            prop::char::range('\u{FE00}', '\u{FE0F}'),
            Just('\u{200D}'),
            Just('👩'),
        ];
        prop::collection::vec(chars, 0..60).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn nothing_that_commands_a_terminal_comes_through(text in nasty()) {
            for place in [Place::Line, Place::Block] {
                let once = clean(&text, place).text.into_owned();
                let bad = |c: char| (c.is_control() && !(c == '\n' && place == Place::Block))
                    || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' | '\u{200B}');
                prop_assert!(!once.chars().any(bad), "{once:?}");
                prop_assert_eq!(clean(&once, place).text, once.as_str());
            }
        }
    }
}
