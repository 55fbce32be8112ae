//! The bytes of a terminal as messages:
//! keys, mouse, pastes, the report of its background.
//!
//! The sequences are those of xterm (<https://invisible-island.net/xterm/ctlseqs/ctlseqs.html>),
//! their form is that of ECMA-48. A sequence without a meaning here is dropped whole: whatever a
//! terminal reports, no part of it becomes typed keys. A sequence that does not end is given up
//! after a time, so that no input can make the keys dead.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::layout::Position;
use secrecy::zeroize::Zeroizing;

use crate::app::{Key, Message, MouseInput};
use crate::config::{Background, SecretInput};

const ESC: u8 = b'\x1b';
const BEL: u8 = b'\x07';

/// How long a lone Esc waits for the rest of a sequence that a slow line has split.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(25);
/// How long Esc with the second byte of a sequence waits,
/// which may also be a key pressed with Alt.
const PREFIX_TIMEOUT: Duration = Duration::from_millis(100);
/// How long a sequence waits that no key begins like.
const SEQUENCE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a paste waits for its next bytes.
/// Later bytes are typed keys, so a line may pause for a while.
const PASTE_TIMEOUT: Duration = Duration::from_secs(3);

/// The most bytes of a sequence: more than a key or an expected report has.
const MAX_SEQUENCE_LEN: usize = 4_096;

/// The start of the report of the background (OSC 11).
const BACKGROUND_REPORT: &[u8] = b"\x1b]11;";
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// Keys by the last byte of their sequence, after `ESC [` or `ESC O`.
pub(super) const LETTER_KEYS: [(u8, KeyCode); 11] = [
    (b'A', KeyCode::Up),
    (b'B', KeyCode::Down),
    (b'C', KeyCode::Right),
    (b'D', KeyCode::Left),
    (b'F', KeyCode::End),
    (b'H', KeyCode::Home),
    (b'P', KeyCode::F(1)),
    (b'Q', KeyCode::F(2)),
    (b'R', KeyCode::F(3)),
    (b'S', KeyCode::F(4)),
    (b'Z', KeyCode::BackTab),
];

/// Keys by the number of their sequence, as in `ESC [ 5 ~`.
pub(super) const NUMBER_KEYS: [(u32, KeyCode); 20] = [
    (1, KeyCode::Home),
    (2, KeyCode::Insert),
    (3, KeyCode::Delete),
    (4, KeyCode::End),
    (5, KeyCode::PageUp),
    (6, KeyCode::PageDown),
    (7, KeyCode::Home),
    (8, KeyCode::End),
    (11, KeyCode::F(1)),
    (12, KeyCode::F(2)),
    (13, KeyCode::F(3)),
    (14, KeyCode::F(4)),
    (15, KeyCode::F(5)),
    (17, KeyCode::F(6)),
    (18, KeyCode::F(7)),
    (19, KeyCode::F(8)),
    (20, KeyCode::F(9)),
    (21, KeyCode::F(10)),
    (23, KeyCode::F(11)),
    (24, KeyCode::F(12)),
];

/// Bytes that have arrived and are not parsed yet.
/// They may be an API key, so they are wiped, and have a capacity at which they are not moved,
/// which would leave a copy; a long paste may leave one.
#[derive(Debug)]
pub struct Parser {
    bytes: Zeroizing<Vec<u8>>,
    /// The text of a paste that has not ended.
    paste: Option<Zeroizing<Vec<u8>>>,
    /// Whether a lone Esc has become a key, with nothing after it yet.
    ends_with_escape: bool,
}

/// How many bytes the first key or report has, and what it means, if anything.
type Parsed = Result<(usize, Option<Message>), Incomplete>;

/// The bytes are the start of something, which waits so long for its rest.
#[derive(Debug)]
struct Incomplete(Duration);

