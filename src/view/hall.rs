//! Draws the hall: set-up, profiles, questions. What can be chosen is always to be seen; where there
//! is little room, what is only good to know gives way.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::cut;
use super::look::{Look, Theme};
use crate::app::hall::{Face, Field, Form, Item, Question, Welcome};
use crate::app::keys::Focus;
use crate::app::{Command, Hall, Keys, Layout, Model, Side};
use crate::failure::Failure;

/// Text is no wider than this.
const WIDEST: u16 = 96;
/// From this many columns on, what there is to say about an item stands beside its name.
const ROOMY: usize = 88;
/// Columns of a label and the blanks after it.
const LABEL: usize = 9;

/// Lines that stay or go together. Where there is no room for all, those with the highest number go first.
struct Block<'a> {
    rank: u8,
    lines: Vec<Line<'a>>,
}

/// Draws the hall if one stands in it; says whether one does.
pub fn draw(model: &Model, layout: &Layout, look: &Look, frame: &mut Frame) -> bool {
    let Some(hall) = &model.hall else {
        return false;
    };
    let left = if layout.main.width > 60 { 2 } else { 1 };
    let width = layout.main.width.saturating_sub(2 * left);
    let area = Rect {
        x: layout.main.x + left,
        width,
        ..layout.main
    };
    let items = hall.items(&model.door);
    let columns = usize::from(width.min(WIDEST));
    // A heading and the state have their lines whatever happens.
    let room =
        usize::from(area.height).saturating_sub(1 + state(hall, &model.keys, columns, look).len());
    let blocks = match &hall.face {
        Face::SetUp {
            welcome,
            form: Some(form),
        } => filling(hall, &model.keys, welcome, form, columns, look),
        Face::SetUp {
            welcome,
            form: None,
        } => set_up(
            hall,
            &model.keys,
            welcome,
            menu(hall, &items, columns, room, look),
            columns,
            look,
        ),
        Face::Profiles(choices) => {
            let title = block(0, vec![Line::styled("Profiles", Theme::title())]);
            let none = Line::styled("reading the configuration", Theme::chrome());
            let shown = if choices.is_awaiting() {
                vec![none]
            } else {
                menu(hall, &items, usize::from(width), room, look)
            };
            let more = wrapped(
                "Another one: leave, and run sentbox login --profile NAME",
                columns,
                Style::new(),
            );
            vec![
                title,
                block(0, shown),
                block(0, state(hall, &model.keys, columns, look)),
                block(2, more),
            ]
        }
        Face::Question { question, .. } => asking(
            hall,
            &model.keys,
            question,
            menu(hall, &items, columns, room, look),
            columns,
            look,
        ),
    };
    let y = put(blocks, area, frame);
    if let Some(form) = hall.form().filter(|_| !hall.is_waiting()) {
        cursor(form, Rect { y, ..area }, look, frame);
    }
    true
}

fn block(rank: u8, lines: Vec<Line<'_>>) -> Block<'_> {
    Block { rank, lines }
}

/// Writes as many blocks as fit, with a blank line between them where there is room for it; gives
/// the line on which the second block begins.
fn put(mut blocks: Vec<Block>, area: Rect, frame: &mut Frame) -> u16 {
    let room = usize::from(area.height);
    blocks.retain(|block| !block.lines.is_empty());
    let lines = |blocks: &[Block]| blocks.iter().map(|block| block.lines.len()).sum::<usize>();
    while lines(&blocks) > room
        && let Some(rank) = blocks
            .iter()
            .map(|block| block.rank)
            .max()
            .filter(|rank| *rank > 0)
    {
        let last = blocks
            .iter()
            .rposition(|block| block.rank == rank)
            .expect("it was found just now");
        blocks.remove(last);
    }
    let gaps = blocks.len().saturating_sub(1);
    let gap = u16::from(lines(&blocks) + gaps <= room);
    let top = u16::from(lines(&blocks) + gaps + 2 <= room);
    let mut y = area.y + top;
    let mut second = y;
    for (n, block) in blocks.iter().enumerate() {
        if n == 1 {
            second = y;
        }
        for line in &block.lines {
            if y < area.bottom() {
                frame.buffer_mut().set_line(area.x, y, line, area.width);
            }
            y += 1;
        }
        y += gap;
    }
    second
}

fn set_up<'a>(
    hall: &Hall,
    keys: &Keys,
    welcome: &'a Welcome,
    menu: Vec<Line<'a>>,
    columns: usize,
    look: &Look,
) -> Vec<Block<'a>> {
    let what = "The sent box of a team, in a terminal: did we send it, what did it say, what became of it?";
    let (why, places) = match &welcome.place {
        Ok(places) => {
            let why = "There is no API key yet. With one, sentbox shows what your team has sent, and keeps:";
            let place = |(label, text): &(&str, String)| labelled(label, text, columns);
            (
                wrapped(why, columns, Style::new()),
                places.iter().flat_map(place).collect(),
            )
        }
        Err(failure) => (trouble(failure, columns, look), Vec::new()),
    };
    vec![
        block(3, wrapped(what, columns, Theme::title())),
        block(1, why),
        block(2, places),
        block(0, menu),
        block(0, state(hall, keys, columns, look)),
        block(4, wrapped(&welcome.otherwise, columns, Style::new())),
    ]
}

