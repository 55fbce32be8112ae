//! Commands as typed lines, for a front end without keys:
//! the table of their words, and its parser.
//!
//! Most rows run a [`Command`]; all other names of a command work, too. `tui/linear/commands.rs`
//! runs them, and its keymap ([`super::keymap::Keymap::typed`]) names these words instead of keys.

use super::{COMMANDS, Command, CommandSpec, Focus};
use crate::text::format::did_you_mean;

/// A typed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'a> {
    /// Nothing was typed: the next page, unless an email is read.
    Empty,
    /// The next page of the list.
    NextPage,
    /// The first page of the list.
    List,
    /// Open the email of this number.
    Open(usize),
    /// Mark or unmark the email of this number.
    Mark(usize),
    /// Choose the item of this number in the printed list, such as an answer.
    Choose(usize),
    /// How far back mail is loaded, and whether it is live.
    Status,
    /// Run a command, with what was typed behind its word.
    Run(Command, &'a str),
    /// Run a command on the email that is read, with what was typed behind its word.
    RunOnEmail(Command, &'a str),
}

/// One row of the table.
#[derive(Debug)]
pub struct LineCommand {
    /// The name, then its short forms; the name of the command itself works as well.
    pub words: &'static [&'static str],
    /// The argument after the word.
    pub argument: &'static str,
    pub help: &'static str,
    action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    List,
    NextPage,
    Open,
    Mark,
    Choose,
    Status,
    /// Copy the field that follows.
    Copy,
    /// Filter by the field that follows.
    Only,
    Run(Command),
    /// Run a command about the email that is read.
    OnEmail(Command),
}

impl Action {
    const fn command(self) -> Option<Command> {
        match self {
            Self::Run(command) | Self::OnEmail(command) => Some(command),
            _ => None,
        }
    }
}

/// Makes [`LINE_COMMANDS`]; a row is: words, argument, help, `=>` action.
macro_rules! line_commands {
    ($([$($word:literal),+] $argument:literal $help:literal => $action:expr;)+) => {
        pub static LINE_COMMANDS: &[LineCommand] = &[$(LineCommand {
            words: &[$($word),+],
            argument: $argument,
            help: $help,
            action: $action,
        }),+];
    };
}

