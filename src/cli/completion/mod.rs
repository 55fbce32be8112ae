//! Completions: the scripts of the shells, and the words that they request from the
//! program.
//!
//! The scripts that clap makes know commands, flags and fixed values. An addition to them runs the program
//! for what depends on the position or on this machine: parts of a query, columns, profiles, recent ids.
//! Clap's dynamic completion would replace both, but its interface is not stable yet.

use clap::{Arg, Command, CommandFactory as _, ValueHint};
use clap_complete::Shell;

use super::args::Args;
use super::args::command_line::{find_command, find_value_flag, plain_words};
use crate::archive::{Archive, ArchiveLocation, CancellationToken, find_stored_archive};
use crate::config::{Env, Flags, Profiles, Prompting, Settings};
use crate::mail::Status;
use crate::query::{Query, SuggestionSource, complete};

/// How many of the newest emails are offered by id.
const MAX_IDS: usize = 20;

/// How many of the newest emails are compared with the beginning of an id.
const SCANNED_IDS: usize = 1000;

/// The start of the last lines of the script for zsh, which call or register it.
const ZSH_START: &str = "\nif [ \"$funcstack[1]\"";

pub(super) fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    let mut program = offer_files_for_files(Args::command());
    clap_complete::generate(shell, &mut program, "sentbox", &mut script);
    match shell {
        Shell::Bash => script.extend_from_slice(include_bytes!("sentbox.bash")),
        Shell::Fish => script.extend_from_slice(include_bytes!("sentbox.fish")),
        Shell::Zsh => {
            let addition = include_str!("sentbox.zsh");
            let text = String::from_utf8_lossy(&script);
            let text = without_query(&text);
            let text = text.replacen(ZSH_START, &format!("\n{addition}{ZSH_START}"), 1);
            script = text.into_bytes();
        }
        _ => {}
    }
    script
}

/// Removes the query of the program itself from the script of zsh: it is optional, and the
/// script takes it for the first word, and the word behind it for the command.
fn without_query(script: &str) -> String {
    let lines = script.split_inclusive('\n');
    let lines = lines.filter(|line| !line.starts_with("'::query -- "));
    lines.collect::<String>().replace("$line[2]", "$line[1]")
}

/// Marks the values that are no files; the scripts would offer files for them.
fn offer_files_for_files(command: Command) -> Command {
    let is_no_file = |arg: &Arg| {
        let mut names = arg.get_value_names().unwrap_or_default().iter();
        arg.get_action().takes_values()
            && arg.get_value_hint() == ValueHint::Unknown
            && !names.any(|name| matches!(name.as_str(), "FILE" | "PATH" | "ARCHIVE"))
    };
    let without_files = |arg: Arg| {
        if is_no_file(&arg) {
            arg.value_hint(ValueHint::Other)
        } else {
            arg
        }
    };
    command
        .mut_args(without_files)
        .mut_subcommands(offer_files_for_files)
}

/// Returns the words, one a line, with which the last of `typed` can go on;
/// none for what clap's scripts know.
///
/// Reads configuration and archive, changes nothing, and sends no request. Names and ids may come from others:
/// a word that a shell could understand as more than a word is left out.
pub fn complete_words(typed: &[String], env: &Env) -> String {
    let Some((typed, before)) = typed.split_last() else {
        return String::new();
    };
    let words = [&["sentbox".to_owned()], before].concat();
    let (name, command) = find_command(&words);
    let mut program = Args::command();
    program.build();
    let flag = |name: &str| find_value_flag([&program, &command], name);
    let (argument, start, value) = match typed.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (flag(name), name.len() + 1, value),
        _ if typed.starts_with('-') => return String::new(),
        _ if plain_words(&words) == ["help"] => {
            let topics = program.get_subcommands().map(Command::get_name);
            let topics = topics.filter(|name| *name != "help").chain(["query"]);
            let topics = topics.filter(|name| name.starts_with(typed.as_str()));
            return topics.map(|name| name.to_owned() + "\n").collect();
        }
        _ => {
            let argument = words.last().and_then(|word| flag(word));
            let argument = argument.or_else(|| next_positional(&name, &command, &words));
            (argument, 0, typed.as_str())
        }
    };
    let offers = argument.map_or_else(Vec::new, |argument| {
        offer_values(argument, value, &program, &words, env)
    });
    let offers = offers
        .iter()
        .filter(|word| word.starts_with(value) && is_plain(word));
    offers.fold(String::new(), |lines, word| {
        lines + &typed[..start] + word + "\n"
    })
}

