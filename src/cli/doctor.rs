//! `doctor`: looks at everything that must work, and says of each whether it does.

use std::io;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use tokio::time::Instant;

use super::CommandContext;
use super::escape::escape_line;
use super::format::describe_past_coverage;
use super::output::{CommandExit, Output, OutputFormat};
use crate::api::{Client, ClientConfig, Cursor, EmailApi as _, RetryPolicy};
use crate::archive::{Archive, ArchiveLocation, IdentityMismatch};
use crate::config::{Env, Paths, Profiles, Settings};
use crate::error::{Error, ErrorKind};
use crate::text::format::plural;
use crate::text::sanitize;

/// Clocks that differ by more make ages and dates look wrong.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(60);

/// Emails between two reports of progress.
const PROGRESS_INTERVAL: u64 = 1000;

/// How something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DoctorState {
    /// As it should be.
    Ok,
    /// Worth knowing; no problem.
    Note,
    /// Not working, and needed.
    Failed(Error),
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DoctorCheck {
    name: &'static str,
    state: DoctorState,
    message: String,
}

impl DoctorCheck {
    fn ok(what: &'static str, words: impl Into<String>) -> Self {
        Self {
            name: what,
            state: DoctorState::Ok,
            message: words.into(),
        }
    }

    fn note(what: &'static str, words: impl Into<String>) -> Self {
        Self {
            name: what,
            state: DoctorState::Note,
            message: words.into(),
        }
    }

    fn failed(what: &'static str, failure: Error) -> Self {
        Self {
            name: what,
            message: failure.message.clone(),
            state: DoctorState::Failed(failure),
        }
    }
}

/// Looks at everything and reports.
pub(super) fn run(is_quick: bool, world: CommandContext<'_>) -> Result<(), CommandExit> {
    let CommandContext {
        global,
        env,
        clock,
        check_key_bindings: _,
        out,
    } = world;
    let paths = Paths::from_env(env);
    let mut found = vec![DoctorCheck::ok(
        "version",
        concat!("sentbox ", env!("CARGO_PKG_VERSION")),
    )];
    let profiles = check_config(env, &mut found);
    let folder = |path: &Option<std::path::PathBuf>| {
        path.as_ref()
            .map_or("none: there is no home directory".to_owned(), |path| {
                path.display().to_string()
            })
    };
    found.push(DoctorCheck::ok("data", folder(&paths.data)));
    found.push(DoctorCheck::ok("state", folder(&paths.state)));
    match Settings::resolve(&global.flags(), env) {
        Ok(settings) => {
            found.push(DoctorCheck::ok("profile", settings.profile.clone()));
            check_key(&settings, profiles.as_ref(), &mut found);
            if settings.key.is_ok() {
                let client = Client::new(
                    ClientConfig::from(&settings),
                    RetryPolicy::TUI,
                    clock.clone(),
                );
                super::block_on(async {
                    check_service(&client, &settings, env, &mut found).await;
                    Ok(())
                })?;
            }
            check_archive(&settings, is_quick, clock(), &mut found, out);
            out.show_progress("");
        }
        // The problems of the file are listed already.
        Err(_) if profiles.is_none() => {}
        Err(failure) => found.push(DoctorCheck::failed("profile", failure)),
    }
    found.extend(check_terminal(env, terminal_size()));
    write_report(&found, out)?;
    let failed = found.into_iter().find_map(|finding| match finding.state {
        DoctorState::Failed(failure) => Some(failure),
        DoctorState::Ok | DoctorState::Note => None,
    });
    failed.map_or(Ok(()), |failure| Err(failure.into()))
}

fn check_config(env: &Env, found: &mut Vec<DoctorCheck>) -> Option<Profiles> {
    match Profiles::load(env) {
        Ok(profiles) => {
            let path = profiles.path().display();
            found.push(match profiles.entries().len() {
                _ if !profiles.path().exists() => {
                    DoctorCheck::ok("config", format!("{path}, which is not there"))
                }
                count => DoctorCheck::ok("config", format!("{path}, profiles: {count}")),
            });
            found.extend(
                profiles
                    .warnings()
                    .iter()
                    .map(|warning| DoctorCheck::note("config", warning)),
            );
            let removed = profiles.remove_temp_files();
            found.extend(removed.iter().map(|path| {
                DoctorCheck::note(
                    "config",
                    format!("removed {}, left by an interrupted login", path.display()),
                )
            }));
            let stray = profiles.unused_key_files();
            found.extend(stray.iter().map(|path| {
                DoctorCheck::note(
                    "config",
                    format!("no profile uses the key in {}; delete it", path.display()),
                )
            }));
            Some(profiles)
        }
        Err(failure) => {
            found.push(DoctorCheck::failed("config", failure));
            None
        }
    }
}

