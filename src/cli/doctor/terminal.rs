//! What the terminal can do, as far as it says so itself; nothing is sent to it.

use std::io;

use super::DoctorCheck;
use crate::config::Env;

/// Columns and rows of the terminal that one of the streams is.
pub(super) fn terminal_size() -> Option<(u16, u16)> {
    let of_stdout = rustix::termios::tcgetwinsize(io::stdout());
    let size = of_stdout
        .or_else(|_| rustix::termios::tcgetwinsize(io::stderr()))
        .ok()?;
    (size.ws_col > 0).then_some((size.ws_col, size.ws_row))
}

/// What the environment says about the terminal.
pub(super) fn check_terminal(env: &Env, size: Option<(u16, u16)>) -> Vec<DoctorCheck> {
    let term = env.get("TERM").unwrap_or("dumb");
    let within = if env.get("TMUX").is_some() {
        " in tmux"
    } else if env.get("STY").is_some() {
        " in GNU screen"
    } else {
        ""
    };
    let about = match size {
        Some((columns, rows)) => format!("{term}{within}, {columns}x{rows}"),
        None => format!("{term}{within}, and no terminal here to measure"),
    };
    let is_poor = term == "dumb";
    let about = if is_poor {
        DoctorCheck::note(
            "terminal",
            format!("{about}; it cannot show the terminal program"),
        )
    } else {
        DoctorCheck::ok("terminal", about)
    };
    vec![
        about,
        DoctorCheck::ok("colours", describe_colours(env, term)),
        check_unicode(env, term),
        check_clipboard(env, term),
    ]
}

fn describe_colours(env: &Env, term: &str) -> &'static str {
    let has = |name: &str, word: &str| env.get(name).is_some_and(|value| value.contains(word));
    if env.get("NO_COLOR").is_some() {
        "none, as NO_COLOR asks"
    } else if term == "dumb" {
        "none"
    } else if has("COLORTERM", "truecolor")
        || has("COLORTERM", "24bit")
        || term.ends_with("-direct")
    {
        "16 million"
    } else if term.contains("256color") {
        "256"
    } else {
        "16"
    }
}

fn check_unicode(env: &Env, term: &str) -> DoctorCheck {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| Some((name, env.get(name)?)));
    let is_utf8 = |locale: &str| locale.to_lowercase().replace('-', "").contains("utf8");
    match named {
        _ if term == "linux" || term.starts_with("vt") => {
            DoctorCheck::ok("unicode", "no: this terminal is drawn on with ASCII alone")
        }
        Some((_, locale)) if is_utf8(locale) => {
            DoctorCheck::ok("unicode", format!("yes, by {locale}"))
        }
        Some((name, locale)) => DoctorCheck::note(
            "unicode",
            format!("{name} is {locale}, which is not UTF-8; if lines look wrong, use --ascii"),
        ),
        None => DoctorCheck::note(
            "unicode",
            "no locale is set; if lines look wrong, use --ascii",
        ),
    }
}

fn check_clipboard(env: &Env, term: &str) -> DoctorCheck {
    if matches!(term, "dumb" | "linux") {
        DoctorCheck::note("clipboard", "none: this terminal has no way to it")
    } else if env.get("TMUX").is_some() {
        DoctorCheck::ok(
            "clipboard",
            "OSC 52 through tmux, which needs: set -g set-clipboard on",
        )
    } else if env.get("STY").is_some() || term.starts_with("screen") {
        DoctorCheck::note("clipboard", "OSC 52, which GNU screen does not pass on")
    } else {
        DoctorCheck::ok("clipboard", "OSC 52, if the terminal allows it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(variables: &[(&str, &str)]) -> String {
        let found = check_terminal(&variables.iter().copied().collect(), Some((120, 40)));
        found
            .into_iter()
            .map(|finding| finding.message)
            .collect::<Vec<_>>()
            .join(" | ")
    }

    #[test]
    fn a_terminal_is_known_by_what_it_says_about_itself() {
        assert_eq!(
            words(&[
                ("TERM", "tmux-256color"),
                ("TMUX", "/tmp/t"),
                ("LANG", "de_DE.UTF-8")
            ]),
            "tmux-256color in tmux, 120x40 | 256 | yes, by de_DE.UTF-8 | OSC 52 through tmux, which needs: set -g set-clipboard on"
        );
        assert_eq!(
            words(&[
                ("TERM", "xterm"),
                ("COLORTERM", "truecolor"),
                ("NO_COLOR", "1"),
                ("LC_ALL", "C")
            ]),
            "xterm, 120x40 | none, as NO_COLOR asks | LC_ALL is C, which is not UTF-8; if lines look wrong, use --ascii | OSC 52, if the terminal allows it"
        );
        assert!(words(&[]).starts_with("dumb, 120x40; it cannot show the terminal program | none"));
    }
}