line_commands! {
    ["list", "l"] "" "the first emails of the list" => Action::List;
    ["more"] "" "the next emails of the list; an empty line does the same, unless an email is open"
        => Action::NextPage;
    ["filter", "/", "f"] "QUERY" "only emails that match; without QUERY: all mail"
        => Action::Run(Command::Filter);
    ["only"] "FIELD" "only emails with the recipient, domain, subject, sender or status of the open email"
        => Action::Only;
    ["date", "d"] "DATE" "the emails from this date back" => Action::Run(Command::GoToDate);
    ["oldest"] "" "the last emails of the list" => Action::Run(Command::Oldest);
    ["open", "o", "read"] "NUMBER" "read an email of the list; its number alone does the same"
        => Action::Open;
    ["next", "n"] "" "read the next email" => Action::OnEmail(Command::NextEmail);
    ["previous", "p"] "" "read the previous email" => Action::OnEmail(Command::PreviousEmail);
    ["rendered", "v"] "" "the body as the recipient saw it" => Action::OnEmail(Command::ShowRendered);
    ["text", "t"] "" "the plain-text part" => Action::OnEmail(Command::ShowText);
    ["source"] "" "the html source" => Action::OnEmail(Command::ShowSource);
    ["raw"] "" "raw JSON, every field" => Action::OnEmail(Command::ShowRaw);
    ["find"] "TEXT" "the lines of the body with this text" => Action::OnEmail(Command::Find);
    ["links"] "" "links of the email with their true targets" => Action::OnEmail(Command::Links);
    ["copy", "y"] "PART" "print a part of the email on lines of its own" => Action::Copy;
    ["save", "s"] "FILE" "save the email as eml, html, txt or json" => Action::OnEmail(Command::SaveEmail);
    ["pipe", "|"] "COMMAND" "give the body in this view to a shell command" => Action::OnEmail(Command::Pipe);
    ["attachments", "a"] "" "attachments of the email; choose one to save it" => Action::OnEmail(Command::Attachments);
    ["mark", "m"] "NUMBER" "mark an email of the list for export, or unmark it" => Action::Mark;
    ["mark-all"] "" "mark all that the list shows" => Action::Run(Command::MarkAll);
    ["unmark"] "" "remove all marks" => Action::Run(Command::ClearMarks);
    ["export", "e"] "FORMAT FILE" "export what is marked, or all that the list shows, as eml, html, text, txt, json, jsonl or csv"
        => Action::Run(Command::Export);
    ["reveal"] "" "reveal masked codes and links, or mask them again" => Action::OnEmail(Command::Reveal);
    ["card", "c"] "" "all mail to the recipient; again: to the next one"
        => Action::OnEmail(Command::RecipientSummary);
    ["watch", "w"] "" "watch the email until its status settles; again: stop" => Action::OnEmail(Command::Watch);
    ["watched"] "" "all watched emails" => Action::Run(Command::WatchedEmails);
    ["views"] "" "saved views; choose one to show it" => Action::Run(Command::SavedViews);
    ["save-view"] "NUMBER NAME" "save what is shown as a view, from 1 to 9" => Action::Run(Command::SaveView);
    ["undo", "u"] "" "undo a change of what is shown" => Action::Run(Command::Undo);
    ["redo"] "" "redo an undone change" => Action::Run(Command::Redo);
    ["changes"] "" "what is new or has changed since the last look" => Action::Run(Command::ShowChanges);
    ["seen"] "" "mark all changes as seen" => Action::Run(Command::AcknowledgeChanges);
    ["statistics", "stats"] "" "statistics of what the list shows" => Action::Run(Command::Statistics);
    ["choose"] "NUMBER" "choose an item of the links, answers or lists printed last" => Action::Choose;
    ["older", "b"] "" "search older mail" => Action::Run(Command::LoadOlder);
    ["bodies"] "" "fetch the bodies that the filter searches" => Action::Run(Command::FetchBodies);
    ["stop", "x"] "" "stop an export, or fetching older mail, bodies or statuses"
        => Action::Run(Command::Stop);
    ["refresh", "r"] "" "refresh now" => Action::Run(Command::Refresh);
    ["utc"] "" "times in UTC; again: in the zone of the start" => Action::Run(Command::ToggleUtc);
    ["received"] "" "received mail, where the service has it; again: sent mail"
        => Action::Run(Command::ReceivedMail);
    ["sent"] "" "sent mail again" => Action::Run(Command::SentMail);
    ["profiles"] "" "profiles; choose one to switch to it" => Action::Run(Command::Profiles);
    ["details"] "" "details of the last error" => Action::Run(Command::ErrorDetails);
    ["status"] "" "how far back mail is loaded, and whether the list is live" => Action::Status;
    ["help", "h", "?"] "" "this help" => Action::Run(Command::Help);
    ["quit", "q"] "" "quit; the end of the input does the same" => Action::Run(Command::Quit);
}

impl LineCommand {
    /// Whether `word` is one of its words, or the name of its command.
    fn has_word(&self, word: &str) -> bool {
        self.words.contains(&word)
            || (self.action.command()).is_some_and(|command| command.spec().name == word)
    }
}

/// The word that runs `command`; `None` if none does.
pub fn word_for(command: Command) -> Option<&'static str> {
    let mut rows = LINE_COMMANDS.iter();
    let row = rows.find(|row| row.action.command() == Some(command))?;
    row.words.first().copied()
}

/// The fields that can be copied: the names of their commands without `copy-`.
pub fn copy_fields() -> impl Iterator<Item = (&'static str, Command)> {
    fields("copy-")
}

/// The fields of the commands whose names begin so.
fn fields(prefix: &str) -> impl Iterator<Item = (&'static str, Command)> {
    let field = move |spec: &'static CommandSpec| {
        let name: &'static str = spec.name;
        Some((name.strip_prefix(prefix)?, spec.command))
    };
    let has_pane = |spec: &&CommandSpec| spec.focuses().contains(Focus::List);
    COMMANDS.iter().filter(has_pane).filter_map(field)
}

