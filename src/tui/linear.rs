//! Linear mode: the program as lines on stdout and typed commands on stdin, without cursor movement.
//!
//! A second front end over the same model and effect runner as the event loop: a typed line becomes commands
//! and messages, and the state is printed once it has settled ([`Model::is_settled`]). What happens meanwhile
//! is printed before the next prompt. `app/line_commands.rs` parses, `view/linear.rs` formats.

use std::io::BufRead as _;
use std::sync::Arc;
use std::thread;

use tokio::sync::mpsc;

use super::ProgramExit;
use super::effect_runner::{EffectRunner, Environment};
use super::event_loop::update_model;
use super::session::Session;
use crate::app::line_commands::Line;
use crate::app::start::StartScreenKind;
use crate::app::{
    ChooserKind, ClickTarget, Command, ExitReason, Focus, ListAnchor, LoadOlderGoal, LoopEffect,
    MARGIN, Message, Model, PromptKind, ReaderState,
};
use crate::archive::EmailRow;
use crate::config::SecretInput;
use crate::error::{Error, ErrorKind};
use crate::export::SetFormat;
use crate::mail::EmailId;
use crate::signals::{self, Signals};
use crate::text::format::plural;
use crate::text::sanitize::sanitize_line;
use crate::view::RenderCtx;
use crate::view::linear::{
    format_body, format_card, format_choices, format_end, format_error, format_head, format_help,
    format_load_older, format_rejection, format_row, format_state, format_status_lines,
    format_title,
};
use ratatui::layout::Size;

/// The rows of a page of the list.
const PAGE_ROWS: usize = 10;
/// The most new emails that are printed before a prompt; the others are counted.
const MAX_NEW_ROWS: usize = 5;
/// The height of the model's screen: a page, and one pane at a time.
const SCREEN_HEIGHT: u16 = 12;
/// The width of the text; a wider screen of the model would have two panes.
const COLUMNS: std::ops::RangeInclusive<u16> = 20..=100;

/// The input and the form of the output.
pub struct LinearIo<W> {
    /// The typed lines; the program ends with them.
    pub lines: mpsc::Receiver<String>,
    /// Writes text, and flushes it.
    pub write: W,
    /// What is written before each typed line; nothing if no terminal shows it.
    pub prompt: &'static str,
    /// The width at which texts are wrapped.
    pub columns: u16,
}

/// Reads the lines of standard input on a thread of its own, which ends with the process.
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
    io: LinearIo<impl FnMut(&str) -> Result<(), E>>,
) -> Result<ProgramExit, E> {
    let mut signals = Signals::listen(&signals::TERMINATING_SIGNALS)
        .map_err(|error| Error::new(ErrorKind::Io, format!("no signal handlers: {error}")))?;
    let mut program = LinearLoop::new(session, env, ctx, io);
    tokio::select! {
        biased;
        number = signals.recv() => Ok(ProgramExit::Signal(number)),
        ended = program.run() => ended.map(|()| ProgramExit::Quit),
    }
}

/// A row as it was printed.
struct PrintedRow {
    row: EmailRow,
    /// Whether it was printed that its status has changed, without the status.
    is_outdated: bool,
}

/// The running program.
pub struct LinearLoop<W> {
    model: Model,
    runner: EffectRunner,
    ctx: RenderCtx,
    io: LinearIo<W>,
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
    exit: Option<ExitReason>,
}

