//! Opens the terminal UI, or linear mode: on a profile, or on the sample mailbox.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::app::Keymap;
use crate::archive::{Archive, ArchiveLocation};
use crate::cli::args::SampleArgs;
use crate::cli::{self, CommandContext, CommandExit, Output, TypedQuery};
use crate::config::{
    Background, ColourDepth, ConfigFile, Env, FaultPoint, Paths, Settings, ThemeBase, ThemeConfig,
    draws_ascii, has_other_charset, locale, reads_osc,
};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::Mailbox;
use crate::query::{ParseContext, query_of_pasted};
use crate::server::sample::DEFAULT_EMAILS;
use crate::text::format::shell_word;
use crate::text::sanitize::sanitize_line;
use crate::tui::{self, Environment, LinearIo, Memory, ProgramExit, Session, SessionFactory};
use crate::view::{Glyphs, RenderCtx, Theme};

/// Time for tasks to finish after the user has quit.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a thread that has read the archive waits for more work:
/// starting one costs less than the memory that it keeps, and ending it later would wake the
/// machine once more.
const BLOCKING_THREAD_REST: Duration = Duration::from_millis(30);

/// The width of text in linear mode, unless `COLUMNS` sets another.
const LINEAR_COLUMNS: u16 = 78;

/// Opens the terminal UI on the selected profile, or with its setup.
pub fn open_profile(query: &[String], context: &mut CommandContext<'_>) -> Result<(), CommandExit> {
    let mut file = load_config(context.env)?;
    let keymap = build_keymap(&mut file)?;
    let mut settings = Settings::from_file(&file, &context.global.flags(), context.env)?;
    context.out.notes(&settings.warnings);
    if settings.credentials.is_unconfigured && is_read_only_server(&settings.archive)? {
        settings.credentials.is_unconfigured = false;
    }
    if settings.credentials.is_unconfigured && (is_linear(&file, context) || !is_in_terminal()) {
        // Without a screen there is no setup: the error is the missing key.
        settings.credentials.key.as_ref().map_err(Clone::clone)?;
    }
    if settings.credentials.key.is_err() && !settings.credentials.is_unconfigured {
        // Without a key, a new archive would stay empty.
        cli::check_named_archive(&settings, Mailbox::Sent)?;
    }
    let text = query.join(" ");
    require_terminal(&file, &text, context)?;
    let mut sessions = build_session_factory(keymap, &file, context, (DEFAULT_EMAILS, 1));
    sessions.flags.zone = Some(settings.zone.clone());
    run_tui(&sessions, file, context, |out| {
        let now = (sessions.clock)();
        let typed = TypedQuery::parse_in(query, &ParseContext::new(now, settings.zone.clone()))?;
        let mut session = sessions.open_initial(&settings)?;
        typed.check(&session.archive, out)?;
        // A prompt has one line.
        session.info.query =
            query_of_pasted(&text).unwrap_or_else(|| text.replace(char::is_whitespace, " "));
        Ok(session)
    })
}

/// Whether a role that may only read has this archive on a server: it needs no key.
fn is_read_only_server(location: &ArchiveLocation) -> Result<bool> {
    Ok(matches!(location, ArchiveLocation::Server(_))
        && Archive::exists(location)?
        && Archive::open(location)?.read_only_reason().is_some())
}

/// Opens the terminal UI on a sample mailbox; nothing is stored.
pub fn open_demo(sample: &SampleArgs, context: &mut CommandContext<'_>) -> Result<(), CommandExit> {
    // The demo opens whatever is wrong with the file: `sentbox config check` lists it. Wrong keys
    // end it.
    let mut file = load_config(context.env).unwrap_or_default();
    file.errors.clear();
    context.out.notes(time_zone_warning(context).as_slice());
    let keymap = build_keymap(&mut file)?;
    require_terminal(&file, "", context)?;
    let sessions = build_session_factory(keymap, &file, context, (sample.emails, sample.seed));
    run_tui(&sessions, file, context, |_| {
        sessions.open_demo(Mailbox::Sent)
    })
}

fn load_config(env: &Env) -> Result<ConfigFile> {
    let paths = Paths::from_env(env);
    let mut file = ConfigFile::load_with_errors(&paths)?;
    // On the screen, the name is enough: a path would not fit.
    let folder = paths.config.as_deref().and_then(Path::parent);
    let folder = folder.unwrap_or(Path::new("")).join("");
    let folder = folder.display().to_string();
    for error in &mut file.theme_errors {
        *error = sanitize_line(error.strip_prefix(&folder).unwrap_or(error)).into_owned();
    }
    Ok(file)
}

/// Builds the keymap; an error names everything that is wrong with the file.
fn build_keymap(file: &mut ConfigFile) -> Result<Keymap> {
    let (keymap, errors) = Keymap::with_overrides(&file.keys);
    file.errors.extend(errors);
    file.reject_errors()?;
    Ok(keymap)
}

fn build_session_factory(
    keymap: Keymap,
    file: &ConfigFile,
    context: &CommandContext<'_>,
    sample: (u32, u64),
) -> SessionFactory {
    SessionFactory {
        flags: context.global.flags(),
        env: context.env.clone(),
        clock: context.clock.clone(),
        keymap: Arc::new(keymap),
        desktop: file.desktop.clone(),
        sample,
        memory: Memory::default(),
    }
}

