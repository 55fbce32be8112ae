//! Carries out the typed lines of linear mode.

use super::{LinearLoop, PAGE_ROWS};
use crate::app::commands::line_commands::Line;
use crate::app::{
    ChooserKind, ClickTarget, Command, Focus, ListAnchor, Message, Model, Prompt, PromptKind,
    Question, StartScreen,
};
use crate::archive::EmailRow;
use crate::config::SecretInput;
use crate::error::Error;
use crate::export::SetFormat;
use crate::signals::InterruptsIgnored;
use crate::text::format::plural;
use crate::tui::piped_command;
use crate::view::linear::{
    format_body, format_card, format_choices, format_error_details, format_found, format_help,
    format_rejection, format_start_screen, format_status_lines,
};

impl<E: From<Error>> LinearLoop<'_, E> {
    pub(super) async fn execute(&mut self, line: &str) -> Result<(), E> {
        let line = Line::parse(line);
        if !matches!(line, Ok(Line::Choose(_)) | Err(_)) {
            self.close_lists()?;
        }
        match line {
            Err(error) => self.print_error(&error),
            // Enter pressed by accident must not lose the email.
            Ok(Line::Empty) if self.model.focus() == Focus::Reader => self.print(
                "the email stays open; next reads the next one, more prints the next of the list",
            ),
            Ok(Line::Empty | Line::NextPage) => self.print_next_page().await,
            Ok(Line::List) => self.print_first_page().await,
            Ok(Line::Open(number)) => self.open(number).await,
            Ok(Line::Mark(number)) => self.mark(number).await,
            Ok(Line::Choose(number)) => self.choose_item(number).await,
            Ok(Line::Status) => self.print_all(&format_status_lines(&self.model, &self.ctx)),
            Ok(Line::Run(Command::Help, _)) => self.print_all(&format_help(self.io.columns)),
            Ok(Line::RunOnEmail(command, _)) if !self.is_on_email(command) => {
                self.print_error("no email is open; type its number first")
            }
            Ok(Line::Run(command, argument) | Line::RunOnEmail(command, argument)) => {
                self.run_command(command, argument).await
            }
        }
    }

    /// Whether an email is read, or its card is shown, which the command goes on with.
    fn is_on_email(&self, command: Command) -> bool {
        let has_card = command == Command::RecipientSummary && self.model.recipient_card.is_shown();
        has_card || self.model.focus() == Focus::Reader
    }

    async fn run_command(&mut self, command: Command, argument: &str) -> Result<(), E> {
        let mailbox = self.model.session.mailbox;
        self.handle(Message::Command(command))?;
        if self.model.start_screen.is_some() {
            return self.print_start_screen().await;
        }
        if matches!(command, Command::ReceivedMail | Command::SentMail) {
            self.wait_until_idle().await?;
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
                    "{format} is not a format; type export and one of: {names}"
                ));
            };
            self.handle(Message::Clicked(ClickTarget::Item(index), None))?;
            argument = file.trim();
        }
        self.finish_command(command, argument).await
    }

    /// Prints the profiles, or what is asked before one opens.
    async fn print_start_screen(&mut self) -> Result<(), E> {
        while self.exit.is_none()
            && (self.model.start_screen.as_ref()).is_some_and(StartScreen::is_loading)
        {
            let message = self.runner.next().await;
            self.handle(message)?;
        }
        if self.model.start_screen.is_none() {
            return Ok(());
        }
        self.print_all(&format_start_screen(&self.model))?;
        self.print_choose_hint()
    }

    /// Chooses a profile or an answer, and prints the mail that it opens.
    async fn choose_start_item(&mut self, number: usize) -> Result<(), E> {
        let target = self.model.session.target.clone();
        self.handle(Message::Clicked(ClickTarget::Item(number - 1), None))?;
        if self.model.start_screen.is_some() {
            self.print_start_screen().await?;
        }
        match &self.model.start_screen {
            Some(_) => Ok(()),
            None if self.model.session.target == target => self.print_first_page().await,
            None => self.show_mail().await,
        }
    }

    fn print_choose_hint(&mut self) -> Result<(), E> {
        self.print("to choose one, type choose and a number, such as choose 1; until then, nothing is done")
    }

    /// Chooses an item of the open list.
    async fn choose_item(&mut self, number: usize) -> Result<(), E> {
        if self.model.start_screen.is_some() {
            return self.choose_start_item(number).await;
        }
        let Some(kind) = self.model.chooser_kind().cloned() else {
            return self.print_error(
                "there is nothing to choose; links, views, watched and statistics print lists",
            );
        };
        let last = self.model.chooser_items().len();
        if number > last {
            return self.print_error(&format!("the last number is {last}"));
        }
        self.handle(Message::Clicked(ClickTarget::Item(number - 1), None))?;
        let command = match kind {
            ChooserKind::Watched => Command::Open,
            ChooserKind::Statistics | ChooserKind::SavedViews => Command::Filter,
            ChooserKind::Question(Question::LoadSince { .. }) => Command::GoToDate,
            _ => Command::Links,
        };
        self.finish_command(command, "").await
    }

    fn close_lists(&mut self) -> Result<(), E> {
        while self.model.chooser.is_some() || self.model.start_screen.is_some() {
            self.handle(Message::Command(Command::CloseLayer))?;
        }
        Ok(())
    }

    /// Types the argument of a command that has opened a prompt,
    /// waits for its result and prints it.
    async fn finish_command(&mut self, command: Command, argument: &str) -> Result<(), E> {
        if self.model.prompt.is_some() {
            self.answer_prompt(argument)?;
        }
        self.wait_until_idle().await?;
        if let Some(piped) = self.piped.take() {
            // Ctrl-C is for the command.
            let _ignored = InterruptsIgnored::new();
            let ended = piped_command::run(piped).await;
            self.handle(ended)?;
        }
        let notice = self.model.take_notice();
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
        if let Some(kind) = self.model.chooser_kind() {
            let is_list = matches!(kind, ChooserKind::Links | ChooserKind::Statistics);
            self.print_all(&format_choices(&self.model, &self.ctx))?;
            if !is_list {
                self.print_choose_hint()?;
            }
            return Ok(());
        }
        match command {
            // The notice says what is missing: an earlier look, a change to undo, another email.
            Command::ShowChanges
            | Command::Undo
            | Command::Redo
            | Command::NextEmail
            | Command::PreviousEmail
                if notice.is_some() =>
            {
                Ok(())
            }
            Command::Filter
            | Command::OnlyRecipient
            | Command::OnlyDomain
            | Command::OnlySubject
            | Command::OnlySender
            | Command::OnlyStatus
            | Command::ShowChanges
            | Command::Undo
            | Command::Redo => self.print_first_page().await,
            Command::RecipientSummary if self.model.recipient_card.is_shown() => {
                self.print_all(&format_card(&self.model, &self.ctx))?;
                self.print_first_page().await
            }
            Command::LoadOlder => self.print_next_page().await,
            Command::GoToDate | Command::Oldest => self.print_selected_page(),
            Command::Open | Command::NextEmail | Command::PreviousEmail | Command::Reveal => {
                self.print_email()
            }
            Command::ShowRendered | Command::ShowText | Command::ShowSource | Command::ShowRaw => {
                self.print_all(&format_body(&self.model))
            }
            Command::Find => self.print_all(&format_found(&self.model)),
            Command::ErrorDetails => {
                if let Some(error) = self.model.error_details.take() {
                    self.print_all(&format_error_details(&error))?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Prints the page that begins with the selected row, or, at the end of the list,
    /// the last page.
    fn print_selected_page(&mut self) -> Result<(), E> {
        let rows = self.model.list.rows();
        let selected = self.model.list.selected_id();
        let is_selected = |row: &EmailRow| Some(&row.summary.id) == selected;
        let index = rows.iter().position(is_selected);
        let last_page = rows.len().saturating_sub(PAGE_ROWS);
        self.printed.clear();
        self.print_rows(index.unwrap_or(0).min(last_page))
    }

    /// Types the argument into the prompt that a command has opened, and accepts it.
    fn answer_prompt(&mut self, argument: &str) -> Result<(), E> {
        let is_open =
            |model: &Model, kind| (model.prompt.as_ref()).is_some_and(|it| it.kind == kind);
        let is_filter = is_open(&self.model, PromptKind::Filter);
        let view = (
            argument.to_owned(),
            self.model.list.filter.text().to_owned(),
        );
        let is_repeated = self.refused_view.take().as_ref() == Some(&view);
        // Without a name for the file, the suggested one is taken.
        if is_filter || !argument.is_empty() {
            self.handle(Message::Command(Command::DeleteAllBefore))?;
            self.handle(Message::Pasted(SecretInput::new(argument)))?;
            let is_refused = |it: &Prompt| it.text().is_empty() && !argument.is_empty();
            if self.model.prompt.as_ref().is_some_and(is_refused)
                && let Some(problem) = self.model.take_notice()
            {
                self.print_error(&problem)?;
                return self.handle(Message::Command(Command::Cancel));
            }
        }
        if is_filter && let Some(problem) = format_rejection(&self.model) {
            self.print(&problem)?;
        }
        self.handle(Message::Command(Command::Accept))?;
        if is_open(&self.model, PromptKind::SaveView) {
            if is_repeated {
                self.handle(Message::Command(Command::Accept))?;
            } else {
                self.refused_view = Some(view);
            }
        }
        self.model.unwritten_path = None;
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
        self.wait_until_idle().await?;
        self.print_email()
    }

    /// Marks a printed email; the one that is open stays open.
    async fn mark(&mut self, number: usize) -> Result<(), E> {
        let is_open = self.model.focus() == Focus::Reader;
        let opened = self.model.list.selected().filter(|_| is_open).cloned();
        if !self.choose_number(number).await? {
            return Ok(());
        }
        self.handle(Message::Command(Command::Mark))?;
        self.wait_until_idle().await?;
        let marked = plural(self.model.marks.len() as u64, "marked email");
        let text = self.model.take_notice().unwrap_or(marked);
        if let Some(row) = opened
            && self.choose(&row).await?.is_some()
        {
            self.handle(Message::Command(Command::Open))?;
            self.wait_until_idle().await?;
        }
        self.print(&text)
    }

    /// Selects the row of a printed email; false if it printed why that cannot be done.
    async fn choose_number(&mut self, number: usize) -> Result<bool, E> {
        let Some(row) = self.printed.get(number - 1).map(|it| it.row.clone()) else {
            let text = match self.printed.len() {
                0 => "there is no email to open".to_owned(),
                last => format!("the last printed email is {last}; more prints the next ones"),
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

    /// Goes back to the list and selects a row;
    /// returns its index in the window, if it is still there.
    pub(super) async fn choose(&mut self, row: &EmailRow) -> Result<Option<usize>, E> {
        self.leave_email()?;
        self.handle(Message::RowChosen(Some(ListAnchor::from_row(row))))?;
        self.wait_until_idle().await?;
        let list = &self.model.list;
        let is_row = |other: &EmailRow| other.summary.id == row.summary.id;
        let index = list.rows().iter().position(is_row);
        Ok(index.filter(|_| list.selected().is_some_and(is_row)))
    }

    pub(super) fn leave_email(&mut self) -> Result<(), E> {
        if self.model.focus() != Focus::Reader {
            return Ok(());
        }
        self.handle(Message::Command(Command::SwitchPane))
    }
}
