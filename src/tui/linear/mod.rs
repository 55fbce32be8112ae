//! Linear mode: the program as lines on stdout and typed commands on stdin,
//! without cursor movement.
//!
//! A second front end over the same model and effect runner as the event loop: a typed line becomes
//! commands and messages, and the state is printed once nothing is loading ([`Model::is_idle`]).
//! What happens meanwhile is printed before the next prompt. `app/commands/line_commands.rs`
//! parses, `commands.rs` carries out what was typed, `view/linear.rs` formats.

mod commands;

use std::io::BufRead as _;
use std::sync::Arc;
use std::thread;

use tokio::sync::mpsc;

use super::ProgramExit;
use super::effect_runner::{EffectRunner, Environment};
use super::event_loop::update_model;
use super::session::Session;
use crate::app::start::StartScreenKind;
use crate::app::{
    Command, ExitReason, LoopEffect, MARGIN, Message, Model, PipedCommand, ReaderState,
};
use crate::archive::EmailRow;
use crate::error::{Error, ErrorKind};
use crate::mail::EmailId;
use crate::signals::{self, Signals};
use crate::text::format::plural;
use crate::text::sanitize::sanitize_line;
use crate::view::RenderCtx;
use crate::view::linear::{
    format_body, format_end, format_error, format_head, format_load_older, format_row,
    format_state, format_title,
};
use ratatui::layout::Size;

const PAGE_ROWS: usize = 10;
/// The most new emails that are printed before a prompt; the others are counted.
const MAX_NEW_ROWS: usize = 5;
/// The height of the model's screen: a page, and one pane at a time.
const SCREEN_HEIGHT: u16 = 12;
/// The width of the text; a wider screen of the model would have two panes.
const COLUMNS: std::ops::RangeInclusive<u16> = 20..=100;

/// The input and the form of the output.
pub struct LinearIo<'a, E> {
    /// The typed lines; the program ends with them.
    pub lines: mpsc::Receiver<String>,
    /// Writes text, and flushes it.
    pub write: &'a mut dyn FnMut(&str) -> Result<(), E>,
    /// The text before each typed line; empty if no terminal shows it.
    pub prompt: &'static str,
    /// The width at which texts are wrapped.
    pub columns: u16,
}

