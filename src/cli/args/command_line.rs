//! Parses the command line, finds what its words name,
//! and makes the manual page from its definition.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};

use clap::error::{self, ContextKind, ContextValue};
use clap::{Arg, Command, CommandFactory as _, Parser as _};
use clap_mangen::Man;

use super::Args;
use super::notes::{ENVIRONMENT, EXIT_CODES, FILES, NOTES};
use super::suggested_commands::SelectionFlags;
use super::synonyms::{self, find_flag_hint};
use crate::error::{Error, ErrorKind};
use crate::query::query_manual;
use crate::text::format::suggest;
use crate::text::sanitize;

/// The first argument of a script of a shell that requests completions.
pub(in crate::cli) const COMPLETION_REQUEST: &str = "__complete";

/// What there is help on.
const HELP_TOPICS: &str = "sentbox help query has the query language, sentbox help COMMAND a command; \
                           ? on the screen lists its keys, docs/json.md has the members of JSON";

/// The result of parsing a command line.
#[derive(Debug)]
pub enum ParsedArgs {
    /// Run a command.
    Run(Box<Args>),
    /// Print help or the version, which is a success; a long page through the pager.
    Print { text: String, is_paged: bool },
    /// Print the words with which the last one of these can go on, for a shell.
    Complete(Vec<String>),
    /// Report an error, as JSON if a flag says so.
    Invalid { error: Error, json: bool },
}

/// Parses a command line, the program's name first.
pub fn parse_args(words: impl IntoIterator<Item = OsString>) -> ParsedArgs {
    let words: Vec<OsString> = words.into_iter().collect();
    if words.get(1).is_some_and(|word| word == COMPLETION_REQUEST) {
        let typed = words.iter().skip(2);
        return ParsedArgs::Complete(typed.map(|word| word.to_string_lossy().into()).collect());
    }
    if let Some(args) = Args::from_flags_alone(&words) {
        return ParsedArgs::Run(Box::new(args));
    }
    let json = words.iter().any(|word| {
        let word = word.to_string_lossy();
        ["--json", "--jsonl", "--jq"].contains(&&*word) || word.starts_with("--jq=")
    });
    let is_query = words.iter().any(|word| word == "--");
    let has_help = words.iter().any(|word| word == "help");
    if has_help && !is_query && matches!(*plain_words(&words), ["help", "query" | "queries", ..]) {
        let is_direct = |word: &OsString| word == "--no-pager" || word == "--linear";
        return ParsedArgs::Print {
            text: query_manual(),
            is_paged: !words.iter().any(is_direct),
        };
    }
    match Args::try_parse_from(&words) {
        Ok(args) => match detect_misspelled_command(&args, is_query) {
            Some(error) => ParsedArgs::Invalid { error, json },
            None => ParsedArgs::Run(Box::new(args)),
        },
        Err(error)
            if matches!(
                error.kind(),
                error::ErrorKind::DisplayHelp | error::ErrorKind::DisplayVersion
            ) =>
        {
            ParsedArgs::Print {
                text: error.render().to_string(),
                is_paged: false,
            }
        }
        Err(error) => ParsedArgs::Invalid {
            error: usage_error(&error, &words),
            json,
        },
    }
}

/// Returns an error if the first word is probably meant as a command;
/// words after `--` are a query.
fn detect_misspelled_command(args: &Args, is_query: bool) -> Option<Error> {
    let first = args
        .query
        .first()
        .filter(|_| args.verb.is_none() && !is_query)?;
    let command = Args::command();
    let verbs = command.get_subcommands().map(clap::Command::get_name);
    let synonym = synonyms::COMMANDS.iter().find(|(word, _)| word == first);
    let verb = synonym
        .map(|(_, verb)| *verb)
        .or_else(|| suggest(first, verbs));
    let verb = verb?;
    let word = sanitize::sanitize_line(first);
    let query = sanitize::sanitize_line(&args.query.join(" ")).into_owned();
    let flags = SelectionFlags::new(&args.global);
    let hint = format!("did you mean {verb}? To search for the words: sentbox -- {query}");
    let hint = flags.add_to(&hint).into_owned();
    let error = Error::new(ErrorKind::Usage, format!("there is no command {word}"));
    Some(error.with_hint(hint))
}

