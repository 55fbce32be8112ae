//! Opens the terminal program: on a profile, or on the sample mailbox.

use std::sync::Arc;
use std::time::Duration;

use sentbox::api::{Access, Client, Patience};
use sentbox::archive::{Archive, Location};
use sentbox::cli::args::{Global, Sample};
use sentbox::cli::{self, Output, Stop};
use sentbox::config::clock::Clock;
use sentbox::config::{ApiKey, BaseUrl, Env, PanicAt, Rate};
use sentbox::failure::{Failure, Kind};
use sentbox::server::{self, Terms, sample};
use sentbox::sync::Engine;
use sentbox::tui::{self, Exit, Start};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// How often the service is asked for what is new: one request, which also re-reads the statuses of
/// the newest hundred emails.
const REFRESH: Duration = Duration::from_secs(30);
/// The same for the sample mailbox, which is not shared with anybody.
const DEMO_REFRESH: Duration = Duration::from_secs(4);
/// Requests a second that the embedded server answers.
const DEMO_RATE: u32 = 100;

/// Opens the terminal program on the profile that is meant.
///
/// # Errors
///
/// If the settings, the archive or the terminal cannot be used.
pub fn profile(global: &Global, env: &Env, clock: &Clock, out: &mut Output) -> Result<(), Stop> {
    usable(env)?;
    let settings = cli::settle(global, env, out)?;
    let mut profile = settings.profile.clone();
    let opened = cli::opened(&settings, out).and_then(|archive| archive.keeping(settings.keep, clock()));
    let (archive, notice) = match opened {
        Ok(archive) => (archive, settings.no_home.then(|| "there is no home directory, so nothing is kept".to_owned())),
        // Whatever ails the file, the mail can be looked at; the file stays as it is.
        Err(failure) => {
            profile += " (not kept)";
            let archive = Archive::open(&Location::Memory)?.keeping(settings.keep, clock())?;
            (archive, Some(format!("{}, so nothing is kept this time: {}", failure.sentence, failure.hint)))
        }
    };
    let client = Client::new(Access::from(&settings), Patience::SCREEN, clock.clone());
    let engine = settings.key.clone().map(|_| Engine::new(Arc::new(client), archive.clone(), clock.clone()));
    // Beside the archive, and only where that is kept: what is looked for names the same people.
    let history = match &settings.archive {
        Location::Disk(path) => Some(path.with_file_name("history")),
        Location::Memory => None,
    };
    let start = Start {
        profile,
        archive,
        engine,
        refresh: REFRESH,
        notice,
        clock: clock.clone(),
        zone: settings.zone,
        colour: out.colour,
        ascii: ascii(global, env),
        history,
        panic_at: settings.panic_at,
    };
    ended(runtime()?.block_on(tui::run(start))?)
}

/// Opens the terminal program on an embedded server with a sample mailbox; nothing is kept.
///
/// # Errors
///
/// If the terminal cannot be used.
pub fn demo(sample: &Sample, global: &Global, env: &Env, clock: &Clock, out: &Output) -> Result<(), Stop> {
    usable(env)?;
    let runtime = runtime()?;
    let ended_as = runtime.block_on(async {
        let failed = |error: std::io::Error| Failure::new(Kind::Io, format!("the embedded server cannot listen: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let base_url = BaseUrl::parse(&format!("http://{}", listener.local_addr().map_err(failed)?))?;
        let mailbox = sample::Mailbox::new(sample.seed, sample.emails, clock(), clock.clone());
        let rate = Rate::by_hand(f64::from(DEMO_RATE)).expect("the demo's rate is one that is allowed");
        let access = Access { base_url, key: Ok(ApiKey::new(server::DEMO_KEY, "the demo")?), ca_file: None, rate };
        let archive = Archive::open(&Location::Memory)?;
        let client = Client::new(access, Patience::SCREEN, clock.clone());
        let start = Start {
            profile: "demo".to_owned(),
            engine: Ok(Engine::new(Arc::new(client), archive.clone(), clock.clone())),
            archive,
            refresh: DEMO_REFRESH,
            notice: None,
            clock: clock.clone(),
            zone: env.zone(),
            colour: out.colour,
            ascii: ascii(global, env),
            history: None,
            panic_at: PanicAt::of(env),
        };
        let served = server::serve(listener, mailbox, Terms::demo(DEMO_RATE), clock.clone(), std::future::pending());
        tokio::select! {
            exit = tui::run(start) => exit,
            served = served => Err(failed(served.err().unwrap_or_else(|| std::io::ErrorKind::Other.into()))),
        }
    })?;
    ended(ended_as)
}

fn ended(exit: Exit) -> Result<(), Stop> {
    match exit {
        Exit::Quit => Ok(()),
        Exit::Signal(number) => Err(Stop::Signal(number)),
    }
}

/// One thread for the loop is enough; requests and the embedded server run beside it on another.
fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Kind::Internal, format!("no runtime could be started: {error}")))
}

/// # Errors
///
/// If the terminal says that it can do nothing.
fn usable(env: &Env) -> Result<(), Failure> {
    match env.get("TERM") {
        Some("dumb") => {
            Err(Failure::new(Kind::Usage, "this terminal (TERM=dumb) cannot show the terminal program")
                .hint("use: sentbox list, sentbox show"))
        }
        _ => Ok(()),
    }
}

/// Whether to keep to ASCII: asked for, or a terminal whose fonts have little else.
fn ascii(global: &Global, env: &Env) -> bool {
    global.ascii || env.get("TERM").is_some_and(|term| term == "linux" || term.starts_with("vt"))
}