fn check_key(settings: &Settings, profiles: Option<&Profiles>, found: &mut Vec<DoctorCheck>) {
    let listed = profiles.map(Profiles::entries).unwrap_or_default();
    let in_file = listed.into_iter().find(|listed| {
        settings.key_source.starts_with("profile ") && listed.name == settings.profile
    });
    let source = in_file
        .filter(|listed| !listed.key_source.is_empty())
        .map_or_else(|| settings.key_source.clone(), |listed| listed.key_source);
    found.push(match &settings.key {
        Ok(key) => DoctorCheck::ok("key", format!("{}, from {source}", key.masked())),
        Err(failure) => DoctorCheck::failed("key", failure.clone()),
    });
}

/// Requests one email and derives what the answer shows.
async fn check_service(
    client: &Client,
    settings: &Settings,
    env: &Env,
    found: &mut Vec<DoctorCheck>,
) {
    let proxy = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .into_iter()
        .find(|name| env.get(name).is_some());
    let via = proxy
        .filter(|_| !settings.base_url.is_plain_http())
        .map(|name| format!(" through the proxy of {name}"))
        .unwrap_or_default();
    let asked = Instant::now();
    let answer = client.list(1, &Cursor::Start).await;
    let answered = format!(
        "{} answers{via}, in {} ms",
        settings.base_url,
        asked.elapsed().as_millis()
    );
    match answer {
        Ok(_) => {
            found.push(DoctorCheck::ok("service", answered));
            found.push(DoctorCheck::ok(
                "access",
                "the key may read, which takes full access: it may send and delete, too",
            ));
        }
        // A refusal is an answer, too.
        Err(failure) if is_refusal(failure.kind) => {
            found.push(DoctorCheck::ok("service", answered));
            found.push(DoctorCheck::failed("access", failure));
        }
        Err(failure) => found.push(DoctorCheck::failed("service", failure)),
    }
    if let Some(skew) = client.clock_skew() {
        found.push(check_clock(skew));
    }
    let budget = client.rate_budget();
    let ours = format!("at most {} requests a second", budget.rate);
    found.push(DoctorCheck::ok(
        "rate",
        match (budget.limit, budget.remaining) {
            (Some(limit), Some(remaining)) => format!(
                "{ours}; the service allows the team {limit}, of which {remaining} were left"
            ),
            (Some(limit), None) => format!("{ours}; the service allows the team {limit}"),
            (None, _) => format!("{ours}; the service states no limit"),
        },
    ));
}

const fn is_refusal(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::KeyRejected | ErrorKind::KeySendOnly | ErrorKind::RateLimited | ErrorKind::Quota
    )
}

/// The service tells whole seconds, and the answer took a moment to come.
fn check_clock(skew: SignedDuration) -> DoctorCheck {
    let apart = skew.unsigned_abs();
    if skew.abs() <= MAX_CLOCK_SKEW {
        return DoctorCheck::ok(
            "clock",
            format!("agrees with the service's within {} s", apart.as_secs() + 1),
        );
    }
    let side = if skew.is_negative() {
        "ahead of"
    } else {
        "behind"
    };
    let far = match apart.as_secs() {
        seconds @ 0..7200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds / 3600),
    };
    DoctorCheck::note(
        "clock",
        format!("this machine's is {far} {side} the service's, so ages and dates look wrong"),
    )
}

fn check_archive(
    settings: &Settings,
    is_quick: bool,
    now: Timestamp,
    found: &mut Vec<DoctorCheck>,
    out: &mut Output,
) {
    let path = match &settings.archive {
        ArchiveLocation::Disk(path) => path,
        ArchiveLocation::Memory if settings.key.is_err() => return,
        ArchiveLocation::Memory => {
            found.push(DoctorCheck::ok("archive", "in memory: nothing is kept"));
            return;
        }
    };
    // What ails the file is found below.
    if let Ok(Some(stranger)) = IdentityMismatch::find(settings) {
        return found.push(DoctorCheck::failed("archive", stranger.into()));
    }
    let shown = path.display();
    let Ok(metadata) = std::fs::metadata(path) else {
        found.push(DoctorCheck::ok(
            "archive",
            format!("{shown}, which is not there yet"),
        ));
        return;
    };
    let examined = Archive::open(&settings.archive).and_then(|archive| {
        if let Some(failure) = archive.read_only_reason() {
            found.push(DoctorCheck::note("archive", failure.message));
        }
        if is_quick {
            archive.quick_check()?;
        } else {
            archive.check_integrity(|read| {
                if read.is_multiple_of(PROGRESS_INTERVAL) {
                    out.show_progress(&format!("archive: {} read", plural(read, "email")));
                }
            })?;
        }
        Ok((
            archive.query_count()?,
            archive.coverage()?,
            archive.head_at()?,
        ))
    });
    found.push(match examined {
        Ok((count, reach, asked)) => {
            let megabytes = metadata.len().div_ceil(1_000_000);
            let reach = describe_past_coverage(&reach, asked, now, &settings.zone);
            let checked = if is_quick {
                "its pages fit together"
            } else {
                "whole"
            };
            DoctorCheck::ok(
                "archive",
                format!(
                    "{shown}: {checked}, {}, {megabytes} MB; {reach}",
                    plural(count, "email")
                ),
            )
        }
        Err(failure) => DoctorCheck::failed("archive", failure),
    });
}

