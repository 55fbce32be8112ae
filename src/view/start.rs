//! Draws the start screens: set-up, login, profiles, confirmation.
//!
//! On a low screen, explanations are left out before choices are.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::buffer::{draw_lines, inset};
use super::render_ctx::RenderCtx;
use super::theme::Theme;
use crate::app::session::SetupInfo;
use crate::app::start::{FormField, LoginForm, StartScreenKind};
use crate::app::{Command, Focus, Model, StartScreen};
use crate::error::Error;
use crate::text::format::plural;
use crate::text::width::{self, DisplayWidth as _, wrap};

/// Text is at most this wide.
const MAX_TEXT_WIDTH: u16 = 96;
/// From this many columns on, the description of an item is drawn beside its label.
const MIN_SIDE_BY_SIDE_WIDTH: usize = 88;
/// Columns of a label and the spaces after it.
const LABEL_WIDTH: usize = 9;
/// Columns beside the masked key that its length needs.
const KEY_LENGTH_WIDTH: usize = 16;

pub fn draw(screen: &StartScreen, model: &Model, main: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    let margin = if main.width > 60 { 2 } else { 1 };
    let area = inset(main, margin, margin);
    let builder = SectionBuilder {
        screen,
        model,
        ctx,
        columns: usize::from(area.width.min(MAX_TEXT_WIDTH)),
    };
    let state = builder.build_state();
    // The state is always drawn.
    let menu_height = usize::from(area.height).saturating_sub(1 + state.len());
    let menu = |columns| Section::new(0, builder.build_menu(columns, menu_height));
    let state = Section::new(0, state);
    let sections = match &screen.kind {
        StartScreenKind::SetUp {
            info,
            form: Some(form),
        } => builder.build_login_form(info, form, state),
        StartScreenKind::SetUp { info, form: None } => {
            builder.build_set_up(info, menu(builder.columns), state)
        }
        StartScreenKind::Profiles(choices) => {
            let profiles = if choices.is_pending() {
                let text = "reading the configuration";
                Section::new(0, vec![Line::styled(text, ctx.theme.chrome())])
            } else {
                menu(usize::from(area.width))
            };
            let more = "For another profile, leave and run: sentbox login --profile NAME";
            vec![
                Section::new(0, vec![Line::styled("Profiles", Theme::title())]),
                profiles,
                state,
                builder.text(2, more, Style::new()),
            ]
        }
        StartScreenKind::Confirm { question, .. } => {
            let lines = question.lines.iter().zip(0..).map(|(line, nth)| {
                let style = if nth == 0 {
                    Theme::title()
                } else {
                    Style::new()
                };
                builder.text(nth, line, style)
            });
            lines.chain([menu(builder.columns), state]).collect()
        }
    };
    let y = draw_sections(sections, area, frame);
    if let Some(form) = screen.form().filter(|_| !screen.is_pending()) {
        set_cursor(form, Rect { y, ..area }, ctx, frame);
    }
}

/// Lines that are drawn or left out together.
struct Section<'a> {
    /// Where not all fit, sections with the highest number are left out first; 0 stays.
    drop_order: u8,
    lines: Vec<Line<'a>>,
}

impl<'a> Section<'a> {
    const fn new(drop_order: u8, lines: Vec<Line<'a>>) -> Self {
        Self { drop_order, lines }
    }
}

/// Draws as many sections as fit, with empty lines between them where those fit
/// too.
///
/// Returns the row of the first section that is never left out.
fn draw_sections(mut sections: Vec<Section>, area: Rect, frame: &mut Frame) -> u16 {
    let height = usize::from(area.height);
    let count = |sections: &[Section]| -> usize {
        sections.iter().map(|section| section.lines.len()).sum()
    };
    sections.retain(|section| !section.lines.is_empty());
    while count(&sections) > height
        && let Some((last, section)) = sections
            .iter()
            .enumerate()
            .max_by_key(|(_, section)| section.drop_order)
        && section.drop_order > 0
    {
        sections.remove(last);
    }
    let gaps = sections.len().saturating_sub(1);
    let gap = u16::from(count(&sections) + gaps <= height);
    let top = u16::from(count(&sections) + gaps + 2 <= height);
    let mut y = area.y + top;
    let mut first_kept = None;
    for section in &sections {
        if section.drop_order == 0 {
            first_kept.get_or_insert(y);
        }
        let rest = Rect {
            y,
            height: area.bottom().saturating_sub(y),
            ..area
        };
        draw_lines(&section.lines, rest, frame);
        y += u16::try_from(section.lines.len()).unwrap_or(u16::MAX) + gap;
    }
    first_kept.unwrap_or(y)
}