fn usage_error(error: &clap::Error, words: &[OsString]) -> Error {
    let text = error.render().to_string();
    let (name, command) = find_command(words);
    if error.kind() == error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return missing_command_error(&name, &command);
    }
    let first = text.lines().next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(first);
    let is_help = plain_words(words).first() == Some(&"help");
    // Some messages continue in indented lines, such as the list of missing arguments.
    let rest: Vec<&str> = text
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  ") && !line.contains("tip:"))
        .map(str::trim)
        .collect();
    let message = [&[message], &rest[..]].concat().join(" ");
    let takes_query = ["search", "archive purge", "[OPTIONS]"]
        .iter()
        .any(|usage| text.contains(&format!("Usage: sentbox {usage}")));
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if error.kind() == error::ErrorKind::UnknownArgument => {
            word.as_str()
        }
        _ => "",
    };
    let is_option_value = words.windows(2).any(|pair| {
        let option = pair[0].to_str().unwrap_or_default();
        pair[1].to_string_lossy().starts_with(unknown)
            && find_value_flag([&Args::command(), &command], option).is_some()
    });
    // -o of -order is the start of an excluded word.
    let is_typed = unknown.starts_with("--") || words.iter().any(|word| word == unknown);
    let is_negation =
        takes_query && unknown.starts_with('-') && !unknown.starts_with("--") && !is_option_value;
    // Their times are flags: --back, --older.
    let is_by_time = ["sentbox sync", "sentbox archive purge"].contains(&&*name);
    // With a suggestion, it is the usage of that.
    let has_usage = error.get(ContextKind::SuggestedArg).is_none();
    let usage = text
        .lines()
        .find_map(|line| line.strip_prefix("Usage: "))
        .filter(|_| has_usage);
    let general = || match usage {
        _ if is_help => HELP_TOPICS.to_owned(),
        _ if ["--key", "--api-key"].contains(&unknown) => {
            "no flag takes a key: set SENTBOX_API_KEY, or run sentbox login".to_owned()
        }
        _ if let Some(verb) =
            find_verb_with_flag(unknown).filter(|_| text.contains("Usage: sentbox [OPTIONS]")) =>
        {
            format!("{unknown} comes after its command, as in: sentbox {verb} {unknown}")
        }
        _ if let Some(hint) = find_flag_hint(unknown).filter(|_| is_typed && !is_by_time) => {
            hint.to_owned()
        }
        _ if is_negation => "to exclude a word: `not word`, or `-word` after --".to_owned(),
        Some(usage) => format!("usage: {usage}; see {name} --help"),
        None => format!("see {name} --help"),
    };
    Error::new(ErrorKind::Usage, message).with_hint(clap_suggestion(error).unwrap_or_else(general))
}

/// Returns the first command that has this flag.
fn find_verb_with_flag(flag: &str) -> Option<String> {
    let name = flag.strip_prefix("--")?;
    let program = Args::command();
    let has_flag = |verb: &&Command| {
        let mut flags = verb.get_arguments();
        flags.any(|flag| flag.get_long() == Some(name))
    };
    let verb = program.get_subcommands().find(has_flag)?;
    Some(verb.get_name().to_owned())
}

/// Names the commands of a group that was typed alone.
fn missing_command_error(group: &str, command: &Command) -> Error {
    let names = command.get_subcommands().map(Command::get_name);
    let names: Vec<&str> = names.filter(|name| *name != "help").collect();
    let short = group.trim_start_matches("sentbox ");
    let message = format!("{short} needs a command: {}", names.join(", "));
    Error::new(ErrorKind::Usage, message).with_hint(format!("see {group} --help"))
}

/// Returns the first valid argument that clap suggests,
/// if it is near to what was typed.
fn clap_suggestion(error: &clap::Error) -> Option<String> {
    [
        (
            ContextKind::SuggestedSubcommand,
            ContextKind::InvalidSubcommand,
        ),
        (ContextKind::SuggestedArg, ContextKind::InvalidArg),
        (ContextKind::SuggestedValue, ContextKind::InvalidValue),
    ]
    .into_iter()
    .find_map(|(kind, typed)| {
        let words = match error.get(kind)? {
            ContextValue::String(word) => std::slice::from_ref(word),
            ContextValue::Strings(words) => words,
            _ => return None,
        };
        let Some(ContextValue::String(typed)) = error.get(typed) else {
            return None;
        };
        // clap suggests what shares a few letters, too.
        let mut words = words.iter().map(String::as_str);
        let word = words.find(|word| word.starts_with(typed) || suggest(typed, [*word]).is_some());
        Some(format!("did you mean {}?", word?))
    })
}

