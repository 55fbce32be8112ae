//! Commands and flags of other programs, and what they are here.

/// Words that other programs use for a command, and the command here.
pub(super) const COMMANDS: [(&str, &str); 36] = [
    ("ls", "list"),
    ("get", "show"),
    ("cat", "show"),
    ("view", "show"),
    ("read", "show"),
    ("find", "search"),
    ("grep", "search"),
    ("query", "search"),
    ("pull", "sync"),
    ("fetch", "sync"),
    ("mirror", "sync"),
    ("statistics", "stats"),
    ("count", "stats"),
    ("tail", "watch"),
    ("follow", "watch"),
    ("monitor", "watch"),
    ("filter", "search"),
    ("open", "show"),
    ("update", "sync"),
    ("auth", "login"),
    ("logout", "profile remove"),
    ("dump", "export"),
    ("backup", "export"),
    ("purge", "archive purge"),
    ("vacuum", "archive vacuum"),
    ("repair", "archive repair"),
    ("adopt", "archive adopt"),
    ("download", "attachment"),
    ("version", "--version"),
    ("init", "login"),
    ("setup", "login"),
    ("configure", "config edit"),
    ("manual", "man"),
    ("info", "archive info"),
    ("delete", "archive purge"),
    ("rm", "archive purge"),
];

/// Flags that other programs have, and what to type here.
const FLAGS: [(&[&str], &str); 5] = [
    (
        &["--after", "--since"],
        "a time is part of the query, as in: sentbox search after:7d",
    ),
    (
        &["--before", "--until"],
        "a time is part of the query, as in: sentbox search before:2026-11-02",
    ),
    (
        &["--status"],
        "a status is part of the query, as in: sentbox search status:bounced",
    ),
    (
        &["--format"],
        "for JSON: --json or --jq; --as is the form of show and export",
    ),
    (
        &["-o", "--output"],
        "for JSON: --json or --jq; for a file: sentbox export QUERY --to FILE",
    ),
];

/// Returns the hint for a flag of other programs.
pub(super) fn find_flag_hint(flag: &str) -> Option<&'static str> {
    let (_, hint) = FLAGS.iter().find(|(flags, _)| flags.contains(&flag))?;
    Some(hint)
}
