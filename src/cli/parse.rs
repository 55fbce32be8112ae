//! Reads the command line, and turns what is wrong with it into an ordinary error.

use std::ffi::OsString;

use clap::error::{self, ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser as _};

use super::args::Args;
use crate::error::{Error, ErrorKind};
use crate::text::sanitize;
use crate::text::suggest::suggest;

/// What a command line means.
#[derive(Debug)]
pub enum ParsedArgs {
    /// To do something.
    Run(Box<Args>),
    /// Print help or the version, which is a success.
    Print(String),
    /// Nothing that makes sense. `json` is whether errors are wanted as JSON.
    Invalid {
        /// What is wrong.
        failure: Error,
        /// Whether it was asked for JSON, as far as that can be seen.
        json: bool,
    },
}

/// Reads a command line, the program's name first.
pub fn parse_args(words: impl IntoIterator<Item = OsString>) -> ParsedArgs {
    let words: Vec<OsString> = words.into_iter().collect();
    let json = words
        .iter()
        .any(|word| word == "--json" || word == "--jsonl");
    match Args::try_parse_from(words) {
        Ok(args) => match detect_misspelled_command(&args) {
            Some(failure) => ParsedArgs::Invalid { failure, json },
            None => ParsedArgs::Run(Box::new(args)),
        },
        Err(error)
            if matches!(
                error.kind(),
                error::ErrorKind::DisplayHelp | error::ErrorKind::DisplayVersion
            ) =>
        {
            ParsedArgs::Print(error.render().to_string())
        }
        Err(error) => ParsedArgs::Invalid {
            failure: usage_error(&error),
            json,
        },
    }
}

/// A single bare word is a query, unless it is more likely a verb with a slip in it.
fn detect_misspelled_command(args: &Args) -> Option<Error> {
    let (None, [word]) = (&args.verb, args.query.as_slice()) else {
        return None;
    };
    let command = Args::command();
    let verb = suggest(word, command.get_subcommands().map(clap::Command::get_name))?;
    let failure = Error::new(
        ErrorKind::Usage,
        format!("there is no command {}", sanitize::sanitize_line(word)),
    );
    Some(failure.with_hint(format!(
        "did you mean {verb}? To look for the word, quote it twice: sentbox '\"{}\"'",
        sanitize::sanitize_line(word)
    )))
}

fn usage_error(error: &clap::Error) -> Error {
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(first);
    // Some messages go on in indented lines, such as the list of what is missing.
    let rest: Vec<&str> = text
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  ") && !line.contains("tip:"))
        .map(str::trim)
        .collect();
    let message = [&[message], &rest[..]].concat().join(" ");
    let is_negation = error.kind() == clap::error::ErrorKind::UnknownArgument
        && ["search", "archive purge", "[OPTIONS]"]
            .iter()
            .any(|usage| text.contains(&format!("Usage: sentbox {usage}")));
    let general = if is_negation {
        "what is not wanted is `not word`, or `-word` after --"
    } else {
        "see sentbox --help"
    };
    Error::new(ErrorKind::Usage, message)
        .with_hint(clap_suggestion(error).unwrap_or_else(|| general.to_owned()))
}

/// The nearest valid argument, if clap found one.
fn clap_suggestion(error: &clap::Error) -> Option<String> {
    [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ]
    .into_iter()
    .find_map(|kind| {
        let word = match error.get(kind)? {
            ContextValue::String(word) => word,
            ContextValue::Strings(words) => words.first()?,
            _ => return None,
        };
        Some(format!("did you mean {word}?"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(line: &str) -> (String, String) {
        match parse_args(line.split(' ').map(OsString::from)) {
            ParsedArgs::Invalid { failure, .. } => (failure.message, failure.hint),
            other => panic!("{line} was understood: {other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn similar_arguments_are_suggested() {
        assert_eq!(
            wrong("sentbox lst").1,
            "did you mean list? To look for the word, quote it twice: sentbox '\"lst\"'"
        );
        assert_eq!(wrong("sentbox list --limt 3").1, "did you mean --limit?");
        assert_eq!(wrong("sentbox show x --as htm").1, "did you mean html?");
        assert_eq!(
            wrong("sentbox search receipt -ana").1,
            "what is not wanted is `not word`, or `-word` after --"
        );
        assert_eq!(
            wrong("sentbox archive purge receipt -ana").1,
            "what is not wanted is `not word`, or `-word` after --"
        );
        assert_eq!(
            wrong("sentbox list --after a --before b").1,
            "see sentbox --help"
        );
    }

    #[test]
    fn what_is_no_verb_is_a_query() {
        let query = |line: &str| match parse_args(line.split(' ').map(OsString::from)) {
            ParsedArgs::Run(args) if args.verb.is_none() => args.query.join(" "),
            other => panic!("{line} was taken for {other:?}"),
        };
        assert_eq!(query("sentbox"), "");
        assert_eq!(query("sentbox ana@example.com"), "ana@example.com");
        assert_eq!(query("sentbox to:ana list --utc"), "to:ana list");
        assert_eq!(query("sentbox -- ana -bo"), "ana -bo");
        assert_eq!(query("sentbox \"lst\""), "\"lst\"");
        assert_eq!(
            wrong("sentbox ana -bo").1,
            "what is not wanted is `not word`, or `-word` after --"
        );
    }

    #[test]
    fn there_is_one_zone() {
        let ParsedArgs::Run(args) = parse_args(["sentbox", "list", "--utc"].map(OsString::from))
        else {
            panic!("--utc is a flag")
        };
        assert_eq!(args.global.flags().zone, Some(jiff::tz::TimeZone::UTC));
        assert!(
            wrong("sentbox list --timezone Mars/Olympus")
                .0
                .ends_with("as in Europe/Madrid")
        );
        assert!(
            wrong("sentbox list --utc --timezone UTC")
                .0
                .contains("cannot be used with")
        );
    }

    #[test]
    fn help_and_version_are_printed() {
        for line in [
            "sentbox --help",
            "sentbox -h",
            "sentbox list --help",
            "sentbox --version",
        ] {
            assert!(
                matches!(
                    parse_args(line.split(' ').map(OsString::from)),
                    ParsedArgs::Print(_)
                ),
                "{line}"
            );
        }
    }
}
