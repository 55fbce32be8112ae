//! Reads the command line, and turns what is wrong with it into a [`Failure`] like any other.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser as _};

use super::args::Args;
use crate::config::nearest;
use crate::failure::{Failure, Kind};
use crate::mail::clean;

/// What a command line asks for.
#[derive(Debug)]
pub enum Parsed {
    /// To do something.
    Do(Box<Args>),
    /// To be told something, which is a success: help or the version.
    Tell(String),
    /// Nothing that makes sense. `json` is whether errors are wanted as JSON.
    Wrong {
        /// What is wrong.
        failure: Failure,
        /// Whether it was asked for JSON, as far as that can be seen.
        json: bool,
    },
}

/// Reads a command line, the program's name first.
#[must_use]
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Parsed {
    let words: Vec<OsString> = words.into_iter().collect();
    let json = words
        .iter()
        .any(|word| word == "--json" || word == "--jsonl");
    match Args::try_parse_from(words) {
        Ok(args) => match misspelled(&args) {
            Some(failure) => Parsed::Wrong { failure, json },
            None => Parsed::Do(Box::new(args)),
        },
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            ) =>
        {
            Parsed::Tell(error.render().to_string())
        }
        Err(error) => Parsed::Wrong {
            failure: failure(&error),
            json,
        },
    }
}

/// A single bare word is a query, unless it is more likely a verb with a slip in it.
fn misspelled(args: &Args) -> Option<Failure> {
    let (None, [word]) = (&args.verb, args.query.as_slice()) else {
        return None;
    };
    let command = Args::command();
    let verb = nearest(word, command.get_subcommands().map(clap::Command::get_name))?;
    let failure = Failure::new(
        Kind::Usage,
        format!("there is no command {}", clean::line(word)),
    );
    Some(failure.hint(format!(
        "did you mean {verb}? To look for the word, quote it twice: sentbox '\"{}\"'",
        clean::line(word)
    )))
}

fn failure(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    let sentence = first.strip_prefix("error: ").unwrap_or(first);
    // Some messages go on in indented lines, such as the list of what is missing.
    let rest: Vec<&str> = text
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  ") && !line.contains("tip:"))
        .map(str::trim)
        .collect();
    let sentence = [&[sentence], &rest[..]].concat().join(" ");
    let is_negation = error.kind() == ErrorKind::UnknownArgument
        && ["search", "archive purge", "[OPTIONS]"]
            .iter()
            .any(|usage| text.contains(&format!("Usage: sentbox {usage}")));
    let general = if is_negation {
        "what is not wanted is `not word`, or `-word` after --"
    } else {
        "sentbox --help tells what there is"
    };
    Failure::new(Kind::Usage, sentence)
        .hint(suggestion(error).unwrap_or_else(|| general.to_owned()))
}

/// The nearest thing that would have made sense, if clap found one.
fn suggestion(error: &clap::Error) -> Option<String> {
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
        match parse(line.split(' ').map(OsString::from)) {
            Parsed::Wrong { failure, .. } => (failure.sentence, failure.hint),
            other => panic!("{line} was understood: {other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn what_resembles_something_is_suggested() {
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
            "sentbox --help tells what there is"
        );
    }

    #[test]
    fn what_is_no_verb_is_a_query() {
        let query = |line: &str| match parse(line.split(' ').map(OsString::from)) {
            Parsed::Do(args) if args.verb.is_none() => args.query.join(" "),
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
        let Parsed::Do(args) = parse(["sentbox", "list", "--utc"].map(OsString::from)) else {
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
    fn help_and_version_are_told() {
        for line in [
            "sentbox --help",
            "sentbox -h",
            "sentbox list --help",
            "sentbox --version",
        ] {
            assert!(
                matches!(parse(line.split(' ').map(OsString::from)), Parsed::Tell(_)),
                "{line}"
            );
        }
    }
}