impl<W: FnMut(&str) -> Result<(), E>, E: From<Error>> LinearLoop<W> {
    pub fn new(
        mut session: Session,
        env: Environment,
        ctx: RenderCtx,
        mut io: LinearIo<W>,
    ) -> Self {
        let mut info = std::mem::take(&mut session.info);
        info.make_linear();
        io.columns = io.columns.clamp(*COLUMNS.start(), *COLUMNS.end());
        let size = Size::new(io.columns + 2 * MARGIN, SCREEN_HEIGHT);
        let now = ctx.now.to_zoned(ctx.zone.clone());
        let (model, effects) = Model::start(info, size, now);
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
            exit: None,
        }
    }

    /// Runs until the user quits or the input ends.
    pub async fn run(&mut self) -> Result<(), E> {
        self.start().await?;
        while self.exit.is_none() {
            self.print_updates()?;
            (self.io.write)(self.io.prompt)?;
            let Some(line) = self.next_line().await? else {
                break;
            };
            self.execute(&line).await?;
        }
        match self.exit.take() {
            Some(ExitReason::Fatal(error)) => Err(error.into()),
            Some(ExitReason::Quit) | None => Ok(()),
        }
    }

    async fn start(&mut self) -> Result<(), E> {
        if let Some(screen) = &self.model.start_screen
            && let StartScreenKind::Confirm { question, .. } = &screen.kind
        {
            let error = Error::new(ErrorKind::Archive, question.lines.join(" "));
            let hint = "sentbox archive adopt keeps the mail, sentbox archive begin starts anew";
            return Err(error.with_hint(hint).into());
        }
        self.show_mail().await?;
        self.print("help lists the commands")
    }

    /// Waits for the first emails of a session, and prints them.
    async fn show_mail(&mut self) -> Result<(), E> {
        if let Some(notice) = self.model.notice.take() {
            self.print(&notice)?;
        }
        // The header of each email is printed in full.
        self.handle(Message::Command(Command::FoldHeader))?;
        let mut is_waiting = false;
        loop {
            self.settle().await?;
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

    /// Waits for a line; messages are handled meanwhile. `None` at the end of the input or the program.
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
        for effect in update_model(&mut self.model, &mut self.runner, [clock, message]) {
            match effect {
                LoopEffect::SetClipboard { text, .. } => self.copied = Some(text),
                LoopEffect::Exit(reason) => self.exit = self.exit.take().or(Some(reason)),
                LoopEffect::Redraw
                | LoopEffect::Suspend
                | LoopEffect::CaptureMouse(_)
                | LoopEffect::RunCommand(_) => {}
                LoopEffect::Notify(_, text) => {
                    self.model.notice.take_if(|notice| *notice == text);
                    self.reports.push(text);
                }
            }
        }
        self.ctx.set_now(&self.model.now);
        // A search that begins by itself is not announced while a line is typed.
        let search = (self.model.load_older).filter(|it| it.goal != LoadOlderGoal::FullScreen);
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
    async fn settle(&mut self) -> Result<(), E> {
        while self.exit.is_none() && !self.model.is_settled() && !self.runner.is_idle() {
            let message = self.runner.next().await;
            self.handle(message)?;
        }
        Ok(())
    }

    async fn execute(&mut self, line: &str) -> Result<(), E> {
        let line = Line::parse(line);
        if !matches!(line, Ok(Line::Choose(_)) | Err(_)) {
            self.close_lists()?;
        }
        match line {
            Err(error) => self.print_error(&error),
            Ok(Line::NextPage) => self.print_next_page().await,
            Ok(Line::List) => self.print_first_page().await,
            Ok(Line::Open(number)) => self.open(number).await,
            Ok(Line::Mark(number)) => self.mark(number).await,
            Ok(Line::Choose(number)) => self.choose_item(number).await,
            Ok(Line::Status) => self.print_all(&format_status_lines(&self.model, &self.ctx)),
            Ok(Line::Run(Command::Help, _)) => self.print_all(&format_help(self.io.columns)),
            Ok(Line::Run(command, argument)) => self.run_command(command, argument).await,
        }
    }

    async fn run_command(&mut self, command: Command, argument: &str) -> Result<(), E> {
        let is_reading = self.model.focus() == Focus::Reader;
        let has_card = command == Command::RecipientSummary && self.model.recipient_card.is_some();
        if needs_email(command) && !is_reading && !has_card {
            return self.print_error("no email is open; type its number first");
        }
        let mailbox = self.model.session.mailbox;
        self.handle(Message::Command(command))?;
        if matches!(command, Command::ReceivedMail | Command::SentMail) {
            self.settle().await?;
            if self.model.session.mailbox != mailbox {
                return self.show_mail().await;
            }
        }
        let mut argument = argument;
        if command == Command::Export && self.model.chooser.is_some() && !argument.is_empty() {
            let (format, file) = argument.split_once(' ').unwrap_or((argument, ""));
            let Some(index) = SetFormat::ALL.iter().position(|it| it.name() == format) else {
                let names = SetFormat::ALL.map(SetFormat::name).join(", ");
                self.close_lists()?;
                return self.print_error(&format!(
                    "{format} is no format; type export and one of: {names}"
                ));
            };
            self.handle(Message::Clicked(ClickTarget::Item(index)))?;
            argument = file.trim();
        }
        self.finish_command(command, argument).await
    }

    /// Chooses an item of the open list.
    async fn choose_item(&mut self, number: usize) -> Result<(), E> {
        let Some(chooser) = self.model.chooser else {
            return self.print_error(
                "there is nothing to choose; links, views, watched and statistics print lists",
            );
        };
        let last = self.model.chooser_items(chooser).len();
        if number > last {
            return self.print_error(&format!("the last number is {last}"));
        }
        self.handle(Message::Clicked(ClickTarget::Item(number - 1)))?;
        let command = match chooser.kind {
            ChooserKind::Watched => Command::Open,
            ChooserKind::Statistics | ChooserKind::SavedViews => Command::Filter,
            _ => Command::Links,
        };
        self.finish_command(command, "").await
    }

    fn close_lists(&mut self) -> Result<(), E> {
        while self.model.chooser.is_some() {
            self.handle(Message::Command(Command::CloseLayer))?;
        }
        Ok(())
    }

    /// Types the argument of a command that has opened a prompt, waits for its result and prints it.
    async fn finish_command(&mut self, command: Command, argument: &str) -> Result<(), E> {
        if self.model.prompt.is_some() {
            self.answer_prompt(argument)?;
        }
        self.settle().await?;
        let notice = self.model.notice.take();
        if let Some(text) = self.copied.take() {
            let what = command.spec().hint;
            self.print(&format!(
                "{what}, printed because the clipboard is not known here:"
            ))?;
            return text.lines().try_for_each(|line| self.print(line));
        }
        if let Some(notice) = &notice {
            self.print(notice)?;
        }
        if let Some(chooser) = self.model.chooser {
            self.print_all(&format_choices(&self.model, &self.ctx))?;
            let is_list = matches!(chooser.kind, ChooserKind::Links | ChooserKind::Statistics);
            if !is_list {
                self.print("choose and a number chooses one; without it, nothing is done")?;
            }
            return Ok(());
        }
        match command {
            // The notice says that nothing is to be compared with, or to be undone.
            Command::ShowChanges | Command::Undo if notice.is_some() => Ok(()),
            Command::Filter | Command::ShowChanges | Command::Undo => self.print_first_page().await,
            Command::RecipientSummary if self.model.recipient_card.is_some() => {
                self.print_all(&format_card(&self.model, &self.ctx))?;
                self.print_first_page().await
            }
            Command::LoadOlder => self.print_next_page().await,
            // The notice says that there is no other email.
            Command::NextEmail | Command::PreviousEmail if notice.is_some() => Ok(()),
            Command::Open | Command::NextEmail | Command::PreviousEmail | Command::Reveal => {
                self.print_email()
            }
            Command::ShowRendered | Command::ShowText | Command::ShowSource | Command::ShowRaw => {
                self.print_all(&format_body(&self.model))
            }
            _ => Ok(()),
        }
    }

    /// Types the argument into the prompt that a command has opened, and accepts it.
    fn answer_prompt(&mut self, argument: &str) -> Result<(), E> {
        let is_filter =
            (self.model.prompt.as_ref()).is_some_and(|it| it.kind == PromptKind::Filter);
        // Without a name for the file, the suggested one is taken.
        if is_filter || !argument.is_empty() {
            self.handle(Message::Command(Command::DeleteBefore))?;
            self.handle(Message::Pasted(SecretInput::new(argument)))?;
        }
        if is_filter && let Some(problem) = format_rejection(&self.model) {
            self.print(&problem)?;
        }
        self.handle(Message::Command(Command::Accept))?;
        if let Some(problem) = format_rejection(&self.model) {
            self.print_error(&problem)?;
            self.handle(Message::Command(Command::Cancel))?;
        }
        Ok(())
    }

    async fn open(&mut self, number: usize) -> Result<(), E> {
        if !self.choose_number(number).await? {
            return Ok(());
        }
        self.handle(Message::Command(Command::Open))?;
        self.settle().await?;
        self.print_email()
    }

    async fn mark(&mut self, number: usize) -> Result<(), E> {
        if !self.choose_number(number).await? {
            return Ok(());
        }
        self.handle(Message::Command(Command::Mark))?;
        self.settle().await?;
        let marked = plural(self.model.marks.len() as u64, "marked email");
        let text = self.model.notice.take().unwrap_or(marked);
        self.print(&text)
    }

    /// Selects the row of a printed email; false if it printed why that cannot be done.
    async fn choose_number(&mut self, number: usize) -> Result<bool, E> {
        let Some(row) = self.printed.get(number - 1).map(|it| it.row.clone()) else {
            let text = match self.printed.len() {
                0 => "there is no email to open".to_owned(),
                last => format!("the last printed email is {last}; an empty line prints more"),
            };
            return self.print_error(&text).map(|()| false);
        };
        let is_found = self.choose(&row).await?.is_some();
        if !is_found {
            let text = format!("email {number} is no longer in this list; list prints it again");
            self.print_error(&text)?;
        }
        Ok(is_found)
    }

    /// Goes back to the list and selects a row; returns its index in the window, if it is still there.
    async fn choose(&mut self, row: &EmailRow) -> Result<Option<usize>, E> {
        self.leave_email()?;
        self.handle(Message::RowChosen(ListAnchor::from_row(row)))?;
        self.settle().await?;
        let list = &self.model.list;
        let is_row = |other: &EmailRow| other.summary.id == row.summary.id;
        let index = list.rows().iter().position(is_row);
        Ok(index.filter(|_| list.selected().is_some_and(is_row)))
    }

    fn leave_email(&mut self) -> Result<(), E> {
        if self.model.focus() != Focus::Reader {
            return Ok(());
        }
        self.handle(Message::Command(Command::SwitchPane))
    }

    async fn print_first_page(&mut self) -> Result<(), E> {
        self.leave_email()?;
        self.handle(Message::Command(Command::Newest))?;
        self.settle().await?;
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
        if let ReaderState::Failed(error) = self.model.reader_state() {
            let text = format_error(error);
            return self.print(&text);
        }
        let selected = self.model.list.selected().map(|row| &row.summary.id);
        let is_selected = |it: &PrintedRow| Some(&it.row.summary.id) == selected;
        if let Some(index) = self.printed.iter().position(is_selected) {
            self.print(&format!("email {}", index + 1))?;
        }
        self.print_all(&format_head(&self.model, &self.ctx))?;
        self.print_all(&format_body(&self.model))
    }

    /// Prints what has changed since the last prompt: statuses, new emails, the state of the service.
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

/// Whether a command is about the email that is read.
fn needs_email(command: Command) -> bool {
    !matches!(
        command,
        Command::Filter
            | Command::LoadOlder
            | Command::Refresh
            | Command::Export
            | Command::MarkAll
            | Command::ClearMarks
            | Command::WatchedEmails
            | Command::ShowChanges
            | Command::AcknowledgeChanges
            | Command::Statistics
            | Command::SavedViews
            | Command::SaveView
            | Command::FetchBodies
            | Command::Undo
            | Command::Stop
            | Command::ToggleUtc
            | Command::ReceivedMail
            | Command::SentMail
            | Command::Quit
    )
}