/// Returns the command that the words name, with its full name.
pub(in crate::cli) fn find_command<W: AsRef<OsStr>>(words: &[W]) -> (String, Command) {
    let program = Args::command();
    let mut found = ("sentbox".to_owned(), program.clone());
    let words = words.iter().skip(1);
    let mut words = words.filter_map(|word| word.as_ref().to_str());
    while let Some(word) = words.next() {
        if find_value_flag([&program, &found.1], word).is_some() {
            words.next();
        } else if let Some(command) = found.1.find_subcommand(word) {
            found = (format!("{} {word}", found.0), command.clone());
        }
    }
    found
}

/// Returns the words after the program's name that are neither flags nor their
/// values.
pub(in crate::cli) fn plain_words<W: AsRef<OsStr>>(words: &[W]) -> Vec<&str> {
    let (program, (_, command)) = (Args::command(), find_command(words));
    let words = words.iter().skip(1);
    let mut words = words.filter_map(|word| word.as_ref().to_str());
    let mut plain = Vec::new();
    while let Some(word) = words.next() {
        if find_value_flag([&program, &command], word).is_some() {
            words.next();
        } else if !word.starts_with('-') {
            plain.push(word);
        }
    }
    plain
}

/// Returns the flag of this name that takes a value.
pub(in crate::cli) fn find_value_flag<'a>(
    commands: impl IntoIterator<Item = &'a Command>,
    word: &str,
) -> Option<&'a Arg> {
    let is_named = |flag: &&Arg| match word.strip_prefix("--") {
        Some(long) => flag.get_long() == Some(long),
        None => flag
            .get_short()
            .is_some_and(|short| word == format!("-{short}")),
    };
    let arguments = commands.into_iter().flat_map(Command::get_arguments);
    arguments
        .filter(is_named)
        .find(|flag| flag.get_action().takes_values())
}

