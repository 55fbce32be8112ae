//! The help: every command with its keys by focus, and the signs of a row.
//! Typed letters narrow it, and Enter runs the chosen command, or reports why that is not possible
//! now.
//!
//! It is a prompt ([`PromptKind::Help`]) over whatever is shown; closing it leaves all as it was.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};

use super::keymap::Keymap;
use super::{COMMANDS, Command, CommandSpec, Focus, FocusSet, Motion};
use crate::app::model::Model;
use crate::app::prompt::{HelpCursor, Prompt, PromptKind};
use crate::mail::Status;

/// One line of the help.
#[derive(Debug)]
pub enum HelpLine {
    Title(&'static str),
    Keys(Vec<String>, &'static CommandSpec),
    /// A status with its symbol and its meaning.
    Status(Status),
    /// The meaning of the mark of a row that is new or whose status changed.
    Changed(&'static str),
    /// The meaning of the mark of a watched row.
    Watched(&'static str),
    /// The meaning of the mark of a row that the service has deleted.
    MissingUpstream(&'static str),
    /// The meaning of the mark of an email that is taken along.
    Marked(&'static str),
    Blank,
}

impl HelpLine {
    /// The command that Enter runs on this line.
    const fn spec(&self) -> Option<&'static CommandSpec> {
        match self {
            Self::Keys(_, spec) => Some(spec),
            _ => None,
        }
    }

    /// The text that is searched; `None` for titles and blank lines.
    fn search_text(&self) -> Option<String> {
        match self {
            Self::Title(_) | Self::Blank => None,
            Self::Keys(keys, spec) => {
                let other = OTHER_WORDS.iter().find(|(other, _)| *other == spec.command);
                let other = other.map_or("", |(_, words)| words);
                let keys = keys.join(" ");
                Some(format!("{} {} {keys} {other}", spec.name, spec.help))
            }
            Self::Status(status) => Some(format!("{} {}", status.label(), status.meaning())),
            Self::Changed(text)
            | Self::Watched(text)
            | Self::MissingUpstream(text)
            | Self::Marked(text) => Some((*text).to_owned()),
        }
    }

    /// How it matches `text`, the best first:
    /// as a key or a name, at the start of a name, in a name, otherwise.
    fn match_rank(&self, text: &str) -> u8 {
        let Self::Keys(keys, spec) = self else {
            return 3;
        };
        let name = text.to_lowercase();
        match spec.name {
            found if found == name || keys.iter().any(|key| key == text) => 0,
            found if found.starts_with(&name) => 1,
            found if found.contains(&name) => 2,
            _ => 3,
        }
    }
}

/// Words for what a command does that its line does not have:
/// they are searched, and not shown.
const OTHER_WORDS: [(Command, &str); 4] = [
    (Command::RecipientSummary, "customer"),
    (Command::OnlyDomain, "company"),
    (Command::Pipe, "print"),
    (Command::ShowChanges, "unread"),
];

/// A line with its search text.
struct Candidate(HelpLine, String);

impl AsRef<str> for Candidate {
    fn as_ref(&self) -> &str {
        &self.1
    }
}

/// All lines of the help for these keys.
pub fn help_lines(keymap: &Keymap) -> Vec<HelpLine> {
    let mut lines = Vec::new();
    for group in GROUPS {
        lines.push(HelpLine::Title(group));
        for spec in COMMANDS {
            // The keys of a command that apply in the same focuses are one line.
            let mut by_focus: Vec<(FocusSet, Vec<String>)> = Vec::new();
            let mut bound = keymap.keys_of(spec.command).peekable();
            if bound.peek().is_none() && group_of(spec.focuses()) == group {
                by_focus.push((spec.focuses(), Vec::new()));
            }
            for (focuses, keys) in bound {
                match by_focus.iter_mut().find(|(set, _)| *set == focuses) {
                    _ if group_of(focuses) != group => {}
                    Some((_, all)) => all.push(keys),
                    None => by_focus.push((focuses, vec![keys])),
                }
            }
            for (_, keys) in by_focus {
                match spec.command.view_number() {
                    // Nine keys that do the same with nine numbers are one line.
                    Some(1) if keys == ["1"] => {
                        lines.push(HelpLine::Keys(vec!["1..9".to_owned()], spec));
                    }
                    Some(number) if keys == [number.to_string()] => {}
                    _ => lines.push(HelpLine::Keys(keys, spec)),
                }
            }
        }
        lines.push(HelpLine::Blank);
    }
    lines.push(HelpLine::Title("Signs"));
    lines.extend(Status::KNOWN.map(HelpLine::Status));
    lines.push(HelpLine::Changed(
        "before a status: new or changed since you last looked",
    ));
    lines.push(HelpLine::Marked(
        "at the start of a row: marked, and marked under the selection",
    ));
    lines.push(HelpLine::Watched(
        "before a status: watched until it settles",
    ));
    lines.push(HelpLine::MissingUpstream(
        "before a status: deleted or too old at the service; kept (is:gone finds it)",
    ));
    lines
}

/// The groups of keys, by the focuses in which they apply.
const GROUPS: [&str; 6] = [
    "In the list",
    "In the email",
    "In the list and the email",
    "While choosing",
    "While typing",
    "Everywhere",
];

fn group_of(focuses: FocusSet) -> &'static str {
    let [list, reader, details, choice] =
        [Focus::List, Focus::Reader, Focus::Details, Focus::Choice]
            .map(|focus| focuses.contains(focus));
    let [in_list, in_email, in_both, choosing, typing, everywhere] = GROUPS;
    match (list, reader, details) {
        (true, true, true) => everywhere,
        (true, true, false) => in_both,
        (true, false, _) => in_list,
        (false, true, _) | (false, _, true) => in_email,
        (false, false, false) if choice => choosing,
        (false, false, false) => typing,
    }
}

impl Model {
    /// Whether the help is shown.
    pub const fn is_help_open(&self) -> bool {
        matches!(&self.prompt, Some(prompt) if matches!(prompt.kind, PromptKind::Help))
    }

    /// Opens the help at the keys of the present focus.
    pub(super) fn open_help(&mut self) {
        self.open_prompt(PromptKind::Help, "");
        self.reset_help_cursor();
    }

    /// The lines of the help that match the typed letters, the best match first.
    pub fn help_lines(&self) -> Vec<HelpLine> {
        let text = self.help_text();
        if text.is_empty() {
            return help_lines(&self.session.keymap);
        }
        let search = |kind| {
            let lines = help_lines(&self.session.keymap).into_iter();
            let candidates = lines.filter_map(|line| {
                let text = match kind {
                    AtomKind::Fuzzy => line.spec()?.name.to_owned(),
                    _ => line.search_text()?,
                };
                Some(Candidate(line, text))
            });
            // Keys such as `!` have no special meaning, unlike in the syntax of `Pattern::parse`.
            let pattern = Pattern::new(text, CaseMatching::Ignore, Normalization::Smart, kind);
            pattern.match_list(candidates, &mut Matcher::new(Config::DEFAULT))
        };
        // Letters with others between them find a name, if nothing has them together.
        let mut found = search(AtomKind::Substring);
        if found.is_empty() {
            found = search(AtomKind::Fuzzy);
        }
        let mut lines: Vec<HelpLine> = found.into_iter().map(|(found, _)| found.0).collect();
        lines.sort_by_key(|line| line.match_rank(text));
        lines
    }

    fn help_text(&self) -> &str {
        let prompt = self.prompt.as_ref().filter(|_| self.is_help_open());
        prompt.map_or("", |prompt| prompt.text().trim())
    }

    /// Chooses the best match; without letters nothing, and scrolls to the keys of the
    /// focus below.
    pub(in crate::app) fn reset_help_cursor(&mut self) {
        let lines = self.help_lines();
        let title = group_of(FocusSet::new(&[self.focus_below_help()]));
        let is_title = |line: &HelpLine| matches!(line, HelpLine::Title(text) if *text == title);
        let last_top = lines.len().saturating_sub(self.help_height());
        let cursor = if self.help_text().is_empty() {
            HelpCursor {
                chosen: None,
                top: lines.iter().position(is_title).unwrap_or(0).min(last_top),
            }
        } else {
            HelpCursor {
                chosen: lines.iter().position(|line| line.spec().is_some()),
                top: 0,
            }
        };
        if let Some(prompt) = &mut self.prompt {
            prompt.help = cursor;
        }
    }

    /// Chooses another command of the help;
    /// the first key chooses the first visible one.
    pub(in crate::app) fn move_help(&mut self, motion: Motion) {
        let height = self.help_height();
        let lines = self.help_lines();
        let prompt = self.prompt.as_mut();
        let Some(prompt) = prompt.filter(|prompt| prompt.kind == PromptKind::Help) else {
            return;
        };
        let commands: Vec<usize> = (0..lines.len())
            .filter(|n| lines[*n].spec().is_some())
            .collect();
        let top = prompt.help.top(height);
        let at = match prompt.help.chosen {
            Some(chosen) => motion.apply(commands.partition_point(|n| *n < chosen), height),
            None => commands.partition_point(|n| *n < top),
        };
        let chosen = commands.get(at).or(commands.last()).copied();
        let top = HelpCursor { chosen, top }.top(height);
        prompt.help = HelpCursor { chosen, top };
    }

    /// Chooses the command in this line of the screen, if there is one.
    pub(in crate::app) fn choose_help_line(&mut self, line: u16) {
        let (height, lines) = (self.help_height(), self.help_lines());
        let Some(prompt) = &mut self.prompt else {
            return;
        };
        let top = prompt.help.top(height);
        let at = top + usize::from(line);
        if lines.get(at).is_some_and(|line| line.spec().is_some()) {
            let chosen = Some(at);
            let top = HelpCursor { chosen, top }.top(height);
            prompt.help = HelpCursor { chosen, top };
        }
    }

    /// The number of lines among which the chosen one is;
    /// those below them are for its reason, more where they are short.
    pub fn help_height(&self) -> usize {
        let hint_lines = (1 + 100 / self.size.width.max(1)).min(self.size.height / 2);
        let height = self.layout().main.height.saturating_sub(hint_lines);
        usize::from(height).max(1)
    }

    /// The chosen command, and why it is not possible now.
    pub fn chosen_command(&self) -> Option<(&'static CommandSpec, Option<String>)> {
        let chosen = self.prompt.as_ref()?.help.chosen?;
        let spec = self.help_lines().get(chosen)?.spec()?;
        let focus = self.focus_below_help();
        let reason = if spec.focuses().contains(focus) {
            (spec.possible)(self).err()
        } else {
            let group = group_of(spec.focuses()).to_lowercase();
            Some(format!("{} works only {group}", spec.name))
        };
        Some((spec, reason))
    }

    /// Closes the help and runs the chosen command, or reports why that is not
    /// possible.
    pub(in crate::app) fn run_chosen_command(&mut self, prompt: Prompt) {
        let has_text = !prompt.text().trim().is_empty();
        self.prompt = Some(prompt);
        match self.chosen_command() {
            Some((_, Some(reason))) => {
                self.prompt = None;
                self.notify(reason);
            }
            Some((spec, None)) => {
                self.prompt = None;
                self.dispatch(spec.command);
            }
            None if has_text => self.prompt = self.prompt.take().map(Prompt::reject),
            None => self.prompt = None,
        }
    }
}
