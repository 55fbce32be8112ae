//! The parser and its timeouts;
//! and keys as the bytes that a terminal sends for them, for all tests of the program.

use crossterm::event::{KeyCode, KeyModifiers};
use futures_util::stream;
use ratatui::layout::Position;
use secrecy::zeroize::Zeroizing;
use std::time::Duration;

use super::parser::{LETTER_KEYS, NUMBER_KEYS};
use super::*;
use crate::app::{Key, MouseInput};

/// Longer than any wait for the rest of a sequence.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn bytes_event(bytes: &[u8]) -> TerminalEvent {
    TerminalEvent::Bytes(Zeroizing::new(bytes.to_vec()))
}

/// The bytes that a terminal sends for a key.
pub fn encode(key: Key) -> Vec<u8> {
    let modifier = 1
        + u8::from(key.modifiers.contains(KeyModifiers::SHIFT))
        + 2 * u8::from(key.modifiers.contains(KeyModifiers::ALT))
        + 4 * u8::from(key.modifiers.contains(KeyModifiers::CONTROL));
    let plain = match key.code {
        KeyCode::Esc => "\x1b".to_owned(),
        KeyCode::Enter => "\r".to_owned(),
        KeyCode::Tab if modifier == 1 => "\t".to_owned(),
        KeyCode::Tab => "\x1b[Z".to_owned(),
        KeyCode::Backspace => "\x7f".to_owned(),
        KeyCode::Char(letter) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            char::from(u8::try_from(letter).unwrap() & 0x1f).to_string()
        }
        KeyCode::Char(letter) => letter.to_string(),
        code => {
            let by_letter = LETTER_KEYS.iter().find(|(_, other)| *other == code);
            let by_number = NUMBER_KEYS.iter().find(|(_, other)| *other == code);
            let sequence = by_letter.map_or_else(
                || {
                    format!(
                        "\x1b[{};{modifier}~",
                        by_number.expect("a key of a table").0
                    )
                },
                |(letter, _)| format!("\x1b[1;{modifier}{}", char::from(*letter)),
            );
            return sequence.into_bytes();
        }
    };
    let alt = key.modifiers.contains(KeyModifiers::ALT) && key.code != KeyCode::Tab;
    let before = if alt { "\x1b" } else { "" };
    format!("{before}{plain}").into_bytes()
}

fn describe(message: &Message) -> String {
    match message {
        Message::KeyPressed(key) => key.to_string(),
        Message::BackgroundReported(background) => background.label().to_owned(),
        Message::Pasted(text) => format!("paste {}", text.expose()),
        other => format!("{other:?}"),
    }
}

/// The input that is read from bytes that arrive in these pieces,
/// each so long after the one before.
async fn read_pieces(pieces: &[(Duration, &[u8])]) -> Vec<String> {
    let pieces: Vec<(Duration, Vec<u8>)> = pieces
        .iter()
        .map(|(wait, bytes)| (*wait, bytes.to_vec()))
        .collect();
    let arriving = stream::iter(pieces).then(|(wait, bytes)| async move {
        tokio::time::sleep(wait).await;
        Ok(bytes_event(&bytes))
    });
    let mut input = Input::new(Box::pin(arriving.chain(stream::pending())));
    let mut read = Vec::new();
    while let Ok(Some(message)) = tokio::time::timeout(PATIENCE, input.next()).await {
        read.push(describe(&message));
    }
    read
}

async fn read(bytes: &[u8]) -> Vec<String> {
    read_pieces(&[(Duration::ZERO, bytes)]).await
}

#[tokio::test(start_paused = true)]
async fn keys_are_read_with_their_modifiers() {
    let keys = "j G ä 漢 Space Enter Tab Shift-Tab Backspace Ctrl-d Alt-j Ctrl-Alt-j Alt-Backspace Up Down Left \
                Right Home End PgUp PgDn Insert Delete F1 F4 F5 F12 Ctrl-Up Shift-Down Ctrl-Alt-PgDn Alt-[ Alt-ä Alt-P Alt-X Alt-^ Alt-_";
    for name in keys.split(' ') {
        let bytes = encode(Key::parse(name).unwrap());
        assert_eq!(read(&bytes).await, [name]);
    }
    for (bytes, name) in [
        ("\x1bOA", "Up"),
        ("\x1bOP", "F1"),
        ("\x1b[H", "Home"),
        ("\x1b[7~", "Home"),
        ("\x1b[[A", "F1"),
        ("\x1b[[E", "F5"),
        ("\x1b[97;5u", "Ctrl-a"),
        ("\x1b[97;2u", "A"),
        ("\x1b[27u", "Esc"),
        ("\x00", "Ctrl-Space"),
        ("\n", "Ctrl-j"),
    ] {
        assert_eq!(read(bytes.as_bytes()).await, [name]);
    }
}

