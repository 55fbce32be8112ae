//! The text of the manual page and of `--help` about the whole program:
//! exit codes, environment, files.

/// Where the key comes from, and what happens without a command.
pub(super) const NOTES: &str = "\
Without a command, the terminal program opens: on all mail, or on what matches QUERY.

The API key comes from SENTBOX_API_KEY (its service: SENTBOX_BASE_URL), from RESEND_API_KEY \
(RESEND_BASE_URL), or from a profile, which `sentbox login` makes. No flag takes one.";

pub(super) const EXIT_CODES: [(&str, &str); 11] = [
    ("0", "done"),
    ("1", "could not"),
    ("2", "wrong usage"),
    ("3", "key missing, rejected or not allowed to read"),
    ("4", "no such email"),
    ("5", "service unreachable or not answering as this API does"),
    ("6", "rate limit or quota"),
    ("7", "wait ran out of time"),
    ("8", "archive or configuration unusable"),
    ("101", "internal error"),
    ("128+n", "ended by signal n (129: the terminal was closed)"),
];

/// The variables that are read.
pub(super) const ENVIRONMENT: [(&str, &str); 18] = [
    (
        "SENTBOX_API_KEY, SENTBOX_BASE_URL",
        "The key and its service. RESEND_API_KEY and RESEND_BASE_URL are read after them. \
         Flags come first, then the environment, then the profile.",
    ),
    (
        "SENTBOX_PROFILE",
        "The profile to use. SENTBOX_API_KEY takes precedence over its key; with --profile it does not.",
    ),
    ("SENTBOX_CONFIG", "The configuration file."),
    ("SENTBOX_RATE", "Requests a second, as --rate."),
    ("NO_COLOR", "No colour, if it is not empty."),
    (
        "CLICOLOR_FORCE",
        "Colour also in a pipe, if it is neither empty nor 0.",
    ),
    ("TERM", "dumb: on a terminal, as --linear."),
    (
        "COLORFGBG",
        "The background, light or dark, of a terminal that does not report it.",
    ),
    ("COLUMNS", "The width of the lines of --linear, else 78."),
    (
        "LC_ALL, LC_CTYPE, LANG",
        "The first that is set is the locale. With C, POSIX or a charset other than UTF-8, a terminal \
         gets ASCII alone.",
    ),
    ("TZ", "The time zone, unless --utc or --timezone is given."),
    (
        "HTTPS_PROXY, ALL_PROXY, NO_PROXY",
        "The proxy to the service, in the first that is set, and the hosts that need none. A SOCKS \
         proxy is refused. A service on this machine needs no proxy.",
    ),
    (
        "SSL_CERT_FILE",
        "The file of the certificates to trust, instead of the system's; --ca-file names more.",
    ),
    (
        "SENTBOX_PAGER, PAGER",
        "The pager of long text on a terminal, else less; empty or cat: none, as --no-pager.",
    ),
    ("LESS", "The options of less; FRX if it is not set."),
    ("VISUAL, EDITOR", "The editor of `config edit`."),
    (
        "BROWSER",
        "The program that opens links; with arguments, `%s` for the link, or several programs between colons.",
    ),
    (
        "XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME",
        "Where configuration, archives, and logs and reports are.",
    ),
];

/// The files that are written, of which only their owner can read any.
pub(super) const FILES: [(&str, &str); 4] = [
    (
        "~/.config/sentbox/config.toml",
        "Profiles, views, keys and colours; `config path` prints where it is.",
    ),
    ("~/.config/sentbox/keys/", "Keys that `login` has stored."),
    (
        "~/.local/share/sentbox/",
        "The archive of each profile; `archive info` prints which.",
    ),
    (
        "~/.local/state/sentbox/",
        "Log, reports of internal errors.",
    ),
];

/// Returns the end of `--help`.
pub(super) fn after_help() -> String {
    let codes: Vec<String> = EXIT_CODES
        .iter()
        .map(|(code, meaning)| format!("{code} {meaning}"))
        .collect();
    format!(
        "{NOTES}\n\nThe query language: `sentbox help query`.\n\nExit codes: {}.",
        codes.join(", ")
    )
}