fn filling<'a>(
    hall: &Hall,
    keys: &Keys,
    welcome: &Welcome,
    form: &Form,
    columns: usize,
    look: &Look,
) -> Vec<Block<'a>> {
    let theme = &look.theme;
    let letters = form.key().letters();
    let dots = look
        .glyphs
        .hidden
        .repeat(letters.min(columns.saturating_sub(LABEL + 16)));
    let count = match letters {
        0 => "paste or type it; not shown".to_owned(),
        1 => "  1 letter".to_owned(),
        _ => format!("  {letters} letters"),
    };
    let (_, scroll) = form.columns(columns.saturating_sub(LABEL));
    let line = |field: Field, label: &'static str, value: Vec<Span<'static>>| {
        let here = form.field() == field;
        let label = Span::styled(
            format!("{label:<LABEL$}"),
            if here { theme.accent() } else { Style::new() },
        );
        Line::from([vec![label], value].concat())
    };
    let url = cut::skip(form.base_url(), scroll);
    let fields = vec![
        line(
            Field::Key,
            "key",
            vec![Span::raw(dots), Span::styled(count, Theme::chrome())],
        ),
        line(
            Field::BaseUrl,
            "service",
            vec![Span::raw(cut::fit(
                &url,
                columns.saturating_sub(LABEL),
                look.glyphs.ellipsis,
            ))],
        ),
    ];
    let stored = welcome
        .place
        .iter()
        .flatten()
        .find(|(label, _)| *label == "key")
        .map(|(_, place)| place.clone());
    let what = format!(
        "The key goes to this service alone, with one small request. If it may read, which takes full access, \
         it is stored in {}.",
        stored.unwrap_or_default()
    );
    let key = |command| keys.key_for(Focus::Prompt, command).unwrap_or_default();
    let acts = [
        (Command::Accept, " log in  "),
        (Command::Complete(Side::Right), " other line  "),
        (Command::Cancel, " back"),
    ];
    let acts: Vec<Span> = acts
        .into_iter()
        .flat_map(|(command, words)| [Span::styled(key(command), theme.accent()), Span::raw(words)])
        .collect();
    vec![
        block(1, vec![Line::styled("Log in", Theme::title())]),
        block(0, fields),
        block(0, state(hall, keys, columns, look)),
        block(2, wrapped(&what, columns, Style::new())),
        block(0, vec![Line::from(acts)]),
    ]
}

fn asking<'a>(
    hall: &Hall,
    keys: &Keys,
    question: &'a Question,
    menu: Vec<Line<'a>>,
    columns: usize,
    look: &Look,
) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block> = Vec::new();
    for (n, sentence) in question.about.iter().enumerate() {
        let style = if n == 0 { Theme::title() } else { Style::new() };
        blocks.push(block(
            u8::try_from(n).unwrap_or(u8::MAX),
            wrapped(sentence, columns, style),
        ));
    }
    blocks.push(block(0, menu));
    blocks.push(block(0, state(hall, keys, columns, look)));
    blocks
}