impl Parser {
    pub fn new() -> Self {
        Self {
            bytes: Zeroizing::new(Vec::with_capacity(2 * MAX_SEQUENCE_LEN)),
            paste: None,
            ends_with_escape: false,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if std::mem::take(&mut self.ends_with_escape) {
            if is_rest_of_sequence(bytes) {
                return;
            }
            if bytes.starts_with(&BACKGROUND_REPORT[1..]) {
                self.bytes.push(ESC);
            }
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message, if all its bytes have arrived.
    pub fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(paste) = &mut self.paste {
                let searched = paste.len().saturating_sub(PASTE_END.len());
                paste.append(&mut self.bytes);
                let mut windows = paste[searched..].windows(PASTE_END.len());
                let end = searched + windows.position(|window| window == PASTE_END)?;
                self.bytes
                    .extend_from_slice(&paste[end + PASTE_END.len()..]);
                paste.truncate(end);
                return self.take_paste();
            }
            if self.bytes.starts_with(PASTE_START) {
                self.bytes.drain(..PASTE_START.len());
                self.paste = Some(Zeroizing::new(Vec::with_capacity(1_024)));
                continue;
            }
            let (len, message) = parse(&self.bytes).ok()?;
            self.bytes.drain(..len);
            if message.is_some() {
                return message;
            }
        }
    }

    /// How long what has arrived waits for its rest; `None` if nothing waits.
    pub fn timeout(&self) -> Option<Duration> {
        if self.paste.is_some() {
            return Some(PASTE_TIMEOUT);
        }
        if self.bytes.is_empty() {
            return None;
        }
        parse(&self.bytes).err().map(|Incomplete(timeout)| timeout)
    }

    /// Ends the wait for the rest:
    /// returns the key or the paste that has arrived, and drops the start of a sequence.
    pub fn give_up(&mut self) -> Option<Message> {
        if self.paste.is_some() {
            return self.take_paste();
        }
        let message = match **self.bytes {
            [ESC] => Some(key(KeyCode::Esc, KeyModifiers::NONE)),
            [ESC, letter] if begins_sequence(letter) => {
                Some(key(KeyCode::Char(letter.into()), KeyModifiers::ALT))
            }
            _ => None,
        };
        self.ends_with_escape = **self.bytes == [ESC];
        self.bytes.clear();
        message
    }

    fn take_paste(&mut self) -> Option<Message> {
        let paste = self.paste.take()?;
        let text = String::from_utf8_lossy(&paste);
        Some(Message::Pasted(SecretInput::new(&text)))
    }
}

/// Whether Esc with this letter begins a sequence: CSI, SS3, or a string
/// (OSC, DCS, SOS, PM, APC).
const fn begins_sequence(letter: u8) -> bool {
    matches!(letter, b'[' | b'O' | b']' | b'P' | b'X' | b'^' | b'_')
}

/// Whether these are all bytes of a control sequence but its Esc.
///
/// A slow line has sent that long before; fingers do not type a sequence with parameters at once.
fn is_rest_of_sequence(bytes: &[u8]) -> bool {
    let has_parameters = matches!(bytes, [b'[', b'0'..=b'?', ..]);
    let rest = || parse_control_sequence(&bytes[1..], 1);
    has_parameters && rest().is_ok_and(|(len, _)| len == bytes.len())
}

fn parse(bytes: &[u8]) -> Parsed {
    // Each of these sequences also begins with one control character of 8 bits (C1), which has two
    // bytes in UTF-8.
    let (letter, before) = match *bytes {
        [ESC] => return Err(Incomplete(ESCAPE_TIMEOUT)),
        [ESC, ESC, ..] => return Ok((1, Some(key(KeyCode::Esc, KeyModifiers::NONE)))),
        [ESC, letter] if begins_sequence(letter) => return Err(Incomplete(PREFIX_TIMEOUT)),
        [ESC, letter, ..] if begins_sequence(letter) => (letter, 2),
        [ESC, ref rest @ ..] => return parse_char(rest, 1, KeyModifiers::ALT),
        [0xc2, control @ 0x80..=0x9f, ..] => (control - 0x40, 2),
        [control @ 0x80..=0x9f, ..] => (control - 0x40, 1),
        _ => return parse_char(bytes, 0, KeyModifiers::NONE),
    };
    let rest = &bytes[before..];
    match letter {
        b'[' => parse_control_sequence(rest, before),
        b'O' => match rest.first() {
            Some(letter) => Ok((before + 1, keyed(&LETTER_KEYS, *letter, KeyModifiers::NONE))),
            None => Err(Incomplete(SEQUENCE_TIMEOUT)),
        },
        letter if begins_sequence(letter) => {
            let (len, report) = parse_string(rest, before, bytes[0] != ESC)?;
            Ok((len, report.filter(|_| letter == b']')))
        }
        // Another control character of 8 bits.
        _ => Ok((before, None)),
    }
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Message {
    Message::KeyPressed(Key::new(code, modifiers))
}

fn keyed<T: PartialEq + Copy>(
    keys: &[(T, KeyCode)],
    of: T,
    modifiers: KeyModifiers,
) -> Option<Message> {
    let (_, code) = keys.iter().find(|(id, _)| *id == of)?;
    Some(key(*code, modifiers))
}

/// Parses a typed character; `before` bytes are in front of it.
fn parse_char(bytes: &[u8], before: usize, modifiers: KeyModifiers) -> Parsed {
    let control = |letter: u8| (KeyCode::Char(letter.into()), KeyModifiers::CONTROL);
    let (code, held) = match bytes.first() {
        Some(b'\r') => (KeyCode::Enter, KeyModifiers::NONE),
        Some(b'\t') => (KeyCode::Tab, KeyModifiers::NONE),
        Some(b'\x7f') => (KeyCode::Backspace, KeyModifiers::NONE),
        Some(0) => control(b' '),
        Some(byte @ 1..=26) => control(byte - 1 + b'a'),
        Some(byte @ 28..=31) => control(byte - 28 + b'4'),
        _ => return parse_letter(bytes, before, modifiers),
    };
    Ok((before + 1, Some(key(code, modifiers | held))))
}

/// Parses a character in UTF-8.
fn parse_letter(bytes: &[u8], before: usize, modifiers: KeyModifiers) -> Parsed {
    let first = &bytes[..bytes.len().min(4)];
    let valid = match str::from_utf8(first) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() == 0 => {
            let invalid = error.error_len().ok_or(Incomplete(SEQUENCE_TIMEOUT))?;
            return Ok((before + invalid, None));
        }
        Err(error) => {
            str::from_utf8(&first[..error.valid_up_to()]).expect("it is valid up to here")
        }
    };
    let letter = valid.chars().next().ok_or(Incomplete(SEQUENCE_TIMEOUT))?;
    let len = before + letter.len_utf8();
    Ok((len, Some(key(KeyCode::Char(letter), modifiers))))
}

/// Parses what follows `ESC [`, which are the `before` bytes in front of it.
fn parse_control_sequence(bytes: &[u8], before: usize) -> Parsed {
    let is_parameter = |byte: &u8| (0x20..0x40).contains(byte);
    let mut parameters = bytes.iter().take(MAX_SEQUENCE_LEN);
    let Some(end) = parameters.position(|byte| !is_parameter(byte)) else {
        return incomplete(bytes, before);
    };
    let last = bytes[end];
    if !(0x40..0x7f).contains(&last) {
        // Another key has cut the sequence.
        return Ok((before + end, None));
    }
    let len = before + end + 1;
    let parameters = str::from_utf8(&bytes[..end]).expect("parameters are ASCII");
    if let Some(mouse) = parameters.strip_prefix('<') {
        return Ok((len, parse_mouse(mouse, last).map(Message::Mouse)));
    }
    let number = |index| -> Option<u32> {
        let parameter = parameters.split(';').nth(index)?;
        parameter.split(':').next()?.parse().ok()
    };
    let modifiers = modifiers(number(1).unwrap_or(1));
    let message = match (last, number(0)) {
        // Function keys of the Linux console: `ESC [ [ A` to `E`.
        (b'[', None) if end == 0 => match bytes.get(1) {
            Some(letter @ b'A'..=b'E') => {
                let code = KeyCode::F(letter - b'A' + 1);
                return Ok((len + 1, Some(key(code, modifiers))));
            }
            Some(_) => return Ok((len + 1, None)),
            None => return incomplete(bytes, before),
        },
        // A terminal without extended mouse reports: three bytes follow.
        (b'M', None) if end == 0 && bytes.len() < 4 => return incomplete(bytes, before),
        (b'M', None) if end == 0 => return Ok((len + 3, None)),
        (b'~', Some(number)) => keyed(&NUMBER_KEYS, number, modifiers),
        // The mode is known: set, or reset.
        (b'y', None) if ["?69;1$", "?69;2$"].contains(&parameters) => {
            Some(Message::MarginsReported)
        }
        (b'u', Some(code)) => parse_code(code, modifiers).map(|code| key(code, modifiers)),
        // Another number is that of a report, as of the position of the cursor.
        (_, None | Some(1)) => keyed(&LETTER_KEYS, last, modifiers),
        _ => None,
    };
    Ok((len, message))
}

/// A sequence that has no end yet, or is longer than any.
fn incomplete(bytes: &[u8], before: usize) -> Parsed {
    if bytes.len() > MAX_SEQUENCE_LEN {
        return Ok((before + MAX_SEQUENCE_LEN, None));
    }
    Err(Incomplete(SEQUENCE_TIMEOUT))
}

/// The modifiers that a sequence counts from 1.
fn modifiers(number: u32) -> KeyModifiers {
    let bits = number.saturating_sub(1);
    let by_bit = [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
    ];
    let held = by_bit.iter().filter(|(bit, _)| bits & bit != 0);
    held.map(|(_, modifier)| *modifier).collect()
}

/// The key of a code point, as in `ESC [ 97 ; 5 u`.
fn parse_code(code: u32, modifiers: KeyModifiers) -> Option<KeyCode> {
    Some(match char::from_u32(code)? {
        '\r' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        '\x1b' => KeyCode::Esc,
        '\x7f' => KeyCode::Backspace,
        letter if modifiers.contains(KeyModifiers::SHIFT) => {
            KeyCode::Char(letter.to_uppercase().next()?)
        }
        letter => KeyCode::Char(letter),
    })
}

/// Parses a mouse report (mode 1006) without its start:
/// `0;12;5`, and `M` for a press or `m` for a release.
fn parse_mouse(report: &str, last: u8) -> Option<MouseInput> {
    const MAIN: u16 = 0;
    const SECOND: u16 = 2;
    const DRAGGED: u16 = 32;
    const WHEEL_UP: u16 = 64;
    const WHEEL_DOWN: u16 = 65;
    const HELD_KEYS: u16 = 4 | 8 | 16;
    let mut numbers = report.split(';').map(str::parse::<u16>);
    let mut next = || numbers.next()?.ok();
    let (button, column, row) = (next()?, next()?, next()?);
    let at = Position::new(column.checked_sub(1)?, row.checked_sub(1)?);
    match (button & !HELD_KEYS, last) {
        (MAIN, b'M') => Some(MouseInput::Pressed(at)),
        (MAIN, b'm') => Some(MouseInput::Released),
        (SECOND, b'M') => Some(MouseInput::SecondPressed(at)),
        (DRAGGED, b'M') => Some(MouseInput::Dragged(at)),
        (WHEEL_UP, b'M') => Some(MouseInput::Scrolled { at, down: false }),
        (WHEEL_DOWN, b'M') => Some(MouseInput::Scrolled { at, down: true }),
        _ => None,
    }
}

/// Parses a string, up to its end (ST or BEL).
/// Only the background is of use: `11;rgb:1e1e/1e1e/1e1e BEL`, after `ESC ]`.
fn parse_string(bytes: &[u8], before: usize, is_8_bit: bool) -> Parsed {
    let ends = |byte: &u8| byte.is_ascii_control() || (is_8_bit && *byte == 0x9c);
    let Some(end) = bytes.iter().take(MAX_SEQUENCE_LEN).position(ends) else {
        return incomplete(bytes, before);
    };
    let len = match bytes[end..] {
        [BEL | 0x9c, ..] => end + 1,
        [ESC, b'\\', ..] => end + 2,
        [ESC] => return incomplete(bytes, before),
        // Another key has cut the string.
        _ => return Ok((before + end, None)),
    };
    let colour = bytes[..end].strip_prefix(b"11;");
    let background = colour
        .and_then(|colour| str::from_utf8(colour).ok())
        .and_then(Background::parse);
    Ok((before + len, background.map(Message::BackgroundReported)))
}