impl<'a> Line<'a> {
    /// Parses a line; the error says what to type instead.
    pub fn parse(line: &'a str) -> Result<Self, String> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(Self::Empty);
        }
        if line.bytes().all(|byte| byte.is_ascii_digit()) {
            return parse_number("open", line).map(Self::Open);
        }
        // A query may follow the slash without a space, and a command the bar.
        let end = line.find(char::is_whitespace).unwrap_or(line.len());
        let end = if line.starts_with(['/', '|']) { 1 } else { end };
        let (word, argument) = (&line[..end], line[end..].trim());
        if let Some((word @ ("copy" | "only"), field)) = word.split_once('-') {
            return parse_field(word, field);
        }
        let Some(row) = LINE_COMMANDS.iter().find(|row| row.has_word(word)) else {
            let words = LINE_COMMANDS
                .iter()
                .flat_map(|row| row.words.iter().copied())
                // Two letters are near to any one of them.
                .filter(|word| word.len() > 1);
            let instead = did_you_mean(word, words);
            return Err(format!("no command {word:?}{instead}; help lists all"));
        };
        match row.action {
            Action::Open => parse_number(word, argument).map(Self::Open),
            Action::Mark => parse_number(word, argument).map(Self::Mark),
            Action::Choose => parse_number(word, argument).map(Self::Choose),
            Action::Copy => parse_field("copy", argument),
            Action::Only => parse_field("only", argument),
            _ if row.argument.is_empty() && !argument.is_empty() => {
                Err(format!("{word} has no argument; type {word} alone"))
            }
            Action::Run(Command::GoToDate) | Action::OnEmail(Command::Find | Command::Pipe)
                if argument.is_empty() =>
            {
                let needed = row.argument;
                Err(format!("{word} needs {needed}: type {word} {needed}"))
            }
            Action::List => Ok(Self::List),
            Action::NextPage => Ok(Self::NextPage),
            Action::Status => Ok(Self::Status),
            Action::Run(command) => Ok(Self::Run(command, argument)),
            Action::OnEmail(command) => Ok(Self::RunOnEmail(command, argument)),
        }
    }
}

fn parse_number(word: &str, text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("type a number of what is printed, such as {word} 3"))
}

fn parse_field<'a>(word: &str, field: &str) -> Result<Line<'a>, String> {
    let prefix = format!("{word}-");
    let found = fields(&prefix).find(|(name, _)| *name == field);
    found.map_or_else(
        || {
            let names: Vec<&str> = fields(&prefix).map(|(name, _)| name).collect();
            Err(format!("type {word} and one of: {}", names.join(", ")))
        },
        |(_, command)| {
            Ok(match command {
                Command::CopyQuery | Command::CopyCard => Line::Run(command, ""),
                _ => Line::RunOnEmail(command, ""),
            })
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_names_of_commands_are_parsed() {
        for (line, parsed) in [
            ("", Line::Empty),
            ("more", Line::NextPage),
            ("  3 ", Line::Open(3)),
            ("open 12", Line::Open(12)),
            ("l", Line::List),
            (
                "/to:ana is:trouble",
                Line::Run(Command::Filter, "to:ana is:trouble"),
            ),
            ("filter  a b ", Line::Run(Command::Filter, "a b")),
            ("/", Line::Run(Command::Filter, "")),
            ("load-older", Line::Run(Command::LoadOlder, "")),
            (
                "copy message-id",
                Line::RunOnEmail(Command::CopyMessageId, ""),
            ),
            ("copy-id", Line::RunOnEmail(Command::CopyId, "")),
            (
                "save a b.eml",
                Line::RunOnEmail(Command::SaveEmail, "a b.eml"),
            ),
        ] {
            assert_eq!(Line::parse(line), Ok(parsed), "{line:?}");
        }
    }

    #[test]
    fn errors_say_what_to_type() {
        let error = |line| Line::parse(line).unwrap_err();
        assert_eq!(
            error("lnks"),
            "no command \"lnks\"; did you mean links?; help lists all"
        );
        assert_eq!(error("go"), "no command \"go\"; help lists all");
        assert_eq!(error("quit now"), "quit has no argument; type quit alone");
        assert!(error("copy").starts_with("type copy and one of: id, message-id, recipient,"));
        assert!(error("open").contains("open 3"));
        assert_eq!(error("0"), error("open three"));
        assert_eq!(error(&"9".repeat(40)), error("0"));
    }

    #[test]
    fn no_word_belongs_to_two_rows() {
        for word in LINE_COMMANDS.iter().flat_map(|row| row.words) {
            let rows = LINE_COMMANDS.iter().filter(|row| row.has_word(word));
            assert_eq!(rows.count(), 1, "{word}");
        }
    }
}
