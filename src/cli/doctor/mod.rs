//! `doctor`: checks configuration, key, service, archive and terminal,
//! and reports each.

mod checks;

use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use terminal_colorsaurus::QueryOptions;
use tokio::time::Instant;

use super::config::find_errors;
use super::output::format::{add_left_out, describe_past_coverage, format_time, is_fresh};
use super::output::terminal_modes::keep_modes;
use super::output::{CommandExit, Output};
use super::{CommandContext, ProfileContext, block_on};
use crate::api::{
    Client, Cursor, EmailApi as _, EmailPage, Priority, RecordedPause, RequestHandle, RetryPolicy,
    describe_clock_skew,
};
use crate::archive::{Archive, ArchiveLocation, IdentityMismatch, check_link};
use crate::config::{
    Background, ClipboardRoute, ClipboardSetting, ColourDepth, ConfigFindings, CredentialSource,
    Env, Multiplexer, Paths, Profiles, Settings, config_hint, create_temp_file, draws_ascii,
    existing_folder_of, has_ascii_font, is_utf8, locale, reads_osc,
};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::Mailbox;
use crate::text::format::plural;
use checks::{Checks, DoctorJson, format_check};

/// How long a terminal may take to report its background, over a slow line.
const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(1);

const NO_HOME: &str = "none: there is no home directory";

/// Emails between two progress reports.
const PROGRESS_INTERVAL: u64 = 1000;

/// Returns the background that the terminal reports, if it does.
type BackgroundQuery = fn() -> Result<Option<Background>, CommandExit>;

/// Runs all checks and reports them.
pub(super) fn run(is_quick: bool, context: CommandContext<'_>) -> Result<(), CommandExit> {
    let mut checks = Checks::default();
    checks.ok("version", concat!("sentbox ", env!("CARGO_PKG_VERSION")));
    let profiles = check_config(&context, &mut checks);
    let (env, out) = (context.env, context.out);
    let paths = Paths::from_env(env);
    let data = paths.data.as_deref();
    match data.map(|path| write_probe(&path.join("probe"))) {
        Some(Err(error)) => checks.failed("data", error),
        _ => check_folder("data", data, &mut checks),
    }
    check_folder("state", paths.state.as_deref(), &mut checks);
    let flags = context.global.flags();
    if let Some(warning) = env.time_zone_warning().filter(|_| flags.zone.is_none()) {
        checks.note("timezone", warning);
    }
    match Settings::resolve(&flags, env) {
        Ok(settings) => {
            let (credentials, profile) = (&settings.credentials, &settings.profile);
            let exists = |profiles: &Profiles| profiles.require(profile).is_ok();
            // Beside a key of the environment, the rest of the profile still applies.
            let used = match &profiles {
                Some(profiles) if !credentials.is_from_profile() && !exists(profiles) => "none",
                _ => profile,
            };
            if let CredentialSource::KeyVariable(name) = credentials.source {
                checks.ok("profile", format!("{used}; the key is from {name}"));
            } else {
                checks.ok("profile", used);
            }
            check_key(&settings, &mut checks);
            let mut ctx = ProfileContext {
                settings,
                mailbox: Mailbox::Sent,
                clock: context.clock,
                out: &mut *out,
            };
            if ctx.settings.credentials.key.is_ok() {
                let client = ctx.client(RetryPolicy::TUI);
                let now = ctx.now();
                block_on(check_service(&client, &ctx.settings, env, now, &mut checks))?;
            }
            check_archive(is_quick, &mut ctx, &mut checks);
            out.show_progress("");
        }
        // The errors of the file are reported already.
        Err(_) if profiles.is_none() => {}
        Err(error) => checks.failed("profile", error),
    }
    check_terminal(env, terminal_size(), query_background, &mut checks)?;
    for check in &mut checks.results {
        check.hint = out.complete_commands(&check.hint).into_owned();
    }
    let document = DoctorJson {
        ok: checks.first_error.is_none(),
        checks: checks.results,
    };
    let lines = document.checks.iter().map(format_check);
    out.report_list(&document.checks, &document, lines)?;
    checks.first_error.map_or(Ok(()), |error| Err(error.into()))
}

