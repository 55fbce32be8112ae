//! The palette: every command by its name, found by the letters of it that are typed.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};

use super::commands::{COMMANDS, Command, CommandSpec, Focus, FocusSet};
use super::model::Model;
use super::prompt::{Prompt, PromptKind};
use crate::query::Completion;

/// A command with what is searched of it.
struct Candidate(&'static CommandSpec, String);

impl AsRef<str> for Candidate {
    fn as_ref(&self) -> &str {
        &self.1
    }
}

impl Model {
    /// Opens the prompt for a command.
    pub(super) fn open_palette(&mut self) {
        let prompt = Prompt::new(PromptKind::Command, "", self.history_entry());
        self.suggest_commands(&prompt);
        self.prompt = Some(prompt);
    }

    /// Suggests the commands that contain the letters of the prompt, the best match first.
    pub(super) fn suggest_commands(&mut self, prompt: &Prompt) {
        let focus = self.focus_below_prompt();
        let candidates = COMMANDS.iter().filter(|spec| is_in_palette(spec, focus));
        let candidates =
            candidates.map(|spec| Candidate(spec, format!("{} {}", spec.name, spec.help)));
        let pattern = Pattern::parse(prompt.text(), CaseMatching::Ignore, Normalization::Smart);
        let found = pattern.match_list(candidates, &mut Matcher::new(Config::DEFAULT));
        let suggestions = found.into_iter().map(|(Candidate(spec, _), _)| {
            let reason = (spec.possible)(self).err();
            Completion {
                range: 0..prompt.text().len(),
                text: spec.name.to_owned(),
                description: match reason {
                    Some(reason) => format!("{}: not now, {reason}", spec.help),
                    None => spec.help.to_owned(),
                },
                example: self
                    .session
                    .keymap
                    .key_for(focus, spec.command)
                    .unwrap_or_default(),
            }
        });
        let suggestions = suggestions.collect();
        let request = self.suggestions.start();
        self.suggestions.resolve(request, Ok(suggestions));
    }

    /// Runs the command of the prompt, or the best match.
    pub(super) fn run_palette(&mut self, prompt: Prompt) {
        let named = Command::from_name(prompt.text().trim());
        let first = self.suggestions().first();
        let command = named.or_else(|| first.and_then(|item| Command::from_name(&item.text)));
        if prompt.text().trim().is_empty() {
            return self.suggestions.reset();
        }
        match command {
            Some(command) => {
                self.suggestions.reset();
                self.dispatch(command);
            }
            None => self.prompt = Some(prompt.reject()),
        }
    }

    /// Returns what had the keyboard before the prompt was opened.
    fn focus_below_prompt(&self) -> Focus {
        if self.reader_open {
            Focus::Reader
        } else {
            Focus::List
        }
    }
}

/// True if the command has a key where the mail is shown; the keys of a prompt make no sense there.
fn is_in_palette(spec: &CommandSpec, focus: Focus) -> bool {
    let focuses = spec.bindings.iter().map(|(focuses, _)| *focuses);
    let all = focuses.fold(FocusSet::EMPTY, FocusSet::union);
    all.contains(focus) && spec.command != Command::Palette
}