#[tokio::test(start_paused = true)]
async fn mouse_is_read_from_extended_reports() {
    let at = Position::new(11, 4);
    for (bytes, expected) in [
        ("\x1b[<0;12;5M", MouseInput::Pressed(at)),
        ("\x1b[<4;12;5M", MouseInput::Pressed(at)),
        ("\x1b[<0;12;5m", MouseInput::Released),
        ("\x1b[<2;12;5M", MouseInput::SecondPressed(at)),
        ("\x1b[<32;12;5M", MouseInput::Dragged(at)),
        ("\x1b[<64;12;5M", MouseInput::Scrolled { at, down: false }),
        ("\x1b[<65;12;5M", MouseInput::Scrolled { at, down: true }),
    ] {
        let expected = describe(&Message::Mouse(expected));
        assert_eq!(read(bytes.as_bytes()).await, [expected]);
    }
    let meaningless = b"\x1b[<35;12;5M\x1b[<0;0;5M\x1b[<66;1;1M\x1b[<0;99999;5M\x1b[M !!j";
    assert_eq!(read(meaningless).await, ["j"]);
}

#[tokio::test(start_paused = true)]
async fn report_of_background_is_no_keys() {
    for end in ["\x07", "\x1b\\"] {
        let text = format!("j\x1b]11;rgb:1e1e/1e1e/1E1E{end}k");
        assert_eq!(read(text.as_bytes()).await, ["j", "dark", "k"]);
    }
    let light = b"\x1b]11;rgba:ffff/ffff/ffff/ffff\x07";
    assert_eq!(read(light).await, ["light"]);
    assert_eq!(read(b"\x1b]11;white\x07j").await, ["j"]);
}

#[tokio::test(start_paused = true)]
async fn report_of_margins_is_no_keys() {
    for (mode, expected) in [
        ("?69;2", &["j", "MarginsReported", "k"][..]),
        ("?69;0", &["j", "k"]),
        ("?6;2", &["j", "k"]),
    ] {
        let reports = format!("j\x1b[{mode}$yk");
        assert_eq!(read(reports.as_bytes()).await, expected);
    }
}

/// Reports of the colour scheme, a mode, the cursor, the terminal's name,
/// the window's focus and title.
#[tokio::test(start_paused = true)]
async fn unknown_sequences_are_dropped_whole() {
    let reports =
        b"j\x1b[?997;1n\x1b[?2026;2$y\x1b[?62;22c\x1b[I\x1b[O\x1b]ltitle\x1b\\\x1b]52;c;aGk=\x07\x1bOzk";
    assert_eq!(read(reports).await, ["j", "k"]);
}

#[tokio::test(start_paused = true)]
async fn sequence_with_empty_parameters_is_dropped() {
    for sequence in [b"\x1b[;[".as_slice(), b"\x1b[;;;;M", b"\x1b[?M"] {
        assert_eq!(read(sequence).await, [""; 0], "{sequence:?}");
        assert_eq!(read(&[sequence, b"j"].concat()).await, ["j"]);
    }
}

/// Reports of the terminal's name and capabilities, an image and a private string,
/// also with control characters of 8 bits.
#[tokio::test(start_paused = true)]
async fn strings_of_a_terminal_are_no_keys() {
    for string in [
        b"\x1bP>|xterm(390)\x1b\\".as_slice(),
        b"\x1bP1+r544e=787465726d\x07",
        b"\x1b_Gi=1;OK\x1b\\",
        b"\x1b^qqq\x1b\\",
        b"\x1bXq\xc3\x9cq\x1b\\",
        b"\x1bP11;rgb:1e1e/1e1e/1e1e\x07",
        b"\x90qq\x9c",
        b"\xc2\x90qq\xc2\x9c",
        b"\x1b[24;80R",
        b"\x9b24;80R\x9c",
        b"\xc2\x9b?62;22c",
        b"\x9d11;white\x1b\\",
        b"\x8fz\x85",
    ] {
        let keys = [b"j", string, b"k"].concat();
        let whole = read(&keys).await;
        let soon = Duration::from_millis(90);
        for at in 3..=string.len() {
            let (start, rest) = keys.split_at(at);
            let split = read_pieces(&[(Duration::ZERO, start), (soon, rest)]).await;
            assert_eq!(split, whole, "{string:x?} at {at}");
        }
        assert_eq!(whole, ["j", "k"], "{string:x?}");
    }
    assert_eq!(read(b"\x9b6~\x8fA").await, ["PgDn", "Up"]);
    assert_eq!(read(b"\x1bPqq\x1b[Aj").await, ["Up", "j"]);
}

