//! `doctor`: looks at everything that must work, and says of each whether it does.

mod terminal;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use tokio::time::Instant;

use super::World;
use super::json::guarded;
use super::output::{Output, Shape, Stop};
use super::words::{emails, reach_then};
use crate::api::{Access, Client, Cursor, Patience, Service as _};
use crate::archive::{Archive, Location, Stranger};
use crate::config::{Env, Paths, Profiles, Settings};
use crate::failure::{Failure, Kind};
use crate::mail::clean;

/// Clocks that differ by more make ages and dates look wrong.
const SKEW: SignedDuration = SignedDuration::from_secs(60);

/// Emails between two reports of progress.
const PROGRESS: u64 = 1000;

/// How something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// As it should be.
    Good,
    /// Worth knowing, and not in the way.
    Note,
    /// Not working, and needed.
    Bad(Failure),
}

/// What was found about one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    what: &'static str,
    state: State,
    words: String,
}

impl Finding {
    fn good(what: &'static str, words: impl Into<String>) -> Self {
        Self {
            what,
            state: State::Good,
            words: words.into(),
        }
    }

    fn note(what: &'static str, words: impl Into<String>) -> Self {
        Self {
            what,
            state: State::Note,
            words: words.into(),
        }
    }

    fn bad(what: &'static str, failure: Failure) -> Self {
        Self {
            what,
            words: failure.sentence.clone(),
            state: State::Bad(failure),
        }
    }
}

/// Looks at everything and reports.
///
/// # Errors
///
/// The first failure of what is needed, so that the exit code tells its kind.
pub(super) fn run(is_quick: bool, world: World<'_>) -> Result<(), Stop> {
    let World {
        global,
        env,
        clock,
        wrong_keys: _,
        out,
    } = world;
    let paths = Paths::of(env);
    let mut found = vec![Finding::good(
        "version",
        concat!("sentbox ", env!("CARGO_PKG_VERSION")),
    )];
    let profiles = configuration(env, &mut found);
    let folder = |path: &Option<std::path::PathBuf>| {
        path.as_ref()
            .map_or("none: there is no home directory".to_owned(), |path| {
                path.display().to_string()
            })
    };
    found.push(Finding::good("data", folder(&paths.data)));
    found.push(Finding::good("state", folder(&paths.state)));
    match Settings::resolve(&global.flags(), env) {
        Ok(settings) => {
            found.push(Finding::good("profile", settings.profile.clone()));
            key(&settings, profiles.as_ref(), &mut found);
            if settings.key.is_ok() {
                let client = Client::new(Access::from(&settings), Patience::SCREEN, clock.clone());
                super::wait_for(async {
                    service(&client, &settings, env, &mut found).await;
                    Ok(())
                })?;
            }
            archive(&settings, is_quick, clock(), &mut found, out);
            out.progress("");
        }
        // What is wrong with the file has been said.
        Err(_) if profiles.is_none() => {}
        Err(failure) => found.push(Finding::bad("profile", failure)),
    }
    found.extend(terminal::look(env, terminal::size()));
    report(&found, out)?;
    let failed = found.into_iter().find_map(|finding| match finding.state {
        State::Bad(failure) => Some(failure),
        State::Good | State::Note => None,
    });
    failed.map_or(Ok(()), |failure| Err(failure.into()))
}

fn configuration(env: &Env, found: &mut Vec<Finding>) -> Option<Profiles> {
    match Profiles::read(env) {
        Ok(profiles) => {
            let path = profiles.path().display();
            found.push(match profiles.list().len() {
                _ if !profiles.path().exists() => {
                    Finding::good("config", format!("{path}, which is not there"))
                }
                count => Finding::good("config", format!("{path}, profiles: {count}")),
            });
            found.extend(
                profiles
                    .warnings()
                    .iter()
                    .map(|warning| Finding::note("config", warning)),
            );
            let removed = profiles.remove_leftovers();
            found.extend(removed.iter().map(|path| {
                Finding::note(
                    "config",
                    format!("removed {}, left by an interrupted login", path.display()),
                )
            }));
            let stray = profiles.stray_keys();
            found.extend(stray.iter().map(|path| {
                Finding::note(
                    "config",
                    format!("no profile uses the key in {}; delete it", path.display()),
                )
            }));
            Some(profiles)
        }
        Err(failure) => {
            found.push(Finding::bad("config", failure));
            None
        }
    }
}

fn key(settings: &Settings, profiles: Option<&Profiles>, found: &mut Vec<Finding>) {
    let listed = profiles.map(Profiles::list).unwrap_or_default();
    let in_file = listed.into_iter().find(|listed| {
        settings.key_from.starts_with("profile ") && listed.name == settings.profile
    });
    let source = in_file
        .filter(|listed| !listed.key_from.is_empty())
        .map_or_else(|| settings.key_from.clone(), |listed| listed.key_from);
    found.push(match &settings.key {
        Ok(key) => Finding::good("key", format!("{}, from {source}", key.masked())),
        Err(failure) => Finding::bad("key", failure.clone()),
    });
}