/// A finding as JSON.
#[derive(Serialize)]
struct CheckJson<'a> {
    /// What was checked.
    name: &'a str,
    /// `ok`, `note` or `failed`.
    state: &'a str,
    /// Result of the check.
    message: &'a str,
    /// What to do next; empty if nothing.
    hint: &'a str,
}

/// All of them as one JSON document.
#[derive(Serialize)]
struct DoctorJson<'a> {
    /// Whether no check failed.
    ok: bool,
    /// The checks, in order.
    checks: Vec<CheckJson<'a>>,
}

fn write_report(found: &[DoctorCheck], out: &mut Output) -> Result<(), CommandExit> {
    let rows: Vec<CheckJson<'_>> = found.iter().map(check_json).collect();
    let text = match out.format {
        OutputFormat::Human => found.iter().map(format_check).collect::<String>(),
        OutputFormat::Json => {
            let ok = !found
                .iter()
                .any(|finding| matches!(finding.state, DoctorState::Failed(_)));
            to_json_line(&DoctorJson { ok, checks: rows })
        }
        OutputFormat::JsonLines => rows.iter().map(to_json_line).collect(),
    };
    out.write_data(&text)?;
    out.flush()
}

/// One line; what a message quotes cannot command a terminal.
fn to_json_line(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("texts are JSON");
    format!("{}\n", escape_line(&text))
}

fn check_json(finding: &DoctorCheck) -> CheckJson<'_> {
    let DoctorCheck {
        name: what,
        state,
        message: words,
    } = finding;
    let (state, hint) = match state {
        DoctorState::Ok => ("ok", ""),
        DoctorState::Note => ("note", ""),
        DoctorState::Failed(failure) => ("failed", failure.hint.as_str()),
    };
    CheckJson {
        name: what,
        state,
        message: words,
        hint,
    }
}

fn format_check(finding: &DoctorCheck) -> String {
    let CheckJson {
        name,
        state,
        message,
        hint,
    } = check_json(finding);
    let mark = if state == "failed" { "FAILED" } else { state };
    let hint = if hint.is_empty() {
        String::new()
    } else {
        format!("\n                  {}", sanitize::sanitize_line(hint))
    };
    format!(
        "{mark:6}  {name:9} {}{hint}\n",
        sanitize::sanitize_line(message)
    )
}

/// Columns and rows of the terminal that one of the streams is.
fn terminal_size() -> Option<(u16, u16)> {
    let of_stdout = rustix::termios::tcgetwinsize(io::stdout());
    let size = of_stdout
        .or_else(|_| rustix::termios::tcgetwinsize(io::stderr()))
        .ok()?;
    (size.ws_col > 0).then_some((size.ws_col, size.ws_row))
}

/// What the environment says about the terminal.
fn check_terminal(env: &Env, size: Option<(u16, u16)>) -> Vec<DoctorCheck> {
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
        "none, because NO_COLOR is set"
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
        DoctorCheck::note("clipboard", "none: this terminal does not support it")
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

    #[test]
    fn skewed_clock_is_reported() {
        assert_eq!(
            check_clock(SignedDuration::from_secs(-2)),
            DoctorCheck::ok("clock", "agrees with the service's within 3 s")
        );
        assert_eq!(
            check_clock(SignedDuration::from_mins(5)),
            DoctorCheck::note(
                "clock",
                "this machine's is 5 min behind the service's, so ages and dates look wrong"
            )
        );
        assert!(
            check_clock(SignedDuration::from_hours(-30))
                .message
                .contains("30 h ahead of")
        );
    }

    fn words(variables: &[(&str, &str)]) -> String {
        let found = check_terminal(&variables.iter().copied().collect(), Some((120, 40)));
        found
            .into_iter()
            .map(|finding| finding.message)
            .collect::<Vec<_>>()
            .join(" | ")
    }

    #[test]
    fn terminal_is_recognized_by_its_variables() {
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
            "xterm, 120x40 | none, because NO_COLOR is set | LC_ALL is C, which is not UTF-8; if lines look wrong, use --ascii | OSC 52, if the terminal allows it"
        );
        assert!(words(&[]).starts_with("dumb, 120x40; it cannot show the terminal program | none"));
    }
}