/// What can be chosen, and beside or below each name what there is to say about it; where there is
/// no room for that, only about the one that is marked, and of the names those around it.
fn menu<'a>(
    hall: &Hall,
    items: &[Item],
    columns: usize,
    room: usize,
    look: &Look,
) -> Vec<Line<'a>> {
    let widest = |nth: usize| {
        items
            .iter()
            .filter_map(|item| item.words.get(nth))
            .map(|words| words.width())
            .max()
            .unwrap_or(0)
    };
    let names = items
        .iter()
        .map(|item| item.label.width())
        .max()
        .unwrap_or(0);
    let parts = items.iter().map(|item| item.words.len()).max().unwrap_or(0);
    let all: usize = (0..parts).map(|nth| widest(nth) + 2).sum();
    let beside = names + 4 + all <= columns || (parts <= 1 && columns >= ROOMY);
    let brief = items.len() * 2 > room;
    let mut lines = Vec::new();
    let mut marked = 0;
    for (nth, item) in items.iter().enumerate() {
        let chosen = nth == hall.chosen;
        if chosen {
            marked = lines.len();
        }
        let bar = Span::styled(
            if chosen { look.glyphs.bar } else { " " },
            look.theme.accent(),
        );
        let name = Span::styled(
            item.label.clone(),
            if chosen {
                Theme::selected(true)
            } else {
                Theme::title()
            },
        );
        if beside {
            let gap = Span::raw(" ".repeat(names - item.label.width() + 3));
            let words: String = item
                .words
                .iter()
                .enumerate()
                .map(|(n, words)| cut::fit(words, widest(n) + 2, ""))
                .collect();
            lines.push(Line::from(vec![
                bar,
                Span::raw(" "),
                name,
                gap,
                Span::raw(words),
            ]));
            continue;
        }
        lines.push(Line::from(vec![bar, Span::raw(" "), name]));
        let said: Vec<&str> = item
            .words
            .iter()
            .map(String::as_str)
            .filter(|words| !words.is_empty())
            .collect();
        if !said.is_empty() && (chosen || !brief) {
            let said = cut::cut(
                &said.join(&format!(" {} ", look.glyphs.dot)),
                columns.saturating_sub(2),
                look.glyphs.ellipsis,
            );
            lines.push(Line::from(vec![Span::raw("  "), Span::raw(said)]));
        }
    }
    let surplus = lines.len().saturating_sub(room);
    lines.drain(..marked.saturating_sub(room / 2).min(surplus));
    lines.truncate(room);
    lines
}

/// What goes on, or why a door did not open.
fn state<'a>(hall: &Hall, keys: &Keys, columns: usize, look: &Look) -> Vec<Line<'a>> {
    if hall.is_waiting() {
        let words = if hall.form().is_some() {
            "asking the service"
        } else {
            "opening it"
        };
        let stop = if hall.form().is_some() {
            keys.key_for(Focus::Prompt, Command::Cancel)
        } else {
            keys.key_for(Focus::Choice, Command::Peel)
        };
        let text = format!(
            "{words}{} {} stops",
            look.glyphs.ellipsis,
            stop.unwrap_or_default()
        );
        return wrapped(&text, columns, look.theme.accent());
    }
    hall.trouble
        .as_ref()
        .map(|failure| trouble(failure, columns, look))
        .unwrap_or_default()
}

fn trouble<'a>(failure: &Failure, columns: usize, look: &Look) -> Vec<Line<'a>> {
    let mut lines = wrapped(&failure.sentence, columns, look.theme.trouble());
    lines.extend(wrapped(&failure.hint, columns, Style::new()));
    lines
}

/// A label, and a text that goes on below itself.
fn labelled<'a>(label: &str, text: &str, columns: usize) -> Vec<Line<'a>> {
    let parts = wrapped(text, columns.saturating_sub(LABEL), Style::new());
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    let line = |(label, part): (&str, Line<'a>)| {
        Line::from(
            [
                vec![Span::styled(format!("{label:<LABEL$}"), Theme::chrome())],
                part.spans,
            ]
            .concat(),
        )
    };
    labels.zip(parts).map(line).collect()
}

/// Text in lines of at most so many columns, broken at blanks.
fn wrapped<'a>(text: &str, columns: usize, style: Style) -> Vec<Line<'a>> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(last) if last.width() + 1 + word.width() <= columns => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
        .into_iter()
        .map(|line| Line::from(Span::styled(line, style)))
        .collect()
}

/// Puts the cursor where one types; `fields` begins with the first line of the form.
fn cursor(form: &Form, fields: Rect, look: &Look, frame: &mut Frame) {
    let columns = usize::from(fields.width);
    let (line, column) = match form.field() {
        Field::Key => {
            let shown = form.key().letters().min(columns.saturating_sub(LABEL + 16));
            (0, shown * look.glyphs.hidden.width())
        }
        Field::BaseUrl => {
            let (cursor, scroll) = form.columns(columns.saturating_sub(LABEL));
            (1, cursor.saturating_sub(scroll))
        }
    };
    let x = fields.x
        + u16::try_from(LABEL + column)
            .unwrap_or(u16::MAX)
            .min(fields.width.saturating_sub(1));
    let y = fields.y + line;
    if y < frame.area().bottom() {
        frame.set_cursor_position(Position::new(x, y));
    }
}
