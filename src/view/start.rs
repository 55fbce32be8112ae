//! Draws the hall: set-up, profiles, questions. What can be chosen is always to be seen; where there
//! is little room, what is only good to know gives way.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::render_ctx::{RenderCtx, Theme};
use crate::app::Focus;
use crate::app::start::{
    ConfirmDialog, FormField, LoginForm, SetupInfo, StartItem, StartScreenKind,
};
use crate::app::{Command, Keymap, Layout, Model, StartScreen};
use crate::error::Error;
use crate::text::width;

/// Text is no wider than this.
const MAX_TEXT_WIDTH: u16 = 96;
/// From this many columns on, what there is to say about an item stands beside its name.
const MIN_SIDE_BY_SIDE_WIDTH: usize = 88;
/// Columns of a label and the blanks after it.
const LABEL_WIDTH: usize = 9;

/// Lines that stay or go together. Where there is no room for all, those with the highest number go first.
struct Section<'a> {
    drop_order: u8,
    lines: Vec<Line<'a>>,
}

/// Draws the hall if one stands in it; says whether one does.
pub fn draw(model: &Model, layout: &Layout, look: &RenderCtx, frame: &mut Frame) -> bool {
    let Some(hall) = &model.start_screen else {
        return false;
    };
    let left = if layout.main.width > 60 { 2 } else { 1 };
    let width = layout.main.width.saturating_sub(2 * left);
    let area = Rect {
        x: layout.main.x + left,
        width,
        ..layout.main
    };
    let items = hall.items(&model.target);
    let columns = usize::from(width.min(MAX_TEXT_WIDTH));
    // A heading and the state have their lines whatever happens.
    let room = usize::from(area.height)
        .saturating_sub(1 + build_state(hall, &model.keymap, columns, look).len());
    let blocks = match &hall.kind {
        StartScreenKind::SetUp {
            welcome,
            form: Some(form),
        } => build_login_form(hall, &model.keymap, welcome, form, columns, look),
        StartScreenKind::SetUp {
            welcome,
            form: None,
        } => build_set_up(
            hall,
            &model.keymap,
            welcome,
            build_menu(hall, &items, columns, room, look),
            columns,
            look,
        ),
        StartScreenKind::Profiles(choices) => {
            let title = new_section(0, vec![Line::styled("Profiles", Theme::title())]);
            let none = Line::styled("reading the configuration", Theme::chrome());
            let shown = if choices.is_pending() {
                vec![none]
            } else {
                build_menu(hall, &items, usize::from(width), room, look)
            };
            let more = wrap_lines(
                "Another one: leave, and run sentbox login --profile NAME",
                columns,
                Style::new(),
            );
            vec![
                title,
                new_section(0, shown),
                new_section(0, build_state(hall, &model.keymap, columns, look)),
                new_section(2, more),
            ]
        }
        StartScreenKind::Confirm { question, .. } => build_confirm(
            hall,
            &model.keymap,
            question,
            build_menu(hall, &items, columns, room, look),
            columns,
            look,
        ),
    };
    let y = draw_sections(blocks, area, frame);
    if let Some(form) = hall.form().filter(|_| !hall.is_pending()) {
        set_cursor(form, Rect { y, ..area }, look, frame);
    }
    true
}