#[tokio::test(start_paused = true)]
async fn cut_sequence_ends_after_its_timeout() {
    for cut in [
        "\x1bP>|xte",
        "\x1b_Gi=1\x1b",
        "\x1b[?",
        "\x1b[<",
        "\x1b[<0;12",
        "\x1b[M!",
        "\x1b[[",
        "\x1b]11;rgb:1e1e/1e",
        "\x1b]11;rgb:1e1e/1e\x1b",
    ] {
        let later = (Duration::from_secs(2), b"j".as_slice());
        let pieces = [(Duration::ZERO, cut.as_bytes()), later];
        assert_eq!(read_pieces(&pieces).await, ["j"], "{cut:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn control_key_or_length_ends_a_cut_sequence() {
    assert_eq!(read(b"\x1b[?\x03").await, ["Ctrl-c"]);
    assert_eq!(read(b"\x1b]11;\rj").await, ["Enter", "j"]);
    let too_long = [b"\x1b[".as_slice(), &[b'1'; 4_096], b"j"].concat();
    assert_eq!(read(&too_long).await, ["j"]);
}

#[tokio::test(start_paused = true)]
async fn split_escape_sequence_is_one_key() {
    let soon = Duration::from_millis(20);
    let up: [(Duration, &[u8]); 3] = [(soon, b"\x1b"), (soon, b"["), (soon, b"A")];
    assert_eq!(read_pieces(&up).await, ["Up"]);
    let page_down: [(Duration, &[u8]); 2] = [(soon, b"j\x1b[6"), (soon * 20, b"~k")];
    assert_eq!(read_pieces(&page_down).await, ["j", "PgDn", "k"]);
    let letter: [(Duration, &[u8]); 2] = [(soon, b"\xc3"), (soon, b"\xa4")];
    assert_eq!(read_pieces(&letter).await, ["ä"]);
}

#[tokio::test(start_paused = true)]
async fn late_rest_of_a_report_is_dropped() {
    for report in ["[1;1R", "[?62;c", "[<0;3;4M"] {
        let pieces: [(Duration, &[u8]); 3] = [
            (Duration::ZERO, b"\x1b"),
            (Duration::from_millis(350), report.as_bytes()),
            (Duration::from_millis(350), b"[1;1R"),
        ];
        let typed = ["Esc", "[", "1", ";", "1", "R"];
        assert_eq!(read_pieces(&pieces).await, typed, "{report}");
    }
}

#[tokio::test(start_paused = true)]
async fn late_report_of_the_background_is_not_typed() {
    let late = Duration::from_millis(350);
    for rest in ["1e1e/1e1e\x07k", "1e1e/1e1e\x1b\\k", "\x07k"] {
        let pieces: [(Duration, &[u8]); 3] = [
            (Duration::ZERO, b"\x1b"),
            (late, b"]11;rgb:1e1e/"),
            (late, rest.as_bytes()),
        ];
        let read = read_pieces(&pieces).await;
        assert_eq!(
            (&*read[0], &*read[read.len() - 1]),
            ("Esc", "k"),
            "{rest:?}"
        );
        assert!(read.len() <= 3, "{read:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn lone_escape_is_a_key_after_timeout() {
    assert_eq!(read(b"\x1b").await, ["Esc"]);
    assert_eq!(read(b"\x1b\x1b").await, ["Esc", "Esc"]);
    let later: [(Duration, &[u8]); 2] =
        [(Duration::ZERO, b"\x1b"), (Duration::from_millis(30), b"[")];
    assert_eq!(read_pieces(&later).await, ["Esc", "["]);
    let typed: [(Duration, &[u8]); 2] = [
        (Duration::ZERO, b"\x1b"),
        (Duration::from_millis(30), b"[1;"),
    ];
    assert_eq!(read_pieces(&typed).await, ["Esc", "[", "1", ";"]);
    assert_eq!(read(b"\x1b]").await, ["Alt-]"]);
}

#[tokio::test(start_paused = true)]
async fn invalid_utf8_is_dropped() {
    assert_eq!(read(b"\xff\xc3j\xe6\xbc").await, ["j"]);
    assert_eq!(read(b"\x1b\xffj\x1b\xc3").await, ["j"]);
}

#[tokio::test(start_paused = true)]
async fn paste_is_text_whatever_it_contains() {
    let paste = "\x1b[200~q\r\x1b[A\x1b[200~ä\x1b[201~j";
    let expected = ["paste q\r\x1b[A\x1b[200~ä", "j"];
    assert_eq!(read(paste.as_bytes()).await, expected);
}

#[tokio::test(start_paused = true)]
async fn cut_paste_ends_after_its_timeout() {
    let pieces: [(Duration, &[u8]); 3] = [
        (Duration::ZERO, b"\x1b[200~one"),
        (Duration::from_secs(2), b" two\x1b[20"),
        (Duration::from_secs(4), b"j"),
    ];
    assert_eq!(read_pieces(&pieces).await, ["paste one two\x1b[20", "j"]);
}