/// Returns the argument of the next word that is no flag:
/// the first one that was not typed yet, or one that takes all the rest.
fn next_positional<'a>(name: &str, command: &'a Command, words: &[String]) -> Option<&'a Arg> {
    let commands = name.split(' ').skip(1).count();
    let typed = plain_words(words).len().saturating_sub(commands);
    let takes_more = |arg: &Arg| {
        arg.get_num_args()
            .is_some_and(|range| range.max_values() > 1)
    };
    let mut positionals = command.get_positionals().enumerate();
    let (_, argument) = positionals.find(|(index, arg)| *index >= typed || takes_more(arg))?;
    Some(argument)
}

/// Returns the values of an argument, and the commands where one may be.
fn offer_values(
    argument: &Arg,
    typed: &str,
    program: &Command,
    words: &[String],
    env: &Env,
) -> Vec<String> {
    let name = argument.get_id().as_str();
    let kind = argument.get_value_names().and_then(<[_]>::first);
    match (name, kind.map(AsRef::as_ref)) {
        ("profile" | "name", _) => Profiles::load_with_errors(env)
            .map(|profiles| {
                profiles
                    .entries()
                    .into_iter()
                    .map(|entry| entry.name)
                    .collect()
            })
            .unwrap_or_default(),
        ("columns", _) => {
            // The names before the last comma stay.
            let kept = typed.rfind(',').map_or(0, |comma| comma + 1);
            let columns = argument.get_possible_values().into_iter();
            columns
                .filter(|column| !column.is_hide_set())
                .map(|column| format!("{}{}", &typed[..kept], column.get_name()))
                .collect()
        }
        (_, Some("ID")) => {
            open_archive(words, env).map_or_else(Vec::new, |archive| recent_ids(&archive, typed))
        }
        (_, Some("STATUS")) => {
            let statuses = Status::KNOWN.iter().map(Status::label);
            statuses.map(str::to_owned).collect()
        }
        // The script lists the commands with what they do.
        ("query", _) if typed.is_empty() => Vec::new(),
        ("query", _) | (_, Some("QUERY")) => {
            // Only a value depends on the mail.
            let archive = typed
                .contains(':')
                .then(|| open_archive(words, env))
                .flatten();
            let source: &dyn SuggestionSource = archive.as_ref().map_or(&(), |archive| archive);
            let terms = complete(typed, typed.len(), source)
                .into_iter()
                .map(|offer| format!("{}{}", &typed[..offer.range.start], offer.text));
            let commands = program.get_subcommands().filter(|_| name == "query");
            let commands = commands.map(|command| command.get_name().to_owned());
            commands.chain(terms).collect()
        }
        // The script of fish knows only those of flags.
        _ if argument.is_positional() => {
            let values = argument.get_possible_values().into_iter();
            values.map(|value| value.get_name().to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

/// Opens the archive that the words name;
/// the command that prints the key of a profile is not run.
fn open_archive(words: &[String], env: &Env) -> Option<Archive> {
    let flags = Flags {
        profile: find_value(words, &["-p", "--profile"]).map(str::to_owned),
        archive: find_value(words, &["--archive"]).map(Into::into),
        prompting: Prompting::NotRun,
        ..Flags::default()
    };
    let settings = Settings::resolve(&flags, env).ok()?;
    let path = match &settings.archive {
        ArchiveLocation::Disk(path) => path.clone(),
        ArchiveLocation::Server(_) => return Archive::open(&settings.archive).ok(),
        ArchiveLocation::Memory => find_stored_archive(&settings)?,
    };
    Archive::open_unchanged(&path).ok()?
}

/// Returns the value of a flag with these names.
fn find_value<'a>(words: &'a [String], names: &[&str]) -> Option<&'a str> {
    let mut words = words.iter().map(String::as_str);
    words
        .find_map(|word| match word.split_once('=') {
            Some((name, value)) => names.contains(&name).then_some(Some(value)),
            None => names.contains(&word).then_some(None),
        })?
        .or_else(|| words.next())
}

fn recent_ids(archive: &Archive, typed: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut scanned = 0;
    // What could be read is offered.
    let _ = archive.for_each_match(&Query::match_all(), &CancellationToken::default(), |row| {
        let id = row.summary.id.as_str();
        if id.starts_with(typed) {
            ids.push(id.to_owned());
        }
        scanned += 1;
        ids.len() < MAX_IDS && scanned < SCANNED_IDS
    });
    ids
}

/// Whether every shell takes the word as it is.
fn is_plain(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:,@+=/".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphanumeric()) && word.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::command_line::COMPLETION_REQUEST;

    fn complete(line: &str) -> String {
        let words: Vec<String> = line.split(' ').skip(1).map(str::to_owned).collect();
        complete_words(&words, &Env::default()).replace('\n', " ")
    }

    #[test]
    fn completions_depend_on_word_position() {
        assert_eq!(complete("sentbox search status:bo"), "status:bounced ");
        assert_eq!(
            complete("sentbox export --json status:sent,deliv"),
            "status:sent,delivered "
        );
        assert_eq!(complete("sentbox wait is:tr"), "is:trouble ");
        assert_eq!(complete("sentbox wait --until deliv"), "delivered ");
        assert_eq!(complete("sentbox sea"), "search ");
        assert_eq!(complete("sentbox search sea"), "");
        assert_eq!(complete("sentbox help q"), "query ");
        assert_eq!(complete("sentbox -p acme help se"), "search serve ");
        assert!(complete("sentbox stats ").starts_with("to: "));
        let expected = "status,created ";
        assert_eq!(complete("sentbox search --columns status,cre"), expected);
        assert_eq!(complete("sentbox search --columns ch"), "changed checked ");
        assert_eq!(complete("sentbox list --columns ch"), "");
        let expected = "--columns=created ";
        assert_eq!(complete("sentbox search --columns=cre"), expected);
        assert_eq!(complete("sentbox completions z"), "zsh ");
        for fixed in [
            "sentbox ",
            "sentbox search --so",
            "sentbox profile ",
            "sentbox export --as cs",
        ] {
            assert_eq!(complete(fixed), "", "{fixed}");
        }
    }

    #[test]
    fn completion_scripts_request_words_from_the_program() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(script(shell)).unwrap();
            assert!(
                script.contains(&format!("sentbox {COMPLETION_REQUEST} ")),
                "{shell}"
            );
        }
    }

    #[test]
    fn zsh_takes_first_word_as_command() {
        let script = String::from_utf8(script(Shell::Zsh)).unwrap();
        assert!(script.contains("case $line[1] in\n            (demo)\n"));
        assert!(!script.contains("$line[2]") && !script.contains("'::query"));
    }

    #[test]
    fn files_are_offered_only_for_files() {
        let script = String::from_utf8(script(Shell::Zsh)).unwrap();
        let ends = |flag: &str, end: &str| {
            let of_flag = |line: &&str| line.contains(&format!("'{flag}=["));
            let mut lines = script.lines().filter(of_flag).peekable();
            lines.peek().is_some() && lines.all(|line| line.contains(end))
        };
        assert!(ends("--back", ":SPAN:'"), "{script}");
        assert!(ends("--until", ":STATUS:'"), "{script}");
        assert!(ends("--log", ":FILE:_files'"), "{script}");
        assert!(ends("--archive", ":FILE:_"), "{script}");
    }

    #[test]
    fn words_with_shell_syntax_are_not_offered() {
        for word in [
            "$(date)", "`id`", "a b", "a;b", "~root", "=ls", "-rf", "a\nb", "a*", "é", "!1", "",
        ] {
            assert!(!is_plain(word), "{word}");
        }
        assert!(is_plain("to:ana+news@example.com"));
    }
}