fn new_section(rank: u8, lines: Vec<Line<'_>>) -> Section<'_> {
    Section {
        drop_order: rank,
        lines,
    }
}

/// Writes as many blocks as fit, with a blank line between them where there is room for it; gives
/// the line on which the second block begins.
fn draw_sections(mut blocks: Vec<Section>, area: Rect, frame: &mut Frame) -> u16 {
    let room = usize::from(area.height);
    blocks.retain(|block| !block.lines.is_empty());
    let lines = |blocks: &[Section]| blocks.iter().map(|block| block.lines.len()).sum::<usize>();
    while lines(&blocks) > room
        && let Some(rank) = blocks
            .iter()
            .map(|block| block.drop_order)
            .max()
            .filter(|rank| *rank > 0)
    {
        let last = blocks
            .iter()
            .rposition(|block| block.drop_order == rank)
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

fn build_set_up<'a>(
    hall: &StartScreen,
    keys: &Keymap,
    welcome: &'a SetupInfo,
    menu: Vec<Line<'a>>,
    columns: usize,
    look: &RenderCtx,
) -> Vec<Section<'a>> {
    let what = "The sent box of a team, in a terminal: did we send it, what did it say, what became of it?";
    let (why, places) = match &welcome.storage {
        Ok(places) => {
            let why = "There is no API key yet. With one, sentbox shows what your team has sent, and keeps:";
            let place = |(label, text): &(&str, String)| build_labelled_lines(label, text, columns);
            (
                wrap_lines(why, columns, Style::new()),
                places.iter().flat_map(place).collect(),
            )
        }
        Err(failure) => (build_error(failure, columns, look), Vec::new()),
    };
    vec![
        new_section(3, wrap_lines(what, columns, Theme::title())),
        new_section(1, why),
        new_section(2, places),
        new_section(0, menu),
        new_section(0, build_state(hall, keys, columns, look)),
        new_section(
            4,
            wrap_lines(&welcome.key_command_hint, columns, Style::new()),
        ),
    ]
}

fn build_login_form<'a>(
    hall: &StartScreen,
    keys: &Keymap,
    welcome: &SetupInfo,
    form: &LoginForm,
    columns: usize,
    look: &RenderCtx,
) -> Vec<Section<'a>> {
    let theme = &look.theme;
    let letters = form.key().char_count();
    let dots = look
        .glyphs
        .mask
        .repeat(letters.min(columns.saturating_sub(LABEL_WIDTH + 16)));
    let count = match letters {
        0 => "paste or type it; not shown".to_owned(),
        1 => "  1 letter".to_owned(),
        _ => format!("  {letters} letters"),
    };
    let (_, scroll) = form.cursor_columns(columns.saturating_sub(LABEL_WIDTH));
    let line = |field: FormField, label: &'static str, value: Vec<Span<'static>>| {
        let here = form.field() == field;
        let label = Span::styled(
            format!("{label:<LABEL_WIDTH$}"),
            if here { theme.accent() } else { Style::new() },
        );
        Line::from([vec![label], value].concat())
    };
    let url = width::skip_columns(form.base_url(), scroll);
    let fields = vec![
        line(
            FormField::Key,
            "key",
            vec![Span::raw(dots), Span::styled(count, Theme::chrome())],
        ),
        line(
            FormField::BaseUrl,
            "service",
            vec![Span::raw(width::align_left(
                &url,
                columns.saturating_sub(LABEL_WIDTH),
                look.glyphs.ellipsis,
            ))],
        ),
    ];
    let stored = welcome
        .storage
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
        (Command::NextSuggestion, " other line  "),
        (Command::Cancel, " back"),
    ];
    let acts: Vec<Span> = acts
        .into_iter()
        .flat_map(|(command, words)| [Span::styled(key(command), theme.accent()), Span::raw(words)])
        .collect();
    vec![
        new_section(1, vec![Line::styled("Log in", Theme::title())]),
        new_section(0, fields),
        new_section(0, build_state(hall, keys, columns, look)),
        new_section(2, wrap_lines(&what, columns, Style::new())),
        new_section(0, vec![Line::from(acts)]),
    ]
}

fn build_confirm<'a>(
    hall: &StartScreen,
    keys: &Keymap,
    question: &'a ConfirmDialog,
    menu: Vec<Line<'a>>,
    columns: usize,
    look: &RenderCtx,
) -> Vec<Section<'a>> {
    let mut blocks: Vec<Section> = Vec::new();
    for (n, message) in question.lines.iter().enumerate() {
        let style = if n == 0 { Theme::title() } else { Style::new() };
        blocks.push(new_section(
            u8::try_from(n).unwrap_or(u8::MAX),
            wrap_lines(message, columns, style),
        ));
    }
    blocks.push(new_section(0, menu));
    blocks.push(new_section(0, build_state(hall, keys, columns, look)));
    blocks
}