/// Names a folder, and notes if others may list the files in it.
/// Its mode is not changed: it may be meant so.
fn check_folder(name: &'static str, path: Option<&Path>, checks: &mut Checks) {
    let Some(path) = path else {
        return checks.ok(name, NO_HOME);
    };
    let path_text = path.display();
    match path.metadata().map(|found| found.mode() & 0o777) {
        Ok(mode) if mode & 0o044 != 0 => {
            let message = format!(
                "{path_text}, whose files other users may list (mode {mode:04o}), but not read; chmod 700 hides them"
            );
            checks.note(name, message);
        }
        _ => checks.ok(name, path_text.to_string()),
    }
}

/// Writes a small file where `path` would be, and removes it:
/// nothing else shows that the disk is full.
///
/// Folders that are missing are not made: the one in which they would be is tried.
fn write_probe(path: &Path) -> Result<()> {
    let folder = existing_folder_of(path);
    let written = create_temp_file(&folder.join("probe"), 0o600).and_then(|(mut file, path)| {
        let result = file.write_all(&[0; 4096]).and_then(|()| file.sync_all());
        std::fs::remove_file(path).and(result)
    });
    written.map_err(|error| {
        Error::cannot("written to", ErrorKind::Archive, folder.display(), &error)
            .with_hint("free some space, or let this user write there")
    })
}

fn check_config(context: &CommandContext<'_>, checks: &mut Checks) -> Option<Profiles> {
    let profiles = match Profiles::load(context.env) {
        Ok(profiles) => profiles,
        Err(error) => {
            let settings = Settings::resolve(&context.global.flags(), context.env);
            let needs_none = |it: Settings| it.credentials.key.is_ok() || it.is_named_archive();
            if Paths::from_env(context.env).config.is_none() && settings.is_ok_and(needs_none) {
                checks.ok("config", NO_HOME);
                return None;
            }
            checks.failed("config", error);
            return None;
        }
    };
    let path = profiles.path.display();
    let ConfigFindings { errors, warnings } = find_errors(&profiles, context);
    if !errors.is_empty() {
        for error in errors {
            let hint = config_hint(&error);
            let error = Error::new(ErrorKind::Config, error).with_hint(hint);
            checks.failed("config", error);
        }
    } else if profiles.path.exists() {
        let count = profiles.entries().len();
        checks.ok("config", format!("{path}, profiles: {count}"));
    } else {
        checks.ok("config", format!("{path}, which does not exist"));
    }
    for warning in warnings {
        checks.note("config", warning);
    }
    for path in profiles.remove_temp_files() {
        let path = path.display();
        let message = format!("removed {path}, left by an interrupted login");
        checks.note("config", message);
    }
    for path in profiles.unused_key_files() {
        let message = format!("no profile uses the key in {}; delete it", path.display());
        checks.note("config", message);
    }
    Some(profiles)
}

fn check_key(settings: &Settings, checks: &mut Checks) {
    let credentials = &settings.credentials;
    let source = credentials.key_source();
    let is_missing = matches!(&settings.archive, ArchiveLocation::Disk(path) if !path.exists());
    let reads_named = settings.is_named_archive() && !is_missing;
    let needs_key = source.is_some() || !reads_named;
    match &credentials.key {
        Ok(key) => {
            let source = source.unwrap_or_default();
            checks.ok("key", format!("{}, from {source}", key.masked()));
        }
        Err(error) if !needs_key => {
            let message = format!("{}; the archive is read without one", error.message);
            checks.note("key", message);
        }
        Err(error) => checks.failed("key", error.clone()),
    }
}

