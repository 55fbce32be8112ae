//! Reads the command line, and turns what is wrong with it into a [`Failure`] like any other.

use std::ffi::OsString;

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::args::Args;
use crate::failure::{Failure, Kind};

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
    let json = words.iter().any(|word| word == "--json" || word == "--jsonl");
    match Args::try_parse_from(words) {
        Ok(args) => Parsed::Do(Box::new(args)),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            Parsed::Tell(error.render().to_string())
        }
        Err(error) => Parsed::Wrong { failure: failure(&error), json },
    }
}

fn failure(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    let sentence = first.strip_prefix("error: ").unwrap_or(first);
    // Some messages go on in indented lines, such as the list of what is missing.
    let rest: Vec<&str> = text.lines().skip(1).take_while(|line| line.starts_with("  ") && !line.contains("tip:")).map(str::trim).collect();
    let sentence = [&[sentence], &rest[..]].concat().join(" ");
    let is_negation = error.kind() == ErrorKind::UnknownArgument
        && ["search", "archive purge"].iter().any(|verb| text.contains(&format!("Usage: sentbox {verb}")));
    let general = if is_negation { "what is not wanted is `not word`, or `-word` after --" } else { "sentbox --help tells what there is" };
    Failure::new(Kind::Usage, sentence).hint(suggestion(error).unwrap_or_else(|| general.to_owned()))
}

/// The nearest thing that would have made sense, if clap found one.
fn suggestion(error: &clap::Error) -> Option<String> {
    [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue].into_iter().find_map(|kind| {
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
        use clap::CommandFactory as _;
        Args::command().debug_assert();
    }

    #[test]
    fn what_resembles_something_is_suggested() {
        assert_eq!(wrong("sentbox lst").1, "did you mean list?");
        assert_eq!(wrong("sentbox list --limt 3").1, "did you mean --limit?");
        assert_eq!(wrong("sentbox show x --as htm").1, "did you mean html?");
        assert_eq!(wrong("sentbox search receipt -ana").1, "what is not wanted is `not word`, or `-word` after --");
        assert_eq!(wrong("sentbox archive purge receipt -ana").1, "what is not wanted is `not word`, or `-word` after --");
        assert_eq!(wrong("sentbox list --after a --before b").1, "sentbox --help tells what there is");
    }

    #[test]
    fn help_and_version_are_told() {
        for line in ["sentbox --help", "sentbox -h", "sentbox list --help", "sentbox --version"] {
            assert!(matches!(parse(line.split(' ').map(OsString::from)), Parsed::Tell(_)), "{line}");
        }
    }
}