/// Asks for one email, and tells what can be told from the answer.
async fn service(client: &Client, settings: &Settings, env: &Env, found: &mut Vec<Finding>) {
    let proxy = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .into_iter()
        .find(|name| env.get(name).is_some());
    let way = proxy
        .filter(|_| !settings.base_url.is_plain())
        .map(|name| format!(" through the proxy of {name}"))
        .unwrap_or_default();
    let asked = Instant::now();
    let answer = client.list(1, &Cursor::Start).await;
    let answered = format!(
        "{} answers{way}, in {} ms",
        settings.base_url,
        asked.elapsed().as_millis()
    );
    match answer {
        Ok(_) => {
            found.push(Finding::good("service", answered));
            found.push(Finding::good(
                "access",
                "the key may read, which takes full access: it may send and delete, too",
            ));
        }
        // A refusal is an answer, too.
        Err(failure) if is_refusal(failure.kind) => {
            found.push(Finding::good("service", answered));
            found.push(Finding::bad("access", failure));
        }
        Err(failure) => found.push(Finding::bad("service", failure)),
    }
    if let Some(skew) = client.skew() {
        found.push(clock(skew));
    }
    let budget = client.budget();
    let ours = format!("at most {} requests a second", budget.rate);
    found.push(Finding::good(
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

const fn is_refusal(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::KeyRejected | Kind::KeySendOnly | Kind::RateLimited | Kind::Quota
    )
}

/// The service tells whole seconds, and the answer took a moment to come.
fn clock(skew: SignedDuration) -> Finding {
    let apart = skew.unsigned_abs();
    if skew.abs() <= SKEW {
        return Finding::good(
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
    Finding::note(
        "clock",
        format!("this machine's is {far} {side} the service's, so ages and dates look wrong"),
    )
}

fn archive(
    settings: &Settings,
    is_quick: bool,
    now: Timestamp,
    found: &mut Vec<Finding>,
    out: &mut Output,
) {
    let path = match &settings.archive {
        Location::Disk(path) => path,
        Location::Memory if settings.key.is_err() => return,
        Location::Memory => {
            found.push(Finding::good("archive", "in memory: nothing is kept"));
            return;
        }
    };
    // What ails the file is found below.
    if let Ok(Some(stranger)) = Stranger::before(settings) {
        return found.push(Finding::bad("archive", stranger.into()));
    }
    let shown = path.display();
    let Ok(metadata) = std::fs::metadata(path) else {
        found.push(Finding::good(
            "archive",
            format!("{shown}, which is not there yet"),
        ));
        return;
    };
    let examined = Archive::open(&settings.archive).and_then(|archive| {
        if let Some(failure) = archive.read_only() {
            found.push(Finding::note("archive", failure.sentence));
        }
        if is_quick {
            archive.examine()?;
        } else {
            archive.check(|read| {
                if read.is_multiple_of(PROGRESS) {
                    out.progress(&format!("archive: {} read", emails(read)));
                }
            })?;
        }
        Ok((archive.count()?, archive.reach()?, archive.head_at()?))
    });
    found.push(match examined {
        Ok((count, reach, asked)) => {
            let megabytes = metadata.len().div_ceil(1_000_000);
            let reach = reach_then(&reach, asked, now, &settings.zone);
            let checked = if is_quick {
                "its pages fit together"
            } else {
                "whole"
            };
            Finding::good(
                "archive",
                format!(
                    "{shown}: {checked}, {}, {megabytes} MB; {reach}",
                    emails(count)
                ),
            )
        }
        Err(failure) => Finding::bad("archive", failure),
    });
}

/// A finding as JSON.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    state: &'a str,
    message: &'a str,
    hint: &'a str,
}

/// All of them as one JSON document.
#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    checks: Vec<Row<'a>>,
}

fn report(found: &[Finding], out: &mut Output) -> Result<(), Stop> {
    let rows: Vec<Row<'_>> = found.iter().map(row).collect();
    let text = match out.shape {
        Shape::Human => found.iter().map(line).collect::<String>(),
        Shape::Json => {
            let ok = !found
                .iter()
                .any(|finding| matches!(finding.state, State::Bad(_)));
            json(&Document { ok, checks: rows })
        }
        Shape::JsonLines => rows.iter().map(json).collect(),
    };
    out.data(&text)?;
    out.flush()
}

/// One line; what a message quotes cannot command a terminal.
fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("texts are JSON");
    format!("{}\n", guarded(&text))
}

fn row(finding: &Finding) -> Row<'_> {
    let Finding { what, state, words } = finding;
    let (state, hint) = match state {
        State::Good => ("ok", ""),
        State::Note => ("note", ""),
        State::Bad(failure) => ("failed", failure.hint.as_str()),
    };
    Row {
        name: what,
        state,
        message: words,
        hint,
    }
}

fn line(finding: &Finding) -> String {
    let Row {
        name,
        state,
        message,
        hint,
    } = row(finding);
    let mark = if state == "failed" { "FAILED" } else { state };
    let hint = if hint.is_empty() {
        String::new()
    } else {
        format!("\n                  {}", clean::line(hint))
    };
    format!("{mark:6}  {name:9} {}{hint}\n", clean::line(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_is_worth_a_note() {
        assert_eq!(
            clock(SignedDuration::from_secs(-2)),
            Finding::good("clock", "agrees with the service's within 3 s")
        );
        assert_eq!(
            clock(SignedDuration::from_mins(5)),
            Finding::note(
                "clock",
                "this machine's is 5 min behind the service's, so ages and dates look wrong"
            )
        );
        assert!(
            clock(SignedDuration::from_hours(-30))
                .words
                .contains("30 h ahead of")
        );
    }
}