/// Requests one email and reports what the response shows.
async fn check_service(
    client: &Client,
    settings: &Settings,
    env: &Env,
    now: Timestamp,
    checks: &mut Checks,
) {
    let base_url = &settings.credentials.base_url;
    let proxy = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .into_iter()
        .find(|name| env.get(name).is_some() && !base_url.is_plain_http());
    let via = proxy.map(|name| format!(" through the proxy of {name}"));
    let (result, duration) = request_first_page(client, now, &settings.zone, checks).await;
    let has_answered = result
        .as_ref()
        .map_or_else(|error| is_refusal(error.kind), |_| true);
    let answers = format!(
        "{base_url} answers{}, in {} ms",
        via.unwrap_or_default(),
        duration.as_millis()
    );
    match result {
        Ok(page) => {
            checks.ok("service", answers);
            let known_at = page.listed_at.or(page.checked_at);
            if let Some(at) = known_at.filter(|at| !is_fresh(*at, now)) {
                let at = format_time(at, now, &settings.zone);
                let message = format!(
                    "what it lists is as of {at}: a mirror that does not reach the service, or a cache"
                );
                checks.note("service", message);
            }
            checks.ok(
                "access",
                if client.is_mirror() {
                    "the key of a mirror may read, and nothing else"
                } else {
                    "the key may read, which takes full access: it may send and delete, too"
                },
            );
        }
        // A refusal is an answer, too.
        Err(error) if has_answered => {
            checks.ok("service", answers);
            checks.failed_in_state("access", error);
        }
        Err(error) => checks.failed_in_state("service", error),
    }
    if let Some(skew) = client.clock_skew() {
        check_clock(skew, checks);
    }
    check_rate(client, has_answered, checks);
}

/// Requests one email; also returns how long that took.
///
/// During a pause, in which other commands request nothing, it sends the request once: only the service knows whether
/// the pause is still necessary.
async fn request_first_page(
    client: &Client,
    now: Timestamp,
    zone: &TimeZone,
    checks: &mut Checks,
) -> (Result<EmailPage>, Duration) {
    let mut requested = Instant::now();
    let mut result = client.list(1, &Cursor::Start).await;
    // A pause longer than one request may wait: it was not sent.
    if matches!(&result, Err(error) if error.kind == ErrorKind::RateLimited && error.details.is_none())
    {
        let pause = client.recorded_pause().await;
        requested = Instant::now();
        let once = RequestHandle::new(Priority::Interactive).ignoring_pause();
        result = client.with_priority(&once).list(1, &Cursor::Start).await;
        if let Some(pause) = pause {
            let still = client.recorded_pause().await;
            checks.note("pause", describe_pause(pause, still, now, zone));
        }
    }
    (result, requested.elapsed())
}

fn check_rate(client: &Client, has_answered: bool, checks: &mut Checks) {
    let budget = client.rate_budget();
    let limit = match (budget.limit, budget.remaining) {
        (Some(limit), Some(remaining)) => {
            format!("the service allows the team {limit}, of which {remaining} were left")
        }
        (Some(limit), None) => format!("the service allows the team {limit}"),
        (None, _) if has_answered => "the service does not state the team's limit".to_owned(),
        (None, _) => "the team's limit is not known".to_owned(),
    };
    let rate = budget.rate;
    checks.ok("rate", format!("at most {rate} requests a second; {limit}"));
}

/// Describes the pause before the request, and whether it is still recorded after
/// it.
fn describe_pause(
    pause: RecordedPause,
    still: Option<RecordedPause>,
    now: Timestamp,
    zone: &TimeZone,
) -> String {
    let [from, until] = [pause.from, pause.until].map(|at| format_time(at, now, zone));
    let outcome = match still {
        None => "the pause is over".to_owned(),
        Some(still) => {
            let until = format_time(still.until, now, zone);
            format!("the pause goes on until {until}")
        }
    };
    format!(
        "at {from} the service asked to wait until {until}; one request was sent in spite of that, and {outcome}"
    )
}

const fn is_refusal(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::KeyRejected | ErrorKind::KeySendOnly | ErrorKind::RateLimited | ErrorKind::Quota
    )
}

/// Compares the clocks.
///
/// The service's time has whole seconds, and the response took a moment.
fn check_clock(skew: SignedDuration, checks: &mut Checks) {
    if let Some(message) = describe_clock_skew(skew) {
        checks.note("clock", message);
    } else {
        let seconds = skew.unsigned_abs().as_secs();
        let message = format!("agrees with the service's within {} s", seconds + 1);
        checks.ok("clock", message);
    }
}