/// Reads the lines of standard input on a thread of its own,
/// which ends with the process.
pub fn read_stdin() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    thread::spawn(move || {
        // A line that cannot be read ends the input.
        for line in std::io::stdin().lock().split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Runs the program until the user quits, the input ends, or a signal arrives.
pub async fn run_linear<E: From<Error>>(
    session: Session,
    env: Environment,
    ctx: RenderCtx,
    io: LinearIo<'_, E>,
) -> Result<ProgramExit, E> {
    let mut signals = Signals::listen(&signals::TERMINATING_SIGNALS)?;
    let mut program = LinearLoop::new(session, env, ctx, io);
    tokio::select! {
        biased;
        number = signals.recv() => Ok(ProgramExit::Signal(number)),
        ended = program.run() => ended,
    }
}

struct PrintedRow {
    row: EmailRow,
    /// Whether it was printed that its status has changed, without the status.
    is_outdated: bool,
}

pub struct LinearLoop<'a, E> {
    model: Model,
    runner: EffectRunner,
    ctx: RenderCtx,
    io: LinearIo<'a, E>,
    /// The printed rows, as they were then; the first one has the number 1.
    printed: Vec<PrintedRow>,
    /// The topmost row when the list was printed or a new email was.
    newest: Option<EmailId>,
    /// The number of new emails above the rows of the model that were reported.
    reported_above: u64,
    /// Reports about watched emails that are not printed yet.
    reports: Vec<String>,
    /// Whether the service failed when it was last reported.
    is_failing: bool,
    /// The number of older emails that was printed last.
    older_loaded: u64,
    /// The text that a copy command has put out.
    copied: Option<String>,
    /// The shell command that a typed line has to run.
    piped: Option<PipedCommand>,
    /// The argument and the filter of the last command that would have replaced a saved
    /// view.
    refused_view: Option<(String, String)>,
    exit: Option<ExitReason>,
}

impl<'a, E: From<Error>> LinearLoop<'a, E> {
    pub fn new(
        mut session: Session,
        env: Environment,
        ctx: RenderCtx,
        mut io: LinearIo<'a, E>,
    ) -> Self {
        let mut info = std::mem::take(&mut session.info);
        info.make_linear();
        io.columns = io.columns.clamp(*COLUMNS.start(), *COLUMNS.end());
        let size = Size::new(io.columns + 2 * MARGIN, SCREEN_HEIGHT);
        let (model, effects) = Model::start(info, size, ctx.now.clone());
        let mut runner = EffectRunner::new(session, Arc::new(env));
        for effect in effects {
            runner.run(effect);
        }
        Self {
            model,
            runner,
            ctx,
            io,
            printed: Vec::new(),
            newest: None,
            reported_above: 0,
            reports: Vec::new(),
            is_failing: false,
            older_loaded: 0,
            copied: None,
            piped: None,
            refused_view: None,
            exit: None,
        }
    }

    /// Runs until the user quits or the input ends.
    pub async fn run(&mut self) -> Result<ProgramExit, E> {
        self.start().await?;
        while self.exit.is_none() {
            self.print_updates()?;
            (self.io.write)(self.io.prompt)?;
            let Some(line) = self.next_line().await? else {
                break;
            };
            self.execute(&line).await?;
        }
        let reason = self.exit.take().unwrap_or(ExitReason::Quit);
        Ok(ProgramExit::from_reason(reason)?)
    }

    async fn start(&mut self) -> Result<(), E> {
        if let Some(screen) = &self.model.start_screen
            && let StartScreenKind::Confirm { question, .. } = &screen.kind
        {
            let error = Error::new(ErrorKind::Archive, question.lines.join(" "));
            let hint =
                "sentbox archive adopt keeps the mail, sentbox archive begin starts an empty one";
            return Err(error.with_hint(hint).into());
        }
        self.show_mail().await?;
        self.print("help lists the commands")
    }

    /// Waits for the first emails of a session, and prints them.
    async fn show_mail(&mut self) -> Result<(), E> {
        if let Some(notice) = self.model.take_notice() {
            self.print(&notice)?;
        }
        // The header of each email is printed in full.
        self.handle(Message::Command(Command::FoldHeader))?;
        let mut is_waiting = false;
        loop {
            self.wait_until_idle().await?;
            let service = &self.model.service;
            let has_answered = service.has_answered || service.error.is_some();
            let is_known = has_answered || service.unavailable.is_some();
            if is_known || !self.model.list.rows().is_empty() || self.exit.is_some() {
                break;
            }
            if !std::mem::replace(&mut is_waiting, true) {
                self.print("loading the newest emails")?;
            }
            let message = self.runner.next().await;
            self.handle(message)?;
        }
        self.print_first_page().await
    }

    /// Waits for a line; messages are handled meanwhile.
    /// `None` at the end of the input or the program.
    async fn next_line(&mut self) -> Result<Option<String>, E> {
        while self.exit.is_none() {
            let message = tokio::select! {
                biased;
                line = self.io.lines.recv() => return Ok(line),
                message = self.runner.next() => message,
            };
            self.handle(message)?;
        }
        Ok(None)
    }

    fn handle(&mut self, message: Message) -> Result<(), E> {
        let clock = self.runner.clock_message(self.model.now.time_zone());
        for effect in update_model(
            &mut self.model,
            &mut self.runner,
            &self.ctx,
            [clock, message],
        ) {
            match effect {
                LoopEffect::SetClipboard { text, .. } => self.copied = Some(text),
                LoopEffect::Exit(reason) => self.exit = self.exit.take().or(Some(reason)),
                LoopEffect::Redraw
                | LoopEffect::FormatFigures
                | LoopEffect::Suspend
                | LoopEffect::UseMargins
                | LoopEffect::CaptureMouse(_) => {}
                LoopEffect::RunCommand(piped) => self.piped = Some(piped),
                LoopEffect::Notify(_, text) => self.reports.push(text),
            }
        }
        self.ctx.now.clone_from(&self.model.now);
        // A search that begins by itself is not announced while a line is typed.
        let search = (self.model.load_older.running).filter(|it| !it.is_automatic());
        let loaded = search.map_or(0, |search| search.loaded);
        if std::mem::replace(&mut self.older_loaded, loaded) < loaded
            && let Some(search) = search
        {
            let text = format_load_older(search, &self.model, u16::MAX);
            self.print(&text)?;
        }
        Ok(())
    }

    /// Handles messages until the user waits for nothing more.
    async fn wait_until_idle(&mut self) -> Result<(), E> {
        while self.exit.is_none() && !self.model.is_idle() && !self.runner.is_idle() {
            let message = self.runner.next().await;
            self.handle(message)?;
        }
        Ok(())
    }

    async fn print_first_page(&mut self) -> Result<(), E> {
        self.leave_email()?;
        // Unlike the command that goes to the newest email, it keeps what can be redone.
        self.handle(Message::RowChosen(None))?;
        self.wait_until_idle().await?;
        self.printed.clear();
        let first = self.model.list.rows().first();
        self.newest = first.map(|row| row.summary.id.clone());
        self.is_failing = self.model.service.error.is_some();
        self.print(&format_title(&self.model, &self.ctx))?;
        self.print_rows(0)
    }

    async fn print_next_page(&mut self) -> Result<(), E> {
        let Some(last) = self.printed.last().map(|it| it.row.clone()) else {
            return self.print_first_page().await;
        };
        match self.choose(&last).await? {
            Some(index) => self.print_rows(index + 1),
            None => self.print_first_page().await,
        }
    }

    /// Prints a page of rows from this one of the window on.
    fn print_rows(&mut self, start: usize) -> Result<(), E> {
        let rows = self.model.list.rows();
        let page: Vec<EmailRow> = rows.iter().skip(start).take(PAGE_ROWS).cloned().collect();
        if page.is_empty() {
            return self.print_all(&format_end(&self.model, start == 0, &self.ctx));
        }
        for row in page {
            let text = format_row(&row, &self.model, &self.ctx);
            self.printed.push(PrintedRow {
                row,
                is_outdated: false,
            });
            self.print(&format!("{}. {text}", self.printed.len()))?;
        }
        Ok(())
    }

    fn print_email(&mut self) -> Result<(), E> {
        let selected = self.model.list.selected_id();
        let is_selected = |it: &PrintedRow| Some(&it.row.summary.id) == selected;
        if let Some(index) = self.printed.iter().position(is_selected) {
            self.print(&format!("email {}", index + 1))?;
        }
        self.print_all(&format_head(&self.model, &self.ctx))?;
        match self.model.reader_state() {
            ReaderState::Failed(error) => {
                let text = match error.kind {
                    // The user has typed no id that could be wrong.
                    ErrorKind::NotFound => {
                        "its body was never read, and the service no longer has it".to_owned()
                    }
                    _ => format_error(error),
                };
                self.print(&text)
            }
            _ => self.print_all(&format_body(&self.model)),
        }
    }

    /// Prints what has changed since the last prompt:
    /// statuses, new emails, the state of the service.
    fn print_updates(&mut self) -> Result<(), E> {
        let (model, ctx) = (&self.model, &self.ctx);
        let rows = model.list.rows();
        let mut lines = Vec::new();
        for (printed, number) in self.printed.iter_mut().zip(1..) {
            let known = &printed.row.summary;
            match rows.iter().find(|row| row.summary.id == known.id) {
                Some(row) if row.summary.status != known.status => {
                    lines.push(format!("{number}. now {}", format_row(row, model, ctx)));
                    *printed = PrintedRow {
                        row: row.clone(),
                        is_outdated: false,
                    };
                }
                None if model.list.has_changed(&known.id) && !printed.is_outdated => {
                    lines.push(format!("{number}. has changed; {number} reads it"));
                    printed.is_outdated = true;
                }
                _ => {}
            }
        }
        let is_known = |row: &EmailRow| Some(&row.summary.id) == self.newest.as_ref();
        let newest = rows.iter().position(is_known);
        let above = model.list.unseen_above;
        let more = above.saturating_sub(self.reported_above);
        self.reported_above = above;
        if newest.is_none() && self.newest.is_some() && more > 0 {
            let new = plural(more, "new email");
            lines.push(format!("{new}; list prints what matches"));
        }
        let new = newest.unwrap_or(0);
        let shown = rows.iter().take(new.min(MAX_NEW_ROWS));
        lines.extend(shown.map(|row| format!("new: {}", format_row(row, model, ctx))));
        if new > MAX_NEW_ROWS {
            let more = plural((new - MAX_NEW_ROWS) as u64, "more new email");
            lines.push(format!("{more}; list prints all"));
        }
        if new > 0 || self.newest.is_none() {
            self.newest = rows.first().map(|row| row.summary.id.clone());
        }
        lines.append(&mut self.reports);
        let is_failing = model.service.error.is_some();
        if std::mem::replace(&mut self.is_failing, is_failing) != is_failing {
            lines.push(format_state(model, ctx));
        }
        self.print_all(&lines)
    }

    fn print_error(&mut self, text: &str) -> Result<(), E> {
        self.print(&format!("error: {text}"))
    }

    fn print_all(&mut self, lines: &[String]) -> Result<(), E> {
        lines.iter().try_for_each(|line| self.print(line))
    }

    fn print(&mut self, line: &str) -> Result<(), E> {
        let line = self.ctx.glyphs.replace_in_line(&sanitize_line(line));
        (self.io.write)(&(line + "\n"))
    }
}
