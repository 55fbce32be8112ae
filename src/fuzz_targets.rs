//! The bodies of the fuzz targets:
//! what must hold for every input of a parser of foreign data.
//!
//! `fuzz/` runs them with libFuzzer, `tests/suite/fuzz.rs` as short property tests. Each panics if
//! its property does not hold.

use std::collections::BTreeSet;
use std::iter;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::api::parse_page;
use crate::app::{Key, Message};
use crate::archive::{Archive, ArchiveLocation, ListingPage, PagePosition, WindowAnchor};
use crate::config::check_config;
use crate::query::{ParseContext, parse};
use crate::render::lay_out_html;
use crate::text::sanitize::{sanitize_block, sanitize_line};
use crate::text::width::DisplayWidth as _;
use crate::tui::InputParser;

/// Any text is a query, and its canonical text means the same.
pub fn query(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let now = Timestamp::from_second(1_795_000_000).expect("a time in 2026");
    let context = ParseContext::new(now, TimeZone::UTC);
    let once = parse(&text, &context).query;
    let canonical = once.to_string();
    let twice = parse(&canonical, &context).query;
    assert_eq!(once, twice, "{text:?} became {canonical:?}");
}

/// Sanitized text commands no terminal, and sanitizing it again changes nothing.
pub fn sanitize(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let line = sanitize_line(&text);
    assert!(line.chars().all(is_harmless), "{line:?}");
    assert_eq!(sanitize_line(&line), line, "a line is stable");
    let block = sanitize_block(&text);
    assert!(
        block.chars().all(|c| c == '\n' || is_harmless(c)),
        "{block:?}"
    );
    assert_eq!(sanitize_block(&block), block, "a block is stable");
}

/// Whether a character is not a control character or a zero-width space,
/// and changes no direction. The sanitizer has its own list.
fn is_harmless(c: char) -> bool {
    let is_bidi = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !is_bidi && !matches!(c, '\u{200b}' | '\u{2028}' | '\u{2029}')
}

/// Html becomes lines within the width, without control characters,
/// and the same lines each time. The first byte is the width.
pub fn html(data: &[u8]) {
    let Some((&width, html)) = data.split_first() else {
        return;
    };
    let (width, html) = (u16::from(width), String::from_utf8_lossy(html));
    let body = lay_out_html(&html, width);
    for line in &body.lines {
        let columns: usize = line.spans.iter().map(|span| span.text.width()).sum();
        let text = line.text();
        assert!(!text.chars().any(char::is_control), "{text:?}");
        assert!(
            line.wide || columns <= usize::from(width),
            "{text:?} at {width}"
        );
    }
    assert_eq!(body, lay_out_html(&html, width), "layout is deterministic");
}

/// Every email of a page that can be read has an id, and becomes a row of the
/// archive.
pub fn json_page(data: &[u8]) {
    let Some(page) = parse_page(data) else {
        return;
    };
    let ids: BTreeSet<String> = page.items.iter().map(|item| item.id.clone()).collect();
    assert!(!ids.contains(""), "an email has an id");
    let archive = Archive::open(&ArchiveLocation::Memory).expect("memory is writable");
    let listing = ListingPage {
        items: page.items,
        position: PagePosition::Top,
        oldest_first: false,
        requested: Timestamp::UNIX_EPOCH.into(),
    };
    let merged = archive
        .merge_page(&listing)
        .expect("any page can be stored");
    assert_eq!(merged.new.len(), ids.len());
    let window = archive
        .window(&WindowAnchor::Top, ids.len() + 1)
        .expect("the archive can be read");
    let stored: BTreeSet<String> = window
        .rows
        .iter()
        .map(|row| row.summary.id.as_str().to_owned())
        .collect();
    assert_eq!(stored, ids, "each email is a row");
    let subjects = window.rows.iter().map(|row| &row.summary.subject);
    for subject in subjects {
        assert!(subject.chars().all(is_harmless), "{subject:?}");
    }
}

/// A configuration is read to its end, and each problem has a line.
pub fn config(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for problem in check_config(&text) {
        let line = problem
            .strip_prefix("config.toml:")
            .and_then(|rest| rest.split(':').next()?.parse().ok());
        assert!(
            line.is_some_and(|line: usize| line > 0),
            "{problem:?} has no line"
        );
    }
}

/// The input of a terminal means the same however it is split,
/// and no part of it makes the keys dead.
pub fn terminal_input(data: &[u8]) {
    let read = |parser: &mut InputParser, bytes: &[u8]| -> Vec<Message> {
        parser.push(bytes);
        iter::from_fn(|| parser.next()).collect()
    };
    let mut whole = InputParser::new();
    let mut split = InputParser::new();
    let at_once = read(&mut whole, data);
    let one_by_one = data.iter().flat_map(|byte| read(&mut split, &[*byte]));
    let one_by_one: Vec<Message> = one_by_one.collect();
    assert_eq!(at_once, one_by_one, "{data:?}");
    if whole.timeout().is_some() {
        whole.give_up();
    }
    let key = Key::parse("j").expect("it is a key");
    let expected = [Message::KeyPressed(key)];
    assert_eq!(read(&mut whole, b"j"), expected, "{data:?}");
}