fn check_archive(is_quick: bool, ctx: &mut ProfileContext<'_>, checks: &mut Checks) {
    let settings = &ctx.settings;
    let path = match &settings.archive {
        ArchiveLocation::Disk(path) => path,
        ArchiveLocation::Server(_) => {
            let location = settings.archive.clone();
            return check_archive_at(&location, is_quick, ctx, checks);
        }
        ArchiveLocation::Memory if settings.credentials.key.is_err() => return,
        ArchiveLocation::Memory => return checks.ok("archive", "in memory: nothing is kept"),
    };
    // An error of the file is found below. An empty one has no key, and is reported when it is opened.
    let is_empty = path.metadata().is_ok_and(|found| found.len() == 0);
    let mismatch = (!is_empty).then(|| IdentityMismatch::find(settings));
    match mismatch.unwrap_or(Ok(None)) {
        Ok(Some(mismatch)) if settings.is_named_archive() => {
            checks.note("archive", mismatch.message());
        }
        Ok(Some(mismatch)) => return checks.failed("archive", mismatch.into()),
        Ok(None) | Err(_) => {}
    }
    let paths = Mailbox::ALL.map(|mailbox| mailbox.archive_path(path));
    if let Some(error) = paths.iter().find_map(|path| check_link(path).err()) {
        return checks.failed("archive", error);
    }
    if !path.exists() {
        let message = format!("{}, which does not exist yet", path.display());
        return match write_probe(path) {
            Ok(()) => checks.ok("archive", message),
            Err(error) => checks.failed("archive", error),
        };
    }
    for path in paths {
        if path.exists() {
            check_archive_at(&ArchiveLocation::Disk(path), is_quick, ctx, checks);
        }
    }
}

/// Opens an archive and describes it;
/// every email of a file is examined, unless `is_quick`.
fn check_archive_at(
    location: &ArchiveLocation,
    is_quick: bool,
    ctx: &mut ProfileContext<'_>,
    checks: &mut Checks,
) {
    let now = ctx.now();
    let bytes = match location {
        ArchiveLocation::Disk(path) => Some(path.metadata().map_or(0, |found| found.len())),
        ArchiveLocation::Server(_) | ArchiveLocation::Memory => None,
    };
    let examined = Archive::open(location).and_then(|archive| {
        match (archive.read_only_reason(), location) {
            (Some(error), _) if archive.is_disk_full() => checks.failed("archive", error),
            (Some(error), _) => checks.note("archive", error.message),
            (None, ArchiveLocation::Disk(path)) => {
                // The file may be behind a link.
                let path = path.canonicalize().unwrap_or_else(|_| path.clone());
                if let Err(error) = write_probe(&path) {
                    checks.failed("archive", error);
                }
            }
            (None, _) => {}
        }
        for replaced in archive.replaced() {
            let message = replaced.message(|path| path.display().to_string());
            checks.note("archive", message);
        }
        if archive.is_audited() {
            checks.note("archive", "it is recorded there who opens which email");
        }
        if bytes.is_some() {
            examine_archive(&archive, is_quick, ctx.out)?;
        }
        let emails = archive.query_count()?;
        let (coverage, refreshed) = (archive.coverage()?, archive.head_at_by(now)?);
        let reach = describe_past_coverage(&coverage, emails, refreshed, now, &ctx.settings.zone);
        let reach = add_left_out(&reach, &coverage, archive.left_out()?);
        let emails = plural(emails, "email");
        let Some(bytes) = bytes else {
            return Ok(format!("{location}: {emails}; {reach}"));
        };
        let checked = if is_quick {
            "quick check passed"
        } else {
            "intact"
        };
        let megabytes = bytes.div_ceil(1_000_000);
        Ok(format!(
            "{location}: {checked}, {emails}, {megabytes} MB; {reach}"
        ))
    });
    match examined {
        Ok(message) => checks.ok("archive", message),
        Err(error) => checks.failed("archive", error),
    }
}

fn examine_archive(archive: &Archive, is_quick: bool, out: &mut Output) -> Result<()> {
    if is_quick {
        return archive.quick_check();
    }
    archive.check_integrity(|read| {
        if read.is_multiple_of(PROGRESS_INTERVAL) {
            out.show_progress(&format!("archive: {} read", plural(read, "email")));
        }
    })
}

/// Returns columns and rows of the terminal on stdout or stderr.
fn terminal_size() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(io::stderr()))
        .ok()?;
    (size.ws_col > 0).then_some((size.ws_col, size.ws_row))
}

