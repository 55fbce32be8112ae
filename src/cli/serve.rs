//! `serve`: the service's API over the archive of a profile or the sample mailbox,
//! until a signal ends it.

use std::fs;
use std::path::Path;

use serde_json::json;
use tokio::net::TcpListener;

use super::args::{Listen, ServeArgs};
use super::output::CommandExit;
use super::{CommandContext, ProfileContext, listen_for_signals, open_archive};
use crate::api::RetryPolicy;
use crate::archive::{Archive, OnMismatch, OpenResult};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::Mailbox;
use crate::mirror::{AccessLog, KeyFile, Mirror, MirrorConfig, SigningSecrets};
use crate::server::sample::SampleMailbox;
use crate::server::{self, Listener, ServerConfig, UnixSocket, load_tls};
use crate::sync::Engine;

/// Requests a second to the sample mailbox.
///
/// One user needs no limit like the real one, but a program without any pace still gets 429.
const RATE: u32 = 1000;

/// Listens, prints the address, and serves.
pub(super) async fn run(args: &ServeArgs, context: CommandContext<'_>) -> Result<(), CommandExit> {
    match &args.key_file {
        Some(key_file) => {
            Box::pin(serve_mirror(args, key_file, &mut context.with_profile()?)).await
        }
        None if args.demo => serve_sample(args, context).await,
        None => {
            let error = Error::new(ErrorKind::Usage, "serve needs --key-file FILE, or --demo");
            let hint = "with a file of keys the archive is served; see sentbox serve --help";
            Err(error.with_hint(hint).into())
        }
    }
}

fn cannot_listen(listen: &Listen, error: &std::io::Error) -> Error {
    Error::cannot("listened on", ErrorKind::Io, listen, error)
        .with_hint("--listen 127.0.0.1:0 takes a free port")
}

async fn serve_sample(
    args: &ServeArgs,
    CommandContext { clock, out, .. }: CommandContext<'_>,
) -> Result<(), CommandExit> {
    let (listen, sample) = (&args.listen, args.sample);
    let Listen::Tcp(address) = listen else {
        let error = Error::new(ErrorKind::Usage, "the sample mailbox has no Unix socket");
        return Err(error
            .with_hint("--listen 127.0.0.1:0 takes a free port")
            .into());
    };
    let failed = |error| cannot_listen(listen, &error);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let mut signals = listen_for_signals()?;
    let url = format!("http://{address}");
    out.report(&json!({ "base_url": url }), url.as_str())?;
    out.note(&format!(
        "serving {} sample emails; the key is {}",
        sample.emails,
        server::DEMO_KEY
    ));
    if !address.ip().is_loopback() {
        out.note(&format!(
            "warning: {address} is open to other machines, unencrypted, and the key is public; they are answered under {}",
            list_names(args)
        ));
    }
    let mailbox = SampleMailbox::new(sample.seed, sample.emails, clock(), clock.clone());
    let config = ServerConfig {
        hosts: args.allow_host.clone(),
        ..ServerConfig::demo(RATE)
    };
    let mut signal = 0;
    let shutdown = async { signal = signals.recv().await };
    server::serve(listener, mailbox, config, clock.clone(), shutdown).await;
    Err(CommandExit::Signal(signal))
}

/// Names the hosts under which other machines are answered.
fn list_names(args: &ServeArgs) -> String {
    let names: Vec<String> = args.allow_host.iter().map(ToString::to_string).collect();
    if names.is_empty() {
        "no name, so they are refused (--allow-host NAME)".to_owned()
    } else {
        names.join(", ")
    }
}