/// What can be chosen, and beside or below each name what there is to say about it; where there is
/// no room for that, only about the one that is marked, and of the names those around it.
fn build_menu<'a>(
    hall: &StartScreen,
    items: &[StartItem],
    columns: usize,
    room: usize,
    look: &RenderCtx,
) -> Vec<Line<'a>> {
    let widest = |nth: usize| {
        items
            .iter()
            .filter_map(|item| item.columns.get(nth))
            .map(|words| words.width())
            .max()
            .unwrap_or(0)
    };
    let names = items
        .iter()
        .map(|item| item.label.width())
        .max()
        .unwrap_or(0);
    let parts = items
        .iter()
        .map(|item| item.columns.len())
        .max()
        .unwrap_or(0);
    let all: usize = (0..parts).map(|nth| widest(nth) + 2).sum();
    let beside = names + 4 + all <= columns || (parts <= 1 && columns >= MIN_SIDE_BY_SIDE_WIDTH);
    let brief = items.len() * 2 > room;
    let mut lines = Vec::new();
    let mut marked = 0;
    for (nth, item) in items.iter().enumerate() {
        let chosen = nth == hall.selected;
        if chosen {
            marked = lines.len();
        }
        let bar = Span::styled(
            if chosen {
                look.glyphs.selection_bar
            } else {
                " "
            },
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
                .columns
                .iter()
                .enumerate()
                .map(|(n, words)| width::align_left(words, widest(n) + 2, ""))
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
            .columns
            .iter()
            .map(String::as_str)
            .filter(|words| !words.is_empty())
            .collect();
        if !said.is_empty() && (chosen || !brief) {
            let said = width::truncate(
                &said.join(&format!(" {} ", look.glyphs.separator)),
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
fn build_state<'a>(
    hall: &StartScreen,
    keys: &Keymap,
    columns: usize,
    look: &RenderCtx,
) -> Vec<Line<'a>> {
    if hall.is_pending() {
        let words = if hall.form().is_some() {
            "asking the service"
        } else {
            "opening it"
        };
        let stop = if hall.form().is_some() {
            keys.key_for(Focus::Prompt, Command::Cancel)
        } else {
            keys.key_for(Focus::Choice, Command::CloseLayer)
        };
        let text = format!(
            "{words}{} {} stops",
            look.glyphs.ellipsis,
            stop.unwrap_or_default()
        );
        return wrap_lines(&text, columns, look.theme.accent());
    }
    hall.error
        .as_ref()
        .map(|failure| build_error(failure, columns, look))
        .unwrap_or_default()
}

fn build_error<'a>(failure: &Error, columns: usize, look: &RenderCtx) -> Vec<Line<'a>> {
    let mut lines = wrap_lines(&failure.message, columns, look.theme.error());
    lines.extend(wrap_lines(&failure.hint, columns, Style::new()));
    lines
}

/// A label, and a text that goes on below itself.
fn build_labelled_lines<'a>(label: &str, text: &str, columns: usize) -> Vec<Line<'a>> {
    let parts = wrap_lines(text, columns.saturating_sub(LABEL_WIDTH), Style::new());
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    let line = |(label, part): (&str, Line<'a>)| {
        Line::from(
            [
                vec![Span::styled(
                    format!("{label:<LABEL_WIDTH$}"),
                    Theme::chrome(),
                )],
                part.spans,
            ]
            .concat(),
        )
    };
    labels.zip(parts).map(line).collect()
}

/// Text in lines of at most so many columns, broken at blanks.
fn wrap_lines<'a>(text: &str, columns: usize, style: Style) -> Vec<Line<'a>> {
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
fn set_cursor(form: &LoginForm, fields: Rect, look: &RenderCtx, frame: &mut Frame) {
    let columns = usize::from(fields.width);
    let (line, column) = match form.field() {
        FormField::Key => {
            let shown = form
                .key()
                .char_count()
                .min(columns.saturating_sub(LABEL_WIDTH + 16));
            (0, shown * look.glyphs.mask.width())
        }
        FormField::BaseUrl => {
            let (cursor, scroll) = form.cursor_columns(columns.saturating_sub(LABEL_WIDTH));
            (1, cursor.saturating_sub(scroll))
        }
    };
    let x = fields.x
        + u16::try_from(LABEL_WIDTH + column)
            .unwrap_or(u16::MAX)
            .min(fields.width.saturating_sub(1));
    let y = fields.y + line;
    if y < frame.area().bottom() {
        frame.set_cursor_position(Position::new(x, y));
    }
}