/// Reports what the environment says about the terminal.
fn check_terminal(
    env: &Env,
    size: Option<(u16, u16)>,
    query: BackgroundQuery,
    checks: &mut Checks,
) -> Result<(), CommandExit> {
    let term = env.get("TERM").unwrap_or("dumb");
    let multiplexer = match Multiplexer::find(env) {
        Some(Multiplexer::Tmux) => " in tmux",
        Some(Multiplexer::Screen) => " in GNU screen",
        None => "",
    };
    let terminal = match size {
        Some((columns, rows)) => format!("{term}{multiplexer}, {columns}x{rows}"),
        None => format!("{term}{multiplexer}, and no terminal here to measure"),
    };
    if term == "dumb" {
        let message = format!("{terminal}; the terminal program prints lines there");
        checks.note("terminal", message);
    } else {
        checks.ok("terminal", terminal);
    }
    let colours = match ColourDepth::from_env(env) {
        _ if env.get("NO_COLOR").is_some() => "none, because NO_COLOR is set",
        _ if term == "dumb" => "none",
        depth => depth.label(),
    };
    checks.ok("colours", colours);
    check_background(env, query, checks)?;
    check_unicode(env, checks);
    check_clipboard(env, term, checks);
    Ok(())
}

/// Queries the background of the terminal, if there is one here.
fn query_background() -> Result<Option<Background>, CommandExit> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Ok(None);
    }
    keep_modes(|| {
        let mut options = QueryOptions::default();
        options.timeout = BACKGROUND_TIMEOUT;
        let colour = terminal_colorsaurus::background_color(options).ok()?;
        Some(Background::from_lightness(colour.perceived_lightness()))
    })
}

fn check_background(
    env: &Env,
    query: BackgroundQuery,
    checks: &mut Checks,
) -> Result<(), CommandExit> {
    let name = "background";
    let reported = if reads_osc(env) { query()? } else { None };
    if let Some(background) = reported {
        let label = background.label();
        checks.ok(name, format!("{label}, as the terminal reports"));
    } else if let Some(background) = Background::from_env(env) {
        let (label, variable) = (background.label(), "COLORFGBG or TERM");
        checks.ok(
            name,
            format!("{label}, by {variable}: the terminal does not report it"),
        );
    } else {
        let message = "not known; light or dark can be set as base in the [theme] of the file";
        checks.note(name, message);
    }
    Ok(())
}

fn check_unicode(env: &Env, checks: &mut Checks) {
    let message = match locale(env) {
        _ if has_ascii_font(env) => {
            return checks.ok("unicode", "no: this terminal is drawn on with ASCII alone");
        }
        Some((_, locale)) if is_utf8(locale) => {
            return checks.ok("unicode", format!("yes, by {locale}"));
        }
        Some((name, locale)) if draws_ascii(env) => {
            let message =
                format!("no: {name} is {locale}, so only ASCII is shown; C.UTF-8 shows all text");
            return checks.note("unicode", message);
        }
        Some((name, locale)) => format!("{name} is {locale}, which names no charset"),
        None => "no locale is set".to_owned(),
    };
    checks.note(
        "unicode",
        format!("{message}; if lines look wrong, use --ascii"),
    );
}

fn check_clipboard(env: &Env, term: &str, checks: &mut Checks) {
    let name = "clipboard";
    if let ClipboardRoute::Program([program, ..]) = ClipboardSetting::Auto.route(env) {
        return checks.ok(name, format!("{program}, or else OSC 52"));
    }
    match (term, Multiplexer::find(env)) {
        ("dumb" | "linux", _) => checks.note(name, "none: this terminal does not support it"),
        (_, Some(Multiplexer::Tmux)) => {
            let message = "OSC 52 through tmux, which needs: set -g set-clipboard on";
            checks.ok(name, message);
        }
        (_, Some(Multiplexer::Screen)) => {
            checks.ok(name, "OSC 52 through GNU screen, if the terminal allows it");
        }
        (term, None) if term.starts_with("screen") => {
            checks.note(name, "OSC 52, which GNU screen does not pass on");
        }
        (_, None) => checks.ok(name, "OSC 52, if the terminal allows it"),
    }
}

#[cfg(test)]
mod tests;