/// Makes the manual page: the program, then each command as a section of its own.
pub(in crate::cli) fn man_page() -> io::Result<Vec<u8>> {
    let program = Args::command();
    let commands = list_commands("sentbox", &program);
    let man = Man::new(program.after_help(""));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    writeln!(page, ".SH COMMANDS")?;
    for (name, command) in commands {
        writeln!(page, ".SS \"{name}\"")?;
        let footer = command.get_after_help().map(ToString::to_string);
        let man = Man::new(command.bin_name(name).after_help(""));
        let mut section = Vec::new();
        man.render_description_section(&mut section)?;
        man.render_options_section(&mut section)?;
        // Its parts are paragraphs here, not sections of the page.
        let text = String::from_utf8_lossy(&section);
        let lines = text.lines().filter(|line| {
            !line.starts_with(".SH ") && !line.starts_with(".ie") && !line.starts_with(".el")
        });
        for line in lines {
            writeln!(page, "{line}")?;
        }
        if let Some(footer) = footer {
            writeln!(page, ".PP")?;
            write_lines(&mut page, &footer)?;
        }
    }
    let queries = query_manual();
    let (title, queries) = queries.split_once('\n').unwrap_or_default();
    writeln!(page, ".SH {title}\n.nf")?;
    for line in queries.lines() {
        writeln!(page, "{}", escape_roff(line))?;
    }
    writeln!(page, ".fi\n.SH NOTES")?;
    write_lines(&mut page, NOTES)?;
    writeln!(page, ".SH EXIT STATUS")?;
    write_table(&mut page, &EXIT_CODES)?;
    writeln!(page, ".SH ENVIRONMENT")?;
    write_table(&mut page, &ENVIRONMENT)?;
    writeln!(page, ".SH FILES")?;
    write_table(&mut page, &FILES)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// Writes text as lines of a manual page; an indented line stays a line of its own.
fn write_lines(page: &mut Vec<u8>, text: &str) -> io::Result<()> {
    let mut is_example = false;
    for line in text.lines() {
        let indented = line.starts_with("  ");
        if indented != is_example {
            writeln!(page, "{}", if indented { ".nf" } else { ".fi" })?;
            is_example = indented;
        }
        if line.is_empty() {
            writeln!(page, ".PP")?;
        } else {
            writeln!(page, "{}", escape_roff(line))?;
        }
    }
    if is_example {
        writeln!(page, ".fi")?;
    }
    Ok(())
}

/// Writes names with their meanings.
fn write_table(page: &mut Vec<u8>, rows: &[(&str, &str)]) -> io::Result<()> {
    for (name, meaning) in rows {
        let (name, meaning) = (escape_roff(name), escape_roff(meaning));
        writeln!(page, ".TP\n{name}\n{meaning}")?;
    }
    Ok(())
}

/// Escapes what has a meaning in a manual page;
/// a full stop at the start would be a request.
fn escape_roff(line: &str) -> String {
    format!("\\&{}", line.replace('\\', "\\e").replace('-', "\\-"))
}

/// Returns all commands below `above` with their full names.
fn list_commands(above: &str, holder: &Command) -> Vec<(String, Command)> {
    let each = holder.get_subcommands().flat_map(|command| {
        let name = format!("{above} {}", command.get_name());
        if command.has_subcommands() {
            list_commands(&name, command)
        } else {
            vec![(name, command.clone())]
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::checks::TextChecks as _;

    fn error_of(line: &str) -> (String, String) {
        match parse_args(line.split(' ').map(OsString::from)) {
            ParsedArgs::Invalid { error, .. } => (error.message, error.hint),
            other => panic!("{line} is valid: {other:?}"),
        }
    }

    #[test]
    fn definition_of_arguments_is_valid() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_in_help_and_manual() {
        let manual = String::from_utf8(man_page().unwrap()).unwrap();
        let commands = Args::command();
        for command in commands.get_subcommands() {
            let (name, help) = (command.get_name(), command.get_after_help());
            let help = help.map(ToString::to_string).unwrap_or_default();
            let example = help.split("Example").nth(1).unwrap_or_default();
            assert!(example.contains("sentbox "), "{name}");
            if !command.has_subcommands() {
                let example = example.lines().last().unwrap_or_default();
                let words = escape_roff(example.trim_start_matches(": "));
                assert!(manual.contains(&words[2..]), "{words}");
            }
        }
        for (name, _) in ENVIRONMENT.iter().chain(&FILES).chain(&EXIT_CODES) {
            assert!(manual.contains(&escape_roff(name)), "{name}");
        }
    }

    #[test]
    fn usage_errors_show_the_usage_of_their_command() {
        for group in ["profile", "archive", "config"] {
            let (message, hint) = error_of(&format!("sentbox {group}"));
            message.assert_starts(&format!("{group} needs a command: "));
            assert_eq!(hint, format!("see sentbox {group} --help"));
        }
        let (message, hint) = error_of("sentbox archive purge --older soon");
        assert!(message.contains("expected a number of hours"), "{message}");
        assert!(hint.ends_with("see sentbox archive purge --help"), "{hint}");
        let (_, hint) = error_of("sentbox --profile archive list --limit none");
        assert_eq!(hint, "see sentbox list --help");
        let (message, _) = error_of("sentbox --rate abc list");
        message.assert_contains("a number of requests a second");
        let (message, _) = error_of("sentbox serve --demo --listen 8025");
        message.assert_ends("as in 127.0.0.1:8025 or localhost:0");
    }

    #[test]
    fn query_language_has_a_page_of_its_own() {
        let words = ["sentbox", "-q", "help", "query"].map(OsString::from);
        let ParsedArgs::Print { text: page, .. } = parse_args(words) else {
            panic!("it is a page");
        };
        assert!(page.contains("seen-change:1d"), "{page}");
        let manual = String::from_utf8(man_page().unwrap()).unwrap();
        assert!(manual.contains(".SH QUERIES\n.nf\n"), "{manual}");
        assert!(manual.contains("seen\\-change:1d"), "{manual}");
    }

    #[test]
    fn help_query_follows_global_flags() {
        for line in [
            "-p acme help query",
            "--archive=a help query",
            "help queries",
            "help query tag",
        ] {
            let words = format!("sentbox {line}");
            let ParsedArgs::Print { text, .. } = parse_args(words.split(' ').map(OsString::from))
            else {
                panic!("{line} is a page");
            };
            assert_eq!(text, query_manual(), "{line}");
        }
        let words = ["sentbox", "--", "help", "query"].map(OsString::from);
        assert!(matches!(parse_args(words), ParsedArgs::Run(_)));
        let words = ["sentbox", "archive", "help"].map(OsString::from);
        assert!(matches!(parse_args(words), ParsedArgs::Print { .. }));
    }

    #[test]
    fn unknown_help_topic_names_those_there_are() {
        for topic in ["keys", "json", "-p acme keys"] {
            assert_eq!(error_of(&format!("sentbox help {topic}")).1, HELP_TOPICS);
        }
    }

    #[test]
    fn similar_arguments_are_suggested() {
        let expected = "did you mean list? To search for the words: sentbox -- lst";
        assert_eq!(error_of("sentbox lst").1, expected);
        let expected = "did you mean search? To search for the words: sentbox -- serach to:ana";
        assert_eq!(error_of("sentbox serach to:ana").1, expected);
        let expected = "did you mean list? To search for the words: sentbox -- ls";
        assert_eq!(error_of("sentbox ls").1, expected);
        assert_eq!(
            error_of("sentbox attachments 49").1,
            "did you mean attachment? To search for the words: sentbox -- attachments 49"
        );
        let expected = "did you mean search? To search for the words: sentbox -p two -- serach ana";
        assert_eq!(error_of("sentbox -p two serach ana").1, expected);
        assert_eq!(error_of("sentbox list --limt 3").1, "did you mean --limit?");
        let expected = "did you mean --timezone?";
        assert_eq!(error_of("sentbox list --time utc").1, expected);
        let unrelated = error_of("sentbox list --frobnicate").1;
        assert_eq!(unrelated, "see sentbox list --help");
        assert_eq!(error_of("sentbox show x --as htm").1, "did you mean html?");
        let expected = "to exclude a word: `not word`, or `-word` after --";
        assert_eq!(error_of("sentbox search receipt -ana").1, expected);
        let expected = "--csv comes after its command, as in: sentbox list --csv";
        assert_eq!(error_of("sentbox --csv list").1, expected);
        assert_eq!(error_of("sentbox --nope").1, "see sentbox --help");
        error_of("sentbox --key re_x list")
            .1
            .assert_contains("SENTBOX_API_KEY");
        let expected = "did you mean archive vacuum? To search for the words: sentbox -- vacuum";
        assert_eq!(error_of("sentbox vacuum").1, expected);
        let expected = "to exclude a word: `not word`, or `-word` after --";
        assert_eq!(error_of("sentbox archive purge receipt -ana").1, expected);
        let expected = "usage: sentbox list --after <ID>; see sentbox list --help";
        assert_eq!(error_of("sentbox list --after a --before b").1, expected);
    }

    #[test]
    fn flags_of_other_programs_have_hints() {
        for (line, expected) in [
            ("search status:bounced --after 7d", "after:7d"),
            ("list --since=7d", "sentbox search after:7d"),
            ("list --status bounced", "sentbox search status:bounced"),
            ("show --format json 49a", "--json or --jq"),
            ("list -o json", "--json or --jq"),
            (
                "search is:trouble -o x.csv",
                "sentbox export QUERY --to FILE",
            ),
        ] {
            let (_, hint) = error_of(&format!("sentbox {line}"));
            assert!(hint.contains(expected), "{line}: {hint}");
        }
        for line in ["sync --since 7d", "archive purge --before 7d"] {
            let (_, hint) = error_of(&format!("sentbox {line}"));
            assert!(!hint.contains("sentbox search"), "{line}: {hint}");
        }
        let (_, hint) = error_of("sentbox search receipt -order");
        assert!(hint.starts_with("to exclude a word"), "{hint}");
    }

    #[test]
    fn negative_option_value_is_no_excluded_word() {
        for line in ["search --limit -1 from:@", "archive purge --older -1d"] {
            let (_, hint) = error_of(&format!("sentbox {line}"));
            assert!(hint.starts_with("usage: sentbox"), "{hint}");
        }
    }

    #[test]
    fn words_without_verb_are_a_query() {
        let query = |line: &str| match parse_args(line.split(' ').map(OsString::from)) {
            ParsedArgs::Run(args) if args.verb.is_none() => args.query.join(" "),
            other => panic!("{line} is not a query: {other:?}"),
        };
        assert_eq!(query("sentbox"), "");
        assert_eq!(query("sentbox ana@example.com"), "ana@example.com");
        assert_eq!(query("sentbox to:ana list --utc"), "to:ana list");
        assert_eq!(query("sentbox -- ana -bo"), "ana -bo");
        assert_eq!(query("sentbox -- stats"), "stats");
        assert_eq!(query("sentbox \"lst\""), "\"lst\"");
        let expected = "to exclude a word: `not word`, or `-word` after --";
        assert_eq!(error_of("sentbox ana -bo").1, expected);
    }

    #[test]
    fn zone_flags_exclude_each_other() {
        let ParsedArgs::Run(args) = parse_args(["sentbox", "list", "--utc"].map(OsString::from))
        else {
            panic!("--utc is a flag")
        };
        assert_eq!(args.global.flags().zone, Some(jiff::tz::TimeZone::UTC));
        error_of("sentbox list --timezone Mars/Olympus")
            .0
            .assert_ends("as in Europe/Madrid");
        error_of("sentbox list --utc --timezone UTC")
            .0
            .assert_contains("cannot be used with");
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
                    ParsedArgs::Print { .. }
                ),
                "{line}"
            );
        }
    }
}
