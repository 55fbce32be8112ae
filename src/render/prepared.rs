//! `Prepared`: one view of one email, taken apart once, to be laid out at any width.

use super::body::{Body, Line, Mark, Note, NoteKind, Role, View};
use super::contained::contained;
use super::flow::{self, Piece};
use super::page::Page;
use super::raw::Raw;
use super::source::Source;
use super::text::{MAX_LINES, Text};
use super::{check, notes};
use crate::mail::Email;
use crate::mail::clean::{self, Place};

/// A narrower screen shows nothing that could be read; it gets lines of this width, marked as wide.
const MIN_WIDTH: usize = 8;

/// More text than is worth showing.
const MAX_TEXT: usize = 4 << 20;

/// More JSON than the service sends; its long strings are folded, so it is never shown whole.
const MAX_JSON: usize = 32 << 20;

/// One view of one email, taken apart once.
///
/// Making it reads and judges the html, which may take some milliseconds; laying it out again at
/// another width is cheaper. It can be kept and shared between threads.
#[derive(Debug)]
pub struct Prepared {
    what: What,
    notes: Vec<Note>,
}

#[derive(Debug)]
enum What {
    Page(Box<Page>),
    Text(Text),
    Source(Source),
    Raw(Raw),
    /// There is nothing; the words say what is missing.
    Nothing(&'static str),
}

impl Prepared {
    /// Takes the parts of `email` apart that `view` shows.
    #[must_use]
    pub fn new(email: &Email, view: View) -> Self {
        let html = email.html.as_deref().filter(|html| !html.trim().is_empty());
        let text = email.text.as_deref().filter(|text| !text.trim().is_empty());
        match (view, html, text) {
            (View::Rendered, Some(html), _) => {
                let mut prepared = Self::page(html, text);
                if let What::Page(page) = &prepared.what {
                    prepared
                        .notes
                        .extend(check::text_part(&page.words(), email.text.as_deref()));
                }
                prepared
            }
            (View::Rendered | View::Text, None, Some(text)) | (View::Text, Some(_), Some(text)) => {
                Self::text(text)
            }
            (View::Rendered, None, None) => Self::nothing("This email has no content."),
            (View::Text, _, None) => Self::nothing("This email has no plain-text part."),
            (View::Source, Some(html), _) => {
                Self::cleaned(html, |html| What::Source(Source::new(html)))
            }
            (View::Source, None, _) => Self::nothing("This email has no html part."),
            (View::Raw, _, _) => Self::raw(&email.json),
        }
    }

    /// Takes an html source apart that belongs to no email.
    #[must_use]
    pub fn html(source: &str) -> Self {
        Self::page(source, None)
    }

    /// Lays it out for a screen of `width` columns.
    #[must_use]
    pub fn at(&self, width: u16) -> Body {
        let width = usize::from(width);
        let inner = width.max(MIN_WIDTH);
        let mut body = match &self.what {
            What::Page(page) => laid_out(page, inner),
            What::Text(text) => text.at(inner),
            What::Source(source) => source.at(inner),
            What::Raw(raw) => raw.at(inner),
            What::Nothing(words) => Body {
                lines: note_lines(words, inner),
                ..Body::default()
            },
        };
        body.notes.splice(0..0, self.notes.iter().cloned());
        if body.lines.len() > MAX_LINES {
            body.lines.truncate(MAX_LINES);
            body.notes.push(notes::cut("it has more than 50 000 lines"));
        }
        let said = body
            .notes
            .iter()
            .filter(|note| matches!(note.kind, NoteKind::Cut | NoteKind::Instead));
        let said: Vec<Line> = said
            .flat_map(|note| [vec![Line::default()], note_lines(&note.sentence, inner)].concat())
            .collect();
        body.lines.extend(said);
        for line in &mut body.lines {
            line.wide |= width < MIN_WIDTH && flow::width_of(&line.spans) > width;
        }
        body
    }

    fn page(html: &str, text: Option<&str>) -> Self {
        let prepared = Self::page_or_part(html, text);
        match &prepared.what {
            What::Page(page) if page.is_empty() => Self {
                what: What::Nothing("The html part shows nothing."),
                ..prepared
            },
            What::Page(_) | What::Text(_) | What::Source(_) | What::Raw(_) | What::Nothing(_) => {
                prepared
            }
        }
    }

    fn page_or_part(html: &str, text: Option<&str>) -> Self {
        // The libraries that read and lay out have panicked on odd input before. A person who
        // looks at such an email still sees its words, and is told.
        let read = contained(|| Page::new(html));
        match (read, text) {
            (Some(page), _) => {
                let notes = page.notes.clone();
                Self {
                    what: What::Page(Box::new(page)),
                    notes,
                }
            }
            (None, Some(text)) => {
                let mut prepared = Self::text(text);
                prepared.notes.push(notes::instead(
                    "the html part could not be laid out; this is the text part",
                ));
                prepared
            }
            (None, None) => {
                let mut prepared = Self::cleaned(html, |html| What::Source(Source::new(html)));
                prepared.notes.push(notes::instead(
                    "the html part could not be laid out; this is its source",
                ));
                prepared
            }
        }
    }

    fn text(text: &str) -> Self {
        Self::cleaned(text, |text| What::Text(Text::new(text)))
    }

    fn raw(json: &str) -> Self {
        let clipped = clip(json, MAX_JSON);
        let cut = (clipped.len() < json.len()).then(|| notes::cut("it is larger than 32 MB"));
        Self {
            what: What::Raw(Raw::new(clipped)),
            notes: cut.into_iter().collect(),
        }
    }

    fn cleaned(foreign: &str, make: impl FnOnce(&str) -> What) -> Self {
        let clipped = clip(foreign, MAX_TEXT);
        let cleaned = clean::clean(clipped, Place::Block);
        let mut notes = Vec::new();
        if clipped.len() < foreign.len() {
            notes.push(notes::cut("it is larger than 4 MB"));
        }
        let removed = cleaned.removed.controls + cleaned.removed.bidi;
        if removed > 0 {
            notes.push(notes::removed(removed));
        }
        Self {
            what: make(&cleaned.text),
            notes,
        }
    }

    fn nothing(words: &'static str) -> Self {
        Self {
            what: What::Nothing(words),
            notes: Vec::new(),
        }
    }
}

/// The page, or its bare words should laying it out fail.
fn laid_out(page: &Page, width: usize) -> Body {
    contained(|| page.at(width)).unwrap_or_else(|| {
        let mut body = Text::new(&page.words()).at(width);
        body.notes.push(notes::instead(
            "the html part could not be laid out; these are its words",
        ));
        body
    })
}

fn note_lines(sentence: &str, width: usize) -> Vec<Line> {
    let mark = Mark {
        role: Role::Note,
        ..Mark::default()
    };
    flow::wrap(
        &[Piece {
            text: sentence,
            mark,
            whole: false,
        }],
        width,
        &[],
        &[],
    )
}

fn clip(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