/// A start screen and what its sections are built from.
struct SectionBuilder<'a> {
    screen: &'a StartScreen,
    model: &'a Model,
    ctx: &'a RenderCtx,
    columns: usize,
}

impl<'a> SectionBuilder<'a> {
    fn text(&self, drop_order: u8, text: &str, style: Style) -> Section<'a> {
        Section::new(drop_order, self.wrap(text, style))
    }

    fn wrap(&self, text: &str, style: Style) -> Vec<Line<'a>> {
        let lines = wrap(text, self.columns).into_iter();
        lines
            .map(|line| Line::from(Span::styled(line, style)))
            .collect()
    }

    fn build_set_up(
        &self,
        info: &SetupInfo,
        menu: Section<'a>,
        state: Section<'a>,
    ) -> Vec<Section<'a>> {
        let about = "The sent box of a team, in a terminal: did we send it, what did it say, what became of it?";
        let (why, files) = match &info.storage {
            Ok(files) => {
                let why =
                    "There is no API key yet. With one, sentbox shows what your team has sent.";
                let mut lines = self.wrap("It stores:", Style::new());
                for (label, text) in files {
                    lines.extend(self.build_labelled_lines(label, text));
                }
                (self.wrap(why, Style::new()), lines)
            }
            Err(error) => (self.build_error(error), Vec::new()),
        };
        vec![
            self.text(3, about, Theme::title()),
            Section::new(1, why),
            Section::new(2, files),
            menu,
            state,
            self.text(4, &info.key_command_hint, Style::new()),
        ]
    }

    fn build_login_form(
        &self,
        info: &SetupInfo,
        form: &LoginForm,
        state: Section<'a>,
    ) -> Vec<Section<'a>> {
        let accent = self.ctx.theme.accent();
        let value_width = self.columns.saturating_sub(LABEL_WIDTH);
        let field = |field: FormField, label: &str, value: String| {
            let style = if form.field == field {
                accent
            } else {
                Style::new()
            };
            let label = Span::styled(format!("{label:<LABEL_WIDTH$}"), style);
            Line::from(vec![label, Span::raw(value)])
        };
        let count = form.key.char_count();
        let mask = self.ctx.glyphs.mask;
        let mask = mask.repeat(count.min(value_width.saturating_sub(KEY_LENGTH_WIDTH)));
        let mut key = field(FormField::Key, "key", mask);
        key.push_span(Span::styled(
            match count {
                0 => "paste or type it; not shown".to_owned(),
                _ => format!("  {}", plural(count as u64, "character")),
            },
            self.ctx.theme.chrome(),
        ));
        let (_, scroll) = form.cursor_columns(value_width);
        let url = width::skip_columns(form.base_url(), scroll);
        let url = self.ctx.align_left(&url, value_width);
        let url = field(FormField::BaseUrl, "service", url);

        let mut files = info.storage.iter().flatten();
        let key_file = files.find(|(label, _)| *label == "key");
        let use_of_key = format!(
            "The key is sent only to this service, in one small request. If it can read emails, \
             which needs full access, it is stored in {}.",
            key_file.map_or("", |(_, file)| file)
        );
        let commands = [
            (Command::Accept, " log in  "),
            (Command::NextSuggestion, " next field  "),
            (Command::Cancel, " back"),
        ];
        let mut help = Line::default();
        for (command, text) in commands {
            let key = self.model.session.keymap.key_for(Focus::Prompt, command);
            help.push_span(Span::styled(key.unwrap_or_default(), accent));
            help.push_span(Span::raw(text));
        }
        vec![
            Section::new(1, vec![Line::styled("Log in", Theme::title())]),
            Section::new(0, vec![key, url]),
            state,
            self.text(2, &use_of_key, Style::new()),
            Section::new(0, vec![help]),
        ]
    }

    /// Builds the choices with their descriptions beside or below them,
    /// in at most `height` lines.
    ///
    /// On a low screen, only the selected choice has its description, and only choices near it
    /// are shown.
    fn build_menu(&self, columns: usize, height: usize) -> Vec<Line<'a>> {
        let items = self.screen.items(&self.model.session.target);
        let glyphs = self.ctx.glyphs;
        let labels = items.iter().map(|item| item.label.width()).max();
        let labels = labels.unwrap_or(0);
        let parts = items.iter().map(|item| item.columns.len()).max();
        let widths: Vec<usize> = (0..parts.unwrap_or(0))
            .map(|nth| {
                let parts = items.iter().filter_map(|item| item.columns.get(nth));
                parts.map(|text| text.width() + 2).max().unwrap_or(2)
            })
            .collect();
        let beside = labels + 4 + widths.iter().sum::<usize>() <= columns
            || (widths.len() <= 1 && columns >= MIN_SIDE_BY_SIDE_WIDTH);
        let brief = items.len() * 2 > height;
        let mut lines: Vec<Line> = Vec::new();
        let mut selected = 0;
        for (nth, item) in items.into_iter().enumerate() {
            let is_selected = nth == self.screen.selected;
            let style = if is_selected {
                selected = lines.len();
                Theme::selected(true)
            } else {
                Theme::title()
            };
            let gap = " ".repeat(labels - item.label.width() + 3);
            let mut line = Line::from(vec![
                Span::styled(glyphs.bar(is_selected), self.ctx.theme.accent()),
                Span::raw(" "),
                Span::styled(item.label, style),
            ]);
            if beside {
                let parts = item.columns.iter().zip(&widths);
                let text = parts.map(|(text, columns)| width::align_left(text, *columns, ""));
                line.push_span(Span::raw(gap + &text.collect::<String>()));
                lines.push(line);
                continue;
            }
            lines.push(line);
            let parts = item.columns.iter().map(String::as_str);
            let parts: Vec<&str> = parts.filter(|text| !text.is_empty()).collect();
            if !parts.is_empty() && (is_selected || !brief) {
                let text = parts.join(&format!(" {} ", glyphs.separator));
                let text = self.ctx.truncate(&text, columns.saturating_sub(2));
                lines.push(Line::raw(format!("  {text}")));
            }
        }
        let surplus = lines.len().saturating_sub(height);
        lines.drain(..selected.saturating_sub(height / 2).min(surplus));
        lines.truncate(height);
        lines
    }

    /// Builds the running request, or why the last one failed.
    fn build_state(&self) -> Vec<Line<'a>> {
        if self.screen.is_pending() {
            let (text, focus, command) = if self.screen.form().is_some() {
                ("checking the key", Focus::Prompt, Command::Cancel)
            } else {
                ("opening", Focus::Choice, Command::CloseLayer)
            };
            let keymap = &self.model.session.keymap;
            let key = keymap.key_for(focus, command).unwrap_or_default();
            let text = format!("{text}{} {key} stops", self.ctx.glyphs.ellipsis);
            return self.wrap(&text, self.ctx.theme.accent());
        }
        let error = self.screen.error.as_ref();
        error
            .map(|error| self.build_error(error))
            .unwrap_or_default()
    }

    fn build_error(&self, error: &Error) -> Vec<Line<'a>> {
        let mut lines = self.wrap(&error.message, self.ctx.theme.error());
        lines.extend(self.wrap(&error.hint, Style::new()));
        lines
    }

    /// Builds a label with a text beside it, wrapped at its own left edge.
    fn build_labelled_lines(&self, label: &str, text: &str) -> Vec<Line<'a>> {
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        let lines = wrap(text, self.columns.saturating_sub(LABEL_WIDTH));
        let lines = labels.zip(lines).map(|(label, line)| {
            Line::from(vec![
                Span::styled(format!("{label:<LABEL_WIDTH$}"), self.ctx.theme.chrome()),
                Span::raw(line),
            ])
        });
        lines.collect()
    }
}

/// Sets the cursor in the form, which starts at the first row of `fields`.
fn set_cursor(form: &LoginForm, fields: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    let value_width = usize::from(fields.width).saturating_sub(LABEL_WIDTH);
    let (line, column) = match form.field {
        FormField::Key => {
            let masked = value_width.saturating_sub(KEY_LENGTH_WIDTH);
            let masked = form.key.char_count().min(masked);
            (0, masked * ctx.glyphs.mask.width())
        }
        FormField::BaseUrl => {
            let (cursor, scroll) = form.cursor_columns(value_width);
            (1, cursor.saturating_sub(scroll))
        }
    };
    let x = u16::try_from(LABEL_WIDTH + column).unwrap_or(u16::MAX);
    let x = fields.x + x.min(fields.width.saturating_sub(1));
    let y = fields.y + line;
    if y < frame.area().bottom() {
        frame.set_cursor_position(Position::new(x, y));
    }
}
