//! Adds the flags of this run to the commands that its notes and hints suggest.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::Global;
use crate::mail::Mailbox;
use crate::text::format::shell_word;

/// The commands that use a profile or its archive, and whether they have
/// `--received`.
const COMMANDS: [(&str, bool); 16] = [
    ("archive info", true),
    ("archive repair", true),
    ("archive", false),
    ("attachment", true),
    ("doctor", false),
    ("export", true),
    ("import", true),
    ("list", true),
    ("login", false),
    ("search", true),
    ("serve", false),
    ("show", true),
    ("stats", false),
    ("sync", true),
    ("wait", false),
    ("watch", false),
];

/// The argument between the program's name and a query.
const QUERY: (&str, bool) = ("--", false);

/// The flags without which a suggested command would be about other emails,
/// or would not reach the same service.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct SelectionFlags {
    /// Those before the command, each with a space after it.
    global: String,
    pub(in crate::cli) mailbox: Mailbox,
}

impl SelectionFlags {
    pub(in crate::cli) fn new(global: &Global) -> Self {
        let mut flags = String::new();
        if let Some(profile) = &global.profile {
            let _ = write!(flags, "-p {} ", shell_word(profile));
        }
        if let Some(url) = &global.base_url {
            let _ = write!(flags, "--base-url {} ", shell_word(url));
        }
        for (flag, file) in [("archive", &global.archive), ("ca-file", &global.ca_file)] {
            if let Some(file) = file {
                let file = file.to_string_lossy();
                let _ = write!(flags, "--{flag} {} ", shell_word(&file));
            }
        }
        if global.in_memory {
            flags.push_str("--in-memory ");
        }
        Self {
            global: flags,
            mailbox: Mailbox::Sent,
        }
    }

    /// Adds the flags to each command in `text`.
    pub(in crate::cli) fn add_to<'a>(&self, text: &'a str) -> Cow<'a, str> {
        const PROGRAM: &str = "sentbox ";
        if self.global.is_empty() && self.mailbox == Mailbox::Sent {
            return text.into();
        }
        let mut out = String::with_capacity(text.len());
        for (index, rest) in text.split(PROGRAM).enumerate() {
            if index > 0 {
                out.push_str(PROGRAM);
            }
            let is_first_word = |name: &str| {
                let after = rest.strip_prefix(name);
                after.is_some_and(|after| !after.starts_with(char::is_alphanumeric))
            };
            let mut commands = COMMANDS.iter().chain([&QUERY]);
            let command = commands.find(|(name, _)| is_first_word(name));
            let Some((name, has_received)) = command.filter(|_| index > 0) else {
                out.push_str(rest);
                continue;
            };
            let received = if self.mailbox == Mailbox::Received && *has_received {
                " --received"
            } else {
                ""
            };
            let rest = &rest[name.len()..];
            let _ = write!(out, "{}{name}{received}{rest}", self.global);
        }
        out.into()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Args;

    #[test]
    fn suggested_commands_have_the_flags() {
        let flags = SelectionFlags {
            global: "-p acme ".to_owned(),
            mailbox: Mailbox::Received,
        };
        for (text, expected) in [
            (
                "there is more: sentbox list --after 5b",
                "there is more: sentbox -p acme list --received --after 5b",
            ),
            (
                "sentbox archive adopt; if not: sentbox archive begin",
                "sentbox -p acme archive adopt; if not: sentbox -p acme archive begin",
            ),
            (
                "run sentbox archive repair, or sentbox demo",
                "run sentbox -p acme archive repair --received, or sentbox demo",
            ),
            (
                "another sentbox listens; sync here",
                "another sentbox listens; sync here",
            ),
            ("list", "list"),
        ] {
            assert_eq!(flags.add_to(text), expected);
            assert_eq!(SelectionFlags::default().add_to(text), text);
        }
    }

    #[test]
    fn only_some_commands_have_received_mail() {
        let root = Args::command();
        for (name, has_received) in COMMANDS {
            let mut command = &root;
            for word in name.split(' ') {
                command = command.find_subcommand(word).expect(name);
            }
            let found = command
                .get_arguments()
                .any(|argument| argument.get_long() == Some("received"));
            assert_eq!(found, has_received, "{name}");
        }
    }
}