fn run_tui(
    sessions: &SessionFactory,
    file: ConfigFile,
    context: &mut CommandContext<'_>,
    open: impl FnOnce(&mut Output) -> Result<Session>,
) -> Result<(), CommandExit> {
    let env = context.env;
    let is_linear = is_linear(&file, context);
    let runtime = build_runtime()?;
    let mut session = {
        let _guard = runtime.enter();
        open(context.out)?
    };
    session.info.theme_errors = file.theme_errors;
    if !is_linear {
        // The notes before the first screen cannot be seen until the end.
        let warning = || time_zone_warning(context).or_else(|| charset_warning(env));
        session.info.notice = session.info.notice.or_else(warning);
    }
    let depth = context.out.colour.then(|| ColourDepth::from_env(env));
    let zone = sessions.flags.zone.clone();
    let ctx = RenderCtx {
        theme: build_theme(file.theme, depth, env),
        glyphs: match context.global.ascii || draws_ascii(env) {
            is_ascii if is_linear => Glyphs::spoken(is_ascii),
            true if has_other_charset(env) => Glyphs::ASCII.with_ascii_text(),
            true => Glyphs::ASCII,
            false => Glyphs::UNICODE,
        },
        hyperlinks: file.hyperlinks.unwrap_or(true) && reads_osc(env),
        now: (sessions.clock)().to_zoned(zone.unwrap_or_else(|| env.time_zone())),
        is_copied: false,
    };
    let environment = Environment {
        sessions: sessions.clone(),
        timer: tui::system_timer(),
        panic_at: FaultPoint::from_env(env),
    };
    let result = if is_linear {
        let out = &mut *context.out;
        let io = LinearIo {
            lines: tui::read_stdin(),
            write: &mut |text: &str| out.write_data(text).and_then(|()| out.flush()),
            prompt: if is_in_terminal() { "> " } else { "" },
            columns: (env.get("COLUMNS").and_then(|columns| columns.parse().ok()))
                .unwrap_or(LINEAR_COLUMNS),
        };
        runtime.block_on(tui::run_linear(session, environment, ctx, io))
    } else {
        let ended = runtime.block_on(tui::run(session, environment, ctx));
        ended.map_err(CommandExit::from)
    };
    // A task may be blocked by an archive that another process has locked.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    match result? {
        ProgramExit::Quit => Ok(()),
        ProgramExit::ExportStopped(text) => {
            context.out.note(&text);
            Ok(())
        }
        ProgramExit::Signal(number) => Err(CommandExit::Signal(number)),
    }
}

/// Builds a runtime with one thread beside the event loop.
fn build_runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_keep_alive(BLOCKING_THREAD_REST)
        .enable_all()
        .build()
        .map_err(|error| cli::runtime_error(&error))
}

/// Returns a warning if the locale hides text outside ASCII.
fn charset_warning(env: &Env) -> Option<String> {
    let (name, locale) = locale(env).filter(|_| has_other_charset(env))?;
    Some(format!(
        "{name}=C.UTF-8 shows text outside ASCII, which is ? with {name}={locale}"
    ))
}

/// Returns a warning if the zone of the times was to come from `TZ`,
/// which names none.
fn time_zone_warning(context: &CommandContext<'_>) -> Option<String> {
    let zone = context.global.flags().zone;
    context.env.time_zone_warning().filter(|_| zone.is_none())
}

/// Requires a terminal for the screen, before anything is opened or stored.
fn require_terminal(file: &ConfigFile, query: &str, context: &CommandContext<'_>) -> Result<()> {
    if is_linear(file, context) || is_in_terminal() {
        return Ok(());
    }
    let message = "the terminal program needs a terminal for its input and output";
    let command = if query.is_empty() {
        "sentbox list, sentbox show".to_owned()
    } else {
        let words: Vec<String> = query.split_whitespace().map(shell_word).collect();
        format!("sentbox search -- {}", words.join(" "))
    };
    let hint = format!("--linear works through pipes; in a script, use: {command}");
    Err(Error::new(ErrorKind::Usage, message).with_hint(hint))
}

fn is_in_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether lines are printed:
/// by flag, by configuration, or because the terminal can do nothing else.
fn is_linear(file: &ConfigFile, context: &CommandContext<'_>) -> bool {
    let is_dumb = context.env.get("TERM") == Some("dumb");
    context.global.linear || file.accessible || (is_dumb && is_in_terminal())
}

/// Builds the theme for what the environment says about the background,
/// until the terminal reports it.
fn build_theme(mut config: ThemeConfig, depth: Option<ColourDepth>, env: &Env) -> Theme {
    let hint = Background::from_env(env);
    if config.base == ThemeBase::Auto && !reads_osc(env) {
        config.base = hint.map_or(ThemeBase::Terminal, ThemeBase::from);
    }
    let mut theme = Theme::new(config, depth);
    if let Some(background) = hint {
        theme.set_background(background);
    }
    theme
}