async fn serve_mirror(
    args: &ServeArgs,
    key_file: &Path,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    ctx.settings.credentials.key.clone()?;
    let tls = match args.tls_cert.as_ref().zip(args.tls_key.as_ref()) {
        Some((certificates, key)) => Some(load_tls(certificates, key)?),
        None => None,
    };
    let is_open = check_open_address(args, tls.is_some())?;
    // These mirrors are refused without a new key file.
    open_archive::require_storage(&ctx.settings)?;
    let webhooks = match &args.webhooks {
        Some(path) => Some(SigningSecrets::open(path, Box::new(ctx.out.note_writer()))?),
        None => None,
    };
    let (keys, is_new) = KeyFile::open_or_create(key_file, Box::new(ctx.out.note_writer()))?;
    let opened = async {
        let sent = open_archive::open_for_writing(ctx)?;
        let received = open_or_create_received(ctx)?;
        let access_log = match &args.access_log {
            Some(path) => Some(AccessLog::open(path).map_err(|error| {
                let name = format!("the access log {}", path.display());
                Error::cannot("written", ErrorKind::Io, name, &error)
            })?),
            None => None,
        };
        let bound = bind(&args.listen, tls.is_some()).await?;
        Ok::<_, CommandExit>((sent, received, access_log, bound, listen_for_signals()?))
    };
    let opened = opened.await.inspect_err(|_| {
        // Only a mirror that runs leaves a new file.
        if is_new {
            let _ = fs::remove_file(key_file);
        }
    });
    let (sent, received, access_log, (listener, url), mut signals) = opened?;
    ctx.out.report(&json!({ "base_url": url }), url.as_str())?;
    if is_new {
        ctx.out.note(&format!(
            "a key was created; it is in {}",
            key_file.display()
        ));
    }
    if is_open {
        ctx.out.note(&format!(
            "other machines are answered under {}",
            list_names(args)
        ));
    }
    let mut engine = |mailbox, archive| {
        ctx.mailbox = mailbox;
        let client = ctx.client_with_notes(RetryPolicy::TUI);
        Engine::new(client, archive, ctx.clock.clone())
    };
    let sent = engine(Mailbox::Sent, sent);
    let received = engine(Mailbox::Received, received);
    let config = MirrorConfig {
        keys,
        hosts: args.allow_host.clone(),
        access_log,
        webhooks,
        backfill: ctx.settings.backfill,
        clock: ctx.clock.clone(),
        note: Box::new(ctx.out.note_writer()),
    };
    let mirror = Mirror::new(sent, received, config);
    let mut signal = 0;
    let shutdown = async { signal = signals.recv().await };
    mirror.run(listener, tls, shutdown).await;
    Err(CommandExit::Signal(signal))
}

/// Whether other machines reach the address;
/// fails if they would send keys unencrypted.
fn check_open_address(args: &ServeArgs, is_tls: bool) -> Result<bool> {
    match &args.listen {
        Listen::Tcp(address) if !address.ip().is_loopback() => {
            if is_tls || args.allow_plain_http {
                return Ok(true);
            }
            let message = format!("{address} is open to other machines, and http is not encrypted");
            Err(Error::new(ErrorKind::Usage, message).with_hint(
                "use --tls-cert and --tls-key, or --allow-plain-http behind a proxy that encrypts",
            ))
        }
        Listen::Tcp(_) | Listen::Unix(_) => Ok(false),
    }
}

/// Listens on an address or a path; also returns the base URL.
async fn bind(listen: &Listen, is_tls: bool) -> Result<(Listener, String)> {
    let failed = |error| cannot_listen(listen, &error);
    match listen {
        Listen::Tcp(address) => {
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            let scheme = if is_tls { "https" } else { "http" };
            Ok((Listener::Tcp(listener), format!("{scheme}://{address}")))
        }
        Listen::Unix(path) => {
            let socket = UnixSocket::bind(path).map_err(failed)?;
            Ok((Listener::Unix(socket), listen.to_string()))
        }
    }
}

/// Opens the archive of received mail, beside that of sent mail.
fn open_or_create_received(ctx: &ProfileContext<'_>) -> Result<Archive> {
    let opened = Archive::open_for(&ctx.settings, Mailbox::Received, OnMismatch::Ask)?;
    match opened {
        OpenResult::Opened(archive) => archive.with_retention_of(&ctx.settings),
        OpenResult::Mismatch(mismatch) => Err(mismatch.into()),
    }
}
